"""Numbers in sentences."""

from __future__ import annotations

import pytest

from pkadvisor.documents.review import ReviewFinding
from pkadvisor.report.review_words import numbers, quantity
from pkadvisor.review.views.findings import agreed, often_text
from tests.review.documents import finding, typed


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("0.0167 times a second", "once a minute"),
        ("1 times a second", "once a second"),
        ("0.5 times an hour", "12 times a day"),
        ("11 times a second", "11 times a second"),
        ("reads 1 pages of 1,001 pages", "reads 1 page of 1,001 pages"),
        ("0.1 rows/s, 1 rows/s, 21 rows", "0.1 rows/s, 1 row/s, 21 rows"),
        ("{1 pages_1 rows}", "{1 pages_1 rows}"),
        ("1 index rows and 1 UTF-16 code units", "1 index row and 1 UTF-16 code unit"),
    ],
)
def test_ones_are_singular_and_rates_below_one_are_of_a_longer_period(text: str, told: str) -> None:
    assert agreed(text) == told


@pytest.mark.parametrize(
    ("rate", "told"), [(5, "5 times a second"), (1 / 3600, "once an hour"), (1e-9, "0.0315 times a year")]
)
def test_rates_have_the_unit_that_people_count_in(rate: float, told: str) -> None:
    assert often_text(rate) == told


def test_a_limit_of_one_hour_is_no_plural() -> None:
    assert quantity(1.0, "hours") == "1 hour" and quantity(2.0, "hours") == "2 hours"
    assert quantity(0.947, "x the target") == "0.947x"


def test_beyond_a_minute_nothing_is_so_many_times_a_goal() -> None:
    slow = finding(measured=5e6, limit=50.0, unit="ms", facts=[])
    assert numbers(typed(slow, ReviewFinding)) == "over a minute; limit 50 ms"
    assert numbers(typed({**slow, "measured": 500.0}, ReviewFinding)) == "500 ms; limit 50 ms (10x)"
