"""Groups that are coarser than the drawn keys, or lie across them: how many there are, and what share one keeps."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest

from pkadvisor.design.keys.scheme import parse_key
from pkadvisor.design.rows.fronts import write_fronts
from pkadvisor.design.rows.population import Population
from pkadvisor.table.edm import EdmType
from tests.design.support import population_of

TYPES = {"user": EdmType.INT32, "country": EdmType.STRING, "region": EdmType.INT32, "product": EdmType.STRING}
USERS = 2_000


def table() -> list[tuple[int, str, int, str]]:
    """10 rows of each user: 40 countries, the first of half of the users; 50 regions of 40; 5,000 products."""
    random = Random(5)
    rows = []
    for user in range(USERS):
        country = "c00" if user % 2 else f"c{random.randrange(1, 40):02d}"
        rows += [(user, country, user // 40, f"p{random.randrange(5_000):04d}") for _ in range(10)]
    return rows


ROWS = table()


def drawn(users: int, *, seed: int = 0) -> Population:
    chosen = set(Random(seed).sample(range(USERS), users))
    rows = [row for row in ROWS if row[0] in chosen]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(TYPES)}
    options = {"sampling": "random-keys", "sampled_by": ("user",), "complete": False, "arrival": "file_order"}
    return population_of(columns, TYPES, total=len(ROWS), **options)


def hottest(population: Population, name: str) -> float:
    """The share of the rows that the largest group is taken to have."""
    return float((population.counts([("p", name)]) * population.share_factors([("p", name)])).max()) / population.rows


# 20 users show a dozen countries: the jackknife is too low where some groups are much rarer than others.
@pytest.mark.parametrize(
    ("name", "groups", "users"),
    [("country", 40, 100), ("country", 40, 400)]
    + [(name, groups, users) for name, groups in (("region", 50), ("product", 4_900)) for users in (20, 100, 400)],
)
def test_the_groups_of_the_table_are_estimated_from_the_keys_that_show_them(name: str, groups: int, users: int) -> None:
    found = [drawn(users, seed=seed).groups_total([("p", name)]) for seed in range(8)]
    assert np.median(found) == pytest.approx(groups, rel=0.5)


@pytest.mark.parametrize(
    ("name", "share", "within"), [("country", 0.5, 0.2), ("region", 1 / 50, 1.0), ("product", 1 / 5_000, 3.0)]
)
@pytest.mark.parametrize("users", [20, 100, 400])
def test_the_hottest_group_keeps_what_is_not_luck(name: str, share: float, within: float, users: int) -> None:
    """Half of the users are of one country, which stays; a product that one drawn user bought is one of thousands."""
    found = [hottest(drawn(users, seed=seed), name) for seed in range(8)]
    assert share / (1 + within) <= float(np.median(found)) <= share * (1 + within)
    sampled = [population.counts([("p", name)]).max() / population.rows for population in map(drawn, (users,))]
    assert max(found) <= 1.5 * max(*sampled, share)


def test_one_large_group_says_nothing_of_the_small_ones() -> None:
    """Half of the rows have no product, of all keys; the others one of thousands that few keys show."""
    rows = [(user, None if n % 2 else product) for n, (user, _, _, product) in enumerate(ROWS) if user % 20 == 0]
    columns = {"user": [user for user, _ in rows], "product": [product for _, product in rows]}
    types = {name: TYPES[name] for name in columns}
    options = {"sampling": "random-keys", "sampled_by": ("user",), "complete": False}
    population = population_of(columns, types, total=len(ROWS), **options)
    atoms = [("p", "product")]
    kept, counts = population.share_factors(atoms), population.counts(atoms)
    assert isinstance(kept, np.ndarray)
    assert kept[0] == pytest.approx(1.0, rel=0.1), "the missing value is the first group"
    few = (counts == 1) & (np.arange(len(counts)) > 0)
    assert kept[few].max() < 0.3


def test_inserts_reach_every_key_of_the_table_and_not_those_at_hand_alone() -> None:
    """6 of 2,000 keys of two properties lead the PartitionKey; a rising part before them says nothing of them."""
    rows = [(s, d, n) for n in range(1, 101) for s, d in ((3, 1), (17, 2), (40, 5), (55, 1), (71, 3), (80, 4))]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(("shop", "desk", "n"))}
    types = dict.fromkeys(columns, EdmType.INT32)
    options = {"sampling": "random-keys", "sampled_by": ("shop", "desk"), "complete": False, "arrival": "file_order"}
    population = population_of(columns, types, total=200_000, **options)

    def fronts(partition: str) -> float:
        found = write_fronts(parse_key(partition, "").partition, population).median
        assert found is not None
        return found

    assert fronts("{pad(shop,4)}_{pad(desk,2)}") == 64.0
    assert fronts("{hash(n,2)}_{pad(shop,4)}_{pad(desk,2)}") == 64.0
    assert fronts("{pad(shop,4)}") > 32.0
    assert fronts("{pad(n,4)}_{pad(shop,4)}_{pad(desk,2)}") < 8.0


@pytest.mark.parametrize("users", [40, 200])
def test_rows_of_keys_that_are_not_at_hand_are_expected_and_not_left_to_luck(users: int) -> None:
    """4 rows of a product on average, which lie in 4 users: an instance finds itself and 4 more of other users.

    A bound of 3 cuts off what luck finds: most instances find none, and some one that stands for many.
    """
    truth = float(np.mean([counts - 1 for counts in _sizes_by_row()]))
    plain, cut = [], []
    for seed in range(8):
        population = drawn(users, seed=seed)
        found = population.matching([("p", "product")], np.arange(population.rows))
        plain.append(float(found.mean() - 1))
        cut.append(float(np.minimum(found, 3.0).mean()))
    assert np.median(plain) == pytest.approx(truth, rel=0.35)
    assert np.median(cut) > 2.5


def test_rows_of_the_own_key_are_all_at_hand() -> None:
    """An order is of one user: what the filter names implies the drawn key, although it does not name it."""
    columns = {"user": [n // 6 for n in range(600)], "order": [f"o{n // 3}" for n in range(600)]}
    types = {"user": EdmType.INT32, "order": EdmType.STRING}
    options = {"sampling": "random-keys", "sampled_by": ("user",), "complete": False}
    population = population_of(columns, types, total=600_000, **options)
    assert population.matching([("p", "order")], np.arange(600)).tolist() == [3.0] * 600


def _sizes_by_row() -> list[int]:
    sizes = Counter(product for *_, product in ROWS)
    return [sizes[product] for *_, product in ROWS]
