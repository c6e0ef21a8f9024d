"""Worlds for tests: a simulator that is closed at the end, a machine in a folder, and the enumeration of crash points.

with simulated(seed=7, network=NetworkFaults(...)) as world: world.run(scenario(world))
with machine(tmp_path) as world: world.run(scenario(world))
for state in crash_states(build): ...          # every durable write, every tear
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pkadvisor.engine.worlds.faults import TEARS, Atlas
from pkadvisor.engine.worlds.machine import Machine
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.tasks import Killed
from pkadvisor.engine.worlds.world import EngineError
from tests.simulate.swarm import SwarmOptions


class NodesAtlas:
    """Damage on these nodes only, and on these devices of them (none named: on all)."""

    def __init__(self, nodes: Collection[str], devices: Collection[str] = ()) -> None:
        self._nodes, self._devices = tuple(nodes), tuple(devices)

    def may_damage(self, node: str, device: str, name: str, start: int, end: int) -> bool:
        """Whether node and device are among them."""
        return node in self._nodes and (not self._devices or device in self._devices)


@contextmanager
def simulated(seed: int = 0, **options: Any) -> Iterator[Simulator]:
    """A simulator whose tasks are all ended at the end."""
    world = Simulator(seed, **options)
    try:
        yield world
    finally:
        world.close()


@contextmanager
def swarm_world(swarm: SwarmOptions, atlas: Atlas | None = None) -> Iterator[Simulator]:
    """The simulator of a seed's swarm options: ``SwarmOptions.draw(seed)``; its nemesis is the test's to make."""
    with simulated(
        swarm.seed,
        network=swarm.network,
        disks=swarm.disks,
        clocks=swarm.clocks,
        timeouts=swarm.timeouts(),
        random_order=swarm.random_order,
        atlas=atlas,
    ) as world:
        yield world


@contextmanager
def machine(directory: Path, **options: Any) -> Iterator[Machine]:
    """Real files in a folder."""
    world = Machine(directory, **options)
    try:
        yield world
    finally:
        world.close()


@dataclass(frozen=True)
class CrashState:
    """A world in which a crash has come, and what the scenario had been told until then."""

    number: int
    tear: str
    world: Simulator
    told: list[Any]


def crash_states(
    scenario: Callable[[Simulator, list[Any]], Awaitable[None]],
    make: Callable[[], Simulator] = Simulator,
    tears: tuple[str, ...] = TEARS,
    power_cut: bool = True,
    step: int = 1,
    node: str = "",
    first: int = 1,
) -> Iterator[CrashState]:
    """Runs a scenario once for each durable write and tear, with the crash there; yields each world after the crash.

    The scenario notes in ``told`` what it was told is durable. After the crash its nodes are down (with ``power_cut``
    all of them): the test starts what it needs and compares. A run without any crash comes last, as number 0.
    The writes from ``first`` on are taken, every ``step``-th.
    """
    whole = make()
    told: list[Any] = []
    whole.run(_as_coroutine(scenario(whole, told)), node)
    writes = whole.durable_writes
    for number in range(first, writes + 1, step):
        for tear in tears:
            world, told_until = make(), []
            world.crash_at(number, tear, power_cut)
            with suppress(Killed, EngineError):
                world.run(_as_coroutine(scenario(world, told_until)), node)
            assert world.counts["crash point"] == 1, f"durable write {number} of {writes} did not come again"
            yield CrashState(number, tear, world, told_until)
            world.close()
    yield CrashState(0, "", whole, told)
    whole.close()


async def _as_coroutine(awaitable: Awaitable[None]) -> None:
    await awaitable
