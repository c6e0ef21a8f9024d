"""What the stream layer promised: every acknowledged append can be read where it was put, while a stream holds it (S1).

Also whether all copies of a sealed extent are as long as its seal says (S3), and whether a stream takes what an earlier
owner sends after it was taken over (P2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

from pkadvisor.engine.stream.access import Location, MultiModify
from pkadvisor.engine.stream.client import StreamClient
from pkadvisor.engine.stream.topology import StreamLayer
from pkadvisor.engine.worlds.world import EngineError

LATE_MAX = 20
STOP_NS = 5_000_000
READ_MAX = 400
"""So many appends are read at the end; of more of them every n-th."""


class NotingClient(StreamClient):
    """Streams as a node sees them; what was acknowledged to it is noted."""

    noted: dict[Location, bytes]
    owners: dict[str, int]
    under_way: dict[str, int]
    stops: dict[str, bool]
    directory: Callable[[], Any]

    async def acquire(self, name: str, epoch: int) -> None:
        """Takes a stream over: its last extent is sealed then (P3), and what an earlier owner sends is refused (P2)."""
        await super().acquire(name, epoch)
        self.owners[name] = max(epoch, self.owners.get(name, 0))
        directory = self.directory()
        stream = directory.streams.get(name) if directory is not None else None
        if stream is not None and stream.epoch == epoch and stream.extents:
            assert directory.extents[stream.extents[-1]].sealed is not None, f"P3: {name} was taken over unsealed"

    async def append(self, name: str, blocks: Sequence[bytes], epoch: int) -> list[Location]:
        """Appends, and notes where each block lies."""
        owner = self.owners.get(name, 0)
        self.under_way[self._node] = self.under_way.get(self._node, 0) + 1
        try:
            places = await super().append(name, blocks, epoch)
        finally:
            self.under_way[self._node] -= 1
        assert owner <= epoch, f"P2: {name} belongs to {owner}, and took what {epoch} appended"
        for place, block in zip(places, blocks, strict=True):
            before = self.noted.setdefault(place, _digest(block))
            assert before == _digest(block), f"S1: {place} was given to two appends"
        return places

    async def multi_modify(self, change: MultiModify) -> None:
        """Several changes of streams at once; a node that is to be stopped before them has a moment in which it is."""
        if self._node in self.stops:
            self.stops[self._node] = True
            await self._world.sleep(STOP_NS)
        owners = {source: self.owners.get(source, 0) for new in change.make for source in new.sources}
        await super().multi_modify(change)
        late = [name for name, owner in owners.items() if owner > change.epoch]
        assert not late, f"P2: {late} belong to later owners than {change.epoch}, which changed them"


class Acknowledged:
    """All that was acknowledged in a run; it stands in place of the stream layer, and gives clients that take notes."""

    def __init__(self, layer: StreamLayer) -> None:
        self._layer = layer
        self._noted: dict[Location, bytes] = {}
        self._owners: dict[str, int] = {}
        self._partly: dict[int, None] = {}
        layer.world.on_event(self.heard)  # type: ignore[attr-defined]
        self.under_way: dict[str, int] = {}
        """Appends that a node waits for."""
        self.stops: dict[str, bool] = {}
        """Nodes that are to be stopped before their next change of streams; whether one is there."""

    def heard(self, _now_ns: int, event: str, facts: tuple[Any, ...]) -> None:
        """Listens to seals: where all replicas answered, the seal lies beyond none of them (S3)."""
        if event.startswith("seal with "):
            self._partly[facts[0]] = None
        elif event == "sealed":
            extent, length = facts
            info = self._layer.manager.directory.extents.get(extent) if self._layer.manager is not None else None
            if extent in self._partly or info is None:
                self._partly.pop(extent, None)
                return
            for name in info.replicas:
                replica = self._layer.extent_nodes[name].replicas.get(extent)
                if replica is not None and replica.frozen and not replica.lost and not replica.uncertain:
                    assert length <= replica.durable, f"S3: {length} lies beyond extent {extent} on {name}"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._layer, name)

    def client(self, node: str) -> StreamClient:
        """Streams as a node sees them."""
        layer = self._layer
        client = NotingClient(layer.world, node, layer.manager_name, layer.options)
        client.noted, client.owners, client.under_way = self._noted, self._owners, self.under_way
        client.directory = lambda: None if layer.manager is None else layer.manager.directory
        client.stops = self.stops
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

    async def refuse_the_late(self) -> int:
        """Sends an append of an earlier owner to each stream that has a later one; how many were refused (P2)."""
        streams = self.client("judge")
        refused = 0
        for name, owner in sorted(self._owners.items())[:LATE_MAX]:
            try:
                await streams.append(name, [b"late"], owner - 1)  # the client asserts that it is not taken
            except EngineError:
                refused += 1
        return refused

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
