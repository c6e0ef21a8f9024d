"""Bucket counts against brute force over every count and every bucket."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pkadvisor.design.choice.finer_keys import refine
from pkadvisor.design.choice.key_building import KeyGround
from pkadvisor.design.choice.search import advise
from pkadvisor.design.cost.buckets import (
    BUCKETS_MAX,
    BucketDemand,
    BucketReads,
    append_buckets,
    bucket_count,
    partition_buckets,
)
from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.keys.transforms import Field, bucket
from pkadvisor.design.load.estimates import BREAK_ENOUGH, Bench, CostEstimate
from pkadvisor.design.rows.population import Population
from pkadvisor.limits import default_limits
from pkadvisor.observe.workload import Draw, DrawBy, Growth, GrowthOf, Operation
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query
from tests.tiers import examples

LIMITS = default_limits()
TARGET = LIMITS.partition_entities_per_s


def demand_of(writes_per_s: float, reads: Sequence[BucketReads], weights: dict[str, float]) -> BucketDemand:
    """A demand over keys with weights."""
    heads = [hashlib.sha256(key.encode()).digest()[:8] for key in weights]
    digests = np.array([int.from_bytes(h, "big") for h in heads], dtype=np.uint64)
    shares = np.array(list(weights.values()), dtype=np.float64)
    return BucketDemand(writes_per_s, tuple(reads), digests, shares / shares.sum())


def brute_force(
    writes_per_s: float, reads: Sequence[BucketReads], weights: dict[str, float], allowed_per_s: float
) -> int | None:
    """The least count for which no bucket has more than is allowed: every bucket of every count, key by key."""
    total = sum(weights.values())
    for count in range(1, BUCKETS_MAX + 1):
        loads = dict.fromkeys(range(count), 0.0)
        for key, weight in weights.items():
            loads[bucket(key, count)] += writes_per_s * weight / total
        for each in loads:
            for asked in reads:
                loads[each] += asked.rate_per_s * max(1.0, min(asked.most, asked.held / count))
        if max(loads.values()) <= allowed_per_s * (1 + 1e-12):
            return count
    return None


def even(keys: int = 20_000) -> dict[str, float]:
    return {f"key-{n}": 1.0 for n in range(keys)}


KEYS = even()
HUNDRED = (100.0, (BucketReads(20.0, 500.0, 500.0),))
THREE_THOUSAND = (3_000.0, (BucketReads(2.0, 500.0, 500.0),))


@pytest.mark.parametrize(
    ("writes_per_s", "reads", "limit", "comfort"), [(*HUNDRED, 6, 8), (*THREE_THOUSAND, 3, 3)], ids=["100+20", "3000+2"]
)
def test_known_counts(writes_per_s: float, reads: tuple[BucketReads, ...], limit: int, comfort: int) -> None:
    """100 writes/s + 20 range reads/s of 500 rows → 8; 3,000 writes/s + 2 × 500 → 3.

    By hand: (100 + 20 · 500) ÷ B and (3,000 + 2 · 500) ÷ B. At 70 % of the target of 2,000 (the line above which
    head-room is warned about) that gives 10,100 ÷ 1,400 = 7.2 → 8 and 4,000 ÷ 1,400 = 2.9 → 3: both known counts, as
    counts with head-room. At the target itself the first needs 10,100 ÷ 2,000 = 5.05 → 6; the second exactly 2 if
    hashes were even, and 3 as they are. At 80 % of it they need 7 and 3.
    """
    demand = demand_of(writes_per_s, reads, KEYS)
    found = bucket_count(demand, TARGET, LIMITS.headroom_warn_share)
    assert (found.limit, found.comfort, found.chosen) == (limit, comfort, comfort)
    assert found.limit == brute_force(writes_per_s, reads, KEYS, TARGET)
    assert found.comfort == brute_force(writes_per_s, reads, KEYS, 0.7 * TARGET)
    wider = bucket_count(demand, TARGET, LIMITS.headroom_share)
    assert wider.comfort == brute_force(writes_per_s, reads, KEYS, 0.8 * TARGET) == (7 if writes_per_s == 100 else 3)


weighted_keys = st.dictionaries(
    st.text("abcdef0123456789", min_size=1, max_size=6), st.integers(1, 50), min_size=1, max_size=40
)
some_reads = st.lists(st.builds(BucketReads, st.floats(0, 200), st.floats(0, 2000), st.floats(0, 2000)), max_size=3)


@settings(max_examples=examples(30), deadline=None)
@given(weighted_keys, st.floats(0, 60_000), some_reads, st.floats(0.5, 1.0))
def test_counts_equal_brute_force(
    weights: dict[str, int], writes_per_s: float, reads: list[BucketReads], share: float
) -> None:
    floats = {key: float(weight) for key, weight in weights.items()}
    demand = demand_of(writes_per_s, reads, floats)
    found = bucket_count(demand, TARGET, share)
    for count, allowed in ((found.limit, TARGET), (found.comfort, TARGET * share)):
        if count is None:
            assert all(demand.load_per_s(c) > allowed for c in range(1, BUCKETS_MAX + 1))
            assert brute_force(writes_per_s, reads, floats, allowed * (1 - 1e-9)) is None
        else:
            assert demand.load_per_s(count) <= allowed
            assert all(demand.load_per_s(c) > allowed for c in range(1, count))
            assert brute_force(writes_per_s, reads, floats, allowed * (1 + 1e-9)) == count or demand.load_per_s(
                count
            ) == pytest.approx(allowed)
    if found.comfort is not None:
        assert found.limit is not None
        assert found.limit <= found.comfort


def test_loads_around_the_count_are_told() -> None:
    demand = demand_of(*HUNDRED, KEYS)
    found = bucket_count(demand, TARGET, 0.7, around=16)
    table = dict(found.load_per_s)
    assert set(table) == {1, 5, 6, 7, 8, 9, 15, 16, 17}
    assert table[1] == pytest.approx(10_100)
    assert all(load == demand.load_per_s(count) for count, load in table.items())
    assert table[7] > 1400 >= table[8]


def test_no_count_helps() -> None:
    top = bucket_count(demand_of(100, [BucketReads(50, 100, np.inf)], KEYS), TARGET, 0.7)
    assert (top.limit, top.comfort, top.chosen) == (None, None, None)
    assert "ask every bucket" in top.reason
    one_value = bucket_count(demand_of(9000, [], {"only": 1.0}), TARGET, 0.7)
    assert one_value.limit is None
    assert "one value" in one_value.reason
    tight = bucket_count(demand_of(100, [BucketReads(15, 100, np.inf)], KEYS), TARGET, 0.7)
    assert tight.limit == 1
    assert tight.comfort is None
    assert tight.chosen == 1


def test_where_no_count_fits_the_nearest_power_of_two_is_told() -> None:
    """Each bucket is asked 900 times a second for a share of 1,000 rows: 256 leave 3,516 entities/s of 900,000, and 16
    of them are as many times over the target as their 14,400 requests are over an account of 512."""
    demand = demand_of(0, [BucketReads(900, 1000, 1000)], KEYS)
    free = bucket_count(demand, TARGET, 0.7)
    assert (free.chosen, free.nearest) == (None, 256)
    assert demand.load_per_s(16) / TARGET == pytest.approx(900_000 / 16 / TARGET) == pytest.approx(28.125)
    assert demand.load_per_s(16) == pytest.approx(28.125 * TARGET)
    assert bucket_count(demand, TARGET, 0.7, account_per_s=512).nearest == 16
    one_value = bucket_count(demand_of(9000, [], {"only": 1.0}), TARGET, 0.7)
    assert one_value.nearest is None
    assert bucket_count(demand_of(1000, [], KEYS), TARGET, 0.7).nearest is None


def test_one_bucket_is_enough() -> None:
    found = bucket_count(demand_of(1000, [BucketReads(1, 100, 100)], KEYS), TARGET, 0.7)
    assert (found.limit, found.comfort) == (1, 1)
    assert "do not bucket" in found.reason


def test_a_heavy_value_is_weighed() -> None:
    """One of 100 values takes a third of the writes: its bucket never has less."""
    weights = {f"k{n}": 1.0 for n in range(99)} | {"heavy": 49.5}
    demand = demand_of(6000, [], weights)
    assert demand.largest_share(64) >= 1 / 3
    assert bucket_count(demand, TARGET, 0.7).chosen is None or demand.load_per_s(256) >= 2000
    assert bucket_count(demand_of(5000, [], weights), TARGET, 1.0).limit == brute_force(5000, [], weights, TARGET)


# -- from a workload -------------------------------------------------------------------------------------------------


def one_event(rows: int = 2000) -> Population:
    return population_of(
        {"event": ["race"] * rows, "bib": list(range(rows)), "team": [f"t{n % 300:03d}" for n in range(rows)]},
        {"event": EdmType.STRING, "bib": EdmType.INT32, "team": EdmType.STRING},
    )


def bench(
    *,
    writes: float,
    lists: float = 0.0,
    newest: float = 0.0,
    gets: float = 0.0,
    factor: float = 1.0,
    top: int = 100,
) -> Bench:
    """One hot event: writes, lists of all its 2,000 rows, its first ones, and reads of one row."""
    asked = [query("register", None, rate=writes, operation=Operation.INSERT)]
    if lists:
        asked.append(query("all", "event eq {event}", rate=lists))
    if newest:
        asked.append(query("first", "event eq {event}", rate=newest, order=["bib"], top=top))
    if gets:
        asked.append(query("get", "event eq {event} and bib eq {bib}", rate=gets))
    made = bench_of(one_event(), *asked)
    return replace(made, workload=replace(made.workload, growth=Growth(factor, GrowthOf.RATE, 1.0)))


SCHEME = KeyScheme(parse_key("{event}", "{pad(bib,4)}"))


def judged(made: Bench, scheme: KeyScheme = SCHEME) -> CostEstimate:
    return estimate(scheme, made)


def buckets_of(made: Bench, scheme: KeyScheme = SCHEME) -> tuple[int | None, dict[int, float]]:
    found = partition_buckets(Field("bib"), scheme, made, judged(made, scheme).classes)
    return found.limit, dict(found.load_per_s)


def fullest(count: int, keys: int = 2000) -> float:
    return max(Counter(bucket(str(n), count) for n in range(keys)).values()) / keys


@pytest.mark.parametrize(("writes", "lists", "gets"), [(3000, 0, 0), (1000, 3, 0), (100, 4, 900), (0.001, 0, 5000)])
def test_the_demand_of_the_hottest_partition(writes: float, lists: float, gets: float) -> None:
    """Writes and reads of one row name the value; a list of all 2,000 rows is divided."""
    made = bench(writes=writes, lists=lists, gets=gets)
    limit, loads = buckets_of(made)
    for count, load in loads.items():
        expected = (writes + gets) * fullest(count) + lists * 2000 / count
        assert load == pytest.approx(expected, rel=1e-6), count
    fitting = [c for c in range(1, 257) if (writes + gets) * fullest(c) + lists * 2000 / c <= TARGET]
    assert limit == fitting[0]
    hot = judged(made).hot
    assert hot is not None
    assert loads[1] == pytest.approx(hot.entities_per_s)  # the same load that the cost model found


@pytest.mark.parametrize("key", ["{team}", "{event}", "{event}_{team}", "all"])
def test_without_buckets_it_is_the_load_of_the_cost_model(key: str) -> None:
    """Also where a read scans several partitions, and falls on all rows that it cannot tell apart."""
    made = bench(writes=50, lists=0.2, gets=3, newest=1, factor=2.0)
    scheme = KeyScheme(parse_key(key, "{pad(bib,4)}"))
    hot = judged(made, scheme).hot
    assert hot is not None
    assert buckets_of(made, scheme)[1][1] == pytest.approx(2 * hot.entities_per_s)


def test_the_count_is_the_same_seen_from_the_bucketed_key() -> None:
    """The remark on a design with buckets and the search for one agree: also where a fan-out reads n of each."""
    made = bench(writes=2500, lists=0.5, newest=5, gets=200, factor=2.0)
    plain = buckets_of(made)
    bucketed = KeyScheme(parse_key("{event}_{hash(bib,5)}", "{pad(bib,4)}"))
    again = buckets_of(made, bucketed)
    assert again[0] == plain[0]
    assert {c: pytest.approx(load) for c, load in again[1].items()} == plain[1]
    assert plain[1][1] == pytest.approx(2 * (2500 + 0.5 * 2000 + 5 * 100 + 200))


def test_buckets_carry_what_was_computed() -> None:
    """The load of the hottest partition of the bucketed key is the load that the count was chosen by."""
    made = bench(writes=3000, gets=500)
    advice = advise(made, None)
    best = advice.recommended
    hashed = [c for c in advice.ranking if c.scheme.pattern == "hash bucket" and c.scheme.main.row]
    assert hashed
    counts = []
    for found in hashed:
        part = next(p for p in found.scheme.main.partition if str(p).startswith("{hash(bib"))
        count = int(str(part).rsplit(",", 1)[1].rstrip(")}"))
        assert found.hot is not None
        assert found.hot.entities_per_s == pytest.approx(3500 * fullest(count))
        assert found.hot.entities_per_s <= LIMITS.headroom_warn_share * TARGET
        counts.append(count)
        said = [r.message for r in found.remarks if r.code == "buckets"]
        assert len(said) == 1
        assert (
            f"{count} buckets by bib: the fullest partition takes {3500 * fullest(count) + 1e-9:,.0f} entities/s"
            in said[0]
        )
        assert f"{3500 * fullest(count - 1) + 1e-9:,.0f} with {count - 1}" in said[0]
        assert f"{3500 * fullest(count + 1) + 1e-9:,.0f} with {count + 1}" in said[0]
    assert best.feasible
    allowed = LIMITS.headroom_warn_share * TARGET
    for count, share in ((min(counts), 1.0), (max(counts), made.horizon_factor / BREAK_ENOUGH)):
        assert 3500 * fullest(count - 1) >= allowed * share


def test_no_bucketed_variant_where_no_count_helps() -> None:
    made = bench(writes=100, newest=500, top=5)
    assert {v.code for v in judged(made).violations} >= {"hot-partition"}
    assert not [c for c in advise(made, None).ranking if c.scheme.pattern == "hash bucket"]


@pytest.mark.parametrize(("rate", "top"), [(25, 100), (2, 1000), (2, 5000)])
def test_the_first_n_are_divided_where_a_bucket_holds_fewer(rate: float, top: int) -> None:
    """2,000 rows lie in 32 buckets by 62: a request for the first 100 takes 62 of each, one for 5,000 too."""
    made = bench(writes=1, newest=rate, top=top)
    for scheme in (SCHEME, KeyScheme(parse_key("{event}_{hash(bib,40)}", "{pad(bib,4)}"))):
        costs = judged(made, scheme).classes
        loads = dict(partition_buckets(Field("bib"), scheme, made, costs, around=32).load_per_s)
        assert loads[32] == pytest.approx(fullest(32) + rate * min(top, 2000 / 32))
        assert loads[1] == pytest.approx(1 + rate * min(top, 2000))


def test_buckets_are_counted_without_the_reads_that_an_index_row_will_serve() -> None:
    """40 look-ups/s by another property scan the 2,000 rows of the event: 41 buckets for these, and two for 2,100
    writes/s once they have an index row."""
    made = bench(writes=2100)
    scanning = bench_of(one_event(), *made.workload.classes, query("by-team", "team eq {team}", rate=40))
    scanning = replace(scanning, workload=replace(scanning.workload, growth=made.workload.growth))

    def counts(bench: Bench) -> list[int]:
        finer = refine(judged(bench), KeyGround(bench))
        return [int(scheme.text.partition("hash(bib,")[2].partition(")")[0]) for scheme in finer]

    alone, beside = counts(made), counts(scanning)
    assert alone[0] == 2
    assert beside[0] > 41 and set(alone) <= set(beside)


def appended(rows: int = 4000, tenants: int = 1) -> Population:
    start = datetime(2024, 1, 1, tzinfo=UTC)
    return population_of(
        {
            "at": [start + timedelta(seconds=n) for n in range(rows)],
            "tenant": [f"t{n % tenants}" for n in range(rows)],
            "id": list(range(rows)),
        },
        {"at": EdmType.DATETIME, "tenant": EdmType.STRING, "id": EdmType.INT32},
        arrival="at",
    )


@pytest.mark.parametrize(("tenants", "fronts"), [(1, 1.0), (2, 2.0)])
def test_buckets_before_a_key_that_appends(tenants: int, fronts: float) -> None:
    """Each bucket keeps the fronts that the key has; what is read of the newest rows lands there as well."""
    newest = Draw(DrawBy.NEWEST, share=1.0, window_s=60, stated=True)
    made = bench_of(
        appended(tenants=tenants),
        query("write", None, rate=2000, operation=Operation.INSERT),
        query("get", "tenant eq {tenant} and at eq {at} and id eq {id}", rate=300, draw=newest),
    )
    key = "{tenant}_{ticks(at)}" if tenants > 1 else "{ticks(at)}"
    scheme = KeyScheme(parse_key(key, "{tenant}_{pad(id,5)}"))
    costs = estimate(scheme, made)
    assert costs.fronts.median == fronts
    found = append_buckets(Field("id"), scheme, made, costs.classes, costs.inserts_per_s_peak)
    assert found is not None
    loads = dict(found.load_per_s)
    assert loads[1] == pytest.approx(3 * (2000 + 300) / fronts)
    fits = [c for c in range(1, 40) if 3 * 2300 / fronts * fullest(c, 4000) <= TARGET]
    assert found.limit in (fits[0], fits[0] + 1)  # reads are of the newest keys alone, which hash a little otherwise
    unknown = bench_of(appended(), query("write", None, rate=2000, operation=Operation.INSERT))
    unknown.population.arrival = None
    assert append_buckets(Field("at"), KeyScheme(parse_key("{id}", "")), unknown, (), 2000.0) is None


def test_ample_buckets_bear_ten_times_the_load_of_today() -> None:
    """At a horizon of three times today's load the comfortable count breaks at 4.3 times; the ample one beyond ten."""
    demand = demand_of(9000, [], {f"k{n}": 1 / 4096 for n in range(4096)})
    found = bucket_count(demand, TARGET, 0.7, horizon_factor=3.0)
    assert found.comfort is not None and found.ample is not None
    assert 3 * TARGET / demand.load_per_s(found.comfort) < 5
    assert 3 * TARGET / demand.load_per_s(found.ample) > 10
    assert bucket_count(demand, TARGET, 0.7, horizon_factor=10.0).ample is None
