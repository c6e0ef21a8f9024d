"""What a partition server asks of the stream layer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple, Protocol

from pkadvisor.engine.worlds.world import EngineError
from pkadvisor.values import dataclass


class Location(NamedTuple):
    """Where a block lies: extent, offset of the block in it, and bytes of the block with its header."""

    extent: int
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class NewStream:
    """A stream that a MultiModify makes: the extents of older streams one after the other, sealed; and its owner.

    An extent that several of them hold stands in it once, where it came first.
    """

    name: str
    sources: tuple[str, ...]
    epoch: int


@dataclass(frozen=True, slots=True)
class MultiModify:
    """Several changes of streams as one, all or none (patent abstract *Atomic multiple modifications of streams*).

    The last extents of all sources are sealed inside it, so that no extent is open in two streams. ``epoch`` is the
    owner that asks: a later owner of a source refuses it (Fenced). Doing it twice does nothing (same ``id``).
    """

    id: str
    epoch: int
    make: tuple[NewStream, ...] = ()
    delete: tuple[str, ...] = ()


class Streams(Protocol):
    """Streams as one node sees them. Appends are durable on three replicas when they return."""

    async def create(self, name: str, epoch: int) -> None:
        """Makes an empty stream owned by ``epoch``. StreamExists, LimitReached."""

    async def acquire(self, name: str, epoch: int) -> None:
        """Makes ``epoch`` the owner and seals the last extent: no append of an earlier owner is acknowledged any more.

        Fenced where a later owner has it already.
        """

    async def append(self, name: str, blocks: Sequence[bytes], epoch: int) -> list[Location]:
        """Appends blocks, all or none; where they lie. Tries again on new extents until it is done.

        After an error of the network a block may lie there twice. Fenced: nothing was acknowledged.
        """

    async def read(self, location: Location) -> bytes:
        """The block at a location that an append returned, from any replica that answers in time."""

    def records(self, name: str, start: Location | None = None) -> AsyncIterator[tuple[Location, bytes]]:
        """All blocks of a stream from a location on, in order, for the load of a partition: after ``acquire`` the
        same whichever replica serves."""

    async def exists(self, name: str) -> bool:
        """Whether the stream is there."""

    async def delete(self, name: str) -> None:
        """Removes a stream; its extents go when no other stream holds them. A missing one is no error."""

    async def drop_before(self, name: str, start: Location) -> None:
        """Takes the extents before that of ``start`` out of the stream (a log that a checkpoint covers)."""

    async def concatenate(self, target: str, sources: Sequence[str], epoch: int) -> None:
        """Adds the extents of the sources, sealed, to the end of the target; only pointers move."""

    async def multi_modify(self, change: MultiModify) -> None:
        """Carries out a change of several streams as one."""


# -- What the stream layer answers when it cannot.


class StreamError(EngineError):
    """The stream layer cannot do it."""


class ExtentSealed(StreamError):  # noqa: N818
    """The extent takes no more appends."""


class ReplicaFailed(StreamError):  # noqa: N818
    """A replica did not take the append: it may be durable on some and must be sealed or tried again."""


class Fenced(StreamError):  # noqa: N818
    """The stream belongs to a later owner."""


class StreamMissing(StreamError):  # noqa: N818
    """No stream of that name."""


class StreamExists(StreamError):  # noqa: N818
    """A stream of that name is there already."""


class TooSlow(StreamError):  # noqa: N818
    """The node foresees that it cannot read in time."""


class NotThere(StreamError):  # noqa: N818
    """The node does not have the extent, or not so many bytes of it."""


class LimitReached(StreamError):  # noqa: N818
    """As many streams or extents as there may be."""
