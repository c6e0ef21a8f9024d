"""Small designs of real systems, each with what an expert finds in it, written down before the review.

A design begins with comments: ``expert: good`` or ``bad``; ``finds: WHERE | RULES | what``, one for each finding, with
the rules any of which says it; ``agrees: …`` for what the review said first and the expert then agreed with. Hints of
severity info are neither right nor wrong: experts do not write them down.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pkadvisor.limits import default_limits
from pkadvisor.review.rules.rule import load_rules
from pkadvisor.review.views.findings import Finding, Severity
from tests.review.support import review_text

DESIGNS = sorted((Path(__file__).parent / "systems").glob("*.yaml"))
RULES = load_rules()


def told(text: str, word: str) -> list[tuple[str, frozenset[str]]]:
    """(where, rules) of the comments that begin with a word."""
    lines = [line.removeprefix(f"# {word}: ") for line in text.splitlines() if line.startswith(f"# {word}: ")]
    return [(where, frozenset(rules.split("|"))) for where, rules, _ in (line.split(" | ") for line in lines)]


def found(path: Path) -> list[Finding]:
    made = review_text(path.read_text(encoding="utf-8"), RULES, default_limits(), name=path.name)
    return [f for e in made.evaluations for f in e.findings]


def says(finding: Finding, where: str, rules: frozenset[str]) -> bool:
    return finding.rule in rules and (where in (finding.subject, finding.table) or f".{where}" in finding.path)


@pytest.mark.parametrize("path", DESIGNS, ids=[p.stem for p in DESIGNS])
def test_the_review_finds_what_the_expert_finds_and_nothing_else(path: Path) -> None:
    text, findings = path.read_text(encoding="utf-8"), found(path)
    wanted = told(text, "finds")
    missed = [(where, sorted(rules)) for where, rules in wanted if not any(says(f, where, rules) for f in findings)]
    assert not missed
    right = [*wanted, *told(text, "agrees")]
    rules = frozenset(rule for _, own in right for rule in own)
    others = [f for f in findings if f.rule not in rules and f.severity is not Severity.INFO]
    assert not [f"{f.rule} {f.subject}: {f.message}" for f in others]
    if "# expert: good\n" in text:
        assert not wanted and not [f for f in findings if f.severity is Severity.ERROR]


def test_half_of_the_designs_are_good() -> None:
    texts = [path.read_text(encoding="utf-8") for path in DESIGNS]
    good = sum("# expert: good\n" in text for text in texts)
    assert len(texts) >= 52 and 0.4 <= good / len(texts) <= 0.6
    assert all(("# expert: bad\n" in text) == bool(told(text, "finds")) for text in texts)
