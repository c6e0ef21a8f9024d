"""A kind of input in a process of its own: a crash, or a hang in native code, ends that process and no more."""

from __future__ import annotations

import contextlib
import faulthandler
import multiprocessing
import time
from multiprocessing.connection import Connection
from typing import Any

from pkadvisor.errors import InputError
from tests.fuzz.judge import COMMAND_LIMIT_S, Failure
from tests.fuzz.running import Tally, run, workplace

DEATHS_MOST = 20
REFUSED = InputError.exit_code


def supervised(name: str, first: int, seconds: float, inputs: int | None) -> Tally:
    """The kind in a process of its own; another one goes on behind an input that the process died of."""
    context, whole = multiprocessing.get_context("spawn"), Tally(name)
    end, seed = time.monotonic() + seconds, first
    while len(whole.failures) < DEATHS_MOST:
        ours, theirs = context.Pipe(duplex=False)
        at = context.Value("q", seed, lock=False)
        left = None if inputs is None else first + inputs - seed
        process = context.Process(target=_work, args=(name, seed, max(0.1, end - time.monotonic()), left, at, theirs))
        process.start()
        theirs.close()
        part = _last_received(ours, Tally(name))
        process.join()
        whole.commands, whole.failures = whole.commands + part.commands, whole.failures + part.failures
        if process.exitcode == 0:
            whole.inputs += part.inputs
            break
        whole.inputs += at.value - seed + 1
        if process.exitcode != REFUSED:  # after an abort of a library a process ends as a whole command would
            found = Failure("the process ended", "", f"exit code {process.exitcode}: a crash, or a hang in native code")
            whole.failures.append((at.value, found, b""))
        seed = at.value + 1
        if time.monotonic() >= end or (inputs is not None and seed >= first + inputs):
            break
    return whole


def _last_received(pipe: Connection[Any, Any], last: Tally) -> Tally:
    """What the process had counted when it ended, or when it found its last failure before it died."""
    with contextlib.suppress(EOFError):
        while True:
            last = pipe.recv()
    return last


def _work(name: str, first: int, seconds: float, inputs: int | None, at: Any, pipe: Connection[Any, Any]) -> None:
    def heard(seed: int, tally: Tally) -> None:
        if seed != at.value and len(tally.failures) != sent[0]:
            pipe.send(tally)
            sent[0] = len(tally.failures)
        at.value = seed
        faulthandler.dump_traceback_later(12 * COMMAND_LIMIT_S, exit=True)

    sent = [0]
    with workplace():
        pipe.send(run(name, first, seconds=seconds, inputs=inputs, heard=heard))
