"""Sections of a review: the verdict of the gate, findings worst first, and what stands apart from them."""

from __future__ import annotations

import shlex
from typing import Any

from pkadvisor.documents.review import ReviewDocument, ReviewFinding
from pkadvisor.numbers import plural
from pkadvisor.report import review_words
from pkadvisor.report.escapes import clean
from pkadvisor.report.html.advice import grounds_of
from pkadvisor.report.html.place import Context, Missing, Places
from pkadvisor.report.html.tables import (
    Cell,
    PageRow,
    Table,
    below,
    code,
    figure,
    mark,
    place,
    short,
    table,
    together,
    words,
)
from pkadvisor.report.summary.verdicts import table_title

WORDS = {
    "passed": ("GATE PASSED", "good"),
    "failed": ("GATE FAILED", "bad"),
    "unreadable": ("NOT REVIEWED", "bad"),
}
MOODS = {"error": "bad", "warning": "warn", "info": "info"}
STATUS = {"new": "warn", "worse": "bad", "unchanged": "info"}
EXCERPT_SHOWN = 400
"""Characters of a line of a design that stand beside a finding."""


# -- verdict -----------------------------------------------------------------------------------------------------------


def verdict(document: ReviewDocument, places: Places) -> Context:
    """Whether the gate lets the designs pass, how much was found, what stops them, and which keys they declare."""
    word, mood = WORDS[document.outcome]
    if review_words.is_gate_off(document):
        word, mood = "GATE OFF", "warn"
    summary = document.summary
    tiles = [
        ("Errors", "error", "bad"),
        ("Warnings", "warning", "warn"),
        ("Infos", "info", ""),
        ("Fail the gate", "gating", "bad"),
        ("Suppressed", "suppressed", ""),
        ("In the baseline", "baselined", ""),
    ]
    if any(design.diff for design in document.designs):
        tiles += [("New", "new", "warn"), ("Worse", "worse", "bad")]
    return {
        "word": word,
        "mood": mood,
        "sentence": review_words.counts(document),
        "compared": review_words.compared(document),
        "tiles": [
            {
                "label": label,
                "count": places.figure(summary, member, "whole"),
                "mood": tile_mood if getattr(summary, member) else "",
            }
            for label, member, tile_mood in tiles
        ],
        "stopping": [_headline(name, f) for name, f in review_words.open_findings(document) if f.gating],
        "unreadable": review_words.reading_errors(document),
        "designs": _designs(document),
        "rests_on": _rests_on(document),
        "removed": review_words.removed(document),
    }


def _headline(name: str, finding: ReviewFinding) -> dict[str, str]:
    return {
        "rule": f"{finding.rule} {finding.name}",
        "place": place_of(name, finding),
        "message": finding.message,
        "fix": finding.fix,
    }


def place_of(name: str, finding: ReviewFinding) -> str:
    """``design.yaml:12:5``."""
    return f"{name}:{finding.place.line}:{finding.place.column}"


def _rests_on(document: ReviewDocument) -> list[tuple[str, list[dict[str, Any]]]]:
    """What the figures of each table with data rest on."""
    tables = [(table_title(t), grounds_of(t.grounds)) for d in document.designs for t in d.tables]
    return [(name, grounds) for name, grounds in tables if grounds]


def _designs(document: ReviewDocument) -> Table:
    """The keys that were reviewed."""
    rows = [
        (
            code(design.design),
            words(table_title(t)),
            _key(t.partition_key),
            _key(t.row_key),
            words("data" if t.has_data else "the design alone"),
            words(t.note),
        )
        for design in document.designs
        for t in design.tables
    ]
    heads = ("Design", "Table", "PartitionKey", "RowKey", "Reviewed on", "Note")
    return table("Reviewed keys", heads, rows)


def _key(key: str | None) -> Cell:
    return words("none declared") if key is None else code(key or "''")


# -- findings ----------------------------------------------------------------------------------------------------------


def findings(document: ReviewDocument, places: Places) -> Context:
    """What is wrong: severity, rule, evidence, place and fix; what is suppressed or known before is folded."""
    every = review_words.worst_first(document)
    open_ = [(name, f) for name, f in every if review_words.is_open(f)]
    suppressed = [(name, f) for name, f in every if f.suppressed]
    known = [(name, f) for name, f in every if not f.suppressed and not review_words.is_open(f)]
    fixed = review_words.fixed_findings(document)
    if not (open_ or suppressed or known or fixed):
        return Missing("There is no finding: every rule that could run is kept.")
    counts = {word: sum(1 for _, f in open_ if f.severity == word) for word in review_words.SEVERITIES}
    return {
        "counts": [(word, count) for word, count in counts.items() if count],
        "open": _findings("Findings", open_, places),
        "suppressed": _suppressed(suppressed),
        "known": _findings("Findings of the baseline", known, places),
        "fixed": _findings("Findings that are gone", fixed, places),
        "numbers": (len(suppressed), len(known), len(fixed)),
    }


def _findings(caption: str, entries: list[tuple[str, ReviewFinding]], places: Places) -> Table:
    rows = [
        PageRow(
            (
                mark(finding.severity, MOODS[finding.severity]),
                _rule(finding),
                _evidence(finding, places),
                place(place_of(name, finding)),
                _fix(finding),
            ),
            kept=(("severity", finding.severity),),
        )
        for name, finding in entries
    ]
    heads = ("Severity", "Rule", "Evidence", "Place", "Fix")
    filters = "severity" if len({f.severity for _, f in entries}) > 1 else ""
    return table(caption, heads, rows, sorts=True, filters=filters)


def _rule(finding: ReviewFinding) -> Cell:
    shown = mark(finding.status, STATUS[finding.status]) if finding.status else words("")
    stops = mark("fails the gate", "bad") if finding.gating else words("")
    return below(together(short(finding.rule), words(finding.name)), shown, stops)


def _evidence(finding: ReviewFinding, places: Places) -> Cell:
    """What was found: the sentence, the number beside its limit, whose it is, and the line of the design."""
    line = clean(finding.place.excerpt).strip()
    shown = line if len(line) <= EXCERPT_SHOWN else f"{line[:EXCERPT_SHOWN]}…"
    owner = review_words.owner(finding)
    subject = finding.subject.name
    whose = (words(f"{owner}:"),) if owner else ()
    return below(
        words(finding.message),
        together(*_numbers(finding, places)),
        together(*whose, code(subject)) if subject and subject != owner else words(""),
        code(shown) if shown and shown != subject else words(""),
    )


def _numbers(finding: ReviewFinding, places: Places) -> list[Cell]:
    """``Measured 3,400 entities/s (declared), limit 2,000 entities/s, before 900 entities/s.``"""
    if finding.measured is None:
        return []
    form, unit = form_of(finding.unit)

    def quantity(member: str) -> list[Cell]:
        return [figure(places.figure(finding, member, form)), words(unit)]

    basis = review_words.basis(finding)
    cells = [words("Measured"), *quantity("measured"), words(f"({basis})" if basis else "")]
    if finding.limit is not None:
        cells += [words("· limit"), *quantity("limit")]
    if finding.before is not None and finding.before != finding.measured:
        cells += [words("· before"), *quantity("before")]
    return cells


def form_of(unit: str) -> tuple[str, str]:
    """The form in which a number of a unit is written, and what of the unit is left to write behind it."""
    head = unit.split(" ")[0]
    if head == "share":
        return "percent", ""
    if head == "x":
        return "ratio", ""
    if unit == "ms":
        return "ms", ""
    return "amount", unit


def _fix(finding: ReviewFinding) -> Cell:
    proposal = finding.proposal
    explain = code(f"advisor explain {finding.rule}")
    instead = together(words("Take instead:"), code(proposal)) if proposal else words("")
    return below(words(finding.fix), instead, explain)


def _suppressed(entries: list[tuple[str, ReviewFinding]]) -> Table:
    rows = [
        (
            mark(finding.severity, MOODS[finding.severity]),
            _rule(finding),
            words(finding.message),
            place(place_of(name, finding)),
            words(suppressed.reason),
            words(suppressed.until or "no end"),
            code(suppressed.where),
        )
        for name, finding in entries
        if (suppressed := finding.suppressed)
    ]
    heads = ("Severity", "Rule", "Evidence", "Place", "Reason", "Until", "Suppressed in")
    return table("Suppressed findings", heads, rows)


# -- rules -------------------------------------------------------------------------------------------------------------


def rules(document: ReviewDocument, places: Places) -> Context:
    """The rules of which something was found: why they are there, and keys that break and keep them."""
    ids = {f.rule for d in document.designs for f in d.findings}
    pages = [rule for rule in document.rules if rule.id in ids]
    if not pages:
        return Missing("No rule was broken.")
    return {"rules": pages}


# -- method ------------------------------------------------------------------------------------------------------------


def method(document: ReviewDocument, places: Places) -> Context:
    """How many rules were asked of what, which could not be, and by what the gate decides."""
    entries = [(design, entry) for design in document.designs for entry in design.evaluated]
    asked = {entry.rule for _, entry in entries if not entry.skipped}
    reasons = review_words.skipped_rules(document)
    undecided = [
        (
            code(entry.rule),
            words(entry.name),
            code(design.design),
            figure(places.figure(entry, "undecided", "whole")),
            words(", ".join(entry.missing)),
        )
        for design, entry in entries
        if entry.undecided
    ]
    return {
        "asked": plural(len(asked), "rule"),
        "of": plural(len(document.rules), "rule"),
        "designs": plural(len(document.designs), "design"),
        "skipped": [(review_words.skipped_line(reason, ids), ", ".join(ids)) for reason, ids in reasons.items()],
        "undecided": table(
            "Rules that could not be decided",
            ("Rule", "Name", "Design", "Times", "Missing"),
            undecided,
            numeric=(3,),
        ),
    }


def reproduce(document: ReviewDocument, places: Places) -> Context:
    """The command and the version."""
    gate = document.gate
    parts = ["advisor", "review", *(design.design for design in document.designs)]
    against = list(dict.fromkeys(d.diff.against for d in document.designs if d.diff))
    parts += ["--fail-on", gate.fail_on] if gate.fail_on != "error" else []
    parts += ["--new-only"] if gate.new_only else []
    return {
        "command": shlex.join(parts),
        "against": against,
        "data": any(t.has_data for design in document.designs for t in design.tables),
    }
