"""A plan: how the requests of a class reach its entities, and what is left to filter and to sort."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from enum import StrEnum

from pkadvisor.design.keys.conditions import Conditions, Operand
from pkadvisor.design.keys.key_terms import Choice, Fan, Hole, KeyTerm, KeyText, Period, serves_exactly, shown_filter
from pkadvisor.design.keys.template import separators
from pkadvisor.design.keys.transforms import Atom, Context, Field, HashPart, Part, PeriodPart, Prefix
from pkadvisor.table.edm import EdmType
from pkadvisor.table.odata import Filter, Or, format_filter
from pkadvisor.values import dataclass


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


Way = tuple[int, Access, bool, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class AccessPlan:
    """The requests that answer one class under one scheme.

    ``via`` is 0 for the main key and i for the i-th index row. ``equal_atoms`` are the groupings that the key fixes,
    ``range_atom`` the one it bounds. ``periods`` is the time part of a PartitionKey whose periods are asked one by one.
    ``unserved`` names the conditions that the key leaves open. Each request has the comparisons ``terms`` and ``rest``;
    the client filters by ``client`` and, where ``own_kind``, drops rows whose own properties make another key (rows of
    another kind in the same table). ``order_served``: each request answers in the wanted order; with several requests
    their answers are merged.
    """

    query: str
    access: Access
    via: int
    pointer: bool
    equal_atoms: tuple[Atom, ...]
    range_atom: Atom | None
    periods: PeriodPart | None
    fans: tuple[HashPart, ...]
    choices: tuple[str, ...]
    unserved: tuple[str, ...]
    order_served: bool
    terms: tuple[KeyTerm, ...]
    rest: tuple[Filter, ...]
    client: tuple[Filter, ...]
    own_kind: bool
    periods_open: bool = False
    """Whether the periods go on to the present."""
    back: bool = False
    """Whether the periods are asked one after the other, the newest first, until ``$top`` rows are found."""
    left_out: frozenset[str] = frozenset()
    """What the keys of other kinds begin with that the comparisons leave out: RowKeys of the partition, or of a scan of
    the table PartitionKeys."""
    top: int | None = None
    """``$top`` of each request: only rows that come in the wanted order may be cut off."""
    unknown: tuple[str, ...] = ()
    """What an update or delete needs and its filter does not name; it writes without a read where this is empty."""
    follows: bool = False
    """Whether the entity behind each row that is found is read."""
    fixed: int = 0
    """Variable parts of the PartitionKey, from the left, that a range of partitions has in common."""
    begun: bool = False
    """Whether a range of partitions has the beginning of the next part in common, and no more of it."""
    types: Mapping[str, EdmType] = field(default_factory=dict, compare=False, repr=False)
    """The types of the properties, by which ``filters`` writes values."""

    @property
    def filters(self) -> tuple[str, ...]:
        """The ``$filter`` texts, one per kind of request, with template holes where the values go."""
        shown = [term.template(self.types) for term in self.terms]
        for condition in self.rest:
            text = format_filter(condition)
            shown.append(shown_filter(f"({text})" if isinstance(condition, Or) else text))
        return (" and ".join(dict.fromkeys(shown)),)

    @property
    def way(self) -> Way:
        """What tells the plans of one class under one scheme from each other."""
        return self.via, self.access, self.back, self.choices

    @property
    def point(self) -> bool:
        """Whether it names the whole key of a row."""
        return self.access is Access.POINT

    @property
    def by_rows(self) -> bool:
        """Whether it reads a range of the rows of a partition."""
        return self.access is Access.ROW_RANGE

    @property
    def buckets(self) -> int:
        """Requests for the buckets of one choice and period."""
        return product(self.fans)

    @property
    def spreads(self) -> bool:
        """Whether one choice of the query is looked for in several partitions: buckets, periods or a range of them."""
        return self.buckets > 1 or self.periods is not None or self.access.rank > Access.PARTITION_SCAN.rank

    @property
    def several(self) -> bool:
        """Whether there may be more than one request, each with its own answer."""
        return self.buckets > 1 or bool(self.choices) or self.periods is not None


def product(parts: tuple[HashPart, ...]) -> int:
    count = 1
    for part in parts:
        count *= part.buckets_total
    return count


# -- How far a filter reaches into one key: its parts are walked from the left.


FAN_OUT_MAX = 4096
"""More buckets than this are not asked one by one."""


@dataclass(frozen=True, slots=True)
class Walk:
    """How far a filter reaches into one key string.

    ``fixed`` parts from the left are known exactly (up to the fan-out); ``range_part`` is the first part that is only
    bounded, ``beginning`` the text that it begins with where a dependency tells no more; ``complete`` says that the
    whole string is known. ``exact`` names the properties that the fixed parts pin down.
    """

    fixed: int
    complete: bool
    atoms: tuple[Atom, ...]
    range_part: Part | None
    buckets: tuple[HashPart, ...]
    choices: tuple[str, ...]
    text: KeyText
    exact: frozenset[str]
    beginning: KeyText | None = None
    shared: tuple[KeyText, Atom] | None = None
    """The text that all of a range of ``range_part`` begins with, and its grouping."""

    def by_beginning(self) -> Walk:
        """The walk to the beginning that the values of a range share, for a key that does not keep their order."""
        if self.shared is None:
            return self if self.range_part is None else replace(self, range_part=None)
        return replace(self, range_part=None, beginning=self.shared[0], atoms=(*self.atoms, self.shared[1]))


def walk(
    parts: tuple[Part, ...],
    wanted: Conditions,
    types: Mapping[str, EdmType] | None = None,
    *,
    fan_out_max: int = FAN_OUT_MAX,
    through: PeriodPart | None = None,
) -> Walk:
    """Walk one key string from the left, enumerating buckets and choices on the way, and the periods ``through``.

    Buckets at the end of an incomplete walk fix nothing and are taken back.
    """
    fixed, atoms, exact = 0, list[Atom](), set[str]()
    buckets, choices = list[HashPart](), list[str]()
    range_part: Part | None = None
    beginning, shared = None, None
    complete, text = True, KeyText()
    useful = (0, 0, text)  # parts, buckets and text up to the last part that a condition fixes
    beside, context = separators(parts), Context(dict(types or {}))
    for position, part in enumerate(parts):
        if part.constant is not None:
            text = text.plus(part.constant)
            if useful[0] == fixed:
                useful = (fixed, len(buckets), text)
            continue
        if part is through:
            fixed, text = fixed + 1, text.plus(Period(through))
            useful = (fixed, len(buckets), text)
            continue
        fixed_by, hashing = fixing(part, wanted), part.hashing
        if fixed_by is None and hashing is not None and hashing.buckets_total <= fan_out_max:
            fan_out_max //= hashing.buckets_total
            buckets.append(hashing)
            fixed, text = fixed + 1, text.plus(Fan(hashing))
            continue
        if fixed_by is None:
            if start := beginning_of(part, wanted):
                beginning = text.plus(Hole(*start[0], beside))
                atoms.append(start[1])
            elif len(part.properties) == 1 and part.properties[0] in wanted.ranges:
                range_part = part
                if start := _shared_beginning(part, wanted):
                    shared = (text.plus(Hole(*start[0], beside)), start[1])
            complete = False
            break
        shown, operands, chosen = fixed_by
        text = text.plus(Hole(shown, operands, beside))
        choices += [name for name in chosen if name not in choices]
        if _pins_down(part, shown, parts[position + 1 : position + 2], wanted, context):
            exact |= set(shown.properties)
        assert shown.atom is not None
        atoms.append(shown.atom)
        fixed += 1
        useful = (fixed, len(buckets), text)
    if not complete and range_part is None and beginning is None:
        fixed, pinned, text = useful
        buckets = buckets[:pinned]
    known, fans = frozenset(exact), tuple(buckets)
    bounded = (range_part, fans, tuple(choices), text, known, beginning, shared)
    return Walk(fixed, complete, tuple(atoms), *bounded)


def _pins_down(part: Part, shown: Part, after: tuple[Part, ...], wanted: Conditions, context: Context) -> bool:
    """Whether a part, written as ``shown``, settles what the filter asks of its properties.

    Only an equality of the filter is settled by it. A property that a dependency fixes may be compared otherwise: the
    key then holds what the rule makes of the equality, whether that comparison holds or not.
    """
    if after and after[0].constant is None and not (part.injective and part.fixed_width(context)):
        return False  # nothing tells where the part ends and the next begins
    if _asks_for_all_of(part, wanted, context):
        return True
    if wanted.folded.keys() & {*shown.properties}:
        return shown.tells_folded
    return serves_exactly(part, context.types) and serves_exactly(shown, context.types)


def fixing(
    part: Part, wanted: Conditions
) -> tuple[Part, tuple[tuple[str, Operand | Choice], ...], tuple[str, ...]] | None:
    """(the part to write, an operand for each of its properties, which of them are choices) where all are fixed."""
    if not part.properties or (part.several is None and any(n in wanted.multi for n in part.properties)):
        return None
    fixed = wanted.fixed_in(part)
    if all(name in fixed for name in part.properties):
        return part, *_operands(part, wanted)
    period = part.period
    asked = None if period is None else wanted.one_period.get(period.property)
    if period is not None and asked is not None and period.unit in asked.units:
        low = wanted.ranges[period.property].low
        assert low is not None
        return part, ((period.property, low),), ()
    name = part.properties[0]
    if part.first_characters is not None and part.first_characters <= wanted.one_beginning.get(name, 0):
        low = wanted.ranges[name].low
        assert low is not None
        return part, ((name, low),), ()
    for d in wanted.inverse:  # the key holds what the filter names, made from another property
        if d.rule == part:
            return Field(d.target), *_operands(Field(d.target), wanted)
    derived = {d.target: d for d in wanted.derived}
    if not all(name in fixed or name in derived for name in part.properties):
        return None
    names = {n: derived[n].rule for n in part.properties if n not in fixed}
    shown = _over(part, names)
    if shown is None or any(name not in wanted.fixed_in(shown) for name in shown.properties):
        return None
    return shown, *_operands(shown, wanted)


def _operands(part: Part, wanted: Conditions) -> tuple[tuple[tuple[str, Operand | Choice], ...], tuple[str, ...]]:
    """(an operand for each property of a part that is fixed, which of them are choices)."""
    operands = {**wanted.folded, **wanted.equal}
    chosen = tuple(n for n in part.properties if n not in operands)
    return tuple((n, Choice(n) if n in chosen else operands[n]) for n in part.properties), chosen


def _asks_for_all_of(part: Part, wanted: Conditions, context: Context) -> bool:
    """Whether a range asks for the whole period that a part tells, so that the part serves it exactly."""
    period = part.period
    asked = None if period is None else wanted.one_period.get(period.property)
    return asked is not None and period is not None and asked.whole == period.unit and period.order(context) > 0


def _over(part: Part, rules: Mapping[str, Part]) -> Part | None:
    """The part of a property that is a function of another, as a part of that other; None where there is none."""
    (name,) = part.properties if len(part.properties) == 1 else ("",)
    return part.over(rules[name]) if name in rules else None


_Beginning = tuple[tuple[Part, "tuple[tuple[str, Operand | Choice], ...]"], Atom]
"""A part with the operands that fill it, and its grouping of rows."""


def beginning_of(part: Part, wanted: Conditions) -> _Beginning | None:
    """The text that a part begins with: the filter fixes a property that is a prefix of this one."""
    for rule in wanted.prefixes if part.plain_property else ():
        if rule.source == part.plain_property and rule.target in wanted.equal:
            return (Field(rule.target), ((rule.target, wanted.equal[rule.target]),)), ("p", rule.target)
    return None


def _shared_beginning(part: Part, wanted: Conditions) -> _Beginning | None:
    """The first characters that both bounds of a range of texts share in all requests."""
    name = part.plain_property
    count, span = wanted.one_beginning.get(name, 0), wanted.ranges.get(name)
    if not count or span is None or span.low is None:
        return None
    first = Prefix(name, count)
    return (first, ((name, span.low),)), first.atom or ()


def enumerated(parts: tuple[Part, ...], wanted: Conditions, types: Mapping[str, EdmType]) -> PeriodPart | None:
    """The period of a key whose periods between two bounds can be asked one by one: a filter bounds it from below, and
    fixes everything else in the key. None where there is none, or all is fixed without it."""
    for part in parts:
        period = part.period
        if period is None or period.property not in wanted.ranges or fixing(part, wanted) is not None:
            continue
        if wanted.ranges[period.property].low is not None and walk(parts, wanted, types, through=period).complete:
            return period
    return None
