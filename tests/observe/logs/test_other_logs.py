"""Logs as they come: local dates of the portal, folders with broken files, and logs in no known format."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pkadvisor.errors import InputError
from pkadvisor.observe.logs import trace
from pkadvisor.observe.logs.azure_records import iso_of, order_of_dates
from pkadvisor.observe.logs.formats import open_log, trace_line
from pkadvisor.observe.logs.read_traffic import read_traffic
from tests.worlds.law.log_lines import Line, log_text

START = datetime(2026, 3, 4, 13, 5, 6, 250_000, tzinfo=UTC)
FORMS = {
    "an American browser": lambda t: t.strftime("%m/%d/%Y, %I:%M:%S.%f").replace(", 0", ", ")[:-3] + t.strftime(" %p"),
    "a British browser": lambda t: t.strftime("%d/%m/%Y, %H:%M:%S.%f")[:-3],
    "a German browser": lambda t: t.strftime("%d.%m.%Y, %H:%M:%S.%f")[:-3],
    "a narrow blank before the half": lambda t: t.strftime("%m/%d/%Y, %I:%M:%S.%f")[:-3] + "\u202f" + t.strftime("%p"),
    "ISO 8601": lambda t: t.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    "a spreadsheet": lambda t: t.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3],
}


@pytest.mark.parametrize("form", FORMS)
def test_the_portal_writes_times_as_the_browser_does(form: str, tmp_path: Path) -> None:
    moments = [START + timedelta(minutes=17 * n) for n in range(200)]
    lines = ["TimeGenerated [UTC],OperationName,StatusCode,Uri,ServiceType,CorrelationId"]
    for n, at in enumerate(moments):
        uri = f"https://acct.table.core.windows.net/Orders(PartitionKey='p{n % 7}',RowKey='r{n}')"
        lines.append(f'"{FORMS[form](at)}",QueryEntity,200,"{uri}",table,id-{n}')
    path = tmp_path / "query_data.csv"
    path.write_text("\ufeff" + "\r\n".join(lines) + "\r\n", encoding="utf-8")
    traffic = read_traffic([path])
    assert traffic.attempts == len(moments)
    assert traffic.clock.first_us == round(START.timestamp() * 1e6)
    assert traffic.clock.last_us == round(moments[-1].timestamp() * 1e6)


def test_the_order_of_day_and_month_is_the_one_that_spans_less() -> None:
    days = [datetime(2026, 4, day, 10, 0) for day in (3, 4, 5)]
    for written, order in (("%d/%m/%Y %H:%M:%S", "dmy"), ("%m/%d/%Y %H:%M:%S", "mdy")):
        assert order_of_dates(day.strftime(written) for day in days) == order
        assert [iso_of(day.strftime(written), order) for day in days] == [f"{day.isoformat()}Z" for day in days]
    assert order_of_dates(["2026-03-04T10:00:00Z-ish", "yesterday"]) == ""
    assert order_of_dates(["03/04/2026 25:00:00"]) == ""


def folder(tmp_path: Path, files: int) -> list[Path]:
    """Logs of one request each, in folders by day and hour."""
    out = []
    for n in range(files):
        path = tmp_path / f"2026/03/{n // 24 + 1:02}/{n % 24:02}00/000000.log"
        path.parent.mkdir(parents=True)
        path.write_text(log_text([Line(60.0 * n, "query", n, key=("p", f"r{n}"))], "Orders", "storage analytics"))
        out.append(path)
    return out


@pytest.mark.long("proofs")
@pytest.mark.parametrize("form", ["storage analytics", "azure monitor"])
def test_the_place_of_a_file_in_time_is_read_off_its_first_line(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "requests.log"
    path.write_text(log_text([Line(60.0 * n, "query", n, key=("p", f"r{n}")) for n in range(3)], "Orders", form))
    first = read_traffic([path]).clock.first_us
    log = open_log(path)
    monkeypatch.setattr(log.format, "frames", None)  # 2,000 small files took 20 s more where each was parsed twice
    assert open_log(path).first_us == first


def test_a_request_whose_clock_was_wrong_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    at = [START + timedelta(seconds=n) for n in range(50)]
    at[3] = at[3].replace(year=1970)
    path.write_text("".join(f'{{"pk": "p", "rk": "{n}", "at": "{t.isoformat()}"}}\n' for n, t in enumerate(at)))
    traffic = read_traffic([path])
    assert (traffic.attempts, traffic.clock.covered_s) == (49, pytest.approx(49, abs=1))
    (skipped,) = traffic.skipped
    assert skipped[1:] == (1, f"{path}: {at[3].isoformat()}")


def test_few_broken_files_of_many_are_left_out_and_told(tmp_path: Path) -> None:
    paths = folder(tmp_path, 220)
    paths[3].write_bytes(b"\x00\x01\x02" * 99)
    paths[5].write_bytes(b"")
    whole = gzip.compress(paths[7].read_bytes() * 400)
    paths[7].write_bytes(whole[: len(whole) // 2])
    traffic = read_traffic(paths)
    assert traffic.attempts >= 217
    reasons = {reason: (count, example) for reason, count, example in traffic.skipped}
    assert [count for reason, (count, _) in reasons.items() if "a file that cannot be read" in reason] == [1, 1, 1]
    for broken in (paths[3], paths[5], paths[7]):
        assert any(str(broken) in example for _, example in reasons.values())


def test_many_broken_files_are_an_error_of_few_lines(tmp_path: Path) -> None:
    paths = folder(tmp_path, 60)
    for path in paths[10:20]:
        path.write_bytes(b"\x00\x01\x02" * 99)
    with pytest.raises(InputError) as caught:
        read_traffic(paths)
    assert "60 log files cannot be read" in str(caught.value)
    assert str(paths[10]) in str(caught.value)
    assert len(caught.value.lines()) <= 4
    with pytest.raises(InputError, match="not text"):
        read_traffic(paths[9:12])  # few files were named on purpose


OTHERS = {
    '10.0.0.1 - - [23/Nov/2026:13:55:36 +0100] "GET /api/orders/1234?customer=c7 HTTP/1.1" 200 512': {
        "table": "orders",
        "at": "2026-11-23T13:55:36+01:00",
        "filter": "order_id eq '1234' and customer eq 'c7'",
    },
    '10.0.0.1 - - [23/Nov/2026:13:55:36 +0100] "POST /api/orders?customer=c7 HTTP/1.1" 201 5': {
        "table": "orders",
        "at": "2026-11-23T13:55:36+01:00",
        "op": "insert",
        "params": {"customer": "c7"},
    },
    "2026-11-23 13:55:36.123 UTC [77] LOG: execute: SELECT * FROM shop.Orders WHERE \"tenant\" = 't1' AND id = 5": {
        "table": "Orders",
        "at": "2026-11-23T13:55:36.123Z",
        "filter": "tenant eq 't1' and id eq 5",
    },
    "UPDATE accounts SET balance = 7 WHERE id = 3": {
        "table": "accounts",
        "op": "update",
        "params": {"balance": "7", "id": "3"},
    },
    '{"ts": "2026-11-23T13:55:36Z", "level": "info", "msg": "get order", "customer": "c\'7", "order": 5, "ok": true}': {
        "table": "table",
        "at": "2026-11-23T13:55:36Z",
        "filter": "customer eq 'c''7' and order eq 5",
    },
    '{"t": "2026-11-23T13:55:36Z", "tbl": "Carts", "verb": "DELETE", "pk": "83", "rk": "u1", "code": 204, "ms": 9}': {
        "table": "Carts",
        "at": "2026-11-23T13:55:36Z",
        "op": "delete",
        "pk": "83",
        "rk": "u1",
        "status": 204,
    },
    '{"t": "2026-11-23T13:55:36Z", "tbl": "Carts", "verb": "LIST", "f": "PartitionKey eq \'8\'", "top": 5}': {
        "table": "Carts",
        "at": "2026-11-23T13:55:36Z",
        "op": "query",
        "filter": "PartitionKey eq '8'",
        "top": 5,
    },
    "something else": {"table": "table", "filter": "PROPERTY eq 'VALUE'"},
}


@pytest.mark.parametrize("line", OTHERS)
def test_the_error_for_any_other_log_shows_a_trace_line_made_of_it(line: str, tmp_path: Path) -> None:
    path = tmp_path / "other.log"
    path.write_text(f"{line}\n" * 3)
    with pytest.raises(InputError) as caught:
        read_traffic([path])
    made = caught.value.fix[caught.value.fix.index("{") :]
    assert json.loads(made) == OTHERS[line]
    assert len(caught.value.lines()) <= 4
    path.write_text(f"{made}\n" * 3)
    assert read_traffic([path]).attempts == 3


@pytest.mark.parametrize("host", ["", "https://acc.table.core.windows.net"])
def test_an_access_log_of_a_proxy_before_the_service_is_read(host: str, tmp_path: Path) -> None:
    asked = f"{host}/Audit()?$filter=PartitionKey%20eq%20'a'%20and%20actor%20eq%20'o''x'"
    lines = [
        ("13:55:36", f"POST {host}/Audit HTTP/1.1", 204, 0),
        ("13:55:37", f"GET {asked} HTTP/1.1", 503, 1),
        ("13:55:38", f"GET {asked} HTTP/1.1", 200, 1),
        ("13:55:39", f"GET {host}/Audit(PartitionKey='a',RowKey='7') HTTP/1.1", 404, 2),
        ("13:55:40", "GET /favicon.ico HTTP/1.1", 404, 3),
        ("13:55:41", "GET https://gateway.internal/healthz HTTP/1.1", 200, 4),
        ("13:55:41", "GET https://acc.blob.core.windows.net/images/7.png HTTP/1.1", 200, 5),
    ]
    shape = '10.0.0.9 - - [05/Nov/2026:{} +0100] "{}" {} 9 "-" "sdk" rid=0000000{}-1111-4222-8333-000000000000\n'
    text = "".join(shape.format(*line) for line in lines)
    (tmp_path / "access.log").write_text(text)
    traffic = read_traffic([tmp_path / "access.log"])
    assert [(reason, count) for reason, count, _ in traffic.skipped] == [("another service", 3)]
    (table,) = traffic.tables
    assert (table.name, traffic.attempts, traffic.retries, traffic.throttled) == ("Audit", 4, 1, 1)
    assert {(str(c.op), c.requests) for c in table.classes} == {("insert", 1), ("query", 1)}
    assert sum(c.requests for c in table.classes) == 3
    assert traffic.clock.first_us == round(datetime(2026, 11, 5, 12, 55, 36, tzinfo=UTC).timestamp() * 1e6)


@pytest.mark.parametrize(
    "line",
    [
        "GET //[::1 HTTP/1.1",
        '{"n": 9e999, "m": 77777777777777, "é": 1}',
        "select from where = '",
        "\x7f" * 50,
        "GET /?a=%00'x",
        "é" * 90,
    ],
)
def test_a_line_of_any_text_makes_a_line_of_trace(line: str) -> None:
    assert trace.claims(trace_line(line).encode())


def test_further_fields_of_a_trace_are_not_read_and_slips_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_text('{"table": "T1x", "at": 5, "op": "query", "filter": "a eq 1", "rows": 36, "user": "ann"}\n' * 3)
    (table,) = read_traffic([str(path)]).tables
    assert (table.name, table.requests) == ("T1x", 3)
    path.write_text('{"table": "T1x", "at": 5, "op": "query", "fliter": "a eq 1"}\n')
    with pytest.raises(InputError) as refused:
        read_traffic([str(path)])
    assert "unknown field 'fliter', did you mean 'filter'" in str(refused.value)


def test_binary_input_is_never_printed(tmp_path: Path) -> None:
    path = tmp_path / "photo.jpg"
    path.write_bytes(bytes(range(256)) * 40)
    with pytest.raises(InputError) as caught:
        read_traffic([path])
    assert str(caught.value).replace("\n", "").isprintable()
    assert "not text" in caught.value.what


def test_what_is_no_log_in_a_folder_is_left_out_and_named(tmp_path: Path) -> None:
    logs = folder(tmp_path, 3)
    other = tmp_path / "README.md"
    other.write_text("# Logs of the shop\n")
    named = [str(path) for path in (*logs, other)]
    traffic = read_traffic(named, unnamed=named)
    assert traffic.attempts == 3
    assert [(count, example.split(": ")[0]) for _, count, example in traffic.skipped] == [(1, str(other))]
    with pytest.raises(InputError, match="not a query log"):
        read_traffic(named)  # whoever names a file means it
    with pytest.raises(InputError, match="not a query log"):
        read_traffic([str(other)], unnamed=[str(other)])


ENCODED = {
    "an access log": (
        b'10.0.0.1 - bob [02/Mar/2026:10:00:01 +0100] "GET /shop/orders/4711?customer=C%2017 HTTP/1.1" 200 512\n',
        {"table": "orders", "at": "2026-03-02T10:00:01+01:00", "filter": "order_id eq '4711' and customer eq 'C 17'"},
    ),
    "a CSV of Postgres": (
        b'2026-03-02 10:00:01.123 UTC,"app",1,"SELECT",LOG,"statement: SELECT * FROM ""public"".""orders"" '
        b'WHERE ""customer_id"" = 17 AND status = \'open\'",psql\n',
        {"table": "orders", "at": "2026-03-02T10:00:01.123Z", "filter": "customer_id eq 17 and status eq 'open'"},
    ),
    "JSON of an application": (
        b'{"timestamp":"2026-03-02T10:00:01Z","method":"GET","path":"/api/users/42","durationMs":12}\n',
        {"table": "users", "at": "2026-03-02T10:00:01Z", "filter": "user_id eq '42'"},
    ),
    "text of Windows": (
        "2026-03-02 10:00:01 Käufer Müller GET /kunden/7?straße=Süd – 200\r\n".encode("cp1252"),
        {"table": "kunden", "at": "2026-03-02T10:00:01", "filter": "kunden_id eq '7' and straße eq 'Süd'"},
    ),
}


@pytest.mark.parametrize("form", ENCODED)
def test_the_error_writes_the_line_of_any_other_log_as_a_trace(form: str, tmp_path: Path) -> None:
    line, shown = ENCODED[form]
    path = tmp_path / "other.log"
    path.write_bytes(30 * line)
    with pytest.raises(InputError, match="not a query log") as raised:
        read_traffic([path])
    assert raised.value.fix is not None
    written = raised.value.fix.partition(": ")[2]
    assert json.loads(written) == shown
    path.write_text(written + "\n", encoding="utf-8")
    assert read_traffic([path]).attempts == 1
