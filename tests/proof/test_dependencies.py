"""Properties that are functions of others: found in the data, planned with, proved, and sparing index rows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pkadvisor.design.choice.search import advise
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.design.plan.plan import plan
from pkadvisor.design.rows.dependencies import dependencies, sentences
from pkadvisor.observe.workload import QueryClass
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query
from tests.proof.support import Case, PlainTable, constants, layout, prove

TYPES = {
    "id": EdmType.INT64,
    "code": EdmType.STRING,
    "mail": EdmType.STRING,
    "login": EdmType.STRING,
    "zip": EdmType.STRING,
    "area": EdmType.STRING,
    "at": EdmType.DATETIME,
    "day": EdmType.STRING,
    "note": EdmType.STRING,
}


def rows(count: int = 60) -> list[dict[str, object]]:
    start = datetime(2024, 2, 27, 5, tzinfo=UTC)
    out: list[dict[str, object]] = []
    for n in range(count):
        at = start + timedelta(hours=7 * n)
        mail = f"User_{n % 29}/X@Example.org"
        zip_code = f"{n * 37 % 900 + 100}_{n % 7}" if n % 11 else None
        out.append(
            {
                "id": n * 13,
                "code": f"{n * 13:08d}",
                "mail": mail,
                "login": mail.lower(),
                "zip": zip_code,
                "area": zip_code[:2] if zip_code else None,
                "at": at,
                "day": at.strftime("%Y%m%d"),
                "note": "same",
            }
        )
    return out


def case_of(data: list[dict[str, object]], *classes: QueryClass) -> Case:
    population = population_of({n: [r[n] for r in data] for n in TYPES}, TYPES)
    return Case("rules", bench_of(population, *classes), tuple(constants(r, TYPES) for r in data), (), 1)


def test_rules_are_found_where_every_row_obeys_them() -> None:
    population = case_of(rows()).bench.population
    found = {(d.target, d.source): (str(d.rule), d.both_ways) for d in dependencies(population)}
    assert found == {
        ("code", "id"): ("{pad(id,8)}", True),
        ("login", "mail"): ("{lower(mail)}", False),
        ("area", "zip"): ("{prefix(zip,2)}", False),
        ("day", "at"): ("{time(at,'yyyyMMdd')}", False),
    }
    assert "code is pad(id,8) in all 60 entities looked at: one key serves look-ups by either" in sentences(population)


@pytest.mark.parametrize(
    ("name", "value"), [("code", "00000013x"), ("login", "User_1"), ("area", None), ("day", "2024")]
)
def test_one_row_that_differs_ends_a_rule(name: str, value: object) -> None:
    data = rows()
    data[31] = {**data[31], name: value}
    assert name not in {d.target for d in dependencies(case_of(data).bench.population)}


def test_few_rows_prove_no_rule() -> None:
    assert dependencies(case_of(rows(19)).bench.population) == ()


QUERIES = [
    query("id", "id eq {id}"),
    query("code", "code eq {code}"),
    query("mail", "mail eq {mail}"),
    query("login", "login eq {login}"),
    query("zip", "zip eq {zip}"),
    query("area", "area eq {area}"),
    query("area and day", "area eq {area} and day eq {day}"),
    query("at", "at eq {at}"),
    query("constant id", "id eq 26L"),
    query("constant code", "code eq '00000026'"),
    query("ids", "id eq 13L or id eq {id}"),
]
SCHEMES = [
    ("{code}", ""),
    ("{pad(id,8)}", ""),
    ("{pad(id,9)}", ""),
    ("{hash(code,7)}", "{code}"),
    ("{login}", "{code}"),
    ("{hash(login,5)}_{login}", "{id}"),
    ("{zip}", "{code}"),
    ("p", "{zip}_{code}"),
    ("{area}", "{zip}_{code}"),
    ("{day}", "{ticks(at)}_{id}"),
]


@pytest.mark.parametrize(("partition", "row"), SCHEMES)
def test_plans_through_rules_are_exact(partition: str, row: str) -> None:
    case = case_of(rows(), *QUERIES)
    scheme = KeyScheme(parse_key(partition, row, known=TYPES))
    place = layout(scheme, case.entities, case.types)
    found = list(prove(case, scheme, PlainTable(place.rows), place, instances=9))
    assert [p for p in found if p.wrong] == []
    assert sum(p.entities > 0 for p in found) > len(QUERIES)


@pytest.mark.parametrize(
    ("partition", "row", "name", "access", "text"),
    [
        ("{code}", "", "id", Access.POINT, "PartitionKey eq '{pad(id,8)}' and RowKey eq ''"),
        ("{pad(id,8)}", "", "code", Access.POINT, "PartitionKey eq '{code}' and RowKey eq ''"),
        ("{code}", "", "constant id", Access.POINT, "PartitionKey eq '00000026' and RowKey eq ''"),
        ("{hash(code,7)}", "{code}", "id", Access.POINT,
         "PartitionKey eq '{hash(pad(id,8),7)}' and RowKey eq '{pad(id,8)}'"),
        ("{login}", "{code}", "mail", Access.PARTITION_SCAN, "PartitionKey eq '{lower(mail)}' and mail eq {mail}"),
        ("p", "{zip}_{code}", "area", Access.ROW_RANGE,
         "PartitionKey eq 'p' and RowKey ge '{area}' and RowKey lt '{area}\uffff' and area eq {area}"),
        ("{day}", "{ticks(at)}_{id}", "at", Access.ROW_RANGE,
         "PartitionKey eq '{time(at,'yyyyMMdd')}' and RowKey ge '{ticks(at)}_' and RowKey lt '{ticks(at)}`'"),
    ],
)  # fmt: skip
def test_requests_through_rules(partition: str, row: str, name: str, access: Access, text: str) -> None:
    case = case_of(rows(), *QUERIES)
    (asked, demand) = next((a, d) for a, d in case.classes() if a.name == name)
    (found,) = plan(asked, demand.conditions, KeyScheme(parse_key(partition, row)), TYPES, case.bench.population)
    assert found.access is access
    assert found.filters[0].replace("''", "'") == text.replace("''", "'")


def test_a_rule_spares_an_index_row() -> None:
    asked = (query("by id", "id eq {id}", rate=100), query("by code", "code eq {code}", rate=90))
    assert advise(case_of(rows(), *asked).bench, None).recommended.scheme.index_rows == ()
    broken = rows()
    broken[7] = {**broken[7], "code": "another"}
    assert len(advise(case_of(broken, *asked).bench, None).recommended.scheme.index_rows) == 1
