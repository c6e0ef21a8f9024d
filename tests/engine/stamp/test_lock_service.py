"""Leases and their epochs, with clocks that drift and nodes that stand still (P2)."""

from __future__ import annotations

import pytest

from pkadvisor.engine.options import MS, SECOND
from pkadvisor.engine.ownership_errors import LeaseLost, LockHeld
from pkadvisor.engine.partition.lock_service import SERVICE, Holding, Lease, LockService
from pkadvisor.engine.worlds.simulator import Simulator
from tests.engine.stamp.stamps import SMALL
from tests.engine.worlds import simulated

LEASE_NS, EPS_NS = SMALL.lease_ns, SMALL.clock_drift_ns_max


def service(world: Simulator) -> None:
    async def boot() -> None:
        await LockService(world, "locks", SMALL).boot()

    world.add_node("locks", boot)
    world.run(started(world))


async def started(world: Simulator) -> None:
    await world.start("locks")


def lease(world: Simulator, node: str) -> Lease:
    return Lease(world, node, "locks", "leader", SMALL)


def held(world: Simulator) -> tuple[Holding, ...]:
    return world.run(world.call("x", "locks", SERVICE, "held", ""))  # type: ignore[no-any-return]


def test_one_holder_at_a_time_and_each_has_a_higher_epoch() -> None:
    with simulated() as world:
        service(world)
        first, second = lease(world, "a"), lease(world, "b")
        assert world.run(first.acquire()) == 1
        with pytest.raises(LockHeld):
            world.run(second.acquire())
        world.run(first.give_back())
        assert not first.held()
        assert world.run(second.acquire()) == 2
        with pytest.raises(LeaseLost):
            world.run(first.renew())


def test_nobody_holds_a_lease_before_asking_even_while_its_clock_reads_less_than_zero() -> None:
    with simulated() as world:
        world.set_clock("a", offset_ns=-SECOND)
        service(world)
        first = lease(world, "a")
        assert world.clock_ns("a") < 0
        assert not first.held()
        world.run(first.acquire())
        assert first.held()
        first.drop()
        assert not first.held()
        first.check(None)


@pytest.mark.parametrize("drift_ppm", [-40_000, 0, 40_000])
def test_the_holder_stops_before_anybody_else_can_hold_it_however_clocks_drift(drift_ppm: int) -> None:
    """P2: drift of 4 % of a lease of 2 s stays below the bound of 100 ms."""
    with simulated() as world:
        world.set_clock("a", drift_ppm=drift_ppm)
        world.set_clock("locks", drift_ppm=-drift_ppm)
        service(world)
        first, second = lease(world, "a"), lease(world, "b")
        world.run(first.acquire())
        gained = 0
        for _ in range(3000):
            world.run_until(world.now_ns() + MS)
            try:
                world.run(second.acquire())
            except LockHeld:
                continue
            gained = world.now_ns()
            break
        assert gained > 0
        assert not first.held()
        assert gained <= 2 * (LEASE_NS + 2 * EPS_NS)


def test_a_restart_of_the_service_forgets_no_holder_and_no_epoch() -> None:
    with simulated() as world:
        service(world)
        first, second = lease(world, "a"), lease(world, "b")
        world.run(first.acquire())
        world.run_until(LEASE_NS - SECOND // 2)
        world.crash("locks")
        world.run(started(world))
        with pytest.raises(LockHeld):
            world.run(second.acquire())
        world.run(first.renew())
        assert first.held()
        world.run_until(world.now_ns() + LEASE_NS + EPS_NS)
        assert world.run(second.acquire()) == 2


def test_a_service_that_stood_still_lengthens_every_lease_by_the_time_missed() -> None:
    with simulated() as world:
        service(world)
        first, second = lease(world, "a"), lease(world, "b")
        world.run(first.acquire())
        world.pause("locks")
        world.run_until(3 * LEASE_NS)
        world.resume("locks")
        with pytest.raises(LockHeld):
            world.run(second.acquire())
        world.run(first.renew())
        assert first.held()


def test_a_lease_that_a_list_left_out_cannot_be_renewed() -> None:
    with simulated() as world:
        service(world)
        first = lease(world, "a")
        world.run(first.acquire())
        assert [each.owner for each in held(world)] == ["a"]
        world.run_until(LEASE_NS + EPS_NS)
        assert held(world) == ()
        with pytest.raises(LeaseLost):
            world.run(first.renew())
        assert first.epoch == 0


def test_a_new_life_takes_over_and_a_late_message_of_the_old_one_is_refused() -> None:
    with simulated() as world:
        service(world)
        old = lease(world, "a")
        world.run(old.acquire())
        world.run_until(SECOND)
        new = lease(world, "a")
        assert world.run(new.acquire()) == 2
        with pytest.raises(LockHeld):
            world.run(old.acquire())
        with pytest.raises(LeaseLost):
            world.run(old.renew())
        world.run(new.renew())


def test_a_message_that_comes_twice_grants_once() -> None:
    with simulated() as world:
        service(world)
        first = lease(world, "a")
        assert world.run(first.acquire()) == 1
        assert world.run(first.acquire()) == 1


def damage(world: Simulator, *names: str) -> None:
    """Flips one bit in the middle of files of the lock service, which has crashed."""

    async def flipped() -> None:
        disk = world.disk("locks", "state")
        for name in names:
            file = await disk.open(name)
            data = bytearray(await file.read(0, file.size()))
            data[len(data) // 2] ^= 8
            await disk.replace(name, bytes(data))

    world.run(flipped())


@pytest.mark.parametrize("name", ["leases", "leases.copy"])
def test_damage_of_one_file_forgets_no_holder_and_no_epoch(name: str) -> None:
    with simulated() as world:
        service(world)
        first, second = lease(world, "a"), lease(world, "b")
        world.run(first.acquire())
        world.crash("locks")
        damage(world, name)
        world.run(started(world))
        with pytest.raises(LockHeld):
            world.run(second.acquire())
        world.run(first.renew())
        world.run_until(world.now_ns() + LEASE_NS + EPS_NS)
        assert world.run(second.acquire()) == 2


def test_where_both_files_are_damaged_nothing_is_granted_while_a_forgotten_lease_may_hold() -> None:
    with simulated() as world:
        service(world)
        first, second = lease(world, "a"), lease(world, "b")
        for _ in range(3):
            world.run(first.acquire())
            world.run(first.give_back())
        epoch = world.run(first.acquire())
        world.crash("locks")
        damage(world, "leases", "leases.copy")
        world.run(started(world))
        while first.held():
            with pytest.raises(LockHeld):
                world.run(second.acquire())
            with pytest.raises(LockHeld):
                held(world)
            world.run_until(world.now_ns() + EPS_NS)
        world.run_until(world.now_ns() + 3 * EPS_NS)
        assert world.run(second.acquire()) > epoch
        with pytest.raises(LeaseLost):
            world.run(first.renew())
