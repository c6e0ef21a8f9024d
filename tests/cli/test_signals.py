"""SIGTERM at several moments, and a process that is killed: what is said, with which code, and what is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.support import clean_environment
from tests.stress.stressed import write_case
from tests.tiers import sizes

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends signals")

WAITING = """\
import sys, time
import {module} as module
def wait(*_, **__):
    print('ready', flush=True)
    time.sleep(60)
module.{name} = wait
from pkadvisor.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@contextmanager
def running(program: str, *arguments: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process in an empty folder, which is its place for temporary files too."""
    (folder / "tmp").mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(TMPDIR=str(folder / "tmp")),
        cwd=folder,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("module", "name", "command"),
    [
        ("pkadvisor.cli.commands.stress", "settle", "stress"),
        ("pkadvisor.cli.commands.stress", "build_request", "stress"),
        ("pkadvisor.usecases.stress", "load_limits", "stress"),
        ("pkadvisor.usecases.stress", "tables_of", "stress"),
        ("pkadvisor.usecases.analyze", "analyze", "analyze"),
    ],
)
def test_sigterm_before_anything_is_run_is_143_in_one_line(
    module: str, name: str, command: str, tmp_path: Path
) -> None:
    program = WAITING.format(module=module, name=name)
    with running(program, command, "--sample", "footrace", "--out", "json=out.json", folder=tmp_path) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (143, b"", b"ended by SIGTERM\n")
    assert [path.name for path in tmp_path.iterdir()] == ["tmp"] and not list((tmp_path / "tmp").iterdir())


ENDINGS = [(signal.SIGKILL, -9), (signal.SIGTERM, 143)]
"""How the process ends, the one that leaves it no time to end the other first, and its exit code."""
BESIDE = """\
import sys, time
from pkadvisor.stress.experiment import worker_process
from pkadvisor.usecases import stress
worker_process._processors, worker_process.ROWS_LEAST = (lambda: 2), 1
slow = "import pkadvisor.stress.experiment.design_run as s, time; s.design_alone = lambda *_: time.sleep(600); "
worker_process._PROGRAM = worker_process._PROGRAM.replace("from ", slow + "from ")
started = worker_process.started
def telling(*arguments):
    found = started(*arguments)
    print(found.process.pid, flush=True)
    return found
stress.started, stress.prepare = telling, lambda *_: time.sleep(600)
from pkadvisor.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def runs(pid: int) -> bool:
    """Whether a process is there and no mere entry that nobody asked for yet."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
@pytest.mark.parametrize(("number", "code"), sizes(ENDINGS[:1], ENDINGS, "proofs"))
def test_the_process_beside_ends_with_the_one_that_started_it(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    data, design, limits = write_case(tmp_path)
    more = ("--limits", limits, "--isolated", "-q")
    with running(BESIDE, "stress", data, "--design", design, *more, folder=tmp_path) as process:
        assert process.stdout is not None
        beside = int(process.stdout.readline())
        end = time.monotonic() + 60
        while b"answer" not in Path(f"/proc/{beside}/cmdline").read_bytes():
            assert time.monotonic() < end
        time.sleep(3)
        assert runs(beside)
        process.send_signal(number)
        process.communicate(timeout=30)
    assert process.returncode == code
    end = time.monotonic() + 10
    while runs(beside) and time.monotonic() < end:
        time.sleep(0.05)
    assert not runs(beside)
