"""Write fronts of known arrival patterns, and load per partition."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from pkadvisor.design.heat import RANGES, ROWS_MIN, LoadMap, write_fronts
from pkadvisor.design.population import Population
from pkadvisor.design.template import parse_template
from pkadvisor.observe.workload import Basis
from pkadvisor.table.edm import EdmType
from tests.design.support import population_of

ROWS = 4000
TYPES = {"tenant": EdmType.STRING, "at": EdmType.DATETIME, "id": EdmType.GUID, "n": EdmType.INT64, "k": EdmType.STRING}


def inserts(tenants: int = 1, rows: int = ROWS, **options: object) -> Population:
    """Equal tenants whose inserts interleave; times and numbers rise, ids are random."""
    start, dice = datetime(2024, 1, 1, tzinfo=UTC), random.Random(7)
    options.setdefault("arrival", "file_order")
    return population_of(
        {
            "tenant": [f"t{n % tenants}" for n in range(rows)],
            "at": [start + timedelta(minutes=n) for n in range(rows)],
            "id": [f"{dice.getrandbits(128):032x}" for _ in range(rows)],
            "n": list(range(1, rows + 1)),
            "k": ["one"] * rows,
        },
        TYPES,
        **options,
    )


def fronts(template: str, population: Population) -> float:
    found = write_fronts(parse_template(template), population)
    assert found.basis is Basis.COUNTED
    assert found.median is not None
    assert found.least is not None
    assert found.least <= found.median
    return found.median


@pytest.mark.parametrize("tenants", [1, 2, 4, 8])
def test_each_interleaved_tenant_is_a_front(tenants: int) -> None:
    assert fronts("{tenant}_{time(at,'yyyyMMddHH')}", inserts(tenants)) == pytest.approx(tenants, rel=0.05)
    assert fronts("{tenant}_{reverse_ticks(at)}", inserts(tenants)) == pytest.approx(tenants, rel=0.05)


@pytest.mark.parametrize(
    "template",
    ["{ticks(at)}", "{reverse_ticks(at)}", "{time(at,'yyyyMMdd')}", "{pad(n,6)}", "{reverse_pad(n,6)}", "{k}", "all"],
)
def test_one_front(template: str) -> None:
    assert fronts(template, inserts()) == pytest.approx(1.0, rel=0.02)


def test_random_keys_spread_over_the_ranges() -> None:
    assert 15 < fronts("{id}", inserts()) <= RANGES


def test_numbers_that_rise_without_padding_land_in_one_place() -> None:
    # 2001 to 2100 lie among 200 to 210: a few older keys stand between them, so a window may touch two ranges.
    assert 1 <= fronts("{n}", inserts()) < 1.5


def test_buckets_are_as_many_fronts() -> None:
    assert fronts("{hash(n,8)}_{ticks(at)}", inserts()) == pytest.approx(8, rel=0.25)


def test_an_unknown_order_says_nothing_unless_the_key_leads_with_time() -> None:
    unknown = inserts(arrival=None)
    assert write_fronts(parse_template("{tenant}"), unknown).median is None
    assert write_fronts(parse_template("{tenant}"), unknown).basis is Basis.UNKNOWN
    timed = write_fronts(parse_template("{time(at,'yyyyMM')}_{tenant}"), unknown)
    assert (timed.median, timed.basis) == (1.0, Basis.ASSUMED)
    few = inserts(rows=ROWS_MIN - 1)
    assert write_fronts(parse_template("{tenant}"), few).median is None


def test_hidden_values_have_no_order() -> None:
    hidden = inserts(2, hashed=frozenset({"tenant"}))
    assert write_fronts(parse_template("{tenant}"), hidden).basis is Basis.UNKNOWN


def test_load_falls_on_the_partition_of_each_instance() -> None:
    population = population_of({"tenant": ["a", "b", "a", "c"]}, {"tenant": EdmType.STRING})
    loads = LoadMap(population)
    parts = parse_template("{tenant}")
    loads.at_instances(parts, np.array([0, 1, 2]), np.array([1.0, 5.0, 3.0]))
    loads.at_rows(parts, np.zeros(4, dtype=np.int64), np.array([8.0]))
    found = loads.hottest()
    assert found is not None
    assert found[0] == parts
    assert found[1].entities_per_s == pytest.approx(8.0)  # a: 1 + 3 + two rows of 2
    assert found[1].share == pytest.approx(8 / 17)
    assert found[1].partitions == 3
    assert found[1].row == 0


def test_no_load_is_no_hot_partition() -> None:
    assert LoadMap(population_of({"tenant": ["a"]}, {"tenant": EdmType.STRING})).hottest() is None
