"""Sizes of the groups of which random rows are at hand: means of what bends are those of the table."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from pkadvisor.design.rows.samples.group_sizes import Law, others_in_table
from pkadvisor.table.edm import EdmType
from tests.design.support import population_of

Ints = NDArray[np.int64]
ROWS = 12_000
TABLES: dict[str, Ints] = {
    "of 20": np.arange(ROWS) // 20,
    "1 or 100": np.concatenate([np.arange(ROWS // 2), ROWS + np.arange(ROWS // 2) // 100]),
}


def sampled(groups: Ints, share: float, seed: int) -> tuple[Ints, float]:
    """(other rows at hand of each row's group, the chance of each to be at hand)."""
    drawn = groups[np.random.default_rng(seed).permutation(ROWS)[: round(share * ROWS)]]
    return np.bincount(drawn)[drawn] - 1, (len(drawn) - 1) / (ROWS - 1)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("share", [0.05, 0.2])
def test_means_of_what_bends_are_those_of_the_table(name: str, share: float) -> None:
    """A bound of 10 of a quotient that is either 1 or some dozens is far too low: most rows find no other one."""
    groups = TABLES[name]
    true = np.bincount(groups)[groups]
    sizes, quotients = [], []
    for seed in range(6):
        others, chance = sampled(groups, share, seed)
        sizes.append(1 + others_in_table(others, chance))
        quotients.append(1 + others / chance)
    mean = np.mean([s.mean() for s in sizes])
    assert mean == pytest.approx(np.mean([q.mean() for q in quotients]), rel=0.02), "the mean is that of quotients"
    bound = np.mean([np.minimum(s, 10).mean() for s in sizes])
    assert bound == pytest.approx(np.minimum(true, 10).mean(), rel=0.06)
    if (name, share) == ("of 20", 0.05):
        assert np.mean([np.minimum(q, 10).mean() for q in quotients]) < 0.75 * np.minimum(true, 10).mean()


def test_other_laws_that_the_counts_allow_lie_on_both_sides() -> None:
    others, chance = sampled(TABLES["of 20"], 0.02, 1)
    small, likely, large, even = (
        float(np.minimum(1 + others_in_table(others, chance, law), 10).mean())
        for law in (Law.SMALL, Law.LIKELIEST, Law.LARGE, Law.EVEN)
    )
    assert small < likely <= large
    assert small < 9.5 < large
    assert even == pytest.approx(10.0, abs=0.3), "groups of 20 are alike"


def test_where_no_two_rows_agree_groups_may_still_have_some() -> None:
    others = np.zeros(200, dtype=np.int64)
    assert not others_in_table(others, 0.05).any()
    large = float(others_in_table(others, 0.05, Law.LARGE).mean())
    # No pair among 200 rows: with 3.84 ÷ 2 or more expected, that would be too much luck.
    assert 0 < large * 0.05 * 200 < 4


def test_few_rows_and_whole_tables_have_no_law() -> None:
    few = np.array([2, 2, 2, 0])
    assert others_in_table(few, 0.1).tolist() == pytest.approx([20, 20, 20, 0])
    assert others_in_table(np.full(50, 3), 1.0).tolist() == [3.0] * 50


def test_groups_of_one_count_have_the_likeliest_size_of_that_count() -> None:
    assert others_in_table(np.full(100, 49), 99 / 99_999).tolist() == pytest.approx([49 * 99_999 / 99] * 100)
    assert others_in_table(np.full(120, 119), 119 / 399_999).tolist() == pytest.approx([399_999.0] * 120)


@pytest.mark.parametrize("law", list(Law))
def test_what_names_nothing_matches_exactly_the_whole_table(law: Law) -> None:
    columns = {"id": [f"e{n}" for n in range(120)]}
    population = population_of(columns, {"id": EdmType.STRING}, total=400_000, sampling="random-rows")
    population.law = law
    assert population.matching((), np.arange(120)).tolist() == [400_000.0] * 120
