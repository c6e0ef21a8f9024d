"""Tables as values: what stands in each cell, without markup. ``tables.html`` writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pkadvisor.report.html.place import Figure
from pkadvisor.values import dataclass


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in a cell. ``kind``: text, short (text that is not folded), figure, code (a key: never cut), place (a
    path), mark (a word with a mood), parts (several of them in a line) or lines (one below the other)."""

    kind: str
    text: str | Figure = ""
    mood: str = ""
    parts: tuple[Cell, ...] = ()

    def __bool__(self) -> bool:
        return bool(str(self.text) or self.parts)


NONE = Cell("text", "")


def words(text: str) -> Cell:
    """Prose."""
    return Cell("text", text)


def code(text: str) -> Cell:
    """A key, a template, a path or a command."""
    return Cell("code", text)


def figure(number: Figure | None) -> Cell:
    """A number of the document; nothing where there is none."""
    return NONE if number is None else Cell("figure", number)


def place(text: str) -> Cell:
    """A path, with room enough to be read."""
    return Cell("place", text)


def mark(word: str, mood: str) -> Cell:
    """A word that is good, bad or warn."""
    return Cell("mark", word, mood) if word else NONE


def together(*cells: Cell) -> Cell:
    """Several pieces in one cell; empty ones are left out."""
    return Cell("parts", parts=tuple(cell for cell in cells if cell))


@dataclass(frozen=True, slots=True)
class PageRow:
    """A row; the first cell is its heading. ``kept`` are the values that a filter of the page's script goes by."""

    cells: tuple[Cell, ...]
    kept: tuple[tuple[str, str], ...] = ()
    best: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table. ``numeric`` are the columns of numbers; ``sorts``: the script may sort it; ``filters``: by what it may
    be filtered."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[PageRow, ...]
    numeric: frozenset[int] = frozenset()
    sorts: bool = False
    filters: str = ""

    def __bool__(self) -> bool:
        return bool(self.rows)


def short(text: str) -> Cell:
    """A word or two that stay on one line."""
    return Cell("short", text)


def below(*cells: Cell) -> Cell:
    """Several pieces in one cell, each on a line of its own; empty ones are left out."""
    return Cell("lines", parts=tuple(cell for cell in cells if cell))


def table(
    caption: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[Cell] | PageRow],
    *,
    numeric: Iterable[int] = (),
    sorts: bool = False,
    filters: str = "",
) -> Table:
    """A table; ValueError where a row has not a cell for each head."""
    made = tuple(row if isinstance(row, PageRow) else PageRow(tuple(row)) for row in rows)
    for row in made:
        if len(row.cells) != len(heads):
            raise ValueError(f"{caption}: {len(row.cells)} cells under {len(heads)} heads")
    return Table(caption, tuple(heads), made, frozenset(numeric), sorts, filters)
