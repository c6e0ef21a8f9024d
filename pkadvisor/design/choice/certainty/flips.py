"""What would turn a ranking of two schemes: the smallest change of one rate that does, or that none does.

The ranking is asked again with the changed rate, so what is reported is what happens. Estimates are nearly linear in
the rates: a change is looked for on a coarse grid of factors, outward from 1, then narrowed by bisection. A turn that
comes and goes between two factors of the grid is missed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum

from pkadvisor.design.choice.choice import BYTES_TOLERANCE
from pkadvisor.design.choice.goals import better, good_enough, loss, missed, ranked, spread_reads, unsorted
from pkadvisor.design.cost.cost import compared
from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.load.estimates import Bench, ClassCost, CostEstimate
from pkadvisor.numbers import amount
from pkadvisor.observe.workload import Growth, GrowthOf, Operation, Rate
from pkadvisor.values import dataclass

LEVELS = (2.0, 10.0, 100.0, 1000.0)
"""Factors between which a turn is looked for, and their inverses; 1000 is the most that is tried."""
NARROW = 1.004
"""The width, as a ratio, to which a turn is narrowed before it is rounded away from 1."""
DIGITS = (2, 3, 4)


class Turn(StrEnum):
    """What was found about the order of two schemes."""

    FLIPS = "flips"
    DOMINATED = "dominated"
    """At least as good in every goal for every class: no rates help."""
    NONE = "none"
    """No change of one rate within the grid turns it; changes of several rates were not tried."""
    AHEAD = "ahead"
    """Compared alone it is the better one already: the tolerances against third schemes put it below."""


@dataclass(frozen=True, slots=True)
class Flip:
    """The rate of one class, mean and peaks together, that turns the order: ``factor`` times today's."""

    query: str
    factor: float
    rate_per_s: float
    goal: str
    """The goal at which the first scheme then falls behind."""


@dataclass(frozen=True, slots=True)
class Turning:
    """The answer for a pair. ``proof`` has a sentence for each goal where one is dominated; ``tried`` rates changed."""

    turn: Turn
    flip: Flip | None = None
    proof: tuple[str, ...] = ()
    tried: int = 0
    rank: int = 2
    """The number in the ranking of the scheme that would be first."""


def nearest_turning(ranking: Sequence[CostEstimate], bench: Bench, *, kept: bool = False) -> Turning | None:
    """The smallest change of one rate that puts another scheme first, of those that may: the next best one, and the
    first ones with fewer index rows, without any, with more beside the same main key, and with another main key. None
    where there is no other scheme."""
    if len(ranking) < 2:
        return None
    first, *others = ranking
    changed = ChangedRates(bench)
    next_best = changed.turning(first, others[0], kept=kept)
    if next_best.turn is Turn.AHEAD:
        return next_best
    rows = len(first.scheme.index_rows)
    unlike: tuple[Callable[[KeyScheme], bool], ...] = (
        lambda scheme: len(scheme.index_rows) < rows,
        lambda scheme: rows > 0 and not scheme.index_rows,
        lambda scheme: scheme.main == first.scheme.main and len(scheme.index_rows) > rows,
        lambda scheme: scheme.main != first.scheme.main,
    )
    numbers = {next((n for n, other in enumerate(others) if is_such(other.scheme)), 0) for is_such in unlike} - {0}
    turns = [next_best, *(replace(changed.turning(first, others[n], kept=kept), rank=n + 2) for n in sorted(numbers))]
    return min(turns, key=lambda t: abs(math.log(t.flip.factor)) if t.flip else math.inf)


def with_rate(bench: Bench, name: str, factor: float) -> Bench:
    """The bench with the rate of one class, mean and peaks together, ``factor`` times as high."""
    classes = tuple(replace(c, rate=_times(c.rate, factor)) if c.name == name else c for c in bench.workload.classes)
    demands = tuple(
        replace(d, query=replace(d.query, rate=_times(d.query.rate, factor))) if d.query.name == name else d
        for d in bench.demands
    )
    return replace(bench, workload=replace(bench.workload, classes=classes), demands=demands)


def _times(rate: Rate, factor: float) -> Rate:
    minute = None if rate.peak_minute_per_s is None else rate.peak_minute_per_s * factor
    mean = rate.mean_per_s * factor
    return replace(rate, mean_per_s=mean, peak_per_s=max(mean, rate.peak_per_s * factor), peak_minute_per_s=minute)


def again(priced: CostEstimate, bench: Bench) -> CostEstimate:
    """What the goals compare of the same scheme on another bench; what its key is made of stays remarked, and that it
    is not unique, found over all rows, stays known."""
    fresh = compared(priced.scheme, bench)
    codes = {v.code for v in fresh.violations}
    not_unique = tuple(v for v in priced.violations if v.code == "not-unique" and v.code not in codes)
    return replace(fresh, remarks=priced.remarks, violations=(*fresh.violations, *not_unique))


def stays(first: CostEstimate, second: CostEstimate, *, kept: bool) -> bool:
    """Whether ``first`` is ranked above ``second``; a scheme in place (``kept``) also where it is good enough."""
    return better(first, second) or (kept and good_enough(first, second))


def turning(first: CostEstimate, second: CostEstimate, bench: Bench, *, kept: bool = False) -> Turning:
    """What puts ``second`` before ``first``: the change of one rate with the smallest |log factor|.

    ``kept``: first is the scheme in place and stays as long as it is good enough.
    """
    return ChangedRates(bench).turning(first, second, kept=kept)


class ChangedRates:
    """What schemes cost when one rate changes: each scheme is priced once at each change, whatever it is compared
    with."""

    def __init__(self, bench: Bench) -> None:
        self._bench = replace(bench, reads={})
        self._priced: dict[tuple[int, str, float], tuple[CostEstimate, CostEstimate]] = {}

    def _again(self, estimate: CostEstimate, name: str, factor: float) -> CostEstimate:
        memo = (id(estimate), name, factor)
        if memo not in self._priced:  # with the estimate itself, so that its number is not given to another
            self._priced[memo] = (estimate, again(estimate, with_rate(self._bench, name, factor)))
        return self._priced[memo][1]

    def turning(self, first: CostEstimate, second: CostEstimate, *, kept: bool = False) -> Turning:
        """As the function ``turning``."""
        if not stays(first, second, kept=kept):
            return Turning(Turn.AHEAD)
        proof = dominance(first, second, self._bench)
        if proof:
            return Turning(Turn.DOMINATED, None, proof)
        demands = {d.query.name: d for d in self._bench.demands if d.query.rate.sustained_per_s > 0}
        asked: dict[tuple[str, float], bool] = {}

        def turned(name: str, factor: float) -> bool:
            if (name, factor) not in asked:
                pair = self._again(first, name, factor), self._again(second, name, factor)
                asked[name, factor] = not stays(*pair, kept=kept)
            return asked[name, factor]

        inner = 1.0
        for level in LEVELS:
            turning_rates = [(n, sign) for n in demands for sign in (1, -1) if turned(n, level**sign)]
            best: tuple[float, str, float] | None = None
            for name, sign in turning_rates:
                if best is not None and not turned(name, best[0] ** sign):
                    continue  # it needs more than the best so far
                outer = level if best is None else best[0]
                reach = _narrowed(lambda size, n=name, s=sign: turned(n, size**s), inner, outer)
                if best is None or reach < best[0]:
                    best = (reach, name, reach**sign)
            if best is not None:
                _, name, exact = best
                factor = next((f for f in (_away(exact, n) for n in DIGITS) if turned(name, f)), exact)
                rate_per_s = _times(demands[name].query.rate, factor).mean_per_s
                goal = loss(self._again(first, name, factor), self._again(second, name, factor)).goal
                return Turning(Turn.FLIPS, Flip(name, factor, rate_per_s, goal), tried=len(asked))
            inner = level
        return Turning(Turn.NONE, tried=len(asked))


def _narrowed(turned: object, inner: float, outer: float) -> float:
    """The least size in (inner, outer] that turns, to a ratio of NARROW; ``outer`` turns."""
    assert callable(turned)
    low, high = math.log(inner), math.log(outer)
    while high - low > math.log(NARROW):
        middle = (low + high) / 2
        if turned(math.exp(middle)):
            high = middle
        else:
            low = middle
    return math.exp(high)


def _away(factor: float, digits: int) -> float:
    """A factor at so many digits, rounded away from 1."""
    scale = 10.0 ** (digits - 1 - math.floor(math.log10(factor)))
    rounded = math.ceil(factor * scale) if factor > 1 else math.floor(factor * scale)
    return float(f"{rounded / scale:.{digits}g}")


def dominance(first: CostEstimate, second: CostEstimate, bench: Bench) -> tuple[str, ...]:
    """Why ``first`` is before ``second`` at any rates, a sentence for each goal; empty where that cannot be said.

    Every class is priced alone under both. Loads of single classes add up alike only where both schemes spread over the
    same partitions, so nothing is claimed for others. A goal that does not depend on rates, and that ``first`` wins,
    ends the list: what comes after it is never looked at.
    """
    if {k.partition for k, _ in first.scheme.each_key()} != {k.partition for k, _ in second.scheme.each_key()}:
        return ()
    none = replace(bench, demands=())
    if missed(again(first, none)) > missed(again(second, none)) or not bench.demands:
        return ()
    pairs: list[tuple[CostEstimate, CostEstimate]] = []
    for demand in bench.demands:
        alone = replace(bench, demands=(demand,))
        pair = again(first, alone), again(second, alone)
        if not _no_worse(*pair):
            return ()
        pairs.append(pair)
    proof = [
        "constraints and latency: no query or write alone comes nearer to a limit or takes longer, and both spread "
        "over the same partitions",
        f"requests: {_each(pairs, 'requests')}",
        "break factor: no query or write alone loads the busiest partition more",
    ]
    mine, theirs = _rows(first), _rows(second)
    if mine > theirs or not _late_no_more(first, second):
        return ()
    proof.append(
        f"index rows: {mine[1]} against {theirs[1]}, and no larger share of the reads uses rows that are written later"
    )
    if mine < theirs:
        return tuple(proof)
    proof.append(f"entities: {_each(pairs, 'entities')}")
    if first.bytes_per_entity > second.bytes_per_entity:
        return ()
    proof.append(f"storage: {first.bytes_per_entity:,.6g} against {second.bytes_per_entity:,.6g} bytes/entity")
    if second.bytes_per_entity > first.bytes_per_entity * (1 + BYTES_TOLERANCE):
        return tuple(proof)
    longer = first.scheme.length() >= second.scheme.length()
    if longer or first.open_ended > second.open_ended or _unsorted(first) - _unsorted(second):
        return ()
    return (*proof, f"simplicity: {first.scheme.length()} against {second.scheme.length()} characters")


def _no_worse(first: CostEstimate, second: CostEstimate) -> bool:
    """Whether one class alone costs no more under ``first``, in everything that depends on its rate."""
    (mine,), (theirs,) = first.classes, second.classes
    return (
        missed(first) <= missed(second)
        and first.break_factor >= second.break_factor
        and first.latency_excess <= second.latency_excess
        and mine.latency_ms_p99 <= theirs.latency_ms_p99
        and mine.requests <= theirs.requests
        and spread_reads(first) <= spread_reads(second)
        and _counted(mine) <= _counted(theirs)
        and mine.entities_read_max <= theirs.entities_read_max
    )


def _counted(cost: ClassCost) -> float:
    return cost.entities_read + cost.entities_written


def _each(pairs: Sequence[tuple[CostEstimate, CostEstimate]], what: str) -> str:
    """The classes in which two schemes differ, or that they do not."""
    out = []
    for first, second in pairs:
        (mine,), (theirs,) = first.classes, second.classes
        a, b = (mine.requests, theirs.requests) if what == "requests" else (_counted(mine), _counted(theirs))
        if a != b:
            out.append(f"{mine.name} {amount(a)} against {amount(b)}")
    return "; ".join(out) + "; the others equal" if out else "the same for every query and write"


def _rows(estimate: CostEstimate) -> tuple[int, int]:
    scheme = estimate.scheme
    return sum(1 for row in scheme.index_rows if not scheme.same_partition(row)), len(scheme.index_rows)


def _unsorted(estimate: CostEstimate) -> set[str]:
    return {c.name for c in estimate.classes if unsorted(c)}


def _late_no_more(first: CostEstimate, second: CostEstimate) -> bool:
    """Whether every read that goes through an eventually consistent row under ``first`` does so under ``second``."""

    def late(estimate: CostEstimate) -> set[str]:
        away = {v for v, row in enumerate(estimate.scheme.index_rows, 1) if not estimate.scheme.same_partition(row)}
        reads = [c for c in estimate.classes if c.operation is Operation.QUERY and c.plan is not None]
        return {c.name for c in reads if c.plan is not None and c.plan.via in away}

    return late(first) <= late(second)


# -- How far the verdict hangs on what is assumed: every assumed or derived number taken half and twice as large.


FACTORS = (0.5, 2.0)
VARIED = ("assumed", "derived")
HORIZON = "horizon factor"
SWITCHES = ("account_counts_entities",)
"""Numbers that are 0 or 1: the other reading is tried in place of a factor."""


@dataclass(frozen=True, slots=True)
class Shift:
    """One assumed number whose change alters the verdict: at ``tried`` in place of ``value``.

    ``winner``: the scheme that would then be first, None where it stays. ``constraints``: schemes (as texts) that would
    then hold every constraint, or no longer do, with what is so.
    """

    name: str
    basis: str
    unit: str
    value: float
    tried: float
    winner: str | None
    constraints: tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """What alters the verdict, how many numbers alter nothing, how many schemes were priced again."""

    shifts: tuple[Shift, ...]
    unchanged: int
    schemes: int


def sensitivity(
    pool: Sequence[CostEstimate], bench: Bench, estimates: Sequence[CostEstimate], kept: bool
) -> Sensitivity:
    """Vary every assumed number; ``pool`` are the schemes that may win, the present winner first.

    ``estimates``: the schemes of which it is said whether they still hold every constraint. ``kept``: the present
    winner is the scheme in place and stays as long as it is good enough.
    """
    winner = pool[0]

    def first(estimates: Sequence[CostEstimate]) -> str:
        best = ranked(estimates)[0]
        return winner.scheme.text if kept and good_enough(estimates[0], best) else best.scheme.text

    before = first(pool)
    shifts: list[Shift] = []
    names: dict[str, bool] = {}
    for name, basis, unit, value, tried, changed in _variants(bench):
        fresh = [again(c, changed) for c in pool]
        then = first(fresh)
        by_text = {c.scheme.text: c for c in fresh}
        held = tuple(
            (c.scheme.text, after.feasible)
            for c in estimates
            if (after := by_text.get(c.scheme.text) or again(c, changed)).feasible != c.feasible
        )
        names[name] = names.get(name, False) or then != before or bool(held)
        if then != before or held:
            shifts.append(Shift(name, basis, unit, value, tried, then if then != before else None, held))
    return Sensitivity(tuple(shifts), sum(1 for moved in names.values() if not moved), len(pool))


def _variants(bench: Bench) -> Iterator[tuple[str, str, str, float, float, Bench]]:
    """(name, basis, unit, value, value tried, the bench with it) for every assumed number and direction."""
    limits = bench.limits
    for entry in limits.entries:
        if entry.basis not in VARIED:
            continue
        tries = [1.0 - entry.value] if entry.name in SWITCHES else [entry.value * factor for factor in FACTORS]
        for tried in tries:
            changed = limits.with_value(entry.name, tried)
            if changed is not limits:
                now = changed.of(entry.name).value
                yield entry.name, entry.basis, entry.unit, entry.value, now, replace(bench, limits=changed)
    growth = bench.workload.growth
    if growth is None:
        for factor in FACTORS:
            horizon = max(1.0, bench.horizon_factor * factor)
            assumed = Growth(horizon, GrowthOf.RATE, 1.0)
            workload = replace(bench.workload, growth=assumed)
            yield HORIZON, "assumed", "x", bench.horizon_factor, horizon, replace(bench, workload=workload)
