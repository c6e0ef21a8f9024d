"""Counting: every request once, whatever the blocks, the threads and the order of the files."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from pkadvisor.errors import InputError
from pkadvisor.observe.logs import traffic_counts
from pkadvisor.observe.logs.formats import FORMATS, open_log, sniff
from pkadvisor.observe.logs.frame import Op, ReadOptions
from pkadvisor.observe.logs.read_traffic import read_traffic
from pkadvisor.observe.logs.traffic import LogWindow, TableTraffic, Traffic
from pkadvisor.observe.workload import Basis

DATA = Path(__file__).parents[1] / "logs" / "data"
URL = "https://acct.table.core.windows.net:443"
SECOND = 1_000_000


def sa_line(
    second: float,
    request: str,
    url: str = "/events(PartitionKey='p',RowKey='r')",
    key: str = "/acct/events/p/r",
    operation: str = "QueryEntity",
    http: int = 200,
    number: int = 0,
    client: str = "",
    latency: int = 5,
) -> str:
    whole, part = divmod(round(second * 1e6), SECOND)
    at = f"2026-01-01T{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}.{part:06}0Z"
    status = "ThrottlingError" if http == 503 else "Success"
    return (
        f'1.0;{at};{operation};{status};{http};9;{latency};authenticated;acct;acct;table;"{URL}{url}";"{key}";'
        f'{request};{number};10.0.0.1:5;2019-02-02;412;0;298;100;0;;;"";;;"SDK";;"{client or request}"'
    )


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(text + "\n" for text in lines), encoding="utf-8")
    return path


def one_table(traffic: Traffic) -> TableTraffic:
    assert len(traffic.tables) == 1
    return traffic.tables[0]


def plain(traffic: Traffic) -> str:
    """Everything in a traffic, samples too."""

    def value(x: object) -> object:
        if isinstance(x, pl.DataFrame):
            return x.rows()
        if dataclasses.is_dataclass(x):
            return {f.name: value(getattr(x, f.name)) for f in dataclasses.fields(x) if f.name != "filter"}
        if isinstance(x, tuple):
            return [value(y) for y in x]
        return x

    return json.dumps(value(traffic), default=str, sort_keys=True)


def test_one_format_claims_each_sample(tmp_path: Path) -> None:
    samples = {
        "Storage Analytics": (DATA / "storage-analytics-v2-docs.log").read_bytes(),
        "recorded exchanges": (DATA / "recorded.jsonl").read_bytes(),
        "trace": b'{"op": "query", "pk": "a"}\n',
        "Azure Monitor": b'{"time":"2026-01-01T00:00:00Z","operationName":"GetBlob","uri":"https://x/"}\n',
    }
    more_monitor = [
        b'{"records":[\n {"time":"2026-01-01T00:00:00Z","operationName":"GetBlob","properties":{}}]}',
        b'[{"TimeGenerated":"2026-01-01T00:00:00Z","OperationName":"QueryEntity"}]',
        b'"TimeGenerated [UTC]",OperationName,Uri\n',
    ]
    for name, head in [*samples.items(), *(("Azure Monitor", m) for m in more_monitor)]:
        assert [f.NAME for f in FORMATS if f.claims(head)] == [name]
    for head in (b"a,b\n1,2\n", b"\x00\x01", b'{"a": 1}\n', b"", b"[1]\n", b'{"op":'):
        assert sniff(head) is None


def test_the_published_lines_fold_into_one_transaction() -> None:
    traffic = read_traffic(sorted(DATA.glob("*.log")))
    table = one_table(traffic)
    assert table.name == "orders"
    assert (table.groups.transactions, table.groups.entities, table.groups.sizes) == (1, 2, ((2, 1),))
    assert table.groups.sample[0][0] == (
        Op.INSERT,
        "5f1a7147-28df-4398-acf9-7d587c828df9",
        "a9225cef-04aa-4bbb-bf3b-b0391e3c436e",
    )
    assert traffic.attempts == 1
    assert [s[:2] for s in traffic.skipped] == [("another service", 11)]


def test_recorded_exchanges_classify_as_they_were_made() -> None:
    traffic = read_traffic([DATA / "recorded.jsonl"])
    classes = [c for t in traffic.tables for c in t.classes]
    counts: Counter[str] = Counter()
    for c in classes:
        if c.grouped:
            counts[f"grouped {c.op}"] += c.requests
        elif c.op is Op.QUERY and c.address:
            counts["point read"] += c.requests
        elif c.op is Op.QUERY:
            counts["query"] += c.requests
            counts["query by PartitionKey"] += c.requests if c.pk_equal else 0
        elif c.op in (Op.UPSERT, Op.MERGE, Op.DELETE):
            counts["point change"] += c.requests
        else:
            counts[str(c.op)] += c.requests
    assert counts == {
        "insert": 78,
        "point read": 69,  # the two URLs with NextPartitionKey= are pages, although they look alike
        "query": 19,
        "query by PartitionKey": 7,
        "point change": 21,
        "batch": 27,  # and one whose parts were not recorded
        "grouped insert": 142,
        "grouped upsert": 16,
        "grouped merge": 10,
        "grouped delete": 5,
    }
    assert traffic.groups_unlisted == 1
    assert traffic.pages == 2
    assert [s[:2] for s in traffic.skipped] == [
        ("table definition, access policy or service settings", 71),
        ("group transactions whose parts the log does not list", 1),
    ]
    assert 100 in {size for t in traffic.tables for size, _ in t.groups.sizes}


def test_duplicates_are_dropped_also_in_the_next_file(tmp_path: Path) -> None:
    first = write(tmp_path / "1.log", *(sa_line(s, f"request-{s:04}") for s in range(100)))
    second = write(tmp_path / "2.log", *(sa_line(s, f"request-{s:04}") for s in range(60, 160)))
    for paths in ([first, second], [second, first]):
        traffic = read_traffic(paths)
        assert traffic.duplicates == 40
        assert one_table(traffic).requests == 160
        assert traffic.basis is Basis.COUNTED


def test_the_same_request_id_with_another_operation_number_is_no_duplicate(tmp_path: Path) -> None:
    parts = [
        sa_line(1, "request-1", "/$batch", f"/acct/events/p/{n}", "InsertEntity", 202, n, latency=50) for n in (1, 2, 3)
    ]
    whole = sa_line(1, "request-1", "/$batch", "/acct", "EntityGroupTransaction", 202, 0, latency=50)
    table = one_table(read_traffic([write(tmp_path / "a.log", whole, *parts, whole, *parts)]))
    assert table.groups.sizes == ((3, 1),)
    assert (table.requests, table.attempts) == (1, 1)
    by_op = {c.op: c for c in table.classes}
    assert by_op[Op.INSERT].requests == 3


def test_a_retry_of_a_throttled_attempt_is_no_new_demand(tmp_path: Path) -> None:
    log = write(
        tmp_path / "a.log",
        sa_line(1, "request-1", http=503, client="client-1"),
        sa_line(2, "request-2", http=503, client="client-1"),
        sa_line(3, "request-3", client="client-1"),
        sa_line(4, "request-4", client="client-2"),
        sa_line(5, "request-5", http=503, client="client-3"),  # given up: it was wanted all the same
        sa_line(6, "request-6", client="client-2"),  # after a success: a client that reuses its id
    )
    table = one_table(read_traffic([log]))
    (reads,) = table.classes
    assert (reads.attempts, reads.throttled, reads.retries, reads.requests) == (6, 3, 2, 4)


@pytest.mark.parametrize("chunk_rows", [1, 1 << 17])
@pytest.mark.parametrize("retry_begins", [0.0, 2.0])
def test_a_retry_counts_once_whichever_file_is_read_first(
    retry_begins: float, chunk_rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traffic_counts, "CHUNK_ROWS", chunk_rows)
    stopped = write(
        tmp_path / "stopped.log",
        sa_line(1, "request-1"),
        sa_line(30, "request-2", http=503, client="client-1"),
        sa_line(31, "request-3", http=503, client="client-2"),
        sa_line(32, "request-4", http=503, client="client-3"),
    )
    behind = write(
        tmp_path / "behind.log",
        sa_line(retry_begins, "request-5"),
        sa_line(29.5, "request-6", client="client-1"),  # by a clock that is 2 s behind
        sa_line(29.6, "request-7", "/events(PartitionKey='p',RowKey='s')", "/acct/events/p/s", client="client-2"),
        sa_line(400, "request-8", client="client-4"),
    )
    for files in itertools.permutations((stopped, behind)):
        (reads,) = one_table(read_traffic(files)).classes
        assert (reads.attempts, reads.throttled) == (8, 3)
        assert reads.retries == 1  # that of client-1: client-2 asked for another entity, client-3 gave up


def test_without_a_client_id_a_throttled_attempt_explains_one_later_attempt(tmp_path: Path) -> None:
    lines = [
        {"table": "events", "op": "query", "pk": "p", "rk": "r", "at": s, "status": status}
        for s, status in ((1, 503), (2, 200), (3, 200), (4, 503), (5, 503), (6, 200), (7, 200))
    ]
    other = {"table": "events", "op": "query", "pk": "p", "rk": "other", "at": 1.5, "status": 200}
    log = write(tmp_path / "a.jsonl", *(json.dumps(x) for x in [lines[0], other, *lines[1:]]))
    (reads,) = one_table(read_traffic([log])).classes
    # 2 repeats 1; 5 repeats 4; 6 repeats 5; 3, 7 and the other key are demand of their own.
    assert (reads.attempts, reads.throttled, reads.retries) == (8, 3, 3)


def test_pages_of_a_chain_are_one_query(tmp_path: Path) -> None:
    query = "/events()?$filter=PartitionKey%20eq%20'p'&$top=5"
    pages = [sa_line(s, f"request-{s}", f"{query}&NextPartitionKey=1!4!MA--&NextRowKey={s}") for s in (2, 3)]
    table = one_table(read_traffic([write(tmp_path / "a.log", sa_line(1, "request-1", query), *pages)]))
    (query_class,) = table.classes
    assert (query_class.requests, query_class.pages, query_class.attempts) == (1, 2, 3)
    assert query_class.top == 5
    assert query_class.peak_per_s == 1
    assert table.reads.keys == (("p", 1),)


def test_peaks_gaps_and_resolution(tmp_path: Path) -> None:
    seconds = [*[10.0] * 7, *[11.0] * 3, *[70.0] * 9, 200.0, 4 * 3600.0]
    lines = [sa_line(s, f"request-{i:03}") for i, s in enumerate(seconds)]
    traffic = read_traffic([write(tmp_path / "a.log", *lines)])
    table = one_table(traffic)
    assert (table.peak_per_s, table.peak_per_minute) == (9, 10)
    clock = traffic.clock
    assert clock.resolution_us == SECOND
    assert clock.missing_hours == 3
    assert clock.gaps[0][1] == 236
    assert clock.empty_minutes == 237
    assert clock.covered_s == 4 * 3600 - 10 + 1 - 3 * 3600
    assert table.mean_per_s == pytest.approx(len(seconds) / clock.covered_s)


def test_since_until_and_table(tmp_path: Path) -> None:
    lines = [sa_line(s, f"request-{s}") for s in range(10)]
    lines += [sa_line(s, f"other-{s}", "/users(PartitionKey='p',RowKey='r')", "/acct/users/p/r") for s in range(10)]
    log = write(tmp_path / "a.log", *lines)
    start = 1_767_225_600 * SECOND
    traffic = read_traffic([log], LogWindow(start + 2 * SECOND, start + 5 * SECOND, "EVENTS"))
    assert one_table(traffic).requests == 3
    assert traffic.outside == 17
    both = read_traffic([log])
    assert [(t.name, t.share) for t in both.tables] == [("events", 0.5), ("users", 0.5)]
    assert both.peak_per_s == 2


def mixed_log(tmp_path: Path, n: int = 1500) -> list[Path]:
    rng = np.random.default_rng(3)
    lines = []
    for i in range(n):
        s, request = i * 4.7 + float(rng.random()), f"request-{i:08}"
        key = f"p{int(rng.integers(1, 40)) ** 2 % 37}"
        kind = int(rng.integers(0, 6))
        http = 503 if rng.random() < 0.05 else 200
        if kind < 3:
            made = [
                sa_line(
                    s, request, f"/events(PartitionKey='{key}',RowKey='r{i}')", f"/acct/events/{key}/r{i}", http=http
                )
            ]
        elif kind == 3:
            made = [
                sa_line(
                    s,
                    request,
                    f"/events()?$filter=PartitionKey%20eq%20'{key}'%20and%20n%20gt%20{i}",
                    "/acct/events",
                    http=http,
                )
            ]
        elif kind == 4:
            made = [sa_line(s, request, "/events", f"/acct/events/{key}/n{i}", "InsertEntity", 201)]
        else:
            made = [sa_line(s, request, "/$batch", "/acct", "EntityGroupTransaction", 202)] + [
                sa_line(s, request, "/$batch", f"/acct/events/{key}/g{i}-{j}", "InsertEntity", 202, j)
                for j in range(1, int(rng.integers(2, 5)))
            ]
        if http == 503 and kind < 4:
            made.append(
                made[0]
                .replace(f";{request};", f";{request}-2;")
                .replace(";503;", ";200;")
                .replace("ThrottlingError", "Success")
            )
        lines += made * (2 if rng.random() < 0.03 else 1)
    third = len(lines) // 3
    return [
        write(tmp_path / f"{name}.log", *part)
        for name, part in (("z", lines[:third]), ("m", lines[third : 2 * third]), ("a", lines[2 * third :]))
    ]


def test_same_result_for_every_block_size_thread_count_and_file_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traffic_counts, "CHUNK_ROWS", 500)
    monkeypatch.setattr(traffic_counts, "SAMPLE_PER_CLASS", 100)
    monkeypatch.setattr(traffic_counts, "SAMPLE_PER_TABLE", 250)
    monkeypatch.setattr(traffic_counts, "HEAVY_KEYS_MAX", 10)
    paths = mixed_log(tmp_path)
    wanted = plain(read_traffic(paths))
    assert '"duplicates": 0' not in wanted
    for order, block_bytes, threads in ((1, 20_000, 2), (0, 77_777, 1), (1, 77_777, 2), (0, 1 << 24, 1)):
        chosen = paths if order else paths[::-1]
        assert plain(read_traffic(chosen, options=ReadOptions(block_bytes=block_bytes, threads=threads))) == wanted


def test_chunks_do_not_change_the_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = mixed_log(tmp_path)
    whole = read_traffic(paths)
    monkeypatch.setattr(traffic_counts, "CHUNK_ROWS", 97)
    assert plain(read_traffic(paths)) == plain(whole)


def test_the_window_forgets_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic_counts, "CHUNK_ROWS", 10)
    monkeypatch.setattr(traffic_counts, "WINDOW_HASHES_MAX", 40)
    log = write(tmp_path / "a.log", *(sa_line(s, f"request-{s % 100:04}") for s in range(200)))
    traffic = read_traffic([log])
    assert traffic.duplicates == 0
    assert traffic.basis is Basis.ESTIMATED


def test_late_records_make_it_an_estimate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic_counts, "CHUNK_ROWS", 10)
    lines = [sa_line(s, f"request-{s:05}") for s in range(0, 6 * 3600, 600)]
    traffic = read_traffic([write(tmp_path / "a.log", *lines, lines[0])])
    assert (traffic.late, traffic.duplicates, traffic.basis) == (1, 0, Basis.ESTIMATED)


def test_further_pages_in_a_trace_are_no_queries(tmp_path: Path) -> None:
    lines = [{"filter": "a eq 1", "at": n, "page": page} for n in range(3) for page in (1, 2, 3)]
    (query_class,) = one_table(read_traffic([write(tmp_path / "a.jsonl", *map(json.dumps, lines))])).classes
    assert (query_class.requests, query_class.pages, query_class.attempts) == (3, 6, 9)


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2"])
def test_a_page_of_a_trace_is_a_whole_number(tmp_path: Path, value: object) -> None:
    lines = [{"filter": "a eq 1", "at": 1, "page": value}, *({"filter": "a eq 1", "at": n} for n in range(200))]
    traffic = read_traffic([write(tmp_path / "a.jsonl", *map(json.dumps, lines))])
    (skip,) = traffic.skipped
    assert "page is not a whole number above 0" in str(skip)


def test_a_trace_without_times_has_no_rates(tmp_path: Path) -> None:
    lines = [{"op": "query", "filter": f"bib eq {n}", "params": {"bib": n}} for n in range(10)]
    traffic = read_traffic([write(tmp_path / "a.jsonl", *map(json.dumps, lines))])
    table = one_table(traffic)
    (query,) = table.classes
    assert (query.requests, query.mean_per_s, query.peak_per_s) == (10, None, 0)
    assert (traffic.clock.untimed, traffic.clock.first_us, traffic.mean_per_s) == (10, None, None)
    assert query.shape == "bib eq {p0:Int32}"
    assert query.filter is not None
    assert sorted(query.sample["literals"].to_list()) == sorted([[str(n)] for n in range(10)])
    assert json.loads(query.sample["params"][0]).keys() == {"bib"}


def test_ever_new_keys_stay_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic_counts, "CHUNK_ROWS", 100)
    monkeypatch.setattr(traffic_counts, "HEAVY_KEYS_MAX", 50)
    lines = [
        sa_line(s / 10, f"request-{s:05}", f"/events(PartitionKey='{k}',RowKey='r')", f"/acct/events/{k}/r")
        for s in range(2000)
        for k in ["hot" if s % 4 == 0 else f"new{s:05}"]
    ]
    reads = one_table(read_traffic([write(tmp_path / "a.log", *lines)])).reads
    assert reads.basis is Basis.SKETCHED
    assert len(reads.keys) <= 50
    assert reads.keys[0][0] == "hot"
    assert reads.keys[0][1] <= 500 <= reads.keys[0][1] + reads.error
    assert reads.requests == 2000


def test_one_chosen_table_leaves_no_transaction_unlisted(tmp_path: Path) -> None:
    whole = sa_line(1, "request-1", "/$batch", "/acct", "EntityGroupTransaction", 202)
    part = sa_line(1, "request-1", "/$batch", "/acct/events/p/1", "InsertEntity", 202, 1)
    read = sa_line(2, "request-2", "/users(PartitionKey='p',RowKey='r')", "/acct/users/p/r")
    log = write(tmp_path / "a.log", whole, part, read)
    assert read_traffic([log], LogWindow(table="users")).groups_unlisted == 0
    assert read_traffic([write(tmp_path / "b.log", whole, read)]).groups_unlisted == 1


def test_samples_hold_decoded_filters_and_literals(tmp_path: Path) -> None:
    url = "/events()?%24filter=PartitionKey+eq+%27caf%C3%A9%27%27s%27+and+n+ge+12L"
    (query,) = one_table(
        read_traffic([write(tmp_path / "a.log", sa_line(1, "request-1", url, "/acct/events"))])
    ).classes
    assert query.sample.row(0, named=True) | {"at_us": 0} == {
        "at_us": 0,
        "op_number": 0,
        "pk": "café's",
        "rk": None,
        "filter": "PartitionKey eq 'café''s' and n ge 12L",
        "literals": ["'café''s'", "12L"],
        "params": None,
        "status": 200,
    }
    assert query.shape == "PartitionKey eq {p0:String} and n ge {p1:Int64}"


def test_a_filter_that_is_none_is_a_class_without_a_filter(tmp_path: Path) -> None:
    log = write(tmp_path / "a.log", sa_line(1, "request-1", "/events()?$filter=a%20equals%201"))
    (query,) = one_table(read_traffic([log])).classes
    assert query.filter is None
    assert query.shape


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"time,user\n1,2\n", "not a query log"),
        (b"\x00\x01\x02\xff" * 50, "not a query log"),
        ((DATA / "storage-analytics-v1-docs.log").read_bytes(), "another service"),
    ],
)
def test_what_is_no_table_log_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_traffic([path])
    assert says in str(caught.value)
    assert str(path) in str(caught.value)
    assert len(caught.value.lines()) <= 4
    assert str(caught.value).isprintable() or "\n" in str(caught.value)


def test_too_many_bad_lines_are_refused_and_few_are_counted(tmp_path: Path) -> None:
    good = [sa_line(s, f"request-{s:04}") for s in range(97)]
    log = write(tmp_path / "a.log", *good, "bad", "worse", "1.0;also;bad")
    with pytest.raises(InputError, match="3 of 100 log lines"):
        read_traffic([log])
    assert read_traffic([log], max_bad_lines=0.03).skipped[0][:2] == ("not parseable", 3)


def test_open_log_names_the_formats_it_tried(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Storage Analytics, Azure Monitor, trace") as caught:
        open_log(write(tmp_path / "a.log", "", "what is \x1b[31mthis"))
    assert "\x1b" not in str(caught.value)
