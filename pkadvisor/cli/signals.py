"""SIGTERM, heard as Ctrl-C is: what was begun is ended, and the exit code tells which of the two it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

INTERRUPTED, TERMINATED = 130, 143


class Terminated(KeyboardInterrupt):
    """SIGTERM: whoever ends well after Ctrl-C ends well after it."""


@contextmanager
def ending_softly() -> Iterator[list[int]]:
    """SIGTERM raises Terminated. Signals that came are in the list, also where somebody made something of them.

    A program that runs the command inside its own process and has a handler for SIGTERM hears it first.
    """
    import signal

    ended: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        ended.append(number)
        if callable(before):
            before(number, frame)
        raise Terminated

    try:
        before = signal.signal(signal.SIGTERM, end)
    except ValueError:  # not in the main thread: somebody else hears signals
        yield ended
        return
    try:
        yield ended
    finally:
        signal.signal(signal.SIGTERM, before)
