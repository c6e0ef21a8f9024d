"""Inputs drawn, run and, where they fail, shrunk and kept."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.fuzz.corpus import corpus
from tests.fuzz.judge import Failure, judge_command, judge_read
from tests.fuzz.kinds import FILE, KINDS, Kind, file_content
from tests.fuzz.shrink import smallest

COMMAND_SHARE = 1 / 25
"""Of the inputs that a reader takes first, how many go through a whole command as well."""


@dataclass(slots=True)
class Tally:
    """What was run of one kind."""

    kind: str
    inputs: int = 0
    commands: int = 0
    failures: list[tuple[int, Failure, bytes]] = field(default_factory=list)
    """Seed, failure, input; one for each signature."""


@contextmanager
def workplace() -> Iterator[Path]:
    """A folder with the valid files, in which commands run; settings of the machine do not matter there."""
    before, variables = Path.cwd(), {"PKADVISOR_NO_PROGRESS": "1", "COLUMNS": "80"}
    saved = {name: os.environ.get(name) for name in variables}
    scratch = tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        folder = Path(name)
        for file, content in corpus().items():
            (folder / file).write_bytes(content)
        os.environ.update(variables)
        os.chdir(folder)
        tempfile.tempdir = name
        try:
            yield folder
        finally:
            tempfile.tempdir = scratch
            os.chdir(before)
            for variable, value in saved.items():
                os.environ.pop(variable, None) if value is None else os.environ.update({variable: value})


def drawn(kind: Kind, seed: int) -> tuple[bytes, bool, int]:
    """The input of a seed, whether a whole command takes it, and which."""
    draw = Random(f"{kind.name}/{seed}")
    valid = kind.valid()
    content = kind.mutate(draw, draw.choice(valid), valid)
    return content, kind.read is None or draw.random() < COMMAND_SHARE, draw.randrange(max(1, len(kind.commands)))


def judged(kind: Kind, content: bytes, whole: bool, which: int) -> Failure | None:
    """The input through its reader, and through a command if it is to be."""
    if kind.lines is not None:
        words = kind.lines(content)
        found = judge_command(words)
        _restore(words)
        return found
    place = Path("damaged" + kind.suffix)
    place.parent.mkdir(exist_ok=True)
    if kind.read is not None:
        place.write_bytes(content)
        if (failure := judge_read(kind.read, place)) is not None:
            return failure
    if not whole:
        return None
    place.write_bytes(file_content(kind, content))
    name = str(place.parent if "/" in kind.suffix else place)
    text = content.decode("utf-8", "replace").replace("\0", "")
    words = tuple({FILE: name, "TEXT": text}.get(word, word) for word in kind.commands[which])
    settings = () if "--config" in words else ("--isolated",)
    found = judge_command((*words, *settings))
    shutil.rmtree("out", ignore_errors=True)
    return found


def _restore(words: tuple[str, ...]) -> None:
    """The valid files again, and nothing else, where a command line may have written."""
    if not any(w.startswith(("--out", "--write", "--fix", "--prune", "--add", "init", "samples")) for w in words):
        return
    for entry in Path().iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        elif entry.name not in corpus():
            entry.unlink()
    for name, content in corpus().items():
        Path(name).write_bytes(content)


def run(
    name: str,
    first: int,
    *,
    seconds: float | None,
    inputs: int | None = None,
    heard: Callable[[int, Tally], None] = lambda _, __: None,
) -> Tally:
    """Inputs of a kind from a seed on, for so many seconds or so many inputs; to be called in a ``workplace``.

    ``heard`` is told the seed and the tally so far before it is run, and whenever it is run again. The first failure of
    each signature is shrunk.
    """
    kind, tally, seed = KINDS[name], Tally(name), first
    end = None if seconds is None else time.monotonic() + seconds
    known: set[tuple[str, str, str]] = set()
    while (end is None or time.monotonic() < end) and (inputs is None or seed < first + inputs):
        heard(seed, tally)
        content, whole, which = drawn(kind, seed)
        failure = judged(kind, content, whole, which)
        tally.inputs += 1
        tally.commands += whole
        if failure is not None and failure.signature not in known:
            known.add(failure.signature)
            small = _shrunk(kind, content, whole, which, failure, lambda seed=seed: heard(seed, tally))
            tally.failures.append((seed, failure, small))
        seed += 1
    return tally


def _shrunk(kind: Kind, content: bytes, whole: bool, which: int, failure: Failure, heard: Callable[[], None]) -> bytes:
    def fails(candidate: bytes) -> bool:
        heard()
        found = judged(kind, candidate, whole, which)
        return found is not None and found.signature == failure.signature

    slow = failure.what in ("hang", "death") or bool(failure.command)
    return smallest(content, fails, tries=25 if slow else 400)
