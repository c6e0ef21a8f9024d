"""Heat: which partition and which range of partitions takes how much of the load.

A partition is served by one server, so its load is bounded whatever else is done (hot key). A range of partitions can
be split, but only between keys, and only after the service has watched it for minutes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from pkadvisor.design.keys.scheme import Key
from pkadvisor.design.keys.transforms import Part
from pkadvisor.design.load.bursts import NamedLoad, worst_minute, worst_second
from pkadvisor.design.load.estimates import Bench, CostEstimate
from pkadvisor.design.load.keyfacts import encode_row, key_texts
from pkadvisor.design.load.placed_loads import LoadVectors, PlacedLoads
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.list_values import list_part, under
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Floats, Ints, np, pl
from pkadvisor.observe.workload import Basis
from pkadvisor.remembered import remembered
from pkadvisor.values import dataclass


@dataclass(frozen=True, slots=True)
class PartitionLoad:
    """What one partition (or one entity) bears at its worst minute, in entities per second.

    ``share`` is of all load of that minute; ``row`` lies in it, None where no row at hand does. ``scanned_per_s`` is
    the part that grows with the rows of a key; ``mean_per_s`` is on average. ``group``: the number of the partition
    among those of its template.
    """

    entities_per_s: float
    share: float
    row: int | None
    partitions: int
    scanned_per_s: float = 0.0
    mean_per_s: float = 0.0
    group: int = 0

    def factor(self, limit_per_s: float) -> float:
        """Growth of the rows per key at which the limit is passed; infinite where the load does not grow with them."""
        if self.scanned_per_s <= 0:
            return math.inf
        return max(0.0, (limit_per_s - (self.entities_per_s - self.scanned_per_s)) / self.scanned_per_s)


LOOKED_AT = 64
"""Partitions that are compared with every minute at first; more where the bound of another is not below the highest."""


class LoadMap(PlacedLoads):
    """Load per partition and per entity, one vector for each distinct key of a scheme and each class.

    Every class is put down at its own peak; ``schedule`` says which of them come together.
    """

    @property
    def basis(self) -> Basis:
        """Where it comes from which classes are busy together."""
        return self._schedule.basis

    @property
    def columns(self) -> Mapping[str, int]:
        """The number by which ``by_class`` names each class."""
        return self._schedule.columns

    def templates(self) -> tuple[tuple[Part, ...], ...]:
        """The PartitionKey templates that load was put on, in the order in which it was."""
        return tuple(self._loads)

    def by_class(self, parts: tuple[Part, ...]) -> dict[int, Floats]:
        """Entities per second for each group of a template, of each class at its own peak."""
        out: dict[int, Floats] = {}
        for (column, _), vector in sorted(self._loads.get(parts, {}).items(), key=lambda p: p[0]):
            out[column] = out[column] + vector if column in out else vector
        return out

    def worst_of(self, parts: tuple[Part, ...], group: int) -> tuple[float, float]:
        """Entities per second of one group in its worst minute: (what stays, what grows with the rows of its key)."""
        fixed, grown = _minutes(self._loads[parts], self._schedule.peaks, np.array([group], dtype=np.int64))
        minute = int(np.argmax(fixed[:, 0] + grown[:, 0]))
        return float(fixed[minute, 0]), float(grown[minute, 0])

    @property
    def scanned_per_s(self) -> float:
        """Entities/s that all scans over several partitions read at the peak."""
        return self._schedule.peak(self._scanned)

    # -- the worst of them ---------------------------------------------------------------------------------------------

    @remembered("peaks")
    def at_peaks(self, parts: tuple[Part, ...]) -> Floats:
        """Entities per second for each group of a PartitionKey template, as ``Population.groups`` numbers them, with
        every class at its own peak."""
        _, size = self._of(parts).groups(atoms_of(parts))
        total: Floats = np.zeros(size)
        for vector in self._loads.get(parts, {}).values():
            total += vector
        return total

    @remembered("hottest")
    def hottest(self) -> tuple[tuple[Part, ...], PartitionLoad] | None:
        """The partition that takes most in its worst minute, with its template; ties go to the first template."""
        best: tuple[tuple[Part, ...], PartitionLoad] | None = None
        for parts, load in self._loads.items():
            partition_load = self._worst_partition(load, parts)
            if partition_load is not None and (best is None or partition_load.entities_per_s > best[1].entities_per_s):
                best = (parts, partition_load)
        return best

    def hottest_of(self, parts: tuple[Part, ...]) -> PartitionLoad | None:
        """The partition of one template that takes most in its worst minute; None where no load was put on it."""
        return self._worst_partition(self._loads[parts], parts) if parts in self._loads else None

    def _worst_partition(self, load: LoadVectors, parts: tuple[Part, ...]) -> PartitionLoad | None:
        """The worst by what the whole log says of each, or by what single minutes of it show."""
        worst, minutes = self._worst(load, parts, None, partitions=True), self.in_minutes(parts)
        if worst is None or not len(minutes) or minutes.max() <= worst.entities_per_s:
            return worst
        return self._load_of(load, parts, int(minutes.argmax()), None, partitions=True)

    @remembered("entity")
    def hottest_entity(self) -> tuple[Key, PartitionLoad] | None:
        """The entity that takes most in its worst minute, of those that are named by their key."""
        best: tuple[Key, PartitionLoad] | None = None
        for key, load in self._entities.values():
            partition_load = self._worst_entity(load, (*key.partition, *key.row))
            if partition_load is not None and (best is None or partition_load.entities_per_s > best[1].entities_per_s):
                best = (key, partition_load)
        return best

    def _worst_entity(self, load: LoadVectors, parts: tuple[Part, ...]) -> PartitionLoad | None:
        """The worst by what the whole log says of each; by its single seconds too where the service refused bursts."""
        worst = self._worst(load, parts, None)
        if worst is None or self._bursts is None or not self._schedule.bursts_refused:
            return worst
        names = {column: name for name, column in self._schedule.columns.items()}
        by_class = {names.get(column, ""): (vector, NamedLoad(vector)) for (column, _), vector in load.items()}
        in_seconds = worst_second(self._bursts, by_class, parts, self._of(parts))
        top = int(in_seconds.argmax())
        if in_seconds[top] <= worst.entities_per_s:
            return worst
        hotter = self._load_of(load, parts, top, None, partitions=False)
        return None if hotter is None else replace(hotter, entities_per_s=float(in_seconds[top]))

    @remembered("fill")
    def first_to_fill(self, limit_per_s: float) -> tuple[tuple[Part, ...], PartitionLoad] | None:
        """The partition that passes a limit first while the rows of every key grow; None where none ever does."""
        best: tuple[tuple[Part, ...], PartitionLoad] | None = None
        for parts, load in self._loads.items():
            if any(grows for _, grows in load):
                partition_load = self._worst(load, parts, limit_per_s)
                if partition_load is not None and (
                    best is None or partition_load.factor(limit_per_s) < best[1].factor(limit_per_s)
                ):
                    best = (parts, partition_load)
        return best if best is not None and math.isfinite(best[1].factor(limit_per_s)) else None

    def second_per_s(self, parts: tuple[Part, ...], load: PartitionLoad) -> float:
        """Entities that a partition takes in the busiest second that a log shows; as a minute's mean without one."""
        seconds = np.add(*_minutes(self._loads[parts], self._schedule.seconds, np.array([load.group])))
        in_log = self.in_seconds(parts)
        return max(float(seconds.max(initial=load.entities_per_s)), float(in_log[load.group]) if len(in_log) else 0.0)

    def busiest_second(self) -> tuple[tuple[Part, ...], PartitionLoad, float] | None:
        """The partition that takes most in a busiest second, and how much; None where no second is known."""
        best: tuple[tuple[Part, ...], PartitionLoad, float] | None = None
        for parts, load in self._loads.items():
            seconds, in_log = self._schedule.seconds, self.in_seconds(parts)
            both = [self._worst(load, parts, None, seconds, partitions=True)] if len(seconds) else []
            both += [self._load_of(load, parts, int(in_log.argmax()), None, partitions=True)] if len(in_log) else []
            for partition_load in both:
                if partition_load is None:
                    continue
                in_second = self.second_per_s(parts, partition_load)
                if best is None or in_second > best[2]:
                    best = (parts, partition_load, in_second)
        return best

    @remembered("seconds")
    def in_seconds(self, parts: tuple[Part, ...]) -> Floats:
        """Entities for each group of a template in the worst of the seconds whose keys a log tells; else empty."""
        if self._bursts is None:
            return np.zeros(0)
        return worst_second(self._bursts, self._by_name(parts), parts, self._of(parts))

    @remembered("minutes")
    def in_minutes(self, parts: tuple[Part, ...]) -> Floats:
        """Entities/s for each group of a template in the worst of the minutes whose keys a log tells, where these pass
        what the whole log says of the group; of the seconds too where the service refused bursts; else empty."""
        if self._bursts is None:
            return np.zeros(0)
        worst = worst_minute(self._bursts, self._by_name(parts), parts, self._of(parts), self.at_peaks(parts))
        return np.maximum(worst, self.in_seconds(parts)) if self._schedule.bursts_refused else worst

    def _by_name(self, parts: tuple[Part, ...]) -> dict[str, tuple[Floats, NamedLoad | None]]:
        """What each class puts on each group at its peak, and what of it where its keys are."""
        names, named = {c: name for name, c in self._schedule.columns.items()}, self._named.get(parts, {})
        return {names.get(c, ""): (load, named.get(c)) for c, load in self.by_class(parts).items()}

    def _worst(
        self,
        load: LoadVectors,
        parts: tuple[Part, ...],
        limit: float | None,
        rates: Floats | None = None,
        *,
        partitions: bool = False,
    ) -> PartitionLoad | None:
        """The group with the highest load, or with a limit the one that passes it first as its scans grow."""
        schedule = self._schedule
        rates = schedule.peaks if rates is None else rates
        size = len(next(iter(load.values())))
        if not size:
            return None
        highest = rates.max(axis=0)
        upper = [np.zeros(size), np.zeros(size)]
        for (column, grows), vector in load.items():
            upper[grows] += highest[column] * vector
        bound = _score(upper[0], upper[1], limit)
        groups = np.array([int(np.argmin(bound))])
        if len(rates) > 1:
            groups = self._contenders(load, bound, rates, limit)
            scores = _score(*_minutes(load, rates, groups), limit).min(axis=0)
            groups = groups[[int(np.argmin(scores))]]
        return self._load_of(load, parts, int(groups[0]), limit, partitions=partitions)

    def _load_of(
        self, load: LoadVectors, parts: tuple[Part, ...], top: int, limit: float | None, *, partitions: bool
    ) -> PartitionLoad | None:
        """What one group of a key bears in its worst minute; a share is of the load of all groups, of ``partitions``
        those that are not at hand among them."""
        schedule, groups = self._schedule, np.array([top])
        fixed, grown = _minutes(load, schedule.peaks, groups)
        scores = _score(fixed, grown, limit)[:, 0]
        minute = int(np.argmin(scores))
        if limit is not None and not np.isfinite(scores[minute]):
            return None
        in_minutes = self.in_minutes(parts) if partitions else ()
        at_peak = max(float(fixed[minute, 0] + grown[minute, 0]), float(in_minutes[top]) if len(in_minutes) else 0.0)
        total = sum(schedule.peaks[minute, column] * float(vector.sum()) for (column, _), vector in load.items())
        for column, per_s in (self._elsewhere.get(parts, {}) if partitions else {}).items():
            total += schedule.peaks[minute, column] * per_s
        mean = sum(schedule.mean[column] * float(vector[top]) for (column, _), vector in load.items())
        population, atoms = self._of(parts), atoms_of(parts)
        ids, _ = population.groups(atoms)
        rows = np.flatnonzero(ids == top)
        return PartitionLoad(
            at_peak,
            min(1.0, at_peak / total) if total else 0.0,
            int(rows[0]) if len(rows) else None,
            population.distinct(atoms),
            float(grown[minute, 0]),
            float(mean),
            top,
        )

    @staticmethod
    def _contenders(load: LoadVectors, bound: Floats, rates: Floats, limit: float | None) -> Ints:
        """Groups among which the worst one is: those whose bound, every class at its peak, passes what is reached."""
        looked_at = LOOKED_AT
        while True:
            if looked_at >= len(bound):
                return np.arange(len(bound), dtype=np.int64)
            order = np.argpartition(bound, looked_at)
            groups = np.sort(order[:looked_at])
            reached = float(_score(*_minutes(load, rates, groups), limit).min())
            if reached <= float(bound[order[looked_at:]].min()):
                return groups
            looked_at *= 8


def _minutes(load: LoadVectors, rates: Floats, groups: Ints) -> tuple[Floats, Floats]:
    """(what stays, what grows with the rows of a key) of each group in each minute."""
    out = (np.zeros((len(rates), len(groups))), np.zeros((len(rates), len(groups))))
    for (column, grows), vector in load.items():
        # Not a matrix product: BLAS splits it by thread count, and sums must not depend on that.
        out[grows][:] += rates[:, column, None] * vector[groups]
    return out


def _score(fixed: Floats, grown: Floats, limit: float | None) -> Floats:
    """What is least for the worst group: its load below zero, or the growth of its scans that reaches the limit."""
    if limit is None:
        return np.asarray(-(fixed + grown))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # next to no load bears infinite growth
        return np.where(grown > 0, (limit - fixed) / np.where(grown > 0, grown, 1.0), np.inf)


# -- How unevenly a design spreads the load over its partitions: the Lorenz curve, and the partitions that take most.


POINTS = 64
"""Points of a Lorenz curve."""
TOP = 20


@dataclass(frozen=True, slots=True)
class TopPartition:
    """``share`` of all load with every class at its peak; ``per_s`` entities/s in its worst minute, ``growing_per_s``
    the part of them that grows with the rows of its key; ``rows`` of it in the whole table, estimated from a sample."""

    template: tuple[Part, ...]
    key: str
    share: float
    per_s: float
    growing_per_s: float
    rows: float


@dataclass(frozen=True, slots=True)
class PartitionSizes:
    """Rows of a partition of the main key: of the one in the middle, of 99 in 100 at most, of the largest."""

    p50: float
    p99: float
    largest: float
    basis: Basis


@dataclass(frozen=True, slots=True)
class Skew:
    """``lorenz``: (share of the partitions, the least loaded first; share of the load). ``gini``: 0 even, 1 all on one.

    ``sampled`` partitions were compared; the table has ``partitions`` of the main key.
    """

    lorenz: tuple[tuple[float, float], ...]
    gini: float
    sampled: int
    partitions: int
    top: tuple[TopPartition, ...]
    sizes: PartitionSizes


def skew_of(estimate: CostEstimate, bench: Bench, loads: LoadMap) -> Skew | None:
    """The skew of a design; None where no partition takes any load."""
    parts_of: list[tuple[Part, ...]] = []
    groups, peaks = [], []
    of_rows = {key.partition for key, _ in estimate.scheme.each_key()}
    for number, parts in enumerate(loads.templates()):
        parts_of.append(parts)
        each = loads.at_peaks(parts)
        with_rows = (under(parts, bench.population).counts(atoms_of(parts)) > 0) & (parts in of_rows)
        known = np.flatnonzero(with_rows | (each > 0))
        groups.append(np.stack([np.full(len(known), number), known]))
        peaks.append(each[known])
    if not peaks or float(sum(p.sum() for p in peaks)) <= 0:
        return None
    places, load = np.concatenate(groups, axis=1), np.concatenate(peaks)
    order = np.argsort(-load, kind="stable")
    share = load / load.sum()
    top = []
    for at in order[:TOP]:
        if load[at] <= 0:
            break
        top.append(_partition(parts_of[int(places[0, at])], int(places[1, at]), float(share[at]), bench, loads))
    curve, gini = lorenz(load)
    return Skew(curve, gini, len(load), estimate.partitions, tuple(top), sizes_of(estimate, bench))


def lorenz(load: Floats) -> tuple[tuple[tuple[float, float], ...], float]:
    """(the curve in at most ``POINTS`` points, the Gini coefficient) of some loads; both over every load."""
    rising = np.sort(load)
    count, total = len(rising), float(rising.sum())
    below = np.concatenate([[0.0], np.cumsum(rising)]) / total
    gini = 1.0 - float((below[1:] + below[:-1]).sum()) / count
    # Half of the points lie among the few that take most, where the curve bends.
    even = np.linspace(0, count, POINTS // 2)
    bent = count - np.geomspace(1, count, POINTS // 2)
    at = np.unique(np.rint(np.concatenate([even, bent])).astype(np.int64))
    return tuple((int(i) / count, min(1.0, float(below[i]))) for i in at), max(0.0, gini)


def _partition(parts: tuple[Part, ...], group: int, share: float, bench: Bench, loads: LoadMap) -> TopPartition:
    population = under(parts, bench.population)
    atoms = atoms_of(parts)
    ids, _ = population.groups(atoms)
    row = int(np.argmax(ids == group))
    fixed, growing = loads.worst_of(parts, group)
    rows = float(population.counts(atoms)[group])
    if not population.whole(atoms) and population.rows:
        rows *= population.total / population.rows
    return TopPartition(parts, encode_row(parts, population, row), share, fixed + growing, growing, rows)


def sizes_of(estimate: CostEstimate, bench: Bench) -> PartitionSizes:
    """The rows of the partitions of the main key, scaled from the sample to the whole table."""
    population = bench.population
    atoms = atoms_of(estimate.scheme.main.partition)
    counts = population.counts(atoms)
    ordered = np.sort(counts[counts > 0]).astype(np.float64)
    whole = population.whole(atoms) or not atoms
    scale = 1.0 if population.whole(atoms) else population.total / max(1, population.rows)

    def at(share: float) -> float:
        return float(ordered[min(len(ordered) - 1, int(share * len(ordered)))]) * scale if len(ordered) else 0.0

    basis = Basis.COUNTED if whole and population.complete else Basis.ESTIMATED
    return PartitionSizes(at(0.5), at(0.99), at(1.0), basis)


# -- several kinds in one partition ------------------------------------------------------------------------------------


def loads_by_text(loads: LoadMap, parts: tuple[Part, ...], population: Population) -> dict[str, float]:
    """Entities per second of each partition of a template with every class at its own peak, by its PartitionKey."""
    if list_part(parts) is not None:
        return {}
    texts = texts_of_groups(parts, population).to_list()
    return {text: load for text, load in zip(texts, loads.at_peaks(parts).tolist(), strict=True) if load > 0}


def put_loads_beside(loads: LoadMap, bench: Bench) -> None:
    """Put the load of other kinds on the partitions that rows of both have."""
    for parts in loads.templates():
        there = [o for o in bench.other_kinds if o.key is not None and o.key.partition == parts]
        kinds = {(o.kind, o.advised): o for o in there}  # the load of a template is that of all its rows of a kind
        if not kinds or list_part(parts) is not None:
            continue
        texts = texts_of_groups(parts, bench.population)
        beside = np.sum([kind.load_at(texts) for kind in kinds.values()], axis=0)
        if beside.any():
            loads.beside(parts, beside)


@remembered("texts of groups")
def texts_of_groups(parts: tuple[Part, ...], population: Population) -> pl.Series:
    """The PartitionKey of each group of a template, as ``Population.groups`` numbers them."""
    ids, size = population.groups(atoms_of(parts))
    first = np.zeros(size, dtype=np.int64)
    first[ids[::-1]] = np.arange(len(ids) - 1, -1, -1)
    return key_texts(parts, population=population, rows=population.frame[first]).to_series()
