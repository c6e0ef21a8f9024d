"""Entities under a key scheme: every row that a table holds, main rows and index rows.

entity ──main key──────────► main row      all properties
       └─each index row────► index row     all properties again (``full``), or the main row's key (``pointer``)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from pkadvisor.design.keys.scheme import IndexRow, KeyScheme, encode
from pkadvisor.design.keys.template import separators
from pkadvisor.design.keys.transforms import Context, Part, Value
from pkadvisor.design.plan.requests import TARGET_KEYS, keys_of
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.values import python_value
from pkadvisor.errors import UsageError
from pkadvisor.table.edm import SYSTEM_PROPERTIES, TICKS_STORED_MIN, EdmType, TypedValue
from pkadvisor.table.store import Entity, EntityKey, Property
from pkadvisor.values import dataclass

Properties = Mapping[str, TypedValue]
"""The properties of an entity that are present, by name."""
Stored = tuple[str, str, Properties]


class Placed(NamedTuple):
    """One row of an entity: under which key of the scheme (0 is the main one), where, and what stands there."""

    via: int
    key: EntityKey
    properties: Properties


@dataclass(frozen=True)
class RowLayout:
    """Entities under a scheme: every row with its properties, and the entity behind each key."""

    scheme: KeyScheme
    rows: tuple[Stored, ...]
    entity_of: Mapping[tuple[str, str], int]


def layout(scheme: KeyScheme, entities: Sequence[Properties], types: Mapping[str, EdmType]) -> RowLayout:
    """All rows that a scheme stores for some entities. UsageError where two rows have one key."""
    rows: list[Stored] = []
    owner: dict[tuple[str, str], int] = {}
    numbers = sequence_numbers(scheme, entities, types)
    for number, properties in enumerate(entities):
        for placed in rows_of(scheme, properties, types, numbers[number]):
            if placed.key in owner:
                raise shared(placed.key, scheme)
            owner[placed.key] = number
            rows.append((*placed.key, placed.properties))
    return RowLayout(scheme, tuple(rows), owner)


def shared(key: EntityKey, scheme: KeyScheme) -> UsageError:
    """The error where two rows have one key: a store would keep one of them."""
    return UsageError(
        f"two rows share the key '{key.partition_key}' | '{key.row_key}'",
        where=scheme.text,
        fix="a key tells every entity from all others: add a property that does",
    )


def rows_of(
    scheme: KeyScheme, properties: Properties, types: Mapping[str, EdmType], number: int = 0
) -> Iterator[Placed]:
    """The rows of one entity, the main row first; ``number`` is what ``seq`` writes."""
    main: EntityKey | None = None
    for via, (key, row) in enumerate(scheme.each_key()):
        stored = properties
        if row is not None and row.copy == "pointer":
            assert main is not None
            stored = pointer(main)
        for place in keys_of(key, properties, types, number):
            stored_key = EntityKey(*place)
            main = main or stored_key
            yield Placed(via, stored_key, stored)


def pointer(target: EntityKey) -> Properties:
    """What a pointer row holds: the key of the main row."""
    return {n: TypedValue(EdmType.STRING, part) for n, part in zip(TARGET_KEYS, target, strict=True)}


def is_written(row: IndexRow | None, properties: Properties) -> bool:
    """Whether an entity has a row: an index row only where all that it is looked up by is present."""
    return row is None or all(name in properties for part in row.key.partition for name in part.properties)


def sequence_numbers(scheme: KeyScheme, entities: Sequence[Properties], types: Mapping[str, EdmType]) -> list[int]:
    """What ``seq`` writes for each entity: 0, 1, 2 … among those with the same key otherwise."""
    parts = (*scheme.main.partition, *scheme.main.row)
    if not any(p.assigned for p in parts):
        return [0] * len(entities)
    seen: Counter[str] = Counter()
    out = []
    for properties in entities:
        values: dict[str, Value] = {n: c.value for n, c in properties.items()}
        text = encode(parts, values, dict(types))
        out.append(seen[text])
        seen[text] += 1
    return out


def entities_of(population: Population) -> tuple[Properties, ...]:
    """The data rows of a population as entities, in their order; missing values are absent."""
    columns: list[tuple[str, list[TypedValue | None]]] = []
    for name, edm in population.types.items():
        if population.has(name):
            made: dict[object, TypedValue] = {}
            column: list[TypedValue | None] = []
            for value in population.frame.get_column(name)[: population.rows].to_list():
                if value is None:
                    column.append(None)
                    continue
                literal = made.get(value)
                if literal is None:
                    literal = TypedValue(edm, python_value(value, edm) if edm is EdmType.DATETIME else value)
                    if value != 0 or edm is not EdmType.DOUBLE:  # -0.0 equals 0.0 and is another value
                        made[value] = literal
                column.append(literal)
            columns.append((name, column))
    return tuple(
        {name: value for name, column in columns if (value := column[row]) is not None}
        for row in range(population.rows)
    )


def as_stored(properties: Properties) -> dict[str, Property]:
    """The properties as a table store takes them, without those whose names the service keeps for itself, and without
    times that it does not have."""
    return {
        n: Property(p.type, p.value) for n, p in properties.items() if n not in SYSTEM_PROPERTIES and not _too_early(p)
    }


def _too_early(value: TypedValue) -> bool:
    """Whether a value is a time before the first DateTime of the service, such as the year 1."""
    return value.type is EdmType.DATETIME and isinstance(value.value, int) and value.value < TICKS_STORED_MIN


_Parts: TypeAlias = list[tuple[tuple[str, ...], Part, Context, dict[object, str]]]
"""The parts of a text, each with the names that it reads and the texts that it wrote, by value."""


class KeyTexts:
    """The rows of many entities under a scheme: texts of parts are made once for each value.

    A part writes the same text for the same values, so 17,568 readings of 12 stations need 12 texts of the station.
    """

    def __init__(self, scheme: KeyScheme, types: Mapping[str, EdmType]) -> None:
        self._scheme, self._types = scheme, types
        self._made: list[list[_Parts]] = []
        """For each key and each of its two texts: the parts with the names that they read, and texts by value."""
        self._plain = not any(
            p.several or p.assigned for key, _ in scheme.each_key() for p in (*key.partition, *key.row)
        )
        for key, _ in scheme.each_key():
            both: list[_Parts] = []
            for parts in (key.partition, key.row):
                context = Context(dict(types), separators(parts))
                both.append([(p.properties, p, context, dict[object, str]()) for p in parts])
            self._made.append(both)

    def rows_of(self, properties: Properties, number: int = 0) -> Iterator[Placed]:
        """As :func:`rows_of`."""
        if not self._plain:
            yield from rows_of(self._scheme, properties, self._types, number)
            return
        main: EntityKey | None = None
        for via, ((_, row), (partition, key)) in enumerate(zip(self._scheme.each_key(), self._made, strict=True)):
            row_key = EntityKey(_text(partition, properties), _text(key, properties))
            main = main or row_key
            is_pointer = row is not None and row.copy == "pointer"
            yield Placed(via, row_key, pointer(main) if is_pointer else properties)


def _text(parts: _Parts, properties: Properties) -> str:
    out = []
    for names, part, context, made in parts:
        if len(names) == 1:
            literal = properties.get(names[0])
            known: object = None if literal is None else literal.value
        else:
            known = tuple(None if (p := properties.get(n)) is None else p.value for n in names)
        text = made.get(known)
        if text is None:
            values: dict[str, Value] = {n: p.value for n in names if (p := properties.get(n)) is not None}
            text = made[known] = part.encode(values, context)
        out.append(text)
    return "".join(out)


def stored_entities(
    scheme: KeyScheme, entities: Sequence[Properties], types: Mapping[str, EdmType]
) -> Iterator[tuple[int, int, Entity]]:
    """(number of the entity, key of the scheme, row) of every row that a table holds; UsageError as ``layout``."""
    texts, index_rows = KeyTexts(scheme, types), [row for _, row in scheme.each_key()]
    numbers = sequence_numbers(scheme, entities, types)
    taken: set[EntityKey] = set()
    made: dict[int, Property | None] = {}

    def stored(literal: TypedValue) -> Property | None:
        """Its property, made once for each literal: entities share them (``entities_of``)."""
        if id(literal) not in made:
            made[id(literal)] = None if _too_early(literal) else Property(literal.type, literal.value)
        return made[id(literal)]

    for number, properties in enumerate(entities):
        whole = {
            n: p
            for n, literal in properties.items()
            if n not in SYSTEM_PROPERTIES and (p := stored(literal)) is not None
        }
        for via, key, held in texts.rows_of(properties, numbers[number]):
            if not is_written(index_rows[via], properties):
                continue
            if key in taken:
                raise shared(key, scheme)
            taken.add(key)
            yield number, via, Entity(key, whole if held is properties else as_stored(held))
