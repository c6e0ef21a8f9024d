"""The suite itself: what a test may cost, results that are computed once, two tiers, and a run that can be stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tests import sample_results
from tests.tiers import FULL, SHORT, examples

ROOT = Path(__file__).parents[1]
PLUGINS = 'pytest_plugins = ["tests.cost_report", "tests.interruption"]\n'


def suite(folder: Path, test: str) -> list[str]:
    """A suite of one file with the plugins of this one; the command that runs it."""
    (folder / "conftest.py").write_text(PLUGINS)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = heavy(reason)\n")
    (folder / "test_it.py").write_text(textwrap.dedent(test))
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]


def environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "PKADVISOR_"))}
    return {**kept, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **more}


def outcome(folder: Path, test: str, **env: str) -> tuple[int, str]:
    done = subprocess.run(
        suite(folder, test), capture_output=True, text=True, cwd=folder, env=environment(**env), check=False
    )
    return done.returncode, done.stdout + done.stderr


SPENDING = """
    import time, pytest

    def spend(seconds):
        until = time.process_time() + seconds
        while time.process_time() < until:
            pass

    {mark}
    def test_it():
        spend(0.3)
"""


def test_a_test_over_its_budget_fails_the_run_and_is_named(tmp_path: Path) -> None:
    code, text = outcome(tmp_path, SPENDING.format(mark=""), PKADVISOR_CPU_BUDGET_S="0.2")
    assert code == 1
    assert "1 passed" in text
    assert "test_it.py::test_it: 0." in text and "0.2 allowed" in text


@pytest.mark.parametrize(
    ("mark", "budget", "code"),
    [
        ("", "", 0),
        ("", "10", 0),
        ("@pytest.mark.heavy('it is the subject')", "0.2", 0),
        ("@pytest.mark.heavy('')", "0.2", 4),
        ("@pytest.mark.heavy('why')\n    @pytest.mark.parametrize('n', range(9))", "0.2", 4),
    ],
    ids=["no budget", "within", "a reason", "no reason", "too many"],
)
def test_a_budget_is_passed_by_a_reason_alone_and_by_few(tmp_path: Path, mark: str, budget: str, code: int) -> None:
    test = SPENDING.format(mark=mark)
    test = test.replace("def test_it():", "def test_it(n):") if "range(9)" in mark else test
    assert outcome(tmp_path, test, PKADVISOR_CPU_BUDGET_S=budget)[0] == code


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_command_in_a_test_does_not_swallow_the_signal_that_ends_the_run(
    tmp_path: Path, number: signal.Signals
) -> None:
    test = """
        import time
        import pkadvisor.cli.commands.samples as samples

        def test_first(tmp_path, monkeypatch):
            from pkadvisor.cli.main import main

            def slow(path, content):
                (tmp_path.parent / "ready").touch()
                time.sleep(60)

            monkeypatch.chdir(tmp_path)
            monkeypatch.setattr(samples, "write_whole", slow)
            assert main(["samples", "write", "footrace", "there"]) in (130, 143)

        def test_second(tmp_path):
            (tmp_path.parent / "second").touch()
    """
    temporary = tmp_path / "temporary"
    (tmp_path / "suite").mkdir()
    command = [*suite(tmp_path / "suite", test), f"--basetemp={temporary}"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=subprocess.DEVNULL) as process:
        try:
            while not (temporary / "ready").exists():
                assert process.poll() is None
                time.sleep(0.05)
            process.send_signal(number)
            code = process.wait(timeout=30)
        finally:
            process.kill()
    assert code == 128 + number
    assert not (temporary / "second").exists()


def test_a_result_is_computed_by_one_process_and_read_by_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample_results, "folder", lambda: tmp_path / "results")
    calls = tmp_path / "calls"

    def make(name: str, *, size: int = 1) -> list[str]:
        with calls.open("a") as file:
            file.write(f"{name} {size}\n")
        until = time.process_time() + 0.2
        while time.process_time() < until:
            pass
        return [name] * size

    before = sample_results.computing_cpu_s()
    # Each `stored` has a memory of its own, as each process has.
    for _ in range(3):
        assert sample_results.stored(make)("a", size=2) == ["a", "a"]
    assert calls.read_text() == "a 2\n"
    assert sample_results.computing_cpu_s() - before >= 0.2
    assert sample_results.stored(make)("a") == ["a"]
    assert calls.read_text() == "a 2\na 1\n"
    assert sample_results.computed_cpu_s() >= 0.4


def test_results_of_other_code_or_data_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def place() -> Path:
        sample_results.folder.cache_clear()
        return sample_results.folder()

    for source in sample_results.SOURCES:
        (tmp_path / source).mkdir()
        (tmp_path / source / "a.txt").write_text("1")
    monkeypatch.setattr(sample_results, "ROOT", tmp_path)
    try:
        seen = {place()}
        assert place() in seen
        for source in sample_results.SOURCES:
            (tmp_path / source / "a.txt").write_text("2")
            seen.add(place())
        (tmp_path / "rules" / "b.txt").write_text("")
        seen.add(place())
        assert len(seen) == 6
    finally:
        sample_results.folder.cache_clear()


def test_examples_are_a_share_of_the_profile() -> None:
    from hypothesis import settings

    short, full = (settings.get_profile(name).max_examples for name in (SHORT, FULL))
    assert full >= 10 * short
    most = settings.default.max_examples
    assert (examples(100), examples(50), examples(1)) == (most, most // 2, max(1, most // 100))


def test_no_property_test_pins_its_number_of_examples() -> None:
    """A number in the decorator wins over the profile: the long form would look no further."""
    pinned = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if "max_examples=" in line
        and "max_examples=examples(" not in line
        and path.name not in ("tiers.py", "test_suite.py")
    ]
    assert pinned == []
