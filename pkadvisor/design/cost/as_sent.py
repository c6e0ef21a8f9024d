"""What the requests of a log read as they are sent, where they name less of the current keys than they could.

Costs are those of the best filter for what a query asks. A logged request that names the PartitionKey and filters by a
property in place of the RowKey reads the whole partition, whatever the keys are made of.
"""

from __future__ import annotations

from pkadvisor.design.load.estimates import Bench, CostEstimate
from pkadvisor.design.load.keyfacts import key_texts
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.demand import Demand
from pkadvisor.lazy import Floats, np
from pkadvisor.numbers import amount, percent, ratio
from pkadvisor.values import dataclass

TIMES_MORE = 2.0
"""Rows read as sent, in times of those that the keys need, from which on it is worth a sentence: assumed."""
ROWS_LEAST = 10.0
"""Rows read as sent below which it is not."""
SHARE_LEAST = 0.05
"""Share of the logged requests of a class below which it is not."""


@dataclass(frozen=True, slots=True)
class SentWithoutKeys:
    """A class whose logged requests name too little of the keys: which ``share`` of them, the mean rows that these read
    and that the filter for the current keys reads, and the load of the hottest partition by these alone, in entities a
    second at the peak."""

    name: str
    share: float
    rows: float
    rows_needed: float
    hottest_per_s: float
    per_s: float

    def sentence(self, bench: Bench) -> str:
        """What is wrong, what it costs, and what to send."""
        target = bench.limits.partition_entities_per_s
        return (
            f"'{self.name}' names no RowKey in {percent(self.share)} of its logged requests, and these read the "
            f"{amount(self.rows)} rows of a partition, {ratio(self.hottest_per_s / target)} the target of the hottest "
            f"one: send the filter that 'advisor explain' prints, which reads {amount(self.rows_needed)}; the figures "
            "are those of this filter"
        )


def sent_without_keys(current: CostEstimate, bench: Bench) -> SentWithoutKeys | None:
    """The class that reads most rows in vain because its logged requests name no RowKey; None where none does."""
    shares = bench.workload.without_row_key
    demands = {demand.query.name: demand for demand in bench.demands}
    costs = [c for c in current.classes if shares.get(c.name, 0.0) >= SHARE_LEAST and c.plan is not None]
    all_sent = []
    for cost in costs:
        demand = demands[cost.name]
        rows = _rows_in_partition(demand, current, bench)
        mean = float((rows * demand.weights).sum())
        if mean < max(ROWS_LEAST, TIMES_MORE * cost.entities_read):
            continue
        per_s = cost.peak_per_s * shares[cost.name]
        hottest = _hottest(demand, current, bench, rows * demand.weights * per_s)
        all_sent.append(SentWithoutKeys(cost.name, shares[cost.name], mean, cost.entities_read, hottest, per_s))
    return max(all_sent, key=lambda one: (one.per_s * one.rows, one.name), default=None)


def _rows_in_partition(demand: Demand, current: CostEstimate, bench: Bench) -> Floats:
    """The rows of all kinds, index rows among them, in the partition of each instance."""
    main, population = current.scheme.main, bench.population
    atoms = atoms_of(main.partition)
    ids, _ = population.groups(atoms)
    inside = sum(1 for key, _ in current.scheme.each_key() if key.partition == main.partition)
    own = population.counts(atoms)[ids[demand.instances]] * (inside * population.total / max(1, population.rows))
    others = [kind for kind in bench.other_kinds if kind.key is not None and kind.key.partition == main.partition]
    if not others:
        return np.asarray(own, dtype=np.float64)
    texts = key_texts(main.partition, population=population, rows=population.frame[demand.instances]).to_series()
    return np.asarray(own + sum(kind.in_partitions(main.partition, texts) for kind in others))


def _hottest(demand: Demand, current: CostEstimate, bench: Bench, load: Floats) -> float:
    """The most of a load of each instance that falls on one partition."""
    ids, count = bench.population.groups(atoms_of(current.scheme.main.partition))
    return float(np.bincount(ids[demand.instances], weights=load, minlength=count).max(initial=0.0))
