"""Several kinds of one table: what shares a PartitionKey, what it saves, what no key can make atomic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pkadvisor.design.choice.several_kinds.kinds import bonds_of, labelled
from pkadvisor.design.keys.scheme import IndexRow, KeyScheme, parse_key
from pkadvisor.documents.schema_errors import typed
from pkadvisor.inputs import AnalyzeRequest
from pkadvisor.observe.workload import Operation, QueryClass, Rate, Transaction, Workload
from pkadvisor.progress import SilentProgress
from pkadvisor.report.documents.result import dump_json
from pkadvisor.report.text.explanation import render_explanation
from pkadvisor.report.text.verdict_page import render_text
from pkadvisor.table.edm import EdmType
from tests.kinds_cases import bank, devices, shop
from tests.plain import explain_query, explain_scheme, explain_stored


def write(name: str, kind: str, rate: float) -> QueryClass:
    return QueryClass(name, Operation.INSERT, None, Rate(rate, rate), kind=kind)


def test_one_to_many_rows_interleave_under_one_partition_key(tmp_path: Path) -> None:
    found = shop(tmp_path)
    (arranged,) = found["arrangements"]
    chosen = arranged["chosen"]
    assert chosen["kept"] == ["whole-order"]
    assert chosen["shared"] == [{"partition_key": "{order_id}", "kinds": ["Lines", "Orders"]}]
    keys = {s["kind"]: (s["partition_key"], s["row_key"]) for s in chosen["schemes"]}
    assert keys == {"Orders": ("{order_id}", "ORDERS:"), "Lines": ("{order_id}", "LINES:{pad(line,2)}")}
    assert {t["kind"]: t["recommended"]["row_key"] for t in found["tables"]} == {k: rk for k, (_, rk) in keys.items()}
    assert found["outcome"] == "done"
    # What was found of each kind alone says nothing of the pair that is told now.
    assert [(t["confidence"], t["flip"]) for t in found["tables"]] == [(None, None)] * 2


def test_a_shared_partition_saves_the_requests_of_the_transaction(tmp_path: Path) -> None:
    """Apart: 40 + 40 reads, 25 headers and 75 lines one by one: 180/s. Together each order is one request of
    its lines: 105/s."""
    (arranged,) = shop(tmp_path)["arrangements"]
    (apart,) = arranged["rivals"]
    assert arranged["chosen"]["requests_per_s"] == pytest.approx(105)
    assert apart["kept"] == []
    assert apart["requests_per_s"] == pytest.approx(180)


@pytest.mark.parametrize(
    ("line", "separator"), [("dev-{}", "!"), ("dev_{:03}", ";")], ids=["order of texts", "text that holds it"]
)
def test_kinds_share_a_partition_key_of_two_parts_whatever_their_texts(
    line: str, separator: str, tmp_path: Path
) -> None:
    """Behind `_` dev-10 comes before dev-1, and a device may hold `_` itself: that of one kind alone would give the
    other kind another PartitionKey, and no key of both would be left."""
    (arranged,) = devices(tmp_path, line=line)["arrangements"]
    key = f"{{tenant}}{separator}{{region}}"
    assert arranged["chosen"]["kept"] == ["whole-order"]
    assert arranged["chosen"]["shared"] == [{"partition_key": key, "kinds": ["Line", "Order"]}]


def test_a_list_of_one_kind_reads_that_kind_alone(tmp_path: Path) -> None:
    lines = next(t for t in shop(tmp_path)["tables"] if t["kind"] == "Lines")["recommended"]["classes"]
    listed = next(c for c in lines if c["name"] == "lines-of")
    assert listed["entities_read"] == pytest.approx(3)
    assert listed["filters"] == ["PartitionKey eq '{order_id}' and RowKey ge 'LINES:' and RowKey lt 'LINES;'"]


def again(folder: Path, *kinds: str) -> AnalyzeRequest:
    """The request whose files a case left in a folder."""
    return AnalyzeRequest(data=tuple(f"{k}={folder / k}.csv" for k in kinds), design=str(folder / "design.yaml"))


def test_a_query_is_explained_under_the_keys_that_the_kinds_get_together(tmp_path: Path) -> None:
    shop(tmp_path)
    request = again(tmp_path, "Orders", "Lines")
    found = explain_query(request, "lines-of", "recommended", SilentProgress())
    assert found["filters"] == ["PartitionKey eq '{order_id}' and RowKey ge 'LINES:' and RowKey lt 'LINES;'"]
    assert found["counts"]["entities_read"] == pytest.approx(3)
    assert explain_query(request, "lines-of", "1", SilentProgress())["scheme"] == found["scheme"]
    alone = explain_query(request, "lines-of", "2", SilentProgress())
    assert alone["scheme"]["main"] == "{order_id} | {pad(line,2)}"


@pytest.mark.parametrize("stored", [True, False])
def test_the_scheme_that_kinds_get_together_is_never_beaten(tmp_path: Path, stored: bool) -> None:
    result = shop(tmp_path)
    (tmp_path / "r.json").write_bytes(dump_json(result))
    request = again(tmp_path, "Orders", "Lines")
    pages = []
    for which in ("Orders:1", "Orders:2"):
        if stored:
            found = explain_stored(str(tmp_path / "r.json"), which, ())
        else:
            found = explain_scheme(request, which, None, SilentProgress())
        assert found["together"] == {"kinds": ["Orders", "Lines"], "kept": ["whole-order"]}
        assert (found["wins"], found["flip"]) == (which == "Orders:1", None)
        pages.append(" ".join(render_explanation(typed(found), width=80, color=False, ascii_only=False).split()))
    first, second = pages
    assert "ORDERS:" in first.split("ahead of")[0] and "loses to" not in first
    assert "it was chosen for its kinds together (Orders, Lines), so that whole-order is one group" in first
    assert "loses to {order_id} | ORDERS: (scheme 1)" in second and "the other was chosen for its kinds" in second
    assert not any("third schemes" in page for page in pages)


def test_a_wish_is_kept_where_it_is_cheaper(tmp_path: Path) -> None:
    (arranged,) = shop(tmp_path, required=False)["arrangements"]
    assert arranged["chosen"]["kept"] == ["whole-order"]


def test_atomicity_and_spread_that_exclude_each_other_are_both_shown(tmp_path: Path) -> None:
    found = bank(tmp_path)
    assert found["outcome"] == "constraint-unsatisfied"
    (arranged,) = found["arrangements"]
    (conflict,) = arranged["conflicts"]
    assert [(c["code"], c["subject"]) for c in conflict["constraints"]] == [
        ("hot-partition", None),
        ("transaction-broken", "payment"),
    ]
    together, apart = (way["arrangement"] for way in conflict["relaxed"])
    # Reads, updates and inserts of 900/s each, and one look-up, lie in the one partition 'b1'.
    assert together["kept"] == ["payment"]
    assert together["hottest_partition_per_s"] == pytest.approx(900 + 900 + 900 + 1, rel=0.01)
    assert apart["kept"] == []
    assert apart["hottest_partition_per_s"] < 10
    assert together["requests_per_s"] == pytest.approx(apart["requests_per_s"] - 900)


def test_what_no_key_can_make_atomic_is_said_with_its_statements(tmp_path: Path) -> None:
    found = bank(tmp_path)
    (arranged,) = found["arrangements"]
    lost = next(t for t in arranged["transactions"] if t["name"] == "payment-and-warning")
    assert lost["impossible_because"] == "Alerts has no branch"
    assert lost["writes"] == ["enter", "warn"]
    assert not lost["kept"]
    page = render_text(typed(found), width=80, color=False, ascii_only=False, details=True)
    assert "no key can change that: Alerts has no branch" in page
    assert "no scheme holds these 2 constraints together:" in page
    first = " ".join(render_text(typed(found), width=80, color=False, ascii_only=False).split())
    assert "no scheme holds both: no partition takes more than 2,000 entities/s" in first
    assert "Accounts and Entries share partitions, the hottest takes" in first


def test_kinds_that_no_transaction_joins_are_left_as_they_are(tmp_path: Path) -> None:
    found: dict[str, Any] = bank(tmp_path)
    alerts = next(t for t in found["tables"] if t["kind"] == "Alerts")["recommended"]
    assert (alerts["partition_key"], alerts["row_key"]) == ("{alert}", "")


def test_a_transaction_has_the_rate_of_its_rarest_write() -> None:
    workload = Workload(
        "Shop",
        (write("place", "Orders", 25.0), write("add-line", "Lines", 75.0), write("other", "Orders", 1.0)),
        (Transaction("order", ("place", "add-line"), ("id",)), Transaction("alone", ("place", "other"), ("id",))),
    )
    text = EdmType.STRING
    (bond,) = bonds_of(workload, {"Orders": {"id": text}, "Lines": {"id": text, "line": EdmType.INT32}})
    assert (bond.name, bond.kinds, bond.rate_per_s, bond.entities) == ("order", ("Orders", "Lines"), 25.0, 4.0)
    assert bond.missing == ()


def test_a_property_of_two_types_is_no_common_key() -> None:
    workload = Workload(
        "Shop",
        (write("place", "Orders", 25.0), write("add-line", "Lines", 75.0)),
        (Transaction("order", ("place", "add-line"), ("id",)),),
    )
    (bond,) = bonds_of(workload, {"Orders": {"id": EdmType.INT32}, "Lines": {"id": EdmType.STRING}})
    assert bond.missing == ("id is Int64 in Orders, String in Lines: their keys would not be the same text",)


def test_labels_stand_before_every_row_of_the_shared_partition_and_nowhere_else() -> None:
    inside, away = IndexRow(parse_key("{a}", "BY:{c}")), IndexRow(parse_key("{c}", "{a}"))
    found = labelled(KeyScheme(parse_key("{a}", "{b}"), (inside, away)), "Order-Lines")
    assert [str(key) for key, _ in found.each_key()] == ["{a} | ORDERLINES:{b}", "{a} | ORDERLINES:BY:{c}", "{c} | {a}"]
