"""``advisor stress``: what it prints and writes, how it is interrupted, and what it says to bad input."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pkadvisor.cli.main import main
from pkadvisor.documents.schema_errors import typed
from pkadvisor.errors import UsageError
from pkadvisor.stress.experiment.request import check_replayed
from tests.cli.support import LISTENING, checked, clean_environment
from tests.stress.stressed import document, write_case


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The words of a command line that stresses the small case for two seconds, in an empty folder."""
    files = tmp_path / "files"
    files.mkdir()
    data, design, limits = write_case(files)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return ["stress", data, "--design", design, "--limits", limits, "--duration", "2s"]


def told(capsys: pytest.CaptureFixture[str], arguments: list[str], code: int) -> str:
    """What standard error says of a command line that ends with a code: one to four lines; standard output is empty."""
    assert main(arguments) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert 1 <= len(captured.err.splitlines()) <= 4
    assert "Traceback" not in captured.err
    assert not list(Path.cwd().iterdir()), "nothing is left behind"
    return " ".join(captured.err.split())


def without(case: list[str], option: str) -> list[str]:
    place = case.index(option)
    return case[:place] + case[place + 2 :]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--load", "x2,fish"], "fish"),
        (["--load", "x-1"], "--load"),
        (["--load", "trace"], "there is no log to replay"),
        (["--load", "x1e9"], "--load"),
        (["--retry", "exponentiall"], "did you mean 'exponential'"),
        (["--fault", "fire@4m"], "no fault is called 'fire'"),
        (["--fault", "server-down:server-9@1s"], "there is no server 'server-9'"),
        (["--fault", "server-down@10m"], "the run is over after 2 s"),
        (["--slo", "p98=5ms"], "'p98=5ms' is not a goal; did you mean 'p99'?"),
        (["--slo", "p99=soon"], "--slo p99"),
        (["--growth", "soon"], "'soon' is no time of growth"),
        (["--growth", "-3m"], "is no time of growth"),
        (["--duration", "0s"], "--duration"),
        (["--duration", "9d"], "is not between 0 and 1 days"),
        (["--enforce", "maybe"], "strict or elastic"),
        (["--think", "5ms"], "add --clients N"),
        (["--vms", "2"], "add --clients N"),
        (["--clients", "200000"], "at most 100,000"),
        (["--clients", "2", "--think", "long"], "--think"),
        (["--scheme", "9999"], "there is no scheme 9999 in the ranking"),
        (["--partition", "nowhere"], "no design that is run has the PartitionKey 'nowhere'"),
        (["--load", "x1000000", "--duration", "1h"], "more than a run may have, which is 200,000,000"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_words_are_told(
    capsys: pytest.CaptureFixture[str], case: list[str], arguments: list[str], words: str
) -> None:
    if "--duration" in arguments:
        case = without(case, "--duration")
    assert words in told(capsys, [*case, *arguments], 2)


def test_a_log_that_cannot_be_replayed_is_told_before_anything_is_read(
    capsys: pytest.CaptureFixture[str], case: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = str(Path(__file__).parents[2] / "samples" / "microblog" / "table-000000.log.gz")
    profile = str(tmp_path / "files" / "profile.json")
    assert main(["profile", "--log", log, "--out", profile, "--quiet"]) == 0
    capsys.readouterr()
    with pytest.raises(UsageError, match="no request of Scores is in the log"):
        check_replayed(False, "Scores")

    def read(*_: Any) -> None:
        pytest.fail("something was read")

    monkeypatch.setattr("pkadvisor.usecases.stress.tables_of", read)
    found = told(capsys, [*case, "--load", "trace", "--log", profile], 2)
    assert "a profile holds no single requests" in found and "give the log with --log FILE" in found
    found = told(capsys, ["stress", "--sample", "footrace", "--load", "trace,x2"], 2)
    assert "there is no log to replay" in found and "or leave --load out" in found


def test_without_rates_there_is_nothing_to_send(
    capsys: pytest.CaptureFixture[str], case: list[str], tmp_path: Path
) -> None:
    write_case(tmp_path / "files", rates=False)
    found = told(capsys, case, 2)
    assert "no query or write of Scores has a rate" in found
    assert "--log" in found


def test_without_data_there_is_nothing_to_draw_keys_from(capsys: pytest.CaptureFixture[str], case: list[str]) -> None:
    assert "without data nothing can be run" in told(capsys, ["stress", *case[2:]], 2)


def test_keys_that_no_store_takes_are_refused(
    capsys: pytest.CaptureFixture[str], case: list[str], tmp_path: Path
) -> None:
    """A scheme of a result under which two entities have one key."""
    from tests.report.support import result

    stored = result("footrace")
    (table,) = stored["tables"]
    table["table"], table["kind"], table["verdict"], table["ranking_says"] = "Scores", None, "choose", "choose"
    scheme = table["recommended"]
    scheme["partition_key"], scheme["row_key"], scheme["index_rows"], scheme["rank"] = "{team}", "same", [], 1
    table["current"], table["alternatives"] = None, []
    stored["inputs"]["files"] = digests(case)
    path = tmp_path / "files" / "result.json"
    path.write_text(json.dumps(stored), encoding="utf-8")
    assert "cannot be stored" in told(capsys, [*case, "--result", str(path)], 2)


def digests(case: list[str]) -> list[dict[str, Any]]:
    """What a result of the files of the case says of them."""
    from pkadvisor.inputs import AnalyzeRequest, files_read

    reading = AnalyzeRequest(data=(case[1],), design=case[3], limits=(case[5],))
    return [{"role": f.role, "name": f.name, "bytes": f.bytes, "xxh3": f.xxh3} for f in files_read(reading)]


@pytest.fixture
def stored(case: list[str], tmp_path: Path) -> Path:
    """A result of the same files."""
    path = tmp_path / "files" / "result.json"
    assert main(["analyze", *case[1:6], "--out", f"json={path}", "-q"]) == 0
    return path


@pytest.mark.long("proofs")
def test_a_result_supplies_the_schemes(capsys: pytest.CaptureFixture[str], case: list[str], stored: Path) -> None:
    """Whole schemes: an empty RowKey and index rows elsewhere among them."""
    capsys.readouterr()
    result = json.loads(stored.read_text(encoding="utf-8"))
    recommended = result["tables"][0]["recommended"]
    keys_there = {"partition_key": "by score", "row_key": "{pad(score,6)}_{player}", "copy": "pointer"}
    elsewhere = {**keys_there, "consistency": "eventual"}
    recommended |= {"partition_key": "{team}_{player}", "row_key": "", "index_rows": [elsewhere]}
    stored.write_text(json.dumps(result), encoding="utf-8")
    assert main([*case, "--result", str(stored), "--format", "json", "-q"]) == 0
    found = checked(capsys.readouterr().out, "stress")
    texts = [keys(d["scheme"]) for d in found["tables"][0]["designs"]]
    assert texts == [keys(result["tables"][0]["current"]), ("{team}_{player}", "", [tuple(keys_there.values())])]


def keys(scheme: dict[str, Any]) -> tuple[str, str, list[tuple[str, ...]]]:
    """The templates of a scheme in a document."""
    rows = [(row["partition_key"], row["row_key"], row["copy"]) for row in scheme["index_rows"]]
    return scheme["partition_key"], scheme["row_key"], rows


def test_a_result_of_other_files_is_refused_by_name(
    capsys: pytest.CaptureFixture[str], case: list[str], stored: Path
) -> None:
    capsys.readouterr()
    data = Path(case[1])
    data.write_text(data.read_text(encoding="utf-8") + "t1,another,5\n", encoding="utf-8")
    found = told(capsys, [*case, "--result", str(stored)], 3)
    assert "is of other files: it was made of scores.csv; scores.csv is not what it was made of" in found


def test_what_a_result_must_have(capsys: pytest.CaptureFixture[str], case: list[str], stored: Path) -> None:
    capsys.readouterr()
    whole = json.loads(stored.read_text(encoding="utf-8"))
    command = [*case, "--result", str(stored)]

    def say(found: dict[str, Any], code: int, *more: str) -> str:
        stored.write_text(json.dumps(found), encoding="utf-8")
        return told(capsys, [*command, *more], code)

    assert "does not say which files it was made of" in say({**whole, "inputs": {**whole["inputs"], "files": []}}, 3)
    other = json.loads(json.dumps(whole))
    other["tables"][0]["table"] = "Others"
    assert "has no table Scores; it has Others" in say(other, 3)
    assert "has no scheme 77" in say(whole, 2, "--scheme", "77")
    stored.write_text("{", encoding="utf-8")
    assert "--result" in told(capsys, command, 3)
    stored.unlink()
    assert "--result" in told(capsys, command, 2)


@pytest.mark.long("proofs")
def test_a_result_of_standard_input_cannot_be_compared(
    case: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "files" / "piped.json"
    command = ["analyze", "-", "--input-format", "csv", *case[2:6], "--out", f"json={path}", "-q"]
    with Path(case[1]).open("rb") as data:
        done = subprocess.run(
            [sys.executable, "-m", "pkadvisor", *command],
            stdin=data,
            capture_output=True,
            env=clean_environment(),
            check=False,
        )
    assert done.returncode == 0, done.stderr
    found = told(capsys, [*case, "--result", str(path)], 3)
    assert "other files" in found or "does not say which files" in found


def test_a_missed_goal_is_exit_code_1_and_says_which(capsys: pytest.CaptureFixture[str], case: list[str]) -> None:
    # The last design decides: here the keys in use are the only ones, since nothing else was asked for.
    command = [*case, "--slo", "p99=0.5ms", "--format", "json", "-q"]
    assert main(command) == 1
    captured = capsys.readouterr()
    found = checked(captured.out, "stress")
    assert found["outcome"] == "goal-missed"
    assert re.search(r"Scores: \S+ misses p99: .* ms, at most 0.5 ms", captured.err)
    assert main([*command, "--exit-zero"]) == 0


def test_keys_that_the_analysis_refuses_are_exit_code_1_and_the_page_says_why(
    capsys: pytest.CaptureFixture[str], case: list[str]
) -> None:
    counting = "{name: count, operation: update, filter: \"team eq 't0' and player eq 'p0000'\", sets: [score], "
    design = Path(case[case.index("--design") + 1])
    design.write_text(f"{design.read_text()}      - {counting}rate: 300/s, read_modify_write: true}}\n")
    assert main(without(case, "--limits")) == 1
    captured = capsys.readouterr()
    for text in (captured.out, captured.err):
        assert "'count' reads, changes and writes one entity 300 times a second" in " ".join(text.split())
    assert re.search(r"conflicts \(412\) +[\d,]+", captured.out)


@pytest.mark.long("proofs")
def test_files_are_written_beside_the_page(capsys: pytest.CaptureFixture[str], case: list[str]) -> None:
    assert main([*case, "--out", "json=a.json", "--out", "text=deep/a.txt"]) == 0
    captured = capsys.readouterr()
    checked(Path("a.json").read_text(encoding="utf-8"), "stress")
    assert Path("deep/a.txt").read_text(encoding="utf-8").splitlines()[-1] == captured.out.splitlines()[-1]
    assert "wrote a.json" in captured.err


@pytest.mark.long("proofs")
def test_an_interrupt_ends_with_130_a_partial_result_and_nothing_else(case: list[str]) -> None:
    """A real process that would run for long, interrupted while it runs the load."""
    command = [*without(case, "--duration"), "--duration", "12h", "--out", "json=part.json"]
    program = LISTENING + (
        "import sys\n"
        "import pkadvisor.stress.experiment.design_run as design_run\n"
        "from pkadvisor.cli.main import main\n"
        "run_of = design_run.run_of\n"
        "def telling(*arguments, **options):\n"
        "    print('runs', file=sys.stderr, flush=True)\n"
        "    return run_of(*arguments, **options)\n"
        "design_run.run_of = telling\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(),
    ) as process:
        try:
            assert process.stderr is not None
            assert any(line == "runs\n" for line in process.stderr)
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 130
    assert "Traceback" not in err
    left = sorted(path.name for path in Path.cwd().iterdir())
    assert left == ["part.json"]
    found = checked(Path("part.json").read_text(encoding="utf-8"), "stress")
    assert (found["complete"], found["outcome"]) == (False, "incomplete")
    assert "interrupted: the figures cover only the part that was run" in " ".join(out.split())


def test_a_pipe_gets_no_colour_and_a_terminal_its_width(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = document()
    monkeypatch.setattr("pkadvisor.usecases.stress.stress", lambda request, progress: typed(found))
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["stress", "--sample", "footrace", "-q", "--exit-zero"]) == 0
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert max(len(line) for line in text.splitlines() if not line.startswith("  next: ")) <= 60
    assert main(["stress", "--sample", "footrace", "-q", "--exit-zero", "--color", "always"]) == 0
    assert "\x1b[1m" in capsys.readouterr().out
    assert os.environ["COLUMNS"] == "60"
