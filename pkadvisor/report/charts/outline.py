"""The line around the marked cells of a grid."""

from __future__ import annotations

from collections.abc import Sequence

LINES_MAX = 3_000
"""Beyond these the line is drawn around blocks of cells, so that a ragged map does not swell the page."""

Segment = tuple[int, int, int, bool]
"""Where it begins (column, row), how long it is, and whether it runs across; in cells."""


def outline(marked: Sequence[Sequence[bool]], lines_max: int = LINES_MAX) -> list[Segment]:
    """Straight lines between marked cells and others, or the border: those across by row, then those down by column.

    Where there are more than ``lines_max``, the cells of a block of 2 × 2, 4 × 4, … count as marked if one of them is.
    """
    block = 1
    while True:
        lines = [
            (x * block, y * block, length * block, across) for x, y, length, across in _edges(_blocks(marked, block))
        ]
        if len(lines) <= lines_max:
            return _held(lines, len(marked[0]), len(marked))
        block *= 2


def _blocks(marked: Sequence[Sequence[bool]], size: int) -> list[list[bool]]:
    if size == 1:
        return [list(row) for row in marked]
    rows, columns = len(marked), len(marked[0])
    return [
        [any(any(row[x : x + size]) for row in marked[y : y + size]) for x in range(0, columns, size)]
        for y in range(0, rows, size)
    ]


def _edges(marked: list[list[bool]]) -> list[Segment]:
    rows, columns = len(marked), len(marked[0])
    out: list[Segment] = []
    nothing = [False] * columns
    for y in range(rows + 1):
        above, below = marked[y - 1] if y else nothing, marked[y] if y < rows else nothing
        out += [(x, y, length, True) for x, length in _runs([a != b for a, b in zip(above, below, strict=True)])]
    for x in range(columns + 1):
        sides = [(row[x - 1] if x else False) != (row[x] if x < columns else False) for row in marked]
        out += [(x, y, length, False) for y, length in _runs(sides)]
    return out


def _runs(flags: Sequence[bool]) -> list[tuple[int, int]]:
    """Where runs of True begin, and how long they are."""
    out, begin = [], -1
    for number, flag in enumerate([*flags, False]):
        if flag and begin < 0:
            begin = number
        elif not flag and begin >= 0:
            out.append((begin, number - begin))
            begin = -1
    return out


def _held(lines: list[Segment], columns: int, rows: int) -> list[Segment]:
    """Blocks at the right and at the bottom may reach beyond the grid; their lines do not."""
    out = []
    for x, y, length, across in lines:
        x, y = min(x, columns), min(y, rows)
        length = min(length, columns - x if across else rows - y)
        out.append((x, y, length, across))
    return out
