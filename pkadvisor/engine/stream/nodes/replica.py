"""One replica of an extent on one node: what of it is in memory, in the journal, on the data device.

open ──freeze──► frozen ──seal at n──► sealed
 │ restart, error of a device, of another replica       ▲
 ▼                                                      │
closed (takes no appends until it is sealed) ───────────┘        lost: answers nothing, not even a length

0 ........ flushed ........ durable ........ length
data device │ journal and memory │ on its way        (flushed beyond durable: the catalog does not say so yet)
"""

from __future__ import annotations

from bisect import bisect_right

from pkadvisor.engine.stream.errors import ExtentSealed, NotThere, ReplicaFailed
from pkadvisor.engine.stream.nodes.device import Device
from pkadvisor.engine.worlds.locks import Lock
from pkadvisor.engine.worlds.tasks import Future
from pkadvisor.engine.worlds.world import File


class Replica:
    """State of one replica. ``closed`` says why it takes no appends; ``refused``: its file takes none either.

    ``made`` tells it from an earlier copy of the same extent on this node. ``uncertain``: after a start, it may lack
    acknowledged bytes; ``damaged``: it surely does, for its journal did not end as a crash ends it.
    """

    __slots__ = (
        "appending",
        "chunks",
        "closed",
        "damaged",
        "device",
        "durable",
        "extent",
        "file",
        "flushed",
        "frozen",
        "in_flight",
        "length",
        "lock",
        "lost",
        "made",
        "offsets",
        "queue",
        "refused",
        "replicas",
        "sealed",
        "uncertain",
        "waiting",
    )

    def __init__(self, extent: int, replicas: tuple[str, ...], file: File, device: Device) -> None:
        self.extent = extent
        self.replicas = replicas
        self.file = file
        self.device = device
        self.length = self.durable = self.flushed = 0
        self.offsets: list[int] = []
        self.chunks: list[bytes] = []
        self.frozen = False
        self.sealed: int | None = None
        self.closed = ""
        self.lost = False
        self.refused = False
        self.made = 0
        self.uncertain = self.damaged = False
        self.in_flight = 0
        self.waiting: list[Future[None]] = []
        self.lock = Lock()
        self.appending = False
        self.queue: list[tuple[tuple[bytes, ...], Future[tuple[tuple[int, int], ...]]]] = []

    def require_open(self) -> None:
        """ExtentSealed or ReplicaFailed where it takes no appends."""
        if self.frozen:
            raise ExtentSealed(f"extent {self.extent}")
        if self.closed:
            raise ReplicaFailed(f"extent {self.extent}: {self.closed}")

    def accept(self, data: bytes) -> None:
        """Takes the bytes of whole appends at its end, into memory."""
        self.offsets.append(self.length)
        self.chunks.append(data)
        self.length += len(data)

    def held(self, offset: int, length: int) -> bytes | None:
        """A block that is in memory."""
        if offset < self.flushed:
            return None
        at = bisect_right(self.offsets, offset) - 1
        if at < 0:
            return None
        start = offset - self.offsets[at]
        chunk = self.chunks[at]
        if start + length > len(chunk):
            return None
        return chunk if length == len(chunk) else chunk[start : start + length]

    async def bytes_at(self, offset: int, length: int) -> bytes:
        """Bytes as accepted, from memory and the data device. NotThere where they end before."""
        end = offset + length
        if end > self.length:
            raise NotThere(f"extent {self.extent}: {end} is beyond its end {self.length}")
        parts: list[bytes] = []
        while offset < end:
            if offset < self.flushed:
                part = await self.device.read(self.file, offset, min(end, self.flushed) - offset)
                if not part:
                    raise NotThere(f"extent {self.extent}: the file ends before {offset}")
            else:
                at = bisect_right(self.offsets, offset) - 1
                start = offset - self.offsets[at]
                part = self.chunks[at][start : start + end - offset]
            parts.append(part)
            offset += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def landed(self) -> None:
        """An append that was on its way is durable, or failed."""
        self.in_flight -= 1
        if self.waiting:
            self.wake()

    def wake(self) -> None:
        """Lets those look again who wait until nothing is on its way."""
        waiting, self.waiting = self.waiting, []
        for future in waiting:
            future.resolve(None)

    async def settled(self) -> None:
        """Waits until nothing is on its way."""
        while self.in_flight:
            future: Future[None] = Future()
            self.waiting.append(future)
            await future

    def cut(self, length: int) -> None:
        """Drops what lies beyond in memory; nothing may be on its way."""
        assert not self.in_flight, "an append that is on its way cannot be cut"
        while self.offsets and self.offsets[-1] >= length:
            self.offsets.pop()
            self.chunks.pop()
        if self.offsets and self.offsets[-1] + len(self.chunks[-1]) > length:
            self.chunks[-1] = self.chunks[-1][: length - self.offsets[-1]]
        self.length = length
        self.durable = min(self.durable, length)
        self.flushed = min(self.flushed, length)

    def flushed_to(self, length: int) -> None:
        """The data device has it up to here: memory lets go of it. It is durable when the catalog says so, too."""
        gone = len(self.offsets) if self.length <= length else max(0, bisect_right(self.offsets, length) - 1)
        del self.offsets[:gone], self.chunks[:gone]
        self.flushed = length

    def check(self) -> None:
        """AssertionError where the parts do not fit together."""
        assert 0 <= self.flushed <= self.length
        assert 0 <= self.durable <= self.length
        expected = self.flushed
        for offset, chunk in zip(self.offsets, self.chunks, strict=True):
            assert offset == expected, "chunks in memory follow one another from what is flushed"
            expected += len(chunk)
        assert expected == self.length
        if self.sealed is not None:
            assert self.frozen
            assert self.flushed == self.durable == self.length == self.sealed
            assert not self.in_flight
