"""What every test may rely on: examples that stay the same, tools that are there or said to be missing, and a run that
can be stopped."""

from __future__ import annotations

import gc
import os
import shutil
from pathlib import Path

import pytest

from tests import sample_results, tiers

pytest_plugins = ["tests.cost_report", "tests.interruption"]
tiers.load_profile()

# A tool's name and the programs that may play it.
TOOLS: dict[str, tuple[str, ...]] = {
    "node": ("node",),
    "chromium": ("chromium", "chromium-browser", "google-chrome"),
    "azurite": ("azurite-table",),
}
# How to get a tool, as .ci/run does it.
INSTALLED_BY = {"azurite": "npm install --global azurite@3.37.0", "chromium": "apt-get install chromium"}


def required_tools() -> frozenset[str]:
    """Tools that PKADVISOR_REQUIRE names, e.g. ``node,chromium``: a test without them fails instead of skipping."""
    words = os.environ.get("PKADVISOR_REQUIRE", "").split(",")
    return frozenset(word.strip() for word in words if word.strip())


def missing_tool(name: str) -> str | None:
    """Why a tool cannot be used here, or None."""
    programs = TOOLS.get(name, (name,))
    if any(shutil.which(program) for program in programs):
        return None
    advice = f" ({INSTALLED_BY[name]})" if name in INSTALLED_BY else ""
    return f"needs {name}: none of {', '.join(programs)} is installed{advice}"


def pytest_configure(config: pytest.Config) -> None:
    unknown = required_tools() - TOOLS.keys()
    if unknown:
        raise pytest.UsageError(f"PKADVISOR_REQUIRE names no known tool: {', '.join(sorted(unknown))}")
    if tiers.LONG and tiers.LONG not in tiers.PARTS:
        raise pytest.UsageError(f"PKADVISOR_LONG names no part: {tiers.LONG}; there are {', '.join(tiers.PARTS)}")


def pytest_sessionstart(session: pytest.Session) -> None:
    """The results that many tests judge, before workers start: of a run of everything, not of a few tests."""
    config = session.config
    whole = config.args == list(config.getini("testpaths")) and not config.option.collectonly
    if whole and not tiers.LONG and not hasattr(config, "workerinput"):
        sample_results.compute_ahead()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is only in the long form, or all but the long form of one part."""
    root = Path(__file__).parent
    kept, left = [], []
    for item in items:
        marker = item.get_closest_marker("long")
        part = str(marker.args[0]) if marker else ""
        (kept if _runs(item, part, item.path.relative_to(root).as_posix()) else left).append(item)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept


def pytest_collection_finish() -> None:
    """What thousands of tests and their modules are made of stays to the end: no collection looks at it again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)  # as the command does: what it makes lives to its end


def _runs(item: pytest.Item, part: str, path: str) -> bool:
    if not tiers.LONG:
        return not part
    if part:
        return part == tiers.LONG
    if tiers.LONG == "laws":
        return bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))
    return path.startswith(tiers.PARTS[tiers.LONG])


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("requires"):
        for name in marker.args:
            reason = missing_tool(str(name))
            if reason is None:
                continue
            if name in required_tools():
                pytest.fail(f"{reason}, and PKADVISOR_REQUIRE asks for it", pytrace=False)
            pytest.skip(reason)
