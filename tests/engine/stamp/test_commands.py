"""Messages that come late, twice, or from somebody who has no say any more (P2); and bugs that the swarm must find."""

from __future__ import annotations

from typing import Any

import pytest

from pkadvisor.engine.options import MS, SECOND
from pkadvisor.engine.ownership_errors import LeaseLost, NotServing, NotSplittable, StaleLeader
from pkadvisor.engine.partition.balancer import MergeRanges, MoveRange, SplitRange
from pkadvisor.engine.partition.hosted_range import ANSWERS_KEPT, AnsweredWrites
from pkadvisor.engine.partition.leadership import LeaderTerm
from pkadvisor.engine.partition.lock_service import Lease
from pkadvisor.engine.partition.partition_map import RangeEntry
from pkadvisor.engine.partition.server_messages import SERVICE, Command
from pkadvisor.engine.stamp import Stamp
from pkadvisor.engine.tables.table_messages import Answer, ReadRequest
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.world import DiskError, EngineError, Unreachable
from tests.engine.stamp import swarm
from tests.engine.stamp.stamps import built, get, key_of, put, write_of
from tests.engine.worlds import simulated


def only(stamp: Stamp) -> RangeEntry:
    (entry,) = stamp.map().entries  # type: ignore[union-attr]
    return entry


def leader_epoch(world: Simulator) -> int:
    held = world.run(world.call("", "locks", "locks", "held", "manager"))
    return int(held[0].epoch)


def command(world: Simulator, server: str, method: str, by: Command, *arguments: Any) -> Any:
    return world.run(world.call("", server, SERVICE, method, by, *arguments))


def test_a_load_that_comes_late_does_not_bring_back_what_was_given_up() -> None:
    with simulated(1) as world:
        stamp = built(world, servers=2)
        world.run(put(stamp, 1, 1))
        before = only(stamp)
        by = Command(leader_epoch(world), before.session)
        assert world.run(stamp.leader().order(MoveRange(before.number, "server-1")))  # type: ignore[union-attr]
        with pytest.raises(EngineError):
            command(world, "server-0", "load", by, before.number, b"", None, before.epoch, False)
        command(world, "server-0", "offload", by, before.number, before.epoch)  # so does this one
        stamp.check()
        world.run(put(stamp, 1, 2))
        assert world.run(get(stamp, 1)) == 2


def test_a_load_between_offload_and_the_next_owner_is_refused_by_the_epoch_given_up_alone() -> None:
    with simulated(2) as world:
        stamp = built(world)
        entry = only(stamp)
        by = Command(leader_epoch(world), entry.session)
        command(world, "server-0", "offload", by, entry.number, entry.epoch)
        with pytest.raises(NotServing):
            command(world, "server-0", "load", by, entry.number, b"", None, entry.epoch, False)
        world.run(stamp.until_settled(), limit_ns=10 * SECOND)
        assert only(stamp).epoch > entry.epoch


@pytest.mark.parametrize("what", ["split", "merge"])
def test_what_a_lost_split_or_merge_made_is_given_up_before_another_server_has_it(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P2: it was done, the answer was lost, and its ranges go elsewhere while the first server lives."""
    order = LeaderTerm._order
    lost: list[str] = []

    async def losing(self: LeaderTerm, server: str, method: str, *arguments: Any) -> Any:
        answer = await order(self, server, method, *arguments)
        if method == what and not lost:
            lost.append(server)
            self._shunned[arguments[0]] = server  # it could not load the range some time before
            raise Unreachable("the answer is lost")
        return answer

    with simulated(6) as world:
        stamp = built(world, servers=2, boundaries=(key_of(50)[:-2],) if what == "merge" else ())
        for number in range(100):
            world.run(put(stamp, number, number))
        monkeypatch.setattr(LeaderTerm, "_order", losing)
        numbers = [entry.number for entry in stamp.map().entries]  # type: ignore[union-attr]
        action = MergeRanges(*numbers) if what == "merge" else SplitRange(numbers[0], "size")
        assert not world.run(stamp.leader().order(action))  # type: ignore[union-attr]
        world.run(stamp.until_settled(), limit_ns=30 * SECOND)
        stamp.check()
        owners = {entry.server for entry in stamp.map().entries}  # type: ignore[union-attr]
        assert lost and owners.isdisjoint(lost)
        assert stamp.servers[lost[0]].serves() == ()
        assert [world.run(get(stamp, number)) for number in range(0, 100, 10)] == list(range(0, 100, 10))


def test_the_load_that_made_a_range_does_not_make_it_again_after_it_was_split() -> None:
    """P4: a range of that number, without rows, would pass for the parent of a split that never happened."""
    with simulated(2) as world:
        stamp = built(world)
        entry = only(stamp)
        by = Command(leader_epoch(world), entry.session)
        for number in range(100):
            world.run(put(stamp, number, number))
        assert world.run(stamp.leader().order(SplitRange(entry.number, "size")))  # type: ignore[union-attr]
        with pytest.raises(NotServing):
            command(world, "server-0", "load", by, entry.number, b"", None, entry.epoch, True)
        assert entry.number not in [number for number, _ in stamp.servers["server-0"].serves()]
        assert not world.run(stamp.streams.client("server-0").exists(f"range/{entry.number}/log"))


def test_a_server_that_could_not_load_a_range_and_then_did_is_shunned_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a split made stays where its parent was, though the answer was lost."""
    order = LeaderTerm._order
    lost: list[str] = []

    async def losing(self: LeaderTerm, server: str, method: str, *arguments: Any) -> Any:
        if method == "load" and not lost:
            lost.append(method)
            raise DiskError("not now")
        answer = await order(self, server, method, *arguments)
        if method == "split" and "split" not in lost:
            lost.append(method)
            raise Unreachable("the answer is lost")
        return answer

    with simulated(6) as world:
        stamp = built(world, servers=2)
        for number in range(100):
            world.run(put(stamp, number, number))
        (entry,) = stamp.map().entries  # type: ignore[union-attr]
        other = next(name for name in stamp.servers if name != entry.server)
        monkeypatch.setattr(LeaderTerm, "_order", losing)
        with pytest.raises(DiskError):
            world.run(stamp.leader().order(MoveRange(entry.number, other)))  # type: ignore[union-attr]
        assert world.run(stamp.leader().order(MoveRange(entry.number, other)))  # type: ignore[union-attr]
        assert not world.run(stamp.leader().order(SplitRange(entry.number, "size")))  # type: ignore[union-attr]
        world.run(stamp.until_settled(), limit_ns=30 * SECOND)
        assert [found.server for found in stamp.map().entries] == [other, other]  # type: ignore[union-attr]
        assert lost == ["load", "split"]


@pytest.mark.parametrize("lost", [False, True])
def test_no_merge_begins_with_a_range_that_is_being_given_to_another_server(
    lost: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P4: mending has decided to take it away, and waits for its last owner; that may fail, and is tried again."""
    order = LeaderTerm._order
    asked: list[bool] = []

    async def ordered(self: LeaderTerm, server: str, method: str, *arguments: Any) -> Any:
        if method == "load" and not failed:
            failed.append(server)
            raise DiskError("not now")
        answer = await order(self, server, method, *arguments)
        if method == "offload" and failed and not asked:  # by mending
            asked.append(await self.act(MergeRanges(left.number, right.number)))
            if lost:
                raise Unreachable("the answer is lost")
        return answer

    with simulated(7) as world:
        stamp = built(world, servers=2, boundaries=(key_of(50)[:-2],))
        for number in range(0, 100, 10):
            world.run(put(stamp, number, number))
        left, right = stamp.map().entries  # type: ignore[union-attr]
        assert left.server != right.server
        failed: list[str] = []
        monkeypatch.setattr(LeaderTerm, "_order", ordered)
        with pytest.raises(DiskError):
            world.run(stamp.leader().order(MergeRanges(left.number, right.number)))  # type: ignore[union-attr]
        while not asked or not stamp.settled():
            assert world.now_ns() < 60 * SECOND
            world.run_until(world.now_ns() + MS)
            stamp.check()
        assert (asked, failed) == ([False], [left.server])
        assert world.counts["split or merge undone"] == 0, "none was begun"
        assert [world.run(get(stamp, number)) for number in range(0, 100, 10)] == list(range(0, 100, 10))


def test_commands_for_an_earlier_life_or_from_a_deposed_leader_are_refused() -> None:
    with simulated(3) as world:
        stamp = built(world)
        entry = only(stamp)
        now = leader_epoch(world)
        with pytest.raises(StaleLeader):
            command(world, "server-0", "offload", Command(now - 1, entry.session), entry.number, entry.epoch)
        with pytest.raises(LeaseLost):
            command(world, "server-0", "offload", Command(now, entry.session - 1), entry.number, entry.epoch)
        assert only(stamp) == entry
        stamp.check()
        assert stamp.settled()


def test_a_split_that_was_refused_is_refused_again_though_it_has_become_possible() -> None:
    with simulated(4) as world:
        stamp = built(world)
        entry = only(stamp)
        by = Command(leader_epoch(world), entry.session)
        split = (entry.number, entry.epoch, "size", 7, 8, 99)
        with pytest.raises(NotSplittable):
            command(world, "server-0", "split", by, *split)
        for number in range(100):
            world.run(put(stamp, number, number))
        with pytest.raises(NotSplittable):
            command(world, "server-0", "split", by, *split)
        assert world.run(get(stamp, 5)) == 5
        later = (entry.number, entry.epoch, "size", 9, 10, 99)
        assert [placed.number for placed in command(world, "server-0", "split", by, *later)] == [9, 10]


def test_a_write_that_comes_twice_is_carried_out_once_and_a_key_is_served_by_its_range_only() -> None:
    with simulated(5) as world:
        stamp = built(world)
        entry, key = only(stamp), key_of(3)

        def handle(count: int, request: Any, epoch: int = entry.epoch) -> Answer:
            arguments = (entry.number, epoch, entry.session, "me", count, request)
            return world.run(world.call("", "server-0", SERVICE, "handle", *arguments))  # type: ignore[no-any-return]

        first = handle(1, write_of(key, 1))
        handle(2, write_of(key, 2))
        assert handle(1, write_of(key, 1)) == first
        assert handle(3, ReadRequest(1, key)).entities[0].properties["N"].value == 2
        with pytest.raises(NotServing):
            handle(4, write_of(key, 4), entry.epoch + 1)


def test_a_write_that_comes_again_after_its_range_has_gone_gets_the_answer_that_it_had() -> None:
    """T9: a NotServing that overtook the first answer would have the front end write again."""
    with simulated(5) as world:
        stamp = built(world, servers=2)
        entry, key = only(stamp), key_of(3)

        def handle(count: int, request: Any, session: int = entry.session) -> Answer:
            arguments = (entry.number, entry.epoch, session, "me", count, request)
            return world.run(world.call("", entry.server, SERVICE, "handle", *arguments))  # type: ignore[no-any-return]

        first = handle(1, write_of(key, 1))
        other = next(name for name in stamp.servers if name != entry.server)
        leader = stamp.leader()
        assert leader is not None
        assert world.run(leader.order(MoveRange(entry.number, other)))
        world.run(stamp.until_settled())
        assert handle(1, write_of(key, 1)) == first
        with pytest.raises(NotServing):
            handle(2, write_of(key, 2))
        with pytest.raises(NotServing):  # what was refused stays refused
            handle(2, write_of(key, 2))
        with pytest.raises(Unreachable):  # meant for an earlier life: it may have been carried out then
            handle(3, write_of(key, 3), entry.session - 1)


def test_a_message_older_than_what_is_kept_is_uncertain() -> None:
    answers = AnsweredWrites()
    for count in range(ANSWERS_KEPT + 5):
        assert not answers.begin(("a", count))
        answers.done(("a", count), Answer(sequence=count))
    assert answers.begin(("a", 5))
    with pytest.raises(Unreachable):
        answers.begin(("a", 4))
    assert not answers.begin(("b", 0))


# ------------------------------------------------------------------------------------------------ planted bugs


def test_a_server_that_carries_out_doubled_writes_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AnsweredWrites, "begin", lambda self, message: False)
    found = False
    for seed in range(10, 30):  # one seed in four finds it
        try:
            swarm.run(seed, faults=swarm.DOUBLING)
        except AssertionError:
            found = True
            break
    assert found, "no seed found it"


def test_a_server_that_serves_after_its_lease_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless:
        def __get__(self, lease: Lease, _: object) -> int:
            return 1 << 62 if lease.epoch else 0

        def __set__(self, lease: Lease, value: int) -> None:
            return

    monkeypatch.setattr(Lease, "held", lambda self: bool(self.epoch))
    monkeypatch.setattr(Lease, "ends_ns", Endless(), raising=False)
    with pytest.raises(AssertionError):
        swarm.run(9)


def test_a_manager_that_takes_a_silent_server_for_dead_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    hear = LeaderTerm._hear

    async def hasty(self: LeaderTerm) -> None:
        await hear(self)
        self._alive = {name: session for name, session in self._alive.items() if name in self._reports}

    monkeypatch.setattr(LeaderTerm, "_hear", hasty)
    for seed in (17, 9, 3, 21, 28, 31):
        try:
            swarm.run(seed)
        except AssertionError:
            return
    raise AssertionError("no seed found it")
