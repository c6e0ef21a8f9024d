"""Plans of hand-made schemes over hostile data: every transform, every kind of row, every shape of filter."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache

import pytest

from pkadvisor.design.keys import key_terms
from pkadvisor.design.keys.scheme import IndexRow, KeyScheme, multi_valued, parse_key
from pkadvisor.design.keys.transforms import Pad, texts
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.design.plan.plan import plan
from pkadvisor.design.plan.requests import client_work
from pkadvisor.observe.workload import QueryClass
from pkadvisor.table.edm import EdmType
from pkadvisor.table.odata import bind
from tests.design.support import bench_of, population_of, query
from tests.proof.support import Case, PlainTable, answer, constants, difference, expected, layout, prove
from tests.tiers import sizes

TYPES = {
    "event": EdmType.STRING,
    "bib": EdmType.INT32,
    "age": EdmType.INT32,
    "score": EdmType.DOUBLE,
    "at": EdmType.DATETIME,
    "name": EdmType.STRING,
    "code": EdmType.STRING,
    "id": EdmType.GUID,
    "tags": EdmType.STRING,
}
EVENTS = ("a", "a_b", "A", "o'clock", "", "x/y", "é😀", "a\uffffb")
NAMES = ("ab", "ab!", "abc", "AB", "b_c", "~", "z\U0010ffff", "ab_", "ab`x", None)


def rows(count: int = 96) -> list[dict[str, object]]:
    start = datetime(2023, 12, 30, 22, tzinfo=UTC)
    return [
        {
            "event": EVENTS[n * 5 % len(EVENTS)],
            "bib": n,
            "age": None if n % 17 == 0 else n * 7 % 31 - 9,
            "score": n % 13 * 0.37 - 1.5,
            "at": start + timedelta(hours=n * 5 % 97),
            "name": NAMES[n * 3 % len(NAMES)],
            "code": f"{n:05d}"[:3] + ("X" if n % 2 else "x"),
            "id": f"00000000-0000-4000-8000-{n * 7919 % 1000:012d}",
            "tags": ('["red","a_b"]', '["blue"]', "[]", '["red", "/"]', None)[n % 5],
        }
        for n in range(count)
    ]


SCHEMES = [
    ("{event}", "{pad(bib,5)}"),
    ("", "{pad(bib,5)}"),
    ("all", "{event}_{pad(bib,5)}"),
    ("{event}_{name}", "{pad(bib,5)}"),
    ("{event}", "{name}_{pad(bib,3)}"),
    ("{event}", "{name}{pad(bib,3)}"),
    ("{event}", "{pad(age,2)}_{pad(bib,3)}"),
    ("{event}", "{reverse_pad(bib,3)}"),
    ("{event}", "{sortable(age)}_{pad(bib,3)}"),
    ("{event}", "{sortable(score)}_{bib}"),
    ("{event}", "{ticks(at)}_{pad(bib,3)}"),
    ("{event}", "{reverse_ticks(at)}-{bib}"),
    ("{event}_{time(at,'yyyyMMdd')}", "{ticks(at)}_{bib}"),
    ("{time(at,'yyyyMM')}", "{reverse_ticks(at)}_{bib}"),
    ("{event}_{time(at,'YYYY-Www')}_w", "{bib}"),
    ("{event}_{hash(bib,4)}", "{pad(bib,3)}"),
    ("{hash(event,4)}", "{event}_{pad(bib,3)}"),
    ("{hash_prefix(bib,1)}_{event}", "{ticks(at)}_{bib}"),
    ("{hash(concat(event,'_',name),3)}", "{bib}"),
    ("{hash(lower(event),3)}_{event}", "{bib}"),
    ("{lower(event)}", "{event}|{bib}"),
    ("{prefix(name,2)}", "{name}_{bib}"),
    ("{reverse(bib)}", ""),
    ("{event}", "{hash(name,3)}_{id}"),
    ("{id}", ""),
    ("{code}", "{reverse(name)};{bib}"),
]
QUERIES = [
    query("everything", None),
    query("event", "event eq {event}"),
    query("event first by bib", "event eq {event}", order=("bib",), top=3),
    query("event last by bib", "event eq {event}", order=("-bib",), top=3),
    query("event newest", "event eq {event}", order=("-at",), top=4),
    query("newest of all", None, order=("-at", "bib"), top=3),
    query("event newest with a filter", "event eq {event} and age gt 3", order=("-at",), top=2),
    query("event newest before", "event eq {event} and at lt {at}", order=("-at",), top=2),
    query("event by age, bib", "event eq {event}", order=("age", "bib"), top=5),
    query("event by name", "event eq {event}", order=("name",), top=5),
    query("event by score", "event eq {event}", order=("score",)),
    query("point", "event eq {event} and bib eq {bib}"),
    query("bib", "bib eq {bib}"),
    query("id", "id eq {id}"),
    query("name", "name eq {name}"),
    query("event and name", "event eq {event} and name eq {name} and bib ge {bib}"),
    query("age range", "event eq {event} and age ge {age} and age lt {age+5}"),
    query("age beyond the padding", "event eq {event} and age lt {age+500}"),
    query("age below the padding", "event eq {event} and age gt {age-500}"),
    query("bib range", "event eq {event} and bib gt {bib-9} and bib le {bib+9}", order=("-bib",)),
    query("scores", "event eq {event} and score gt {score} and score le {score+1.0}"),
    query("time range", "event eq {event} and at ge {at-24h} and at lt {at+24h}", order=("at",), top=4),
    query("time range of all", "at gt {at-24h} and at le {at+24h}"),
    query("time from", "event eq {event} and at ge {at}"),
    query("name range", "event eq {event} and name ge {name}"),
    query("choice of bibs", "event eq {event} and (bib eq {bib} or bib eq 3 or bib eq 3 or bib eq 50)"),
    query("choice of events", "(event eq {event} or event eq 'a') and bib eq {bib}"),
    query("same choice", "event eq 'a' or event eq 'a'"),
    query("constant", "event eq 'a_b' and age ge 3"),
    query("not", "event eq {event} and not (age eq {age}) and bib ne {bib}"),
    query("or over two", "event eq {event} or bib eq {bib}"),
    query("fifteen, one or", "event eq {event} and (" + " or ".join(f"age eq {n}" for n in range(-3, 11)) + ")"),
    query("fifteen", " and ".join(f"bib ne {n}" for n in range(14)) + " and event eq {event}"),
]


@cache
def of_all_queries() -> Case:
    """What is right for each query does not depend on the scheme: it is found once."""
    return case_of((), *(q for q in QUERIES if q.filter is not None))


def case_of(schemes: tuple[KeyScheme, ...], *classes: QueryClass, count: int = 96) -> Case:
    data = rows(count)
    population = population_of({n: [r[n] for r in data] for n in TYPES}, TYPES)
    bench = bench_of(population, *classes)
    return Case("by hand", bench, tuple(constants(r, TYPES) for r in data), schemes, 1)


def wrongs(scheme: KeyScheme, *classes: QueryClass) -> list[str]:
    """What is wrong with the answers under one scheme: to all queries, or to some of them, found anew."""
    case = case_of((scheme,), *(c for c in classes if c.filter is not None)) if classes else of_all_queries()
    place = layout(scheme, case.entities, case.types)
    found = list(prove(case, scheme, PlainTable(place.rows), place, instances=6))
    assert len(found) >= len(list(case.classes()))
    return [f"{p.query} via {p.via} under {p.scheme}: {p.wrong}" for p in found if p.wrong]


@pytest.mark.parametrize(("partition", "row"), sizes(SCHEMES[::2], SCHEMES, "proofs"))
def test_main_keys(partition: str, row: str) -> None:
    assert wrongs(KeyScheme(parse_key(partition, row, known=TYPES))) == []


INDEXED = [
    (("{event}", "BIB:{pad(bib,3)}"), [("{event}", "AGE:{pad(age,2)}_{pad(bib,3)}", "full")]),
    (("{event}", "{pad(bib,3)}"), [("{event}", "AGE:{pad(age,2)}_{pad(bib,3)}", "full")]),
    (("{event}", "{pad(bib,3)}"), [("{name}", "{ticks(at)}_{bib}", "full")]),
    (("{event}", "{pad(bib,3)}"), [("NAME:{name}", "{pad(bib,3)}", "pointer")]),
    (("{event}_{hash(bib,3)}", "{pad(bib,3)}"), [("ID:{id}", "", "pointer"), ("AGE:{pad(age,2)}", "{bib}", "full")]),
    (("E:{event}", "{pad(bib,3)}"), [("N:{name}", "{reverse_ticks(at)}_{bib}", "full")]),
]


@pytest.mark.parametrize(("main", "index"), INDEXED)
def test_index_rows(main: tuple[str, str], index: list[tuple[str, str, str]]) -> None:
    found = tuple(IndexRow(parse_key(pk, rk, known=TYPES), copy) for pk, rk, copy in index)
    assert wrongs(KeyScheme(parse_key(*main, known=TYPES), found)) == []


TAGGED = [
    ("tags eq 'red'", "TAG:{each(tags)}", "{pad(bib,3)}", Access.PARTITION_SCAN),
    ("tags eq 'a_b' and event eq {event}", "TAG:{each(tags)}_{event}", "{pad(bib,3)}", Access.PARTITION_SCAN),
    ("tags eq '/' and bib ge {bib}", "T", "{each(tags)}_{pad(bib,3)}", Access.ROW_RANGE),
    ("tags eq 'blue' and not (tags eq 'red')", "TAG:{each(tags)}", "{pad(bib,3)}", Access.PARTITION_SCAN),
    ("tags eq 'red' and tags eq '/'", "TAG:{each(tags)}", "{pad(bib,3)}", Access.PARTITION_SCAN),
    ("event eq {event} and bib eq {bib} and (tags eq 'red' or tags eq 'blue')", "T", "{each(tags)}_{pad(bib,3)}",
     Access.POINT),
]  # fmt: skip


@pytest.mark.parametrize("copy", ["full", "pointer"])
@pytest.mark.parametrize(("text", "partition", "row", "access"), TAGGED)
def test_a_row_for_each_value(text: str, partition: str, row: str, access: Access, copy: str) -> None:
    index = IndexRow(parse_key(partition, row, known=TYPES), copy)
    scheme = KeyScheme(parse_key("E:{event}", "{pad(bib,3)}"), (index,))
    case = case_of((scheme,), query("q", text))
    place = layout(scheme, case.entities, case.types)
    (asked, demand), multi = next(case.classes()), multi_valued(scheme)
    table, found = PlainTable(place.rows), 0
    for made in plan(asked, demand.conditions, scheme, case.types, case.bench.population):
        for values in case.instances(demand, 9):
            assert asked.filter is not None
            wanted = expected(bind(asked.filter, values), case.entities, multi)
            got = answer(made, asked, demand, place, table, values, case.entities, case.types, (None, None))
            assert difference(got, wanted, (), None, case.entities) == ""
            found += len(got)
    assert made.access is access
    assert found


# -- planted mistakes: each of them must be seen ---------------------------------------------------------------------


def _plant_no_escape(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts.Field, "escapes", lambda self, context: False)


def _plant_no_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pad, "text_of", lambda self, value, context: str(value))


def _plant_low_successor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_terms.KeyText, "successor", lambda self: self.plus("0"))


def _plant_high_successor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_terms, "above", lambda character: chr(ord(character) + 2))


@pytest.mark.parametrize(
    ("plant", "scheme", "text"),
    [
        (_plant_no_escape, ("{event}_{name}", "{pad(bib,3)}"), "event eq {event}"),
        (_plant_no_padding, ("{event}", "{pad(bib,3)}"), "event eq {event} and bib ge {bib}"),
        (_plant_low_successor, ("{event}", "{pad(age,2)}_{pad(bib,3)}"), "event eq {event} and age eq {age}"),
        (_plant_high_successor, ("{event}", "{name}_{pad(bib,3)}"), "name eq {name} and event eq {event}"),
    ],
)
def test_a_planted_mistake_is_caught(
    plant: Callable[[pytest.MonkeyPatch], None], scheme: tuple[str, str], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = KeyScheme(parse_key(*scheme, known=TYPES))
    assert wrongs(key, query("q", text)) == []
    plant(monkeypatch)
    assert wrongs(key, query("q", text)) != []


@pytest.mark.parametrize("text", ["name gt {name}", "name lt 'é'", "event eq {event} and name ge {name}"])
def test_a_range_of_texts_leaves_out_entities_without_one(text: str) -> None:
    for partition, row in (("{name}_{event}", "{bib}"), ("all", "{name}|{bib}")):
        rows_with_plain_names = [{**r, "name": (None, "a", "b", "ö")[n % 4]} for n, r in enumerate(rows())]
        population = population_of({n: [r[n] for r in rows_with_plain_names] for n in TYPES}, TYPES)
        assert population.keeps_order("name", "_")
        scheme = KeyScheme(parse_key(partition, row, known=TYPES))
        entities = tuple(constants(r, TYPES) for r in rows_with_plain_names)
        case = Case("missing", bench_of(population, query("q", text)), entities, (scheme,), 1)
        place = layout(scheme, case.entities, case.types)
        found = list(prove(case, scheme, PlainTable(place.rows), place, instances=6))
        assert [p for p in found if p.wrong] == []
        assert any(p.entities for p in found)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("{pad(age,2)}_{bib}", "with ':' in place of a bound on age of more than 2 digits, with '-' of one below -100"),
        ("{reverse_pad(bib,3)}", "with '-' in place of a bound on bib of more than 3 digits, with ':' of one below 0"),
    ],
)  # fmt: skip
def test_the_client_is_told_how_a_bound_beyond_the_padding_ends(row: str, says: str) -> None:
    name = "age" if "age" in row else "bib"
    asked = query("q", f"event eq {{event}} and {name} lt {{{name}+500}}")
    (case, scheme) = (case_of((), asked), KeyScheme(parse_key("{event}", row)))
    (found,) = plan(asked, case.bench.demands[0].conditions, scheme, TYPES, case.bench.population)
    assert client_work(found, None) == [f"end the key {says}"]
    plain = query("q", f"event eq {{event}} and {name} lt {{{name}}}")
    (found,) = plan(plain, case_of((), plain).bench.demands[0].conditions, scheme, TYPES, case.bench.population)
    assert client_work(found, None) == []
