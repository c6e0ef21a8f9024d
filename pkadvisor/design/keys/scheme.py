"""Key schemes: which PartitionKey and RowKey an entity gets, and which index rows stand beside it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from pkadvisor.design.keys.template import format_template, parse_template, separators
from pkadvisor.design.keys.transforms import Context, ListPart, Part, Value, part_properties
from pkadvisor.errors import UsageError
from pkadvisor.lazy import pl
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass


@dataclass(frozen=True, slots=True)
class Key:
    """One PartitionKey | RowKey pair of templates."""

    partition: tuple[Part, ...]
    row: tuple[Part, ...]

    @property
    def properties(self) -> tuple[str, ...]:
        """Properties used, in order of appearance."""
        return part_properties((*self.partition, *self.row))

    def encode(self, values: dict[str, Value], types: dict[str, EdmType]) -> tuple[str, str]:
        """(PartitionKey, RowKey) of one entity."""
        return encode(self.partition, values, types), encode(self.row, values, types)

    def __str__(self) -> str:
        return f"{format_template(self.partition) or chr(39) * 2} | {format_template(self.row) or chr(39) * 2}"


def encode(parts: tuple[Part, ...], values: dict[str, Value], types: dict[str, EdmType]) -> str:
    """The key text of one entity."""
    context = Context(types, separators(parts))
    return "".join(part.encode(values, context) for part in parts)


def key_expression(parts: tuple[Part, ...], types: dict[str, EdmType]) -> pl.Expr:
    """The key text as one polars expression; a ``seq`` part reads the column ``#seq``."""
    context = Context(types, separators(parts))
    if not parts:
        return pl.lit("")
    return pl.concat_str([part.expression(context) for part in parts])


@dataclass(frozen=True, slots=True)
class IndexRow:
    """A second row for the same entity under another key.

    ``copy`` is ``full`` (all properties again) or ``pointer`` (the target key only: one more point read per hit).
    A row in the partition of its entity changes with it in one group transaction; elsewhere it follows later.
    """

    key: Key
    copy: str = "full"

    def __post_init__(self) -> None:
        if self.copy not in ("full", "pointer"):
            raise ValueError(f"copy is 'full' or 'pointer', not '{self.copy}'")


@dataclass(frozen=True, slots=True)
class KeyScheme:
    """The main key, the index rows, and the name of the pattern that proposed them."""

    main: Key
    index_rows: tuple[IndexRow, ...] = ()
    pattern: str = "as given"

    @property
    def text(self) -> str:
        """Identity and tie-break: all templates in one line."""
        rows = "".join(f" + {row.key} ({row.copy})" for row in self.index_rows)
        return f"{self.main}{rows}"

    @property
    def form(self) -> str:
        """All templates with numbers in place of names, in the order in which properties come: a tie-break that does
        not depend on what properties and labels are called."""
        numbers: dict[str, int] = {}
        texts: list[str] = []
        for key, row in self.each_key():
            for parts in (key.partition, key.row):
                texts += [_numbered(part, numbers) for part in parts]
                texts.append("|")
            texts.append("+" if row is None else row.copy)
        return " ".join(texts)

    @property
    def rows_per_entity(self) -> int:
        """Rows stored for one entity."""
        return 1 + len(self.index_rows)

    def same_partition(self, row: IndexRow) -> bool:
        """Whether an index row always lies in its entity's partition."""
        return row.key.partition == self.main.partition

    def places(self) -> tuple[tuple[int, ...], ...]:
        """The rows of an entity (0: the main row, i: the i-th index row) that always lie in one partition, and are
        written in one group transaction; those beside the main row first."""
        out: dict[tuple[Part, ...], list[int]] = {}
        for via, (key, _) in enumerate(self.each_key()):
            out.setdefault(key.partition, []).append(via)
        return tuple(map(tuple, out.values()))

    def each_key(self) -> Iterator[tuple[Key, IndexRow | None]]:
        """The main key, then each index row's."""
        yield self.main, None
        for row in self.index_rows:
            yield row.key, row

    def length(self) -> int:
        """Characters of all templates, whatever properties and labels are called: shorter is simpler."""
        return len(self.form)


def _numbered(part: Part, numbers: dict[str, int]) -> str:
    if part.constant is not None:
        return "_"
    text = str(part)
    for name in part.properties:
        number = numbers.setdefault(name, len(numbers))
        text = re.sub(rf"(?<=[{{(,]){re.escape(name)}(?=[}}),])", f"#{number:03}", text)
    return text


def parse_key(partition: str, row: str, *, known: Iterable[str] | None = None, where: str = "template") -> Key:
    """A key from its two template texts."""
    names = None if known is None else tuple(known)
    return Key(
        parse_template(partition, known=names, where=f"{where}, PartitionKey"),
        parse_template(row, known=names, where=f"{where}, RowKey"),
    )


def variable(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts that depend on the entity."""
    return tuple(part for part in parts if part.constant is None)


def isolating_lead(parts: tuple[Part, ...], name: str) -> tuple[Part, ...] | None:
    """A PartitionKey up to a property that keeps entities apart, so that its entities lie in one range of keys.

    None where it does not lead: constant text and hashes or periods of the property alone may stand before it.
    """
    for index, part in enumerate(parts):
        if part.constant is not None:
            continue
        if part.properties != (name,):
            return None
        if part.injective or part.folds_case:
            return parts[: index + 1]
    return None


def fixed_letters(key: Key) -> int:
    """How many letters of fixed text a key has: rows are of the kind that fixes most."""
    return sum(len(part.constant or "") for part in (*key.partition, *key.row))


def leading_text(parts: tuple[Part, ...]) -> str:
    """The constant text that a key begins with; empty where it begins with an entity's."""
    return (parts[0].constant or "") if parts else ""


def multi_valued(scheme: KeyScheme) -> dict[str, ListPart]:
    """Properties that hold several values, as the index rows take them apart."""
    parts = [part for key, _ in scheme.each_key() for part in (*key.partition, *key.row)]
    return {each.property: each for part in parts if (each := part.several) is not None}


def _with_sources(parts: Iterable[object]) -> Iterator[Part]:
    """Parts, and the parts inside them."""
    for part in parts:
        if isinstance(part, str):
            continue
        yield part  # type: ignore[misc]
        yield from _with_sources([getattr(part, "source", ""), *getattr(part, "items", ())])


def check_types(
    parts: tuple[Part, ...],
    types: dict[str, EdmType],
    where: str,
    example: Callable[[str], object] = lambda name: None,
) -> None:
    """UsageError where a transform cannot read the type of its property; ``example`` gives a value to show."""
    for part in _with_sources(parts):
        for name in part.properties:
            edm, wanted = types.get(name), part.reads
            if edm is not None and wanted is not None and edm not in wanted:
                value = example(name)
                such = "" if value is None else f", such as '{str(value)[:40]}'"
                raise UsageError(
                    f"{part.function} cannot read {name}: it is {edm}{such}, not {' or '.join(wanted)}",
                    where=where,
                    fix=f"write {{{name}}} for its text, or declare its type under `properties`",
                )
