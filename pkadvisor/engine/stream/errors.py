"""What the stream layer answers when it cannot.

StreamError
├── ExtentSealed     the extent takes no more appends: go on in the next one
├── ReplicaFailed    a replica did not take the append; the client seals the extent and goes on in a new one
├── Fenced           a stream now belongs to a later owner: this one must stop serving
├── StreamMissing    no stream of that name
├── StreamExists     a stream of that name is there already
├── TooSlow          an extent node foresees that it cannot read in time: ask another replica
├── NotThere         the node does not have the extent, or not so many bytes of it
└── LimitReached     the stream manager holds as many streams or extents as it may
"""

from __future__ import annotations

from pkadvisor.engine.worlds.world import EngineError


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
