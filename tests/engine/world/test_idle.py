"""A store on real files that nobody calls does what is due: it keeps its leases, writes checkpoints and combines."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

from pkadvisor.engine.lsm import checkpoint_writer
from pkadvisor.engine.open_store import open_directory, open_read_only
from pkadvisor.engine.options import MS, EngineOptions
from pkadvisor.engine.stream.nodes import extent_store
from pkadvisor.engine.stream.nodes.device import Device
from pkadvisor.engine.worlds.machine import Machine
from pkadvisor.engine.worlds.world import File
from pkadvisor.table.edm import EdmType
from pkadvisor.table.store import CreateTable, Entity, EntityKey, Get, Insert, Property

QUICK = EngineOptions(
    lease_ns=160 * MS,
    heartbeat_ns=40 * MS,
    clock_drift_ns_max=20 * MS,
    memory_table_bytes=16 << 10,
    page_bytes=1 << 10,
    combine_fan_in=2,
)


def until(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < ends, "it never came"
        time.sleep(0.005)


def threads() -> int:
    return sum(thread.name == "engine-idle" for thread in threading.enumerate())


def test_an_idle_store_keeps_its_leases_and_goes_on_with_what_was_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint_writer, "TURN_BYTES", 1)  # a turn for each page
    with open_directory(tmp_path, replicas=1, durability="written", options=QUICK) as store:
        counts, stamp = store.world.counts, store.stamp  # type: ignore[attr-defined]
        assert stamp is not None and store.execute(CreateTable("tab")).ok
        server, value, row = stamp.servers["server-0"], Property(EdmType.STRING, "x" * 200), 0
        while counts["checkpoint"] < 2:  # two are combined, in many turns
            assert store.execute(Insert("tab", Entity(EntityKey("p", str(row)), {"v": value}))).ok
            row += 1
        assert counts["combine"] == 0, "the combine is still to come, and nobody calls"
        until(lambda: counts["combine"] == 1)
        begun = time.monotonic()
        until(lambda: time.monotonic() > begun + 3 * QUICK.lease_ns / 1e9)
        assert server.leased
        assert counts["server lost its lease"] == counts["server leased"] - 1 == 0
        assert all(store.execute(Get("tab", EntityKey("p", str(number)))).ok for number in range(row))
        store.check()


def test_what_fails_while_nobody_calls_is_raised_by_the_next_call(tmp_path: Path) -> None:
    async def fails() -> None:
        await world.sleep(30 * MS)
        events.append("due")
        raise RuntimeError("while idle")

    async def nothing() -> None:
        return

    events: list[str] = []
    with Machine(tmp_path, sync=False) as world:
        world.work_when_idle()
        world.spawn(fails())
        world.run(nothing())
        until(lambda: bool(events))
        with pytest.raises(RuntimeError, match="while idle"):
            world.run(nothing())
        world.run(nothing())


@pytest.mark.filterwarnings("ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning")
def test_the_thread_ends_with_its_store_also_with_one_that_nobody_closed(tmp_path: Path) -> None:
    before = threads()
    with open_directory(tmp_path / "store", replicas=1, durability="written") as store:
        assert threads() == before + 1
        assert store.execute(CreateTable("tab")).ok
        with open_read_only(tmp_path / "store"):
            assert threads() == before + 1, "what is open to read has nothing to do"
    assert threads() == before
    forgotten = open_directory(tmp_path / "store", durability="written")
    gone = weakref.ref(forgotten.world)
    del forgotten
    gc.collect()
    until(lambda: gone() is None and threads() == before)


def test_a_full_journal_is_written_out_in_pieces_with_turns_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces: list[int] = []
    write = Device.write

    async def noted(self: Device, file: File, data: bytes) -> None:
        pieces.append(len(data))
        await write(self, file, data)

    monkeypatch.setattr(Device, "write", noted)
    monkeypatch.setattr(extent_store, "WRITE_BYTES", 4 << 10)
    options = EngineOptions(journal_segment_bytes=32 << 10)
    rows = [Entity(EntityKey("p", str(number)), {"v": Property(EdmType.BINARY, bytes(500))}) for number in range(100)]
    with open_directory(tmp_path, replicas=1, durability="written", options=options) as store:
        assert store.execute(CreateTable("tab")).ok
        assert all(store.execute(Insert("tab", row)).ok for row in rows)
        assert sum(pieces) > 30 << 10 and max(pieces) < (4 << 10) + 1000
    with open_directory(tmp_path, durability="written", options=options) as store:
        assert all(store.execute(Get("tab", row.key)).entities[0].properties == row.properties for row in rows)
        store.check()
