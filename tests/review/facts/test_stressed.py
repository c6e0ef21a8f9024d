"""What a stress test measured is there for rules about the same keys, and for no others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pkadvisor.errors import InputError, UsageError
from pkadvisor.limits import default_limits
from pkadvisor.progress import SilentProgress
from pkadvisor.review.facts import FactBook
from pkadvisor.review.views.subjects import Scope, subjects_of_design
from pkadvisor.usecases.review import conduct
from pkadvisor.usecases.review.opening import open_design
from pkadvisor.usecases.review.request import ReviewRequest
from pkadvisor.usecases.review.stress_file import stressed_of
from tests.review.support import as_dict
from tests.stress.stressed import DESIGN, document

RULE = """
id = "ACME009"
name = "turned-away-under-stress"
title = "Throttled under stress"
scope = "table"
needs = ["design"]
place = "partition_key"
measured = "table.stress_throttled_share"
unit = "of attempts"
why = "It was."
bad = "x"
good = "y"
fix = "Spread it."

[[level]]
severity = "error"
when = "table.stress_throttled_share > 0.001"
message = "'{subject}' had {measured} of its attempts turned away"
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """A stress result, and the design that it is of."""
    stress, design = tmp_path / "stress.json", tmp_path / "design.yaml"
    stress.write_text(json.dumps(document()), encoding="utf-8")
    design.write_text(DESIGN.replace("{PARTITION}", "all"), encoding="utf-8")
    return str(stress), str(design)


def facts(design: str, stress: str) -> dict[str, Any]:
    view = open_design(design, None, default_limits())
    view.stressed = stressed_of((stress,))
    (table,) = (s for s in subjects_of_design(view) if s.scope is Scope.TABLE)
    book = FactBook(default_limits())
    names = ("throttled_share", "cold_throttled_share", "lost_share", "latency_ms_p99", "hottest_times_target")
    found = {name: book.known(f"table.stress_{name}", table) for name in names}
    return {name: None if known is None else (known.value, str(known.basis)) for name, known in found.items()}


def test_figures_of_the_same_keys_are_facts_that_were_measured(files: tuple[str, str]) -> None:
    stress, design = files
    warm, cold = document()["tables"][0]["designs"][0]["runs"][:2]
    assert facts(design, stress) == {
        "throttled_share": (warm["throttled_share"], "measured"),
        "cold_throttled_share": (cold["throttled_share"], "measured"),
        "lost_share": (warm["lost_share"], "measured"),
        "latency_ms_p99": (warm["latency_ms_p99"], "measured"),
        "hottest_times_target": (warm["hottest"]["times_target"], "measured"),
    }


def test_of_other_keys_nothing_is_known(files: tuple[str, str]) -> None:
    stress, design = files
    Path(design).write_text(DESIGN.replace("{PARTITION}", "other"), encoding="utf-8")
    assert set(facts(design, stress).values()) == {None}
    Path(design).write_text(DESIGN.replace("{PARTITION}", "all").replace("Scores:", "Others:"), encoding="utf-8")
    assert set(facts(design, stress).values()) == {None}


def findings(request: ReviewRequest) -> list[dict[str, Any]]:
    """What a review finds."""
    return [f for d in as_dict(conduct(request, SilentProgress()).document)["designs"] for f in d["findings"]]


def test_a_review_with_a_stress_result_finds_what_a_rule_asks_for(files: tuple[str, str], tmp_path: Path) -> None:
    stress, design = files
    rules = tmp_path / "rules"
    rules.mkdir()
    (rules / "own.toml").write_text(RULE, encoding="utf-8")
    asked = ReviewRequest(designs=(design,), rules=(str(rules),), select=("ACME009",), stress=(stress,))
    assert [f["rule"] for f in findings(asked)] == ["ACME009"]
    without = ReviewRequest(designs=(design,), rules=(str(rules),), select=("ACME009",))
    assert findings(without) == []


def test_a_result_of_another_design_or_other_data_is_refused_with_both_digests(
    files: tuple[str, str], tmp_path: Path
) -> None:
    stress, design = files
    asked = ReviewRequest(designs=(design,), stress=(stress,))
    conduct(asked, SilentProgress())
    Path(design).write_text(DESIGN.replace("{PARTITION}", "other"), encoding="utf-8")
    with pytest.raises(InputError, match=r"is of other keys of Scores: .*xxh3 [0-9a-f]{16}.* of xxh3 [0-9a-f]{16}"):
        conduct(asked, SilentProgress())
    Path(design).write_text(DESIGN.replace("{PARTITION}", "all"), encoding="utf-8")
    data = tmp_path / "others.csv"
    data.write_text("game,player,score\na,b,1\n", encoding="utf-8")
    run_on = {"role": "data", "name": "scores.csv", "bytes": 1, "xxh3": "0" * 32}
    result = document()
    Path(stress).write_text(json.dumps({**result, "inputs": {**result["inputs"], "files": [run_on]}}), encoding="utf-8")
    with pytest.raises(InputError, match=r"is of other data: .*scores.csv \(xxh3 0{32}\).*others.csv \(xxh3 "):
        conduct(ReviewRequest(designs=(design,), stress=(stress,), data=(str(data),)), SilentProgress())


def _with_runs(table: dict[str, Any], runs: list[Any]) -> dict[str, Any]:
    return {**table, "designs": [{**design, "runs": runs} for design in table["designs"]]}


def test_what_is_no_stress_result_is_told(files: tuple[str, str]) -> None:
    stress, _ = files
    path = Path(stress)
    whole = json.loads(path.read_text(encoding="utf-8"))
    table = whole["tables"][0]
    run = table["designs"][0]["runs"][0]
    judged = {**table["verdict"], "designs": []}
    unnamed = {**whole["inputs"], "files": [{"role": "data"}]}
    for damage, words in (
        ({"document": "pkadvisor result"}, "is not a stress result"),
        ({"schema_version": "2.0"}, "is of version 2.0"),
        ({"complete": False}, "was interrupted"),
        ({"tables": [{"table": "x"}]}, r"is not whole: tables\.0\.kind is missing"),
        (
            {"tables": [{**table, "verdict": judged}]},
            r"is not whole: tables\.0\.verdict\.designs holds 0, not ",
        ),
        ({"tables": [_with_runs(table, [])]}, r"is not whole: tables\.0\.designs\.0\.runs cannot be \[\]"),
        ({"tables": [_with_runs(table, [{**run, "lost_share": 10**400}])]}, r"runs\.0\.lost_share cannot be 1000"),
        (
            {"tables": [_with_runs(table, [{**run, "latency_ms_p99.9": -5}])]},
            r"designs\.0\.runs\.0\.latency_ms_p99\.9 cannot be -5",
        ),
        (
            {"inputs": unnamed},
            r"is not whole: inputs\.files\.0\.name is missing",
        ),
    ):
        path.write_text(json.dumps({**whole, **damage}), encoding="utf-8")
        with pytest.raises(InputError, match=words):
            stressed_of((stress,))
    path.write_text("no", encoding="utf-8")
    with pytest.raises(InputError, match="is not JSON"):
        stressed_of((stress,))
    path.unlink()
    with pytest.raises(UsageError, match="cannot be read"):
        stressed_of((stress,))
