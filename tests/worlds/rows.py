"""The rows of a table under given keys, in the order of the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from tests.worlds.key_text import Call, Part, Writer, items, parse, properties, read_by
from tests.worlds.model import Kind, Scheme
from tests.worlds.values import Row, units

Place = tuple[bytes, bytes]


@dataclass(frozen=True)
class Stored:
    """One row: its key, the entity, and the number of the key that it is written under (0: the main one)."""

    partition: str
    row: str
    entity: int
    via: int


@dataclass(frozen=True)
class Layout:
    """Every row of a table under a scheme, in the order of the store."""

    kind: Kind
    scheme: Scheme
    rows: tuple[Stored, ...]

    @cached_property
    def places(self) -> list[Place]:
        """What rows are sorted by."""
        return [(units(r.partition), units(r.row)) for r in self.rows]

    @cached_property
    def unique(self) -> bool:
        """Whether no two rows share a key."""
        return all(a != b for a, b in zip(self.places, self.places[1:], strict=False))

    @cached_property
    def of_entity(self) -> dict[int, list[Stored]]:
        """The rows of each entity."""
        out: dict[int, list[Stored]] = {n: [] for n in range(len(self.kind.rows))}
        for row in self.rows:
            out[row.entity].append(row)
        return out


def lay_out(kind: Kind, scheme: Scheme) -> Layout:
    """All rows that a scheme stores, in the order of the store."""
    rows = sorted(stored(kind, scheme), key=lambda r: (units(r.partition), units(r.row)))
    return Layout(kind, scheme, tuple(rows))


def all_apart(kind: Kind, scheme: Scheme) -> bool:
    """Whether no two rows share a key."""
    seen = set[tuple[str, str]]()
    for row in stored(kind, scheme):
        if (row.partition, row.row) in seen:
            return False
        seen.add((row.partition, row.row))
    return True


def stored(kind: Kind, scheme: Scheme) -> Iterator[Stored]:
    """All rows that a scheme stores: an index row only where all that it is looked up by is present."""
    writer = Writer(kind.types)
    keys = [(via, read_by(p), parse(p), parse(r)) for via, (p, r, _) in enumerate(scheme.each_key())]
    numbers = _sequence_numbers(kind, scheme, writer)
    for number, entity in enumerate(kind.rows):
        values = {**entity, "#seq": numbers[number]}
        for via, names, partition, row in keys:
            if via and any(entity[name] is None for name in names):
                continue
            for one in each_value(values, (*partition, *row)):
                yield Stored(writer.key(partition, one), writer.key(row, one), number, via)


def each_value(values: Row, parts: Sequence[Part]) -> Iterator[Row]:
    """The values of an entity with one value, in turn, of each property of which a key has a row for every value."""
    lists = [part for part in parts if isinstance(part, Call) and part.name == "each"]
    found = []
    for part in lists:
        name = properties(part)[0]
        delimiter = str(part.arguments[1]) if len(part.arguments) > 1 else ""
        found.append([(name, item) for item in items(values[name], delimiter)])
    for chosen in product(*found):
        yield {**values, **dict(chosen)}


def _sequence_numbers(kind: Kind, scheme: Scheme, writer: Writer) -> list[int]:
    if "{seq(" not in scheme.partition + scheme.row:
        return [0] * len(kind.rows)
    seen, out = Counter[tuple[str, str]](), list[int]()
    for row in kind.rows:
        key = (writer.key(parse(scheme.partition), row), writer.key(parse(scheme.row), row))
        out.append(seen[key])
        seen[key] += 1
    return out
