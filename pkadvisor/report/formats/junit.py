"""A review as JUnit XML: a suite for each design, a case for each rule, those that passed included.

A failure is what fails the gate, so that a list of tests and the exit code say the same; milder findings are the
output of a case that passed. Suppressed findings and rules without data are skipped, with the reason.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

from pkadvisor.documents.review import ReviewDesign, ReviewDocument, ReviewEvaluation, ReviewFinding
from pkadvisor.report import review_words as words
from pkadvisor.report.escapes import one_line
from pkadvisor.report.formats.annotations import text_of


def render_junit(document: ReviewDocument, paths: Mapping[str, str]) -> bytes:
    """The report; ``paths`` are those of the designs relative to the root of their repository."""
    from junitparser import JUnitXml, TestSuite

    report: Any = JUnitXml("pkadvisor review")
    for design in document.designs:
        path = one_line(paths.get(design.design, design.design))
        suite = TestSuite(path)
        suite.add_testcases(_cases(design, path))
        report.append(suite)
    report.update_statistics()
    out = io.BytesIO()
    report.write(out)
    content = out.getvalue()
    return content if content.endswith(b"\n") else content + b"\n"


def _cases(design: ReviewDesign, path: str) -> list[Any]:
    from junitparser import Error

    if design.error is not None:
        error = design.error
        case = _case("read the design", path, 1)
        lines = [error.where, error.what, *error.excerpt.split("\n"), error.fix, *error.others]
        case.result = [_told(Error, error.what, "unreadable", [line for line in lines if line])]
        return [case]
    out: dict[str, list[ReviewFinding]] = {}
    for finding in design.findings:
        out.setdefault(finding.rule, []).append(finding)
    cases = [_of_rule(e.rule, e.name, out.pop(e.rule, []), e, path) for e in design.evaluated]
    return cases + [_of_rule(rule, findings[0].name, findings, None, path) for rule, findings in out.items()]


def _case(name: str, path: str, line: int) -> Any:
    from junitparser import TestCase

    case = TestCase(name, classname=path)
    case._elem.set("file", path)
    case._elem.set("line", str(line))
    return case


def _of_rule(rule: str, name: str, findings: list[ReviewFinding], evaluated: ReviewEvaluation | None, path: str) -> Any:
    from junitparser import Failure, Skipped

    case = _case(f"{rule} {name}", path, findings[0].place.line if findings else 1)
    open_ones = [f for f in findings if words.is_open(f)]
    failed = [f for f in open_ones if f.gating]
    lines = [_line(f, path) for f in findings]
    if failed:
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        case.result = [_told(Failure, f"{failed[0].message}{more}", failed[0].severity, lines)]
    elif evaluated is not None and evaluated.skipped:
        case.result = [_told(Skipped, evaluated.skipped, "not-asked", [])]
    elif findings and all(f.suppressed is not None for f in findings):
        case.result = [_told(Skipped, words.until(findings[0]), "suppressed", lines)]
    elif lines:
        case.system_out = "\n".join(lines)
    elif evaluated is not None and evaluated.undecided:
        missing = ", ".join(evaluated.missing)
        case.system_out = one_line(f"{evaluated.undecided} of {evaluated.subjects} not decided for {missing}")
    return case


def _line(finding: ReviewFinding, path: str) -> str:
    place = finding.place
    mark = f"suppressed: {words.until(finding)}: " if finding.suppressed is not None else ""
    mark = mark or ("in the baseline: " if not words.is_open(finding) else "")
    return one_line(f"{path}:{place.line}:{place.column}: {finding.severity}: {mark}{text_of(finding)}")


def _told(kind: Any, message: str, type_: str, lines: list[str]) -> Any:
    result = kind(one_line(message), type_)
    if lines:
        result.text = "\n".join(one_line(line) for line in lines)
    return result
