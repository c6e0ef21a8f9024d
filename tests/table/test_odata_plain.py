"""The fast path of the filter language says what the grammar says, or leaves it to the grammar."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.errors import UsageError
from pkadvisor.table import odata
from pkadvisor.table.edm import TICKS_MAX, EdmType, TypedValue
from pkadvisor.table.odata import (
    MAX_COMPARISONS,
    And,
    Comparison,
    Filter,
    Operator,
    format_filter,
    parse_filter,
    plain_filter,
)
from pkadvisor.table.odata_parse import parse

RESERVED = {"eq", "ne", "gt", "ge", "lt", "le", "and", "or", "not", "true", "false", "null", "NaN", "INF"}
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,5}", fullmatch=True).filter(lambda n: n not in RESERVED)
literals = st.one_of(
    st.builds(TypedValue, st.just(EdmType.STRING), st.text(alphabet=st.characters() | st.sampled_from("'{} an\n"))),
    st.builds(TypedValue, st.just(EdmType.INT32), st.integers(-(2**31), 2**31 - 1)),
    st.builds(TypedValue, st.just(EdmType.INT64), st.integers(-(2**63), 2**63 - 1)),
    st.builds(TypedValue, st.just(EdmType.DOUBLE), st.floats(allow_nan=False, allow_infinity=False)),
    st.builds(TypedValue, st.just(EdmType.BOOLEAN), st.booleans()),
    st.builds(TypedValue, st.just(EdmType.DATETIME), st.integers(0, TICKS_MAX)),
    st.builds(TypedValue, st.just(EdmType.GUID), st.uuids().map(str)),
    st.builds(TypedValue, st.just(EdmType.BINARY), st.binary(max_size=6)),
)
comparisons = st.builds(Comparison, names, st.sampled_from(Operator), literals)
WORDS = (
    "a", "Z_9", "eq", "ne", "lt", "and", "or", "not", "true", "false", "null", "NaN", "-INF", "é", "a.b", "{x}",
    "1", "-7", "01", "5L", "1.5", "1e3", "9999999999", "99999999999999999999", "1.d", "--1", "''", "'a''b'", "'",
    "X'0F'", "X'0'", "x''", "datetime'2008-07-10'", "datetime'2008-13-10'", "datetime ''", "guid'1'", " ", "\n",
    "(", ")", "'{x}'", "'B:{{{x}'", "'{x}{y}'", "{x}L", "{x+10}", "{t-6h}", "{x:Guid}", "guid'{x}'", "datetime'{t-6h}'",
    "X'{b}'", "datetime'a{t}'", "{", "}}", "l",
)  # fmt: skip
texts = st.lists(st.sampled_from(WORDS), max_size=12).flatmap(
    lambda words: st.sampled_from((" ".join(words), "".join(words)))
)


def same(text: str) -> Filter | None:
    """What the fast path says of a text, after the grammar has said the same."""
    for parameters in (True, False):
        found = plain_filter(text, MAX_COMPARISONS, parameters=parameters)
        if found is not None:
            assert found == parse(text, parameters=parameters, limit=MAX_COMPARISONS), text
    return found


@given(st.lists(comparisons, min_size=1, max_size=MAX_COMPARISONS))
def test_conjunctions_are_read_as_they_were_written(parts: list[Comparison]) -> None:
    tree = parts[0] if len(parts) == 1 else And(tuple(parts))
    assert same(format_filter(tree)) == tree


@given(texts)
def test_any_text_is_the_grammars_or_left_to_it(text: str) -> None:
    same(text)


@given(st.lists(comparisons, min_size=1, max_size=3), st.data())
def test_a_damaged_conjunction_is_the_grammars_or_left_to_it(parts: list[Comparison], data: st.DataObject) -> None:
    text = " and ".join(map(format_filter, parts))
    at, until = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    same(text[:at] + data.draw(st.sampled_from(["", "'", " ", "1", "and", "x", ".", "é"])) + text[until:])


@pytest.mark.parametrize("text", ["a eq 1 and ", "eq eq 1", "a eq 1 or b eq 2", "a eq 'x", "a eq 1x", "a  eq 1", ""])
def test_what_is_not_of_this_form_is_left_to_the_grammar(text: str) -> None:
    assert plain_filter(text, MAX_COMPARISONS) is None


def test_too_many_comparisons_are_refused_as_ever() -> None:
    most = " and ".join(["a eq 1"] * MAX_COMPARISONS)
    assert len(odata.conjuncts(parse_filter(most))) == MAX_COMPARISONS
    assert plain_filter(f"{most} and a eq 1", MAX_COMPARISONS) is None
    assert plain_filter(f"{most} and a eq 1", None) is not None
    with pytest.raises(UsageError, match="at most 15"):
        parse_filter(f"{most} and a eq 1")


def test_plain_filters_do_not_reach_the_grammar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(odata, "parse", None)
    assert parse_filter("PartitionKey eq 'a' and n gt 5L") == And(
        (
            Comparison("PartitionKey", Operator.EQ, TypedValue(EdmType.STRING, "a")),
            Comparison("n", Operator.GT, TypedValue(EdmType.INT64, 5)),
        )
    )
    read = parse_filter("a eq '{a}' and at ge datetime'{at-6h}' and n eq {n}L", parameters=True)
    assert isinstance(read, And) and len(read.operands) == 3
