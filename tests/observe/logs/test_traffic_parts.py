"""The parts that count logs: hashes of texts, windows of identities, heavy keys, samples, busiest seconds."""

from __future__ import annotations

import importlib
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.errors import InputError
from pkadvisor.observe import minutes
from pkadvisor.observe.logs import traffic_fold
from pkadvisor.observe.logs.busy_spans import BusySpans, Spans
from pkadvisor.observe.logs.formats import open_log
from pkadvisor.observe.logs.frame import ReadOptions, Routes, Skips
from pkadvisor.observe.logs.read_traffic import read_traffic
from pkadvisor.observe.logs.traffic_parts import (
    BottomK,
    HeavyHitters,
    Seconds,
    class_line,
    even_bound,
    refused_line,
    table_line,
    text_hashes,
)
from pkadvisor.observe.minutes import MinuteSeries
from tests.observe.logs.test_traffic import one_table, plain, sa_line, write


@given(st.lists(st.text(st.sampled_from("abcdefgh"), max_size=2), max_size=400), st.integers(1, 8), st.integers(1, 50))
def test_heavy_hitters_keep_their_bound(texts: list[str], keys_max: int, step: int) -> None:
    heavy = HeavyHitters(keys_max)
    for at in range(0, len(texts), step):
        part = pl.DataFrame({"text": texts[at : at + step]}, schema={"text": pl.String})
        heavy.add(
            part.group_by("text")
            .agg(n=pl.len().cast(pl.Int64))
            .select(pl.lit(0, pl.UInt32).alias("group"), "text", "n")
        )
    held = dict(heavy.held().select("text", "n").iter_rows())
    true = Counter(texts)
    error = heavy.error.get(0, 0)
    assert len(held) <= keys_max
    assert error <= len(texts) / (keys_max + 1)
    for text, n in true.items():
        assert held.get(text, 0) <= n <= held.get(text, 0) + error
    if len(true) <= keys_max:
        assert held == dict(true)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5000)), min_size=1, max_size=300))
def test_seconds_keep_their_sums_and_peaks(requests: list[tuple[int, int]]) -> None:
    seconds = Seconds(20)
    ordered = sorted(requests, key=lambda r: r[1])
    for at in range(0, len(ordered), 17):
        part = np.array(ordered[at : at + 17], dtype=np.int64)
        seconds.add(part[:, 0], part[:, 1])
        seconds._merge()
    peak, found = seconds.result()
    true_seconds = Counter(requests)
    true_minutes = Counter((c, s // 60) for c, s in requests)
    for code in {c for c, _ in requests}:
        assert sum(n for (c, _), n in true_minutes.items() if c == code) == int(found[code][1].sum())
        assert dict(zip(*(x.tolist() for x in found[code]), strict=True)) == {
            m: n for (c, m), n in true_minutes.items() if c == code
        }
        true_peak = max(n for (c, _), n in true_seconds.items() if c == code)
        assert peak[code] <= true_peak
        if len(true_seconds) <= 20:
            assert peak[code] == true_peak
            assert seconds.busiest()[code] == min(
                s for (c, s), n in true_seconds.items() if c == code and n == true_peak
            )


def test_text_hashes_do_not_depend_on_their_neighbours() -> None:
    texts = ["", "a", "12345678", "123456789", "x" * 36, "y" * 40, "z" * 41, "é" * 20, None]
    together = text_hashes(pl.Series(texts, dtype=pl.String)).tolist()
    assert together == [int(text_hashes(pl.Series([t], dtype=pl.String))[0]) for t in texts]
    assert len(set(together)) == len(texts)


def test_a_sample_is_uniform_bounded_and_free_of_order() -> None:
    rng = np.random.default_rng(1)
    rows = pl.DataFrame(
        {
            "table": pl.Series([0] * 3000, dtype=pl.UInt32),
            "class": pl.Series(rng.integers(0, 3, 3000), dtype=pl.UInt32),
            "hash": pl.Series(rng.integers(0, 1 << 63, 3000), dtype=pl.UInt64),
            "op_number": 0,
        }
    )
    found = []
    for order in (rows, rows.reverse()):
        sample = BottomK(500, 600)
        for at in range(0, 3000, 111):
            part = order.slice(at, 111)
            sample.add(part.filter(pl.Series(sample.wanted(part["class"].to_numpy(), part["hash"].to_numpy()))))
        held = sample.rows()
        assert held is not None
        found.append(held.sort("class", "hash"))
    assert found[0].equals(found[1])
    assert found[0].group_by("class").len()["len"].to_list() == [200] * 3
    for code in range(3):
        mine = rows.filter(pl.col("class") == code)["hash"].sort()
        assert found[0].filter(pl.col("class") == code)["hash"].to_list() == mine.head(200).to_list()


def test_even_bound() -> None:
    assert even_bound([10, 10_000, 10_000], 1_010, 5_000) == 500
    assert even_bound([3, 4], 100, 5) == 5
    assert even_bound([5] * 100, 10, 5) == 1


def test_the_accumulator_checks_itself(tmp_path: Path) -> None:
    routes, skips = Routes(), Skips()
    fold = traffic_fold.TrafficFold(routes)
    for frame in open_log(write(tmp_path / "a.log", sa_line(1, "request-1"))).frames(routes, skips, ReadOptions()):
        fold.add(frame)
    fold.result(skips)
    fold._tallies[0].attempts += 1
    with pytest.raises(AssertionError):
        fold.check()


@pytest.mark.parametrize("packer", ["gzip", "bz2", "lzma"])
def test_compressed_logs_and_very_long_lines(tmp_path: Path, packer: str) -> None:
    lines = [sa_line(s, f"request-{s:05}") for s in range(300)]
    text = "".join(line + "\r\n" for line in lines[:200]) + "x" * (9 << 20) + "\n" + "\n".join(lines[200:])
    (tmp_path / "a.log").write_bytes(text.encode())
    (tmp_path / "b.log").write_bytes(importlib.import_module(packer).compress(text.encode()))
    plain_log, packed = (read_traffic([tmp_path / name]) for name in ("a.log", "b.log"))
    assert one_table(plain_log).requests == 300
    assert [s[:2] for s in plain_log.skipped] == [("line too long", 1)]
    assert plain(packed).replace("b.log", "a.log") == plain(plain_log)


def test_a_cut_archive_is_told(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "a.log"
    path.write_bytes(gzip.compress("\n".join(sa_line(s, f"request-{s:05}") for s in range(9000)).encode())[:-5000])
    with pytest.raises(InputError, match="cut short"):
        read_traffic([path])


def test_each_class_tells_its_minutes_and_its_busiest_second(tmp_path: Path) -> None:
    insert = ("/events", "/acct/events/p/n", "InsertEntity", 201)
    lines = [sa_line(s, f"read-{i:04}") for i, s in enumerate([3, 4, 65, 65.5, 66])]
    lines += [sa_line(s, f"insert-{i:04}", *insert) for i, s in enumerate([200, 201])]
    table = one_table(read_traffic([write(tmp_path / "a.log", *lines)]))
    day = 1_767_225_600 // 60  # 2026-01-01
    read, put = (next(c.minutes for c in table.classes if c.op == op) for op in ("query", "insert"))
    assert read == MinuteSeries((day, day + 1), (2, 3), burst_at=day + 1)
    assert put == MinuteSeries((day + 3,), (2,), burst_at=day + 3)


def test_a_long_log_is_told_by_minute_of_the_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minutes, "MINUTES_MAX", 3)
    lines = [sa_line(s, f"read-{i:04}") for i, s in enumerate([0, 60, 120, 180, 181])]
    later = [text.replace("2026-01-01T", "2026-01-02T").replace("read-", "again-") for text in [*lines[:2], lines[0]]]
    later[2] = later[2].replace("again-0000", "again-0009")
    (read,) = one_table(read_traffic([write(tmp_path / "a.log", *lines, *later)])).classes
    assert read.minutes == MinuteSeries((0, 1, 2, 3), (2, 1, 1, 2), of_day=True, burst_at=0)


counts = st.dictionaries(st.integers(0, 5000), st.integers(1, 99), max_size=8)


@given(st.lists(counts, min_size=3, max_size=3))
def test_parts_of_a_log_add_up_in_any_grouping(parts: list[dict[int, int]]) -> None:
    first, second, third = (MinuteSeries(tuple(sorted(p)), tuple(p[m] for m in sorted(p))) for p in parts)

    def both(one: MinuteSeries, other: MinuteSeries) -> MinuteSeries:
        return minutes.added(one, other, None)

    assert both(first, second) == both(second, first)
    assert both(both(first, second), third) == both(first, both(second, third))
    total = Counter(parts[0]) + Counter(parts[1]) + Counter(parts[2])
    whole = both(both(first, second), third)
    assert dict(zip(whole.at, whole.requests, strict=True)) == dict(total)
    folded = whole.by_day()
    assert folded.by_day() == folded
    for minute, count in total.items():
        assert folded.requests[folded.at.index(minute % 1440)] >= count
    # Folded before or after, where no minute was cut.
    if not set(parts[0]) & set(parts[1]):
        assert both(first.by_day(), second) == both(first, second).by_day()


def test_requests_that_are_drawn_of_a_span_stand_for_all_of_it() -> None:
    """Two minutes of a table, one of them with more different requests than are kept."""
    spans = BusySpans(Spans(60, of_class=1, of_keys=1, rows=10, sampled=True))
    rows = pl.DataFrame({"table": [0] * 31, "start": [0] * 25 + [60] * 6, "n": [float(n % 3 + 1) for n in range(31)]})
    some = spans._cut(rows)
    assert some.group_by("start").len().sort("start").rows() == [(0, 9), (60, 6)]
    for start, before in rows.group_by("start").agg(pl.col("n").sum()).iter_rows():
        assert some.filter(pl.col("start") == start)["n"].sum() == pytest.approx(before)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 200), st.booleans()), min_size=1, max_size=300))
def test_requests_beside_refused_ones_are_counted_by_table(requests: list[tuple[int, int, bool]]) -> None:
    seconds = Seconds(10_000)
    for table, second, refused in requests:
        lines = [table_line(table), class_line(table), *([refused_line(table)] if refused else [])]
        seconds.add(np.array(lines, dtype=np.int64), np.full(len(lines), second, dtype=np.int64))
    seconds.result()
    every = Counter((table, second) for table, second, _ in requests)
    for table in range(3):
        beside = [every[table, second] for t, second, refused in requests if refused and t == table]
        assert seconds.beside_refused(table) == pytest.approx(sum(beside) / len(beside) if beside else 0.0)
