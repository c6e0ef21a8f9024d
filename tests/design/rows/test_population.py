"""Counting over codes equals counting in plain Python."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.design.keys.template import parse_template
from pkadvisor.design.keys.transforms import MISSING, bucket
from pkadvisor.design.keys.transforms.base import Atom
from pkadvisor.design.load.keyfacts import key_texts
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.values import period_index
from pkadvisor.table.edm import EdmType
from tests.design.support import frame_of, population_of

TYPES = {"a": EdmType.STRING, "b": EdmType.INT32, "t": EdmType.DATETIME}
START = datetime(1969, 12, 30, tzinfo=UTC)

Rows = list[dict[str, object]]
rows_ = st.lists(
    st.fixed_dictionaries(
        {
            "a": st.sampled_from(["x", "y", "", None]),
            "b": st.one_of(st.none(), st.integers(-2, 4)),
            "t": st.integers(0, 100).map(lambda h: START + timedelta(hours=h)),
        }
    ),
    min_size=1,
    max_size=12,
)
ATOMS: list[Atom] = [
    ("p", "a"),
    ("p", "b"),
    ("p", "t"),
    ("t", "t", "day"),
    ("t", "t", "month"),
    ("h", "a", "2"),
    ("h", "b", "3"),
]
atoms_ = st.lists(st.sampled_from(ATOMS), unique=True, max_size=3)


def columns(rows: Rows) -> dict[str, list[object]]:
    return {n: [row[n] for row in rows] for n in TYPES}


def label(row: dict[str, object], atom: Atom) -> object:
    """What an atom groups by, from its meaning alone."""
    value = row[atom[1]]
    if atom[0] == "h":
        return bucket(MISSING if value is None else str(value), int(atom[2]))
    if atom[0] == "p" or value is None:
        return value
    assert isinstance(value, datetime)
    return (value.year, value.month) if atom[2] == "month" else value.date()


def labels(row: dict[str, object], atoms: list[Atom]) -> tuple[object, ...]:
    return tuple(label(row, atom) for atom in atoms)


@given(rows_, atoms_)
def test_matching_surplus_and_distinct_equal_plain_counting(rows: Rows, atoms: list[Atom]) -> None:
    population = population_of(columns(rows), TYPES)
    instances = np.arange(len(rows))
    all_labels = [labels(row, atoms) for row in rows]
    assert population.matching(atoms, instances).tolist() == [all_labels.count(found) for found in all_labels]
    assert population.distinct(atoms) == len(set(all_labels))
    assert population.surplus(atoms) == len(rows) - len(set(all_labels))
    population.check()


@given(rows_, atoms_, atoms_)
def test_determines_is_a_functional_dependency(rows: Rows, left: list[Atom], right: list[Atom]) -> None:
    population = population_of(columns(rows), TYPES)
    seen: dict[tuple[object, ...], set[tuple[object, ...]]] = {}
    for row in rows:
        seen.setdefault(labels(row, left), set()).add(labels(row, right))
    assert population.determines(left, right) == all(len(found) == 1 for found in seen.values())


@given(rows_, atoms_, st.sampled_from(["b", "t"]), st.booleans(), st.booleans(), st.data())
def test_matching_range_is_half_open_between_bounds(
    rows: Rows, atoms: list[Atom], name: str, low_in: bool, high_in: bool, data: st.DataObject
) -> None:
    from pkadvisor.design.rows.asked.matching_rows import range_count

    population = population_of(columns(rows), TYPES)
    instances = np.arange(len(rows))

    def number(value: object) -> int:
        return (value - START) // timedelta(hours=1) if isinstance(value, datetime) else int(value)  # type: ignore[call-overload,no-any-return]

    unit = 3_600_000_000 if name == "t" else 1
    zero = -2 * 24 * unit if name == "t" else 0
    ends = st.integers(-5, 110 if name == "t" else 8)
    low, high = data.draw(ends), data.draw(ends)
    bounds = tuple(
        np.full(len(rows), float(zero + end * unit) + nudge)
        for end, nudge in ((low, 0.0 if low_in else 0.5), (high, 0.5 if high_in else 0.0))
    )
    expected = []
    for instance in rows:
        found = 0
        for row in rows:
            value = row[name]
            if value is None or labels(row, atoms) != labels(instance, atoms):
                continue
            inside = (low <= number(value) if low_in else low < number(value)) and (
                number(value) <= high if high_in else number(value) < high
            )
            found += inside
        expected.append(found)
    assert range_count(population, atoms, ("p", name), bounds, instances).tolist() == expected  # type: ignore[arg-type]


@given(rows_, rows_, atoms_)
def test_ghosts_group_and_are_never_counted(rows: Rows, ghosts: Rows, atoms: list[Atom]) -> None:
    population = population_of(columns(rows), TYPES, ghosts=frame_of(columns(ghosts), TYPES))
    instances = np.arange(len(rows), len(rows) + len(ghosts))
    all_labels = [labels(row, atoms) for row in rows]
    assert population.matching(atoms, instances).tolist() == [all_labels.count(labels(g, atoms)) for g in ghosts]
    assert population.counts(atoms).sum() == population.rows == len(rows)
    assert population.surplus(atoms) == len(rows) - len(set(all_labels))
    assert not population.is_data[instances].any()
    population.check()


def _tenants(**options: object) -> Population:
    return population_of(
        {"a": ["x"] * 3 + ["y"], "b": [1, 2, 3, 4]}, {"a": EdmType.STRING, "b": EdmType.INT32}, **options
    )


def test_a_random_sample_of_rows_scales_groups_but_not_the_row_itself() -> None:
    population = _tenants(total=31, complete=False)
    instances = np.arange(4)
    # Each other row stands for (31 - 1) / (4 - 1) = 10; the instance is one for certain.
    assert population.matching([("p", "a")], instances).tolist() == [21, 21, 21, 1]
    assert population.matching([("p", "b")], instances).tolist() == [1, 1, 1, 1]
    assert population.matching([], instances).tolist() == [31] * 4


def test_whole_groups_of_a_sample_of_keys_are_not_scaled() -> None:
    population = _tenants(total=400, complete=False, sampling="random-keys", sampled_by=("a",))
    instances = np.arange(4)
    assert population.matching([("p", "a")], instances).tolist() == [3, 3, 3, 1]
    assert population.matching([], instances).tolist() == [400] * 4
    assert population.share_factor([("p", "a")]) == 0.01
    # Each b is in one of two drawn keys: of 400 groups, but no more numbers than 1 to 4 and a gap.
    assert population.groups_total([("p", "b")]) == 5.0
    assert population.share_factor([("p", "b")]) == pytest.approx(4 / 5)


def test_a_slice_of_time_is_whole_within_its_times() -> None:
    start = datetime(2024, 1, 1, tzinfo=UTC)
    population = population_of(
        {"a": ["x", "x", "y"], "t": [start, start, start + timedelta(days=1)]},
        {"a": EdmType.STRING, "t": EdmType.DATETIME},
        total=300,
        complete=False,
        sampling="slice",
        arrival="t",
    )
    assert population.whole([("t", "t", "day")])
    assert population.matching([("t", "t", "day")], np.arange(3)).tolist() == [2, 2, 1]
    assert not population.whole([("p", "a")])
    assert population.matching([("p", "a")], np.arange(3)).tolist() == pytest.approx([1 + 299 / 2, 1 + 299 / 2, 1])


def test_ghosts_of_a_sample_scale_by_the_plain_share() -> None:
    types = {"a": EdmType.STRING}
    population = population_of(
        {"a": ["x", "x", "y"]}, types, total=30, complete=False, ghosts=frame_of({"a": ["x", "q"]}, types)
    )
    assert population.matching([("p", "a")], np.array([3, 4])).tolist() == [20, 0]


@given(st.lists(st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)), min_size=1, max_size=8))
def test_consecutive_periods_differ_by_one(moments: list[datetime]) -> None:
    series = pl.Series(moments, dtype=pl.Datetime("us")).dt.replace_time_zone("UTC")
    for unit, step in (("day", timedelta(days=1)), ("hour", timedelta(hours=1)), ("minute", timedelta(minutes=1))):
        here = period_index(series, unit)
        assert (period_index(series + step, unit) - here == 1).all()
    years = period_index(series, "year")
    assert years.tolist() == [m.year for m in moments]
    assert period_index(series, "month").tolist() == [12 * m.year + m.month - 1 for m in moments]


def test_atoms_of_parts() -> None:
    parts = parse_template("A:{a}_{pad(a,3)}_{time(t,'yyyyMM')}_{hash(b,4)}_{seq(2)}")
    assert [p.atom for p in parts if p.atom] == [
        ("p", "a"),
        ("p", "a"),
        ("t", "t", "month"),
        ("h", "b", "4"),
        ("s",),
    ]
    assert atoms_of(parts) == (("p", "a"), ("t", "t", "month"), ("h", "b", "4"), ("s",))


def test_arrival_order_is_by_value_then_by_file() -> None:
    types = {"n": EdmType.INT32}
    assert population_of({"n": [3, 1, 2, 1]}, types, arrival="n").arrival_order().tolist() == [1, 3, 2, 0]  # type: ignore[union-attr]
    assert population_of({"n": [3, 1, 2]}, types, arrival="file_order").arrival_order().tolist() == [0, 1, 2]  # type: ignore[union-attr]
    assert population_of({"n": [3, 1, 2]}, types).arrival_order() is None


def test_a_missing_time_is_no_period() -> None:
    population = population_of({"t": [None, datetime(1969, 12, 31, tzinfo=UTC)]}, {"t": EdmType.DATETIME})
    assert population.distinct([("t", "t", "day")]) == 2


KEY_PARTS = [
    "{pad(b,2)}",
    "{reverse_pad(b,2)}",
    "{t}",
    "{time(t,'yyyyMM')}",
    "{reverse_ticks(t)}",
    "{a}",
    "{hash(b,4)}",
]
texts_, days_ = st.sampled_from(["", "a", "~", "é", None]), st.one_of(st.none(), st.integers(0, 40))


@given(st.lists(st.tuples(texts_, days_), min_size=2))
def test_rows_sort_in_a_key_as_their_texts_do(rows: list[tuple[str | None, int | None]]) -> None:
    """Missing values among them: their text sorts behind that of a number, wherever it stands among texts."""
    times = [None if n is None else START + timedelta(days=n) for _, n in rows]
    population = population_of({"a": [a for a, _ in rows], "b": [b for _, b in rows], "t": times}, TYPES)
    for text in KEY_PARTS:
        parts = parse_template(text)
        (codes,) = population.key_order(parts)
        texts = key_texts(parts, population=population)["0"].rank("dense").to_list()
        pairs = sorted(zip(texts, codes.tolist(), strict=True))
        assert all(one[1] <= other[1] for one, other in pairwise(pairs)), text


@pytest.mark.parametrize(("yards", "met"), [(["Y1", "Y2"], False), (["Y1", "W2"], True)])
def test_keys_of_one_property_meet_where_they_share_a_value(yards: list[str], met: bool) -> None:
    """Rows by wagon and index rows by yard share no partition while no yard is called like a wagon."""
    rows = population_of({"wagon": ["W1", "W2"], "yard": yards}, {"wagon": EdmType.STRING, "yard": EdmType.STRING})
    wagon, yard = parse_template("{wagon}"), parse_template("{yard}")
    assert rows.meets(wagon, yard) is rows.meets(yard, wagon) is met
