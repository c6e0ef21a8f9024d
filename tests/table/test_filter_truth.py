"""Filters on values: truth, parameters, and the shapes that filters of a log share."""

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.errors import UsageError
from pkadvisor.table.edm import EdmType, TypedValue, parse_datetime_ticks, parse_literal
from pkadvisor.table.odata import (
    And,
    Comparison,
    Filter,
    FilterSyntaxError,
    Not,
    Operator,
    Or,
    Parameter,
    bind,
    evaluate,
    fit_types,
    format_filter,
    mismatches,
    normalise,
    parameters,
    parse_filter,
    properties,
)
from tests.table.test_odata import filters, literals, placeholders, trees

GUID = "a455c695-df98-5678-aaaa-81d3367e5a34"


# ---- truth

ENTITY = {
    "s": TypedValue(EdmType.STRING, "\U0001f600"),
    "n": TypedValue(EdmType.INT32, 123),
    "long": TypedValue(EdmType.INT64, 123),
    "d": TypedValue(EdmType.DOUBLE, 1.5),
    "nan": TypedValue(EdmType.DOUBLE, float("nan")),
    "yes": TypedValue(EdmType.BOOLEAN, True),
    "at": TypedValue(EdmType.DATETIME, parse_datetime_ticks("2020-01-01")),
    "id": TypedValue(EdmType.GUID, GUID),
    "raw": TypedValue(EdmType.BINARY, b"\x80"),
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n eq 123", True),
        ("n eq 123L", False),
        ("n ne 123L", False),
        ("n eq '123'", False),
        ("n ne '123'", False),
        ("n eq 123.0", False),
        ("long eq 123L", True),
        ("long eq 123", False),
        ("n ge 123 and n le 123 and not (n gt 123) and not (n lt 123)", True),
        ("n ne 124", True),
        ("d gt 1.25 and d lt 1.75", True),
        ("gone eq 1", False),
        ("gone ne 1", False),
        ("not (gone eq 1)", True),
        ("yes", True),
        ("yes gt false", True),
        ("at ge datetime'2019-12-31T23:00:00-01:00' and at le datetime'2020-01-01'", True),
        (f"id eq guid'{GUID.upper()}'", True),
        ("id gt guid'a455c695-df98-5678-aaaa-81d3367e5a33'", True),
        ("raw gt X'7F'", True),
        ("raw gt X'80'", False),
        ("s lt '\ue000'", True),
        ("nan eq NaN", False),
        ("nan ne NaN", True),
        ("nan ge 1.0 or nan le 1.0", False),
        ("gone eq 1 or n eq 123", True),
        ("gone eq 1 and n eq 123", False),
    ],
)
def test_truth(text: str, expected: bool) -> None:
    assert evaluate(parse_filter(text), ENTITY) is expected


@given(
    st.lists(st.builds(Comparison, st.sampled_from("ab"), st.sampled_from(Operator), literals), min_size=2), st.data()
)
def test_truth_obeys_de_morgan(operands: list[Comparison], data: st.DataObject) -> None:
    entity = data.draw(st.dictionaries(st.sampled_from("ab"), st.sampled_from([o.operand for o in operands])))
    every, some = And(tuple(operands)), Or(tuple(Not(o) for o in operands))
    assert evaluate(every, entity) is not evaluate(some, entity)  # type: ignore[arg-type]


@given(literals, literals)
def test_the_six_operators_agree(left: TypedValue, right: TypedValue) -> None:
    holds = {o: evaluate(Comparison("a", o, right), {"a": left}) for o in Operator}
    if left.type is right.type:
        assert [holds[Operator.LT], holds[Operator.EQ], holds[Operator.GT]].count(True) == 1
        assert holds[Operator.LE] is not holds[Operator.GT]
        assert holds[Operator.GE] is not holds[Operator.LT]
        assert holds[Operator.NE] is not holds[Operator.EQ]
    else:
        assert not any(holds.values())


def test_an_unbound_parameter_has_no_truth() -> None:
    with pytest.raises(ValueError, match="x is not bound"):
        evaluate(parse_filter("a eq {x}", parameters=True), {"a": TypedValue(EdmType.INT32, 1)})


# ---- parameters


@pytest.mark.parametrize(
    ("text", "parameter"),
    [
        ("'{x}'", Parameter("x", EdmType.STRING)),
        ("'BIB:{x}_'", Parameter("x", EdmType.STRING, prefix="BIB:", suffix="_")),
        ("'{{{x}}}''{{}}'", Parameter("x", EdmType.STRING, prefix="{", suffix="}'{}")),
        ("{x}", Parameter("x")),
        ("{x}L", Parameter("x", EdmType.INT64)),
        ("{x+10}", Parameter("x", offset=10)),
        ("{ x - 0.5 }", Parameter("x", offset=-0.5)),
        ("{ts-24h}", Parameter("ts", offset_ticks=-864_000_000_000)),
        ("{ts+0.5s}", Parameter("ts", offset_ticks=5_000_000)),
        ("datetime'{ts+5min}'", Parameter("ts", EdmType.DATETIME, offset_ticks=3_000_000_000)),
        ("guid'{g}'", Parameter("g", EdmType.GUID)),
        ("X'{b}'", Parameter("b", EdmType.BINARY)),
        ("{x-1:double}", Parameter("x", EdmType.DOUBLE, offset=-1)),
        ("{address.zip}", Parameter("address.zip")),
    ],
)
def test_placeholders(text: str, parameter: Parameter) -> None:
    assert parse_filter(f"a eq {text}", parameters=True) == Comparison("a", Operator.EQ, parameter)
    assert parse_filter(f"{text} eq a", parameters=True) == Comparison("a", Operator.EQ, parameter)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("'{x}{y}'", "one placeholder"),
        ("'{'", "without its partner"),
        ("'a}'", "without its partner"),
        ("'{x+10}'", "cannot be added to String"),
        ("'{}'", "not a placeholder"),
        ("{x+10y}", "not a placeholder"),
        ("{x:doubel}", "did you mean 'Double"),
        ("{x:foo}", "types are String"),
        ("{x+1e999}", "finite"),
        ("{x:Int32}L", "twice"),
        ("{x+24h:Int32}", "a time cannot be added"),
        ("{x+0.5}L", "fraction"),
        ("datetime'{x+10}'", "cannot be added to DateTime"),
        ("datetime'{x}T00:00'", "all of its constant"),
        ("{{x}}", "brace"),
    ],
)
def test_placeholders_that_are_none(text: str, says: str) -> None:
    with pytest.raises(FilterSyntaxError, match=re.escape(says)):
        parse_filter(f"a eq {text}", parameters=True)


INT = TypedValue(EdmType.INT32, 7)
NOON = TypedValue(EdmType.DATETIME, parse_datetime_ticks("2020-01-02T12:00:00Z"))


@pytest.mark.parametrize(
    ("text", "value", "bound"),
    [
        ("'BIB:{x}'", TypedValue(EdmType.STRING, "o'{y}"), "'BIB:o''{y}'"),
        ("'BIB:{x}'", INT, "'BIB:7'"),
        ("'{x}'", NOON, "'2020-01-02T12:00:00Z'"),
        ("'{x}'", TypedValue(EdmType.BOOLEAN, True), "'true'"),
        ("{x}", INT, "7"),
        ("{x}L", INT, "7L"),
        ("{x:Double}", INT, "7.0"),
        ("{x-10}", INT, "-3"),
        ("{x+0.5}", TypedValue(EdmType.DOUBLE, 1.0), "1.5"),
        ("{x+10}", TypedValue(EdmType.INT32, 2**31 - 3), "2147483647"),
        ("{x-24h}", NOON, "datetime'2020-01-01T12:00:00Z'"),
        ("datetime'{x+1w}'", TypedValue(EdmType.STRING, "2020-01-02"), "datetime'2020-01-09'"),
        ("datetime'{x-1w}'", TypedValue(EdmType.DATETIME, 5), "datetime'0001-01-01'"),
        ("guid'{x}'", TypedValue(EdmType.STRING, GUID.upper()), f"guid'{GUID}'"),
    ],
)
def test_binding(text: str, value: TypedValue, bound: str) -> None:
    assert bind(parse_filter(f"a eq {text}", parameters=True), {"x": value}) == parse_filter(f"a eq {bound}")


@pytest.mark.parametrize(
    ("text", "value", "says"),
    [
        ("{x}L", TypedValue(EdmType.STRING, "7"), "String does not become Int64"),
        ("{x:Int32}", TypedValue(EdmType.INT64, 2**40), "outside Int32"),
        ("{x+10}", NOON, "say its unit"),
        ("{x+10h}", INT, "a time cannot be added to Int32"),
        ("{x+0.5}", INT, "fraction"),
        ("datetime'{x}'", TypedValue(EdmType.STRING, "soon"), "not a date"),
        ("'{x}'", TypedValue(EdmType.BINARY, b""), "no text"),
        ("{xs}", INT, "did you mean 'x'?"),
    ],
)
def test_values_that_do_not_fit(text: str, value: TypedValue, says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)):
        bind(parse_filter(f"a eq {text}", parameters=True), {"x": value})


@given(trees(placeholders), st.data())
def test_binding_leaves_no_parameter_and_keeps_the_rest(tree: Filter, data: st.DataObject) -> None:
    suited = {n: TypedValue(EdmType.STRING, "v") for n in parameters(tree)}
    try:
        bound = bind(tree, suited)
    except UsageError:
        return
    assert parameters(bound) == ()
    assert properties(bound) == properties(tree)
    assert bind(bound, {}) == bound


@pytest.mark.parametrize(
    ("text", "fitted"),
    [
        ("d gt 300", "d gt 300.0"),
        ("l eq 5", "l eq 5L"),
        ("n eq 5L", "n eq 5"),
        ("n eq 3000000000", "n eq 3000000000"),
        ("d eq 9007199254740993", "d eq 9007199254740993"),
        ("n eq 5.0", "n eq 5.0"),
        ("s eq 5", "s eq 5"),
        ("other eq 5", "other eq 5"),
        ("not (d eq {x}) or (l lt {y+1} and d eq 1)", "not (d eq {x:Double}) or l lt {y+1}L and d eq 1.0"),
        ("t ge {t-1h} and t lt {t:DateTime}", "t ge datetime'{t-1h}' and t lt datetime'{t}'"),
        ("s eq {s}", "s eq '{s}'"),
    ],
)
def test_declared_constants_take_the_type_of_their_property(text: str, fitted: str) -> None:
    types = {t[0].lower(): t for t in EdmType if t.value not in ("Int32", "Int64", "DateTime")}
    types |= {"n": EdmType.INT32, "l": EdmType.INT64, "t": EdmType.DATETIME}
    assert fit_types(parse_filter(text, parameters=True), types) == parse_filter(fitted, parameters=True)


def test_an_offset_that_does_not_suit_its_property() -> None:
    with pytest.raises(UsageError, match="s holds String: a plain number"):
        fit_types(parse_filter("s lt {s+1}", parameters=True), {"s": EdmType.STRING})


def test_comparisons_that_never_hold() -> None:
    tree = parse_filter("n eq 5L and n eq 5 and s eq {x} and gone eq 1 and not (s eq 7)", parameters=True)
    types = {"n": EdmType.INT32, "s": EdmType.STRING}
    assert [format_filter(c) for c in mismatches(tree, types)] == ["n eq 5L", "s eq 7"]


# ---- shapes


@given(filters)
def test_a_shape_with_its_constants_is_the_filter(tree: Filter) -> None:
    text = format_filter(tree)
    shape, raw = normalise(text)
    values = {f"p{i}": parse_literal(r) for i, r in enumerate(raw)}
    assert bind(parse_filter(shape, parameters=True, limit=None), values) == tree


def test_the_shape_of_a_log_line() -> None:
    text = "PartitionKey eq 'it''s' and  n gt -5 and big le 3000000000 and (l eq 5L or d lt 1e3)"
    more = f" and t ge datetime'2020-01-01'\tand g eq guid'{GUID}' and b eq X'00' and a1 eq true "
    shape, raw = normalise(text + more)
    assert shape == (
        "PartitionKey eq {p0:String} and n gt {p1:Int32} and big le {p2:Int64} and (l eq {p3:Int64} or "
        "d lt {p4:Double}) and t ge {p5:DateTime} and g eq {p6:Guid} and b eq {p7:Binary} and a1 eq true"
    )
    assert raw == ("'it''s'", "-5", "3000000000", "5L", "1e3", "datetime'2020-01-01'", f"guid'{GUID}'", "X'00'")


@pytest.mark.parametrize("text", ["a eq-1", "a eq'x'and b eq'y'", "a eq 000000000000000000000005"])
def test_shapes_of_odd_texts_change_nothing(text: str) -> None:
    shape, raw = normalise(text)
    try:
        expected = parse_filter(text)
    except UsageError:
        with pytest.raises((UsageError, ValueError)):
            bind(parse_filter(shape, parameters=True), {f"p{i}": parse_literal(r) for i, r in enumerate(raw)})
    else:
        values = {f"p{i}": parse_literal(r) for i, r in enumerate(raw)}
        assert bind(parse_filter(shape, parameters=True), values) == expected


def test_the_vocabulary_loads_without_the_parser_generator() -> None:
    code = "import sys, pkadvisor.table.odata; sys.exit('lark' in sys.modules or 'polars' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("text", "shape", "literals"),
    [
        ("a eq true and b eq 1", "a eq {p0:Boolean} and b eq {p1:Int32}", ("true", "1")),
        ("b eq 'not true' and a eq false", "b eq {p0:String} and a eq {p1:Boolean}", ("'not true'", "false")),
        ("a eq true or b eq 1", "a eq true or b eq {p0:Int32}", ("1",)),
        ("not (a eq false)", "not (a eq false)", ()),
        ("a ne true", "a ne true", ()),
        ("a eq trueish", "a eq trueish", ()),
        ("beq true", "beq true", ()),
    ],
)
def test_booleans_are_constants_of_a_shape_where_a_conjunction_asks_for_them(
    text: str, shape: str, literals: tuple[str, ...]
) -> None:
    assert normalise(text) == (shape, literals)
