"""Every rule on its own cases: it fires where it says so, with that severity, and is silent where it must be."""

from __future__ import annotations

from pathlib import Path

import pytest

from pkadvisor.review.rules.rule import Case, Rule, load_rules
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
