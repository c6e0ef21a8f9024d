"""The network of the simulator: calls as two messages each, which may be late, lost, doubled or kept from passing.

    caller ──request──► target: handler task ──answer──► caller
       │  lost, late, doubled, blocked, clogged  │  the same
       └── no answer within the time-out: Unreachable; the handler may still run, now or later, once or twice

A blocked pair of nodes loses every message; a clogged one holds them back until the clog ends.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from random import Random
from types import MappingProxyType
from typing import Any, Protocol

import msgspec

from pkadvisor.engine.worlds.faults import NetworkFaults, draw_ns, happens
from pkadvisor.engine.worlds.tasks import Future, Task, Timer
from pkadvisor.engine.worlds.world import EngineError, Unreachable

SECOND = 1_000_000_000
TIMEOUT_NS = 5 * SECOND
TIMEOUTS = {"partitions": 30 * SECOND}  # a request may wait for several appends, each with its own time


class NetworkHost(Protocol):
    """What the network needs of its world."""

    def now_ns(self) -> int:
        """Virtual time."""

    def random(self, purpose: str) -> Random:
        """A stream of chance."""

    def at(self, time_ns: int, callback: Callable[[], None]) -> Timer:
        """A timer."""

    def cancel(self, timer: Timer) -> None:
        """Takes a timer back."""

    def spawn(self, coroutine: Coroutine[Any, Any, Any], node: str = "") -> Task[Any]:
        """A task on a node."""

    def service(self, node: str, service: str) -> object | None:
        """A registered service of a node that is up."""

    def event(self, name: str, *facts: object) -> None:
        """Notes."""

    async def alive(self, node: str) -> None:
        """Never returns to a task whose node has crashed."""


class SimulatedNetwork:
    """Links between nodes and the calls on them."""

    def __init__(self, host: NetworkHost, faults: NetworkFaults, timeouts: Mapping[str, int] | None = None) -> None:
        self._host = host
        self._chance = host.random("network")
        self._timeouts: dict[str, int] = {**TIMEOUTS, **(timeouts or {})}
        self._blocked: dict[tuple[str, str], int] = {}
        self._clogged: dict[tuple[str, str], int] = {}
        self._pending: dict[Future[Any], str] = {}
        self.faults = faults
        self.messages = 0
        self.check_values = False

    # ------------------------------------------------------------------------------------------------ calls

    def set_timeout(self, service: str, timeout_ns: int) -> None:
        """How long callers wait for a service ("partitions") or one method of it ("partitions.handle")."""
        self._timeouts[service] = timeout_ns

    def timeout_ns(self, service: str, method: str) -> int:
        """How long a caller waits."""
        timeouts = self._timeouts
        own = timeouts.get(f"{service}.{method}")
        return own if own is not None else timeouts.get(service, timeouts.get("", TIMEOUT_NS))

    async def call(self, source: str, target: str, service: str, method: str, arguments: tuple[Any, ...]) -> Any:
        """One call; Unreachable where no answer came in time."""
        host = self._host
        await host.alive(source)
        if self.check_values:
            assert_immutable(arguments, f"an argument of {service}.{method}")
        if source == target:
            instance = host.service(target, service)
            if instance is None:
                raise Unreachable(f"{target} has no service {service}")
            return await getattr(instance, method)(*arguments)
        reply: Future[Any] = Future()
        self._pending[reply] = target
        timeout_ns = self.timeout_ns(service, method)

        def expire() -> None:
            if not reply.done:
                self._host.event("call timed out", service, method)
                reply.fail(Unreachable(f"{target} did not answer {service}.{method} in {timeout_ns} ns"))

        timer = host.at(host.now_ns() + timeout_ns, expire)
        self._send(source, target, lambda: self._arrive(source, target, service, method, arguments, reply))
        try:
            return await reply
        finally:
            host.cancel(timer)
            self._pending.pop(reply, None)

    def _arrive(
        self, source: str, target: str, service: str, method: str, arguments: tuple[Any, ...], reply: Future[Any]
    ) -> None:
        instance = self._host.service(target, service)
        if instance is not None:
            self._host.spawn(self._handle(source, target, instance, method, arguments, reply), target)
        elif self.faults.refuse_quickly:
            self._answer(target, source, reply, None, Unreachable(f"{target} is down"))

    async def _handle(
        self, source: str, target: str, instance: object, method: str, arguments: tuple[Any, ...], reply: Future[Any]
    ) -> None:
        try:
            value = await getattr(instance, method)(*arguments)
        except EngineError as error:
            self._answer(target, source, reply, None, error)
        except Exception as error:  # not a failure but a mistake: it ends the run, whoever still waits
            if reply.done or not reply.awaited:
                raise
            reply.fail(error)
        else:
            if self.check_values:
                assert_immutable(value, f"the result of {type(instance).__name__}.{method}")
            self._answer(target, source, reply, value, None)

    def _answer(self, source: str, target: str, reply: Future[Any], value: object, error: EngineError | None) -> None:
        def arrive() -> None:
            if reply.done:
                return
            if error is not None:
                reply.fail(error)
            else:
                reply.resolve(value)

        self._send(source, target, arrive)

    def reset(self, node: str) -> None:
        """Callers of a node that has just crashed learn it at once, where the network tells."""
        if not self.faults.refuse_quickly:
            return
        for reply in [reply for reply, target in self._pending.items() if target == node]:
            if not reply.done:
                reply.fail(Unreachable(f"{node} went down"))

    # ------------------------------------------------------------------------------------------------ messages

    def _send(self, source: str, target: str, arrive: Callable[[], None]) -> None:
        self.messages += 1
        faults = self.faults
        if faults.quiet and not self._blocked and not self._clogged:
            arrive()
            return
        self._send_one(source, target, arrive)
        if happens(self._chance, faults.duplicate_per_million):
            self._host.event("message doubled")
            self._send_one(source, target, arrive)

    def _send_one(self, source: str, target: str, arrive: Callable[[], None]) -> None:
        if happens(self._chance, self.faults.drop_per_million):
            self._host.event("message lost")
            return
        delay_ns = draw_ns(self._chance, self.faults.delay_ns_min, self.faults.delay_ns_mean)
        now = self._host.now_ns()
        due = max(now, self._clogged.get((source, target), 0)) + delay_ns

        def deliver() -> None:
            if (source, target) in self._blocked:
                self._host.event("message blocked")
            else:
                arrive()

        if due == now:
            deliver()
        else:
            self._host.at(due, deliver)

    # ------------------------------------------------------------------------------------------------ links

    def block(self, sources: Collection[str], targets: Collection[str], both_ways: bool = True) -> None:
        """Loses every message from the sources to the targets, and back. Blocks add up; ``heal`` ends them all."""
        for source, target in self._pairs(sources, targets, both_ways):
            self._blocked[source, target] = self._blocked.get((source, target), 0) + 1

    def unblock(self, sources: Collection[str], targets: Collection[str], both_ways: bool = True) -> None:
        """Takes one ``block`` back; one that was healed is no error."""
        for pair in self._pairs(sources, targets, both_ways):
            if self._blocked.get(pair, 0) > 1:
                self._blocked[pair] -= 1
            else:
                self._blocked.pop(pair, None)

    def partition(self, *groups: Sequence[str]) -> None:
        """Lets groups of nodes reach one another no more."""
        for position, group in enumerate(groups):
            for other in groups[position + 1 :]:
                self.block(group, other)

    def clog(self, sources: Collection[str], targets: Collection[str], for_ns: int, both_ways: bool = True) -> None:
        """Holds messages back for a while."""
        until = self._host.now_ns() + for_ns
        for pair in self._pairs(sources, targets, both_ways):
            self._clogged[pair] = max(until, self._clogged.get(pair, 0))

    def heal(self) -> None:
        """Ends every block and clog. What a clog holds back still comes at its time."""
        self._blocked.clear()
        self._clogged.clear()

    def reaches(self, source: str, target: str) -> bool:
        """Whether messages pass."""
        return (source, target) not in self._blocked

    @staticmethod
    def _pairs(sources: Collection[str], targets: Collection[str], both_ways: bool) -> list[tuple[str, str]]:
        forth = [(source, target) for source in sources for target in targets if source != target]
        return list(dict.fromkeys(forth + [(target, source) for source, target in forth] if both_ways else forth))


def assert_immutable(value: object, what: str, inside: bool = False) -> None:
    """Fails where a value that crosses the network could be changed by one side under the hands of the other.

    A dictionary inside a frozen value passes: whoever freezes a value promises not to touch it.
    """
    if value is None or isinstance(value, bool | int | float | str | bytes | Enum | BaseException):
        return
    if isinstance(value, tuple | frozenset | MappingProxyType) or (inside and isinstance(value, dict)):
        for part in value.values() if isinstance(value, Mapping) else value:
            assert_immutable(part, what, inside)
        return
    if is_dataclass(value) and getattr(value, "__dataclass_params__").frozen:  # noqa: B009
        for field in fields(value):
            assert_immutable(getattr(value, field.name), what, inside=True)
        return
    if isinstance(value, msgspec.Struct) and value.__struct_config__.frozen:
        for name in value.__struct_fields__:
            assert_immutable(getattr(value, name), what, inside=True)
        return
    raise AssertionError(f"{what} can be changed: {type(value).__name__}")
