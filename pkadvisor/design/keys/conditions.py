"""A filter taken apart into what a key may serve: equalities, ranges and choices on single properties, and the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from pkadvisor.design.keys.transforms import Atom, ListPart, Lower, Part, Prefix
from pkadvisor.table.odata import Comparison, Filter, Operator, Or, Parameter, TypedValue, conjuncts, properties
from pkadvisor.values import dataclass

Operand = TypedValue | Parameter


@dataclass(frozen=True, slots=True)
class Range:
    """Bounds on one property; an open side is None."""

    low: Operand | None = None
    low_inclusive: bool = True
    high: Operand | None = None
    high_inclusive: bool = False


@dataclass(frozen=True, slots=True)
class OnePeriod:
    """A range of time of which every request lies within one period.

    ``units`` are those of the periods that hold it, such as day, month and year; ``whole`` is the unit of which it asks
    for the whole period, empty where it asks for less.
    """

    units: frozenset[str]
    whole: str = ""


@dataclass(frozen=True, slots=True)
class Dependency:
    """One property as a function of another, found in the data: ``target`` is the text that ``rule`` makes of
    ``source``.

    ``both_ways``: the rule is injective, so that either fixes the other.
    """

    target: str
    source: str
    rule: Part
    both_ways: bool

    @property
    def prefix(self) -> bool:
        """Whether the target is what the source begins with."""
        return isinstance(self.rule, Prefix)


@dataclass(frozen=True, slots=True)
class NearRule:
    """A rule that a few rows break: how many, and the numbers of the first of them, from 1 in the order of the data."""

    target: str
    rule: Part
    broken: int
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PropertyRules:
    """The rules between the properties of a table: those that all rows keep, those that a few break, and those of which
    the table has one property alone."""

    kept: tuple[Dependency, ...]
    near: tuple[NearRule, ...] = ()
    half: tuple[Dependency, ...] = ()


@dataclass(frozen=True, slots=True)
class Conditions:
    """A filter taken apart. ``residual`` keeps what no key can serve (``ne``, ``not``, ``or`` over several
    properties). ``folded`` are properties of which the text in lower case alone is known. ``derived`` are properties
    that equalities and choices fix through another; ``prefixes`` those whose first characters are another property,
    ``inverse`` those from which a property that the filter fixes is made."""

    equal: Mapping[str, Operand]
    ranges: Mapping[str, Range]
    any_of: Mapping[str, tuple[Operand, ...]]
    residual: tuple[Filter, ...]
    folded: Mapping[str, Operand] = field(default_factory=dict)
    derived: tuple[Dependency, ...] = ()
    prefixes: tuple[Dependency, ...] = ()
    inverse: tuple[Dependency, ...] = ()
    multi: Mapping[str, ListPart] = field(default_factory=dict)
    """Properties that hold several values: ``eq`` asks for any of them, and only rows for each value serve it."""
    one_period: Mapping[str, OnePeriod] = field(default_factory=dict)
    """Properties whose range lies within one period in every request that a log holds."""
    one_beginning: Mapping[str, int] = field(default_factory=dict)
    """Properties whose range holds texts with the same first characters alone in every request that a log holds: how
    many characters at the least."""

    @property
    def properties(self) -> tuple[str, ...]:
        """Every property named."""
        rest = [p for f in self.residual for p in properties(f)]
        return tuple(dict.fromkeys([*self.equal, *self.folded, *self.any_of, *self.ranges, *rest]))

    @property
    def equal_atoms(self) -> list[Atom]:
        """The groupings of rows that the equalities fix."""
        return [*(("p", name) for name in self.equal), *map(folded_atom, self.folded)]

    def fixed_in(self, part: Part) -> set[str]:
        """The properties of which a part makes one text: those that are fixed, and where it reads no case those that
        are folded."""
        return {*self.equal, *self.any_of, *(name for name in self.folded if not part.reads_case(name))}


def folded_atom(name: str) -> Atom:
    """The grouping of rows whose texts differ in case alone."""
    return ("f", str(Lower(name)))


_RANGES = ("gt", "ge", "lt", "le")


def conditions(filter_: Filter | None) -> Conditions:
    """The conditions of a filter over logical properties."""
    equal: dict[str, Operand] = {}
    folded: dict[str, Operand] = {}
    ranges: dict[str, Range] = {}
    any_of: dict[str, tuple[Operand, ...]] = {}
    residual: list[Filter] = []
    parts = conjuncts(filter_) if filter_ is not None else ()
    for part in (_single(p) for p in parts):
        if isinstance(part, Comparison) and part.operator == "eq" and part.property not in {*equal, *folded}:
            (folded if part.folded else equal)[part.property] = part.operand
        elif isinstance(part, Comparison) and part.operator in _RANGES:
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
    # An equality or a choice fixes its property: whatever else is said about it is left to the server's filter.
    fixed = {*equal, *any_of}
    residual += [f for f in parts if isinstance(f, Comparison) and f.property in fixed and f.operator in _RANGES]
    residual += [
        f for f in parts if isinstance(f, Or) and (same := _same_property(f)) and same[0] in {*equal} & {*any_of}
    ]
    ranges = {n: r for n, r in ranges.items() if n not in fixed}
    any_of = {n: c for n, c in any_of.items() if n not in equal}
    return Conditions(equal, ranges, any_of, tuple(dict.fromkeys(residual)), folded)


def _single(filter_: Filter) -> Filter:
    """``a eq 1`` for ``a eq 1 or a eq 1``."""
    if isinstance(filter_, Or) and (same := _same_property(filter_)) and len(same[1]) == 1:
        return Comparison(same[0], Operator.EQ, same[1][0])
    return filter_


def _same_property(filter_: Filter) -> tuple[str, tuple[Operand, ...]] | None:
    """(property, operands) of ``a eq 1 or a eq 2``; None for any other shape."""
    assert isinstance(filter_, Or)
    parts = [p for p in filter_.operands if isinstance(p, Comparison) and p.operator == "eq" and not p.folded]
    names = {p.property for p in parts}
    if len(parts) != len(filter_.operands) or len(names) != 1:
        return None
    return parts[0].property, tuple(dict.fromkeys(p.operand for p in parts))


def with_dependencies(conditions: Conditions, dependencies: Iterable[Dependency]) -> Conditions:
    """The conditions, and what they imply for other properties."""
    every = tuple(dependencies)
    fixed = {*conditions.equal, *conditions.any_of}
    derived = tuple(d for d in every if d.source in conditions.fixed_in(d.rule) and d.target not in fixed)
    prefixes = tuple(d for d in every if d.prefix and d.target in conditions.equal and d.source not in conditions.equal)
    inverse = tuple(d for d in every if d.both_ways and d.target in fixed and d.source not in fixed)
    return replace(conditions, derived=derived, prefixes=prefixes, inverse=inverse)
