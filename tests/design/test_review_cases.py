"""Whole answers over one small table: what is counted for unusual declarations, and which of them are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pkadvisor.errors import UsageError
from pkadvisor.inputs import AnalyzeRequest
from pkadvisor.progress import SilentProgress
from tests.observe.logs.test_storage_analytics import line
from tests.plain import analyze, profile

ROWS = 500
SHOPS = 5


def answer(folder: Path, body: str, *, keys: str = "", log: str | None = None) -> dict[str, Any]:
    """The one table of a design over 500 orders of five shops, a hundred each."""
    lines = (f"s{i % SHOPS},{i},{'open' if i % 10 else 'done'}\n" for i in range(ROWS))
    (folder / "Orders.csv").write_text("shop,no,state\n" + "".join(lines))
    keys = keys or '    partition_key: "{shop}"\n    row_key: "{pad(no,6)}"\n'
    types = "    properties: {shop: string, no: int32, state: string}\n"
    (folder / "design.yaml").write_text(f"schema: 1\ntables:\n  Orders:\n{keys}{types}{body}")
    if log is not None:
        (folder / "requests.log").write_text(log)
    tables = analyze(asked(folder, () if log is None else ("requests.log",)), SilentProgress())["tables"]
    found: dict[str, Any] = next(t for t in tables if t["table"] == "Orders")
    return found


def asked(folder: Path, logs: tuple[str, ...]) -> AnalyzeRequest:
    """What the command makes of the files that ``answer`` wrote."""
    paths = tuple(str(folder / name) for name in logs)
    return AnalyzeRequest(data=(str(folder / "Orders.csv"),), logs=paths, design=str(folder / "design.yaml"))


def costs(table: dict[str, Any], which: str = "current") -> dict[str, dict[str, Any]]:
    return {c["name"]: c for c in table[which]["classes"]}


def test_a_table_that_is_only_written_gets_a_key(tmp_path: Path) -> None:
    table = answer(tmp_path, "    writes: [{name: put, operation: insert, rate: 5/s}]\n")
    assert table["recommended"]["feasible"]
    assert "{" in table["recommended"]["partition_key"] + table["recommended"]["row_key"]
    put = costs(table)["put"]
    assert (put["entities_read"], put["entities_written"], put["requests"]) == (0, 1, 1)


@pytest.mark.parametrize(
    ("text", "read", "fan_out"),
    [
        ("shop eq 's1'", 100, 1),
        ("shop eq 's1' or shop eq 's2'", 200, 2),
        ("shop eq 's1' or shop eq 'nobody'", 100, 2),
    ],
)
def test_constants_load_the_partitions_they_name(tmp_path: Path, text: str, read: int, fan_out: int) -> None:
    table = answer(tmp_path, f'    queries: [{{name: some, filter: "{text}", rate: 5/s}}]\n')
    some = costs(table)["some"]
    assert (some["entities_read"], some["fan_out"]) == (read, fan_out)
    assert table["current"]["hot_partition"]["partition_key"] == "s1"
    assert table["current"]["hot_partition"]["entities_per_s_peak"] == 500


def test_a_choice_between_columns_never_reads_more_than_the_table(tmp_path: Path) -> None:
    text = "shop eq 's1' or state eq 'done' or no ge 0"
    table = answer(tmp_path, f'    queries: [{{name: wide, filter: "{text}", rate: 1/h}}]\n')
    assert costs(table)["wide"]["entities_read"] == ROWS


def test_several_entities_in_a_request_need_one_partition_to_be_one_request(tmp_path: Path) -> None:
    body = "    writes: [{name: put, operation: insert, rate: 1/s, entities_per_request: 50}]\n"
    apart = costs(answer(tmp_path, body))["put"]
    assert (apart["requests"], apart["entities_written"]) == (50, 50)
    one = '    partition_key: "all"\n    row_key: "{pad(no,6)}"\n'
    together = costs(answer(tmp_path, body, keys=one))["put"]
    assert (together["requests"], together["entities_written"]) == (1, 50)


INDEXED = """    partition_key: "{shop}"
    row_key: "no:{pad(no,6)}"
    index_rows:
      - {partition_key: "{shop}", row_key: "state:{state}_{pad(no,6)}"}
"""


@pytest.mark.parametrize(("keys", "over_limit"), [("", 0), (INDEXED, SHOPS)])
def test_every_row_of_a_group_transaction_counts_toward_its_hundred(tmp_path: Path, keys: str, over_limit: int) -> None:
    body = """    writes: [{name: put, operation: insert, rate: 1/min}]
    transactions: [{name: a-shop, together: [put], group_by: [shop], required: true}]
"""
    current = answer(tmp_path, body, keys=keys)["current"]
    (kept,) = current["transactions"]
    assert kept["sets_over_limit"] == over_limit
    assert [v["code"] for v in current["violations"]] == ["transaction-too-large"] * bool(over_limit)


def test_an_update_by_its_key_needs_no_look_up_for_what_else_it_compares(tmp_path: Path) -> None:
    body = """    writes:
      - {name: close, operation: update, filter: "shop eq '{shop}' and no eq {no} and state eq 'open'", \
rate: 1/s, sets: [state]}
"""
    assert costs(answer(tmp_path, body))["close"]["requests"] == 1
    indexed = costs(answer(tmp_path, body, keys=INDEXED))["close"]
    assert indexed["entities_written"] == 3, "the entity, the old index row out, the new one in"


def test_an_update_reads_the_old_value_that_its_index_row_is_made_of(tmp_path: Path) -> None:
    def body(text: str) -> str:
        update = f'{{name: close, operation: update, filter: "{text}", rate: 1/s, sets: [state]}}'
        return f"    writes:\n      - {update}\n"

    text = "shop eq '{shop}' and no eq {no}"
    assert costs(answer(tmp_path, body(text)))["close"]["entities_read"] == 0
    unknown = costs(answer(tmp_path, body(text), keys=INDEXED))["close"]
    assert (unknown["entities_read"], unknown["requests"]) == (1, 2)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            """    queries: [{name: q, filter: "PartitionKey eq '{shop}'", rate: 5/s}]\n""",
            "over PartitionKey",
        ),
        (
            """    queries: [{name: q, filter: "shop eq '{shop}' and RowKey ge 'a'", rate: 5/s}]\n""",
            "over RowKey",
        ),
        (
            """    queries: [{name: q, filter: "shop eq '{shop}'", rate: 5/s, draw: {weight: state}}]\n""",
            "weight state, which is not a number",
        ),
    ],
)
def test_what_cannot_be_judged_is_refused(tmp_path: Path, body: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        answer(tmp_path, body)
    assert "'q'" in str(caught.value)


def point_reads(keys: list[tuple[str, str]], table: str = "Orders") -> str:
    """A log of one point read each."""
    return "".join(
        line(f"https://a.example/{table}(PartitionKey='{p}',RowKey='{r}')", key=f"/acct/{table}/{p}/{r}",
             operation="QueryEntity", at=f"2026-01-01T00:00:{i:02d}.0000000Z", request=f"r-{i:06d}") + "\n"
        for i, (p, r) in enumerate(keys)
    )  # fmt: skip


def test_a_log_whose_keys_mostly_do_not_fit_the_design_is_refused(tmp_path: Path) -> None:
    fitting = [(f"s{i % SHOPS}", f"{i:06d}") for i in range(40)]
    table = answer(tmp_path, "", log=point_reads(fitting))
    assert [c["access"] for c in table["current"]["classes"]] == ["point"]
    few = answer(tmp_path, "", log=point_reads([*fitting[:30], *[("s1", "north-7")] * 10]))
    assert few["warnings"][0].startswith("25 % of the logged requests fit no key template")
    with pytest.raises(UsageError, match="30 of 40 logged requests of Orders do not fit its keys") as caught:
        answer(tmp_path, "", log=point_reads([*fitting[:10], *[("s1", "north-7")] * 30]))
    assert "partition_key" in str(caught.value)


def test_logged_keys_that_complete_data_does_not_have_are_said(tmp_path: Path) -> None:
    known = answer(tmp_path, "", log=point_reads([(f"s{i % SHOPS}", f"{i:06d}") for i in range(40)]))
    assert not any("are not in the data" in note for note in known["notes"])
    strange = answer(tmp_path, "", log=point_reads([("s1", f"{i + 9000:06d}") for i in range(40)]))
    assert any(note.startswith("100 % of the keys") for note in strange["notes"]), strange["notes"]


def test_keys_that_the_service_did_not_find_need_not_be_in_the_data(tmp_path: Path) -> None:
    """Of a list that most addresses are not on, most reads are answered by 404."""
    log = point_reads([("s1", f"{i + 9000:06d}") for i in range(40)]).replace(";Success;200;", ";ClientOtherError;404;")
    table = answer(tmp_path, "", log=log)
    assert ";404;" in log and table["verdict"] != "not_enough"
    assert not any("not in the data" in text for text in (*table["notes"], *table["warnings"]))


def test_the_profile_of_a_log_of_two_tables_serves_the_design_of_one(tmp_path: Path) -> None:
    keys = [(f"s{i % SHOPS}", f"{i:06d}") for i in range(40)]
    alone = answer(tmp_path, "", log=point_reads(keys) + point_reads(keys[:7], "Other"))
    document = profile(asked(tmp_path, ("requests.log",)), SilentProgress(), salt=b"")
    (tmp_path / "log.json").write_text(json.dumps(document))
    given = replace(asked(tmp_path, ()), profiles=(str(tmp_path / "log.json"),))
    tables = analyze(given, SilentProgress())["tables"]
    assert [t["table"] for t in tables] == ["Orders"]
    assert costs(tables[0]).keys() == costs(alone).keys()
    # The log's keys are hidden and the data are not: each is found again.
    assert [c["entities_read"] for c in costs(tables[0]).values()] == [
        c["entities_read"] for c in costs(alone).values()
    ]
    assert tables[0]["current"]["hot_partition"]["share"] == alone["current"]["hot_partition"]["share"]
    assert not any("are not in the data" in note for note in tables[0]["notes"])


def test_a_raw_log_finds_its_keys_in_a_profile_without_a_secret(tmp_path: Path) -> None:
    plain = answer(tmp_path, "", log=point_reads([(f"s{i % 2}", f"{i:06d}") for i in (0, 11, 20, 31)]))
    document = profile(asked(tmp_path, ()), SilentProgress(), salt=b"")
    (tmp_path / "data.json").write_text(json.dumps(document))
    given = replace(asked(tmp_path, ("requests.log",)), data=(), profiles=(str(tmp_path / "data.json"),))
    (table,) = analyze(given, SilentProgress())["tables"]
    assert costs(table) == costs(plain)
    shares = [t["current"]["hot_partition"]["share"] for t in (table, plain)]
    assert shares[0] == shares[1]


def test_a_logged_range_finds_the_same_through_an_index_row(tmp_path: Path) -> None:
    """The parameters of a log name the bound of a range, and no value of the property that the index row is made of."""
    texts = [f"PartitionKey eq 's{n % SHOPS}' and no ge {100 * (n % 4)}" for n in range(40)]
    log = (json.dumps({"table": "Orders", "op": "query", "at": n, "filter": text}) for n, text in enumerate(texts))
    other = {"partition_key": "all_{hash(no,4)}", "row_key": "{pad(no,6)}"}
    index_row = {"partition_key": "NO:{pad(no,6)}", "row_key": "{shop}", "copy": "full"}
    (tmp_path / "candidates.yaml").write_text(json.dumps([other | {"index_rows": [index_row]}]))
    answer(tmp_path, "", log="\n".join(log))
    request = replace(asked(tmp_path, ("requests.log",)), candidates=str(tmp_path / "candidates.yaml"))
    (table,) = analyze(request, SilentProgress())["tables"]
    schemes = [table["recommended"], table["current"], *table["alternatives"]]
    (indexed,) = (s for s in schemes if any(row["partition_key"].startswith("NO:") for row in s["index_rows"]))
    read = {s["partition_key"]: s["classes"][0]["entities_returned"] for s in schemes}
    assert read[indexed["partition_key"]] == read["{shop}"] == pytest.approx((100 + 80 + 60 + 40) / 4)
