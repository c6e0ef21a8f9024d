"""The result of a review as one JSON document; every output of a review is made from it alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pkadvisor import __version__
from pkadvisor.report.documents.grounds import grounds_json
from pkadvisor.report.documents.stored import REVIEW
from pkadvisor.report.documents.values import Shown as Values
from pkadvisor.report.escapes import json_text
from pkadvisor.review.gate.changes import counts
from pkadvisor.review.gate.gate import Gate, ordered, told
from pkadvisor.review.views.wording import rows_looked_at

if TYPE_CHECKING:
    from pkadvisor.errors import AdvisorError
    from pkadvisor.review.gate.changes import DesignComparison, Metric, QueryChange
    from pkadvisor.review.gate.reviewed import DesignReview
    from pkadvisor.review.rules.rule import Rule
    from pkadvisor.review.views.findings import Finding, ShownFact
    from pkadvisor.review.views.views import TableView

SCHEMA_VERSION = "1.0"
HIDDEN = "(hidden)"


def build_review(
    reviews: Sequence[DesignReview],
    *,
    rules: Sequence[Rule],
    gate: Gate,
    redact: bool,
    removed: Sequence[tuple[str, tuple[str, ...]]] = (),
) -> dict[str, Any]:
    """The document; key order is fixed, and nothing in it depends on clock, folder or machine.

    ``removed``: design files that are gone, each with the tables that no reviewed design declares any more.
    """
    findings = [f for r in reviews for e in r.evaluations for f in e.findings]
    failed = not gate.passes(findings)
    broken = [r.error for r in reviews if r.error is not None]
    return {
        "document": REVIEW,
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "pkadvisor", "version": __version__},
        "outcome": "unreadable" if broken else "failed" if failed else "passed",
        "exit_code": max([1 if failed else 0, *(error.exit_code for error in broken)]),
        "redacted": redact,
        "gate": {"fail_on": str(gate.fail_on) if gate.fail_on else "never", "new_only": gate.new_only},
        "summary": summary(findings, gate),
        "designs": [design_json(r, gate, redact) for r in reviews],
        "designs_removed": [{"design": path, "tables": list(tables)} for path, tables in removed],
        "rules": [rule_json(rule) for rule in rules],
    }


def summary(findings: Sequence[Finding], gate: Gate) -> dict[str, int]:
    """Counts over what is told: suppressed and baselined findings are counted apart."""
    open_ = [f for f in findings if told(f)]
    return {
        "error": sum(f.severity == "error" for f in open_),
        "warning": sum(f.severity == "warning" for f in open_),
        "info": sum(f.severity == "info" for f in open_),
        "suppressed": sum(f.suppressed is not None for f in findings),
        "baselined": sum(f.baselined for f in findings),
        "new": sum(f.status == "new" for f in open_),
        "worse": sum(f.status == "worse" for f in open_),
        "unchanged": sum(f.status == "unchanged" for f in open_),
        "gating": sum(gate.stops(f) for f in findings),
    }


def design_json(review: DesignReview, gate: Gate, redact: bool) -> dict[str, Any]:
    """One design file."""
    findings = ordered(f for e in review.evaluations for f in e.findings)
    view = review.view
    return {
        "design": review.name,
        "error": None if review.error is None else error_json(review.error),
        "tables": [
            {
                "table": t.section.table,
                "kind": t.section.kind,
                "partition_key": t.raw_text(0, True) if t.scheme else None,
                "row_key": t.raw_text(0, False) if t.scheme else None,
                "has_data": t.has_data,
                "note": (t.why_not_priced if t.has_data else "") if t.scheme else "the design declares no keys",
                "estimated_from": rows_looked_at(t.population),
                "grounds": grounds_json(t.grounds, Values(redact)),
                "figures": _figures(t, redact),
            }
            for t in (view.tables if view else ())
        ],
        "findings": [finding_json(f, gate, redact) for f in findings],
        "evaluated": [
            {
                "rule": e.rule.id,
                "name": e.rule.name,
                "subjects": e.subjects,
                "findings": len(e.findings),
                "undecided": e.undecided,
                "missing": list(e.missing),
                "skipped": e.skipped,
            }
            for e in review.evaluations
        ],
        "diff": None if review.comparison is None else diff_json(review.comparison, findings, gate, redact),
    }


def _figures(view: TableView, redact: bool) -> dict[str, Any] | None:
    """What the keys in use cost; None where they are not priced."""
    if view.told is None or view.bench is None:
        return None
    from pkadvisor.report.documents.scheme_document import scheme_result

    return figures_of(scheme_result(view.told, view.bench.population, Values(redact), None, full=False))


def diff_json(comparison: DesignComparison, findings: Sequence[Finding], gate: Gate, redact: bool) -> dict[str, Any]:
    """What changed since the design that it is compared with; ``review.changes`` shows the shape."""
    return {
        "against": comparison.against,
        "same_load": True,
        "new_design": comparison.new_design,
        "profile_changed": comparison.profile_changed,
        "load_changed": comparison.load_changed,
        "notes": list(comparison.notes),
        "tables_added": list(comparison.tables_added),
        "tables_removed": list(comparison.tables_removed),
        "metrics": [_metric_json(m) for m in comparison.metrics],
        "load_metrics": [_metric_json(m) for m in comparison.load_metrics],
        "queries": [_query_json(q) for q in comparison.queries],
        "keys": [
            {
                "table": k.table,
                "kind": k.kind,
                "class": k.change,
                "entities": k.entities,
                "partition_key": list(k.partition_key),
                "row_key": list(k.row_key),
                "index_rows_added": list(k.index_rows_added),
                "index_rows_removed": list(k.index_rows_removed),
            }
            for k in comparison.keys
        ],
        "fixed": [finding_json(f, gate, redact) | {"gating": False} for f in ordered(comparison.fixed)],
        "counts": counts(findings, comparison.fixed),
    }


def _query_json(query: QueryChange) -> dict[str, Any]:
    before, after = query.before, query.after
    return {
        "table": query.table,
        "kind": query.kind,
        "name": query.name,
        "access_before": None if before is None else str(before.access),
        "access_after": None if after is None else str(after.access),
        "requests_before": None if before is None else before.requests,
        "requests_after": None if after is None else after.requests,
        "read_before": None if before is None else before.words,
        "read_after": None if after is None else after.words,
        "direction": query.direction,
    }


def _metric_json(metric: Metric) -> dict[str, Any]:
    return {
        "table": metric.table,
        "kind": metric.kind,
        "name": metric.name,
        "unit": metric.unit,
        "before": metric.before,
        "after": metric.after,
        "change": metric.change,
        "direction": metric.direction,
        "limit": metric.limit,
    }


def error_json(error: AdvisorError) -> dict[str, Any]:
    """Why a design could not be read."""
    return {
        "exit_code": error.exit_code,
        "what": error.what,
        "where": error.where,
        "excerpt": error.excerpt,
        "fix": error.fix,
    }


def finding_json(finding: Finding, gate: Gate, redact: bool) -> dict[str, Any]:
    """One finding."""
    suppressed = finding.suppressed
    place = finding.place
    return {
        "rule": finding.rule,
        "name": finding.name,
        "severity": str(finding.severity),
        "status": None if finding.status is None else str(finding.status),
        "gating": gate.stops(finding),
        "message": hidden_message(finding) if redact else finding.message,
        "table": finding.table,
        "kind": finding.kind,
        "subject": {"scope": finding.scope, "name": finding.subject, "path": finding.path},
        "place": {
            "line": place.line,
            "column": place.column,
            "end_line": place.end_line,
            "end_column": place.end_column,
            "excerpt": place.excerpt,
            "path": finding.pointed,
        },
        "measured": finding.measured,
        "limit": finding.limit,
        "unit": finding.unit,
        "before": finding.before,
        "facts": [_fact_json(s, redact) for s in finding.facts],
        "fix": finding.fix,
        "proposal": finding.proposal,
        "fingerprint": finding.fingerprint,
        "suppressed": None
        if suppressed is None
        else {"reason": suppressed.reason, "until": suppressed.until or None, "where": suppressed.where},
        "baselined": finding.baselined,
    }


def hidden_message(finding: Finding) -> str:
    """The message without values of the data. One or two characters are hidden only where they stand alone, for they
    are in every word."""
    quoted = [shown.value for shown in finding.facts if shown.from_data]
    values = {text for value in quoted for text in (value if isinstance(value, tuple) else (str(value),)) if text}
    message = finding.message
    for text in sorted(values, key=lambda v: (-len(v), v)):
        pattern = re.escape(text) if len(text) > 2 else rf"(?<!\w){re.escape(text)}(?!\w)"
        message = re.sub(pattern, HIDDEN, message)
    return message


def _fact_json(shown: ShownFact, redact: bool) -> dict[str, Any]:
    value = list(shown.value) if isinstance(shown.value, tuple) else shown.value
    return {
        "name": shown.name,
        "value": HIDDEN if redact and shown.from_data else value,
        "unit": shown.unit,
        "basis": str(shown.basis),
    }


def rule_json(rule: Rule) -> dict[str, Any]:
    """The page of a rule."""
    return {
        "id": rule.id,
        "name": rule.name,
        "title": rule.title,
        "severity": str(rule.severity),
        "levels": [str(level.severity) for level in rule.levels],
        "scope": str(rule.scope),
        "needs": [str(need) for need in rule.needs],
        "precision": rule.precision,
        "tags": list(rule.tags),
        "aliases": list(rule.aliases),
        "why": rule.why,
        "bad": rule.bad,
        "good": rule.good,
        "fix": rule.fix,
        "links": [{"title": link.title, "url": link.url} for link in rule.links],
        "unit": rule.unit,
        "ratchet": rule.ratchet,
        "builtin": rule.builtin,
    }


def dump(document: dict[str, Any]) -> str:
    """The document as the bytes of a file."""
    return json_text(document)


TERMS = (
    "smallest break factor",
    "break factor",
    "requests",
    "requests at peak",
    "entities counted",
    "hottest partition at peak",
    "latency against goal",
    "price",
)
"""Terms among the figures, by their names in a result."""


def figures_of(scheme: dict[str, Any]) -> dict[str, Any]:
    """The figures of a scheme as ``scheme_result`` wrote it; a term that it lacks is None."""
    terms = {term["name"]: term for term in scheme["terms"]}
    hot = scheme["hot_partition"]
    return {
        "hot_partition": None
        if hot is None
        else {name: hot[name] for name in ("partition_key", "entities_per_s_peak", "share")},
        "terms": [{n: terms[name][n] for n in ("name", "value", "unit")} for name in TERMS if name in terms],
        "break_cause": scheme["break_cause"],
        "first_break": scheme["first_break"],
        "classes": [{"name": c["name"], "latency_ms_p99": c["latency_ms_p99"]} for c in scheme["classes"]],
        "violations": scheme["violations"],
    }
