"""The real world: files, a clock and chance of this machine, all nodes in this process."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future as Work
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from random import Random, SystemRandom
from threading import Event, Lock, RLock, Thread
from typing import Any, Protocol, TypeVar
from weakref import ref

from pkadvisor.engine.worlds.directory_snapshot import MachineDirectory
from pkadvisor.engine.worlds.durability import LaggingSyncs
from pkadvisor.engine.worlds.machine_disk import Beside, Descriptors
from pkadvisor.engine.worlds.tasks import Future, Scheduler, Task
from pkadvisor.engine.worlds.world import DirectoryInUse, Disk, DiskError, EngineError, Unreachable, WriteRefusal

T = TypeVar("T")
TICKS_UNIX_EPOCH = 621_355_968_000_000_000
DESCRIPTORS_MAX = 256
THREADS_MAX = 8
"""Syncs that are under way at a time; all else runs on the thread of whoever calls."""


class ClosedDisk(Disk, Protocol):
    """A disk that is closed in the end."""

    def close(self) -> None:
        """Gives what it holds back."""


class DeviceFolder(Protocol):
    """Where the devices of a machine lie: a directory, or a snapshot of one."""

    path: Path

    def disk(
        self, node: str, device: str, descriptors: Descriptors, beside: Beside, lag: LaggingSyncs | None, /
    ) -> ClosedDisk:
        """A device of a node; with ``lag`` journals are synced later."""

    def refusal(self) -> WriteRefusal | None:
        """Why it takes no new data, if it takes none."""

    def lengths(self) -> dict[str, int]:
        """The bytes of each file by name (``node/device/file``)."""

    def close(self) -> None:
        """Gives it back."""


class Machine(Scheduler):
    """Real files below one directory (``directory/node/device/file``), the real clock, direct calls between nodes.

    In place of the directory there may be a ``DirectorySnapshot`` of it, which is read and never changed.

    ``sync`` says whether ``File.sync`` reaches the device; without it a crash of the process loses nothing, a power
    cut may. With ``sync_every_ns`` journals are synced so long after they were written, see ``durability``.
    FormatError for a directory of a newer version or of something else; DirectoryInUse for one that another process
    holds. A process made by ``fork`` holds nothing of its parent's: there ``run`` raises DirectoryInUse. Close
    it, or use it in a ``with``. Without a ``seed`` chance differs from run to run: names drawn
    from it must not come again when a directory is opened again.
    """

    def __init__(
        self,
        directory: Path | DeviceFolder,
        *,
        sync: bool = True,
        seed: int | None = None,
        sync_every_ns: int = 0,
        descriptors_max: int = DESCRIPTORS_MAX,
    ) -> None:
        super().__init__()
        self._process = os.getpid()
        self._place: DeviceFolder = MachineDirectory(directory, sync=sync) if isinstance(directory, Path) else directory
        self._descriptors = Descriptors(descriptors_max)
        self._seed = SystemRandom().getrandbits(128) if seed is None else seed
        self._began_ns = time.monotonic_ns()
        self._boots: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {}
        self._services: dict[tuple[str, str], Any] = {}
        self._disks: dict[tuple[str, str], ClosedDisk] = {}
        self._chance: dict[str, Random] = {}
        self._threads: ThreadPoolExecutor | None = None
        self._beside = 0
        self._ended_beside: SimpleQueue[tuple[Future[None], BaseException | None]] = SimpleQueue()
        self._lag = LaggingSyncs(sync_every_ns, self.at, self.now_ns) if sync_every_ns else None
        self.counts: Counter[str] = Counter()
        self.calls, self.calling = 0, False
        """How many calls have begun; whether one is under way, or waits for its turn."""
        self._idle: IdleThread | None = None

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def now_ns(self) -> int:
        """Monotonic time since the start."""
        return time.monotonic_ns() - self._began_ns

    def clock_ns(self, node: str) -> int:
        """The same for every node of one process."""
        return time.monotonic_ns() - self._began_ns

    def ticks(self, node: str) -> int:
        """The time of day."""
        return TICKS_UNIX_EPOCH + time.time_ns() // 100

    def random(self, purpose: str) -> Random:
        """A stream of chance for each purpose."""
        return self._chance.setdefault(purpose, Random(f"{self._seed}/{purpose}"))

    def writes_refused(self) -> WriteRefusal | None:
        """FULL where the file system has less room than the reserve; READ_ONLY where the files are a snapshot."""
        return self._place.refusal()

    def lengths(self) -> dict[str, int]:
        """The bytes of each file by name (``node/device/file``)."""
        return self._place.lengths()

    def event(self, name: str, *facts: object) -> None:
        """Counts."""
        self.counts[name] += 1

    def run(self, coroutine: Coroutine[Any, Any, T], node: str = "") -> T:
        """Runs a coroutine to its end; where it never waits, at once.

        ValueError: the machine is closed. DirectoryInUse: another process made it, of which this one is a fork.
        """
        if self._closed:
            self._refuse(coroutine)
        if os.getpid() != self._process:
            coroutine.close()
            raise DirectoryInUse(
                f"{self._place.path} is held by process {self._process}, which made this one by fork; open the "
                "store after the fork, or use multiprocessing with the start method 'spawn'"
            )
        idle = self._idle
        if idle is None:
            return self._run(coroutine, node)
        self.calls += 1
        self.calling = True
        try:
            with idle.turn:
                return self._run(coroutine, node)
        finally:
            self.calling = False
            if self._ready or (self._timers and self._timers[0][0] < idle.wakes_ns):
                idle.wake()

    def _run(self, coroutine: Coroutine[Any, Any, T], node: str) -> T:
        if self._ready or self.unhandled:  # what was started before comes first
            try:
                self.turn()
            except BaseException:
                coroutine.close()
                raise
        try:
            waited_for = coroutine.send(None)
        except StopIteration as stop:
            if self._ready or self._timers or self._beside:
                self.turn()
            return stop.value  # type: ignore[no-any-return]
        task = self._go_on(coroutine, waited_for, node)
        while not task.done:
            self.turn()
            if task.done or self._ready:
                continue
            due = self._due()
            if self._beside:
                self._hear(None if due is None else max(0, due - self.now_ns()) / 1e9)
                continue
            assert due is not None, "nothing will ever happen again, and the task still waits"
            wait_ns = due - self.now_ns()
            if wait_ns > 0:  # a sleep of no time gives the processor away
                time.sleep(wait_ns / 1e9)
        return task.result()

    def work_when_idle(self) -> None:
        """From now on what is due is done also while nobody calls ``run``: by a thread, which ends with ``close``."""
        self._idle = IdleThread(self)

    def advance(self) -> float | None:
        """A turn between calls; seconds until the next one. What fails in it is raised by the next call."""
        if self._closed:
            return None
        self._advance()
        if self._ready:
            return 0.0
        due = self._due()
        wait_s = None if due is None else max(0, due - self.now_ns()) / 1e9
        return min(wait_s or IDLE_S, IDLE_S) if self._beside else wait_s

    def turn(self) -> None:
        """Runs what is ready and what is due; who passes its turn goes on in the next one."""
        self._advance()
        if self.unhandled:
            raise self.unhandled.pop(0)

    def _advance(self) -> None:
        if self._beside and not self._ended_beside.empty():
            self._hear(0)
        now_ns = self.now_ns()
        self._run_ready()
        while (due := self._due()) is not None and due <= now_ns:
            self._fire()
            self._run_ready()

    def others_ready(self) -> bool:
        """Whether tasks are ready; without syncs none of them would run before a write has ended."""
        return bool(self._ready)

    def beside(self, work: Callable[[], None]) -> Future[None]:
        """Does what takes time in a thread, while tasks run; the future is done, in a turn, when that has ended."""
        future: Future[None] = Future()
        if self._threads is None:
            self._threads = ThreadPoolExecutor(THREADS_MAX, "engine-sync")
        self._beside += 1
        begun = Lock()
        begun.acquire()

        def begin() -> None:
            begun.release()
            work()

        def ended(done: Work[None]) -> None:
            self._ended_beside.put((future, done.exception()))

        self._threads.submit(begin).add_done_callback(ended)
        begun.acquire()  # else this thread keeps the interpreter, and the work begins when there is nothing else to do
        return future

    def _hear(self, wait_s: float | None) -> None:
        """Takes in what threads have ended; waits for the first of them up to a time, for ever with None."""
        while self._beside:
            try:
                future, error = self._ended_beside.get(wait_s != 0, wait_s or None)
            except Empty:
                return
            wait_s = 0
            self._beside -= 1
            if error is None:
                future.resolve(None)
            else:
                future.fail(error)

    async def gather(self, coroutines: Sequence[Coroutine[Any, Any, T]], node: str) -> list[T | EngineError]:
        """Begins one after the other; those that wait go on beside each other."""
        results: list[T | EngineError] = []
        waiting: dict[int, Task[T]] | None = None
        for coroutine in coroutines:
            try:
                waited_for = coroutine.send(None)
            except StopIteration as stop:
                results.append(stop.value)
            except EngineError as error:
                results.append(error)
            except BaseException:
                for later in coroutines[len(results) + 1 :]:
                    later.close()
                raise
            else:
                if waiting is None:
                    waiting = {}
                waiting[len(results)] = self._go_on(coroutine, waited_for, node)
                results.append(EngineError("not yet ended"))
        if waiting is None:
            return results
        for number, task in waiting.items():
            try:
                results[number] = await task
            except EngineError as error:
                results[number] = error
        return results

    def _go_on(self, coroutine: Coroutine[Any, Any, T], waited_for: Future[Any], node: str) -> Task[T]:
        """A task of a coroutine that was begun by hand; whoever made it hears of its error, and nobody else."""
        task = Task(coroutine, node)
        self._alive[task] = None
        waited_for.when_done(lambda: self._make_ready(task))
        task.when_done(_nothing)
        return task

    def add_node(self, name: str, boot: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """A node and how it starts."""
        self._boots[name] = boot

    def start(self, name: str) -> Task[None]:
        """Starts a node."""
        return self.spawn(self._boots[name](), name)

    def register(self, node: str, service: str, instance: object) -> None:
        """Offers a service."""
        self._services[node, service] = instance

    def call(self, source: str, target: str, service: str, method: str, *arguments: Any) -> Coroutine[Any, Any, Any]:
        """Calls a service on another node: the method itself, with nothing between."""
        instance = self._services.get((target, service))
        if instance is None:
            return _unreachable(target)
        return getattr(instance, method)(*arguments)  # type: ignore[no-any-return]

    def disk(self, node: str, device: str) -> ClosedDisk:
        """A device of a node."""
        disk = self._disks.get((node, device))
        if disk is None:
            disk = self._disks[node, device] = self._place.disk(node, device, self._descriptors, self.beside, self._lag)
        return disk

    def close(self) -> None:
        """Ends every task, gives every descriptor back, lets another process in. Twice is no error."""
        idle, self._idle = self._idle, None
        if idle is not None and os.getpid() == self._process:
            idle.end()
        super().close()
        if self._lag is not None:
            with suppress(DiskError):  # what was acknowledged is with the system, and nobody is left to tell
                self._lag.settle()
        if self._threads is not None:
            self._threads.shutdown(wait=True)
            self._hear(0)
            self._ready.clear()
        self._services.clear()
        for disk in self._disks.values():
            disk.close()
        self._disks.clear()
        self._place.close()


async def _unreachable(target: str) -> None:
    raise Unreachable(f"{target} is down")


def _nothing() -> None:
    """Waits for nothing."""


# -- The thread that keeps a store on real files going while nobody calls it: leases, combines, syncs that are due.


IDLE_S = 0.02
"""Without a call for so long the store is idle [A]."""


class IdleThread:
    """Begins at once. It holds no reference to whom it serves: it ends with that, or when it is told to."""

    def __init__(self, served: Machine) -> None:
        self.turn = RLock()
        """Whoever runs the engine holds it."""
        self.wakes_ns = 0
        """When it works next, by the time of whom it serves: what is due before must wake it."""
        self._wake, self._ending = Event(), False
        self._thread = Thread(target=self._live, args=(ref(served),), name="engine-idle", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Has it look soon."""
        self.wakes_ns = 0
        self._wake.set()

    def end(self) -> None:
        """Ends it, and returns when it has ended."""
        self._ending = True
        self._wake.set()
        self._thread.join()

    def _live(self, served: ref[Machine]) -> None:
        seen, wait_s = -1, 0.0
        while True:
            self._wake.wait(wait_s)
            self._wake.clear()
            world = served()
            if self._ending or world is None:
                return
            seen, wait_s = self._look(world, seen)
            world = None

    def _look(self, world: Machine, seen: int) -> tuple[int, float]:
        """The count of calls that it saw, and how long to sleep; works where none has come since the last look."""
        calls = world.calls
        if calls != seen or world.calling or not self.turn.acquire(timeout=IDLE_S):
            return calls, IDLE_S
        try:
            wait_s = world.advance()
            wait_s = 1.0 if wait_s is None else min(wait_s, 1.0)
            self.wakes_ns = world.now_ns() + round(wait_s * 1e9)
            return calls, wait_s
        finally:
            self.turn.release()
