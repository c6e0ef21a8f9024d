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
