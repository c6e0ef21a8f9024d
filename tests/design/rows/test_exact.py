"""Groups counted over every row, and what they mend: means over groups that a sample of rows gets wrong."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.rows.draws import draw_weights
from pkadvisor.design.rows.population import GroupCounts, Population, count_groups
from pkadvisor.design.rows.sets.pairs import group_sizes
from pkadvisor.observe.data.dataset import Dataset, open_datasets
from pkadvisor.observe.workload import Draw, DrawBy, Transaction
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, query

TYPES = {"tenant": EdmType.STRING, "device": EdmType.STRING, "n": EdmType.INT32}
SIZES = {f"t{i:03d}": 1 + i % 40 for i in range(400)}
"""Rows of each tenant: 1 to 40, ten tenants of each size."""


def rows() -> list[tuple[str, str, int]]:
    return [(tenant, f"d{n % 3}", n) for tenant, size in SIZES.items() for n in range(size)]


@pytest.fixture
def data(tmp_path: Path) -> Dataset:
    path = tmp_path / "rows.csv"
    path.write_text("tenant,device,n\n" + "".join(f"{t},{'' if n == 2 else d},{n}\n" for t, d, n in rows()))
    (found,) = open_datasets([str(path)])
    return found


def sampled(data: Dataset, share: int, counted: dict[tuple[str, ...], GroupCounts]) -> Population:
    """Every ``share``-th row in a shuffled order."""
    frame = pl.concat(list(data.batches()))
    chosen = np.random.default_rng(5).permutation(frame.height)[: frame.height // share]
    kept = frame[np.sort(chosen).tolist()]
    return Population(
        kept,
        TYPES,
        total=frame.height,
        complete=False,
        sampling="random-rows",
        drawn_from=frame.height,
        counted=counted,
    )


def test_groups_are_those_of_all_rows_missing_values_included(data: Dataset) -> None:
    found = count_groups(data, [("device", "tenant"), ("tenant",), ("tenant", "device")])
    assert list(found) == [("device", "tenant"), ("tenant",)]
    expected = Counter((t, None if n == 2 else d) for t, d, n in rows())
    both = found[("device", "tenant")]
    both.check()
    assert both.sizes.tolist() == sorted(expected.values(), reverse=True)
    frame = pl.DataFrame({"tenant": ["t001", "t002", "nobody"], "device": ["d0", None, "d0"]})
    assert both.of_rows(frame).tolist() == [expected[("t001", "d0")], expected[("t002", None)], 0]


def test_batches_add_up_whatever_their_cut(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = count_groups(data, [("tenant",)])[("tenant",)]
    small = Dataset.batches

    def in_pieces(self: Dataset, columns: object = None, rows: int = 7) -> object:
        return small(self, columns, 7)  # type: ignore[arg-type]

    monkeypatch.setattr(Dataset, "batches", in_pieces)
    assert count_groups(data, [("tenant",)])[("tenant",)].groups.equals(whole.groups)


def test_a_draw_by_groups_is_right_where_a_sample_of_rows_leans(data: Dataset) -> None:
    """Each tenant equally likely: 20.5 rows on average. A twentieth of the rows alone says something else."""
    draw = Draw(DrawBy.DISTINCT, of=("tenant",))
    means = []
    for counted in (count_groups(data, [("tenant",)]), {}):
        population = sampled(data, 20, counted)
        instances, weights = draw_weights(draw, population)
        means.append(float((population.matching([("p", "tenant")], instances) * weights).sum()))
    truth = sum(SIZES.values()) / len(SIZES)
    assert means[0] == pytest.approx(truth, rel=0.12)
    assert abs(means[1] - truth) > 2 * abs(means[0] - truth)


def test_a_bucket_of_what_is_fixed_divides_nothing(data: Dataset) -> None:
    population = sampled(data, 20, count_groups(data, [("tenant",)]))
    instances = np.arange(population.rows)
    plain = population.matching([("p", "tenant")], instances)
    assert population.matching([("p", "tenant"), ("h", "tenant", "8")], instances).tolist() == plain.tolist()
    assert population.matching([("p", "tenant"), ("h", "device", "8")], instances).tolist() != plain.tolist()


def test_what_is_returned_was_read_however_few_rows_a_sample_shows(data: Dataset) -> None:
    """A bucket of another property is counted on the sample, the answer over every row: the larger holds."""
    population = sampled(data, 20, count_groups(data, [("tenant",)]))
    draw = Draw(DrawBy.DISTINCT, of=("tenant",), stated=True)
    bench = bench_of(population, query("of", "tenant eq '{tenant}'", draw=draw))
    (cost,) = estimate(KeyScheme(parse_key("{tenant}_{hash(device,2)}", "{pad(n,3)}")), bench).classes
    assert cost.entities_returned == pytest.approx(20.5, rel=0.12)
    assert cost.entities_read >= cost.entities_returned


def test_under_zipf_a_sample_of_keys_does_not_stand_for_the_table() -> None:
    """20 of 1,000 tenants at hand: the first of all takes 1 of H(1000), whatever is at hand."""
    tenants = [f"t{n:02d}" for n in range(20) for _ in range(3)]
    frame = pl.DataFrame({"tenant": tenants, "n": list(range(60))}, schema_overrides={"n": pl.Int32})
    types = {"tenant": EdmType.STRING, "n": EdmType.INT32}
    population = Population(frame, types, total=3_000, complete=False, sampling="random-keys", sampled_by=("tenant",))
    draw = Draw(DrawBy.ZIPF, of=("tenant",), exponent=0.8, stated=True)
    asked = query("of", "tenant eq '{tenant}' and n eq {n}", rate=1000, draw=draw)
    found = estimate(KeyScheme(parse_key("{tenant}", "{pad(n,3)}")), bench_of(population, asked))
    assert found.hot is not None
    harmonic = sum(rank**-0.8 for rank in range(1, 1001))
    assert found.hot.entities_per_s == pytest.approx(1000 / harmonic, rel=0.05)


def test_a_zipf_draw_gives_each_rank_its_share(data: Dataset) -> None:
    counted = count_groups(data, [("tenant",)])
    whole = sampled(data, 1, counted)
    _, weights = draw_weights(Draw(DrawBy.ZIPF, of=("tenant",), exponent=1.0), whole)
    tenants = whole.frame.get_column("tenant").to_list()
    mass: Counter[str] = Counter()
    for tenant, weight in zip(tenants, weights.tolist(), strict=True):
        mass[tenant] += weight
    harmonic = sum(1 / rank for rank in range(1, len(SIZES) + 1))
    # The ten tenants of 40 rows have the first ten ranks, in the order of their names.
    largest = sorted(t for t, size in SIZES.items() if size == 40)
    assert [mass[t] for t in largest] == pytest.approx([1 / r / harmonic for r in range(1, 11)])
    assert sum(mass.values()) == pytest.approx(1)


def test_zipf_over_a_unique_property_has_its_first_rank_where_only_some_rows_are_kept(tmp_path: Path) -> None:
    """Every group has one row: the first of 4,000 takes 1 ÷ H(4000) of the load, whatever part of them is kept."""
    path = tmp_path / "unique.csv"
    path.write_text("id,n\n" + "".join(f"u{n:04d},{n}\n" for n in range(4_000)), encoding="utf-8")
    (unique,) = open_datasets([str(path)])
    asked = query("of", "id eq '{id}'", rate=1000, draw=Draw(DrawBy.ZIPF, of=("id",), exponent=0.99, stated=True))
    first = 1000 / sum(rank**-0.99 for rank in range(1, 4_001))
    counted = count_groups(unique, [("id",)])
    rows = pl.concat(list(unique.batches()))
    types = {c.name: c.edm for c in unique.columns}
    for every in (1, 4, 40):
        for known, drawn_from in ((counted, 4_000), ({}, None)):
            kept = rows.gather_every(every)
            population = Population(kept, types, total=4_000, complete=every == 1, counted=known, drawn_from=drawn_from)
            bench = bench_of(population, asked)
            apart = estimate(KeyScheme(parse_key("{id}", "")), bench).hot
            assert apart is not None
            assert apart.entities_per_s == pytest.approx(first, rel=0.02), (every, drawn_from)
            together = estimate(KeyScheme(parse_key("all", "{id}")), bench)
            assert together.hot is not None
            assert together.hot.entities_per_s == pytest.approx(1000), "one partition takes it all"


def test_groups_of_single_rows_stand_for_those_that_a_sample_does_not_show() -> None:
    """200 tenants of 60 rows and 12,000 of one: a tenth of the rows shows the first at one rank each."""
    tenants = [f"a{n:03d}" for n in range(200) for _ in range(60)] + [f"b{n:05d}" for n in range(12_000)]
    whole = pl.DataFrame({"tenant": tenants})
    kept = whole.sample(fraction=0.1, seed=7)
    draw = Draw(DrawBy.ZIPF, of=("tenant",), exponent=0.8, stated=True)
    types = {"tenant": EdmType.STRING}
    shares = []
    for frame in (whole, kept):
        population = Population(frame, types, total=len(tenants), complete=frame is whole)
        _, weights = draw_weights(draw, population)
        large = frame.get_column("tenant").str.starts_with("a").to_numpy()
        shares.append(float(weights[large].sum()))
    assert shares[1] == pytest.approx(shares[0], rel=0.05)


def test_sets_are_counted_over_every_row(data: Dataset) -> None:
    population = sampled(data, 10, count_groups(data, [("tenant",)]))
    mean, over, groups = group_sizes(Transaction("t", (), ("tenant",)), population, 30)
    assert (mean, over, groups) == (pytest.approx(20.5), 100, 400)


def test_a_file_that_is_itself_a_sample_has_no_exact_counts(data: Dataset) -> None:
    frame = pl.concat(list(data.batches()))
    counted = count_groups(data, [("tenant",)])
    population = Population(
        frame, TYPES, total=10 * frame.height, complete=False, drawn_from=frame.height, counted=counted
    )
    assert population.exact(("tenant",)) is None
