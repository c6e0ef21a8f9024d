"""The map's twin next to the engine's own manager, under the same arrivals.

Both ask the same policy. They differ in when a pass falls (the engine's up to a window and a heartbeat later), and in
that the engine samples keys where the twin counts them. So a split may come a pass or two earlier or later, and later
splits by as much again; how many ranges come of it, and who is refused, must agree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from pkadvisor.engine.capacity.capacity import Capacity
from pkadvisor.engine.open_store import ACCOUNT, open_virtual
from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.stamp import Layout
from pkadvisor.engine.tables.row_keys import decode_key, partition_prefix
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.stress.load.faults import parse_fault
from pkadvisor.stress.placement.living_map import LivingMap
from pkadvisor.stress.placement.run_result import MapEvent
from pkadvisor.stress.placement.stamp_map import MapRange, WindowCounts
from pkadvisor.stress.simulate.loop import run_loop
from pkadvisor.table.store import CreateTable, Entity, EntityKey, InsertOrReplace
from tests.stress.placement.test_living_map import QUICK, TIGHT, poisson
from tests.stress.small import NEVER_AGAIN, SECOND, Listed, one_class, script, space, write
from tests.tiers import sizes

PER_S = 900
"""Four ranges and a half's; eight of an eighth each are calm."""
NAMES = ("server-0", "server-1", "server-2")
OPTIONS = replace(QUICK, heartbeat_ns=SECOND // 4)


def on_engine(load: Listed, size: int) -> tuple[np.ndarray, list[int], list[int]]:
    """Refusals by second; when (in s) there was a range more; where the ranges begin in the end, as ranks."""
    keys = space(size).keys
    refused = np.zeros(-(-load.duration_ns // SECOND), dtype=np.int64)
    splits: list[int] = []
    with open_virtual(1, limits=TIGHT, options=OPTIONS, layout=Layout(servers=3)) as store:
        assert store.stamp is not None
        assert store.execute(CreateTable("rows")).status == 204
        for at_ns, _, rank in load.requests:
            outcome = store.execute(InsertOrReplace("rows", Entity(EntityKey(keys[rank], ""), {})), at_ns / 1e6)
            assert outcome.status in (204, 503)
            refused[at_ns // SECOND] += outcome.status == 503
            found = store.stamp.map()
            if found is not None and len(found.entries) == len(splits) + 2:
                splits.append(at_ns // SECOND)
        found = store.stamp.map()
        assert found is not None
        lows = [keys.index(decode_key(entry.low + b"").partition_key) for entry in found.entries[1:]]
        store.stamp.check()
    return refused, splits, [0, *lows]


def both(load: Listed, size: int) -> tuple[np.ndarray, list[int], list[int], np.ndarray, list[int], list[int]]:
    living = LivingMap(space(size), (), NAMES, OPTIONS)
    scripts = one_class(space(size), [script([write(i)]) for i in range(size)])
    found = run_loop(load, scripts, Capacity(TIGHT, OPTIONS), living, NEVER_AGAIN)
    splits = [event.at_ns // SECOND for event in found.events if event.kind == "split"]
    return (*on_engine(load, size), found.throttled, splits, [each.low for each in living.ranges])


def steady(dice: np.random.Generator) -> np.ndarray:
    return dice.integers(0, 100, PER_S * 20)


def skewed(dice: np.random.Generator) -> np.ndarray:
    return np.minimum(dice.geometric(0.04, PER_S * 20) - 1, 99)


@pytest.mark.long("proofs")
@pytest.mark.parametrize("ranks", sizes([skewed], [steady, skewed], "proofs"))
def test_a_cold_start_is_the_engines_cold_start(ranks: Callable[[np.random.Generator], np.ndarray]) -> None:
    load = poisson(PER_S, 20, ranks(np.random.default_rng(4)), seed=4)
    refused, splits, lows, of_twin, twin_splits, twin_lows = both(load, 100)
    assert refused[0] == of_twin[0] > 0 and refused[1:4].tolist() == of_twin[1:4].tolist(), "one range, one bucket"
    assert min(len(lows), len(twin_lows)) >= 5 and 4 * abs(len(lows) - len(twin_lows)) <= len(lows)
    for one, other in zip(splits[:3], twin_splits[:3], strict=True):
        assert abs(one - other) <= 2, "the first three within two passes"
    assert abs(splits[0] - twin_splits[0]) <= 1, "the first within a pass and a heartbeat"
    assert int(of_twin.sum()) == pytest.approx(int(refused.sum()), rel=0.1)
    assert refused[-4:].sum() <= 0.04 * refused.sum() and of_twin[-4:].sum() <= 0.04 * of_twin.sum(), "warm"
    asked = np.bincount([rank for _, _, rank in load.requests], minlength=100)
    halves = [asked[: found[1:][int(np.argmin(np.abs(np.array(found[1:]) - 50)))]].sum() for found in (lows, twin_lows)]
    assert abs(int(halves[0]) - int(halves[1])) <= asked.sum() / 8, "a sample of keys halves as well as their counts"


def test_neither_splits_keys_that_only_grow_and_both_refuse_the_same() -> None:
    load = poisson(600, 10, np.arange(600 * 10) // 100, seed=4)
    refused, splits, lows, of_twin, twin_splits, twin_lows = both(load, 90)
    assert splits == twin_splits == [] and lows == twin_lows == [0]
    assert refused.tolist() == of_twin.tolist() and refused.sum() > 3000


@pytest.mark.parametrize("fault", ["server-down:server-1@22s", "server-down:server-1@22s+4s"])
def test_the_ranges_of_a_lost_server_are_away_as_long_as_the_engines_are(fault: str) -> None:
    """Within a heartbeat at either end: lease and heartbeats of the engine do not begin at the same moment."""
    options, down = EngineOptions(), parse_fault(fault)
    began = (MapRange(1, 0, 5, "server-0"), MapRange(2, 5, 10, "server-1"))
    living = LivingMap(space(10), began, NAMES[:2], options, [down])
    events: list[MapEvent] = []
    while living.next_change_ns() < 60 * SECOND:
        nothing = np.zeros(10, dtype=np.int64)
        counts = WindowCounts(nothing, nothing, nothing, nothing, {})
        events += living.advance(living.next_change_ns(), counts, Capacity(TIGHT))
    keys = space(10)
    starts = tuple(partition_prefix(ACCOUNT, keys.table, keys.keys[each.low]) for each in began if each.low)
    layout = Layout(servers=2, boundaries=starts)
    with open_virtual(limits=TIGHT, options=options, layout=layout) as store:
        world, stamp = store.world, store.stamp
        assert isinstance(world, Simulator) and stamp is not None
        start_ns = world.now_ns()
        first = stamp.map()
        assert first is not None
        epoch, served_ns = first.entries[1].epoch, 0
        for at_ns in range(0, 60 * SECOND, SECOND // 10):
            world.run_until(start_ns + at_ns)
            if at_ns == down.at_ns:
                world.crash("server-1")
            if at_ns == down.back_ns:
                world.start("server-1")
            now = stamp.map()
            if not served_ns and now is not None and now.entries[1].epoch != epoch and stamp.settled():
                served_ns = at_ns
        found = stamp.map()
        assert found is not None
        assert [entry.server for entry in found.entries] == [each.server for each in living.ranges]
    assert events[0].kind == "server lost"
    assert abs(served_ns - down.at_ns - events[0].away_ns) <= 2 * options.heartbeat_ns
