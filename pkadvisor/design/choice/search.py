"""The choice: which scheme serves the whole workload best, by goals in order, each with its tolerance.

1. hard constraints, within 5 %            2. the latency goal of every class met, else the least worst excess
3. requests per second, within 10 %        4. break factor of 10, else within 5 %
5. fewest structures, eventually consistent ones first, then fewest reads through those
6. entities counted per second             7. stored bytes
8. ties: orders served by the keys, requests, partitions that stay bounded, then the shortest template, the order in
   which the filters name the properties, the shortest main key, most partitions, text order

A scheme that loses is told at which goal, by how much. The limits of the search are counts of schemes, never seconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from pkadvisor.design.choice.candidates import at_limit, constant, main_keys
from pkadvisor.design.choice.choice import (
    BREAK_TOLERANCE,
    BYTES_TOLERANCE,
    ENTITIES_TOLERANCE,
    LATENCY_TOLERANCE,
    REQUESTS_TOLERANCE,
)
from pkadvisor.design.choice.finer_keys import poorly_served, refine
from pkadvisor.design.choice.index_candidates import (
    fits_inside,
    in_one_partition,
    refine_rows,
    with_index_rows,
)
from pkadvisor.design.choice.key_building import KeyGround, separator_for
from pkadvisor.design.choice.row_sets import propose, rows_beside
from pkadvisor.design.cost.cost import compared, estimate
from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.load.estimates import (
    BREAK_ENOUGH,
    SEVERITY_TOLERANCE,
    Bench,
    ClassCost,
    Confidence,
    CostEstimate,
    missed_by,
    missing_least,
)
from pkadvisor.design.load.identifiers import in_use
from pkadvisor.design.rows.dependencies import in_one_way
from pkadvisor.observe.workload import Operation

MAINS_EXTENDED = 12
"""Main keys that get index rows: the best so far. A count, so that the answer does not depend on the machine."""
BREAK_LEAST = 1.25
"""A break factor from which on a design in place has room: no target is used beyond 80 %."""
OF_A_FAMILY = 2
"""Keys that differ in their hash buckets alone, of which so many are extended before others have had their turn."""
ROW_ROUNDS = 2
"""Times that index rows get buckets, one PartitionKey each time: rows for two hot queries. A count, for that reason."""


@dataclass(frozen=True, slots=True)
class RankingGoal:
    """One goal in the order of goals."""

    name: str
    unit: str


GOALS = (
    RankingGoal("constraints", "worst factor over a limit"),
    RankingGoal("latency", "times its goal"),
    RankingGoal("requests", "requests/s"),
    RankingGoal("break factor", "x"),
    RankingGoal("structures", "eventual, all"),
    RankingGoal("entities", "entities/s"),
    RankingGoal("storage", "bytes/entity"),
    RankingGoal("simplicity", "characters"),
)


TIES = (
    RankingGoal("order", "requests/s that the client sorts"),
    RankingGoal("requests", "requests/s"),
    RankingGoal("bounded growth", "keys whose partitions nothing bounds"),
    RankingGoal("simplicity", "characters"),
)
"""What the last goal compares, one after the other, without tolerance."""


def severity(estimate: CostEstimate) -> float:
    """The worst factor by which a constraint is missed at the declared load; where all hold, at assumed growth; else
    0."""
    declared, assumed = missed(estimate)
    return max(declared or assumed, default=0.0)


def missed(estimate: CostEstimate) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """What the first goal compares: where all miss one constraint alike, the next decides."""
    return missed_by(estimate.violations)


def structures(estimate: CostEstimate) -> tuple[int, int, float]:
    """(eventually consistent structures, all extra structures, tenths of the reads that go through the former)."""
    scheme = estimate.scheme
    away = [via for via, row in enumerate(scheme.index_rows, 1) if not scheme.same_partition(row)]
    reads = [c for c in estimate.classes if c.operation is Operation.QUERY and not c.analytic and c.plan is not None]
    rate = sum(c.rate_per_s for c in reads)
    late = sum(c.rate_per_s for c in reads if c.plan is not None and c.plan.via in away)
    return len(away), len(scheme.index_rows), round(late / rate, 1) if rate else 0.0


def survivors(pool: Sequence[CostEstimate]) -> list[tuple[RankingGoal, list[CostEstimate]]]:
    """After each goal, the schemes still in: the last list has one member."""
    left = list(pool)
    steps: list[tuple[RankingGoal, list[CostEstimate]]] = []

    def keep(goal: RankingGoal, chosen: list[CostEstimate]) -> None:
        nonlocal left
        left = chosen
        steps.append((goal, chosen))

    keep(GOALS[0], missing_least(left, lambda c: c.violations))
    slowest = max(1.0, min(c.latency_excess for c in left))
    keep(GOALS[1], [c for c in left if c.latency_excess <= slowest * (1 + LATENCY_TOLERANCE)])
    best = min(c.requests_per_s for c in left)
    keep(GOALS[2], [c for c in left if c.requests_per_s <= best * (1 + REQUESTS_TOLERANCE)])
    enough = [c for c in left if c.break_factor >= BREAK_ENOUGH]
    highest = max(c.break_factor for c in left)
    keep(GOALS[3], enough or [c for c in left if c.break_factor >= highest * (1 - BREAK_TOLERANCE)])
    fewest = min(structures(c) for c in left)
    keep(GOALS[4], [c for c in left if structures(c) == fewest])
    entities = min(c.entities_per_s for c in left)
    keep(GOALS[5], [c for c in left if c.entities_per_s <= entities * (1 + ENTITIES_TOLERANCE)])
    stored = min(c.bytes_per_entity for c in left)
    keep(GOALS[6], [c for c in left if c.bytes_per_entity <= stored * (1 + BYTES_TOLERANCE)])
    # Of equally short templates the one that reads as the queries do, then the one with the shortest main key, then the
    # finer one; the order of forms settles the rest, whatever properties are called, and at last that of texts.
    keep(GOALS[7], [min(left, key=_simplicity)])
    return steps


def _simplicity(estimate: CostEstimate) -> tuple[tuple[float, ...], int, int, int, str, str]:
    scheme = estimate.scheme
    main = KeyScheme(scheme.main).length()
    return ties(estimate), estimate.inversions, main, -estimate.partitions, scheme.form, scheme.text


def ties(estimate: CostEstimate) -> tuple[float, ...]:
    """What decides among schemes that are equal by all goals before the last one, in the order of ``TIES``; of requests
    three digits, since fewer than that is no reason for a longer key."""
    sorting = sum(c.rate_per_s for c in estimate.classes if c.operation is Operation.QUERY and unsorted(c))
    requests = float(f"{estimate.requests_per_s:.3g}")
    return float(f"{sorting:.6g}"), requests, float(estimate.open_ended), float(estimate.scheme.length())


def unsorted(cost: ClassCost) -> bool:
    """Whether a class gets its entities in another order than it wants."""
    return cost.plan is not None and not cost.analytic and not cost.plan.order_served


def best_of(pool: Sequence[CostEstimate]) -> CostEstimate:
    """The scheme that wins by the goals."""
    return survivors(pool)[-1][1][0]


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
    reasons: tuple[str, ...]


def loss(loser: CostEstimate, winner: CostEstimate) -> Loss:
    """The first goal at which ``loser`` falls behind ``winner``."""
    for goal, left in survivors([loser, winner]):
        if loser not in left and goal is not GOALS[-1]:
            mine, theirs = goal_value(goal, loser), goal_value(goal, winner)
            if goal is GOALS[0] and mine <= theirs * (
                1 + SEVERITY_TOLERANCE
            ):  # the next worst decides, or growth that is only assumed
                counts = [len(c[0]) or len(c[1]) for c in (missed(loser), missed(winner))]
                if missed(loser)[0] and not missed(winner)[0]:
                    counts[1] = 0
                return Loss(goal.name, "constraints missed", counts[0], counts[1], _reasons(loser))
            if goal is GOALS[4] and mine == theirs:
                late = RankingGoal(goal.name, "share of reads through eventually consistent rows")
                return Loss(late.name, late.unit, structures(loser)[2], structures(winner)[2], _reasons(loser))
            return Loss(goal.name, goal.unit, mine, theirs, _reasons(loser))
    pairs = list(zip(TIES, ties(loser), ties(winner), strict=True))
    last, mine, theirs = next((pair for pair in pairs if pair[1] != pair[2]), pairs[-1])
    return Loss(last.name, last.unit, mine, theirs, _reasons(loser))


def goal_value(goal: RankingGoal, estimate: CostEstimate) -> float:
    """What a goal compares, for one scheme, in the goal's unit."""
    return {
        "constraints": severity(estimate),
        "latency": estimate.latency_excess,
        "requests": estimate.requests_per_s,
        "break factor": estimate.break_factor,
        "structures": float(sum(structures(estimate)[:2])),
        "entities": estimate.entities_per_s,
        "storage": estimate.bytes_per_entity,
        "simplicity": float(estimate.scheme.length()),
    }[goal.name]


def _reasons(estimate: CostEstimate) -> tuple[str, ...]:
    return tuple(v.message for v in estimate.violations) + tuple(r.message for r in estimate.remarks)


@dataclass(frozen=True, slots=True)
class SearchReport:
    """How far the search went: ``gap`` is how far below the choice of index rows the best may lie; 0 where proved.

    ``structures``: main keys and index rows that were weighed; ``nodes``: of branch and bound, none where every set was
    looked at.
    """

    examined: int
    structures: int
    nodes: int
    gap: float
    at_limit: tuple[str, ...] = ()
    """Patterns of which as many main keys were looked at as are at the most."""
    rows_cut: bool = False
    """Whether some main key had more index rows to weigh than are looked at at the most."""


@dataclass(frozen=True, slots=True)
class Advice:
    """The answer for one table: what to use, what else was weighed, what the current design is worth."""

    recommended: CostEstimate
    ranking: tuple[CostEstimate, ...]
    current: CostEstimate | None
    keep: bool
    examined: int
    deciding_goal: str
    confidence: Confidence | None = None
    """How sure it is that the recommended scheme is ahead of the next ones; None where there is no other."""
    search: SearchReport = SearchReport(0, 0, 0, 0.0)
    priced: tuple[CostEstimate, ...] = ()
    """Every scheme that was priced, those without a place in the ranking among them."""

    @property
    def in_place(self) -> bool:
        """Whether the stored rows stay as they are: nothing changes, or index rows are added."""
        return self.current is not None and _keeps_rows(self.recommended.scheme, self.current.scheme)

    def every_priced(self) -> tuple[CostEstimate, ...]:
        """Every scheme that was priced, as it is known now: those of the ranking were checked over every row."""
        known = {c.scheme.text for c in self.ranking}
        return (*self.ranking, *(c for c in self.priced if c.scheme.text not in known))


def advise(bench: Bench, current: KeyScheme | None, extra: Sequence[KeyScheme] = ()) -> Advice:
    """Search the candidates and choose; ``extra`` schemes take part in the ranking (named by a user)."""
    ground = KeyGround(bench, separator_for(bench.population), in_use(current, bench))
    pool: dict[str, CostEstimate] = {}

    def add(scheme: KeyScheme) -> CostEstimate:
        if scheme.text not in pool:
            pool[scheme.text] = estimate(scheme, bench)
        return pool[scheme.text]

    proposed_mains = main_keys(ground)
    mains = [add(scheme) for scheme in proposed_mains]
    for main in list(mains):
        for finer in refine(main, ground):
            mains.append(add(finer))
    mains = with_reason(mains, ground)
    given = [add(scheme) for scheme in (*([current] if current else []), *extra)]
    extended: list[CostEstimate] = []
    structures, nodes, gap, cut = len({c.scheme.text for c in mains}), 0, 0.0, False
    for main in worth_extending(mains, ground):
        proposed = propose(main, ground)
        for rows in proposed.sets:
            extended.append(add(with_index_rows(main.scheme, rows)))
            if shared := in_one_partition(main.scheme.main, rows):
                extended.append(add(with_index_rows(main.scheme, shared, shared=True)))
        structures += proposed.structures - 1
        nodes, gap, cut = nodes + proposed.nodes, max(gap, proposed.gap), cut or proposed.cut
    if current is not None:
        extended += [add(scheme) for scheme in _beside_current(current, add, ground)]
    for _ in range(ROW_ROUNDS):
        extended = [
            add(finer) for estimate in extended for finer in refine_rows(estimate, ground) if finer.text not in pool
        ]
    named = {id(c) for c in given}
    rowed = [c for c in pool.values() if id(c) not in named and not _idle_rows(c)]
    everything = [*(c for c in pool.values() if id(c) in named), *with_reason(rowed, ground)]
    everything = one_of_each_text(everything, named, ground)
    order = ranked(everything)
    recommended = order[0]
    now = given[0] if current else None
    keep = False
    if now is not None:
        keep = now is recommended or good_enough(now, recommended)
        if keep:
            recommended = now
        elif (added := _with_rows_added(now, everything)) is not None and _spares_rewriting(added, recommended):
            recommended = added
    runner_up = next((c for c in order if c is not recommended), None)
    deciding = loss(runner_up, recommended).goal if runner_up is not None and better(recommended, runner_up) else ""
    ranking = [recommended, *(c for c in order if c is not recommended)]
    report = SearchReport(len(everything), structures, nodes, gap, tuple(at_limit(proposed_mains)), cut)
    return Advice(recommended, tuple(ranking), now, keep, len(everything), deciding, None, report, tuple(pool.values()))


def _beside_current(
    current: KeyScheme, add: Callable[[KeyScheme], CostEstimate], ground: KeyGround
) -> Iterator[KeyScheme]:
    """The current keys with more index rows: nothing that is stored need be rewritten."""
    bare = add(KeyScheme(current.main))
    lacking = set(rows_beside(add(current), ground))
    for rows in propose(bare, ground, in_use=True).sets:
        more = tuple(row for row in rows if row in lacking)
        if more:
            yield with_index_rows(KeyScheme(current.main), (*current.index_rows, *more), in_use=True)


def _with_rows_added(now: CostEstimate, estimates: Sequence[CostEstimate]) -> CostEstimate | None:
    """The best of the designs that keep the current rows as they are and add some; None where there is none."""
    adding = [c for c in estimates if c is not now and _keeps_rows(c.scheme, now.scheme)]
    return best_of(adding) if adding else None


def _keeps_rows(scheme: KeyScheme, current: KeyScheme) -> bool:
    """Whether every row that is stored under the current keys stays as it is."""
    return scheme.main == current.main and set(current.index_rows) <= set(scheme.index_rows)


def _spares_rewriting(added: CostEstimate, best: CostEstimate) -> bool:
    """Whether rows are added to the current design rather than all rewritten under other keys: it is then good enough,
    and needs no more index rows than the best design has, since every write keeps those up for ever. That one of them
    lies in another partition, and comes later, is told with the advice."""
    return len(added.scheme.index_rows) <= len(best.scheme.index_rows) and good_enough(added, best)


def with_reason(estimates: Sequence[CostEstimate], ground: KeyGround) -> list[CostEstimate]:
    """Without main keys of one PartitionKey for all entities, unless there is a reason for one partition: the table
    stays small, or no other key misses the constraints as little or keeps as many transactions."""
    if ground.stays_small:
        return list(estimates)
    spread = [c for c in estimates if not constant(c.scheme.main.partition)]
    single = [c for c in estimates if constant(c.scheme.main.partition)]
    if not spread or (single and min(map(missed, single)) < min(map(missed, spread))):
        return list(estimates)
    return list(estimates) if single and max(map(_kept, single)) > max(map(_kept, spread)) else spread


def _kept(estimate: CostEstimate) -> int:
    """How many transactions are one group transaction each."""
    return sum(outcome.kept for outcome in estimate.transactions)


def one_of_each_text(estimates: Sequence[CostEstimate], named: set[int], ground: KeyGround) -> list[CostEstimate]:
    """Of schemes that always give every entity the same texts, by the rules between properties, the best one, and those
    that a user named."""
    population = ground.population
    alike: dict[str, list[CostEstimate]] = {}
    for each in estimates:
        texts = [
            (in_one_way(k.partition, population), in_one_way(k.row, population)) for k, _ in each.scheme.each_key()
        ]
        copies = [row.copy for row in each.scheme.index_rows]
        alike.setdefault(str((texts, copies)), []).append(each)
    best = {id(best_of(group)) for group in alike.values()}
    return [c for c in estimates if id(c) in best or id(c) in named]


def _idle_rows(estimate: CostEstimate) -> bool:
    """Whether some index row serves no class: it would be stored and written for nothing."""
    used = {c.plan.via for c in estimate.classes if c.plan is not None}
    return any(via not in used for via in range(1, len(estimate.scheme.index_rows) + 1))


def good_enough(now: CostEstimate, best: CostEstimate) -> bool:
    """Whether a design in place stays: it breaks nothing at the declared load, costs no more requests than tolerated,
    and has the head-room, or as much of it as the best.

    A migration rewrites every entity, so ties and small gains never move a key. Nor does growth that nobody declared,
    where the best design buys its head-room with more requests.
    """
    if missed(now)[0] or any(r.code in ("unpadded", "ambiguous") for r in now.remarks):
        return False
    cheap = now.requests_per_s <= best.requests_per_s * (1 + REQUESTS_TOLERANCE)
    lean = now.entities_per_s <= best.entities_per_s * 2 or now.break_factor >= BREAK_ENOUGH * 10
    lasting = now.break_factor >= min(BREAK_ENOUGH, best.break_factor * (1 - BREAK_TOLERANCE))
    cheaper = now.requests_per_s * (1 + REQUESTS_TOLERANCE) < best.requests_per_s
    lasting = lasting or (cheaper and now.break_factor >= BREAK_LEAST)
    return cheap and lean and lasting


def _broken_sets(estimate: CostEstimate) -> float:
    return sum(v.sets for v in estimate.violations)


def worth_extending(mains: Sequence[CostEstimate], ground: KeyGround) -> list[CostEstimate]:
    """Main keys that get index rows: those that would be best if rows served what they serve badly.

    Each is judged by the classes that it serves well; every other class will need a row, in its own partition or else,
    worse, in another one.
    """
    distinct = list({c.scheme.text: c for c in mains}.values())
    barred, fewest = ("not-unique", "isolation"), min((_broken_sets(c) for c in distinct), default=0.0)
    whole = [c for c in distinct if _broken_sets(c) <= fewest]
    usable = [c for c in whole if not any(v.code in barred for v in c.violations)] or whole
    by_name, alike = {d.query.name: d for d in ground.bench.demands}, ground.alike()

    def hope(main: CostEstimate) -> tuple[float, int, int, float, float, str]:
        poor = poorly_served(main, ground)
        served = tuple(d for d in ground.bench.demands if alike[d.query.name] not in poor)
        alone = compared(main.scheme, replace(ground.bench, demands=served))
        away = sum(1 for name in poor if not fits_inside(main.scheme.main, by_name[name], ground))
        requests = alone.requests_per_s, main.requests_per_s  # where nothing is served well, what it costs as it is
        return round(severity(alone), 6), away, len(poor), *requests, main.scheme.text

    return _of_each_family(sorted(usable, key=hope))[:MAINS_EXTENDED]


def _of_each_family(mains: Sequence[CostEstimate]) -> list[CostEstimate]:
    """Keys in their order, but few that differ in their hash buckets alone before the first of every other kind."""
    first, later, families = list[CostEstimate](), list[CostEstimate](), Counter[str]()
    for main in mains:
        key = main.scheme.main
        family = str(replace(key, partition=tuple(p for p in key.partition if p.bucket_count is None)))
        families[family] += 1
        (first if families[family] <= OF_A_FAMILY else later).append(main)
    return [*first, *later]
