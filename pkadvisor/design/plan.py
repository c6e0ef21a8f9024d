"""From a query class and a key to the requests that answer it: what the key serves, and what is left to filter.

A filter is taken apart into conditions on single properties. The parts of a key are then walked from the left. A
part whose
property is fixed by an equality continues the prefix; a hash bucket that is not fixed fans out over its buckets; a
period
or an ordered part whose property has a range ends the prefix with a range; anything else ends it.

    PartitionKey walk            RowKey walk                 access
    all parts fixed              all parts fixed             point
    all parts fixed              a prefix or a range         row range
    all parts fixed              nothing                     partition scan
    a prefix or a range          any                         partition-range scan
    nothing                      any                         table scan
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from pkadvisor.design.population import Atom, atom_of
from pkadvisor.design.transforms import (
    Field,
    Hash,
    Literal,
    Pad,
    Part,
    ReversePad,
    ReverseTicks,
    Ticks,
    Time,
    sort_direction,
)
from pkadvisor.table.edm import EdmType

if TYPE_CHECKING:
    from pkadvisor.design.scheme import IndexRow, Key, KeyScheme
    from pkadvisor.observe.workload import OrderBy, QueryClass
    from pkadvisor.table.odata import Filter, Parameter
    from pkadvisor.table.odata import Literal as Constant

    Operand = Constant | Parameter


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
class Range:
    """Bounds on one property; an open side is None."""

    low: Operand | None = None
    low_inclusive: bool = True
    high: Operand | None = None
    high_inclusive: bool = False


@dataclass(frozen=True, slots=True)
class Conditions:
    """A filter taken apart. ``residual`` keeps what no key can serve (``ne``, ``not``, ``or`` over several
    properties)."""

    equal: Mapping[str, Operand]
    ranges: Mapping[str, Range]
    any_of: Mapping[str, tuple[Operand, ...]]
    residual: tuple[Filter, ...]

    @property
    def properties(self) -> tuple[str, ...]:
        """Every property named."""
        from pkadvisor.table.odata import properties

        rest = [p for f in self.residual for p in properties(f)]
        return tuple(dict.fromkeys([*self.equal, *self.any_of, *self.ranges, *rest]))


def conditions(filter_: Filter | None) -> Conditions:
    """The conditions of a filter over logical properties."""
    from pkadvisor.table.odata import Comparison, Or, conjuncts

    equal: dict[str, Operand] = {}
    ranges: dict[str, Range] = {}
    any_of: dict[str, tuple[Operand, ...]] = {}
    residual: list[Filter] = []
    for part in conjuncts(filter_) if filter_ is not None else ():
        if isinstance(part, Comparison) and part.operator == "eq" and part.property not in equal:
            equal[part.property] = part.operand
        elif isinstance(part, Comparison) and part.operator in ("gt", "ge", "lt", "le"):
            bounds = ranges.get(part.property, Range())
            low = part.operator in ("gt", "ge")
            if (bounds.low if low else bounds.high) is not None:
                residual.append(part)
            elif low:
                ranges[part.property] = Range(part.operand, part.operator == "ge", bounds.high, bounds.high_inclusive)
            else:
                ranges[part.property] = Range(bounds.low, bounds.low_inclusive, part.operand, part.operator == "le")
        elif isinstance(part, Or) and (choices := _same_property(part)) and choices[0] not in any_of:
            any_of[choices[0]] = choices[1]
        else:
            residual.append(part)
    return Conditions(equal, ranges, any_of, tuple(residual))


def _same_property(filter_: Filter) -> tuple[str, tuple[Operand, ...]] | None:
    """(property, operands) of ``a eq 1 or a eq 2``; None for any other shape."""
    from pkadvisor.table.odata import Comparison, Or

    assert isinstance(filter_, Or)
    parts = [p for p in filter_.operands if isinstance(p, Comparison) and p.operator == "eq"]
    names = {p.property for p in parts}
    if len(parts) != len(filter_.operands) or len(names) != 1:
        return None
    return parts[0].property, tuple(p.operand for p in parts)


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
    prefix: str


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


def walk(parts: tuple[Part, ...], wanted: Conditions, *, fan_out: bool = True) -> Walk:
    """Walk one key string from the left; ``fan_out`` allows enumerating buckets and choices."""
    fixed, atoms = 0, list[Atom]()
    buckets, choices = list[Hash](), list[str]()
    range_part: Part | None = None
    complete = True
    prefix = ""
    for part in parts:
        if isinstance(part, Literal):
            prefix += part.text.replace("{", "{{").replace("}", "}}")
            continue
        name = part.properties[0] if part.properties else ""
        atom = atom_of(part)
        assert atom is not None
        if name in wanted.equal:
            atoms.append(atom)
            prefix += _hole(part, wanted.equal[name])
        elif fan_out and name in wanted.any_of:
            atoms.append(atom)
            choices.append(name)
            prefix += str(part)
        elif fan_out and isinstance(part, Hash):
            buckets.append(part)
            prefix += "{0…" + str(part.count - 1) + "}"
        else:
            if name in wanted.ranges:
                range_part = part
            complete = False
            break
        fixed += 1
    return Walk(fixed, complete, tuple(atoms), range_part, tuple(buckets), tuple(choices), prefix)


def plan(
    query: QueryClass, wanted: Conditions, scheme: KeyScheme, types: Mapping[str, EdmType]
) -> tuple[AccessPlan, ...]:
    """One plan for each row (main key and index rows) that could serve the class; the costing picks the cheapest."""
    return tuple(
        _plan_on(query, wanted, scheme, key, row, via, types) for via, (key, row) in enumerate(scheme.each_key())
    )


def _plan_on(
    query: QueryClass,
    wanted: Conditions,
    scheme: KeyScheme,
    key: Key,
    index_row: IndexRow | None,
    via: int,
    types: Mapping[str, EdmType],
) -> AccessPlan:
    partition = walk(key.partition, wanted)
    row = walk(key.row, wanted)
    periods: Time | None = None
    if not partition.complete and isinstance(partition.range_part, Time) and _only_rest(key.partition, partition):
        # A bounded period at the end of the PartitionKey can be enumerated: one request for each period in the range.
        bounds = wanted.ranges[partition.range_part.property]
        if bounds.low is not None:
            periods = partition.range_part
    exact = partition.complete or periods is not None
    range_atom: Atom | None = None
    equal_atoms = partition.atoms
    if exact:
        equal_atoms = (*partition.atoms, *row.atoms)
        range_atom = _range_atom(row.range_part, types) or (_range_atom(periods, types) if periods else None)
        if row.complete:
            access = Access.POINT
        elif row.fixed or (row.range_part is not None and range_atom) or row.prefix:
            access = Access.ROW_RANGE
        else:
            access = Access.PARTITION_SCAN
    elif partition.fixed > len(partition.buckets) or _range_atom(partition.range_part, types):
        access = Access.PARTITION_RANGE_SCAN
        range_atom = _range_atom(partition.range_part, types)
    else:
        access = Access.TABLE_SCAN
        equal_atoms = ()
    buckets = 1
    if access is not Access.TABLE_SCAN:
        for bucket in (*partition.buckets, *(row.buckets if exact else ())):
            buckets *= bucket.count
    served = {a[1] for a in equal_atoms if a[0] == "p"}
    if range_atom and range_atom[0] == "p":
        served.add(range_atom[1])
    unserved = tuple(p for p in wanted.properties if p not in served)
    choices = (*partition.choices, *(row.choices if exact else ())) if access is not Access.TABLE_SCAN else ()
    ordered = _order_served(query.order_by, key, row, exact and buckets == 1 and not choices, wanted, types)
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
        filters=_filters(query, wanted, key, partition, row, access, exact, periods, unserved, types),
    )


def _only_rest(parts: tuple[Part, ...], found: Walk) -> bool:
    """Whether the bounded part is the last variable part of the key."""
    variable = [p for p in parts if not isinstance(p, Literal)]
    return len(variable) == found.fixed + 1


def _range_atom(part: Part | None, types: Mapping[str, EdmType]) -> Atom | None:
    """The grouping that a range on this part bounds; None where text order does not follow the value."""
    if part is None or sort_direction(part, dict(types)) == 0:
        return None
    return atom_of(part)


def _order_served(
    order: tuple[OrderBy, ...],
    key: Key,
    row: Walk,
    single: bool,
    wanted: Conditions,
    types: Mapping[str, EdmType],
) -> bool:
    """Whether the rows come back in the wanted order, so that ``$top`` may stop early."""
    wanted_order = [o for o in order if o.property not in wanted.equal]
    if not wanted_order:
        return True
    if not single:
        return False
    remaining = [p for p in key.row if not isinstance(p, Literal)][row.fixed :]
    if len(remaining) < len(wanted_order):
        return False
    return all(
        part.properties == (by.property,) and sort_direction(part, dict(types)) == (-1 if by.descending else 1)
        for part, by in zip(remaining, wanted_order, strict=False)
    )


# -- the text of the requests ----------------------------------------------------------------------------------------


def _offset_text(operand: Operand) -> str:
    """``ts+24h`` for a parameter with an offset, its name otherwise."""
    from pkadvisor.table.odata import Comparison, Operator, Parameter, format_filter
    from pkadvisor.table.odata import Literal as Constant

    assert not isinstance(operand, Constant)
    bare = Parameter(operand.name, None, operand.offset, operand.offset_ticks)
    shown = format_filter(Comparison("x", Operator.EQ, bare))
    return shown[shown.index("{") + 1 : shown.rindex("}")]


def _hole(part: Part, operand: Operand) -> str:
    """The template hole of a part, filled where the operand is a constant."""
    from pkadvisor.table.odata import Literal as Constant

    if isinstance(operand, Constant):
        from pkadvisor.design.transforms import Context

        name = part.properties[0]
        context = Context({name: operand.type})
        return part.encode({name: operand.value}, context).replace("{", "{{").replace("}", "}}")
    text = str(part)
    name = part.properties[0]
    shown = _offset_text(operand)
    return text if shown == name else text.replace(name, shown, 1)


def successor(prefix: str) -> str:
    """The least text above every text that starts with ``prefix``, in template form.

    The last literal character is raised by one. After a hole the end mark is U+FFFF, which no key part reaches.
    """
    if not prefix:
        return ""
    if prefix.endswith("}"):
        return prefix + "\uffff"
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _bounds_text(
    name: str, parts: tuple[Part, ...], found: Walk, wanted: Conditions, types: Mapping[str, EdmType]
) -> list[str]:
    """Comparisons that bound one key string from its fixed prefix and, if any, a range on the next part.

    Where the bounded part closes the key its bounds compare as they are; where more text follows, an upper bound that
    includes its value must lie above every continuation, so it ends above the separator that follows.
    """
    part, prefix = found.range_part, found.prefix
    bounds = wanted.ranges.get(part.properties[0]) if part is not None and part.properties else None
    direction = sort_direction(part, dict(types)) if part is not None else 0
    if part is None or bounds is None or direction == 0:
        return [f"{name} ge {_quote(prefix)}", f"{name} lt {_quote(successor(prefix))}"] if prefix else []
    following = parts[parts.index(part) + 1 :]
    beyond = following[0].text[0] if following and isinstance(following[0], Literal) and following[0].text else ""
    low, high = (bounds.low, bounds.high) if direction > 0 else (bounds.high, bounds.low)
    low_in, high_in = bounds.low_inclusive, bounds.high_inclusive
    if direction < 0:
        low_in, high_in = high_in, low_in
    if isinstance(part, Time):  # a period holds values on both sides of the bound: whole periods are read
        low_in = high_in = True
    above = successor(beyond) if beyond else ("" if not following else "\uffff")
    out = []
    if low is not None:
        text = prefix + _hole(part, low)
        if low_in:
            out.append(f"{name} ge {_quote(text)}")
        else:
            out.append(f"{name} {'ge' if above else 'gt'} {_quote(text + above)}")
    elif prefix:
        out.append(f"{name} ge {_quote(prefix)}")
    if high is not None:
        text = prefix + _hole(part, high)
        if high_in:
            out.append(f"{name} {'lt' if above else 'le'} {_quote(text + above)}")
        else:
            out.append(f"{name} lt {_quote(text)}")
    elif prefix:
        out.append(f"{name} lt {_quote(successor(prefix))}")
    return out


def _filters(
    query: QueryClass,
    wanted: Conditions,
    key: Key,
    partition: Walk,
    row: Walk,
    access: Access,
    exact: bool,
    periods: Time | None,
    unserved: tuple[str, ...],
    types: Mapping[str, EdmType],
) -> tuple[str, ...]:
    terms: list[str] = []
    if exact:
        terms.append(f"PartitionKey eq {_quote(partition.prefix + (str(periods) if periods else ''))}")
        if row.complete:
            terms.append(f"RowKey eq {_quote(row.prefix)}")
        else:
            terms += _bounds_text("RowKey", key.row, row, wanted, types)
    elif access is Access.PARTITION_RANGE_SCAN:
        terms += _bounds_text("PartitionKey", key.partition, partition, wanted, types)
    rest = [_condition_text(name, wanted) for name in unserved]
    terms += [t for t in dict.fromkeys(rest) if t]
    return (" and ".join(terms),)


def _condition_text(name: str, wanted: Conditions) -> str:
    """The comparison on one property that the key does not serve, as the application must send it.

    Types that the literal shows by itself are not written: ``{rating}``, not ``{rating:Int32}``.
    """
    return re.sub(r":(?:Int32|Double|Boolean)\}", "}", _comparison_text(name, wanted))


def _comparison_text(name: str, wanted: Conditions) -> str:
    from pkadvisor.table.odata import And, Comparison, Operator, Or, format_filter

    if name in wanted.equal:
        return format_filter(Comparison(name, Operator.EQ, wanted.equal[name]))
    if name in wanted.any_of:
        return "(" + format_filter(Or(tuple(Comparison(name, Operator.EQ, o) for o in wanted.any_of[name]))) + ")"
    if name in wanted.ranges:
        bounds, parts = wanted.ranges[name], []
        if bounds.low is not None:
            parts.append(Comparison(name, Operator.GE if bounds.low_inclusive else Operator.GT, bounds.low))
        if bounds.high is not None:
            parts.append(Comparison(name, Operator.LE if bounds.high_inclusive else Operator.LT, bounds.high))
        return format_filter(parts[0] if len(parts) == 1 else And(tuple(parts)))
    shown = [format_filter(f) for f in wanted.residual]
    return " and ".join(f"({s})" if " or " in s else s for s in shown)


__all__ = [
    "Access",
    "AccessPlan",
    "Conditions",
    "Field",
    "Pad",
    "Range",
    "ReversePad",
    "ReverseTicks",
    "Ticks",
    "conditions",
    "plan",
    "successor",
    "walk",
]
