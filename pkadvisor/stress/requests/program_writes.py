"""What a client sends to change entities: groups for what lies in one partition, and what follows elsewhere.

    (look-up) ──► main row and index rows of its partition ──► index rows in other partitions
      stages              one stage, groups                     one stage, a group in each

Counted as ``design/cost/class_cost.py`` counts: which index rows an update touches, what moves to another key, what is
one request and what several.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.stress.requests.program_reads import Stages
from pkadvisor.stress.requests.rows import KeyTexts, Placed, Properties, as_stored, is_written
from pkadvisor.table.edm import EdmType, TypedValue, Value
from pkadvisor.table.store import (
    Delete,
    Entity,
    EntityKey,
    Group,
    Insert,
    InsertOrMerge,
    InsertOrReplace,
    Merge,
    Operation,
    Update,
    Write,
)
from pkadvisor.values import dataclass

GROUP_ENTITIES = 100


@dataclass(frozen=True, slots=True)
class Sent:
    """The writes of one change: what is sent at once, and what follows when that was done."""

    first: tuple[Operation, ...]
    after: tuple[Operation, ...] = ()


@dataclass(frozen=True, slots=True)
class Changes:
    """Updates, upserts and deletes of one class under one scheme. ``touched``: the index rows that are written too."""

    table: str
    scheme: KeyScheme
    types: Mapping[str, EdmType]
    sets: tuple[str, ...]
    touched: tuple[int, ...]
    _place: Mapping[int, int] = field(init=False, repr=False)
    _texts: KeyTexts = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_place", place_numbers(self.scheme))
        object.__setattr__(self, "_texts", KeyTexts(self.scheme, self.types))

    def delete(self, key: EntityKey, properties: Properties, etag: str = "*") -> Sent:
        """Removes an entity with its index rows."""
        here: list[Write] = [Delete(self.table, key, etag)]
        away: dict[tuple[int, str], list[Write]] = {}
        for placed in self._index_rows(key, properties):
            self._among(here, away, key, placed).append(Delete(self.table, placed.key))
        return Sent((grouped(here),), tuple(map(grouped, away.values())))

    def upsert(self, key: EntityKey, properties: Properties) -> Sent:
        """Puts an entity in place of whatever was there."""
        here: list[Write] = [InsertOrReplace(self.table, Entity(key, as_stored(properties)))]
        away: dict[tuple[int, str], list[Write]] = {}
        for placed in self._index_rows(key, properties):
            write = InsertOrReplace(self.table, Entity(placed.key, as_stored(placed.properties)))
            self._among(here, away, key, placed).append(write)
        return Sent((grouped(here),), tuple(map(grouped, away.values())))

    def update(self, key: EntityKey, old: Properties, new: Properties, etag: str = "*", *, whole: bool) -> Sent:
        """Changes an entity; a changed key is a delete and an insert. ``whole``: the caller has read all of it, and
        else ``old`` holds what it knows."""
        scheme, sets = self.scheme, set(self.sets)
        moved = {via for via, (k, _) in enumerate(scheme.each_key()) if set(k.properties) & sets}
        before = {0: [key], **self._keys(key, old)}
        after = dict[int, list[Placed]]()
        for placed in self._texts.rows_of(new):
            after.setdefault(placed.via, []).append(placed)
        main = after[0][0] if 0 in moved else Placed(0, key, new)
        shown = new if whole else {n: p for n, p in new.items() if not sets or n in sets}
        here: dict[str, list[Write]] = {}
        away: dict[tuple[int, str], list[Write]] = {}
        if main.key != key:
            here.setdefault(key.partition_key, []).append(Delete(self.table, key, etag))
            here.setdefault(main.key.partition_key, []).append(Insert(self.table, Entity(main.key, as_stored(new))))
        else:
            entity = Entity(key, as_stored(shown))
            write: Write = Update(self.table, entity, etag) if whole else Merge(self.table, entity, etag)
            here.setdefault(key.partition_key, []).append(write)
        for via in self.touched:
            keys = [placed.key for placed in after.get(via, ())]
            writes: list[tuple[EntityKey, Write]] = [
                (k, Delete(self.table, k)) for k in before.get(via, ()) if k not in keys
            ]
            for placed in after.get(via, ()):
                row = scheme.index_rows[via - 1]
                if is_written(row, new):
                    # Of a copy that stays in its place, as much is sent as is known of the entity.
                    merges = row.copy == "full" and placed.key in before.get(via, ()) and not whole
                    make = InsertOrMerge if merges else InsertOrReplace
                    held = shown if merges else placed.properties
                    writes.append((placed.key, make(self.table, Entity(placed.key, as_stored(held)))))
            for k, each in writes:
                if self._place[via] == 0:
                    here.setdefault(k.partition_key, []).append(each)
                else:
                    away.setdefault((self._place[via], k.partition_key), []).append(each)
        return Sent(tuple(map(grouped, here.values())), tuple(map(grouped, away.values())))

    def _among(
        self, here: list[Write], away: dict[tuple[int, str], list[Write]], main: EntityKey, placed: Placed
    ) -> list[Write]:
        """The writes of one group that the write of an index row belongs to."""
        place, partition = self._place[placed.via], placed.key.partition_key
        if place == 0 and partition == main.partition_key:
            return here
        return away.setdefault((place, partition), [])

    def _index_rows(self, main: EntityKey, properties: Properties) -> Iterable[Placed]:
        """The index rows that a change touches, as they are."""
        for placed in self._texts.rows_of(properties):
            if placed.via in self.touched and is_written(self.scheme.index_rows[placed.via - 1], properties):
                yield placed

    def _keys(self, main: EntityKey, properties: Properties) -> dict[int, list[EntityKey]]:
        out: dict[int, list[EntityKey]] = {}
        for placed in self._index_rows(main, properties):
            out.setdefault(placed.via, []).append(placed.key)
        return out


def place_numbers(scheme: KeyScheme) -> dict[int, int]:
    """For each row of an entity the number of the partition that it lies in: 0 is the main row's."""
    return {via: number for number, place in enumerate(scheme.places()) for via in place}


def inserted(
    table: str,
    scheme: KeyScheme,
    entities: Sequence[Sequence[Placed]],
    *,
    together: bool,
    gathered: frozenset[int] = frozenset(),
    replace: bool = False,
) -> Sent:
    """New entities. ``together``: they share their partition, and go in as few groups as there may be; else one by one.

    ``gathered`` are the index rows elsewhere that share their partition too, and go in one group; of others go those of
    one entity and partition.
    """
    make = InsertOrReplace if replace else Insert
    whole = {id(e[0].properties): as_stored(e[0].properties) for e in entities}
    places = place_numbers(scheme)
    here: dict[tuple[int, str], list[list[Write]]] = {}
    gatherings: dict[tuple[int, str], list[list[Write]]] = {}
    away: list[Operation] = []
    for number, rows in enumerate(entities):
        main = rows[0]
        own: list[Write] = []
        elsewhere: dict[tuple[int, str, bool], list[Write]] = {}
        for via, key, properties in rows:
            row = scheme.index_rows[via - 1] if via else None
            if not is_written(row, main.properties):
                continue
            stored = whole.get(id(properties)) or as_stored(properties)
            if places[via] == 0:
                own.append(make(table, Entity(key, stored)))
                continue
            follows = make if via in gathered else InsertOrReplace
            group = elsewhere.setdefault((places[via], key.partition_key, via in gathered), [])
            group.append(follows(table, Entity(key, stored)))
        here.setdefault((0 if together else number, main.key.partition_key), []).append(own)
        for (place, partition, one), writes in elsewhere.items():
            if one:
                gatherings.setdefault((place, partition), []).append(writes)
            else:
                away.append(grouped(writes))
    first = [group for sets in here.values() for group in packed(sets)]
    return Sent(tuple(first), (*(group for sets in gatherings.values() for group in packed(sets)), *away))


def packed(sets: Sequence[Sequence[Write]]) -> Iterator[Operation]:
    """Rows of one partition in as few groups as there may be, where those of each entity stay together."""
    group: list[Write] = []
    for own in sets:
        if group and len(group) + len(own) > GROUP_ENTITIES:
            yield grouped(group)
            group = []
        group += own
    if group:
        yield grouped(group)


def grouped(writes: Sequence[Write]) -> Operation:
    """One request: the write itself, or a group of several."""
    return writes[0] if len(writes) == 1 else Group(tuple(writes))


def changed_together(changes: Sequence[Sent]) -> Sent:
    """Changes of several entities, those of one partition in as few groups as there may be; a row once in a group."""
    here: dict[str, list[dict[EntityKey, Write]]] = {}
    for operation in (operation for each in changes for operation in each.first):
        for write in operation.writes if isinstance(operation, Group) else (operation,):
            assert isinstance(write, Insert | Update | Merge | InsertOrReplace | InsertOrMerge | Delete)
            key = write.key if isinstance(write, Delete) else write.entity.key
            groups = here.setdefault(key.partition_key, [{}])
            if len(groups[-1]) == GROUP_ENTITIES or key in groups[-1]:
                groups.append({})
            groups[-1][key] = write
    first = tuple(grouped(tuple(group.values())) for groups in here.values() for group in groups)
    return Sent(first, tuple(operation for each in changes for operation in each.after))


def in_stages(changes: Sequence[Sent]) -> Stages:
    """What is sent at once, then what follows."""
    for stage in ([o for each in changes for o in each.first], [o for each in changes for o in each.after]):
        if stage:
            yield tuple(stage)


class OtherValues:
    """What an update puts in place of a value: another of the data, of the same size; the next update puts it back.

    Values of one type and length are paired in their order; one that is left over goes to the one before it.
    """

    def __init__(self, entities: Sequence[Properties], names: Sequence[str]) -> None:
        self._pairs: dict[str, dict[Value, TypedValue]] = {}
        for name in names:
            by_value = {p.value: p for e in entities if (p := e.get(name)) is not None}
            by_size: dict[tuple[str, int], list[TypedValue]] = {}
            for literal in by_value.values():
                size = len(str(literal.value))
                by_size.setdefault((literal.type, size), []).append(literal)
            pairs: dict[Value, TypedValue] = {}
            for alike in by_size.values():
                alike.sort(key=lambda p: p.value)
                for at, literal in enumerate(alike):
                    partner = at ^ 1 if at ^ 1 < len(alike) else at - 1
                    if partner >= 0:
                        pairs[literal.value] = alike[partner]
            self._pairs[name] = pairs

    def changed(self, properties: Properties, names: Sequence[str]) -> dict[str, TypedValue]:
        """The properties with other values for some of them; those that are missing stay so."""
        out = dict(properties)
        for name in names:
            if (old := out.get(name)) is not None:
                out[name] = self._pairs.get(name, {}).get(old.value) or _unlike(old)
        return out


def _unlike(old: TypedValue) -> TypedValue:
    """A value of the type that differs, where the data has no other of its size."""
    value = old.value
    match old.type:
        case EdmType.BOOLEAN:
            return TypedValue(old.type, not value)
        case EdmType.STRING:
            text = str(value)
            return TypedValue(old.type, text[:-1] + ("y" if text.endswith("x") else "x") if text else "x")
        case EdmType.BINARY:
            assert isinstance(value, bytes)
            return TypedValue(old.type, value[:-1] + (b"y" if value.endswith(b"x") else b"x"))
        case EdmType.GUID:
            text = str(value)
            return TypedValue(old.type, text[:-1] + ("1" if text.endswith("0") else "0"))
        case EdmType.DOUBLE:
            assert isinstance(value, float)
            return TypedValue(old.type, -value if value else 1.0)
        case _:
            assert isinstance(value, int)
            return TypedValue(old.type, value ^ 1)
