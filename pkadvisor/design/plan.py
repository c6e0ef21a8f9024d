"""From a query class and a key to the requests that answer it: what the key serves, and what is left to filter.

A filter is taken apart into conditions on single properties. The parts of a key are then walked from the left. A part
whose property is fixed by an equality continues the prefix; a hash bucket that is not fixed fans out over its buckets;
a period or an ordered part whose property has a range ends the prefix with a range; anything else ends it.

    PartitionKey walk            RowKey walk                 access
    all parts fixed              all parts fixed             point
    all parts fixed              a prefix or a range         row range
    all parts fixed              nothing                     partition scan
    a prefix or a range          any                         partition-range scan
    nothing                      any                         table scan
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from pkadvisor.design.conditions import Conditions, Range, conditions
from pkadvisor.design.filter_text import (
    KeepsOrder,
    Prefix,
    bounds,
    direction,
    hole,
    never,
    quote,
    unserved_texts,
)
from pkadvisor.design.population import Atom, atom_of
from pkadvisor.design.transforms import Hash, Literal, Part, Time
from pkadvisor.table.edm import EdmType

if TYPE_CHECKING:
    from pkadvisor.design.scheme import IndexRow, Key, KeyScheme
    from pkadvisor.observe.workload import OrderBy, QueryClass


class Access(StrEnum):
    """How a request finds its entities, best to worst."""

    POINT = "point"
    ROW_RANGE = "row range"
    PARTITION_SCAN = "partition scan"
    PARTITION_RANGE_SCAN = "partition-range scan"
    TABLE_SCAN = "table scan"

    @property
    def rank(self) -> int:
        """0 is best."""
        return list(Access).index(self)


@dataclass(frozen=True, slots=True)
class Walk:
    """How far a filter reaches into one key string.

    ``fixed`` parts from the left are known exactly (up to the fan-out); ``range_part`` is the first part that is only
    bounded; ``complete`` says that the whole string is known.
    """

    fixed: int
    complete: bool
    atoms: tuple[Atom, ...]
    range_part: Part | None
    buckets: tuple[Hash, ...]
    choices: tuple[str, ...]
    prefix: Prefix


@dataclass(frozen=True, slots=True)
class AccessPlan:
    """The requests that answer one class under one scheme.

    ``via`` is 0 for the main key and i for the i-th index row. ``equal_atoms`` are the groupings that the key fixes,
    ``range_atom`` the one it bounds. ``periods`` is the time part of a PartitionKey that is enumerated over a range.
    ``unserved`` names the conditions left to the server's scan. ``filters`` are the ``$filter`` texts, one per kind of
    request, with template holes where the values go.
    """

    query: str
    access: Access
    via: int
    pointer: bool
    equal_atoms: tuple[Atom, ...]
    range_atom: Atom | None
    periods: Time | None
    buckets: int
    choices: tuple[str, ...]
    unserved: tuple[str, ...]
    order_served: bool
    filters: tuple[str, ...]
    top: int | None = None
    """``$top`` of each request: only rows that come in the wanted order may be cut off."""


def walk(parts: tuple[Part, ...], wanted: Conditions, types: Mapping[str, EdmType] | None = None) -> Walk:
    """Walk one key string from the left, enumerating buckets and choices on the way.

    Buckets at the end of an incomplete walk fix nothing and are taken back.
    """
    types = types or {}
    fixed, atoms = 0, list[Atom]()
    buckets, choices = list[Hash](), list[str]()
    range_part: Part | None = None
    complete = True
    prefix = Prefix()
    useful = (0, 0, prefix)  # parts, buckets and prefix up to the last part that a condition fixes
    for part in parts:
        if isinstance(part, Literal):
            prefix = prefix.literal(part.text)
            if useful[0] == fixed:
                useful = (fixed, len(buckets), prefix)
            continue
        name = part.properties[0] if part.properties else ""
        atom = atom_of(part)
        assert atom is not None
        if name in wanted.equal:
            prefix = prefix.hole(hole(part, wanted.equal[name], parts, types))
        elif name in wanted.any_of:
            choices.append(name)
            prefix = prefix.hole(str(part))
        elif isinstance(part, Hash):
            buckets.append(part)
            prefix = prefix.hole("{0…" + str(part.count - 1) + "}")
            fixed += 1
            continue
        else:
            range_part = part if name in wanted.ranges else None
            complete = False
            break
        atoms.append(atom)
        fixed += 1
        useful = (fixed, len(buckets), prefix)
    if not complete and range_part is None:
        fixed, kept, prefix = useful
        buckets = buckets[:kept]
    return Walk(fixed, complete, tuple(atoms), range_part, tuple(buckets), tuple(choices), prefix)


def plan(
    query: QueryClass,
    wanted: Conditions,
    scheme: KeyScheme,
    types: Mapping[str, EdmType],
    keeps_order: KeepsOrder = never,
) -> tuple[AccessPlan, ...]:
    """One plan for each row (main key and index rows) that could serve the class; the costing picks the cheapest."""
    return tuple(
        _plan_on(query, wanted, key, row, via, types, keeps_order) for via, (key, row) in enumerate(scheme.each_key())
    )


def _plan_on(
    query: QueryClass,
    wanted: Conditions,
    key: Key,
    index_row: IndexRow | None,
    via: int,
    types: Mapping[str, EdmType],
    keeps_order: KeepsOrder,
) -> AccessPlan:
    partition, row = walk(key.partition, wanted, types), walk(key.row, wanted, types)

    def range_atom_of(part: Part | None, parts: tuple[Part, ...]) -> Atom | None:
        return None if part is None or direction(part, parts, types, keeps_order) == 0 else atom_of(part)

    periods = _enumerable(key.partition, partition, wanted)
    exact = partition.complete or periods is not None
    range_atom: Atom | None = None
    equal_atoms = partition.atoms
    if exact:
        equal_atoms = (*partition.atoms, *row.atoms)
        range_atom = range_atom_of(row.range_part, key.row) or range_atom_of(periods, key.partition)
        if row.complete:
            access = Access.POINT
        elif row.fixed or range_atom_of(row.range_part, key.row):
            access = Access.ROW_RANGE
        else:
            access = Access.PARTITION_SCAN
    elif partition.fixed or range_atom_of(partition.range_part, key.partition):
        access = Access.PARTITION_RANGE_SCAN
        range_atom = range_atom_of(partition.range_part, key.partition)
    else:
        access = Access.TABLE_SCAN
        equal_atoms = ()
    buckets, choices = 1, tuple[str, ...]()
    if access is not Access.TABLE_SCAN:
        for bucket in (*partition.buckets, *(row.buckets if exact else ())):
            buckets *= bucket.count
        choices = (*partition.choices, *(row.choices if exact else ()))
    served = {a[1] for a in equal_atoms if a[0] == "p"}
    if range_atom and range_atom[0] == "p":
        served.add(range_atom[1])
    still = {p for f in wanted.residual for p in properties_of(f)}
    unserved = tuple(p for p in wanted.properties if p not in served or p in still)
    single = exact and buckets == 1 and not choices and periods is None
    ordered = _order_served(query.order_by, key, row, single, wanted, types, keeps_order)
    return AccessPlan(
        query=query.name,
        access=access,
        via=via,
        pointer=index_row is not None and index_row.copy == "pointer",
        equal_atoms=equal_atoms,
        range_atom=range_atom,
        periods=periods,
        buckets=buckets,
        choices=choices,
        unserved=unserved,
        order_served=ordered,
        top=query.top if ordered else None,
        filters=_filters(
            wanted,
            key,
            partition,
            row,
            access,
            periods,
            tuple(p for p in unserved if p not in served),
            types,
            keeps_order,
        ),
    )


def properties_of(filter_: object) -> tuple[str, ...]:
    """The properties of a filter."""
    from pkadvisor.table.odata import properties

    return properties(filter_)  # type: ignore[arg-type]


def _enumerable(parts: tuple[Part, ...], found: Walk, wanted: Conditions) -> Time | None:
    """A bounded period at the end of the PartitionKey: one request for each period in the range."""
    part = found.range_part
    if found.complete or not isinstance(part, Time):
        return None
    last = [p for p in parts if not isinstance(p, Literal)][-1]
    return part if last is part and wanted.ranges[part.property].low is not None else None


def _order_served(
    order: tuple[OrderBy, ...],
    key: Key,
    row: Walk,
    single: bool,
    wanted: Conditions,
    types: Mapping[str, EdmType],
    keeps_order: KeepsOrder,
) -> bool:
    """Whether the rows come back in the wanted order, so that ``$top`` may stop early."""
    wanted_order = [o for o in order if o.property not in wanted.equal]
    if not wanted_order:
        return True
    remaining = [p for p in key.row if not isinstance(p, Literal)][row.fixed :]
    if not single or len(remaining) < len(wanted_order):
        return False
    return all(
        part.properties == (by.property,)
        and direction(part, key.row, types, keeps_order) == (-1 if by.descending else 1)
        for part, by in zip(remaining, wanted_order, strict=False)
    )


def _filters(
    wanted: Conditions,
    key: Key,
    partition: Walk,
    row: Walk,
    access: Access,
    periods: Time | None,
    unserved: tuple[str, ...],
    types: Mapping[str, EdmType],
    keeps_order: KeepsOrder,
) -> tuple[str, ...]:
    """The request texts of a plan; those that a fan-out sends differ only in their bucket, choice or period."""
    terms: list[str] = []
    if partition.complete or periods is not None:
        text = partition.prefix.text
        if periods is not None:
            after = key.partition[key.partition.index(periods) + 1 :]
            text += str(periods) + "".join(str(p) for p in after)
        terms.append(f"PartitionKey eq {quote(text)}")
        if row.complete:
            terms.append(f"RowKey eq {quote(row.prefix.text)}")
        else:
            terms += bounds("RowKey", key.row, row.prefix, row.range_part, wanted, types, keeps_order)
    elif access is Access.PARTITION_RANGE_SCAN:
        part = partition.range_part
        terms += bounds("PartitionKey", key.partition, partition.prefix, part, wanted, types, keeps_order)
    terms += unserved_texts(wanted, unserved)
    return (" and ".join(terms),)


__all__ = ["Access", "AccessPlan", "Conditions", "Range", "Walk", "conditions", "plan", "walk"]
