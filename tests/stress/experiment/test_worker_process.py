"""A design that is run in a process of its own is the design that is run here."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from pkadvisor.limits import load_limits
from pkadvisor.progress import SilentProgress
from pkadvisor.stress.experiment import worker_process
from pkadvisor.stress.experiment.designs import tables_of
from pkadvisor.stress.experiment.request import StressRequest
from tests.plain import stress
from tests.stress.stressed import request_of


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processors, and a table that is worth a process."""
    monkeypatch.setattr(worker_process, "_processors", lambda: 2)
    monkeypatch.setattr(worker_process, "ROWS_LEAST", 1)


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that are started, none of which is told of Ctrl-C."""
    found: list[subprocess.Popen[bytes]] = []

    def noted(*arguments: Any, **more: Any) -> subprocess.Popen[bytes]:
        found.append(subprocess.Popen(*arguments, **more, start_new_session=True))
        return found[-1]

    monkeypatch.setattr(
        "pkadvisor.stress.experiment.worker_process.subprocess",
        type("Processes", (), {"Popen": staticmethod(noted), "DEVNULL": subprocess.DEVNULL, "PIPE": subprocess.PIPE}),
    )
    return found


def labels(document: dict[str, Any]) -> list[str]:
    return [design["label"] for design in document["tables"][0]["designs"]]


@pytest.mark.long("proofs")
def test_a_design_aside_is_the_same_as_here(
    tmp_path: Path, two: None, processes: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = request_of(tmp_path)
    beside = stress(asked, SilentProgress())
    assert [each.returncode for each in processes] == [0], "it ended well, and nobody ran it again"
    monkeypatch.setattr(worker_process, "_processors", lambda: 1)
    assert beside == stress(asked, SilentProgress())
    assert labels(beside) == ["current", "recommended"] and len(processes) == 1


@pytest.mark.parametrize(
    "program",
    ["raise SystemExit(3)", "import sys; sys.stdout.write('x')"],
)
@pytest.mark.long("proofs")
def test_what_fails_there_is_run_here(
    tmp_path: Path,
    two: None,
    processes: list[subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
    program: str,
) -> None:
    monkeypatch.setattr(worker_process, "_PROGRAM", program)
    monkeypatch.setattr(
        "pkadvisor.stress.experiment.design_run.proof_of", lambda *_: None
    )  # most of the time, and not the matter
    found = stress(request_of(tmp_path), SilentProgress())
    assert labels(found) == ["current", "recommended"] and found["complete"] and len(processes) == 1


def test_nothing_runs_on_after_ctrl_c(
    tmp_path: Path, two: None, processes: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: Any, **__: Any) -> None:
        assert processes[0].poll() is None, "it runs"
        raise KeyboardInterrupt

    monkeypatch.setattr(worker_process, "_PROGRAM", "import time; time.sleep(600)")
    monkeypatch.setattr("pkadvisor.usecases.stress.prepare", stop)
    found = stress(request_of(tmp_path), SilentProgress())
    assert found["complete"] is False and found["tables"] == [] and found["not_run"]
    assert processes[0].returncode == -9, "it was stopped, and is gone"


def test_no_process_where_it_would_not_be_worth_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = request_of(tmp_path)
    limits = load_limits(*asked.reading.limits)
    (table,) = tables_of(asked, limits, SilentProgress())

    def started() -> bool:
        found = worker_process.started(table, 1, asked, limits)
        if found is not None:
            found.ended()
        return found is not None

    monkeypatch.setattr(worker_process, "_processors", lambda: 2)
    assert not started(), "240 rows"
    monkeypatch.setattr(worker_process, "ROWS_LEAST", 240)
    assert started()
    monkeypatch.setattr(worker_process, "_processors", lambda: 1)
    assert not started(), "nobody else would do it sooner"


def test_what_cannot_be_handed_over_is_run_here(tmp_path: Path, two: None) -> None:
    asked = request_of(tmp_path)
    limits = load_limits(*asked.reading.limits)
    (table,) = tables_of(asked, limits, SilentProgress())
    table.bench.population._token = lambda text: text  # a profile's, made without a salt file
    assert worker_process.started(table, 1, asked, limits) is None


@pytest.mark.long("proofs")
def test_a_module_of_the_working_folder_is_never_taken(
    tmp_path: Path, two: None, processes: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pickle.py").write_text("raise SystemExit(4)\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    stress(request_of(tmp_path), SilentProgress())
    assert [each.returncode for each in processes] == [0]


def test_the_request_is_whole_there(tmp_path: Path) -> None:
    """Every field of a request is a plain value: it can be handed over."""
    import pickle

    asked: StressRequest = request_of(tmp_path, faults=("server-down@1s+1s",))
    assert pickle.loads(pickle.dumps(asked)) == asked
