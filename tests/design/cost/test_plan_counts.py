"""The texts of a plan against its numbers: `$filter` texts select what the costing counts, and the right entities."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.cost.plan_reads import read as _read
from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.keys.scheme import IndexRow, Key, KeyScheme, encode, parse_key
from pkadvisor.design.keys.transforms import (
    Field,
    Hash,
    Literal,
    Pad,
    Part,
    ReversePad,
    ReverseTicks,
    Ticks,
    Time,
)
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.plan.access_plan import Access, AccessPlan
from pkadvisor.design.plan.plan import plan
from pkadvisor.observe.workload import QueryClass
from pkadvisor.table.edm import EdmType
from tests.design.executor import Row, execute, matching
from tests.design.support import bench_of, population_of, python_value, query
from tests.tiers import examples, sizes

TYPES = {"event": EdmType.STRING, "qty": EdmType.INT32, "when": EdmType.DATETIME, "unit": EdmType.INT64}
START = datetime(2024, 2, 28, 20, tzinfo=UTC)

rows_ = st.lists(
    st.fixed_dictionaries(
        {
            "event": st.sampled_from(["a", "b", "a_b", "a`b", "", "é/", "~", "😀", "o'clock", "{x}"]),
            "qty": st.integers(-3, 12),
            "when": st.integers(0, 60).map(lambda h: START + timedelta(hours=h)),
            "unit": st.integers(10, 40),
        }
    ),
    min_size=1,
    max_size=14,
)
PARTS: dict[str, list[Part]] = {
    "event": [Field("event"), Hash("event", 3)],
    "qty": [Pad("qty", 2), Field("qty")],
    "when": [Ticks("when"), ReverseTicks("when"), Time("when", "yyyyMMdd"), Time("when", "yyyyMM"), Field("when")],
    "unit": [Pad("unit", 2), ReversePad("unit", 3), Hash("unit", 3)],
}


@st.composite
def keys(draw: st.DrawFn) -> Key:
    names = draw(st.permutations(sorted(PARTS)))
    cut = draw(st.integers(0, 3))
    stop = draw(st.integers(cut, 4))

    def side(chosen: list[str]) -> tuple[Part, ...]:
        out: list[Part] = [Literal(draw(st.sampled_from(["ROW:", "X"])))] if draw(st.integers(0, 3)) == 0 else []
        between = draw(st.sampled_from(["_", "__", "|", ";"]))
        for index, name in enumerate(chosen):
            if index:
                out.append(Literal(between))
            out.append(draw(st.sampled_from(PARTS[name])))
        return tuple(out)

    row = list(names[cut:stop])
    if cut and draw(st.integers(0, 3)) == 0:
        row.append(names[0])  # a time twice: its day in the PartitionKey, its ticks in the RowKey
    return Key(side(list(names[:cut])), side(row))


EQUAL = {n: f"{n} eq {{{n}}}" for n in PARTS}
RANGES = {
    "event": ["event ge {event}", "event gt {event}", "event le {event}", "event lt {event}"],
    "qty": ["qty ge {qty}", "qty gt {qty}", "qty le {qty}", "qty lt {qty}", "qty ge {qty} and qty lt {qty+4}",
            "qty gt {qty-3} and qty le {qty+2}"],
    "unit": ["unit ge {unit}", "unit le {unit}", "unit gt {unit-9} and unit lt {unit+9}"],
    "when": ["when ge {when}", "when gt {when}", "when le {when}", "when lt {when}",
             "when ge {when} and when lt {when+24h}", "when gt {when-30h} and when le {when+1d}"],
}  # fmt: skip


@st.composite
def filters(draw: st.DrawFn) -> str:
    fixed = draw(st.lists(st.sampled_from(sorted(PARTS)), unique=True, max_size=3))
    terms = [EQUAL[n] for n in fixed]
    ranged = draw(st.sampled_from([None, *(n for n in RANGES if n not in fixed)]))
    if ranged is not None:
        terms.append(draw(st.sampled_from(RANGES[ranged])))
    return " and ".join(terms) or EQUAL["event"]


EXTRA = ["qty ne 3", "event le 'b'", "not (event eq 'a')", "(event eq 'a' or event eq 'b')",
         "(event eq {event} or event eq '😀')",
         "(qty eq 2 or unit eq {unit})", "event eq 'b'", "qty eq 5", "unit eq 20L",
         "(qty eq 1 or qty eq 2 or qty eq 3)",
         "when eq datetime'2024-02-29T00:00:00Z'", "when ge datetime'2024-02-29T00:00:00Z'"]  # fmt: skip


@st.composite
def wild_filters(draw: st.DrawFn) -> str:
    """Up to two ranges, constants, choices and what no key serves."""
    terms = [draw(filters())] if draw(st.booleans()) else []
    terms += [
        draw(st.sampled_from(RANGES[n]))
        for n in draw(st.lists(st.sampled_from(sorted(RANGES)), unique=True, max_size=2))
    ]
    terms += draw(st.lists(st.sampled_from(EXTRA), max_size=2, unique=True))
    return " and ".join(terms) or EXTRA[0]


def _columns(rows: list[Row]) -> dict[str, list[object]]:
    return {n: [row[n] for row in rows] for n in TYPES}


def _check(key: Key, text: str, rows: list[Row]) -> None:
    population = population_of(_columns(rows), TYPES)
    asked: QueryClass = query("q", text)
    bench = bench_of(population, asked)
    (demand,) = bench.demands
    for each in plan(asked, demand.conditions, KeyScheme(key), TYPES, population):
        _check_plan(each, key, asked, rows, bench)


def _check_plan(found: AccessPlan, key: Key, asked: QueryClass, rows: list[Row], bench: Bench) -> None:
    (demand,) = bench.demands
    read = _read(found, demand, KeyScheme(key), bench)
    assert asked.filter is not None
    sent = 0
    for number, instance in enumerate(rows):
        answer = execute(found, key, demand.conditions, instance, rows, TYPES)
        right = matching(asked.filter, instance, rows, TYPES)
        sent += answer.requests
        where = (found.access, found.filters, str(key), instance)
        assert answer.returned == right, where
        assert demand.returned[number] == len(right), where
        scanned = len(answer.scanned)
        if found.access is Access.POINT and not found.unserved:
            scanned = min(scanned, answer.requests)  # a table holds no key twice, generated rows may
        if found.range_atom and found.range_atom[0] == "t":
            # A bound at midnight may miss one period: see test_a_bound_at_the_edge_of_a_period_reads_it.
            assert 1 <= read.per_instance[number] <= max(1, scanned), where
        else:
            assert read.per_instance[number] == max(1, scanned), where
    if not (found.range_atom and found.range_atom[0] == "t"):
        assert read.fan_out == pytest.approx(sent / len(rows)), (found.filters, str(key))


@settings(max_examples=examples(300), suppress_health_check=[HealthCheck.too_slow])
@given(keys(), filters(), rows_)
def test_filter_texts_select_what_is_counted(key: Key, text: str, rows: list[Row]) -> None:
    _check(key, text, rows)


@settings(max_examples=examples(300), suppress_health_check=[HealthCheck.too_slow])
@given(keys(), wild_filters(), rows_)
def test_filter_texts_select_the_entities_that_the_filter_names(key: Key, text: str, rows: list[Row]) -> None:
    asked = query("q", text)
    assert asked.filter is not None
    wanted = conditions(asked.filter)
    assume(not set(wanted.any_of) & {*wanted.ranges, *wanted.equal})  # see test_a_range_beside_a_choice_is_sent
    population = population_of(_columns(rows), TYPES)
    (found,) = plan(asked, wanted, KeyScheme(key), TYPES, population)
    for instance in rows:
        answer = execute(found, key, wanted, instance, rows, TYPES)
        right = matching(asked.filter, instance, rows, TYPES)
        assert sorted(set(answer.returned)) == right, (found.access, found.filters, str(key), instance)


JOINED_ROWS: list[Row] = [
    {
        "event": "ab_x"[n % 4 : n % 4 + 1 + n % 2],
        "qty": n % 5,
        "when": START + timedelta(hours=n % 9),
        "unit": 10 + n % 3,
    }
    for n in range(60)
]


@pytest.mark.parametrize("constant", ["unit eq 11L", "unit eq 39L"])
@pytest.mark.parametrize("row", ["{pad(qty,2)}", "{hash(concat(unit,'_',qty),3)}_{pad(qty,2)}"])
@pytest.mark.parametrize(
    "partition", ["{hash(concat(event,'_',unit),5)}", "{hash(concat(unit,event),5)}_{pad(qty,2)}", "{event}"]
)
def test_a_key_joins_a_parameter_with_a_constant(partition: str, row: str, constant: str) -> None:
    """The bucket follows from both, whatever rows at hand have the one and the other."""
    text = f"event eq {{event}} and {constant} and qty eq {{qty}}"
    _check(parse_key(partition, row, known=TYPES), text, JOINED_ROWS)


JOINED = [
    (text, partition, row)
    for row in ("{pad(qty,2)}", "{hash(concat(unit,'_',event),3)}_{pad(qty,2)}")
    for text in (
        "(event eq {event} or event eq 'b') and (unit eq {unit} or unit eq 11L)",
        "(event eq {event} or event eq 'b') and unit eq {unit}",
        "(event eq {event} or event eq 'b' or event eq 'c') and unit eq 11L",
        "(event eq 'a' or event eq 'c') and unit eq {unit}",
        "(event eq 'a' or event eq 'b') and (unit eq 39L or unit eq 11L)",
    )
    for partition in ("{hash(concat(event,'_',unit),2)}", "{hash(concat(unit,event),16)}_{pad(qty,2)}", "{event}")
]


@pytest.mark.parametrize(("text", "partition", "row"), sizes(JOINED[::5], JOINED, "proofs"))
def test_a_key_joins_values_of_a_choice(text: str, partition: str, row: str) -> None:
    """Each combination of the values has a bucket of its own, and is asked once where two have the same."""
    key = parse_key(partition, row, known=TYPES)
    _check(key, f"{text} and qty eq {{qty}}", JOINED_ROWS)
    _check(key, f"{text} and qty eq {{qty}}", JOINED_ROWS[::-1])


@pytest.mark.parametrize("text", ["event eq 'a' and unit eq 39L", "event eq 'zzz' and unit eq 10L", "event eq 'zzz'"])
@pytest.mark.parametrize(
    "partition", ["{hash(concat(event,'_',unit),2)}", "{hash(event,2)}_{pad(qty,2)}", "{hash(event,3)}"]
)
def test_constants_that_no_row_has_name_a_bucket_of_others(partition: str, text: str) -> None:
    _check(parse_key(partition, "{pad(qty,2)}", known=TYPES), f"{text} and qty eq {{qty}}", JOINED_ROWS)


def test_the_load_of_joined_constants_lies_where_they_lead() -> None:
    partition = "{hash(concat(event,'_',unit),3)}"
    key = parse_key(partition, "{pad(qty,2)}", known=TYPES)
    population = population_of(_columns(JOINED_ROWS), TYPES)
    asked = query("q", "event eq {event} and unit eq 11L", rate=60.0)
    found = estimate(KeyScheme(key), bench_of(population, asked))
    keys = [str(encode(key.partition, {n: python_value(v) for n, v in r.items()}, TYPES)) for r in JOINED_ROWS]
    loads = Counter[str]()
    for each in JOINED_ROWS:
        at = str(encode(key.partition, {n: python_value(v) for n, v in {**each, "unit": 11}.items()}, TYPES))
        loads[at] += keys.count(at)
    assert found.hot is not None and found.hot.row is not None
    ((hottest, most),) = loads.most_common(1)
    assert (keys[found.hot.row], found.hot.entities_per_s) == (hottest, pytest.approx(most))


def test_top_stops_a_scan_only_where_it_is_sent() -> None:
    """Rows of another kind may stand under the same PartitionKey: the client drops them, so it asks for all."""
    types = {"tenant": EdmType.STRING, "n": EdmType.INT32}
    population = population_of({"tenant": ["a", "b"] * 40, "n": list(range(80))}, types)
    newest = query("newest", "tenant eq '{tenant}'", order=["n"], top=5)
    bench = bench_of(population, newest)
    (demand,) = bench.demands
    for label, wanted, sent in (("T:", 40, None), ("N:", 5, 5)):
        rows = (
            IndexRow(parse_key("T:{tenant}", "{pad(n,3)}"), "full"),
            IndexRow(parse_key(f"{label}{{pad(n,3)}}", "{tenant}"), "full"),
        )
        scheme = KeyScheme(parse_key("{tenant}_{pad(n,3)}", ""), rows)
        plans = plan(newest, demand.conditions, scheme, types, population)
        (found,) = (p for p in plans if p.via == 1)
        assert found.order_served and (found.top, found.own_kind) == (sent, sent is None)
        assert set(_read(found, demand, scheme, bench).per_instance.tolist()) == {wanted}


FIRST_PARTS = (
    "{pad(n,3)}",
    "{sortable(n)}",
    "{n}",
    "{ticks(t)}",
    "{reverse_ticks(t)}",
    "{time(t,'yyyyMMdd')}",
    "{hash(tenant,16)}_{tenant}",
    "{hash_prefix(tenant,3)}_{tenant}",
    "{tenant}",
    "{lower(tenant)}",
    "{prefix(tenant,2)}",
    "{reverse(tenant)}",
)


@pytest.mark.parametrize("partition", FIRST_PARTS)
@pytest.mark.parametrize("label", ["BY_TENANT:", "zz:", "N", "0"])
def test_the_label_of_an_index_row_elsewhere_costs_the_main_key_nothing(partition: str, label: str) -> None:
    """Rows of another partition are not mistaken for those asked for, unless a key at hand begins with their label."""
    types = {"tenant": EdmType.STRING, "n": EdmType.INT32, "t": EdmType.DATETIME, "m": EdmType.INT32}
    columns = {
        "tenant": ["acme", "Bolt"] * 40,
        "n": [7, 123] * 40,
        "t": [datetime(2026, 1, 1 + i % 2, tzinfo=UTC) for i in range(80)],
    }
    population = population_of({**columns, "m": list(range(80))}, types)
    key = parse_key(partition, "{pad(m,5)}")
    scheme = KeyScheme(key, (IndexRow(parse_key(f"{label}{{tenant}}", "{pad(m,5)}"), "full"),))
    fixed = sorted({name for part in key.partition for name in part.properties})
    asked = " and ".join(f"{name} eq {{{name}}}" for name in fixed)
    newest = query("newest", asked, order=["m"], top=5)
    (found, *_) = plan(newest, conditions(newest.filter), scheme, types, population)  # type: ignore[arg-type]
    texts = {encode(key.partition, {n: python_value(v[i]) for n, v in columns.items()}, types) for i in range(80)}
    meets = any(text.startswith(label) for text in texts)
    assert found.own_kind == meets
    assert found.top == (None if meets or not found.order_served or found.client else 5)


@pytest.mark.parametrize(
    ("row", "begins", "meets"), [("{pad(n,3)}_{m}", "n eq {n}", False), ("{name}_{m}", "name eq '{name}'", True)]
)
def test_an_index_row_beside_unlabelled_rows_is_apart_from_a_range_that_fixes_what_they_begin_with(
    row: str, begins: str, meets: bool
) -> None:
    """A range of numbers holds no key that begins with a letter; one of texts may."""
    types = {"tenant": EdmType.STRING, "n": EdmType.INT32, "m": EdmType.INT32, "name": EdmType.STRING}
    scheme = KeyScheme(parse_key("{tenant}", row), (IndexRow(parse_key("{tenant}", "M:{pad(m,5)}"), "full"),))
    asked = query(
        "some", "tenant eq '{tenant}' and n eq {n}" if "n," in row else "tenant eq '{tenant}' and name eq '{name}'"
    )
    (found, *_) = plan(asked, conditions(asked.filter), scheme, types)
    assert found.own_kind == meets


@pytest.mark.parametrize(("file_no", "meets"), [("2026-1", False), ("PARTY:x", True), ("PARTY:", True)])
def test_unlabelled_rows_are_apart_from_a_labelled_index_row_unless_one_at_hand_begins_with_the_label(
    file_no: str, meets: bool
) -> None:
    types = {"court": EdmType.STRING, "file_no": EdmType.STRING, "party": EdmType.STRING}
    columns = {"court": ["a"] * 4, "file_no": [file_no, "1", "2", "3"], "party": ["Morel", "Mosley", "Moran", "Ueda"]}
    rows = (IndexRow(parse_key("{court}", "PARTY:{party}_{file_no}"), "full"),)
    scheme = KeyScheme(parse_key("{court}", "{file_no}"), rows)
    asked = query("by-party", "court eq '{court}' and party ge 'Mor' and party lt 'Mos'", order=["party"], top=2)
    plans = plan(asked, conditions(asked.filter), scheme, types, population_of(columns, types))
    (found,) = (p for p in plans if p.via == 1)
    assert (found.own_kind, found.top) == (meets, None if meets else 2)


@pytest.mark.parametrize(("label", "apart"), [("T:", False), ("N:", True)])
def test_without_data_two_rows_of_one_label_are_not_told_apart(label: str, apart: bool) -> None:
    types = {"tenant": EdmType.STRING, "n": EdmType.INT32}
    rows = (
        IndexRow(parse_key("T:{tenant}", "{pad(n,3)}"), "full"),
        IndexRow(parse_key(f"{label}{{tenant}}_{{pad(n,3)}}", "{tenant}"), "full"),
    )
    newest = query("newest", "tenant eq '{tenant}'", order=["n"], top=5)
    assert newest.filter is not None
    plans = plan(newest, conditions(newest.filter), KeyScheme(parse_key("{pad(n,3)}", ""), rows), types)
    (found,) = (p for p in plans if p.via == 1)
    assert (found.own_kind, found.top) == ((False, 5) if apart else (True, None))


def test_the_first_of_a_long_partition_are_one_page() -> None:
    """A partition of more rows, and of more bytes, than a page holds, of which a query wants 20: it is one request."""
    rows = {"event": ["a"] * 1_500, "qty": [0] * 1_500, "unit": [10] * 1_500}
    rows["when"] = [START + timedelta(seconds=n) for n in range(1_500)]  # type: ignore[assignment]
    bench = bench_of(population_of(rows, TYPES), query("newest", "event eq '{event}'", order=("-when",), top=20))
    scheme = KeyScheme(parse_key("{event}", "{reverse_ticks(when)}"))
    (newest,) = estimate(scheme, replace(bench, property_bytes=10_000.0)).classes
    assert (newest.requests, newest.entities_read, newest.continuations) == pytest.approx((1, 20, 0))
