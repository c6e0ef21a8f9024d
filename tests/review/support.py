"""Designs reviewed from texts, for tests of rules, gate and formats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pkadvisor.design.budgets import parse_budgets
from pkadvisor.limits import default_limits
from pkadvisor.report.review_result import build_review
from pkadvisor.review.findings import Finding
from pkadvisor.review.gate import Gate
from pkadvisor.review.reviewed import DesignReview
from pkadvisor.review.rule import Case, Rule, load_rules
from pkadvisor.reviewer import review_text

NAME = "schema/design.yaml"


def reviewed(
    text: str,
    folder: Path,
    *,
    data: str = "",
    before: str = "",
    rules: tuple[Rule, ...] | None = None,
    budgets: tuple[str, ...] = (),
) -> DesignReview:
    """A design text under all rules; ``data`` is the text of a CSV file."""
    files: list[str] = []
    if data:
        path = folder / "data.csv"
        path.write_text(data.strip() + "\n", encoding="utf-8")
        files = [str(path)]
    chosen = load_rules() if rules is None else rules
    bounds = parse_budgets(budgets)
    return review_text(text, chosen, default_limits(), name=NAME, data=files, before=before, budgets=bounds)


def findings(
    text: str,
    folder: Path,
    *,
    data: str = "",
    before: str = "",
    rules: tuple[Rule, ...] | None = None,
    budgets: tuple[str, ...] = (),
) -> list[Finding]:
    """What is found in a design text."""
    made = reviewed(text, folder, data=data, before=before, rules=rules, budgets=budgets)
    return [f for e in made.evaluations for f in e.findings]


def document(text: str, folder: Path, *, data: str = "", gate: Gate | None = None) -> dict[str, Any]:
    """The result of a review of one design text."""
    made = reviewed(text, folder, data=data)
    return build_review([made], rules=load_rules(), gate=gate or Gate(), redact=False)


def of_case(rule: Rule, case: Case, folder: Path) -> list[Finding]:
    """What a rule finds in one of its own cases."""
    budgets = (case.budget,) if case.budget else ()
    found = findings(case.design, folder, data=case.data, before=case.before, rules=(rule,), budgets=budgets)
    return [f for f in found if not case.subject or f.subject == case.subject]
