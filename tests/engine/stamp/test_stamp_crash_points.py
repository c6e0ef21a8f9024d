"""Every durable write of a hand-over, a split, a merge and a collection on a whole stamp, with a crash there.

A writer works all the while. Afterwards the stamp recovers by itself: rows, map and structures are judged, life goes
on, and whatever no stream holds is collected. In the short form some writes, other ones for each tear; in ``.ci/full
simulation`` a power cut at every one, with one of the tears, and a crash of one node at every second one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pytest

from pkadvisor.engine.options import MS, SECOND
from pkadvisor.engine.partition.balancer import MergeRanges, MoveRange, SplitRange
from pkadvisor.engine.partition.range_partition import stream_names
from pkadvisor.engine.stamp import Layout, Stamp
from pkadvisor.engine.worlds.faults import TEARS, DiskFaults, NetworkFaults
from pkadvisor.engine.worlds.simulator import Simulator
from tests.engine.stamp.stamps import SMALL, Client, get, key_of
from tests.engine.stream.streams_history import restart_after_crash
from tests.engine.worlds import crash_states
from tests.tiers import LONG, sizes

WIDE = LONG == "simulation"
STEP_POWER, STEP_NODE = (len(TEARS), 2) if WIDE else (100, 60)
"""So many durable writes lie between two that are tried; each tear begins at another one."""
OPTIONS = replace(
    SMALL,
    extent_bytes_target=1 << 10,
    memory_table_bytes=1 << 10,
    log_bytes=2 << 10,
    journal_segment_bytes=4 << 10,
    garbage_grace_ns=200 * MS,
    poll_period_ns=100 * MS,
    lease_ns=SECOND,
    heartbeat_ns=100 * MS,
)
ROWS = 24
US = 1_000


@dataclass
class Told:
    """The stamp, its writer, and the durable write at which the part under test began."""

    stamp: Stamp
    client: Client
    began: int = 0
    done: bool = False


Act = Callable[[Stamp], Awaitable[None]]


async def ordered(stamp: Stamp, *actions: SplitRange | MergeRanges | MoveRange) -> None:
    for action in actions:
        leader = stamp.leader()
        if leader is not None:
            await leader.order(action)


async def hand_over(stamp: Stamp) -> None:
    """There and back: offload with its two checkpoints, load under the next epoch."""
    (entry,) = entries(stamp)
    await ordered(stamp, MoveRange(entry.number, "server-1"), MoveRange(entry.number, "server-0"))


async def split(stamp: Stamp) -> None:
    await ordered(stamp, SplitRange(entries(stamp)[0].number, "size"))


async def merge(stamp: Stamp) -> None:
    """Of neighbours on two servers, so that one is handed over before."""
    left, right = entries(stamp)
    await ordered(stamp, MergeRanges(left.number, right.number))


async def collect(stamp: Stamp) -> None:
    """A checkpoint lets go of the log, a split of its parent; the caretaker waits for the grace and collects."""
    await split(stamp)
    for _ in range(40):
        await stamp.world.sleep(50 * MS)
        if stamp.world.counts["collected"] >= 3:  # type: ignore[attr-defined]
            return
    raise AssertionError("nothing was collected")


BOUNDARY = key_of(10)[:-2]
ACTS: dict[str, tuple[Act, int, tuple[bytes, ...]]] = {
    "hand-over": (hand_over, 2 * MS, ()),
    "split": (split, 2 * MS, ()),
    "merge": (merge, 2 * MS, (BOUNDARY,)),
    "collect": (collect, 50 * MS, ()),
}
"""What is done, how long the writer pauses between its writes, and where the key space is divided at first."""


def entries(stamp: Stamp) -> Any:
    found = stamp.map()
    return () if found is None else found.entries


def scenario(
    act: Act, pause_ns: int, boundaries: tuple[bytes, ...]
) -> Callable[[Simulator, list[Any]], Awaitable[None]]:
    async def run(world: Simulator, told: list[Any]) -> None:
        stamp = Stamp(world, OPTIONS, Layout(servers=2, boundaries=boundaries))
        client = Client(stamp, range(ROWS))
        told.append(Told(stamp, client))
        await stamp.start()
        for number in range(ROWS):
            await client.write(number)
        told[0].began = world.durable_writes + 1
        writer = world.spawn(client.work(10**6, pause_ns), "client")
        await act(stamp)
        told[0].done = True
        await world.sleep(20 * MS)
        client.stop()
        await writer

    return run


def made() -> Simulator:
    """Messages and disks take a while, so that the writer is amid all that is done."""
    world = Simulator(7, network=NetworkFaults(US * 50, US * 200), disks=DiskFaults(US * 50, US * 200))

    async def nothing() -> None:
        return

    world.add_node("client", nothing)
    world.start("client")
    return world


def restarting() -> Simulator:
    world = made()
    restart_after_crash(world, 300 * MS)
    return world


def recover(world: Simulator, told: Told) -> None:
    """The stamp stands again; every row is one that was sent and none older than what was told; life goes on."""
    stamp = told.stamp
    for task in world.start_all():
        task.when_done(lambda: None)
    world.run(stamp.until_settled(), "judge", limit_ns=60 * SECOND)
    told.client.stop()
    stamp.check()
    rows = world.run(read_rows(told), "judge", limit_ns=60 * SECOND)
    world.run(stamp.check_all(), "judge", limit_ns=60 * SECOND)
    world.run(go_on(told), "judge", limit_ns=60 * SECOND)
    world.power_cut("lost")
    for task in world.start_all():
        task.when_done(lambda: None)
    world.run(stamp.until_settled(), "judge", limit_ns=60 * SECOND)
    assert world.run(read_rows(told), "judge", limit_ns=60 * SECOND) == {**rows, 0: told.client.sent[0]}
    until_collected(world, stamp)
    world.run(stamp.check_all(), "judge", limit_ns=60 * SECOND)


async def read_rows(told: Told) -> dict[int, int | None]:
    await told.client.read_all()
    return {number: await get(told.stamp, number) for number in range(ROWS)}


async def go_on(told: Told) -> None:
    """A write, and one more change of the map."""
    await told.client.write(0)
    await ordered(told.stamp, MoveRange(entries(told.stamp)[0].number, "server-1"))
    await told.stamp.until_settled()
    assert await get(told.stamp, 0) == told.client.sent[0]


def until_collected(world: Simulator, stamp: Stamp) -> None:
    """S9: in the end the streams are those of the map and of the manager, and every extent is of one of them."""
    for _ in range(100):
        world.run_until(world.now_ns() + 100 * MS)
        manager = stamp.streams.manager
        assert manager is not None
        directory = manager.directory
        held = {extent for stream in directory.streams.values() for extent in stream.extents}
        if held == set(directory.extents):
            break
    else:
        raise AssertionError(f"extents of no stream stay: {sorted(set(directory.extents) - held)}")
    wanted = {name for entry in entries(stamp) for name in stream_names(entry.number)}
    there = {name for name in directory.streams if name.startswith("range/")}
    assert there == wanted, "a stream of no range stays, or one of a range is gone"


CUTS = [(what, tear) for what in ACTS for tear in TEARS]


@pytest.mark.parametrize(("what", "tear"), sizes(CUTS[::3], CUTS, "simulation"))
def test_a_power_cut_at_any_durable_write_of(what: str, tear: str) -> None:
    """P1, P3, P4, P6, S1, S9."""
    place, ends = TEARS.index(tear), Counter[int]()
    first = began(what) + place * STEP_POWER // len(TEARS)
    story = scenario(*ACTS[what])
    for state in crash_states(story, made, (tear,), node="client", step=STEP_POWER, first=first):
        recover(state.world, state.told[0])
        ends[len(entries(state.told[0].stamp))] += 1
    assert sum(ends.values()) >= 3


@pytest.mark.parametrize("what", ACTS)
def test_a_crash_of_one_node_at_any_durable_write_of(what: str) -> None:
    """P1, P4, P10, S1, S9: the others go on, and the one that comes back fits in."""
    states = 0
    story = scenario(*ACTS[what])
    for state in crash_states(
        story, restarting, ("lost",), power_cut=False, node="client", step=STEP_NODE, first=began(what)
    ):
        recover(state.world, state.told[0])
        states += 1
    assert states >= 3


@cache
def began(what: str) -> int:
    """The number of the first durable write of the part under test."""
    world, told = made(), []
    try:
        world.run(as_task(scenario(*ACTS[what])(world, told)), "client")
        assert told[0].done
        return int(told[0].began)
    finally:
        world.close()


async def as_task(awaitable: Awaitable[None]) -> None:
    await awaitable
