"""How many entities arrive per second in the data, compared with the inserts that a workload or a log shows."""

from __future__ import annotations

from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import np
from pkadvisor.observe.workload import Basis, Operation, QueryClass, Workload
from pkadvisor.remembered import remembered
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

ROWS_LEAST = 20
"""Rows with a time below which a density says nothing."""
TAIL = 0.01
"""Share of the times at each end that a span leaves out: a few wrong times must not stretch it."""
AS_LOGGED = 1.05
"""Times that a declared and a logged rate lie apart, up to which the first was read off the log, and rounded."""
NEWEST = 0.25
"""Share of the span that is looked at apart: a table that grows is denser at its end."""


@dataclass(frozen=True, slots=True)
class Density:
    """Entities per second by the order of arrival, over the whole ``span_s`` and over its newest quarter.

    ``inserts_least`` and ``inserts_most`` bound the entities per second that the workload adds: deletes may have
    taken some away again, and an upsert may add one or not.
    """

    arrival: str
    span_s: float
    mean_per_s: float
    newest_per_s: float
    inserts_least: float
    inserts_most: float
    declared: bool
    """Whether a rate of inserts is declared that no log shows; else all are as logged."""

    @property
    def per_s(self) -> float:
        """The density nearer to the inserts."""
        return min((self.mean_per_s, self.newest_per_s), key=self._apart)

    @property
    def inserts_per_s(self) -> float:
        """The rate of inserts that is nearest to the data."""
        return min(max(self.per_s, self.inserts_least), self.inserts_most)

    @property
    def times(self) -> float:
        """Inserts ÷ density: above 1 the data is thinner than the rate, below 1 it is denser."""
        return self._times(self.per_s)

    @property
    def apart(self) -> float:
        """How many times inserts and density lie apart, whichever is more."""
        return self._apart(self.per_s)

    def _times(self, density: float) -> float:
        return min(max(density, self.inserts_least), self.inserts_most) / density

    def _apart(self, density: float) -> float:
        times = self._times(density)
        return max(times, 1 / times) if times > 0 else float("inf")


@remembered("span")
def span_of(population: Population, name: str) -> tuple[float, float] | None:
    """(first, last) of a time property in µs, without the outermost hundredths; None where there is no span."""
    edm = population.types.get(name)
    if edm is not EdmType.DATETIME or name in population.hashed or not population.has(name):
        return None
    coded = population.coded(name)
    present = coded.codes[: population.rows] >= (1 if coded.has_missing else 0)
    rows = np.flatnonzero(present)
    ends = None
    if len(rows) >= ROWS_LEAST:
        first, last = np.quantile(population.numbers(name, rows), (TAIL, 1 - TAIL))
        ends = (float(first), float(last)) if last > first else None
    return ends


def density_of(population: Population, workload: Workload) -> Density | None:
    """The density of the data by its ``arrival``; None without a time of arrival, or without inserts of a known rate.

    A slice is as dense as its table; of rows or keys drawn at random each stands for total ÷ rows entities.
    """
    name = population.arrival
    writes = (Operation.INSERT, Operation.UPSERT)
    coming = [c for c in workload.classes if c.operation in writes and c.rate.basis is not Basis.UNKNOWN]
    span = span_of(population, name) if name else None
    if span is None or not coming or name is None:
        return None
    added = {o: sum(c.rate.mean_per_s * c.entities_per_request for c in coming if c.operation is o) for o in writes}
    inserts, upserts = added[Operation.INSERT], added[Operation.UPSERT]
    deleted = sum(c.rate.mean_per_s for c in workload.classes if c.operation is Operation.DELETE)
    if inserts + upserts <= 0:
        return None
    coded = population.coded(name)
    rows = np.flatnonzero(coded.codes[: population.rows] >= (1 if coded.has_missing else 0))
    moments = population.numbers(name, rows)
    first, last = span
    stands_for = population.drawn_from if population.sampling == "slice" else population.total
    each = stands_for / max(1, population.rows)
    length = (last - first) / 1e6
    newest = float(np.count_nonzero((moments > last - NEWEST * (last - first)) & (moments <= last)))
    return Density(
        arrival=name,
        span_s=length / (1 - 2 * TAIL),
        mean_per_s=each * len(rows) * (1 - 2 * TAIL) / length,
        newest_per_s=max(each * newest / (NEWEST * length), each / (NEWEST * length)),
        inserts_least=max(0.0, inserts - deleted),
        inserts_most=inserts + upserts,
        declared=any(c.rate.basis is Basis.DECLARED and not _as_logged(c, workload) for c in coming),
    )


def _as_logged(query: QueryClass, workload: Workload) -> bool:
    """Whether a declared rate is the one that the log shows, as in the designs that are drafted from a log."""
    logged = workload.logged.get(query.name)
    if logged is None or logged.basis is Basis.UNKNOWN:
        return False
    low, high = sorted((query.rate.mean_per_s, logged.mean_per_s))
    return high <= AS_LOGGED * low
