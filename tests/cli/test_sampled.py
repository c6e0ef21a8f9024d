"""``--entities-total`` and ``--log-fraction``: what a sample of a table and of its log stands for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pkadvisor.cli.main import main
from tests.report.support import result


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main([*arguments, "--quiet"])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def analysed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    code, out, err = run(capsys, "analyze", *arguments, "--format", "json")
    found: dict[str, Any] = json.loads(out)
    # Nobody says how the rows of a total were taken: what follows from either reading is told, and no advice given.
    enough = all(table["verdict"] != "not_enough" for table in found["tables"])
    assert code == (0 if enough else 1), err
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"t{i % 7},{i}\n" for i in range(500))
    (tmp_path / "d.csv").write_text("tenant,n\n" + rows)
    (tmp_path / "w.yaml").write_text(
        "schema: 1\ntables:\n  Things:\n"
        "    queries:\n      - {name: of, filter: \"tenant eq '{tenant}'\", rate: 10/s, draw: entities}\n"
        "    writes:\n      - {name: put, operation: insert, rate: 5/s}\n"
    )
    return tmp_path


def test_entities_total_scales_counts_up_and_gives_intervals(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (small,) = analysed(capsys, "d.csv", "--design", "w.yaml")["tables"]
    (large,) = analysed(capsys, "d.csv", "--design", "w.yaml", "--entities-total", "50000")["tables"]
    assert (small["data"]["entities_total"], large["data"]["entities_total"]) == (500, 50_000)
    assert (small["data"]["sampling"], large["data"]["sampling"]) == ("complete", "random-rows")
    assert (small["verdict"], large["verdict"]) == ("choose", "not_enough")
    assert "`sampling`" in large["next"]
    assert small["confidence"]["basis"] == "counted"
    assert large["confidence"]["basis"] == "estimated"
    returned = [t["recommended"]["classes"][0]["entities_returned"] for t in (small, large)]
    assert returned[1] > 50 * returned[0]
    assert small["recommended"]["classes"][0]["entities_read_interval"] is None
    read = large["recommended"]["classes"][0]
    assert read["entities_read_interval"]["low"] < read["entities_read"] < read["entities_read_interval"]["high"]
    hottest = next(t for t in large["recommended"]["terms"] if t["name"] == "hottest partition at peak")
    assert hottest["low"] < hottest["value"] < hottest["high"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("analyze", "d.csv", "--design", "w.yaml", "--entities-total", "499"), ("499", "500 entities")),
        (("analyze", "d.csv", "--design", "w.yaml", "--entities-total", "0"), ("--entities-total", "equal to 1")),
        (("analyze", "d.csv", "--design", "w.yaml", "--entities-total", "many"), ("--entities-total", "valid integer")),
        (("profile", "d.csv", "--entities-total", "900"), ("--entities-total", "analyze --profile")),
        (("analyze", "--design", "w.yaml", "--entities-total", "900"), ("--entities-total", "no data")),
        (("analyze", "d.csv", "--design", "w.yaml", "--log-fraction", "5%"), ("--log-fraction", "no log")),
        (("analyze", "--sample", "microblog", "--log-fraction", "0"), ("--log-fraction", "5%")),
        (("analyze", "--sample", "microblog", "--log-fraction", "150%"), ("--log-fraction", "150%")),
        (("analyze", "--sample", "microblog", "--log-fraction", "half"), ("--log-fraction", "half")),
    ],
)
def test_what_cannot_be_scaled_is_refused(
    capsys: pytest.CaptureFixture[str], folder: Path, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert "Traceback" not in err
    for word in words:
        assert word in err


@pytest.mark.long("proofs")
def test_a_log_of_half_the_requests_doubles_rates_and_says_that_they_are_estimated() -> None:
    whole, half = result("microblog"), result("microblog", log_fraction=0.5)
    assert whole["log"]["basis"] == "counted"
    assert half["log"]["basis"] == "estimated"
    assert half["log"]["requests_attempted"] == whole["log"]["requests_attempted"]
    assert half["log"]["account"]["mean_per_s"] == pytest.approx(2 * whole["log"]["account"]["mean_per_s"], rel=1e-4)
    for mine, theirs in zip(half["tables"], whole["tables"], strict=True):
        for scaled, read in zip(mine["workload"], theirs["workload"], strict=True):
            if read["rate_basis"] == "counted":
                assert scaled["rate_basis"] == "estimated"
                assert scaled["rate_per_s"] == pytest.approx(2 * read["rate_per_s"], rel=1e-4)
        if theirs["heat_in_log"]["reads"]["top"]:
            first, second = (t["heat_in_log"]["reads"]["top"][0] for t in (mine, theirs))
            assert first["requests_per_s"] == pytest.approx(2 * second["requests_per_s"], rel=1e-4)
            assert first["share"] == second["share"]
        assert any("50 %" in note for note in mine["notes"])
