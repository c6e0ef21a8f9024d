"""Replicas come and go: made empty, sealed at a decided length, copied from others, deleted (SOSP 2011, 4.3.2).

open ──freeze: no more appends, the commit length is told──► frozen ──seal at n: cut or filled──► sealed
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from pkadvisor.engine.stream.blocks import check_whole
from pkadvisor.engine.stream.errors import TooSlow
from pkadvisor.engine.stream.nodes.catalog import Created, Deleted, Sealed, Truncation
from pkadvisor.engine.stream.nodes.extent_store import ExtentStore, file_name
from pkadvisor.engine.stream.nodes.replica import Replica
from pkadvisor.engine.worlds.world import DataCorrupt, DiskError, EngineError, ReadFailed, Unreachable

SERVICE = "extents"
MAKING_MAX = 8
"""Replicas that a node makes at once: assumed."""
PIECE_BYTES = 1 << 20


class ExtentSealing(ExtentStore):
    """Making, sealing, copying and deleting replicas on one node."""

    async def create(self, extent: int, replicas: tuple[str, ...]) -> None:
        """Opens an empty replica; the first of ``replicas`` is the primary. Doing it again does nothing.

        TooSlow, at once, where so many are still being made that this one would only wait behind them: whoever asks
        takes other nodes, and a slow disk does not get a queue that outlasts its slowness.
        """
        known = self.replicas.get(extent)
        if known is not None:
            await self._until_made(known)
            return
        if self._making >= MAKING_MAX:
            raise TooSlow(f"{self.name} is still making {MAKING_MAX} replicas")
        self._making += 1
        try:
            await self._make(extent, replicas)
        finally:
            self._making -= 1

    async def _make(self, extent: int, replicas: tuple[str, ...]) -> None:
        file = await self._data.open(file_name(extent))
        known = self.replicas.get(extent)
        if known is not None:
            await self._until_made(known)
            return
        replica = self.replicas[extent] = Replica(extent, replicas, file, self.device)
        replica.made = self._world.random("copies").getrandbits(63)
        replica.closed = "not yet made"
        async with replica.lock:
            try:
                await self._catalog.note(Created(extent, replicas, replica.made))
            except DiskError:
                with suppress(DiskError):  # what stays goes at the next start
                    await self._data.delete(file_name(extent))
                del self.replicas[extent]
                raise
            replica.closed = ""

    async def _until_made(self, known: Replica) -> None:
        """The same request came twice: it is made when it is durable."""
        async with known.lock:
            self._still_here(known)

    async def freeze(self, extent: int) -> tuple[int, bool]:
        """Ends appends for ever and tells the commit length, and whether it is certain; first step of a seal.

        After a crash that left torn bytes in the journal a length is uncertain: acknowledged bytes may lack [H].
        DataCorrupt: they do, and no other replica has them.
        """
        replica = self._replica(extent)
        if replica.damaged and len(replica.replicas) == 1:
            self._world.event("acknowledged bytes lost", self.name, extent)
            raise DataCorrupt(f"extent {extent}: {self.name}, which has the only replica, lost acknowledged bytes")
        replica.frozen = True
        await replica.settled()
        return replica.durable, not replica.uncertain

    async def seal(self, extent: int, length: int, sources: tuple[str, ...]) -> None:
        """Makes the replica exactly ``length`` bytes: cuts a longer one, fills a shorter one from ``sources``."""
        replica = self._replica(extent)
        replica.frozen = True
        await replica.settled()
        async with replica.lock:
            self._still_here(replica)
            if replica.sealed is None:
                await self._bring_to(replica, length, sources)
                await self._catalog.note(Sealed(extent, length))
                replica.sealed = replica.durable = length
                replica.uncertain = replica.damaged = False
                replica.closed = ""
        assert replica.sealed == length, "a sealed length never changes"

    async def _bring_to(self, replica: Replica, length: int, sources: Sequence[str]) -> None:
        """Cuts or fills a replica, and has all of it on the data device. Its lock is held."""
        end = min(replica.durable, length)
        if replica.durable > length:
            self._world.event("replica longer at seal", self.name, replica.extent)
        if replica.length > end:
            if replica.flushed > end:
                await self._catalog.note(Truncation(replica.extent, end))
            replica.cut(end)
        if replica.length < length:
            self._world.event("replica shorter at seal", self.name, replica.extent)
            replica.accept(await self._rest_of(replica, replica.length, length, sources))
        if replica.flushed < length or replica.refused:
            try:
                await self._write_out(replica)
            except (ReadFailed, DataCorrupt):  # what it has cannot be read any more: all of it comes from others
                await self._make_anew(replica, await self._rest_of(replica, 0, length, sources))
        elif replica.file.size() > replica.flushed:
            await replica.file.truncate(replica.flushed)
        assert replica.length == replica.flushed == length

    async def _make_anew(self, replica: Replica, data: bytes) -> None:
        """Puts a file in place of the replica's. Up to any moment of a crash there are the bytes that were there."""
        replica.file = await self.device.replace(self._data, replica.file.name, data)
        replica.refused = False
        replica.length = len(data)
        replica.flushed_to(replica.length)
        self._world.event("replica made anew", self.name, replica.extent)

    async def _rest_of(self, replica: Replica, begin: int, length: int, sources: Sequence[str]) -> bytes:
        """The bytes of a replica from ``begin`` on, from the first source that has them undamaged."""
        failed: EngineError = Unreachable(f"extent {replica.extent}: nobody has it up to {length}")
        for source in sources:
            if source == self.name:
                continue
            parts: list[bytes] = []
            offset = begin
            try:
                while offset < length:
                    piece = min(PIECE_BYTES, length - offset)
                    parts.append(
                        await self._world.call(
                            self.name, source, SERVICE, "read_bytes", replica.extent, offset, piece, False
                        )
                    )
                    offset += len(parts[-1])
                data = b"".join(parts)
                check_whole(replica.extent, begin, data)
                return data
            except EngineError as error:
                failed = error
        raise failed

    async def fetch(self, extent: int, length: int, replicas: tuple[str, ...], sources: tuple[str, ...]) -> None:
        """Makes a sealed replica here as a copy of others (re-replication). Doing it again does nothing.

        One that is lost, or is not of the sealed length, goes first.
        """
        replica = self.replicas.get(extent)
        if replica is not None and (replica.lost or replica.sealed not in (None, length)):
            await self.delete(extent, replica.made)
        await self.create(extent, replicas)
        await self.seal(extent, length, sources)

    async def delete(self, extent: int, made: int) -> None:
        """Removes the replica that was made as ``made``; a missing one is no error.

        A later copy of the same extent is another one: a request that comes late does not remove it.
        """
        replica = self.replicas.get(extent)
        if replica is None or replica.made != made:
            return
        replica.frozen = True
        await replica.settled()
        async with replica.lock:
            if self.replicas.get(extent) is replica:
                await self._catalog.note(Deleted(extent))
                del self.replicas[extent]
                self.damaged.pop(extent, None)
                await self._data.delete(file_name(extent))
