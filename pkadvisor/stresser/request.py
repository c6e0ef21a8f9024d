"""What ``advisor stress`` is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pkadvisor.advisor import AnalyzeRequest
from pkadvisor.engine.capacity.capacity import Enforcement
from pkadvisor.errors import UsageError, did_you_mean
from pkadvisor.observe.units import UnitError, parse_duration, parse_latency_ms, parse_share

if TYPE_CHECKING:
    from pkadvisor.rest.target import Target

DURATION_S = 600.0
"""How long the default run lasts in its own time: a table that was one range has been split by then."""
DURATION_MOST_S = 86_400.0
MONTH_S = 30.4375 * 86_400
SERVERS = 8
"""Partition servers of the stamp that share the table: assumed."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A service level, at most ``most``: ``p50``, ``p99``, ``p99.9`` in ms; shares: ``throttled``, ``lost``."""

    name: str
    most: float

    @property
    def unit(self) -> str:
        """Of ``most``."""
        return "ms" if self.name.startswith("p") else "share"


GOALS = ("p50", "p99", "p99.9", "throttled", "lost")


def parse_goals(texts: tuple[str, ...]) -> tuple[Goal, ...]:
    """``p99=50ms``, ``throttled=0.1%``, several with commas; UsageError for anything else."""
    found = []
    for text in (part.strip() for whole in texts for part in whole.split(",")):
        name, equals, value = text.partition("=")
        if name not in GOALS or not equals:
            hint = did_you_mean(name, GOALS)
            what = f"'{text}' is no goal" + (f"; {hint}" if hint and name not in GOALS else "")
            raise UsageError(what, where="--slo", fix=f"NAME=VALUE with one of {', '.join(GOALS)}; e.g. p99=50ms")
        try:
            most = parse_latency_ms(value) if name.startswith("p") else parse_share(value)
        except (UnitError, ValueError) as error:
            raise UsageError(str(error), where=f"--slo {name}", fix="e.g. p99=50ms or throttled=0.1%") from None
        found.append(Goal(name, most))
    return tuple(found)


def parse_seconds(text: str, where: str, most: float) -> float:
    """A duration above nothing; UsageError for anything else."""
    try:
        seconds = parse_duration(text)
    except (UnitError, ValueError) as error:
        raise UsageError(str(error), where=where, fix="e.g. 10m or 90s") from None
    if not 0 < seconds <= most:
        raise UsageError(f"{text} is not between 0 and {most / 86_400:g} days", where=where, fix="e.g. 10m or 90s")
    return seconds


def parse_months(text: str | None) -> float:
    """Months of ``12m``, ``12 months`` or ``1 year``; 0 of nothing. UsageError for anything else."""
    if text is None:
        return 0.0
    number = text.strip().removesuffix("m")
    try:
        months = float(number) if number != text.strip() else parse_duration(text) / MONTH_S
    except (UnitError, ValueError):
        months = -1.0
    if not 0 < months <= 120:
        raise UsageError(f"'{text}' is no time of growth", where="--growth", fix="e.g. 12m: twelve months")
    return months


@dataclass(frozen=True, slots=True)
class RealTarget:
    """A real endpoint to run the load on. ``start`` (ISO) is when the run starts: tables are named by it.

    ``concurrency``: operations under way at once, at most; ``transactions_max``: sent in all, at most.
    """

    target: Target
    start: str
    concurrency: int = 64
    transactions_max: int = 100_000


@dataclass(frozen=True, slots=True)
class StressRequest:
    """What the command line asks for. ``load``, ``retry``, ``faults`` as typed; they are read where they are used.

    ``scheme``: the number in the ranking to run beside the current keys, in place of the recommended one. ``result``:
    a result file that supplies the schemes. ``partition``: a PartitionKey for the single-partition test, or
    ``hottest``.
    """

    reading: AnalyzeRequest
    result: str | None = None
    scheme: int | None = None
    load: str = "x1"
    growth_months: float = 0.0
    duration_s: float = DURATION_S
    retry: str = "current"
    enforcement: Enforcement = Enforcement.STRICT
    servers: int = SERVERS
    faults: tuple[str, ...] = ()
    goals: tuple[Goal, ...] = ()
    partition: str | None = None
    find_limit: bool = False
    audited_requests: int = 1000
    accelerate: bool | None = None
    seed: int = 0
    real: RealTarget | None = None
