"""The law *samples* in its short form: a few samples of tables on which estimates have been wrong."""

from __future__ import annotations

import numpy as np
import pytest

from pkadvisor.observe.workload import QueryClass
from tests.worlds.law.samples import wrong
from tests.worlds.sampled.asking import CLASSES, NEWEST_CLASSES, SCHEMES
from tests.worlds.sampled.cases import Case, cases, truths
from tests.worlds.sampled.tables import KEYS_WAY, ROWS_WAY, tables

JUDGED = ("newest n", "newest n and range, its own row out", "equal and range, its own row out", "equal, distinct")
EVERY = {(table.way, table.name): table for table in tables(1)}


def found(way: str, name: str, names: tuple[str, ...], share: float, seeds: int) -> list[Case]:
    table = EVERY[way, name]
    classes: list[QueryClass] = [c for c in (*CLASSES, *NEWEST_CLASSES) if c.name in names]
    true = truths(table, SCHEMES[:1], classes)
    out = [c for n in range(seeds) for c in cases(table, true, SCHEMES[:1], classes, share, n, replicates=20)]
    return [c for c in out if c.figure.startswith("entities read, ")]


@pytest.mark.parametrize("name", ["of 20", "1 or 100"])
def test_intervals_of_random_rows_hold_the_truth(name: str) -> None:
    """$top of a count that is 1 or 100, a range that leaves its own row out, groups drawn alike."""
    of_figures = found(ROWS_WAY, name, JUDGED, 0.04, 6)
    assert len(of_figures) == 6 * len(JUDGED)
    assert all(c.given for c in of_figures)
    assert [c.told for c in of_figures if not c.inside] == [] or np.mean([c.inside for c in of_figures]) >= 0.9


def test_a_large_key_that_was_not_drawn_is_left_open() -> None:
    given = [c for c in found(KEYS_WAY, "owners one large, things its own", JUDGED, 0.2, 3) if c.given]
    assert given
    assert [c.told for c in given if not c.inside] == []
    assert all(c.width is None for c in given if not c.figure.endswith(("newest n", "out")))


def test_what_rests_on_the_newest_row_alone_is_unknown() -> None:
    of_newest = found(ROWS_WAY, "Zipf", ("equal, newest",), 0.1, 1)
    assert [c.given for c in of_newest] == [False]


def test_a_group_that_holds_the_truth_too_seldom_is_named() -> None:
    good = [Case("requests", ROWS_WAY, 0.1, True, True)] * 90
    bad = [Case("requests", ROWS_WAY, 0.1, True, False)] * 10
    assert wrong([*good, *bad]) == ["requests, random rows"]
    assert wrong([*good, *bad[:5]]) == []
    assert wrong(bad) == [], "too few cases to tell"
