"""Azure Monitor: the same request in every form it is exported in, and three readers that agree."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.errors import InputError
from pkadvisor.observe.logs import azure_monitor as am
from pkadvisor.observe.logs.formats import open_log
from pkadvisor.observe.logs.frame import Op, ReadOptions, Routes, Skips
from pkadvisor.observe.logs.read_traffic import read_traffic

URI = "https://acct.table.core.windows.net:443/events()?$filter=PartitionKey%20eq%20'caf%C3%A9'&$top=5"


def record(uri: str = URI, key: str = "/acct/events", operation: str = "QueryEntities", **more: Any) -> dict[str, Any]:
    return {
        "time": "2026-01-01T00:00:00.1234567Z",
        "category": "StorageRead",
        "operationName": operation,
        "statusCode": 200,
        "statusText": "Success",
        "durationMs": 9,
        "correlationId": "request-1",
        "properties": {
            "accountName": "acct",
            "clientRequestId": "client-1",
            "serviceType": "table",
            "objectKey": key,
            "serverLatencyMs": 7,
            "operationCount": 0,
            "responseBodySize": 1500,
        },
        "uri": uri,
        "resourceType": "Microsoft.Storage/storageAccounts/tableServices",
    } | more


ANALYTICS = {
    "TimeGenerated": "2026-01-01T00:00:00.1234567Z",
    "OperationName": "QueryEntities",
    "StatusCode": "200",
    "StatusText": "Success",
    "ServerLatencyMs": 7.0,
    "CorrelationId": "request-1",
    "ClientRequestId": "client-1",
    "OperationCount": 0,
    "ResponseBodySize": 1500,
    "ObjectKey": "/acct/events",
    "Uri": URI,
    "Type": "StorageTableLogs",
}


def as_csv(rows: list[dict[str, Any]], rename: dict[str, str]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, [rename.get(c, c) for c in rows[0]])
    writer.writeheader()
    writer.writerows({rename.get(c, c): v for c, v in row.items()} for row in rows)
    return out.getvalue()


def read(path: Path, options: ReadOptions | None = None) -> tuple[list[dict[str, Any]], Skips]:
    routes, skips = Routes(), Skips()
    rows = []
    for frame in open_log(path).frames(routes, skips, options or ReadOptions()):
        rows += [row | {"route": routes.all[row["route"]]} for row in frame.iter_rows(named=True)]
    return rows, skips


FORMS = {
    "lines": json.dumps(record()) + "\n",
    "compact lines": json.dumps(record(), separators=(",", ":")) + "\n",
    "records": json.dumps({"records": [record()]}, indent=1),
    "records in a line": json.dumps({"records": [record()]}) + "\n",
    "list of records": json.dumps([record()]),
    "queried lines": json.dumps(ANALYTICS) + "\n",
    "queried list": json.dumps([ANALYTICS], indent=2),
    "queried csv": as_csv([ANALYTICS], {}),
    "portal csv": "\ufeff" + as_csv([ANALYTICS], {"TimeGenerated": "TimeGenerated [UTC]"}),
}


@pytest.mark.parametrize("form", FORMS)
def test_one_request_in_every_form(tmp_path: Path, form: str) -> None:
    path = tmp_path / "log"
    path.write_text(FORMS[form], encoding="utf-8")
    ((row,), skips) = read(path)
    assert skips.bad == 0
    route = row.pop("route")
    assert (route.table, route.op, route.shape, route.top) == ("events", Op.QUERY, "PartitionKey eq {p0:String}", 5)
    assert row == {
        "at_us": 1_767_225_600_123_456,
        "op_number": 0,
        "request_id": "request-1",
        "client_request_id": "client-1",
        "status": 200,
        "throttled": False,
        "pk": "café",
        "rk": None,
        "filter": "PartitionKey%20eq%20'caf%C3%A9'",
        "params": None,
    }


def test_absent_fields_are_tolerated_and_other_services_counted(tmp_path: Path) -> None:
    bare = {
        "time": "2026-01-01T00:00:00Z",
        "operationName": "InsertEntity",
        "properties": {"objectKey": "/a/events/p/r"},
    }
    lines = [
        bare | {"uri": "https://a.table.core.windows.net/events"},
        record("https://a.blob.core.windows.net/x", properties={"serviceType": "blob"}, resourceType="x"),
        record(statusCode="503", statusText="ThrottlingError"),
        record(uri=None),
    ]
    path = tmp_path / "log"
    path.write_text("".join(json.dumps(x) + "\n" for x in lines) + "{broken\n[1]\n", encoding="utf-8")
    rows, skips = read(path)
    assert [(r["pk"], r["rk"], r["route"].op, r["throttled"]) for r in rows] == [
        ("p", "r", Op.INSERT, False),
        ("café", None, Op.QUERY, True),
    ]
    assert skips.counts["another service"] == 1
    assert skips.bad == 2
    assert skips.examples["not parseable"].startswith(f"{path}:5: ")


TEXT = st.lists(st.sampled_from([*"ab\"\\'/é:,{}", "\u2028", "\n", "uri", "time"]), max_size=6).map("".join)


@st.composite
def hostile(draw: st.DrawFn) -> str:
    found = record(key="/acct/events/" + draw(TEXT), uri="https://acct.table.core.windows.net/events" + draw(TEXT))
    for name in draw(st.lists(st.sampled_from(sorted(found)), max_size=2)):
        found.pop(name, None)
    if draw(st.booleans()):
        found["properties" if draw(st.booleans()) else "etag"] = draw(
            st.one_of(TEXT, st.none(), st.integers(-5, 5), st.dictionaries(TEXT, TEXT, max_size=2))
        )
    if draw(st.booleans()):
        found["statusCode"] = draw(st.sampled_from(["200", 503, 1.5, None, -1, True]))
    text = json.dumps(
        found, ensure_ascii=draw(st.booleans()), separators=draw(st.sampled_from([(",", ":"), (", ", ": ")]))
    )
    return draw(st.sampled_from([text, text, text, text[:-3], "", "[]", "{}"]))


@given(st.lists(hostile(), min_size=1, max_size=6))
def test_the_fast_readers_agree_with_the_exact_one(lines: list[str]) -> None:
    plain = json.dumps(record(), separators=(",", ":"))
    block = "".join(text + "\n" for text in [plain, *lines, plain]).encode("utf-8", "surrogatepass")
    skips: list[Any] = []
    found = am._fields(block, skips, 0)
    wanted_skips: list[Any] = []
    wanted = am.exact(enumerate(block.split(b"\n")[:-1]), wanted_skips)
    assert found.select(wanted.columns).rows() == wanted.rows()
    assert sorted(s.line for s in skips) == sorted(s.line for s in wanted_skips)


def test_a_cut_document_is_told(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(json.dumps({"records": [record()] * 3})[:-40], encoding="utf-8")
    with pytest.raises(InputError, match="cut or broken"):
        read_traffic([path])
