"""The result of a review as its document; every output of a review is made from it alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec import convert, to_builtins

from pkadvisor import __version__
from pkadvisor.documents.analysis import (
    AnalysisFigureClass,
    AnalysisFigureHotPartition,
    AnalysisFigures,
    AnalysisFigureTerm,
)
from pkadvisor.documents.analysis_scheme import AnalysisScheme
from pkadvisor.documents.part import Tool, part_of, word
from pkadvisor.documents.review import (
    ReviewCount,
    ReviewDesign,
    ReviewDesignsRemoved,
    ReviewDiff,
    ReviewDocument,
    ReviewError,
    ReviewEvaluation,
    ReviewFact,
    ReviewFinding,
    ReviewGate,
    ReviewKey,
    ReviewLink,
    ReviewMetric,
    ReviewPlace,
    ReviewQuery,
    ReviewRule,
    ReviewSubject,
    ReviewSummary,
    ReviewSuppressed,
    ReviewTable,
)
from pkadvisor.report.documents.scheme_document import scheme_document
from pkadvisor.report.documents.values import Shown as Values
from pkadvisor.report.documents.values import grounds_json
from pkadvisor.report.escapes import json_text
from pkadvisor.review.gate.changes import DesignComparison, DesignReview, QueryChange, counts
from pkadvisor.review.gate.gate import Gate, ordered, told
from pkadvisor.review.rules.rule import Rule
from pkadvisor.review.views.findings import Finding, ShownFact, rows_looked_at
from pkadvisor.review.views.views import TableView

HIDDEN = "(hidden)"


def build_review(
    reviews: Sequence[DesignReview],
    *,
    rules: Sequence[Rule],
    gate: Gate,
    redact: bool,
    removed: Sequence[tuple[str, tuple[str, ...]]] = (),
) -> ReviewDocument:
    """The document; nothing in it depends on clock, folder or machine.

    ``removed``: design files that are gone, each with the tables that no reviewed design declares any more.
    """
    findings = [f for r in reviews for e in r.evaluations for f in e.findings]
    failed = not gate.passes(findings)
    broken = [r.error for r in reviews if r.error is not None]
    exit_code: Any = max([1 if failed else 0, *(error.exit_code for error in broken)])
    return ReviewDocument(
        document="pkadvisor review",
        schema_version="1.0",
        tool=Tool(name="pkadvisor", version=__version__),
        outcome="unreadable" if broken else "failed" if failed else "passed",
        exit_code=exit_code,
        redacted=redact,
        gate=ReviewGate(fail_on=word(gate.fail_on or "never"), new_only=gate.new_only),
        summary=summary(findings, gate),
        designs=[_design(r, gate, redact) for r in reviews],
        designs_removed=[ReviewDesignsRemoved(design=path, tables=list(tables)) for path, tables in removed],
        rules=[_rule(rule) for rule in rules],
    )


def summary(findings: Sequence[Finding], gate: Gate) -> ReviewSummary:
    """Counts over what is told: suppressed and baselined findings are counted apart."""
    open_ = [f for f in findings if told(f)]
    return ReviewSummary(
        error=sum(f.severity == "error" for f in open_),
        warning=sum(f.severity == "warning" for f in open_),
        info=sum(f.severity == "info" for f in open_),
        suppressed=sum(f.suppressed is not None for f in findings),
        baselined=sum(f.baselined for f in findings),
        new=sum(f.status == "new" for f in open_),
        worse=sum(f.status == "worse" for f in open_),
        unchanged=sum(f.status == "unchanged" for f in open_),
        gating=sum(gate.stops(f) for f in findings),
    )


def _design(review: DesignReview, gate: Gate, redact: bool) -> ReviewDesign:
    """One design file."""
    findings = ordered(f for e in review.evaluations for f in e.findings)
    return ReviewDesign(
        design=review.name,
        error=None if review.error is None else convert(review.error, ReviewError, from_attributes=True),
        tables=[_table(table, redact) for table in (review.view.tables if review.view else ())],
        findings=[_finding(f, redact, gating=gate.stops(f)) for f in findings],
        evaluated=[
            part_of(ReviewEvaluation, e, rule=e.rule.id, name=e.rule.name, findings=len(e.findings))
            for e in review.evaluations
        ],
        diff=None if review.comparison is None else _diff(review.comparison, findings, redact),
    )


def _table(view: TableView, redact: bool) -> ReviewTable:
    return ReviewTable(
        table=view.section.table,
        kind=view.section.kind,
        partition_key=view.raw_text(0, True) if view.scheme else None,
        row_key=view.raw_text(0, False) if view.scheme else None,
        has_data=view.has_data,
        note=(view.why_not_priced if view.has_data else "") if view.scheme else "the design declares no keys",
        estimated_from=rows_looked_at(view.population),
        grounds=grounds_json(view.grounds, Values(redact)),
        figures=_figures(view, redact),
    )


def _figures(view: TableView, redact: bool) -> AnalysisFigures | None:
    """What the keys in use cost; None where they are not priced."""
    if view.told is None or view.bench is None:
        return None
    return figures_of(scheme_document(view.told, Values(redact), None))


def _diff(comparison: DesignComparison, findings: Sequence[Finding], redact: bool) -> ReviewDiff:
    """What changed since the design that it is compared with; both are under the load of the change."""
    return part_of(
        ReviewDiff,
        comparison,
        same_load=True,
        metrics=convert(comparison.metrics, list[ReviewMetric], from_attributes=True),
        load_metrics=convert(comparison.load_metrics, list[ReviewMetric], from_attributes=True),
        queries=[_query(q) for q in comparison.queries],
        keys=[part_of(ReviewKey, key, class_=word(key.change)) for key in comparison.keys],
        fixed=[_finding(f, redact, gating=False) for f in ordered(comparison.fixed)],
        counts=ReviewCount(**counts(findings, comparison.fixed)),
    )


def _query(query: QueryChange) -> ReviewQuery:
    before, after = query.before, query.after
    return part_of(
        ReviewQuery,
        query,
        access_before=None if before is None else str(before.access),
        access_after=None if after is None else str(after.access),
        requests_before=None if before is None else before.requests,
        requests_after=None if after is None else after.requests,
        read_before=None if before is None else before.words,
        read_after=None if after is None else after.words,
    )


def _finding(finding: Finding, redact: bool, *, gating: bool) -> ReviewFinding:
    suppressed = finding.suppressed
    return part_of(
        ReviewFinding,
        finding,
        gating=gating,
        message=hidden_message(finding) if redact else finding.message,
        subject=ReviewSubject(scope=word(finding.scope), name=finding.subject, path=finding.path),
        place=part_of(ReviewPlace, finding.place, path=finding.pointed),
        measured=finding.measured,
        limit=finding.limit,
        before=finding.before,
        facts=[_fact(fact, redact) for fact in finding.facts],
        suppressed=None
        if suppressed is None
        else ReviewSuppressed(reason=suppressed.reason, until=suppressed.until or None, where=suppressed.where),
    )


def _fact(shown: ShownFact, redact: bool) -> ReviewFact:
    value = list(shown.value) if isinstance(shown.value, tuple) else shown.value
    hidden = HIDDEN if redact and shown.from_data else value
    return ReviewFact(name=shown.name, value=hidden, unit=shown.unit, basis=word(shown.basis))


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


def _rule(rule: Rule) -> ReviewRule:
    """The page of a rule."""
    return part_of(
        ReviewRule,
        rule,
        levels=[word(level.severity) for level in rule.levels],
        links=[part_of(ReviewLink, link) for link in rule.links],
    )


def dump(document: ReviewDocument) -> str:
    """The document as the bytes of a file."""
    return json_text(to_builtins(document))


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


def figures_of(scheme: AnalysisScheme) -> AnalysisFigures:
    """The figures of a scheme that every command tells; a term that it lacks is left out."""
    terms, hot = {term.name: term for term in scheme.terms}, scheme.hot_partition
    return AnalysisFigures(
        hot_partition=None
        if hot is None
        else AnalysisFigureHotPartition(
            partition_key=hot.partition_key, entities_per_s_peak=hot.entities_per_s_peak, share=hot.share
        ),
        terms=[
            AnalysisFigureTerm(name=name, value=term.value, unit=term.unit)
            for name in TERMS
            if (term := terms.get(name))
        ],
        break_cause=scheme.break_cause,
        first_break=scheme.first_break or None,
        classes=[AnalysisFigureClass(name=c.name, latency_ms_p99=c.latency_ms_p99) for c in scheme.classes],
        violations=scheme.violations,
    )
