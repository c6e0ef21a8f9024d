"""The laws by name, one world under all of them, and what a broken one leaves behind."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.worlds.draw.world import draw_world
from tests.worlds.files import write
from tests.worlds.law import best, carried_out, counted, evidence, files, growth, harmless, logs, one_voice, together
from tests.worlds.model import Scheme, World
from tests.worlds.shrink import shrunk
from tests.worlds.truth import Broken

Law = Callable[[World, Path], Iterator[Broken]]
AN_ERROR = "an error"
"""What is printed where the tool ends in an exception."""
LAWS: dict[str, Law] = {
    law.NAME: law.broken for law in (counted, carried_out, harmless, logs, best, evidence, growth, together, files)
}
APART: dict[str, Law] = {one_voice.NAME: one_voice.broken}
"""Laws that run apart from the others: they take seconds for a world."""


@dataclass(frozen=True)
class Verdict:
    """What the laws say of one world, and the CPU seconds that each took."""

    seed: int
    broken: tuple[Broken, ...]
    seconds: dict[str, float]


def judge(world: World, laws: tuple[str, ...]) -> Verdict:
    """One world under some laws. An exception of the tool is a broken law as well: no world's files may end in one."""
    out: list[Broken] = []
    seconds = {}
    for name in laws:
        began = time.process_time()
        with tempfile.TemporaryDirectory(prefix="pkadvisor-world-") as folder:
            try:
                out += (LAWS | APART)[name](world, Path(folder))
            except Exception as error:  # the report names the seed; the traceback is one run away
                out.append(Broken(name, f"{type(error).__name__}: {error}", "any scheme", AN_ERROR, "a result"))
        seconds[name] = time.process_time() - began
    return Verdict(world.seed, tuple(out), seconds)


def judge_seed(seed: int, laws: tuple[str, ...], rows_most: int = 10_000) -> Verdict:
    """The world of a seed under some laws."""
    return judge(draw_world(seed, rows_most=rows_most), laws)


def alike(one: Broken, other: Broken) -> bool:
    """Whether two failures are of the same figure of the same class under the same keys."""
    return (one.law, one.scheme) == (other.law, other.scheme) and _figure(one) == _figure(other)


def _figure(found: Broken) -> str:
    head, _, tail = found.what.partition(" for {") if " for {" in found.what else (found.what, "", "")
    return head + ("answer" if tail else "")


def smallest(world: World, found: Broken, scheme: Scheme | None) -> World:
    """The world shrunk while a failure like this one is left."""
    return shrunk(world, lambda w: any(alike(found, b) for b in judge(w, (found.law,)).broken), scheme)


def keep(world: World, found: Broken, folder: Path) -> None:
    """A failing world as files, with a note of what failed."""
    write(world, folder)
    text = f"seed {world.seed}\nlaw {found.law}\n{found}\nprinted {found.printed}\ntrue {found.true}\n"
    (folder / "broken.txt").write_text(text, encoding="utf-8")
