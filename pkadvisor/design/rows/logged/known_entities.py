"""What logged keys say of properties that no key text tells: a hash, or letters in lower case, says nothing back.

The entity with these keys in the data says it. A key that the data lacks stands for a value that no entity has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from uuid import UUID

from pkadvisor.design.keys.keyreader import folded_in, tellers
from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.keys.transforms import Atom, part_properties
from pkadvisor.design.rows.demand import Demand
from pkadvisor.design.rows.key_ranges import FOLDED, HIGH, LOW
from pkadvisor.design.rows.logged.requests import KeyReader, LoggedRequest, Values
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Bools, Ints, np, pl
from pkadvisor.observe.workload import DrawBy, Operation, Workload
from pkadvisor.table.edm import INT32_MIN, INT64_MIN, KEYS, EdmType
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    from pkadvisor.observe.profile.data_profile import DataProfile

_NOBODYS: Final[Mapping[EdmType, object]] = {
    EdmType.DATETIME: datetime(9999, 12, 31, tzinfo=UTC),
    EdmType.INT32: INT32_MIN,
    EdmType.INT64: INT64_MIN,
    EdmType.DOUBLE: float("-inf"),
    EdmType.GUID: str(UUID(int=0)),
}
"""Values that hardly an entity has."""


class EntityReader(KeyReader):
    """Takes keys apart, and looks up in the data what their texts do not tell."""

    def __init__(
        self, scheme: KeyScheme, types: Mapping[str, EdmType], names: tuple[str, ...], data: DataProfile
    ) -> None:
        super().__init__(scheme, types)
        self._types, self._names = types, names
        parts = (*scheme.main.partition, *scheme.main.row)
        self._folded = {name for name in names if not any(part.reads_case(name) for part in parts)}
        in_partition = part_properties(scheme.main.partition)
        self._hashed = tuple(n for n in names if n in in_partition)
        self._told = frozenset(scheme.main.properties) - {*names}
        rows = data.sample.select(*KEYS, *names).iter_rows()
        self._entities = {(pk, rk): dict(zip(names, values, strict=True)) for pk, rk, *values in rows}
        self._by_part: dict[tuple[str, ...], dict[tuple[object, ...], dict[str, object]] | None] = {}

    def row_read(self, request: LoggedRequest) -> tuple[int, Values | None]:
        via, values = super().row_read(request)
        if via or values is None or request.partition is None:
            return via, values
        if request.row is None:
            return via, {**values, **self._known(self._hashed_by(request.partition, values))}
        entity = self._entities.get((request.partition, request.row))
        if entity is None:
            entity = {n: values.get(n + LOW, v) for n, v in self._nobodys(request.row).items() if n not in values}
        present = {n: entity[n] for n in self._names if entity.get(n) is not None}
        ends = {name + end for name in present for end in (LOW, HIGH)}
        return via, {n: v for n, v in values.items() if n not in ends} | self._known(present)

    def _known(self, entity: Values) -> dict[str, object]:
        """What a caller knows of an entity whose key it makes: of a text of which the key reads no case no more than
        the lower case."""
        return {f"{name}{FOLDED}" if name in self._folded else name: value for name, value in entity.items()}

    def _hashed_by(self, partition: str, values: Values) -> dict[str, object]:
        """What is hashed in the PartitionKey, where it and the values in a part of the RowKey tell it in all the data:
        whoever asks for both knows it."""
        names = tuple(sorted(values.keys() & self._told))
        if not names or not self._hashed:
            return {}
        if names not in self._by_part:
            self._by_part[names] = self._agreed(names)
        known = self._by_part[names]
        if known is None:
            return {}
        part = (partition, *(values[n] for n in names))
        nobodys = self._nobodys(str(part))
        return known.get(part, {n: nobodys[n] for n in self._hashed if nobodys[n] is not None})

    def _agreed(self, names: tuple[str, ...]) -> dict[tuple[object, ...], dict[str, object]] | None:
        """What is hashed, by PartitionKey and the values of these properties; None where these do not tell it."""
        known: dict[tuple[object, ...], dict[str, object]] = {}
        for (partition, row), entity in self._entities.items():
            read = self.rows[0].read(LoggedRequest(partition, row, {}, {}, {}))
            if read is None or not read.keys() >= {*names}:
                continue
            hashed = {n: entity[n] for n in self._hashed}
            if known.setdefault((partition, *(read[n] for n in names)), hashed) != hashed or None in hashed.values():
                return None
        return known

    def _nobodys(self, text: str) -> dict[str, object]:
        """Values that hardly an entity has, for the properties that the keys do not tell."""
        others = {**_NOBODYS, EdmType.STRING: text}
        return {name: others.get(self._types.get(name, EdmType.STRING)) for name in self._names}


def entity_reader(scheme: KeyScheme, types: Mapping[str, EdmType], data: DataProfile | None) -> KeyReader | None:
    """The reader of keys that do not tell all that they are made of, where the data has the entities; else None."""
    if data is None or not set(KEYS) <= set(data.types) or data.hashed & {*KEYS, *scheme.main.properties}:
        return None
    decoded = {name for name, (_, _, part) in tellers(scheme.main).items() if part.decodes}
    decoded |= folded_in(scheme.main, types)
    names = tuple(n for n in scheme.main.properties if n not in decoded and n in data.types and n not in KEYS)
    return EntityReader(scheme, types, names, data) if names else None


# -- Entities that a log asks for and inserts itself: they are newer than the data, and their absence there says
# nothing.


ADDING = (Operation.INSERT, Operation.UPSERT)
IDENTIFYING = (EdmType.STRING, EdmType.GUID, EdmType.INT32, EdmType.INT64)
"""Types of identifiers: two entities may have one time, or one measured number."""


@dataclass(frozen=True, slots=True)
class Inserted:
    """The rows below the data that hold logged inserts, and the share of all logged inserts that they are."""

    rows: Ints
    share: float


def sampled_share(workload: Workload, names: Iterable[str]) -> float:
    """The share of the logged requests of some classes that are at hand."""
    held = logged = 0
    for name in names:
        height = workload.instances[name].height if name in workload.instances else 0
        minutes = workload.minutes.get(name)
        held += height
        logged += max(height, sum(minutes.requests) if minutes is not None else 0)
    return held / logged if held else 1.0


def inserted_by_log(demands: Iterable[Demand], workload: Workload, population: Population) -> Inserted:
    """The entities that the log of a workload inserts, without those that the data has under another key."""
    adding = [d for d in demands if d.query.operation in ADDING and d.query.draw.by is DrawBy.LOG]
    rows = [np.empty(0, dtype=np.int64)]
    for demand in adding:
        frame, instances = workload.instances.get(demand.query.name), demand.instances
        rows.append(instances[~_identified(instances, frame.columns if frame is not None else (), population)])
    return Inserted(np.concatenate(rows), sampled_share(workload, [d.query.name for d in adding]))


def _identified(rows: Ints, named: Iterable[str], population: Population) -> Bools:
    """Whether some ``named`` property that tells the entities of the data apart has the value of one of them: then an
    inserted entity is no newer one."""
    found = np.zeros(len(rows), dtype=bool)
    for name in named if population.rows > 1 else ():
        atom = ("p", name)
        apart = population.types.get(name) in IDENTIFYING and population.has(name)
        if apart and population.distinct([atom]) == population.rows:
            found |= population.counts([atom])[population.groups([atom])[0][rows]] > 0
    return found


def share_there(demand: Demand, sets: Iterable[Iterable[Atom]], inserted: Inserted, population: Population) -> float:
    """The share of a class's requests for whose values some entity is there, by each set of atoms: one of the data, or
    one that the log inserts."""
    there = np.ones(len(demand.instances), dtype=bool)
    either = there
    for atoms in sets:
        mine = population.matching(atoms, demand.instances) > 0
        there, either = there & mine, either & (mine | _among(atoms, demand.instances, inserted, population))
    old = demand.mean(there.astype(float))
    newer = demand.mean(either.astype(float)) - old
    return min(1.0, old + newer / inserted.share)


def _among(atoms: Iterable[Atom], asked: Ints, inserted: Inserted, population: Population) -> Bools:
    ids, _ = population.groups(atoms)
    among: Bools = np.isin(ids[asked], ids[inserted.rows])
    return among


def without_inserted(absent: pl.Series, name: str, workload: Workload) -> pl.Series:
    """Values of a property that the data lacks, without those that the log inserts."""
    adding = [c.name for c in workload.classes if c.operation in ADDING and c.name in workload.instances]
    frames = [workload.instances[one] for one in adding]
    columns = [f.get_column(name) for f in frames if name in f.columns and f.schema[name] == absent.dtype]
    if not columns:
        return absent
    newer = absent.is_in(pl.concat(columns).unique().implode())
    hidden = round(int(newer.sum()) * (1 / sampled_share(workload, adding) - 1))
    left = absent.filter(~newer)
    return left.head(max(0, left.len() - hidden))
