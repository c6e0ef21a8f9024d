"""Rows as the partition layer knows them: bytes under a key of bytes, with the sequence number of their last change.

Keys are compared as bytes. ``row_keys.py`` makes them from account, table, PartitionKey and RowKey so that their order
is the service's (ordinal, by UTF-16 code unit).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

Row: TypeAlias = tuple[int, bytes]
"""Sequence number of the change that wrote it, and the value."""

Change: TypeAlias = tuple[bytes, bytes | None]
"""Key and new value; None deletes the row."""

Decide: TypeAlias = Callable[[Sequence[Row | None], int], Sequence[Change]]
"""From the rows of the keys as they are now (None where there is none), and the sequence number that the change will
get, to what is changed. Pure; raises to refuse, and then nothing is logged."""


class Cursor(Protocol):
    """A walk over a key range in key order, at one sequence number: later writes are not seen."""

    async def next(self) -> list[tuple[bytes, int, bytes]]:
        """The next rows (key, sequence number, value), never empty but at the end."""

    def close(self) -> None:
        """Gives the snapshot back; a cursor that was read to its end is closed."""


class RowStore(Protocol):
    """What a range partition offers to the table service above it."""

    low: bytes
    high: bytes | None

    async def read(self, key: bytes) -> Row | None:
        """The row as last committed."""

    def cursor(self, low: bytes, high: bytes | None) -> Cursor:
        """Rows with ``low <= key < high`` (None: to the end), as last committed."""

    async def write(self, keys: Sequence[bytes], decide: Decide) -> int:
        """Reads the rows of ``keys``, decides, logs the changes as one record, applies them; the sequence number.

        Writers of a common key wait for one another; nobody sees a part of a change. Returns when the record is durable
        on three replicas. What ``decide`` raises is raised here.
        """
