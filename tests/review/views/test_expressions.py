"""Conditions that are decided without CEL say what it says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.review.facts import language, types_for
from pkadvisor.review.rules.rule import load_rules
from pkadvisor.review.views import expressions
from pkadvisor.review.views.expressions import Expression, FactType, Value
from pkadvisor.review.views.subjects import Scope

CONDITIONS = [(rule.scope, level.when) for rule in load_rules(cases=False) for level in rule.levels]
VALUES = {
    FactType.BOOL: st.booleans(),
    FactType.NUMBER: st.one_of(st.sampled_from([0.0, 1.0, 2.0, 3.0, 1000.0]), st.floats()),
    FactType.TEXT: st.sampled_from(["", "value", "hash", "row range", "partition scan", "none", "personal"]),
    FactType.TEXTS: st.lists(st.sampled_from(["a", "b"]), max_size=2).map(tuple),
}


def by_cel_alone(expression: Expression, facts: dict[str, Value]) -> bool | float | None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expressions, "_conditions", lambda _: ())
        return expression.value(facts)


@given(st.sampled_from(CONDITIONS), st.data())
def test_a_condition_is_what_cel_says(condition: tuple[Scope, Expression], data: st.DataObject) -> None:
    scope, expression = condition
    known = data.draw(st.lists(st.booleans(), min_size=len(expression.names), max_size=len(expression.names)))
    names = [name for name, is_known in zip(expression.names, known, strict=True) if is_known]
    facts = {name: data.draw(VALUES[types_for(scope)[name]]) for name in names}
    assert expression.value(facts) == by_cel_alone(expression, facts)


@pytest.mark.parametrize(
    ("text", "decided"),
    [
        ("key.append_only && key.partitions > 2.0", 2),
        ("!key.append_only && (key.append_only || key.partitions > 2.0)", 1),
        ("key.append_only || key.partitions > 2.0", 0),
        ("key.append_only ? key.append_only : key.partitions > 2.0 && key.append_only", 0),
        ("table.growth_of == 'a && b' && table.growth_of in ['a', 'b']", 1),
        ("key.partitions * 2.0 > 1.0", 0),
    ],
)
def test_only_conditions_over_one_fact_that_all_must_hold_are_decided_here(text: str, decided: int) -> None:
    language(Scope.KEY).compile(text, FactType.BOOL)
    assert len(expressions._conditions(text)) == decided
