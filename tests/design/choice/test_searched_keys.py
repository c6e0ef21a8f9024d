"""Which keys and index rows the search proposes, and where it is bounded."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from pkadvisor.design.choice import candidates, judge, row_sets, search
from pkadvisor.design.choice.candidates import main_keys
from pkadvisor.design.choice.finer_keys import poorly_served, recounted
from pkadvisor.design.choice.goals import best_of, better, good_enough, loss, ranked
from pkadvisor.design.choice.judge import _at_limit
from pkadvisor.design.choice.key_building import KeyGround
from pkadvisor.design.choice.search import advise
from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.scheme import IndexRow, KeyScheme, parse_key
from pkadvisor.design.load.estimates import Bench, CostEstimate
from pkadvisor.observe.workload import Draw, DrawBy, Operation, QueryClass, Rate, Transaction
from pkadvisor.table.edm import EdmType
from tests.design.choice.test_search import GOOD, by_age, by_bib, candidate, race, register
from tests.design.support import bench_of, population_of, query


def test_the_dual_row_comes_with_two_queries_and_goes_with_one() -> None:
    both = advise(bench_of(race(), by_bib(60), by_age(40), register(2)), None).recommended
    assert len(both.scheme.index_rows) == 1
    assert both.scheme.same_partition(both.scheme.index_rows[0])
    assert {c.name: c.plan.via for c in both.classes if c.plan} in (
        {"by-bib": 0, "by-age": 1},
        {"by-bib": 1, "by-age": 0},
    )
    for alone in (by_bib(60), by_age(40)):
        one = advise(bench_of(race(), alone, register(2)), None).recommended
        assert one.scheme.index_rows == ()


def test_a_query_in_two_halves_is_the_same_query() -> None:
    """The heaviest query stays the heaviest, and needs one row for both halves."""
    whole = KeyGround(bench_of(race(), by_bib(60), by_age(40), register(2)))
    halves = [replace(by_bib(30), name=f"half {n}") for n in (1, 2)]
    split = KeyGround(bench_of(race(), *halves, by_age(40), register(2)))
    assert [d.query.name for d in whole.reading()] == ["by-bib", "by-age"]
    assert [d.query.name for d in split.reading()] == ["half 1", "by-age"]
    assert [s.text for s in main_keys(split)] == [s.text for s in main_keys(whole)]
    rows = KeyScheme(parse_key("{hash(event,4)}", "{pad(bib,5)}"))
    badly, half = poorly_served(estimate(rows, whole.bench), whole), poorly_served(estimate(rows, split.bench), split)
    assert [name.replace("by-bib", "half 1") for name in badly] == half
    assert len(half) == 2


def test_no_proposed_index_row_is_idle() -> None:
    advice = advise(bench_of(race(), by_bib(60), by_age(40), query("by-note", "bib eq {bib}", rate=1)), None)
    for found in advice.ranking:
        used = {c.plan.via for c in found.classes if c.plan}
        assert set(range(1, len(found.scheme.index_rows) + 1)) <= used, found.scheme.text


def test_the_best_key_is_tried_with_each_index_row_that_no_sum_proposes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "propose", lambda *_, **__: row_sets.Proposed((), 1, 0, 0.0))
    found = advise(bench_of(race(), by_bib(60), by_age(40), register(2)), None).recommended
    assert len(found.scheme.index_rows) == 1


def test_the_best_key_is_tried_with_its_index_rows_in_other_orders() -> None:
    here = KeyGround(bench_of(race(), by_bib(60), by_age(40), register(2)))
    main = parse_key("{event}", "BIB:{pad(bib,5)}")
    row = IndexRow(parse_key("{event}", "AGE:{pad(age,3)}_{note}_{pad(bib,5)}"))
    found = estimate(KeyScheme(main, (row,)), here.bench)
    apart = search.one_row_apart(found, lambda scheme: estimate(scheme, here.bench), here)
    swapped = [scheme.index_rows[0].key for scheme in apart if len(scheme.index_rows) == 1]
    assert parse_key("{event}", "AGE:{pad(age,3)}_{pad(bib,5)}") in swapped
    assert all(str(key).startswith("{event} | AGE:{pad(age,3)}") for key in swapped)


def test_the_best_key_is_tried_without_each_of_its_index_rows() -> None:
    here = KeyGround(bench_of(race(), by_bib(60), by_age(40), register(2)))
    main = parse_key("{event}", "BIB:{pad(bib,5)}")
    rows = tuple(
        IndexRow(parse_key("{event}", f"{name.upper()}:{{{name}}}_{{pad(bib,5)}}")) for name in ("age", "note")
    )
    found = estimate(KeyScheme(main, rows), here.bench)
    apart = search.one_row_apart(found, lambda scheme: estimate(scheme, here.bench), here)
    counts = Counter(len(scheme.index_rows) for scheme in apart)
    assert counts[1] == 2 and counts[3] > 0 and set(counts) == {1, 3}


def test_the_key_that_is_best_as_it_is_gets_index_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MAINS_EXTENDED", 0)
    monkeypatch.setattr(search, "MAINS_CHEAPEST", 0)
    here = KeyGround(bench_of(race(), by_bib(60), by_age(40), register(2)))
    mains = [estimate(scheme, here.bench) for scheme in main_keys(here)]
    assert search.worth_extending(mains, here) == [best_of(mains)]


def test_named_schemes_take_part_and_every_candidate_is_ranked_once() -> None:
    bench = bench_of(race(), by_bib(60), register(2))
    extra = KeyScheme(parse_key("{pad(age,3)}", "{event}_{pad(bib,5)}"))
    advice = advise(bench, None, [extra])
    texts = [c.scheme.text for c in advice.ranking]
    assert extra.text in texts
    assert len(texts) == len(set(texts))
    assert not better(advice.ranking[1], advice.ranking[0])
    assert advice == advise(bench_of(race(), by_bib(60), register(2)), None, [extra])


def test_a_hot_partition_is_refined_into_buckets() -> None:
    population = race(1, 2000)
    bench = bench_of(population, by_bib(900), register(700))
    advice = advise(bench, KeyScheme(parse_key("{event}", "{pad(bib,4)}")))
    assert not advice.keep
    assert advice.current is not None
    assert {v.code for v in advice.current.violations} >= {"hot-partition"}
    assert advice.recommended.feasible


def test_isolation_leads_every_partition_key() -> None:
    population = population_of(
        {"tenant": [f"t{n % 7}" for n in range(350)], "id": list(range(350))},
        {"tenant": EdmType.STRING, "id": EdmType.INT32},
    )
    advice = advise(bench_of(population, query("get", "id eq {id} and tenant eq {tenant}"), isolation="tenant"), None)
    assert advice.recommended.scheme.main.partition[0].properties == ("tenant",)


@pytest.mark.parametrize(
    ("partition", "main", "kept"),
    [
        ("{tenant}_ID:{id}", "{tenant}", True),
        ("{tenant}", "{tenant}", True),
        ("ID:{tenant}_{id}", "{tenant}", False),
        ("{id}_{tenant}", "{tenant}", False),
        ("T:{tenant}_{id}", "T:{tenant}", True),
        ("{tenant}_{id}", "{hash(tenant,4)}_{tenant}", False),
    ],
)
def test_an_index_row_lies_in_the_range_of_keys_of_its_tenant(partition: str, main: str, kept: bool) -> None:
    """An access policy for one tenant is a range of PartitionKeys: a label before the tenant leads out of it."""
    population = population_of(
        {"tenant": [f"t{n % 7}" for n in range(70)], "id": list(range(70))},
        {"tenant": EdmType.STRING, "id": EdmType.INT32},
    )
    bench = bench_of(population, query("get", "id eq {id} and tenant eq {tenant}"), isolation="tenant")
    scheme = KeyScheme(parse_key(main, "{pad(id,5)}"), (IndexRow(parse_key(partition, "{pad(id,5)}"), "full"),))
    assert ("isolation" not in {v.code for v in estimate(scheme, bench).violations}) is kept


def test_a_hot_key_by_reads_binds() -> None:
    population = race(4, 100)
    even = replace(by_bib(1000), draw=Draw(DrawBy.DISTINCT, of=("event",), stated=True))
    skewed = replace(by_bib(1000), draw=Draw(DrawBy.ZIPF, of=("event",), exponent=2.0, stated=True))
    scheme = KeyScheme(parse_key("{event}", "{pad(bib,4)}"))

    def hottest(asked: QueryClass) -> float:
        found = estimate(scheme, bench_of(population, asked)).hot
        assert found is not None
        return found.entities_per_s

    assert hottest(even) == pytest.approx(250)
    assert hottest(skewed) == pytest.approx(1000 / (1 + 1 / 4 + 1 / 9 + 1 / 16))


def test_the_break_factor_is_the_least_head_room() -> None:
    population = race(2, 100)
    bench: Bench = bench_of(population, replace(by_bib(100), rate=Rate(100, 400)))
    found = estimate(KeyScheme(parse_key("{event}", "{pad(bib,4)}")), bench)
    assert found.break_factor == pytest.approx(2000 / 200)  # two events, 400/s at the peak, one entity each
    assert found.break_cause == "the hottest partition"
    wide = estimate(KeyScheme(parse_key("{event}_{pad(bib,4)}", "")), bench)
    assert wide.break_factor == pytest.approx(20_000 / 400)
    assert wide.break_cause == "the account's requests"


# -- ties --------------------------------------------------------------------------------------------------------------


def inserting(partition: str, row: str, requests: float = 100.0, open_ended: int = 0) -> CostEstimate:
    return replace(candidate(partition, row, requests=requests), inserts_per_s_peak=5.0, open_ended=open_ended)


def test_of_equal_schemes_the_one_that_serves_the_order_wins_then_the_fewer_requests() -> None:
    """The client sorts what the longer key brings in order; of both, fewer requests go before a shorter key."""
    bench = bench_of(race(2, 60), query("list", "event eq {event}", order=["bib"], rate=3))
    ordered = estimate(KeyScheme(parse_key("{event}", "{pad(bib,2)}")), bench)
    unordered = estimate(KeyScheme(parse_key("{event}", "{bib}")), bench)
    assert ordered.requests_per_s == unordered.requests_per_s
    assert best_of([ordered, unordered]) is best_of([unordered, ordered]) is ordered
    assert (loss(unordered, ordered).goal, loss(unordered, ordered).mine) == ("sorting", 3)
    for times, goal in ((1.2, "sorting"), (1.3, "storage")):  # up to a quarter more bytes, an order is worth them
        larger = replace(ordered, bytes_per_entity=unordered.bytes_per_entity * times)
        first, second = (larger, unordered) if goal == "sorting" else (unordered, larger)
        assert best_of([larger, unordered]) is best_of([unordered, larger]) is first
        assert loss(second, first).goal == goal
    fewer = candidate("{longer}", requests=99)
    assert best_of([GOOD, fewer]) is fewer
    assert (loss(GOOD, fewer).goal, loss(GOOD, fewer).mine) == ("requests", 100)


def test_of_equal_schemes_bounded_partitions_go_before_shorter_keys() -> None:
    """Inserts fill one partition for ever, those of a device as well, those of a month until it is over."""
    month, device = inserting("{a}_{time(t,'yyyyMM')}", "{b}"), inserting("{a}", "{b}", open_ended=1)
    single = inserting("all", "{b}", open_ended=2)
    assert ranked([single, device, month]) == [month, device, single]
    assert loss(single, device).goal == loss(device, month).goal == "bounded growth"
    still = [replace(found, open_ended=0) for found in (month, device)]
    assert best_of(still) is still[1]


@pytest.mark.parametrize(("rate", "reason"), [(0.0, True), (1e-4, True), (1.0, False)])
def test_one_partition_for_all_needs_a_reason(rate: float, reason: bool) -> None:
    """480 entities and one a second are 32 million in a year; 3,000 more stay below 10,000."""
    classes = (query("all", None, order=["bib"], top=50, rate=2), by_age(2))
    put = (register(rate),) if rate else ()
    found = advise(bench_of(race(4, 120), *classes, *put), None)
    single = [c for c in found.ranking if not any(part.properties for part in c.scheme.main.partition)]
    assert bool(single) is reason


@pytest.mark.parametrize(("sets", "reason"), [((("event",),), False), ((("event",), ("age",)), True)])
def test_a_transaction_is_a_reason_for_one_partition_where_no_other_key_keeps_it(
    sets: tuple[tuple[str, ...], ...], reason: bool
) -> None:
    """What changes together in an event lies in the partition of the event; in one of the age as well, only in one of
    all."""
    together = tuple(Transaction("-".join(names), ("register",), names) for names in sets)
    found = advise(bench_of(race(4, 120), by_age(2), register(1.0), transactions=together), None)
    single = [c for c in found.ranking if not any(part.properties for part in c.scheme.main.partition)]
    assert bool(single) is reason


def test_the_main_keys_are_bounded_and_the_bound_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = bench_of(race(2, 60), by_bib(60), by_age(40), register(2))
    every = main_keys(KeyGround(bench))
    assert advise(bench, None).search.at_limit == ()
    for module in (candidates, judge):
        monkeypatch.setattr(module, "KEYS_OF_A_PATTERN", 2)
    kept = main_keys(KeyGround(bench))
    assert Counter(s.pattern for s in kept).most_common(1)[0][1] == 2 < len(every)
    assert [s.text for s in kept if s.pattern == "compound key"] == [
        s.text for s in every if s.pattern == "compound key"
    ][:2]
    advice = advise(bench, None)
    assert "compound key" in advice.search.at_limit
    assert any("the limit of 2 main keys of the pattern 'compound key' was hit" in line for line in _at_limit(advice))


def test_the_index_rows_are_bounded_and_the_bound_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = bench_of(race(2, 60), by_bib(60), by_age(40), query("of-age", "age eq {age}", rate=5))
    whole = advise(bench, None)
    assert not whole.search.rows_cut
    assert not any("index rows beside a main key" in line for line in _at_limit(whole))
    for module in (row_sets, judge):
        monkeypatch.setattr(module, "BESIDE_MAX", 1)
    cut = advise(bench, None)
    assert cut.search.rows_cut
    assert 0 < cut.search.structures < whole.search.structures
    assert max(len(c.scheme.index_rows) for c in cut.ranking) == 1
    assert any("the limit of 1 index rows beside a main key was hit" in line for line in _at_limit(cut))


def test_keys_that_differ_in_buckets_alone_leave_room_for_others() -> None:
    """Index rows are weighed for twelve keys: ten were one key with other numbers of buckets."""
    keys = [f"all_{{hash({name},{count})}}" for count in (5, 7, 8) for name in ("id", "at")]
    texts = [*(f"{partition} | {{city}}_{{id}}" for partition in keys), "{team} | {id}", "{team} | {city}_{id}"]
    mains = [cast(CostEstimate, SimpleNamespace(scheme=KeyScheme(parse_key(*t.split(" | "))))) for t in texts]
    order = [main.scheme.text for main in search._of_each_family(mains)]
    assert order == [*texts[: search.OF_A_FAMILY], *texts[6:], *texts[search.OF_A_FAMILY : 6]]


@pytest.mark.parametrize(
    ("break_factor", "requests_of_best", "stays"),
    [(1.58, 6.0, True), (1.2, 6.0, False), (1.58, 1.0, False), (3.7, 1.0, False), (3.8, 1.0, True)],
)
def test_room_beyond_the_growth_is_not_bought_with_a_rewrite_nor_that_for_assumed_growth_with_requests(
    break_factor: float, requests_of_best: float, stays: bool
) -> None:
    """Ten buckets read six times the requests, and bear five times today's load; three times is to be planned for."""

    def priced(requests_per_s: float, factor: float) -> CostEstimate:
        known = {"violations": (), "remarks": (), "entities_per_s": 5.0, "room_factor": 3.75}
        return cast(CostEstimate, SimpleNamespace(requests_per_s=requests_per_s, break_factor=factor, **known))

    assert good_enough(priced(1.0, break_factor), priced(requests_of_best, 5.2)) is stays


def test_buckets_are_no_more_than_the_key_needs_once_index_rows_take_reads_off_it() -> None:
    """Buckets were counted for a query that reads the partition, and stayed when an index row served it: 90 requests
    for a revoke."""
    columns = {
        "client": [*["app"] * 8, "tv", "web"] * 60,
        "token": [f"{n:03d}" for n in range(600)],
        "user": list(range(60)) * 10,
    }
    types = {"client": EdmType.STRING, "token": EdmType.STRING, "user": EdmType.INT32}
    bench = bench_of(
        population_of(columns, types, total=60_000),
        query("one", "client eq '{client}' and token eq '{token}'", rate=600),
        query("new", None, rate=100, operation=Operation.INSERT),
        query("revoke", "client eq '{client}' and user eq {user}", rate=1),
    )
    partition = "{client}_{hash(token,90)}"
    row = IndexRow(parse_key(partition, "USER:{pad(user,3)}_{token}"))
    (fewer,) = recounted(estimate(KeyScheme(parse_key(partition, "TOKEN:{token}"), (row,)), bench), KeyGround(bench))
    assert fewer.main.partition == fewer.index_rows[0].key.partition
    assert 1 < (fewer.main.partition[-1].bucket_count or 0) <= 16
    assert estimate(fewer, bench).break_factor >= 10
    assert not [*recounted(estimate(replace(fewer, index_rows=()), bench), KeyGround(bench))]
