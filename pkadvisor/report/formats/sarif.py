"""A review as SARIF 2.1.0, as code scanning, pipelines and editors read it.

Standard: https://docs.oasis-open.org/sarif/sarif/v2.1.0/ (errata 01). The bounds are those of GitHub's code scanning:
1,024 characters in descriptions, 20 tags, 25,000 results in a run; what is cut is said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from pkadvisor.documents.review import ReviewDocument, ReviewFinding, ReviewRule
from pkadvisor.numbers import plural
from pkadvisor.report import review_words as words
from pkadvisor.report.escapes import code, json_text, markdown, one_line, uri
from pkadvisor.report.formats.annotations import error_text

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
RESULTS_MAX = 25_000
DESCRIPTION_MAX = 1_024
SENTENCE_MAX = 120
TAGS_MAX = 20
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_PROBLEMS = {"error": "error", "warning": "warning", "info": "recommendation"}
_BASELINE = {"new": "new", "worse": "updated", "unchanged": "unchanged"}


def render_sarif(document: ReviewDocument, paths: Mapping[str, str]) -> bytes:
    """The log; ``paths`` are those of the designs relative to the root of their repository."""
    return json_text(sarif(document, paths)).encode()


def sarif(document: ReviewDocument, paths: Mapping[str, str]) -> dict[str, Any]:
    """The log as an object."""
    findings = [(d, f) for d in document.designs for f in d.findings]
    findings.sort(key=lambda pair: (pair[1].suppressed is not None, words.SEVERITIES.index(pair[1].severity)))
    rules = _rules(document, [f for _, f in findings])
    index = {rule["id"]: place for place, rule in enumerate(rules)}
    seen: dict[str, int] = {}
    results = []
    for design, finding in findings[:RESULTS_MAX]:
        name = finding.fingerprint
        seen[name] = seen.get(name, 0) + 1
        results.append(_result(finding, design.design, _path(design.design, paths), index, seen[name]))
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": document.tool.name,
                        "version": document.tool.version,
                        "semanticVersion": document.tool.version,
                        "rules": rules,
                    }
                },
                "automationDetails": {"id": _automation(document)},
                "invocations": [_invocation(document, paths, len(findings) - len(results))],
                "columnKind": "unicodeCodePoints",
                "results": results,
            }
        ],
    }


def _path(design: str, paths: Mapping[str, str]) -> str:
    return paths.get(design, design)


def _automation(document: ReviewDocument) -> str:
    """Which analysis this is; uploads of one commit with the same id replace each other."""
    stems = sorted({uri(PurePosixPath(design.design).stem) for design in document.designs})
    return f"pkadvisor/{'+'.join(stems) if len(stems) <= 3 else 'review'}/"


def _rules(document: ReviewDocument, findings: list[ReviewFinding]) -> list[dict[str, Any]]:
    """Pages of the rules, and of those that findings name without one."""
    pages = {page.id: page for page in document.rules}
    for finding in findings:
        if finding.rule not in pages:
            pages[finding.rule] = _page_of(finding)
    return [_rule(page) for page in pages.values()]


def _page_of(finding: ReviewFinding) -> ReviewRule:
    """What a finding says of its rule, which has no page."""
    title = finding.name.replace("-", " ")
    return ReviewRule(
        id=finding.rule,
        name=finding.name,
        title=title,
        severity=finding.severity,
        levels=[finding.severity],
        scope=finding.subject.scope,
        needs=[],
        precision="high",
        tags=[],
        aliases=[],
        why=title,
        bad="",
        good="",
        fix=finding.fix,
        links=[],
        unit="",
        ratchet=False,
        builtin=False,
    )


def _rule(page: ReviewRule) -> dict[str, Any]:
    title, why = _flat(page.title), _flat(page.why)
    rule: dict[str, Any] = {
        "id": page.id,
        "name": _pascal(page.name),
        "shortDescription": {"text": cut(words.sentence(title), DESCRIPTION_MAX)},
        "fullDescription": {"text": cut(words.sentence(why or title), DESCRIPTION_MAX)},
        "help": {"text": _help(page), "markdown": _help_markdown(page)},
        "defaultConfiguration": {"level": _LEVELS[page.severity]},
        "properties": {
            "tags": [_flat(tag) for tag in page.tags][:TAGS_MAX],
            "precision": page.precision,
            "problem.severity": _PROBLEMS[page.severity],
        },
    }
    link = next((link.url for link in page.links if link.url.startswith("https://")), None)
    if link is not None:
        rule["helpUri"] = link
    return rule


def _pascal(name: str) -> str:
    """``query-scans-table`` as SARIF spells names: ``QueryScansTable``."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("-"))


def _flat(text: str) -> str:
    """Prose as one line."""
    return one_line(" ".join(text.split()))


def _block(text: str) -> str:
    """An example with its line ends."""
    return "\n".join(one_line(line) for line in text.strip("\n").split("\n"))


def _help(page: ReviewRule) -> str:
    parts = [words.sentence(_flat(page.why or page.title))]
    parts += [f"Bad:\n{_block(page.bad)}"] if page.bad else []
    parts += [f"Good:\n{_block(page.good)}"] if page.good else []
    parts += [f"Fix: {words.sentence(_flat(page.fix))}"] if page.fix else []
    parts += [_flat(f"{link.title} {link.url}") for link in page.links]
    return "\n\n".join([*parts, f"advisor explain {page.id}"])


def _help_markdown(page: ReviewRule) -> str:
    parts = [f"**{markdown(page.title)}**", markdown(words.sentence(" ".join(page.why.split())))]
    for label, text in (("Bad", page.bad), ("Good", page.good)):
        if text:
            fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", text))])
            parts.append(f"{label}:\n\n{fence}yaml\n{_block(text)}\n{fence}")
    if page.fix:
        parts.append(f"Fix: {markdown(words.sentence(' '.join(page.fix.split())))}")
    for link in page.links:
        target = one_line(link.url)
        safe = target.startswith("https://") and not any(c in target for c in " <>()")
        parts.append(f"[{markdown(link.title)}]({target})" if safe else markdown(link.title))
    return "\n\n".join([*parts, code(f"advisor explain {page.id}")])


def _result(finding: ReviewFinding, design: str, path: str, index: Mapping[str, int], number: int) -> dict[str, Any]:
    place = finding.place
    subject = finding.subject
    end_line = max(place.line, place.end_line)
    least = place.column if end_line == place.line else 1
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index[finding.rule],
        "level": _LEVELS[finding.severity],
        "message": {"text": message(finding)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": uri(path), "uriBaseId": "%SRCROOT%"},
                    "region": {
                        "startLine": place.line,
                        "startColumn": place.column,
                        "endLine": end_line,
                        "endColumn": max(least, place.end_column),
                    },
                },
                "logicalLocations": [
                    {
                        "name": one_line(subject.name),
                        "fullyQualifiedName": one_line(subject.path),
                        "kind": subject.scope,
                    }
                ],
            }
        ],
        # Logical, as the baseline's: an alert stays the same when lines move or the line itself is edited.
        "partialFingerprints": {
            "primaryLocationLineHash": f"{finding.fingerprint[:16]}:{number}",
            "pkadvisorFinding/v1": finding.fingerprint,
        },
        "properties": _properties(finding),
    }
    state = _BASELINE.get(finding.status or "", "unchanged" if finding.baselined else "")
    if state:
        result["baselineState"] = state
    suppressed = finding.suppressed
    if suppressed is not None:
        kind = "inSource" if suppressed.where.startswith(design) else "external"
        said = one_line(words.until(finding))
        result["suppressions"] = [{"kind": kind, "status": "accepted", "justification": said}]
    return result


def _properties(finding: ReviewFinding) -> dict[str, Any]:
    properties: dict[str, Any] = {"gating": finding.gating, "table": one_line(finding.table)}
    properties |= {"kind": one_line(finding.kind)} if finding.kind else {}
    for name in ("measured", "limit", "before"):
        if (number := getattr(finding, name)) is not None:
            properties[name] = number
    properties |= {"unit": finding.unit} if finding.measured is not None and finding.unit else {}
    properties |= {"proposal": one_line(finding.proposal)} if finding.proposal else {}
    return properties


def message(finding: ReviewFinding) -> str:
    """What a result says. Its first sentence is short and says all: some viewers show no more."""
    whole = words.sentence(_flat(finding.message))
    first = whole if len(whole) <= SENTENCE_MAX else f"{_short(finding)} {whole}"
    numbers = words.numbers(finding)
    parts = [first, words.sentence(f"Value: {numbers}") if numbers else ""]
    parts += [words.sentence(f"Fix: {_flat(finding.fix)}") if finding.fix else ""]
    parts += [words.sentence(f"Proposed: {_flat(finding.proposal)}") if finding.proposal else ""]
    text = " ".join(part for part in parts if part)
    return text.replace("](", "] (")  # the form of a link within a message


def _short(finding: ReviewFinding) -> str:
    name = finding.name.replace("-", " ")
    table = one_line(words.owner(finding))
    said = f"{name[:1].upper()}{name[1:]}{f' in table {table}' if table else ''}"
    return words.sentence(cut(said.replace(". ", " "), SENTENCE_MAX - 1))


def cut(text: str, most: int) -> str:
    """Text of at most so many characters, an ellipsis where some is left out."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _invocation(document: ReviewDocument, paths: Mapping[str, str], left_out: int) -> dict[str, Any]:
    notes = [_note("note", "review", words.verdict(document))]
    for reason, rules in words.skipped_rules(document).items():
        notes.append(_note("note", "skipped", f"{words.skipped_line(reason, rules)}: {', '.join(rules)}"))
    if left_out:
        said = f"{plural(left_out, 'result')} left out: a run holds at most {RESULTS_MAX:,}"
        notes.append(_note("warning", "capped", said))
    broken = []
    for design, error in words.reading_errors(document):
        line, column = words.error_place(error)
        note = _note("error", "unreadable", error_text(error))
        where = {"artifactLocation": {"uri": uri(_path(design, paths)), "uriBaseId": "%SRCROOT%"}}
        region = {"startLine": line, "startColumn": column}
        broken.append({**note, "locations": [{"physicalLocation": {**where, "region": region}}]})
    return {
        "executionSuccessful": not broken,
        "exitCode": document.exit_code,
        "exitCodeDescription": {"passed": "gate passed", "failed": "gate failed"}.get(
            document.outcome, "a design cannot be read"
        ),
        "toolExecutionNotifications": notes,
        "toolConfigurationNotifications": broken,
    }


def _note(level: str, name: str, text: str) -> dict[str, Any]:
    return {"level": level, "descriptor": {"id": name}, "message": {"text": words.sentence(_flat(text))}}
