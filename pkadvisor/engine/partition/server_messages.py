"""What goes between partition servers, their manager and the front ends."""

from __future__ import annotations

from pkadvisor.engine.partition.balancer import RangeLoad
from pkadvisor.values import dataclass

SERVICE = "partitions"
MAP_SERVICE = "map"


@dataclass(frozen=True, slots=True)
class Command:
    """Who commands (the manager's leader epoch, so that a deposed one is refused) and which life of the server."""

    leader: int
    session: int


@dataclass(frozen=True, slots=True)
class Served:
    """A range that a server serves, or is about to (``ready`` is false: it is being loaded, split or merged)."""

    number: int
    epoch: int
    ready: bool


@dataclass(frozen=True, slots=True)
class PlacedRange:
    """A range as a server has it after a command."""

    number: int
    low: bytes
    high: bytes | None
    epoch: int


@dataclass(frozen=True, slots=True)
class ServerReport:
    """The answer to a heartbeat: what is served, and the loads of the last whole window."""

    session: int
    served: tuple[Served, ...]
    loads: tuple[RangeLoad, ...]
