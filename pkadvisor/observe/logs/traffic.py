"""What the query logs say: requests by class, table and second, counted once each.

``read_traffic`` is the way in; the values it returns are frozen and depend only on the bytes of the logs. A *request*
is a demand of a client: an attempt that repeats a throttled one is a *retry*, a further part of a long answer is a
*page*, a record that the service wrote twice is a *duplicate*, and none of these is demand again.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any, Final

from pkadvisor.lazy import pl
from pkadvisor.observe.logs.frame import Op
from pkadvisor.observe.minutes import MinuteSeries
from pkadvisor.observe.workload import Basis, BusyRequests
from pkadvisor.table.edm import KEYS
from pkadvisor.table.filters import Filter, properties
from pkadvisor.values import dataclass

MAX_BAD_LINES: Final = 0.01
CONFLICT: Final = 412
"""The status of a write whose entity has changed since it was read."""
REFUSED_SHARE: Final = 0.01
"""Refused attempts of a table, of all its attempts, from which on it matters when they were refused."""
BURST_RATIO: Final = 5.0
BURST_LEAST_PER_S: Final = 10.0
"""Requests are refused in bursts where their seconds hold so many times the mean, and at least so many requests."""


@dataclass(frozen=True, slots=True)
class LogWindow:
    """The part of the logs to look at: ``since_us`` ≤ time < ``until_us`` (µs since 1970), ``table`` alone.

    ``account``: the storage account alone.
    """

    since_us: int | None = None
    until_us: int | None = None
    table: str | None = None
    account: str | None = None


@dataclass(frozen=True, slots=True)
class ClassTraffic:
    """One class of requests of a table.

    ``address``: the entity is named by both keys (for reads: a point read; writes name their entity always).
    ``grouped``: parts of group transactions; then a request is one entity written. ``shape``: the filter as
    ``odata.normalise`` gives it (``""``: none); ``filter``: that shape parsed (parameters p0, p1 …), None where there
    is none or it cannot be parsed. ``requests`` = attempts − retries − pages. ``peak_per_s``, ``peak_per_minute``:
    requests in the busiest second and minute, 0 without times. ``mean_per_s``: over the seconds the log covers, None
    without times. ``minutes``: requests in each minute, None without times; all classes of a table per minute of the
    log, or all by minute of the day where the log is long. ``sample``: at most 5,000 requests, uniform, by hash: at_us,
    op_number, pk, rk, filter, literals, params, status. ``busy``: what was asked in the busiest seconds of the table,
    None without times. ``conflicts``: the share of attempts that got 412, where these are left out of all the rest.
    """

    table: str
    op: Op
    address: bool
    grouped: bool
    shape: str
    filter: Filter | None
    pk_equal: bool
    select: str
    top: int | None
    order_by: tuple[str, ...]
    kind: str
    requests: int
    attempts: int
    throttled: int
    retries: int
    pages: int
    first_us: int | None
    last_us: int | None
    mean_per_s: float | None
    peak_per_s: int
    peak_per_minute: int
    sample: pl.DataFrame = field(compare=False)
    minutes: MinuteSeries | None = None
    busy: BusyRequests | None = field(default=None, compare=False)
    conflicts: float = 0.0

    @property
    def reads_all_of(self) -> str:
        """What the requests of a query read whole: ``partition`` where they name a PartitionKey and no RowKey,
        ``table`` where they compare properties alone, else nothing."""
        if self.op != "query" or self.address or self.filter is None:
            return ""
        named = {*KEYS} & {*properties(self.filter)}
        return "table" if not named else "partition" if self.pk_equal and "RowKey" not in named else ""


@dataclass(frozen=True, slots=True)
class HeavyKeys:
    """The PartitionKeys asked for most, the most frequent first.

    Each count is too low by at most ``error`` (0: exact), of ``requests`` that named a PartitionKey.
    """

    keys: tuple[tuple[str, int], ...]
    requests: int
    error: int

    @property
    def basis(self) -> Basis:
        """Counted while exact."""
        return Basis.COUNTED if self.error == 0 else Basis.SKETCHED


@dataclass(frozen=True, slots=True)
class Groups:
    """Group transactions of a table: how many with how many entities (ascending), and some of them.

    A sampled transaction is a tuple of (operation, PartitionKey, RowKey) in the order of its parts; ``params`` are
    theirs, as JSON, where a trace has them.
    """

    transactions: int
    entities: int
    sizes: tuple[tuple[int, int], ...]
    sample: tuple[tuple[tuple[Op, str | None, str | None], ...], ...]
    params: tuple[tuple[str | None, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class TableTraffic:
    """One table: its classes by falling number of requests.

    ``requests`` counts a group transaction once. ``share``: of all attempts of the account.
    """

    name: str
    classes: tuple[ClassTraffic, ...]
    requests: int
    attempts: int
    share: float
    mean_per_s: float | None
    peak_per_s: int
    peak_per_minute: int
    reads: HeavyKeys
    writes: HeavyKeys
    groups: Groups
    fraction: float = 1.0
    """Share of the requests that the log holds; rates are scaled up by it, counts are not."""
    refused_beside_per_s: float = 0.0
    """Requests in the second of a refused one, the mean over the refused ones; 0 where none is."""

    @property
    def bursts_refused(self) -> bool:
        """Whether the service refused at least ``REFUSED_SHARE`` of the attempts, and most of these in bursts."""
        if self.mean_per_s is None:
            return False
        refused = sum(c.throttled for c in self.classes if not c.grouped)
        burst_per_s = max(BURST_LEAST_PER_S, BURST_RATIO * self.mean_per_s)
        return refused >= REFUSED_SHARE * self.attempts and self.refused_beside_per_s >= burst_per_s

    @property
    def sampled(self) -> bool:
        """Whether the parameters at hand are only some of those asked for."""
        return self.fraction < 1 or any(c.sample.height < c.requests for c in self.classes)

    @property
    def lasts_s(self) -> float | None:
        """Seconds from the first request to the last; None without times."""
        first = [c.first_us for c in self.classes if c.first_us is not None]
        last = [c.last_us for c in self.classes if c.last_us is not None]
        return (max(last) - min(first)) / 1e6 if first and last else None

    @property
    def ends_us(self) -> int | None:
        """The time of the last request, in µs since 1970; None without times."""
        return max((c.last_us for c in self.classes if c.last_us is not None), default=None)


@dataclass(frozen=True, slots=True)
class Clock:
    """The time that the logs cover.

    ``resolution_us``: the coarsest of 1 µs, 1 ms, 1 s, 1 min that all times are multiples of. ``missing_hours``: whole
    clock hours between first and last without any request (a log file is missing, or nobody came); rates leave them
    out. ``empty_minutes``: minutes without a request, those hours included. ``gaps``: the longest runs of such
    minutes (start in µs, minutes), at most ten. ``untimed``: requests without a time.
    """

    first_us: int | None
    last_us: int | None
    covered_s: float
    resolution_us: int
    missing_hours: int
    empty_minutes: int
    gaps: tuple[tuple[int, int], ...]
    untimed: int


@dataclass(frozen=True, slots=True)
class Traffic:
    """All logs of one account.

    ``attempts``: what the service handled (a group transaction is one), the measure of the account's target, with its
    busiest second and minute. ``groups_unlisted``: group transactions whose parts the log does not list (0 when one
    table is chosen). ``basis``: *counted*; *estimated* where duplicates or retries may lie outside the window that was
    remembered (``late`` records came after their hour was forgotten, or the window had to be cut).
    ``outside``: records outside ``--since/--until`` or of other tables than ``--table``.
    ``skipped``: lines left out by reason, with the first example. ``files``: name and format.
    """

    tables: tuple[TableTraffic, ...]
    clock: Clock
    attempts: int
    mean_per_s: float | None
    peak_per_s: int
    peak_per_minute: int
    duplicates: int
    throttled: int
    retries: int
    pages: int
    groups_unlisted: int
    outside: int
    late: int
    basis: Basis
    lines: int
    skipped: tuple[tuple[str, int, str], ...]
    files: tuple[tuple[str, str], ...]
    fraction: float = 1.0
    """Share of the requests that the log holds; rates are scaled up by it, counts are not."""

    def table(self, name: str) -> TableTraffic | None:
        """The table of that name; case does not matter, as in the service."""
        return next((t for t in self.tables if t.name.lower() == name.lower()), None)


def scaled_up(traffic: Traffic, fraction: float) -> Traffic:
    """The traffic of which a log holds the share ``fraction`` (above 0, up to 1), drawn at random.

    Rates rise by 1 ÷ fraction and are *estimated*; so do busiest seconds, which a thin log overstates. Counts, shares
    and sampled requests stay as read.
    """
    if not 0 < fraction <= 1:
        raise ValueError(f"{fraction} is not a share of a log")
    if fraction == 1:
        return traffic

    def faster(mean: float | None, second: int, minute: int) -> dict[str, Any]:
        up = {"peak_per_s": round(second / fraction), "peak_per_minute": round(minute / fraction)}
        return {"mean_per_s": None if mean is None else mean / fraction, **up}

    tables = tuple(
        replace(
            t,
            classes=tuple(
                replace(
                    c,
                    busy=None if c.busy is None else c.busy.scaled(1 / fraction),
                    **faster(c.mean_per_s, c.peak_per_s, c.peak_per_minute),
                )
                for c in t.classes
            ),
            fraction=fraction,
            **faster(t.mean_per_s, t.peak_per_s, t.peak_per_minute),
        )
        for t in traffic.tables
    )
    rates = faster(traffic.mean_per_s, traffic.peak_per_s, traffic.peak_per_minute)
    return replace(traffic, tables=tables, fraction=fraction, basis=Basis.ESTIMATED, **rates)
