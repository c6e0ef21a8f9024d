"""The command as a process: streams, pipes, signals, environments, start."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pkadvisor
from tests.cli.support import LISTENING, Run, clean_environment

PAGES = [
    [],
    ["--help"],
    ["analyze", "-h"],
    ["profile", "--help"],
    ["samples"],
    ["samples", "list", "--help"],
    ["samples", "write", "--help"],
    ["config", "schema", "--help"],
    ["config", "show", "--help"],
    ["review", "--help"],
    ["rules", "facts", "--help"],
    ["init", "--help"],
    ["completion", "--help"],
]
HEAVY = ("polars", "scipy", "numpy", "pydantic", "ruamel", "lark", "jinja2", "xxhash", "zstandard")


def imported(*lines: list[str]) -> set[str]:
    """The top-level packages that command lines, one after the other, have imported when the last one ends."""
    program = (
        "import sys\n"
        "from pkadvisor.cli.main import main\n"
        f"code = max(main(line) for line in {list(lines)!r})\n"
        "sys.stdout.write('\\n' + ' '.join(sorted({name.partition('.')[0] for name in sys.modules})))\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=clean_environment(), check=True
    )
    return set(done.stdout.splitlines()[-1].split())


def test_help_imports_nothing_heavy() -> None:
    assert not imported(*PAGES) & set(HEAVY)


def test_version_imports_not_even_the_parser_of_the_command_line() -> None:
    names = imported(["--version"])
    assert not names & {*HEAVY, "typer", "rich", "json", "importlib_metadata", "tempfile", "shutil"}


def test_version_names_the_program_and_for_machines_what_a_result_depends_on(run: Run, spawn: Run) -> None:
    assert spawn("--version").stdout == f"pkadvisor {pkadvisor.__version__}\n".encode()
    for line in (["--version", "--format", "json"], ["--format=json", "--version"]):
        facts = json.loads(run(*line).stdout)
        assert facts["version"] == pkadvisor.__version__
        assert facts["libraries"]["polars"]
        assert facts["limits_checked"]
        assert all(facts["limits_checked"].values())
    assert run("--version", "analyze").stdout == f"pkadvisor {pkadvisor.__version__}\n".encode()


ENVIRONMENTS: list[dict[str, str]] = [
    {"GITHUB_ACTIONS": "1"},
    {"FORCE_COLOR": "1", "PY_COLORS": "1"},
    {"NO_COLOR": "1", "TERM": "dumb"},
    {"PYTHONIOENCODING": "ascii"},
]


def is_plain_help(done: subprocess.CompletedProcess[bytes]) -> bool:
    return (done.returncode, done.stderr) == (0, b"") and b"\x1b" not in done.stdout and done.stdout.isascii()


@pytest.mark.parametrize("page", PAGES, ids=" ".join)
def test_piped_help_has_no_escape_and_is_ascii(run: Run, page: list[str]) -> None:
    for environment in ENVIRONMENTS:
        assert is_plain_help(run(*page, **environment)), environment


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda e: "+".join(e))
def test_typer_and_rich_that_read_the_environment_when_imported_write_plain_help_too(
    spawn: Run, environment: dict[str, str]
) -> None:
    assert is_plain_help(spawn("analyze", "--help", **environment))


@pytest.mark.parametrize("environment", [{"GITHUB_ACTIONS": "1"}, {"FORCE_COLOR": "1"}, {"PYTHONIOENCODING": "ascii"}])
def test_piped_errors_have_no_escape_and_no_encoding_ends_the_program(spawn: Run, environment: dict[str, str]) -> None:
    done = spawn("analyze", "Zürich-東京-\x1b[31m.csv", **environment)
    assert done.returncode == 2
    assert b"\x1b" not in done.stderr
    assert done.stderr.startswith(b"error: Z")
    assert b"Traceback" not in done.stderr


def test_colour_on_demand(run: Run) -> None:
    assert b"\x1b[1;31merror: \x1b[0m" in run("analyze", "x.csv", "--color", "always").stderr
    assert b"\x1b" in run("analyze", "x.csv", PKADVISOR_COLOR="always").stderr
    assert b"\x1b" not in run("analyze", "x.csv", "--color=never", PKADVISOR_COLOR="always").stderr


def test_every_command_shares_the_conduct_options_and_shows_their_variables(run: Run) -> None:
    for page in PAGES:
        if not page or page in (["--help"], ["samples"]):
            continue
        text = " ".join(run(*page, COLUMNS="200").stdout.decode().split())
        for option in ("--format", "--quiet", "--verbose", "--color", "--no-progress", "--debug", "-h", "Examples:"):
            assert option in text, (page, option)
        assert "PKADVISOR_FORMAT" in text
        assert "PKADVISOR_COLOR" in text


@pytest.mark.skipif(os.name != "posix", reason="closed pipes are a matter of POSIX systems")
@pytest.mark.parametrize(
    "line", [["--version"], ["--help"], ["samples", "list"], ["samples", "list", "--format", "json"]]
)
def test_a_reader_that_left_is_141_without_a_word(line: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "pkadvisor", *line],
        stdout=writer,
        stderr=subprocess.PIPE,
        env=clean_environment(),
        check=False,
    )
    os.close(writer)
    assert done.returncode == 141
    assert done.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a device that is always full")
def test_a_full_disk_behind_standard_output_is_said() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "pkadvisor", "samples", "list"],
            stdout=full,
            stderr=subprocess.PIPE,
            env=clean_environment(),
            check=False,
        )
    assert done.returncode == 2
    assert b"No space left" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_an_interrupt_is_130_in_one_line_and_leaves_nothing_behind(tmp_path: Path) -> None:
    program = LISTENING + (
        "import sys, time\n"
        "import pkadvisor.cli.commands.samples as samples\n"
        "def slow(path, content):\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(60)\n"
        "samples.write_whole = slow\n"
        "from pkadvisor.cli.main import main\n"
        "sys.exit(main(['samples', 'write', 'footrace', 'x']))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(),
        cwd=tmp_path,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == b"interrupted\n"
    assert not list(tmp_path.iterdir())


def test_json_stays_json_in_every_encoding(spawn: Run) -> None:
    for encoding in ("ascii", "latin-1", "utf-16"):
        done = spawn("samples", "list", "--format", "json", PYTHONIOENCODING=encoding)
        assert done.returncode == 0
        assert done.stderr == b""
    assert json.loads(spawn("samples", "list", "--format", "json", PYTHONIOENCODING="ascii").stdout)


def test_a_closed_standard_output_is_no_crash(tmp_path: Path) -> None:
    program = f"exec {sys.executable} -m pkadvisor samples list >&-"
    done = subprocess.run(["sh", "-c", program], stderr=subprocess.PIPE, env=clean_environment(), check=False)
    assert done.returncode == 0
    assert done.stderr == b""


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo terminal")
def test_the_bar_and_the_notes_share_a_terminal_and_the_result_goes_elsewhere() -> None:
    import pty

    program = (
        "import sys, time, types\n"
        "def analyze(request, progress):\n"
        "    progress.phase('reading', 100)\n"
        "    time.sleep(0.9)\n"
        "    progress.advance(60)\n"
        "    progress.note('2 lines skipped \\x1b[2J')\n"
        "    return types.SimpleNamespace(outcome='done')\n"
        "inputs, use_case = types.ModuleType('pkadvisor.inputs'), types.ModuleType('pkadvisor.usecases.analyze')\n"
        "inputs.AnalyzeRequest, use_case.analyze = lambda **k: None, analyze\n"
        "result = types.ModuleType('pkadvisor.report.documents.result')\n"
        "result.dump_json = lambda document: b'{}'\n"
        "sys.modules |= {m.__name__: m for m in (inputs, use_case)}\n"
        "sys.modules['pkadvisor.report.documents.result'] = result\n"
        "from pkadvisor.cli.main import main\n"
        "sys.exit(main(['analyze', '--sample', 'footrace', '--format', 'json', *sys.argv[1:]]))\n"
    )

    def on_terminal(*arguments: str, **env: str) -> str:
        ours, theirs = pty.openpty()
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            stdout=subprocess.PIPE,
            stderr=theirs,
            stdin=subprocess.DEVNULL,
            env=clean_environment(TERM="xterm", **env),
            check=True,
        )
        os.close(theirs)
        assert done.stdout == b"{}\n"
        seen = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # Linux reports the end of a terminal so
                break
            if not piece:
                break
            seen += piece
        os.close(ours)
        return seen.decode()

    shown = on_terminal()
    assert "reading" in shown
    assert "note: " in shown
    assert "2 lines skipped \\x1b[2J" in shown
    assert on_terminal("--no-progress", "--color", "never") == "note: 2 lines skipped \\x1b[2J\r\n"
    assert on_terminal(NO_COLOR="1") == "note: 2 lines skipped \\x1b[2J\r\n"
    assert on_terminal("--quiet") == ""


def test_a_terminal_without_unicode_gets_ascii_and_never_an_error() -> None:
    program = (
        "import sys, types\n"
        "inputs, use_case = types.ModuleType('pkadvisor.inputs'), types.ModuleType('pkadvisor.usecases.analyze')\n"
        "inputs.AnalyzeRequest, use_case.analyze = lambda **k: None, lambda *_: types.SimpleNamespace(outcome='done')\n"
        "console = types.ModuleType('pkadvisor.report.text.verdict_page')\n"
        "console.render_text = lambda result, **o: f'{o[\"ascii_only\"]} Zürich \\ud800\\n'\n"
        "sys.modules |= {m.__name__: m for m in (inputs, use_case)}\n"
        "sys.modules['pkadvisor.report.text.verdict_page'] = console\n"
        "from pkadvisor.cli.main import main\n"
        "sys.exit(main(['analyze', '--sample', 'footrace']))\n"
    )
    for encoding, expected in (
        ("ascii", b"True Z\\xfcrich \\ud800\n"),
        ("latin-1", b"True Z\xfcrich \\ud800\n"),
        ("utf-8", b"False Z\xc3\xbcrich \\ud800\n"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            env=clean_environment(PYTHONIOENCODING=encoding),
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, expected, b"")
