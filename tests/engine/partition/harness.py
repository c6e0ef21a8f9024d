"""Streams that crash, repeat themselves and answer late; and what a range must hold after all that."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.range_partition import RangePartition
from pkadvisor.engine.row_keys import row_key
from pkadvisor.engine.rows import Change, Cursor, Row
from pkadvisor.engine.simulator import Simulator
from pkadvisor.engine.stream.access import Location, MultiModify
from pkadvisor.engine.tasks import Future
from pkadvisor.engine.world import EngineError
from tests.engine.fakes import MemoryStreams

T = TypeVar("T")
NODE = "server"
OPTIONS = EngineOptions(memory_table_bytes=1 << 20, combine_fan_in=3, group_commit_records=16, page_bytes=256)


class Crash(Exception):  # noqa: N818 - no error of the engine: nothing in it may catch this
    """The process ends here."""


class CrashingStreams:
    """Streams on ``inner`` whose durable steps are numbered from 1.

    At step ``crash_at`` the process ends: before the step is carried out, or after it with ``after``; ``fail`` answers
    with that error instead. ``repeat_appends``: each append lies there twice, as after a lost answer. With a ``world``
    every step takes time before and after, and a crash ends all tasks of the node.
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

    async def _delay(self) -> None:
        if self.world is not None:
            await self.world.sleep(self.world.random("streams").randrange(1, 2_000_000))

    async def _end(self) -> None:
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
    refused: int = 0

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
        rows: dict[bytes, Row] = {}
        for record in self.records:
            if record.sequence > until:
                continue
            for name, value in record.changes:
                if value is None:
                    rows.pop(name, None)
                else:
                    rows[name] = (record.sequence, value)
        return rows

    def recovered(self, until: int) -> dict[bytes, Row]:
        """The state that a load which ends at ``until`` must show (P3); later records never happened."""
        numbers = [record.sequence for record in self.records]
        assert numbers == sorted(set(numbers)), "numbers are given out once, in order"
        last = max((record.sequence for record in self.records if record.acknowledged), default=0)
        assert last <= until, "an acknowledged write is lost"
        self.records = [record for record in self.records if record.sequence <= until]
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
