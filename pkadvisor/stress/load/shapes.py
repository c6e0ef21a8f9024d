"""The rate of each class over the time of a run: the worst minute, the mean, the minutes of a day, spikes.

The cost model weighs a class by its *sustained* rate (the busiest minute) and adds up what can be busy together
(``design/rows/schedule.py``). The default shape holds that minute for the whole run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.rows.schedule import in_hours, schedule_of, timed
from pkadvisor.errors import UsageError
from pkadvisor.lazy import Floats, np
from pkadvisor.numbers import amount, ratio
from pkadvisor.observe.minutes import DAY, MinuteSeries
from pkadvisor.observe.workload import GrowthOf, QueryClass, Workload
from pkadvisor.stress.load.arrivals import SECOND_NS, Steps
from pkadvisor.stress.load.load_text import LoadSpec

MINUTE_NS: Final = 60 * SECOND_NS


def rates(
    bench: Bench,
    classes: Sequence[QueryClass],
    spec: LoadSpec,
    duration_ns: int,
    weigh: Mapping[str, float] | None = None,
) -> tuple[dict[str, Steps], list[str]]:
    """(the rate over time of each class, notes), without ``spec.factor``."""
    notes = [f"{c.name}: its rate is not known, so it is never sent" for c in classes if c.rate.sustained_per_s <= 0]
    if spec.base == "diurnal":
        per_class, more = diurnal(bench.workload, classes, duration_ns)
        notes += more
    elif spec.base == "spikes":
        per_class = {c.name: _spikes(c, duration_ns) for c in classes}
    else:
        shares = worst_minute(bench, weigh) if spec.base == "peak" else {}
        per_class = {}
        for query in classes:
            rate = query.rate
            per_s = rate.mean_per_s if spec.base == "mean" else rate.sustained_per_s * shares.get(query.name, 1.0)
            per_class[query.name] = Steps.flat(per_s)
    shape = spec.shape(duration_ns)
    return {name: steps.times(shape) for name, steps in per_class.items()}, notes


def worst_minute(bench: Bench, weigh: Mapping[str, float] | None = None) -> dict[str, float]:
    """Each class's share of its sustained rate in the minute that loads most.

    ``weigh``: what each class loads at its peak; None: its entities written, or its requests.
    """
    schedule = schedule_of(bench.workload, bench.population)
    if weigh is None:
        queries = [d.query for d in bench.demands if not d.query.analytic]
        weigh = {q.name: q.rate.sustained_per_s * q.entities_per_request for q in queries}
    loads = np.zeros(schedule.peaks.shape[1])
    for name, load in weigh.items():
        loads[schedule.columns[name]] += load
    worst = schedule.peaks[int(np.argmax((schedule.peaks * loads).sum(axis=1)))]
    return {name: float(worst[column]) for name, column in schedule.columns.items()}


def diurnal(workload: Workload, classes: Sequence[QueryClass], duration_ns: int) -> tuple[dict[str, Steps], list[str]]:
    """The minutes one after the other: of the log, or of the day where some class is known by the day alone.

    A run that is shorter than they are begins where as many minutes have the most requests; a longer one begins at the
    first minute, and a day begins again. A class without times is at its sustained rate all the time.
    """
    rated = {c.name: c.rate for c in classes if c.rate.sustained_per_s > 0}
    series, windows = timed(rated, workload.minutes)
    if not series and not windows:
        what = "no class says when it is busy"
        raise UsageError(
            what, where="--load", fix="pass a log with times, or give the peaks a time of day in the design"
        )
    of_day = bool(windows) or any(s.of_day for s in series.values())
    first = 0 if of_day else min(s.at[0] for s in series.values())
    length = DAY if of_day else max(s.at[-1] for s in series.values()) - first + 1
    per_minute = {n: _shares(s, first, length) * rated[n].sustained_per_s for n, s in series.items()}
    for name, window in windows.items():
        per_minute[name] = np.where(
            in_hours(np.arange(DAY), window), rated[name].sustained_per_s, rated[name].mean_per_s
        )
    minutes = max(1, -(-duration_ns // MINUTE_NS))
    begin = 0
    if minutes < length:
        total = np.sum(list(per_minute.values()), axis=0)
        around = np.concatenate([total, total[: minutes - 1]]) if of_day else total
        sums = np.concatenate([[0.0], np.cumsum(around)])
        begin = int(np.argmax(np.round(sums[minutes:] - sums[:-minutes], 6)))
    taken = (begin + np.arange(minutes)) % length
    edges = tuple(range(0, minutes * MINUTE_NS, MINUTE_NS))
    steps = {n: _steps(edges, values[taken].tolist()) for n, values in per_minute.items()}
    always = [n for n in rated if n not in steps]
    flat = {c.name: Steps.flat(c.rate.sustained_per_s) for c in classes if c.name not in steps}
    notes = [f"{', '.join(always)}: nobody knows when; taken to be at the peak all the time"] if always else []
    clock = f"{(first + begin) % DAY // 60:02}:{(first + begin) % DAY % 60:02}"
    notes.append(f"the run begins at {clock} UTC of {'the day' if of_day else 'the log'}")
    if not of_day and minutes > length:
        notes.append("the run is longer than the log, which begins again at its end")
    return {**flat, **steps}, notes


class Grown(NamedTuple):
    """The declared growth after some months: how many times the ``rates`` and the ``rows_per_key`` are of today's."""

    rates: float = 1.0
    rows_per_key: float = 1.0
    notes: tuple[str, ...] = ()


def grown_by(workload: Workload, months: float) -> Grown:
    """What grows, and by how much. Raises UsageError where no growth is declared."""
    growth = workload.growth
    if growth is None:
        what = "no growth is declared"
        raise UsageError(what, where="--growth", fix="declare 'growth:' in the design file, or use --load x2")
    factor = float(growth.factor_per_month**months)
    if growth.of is GrowthOf.RATE:
        return Grown(rates=factor)
    if growth.of is GrowthOf.ROWS_PER_KEY:
        note = f"each key has {ratio(factor)} its rows of today: scans read and return so many more, at today's rates"
        return Grown(rows_per_key=factor, notes=(note,))
    note = f"new keys grow to {ratio(factor)} those of today: each key keeps its load, so the load is that of today"
    return Grown(notes=(f"{note}; --load x{amount(factor)} tests that all of them fall into today's partitions",))


def _shares(series: MinuteSeries, first: int, length: int) -> Floats:
    """Each minute's share of the busiest one; 0 in minutes without requests."""
    out = np.zeros(length)
    counts = np.array(series.requests, dtype=np.float64)
    out[np.array(series.at, dtype=np.int64) - first] = counts / counts.max()
    return out


def _steps(edges: tuple[int, ...], values: list[float]) -> Steps:
    """Pieces of equal rates taken together."""
    changes = [i for i, value in enumerate(values) if i == 0 or value != values[i - 1]]
    return Steps(tuple(edges[i] for i in changes), tuple(values[i] for i in changes))


def _spikes(query: QueryClass, duration_ns: int) -> Steps:
    """Each minute at its sustained rate on average, one second of it at the rate of the busiest one.

    Where that second alone has more requests than the minute, the rest of the minute has none.
    """
    sustained, peak = query.rate.sustained_per_s, query.rate.peak_per_s
    if peak <= sustained:
        return Steps.flat(sustained)
    rest = max(0.0, (60 * sustained - peak) / 59)
    at, per_s = [], []
    for minute in range(0, max(1, duration_ns), MINUTE_NS):
        at += [minute, minute + 30 * SECOND_NS, minute + 31 * SECOND_NS]
        per_s += [rest, peak, rest]
    return _steps(tuple(at), per_s)
