"""The time of a heat map: which moments it shows, and how busy each class is in each of them.

A log says it minute by minute. A design file says when a day has its peaks. Where neither does, every class is taken at
its declared peak, and only the order in which entities arrived gives the map a time.
"""

from __future__ import annotations

from collections.abc import Mapping

from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.schedule import Schedule, in_hours, timed
from pkadvisor.lazy import Floats, Ints, np
from pkadvisor.numbers import amount
from pkadvisor.observe.minutes import DAY, MinuteSeries
from pkadvisor.observe.workload import Basis, Rate, Workload
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

COLUMNS_MAX = 192
"""Columns of a heat map."""
STEPS_S = (
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 14_400, 21_600, 43_200, 86_400, 172_800,
    604_800, 1_209_600, 2_592_000, 7_776_000, 31_536_000,
)  # fmt: skip
"""Lengths of a column, in seconds: what people count time in."""
US = 1_000_000
MINUTE_S = 60
CENTRAL = 0.99
"""Share of the arrivals that the map shows where the others lie far outside; those fall into its ends."""
OWN_TIME = 0.5
"""Share of the arrivals within a log's time from which on entities are put down at their own time."""


@dataclass(frozen=True, slots=True, eq=False)
class HeatClock:
    """Moments of a map, one row each in ``peaks`` and ``means``, in time order; ``column_of`` gives their column.

    Both hold shares of each class's sustained peak, one column a class as in the ``Schedule``: ``peaks`` what it may
    reach in that moment, ``means`` what it has on average. ``start_us``: µs since 1970, None where the map shows a day
    or an order and no date. ``arrival_columns``: the column of each data row, None where the rows are replayed in their
    order. ``basis`` is that of the rates over time.
    """

    start_us: int | None
    step_s: float
    columns: int
    column_of: Ints
    peaks: Floats
    means: Floats
    arrival_columns: Ints | None
    basis: Basis
    note: str

    def column_means(self) -> Floats:
        """The mean share of each class in each column."""
        out = np.zeros((self.columns, self.means.shape[1]))
        counts = np.bincount(self.column_of, minlength=self.columns)
        for at in range(self.means.shape[1]):
            out[:, at] = np.bincount(self.column_of, weights=self.means[:, at], minlength=self.columns)
        means: Floats = out / np.maximum(counts, 1)[:, None]
        return means


def clock_of(workload: Workload, population: Population, schedule: Schedule) -> HeatClock:
    """The time that is known of a workload: a log's minutes, else a day with its peaks, else the arrivals."""
    rated = {c.name: c.rate for c in workload.classes if c.rate.sustained_per_s > 0}
    series, windows = timed(rated, workload.minutes)
    if not series and not windows:
        return _of_arrivals(population, schedule)
    if windows or any(series.of_day for series in series.values()):
        return _of_day(rated, series, windows, schedule)
    return _of_log(rated, series, population, schedule)


def _of_log(
    rated: Mapping[str, Rate], series: Mapping[str, MinuteSeries], population: Population, schedule: Schedule
) -> HeatClock:
    """The minutes of a log."""
    busy = np.unique(np.concatenate([np.array(minute_series.at, dtype=np.int64) for minute_series in series.values()]))
    step_s, start_s, columns = _columns(int(busy[0]) * MINUTE_S, (int(busy[-1]) + 1) * MINUTE_S, MINUTE_S)
    # A minute without a request counts in a mean; one a column is enough where a log has long gaps.
    whole = np.arange(busy[0], busy[-1] + 1) if busy[-1] - busy[0] < 7 * DAY else busy
    first = np.arange(columns) * step_s // MINUTE_S + start_s // MINUTE_S
    minutes = np.union1d(whole, first[first <= busy[-1]])
    peaks, means = _constant(schedule, len(minutes))
    _put_series(series, schedule, minutes, peaks, means)
    column_of = ((minutes * MINUTE_S - start_s) // step_s).astype(np.int64)
    arrived = _arrival_columns(population, start_s, step_s, columns)
    known = len(series) == len(rated)
    note = f"requests are counted in each minute of the log, {_span(step_s)} a column"
    if not known:
        others = ", ".join(sorted(set(rated) - set(series)))
        note += f"; {others} may be at the declared peak at any time"
    basis = Basis.COUNTED if known else Basis.ASSUMED
    return HeatClock(start_s * US, float(step_s), columns, column_of, peaks, means, arrived, basis, note)


def _of_day(
    rated: Mapping[str, Rate],
    series: Mapping[str, MinuteSeries],
    windows: Mapping[str, tuple[int, int]],
    schedule: Schedule,
) -> HeatClock:
    """A day in UTC: the declared hours of peaks, and the busiest of each minute in a long log."""
    minutes = np.arange(DAY, dtype=np.int64)
    step = next(s // MINUTE_S for s in STEPS_S if s >= MINUTE_S and s * COLUMNS_MAX >= DAY * MINUTE_S)
    peaks, means = _constant(schedule, DAY)
    for name, window in windows.items():
        at = schedule.columns[name]
        peaks[:, at] = means[:, at] = np.where(in_hours(minutes, window), 1.0, schedule.mean[at])
    _put_series(series, schedule, minutes, peaks, means)
    said = []
    if windows:
        said.append("peaks are at the hours that the design declares, and rates are means outside them")
    if series:
        said.append("of a log each minute of the day is as busy as on its busiest day")
    others = sorted(set(rated) - set(series) - set(windows))
    if others:
        said.append(f"{', '.join(others)} may be at the declared peak at any time")
    basis = Basis.ASSUMED if others else Basis.DECLARED if windows else Basis.COUNTED
    note = f"a day in UTC, {_span(step * MINUTE_S)} a column: " + "; ".join(said)
    return HeatClock(None, float(step * MINUTE_S), -(-DAY // step), minutes // step, peaks, means, None, basis, note)


def _of_arrivals(population: Population, schedule: Schedule) -> HeatClock:
    """Every class at its declared peak all the time; columns are those of the arrivals."""
    what = "nothing tells when which class is busy, so each is drawn at its declared peak all the time"
    moments = _moments(population)
    if moments is not None:
        low, high = _central(moments)
        if high > low:
            step_s, start_s, columns = _columns(int(low) // US, int(high) // US + 1, 1)
            arrived = _arrival_columns(population, start_s, step_s, columns)
            peaks, means = _constant(schedule, columns)
            note = f"{what}; the time is that in which the sampled entities arrived, {_span(step_s)} a column"
            at = np.arange(columns, dtype=np.int64)
            return HeatClock(start_s * US, float(step_s), columns, at, peaks, means, arrived, Basis.ASSUMED, note)
    if population.arrival_order() is not None and population.rows > 1 and population.arrival not in population.hashed:
        columns = min(COLUMNS_MAX, population.rows)
        peaks, means = _constant(schedule, columns)
        note = f"{what}; the columns follow the sampled entities in their order, without times"
        at = np.arange(columns, dtype=np.int64)
        return HeatClock(None, 0.0, columns, at, peaks, means, None, Basis.ASSUMED, note)
    peaks, means = _constant(schedule, 1)
    note = f"{what}; no order of arrival is known, so there is one column"
    return HeatClock(None, 0.0, 1, np.zeros(1, dtype=np.int64), peaks, means, None, Basis.ASSUMED, note)


def _constant(schedule: Schedule, moments: int) -> tuple[Floats, Floats]:
    """(peaks, means) of classes of which no time is known."""
    width = max(1, len(schedule.columns))
    return np.ones((moments, width)), np.repeat(schedule.mean[None, :width], moments, axis=0)


def _put_series(
    series: Mapping[str, MinuteSeries], schedule: Schedule, minutes: Ints, peaks: Floats, means: Floats
) -> None:
    for name, seen in series.items():
        counts = np.array(seen.requests, dtype=np.float64)
        shares = np.zeros(len(minutes))
        shares[np.searchsorted(minutes, seen.at)] = counts / counts.max()
        at = schedule.columns[name]
        peaks[:, at] = means[:, at] = shares


def _columns(start_s: int, stop_s: int, least_s: int) -> tuple[int, int, int]:
    """(seconds of a column, where the first begins, columns): whole steps that hold [start, stop)."""
    for step in (s for s in STEPS_S if s >= least_s):
        first = start_s // step * step
        columns = -(-(stop_s - first) // step)
        if columns <= COLUMNS_MAX:
            return step, first, columns
    step = -(-(stop_s - start_s) // COLUMNS_MAX)
    return step, start_s, -(-(stop_s - start_s) // step)


def _moments(population: Population) -> Ints | None:
    """When each data row arrived, in µs; None where the arrival is no time or its values are hidden."""
    name = population.arrival
    if name is None or name in population.hashed or not population.has(name) or not population.rows:
        return None
    if population.types.get(name) is not EdmType.DATETIME or not len(population.coded(name).values):
        return None
    numbers: Ints = population.numbers(name, np.arange(population.rows, dtype=np.int64)).astype(np.int64)
    return numbers


def _central(moments: Ints) -> tuple[int, int]:
    """The first and the last moment, without the few that lie farther out than all others together are long."""
    ordered = np.sort(moments)
    out = int(len(ordered) * (1 - CENTRAL) / 2)
    low, high = int(ordered[out]), int(ordered[-1 - out])
    if high - low < (int(ordered[-1]) - int(ordered[0])) / 2 and high > low:
        return low, high
    return int(ordered[0]), int(ordered[-1])


def _arrival_columns(population: Population, start_s: int, step_s: int, columns: int) -> Ints | None:
    """The column in which each data row arrived; None where too few arrived in the time of the map."""
    moments = _moments(population)
    if moments is None:
        return None
    at = (moments // US - start_s) // step_s
    inside = (at >= 0) & (at < columns)
    if float(inside.mean()) < OWN_TIME:
        return None
    return np.asarray(np.clip(at, 0, columns - 1), dtype=np.int64)


def _span(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{amount(seconds / size)} {unit}"
    return f"{seconds:g} s"
