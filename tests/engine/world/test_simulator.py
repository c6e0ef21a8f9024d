"""The simulator: nodes, calls, time, crashes; the same seed gives the same run (M8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from pkadvisor.engine.worlds.faults import ClockFaults, NetworkFaults
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.tasks import Future, Killed
from pkadvisor.engine.worlds.world import EngineError, Unreachable
from tests.engine.worlds import simulated

SECOND = 1_000_000_000


class Counter:
    """A service that counts, at once or after a while."""

    def __init__(self, world: Simulator, wait_ns: int = 0) -> None:
        self.world, self.wait_ns, self.count = world, wait_ns, 0

    async def add(self, amount: int) -> int:
        self.count += amount
        if self.wait_ns:
            await self.world.sleep(self.wait_ns)
        return self.count

    async def refuse(self) -> None:
        raise EngineError("no")


async def nothing() -> None:
    """A boot that does nothing."""


def with_counter(world: Simulator, wait_ns: int = 0, node: str = "b") -> Counter:
    counter = Counter(world, wait_ns)
    world.add_node(node, nothing)
    world.start(node)
    world.register(node, "counter", counter)
    return counter


def test_a_call_returns_what_the_service_returns_and_raises_its_engine_errors() -> None:
    with simulated() as world:
        with_counter(world)
        assert world.run(world.call("a", "b", "counter", "add", 3)) == 3
        with pytest.raises(EngineError, match=r"^no$"):
            world.run(world.call("a", "b", "counter", "refuse"))


def test_a_call_to_a_node_that_is_down_or_crashes_meanwhile_is_unreachable_and_was_carried_out() -> None:
    with simulated() as world:
        with pytest.raises(Unreachable):
            world.run(world.call("a", "b", "counter", "add", 1))
        counter = with_counter(world, wait_ns=SECOND)
        world.at(SECOND // 2, lambda: world.crash("b"))
        with pytest.raises(Unreachable, match="went down"):
            world.run(world.call("a", "b", "counter", "add", 1))
        assert counter.count == 1
        assert world.now_ns() == SECOND // 2


def test_a_paused_node_answers_too_late_and_goes_on_where_it_stood() -> None:
    with simulated(timeouts={"counter.add": 2 * SECOND}) as world:
        counter = with_counter(world)
        world.pause("b")
        with pytest.raises(Unreachable):
            world.run(world.call("a", "b", "counter", "add", 1))
        assert (counter.count, world.now_ns()) == (0, 2 * SECOND)
        world.resume("b")
        world.run_until(3 * SECOND)
        assert counter.count == 1


def test_a_dropped_request_is_not_carried_out_and_a_dropped_answer_is() -> None:
    with simulated() as world:
        counter = with_counter(world)
        world.network.block(["a"], ["b"], both_ways=False)
        with pytest.raises(Unreachable):
            world.run(world.call("a", "b", "counter", "add", 1))
        assert counter.count == 0
        world.network.heal()
        world.network.block(["b"], ["a"], both_ways=False)
        with pytest.raises(Unreachable):
            world.run(world.call("a", "b", "counter", "add", 1))
        assert counter.count == 1
        world.network.heal()
        assert world.run(world.call("a", "b", "counter", "add", 1)) == 2


def test_doubled_messages_run_the_handler_twice_and_answer_once() -> None:
    with simulated(network=NetworkFaults(duplicate_per_million=1_000_000)) as world:
        counter = with_counter(world)
        assert world.run(world.call("a", "b", "counter", "add", 1)) == 1
        world.run_until(SECOND)
        assert counter.count == 2


def test_delays_reorder_and_drops_happen_at_their_rate() -> None:
    faults = NetworkFaults(delay_ns_min=1_000, delay_ns_mean=1_000_000, drop_per_million=100_000)
    with simulated(5, network=faults) as world:
        seen: list[int] = []

        class Recorder:
            async def note(self, number: int) -> None:
                seen.append(number)

        world.register("b", "recorder", Recorder())

        async def all_of_them() -> list[Any]:
            return await world.gather([world.call("a", "b", "recorder", "note", i) for i in range(1_000)], "a")

        answers = world.run(all_of_them())
        lost = sum(isinstance(answer, Unreachable) for answer in answers)
        assert 140 <= lost <= 240, "one of ten requests and one of ten answers"
        assert 850 <= len(seen) <= 940
        assert seen != sorted(seen)
        assert world.now_ns() == 5 * SECOND


def test_a_clog_holds_messages_back_and_loses_none() -> None:
    with simulated() as world:
        with_counter(world)
        world.network.clog(["a"], ["b"], 3 * SECOND)
        assert world.run(world.call("a", "b", "counter", "add", 1)) == 1
        assert world.now_ns() == 3 * SECOND


def test_what_crosses_the_network_can_be_held_to_be_immutable() -> None:
    @dataclass(frozen=True)
    class Frozen:
        parts: object

    @dataclass
    class Loose:
        part: int

    class Echo:
        async def give(self, value: object) -> object:
            return value

        async def listed(self) -> object:
            return [1]

    with simulated() as world:
        world.network.check_values = True
        world.register("b", "echo", Echo())
        for right in (1, "a", b"b", None, (1, (2, Frozen((3,)))), frozenset((1,)), Frozen((1, 2)), Frozen({1: 2})):
            assert world.run(world.call("a", "b", "echo", "give", right)) == right
        for wrong in ([1], {}, bytearray(1), (1, [2]), Frozen([1]), Loose(1)):
            with pytest.raises(AssertionError, match=r"an argument of echo\.give can be changed"):
                world.run(world.call("a", "b", "echo", "give", wrong))
        with pytest.raises(AssertionError, match=r"the result of Echo\.listed can be changed: list"):
            world.run(world.call("a", "b", "echo", "listed"))


def test_groups_reach_only_themselves() -> None:
    with simulated() as world:
        world.network.partition(["a", "b"], ["c"])
        assert [world.network.reaches(*pair) for pair in ("ab", "ac", "ca", "bc")] == [True, False, False, False]
        world.network.unblock(["a"], ["c"])
        assert world.network.reaches("a", "c") and not world.network.reaches("b", "c")


def test_a_crash_runs_no_more_of_a_node_but_frees_what_it_held() -> None:
    with simulated() as world:
        trace: list[str] = []

        async def loop() -> None:
            try:
                disk = world.disk("n", "d")
                file = await disk.open("f")
                while True:
                    trace.append("turn")
                    await world.sleep(SECOND)
            finally:
                trace.append("finally")
                await file.append(b"a dead node writes nothing")
                trace.append("never")

        world.add_node("n", loop)
        world.start("n")
        world.run_until(SECOND * 5 // 2)
        world.crash("n")
        assert trace == ["turn", "turn", "turn", "finally"]
        assert world.run(world.disk("n", "d").open("f")).size() == 0
        world.run_until(10 * SECOND)
        assert len(trace) == 4


def test_a_node_that_crashes_itself_stops_at_once() -> None:
    with simulated() as world:
        trace: list[str] = []

        async def boot() -> None:
            file = await world.disk("n", "d").open("f")
            world.crash("n")
            trace.append("runs on to its next wait")
            await file.append(b"x")
            trace.append("never")

        world.add_node("n", boot)
        boot_task = world.start("n")
        world.run_until(SECOND)
        assert trace == ["runs on to its next wait"]
        assert isinstance(boot_task.error, Killed)
        assert world.run(world.disk("n", "d").open("f")).size() == 0


def test_an_error_that_nobody_waits_for_ends_the_run() -> None:
    with simulated() as world:

        async def wrong() -> None:
            raise AssertionError("a mistake")

        async def waits() -> None:
            world.spawn(wrong(), "n")
            await world.sleep(1)

        with pytest.raises(AssertionError, match="a mistake"):
            world.run(waits())


def test_waiting_for_ever_is_an_error_and_so_is_taking_too_long() -> None:
    with simulated() as world:

        async def for_ever() -> None:
            await Future[None]()

        with pytest.raises(AssertionError, match="still waits"):
            world.run(for_ever())
        with pytest.raises(AssertionError, match="not done"):
            world.run(world.sleep(10), limit_ns=5)


def test_clocks_keep_within_their_skew_and_never_go_back() -> None:
    skew = 500_000_000
    with simulated(3, clocks=ClockFaults(skew_ns_max=skew, drift_ppm_max=40_000)) as world:
        before = {name: world.clock_ns(name) for name in "abcd"}
        apart = 0
        for second in range(1, 400):
            world.run_until(second * SECOND)
            for name, last in before.items():
                clock = world.clock_ns(name)
                assert abs(clock - world.now_ns()) <= skew
                assert clock > last
                before[name] = clock
            apart = max(apart, max(before.values()) - min(before.values()))
        assert apart > skew // 4


def test_cancelled_timers_do_not_pile_up() -> None:
    with simulated() as world:
        with_counter(world)

        async def many() -> None:
            for _ in range(5_000):
                await world.call("a", "b", "counter", "add", 1)

        world.run(many())
        assert world.now_ns() == 0
        assert len(world._timers) < 600


def busy(seed: int) -> Simulator:
    """A run with everything in it."""
    network = NetworkFaults(1_000, 1_000_000, 50_000, 50_000)
    world = Simulator(seed, network=network, clocks=ClockFaults(1_000, 100), random_order=True)
    counter = with_counter(world, wait_ns=1_000)

    async def caller(name: str) -> None:
        for _ in range(20):
            try:
                world.event("told", name, await world.call(name, "b", "counter", "add", 1), world.clock_ns(name))
            except Unreachable:
                world.event("not told", name, counter.count)

    async def all_callers() -> None:
        await world.gather([caller(f"c{i}") for i in range(5)], "")

    world.run(all_callers())
    world.close()
    return world


def test_M8_the_same_seed_gives_the_same_hash_and_another_seed_another() -> None:  # noqa: N802
    first, again, other = busy(1), busy(1), busy(2)
    assert first.event_hash() == again.event_hash() != other.event_hash()
    assert first.counts["told"] + first.counts["not told"] == 100
    assert first.counts["message lost"] > 0 < first.counts["message doubled"]


def test_the_order_of_ready_tasks_is_drawn_where_asked() -> None:
    def order(seed: int, drawn: bool) -> list[int]:
        with simulated(seed, random_order=drawn) as world:
            seen: list[int] = []

            async def note(number: int) -> None:
                seen.append(number)

            async def all_of_them() -> None:
                await world.gather([note(i) for i in range(20)], "")

            world.run(all_of_them())
            return seen

    assert order(1, False) == list(range(20))
    assert sorted(order(1, True)) == list(range(20))
    assert order(1, True) != order(2, True)
