"""Laws of the key transforms: text equals column, legality, order, missing against empty, the portable bucket."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.design.template import parse_template
from pkadvisor.design.transforms import (
    ARGUMENTS,
    FORBIDDEN,
    MISSING,
    TRANSFORMS,
    Context,
    Field,
    Hash,
    Literal,
    Pad,
    Part,
    ReversePad,
    ReverseTicks,
    Sequence,
    Ticks,
    Time,
    bucket,
    canonical_text,
    escape,
    sort_direction,
    strftime_format,
    time_unit,
    unescape,
)
from pkadvisor.table.edm import TICKS_MAX, EdmType, utf16_key
from tests.design.support import VALUES, frame_of, hostile_texts, python_value, ticks

LEGAL = re.compile(r"[^/\\#?\x00-\x1f\x7f-\x9f]*")
SEPARATORS = st.text(alphabet=st.sampled_from("_;|!- 0x~é😀"), max_size=3)
PATTERNS = (
    "yyyy",
    "yyyyMM",
    "yyyy-MM-dd",
    "yyyyMMddHH",
    "yyyyMMddTHHmm".replace("T", " "),
    "yyyyMMddHHmmss",
    "ddMMyyyy",
)

# How to make each registered function, and the types that it reads.
SAMPLES: dict[str, tuple[Callable[[int], Part], tuple[EdmType, ...]]] = {
    "": (lambda n: Field("p"), tuple(EdmType)),
    "pad": (lambda n: Pad("p", n), (EdmType.INT32, EdmType.INT64, EdmType.STRING)),
    "reverse_pad": (lambda n: ReversePad("p", n), (EdmType.INT32, EdmType.INT64, EdmType.STRING)),
    "time": (lambda n: Time("p", PATTERNS[n % len(PATTERNS)]), (EdmType.DATETIME,)),
    "ticks": (lambda n: Ticks("p"), (EdmType.DATETIME,)),
    "reverse_ticks": (lambda n: ReverseTicks("p"), (EdmType.DATETIME,)),
    "hash": (lambda n: Hash("p", n + 1), tuple(EdmType)),
    "seq": (lambda n: Sequence(n), ()),
}


def test_every_registered_function_is_tested() -> None:
    assert set(SAMPLES) - {""} == set(TRANSFORMS) == set(ARGUMENTS)


@st.composite
def parts_with_values(draw: st.DrawFn) -> tuple[Part, EdmType, list[object], Context]:
    name = draw(st.sampled_from([n for n in SAMPLES if n != "seq"]))
    make, types = SAMPLES[name]
    edm = draw(st.sampled_from(types))
    part = make(draw(st.integers(1, 38)))
    values = draw(st.lists(st.one_of(st.none(), VALUES[edm]), max_size=8))
    return part, edm, values, Context({"p": edm}, draw(SEPARATORS))


@given(parts_with_values())
def test_column_equals_scalar(case: tuple[Part, EdmType, list[object], Context]) -> None:
    part, edm, values, context = case
    frame = frame_of({"p": values}, {"p": edm})
    found = frame.select(part.expression(context).alias("key")).to_series().to_list()
    assert found == [part.encode({"p": python_value(v)}, context) for v in values]


def test_column_equals_scalar_for_numbers_the_application_assigns() -> None:
    part, context = Sequence(3), Context({})
    found = pl.DataFrame({"#seq": [0, 7, 1234]}).select(part.expression(context)).to_series().to_list()
    assert found == [part.encode({"#seq": n}, context) for n in (0, 7, 1234)] == ["000", "007", "1234"]
    assert part.encode({}, context) == "000"


@given(parts_with_values())
def test_nothing_forbidden_leaves_an_encoding(case: tuple[Part, EdmType, list[object], Context]) -> None:
    part, _, values, context = case
    for value in values:
        text = part.encode({"p": python_value(value)}, context)
        assert LEGAL.fullmatch(text), text
        assert value is None or text != MISSING


@given(hostile_texts, SEPARATORS)
def test_escape_hides_separators_and_comes_back(text: str, separators: str) -> None:
    escaped = escape(text, separators)
    assert unescape(escaped) == text
    bare = re.sub("~[0-9A-F]{4}", "", escaped)
    assert not set(bare) & (FORBIDDEN | set(separators) | {"~"})


def test_escape_writes_utf16_units() -> None:
    assert escape("a/b~c\x85", "_") == "a~002Fb~007Ec~0085"
    assert escape("a_b", "_") == "a~005Fb"
    assert escape("x😀y", "😀") == "x~D83D~DE00y"
    assert unescape("~D83D~DE00~zz~12") == "😀~zz~12"


@st.composite
def ordered_parts(draw: st.DrawFn) -> tuple[Part, EdmType, object, object]:
    """A part that promises an order, and two values within what it promises it for."""
    kind = draw(st.sampled_from(["pad", "reverse_pad", "time", "ticks", "reverse_ticks", "field"]))
    if kind in ("pad", "reverse_pad"):
        width = draw(st.integers(1, 19))
        reach = min(10**width - 1, 2**63 - 1)
        values = st.integers(-reach if kind == "pad" else 0, reach)
        part: Part = Pad("p", width) if kind == "pad" else ReversePad("p", width)
        return part, EdmType.INT64, draw(values), draw(values)
    if kind == "field":
        edm = draw(st.sampled_from([EdmType.STRING, EdmType.DATETIME, EdmType.GUID, EdmType.BOOLEAN, EdmType.BINARY]))
        plain = st.text(st.characters(exclude_categories=("Cs",), exclude_characters=[*FORBIDDEN, "~"]), max_size=5)
        values = plain if edm is EdmType.STRING else VALUES[edm]
        return Field("p"), edm, draw(values), draw(values)
    part = {"time": Time("p", draw(st.sampled_from(PATTERNS))), "ticks": Ticks("p")}.get(kind, ReverseTicks("p"))
    return part, EdmType.DATETIME, draw(VALUES[EdmType.DATETIME]), draw(VALUES[EdmType.DATETIME])


@given(ordered_parts())
def test_text_order_is_value_order_in_utf16(case: tuple[Part, EdmType, object, object]) -> None:
    part, edm, first, second = case
    direction = sort_direction(part, {"p": edm})
    if isinstance(part, Time) and not part.pattern.startswith("yyyy"):
        assert direction == 0
        return
    assert direction != 0
    context = Context({"p": edm})
    keys = [utf16_key(part.encode({"p": python_value(v)}, context)) for v in (first, second)]
    values = [utf16_key(v) if isinstance(v, str) else v for v in (first, second)]
    low, high = (0, 1) if values[0] <= values[1] else (1, 0)  # type: ignore[operator]
    if direction < 0:
        low, high = high, low
    assert keys[low] <= keys[high]
    if part.injective:
        assert (keys[0] == keys[1]) == (values[0] == values[1])


@pytest.mark.parametrize("edm", [EdmType.INT32, EdmType.INT64, EdmType.DOUBLE])
def test_numbers_as_they_are_promise_no_order(edm: EdmType) -> None:
    assert sort_direction(Field("p"), {"p": edm}) == 0
    assert sort_direction(Hash("p", 4), {"p": edm}) == 0
    assert sort_direction(Sequence(2), {}) == 0


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1), st.integers(1, 38))
def test_whole_numbers_never_share_a_padding(first: int, second: int, width: int) -> None:
    context = Context({"p": EdmType.INT64})
    for part in (Pad("p", width), ReversePad("p", width)):
        same = part.encode({"p": first}, context) == part.encode({"p": second}, context)
        assert same == (first == second)


@pytest.mark.parametrize(
    ("part", "value", "text"),
    [
        (Pad("p", 5), 42, "00042"),
        (Pad("p", 3), -5, "-995"),
        (Pad("p", 3), -1, "-999"),
        (Pad("p", 3), -1001, "--01"),
        (Pad("p", 2), 123, "123"),
        (Pad("p", 19), -(2**63), "-0776627963145224192"),
        (ReversePad("p", 3), 0, "999"),
        (ReversePad("p", 3), 999, "000"),
        (ReversePad("p", 3), 1000, "-999"),
        (ReversePad("p", 3), -1, "1000"),
        (Field("p"), -7, "-7"),
    ],
)
def test_padded_numbers_look_as_documented(part: Part, value: int, text: str) -> None:
    assert part.encode({"p": value}, Context({"p": EdmType.INT64})) == text


def test_ticks_and_periods_look_as_documented() -> None:
    from datetime import UTC, datetime

    context = Context({"p": EdmType.DATETIME})
    moment = ticks(datetime(2024, 2, 29, 23, 59, 59, 999999, tzinfo=UTC))
    assert moment == 638_448_479_999_999_990
    assert Ticks("p").encode({"p": moment}, context) == "0638448479999999990"
    assert ReverseTicks("p").encode({"p": moment}, context) == "2516930496000000009"
    assert ReverseTicks("p").encode({"p": TICKS_MAX}, context) == "0" * 19
    assert Time("p", "yyyyMMddHHmmss").encode({"p": moment}, context) == "20240229235959"
    assert Time("p", "yyyy-MM").encode({"p": 0}, context) == "0001-01"
    assert Field("p").encode({"p": moment}, context) == "2024-02-29T23:59:59.9999990Z"


def test_missing_differs_from_empty_and_from_every_value() -> None:
    context = Context({"p": EdmType.STRING}, "-")
    encode = Field("p").encode
    assert encode({"p": None}, context) == encode({}, context) == MISSING
    assert encode({"p": ""}, context) == ""
    assert encode({"p": MISSING}, context) == "~007E~002D"


# Computed from the definition with sha256sum and bc, so that any language can check itself against them.
@pytest.mark.parametrize(
    ("text", "first8"),
    [
        ("", "e3b0c44298fc1c14"),
        ("abc", "ba7816bf8f01cfea"),
        ("42", "73475cb40a568e8d"),
    ],
)
def test_bucket_is_the_first_eight_bytes_of_sha256(text: str, first8: str) -> None:
    assert hashlib.sha256(text.encode()).hexdigest().startswith(first8)
    for count in (2, 10, 16, 1000, 10_000):
        assert bucket(text, count) == int(first8, 16) % count


@pytest.mark.parametrize(
    ("value", "edm", "count", "text"),
    [
        ("abc", EdmType.STRING, 16, "10"),
        ("abc", EdmType.STRING, 10, "4"),
        ("", EdmType.STRING, 101, "028"),
        (42, EdmType.INT64, 16, "13"),
        ("42", EdmType.STRING, 16, "13"),
        ("é", EdmType.STRING, 1000, "051"),
    ],
)
def test_bucket_text(value: str | int, edm: EdmType, count: int, text: str) -> None:
    part = Hash("p", count)
    assert part.encode({"p": value}, Context({"p": edm})) == text
    assert text in part.buckets()
    assert part.buckets() == sorted(part.buckets())


def test_a_missing_value_has_a_bucket_of_its_text() -> None:
    part = Hash("p", 16)
    assert hashlib.sha256(b"~-").hexdigest()[:16] == "9e160f83aceabee3"
    assert part.encode({"p": None}, Context({})) == part.encode({}, Context({})) == "03"


def test_bucket_reads_the_plain_text_not_the_escaped() -> None:
    assert Hash("p", 97).encode({"p": "a_b/"}, Context({}, "_")) == f"{bucket('a_b/', 97):02d}"


@given(st.uuids())
def test_a_guid_has_one_canonical_text(value: object) -> None:
    assert canonical_text(str(value).upper(), EdmType.GUID) == str(value)


@pytest.mark.parametrize(
    "pattern", ["", "MM", "HH", "yyyydd", "yyyyMMmm", "yyyyyyyy", "yyyy/MM", "yyyy#", "yyyyWW", "%Y", "yyyy~MM"]
)
def test_patterns_that_name_no_period_or_break_keys_are_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="time format"):
        strftime_format(pattern)


def test_units_of_patterns() -> None:
    assert [time_unit(p) for p in ("yyyy", "yyyyMM", "yyyyMMdd", "yyyyMMddHHmm")] == ["year", "month", "day", "minute"]


# -- whole keys ------------------------------------------------------------------------------------------------------

KEY_PARTS: dict[str, tuple[str, EdmType, st.SearchStrategy[object]]] = {
    "s": ("{s}", EdmType.STRING, hostile_texts),
    "t": ("{t}", EdmType.STRING, hostile_texts),
    "n": ("{pad(n,4)}", EdmType.INT32, st.integers(-9999, 9999)),
    "m": ("{m}", EdmType.INT64, VALUES[EdmType.INT64]),
    "w": ("{ticks(w)}", EdmType.DATETIME, VALUES[EdmType.DATETIME]),
    "v": ("{reverse_ticks(v)}", EdmType.DATETIME, VALUES[EdmType.DATETIME]),
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


@given(two_tuples())
def test_different_values_make_different_keys(
    case: tuple[tuple[Part, ...], dict[str, object], dict[str, object]],
) -> None:
    from pkadvisor.design.scheme import encode

    parts, first, second = case
    keys = [encode(parts, {k: python_value(v) for k, v in values.items()}, TYPES) for values in (first, second)]
    assert (keys[0] == keys[1]) == (first == second)
    assert all(LEGAL.fullmatch(k) for k in keys)


def test_touching_values_are_kept_apart_by_the_separator() -> None:
    from pkadvisor.design.scheme import encode

    parts = parse_template("{s}_{t}")
    pairs = [("a_b", "c"), ("a", "b_c"), ("a_b_c", ""), ("", "a_b_c"), ("a~005Fb", "c")]
    keys = {encode(parts, {"s": s, "t": t}, TYPES) for s, t in pairs}
    assert len(keys) == len(pairs)
    assert encode(parts, {"s": "a_b", "t": "c"}, TYPES) == "a~005Fb_c"


@given(templates(), st.data())
def test_whole_key_column_equals_scalar(case: tuple[tuple[Part, ...], tuple[str, ...]], data: st.DataObject) -> None:
    from pkadvisor.design.scheme import encode, key_expression

    parts, names = case
    rows = [{n: data.draw(st.one_of(st.none(), KEY_PARTS[n][2])) for n in names} for _ in range(3)]
    frame = frame_of({n: [row[n] for row in rows] for n in names}, TYPES)
    found = frame.select(key_expression(parts, TYPES).alias("key")).to_series().to_list()
    assert found == [encode(parts, {n: python_value(v) for n, v in row.items()}, TYPES) for row in rows]


def test_literal_text_stands_for_itself() -> None:
    assert Literal("a{b").encode({}, Context({})) == "a{b"
    assert str(Literal("a{b}")) == "a{{b}}"
