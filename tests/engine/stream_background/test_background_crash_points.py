"""Every durable write of repair and garbage collection, with a power cut or the crash of one node there."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from pkadvisor.engine.worlds.simulator import Simulator
from tests.engine.stream.streams_history import SECOND, Stage, restart_after_crash
from tests.engine.stream_background.test_background_faults import BUSY, all_whole, come_to_rest, judge, left_over
from tests.engine.worlds import crash_states

OPTIONS = replace(BUSY, background_bytes=700, scrub_period_ns=600 * SECOND)


async def scenario(world: Simulator, told: list[Any]) -> None:
    """A copy of a sealed extent goes with its node, and is made elsewhere; another stream goes, and its extents."""
    stage = Stage(world, count=5, options=OPTIONS)
    told.append(stage)
    await stage.start()
    chance = Random(5)
    client = stage.client("client-1")
    await stage.create(client, "a/blob")
    await client.create("b", 1)
    await client.append("b", [bytes(900)], 1)
    for _ in range(3):
        await stage.append(client, "a/blob", 1, chance)
    await client.acquire("a/blob", 2)
    await client.delete("b")
    assert stage.layer.manager is not None
    first = stage.layer.manager.directory.streams["a/blob"].extents[0]
    gone = stage.layer.manager.directory.extents[first].replicas[0]
    world.crash(gone, lose_disks=True)
    for _ in range(20):
        await world.sleep(SECOND)
        if world.counts["collected"] and all_whole(stage) and not left_over(stage):
            break
    else:
        raise AssertionError(f"never repaired or collected: {world.counts}")


async def prepared(stage: Stage) -> bool:
    return bool(stage.histories) and await stage.client("judge").exists("a/blob")


@pytest.mark.parametrize("tear", ["lost", "body", "kept"])
def test_a_power_cut_at_any_durable_write_of_repair_and_collecting_loses_nothing(tear: str) -> None:
    """S1, S8, S9: afterwards it goes on to the same end."""
    repaired = states = 0
    for state in crash_states(scenario, tears=(tear,), node="client-1", step=3 if tear == "lost" else 5):
        world, stage = state.world, state.told[0]
        for task in world.start_all():
            task.when_done(lambda: None)
        world.run_until(world.now_ns() + SECOND)
        if world.run(prepared(stage), "judge", limit_ns=60 * SECOND):
            world.run(stage.client("judge").acquire("a/blob", 1_000), "judge", limit_ns=60 * SECOND)
            come_to_rest(stage)
            world.run(judge(stage), "judge", limit_ns=60 * SECOND)
            assert all_whole(stage)
            repaired += bool(world.counts["re-replicated"] or world.counts["copy repaired"])
        states += 1
    assert states > 20 and repaired > 4


def test_a_crash_of_one_node_at_any_durable_write_is_lived_through() -> None:
    """S1, S8, S9: the others go on, and the one that comes back fits in."""

    def make() -> Simulator:
        world = Simulator(3)
        restart_after_crash(world, 2 * SECOND)
        return world

    for state in crash_states(scenario, make=make, tears=("lost",), node="client-1", power_cut=False, step=4):
        world, stage = state.world, state.told[0]
        world.run_until(world.now_ns() + 3 * SECOND)
        come_to_rest(stage)
        world.run(judge(stage), "judge", limit_ns=60 * SECOND)
