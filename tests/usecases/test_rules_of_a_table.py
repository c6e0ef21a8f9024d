"""Rules between properties that one kind of a table shows: one key serves look-ups by either in every kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pkadvisor.inputs import AnalyzeRequest
from pkadvisor.progress import SilentProgress
from tests.plain import analyze

ORDERS, DESIGN = (
    120,
    """
schema: 1
tables:
  Shop:
    kinds:
      Orders: {{properties: {{number: int32, code: string, note: string}}}}
      Lines: {{properties: {{number: int32, code: string, line: int32}}}}
    queries:
      - {{name: by-code, kind: Orders, filter: "code eq '{{code}}'", rate: 20/s}}
      - {{name: by-number, kind: Orders, filter: "number eq {{number}}", rate: 5/s}}
      - {{name: lines, kind: Lines, filter: "{asked}", rate: 20/s}}
    writes:
      - {{name: put, kind: Orders, operation: insert, rate: 1/h}}
      - {{name: add, kind: Lines, operation: insert, rate: 3/h}}
    transactions:
      - {{name: place, together: [put, add], group_by: [number]}}
""",
)
BY_NUMBER, BY_CODE = "number eq {number}", "code eq '{code}'"


def keys(folder: Path, columns: str, asked: str, *, rows: int = 3 * ORDERS, wrong: int = 0) -> tuple[Any, Any, str]:
    """(the keys of Orders, those of Lines, the notes of Orders) where Lines has some columns, rows and wrong codes."""
    (folder / "Orders.csv").write_text(
        "number,code,note\n" + "".join(f"{7 * n},{7 * n:06d},n{n % 5}\n" for n in range(ORDERS))
    )
    names, lines = columns.split(","), []
    for place in range(rows):
        number, line = 7 * (place // 3), place % 3
        code = f"{number:06d}" if place >= wrong else f"lost{place}"
        found = {"number": number, "code": code, "line": line}
        lines.append(",".join(str(found[name]) for name in names))
    (folder / "Lines.csv").write_text(f"{columns}\n" + "\n".join(lines) + "\n")
    lacking = {"number": "number: int32, ", "code": "code: string, "}
    design = DESIGN.format(asked=asked)
    head, _, tail = design.partition("      Lines:")
    for name, text in lacking.items():
        tail = tail if name in names else tail.replace(text, "", 1)
    (folder / "design.yaml").write_text(f"{head}      Lines:{tail}")
    request = AnalyzeRequest(
        data=tuple(str(folder / f"{kind}.csv") for kind in ("Orders", "Lines")), design=str(folder / "design.yaml")
    )
    orders, of_lines = analyze(request, SilentProgress())["tables"]
    return orders["recommended"], of_lines["recommended"], " ".join(orders["notes"])


@pytest.mark.parametrize(
    ("columns", "asked", "rows", "partition"),
    [
        ("number,code,line", BY_NUMBER, 3 * ORDERS, "{code}"),
        ("number,code,line", BY_CODE, 3 * ORDERS, "{code}"),
        ("number,code,line", BY_NUMBER, 12, "{code}"),
        ("number,line", BY_NUMBER, 3 * ORDERS, "{pad(number,6)}"),
        ("code,line", BY_CODE, 3 * ORDERS, "{code}"),
    ],
    ids=["both", "both-by-code", "both-of-few-rows", "number-alone", "code-alone"],
)
def test_kinds_of_an_aggregate_have_one_key_for_look_ups_by_either(
    columns: str, asked: str, rows: int, partition: str, tmp_path: Path
) -> None:
    """By code and by number: one point read each; the lines of an order: one request; no index row for the other."""
    orders, lines, _ = keys(tmp_path, columns, asked, rows=rows)
    assert orders["partition_key"] == lines["partition_key"] == partition
    assert (orders["index_rows"], lines["index_rows"]) == ([], [])
    assert [(c["access"], c["requests"]) for c in orders["classes"][:2]] == [("point", 1), ("point", 1)]
    assert [(c["access"], c["requests"]) for c in lines["classes"][:1]] == [("partition scan", 1)]


def test_a_rule_that_rows_of_another_kind_break_is_used_in_none(tmp_path: Path) -> None:
    orders, lines, notes = keys(tmp_path, "number,code,line", BY_NUMBER, wrong=2)
    assert "not in 2 of 360 of Lines (row 1, 2): no rule that a key could use" in notes
    assert orders["partition_key"] == lines["partition_key"] == "{pad(number,6)}"
    assert [row["partition_key"] for row in orders["index_rows"]] == ["CODE:{code}"]


def test_a_name_that_means_something_else_in_another_kind_takes_no_rule(tmp_path: Path) -> None:
    orders, _, notes = keys(tmp_path, "number,code,line", BY_NUMBER, wrong=3 * ORDERS)
    assert "no rule" not in notes
    assert "one key serves look-ups by either" in notes
    assert [c["requests"] for c in orders["classes"][:2]] == [1, 1]
