"""Every bundled design is reviewed: alone, with its data, and with the profile that the command makes of its data."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pkadvisor.cli.inputs import sample_names
from pkadvisor.cli.main import main
from tests.report.support import result
from tests.tiers import sizes

SAMPLES = Path(__file__).parents[2] / "samples"
DESIGNS = sorted(SAMPLES.glob("*/design*.yaml"))


LARGE = ("sensors", "orders", "footrace", "microblog")


def small(cases: Sequence[Any]) -> list[Any]:
    """The cases of small samples."""
    return [case for case in cases if not any(name in str(case) for name in LARGE)]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--quiet", "--format", "json", "--fail-on", "never"]) == 0, capsys.readouterr().err
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def places_hold(document: dict[str, Any], design: Path) -> None:
    lines = design.read_text(encoding="utf-8").splitlines()
    for found in document["designs"][0]["findings"]:
        assert found["place"]["excerpt"] == lines[found["place"]["line"] - 1]


@pytest.mark.parametrize("design", sizes(small(DESIGNS), DESIGNS, "proofs"), ids=lambda d: f"{d.parent.name}-{d.stem}")
def test_a_sample_is_reviewed_alone_with_data_and_with_a_profile(
    design: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = [str(path) for path in sorted(design.parent.glob("*.csv*"))]
    alone = run(capsys, "review", str(design))
    places_hold(alone, design)
    assert not any(t["has_data"] for t in alone["designs"][0]["tables"])
    given = [word for path in data for word in ("--data", path)]
    with_data = run(capsys, "review", str(design), *given)
    places_hold(with_data, design)
    profile = tmp_path / "p.json"
    assert main(["profile", *data, "--design", str(design), "--out", str(profile), "--quiet"]) == 0
    capsys.readouterr()
    with_profile = run(capsys, "review", str(design), "--profile", str(profile))
    places_hold(with_profile, design)
    for document in (with_data, with_profile):
        assert all(t["has_data"] and not t["note"] for t in document["designs"][0]["tables"])


def test_a_load_says_of_how_many_rows_it_is_estimated_and_is_that_of_the_data_where_it_is_of_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, design = tmp_path / "orders.csv", tmp_path / "design.yaml"
    data.write_text("tenant,id\n" + "".join(f"{'a' if i % 3 else f't{i % 40}'},{i}\n" for i in range(600)))
    design.write_text(
        'schema: 1\ntables:\n  Orders:\n    partition_key: "{tenant}"\n    row_key: "{id}"\n    queries:\n'
        "      - {name: one, filter: \"tenant eq '{tenant}' and id eq {id}\", rate: 9000/s}\n"
    )

    def hottest(*given: str) -> tuple[str, float, Any]:
        document = run(capsys, "review", str(design), *given)["designs"][0]
        (found,) = [f for f in document["findings"] if f["rule"] == "PK103"]
        return found["message"], found["measured"], document["tables"][0]["estimated_from"]

    profiled: dict[int, tuple[str, float, Any]] = {}
    for rows in (200, 600):
        path = tmp_path / f"{rows}.json"
        arguments = ("profile", str(data), "--design", str(design), "--sample-rows", str(rows), "--out", str(path))
        assert main([*arguments, "--quiet"]) == 0
        capsys.readouterr()
        profiled[rows] = hottest("--profile", str(path))
    assert "at the peak (estimated from 200 of 600 rows), " in profiled[200][0]
    assert profiled[200][2] == "200 of 600 rows"
    whole = hottest("--data", str(data))
    assert "estimated" not in whole[0]
    assert profiled[600][1:] == whole[1:] and whole[2] is None


KINDS = """\
schema: 1
tables:
  Shop:
    partition_key: "{order_id}"
    row_key: "{customer}"
    kinds:
      Orders: {properties: {order_id: string, customer: string}}
      Lines: {properties: {order_id: string, customer: string, sku: string}}
    index_rows:
      - {partition_key: "c_{customer}", row_key: "{order_id}", copy: pointer}
    queries:
      - {name: by-sku, kind: Lines, filter: "sku eq '{sku}'", rate: 40/s}
      - {name: header, kind: Orders, filter: "customer eq '{customer}'", rate: 40/s}
  Bare:
    properties: {id: string}
    queries:
      - {name: one, filter: "id eq '{id}'", rate: 1/s}
"""


def test_kinds_index_rows_and_tables_without_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    design = tmp_path / "d.yaml"
    design.write_text(KINDS)
    document = run(capsys, "review", str(design))
    places_hold(document, design)
    tables = document["designs"][0]["tables"]
    assert [(t["table"], t["kind"]) for t in tables] == [("Shop", "Orders"), ("Shop", "Lines"), ("Bare", None)]
    assert tables[2]["partition_key"] is None and tables[2]["note"] == "the design declares no keys"
    scans = [f for f in document["designs"][0]["findings"] if f["rule"] == "PK201"]
    assert [(f["subject"]["name"], f["kind"], f["place"]["line"]) for f in scans] == [("by-sku", "Lines", 12)]


ADVICE = [(name, "design.yaml") for name in sample_names()] + [
    ("footrace", "design-bib-only.yaml"),
    ("sensors", "design-12000.yaml"),
]


def with_keys(text: str, scheme: dict[str, Any]) -> str:
    """A design file with other keys for its one table."""
    rows = [{name: row[name] for name in ("partition_key", "row_key", "copy")} for row in scheme["index_rows"]]
    keys = {"partition_key": scheme["partition_key"], "row_key": scheme["row_key"], "index_rows": rows}
    kept = re.sub(r"(?m)^    row_key: .*\n", "", text)
    lines = "".join(f"    {name}: {json.dumps(value)}\n" for name, value in keys.items() if value or name == "row_key")
    changed, count = re.subn(r"(?m)^    partition_key: .*\n", lambda _: lines, kept)
    assert count == 1 and changed != text
    return changed


@pytest.mark.parametrize(
    ("sample", "name"), sizes(small(ADVICE), ADVICE, "proofs"), ids=lambda word: word.removesuffix(".yaml")
)
def test_the_gate_lets_pass_what_the_advisor_recommends(
    sample: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A change to the recommended keys has no error, with data or without."""
    old, new = SAMPLES / sample / name, tmp_path / "new.yaml"
    own = {} if name == "design.yaml" else {"design": str(old)}
    new.write_text(with_keys(old.read_text(encoding="utf-8"), result(sample, **own)["tables"][0]["recommended"]))
    data = [word for path in sorted(old.parent.glob("*.csv*")) for word in ("--data", str(path))]
    for given in ([], data):
        document = run(capsys, "review", str(new), "--against", str(old), *given)
        findings = document["designs"][0]["findings"]
        assert [f"{f['rule']}: {f['message']}" for f in findings if f["severity"] == "error"] == []
        assert document["designs"][0]["diff"] is not None


@pytest.mark.parametrize("name", sizes(["microblog"], list(sample_names()), "proofs"))
def test_a_review_of_a_sample_tells_the_figures_of_its_analysis_the_log_among_them(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["review", "--sample", name, "-q", "--fail-on", "never", "--select", "PK106", "--format", "json"]) == 0
    tables = json.loads(capsys.readouterr().out)["designs"][0]["tables"]
    for mine, theirs in zip(tables, result(name)["tables"], strict=True):
        assert mine["figures"]["first_break"] == theirs["current"]["first_break"]
        wanted = {t["name"]: t["value"] for t in theirs["current"]["terms"]}
        assert mine["figures"]["terms"] and all(wanted[t["name"]] == t["value"] for t in mine["figures"]["terms"])
