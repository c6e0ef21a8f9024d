"""What a native library prints before it gives up on a file: kept from the terminal, where the error says enough."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def quiet_panics() -> Iterator[None]:
    """Standard error as a file meanwhile: dropped where a library panics, written after all where it does not.

    The report of a panic goes straight to the descriptor, and no handler of exceptions comes before it. Threads that
    write to standard error meanwhile are heard afterwards.
    """
    import polars as pl

    if sys.stderr is not None:
        sys.stderr.flush()
    try:
        before = os.dup(2)
    except OSError:  # it is closed: nobody sees anything
        yield
        return
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        panicked = False
        try:
            yield
        except pl.exceptions.PanicException:
            panicked = True
            raise
        finally:
            os.dup2(before, 2)
            os.close(before)
            if not panicked:
                file.seek(0)
                with suppress(OSError):
                    os.write(2, file.read())
