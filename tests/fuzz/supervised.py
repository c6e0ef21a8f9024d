"""A kind of input in a process of its own: a crash, or a hang in native code, ends that process and no more."""

from __future__ import annotations

import faulthandler
import multiprocessing
import time
from multiprocessing.connection import Connection
from typing import Any

from tests.fuzz.judge import COMMAND_LIMIT_S, Failure
from tests.fuzz.running import Tally, run, workplace

DEATHS_MOST = 20


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
        part = _received(ours)
        process.join()
        if part is not None:
            whole.inputs, whole.commands = whole.inputs + part.inputs, whole.commands + part.commands
            whole.failures += part.failures
            break
        found = Failure("the process ended", "", f"exit code {process.exitcode}: a crash, or a hang in native code")
        whole.failures.append((at.value, found, b""))
        whole.inputs += at.value - seed + 1
        seed = at.value + 1
        if time.monotonic() >= end or (inputs is not None and seed >= first + inputs):
            break
    return whole


def _received(pipe: Connection[Any, Any]) -> Tally | None:
    try:
        found: Tally = pipe.recv()
        return found
    except EOFError:
        return None


def _work(name: str, first: int, seconds: float, inputs: int | None, at: Any, pipe: Connection[Any, Any]) -> None:
    def heard(seed: int) -> None:
        at.value = seed
        faulthandler.dump_traceback_later(12 * COMMAND_LIMIT_S, exit=True)

    with workplace():
        pipe.send(run(name, first, seconds=seconds, inputs=inputs, heard=heard))
