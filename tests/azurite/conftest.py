"""Azurite's table service, started once for all tests that ask for it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from tests.azurite.process import free_port, stop, wait_until_it_answers
from tests.azurite.support import Azurite


@pytest.fixture(scope="session")
def azurite(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Azurite:
    """A table service that keeps everything in memory; tests that use it are marked ``requires("azurite")``.

    It ends with the run and not with the last of its tests, which would be charged for all that it did.
    """
    running = ExitStack()
    request.config.add_cleanup(running.close)
    return running.enter_context(started(tmp_path_factory.mktemp("azurite")))


@contextmanager
def started(folder: Path) -> Iterator[Azurite]:
    """The service with an empty folder to work in."""
    program = shutil.which("azurite-table")
    assert program is not None, 'mark the test with pytest.mark.requires("azurite")'
    port = free_port()
    command = [program, "--inMemoryPersistence", "--silent", "--disableTelemetry", "--skipApiVersionCheck"]
    command += ["--tableHost", "127.0.0.1", "--tablePort", str(port)]
    # AZURITE_ACCOUNTS and the like would change whom the service knows.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AZURITE_")}
    log = folder / "output.txt"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        ) as process,
    ):
        try:
            problem = wait_until_it_answers(process, port)
            if problem:
                text = log.read_text(encoding="utf-8", errors="replace")
                pytest.fail(f"{' '.join(command)}: {problem}; it says:\n{text}", pytrace=False)
            with closing(Azurite.at(port)) as running:
                yield running
        finally:
            stop(process)
