"""Load per partition."""

from __future__ import annotations

import numpy as np
import pytest

from pkadvisor.design.heat import LoadMap
from pkadvisor.design.template import parse_template
from pkadvisor.table.edm import EdmType
from tests.design.support import population_of


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
