"""The account's targets under all tables and kinds of a design: one sum, one break factor, wherever it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from pkadvisor.documents.schema_errors import typed
from pkadvisor.inputs import AnalyzeRequest, read_sections
from pkadvisor.progress import SilentProgress
from pkadvisor.report.text.score_page import render_score
from pkadvisor.report.text.verdict_page import render_text
from tests.plain import analyze, score

POST = """\
schema: 1
tables:
  Post:
    kinds:
      Parcels:
        partition_key: "{{parcel}}"
        row_key: "PARCEL:"
        properties: {{parcel: string, depot: string}}
      Scans:
        partition_key: "{{scan}}"
        row_key: "SCAN:"
        properties: {{scan: string, parcel: string}}
    queries:
      - {{name: parcel, kind: Parcels, filter: "parcel eq '{{parcel}}'", draw: entities, {parcel}}}
      - {{name: scan, kind: Scans, filter: "scan eq '{{scan}}'", draw: entities, rate: {scan}/s}}
{post}
  Vans:
    partition_key: "{{van}}"
    row_key: ""
    properties: {{van: string}}
    queries:
      - {{name: van, filter: "van eq '{{van}}'", draw: entities, {van}}}
"""


def asked(
    folder: Path, parcel: str = "rate: 9000/s", scan: int = 8000, van: str = "rate: 6000/s", post: str = ""
) -> AnalyzeRequest:
    """A table of two kinds and a table of one; each entity is read by its key."""
    (folder / "design.yaml").write_text(POST.format(parcel=parcel, scan=scan, van=van, post=post))
    (folder / "Parcels.csv").write_text("parcel,depot\n" + "".join(f"p{i:04d},d{i % 9}\n" for i in range(60)))
    (folder / "Scans.csv").write_text("scan,parcel\n" + "".join(f"s{i:04d},p{i % 60:04d}\n" for i in range(80)))
    (folder / "Vans.csv").write_text("van\n" + "".join(f"v{i:04d}\n" for i in range(50)))
    data = tuple(f"{name}={folder / name}.csv" for name in ("Parcels", "Scans", "Vans"))
    return AnalyzeRequest(data=data, design=str(folder / "design.yaml"))


def test_what_each_table_holds_alone_is_told_as_broken_together(tmp_path: Path) -> None:
    """9,000 and 8,000 and 6,000 requests/s are 23,000 of 20,000: 0.87 times the load is what the account takes."""
    request = asked(tmp_path)
    result, card = analyze(request, SilentProgress()), score(request, (), SilentProgress())
    for document in (result, card):
        assert document["outcome"] == "constraint-unsatisfied"
        (load,) = document["account"]["loads"]
        assert (load["measured"], load["limit"]) == (23_000, 20_000)
        assert document["account"]["break_factor"] == pytest.approx(20 / 23, rel=1e-5)
        assert {s["name"]: s["per_s"] for s in load["shares"]} == {
            "Post · Parcels": 9_000,
            "Post · Scans": 8_000,
            "Vans": 6_000,
        }
    schemes = [table["recommended"] for table in result["tables"]]
    schemes += [c["scheme"] for table in card["tables"] for c in table["schemes"]]
    factors = {next(t["value"] for t in scheme["terms"] if t["name"] == "break factor") for scheme in schemes}
    assert sorted(factors) == [pytest.approx(20 / 23, rel=1e-5)]
    for page in (
        render_text(typed(result), width=300, color=False, ascii_only=False, details=True),
        render_score(typed(card), width=300, color=False, ascii_only=False),
    ):
        assert "the account's requests: 23,000 of 20,000 requests/s at the peak; breaks at 0.87x the load" in page


def test_tables_that_are_busy_at_other_hours_do_not_add_up(tmp_path: Path) -> None:
    """15,000 parcels a second in the morning and 15,000 vans in the evening: with 100 of the other and 2,000 scans."""
    early = 'rate: 100/s, peak: 15000/s, peak_at: "08:00-10:00"'
    late = 'rate: 100/s, peak: 15000/s, peak_at: "18:00-20:00"'
    result = analyze(asked(tmp_path, early, 2000, late), SilentProgress())
    assert result["outcome"] == "done"
    assert result["account"]["loads"][0]["measured"] == 17_100


def test_assumed_growth_of_the_sum_is_a_margin(tmp_path: Path) -> None:
    """13,000 requests/s hold; three times as many, which nobody declared, would not: told, and nothing is broken."""
    result = analyze(asked(tmp_path, "rate: 5000/s", 5000, "rate: 3000/s"), SilentProgress())
    assert result["outcome"] == "done"
    (over,) = result["account"]["violations"]
    assert over["assumed_growth"]
    assert result["account"]["loads"][0]["at_horizon"] == 39_000
    declared = "    growth: {rate: 10 %/month, of: rate, horizon: 12 months}"
    grown = analyze(asked(tmp_path, "rate: 5000/s", 5000, "rate: 3000/s", declared), SilentProgress())
    (load,) = grown["account"]["loads"]
    assert grown["outcome"] == "constraint-unsatisfied"
    # 10,000 · 1.1^m + 3,000 = 20,000 after 5.57 months.
    assert load["months"] == pytest.approx(5.567, abs=0.01)


def test_a_table_without_data_counts_at_the_least(tmp_path: Path) -> None:
    request = asked(tmp_path)
    result = analyze(AnalyzeRequest(data=request.data[:2], design=request.design), SilentProgress())
    (load,) = result["account"]["loads"]
    assert load["measured"] == 23_000
    assert [s["name"] for s in load["shares"] if s["at_least"]] == ["Vans"]


KINDS = """\
  {table}:
    kinds:
      Order: {{partition_key: "{{p1}}", row_key: "ORDER:{{r1}}", key_parts: {{p1: string, r1: string}}}}
      {other}: {{partition_key: "{{p1}}", row_key: "{label}:{{r1}}", key_parts: {{p1: string, r1: string}}}}
"""


def test_kinds_of_one_name_in_two_tables_have_data_of_their_own(tmp_path: Path) -> None:
    design = tmp_path / "design.yaml"
    tables = (("Sales", "Customer", "CUSTOMER"), ("Purchases", "Supplier", "SUPPLIER"))
    texts = [KINDS.format(table=table, other=other, label=label) for table, other, label in tables]
    design.write_text("schema: 1\ntables:\n" + "".join(texts))
    for orders, (table, _, label) in enumerate(tables, 3):
        rows = [f"p,{label}:r", *(f"p,ORDER:{n}" for n in range(orders))]
        (tmp_path / f"{table}.csv").write_text("PartitionKey,RowKey\n" + "\n".join(rows) + "\n")
    data = tuple(str(tmp_path / f"{table}.csv") for table, _, _ in tables)
    sections = read_sections(AnalyzeRequest(data=data, design=str(design)), SilentProgress())
    counts = {(section.table, section.kind): section.entities for section, _ in sections}
    assert counts == {
        ("Sales", "Order"): 3,
        ("Sales", "Customer"): 1,
        ("Purchases", "Order"): 4,
        ("Purchases", "Supplier"): 1,
    }
