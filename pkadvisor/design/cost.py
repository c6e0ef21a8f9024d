"""What a scheme costs a workload: entities, requests, the load of the hottest partition, when it breaks.

Published facts used: a partition serves 2,000 entities/s and an account 20,000 requests/s; stored bytes follow the 2010
capacity formula. What a request costs its owner is counted; capacities are the published targets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pkadvisor.design.budgets import within_budgets
from pkadvisor.design.class_cost import class_cost, has_row
from pkadvisor.design.demand import group_sizes
from pkadvisor.design.estimates import Bench, ClassCost, CostEstimate, HotPartition, TransactionOutcome
from pkadvisor.design.findings import remarks_of, violations_of
from pkadvisor.design.heat import Fronts, LoadMap, write_fronts
from pkadvisor.design.keyfacts import encode_row, key_surplus, stored_bytes
from pkadvisor.design.population import Population, atoms_of
from pkadvisor.design.scheme import KeyScheme
from pkadvisor.design.template import format_template
from pkadvisor.design.transforms import (
    Part,
)
from pkadvisor.observe.workload import Operation, Transaction

if TYPE_CHECKING:
    from pkadvisor.limits import Limits


def estimate(scheme: KeyScheme, bench: Bench) -> CostEstimate:
    """Everything about one scheme; a pure function of its arguments (the population only caches)."""
    population, workload, limits = bench.population, bench.workload, bench.limits
    transactions = tuple(_transaction(t, scheme, bench) for t in workload.transactions)
    loads = LoadMap(population)
    costs = tuple(class_cost(demand, scheme, bench, transactions, loads) for demand in bench.demands)
    hot = _hot(loads, scheme, population)
    inserted = sum(
        d.query.rate.sustained_per_s * d.query.entities_per_request
        for d in bench.demands
        if d.query.operation in (Operation.INSERT, Operation.UPSERT) and not d.query.analytic
    )
    fronts, inserts_peak = _fronts(scheme, bench, inserted)
    live = [c for c in costs if not c.analytic]
    requests = sum(c.rate_per_s * c.requests for c in live)
    requests_peak = sum(c.peak_per_s * c.requests for c in live)
    entities = sum(c.entities_per_s for c in live)
    surplus = key_surplus(scheme.main, population)
    pairs = _break_pairs(hot, fronts, inserts_peak, requests_peak, loads, limits)
    factor, cause = min(((f, c) for f, c in pairs), default=(float("inf"), "nothing measured binds"))
    violations = violations_of(scheme, bench, hot, fronts, inserts_peak, requests_peak, loads, surplus, transactions)
    score = _score(costs, factor, bench.horizon_factor)
    atoms = atoms_of(scheme.main.partition)
    found = CostEstimate(
        scheme=scheme,
        classes=costs,
        hot=hot,
        fronts=fronts,
        inserts_per_s_peak=inserts_peak,
        requests_per_s=requests,
        requests_per_s_peak=requests_peak,
        entities_per_s=entities,
        bytes_per_entity=stored_bytes(scheme, bench),
        break_factor=factor,
        break_cause=cause,
        horizon_factor=bench.horizon_factor,
        transactions=transactions,
        violations=violations,
        remarks=remarks_of(scheme, bench, costs, fronts, transactions),
        score=score,
        partitions=round(population.groups_total(atoms)),
        surplus=surplus,
        inversions=_inversions(scheme, bench),
    )
    return within_budgets(found, bench) if bench.budgets else found


def _transaction(declared: Transaction, scheme: KeyScheme, bench: Bench) -> TransactionOutcome:
    """A set stays atomic when everything that the PartitionKey reads is fixed by what the set has in common."""
    population = bench.population
    rows = 1 + sum(1 for row in scheme.index_rows if scheme.same_partition(row))
    most = max(1, bench.limits.group_transaction_entities // rows)
    common = [("p", p) for p in declared.group_by if population.has(p)]
    kept = all(population.determines(common, atoms_of(key.partition)) for key, row in scheme.each_key() if row is None)
    if declared.logged_entities is not None:
        mean, too_large, groups = declared.logged_entities, 0, 0
    else:
        mean, too_large, groups = group_sizes(declared, population, most)
    return TransactionOutcome(declared.name, kept, declared.required, mean, too_large, groups)


def _hot(loads: LoadMap, scheme: KeyScheme, population: Population) -> HotPartition | None:
    hottest = loads.hottest()
    if hottest is None:
        return None
    parts, load = hottest
    text = encode_row(parts, population, load.row) if load.row is not None else format_template(parts)
    return HotPartition(text, load.entities_per_s, load.share, load.partitions)


def _fronts(scheme: KeyScheme, bench: Bench, inserted_per_s: float) -> tuple[Fronts, float]:
    """(fronts, entities inserted per second) of the PartitionKey where the inserts crowd most; unknown fronts come
    last."""
    rows: dict[tuple[Part, ...], float] = {}
    for key, row in scheme.each_key():
        share = (
            float(has_row(key, row, bench.population)[: bench.population.rows].mean()) if bench.population.rows else 1
        )
        rows[key.partition] = rows.get(key.partition, 0.0) + share
    found = [(write_fronts(parts, bench.population), inserted_per_s * count) for parts, count in rows.items()]
    known = [f for f in found if f[0].median is not None]
    return max(known, key=lambda f: f[1] / (f[0].median or 1.0)) if known else found[0]


def _break_pairs(
    hot: HotPartition | None,
    fronts: Fronts,
    inserts_peak: float,
    requests_peak: float,
    loads: LoadMap,
    limits: Limits,
) -> list[tuple[float, str]]:
    pairs = []
    if hot is not None and hot.entities_per_s > 0:
        pairs.append((limits.partition_entities_per_s / hot.entities_per_s, "the hottest partition"))
    if loads.scanned_per_s > 0:
        pairs.append((limits.account_requests_per_s / loads.scanned_per_s, "scans over several partitions"))
    if loads.busiest_run[0] > 0:
        pairs.append((limits.range_entities_per_s / loads.busiest_run[0], "the run of partitions that one query reads"))
    if requests_peak > 0:
        pairs.append((limits.account_requests_per_s / requests_peak, "the account's requests"))
    if fronts.median is not None and inserts_peak > 0:
        pairs.append((limits.range_entities_per_s * fronts.median / inserts_peak, "the range that takes the inserts"))
    return pairs


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

    def useful(cost: ClassCost) -> float:
        asked = max(1.0, cost.entities_returned if cost.operation is Operation.QUERY else 1.0)
        return min(1.0, asked / max(1.0, cost.entities_read + cost.entities_written))

    return tuple(ScorePart(c.name, c.rate_per_s / rate, useful(c)) for c in live)


def _score(costs: tuple[ClassCost, ...], break_factor: float, horizon: float) -> float:
    """100 × the rate-weighted share of counted entities that were asked for × how far the design reaches to its
    horizon."""
    return 100 * sum(p.weight * p.useful for p in score_parts(costs)) * min(1.0, break_factor / horizon)
