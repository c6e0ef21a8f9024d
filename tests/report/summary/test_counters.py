"""What a summary says of a counter that is changed more often than one entity can be."""

from __future__ import annotations

import pytest

from tests.report.summary.test_sentences_of_a_summary import violation_of
from tests.report.summary.test_summary import only
from tests.report.support import result


def test_a_rate_beyond_what_one_entity_can_commit_ends_every_key() -> None:
    found = result("footrace")
    table = found["tables"][0]
    flip = {"turn": "flips", "query": "by-bib", "factor": 4, "rate_per_s": 240, "rank": 2, "keys": None, "goal": None}
    table["flip"] = {**flip, "proof": [], "rates_tried": 1}
    limit = {**table["recommended"]["breaks"][0], "cause": "commits of one entity by by-bib", "growth_of": ["rate"]}
    for factor, says in ((4.5, "240/s: see advisor explain"), (1.2, "72/s: then no key holds.")):
        table["recommended"]["breaks"].append({**limit, "factor": factor})
        assert only(found).changes_if.startswith(f"'by-bib' rises from 60/s to {says}")


@pytest.mark.parametrize("key", ["'n59' | 's7'", "'it''s' | 'a one entity, b'", ""])
def test_the_counter_that_is_too_hot_is_named_with_its_remedy(key: str) -> None:
    found = result("footrace")
    table = found["tables"][0]
    named = f", {key}," if key else ""
    told = (
        f"'vote' reads, changes and writes one entity{named} 45.7 times a second at the peak, 137 after 3x growth "
        "(assumed); 51.6/s are served under any key (a read and a write take 12 ms): divide the counter over 4 rows "
        "(2 would do at today's peak), and add them up when it is read"
    )
    table["recommended"]["violations"] = [violation_of("hot-entity-contention", told) | {"assumed_growth": True}]
    table["notes"].append("'vote': 25.3 % of its attempts got 412, so it reads")
    counter = key or "of 'vote'"
    assert dict(only(found).cautions)["Caveat"] == (
        f"Divide the counter {counter} over 4 rows; add them up when it is read. One entity bears 51.6 commits a "
        "second, and this one takes 45.7 at the peak (25.3 % of the attempts got 412)."
    )
