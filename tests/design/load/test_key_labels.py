"""Labels of bands of keys: what they share, then where they begin to differ."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pkadvisor.design.keys.template import parse_template
from pkadvisor.design.load.keyfacts import band_label, label_text
from pkadvisor.table.edm import EdmType
from tests.design.support import EPOCH, population_of

TYPES = {"tenant": EdmType.STRING, "n": EdmType.INT32, "ts": EdmType.DATETIME}
START = EPOCH + timedelta(days=18_262, hours=9)
STEPS = [timedelta(), timedelta(seconds=7), timedelta(hours=3), timedelta(days=1), timedelta(days=40)]
ROWS = population_of(
    {"tenant": ["a/b", "a/b", "a/b", "b", "c"], "n": [1, 2, 30, 4, 5], "ts": [START + s for s in STEPS]}, TYPES
)


@pytest.mark.parametrize(
    ("template", "first", "last", "label"),
    [
        ("{tenant}_{pad(n,3)}", 0, 2, "a~002Fb · 001 … 030"),
        ("{tenant}_{pad(n,3)}", 0, 0, "a~002Fb · 001"),
        ("{tenant}_{pad(n,3)}", 2, 4, "a~002Fb … c"),
        ("K:{tenant}", 3, 3, "b"),
        ("", 0, 4, "all"),
        ("fixed", 0, 4, "all"),
        ("{ticks(ts)}", 0, 4, "2020-01-01 … 2020-02-10"),
        ("{reverse_ticks(ts)}", 4, 0, "2020-02-10 … 2020-01-01"),
        ("{ticks(ts)}", 0, 2, "2020-01-01 09:00 … 12:00"),
        ("{ticks(ts)}", 2, 3, "2020-01-01 12:00 … 2020-01-02 09:00"),
        ("{ticks(ts)}", 0, 1, "2020-01-01 09:00:00 … 09:00:07"),
        ("{ticks(ts)}", 1, 1, "2020-01-01T09:00:07Z"),
        ("{tenant}_{time(ts,'yyyyMM')}", 0, 1, "a~002Fb · 202001"),
    ],
)
def test_labels(template: str, first: int, last: int, label: str) -> None:
    assert label_text(band_label(parse_template(template), ROWS, first, last)) == label


def test_a_missing_moment_is_told_as_its_key() -> None:
    rows = population_of({"ts": [START, None]}, {"ts": EdmType.DATETIME})
    found = band_label(parse_template("{ticks(ts)}"), rows, 0, 1)
    assert found[0][0] != found[0][1]
    assert "…" in label_text(found)
