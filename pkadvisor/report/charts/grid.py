"""A word for each cell of two assumptions: a table, in which colour only repeats what the word says."""

from __future__ import annotations

from markupsafe import Markup

from pkadvisor.report.charts.frame import element
from pkadvisor.values import dataclass

LEVELS = ("good", "warn", "bad", "none")


@dataclass(frozen=True, slots=True)
class VerdictCell:
    """A verdict, how it is meant (``LEVELS``), and why in a few words."""

    word: str
    level: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class VerdictGrid:
    """Rows and columns with their values; ``corner`` says what they are: ``growth down, load across``."""

    alt: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: tuple[tuple[VerdictCell, ...], ...]

    def __post_init__(self) -> None:
        if len(self.cells) != len(self.rows) or any(len(row) != len(self.columns) for row in self.cells):
            raise ValueError(f"cells: {len(self.rows)} rows of {len(self.columns)}")
        for cell in (cell for row in self.cells for cell in row):
            if cell.level not in LEVELS:
                raise ValueError(f"level of a cell: {cell.level!r} is none of {', '.join(LEVELS)}")


def draw(chart: VerdictGrid) -> Markup:
    """The table; its caption is the finding."""
    heads = [element("th", name, scope="col") for name in chart.columns]
    head = element("thead", element("tr", element("th", chart.corner, scope="col"), *heads))
    rows = [
        element("tr", element("th", name, scope="row"), *[_cell(cell) for cell in cells])
        for name, cells in zip(chart.rows, chart.cells, strict=True)
    ]
    table = element("table", element("caption", chart.alt), head, element("tbody", *rows), class_="ch-grid")
    region = element("div", table, class_="ch-scroll", tabindex="0", role="group", aria_label="Chart: grid")
    return element("figure", region, class_="chart grid")


def _cell(cell: VerdictCell) -> Markup:
    note = [element("span", cell.note)] if cell.note else []
    return element("td", cell.word, *note, class_=f"ch-{cell.level}")
