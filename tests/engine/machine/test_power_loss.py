"""What each durability leaves after a loss of power: files as the device has them, at moments of a store's life."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pkadvisor.engine.embedded_store import EmbeddedStore
from pkadvisor.engine.open_store import open_directory, open_read_only
from pkadvisor.engine.options import SECOND, EngineOptions
from pkadvisor.engine.worlds.durability import EVERY_MS_MAX, durability_of
from pkadvisor.engine.worlds.machine import Machine
from pkadvisor.engine.worlds.machine_disk import MachineDisk, MachineFile
from pkadvisor.table.edm import EdmType
from pkadvisor.table.store import CreateTable, Entity, EntityKey, Insert, Property, Query
from tests.engine.world.test_idle import until
from tests.tiers import sizes

SMALL = EngineOptions(
    extent_bytes_target=8 << 10,
    memory_table_bytes=12 << 10,
    log_bytes=24 << 10,
    page_bytes=1 << 10,
    journal_segment_bytes=12 << 10,
)
SECTOR = 512
ROWS, IMAGES = sizes((200, 2), (1_000, 60), "simulation")
STRUCTURE = 12
"""So many times likelier is a loss of power after a write that tells of the parts of a store."""


class Device:
    """Knows of each file how much was synced, and makes directories as a loss of power leaves them."""

    def __init__(self, patch: pytest.MonkeyPatch, source: Path, chance: Random) -> None:
        self.source, self.chance = source, chance
        self.synced: dict[int, int] = {}
        self.images: list[tuple[Path, int]] = []
        self.acknowledged = 0
        self.share = 0.0
        self._held: list[int] = []
        for name in ("fdatasync", "fsync"):
            patch.setattr(os, name, self._sync)
        for kind, name in (
            (MachineFile, "_append"),
            (MachineFile, "write_through"),
            (MachineDisk, "replace"),
            (MachineDisk, "delete"),
        ):
            patch.setattr(kind, name, self._beside(getattr(kind, name)))

    def _sync(self, descriptor: int) -> None:
        status = os.fstat(descriptor)
        if status.st_ino not in self.synced:  # held open, its number is not given to another file
            self._held.append(os.dup(descriptor))
        self.synced[status.st_ino] = status.st_size

    def _beside(self, real: Any) -> Any:
        def plain(*arguments: Any) -> Any:
            result = real(*arguments)
            self._perhaps(1)
            return result

        async def waits(*arguments: Any) -> Any:
            result = await real(*arguments)
            subject = arguments[0]
            if not (isinstance(subject, MachineFile) and subject._path.parent.name == "journal"):
                self._perhaps(STRUCTURE)
            return result

        return plain if real is MachineFile._append else waits

    def _perhaps(self, weight: int) -> None:
        here = threading.current_thread() is threading.main_thread()
        if here and self.chance.random() < weight * self.share:
            self.lose_power(self.chance.choice(("lost", "lost", "kept", "torn", "sectors")))

    def close(self) -> None:
        for descriptor in self._held:
            os.close(descriptor)

    def unsynced(self) -> int:
        files = [path.stat() for path in self.source.rglob("*") if path.is_file()]
        return sum(status.st_size - self.synced.get(status.st_ino, 0) for status in files)

    def lose_power(self, fate: str) -> Path:
        """A directory with what the device has: of bytes that were not synced what ``fate`` says."""
        target = self.source.with_name(f"image {len(self.images)}")
        for path in self.source.rglob("*"):
            if path.is_file():
                copy = target / path.relative_to(self.source)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(self._left(path, fate))
        self.images.append((target, self.acknowledged))
        return target

    def _left(self, path: Path, fate: str) -> bytes:
        data, durable = bytearray(path.read_bytes()), self.synced.get(path.stat().st_ino, 0)
        if fate == "lost" or (fate == "torn" and self.chance.random() < 0.3):
            return bytes(data[:durable])
        if fate == "torn":
            return bytes(data[: self.chance.randrange(durable, len(data) + 1)])
        if fate == "sectors":
            for start in range(durable, len(data), SECTOR):
                if self.chance.random() < 0.3:
                    end = min(start + SECTOR, len(data))
                    data[start:end] = bytes(end - start)
        return bytes(data)


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Device]:
    device = Device(monkeypatch, tmp_path / "store", Random(request.node.name))
    yield device
    device.close()


def insert(store: EmbeddedStore, row: int) -> None:
    entity = Entity(EntityKey("p", f"{row:06}"), {"v": Property(EdmType.STRING, f"{row}" * 30)})
    assert store.execute(Insert("tab", entity)).ok


def rows_of(store: EmbeddedStore) -> Iterator[int]:
    token = ""
    while True:
        page = store.execute(Query("tab", continuation=token))
        assert page.ok
        yield from (int(entity.key.row_key) for entity in page.entities)
        token = page.continuation
        if not token:
            return


@pytest.mark.parametrize("replicas", sizes([1], [1, 3], "simulation"))
@pytest.mark.parametrize("durability", ["synced", f"every {EVERY_MS_MAX} ms"])
def test_a_loss_of_power_leaves_all_or_all_but_the_last_writes(durability: str, replicas: int, device: Device) -> None:
    with open_directory(device.source, durability=durability, replicas=replicas, options=SMALL) as store:
        assert store.execute(CreateTable("tab")).ok
        device.lose_power("kept")  # so that all later ones have the table
        device.share = IMAGES / ROWS / replicas
        for row in range(ROWS):
            insert(store, row)
            device.acknowledged += 1
        device.share = 0.0
        device.lose_power("lost")
        assert store.world.counts["checkpoint"] > 1  # type: ignore[attr-defined]
    losses = []
    for image, acknowledged in device.images[1:]:
        with open_directory(image, durability="written", options=SMALL) as store:
            if store.execute(CreateTable("tab")).ok:  # its row was not synced yet
                assert durability != "synced"
            rows = list(rows_of(store))
            assert rows == list(range(len(rows))), "a later write is there without an earlier one"
            assert len(rows) <= acknowledged + 1
            losses.append(acknowledged - len(rows))
            store.check()
    assert max(losses) == 0 if durability == "synced" else max(losses) > 0


def test_what_is_acknowledged_is_on_the_device_after_the_time_named_though_nobody_calls(
    device: Device,
) -> None:
    with open_directory(device.source, durability="every 30 ms") as store:
        assert store.execute(CreateTable("tab")).ok
        for row in range(20):
            insert(store, row)
        assert device.unsynced(), "the last ones still wait"
        until(lambda: not device.unsynced())
        image = device.lose_power("lost")
    with open_read_only(image) as store:
        assert list(rows_of(store)) == list(range(20))


def test_a_store_that_is_closed_has_nothing_left_to_sync(device: Device) -> None:
    with open_directory(device.source, durability=f"every {EVERY_MS_MAX} ms") as store:
        assert store.execute(CreateTable("tab")).ok
        insert(store, 0)
        assert device.unsynced()
    assert not device.unsynced()


@pytest.mark.parametrize("name", ["", "sync", "every 0 ms", "every 60001 ms", "every 5ms", "every -1 ms", "Synced"])
def test_another_name_is_refused_in_words(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'synced', 'written' or 'every N ms' with N from 1 to 60000, not"):
        open_directory(tmp_path / "store", durability=name)
    assert not (tmp_path / "store").exists()
    assert durability_of("every 50 ms") == (True, 50_000_000)


@pytest.mark.parametrize("what", ["open", "replace", "delete", "truncate", "write_through"])
def test_what_tells_of_the_parts_of_a_store_is_written_after_the_journals_are_on_the_device(
    what: str, device: Device
) -> None:
    async def settled() -> int:
        journal, disk = await world.disk("n", "journal").open("j.00000001"), world.disk("n", "data")
        catalog = await disk.open("catalog")
        await journal.write_through(b"acknowledged")
        before = device.unsynced()
        match what:
            case "open":
                await disk.open("another")
            case "replace":
                await disk.replace("catalog", b"")
            case "delete":
                await disk.delete("catalog")
            case "truncate":
                await catalog.truncate(0)
            case _:
                await catalog.write_through(b"")
        return before

    with Machine(device.source, sync_every_ns=60 * SECOND) as world:
        assert world.run(settled()) == len(b"acknowledged")
        assert not device.unsynced()
