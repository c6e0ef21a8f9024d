"""Which index rows stand beside a main key: every row that helps some class, and the sets of them worth estimating.

The cost of a set composes: each class takes the row that serves it best, and every row is kept up by the writes. So
single rows are priced, sets are compared by the goals on sums, and what is proposed is estimated as a whole. Sums of
each class's hottest partition stand for the hottest partition; the estimate of the proposed set is what is ranked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pkadvisor.design.candidates import Ground, index_rows, poorly_served, with_index_rows
from pkadvisor.design.choice import (
    Cost,
    Instance,
    Plan,
    Statement,
    Structure,
    best_sets,
    enumerated,
    set_count,
)
from pkadvisor.design.class_cost import ENTITIES_PER_REQUEST, class_cost
from pkadvisor.design.demand import Demand
from pkadvisor.design.estimates import Bench, ClassCost, CostEstimate
from pkadvisor.design.heat import LoadMap, write_fronts
from pkadvisor.design.keyfacts import stored_bytes
from pkadvisor.design.plan import Access
from pkadvisor.design.programme import best_of_programme
from pkadvisor.design.scheme import IndexRow, KeyScheme
from pkadvisor.observe.workload import Operation

INDEX_ROWS_MAX = 3
SETS_MAX = 2_000
"""Sets up to which all are looked at; of more, the programme finds the best."""
PROPOSED = 2
"""Sets proposed for each number of index rows."""
MAIN = "main"


@dataclass(frozen=True, slots=True)
class Proposed:
    """Index-row sets for one main key, and what the search for them came to."""

    sets: tuple[tuple[IndexRow, ...], ...]
    structures: int
    nodes: int
    gap: float


def propose(found: CostEstimate, ground: Ground) -> Proposed:
    """The sets of at most three index rows that promise most beside a main key without any."""
    rows = _rows(found, ground)
    instance, names = _instance(found, rows, ground.bench)
    by_name = {name: row for row, name in names.items()}
    place = {name: number for number, name in enumerate(by_name)}
    chosen: dict[tuple[str, ...], None] = {}
    nodes, gap = 0, 0.0
    few = set_count(instance) <= SETS_MAX
    pool = enumerated(instance, idle=False) if few else []
    for most in range(1, INDEX_ROWS_MAX + 1):
        if few:
            best = [c for _, c in best_sets([p for p in pool if p[0].index_rows <= most], PROPOSED)]
        else:
            solved = best_of_programme(replace(instance, rows_most=most), PROPOSED)
            best = [s.chosen for s in solved]
            nodes += sum(s.nodes for s in solved)
            gap = max([gap, *(s.gap for s in solved)])
        for each in best:
            beside = sorted((n for n in each.structures if n in by_name), key=place.__getitem__)
            if beside:
                chosen.setdefault(tuple(beside))
    return Proposed(tuple(tuple(by_name[n] for n in some) for some in chosen), len(instance.structures), nodes, gap)


def _rows(found: CostEstimate, ground: Ground) -> list[IndexRow]:
    """Rows for every class that the main key serves poorly, the most wasteful class first."""
    demands = {d.query.name: d for d in ground.bench.demands}
    out = dict.fromkeys(
        row
        for name in poorly_served(found)
        for row in index_rows(found.scheme.main, demands[name], ground)
        if row.key != found.scheme.main
    )
    return list(out)


# -- prices ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Priced:
    """One class under one scheme, alone: its cost, and the load of the partition that it burdens most."""

    cost: ClassCost
    hottest_per_s: float


def _price(demand: Demand, scheme: KeyScheme, found: CostEstimate, bench: Bench) -> _Priced:
    loads = LoadMap(bench.population)
    cost = class_cost(demand, scheme, bench, found.transactions, loads)
    hottest = loads.hottest()
    return _Priced(cost, hottest[1].entities_per_s if hottest is not None else 0.0)


def _instance(found: CostEstimate, rows: list[IndexRow], bench: Bench) -> tuple[Instance, dict[IndexRow, str]]:
    """The choice among rows beside one main key, and the name of each row that helps some class."""
    alone = {d.query.name: _price(d, found.scheme, found, bench) for d in bench.demands}
    limits = bench.limits
    partition, account = float(limits.partition_entities_per_s), float(limits.account_requests_per_s)
    capacities = {"account": account, "scans": account, MAIN: partition}
    offered: dict[str, list[tuple[tuple[float, ...], Plan]]] = {name: [] for name in alone}
    for demand in bench.demands:
        priced = alone[demand.query.name]
        if priced.cost.plan is not None:
            offered[demand.query.name].append((_order(priced.cost, 0), Plan((MAIN,), _answer(priced, MAIN))))
    structures, names = [], dict[IndexRow, str]()
    base = stored_bytes(found.scheme, bench)
    for number, row in enumerate(rows, 1):
        scheme = with_index_rows(found.scheme, (row,))
        inside = found.scheme.same_partition(row)
        name = f"{row.key} ({row.copy})"
        resource = MAIN if inside else f"partitions of {name}"
        helps, updates = False, []
        for demand in bench.demands:
            if demand.query.analytic:
                continue
            before, after = alone[demand.query.name], _price(demand, scheme, found, bench)
            upkeep = _upkeep(demand, before.cost, after.cost, inside)
            through = after.cost.plan is not None and after.cost.plan.via == 1
            if upkeep is not None:
                burden = _burden(demand, row, after, found, bench)
                updates.append((demand.query.name, _with_loads(upkeep, demand, resource, burden)))
            if through:
                helps = True
                answer = _answer(after, resource, upkeep)
                offered[demand.query.name].append((_order(after.cost, number), Plan((MAIN, name), answer)))
        if not helps:
            continue
        capacities[resource] = partition
        if not inside:
            updates += _range(row, bench, capacities, f"range of {name}")
        names[row] = name
        added = max(0.0, stored_bytes(scheme, bench) - base)
        structures.append(Structure(name, "", MAIN, not inside, added, tuple(updates)))
    kept = set(names.values()) | {MAIN}
    statements = []
    for name, plans in offered.items():
        able = [plan for _, plan in sorted(plans, key=lambda p: p[0]) if kept.issuperset(plan.structures)]
        statements.append(Statement(name, tuple(able), ordered=True))
    main = Structure(MAIN, "", "", False, base, tuple(_inserts(bench, alone)))
    return (
        Instance(
            (main, *structures),
            tuple(statements),
            tuple(capacities.items()),
            horizon_factor=bench.horizon_factor,
            rows_most=INDEX_ROWS_MAX,
        ),
        names,
    )


def _order(cost: ClassCost, via: int) -> tuple[float, ...]:
    """What the plans of one class are compared by, as where one scheme has them all."""
    assert cost.plan is not None
    weight = cost.requests + cost.entities_read / ENTITIES_PER_REQUEST
    return (weight, cost.requests, float(cost.plan.access.rank), float(via))


def _excess(cost: ClassCost) -> float:
    if cost.analytic or cost.latency_goal_ms_p99 <= 0:
        return 0.0
    return cost.latency_ms_p99 / cost.latency_goal_ms_p99


def _answer(priced: _Priced, resource: str, upkeep: Cost | None = None) -> Cost:
    """What a class costs through one row; without what the row costs it anyway, where it is a write."""
    cost = priced.cost
    loads = {resource: priced.hottest_per_s}
    requests, entities = cost.rate_per_s * cost.requests, cost.entities_per_s
    loads["account"] = cost.peak_per_s * cost.requests
    if upkeep is not None:
        requests, entities = requests - upkeep.requests_per_s, entities - upkeep.entities_per_s
        loads["account"] -= dict(upkeep.loads).get("account", 0.0)
    if cost.plan is not None and cost.plan.access in (Access.PARTITION_RANGE_SCAN, Access.TABLE_SCAN):
        loads["scans"] = cost.peak_per_s * cost.entities_read
    if cost.analytic:
        requests, entities = 0.0, 0.0
        loads["account"] = 0.0
    return Cost(max(0.0, requests), max(0.0, entities), _excess(cost), tuple(loads.items()))


def _upkeep(demand: Demand, before: ClassCost, after: ClassCost, inside: bool) -> Cost | None:
    """What a write pays for one more row: entities written, and requests where the row lies in another partition."""
    query = demand.query
    if query.operation is Operation.QUERY:
        return None
    written = max(0.0, after.entities_written - before.entities_written)
    if query.filter is None:
        requests = max(0.0, after.requests - before.requests)
    else:
        requests = 0.0 if inside else written
    account = (("account", after.peak_per_s * requests),)
    return Cost(after.rate_per_s * requests, after.rate_per_s * written, 0.0, account)


def _burden(demand: Demand, row: IndexRow, after: _Priced, found: CostEstimate, bench: Bench) -> float:
    """Load of the row's hottest partition by one class of writes."""
    if demand.query.filter is None:  # an insert loads every key: the row's own is found by taking it alone
        return _price(demand, KeyScheme(row.key), found, bench).hottest_per_s
    return after.hottest_per_s


def _with_loads(upkeep: Cost, demand: Demand, resource: str, load: float) -> Cost:
    if not upkeep.entities_per_s:
        return upkeep
    return Cost(upkeep.requests_per_s, upkeep.entities_per_s, 0.0, (*upkeep.loads, (resource, load)))


def _inserted(bench: Bench) -> float:
    """Entities inserted per second at the peak."""
    return sum(
        d.query.rate.sustained_per_s * d.query.entities_per_request
        for d in bench.demands
        if d.query.operation in (Operation.INSERT, Operation.UPSERT) and not d.query.analytic
    )


def _range(row: IndexRow, bench: Bench, capacities: dict[str, float], resource: str) -> Iterator[tuple[str, Cost]]:
    """The key range of a row that takes the inserts, where their order is known."""
    fronts, inserted = write_fronts(row.key.partition, bench.population).median, _inserted(bench)
    if fronts is not None and inserted > 0:
        capacities[resource] = float(bench.limits.range_entities_per_s)
        yield "inserts", Cost(loads=((resource, inserted / fronts),))


def _inserts(bench: Bench, alone: dict[str, _Priced]) -> Iterator[tuple[str, Cost]]:
    """What classes without a plan cost the main key."""
    for name, priced in alone.items():
        if priced.cost.plan is None and not priced.cost.analytic:
            cost = _answer(priced, MAIN)
            yield name, cost
