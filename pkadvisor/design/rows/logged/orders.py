"""The order in which a logged query wants its rows: as its trace says, or as the current keys give it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pkadvisor.design.keys.scheme import KeyScheme, variable
from pkadvisor.design.keys.template import separators
from pkadvisor.design.keys.transforms import Context, part_properties
from pkadvisor.design.rows.logged import twins
from pkadvisor.design.rows.logged.requests import reader_of, requests_of
from pkadvisor.observe.logs.traffic import ClassTraffic, TableTraffic
from pkadvisor.observe.workload import OrderBy
from pkadvisor.table.edm import EdmType
from pkadvisor.table.odata import Filter

QUEUE_DELETES: Final = 0.5
"""Deletes for each insert from which on a table is a queue: what waits longest is asked for first. Assumed."""


def order_of(text: str) -> OrderBy:
    """``ts desc`` or ``-ts`` as a sort key."""
    name, _, way = text.strip().partition(" ")
    return OrderBy(name.removeprefix("-"), name.startswith("-") or way.strip().lower() == "desc")


def order_of_keys(
    traffic: ClassTraffic,
    scheme: KeyScheme | None,
    filter_: Filter | None,
    types: Mapping[str, EdmType],
    table: TableTraffic,
) -> tuple[OrderBy, ...]:
    """The order in which a class that stops at ``$top`` gets its rows from the current keys, where it means something:
    whoever pads a rank or reverses a time wants the best or the newest first, whoever names a bound the next, and
    whoever asks for a state or reads a queue what waits longest. The oldest of all rows that stay, and an order of
    texts, may be of no meaning to the caller."""
    if traffic.top is None or scheme is None or not traffic.sample.height:
        return ()
    first = next(iter(requests_of(traffic, traffic.sample.head(1).iter_rows(named=True))))
    key = list(scheme.each_key())[reader_of(scheme, types).row_read(first)[0]][0]
    fixed = {name for name, way in twins.shape_of(filter_) if way == "eq"}
    if not set(part_properties(key.partition)) <= fixed:
        return ()
    parts = list(variable(key.row))
    place = next((n for n, part in enumerate(parts) if not set(part.properties) <= fixed), len(parts))
    part = parts[place] if place < len(parts) else None
    name = part.properties[0] if part is not None else ""
    way = 0 if part is None else part.order(Context(dict(types), separators(key.row)))
    edm = types.get(name, EdmType.STRING)
    waits = bool(fixed - set(part_properties((*key.partition, *parts[:place])))) or _is_queue(table)
    meant = edm.numeric or (
        edm is EdmType.DATETIME and (way < 0 or waits or (name, "range") in twins.shape_of(filter_))
    )
    return (OrderBy(name, descending=way < 0),) if way and meant else ()


def _is_queue(traffic: TableTraffic) -> bool:
    """Whether a log deletes entities about as fast as it adds them."""
    added = sum(c.requests for c in traffic.classes if c.op in ("insert", "upsert"))
    deleted = sum(c.requests for c in traffic.classes if c.op == "delete")
    return deleted > 0 and deleted >= QUEUE_DELETES * added
