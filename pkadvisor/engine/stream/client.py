"""Streams as a node sees them: the client part of the stream layer, which the partition server links (SOSP 2011, 4.3).

    append ─► primary of the last extent, known from the last time
                 │ sealed, failed, silent
                 ▼
              manager: seal that extent, make the next ─► append there

An answer that got lost leaves a block that may lie twice; row data that nobody points to is waste, and records of logs
carry sequence numbers.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from pkadvisor.engine.options import MS, SECOND, EngineOptions
from pkadvisor.engine.stream.access import Fenced, LimitReached, Location, MultiModify, NotThere, StreamError
from pkadvisor.engine.stream.blocks import scan
from pkadvisor.engine.stream.manager import EXTENTS, SERVICE, ExtentView
from pkadvisor.engine.worlds.tasks import Future
from pkadvisor.engine.worlds.world import DataCorrupt, DiskFull, EngineError, Unreachable, World

PIECE_BYTES = 1 << 20
TRIES = 12
FULL_TRIES = 3
_new_location = Location._make


class StreamClient:
    """``Streams`` for one node."""

    def __init__(self, world: World, node: str, manager: str, options: EngineOptions) -> None:
        self._world = world
        self._node = node
        self._manager = manager
        self._options = options
        self._tails: dict[str, tuple[int, int, str]] = {}
        self._extents: dict[int, ExtentView] = {}

    # ------------------------------------------------------------------------------------------------ appends

    async def append(self, name: str, blocks: Sequence[bytes], epoch: int) -> list[Location]:
        """Appends blocks, all or none; tries again on new extents until it is done.

        Fenced, StreamMissing, LimitReached; DiskFull when extent after extent finds no room.
        """
        tail = self._tails.get(name)
        if tail is None or tail[0] != epoch:
            tail = await self._tail(name, epoch, 0)
        most = self._options.block_bytes_max
        for block in blocks:
            if len(block) > most:
                raise LimitReached(f"a block of {len(block)} bytes; at most {most}")
        sent = tuple(blocks)
        assert sent, "an append has a block"
        full = 0
        while True:
            extent = tail[1]
            try:
                places = await self._world.call(self._node, tail[2], EXTENTS, "append", extent, sent)
                if len(places) == 1:
                    return [_new_location((extent, *places[0]))]
                return [Location(extent, offset, length) for offset, length in places]
            except EngineError as error:
                if isinstance(error, DiskFull):
                    full += 1
                    if full == FULL_TRIES:
                        raise
                self._world.event("append goes on elsewhere", name, type(error).__name__)
            current = self._tails.get(name)
            if current is not None and current[0] == epoch and current[1] != extent:
                tail = current
            else:
                tail = await self._tail(name, epoch, extent)

    async def _tail(self, name: str, epoch: int, failed: int) -> tuple[int, int, str]:
        """The open extent: owner, number, primary. Waits until the manager answers."""
        known = self._tails.get(name)
        if known is not None and known[0] > epoch:
            raise Fenced(f"{name} belongs to {known[0]}, no longer to {epoch}")
        pause_ns = 10 * MS
        full = 0
        while True:
            try:
                view = await self._world.call(self._node, self._manager, SERVICE, "tail", name, epoch, failed)
            except StreamError:
                self._tails.pop(name, None)
                raise
            except EngineError as error:
                full += isinstance(error, DiskFull)
                if full == FULL_TRIES:
                    raise
                await self._world.sleep(pause_ns)
                pause_ns = min(2 * pause_ns, SECOND)
                continue
            tail = (epoch, view.extent, view.replicas[0])
            known = self._tails.get(name)
            if known is None or known[0] <= epoch:
                self._tails[name] = tail
                self._extents[view.extent] = view
            return tail

    # ------------------------------------------------------------------------------------------------ reads

    async def read(self, location: Location) -> bytes:
        """The block at a location, from any replica that answers. NotThere, DataCorrupt, Unreachable."""
        extent = location.extent
        view = self._extents.get(extent)
        if view is None:
            view = await self._locate(extent)
        try:
            return await self._block(view, location, self._options.read_deadline_ns)
        except EngineError:
            return await self._block(await self._locate(extent), location, 0)

    async def _block(self, view: ExtentView, location: Location, deadline_ns: int) -> bytes:
        """A block, from the first replica that has it undamaged."""
        extent, offset, length = location
        if len(view.replicas) == 1:  # nobody else could be asked
            (only,) = view.replicas
            read: Coroutine[Any, Any, bytes] = self._world.call(
                self._node, only, EXTENTS, "read", extent, offset, length, deadline_ns
            )
            return await read
        return await first_good(
            self._world,
            self._node,
            view.replicas,
            lambda replica: self._world.call(self._node, replica, EXTENTS, "read", extent, offset, length, deadline_ns),
            hedge_ns=self._options.read_deadline_ns,
        )

    async def _locate(self, extent: int) -> ExtentView:
        view: ExtentView = await self._ask("locate", extent)
        self._extents[extent] = view
        return view

    async def records(self, name: str, start: Location | None = None) -> AsyncIterator[tuple[Location, bytes]]:
        """All blocks of a stream from a location on, in order.

        Of a sealed extent from a sealed replica. Of an open one only when all its replicas are there and equally long;
        else it is sealed first (SOSP 2011, 4.3.4). NotThere where ``start`` is in no extent of the stream.
        """
        views: tuple[ExtentView, ...] = await self._ask("view", name)
        first = 0
        if start is not None:
            numbers = [view.extent for view in views]
            if start.extent not in numbers:
                raise NotThere(f"{name} has no extent {start.extent}")
            first = numbers.index(start.extent)
        for view in views[first:]:
            begin = start.offset if start is not None and view.extent == start.extent else 0
            end = view.sealed
            if end is None:
                end = await self._equal_length(view)
            async for record in self._blocks(view, begin, end, sealed_only=view.sealed is not None or end is None):
                yield record

    async def _equal_length(self, view: ExtentView) -> int | None:
        """The commit length of an open extent, or None where it had to be sealed."""
        lengths = await self._world.gather(
            [self._commit_length(replica, view.extent) for replica in view.replicas], self._node
        )
        first = lengths[0]
        if isinstance(first, int) and all(length == first for length in lengths):
            return first
        self._world.event("commit lengths differ at load", view.extent)
        return None

    async def _commit_length(self, replica: str, extent: int) -> int:
        length: int = await self._world.call(self._node, replica, EXTENTS, "commit_length", extent)
        return length

    async def _blocks(
        self, view: ExtentView, begin: int, end: int | None, *, sealed_only: bool
    ) -> AsyncIterator[tuple[Location, bytes]]:
        extent = view.extent
        if end is None:
            end = await self._ask("seal", extent)
        rest = b""
        while begin < end:
            want = min(max(PIECE_BYTES, 2 * len(rest)), end - begin)
            piece, blocks, whole = await self._piece(view, begin, want, end, sealed_only)
            for offset, length in blocks:
                at = offset - begin
                yield Location(extent, offset, length), piece[at + 8 : at + length]
            begin += whole
            rest = piece if not whole else b""

    async def _piece(
        self, view: ExtentView, begin: int, want: int, end: int, sealed_only: bool
    ) -> tuple[bytes, list[tuple[int, int]], int]:
        """Whole appends from ``begin`` on, from the first replica that has them undamaged."""
        extent = view.extent
        failed: EngineError = NotThere(f"extent {extent} from {begin}")
        for attempt in range(TRIES):
            for replica in view.replicas:
                try:
                    size = want
                    while True:
                        piece = await self._world.call(
                            self._node, replica, EXTENTS, "read_bytes", extent, begin, size, sealed_only
                        )
                        blocks, whole = scan(extent, begin, piece)
                        if whole:
                            return piece, blocks, whole
                        if size == end - begin:
                            raise DataCorrupt(f"extent {extent}: damaged at {begin} on {replica}")
                        size = min(4 * size, end - begin)
                except EngineError as error:
                    failed = error
            await self._world.sleep((10 * MS) << min(attempt, 7))
            view = await self._locate(extent)
        raise failed

    # ------------------------------------------------------------------------------------------------ streams

    async def create(self, name: str, epoch: int) -> None:
        """Makes an empty stream owned by ``epoch``. StreamExists, LimitReached."""
        await self._ask("create", self._identity(), name, epoch)

    async def acquire(self, name: str, epoch: int) -> None:
        """Makes ``epoch`` the owner and seals the last extent. Fenced, StreamMissing."""
        known = self._tails.get(name)
        if known is not None and known[0] < epoch:
            del self._tails[name]
        await self._ask("acquire", name, epoch)

    async def exists(self, name: str) -> bool:
        """Whether the stream is there."""
        exists: bool = await self._ask("exists", name)
        return exists

    async def delete(self, name: str) -> None:
        """Removes a stream; a missing one is no error."""
        self._tails.pop(name, None)
        await self._ask("delete", self._identity(), name)

    async def drop_before(self, name: str, start: Location) -> None:
        """Takes the extents before that of ``start`` out of the stream."""
        await self._ask("drop_before", name, start.extent)

    async def concatenate(self, target: str, sources: Sequence[str], epoch: int) -> None:
        """Adds the extents of the sources, sealed, to the end of the target."""
        for name in (target, *sources):
            self._tails.pop(name, None)
        await self._ask("concatenate", self._identity(), target, tuple(sources), epoch)

    async def multi_modify(self, change: MultiModify) -> None:
        """Carries out a change of several streams as one."""
        for name in (*change.delete, *[source for new in change.make for source in new.sources]):
            self._tails.pop(name, None)
        await self._ask("multi_modify", change)

    def _identity(self) -> str:
        """A name for a request, so that it is carried out once however often it arrives."""
        return f"{self._node}/{self._world.random('request names').getrandbits(64):016x}"

    async def _ask(self, method: str, *arguments: Any) -> Any:
        """Calls the manager; again where it is silent, as long as ``TRIES`` with growing pauses last."""
        pause_ns = 10 * MS
        for attempt in range(TRIES):
            try:
                return await self._world.call(self._node, self._manager, SERVICE, method, *arguments)
            except Unreachable:
                if attempt == TRIES - 1:
                    raise
                await self._world.sleep(pause_ns)
                pause_ns = min(2 * pause_ns, SECOND)
        raise AssertionError("not reached")


# -- Asking several nodes for one thing: the first good answer.


T = TypeVar("T")
Ask = Callable[[], Awaitable[T]]


class _Begun(Generic[T]):
    """A call that was begun by hand: it has its answer already, or goes on where it is awaited.

    A call that never waits costs no task and no timer that way.
    """

    __slots__ = ("_steps", "_waits_for", "answer", "done")

    def __init__(self, call: Awaitable[T]) -> None:
        self._steps = call.__await__()
        self._waits_for: Any = None
        self.done = False
        self.answer: T | None = None
        self._step()

    def _step(self) -> None:
        try:
            self._waits_for = next(self._steps)
        except StopIteration as stop:
            self.done, self.answer = True, stop.value
        else:
            self._waits_for.when_done(_nothing)  # it counts as awaited before a task takes it over

    def __await__(self) -> Generator[Any, None, T]:
        while not self.done:
            yield self._waits_for
            self._step()
        return self.answer  # type: ignore[return-value]


def _nothing() -> None:
    return


class _Race(Generic[T]):
    """Asks that run beside each other until one has answered."""

    def __init__(self, world: World, node: str, asks: Sequence[Ask[T]], hedge_ns: int) -> None:
        self._world, self._node, self._hedge_ns = world, node, hedge_ns
        self._left = list(asks)[::-1]
        self._running = 0
        self.last_error: EngineError | None = None
        self.answers: list[T] = []
        self.over: Future[None] = Future()

    def ask(self) -> None:
        """Asks the next one; one that answers without waiting is counted at once, and one more asked where it fails."""
        while self._left:
            ask = self._left.pop()
            self._running += 1
            try:
                begun = _Begun(ask())
            except EngineError as error:
                self._ended(error)
                continue
            if begun.done:
                self._answered(begun)
            else:
                self._world.spawn(self._wait(begun), self._node)
                if self._left:
                    self._world.spawn(self._hedge(len(self._left)), self._node)
            break
        self._end_if_none_is_left()

    async def _wait(self, begun: _Begun[T]) -> None:
        try:
            await begun
        except EngineError as error:
            self._ended(error)
            if not self.over.done:
                self.ask()
        else:
            self._answered(begun)
            self._end_if_none_is_left()

    async def _hedge(self, left: int) -> None:
        await self._world.sleep(self._hedge_ns)
        if not self.over.done and len(self._left) == left:
            self._world.event("hedged read")
            self.ask()

    def _answered(self, begun: _Begun[T]) -> None:
        self._running -= 1
        if not self.over.done:
            self.answers.append(begun.answer)  # type: ignore[arg-type]
            self.over.resolve(None)

    def _ended(self, error: EngineError) -> None:
        self._running -= 1
        self.last_error = error

    def _end_if_none_is_left(self) -> None:
        if not self.over.done and not self._left and not self._running:
            self.over.resolve(None)


async def first_good(
    world: World, node: str, targets: Sequence[str], ask: Callable[[str], Awaitable[T]], *, hedge_ns: int
) -> T:
    """The first good answer: one target is asked, the next at once when it fails, or beside it after ``hedge_ns``.

    Raises what the last one said where none answers well. An answer that needs no wait costs little more than the call.
    """
    assert targets, "somebody must be asked"
    try:
        begun = _Begun(ask(targets[0]))
    except EngineError:
        if len(targets) == 1:
            raise
        begun = None
    if begun is not None and begun.done:
        return begun.answer  # type: ignore[return-value]
    asks: list[Ask[T]] = [partial(ask, target) for target in targets[1:]]
    if begun is not None:
        asks.insert(0, partial(_handed_over, begun))
    race = _Race(world, node, asks, hedge_ns)
    race.ask()
    if not race.over.done:
        await race.over
    for answer in race.answers:
        return answer
    assert race.last_error is not None
    raise race.last_error


async def _handed_over(begun: _Begun[T]) -> T:
    return await begun
