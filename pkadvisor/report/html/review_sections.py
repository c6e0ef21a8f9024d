"""Sections of a review: the verdict of the gate, findings worst first, and what stands apart from them."""

from __future__ import annotations

import shlex
from typing import Any

from pkadvisor.documents.review import ReviewDiff, ReviewDocument, ReviewFinding, ReviewMetric
from pkadvisor.numbers import plural
from pkadvisor.report import review_words
from pkadvisor.report.escapes import clean
from pkadvisor.report.html.advice import grounds_of
from pkadvisor.report.html.place import Context, Missing, Places
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
        "reviewed": [(design.design, table_title(t), t) for design in document.designs for t in design.tables],
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
        "open": open_,
        "suppressed": suppressed,
        "known": known,
        "fixed": fixed,
        "moods": MOODS | STATUS,
        "said": review_words,
        "place_of": place_of,
        "form_of": form_of,
        "excerpt_of": _excerpt,
    }


def _excerpt(finding: ReviewFinding) -> str:
    """The line of the design, without what is too long to stand beside a finding."""
    line = clean(finding.place.excerpt).strip()
    return line if len(line) <= EXCERPT_SHOWN else f"{line[:EXCERPT_SHOWN]}…"


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
    return {
        "asked": plural(len(asked), "rule"),
        "of": plural(len(document.rules), "rule"),
        "designs": plural(len(document.designs), "design"),
        "skipped": [(review_words.skipped_line(reason, ids), ", ".join(ids)) for reason, ids in reasons.items()],
        "undecided": [(design.design, entry) for design, entry in entries if entry.undecided],
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


# -- The section of a review on what changed: keys, numbers and queries of each design against the older one.


CHANGE_MOODS = {"worse": "bad", "better": "good"}
ORDER = {"worse": 0, "unknown": 1, "better": 2, "same": 3}


def changes(document: ReviewDocument, places: Places) -> Context:
    """Every design that was compared with another, the ones with regressions first."""
    compared = [(design.design, design.diff) for design in document.designs if design.diff]
    if not compared:
        return Missing("Nothing to compare with: add --against OLD.yaml or --against-ref main.")
    parts = [_changed(name, diff) for name, diff in compared]
    return {
        "parts": sorted(parts, key=lambda part: not part["worse"]),
        "worse": sum(part["worse"] for part in parts),
        "sentence": review_words.compared(document),
        "said": review_words,
        "form_of": form_of,
        "moods": CHANGE_MOODS,
    }


def _changed(name: str, diff: ReviewDiff) -> dict[str, Any]:
    moved = review_words.moved_queries(diff)
    metrics, load = _by_direction(diff.metrics), _by_direction(diff.load_metrics)
    directions = [each.direction for each in (*metrics, *load)] + [query.direction for query in moved]
    return {
        "name": name,
        "diff": diff,
        "notes": review_words.diff_notes(diff),
        "worse": directions.count("worse"),
        "metrics": metrics,
        "load": load,
        "queries": sorted(moved, key=lambda query: ORDER[query.direction]),
        "quiet": not (metrics or load or moved or any(key.class_ != "none" for key in diff.keys)),
    }


def _by_direction(metrics: list[ReviewMetric]) -> list[ReviewMetric]:
    """What got worse first; what stayed the same is left out."""
    nodes = [metric for metric in metrics if metric.direction != "same"]
    return sorted(nodes, key=lambda metric: ORDER[metric.direction])
