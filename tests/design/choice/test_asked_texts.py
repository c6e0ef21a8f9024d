"""Texts that a query may mean otherwise: one of several values, another case."""

from __future__ import annotations

import json

import pytest

from pkadvisor.design.choice.asked_texts import each_cost, each_row, several_values, spellings, text_notes
from pkadvisor.design.choice.candidates import main_keys
from pkadvisor.design.choice.key_building import KeyGround
from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.load.estimates import Bench
from pkadvisor.observe.workload import Operation, QueryClass
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query

TYPES = dict.fromkeys(("shop", "sku", "tags", "plain", "name"), EdmType.STRING)
TAGS = [["red"], ["red", "big"], ["big", "old", "red"], ["old"], [], ["big", "red"]]
"""Of six articles in turn: four are red, three big, two old."""
ARTICLES = 60


def bench(*classes: QueryClass, delimiter: str = "") -> Bench:
    tags = [delimiter.join(TAGS[n % 6]) if delimiter else json.dumps(TAGS[n % 6]) for n in range(ARTICLES)]
    names = [("Bob" if n % 2 else "bob") + str(n // 2) for n in range(ARTICLES)]
    columns: dict[str, list[object]] = {
        "shop": [f"s{n % 2}" for n in range(ARTICLES)],
        "sku": [f"k{n:03}" for n in range(ARTICLES)],
        "tags": list(tags),
        "plain": [f"[{n % 4}" for n in range(ARTICLES)],
        "name": list(names),
    }
    return bench_of(population_of(columns, TYPES), *classes)


def notes(found: Bench) -> list[str]:
    return text_notes(estimate(KeyScheme(parse_key("{shop}", "{sku}")), found), KeyGround(found))


@pytest.mark.parametrize(
    ("text", "delimiter", "by_value", "part"),
    [
        ("tags eq '{tags}'", "", True, "{each(tags)}"),
        ('tags eq \'["red", "big"]\'', "", False, "{each(tags)}"),
        ("tags eq 'red'", "", True, "{each(tags)}"),
        ("tags eq 'red' or tags eq 'big'", "", True, "{each(tags)}"),
        ("tags eq 'red'", ";", True, "{each(tags,';')}"),
        ("tags eq 'red'", ", ", True, "{each(tags,',')}"),
    ],
)
def test_a_property_with_several_values_is_found(text: str, delimiter: str, by_value: bool, part: str) -> None:
    found = bench(query("by-tag", text), delimiter=delimiter)
    several = several_values(found.demands[0], "tags", found.population)
    assert several is not None
    assert (several.by_value, str(several.part)) == (by_value, part)


@pytest.mark.parametrize(
    ("text", "name", "delimiter"),
    [
        ("plain eq '{plain}'", "plain", ""),
        ("sku eq '{sku}'", "sku", ""),
        ("tags eq '{tags}'", "tags", ";"),  # text with semicolons may be one value
        ("tags eq 'green'", "tags", ";"),
    ],
)
def test_other_texts_are_one_value(text: str, name: str, delimiter: str) -> None:
    found = bench(query("by", text), delimiter=delimiter)
    assert several_values(found.demands[0], name, found.population) is None


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("tags eq 'red'", 40),
        ("shop eq '{shop}' and tags eq 'old'", 10),  # places 2 and 3 of six: one in either shop
        ("tags eq 'red' or tags eq 'big'", 70),
        # A request for an article means one of its tags: 40, (40+30)/2, (30+20+40)/3, 20, none, (30+40)/2.
        ("tags eq '{tags}'", (40 + 35 + 30 + 20 + 0 + 35) / 6),
    ],
)
def test_rows_for_each_value_are_weighed(text: str, read: float) -> None:
    found = bench(query("by-tag", text))
    several = several_values(found.demands[0], "tags", found.population)
    assert several is not None
    cost = each_cost(found.demands[0], several, found)
    assert cost.rows == pytest.approx(9 / 6)
    assert cost.read == pytest.approx(read)
    assert cost.requests == pytest.approx(5 / 6 if "{tags}" in text else 2 if " or " in text else 1)


def test_rows_for_each_value_begin_with_what_the_query_fixes() -> None:
    found = bench(query("by-tag", "shop eq '{shop}' and tags eq 'old'"))
    several = several_values(found.demands[0], "tags", found.population)
    assert several is not None
    row = each_row(found.demands[0], several, KeyScheme(parse_key("{shop}", "{sku}")), KeyGround(found))
    assert str(row) == "TAGS:{shop}_{each(tags)} | {sku}"


def test_what_is_compared_as_a_whole_is_said() -> None:
    add = query("add", None, operation=Operation.INSERT, rate=4.0)
    (note,) = notes(bench(query("by-tag", 'tags eq \'["red", "big"]\'', rate=2.0), add))
    assert "by-tag compares the whole text: an index row TAGS:{each(tags)} | {shop}_{sku}" in note
    # 1.5 rows for each of 4 inserts; a look-up, now of 2 requests, is one.
    assert f"+{4 * 1.5 + 2 * (1 - 2):.3g} requests/s in all" in note
    (alone,) = notes(bench(query("red", "shop eq '{shop}' and tags eq 'red'")))
    assert alone.endswith("as many requests/s in all")
    assert not notes(bench(query("by-sku", "sku eq '{sku}'"), add))


def test_spellings_that_differ_in_case_are_found() -> None:
    found = bench(query("by-name", "name eq '{name}'"), query("loud", "name eq 'BOB3'"), query("by", "sku eq '{sku}'"))
    told = [spellings(d, n, found.population) for d, n in zip(found.demands, ("name", "name", "sku"), strict=True)]
    assert [(s.variants, s.missed) if s else None for s in told] == [(60, 0.0), (60, 1.0), None]
    assert any(
        "100 % of what 'loud' asks of name ('BOB3' for 'Bob3') is in the data in another case only" in note
        for note in notes(found)
    )
    assert any("60 values of name, which by-name asks for, differ" in note for note in notes(found))


def test_keys_over_the_folded_text_are_candidates_that_tell_entities_apart() -> None:
    found = bench(query("by-name", "shop eq '{shop}' and name eq '{name}'"))
    schemes = [s for s in main_keys(KeyGround(found)) if s.pattern == "folded case"]
    assert {str(s.main) for s in schemes} >= {"{shop} | {lower(name)}_{name}", "{shop}_{lower(name)} | {name}"}
    for scheme in schemes:
        cost = estimate(scheme, found)
        assert not cost.violations
        assert cost.classes[0].entities_returned == 1
    assert not [s for s in main_keys(KeyGround(bench(query("by", "sku eq '{sku}'")))) if s.pattern == "folded case"]
