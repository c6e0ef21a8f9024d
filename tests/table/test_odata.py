"""The filter language: text and tree, and errors that point at their place."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.errors import UsageError
from pkadvisor.table.edm import TICKS_MAX, EdmType, TypedValue, parse_literal
from pkadvisor.table.odata import (
    And,
    Comparison,
    Filter,
    FilterLimitError,
    FilterSyntaxError,
    Not,
    Operand,
    Operator,
    Or,
    Parameter,
    comparison_count,
    conjuncts,
    format_filter,
    normalise,
    parameters,
    parse_filter,
    properties,
)
from pkadvisor.table.odata_parse import is_property_name

ONE = TypedValue(EdmType.INT32, 1)
RESERVED = {"eq", "ne", "gt", "ge", "lt", "le", "and", "or", "not", "true", "false", "null", "NaN", "INF"}

names = st.from_regex(
    r"[A-Za-z_Éन][A-Za-z0-9_É\u0301\u093e\u200d\u203f]{0,6}(\.[a-z0-9_\u0301]{1,3})?", fullmatch=True
).filter(lambda n: n not in RESERVED)
strings = st.text(alphabet=st.characters() | st.sampled_from("'{}\" ()"), max_size=12)
literals = st.one_of(
    st.builds(TypedValue, st.just(EdmType.STRING), strings),
    st.builds(TypedValue, st.just(EdmType.INT32), st.integers(-(2**31), 2**31 - 1)),
    st.builds(TypedValue, st.just(EdmType.INT64), st.integers(-(2**63), 2**63 - 1)),
    st.builds(TypedValue, st.just(EdmType.DOUBLE), st.floats(allow_nan=False)),
    st.builds(TypedValue, st.just(EdmType.BOOLEAN), st.booleans()),
    st.builds(TypedValue, st.just(EdmType.DATETIME), st.integers(0, TICKS_MAX)),
    st.builds(TypedValue, st.just(EdmType.GUID), st.uuids().map(str)),
    st.builds(TypedValue, st.just(EdmType.BINARY), st.binary(max_size=6)),
)
offsets = st.integers(-(10**9), 10**9) | st.floats(-1e9, 1e9)
placeholders = st.one_of(
    st.builds(Parameter, names, st.just(EdmType.STRING), prefix=strings, suffix=strings),
    st.builds(Parameter, names, st.sampled_from([None, EdmType.DOUBLE]), offset=offsets),
    st.builds(Parameter, names, st.sampled_from([EdmType.INT32, EdmType.INT64]), offset=st.integers(-(10**9), 10**9)),
    st.builds(Parameter, names, st.sampled_from([None, EdmType.DATETIME]), offset_ticks=st.integers(-(10**18), 10**18)),
    st.builds(Parameter, names, st.sampled_from([EdmType.GUID, EdmType.BINARY, EdmType.BOOLEAN])),
)


def trees(operands: st.SearchStrategy[Operand]) -> st.SearchStrategy[Filter]:
    leaves = st.builds(Comparison, names, st.sampled_from(Operator), operands)
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(lambda o: And(tuple(o)), st.lists(inner, min_size=2, max_size=3)),
            st.builds(lambda o: Or(tuple(o)), st.lists(inner, min_size=2, max_size=3)),
            st.builds(Not, inner),
        ),
        max_leaves=8,
    )


filters = trees(literals)


# ---- text and tree


@given(filters)
def test_text_and_tree_are_one(tree: Filter) -> None:
    assert parse_filter(format_filter(tree), limit=None) == tree


@given(trees(placeholders | literals))
def test_text_and_tree_are_one_with_parameters(tree: Filter) -> None:
    assert parse_filter(format_filter(tree, parameters=True), parameters=True, limit=None) == tree


@given(trees(st.just(TypedValue(EdmType.INT32, 1))))
def test_no_parentheses_without_need(tree: Filter) -> None:
    """Every pair but the one after ``not`` changes the tree when it is left out."""
    text = format_filter(tree)
    opened: list[int] = []
    for place, char in enumerate(text):
        if char == "(":
            opened.append(place)
        elif char == ")":
            start = opened.pop()
            if not text[:start].endswith("not "):
                without = text[:start] + text[start + 1 : place] + text[place + 1 :]
                assert parse_filter(without, limit=None) != tree


A, B, C = (Comparison(n, Operator.EQ, TypedValue(EdmType.INT32, 1)) for n in "abc")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a eq 1 or b eq 1 and c eq 1", Or((A, And((B, C))))),
        ("(a eq 1 or b eq 1) and c eq 1", And((Or((A, B)), C))),
        ("not a eq 1 and b eq 1", And((Not(A), B))),
        ("not (a eq 1 and b eq 1)", Not(And((A, B)))),
        ("not not a eq 1", Not(Not(A))),
        ("a eq 1 and (b eq 1 and (c eq 1))", And((A, B, C))),
        ("\ta  eq\n1 ", A),
        ("1 eq a", A),
        ("5 lt a", Comparison("a", Operator.GT, TypedValue(EdmType.INT32, 5))),
        ("5 ge a", Comparison("a", Operator.LE, TypedValue(EdmType.INT32, 5))),
        ("IsActive", Comparison("IsActive", Operator.EQ, TypedValue(EdmType.BOOLEAN, True))),
        ("not IsActive", Not(Comparison("IsActive", Operator.EQ, TypedValue(EdmType.BOOLEAN, True)))),
        ("address.city eq ''", Comparison("address.city", Operator.EQ, TypedValue(EdmType.STRING, ""))),
        ("PM2.5 gt 5.0", Comparison("PM2.5", Operator.GT, TypedValue(EdmType.DOUBLE, 5.0))),
        ("notes eq 'x'", Comparison("notes", Operator.EQ, TypedValue(EdmType.STRING, "x"))),
        ("order eq 'a and b or not'", Comparison("order", Operator.EQ, TypedValue(EdmType.STRING, "a and b or not"))),
        (
            "datetime eq datetime'1970-01-01'",
            Comparison("datetime", Operator.EQ, parse_literal("datetime'1970-01-01'")),
        ),
        ("a eq '{x}'", Comparison("a", Operator.EQ, TypedValue(EdmType.STRING, "{x}"))),
    ],
)
def test_the_grammar(text: str, tree: Filter) -> None:
    assert parse_filter(text) == tree


@pytest.mark.parametrize(
    "name",
    [
        "नाम",
        "e\u0301",
        "e\u03011",
        "or\u0301",
        "not\u200d",
        "null\u0301",
        "eq\u0301",
        "true‿",
        "INF\u0301",
        "a.e\u0301",
    ],
)
def test_a_name_has_the_marks_that_the_service_lets_in(name: str) -> None:
    """Each is a name that rows may have, or a part of one behind a dot."""
    assert all(is_property_name(part) for part in name.split("."))
    tree = And((Comparison(name, Operator.EQ, ONE), Comparison("b", Operator.LT, ONE)))
    assert parse_filter(f"{name} eq 1 and b lt 1") == tree
    assert normalise(f"{name} eq 1 and b lt 1") == (f"{name} eq {{p0:Int32}} and b lt {{p1:Int32}}", ("1", "1"))


def test_every_character_that_a_name_may_have_is_read() -> None:
    letters = [chr(point) for point in range(0x80, 0x110000) if is_property_name("a" + chr(point))]
    assert len(letters) > 130_000
    for start in range(0, len(letters), 20_000):
        name = "a" + "".join(letters[start : start + 20_000])
        assert parse_filter(name) == Comparison(name, Operator.EQ, TypedValue(EdmType.BOOLEAN, True))


def test_nodes_are_valid_once_built() -> None:
    assert And((A, And((B, C)))) == And((A, B, C))
    assert Or((A, Or((B, And((B, C)))))) == Or((A, B, And((B, C))))
    for kind, operands in product((And, Or), ((), (A,))):
        with pytest.raises(ValueError, match="two operands"):
            kind(operands)


def test_what_a_filter_is_made_of() -> None:
    tree = parse_filter("b eq 1 and (a eq '{y}' or b eq {x+1}) and not (c eq '{y}')", parameters=True)
    assert properties(tree) == ("b", "a", "c")
    assert parameters(tree) == ("y", "x")
    assert comparison_count(tree) == 4
    assert len(conjuncts(tree)) == 3
    assert conjuncts(A) == (A,)


# ---- errors


@pytest.mark.parametrize(
    ("text", "at", "says"),
    [
        ("a = 1", "=", "write eq"),
        ("a == 1", "==", "write eq"),
        ("a <> 1", "<>", "write ne"),
        ("a >= 1", ">=", "write ge"),
        ("a eq 1 && b eq 2", "&&", "write and"),
        ("a eq 1 || b eq 2", "||", "write or"),
        ("a eq 1 AND b eq 2", "AND", "write and"),
        ("a EQ 1", "EQ", "write eq"),
        ("NOT (a eq 1)", "NOT", "write not"),
        ("a eq True", "True", "write true"),
        ("a equ 1", "equ", "did you mean 'eq'?"),
        ("a eq 1 an b eq 2", "an", "did you mean 'and'?"),
        ('a eq "x"', '"', "write 'x'"),
        ("a eq 'x", "'", "never closed"),
        ("a eq 'o'clock'", "clock", "twice"),
        ("a like 'x%'", "like", "range"),
        ("a in ('x')", "in", "one eq per value"),
        ("a eq null", "null", "null cannot be compared"),
        ("null ne a", "null", "null cannot be compared"),
        ("startswith(a,'x')", "startswith", "a prefix is a range"),
        ("b eq 1 and contains (a,'x')", "contains", "no functions"),
        ("a add 1 eq 2", "add", "does not calculate"),
        ("a eq b", "b", "two properties"),
        ("1 eq 2", "1", "property on one side"),
        ("true", "true", "constant alone"),
        ("a eq 12abc", "12abc", "not a number"),
        ("a eq 99999999999999999999", "9", "too large"),
        ("a eq datetime'yesterday'", "datetime", "not a date"),
        ("a eq datetim'2020-01-01'", "datetim", "did you mean 'datetime'?"),
        ("a eq guid'1'", "guid", "not a Guid"),
        ("a eq X'123'", "X", "even number"),
        ("a eq {x}", "{", "no placeholders"),
        ("a%20eq%201", "%", "decode"),
        ("a eq 1)", ")", "closes nothing"),
        ("b eq ')' and ()", ")", "missing before"),
        ("a eq 'x' 'y'", "'y'", "not expected"),
        ("$x eq 1", "$", "not expected"),
    ],
)
def test_an_error_points_at_its_place(text: str, at: str, says: str) -> None:
    with pytest.raises(FilterSyntaxError) as caught:
        parse_filter(text)
    error = caught.value
    assert says in str(error)
    assert text[error.column :].startswith(at)
    line, marks = error.excerpt.split("\n")
    assert line[marks.index("^") :].startswith(at)
    assert len(error.lines()) <= 4


@pytest.mark.parametrize("text", ["a eq", "a eq 1 and", "(a eq 1", "not", "(", "a eq 1 or not ("])
def test_an_error_at_the_end_points_behind_it(text: str) -> None:
    with pytest.raises(FilterSyntaxError, match="ends") as caught:
        parse_filter(text)
    assert caught.value.column == len(text)


def test_fifteen_comparisons_and_no_more() -> None:
    text = " or ".join(["a eq 1"] * 15)
    assert comparison_count(parse_filter(text)) == 15
    with pytest.raises(FilterLimitError, match="16 comparisons"):
        parse_filter(text + " or IsActive")
    assert comparison_count(parse_filter(text + " or IsActive", limit=None)) == 16


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000 + "a eq 1" + ")" * 10_000,
        "(" * 10_000,
        "not " * 10_000 + "a",
        "not (" * 10_000 + "a" + ")" * 10_000,
        "(a eq 1 and " * 3_000 + "a" + ")" * 3_000,
        "a eq '" + "x" * 1_000_000 + "'",
        "a eq '" + "'" * 60_000,
        "_" * 60_000 + "'",
        "1" * 60_000 + "x",
        "a eq " + "9" * 60_000,
        "a eq 1" + " " * 60_000 + "(",
        "",
        " \n",
        "\x00",
        "\ud800 eq 1",
    ],
)
def test_hostile_texts_get_an_ordinary_error(text: str) -> None:
    for read in (parse_filter, lambda t: parse_filter(t, limit=None, parameters=True)):
        with pytest.raises(UsageError) as caught:
            read(text)  # type: ignore[operator]
        assert 1 <= len(caught.value.lines()) <= 4
        assert len(str(caught.value)) < 1_000


@given(st.text(alphabet=st.sampled_from("ab 01.L'(){}xXeqandornt:-=\"+%g"), max_size=40))
def test_any_text_is_a_filter_or_an_error(text: str) -> None:
    for with_parameters in (False, True):
        try:
            tree = parse_filter(text, parameters=with_parameters)
        except UsageError as error:
            assert 1 <= len(error.lines()) <= 4
        else:
            assert parse_filter(format_filter(tree, parameters=with_parameters), parameters=with_parameters) == tree
