"""What real users ran into, each as a small design: the review says what they should have been told before.

A case is ``cases/NN-name.yaml``, with its data in ``NN-name.csv`` where it needs any. Its head says what is expected:
``# finds: RULE | text | …`` for a finding of the rule (or of one of several) whose message and fix contain the texts,
``# passes`` for no error and no warning.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pkadvisor.review.rules.rule import load_rules
from tests.review.support import findings

CASES = sorted((Path(__file__).parent / "cases").glob("*.yaml"))


def expected(case: Path) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """(rules of which one must fire, texts that it must say) for each line of the head."""
    made = []
    for line in case.read_text(encoding="utf-8").splitlines():
        if line.startswith("# finds: "):
            rules, *texts = (part.strip() for part in line.removeprefix("# finds: ").split(" | "))
            made.append((tuple(re.split(r",\s*", rules)), tuple(texts)))
    return made


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.stem)
def test_a_real_case_is_told_what_it_needed(case: Path, tmp_path: Path) -> None:
    text, data = case.read_text(encoding="utf-8"), case.with_suffix(".csv")
    found = findings(text, tmp_path, data=data.read_text(encoding="utf-8") if data.exists() else "")
    if "\n# passes\n" in text:
        assert [f.message for f in found if f.severity != "info"] == []
        return
    told = {f"{f.rule} {f.message}; {f.fix}" for f in found}
    assert expected(case), "a case without an expectation shows nothing"
    for rules, texts in expected(case):
        assert set(rules) <= {rule.id for rule in load_rules()}
        own = [t for t in told if t.startswith(rules)]
        assert any(all(words in t for words in texts) for t in own), f"{rules}: {texts} not in {own or told}"


def test_all_real_cases_are_there() -> None:
    assert [int(case.stem[:2]) for case in CASES] == list(range(1, 25))
