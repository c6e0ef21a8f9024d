"""Keys that no template explains, the proof of a template, and the keys of samples and of real data."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pkadvisor.design.keys.infer import Inference, KeyShape
from pkadvisor.design.keys.infer.proof import Proof
from pkadvisor.design.keys.infer.shapes import ticks_of
from pkadvisor.design.keys.keyreader import decode_key
from pkadvisor.design.keys.scheme import key_expression, parse_key
from pkadvisor.design.keys.template import decoder, parse_template
from pkadvisor.design.keys.transforms import ESCAPED, Hash, Literal, ReverseTicks, Ticks, Time, Value
from pkadvisor.design.keys.transforms.periods import period_start
from pkadvisor.table.edm import TICKS_MAX, EdmType
from tests.design.keys.inference import infer_keys
from tests.design.support import hostile_texts, moments, python_value
from tests.tiers import examples, sizes

if TYPE_CHECKING:
    import polars as pl
from tests.design.keys.test_infer import CASES, SAMPLES, SHARED, WORDS, Keys, found, real

# --- rows that no template explains


def test_rows_without_a_key_and_forbidden_characters_are_counted_unexplained() -> None:
    import polars as pl

    frame = pl.DataFrame({"PartitionKey": ["a", "b", None, "c/d", "e"], "RowKey": ["1", "2", "3", "4", None]})
    inference = infer_keys(frame)
    assert (inference.rows, inference.explained) == (5, 2)
    assert [(k.label, k.rows, k.explained, k.example) for k in inference.kinds if not k.explained] == [
        ("unexplained", 1, 0, ("c/d", "4"))
    ]


def test_strays_are_told_apart_from_the_rest() -> None:
    keys = [("a", f"{i:05d}__{WORDS[i % 5]}__{i % 7}") for i in range(500)] + [("a", "a stray"), ("a", "b__c")]
    inference = infer_keys(keys)
    assert ("a | {pad(r1,5)}__{r2}__{r3}", 500) in found(inference)
    assert inference.share == 1.0


def test_a_stray_that_the_guess_does_not_see_is_found_by_the_proof() -> None:
    keys = [("a", f"{i:06d}") for i in range(12_000)] + [("a", "0x")]
    inference = infer_keys(keys)
    assert inference.share == 1.0
    assert sum(k.rows for k in inference.kinds) == 12_001
    assert all(k.rows == k.explained for k in inference.kinds)


def test_a_key_of_many_separators_is_read_at_once() -> None:
    key = parse_key("a", "{r1}_{r2}_{r3}_{r4}_{r5}_{r6}-Dongsi")
    begin = perf_counter()
    texts = ("1_2_3_4_5_6-Dongsi", "_" * 900 + "-Foo", "_" * 900 + "-Dongsi")
    assert Proof(key, {}, {}).explained([("a", t) for t in texts]) == [True, False, False]
    assert perf_counter() - begin < 5  # it takes no time, but a pattern that tries every way takes hours


def test_nothing_is_inferred_of_nothing() -> None:
    assert infer_keys([]) == Inference((), 0, 0)
    assert infer_keys([]).share == 0.0


def test_the_order_of_rows_changes_nothing_and_repeats_count() -> None:
    keys = [k for case, _ in CASES.values() for k in case]
    assert infer_keys(keys) == infer_keys(keys[::-1])
    assert infer_keys(keys + keys).explained == 2 * infer_keys(keys).explained


# --- the proof, against decode and encode one key at a time


def encodes_back(kind: KeyShape, key: tuple[str, str]) -> bool:
    """Whether a key comes back: ``decode_key``, with times to the last digit and periods where nothing is finer."""
    types = dict(kind.types)
    told: list[dict[str, Value]] = []
    for parts, text in zip((kind.key.partition, kind.key.row), key, strict=True):
        values = decode_key(parts, text, types)
        match = decoder(parts).fullmatch(text)
        if values is None or match is None:
            return False
        plain = {name: python_value(value) for name, value in values.items()}
        for part, shown in zip((p for p in parts if not isinstance(p, Literal)), match.groups(), strict=True):
            if isinstance(part, Ticks | ReverseTicks) and shown != "~-":
                plain[part.property] = int(shown) if isinstance(part, Ticks) else TICKS_MAX - int(shown)
            elif isinstance(part, Time) and shown != "~-":
                moment = period_start(shown, part.format)
                start = None if moment is None else ticks_of(moment)
                if start is None:
                    return False
                plain.setdefault(part.property, start)
        told.append(plain)
    first, second = told
    exact = {
        p.property
        for parts in (kind.key.partition, kind.key.row)
        for p in parts
        if not isinstance(p, Literal | Time | Hash) and hasattr(p, "property")
    }
    for values, parts in ((first, kind.key.partition), (second, kind.key.row)):
        for name in list(values):
            only_period = all(isinstance(p, Time) for p in parts if getattr(p, "property", "") == name)
            if only_period and name in exact:
                del values[name]
    if any(second.get(name, value) != value for name, value in first.items() if name in exact):
        return False
    merged = {**first, **second}
    for name in first.keys() & second.keys():
        known = [value for value in (first[name], second[name]) if value is not None]
        merged[name] = max(known, default=None)  # type: ignore[type-var]  # the finer period begins later
    return kind.key.encode(merged, types) == key


@pytest.mark.parametrize("name", CASES)
def test_small_tables_come_back_one_by_one(name: str) -> None:
    keys, _ = CASES[name]
    kinds = infer_keys(keys).kinds
    assert sum(any(encodes_back(k, key) for k in kinds) for key in keys) == len(keys)
    for kind in kinds:
        assert encodes_back(kind, kind.example)


POOL = (
    ("{a}_{b}", "{n}"),
    ("{a}", "BIB:{pad(n,5)}__{b}"),
    ("{time(t,'yyyyMM')}", "{reverse_ticks(t)}_{a}"),
    ("{a};{hash(b,4)}", "{ticks(t)}"),
    ("T{n}", "{b}|{pad(n,3)}"),
    ("", "{b}"),
)
POOL_TYPES = {"a": EdmType.STRING, "b": EdmType.STRING, "n": EdmType.INT64, "t": EdmType.DATETIME}
values = st.fixed_dictionaries(
    {
        "a": st.one_of(st.none(), hostile_texts),
        "b": st.sampled_from([*WORDS, "a_b", ""]),
        "n": st.integers(-50, 120_000),
        "t": st.one_of(st.none(), moments),
    }
)


@settings(deadline=None, max_examples=examples(150))
@given(st.sampled_from(POOL), st.lists(values, max_size=12))
def test_keys_of_a_random_template_are_all_explained(template: tuple[str, str], rows: list[dict[str, object]]) -> None:
    key = parse_key(*template)
    keys = [key.encode({n: python_value(v) for n, v in row.items()}, POOL_TYPES) for row in rows]
    inference = infer_keys(keys)
    assert inference.explained == inference.rows == len(keys)
    assert all(any(encodes_back(kind, key) for kind in inference.kinds) for key in keys)


any_text = st.one_of(
    hostile_texts, st.text(max_size=6), st.sampled_from(["a_1", "a_2", "b_03", "٣_٣", "~-", "~005F"])
).map(lambda text: text.encode("utf-8", "replace").decode())


@settings(deadline=None, max_examples=examples(200))
@given(st.lists(st.tuples(any_text, any_text), max_size=14))
@example([("", ""), ("~-", "~-")])
@example([("", ""), ("", "\uffff")])
def test_what_is_explained_is_what_comes_back(keys: Keys) -> None:
    inference = infer_keys(keys)
    assert inference.rows == len(keys) == sum(k.rows for k in inference.kinds)
    assert inference.explained == sum(any(encodes_back(k, key) for k in inference.kinds) for key in keys)
    plain = sum(ESCAPED.isdisjoint("".join(key)) for key in keys)  # nothing that a template writes as an escape
    assert inference.explained >= plain
    for kind in inference.kinds:
        assert parse_template("".join(map(str, kind.key.row))) == kind.key.row
        assert kind.explained in (0, kind.rows)


# --- samples and real data


def read_table(name: str) -> pl.DataFrame:
    import polars as pl

    if name.endswith(".parquet"):
        return pl.read_parquet(name)
    return pl.read_csv(name, infer_schema_length=None, null_values="NA", try_parse_dates=False)


def typed(frame: pl.DataFrame, times: Sequence[str]) -> tuple[pl.DataFrame, dict[str, EdmType]]:
    """The frame with its times parsed, and the types of its columns."""
    import polars as pl

    frame = frame.with_columns(pl.col(n).str.to_datetime(time_unit="us", time_zone="UTC") for n in times)
    types = {}
    for name, dtype in frame.schema.items():
        whole = EdmType.INT64 if dtype.is_integer() else EdmType.STRING
        types[name] = EdmType.DATETIME if name in times else EdmType.DOUBLE if dtype.is_float() else whole
    return frame, types


def check(frame: pl.DataFrame, types: dict[str, EdmType], partition: str, row: str, bare: str) -> None:
    """Keys made by templates: with the columns these templates come back, without them the one in ``bare``."""
    key = parse_key(partition, row)
    frame = frame.with_columns(PartitionKey=key_expression(key.partition, types), RowKey=key_expression(key.row, types))
    inference = infer_keys(frame, types)
    assert [str(k.key) for k in inference.kinds] == [f"{partition} | {row}"]
    assert inference.share == 1.0
    alone = infer_keys(frame.select("PartitionKey", "RowKey"))
    assert [str(k.key) for k in alone.kinds] == [bare]
    assert alone.share == 1.0
    assert alone.rows == frame.height


KEYS_OF_SAMPLES = [
    (
        "footrace/registrations.csv",
        ["registered_at"],
        "{event}__{distance}",
        "{bib}__{initials}__{gender}__{age}",
        "{p1}__{p2} | {r1}__{r2}__{r3}__{r4}",
    ),
    (
        "footrace/registrations.csv",
        ["registered_at"],
        "{event}_{distance}",
        "BIB:{pad(bib,5)}",
        "{p1}_{p2} | BIB:{pad(r1,5)}",
    ),
    (
        "microblog/blogs.csv",
        ["posted"],
        "{channel}",
        "{time(posted,'yyyyMMddHHmmss')}",
        "{p1} | {time(r1,'yyyyMMddHHmmss')}",
    ),
    ("microblog/blogs.csv", ["posted"], "{channel}", "{reverse_ticks(posted)}", "{p1} | {reverse_ticks(r1)}"),
    ("orders/orders.csv", ["created"], "{tenantId}", "{orderId}", "tenant-{pad(p1,2)} | {r1}"),
    (
        "orders/orders.csv",
        ["created"],
        "{tenantId}_{customerId}",
        "{pad(orderId,8)}",
        "tenant-{pad(p1,2)}_C{pad(p2,5)} | {pad(r1,8)}",
    ),
    ("documents/documents.csv", ["changed"], "{document}", "{version}", "{p1}-{p2} | {r1}"),
    ("bank/transactions.csv", ["booked"], "{account}", "{transaction_id}", "{p1} | {r1}"),
    ("sensors/readings.csv.gz", ["ts"], "{year}", "{month}-{day}-{hour}-{station}", "2013 | {r1}-{r2}-{r3}-{r4}"),
    ("sensors/readings.csv.gz", ["ts"], "{station}", "{time(ts,'yyyyMMddHH')}", "{p1} | {time(r1,'yyyyMMddHH')}"),
]


@pytest.mark.parametrize(
    ("file", "times", "partition", "row", "bare"), sizes(KEYS_OF_SAMPLES[::3], KEYS_OF_SAMPLES, "real")
)
def test_keys_of_the_samples(file: str, times: list[str], partition: str, row: str, bare: str) -> None:
    check(*typed(read_table(str(SAMPLES / file)), times), partition, row, bare)


REAL = [
    (
        "chicago-marathon/runners.csv.gz",
        "{event}__{distance}",
        "{pad(bib,5)}",
        "2023 Chicago Marathon__Full | {pad(r1,5)}",
    ),
    (
        "chicago-marathon/runners.csv.gz",
        "{event}__{distance}",
        "{bib}__{initials}__{gender}__{age_group}",
        "2023 Chicago Marathon__Full | {r1}__{r2}__{r3}__{r4}",
    ),
    ("chicago-marathon/splits.parquet", "{event}__{bib}", "{split}", "2023 Chicago Marathon__{p1} | {r1}"),
    (
        "beijing-air-quality/PRSA_Data_Dongsi_20130301-20170228.csv.gz",
        "{year}",
        "{month}-{day}-{hour}-{station}",
        "{time(p1,'yyyy')} | {r1}-{r2}-{r3}-Dongsi",
    ),
    ("online-retail/online-retail.csv.gz", "{InvoiceNo}", "{pad(line,6)}_{StockCode}", "{p1} | {pad(r1,6)}_{r2}"),
    (
        "online-retail/online-retail.csv.gz",
        "{hash(InvoiceNo,16)}",
        "{InvoiceNo}_{pad(line,6)}",
        "{hash(r1,16)} | {r1}_{pad(r2,6)}",
    ),
    ("ecommerce-orm-trace/orm-busy-first500k.csv.gz", "{type}_{id}", "{pad(index,3)}", "{p1}_{p2} | {pad(r1,3)}"),
    (
        "ecommerce-orm-trace/orm-busy-first500k.csv.gz",
        "{type}",
        "{pad(id,6)}_{pad(index,3)}",
        "{p1} | {pad(r1,6)}_{pad(r2,3)}",
    ),
]
REAL_SHORT = [case for case in REAL if "beijing" in case[0] or case[1] == "{type}"]
"""Where a table is read within a second."""


@real
@pytest.mark.parametrize(("file", "partition", "row", "bare"), sizes(REAL_SHORT, REAL, "real"))
def test_keys_of_real_data(file: str, partition: str, row: str, bare: str) -> None:
    frame = read_table(str(SHARED / file)).head(60_000).with_row_index("line")
    check(*typed(frame, []), partition, row, bare)


@real
@pytest.mark.long("real")
def test_times_of_a_real_sensor() -> None:
    import polars as pl

    frame = read_table(str(SHARED / "beijing-air-quality" / "PRSA_Data_Dongsi_20130301-20170228.csv.gz"))
    frame = frame.with_columns(ts=pl.datetime("year", "month", "day", "hour", time_zone="UTC"))
    _, types = typed(frame, [])
    types["ts"] = EdmType.DATETIME
    hours = "{time(ts,'yyyyMMddHH')}"
    check(frame, types, "{station}_{time(ts,'yyyyMM')}", hours, "Dongsi_{time(p1,'yyyyMM')} | {time(p1,'yyyyMMddHH')}")
    check(frame, types, "{station}", "{reverse_ticks(ts)}", "Dongsi | {reverse_ticks(r1)}")


@real
def test_keys_of_recorded_requests() -> None:
    keys = set()
    for line in (SHARED / "azure-table-requests" / "rest-requests.jsonl").read_text(encoding="utf-8").splitlines():
        request = json.loads(line)
        named = request.get("entity_keys") or {}
        if "PartitionKey" in named:
            keys.add((named["PartitionKey"], named["RowKey"]))
        for uri in (request["uri"], *(b["uri"] for b in request.get("batch", []))):
            match = re.search(r"\(PartitionKey='([^']*)',RowKey='([^']*)'\)", uri)
            if match:
                keys.add((match[1], match[2]))
    assert len(keys) > 70
    inference = infer_keys(sorted(keys))
    assert inference.share == 1.0
    assert found(inference) == {("{p1} | {r1}", 70), ("{pad(p1,3)} | batch_{r1}", 12)}
