"""A page of text for a terminal: folding, colour, ASCII forms.

Keys are never cut: where a line is too narrow it folds. No control characters get through but line ends and the
page's own colour codes.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from msgspec import to_builtins

from pkadvisor.documents.analysis_table import AnalysisHeatMap, AnalysisRow
from pkadvisor.numbers import amount, lasting, percent, plural, ratio
from pkadvisor.report.escapes import clean, fold
from pkadvisor.values import dataclass

_STYLES = {"good": "\x1b[1;32m", "bad": "\x1b[1;31m", "warn": "\x1b[33m", "head": "\x1b[1m", "dim": "\x1b[2m"}
_RESET = "\x1b[0m"
_ASCII = str.maketrans({"─": "-", "×": "x", "→": "->", "…": "...", "≤": "<=", "≥": ">=", "·": "|", "–": "-", "’": "'"})


class Page:
    """Lines of a page of a given width."""

    def __init__(self, width: int, color: bool, ascii_only: bool) -> None:
        self.width = width
        self.color = color
        self.ascii_only = ascii_only
        self.lines: list[str] = []

    def style(self, text: str, style: str) -> str:
        return f"{_STYLES[style]}{text}{_RESET}" if self.color and style and text else text

    def words(self, text: str) -> str:
        """Prose: ornaments have ASCII forms."""
        return self.exact(text.translate(_ASCII) if self.ascii_only else text)

    def exact(self, text: str) -> str:
        """Keys, templates and filters: nothing is written as something else."""
        text = clean(text)
        return text.encode("ascii", "backslashreplace").decode() if self.ascii_only else text

    def line(self, text: str = "", style: str = "") -> None:
        """A line, folded below its own indentation where it is too long."""
        text = self.words(text).rstrip()
        plain = text.lstrip()
        indent = " " * (len(text) - len(plain))
        for number, piece in enumerate(
            fold(plain, self.width - len(indent) - 2) if len(text) > self.width else [plain]
        ):
            self.lines.append(self.style(f"{indent}{'  ' if number else ''}{piece}".rstrip(), style))

    def wrapped(self, text: str, indent: str = "  ", hanging: str = "", style: str = "") -> None:
        """Prose: folded at blanks, long words folded and not cut."""
        for part in textwrap.wrap(
            self.words(text),
            max(20, self.width),
            initial_indent=indent,
            subsequent_indent=hanging or indent,
            break_long_words=True,
            break_on_hyphens=False,
        ) or [""]:
            self.lines.append(self.style(part, style))

    def head(self, title: str) -> None:
        """A heading below an empty line."""
        self.line()
        self.line(title, "head")

    def listed(self, title: str, sentences: Sequence[str], style: str = "") -> None:
        """Sentences under a heading, with an empty line below; nothing where there are none."""
        if sentences:
            self.line(title, "head")
            for sentence in sentences:
                self.wrapped(sentence, "  - ", "    ", style)
            self.line()

    def record(self, label: str, text: str, pad: int = 14, indent: str = "  ") -> None:
        """``label   text``; the text folds under itself, character by character where it has no blanks."""
        head = f"{indent}{self.exact(label):<{pad}} "
        if len(head) + 20 > self.width and label:
            self.line(f"{indent}{label}")
            head = indent + "  "
        room = max(12, self.width - len(head))
        pieces = fold(self.exact(text), room) or [""]
        self.lines.append((head + pieces[0]).rstrip())
        self.lines += [" " * len(head) + piece for piece in pieces[1:]]


def ascii_json(document: Any) -> str:
    """A document as JSON of ASCII alone, keys in the order in which they are read."""
    return json.dumps(to_builtins(document), indent=2, ensure_ascii=True, allow_nan=False) + "\n"


# -- Charts of block characters: a line of a few values, and where the load falls over keys and time.


BLOCKS, ASCII_BLOCKS = " ▁▂▃▄▅▆▇█", " .:-=+*#@"
SHADES, ASCII_SHADES = " ░▒▓█25XC", " .+#@25XC"
SHADES_PER_MILLE = (10, 100, 500, 1000, 2000, 5000, 10_000, 100_000)
"""From which share of a partition's target a cell has the second, third, … shade; a full one is at its target, and what
is beyond has a figure of its own: twice, five times, ten (X) and a hundred times (C) the target."""
ROWS_MAX = 8
CELLS_MIN, CELLS_MAX = 10, 48
DAY_S = 86_400


def sparkline(values: Sequence[float], most: float, room: int, *, ascii_only: bool) -> str:
    """A character for each value, or each mean of a few where there are more than ``room``: empty to full at ``most``.
    Above nothing it is never empty."""
    blocks = ASCII_BLOCKS if ascii_only else BLOCKS
    last = len(blocks) - 1
    means = [sum(part) / len(part) for part in _parts(values, room)]
    cells = (0 if v <= 0 else max(1, min(last, round(v / most * last))) for v in means)
    return "|" + "".join(blocks[cell] for cell in cells) + "|"


def _parts(values: Sequence[float], room: int) -> list[Sequence[float]]:
    """At most ``room`` pieces of equal length, the last one perhaps shorter."""
    step = -(-len(values) // max(1, room)) or 1
    return [values[at : at + step] for at in range(0, len(values), step)]


@dataclass(frozen=True, slots=True)
class HeatLine:
    """Neighbouring rows of a heat map as one line: their cells, their hottest value, the rows from first to last."""

    cells: str
    per_mille_max: int
    first: int
    last: int


def heat_lines(
    per_mille: Sequence[Sequence[int]],
    room: int,
    *,
    rows: int = ROWS_MAX,
    ascii_only: bool,
    groups: Sequence[object] = (),
) -> list[HeatLine]:
    """A heat map as at most ``rows`` lines of at most ``room`` cells; what is taken together shows its hottest value.

    The coldest neighbours are joined first, so that a hot key keeps its line; rows of different ``groups`` are joined
    only where nothing else is left.
    """
    shades = ASCII_SHADES if ascii_only else SHADES
    out = []
    for first, end in pairwise(_edges([max(row) for row in per_mille], rows, groups)):
        line = [max(column) for column in zip(*per_mille[first:end], strict=True)]
        hottest = [max(part) for part in _parts(line, room)]
        cells = "".join(shades[sum(value >= step for step in SHADES_PER_MILLE)] for value in hottest)
        out.append(HeatLine(f"|{cells}|", max(line), first, end - 1))
    return out


def _edges(heat: Sequence[int], most: int, groups: Sequence[object]) -> list[int]:
    """Where lines begin, and the end: of the neighbours the pair whose hotter one is coldest is joined, the shorter
    pair first where there are several."""
    lines = [(n, n + 1, value) for n, value in enumerate(heat)]
    while len(lines) > most:
        pairs = (
            (bool(groups) and groups[a[0]] != groups[b[0]], max(a[2], b[2]), b[1] - a[0], at)
            for at, (a, b) in enumerate(pairwise(lines))
        )
        _, hotter, _, at = min(pairs)
        lines[at : at + 2] = [(lines[at][0], lines[at + 1][1], hotter)]
    return [first for first, _, _ in lines] + [len(heat)]


# -- where the load falls ---------------------------------------------------------------------------------------------


def write_heat(page: Page, heat: AnalysisHeatMap | None, *, kept: bool = False) -> None:
    """The heat map of the current keys, or of the recommended ones where there are none, the hottest keys first; a line
    where all is cold. ``kept``: the recommended keys are those in use."""
    if heat is None:
        return
    design = heat.designs[0]
    page.line(f"Where the load falls under the {'current' if kept else design.design} keys", "head")
    for pattern, whom in ((design.pattern, ""), (design.inserts_pattern, "inserts: ")):
        if pattern is not None and (not whom or pattern.name != design.pattern.name):
            page.wrapped(f"{whom}{pattern.sentence}", "  ", "    ")
    per_mille = design.per_mille
    hottest = max(max(row) for row in per_mille)
    if hottest < SHADES_PER_MILLE[0]:
        least = f"{amount(heat.target_per_s)} {heat.unit}"
        page.wrapped(f"no partition reaches {percent(SHADES_PER_MILLE[0] / 1000)} of its target of {least}")
        page.line()
        return
    groups = [row.template for row in design.rows]
    room = max(CELLS_MIN, min(CELLS_MAX, page.width - 36))
    lines = heat_lines(per_mille, room, ascii_only=page.ascii_only, groups=groups)
    if all(len(set(line.cells[1:-1])) == 1 for line in lines):  # time changes nothing: a few cells tell as much
        lines = heat_lines(per_mille, CELLS_MIN, ascii_only=page.ascii_only, groups=groups)
    widest = max(6, *(len(ratio(line.per_mille_max / 1000)) for line in lines))
    for line in sorted(lines, key=lambda line: -line.per_mille_max):
        label = _label(design.rows[line.first : line.last + 1], page.ascii_only)
        page.record(f"{line.cells} {ratio(line.per_mille_max / 1000):>{widest}}", label, 1)
    scale = f"{scale_words(hottest, ascii_only=page.ascii_only)} of a partition's target"
    page.wrapped(f"{scale} of {amount(heat.target_per_s)} {heat.unit}; {_span(heat)}")
    page.line()


def scale_words(per_mille_max: int, *, ascii_only: bool) -> str:
    """What the shades of a map mean, up to the hottest one in it: ``░ from 1 %, ▒ 10 %, ▓ 50 %, █ 1x, 2 2x``."""
    shades = (ASCII_SHADES if ascii_only else SHADES)[1:]
    used = [(shade, step) for shade, step in zip(shades, SHADES_PER_MILLE, strict=True) if step <= per_mille_max]
    words = [f"{shade} {percent(step / 1000) if step < 1000 else ratio(step / 1000)}" for shade, step in used]
    return ", ".join(words).replace(" ", " from ", 1)


def _label(rows: Sequence[AnalysisRow], ascii_only: bool) -> str:
    """The key of a line, or its first and last key; a time in place of its ticks where that has no ASCII to keep to."""
    partitions = sum(row.partitions for row in rows)
    if partitions > 1:
        return f"{rows[0].from_key}..{rows[-1].to_key} ({plural(partitions, 'partition')})"
    key, label = str(rows[0].from_key), str(rows[0].label)
    return key if ascii_only or all(text in key for text in label.split(" · ")) else label


def _span(heat: AnalysisHeatMap) -> str:
    """What goes from left to right."""
    if not heat.step_s:
        return "from left to right: the rows in their order (no time is known)"
    seconds = heat.step_s * heat.columns
    long = lasting(seconds) if seconds < 2 * DAY_S else f"{amount(seconds / DAY_S)} days"
    return f"from left to right: {long}" + (f" from {heat.start}" if heat.start else "")
