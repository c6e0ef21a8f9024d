"""From the text of ``--load`` to a load, whichever kind it is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pkadvisor.design.load.estimates import Bench
from pkadvisor.errors import UsageError
from pkadvisor.lazy import Floats, Ints, np
from pkadvisor.numbers import amount
from pkadvisor.observe.logs.traffic import ClassTraffic, TableTraffic
from pkadvisor.observe.workload import Operation
from pkadvisor.splitmix import mixed
from pkadvisor.stress.load.arrivals import SECOND_NS, Picker, Steps, stream
from pkadvisor.stress.load.cluster_stats import CITATION, cluster_named
from pkadvisor.stress.load.load import Batch, ClassLoad, WorkloadLoad, merged
from pkadvisor.stress.load.load_text import LoadSpec, parse_load
from pkadvisor.values import dataclass

Arrivals = Iterator[tuple[Ints, Ints]]

# ----------------------------------------------------------------------------------------------------------------------
# A log again: its requests at their own times, or as much of that as a sample of them tells.
#
# A log of many requests is known by a uniform sample of each class (at most 5,000 of them). Where the sample is the
# whole class, its requests come as they came. Where it is thinner, each sampled request stands for several: one comes
# at its own time with its own parameters, the others between it and the next one, with the parameters of sampled
# requests nearby. So the load keeps its rate, its rhythm (no finer than the sample) and its skew.

NEAR: Final = 32
"""Parameters of requests that the sample left out are those of one of so many sampled ones before and after."""
_ROWS: Final = 256


@dataclass(frozen=True, slots=True, eq=False)
class ReplayClass:
    """One class: the sampled requests in the order of their times (ns since the run begins), which parameters each had,
    how many parameters there are, and how many requests each of the sample stands for."""

    name: str
    at_ns: Ints
    instances: Ints
    known: int
    stands_for: float


@dataclass(frozen=True, slots=True, eq=False)
class ReplayLoad:
    """The requests of a log; ``notes`` say what was made up. Requests of one ns come by class, then in log order."""

    parts: tuple[ReplayClass, ...]
    duration_ns: int
    seed: int = 0
    notes: tuple[str, ...] = ()
    window_ns: int = SECOND_NS

    @staticmethod
    def from_log(
        bench: Bench,
        traffic: TableTraffic,
        classes: Sequence[str] | None = None,
        *,
        duration_ns: int | None = None,
        seed: int = 0,
        factor: float = 1.0,
        speed: float = 1.0,
        start_us: int | None = None,
        resolution_us: int = 1,
    ) -> ReplayLoad:
        """The log of a table: ``factor`` times as many requests, ``speed`` times as fast (both together are allowed).

        It begins at ``start_us`` (µs since 1970; None: at the first request) and ends after ``duration_ns`` of the run
        (None: with the last request). ``resolution_us``: the log's times are multiples of it (``Clock``); requests
        are spread over it, so that those of one second do not come at once. The classes of ``bench.workload`` must
        be those of the log, in its order. Raises UsageError for a log without times.
        """

        single = [c for c in traffic.classes if c.op != "batch"]
        pairs = list(zip(single, bench.workload.classes, strict=False))
        wanted = [(c, q) for c, q in pairs if (q.name in classes if classes is not None else not q.analytic)]
        timed = [(c, q.name, c.sample.drop_nulls("at_us").sort("at_us", maintain_order=True)) for c, q in wanted]
        timed = [(c, name, sample) for c, name, sample in timed if sample.height]
        if not timed:
            what = f"no request of {traffic.name} in the log has a time"
            raise UsageError(what, where="--load", fix="use --load mean, or a log with times")
        first = min(int(s.item(0, "at_us")) for _, _, s in timed) if start_us is None else start_us
        last = max(int(s.item(-1, "at_us")) for _, _, s in timed)
        duration = max(1, int((last - first + resolution_us) * 1000 / speed)) if duration_ns is None else duration_ns
        instances = {d.query.name: len(d.instances) for d in bench.demands}
        absent = [
            q.name for q in bench.workload.classes[len(single) :] if not q.analytic and q.rate.sustained_per_s > 0
        ]
        notes = [f"{', '.join(absent)}: not in the log, so not in its replay"] if absent else []
        parts: list[ReplayClass] = []
        for class_traffic, name, _ in timed:
            if not instances.get(name):
                notes.append(f"{name}: no sampled entity has parameters for it, so it is never sent")
                continue
            which, note = _parameters(class_traffic, name, instances[name], bench, seed)
            notes += [note] if note else []
            rows, at = _moments(class_traffic, name, first, resolution_us=resolution_us, speed=speed, seed=seed)
            stands_for, more = _stands_for(class_traffic, name, traffic, len(at), factor)
            notes += more
            parts.append(ReplayClass(name, at, which[rows], instances[name], stands_for))
        if (last - first) * 1000 / speed >= duration:
            notes.append(f"the run ends {(last - first) / 1e6 / speed - duration / SECOND_NS:,.0f} s before the log")
        return ReplayLoad(tuple(parts), duration, seed, tuple(notes))

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""
        return tuple(p.name for p in self.parts)

    @property
    def instances(self) -> tuple[int, ...]:
        """How many different parameters each class has."""
        return tuple(p.known for p in self.parts)

    def batches(self) -> Iterator[Batch]:
        """All requests, each time the same."""
        return merged([self._arrivals(part) for part in self.parts], self.window_ns)

    def _arrivals(self, part: ReplayClass) -> Arrivals:
        """The requests of a class, some rows of its sample at a time."""
        random = stream(self.seed, "replay", part.name)
        size = len(part.at_ns)
        # Row i stands for as many requests as the line of slope ``stands_for`` passes whole numbers in it.
        counts = np.diff(np.floor(np.arange(size + 1) * part.stands_for).astype(np.int64))
        last_gap = max(1, int((part.at_ns[-1] - part.at_ns[0]) / max(1, size - 1)))
        gaps = np.append(np.diff(part.at_ns), last_gap)
        for start in range(0, size, _ROWS):
            rows = np.repeat(np.arange(start, min(size, start + _ROWS)), counts[start : start + _ROWS])
            own = np.diff(rows, prepend=-1) != 0
            later = np.where(own, 0.0, random.random(len(rows)))
            near = rows + np.where(own, 0, random.integers(-NEAR, NEAR + 1, len(rows)))
            at = part.at_ns[rows] + (later * gaps[rows]).astype(np.int64)
            order = np.argsort(at, kind="stable")
            at, chosen = at[order], part.instances[np.clip(near, 0, size - 1)][order]
            within = slice(*np.searchsorted(at, [0, self.duration_ns]).tolist())
            if len(at[within]):
                yield at[within], chosen[within]


def _parameters(traffic: ClassTraffic, name: str, known: int, bench: Bench, seed: int) -> tuple[Ints, str]:
    """(which parameters each sampled request had, a note where nobody knows)."""
    size = traffic.sample.height
    logged = bench.workload.instances.get(name)
    if logged is not None and logged.height == size == known:
        return np.arange(size, dtype=np.int64), ""
    drawn = next(d for d in bench.demands if d.query.name == name)
    which = Picker(drawn.weights).pick(stream(seed, "replay parameters", name), size)
    return which, f"{name}: not every logged key could be read; parameters are drawn from those that could"


def _moments(
    traffic: ClassTraffic, name: str, first_us: int, *, resolution_us: int, speed: float, seed: int
) -> tuple[Ints, Ints]:
    """The rows of the sample that have a time, in the order of their times, and these in ns since the run begins."""
    times = traffic.sample.get_column("at_us")
    ticks, rows = times.to_numpy(), np.flatnonzero(times.is_not_null().to_numpy())
    rows = rows[np.argsort(ticks[rows], kind="stable")]
    since = (ticks[rows].astype(np.int64) - first_us).astype(np.float64)
    if resolution_us > 1:
        since += stream(seed, "replay times", name).random(len(since)) * resolution_us
        order = np.argsort(since, kind="stable")
        rows, since = rows[order], since[order]
    return rows, np.floor(since * (1000 / speed)).astype(np.int64)


def _stands_for(
    of_class: ClassTraffic, name: str, traffic: TableTraffic, sampled: int, factor: float
) -> tuple[float, list[str]]:
    """How many requests each sampled one stands for in a load of ``factor`` times the log, and notes on it."""
    notes = []
    logged, groups = of_class.requests / of_class.sample.height / traffic.fraction, traffic.groups
    if of_class.grouped and groups.entities:
        # The log lists the entities of group transactions; the class is asked for by groups of its mean size.
        factor = factor * groups.transactions / groups.entities
        notes.append(f"{name}: {of_class.requests:,} entities of groups come as groups of the mean size")
    if logged > 1:
        requests = of_class.requests / traffic.fraction
        notes.append(
            f"{name}: the log is known by {sampled:,} of {requests:,.0f} requests; each stands for {amount(logged)}"
        )
    return logged * factor, notes


# ----------------------------------------------------------------------------------------------------------------------
# Loads with the measured parameters of production clusters instead of invented ones: rate, mix of operations, skew.

_WRITES: Final = (Operation.INSERT, Operation.UPDATE, Operation.UPSERT)
_STANDS_FOR: Final[Mapping[str, tuple[tuple[Operation, ...], ...]]] = {
    "get": ((Operation.QUERY,),),
    "gets": ((Operation.QUERY,),),
    "add": ((Operation.INSERT,), (Operation.UPSERT,), (Operation.UPDATE,)),
    "delete": ((Operation.DELETE,), _WRITES),
}
"""Of each operation of the cache the classes that stand for it, the first of which there are any."""
_OTHER_WRITES: Final = (_WRITES, (Operation.DELETE,))
"""A cache sets keys that it has and keys that it has not, so inserts and updates share what it sets."""


def synthetic_load(
    bench: Bench,
    classes: Sequence[str] | None = None,
    *,
    shape: str | LoadSpec,
    duration_ns: int,
    seed: int = 0,
    factor: float = 1.0,
) -> WorkloadLoad:
    """The classes of a workload at a cluster's rate, mix and skew: ``shape`` names it, as in ``cluster12,x0.1``.

    The classes that stand for one operation share its rate as they share their own. Parameters are asked for by rank,
    the most popular in an order that the seed draws, the same in all classes. Raises UsageError where no class can
    stand for any operation.
    """
    spec = parse_load(shape) if isinstance(shape, str) else shape
    cluster = cluster_named(spec.cluster)
    assert cluster.per_s is not None
    usable = [
        d
        for d in bench.demands
        if len(d.instances) and ((d.query.name in classes) if classes is not None else not d.query.analytic)
    ]
    total = math.fsum(cluster.operations.values())
    per_s = dict.fromkeys((d.query.name for d in usable), 0.0)
    notes = [f"rate, mix and skew of {cluster.name}: {CITATION}"]
    for operation, share in cluster.operations.items():
        choices = _STANDS_FOR.get(operation, _OTHER_WRITES)
        groups = ([d for d in usable if d.query.operation in choice] for choice in choices)
        taken = next((group for group in groups if group), [])
        if not taken:
            notes.append(f"no class stands for its {operation} ({100 * share / total:.0f} % of the requests), left out")
            continue
        own = [d.query.rate.sustained_per_s for d in taken]
        weights = own if sum(own) > 0 else [1.0] * len(taken)
        for demand, weight in zip(taken, weights, strict=True):
            per_s[demand.query.name] += cluster.per_s * share / total * weight / sum(weights)
    if not any(per_s.values()):
        what = f"no class of {bench.workload.table} can stand for an operation of {cluster.name}"
        raise UsageError(what, where="--load", fix="give the table classes that read or write")
    if cluster.zipf is None:
        notes.append("no skew was fitted to it: each parameter is equally likely")
    form = spec.shape(duration_ns).times(Steps.flat(spec.factor * factor))
    parts = tuple(
        ClassLoad(
            d.query.name,
            Steps.flat(per_s[d.query.name]).times(form),
            zipf_weights(np.where(d.weights > 0, d.instances, -1), cluster.zipf or 0.0, seed),
            spec.process,
        )
        for d in usable
    )
    return WorkloadLoad(parts, duration_ns, seed, tuple(notes))


def zipf_weights(rows: Ints, exponent: float, seed: int) -> Floats:
    """rank^-exponent ÷ their sum for some rows, ranked in an order that (seed, row) draws; 0 for rows below 0."""
    weights = np.zeros(len(rows))
    stored = np.flatnonzero(rows >= 0)
    order = stored[np.argsort([mixed(seed, int(row)) for row in rows[stored]], kind="stable")]
    weights[order] = np.arange(1, len(order) + 1, dtype=np.float64) ** -exponent
    return np.asarray(weights / max(float(weights.sum()), 1e-300))


def load_of(
    bench: Bench,
    shape: str | LoadSpec,
    classes: Sequence[str] | None = None,
    *,
    duration_ns: int,
    seed: int = 0,
    factor: float = 1.0,
    months: float | None = None,
    weigh: Mapping[str, float] | None = None,
    traffic: TableTraffic | None = None,
    resolution_us: int = 1,
) -> WorkloadLoad | ReplayLoad:
    """The load that ``--load`` describes, as ``WorkloadLoad.from_workload``, ``synthetic_load`` or ``ReplayLoad``.

    Raises UsageError, for a trace without a log too.
    """
    spec = parse_load(shape) if isinstance(shape, str) else shape
    if spec.cluster:
        return synthetic_load(bench, classes, shape=spec, duration_ns=duration_ns, seed=seed, factor=factor)
    if spec.base != "trace":
        return WorkloadLoad.from_workload(
            bench, classes, duration_ns=duration_ns, seed=seed, factor=factor, shape=spec, months=months, weigh=weigh
        )
    if traffic is None:
        raise UsageError("there is no log to replay", where="--load", fix="give one with --log, or use --load peak")
    if spec.flashes or spec.ramp is not None or spec.process != LoadSpec().process:
        what = f"'{spec.text}': a trace comes when it came"
        raise UsageError(what, where="--load", fix="trace goes with a factor alone: trace,x2")
    return ReplayLoad.from_log(
        bench,
        traffic,
        classes,
        duration_ns=duration_ns,
        seed=seed,
        factor=spec.factor * factor,
        resolution_us=resolution_us,
    )
