"""What a native library prints before it gives up on a file: kept from the terminal, where the error says enough."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from pkadvisor.errors import InputError
from pkadvisor.files import redirected


@contextmanager
def quiet_panics(refusal: Callable[[str], InputError]) -> Iterator[None]:
    """Standard error as a file meanwhile: dropped where a library panics, written after all where it does not.

    The report of a panic goes straight to the descriptor, and no handler of exceptions comes before it. Threads that
    write to standard error meanwhile are heard afterwards. A library that aborts, for memory that it cannot have,
    ends the process: with the ``refusal`` for what the library printed, and with its exit code.
    """
    with tempfile.TemporaryFile() as file:
        try:
            with redirected(2, file.fileno()) as before, _refusing_aborts(before, file.fileno(), refusal):
                yield
        finally:
            file.seek(0)
            printed = file.read()
            if b"panicked at" not in printed:  # one thread may panic where another answers
                with suppress(OSError):
                    os.write(2, printed)


@contextmanager
def _refusing_aborts(terminal: int | None, printed: int, refusal: Callable[[str], InputError]) -> Iterator[None]:
    """Within it an abort of the process writes the refusal on the terminal, and ends it with the code of the refusal.

    A handler of Python's own would run when the main thread is back in Python, which after an abort it never is.
    """
    if terminal is None or sys.platform == "win32":  # an abort is no signal there
        yield
        return

    def refuse(_: int) -> None:
        error = refusal(os.pread(printed, 4096, 0).decode("utf-8", "replace").strip())
        first, *rest = error.lines()
        lines = (f"error: {first}", *(f"  {line}" for line in rest))
        os.write(terminal, "".join(f"{_harmless(line)}\n" for line in lines).encode("utf-8", "replace"))
        os._exit(error.exit_code)

    libc = ctypes.CDLL(None)
    libc.signal.restype, libc.signal.argtypes = ctypes.c_void_p, (ctypes.c_int, ctypes.c_void_p)
    handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(refuse)
    former = libc.signal(signal.SIGABRT, ctypes.cast(handler, ctypes.c_void_p))
    try:
        yield
    finally:
        libc.signal(signal.SIGABRT, former)


def _harmless(line: str) -> str:
    """A line without characters that move a cursor or colour a terminal."""
    return "".join(c if c.isprintable() else "?" for c in line)
