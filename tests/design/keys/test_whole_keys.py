"""Whole keys: their order, their separators, and that they are read back."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.design.keys.template import parse_template
from pkadvisor.design.keys.transforms import (
    Concat,
    Context,
    Each,
    Field,
    Hash,
    HashPrefix,
    Literal,
    Lower,
    Md5Prefix,
    Pad,
    Part,
    Prefix,
    Reverse,
    ReversePad,
    Sortable,
    Time,
    bucket,
)
from pkadvisor.table.edm import EdmType
from tests.design.keys.test_transforms import LAW, LEGAL
from tests.design.support import VALUES, frame_of, hostile_texts, python_value, ticks

# -- whole keys ------------------------------------------------------------------------------------------------------

KEY_PARTS: dict[str, tuple[str, EdmType, st.SearchStrategy[object]]] = {
    "s": ("{s}", EdmType.STRING, hostile_texts),
    "t": ("{t}", EdmType.STRING, hostile_texts),
    "n": ("{pad(n,4)}", EdmType.INT32, st.integers(-9999, 9999)),
    "m": ("{m}", EdmType.INT64, VALUES[EdmType.INT64]),
    "w": ("{ticks(w)}", EdmType.DATETIME, VALUES[EdmType.DATETIME]),
    "v": ("{reverse_ticks(v)}", EdmType.DATETIME, VALUES[EdmType.DATETIME]),
    "d": ("{sortable(d)}", EdmType.DOUBLE, VALUES[EdmType.DOUBLE]),
    "r": ("{reverse(r)}", EdmType.STRING, hostile_texts),
    "g": ("{g}", EdmType.GUID, VALUES[EdmType.GUID]),
    "e": ("{each(e,';')}", EdmType.STRING, hostile_texts),
}
TYPES = {name: edm for name, (_, edm, _) in KEY_PARTS.items()}


@st.composite
def templates(draw: st.DrawFn, alphabet: str = "_;|!-0A2Fx%'é😀") -> tuple[tuple[Part, ...], tuple[str, ...]]:
    """Parts with literal text between them, and the properties that they read."""
    names = draw(st.permutations(sorted(KEY_PARTS)))[: draw(st.integers(1, 4))]
    text = st.text(alphabet=st.sampled_from(alphabet), min_size=1, max_size=2)
    shown = draw(st.one_of(st.just(""), text))
    for index, name in enumerate(names):
        shown += (draw(text) if index else "") + KEY_PARTS[name][0]
    return parse_template(shown), tuple(names)


@st.composite
def two_tuples(draw: st.DrawFn) -> tuple[tuple[Part, ...], dict[str, object], dict[str, object]]:
    parts, names = draw(templates())
    first = {n: draw(st.one_of(st.none(), KEY_PARTS[n][2])) for n in names}
    # Half of the pairs differ in one value only: near misses find more than strangers do.
    second = {n: draw(st.one_of(st.just(first[n]), st.none(), KEY_PARTS[n][2])) for n in names}
    return parts, first, second


@LAW
@given(two_tuples())
def test_different_values_make_different_keys(
    case: tuple[tuple[Part, ...], dict[str, object], dict[str, object]],
) -> None:
    from pkadvisor.design.keys.scheme import encode

    parts, first, second = case
    keys = [encode(parts, {k: python_value(v) for k, v in values.items()}, TYPES) for values in (first, second)]
    assert (keys[0] == keys[1]) == (first == second)
    assert all(LEGAL.fullmatch(k) for k in keys)


def test_touching_values_are_kept_apart_by_the_separator() -> None:
    from pkadvisor.design.keys.scheme import encode

    parts = parse_template("{s}_{t}")
    pairs = [("a_b", "c"), ("a", "b_c"), ("a_b_c", ""), ("", "a_b_c"), ("a~005Fb", "c")]
    keys = {encode(parts, {"s": s, "t": t}, TYPES) for s, t in pairs}
    assert len(keys) == len(pairs)
    assert encode(parts, {"s": "a_b", "t": "c"}, TYPES) == "a~005Fb_c"


@LAW
@given(templates(), st.data())
def test_whole_key_column_equals_scalar(case: tuple[tuple[Part, ...], tuple[str, ...]], data: st.DataObject) -> None:
    from pkadvisor.design.keys.scheme import encode, key_expression

    parts, names = case
    rows = [{n: data.draw(st.one_of(st.none(), KEY_PARTS[n][2])) for n in names} for _ in range(3)]
    frame = frame_of({n: [row[n] for row in rows] for n in names}, TYPES)
    found = frame.select(key_expression(parts, TYPES).alias("key")).to_series().to_list()
    assert found == [encode(parts, {n: python_value(v) for n, v in row.items()}, TYPES) for row in rows]


def test_literal_text_stands_for_itself() -> None:
    assert Literal("a{b").encode({}, Context({})) == "a{b"
    assert str(Literal("a{b}")) == "a{{b}}"


@pytest.mark.parametrize(
    ("part", "edm", "value", "text"),
    [
        (ReversePad("p", 1), EdmType.INT64, -(2**63), "9223372036854775817"),
        (ReversePad("p", 18), EdmType.INT32, -(2**31), "1000000002147483647"),
        (Pad("p", 18), EdmType.INT64, 2**63 - 1, "9223372036854775807"),
        (Sortable("p"), EdmType.INT32, -(2**31), "00000000"),
        (Sortable("p"), EdmType.INT32, 0, "80000000"),
        (Sortable("p"), EdmType.INT64, 255, "80000000000000ff"),
        (Sortable("p"), EdmType.INT64, 2**63 - 1, "ffffffffffffffff"),
        (Sortable("p"), EdmType.DOUBLE, 1.0, "bff0000000000000"),
        (Sortable("p"), EdmType.DOUBLE, -1.0, "400fffffffffffff"),
        (Sortable("p"), EdmType.DOUBLE, -0.0, "8000000000000000"),
        (Sortable("p"), EdmType.DOUBLE, float("-inf"), "000fffffffffffff"),
        (Sortable("p"), EdmType.DOUBLE, float("nan"), "fff8000000000000"),
        (Field("p"), EdmType.DOUBLE, -0.0, "0.0"),
        (Field("p"), EdmType.DOUBLE, float("inf"), "INF"),
        (Field("p"), EdmType.DOUBLE, 1e16, "1e+16"),
        (Reverse("p"), EdmType.INT64, 120, "021"),
        (Reverse("p"), EdmType.INT64, -12, "21-"),
        (Reverse("p"), EdmType.STRING, "a_b/", "~002Fb~005Fa"),
        (Lower("p"), EdmType.STRING, "Ä İ ß ABC", "Ä İ ß abc"),
        (Prefix("p", 2), EdmType.STRING, "😀é/x", "😀é"),
        (Prefix(Lower("p"), 2), EdmType.STRING, "ABC", "ab"),
        (HashPrefix("p", 4), EdmType.STRING, "abc", "ba78"),
        (Md5Prefix("p", 32), EdmType.STRING, "abc", "900150983cd24fb0d6963f7d28e17f72"),  # RFC 1321
        (Each("p"), EdmType.STRING, "a_b", "a~005Fb"),
    ],
)
def test_texts_look_as_documented(part: Part, edm: EdmType, value: object, text: str) -> None:
    context = Context({"p": edm}, "_")
    assert part.encode({"p": python_value(value)}, context) == text
    frame = frame_of({"p": [value, None]}, {"p": edm})
    assert frame.select(part.expression(context)).to_series().to_list()[0] == text


def test_what_is_hashed_together_is_hashed_as_the_key_that_it_would_be() -> None:
    part = Hash(Concat(("a", Literal("_"), "b")), 97)
    context = Context({"b": EdmType.INT32})
    for a, b, key in (("x_y", 7, "x~005Fy_7"), (None, 7, "~-_7"), ("", None, "_~-")):
        assert part.encode({"a": a, "b": b}, context) == f"{bucket(key, 97):02d}"


@LAW
@given(hostile_texts, hostile_texts, hostile_texts, hostile_texts)
def test_concatenations_are_injective_only_with_text_between(a: str, b: str, c: str, d: str) -> None:
    apart, touching = Concat(("a", Literal("_"), "b")), Concat(("a", "b"))
    texts = [apart.plain({"a": x, "b": y}, Context({})) for x, y in ((a, b), (c, d))]
    assert (texts[0] == texts[1]) == ((a, b) == (c, d))
    assert apart.injective
    assert not touching.injective
    assert touching.plain({"a": "x", "b": "yz"}, Context({})) == touching.plain({"a": "xy", "b": "z"}, Context({}))


@pytest.mark.parametrize(
    ("delimiter", "value", "found"),
    [
        ("", '["a", "b", "a"]', ("a", "b")),
        ("", "[1, 2.5, true, null, [3]]", ("1", "2.5", "true", "[3]")),
        ("", "[]", ()),
        ("", "plain", ("plain",)),
        ("", "7", ("7",)),
        ("", None, ()),
        (";", "a; b;;c;a", ("a", "b", "c")),
        (";", "", ()),
        ("||", "a||b|c", ("a", "b|c")),
    ],
)
def test_values_of_a_multi_valued_property(delimiter: str, value: str | None, found: tuple[str, ...]) -> None:
    assert Each("p", delimiter).values_of(value) == found


def test_iso_weeks_follow_the_standard() -> None:
    context = Context({"p": EdmType.DATETIME})
    for moment, week in ((datetime(2026, 12, 31), "2026-W53"), (datetime(2027, 1, 3), "2026-W53"),
                         (datetime(2027, 1, 4), "2027-W01"), (datetime(2024, 12, 30), "2025-W01")):  # fmt: skip
        part = Time("p", "YYYY-Www")
        assert part.encode({"p": ticks(moment.replace(tzinfo=UTC))}, context) == week
        assert part.decode("2026-W53", context) == datetime(2026, 12, 28, tzinfo=UTC)
    assert Time("p", "yyyyMMddTHHZ").decode("20240229T23Z", context) == datetime(2024, 2, 29, 23, tzinfo=UTC)
