"""What each test costs: CPU seconds of its process and of the processes that it waited for, its fixtures included.

A run ends with the slowest tests and the sum of each folder. Where ``PKADVISOR_CPU_BUDGET_S`` is set (``.ci/run``), a
test above it fails the run unless it is marked ``heavy`` with a reason; at most ``HEAVY_MOST`` may be.
"""

from __future__ import annotations

import os
import resource
from collections import defaultdict
from collections.abc import Iterator

import pytest

from tests import sample_results

SLOWEST = 30
HEAVY_MOST = 8
TABLE_FROM = 500
"""Tests of a run from which on it ends with the table."""

_cpu_s: dict[str, float] = defaultdict(float)
_own_cpu_s: dict[str, float] = defaultdict(float)
"""Without the end of a test: what all tests share, such as a browser, ends after the last of them."""
_heavy: set[str] = set()
_last = 0.0


def cpu_s() -> float:
    """CPU seconds of this process and its ended children, less what results cost that all tests share."""
    own, ended = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime
    return spent - sample_results.computing_cpu_s()


def budget_s() -> float | None:
    """CPU seconds that a test may cost, or None."""
    text = os.environ.get("PKADVISOR_CPU_BUDGET_S", "")
    return float(text) if text else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("heavy")]
    if len(marked) > HEAVY_MOST:
        raise pytest.UsageError(f"{len(marked)} tests are marked heavy; {HEAVY_MOST} may be")
    for item in marked:
        if not "".join(str(word) for mark in item.iter_markers("heavy") for word in mark.args).strip():
            raise pytest.UsageError(f"{item.nodeid} is marked heavy without a reason")


def pytest_runtest_logstart() -> None:
    global _last
    _last = cpu_s()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    # Of the attributes of a report xdist sends those on that JSON can hold.
    global _last
    report = yield
    now = cpu_s()
    report.cpu_s, _last = now - _last, now
    report.own = call.when != "teardown"
    report.heavy = item.get_closest_marker("heavy") is not None
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _cpu_s[report.nodeid] += getattr(report, "cpu_s", 0.0)
    if getattr(report, "own", False):
        _own_cpu_s[report.nodeid] += getattr(report, "cpu_s", 0.0)
    if getattr(report, "heavy", False):
        _heavy.add(report.nodeid)


def over_budget() -> list[str]:
    """The tests that cost more than they may."""
    most = budget_s()
    return [] if most is None else sorted(t for t, spent in _own_cpu_s.items() if spent > most and t not in _heavy)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.exitstatus == pytest.ExitCode.OK and not hasattr(session.config, "workerinput") and over_budget():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for test in over_budget():
        spent = f"{_own_cpu_s[test]:.1f} CPU seconds, {budget_s():g} allowed"
        terminalreporter.write_line(f"FAILED {test}: {spent}", red=True)
    if len(_cpu_s) < TABLE_FROM:
        return
    terminalreporter.section(f"the {SLOWEST} tests that cost most (CPU seconds; * marked heavy)")
    for test, spent in sorted(_own_cpu_s.items(), key=lambda pair: -pair[1])[:SLOWEST]:
        terminalreporter.write_line(f"{spent:6.1f}{'*' if test in _heavy else ' '} {test}")
    terminalreporter.section("CPU seconds of each folder")
    folders: dict[str, list[float]] = defaultdict(list)
    for test, spent in _own_cpu_s.items():
        folders["/".join(test.split("::")[0].split("/")[:-1])].append(spent)
    for folder, spent_each in sorted(folders.items(), key=lambda pair: -sum(pair[1])):
        terminalreporter.write_line(f"{sum(spent_each):8.1f} in {len(spent_each):5} tests of {folder}")
    own, all_of_it = sum(_own_cpu_s.values()), sum(_cpu_s.values())
    terminalreporter.write_line(f"{own:8.1f} in {len(_own_cpu_s):5} tests")
    terminalreporter.write_line(
        f"{all_of_it - own:8.1f} for the ends of tests and of what they share, such as a browser"
    )
    shared = sample_results.computed_cpu_s()
    terminalreporter.write_line(f"{shared:8.1f} for the results of samples that all tests share")
