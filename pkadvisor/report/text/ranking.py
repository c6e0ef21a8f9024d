"""The ranking of an analysis as text: on a wide page one line for each scheme."""

from __future__ import annotations

import string

from pkadvisor.documents.analysis_scheme import AnalysisIndexRow, AnalysisScheme
from pkadvisor.documents.analysis_table import AnalysisTable
from pkadvisor.numbers import amount, breaks, percent
from pkadvisor.report.documents.stored import quoted
from pkadvisor.report.escapes import fold
from pkadvisor.report.summary.figures import first_break, term
from pkadvisor.report.summary.goals import goal_name
from pkadvisor.report.text.page import Page

WIDE, NARROW = 110, 76
"""From this width on keys stand beside the figures; below the other, each figure has a line of its own."""
HEADS = ("#", "score", "req/s", "rows/s", "hottest", "breaks", "worse in")
NAMES = ("score", "requests/s", "entities/s", "hottest", "breaks at", "worse in")
MILLION = 1_000_000
LEGEND = (
    "score: 0 to 100, useful reads times room for growth; worse in: what puts a scheme below the first; "
    "'advisor explain {target}' tells more of the scheme with number 2"
)
Letters = dict[tuple[str, str, str], str]


def write_ranking(page: Page, table: AnalysisTable, best: AnalysisScheme) -> None:
    """The recommended scheme, the next ones and the current one; index rows as letters that stand below the table."""
    schemes: list[tuple[str, AnalysisScheme]] = [("1", best), *((str(a.rank), a) for a in table.alternatives)]
    if table.current is not None and table.ranking_says != "keep":
        schemes.append(("current", table.current))
    letters: Letters = {}
    for _, scheme in schemes:
        for row in scheme.index_rows:
            letters.setdefault(_identity(row, scheme), _letter(len(letters)))
    cells = [_cells(label, scheme) for label, scheme in schemes]
    keys = [_keys(scheme, letters) for _, scheme in schemes]
    page.line(f"Ranking ({table.examined:,} schemes priced{_unproved(table)})", "head")
    if page.width < NARROW:
        _records(page, cells, keys)
    else:
        _columns(page, cells, keys)
    for (partition_key, row_key, copy), letter in letters.items():
        where = f"{quoted(partition_key)} | {quoted(row_key)}" if partition_key != _SAME else quoted(row_key)
        same = ", same partition" if partition_key == _SAME else ""
        page.record(f"+{letter}", f"{where} ({copy}{same})", 3, "     ")
    page.wrapped(LEGEND.format(target=f"scheme:{table.kind}:2" if table.kind else "scheme:2"), "  ", "  ", "dim")
    page.line()


_SAME = "\0"
"""In place of the PartitionKey of an index row that has that of its entity, whatever that is; no template holds it."""


def _identity(row: AnalysisIndexRow, scheme: AnalysisScheme) -> tuple[str, str, str]:
    partition_key = _SAME if row.partition_key == scheme.partition_key else row.partition_key
    return partition_key, row.row_key, row.copy


def _letter(number: int) -> str:
    return string.ascii_uppercase[number % 26] * (1 + number // 26)


def _cells(label: str, scheme: AnalysisScheme) -> tuple[str, ...]:
    first = first_break(scheme)
    return (
        label,
        amount(scheme.score),
        _short(term(scheme, "requests")),
        _short(term(scheme, "entities counted")),
        _short(term(scheme, "hottest partition at peak")),
        "<0.01x" if first is not None and first.factor < 0.01 else breaks(None if first is None else first.factor),
        goal_name(scheme.loses.goal) if scheme.loses else "",
    )


def _short(value: float | None) -> str:
    """A number of a narrow column: ``17.5M``."""
    return amount(value) if value is None or value < MILLION else f"{value / MILLION:.3g}M"


def _keys(scheme: AnalysisScheme, letters: Letters) -> str:
    rows = "".join(f" +{letters[_identity(row, scheme)]}" for row in scheme.index_rows)
    return f"{quoted(scheme.partition_key)} | {quoted(scheme.row_key)}{rows}"


def _columns(page: Page, cells: list[tuple[str, ...]], keys: list[str]) -> None:
    """Figures in columns; keys behind them where the page is wide, else below them."""
    widths = [max(len(page.exact(row[i])) for row in (HEADS, *cells)) for i in range(len(HEADS))]

    def line(row: tuple[str, ...]) -> str:
        numbers = "  ".join(f"{page.exact(cell):>{size}}" for cell, size in zip(row[:-1], widths[:-1], strict=True))
        return f"  {numbers}  {page.exact(row[-1]):<{widths[-1]}}"

    wide = page.width >= WIDE
    head = line(HEADS)
    page.line(f"{head}  keys" if wide else head, "dim")
    room = page.width - len(head) - 2
    for row, text in zip(cells, keys, strict=True):
        if wide and room >= len(page.exact(text)):
            page.lines.append(f"{line(row)}  {page.exact(text)}")
            continue
        page.lines.append(line(row).rstrip())
        page.lines += [f"     {piece}" for piece in fold(page.exact(text), page.width - 5, conditions=False)]


def _records(page: Page, cells: list[tuple[str, ...]], keys: list[str]) -> None:
    for (label, *values), text in zip(cells, keys, strict=True):
        page.line(f"  {label}")
        for name, cell in zip(NAMES, values, strict=True):
            if cell:
                page.record(name, cell, 10, "    ")
        page.record("", text, 1, "     ")


def _unproved(table: AnalysisTable) -> str:
    """The gap, where a limit of the search left one."""
    looked = table.search
    if looked is None or looked.gap == 0:
        return ""
    return ", gap unknown" if looked.gap is None else f", gap {percent(looked.gap)}"
