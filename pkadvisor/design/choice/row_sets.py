"""Which index rows stand beside a main key: every row that helps some class, and the sets of them worth estimating.

The cost of a set composes: each class takes the row that serves it best, and every row is kept up by the writes. So
single rows are priced, sets are compared by the goals on sums, and what is proposed is estimated as a whole. Sums of
each class's hottest partition stand for the hottest partition; the estimate of the proposed set is what is ranked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pkadvisor.design.choice.choice import (
    REQUESTS_TOLERANCE,
    Chosen,
    Cost,
    Instance,
    Statement,
    StatementPlan,
    Structure,
    Worth,
    best_sets,
    enumerated,
    set_count,
)
from pkadvisor.design.choice.finer_keys import poorly_served
from pkadvisor.design.choice.index_candidates import index_rows, with_index_rows
from pkadvisor.design.choice.key_building import KeyGround
from pkadvisor.design.choice.programme import Solution, best_of_programme
from pkadvisor.design.cost.class_cost import ENTITIES_PER_REQUEST, best_read, class_cost
from pkadvisor.design.cost.class_latency import with_latency
from pkadvisor.design.keys.scheme import IndexRow, Key, KeyScheme, variable
from pkadvisor.design.keys.transforms import part_properties
from pkadvisor.design.load.counting import stored_bytes
from pkadvisor.design.load.estimates import Bench, ClassCost, CostEstimate, Read
from pkadvisor.design.load.heat import LoadMap
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.design.rows.demand import Demand
from pkadvisor.design.rows.fronts import write_fronts
from pkadvisor.observe.workload import Operation
from pkadvisor.remembered import remembered
from pkadvisor.values import dataclass

FEW_ROWS = 3
"""Index rows up to which every set is looked at; more only where few leave a constraint or many requests open."""
ROWS_MOST = 15
"""Index rows of a set at the most: assumed to be as many as anybody would keep up."""
SETS_MAX = 2_000
"""Sets up to which all are looked at; of more, the programme finds the best."""
BESIDE_MAX = 120
"""Index rows that are priced beside one main key at the most, so that a workload of many classes has an answer in
time: those of the most wasteful classes."""
PROPOSED = 2
"""Sets proposed for each number of index rows that is looked at."""
MAIN = "main"


@dataclass(frozen=True, slots=True)
class Proposed:
    """Index-row sets for one main key, and what the search for them came to."""

    sets: tuple[tuple[IndexRow, ...], ...]
    structures: int
    nodes: int
    gap: float
    cut: bool = False
    """Whether there were more index rows than ``BESIDE_MAX``."""


def propose(estimate: CostEstimate, ground: KeyGround, *, in_use: bool = False) -> Proposed:
    """The sets of index rows that promise most beside a main key without any; ``in_use``: the main key is the current
    one and stays as it is."""
    every = rows_beside(estimate, ground)
    rows = every[:BESIDE_MAX]
    instance, names = row_instance(estimate, rows, ground.bench, in_use=in_use)
    by_name = {name: row for row, name in names.items()}
    place = {name: number for number, name in enumerate(by_name)}
    best: list[tuple[Worth, Chosen]] = []
    solved: list[Solution] = []
    whole = set_count(instance) <= SETS_MAX
    few = instance if whole else replace(instance, rows_most=FEW_ROWS)
    if set_count(few) <= SETS_MAX:
        pool = enumerated(few, idle=False)
        for most in (ROWS_MOST, *range(FEW_ROWS, 0, -1)):
            best += best_sets([pair for pair in pool if pair[0].index_rows <= most], PROPOSED)
    else:
        solved += best_of_programme(few, PROPOSED)
        best += [(s.worth, s.chosen) for s in solved]
    if not whole and _leaves_open(best[0][0], instance):
        more = best_of_programme(instance, 1)
        solved += more
        best += [(s.worth, s.chosen) for s in more]
    sets = dict.fromkeys(
        tuple(by_name[n] for n in sorted(set(c.structures) & by_name.keys(), key=place.__getitem__)) for _, c in best
    )
    return Proposed(
        tuple(some for some in sets if some),
        len(instance.structures),
        sum(s.nodes for s in solved),
        max((s.gap for s in solved), default=0.0),
        len(every) > len(rows),
    )


def _leaves_open(worth: Worth, instance: Instance) -> bool:
    """Whether more rows may help: a constraint is missed, or requests are far above each class's best plan."""
    if worth.severity:
        return True
    fixed = sum(c.requests_per_s for s in instance.structures if not s.main for _, c in s.updates)
    least = sum(min((p.cost.requests_per_s for p in s.plans), default=0.0) for s in instance.statements)
    return worth.requests_per_s > (fixed + least) * (1 + REQUESTS_TOLERANCE)


def rows_beside(estimate: CostEstimate, ground: KeyGround) -> list[IndexRow]:
    """Rows for every class that the main key serves poorly, the most wasteful class first."""
    demands = {d.query.name: d for d in ground.bench.demands}
    out = dict.fromkeys(
        row
        for name in poorly_served(estimate, ground)
        for row in index_rows(estimate.scheme.main, demands[name], ground)
        if row.key != estimate.scheme.main
    )
    return list(out)


# -- prices ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _PricedClass:
    """One class under one scheme, alone: its cost without latencies, and where its load falls."""

    cost: ClassCost
    loads: LoadMap

    @property
    def hottest_per_s(self) -> float:
        """The load of the partition that it burdens most."""
        hottest = self.loads.hottest()
        return hottest[1].entities_per_s if hottest is not None else 0.0


def _price(
    demand: Demand, scheme: KeyScheme, estimate: CostEstimate, bench: Bench, best: Read | None = None
) -> _PricedClass:
    loads = LoadMap(bench.population)
    return _PricedClass(class_cost(demand, scheme, bench, estimate.transactions, loads, best), loads)


def row_instance(
    estimate: CostEstimate, rows: list[IndexRow], bench: Bench, *, in_use: bool = False
) -> tuple[Instance, dict[IndexRow, str]]:
    """The choice among rows beside one main key, and the name of each row that helps some class."""
    alone = {d.query.name: _price(d, estimate.scheme, estimate, bench) for d in bench.demands}
    prices = _RowPrices(estimate, bench, in_use, alone)
    main = prices.main()
    structures, names = [], dict[IndexRow, str]()
    for number, row in enumerate(rows, 1):
        structure = prices.beside(number, row)
        if structure is not None:
            structures.append(structure)
            names[row] = structure.name
    chosen_from = set(names.values()) | {MAIN}
    statements = []
    for name, plans in prices.offered.items():
        able = [plan for _, plan in sorted(plans, key=lambda p: p[0]) if chosen_from.issuperset(plan.structures)]
        statements.append(Statement(name, tuple(able), ordered=True))
    return (
        Instance(
            (main, *structures),
            tuple(statements),
            tuple(prices.capacities.items()),
            horizon_factor=bench.horizon_factor if bench.workload.growth else 1.0,
            rows_most=ROWS_MOST,
        ),
        names,
    )


class _RowPrices:
    """What a main key and each row beside it cost. ``alone``: each class without any row; ``offered``: the plans of
    each class so far, with what they are compared by; ``capacities``: what each resource bears."""

    def __init__(self, estimate: CostEstimate, bench: Bench, in_use: bool, alone: dict[str, _PricedClass]) -> None:
        limits = bench.limits
        account = float(limits.account_requests_per_s)
        self._estimate, self._bench, self._in_use, self._alone = estimate, bench, in_use, alone
        self._stored_bytes = stored_bytes(estimate.scheme, bench)
        self._partition_per_s = float(limits.partition_entities_per_s)
        self.capacities = {"account": account, "scans": account, MAIN: self._partition_per_s}
        self.offered: dict[str, list[tuple[tuple[float, ...], StatementPlan]]] = {name: [] for name in alone}

    def main(self) -> Structure:
        """The main key, with the writes that it always takes; its plans are offered."""
        fixed: list[tuple[str, Cost]] = []
        for demand in self._bench.demands:
            name, priced = demand.query.name, self._alone[demand.query.name]
            written = _written(demand, priced.cost, self._estimate.scheme.main)
            here = 0.0 if priced.cost.entities_read else priced.hottest_per_s
            if demand.query.operation is not Operation.QUERY:
                fixed.append((name, _cost(priced.cost, written, priced.cost.entities_written, {MAIN: here})))
            if priced.cost.plan is not None:
                located = priced.cost.requests - written
                cost = with_latency(priced.cost, demand.query, self._bench, 0.0)
                self.offered[name].append(_offer(cost, (MAIN,), located, priced.hottest_per_s - here))
        return Structure(MAIN, "", "", False, self._stored_bytes, tuple(fixed))

    def beside(self, number: int, row: IndexRow) -> Structure | None:
        """A row beside the main key, with what the writes do to it; None where it helps no class. The plans along it
        are offered."""
        estimate, bench = self._estimate, self._bench
        scheme = with_index_rows(estimate.scheme, (row,), in_use=self._in_use)
        inside = estimate.scheme.same_partition(row)
        name = f"{row.key} ({row.copy})"
        resource = MAIN if inside else f"partitions of {name}"
        helps, updates = False, list[tuple[str, Cost]]()
        for demand in bench.demands:
            asked = demand.query.name
            if demand.query.analytic or not _concerns(row, inside, demand):
                continue
            best = best_read(demand, scheme, bench) if demand.query.operation is Operation.QUERY else None
            if best is not None and best.plan.via == 0:
                continue  # a query that does not go through the row costs what it did
            before, after = self._alone[asked], _price(demand, scheme, estimate, bench, best)
            written = max(0.0, after.cost.entities_written - before.cost.entities_written)
            away = 0.0 if inside else _away(demand, row, before.cost, after.cost, written)
            if written:
                load = _burden(demand, row, after, estimate, bench)
                updates.append((asked, _cost(after.cost, away, written, {resource: load})))
            if after.cost.plan is None:
                continue
            located = after.cost.requests - away - _written(demand, before.cost, estimate.scheme.main)
            if after.cost.plan.via == 1:
                helps = True
                cost = with_latency(after.cost, demand.query, bench, 0.0)
                offer = _offer(cost, (MAIN, name), located, after.hottest_per_s, number, resource)
                self.offered[asked].append(offer)
            elif after.cost.entities_read > before.cost.entities_read == 0:
                # The row's key is made of values that the write does not name: it must read the entity, but only once
                # for all such rows. So this comes before the write that reads nothing.
                more = max(0.0, after.hottest_per_s - before.hottest_per_s)
                cost = with_latency(after.cost, demand.query, bench, 0.0)
                order, plan = _offer(cost, (MAIN, name), located, more, number, MAIN)
                self.offered[asked].append(((-1.0, *order), plan))
        if not helps:
            return None
        self.capacities[resource] = self._partition_per_s
        if not inside:
            updates += _range(row, bench, self.capacities, f"range of {name}")
        added = max(0.0, stored_bytes(scheme, bench) - self._stored_bytes)
        return Structure(name, "", MAIN, not inside, added, tuple(updates))


def _concerns(row: IndexRow, inside: bool, demand: Demand) -> bool:
    """Whether a row can change what a class costs: every write, and a query that names, or sorts by, the property that
    the row leads with; where all rows have one PartitionKey, the RowKey leads."""
    query = demand.query
    if query.operation is not Operation.QUERY:
        return True
    leading = (() if inside else variable(row.key.partition)) or variable(row.key.row)
    named = {*demand.conditions.properties, *(by.property for by in query.order_by)}
    return bool(leading) and not named.isdisjoint(leading[0].properties)


def _offer(
    cost: ClassCost, structures: tuple[str, ...], requests: float, load: float, via: int = 0, resource: str = MAIN
) -> tuple[tuple[float, ...], StatementPlan]:
    """A plan, and what the plans of one class are compared by where one scheme has them all."""
    assert cost.plan is not None
    loads = {resource: max(0.0, load)}
    if cost.plan.access in (Access.PARTITION_RANGE_SCAN, Access.TABLE_SCAN):
        loads["scans"] = cost.peak_per_s * cost.entities_read
    order = (requests + cost.entities_read / ENTITIES_PER_REQUEST, requests, float(cost.plan.access.rank), float(via))
    excess = cost.latency_ms_p99 / cost.latency_goal_ms_p99 if cost.latency_goal_ms_p99 > 0 else 0.0
    return order, StatementPlan(structures, _cost(cost, requests, cost.entities_read, loads, excess))


def _cost(cost: ClassCost, requests: float, entities: float, loads: dict[str, float], excess: float = 0.0) -> Cost:
    """Requests and entities of one operation as a cost per second; analytic classes are a load and nothing else."""
    if cost.analytic:
        return Cost(loads=tuple(loads.items()))
    requests = max(0.0, requests)
    taken = (*loads.items(), ("account", cost.peak_per_s * requests))
    return Cost(cost.rate_per_s * requests, cost.rate_per_s * max(0.0, entities), excess, taken)


def _written(demand: Demand, alone: ClassCost, main: Key) -> float:
    """Requests of a write under the main key alone, once its entities are located; 0 for a query."""
    query = demand.query
    if query.operation is Operation.QUERY:
        return 0.0
    if alone.plan is None:
        return alone.requests
    changed = set(query.sets) if query.operation is Operation.UPDATE else set()
    entities = alone.entities_written / (2 if changed & set(main.properties) else 1)
    return entities * (2 if changed & set(part_properties(main.partition)) else 1)


def _away(demand: Demand, row: IndexRow, before: ClassCost, after: ClassCost, written: float) -> float:
    """Requests of a write to a row in another partition, for the rows that it writes there."""
    query = demand.query
    if after.plan is None:
        return max(0.0, after.requests - before.requests)
    changed = set(query.sets) if query.operation is Operation.UPDATE else set()
    # An old row out and a new one in are one group transaction where they share a partition.
    together = changed & set(row.key.properties) and not changed & set(part_properties(row.key.partition))
    return written / 2 if together else written


def _burden(demand: Demand, row: IndexRow, after: _PricedClass, estimate: CostEstimate, bench: Bench) -> float:
    """Load of the row's hottest partition by one class of writes."""
    if demand.query.filter is not None:
        return after.hottest_per_s
    # An insert loads every key: the row's own is found by taking it alone.
    return _inserts_on(demand, row, estimate, bench)


@remembered("inserts on", of=lambda demand, row, _, bench: (demand.query, row.key.partition, bench.count_bytes))
def _inserts_on(demand: Demand, row: IndexRow, estimate: CostEstimate, bench: Bench) -> float:
    """The load of inserts on a row's hottest partition, which rows of many main keys share."""
    return _price(demand, KeyScheme(row.key), estimate, bench).hottest_per_s


def _range(row: IndexRow, bench: Bench, capacities: dict[str, float], resource: str) -> Iterator[tuple[str, Cost]]:
    """The key range of a row that takes the inserts, where their order is known."""
    inserted = sum(
        d.query.rate.sustained_per_s * d.query.entities_per_request
        for d in bench.demands
        if d.query.operation in (Operation.INSERT, Operation.UPSERT) and not d.query.analytic
    )
    write_front = write_fronts(row.key.partition, bench.population, bench.limits, inserted or None)
    fronts = write_front.lasting(bench.limits.lasting_s)
    if fronts is not None and inserted > 0:
        capacities[resource] = float(bench.limits.range_entities_per_s)
        yield "inserts", Cost(loads=((resource, inserted / fronts),))
