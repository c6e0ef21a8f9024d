"""Running the command: inside this process, or as a program of its own where that is what is tested.

``run``     the command in this process, in an empty folder; answers as a finished process does
``spawn``   the same as a program of its own: imports, signals, pipes, what a process leaves behind
``advise``  the command in this process with a stand-in for the use cases
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pkadvisor.documents.schema_errors import typed
from pkadvisor.resources import resource
from tests.cli.support import Ask, Run, UseCases, clean_environment, in_process

if TYPE_CHECKING:
    from pkadvisor.inputs import AnalyzeRequest


class Answer(dict[str, Any]):
    """A result that need not be whole."""

    outcome = "done"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command in this process, in an empty folder, without a terminal."""

    def start(*arguments: str, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
        with monkeypatch.context() as patch:
            patch.chdir(tmp_path)
            for name in os.environ.keys() - clean_environment().keys():
                patch.delenv(name)
            for name, value in env.items():
                patch.setenv(name, value)
            return in_process(arguments, stdin, patch)

    return start


@pytest.fixture
def spawn(tmp_path: Path) -> Run:
    """The command as its own process, in an empty folder, without a terminal."""

    def start(*arguments: str, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "pkadvisor", *arguments],
            input=stdin,
            capture_output=True,
            env=clean_environment(**env),
            cwd=tmp_path,
            timeout=120,
            check=False,
        )

    return start


@pytest.fixture
def use_cases(monkeypatch: pytest.MonkeyPatch) -> UseCases:
    """Stands where the use cases and the renderers stand, so that conduct is tested apart from advice."""
    from dataclasses import make_dataclass

    played = UseCases()
    inputs = ["data", "sample", "logs", "design", "profiles", "limits", "input_format", "stdin_name"]
    choices = ["since", "until", "tables", "account", "max_bad_lines", "sample_rows", "redact", "seed", "top"]
    choices += ["entities_total", "log_fraction", "candidates", "budgets"]
    request_type = make_dataclass("AnalyzeRequest", [*inputs, *choices], frozen=True)

    def analyze(request: Any, progress: Any) -> dict[str, Any]:
        played.requests.append(request)
        played.behave(progress)
        return Answer(played.result)

    def profile(request: Any, progress: Any, *, salt: bytes) -> dict[str, Any]:
        played.salts.append(salt)
        return analyze(request, progress)

    def render_text(result: dict[str, Any], **options: Any) -> str:
        played.rendered.append(options)
        return played.text

    stand_ins: dict[str, dict[str, Any]] = {
        "inputs": {"AnalyzeRequest": request_type},
        "usecases.analyze": {"analyze": analyze},
        "usecases.profile": {"profile": profile},
        "report.text.verdict_page": {"render_text": render_text},
        "report.documents.result": {"dump_json": lambda document: json.dumps(document).encode() + b"\n"},
    }
    for name, members in stand_ins.items():
        module = types.ModuleType(f"pkadvisor.{name}")
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    for variable in list(os.environ):
        if variable.startswith("PKADVISOR_") or variable in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "GITHUB_ACTIONS"):
            monkeypatch.delenv(variable)
    return played


@pytest.fixture
def advise(
    use_cases: UseCases,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., tuple[int, str, str]]:
    """Runs a command line in this process: exit code, standard output, standard error."""
    from pkadvisor.cli.main import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path_factory.mktemp("traceback")))
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")

    def invoke(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return invoke


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Ask:
    """Runs a command line in this process, in an empty folder: exit code, standard output, standard error."""
    from pkadvisor.cli.main import main

    monkeypatch.chdir(tmp_path)

    def invoke(*words: str) -> tuple[int, str, str]:
        code = main([*words, "-q"])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return invoke


@pytest.fixture
def samples_analyzed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole bundled samples are not analysed again: their results are those that all tests share."""
    from pkadvisor.usecases import analyze as use_case
    from tests.report.support import SAMPLES, request, result

    analyze, known = (
        use_case.analyze,
        {request(name, redact=redact): (name, redact) for name in SAMPLES for redact in (False, True)},
    )

    def once(asked: AnalyzeRequest, progress: Any) -> Any:
        if asked not in known:
            return analyze(asked, progress)
        name, redact = known[asked]
        return typed(result(name, **({"redact": True} if redact else {})))

    monkeypatch.setattr(use_case, "analyze", once)


@pytest.fixture
def samples_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What ``explain``, ``score`` and ``compare`` read of bundled samples is read once for equal requests of a process,
    and what ``explain`` judges is judged once."""
    from pkadvisor.usecases import compare, explain, explain_scheme, score

    read_sections, judged_among = explain.read_sections, explain.judged_among
    samples = str(resource("samples"))

    def read(asked: AnalyzeRequest, progress: Any, **more: Any) -> Any:
        files = (*asked.data, *asked.logs, *([asked.design] if asked.design else ()))
        if not all(str(path).startswith(samples) for path in files):
            return read_sections(asked, progress, **more)
        key = repr((asked, more))
        if key not in _READ:
            _READ[key] = read_sections(asked, progress, **more)
        return _READ[key]

    def judged(section: Any, sections: Any, *more: Any, **choices: Any) -> Any:
        key = repr((more, choices))
        if not any(sections is known for known in _READ.values()):
            return judged_among(section, sections, *more, **choices)
        entry = (id(section), key)
        if entry not in _JUDGED:
            _JUDGED[entry] = judged_among(section, sections, *more, **choices)
        return _JUDGED[entry]

    for module in (explain, explain_scheme, score, compare):
        monkeypatch.setattr(module, "read_sections", read)
    for module in (explain, explain_scheme):
        monkeypatch.setattr(module, "judged_among", judged)


_READ: dict[str, Any] = {}
_JUDGED: dict[tuple[int, str], Any] = {}
"""By the section, which lives as long as this process."""


@pytest.fixture
def short_stress_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stress runs last seconds, of which the engine carries out little: whole ones are tested elsewhere."""
    from pkadvisor.usecases import stress

    drive = stress.stress

    def short(asked: Any, progress: Any) -> Any:
        return drive(replace(asked, audited_requests=20, duration_s=5.0), progress)

    monkeypatch.setattr(stress, "stress", short)
