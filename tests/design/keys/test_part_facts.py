"""What every part of a key says of itself holds for its texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.design.keys.template import parse_template
from pkadvisor.design.keys.transforms import (
    TRANSFORMS,
    Context,
    Each,
    Field,
    Hash,
    Literal,
    Lower,
    Pad,
    Part,
    Prefix,
    Reverse,
    ReversePad,
    ReverseSortable,
    Sequence,
    Sortable,
    TimeOfDay,
)
from pkadvisor.table.edm import EdmType
from tests.design.keys.test_transforms import LAW, parts_with_values
from tests.design.support import python_value

Case = tuple[Part, EdmType, list[object], Context]


def text_of(part: Part, value: object, context: Context) -> str:
    return part.encode({"p": python_value(value)}, context)


@LAW
@given(parts_with_values())
def test_different_values_have_different_texts_where_a_part_keeps_them_apart(case: Case) -> None:
    part, _, values, context = case
    if part.several is not None or not part.keeps_apart(context):
        return
    present = [value for value in values if value is not None]
    assert len({text_of(part, value, context) for value in present}) == len({_canonical(v, context) for v in present})


def _canonical(value: object, context: Context) -> str:
    """Values that the store keeps as one (0.0 and -0.0) have one canonical text."""
    return text_of(Field("p"), value, context)


@LAW
@given(parts_with_values())
def test_a_constant_is_the_text_of_every_entity_and_nothing_else_is_one(case: Case) -> None:
    part, _, values, context = case
    assert part.constant is None and part.properties == ("p",)
    assert Literal("x").constant == "x" == text_of(Literal("x"), None, context)
    if part.plain_property:
        assert [text_of(part, v, context) for v in values] == [text_of(Field("p"), v, context) for v in values]


WHOLE = st.integers(-(2**63), 2**63 - 1)


@LAW
@given(
    st.sampled_from([Pad("p", 3), Pad("p", 18), ReversePad("p", 3), Sortable("p"), ReverseSortable("p")]),
    st.sampled_from([EdmType.INT32, EdmType.INT64]),
    st.data(),
)
def test_whole_numbers_sort_within_the_limits_and_bounds_beyond_them_lie_outside(
    part: Part, edm: EdmType, data: st.DataObject
) -> None:
    context = Context({"p": edm})
    limits = part.limits(context)
    assert limits is not None
    low, high = limits
    kind = (-(2**31), 2**31 - 1) if edm is EdmType.INT32 else (-(2**63), 2**63 - 1)
    inside = data.draw(
        st.lists(st.integers(max(low, kind[0]), min(high, kind[1])), min_size=2, max_size=6, unique=True)
    )
    texts = [text_of(part, number, context) for number in sorted(inside)]
    assert texts == sorted(texts, reverse=part.order(context) < 0)
    for bound in (low - 1, high + 1, data.draw(st.integers(high + 1, 10**20))):
        end = part.beyond(bound, context)
        falls = part.order(context) < 0
        above = (bound > high) != falls
        assert end and all(end > text if above else end < text for text in texts)
    assert all(part.beyond(number, context) == "" for number in (low, high, *inside))


def test_no_part_but_numbers_has_limits() -> None:
    context = Context({"p": EdmType.INT64})
    made = {"pad": Pad("p", 3), "reverse_pad": ReversePad("p", 3), "sortable": Sortable("p")}
    made |= {"reverse_sortable": ReverseSortable("p")}
    assert all(part.limits(context) is not None for part in made.values())
    assert all(cls.limits is Part.limits for name, cls in TRANSFORMS.items() if name not in made)


@LAW
@given(parts_with_values())
def test_equal_texts_of_one_property_group_rows_as_its_atom_says(case: Case) -> None:
    """``('p', name)``: equal texts exactly where the values are equal; ``('t', …)``: where the periods are."""
    part, _, values, context = case
    if part.atom != ("p", "p") or part.several is not None or not part.keeps_apart(context):
        return
    present = [value for value in values if value is not None]
    for one in present:
        for other in present:
            same = _canonical(one, context) == _canonical(other, context)
            assert (text_of(part, one, context) == text_of(part, other, context)) == same


@LAW
@given(st.datetimes(), st.datetimes(), st.sampled_from((0, 3, 7, "HH", "HHmm", "HH:mm", "HH-mm-ss")))
def test_a_time_of_day_rises_within_one_day(one: object, other: object, clock: int | str) -> None:
    from datetime import UTC, datetime

    assert isinstance(one, datetime) and isinstance(other, datetime)
    first, second = sorted((one.replace(tzinfo=UTC), datetime.combine(one.date(), other.time(), UTC)))
    part, context = TimeOfDay("p", clock), Context({"p": EdmType.DATETIME})
    assert text_of(part, first, context) <= text_of(part, second, context)
    assert part.rises_within[0] == "day" and part.order(context) == 0


@pytest.mark.parametrize(
    ("template", "fact", "expected"),
    [
        ("{p}", "plain_property", "p"),
        ("{pad(p,5)}", "padded_width", 5),
        ("{reverse_pad(p,4)}", "padded_width", 4),
        ("{pad(p,5)}", "plain_property", ""),
        ("{hash(p,16)}", "bucket_count", 16),
        ("{hash(p,16)}", "bucketed", Field("p")),
        ("{hash(lower(p),16)}", "bucketed", Lower("p")),
        ("{hash(prefix(p,3),16)}", "bucketed", None),
        ("{hash_prefix(p,4)}", "bucket_count", None),
        ("{hash_prefix(p,4)}", "atom", ("f", "{hash_prefix(p,4)}")),
        ("{prefix(p,3)}", "first_characters", 3),
        ("{prefix(p,3)}", "text_source", Field("p")),
        ("{lower(p)}", "folds_case", True),
        ("{reverse(p)}", "folds_case", False),
        ("{reverse(p)}", "atom", ("p", "p")),
        ("{time(p,'yyyyMMdd')}", "atom", ("t", "p", "day")),
        ("{time(p,'yyyyMMdd')}", "tells_time", True),
        ("{time_of_day(p,3)}", "period", None),
        ("{seq(4)}", "assigned", True),
        ("{seq(4)}", "atom", ("s",)),
        ("{each(p)}", "several", Each("p")),
    ],
)
def test_facts_of_parts(template: str, fact: str, expected: object) -> None:
    (part,) = parse_template(template)
    assert getattr(part, fact) == expected


def test_a_part_over_the_text_of_another() -> None:
    rule = Pad("n", 5)
    assert Field("p").over(rule) == rule
    assert Hash("p", 8).over(rule) == Hash(rule, 8)
    assert Lower("p").over(Field("q")) == Lower("q")
    assert Lower(Reverse("p")).over(rule) is None
    assert Prefix("p", 3).over(rule) == Prefix(rule, 3)
    assert Pad("p", 3).over(rule) is None
    assert Sequence(3).over(rule) is None
