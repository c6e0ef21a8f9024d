"""What the stream manager knows, as a pure state machine: streams, their extents, where those lie.

    extent:  open ──Sealed──► sealed (its length is written once) ──no stream holds it──► Collected
    stream:  extents in order, of which only the last may be open; ``epoch`` is its owner

Commands were judged before they are logged: ``apply`` of a logged command always works, and gives the same state again.
It knows nothing of blocks (SOSP 2011, 4.2).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from pkadvisor.engine.stream.access import MultiModify

DONE_KEPT = 20_000

# An earlier version could keep a sealed extent as fragments of an erasure code. The tag "code" of its command stays
# reserved, and ``coded``, which named the code, takes nothing but "": such a store is refused.


class StreamInfo(msgspec.Struct, array_like=True):
    """A stream."""

    epoch: int
    extents: list[int]


class ExtentInfo(msgspec.Struct, array_like=True):
    """An extent; the first of ``replicas`` is its primary while it is open."""

    replicas: tuple[str, ...]
    sealed: int | None = None
    references: int = 0
    coded: Literal[""] = ""


class ReserveNumbers(msgspec.Struct, frozen=True, array_like=True, tag="reserve"):
    """Extent numbers below are given away, used or not: no number is ever used twice."""

    below: int


class CreateStream(msgspec.Struct, frozen=True, array_like=True, tag="create"):
    """A new stream."""

    id: str
    name: str
    epoch: int


class OwnStream(msgspec.Struct, frozen=True, array_like=True, tag="own"):
    """A later owner."""

    name: str
    epoch: int


class AddExtent(msgspec.Struct, frozen=True, array_like=True, tag="extent"):
    """A new last extent, open."""

    name: str
    extent: int
    replicas: tuple[str, ...]


class SealExtent(msgspec.Struct, frozen=True, array_like=True, tag="seal"):
    """The decision: the extent ends at ``length``."""

    extent: int
    length: int


class DropExtents(msgspec.Struct, frozen=True, array_like=True, tag="drop"):
    """Takes extents out of the front of a stream, up to the one that stays first."""

    name: str
    first: int


class AddSources(msgspec.Struct, frozen=True, array_like=True, tag="concatenate"):
    """Adds the extents of other streams."""

    id: str
    target: str
    sources: tuple[str, ...]


class ModifyStreams(msgspec.Struct, frozen=True, array_like=True, tag="modify"):
    """A MultiModify."""

    change: MultiModify


class DeleteStream(msgspec.Struct, frozen=True, array_like=True, tag="delete"):
    """Removes a stream."""

    id: str
    name: str


class PlaceExtent(msgspec.Struct, frozen=True, array_like=True, tag="place"):
    """A sealed extent lies elsewhere now."""

    extent: int
    replicas: tuple[str, ...]
    coded: Literal[""] = ""


class CollectExtent(msgspec.Struct, frozen=True, array_like=True, tag="collect"):
    """An extent that no stream holds is forgotten."""

    extent: int


Command: TypeAlias = (
    ReserveNumbers
    | CreateStream
    | OwnStream
    | AddExtent
    | SealExtent
    | DropExtents
    | AddSources
    | ModifyStreams
    | DeleteStream
    | PlaceExtent
    | CollectExtent
)


class Directory(msgspec.Struct, array_like=True, tag="directory"):
    """The state; mutable, changed by ``apply`` alone."""

    streams: dict[str, StreamInfo] = msgspec.field(default_factory=dict)
    extents: dict[int, ExtentInfo] = msgspec.field(default_factory=dict)
    reserved_below: int = 1
    done: dict[str, None] = msgspec.field(default_factory=dict)

    def apply(self, command: Command) -> None:
        """Carries out a command."""
        if isinstance(command, AddExtent):
            self.extents[command.extent] = ExtentInfo(command.replicas)
            self._hold(self.streams[command.name], command.extent)
        elif isinstance(command, SealExtent):
            info = self.extents[command.extent]
            assert info.sealed is None or info.sealed == command.length, "a sealed length is written once"
            info.sealed = command.length
        elif isinstance(command, ReserveNumbers):
            self.reserved_below = command.below
        elif isinstance(command, CreateStream):
            self.streams[command.name] = StreamInfo(command.epoch, [])
            self._mark(command.id)
        elif isinstance(command, OwnStream):
            stream = self.streams[command.name]
            assert command.epoch >= stream.epoch, "owners follow one another upwards"
            stream.epoch = command.epoch
        elif isinstance(command, DropExtents):
            stream = self.streams[command.name]
            first_left = stream.extents.index(command.first)
            for extent in stream.extents[:first_left]:
                self.extents[extent].references -= 1
            del stream.extents[:first_left]
        elif isinstance(command, AddSources):
            for source in command.sources:
                for extent in self.streams[source].extents:
                    self._hold(self.streams[command.target], extent)
            self._mark(command.id)
        elif isinstance(command, ModifyStreams):
            self._modify(command.change)
        elif isinstance(command, DeleteStream):
            self._delete(command.name)
            self._mark(command.id)
        elif isinstance(command, PlaceExtent):
            info = self.extents[command.extent]
            assert info.sealed is not None, "only a sealed extent moves"
            info.replicas = command.replicas
        else:
            assert not self.extents[command.extent].references, "what a stream holds is not collected"
            del self.extents[command.extent]

    def unreferenced(self) -> list[int]:
        """Extents that no stream holds."""
        return [extent for extent, info in self.extents.items() if not info.references]

    def last(self, name: str) -> int | None:
        """The last extent of a stream."""
        extents = self.streams[name].extents
        return extents[-1] if extents else None

    def check(self) -> None:
        """AssertionError where references or open extents are not as they must be (S4, S9)."""
        counted: dict[int, int] = {}
        open_in: dict[int, int] = {}
        for name, stream in self.streams.items():
            for position, extent in enumerate(stream.extents):
                counted[extent] = counted.get(extent, 0) + 1
                if self.extents[extent].sealed is None:
                    assert position == len(stream.extents) - 1, f"{name}: only the last extent is open"
                    open_in[extent] = open_in.get(extent, 0) + 1
        for extent, info in self.extents.items():
            assert info.references == counted.get(extent, 0), f"extent {extent}: references are counted"
            assert open_in.get(extent, 0) <= 1, f"extent {extent}: open in one stream only"
            assert extent < self.reserved_below

    def _hold(self, stream: StreamInfo, extent: int) -> None:
        stream.extents.append(extent)
        self.extents[extent].references += 1

    def _delete(self, name: str) -> None:
        stream = self.streams.pop(name, None)
        for extent in stream.extents if stream is not None else ():
            self.extents[extent].references -= 1

    def _modify(self, change: MultiModify) -> None:
        made: list[tuple[str, StreamInfo]] = []
        for new in change.make:
            stream = StreamInfo(new.epoch, [])
            # Halves of a stream that are joined again share extents: held twice they double with every round.
            shared = dict.fromkeys(extent for source in new.sources for extent in self.streams[source].extents)
            for extent in shared:
                self._hold(stream, extent)
            made.append((new.name, stream))
        for name in change.delete:
            self._delete(name)
        for name, stream in made:
            self.streams[name] = stream
        self._mark(change.id)

    def _mark(self, identity: str) -> None:
        self.done[identity] = None
        if len(self.done) > DONE_KEPT:
            del self.done[next(iter(self.done))]
