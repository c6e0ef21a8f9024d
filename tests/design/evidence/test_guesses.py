"""What a guess of the values that are asked for may do to a partition."""

from __future__ import annotations

import pytest

from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.evidence.given import Evidence
from pkadvisor.design.evidence.guesses import assumptions
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.observe.workload import Draw
from pkadvisor.table.edm import EdmType
from tests.design import support


@pytest.mark.parametrize(("filter_", "carries"), [("mail eq '{mail}'", True), ("gym eq '{gym}'", False)])
def test_no_draw_changes_what_a_scan_of_the_table_reads_of_a_partition(filter_: str, carries: bool) -> None:
    """200/s scan all 4,000 rows, 20,000 entities/s on each of 40 gyms, whatever mail is asked for; 200/s for one gym
    may all be for the same."""
    rows = {"gym": [f"g{n % 40:02}" for n in range(4_000)], "mail": [f"m{n}" for n in range(4_000)]}
    population = support.population_of(rows, {"gym": EdmType.STRING, "mail": EdmType.STRING})
    bench = support.bench_of(population, support.query("asked", filter_, rate=200.0, draw=Draw()))
    best = estimate(KeyScheme(parse_key("{gym}", "{mail}")), bench)
    ground = assumptions(Evidence(bench, best, None, 4_000, "complete", log=False))
    assert ground.carries is carries
    assert ("Zipf" in ground.sentence) is not carries
