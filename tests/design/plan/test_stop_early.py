"""Rows read before ``$top`` is filled, where the server filters in the order of the key."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.design.cost.plan_reads import read
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.load.estimates import Read
from pkadvisor.design.plan.plan import plan
from pkadvisor.design.rows.population import Population
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, frame_of, population_of, query

TYPES = {"shop": EdmType.STRING, "state": EdmType.STRING, "no": EdmType.INT32, "at": EdmType.DATETIME}
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
NEWEST = "{shop}", "{reverse_ticks(at)}_{no}"


def orders(shops: list[int], states: list[str], **options: object) -> Population:
    count = len(states)
    columns = {
        "shop": [f"s{n}" for n in shops],
        "state": states,
        "no": list(range(count)),
        "at": [BEGAN + timedelta(minutes=n) for n in range(count)],
    }
    return population_of(columns, TYPES, **options)


def scanned(population: Population, text: str, key: tuple[str, str], order: str, top: int) -> list[float]:
    asked = query("recent", text, order=(order,), top=top)
    bench = bench_of(population, asked)
    scheme = KeyScheme(parse_key(*key))
    (found,) = plan(asked, bench.demands[0].conditions, scheme, TYPES)
    assert found.top == top and found.unserved
    return [float(each) for each in read(found, bench.demands[0], scheme, bench).per_instance]


def by_hand(shops: list[int], states: list[str], wanted: list[str], top: int, *, newest: bool) -> list[float]:
    """What a walk along the key reads for the shop of each row and the state that it asks for."""
    numbers = range(len(states))[::-1] if newest else range(len(states))
    out = []
    for shop, state in zip(shops, wanted, strict=True):
        read_, found = 0, 0
        for n in numbers:
            if shops[n] == shop:
                read_ += 1
                found += states[n] == state
                if found == top:
                    break
        out.append(float(read_))
    return out


def test_rows_at_one_moment_lie_as_their_keys_do() -> None:
    """Twelve orders of one moment, three of them open, by their numbers: the two that are wanted end at number 7."""
    numbers = list(range(10, 22))
    states = ["open" if no in (13, 16, 20) else "sent" for no in numbers]

    def read_of(order: list[int]) -> set[float]:
        columns = {
            "shop": ["s"] * 12,
            "state": [states[n] for n in order],
            "no": [numbers[n] for n in order],
            "at": [BEGAN] * 12,
        }
        return set(scanned(population_of(columns, TYPES), "shop eq '{shop}' and state eq 'open'", NEWEST, "-at", 2))

    assert (
        read_of(list(range(12)))
        == read_of(list(range(12))[::-1])
        == read_of([6, 3, 10, 0, *range(1, 3), 4, 5, *range(7, 10), 11])
        == {7.0}
    )


@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["open", "sent", "paid"])), min_size=1, max_size=40),
    st.integers(1, 5),
    st.booleans(),
)
def test_a_walk_along_the_key_reads_as_many_rows(rows: list[tuple[int, str]], top: int, newest: bool) -> None:
    shops, states = [shop for shop, _ in rows], [state for _, state in rows]
    population = orders(shops, states)
    key, order = (NEWEST, "-at") if newest else (("{shop}", "{ticks(at)}_{no}"), "at")
    asked = "shop eq '{shop}' and state eq '{state}'"
    assert scanned(population, asked, key, order, top) == by_hand(shops, states, states, top, newest=newest)
    population = orders(shops, states)
    constant = scanned(population, "shop eq '{shop}' and state eq 'open'", key, order, top)
    expected = by_hand(shops, states, ["open"] * len(states), top, newest=newest)
    there = {shop for shop, state in rows if state == "open"}
    assert [n for n, s in zip(constant, shops, strict=True) if s in there] == [
        n for n, s in zip(expected, shops, strict=True) if s in there
    ]


def test_a_sample_tells_about_the_whole_table() -> None:
    # The newest tenth is open: the fifth open order is the fifth, the fifth that was sent lies behind all open ones.
    whole = ["sent"] * 9_000 + ["open"] * 1_000
    every = orders([0] * 10_000, whole)
    some = orders([0] * 100, whole[::100], total=10_000.0)
    text = "shop eq '{shop}' and state eq '{state}'"
    for top, of_open, of_sent in ((5, 5, 1_005), (200, 200, 1_200), (900, 900, 1_900)):
        exact, sampled = scanned(every, text, NEWEST, "-at", top), scanned(some, text, NEWEST, "-at", top)
        assert (exact[-1], exact[0]) == (of_open, of_sent)
        # The share of open ones is 91 or 100 of 1,000, as an entity that is asked for is counted itself or not.
        assert sampled[-1] == pytest.approx(of_open, rel=0.11)
        # One row stands for a hundred: the first ones sent lie anywhere between the last open one and the next row.
        assert sampled[0] == pytest.approx(of_sent, rel=0.06 if top >= 100 else 0.6)


@pytest.mark.long("proofs")
def test_rows_that_lie_evenly_are_found_as_soon_as_their_share_says() -> None:
    chance = np.random.default_rng(5)
    found = []
    for _ in range(300):
        states = ["open" if hit else "sent" for hit in chance.random(200) < 0.1]
        if "open" in states:
            some = orders([0] * 200, states, total=60_000.0)
            found.append(
                scanned(some, "shop eq '{shop}' and state eq '{state}'", NEWEST, "-at", 20)[states.index("open")]
            )
    assert np.mean(found) == pytest.approx(200, rel=0.1)


def newest_of_shop(rows: Population, partition: str, row: str) -> Read:
    """What the newest 20 orders of each shop read: period by period where the PartitionKey has one."""
    asked = query("newest", "shop eq '{shop}'", order=("-at",), top=20)
    bench, scheme = bench_of(rows, asked), KeyScheme(parse_key(partition, row))
    plans = plan(asked, bench.demands[0].conditions, scheme, TYPES, rows)
    return read(max(plans, key=lambda p: p.back), bench.demands[0], scheme, bench)


PERIODS = ("{shop}", "{shop}_{time(at,'yyyy')}", "{shop}_{time(at,'yyyyMM')}", "{shop}_{time(at,'yyyyMMdd')}")


@pytest.mark.parametrize(("shops", "share"), [(300, 0.03), (300, 0.2), (1_000, 0.05), (10_000, 0.05)])
@pytest.mark.parametrize("row", ["{ticks(at)}_{no}", "{reverse_ticks(at)}_{no}"])
def test_a_sample_goes_back_as_far_as_the_whole_table_and_reads_as_much(shops: int, share: float, row: str) -> None:
    """Shops of unlike sizes over ten months, down to some that have fewer orders than are wanted."""
    chance, count = np.random.default_rng(7), 50_000
    weights = 1 / np.arange(1, shops + 1) ** 0.5
    of = chance.choice(shops, count, p=weights / weights.sum())
    at = np.sort(chance.random(count)) * 300 * 86_400
    columns = {"shop": [f"s{n}" for n in of], "state": ["open"] * count, "no": list(range(count))}
    columns["at"] = [BEGAN + timedelta(seconds=s) for s in at.tolist()]
    frame = frame_of(columns, TYPES)
    whole = Population(frame, TYPES, arrival="at")
    some = np.sort(chance.choice(count, int(share * count), replace=False))
    sample = Population(frame[some], TYPES, arrival="at", total=count, sampling="random-rows")
    told = [newest_of_shop(sample, partition, row) for partition in PERIODS]
    for partition, found in zip(PERIODS, told, strict=True):
        true = newest_of_shop(whole, partition, row)
        assert found.fan_out == pytest.approx(true.fan_out, rel=0.12)
        assert found.returned == pytest.approx(true.returned, rel=0.12)
        assert found.entities == pytest.approx(true.entities, rel=0.25)
        assert (found.scanned >= np.minimum(20, told[0].scanned) - 1e-6).all()  # no fewer than are wanted
    means = [found.entities for found in told]
    assert means == sorted(means, reverse=True)  # a longer period is never read in fewer rows


def test_what_is_not_there_is_looked_for_to_the_end() -> None:
    population = orders([0, 0, 1], ["open", "open", "sent"])
    assert scanned(population, "shop eq '{shop}' and state eq 'sent'", NEWEST, "-at", 1) == [2, 2, 1]


def test_in_no_order_matches_lie_evenly() -> None:
    population = orders([0] * 100, ["open"] * 50 + ["sent"] * 50)
    asked = query("some", "shop eq '{shop}' and state eq '{state}'", top=10)
    bench = bench_of(population, asked)
    scheme = KeyScheme(parse_key(*NEWEST))
    (found,) = plan(asked, bench.demands[0].conditions, scheme, TYPES)
    assert np.allclose(read(found, bench.demands[0], scheme, bench).per_instance, 20)


@pytest.mark.parametrize("each", [3, 30])
def test_a_share_below_an_own_value_is_that_of_its_rank(each: int) -> None:
    """The cheapest row at hand of its shop stands for prices up to the next, and not for the lowest of all."""
    shops, top = 20, 20
    rng = np.random.default_rng(each)
    rows = shops * each
    columns = {
        "shop": [f"s{n % shops}" for n in range(rows)],
        "state": ["open"] * rows,
        "no": rng.permutation(100_000)[:rows].tolist(),
        "at": [BEGAN] * rows,
    }
    population = population_of(columns, TYPES, total=400_000)
    size = population.matching([("p", "shop")], np.arange(rows)).mean()
    asked = query("cheap", "shop eq '{shop}' and no lt {no}", top=top)
    bench, scheme = bench_of(population, asked), KeyScheme(parse_key("{shop}", "{at}"))
    (found,) = plan(asked, bench.demands[0].conditions, scheme, TYPES)
    scanned_each = np.array(read(found, bench.demands[0], scheme, bench).per_instance)
    truth = top * (1 + np.log(size / top))  # the mean of min(size, top ÷ share) over every share
    assert scanned_each.mean() == pytest.approx(truth, rel=0.05)
    of_shop = scanned_each.reshape(each, shops).mean(axis=0)
    assert of_shop.max() == pytest.approx(truth, rel=0.05)
    assert bench.demands[0].returned.mean() == pytest.approx(size / 2, rel=0.05)
