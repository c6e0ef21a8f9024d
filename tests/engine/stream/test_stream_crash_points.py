"""Every durable write of appends, seals, take-overs and changes of streams, with a crash there, torn in each way."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.stream.access import MultiModify, NewStream
from pkadvisor.engine.worlds.simulator import Simulator
from tests.engine.stream.streams_history import SECOND, TINY, Stage, restart_after_crash
from tests.engine.worlds import crash_states


async def scenario(world: Simulator, told: list[Any], options: EngineOptions = TINY) -> None:
    stage = Stage(world, 4, options)
    told.append(stage)
    await stage.start()
    chance = Random(5)
    client = stage.client("client-1")
    await stage.create(client, "s")
    for _ in range(6):
        await stage.append(client, "s", 1, chance)
    other = stage.client("client-2")
    await stage.take_over(other, "s", 2)
    for _ in range(6):
        await stage.append(other, "s", 2, chance)
    assert not await stage.append(client, "s", 1, chance)


@pytest.mark.parametrize("tear", ["lost", "header", "body", "checksum", "kept"])
def test_a_power_cut_at_any_durable_write_loses_nothing_acknowledged(tear: str) -> None:
    """S1, S3, S4, S5, S10, S12."""
    states = 0
    for state in crash_states(scenario, tears=(tear,), node="client-1", step=2):
        world, stage = state.world, state.told[0]
        world.start_all()
        if stage.histories and "s" in stage.histories:
            world.run(judge(stage), "judge", limit_ns=600 * SECOND)
        states += 1
    assert states > 20


@pytest.mark.parametrize("tear", ["lost", "body"])
def test_a_power_cut_loses_nothing_of_appends_that_pass_the_journal_by(tear: str) -> None:
    """S1, S3, S4: they count when the catalog says that the data device has them."""

    async def large(world: Simulator, told: list[Any]) -> None:
        await scenario(world, told, replace(TINY, journal_append_bytes_max=60))

    states = 0
    for state in crash_states(large, tears=(tear,), node="client-1", step=2):
        world, stage = state.world, state.told[0]
        world.start_all()
        if stage.histories and "s" in stage.histories:
            world.run(judge(stage), "judge", limit_ns=600 * SECOND)
        states += 1
    assert states > 20


@pytest.mark.parametrize("tear", ["lost", "body"])
def test_a_crash_of_one_node_at_any_durable_write_is_lived_through(tear: str) -> None:
    """S1, S3, S4, S5: the writers go on, and the node that comes back is brought to what was decided."""

    def make() -> Simulator:
        world = Simulator(3)
        restart_after_crash(world, SECOND)
        return world

    for state in crash_states(scenario, make=make, tears=(tear,), node="client-1", power_cut=False, step=4):
        world, stage = state.world, state.told[0]
        assert len([append for append in stage.histories["s"].appends if append.places]) >= 12
        world.run_until(world.now_ns() + 3 * SECOND)
        world.run(judge(stage), "judge", limit_ns=600 * SECOND)


async def judge(stage: Stage) -> None:
    client = stage.client("judge")
    if await client.exists("s"):
        await stage.judge()
    else:
        assert not stage.histories["s"].appends


def test_a_multi_modify_is_done_or_not_done_after_a_crash_at_any_durable_write() -> None:
    """S4: all or none, and asking again with the same name does it once."""
    change = MultiModify("m", 1, (NewStream("left", ("s",), 2), NewStream("right", ("s",), 2)), ("s",))

    async def split(world: Simulator, told: list[Any]) -> None:
        stage = Stage(world, count=3)
        told.append(stage)
        await stage.start()
        client = stage.client("client-1")
        await client.create("s", 1)
        await client.append("s", [b"a", b"b"], 1)
        told.append("appended")
        await client.multi_modify(change)
        told.append("changed")
        await client.append("left", [b"l"], 2)

    async def afterwards(stage: Stage, told: list[Any]) -> None:
        client = stage.client("judge")
        there = [name for name in ("left", "right", "s") if await client.exists(name)]
        assert there in (["s"], ["left", "right"])
        assert "changed" not in told or there == ["left", "right"]
        await client.multi_modify(change)
        for name in ("left", "right"):
            blocks = [block async for _, block in client.records(name)]
            assert [block for block in blocks if block != b"l"] == [b"a", b"b"]

    outcomes: set[bool] = set()
    for state in crash_states(split, tears=("lost", "kept"), node="client-1"):
        if "appended" in state.told:
            outcomes.add("changed" in state.told)
            state.world.start_all()
            state.world.run(afterwards(state.told[0], state.told), "judge", limit_ns=600 * SECOND)
    assert outcomes == {True, False}
