"""The goals that rank schemes, in their order, each with its tolerance.

1. hard constraints, within 5 %            2. every latency goal met, else within 5 % of the least worst excess
3. the room for growth to plan for, where it costs few enough requests for how much of it the others lack
4. entities read in vain by requests that read many: at most those of one partition, else within 10 % of the fewest,
   where that costs at most half as many requests again
5. requests per second, within 10 %
6. where a scheme has that room: reads from several partitions; then index rows
7. break factor of 10, else within 5 %
8. fewest structures, eventually consistent ones first, then fewest reads through those
9. entities counted per second             10. stored bytes
11. ties: orders served by the keys, requests, reads from several partitions, partitions that stay bounded, then the
    shortest template, the order in which the filters name the properties, the shortest main key, most partitions, text
    order

A scheme that loses is told at which goal, by how much.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from pkadvisor.design.choice.choice import (
    BREAK_TOLERANCE,
    BYTES_TOLERANCE,
    ENTITIES_TOLERANCE,
    REQUESTS_TOLERANCE,
    SEVERITY_TOLERANCE,
    VAIN_PER_S,
    VAIN_TOLERANCE,
    slowest_allowed,
)
from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.load.broken_sets import sets_weight
from pkadvisor.design.load.estimates import BREAK_ENOUGH, BREAK_LEAST, ClassCost, CostEstimate, Violation
from pkadvisor.observe.workload import Operation
from pkadvisor.values import dataclass

T = TypeVar("T")

WORTH_REQUESTS = 1.5
"""Times the fewest requests that the end of reads in vain may cost. Assumed."""
ROOM_WORTH = 3.0
"""Times the requests of keys without any room for growth that keys with all of it may cost. Assumed."""
SPARE_ROOM = 2.0
"""Times the break factor that an index row is not worth, where there is room for growth without it. Assumed."""
SORTED_BYTES = 1.25
"""Times the fewest stored bytes that keys in the order that queries want may take. Assumed."""
SPREAD_TOLERANCE = 0.05
"""Share of the reads that may go to more partitions than under the best scheme."""


@dataclass(frozen=True, slots=True)
class RankingGoal:
    """One goal in the order of goals."""

    name: str
    unit: str


CONSTRAINTS = RankingGoal("constraints", "worst factor over a limit")
LATENCY = RankingGoal("latency", "times its goal")
ROOM = RankingGoal("room", "of the room for growth to plan for")
REQUESTS = RankingGoal("requests", "requests/s")
SPREAD = RankingGoal("spread reads", "share of the reads from several partitions")
SPARE_ROWS = RankingGoal("spare index rows", "eventual, all")
BREAKS = RankingGoal("break factor", "x")
IN_VAIN = RankingGoal("read in vain", "entities/s")
STRUCTURES = RankingGoal("structures", "eventual, all")
ENTITIES = RankingGoal("entities", "entities/s")
SORTING = RankingGoal("sorting", "requests/s that the client sorts")
STORAGE = RankingGoal("storage", "bytes/entity")
SIMPLICITY = RankingGoal("simplicity", "characters")
GOALS = (
    CONSTRAINTS,
    LATENCY,
    ROOM,
    IN_VAIN,
    REQUESTS,
    SPREAD,
    SPARE_ROWS,
    BREAKS,
    STRUCTURES,
    ENTITIES,
    SORTING,
    STORAGE,
    SIMPLICITY,
)
MANY = 100.0
"""Entities that one request reads in vain, from which on they count: a tenth of a page. Assumed."""


TIES = (
    RankingGoal("requests", "requests/s"),
    RankingGoal("spread reads", "share of the reads from several partitions"),
    RankingGoal("bounded growth", "keys whose partitions nothing bounds"),
    RankingGoal("simplicity", "characters"),
)
"""What the last goal compares, one after the other, without tolerance."""


def missed_by(violations: Iterable[Violation]) -> tuple[float, ...]:
    """Factors by which constraints are missed, the worst first; less is better.

    Growth that is only assumed misses none. Broken sets weigh together, by their number, so that whoever breaks no more
    of anything never comes second.
    """
    factors, sets, sets_of = list[float](), 0.0, 0.0
    for violation in violations:
        if violation.assumed:
            continue
        if violation.sets_of:
            sets, sets_of = sets + violation.sets, max(sets_of, violation.sets_of)
        else:
            factors.append(round(violation.severity, 6))
    if sets_of:
        factors.append(round(sets_weight(sets, sets_of), 6))
    return tuple(sorted(factors, reverse=True))


def severity(estimate: CostEstimate) -> float:
    """The worst factor by which a constraint is missed; 0 where all hold."""
    return max(missed(estimate), default=0.0)


def missed(estimate: CostEstimate) -> tuple[float, ...]:
    """What the first goal compares: where all miss one constraint alike, the next decides."""
    return missed_by(estimate.violations)


def missing_least(pool: Sequence[T], violations_of: Callable[[T], Iterable[Violation]]) -> list[T]:
    """Those that miss hard constraints least: by the worst factor, then by the next ones, each within
    ``SEVERITY_TOLERANCE``; growth that is only assumed breaks none."""
    left = [(each, missed_by(violations_of(each))) for each in pool]
    for place in range(max((len(missed) for _, missed in left), default=0)):
        factors = [missed[place] if place < len(missed) else 0.0 for _, missed in left]
        most = min(factors) * (1 + SEVERITY_TOLERANCE)
        left = [pair for pair, factor in zip(left, factors, strict=True) if factor <= most]
    return [each for each, _ in left]


def structures(estimate: CostEstimate) -> tuple[int, int, float]:
    """(eventually consistent structures, all extra structures, tenths of the reads that go through the former)."""
    scheme = estimate.scheme
    away = [via for via, row in enumerate(scheme.index_rows, 1) if not scheme.same_partition(row)]
    reads = [c for c in estimate.classes if c.operation is Operation.QUERY and not c.analytic and c.plan is not None]
    rate = sum(c.rate_per_s for c in reads)
    late = sum(c.rate_per_s for c in reads if c.plan is not None and c.plan.via in away)
    return len(away), len(scheme.index_rows), round(late / rate, 1) if rate else 0.0


def rows_beside(estimate: CostEstimate) -> tuple[int, int]:
    """(index rows in other partitions, all index rows): each is written with every entity."""
    return structures(estimate)[:2]


def read_in_vain(estimate: CostEstimate) -> float:
    """Entities per second that requests read and do not want, where they are many for one request."""
    vain = ((c.rate_per_s, c.entities_read - c.entities_returned) for c in estimate.classes if not c.analytic)
    return sum(rate_per_s * entities for rate_per_s, entities in vain if entities >= MANY)


def room(estimate: CostEstimate) -> float:
    """How much of the room for growth to plan for a scheme has; at most 1."""
    return min(1.0, estimate.break_factor / estimate.room_factor)


def worth_of_room(estimate: CostEstimate) -> float:
    """Times its requests that keys with room for growth may cost in place of a scheme: at its target ``ROOM_WORTH``,
    much less where it has most of that room."""
    room_factor = max(estimate.room_factor, 1 + 1e-9)
    lacking = min(1.0, max(0.0, (room_factor - estimate.break_factor) / (room_factor - 1)))
    return 1 + (ROOM_WORTH - 1) * lacking**2


def spread_reads(estimate: CostEstimate) -> float:
    """The share of the reads that one partition does not answer: they go to buckets, periods or a range of partitions;
    of reads by period, those that reach beyond one period."""
    reads = [c for c in estimate.classes if c.operation is Operation.QUERY and not c.analytic and c.plan is not None]
    rate = sum(c.rate_per_s for c in reads)
    return sum(c.rate_per_s * _share_spread(c) for c in reads) / rate if rate else 0.0


def _share_spread(cost: ClassCost) -> float:
    plan = cost.plan
    if plan is None or not plan.spreads:
        return 0.0
    one_by_one = plan.periods is not None and plan.buckets == 1 and not plan.choices
    return min(1.0, max(0.0, cost.requests - cost.continuations - 1)) if one_by_one else 1.0


def survivors(pool: Sequence[CostEstimate]) -> Iterator[tuple[RankingGoal, list[CostEstimate]]]:
    """After each goal, the schemes still in: the last list has one member."""
    left = missing_least(list(pool), lambda c: c.violations)
    yield CONSTRAINTS, left
    slowest = slowest_allowed(min(c.latency_excess for c in left))
    left = [c for c in left if c.latency_excess <= slowest]
    yield LATENCY, left
    roomy_per_s = min((c.requests_per_s for c in left if room(c) >= 1), default=math.inf)
    left = [c for c in left if room(c) >= 1 or c.requests_per_s * worth_of_room(c) < roomy_per_s]
    yield ROOM, left

    fewest_per_s = min(c.requests_per_s for c in left)
    affordable = [c for c in left if c.requests_per_s <= fewest_per_s * WORTH_REQUESTS]
    # A scan of many partitions is no cure for a scan of one, though it takes as few requests.
    frugal = _frugal(affordable)
    if len(frugal) < len(affordable):
        yield REQUESTS, affordable
        left = frugal
    yield IN_VAIN, left

    best = min(c.requests_per_s for c in left)
    left = [c for c in left if c.requests_per_s <= best * (1 + REQUESTS_TOLERANCE)]
    yield REQUESTS, left
    # More room than is planned for is worth no read from several partitions.
    together = [spread_reads(c) for c in left if room(c) >= 1]
    left = [c for c in left if spread_reads(c) <= min(together) + SPREAD_TOLERANCE] if together else left
    yield SPREAD, left
    # Nor is it worth an index row, up to twice that room.
    lasting = max(c.break_factor for c in left) / SPARE_ROOM
    roomy = [c for c in left if room(c) >= 1 and c.break_factor >= lasting]
    fewest_rows = min(map(rows_beside, roomy), default=None)
    left = [c for c in left if fewest_rows is None or rows_beside(c) <= fewest_rows]
    yield SPARE_ROWS, left
    enough = [c for c in left if c.break_factor >= BREAK_ENOUGH]
    highest = max(c.break_factor for c in left)
    left = enough or [c for c in left if c.break_factor >= highest * (1 - BREAK_TOLERANCE)]
    yield BREAKS, left
    fewest = min(structures(c) for c in left)
    left = [c for c in left if structures(c) == fewest]
    yield STRUCTURES, left
    entities = min(c.entities_per_s for c in left)
    left = [c for c in left if c.entities_per_s <= entities * (1 + ENTITIES_TOLERANCE)]
    yield ENTITIES, left
    compact = min(c.bytes_per_entity for c in left) * SORTED_BYTES
    least_sorted = min(client_sorts(c) for c in left if c.bytes_per_entity <= compact)
    left = [c for c in left if client_sorts(c) <= least_sorted]
    yield SORTING, left
    stored = min(c.bytes_per_entity for c in left)
    left = [c for c in left if c.bytes_per_entity <= stored * (1 + BYTES_TOLERANCE)]
    yield STORAGE, left
    # Of equally short templates the one that reads as the queries do, then the one with the shortest main key, then the
    # finer one; the order of forms settles the rest, whatever properties are called, and at last that of texts.
    yield SIMPLICITY, [min(left, key=_simplicity)]


def _frugal(pool: Sequence[CostEstimate]) -> list[CostEstimate]:
    """Those that read about as few entities in vain as any, or no more than those of one partition."""
    most = max(min(map(read_in_vain, pool)) * (1 + VAIN_TOLERANCE), VAIN_PER_S)
    return [c for c in pool if read_in_vain(c) <= most]


def _simplicity(estimate: CostEstimate) -> tuple[tuple[float, ...], int, int, int, str, str]:
    scheme = estimate.scheme
    main = KeyScheme(scheme.main).length()
    return ties(estimate), estimate.inversions, main, -estimate.partitions, scheme.form, scheme.text


def ties(estimate: CostEstimate) -> tuple[float, ...]:
    """What decides among schemes that are equal by all goals before the last one, in the order of ``TIES``; of requests
    three digits, since fewer than that is no reason for a longer key."""
    requests = float(f"{estimate.requests_per_s:.3g}")
    spread = float(f"{spread_reads(estimate):.3g}")
    return requests, spread, float(estimate.open_ended), float(estimate.scheme.length())


def client_sorts(estimate: CostEstimate) -> float:
    """Requests per second whose entities the client sorts, since no key has the order that they want; six digits."""
    reads = (c for c in estimate.classes if c.operation is Operation.QUERY and unsorted(c))
    return float(f"{sum(c.rate_per_s for c in reads):.6g}")


def unsorted(cost: ClassCost) -> bool:
    """Whether a class gets its entities in another order than it wants."""
    return cost.plan is not None and not cost.analytic and not cost.plan.order_served


def best_of(pool: Sequence[CostEstimate]) -> CostEstimate:
    """The scheme that wins by the goals."""
    left = list(pool)
    steps = survivors(pool)
    while len(left) > 1:
        _, left = next(steps)
    return left[0]


def better(first: CostEstimate, second: CostEstimate) -> bool:
    """Whether ``first`` is ranked above ``second`` when only the two compete."""
    return best_of([first, second]) is first


def ranked(pool: Sequence[CostEstimate], limit: int | None = None) -> list[CostEstimate]:
    """Best first: the winner, then the winner of the rest, and so on."""
    left = sorted(pool, key=lambda c: c.scheme.text)
    out: list[CostEstimate] = []
    while left and (limit is None or len(out) < limit):
        winner = best_of(left)
        out.append(winner)
        left = [c for c in left if c is not winner]
    return out


@dataclass(frozen=True, slots=True)
class Loss:
    """Why one scheme is ranked below another: the goal that decided, and both values."""

    goal: str
    unit: str
    mine: float
    winner: float


def loss(loser: CostEstimate, winner: CostEstimate) -> Loss:
    """The first goal at which ``loser`` falls behind ``winner``."""
    for goal, left in survivors([loser, winner]):
        if loser not in left and goal is not SIMPLICITY:
            mine, theirs = goal_value(goal, loser), goal_value(goal, winner)
            if goal is CONSTRAINTS and mine <= theirs * (1 + SEVERITY_TOLERANCE):  # the next worst decides
                counts = [len(missed(c)) for c in (loser, winner)]
                return Loss(goal.name, "constraints missed", counts[0], counts[1])
            if goal is STRUCTURES and mine == theirs:
                late = RankingGoal(goal.name, "share of reads through eventually consistent rows")
                return Loss(late.name, late.unit, structures(loser)[2], structures(winner)[2])
            if goal is SPARE_ROWS and mine == theirs:
                away = [float(rows_beside(c)[0]) for c in (loser, winner)]
                return Loss(goal.name, "index rows in other partitions", away[0], away[1])
            return Loss(goal.name, goal.unit, mine, theirs)
    pairs = list(zip(TIES, ties(loser), ties(winner), strict=True))
    last, mine, theirs = next((pair for pair in pairs if pair[1] != pair[2]), pairs[-1])
    return Loss(last.name, last.unit, mine, theirs)


def goal_value(goal: RankingGoal, estimate: CostEstimate) -> float:
    """What a goal compares, for one scheme, in the goal's unit."""
    return {
        "constraints": severity(estimate),
        "latency": estimate.latency_excess,
        "room": room(estimate),
        "requests": estimate.requests_per_s,
        "spread reads": spread_reads(estimate),
        "spare index rows": float(sum(structures(estimate)[:2])),
        "break factor": estimate.break_factor,
        "read in vain": read_in_vain(estimate),
        "structures": float(sum(structures(estimate)[:2])),
        "entities": estimate.entities_per_s,
        "sorting": client_sorts(estimate),
        "storage": estimate.bytes_per_entity,
        "simplicity": float(estimate.scheme.length()),
    }[goal.name]


def good_enough(now: CostEstimate, best: CostEstimate, *, requests_tolerance: float = REQUESTS_TOLERANCE) -> bool:
    """Whether a design in place stays: it breaks nothing at the declared load, costs no more requests than tolerated,
    and has the room for growth to plan for, or as much of it as the best.

    A migration rewrites every entity, so ties and small gains never move a key. Nor does more room than is planned for,
    nor growth that nobody declared where the best design buys its room with more requests.
    """
    if missed(now) or any(r.code in ("unpadded", "ambiguous") for r in now.remarks):
        return False
    cheap = now.requests_per_s <= best.requests_per_s * (1 + requests_tolerance)
    lean = now.entities_per_s <= best.entities_per_s * 2 or now.break_factor >= BREAK_ENOUGH * 10
    lasting = now.break_factor >= min(BREAK_ENOUGH, now.room_factor, best.break_factor * (1 - BREAK_TOLERANCE))
    cheaper = now.requests_per_s * (1 + REQUESTS_TOLERANCE) < best.requests_per_s
    lasting = lasting or (cheaper and now.break_factor >= BREAK_LEAST)
    return cheap and lean and lasting
