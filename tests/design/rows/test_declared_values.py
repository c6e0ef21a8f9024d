"""A declared number of values against the data, and as a bound of the partitions of a table that was sampled."""

from __future__ import annotations

from pathlib import Path

import pytest

from pkadvisor.design.choice.bench_of_section import bench_for
from pkadvisor.design.choice.sections import observed
from pkadvisor.design.load.estimates import Bench
from pkadvisor.inputs import AnalyzeRequest, read_sections
from pkadvisor.limits import default_limits
from pkadvisor.progress import SilentProgress


def judged(folder: Path, tenants: int, distinct: int | None, *, total: int = 0) -> tuple[Bench, list[str]]:
    """Rows of some tenants, 20 each: of ``total`` entities a draw of whole tenants."""
    lines = (f"t{n % tenants},{n}\n" for n in range(20 * tenants))
    (folder / "t.csv").write_text("tenant,id\n" + "".join(lines))
    sampled = f"    entities_total: {total}\n    sampling: random-keys\n    sampled_by: [tenant]\n" if total else ""
    said = f"{{type: string, distinct: {distinct}}}" if distinct else "string"
    design = f"schema: 1\ntables:\n  orders:\n{sampled}    properties:\n      tenant: {said}\n      id: int64\n"
    design += "    queries:\n      - {name: of, filter: \"tenant eq '{tenant}'\", rate: 5/s}\n"
    (folder / "d.yaml").write_text(design)
    request = AnalyzeRequest(data=(str(folder / "t.csv"),), design=str(folder / "d.yaml"))
    ((section, _),) = read_sections(request, SilentProgress())
    return bench_for(section, observed(section)[0], default_limits())


def test_data_with_more_values_than_declared_is_told_and_wins(tmp_path: Path) -> None:
    bench, notes = judged(tmp_path, 9, 7)
    (note,) = (n for n in notes if "declared to have" in n)
    assert "tenant is declared to have 7 values at the most" in note
    assert "the data has 9" in note
    assert bench.population.groups_total([("p", "tenant")]) == 9
    sampled, more = judged(tmp_path, 9, 7, total=1800)
    assert sum("declared to have" in n for n in more) == 1
    assert sampled.population.groups_total([("p", "tenant")]) == pytest.approx(90)


def test_as_many_values_as_declared_are_no_news(tmp_path: Path) -> None:
    for distinct in (9, 10, None):
        assert not [n for n in judged(tmp_path, 9, distinct)[1] if "declared to have" in n]


def test_a_declared_number_of_values_bounds_the_groups_of_a_sampled_table(tmp_path: Path) -> None:
    free, _ = judged(tmp_path, 9, None, total=1800)
    assert free.population.groups_total([("p", "tenant")]) == pytest.approx(90)
    bound, _ = judged(tmp_path, 9, 12, total=1800)
    assert bound.population.groups_total([("p", "tenant")]) == 12
    assert bound.population.groups_total([("h", "tenant", "64")]) <= 12
    both = [("p", "tenant"), ("p", "id")]
    assert bound.population.groups_total(both) == free.population.groups_total(both)  # nothing is said of id
