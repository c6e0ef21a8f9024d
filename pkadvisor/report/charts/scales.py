"""Where a value lies on an axis, and which ticks the axis has.

Ticks are multiples of 1, 2 or 5 times a power of ten, of the usual parts of an hour or a day, or first days of months.
They are counted in whole steps, so that they are the same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from pkadvisor.values import dataclass


class AxisKind(StrEnum):
    """What an axis counts."""

    LINEAR = "linear"
    LOG = "log"
    ELAPSED = "elapsed"
    """Seconds from the start, shown as ``90 s``, ``5 min``, ``2 h``."""
    TIME = "time"
    """Seconds from 1970-01-01, shown as UTC."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis as a chart is given it; without bounds it reaches as far as the values do."""

    label: str
    kind: AxisKind = AxisKind.LINEAR
    unit: str = ""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on an axis and what is written there."""

    value: float
    label: str


@dataclass(frozen=True, slots=True)
class Scale:
    """Values from ``low`` to ``high`` laid on positions from ``start`` to ``end``, with ticks in ascending order."""

    low: float
    high: float
    start: float
    end: float
    log: bool
    ticks: tuple[Tick, ...]

    def at(self, value: float) -> float:
        """The position of a value; beyond an end it is the end."""
        value = min(max(value, self.low), self.high)
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def scale_of(
    axis: Axis, values: Iterable[float], start: float, end: float, *, ticks: int, from_zero: bool = False
) -> Scale:
    """The scale of an axis over the values that it must hold, with about so many ticks.

    ``from_zero``: what is measured begins at nothing, and a linear axis shows it.
    """
    known = [v for v in values if math.isfinite(v)]
    if axis.kind is AxisKind.LOG:
        low, high = _log_bounds(axis, known)
        return Scale(low, high, start, end, True, log_ticks(low, high, ticks))
    low = axis.low if axis.low is not None else min([*known, 0.0] if from_zero or not known else known)
    high = axis.high if axis.high is not None else max([*known, low])
    if not high - low > LEAST:
        half = (abs(low) or 1.0) / 2 if axis.kind is not AxisKind.TIME else float(MINUTE)
        low, high = (low, low + 2 * half) if from_zero else (low - half, low + half)
    if axis.kind is AxisKind.LINEAR:
        step = nice_step(high - low, ticks)
        low = low if axis.low is not None else step * math.floor(low / step + 1e-9)
        high = high if axis.high is not None else step * math.ceil(high / step - 1e-9)
        return Scale(low, high, start, end, False, linear_ticks(low, high, step))
    marks = elapsed_ticks(low, high, ticks) if axis.kind is AxisKind.ELAPSED else time_ticks(low, high, ticks)
    return Scale(low, high, start, end, False, marks)


# -- numbers ----------------------------------------------------------------------------------------------------------


def nice_step(span: float, count: int) -> float:
    """The smallest of 1, 2 or 5 times a power of ten of which at most ``count`` fit into the span."""
    least = span / max(1, count)
    power = math.floor(math.log10(least)) if least > 0 else 0
    for exponent in (power, power + 1):
        for factor in (1, 2, 5):
            step = factor * 10.0**exponent if exponent >= 0 else factor / 10.0**-exponent
            if step >= least * (1 - 1e-9):
                return step
    return 2 * 10.0 ** (power + 1)


def linear_ticks(low: float, high: float, step: float) -> tuple[Tick, ...]:
    """The multiples of a step from ``low`` to ``high``."""
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    largest = max(abs(first), abs(last)) * step
    return tuple(Tick(n * step, number_label(n * step, step, largest)) for n in range(first, last + 1))


SUFFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
PLAIN_MAX = 10_000


def number_label(value: float, step: float, largest: float) -> str:
    """A tick at the digits that its step needs, in the unit of the largest: ``0.05``, ``2,500``, ``40k``, ``1.5M``."""
    if abs(value) < step / 2:
        return "0"
    if largest < PLAIN_MAX:
        return f"{value:.3g}" if step < 1e-6 else f"{value:,.{_digits(step)}f}"
    unit, suffix = next((u, s) for u, s in SUFFIXES if largest >= u)
    if _digits(step / unit) > 3:
        return f"{value:,.{_digits(step)}f}"
    return f"{value / unit:,.{_digits(step / unit)}f}{suffix}"


def _digits(step: float) -> int:
    """Digits behind the point that tell multiples of a step apart."""
    return max(0, -math.floor(math.log10(step) + 1e-9))


DECADES_MAX = 12
LEAST, MOST = 1e-18, 1e18
"""What no chart tells from nothing, and from anything larger."""


def _log_bounds(axis: Axis, known: list[float]) -> tuple[float, float]:
    """Powers of ten around the positive values: at least one decade, at most ``DECADES_MAX`` below the largest."""
    positive = [min(max(v, LEAST), MOST) for v in known if v > 0] or [1.0]
    largest = axis.high if axis.high is not None else max(positive)
    high = axis.high if axis.high is not None else 10.0 ** math.ceil(math.log10(largest) - 1e-9)
    least = max(min(positive), largest / 10.0**DECADES_MAX)
    low = axis.low if axis.low is not None and axis.low > 0 else 10.0 ** math.floor(math.log10(least) + 1e-9)
    return low, high if high > low else low * 10


def log_ticks(low: float, high: float, count: int) -> tuple[Tick, ...]:
    """Powers of ten; with few decades also 2 and 5 times each, with many only every so many."""
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    decades = max(1, last - first)
    factors = (1, 2, 5) if 3 * decades <= count else (1,)
    every = math.ceil(decades / max(1, count))
    out = []
    for power in range(first, last + 1, every):
        for factor in factors:
            value = factor * 10.0**power if power >= 0 else factor / 10.0**-power
            if low * (1 - 1e-9) <= value <= high * (1 + 1e-9):
                thousands = 1000 <= value < PLAIN_MAX <= high  # 1k below 10k, not 1,000
                out.append(Tick(value, number_label(value, value, PLAIN_MAX if thousands else value)))
    return tuple(out)


# -- time -------------------------------------------------------------------------------------------------------------

MINUTE, HOUR, DAY = 60, 3600, 86_400
STEPS_S = (
    *(1, 2, 5, 10, 15, 30),
    *(n * MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * HOUR for n in (1, 2, 3, 6, 12)),
    *(n * DAY for n in (1, 2, 7, 14, 28)),
)
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
UNITS = ((DAY, "d"), (HOUR, "h"), (MINUTE, "min"), (1, "s"))
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_S, LAST_S = -62_135_596_800, 253_402_300_799
"""The years 1 to 9999."""


def elapsed_ticks(low: float, high: float, count: int) -> tuple[Tick, ...]:
    """Lengths of time in one unit: the largest of which the step is a multiple."""
    least = (high - low) / max(1, count)
    if least <= 1:
        step = nice_step(high - low, count)
        return tuple(
            Tick(t.value, "0" if t.label == "0" else f"{t.label} s") for t in linear_ticks(low, high, max(step, 1e-9))
        )
    whole = next((step for step in STEPS_S if step >= least), None)
    step = whole if whole is not None else DAY * nice_step((high - low) / DAY, count)
    unit, name = next((u, n) for u, n in UNITS if step % u == 0 or u == 1)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(
        Tick(n * step, "0" if n == 0 else f"{number_label(n * step / unit, step / unit, last * step / unit)} {name}")
        for n in range(first, last + 1)
    )


def time_ticks(low: float, high: float, count: int) -> tuple[Tick, ...]:
    """Moments in UTC: times of day under a day's step, then days, first days of months, and years.

    The first tick and each that begins a day carry the date. Moments outside the years 1 to 9999 are lengths of time.
    """
    if low < FIRST_S or high > LAST_S:
        return tuple(Tick(low + tick.value, tick.label) for tick in elapsed_ticks(0.0, high - low, count))
    least = (high - low) / max(1, count)
    step = next((s for s in STEPS_S if s >= least), None)
    if step is None or step > 7 * DAY:
        return _month_ticks(low, high, count)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    moments = [EPOCH + timedelta(seconds=n * step) for n in range(first, last + 1)]
    out = []
    for number, moment in enumerate(moments):
        dated = step >= DAY or number == 0 or (moment.hour, moment.minute, moment.second) == (0, 0, 0)
        clock = f"{moment:%H:%M:%S}" if step < MINUTE else f"{moment:%H:%M}"
        date = f"{moment.day} {MONTHS[moment.month - 1]}"
        at_midnight = clock.strip("0:") == ""
        label = f"{date} {clock}" if dated and not at_midnight and step < DAY else date if dated else clock
        out.append(Tick((moment - EPOCH).total_seconds(), label))
    return tuple(out)


def _month_ticks(low: float, high: float, count: int) -> tuple[Tick, ...]:
    """First days of months or years; the first tick and each January carry the year."""
    begin, end = EPOCH + timedelta(seconds=low), EPOCH + timedelta(seconds=high)
    months = (end.year - begin.year) * 12 + end.month - begin.month
    every = next((m for m in (1, 2, 3, 6, 12) if months / m <= count), 0)
    every = every or 12 * max(1, int(nice_step(months / 12, count)))
    out: list[Tick] = []
    at = begin.year * 12 + begin.month - 1
    at += -at % every
    while at <= end.year * 12 + end.month - 1:
        moment = datetime(at // 12, at % 12 + 1, 1, tzinfo=UTC)
        seconds = (moment - EPOCH).total_seconds()
        if low <= seconds <= high:
            name = MONTHS[moment.month - 1]
            year = f"{moment.year}" if every >= 12 else f"{name} {moment.year}"
            out.append(Tick(seconds, year if not out or moment.month == 1 else name))
        at += every
    return tuple(out)


def moment_label(seconds: float) -> str:
    """A moment in full: ``2026-11-22 09:15:00 UTC``; whole seconds."""
    if not FIRST_S <= seconds <= LAST_S:
        return f"{seconds:.0f} s"
    return f"{(EPOCH + timedelta(seconds=math.floor(seconds))).replace(tzinfo=None)} UTC"


def epoch_s(moment: str) -> float | None:
    """The seconds of an ISO moment (UTC where it names no zone); None where it is none."""
    try:
        time = datetime.fromisoformat(moment)
    except ValueError:
        return None
    return ((time if time.tzinfo else time.replace(tzinfo=UTC)) - EPOCH).total_seconds()
