"""One design run in a process of its own, beside the others: designs of a table know nothing of each other.

The process is given what there is to run as a pickle and gives back the design's part of the document as another, which
it leaves in a file that has no name. Whatever goes wrong there goes wrong here too, where it can be told: a design that
did not come back is simply run again.

What it is given comes through a pipe that stays open: when the pipe closes, however this process ended, the other one
ends too. No system keeps a pipe open whose only writer is gone.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from typing import IO

from pkadvisor.limits import Limits
from pkadvisor.stress.experiment.design_run import FinishedDesign, design_alone
from pkadvisor.stress.experiment.designs import DesignedTable
from pkadvisor.stress.experiment.request import StressRequest
from pkadvisor.values import dataclass

ROWS_LEAST = 1_000
"""A table of fewer rows is run sooner than a process starts."""
_PROGRAM = "import sys; sys.path[:] = {path!r}; from pkadvisor.stress.experiment.worker_process import answer; answer()"


@dataclass(slots=True)
class WorkerProcess:
    """A process that runs a design; ``ended`` must be called, whatever happens."""

    process: subprocess.Popen[bytes]
    answer: IO[bytes]
    given: threading.Thread

    def result(self) -> FinishedDesign | None:
        """What it found, when it is done; None where it failed."""
        if self.process.wait() != 0:
            return None
        self.answer.seek(0)
        try:
            result: FinishedDesign = pickle.load(self.answer)
        except (EOFError, pickle.UnpicklingError):
            return None
        return result

    def ended(self) -> None:
        """Stops it where it still runs."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.given.join()  # nobody reads any more
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.answer.close()


def started(table: DesignedTable, place: int, request: StressRequest, limits: Limits) -> WorkerProcess | None:
    """A process that runs a design of a table; None where it would not be worth it, or cannot be had."""
    if _processors() < 2 or table.bench.population.rows < ROWS_LEAST or not sys.executable:
        return None
    output = tempfile.TemporaryFile()  # noqa: SIM115  # closed when the process has ended
    # -P and the same path: modules are those that run here, never what lies in the working folder.
    command = [sys.executable, "-P", "-X", f"utf8={sys.flags.utf8_mode}", "-c", _PROGRAM.format(path=sys.path)]
    try:
        asked = pickle.dumps((table, place, request, limits), protocol=pickle.HIGHEST_PROTOCOL)
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.DEVNULL, bufsize=0)
    except (OSError, pickle.PicklingError, AttributeError, TypeError):
        output.close()
        return None
    assert process.stdin is not None
    # A thread, because a pipe holds little and the process takes a while to read.
    given = threading.Thread(target=_give, args=(process.stdin, asked), daemon=True)
    given.start()
    return WorkerProcess(process, output, given)


def _give(pipe: IO[bytes], asked: bytes) -> None:
    """Writes all of it; the pipe stays open."""
    rest = memoryview(asked)
    with suppress(OSError):  # the process has ended
        while rest:
            rest = rest[pipe.write(rest) :]


def answer() -> None:
    """What the other process does."""
    table, place, request, limits = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with, args=(sys.stdin.fileno(),), daemon=True).start()
    output = pickle.dumps(design_alone(table, place, request, limits), protocol=pickle.HIGHEST_PROTOCOL)
    sys.stdout.buffer.write(output)
    sys.stdout.buffer.flush()


def _end_with(pipe: int) -> None:
    """Ends this process when nobody is left who could write to the pipe; whatever it holds is for nobody then."""
    with suppress(OSError):
        while os.read(pipe, 1):
            pass
    os._exit(1)


def _processors() -> int:
    """Processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # no such call on this system
        return os.cpu_count() or 1
