"""The embedded engine as a :class:`~pkadvisor.table.store.TableStore`: operations one after the other, in any world."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar, runtime_checkable

from pkadvisor.engine.tables.table_service import TableService
from pkadvisor.table.store import Operation, Outcome

T = TypeVar("T")


class Runner(Protocol):
    """What both worlds can do for somebody outside of them."""

    def now_ns(self) -> int:
        """Time since the world began, in ns."""

    def run(self, coroutine: Coroutine[Any, Any, T], node: str = "") -> T:
        """Runs a coroutine, and the world around it, until it ends."""


@runtime_checkable
class VirtualTime(Protocol):
    """A world whose time goes on only when it is told to."""

    def run_until(self, time_ns: int) -> None:
        """Runs the world until a moment."""


class EmbeddedStore:
    """A table store in this process. ``at_ms`` counts from its making; real time goes its own way.

    ``latency_ns`` of an outcome is the world's time from the later of arrival and the end of the operation before, plus
    what servers counted for queues and service without waiting.
    """

    def __init__(self, world: Runner, service: TableService, node: str = "front-end-0") -> None:
        self._world = world
        self._service = service
        self._node = node
        self._began_ns = world.now_ns()
        self._virtual = world if isinstance(world, VirtualTime) else None

    def execute(self, operation: Operation, at_ms: float) -> Outcome:
        """The operation arrives at ``at_ms``; what came of it."""
        world, service = self._world, self._service
        if self._virtual is not None:
            self._virtual.run_until(self._began_ns + round(at_ms * 1_000_000))
        start_ns = world.now_ns()
        outcome = world.run(service.execute(operation), self._node)
        waited_ns = world.now_ns() - start_ns
        if service.tables.clearing:
            world.run(service.maintain(), self._node)
        return _later(outcome, waited_ns) if waited_ns else outcome


def _later(outcome: Outcome, waited_ns: int) -> Outcome:
    """The outcome with more latency; ``dataclasses.replace`` takes several times as long."""
    return Outcome(
        outcome.status,
        outcome.code,
        outcome.message,
        outcome.entities,
        outcome.tables,
        outcome.continuation,
        outcome.etags,
        outcome.failed_index,
        outcome.examined,
        outcome.returned_bytes,
        outcome.latency_ns + waited_ns,
    )
