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
from collections.abc import Callable, Coroutine, Generator
from heapq import heappop, heappush
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Killed(Exception):  # noqa: N818 - a state of a task rather than an error of the engine
    """The node on which the task ran has crashed."""


class Future(Generic[T]):
    """A value that is not there yet. It is resolved or failed once; whoever awaited it then goes on."""

    __slots__ = ("_waiting", "done", "error", "value")

    def __init__(self) -> None:
        self.done = False
        self.value: T | None = None
        self.error: BaseException | None = None
        self._waiting: list[Callable[[], None]] = []

    def resolve(self, value: T) -> None:
        """Sets the value; whoever waits goes on, in the order in which they came."""
        assert not self.done, "a future is resolved once"
        self.done, self.value = True, value
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
        else:
            self._waiting.append(callback)

    def result(self) -> T:
        """The value; raises the error. The future must be done."""
        assert self.done, "the future is not done"
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]

    @property
    def awaited(self) -> bool:
        """Whether anybody waits for it."""
        return bool(self._waiting)

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for callback in waiting:
            callback()

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


class Scheduler:
    """Ready tasks in order, and timers by (time, sequence). Subclasses say what time is."""

    def __init__(self) -> None:
        self._ready: deque[Task[Any]] = deque()
        self._timers: list[tuple[int, int, Callable[[], None]]] = []
        self._sequence = 0
        self._alive: dict[Task[Any], None] = {}
        self._paused: dict[str, list[Task[Any]]] = {}
        self.running: Task[Any] | None = None
        self.unhandled: list[BaseException] = []

    def now_ns(self) -> int:
        """Time since the world began, in ns."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------------ tasks

    def spawn(self, coroutine: Coroutine[Any, Any, T], node: str = "") -> Task[T]:
        """Starts a task on a node; it first runs after the current task waits.

        A task that raises while nobody awaits it is kept in ``unhandled``: failures are never lost.
        """
        task = Task(coroutine, node)
        self._alive[task] = None
        self._make_ready(task)
        return task

    def at(self, time_ns: int, callback: Callable[[], None]) -> None:
        """Calls back at a time, or at once when it has passed."""
        self._sequence += 1
        heappush(self._timers, (time_ns, self._sequence, callback))

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
        for task in [task for task in self._alive if task.node == node]:
            del self._alive[task]
            if task is not self.running:
                task.coroutine.close()
            if not task.done:
                task.done, task.error = True, Killed(node)  # nobody is woken: who waits has died with it
        self._paused.pop(node, None)

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

    # ------------------------------------------------------------------------------------------------ running

    def _make_ready(self, task: Task[Any]) -> None:
        self._ready.append(task)

    def _step(self, task: Task[Any]) -> None:
        """Runs one task until it waits or ends."""
        if task.done:
            return
        aside = self._paused.get(task.node)
        if aside is not None:
            aside.append(task)
            return
        before, self.running = self.running, task
        try:
            waited_for = task.coroutine.send(None)
        except StopIteration as stop:
            self._ended(task, stop.value, None)
        except Killed:
            self._alive.pop(task, None)
        except BaseException as error:
            self._ended(task, None, error)
        else:
            waited_for.when_done(lambda: self._make_ready(task))
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

    def _run_ready(self) -> None:
        while self._ready:
            self._step(self._ready.popleft())

    def _due(self) -> int | None:
        """When the next timer is due, or None."""
        return self._timers[0][0] if self._timers else None

    def _fire(self) -> None:
        _, _, callback = heappop(self._timers)
        callback()
