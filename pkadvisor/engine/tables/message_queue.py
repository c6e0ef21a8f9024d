"""A durable queue of work items with a visibility time-out, on a row store (seed of eventual consistency).

    put ──► visible ──get──► hidden until a moment ──delete (with the receipt of that get)──► gone
               ▲                     │ the moment passes: whoever took it has died, or is slow
               └─────────────────────┘ dequeue_count counts the gets

An item is handed out *at least once*: a worker that is too slow meets a second one with the same item, so what it does
must bear being done twice. A receipt is good until the next get or update: the slow worker cannot delete what another
works on (Get Messages, Queue service REST reference).

Two rows for each item, changed as one: its body under its name, and an entry in the order of becoming visible. All rows
of a queue start with one prefix, which must lie inside one PartitionKey, so that no range boundary divides it. The
queue knows no clock: whoever calls says what time it is by his.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.rows import Change, Row, RowStore
from pkadvisor.engine.worlds.world import EngineError

FOR_EVER_NS = 1 << 62
"""For items that must be worked on however long nobody does."""


class QueueError(EngineError):
    """The queue refuses."""


class MessageMissing(QueueError):  # noqa: N818
    """No item of that name: deleted already, or it lived its time."""


class ReceiptMismatch(QueueError):  # noqa: N818
    """The item was taken or updated since: the receipt is no longer good."""


class _Stored(msgspec.Struct, array_like=True, frozen=True):
    """The row under the name of an item; times in ns."""

    body: bytes
    put_ns: int
    expires_ns: int
    visible_ns: int
    dequeue_count: int
    receipt: int


@dataclass(frozen=True, slots=True)
class Message:
    """An item that was taken; ``receipt`` is what deletes it, ``dequeue_count`` how often it has been taken."""

    name: str
    body: bytes
    put_ns: int
    visible_ns: int
    dequeue_count: int
    receipt: int


_decode = msgspec.msgpack.Decoder(_Stored).decode
_encode = msgspec.msgpack.Encoder().encode


class MessageQueue:
    """One queue. ``prefix`` starts the keys of all its rows and of nothing else."""

    def __init__(self, rows: RowStore, prefix: bytes, options: EngineOptions | None = None) -> None:
        self._rows = rows
        self._named, self._ordered = prefix + b"i", prefix + b"o"
        self._options = options or EngineOptions()

    async def put(self, name: str, body: bytes, now_ns: int, *, delay_ns: int = 0, live_ns: int | None = None) -> None:
        """Adds an item; it is durable on return. One whose name is there already changes nothing: doing it again is
        safe. One that has lived its time is not there any more, whether or not anybody has removed it.

        It is first visible after ``delay_ns`` and gone, worked on or not, after ``live_ns`` (default:
        ``message_time_to_live_ns``).
        """
        assert name, "an item has a name"
        live_ns = self._options.message_time_to_live_ns if live_ns is None else live_ns
        new = _Stored(body, now_ns, now_ns + live_ns, now_ns + delay_ns, 0, 0)
        over: _Stored | None = None
        while (over := await self._put(name, new, over, now_ns)) is not None:
            pass  # an item past its time is in the way: its place in the order goes, too

    async def get(self, now_ns: int, *, most: int = 1, hide_ns: int | None = None) -> list[Message]:
        """Takes visible items, those that have waited longest first, and hides them for ``hide_ns``.

        Default: ``visibility_timeout_ns``. Items past their time are removed on the way.
        """
        hide_ns = self._options.visibility_timeout_ns if hide_ns is None else hide_ns
        assert hide_ns > 0, "an item that is not hidden is taken for ever"
        taken: list[Message] = []
        cursor = self._rows.cursor(self._ordered, self._order_key(now_ns + 1, ""))
        try:
            while len(taken) < most and (batch := await cursor.next()):
                for key, _, _ in batch:
                    if len(taken) == most:
                        break
                    found = await self._take(key, now_ns, hide_ns)
                    if found is not None:
                        taken.append(found)
        finally:
            cursor.close()
        return taken

    async def update(self, message: Message, body: bytes, now_ns: int, hide_ns: int) -> Message:
        """Changes the body of a taken item (how far the work has come) and hides it anew; a new receipt.

        MessageMissing, ReceiptMismatch.
        """
        later = await self._change(message, now_ns + hide_ns, body)
        assert later is not None, "an update keeps the item"
        return later

    async def delete(self, message: Message) -> None:
        """Removes a taken item. MessageMissing, ReceiptMismatch."""
        await self._change(message, None, b"")

    async def length(self) -> int:
        """Items there are, visible or hidden."""
        return len(await self._names())

    async def check(self) -> None:
        """Each item has one place in the order, and each place its item."""
        named = await self._names()
        ordered = [key for key, _ in await self._all(self._ordered)]
        expected = sorted(self._order_key(stored.visible_ns, name) for name, stored in named.items())
        assert ordered == expected, "the order of a queue and its items agree"

    # ------------------------------------------------------------------------------------------ steps

    async def _put(self, name: str, new: _Stored, over: _Stored | None, now_ns: int) -> _Stored | None:
        """Puts an item where there is none, or only ``over``; returns another one past its time that is in the way."""
        name_key, order_key = self._name_key(name), self._order_key(new.visible_ns, name)
        old_key = order_key if over is None else self._order_key(over.visible_ns, name)
        in_the_way: list[_Stored] = []

        def decide(rows: Sequence[Row | None], sequence: int) -> list[Change]:
            in_the_way.clear()
            row = rows[0]
            there = None if row is None else _decode(row[1])
            if there is not None and there.expires_ns > now_ns:
                return []
            if there is not None and there != over:
                in_the_way.append(there)
                return []
            gone: list[Change] = [] if there is None or old_key == order_key else [(old_key, None)]
            return [*gone, (name_key, _encode(new)), (order_key, b"")]

        await self._rows.write(tuple(dict.fromkeys((name_key, order_key, old_key))), decide)
        return in_the_way[0] if in_the_way else None

    async def _take(self, order_key: bytes, now_ns: int, hide_ns: int) -> Message | None:
        """Takes the item at a place of the order; None where it is no longer there or has lived its time."""
        name = order_key[len(self._ordered) + 16 :].decode()
        name_key, new_key = self._name_key(name), self._order_key(now_ns + hide_ns, name)
        result: list[Message] = []

        def decide(rows: Sequence[Row | None], sequence: int) -> list[Change]:
            result.clear()
            row = rows[0]
            if row is None or rows[1] is None:
                return []
            stored = _decode(row[1])
            assert self._order_key(stored.visible_ns, name) == order_key, "an item is in one place of the order"
            if stored.expires_ns <= now_ns:
                return [(name_key, None), (order_key, None)]
            count = stored.dequeue_count + 1
            later = msgspec.structs.replace(stored, visible_ns=now_ns + hide_ns, dequeue_count=count, receipt=sequence)
            result.append(Message(name, stored.body, stored.put_ns, later.visible_ns, count, sequence))
            return [(order_key, None), (name_key, _encode(later)), (new_key, b"")]

        # The order key differs from the new one: the item was visible and is hidden.
        await self._rows.write((name_key, order_key, new_key), decide)
        return result[0] if result else None

    async def _change(self, message: Message, visible_ns: int | None, body: bytes) -> Message | None:
        """Replaces (or, without a moment, removes) an item whose receipt is still good."""
        name_key, order_key = self._name_key(message.name), self._order_key(message.visible_ns, message.name)
        new_key = order_key if visible_ns is None else self._order_key(visible_ns, message.name)
        result: list[Message] = []

        def decide(rows: Sequence[Row | None], sequence: int) -> list[Change]:
            result.clear()
            row = rows[0]
            if row is None:
                raise MessageMissing(message.name)
            stored = _decode(row[1])
            if stored.receipt != message.receipt:
                raise ReceiptMismatch(message.name)
            assert stored.visible_ns == message.visible_ns, "a receipt is that of one state"
            if visible_ns is None:
                return [(name_key, None), (order_key, None)]
            later = msgspec.structs.replace(stored, body=body, visible_ns=visible_ns, receipt=sequence)
            result.append(Message(message.name, body, stored.put_ns, visible_ns, stored.dequeue_count, sequence))
            moved: list[Change] = [] if new_key == order_key else [(order_key, None), (new_key, b"")]
            return [*moved, (name_key, _encode(later))]

        await self._rows.write(tuple(dict.fromkeys((name_key, order_key, new_key))), decide)
        return result[0] if result else None

    def _name_key(self, name: str) -> bytes:
        return self._named + name.encode()

    def _order_key(self, visible_ns: int, name: str) -> bytes:
        """Sixteen hexadecimal digits of the moment, then the name: bytes in the order of time."""
        assert 0 <= visible_ns < 1 << 64, "a moment since the world began"
        return self._ordered + f"{visible_ns:016x}{name}".encode()

    async def _names(self) -> dict[str, _Stored]:
        return {key[len(self._named) :].decode(): _decode(value) for key, value in await self._all(self._named)}

    async def _all(self, start: bytes) -> list[tuple[bytes, bytes]]:
        """The rows whose keys have a start, which ends with a letter."""
        out: list[tuple[bytes, bytes]] = []
        cursor = self._rows.cursor(start, start[:-1] + bytes((start[-1] + 1,)))
        try:
            while batch := await cursor.next():
                out += [(key, value) for key, _, value in batch]
        finally:
            cursor.close()
        return out
