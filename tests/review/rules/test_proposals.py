"""Keys are proposed in place of those in use only where the rules find less wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pkadvisor.cli.main import main
from pkadvisor.review.rules.evaluate import Proposals
from pkadvisor.review.rules.rule import load_rule, load_rules
from pkadvisor.review.views.subjects import Subject
from tests.review.support import findings

DESIGN = """
schema: 1
tables:
  Orders:
    partition_key: "{tenant}"
    row_key: "{orderNo}"
    properties: {tenant: string, orderNo: int64, status: string}
    sampling: random-rows
    entities_total: TOTAL
    queries:
      - {name: recent, filter: "tenant eq '{tenant}' and status eq '{status}'", rate: 20/s}
      - {name: by-no, filter: "orderNo eq {orderNo}", rate: 100/s}
    writes:
      - {name: advance, operation: update, key: [orderNo], sets: [status], rate: 60/s}
"""
DATA = "tenant,orderNo,status\n" + "".join(f"t{i % 3},{7000 + i},s{i % 50}\n" for i in range(600))
OWN = """
id = "OWN001"
name = "own"
title = "Of a team"
scope = "part"
why = "why"
fix = "fix"
[[level]]
severity = "{severity}"
when = "{when}"
message = "no"
"""


def proposal(folder: Path, own: str = "", total: int = 600_000) -> str:
    rules = tuple(r for r in load_rules() if r.id in ("PK201", "PK303"))
    if own:
        file = folder / "own.toml"
        file.write_text(own)
        rules = (*rules, load_rule(file))
    found = findings(DESIGN.replace("TOTAL", str(total)), folder, data=DATA, rules=rules)
    (told,) = {f.proposal for f in found if f.rule == "PK201"}
    return told


def test_keys_that_only_the_sample_tells_apart_say_so(tmp_path: Path) -> None:
    told = proposal(tmp_path)
    assert "{pad(orderNo," in told and "tenant" not in told.split(" + ")[0]
    assert told.endswith(" (unique among 600 entities)")
    whole = proposal(tmp_path, total=600)
    assert whole and "unique" not in whole


@pytest.mark.parametrize(
    ("severity", "when", "shown"),
    [
        ("error", "part.width_known && part.width > 0.0", False),
        ("warning", "part.width_known && part.width > 0.0", False),
        ("info", "part.width_known && part.width > 0.0", True),
        ("error", "part.width_known && part.width > 30.0", True),
    ],
)
def test_keys_that_a_rule_finds_wrong_are_not_proposed(tmp_path: Path, severity: str, when: str, shown: bool) -> None:
    # The keys in use have no padded part, those proposed have several.
    own = OWN.replace("{severity}", severity).replace("{when}", when)
    assert bool(proposal(tmp_path, own)) == shown


@pytest.mark.parametrize(("words", "searched"), [((), 0), (("--format", "concise"), 0), (("--details",), 1)])
def test_keys_are_searched_for_only_where_an_output_names_them(
    words: tuple[str, ...], searched: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "design.yaml").write_text(DESIGN.replace("TOTAL", "600"))
    (tmp_path / "orders.csv").write_text(DATA)
    calls = list[Subject]()
    monkeypatch.setattr(Proposals, "of", lambda _, subject: calls.append(subject) or "")
    data = f"Orders={tmp_path / 'orders.csv'}"
    main(["review", str(tmp_path / "design.yaml"), "--data", data, "--select", "PK201", "-q", *words])
    assert len(calls) == searched
