"""Counting partitions: in a frame for many keys, over every row for a few, against counting the key texts."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pkadvisor.design.keys.scheme import Key, key_expression, parse_key
from pkadvisor.design.keys.transforms.base import Atom
from pkadvisor.design.rows import census as census_module
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.census import census
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.samples import screen as screen_module
from pkadvisor.design.rows.samples.screen import PartitionFacts, Screen, atom_hashes, needed
from pkadvisor.observe.data.dataset import open_datasets
from pkadvisor.table.edm import EdmType
from tests.tiers import examples

TYPES = {
    "tenant": EdmType.STRING,
    "bib": EdmType.INT32,
    "total": EdmType.DOUBLE,
    "ok": EdmType.BOOLEAN,
    "at": EdmType.DATETIME,
}
DTYPES = {
    "tenant": pl.String(),
    "bib": pl.Int32(),
    "total": pl.Float64(),
    "ok": pl.Boolean(),
    "at": pl.Datetime("us", "UTC"),
}
KEYS = [
    ("{tenant}", "{bib}"),
    ("{pad(bib,6)}", "{tenant}"),
    ("{hash(tenant,4)}", "{bib}_{at}"),
    ("{hash(tenant,4)}_{time(at,'yyyyMMdd')}", "{tenant}_{bib}_{at}"),
    ("{lower(tenant)}_{total}", "{bib}"),
    ("{time(at,'yyyyMMddHH')}", "{ok}_{bib}"),
    ("{prefix(tenant,1)}_{ok}", "{reverse_ticks(at)}"),
    ("all", "{tenant}_{total}"),
]
START = datetime(2026, 1, 30, 22, tzinfo=UTC)

ROWS = st.tuples(
    st.one_of(st.none(), st.sampled_from(["", "a", "A", "b", "bb", "tenant-000001", "tenant-000002", "é" * 80])),
    st.one_of(st.none(), st.integers(-3, 5)),
    st.one_of(st.none(), st.sampled_from([0.0, -0.0, 1.0, 1.5, 2.0**53, 1e300])),
    st.one_of(st.none(), st.booleans()),
    st.one_of(st.none(), st.integers(0, 300).map(lambda m: START + timedelta(minutes=m))),
)


def frame_of(rows: list[tuple[object, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=DTYPES, orient="row")


def by_text(frame: pl.DataFrame, key: Key) -> tuple[int, int, int]:
    """(partitions, rows of the largest, rows whose whole key another has), by grouping the key texts."""
    texts = frame.select(
        pk=pl.lit("") + key_expression(key.partition, TYPES), rk=pl.lit("") + key_expression(key.row, TYPES)
    )
    sizes = texts.group_by("pk").len("n").get_column("n")
    return len(sizes), int(sizes.max() or 0), texts.height - texts.n_unique()  # type: ignore[call-overload]


def zipf(rows: int, groups: int, salt: int = 0) -> pl.Series:
    """Numbers of groups whose sizes fall as 1 ÷ rank, in no order."""
    weights = [1 / (i + 1) for i in range(groups)]
    edges = pl.Series(weights).cum_sum() / math.fsum(weights)
    draws = pl.Series([(i * 2654435761 + salt * 97) % 2**32 / 2**32 for i in range(rows)])
    return edges.search_sorted(draws).clip(0, groups - 1).cast(pl.Int64)


@settings(max_examples=examples(60))
@given(st.lists(ROWS, min_size=1, max_size=60))
def test_the_screen_counts_what_grouping_the_key_texts_counts(rows: list[tuple[object, ...]]) -> None:
    frame = frame_of(rows)
    keys = [parse_key(*key, known=TYPES) for key in KEYS]
    found = Screen(frame, TYPES, exact=True).facts([atoms_of(key.partition) for key in keys])
    for key, facts in zip(keys, found, strict=True):
        assert (facts.partitions, facts.largest) == by_text(frame, key)[:2], str(key)
        assert (facts.rows, facts.largest_at_most) == (len(rows), facts.largest)


@settings(max_examples=examples(12))
@given(st.lists(ROWS, min_size=2, max_size=40), st.integers(1, 9), st.integers(1, 3))
def test_the_census_counts_what_grouping_the_key_texts_counts_whatever_the_parts(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[object, ...]], batch: int, at_once: int
) -> None:
    frame = frame_of(rows)
    file = tmp_path_factory.mktemp("census") / "rows.parquet"
    frame.write_parquet(file)
    (dataset,) = open_datasets([str(file)])
    keys = [parse_key(*key, known=TYPES) for key in KEYS]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(census_module, "BATCH", batch)
        patch.setattr(census_module, "BYTES", 8 * len(rows) * at_once)
        found = census(dataset, keys, TYPES)
    for key, facts in zip(keys, found, strict=True):
        assert facts is not None
        assert (facts.partitions, facts.largest, facts.surplus) == by_text(frame, key), str(key)
        assert facts.exact


def test_many_rows_are_counted_as_few_are() -> None:
    rows = 3 * screen_module.EXACT_ROWS
    frame = pl.DataFrame(
        {"tenant": zipf(rows, 3000), "bib": zipf(rows, 40_000, 1), "n": pl.int_range(rows, eager=True)}
    )
    types = dict.fromkeys(frame.columns, EdmType.INT64)
    sets: list[tuple[Atom, ...]] = [
        (("p", "tenant"),),
        (("p", "bib"),),
        (("p", "bib"), ("p", "tenant")),
        (("h", "tenant", "7"),),
        (("h", "bib", "7"), ("p", "tenant")),
        (("p", "n"),),
        (),
    ]
    population = Population(frame, types)
    for atoms, facts in zip(sets, Screen(frame, types).facts(sets), strict=True):
        counts = population.counts(atoms)
        most = int(counts.max())
        assert facts.largest <= most <= facts.largest_at_most, atoms
        assert facts.largest_at_most - facts.largest <= 12, atoms
        if most > 20:
            assert facts.largest == most, atoms
        assert facts.partitions == pytest.approx(population.distinct(atoms), rel=0.02), atoms


@settings(max_examples=examples(20))
@given(st.integers(0, 10_000), st.sampled_from([4, 60, 900]))
def test_the_share_of_a_sample_is_within_its_bound(salt: int, groups: int) -> None:
    import numpy as np

    rows = 40_000
    frame = pl.DataFrame({"tenant": zipf(rows, groups), "n": pl.int_range(rows, eager=True)})
    types = dict.fromkeys(frame.columns, EdmType.INT64)
    drawn = frame.filter(pl.Series(np.random.default_rng(salt).random(rows) < 0.1))
    key: list[Atom] = [("p", "tenant")]
    (whole,), (part,) = Screen(frame, types, exact=True).facts([key]), Screen(drawn, types).facts([key])
    share = max(whole.top_share, 9 / drawn.height)
    bound = 4 * math.sqrt(share / drawn.height) + (part.largest_at_most - part.largest) / drawn.height
    assert abs(part.top_share - whole.top_share) <= bound
    assert not part.exact


def test_what_a_value_settles_is_not_counted_again() -> None:
    bucket, day, value = ("h", "tenant", "16"), ("t", "at", "day"), ("p", "tenant")
    assert needed([value, bucket, day]) == (value, day)
    assert needed([bucket, day]) == (bucket, day)
    text = ("f", "{lower(tenant)}")
    assert needed([text, value]) == (value,)
    assert needed([text, ("p", "bib")]) == (text, ("p", "bib"))


def test_hashes_of_an_atom_do_not_depend_on_the_other_rows() -> None:
    frame = frame_of([("a", 1, 1.5, True, START), (None, None, None, None, None), ("é" * 80, 2, 2.0, False, START)])
    atoms: list[Atom] = [
        ("p", "tenant"),
        ("p", "total"),
        ("t", "at", "month"),
        ("h", "bib", "16"),
        ("f", "{lower(tenant)}"),
    ]
    for atom in atoms:
        whole = atom_hashes(frame, atom, TYPES).tolist()
        assert whole == [int(atom_hashes(frame[i], atom, TYPES)[0]) for i in range(3)], atom
        assert whole[0] != whole[1] or atom[0] == "h"


def test_a_function_of_too_many_values_is_left_out_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = 400
    frame = pl.DataFrame({"tenant": [f"t{i % 7}" for i in range(rows)], "bib": pl.int_range(rows, eager=True)})
    frame.write_parquet(tmp_path / "rows.parquet")
    (dataset,) = open_datasets([str(tmp_path / "rows.parquet")])
    types = {"tenant": EdmType.STRING, "bib": EdmType.INT64}
    monkeypatch.setattr(census_module, "TEXTS_MAX", 100)
    keys = [
        ("{hash(bib,4)}", "{tenant}"),
        ("{hash(tenant,4)}", "{bib}"),
        ("{bib}", "{tenant}"),
        ("all", "{bib}"),
        ("{tenant}", "{seq(3)}"),
    ]
    left, bucket, unique, whole, numbered = census(dataset, [parse_key(*key, known=types) for key in keys], types)
    assert left is None
    assert bucket is not None and bucket.partitions == len({_bucket(f"t{i}") for i in range(7)})
    assert unique == PartitionFacts(rows, rows, 1, 1, exact=True, surplus=0)
    assert whole == PartitionFacts(rows, 1, rows, rows, exact=True, surplus=0)
    assert numbered is not None and (numbered.partitions, numbered.surplus) == (7, 0)


def _bucket(text: str) -> int:
    from pkadvisor.design.keys.transforms import bucket

    return bucket(text, 4)


def test_a_population_counts_its_partitions_in_the_wider_sample() -> None:
    wide = pl.DataFrame({"tenant": [f"t{i % 300}" for i in range(900)], "bib": list(range(900))})
    types = {"tenant": EdmType.STRING, "bib": EdmType.INT64}
    sample = wide.head(200)
    tenant: list[Atom] = [("p", "tenant")]
    narrow = Population(sample, types, total=5000, complete=False, drawn_from=2500)
    wider = Population(sample, types, total=5000, complete=False, drawn_from=2500, wide=wide)
    assert (narrow.groups_total(tenant), wider.groups_total(tenant)) == (200.0, 300.0)
    facts = wider.partition_facts(tenant)
    assert (facts.rows, facts.largest, facts.exact) == (900, 3, False)
    keys = {"total": 5000, "complete": False, "drawn_from": 2500, "sampling": "random-keys", "sampled_by": ("tenant",)}
    assert Population(sample, types, wide=wide, **keys).groups_total(tenant) == 600.0  # type: ignore[arg-type]
    assert Population(wide, types).partition_facts(tenant).exact
