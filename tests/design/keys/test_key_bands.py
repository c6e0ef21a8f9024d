"""Bands of keys: they tile the keys, hot ones stay alone, and many keys are no trouble."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.design.keys.key_bands import PIECES_MAX, bands_of, merged_bands


@given(st.lists(st.integers(0, 10**9), max_size=60), st.integers(1, 12))
def test_rows_of_a_heat_map_tile_it(weights: list[int], most: int) -> None:
    edges = merged_bands(weights, most)
    assert edges[0] == 0
    assert edges[-1] == len(weights)
    assert all(a < b for a, b in pairwise(edges))
    assert len(edges) - 1 == min(most, len(weights))


def test_cold_neighbours_are_joined_first() -> None:
    weights = [0, 0, 900, 1, 1, 800, 0]
    assert merged_bands(weights, 5) == [0, 2, 3, 5, 6, 7]
    assert merged_bands(weights, 4) == [0, 2, 3, 5, 7]
    assert merged_bands(weights, 9) == list(range(8))


@given(st.lists(st.floats(0, 1e9), max_size=80), st.integers(1, 12))
def test_bands_of_loads_tile_the_keys(weights: list[float], most: int) -> None:
    edges = bands_of(np.array(weights), most).tolist()
    assert edges[0] == 0
    assert edges[-1] == len(weights)
    assert all(a < b for a, b in pairwise(edges))
    assert len(edges) - 1 == min(most, len(weights))


def test_hot_keys_among_very_many_keep_their_own_band() -> None:
    weights = np.ones(20 * PIECES_MAX)
    hot = [7, 5_000, 40_000, 40_001, len(weights) - 1]
    weights[hot] = 1e5
    edges = bands_of(weights, 96)
    assert len(edges) == 97
    alone = {int(a) for a, b in pairwise(edges) if b - a == 1}
    assert alone == set(hot)


def test_idle_keys_are_shared_out() -> None:
    edges = bands_of(np.zeros(960), 96)
    assert int(np.diff(edges).max()) <= 40
