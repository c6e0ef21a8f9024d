"""Locks of a node's tasks: one inside, the others in the order of their coming, and nothing kept of what is free."""

from __future__ import annotations

from random import Random

import pytest

from pkadvisor.engine.worlds.tasks import Lock, Locks
from pkadvisor.engine.worlds.world import EngineError
from tests.engine.worlds import simulated


def test_one_is_inside_and_the_others_follow_in_the_order_of_their_coming() -> None:
    with simulated() as world:
        lock, inside, order = Lock(), 0, list[int]()

        async def visit(number: int) -> None:
            nonlocal inside
            async with lock:
                lock.check()
                inside += 1
                assert inside == 1 and not lock.free
                await world.sleep(10)
                inside -= 1
                order.append(number)

        for number in range(8):
            world.spawn(visit(number))
            world.run_until(world.now_ns() + 1)
        world.run_until(1_000)
        assert order == list(range(8)) and lock.free


def test_an_error_inside_lets_the_next_one_in() -> None:
    with simulated() as world:
        locks = Locks[int]()

        seen: list[str] = []

        async def fail() -> None:
            try:
                async with locks.hold(2, 1):
                    await world.sleep(10)
                    raise EngineError("inside")
            except EngineError as error:
                seen.append(str(error))

        for _ in range(2):
            world.spawn(fail())
        world.run_until(15)
        locks.check()
        assert (len(locks), seen) == (2, ["inside"])
        world.run_until(30)
        assert (len(locks), seen) == (0, ["inside", "inside"])


@pytest.mark.parametrize("seed", range(5))
def test_whoever_holds_several_never_waits_in_a_circle_and_nothing_is_kept(seed: int) -> None:
    with simulated(seed, random_order=True) as world:
        locks, chance, done = Locks[str](), Random(seed), 0
        inside: dict[str, int] = {}

        async def work() -> None:
            nonlocal done
            for _ in range(10):
                names = [chance.choice("abcd") for _ in range(chance.randrange(1, 5))]
                async with locks.hold(*names):
                    for name in set(names):
                        inside[name] = inside.get(name, 0) + 1
                        assert inside[name] == 1
                    await world.sleep(chance.randrange(5))
                    for name in set(names):
                        inside[name] -= 1
                locks.check()
                done += 1

        for _ in range(12):
            world.spawn(work())
        world.run_until(10_000)
        assert done == 120 and len(locks) == 0
