"""Options, outputs, messages and exit codes, with a stand-in where the use cases are."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pkadvisor.errors import ConstraintError, InputError, UsageError
from tests.cli.support import UseCases

Advise = Callable[..., tuple[int, str, str]]


def raising(error: BaseException) -> Callable[[Any], None]:
    def behave(progress: Any) -> None:
        raise error

    return behave


def test_options_reach_the_use_case(advise: Advise, use_cases: UseCases, tmp_path: Path) -> None:
    (tmp_path / "d.yaml").write_text("schema: 1\n")
    (tmp_path / "l1.log").write_text("x\n")
    for name in ("l.toml", "m.toml", "c.txt"):
        (tmp_path / name).write_text("")
    line = (
        "analyze Order=data.csv data.csv --log l1.log --log l*.log --design d.yaml --limits l.toml --since 2026-01-01 "
        "--until 2026-02-01 --table A --table B --account acct --max-bad-lines 2.5% "
        "--sample-rows 10 --redact keys --input-format csv "
        "--stdin-name x --top 3 --seed 7 --entities-total 900 --log-fraction 5% --candidates c.txt "
        "--budget index_rows=1 --budget p99_ms=20 --limits m.toml"
    )
    code, out, err = advise(*line.split())
    assert (code, out, err) == (0, "KEEP THE KEYS\n", "")
    (request,) = use_cases.requests
    assert vars(request) == {
        "data": ("Order=data.csv", "data.csv"),
        "logs": ("l1.log", "l*.log"),
        "design": "d.yaml",
        "profiles": (),
        "limits": ("l.toml", "m.toml"),
        "since": "2026-01-01",
        "until": "2026-02-01",
        "tables": ("A", "B"),
        "account": "acct",
        "max_bad_lines": 0.025,
        "sample": None,
        "sample_rows": 10,
        "input_format": "csv",
        "stdin_name": "x",
        "redact": True,
        "seed": 7,
        "top": 3,
        "entities_total": 900,
        "log_fraction": 0.05,
        "candidates": "c.txt",
        "budgets": ("index_rows=1", "p99_ms=20"),
    }


def test_a_sample_brings_its_files_and_may_be_given_another_design(
    advise: Advise, use_cases: UseCases, tmp_path: Path
) -> None:
    assert advise("analyze", "--sample", "footrace")[0] == 0
    (tmp_path / "d.yaml").write_text("schema: 1\n")
    assert advise("analyze", "--sample", "footrace", "--design", "d.yaml")[0] == 0
    bundled, mine = use_cases.requests
    assert all(Path(text).is_file() for text in (*bundled.data, bundled.design))
    assert mine.data == bundled.data
    assert mine.design == "d.yaml"
    code, _, err = advise("analyze", "data.csv", "--sample", "footrace")
    assert code == 2
    assert "--sample" in err


def test_the_flag_wins_over_the_environment_and_that_over_the_default(
    advise: Advise, use_cases: UseCases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PKADVISOR_FORMAT", "json")
    monkeypatch.setenv("PKADVISOR_SEED", "5")
    assert json.loads(advise("analyze", "data.csv")[1]) == use_cases.result
    assert advise("analyze", "data.csv", "--format", "text", "--seed", "6")[1] == use_cases.text
    assert [request.seed for request in use_cases.requests] == [5, 6]
    monkeypatch.setenv("PKADVISOR_FORMAT", "yaml")
    code, _, err = advise("analyze", "data.csv")
    assert code == 2
    assert "PKADVISOR_FORMAT" in err
    assert "json" in err


@pytest.mark.parametrize("share", ["101%", "-1%", "nan", "lots", ""])
def test_a_share_outside_0_to_1_is_refused(advise: Advise, share: str) -> None:
    code, _, err = advise("analyze", "data.csv", f"--max-bad-lines={share}")
    assert code == 2
    assert "--max-bad-lines" in err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConstraintError("no design keeps the group transaction"), 1),
        (UsageError("bad template", where="d.yaml:3:1", excerpt="  {bip}\n   ^^^", fix="did you mean 'bib'?"), 2),
        (InputError("nothing parsed", where="x.log", fix="formats tried: a, b"), 3),
    ],
)
def test_an_error_is_told_in_one_to_four_lines_with_its_exit_code(
    advise: Advise, use_cases: UseCases, error: Exception, code: int
) -> None:
    use_cases.behave = raising(error)
    got, out, err = advise("analyze", "data.csv")
    assert (got, out) == (code, "")
    assert err.startswith("error: ")
    assert 1 <= len(err.splitlines()) <= 4
    assert "Traceback" not in err
    for line in str(error).splitlines():
        assert line.strip() in err


def test_hostile_text_in_an_error_is_shown_and_moves_nothing(advise: Advise, use_cases: UseCases) -> None:
    use_cases.behave = raising(
        InputError("key '\x1b[31m[red]a\u202eb\n\x07' sig=TOPSECRET", where="a\rb", excerpt="ab\x1bcd\n    ^")
    )
    _, _, err = advise("analyze", "data.csv")
    assert "[red]" in err
    assert not set(err) & set("\x1b\u202e\x07\r")
    assert "TOPSECRET" not in err
    first, source, caret = err.splitlines()
    assert first.startswith("error: a\\rb: key '\\x1b[31m")
    assert source[caret.index("^")] == "d"


def test_a_file_to_start_from_goes_to_standard_output_unless_that_carries_json(
    advise: Advise, use_cases: UseCases
) -> None:
    use_cases.behave = raising(
        UsageError("no workload", fix="fill in the design below", skeleton="schema: 1\na: \x1b\n")
    )
    for line, expected in (([], "schema: 1\na: \\x1b\n"), (["--format", "json"], "")):
        code, out, err = advise("analyze", "data.csv", *line)
        assert (code, out) == (2, expected)
        assert err == "error: no workload\n  fill in the design below\n"


def test_a_bug_is_confessed_in_a_line_and_its_traceback_kept_in_a_file(
    advise: Advise, use_cases: UseCases, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(logs))

    def behave(progress: Any) -> None:
        local = "a-key-of-a-customer"
        assert local
        raise ZeroDivisionError("AccountKey=TOPSECRET \x1b[2J")

    use_cases.behave = behave
    code, out, err = advise("analyze", "data.csv")
    assert (code, out) == (4, "")
    assert len(err.splitlines()) == 2
    (log,) = logs.iterdir()
    assert str(log) in err
    text = log.read_text()
    assert "ZeroDivisionError" in text
    assert "behave" in text
    for shown in (text, err):
        assert "TOPSECRET" not in shown
        assert "\x1b" not in shown
        assert "customer" not in shown

    code, _, err = advise("analyze", "data.csv", "--debug")
    assert code == 4
    assert "Traceback" in err
    assert "customer" not in err


def test_debug_shows_the_traceback_of_an_expected_error_too(advise: Advise, use_cases: UseCases) -> None:
    use_cases.behave = raising(InputError("nothing parsed"))
    code, _, err = advise("analyze", "data.csv", "--debug")
    assert code == 3
    assert "Traceback" in err
    assert err.splitlines()[-1] == "error: nothing parsed"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (FileNotFoundError(2, "No such file or directory", "gone.csv"), 2),
        (IsADirectoryError(21, "Is a directory", "folder"), 2),
        (PermissionError(13, "Permission denied", "secret.csv"), 3),
        (OSError(5, "Input/output error", "bad.csv"), 3),
        (OSError(5, "Input/output error"), 4),
        (KeyboardInterrupt(), 130),
        (BrokenPipeError(32, "Broken pipe"), 141),
    ],
)
def test_what_the_system_reports_gets_its_own_code(
    advise: Advise, use_cases: UseCases, error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pkadvisor.cli.console.forget", lambda *streams: None)
    use_cases.behave = raising(error)
    got, out, err = advise("analyze", "data.csv")
    assert (got, out) == (code, "")
    assert len(err.splitlines()) <= 2
    filename = getattr(error, "filename", None)
    assert filename is None or filename in err


def test_a_file_missing_from_the_installation_is_a_bug_and_not_the_users_fault(
    advise: Advise, use_cases: UseCases
) -> None:
    from pkadvisor.resources import resource

    use_cases.behave = raising(FileNotFoundError(2, "No such file", str(resource("rules", "limits", "x.toml"))))
    assert advise("analyze", "data.csv")[0] == 4


def test_outputs_are_written_whole_beside_standard_output(advise: Advise, use_cases: UseCases, tmp_path: Path) -> None:
    code, out, err = advise("analyze", "data.csv", "--out", "json=new/deep/r.json", "--out", "text=r.txt")
    assert (code, out) == (0, use_cases.text)
    assert json.loads((tmp_path / "new/deep/r.json").read_bytes()) == use_cases.result
    assert (tmp_path / "r.txt").read_text() == use_cases.text
    assert err.splitlines() == ["wrote new/deep/r.json (41 B)", "wrote r.txt (14 B)"]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["data.csv", "deep", "new", "r.json", "r.txt"]
    verdict_only = {"verbose": False, "details": False, "inputs": "data.csv"}
    assert use_cases.rendered[0] == {"width": 80, "color": False, "ascii_only": False, **verdict_only}


def test_quiet_says_nothing_but_results_and_errors(advise: Advise, use_cases: UseCases) -> None:
    use_cases.behave = lambda progress: progress.note("12 lines skipped")
    code, page, errors = advise("analyze", "data.csv", "-q", "--out", "json=r.json")
    assert (code, page) == (0, ""), "the page is left out where a file is written"
    assert errors.startswith("wrote r.json (") and errors.count("\n") == 1
    assert advise("analyze", "data.csv", "-q")[1:] != ("", "")
    assert advise("analyze", "data.csv", "-q", "--out", "json=r.json", "--out", "text=-")[1] != ""
    assert advise("analyze", "data.csv")[2] == "note: 12 lines skipped\n"


def test_standard_output_carries_one_format(advise: Advise, use_cases: UseCases) -> None:
    assert json.loads(advise("analyze", "data.csv", "--out", "json=-")[1]) == use_cases.result
    assert advise("analyze", "data.csv", "--out", "text=-", "--format", "json")[0] == 2
    assert advise("analyze", "data.csv", "--out", "text=-", "--out", "json=-")[0] == 2


@pytest.mark.parametrize(
    ("out", "says"),
    [
        ("md=r.md", "formats: text, json"),
        ("jsn=r.json", "did you mean 'json'?"),
        ("r.jsn", "json=result.json"),
        ("json=", "json=FILE"),
        ("json=folder", "directory"),
        ("json=data.csv", "input"),
        ("json=./folder/../data.csv", "input"),
        ("json=link", "input"),
        ("json=hard", "input"),
        ("text=design.yaml", "input"),
    ],
)
def test_an_output_that_cannot_be_is_refused_before_the_work(
    advise: Advise, use_cases: UseCases, tmp_path: Path, out: str, says: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "design.yaml").write_text("schema: 1\n")
    (tmp_path / "link").symlink_to("data.csv")
    os.link(tmp_path / "data.csv", tmp_path / "hard")
    code, _, err = advise("analyze", "kind=data.csv", "--design", "design.yaml", "--out", out)
    assert code == 2
    assert says in err
    assert not use_cases.requests
    assert (tmp_path / "data.csv").read_text() == "a,b\n1,2\n"


def test_a_failed_write_leaves_the_old_file_and_no_temporary_one(
    advise: Advise, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "r.json").write_text("old")

    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    code, _, err = advise("analyze", "data.csv", "--out", "json=r.json")
    assert code == 2
    assert "No space left on device" in err
    assert (tmp_path / "r.json").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "r.json"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("analyze", "advisor analyze --sample footrace"),
        ("analyze dat.csv", "dat.csv: there is no such file; did you mean 'data.csv'?"),
        ("analyze folder", "folder: this is a directory"),
        ("analyze *.parquet", "*.parquet: no file matches"),
        ("analyze Kind=dat.csv", "dat.csv: there is no such file"),
        ("analyze data.csv --log nope.log", "--log nope.log: there is no such file"),
        ("analyze data.csv --design nope.yaml", "--design nope.yaml: there is no such file"),
        ("analyze data.csv --profile folder", "--profile folder: this is a directory"),
        ("analyze - --log -", "several times"),
        ("analyze --sample fotrace", "did you mean 'footrace'?"),
        ("analyze data.csv --top 0", "--top"),
        ("analyze data.csv --fromat json", "did you mean '--format'?"),
        ("analyze data.csv --scheme a|b", "--scheme; it is an option of explain, score, stress"),
        ("analyze data.csv --keys k", "No such option: --keys\n"),
        ("analyze data.csv --them dark", "did you mean '--theme'?"),
        ("analyse", "'analyze'"),
        ("--quiet analyze data.csv", "give --quiet after the command"),
        ("config schema --of desgn", "design"),
        ("config schema", "--of"),
        ("samples write fotrace x", "did you mean 'footrace'?"),
        ("profile data.csv --salt-file nope", "nope"),
        ("profile data.csv --salt-file data.csv", "16 bytes"),
        ("profile data.csv --out data.csv", "input"),
    ],
)
def test_wrong_usage_is_exit_2_and_says_what_would_be_right(
    advise: Advise, use_cases: UseCases, tmp_path: Path, line: str, says: str
) -> None:
    (tmp_path / "folder").mkdir()
    code, out, err = advise(*line.split())
    assert (code, out) == (2, "")
    assert says in err
    assert 1 <= len(err.splitlines()) <= 4
    assert not use_cases.requests


def test_a_null_character_or_an_endless_name_is_wrong_usage(advise: Advise) -> None:
    assert advise("analyze", "a\0b")[0] == 2
    assert advise("analyze", "x" * 5000)[0] == 2


def test_a_dash_at_a_terminal_explains_itself(
    advise: Advise, use_cases: UseCases, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert advise("analyze", "-")[0] == 0
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    code, _, err = advise("analyze", "-")
    assert code == 2
    assert "advisor analyze - < data.csv" in err


def test_text_for_standard_output_is_cleaned_whatever_the_renderer_let_through(
    advise: Advise, use_cases: UseCases
) -> None:
    use_cases.text = "key \x1b[2J\nurl AccountKey=TOPSECRET"
    assert advise("analyze", "data.csv")[1] == "key \\x1b[2J\nurl AccountKey=***\n"


def test_profile_writes_sorted_json_with_the_salt_given(advise: Advise, use_cases: UseCases, tmp_path: Path) -> None:
    use_cases.result = {"b": 1, "a": "ö"}
    expected = '{"a":"\\u00f6","b":1}\n'
    (tmp_path / "salt").write_text("0123456789abcdef\n")
    assert advise("profile", "data.csv")[1] == expected
    code, out, err = advise("profile", "data.csv", "--salt-file", "salt", "--out", "p.json")
    assert (code, out) == (0, "")
    assert (tmp_path / "p.json").read_text() == expected
    assert err == "wrote p.json (21 B)\nnext: advisor analyze --profile p.json\n"
    assert use_cases.salts == [b"", b"0123456789abcdef"]
    assert json.loads(advise("profile", "data.csv", "--out", "p.json", "--format", "json")[1])


def test_samples_are_listed_and_copied_but_not_over_the_users_files(advise: Advise, tmp_path: Path) -> None:
    code, out, _ = advise("samples", "list")
    assert code == 0
    assert any(line.startswith("footrace") and "rows" in line for line in out.splitlines())
    listed = json.loads(advise("samples", "list", "--format", "json")[1])["samples"]
    assert len(listed) == len(out.splitlines())
    assert all(sample["title"] and sample["licence"] for sample in listed)

    assert advise("samples", "write", "footrace", "race")[0] == 0
    design = tmp_path / "race/design.yaml"
    original = design.read_bytes()
    design.write_text("mine")
    code, _, err = advise("samples", "write", "footrace", "race")
    assert code == 2
    assert "--force" in err
    assert design.read_text() == "mine"
    assert json.loads(advise("samples", "write", "footrace", "race", "--force", "--format", "json")[1])["wrote"]
    assert design.read_bytes() == original
    assert advise("samples", "write", "footrace", "data.csv")[0] == 2


@pytest.mark.parametrize("line", ["", "samples", "config"])
def test_a_group_alone_shows_its_help(advise: Advise, line: str) -> None:
    code, out, err = advise(*line.split())
    assert (code, err) == (0, "")
    assert out.startswith("Usage: ")
