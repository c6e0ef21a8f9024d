"""The advice on real data sets against what their descriptions call good and bad keys.

The data lies in the folder that PKADVISOR_SHARED names, or in ``shared`` beside the checkout; without it these tests
skip. ``designs/NAME.yaml`` declares the workload, ``designs/NAME.expect.toml`` the judgements. Keys are compared
without regard to separators, labels of rows, and the counts inside ``hash`` and ``seq``, which come from the load. Most
of the data sets are read in the long form only.
"""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pkadvisor.design.choice.goals import better
from pkadvisor.design.choice.judge import judge
from pkadvisor.design.choice.sections import Judged
from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.scheme import Key, KeyScheme, parse_key
from pkadvisor.design.keys.template import format_template
from pkadvisor.design.keys.transforms import Literal, Part
from pkadvisor.design.load.estimates import Bench, CostEstimate
from pkadvisor.inputs import AnalyzeRequest, read_sections
from pkadvisor.limits import default_limits
from pkadvisor.observe.workload import Growth, Rate
from pkadvisor.progress import SilentProgress
from tests.tiers import sizes

DESIGNS = Path(__file__).parent / "designs"
SHARED = Path(os.environ.get("PKADVISOR_SHARED", Path(__file__).parents[3] / "shared")) / "data"
CASES = {
    "beijing": ("beijing-air-quality/*.csv.gz",),
    "beijing-12": ("beijing-air-quality/*.csv.gz",),
    "chicago": ("Runners=chicago-marathon/runners.csv.gz", "Splits=chicago-marathon/splits.parquet"),
    "retail": ("online-retail/online-retail.csv.gz",),
    "orm-objects": ("objects",),
    "orm-objects-night": ("objects",),
}
SMALL = ("orm-objects", "orm-objects-night")
"""Those that cost less than a second; the others take up to 22."""
NAMES = sizes(SMALL, sorted(CASES), "real")

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the real data sets are not here (PKADVISOR_SHARED)")


@dataclass(frozen=True)
class Case:
    """One table of one data set: its judged section and the judgements it is compared with."""

    judged: Judged
    expected: dict[str, Any]

    @property
    def best(self) -> CostEstimate:
        assert self.judged.advice is not None
        return self.judged.advice.recommended

    def scored(self, partition: str, row: str) -> CostEstimate:
        assert self.judged.bench is not None
        known = self.judged.bench.population.types
        return estimate(KeyScheme(parse_key(partition, row, known=known)), self.judged.bench)


@cache
def objects_file() -> Path:
    """The access trace as a table: one row for each object, in the order of first access, with its count."""
    import tempfile

    import polars as pl

    rows = pl.read_csv(SHARED / "ecommerce-orm-trace" / "orm-busy-first500k.csv.gz")
    path = Path(tempfile.mkdtemp()) / "objects.csv"
    rows.group_by("type", "id", "index", maintain_order=True).len("accesses").write_csv(path)
    return path


@cache
def cases(name: str) -> tuple[Case, ...]:
    specs = []
    for spec in CASES[name]:
        kind, _, path = spec.rpartition("=")
        found = str(objects_file() if path == "objects" else SHARED / path)
        specs.append(f"{kind}={found}" if kind else found)
    request = AnalyzeRequest(data=tuple(specs), design=str(DESIGNS / f"{name}.yaml"))
    expected = tomllib.loads((DESIGNS / f"{name}.expect.toml").read_text(encoding="utf-8"))
    sections = read_sections(request, SilentProgress())
    return tuple(
        Case(judge(section, default_limits(), dataset), expected.get(section.table, expected))
        for section, dataset in sections
    )


def bare(parts: tuple[Part, ...]) -> str:
    """A template without separators, labels and computed counts and widths."""
    text = format_template(tuple(p for p in parts if not isinstance(p, Literal)))
    return re.sub(r"((?:hash|pad|reverse_pad)\([^,]+,|seq\()\d+", r"\1n", text)


def keys(templates: list[list[str]]) -> set[tuple[str, str]]:
    return {(bare(k.partition), bare(k.row)) for k in (parse_key(p, r) for p, r in templates)}


def shape(key: Key) -> tuple[str, str]:
    return bare(key.partition), bare(key.row)


@pytest.mark.parametrize("name", NAMES)
def test_the_advice_is_among_the_good_designs(name: str) -> None:
    for case in cases(name):
        good = keys(case.expected["good"])
        assert shape(case.best.scheme.main) in good, case.best.scheme.text
        views = keys(case.expected.get("good_views", []))
        for row in case.best.scheme.index_rows:
            assert shape(row.key) in views | good, f"index row {row.key}"


@pytest.mark.parametrize("name", NAMES)
def test_every_bad_design_ranks_below_with_its_reason(name: str) -> None:
    for case in cases(name):
        for bad in case.expected["bad"]:
            found = case.scored(bad["pk"], bad["rk"])
            assert better(case.best, found), found.scheme.text
            told = {v.code for v in found.violations} | {r.code for r in found.remarks}
            missing = set(bad["reason"].split(", ")) - told
            assert not missing, f"{found.scheme.text} is not told: {missing}; told: {sorted(told)}"


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_called_hot_that_is_not(name: str) -> None:
    for case in cases(name):
        told = {v.code for v in case.best.violations} | {r.code for r in case.best.remarks}
        assert not told & set(case.expected.get("never", []))


def test_a_coarse_key_is_bad_by_day_and_tolerable_by_night() -> None:
    """type as PartitionKey passes the target at 5,000 operations a second, not at 500: the break factor says when."""
    coarse = ("{type}", "{pad(id,6)}_{pad(index,3)}")
    day, night = (cases(n)[0].scored(*coarse) for n in ("orm-objects", "orm-objects-night"))
    assert any(v.code == "hot-partition" for v in day.violations)
    assert not night.violations
    assert night.break_factor == pytest.approx(10 * day.break_factor, rel=0.01)


def test_the_log_of_requests_gives_one_group_transaction() -> None:
    """Of the 14 sample lines, 3 are of a table (one group transaction with two inserts) and 11 of another service."""
    from pkadvisor.observe.logs.read_traffic import read_traffic

    folder = SHARED / "azure-table-requests"
    traffic = read_traffic(sorted(folder.glob("storage-analytics-*.log")), max_bad_lines=1.0)
    (table,) = traffic.tables
    assert (table.groups.transactions, table.groups.entities) == (1, 2)
    assert [c.requests for c in table.classes if c.op == "insert"] == [2]
    assert sum(n for reason, n, _ in traffic.skipped if "service" in reason) == 11


@pytest.mark.long("real")
def test_invoices_of_more_than_a_hundred_lines_are_named_as_not_atomic() -> None:
    """667 of 25,900 invoices have more lines than one group transaction holds; with an index row beside each line in
    the same partition, 2,256 have more than 50."""
    (case,) = cases("retail")
    lines = case.scored("{InvoiceNo}", "{seq(5)}")
    for priced, too_large in ((lines, 667), (case.best, 2_256)):
        (message,) = (r.message for r in priced.remarks if r.code == "transaction-too-large")
        assert message.startswith(f"{too_large:,} of 25,900 sets of 'whole-invoice' exceed 100 rows"), message


def only(bench: Bench, name: str, rate_per_s: float) -> Bench:
    """The bench with one class left, at a rate of its own."""
    demands = tuple(
        replace(d, query=replace(d.query, rate=Rate(rate_per_s, rate_per_s)))
        for d in bench.demands
        if d.query.name == name
    )
    return replace(bench, demands=demands, workload=replace(bench.workload, classes=tuple(d.query for d in demands)))


@pytest.mark.long("real")
def test_one_partition_is_fine_for_ingest_and_breaks_at_the_tracking_rate_that_is_computed() -> None:
    """71 inserts a second into one partition of the event are far below the target; look-ups break it."""
    splits = next(c for c in cases("chicago") if c.judged.section.table == "Splits")
    bench = splits.judged.bench
    assert bench is not None
    key = parse_key("{event}", "{bib}_{split}_{seq(6)}", known=bench.population.types)
    ingest = estimate(KeyScheme(key), only(bench, "pass", 71.0))
    assert not ingest.violations
    assert ingest.break_factor == pytest.approx(2000 / 71, rel=0.01)

    tracking = estimate(KeyScheme(key), only(bench, "of-runner", 100.0))
    breaks_at = 100.0 * tracking.break_factor
    # A runner has ten splits (one has twenty): the partition's 2,000 entities/s are about 200 look-ups a second.
    assert breaks_at == pytest.approx(200, rel=0.05)
    growing = replace(bench.workload, growth=Growth(1.0))
    for rate, hot in ((breaks_at * 0.99, False), (breaks_at * 1.01, True)):
        still = only(replace(bench, workload=growing), "of-runner", rate)
        found = estimate(KeyScheme(key), still)
        assert any(v.code == "hot-partition" for v in found.violations) is hot
