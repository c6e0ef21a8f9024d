"""Streams that crash, repeat themselves and answer late; and what a range must hold after all that."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.partition.metadata import RangeMissing
from pkadvisor.engine.partition.range_partition import RangePartition
from pkadvisor.engine.partition.split_merge import merge, split
from pkadvisor.engine.rows import Change, Cursor, Row
from pkadvisor.engine.stream.access import Location, MultiModify, NotThere
from pkadvisor.engine.tables.row_keys import row_key
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.tasks import Future
from pkadvisor.engine.worlds.world import EngineError
from tests.engine.fakes import MemoryStreams

T = TypeVar("T")
NODE = "server"
OPTIONS = EngineOptions(memory_table_bytes=1 << 20, combine_fan_in=3, group_commit_records=16, page_bytes=256)


class Crash(Exception):  # noqa: N818 - no error of the engine: nothing in it may catch this
    """The process ends here."""


class CrashingStreams:
    """Streams on ``inner`` whose durable steps are numbered from 1.

    At step ``crash_at`` the process ends: before the step is carried out, or after it with ``after``; ``fail`` answers
    with that error instead, ``intrude`` does something there and goes on. ``repeat_appends``: each append lies there
    twice, as after a lost answer. With a ``world`` every step takes time before and after, and a crash ends all tasks
    of the node. ``strict``: what no stream holds is collected at once.
    """

    def __init__(
        self, inner: MemoryStreams, *, crash_at: int = 0, after: bool = False, world: Simulator | None = None
    ) -> None:
        self.inner, self.crash_at, self.after, self.world = inner, crash_at, after, world
        self.steps: list[str] = []
        self.repeat_appends = False
        self.fail: EngineError | None = None
        self.fail_once = False
        self.dead = False
        self.strict = False
        self.intrude: Callable[[], Awaitable[None]] | None = None

    async def _delay(self) -> None:
        if self.world is not None:
            await self.world.sleep(self.world.random("streams").randrange(1, 2_000_000))

    async def _end(self) -> None:
        if self.intrude is not None:
            await self.intrude()
            return
        if self.fail is not None:
            error = self.fail
            if self.fail_once:
                self.crash_at, self.fail = 0, None
            raise error
        self.dead = True
        if self.world is not None:
            self.world.kill(NODE)
            await Future()
        raise Crash(self.steps[-1])

    async def _step(self, what: str, carry_out: Callable[[], Awaitable[T]]) -> T:
        assert not self.dead, "a dead process does nothing"
        await self._delay()
        self.steps.append(what)
        mine = len(self.steps) == self.crash_at
        if mine and not self.after:
            await self._end()
        result = await carry_out()
        if mine:
            await self._end()
        await self._delay()
        return result

    async def create(self, name: str, epoch: int) -> None:
        await self._step(f"create {name}", lambda: self.inner.create(name, epoch))

    async def acquire(self, name: str, epoch: int) -> None:
        await self._step(f"acquire {name}", lambda: self.inner.acquire(name, epoch))

    async def append(self, name: str, blocks: Sequence[bytes], epoch: int) -> list[Location]:
        async def carry_out() -> list[Location]:
            if self.repeat_appends:
                await self.inner.append(name, blocks, epoch)
            return await self.inner.append(name, blocks, epoch)

        return await self._step(f"append {name}", carry_out)

    async def read(self, location: Location) -> bytes:
        await self._delay()
        if self.strict and not any(location.extent in held for held in self.inner.streams.values()):
            raise NotThere(f"{location} is in no stream")
        return await self.inner.read(location)

    def records(self, name: str, start: Location | None = None) -> AsyncIterator[tuple[Location, bytes]]:
        return self.inner.records(name, start)

    async def exists(self, name: str) -> bool:
        return await self.inner.exists(name)

    async def delete(self, name: str) -> None:
        await self._step(f"delete {name}", lambda: self.inner.delete(name))

    async def drop_before(self, name: str, start: Location) -> None:
        await self._step(f"drop {name}", lambda: self.inner.drop_before(name, start))

    async def concatenate(self, target: str, sources: Sequence[str], epoch: int) -> None:
        await self._step("concatenate", lambda: self.inner.concatenate(target, sources, epoch))

    async def multi_modify(self, change: MultiModify) -> None:
        await self._step("multi modify", lambda: self.inner.multi_modify(change))


def key(partition: int, row: int) -> bytes:
    """A row key as the table service makes them."""
    return row_key("account", "table", f"p{partition:02}", f"r{row:03}")


@dataclass
class Record:
    """What was asked to be written under a sequence number, and whether it was acknowledged."""

    sequence: int
    changes: list[Change]
    acknowledged: bool = False


@dataclass
class History:
    """All writes of one range, in the order of their numbers: the model is their replay."""

    records: list[Record] = field(default_factory=list)
    base: dict[bytes, Row] = field(default_factory=dict)
    """Rows that were there when the range was made, by split or merge."""

    async def write(self, partition: RangePartition, changes: list[Change]) -> int:
        """Writes and notes what came of it; errors go on to the caller."""
        noted: list[Record] = []

        def decide(rows: Sequence[Row | None], sequence: int) -> list[Change]:
            noted.append(Record(sequence, changes))
            self.records.append(noted[0])
            return changes

        sequence = await partition.write([key for key, _ in changes], decide)
        assert sequence == noted[0].sequence
        noted[0].acknowledged = True
        return sequence

    def rows(self, until: int) -> dict[bytes, Row]:
        """The model: the state after the records up to a number."""
        rows = dict(self.base)
        for record in self.records:
            if record.sequence > until:
                continue
            for name, value in record.changes:
                if value is None:
                    rows.pop(name, None)
                else:
                    rows[name] = (record.sequence, value)
        return rows

    def all_rows(self) -> dict[bytes, Row]:
        """The state after all records; none of them may be under way."""
        assert all(record.acknowledged for record in self.records)
        return self.rows(1 << 62)

    def recovered(self, until: int) -> dict[bytes, Row]:
        """The state that a load which ends at ``until`` must show (P3); later records never happened."""
        numbers = [record.sequence for record in self.records]
        assert numbers == sorted(set(numbers)), "numbers are given out once, in order"
        last = max((record.sequence for record in self.records if record.acknowledged), default=0)
        assert last <= until, "an acknowledged write is lost"
        self.records = [record for record in self.records if record.sequence <= until]
        for record in self.records:
            record.acknowledged = True  # from now on it is part of the state for good
        return self.rows(until)


async def walk(cursor: Cursor) -> dict[bytes, Row]:
    """All rows of a cursor; they must come in order."""
    found: dict[bytes, Row] = {}
    last = b""
    while rows := await cursor.next():
        for name, sequence, value in rows:
            assert name > last or not found
            found[name], last = (sequence, value), name
    return found


async def rows_of(*partitions: RangePartition) -> dict[bytes, Row]:
    """All rows of neighbouring ranges; each key read singly must give the same row."""
    found: dict[bytes, Row] = {}
    for partition in partitions:
        mine = await walk(partition.cursor(b"", None))
        for name, row in mine.items():
            assert await partition.read(name) == row
        assert not found.keys() & mine.keys(), "a row is in two ranges"
        found.update(mine)
    return found


class Land:
    """All ranges of a key space on one server, what was written to them, and what a manager would know of them."""

    def __init__(self, inner: MemoryStreams | None = None, options: EngineOptions = OPTIONS) -> None:
        self.world, self.options = Simulator(), options
        self.memory = MemoryStreams() if inner is None else inner
        self.streams = CrashingStreams(self.memory)
        self.histories: dict[int, History] = {}
        self.parts: list[RangePartition] = []
        self.before: tuple[int, ...] = ()
        self.after: tuple[int, ...] = ()
        self.rest: tuple[int, ...] = ()
        self.epoch = 0
        self.number = 1

    def next_epoch(self) -> int:
        """Epochs come from one counter for all ranges."""
        self.epoch += 1
        return self.epoch

    async def create(self) -> None:
        """The first range, of all keys; again after a crash."""
        self.histories.setdefault(1, History())
        epoch = self.next_epoch()
        self.parts = [await RangePartition.create(self.world, NODE, self.streams, self.options, 1, b"", None, epoch)]
        self.before = self.after = (1,)

    def part(self, name: bytes) -> RangePartition:
        """The range of a key."""
        return next(each for each in self.parts if each.high is None or name < each.high)

    async def write(self, *changes: Change) -> None:
        """One record, all in the range of its first key."""
        part = self.part(changes[0][0])
        await self.histories[part.number].write(part, list(changes))

    def _derive(self, children: Sequence[RangePartition]) -> None:
        """The histories of the children of a split or merge that happened."""
        rows: dict[bytes, Row] = {}
        for number in self.before:
            rows.update(self.histories[number].all_rows())
        for part in children:
            mine = {name: rows[name] for name in rows if name >= part.low and (not part.high or name < part.high)}
            self.histories[part.number] = History(base=mine)
        self.before = self.after

    def _settled(self, parts: Sequence[RangePartition]) -> None:
        self.parts = sorted(parts, key=lambda part: part.low)
        self.before = self.after = tuple(part.number for part in self.parts)
        self.rest = ()

    async def split(self, index: int, at: bytes) -> None:
        """Splits one range."""
        part = self.parts[index]
        others = [other for other in self.parts if other is not part]
        self.before, self.after = (part.number,), (self.number + 1, self.number + 2)
        self.rest = tuple(other.number for other in others)
        self.number += 2
        children = await split(part, at, *self.after, self.next_epoch())
        self._derive(children)
        self._settled([*others, *children])

    async def merge(self, index: int) -> None:
        """Merges one range with the next."""
        left, right = self.parts[index : index + 2]
        others = [other for other in self.parts if other is not left and other is not right]
        self.before, self.after = (left.number, right.number), (self.number + 1,)
        self.rest = tuple(other.number for other in others)
        self.number += 1
        child = await merge(left, right, *self.after, self.next_epoch())
        self._derive([child])
        self._settled([*others, child])

    async def recover(self) -> None:
        """After a crash: loads what is there, and compares it with the model, row by row and version by version."""
        if not self.after:
            await self.create()
            return
        epoch = self.next_epoch()
        try:
            found = [await self._loaded(number, epoch) for number in self.before]
        except RangeMissing:
            found = [await self._loaded(number, epoch) for number in self.after]
        numbers = tuple(part.number for part in found)
        assert numbers in (self.before, self.after), "a mix of parents and children"
        if numbers == self.before:
            for part in found:
                self.histories[part.number].recovered(part.sequence)
            self.after = self.before
        else:
            for part in self.parts:
                if part.number in self.before:  # drained before its streams were taken: what is applied is all
                    self.histories[part.number].recovered(part.sequence)
            self._derive(found)
        for number in self.rest:
            found.append(await self._loaded(number, self.next_epoch()))
            self.histories[number].recovered(found[-1].sequence)
        self._settled(found)
        await self.verify()

    async def _loaded(self, number: int, epoch: int) -> RangePartition:
        return await RangePartition.load(self.world, NODE, self.streams, self.options, number, epoch)

    async def verify(self) -> None:
        """P1, P3, P4: the ranges tile the key space and hold what the model holds."""
        edges = [b"", *(part.low for part in self.parts[1:])]
        assert [part.low for part in self.parts] == edges
        assert [part.high for part in self.parts] == [*edges[1:], None], "a hole or an overlap"
        for part in self.parts:
            assert await rows_of(part) == self.histories[part.number].all_rows()
            await part.check()
            assert part.metadata.root.intent is None, "a change that was given up is still intended"
