"""A store on a directory of real files: found again, guarded, on a full disk; many operations under way at once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from pkadvisor.engine.embedded_store import EmbeddedStore
from pkadvisor.engine.open_store import NotStarted, open_directory, open_read_only, open_virtual
from pkadvisor.engine.options import MS, EngineOptions
from pkadvisor.engine.worlds.directory_snapshot import FORMAT_VERSION
from pkadvisor.engine.worlds.world import DirectoryInUse, DiskFull, FormatError
from pkadvisor.table.edm import EdmType
from pkadvisor.table.store import CreateTable, Entity, EntityKey, Get, Group, Insert, Property, Query, Update
from tests.engine.world.test_machine import file_size_limit

SOON = EngineOptions(operation_timeout_ns=300 * MS, heartbeat_ns=100 * MS)


def entity(row: object, value: int = 0, partition: str = "p") -> Entity:
    return Entity(EntityKey(partition, str(row)), {"v": Property(EdmType.INT64, value)})


def rows(store: EmbeddedStore) -> dict[str, object]:
    found: dict[str, object] = {}
    token = ""
    while True:
        page = store.execute(Query("tab", continuation=token))
        assert page.ok
        found.update((each.key.row_key, each.properties["v"].value) for each in page.entities)
        token = page.continuation
        if not token:
            return found


@pytest.mark.parametrize("replicas", [1, 3])
def test_a_restart_finds_everything(tmp_path: Path, replicas: int) -> None:
    small = replace(
        SOON, memory_table_bytes=8 << 10, log_bytes=32 << 10, page_bytes=512, operation_timeout_ns=5000 * MS
    )
    etags: dict[int, str] = {}
    for turn in range(3):
        with open_directory(
            tmp_path / "made" / "here", durability="written", replicas=replicas, options=small
        ) as store:
            created = store.execute(CreateTable("tab"))
            assert created.status == (409 if turn else 204)
            assert rows(store) == {str(row): row % 7 for row in range(200 * turn)}
            for row, etag in etags.items():
                assert store.execute(Get("tab", EntityKey("p", str(row)))).entities[0].etag == etag
            for row in range(200 * turn, 200 * turn + 200):
                (etags[row],) = store.execute(Insert("tab", entity(row, row % 7))).etags
            store.check()
            assert store.world.counts["maintenance failed"] == 0  # type: ignore[attr-defined]


def test_one_line_opens_it_and_the_directory_knows_its_replicas(tmp_path: Path) -> None:
    with open_directory(tmp_path / "store") as store:
        assert store.execute(CreateTable("tab")).ok
    with open_directory(tmp_path / "store") as store:
        assert store.execute(Insert("tab", entity("r"))).ok
    assert [path.name for path in (tmp_path / "store").glob("extent-node-*")] == ["extent-node-0"]
    with pytest.raises(FormatError, match="made with 1 replicas, not 3"):
        open_directory(tmp_path / "store", replicas=3)


@pytest.mark.parametrize("name", ["layout", "layout.copy"])
@pytest.mark.parametrize("bit", range(3))
def test_a_flipped_bit_in_what_tells_of_the_replicas_changes_nothing(name: str, bit: int, tmp_path: Path) -> None:
    """A "3" is a "1" after one of these flips, and one replica of three may lack what was acknowledged."""
    with open_directory(tmp_path, replicas=3, durability="written") as store:
        assert store.execute(CreateTable("tab")).ok
    file = tmp_path / "directory" / "state" / name
    whole = file.read_bytes()
    for place in (at for at, byte in enumerate(whole) if byte == ord("3")):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
        with open_directory(tmp_path, durability="written") as store:
            assert store.execute(Insert("tab", entity(place))).ok
            assert store.stamp is not None
            assert store.stamp.layout.extent_nodes == 3
        assert b'"replicas":3' in file.read_bytes(), "it is mended"


@pytest.mark.parametrize("gone", [True, False])
def test_a_store_of_which_nobody_knows_the_replicas_is_refused(gone: bool, tmp_path: Path) -> None:
    with open_directory(tmp_path, replicas=3, durability="written") as store:
        assert store.execute(CreateTable("tab")).ok
    for file in (tmp_path / "directory" / "state").iterdir():
        file.unlink() if gone else os.truncate(file, 20)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.name != "lock"}
    for opened in (open_directory, open_read_only):
        with pytest.raises(FormatError, match="does not say how many replicas"):
            opened(tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.name != "lock"} == before


def test_a_directory_of_a_newer_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    with open_directory(tmp_path, replicas=1, durability="written"):
        pass
    (tmp_path / "format").write_text(f"pkadvisor engine, format version {FORMAT_VERSION + 1}\n")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    with pytest.raises(FormatError, match=rf"version {FORMAT_VERSION + 1}; .* reads versions up to {FORMAT_VERSION}"):
        open_directory(tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_directory_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(FormatError, match=r"thesis\.txt"):
        open_directory(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_second_process_and_a_second_opening_are_refused_until_it_is_closed(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pkadvisor.engine.open_store import open_directory\n"
        "from pkadvisor.engine.worlds.world import DirectoryInUse\n"
        f"try: open_directory({str(tmp_path)!r})\nexcept DirectoryInUse as error: sys.exit(3)\n"
    )
    with open_directory(tmp_path, replicas=1, durability="written") as store:
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 3
        with pytest.raises(DirectoryInUse, match="another process"):
            open_directory(tmp_path)
        assert store.execute(CreateTable("tab")).ok
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    store.close()  # twice is no error


def test_a_forked_process_is_refused_and_its_parent_goes_on(tmp_path: Path) -> None:
    with open_directory(tmp_path / "store", replicas=1) as store:
        assert store.execute(CreateTable("tab")).ok
        child = os.fork()
        if not child:  # nothing of the test may run on in this process
            try:
                store.execute(Insert("tab", entity("child")))
            except DirectoryInUse as error:
                os._exit(7 if f"held by process {os.getppid()}" in str(error) else 1)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert store.execute(Insert("tab", entity("parent"))).ok
        assert rows(store) == {"parent": 0}


def test_on_a_full_disk_writes_fail_cleanly_reads_go_on_and_room_heals(tmp_path: Path) -> None:
    """No file may grow: the system refuses each write as a full device does."""
    store = open_directory(tmp_path / "store", durability="written", options=SOON)
    with store:
        assert store.execute(CreateTable("tab")).ok
        for row in range(20):
            assert store.execute(Insert("tab", entity(row, row))).ok
        with file_size_limit(0):
            for row in range(3):
                refused = store.execute(Insert("tab", entity(f"refused {row}")))
                assert refused.status in (500, 503), refused
                assert store.execute(Get("tab", EntityKey("p", "7"))).entities[0].properties["v"].value == 7
                assert set(rows(store)) == {str(row) for row in range(20)}
            with pytest.raises(DiskFull):
                open_directory(tmp_path / "another")
        for _ in range(20):
            healed = store.execute(Insert("tab", entity("later")))
            if healed.ok:
                break
        assert healed.ok
        assert {str(row) for row in range(20)} | {"later"} <= set(rows(store))
        store.check()
    with open_directory(tmp_path / "store") as store:
        assert {str(row) for row in range(20)} | {"later"} <= set(rows(store))
        assert store.execute(Insert("tab", entity("last"))).ok


@contextmanager
def small_file_system(folder: Path, megabytes: int) -> Iterator[Path]:
    """A file system of its own; skips where this process may not mount one."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    if not sys.platform.startswith("linux") or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this process may not mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_on_a_file_system_that_somebody_fills_reads_go_on_for_longer_than_a_lease(tmp_path: Path) -> None:
    """The reserve is 38 MB here. The store is opened again while room is short, and heals when there is some."""
    with small_file_system(tmp_path / "disk", 64) as disk:
        short, ballast = replace(SOON, lease_ns=600 * MS, clock_drift_ns_max=50 * MS), disk / "ballast"
        with open_directory(disk / "store", replicas=1, options=short) as store:
            assert store.execute(CreateTable("tab")).ok
            assert store.execute(Insert("tab", entity("early"))).ok
            free = os.statvfs(disk)
            ballast.write_bytes(bytes(free.f_bavail * free.f_frsize - (8 << 20)))
            for number in range(8):
                store.run_all([store.sleep_ms(250)])
                refused = store.execute(Insert("tab", entity(number)))
                assert (refused.status, refused.code) == (507, "InsufficientStorage")
                assert "disk of the store is full" in refused.message
                assert store.execute(Get("tab", EntityKey("p", "early"))).ok
                assert rows(store) == {"early": 0}
            assert store.world.counts["range read only"] == 0  # type: ignore[attr-defined]
        with open_directory(disk / "store", options=short) as store:
            assert rows(store) == {"early": 0}
            ballast.unlink()
            assert store.execute(Insert("tab", entity("later"))).ok
            assert rows(store) == {"early": 0, "later": 0}


def test_a_store_that_filled_its_file_system_opens_again(tmp_path: Path) -> None:
    """Nearly all that it holds lies in the journal, and is written out when it is opened."""
    with small_file_system(tmp_path / "disk", 16) as disk:
        with open_directory(disk / "store", replicas=1, durability="written") as store:
            assert store.execute(CreateTable("tab")).ok
            large, count = Property(EdmType.STRING, "x" * 30_000), 0
            while store.execute(Insert("tab", Entity(EntityKey("p", str(count)), {"v": large}))).ok:
                count += 1
        assert 50 < count < 500
        with open_directory(disk / "store", durability="written") as store:
            assert store.execute(Get("tab", EntityKey("p", str(count - 1)))).ok
            assert store.execute(Get("tab", EntityKey("p", str(count)))).status == 404


def test_a_store_that_cannot_come_up_gives_its_directory_back(tmp_path: Path) -> None:
    with open_directory(tmp_path, replicas=1, durability="written") as store:
        assert store.execute(CreateTable("tab")).ok
    with file_size_limit(0), pytest.raises(DiskFull):
        open_directory(tmp_path)
    with open_directory(tmp_path) as store:
        assert store.execute(Insert("tab", entity("r"))).ok


def test_the_only_replica_with_a_damaged_journal_is_refused_rather_than_served_in_part(tmp_path: Path) -> None:
    """S1: twice; what is known to be lost stays known."""
    with open_directory(tmp_path, replicas=1, durability="written") as store:
        assert store.execute(CreateTable("tab")).ok
        for row in range(50):
            assert store.execute(Insert("tab", entity(row))).ok
    (journal,) = (tmp_path / "extent-node-0").rglob("journal/*")
    damaged = bytearray(journal.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    journal.write_bytes(damaged)
    for _ in range(2):
        with pytest.raises(NotStarted, match="acknowledged are lost"):
            open_directory(tmp_path)


# ------------------------------------------------------------------------------------------------ many at once


def test_writes_that_are_under_way_together_share_the_syncs_of_their_log(tmp_path: Path, syncs: list[int]) -> None:
    """Group commit: one append holds them all, all or none of a group, each with its own answer."""
    with open_directory(tmp_path, replicas=3) as store:
        assert store.execute(CreateTable("tab")).ok
        syncs.clear()
        assert store.execute(Insert("tab", entity("one"))).ok
        alone = len(syncs)
        syncs.clear()
        found = store.perform_all([Insert("tab", entity(row % 150, row)) for row in range(200)])
        assert [outcome.status for outcome in found] == [204] * 150 + [409] * 50
        assert alone >= 3
        assert len(syncs) <= 4 * alone
        group = Group(tuple(Insert("tab", entity(f"g{row}", 1)) for row in range(50)))
        bad = Group((*(Insert("tab", entity(f"h{row}", 1)) for row in range(50)), Insert("tab", entity("one"))))
        assert [outcome.status for outcome in store.perform_all([group, bad])] == [202, 409]
    with open_directory(tmp_path) as store:
        assert set(rows(store)) == {"one"} | {str(row) for row in range(150)} | {f"g{row}" for row in range(50)}


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each sync of a file's data."""
    from pkadvisor.engine.worlds import machine_disk

    found: list[int] = []
    real = machine_disk.os.fdatasync

    def counted(descriptor: int) -> None:
        found.append(descriptor)
        real(descriptor)

    monkeypatch.setattr(machine_disk.os, "fdatasync", counted)
    return found


def test_of_updates_with_one_tag_that_are_under_way_together_one_wins(tmp_path: Path) -> None:
    with open_directory(tmp_path, durability="written") as store:
        assert store.execute(CreateTable("tab")).ok
        (tag,) = store.execute(Insert("tab", entity("r"))).etags
        found = store.perform_all([Update("tab", entity("r", value), tag) for value in range(20)])
        assert sorted(outcome.status for outcome in found) == [204] + [412] * 19


def test_an_error_of_one_client_is_raised_after_the_others_have_ended() -> None:
    with open_virtual(2) as store:
        assert store.execute(CreateTable("tab")).ok

        async def good() -> None:
            await store.sleep_ms(50)
            assert (await store.perform(Insert("tab", entity("good")))).ok

        async def bad() -> None:
            await store.sleep_ms(10)
            raise ValueError("a mistake of the client's")

        with pytest.raises(ValueError, match="mistake"):
            store.run_all([bad(), good()])
        assert rows(store) == {"good": 0}
        assert store.run_all([good() for _ in range(0)]) == []


def test_a_closed_store_says_so_at_once_whatever_it_is_asked(tmp_path: Path) -> None:
    for store in (open_directory(tmp_path, replicas=1, durability="written"), open_virtual(3)):
        assert store.execute(CreateTable("tab")).ok
        other = store.of_account("another")
        store.close()
        for closed in (store, other):
            with pytest.raises(ValueError, match="closed"):
                closed.execute(Insert("tab", entity("late")))
            with pytest.raises(ValueError, match="closed"):
                closed.run_all([])
        with pytest.raises(ValueError, match="closed"):
            store.check()
    with open_directory(tmp_path) as again:
        assert rows(again) == {}


def test_a_file_in_place_of_a_directory_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "thesis.txt"
    file.write_text("mine")
    with pytest.raises(FormatError, match=r"thesis\.txt is a file"):
        open_directory(file)
    assert file.read_text() == "mine"
