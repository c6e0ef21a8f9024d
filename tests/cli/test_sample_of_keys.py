"""A sample of whole keys, of which the largest one need not be among them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.support import Run


@pytest.mark.parametrize(("rate", "doubted"), [(600, True), (1, False)])
def test_a_sample_of_keys_does_not_show_the_largest_one(rate: int, doubted: bool, run: Run, tmp_path: Path) -> None:
    """40 of 400 patrons with 20 to 215 loans each: one of the others may have thousands. Cold keys are no doubt."""
    loans = [(patron, loan) for patron in range(40) for loan in range(20 + 5 * patron)]
    lines = [f"P{patron:03},{patron:03}-{loan:05}" for patron, loan in loans]
    (tmp_path / "loans.csv").write_text("patron,loan\n" + "\n".join(lines) + "\n")
    (tmp_path / "design.yaml").write_text(
        "schema: 1\ntables:\n  Loans:\n    properties: {patron: string, loan: string}\n"
        f"    entities_total: {10 * len(lines)}\n    sampling: random-keys\n    sampled_by: [patron]\n    queries:\n"
        f"      - {{name: of-patron, filter: \"patron eq '{{patron}}'\", rate: {rate}/s, draw: entities}}\n"
    )
    words = ("analyze", "loans.csv", "--design", "design.yaml")
    (table,) = json.loads(run(*words, "--format", "json").stdout)["tables"]
    assert ("a hotter key may be missing" in (table["confidence"]["note"] or "")) is doubted
    assert (b"Caveat: A hotter key may be missing from the sample." in run(*words).stdout) is doubted
