"""What the stream layer promised: every acknowledged append can be read where it was put, while a stream holds it (S1).

Also whether all copies of a sealed extent are as long as its seal says (S3), and whether a stream takes what an earlier
owner sends after it was taken over (P3).
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from pkadvisor.engine.stream.access import Location
from pkadvisor.engine.stream.client import StreamClient
from pkadvisor.engine.stream.topology import StreamLayer
from pkadvisor.engine.worlds.world import EngineError

READ_MAX = 400
"""So many appends are read at the end; of more of them every n-th."""


class NotingClient(StreamClient):
    """Streams as a node sees them; what was acknowledged to it is noted."""

    noted: dict[Location, bytes]
    owners: dict[str, int]
    under_way: dict[str, int]

    async def acquire(self, name: str, epoch: int) -> None:
        """Takes a stream over; from now on nothing of an earlier owner may be acknowledged that was sent later (P3)."""
        await super().acquire(name, epoch)
        self.owners[name] = max(epoch, self.owners.get(name, 0))

    async def append(self, name: str, blocks: Sequence[bytes], epoch: int) -> list[Location]:
        """Appends, and notes where each block lies."""
        owner = self.owners.get(name, 0)
        self.under_way[self._node] = self.under_way.get(self._node, 0) + 1
        try:
            places = await super().append(name, blocks, epoch)
        finally:
            self.under_way[self._node] -= 1
        assert owner <= epoch, f"P3: {name} belongs to {owner}, and took what {epoch} appended"
        for place, block in zip(places, blocks, strict=True):
            before = self.noted.setdefault(place, _digest(block))
            assert before == _digest(block), f"S1: {place} was given to two appends"
        return places


class Acknowledged:
    """All that was acknowledged in a run; it stands in place of the stream layer, and gives clients that take notes."""

    def __init__(self, layer: StreamLayer) -> None:
        self._layer = layer
        self._noted: dict[Location, bytes] = {}
        self._owners: dict[str, int] = {}
        self.under_way: dict[str, int] = {}
        """Appends that a node waits for."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._layer, name)

    def client(self, node: str) -> StreamClient:
        """Streams as a node sees them."""
        layer = self._layer
        client = NotingClient(layer.world, node, layer.manager_name, layer.options)
        client.noted, client.owners, client.under_way = self._noted, self._owners, self.under_way
        self.under_way[node] = 0
        return client

    async def read_back(self) -> int:
        """Reads it; how much was read. The world must be at rest."""
        layer, manager = self._layer, self._layer.manager
        assert manager is not None
        streams = StreamClient(layer.world, "judge", layer.manager_name, layer.options)
        extents = manager.directory.extents
        held = [place for place in self._noted if place.extent in extents and extents[place.extent].references]
        chosen = held[:: 1 + len(held) // READ_MAX]
        for place in chosen:
            info = extents.get(place.extent)
            if info is None or not info.references:
                continue  # dropped meanwhile
            try:
                block = await streams.read(place)
            except EngineError as error:
                if place.extent in extents and extents[place.extent].references:
                    raise AssertionError(f"S1: acknowledged, and not to be read: {place}: {error!r}") from error
                continue
            assert _digest(block) == self._noted[place], f"S1: other bytes than those acknowledged lie at {place}"
        return len(chosen)

    def check_lengths(self) -> None:
        """Every sealed copy is as long as its seal (S3)."""
        manager = self._layer.manager
        if manager is None:
            return
        for name, node in self._layer.extent_nodes.items():
            for extent, replica in node.replicas.items():
                info = manager.directory.extents.get(extent)
                if info is None or info.sealed is None or replica.sealed is None or replica.lost:
                    continue
                assert replica.sealed == info.sealed, f"S3: {name} ends extent {extent} at {replica.sealed}"


def _digest(block: bytes) -> bytes:
    return blake2b(block, digest_size=8).digest()
