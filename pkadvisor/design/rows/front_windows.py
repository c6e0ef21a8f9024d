"""Recent inserts cut into windows as long as the service needs to react: what write fronts are counted over.

A window by the clock of the arrival column where its rows come as fast as declared; else by as many rows as come in
that time at the declared rate; and never fewer than say something. The cut is the same for every key.
"""

from __future__ import annotations

import math

from pkadvisor.design.rows.arrivals import inserted_in_order
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import U64, Floats, Ints, np
from pkadvisor.remembered import remembered
from pkadvisor.splitmix import mixed_each
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

ROWS_MIN = 200
"""Below this many rows nothing is said."""
ROWS_WINDOW = 400
"""Rows that a window holds at least, where there are enough: fewer say little about the largest of 64 shares."""
ROWS_LOOKED_AT = 8_000
"""Rows that are looked at in all windows together, but 800 of each; of more a fixed draw by position."""
ROWS_RECENT = 4_000
"""Inserts that are recent where the last two days have fewer, or where nobody knows when they came."""
WINDOW_OF_RECENT = 5
"""A window holds at most this part of the rows, so that several are left."""
DAY_S = 86_400.0
RECENT_S = 2 * DAY_S
"""What recurs each day lies once inside and not at the edge."""
WINDOWS_MAX = 24
COLD_RATE = 4.0
"""A worse state that came before, at so many times the usual rate, is taken for a bulk load that is over."""
BULK_RATE = 10.0
"""Rows at the beginning that came at so many times the usual rate are a bulk load, and are left out."""


@dataclass(frozen=True, slots=True)
class InsertWindow:
    """Recent inserts between two steps of the service: the rows before them, and their two halves, as row numbers."""

    learn: Ints
    halves: tuple[Ints, Ints]
    weight: float
    """Seconds that it stands for; rows where nobody knows the time."""
    cold: bool
    """Whether what was seen here may be over: nobody knows when, more than a day ago, or faster than usual."""


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows in the order of time. ``recent``: all their rows. ``seconds``: how long one lasts, where known."""

    each: tuple[InsertWindow, ...]
    recent: Ints
    used: Ints
    """Every row of a window once, in order."""
    seconds: float | None
    by_clock: bool
    """Whether windows last as long as the service needs to react by the data's own clock."""
    stride: int
    """Of so many windows one is looked at."""
    note: str
    """Where a window is wider or narrower than it should be."""


@remembered("front windows")
def windows_of(population: Population, reaction_s: float, rate_per_s: float | None) -> Windows:
    """Cut the recent inserts into windows; ``rate_per_s`` is the declared rate of inserts, where there is one."""
    order = inserted_in_order(population)
    assert order is not None
    moments = _moments(population, order)
    first = _begin(moments, len(order))
    if moments is not None:
        moments = moments[first:]
    order = order[first:]
    rows = len(order)
    least = min(ROWS_WINDOW, max(ROWS_MIN // 2, rows // 4))
    stands_for = population.drawn_from if population.sampling == "slice" else population.total
    coming = (rate_per_s or 0.0) * reaction_s * population.rows / max(1, stands_for)
    wanted = round(max(least, min(coming, rows // WINDOW_OF_RECENT)))
    bounds = [rows]
    while bounds[-1] > 0 and not _enough(bounds, moments):
        end = bounds[-1]
        start = end - wanted
        if moments is not None:
            start = min(start, int(np.searchsorted(moments, moments[end - 1] - reaction_s, side="right")))
        bounds.append(max(0, start))
    if len(bounds) > 2 and bounds[-2] - bounds[-1] < least:  # too few before the oldest window to learn from
        del bounds[-2]
    if len(bounds) == 2:
        bounds = [rows, rows // 2, 0]
    spans = [(c, b, a) for a, b, c in zip(bounds, bounds[1:], bounds[2:], strict=False)][::-1]
    stride = max(1, math.ceil(len(spans) / WINDOWS_MAX))
    spans = spans[::-1][::stride][::-1]
    lasts = [0.0 if moments is None else _lasts(moments[b:a]) for _, b, a in spans]
    usual, most = float(np.median(lasts)), max(2 * ROWS_WINDOW, ROWS_LOOKED_AT // len(spans))
    pace = float(np.median([(a - b) / max(s, 1e-6) for (_, b, a), s in zip(spans, lasts, strict=True)]))
    each = []
    for (c, b, a), seconds in zip(spans, lasts, strict=True):
        # A pause between two rows is no state of its own: no window weighs more than four usual ones.
        weight = float(a - b) if moments is None else min(seconds, 4 * usual) or 1.0
        cold = (
            moments is None
            or bool(moments[a - 1] < moments[-1] - DAY_S)
            or (a - b) / max(seconds, 1e-6) >= COLD_RATE * pace
        )
        each.append(InsertWindow(order[_drawn(c, b, rows, most)], _halves(order, b, a, most), weight, cold))
    by_clock = moments is not None and usual <= 1.5 * reaction_s
    size = int(np.median([a - b for _, b, a in spans]))
    seconds_each, note = _length(reaction_s, coming, size, None if moments is None else usual, by_clock=by_clock)
    used = np.unique(np.concatenate([rows for window in each for rows in (window.learn, *window.halves)]))
    return Windows(tuple(each), order[spans[0][0] :], used, seconds_each, by_clock, stride, note)


def _length(
    reaction_s: float, coming: float, size: int, usual_s: float | None, *, by_clock: bool
) -> tuple[float | None, str]:
    """(seconds of a window, what to say about it): by the data's clock, else by the declared rate."""
    if by_clock and usual_s is not None:
        return max(usual_s, reaction_s), ""
    if coming > 1.5 * size:
        note = f"{size:,} of the {coming:,.0f} rows that come while the service reacts were looked at together"
        return reaction_s * size / coming, note
    if coming >= size / 1.5:
        return reaction_s * size / coming, ""
    if usual_s is None and not coming:
        return None, ""
    seconds = max(usual_s or 0.0, reaction_s) if not coming else reaction_s * size / coming
    wide = f"counted over {_span(seconds)} ({size:,} rows)"
    return seconds, f"too few rows come while the service reacts: {wide}"


def _moments(population: Population, order: Ints) -> Floats | None:
    """Seconds of the clock at each insert, rising; None where the order is known without a clock."""
    name = population.arrival
    if name is None or not population.has(name) or population.types.get(name) is not EdmType.DATETIME:
        return None
    if name in population.hashed:
        return None
    moments: Floats = population.numbers(name, order) / 1e6
    return moments


def _begin(moments: Floats | None, rows: int) -> int:
    """Where recent inserts begin at the earliest: behind a bulk load, or with a stretch where nobody knows the time."""
    if moments is None:
        return max(0, rows - 2 * WINDOW_OF_RECENT * ROWS_WINDOW - ROWS_RECENT)
    ends = np.arange(rows, 0, -ROWS_WINDOW)[::-1]
    if len(ends) < 4:
        return 0
    seconds = np.array([_lasts(moments[max(0, e - ROWS_WINDOW) : e]) for e in ends.tolist()])
    pace = ROWS_WINDOW / np.maximum(seconds, 1e-6)
    usual = weighted_median(pace, np.maximum(seconds, 1e-9))
    bulk = pace >= BULK_RATE * usual
    run = len(bulk) if bulk.all() else int(np.argmin(bulk))
    # The block behind the bulk may hold some of it; what is left must be enough to count.
    begin = int(ends[min(run, len(ends) - 1)]) if run else 0
    return begin if rows - begin >= 4 * ROWS_MIN else 0


def _enough(bounds: list[int], moments: Floats | None) -> bool:
    """Whether the windows cut so far, newest first, reach back far enough; the oldest of them is only learned from."""
    if len(bounds) < WINDOW_OF_RECENT + 1 or bounds[0] - bounds[-2] < ROWS_RECENT:
        return False
    return moments is None or float(moments[bounds[-2]]) <= float(moments[-1]) - RECENT_S


def _lasts(moments: Floats) -> float:
    """Seconds that some inserts took, the gap before the first included."""
    gaps = max(1, len(moments) - 1)
    return float(moments[-1] - moments[0]) * (gaps + 1) / gaps


def weighted_median(values: Floats, weights: Floats) -> float:
    """The least value up to which half of the weight lies."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, reached[-1] / 2)])


def _mixed(positions: Ints) -> U64:
    """A fixed number for each position without any pattern: rows in a cycle must not fall into one half."""
    return mixed_each(0, positions - 1)


def _drawn(start: int, stop: int, end: int, most: int) -> Ints:
    """Positions of a window that are looked at, in order; the draw counts from the newest row, at ``end``."""
    positions = np.arange(start, stop, dtype=np.int64)
    if len(positions) > most:
        chosen = np.argsort(_mixed(end - positions), kind="stable")[:most]
        positions = np.sort(positions[chosen])
    return positions


def _halves(order: Ints, start: int, stop: int, most: int) -> tuple[Ints, Ints]:
    positions = _drawn(start, stop, len(order), most)
    coin = np.argsort(_mixed(len(order) - positions + 1_000_003), kind="stable")
    half = len(coin) // 2
    return order[np.sort(positions[coin[:half]])], order[np.sort(positions[coin[half:]])]


def _span(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.2g} {unit}" if seconds < 100 * size else f"{seconds / size:,.0f} {unit}"
    return f"{seconds:.0f} s"
