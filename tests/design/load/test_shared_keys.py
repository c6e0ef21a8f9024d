"""Keys that rows of several owners have, counted over the rows at hand; what values like those at hand allow."""

from __future__ import annotations

import polars as pl
import pytest

from pkadvisor.design.keys.scheme import IndexRow, KeyScheme, parse_key
from pkadvisor.design.load.shared_keys import Entities, SharedKey, example_words, shared_among_kinds, shared_key
from pkadvisor.table.edm import EdmType

TYPES = {"tenant": EdmType.STRING, "id": EdmType.STRING, "n": EdmType.INT32}


def entities(ids: list[str], kind: str = "K", **more: object) -> Entities:
    frame = pl.DataFrame({"tenant": ["t"] * len(ids), "id": ids, "n": range(len(ids))})
    return Entities(kind, TYPES, frame, **more)  # type: ignore[arg-type]


def shared(mine: list[str], theirs: list[str], key: str = "{id}", other: str = "{id}") -> SharedKey | None:
    one, two = parse_key("{tenant}", key), parse_key("{tenant}", other)
    return shared_key(entities(mine), one, entities(theirs), two, "others")


def test_rows_with_a_key_of_the_other_are_counted() -> None:
    found = shared(["a1", "a2", "a3"], ["a3", "a2", "b7", "a2"])
    assert found is not None and found.real
    assert (found.counted, found.rows) == (2, 3)
    assert (found.collision.partition, found.collision.row, found.collision.of_data) == ("t", "a2", True)


def test_disjoint_ids_can_still_collide() -> None:
    found = shared(["a1", "a2"], ["a3", "a4"])
    assert found is not None and not found.real
    assert (found.counted, found.rows) == (0, 2)


@pytest.mark.parametrize(
    ("mine", "key", "collides"),
    [
        (["x1", "y2"], "{id}", False),  # an id is a letter and a digit
        (["N:7", "X:1"], "{id}", True),
        (["N:7", "X:1", ""], "{id}", True),
        (["n:7", "x:1"], "{id}", False),
        (["A@x", "B@y1", "N:@"], "{id}", False),  # every id holds an @, and no number does
        (["A@x", "B@y1", "N:"], "{id}", True),
        (["é1", "N"], "{id}", True),  # of letters beyond ASCII nobody says which come
        ([":12", ":7"], "N{id}", True),
    ],
)
def test_values_of_the_form_at_hand_decide_what_is_possible(mine: list[str], key: str, collides: bool) -> None:
    found = shared(mine, ["a1"], key, "N:{n}")
    assert (found is not None) is collides
    assert found is None or not found.real or found.counted


def test_values_hidden_by_a_profile_tell_their_marks_alone() -> None:
    label, key = parse_key("{tenant}", "N:{n}"), parse_key("{tenant}", "{id}")
    plain = Entities("", TYPES, entities(["abcdefghijkl", "mnopqrstuvwx"]).frame, frozenset({"id", "tenant"}))
    marked = Entities("", TYPES, entities(["abcdefghijkl:", "mnopqrstuvwx"]).frame, frozenset({"id", "tenant"}))
    assert shared_key(plain, key, plain, label, "") is None
    found = shared_key(marked, key, marked, label, "")
    assert found is not None and found.counted is None


def test_without_data_only_the_templates_tell() -> None:
    found = shared_key(
        Entities("A", TYPES), parse_key("{tenant}", ""), Entities("B", TYPES), parse_key("{tenant}", ""), "B"
    )
    assert found is not None and found.real and found.counted is None


def test_each_pair_of_rows_of_two_kinds_is_compared() -> None:
    users = KeyScheme(parse_key("{tenant}", "{id}"), (IndexRow(parse_key("{tenant}", "N:{n}")),))
    items = KeyScheme(parse_key("{tenant}", "I:{id}"), (IndexRow(parse_key("{tenant}", "N:{n}")),))
    found = shared_among_kinds(entities(["a1"], "Users"), users, [(entities(["a1", "a2"], "Items"), items)])
    assert [(str(f.key), f.owner, f.counted, f.rows) for f in found] == [
        ("{tenant} | N:{n}", "Items (index row 1)", 1, 1)
    ]


def test_entities_without_a_value_have_no_key_to_compare() -> None:
    frame = pl.DataFrame({"tenant": ["t", "t"], "id": ["a", None], "n": [1, 2]})
    found = shared_key(
        Entities("", TYPES, frame), parse_key("{tenant}", "{id}"), entities(["a"]), parse_key("{tenant}", "{id}"), ""
    )
    assert found is not None and (found.counted, found.rows) == (1, 1)


def test_an_example_that_is_made_up_tells_the_value_that_makes_it() -> None:
    found = shared_key(
        Entities("", TYPES), parse_key("{tenant}", "{id}"), Entities("", TYPES), parse_key("all", "N:{n}"), ""
    )
    assert found is not None
    assert example_words(found.collision) == "'all' | 'N:1' (tenant 'all', id 'N:1')"
