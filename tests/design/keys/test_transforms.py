"""Laws of the key transforms, over the whole registry: text equals column, legality, order, decode, missing values."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pkadvisor.design.keys.transforms import (
    FORBIDDEN,
    MISSING,
    TRANSFORMS,
    Concat,
    Context,
    Each,
    Field,
    Hash,
    Hashed,
    HashPrefix,
    Literal,
    Lower,
    Md5Prefix,
    Pad,
    Part,
    Prefix,
    Reverse,
    ReversePad,
    ReverseSortable,
    ReverseTicks,
    Sequence,
    Sortable,
    Ticks,
    Time,
    TimeOfDay,
    bucket,
    canonical_text,
    check_pattern,
    escape,
    time_unit,
    unescape,
)
from pkadvisor.table.edm import TICKS_MAX, EdmType, utf16_key
from tests.design.support import VALUES, frame_of, hostile_texts, python_value, ticks
from tests.tiers import examples

LEGAL = re.compile(r"[^/\\#?\x00-\x1f\x7f-\x9f]*")
SEPARATORS = st.text(alphabet=st.sampled_from("_;|!- 0x~é😀"), max_size=3)
PATTERNS = (
    "yyyy",
    "yyyyMM",
    "yyyy-MM-dd",
    "yyyyMMddHH",
    "yyyyMMddTHHmmZ",
    "yyyyMMddHHmmss",
    "yyyyMMddHHmmssfff",
    "yyyy-MM-ddTHH:mm:ss.ffffffZ",
    "yyyyMMdd_HHmmss_fffffff",
    "ddMMyyyy",
    "YYYY-Www",
    "YYYYww",
)
CLOCKS = ("HH", "HHmm", "HH:mm", "HH-mm-ss", "HH:mm:ss.fff", "HHmmss_fffffff")
PLAIN = st.text(st.characters(exclude_categories=("Cs",), exclude_characters=[*FORBIDDEN, "~", "\uffff"]), max_size=5)
_NUMBERS = (EdmType.INT32, EdmType.INT64)


def _anything(n: int) -> Part:
    return (Lower("p"), Lower(Prefix("p", 1 + n % 3)), Lower(Reverse("p")))[n % 3]


@dataclass(frozen=True)
class Sample:
    """How to make a registered function, the types that it reads, and the values for which it promises an order."""

    make: Callable[[int], Part]
    types: tuple[EdmType, ...]
    ordered: Callable[[Part, EdmType], st.SearchStrategy[object]] | None = None


def _within(part: Part, edm: EdmType) -> st.SearchStrategy[object]:
    assert isinstance(part, Pad | ReversePad)
    reach = min(10**part.width - 1, 2**31 - 1 if edm is EdmType.INT32 else 2**63 - 1)
    return st.integers(-reach if isinstance(part, Pad) else 0, reach)


def _of_their_digits(part: Part, edm: EdmType) -> st.SearchStrategy[object]:
    last = datetime(3168 if isinstance(part, Ticks) and part.digits == 18 else 9999, 12, 31)
    return st.datetimes(max_value=last, timezones=st.just(UTC))


def _all_values(part: Part, edm: EdmType) -> st.SearchStrategy[object]:
    return PLAIN if edm is EdmType.STRING else VALUES[edm]


SAMPLES: dict[str, Sample] = {
    "": Sample(lambda n: Field("p"), tuple(EdmType), _all_values),
    "pad": Sample(lambda n: Pad("p", n), (*_NUMBERS, EdmType.STRING), _within),
    "reverse_pad": Sample(lambda n: ReversePad("p", n), (*_NUMBERS, EdmType.STRING), _within),
    "sortable": Sample(lambda n: Sortable("p"), (*_NUMBERS, EdmType.DOUBLE), _all_values),
    "reverse_sortable": Sample(
        lambda n: ReverseSortable("p"), (*_NUMBERS, EdmType.DOUBLE, EdmType.DATETIME), _all_values
    ),
    "time": Sample(lambda n: Time("p", PATTERNS[n % len(PATTERNS)]), (EdmType.DATETIME,), _all_values),
    "time_of_day": Sample(lambda n: TimeOfDay("p", (*range(8), *CLOCKS)[n % 14]), (EdmType.DATETIME,)),
    "ticks": Sample(lambda n: Ticks("p", 18 + n % 2), (EdmType.DATETIME,), _of_their_digits),
    "reverse_ticks": Sample(lambda n: ReverseTicks("p"), (EdmType.DATETIME,), _all_values),
    "hash": Sample(lambda n: Hash("p", n + 1) if n % 3 else Hash(_anything(n), n + 1), tuple(EdmType)),
    "hash_prefix": Sample(lambda n: HashPrefix("p", 1 + n % 64), tuple(EdmType)),
    "md5_prefix": Sample(lambda n: Md5Prefix("p", 1 + n % 32), tuple(EdmType)),
    "lower": Sample(_anything, tuple(EdmType)),
    "prefix": Sample(lambda n: Prefix("p", 1 + n % 4), tuple(EdmType)),
    "reverse": Sample(lambda n: Reverse("p"), tuple(EdmType)),
    "concat": Sample(
        lambda n: Hash(Concat((("p", Literal("_"), Lower("p")), (Literal("x"), "p"), ("p",))[n % 3]), 97),
        tuple(EdmType),
    ),
    "each": Sample(lambda n: Each("p", ";" if n % 2 else ""), (EdmType.STRING,), _all_values),
    "seq": Sample(Sequence, ()),
}


LAW = settings(max_examples=examples(400))


def test_every_registered_function_is_tested() -> None:
    assert set(SAMPLES) - {""} == set(TRANSFORMS)
    assert all(any(part.integers) == ("integer" in " ".join(part.takes)) for part in TRANSFORMS.values())


@st.composite
def parts_with_values(
    draw: st.DrawFn, names: tuple[str, ...] = tuple(n for n in SAMPLES if n != "seq")
) -> tuple[Part, EdmType, list[object], Context]:
    sample = SAMPLES[draw(st.sampled_from(names))]
    edm = draw(st.sampled_from(sample.types))
    part = sample.make(draw(st.integers(1, 38)))
    values = draw(st.lists(st.one_of(st.none(), VALUES[edm]), max_size=8))
    return part, edm, values, Context({"p": edm}, draw(SEPARATORS))


@LAW
@given(parts_with_values())
def test_column_equals_scalar(case: tuple[Part, EdmType, list[object], Context]) -> None:
    part, edm, values, context = case
    frame = frame_of({"p": values}, {"p": edm})
    found = frame.select(part.expression(context).alias("key")).to_series().to_list()
    assert found == [part.encode({"p": python_value(v)}, context) for v in values]


DENSE: dict[EdmType, st.SearchStrategy[object]] = VALUES | {
    EdmType.INT32: st.sampled_from([-(2**31), -3, 0, 2**31 - 4]).flatmap(lambda n: st.integers(n, n + 3)),
    EdmType.INT64: st.sampled_from([-(2**63), -1000, 97, 2**63 - 4]).flatmap(lambda n: st.integers(n, n + 3)),
    EdmType.DATETIME: st.tuples(
        st.sampled_from([datetime(1, 1, 1), datetime(1969, 12, 30), datetime(2024, 2, 28), datetime(9999, 12, 28)]),
        st.sampled_from([0, 1, 999_999, 1_000_000, 59_999_999, 86_399_999_999, 86_400_000_000, 200_000_000_000]),
    ).map(lambda pair: (pair[0] + timedelta(microseconds=pair[1])).replace(tzinfo=UTC)),
}
"""Values that lie close together, at the ends of their types and on both sides of zero."""


@LAW
@given(parts_with_values(), st.data())
def test_many_rows_of_few_values_have_the_keys_of_each(
    case: tuple[Part, EdmType, list[object], Context], data: st.DataObject
) -> None:
    part, edm, _, context = case
    near = data.draw(st.lists(st.one_of(st.none(), DENSE[edm]), min_size=1, max_size=4))
    rows = data.draw(st.permutations(near * 12))
    frame = frame_of({"p": rows}, {"p": edm})
    key = part.expression(context).alias("key")
    expected = [part.encode({"p": python_value(v)}, context) for v in rows]
    assert frame.select(key).to_series().to_list() == expected
    assert frame.lazy().select(key).collect(engine="streaming").to_series().to_list() == expected
    assert frame.slice(5, 7).select(key).to_series().to_list() == expected[5:12]
    assert frame.clear().select(key).to_series().to_list() == []


def test_a_column_of_more_rows_than_a_slice_equals_its_rows() -> None:
    rows = [None if n % 7 == 0 else f"{n}" for n in range(150_000)]
    frame = frame_of({"p": rows, "d": [None if r is None else float(r) for r in rows]}, TYPES_OF_MANY)
    parts = (Hash("p", 1000), HashPrefix("p", 5), Reverse("p"), Field("d"), Sortable("d"))
    found = frame.select(part.expression(Context(TYPES_OF_MANY)).alias(str(part)) for part in parts)
    for row in range(0, 150_000, 997):
        for part in parts:
            values = {name: python_value(frame[name][row]) for name in frame.columns}
            assert found[str(part)][row] == part.encode(values, Context(TYPES_OF_MANY))


TYPES_OF_MANY = {"p": EdmType.STRING, "d": EdmType.DOUBLE}


def test_column_equals_scalar_for_numbers_the_application_assigns() -> None:
    part, context = Sequence(3), Context({})
    found = pl.DataFrame({"#seq": [0, 7, 1234]}).select(part.expression(context)).to_series().to_list()
    assert found == [part.encode({"#seq": n}, context) for n in (0, 7, 1234)] == ["000", "007", "1234"]
    assert part.encode({}, context) == "000"


@LAW
@given(parts_with_values())
def test_nothing_forbidden_leaves_an_encoding(case: tuple[Part, EdmType, list[object], Context]) -> None:
    part, _, values, context = case
    for value in values:
        text = part.encode({"p": python_value(value)}, context)
        assert LEGAL.fullmatch(text), text
        assert "\uffff" not in text
        assert value is None or text != MISSING


DECODABLE = ("", "pad", "reverse_pad", "sortable", "reverse_sortable", "ticks", "reverse_ticks", "reverse", "each")


def test_all_that_decode_are_tested_for_it() -> None:
    assert set(DECODABLE) == {n for n, sample in SAMPLES.items() if n != "concat" and sample.make(1).decodes}


@LAW
@given(parts_with_values(DECODABLE))
def test_what_decodes_comes_back(case: tuple[Part, EdmType, list[object], Context]) -> None:
    part, edm, values, context = case
    assume(not (isinstance(part, Pad | ReversePad) and edm is EdmType.STRING))  # 7 and 07 come back as 7
    for value in values:
        assert part.decode(part.encode({"p": python_value(value)}, context), context) == value


@LAW
@given(parts_with_values())
def test_texts_of_fixed_width_have_it(case: tuple[Part, EdmType, list[object], Context]) -> None:
    part, _, values, context = case
    shape = part.shape(context)
    for value in values:
        text = part.encode({"p": python_value(value)}, context)
        assert re.fullmatch(part.pattern(context), text, re.DOTALL)
        padded = isinstance(part, Pad | ReversePad) or not part.fixed_width(context)
        assert not shape or value is None or padded or re.fullmatch(shape, text)


@LAW
@given(parts_with_values(("hash", "hash_prefix", "concat")))
def test_hashes_fall_into_their_buckets(case: tuple[Part, EdmType, list[object], Context]) -> None:
    part, _, values, context = case
    assert isinstance(part, Hashed)
    if part.buckets_total > 5000:
        part = HashPrefix("p", 3)
    buckets = part.buckets()
    assert len(buckets) == part.buckets_total == len(set(buckets))
    assert buckets == sorted(buckets)
    for value in [*values, None]:
        assert part.encode({"p": python_value(value)}, context) in buckets


@LAW
@given(hostile_texts, SEPARATORS)
def test_escape_hides_separators_and_comes_back(text: str, separators: str) -> None:
    escaped = escape(text, separators)
    assert unescape(escaped) == text
    bare = re.sub("~[0-9A-F]{4}", "", escaped)
    assert not set(bare) & (FORBIDDEN | set(separators) | {"~", "\uffff"})


def test_escape_writes_utf16_units() -> None:
    assert escape("a/b~c\x85", "_") == "a~002Fb~007Ec~0085"
    assert escape("a_b", "_") == "a~005Fb"
    assert escape("x😀y", "😀") == "x~D83D~DE00y"
    assert unescape("~D83D~DE00~zz~12") == "😀~zz~12"


@st.composite
def ordered_parts(draw: st.DrawFn) -> tuple[Part, EdmType, object, object]:
    """A part that promises an order, and two values within what it promises it for."""
    name = draw(st.sampled_from([n for n, sample in SAMPLES.items() if sample.ordered]))
    sample = SAMPLES[name]
    wanted = {"": tuple(t for t in EdmType if not t.numeric), "pad": _NUMBERS, "reverse_pad": _NUMBERS}
    types = wanted.get(name, sample.types)
    edm = draw(st.sampled_from(types))
    part = sample.make(draw(st.integers(1, 19)))
    assert sample.ordered is not None
    values = sample.ordered(part, edm)
    return part, edm, draw(values), draw(values)


@LAW
@given(ordered_parts())
def test_text_order_is_value_order_in_utf16(case: tuple[Part, EdmType, object, object]) -> None:
    part, edm, first, second = case
    direction = part.order(Context({"p": edm}))
    if isinstance(part, Time) and part.format.startswith("dd"):
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


@LAW
@given(PLAIN, PLAIN, st.integers(1, 4))
def test_prefixes_keep_the_order_of_texts(first: str, second: str, count: int) -> None:
    low, high = sorted((first, second), key=utf16_key)
    keys = [utf16_key(Prefix("p", count).encode({"p": v}, Context({}))) for v in (low, high)]
    assert keys[0] <= keys[1]


@pytest.mark.parametrize("edm", [EdmType.INT32, EdmType.INT64, EdmType.DOUBLE])
def test_numbers_as_they_are_promise_no_order(edm: EdmType) -> None:
    assert Field("p").order(Context({"p": edm})) == 0
    assert Hash("p", 4).order(Context({"p": edm})) == 0
    assert Sequence(2).order(Context({})) == 0


@LAW
@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1), st.integers(1, 38))
def test_whole_numbers_never_share_a_padding(first: int, second: int, width: int) -> None:
    context = Context({"p": EdmType.INT64})
    for part in (Pad("p", width), ReversePad("p", width)):
        same = part.encode({"p": first}, context) == part.encode({"p": second}, context)
        assert same == (first == second)


@pytest.mark.parametrize("width", [1, 18, 19, 20, 38])
def test_a_column_of_padded_numbers_is_read_at_every_width(width: int) -> None:
    import polars as pl

    numbers = [0, 7, 42, min(10**width, 2**63) - 1]
    context = Context({"p": EdmType.INT64})
    texts = pl.Series("p", [Pad("p", width).encode({"p": number}, context) for number in numbers])
    assert Pad("p", width).decode_column(texts, context, pl.Int64()).to_list() == numbers


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
    context = Context({"p": EdmType.DATETIME})
    moment = ticks(datetime(2024, 2, 29, 23, 59, 59, 999999, tzinfo=UTC))
    assert moment == 638_448_479_999_999_990
    assert Ticks("p").encode({"p": moment}, context) == "0638448479999999990"
    assert Ticks("p", 18).encode({"p": moment}, context) == "638448479999999990"
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


@LAW
@given(st.uuids())
def test_a_guid_has_one_canonical_text(value: object) -> None:
    assert canonical_text(str(value).upper(), EdmType.GUID) == str(value)


BAD_PATTERNS = """
    MM HH yyyydd yyyyMMmm yyyyyyyy yyyy/MM yyyy# yyyyWW
    %Y yyyy~MM yyyyMMddHHmmssff yyyyMMddHHmmfff fff YYYYwwfff fffyyyyMMddHHmmss
"""


@pytest.mark.parametrize("pattern", ["", *BAD_PATTERNS.split()])
def test_patterns_that_name_no_period_or_break_keys_are_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="time format"):
        check_pattern(pattern)


def test_units_of_patterns() -> None:
    found = [time_unit(p) for p in ("yyyy", "yyyyMM", "yyyyMMdd", "yyyyMMddHHmm", "YYYY-Www", "yyyyMMddHHmmssfff")]
    assert found == ["year", "month", "day", "minute", "week", "millisecond"]
