"""Facts of keys against the keys themselves: what is said of length, order, ends and number holds for every entity."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pkadvisor.design.keys.scheme import encode
from pkadvisor.limits import default_limits
from pkadvisor.review.facts import FactBook
from pkadvisor.review.views.subjects import Scope, Subject, subjects_of_design
from pkadvisor.review.views.views import DesignView
from pkadvisor.table.edm import EdmType
from pkadvisor.usecases.review.opening import open_design
from tests.review.support import NAME, findings
from tests.tiers import examples

TYPES = {
    "name": EdmType.STRING,
    "city": EdmType.STRING,
    "count": EdmType.INT32,
    "total": EdmType.INT64,
    "flag": EdmType.BOOLEAN,
    "who": EdmType.GUID,
    "ts": EdmType.DATETIME,
}
HOLES = (
    "{name}", "{city}", "{count}", "{total}", "{flag}", "{who}", "{ts}", "{pad(count,10)}", "{pad(total,19)}",
    "{time(ts,'yyyyMMddHH')}", "{reverse_ticks(ts)}", "{hash(name,16)}", "{hash_prefix(city,8)}",
)  # fmt: skip
INJECTIVE = tuple(h for h in HOLES if "hash" not in h and "time(" not in h)

texts = st.text(st.sampled_from("ab1_-~/é"), max_size=6)
entities = st.fixed_dictionaries(
    {
        "name": texts,
        "city": texts,
        "count": st.integers(0, 2_000_000_000),
        "total": st.integers(0, 10**18),
        "flag": st.booleans(),
        "who": st.uuids().map(str),
        "ts": st.integers(630_000_000_000_000_000, 640_000_000_000_000_000),
    }
)
templates = st.lists(st.sampled_from([*HOLES, "_", "-"]), min_size=1, max_size=6).map("".join)


def _design(row_key: str, *, partition_key: str = "p", more: str = "") -> str:
    properties = ", ".join(f"{name}: {edm.value.lower()}" for name, edm in TYPES.items())
    return (
        f'schema: 1\ntables:\n  Things:\n    partition_key: "{partition_key}"\n    row_key: "{row_key}"\n'
        f"    properties: {{{properties}}}\n{more}"
    )


def _opened(text: str, data: Path | None = None) -> DesignView:
    return open_design(NAME, text, default_limits(), data=[str(data)] if data else [])


def _subject(view: DesignView, scope: Scope, ends: str) -> Subject:
    return next(s for s in subjects_of_design(view) if s.scope is scope and s.logical.endswith(ends))


def _fact(view: DesignView, name: str, ends: str = ".row_key") -> Any:
    found = FactBook(view.limits).known(name, _subject(view, Scope(name.split(".")[0]), ends))
    return None if found is None else found.value


@given(templates, entities, entities)
@settings(max_examples=examples(120), deadline=None)
def test_keys_whose_parts_can_be_told_apart_differ_where_entities_do(
    row_key: str, one: Mapping[str, Any], other: Mapping[str, Any]
) -> None:
    assume(not any(hole in row_key for hole in HOLES if hole not in INJECTIVE))
    view = _opened(_design(row_key))
    scheme = view.tables[0].scheme
    assert scheme is not None
    assume(any(one[p] != other[p] for p in scheme.main.properties))
    if _fact(view, "key.touching") == "" and not _fact(view, "key.tilde_between"):
        assert encode(scheme.main.row, dict(one), TYPES) != encode(scheme.main.row, dict(other), TYPES)


@pytest.mark.parametrize(
    ("row_key", "touching"),
    [
        ("{name}{count}", "{name} and {count}"),
        ("{name}{who}{count}", "{name} and {count}"),
        ("{who}{name}{pad(count,10)}", ""),
        ("{name}_{count}", ""),
        ("{reverse(name)}{city}", "{reverse(name)} and {city}"),
        ("{other}{name}", None),
        ("{other}", ""),
        ("{year}{count}", ""),
    ],
)
def test_only_two_parts_of_varying_width_can_be_mixed_up(row_key: str, touching: str | None) -> None:
    assert _fact(_opened(_design(row_key)), "key.touching") == touching


@given(templates, entities)
@settings(max_examples=examples(80), deadline=None)
def test_without_data_a_key_is_said_to_be_no_longer_than_it_is(row_key: str, entity: Mapping[str, Any]) -> None:
    view = _opened(_design(row_key))
    scheme = view.tables[0].scheme
    assert scheme is not None
    key = encode(scheme.main.row, dict(entity), TYPES)
    said = _fact(view, "key.units")
    assert said <= len(key.encode("utf-16-le")) // 2


PIECES = ("{a}", "{lower(b)}", "{pad(n,4)}", "{hash(a,16)}", "{prefix(b,3)}", "_", "x")
rows_of_texts = st.tuples(
    st.text(st.characters(codec="utf-8", exclude_characters="\x00\r\n"), min_size=1, max_size=9),
    st.text(st.sampled_from("aB/_~𝄞"), min_size=1, max_size=5),
    st.integers(0, 9999),
)


@given(st.lists(st.sampled_from(PIECES), min_size=1), st.lists(rows_of_texts, min_size=1, max_size=6))
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_with_data_no_key_is_longer_than_the_longest(
    tmp_path: Path, pieces: list[str], rows: list[tuple[str, str, int]]
) -> None:
    row_key = "".join(pieces)
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerows([("a", "b", "n"), *rows])
    path = tmp_path / "data.csv"
    path.write_text(out.getvalue(), encoding="utf-8", newline="")
    text = (
        f'schema: 1\ntables:\n  Things:\n    partition_key: "p"\n    row_key: "{row_key}"\n'
        "    properties: {a: string, b: string, n: int32}\n"
    )
    view = _opened(text, path)
    scheme = view.tables[0].scheme
    assert scheme is not None
    population = view.tables[0].population
    assert population is not None
    assert population.rows == len(rows)
    types = population.types
    said = _fact(view, "key.units")
    for values in population.frame.head(population.rows).iter_rows(named=True):
        if any(values[p] is None for p in scheme.main.properties):
            continue
        key = encode(scheme.main.row, values, types)
        assert len(key.encode("utf-16-le", "surrogatepass")) // 2 <= said


@given(st.lists(st.sampled_from(["{flag}", "{hash(name,4)}", "{hash_prefix(city,1)}", "_"]), min_size=1, max_size=4),
       st.lists(entities, min_size=1, max_size=40))  # fmt: skip
@settings(max_examples=examples(60), deadline=None)
def test_there_are_no_more_keys_than_are_possible(pieces: list[str], rows: list[Mapping[str, Any]]) -> None:
    view = _opened(_design("".join(pieces)))
    scheme = view.tables[0].scheme
    assert scheme is not None
    keys = {encode(scheme.main.row, dict(row), TYPES) for row in rows}
    assert len(keys) <= _fact(view, "key.keys_possible")


def test_a_text_or_a_number_makes_any_number_of_keys() -> None:
    assert _fact(_opened(_design("{flag}_{name}")), "key.keys_possible") is None
    assert _fact(_opened(_design("x", partition_key="{hash(name,16)}")), "key.keys_possible") == 16


@given(st.lists(st.sampled_from([*HOLES, "_"]), min_size=1, max_size=4), entities, entities)
@settings(max_examples=examples(80), deadline=None)
def test_where_a_property_leads_its_values_share_no_partition(
    pieces: list[str], one: Mapping[str, Any], other: Mapping[str, Any]
) -> None:
    assume(one["who"] != other["who"])
    view = _opened(_design("x", partition_key="".join(pieces), more="    isolation: who\n"))
    scheme = view.tables[0].scheme
    assert scheme is not None
    leads = _fact(view, "key.isolation_leads", ".partition_key")
    assert leads is (next((p for p in pieces if p != "_"), "") == "{who}")
    if leads:
        keys = [encode(scheme.main.partition, dict(e), TYPES) for e in (one, other)]
        assert keys[0] != keys[1]
    assert _fact(view, "key.isolation_leads") is None


@given(
    entities, entities, st.sampled_from(["yyyyMMdd", "ddMMyyyy", "MM-dd-yyyy", "yyyy-MM-ddTHH", "yyyyddMM", "YYYY-Www"])
)
@settings(max_examples=examples(80), deadline=None)
def test_a_time_that_is_said_to_sort_sorts(one: Mapping[str, Any], other: Mapping[str, Any], form: str) -> None:
    row_key = f"{{time(ts,'{form}')}}"
    view = _opened(_design(row_key))
    scheme = view.tables[0].scheme
    assert scheme is not None
    first, second = sorted((one, other), key=lambda e: e["ts"])
    in_order = encode(scheme.main.row, dict(first), TYPES) <= encode(scheme.main.row, dict(second), TYPES)
    assert in_order or _fact(view, "part.time_unsorted", f".row_key.{row_key}")


def test_the_padded_form_of_a_part_is_one_that_no_finding_is_about(tmp_path: Path) -> None:
    for hole in ("{count}", "{total}", "{time(ts,'ddMMyyyy')}"):
        asked = "{count}" if hole == "{count}" else "{total}" if hole == "{total}" else "datetime'{ts}'"
        name = asked.strip("{}'").removeprefix("datetime'{")
        more = f'    queries:\n      - {{name: q, filter: "{name} gt {asked}", rate: 1/s}}\n'
        text = _design(hole, more=more)
        padded = _fact(_opened(text), "part.padded", f".row_key.{hole}")
        assert [f.rule for f in findings(text, tmp_path) if f.rule == "PK303"]
        assert not [f for f in findings(text.replace(f'"{hole}"', f'"{padded}"'), tmp_path) if f.rule == "PK303"]


# --- rates and logs ---------------------------------------------------------------------------------------------------

_LOGGED = """\
schema: 1
tables:
  Log:
    partition_key: "log"
    row_key: "{time(ts,'yyyyMMddHHmmss')}"
    properties: {ts: datetime}
    writes:
      - {name: add, operation: insert, rate: 6/min}
"""


def test_a_log_of_minutes_tells_nothing_of_a_day() -> None:
    from dataclasses import replace

    from pkadvisor.observe.minutes import MinuteSeries

    declared = _fact(_opened(_LOGGED), "key.collisions_per_day")
    for minutes, tells in (((100, 110), False), ((100, 100 + 1439), True), ((100, 100 + 1438), False)):
        view = _opened(_LOGGED)
        table = view.tables[0]
        series = {"add": MinuteSeries(minutes, (6, 6))}
        table.__dict__["workload"] = replace(table.workload, minutes=series)
        assert _fact(view, "key.collisions_per_day") == (declared if tells else None)


def test_regular_arrivals_are_not_taken_for_random_ones(tmp_path: Path) -> None:
    """A device that reports each minute never collides with itself; what comes at random in the same rows would."""
    design = """
schema: 1
tables:
  Readings:
    partition_key: "{device}"
    row_key: "{time(ts,'yyyyMMddHHmm')}"
    arrival: ts
    writes:
      - {name: report, operation: insert, rate: 4/min}
"""
    regular = "device,ts\n" + "".join(
        f"{device},2026-01-01T{minute // 60:02d}:{minute % 60:02d}:00Z\n" for minute in range(60) for device in "abcd"
    )
    doubled = regular + "a,2026-01-01T00:30:30Z\n"
    assert not [f for f in findings(design, tmp_path, data=regular) if f.rule in ("PK307", "PK308")]
    found = {f.rule: f for f in findings(design, tmp_path, data=doubled)}
    assert found["PK307"].measured == 1
    assert "a | 202601010030" in found["PK307"].message
    assert found["PK308"].measured is not None
    assert 1000 < found["PK308"].measured < 4 * 1440


# --- what is declared sensitive ---------------------------------------------------------------------------------------


def test_sensitive_is_personal_secret_or_true() -> None:
    text = (
        "schema: 1\ntables:\n  Users:\n    properties:\n      a: {type: string, sensitive: true}\n"
        "      b: {type: string, sensitive: secret}\n      c: {type: string, sensitive: false}\n      d: string\n"
    )
    assert _opened(text).declaration.tables[0].sensitive == (("a", "personal"), ("b", "secret"))


def test_another_word_for_sensitive_is_refused_with_its_place() -> None:
    from pkadvisor.errors import UsageError

    text = "schema: 1\ntables:\n  Users:\n    properties:\n      a: {type: string, sensitive: very}\n"
    with pytest.raises(UsageError) as caught:
        _opened(text)
    assert caught.value.where.startswith(f"{NAME}:5:")
    assert "personal, secret or true" in caught.value.fix


def test_a_review_without_data_loads_no_data_frames(tmp_path: Path) -> None:
    import subprocess
    import sys

    path = tmp_path / "d.yaml"
    path.write_text(_design("{name}{count}_{time(ts,'ddMMyyyy')}_{hash(city,16)}", more="    erase_by: who\n"))
    code = (
        "import sys; from pkadvisor.review.rules.evaluate import evaluate;"
        "from pkadvisor.usecases.review.opening import open_design;"
        "from pkadvisor.review.rules.rule import load_rules;"
        "from pkadvisor.limits import default_limits;"
        f"view = open_design('d.yaml', open({str(path)!r}).read(), default_limits());"
        "made = evaluate(load_rules(), view);"
        "assert {'PK303', 'PK304', 'PK705'} <= {f.rule for e in made for f in e.findings};"
        "print(sorted({'polars', 'numpy', 'scipy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
