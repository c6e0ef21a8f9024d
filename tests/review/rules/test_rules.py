"""Every rule on its own cases: it fires where it says so, with that severity, and is silent where it must be."""

from __future__ import annotations

from pathlib import Path

import pytest

from pkadvisor.review.rules.evaluate import number_text
from pkadvisor.review.rules.rule import Case, Rule, load_rules, placeholders
from tests.review.support import of_case

RULES = load_rules()
CASES = [(rule, number, case) for rule in RULES if not rule.builtin for number, case in enumerate(rule.cases, 1)]


@pytest.mark.parametrize(("rule", "number", "case"), CASES, ids=[f"{r.id}-{n}" for r, n, _ in CASES])
def test_a_rule_decides_its_own_cases(rule: Rule, number: int, case: Case, tmp_path: Path) -> None:
    found = of_case(rule, case, tmp_path)
    if case.severity is None:
        assert not found, f"{rule.id} is to be silent on its case {number}: {found[0].message}"
        return
    assert [f.severity for f in found[:1]] == [case.severity], f"{rule.id} on its case {number}"
    assert case.says in found[0].message


@pytest.mark.parametrize("rule", [r for r in RULES if not r.builtin], ids=lambda r: r.id)
def test_each_level_of_a_rule_has_a_case_that_reaches_it_and_one_passes(rule: Rule) -> None:
    reached = {case.severity for case in rule.cases}
    assert None in reached, f"{rule.id} has no case on which it is silent"
    assert {level.severity for level in rule.levels} <= reached


@pytest.mark.parametrize("rule", [r for r in RULES if not r.builtin], ids=lambda r: r.id)
def test_the_number_of_a_level_is_one_of_which_its_condition_or_message_speaks(rule: Rule) -> None:
    for level in rule.levels:
        told = {*level.when.names, *placeholders(level.message)}
        names = {n for n in (level.measured.names if level.measured else ()) if not n.startswith("limit.")}
        assert not names or told & {*names, "measured", "times"}, level.message


def test_a_batch_of_too_many_entities_is_measured_in_entities(tmp_path: Path) -> None:
    (rule,) = [r for r in RULES if r.id == "PK402"]
    found = of_case(rule, rule.cases[0], tmp_path)[0]
    assert (found.measured, found.limit, found.unit) == (250, 100, "entities")


def test_what_is_never_deleted_is_measured_by_what_the_message_says(tmp_path: Path) -> None:
    (rule,) = [r for r in RULES if r.id == "PK502"]
    for case in (c for c in rule.cases if c.severity):
        found = of_case(rule, case, tmp_path)[0]
        assert found.measured is not None and number_text(found.measured, found.unit) in found.message
