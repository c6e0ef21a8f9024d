"""Storage Analytics logs, version 1.0 (30 fields; the 38 of version 2.0 are tolerated): ``;`` between, quotes toggle.

Two parsers that agree: polars reads whole blocks; what it cannot be trusted with goes line by line through ``split``.
A sub-operation of a group transaction repeats status, latency and sizes of the whole transaction; its keys are in the
requested object key. The operation name decides only which write a write is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pkadvisor.lazy import pl
from pkadvisor.observe.data.edm_text import CLOCK, DATE, datetime_expr
from pkadvisor.observe.data.streams import MAX_LINE_BYTES
from pkadvisor.observe.logs import urls
from pkadvisor.observe.logs.frame import (
    ANOTHER_SERVICE,
    NOT_PARSEABLE,
    TABLE_OPERATION,
    TOO_LONG,
    UNKNOWN_OPERATION,
    Op,
    ReadOptions,
    Route,
    Routes,
    Skips,
)
from pkadvisor.observe.logs.pipeline import Parsed, Skip, line_ends, read_lines, split_columns, text_of

NAME: Final = "Storage Analytics"

FIELDS: Final = {"1.0": 30, "2.0": 38}
_WIDTH: Final = 31
_TIME, _OPERATION, _STATUS, _HTTP, _SERVICE, _URL, _KEY, _REQUEST, _COUNT, _CLIENT = 1, 2, 3, 4, 10, 11, 12, 13, 14, 29
_USED: Final = (0, _TIME, _OPERATION, _STATUS, _HTTP, _SERVICE, _URL, _KEY, _REQUEST, _COUNT, _CLIENT)
_CODED: Final = (_URL, _KEY, _CLIENT)
_SMALL_BYTES: Final = 256 << 10

_CLAIM = re.compile(rb'^[12]\.0;[0-9]{4}-[0-9]{2}-[0-9]{2}T[^;"]*;[A-Za-z]+;[A-Za-z]*;[^;"]*;[0-9.]*;[0-9.]*;')
FIRST_TIME: Final = re.compile(rb'^[12]\.0;([^;"]+);', re.MULTILINE)

WRITES: Final = {
    "InsertEntity": Op.INSERT,
    "UpdateEntity": Op.UPDATE,
    "MergeEntity": Op.MERGE,
    "InsertOrMergeEntity": Op.UPSERT,
    "InsertOrReplaceEntity": Op.UPSERT,
    "DeleteEntity": Op.DELETE,
}
_READS: Final = ("QueryEntity", "QueryEntities")
_DEFINITIONS: Final = (
    "CreateTable",
    "DeleteTable",
    "QueryTable",
    "QueryTables",
    "GetTableAcl",
    "SetTableAcl",
    "SetTableServiceProperties",
    "GetTableServiceProperties",
    "GetTableServiceStats",
    "TablePreflightRequest",
)


def claims(head: bytes) -> bool:
    """Whether one of the first lines looks like a log line of version 1.0 or 2.0."""
    return any(_CLAIM.match(line) for line in head.split(b"\n", 20)[:20])


def split(line: str) -> list[str]:
    """The fields of one line: every quote toggles, ``;`` outside quotes separates.

    The quotes themselves are dropped, doubled ones too (``""0x8D""`` in an ETag): a quote in a value is ``&quot;``.
    """
    if '"' not in line:
        return line.split(";")
    # Pieces at even places are outside quotes; only their semicolons separate.
    pieces = line.split('"')
    fields: list[str] = []
    current: list[str] = []
    for place, piece in enumerate(pieces):
        if place % 2:
            current.append(piece)
            continue
        first, *rest = piece.split(";")
        current.append(first)
        for part in rest:
            fields.append("".join(current))
            current = [part]
    fields.append("".join(current))
    return fields


def frames(
    path: str | Path, routes: Routes, skips: Skips, options: ReadOptions | None = None, name: str = ""
) -> Iterator[pl.DataFrame]:
    """Request frames of one file."""
    yield from read_lines(path, parse, route_of, routes, skips, options or ReadOptions(), name)


def parse(block: bytes) -> Parsed:
    """Parse a block of whole lines."""
    tidy = block.replace(b"\r\n", b"\n") if b"\r" in block else block
    skips: list[Skip] = []
    lines = line_ends(tidy)
    frame = _fields(tidy, lines, skips)
    return parsed(lines, frame, skips)


def _fields(block: bytes, lines: int, skips: list[Skip], offset: int = 0) -> pl.DataFrame:
    """Columns ``f<i>`` of the used fields and ``line``, for well-formed lines; others are told to ``skips``.

    Column ``coded`` is false throughout where no field of the rows can hold a character reference.
    """
    frame = fast(block)
    if frame is not None and frame.height == lines:
        whole = frame["whole"].all()
        wrong = frame.clear() if whole else frame.filter(~pl.col("whole"))
        good = frame if whole else frame.filter("whole")
        good = good.select("line", *(f"f{i}" for i in _USED), "coded")
        if wrong.height:
            texts = block.split(b"\n")
            rest = exact([(int(i), texts[i]) for i in wrong["line"]], skips, offset)
            good = pl.concat([good, rest]).sort("line")
        return good.with_columns(pl.col("line") + pl.lit(offset, pl.UInt32)) if offset else good
    if len(block) > _SMALL_BYTES:
        cut = block.index(b"\n", len(block) // 2) + 1
        if cut < len(block):
            above = block.count(b"\n", 0, cut)
            left = _fields(block[:cut], above, skips, offset)
            return pl.concat([left, _fields(block[cut:], lines - above, skips, offset + above)])
    rest = exact(list(enumerate(block.split(b"\n")[:-1])), skips, offset)
    return rest.with_columns(pl.col("line") + pl.lit(offset, pl.UInt32))


def fast(block: bytes) -> pl.DataFrame | None:
    """The block through polars' CSV reader, or None where it gives up; its rows may be other than the lines.

    Column ``whole`` is false for rows that the line-by-line parser has to look at: a wrong number of fields, or a
    quote left inside a field that is used.
    """
    frame = split_columns(block, ";", '"', "f", _WIDTH, (*_USED, _WIDTH - 1))
    if frame is None:
        return None
    # An absent last field reads like an empty one: only the other parser can tell them apart.
    whole = (pl.col("f0") == "1.0") & (pl.col("f30") == "") & (pl.col(f"f{_CLIENT}") != "")
    frame = frame.with_columns(pl.col("line").cast(pl.UInt32), whole=whole)
    # One search for both characters that need care; most blocks hold neither.
    if frame.select(pl.any_horizontal(pl.col(f"f{i}").str.contains('[";]').any() for i in _CODED)).item():
        quoted = (pl.col(f"f{i}").str.contains('"', literal=True) for i in _CODED)
        return frame.with_columns(whole=pl.col("whole") & ~pl.any_horizontal(quoted), coded=pl.lit(True))
    return frame.with_columns(coded=pl.lit(False))


def exact(lines: list[tuple[int, bytes]], skips: list[Skip], offset: int = 0) -> pl.DataFrame:
    """The same columns as the fast path's, line by line."""
    rows: list[list[str]] = []
    places: list[int] = []
    for place, raw in lines:
        if len(raw) > MAX_LINE_BYTES:
            skips.append(Skip(TOO_LONG, 1, place + offset, text_of(raw[:200]), bad=True))
            continue
        text = raw.decode("utf-8", "replace")
        if not text.strip():
            continue
        fields = split(text)
        expected = FIELDS.get(fields[0], 0)
        if len(fields) == expected or (len(fields) > expected == 30 and not fields[30]):
            rows.append([fields[i] for i in _USED])
            places.append(place)
        else:
            skips.append(Skip(NOT_PARSEABLE, 1, place + offset, text_of(raw), bad=True))
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(_USED)
    return pl.DataFrame(
        {"line": pl.Series(places, dtype=pl.UInt32)}
        | {f"f{i}": pl.Series(column, dtype=pl.String) for i, column in zip(_USED, columns, strict=True)}
    ).with_columns(coded=pl.lit(True))


def parsed(lines: int, fields: pl.DataFrame, skips: list[Skip]) -> Parsed:
    """A block of ``lines`` lines from its fields."""
    frame, kinds = requests(fields, skips)
    return Parsed(lines, frame, skips, kinds)


def requests(frame: pl.DataFrame, skips: list[Skip]) -> tuple[pl.DataFrame, list[str]]:
    """From fields to requests and the kinds they are of: other services are left out, keys decoded."""
    if not frame.height:
        return frame, []
    # Few large selections, not many small steps: polars works on the columns of one selection in parallel.
    mine = pl.col(f"f{_SERVICE}") == "table"
    if not frame.select(mine.all()).item():
        other = frame.filter(~mine.fill_null(False))
        first = other.row(0, named=True)
        text = f"{first[f'f{_SERVICE}']} {first[f'f{_OPERATION}']} {first[f'f{_URL}']}"
        skips.append(Skip(ANOTHER_SERVICE, other.height, int(first["line"]), text))
        frame = frame.filter(mine)
        if not frame.height:
            return frame, []
    if "coded" not in frame.columns or frame["coded"].any():
        for column in (f"f{i}" for i in _CODED):
            frame = frame.with_columns(urls.map_distinct(frame[column], ";", urls.html_decoded).alias(column))
    url, key, http = pl.col(f"f{_URL}"), pl.col(f"f{_KEY}"), pl.col(f"f{_HTTP}").cast(pl.Int16, strict=False)
    made = frame.select(
        "line",
        usual_at_us(pl.col(f"f{_TIME}")).alias("at_us"),
        pl.col(f"f{_COUNT}").cast(pl.Int32, strict=False).fill_null(0).alias("op_number"),
        pl.col(f"f{_REQUEST}").alias("request_id"),
        pl.col(f"f{_CLIENT}").alias("client_request_id"),
        http.fill_null(0).alias("status"),
        (http.is_in([429, 503]).fill_null(False) | pl.col(f"f{_STATUS}").str.ends_with("ThrottlingError")).alias(
            "throttled"
        ),
        key.str.splitn("/", 5).struct.rename_fields(["", "account", "key_table", "pk", "rk"]).struct.unnest(),
        key.str.contains("%", literal=True).alias("percent"),
        url.str.contains("?", literal=True).alias("asks"),
        url.str.find("(", literal=True).alias("bracket"),
        pl.col(f"f{_OPERATION}").alias("operation"),
        url.alias("url"),
    )
    if made["at_us"].null_count():
        made = made.with_columns(at_us=at_us(frame[f"f{_TIME}"]))
        wrong = made["at_us"].is_null()
        if wrong.any():
            text = f"time '{frame.filter(wrong)[f'f{_TIME}'][0]}'"
            skips.append(Skip(NOT_PARSEABLE, int(wrong.sum()), int(made.filter(wrong)["line"][0]), text, bad=True))
            made = made.filter(~wrong)
            if not made.height:
                return made, []
    return by_kind(made)


def by_kind(made: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Requests with ``what``, the place of their kind in the list of kinds; keys and filters out of their URLs."""
    asks, percent, url, start, named = made.select(
        "asks",
        "percent",
        "url",
        head=urls.before(pl.col("url"), pl.col("bracket")),
        named=urls.after(pl.col("url"), pl.col("bracket") + 1),
    ).get_columns()
    form = urls.forms_of_addresses(named)
    unsure = made.get_column("rk").is_null() | percent
    if unsure.any():
        addressed = pl.lit(named).str.starts_with("PartitionKey=") | pl.lit(named).str.starts_with("RowKey=")
        unsure = pl.select(addressed.fill_null(False) & unsure)[:, 0]
    # Kinds are told apart by 64-bit hashes that live no longer than the block; their texts are made once for each.
    head = pl.lit(start).hash(0) ^ pl.lit(form).hash(3)
    pk, filters, asking = pl.col("pk"), pl.lit(None, pl.String), None
    if asks.any():
        # The rows of queries are worked on apart and put back by their place.
        asking = urls.url_queries(url.filter(asks))
        kind, asked_pk, asked_filter = asking.select("kind", "pk", "filter").get_columns()
        place = pl.select(pl.when(asks).then(asks.cum_sum() - 1))[:, 0]
        head = pl.when("asks").then(kind.gather(place)).otherwise(head)
        pk = pl.coalesce("pk", asked_pk.gather(place))
        filters = pl.lit(asked_filter.gather(place))
    what = made.select(head ^ pl.col("operation").hash(1) ^ pl.col("key_table").hash(2))[:, 0]
    first = what.is_first_distinct()
    some = made.filter(first).select(
        "operation", "key_table", "asks", shape=urls.plain_shape(pl.lit(start.filter(first)), form.filter(first))
    )
    if asking is not None:
        asked = urls.shapes_of(asking.filter(first.filter(asks)))
        some = some.with_columns(shape=pl.when("asks").then(urls.spread(asked, asks.filter(first))).otherwise("shape"))
    kinds = some.select(pl.concat_str("shape", "operation", pl.col("key_table").fill_null(""), separator="\n"))[:, 0]
    numbers = pl.Series(range(len(kinds)), dtype=pl.UInt32)
    made = made.select(
        "line",
        "at_us",
        what.replace_strict(what.filter(first), numbers, return_dtype=pl.UInt32).alias("what"),
        "op_number",
        "request_id",
        "client_request_id",
        "status",
        "throttled",
        pk.alias("pk"),
        "rk",
        filters.alias("filter"),
        "url",
    )
    return with_keys_of_address(made, unsure, percent), kinds.to_list()


def with_keys_of_address(frame: pl.DataFrame, unsure: pl.Series, percent: pl.Series) -> pl.DataFrame:
    """Keys that only the address tells, or tells exactly: an object key with ``%`` in it may be encoded.

    Addresses that show it to be encoded speak for the inserts and parts of a batch, which have no key in theirs; where
    no address shows it, the object keys do.
    """
    rest = percent & ~unsure
    if unsure.any() or rest.any():
        pk, rk = urls.keys_of_address(frame["url"].filter(unsure))
        keys = frame.filter(unsure).select("pk", "rk", address_pk=pk, address_rk=rk)
        frame = frame.with_columns(
            pl.coalesce(urls.spread(pk, unsure), pl.col("pk")).alias("pk"),
            pl.coalesce(urls.spread(rk, unsure), pl.col("rk")).alias("rk"),
        )
        if rest.any():
            some = frame.filter(rest).select("pk", "rk")
            plain = some.select(urls.decoded(some[name]) for name in ("pk", "rk"))
            if urls.keys_are_encoded(keys.drop_nulls(), some, plain):
                frame = frame.with_columns(
                    pl.when(rest).then(urls.spread(plain[name], rest)).otherwise(name).alias(name)
                    for name in ("pk", "rk")
                )
    return frame.drop("url")


def usual_at_us(times: pl.Expr) -> pl.Expr:
    """Times as the service writes them (``2026-01-01T00:00:00.1234567Z``) to µs since 1970; null for any others."""
    usual = (times.str.len_bytes() == 28) & times.str.ends_with("Z") & (times.str.slice(19, 1) == ".")
    seconds = times.str.slice(0, 19).str.to_datetime("%Y-%m-%dT%H:%M:%S", time_unit="us", strict=False)
    return pl.when(usual).then(seconds.cast(pl.Int64) + times.str.slice(20, 6).cast(pl.UInt32, strict=False))


_TIMES: Final = rf"^{DATE}[T ]{CLOCK}(?:\.[0-9]{{1,12}})?(?:[Zz]|[+-][0-9]{{2}}:?[0-9]{{2}})?$"


def at_us(times: pl.Series) -> pl.Series:
    """ISO-8601 times in UTC to µs since 1970; null where a text is no time."""
    text = pl.lit(times).str.strip_chars()
    return pl.select(pl.when(text.str.contains(_TIMES)).then(datetime_expr(text).dt.epoch("us")))[:, 0]


def route_of(what: str) -> Route:
    """The route of ``blanked URL \\n operation name \\n table in the object key``."""
    parts = what.split("\n")
    if len(parts) != 3:  # a line end in a URL or a key
        return Route("", Op.QUERY, skip=NOT_PARSEABLE)
    url, operation, key_table = parts
    return route(urls.UrlShape.of(url), operation, key_table)


def route(shape: urls.UrlShape, operation: str, key_table: str) -> Route:
    """Classify: reads by their URL; the name of the operation tells which write it is."""
    write = WRITES.get(operation)
    if shape.kind == "batch":
        if operation == "EntityGroupTransaction":
            return Route("", Op.BATCH, account=shape.account)
        op = write or (Op.QUERY if operation in _READS else None)
        if op is None or not key_table:
            return Route("", Op.BATCH, skip=UNKNOWN_OPERATION)
        return Route(key_table, op, address=True, grouped=True, pk_equal=True, account=shape.account)
    if shape.kind == "definition" or operation in _DEFINITIONS:
        return Route("", Op.QUERY, skip=TABLE_OPERATION)
    if shape.kind == "other":
        return Route("", Op.QUERY, skip=NOT_PARSEABLE)
    if write is not None:
        return Route(shape.table, write, address=True, pk_equal=True, account=shape.account)
    if operation not in _READS:
        return Route("", Op.QUERY, skip=UNKNOWN_OPERATION)
    return read_route(shape)


def read_route(shape: urls.UrlShape) -> Route:
    """A read as its URL tells it."""
    address = shape.kind == "address"
    return Route(
        shape.table,
        Op.QUERY,
        address=address,
        shape="" if address else shape.shape,
        pk_equal=address or urls.pins_partition(shape.shape),
        select=shape.select,
        top=None if address else shape.top,
        continued=shape.continued,
        encoded=True,
        account=shape.account,
    )
