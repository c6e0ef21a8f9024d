"""A cursor of the tree: live rows in key order, at one moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pkadvisor.engine.lsm.walk import Source, Walk, live


class TreeCursor:
    """``Cursor`` of ``rows.py`` over memory tables and checkpoints as they were when it was made.

    One that is dropped unread is closed too: what it holds is memory only.
    """

    __slots__ = ("_release", "_walk")

    def __init__(self, sources: Sequence[Source], release: Callable[[], None]) -> None:
        self._walk: Walk | None = Walk(sources)
        self._release: Callable[[], None] | None = release

    async def next(self) -> list[tuple[bytes, int, bytes]]:
        """The next rows (key, sequence number, value), never empty but at the end."""
        while self._walk is not None:
            parts = await self._walk.next()
            if not parts:
                self.close()
                break
            rows = live(parts)
            if rows:
                return rows
        return []

    def close(self) -> None:
        """Gives the snapshot back; twice does nothing."""
        release, self._release, self._walk = self._release, None, None
        if release is not None:
            release()

    def __del__(self) -> None:
        self.close()
