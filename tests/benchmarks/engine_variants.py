"""Ways to store the same keys that ``bench_engine`` times: RocksDB, one replica of a range, and the whole path."""

from __future__ import annotations

import gc
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pkadvisor.engine.embedded_store import EmbeddedStore
    from pkadvisor.engine.options import EngineOptions
    from pkadvisor.engine.partition.range_partition import RangePartition
    from pkadvisor.engine.stamp import Stamp
    from pkadvisor.engine.worlds.machine import Machine

Figures = dict[str, "Rate"]

VALUE = Random(5).randbytes(512) + b"x" * 512
TABLE = "items"
WIDTH, SCANS, READS = 100, 500, 50_000
CLIENTS = 64
GROUP = 100


def keys_of(rows: int) -> list[tuple[str, str]]:
    """PartitionKey and RowKey of random rows; partitions are skewed."""
    chance = Random(1)
    return [(f"tenant-{int(2000 * chance.random() ** 2):05}", f"{chance.getrandbits(60):020}") for _ in range(rows)]


def row_key(key: tuple[str, str]) -> bytes:
    """The same under which the engine keeps a row."""
    return f"devstoreaccount1\0{TABLE}\0{key[0]}\0{key[1]}".encode()


def say(*words: object) -> None:
    """Progress."""
    print(*words, file=sys.stderr, flush=True)


class Rate(float):
    """How many per second by the clock; ``cpu`` by the processor time of this thread, which other processes vary less.

    RocksDB flushes and compacts on threads of its own, which only the clock sees.
    """

    cpu: float


class Watch:
    """Adds up the time of this thread, by the clock and by the processor."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0

    def __enter__(self) -> None:
        self.wall -= time.perf_counter()
        self.cpu -= time.thread_time()

    def __exit__(self, *_: object) -> None:
        self.wall += time.perf_counter()
        self.cpu += time.thread_time()

    def rate(self, count: float) -> Rate:
        """How many of so many per second."""
        found = Rate(count / self.wall)
        found.cpu = count / self.cpu
        return found


def rate(count: int, work: Callable[[], object]) -> Rate:
    """How many per second."""
    gc.collect()
    watch = Watch()
    with watch:
        work()
    return watch.rate(count)


@contextmanager
def folder(parent: Path | None) -> Iterator[Path]:
    """A directory that goes again."""
    path = Path(tempfile.mkdtemp(prefix="bench-engine-", dir=parent))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def reads_and_scans(keys: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Which keys are read, in no order, and where scans begin, in order."""
    read = list(keys[:: max(1, len(keys) // READS)])
    Random(2).shuffle(read)
    return read, sorted(Random(3).sample(list(keys), min(SCANS, len(keys))))


def rocksdict(keys: Sequence[tuple[str, str]], path: Path) -> Figures:
    """The peer."""
    import rocksdict as peer

    names = [row_key(key) for key in keys]
    read, begin = reads_and_scans(names)
    store = peer.Rdict(str(path / "peer"), peer.Options(raw_mode=True))

    def put() -> None:
        for name in names:
            store[name] = VALUE

    def get() -> None:
        assert sum(len(store[name]) for name in read) == len(VALUE) * len(read)

    def scan() -> int:
        found = 0
        for low in begin:
            width = 0
            for _ in store.items(from_key=low):
                width += 1
                if width == WIDTH:
                    break
            found += width
        return found

    figures = {"put": rate(len(names), put)}
    store.flush()
    figures["get"] = rate(len(read), get)
    figures["scan"] = timed_rows(scan)
    store.close()
    return figures


def timed_rows(work: Callable[[], int]) -> Rate:
    """Rows per second of a work that says how many it met."""
    gc.collect()
    watch = Watch()
    with watch:
        rows = work()
    return watch.rate(rows)


def open_range(
    path: Path, options: EngineOptions, *, sync: bool = False, nodes: int = 1, load: bool = False
) -> tuple[Machine, RangePartition]:
    """A range partition on the stream layer, without servers above it."""
    from pkadvisor.engine.partition.range_partition import RangePartition
    from pkadvisor.engine.stream.topology import lay_out
    from pkadvisor.engine.worlds.machine import Machine

    world = Machine(path, sync=sync)
    layer = lay_out(world, options, count=nodes, poll=False)
    world.run(layer.start())
    streams = layer.client("bench")
    if load:
        partition = world.run(RangePartition.load(world, "bench", streams, options, 1, 2))
    else:
        partition = world.run(RangePartition.create(world, "bench", streams, options, 1, b"", None, 1))
    partition.look_after_itself()
    return world, partition


def one_replica(keys: Sequence[tuple[str, str]], path: Path) -> Figures:
    """A range partition whose streams have one replica."""
    from pkadvisor.engine.options import EngineOptions

    names = [row_key(key) for key in keys]
    read, begin = reads_and_scans(names)
    world, partition = open_range(path, replace(EngineOptions(), replicas=1))
    run = world.run

    def put() -> None:
        for name in names:
            change = ((name, VALUE),)
            run(partition.write((name,), lambda _rows, _sequence, change=change: change))  # type: ignore[misc]

    def get() -> None:
        bytes_read = 0
        for name in read:
            row = run(partition.read(name))
            assert row is not None
            bytes_read += len(row[1])
        assert bytes_read == len(VALUE) * len(read)

    def scan() -> int:
        found = 0
        for low in begin:
            cursor = partition.cursor(low, None)
            width = 0
            while width < WIDTH and (rows := run(cursor.next())):
                for _key, _sequence, _value in rows:
                    width += 1
                    if width == WIDTH:
                        break
            cursor.close()
            found += width
        return found

    figures = {"put": rate(len(names), put)}
    run(partition.checkpoint())
    figures["get"] = rate(len(read), get)
    figures["scan"] = timed_rows(scan)
    say("checkpoints", len(partition.tree.checkpoints))
    world.close()
    return figures


@contextmanager
def whole_path(
    path: Path, options: EngineOptions, boundaries: tuple[bytes, ...] = ()
) -> Iterator[tuple[Machine, Stamp, EmbeddedStore]]:
    """A stamp with everything in it, and an account with a table."""
    from pkadvisor.engine.embedded_store import EmbeddedStore
    from pkadvisor.engine.stamp import Layout, Stamp
    from pkadvisor.engine.tables.table_service import TableService
    from pkadvisor.engine.worlds.machine import Machine
    from pkadvisor.table.store import CreateTable

    with Machine(path, sync=False) as world:
        stamp = Stamp(world, options, Layout(extent_nodes=max(1, options.replicas), boundaries=boundaries))
        world.run(stamp.start())
        store = EmbeddedStore(world, TableService(stamp.front_end(), sole=True))
        assert store.execute(CreateTable(TABLE), 0).ok
        yield world, stamp, store


def entities(keys: Iterable[tuple[str, str]], value: bytes = VALUE) -> Iterator[Any]:
    """Entities of 1 KB, or of another value: one binary property."""
    from pkadvisor.table.edm import EdmType
    from pkadvisor.table.store import Entity, EntityKey, Property

    for key in keys:
        yield Entity(EntityKey(*key), {"Value": Property(EdmType.BINARY, value)})


def three_replicas(keys: Sequence[tuple[str, str]], path: Path) -> Figures:
    """Table service, front end, partition server, range, streams of three replicas with checksums."""
    from pkadvisor.engine.options import EngineOptions

    options = EngineOptions()
    with whole_path(path, options) as (world, stamp, store):
        figures = {"put": insert(store, keys)}
        for partition in partitions(stamp):
            world.run(partition.checkpoint())
        read, begin = reads_and_scans(keys)
        figures["get"] = rate(len(read), lambda: look_up(store, read))
        figures["scan"] = timed_rows(lambda: page_through(store, begin))
    with whole_path(path / "clients", options) as (_, _, store):
        figures["put_clients"] = insert_beside(store, keys)
    with whole_path(path / "groups", options) as (_, _, store):
        groups = [(f"group-{i:06}", f"{j:020}") for i in range(len(keys) // GROUP) for j in range(GROUP)]
        figures["group"] = insert_groups(store, groups)
    return figures


def partitions(stamp: Stamp) -> list[RangePartition]:
    """The range partitions of a stamp."""
    return [hosted.partition for server in stamp.servers.values() for hosted in server._ranges.values()]


def insert(store: EmbeddedStore, keys: Sequence[tuple[str, str]]) -> Rate:
    """One entity after the other; entities per second."""
    from pkadvisor.table.store import InsertOrReplace

    return carried_out(store, len(keys), (InsertOrReplace(TABLE, each) for each in entities(keys)))


def insert_beside(store: EmbeddedStore, keys: Sequence[tuple[str, str]]) -> Rate:
    """Single puts of many clients, each of which waits for its answer before the next; entities per second."""
    from pkadvisor.table.store import InsertOrReplace

    operations, watch = (InsertOrReplace(TABLE, each) for each in entities(keys)), Watch()
    gc.collect()
    while some := list(islice(operations, 20 * CLIENTS)):
        left = iter(some)

        async def client(left: Iterator[Any] = left) -> None:
            for operation in left:
                assert (await store.perform(operation)).ok

        with watch:
            store.run_all(client() for _ in range(CLIENTS))
    return watch.rate(len(keys))


def insert_groups(store: EmbeddedStore, keys: Sequence[tuple[str, str]], value: bytes = VALUE) -> Rate:
    """Entity group transactions, of keys that follow one another; entities per second."""
    from pkadvisor.table.store import Group, Insert

    writes = (Insert(TABLE, each) for each in entities(keys, value))
    groups = (Group(tuple(islice(writes, GROUP))) for _ in range(0, len(keys), GROUP))
    return carried_out(store, len(keys), groups, at_once=1)


def carried_out(store: EmbeddedStore, count: int, operations: Iterator[Any], at_once: int = 20) -> Rate:
    """How many per second; operations are the caller's, and made ``at_once`` at a time while the clock stands.

    Of thousands of entities that wait to be written Python's collector of cycles makes work that is not the engine's.
    """
    execute, watch = store.execute, Watch()
    gc.collect()
    while some := list(islice(operations, at_once)):
        with watch:
            for operation in some:
                assert execute(operation, 0).ok
    return watch.rate(count)


def look_up(store: EmbeddedStore, keys: Sequence[tuple[str, str]]) -> None:
    """Point reads."""
    from pkadvisor.table.store import EntityKey, Get

    for key in keys:
        (found,) = store.execute(Get(TABLE, EntityKey(*key)), 0).entities
        assert found.properties["Value"].value


def page_through(store: EmbeddedStore, keys: Sequence[tuple[str, str]]) -> int:
    """Pages of up to 100 entities of one partition."""
    from pkadvisor.table.store import Query

    found = 0
    for partition_key, low in keys:
        text = f"PartitionKey eq '{partition_key}' and RowKey ge '{low}'"
        page = store.execute(Query(TABLE, text, top=WIDTH), 0)
        assert page.entities
        found += len(page.entities)
    return found
