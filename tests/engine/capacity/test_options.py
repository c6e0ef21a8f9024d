"""The engine's options: read by the engine, in agreement with the store's limits, derived as they say."""

from __future__ import annotations

import re
from dataclasses import fields
from math import sqrt
from pathlib import Path

import pytest

from pkadvisor.engine import options
from pkadvisor.engine.options import EngineOptions
from pkadvisor.limits import default_limits


def test_what_the_store_publishes_is_the_same_in_options_and_limits() -> None:
    engine, limits = EngineOptions(), default_limits()
    assert engine.evaluate_ns == limits.t_eval_s * 1e9
    assert engine.sustain_ns == limits.t_sustain_s * 1e9
    assert engine.move_ns == limits.t_move_s * 1e9
    assert engine.splits_per_pass == limits.splits_per_pass
    # The policy counts requests, the limits entities: for requests of one entity they are the same capacity.
    assert engine.range_requests_per_s == limits.range_entities_per_s
    assert engine.server_requests_per_s == limits.server_entities_per_s


def test_every_option_is_read_by_the_engine() -> None:
    """An option that nobody reads is a promise that nobody keeps."""
    engine = Path(options.__file__).parent
    sources = [path.read_text(encoding="utf-8") for path in engine.rglob("*.py") if path.name != "options.py"]
    read = {name for source in sources for name in re.findall(r"options\.(\w+)", source)}
    assert {field.name for field in fields(EngineOptions)} <= read


def test_every_number_says_who_states_it() -> None:
    lines = Path(options.__file__).read_text(encoding="utf-8").splitlines()
    numbers = {field.name for field in fields(EngineOptions) if field.type in ("int", "float")}
    for name in numbers:
        at = next(number for number, line in enumerate(lines) if line.startswith(f"    {name}: "))
        comment = ""
        while lines[at - 1].startswith("    # "):
            at -= 1
            comment = lines[at].removeprefix("    # ")
            if re.match(r"(Published|Derived|Assumed): \S", comment):
                break
        assert re.match(r"(Published|Derived|Assumed): \S", comment), name


def test_the_multiple_of_a_range_is_the_rate_fitted_to_the_single_inserts_of_2010() -> None:
    """R = floor + 1/(rate − X) through 30 threads at 600/s and 75 at 1,000/s; the target was 500/s."""
    threads, inserted = (30, 75), (600.0, 1000.0)
    more = inserted[1] - inserted[0]
    longer = threads[1] / inserted[1] - threads[0] / inserted[0]
    rate = inserted[1] + (sqrt(more * more + 4 * more / longer) - more) / 2
    assert rate == pytest.approx(1037, abs=1)
    assert EngineOptions().range_rate_multiple == pytest.approx(rate / 500, rel=0.05)
