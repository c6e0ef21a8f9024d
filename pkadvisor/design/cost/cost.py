"""What a scheme costs a workload: entities, requests, the load of the hottest partition, when it breaks.

Published facts used: a partition serves 2,000 entities/s and an account 20,000 requests/s; stored bytes follow the 2010
capacity formula. What a request costs its owner is counted; capacities are the published targets.
"""

from __future__ import annotations

from dataclasses import fields, replace

from pkadvisor.design.cost.budgets import within_budgets
from pkadvisor.design.cost.class_cost import class_cost, has_row
from pkadvisor.design.cost.class_latency import latency_excess, spread, with_latency
from pkadvisor.design.cost.entity_rates import contended, entity_breaks
from pkadvisor.design.cost.findings import remarks_of, violations_of
from pkadvisor.design.cost.heat_findings import heat_remarks, hot_partition
from pkadvisor.design.cost.key_findings import counter_findings, full_numbers, full_violations
from pkadvisor.design.cost.terms import break_factor, smallest_break, terms_of
from pkadvisor.design.cost.upkeep import erasure, nearly_oversize, oversize, retention
from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.keys.transforms import Part
from pkadvisor.design.load.breaks import account_load, breaks_of, earliest, in_order, pressure_of, shared_break
from pkadvisor.design.load.counting import keeps_together, set_entities_most, stored_bytes
from pkadvisor.design.load.estimates import Bench, Break, ClassCost, CostEstimate, Measures, Remark, TransactionOutcome
from pkadvisor.design.load.heat import LoadMap, PartitionLoad, put_loads_beside
from pkadvisor.design.load.keyfacts import key_surplus
from pkadvisor.design.load.open_ended import open_ended
from pkadvisor.design.plan.access_plan import Access, AccessPlan
from pkadvisor.design.plan.caller import touched
from pkadvisor.design.plan.requests import repair_of
from pkadvisor.design.rows.asked.matching_rows import rows_of_constants
from pkadvisor.design.rows.asked_rows import on_seen, seen_under
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.demand import Demand, free_atoms
from pkadvisor.design.rows.fronts import Fronts, write_fronts
from pkadvisor.design.rows.list_values import list_part, list_rows, under
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.schedule import schedule_of
from pkadvisor.design.rows.sets.pairs import group_sizes, guarantee, requests_each
from pkadvisor.lazy import np
from pkadvisor.observe.workload import Operation, Transaction
from pkadvisor.values import dataclass

BINS_PER_E = 400.0
"""Quantiles of a partition's load are exact to 1 ÷ this, 0.25 %: near its target a queue grows without bound."""
LOAD_LEAST = 1e-3
"""Entities per second below which no partition is told from an idle one."""


@dataclass(frozen=True, slots=True)
class DrawnMeasures(Measures):
    """The same with the load that they follow from; ``estimate`` adds the rest."""

    hot: PartitionLoad | None
    breaks_of_load: tuple[Break, ...]


def measure(scheme: KeyScheme, bench: Bench) -> DrawnMeasures:
    """What a scheme costs, without what follows from it: a pure function (the population only caches)."""
    return _measured(scheme, bench)[0]


def estimate(scheme: KeyScheme, bench: Bench) -> CostEstimate:
    """Everything about one scheme; a pure function of its arguments (the population only caches)."""
    priced, loads, breaks_of_load, counter_remarks = _found(scheme, bench)
    remarks = (
        *remarks_of(scheme, bench, priced.classes, priced.fronts, priced.inserts_per_s_peak, priced.transactions),
        *heat_remarks(scheme, bench, loads, breaks_of_load),
        *counter_remarks,
        *nearly_oversize(scheme, bench),
        *(Remark("refused", why) for why in bench.refused),
    )
    priced = replace(priced, remarks=remarks, retention=retention(scheme, bench), erasure=erasure(scheme, bench))
    priced = replace(priced, terms=terms_of(priced, bench))
    return within_budgets(priced, bench) if bench.budgets else priced


def compared(scheme: KeyScheme, bench: Bench) -> CostEstimate:
    """What the goals compare of a scheme: its estimate without remarks, terms and upkeep, which are only told."""
    return estimate(scheme, bench) if bench.budgets else _found(scheme, bench)[0]


def _found(scheme: KeyScheme, bench: Bench) -> tuple[CostEstimate, LoadMap, tuple[Break, ...], list[Remark]]:
    """(what the goals compare, the load of every class where it falls, the breaks of that load, what is noted of the
    counter of an assigned number)."""
    population = bench.population
    numbers, loads, transactions = _measured(scheme, bench)
    fronts, inserts_peak, of_load = numbers.fronts, numbers.inserts_per_s_peak, numbers.breaks_of_load
    surplus = key_surplus(scheme.main, population)
    violations = violations_of(scheme, bench, fronts, inserts_peak, loads, of_load, surplus, transactions)
    full = full_numbers(scheme, bench)
    outrun, counter_remarks = counter_findings(scheme, bench)
    priced = CostEstimate(
        **{field.name: getattr(numbers, field.name) for field in fields(Measures)},
        scheme=scheme,
        hot=hot_partition(loads, bench),
        horizon_factor=bench.horizon_factor,
        room_factor=bench.room_factor,
        transactions=transactions,
        violations=(*violations, *full_violations(full), *outrun, *contended(scheme, bench), *oversize(scheme, bench)),
        remarks=(),
        score=_score(numbers.classes, numbers.break_factor, bench.horizon_factor),
        partitions=round(population.groups_total(atoms_of(scheme.main.partition))),
        surplus=surplus,
        inversions=_inversions(scheme, bench),
        full=full,
        open_ended=open_ended(scheme, bench) if inserts_peak > 0 else 0,
    )
    return priced, loads, of_load, counter_remarks


def _measured(scheme: KeyScheme, bench: Bench) -> tuple[DrawnMeasures, LoadMap, tuple[TransactionOutcome, ...]]:
    """(the numbers, the load of every class where it falls, what becomes of the sets)."""
    population, limits = bench.population, bench.limits
    schedule = schedule_of(bench.workload, population)
    loads, costs, transactions = put_down(scheme, bench)
    hottest = loads.hottest()
    hot = hottest[1] if hottest is not None else None
    highest = hot.entities_per_s if hot is not None else 0.0
    costs = tuple(
        with_latency(c, d.query, bench, _visited(c, d, scheme, loads, bench, highest) / limits.partition_entities_per_s)
        for c, d in zip(costs, bench.demands, strict=True)
    )
    inserted = schedule.peak(
        {
            d.query.name: d.query.rate.sustained_per_s * d.query.entities_per_request
            for d in bench.demands
            if d.query.operation in (Operation.INSERT, Operation.UPSERT) and not d.query.analytic
        }
    )
    fronts, inserts_peak = _fronts(scheme, bench, inserted)
    live = [c for c in costs if not c.analytic]
    lasting = fronts.lasting(limits.lasting_s)
    in_one_range = inserts_peak / lasting if lasting else 0.0
    account = account_load(costs, schedule, limits)
    of_load = breaks_of(pressure_of(loads, population, limits, in_one_range, account), limits, bench.beside)
    breaks = in_order((*of_load, *entity_breaks(bench)))
    factor, cause = earliest(breaks, bench.growth_of)
    numbers = DrawnMeasures(
        classes=costs,
        hot=hot,
        fronts=fronts,
        inserts_per_s_peak=inserts_peak,
        requests_per_s=sum(c.rate_per_s * c.requests for c in live),
        requests_per_s_peak=schedule.peak({c.name: c.peak_per_s * c.requests for c in live}),
        entities_per_s=sum(c.entities_per_s for c in live),
        bytes_per_entity=stored_bytes(scheme, bench),
        latency_excess=latency_excess(costs),
        breaks_of_load=of_load,
        breaks=breaks,
        break_factor=factor,
        break_cause=cause,
    )
    return numbers, loads, transactions


def put_down(scheme: KeyScheme, bench: Bench) -> tuple[LoadMap, tuple[ClassCost, ...], tuple[TransactionOutcome, ...]]:
    """(the load of every class where it falls, what each class costs without latencies, what becomes of the sets)."""
    transactions = tuple(_transaction(t, scheme, bench) for t in bench.workload.transactions)
    loads = LoadMap(bench.population, schedule_of(bench.workload, bench.population))
    costs = tuple(class_cost(d, scheme, bench, transactions, loads.of(d.query.name)) for d in bench.demands)
    put_loads_beside(loads, bench)
    return loads, costs, transactions


def _visited(cost: ClassCost, demand: Demand, scheme: KeyScheme, loads: LoadMap, bench: Bench, highest: float) -> float:
    """Entities per second at the peak of the partitions that a class visits; of several keys that it reads or writes,
    those where it meets most.

    Never above ``highest``, the hottest partition of the scheme in its worst minute: here every class is at its peak.
    """
    keys = [key.partition for key, _ in scheme.each_key()]
    met, own = [], {0} if cost.operation.writes else set[int]()
    if cost.plan is None:
        own.update(range(len(keys)))
    elif cost.operation.writes:
        own.update(touched(demand.query, scheme))
    if cost.plan is not None and (cost.operation is Operation.QUERY or cost.requests_locate):
        if cost.plan.access is Access.TABLE_SCAN:
            return highest
        met.append(_met(keys[cost.plan.via], demand, loads, bench.population, cost.plan))
        if cost.plan.follows and cost.entities_returned > 1:  # what the pointers lead to may lie anywhere
            met.append(float(loads.at_peaks(keys[0]).max(initial=0.0)))
        elif cost.plan.follows:
            own.add(0)
    met += [_met(keys[via], demand, loads, bench.population) for via in sorted(own)]
    return min(highest, max(met, default=0.0))


def _met(
    parts: tuple[Part, ...], demand: Demand, loads: LoadMap, population: Population, plan: AccessPlan | None = None
) -> float:
    """Entities per second of the partition of one PartitionKey template that a class visits, which 99 in 100 of its
    requests do not pass; of the hottest where a request visits several. Without a plan it is that of its own rows."""
    load = loads.at_peaks(parts)
    if plan is not None:
        demand, seen = seen_under(parts, demand, population)
        load = on_seen(load, atoms_of(parts), under(parts, population), seen)
        population = seen
    if plan is not None and (plan.several or plan.access is Access.PARTITION_RANGE_SCAN):
        return float(load.max(initial=0.0))
    if not len(demand.instances):
        return 0.0
    atoms, several = atoms_of(parts), list_part(parts)
    instances, weights = demand.instances, demand.weights
    if several is not None and population.lists != several:  # a write meets the partitions of all its values
        instances, weights = list_rows(several, population).divided(instances, weights)
        population = under(parts, population)
    ids, _ = population.groups(atoms)
    each = load[ids[instances]]
    keep = rows_of_constants(population, atoms, demand.constants) if plan is not None else None
    if keep is not None:
        # The constants of the filter say where, not the entity that its parameters are drawn from.
        groups, size = population.groups(free_atoms(atoms, demand.constants))
        most, rows = np.zeros(size), np.flatnonzero(keep)
        np.maximum.at(most, groups[rows], load[ids[rows]])
        each = most[groups[instances]]
    return spread(np.maximum(each, LOAD_LEAST), weights, BINS_PER_E)[1]


def _transaction(declared: Transaction, scheme: KeyScheme, bench: Bench) -> TransactionOutcome:
    """A set stays atomic when everything that the PartitionKey reads is fixed by what the set has in common."""
    population = bench.population
    most = set_entities_most(scheme, bench)
    pair, parts = declared.pair, scheme.main.partition
    guaranteed = None if pair is None else guarantee(pair, parts, population)
    together = keeps_together(declared, parts, population)
    share = float(together) if guaranteed is None else guaranteed.share
    if declared.entities is not None:
        mean, too_large, groups, of_several = declared.entities, 0, 0, 0
    else:
        mean, too_large, groups = group_sizes(declared, population, most)
        of_several = group_sizes(declared, population, 1)[1]
    rate = sum(
        d.query.rate.mean_per_s * d.query.entities_per_request
        for d in bench.demands
        if d.query.name in declared.together and not d.query.analytic
    )
    return TransactionOutcome(
        declared.name,
        together,
        declared.required,
        mean,
        too_large,
        groups,
        entities_per_s=rate,
        entities_most=most,
        requests_each=1 - share * (1 - requests_each(declared, population, most)) if share else 1.0,
        of_several=of_several,
        guaranteed=guaranteed,
        repair=None if together else repair_of(declared, scheme, bench.workload, bench.limits),
    )


def _fronts(scheme: KeyScheme, bench: Bench, inserted_per_s: float) -> tuple[Fronts, float]:
    """(fronts, entities inserted per second) of the PartitionKey where the inserts crowd most; unknown fronts come
    last."""
    rows: dict[tuple[Part, ...], float] = {}
    for key, row in scheme.each_key():
        share = (
            float(has_row(key, row, bench.population)[: bench.population.rows].mean()) if bench.population.rows else 1
        )
        rows[key.partition] = rows.get(key.partition, 0.0) + share
    fronts = [
        (write_fronts(parts, bench.population, bench.limits, inserted_per_s or None), inserted_per_s * count)
        for parts, count in rows.items()
    ]
    known = [f for f in fronts if f[0].median is not None]
    return max(known, key=lambda f: f[1] / (f[0].lasting(bench.limits.lasting_s) or 1.0)) if known else fronts[0]


def _inversions(scheme: KeyScheme, bench: Bench) -> int:
    """Pairs of the main key's properties in another order than the filters name them, the heaviest class first."""
    heaviest = sorted(bench.demands, key=lambda d: (d.query.analytic, -d.query.rate.mean_per_s, d.query.name))
    named = list(dict.fromkeys(name for d in heaviest for name in d.conditions.properties))
    places = [named.index(name) for name in scheme.main.properties if name in named]
    return sum(1 for i, first in enumerate(places) for second in places[i + 1 :] if first > second)


@dataclass(frozen=True, slots=True)
class ScorePart:
    """What one class brings to the score: its share of the rates, and the share of counted entities that were asked
    for."""

    name: str
    weight: float
    useful: float


def score_parts(costs: tuple[ClassCost, ...]) -> tuple[ScorePart, ...]:
    """The parts of the score, without classes for analysis; 100 × Σ weight · useful is the score before head-room."""
    live = [c for c in costs if not c.analytic and c.rate_per_s > 0]
    rate = sum(c.rate_per_s for c in live)
    return tuple(ScorePart(c.name, c.rate_per_s / rate, c.useful_share) for c in live)


def beside(estimate: CostEstimate, bench: Bench) -> CostEstimate:
    """An estimate that was made without ``bench.beside``, as ``estimate`` makes it with it."""
    limits = bench.limits
    breaks = in_order(
        shared_break(b, bench.beside.get(b.cause, 0.0), limits.headroom_share) if not b.others else b
        for b in estimate.breaks
    )
    if breaks == estimate.breaks:
        return estimate
    factor, cause = earliest(breaks, bench.growth_of)
    score = _score(estimate.classes, factor, estimate.horizon_factor)
    out = replace(estimate, breaks=breaks, break_factor=factor, break_cause=cause, score=score)
    anew = (break_factor(out, bench), smallest_break(out, bench))  # the others keep the intervals that they have
    changed = {t.name: t for t in anew if t.value != next(o.value for o in estimate.terms if o.name == t.name)}
    return replace(out, terms=tuple(changed.get(t.name, t) for t in out.terms))


def _score(costs: tuple[ClassCost, ...], factor: float, horizon: float) -> float:
    """The sum of the points of all classes, 0 to 100."""
    return sum(points for points in score_points(costs, factor, horizon) if points is not None)


def score_points(costs: tuple[ClassCost, ...], factor: float, horizon: float) -> tuple[float | None, ...]:
    """What each class adds to the score: 100 × its share of the rate × its useful share × min(1, break factor ÷
    horizon); None for analytic classes, which stand apart."""
    rate = sum(c.rate_per_s for c in costs if not c.analytic)
    reach = min(1.0, factor / horizon)
    return tuple(
        None if c.analytic else 100 * c.rate_per_s / rate * c.useful_share * reach if rate else 0.0 for c in costs
    )
