"""Keys that two pairs of templates share: every example is real, and keys that are equal are never said to be apart."""

from __future__ import annotations

import random
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pkadvisor.design.keys.key_collisions import (
    Collision,
    KeyedRows,
    collision_of,
    letters_like,
    may_collide,
    usual_values,
)
from pkadvisor.design.keys.scheme import Key, parse_key
from pkadvisor.design.keys.transforms import Value
from pkadvisor.design.keys.transforms.languages import Language, Run, exactly, may_meet, text_in_common
from pkadvisor.table.edm import EdmType
from tests.design.keys.test_languages import languages
from tests.tiers import examples

TYPES = {
    "tenant": EdmType.STRING,
    "id": EdmType.STRING,
    "mail": EdmType.STRING,
    "n": EdmType.INT32,
    "g": EdmType.GUID,
    "at": EdmType.DATETIME,
}
PARTS = ("{id}", "{mail}", "{n}", "{pad(n,3)}", "{g}", "{lower(mail)}", "{hash(id,16)}", "{time(at,'yyyyMM')}")
LABELS, ENDS = ("", "A:", "AB:", "B_"), ("", "_", ":", "_x")
PARTITIONS = ("{tenant}", "all", "A:{tenant}")
HALVES = st.tuples(st.sampled_from(LABELS), st.sampled_from(("", *PARTS)), st.sampled_from(ENDS)).map("".join)
KEYS = st.tuples(st.sampled_from(PARTITIONS), HALVES).map(lambda drawn: parse_key(*drawn))
GUID, MOMENT = "12345678-1234-1234-1234-123456789abc", 639_000_000_000_000_000
ENTITIES: list[dict[str, Value]] = [
    {"tenant": tenant, "id": id_, "mail": mail, "n": n, "g": GUID, "at": MOMENT}
    for tenant, id_, mail, n in product(
        ("a", "A:a", "all"), ("x", "A:x", "7", "AB:007", "_x"), ("x", "A:x", "007", "A:"), (7, -7, 1234)
    )
]


def rows(key: Key, *entities: dict[str, Value]) -> KeyedRows:
    return KeyedRows(key, TYPES, usual_values(TYPES, key.properties), entities)


def of(one: tuple[str, str], other: tuple[str, str]) -> Collision | None:
    return collision_of(rows(parse_key(*one)), rows(parse_key(*other)))


@given(st.lists(languages, max_size=2), st.lists(languages, max_size=2))
def test_a_text_in_common_is_of_both_languages(one: list[Language], other: list[Language]) -> None:
    mine, theirs = tuple(one), tuple(other)
    text = text_in_common(mine, theirs)
    assert (text is not None) == may_meet(mine, theirs)
    if text is not None:
        assert may_meet(mine, (exactly(text),)) and may_meet(theirs, (exactly(text),))


def test_entities_with_one_key_are_never_said_to_be_apart() -> None:
    chance = random.Random(7)
    keys = [parse_key(p, label + part + end) for p, label, part, end in product(PARTITIONS, LABELS, ("", *PARTS), ENDS)]
    owners: dict[tuple[str, str], dict[Key, dict[str, Value]]] = {}
    for key in chance.sample(keys, 100):
        for entity in chance.sample(ENTITIES, 40):
            owners.setdefault(key.encode(entity, TYPES), {})[key] = entity
    met = [pair for of_one in owners.values() for pair in combinations(of_one.items(), 2)]
    assert len(met) > 100
    for (key, values), (other, theirs) in met:
        assert may_collide(rows(key), rows(other)), (key, other)
        assert collision_of(rows(key, values), rows(other, theirs)) is not None, (key, other)


@settings(max_examples=examples(400))
@given(KEYS, KEYS)
def test_every_example_is_a_key_of_both(key: Key, other: Key) -> None:
    found = collision_of(rows(key), rows(other))
    for side, shown in ((key, found.one), (other, found.other)) if found else ():
        known = dict(shown)
        if {"n", "at"} & known.keys() or not {*side.properties} <= known.keys():
            continue  # values are shown as text
        assert found is not None
        assert side.encode(dict(known), TYPES) == (found.partition, found.row)


@settings(max_examples=examples(200))
@given(KEYS, KEYS)
def test_the_order_of_two_keys_does_not_matter(key: Key, other: Key) -> None:
    assert (collision_of(rows(key), rows(other)) is None) == (collision_of(rows(other), rows(key)) is None)


@pytest.mark.parametrize(
    ("one", "other", "partition", "row", "values"),
    [
        (("{tenant}", "{id}"), ("{tenant}", "MAIL:{mail}"), "x", "MAIL:x", {"tenant": "x", "id": "MAIL:x"}),
        (("{tenant}", "{id}"), ("{tenant}", "MAIL:{lower(mail)}"), "x", "MAIL:x", {"tenant": "x", "id": "MAIL:x"}),
        (("all", "{id}"), ("{tenant}", "{mail}"), "all", "x", {"id": "x"}),
        (("{tenant}", "{id}"), ("{tenant}", "{hash(mail,16)}"), "x", "11", {"tenant": "x", "id": "11"}),
        # The first letter of examples separates the parts of the other key, and is escaped in its values.
        (("{tenant}", "{id}"), ("{tenant}", "{mail}x_"), "q", "qx_", {"tenant": "q", "id": "qx_"}),
        # The RowKey repeats what the PartitionKey says.
        (("{tenant}_{id}", "{tenant}"), ("T:{mail}", "{id}"), "T:_x", "T:", {"tenant": "T:", "id": "x"}),
    ],
)
def test_a_key_that_begins_with_a_label_is_shown(
    one: tuple[str, str], other: tuple[str, str], partition: str, row: str, values: dict[str, str]
) -> None:
    found = of(one, other)
    assert found is not None and not found.certain and not found.of_data
    assert (found.partition, found.row, dict(found.one)) == (partition, row, values)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("{tenant}", "{g}"), ("{tenant}", "MAIL:{mail}")),  # a GUID begins with no label
        (("{tenant}", "{n}"), ("{tenant}", "MAIL:{mail}")),
        (("{tenant}", "{pad(n,5)}"), ("{tenant}", "{hash(mail,16)}")),  # five digits are not two
        (("{tenant}", "USER:{id}"), ("{tenant}", "MAIL:{mail}")),
        (("a", "{id}"), ("b", "{id}")),
        (("{tenant}", ""), ("{tenant}", "{id}")),  # an id is not empty
        (("{tenant}", "{time(at,'yyyyMM')}"), ("{tenant}", "{time(at,'yyyyMMdd')}")),
    ],
)
def test_keys_that_never_meet(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert of(one, other) is None


@pytest.mark.parametrize(
    ("key", "certain"),
    [
        (("{tenant}", ""), True),
        (("{tenant}", "info"), True),
        (("settings", "all"), True),
        (("{tenant}_{id}", "{tenant}"), True),
        (("{tenant}", "{id}"), False),
        (("{tenant}", "{seq(3)}"), False),
    ],
)
def test_equal_templates_collide_for_certain_where_the_row_key_adds_nothing(
    key: tuple[str, str], certain: bool
) -> None:
    found = of(key, key)
    assert found is not None and found.certain is certain


def test_a_key_of_the_data_is_shown_before_any_other() -> None:
    index = rows(parse_key("{tenant}", "MAIL:{mail}"), {"tenant": "t1", "mail": "ann@x"})
    found = collision_of(rows(parse_key("{tenant}", "{id}")), index)
    assert found is not None and found.of_data
    assert (found.partition, found.row) == ("t1", "MAIL:ann@x")
    assert dict(found.one) == {"tenant": "t1", "id": "MAIL:ann@x"}


def test_properties_of_unknown_type_are_compared_as_the_part_reads_them() -> None:
    key, other = parse_key("all", "{time(born,'yyyyMM')}"), parse_key("all", "{pad(size,6)}")
    found = collision_of(KeyedRows(key, {}, usual_values({}, ["born"])), KeyedRows(other, {}))
    assert found is not None and found.row == "111111"


def test_values_narrow_what_keys_can_be() -> None:
    lower = ((Run(letters_like({"b", "7"}), 1, None),),)
    index = rows(parse_key("{tenant}", "MAIL:{mail}"))
    key = parse_key("{tenant}", "{id}")
    assert collision_of(KeyedRows(key, TYPES, {"id": lower}), index) is None
    label = ((Run(letters_like({"B", "7", ":", "b"}), 1, None),),)
    assert collision_of(KeyedRows(key, TYPES, {"id": label}), index) is not None


@pytest.mark.parametrize(
    ("seen", "like", "unlike"),
    [("a", "az", "A0:"), ("Q7", "AZ09", "a:"), ("a:", "z:", "A;"), ("é", None, None)],
)
def test_letters_are_like_those_that_were_seen(seen: str, like: str | None, unlike: str | None) -> None:
    found = letters_like(set(seen))
    if like is None or unlike is None:
        assert found is None
    else:
        assert found is not None and found >= set(like) and found.isdisjoint(unlike)


def test_a_key_of_the_data_counts_only_where_values_like_those_at_hand_give_it() -> None:
    index = rows(parse_key("{tenant}", "MAIL:{mail}"), {"tenant": "t1", "mail": "ann@x"})
    ids = ((Run(letters_like({"M", ":", "x"}), 1, None),),)  # no id holds an @
    found = collision_of(KeyedRows(parse_key("{tenant}", "{id}"), TYPES, {"id": ids}), index)
    assert found is not None and not found.of_data
    assert found.row == "MAIL:x"
