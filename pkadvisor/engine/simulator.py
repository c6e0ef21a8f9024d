"""Virtual time, seeded chance, injected faults: the world in which the engine is proved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from hashlib import blake2b
from random import Random
from typing import Any, TypeVar

from pkadvisor.engine.simulated_disk import SimulatedDisk
from pkadvisor.engine.tasks import Future, Scheduler, Task
from pkadvisor.engine.world import EngineError, Unreachable

T = TypeVar("T")
TICKS_AT_START = 638_000_000_000_000_000  # some day in 2022: simulated days look like real ones


class Simulator(Scheduler):
    """A whole stamp in one thread, as fast as Python goes, the same for the same seed."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self.seed = seed
        self._now_ns = 0
        self._streams: dict[str, Random] = {}
        self._boots: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {}
        self._services: dict[tuple[str, str], object] = {}
        self._disks: dict[tuple[str, str], SimulatedDisk] = {}
        self.counts: Counter[str] = Counter()
        self._hash = blake2b(digest_size=16)

    # ------------------------------------------------------------------------------------------ time and chance

    def now_ns(self) -> int:
        """Virtual time in ns."""
        return self._now_ns

    def clock_ns(self, node: str) -> int:
        """A node's own clock."""
        return self._now_ns

    def ticks(self, node: str) -> int:
        """A node's time of day."""
        return TICKS_AT_START + self.clock_ns(node) // 100

    def random(self, purpose: str) -> Random:
        """The stream of chance of one purpose."""
        stream = self._streams.get(purpose)
        if stream is None:
            digest = blake2b(f"{self.seed}/{purpose}".encode(), digest_size=8).digest()
            stream = self._streams[purpose] = Random(int.from_bytes(digest, "big"))
        return stream

    def event(self, name: str, *facts: object) -> None:
        """Adds to the hash of the run and counts."""
        self.counts[name] += 1
        self._hash.update(f"{self._now_ns} {name} {facts!r}\n".encode())

    def event_hash(self) -> str:
        """The hash of everything that happened so far."""
        return self._hash.hexdigest()

    # ------------------------------------------------------------------------------------------ running

    def run(self, coroutine: Coroutine[Any, Any, T], node: str = "") -> T:
        """Runs a task, and the world around it, until it ends."""
        task = self.spawn(coroutine, node)
        done: Future[None] = Future()
        task.when_done(lambda: done.resolve(None))
        while not done.done:
            if not self._advance():
                raise AssertionError("nothing will ever happen again, and the task still waits")
        return task.result()

    def run_until(self, time_ns: int) -> None:
        """Runs the world until a moment."""
        self._run_ready()
        while (due := self._due()) is not None and due <= time_ns:
            self._advance()
        self._now_ns = max(self._now_ns, time_ns)

    def _advance(self) -> bool:
        self._run_ready()
        if self.unhandled:
            raise self.unhandled[0]
        due = self._due()
        if due is None:
            return False
        self._now_ns = max(self._now_ns, due)
        self._fire()
        self._run_ready()
        return True

    async def gather(self, coroutines: Sequence[Coroutine[Any, Any, T]], node: str) -> list[T | EngineError]:
        """Runs all beside each other."""

        async def guarded(coroutine: Coroutine[Any, Any, T]) -> T | EngineError:
            try:
                return await coroutine
            except EngineError as error:
                return error

        tasks = [self.spawn(guarded(coroutine), node) for coroutine in coroutines]
        return [await task for task in tasks]

    # ------------------------------------------------------------------------------------------ nodes and network

    def add_node(self, name: str, boot: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """A node and how it starts."""
        self._boots[name] = boot

    def start(self, name: str) -> Task[None]:
        """Starts a node."""
        return self.spawn(self._boots[name](), name)

    def register(self, node: str, service: str, instance: object) -> None:
        """Offers a service."""
        self._services[node, service] = instance

    async def call(self, source: str, target: str, service: str, method: str, *arguments: Any) -> Any:
        """Calls a service on another node."""
        instance = self._services.get((target, service))
        if instance is None:
            raise Unreachable(f"{target} is down")
        task = self.spawn(getattr(instance, method)(*arguments), target)
        return await task

    def disk(self, node: str, device: str) -> SimulatedDisk:
        """A device of a node."""
        return self._disks.setdefault((node, device), SimulatedDisk())
