"""Ranges of text whose every text begins alike: which of them do, and keys that hold the beginning."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

import polars as pl
import pytest

from pkadvisor.cli.main import main
from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.conditions import Range
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.design.rows.key_ranges import HIGH, LOW
from pkadvisor.design.rows.logged.one_period import beginnings_asked, beginnings_named
from pkadvisor.table.edm import EdmType
from pkadvisor.table.odata import Parameter, TypedValue
from tests.design.support import bench_of, population_of, query

TEXTS = ["".join(t) for n in range(4) for t in product("abc", repeat=n)]


@pytest.mark.parametrize("inclusive", [True, False])
def test_all_texts_of_a_range_have_the_characters_that_it_fixes(inclusive: bool) -> None:
    """As many as the texts themselves show, over all ranges of texts of up to three letters; ``d`` only ends them."""
    for low, high in product(TEXTS, [*TEXTS, "d", "ad", "bd", "abd"]):
        inside = [t for t in TEXTS if low <= t < high or (inclusive and t == high)]
        if not inside:
            continue
        frame = pl.DataFrame({"x" + LOW: [low], "x" + HIGH: [high]})
        bound = Range(Parameter("x" + LOW), True, Parameter("x" + HIGH), inclusive)
        count = beginnings_asked(frame, {"x": bound}).get("x", 0)
        constants = Range(TypedValue(EdmType.STRING, low), True, TypedValue(EdmType.STRING, high), inclusive)
        assert beginnings_named({"x": constants}).get("x", "") == low[:count]
        assert len({t[:count] for t in inside}) == 1 and all(len(t) >= count for t in inside), (low, high)
        if high and len(high) == len(low) and high[:-1] == low[:-1] and ord(high[-1]) == ord(low[-1]) + 1:
            assert count == (len(low) - 1 if inclusive else len(low))


def test_searches_for_constant_beginnings_each_read_the_partition_of_their_letters() -> None:
    """2,600 names of which 200 begin with each letter: those with ``a``, and the 100 with ``bx``, 90 times a second."""
    names = [f"{a}{b}{n:03}" for a, b, n in product("abcdefghijklm", "xy", range(100))]
    asked = [query("a", "name ge 'a' and name lt 'b'", rate=90), query("bx", "name ge 'bx' and name lt 'by'", rate=90)]
    bench = bench_of(population_of({"name": names}, {"name": EdmType.STRING}), *asked)
    priced = estimate(KeyScheme(parse_key("{prefix(name,1)}", "{name}")), bench)
    assert [(c.plan and c.plan.access, c.entities_read, c.requests) for c in priced.classes] == [
        (Access.ROW_RANGE, pytest.approx(200), 1),
        (Access.ROW_RANGE, pytest.approx(100), 1),
    ]
    assert priced.hot is not None
    assert (priced.hot.partition_key, priced.hot.entities_per_s) == ("a", pytest.approx(90 * 200))


def test_a_partition_of_first_letters_is_read_alone_and_divided_by_more_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2,600 names of which 200 begin with each letter pair; 600 searches a second by two letters read 100 rows each."""
    monkeypatch.chdir(tmp_path)
    names = [f"{a}{b}{n:03}" for a, b, n in product("abcdefghijklm", "xy", range(100))]
    Path("names.csv").write_text("PartitionKey,RowKey,phone\n" + "".join(f"{n[0]},{n},{n[2:]}\n" for n in names))
    lines = []
    for n in range(600):
        two = names[n * 97 % len(names)][:2]
        asked = f"PartitionKey eq '{two[0]}' and RowKey ge '{two}' and RowKey lt '{two[0]}{chr(ord(two[1]) + 1)}'"
        at = datetime(2026, 3, 2, tzinfo=UTC) + timedelta(seconds=n / 30)
        lines.append({"table": "Names", "at": f"{at:%FT%T.%fZ}", "filter": asked})
    Path("log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    given = ["analyze", "names.csv", "--log", "log.jsonl", "-q", "--log-fraction", "10%", "--out", "json=r.json"]
    assert main(given) == 0
    (table,) = json.loads(Path("r.json").read_text())["tables"]
    current = table["current"]
    assert (current["partition_key"], current["row_key"]) == ("{prefix(r1,1)}", "{r1}")
    (search,) = current["classes"]
    assert (search["access"], search["entities_read"], search["requests"]) == ("row range", 100, 1)
    # 26 partitions bear today's load and not three times of it, which is assumed: buckets of them may be advised.
    assert table["recommended"]["partition_key"].startswith("{prefix(r1,2)}")


def test_a_range_between_a_text_and_itself_is_an_equality_that_fixes_no_beginning_of_others() -> None:
    bound = Range(Parameter("x"), True, Parameter("x"), True)
    assert beginnings_asked(pl.DataFrame({"x": ["ab", "ac"]}), {"x": bound}) == {}
