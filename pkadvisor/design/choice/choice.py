"""The choice of a set of structures, as values: what there is to choose from, what a set is worth, and the goals in
order.

A structure is a main scheme of an entity kind, or an index row beside one. A statement is a class of queries or writes;
every plan that answers it names the structures that it needs. A set holds one main scheme of each kind and any index
rows of those. The form of the problem follows NoSE (Mior et al., ICDE 2016): structures, plans, update costs; goals
with tolerances, each fixed before the next, stand in place of one weighted sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice, product
from math import comb, fsum, inf

from pkadvisor.design.load.estimates import BREAK_ENOUGH
from pkadvisor.values import dataclass

EXACT = 1e-9
"""Relative slack of a comparison between sums that should be equal."""
SEVERITY_TOLERANCE = 0.05
"""Of a factor over a limit: 1.08 times a target in place of 1.04 is no reason for twice the requests."""
LATENCY_TOLERANCE = 0.05
"""Of a p99 above its goal: 41.8 ms in place of 41.7 is no reason for ten times the requests."""
REQUESTS_TOLERANCE = 0.10
BREAK_TOLERANCE = 0.05
BREAK_SLACK = 1 / (1 - BREAK_TOLERANCE) - 1
"""The same tolerance on the reciprocal: load over capacity."""
VAIN_TOLERANCE = 0.10
VAIN_PER_S = 2_000.0
"""Entities per second, of those that requests read in vain, that are no reason for an index row: what one partition
serves. Assumed."""
ENTITIES_TOLERANCE = 0.01
BYTES_TOLERANCE = 0.01


@dataclass(frozen=True, slots=True)
class Cost:
    """What a plan, or the upkeep of a structure by one statement, costs; all per second at the statement's rate.

    ``latency_excess``: p99 in times of its goal. ``loads``: entities/s (or requests/s) at the peak on limited
    resources.
    """

    requests_per_s: float = 0.0
    entities_per_s: float = 0.0
    latency_excess: float = 0.0
    loads: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Structure:
    """A main scheme (``main`` empty) or an index row beside the main scheme that ``main`` names.

    ``name`` is its template text, the last tie-break.
    """

    name: str
    kind: str
    main: str = ""
    eventual: bool = False
    storage_bytes: float = 0.0
    updates: tuple[tuple[str, Cost], ...] = ()


@dataclass(frozen=True, slots=True)
class StatementPlan:
    """One way to answer a statement, and the structures that it needs."""

    structures: tuple[str, ...]
    cost: Cost


@dataclass(frozen=True, slots=True)
class Statement:
    """A class of queries or writes; no plans: it only keeps structures up.

    ``ordered``: the first plan whose structures are there is sent; else the choice is free.
    """

    name: str
    plans: tuple[StatementPlan, ...]
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class Instance:
    """Everything that a choice depends on. ``rows_most``: sets with more index rows are not looked at."""

    structures: tuple[Structure, ...]
    statements: tuple[Statement, ...]
    capacities: tuple[tuple[str, float], ...] = ()
    horizon_factor: float = 3.0
    rows_most: int | None = None

    def __post_init__(self) -> None:
        names = {s.name for s in self.structures}
        if len(names) != len(self.structures):
            raise ValueError("two structures have one name")
        wanted = {s.main for s in self.structures if s.main}
        wanted |= {n for s in self.statements for p in s.plans for n in p.structures}
        if missing := sorted(wanted - names):
            raise ValueError(f"unknown structure '{missing[0]}'")
        loads = {n for s in self.structures for _, c in s.updates for n, _ in c.loads}
        loads |= {n for s in self.statements for p in s.plans for n, _ in p.cost.loads}
        if missing := sorted(loads - {n for n, _ in self.capacities}):
            raise ValueError(f"no capacity for '{missing[0]}'")

    @property
    def kinds(self) -> tuple[str, ...]:
        """Entity kinds, in the order of their structures."""
        return tuple(dict.fromkeys(s.kind for s in self.structures))


@dataclass(frozen=True, slots=True)
class Chosen:
    """A set of structures in text order, and for each statement the number of its plan; -1 where it needs none."""

    structures: tuple[str, ...]
    plans: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Worth:
    """What the goals compare, in their order."""

    severity: float
    latency_excess: float
    requests_per_s: float
    break_factor: float
    eventual: int
    index_rows: int
    entities_per_s: float
    storage_bytes: float
    length: int
    names: tuple[str, ...]


class MismatchError(AssertionError):
    """A set that does not answer its statements, or whose worth is not what the search took it for."""


def worth(instance: Instance, chosen: Chosen) -> Worth:
    """The worth of a set by its definition. Raises MismatchError where the set is none."""
    by_name = {s.name: s for s in instance.structures}
    there = [by_name[name] for name in chosen.structures]
    _check(instance, chosen, there)
    costs = [cost for s in there for _, cost in s.updates]
    costs += [s.plans[n].cost for s, n in zip(instance.statements, chosen.plans, strict=True) if n >= 0]
    loads: dict[str, list[float]] = {}
    for cost in costs:
        for name, load in cost.loads:
            loads.setdefault(name, []).append(load)
    taken = {name: fsum(values) for name, values in loads.items()}
    rows = [s for s in there if s.main]
    factors = (taken.get(name, 0.0) * instance.horizon_factor / capacity for name, capacity in instance.capacities)
    worst = max(factors, default=0.0)
    return Worth(
        worst if worst > 1 + EXACT else 0.0,
        max((c.latency_excess for c in costs), default=0.0),
        fsum(c.requests_per_s for c in costs),
        min((cap / taken[name] for name, cap in instance.capacities if taken.get(name, 0.0) > 0), default=inf),
        sum(s.eventual for s in rows),
        len(rows),
        fsum(c.entities_per_s for c in costs),
        fsum(s.storage_bytes for s in there),
        sum(len(name) for name in chosen.structures),
        chosen.structures,
    )


def _check(instance: Instance, chosen: Chosen, there: Sequence[Structure]) -> None:
    names = {s.name for s in there}
    for kind in instance.kinds:
        if sum(1 for s in there if s.kind == kind and not s.main) != 1:
            raise MismatchError(f"{kind} has not one main scheme")
    if sum(1 for s in there if s.main) > _rows_most(instance):
        raise MismatchError(f"more than {instance.rows_most} index rows")
    for structure in there:
        if structure.main and structure.main not in names:
            raise MismatchError(f"'{structure.name}' stands beside nothing")
    for statement, number in zip(instance.statements, chosen.plans, strict=True):
        if not statement.plans:
            continue
        if number < 0 or not names.issuperset(statement.plans[number].structures):
            raise MismatchError(f"{statement.name} has no plan over the chosen structures")
        if statement.ordered and any(names.issuperset(p.structures) for p in statement.plans[:number]):
            raise MismatchError(f"{statement.name} does not take its first plan")


def slowest_allowed(least_excess: float) -> float:
    """The most that a p99 may be, in times of its goal, where the best design has so much: no more than the goal where
    that is met, else ``LATENCY_TOLERANCE`` above the best."""
    return 1.0 + EXACT if least_excess <= 1.0 + EXACT else least_excess * (1 + LATENCY_TOLERANCE)


def narrowed(pool: Sequence[tuple[Worth, Chosen]]) -> list[tuple[Worth, Chosen]]:
    """What is left of a pool after every goal: the best set, with each choice of plans that reaches it."""
    left = list(pool)

    def most(values: Sequence[float], slack: float) -> None:
        nonlocal left
        bound = min(values) * (1 + slack)
        bound += EXACT * abs(bound)
        left = [pair for pair, value in zip(left, values, strict=True) if value <= bound]

    most([w.severity for w, _ in left], SEVERITY_TOLERANCE)
    slowest = slowest_allowed(min(w.latency_excess for w, _ in left))
    left = [pair for pair in left if pair[0].latency_excess <= slowest]
    most([w.requests_per_s for w, _ in left], REQUESTS_TOLERANCE)
    lasting = any(w.break_factor >= BREAK_ENOUGH * (1 - EXACT) for w, _ in left)
    most([max(1 / BREAK_ENOUGH, 1 / w.break_factor) for w, _ in left], 0.0 if lasting else BREAK_SLACK)
    most([w.eventual for w, _ in left], 0.0)
    most([w.index_rows for w, _ in left], 0.0)
    most([w.entities_per_s for w, _ in left], ENTITIES_TOLERANCE)
    most([w.storage_bytes for w, _ in left], BYTES_TOLERANCE)
    most([w.length for w, _ in left], 0.0)
    first = min(w.names for w, _ in left)
    return [pair for pair in left if pair[0].names == first]


# -- by enumeration ----------------------------------------------------------------------------------------------------


def sets(instance: Instance) -> Iterator[tuple[str, ...]]:
    """Every set of structures: one main scheme of each kind, any index rows of it."""
    most = _rows_most(instance)
    options = []
    for kind in instance.kinds:
        every_set: list[tuple[str, ...]] = []
        for main in (s.name for s in instance.structures if s.kind == kind and not s.main):
            rows = [s.name for s in instance.structures if s.main == main]
            for size in range(min(most, len(rows)) + 1):
                every_set += [(main, *chosen) for chosen in combinations(rows, size)]
        options.append(every_set)
    for parts in product(*options):
        if sum(len(part) - 1 for part in parts) <= most:
            yield tuple(sorted(name for part in parts for name in part))


def set_count(instance: Instance) -> int:
    """How many sets there are at the most."""
    most = _rows_most(instance)
    count = 1
    for kind in instance.kinds:
        mains = [s.name for s in instance.structures if s.kind == kind and not s.main]
        beside = [sum(1 for s in instance.structures if s.main == main) for main in mains]
        count *= sum(comb(rows, size) for rows in beside for size in range(min(most, rows) + 1))
    return count


def _rows_most(instance: Instance) -> int:
    return len(instance.structures) if instance.rows_most is None else instance.rows_most


def enumerated(instance: Instance, *, idle: bool = True) -> list[tuple[Worth, Chosen]]:
    """Every set with every choice of plans, and its worth: what a search must agree with.

    Without ``idle`` a choice that leaves a row unused is passed over: the same without the row is never worse.
    """
    bits = {s.name: 1 << number for number, s in enumerate(instance.structures)}
    rows = sum(bits[s.name] for s in instance.structures if s.main)
    needs = [[_bits(p.structures, bits) for p in statement.plans] for statement in instance.statements]
    out: list[tuple[Worth, Chosen]] = []
    for names in sets(instance):
        there = _bits(names, bits)
        choices: list[tuple[int, ...]] = []
        for statement, needed in zip(instance.statements, needs, strict=True):
            possible = (n for n, need in enumerate(needed) if need & there == need)
            choices.append(tuple(islice(possible, 1) if statement.ordered else possible) if needed else (-1,))
        for plans in product(*choices):
            used = 0
            for needed, number in zip(needs, plans, strict=True):
                used |= needed[number] if number >= 0 else 0
            if idle or not there & rows & ~used:
                chosen = Chosen(names, plans)
                out.append((worth(instance, chosen), chosen))
    return out


def _bits(names: Iterable[str], bits: Mapping[str, int]) -> int:
    return sum(bits[name] for name in set(names))


def best_sets(pool: Sequence[tuple[Worth, Chosen]], count: int) -> list[tuple[Worth, Chosen]]:
    """The best sets of a pool, each the best of what the earlier ones leave."""
    left, out = list(pool), list[tuple[Worth, Chosen]]()
    while left and len(out) < count:
        winner = min(narrowed(left), key=lambda pair: (sum(pair[1].plans), pair[1].plans))
        out.append(winner)
        left = [pair for pair in left if pair[1].structures != winner[1].structures]
    return out
