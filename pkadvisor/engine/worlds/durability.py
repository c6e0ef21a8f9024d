"""When an acknowledged write is on the device, by name; and the syncs of journals that come later than that.

``synced``       before it is acknowledged.
``every N ms``   at most so long after, plus what a sync takes.
``written``      when the operating system sees fit.

All three survive the end of the process, kill −9 included. A loss of power takes nothing from the first and at most the
last writes from the second: what is lost there is an end of the journals, because whatever tells of a store's parts
(catalogs, extents, deletions, owners) is written after the journals are on the device. It may take a ``written`` store.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol

from pkadvisor.engine.options import MS
from pkadvisor.engine.worlds.tasks import Future

EVERY_MS_MAX = 60_000
_EVERY = re.compile(r"every ([1-9][0-9]{0,4}) ms")


class Durability(NamedTuple):
    """Whether anything is synced, and how long journals may wait for it: 0, not at all."""

    sync: bool
    every_ns: int = 0


def durability_of(name: str) -> Durability:
    """What a name stands for. ValueError in words for any other name."""
    if name in ("synced", "written"):
        return Durability(name == "synced")
    every = _EVERY.fullmatch(name)
    if every is None or int(every[1]) > EVERY_MS_MAX:
        raise ValueError(
            f"durability is 'synced', 'written' or 'every N ms' with N from 1 to {EVERY_MS_MAX}, not {name!r}"
        )
    return Durability(True, int(every[1]) * MS)


class LaggingFile(Protocol):
    """A file whose appends return before they are on the device."""

    def begin_sync(self) -> Future[None] | None:
        """Begins to sync what was appended, beside everything else; None where an earlier sync is under way."""

    def make_durable(self) -> None:
        """Syncs it now. DiskError."""


class LaggingSyncs:
    """The files that wait for their sync, and the timer that brings it.

    clean ──append──► waiting ──the time is over──► under way ──► clean
                         └─────────settle: at once, and the caller waits──────────┘
    """

    def __init__(
        self, every_ns: int, at: Callable[[int, Callable[[], None]], object], now_ns: Callable[[], int]
    ) -> None:
        self._every_ns, self._at, self._now_ns = every_ns, at, now_ns
        self._waiting: dict[LaggingFile, None] = {}
        self._under_way: dict[LaggingFile, None] = {}
        self._timed = False

    def appended(self, file: LaggingFile) -> None:
        """Notes that a file has more than the device."""
        self._waiting[file] = None
        if not self._timed:
            self._timed = True
            self._at(self._now_ns() + self._every_ns, self._due)

    def _due(self) -> None:
        self._timed = False
        waiting, self._waiting = self._waiting, {}
        for file in waiting:
            syncing = file.begin_sync()
            if syncing is None:
                self.appended(file)
            else:
                self._under_way[file] = None
                syncing.when_done(partial(self._under_way.pop, file, None))

    def forget(self, file: LaggingFile) -> None:
        """The file is gone."""
        self._waiting.pop(file, None)
        self._under_way.pop(file, None)

    def settle(self) -> None:
        """Has everything that waits on the device, before something is written that counts on it. DiskError."""
        while self._waiting or self._under_way:
            file = next(iter(self._under_way or self._waiting))
            self.forget(file)
            file.make_durable()
