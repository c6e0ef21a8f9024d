"""What every test may rely on: examples that stay the same, and tools that are there or said to be missing."""

from __future__ import annotations

import os
import shutil

import pytest
from hypothesis import HealthCheck, settings

# The same examples on every machine; PKADVISOR_HYPOTHESIS=full looks for new ones, many of them.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile(
    "full", deadline=None, max_examples=2000, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("PKADVISOR_HYPOTHESIS") or "ci")

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


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("requires"):
        for name in marker.args:
            reason = missing_tool(str(name))
            if reason is None:
                continue
            if name in required_tools():
                pytest.fail(f"{reason}, and PKADVISOR_REQUIRE asks for it", pytrace=False)
            pytest.skip(reason)
