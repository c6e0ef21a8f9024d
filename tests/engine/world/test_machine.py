"""The machine: real files whose errors are told, whose directory is guarded, and which survive kill −9."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pkadvisor.engine.worlds import machine_disk
from pkadvisor.engine.worlds.directory_snapshot import FORMAT_VERSION
from pkadvisor.engine.worlds.machine import Machine
from pkadvisor.engine.worlds.tasks import Future
from pkadvisor.engine.worlds.world import (
    DirectoryInUse,
    DiskError,
    DiskFull,
    EngineError,
    FormatError,
    ReadFailed,
    Unreachable,
)
from tests.engine.worlds import machine


class Echo:
    """A service."""

    async def say(self, text: str) -> str:
        return text

    async def refuse(self) -> None:
        raise EngineError("no")


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Lets the system refuse to let files grow further: a disk that fills in the middle of a write."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_what_was_written_is_there_when_the_directory_is_opened_again(tmp_path: Path) -> None:
    for turn in range(3):
        with machine(tmp_path / "store") as world:
            disk = world.disk("n", "d")
            file = world.run(disk.open("log"))
            assert file.size() == turn * 3
            assert world.run(file.append(b"abc")) == turn * 3
            world.run(file.sync())
            assert world.run(file.read(0, 100)) == b"abc" * (turn + 1)
            world.run(disk.replace("root", b"%d" % turn))
            assert world.run(world.run(disk.open("root")).read(0, 9)) == b"%d" % turn
            assert disk.names() == ("log", "root")
    with machine(tmp_path / "store", sync=False) as world:
        disk = world.disk("n", "d")
        file = world.run(disk.open("log"))
        world.run(file.truncate(4))
        world.run(file.truncate(8))
        assert (file.size(), world.run(file.read(2, 9))) == (4, b"ca")
        world.run(disk.delete("root"))
        world.run(disk.delete("root"))
        assert disk.names() == ("log",)
        assert disk.free_bytes() > 0


def test_a_directory_of_a_newer_format_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    with machine(tmp_path):
        pass
    text = (tmp_path / "format").read_text(encoding="utf-8")
    newer = text.replace(str(FORMAT_VERSION), str(FORMAT_VERSION + 1))
    (tmp_path / "format").write_text(newer, encoding="utf-8")
    with pytest.raises(FormatError, match=f"format version {FORMAT_VERSION + 1}; this version of pkadvisor reads"):
        Machine(tmp_path)
    assert (tmp_path / "format").read_text(encoding="utf-8") == newer
    for broken in ("", "something else", text.replace("1", "one")):
        (tmp_path / "format").write_text(broken, encoding="utf-8")
        with pytest.raises(FormatError, match="does not say which format version"):
            Machine(tmp_path)


def test_a_directory_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("dear", encoding="utf-8")
    with pytest.raises(FormatError, match=r"letters\.txt"):
        Machine(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letters.txt"]


def test_a_crash_before_the_format_was_written_does_not_lock_the_directory_up(tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    (tmp_path / "format.new").write_text("half", encoding="utf-8")
    with machine(tmp_path):
        assert str(FORMAT_VERSION) in (tmp_path / "format").read_text(encoding="utf-8")


def test_only_one_machine_holds_a_directory(tmp_path: Path) -> None:
    with machine(tmp_path), pytest.raises(DirectoryInUse, match="in use"):
        Machine(tmp_path)
    Machine(tmp_path).close()


def test_a_disk_that_fills_within_a_write_keeps_what_was_there_and_takes_no_part(tmp_path: Path) -> None:
    with machine(tmp_path) as world:
        disk = world.disk("n", "d")
        file = world.run(disk.open("f"))
        world.run(file.append(b"a" * 8_000))
        world.run(disk.replace("root", b"old"))
        with file_size_limit(10_000):
            with pytest.raises(DiskFull):
                world.run(file.append(b"b" * 4_000))
            with pytest.raises(DiskFull):
                world.run(disk.replace("root", b"n" * 20_000))
            assert (file.size(), (tmp_path / "n/d/f").stat().st_size) == (8_000, 8_000)
            assert world.run(file.read(7_990, 100)) == b"a" * 10
            world.run(file.append(b"c" * 2_000))
        assert world.run(file.append(b"d")) == 10_000
        assert (tmp_path / "n/d/root").read_bytes() == b"old"


def test_errors_of_the_device_are_told_and_a_failed_sync_ends_all_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with machine(tmp_path) as world:
        file = world.run(world.disk("n", "d").open("f"))
        world.run(file.append(b"abc"))
        with monkeypatch.context() as patch:
            patch.setattr(machine_disk.os, "pread", broken)
            with pytest.raises(ReadFailed, match="Input/output"):
                world.run(file.read(0, 3))
            patch.setattr(machine_disk.os, "write", broken)
            with pytest.raises(DiskError, match="Input/output"):
                world.run(file.append(b"def"))
            patch.setattr(machine_disk.os, "fdatasync", broken)
            with pytest.raises(DiskError, match="sync failed"):
                world.run(file.sync())
        for refused in (file.append(b"x"), file.sync(), file.truncate(0)):
            with pytest.raises(DiskError, match="sync failed"):
                world.run(refused)
        assert world.run(file.read(0, 9)) == b"abc"


def test_a_sync_goes_on_beside_other_tasks_and_covers_only_what_was_written_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, told, order = threading.Event(), [], []

    def slow(descriptor: int) -> None:
        assert go.wait(10)
        told.append(os.fstat(descriptor).st_size)

    with machine(tmp_path) as world:
        disk = world.disk("n", "d")
        file, other = world.run(disk.open("f")), world.run(disk.open("g"))

        async def first() -> None:
            await file.append(b"a")
            await file.sync()
            order.append("first")

        async def second() -> None:
            await file.append(b"b")
            go.set()
            await file.sync()
            order.append("second")

        async def deleted() -> None:
            await other.append(b"c")
            with pytest.raises(DiskError, match="gone"):
                await other.sync()

        async def all_of_them() -> None:
            tasks = [world.spawn(deleted(), "n"), world.spawn(first(), "n")]
            await world.pass_turn()
            await disk.delete("g")
            for task in [*tasks, world.spawn(second(), "n")]:
                await task

        with monkeypatch.context() as patch:
            patch.setattr(machine_disk.os, "fdatasync", slow)
            world.run(all_of_them())
        assert order == ["first", "second"]
        assert len(told) == 3, "who wrote after a sync had begun waits for the next one"
        assert world.run(file.read(0, 9)) == b"ab"


def test_who_passes_its_turn_keeps_nobody_else_from_ending(tmp_path: Path) -> None:
    turns = 0

    async def for_ever() -> None:
        nonlocal turns
        while True:
            turns += 1
            await world.pass_turn()

    async def short() -> None:
        return

    with machine(tmp_path) as world:
        world.spawn(for_ever(), "n")
        for _ in range(10):
            world.run(short())
        assert 5 <= turns <= 30


def test_a_write_that_cannot_be_taken_back_ends_all_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with machine(tmp_path) as world:
        file = world.run(world.disk("n", "d").open("f"))
        with monkeypatch.context() as patch:
            patch.setattr(machine_disk.os, "ftruncate", broken)
            with file_size_limit(5), pytest.raises(DiskError, match="could not be taken back"):
                world.run(file.append(b"12345678"))
        with pytest.raises(DiskError, match="could not be taken back"):
            world.run(file.append(b"x"))


def test_more_files_than_descriptors_all_keep_working(tmp_path: Path) -> None:
    def open_files() -> int:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208

    with machine(tmp_path, descriptors_max=5) as world:
        disk = world.disk("n", "d")
        before = open_files()
        files = [world.run(disk.open(f"f{i:02}")) for i in range(40)]
        for turn in range(3):
            for number, file in enumerate(files):
                world.run(file.append(b"%02d" % number))
                assert world.run(file.read(turn * 2, 2)) == b"%02d" % number
        for file in files:
            world.run(file.sync())
        assert open_files() <= before + 5
        world.run(disk.delete("f07"))
        with pytest.raises(DiskError, match="gone"):
            world.run(files[7].append(b"x"))
        with pytest.raises(ReadFailed, match="gone"):
            world.run(files[7].read(0, 1))
        assert not (tmp_path / "n/d/f07").exists()


def test_names_drawn_by_chance_do_not_come_again_when_a_directory_is_opened_again(tmp_path: Path) -> None:
    drawn = []
    for _ in range(2):
        with machine(tmp_path) as world:
            drawn += [world.random(purpose).getrandbits(64) for purpose in ("a", "b", "a")]
    assert len(set(drawn)) == 6
    with machine(tmp_path, seed=1) as first, machine(tmp_path / "other", seed=1) as second:
        assert first.random("a").getrandbits(64) == second.random("a").getrandbits(64)


def test_half_written_replacements_are_cleared_away(tmp_path: Path) -> None:
    with machine(tmp_path) as world:
        world.run(world.disk("n", "d").replace("root", b"old"))
    (tmp_path / "n/d/root.new").write_bytes(b"ne")
    with machine(tmp_path) as world:
        assert world.disk("n", "d").names() == ("root",)
        assert not (tmp_path / "n/d/root.new").exists()


def test_calls_are_direct_and_a_missing_service_is_unreachable(tmp_path: Path) -> None:
    with machine(tmp_path) as world:
        world.register("b", "echo", Echo())
        assert world.run(world.call("a", "b", "echo", "say", "hello")) == "hello"  # type: ignore[arg-type]

        async def all_of_them() -> list[object]:
            calls = [world.call("a", target, "echo", method, *arguments) for target, method, *arguments in several]
            return list(await world.gather(calls, "a"))  # type: ignore[arg-type]

        several = [("b", "say", "x"), ("c", "say", "y"), ("b", "refuse"), ("b", "say", "z")]
        first, missing, refused, last = world.run(all_of_them())
        assert (first, last) == ("x", "z")
        assert isinstance(missing, Unreachable) and isinstance(refused, EngineError)


def test_tasks_run_beside_one_another_and_errors_surface(tmp_path: Path) -> None:
    with machine(tmp_path) as world:
        future: Future[int] = Future()

        async def boot() -> None:
            await world.sleep(1_000)
            future.resolve(7)

        async def waits() -> int:
            return await future

        world.add_node("n", boot)
        world.start("n")
        assert world.run(waits()) == 7

        async def wrong() -> None:
            await world.pass_turn()
            raise ValueError("a mistake")

        with pytest.raises(ValueError, match="a mistake"):
            world.run(wrong())
        world.spawn(wrong(), "n")
        with pytest.raises(ValueError, match="a mistake"):
            world.run(world.sleep(1_000))

        async def for_ever() -> None:
            await Future[None]()

        with pytest.raises(AssertionError, match="still waits"):
            world.run(for_ever())


CHILD = """
import sys
from pathlib import Path
from pkadvisor.engine.worlds.machine import Machine

world = Machine(Path(sys.argv[1]), sync=False)
disk = world.disk("n", "d")
log = world.run(disk.open("log"))
number = 0
while True:
    number += 1
    world.run(log.append(b"%08d" % number))
    world.run(disk.replace("root", b"%08d" % number * 500))
    print(number, flush=True)
"""


def test_kill_9_leaves_every_acknowledged_write_and_a_whole_replacement(tmp_path: Path) -> None:
    told = 0
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for turn in range(3):
        path = tmp_path / str(turn)
        command = [sys.executable, "-c", CHILD, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
            assert child.stdout is not None
            for _ in range(40 + 37 * turn):
                told = int(child.stdout.readline())
            child.send_signal(signal.SIGKILL)
            told = max([told, *map(int, child.stdout.read().split())])
        with machine(path) as world:
            disk = world.disk("n", "d")
            log = world.run(world.run(disk.open("log")).read(0, 1 << 20))
            assert log == b"".join(b"%08d" % number for number in range(1, len(log) // 8 + 1))
            root = world.run(world.run(disk.open("root")).read(0, 1 << 20))
            assert root == root[:8] * 500
            assert told <= int(root[:8]) <= len(log) // 8 <= told + 1
