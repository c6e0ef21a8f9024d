"""What scripts say of a load before it runs: stages that requests have in common weigh as if each had its own."""

from __future__ import annotations

import numpy as np
import pytest

from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.limits import default_limits
from pkadvisor.stress.requests.expected import means_of, partition_loads
from pkadvisor.stress.requests.scripts import SEVERAL, KeySpace, Script, Scripts, Step
from pkadvisor.stress.simulate.measures import offered_milli

SPACE = KeySpace("rows", ("a", "b"), np.array([5, 5], dtype=np.int64))
READ = (Step(Kind.READ, 0, 0, 1, 1, 1, 100),)
PAGE = (Step(Kind.PAGE, 1, 1, 2, 1, 400, 100, True), Step(Kind.PAGE, SEVERAL, 0, 2, 1, 900, 100))
WRITE = (Step(Kind.WRITE, 1, 1, 2, 3, 0, 100),)
OF_CLASS = (Script((READ, PAGE)), Script((PAGE, PAGE, WRITE)), Script(()), Script((READ,)))
WEIGHTS = {0: 1.0, 1: 2.0, 2: 5.0}


def test_means_are_those_of_request_after_request() -> None:
    found = means_of(Scripts(SPACE, ("c",), ((OF_CLASS,),)), 0, WEIGHTS)
    assert found.requests == pytest.approx((1 * 3 + 2 * 5) / 8)
    assert found.continued == pytest.approx((1 * 1 + 2 * 2) / 8)
    assert found.entities_read == pytest.approx((1 * 1301 + 2 * 2600) / 8)
    assert found.entities_written == pytest.approx(2 * 3 / 8)


def test_a_partition_takes_what_every_request_counts_there() -> None:
    limits = default_limits()
    scripts = Scripts(SPACE, ("c",), ((OF_CLASS,),))
    page = offered_milli(PAGE[0], limits) / 1000
    assert page > 1
    found = partition_loads(scripts, (16.0,), (WEIGHTS,), limits)
    assert found.tolist() == pytest.approx([16 / 8, 16 * (page + 2 * (2 * page + 3)) / 8])
