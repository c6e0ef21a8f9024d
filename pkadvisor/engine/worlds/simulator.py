"""Virtual time, seeded chance, injected faults: the world in which the engine is proved.

    node:   down ──start──► up ──pause──► paused ──resume──► up
              ▲              │               │
              └────crash─────┴───────────────┘   tasks end, services and memory are forgotten, disks stay (see below)

A crash keeps synced bytes; what was written and not synced is kept, lost or torn. The same seed and the same calls
give the same ``event_hash``.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from hashlib import blake2b
from random import Random
from typing import Any, TypeVar

from pkadvisor.engine.worlds.faults import Atlas, ClockFaults, CrashPoint, DiskFaults, NetworkFaults
from pkadvisor.engine.worlds.simulated_disk import DiskHost, SimulatedDisk
from pkadvisor.engine.worlds.simulated_network import SimulatedNetwork
from pkadvisor.engine.worlds.tasks import Future, Killed, Scheduler, Task
from pkadvisor.engine.worlds.world import EngineError

T = TypeVar("T")
TICKS_AT_START = 638_000_000_000_000_000  # some day in 2022: simulated days look like real ones
LOG_EVENTS = 2_000


class Simulator(Scheduler, DiskHost):
    """A whole stamp in one thread, as fast as Python goes, the same for the same seed.

    Without arguments nothing fails and nothing takes time.
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        network: NetworkFaults | None = None,
        disks: DiskFaults | None = None,
        clocks: ClockFaults | None = None,
        atlas: Atlas | None = None,
        timeouts: Mapping[str, int] | None = None,
        random_order: bool = False,
    ) -> None:
        super().__init__()
        self.seed = seed
        self._now_ns = 0
        self._streams: dict[str, Random] = {}
        self._boots: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {}
        self._boot_tasks: dict[str, Task[None]] = {}
        self._up: dict[str, None] = {}
        self._services: dict[tuple[str, str], object] = {}
        self._disks: dict[tuple[str, str], SimulatedDisk] = {}
        self._disk_faults = disks or DiskFaults()
        self._clock_faults = clocks or ClockFaults()
        self._clocks: dict[str, tuple[int, int, int, int]] = {}
        self._crash_points: list[CrashPoint] = []
        self._listeners: list[Callable[[int, str, tuple[object, ...]], None]] = []
        self._hash = blake2b(digest_size=16)
        self._order = self.random("order of ready tasks") if random_order else None
        self.atlas = atlas
        self.network = SimulatedNetwork(self, network or NetworkFaults(), timeouts)
        self.counts: Counter[str] = Counter()
        self.log: deque[tuple[int, str, tuple[object, ...]]] = deque(maxlen=LOG_EVENTS)
        self.events = 0
        self.durable_writes = 0

    # ------------------------------------------------------------------------------------------ time and chance

    def now_ns(self) -> int:
        """Virtual time in ns."""
        return self._now_ns

    def clock_ns(self, node: str) -> int:
        """A node's own clock: monotonic, and within the stated skew of the truth for ever."""
        clock = self._clocks.get(node)
        if clock is None:
            clock = self._clocks[node] = self._draw_clock(node)
        offset_ns, drift_ppm, amplitude_ns, phase_ns = clock
        if amplitude_ns:  # a triangle: it runs fast, then slow, and never leaves its bound
            turn = (self._now_ns * drift_ppm // 1_000_000 + phase_ns) % (4 * amplitude_ns)
            offset_ns += abs(turn - 2 * amplitude_ns) - amplitude_ns
        return self._now_ns + offset_ns

    def set_clock(self, node: str, offset_ns: int = 0, drift_ppm: int = 0, amplitude_ns: int = 0) -> None:
        """Gives a node a clock: an offset for ever, and a drift to and fro by an amplitude.

        Nothing keeps it within the bound that leases assume: so a checker can be shown to notice.
        """
        self._clocks[node] = (offset_ns, drift_ppm, amplitude_ns, 0)

    def _draw_clock(self, node: str) -> tuple[int, int, int, int]:
        faults = self._clock_faults
        if not node or not (faults.skew_ns_max or faults.drift_ppm_max):
            return (0, 0, 0, 0)
        chance = self.random(f"clock {node}")
        amplitude = chance.randrange(faults.skew_ns_max // 2 + 1) if faults.drift_ppm_max else 0
        rest = faults.skew_ns_max - amplitude
        phase = chance.randrange(4 * amplitude + 1)
        return (chance.randrange(-rest, rest + 1), chance.randrange(faults.drift_ppm_max + 1), amplitude, phase)

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

    # ------------------------------------------------------------------------------------------ events

    def lengths(self) -> dict[str, int]:
        """The bytes of each file by name (``node/device/file``)."""
        disks = sorted(self._disks.items())
        return {f"{node}/{device}/{f.name}": len(f.content) for (node, device), disk in disks for f in disk.files()}

    def writes_refused(self) -> None:
        """Never: each device fills by itself, and who writes to it must live with that."""

    def event(self, name: str, *facts: object) -> None:
        """Adds to the hash of the run, counts, tells who listens."""
        self.counts[name] += 1
        self.events += 1
        self._hash.update(f"{self._now_ns} {name} {facts!r}\n".encode())
        self.log.append((self._now_ns, name, facts))
        for listener in self._listeners:
            listener(self._now_ns, name, facts)

    def on_event(self, listener: Callable[[int, str, tuple[object, ...]], None]) -> None:
        """Calls a checker at every event with true time, name and facts."""
        self._listeners.append(listener)

    def event_hash(self) -> str:
        """The hash of everything that happened so far, steps, messages and durable writes counted in."""
        digest = self._hash.copy()
        totals = (self._now_ns, self.steps, self.network.messages, self.durable_writes)
        digest.update(repr(totals).encode())
        return digest.hexdigest()

    # ------------------------------------------------------------------------------------------ running

    def run(self, coroutine: Coroutine[Any, Any, T], node: str = "", limit_ns: int | None = None) -> T:
        """Runs a task, and the world around it, until it ends.

        AssertionError where it waits for ever, or ends later than ``limit_ns`` from now. ValueError: it is closed.
        """
        if self._closed:
            self._refuse(coroutine)
        end = None if limit_ns is None else self._now_ns + limit_ns
        task = self.spawn(coroutine, node)
        done: Future[None] = Future()
        task.when_done(lambda: done.resolve(None))
        while not done.done:
            if not self._advance(lambda: done.done):
                raise AssertionError("nothing will ever happen again, and the task still waits")
            assert end is None or self._now_ns <= end, f"not done after {limit_ns} ns"
        return task.result()

    def run_until(self, time_ns: int) -> None:
        """Runs the world until a moment."""
        self._run_ready()
        self._raise_unhandled()
        while (due := self._due()) is not None and due <= time_ns:
            self._advance()
        self._now_ns = max(self._now_ns, time_ns)

    def _advance(self, enough: Callable[[], bool] = lambda: False) -> bool:
        self._run_ready()
        self._raise_unhandled()
        if enough():  # no timer goes off that nobody asked to wait for
            return True
        due = self._due()
        if due is None:
            return False
        self._now_ns = max(self._now_ns, due)
        self._fire()
        self._run_ready()
        self._raise_unhandled()
        return True

    def _raise_unhandled(self) -> None:
        if self.unhandled:
            raise self.unhandled[0]

    def others_ready(self) -> bool:
        """Never: a call waits here, and who is ready joins while it does."""
        return False

    async def gather(self, coroutines: Sequence[Coroutine[Any, Any, T]], node: str) -> list[T | EngineError]:
        """Runs all beside each other."""
        tasks = [self.spawn(coroutine, node) for coroutine in coroutines]
        for task in tasks:
            task.when_done(_nothing)  # somebody waits for each of them, from the start
        results: list[T | EngineError] = []
        for task in tasks:
            try:
                results.append(await task)
            except EngineError as error:
                results.append(error)
        return results

    # ------------------------------------------------------------------------------------------ nodes

    def add_node(self, name: str, boot: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """A node and how it starts."""
        self._boots[name] = boot

    def start(self, name: str) -> Task[None]:
        """Starts a node that is down. A boot that fails ends the run, unless somebody waits for its task."""
        self._up[name] = None
        task = self._boot_tasks[name] = self.spawn(self._boot(name), name)
        return task

    async def _boot(self, name: str) -> None:
        try:
            await self._boots[name]()
        except EngineError:  # a process whose start is refused is gone
            self._up.pop(name, None)
            raise

    def boot_of(self, name: str) -> Task[None] | None:
        """The task that last started a node."""
        return self._boot_tasks.get(name)

    def start_all(self) -> list[Task[None]]:
        """Starts every node that is down, in the order in which they were added."""
        return [self.start(name) for name in self._boots if name not in self._up]

    def is_up(self, name: str) -> bool:
        """Whether a node was started and has not crashed since."""
        return name in self._up

    def nodes(self) -> tuple[str, ...]:
        """All nodes, in the order in which they were added."""
        return tuple(self._boots)

    def crash(self, name: str, tear: str = "random", lose_disks: bool = False) -> None:
        """Ends a node where it stands; it is down until ``start``. Its disks keep what was synced, or nothing."""
        self._crash([name], tear)
        if lose_disks:
            for (node, _), disk in self._disks.items():
                if node == name:
                    disk.change()

    def power_cut(self, tear: str = "random") -> None:
        """Ends all nodes at once."""
        self.event("power cut")
        nodes = [*self._up, *(node for node, _ in self._services), *(node for node, _ in self._disks)]
        self._crash([node for node in dict.fromkeys(nodes) if node], tear)

    def _crash(self, names: list[str], tear: str) -> None:
        for name in names:
            self._up.pop(name, None)
            for node, service in list(self._services):
                if node == name:
                    del self._services[node, service]
            self._paused.pop(name, None)
        for name in names:
            self.kill(name)
        for (node, _), disk in self._disks.items():
            if node in names:
                disk.power_off(tear)
        for name in names:
            self.event("crash", name)
        for name in names:
            self.network.reset(name)

    # ------------------------------------------------------------------------------------------ crash points

    def crash_at(self, number: int, tear: str = "random", power_cut: bool = False) -> None:
        """Crashes at the n-th durable write from the beginning of the world; ``faults.CrashPoint``."""
        self._crash_points.append(CrashPoint(number, tear, power_cut))

    def durable_write(self, node: str, device: str, kind: str, name: str) -> CrashPoint | None:
        """Numbers a durable write; the crash point that it hits."""
        self.durable_writes += 1
        for point in self._crash_points:
            if point.number == self.durable_writes:
                self.event("crash point", node, device, kind, name, point.tear)
                return point
        return None

    async def crash_here(self, node: str, point: CrashPoint) -> None:
        """Carries out a crash point. A task of another node that touched the disk itself gets ``Killed``."""
        if point.power_cut:
            self.power_cut(point.tear)
        else:
            self._crash([node], point.tear)
        await self.alive(node)
        raise Killed(node)

    async def alive(self, node: str) -> None:
        """Never returns to a task whose node has crashed: it waits until it is closed."""
        if self._closing:
            raise Killed(node)
        if self.running is not None and self.running.done:
            await Future[None]()

    # ------------------------------------------------------------------------------------------ network and disks

    def register(self, node: str, service: str, instance: object) -> None:
        """Offers a service."""
        if not self._closing and not self.running_is_dead():
            self._services[node, service] = instance

    def service(self, node: str, service: str) -> object | None:
        """A service that a node offers now."""
        return self._services.get((node, service))

    async def call(self, source: str, target: str, service: str, method: str, *arguments: Any) -> Any:
        """Calls a service on another node."""
        return await self.network.call(source, target, service, method, arguments)

    def disk(self, node: str, device: str) -> SimulatedDisk:
        """A device of a node."""
        disk = self._disks.get((node, device))
        if disk is None:
            disk = self._disks[node, device] = SimulatedDisk(self, node, device, self._disk_faults)
        return disk

    def calm(self) -> None:
        """Devices that are used for the first time from now on do nothing wrong, and no crash point is hit any more."""
        self._disk_faults = self._disk_faults.calm()
        self._crash_points.clear()

    def disks(self) -> tuple[SimulatedDisk, ...]:
        """All devices that were ever used, by node and name."""
        return tuple(self._disks[key] for key in sorted(self._disks))


def _nothing() -> None:
    """Waits for nothing."""
