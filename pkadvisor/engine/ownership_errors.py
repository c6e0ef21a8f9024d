"""What the servers of range partitions, their manager and the lock service answer when they cannot.

OwnershipError
├── NotServing        this server does not serve that range at that epoch; nothing was carried out: ask the map again
├── NotSplittable     no boundary of a PartitionKey would divide the range to any use
├── NotLeader         this manager is not the leader, or its leadership is over
├── StaleLeader       the command comes from a manager that is no longer the leader
├── LockHeld          somebody else holds the lock
└── LeaseLost         the lease is over: whoever held it must stop what it allowed
"""

from __future__ import annotations

from pkadvisor.engine.worlds.world import EngineError


class OwnershipError(EngineError):
    """Who may do what has changed, or forbids it."""


class NotServing(OwnershipError):  # noqa: N818
    """The server does not serve that range at that epoch; nothing was carried out."""


class NotSplittable(OwnershipError):  # noqa: N818
    """No boundary of a PartitionKey would divide the range to any use."""


class NotLeader(OwnershipError):  # noqa: N818
    """This manager does not lead."""


class StaleLeader(OwnershipError):  # noqa: N818
    """A later manager leads."""


class LockHeld(OwnershipError):  # noqa: N818
    """Somebody else holds the lock."""


class LeaseLost(OwnershipError):  # noqa: N818
    """The lease is over."""
