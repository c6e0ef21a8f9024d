"""Transfers between two accounts, tenants that are kept apart, one tenant that is too large: from files to pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pkadvisor.documents.schema_errors import typed
from pkadvisor.errors import UsageError
from pkadvisor.inputs import AnalyzeRequest
from pkadvisor.progress import SilentProgress
from pkadvisor.report.text.verdict_page import render_text
from tests.plain import analyze
from tests.report.documents.test_schemas import complaints

ACCOUNTS = "account,bank,balance\n" + "".join(f"a{n:03d},b{n % 4},{n}\n" for n in range(200))
TRANSFERS = "transfer,from,to\n" + "".join(  # three of four stay within a bank
    f"t{n:03d},a{n % 200:03d},a{(n + (4 if n % 4 else 1)) % 200:03d}\n" for n in range(400)
)
BANK = """schema: 1
tables:
  Bank:
    kinds:
      Accounts: {properties: {account: string, bank: string, balance: int32}}
      Transfers: {properties: {transfer: string, from: string, to: string}}
    queries:
      - {name: balance, kind: Accounts, filter: "account eq '{account}'", rate: 100/s, draw: entities}
      - {name: by-id, kind: Transfers, filter: "transfer eq '{transfer}'", rate: 10/s, draw: entities}
    writes:
      - {name: book, kind: Accounts, operation: update, key: [account], sets: [balance], rate: 40/s, draw: entities}
      - {name: record, kind: Transfers, operation: insert, rate: 20/s}
    transactions:
      - {name: transfer, together: [book], pair: {from: account, to: account}}
"""


def analyzed(folder: Path, design: str, **files: str) -> dict[str, Any]:
    (folder / "design.yaml").write_text(design)
    data = []
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text)
        data.append(f"{name}={folder / f'{name}.csv'}" if len(files) > 1 else str(folder / f"{name}.csv"))
    request = AnalyzeRequest(data=tuple(data), design=str(folder / "design.yaml"))
    return analyze(request, SilentProgress())


def of(found: dict[str, Any], kind: str | None = None) -> dict[str, Any]:
    return next(t for t in found["tables"] if t["kind"] == kind)


def test_pairs_are_counted_in_the_rows_of_another_kind_under_each_scheme(tmp_path: Path) -> None:
    found = analyzed(tmp_path, BANK, Accounts=ACCOUNTS, Transfers=TRANSFERS)
    assert complaints(found, "result") == []
    table = of(found, "Accounts")
    best = table["recommended"]
    (transaction,) = best["transactions"]
    assert best["partition_key"] == "{account}"
    assert transaction["pairs"] == {"guaranteed": 0, "basis": "counted", "counted": 200}
    assert len(transaction["repair"]["steps"]) == 4
    shares = {
        s["partition_key"]: next(t["value"] for t in s["terms"] if t["name"] == "pairs in one partition")
        for s in table["alternatives"]
    }
    assert shares["all"] == 100
    assert shares["{bank}"] == pytest.approx(75)
    page = render_text(typed(found), width=80, color=False, ascii_only=True, details=True)
    assert "transfer  guaranteed to be one group transaction for 0 % of 200 pairs" in page
    assert "1 insert the intent row: PartitionKey 'INTENT'" in page
    assert page.count("set its state to done") == 1


def test_a_required_pair_refuses_every_key_that_keeps_not_all_pairs(tmp_path: Path) -> None:
    required = BANK.replace("to: account}}", "to: account}, required: true}")
    table = of(analyzed(tmp_path, required, Accounts=ACCOUNTS, Transfers=TRANSFERS), "Accounts")
    assert table["recommended"]["partition_key"] == "all"
    assert table["recommended"]["transactions"][0]["repair"] is None
    refused = [
        v["message"] for s in table["alternatives"] for v in s["violations"] if v["code"] == "transaction-broken"
    ]
    assert "guarantees one partition for 75 % of 200 pairs" in " ".join(refused)


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("from: account, to: account", "from: acount, to: acount", 14, "'acount', which the data does not have"),
        ("from: account, to: account", "from: account, to: bank", 14, "of two properties, account and bank"),
        ("from: account, to: account", "from: account", 14, "has 1 parameter, not two"),
        ("account}}", "account}, group_by: [bank]}", 14, "both group_by and pair"),
        (", pair: {from: account, to: account}", "", 14, "does not say what belongs together"),
        ("together: [book]", "together: [book, record]", 14, "its writes are of Accounts and Transfers"),
        ("    kinds:", "    isolation: bank\n    kinds:", 4, "which Transfers does not have: no key can keep"),
        ("    kinds:", "    erase_by: ownr\n    kinds:", 4, "'ownr', which the data does not have"),
        ("    kinds:", "    growth: {rate: 8 %/month, of: orders}\n    kinds:", 4, "of cannot be 'orders'"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, old: str, new: str, line: int, says: str) -> None:
    assert old in BANK
    with pytest.raises(UsageError, match=says) as error:
        analyzed(tmp_path, BANK.replace(old, new), Accounts=ACCOUNTS, Transfers=TRANSFERS)
    assert f"design.yaml:{line}:" in str(error.value.where)


ORDERS = "tenant,order,status\n" + "".join(
    f"t{0 if n % 2 else 1 + n % 37:02d},o{n:04d},{('new', 'paid')[n % 3 > 1]}\n" for n in range(1200)
)
TENANTS = """schema: 1
tables:
  Orders:
    isolation: tenant
    partition_key: "{tenant}"
    row_key: "{order}"
    index_rows:
      - {partition_key: "{tenant}_STATUS:{status}", row_key: "{order}"}
    properties: {tenant: string, order: string, status: string}
    queries:
      - {name: by-id, filter: "tenant eq '{tenant}' and order eq '{order}'", rate: 30/s, draw: entities}
      - {name: by-status, filter: "tenant eq '{tenant}' and status eq '{status}'", top: 5, rate: 20/s, draw: entities}
    writes:
      - {name: place, operation: insert, rate: 5/s}
"""


def test_index_rows_within_the_tenant_are_read_no_further_than_wanted(tmp_path: Path) -> None:
    table = of(analyzed(tmp_path, TENANTS, Orders=ORDERS))
    by_status = next(c for c in table["current"]["classes"] if c["name"] == "by-status")
    assert by_status["entities_read"] == by_status["entities_returned"] <= 5
    assert table["current"]["feasible"]


@pytest.mark.parametrize("tenant", ["t00_STATUS:new", "t00_STATUS", "t00_"])
def test_a_tenant_that_is_called_as_an_index_row_costs_the_early_end(tmp_path: Path, tenant: str) -> None:
    table = of(analyzed(tmp_path, TENANTS, Orders=ORDERS.replace("\nt03,", f"\n{tenant},")))
    by_status = next(c for c in table["current"]["classes"] if c["name"] == "by-status")
    stops = by_status["entities_read"] <= 5
    assert stops == (tenant != "t00_STATUS:new")


def test_where_one_tenant_is_too_much_for_a_server_the_ways_out_are_priced(tmp_path: Path) -> None:
    design = (
        TENANTS.split("    partition_key")[0]
        + """\
    queries:
      - {name: by-id, filter: "tenant eq '{tenant}' and order eq '{order}'", rate: 3000/s, draw: entities}
      - {name: list, filter: "tenant eq '{tenant}'", top: 60, rate: 120/s, draw: entities}
    writes:
      - {name: place, operation: insert, rate: 1000/s}
    growth: {rate: 0 %/month}
"""
    )
    found = analyzed(tmp_path, design, Orders=ORDERS)
    assert complaints(found, "result") == []
    table = of(found)
    assert {v["code"] for v in table["recommended"]["violations"]} & {"hot-partition", "hot-range"}
    load, buckets, own, *rest = table["try_next"]
    assert load.startswith("tenant 't00' takes ")
    # Half of 3,000 point reads, of 120 lists of 60 entities, and of 1,000 inserts.
    assert "put 5,600 entities/s on it; target 2,000" in load
    assert "buckets under it, {tenant}_{hash(order," in buckets
    assert "'t00' in a table of its own" in own
    assert all("list" in sentence for sentence in rest)
    assert "What to try next" in render_text(typed(found), width=80, color=False, ascii_only=True, details=True)


def test_where_every_load_is_borne_nothing_is_to_be_tried(tmp_path: Path) -> None:
    assert "try_next" not in of(analyzed(tmp_path, TENANTS, Orders=ORDERS))


SHOP = """schema: 1
tables:
  Shop:
    kinds:
      Orders: {properties: {order: string, buyer: string}, sampling: complete}
      Lines: {properties: {order: string, line: int32}, sampling: complete}
    queries:
      - {name: header, kind: Orders, filter: "order eq '{order}'", rate: 9/s, draw: entities}
      - {name: lines, kind: Lines, filter: "order eq '{order}'", rate: 9/s, draw: entities}
    writes:
      - {name: place, kind: Orders, operation: insert, rate: 1/min}
      - {name: add, kind: Lines, operation: insert, rate: 5/min}
    transactions:
      - {name: whole, together: [place, add], group_by: [order], required: true}
"""


@pytest.mark.parametrize(
    ("largest", "per_order", "said"), [(120, "5/min", True), (99, "5/min", False), (120, "1/min", False)]
)
def test_sets_that_one_group_transaction_cannot_hold_are_a_caveat(
    tmp_path: Path, largest: int, per_order: str, said: bool
) -> None:
    """60 orders of 4 lines and one of many, all of which are written with the order, or one after the other."""
    orders = "order,buyer\n" + "".join(f"o{n:02},b{n % 7}\n" for n in range(61))
    sizes = [4] * 60 + [largest]
    lines = "order,line\n" + "".join(f"o{n:02},{k}\n" for n, size in enumerate(sizes) for k in range(size))
    found = analyzed(tmp_path, SHOP.replace("5/min", per_order), Orders=orders, Lines=lines)
    page = render_text(typed(found), width=100, color=False, ascii_only=True, details=False)
    says = "Transaction 'whole' holds at most 100 entities, and some would write 121"
    assert of(found, "Lines")["recommended"]["partition_key"] == "{order}"
    assert (says in " ".join(page.split())) == said
