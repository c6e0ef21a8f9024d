"""Traffic without chance, what one request does to an idle store, and the law of retries compared with a run."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from pkadvisor.design.load.queueing import chained_equilibrium
from pkadvisor.engine.capacity.capacity import Capacity, Enforcement
from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.engine.options import EngineOptions
from pkadvisor.limits import default_limits
from pkadvisor.stress.load.arrivals import Steps
from pkadvisor.stress.load.even_load import EvenLoad
from pkadvisor.stress.load.load import ClassLoad, WorkloadLoad
from pkadvisor.stress.placement.stamp_map import FixedMap, MapRange
from pkadvisor.stress.requests.flat_steps import FlatSteps
from pkadvisor.stress.requests.retry import fixed, policy_of
from pkadvisor.stress.requests.scripts import SEVERAL, KeySpace, Script, Scripts, Step
from pkadvisor.stress.simulate.fluid import run_fluid
from pkadvisor.stress.simulate.loop import run_loop
from tests.tiers import sizes

SECOND = 1_000_000_000
SPACE = KeySpace("T", ("a", "b", "c"), np.array([10, 20, 30]))


def point(rank: int) -> Step:
    return Step(Kind.READ, rank, rank, rank + 1, examined=1)


def page(rank: int, examined: int, continued: bool = False) -> Step:
    return Step(Kind.PAGE, rank, rank, rank + 1, examined=examined, continued=continued)


def load(rates: tuple[float, ...], weights: tuple[list[float], ...], seconds: float) -> EvenLoad:
    names = tuple(f"c{n}" for n in range(len(rates)))
    return EvenLoad(names, rates, tuple(np.array(w) for w in weights), round(seconds * SECOND))


def test_each_parameter_has_its_share_at_all_times() -> None:
    one = load((100.0, 7.0), ([1.0, 3.0, 0.0, 4.0], [1.0, 1.0]), 20)
    batches = list(one.batches())
    at = np.concatenate([b.at_ns for b in batches])
    assert (np.diff(at) >= 0).all() and at[-1] < 20 * SECOND
    assert [b.first for b in batches[1:]] == [a.first + len(a) for a in batches[:-1]]
    of_class = np.concatenate([b.classes for b in batches])
    assert np.bincount(of_class).tolist() == [2000, 140]
    picked = np.concatenate([b.instances for b in batches])[of_class == 0]
    for part in np.split(picked, 20):  # each hundred, not only all of them
        assert np.abs(np.bincount(part, minlength=4) - [12.5, 37.5, 0, 50]).max() <= 3


def test_a_part_of_the_parameters_keeps_its_rate() -> None:
    one = load((100.0, 7.0), ([1.0, 3.0, 0.0, 4.0], [1.0, 1.0]), 20)
    part = one.only([np.array([1]), np.array([], dtype=np.int64)]).times(2, 10)
    assert part.rates_per_s == pytest.approx((75.0, 0.0))
    assert sum(len(b) for b in part.batches()) == 750
    assert {int(i) for b in part.batches() for i in b.instances} == {1}


def test_pages_over_several_partitions_count_toward_none() -> None:
    wide = Step(Kind.PAGE, SEVERAL, 0, 3, examined=60)
    steps = FlatSteps.of(
        Scripts(SPACE, ("c",), (((Script(((point(0), page(1, 20)),)), Script(((wide,),))),),)), default_limits()
    )
    rates = steps.rates([10.0], [np.array([3.0, 1.0])])
    assert steps.partition_loads(rates).tolist() == [7.5, 150.0, 0.0]
    assert steps.spread_at(rates, 1) == pytest.approx(2.5 * 60 * 20 / 60)
    assert [found.tolist() for found in steps.touching(1, 1)] == [[0, 1]]
    assert [found.tolist() for found in steps.touching(2, 1)] == [[1]]


@pytest.mark.parametrize(
    ("times", "pages"), sizes([(1.5, 3), (4.0, 1)], [(1.5, 1), (1.5, 3), (4.0, 1), (4.0, 3)], "proofs")
)
def test_chains_of_pages_settle_where_the_law_says(times: float, pages: int) -> None:
    """Throttled share of attempts at the hottest PartitionKey, within 5 %; what gets through is the target.

    Longer chains settle more slowly than a short run lasts, and the law is above them by then.
    """
    limits = default_limits()
    chain = Script(tuple((page(1, 100, continued=n > 0),) for n in range(pages)))
    scripts = Scripts(SPACE, ("c0", "c1"), (((chain,), (Script(((point(1),),)),)),))
    rates = (times * 0.8 * 2000 / (100 * pages), times * 0.2 * 2000)
    parts = tuple(ClassLoad(f"c{n}", Steps.flat(rate), np.ones(1)) for n, rate in enumerate(rates))
    traffic = WorkloadLoad(parts, 240 * SECOND)
    capacity = Capacity(limits, EngineOptions(), Enforcement.STRICT, 0)
    found = run_fluid(traffic, scripts, capacity, FixedMap((MapRange(1, 0, 3, "s"),)), policy_of("current"))
    law = chained_equilibrium([(times * 1600, pages), (times * 400, 1)], limits.partition_entities_per_s, 3)
    assert found.hottest == 1
    assert found.hottest_throttled / found.hottest_attempts == pytest.approx(law.rejected_share, rel=0.05)
    through = (found.hottest_milli - found.hottest_throttled_milli)[20:240] / 1000
    assert through.mean() == pytest.approx(2000, rel=0.02)


def test_both_ways_to_run_tell_the_same_of_the_hottest_key() -> None:
    scripts = Scripts(SPACE, ("c0",), ((tuple(Script(((point(rank),),)) for rank in range(3)),),))
    traffic = load((4000.0,), ([1.0, 6.0, 1.0],), 3)
    runs = [
        run(
            traffic,
            scripts,
            Capacity(default_limits(), EngineOptions(), Enforcement.STRICT, 0),
            FixedMap(tuple(MapRange(n + 1, n, n + 1, f"s{n}") for n in range(3))),
            fixed(SECOND // 2, 2),
        )
        for run in (run_fluid, run_loop)
    ]
    first, second = runs
    assert first.hottest == second.hottest == 1 and first.hottest_throttled > 0
    assert (first.hottest_attempts, first.hottest_throttled) == (second.hottest_attempts, second.hottest_throttled)
    assert np.array_equal(first.hottest_throttled_milli, second.hottest_throttled_milli)
    assert int(first.throttled.sum()) == first.hottest_throttled, "nobody else is above the target"
    assert all(a is not b for a, b in pairwise(runs))


def test_a_class_that_comes_once_in_an_age_does_not_come_in_a_minute() -> None:
    load = EvenLoad(("often", "hardly"), (2.0, 1e-13), (np.ones(3), np.ones(3)), 60 * SECOND)
    counts = np.sum([np.bincount(batch.classes, minlength=2) for batch in load.batches()], axis=0)
    assert counts.tolist() == [120, 0]
    assert min(int(batch.at_ns.min()) for batch in load.batches()) >= 0
