"""A run that ends when it is told to: the command, run inside a test, answers Ctrl-C and SIGTERM with an exit code and
goes on living, and so would the suite."""

from __future__ import annotations

import signal
from types import FrameType

import pytest

_stopped_by: list[int] = []


def _stop(number: int, frame: FrameType | None) -> None:
    _stopped_by.append(number)
    raise KeyboardInterrupt


def pytest_configure() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # xdist: the controller hears Ctrl-C for its workers
            signal.signal(number, _stop)


def pytest_runtest_logfinish() -> None:
    """After each test: one that made an exit code of a signal does not keep the run alive."""
    if _stopped_by:
        name = signal.Signals(_stopped_by[0]).name
        pytest.exit(f"stopped by {name}", returncode=128 + _stopped_by[0])
