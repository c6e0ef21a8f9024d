"""A store opened to read, a backup of it, and its statistics, whatever its owner does meanwhile."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import pytest

from pkadvisor.engine.embedded_store import EmbeddedStore
from pkadvisor.engine.open_store import backup_directory, open_directory, open_read_only, open_virtual
from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.stream.manager import StreamManager
from pkadvisor.engine.worlds import directory_snapshot
from pkadvisor.engine.worlds.directory_snapshot import DirectorySnapshot, FileStatus, FrozenFile, OverlayFile
from pkadvisor.engine.worlds.world import DirectoryInUse, DiskFull, FormatError, ReadFailed
from pkadvisor.table.edm import EdmType
from pkadvisor.table.store import (
    CreateTable,
    Delete,
    DeleteTable,
    Entity,
    EntityKey,
    Get,
    Group,
    Insert,
    InsertOrReplace,
    Property,
    Query,
)
from tests.engine.world.test_machine import file_size_limit

T = TypeVar("T")
BUSY = EngineOptions(  # so that checkpoints, new extents and new journal segments come every few writes
    extent_bytes_target=64 << 10,
    memory_table_bytes=16 << 10,
    log_bytes=32 << 10,
    page_bytes=1 << 10,
    journal_segment_bytes=16 << 10,
)
ROUNDS = 2


def entity(row: int) -> Entity:
    return Entity(EntityKey("p", f"{row:06}"), {"v": Property(EdmType.STRING, f"{row}" * 40)})


def fill(store: EmbeddedStore, rows: range) -> None:
    for row in rows:
        assert store.execute(Insert("tab", entity(row))).ok


def rows_of(store: EmbeddedStore) -> list[int]:
    rows: list[int] = []
    token = ""
    while True:
        page = store.execute(Query("tab", continuation=token))
        assert page.ok
        rows += [int(each.key.row_key) for each in page.entities]
        assert all(each == replace(each, properties=entity(int(each.key.row_key)).properties) for each in page.entities)
        token = page.continuation
        if not token:
            return rows


def test_extents_that_a_crash_left_half_sealed_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The directory knows the seal, the node does not: whoever writes brings it back, and so does whoever reads."""
    ask_all = StreamManager._ask_all

    async def unsealed(manager: StreamManager, nodes: Any, method: str, *arguments: Any) -> Any:
        return () if method == "seal" else await ask_all(manager, nodes, method, *arguments)

    monkeypatch.setattr(StreamManager, "_ask_all", unsealed)
    with open_directory(tmp_path, replicas=1, durability="written", options=BUSY) as store:
        assert store.execute(CreateTable("tab")).ok
        fill(store, range(700))
    monkeypatch.undo()
    with open_read_only(tmp_path, options=BUSY) as store:
        assert store.world.counts["brought back"]  # type: ignore[attr-defined]
        assert rows_of(store) == [*range(700)]


def content(directory: Path) -> dict[Path, tuple[int, bytes]]:
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in directory.rglob("*") if path.is_file()}


@pytest.mark.parametrize("replicas", [1, 3])
def test_a_snapshot_is_of_one_moment_while_the_owner_writes(
    replicas: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between any two files that are looked at the owner may write: a prefix of its writes is seen."""
    listed, chance, last = directory_snapshot.files_below, Random(replicas), 0
    with open_directory(tmp_path / "store", durability="written", replicas=replicas, options=BUSY) as owner:
        assert owner.execute(CreateTable("tab")).ok

        def write(count: int) -> None:
            nonlocal last
            fill(owner, range(last, last + count))
            last += count

        def beside(directory: Path) -> Iterator[tuple[str, Path]]:
            files = list(listed(directory))
            breaks = {chance.randrange(len(files)): chance.choice((1, 3, 60)) for _ in range(chance.choice((0, 1, 2)))}
            for number, each in enumerate(files):
                write(breaks.get(number, 0))
                yield each

        monkeypatch.setattr(directory_snapshot, "PAUSE_S", 0.0)
        monkeypatch.setattr(directory_snapshot, "OPEN_MAX", 30)
        for number in range(ROUNDS if replicas == 1 else 1):
            first = last
            with monkeypatch.context() as patch:
                patch.setattr(directory_snapshot, "files_below", beside)
                backup_directory(tmp_path / "store", tmp_path / str(number))
                store = open_read_only(tmp_path / "store", options=BUSY)
            write(20)  # a later change is not seen
            with store:
                rows = rows_of(store)
                assert first <= len(rows) < last and rows == list(range(len(rows)))
                store.check()
            with open_directory(tmp_path / str(number), durability="written", options=BUSY) as copy:
                rows = rows_of(copy)
                assert first <= len(rows) < last and rows == list(range(len(rows)))
                copy.check()
        assert owner.stamp is not None and owner.world.counts["checkpoint"] >= 1  # type: ignore[attr-defined]


def test_what_is_open_to_read_refuses_writes_in_words_and_changes_no_byte(tmp_path: Path) -> None:
    """Also where nothing can be written; a table whose deletion is not done yet is no trouble."""
    with open_directory(tmp_path / "store", replicas=1, durability="written", options=BUSY) as owner:
        assert owner.execute(CreateTable("tab")).ok and owner.execute(CreateTable("gone")).ok
        fill(owner, range(40))
        assert owner.execute(DeleteTable("gone")).ok
    before = content(tmp_path / "store")
    with file_size_limit(0), open_read_only(tmp_path / "store", options=BUSY) as store:
        assert rows_of(store) == list(range(40))
        for write in (
            Insert("tab", entity(99)),
            InsertOrReplace("tab", entity(1)),
            Delete("tab", EntityKey("p", "000001")),
            Group((Insert("tab", entity(98)),)),
            CreateTable("another"),
            DeleteTable("tab"),
        ):
            refused = store.execute(write)
            assert (refused.status, refused.code) == (403, "StoreIsReadOnly")
            assert "opened to read" in refused.message
        assert rows_of(store) == list(range(40))
        assert store.world.counts["combine"] == 0  # type: ignore[attr-defined]
    assert content(tmp_path / "store") == before


def test_what_is_no_store_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    for path in (tmp_path, tmp_path / "thesis.txt", tmp_path / "missing"):
        with pytest.raises(FormatError, match="no directory of the engine"):
            open_read_only(path)
    with open_directory(tmp_path / "store", replicas=1, durability="written") as store:
        assert store.execute(CreateTable("tab")).ok
    monkeypatch.setattr(directory_snapshot, "is_one_moment", lambda before, after: False)
    monkeypatch.setattr(directory_snapshot, "PAUSE_S", 0.0)
    with pytest.raises(DirectoryInUse, match="changes too fast"):
        open_read_only(tmp_path / "store")


def test_a_backup_never_writes_over_anything_and_leaves_nothing_half_done(tmp_path: Path) -> None:
    source, target = tmp_path / "store", tmp_path / "backup"
    with open_directory(source, replicas=1, durability="written") as store:
        assert store.execute(CreateTable("tab")).ok
        fill(store, range(20))
        for within in (source, source / "below", tmp_path):
            with pytest.raises(FormatError, match="a directory of its own"):
                backup_directory(source, within)
        target.mkdir()
        with file_size_limit(1000), pytest.raises(DiskFull):
            backup_directory(source, target)
        assert list(target.iterdir()) == []
        made = backup_directory(source, target)
        copied = [path for path in target.rglob("*") if path.is_file() and path.parent != target]
        assert made == (len(copied), sum(path.stat().st_size for path in copied))
    before = content(target)
    with pytest.raises(FormatError, match="holds something already"):
        backup_directory(source, target)
    assert content(target) == before
    with open_directory(target, durability="written") as store:
        assert rows_of(store) == list(range(20))


def test_statistics_count_what_is_there(tmp_path: Path) -> None:
    with open_directory(tmp_path, replicas=3, durability="written") as store:
        assert store.execute(CreateTable("tab")).ok
        fill(store, range(50))
        numbers = store.statistics()
        assert (numbers.ranges, numbers.rows_estimated, numbers.checkpoints) == (1, 51, 0)
        assert numbers.log_bytes > 50 * 40 and numbers.memory_table_bytes > numbers.row_bytes > 50 * 40
        on_disk = [path for path in tmp_path.rglob("*") if path.is_file() and path.parent != tmp_path]
        assert numbers.files == len(on_disk)
        assert numbers.file_bytes == sum(path.stat().st_size for path in on_disk)
        assert numbers.file_bytes > numbers.journal_bytes >= 3 * numbers.log_bytes
        assert store.execute(Delete("tab", EntityKey("p", "000001"))).ok
        assert store.stamp is not None
        (hosted,) = store.stamp.servers["server-0"]._ranges.values()
        store.world.run(hosted.partition.checkpoint())
        for row in (7, 7, 7):
            assert store.execute(Get("tab", EntityKey("p", f"{row:06}"))).ok
        numbers = store.statistics()
        assert (numbers.rows_estimated, numbers.checkpoints, numbers.memory_table_bytes) == (50, 1, 0)
        assert numbers.log_bytes < 200 and numbers.checkpoint_bytes > 0
        assert numbers.cache_misses > 0 and numbers.cache_hits >= 2 and numbers.cache_bytes > 0
    with open_virtual(1) as store:
        assert store.execute(CreateTable("tab")).ok
        assert store.statistics().files > 0 and store.statistics().ranges == 1


@pytest.mark.parametrize(
    ("name", "inode", "size", "same"),
    [
        ("n/journal/a.00000001", 1, 20, True),
        ("n/data/0000000000000001.extent", 1, 20, True),
        ("n/data/0000000000000001.extent", 1, 9, False),
        ("n/data/0000000000000001.extent", 2, 10, False),
        ("n/data/catalog", 1, 20, False),
        ("stream-manager/manager/directory", 1, 20, False),
        ("locks/state/leases", 2, 10, False),
    ],
)
def test_only_journals_and_extents_may_grow_between_two_listings(name: str, inode: int, size: int, same: bool) -> None:
    before, after = {name: FileStatus(1, 10)}, {name: FileStatus(inode, size)}
    assert directory_snapshot.is_one_moment(before, after) is same
    assert not directory_snapshot.is_one_moment(before, {**before, "n/data/another": FileStatus(3, 0)})


def test_all_lengths_are_those_of_one_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint in a file that is looked at late tells of an extent that one looked at early must know of."""
    with open_directory(tmp_path / "store") as store:
        assert store.execute(CreateTable("tab")).ok
    growing, right = next((tmp_path / "store").rglob("*.extent")), DirectorySnapshot._lengths_now
    passes = list[int]()

    def grows(snapshot: DirectorySnapshot) -> list[int]:
        lengths = right(snapshot)
        passes.append(len(lengths))
        if len(passes) < 4:
            growing.write_bytes(growing.read_bytes() + b"more")
        return lengths

    monkeypatch.setattr(DirectorySnapshot, "_lengths_now", grows)
    snapshot = DirectorySnapshot(tmp_path / "store")
    assert snapshot.lengths() == {name: (tmp_path / "store" / name).stat().st_size for name in snapshot.lengths()}
    assert len(passes) == 6
    snapshot.close()


def test_a_file_over_a_frozen_one_reads_as_the_bytes_that_it_holds(tmp_path: Path) -> None:
    chance, path = Random(1), tmp_path / "frozen"
    path.write_bytes(bytes(range(40)) + b"later")
    for _ in range(30):
        file, held = OverlayFile("f", FrozenFile(path, path.stat().st_ino, 40)), bytearray(range(40))
        for _ in range(6):
            if chance.random() < 0.5:
                size = chance.randrange(len(held) + 1)
                run(file.truncate(size))
                del held[size:]
            else:
                data = chance.randbytes(chance.randrange(20))
                assert run(file.append(data)) == len(held)
                held += data
            offset, length = chance.randrange(60), chance.randrange(60)
            assert run(file.read(offset, length)) == held[offset : offset + length]
            assert file.size() == len(held)
    path.rename(tmp_path / "old")
    path.write_bytes(bytes(45))
    with pytest.raises(ReadFailed, match="deleted by its owner"):
        run(OverlayFile("f", FrozenFile(path, (tmp_path / "old").stat().st_ino, 40)).read(0, 1))


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    with pytest.raises(StopIteration) as stop:
        coroutine.send(None)
    return stop.value.value  # type: ignore[no-any-return]
