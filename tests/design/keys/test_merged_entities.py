"""Two entities with one key, where a template makes such: every example is real, and whole keys give none."""

from __future__ import annotations

import pytest

from pkadvisor.design.keys.key_collisions import merged_by_loss, merged_by_touching
from pkadvisor.design.keys.scheme import encode, parse_key
from pkadvisor.design.keys.template import parse_template
from pkadvisor.table.edm import EdmType

TYPES = {
    "id": EdmType.STRING,
    "city": EdmType.STRING,
    "n": EdmType.INT32,
    "m": EdmType.INT64,
    "g": EdmType.GUID,
    "at": EdmType.DATETIME,
}


@pytest.mark.parametrize(
    ("row", "name", "one", "other", "text"),
    [
        ("{prefix(id,3)}", "id", "abc1", "abc2", "abc"),
        ("{prefix(lower(id),40)}", "id", None, None, None),
        ("{time(at,'yyyyMMdd')}", "at", "2026-03-04T05:06:07.0000000Z", "2026-03-04T06:06:07.0000000Z", "20260304"),
        ("{time(at,'yyyyMMddHHmmss')}", "at", None, "2026-03-04T05:06:07.5000000Z", "20260304050607"),
        ("day_{time(at,'yyyy')}", "at", None, "2026-04-04T05:06:07.0000000Z", "day_2026"),
        ("{hash(id,16)}", "id", None, None, None),
        ("{hash(n,200)}", "n", None, None, None),
        ("{hash_prefix(g,3)}", "g", None, None, None),
        ("{hash(id,16)}_{prefix(id,2)}", "id", None, None, None),
    ],
)
def test_a_row_key_that_keeps_too_little_is_shown_with_two_values(
    row: str, name: str, one: str | None, other: str | None, text: str | None
) -> None:
    found = merged_by_loss(parse_key("{city}", row), TYPES)
    assert found is not None and found[0] == name
    merged = found[1]
    assert merged.one != merged.other
    for expected, shown in ((one, merged.one[0]), (other, merged.other[0]), (text, merged.text)):
        assert expected in (None, shown)
    if TYPES[name] is not EdmType.DATETIME:
        values = [int(v[0]) if TYPES[name].integer else v[0] for v in (merged.one, merged.other)]
        assert [encode(parse_key("", row).row, {name: value}, TYPES) for value in values] == [merged.text] * 2


@pytest.mark.parametrize(
    ("partition", "row"),
    [
        ("{city}", "{id}"),
        ("{city}", "{time(at,'yyyyMMdd')}_{id}"),
        ("{city}", "{time(at,'yyyyMMdd')}_{seq(3)}"),
        ("{city}", "{lower(id)}"),  # what differs in case alone is one on purpose
        ("{id}", "{hash(id,16)}"),
        ("{hash(id,16)}", "event"),
        ("{city}", "{sortable(n)}"),
        ("{city}", "{pad(m,3)}"),
    ],
)
def test_keys_that_tell_all_values_apart_or_say_nothing_of_them_are_left_alone(partition: str, row: str) -> None:
    assert merged_by_loss(parse_key(partition, row), TYPES) is None


@pytest.mark.parametrize(
    ("template", "one", "other"),
    [
        ("{id}{city}", ("ab", "c"), ("a", "bc")),
        ("x_{lower(id)}{city}_{n}", ("ab", "c"), ("a", "bc")),
        ("{n}{m}", ("1", "11"), ("11", "1")),
        ("{n}{id}", ("1", "11"), ("11", "1")),
        ("{unknown}{id}", ("ab", "c"), ("a", "bc")),
    ],
)
def test_parts_that_touch_are_shown_with_two_pairs_of_values(
    template: str, one: tuple[str, str], other: tuple[str, str]
) -> None:
    found = merged_by_touching(parse_template(template), TYPES)
    assert found is not None
    merged = found[2]
    assert (merged.one, merged.other) == (one, other)
    assert "".join(one) == "".join(other) == merged.text


@pytest.mark.parametrize(
    "template", ["{id}_{city}", "{pad(n,5)}{id}", "{g}{n}", "{time(at,'yyyy')}{pad(n,3)}", "{id}", "{id}{seq(2)}", ""]
)
def test_parts_that_end_by_themselves_are_left_alone(template: str) -> None:
    assert merged_by_touching(parse_template(template), TYPES) is None


def test_a_part_that_cannot_read_the_type_of_its_property_gives_no_example() -> None:
    assert merged_by_loss(parse_key("{city}", "{time(id,'yyyy')}"), TYPES) is None
    assert merged_by_touching(parse_template("{pad(at,3)}{id}"), TYPES) is None
