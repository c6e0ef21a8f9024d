"""The converged map of a load, on its own and on an engine that begins with it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.limits import Limits
from pkadvisor.stress.placement.stamp_map import FixedMap, MapRange
from pkadvisor.stress.requests.scripts import SEVERAL, KeySpace, Scripts
from pkadvisor.stress.simulate.measures import offered_milli
from pkadvisor.stress.simulate.warm import counted_load, dividing_rank, warm_map
from tests.stress.small import SECOND, Listed, limits, options, page, read, script, space, write

LIMITS = limits()
TARGET = round(LIMITS.headroom_share * LIMITS.range_entities_per_s) * 1000
"""Milli-entities/s that a range may be planned for."""


def steady(*per_s: int, windows: int = 4) -> np.ndarray:
    return np.array([per_s] * windows, dtype=np.int64) * 1000


def spans(ranges: tuple[MapRange, ...]) -> list[tuple[int, int]]:
    return [(each.low, each.high) for each in ranges]


def test_ranges_are_split_until_each_fits_or_is_one_partition_key() -> None:
    assert TARGET == 1_600_000
    assert spans(warm_map(steady(400, 400, 400, 400), LIMITS, ["a", "b"])) == [(0, 4)]
    assert spans(warm_map(steady(401, 400, 400, 400), LIMITS, ["a", "b"])) == [(0, 2), (2, 4)]
    assert spans(warm_map(steady(1000, 1000, 1000, 1000), LIMITS, ["a", "b"])) == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert spans(warm_map(steady(0, 9000, 0), LIMITS, ["a", "b"])) == [(0, 3)], "nothing to be parted from"
    assert spans(warm_map(steady(0, 9000, 900), LIMITS, ["a", "b"])) == [(0, 2), (2, 3)]
    assert spans(warm_map(steady(100, 100, 1900, 100), LIMITS, ["a", "b"])) == [(0, 2), (2, 3), (3, 4)], (
        "a hot key alone"
    )


def test_a_load_in_the_heaviest_window_counts() -> None:
    loads = np.array([[100, 100], [1000, 1000], [100, 100]]) * 1000
    assert spans(warm_map(loads, LIMITS, ["a"])) == [(0, 1), (1, 2)]


def test_keys_that_only_grow_are_one_range_and_each_bucket_of_them_another() -> None:
    """Eight windows in which eight new keys each take 4,000/s; then the same in each of two buckets."""
    tail = np.kron(np.eye(8, dtype=np.int64), np.full((1, 8), 500_000))
    assert dividing_rank(tail) is None
    assert spans(warm_map(tail, LIMITS, ["a", "b"])) == [(0, 64)]
    assert spans(warm_map(np.hstack([tail, tail]), LIMITS, ["a", "b"])) == [(0, 64), (64, 128)]
    # Old keys that are read all the time are parted from the tail and each other, and no key to come is a boundary.
    some = np.hstack([np.full((8, 4), 10_000), tail])
    parted = warm_map(some, LIMITS, ["a", "b"])
    assert len(parted) <= 3 and parted[-1].high == 68 and 4 <= parted[-1].low < 12
    both = warm_map(np.hstack([np.full((8, 4), 500_000), tail]), LIMITS, ["a", "b"])
    assert both[-1].high == 68 and 4 <= both[-1].low < 12
    assert len(both) > 2 and both[1].low < 4


def test_the_heaviest_range_goes_first_to_the_lightest_server() -> None:
    """By hand: 1500 to a, 1400 to b, 1300 to b (2700), 1200 to a (2700), 1100 to the first of equals."""
    found = warm_map(steady(1100, 1200, 1300, 1400, 1500), LIMITS, ["b", "a"])
    assert [(each.low, each.server) for each in found] == [(0, "a"), (1, "a"), (2, "b"), (3, "b"), (4, "a")]


@given(
    st.lists(st.integers(0, 3000), min_size=1, max_size=60),
    st.integers(1, 5),
    st.integers(2, 10),
)
def test_every_warm_map_tiles_the_keys_within_its_watermark_and_near_the_best_balance(
    per_s: list[int], servers: int, each: int
) -> None:
    names = [f"s{i}" for i in range(servers)]
    found = warm_map(steady(*per_s), LIMITS, names, options(ranges_per_server_max=each))
    FixedMap(found).check()
    assert found[-1].high == len(per_s) and len(found) <= each * servers
    assert [one.number for one in found] == list(range(1, len(found) + 1))
    loads = [sum(per_s[one.low : one.high]) for one in found]
    held = [sum(load for load, one in zip(loads, found, strict=True) if one.server == name) for name in names]
    best = max(max(loads), sum(per_s) / servers)
    assert max(held) <= best * (2 - 1 / servers), "list scheduling is never worse (Graham, 1966)"
    if len(found) < each * servers:
        for one, load in zip(found, loads, strict=True):
            span = steady(*per_s[one.low : one.high])
            assert load * 1000 <= TARGET or dividing_rank(span) is None, "what could be divided was"


STEPS = st.one_of(
    st.builds(read, st.integers(0, 5)),
    st.builds(write, st.integers(0, 5), st.integers(1, 100)),
    st.builds(page, st.integers(0, 2), st.integers(3, 6), st.integers(0, 400)),
)
SCRIPTS = st.lists(
    st.builds(lambda steps: script(steps), st.lists(STEPS, min_size=1, max_size=3)), min_size=2, max_size=2
)


@given(SCRIPTS, SCRIPTS, st.lists(st.tuples(st.integers(0, 8 * SECOND - 1), st.integers(0, 1)), max_size=30))
def test_the_counted_load_is_what_the_requests_add_up_to(
    early: list, late: list, requests: list[tuple[int, int]]
) -> None:
    keys = KeySpace("t", space(6).keys, np.array([3, 0, 5, 2, 0, 1]))
    scripts = Scripts(keys, ("c",), ((tuple(early),), (tuple(late),)), (3 * SECOND,))
    load = Listed([(at_ns, 0, number) for at_ns, number in sorted(requests)], 8 * SECOND)
    expected = np.zeros((4, 6))
    for at_ns, number in requests:
        for step in (early if at_ns < 3 * SECOND else late)[number].stages[0]:
            share = np.zeros(6)
            share[step.low] = 1
            rows = keys.rows[step.low : step.high]
            if step.partition == SEVERAL and rows.sum():
                share[step.low : step.high] = rows / rows.sum()
                share[step.low] -= 0 if rows[0] else share[step.low]
            expected[at_ns // (2 * SECOND)] += share * offered_milli(step, LIMITS) / 2
    found = counted_load(load, scripts, LIMITS, 4)
    assert np.abs(found - expected).max(initial=0) <= 0.5 + 1e-6


def usable(limits_: Limits) -> float:
    return limits_.headroom_share * limits_.range_entities_per_s


def test_the_watermark_stops_splits_that_the_manager_would_not_make() -> None:
    found = warm_map(steady(*[2000] * 40), LIMITS, ["a"], options(ranges_per_server_max=5))
    assert len(found) == 5
    assert sum(2000 * (each.high - each.low) > usable(LIMITS) for each in found) >= 4
