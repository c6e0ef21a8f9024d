"""The figures by which two designs of a table are compared at a glance, and the order of queries by their load."""

from __future__ import annotations

import re
from collections.abc import Callable

from pkadvisor.documents.analysis_scheme import AnalysisClassCost, AnalysisFullScheme, AnalysisLostGoal, AnalysisScheme
from pkadvisor.documents.explanation import ExplanationScheme
from pkadvisor.numbers import FACTOR_MOST, amount, ratio
from pkadvisor.report.summary.counters import ENTITY_COMMITS
from pkadvisor.values import dataclass

CAUSES = {
    "the hottest entity": "hottest entity",
    "the hottest partition": "hottest partition",
    "scans of one partition": "partition scans",
    "the range that takes the inserts": "inserts in one range",
    "the run of partitions that one query reads": "range scans",
    "scans over several partitions": "multi-partition scans",
    "the account's requests": "storage account",
}
"""Short names of what can break, for a cell of a table."""
KEY_SHOWN = 40
"""Characters of a key value or a name that a sentence shows."""


def brief(text: str, most: int = KEY_SHOWN) -> str:
    """A key value or a name, cut where it is too long for a sentence."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


@dataclass(frozen=True, slots=True)
class FirstBreak:
    """The limit that growth reaches first: ``factor`` in times of today's peak, below 1 where it is passed already.

    ``cause`` as documents name it; ``growth_of``: what must grow by the factor (rate, new_keys, rows_per_key).
    """

    factor: float
    cause: str
    growth_of: tuple[str, ...]

    @property
    def when(self) -> str:
        """At which load: ``at 3.8x today's load``."""
        if self.factor < 1 / FACTOR_MOST:
            return "below a thousandth of today's load"
        return f"at {ratio(self.factor)} today's {'rows per key' if self.growth_of == ('rows_per_key',) else 'load'}"

    @property
    def cause_short(self) -> str:
        """The cause as a cell of a table names it."""
        by_entity = self.cause.startswith(ENTITY_COMMITS)
        return "one entity's commits" if by_entity else CAUSES.get(self.cause, self.cause)


@dataclass(frozen=True, slots=True)
class Figures:
    """A design in numbers; None where a figure is not known or does not exist.

    ``hottest_partition``: its load at the peak in times of the target. ``requests_per_s``: the mean, of all classes.
    ``rows_read_per_row_returned``: over all queries by their rates, without those for analysis. ``price_per_month``: in
    ``currency``, at the prices of the limits.
    """

    hottest_partition: float | None
    requests_per_s: float | None
    rows_read_per_row_returned: float | None
    price_per_month: float | None
    currency: str
    first_break: FirstBreak | None


UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A row of the table of before and after: what ``show`` writes of each design, and whether it is past a limit."""

    label: str
    show: Callable[[Figures], str]
    over: Callable[[Figures], bool] = lambda figures: False


def _times_target(figures: Figures) -> str:
    return UNKNOWN if figures.hottest_partition is None else f"{ratio(figures.hottest_partition)} its target"


def _price(figures: Figures) -> str:
    """What a month of requests and storage costs, and the mean requests a second that it is the price of."""
    cost = (
        UNKNOWN if figures.price_per_month is None else f"{amount(figures.price_per_month)} {figures.currency}".rstrip()
    )
    return cost if figures.requests_per_s is None else f"{cost} ({amount(figures.requests_per_s)} req/s)"


def _read_of_all(figures: Figures) -> str:
    """Rows read per row returned; it is said of what, because a sentence below gives those of one query."""
    read = figures.rows_read_per_row_returned
    return UNKNOWN if read is None else f"{amount(read)} (all queries)"


def breaks_at(factor: float | None) -> str:
    """At how many times today's load a design breaks, as a cell of a table: ``3.8x``, or now where it is broken."""
    if factor is None:
        return "never"
    return ratio(factor) if factor >= 1 else f"now (from {ratio(factor)} on)" if factor >= 0.01 else "now"


def _breaks(figures: Figures) -> str:
    return breaks_at(None if figures.first_break is None else figures.first_break.factor)


BREAKS = FigureRow(
    "breaks at, x today's load",
    _breaks,
    lambda figures: figures.first_break is not None and figures.first_break.factor < 1,
)
READ = FigureRow("rows read per row returned", _read_of_all)
PRICE = FigureRow("cost a month with storage", _price)
ROWS: tuple[FigureRow, ...] = (
    FigureRow("hottest partition, peak", _times_target, lambda figures: (figures.hottest_partition or 0) > 1),
    READ,
    PRICE,
    BREAKS,
)
"""The table of before and after."""


def first_break(scheme: AnalysisScheme | ExplanationScheme) -> FirstBreak | None:
    """The smallest break factor of a scheme over every kind of growth, with its cause; None where no growth meets a
    limit.

    The term "break factor" of a scheme, which goals and score use, is that of one kind of growth: the declared one.
    What growth of another kind reaches earlier is nearer to the owner all the same.
    """
    breaks = [b for b in scheme.breaks if b.growth_of]
    first = min(breaks, key=lambda b: float(b.factor), default=None)
    return None if first is None else FirstBreak(float(first.factor), first.cause, tuple(first.growth_of))


def term(scheme: AnalysisScheme, name: str) -> float | None:
    """The value of a term; None where the scheme has no such term, or where it is endless."""
    value = next((t.value for t in scheme.terms if t.name == name), None)
    return None if value is None else float(value)


def figures_of(scheme: AnalysisScheme, partition_target_per_s: float) -> Figures:
    """The figures of a scheme of a result; ``partition_target_per_s`` in entities a second."""
    hot = scheme.hot_partition
    unit = next((t.unit for t in scheme.terms if t.name == "price"), "")
    return Figures(
        hottest_partition=None if hot is None else hot.entities_per_s_peak / partition_target_per_s,
        requests_per_s=term(scheme, "requests"),
        rows_read_per_row_returned=_read_per_returned(scheme.classes),
        price_per_month=term(scheme, "price"),
        currency=unit.removesuffix("/month"),
        first_break=first_break(scheme),
    )


def load_of(entry: AnalysisClassCost) -> float:
    """Entities a second that a class of a result reads and writes, at its mean rate: what it adds to the load. A
    request that touches none counts as one."""
    touched = float(entry.entities_read) + float(entry.entities_written)
    return float(entry.rate_per_s) * max(touched, float(entry.requests))


def by_load(scheme: AnalysisScheme) -> list[AnalysisClassCost]:
    """The classes of a scheme in the one order of every screen: what loads the table most first, analytic ones last."""
    return sorted(scheme.classes, key=lambda entry: (entry.analytic, -load_of(entry)))


def worst_query(scheme: AnalysisScheme) -> tuple[AnalysisClassCost, float] | None:
    """The query or write that loads the table most, and its share of the load; None where nothing is asked for."""
    waited_for = [entry for entry in by_load(scheme) if not entry.analytic]
    total = sum(map(load_of, waited_for))
    return (waited_for[0], load_of(waited_for[0]) / total) if total > 0 else None


def queries_of(scheme: AnalysisScheme) -> list[AnalysisClassCost]:
    """The classes that return rows to somebody who waits for them."""
    return [c for c in scheme.classes if c.operation == "query" and not c.analytic]


def read_per_returned(query: AnalysisClassCost) -> float | None:
    """Rows that a query reads for each that it returns; None where it returns none, 1 where it does not read either."""
    read, returned = float(query.entities_read), float(query.entities_returned)
    if read == 0:
        return 1.0
    return read / returned if returned > 0 else None


def _read_per_returned(classes: list[AnalysisClassCost]) -> float | None:
    queries = [c for c in classes if c.operation == "query" and not c.analytic]
    returned = sum(c.rate_per_s * c.entities_returned for c in queries)
    return sum(c.rate_per_s * c.entities_read for c in queries) / returned if returned > 0 else None


# -- What pages call the goals by which schemes are ranked.


SAME_LENGTH = "simplicity: both are equally long, so a fixed order decides"
"""What is said of two schemes that are equal even in the last goal."""
GOALS = {"structures": "index rows"}
"""Goals of the document that have another name on a page."""
UNITS = {
    "eventual, all": "one in another partition, written later, counts twice",
    "share of reads through eventually consistent rows": "share of reads through those written later",
}
"""Units of goals that need other words on a page."""


def goal_name(name: str) -> str:
    """What a page calls a goal."""
    return GOALS.get(name, name)


def goal_unit(unit: str) -> str:
    """How a page names the unit of a goal."""
    return UNITS.get(unit, unit)


def lost(loses: AnalysisLostGoal) -> str:
    """By which goal a scheme is behind, with both values."""
    if loses.goal == "simplicity" and loses.value == loses.winner:
        return SAME_LENGTH
    mine, best = amount(loses.value), amount(loses.winner)
    if mine == best and loses.value is not None and loses.winner is not None:
        mine, best = f"{loses.value:,.6g}", f"{loses.winner:,.6g}"  # what decides is shown
    return f"{goal_name(loses.goal)}, {mine} against {best} ({goal_unit(loses.unit)})"


_FIXED = re.compile(r"\{[^{}]+\}")


def left_out(current: AnalysisFullScheme | None, best: AnalysisFullScheme) -> str:
    """Text that the current keys write beside their values and the recommended keys do not: a prefix of an id."""
    if current is None:
        return ""
    keys = [
        best.partition_key,
        best.row_key,
        *(key for row in best.index_rows for key in (row.partition_key, row.row_key)),
    ]
    beside = [t for k in (current.partition_key, current.row_key) if _FIXED.search(k) for t in _FIXED.split(k)]
    texts = [t.replace("{{", "{").replace("}}", "}") for t in beside if any(map(str.isalnum, t))]
    lost_texts = [f"'{brief(t)}'" for t in dict.fromkeys(texts) if not any(t in key for key in keys)]
    return f"The current keys write {' and '.join(lost_texts)} beside values; these do not." if lost_texts else ""
