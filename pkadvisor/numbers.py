"""Numbers as people read them: three digits, a unit, never an exponent."""

from __future__ import annotations

MONTH_S = 365.25 / 12 * 86_400.0
"""Seconds of a mean month; growth, retention and prices do not need the calendar."""


def amount(value: float | None) -> str:
    """A number at three or so digits with thousands separated, never with an exponent."""
    if value is None:
        return "no limit"
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 0.01:
        return f"{value:.3g}"
    return f"{value:.2g}" if abs(value) >= 0.0001 else "<0.0001"


TIMED_OUT_MS = 60_000
"""Beyond a minute a request has timed out long ago."""


def milliseconds(value: float) -> str:
    """A latency; beyond a minute a request has timed out, and the number says nothing more."""
    return "over a minute" if value > TIMED_OUT_MS else f"{amount(value)} ms"


def lasting(seconds: float) -> str:
    """A length of time in one unit or two: ``90 ms``, ``12 s``, ``5 min 10 s``, ``2 h``."""
    if seconds < 1:
        return f"{amount(seconds * 1000)} ms"
    if seconds < 60:
        return f"{amount(seconds)} s"
    whole = round(seconds)
    large, small, first, second = (3600, 60, "h", "min") if whole >= 3600 else (60, 1, "min", "s")
    count, rest = divmod(whole, large)
    return f"{count} {first}" + (f" {rest // small} {second}" if rest // small else "")


FACTOR_MOST = 1000
"""Beyond it a factor says no more than that it is far too much, or far away."""


def ratio(value: float) -> str:
    """How many times a target; beyond a thousand in words."""
    if value > FACTOR_MOST:
        return f"over {FACTOR_MOST:,}x"
    if 0 < value < 0.01:
        return "<0.01x"
    return f"{value:.2f}x" if 0 < value < 1 else f"{amount(value)}x"


def breaks(value: float | None) -> str:
    """At how many times the peak a limit is reached; in words where today's peak is a thousand times too much."""
    if value is not None and value < 1 / FACTOR_MOST:
        return "cannot be served"
    return "never" if value is None else ratio(value)


def rate(value: float | None, like: float | None = None) -> str:
    """A rate in the unit that makes it readable; ``like``: in the unit in which that rate is shown."""
    if value is None:
        return "unknown"
    shown = value if like is None else like
    for unit, seconds in (("s", 1), ("min", 60), ("h", 3600)):
        if shown * seconds >= 1 or shown == 0:
            return f"{amount(value * seconds)}/{unit}"
    return f"{amount(value * 86_400)}/day"


def percent(share: float) -> str:
    """A share in percent."""
    if abs(share) >= 9.995:
        return f"{100 * share:,.0f} %"
    return f"{100 * share:.3g} %" if share == 0 or share >= 0.0001 else "<0.01 %"


def plural(count: int, noun: str) -> str:
    """``1 index row``, ``2 index rows``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
