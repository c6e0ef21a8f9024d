"""Two tiers of the suite: ``.ci/run`` has every kind of test with few examples, ``.ci/full PART`` the long forms.

``PKADVISOR_LONG`` names the part whose long forms run; without it nothing is long. A test says how long it is in one of
three ways, and all of them run in both tiers or say where they run::

    @settings(max_examples=examples(25))          # a share of the profile's examples, never a fixed number
    @pytest.mark.parametrize("seed", sizes(range(8), range(200)))
    @pytest.mark.long("proofs")                   # only in this part of .ci/full
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

from hypothesis import HealthCheck, settings

T = TypeVar("T")

PARTS: dict[str, tuple[str, ...]] = {
    "laws": (),
    "simulation": (
        "simulate/",
        "engine/machine/",
        "engine/stamp/test_stamp_crash_points.py",
        "engine/stamp/test_stamp_swarm.py",
    ),
    "proofs": (
        "cli/test_schemes.py",
        "cli/test_signals.py",
        "proof/",
        "test_bad_input.py",
        "test_determinism.py",
        "design/choice/test_flips.py",
        "design/cost/test_plan_counts.py",
        "design/load/test_bursts.py",
        "design/rows/test_fronts.py",
        "design/rows/test_intervals.py",
        "design/choice/test_row_sets.py",
        "design/evidence/test_grounds.py",
        "design/evidence/test_windows.py",
        "observe/profile/test_profile_file.py",
        "published/",
        "report/documents/test_schema_errors.py",
        "review/facts/test_loads.py",
        "review/test_every_sample.py",
        "stress/requests/test_caller.py",
        "stress/requests/test_counting.py",
        "stress/requests/test_programs_on_engine.py",
        "stress/load/test_even_load.py",
        "stress/simulate/test_clients.py",
        "stress/simulate/test_clients_and_engine.py",
        "stress/store/test_read_modify_write.py",
        "stress/simulate/test_fluid_laws.py",
        "stress/simulate/test_living_map_and_engine.py",
        "stress/simulate/test_saturation.py",
    ),
    "real": ("real/", "design/keys/test_infer_proof.py"),
    "browser": ("browser/",),
    "azurite": ("azurite/",),
    "worlds": ("worlds/", "strangers/"),
    "fuzz": ("fuzz/",),
    "install": ("cli/test_pipelines.py",),
}
"""A part of ``.ci/full`` and what it runs: the modules that name it. *laws* runs the property tests of all folders."""

LONG = os.environ.get("PKADVISOR_LONG", "")
"""The part whose long forms run; empty in ``.ci/run``."""

EXAMPLES_USUAL = 100
"""What ``examples`` counts in: a test that asks for 100 gets just the profile's."""
SHORT, FULL = "short", "full"

# The same examples on every machine; the long form looks for new ones, many of them.
settings.register_profile(SHORT, derandomize=True, deadline=None, max_examples=12)
settings.register_profile(
    FULL, deadline=None, max_examples=400, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)


def load_profile() -> None:
    """Take the profile of the tier; conftest does so before any test module is read."""
    settings.load_profile(FULL if LONG == "laws" else SHORT)


def examples(usual: int) -> int:
    """As many examples as the profile has for each 100 that a test usually asks for; one at least."""
    return max(1, usual * settings.default.max_examples // EXAMPLES_USUAL)


def sizes(short: Iterable[T], long: Iterable[T], part: str | None = None) -> list[T]:
    """What a test runs over in ``.ci/run``, and in the long form of its part (of any part where none is named)."""
    return list(long if LONG and part in (None, LONG) else short)
