"""Every help page ends with examples, and every example does what it says."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from pkadvisor.resources import resource
from tests.cli.support import Run

COMMANDS = ["analyze", "keys", "explain", "score", "compare", "stress", "review", "report", "profile", "init"]
COMMANDS += ["manual", "completion", "samples list", "samples write", "config show", "config schema"]
COMMANDS += ["rules list", "rules explain", "rules facts"]
PAGES = ["", "samples", "config", "rules", *COMMANDS]
LONG = ("analyze", "stress", "explain", "compare")
"""Pages whose examples judge a bundled sample several times."""


def help_text(run: Run, page: str) -> str:
    return run(*page.split(), "--help", COLUMNS="200").stdout.decode()


def examples_of(text: str) -> list[str]:
    _, found, tail = text.rpartition("Examples:\n")
    assert found
    return [line.strip() for line in tail.splitlines() if line.strip()]


def needs_use_cases(line: str) -> bool:
    words = shlex.split(line)
    return "--help" not in words and words[1] in (
        "analyze",
        "compare",
        "config",
        "explain",
        "keys",
        "profile",
        "report",
        "score",
        "stress",
    )


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=pytest.mark.long("proofs") if p in LONG else (), id=p or "root") for p in PAGES],
)
@pytest.mark.usefixtures("samples_analyzed_once", "samples_judged_once", "short_stress_runs")
def test_examples_run_in_the_order_shown(run: Run, page: str) -> None:
    lines = examples_of(help_text(run, page))
    assert 2 <= len(lines) <= 4
    if any(map(needs_use_cases, lines)):
        pytest.importorskip("pkadvisor.inputs")
    for line in lines:
        words = shlex.split(line)
        assert words[0] == "advisor"
        done = run(*words[1:])
        assert done.returncode == 0, (line, done.stderr.decode())
        if "--format" in words and "json" in words:
            json.loads(done.stdout)


@pytest.mark.parametrize(
    "line",
    [
        "analyze --sample footrace",
        "profile --sample footrace",
        "explain query:by-age --sample footrace",
        "score --sample documents",
        "compare {samples}/footrace/design.yaml {samples}/footrace/design-bib-only.yaml --sample footrace",
        "manual",
        "manual on-call",
        "samples list",
        "samples write footrace there",
        "config show",
        "rules list",
        "rules explain PK201",
        "rules facts",
        "explain PK201",
        "init there --ci github --pre-commit --install git+https://example.org/tools/pkadvisor",
        "keys --sample footrace",
        "config schema --of design",
        "config schema --of config",
        "config schema --of rule",
        "config schema --of result",
        "config schema --of profile",
        "config schema --of explanation",
        "config schema --of stress",
        "--version",
    ],
)
@pytest.mark.usefixtures("samples_analyzed_once", "samples_judged_once", "short_stress_runs")
def test_format_json_is_json_in_every_command_and_quiet_is_quiet(run: Run, line: str) -> None:
    if needs_use_cases(f"advisor {line}"):
        pytest.importorskip("pkadvisor.inputs")
    quiet = [] if line == "--version" else ["-q"]
    done = run(*line.format(samples=resource("samples")).split(), *quiet, "--format", "json", GITHUB_ACTIONS="1")
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""
    assert b"\x1b" not in done.stdout
    json.loads(done.stdout)


@pytest.mark.parametrize("page", ["", "samples", "config", "rules"])
def test_every_command_has_a_line_of_its_own_that_is_not_cut(run: Run, page: str) -> None:
    shown = run(*page.split(), "--help", COLUMNS="80").stdout.decode()
    listed = shown.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    names = [line.split()[0] for line in listed]
    of_page = [c.removeprefix(page).split()[0] for c in COMMANDS if c.startswith(page)]
    assert names == sorted(set(names), key=names.index) and set(of_page) <= set(names)
    assert all(line.startswith("  ") and line[2] != " " for line in listed), "none goes on in a second line"
    assert not [line for line in listed if len(line) > 80 or line.endswith(("...", "."))]


@pytest.mark.parametrize("page", COMMANDS)
def test_options_stand_in_groups(run: Run, page: str) -> None:
    from pkadvisor.cli.shared import _PANEL_OF, PANELS

    shown = run(*page.split(), "--help", COLUMNS="200").stdout.decode()
    panels = {name: shown.find(f"\n{name}:\n") for name in PANELS}
    there = [at for at in panels.values() if at >= 0]
    assert there == sorted(there) and panels["Common"] >= 0 and "\nOptions:\n" not in shown
    starts = sorted((at, name) for name, at in panels.items() if at >= 0)
    ends = [*(at for at, _ in starts[1:]), shown.find("Examples:")]
    for (start, panel), end in zip(starts, ends, strict=True):
        for name in re.findall(r"^  (?:-\w, )?(--[\w-]+)", shown[start:end], re.MULTILINE):
            assert _PANEL_OF.get(name, "Input") == panel, name


def test_every_option_that_a_group_names_exists(run: Run) -> None:
    from pkadvisor.cli.shared import _PANEL_OF

    shown = " ".join(help_text(run, page) for page in PAGES)
    later = {"--details", "--raw"}
    assert {name for name in _PANEL_OF if not re.search(rf"{name}\b", shown)} <= later


def test_help_imports_no_command(run: Run) -> None:
    import subprocess
    import sys

    line = "import sys; from pkadvisor.cli.main import main; code = main(['--help']); print(code, sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.stdout.rstrip().splitlines()[-1].startswith("0 ")
    heavy = ("pkadvisor.cli.commands.", "pkadvisor.usecases", "polars", "pydantic", "rich", "numpy", "ruamel")
    assert not [name for name in heavy if f"'{name}" in done.stdout]


def test_examples_cover_every_command(run: Run) -> None:
    shown = {line for page in PAGES for line in examples_of(help_text(run, page))}
    for command in COMMANDS:
        assert any(line.startswith(f"advisor {command}") for line in shown), command


def test_hints_and_help_name_no_command_that_does_not_exist(run: Run) -> None:
    root = Path(__file__).parents[2]
    texts = [help_text(run, page) for page in PAGES]
    texts += [path.read_text() for path in sorted((root / "pkadvisor").rglob("*.py"))]
    named = {match for text in texts for match in re.findall(r"\badvisor (?!--)([a-z]+(?: [a-z]+)?)\b", text)}
    planned = {"migrate", "codegen", "serve"}
    assert not {words for words in named if words.split()[0] in planned}
    assert {"analyze", "samples list"} <= named
