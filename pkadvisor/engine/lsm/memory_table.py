"""The memory table: the newest rows of a range, and older versions for as long as a snapshot sees them.

Writing a row is one assignment in a dictionary; keys are put in order only when somebody walks them. (WAS keeps "the
in-memory version of the commit log" and does not say how, SOSP 2011, 5.3.1.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, repeat
from typing import TypeAlias

from sortedcontainers import SortedList

from pkadvisor.engine.rows import Change

Version: TypeAlias = tuple[int, bytes | None]
"""Sequence number of a change, and the value; None is a tombstone."""

ROW_OVERHEAD = 256
"""Bytes that a row takes in memory beyond key and value: two objects of bytes, a tuple, a number, its place in the
dictionary and in the list of keys [A: measured with CPython 3.11]."""

RUN_KEYS = 1 << 13
"""So many keys that came one after the other are sorted at once, so that a table of many is not sorted in one go."""


class MemoryTable:
    """Rows in memory: open (takes changes) ──freeze──► frozen (never changes again)."""

    __slots__ = (
        "_fresh",
        "_keys",
        "_older",
        "_older_bytes",
        "_runs_end",
        "_snapshots",
        "frozen",
        "row_bytes",
        "rows",
        "sequence",
    )

    def __init__(self) -> None:
        self.rows: dict[bytes, Version] = {}
        self.sequence = 0
        self.row_bytes = 0
        self.frozen = False
        self._keys: SortedList[bytes] = SortedList()
        self._fresh: list[bytes] = []
        self._runs_end = 0
        self._older: dict[bytes, list[Version]] = {}
        self._older_bytes = 0
        self._snapshots: dict[int, int] = {}

    @property
    def memory_bytes(self) -> int:
        """Bytes that the table takes in memory, older versions too."""
        return self.row_bytes + self._older_bytes + ROW_OVERHEAD * len(self.rows)

    def apply(self, sequence: int, changes: Sequence[Change]) -> None:
        """Takes the changes of one log record; no snapshot that sees ``sequence`` may be open."""
        assert not self.frozen, "a frozen table takes no change"
        if self._snapshots:
            assert sequence > max(self._snapshots), "a change that an open snapshot would see"
            self._keep_older(changes)
        rows, fresh, added = self.rows, self._fresh, 0
        if len(changes) > 1:
            keys, values = zip(*changes, strict=True)
            if rows.keys().isdisjoint(keys):  # as those of most groups: one step for all of them
                rows.update(zip(keys, zip(repeat(sequence), values), strict=False))
                fresh += keys
                added = sum(map(len, keys)) + sum(map(len, filter(None, values)))
                changes = ()
        for key, value in changes:
            old = rows.get(key)
            if old is None:
                fresh.append(key)
                added += len(key)
            else:
                assert old[0] <= sequence, "an older change comes after a newer one"
                if old[1] is not None:
                    added -= len(old[1])
            rows[key] = (sequence, value)
            if value is not None:
                added += len(value)
        self.row_bytes += added
        if sequence > self.sequence:
            self.sequence = sequence
        if len(fresh) - self._runs_end >= RUN_KEYS:  # a sort merges runs in a fraction of the time
            fresh[self._runs_end :] = sorted(fresh[self._runs_end :])
            self._runs_end = len(fresh)

    def freeze(self) -> None:
        """Ends the changes."""
        self.frozen = True

    # ------------------------------------------------------------------------------------------------ snapshots

    def open_snapshot(self, sequence: int) -> None:
        """From now on what a snapshot at ``sequence`` sees is kept, until it is closed."""
        self._snapshots[sequence] = self._snapshots.get(sequence, 0) + 1

    def close_snapshot(self, sequence: int) -> None:
        """Gives a snapshot back; after the last one no older version is left."""
        left = self._snapshots[sequence] - 1
        if left:
            self._snapshots[sequence] = left
            return
        del self._snapshots[sequence]
        if not self._snapshots:
            self._older.clear()
            self._older_bytes = 0

    def _keep_older(self, changes: Sequence[Change]) -> None:
        """Keeps of each row about to change the versions that an open snapshot sees, and only those."""
        for key, _ in changes:
            now = self.rows.get(key)
            if now is None:
                continue
            before = self._older.pop(key, [])
            versions = [*before, now]
            # A snapshot sees the last version that is not newer than itself.
            seen = dict.fromkeys(
                max(i for i, version in enumerate(versions) if version[0] <= snapshot)
                for snapshot in self._snapshots
                if versions[0][0] <= snapshot
            )
            older = [versions[i] for i in sorted(seen)]
            if older:
                self._older[key] = older
            self._older_bytes += _weight(older) - _weight(before)

    def version_at(self, key: bytes, sequence: int) -> Version | None:
        """What a snapshot at ``sequence`` sees of a row: value, tombstone, or None where the table knew no such key."""
        now = self.rows.get(key)
        if now is None or now[0] <= sequence:
            return now
        for version in reversed(self._older.get(key, ())):
            if version[0] <= sequence:
                return version
        return None

    # ------------------------------------------------------------------------------------------------ in key order

    def keys(self) -> SortedList[bytes]:
        """All keys in order; the ones that came since the last walk are sorted in."""
        if self._fresh:
            self._keys.update(self._fresh)
            self._fresh.clear()
            self._runs_end = 0
        return self._keys

    def walk(
        self, low: bytes, high: bytes | None, sequence: int, count: int, *, after: bool
    ) -> tuple[list[bytes], list[Version], bytes | None]:
        """The next rows from ``low`` on (beyond it with ``after``) as a snapshot sees them: keys, versions, and the key
        after which to go on, None at the end. At most ``count`` keys are looked at, more where none of them is seen."""
        keys = list(islice(self.keys().irange(low, high, (not after, False)), count))
        goes_on = keys[-1] if len(keys) == count else None
        rows = self.rows
        versions = [rows[key] for key in keys]
        if self.sequence <= sequence:
            return keys, versions, goes_on
        visible = [(key, version) for key in keys if (version := self.version_at(key, sequence)) is not None]
        if not visible and goes_on is not None:
            return self.walk(goes_on, high, sequence, count * 2, after=True)
        return [key for key, _ in visible], [version for _, version in visible], goes_on

    def samples(self, low: bytes, high: bytes | None) -> Iterator[tuple[bytes, int]]:
        """Each key in [low, high) with the bytes of its row."""
        for key in self.keys().irange(low, high, (True, False)):
            yield key, len(key) + len(self.rows[key][1] or b"")

    def check(self) -> None:
        """Accounts and order hold."""
        assert len(self.keys()) == len(self.rows)
        assert all(key in self.rows for key in self._keys)
        weight = sum(len(key) + len(value or b"") for key, (_, value) in self.rows.items())
        assert weight == self.row_bytes, "bytes of rows are not what was counted"
        assert self._older_bytes == sum(map(_weight, self._older.values())), "bytes of versions are miscounted"
        assert self._snapshots or not self._older, "versions that nobody sees"
        assert all(version[0] <= self.sequence for version in self.rows.values())
        for key, older in self._older.items():
            order = [version[0] for version in [*older, self.rows[key]]]
            assert order == sorted(order), "versions out of order"


def _weight(versions: list[Version]) -> int:
    return sum(ROW_OVERHEAD // 2 + len(value or b"") for _, value in versions)
