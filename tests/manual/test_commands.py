"""Every shell command of README and the manual does what the page says, on small files under the names shown."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import to_builtins

from pkadvisor.documents.schema_errors import typed
from tests.cli.support import clean_environment, in_process
from tests.manual.own_files import write_own_files
from tests.manual.pages import FILES, block_of, blocks_of

if TYPE_CHECKING:
    from pkadvisor.stress.experiment.request import StressRequest

_EXIT = re.compile(r"\s+# exit code (\d+)$")
_FOLDER = re.compile(r"\(?cd ([\w-]+) && ([^)]*)\)?")
_AUDITED, _RUN_S = (
    20,
    5.0,
)  # a short stress run, of which the engine carries out little: whole ones are tested elsewhere
_documents: dict[tuple[str, str], str] = {}


def commands_of(page: str) -> list[str]:
    """The lines of the shell blocks of a page; a backslash joins lines."""
    text = "\n".join(block.text for block in blocks_of(page) if block.language == "sh").replace("\\\n", " ")
    return [line for line in text.splitlines() if line.strip()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_own_files(
        tmp_path,
        limits=block_of("numbers", "toml", "limits"),
        rule=block_of("review-ci", "toml", "rule"),
        candidates=block_of("explain", "text", "keys.txt"),
    )
    return tmp_path


@pytest.fixture(autouse=True)
def computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What pages analyse or stress alike is computed once; the results of whole samples are those of all tests."""
    from pkadvisor.usecases import analyze, stress
    from tests.report.support import SAMPLES, request, result

    known = {repr(request(name, redact=redact)): (name, redact) for name in SAMPLES for redact in (False, True)}

    def once(use_case: Callable[..., Any]) -> Callable[..., Any]:
        def computed(asked: Any, progress: Any) -> Any:
            if repr(asked) in known:
                name, redact = known[repr(asked)]
                return typed(result(name, **({"redact": True} if redact else {})))
            key = repr(asked), _digest(Path())
            if key not in _documents:
                _documents[key] = json.dumps(to_builtins(use_case(asked, progress)))
            return typed(json.loads(_documents[key]))

        return computed

    monkeypatch.setattr(analyze, "analyze", once(analyze.analyze))
    drive = once(stress.stress)

    def short(asked: StressRequest, progress: Any) -> Any:
        duration_s = asked.duration_s or (None if "@" in asked.load else _RUN_S)
        return drive(replace(asked, audited_requests=_AUDITED, duration_s=duration_s), progress)

    monkeypatch.setattr(stress, "stress", short)


def _digest(folder: Path) -> str:
    """The content of all files that are read; what commands write is no input of an analysis."""
    texts = [path.read_bytes() for path in sorted(folder.rglob("*")) if path.suffix in (".csv", ".jsonl", ".yaml")]
    return hashlib.sha256(b"\0".join(texts)).hexdigest()


@functools.cache
def _shell_environment() -> dict[str, str]:
    return clean_environment(LC_ALL="C.UTF-8")


def carry_out(line: str, folder: Path, patch: pytest.MonkeyPatch) -> tuple[int, str]:
    """Carry out a line: what begins with ``advisor`` in this process, anything else by a shell; code and errors."""
    if found := _FOLDER.fullmatch(line):
        return carry_out(found[2], folder / found[1], patch)
    words = shlex.split(line)
    if words[0] != "advisor":
        done = subprocess.run(["bash", "-c", line], cwd=folder, env=_shell_environment(), capture_output=True)
        return done.returncode, done.stderr.decode()
    given, target = b"", None
    if "<" in words:
        given = (folder / words[words.index("<") + 1]).read_bytes()
    if ">" in words:
        target = folder / words[words.index(">") + 1]
    with patch.context() as here:
        here.chdir(folder)
        for name in os.environ.keys() - clean_environment().keys():
            here.delenv(name)
        ends = [words.index(sign) for sign in "<>" if sign in words]
        answer = in_process(words[1 : min(ends, default=None)], given, here)
    if target is not None:
        target.write_bytes(answer.stdout)
    return answer.returncode, answer.stderr.decode()


@pytest.mark.parametrize("shown_on", [name for name in FILES if commands_of(name)])
def test_the_commands_of_a_page_run_in_the_order_shown(
    shown_on: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for line in commands_of(shown_on):
        expected = int(found[1]) if (found := _EXIT.search(line)) else 0
        code, errors = carry_out(_EXIT.sub("", line), folder, monkeypatch)
        assert code == expected, (line, errors)
        assert "Traceback" not in errors


def test_a_command_that_does_not_exist_is_seen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert carry_out("advisor analyse orders.csv", folder, monkeypatch)[0] == 2
    assert carry_out("(cd logs && no-such-program)", folder, monkeypatch)[0] == 127
