"""Results that many tests judge, computed once for all tests and workers and kept on disk until the code changes.

A function marked ``@stored`` is computed by whoever asks first; everybody else reads its pickle. The place depends on
the content of the package and its data, on the installed versions, and on the module of the function, so that nothing
computed by other code is ever read. What it costs is charged to no test. A run of the whole suite computes everything
that modules list with ``ahead`` before the first test, ``python -m tests.sample_results`` by hand.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import importlib
import importlib.metadata
import inspect
import os
import pickle
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

ROOT = Path(__file__).parents[1]
PLACE = ROOT / ".pytest_cache" / "sample_results"
SOURCES = ("pkadvisor", "rules", "samples", "templates")
AHEAD = ("tests.report.support", "tests.stress.stressed", "tests.fuzz.corpus")
"""Modules with a function ``ahead()`` that calls what is to be computed before the first test."""

P = ParamSpec("P")
T = TypeVar("T")
_spent_s = 0.0


@functools.cache
def folder() -> Path:
    """Where results of this code lie."""
    digest = hashlib.sha256(sys.version.encode())
    for distribution in sorted({f"{d.name}=={d.version}" for d in importlib.metadata.distributions()}):
        digest.update(distribution.encode() + b"\0")
    for source in SOURCES:
        for path in sorted((ROOT / source).rglob("*")):
            if path.is_file() and not {"__pycache__", "manual"} & set(path.parts):
                digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return PLACE / digest.hexdigest()[:20]


def stored(make: Callable[P, T]) -> Callable[P, T]:
    """The function, whose values are computed once for all processes. They must be picklable; do not change them."""

    @functools.cache
    def read(*args: P.args, **kwargs: P.kwargs) -> T:
        global _spent_s
        before = _cpu_s()
        try:
            return _read_or_make(make, args, kwargs)
        finally:
            _spent_s += _cpu_s() - before

    functools.update_wrapper(read, make)
    return read


def _read_or_make(make: Callable[..., T], args: tuple[object, ...], kwargs: dict[str, object]) -> T:
    source = Path(inspect.getfile(make)).read_bytes()
    what = f"{make.__module__}.{make.__qualname__}{args!r}{sorted(kwargs.items())!r}"
    path = folder() / f"{make.__name__}-{hashlib.sha256(what.encode() + source).hexdigest()[:20]}.pickle"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # released when the file is closed, also by a process that dies
            if not path.exists():
                before = _cpu_s()
                value = make(*args, **kwargs)
                unfinished = path.with_suffix(f".{os.getpid()}")
                unfinished.write_bytes(pickle.dumps((value, _cpu_s() - before)))
                unfinished.replace(path)
    stored: T = pickle.loads(path.read_bytes())[0]
    return stored


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def computing_cpu_s() -> float:
    """CPU seconds that this process spent on stored results."""
    return _spent_s


def computed_cpu_s() -> float:
    """CPU seconds that all results cost which are stored for this code."""
    return sum(float(pickle.loads(path.read_bytes())[1]) for path in folder().glob("*.pickle"))


def compute_ahead(processes: int = 2) -> None:
    """Compute everything that modules list, in several processes, and forget the results of other code."""
    for other in PLACE.glob("*"):
        if other != folder():
            shutil.rmtree(other, ignore_errors=True)
    command = [sys.executable, "-m", "tests.sample_results"]
    started = [subprocess.Popen([*command, str(part), str(processes)], cwd=ROOT) for part in range(processes)]
    for process in started:
        if process.wait() != 0:
            raise RuntimeError(f"'{' '.join(command)}' ended with {process.returncode}")


def main(arguments: list[str]) -> None:
    """Compute one of so many parts of the results."""
    part, parts = (int(word) for word in arguments) if arguments else (0, 1)
    calls = [call for module in AHEAD for call in importlib.import_module(module).ahead()]
    for call in calls[part::parts]:
        call()


if __name__ == "__main__":
    main(sys.argv[1:])
