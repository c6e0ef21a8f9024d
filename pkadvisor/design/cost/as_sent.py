"""What the requests of a log read as they are sent, where they name less of the current keys than they could.

Costs are those of the best filter for what a query asks. A logged request that names the PartitionKey and filters by a
property in place of the RowKey reads the whole partition, whatever the keys are made of.
"""

from __future__ import annotations

from pkadvisor.design.cost.cost import put_down
from pkadvisor.design.keys.transforms import Part
from pkadvisor.design.load.estimates import Bench, CostEstimate
from pkadvisor.design.load.keyfacts import key_texts
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.demand import Demand
from pkadvisor.design.rows.list_values import list_part
from pkadvisor.documents.part import NAMES_NO_ROW_KEY
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
    """A class whose logged requests name too little of the keys: which ``share`` of them, so that they read a whole
    ``partition`` or ``table``, the mean rows that these read and that the filter for the current keys reads, and the
    load of the hottest partition by these and all other requests, in entities a second at the peak, when ``per_s`` of
    them are sent."""

    name: str
    whole: str
    share: float
    rows: float
    rows_needed: float
    hottest_per_s: float
    per_s: float

    def sentence(self, bench: Bench) -> str:
        """What is wrong, what it costs, and what to send."""
        times = ratio(self.hottest_per_s / bench.limits.partition_entities_per_s)
        what = {
            "partition": f"the {amount(self.rows)} rows of a partition",
            "table": f"all {amount(self.rows)} rows of the table",
        }
        return (
            f"'{self.name}{NAMES_NO_ROW_KEY}{percent(self.share)} of its logged requests, and these read "
            f"{what[self.whole]}: send the filter that 'advisor explain' prints, which reads "
            f"{amount(self.rows_needed)}. The figures are those of this filter; as it is logged, the hottest partition "
            f"is at {times} its target"
        )


def warnings_as_sent(current: CostEstimate | None, bench: Bench) -> tuple[str, ...]:
    """That requests of the log read more than the current keys need, because they name no RowKey."""
    sent = None if current is None else sent_without_keys(current, bench)
    return () if sent is None else (sent.sentence(bench),)


def sent_without_keys(current: CostEstimate, bench: Bench) -> SentWithoutKeys | None:
    """The class that reads most rows in vain because its logged requests name no RowKey; None where none does."""
    demands = {demand.query.name: demand for demand in bench.demands}
    all_sent = []
    for cost in current.classes:
        for whole, share in bench.workload.read_whole.get(cost.name, {}).items():
            if share < SHARE_LEAST or cost.plan is None or not whole or demands[cost.name].query.top is not None:
                continue  # where $top stops a request, it reads no whole partition
            demand, per_s = demands[cost.name], cost.peak_per_s * share
            partition = [*current.scheme.each_key()][cost.plan.via][0].partition
            if list_part(partition) is not None:
                continue  # an index row for each of several values is not asked for by properties
            rows = _rows_in_partition(demand, partition, current, bench)
            of_table = np.full(len(rows), _rows_of_table(current, bench)) if whole == "table" else rows
            mean = float((of_table * demand.weights).sum())
            if mean >= max(ROWS_LEAST, TIMES_MORE * cost.entities_read):
                hottest = _hottest(demand, partition, current, bench, per_s, rows, whole == "table")
                all_sent.append(SentWithoutKeys(cost.name, whole, share, mean, cost.entities_read, hottest, per_s))
    return max(all_sent, key=lambda one: (one.per_s * one.rows, one.name), default=None)


def _rows_of_table(current: CostEstimate, bench: Bench) -> float:
    """The rows of all kinds, with their index rows."""
    others = sum(kind.total for kind in bench.other_kinds if not kind.advised)
    return bench.population.total * len([*current.scheme.each_key()]) + others


def _rows_in_partition(demand: Demand, partition: tuple[Part, ...], current: CostEstimate, bench: Bench) -> Floats:
    """The rows of all kinds, index rows among them, in the partition of each instance under a PartitionKey."""
    population, atoms = bench.population, atoms_of(partition)
    ids, _ = population.groups(atoms)
    inside = sum(1 for key, _ in current.scheme.each_key() if key.partition == partition)
    own = population.counts(atoms)[ids[demand.instances]] * (inside * population.total / max(1, population.rows))
    others = [o for o in bench.other_kinds if o.key is not None and o.key.partition == partition]
    others = [o for o in others if not o.advised and not o.hashed]
    if not others:
        return np.asarray(own, dtype=np.float64)
    texts = key_texts(partition, population=population, rows=population.frame[demand.instances]).to_series()
    return np.asarray(own + sum(o.in_partitions(partition, texts) for o in others))


def _hottest(
    demand: Demand,
    partition: tuple[Part, ...],
    current: CostEstimate,
    bench: Bench,
    per_s: float,
    rows: Floats,
    table: bool,
) -> float:
    """Entities/s of the hottest partition of a template when ``per_s`` of the requests of a class are sent as logged,
    so that each reads its ``rows`` of a partition, or those of every partition of a ``table``."""
    loads, _, _ = put_down(current.scheme, bench)
    ids, count = bench.population.groups(atoms_of(partition))
    total = loads.at_peaks(partition)
    of_class = loads.by_class(partition).get(loads.columns[demand.query.name], np.zeros(count))
    as_needed = next(per_s / cost.peak_per_s for cost in current.classes if cost.name == demand.query.name)
    here = ids[demand.instances]
    read = np.zeros(count)
    if table:
        np.maximum.at(read, here, rows * per_s)
    else:
        np.add.at(read, here, rows * demand.weights * per_s)
    return float((total - as_needed * of_class + read).max(initial=0.0))
