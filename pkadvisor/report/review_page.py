"""A review as a page of text: place, excerpt, number, fix; the last line is the verdict."""

from __future__ import annotations

from typing import Any

from pkadvisor.report.page import Page

_STYLES = {"error": "bad", "warning": "warn", "info": "dim"}


def render_review(
    document: dict[str, Any],
    *,
    width: int,
    color: bool,
    ascii_only: bool,
    verbose: bool = False,
    show_suppressed: bool = False,
) -> str:
    """The page; suppressed findings are listed where ``show_suppressed``, and always counted."""
    page = Page(width, color, ascii_only)
    for design in document["designs"]:
        for finding in design["findings"]:
            if finding["suppressed"] is None and not finding["baselined"]:
                _finding(page, finding, design["design"])
    if show_suppressed:
        _suppressed(page, document)
    page.line(verdict(document), "bad" if document["outcome"] != "passed" else "good")
    return "\n".join(page.lines) + "\n"


def _finding(page: Page, finding: dict[str, Any], design: str) -> None:
    place = finding["place"]
    status = f", {finding['status']}" if finding["status"] else ""
    page.line(f"{finding['rule']} {finding['name']}  [{finding['severity']}{status}]", _STYLES[finding["severity"]])
    page.line(f" --> {design}:{place['line']}:{place['column']}")
    page.line(f"  {finding['message']}")
    if finding["fix"]:
        page.line(f"  fix: {finding['fix']}")
    page.line()


def _suppressed(page: Page, document: dict[str, Any]) -> None:
    """Findings that somebody lets pass: why, until when, and where that is written."""
    for design in document["designs"]:
        for finding in design["findings"]:
            let = finding["suppressed"]
            if let is not None:
                until = f" until {let['until']}" if let["until"] else ""
                page.line(f"{finding['rule']} {finding['name']}  [suppressed{until}]", "dim")
                page.line(f" --> {design['design']}:{finding['place']['line']}:{finding['place']['column']}")
                page.line(f"  {finding['message']}")
                page.line(f"  reason: {let['reason']} ({let['where']})")
                page.line()


def verdict(document: dict[str, Any]) -> str:
    """The verdict in one line."""
    counts = document["summary"]
    told = ", ".join(f"{counts[s]} {s}{'' if counts[s] == 1 else 's'}" for s in ("error", "warning", "info"))
    word = {"passed": "GATE PASSED", "failed": "GATE FAILED", "unreadable": "NOT REVIEWED"}[document["outcome"]]
    return f"{word}: {told} (fail-on: {document['gate']['fail_on']})"
