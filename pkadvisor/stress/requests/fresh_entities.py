"""Entities that a load inserts: like those of the data, at the moment of the request, under keys that nobody has.

A new entity is a row of the data with two properties changed. Its *arrival* is the moment of the request. Its *serial*,
the property of the key that tells entities apart, is made new from the number of the request: a whole number begins
anew above all others; a text continues the newest one, where texts of the data rise with the arrivals and are in the
main PartitionKey, else that of the row. Everything else stays, so that inserts fall on PartitionKeys as the rows of the
data do. Where a bucket is made of the serial, the serial is tried until the bucket is that of the row again.

A key that neither of them tells apart (``time(posted,'yyyyMMddHHmmss')``) gets the number behind its RowKey: what a
load measures is the store, and an application that has such keys loses entities before any store is busy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from pkadvisor.design.keys.scheme import Key, KeyScheme
from pkadvisor.design.keys.template import separators
from pkadvisor.design.keys.transforms import Context, Part, PeriodPart
from pkadvisor.design.load.keyfacts import typed_values
from pkadvisor.design.rows.arrivals import inserted_in_order
from pkadvisor.design.rows.fronts import RISING_SHARE
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import np
from pkadvisor.stress.requests.rows import Placed, Properties, pointer, rows_of
from pkadvisor.table.edm import TICKS_MAX, EdmType, TypedValue
from pkadvisor.table.store import EntityKey
from pkadvisor.values import dataclass

SERIALS = (EdmType.STRING, EdmType.INT32, EdmType.INT64, EdmType.GUID)
"""Types of which there are always new values."""
MS_TICKS = 10_000
MS_NS = 1_000_000
SECOND = 1000
"""In ms."""
TRIES_MAX = 4096
TRIES_PER_BUCKET = 24
"""Tries for a bucket: that all miss has a chance of e^-24."""
INT32_FIRST = 1_000_000_000
INT32_ROOM = 1_147_483_648
"""New Int32 values have ten digits: as many as there are, so that rows of new entities all have one size."""
INT64_FIRST = 10**17
SHARED_BY = 4
"""Entities with one value of a property of the PartitionKey that still may be made new: assumed."""


class FreshEntities:
    """What is inserted under one scheme. ``group_by`` names what the entities of one group have in common.

    A serial is new for some 10^9 / tries entities (Int32), without bound otherwise; moments are new while no more than
    10,000 entities arrive within a millisecond.
    """

    def __init__(
        self,
        scheme: KeyScheme,
        population: Population,
        start_ticks: int,
        *,
        group_by: Collection[str] = (),
        members: int = 1,
    ) -> None:
        self._scheme, self._types, self._start_ticks = scheme, population.types, start_ticks
        self._members = max(1, members)
        self._common = frozenset(group_by)
        name = population.arrival
        dated = name is not None and population.has(name) and population.types.get(name) is EdmType.DATETIME
        self.arrival = name if dated else None
        keys = [key for key, _ in scheme.each_key()]
        self._index_rows = [row for _, row in scheme.each_key()]
        uncovered = [key for key in keys if not _tells(key, {self.arrival})]
        self.serial = _serial(scheme, population, self.arrival, group_by) if uncovered else None
        self._newest = _newest(self.serial, scheme, population)
        self._suffixed = [not _tells(key, {self.arrival, self.serial}) for key in keys]
        changed = {self.arrival, self.serial}
        self._steady: list[tuple[Part, Context]] = []
        buckets = 1
        for key in keys:
            context = Context(dict(self._types), separators(key.partition))
            for part in key.partition:
                if part.hashing is not None and set(part.properties) & changed:
                    self._steady.append((part, context))
                    buckets *= part.hashing.buckets_total
        self._tries = min(TRIES_MAX, buckets * TRIES_PER_BUCKET) if self._steady else 1

    @property
    def periods(self) -> tuple[PeriodPart, ...]:
        """The periods of the arrival in PartitionKeys: with them the keys of inserts change during a run."""
        parts = [p for key, _ in self._scheme.each_key() for p in key.partition]
        periods = (part.period for part in parts)
        return tuple(period for period in periods if period is not None and period.property == self.arrival)

    def may_part(self, short: Collection[PeriodPart]) -> bool:
        """Whether two entities that are new like the same row may have different PartitionKeys within a period, or
        because they always do; ``short`` are periods of which each entity has its own."""
        changed = {self.arrival, self.serial}
        return any(
            part.assigned or bool(set(part.properties) & changed)
            for key, _ in self._scheme.each_key()
            for part in key.partition
            if part.hashing is None and (part.period is None or part.period in short)
        )

    def moment(self, at_ns: int) -> int:
        """Ticks of a moment of the run, to the millisecond; to the second where a bucket is made of the moment."""
        grain = SECOND if self._tries > 1 else 1
        return min(self._start_ticks + at_ns // (MS_NS * grain) * MS_TICKS * grain, TICKS_MAX - MS_TICKS * SECOND)

    def rows(self, properties: Properties, request: int, at_ns: int, member: int = 0) -> tuple[Placed, ...]:
        """The rows of a new entity like ``properties``; ``member`` numbers those of one request."""
        wanted = [part.encode(_values(properties), context) for part, context in self._steady]
        own = request * self._members + member
        for attempt in range(self._tries):
            made = self._made(properties, request, own, attempt, at_ns)
            values = _values(made) if self._steady else {}
            if all(p.encode(values, c) == text for (p, c), text in zip(self._steady, wanted, strict=True)):
                break
        placed = rows_of(self._scheme, made, self._types, own)
        return tuple(self._apart(placed, own))

    def _made(self, properties: Properties, request: int, own: int, attempt: int, at_ns: int) -> dict[str, TypedValue]:
        out = dict(properties)
        if self.arrival is not None:
            number = request if self.arrival in self._common else own
            grain = MS_TICKS * (SECOND if self._tries > 1 else 1)
            ticks = self.moment(at_ns) + (number * self._tries + attempt) % grain
            out[self.arrival] = TypedValue(EdmType.DATETIME, ticks)
        if self.serial is not None:
            number = request if self.serial in self._common else own
            like = self._newest or out.get(self.serial)
            out[self.serial] = _next(like, self._types[self.serial], number * self._tries + attempt)
        return out

    def _apart(self, placed: Iterator[Placed], own: int) -> Iterator[Placed]:
        """The rows, those that nothing tells apart with a number behind their RowKeys."""
        main: EntityKey | None = None
        for (via, key, properties), row in ((p, self._index_rows[p.via]) for p in placed):
            distinct = EntityKey(key.partition_key, f"{key.row_key}x{own:010d}") if self._suffixed[via] else key
            main = main or distinct
            yield Placed(via, distinct, pointer(main) if row is not None and row.copy == "pointer" else properties)


def _values(properties: Properties) -> dict[str, str | int | float | bool | bytes | None]:
    return {name: literal.value for name, literal in properties.items()}


def _tells(key: Key, names: Collection[str | None]) -> bool:
    """Whether a key differs wherever one of some properties does, or is numbered by the application."""
    return any(
        part.assigned or (part.injective and set(part.properties) & set(names)) for part in (*key.partition, *key.row)
    )


def _serial(scheme: KeyScheme, population: Population, arrival: str | None, group_by: Collection[str]) -> str | None:
    """The property of the main key that tells entities apart: what a group has in common, where that is in the key;
    else the one of most values in the RowKey. One of the PartitionKey is taken only where it tells entities apart in
    truth: ``SHARED_BY`` of them have one value at most, in the mean. None where there is none: then keys get a number.

    Properties of the PartitionKey of an index row stay as they are, if there is another choice.
    """
    elsewhere = {name for row in scheme.index_rows for part in row.key.partition for name in part.properties}

    def named(parts: Sequence[Part]) -> list[str]:
        names = dict.fromkeys(n for p in parts if p.injective for n in p.properties)
        return [n for n in names if n != arrival and population.types.get(n, EdmType.STRING) in SERIALS]

    row = named(scheme.main.row)
    partition = [
        n for n in named(scheme.main.partition) if SHARED_BY * population.distinct([("p", n)]) >= population.rows
    ]
    choices = (
        [n for n in (*partition, *row) if n in group_by],
        [n for n in row if n not in elsewhere],
        [n for n in partition if n not in elsewhere],
        [*row, *partition],
    )
    for names in choices:
        if names:
            return min(names, key=lambda n: (-population.distinct([("p", n)]), n))
    return None


def _newest(serial: str | None, scheme: KeyScheme, population: Population) -> TypedValue | None:
    """The greatest text of a serial of the main PartitionKey, where texts rise with the arrivals; None elsewhere."""
    if serial is None or population.types.get(serial, EdmType.STRING) is not EdmType.STRING:
        return None
    if serial in population.hashed or not any(serial in part.properties for part in scheme.main.partition):
        return None
    order = inserted_in_order(population)
    if order is None or not len(order):
        return None
    codes = population.atom(("p", serial))[0][order]
    if float((codes == np.maximum.accumulate(codes)).mean()) < RISING_SHARE:
        return None
    newest = typed_values(population, int(order[int(codes.argmax())])).get(serial)
    return None if newest is None else TypedValue(EdmType.STRING, newest.value)


def _next(like: TypedValue | None, edm: EdmType, number: int) -> TypedValue:
    """A value that nobody has, of a size that does not depend on the number."""
    match edm:
        case EdmType.INT32:
            return TypedValue(edm, INT32_FIRST + number % INT32_ROOM)
        case EdmType.INT64:
            return TypedValue(edm, INT64_FIRST + number)
        case EdmType.GUID:
            digits = f"{number:032x}"
            return TypedValue(edm, "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])))
        case _:
            before = "" if like is None else str(like.value)
            return TypedValue(edm, f"{before}x{number:012d}")


def ends_of(name: str, entities: Sequence[Properties]) -> tuple[int, int]:
    """The first and the last moment of a property, in ticks; 0 where none has it."""
    values = [p.value for e in entities if (p := e.get(name)) is not None and isinstance(p.value, int)]
    return (min(values), max(values)) if values else (0, 0)


def start_after(population: Population, entities: Sequence[Mapping[str, TypedValue]]) -> int:
    """When a run begins where nobody says so: with the second after the newest entity, in ticks."""
    second = SECOND * MS_TICKS
    name = population.arrival
    if name is None or population.types.get(name) is not EdmType.DATETIME:
        return 0
    return (ends_of(name, entities)[1] // second + 1) * second


@dataclass(frozen=True, slots=True)
class Inserting:
    """How a class inserts. ``groups``: for each instance the entities that go with it, none where another has them."""

    fresh: FreshEntities
    together: bool
    gathered: frozenset[int]
    groups: Sequence[Sequence[int]] | None
    each: float
