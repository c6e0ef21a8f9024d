"""Replicas come and go: made empty, sealed at a decided length, copied from others, deleted (SOSP 2011, 4.3.2).

open ──freeze: no more appends, the commit length is told──► frozen ──seal at n: cut or filled──► sealed
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from pkadvisor.engine.stream.blocks import check_whole
from pkadvisor.engine.stream.catalog import Created, Cut, Deleted, Sealed
from pkadvisor.engine.stream.extent_store import ExtentStore, file_name
from pkadvisor.engine.stream.replica import Replica
from pkadvisor.engine.worlds.world import DataCorrupt, DiskError, EngineError, Unreachable

SERVICE = "extents"
PIECE_BYTES = 1 << 20


class ExtentSealing(ExtentStore):
    """Making, sealing, copying and deleting replicas on one node."""

    async def create(self, extent: int, replicas: tuple[str, ...]) -> None:
        """Opens an empty replica; the first of ``replicas`` is the primary. Doing it again does nothing."""
        known = self.replicas.get(extent)
        if known is None:
            file = await self._data.open(file_name(extent))
            known = self.replicas.get(extent)
        if known is not None:
            async with known.lock:  # the same request came twice: it is made when it is durable
                self._still_here(known)
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
        kept = min(replica.durable, length)
        if replica.durable > length:
            self._world.event("replica longer at seal", self.name, replica.extent)
        if replica.length > kept:
            if replica.flushed > kept:
                await self._catalog.note(Cut(replica.extent, kept))
            replica.cut(kept)
        if replica.length < length:
            self._world.event("replica shorter at seal", self.name, replica.extent)
            replica.accept(await self._rest_of(replica, length, sources))
        if replica.flushed < length or replica.refused:
            await self._write_out(replica)
        elif replica.file.size() > replica.flushed:
            await replica.file.truncate(replica.flushed)
        assert replica.length == replica.flushed == length

    async def _rest_of(self, replica: Replica, length: int, sources: Sequence[str]) -> bytes:
        """The bytes that the replica lacks, from the first source that has them undamaged."""
        failed: EngineError = Unreachable(f"extent {replica.extent}: nobody has it up to {length}")
        for source in sources:
            if source == self.name:
                continue
            parts: list[bytes] = []
            offset = replica.length
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
                check_whole(replica.extent, replica.length, data)
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
