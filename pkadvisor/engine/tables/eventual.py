"""Rows of several partitions kept right without a transaction over them: work item, idempotent steps, resume.

The recipe for the consistency of several tables of the service's own guide: before anything is changed, what is to be
done is put into a durable queue; a worker takes the item, does its steps and deletes it last. Whoever dies leaves the
item to be seen again after its time-out, and the next worker does the steps again, so each must bear being done twice,
in part, late, and beside another worker.

:class:`Worker` is the recipe; :class:`IndexedRows` uses it for rows with an index in other partitions:

    put the item ─► 1 add the index row of the new value ─► 2 change the row, if it is as it was when the change was
    asked for ─► 3 write into the index rows of both values what the row says now ─► delete the item

Two things hold at every instant, whoever is dead, paused or late: a row has an index row under its value (*nothing is
missed*), and a look-up returns only rows that have the value (*nothing is wrong*), because it asks the row. When the
queue is empty the index rows are exactly those of the rows. What makes a late worker harmless is a stamp on each index
row, 2 × the version of the row that it follows, or one less where step 1 wrote it ahead of the row: a smaller stamp
never replaces a greater one. So index rows that are no longer valid stay as marks until :meth:`IndexedRows.sweep` takes
them away; removed rows stay, without a value, because of their versions. Stamps and marks are additions to the recipe,
which does not say what a worker that wakes up late may do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from pkadvisor.engine.rows import Change, Row, RowStore
from pkadvisor.engine.tables.message_queue import FOR_EVER_NS, Message, MessageMissing, MessageQueue, ReceiptMismatch
from pkadvisor.engine.worlds.world import EngineError


class Done(StrEnum):
    """What a worker did with its turn."""

    NOTHING = "nothing to do"
    FINISHED = "finished"
    LEFT = "left for another turn"
    SET_ASIDE = "set aside"


class Worker:
    """Takes items of a queue and carries them out. ``carry_out`` is idempotent; on an EngineError it is tried again.

    An item that was taken more than ``attempts_max`` times is moved to the queue ``aside``, where somebody looks at it.
    """

    def __init__(
        self,
        queue: MessageQueue,
        carry_out: Callable[[Message], Awaitable[None]],
        *,
        aside: MessageQueue | None = None,
        attempts_max: int = 10,
    ) -> None:
        self._queue, self._carry_out, self._aside, self._attempts_max = queue, carry_out, aside, attempts_max

    async def turn(self, now_ns: int) -> Done:
        """Takes one item, if there is one, and works on it. Raises only what the queue itself cannot do."""
        taken = await self._queue.get(now_ns)
        if not taken:
            return Done.NOTHING
        (message,) = taken
        if self._aside is not None and message.dequeue_count > self._attempts_max:
            # Twice is once: the name is the same.
            await self._aside.put(message.name, message.body, now_ns, live_ns=FOR_EVER_NS)
            await self._forget(message)
            return Done.SET_ASIDE
        try:
            await self._carry_out(message)
        except EngineError:
            return Done.LEFT
        await self._forget(message)
        return Done.FINISHED

    async def _forget(self, message: Message) -> None:
        # Otherwise another worker has taken it meanwhile, and will find all its steps done.
        with suppress(MessageMissing, ReceiptMismatch):
            await self._queue.delete(message)


# ------------------------------------------------------------------------------------------ rows with an index


class Outcome(StrEnum):
    """What became of a change."""

    DONE = "done"
    CONFLICT = "conflict"
    """The row was changed by another since it was read: nothing was changed."""
    OVERTAKEN = "overtaken"
    """The row was changed several times since it was read; this change may have been the first of them."""


class Item(msgspec.Struct, array_like=True, frozen=True):
    """A change of one row: the version and value that it had, and its new value (None: it is removed) and body."""

    entity: str
    version: int
    old: str | None
    new: str | None
    body: bytes = b""


class IndexedRow(msgspec.Struct, array_like=True, frozen=True):
    """The row: its version, what it is indexed by (None: it was removed), anything else, and who changed it last."""

    version: int
    value: str | None
    body: bytes
    changed_by: str


class _IndexRow(msgspec.Struct, array_like=True, frozen=True):
    stamp: int
    present: bool
    entity: str


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the rows lie: the key of a row, the key of its index row, and the range of all index rows of a value."""

    row_key: Callable[[str], bytes]
    index_key: Callable[[str, str], bytes]
    index_range: Callable[[str], tuple[bytes, bytes]]


_encode = msgspec.msgpack.Encoder().encode
_decode_row = msgspec.msgpack.Decoder(IndexedRow).decode
_decode_index = msgspec.msgpack.Decoder(_IndexRow).decode
_decode_item = msgspec.msgpack.Decoder(Item).decode
_NEVER = IndexedRow(0, None, b"", "")


class IndexedRows:
    """Rows in one store and their index rows in another (or the same), kept right by items of a queue."""

    def __init__(self, rows: RowStore, index: RowStore, queue: MessageQueue, layout: Layout) -> None:
        self._rows, self._index, self._queue, self._layout = rows, index, queue, layout

    async def read(self, entity: str) -> IndexedRow:
        """The row; version 0 where there never was one."""
        found = await self._rows.read(self._layout.row_key(entity))
        return _NEVER if found is None else _decode_row(found[1])

    async def ask(self, name: str, item: Item, now_ns: int, *, delay_ns: int = 0) -> None:
        """Step 0: puts the change into the queue. On return it will be carried out, or refused, whoever dies.

        ``name`` names this change and no other; asking again under it is safe.
        """
        await self._queue.put(name, _encode(item), now_ns, delay_ns=delay_ns, live_ns=FOR_EVER_NS)

    async def change(self, name: str, item: Item, now_ns: int, *, delay_ns: int) -> Outcome:
        """Asks for a change and carries it out at once; a worker sees the item after ``delay_ns``, and finds all done.

        After an EngineError a worker carries it out, or it was never asked for: ask again under the same name.
        """
        await self.ask(name, item, now_ns, delay_ns=delay_ns)
        return await self.carry_out(name, item)

    async def work(self, message: Message) -> None:
        """The steps of an item, for a :class:`Worker`."""
        await self.carry_out(message.name, _decode_item(message.body))

    async def carry_out(self, name: str, item: Item) -> Outcome:
        """Steps 1 to 3."""
        after = item.version + 1
        if item.new is not None:
            await self._mark(item.new, item.entity, 2 * after - 1, present=True)
        outcome = await self._change_row(name, item)
        now = await self.read(item.entity)
        for value in dict.fromkeys((item.new, item.old)):
            if value is not None:
                await self._mark(value, item.entity, 2 * now.version, present=value == now.value)
        return outcome

    async def look_up(self, value: str) -> list[tuple[str, IndexedRow]]:
        """The rows that have a value, by entity; each was asked itself."""
        out = []
        for mark in await self._marks(value):
            if mark.present:
                row = await self.read(mark.entity)
                if row.value == value:
                    out.append((mark.entity, row))
        return sorted(out, key=lambda each: each[0])

    async def sweep(self, value: str) -> int:
        """Sets right and takes away what is no longer needed of the index rows of a value; how many went.

        Safe at any time: a worker that was paused for longer may leave an index row again, which look-ups see through.
        """
        gone = 0
        for mark in await self._marks(value):
            row = await self.read(mark.entity)
            if row.value == value or mark.stamp > 2 * row.version:
                continue  # needed, or about to be
            gone += await self._remove_mark(value, mark)
        return gone

    # ------------------------------------------------------------------------------------------ steps

    async def _change_row(self, name: str, item: Item) -> Outcome:
        """Step 2: changes the row if it is as it was, or finds that this very change has been made."""
        key = self._layout.row_key(item.entity)
        outcome = [Outcome.CONFLICT]

        def decide(rows: Sequence[Row | None], sequence: int) -> Sequence[Change]:
            row = _NEVER if rows[0] is None else _decode_row(rows[0][1])
            if row.version == item.version:
                outcome[0] = Outcome.DONE
                return [(key, _encode(IndexedRow(item.version + 1, item.new, item.body, name)))]
            if row.version > item.version + 1:
                outcome[0] = Outcome.OVERTAKEN
            else:
                outcome[0] = Outcome.DONE if row.changed_by == name else Outcome.CONFLICT
            return []

        await self._rows.write((key,), decide)
        return outcome[0]

    async def _mark(self, value: str, entity: str, stamp: int, *, present: bool) -> None:
        """Steps 1 and 3: writes an index row, unless one with this stamp or a greater one is there."""
        key = self._layout.index_key(value, entity)

        def decide(rows: Sequence[Row | None], sequence: int) -> Sequence[Change]:
            if rows[0] is not None and _decode_index(rows[0][1]).stamp >= stamp:
                return []
            return [(key, _encode(_IndexRow(stamp, present, entity)))]

        await self._index.write((key,), decide)

    async def _remove_mark(self, value: str, mark: _IndexRow) -> int:
        key = self._layout.index_key(value, mark.entity)
        removed = [0]

        def decide(rows: Sequence[Row | None], sequence: int) -> Sequence[Change]:
            same = rows[0] is not None and _decode_index(rows[0][1]) == mark
            removed[0] = int(same)
            return [(key, None)] if same else []

        await self._index.write((key,), decide)
        return removed[0]

    async def _marks(self, value: str) -> list[_IndexRow]:
        out = []
        cursor = self._index.cursor(*self._layout.index_range(value))
        try:
            while batch := await cursor.next():
                out += [_decode_index(row) for _, _, row in batch]
        finally:
            cursor.close()
        return out
