"""The advice on published workloads, compared with keys that an expert chose before the tool was run."""

from __future__ import annotations

import re

import pytest

from tests.published.advice import advice
from tests.published.catalogue import WORKLOADS
from tests.published.workload import Difference, Table, Workload
from tests.tiers import sizes

TOLERANCE = 0.05
"""By how much the recommendation may need more requests or entities per second than the expert's keys."""

DEAR = ("tpcc", "order_book", "tpce", "audit_log", "sessions", "leaderboard")
"""Workloads whose analyses cost most; ``tpcc_large`` has the largest table of the first."""
SHOWN = sizes([workload for workload in WORKLOADS if workload.name not in DEAR], WORKLOADS, "proofs")
TABLES = [(workload, table) for workload in SHOWN for table in workload.tables]
NAMES = [f"{workload.name}-{table.name}" for workload, table in TABLES]
every_table = pytest.mark.parametrize(("workload", "table"), TABLES, ids=NAMES)


def known(workload: Workload, table: Table) -> Difference | None:
    return next((each for each in workload.differences if each.table == table.name), None)


@every_table
def test_the_advice_needs_no_more_than_the_experts_keys(workload: Workload, table: Table) -> None:
    """Requests and entities per second within the tolerance and no constraint broken that the expert's keys hold.

    A difference that is recorded beside the workload must be there, in these figures and no larger.
    """
    found, recorded = advice(workload.name, table.name), known(workload, table)
    worse = found.worse(TOLERANCE)
    seen = f"{found.expert} against {found.recommended}"
    assert set(worse) == set(recorded.figures if recorded else ()), seen
    assert max(worse.values(), default=0.0) <= (recorded.factor if recorded else 0.0), seen


CONTRADICTED = {"tpce-Trade": "density", "ycsb-UsertableD": "density", "telemetry-Telemetry": "density"}
"""Tables whose generated rows come 50 to 1,000 times as thinly as the published inserts, with queries for windows of
time."""


@every_table
def test_the_evidence_carries_the_advice_or_is_contradicted(workload: Workload, table: Table) -> None:
    document = advice(workload.name, table.name).document
    weak = [ground["name"] for ground in document["grounds"] if not ground["carries"]]
    name = f"{workload.name}-{table.name}"
    assert weak == ([CONTRADICTED[name]] if name in CONTRADICTED else [])
    assert (document["verdict"] == "not_enough") == bool(weak)


@every_table
def test_the_experts_keys_hold_what_they_promise(workload: Workload, table: Table) -> None:
    """No expert's key collides in the data, and each has its reason."""
    found = advice(workload.name, table.name)
    assert "not-unique" not in found.expert.violations
    assert table.expert.why.endswith(".")


@every_table
def test_what_a_sample_cannot_tell_is_not_told_as_counted(workload: Workload, table: Table) -> None:
    document = advice(workload.name, table.name).document
    confidence, told = document["confidence"], document["cannot_be_known"]
    sampled = [line for line in told if line.startswith(("whether keys are unique beyond the ", "unique in "))]
    shares = [line for line in told if line.startswith("exact shares: ")]
    if table.complete:
        # Nothing is sure where what was given contradicts itself: a rate against the times of the rows.
        carried = all(ground["carries"] for ground in document["grounds"])
        # Nor where nobody says that the rows are the whole table.
        stated = "sampling:" in table.declared or "entities_total:" in table.declared
        assert confidence is None or (confidence["basis"], confidence["sure"]) == ("counted", carried and stated)
        assert carried or document["verdict"] == "not_enough"
        assert shares == []
        return
    assert len(sampled) == 1
    assert confidence is None or confidence["basis"] != "counted"
    if "sampling: slice" in table.declared:
        assert confidence["basis"] == "unknown" and not confidence["sure"]
        # There are as many partitions as are at hand at least; nothing else is known of a slice.
        terms = [term for term in document["recommended"]["terms"] if term["name"] != "partitions"]
        assert {term.get(end) for term in terms for end in ("low", "high")} == {None}
    bases = {term["name"]: term["basis"] for term in document["recommended"]["terms"]}
    assert {bases[name] for name in ("requests", "entities counted", "hottest partition at peak")} <= {
        "sketched",
        "estimated",
        "assumed",
        "unknown",
    }


@pytest.mark.parametrize(
    ("workload", "table"),
    [
        pytest.param(
            workload,
            table,
            id=name,
        )
        for (workload, table), name in zip(TABLES, NAMES, strict=True)
        if table.identity
    ],
)
def test_a_recommended_key_has_the_whole_primary_key(workload: Workload, table: Table) -> None:
    """Two entities that the publication tells apart may come under one key otherwise, and the second is refused."""
    keys = advice(workload.name, table.name).recommended.keys.partition(" + ")[0]
    assert set(table.identity) <= set(re.findall(r"\w+", keys))


@pytest.mark.parametrize(
    ("workload", "table"),
    [
        pytest.param(
            workload,
            table,
            id=name,
        )
        for (workload, table), name in zip(TABLES, NAMES, strict=True)
        if table.largest
    ],
)
def test_a_number_that_counts_up_has_room_in_the_key(workload: Workload, table: Table) -> None:
    """A number with more digits than its padding sorts wrongly from the day on which it is reached."""
    keys = advice(workload.name, table.name).recommended.keys
    widths = {(name, int(width)) for name, width in re.findall(r"pad\((\w+),(\d+)\)", keys)}
    assert {name for name, _ in widths} & set(table.largest)
    assert [(name, width) for name, width in widths if table.largest.get(name, 0) >= 10**width] == []
