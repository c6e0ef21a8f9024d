"""What an extent node knows of its replicas, durable on its data device: a log of small records.

    Created ──► (Flushed)* ──► Sealed ──► Deleted

``JournalMade`` names the journal whose records complete the open replicas. Where that journal is gone, the open
replicas are worth nothing: they might lack acknowledged bytes, and say so rather than answer with less [H].
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from pkadvisor.engine.stream.nodes.record_file import StateLog
from pkadvisor.engine.worlds.world import DataCorrupt, Disk, World

NAME = "catalog"
COMPACT_BYTES = 1 << 20


class Created(msgspec.Struct, frozen=True, array_like=True, tag="c"):
    """A replica of an extent begins here; the first of ``replicas`` is the primary. ``made`` is a number of its own."""

    extent: int
    replicas: tuple[str, ...]
    made: int = 0


class Flushed(msgspec.Struct, frozen=True, array_like=True, tag="f"):
    """So many bytes of open replicas are durable on the data device."""

    lengths: tuple[tuple[int, int], ...]


class Truncation(msgspec.Struct, frozen=True, array_like=True, tag="t"):
    """A replica is about to be cut to ``length`` on the data device, as a seal asks."""

    extent: int
    length: int


class Sealed(msgspec.Struct, frozen=True, array_like=True, tag="s"):
    """A replica is complete on the data device and ends at ``length`` for ever."""

    extent: int
    length: int


class Deleted(msgspec.Struct, frozen=True, array_like=True, tag="d"):
    """A replica is gone."""

    extent: int


class Doubtful(msgspec.Struct, frozen=True, array_like=True, tag="u"):
    """The journal ended in bytes that do not match: torn by a crash, or damaged; these replicas may lack the end.

    ``damaged``: it was no crash, so what they lack was acknowledged.
    """

    extents: tuple[int, ...]
    damaged: bool = False


class JournalMade(msgspec.Struct, frozen=True, array_like=True, tag="j"):
    """The journal from now on."""

    journal: str


Entry: TypeAlias = Created | Flushed | Truncation | Sealed | Deleted | Doubtful | JournalMade

_DECODER = msgspec.msgpack.Decoder(Created | Flushed | Truncation | Sealed | Deleted | Doubtful | JournalMade)
_ENCODER = msgspec.msgpack.Encoder()


class CatalogReplica:
    """A replica as the catalog describes it."""

    __slots__ = ("damaged", "doubtful", "extent", "flushed", "made", "replicas", "sealed")

    def __init__(self, extent: int, replicas: tuple[str, ...], made: int) -> None:
        self.extent = extent
        self.replicas = replicas
        self.made = made
        self.flushed = 0
        self.sealed: int | None = None
        self.doubtful = self.damaged = False


class Catalog:
    """The catalog of one node."""

    def __init__(self, world: World, node: str, disk: Disk) -> None:
        self._node = node
        self._log = StateLog(world, node, disk, NAME, self._snapshot, COMPACT_BYTES)
        self.journal = ""
        self.replicas: dict[int, CatalogReplica] = {}

    async def open(self) -> bool:
        """Reads the catalog; whether all of it is there. DataCorrupt where it was surely damaged at rest: then the
        device counts as lost. What looks like a torn end may be a record that was acknowledged, and turned bad."""
        recovered = await self._log.open()
        if recovered.damaged_inside:
            raise DataCorrupt(f"{self._node}: the catalog of replicas is damaged")
        for body in recovered.bodies:
            self._apply(_DECODER.decode(body))
        return recovered.intact

    async def forget_all(self) -> None:
        """Begins an empty catalog in place of a damaged one."""
        self.replicas.clear()
        self.journal = ""
        await self._log.renew()

    async def note(self, entry: Entry) -> None:
        """Makes an entry durable, then true."""
        await self._log.commit(_ENCODER.encode(entry), lambda: self._apply(entry))

    def _apply(self, entry: Entry) -> None:
        if isinstance(entry, Created):
            self.replicas[entry.extent] = CatalogReplica(entry.extent, entry.replicas, entry.made)
        elif isinstance(entry, Flushed):
            for extent, length in entry.lengths:
                known = self.replicas.get(extent)
                if known is not None and known.sealed is None:  # notes of flushes may overtake one another
                    known.flushed = max(known.flushed, length)
        elif isinstance(entry, Truncation):
            self.replicas[entry.extent].flushed = entry.length
        elif isinstance(entry, Sealed):
            replica = self.replicas[entry.extent]
            replica.sealed = replica.flushed = entry.length
        elif isinstance(entry, Deleted):
            self.replicas.pop(entry.extent, None)
        elif isinstance(entry, Doubtful):
            for extent in entry.extents:
                if extent in self.replicas:
                    self.replicas[extent].doubtful = True
                    self.replicas[extent].damaged |= entry.damaged
        else:
            self.journal = entry.journal

    def _snapshot(self) -> Iterable[bytes]:
        return map(_ENCODER.encode, self._entries())

    def _entries(self) -> Iterable[Entry]:
        if self.journal:
            yield JournalMade(self.journal)
        for replica in self.replicas.values():
            yield Created(replica.extent, replica.replicas, replica.made)
            if replica.sealed is not None:
                yield Sealed(replica.extent, replica.sealed)
            elif replica.flushed:
                yield Flushed(((replica.extent, replica.flushed),))
            if replica.doubtful and replica.sealed is None:
                yield Doubtful((replica.extent,), replica.damaged)
