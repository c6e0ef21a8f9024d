"""Loads of all classes, each put on the rows, entities and runs of partitions where it falls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

from pkadvisor.design.keys.scheme import Key
from pkadvisor.design.keys.transforms import Atom, Part
from pkadvisor.design.load.bursts import NamedLoad, bursts_of
from pkadvisor.design.rows.arrivals import newest_rows
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.list_values import list_part, list_rows, under
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.schedule import Schedule, all_at_once
from pkadvisor.lazy import Floats, Ints, np
from pkadvisor.values import dataclass

LoadVectors = dict[tuple[int, bool], "Floats"]
"""Entities per second and group, at the peak of a class: by (its column, whether they grow with the rows of a key)."""


@dataclass(frozen=True, slots=True)
class PutDown:
    """The load of one class as a map holds it: by PartitionKey template, by key, and over runs of partitions."""

    loads: Mapping[tuple[Part, ...], LoadVectors]
    entities: Mapping[object, tuple[Key, LoadVectors]]
    elsewhere: Mapping[tuple[Part, ...], Mapping[int, float]]
    scanned_per_s: float
    runs: Mapping[object, Floats]
    named: Mapping[tuple[Part, ...], Mapping[int, NamedLoad]]

    @property
    def numbers(self) -> int:
        """Numbers that it holds."""
        loads = (*self.loads.values(), *(load for _, load in self.entities.values()))
        return sum(map(len, (*(vector for load in loads for vector in load.values()), *self.runs.values())))


class PlacedLoads:
    """Load per partition and per entity, each class at its own peak: one vector for each key of a scheme and class."""

    def __init__(self, population: Population, schedule: Schedule | None = None) -> None:
        self._population = population
        self._schedule = schedule if schedule is not None else all_at_once()
        self._column = 0
        self._loads: dict[tuple[Part, ...], LoadVectors] = {}
        self._entities: dict[object, tuple[Key, LoadVectors]] = {}
        self._elsewhere: dict[tuple[Part, ...], dict[int, float]] = {}
        self._scanned: dict[str, float] = {}
        self.memo: dict[object, Any] = {}  # what was computed, until more load is put down
        self._runs: dict[object, Floats] = {}
        self._bursts = bursts_of(population)
        self._named: dict[tuple[Part, ...], dict[int, NamedLoad]] = {}  # where single seconds of a log are known
        self.busiest_run: tuple[float, str] = (0.0, "")
        """Entities/s scanned over one run of neighbouring partitions at the peak, and a class that does."""

    def of(self, name: str) -> Self:
        """The same map; what is put down from now on is of this class."""
        self._column = self._schedule.columns[name]
        return self

    def beside(self, parts: tuple[Part, ...], load: Floats) -> None:
        """Load of other kinds on the groups of a template; it is taken to come when that of its busiest class does."""
        loads = self._loads[parts]
        self._column = max(loads, key=lambda kind: (float(loads[kind].sum()), kind))[0]
        total = self._vector(loads, len(load), False)
        total += load

    def put_down(self) -> PutDown:
        """All that was put down, without the population, so that it can be kept beside it."""
        return PutDown(
            self._loads, self._entities, self._elsewhere, sum(self._scanned.values()), self._runs, self._named
        )

    def of_entities(self, entities: Population, name: str) -> PutDown:
        """What was put down on the rows that a class sees under a key (``seen_rows``), by the groups of the entities.

        A key of which no entity is at hand is one of those elsewhere.
        """
        elsewhere = {parts: dict(by_class) for parts, by_class in self._elsewhere.items()}

        def moved(parts: tuple[Part, ...], partition: tuple[Part, ...] | None, load: LoadVectors) -> LoadVectors:
            atoms, mine, theirs = atoms_of(parts), self._of(parts), under(parts, entities)
            if mine is theirs:
                return load
            same = mine.lists == theirs.lists
            origin = np.arange(theirs.size) if same else list_rows(mine.lists, entities).origin  # type: ignore[arg-type]
            ids, size = mine.groups(atoms)
            there, count = theirs.groups(atoms)
            group = np.full(size, -1, dtype=np.int64)
            group[ids[: len(origin)]] = there[origin]
            known = group >= 0
            if partition is not None and not known.all():
                beside = elsewhere.setdefault(partition, {})
                for (column, _), vector in load.items():
                    beside[column] = beside.get(column, 0.0) + float(vector[~known].sum())
            return {kind: np.bincount(group[known], v[known], count).astype(np.float64) for kind, v in load.items()}

        return replace(
            self.put_down(),
            loads={parts: moved(parts, parts, load) for parts, load in self._loads.items()},
            entities={
                memo: (key, moved((*key.partition, *key.row), None, load))
                for memo, (key, load) in self._entities.items()
            },
            elsewhere=elsewhere,
            runs={(bounds, name): load for bounds, load in self._runs.items()},
            named={},
        )

    def add(self, other: PutDown, factor: float, name: str) -> None:
        """Put down what another map over the same population holds, so many times, as load of a class."""
        for parts, loads in other.loads.items():
            self._add(self._loads.setdefault(parts, {}), loads, factor)
        for memo, (key, loads) in other.entities.items():
            self._add(self._entities.setdefault(memo, (key, {}))[1], loads, factor)
        for parts, by_class in other.elsewhere.items():
            beside = self._elsewhere.setdefault(parts, {})
            beside[self._column] = beside.get(self._column, 0.0) + factor * sum(by_class.values())
        for parts, named in other.named.items():
            for each in named.values():
                self._at_named(parts, factor * each.load, each.moved)
        if other.scanned_per_s:
            self._scanned[name] = self._scanned.get(name, 0.0) + factor * other.scanned_per_s
        for bounds, load in other.runs.items():
            self._run(bounds, factor * load, name)

    def _add(self, mine: LoadVectors, theirs: LoadVectors, factor: float) -> None:
        for (_, grows), vector in theirs.items():
            total = self._vector(mine, len(vector), grows)
            total += factor * vector

    def _vector(self, loads: LoadVectors, size: int, grows: bool) -> Floats:
        self.memo.clear()
        key = (self._column, grows)
        if key not in loads:
            loads[key] = np.zeros(size)
        return loads[key]

    def _of(self, parts: tuple[Part, ...]) -> Population:
        """What the partitions of a template are counted on."""
        return under(parts, self._population)

    def _put(self, parts: tuple[Part, ...], instances: Ints, load: Floats) -> tuple[Ints, Floats]:
        """The rows on which the load of some entities falls: of a list evenly on those of its values."""
        part = list_part(parts)
        if part is None or part == self._population.lists:
            return instances, load
        return list_rows(part, self._population).divided(instances, load)

    def at_instances(
        self,
        parts: tuple[Part, ...],
        instances: Ints,
        load: Floats,
        *,
        kept: float | None = None,
        grows: bool = False,
        moved: Ints | None = None,
    ) -> None:
        """Each instance's load falls on the partition of its own row, or of that which ``moved`` names for it.

        ``kept`` is the share of it that stays there in the whole table, where a class says so itself: 1 for the newest
        period, of which there is one however many older ones are not at hand. None: as many keys share it as there
        are; a log is of all keys. ``grows``: with the rows of a key.
        """
        atoms = atoms_of(parts)
        ids, size = self._of(parts).groups(atoms)
        vector = self._vector(self._loads.setdefault(parts, {}), size, grows)
        instances, load = self._put(parts, instances, load)
        load = self._here(parts, load, self._factor(self._of(parts), instances, atoms, kept))
        places = instances if moved is None else moved[instances]
        here = np.bincount(ids[places], weights=load, minlength=size).astype(np.float64, copy=False)
        vector += here
        self._at_named(parts, here, moved)

    def _at_named(self, parts: tuple[Part, ...], load: Floats, moved: Ints | None = None) -> None:
        """Note that a load lies where the keys of the class are."""
        if self._bursts is not None and list_part(parts) is None:
            named = self._named.setdefault(parts, {})
            before = named.get(self._column)
            named[self._column] = NamedLoad(load if before is None else before.load + load, moved)

    def at_inserts(
        self,
        parts: tuple[Part, ...],
        instances: Ints,
        load: Floats,
        *,
        kept: float | None = None,
        moved: Ints | None = None,
    ) -> None:
        """Load of new entities like those of the instances, which fall on the period that runs.

        As ``at_instances``, but periods of the arrival in the key are the newest there is under the rest of the key:
        at any moment nothing is inserted into those that are over. ``moved``: where a log shows so (``moved_on``).
        """
        atoms = atoms_of(parts)
        rest = self._population.without_arrival(atoms)
        if rest == atoms or moved is not None:
            self.at_instances(parts, instances, load, kept=kept, moved=moved)
            return
        ids, size = self._of(parts).groups(atoms)
        newest = newest_rows(self._of(parts), rest)
        vector = self._vector(self._loads.setdefault(parts, {}), size, False)
        instances, load = self._put(parts, instances, load)
        load = self._here(parts, load, self._factor(self._of(parts), instances, rest, kept))
        here = np.bincount(ids[newest[instances]], load, minlength=size).astype(np.float64, copy=False)
        vector += here
        self._at_named(parts, here, newest)

    def _factor(self, rows: Population, instances: Ints, atoms: tuple[Atom, ...], kept: float | None) -> Floats | float:
        """What of each instance's load stays on its own key in the whole table."""
        if kept is not None:
            return kept
        logged = bool(len(instances)) and int(instances[0]) >= rows.rows  # a log names every key as often as it comes
        return 1.0 if logged else self._of_groups(rows, atoms, rows.groups(atoms)[0][instances])

    def _here(self, parts: tuple[Part, ...], load: Floats, factor: Floats | float) -> Floats:
        """What of some loads stays on the keys at hand; the rest falls on keys of the table that are not."""
        if isinstance(factor, float) and factor == 1.0:
            return load
        stays = load * factor
        beside = self._elsewhere.setdefault(parts, {})
        beside[self._column] = beside.get(self._column, 0.0) + float((load - stays).sum())
        return stays

    def _of_groups(self, rows: Population, atoms: tuple[Atom, ...], groups: Ints) -> Floats | float:
        factors = rows.share_factors(atoms)
        return factors if isinstance(factors, float) else factors[groups]

    def at_entities(self, key: Key, instances: Ints, load: Floats, *, kept: float | None = None) -> None:
        """Each instance's load falls on one entity: whoever reads or writes it names its whole key."""
        parts = (*key.partition, *key.row)
        rows, atoms = self._of(parts), atoms_of(parts)
        ids, size = rows.groups(atoms)
        _, loads = self._entities.setdefault((key.partition, key.row), (key, {}))
        vector = self._vector(loads, size, False)
        instances, load = self._put(parts, instances, load)
        vector += np.bincount(ids[instances], load * self._factor(rows, instances, atoms, kept), minlength=size)

    def at_entity(self, key: Key, row: int, load_per_s: float) -> None:
        """A load on the entity of one data row, named by the constants of a filter: it is all there is of it."""
        parts = (*key.partition, *key.row)
        ids, size = self._of(parts).groups(atoms_of(parts))
        _, loads = self._entities.setdefault((key.partition, key.row), (key, {}))
        self._vector(loads, size, False)[int(ids[row])] += load_per_s

    def at_run(self, bounds: object, group_load: Floats, name: str) -> None:
        """A class that reads runs of partitions, one for each group; the busiest is kept.

        ``bounds`` is equal for classes whose requests have the same bounds: their loads add up.
        """
        self._scanned[name] = self._scanned.get(name, 0.0) + float(group_load.sum())
        if bounds is not None:
            self._run(bounds, group_load, name)

    def _run(self, bounds: object, group_load: Floats, name: str) -> None:
        self._runs[bounds] = self._runs[bounds] + group_load if bounds in self._runs else group_load
        busiest = float(self._runs[bounds].max(initial=0.0))
        if busiest > self.busiest_run[0]:
            self.busiest_run = (busiest, name)

    def at_rows(
        self,
        parts: tuple[Part, ...],
        groups: Ints,
        group_load: Floats,
        among: Floats | None = None,
    ) -> None:
        """Each group's load is spread over its data rows, wherever their partitions are: evenly, or by the number of
        rows (``among``) that each entity has under the key."""
        rows = self._population.rows
        among = np.ones(rows) if among is None else among
        counts = np.bincount(groups[:rows], weights=among, minlength=len(group_load))
        per_row = (group_load / np.maximum(counts, 1))[groups[:rows]] * among
        self.at_each_row(parts, per_row, grows=True)

    def at_each_row(
        self,
        parts: tuple[Part, ...],
        row_load: Floats,
        *,
        grows: bool = False,
        named: tuple[Atom, ...] | None = None,
    ) -> None:
        """A load for each row at hand, which falls on the row's partition. ``named``: what the requests choose of it,
        where that is not all: everybody asks the same newest period, however many older ones are not at hand."""
        atoms, population = atoms_of(parts), self._of(parts)
        ids, size = population.groups(atoms)
        vector = self._vector(self._loads.setdefault(parts, {}), size, grows)
        rows, load = self._put(parts, np.arange(self._population.rows, dtype=np.int64), row_load)
        chosen = atoms if named is None else named
        load = self._here(parts, load, self._of_groups(population, chosen, population.groups(chosen)[0][rows]))
        vector += np.bincount(ids[rows], weights=load, minlength=size)
