"""The hottest partition counts requests that name it and its part of pages over several, in whatever order."""

from __future__ import annotations

import numpy as np

from pkadvisor.stress.simulate.wide_pages import Hottest, hottest_rank, with_pages

ROWS = np.array([100, 300, 0, 100])


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_a_page_counts_at_each_partition_by_its_rows() -> None:
    own = ints(120, 0, 0, 0)
    assert hottest_rank(own, {}, ROWS) == 0
    # 250 over the 400 rows of the first two: 62 and 187.
    assert hottest_rank(own, {(0, 0, 2): [250, 0, 1, 0]}, ROWS) == 1
    assert hottest_rank(own + ints(10, 0, 0, 0), {(0, 0, 2): [250, 0, 1, 0]}, ROWS) == 0
    # The same in two seconds is the same.
    assert hottest_rank(own, {(0, 0, 2): [125, 0, 1, 0], (7, 0, 2): [125, 0, 1, 0]}, ROWS) == 1


def test_the_first_of_equal_ones_and_none_of_nothing() -> None:
    assert hottest_rank(ints(5, 5, 0, 0), {}, ROWS) == 0
    assert hottest_rank(ints(0, 0, 0, 0), {}, ROWS) == -1
    assert hottest_rank(ints(0, 0, 0, 0), {(0, 2, 3): [9, 0, 1, 0]}, ROWS) == -1


def test_the_order_in_which_pages_came_changes_nothing() -> None:
    drawn = np.random.default_rng(3)
    rows = drawn.integers(1, 1000, 50)
    spans = [(int(s), int(low), int(low) + 1 + int(n)) for s, low, n in drawn.integers(0, 25, (200, 3))]
    wide = {span: [int(drawn.integers(1, 10**6)), 0, 1, 0] for span in spans}
    own = drawn.integers(0, 10**6, 50)
    turned = dict(reversed(wide.items()))
    assert hottest_rank(own, wide, rows) == hottest_rank(own, turned, rows)


def test_what_was_asked_of_it_in_each_second() -> None:
    found = Hottest(1, ints(10, 20), ints(0, 5), 4, 1)
    wide = {(0, 0, 2): [400, 200, 2, 1], (1, 1, 4): [400, 0, 1, 0], (1, 2, 4): [999, 999, 9, 9]}
    told = with_pages(found, wide, ROWS)
    assert (told.milli.tolist(), told.throttled_milli.tolist()) == ([10 + 300, 20 + 300], [150, 5])
    assert (told.attempts, told.throttled) == (4 + 2 + 1, 1 + 1)
    assert found.milli.tolist() == [10, 20]
    assert with_pages(Hottest(-1, ints(0), ints(0), 0, 0), wide, ROWS).rank == -1
