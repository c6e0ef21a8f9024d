"""What single seconds and minutes of a log put on each partition, where the keys that were asked for are known.

The busiest second of a class, spread as the whole log is, says nothing of a burst on one key: its requests fall on one
partition whatever the others get. So the requests of such a second are put where their own keys are, and those of a
minute in which a batch job asks for one tenant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from pkadvisor.design.keys.transforms import Part, part_properties
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.demand import Demand
from pkadvisor.design.rows.logged.unusual_minutes import ERRORS
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Floats, Ints, np
from pkadvisor.observe.workload import MINUTE_REQUESTS, REQUESTS, SPAN, Operation, Workload, length_of
from pkadvisor.values import dataclass

_MEMO: Final = "bursts"


@dataclass(frozen=True, eq=False)
class ClassBursts:
    """What one class asks in the spans that are known; ``lengths``: the seconds of each.

    ``rows`` of the population hold the keys, ``place`` says in which span, ``times`` how often: in times of all that
    the class asks in as many seconds of its peak, which are ``per_s`` entities a second. ``totals``: the same for each
    span, keys that are not known among them.
    ``instances``, ``weights``: whom it asks for in the whole log. ``known``: the properties that the log tells of an
    entity that is inserted, None where what is asked for is all told.
    """

    lengths: Ints
    rows: Ints
    place: Ints
    times: Floats
    totals: Floats
    per_s: float
    instances: Ints
    weights: Floats
    known: frozenset[str] | None

    @cached_property
    def by_span(self) -> _BySpan:
        """The requests of each span, found once for all candidates."""
        order = np.argsort(self.place, kind="stable")
        counts = np.bincount(self.place, minlength=len(self.lengths))
        begins = np.cumsum(counts) - counts
        ends = zip(begins.tolist(), (begins + counts).tolist(), strict=True)
        sums = [float(self.times[order[begin:end]].sum()) for begin, end in ends]
        return _BySpan(order, begins, counts, np.array(sums))


@dataclass(frozen=True, slots=True, eq=False)
class _BySpan:
    """The requests of a class by the span that they fall into: those of one are ``counts`` of ``order`` from ``begins``
    on. ``times``: their sum for each span."""

    order: Ints
    begins: Ints
    counts: Ints
    times: Floats

    def requests_of(self, spans: Ints) -> Ints:
        """The requests of some spans, one span after the other."""
        counts = self.counts[spans]
        within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        chosen: Ints = self.order[np.repeat(self.begins[spans], counts) + within]
        return chosen


Bursts = Mapping[str, ClassBursts]
"""By class."""


def keep_bursts(
    workload: Workload, population: Population, places: Mapping[str, tuple[int, int]], demands: Sequence[Demand]
) -> None:
    """Keep with the population what its log says of single spans; ``places``: the rows of it that name their keys."""
    spans = sorted({span for busy in workload.busy.values() for span in busy.totals})
    number = {span: place for place, span in enumerate(spans)}
    lengths = np.array([length_of(span) for span in spans], dtype=np.int64)
    out = dict[str, ClassBursts]()
    for demand in demands:
        query = demand.query
        busy, logged = workload.busy.get(query.name), workload.logged.get(query.name, query.rate)
        per_s = logged.sustained_per_s * query.entities_per_request
        if busy is None or query.analytic or per_s <= 0:
            continue
        start, stop = places.get(query.name, (0, 0))
        seen = busy.rows if stop > start else busy.rows.clear()
        totals = np.zeros(len(spans))
        for span, requests in busy.totals.items():
            totals[number[span]] = requests / (per_s * length_of(span))
        place = np.array([number[span] for span in seen[SPAN]], dtype=np.int64)
        out[query.name] = ClassBursts(
            lengths,
            np.arange(start, stop, dtype=np.int64),
            place,
            seen[REQUESTS].to_numpy() / (per_s * lengths[place]),
            totals,
            per_s,
            demand.instances,
            demand.weights,
            frozenset(seen.columns) if query.operation in (Operation.INSERT, Operation.UPSERT) else None,
        )
    if out:
        population.memo[_MEMO] = out


def bursts_of(population: Population) -> Bursts | None:
    """What is kept with a population; None where no log tells of seconds."""
    bursts: Bursts | None = population.memo.get(_MEMO)
    return bursts


@dataclass(frozen=True, slots=True, eq=False)
class NamedLoad:
    """The load of a class on the partitions of the keys that it names, at its peak: ``load`` by group.

    ``moved``: the row whose partition takes the load of each row, where that is not its own.
    """

    load: Floats
    moved: Ints | None = None


def worst_second(
    bursts: Bursts,
    loads: Mapping[str, tuple[Floats, NamedLoad | None]],
    parts: tuple[Part, ...],
    population: Population,
) -> Floats:
    """Entities of each group of a PartitionKey template in the worst for it of the seconds that are known.

    ``loads``: what each class puts on each group at its peak, and what of it where its keys are. A class that no log
    tells of is at its peak. Requests whose keys are not known are spread as those of the whole log are: those of
    inserts, where the template has a property that the log does not tell.
    """
    ids, size = population.groups(atoms_of(parts))
    worst: Floats = np.zeros(size)
    for totals, _ in _spans(bursts, False, loads, set(part_properties(parts)), ids, size):
        np.maximum(worst, totals.max(axis=0), out=worst)
    return worst


def worst_minute(
    bursts: Bursts,
    loads: Mapping[str, tuple[Floats, NamedLoad | None]],
    parts: tuple[Part, ...],
    population: Population,
    usual: Floats,
) -> Floats:
    """Entities/s of each group in the worst for it of the minutes that are known, where they are more than by chance
    (``ERRORS`` standard errors of the requests that were seen).

    As ``worst_second``; zero where no minute passes ``usual``, the load of the group with every class at its peak.
    """
    ids, size = population.groups(atoms_of(parts))
    worst: Floats = np.zeros(size)
    for totals, seen in _spans(bursts, True, loads, set(part_properties(parts)), ids, size):
        surely = totals * (1.0 - ERRORS / np.sqrt(np.maximum(seen, ERRORS**2)))
        np.maximum(worst, np.where(surely > usual, totals, 0.0).max(axis=0), out=worst)
    return worst


CELLS_MOST = 1 << 16
"""Groups times spans that are looked at together: their numbers then stay in the cache of a processor."""


def _spans(
    bursts: Bursts,
    minutes: bool,
    loads: Mapping[str, tuple[Floats, NamedLoad | None]],
    properties: set[str],
    ids: Ints,
    size: int,
) -> Iterator[tuple[Floats, Floats]]:
    """Entities/s of each group in each minute, or in each second, and the requests that were seen to name the group:
    some spans at a time, a row for each."""
    lengths = next(iter(bursts.values())).lengths
    seen = {n for n, burst in bursts.items() if burst.known is None or properties <= burst.known}
    each = {n: _per_request(bursts[n], named, ids, size) for n, (_, named) in loads.items() if named and n in seen}
    spans = np.flatnonzero((lengths > 1) == minutes)
    step = max(1, CELLS_MOST // max(1, size))
    for begin in range(0, len(spans), step):
        some = spans[begin : begin + step]
        totals, requests = np.zeros((len(some), size)), np.zeros((len(some), size))
        for name, (load, named) in loads.items():
            if name not in bursts:
                totals += load
                continue
            burst = bursts[name]
            asked = burst.totals[some]
            if named is None or name not in seen:
                totals += load * asked[:, None]
                continue
            told = burst.by_span
            unknown = np.maximum(0.0, asked - told.times[some])
            totals += (load - named.load) * asked[:, None] + named.load * unknown[:, None]
            which = told.requests_of(some)
            rows = burst.rows[which]
            groups = ids[rows if named.moved is None else named.moved[rows]]
            place = np.repeat(np.arange(len(some)), told.counts[some]) * size + groups
            times = np.bincount(place, weights=burst.times[which], minlength=len(some) * size).reshape(-1, size)
            totals += times * each[name]
            length = lengths[some].astype(np.float64)[:, None]
            whole = asked[:, None] * burst.per_s * length
            requests += times * burst.per_s * length * np.minimum(1.0, MINUTE_REQUESTS / np.maximum(whole, 1.0))
        yield totals, requests


def _per_request(burst: ClassBursts, named: NamedLoad, ids: Ints, size: int) -> Floats:
    """Load of each group by what part of a class's requests falls on it; that of a mean one where none is known to."""
    instances = burst.instances if named.moved is None else named.moved[burst.instances]
    asked = np.bincount(ids[instances], weights=burst.weights, minlength=size)
    mean = float(named.load.sum()) / max(float(asked.sum()), 1e-300)
    return np.where(asked > 0, named.load / np.where(asked > 0, asked, 1.0), mean)
