"""What a result draws holds together: maps, curves, forecasts and bills agree with the figures beside them."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pkadvisor.inputs import AnalyzeRequest
from pkadvisor.progress import SilentProgress
from pkadvisor.report.documents.result import dump_json
from tests.plain import analyze
from tests.report.support import SAMPLES, result

DESIGNS = {"current", "recommended"}


def tables(name: str, **more: Any) -> list[dict[str, Any]]:
    return [t for t in result(name, **more)["tables"] if t["recommended"]]


def scheme(table: dict[str, Any], design: str) -> dict[str, Any]:
    found: dict[str, Any] = table[design]
    return found


def term(table: dict[str, Any], design: str, name: str) -> float:
    return float(next(t["value"] for t in scheme(table, design)["terms"] if t["name"] == name))


@pytest.mark.parametrize("name", SAMPLES)
def test_a_map_has_a_number_for_each_row_and_column(name: str) -> None:
    for table in tables(name):
        heat = table["heat"]
        for design in heat["designs"]:
            assert len(design["per_mille"]) == len(design["rows"]) == len(design["row_per_s"]) <= 96
            assert {len(line) for line in design["per_mille"]} == {heat["columns"]}
            assert len(design["column_per_s"]) == heat["columns"] <= 192
            assert design["design"] in DESIGNS


@pytest.mark.parametrize("name", SAMPLES)
def test_a_map_shows_the_hottest_partition_of_the_result(name: str) -> None:
    for table in tables(name):
        for design in table["heat"]["designs"]:
            hot = scheme(table, design["design"])["hot_partition"]
            target = table["heat"]["target_per_s"]
            assert design["hottest"]["key"] == hot["partition_key"]
            assert design["hottest"]["per_mille"] == pytest.approx(1000 * hot["entities_per_s_peak"] / target, abs=1)
            assert max(map(max, design["per_mille"])) >= design["hottest"]["per_mille"] - 1


@pytest.mark.parametrize("name", SAMPLES)
def test_rows_of_a_map_stand_in_the_order_of_their_keys(name: str) -> None:
    for table in tables(name):
        for design in table["heat"]["designs"]:
            rows = design["rows"]
            for row in rows:
                assert row["from_key"] <= row["to_key"]
            for one, other in pairwise(rows):
                assert one["template"] != other["template"] or one["to_key"] < other["from_key"]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_lorenz_curve_rises_from_nothing_to_all_below_the_even_line(name: str) -> None:
    for table in tables(name):
        for design in table["skew"]["designs"]:
            curve = design["lorenz"]
            assert curve[0] == [0, 0]
            assert curve[-1] == [1, 1]
            assert all(a[0] < b[0] and a[1] <= b[1] for a, b in pairwise(curve))
            assert all(y <= x + 1e-5 for x, y in curve)
            shares = [t["share"] for t in design["top"]]
            assert shares == sorted(shares, reverse=True)
            hot = scheme(table, design["design"])["hot_partition"]
            highest = max(t["entities_per_s_peak"] for t in design["top"])
            assert highest == pytest.approx(hot["entities_per_s_peak"], rel=1e-5)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_forecast_begins_with_today_and_ends_at_the_horizon(name: str) -> None:
    for table in tables(name):
        course = table["forecast"]
        for design in course["designs"]:
            first, last = design["points"][0], design["points"][-1]
            assert first["at"] == (0 if course["unit"] == "months" else 1)
            assert last["at"] == (course["horizon_months"] if course["unit"] == "months" else course["horizon_factor"])
            target = table["heat"]["target_per_s"]
            peak = term(table, design["design"], "hottest partition at peak")
            assert first["partition"] == pytest.approx(peak / target, rel=1e-4)
            assert design["break_factor"] == term(table, design["design"], "break factor")
            assert [p["worst"] for p in design["points"]] == sorted(p["worst"] for p in design["points"])
            crossed = [p["at"] for p in design["points"] if p["worst"] > 1.000001]
            if design["crosses_at"] is None:
                assert crossed == []
            else:
                assert not crossed or crossed[0] >= design["crosses_at"] - 1e-6


@pytest.mark.parametrize("name", SAMPLES)
def test_a_bill_adds_up_to_the_price(name: str) -> None:
    for table in tables(name):
        for bill in table["cost"]["designs"]:
            parts = {p: bill[p] for p in ("storage", "writes", "reads", "scans", "expiry")}
            price = term(table, bill["design"], "price")
            assert math.fsum(parts.values()) == pytest.approx(price, rel=1e-4)
            assert bill["total"] == pytest.approx(price, rel=1e-4)
            for kind in ("writes", "reads", "scans"):
                each = [c["price"] for c in bill["classes"] if c["kind"] == kind]
                assert math.fsum(each) == pytest.approx(parts[kind], rel=1e-4)
            assert parts["storage"] == pytest.approx(term(table, bill["design"], "price of storage"), rel=1e-4)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_grid_says_what_the_forecast_says(name: str) -> None:
    for table in tables(name):
        course = {d["design"]: d for d in table["forecast"]["designs"]}
        found = table["sensitivity"]
        today = found["loads"].index(1)
        assert found["growths"][0] == 1
        for design in found["designs"]:
            points = course[design["design"]]["points"]
            line = design["grid"][today]
            assert line[0]["times_limit"] == pytest.approx(points[0]["worst"], rel=1e-4)
            horizon = found["growths"].index(table["forecast"]["horizon_factor"])
            assert line[horizon]["times_limit"] == pytest.approx(points[-1]["worst"], rel=1e-4)
            comfort = table["forecast"]["headroom_share"]
            for row in design["grid"]:
                for cell in row:
                    times = cell["times_limit"]
                    word = "over target" if times > 1 else "over head-room" if times > comfort else "keeps"
                    assert cell["word"] == word
            for less, more in pairwise(design["grid"]):
                assert all(a["times_limit"] <= b["times_limit"] for a, b in zip(less, more, strict=True))


@pytest.mark.parametrize("name", SAMPLES)
def test_twice_the_load_never_lets_a_design_grow_further(name: str) -> None:
    for table in tables(name):
        for design in table["sensitivity"]["designs"]:
            for bar in design["bars"]:
                half, twice = (math.inf if bar[end] is None else bar[end] for end in ("half", "twice"))
                assert twice <= half if bar["name"].startswith("rate of ") else twice >= half
            moved = {bar["name"] for bar in design["bars"]}
            assert moved.isdisjoint(design["unmoved"])


def test_months_are_drawn_where_growth_is_declared() -> None:
    (table,) = tables("orders")
    course = table["forecast"]
    assert (course["unit"], course["basis"], course["growth_of"]) == ("months", "declared", "new_keys")
    best = course["designs"][-1]["points"]
    assert best[-1]["entities"] == pytest.approx(1_200_000 * 1.08**12, rel=1e-4)
    assert best[0]["entities"] == 1_200_000
    assert "8 % a month of new keys" in course["note"]


def test_a_forecast_says_how_little_a_log_can_tell_of_growth() -> None:
    (table,) = tables("microblog")
    assert "No growth is declared" in table["forecast"]["note"]
    assert "the log covers 9 min 59 s, fewer than 3 months" in table["forecast"]["note"]


def test_no_value_of_the_data_stands_in_redacted_evidence() -> None:
    for name in SAMPLES:
        for plain, hidden in zip(tables(name), tables(name, redact=True), strict=True):
            text = json.dumps([hidden[n] for n in ("heat", "skew", "forecast", "cost", "sensitivity")])
            for design in plain["heat"]["designs"]:
                for row in design["rows"]:
                    for key in (row["from_key"], row["to_key"], row["label"]):
                        assert len(key) < 5 or key not in text
            assert hidden["heat"]["designs"][0]["per_mille"] == plain["heat"]["designs"][0]["per_mille"]


def test_without_rows_nothing_is_drawn_and_the_result_says_why(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("".join(f'{{"table": "T", "op": "query", "at": {n}, "pk": "d{n % 8}"}}\n' for n in range(90)))
    (table,) = analyze(AnalyzeRequest(logs=(str(log),)), SilentProgress())["tables"]
    assert [table[n] for n in ("heat", "skew", "forecast", "cost", "sensitivity")] == [None] * 5
    assert table["why_no_heat"] == table["why_not"]


def test_a_log_alone_is_drawn_on_the_keys_that_it_names() -> None:
    (table,) = result("microblog", data=(), design=None)["tables"]
    assert table["heat"]["designs"] and table["cost"]
    assert table["why_no_heat"] is None


def test_series_are_one_line_and_read_back_the_same() -> None:
    document = {"a": list(range(12)), "b": [[1.5, -2e-7] * 8, []], "c": ["1,\n 2"] * 9, "d": [1, 2]}
    text = dump_json(document).decode()
    assert json.loads(text) == document
    assert f'"a": {list(range(12))}' in text
    assert len(text.splitlines()) == 22
