"""PK111: the hard constraints for which ``analyze`` refuses the declared keys, where no other rule tells them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pkadvisor.design.load.estimates import Violation
from pkadvisor.observe.workload import Basis
from pkadvisor.review.rules.builtin import builtin_finding
from pkadvisor.review.rules.evaluate import Evaluation
from pkadvisor.review.rules.rule import Rule
from pkadvisor.review.views.findings import Finding, Severity, ShownFact
from pkadvisor.review.views.views import DesignView, TableView

CONSTRAINT = "PK111"
TOLD_BY = {
    "hot-partition": ("PK103", "PK109", "PK501"),
    "hot-entity": ("PK109",),
    "append-only": ("PK101",),
    "hot-range": ("PK108",),
    "account": ("PK107",),
    "not-unique": ("PK307", "PK308", "PK311", "PK405"),
    "key-too-long": ("PK302",),
    "isolation": ("PK704",),
    "secret-shown": ("PK702",),
    "entity-too-large": ("PK603",),
    "transaction-broken": ("PK401",),
    "transaction-too-large": ("PK402",),
    "counter": ("PK309",),
    "hot-entity-contention": ("PK407",),
    "budget": ("PK601",),
}
"""Rules that tell a constraint of that code in words of their own."""


def evaluate_constraints(
    rules: Sequence[Rule], design: DesignView, evaluations: Sequence[Evaluation]
) -> tuple[Evaluation, ...]:
    """What the analysis refuses of the declared keys, beside what the other rules ``evaluations``.

    Of a rule that is not asked nobody wants to hear, so its constraints are not told here either.
    """
    rule = next((rule for rule in rules if rule.id == CONSTRAINT), None)
    if rule is None:
        return ()
    priced = [view for view in design.tables if view.has_data and view.estimate is not None]
    asked = {rule.id for rule in rules}
    findings = tuple(f for view in priced for f in _of_table(rule, design, view, asked, evaluations))
    why = "" if priced else "needs a profile (--profile) or data (--data)"
    return (Evaluation(rule, len(priced), findings, 0, (), why),)


def _of_table(
    rule: Rule, design: DesignView, view: TableView, asked: set[str], evaluations: Sequence[Evaluation]
) -> Iterator[Finding]:
    section = view.section
    errors = {
        f.rule
        for evaluation in evaluations
        for f in evaluation.findings
        if f.severity is Severity.ERROR and f.table == section.table and f.kind in (None, section.kind)
    }
    path = ("tables", section.table, *(("kinds", section.kind) if section.kind else ()))
    name = f"{section.table}.{section.kind}" if section.kind else section.table
    sure = all(ground.carries for ground in view.grounds)
    for broken in view.refused:
        if not _told_elsewhere(broken, errors, asked):
            severity = Severity.ERROR if sure else Severity.WARNING
            message = f"'advisor analyze' refuses these keys: {broken.message}"
            finding = builtin_finding(rule, design, message, path=path, subject=name, severity=severity)
            keys = ShownFact("table.refused_keys", broken.keys, "", Basis.ESTIMATED, from_data=True)
            yield replace(finding, kind=section.kind, facts=(keys,) if broken.keys else ())


def _told_elsewhere(broken: Violation, errors: set[str], asked: set[str]) -> bool:
    tellers = set(TOLD_BY.get(broken.code, ()))
    return bool(tellers & errors or tellers - asked)
