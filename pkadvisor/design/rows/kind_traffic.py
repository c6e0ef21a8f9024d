"""The part of a table's log that is of one kind of entity: a request is of the kind whose keys it fits.

Of several that it fits it is of those with the most fixed text in the key that it fits: ``ORDER:00012`` is an order,
although a user's id might read so. Of kinds that fit alike it is of each. Before that, a request is of the kind that it
names, or of those that have its properties.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.rows.logged.requests import KeyReader, LoggedRequest, reader_of, requests_of
from pkadvisor.design.rows.logged.shapes import busy_requests, some_of
from pkadvisor.observe.logs.traffic import ClassTraffic, TableTraffic
from pkadvisor.table.edm import KEYS, EdmType
from pkadvisor.table.odata import properties

KeyedKind = tuple[KeyScheme, Mapping[str, EdmType]]
"""The keys of a kind and the types of its properties."""


def traffic_of_kind(traffic: TableTraffic, own: KeyedKind, others: Sequence[KeyedKind]) -> TableTraffic:
    """The classes of a log with the requests of one kind; what fits no kind at all stays with each.

    Rates, counts and minutes of a class fall with its share of the sampled requests; sizes of whole tables stay.
    """
    reader, rest = reader_of(*own), [reader_of(*other) for other in others]
    classes = []
    for class_traffic in traffic.classes:
        if class_traffic.op == "batch" or not class_traffic.sample.height:
            classes.append(class_traffic)
            continue
        of_kind = [
            _is_of(request, reader, rest, inserts=class_traffic.op in ("insert", "upsert"))
            for request in requests_of(class_traffic, class_traffic.sample.iter_rows(named=True))
        ]
        if any(of_kind):
            busy = [_is_of(request, reader, rest) for request in busy_requests(class_traffic)]
            classes.append(some_of(class_traffic, of_kind, busy))
    return replace(traffic, classes=tuple(classes))


def traffic_of_name(
    traffic: TableTraffic, kind: str, types: Mapping[str, EdmType], others: Mapping[str, Mapping[str, EdmType]]
) -> TableTraffic:
    """The log without the classes that name another kind, or that ask for properties which another kind has and this
    one lacks."""
    names = {name.lower() for name in others} - {kind.lower()}

    def is_own(one: ClassTraffic) -> bool:
        if one.op == "batch" or not others:
            return True
        if one.kind.lower() in {kind.lower(), *names}:
            return one.kind.lower() == kind.lower()
        asked = _properties_of(one)
        return not types or asked <= types.keys() or not any(asked <= other.keys() for other in others.values())

    return replace(traffic, classes=tuple(one for one in traffic.classes if is_own(one)))


def _properties_of(one: ClassTraffic) -> set[str]:
    """The properties that a class names in its filter and in its parameters."""
    asked = set(properties(one.filter)) if one.filter is not None and not one.address else set()
    for text in one.sample["params"].drop_nulls().unique():
        asked |= json.loads(text).keys()
    return asked - set(KEYS)


def traffic_of_entities(traffic: TableTraffic, scheme: KeyScheme | None, types: Mapping[str, EdmType]) -> TableTraffic:
    """The log of a table whose entities have index rows: requests through each row are classes of their own.

    Writes to index rows are left out: they are the upkeep of a write to the entity, which is in the log as well.
    """
    if scheme is None or not scheme.index_rows:
        return traffic
    reader = reader_of(scheme, types)
    classes: list[ClassTraffic] = []
    for class_traffic in traffic.classes:
        if class_traffic.op == "batch" or not class_traffic.sample.height:
            classes.append(class_traffic)
            continue
        asked = requests_of(class_traffic, class_traffic.sample.iter_rows(named=True))
        rows = [reader.row_read(request)[0] for request in asked]
        busy = [reader.row_read(request)[0] for request in busy_requests(class_traffic)]
        for via in sorted(set(rows)) if class_traffic.op == "query" else [0]:
            of_entity = [row == via for row in rows]
            if any(of_entity):
                classes.append(some_of(class_traffic, of_entity, [row == via for row in busy]))
    return replace(traffic, classes=tuple(classes))


def _is_of(request: LoggedRequest, own: KeyReader, others: Sequence[KeyReader], *, inserts: bool = False) -> bool:
    if not inserts and not any(map(request.names, KEYS)):
        return True  # its properties told before
    mine = own.closeness(request)
    theirs = [closeness for other in others if (closeness := other.closeness(request)) is not None]
    return not theirs or (mine is not None and mine >= max(theirs))
