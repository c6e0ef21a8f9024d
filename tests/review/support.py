"""Designs reviewed from texts, for tests of rules, gate and formats."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from pkadvisor.design.cost.budgets import parse_budgets
from pkadvisor.design.load.estimates import Budget
from pkadvisor.documents.review import ReviewDocument
from pkadvisor.limits import Limits, default_limits
from pkadvisor.report.documents.review_result import build_review
from pkadvisor.review.gate.changes import DesignReview
from pkadvisor.review.gate.gate import Gate
from pkadvisor.review.rules.evaluate import evaluate
from pkadvisor.review.rules.rule import Case, Rule, load_rules
from pkadvisor.review.views.findings import Finding
from pkadvisor.review.views.stressed import Stressed, keys_of
from pkadvisor.review.views.views import TableView
from pkadvisor.usecases.review.opening import open_design

NAME = "schema/design.yaml"


def reviewed(
    text: str,
    folder: Path,
    *,
    data: str = "",
    before: str = "",
    rules: tuple[Rule, ...] | None = None,
    budgets: tuple[str, ...] = (),
    stress: str = "",
) -> DesignReview:
    """A design text under all rules; ``data`` is the text of a CSV file, ``stress`` what was measured of its tables."""
    files: list[str] = []
    if data:
        path = folder / "data.csv"
        path.write_text(data.strip() + "\n", encoding="utf-8")
        files = [str(path)]
    chosen = load_rules() if rules is None else rules
    bounds = parse_budgets(budgets)
    if stress:
        view = open_design(NAME, text, default_limits(), data=files, budgets=bounds)
        view.stressed = tuple(stressed(table, stress) for table in view.tables if table.scheme is not None)
        return DesignReview(NAME, view, evaluate(chosen, view))
    return review_text(text, chosen, default_limits(), name=NAME, data=files, before=before, budgets=bounds)


def review_text(
    text: str,
    rules: Sequence[Rule],
    limits: Limits,
    *,
    name: str,
    data: Sequence[str] = (),
    before: str = "",
    budgets: tuple[Budget, ...] = (),
) -> DesignReview:
    """One design given as text under the name of a file, against ``before`` where that is given."""
    view = open_design(name, text, limits, data=data, budgets=budgets)
    if before:
        view.compare_with(open_design(name, before, limits, data=data))
    return DesignReview(name, view, evaluate(rules, view, compared=bool(before)))


TEXTS = ("level", "new_table_level", "load")


def stressed(table: TableView, stress: str) -> Stressed:
    """What a stress test measured of a table under its keys, as the cases of rules write it."""
    assert table.scheme is not None
    pairs = (pair.partition("=") for pair in stress.split(","))
    told = {name.strip(): value.strip() if name.strip() in TEXTS else float(value) for name, _, value in pairs}
    calm = {"throttled_share": 0.0, "cold_throttled_share": 0.0, "lost_share": 0.0, "hottest_times_target": 0.5}
    known = {**calm, "latency_ms_p99": 20.0, "break_proved": True, "load": "the load", **told}
    name, kind = table.section.table, table.section.kind
    return Stressed(table=name, kind=kind, keys=keys_of(table.scheme), **known)  # type: ignore[arg-type]


def findings(
    text: str,
    folder: Path,
    *,
    data: str = "",
    before: str = "",
    rules: tuple[Rule, ...] | None = None,
    budgets: tuple[str, ...] = (),
    stress: str = "",
) -> list[Finding]:
    """What is found in a design text."""
    made = reviewed(text, folder, data=data, before=before, rules=rules, budgets=budgets, stress=stress)
    return [f for e in made.evaluations for f in e.findings]


def document(text: str, folder: Path, *, data: str = "", gate: Gate | None = None) -> dict[str, Any]:
    """The result of a review of one design text."""
    made = reviewed(text, folder, data=data)
    return as_dict(build_review([made], rules=load_rules(), gate=gate or Gate(), redact=False))


def as_dict(found: ReviewDocument) -> dict[str, Any]:
    """A document as it is written."""
    made: dict[str, Any] = msgspec.to_builtins(found)
    return made


def of_case(rule: Rule, case: Case, folder: Path) -> list[Finding]:
    """What a rule finds in one of its own cases."""
    budgets = (case.budget,) if case.budget else ()
    made = reviewed(
        case.design,
        folder,
        data=case.data,
        before=case.before,
        rules=(rule,),
        budgets=budgets,
        stress=case.stress,
    )
    found = [f for e in made.evaluations for f in e.findings]
    return [f for f in found if not case.subject or f.subject == case.subject]
