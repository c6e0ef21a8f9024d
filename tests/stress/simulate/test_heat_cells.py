"""The heat map of a run: the busiest PartitionKey of a band, not the sum of the band."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.stress.simulate.heat_cells import heat_cells
from pkadvisor.stress.simulate.measures import band_edges

ROWS = np.array([1, 3, 0, 2, 4, 5])
EDGES = np.array([0, 2, 3, 6])


def part(second: int, **offered: int) -> tuple[int, np.ndarray, np.ndarray]:
    ranks = np.array([int(name[1:]) for name in offered])
    return second, ranks, np.array(list(offered.values()))


def test_a_cell_is_the_busiest_key_of_its_band() -> None:
    parts = [part(0, k0=5, k1=7, k4=2), part(1, k0=5, k3=1), part(2, k5=9)]
    found = heat_cells(parts, {}, ROWS, EDGES, 2, 2)
    assert found.tolist() == [[10, 0, 2], [0, 0, 9]]


def test_pages_over_several_keys_count_at_each_by_its_rows() -> None:
    wide = {(0, 1, 5): [900, 0, 3, 0], (1, 1, 5): [90, 0, 1, 0], (3, 2, 3): [50, 0, 1, 0]}
    found = heat_cells([part(0, k3=1000)], wide, ROWS, EDGES, 2, 2)
    assert found.tolist() == [[330, 0, 1220], [0, 0, 0]]  # 990 over 3, 0, 2 and 4 rows; a key without rows takes none


def test_many_quiet_keys_are_quiet() -> None:
    size = 6400
    edges = band_edges(size)
    found = heat_cells([(0, np.arange(size), np.full(size, 10))], {}, np.ones(size, np.int64), edges, 1, 1)
    assert found.max() == 10


def test_no_key_is_no_heat() -> None:
    assert heat_cells([], {}, np.zeros(0, np.int64), np.zeros(1, np.int64), 1, 2).shape == (2, 0)


LOADS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 100)), max_size=12)


@given(LOADS)
def test_as_reckoned_one_by_one(loads: list[tuple[int, int, int]]) -> None:
    parts = [part(second, **{f"k{rank}": offered}) for second, rank, offered in loads]
    found = heat_cells(parts, {}, ROWS, EDGES, 2, 3)
    for column in range(3):
        of_key = [sum(o for s, r, o in loads if s // 2 == column and r == rank) for rank in range(6)]
        assert found[column].tolist() == [max(of_key[0:2]), of_key[2], max(of_key[3:6])]
