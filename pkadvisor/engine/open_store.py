"""Opens the engine in one line: on a directory of real files, or in virtual time.

The nodes of a directory are laid out when it is made and stay as they are: the directory says how many replicas there
are, and a later process that asks for another number is refused rather than served from a part of the disks.
"""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from pkadvisor.engine.capacity.capacity import Capacity, Enforcement
from pkadvisor.engine.embedded_store import EmbeddedStore
from pkadvisor.engine.options import MS, SECOND, EngineOptions
from pkadvisor.engine.stamp import Layout, Stamp
from pkadvisor.engine.stream.kept_twice import KeptTwice
from pkadvisor.engine.tables.table_rules import PUBLISHED, TableLimits
from pkadvisor.engine.tables.table_service import TableService
from pkadvisor.engine.worlds.directory_snapshot import DirectorySnapshot
from pkadvisor.engine.worlds.directory_snapshot import backup_directory as _backup_directory
from pkadvisor.engine.worlds.durability import durability_of
from pkadvisor.engine.worlds.machine import Machine
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.world import DiskFull, EngineError, FormatError, World, WriteRefusal
from pkadvisor.limits import Limits

ACCOUNT = "devstoreaccount1"
START_NS = 60 * SECOND
"""How long a stamp may take until it serves everything."""
ON_FILES_NS = 5 * SECOND
"""How long an operation waits for a range on files: no message is lost on its way within one process."""
T = TypeVar("T")
_NODE, _DEVICE, _FILE = "directory", "state", "layout"


class Backup(NamedTuple):
    """What a backup wrote."""

    files: int
    bytes: int


class NotStarted(EngineError):  # noqa: N818
    """The stamp does not serve what it holds: a device refuses, or too much of it is lost."""


class _DirectoryNodes(msgspec.Struct, frozen=True):
    """What a directory knows of its nodes."""

    extent_nodes: int
    replicas: int
    servers: int


def open_directory(
    path: Path | str,
    *,
    durability: str = "synced",
    replicas: int | None = None,
    account: str = ACCOUNT,
    options: EngineOptions | None = None,
    table_limits: TableLimits = PUBLISHED,
    capacity: Capacity | None = None,
) -> EmbeddedStore:
    """A store on real files and the real clock; it finds everything that was acknowledged before.

    A new directory gets one replica where nobody says how many: all would lie on one disk. Three of them mend damaged
    bytes, and write everything three times. ``durability`` says when an acknowledged write survives the loss of power:
    'synced', at once; 'every 50 ms', that much later; 'written', when the system has written it. With each of them it
    survives the end of the process, kill −9 included. Close the store, or use it in a ``with``.

    FormatError: a directory of a newer version, of another number of replicas, or of something else. DirectoryInUse:
    another process has it. DiskFull, DiskError: nothing can be written. NotStarted: it cannot serve what it holds.
    """
    sync, every_ns = durability_of(durability)
    world = Machine(Path(path), sync=sync, sync_every_ns=every_ns)
    try:
        nodes = _run(world, _kept(world, Path(path), replicas))
        store = _opened(world, nodes, account, options, table_limits, capacity)
        world.work_when_idle()
        return store
    except BaseException:
        world.close()
        raise


def open_read_only(
    path: Path | str,
    *,
    account: str = ACCOUNT,
    options: EngineOptions | None = None,
    table_limits: TableLimits = PUBLISHED,
) -> EmbeddedStore:
    """What a directory held when this was called: all that was acknowledged. It writes nothing and takes no lock.

    So it works on a full disk, on one that cannot be written, and beside a process that has the store open, whose later
    writes it does not see. Writes get 403 StoreIsReadOnly. In memory it holds what lies in journals and log.

    FormatError: no store, or one of a newer version. DirectoryInUse: the owner changes it too fast, try again.
    NotStarted: it cannot serve what it holds.
    """
    world = Machine(DirectorySnapshot(Path(path)))
    try:
        nodes = _run(world, _known(world, Path(path), _layout_file(world)))
        if nodes is None:
            raise FormatError(f"{path} does not say how many replicas it has: its making was broken off")
        return _opened(world, nodes, account, options, table_limits, None)
    except BaseException:
        world.close()
        raise


def backup_directory(source: Path | str, target: Path | str) -> Backup:
    """Copies a store to a new or empty directory, which ``open_directory`` opens: all that was acknowledged is in it.

    The store may be open, here or in another process, and goes on; it may lie on a full disk.

    FormatError: no store, or the target holds something, lies within the store or around it. DirectoryInUse: the owner
    changes the store too fast, try again. DiskFull, DiskError: the target refuses; what was written there is removed.
    """
    return Backup(*_backup_directory(Path(source), Path(target)))


def open_virtual(
    seed: int = 0,
    *,
    limits: Limits | None = None,
    enforcement: Enforcement = Enforcement.STRICT,
    options: EngineOptions | None = None,
    layout: Layout | None = None,
    table_limits: TableLimits | None = None,
) -> EmbeddedStore:
    """A store in a simulator: deterministic from its seed, time passes only as operations say.

    With ``limits`` a :class:`Capacity` judges every request by their targets, and what a page may examine within its
    five seconds follows from them; without, nothing is throttled and nothing takes time. Where no
    ``options`` are given the balancer's idea of a full range and server follows the limits as well.

    ``layout.boundaries`` begins with ranges apart (a table that has been warmed up);
    without them there is one range. ``store.world`` is the simulator, for faults and events.
    """
    capacity = None
    if options is None:
        options = EngineOptions()
        if limits is not None:
            options = replace(
                options,
                range_requests_per_s=max(1, int(limits.range_entities_per_s)),
                server_requests_per_s=max(1, int(limits.server_entities_per_s)),
            )
    if limits is not None:
        capacity = Capacity(limits, options, enforcement, seed)
    if table_limits is None:
        table_limits = PUBLISHED
        if limits is not None and limits.scan_ms_per_entity > 0:
            examined = int(table_limits.page_ns / (limits.scan_ms_per_entity * MS))
            table_limits = replace(table_limits, page_examined=max(1, examined))
    world = Simulator(seed)
    try:
        stamp = Stamp(world, options, layout, capacity=capacity)
        world.run(stamp.start(), limit_ns=START_NS)
    except BaseException:
        world.close()
        raise
    return _store(world, stamp, ACCOUNT, table_limits)


def _store(world: Machine | Simulator, stamp: Stamp, account: str, table_limits: TableLimits) -> EmbeddedStore:
    service = TableService(stamp.front_end(), account, limits=table_limits, sole=True)
    return EmbeddedStore(world, service, stamp=stamp, table_limits=table_limits)


def _run(world: Machine, coroutine: Coroutine[Any, Any, T]) -> T:
    return world.run(coroutine)


def _opened(
    world: Machine,
    nodes: _DirectoryNodes,
    account: str,
    options: EngineOptions | None,
    table_limits: TableLimits,
    capacity: Capacity | None,
) -> EmbeddedStore:
    options = replace(options or EngineOptions(operation_timeout_ns=ON_FILES_NS), replicas=nodes.replicas)
    layout = Layout(extent_nodes=nodes.extent_nodes, servers=nodes.servers)
    to_read = world.writes_refused() is WriteRefusal.READ_ONLY
    stamp = Stamp(world, options, layout, capacity=capacity, background=not to_read)
    _run(world, _started(world, stamp))
    store = _store(world, stamp, account, table_limits)
    if to_read:  # nobody can clear deleted tables
        store.service.tables.clearing = False
    return store


def _layout_file(world: World) -> KeptTwice:
    return KeptTwice(world, world.disk(_NODE, _DEVICE), _FILE)


async def _known(world: Machine, path: Path, file: KeptTwice) -> _DirectoryNodes | None:
    """What the directory knows of its nodes; None where it is new."""
    written = await file.read()
    if written is not None:
        return msgspec.json.decode(written, type=_DirectoryNodes)
    if file.damaged or world.lengths():  # one replica of three would be served as if it were the store
        raise FormatError(
            f"{path} does not say how many replicas it has: files in {_NODE}/{_DEVICE} are damaged or gone"
        )
    return None


async def _kept(world: Machine, path: Path, replicas: int | None) -> _DirectoryNodes:
    """What the directory knows of its nodes; a new one learns it here. The write tells at once when a disk is full."""
    file = _layout_file(world)
    stored = await _known(world, path, file)
    if stored is not None:
        if replicas is not None and replicas != stored.replicas:
            raise FormatError(
                f"{path} was made with {stored.replicas} replicas, not {replicas}; its data lies on those"
            )
    else:
        count = 1 if replicas is None else replicas
        if count < 1:
            raise ValueError("a stream has at least one replica")
        stored = _DirectoryNodes(extent_nodes=count, replicas=count, servers=1)
    await file.write(msgspec.json.encode(stored))
    return stored


async def _started(world: Machine, stamp: Stamp) -> None:
    """Starts a stamp on a real clock, which does not wait for ever, nor for what is surely lost."""
    task = world.spawn(stamp.start())
    task.when_done(_nothing)
    ends_ns = world.now_ns() + START_NS
    while not task.done:
        if world.counts["acknowledged bytes lost"]:
            raise NotStarted("writes that were acknowledged are lost: the journal of their only replica is damaged")
        if world.now_ns() > ends_ns and world.writes_refused() is WriteRefusal.FULL:
            raise DiskFull("the disk of the store is full: to be opened it needs room for what lies in its journals")
        if world.now_ns() > ends_ns:
            raise NotStarted(
                f"not everything is served after {START_NS // SECOND} s: a device refuses, or data is lost"
            )
        await world.sleep(MS)
    task.result()


def _nothing() -> None:
    """Waits for nothing."""
