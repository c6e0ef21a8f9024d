"""What ``advisor stress`` is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pkadvisor.engine.capacity.capacity import Enforcement
from pkadvisor.errors import UsageError, did_you_mean
from pkadvisor.inputs import AnalyzeRequest
from pkadvisor.numbers import MONTH_S
from pkadvisor.observe.design_file.units import UnitError, parse_duration, parse_latency_ms, parse_share
from pkadvisor.observe.profile.profile_file import is_document
from pkadvisor.rest.target import Target
from pkadvisor.stress.load.faults import ServerDown
from pkadvisor.stress.requests.retry import Backoff, policy_of
from pkadvisor.values import dataclass

DURATION_S = 600.0
"""How long a run lasts in its own time where its figures do not say (``run_duration.py``): a table that was one range
has been split by then."""
DURATION_MOST_S = 86_400.0
REQUESTS_MOST = 200_000_000
"""Requests of one run, at most: beyond it a run takes longer than anybody waits."""
CLIENTS_MOST = 100_000
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
    out = []
    for text in (part.strip() for whole in texts for part in whole.split(",")):
        name, equals, value = text.partition("=")
        if name not in GOALS or not equals:
            hint = did_you_mean(name, GOALS)
            what = f"'{text}' is not a goal" + (f"; {hint}" if hint and name not in GOALS else "")
            raise UsageError(what, where="--slo", fix=f"NAME=VALUE with one of {', '.join(GOALS)}; e.g. p99=50ms")
        try:
            most = parse_latency_ms(value) if name.startswith("p") else parse_share(value)
        except (UnitError, ValueError) as error:
            raise UsageError(str(error), where=f"--slo {name}", fix="e.g. p99=50ms or throttled=0.1%") from None
        out.append(Goal(name, most))
    return tuple(out)


def parse_seconds(text: str, where: str, most: float) -> float:
    """A duration above nothing; UsageError for anything else."""
    try:
        seconds = parse_duration(text)
    except (UnitError, ValueError) as error:
        raise UsageError(str(error), where=where, fix="e.g. 10m or 90s") from None
    if not 0 < seconds <= most:
        raise UsageError(f"{text} is not between 0 and {most / 86_400:g} days", where=where, fix="e.g. 10m or 90s")
    return seconds


def parse_think(text: str) -> float:
    """A time to think in seconds, nothing included; UsageError for anything else."""
    return 0.0 if text.strip() in ("0", "0s", "0ms") else parse_seconds(text, "--think", 3600.0)


def check_size(requests: float, duration_s: float) -> None:
    """UsageError where a run would have more requests than ``REQUESTS_MOST``."""
    if requests <= REQUESTS_MOST:
        return
    seconds = int(duration_s * REQUESTS_MOST / requests)
    what = f"{requests:,.0f} requests are more than a run may have, which is {REQUESTS_MOST:,}"
    shorter = f"--duration {seconds}s" if seconds else "a smaller --load"
    raise UsageError(what, where="--load", fix=f"{shorter} would do; warmed-up figures do not need longer runs")


def check_replay(reading: AnalyzeRequest) -> None:
    """UsageError where ``--load trace`` has no log: before anything is read."""
    fix = "give the log with --log FILE, or leave --load out: then the worst minute is sent, which needs none"
    if not reading.logs:
        raise UsageError("there is no log to replay", where="--load trace", fix=fix)
    if all(is_document(path) for path in reading.logs):
        raise UsageError("a profile holds no single requests to replay", where="--load trace", fix=fix)


def check_replayed(logged: bool, table: str) -> None:
    """UsageError for a table of which the log that is to be replayed has no request."""
    if not logged:
        fix = "give a log that has some, or leave --load out: then the worst minute is sent, which needs none"
        raise UsageError(f"no request of {table} is in the log", where="--load trace", fix=fix)


def check_faults(faults: Sequence[ServerDown], servers: int, duration_s: float) -> None:
    """UsageError for a fault of a server that is not there, or after the run."""
    names = server_names(servers)
    for fault in faults:
        if fault.server and fault.server not in names:
            known = names[0] if servers == 1 else f"{names[0]} to {names[-1]}"
            hint = did_you_mean(fault.server, names)
            what = f"there is no server '{fault.server}'" + (f"; {hint}" if hint else "")
            raise UsageError(what, where=f"--fault {fault}", fix=f"there are {known}; --servers N makes more")
        if fault.at_ns >= duration_s * 1e9:
            what = f"the run is over after {duration_s:g} s"
            raise UsageError(what, where=f"--fault {fault}", fix="an earlier fault, or a longer --duration")


def check_flashes(at_s: Iterable[float], duration_s: float) -> None:
    """UsageError for a flash crowd after the run: it would seem to have been borne."""
    for moment in at_s:
        if moment >= duration_s:
            what = f"a flash crowd after {moment:g} s, when the run is over ({duration_s:g} s)"
            raise UsageError(what, where="--load", fix="an earlier one, or a longer --duration")


def server_names(servers: int) -> tuple[str, ...]:
    """What the partition servers of a run are called."""
    return tuple(f"server-{each}" for each in range(servers))


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

    ``duration_s``: None for as long as the figures of each run need. ``scheme``: the number in the ranking to run
    beside the current keys, in place of the recommended one. ``result``: a result file that supplies the schemes.
    ``partition``: a PartitionKey for the single-partition test, or ``hottest``. ``clients``: so many that send their
    next request ``think_s`` after an answer, on ``vms`` machines that let each a few be under way; None: no closed
    loop. ``audited_requests``: so many at the most are run on the embedded engine, with rows; ``engine``: all of the
    warmed-up run. ``sample_keys``: of so many PartitionKeys, at the most; None: of as many as usual.
    """

    reading: AnalyzeRequest
    result: str | None = None
    scheme: int | None = None
    load: str = "x1"
    growth_months: float = 0.0
    duration_s: float | None = None
    retry: str = "current"
    enforcement: Enforcement = Enforcement.STRICT
    servers: int = SERVERS
    faults: tuple[str, ...] = ()
    goals: tuple[Goal, ...] = ()
    partition: str | None = None
    clients: int | None = None
    think_s: float = 0.0
    vms: int | None = None
    find_limit: bool = False
    audited_requests: int = 20_000
    engine: bool = False
    sample_keys: int | None = None
    accelerate: bool | None = None
    seed: int = 0
    real: RealTarget | None = None

    @property
    def longest_s(self) -> float:
        """How long a run lasts at the most in its own time."""
        return DURATION_S if self.duration_s is None else self.duration_s

    @property
    def retry_policy(self) -> Backoff:
        """What clients do with a refusal, by the seed of the run. UsageError for a text that names no policy."""
        return policy_of(self.retry, self.seed)
