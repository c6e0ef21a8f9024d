"""Logs of several storage accounts: the requests of each are counted by themselves, and one account is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pkadvisor.errors import UsageError, did_you_mean
from pkadvisor.lazy import pl
from pkadvisor.observe.logs.frame import Routes, Skips
from pkadvisor.observe.logs.traffic import LogWindow
from pkadvisor.observe.logs.traffic_fold import TrafficFold

ANOTHER_ACCOUNT: Final = "another storage account"
_SHOWN: Final = 4


class ByAccount:
    """A fold for each account that the URLs of a log name; requests that name none go with the first one named."""

    def __init__(self, routes: Routes, window: LogWindow) -> None:
        self._routes = routes
        self._window = window
        self._folds: dict[str, TrafficFold] = {}
        self._requests: dict[str, int] = {}
        self._files: dict[str, str] = {}

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
        named = [a for a in self._folds if a]
        account = account or next(iter(named), "")
        if account not in self._folds:
            # What named no account until now is taken to be of the first one.
            nameless = not named and "" in self._folds
            self._folds[account] = self._folds.pop("") if nameless else TrafficFold(self._routes, self._window)
            self._requests[account] = self._requests.pop("") if nameless else 0
            self._files[account] = self._files.pop("") if nameless else file
        self._folds[account].add(frame)
        self._requests[account] += frame.height

    def chosen(self, tables: Sequence[str], skips: Skips) -> TrafficFold | None:
        """The fold of the account asked for, else of the only one that has one of ``tables``; None without a request.

        The lines of the others are counted in ``skips``. UsageError (2) where it cannot be told which one is meant.
        """
        wanted = self._window.account
        if wanted is not None:
            account = wanted.lower()
            if self._folds and account not in self._folds and set(self._folds) != {""}:
                fix = did_you_mean(account, tuple(self._folds)) or f"accounts in the log: {self._listed(self._folds)}"
                raise UsageError(f"no request of the log is of the account '{wanted}'", where="--account", fix=fix)
        else:
            account = self._only(tables)
        others = [a for a in self._folds if a != account] if account in self._folds else []
        for other in others:
            skips.add(
                f"{ANOTHER_ACCOUNT} ({other[:60]})", self._requests[other], self._files[other], f"a request of {other}"
            )
        return self._folds.get(account) or next(iter(self._folds.values()), None)

    def _only(self, tables: Sequence[str]) -> str:
        if len(self._folds) < 2:
            return next(iter(self._folds), "")
        names = {name.lower() for name in (*tables, self._window.table) if name}
        has: dict[str, set[str]] = {account: set() for account in self._folds}
        for route in self._routes.all:
            if route.account in has and not route.skip:
                has[route.account].add(route.table.lower())
        fitting = [account for account, held in has.items() if held & names]
        if len(fitting) == 1:
            return fitting[0]
        asked = fitting or list(self._folds)
        which = f" that have {' or '.join(sorted(tables)[:3])}" if fitting else ""
        raise UsageError(
            f"the log is of {len(asked)} storage accounts{which}: {self._listed(asked)}",
            where="--log",
            fix=f"say which one is meant: --account {max(asked, key=lambda a: (self._requests[a], a))}",
        )

    def _listed(self, accounts: Sequence[str] | dict[str, TrafficFold]) -> str:
        ordered = sorted(accounts, key=lambda a: (-self._requests[a], a))
        rest = ["…"] if len(ordered) > _SHOWN else []
        return ", ".join([*(f"{a or 'none named'} ({self._requests[a]:,} requests)" for a in ordered[:_SHOWN]), *rest])
