"""Logs read into traffic: formats told apart, parts folded, and what is wrong with a log said."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from pkadvisor.errors import InputError, UsageError, did_you_mean
from pkadvisor.lazy import np, pl
from pkadvisor.observe.data.streams import EmptyFileError, locate
from pkadvisor.observe.logs.formats import Log, UnknownLogError, in_time_order, no_requests, open_log, too_many_bad
from pkadvisor.observe.logs.frame import OF_A_FILE, ReadOptions, Routes, Skips
from pkadvisor.observe.logs.traffic import MAX_BAD_LINES, LogWindow, Traffic
from pkadvisor.observe.logs.traffic_fold import TrafficFold
from pkadvisor.values import dataclass

ANOTHER_ACCOUNT: Final = "another storage account"
_SHOWN: Final = 4


@dataclass(slots=True)
class _OfAccount:
    """What an account was asked: its requests folded and counted, and the first file that has some."""

    fold: TrafficFold
    file: str
    requests: int = 0


class ByAccount:
    """A fold for each account that the URLs of a log name; requests that name none go with the first one named."""

    def __init__(self, routes: Routes, window: LogWindow) -> None:
        self._routes = routes
        self._window = window
        self._accounts: dict[str, _OfAccount] = {}

    def add(self, frame: pl.DataFrame, file: str) -> None:
        """Take in a frame of requests of a file (columns of ``logs.frame.columns()``)."""
        accounts = [route.account for route in self._routes.all]
        here = sorted({accounts[code] for code in frame["route"].unique().to_list()})
        if len(here) == 1:
            self._add(here[0], frame, file)
            return
        of = pl.Series(accounts, dtype=pl.String).gather(frame["route"])
        for account in here:
            self._add(account, frame.filter(of == account), file)

    def _add(self, account: str, frame: pl.DataFrame, file: str) -> None:
        named = [a for a in self._accounts if a]
        account = account or next(iter(named), "")
        if account not in self._accounts:
            # What named no account until now is taken to be of the first one.
            nameless = None if named else self._accounts.pop("", None)
            self._accounts[account] = nameless or _OfAccount(TrafficFold(self._routes, self._window), file)
        self._accounts[account].fold.add(frame)
        self._accounts[account].requests += frame.height

    def chosen(self, tables: Sequence[str], skips: Skips) -> TrafficFold | None:
        """The fold of the account asked for, else of the only one that has one of ``tables``; None without a request.

        The lines of the others are counted in ``skips``. UsageError (2) where it cannot be told which one is meant.
        """
        wanted, every = self._window.account, self._accounts
        if wanted is not None:
            account = wanted.lower()
            if every and account not in every and set(every) != {""}:
                fix = did_you_mean(account, tuple(every)) or f"accounts in the log: {self._listed(every)}"
                raise UsageError(f"no request of the log is of the account '{wanted}'", where="--account", fix=fix)
        else:
            account = self._only(tables)
        for name, other in every.items() if account in every else ():
            if name != account:
                skips.add(f"{ANOTHER_ACCOUNT} ({name[:60]})", other.requests, other.file, f"a request of {name}")
        chosen = every.get(account) or next(iter(every.values()), None)
        return None if chosen is None else chosen.fold

    def _only(self, tables: Sequence[str]) -> str:
        if len(self._accounts) < 2:
            return next(iter(self._accounts), "")
        names = {name.lower() for name in (*tables, self._window.table) if name}
        has: dict[str, set[str]] = {account: set() for account in self._accounts}
        for route in self._routes.all:
            if route.account in has and not route.skip:
                has[route.account].add(route.table.lower())
        fitting = [account for account, held in has.items() if held & names]
        if len(fitting) == 1:
            return fitting[0]
        asked = fitting or list(self._accounts)
        which = f" that have {' or '.join(sorted(tables)[:3])}" if fitting else ""
        raise UsageError(
            f"the log is of {len(asked)} storage accounts{which}: {self._listed(asked)}",
            where="--log",
            fix=f"say which one is meant: --account {max(asked, key=lambda a: (self._accounts[a].requests, a))}",
        )

    def _listed(self, accounts: Iterable[str]) -> str:
        ordered = sorted(accounts, key=lambda a: (-self._accounts[a].requests, a))
        rest = ["…"] if len(ordered) > _SHOWN else []
        return ", ".join(
            [*(f"{a or 'none named'} ({self._accounts[a].requests:,} requests)" for a in ordered[:_SHOWN]), *rest]
        )


if TYPE_CHECKING:
    from pathlib import Path


def read_traffic(
    paths: Sequence[str | Path],
    window: LogWindow | None = None,
    *,
    tables: Sequence[str] = (),
    max_bad_lines: float = MAX_BAD_LINES,
    options: ReadOptions | None = None,
    advance: Callable[[int], None] | None = None,
    unnamed: Collection[str] = (),
    called: Mapping[str | Path, str] = MappingProxyType({}),
) -> Traffic:
    """Read query logs of any of the known formats, together; the order of ``paths`` does not matter.

    ``advance`` is told the bytes of each file that was read. ``unnamed`` files are those of a folder, which nobody
    named: where most are logs, what is in no known format is left out and told. ``called``: names other than paths.
    Of logs of several storage accounts that of the window is read, else the only one that has one of ``tables``.

    Raises UsageError (2) where several accounts have; InputError (3) where a file is in no known format, where more
    than the share ``max_bad_lines`` of all lines cannot be read, or where no line is a request of a table; and what
    opening a file raises.
    """
    broken = _Broken(len(paths), max_bad_lines, frozenset(unnamed))
    opened = (broken.opened(path, called.get(path, str(path))) for path in paths)
    logs = in_time_order([log for log in opened if log is not None])
    broken.check_others(len(logs))
    routes, skips = Routes(), Skips()
    folds = ByAccount(routes, window or LogWindow())
    for log in logs:
        try:
            for frame in log.frames(routes, skips, options or ReadOptions()):
                folds.add(_in_time(frame, skips, log.name), log.name)
        except InputError as error:
            broken.take(error, log.name)
        if advance is not None:
            advance(file_bytes(log.path))
    broken.tell(skips)
    if skips.lines and skips.bad / skips.lines > max_bad_lines:
        raise too_many_bad(skips, max_bad_lines)
    fold = folds.chosen(tables, skips)
    if fold is None:
        raise no_requests(logs, skips)
    traffic = fold.result(skips, tuple((log.name, log.format_name) for log in logs))
    if not traffic.tables and not traffic.outside:
        raise no_requests(logs, skips)
    return traffic


WRONG_CLOCK: Final = "a time more than a year away from nearly all others"
_YEAR_US: Final = 366 * 86_400_000_000


def _in_time(frame: pl.DataFrame, skips: Skips, name: str) -> pl.DataFrame:
    """The requests without the few whose clock was wrong: one of 1970 among those of a day would make the log last for
    an hour more, and one of 2038 would make all that follow come late."""
    times = frame["at_us"]
    known = times.drop_nulls().to_numpy()
    if not len(known) or np.ptp(known) < _YEAR_US:
        return frame
    far = (times - int(np.median(known))).abs() > _YEAR_US
    few = int(far.sum())
    if not few or few > max(1, frame.height // 100) or frame.height < FEW_LINES:
        return frame
    from datetime import UTC, datetime, timedelta

    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(times.filter(far)[0]))
    skips.add(WRONG_CLOCK, few, name, at.isoformat())
    return frame.filter(~far.fill_null(False))


FEW_LINES: Final = 10
"""Lines below which none stands out."""


def file_bytes(path: str | Path) -> int:
    """The size of a log file; 0 where it cannot be told."""
    try:
        return locate(path).stat().st_size
    except OSError:
        return 0


@dataclass(slots=True)
class _Broken:
    """Files of a folder that cannot be read, wholly or from some place on: few of many are left out and told."""

    files: int
    share_max: float
    unnamed: frozenset[str] = frozenset()
    errors: list[tuple[str, InputError]] = field(default_factory=list)
    others: list[tuple[str, InputError]] = field(default_factory=list)
    """Files of a folder in no known format."""

    def opened(self, path: str | Path, name: str) -> Log | None:
        """The log in a file; None where it is broken and may be left out."""
        try:
            return open_log(path, name)
        except UnknownLogError as error:
            if name in self.unnamed:
                self.others.append((name, error))
            else:
                self.take(error, name)
            return None
        except InputError as error:
            self.take(error, name)
            return None

    def check_others(self, logs: int) -> None:
        """Raises InputError where no more files of a folder are logs than are something else."""
        if len(self.others) > logs or (self.others and not logs):
            raise self.others[0][1]

    def take(self, error: InputError, name: str) -> None:
        """Note a broken file. Raises InputError where it is the only one, or where too many are."""
        self.errors.append((name, error))
        damaged = [reason for _, reason in self.errors if not isinstance(reason, EmptyFileError)]
        if len(self.errors) == self.files:
            raise error
        if len(damaged) > self.share_max * self.files:
            first = damaged[0]
            if self.files < FEW_FILES:
                raise first
            raise InputError(
                f"more than {self.share_max:.1%} of {self.files:,} log files cannot be read; the first: {first.what}",
                where=first.where,
                fix="repair these files, leave them out, or raise --max-bad-lines",
            )

    def tell(self, skips: Skips) -> None:
        """Count the broken files among what was skipped, each kind of trouble with its first file."""
        for name, error in self.errors:
            skips.add(f"{OF_A_FILE} that cannot be read ({error.what[:80]})", 1, name, "the rest of the file")
        for name, _ in self.others:
            skips.add(f"{OF_A_FILE} in the folder that is not a query log", 1, name, "the whole file")


FEW_FILES: Final = 20
"""Files up to which each was named on purpose: a broken one is told as it is."""
