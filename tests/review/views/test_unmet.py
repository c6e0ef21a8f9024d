"""Conditions on keys that no key meets: ranges against every short text, filters against templates."""

from __future__ import annotations

from itertools import product

import pytest

from pkadvisor.design.keys.transforms.languages import Run, exactly, may_meet
from pkadvisor.review.views.unmet import _between
from pkadvisor.table.edm import EdmType
from pkadvisor.table.odata import Comparison, Operator, TypedValue

TEXTS = [""] + ["".join(t) for n in (1, 2, 3) for t in product("ab", repeat=n)]
LETTERS = ((Run(frozenset("ab"), 0, 3),),)


def _compare(operator: Operator, text: str) -> Comparison:
    return Comparison("RowKey", operator, TypedValue(EdmType.STRING, text))


@pytest.mark.parametrize(
    ("lower", "upper"), [(a, b) for a in (Operator.GE, Operator.GT) for b in (Operator.LT, Operator.LE)]
)
def test_a_range_holds_the_texts_between_its_bounds(lower: Operator, upper: Operator) -> None:
    for low, high in product(TEXTS, TEXTS):
        between = _between([_compare(lower, low), _compare(upper, high)], (LETTERS,))
        if between is None:
            continue
        for text in TEXTS:
            above = not low or text > low or (text == low and lower is Operator.GE)
            below = not high or text < high or (text == high and upper is Operator.LE)
            assert may_meet((exactly(text),), (between,)) == (above and below), (low, high, text)


def test_one_bound_alone_is_a_range() -> None:
    above = _between([_compare(Operator.GE, "b")], (LETTERS,))
    below = _between([_compare(Operator.LT, "ab")], (LETTERS,))
    assert above is not None
    assert below is not None
    assert [t for t in TEXTS if may_meet((exactly(t),), (above,))] == [t for t in TEXTS if t >= "b"]
    assert [t for t in TEXTS if may_meet((exactly(t),), (below,))] == [t for t in TEXTS if t < "ab"]
