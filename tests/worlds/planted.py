"""Mistakes that the laws must find: each is planted in the package, and some world breaks a law that it keeps without.

``python -m tests.worlds --planted --seeds N --first S`` looks for each of them from seed S on, in at most N worlds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.worlds.draw.world import draw_world
from tests.worlds.laws import judge
from tests.worlds.running import _LAST

ROWS = 300
Plant = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Mistake:
    """What is planted, the law that finds it, and a seed that shows it."""

    plant: Plant
    law: str
    seed: int

    @property
    def name(self) -> str:
        """What is done wrong."""
        return self.plant.__name__

    @contextmanager
    def planted(self) -> Iterator[None]:
        """The package with this mistake."""
        with pytest.MonkeyPatch.context() as patch:
            self.plant(patch)
            yield


def _wrapped(patch: pytest.MonkeyPatch, target: str, change: Callable[..., Any]) -> None:
    """Replace a function by what ``change(original)`` makes of it."""
    from importlib import import_module

    module, _, name = target.rpartition(".")
    owner: Any
    try:
        owner = import_module(module)
    except ModuleNotFoundError:
        outer, _, inner = module.rpartition(".")
        owner = getattr(import_module(outer), inner)
    patch.setattr(owner, name, change(getattr(owner, name)))


def updates_do_not_move(patch: pytest.MonkeyPatch) -> None:
    """An update that looks its entity up is counted as one that knows its key."""
    _wrapped(patch, "pkadvisor.design.cost.class_cost.locates", lambda _: lambda *__: False)


def index_rows_for_missing_values(patch: pytest.MonkeyPatch) -> None:
    """Inserts write index rows of entities that miss what they are looked up by."""

    def always(_: Any) -> Any:
        import numpy as np

        return lambda key, row, population: np.ones(population.size)

    _wrapped(patch, "pkadvisor.design.cost.class_cost.has_row", always)


def everybody_is_asked_for(patch: pytest.MonkeyPatch) -> None:
    """Entities that miss a parameter are asked for as well."""
    _wrapped(patch, "pkadvisor.design.rows.demand._asked", lambda _: lambda query, population, weights: weights)


def pages_of_ten(patch: pytest.MonkeyPatch) -> None:
    """A page holds a hundredth of what it does."""
    _wrapped(
        patch,
        "pkadvisor.design.cost.class_cost.pages_of",
        lambda right: lambda scanned, returned, bench: right(scanned * 100, returned, bench),
    )


def ranges_take_both_ends(patch: pytest.MonkeyPatch) -> None:
    """``gt`` is counted as ``ge``, ``lt`` as ``le``."""

    def both(right: Any) -> Any:
        def bounds(name: str, bound: Any, population: Any, instances: Any) -> Any:
            return right(name, replace(bound, low_inclusive=True, high_inclusive=True), population, instances)

        return bounds

    _wrapped(patch, "pkadvisor.design.rows.demand._bounds", both)


def one_range_sent_as_included(patch: pytest.MonkeyPatch) -> None:
    """The upper bound of a range of keys leaves out its own value."""

    def cut(right: Any) -> Any:
        def bounds(name: str, parts: Any, prefix: Any, part: Any, wanted: Any, types: Any, known: Any) -> Any:
            ranges = {n: replace(r, high_inclusive=False) for n, r in wanted.ranges.items()}
            return right(name, parts, prefix, part, replace(wanted, ranges=ranges), types, known)

        return bounds

    _wrapped(patch, "pkadvisor.design.plan.plan.bounds", cut)


def order_of_every_part(patch: pytest.MonkeyPatch) -> None:
    """Plain numbers are taken to sort as text does."""
    _wrapped(patch, "pkadvisor.design.keys.transforms.texts.Field.order", lambda _: lambda self, context: 1)


def order_always_served(patch: pytest.MonkeyPatch) -> None:
    """Every order is taken for that of the key: ``$top`` cuts off rows that are wanted."""
    _wrapped(patch, "pkadvisor.design.plan.plan._Planner.order_served", lambda _: lambda *__: True)


def no_separators(patch: pytest.MonkeyPatch) -> None:
    """Values are written into keys without the escapes of their separators."""
    _wrapped(patch, "pkadvisor.design.keys.key_terms.separators", lambda _: lambda parts: "")


def newest_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A share of requests that goes to the newest entities goes to all."""

    def nobody(_: Any) -> Any:
        import numpy as np

        return lambda population, window_s: np.zeros(population.rows, dtype=bool)

    _wrapped(patch, "pkadvisor.design.rows.demand._recent", nobody)


def buckets_of_one(patch: pytest.MonkeyPatch) -> None:
    """Requests for all buckets are counted as one."""
    patch.setattr("pkadvisor.design.plan.plan._product", lambda parts: 1)


def peaks_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Loads of partitions are halved."""
    _wrapped(
        patch,
        "pkadvisor.design.load.heat.LoadMap.at_instances",
        lambda right: lambda self, parts, instances, load, **more: right(self, parts, instances, load / 2, **more),
    )


def density_not_measured(patch: pytest.MonkeyPatch) -> None:
    """Inserts are not held against the density of the data."""
    patch.setattr("pkadvisor.design.evidence.grounds.density_of", lambda population, workload: None)


def windows_of_any_length(patch: pytest.MonkeyPatch) -> None:
    """No two figures of times contradict each other."""
    patch.setattr("pkadvisor.design.evidence.grounds.APART", float("inf"))


def any_total_believed(patch: pytest.MonkeyPatch) -> None:
    """A total of entities is taken as it is, whatever the rows are."""
    for module in ("given", "grounds"):
        patch.setattr(f"pkadvisor.design.evidence.{module}.TOTAL_APART", float("inf"))


def any_log_believed(patch: pytest.MonkeyPatch) -> None:
    """A log that shows other rates than are declared covers them."""
    patch.setattr("pkadvisor.design.evidence.grounds.COVERED", 0.0)


def strangers_asked_for(patch: pytest.MonkeyPatch) -> None:
    """A log may ask for what the data does not have."""
    patch.setattr("pkadvisor.design.evidence.grounds.FOUND", 0.0)


def every_difference_doubted(patch: pytest.MonkeyPatch) -> None:
    """Figures that lie a hundredth apart contradict each other."""
    patch.setattr("pkadvisor.design.evidence.grounds.APART", 1.01)


MISTAKES = (
    Mistake(updates_do_not_move, "counted", 2),
    Mistake(index_rows_for_missing_values, "counted", 4),
    Mistake(everybody_is_asked_for, "counted", 3),
    Mistake(pages_of_ten, "counted", 2),
    Mistake(ranges_take_both_ends, "counted", 3),
    Mistake(one_range_sent_as_included, "counted", 20),
    Mistake(order_of_every_part, "counted", 26),
    Mistake(order_always_served, "counted", 2),
    Mistake(no_separators, "counted", 2),
    Mistake(newest_forgotten, "counted", 2),
    Mistake(buckets_of_one, "counted", 2),
    Mistake(peaks_forgotten, "counted", 3),
    Mistake(density_not_measured, "evidence", 110),
    Mistake(windows_of_any_length, "evidence", 8),
    Mistake(any_total_believed, "evidence", 3),
    Mistake(any_log_believed, "evidence", 17),
    Mistake(strangers_asked_for, "evidence", 12),
    Mistake(every_difference_doubted, "evidence", 8),
)

UNSEEN = ("no_separators", "newest_forgotten")
"""Mistakes for which no seed is known yet: they are looked for, and no test runs them."""
FOUND = tuple(m for m in MISTAKES if m.name not in UNSEEN)


def shows(mistake: Mistake, seed: int) -> str:
    """The first law that a world breaks with a mistake planted and keeps without; empty where there is none."""
    world = draw_world(seed, rows_most=ROWS)
    _LAST.clear()
    with mistake.planted():
        with_it = judge(world, (mistake.law,)).broken
    _LAST.clear()  # what the package said with the mistake
    before = {str(b) for b in judge(world, (mistake.law,)).broken}
    return next((str(b) for b in with_it if str(b) not in before), "")


def look_for_all(worlds: int, first: int) -> int:
    """Look for each mistake from a seed on; the exit code tells whether all were found."""
    lost = 0
    for mistake in MISTAKES:
        began = time.monotonic()
        found = ""
        for seed in range(first, first + worlds):
            if found := shows(mistake, seed):
                print(f"{mistake.name}: world {seed - first + 1}, seed {seed}: {found[:200]}", flush=True)
                break
        if not found:
            lost += 1
            print(f"{mistake.name}: not found in {worlds} worlds, {time.monotonic() - began:.0f} s", flush=True)
    print(f"{len(MISTAKES) - lost} of {len(MISTAKES)} planted mistakes found")
    return 1 if lost else 0
