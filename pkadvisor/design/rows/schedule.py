"""When the classes of a workload are busy together: the minutes that can be the worst for some partition.

A load is a sum over classes, each at the rate that it has in that minute. The highest load of any resource is reached
in a minute that no other one equals or passes in every class, so only those are kept. A class without times (a declared
one) is taken to be at its peak in every minute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Bools, Floats, Ints, np
from pkadvisor.observe.minutes import DAY, MinuteSeries, bounded
from pkadvisor.observe.workload import Basis, QueryClass, Rate, Workload
from pkadvisor.values import dataclass

ROWS_MAX = 1024
"""Worst minutes that are kept apart; of more, neighbouring ones are taken as one, at the peak of each class in them."""


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """Rates as shares of each class's sustained peak, one column a class.

    ``peaks``: a row for each minute that can be the worst. ``mean``: on average. ``seconds``: a row for each busiest
    second of a class, the others as in that minute; no row where no second is known to be busier than the minutes.
    ``bursts_refused``: whether ``peaks`` holds the rows of ``seconds`` too, as the service refused requests in them.
    ``basis``: counted where a log tells the times of all classes, declared where a design file tells those that no log
    does, else assumed. ``coarse``: how many minutes a row stands for at most.
    """

    columns: Mapping[str, int]
    peaks: Floats
    mean: Floats
    seconds: Floats
    basis: Basis = Basis.ASSUMED
    coarse: int = 1
    bursts_refused: bool = False

    def with_seconds_as_peaks(self) -> Schedule:
        """As it is where the service takes no burst: a busiest second counts as a minute does."""
        return replace(self, peaks=np.concatenate([self.peaks, self.seconds]), bursts_refused=True)

    def peak(self, by_class: Mapping[str, float]) -> float:
        """The highest sum of values that classes reach at their peaks, each at its share of one minute."""
        totals = np.zeros(self.peaks.shape[1])
        for name, value in by_class.items():
            totals[self.columns.get(name, 0)] += value
        return float((self.peaks * totals).sum(axis=1).max())


def schedule_of(workload: Workload, population: Population) -> Schedule:
    """The schedule of a workload; computed once for a population."""
    known = population.memo.get("schedule")
    if known is None or known[0] is not workload:
        schedule = make_schedule(workload.classes, workload.minutes)
        known = (workload, schedule.with_seconds_as_peaks() if workload.bursts_refused else schedule)
        population.memo["schedule"] = known
    schedule = known[1]
    assert isinstance(schedule, Schedule)
    return schedule


@cache
def all_at_once() -> Schedule:
    """The schedule of classes that nobody tells apart."""
    return Schedule({}, np.ones((1, 1)), np.ones(1), np.zeros((0, 1)))


def make_schedule(classes: Sequence[QueryClass], minutes: Mapping[str, MinuteSeries]) -> Schedule:
    """The worst minutes and busiest seconds of some classes."""
    columns = {name: i for i, name in enumerate(sorted(c.name for c in classes))}
    rated = {c.name: c.rate for c in classes if c.rate.sustained_per_s > 0}
    mean = _means(rated, columns)
    series, windows = timed(rated, minutes)
    if not series and not windows:
        return Schedule(columns, np.ones((1, len(columns))), mean, np.zeros((0, len(columns))))
    at, shares = _shares(series, windows, columns, mean)
    of_day = bool(windows) or any(s.of_day for s in series.values())
    seconds = _seconds(rated, series, columns, at, shares, of_day)
    coarse, rows = 1, _worst(shares)
    while len(rows) > ROWS_MAX:
        coarse *= 2
        groups = np.arange(len(shares)) // coarse
        rows = _worst(np.maximum.reduceat(shares, np.flatnonzero(np.diff(groups, prepend=-1)), axis=0))
    known = len(series) + len(windows) == len(rated)
    basis = Basis.ASSUMED if not known else Basis.DECLARED if windows else Basis.COUNTED
    return Schedule(columns, rows, mean, seconds, basis, coarse)


def shares_by_minute(rates: Mapping[str, Rate], minutes: Mapping[str, MinuteSeries]) -> tuple[dict[str, int], Floats]:
    """(column of each class, shares of its peak that each reaches: one row for every minute that is told apart)."""
    columns = {name: i for i, name in enumerate(sorted(rates))}
    rated = {name: rate for name, rate in rates.items() if rate.sustained_per_s > 0}
    series, windows = timed(rated, minutes)
    if not series and not windows:
        return columns, np.ones((1, len(columns)))
    return columns, _shares(series, windows, columns, _means(rated, columns))[1]


def _means(rated: Mapping[str, Rate], columns: Mapping[str, int]) -> Floats:
    mean = np.ones(len(columns))
    for name, rate in rated.items():
        mean[columns[name]] = rate.mean_per_s / rate.sustained_per_s
    return mean


def timed(
    rated: Mapping[str, Rate], minutes: Mapping[str, MinuteSeries]
) -> tuple[dict[str, MinuteSeries], dict[str, tuple[int, int]]]:
    """(the minutes of the classes that a log times, the declared hours of the others); both by the same clock."""
    series = {name: minutes[name] for name in rated if name in minutes and minutes[name].at}
    windows = {n: r.peak_at for n, r in rated.items() if r.peak_at is not None and n not in series}
    if windows:
        series = {name: s.by_day() for name, s in series.items()}
    return bounded(series), windows


def in_hours(minutes: Ints, window: tuple[int, int]) -> Bools:
    """Which minutes of the day lie in a window, which may go over midnight."""
    start, stop = window
    inside = (minutes >= start) & (minutes < stop) if start < stop else (minutes >= start) | (minutes < stop)
    return np.asarray(inside)


def _shares(
    series: Mapping[str, MinuteSeries],
    windows: Mapping[str, tuple[int, int]],
    columns: Mapping[str, int],
    mean: Floats,
) -> tuple[Ints, Floats]:
    """(the minutes, the share of its peak that each class reaches in each)."""
    minutes = {m for s in series.values() for m in s.at}
    at = np.arange(DAY) if windows else np.array(sorted(minutes), dtype=np.int64)
    shares = np.ones((len(at), len(columns)))
    for name, window in windows.items():
        shares[:, columns[name]] = np.where(in_hours(at, window), 1.0, mean[columns[name]])
    for name, seen in series.items():
        counts = np.array(seen.requests, dtype=np.float64)
        shares[:, columns[name]] = 0.0
        shares[np.searchsorted(at, seen.at), columns[name]] = counts / counts.max()
    return at, shares


def _seconds(
    rated: Mapping[str, Rate],
    series: Mapping[str, MinuteSeries],
    columns: Mapping[str, int],
    at: Ints,
    shares: Floats,
    of_day: bool,
) -> Floats:
    """A row for each class that has a busiest second above its minutes: that class so, the others as in that minute."""
    rows = []
    for name, minute_series in series.items():
        rate = rated[name]
        if minute_series.burst_at is None or rate.peak_per_s <= rate.sustained_per_s:
            continue
        minute = minute_series.burst_at % DAY if of_day else minute_series.burst_at
        place = min(int(np.searchsorted(at, minute)), len(at) - 1)
        row = shares[place].copy()
        # Classes whose busiest second lies in the same minute are taken to have it at once.
        for other, same in series.items():
            theirs = rated[other]
            if same.burst_at == minute_series.burst_at:
                row[columns[other]] = max(row[columns[other]], theirs.peak_per_s / theirs.sustained_per_s)
        rows.append(row)
    return np.unique(np.array(rows), axis=0) if rows else np.zeros((0, shares.shape[1]))


def _worst(shares: Floats) -> Floats:
    """The rows that no other row equals or passes in every column, in an order that depends on their values alone."""
    rows = np.unique(shares, axis=0)
    rows = rows[np.argsort(-rows.sum(axis=1), kind="stable")]
    out: list[int] = []
    front = np.zeros((0, rows.shape[1]))
    for number, row in enumerate(rows):
        if len(out) > ROWS_MAX:
            break  # too many to keep apart: the caller takes neighbours together
        # A row that passes another has the larger sum, so it comes first.
        if not len(front) or not (front >= row).all(axis=1).any():
            out.append(number)
            front = rows[out]
    return rows[out]
