"""Each planted pattern gets its name: 100 seeded maps of each, with noise, background load and uneven rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from pkadvisor.design.load.heat_pattern import (
    APPEND,
    BURST,
    EVEN,
    FRONTS,
    HOT_KEY,
    IDLE,
    MOVING,
    SKEWED,
    Pattern,
    pattern_of,
)

Floats = NDArray[np.float64]
CASES = 100
RIGHT = 95
"""Cases of 100 that must be named rightly."""


def shape_of(draw: np.random.Generator) -> tuple[int, int]:
    return int(draw.integers(16, 97)), int(draw.integers(24, 193))


def background(draw: np.random.Generator, rows: int, columns: int) -> Floats:
    """Every key at all times, with rows that differ a little and the curve of a day."""
    keys = draw.lognormal(0, 0.15, rows)
    day = 1 + draw.uniform(0, 0.4) * np.sin(np.linspace(0, 2 * np.pi * draw.integers(1, 4), columns))
    out = keys[:, None] * day[None, :]
    return out / out.sum()


def counted(draw: np.random.Generator, expected: Floats) -> Floats:
    """Requests as they come: so many that an even cell has 5 to 500."""
    return draw.poisson(expected / expected.sum() * expected.size * draw.uniform(5, 500)).astype(np.float64)


def front(draw: np.random.Generator, rows: int, columns: int) -> Floats:
    """One diagonal through all rows: at an uneven speed, one to three rows high, up or down."""
    speed = draw.lognormal(0, 0.3, columns)
    at = np.cumsum(speed) / speed.sum() * (rows - 1)
    before = np.concatenate([[0.0], at[:-1]])
    out = np.zeros((rows, columns))
    high = int(draw.integers(0, 2))
    for column in range(columns):
        out[int(before[column]) : int(at[column]) + 1 + high, column] = 1
    out = out / out.sum(axis=0)
    return out / out.sum()


def even(draw: np.random.Generator) -> tuple[Floats, int]:
    return counted(draw, background(draw, *shape_of(draw))), 0


def append(draw: np.random.Generator) -> tuple[Floats, int]:
    rows, columns = shape_of(draw)
    found = front(draw, rows, columns)
    found = found[::-1] if draw.random() < 0.5 else found
    share = draw.uniform(0.4, 1)
    return counted(draw, share * found + (1 - share) * background(draw, rows, columns)), 1


def fronts(draw: np.random.Generator) -> tuple[Floats, int]:
    count, columns = int(draw.integers(2, 9)), int(draw.integers(24, 193))
    parts = [front(draw, int(draw.integers(8, 13)), columns) * draw.uniform(0.6, 1) for _ in range(count)]
    found = np.concatenate(parts)
    found = found[::-1] if draw.random() < 0.5 else found
    found, share = found / found.sum(), draw.uniform(0.5, 1)
    return counted(draw, share * found + (1 - share) * background(draw, len(found), columns)), count


def hot_key(draw: np.random.Generator) -> tuple[Floats, int]:
    rows, columns = shape_of(draw)
    expected, share = background(draw, rows, columns), draw.uniform(0.25, 0.9)
    row = int(draw.integers(0, rows))
    expected[row] = share / (1 - share) * expected.sum(axis=0)
    return counted(draw, expected), 1


def burst(draw: np.random.Generator) -> tuple[Floats, int]:
    rows, columns = shape_of(draw)
    expected, times = background(draw, rows, columns), draw.uniform(5, 20)
    every, wide = int(draw.integers(8, columns)), int(draw.integers(1, 3))
    offset = int(draw.integers(0, every - wide))
    inside = (np.arange(columns) - offset) % every < wide
    expected[:, inside] *= times
    return counted(draw, expected), int(np.count_nonzero(np.diff(np.concatenate([[0], inside.astype(int)])) == 1))


def moving(draw: np.random.Generator) -> tuple[Floats, int]:
    rows, columns = shape_of(draw)
    found, at = np.zeros((rows, columns)), 0
    row = int(draw.integers(0, rows))
    while at < columns:
        stay = int(draw.integers(1, max(2, columns // 6)))
        found[row, at : at + stay] = 1
        at, row = at + stay, int((row + draw.integers(4, rows - 3)) % rows)
    share = draw.uniform(0.4, 0.95)
    found = found / found.sum()
    return counted(draw, share * found + (1 - share) * background(draw, rows, columns)), 1


PLANTED: dict[str, Callable[[np.random.Generator], tuple[Floats, int]]] = {
    EVEN: even,
    APPEND: append,
    FRONTS: fronts,
    HOT_KEY: hot_key,
    BURST: burst,
    MOVING: moving,
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_pattern_gets_its_name(name: str) -> None:
    wrong: list[tuple[int, Pattern]] = []
    for seed in range(CASES):
        loads, count = PLANTED[name](np.random.default_rng([seed, len(name)]))
        found = pattern_of(loads, [1] * len(loads))
        if found.name != name or abs(found.count - count) > count // 4:
            wrong.append((seed, found))
    assert len(wrong) <= CASES - RIGHT, [f"{seed}: {p.name} {p.count}" for seed, p in wrong]


def test_no_load_is_idle() -> None:
    assert pattern_of(np.zeros((4, 20)), [1] * 4).name == IDLE
    assert pattern_of(np.zeros((0, 20)), []).name == IDLE


def test_one_partition_is_a_hot_key_whatever_else() -> None:
    found = pattern_of(np.ones((1, 30)), [1])
    assert (found.name, found.share) == (HOT_KEY, 1.0)


def test_a_row_of_many_partitions_is_not_a_hot_key_for_having_many() -> None:
    loads = np.ones((3, 30)) * np.array([[1.0], [8.0], [1.0]])
    assert pattern_of(loads, [10, 80, 10]).name == EVEN
    assert pattern_of(loads, [1, 1, 1]).name == HOT_KEY


def test_some_keys_above_the_others_are_skewed() -> None:
    loads = np.ones((40, 30))
    loads[5] = 3
    assert pattern_of(loads, [1] * 40).name == SKEWED


def test_time_needs_columns() -> None:
    """One column, or a few, show no movement and no burst."""
    loads = np.eye(5)
    assert pattern_of(loads, [1] * 5).name == EVEN
    assert pattern_of(np.ones((5, 1)), [1] * 5).name == EVEN


@pytest.mark.parametrize(("flipped", "way", "end"), [(False, "rise", "last"), (True, "fall", "first")])
def test_the_sentence_says_which_way_keys_go(flipped: bool, way: str, end: str) -> None:
    loads = np.eye(30)[::-1] if flipped else np.eye(30)
    found = pattern_of(loads, [1] * 30)
    assert found.name == APPEND
    assert f"keys {way} with time" in found.sentence
    assert f"the {end} ones take 97 %" in found.sentence


def test_regular_bursts_are_counted_and_called_regular() -> None:
    loads = np.ones((10, 60))
    loads[:, 5::15] = 10
    found = pattern_of(loads, [1] * 10)
    assert (found.name, found.count) == (BURST, 4)
    assert "4 bursts over all keys, at regular distances: up to 10 times the usual load, 42 %" in found.sentence


def test_the_unit_of_the_loads_does_not_matter() -> None:
    loads, _ = fronts(np.random.default_rng(3))
    assert pattern_of(loads, [1] * len(loads)) == pattern_of(loads * 1024, [1] * len(loads))


@pytest.mark.parametrize("each", [0.3, 1, 3, 10])
def test_the_chance_of_few_requests_is_no_pattern(each: float) -> None:
    """Maps with so many requests in a cell, of which no key and no time has more than another."""
    named = []
    for seed in range(100):
        loads = np.random.default_rng(seed).poisson(np.full((32, 60), each)).astype(np.float64)
        named.append(pattern_of(loads, [4] * 32, events=float(loads.sum())).name)
    assert named.count(EVEN) >= RIGHT, named


def test_few_requests_still_show_a_front() -> None:
    draw, right = np.random.default_rng(9), 0
    for _ in range(100):
        expected = front(draw, 32, 60)
        loads = draw.poisson(600 * expected).astype(np.float64)
        right += pattern_of(loads, [4] * 32, events=float(loads.sum())).name == APPEND
    assert right >= RIGHT


@pytest.mark.parametrize(("columns", "words"), [(1, "nearly all of it in 5 % of the time"), (20, "all the time")])
def test_a_key_that_is_hot_for_a_while_is_not_hot_all_the_time(columns: int, words: str) -> None:
    loads = np.ones((10, 20))
    loads[3, :columns] = 600 / columns
    found = pattern_of(loads, [1] * 10)
    assert (found.name, found.count) == (HOT_KEY, 1) and words in found.sentence
