"""Logged requests that name less of the current keys than these could tell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.support import Run

PROPERTY = "OrderId eq '{row}'"
WHOLE, BOUNDED = "RowKey eq '{row}'", "RowKey ge '{row}' and RowKey lt '{row}~'"


def orders(folder: Path) -> list[tuple[str, str]]:
    """The keys of 2,000 orders of four tenants, written as an export."""
    keys = [(f"t{n % 4}", f"ORD-{n:05}") for n in range(2_000)]
    rows = ["PartitionKey,RowKey,Tenant,OrderId,Total", *(f"{p},{r},{p},{r},{n}" for n, (p, r) in enumerate(keys))]
    (folder / "orders.csv").write_text("\n".join(rows) + "\n")
    return keys


@pytest.mark.parametrize(("asked", "told"), [(PROPERTY, True), (WHOLE, False), (BOUNDED, False)])
@pytest.mark.parametrize("designed", [False, True])
def test_a_query_by_a_property_that_the_row_key_holds_reads_the_partition(
    asked: str, told: bool, designed: bool, run: Run, tmp_path: Path
) -> None:
    """Ten requests a second, nine of which read all 500 rows of one of four partitions: the filter is to be changed."""
    keys = orders(tmp_path)
    lines = []
    for n in range(1_000):
        partition, row = keys[n * 7 % 2_000]
        named = {"pk": partition, "rk": row}
        sent = {"filter": f"PartitionKey eq '{partition}' and {asked.format(row=row)}"} if n % 10 else named
        lines.append(json.dumps({"table": "Orders", "at": 1_790_000_000 + n / 10, "op": "query"} | sent))
    (tmp_path / "log.jsonl").write_text("\n".join(lines) + "\n")
    words = ["analyze", "orders.csv", "--log", "log.jsonl"]
    if designed:
        run("init", ".", "--from", "orders.csv", "--log", "log.jsonl", "--yes")
        words = ["analyze"]
    result = run(*words, "--format", "json")
    (table,) = json.loads(result.stdout)["tables"]
    assert table["verdict"] == "keep"
    said = [w for w in table["warnings"] if "names no RowKey in 90 % of its logged requests" in w]
    assert len(said) == told == any("reads 1. " in w and "read the 500 rows of a partition" in w for w in said)
    screen = run(*words).stdout.decode()
    assert screen.startswith("KEEP THE KEY, CHANGE A QUERY " if told else "KEEP THE KEY  ")
    assert ("next: advisor explain 'query:" in screen) is told
    if told:  # 2.25 requests a second for each partition
        share = float(said[0].split("partition is at ")[1].split("x")[0])
        assert share == pytest.approx(2.25 * 500 / 2_000, rel=0.2)


def test_what_other_requests_load_is_added_to_those_that_name_no_row_key(run: Run, tmp_path: Path) -> None:
    """Ten requests a second read 500 rows of one of four partitions; four lists a second read those of one."""
    keys = orders(tmp_path)
    lines = []
    for n in range(1_000):
        partition, row = keys[n * 7 % 2_000]
        sent = [f"PartitionKey eq '{partition}' and OrderId eq '{row}'"]
        sent += ["PartitionKey eq 't2'"] if n % 5 < 2 else []
        at = {"table": "Orders", "at": 1_790_000_000 + n / 10, "op": "query"}
        lines += [json.dumps(at | {"filter": each}) for each in sent]
    (tmp_path / "log.jsonl").write_text("\n".join(lines) + "\n")
    (table,) = json.loads(run("analyze", "orders.csv", "--log", "log.jsonl", "--format", "json").stdout)["tables"]
    (warning,) = [w for w in table["warnings"] if "names no RowKey" in w]
    share = float(warning.split("partition is at ")[1].split("x")[0])
    assert share == pytest.approx((2.5 + 4) * 500 / 2_000, rel=0.1)


def test_a_query_by_the_property_that_is_the_whole_key_reads_the_table(run: Run, tmp_path: Path) -> None:
    ids = [f"ORD-{n:05}" for n in range(2_000)]
    (tmp_path / "orders.csv").write_text("PartitionKey,RowKey,OrderId\n" + "".join(f"{i},,{i}\n" for i in ids))
    sent = [{"filter": f"OrderId eq '{i}'"} if n % 4 else {"pk": i, "rk": ""} for n, i in enumerate(ids)]
    lines = [{"table": "Orders", "at": 1_790_000_000 + n / 10, "op": "query"} | one for n, one in enumerate(sent)]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (table,) = json.loads(run("analyze", "orders.csv", "--log", "log.jsonl", "--format", "json").stdout)["tables"]
    (warning,) = table["warnings"]
    assert "names no RowKey in 75 % of its logged requests, and these read all 2,000 rows of the table" in warning


def test_a_request_that_top_stops_reads_no_whole_partition(run: Run, tmp_path: Path) -> None:
    keys = [(f"t{n % 4}", f"{n:05}") for n in range(2_000)]
    (tmp_path / "orders.csv").write_text("PartitionKey,RowKey\n" + "".join(f"{p},{r}\n" for p, r in keys))
    sent = [{"filter": f"PartitionKey eq '{p}'", "top": 20} for p, _ in keys]
    lines = [{"table": "Orders", "at": 1_790_000_000 + n / 10, "op": "query"} | one for n, one in enumerate(sent)]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (table,) = json.loads(run("analyze", "orders.csv", "--log", "log.jsonl", "--format", "json").stdout)["tables"]
    assert table["warnings"] == []


def test_requests_for_an_index_row_by_its_partition_read_what_they_need(run: Run, tmp_path: Path) -> None:
    """The PartitionKey of the index row is all that names it: no RowKey is missed."""
    rows = [f"t{n % 4},{n:05},u{n % 500}" for n in range(2_000)]
    (tmp_path / "orders.csv").write_text("tenant,id,user\n" + "\n".join(rows) + "\n")
    (tmp_path / "design.yaml").write_text(
        "schema: 1\ntables:\n  Orders:\n    partition_key: '{tenant}'\n    row_key: '{id}'\n"
        "    properties: {tenant: string, id: string, user: string}\n"
        "    index_rows: [{partition_key: 'USER:{user}', row_key: '{id}'}]\n"
    )
    lines = [
        {"table": "Orders", "at": 1_790_000_000 + n / 10, "op": "query", "filter": f"PartitionKey eq 'USER:u{n % 500}'"}
        for n in range(2_000)
    ]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = ("analyze", "orders.csv", "--log", "log.jsonl", "--design", "design.yaml", "--format", "json")
    (table,) = json.loads(run(*words).stdout)["tables"]
    assert not any("names no RowKey" in warning for warning in table["warnings"])


@pytest.mark.parametrize("moves", [False, True])
def test_rows_of_other_kinds_in_the_partition_count_once(moves: bool, run: Run, tmp_path: Path) -> None:
    """500 orders and 20 users of each tenant: a query by a property reads the 520, also where the users move."""
    orders = [(f"t{n % 4}", f"O{n:05}") for n in range(2_000)]
    users = [(f"t{n % 4}", f"U{n:03}") for n in range(80)]
    (tmp_path / "User.csv").write_text("tenant,user\n" + "".join(f"{t},{u}\n" for t, u in users))
    (tmp_path / "Order.csv").write_text("tenant,order\n" + "".join(f"{t},{o}\n" for t, o in orders))
    heavy = "      - {name: all, kind: User, filter: \"tenant eq '{tenant}'\", rate: 900/s}\n" if moves else ""
    (tmp_path / "design.yaml").write_text(
        "schema: 1\ntables:\n  Shop:\n    partition_key: '{tenant}'\n    kinds:\n"
        "      User: {row_key: 'USER:{user}', properties: {tenant: string, user: string}}\n"
        "      Order: {row_key: 'ORDER:{order}', properties: {tenant: string, order: string}}\n"
        "    queries:\n      - {name: one, kind: User, rate: 1/s,\n"
        "         filter: \"tenant eq '{tenant}' and user eq '{user}'\"}\n"
        f"{heavy}"
    )
    sent = [f"PartitionKey eq '{t}' and order eq '{o}'" for t, o in orders]
    lines = [{"table": "Shop", "at": 1_790_000_000 + n / 10, "op": "query", "filter": f} for n, f in enumerate(sent)]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = ("User=User.csv", "Order=Order.csv", "--log", "log.jsonl", "--design", "design.yaml", "--format", "json")
    tables = {t["kind"]: t for t in json.loads(run("analyze", *words).stdout)["tables"]}
    assert (tables["User"]["ranking_says"] == "change") is moves
    assert any("read the 520 rows of a partition" in warning for warning in tables["Order"]["warnings"])
