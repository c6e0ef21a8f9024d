"""Goals are kept by those who were served and by those who were not."""

from __future__ import annotations

import os
import signal
import time
from types import SimpleNamespace
from typing import Any

import pytest

from pkadvisor.cli.signals import ending_softly
from pkadvisor.documents.schema_errors import typed
from pkadvisor.numbers import percent
from pkadvisor.report.text.stress_page import render_stress
from pkadvisor.stress.experiment.goals import met
from pkadvisor.stress.experiment.request import Goal
from tests.stress.stressed import document


def run(lost_share: float, **told: Any) -> Any:
    usual = {"requests": 100, "latency_ms_p50": 5.0, "latency_ms_p99": 20.0}
    return SimpleNamespace(lost_share=lost_share, **{**usual, **told})


@pytest.mark.parametrize(
    ("name", "most", "lost", "kept"),
    [
        ("p99", 20.0, 0.01, True),
        ("p99", 20.0, 0.011, False),
        ("p99", 19.9, 0.0, False),
        ("p50", 5.0, 0.4, True),
        ("p50", 5.0, 0.51, False),
        ("lost", 0.6, 0.51, True),
    ],
)
def test_a_lost_request_is_slower_than_any_goal(name: str, most: float, lost: float, kept: bool) -> None:
    assert met(Goal(name, most), run(lost)) is kept


def test_without_a_served_request_only_a_run_without_requests_keeps_a_latency() -> None:
    nothing = run(1.0, latency_ms_p99=None)
    assert not met(Goal("p99", 9e9), nothing)
    assert met(Goal("p99", 1.0), run(0.0, latency_ms_p99=None, requests=0))


@pytest.mark.parametrize(
    ("share", "text"),
    [(133.4, "13,340 %"), (9.996, "1,000 %"), (0.998, "99.8 %"), (9.5, "950 %"), (0.357e-2, "0.357 %"), (0, "0 %")],
)
def test_no_percentage_has_an_exponent(share: float, text: str) -> None:
    assert percent(share) == text


def test_a_server_that_is_lost_or_back_is_named_and_only_a_range_goes_to_one() -> None:
    found = document()
    run = found["tables"][0]["designs"][0]["runs"][0]
    event = {"at_s": 5, "away_s": 0, "load_share_before": 0.5, "ranges": []}
    kinds = ("server lost", "server back", "move")
    run["events"] = [{**event, "kind": kind, "server": "server-2"} for kind in kinds]
    lines = [
        line.split()
        for line in render_stress(typed(found), width=120, color=False, ascii_only=False, details=True).splitlines()
    ]
    assert ["00:05", "server", "lost", "server-2"] in lines
    assert ["00:05", "server", "back", "server-2"] in lines
    assert ["00:05", "move", "→", "server-2"] in lines


def test_sigterm_ends_a_run_as_an_interrupt_does_and_is_told_apart() -> None:
    suites_own = signal.signal(signal.SIGTERM, signal.SIG_DFL)  # it would end the run of all tests
    try:
        with pytest.raises(KeyboardInterrupt), ending_softly() as ended:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)
        assert ended == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, suites_own)
