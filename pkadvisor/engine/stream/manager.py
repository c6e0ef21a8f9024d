"""The stream manager: names, extents, placement, seals; off the path of appends (SOSP 2011, 4.2 and 4.3).

Seal:  freeze the replicas that can be reached ─► n = the least of their commit lengths ─► log (extent, sealed, n)
       ─► tell them ─► later, whoever comes back is brought to exactly n

Why n loses nothing: an append is acknowledged when all replicas have it, so every replica is as long as what was
acknowledged, and so is the least of any of them. Why nothing is acknowledged afterwards: an acknowledgement needs all
replicas open, and at least one is frozen before n is decided.

The paper's manager is a group of nodes that agree through Paxos. Here their common log is one durable device of a node
[A]; a crash and a restart are the change of the leader. A command counts when it is durable, and is seen only then.

Where the replicas of a new extent go: distinct fault domains and upgrade domains, by chance weighted with room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

import msgspec

from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.stream import directory
from pkadvisor.engine.stream.access import Fenced, LimitReached, MultiModify, NotThere, StreamExists, StreamMissing
from pkadvisor.engine.stream.nodes.record_file import StateLog
from pkadvisor.engine.worlds.tasks import Lock, Locks
from pkadvisor.engine.worlds.world import DataCorrupt, DiskFull, EngineError, FormatError, Unreachable, World


class NodeInfo(NamedTuple):
    """An extent node and the domains in which it fails and is upgraded with others."""

    name: str
    fault_domain: int
    upgrade_domain: int


def place(nodes: Sequence[NodeInfo], room: Mapping[str, int], count: int, random: Random) -> tuple[str, ...] | None:
    """Nodes for ``count`` replicas, primary first; None where no choice has distinct domains (SOSP 2011, 4.3)."""
    waiting = list(nodes)
    order: list[NodeInfo] = []
    while waiting:
        weights = [max(1, room.get(node.name, 1 << 30) >> 20) for node in waiting]
        drawn = random.randrange(sum(weights))
        at = 0
        while drawn >= weights[at]:
            drawn -= weights[at]
            at += 1
        order.append(waiting.pop(at))
    distinct = _distinct(order, count)
    return tuple(node.name for node in distinct) if distinct is not None else None


def _distinct(order: Sequence[NodeInfo], count: int) -> list[NodeInfo] | None:
    """The first choice in order, with steps back where domains run out."""
    if not count:
        return []
    for at, node in enumerate(order):
        rest = [
            other
            for other in order[at + 1 :]
            if other.fault_domain != node.fault_domain and other.upgrade_domain != node.upgrade_domain
        ]
        others = _distinct(rest, count - 1)
        if others is not None:
            return [node, *others]
    return None


SERVICE = "streams"
EXTENTS = "extents"
LOG = "directory"
COMPACT_BYTES = 4 << 20
NUMBERS_AT_ONCE = 256
_DECODER = msgspec.msgpack.Decoder(directory.Directory | directory.Command)
_ENCODER = msgspec.msgpack.Encoder()


class ExtentView(NamedTuple):
    """An extent as the manager answers it."""

    extent: int
    replicas: tuple[str, ...]
    sealed: int | None


class StreamManager:
    """The service ``streams``. Its methods may be carried out twice."""

    def __init__(self, world: World, name: str, nodes: Sequence[NodeInfo], options: EngineOptions) -> None:
        self._world = world
        self.name = name
        self._nodes = tuple(nodes)
        self._options = options
        self._log = StateLog(world, name, world.disk(name, "manager"), LOG, self._snapshot, COMPACT_BYTES, copied=True)
        self._next_number = 1
        self._numbering = Lock()
        self._stream_locks = Locks[str]()
        self._extent_locks = Locks[int]()
        self.directory = directory.Directory()
        self.making: dict[int, None] = {}
        self._in_doubt: dict[int, None] = {}
        self.room: dict[str, int] = {}
        self.failed_at_ns: dict[str, int] = {}

    @classmethod
    async def boot(cls, world: World, name: str, nodes: Sequence[NodeInfo], options: EngineOptions) -> StreamManager:
        """Starts the manager from its log.

        DataCorrupt: both copies of that were damaged at rest. FormatError: it has what this version does not read.
        """
        manager = cls(world, name, nodes, options)
        recovered = await manager._log.open()
        if recovered.damaged_inside:
            raise DataCorrupt(f"{name}: the log of the stream manager is damaged")
        for body in recovered.bodies:
            try:
                decoded = _DECODER.decode(body)
            except msgspec.ValidationError as error:
                raise FormatError(f"{name}: a record that this version does not read: {error}") from error
            if isinstance(decoded, directory.Directory):
                manager.directory = decoded
            else:
                manager.directory.apply(decoded)
        manager.directory.check()
        manager._next_number = manager.directory.reserved_below
        if recovered.uneven:
            world.event("copies of the log differed", name)
            await manager._log.renew()
        world.register(name, SERVICE, manager)
        return manager

    # ------------------------------------------------------------------------------------------------ streams

    async def create(self, identity: str, name: str, epoch: int) -> None:
        """Makes an empty stream. StreamExists, LimitReached."""
        async with self._stream_locks.hold(name):
            if identity in self.directory.done:
                return
            if name in self.directory.streams:
                raise StreamExists(name)
            if len(self.directory.streams) >= self._options.streams_max:
                raise LimitReached(f"there are {self._options.streams_max} streams already")
            await self.commit(directory.CreateStream(identity, name, epoch))

    async def delete(self, identity: str, name: str) -> None:
        """Removes a stream; a missing one is no error."""
        async with self._stream_locks.hold(name):
            if identity not in self.directory.done and name in self.directory.streams:
                await self.commit(directory.DeleteStream(identity, name))

    async def exists(self, name: str) -> bool:
        """Whether the stream is there."""
        return name in self.directory.streams

    async def view(self, name: str) -> tuple[ExtentView, ...]:
        """The extents of a stream in order. StreamMissing."""
        return tuple([await self.locate(extent) for extent in self._stream(name).extents])

    async def locate(self, extent: int) -> ExtentView:
        """Where an extent lies. NotThere."""
        info = self.directory.extents.get(extent)
        if info is None:
            raise NotThere(f"there is no extent {extent}")
        return ExtentView(extent, info.replicas, info.sealed)

    async def acquire(self, name: str, epoch: int) -> None:
        """Makes ``epoch`` the owner and seals the last extent. Fenced, StreamMissing."""
        async with self._stream_locks.hold(name):
            await self._own(name, epoch)
            await self._seal_last(name)

    async def tail(self, name: str, epoch: int, failed: int) -> ExtentView:
        """The open extent of a stream, other than ``failed``, which is sealed where it still is open.

        Fenced, StreamMissing, LimitReached; Unreachable where no replica could be sealed or placed.
        """
        async with self._stream_locks.hold(name):
            stream = self._stream(name)
            if epoch > stream.epoch:
                await self._own(name, epoch)
                await self._seal_last(name)
            if epoch < stream.epoch:
                raise Fenced(f"{name} belongs to {stream.epoch}, no longer to {epoch}")
            last = self.directory.last(name)
            if last is not None and self.directory.extents[last].sealed is None:
                if last != failed:
                    return await self.locate(last)
                await self.seal(last)
            return await self.locate(await self._add_extent(name))

    async def drop_before(self, name: str, extent: int) -> None:
        """Takes the extents before one out of a stream; one that is not in it changes nothing."""
        async with self._stream_locks.hold(name):
            extents = self._stream(name).extents
            if extent in extents and extents[0] != extent:
                await self.commit(directory.DropExtents(name, extent))

    async def concatenate(self, identity: str, target: str, sources: tuple[str, ...], epoch: int) -> None:
        """Adds the extents of sources, sealed, to the end of a stream."""
        async with self._stream_locks.hold(target, *sources):
            if identity in self.directory.done:
                return
            for name in (target, *sources):
                if epoch < self._stream(name).epoch:
                    raise Fenced(f"{name} belongs to a later owner than {epoch}")
            for name in (target, *sources):
                await self._seal_last(name)
            await self.commit(directory.AddSources(identity, target, sources))

    async def multi_modify(self, change: MultiModify) -> None:
        """Several changes as one command of the log, and so all or none."""
        names = [source for new in change.make for source in new.sources]
        async with self._stream_locks.hold(*names, *change.delete, *[new.name for new in change.make]):
            if change.id in self.directory.done:
                return
            for name in names:
                if change.epoch < self._stream(name).epoch:
                    raise Fenced(f"{name} belongs to a later owner than {change.epoch}")
            for name in change.delete:
                stream = self.directory.streams.get(name)
                if stream is not None and change.epoch < stream.epoch:
                    raise Fenced(f"{name} belongs to a later owner than {change.epoch}")
            for new in change.make:
                if new.name in self.directory.streams and new.name not in change.delete:
                    raise StreamExists(new.name)
            if len(self.directory.streams) + len(change.make) - len(change.delete) > self._options.streams_max:
                raise LimitReached(f"there are {self._options.streams_max} streams already")
            for name in names:
                await self._seal_last(name)
            await self.commit(directory.ModifyStreams(change))

    # ------------------------------------------------------------------------------------------------ extents

    async def seal(self, extent: int) -> int:
        """Seals an extent where it is open; its length. Unreachable where that cannot be decided now."""
        async with self._extent_locks.hold(extent):
            info = self.directory.extents.get(extent)
            if info is None:
                raise NotThere(f"there is no extent {extent}")
            if info.sealed is not None:
                return info.sealed
            answers = await self._ask_all(info.replicas, "freeze", extent)
            length, holders = _sealed_length(extent, info.replicas, answers)
            reached = [node for node, answer in zip(info.replicas, answers, strict=True) if isinstance(answer, tuple)]
            if len(reached) < len(info.replicas):
                self._world.event(f"seal with {len(reached)} of {len(info.replicas)}", extent, length)
            await self.commit(directory.SealExtent(extent, length))
            self._world.event("sealed", extent, length)
            await self._ask_all(reached, "seal", extent, length, holders)
            return length

    async def bring_back(self, node: str) -> None:
        """Brings the replicas of a node, which was away, to what was decided without it.

        Open replicas of sealed extents are cut or filled, and replicas that the directory does not know are deleted.
        """
        for extent, _, sealed, made in await self._world.call(self.name, node, EXTENTS, "inventory"):
            info = self.directory.extents.get(extent)
            if info is None:
                if extent not in self.making and extent < self._next_number:
                    await self._world.call(self.name, node, EXTENTS, "delete", extent, made)
            elif not sealed and info.sealed is not None and node in info.replicas:
                self._world.event("brought back", node, extent)
                await self._world.call(self.name, node, EXTENTS, "seal", extent, info.sealed, info.replicas)

    async def poll(self) -> None:
        """Asks every node once: who answers, how much room it has; brings back who was away."""
        for node in self._nodes:
            try:
                self.room[node.name] = await self._world.call(self.name, node.name, EXTENTS, "room")
                self.failed_at_ns.pop(node.name, None)
                await self.bring_back(node.name)
            except EngineError as error:
                self._note_failed(node.name, error)

    async def poll_for_ever(self) -> None:
        """Polls every period, as a task of the manager's node."""
        while True:
            await self.poll()
            await self._world.sleep(self._options.poll_period_ns)

    @property
    def nodes(self) -> tuple[NodeInfo, ...]:
        """The extent nodes there are."""
        return self._nodes

    def usable(self) -> list[NodeInfo]:
        """Nodes that did not fail within the last period."""
        since = self._world.clock_ns(self.name) - self._options.poll_period_ns
        return [node for node in self._nodes if self.failed_at_ns.get(node.name, since) <= since]

    async def _add_extent(self, name: str) -> int:
        if len(self.directory.extents) >= self._options.extents_max:
            raise LimitReached(f"there are {self._options.extents_max} extents already")
        count = self._options.replicas
        full: EngineError | None = None
        for _ in range(2 + len(self._nodes)):
            random = self._world.random("placement")
            replicas = place(self.usable(), self.room, count, random) or place(self._nodes, self.room, count, random)
            if replicas is None:
                raise Unreachable(f"there are no {count} nodes in distinct fault and upgrade domains")
            extent = await self.new_number()
            self.making[extent] = None
            answers = await self._ask_all(replicas, "create", extent, replicas)
            if any(isinstance(answer, EngineError) for answer in answers):
                del self.making[extent]
                full = next((answer for answer in answers if isinstance(answer, DiskFull)), full)
                continue
            try:
                await self.commit(directory.AddExtent(name, extent, replicas))
            except EngineError:
                self._in_doubt[extent] = None  # it is true or not after a crash now: its replicas stay
                raise
            del self.making[extent]
            return extent
        if full is not None:
            raise full
        raise Unreachable(f"no {count} nodes took an extent of {name}")

    async def new_number(self) -> int:
        """A number that no extent has."""
        async with self._numbering:
            number = self._next_number
            if number >= self.directory.reserved_below:
                await self.commit(directory.ReserveNumbers(number + NUMBERS_AT_ONCE))
            self._next_number = number + 1
            return number

    async def _ask_all(
        self, nodes: Sequence[str], method: str, *arguments: object
    ) -> list[tuple[int, bool] | EngineError | None]:
        answers = await self._world.gather([self._ask(node, method, arguments) for node in nodes], self.name)
        for node, answer in zip(nodes, answers, strict=True):
            if isinstance(answer, EngineError):
                self._note_failed(node, answer)
        return answers

    async def _ask(self, node: str, method: str, arguments: tuple[object, ...]) -> tuple[int, bool] | None:
        answer: tuple[int, bool] | None = await self._world.call(self.name, node, EXTENTS, method, *arguments)
        return answer

    def _note_failed(self, node: str, error: EngineError) -> None:
        self._world.event("extent node failed", node, type(error).__name__)
        self.failed_at_ns[node] = self._world.clock_ns(self.name)

    # ------------------------------------------------------------------------------------------------ the log

    async def commit(self, command: directory.Command) -> None:
        """Makes a command durable, then true. DiskError: it is not true; it may be after a crash, until another is."""
        in_doubt = tuple(self._in_doubt)
        await self._log.commit(_ENCODER.encode(command), lambda: self.directory.apply(command))
        for extent in in_doubt:  # the log was written anew without them
            self._in_doubt.pop(extent, None)
            self.making.pop(extent, None)

    def _snapshot(self) -> tuple[bytes, ...]:
        return (_ENCODER.encode(self.directory),)

    async def _own(self, name: str, epoch: int) -> None:
        stream = self._stream(name)
        if epoch < stream.epoch:
            raise Fenced(f"{name} belongs to {stream.epoch}, no longer to {epoch}")
        if epoch > stream.epoch:
            await self.commit(directory.OwnStream(name, epoch))

    async def _seal_last(self, name: str) -> None:
        last = self.directory.last(name)
        if last is not None:
            await self.seal(last)

    def _stream(self, name: str) -> directory.StreamInfo:
        stream = self.directory.streams.get(name)
        if stream is None:
            raise StreamMissing(name)
        return stream

    def check(self) -> None:
        """AssertionError where the directory is not as it must be."""
        self.directory.check()
        self._stream_locks.check()
        self._extent_locks.check()
        by_name = {node.name: node for node in self._nodes}
        for extent, info in self.directory.extents.items():
            if info.sealed is None:
                held = [by_name[node] for node in info.replicas]
                assert len({node.fault_domain for node in held}) == len(held), f"extent {extent}: fault domains"
                assert len({node.upgrade_domain for node in held}) == len(held), f"extent {extent}: upgrade domains"


def _sealed_length(
    extent: int, replicas: Sequence[str], answers: Sequence[tuple[int, bool] | EngineError | None]
) -> tuple[int, tuple[str, ...]]:
    """Where an extent ends by the commit lengths of the replicas that answered, and who has all of it.

    The least of the certain ones. Where all that answered are uncertain (each ended in torn bytes, as after a power
    cut), the greatest: none has less than was acknowledged unless it was damaged, and two are not damaged at once [H].
    DataCorrupt where there is only one, and it is.
    """
    lengths = [(node, *answer) for node, answer in zip(replicas, answers, strict=True) if isinstance(answer, tuple)]
    certain = [length for _, length, sure in lengths if sure]
    if certain:
        end = min(certain)
    else:
        for answer in answers:
            if len(answers) == 1 and isinstance(answer, DataCorrupt):
                raise answer
        away = sum(isinstance(answer, Unreachable) for answer in answers)
        if not lengths or (away and len(lengths) < 2):
            raise Unreachable(f"extent {extent} cannot be sealed: too few of its replicas answer")
        end = max(length for _, length, _ in lengths)
    return end, tuple(node for node, length, _ in lengths if length >= end)
