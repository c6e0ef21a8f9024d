"""Storage Analytics lines: splitting, classifying, decoding, and two parsers that agree."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.observe.logs import storage_analytics as sa
from pkadvisor.observe.logs.frame import Op, ReadOptions, Route, Routes, Skips
from pkadvisor.observe.logs.urls import (
    UrlShape,
    blank_text,
    coarse,
    forms_of_addresses,
    pk_of_text,
    plain_shape,
    raw_filter,
    shapes_of,
    url_queries,
)

DATA = Path(__file__).parent / "data"


def line(
    url: str,
    key: str = "/acct/events",
    operation: str = "QueryEntities",
    status: str = "Success",
    http: str = "200",
    at: str = "2026-01-01T00:00:00.1234567Z",
    request: str = "r-000001",
    number: int = 0,
    client: str = "c-1",
    latency: str = "7",
    etag: str = "",
    service: str = "table",
) -> str:
    return (
        f'1.0;{at};{operation};{status};{http};9;{latency};authenticated;acct;acct;{service};"{url}";"{key}";{request};'
        f'{number};10.0.0.1:5;2019-02-02;412;0;298;1500;0;;;{etag};;;"SDK (.NET CLR; Unix)";;"{client}"'
    )


def read(tmp_path: Path, *lines: str, options: ReadOptions | None = None) -> tuple[list[dict[str, object]], Skips]:
    path = tmp_path / "a.log"
    path.write_text("".join(text + "\n" for text in lines), encoding="utf-8")
    routes, skips = Routes(), Skips()
    rows = []
    for frame in sa.frames(path, routes, skips, options):
        rows += [row | {"route": routes.all[row["route"]]} for row in frame.iter_rows(named=True)]
    return rows, skips


def test_the_published_lines_have_30_or_38_fields_whatever_their_quotes_hold() -> None:
    counts = [
        len(sa.split(text)) for path in sorted(DATA.glob("*.log")) for text in path.read_text("utf-8").splitlines()
    ]
    assert counts == [30] * 12 + [38] * 2


def test_doubled_quotes_belong_to_the_etag() -> None:
    fields = sa.split('a;""0x8D15A2913C934DE"";"b;c";;"x""y"')
    assert fields == ["a", "0x8D15A2913C934DE", "b;c", "", "xy"]


def test_the_published_table_lines_are_one_transaction_of_two_inserts() -> None:
    routes, skips = Routes(), Skips()
    frame = pl.concat([f for p in sorted(DATA.glob("*.log")) for f in sa.frames(p, routes, skips)])
    kinds = [routes.all[r] for r in frame["route"]]
    assert [(k.op, k.grouped, k.table) for k in kinds] == [
        (Op.BATCH, False, ""),
        (Op.INSERT, True, "orders"),
        (Op.INSERT, True, "orders"),
    ]
    assert frame["rk"].to_list() == [
        None,
        "a9225cef-04aa-4bbb-bf3b-b0391e3c436e",
        "a9225cef-04aa-4bbb-bf3b-b0391e3c435d",
    ]
    assert frame["op_number"].to_list() == [0, 1, 2]
    assert skips.counts == {"another service": 11}
    assert skips.lines == 14
    assert skips.bad == 0


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://a.table.core.windows.net:443/events(PartitionKey='p',RowKey='r')", ("address", "events", "", None)),
        ("https://a.table.core.windows.net/events(PartitionKey='p', RowKey='r')", ("address", "events", "", None)),
        ("https://a.table.local.net/events(PartitionKey=%27p%27,RowKey=%27%27)", ("address", "events", "", None)),
        ("http://127.0.0.1:10002/devstoreaccount1/events()?$top=5", ("set", "events", "", 5)),
        ("/devstoreaccount1/events()", ("set", "events", "", None)),
        ("http:// sally.table.core.windows.net/$batch", ("batch", "", "", None)),
        ("https://a.table.core.windows.net/%24batch", ("batch", "", "", None)),
        ("https://a.table.core.windows.net/events?comp=acl", ("definition", "", "", None)),
        ("https://a.table.core.windows.net/Tables('events')", ("definition", "", "", None)),
        ("https://a.table.core.windows.net/?restype=service&comp=properties", ("definition", "", "", None)),
        (
            "https://a.table.core.windows.net/events(PartitionKey='p')?$top=10",
            ("partition", "events", "PartitionKey eq {p0:String}", 10),
        ),
        (
            "https://a.table.core.windows.net/events()?%24filter=PartitionKey+eq+%27o%27%27clock%27&%24top=7",
            ("set", "events", "PartitionKey eq {p0:String}", 7),
        ),
    ],
)  # fmt: skip
def test_a_url_is_read_in_every_spelling(url: str, expected: tuple[str, str, str, int | None]) -> None:
    if "?" in url:
        blank = shapes_of(url_queries(pl.Series([url])))
    else:
        head, bracket, named = url.partition("(")
        form = forms_of_addresses(pl.Series([named if bracket else None], dtype=pl.String))
        blank = pl.select(plain_shape(pl.lit(head), form))[:, 0]
    shape = UrlShape.of(coarse(blank)[0])
    assert (shape.kind, shape.table, shape.shape, shape.top) == expected


def test_reads_are_classified_by_their_url_and_not_by_the_operation_name(tmp_path: Path) -> None:
    base = "https://acct.table.core.windows.net:443/events"
    rows, _ = read(
        tmp_path,
        line(f"{base}(PartitionKey='p',RowKey='r')", "/acct/events/p/r", operation="QueryEntities"),
        line(f"{base}()?$filter=PartitionKey%20eq%20'p'", operation="QueryEntity"),
        line(f"{base}()?$filter=Rating%20ge%203&$select=b,a&$top=10"),
        line(base, operation="QueryEntity"),
    )
    routes = [row["route"] for row in rows]
    assert all(isinstance(r, Route) for r in routes)
    assert [(r.address, r.shape, r.pk_equal, r.select, r.top) for r in routes] == [
        (True, "", True, "", None),
        (False, "PartitionKey eq {p0:String}", True, "", None),
        (False, "Rating ge {p0:Int32}", False, "a,b", 10),
        (False, "", False, "", None),
    ]


@pytest.mark.parametrize(("address", "key", "insert"), [
    ("a%3Ab", "a%3Ab", "c:d"),  # the object key is the text of the address
    ("a%253Ab", "a%3Ab", "c%3Ad"),  # it is the key itself, which the application has encoded
    ("ab", "ab", "c:d"),  # no address shows it, and the key has the form
    ("ab", "ab", "c%2Fd"),  # no key holds a slash: the application has encoded it
    ("ab", "ab", "c d%3Ae"),  # a blank is encoded first
])  # fmt: skip
def test_keys_of_inserts_are_decoded_where_addresses_or_their_form_show_that_object_keys_are_encoded(
    address: str, key: str, insert: str, tmp_path: Path
) -> None:
    base = "https://acct.table.core.windows.net:443/events"
    rows, _ = read(
        tmp_path,
        line(f"{base}(PartitionKey='p',RowKey='{address}')", f"/acct/events/p/{key}", operation="UpdateEntity"),
        line(base, f"/acct/events/p/{insert if '%' in insert else 'c%3Ad'}", operation="InsertEntity"),
    )
    assert rows[1]["rk"] == insert


def test_keys_are_decoded_exactly(tmp_path: Path) -> None:
    base = "https://acct.table.core.windows.net:443/events"
    rows, _ = read(
        tmp_path,
        line(f"{base}()?$filter=PartitionKey%20eq%20'caf%C3%A9%7C%2B+o''x'%20and%20RowKey%20gt%20'%2520'"),
        line(f"{base}()?%24filter=(PartitionKey+eq+%27a%27%27b%27)&$top=1"),
        line(f"{base}(PartitionKey='a%2Fb+c',RowKey='%e4%b8%ad''')"),
        line(base, "/acct/events/p &amp; q//", operation="InsertEntity"),
        line(f"{base}(PartitionKey='50%25',RowKey='')", "/acct/events/50%25/", operation="UpdateEntity"),
        line(f"{base}()?$filter=PartitionKey%20eq%20'p'%20or%20PartitionKey%20eq%20'q'"),
    )
    assert [(row["pk"], row["rk"]) for row in rows[:5]] == [
        ("café|+ o'x", None),
        ("a'b", None),
        ("a/b+c", "中'"),
        ("p & q", "/"),
        ("50%", ""),
    ]
    assert rows[0]["filter"] == "PartitionKey%20eq%20'caf%C3%A9%7C%2B+o''x'%20and%20RowKey%20gt%20'%2520'"
    assert not rows[5]["route"].pk_equal


def test_a_character_reference_needs_its_semicolon(tmp_path: Path) -> None:
    url = "https://acct.table.core.windows.net/events()?$filter=a%20eq%201&amp;$top=3&copy=1"
    rows, _ = read(tmp_path, line(url))
    assert rows[0]["route"].top == 3
    assert rows[0]["filter"] == "a%20eq%201"


def test_continuations_throttling_and_writes(tmp_path: Path) -> None:
    base = "https://acct.table.core.windows.net/events"
    token = "NextPartitionKey=1!8!U21pdGg-&NextRowKey=1!12!QmVuMTg5OA--"
    rows, _ = read(
        tmp_path,
        line(f"{base}()?{token}"),
        line(f"{base}()?$filter=a%20eq%20'b'", status="ThrottlingError", http="503"),
        line(f"{base}()?$filter=a%20eq%20'b'", status="SASThrottlingError", http="Unknown"),
        *(
            line(f"{base}(PartitionKey='p',RowKey='r')", "/acct/events/p/r", operation=name)
            for name in ("InsertOrReplaceEntity", "InsertOrMergeEntity", "MergeEntity", "UpdateEntity", "DeleteEntity")
        ),
    )
    assert [row["route"].continued for row in rows[:2]] == [True, False]
    assert [row["throttled"] for row in rows[:3]] == [False, True, True]
    assert [row["status"] for row in rows[:3]] == [200, 503, 0]
    assert [row["route"].op for row in rows[3:]] == [Op.UPSERT, Op.UPSERT, Op.MERGE, Op.UPDATE, Op.DELETE]


def test_filters_that_differ_in_numbers_and_tokens_are_one_route(tmp_path: Path) -> None:
    base = "https://acct.table.core.windows.net/events()?$filter="
    rows, _ = read(
        tmp_path,
        *(line(f"{base}bib%20eq%20{n}%20and%20size%20gt%20{n}.5&sig=x{n}&timeout={n}") for n in range(2, 60)),
    )
    assert {row["route"] for row in rows} == {rows[0]["route"]}
    assert rows[0]["route"].shape == "bib eq {p0:Int32} and size gt {p1:Double}"


def test_lines_left_out_are_counted_with_their_first_example(tmp_path: Path) -> None:
    good = line("https://acct.table.core.windows.net/events")
    rows, skips = read(
        tmp_path,
        good,
        "garbage",
        '1.0;2026;"open quote',
        good,
        line("https://acct.blob.core.windows.net/x", service="blob"),
        line("https://acct.table.core.windows.net/Tables", operation="CreateTable"),
        good.replace("2026-01-01T", "yesterday"),
        "",
        good,
    )
    assert len(rows) == 3
    assert skips.lines == 9
    assert skips.bad == 3
    assert skips.counts["another service"] == 1
    assert skips.counts["table definition, access policy or service settings"] == 1
    assert skips.examples["not parseable"].endswith("a.log:2: garbage")


HOSTILE = st.lists(st.sampled_from([*"ab;\"'&%/é ", "&quot;", '""', "%27", "\u2028", "\x85", "\x00"]), max_size=12).map(
    "".join
)


@st.composite
def hostile_line(draw: st.DrawFn) -> str:
    kind = draw(st.integers(0, 9))
    base = line(
        "https://acct.table.core.windows.net/events" + draw(HOSTILE),
        "/acct/events/" + draw(HOSTILE),
        etag=draw(st.sampled_from(["", '""0x8D""', '"W/&quot;d&quot;"', '""', '"a"b"'])),
        client=draw(HOSTILE),
    )
    if kind == 0:
        return draw(HOSTILE)
    if kind == 1:
        return base + ";" * draw(st.integers(1, 9))
    if kind == 2:
        return base.replace("1.0;", "2.0;", 1) + ";" * 8
    if kind == 3:
        return base[: draw(st.integers(0, len(base)))]
    return base


@given(st.lists(hostile_line(), min_size=1, max_size=12))
def test_the_fast_parser_agrees_with_the_exact_one(lines: list[str]) -> None:
    block = ("".join(text + "\n" for text in lines)).encode("utf-8", "surrogatepass")
    if block.count(b"\n") != len(lines):
        return
    skipped: list[sa.Skip] = []
    found = sa._fields(block, len(lines), skipped)
    wanted_skips: list[sa.Skip] = []
    wanted = sa.exact(list(enumerate(block.split(b"\n")[:-1])), wanted_skips)
    assert found.select(wanted.columns).drop("coded").rows() == wanted.drop("coded").rows()
    plain = found.filter(~pl.col("coded")).select(f"f{i}" for i in sa._CODED)
    assert not any(";" in (text or "") for row in plain.rows() for text in row), "a character reference is not seen"
    assert sorted(s.line for s in skipped) == sorted(s.line for s in wanted_skips)


@pytest.mark.parametrize("block_bytes", [1, 700, 5_000, 1 << 20])
@pytest.mark.parametrize("threads", [1, 3])
def test_blocks_and_threads_do_not_show(tmp_path: Path, block_bytes: int, threads: int) -> None:
    base = "https://acct.table.core.windows.net/events"
    lines = [
        line(f"{base}()?$filter=a%20eq%20{i}", request=f"request-{i:06}", status="Success" if i % 7 else "x;y")
        for i in range(60)
    ]
    rows, skips = read(tmp_path, *lines, options=ReadOptions(block_bytes=block_bytes, threads=threads))
    again, skips_again = read(tmp_path, *lines)
    assert rows == again
    assert (skips.counts, skips.examples) == (skips_again.counts, skips_again.examples)


QUERY_PIECE = st.sampled_from(
    ["?", "&", "$filter=", "%24filter=", "?$filter=PartitionKey%20eq%20'", "PartitionKey eq 'p'", "filter=", "'", "''",
     "%27", "%7C", "%C3%A9", "+", "#", "a", "é", "(", "&$top=3"]
)  # fmt: skip


@given(st.lists(st.lists(QUERY_PIECE, max_size=9).map("".join), min_size=1, max_size=9))
def test_queries_in_bulk_are_read_like_one_by_one(texts: list[str]) -> None:
    urls = [f"https://acct.table.core.windows.net/events()?{text}" for text in texts]
    found = url_queries(pl.Series(urls))
    filters = [raw_filter(url) for url in urls]
    shapes = shapes_of(found).to_list()
    assert shapes == [blank_text(url) for url in urls]
    assert found["filter"].to_list() == filters
    assert found["pk"].to_list() == [None if text is None else pk_of_text(text) for text in filters]
    assert len(set(zip(found["kind"], shapes, strict=True))) == len(set(found["kind"]))
