"""Tasks and futures: the smallest scheduler that simulated and real time can share.

A task is a coroutine that belongs to a node. It runs until it waits for a future, and goes on when the future is done:

    ready ──run──► waiting on a Future ──done──► ready        paused node: ready tasks wait aside
      │ returns, or raises                                    killed node: its tasks end where they stand
      ▼
    done: value or error

A coroutine that never has to wait runs to its end in one go, at the price of its calls. That is how the same engine is
a simulation under ``simulator.Simulator`` and a store under ``machine.Machine``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Generator, Sequence
from functools import partial
from heapq import heapify, heappop, heappush
from random import Random
from typing import Any, Generic, NoReturn, TypeVar

T = TypeVar("T")


class Killed(BaseException):
    """The node on which the task ran has crashed. Not an ``Exception``: nothing on a dead node may catch it."""


class Future(Generic[T]):
    """A value that is not there yet. It is resolved or failed once; whoever awaited it then goes on."""

    __slots__ = ("_waiting", "done", "error", "value")

    def __init__(self) -> None:
        self.done = False
        self.value: T | None = None
        self.error: BaseException | None = None
        self._waiting: Callable[[], None] | list[Callable[[], None]] | None = None  # most have one that waits

    def resolve(self, value: T) -> None:
        """Sets the value; whoever waits goes on, in the order in which they came."""
        assert not self.done, "a future is resolved once"
        self.done, self.value = True, value
        if self._waiting is not None:
            self._wake()

    def fail(self, error: BaseException) -> None:
        """Sets an error, which every ``await`` of this future raises."""
        assert not self.done, "a future is resolved once"
        self.done, self.error = True, error
        self._wake()

    def when_done(self, callback: Callable[[], None]) -> None:
        """Calls back at once where the future is done, else when it is."""
        if self.done:
            callback()
        elif self._waiting is None:
            self._waiting = callback
        elif isinstance(self._waiting, list):
            self._waiting.append(callback)
        else:
            self._waiting = [self._waiting, callback]

    def result(self) -> T:
        """The value; raises the error. The future must be done."""
        assert self.done, "the future is not done"
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]

    @property
    def awaited(self) -> bool:
        """Whether anybody waits for it."""
        return self._waiting is not None

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, None
        if isinstance(waiting, list):
            for callback in waiting:
                callback()
        elif waiting is not None:
            waiting()

    def __await__(self) -> Generator[Future[T], None, T]:
        if not self.done:
            yield self
        return self.result()


class Task(Future[T]):
    """A running coroutine; as a future it is what the coroutine returns."""

    __slots__ = ("coroutine", "node")

    def __init__(self, coroutine: Coroutine[Any, Any, T], node: str) -> None:
        super().__init__()
        self.coroutine = coroutine
        self.node = node


class Timer:
    """Something that will happen at a moment, unless it is cancelled."""

    __slots__ = ("callback",)

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback


class Scheduler:
    """Ready tasks in order, and timers by (time, sequence). Subclasses say what time is."""

    def __init__(self) -> None:
        self._ready: deque[Task[Any]] = deque()
        self._timers: list[tuple[int, int, Timer]] = []
        self._timers_cancelled = 0
        self._sequence = 0
        self._alive: dict[Task[Any], None] = {}
        self._paused: dict[str, list[Task[Any]]] = {}
        self._closing = 0
        self._closed = False
        self._order: Random | None = None
        self.running: Task[Any] | None = None
        self.unhandled: list[BaseException] = []
        self.steps = 0

    def now_ns(self) -> int:
        """Time since the world began, in ns."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------------ tasks

    def spawn(self, coroutine: Coroutine[Any, Any, T], node: str = "") -> Task[T]:
        """Starts a task on a node; it first runs after the current task waits.

        A task that raises while nobody awaits it is kept in ``unhandled``: failures are never lost.
        """
        task = Task(coroutine, node)
        if self._closing or self.running_is_dead():  # the last breath of a node that has crashed starts nothing
            coroutine.close()
            task.done, task.error = True, Killed(node)
            return task
        self._alive[task] = None
        self._make_ready(task)
        return task

    def at(self, time_ns: int, callback: Callable[[], None]) -> Timer:
        """Calls back at a time, or at once when it has passed."""
        self._sequence += 1
        timer = Timer(callback)
        heappush(self._timers, (time_ns, self._sequence, timer))
        return timer

    def cancel(self, timer: Timer) -> None:
        """Takes a timer back; one that has fired is no error."""
        if timer.callback is None:
            return
        timer.callback = None
        self._timers_cancelled += 1
        if self._timers_cancelled > 256 and 2 * self._timers_cancelled > len(self._timers):
            self._timers = [entry for entry in self._timers if entry[2].callback is not None]
            heapify(self._timers)
            self._timers_cancelled = 0

    async def sleep(self, duration_ns: int) -> None:
        """Waits."""
        future: Future[None] = Future()
        self.at(self.now_ns() + duration_ns, lambda: future.resolve(None))
        await future

    async def pass_turn(self) -> None:
        """Lets every task run that is ready now, then goes on."""
        future: Future[None] = Future()
        self.at(self.now_ns(), lambda: future.resolve(None))
        await future

    def kill(self, node: str) -> None:
        """Ends every task of a node where it stands, as a crash does."""
        killed = [task for task in self._alive if task.node == node]
        for task in killed:
            del self._alive[task]
            if not task.done:
                task.done, task.error = True, Killed(node)  # who waits for it is told by ``_wake`` below
        self._paused.pop(node, None)
        for task in killed:
            if task is not self.running:  # that one is closed when it waits next
                self._close(task)
        for task in killed:
            task._wake()  # tasks of the node itself are done already; one of another node gets ``Killed``

    def running_is_dead(self) -> bool:
        """Whether the task that runs now belongs to a node that has crashed meanwhile."""
        return self.running is not None and self.running.done

    def pause(self, node: str) -> None:
        """Stops a node's tasks where they wait next; time goes on around them."""
        self._paused.setdefault(node, [])

    def resume(self, node: str) -> None:
        """Lets a paused node go on."""
        for task in self._paused.pop(node, []):
            self._make_ready(task)

    def paused(self, node: str) -> bool:
        """Whether the node is paused."""
        return node in self._paused

    def close(self) -> None:
        """Ends every task of every node; nothing runs any more: to ask for it is a ValueError, as with a file."""
        self._closed = True
        for node in dict.fromkeys(task.node for task in self._alive):
            self.kill(node)
        self._ready.clear()
        self._timers.clear()

    # ------------------------------------------------------------------------------------------------ running

    def _refuse(self, coroutine: Coroutine[Any, Any, Any]) -> NoReturn:
        """Does not run it: without its nodes nobody would answer, and it would wait until its time is over."""
        coroutine.close()
        raise ValueError("it is closed: nothing runs any more")

    def _make_ready(self, task: Task[Any]) -> None:
        self._ready.append(task)

    def _step(self, task: Task[Any]) -> None:
        """Runs one task until it waits or ends."""
        if task.done:
            return
        if self._paused:
            aside = self._paused.get(task.node)
            if aside is not None:
                aside.append(task)
                return
        self.steps += 1
        before, self.running = self.running, task
        try:
            waited_for = task.coroutine.send(None)
        except StopIteration as stop:
            self._ended(task, stop.value, None)
        except BaseException as error:
            self._ended(task, None, error)
        else:
            if self.running_is_dead():  # killed while it ran
                self._close(task)
            else:
                waited_for.when_done(partial(self._make_ready, task))
        finally:
            self.running = before

    def _ended(self, task: Task[Any], value: Any, error: BaseException | None) -> None:
        self._alive.pop(task, None)
        if task.done:  # killed while it ran
            return
        if error is None:
            task.resolve(value)
        elif task.awaited:
            task.fail(error)
        else:
            task.done, task.error = True, error
            self.unhandled.append(error)

    def _close(self, task: Task[Any]) -> None:
        """Frees what a dead task holds. Its ``finally`` clauses run, but reach neither disk nor network nor tasks."""
        self._closing += 1
        try:
            for _ in range(16):  # a clause that waits is closed where it waits
                try:
                    task.coroutine.close()
                    break
                except BaseException:  # whatever a dead node raises, nobody hears it
                    continue
        finally:
            self._closing -= 1

    def _run_ready(self) -> None:
        ready, order = self._ready, self._order
        while ready:
            if order is not None and len(ready) > 1:
                ready.rotate(-order.randrange(len(ready)))
            self._step(ready.popleft())

    def _due(self) -> int | None:
        """When the next timer is due, or None."""
        timers = self._timers
        while timers and timers[0][2].callback is None:
            heappop(timers)
            self._timers_cancelled -= 1
        return timers[0][0] if timers else None

    def _fire(self) -> None:
        _, _, timer = heappop(self._timers)
        callback, timer.callback = timer.callback, None
        if callback is None:
            self._timers_cancelled -= 1
        else:
            callback()


# -- The plain lock of tasks of one node, alone and by name: one at a time, first come, first served.


N = TypeVar("N", str, int)


class Lock:
    """``async with lock:``; a free lock costs no wait.

    It belongs to one node's memory: a crash of the node ends it together with everybody who waits.

        free ──enter──► held, nobody waits ──enter──► held, some wait ──leave──► held by the first that waited
          ▲                   │ leave
          └───────────────────┘
    """

    __slots__ = ("_held", "_waiting")

    def __init__(self) -> None:
        self._held = False
        self._waiting: deque[Future[None]] = deque()

    @property
    def free(self) -> bool:
        """Whether nobody holds it or waits for it."""
        return not self._held

    async def __aenter__(self) -> None:
        if not self._held:
            self._held = True
            return
        turn: Future[None] = Future()
        self._waiting.append(turn)
        await turn  # whoever left gave the lock on: it was never free in between

    async def __aexit__(self, *_: object) -> None:
        if self._waiting:
            self._waiting.popleft().resolve(None)
        else:
            self._held = False

    def check(self) -> None:
        """Asserts that nobody waits for a lock that is free, or for a turn that has come."""
        assert self._held or not self._waiting, "somebody waits for a lock that is free"
        assert not any(turn.done for turn in self._waiting), "whoever was woken still stands in the queue"


class Locks(Generic[N]):
    """``async with locks.hold(*names):``; locks that nobody holds or waits for take no memory.

    Those who hold several take them in the order of their names, so no two of them wait for each other in a circle.
    """

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: dict[N, Lock] = {}

    def hold(self, *names: N) -> _Hold[N]:
        """Holds all of them, each once, from entry to exit."""
        return _Hold(self._held, sorted(dict.fromkeys(names)))

    def __len__(self) -> int:
        return len(self._held)

    def check(self) -> None:
        """Asserts that every lock that is kept is in use, and each lock's own."""
        for name, lock in self._held.items():
            assert not lock.free, f"the lock {name!r} is kept though nobody wants it"
            lock.check()


class _Hold(Generic[N]):
    """Several locks, taken in the order of ``names``."""

    __slots__ = ("_held", "_locks", "_names")

    def __init__(self, held: dict[N, Lock], names: Sequence[N]) -> None:
        self._held: dict[N, Lock] = held
        self._names: Sequence[N] = names
        self._locks: list[Lock] = []

    async def __aenter__(self) -> None:
        for name in self._names:
            lock = self._held.setdefault(name, Lock())
            await lock.__aenter__()
            self._locks.append(lock)

    async def __aexit__(self, *_: object) -> None:
        for name, lock in zip(self._names, self._locks, strict=True):
            await lock.__aexit__()
            if lock.free:
                del self._held[name]
