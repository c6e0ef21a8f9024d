"""A review as annotations of a build: workflow commands of GitHub, logging commands of Azure, GitLab's report.

Each path is relative to the root of the repository; lines and columns count from 1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from pkadvisor.documents.review import ReviewDocument, ReviewError, ReviewFinding
from pkadvisor.report import escapes
from pkadvisor.report import review_words as words

GITHUB_MAX = 10
"""Annotations of a severity that GitHub keeps of one step; the rest is dropped without a word."""
_GITHUB = {"error": "error", "warning": "warning", "info": "notice"}
_GITLAB = {"error": "critical", "warning": "minor", "info": "info"}


def render_github(document: ReviewDocument, paths: Mapping[str, str]) -> str:
    """Workflow commands, worst first; the tenth of a severity says how many more there are."""
    commands: dict[str, list[tuple[str, str]]] = {severity: [] for severity in words.SEVERITIES}
    for design, error in words.reading_errors(document):
        line, column = words.error_place(error)
        head = _github_head("error", paths.get(design, design), line, column, "this design cannot be reviewed")
        commands["error"].append((head, error_text(error)))
    for design, finding in words.open_findings(document):
        place = finding.place
        end = (place.end_line, place.end_column)
        status = f" ({finding.status})" if finding.status else ""
        title = f"{finding.rule} {finding.name}{status}"
        path = paths.get(design, design)
        head = _github_head(_GITHUB[finding.severity], path, place.line, place.column, title, end)
        commands[finding.severity].append((head, text_of(finding)))
    lines = []
    for listed in commands.values():
        more = len(listed) - GITHUB_MAX
        for number, (head, text) in enumerate(listed[:GITHUB_MAX], 1):
            rest = f" (and {more} more, see the summary)" if number == GITHUB_MAX and more > 0 else ""
            lines.append(f"{head}::{escapes.github_data(text)}{rest}")
    return "".join(f"{line}\n" for line in lines)


def _github_head(level: str, path: str, line: int, column: int, title: str, end: tuple[int, int] | None = None) -> str:
    properties = {"file": path, "line": line, "col": column}
    if end is not None:
        properties |= {"endLine": end[0], "endColumn": end[1]}
    fields = ",".join(
        f"{name}={escapes.github_property(str(value))}" for name, value in (properties | {"title": title}).items()
    )
    return f"::{level} {fields}"


def text_of(finding: ReviewFinding) -> str:
    """A finding in one line: message, number, fix, proposal."""
    numbers = words.numbers(finding)
    parts = [finding.message, f"value: {numbers}" if numbers else ""]
    parts += [f"fix: {finding.fix}" if finding.fix else ""]
    parts += [f"instead: {finding.proposal}" if finding.proposal else ""]
    return ". ".join(part for part in parts if part)


def error_text(error: ReviewError) -> str:
    """Why a design cannot be read, and what to do, in one line."""
    return "; ".join(part for part in (error.what, error.fix) if part)


def render_azure(document: ReviewDocument, paths: Mapping[str, str]) -> str:
    """Logging commands, worst first. Notes are plain lines, for Azure knows errors and warnings only."""
    lines = []
    for design, error in words.reading_errors(document):
        line, column = words.error_place(error)
        head = _azure_head("error", paths.get(design, design), line, column, "unreadable")
        lines.append(f"{head}{escapes.azure_data(error_text(error))}")
    for design, finding in words.open_findings(document):
        place, path = finding.place, paths.get(design, design)
        if finding.severity == "info":
            position = f"{path}:{place.line}:{place.column}: {finding.rule} info {text_of(finding)}"
            lines.append(escapes.log_line(escapes.one_line(position)))
            continue
        head = _azure_head(finding.severity, path, place.line, place.column, finding.rule)
        lines.append(f"{head}{escapes.azure_data(text_of(finding))}")
    lines.append(escapes.log_line(escapes.one_line(words.verdict(document))))
    return "".join(f"{line}\n" for line in lines)


def _azure_head(level: str, path: str, line: int, column: int, rule: str) -> str:
    properties = {"type": level, "sourcepath": path, "linenumber": line, "columnnumber": column, "code": rule}
    fields = ";".join(f"{name}={escapes.azure_property(str(value))}" for name, value in properties.items())
    return f"##vso[task.logissue {fields}]"


def azure_summary(path: str) -> str:
    """The command that shows a Markdown file in the run; the agent wants its absolute path."""
    return f"##vso[task.uploadsummary]{escapes.azure_data(path)}\n"


def render_gitlab(document: ReviewDocument, paths: Mapping[str, str]) -> bytes:
    """GitLab's code quality report: a list of issues, each with a fingerprint of its own."""
    issues, seen = [], dict[str, int]()
    for design, error in words.reading_errors(document):
        line, _ = words.error_place(error)
        name = hashlib.sha256(f"unreadable\0{design}".encode("utf-8", "surrogatepass")).hexdigest()
        name = _one_more(name, seen)
        issues.append(_issue(error_text(error), "unreadable", "blocker", name, paths.get(design, design), line, line))
    for design, finding in words.open_findings(document):
        name, place = finding.fingerprint, finding.place
        name = _one_more(name, seen)
        last = max(place.line, place.end_line)
        path, level = paths.get(design, design), _GITLAB[finding.severity]
        issues.append(_issue(text_of(finding), finding.rule, level, name, path, place.line, last))
    return escapes.json_text(issues).encode()


def _one_more(fingerprint: str, seen: dict[str, int]) -> str:
    """A fingerprint as it is the first time, and one of its own for each time after that."""
    seen[fingerprint] = seen.get(fingerprint, 0) + 1
    return (
        hashlib.sha256(f"{fingerprint}:{seen[fingerprint]}".encode()).hexdigest()
        if seen[fingerprint] > 1
        else fingerprint
    )


def _issue(text: str, rule: str, severity: str, fingerprint: str, path: str, first: int, last: int) -> dict[str, Any]:
    return {
        "description": escapes.one_line(text),
        "check_name": rule,
        "fingerprint": fingerprint,
        "severity": severity,
        "location": {"path": escapes.one_line(path), "lines": {"begin": first, "end": last}},
    }
