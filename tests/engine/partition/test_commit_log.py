"""The commit log: order, group commit, and what replay makes of a log in which things lie twice or too late."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pkadvisor.engine.partition.commit_log import OWNER, WRITE, CommitLog, Replay, blocks_of, encode_record, replay
from pkadvisor.engine.partition.metadata import RangeReadOnly, WriteUncertain
from pkadvisor.engine.rows import Change
from pkadvisor.engine.stream.access import Location
from pkadvisor.engine.worlds.machine import Machine
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.world import DataCorrupt, Unreachable
from tests.engine.fakes import MemoryStreams
from tests.engine.partition.harness import OPTIONS, CrashingStreams
from tests.tiers import examples


def record(epoch: int, sequence: int, *changes: Change, previous: int | None = None, kind: int = WRITE) -> bytes:
    before = sequence - 1 if previous is None else previous
    return encode_record(epoch, sequence, before, kind, list(changes))


def feed(found: Replay, *blocks: bytes) -> None:
    for number, block in enumerate(blocks):
        found.feed(Location(1, number, len(block)), block)


def replaying(covered: int = 0) -> tuple[Replay, list[tuple[int, list[Change]]]]:
    applied: list[tuple[int, list[Change]]] = []
    return Replay(covered, lambda sequence, changes: applied.append((sequence, list(changes)))), applied


def test_duplicates_by_sequence_are_applied_once():
    """P3."""
    found, applied = replaying()
    one, two = blocks_of([record(1, 1, (b"k", b"1"))], 1, 999), blocks_of([record(1, 2, (b"k", None))], 2, 999)
    feed(found, *one, *one, *two, *one, *two)
    assert applied == [(1, [(b"k", b"1")]), (2, [(b"k", None)])]
    assert (found.duplicates, found.sequence) == (3, 2)


def test_records_of_a_deposed_owner_behind_the_mark_of_the_next_are_not_applied():
    """P2: a stale epoch is never applied, even with the number that would be next."""
    found, applied = replaying()
    blocks = [
        record(1, 1, (b"k", b"old")),
        record(2, 1, kind=OWNER, previous=1),
        record(1, 2, (b"k", b"zombie")),
        record(2, 2, (b"k", b"new")),
    ]
    feed(found, *(blocks_of([each], 0, 999)[0] for each in blocks))
    assert applied == [(1, [(b"k", b"old")]), (2, [(b"k", b"new")])]
    assert found.stale == 1


def test_what_a_checkpoint_covers_is_not_applied_again():
    """P6."""
    found, applied = replaying(covered=2)
    feed(found, *blocks_of([record(1, n, (b"k", b"%d" % n)) for n in (1, 2, 3)], 1, 999))
    assert applied == [(3, [(b"k", b"3")])] and found.duplicates == 0


def test_a_hole_is_an_error_and_no_shorter_history():
    """P3: unavailable, not wrong."""
    found, _ = replaying()
    with pytest.raises(DataCorrupt, match="from 1 to 3"):
        feed(found, *blocks_of([record(1, 1), record(1, 3)], 1, 999))


def test_a_block_that_is_no_array_of_records_is_an_error():
    with pytest.raises(DataCorrupt):
        feed(replaying()[0], b"\xa5hello")


@given(st.binary(max_size=400), st.integers(40, 90), st.lists(st.integers(0, 20), max_size=3))
def test_a_record_larger_than_a_block_comes_back_whole_whatever_was_left_of_an_earlier_try(
    value: bytes, block_bytes: int, kept: list[int]
):
    found, applied = replaying()
    blocks = blocks_of([record(1, 1, (b"key", value))], 1, block_bytes)
    assert all(len(block) <= block_bytes for block in blocks)
    for count in kept:  # first pieces of tries that were cut off
        feed(found, *(blocks[:count] if len(blocks) > 1 and count < len(blocks) else ()))
    feed(found, *blocks, *blocks)
    assert applied == [(1, [(b"key", value)])]


def test_pieces_whose_beginning_is_missing_are_no_record():
    found, applied = replaying()
    blocks = blocks_of([record(1, 1, (b"key", b"v" * 200))], 1, 80)
    assert len(blocks) > 2
    feed(found, *blocks[1:])
    assert applied == []
    feed(found, *blocks)
    assert len(applied) == 1


class Crowded(Simulator):
    """Says now and then that others are ready, as a world does in which appends do not wait."""

    def others_ready(self) -> bool:
        return bool(self.random("crowd").randrange(2))


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 2**32), st.lists(st.integers(1, 400), min_size=1, max_size=40), st.integers(1, 8))
def test_concurrent_writers_share_appends_and_replay_gives_what_was_applied(seed: int, sizes: list[int], group: int):
    """P3, group commit: order of numbers, order of application and order in the log are one."""
    world, memory = Crowded(seed), MemoryStreams()
    streams = CrashingStreams(memory, world=world)
    streams.repeat_appends = bool(seed % 2)
    applied: list[tuple[int, bytes]] = []
    given_back: list[int] = []
    options = replace(OPTIONS, group_commit_records=group, block_bytes_max=1_000)

    async def one(log: CommitLog, size: int, value: bytes) -> None:
        sequence = await log.append([(b"k", value * size)])
        assert (sequence, value * size) in applied, "acknowledged before it was applied"
        given_back.append(sequence)
        log.check()

    async def run() -> CommitLog:
        await memory.create("log", 1)
        log = CommitLog(
            streams,
            "log",
            1,
            options,
            0,
            lambda sequence, changes: applied.append((sequence, changes[0][1] or b"")),
            world,
        )
        for number, size in enumerate(sizes):
            world.spawn(one(log, size, b"%c" % (65 + number)))
            if world.random("pace").randrange(2):
                await world.sleep(world.random("pace").randrange(3_000_000))
        return log

    log = world.run(run())
    world.run_until(world.now_ns() + 10_000_000_000)
    assert sorted(given_back) == list(range(1, len(sizes) + 1))
    assert [sequence for sequence, _ in applied] == sorted(given_back)
    assert log.appends <= len(sizes)
    again: list[tuple[int, bytes]] = []
    world.run(replay(memory, "log", None, 0, lambda n, changes: again.append((n, changes[0][1] or b""))))
    assert again == applied


def test_writers_that_come_together_need_two_appends_only():
    world = Simulator()
    streams = CrashingStreams(MemoryStreams(), world=world)
    log = CommitLog(streams, "log", 1, OPTIONS, 0, lambda *_: None)
    world.run(streams.inner.create("log", 1))
    for _ in range(17):
        world.spawn(log.append([(b"k", b"v")]))
    world.run_until(1_000_000_000)
    assert (log.applied, log.appends) == (17, 2)


def test_writers_that_are_ready_together_share_one_append_where_appends_do_not_wait(tmp_path: Path):
    with Machine(tmp_path, sync=False) as world:
        streams = MemoryStreams()
        applied: list[int] = []
        log = CommitLog(streams, "log", 1, OPTIONS, 0, lambda sequence, _: applied.append(sequence), world)
        world.run(streams.create("log", 1))

        async def writers() -> list[int]:
            tasks = [world.spawn(log.append([(b"k", b"v")])) for _ in range(16)]
            return [await task for task in tasks]

        assert world.run(writers()) == list(range(1, 17)) == applied
        assert log.appends == 1
        world.run(log.append([(b"k", b"alone")]))
        assert (log.applied, log.appends) == (17, 2)
        log.check()


def test_a_log_that_is_closed_while_its_leader_lets_others_go_on_takes_nothing_of_them(tmp_path: Path):
    with Machine(tmp_path, sync=False) as world:
        streams = MemoryStreams()
        log = CommitLog(streams, "log", 1, OPTIONS, 0, lambda *_: None, world)
        world.run(streams.create("log", 1))
        refused: list[str] = []

        async def one() -> None:
            try:
                await log.append([(b"k", b"v")])
            except RangeReadOnly as error:
                refused.append(str(error))

        async def close() -> None:
            log.fail(Unreachable("closed"))

        async def everybody() -> None:
            for task in [world.spawn(each) for each in (one(), one(), close(), one())]:
                await task

        world.run(everybody())
        assert len(refused) == 3 and (log.applied, log.appends) == (0, 0)
        assert world.run(replay(streams, "log", None, 0, lambda *_: None)).bytes == 0
        log.check()


def test_after_an_error_those_under_way_are_uncertain_those_behind_refused_and_nothing_is_taken():
    world = Simulator()
    streams = CrashingStreams(MemoryStreams(), world=world, crash_at=1, after=True)
    streams.fail = Unreachable("no answer")
    world.run(streams.inner.create("log", 1))
    applied: list[int] = []
    log = CommitLog(streams, "log", 1, OPTIONS, 0, lambda sequence, _: applied.append(sequence))
    answers: list[type[Exception]] = []

    async def one() -> None:
        try:
            await log.append([(b"k", b"v")])
        except (WriteUncertain, RangeReadOnly) as error:
            answers.append(type(error))

    for _ in range(3):
        world.spawn(one())
    world.run_until(1_000_000_000)
    world.run(one())
    assert answers == [RangeReadOnly, RangeReadOnly, WriteUncertain, RangeReadOnly] or answers == [
        WriteUncertain,
        RangeReadOnly,
        RangeReadOnly,
        RangeReadOnly,
    ]
    assert applied == [] and len(streams.steps) == 1
    log.check()
