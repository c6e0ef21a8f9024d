"""Sections of a review: the verdict of the gate, findings worst first, and what stands apart from them."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

from pkadvisor.errors import InputError
from pkadvisor.numbers import plural
from pkadvisor.report import review_words
from pkadvisor.report.html.advice import grounds_of
from pkadvisor.report.html.place import At, Context, Missing
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

WORDS = {
    "passed": ("GATE PASSED", "good"),
    "failed": ("GATE FAILED", "bad"),
    "unreadable": ("NOT REVIEWED", "bad"),
}
MOODS = {"error": "bad", "warning": "warn", "info": "info"}
STATUS = {"new": "warn", "worse": "bad", "unchanged": "info"}
EXCERPT_SHOWN = 400
"""Characters of a line of a design that stand beside a finding."""


def told(say: Callable[[Any], Any], at: At) -> Any:
    """What a function of ``review_words`` says of a part of the document; InputError where that is not whole."""
    try:
        return say(at.value)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        where = at.path or "the document"
        raise InputError(f"is not whole: {where} is not as a review writes it", fix="review again") from error


def findings_of(document: At) -> list[tuple[str, At]]:
    """(design, finding) of every finding, in the order of the document."""
    return [(design["design"].text, finding) for design in document["designs"] for finding in design["findings"]]


def is_open(finding: At) -> bool:
    """Whether a finding is told: not suppressed, and not in the baseline unless it got worse."""
    return bool(told(review_words.is_open, finding))


def by_severity(findings: list[tuple[str, At]]) -> list[tuple[str, At]]:
    """Worst first, then in the order of the document."""
    order = {word: place for place, word in enumerate(review_words.SEVERITIES)}
    return sorted(findings, key=lambda pair: order.get(pair[1]["severity"].text, len(order)))


# -- verdict -----------------------------------------------------------------------------------------------------------


def verdict(document: At, _: At) -> Context:
    """Whether the gate lets the designs pass, how much was found, what stops them, and which keys they declare."""
    word, mood = WORDS.get(document["outcome"].text, ("NOT REVIEWED", "bad"))
    if told(review_words.is_gate_off, document):
        word, mood = "GATE OFF", "warn"
    open_ = [(name, f) for name, f in findings_of(document) if is_open(f)]
    summary = document["summary"]
    tiles = [
        ("Errors", summary["error"], "bad"),
        ("Warnings", summary["warning"], "warn"),
        ("Infos", summary["info"], ""),
        ("Fail the gate", summary["gating"], "bad"),
        ("Suppressed", summary["suppressed"], ""),
        ("In the baseline", summary["baselined"], ""),
    ]
    if any(design["diff"] for design in document["designs"]):
        tiles += [("New", summary["new"], "warn"), ("Worse", summary["worse"], "bad")]
    return {
        "word": word,
        "mood": mood,
        "sentence": told(review_words.counts, document),
        "compared": told(review_words.compared, document),
        "tiles": [
            {"label": label, "count": count.figure("whole"), "mood": tile_mood if count.number else ""}
            for label, count, tile_mood in tiles
        ],
        "stopping": [_headline(name, f) for name, f in by_severity(open_) if f["gating"].flag],
        "unreadable": [_unreadable(design) for design in document["designs"] if design["error"]],
        "designs": _designs(document),
        "rests_on": _rests_on(document),
        "removed": told(review_words.removed, document),
    }


def _headline(name: str, finding: At) -> dict[str, str]:
    return {
        "rule": f"{finding['rule'].text} {finding['name'].text}",
        "place": place_of(name, finding),
        "message": finding["message"].text,
        "fix": finding["fix"].text,
    }


def place_of(name: str, finding: At) -> str:
    """``design.yaml:12:5``."""
    spot = finding["place"]
    return f"{name}:{spot['line'].number:g}:{spot['column'].number:g}"


def _unreadable(design: At) -> dict[str, str]:
    error = design["error"]
    where = f"{error['where'].text}: " if error["where"] else ""
    return {
        "design": design["design"].text,
        "what": f"{where}{error['what'].text}",
        "fix": error["fix"].text if error["fix"] else "",
    }


def _rests_on(document: At) -> list[tuple[str, list[dict[str, Any]]]]:
    """What the figures of each table with data rest on."""
    tables = [(_table_name(t), grounds_of(t.maybe("grounds"))) for d in document["designs"] for t in d["tables"]]
    return [(name, grounds) for name, grounds in tables if grounds]


def _table_name(table: At) -> str:
    return f"{table['table'].text} · {table['kind'].text}" if table["kind"] else table["table"].text


def _designs(document: At) -> Table:
    """The keys that were reviewed."""
    rows = [
        (
            code(design["design"].text),
            words(_table_name(t)),
            _key(t["partition_key"]),
            _key(t["row_key"]),
            words("data" if t["has_data"].flag else "the design alone"),
            words(t["note"].text),
        )
        for design in document["designs"]
        for t in design["tables"]
    ]
    heads = ("Design", "Table", "PartitionKey", "RowKey", "Reviewed on", "Note")
    return table("Reviewed keys", heads, rows)


def _key(key: At) -> Cell:
    return words("none declared") if key.value is None else code(key.text or "''")


# -- findings ----------------------------------------------------------------------------------------------------------


def findings(document: At, _: At) -> Context:
    """What is wrong: severity, rule, evidence, place and fix; what is suppressed or known before is folded."""
    every = findings_of(document)
    open_ = by_severity([(name, f) for name, f in every if is_open(f)])
    suppressed = by_severity([(name, f) for name, f in every if f["suppressed"]])
    known = by_severity([(name, f) for name, f in every if not f["suppressed"] and not is_open(f)])
    fixed = [(name, f) for name, f in _fixed(document)]
    if not (open_ or suppressed or known or fixed):
        return Missing("There is no finding: every rule that could run is kept.")
    counts = {word: sum(1 for _, f in open_ if f["severity"].text == word) for word in review_words.SEVERITIES}
    return {
        "counts": [(word, count) for word, count in counts.items() if count],
        "open": _findings("Findings", open_),
        "suppressed": _suppressed(suppressed),
        "known": _findings("Findings of the baseline", known),
        "fixed": _findings("Findings that are gone", fixed),
        "numbers": (len(suppressed), len(known), len(fixed)),
    }


def _fixed(document: At) -> list[tuple[str, At]]:
    return [(d["design"].text, f) for d in document["designs"] if d["diff"] for f in d["diff"]["fixed"]]


def _findings(caption: str, entries: list[tuple[str, At]]) -> Table:
    rows = [
        PageRow(
            (
                mark(finding["severity"].text, MOODS.get(finding["severity"].text, "bad")),
                _rule(finding),
                _evidence(finding),
                place(place_of(name, finding)),
                _fix(finding),
            ),
            kept=(("severity", finding["severity"].text),),
        )
        for name, finding in entries
    ]
    heads = ("Severity", "Rule", "Evidence", "Place", "Fix")
    filters = "severity" if len({f["severity"].text for _, f in entries}) > 1 else ""
    return table(caption, heads, rows, sorts=True, filters=filters)


def _rule(finding: At) -> Cell:
    status = finding["status"]
    shown = mark(status.text, STATUS.get(status.text, "warn")) if status else words("")
    stops = mark("fails the gate", "bad") if finding["gating"].flag else words("")
    return below(together(short(finding["rule"].text), words(finding["name"].text)), shown, stops)


def _evidence(finding: At) -> Cell:
    """What was found: the sentence, the number beside its limit, whose it is, and the line of the design."""
    line = finding["place"]["excerpt"].text.strip()
    shown = line if len(line) <= EXCERPT_SHOWN else f"{line[:EXCERPT_SHOWN]}…"
    owner = told(review_words.owner, finding)
    subject = finding["subject"]["name"].text
    whose = (words(f"{owner}:"),) if owner else ()
    return below(
        words(finding["message"].text),
        together(*_numbers(finding)),
        together(*whose, code(subject)) if subject and subject != owner else words(""),
        code(shown) if shown and shown != subject else words(""),
    )


def _numbers(finding: At) -> list[Cell]:
    """``Measured 3,400 entities/s (declared), limit 2,000 entities/s, before 900 entities/s.``"""
    if finding["measured"].value is None:
        return []
    unit = finding["unit"].text
    basis = told(review_words.basis, finding)
    cells = [words("Measured"), *_quantity(finding["measured"], unit), words(f"({basis})" if basis else "")]
    if finding["limit"].value is not None:
        cells += [words("· limit"), *_quantity(finding["limit"], unit)]
    if finding["before"].value is not None and finding["before"].value != finding["measured"].value:
        cells += [words("· before"), *_quantity(finding["before"], unit)]
    return cells


def _quantity(value: At, unit: str) -> list[Cell]:
    """A number in the form of its unit, and the unit where the form does not write it."""
    form, written = form_of(unit)
    return [figure(value.figure(form)), words(written)]


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


def _fix(finding: At) -> Cell:
    proposal = finding["proposal"].text
    explain = code(f"advisor explain {finding['rule'].text}")
    instead = together(words("Take instead:"), code(proposal)) if proposal else words("")
    return below(words(finding["fix"].text), instead, explain)


def _suppressed(entries: list[tuple[str, At]]) -> Table:
    rows = [
        (
            mark(finding["severity"].text, MOODS.get(finding["severity"].text, "bad")),
            _rule(finding),
            words(finding["message"].text),
            place(place_of(name, finding)),
            words(finding["suppressed"]["reason"].text),
            words(finding["suppressed"]["until"].text if finding["suppressed"]["until"] else "no end"),
            code(finding["suppressed"]["where"].text),
        )
        for name, finding in entries
    ]
    heads = ("Severity", "Rule", "Evidence", "Place", "Reason", "Until", "Suppressed in")
    return table("Suppressed findings", heads, rows)


# -- rules -------------------------------------------------------------------------------------------------------------


def rules(document: At, _: At) -> Context:
    """The rules of which something was found: why they are there, and keys that break and keep them."""
    ids = {f["rule"].text for _, f in findings_of(document)}
    pages = [rule for rule in document["rules"] if rule["id"].text in ids]
    if not pages:
        return Missing("No rule was broken.")
    return {
        "rules": [
            {
                "id": rule["id"].text,
                "name": rule["name"].text,
                "title": rule["title"].text,
                "why": " ".join(rule["why"].value.split()) if isinstance(rule["why"].value, str) else "",
                "bad": _lines(rule["bad"]),
                "good": _lines(rule["good"]),
                "fix": rule["fix"].text,
                "links": [
                    (link["title"].text, link["url"].text)
                    for link in rule["links"]
                    if link["url"].text.startswith(("https://", "http://"))
                ],
            }
            for rule in pages
        ]
    }


def _lines(text: At) -> list[str]:
    """An example of a rule, line by line."""
    text.text  # noqa: B018  refuses what is no text
    return [line for line in str(text.value).split("\n") if line.strip()]


# -- method ------------------------------------------------------------------------------------------------------------


def method(document: At, _: At) -> Context:
    """How many rules were asked of what, which could not be, and by what the gate decides."""
    entries = [(design, entry) for design in document["designs"] for entry in design["evaluated"]]
    asked = {entry["rule"].text for _, entry in entries if not entry["skipped"]}
    reasons = told(review_words.skipped_rules, document)
    undecided = [
        (
            code(entry["rule"].text),
            words(entry["name"].text),
            code(design["design"].text),
            figure(entry["undecided"].figure("whole")),
            words(", ".join(each.text for each in entry["missing"])),
        )
        for design, entry in entries
        if entry["undecided"].number
    ]
    gate = document["gate"]
    return {
        "fail_on": gate["fail_on"].text,
        "new_only": gate["new_only"].flag,
        "asked": plural(len(asked), "rule"),
        "of": plural(len(document["rules"]), "rule"),
        "designs": plural(len(document["designs"]), "design"),
        "skipped": [(review_words.skipped_line(reason, ids), ", ".join(ids)) for reason, ids in reasons.items()],
        "undecided": table(
            "Rules that could not be decided",
            ("Rule", "Name", "Design", "Times", "Missing"),
            undecided,
            numeric=(3,),
        ),
        "redacted": document["redacted"].flag,
    }


def reproduce(document: At, _: At) -> Context:
    """The command and the version."""
    gate = document["gate"]
    parts = ["advisor", "review", *(design["design"].text for design in document["designs"])]
    against = list(dict.fromkeys(d["diff"]["against"].text for d in document["designs"] if d["diff"]))
    parts += ["--fail-on", gate["fail_on"].text] if gate["fail_on"].text != "error" else []
    parts += ["--new-only"] if gate["new_only"].flag else []
    tool = document["tool"]
    return {
        "command": shlex.join(parts),
        "against": against,
        "data": any(t["has_data"].flag for design in document["designs"] for t in design["tables"]),
        "version": f"{tool['name'].text} {tool['version'].text}",
        "schema": document["schema_version"].text,
    }
