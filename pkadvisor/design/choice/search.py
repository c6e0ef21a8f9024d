"""The choice: which scheme serves the whole workload best, by the goals of ``goals.py``.

The limits of the search are counts of schemes, never seconds.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from pkadvisor.design.choice.candidates import at_limit, constant, equalities, main_keys
from pkadvisor.design.choice.finer_keys import poorly_served, recounted, refine
from pkadvisor.design.choice.goals import best_of, better, good_enough, loss, missing_least, ranked, severity
from pkadvisor.design.choice.index_candidates import fits_inside, in_one_partition, refine_rows, with_index_rows
from pkadvisor.design.choice.key_building import KeyGround, separator_for
from pkadvisor.design.choice.row_sets import propose, rows_beside
from pkadvisor.design.cost.cost import compared, estimate
from pkadvisor.design.keys.scheme import IndexRow, Key, KeyScheme, variable
from pkadvisor.design.load.estimates import Bench, Confidence, CostEstimate
from pkadvisor.design.load.identifiers import in_use
from pkadvisor.design.rows.demand import Demand
from pkadvisor.design.rows.dependencies import in_one_way
from pkadvisor.observe.workload import Operation
from pkadvisor.values import dataclass

MAINS_EXTENDED = 12
"""Main keys that get index rows: the best so far. A count, so that the answer does not depend on the machine."""
MAINS_CHEAPEST = 6
"""Main keys that get index rows since they promise the fewest requests with them."""
OF_A_FAMILY = 2
"""Keys that differ in their hash buckets alone, of which so many are extended before others have had their turn."""
UPKEEP_TOLERANCE = 0.25
"""Requests by which the upkeep of added index rows may be above those of keys that every row must be rewritten for."""
ROWS_TRIED = 16
"""Index rows that are each added to the best scheme. A count, for that reason."""
ROW_ROUNDS = 2
"""Times that index rows get buckets, one PartitionKey each time: rows for two hot queries. A count, for that reason."""


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


def advise(
    bench: Bench, current: KeyScheme | None, extra: Sequence[KeyScheme] = (), separator: str | None = None
) -> Advice:
    """Search the candidates and choose; ``extra`` schemes take part in the ranking (named by a user). ``separator``
    stands between the parts of keys: the one for this bench where None."""
    ground = KeyGround(bench, separator or separator_for(bench), in_use(current, bench))
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
    mains = with_reason(mains, set(), ground)
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
    useful = [c for c in pool.values() if id(c) in named or not _idle_rows(c)]
    everything = with_reason(useful, named, ground)
    everything = one_of_each_text(everything, named, ground)
    best = best_of(everything)
    nearby = [*recounted(best, ground), *one_row_apart(best, add, ground)] if id(best) not in named else []
    nearby += [finer for scheme in nearby for finer in refine_rows(add(scheme), ground)]
    nearest = best_of([best, *(each for finer in nearby if not _idle_rows(each := add(finer)))])
    everything[everything.index(best)] = nearest
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


def one_row_apart(
    best: CostEstimate, add: Callable[[KeyScheme], CostEstimate], ground: KeyGround
) -> Iterator[KeyScheme]:
    """The best scheme with one index row more or less, or in another order: sets of rows were compared by sums, which
    are not all of it, and which know no sorting."""
    main, rows = KeyScheme(best.scheme.main), best.scheme.index_rows
    if len(rows) > 1:
        yield from (with_index_rows(main, tuple(r for r in rows if r is not row)) for row in rows)
    lacking = [row for row in rows_beside(add(main), ground) if row not in rows]
    yield from (with_index_rows(main, (*rows, row)) for row in lacking[:ROWS_TRIED])
    swapped = [
        (*rows[:place], each, *rows[place + 1 :])
        for place, row in enumerate(rows)
        for each in lacking
        if _looked_up_by(each, main.main) == _looked_up_by(row, main.main)
    ]
    yield from (with_index_rows(main, some) for some in swapped[:ROWS_TRIED])


def _looked_up_by(row: IndexRow, main: Key) -> tuple[object, ...]:
    """What an index row is found by: its PartitionKey, and within that of the entity the first part of its RowKey."""
    inside = row.key.partition == main.partition
    return (row.copy, row.key.partition, variable(row.key.row)[:1] if inside else ())


def _with_rows_added(now: CostEstimate, estimates: Sequence[CostEstimate]) -> CostEstimate | None:
    """The best of the designs that keep the current rows as they are and add some; None where there is none."""
    adding = [c for c in estimates if c is not now and _keeps_rows(c.scheme, now.scheme)]
    return best_of(adding) if adding else None


def _keeps_rows(scheme: KeyScheme, current: KeyScheme) -> bool:
    """Whether every row that is stored under the current keys stays as it is."""
    return scheme.main == current.main and set(current.index_rows) <= set(scheme.index_rows)


def _spares_rewriting(added: CostEstimate, best: CostEstimate) -> bool:
    """Whether rows are added to the current design rather than all rewritten under other keys: it is then good enough,
    and needs no more index rows than the best design has, since every write keeps those up for ever, unless it costs no
    more with them. That one of them lies in another partition, and comes later, is told with the advice."""
    fewer = len(added.scheme.index_rows) <= len(best.scheme.index_rows)
    no_dearer = added.requests_per_s <= best.requests_per_s and added.entities_per_s <= best.entities_per_s
    return (fewer or no_dearer) and good_enough(added, best, requests_tolerance=UPKEEP_TOLERANCE)


def with_reason(estimates: Sequence[CostEstimate], named: set[int], ground: KeyGround) -> list[CostEstimate]:
    """Without main keys of one PartitionKey for all entities that nobody named, unless there is a reason for one
    partition: the table stays small, or no other key, named or not, misses the constraints as little or keeps as many
    transactions."""
    if ground.stays_small:
        return list(estimates)
    spread = [c for c in estimates if not constant(c.scheme.main.partition)]
    single = [c for c in estimates if constant(c.scheme.main.partition)]
    if not any(each in spread for each in missing_least(estimates, lambda c: c.violations)):
        return list(estimates)
    if single and max(map(_kept, single)) > max(map(_kept, spread)):
        return list(estimates)
    return [c for c in estimates if id(c) in named or not constant(c.scheme.main.partition)]


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


def _broken_sets(estimate: CostEstimate) -> float:
    return sum(v.sets for v in estimate.violations)


@dataclass(frozen=True, slots=True)
class _Promise:
    """What a main key can come to with index rows: ``severity`` of the classes that it serves well; how many are
    ``poor``; the rows in other partitions, ``away``, that serve them; ``requests_per_s`` with these rows, at the least.
    """

    severity: float
    away: int
    poor: int
    requests_per_s: float
    tie: tuple[float, float, str]


def worth_extending(mains: Sequence[CostEstimate], ground: KeyGround) -> list[CostEstimate]:
    """Main keys that get index rows: those that would be best if rows served what they serve badly.

    Each is judged by the classes that it serves well; every other class will need a row. Most are chosen for few rows
    in other partitions, which hold the newest writes later, and some for few requests with all their rows; and the key
    that is best as it is.
    """
    distinct = list({c.scheme.text: c for c in mains}.values())
    barred, fewest = ("not-unique", "isolation", "secret-shown"), min((_broken_sets(c) for c in distinct), default=0.0)
    whole = [c for c in distinct if _broken_sets(c) <= fewest]
    usable = [c for c in whole if not any(v.code in barred for v in c.violations)] or whole
    promises = {id(main): _promise(main, ground) for main in usable}

    def fewest_away(main: CostEstimate) -> tuple[object, ...]:
        promise = promises[id(main)]
        return promise.severity, promise.away, promise.poor, promise.tie

    def fewest_requests(main: CostEstimate) -> tuple[object, ...]:
        promise = promises[id(main)]
        return promise.severity, promise.requests_per_s, promise.away, promise.tie

    chosen = [
        best_of(usable),
        *_of_each_family(sorted(usable, key=fewest_away))[:MAINS_EXTENDED],
        *_of_each_family(sorted(usable, key=fewest_requests))[:MAINS_CHEAPEST],
    ]
    return list({id(main): main for main in chosen}.values())


def _promise(main: CostEstimate, ground: KeyGround) -> _Promise:
    alike, key = ground.alike(), main.scheme.main
    poor = poorly_served(main, ground)
    served, rates, written = list[Demand](), defaultdict[str, float](float), 0.0
    for demand in ground.bench.demands:
        name, rate_per_s = alike[demand.query.name], demand.query.rate.mean_per_s
        rates[name] += rate_per_s
        if name not in poor:
            served.append(demand)
        if demand.query.operation is not Operation.QUERY:
            written += rate_per_s * demand.query.entities_per_request
    alone = compared(main.scheme, replace(ground.bench, demands=tuple(served)))
    by_name = {d.query.name: d for d in ground.bench.demands}
    away = [name for name in poor if not fits_inside(key, by_name[name], ground)]
    asked = [frozenset(equalities(by_name[name], ground) or by_name[name].conditions.ranges) for name in away]
    rows = _nested(asked)
    # A row in the same partition is asked in every bucket; one in another partition takes a request of every write.
    buckets = math.prod(part.bucket_count or 1 for part in key.partition)
    reads = sum(rates[name] * (1 if name in away else buckets) for name in poor)
    # Where nothing is served well, what the key costs as it is decides.
    tie = alone.requests_per_s, main.requests_per_s, main.scheme.text
    requests_per_s = alone.requests_per_s + reads + rows * written
    return _Promise(round(severity(alone), 6), rows, len(poor), requests_per_s, tie)


def _nested(fixed: Sequence[frozenset[str]]) -> int:
    """How many chains of sets within one another there are: one row serves classes that fix ever more properties."""
    smallest = list[frozenset[str]]()
    for names in sorted(fixed, key=lambda names: (-len(names), sorted(names))):
        chain = next((number for number, within in enumerate(smallest) if names <= within), len(smallest))
        smallest[chain : chain + 1] = [names]
    return len(smallest)


def _of_each_family(mains: Sequence[CostEstimate]) -> list[CostEstimate]:
    """Keys in their order, but few that differ in their hash buckets alone before the first of every other kind."""
    first, later, families = list[CostEstimate](), list[CostEstimate](), Counter[str]()
    for main in mains:
        key = main.scheme.main
        family = str(replace(key, partition=tuple(p for p in key.partition if p.bucket_count is None)))
        families[family] += 1
        (first if families[family] <= OF_A_FAMILY else later).append(main)
    return [*first, *later]
