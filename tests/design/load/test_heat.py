"""Load per partition."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.scheme import IndexRow, KeyScheme, parse_key
from pkadvisor.design.keys.template import parse_template
from pkadvisor.design.keys.transforms import bucket
from pkadvisor.design.load.estimates import CostEstimate
from pkadvisor.design.load.heat import LoadMap
from pkadvisor.design.rows import schedule
from pkadvisor.observe.minutes import MinuteSeries
from pkadvisor.observe.workload import Basis, Draw, DrawBy, Growth, Operation, QueryClass, Rate
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query


def test_load_falls_on_the_partition_of_each_instance() -> None:
    population = population_of({"tenant": ["a", "b", "a", "c"]}, {"tenant": EdmType.STRING})
    loads = LoadMap(population)
    parts = parse_template("{tenant}")
    loads.at_instances(parts, np.array([0, 1, 2]), np.array([1.0, 5.0, 3.0]))
    loads.at_rows(parts, np.zeros(4, dtype=np.int64), np.array([8.0]))
    found = loads.hottest()
    assert found is not None
    assert found[0] == parts
    assert found[1].entities_per_s == pytest.approx(8.0)  # a: 1 + 3 + two rows of 2
    assert found[1].share == pytest.approx(8 / 17)
    assert found[1].partitions == 3
    assert found[1].row == 0


def test_no_load_is_no_hot_partition() -> None:
    assert LoadMap(population_of({"tenant": ["a"]}, {"tenant": EdmType.STRING})).hottest() is None


# -- when: peaks that do not come together -----------------------------------------------------------------------------

PAIR = {"tenant": EdmType.STRING, "n": EdmType.INT64}
SCHEME = KeyScheme(parse_key("{tenant}", "{pad(n,3)}"))
LIST = "tenant eq '{tenant}'"
ONE = "tenant eq '{tenant}' and n eq {n}"


def logged(name: str, text: str, minutes: dict[int, int], *, burst: int = 0) -> tuple[QueryClass, MinuteSeries]:
    """A class of a log of one hour: requests in each minute, and in the busiest second, which is in the busiest."""
    most = max(minutes.values())
    mean = sum(minutes.values()) / 3600
    rate = Rate(mean, max(burst, most / 60), most / 60, Basis.COUNTED)
    at = tuple(sorted(minutes))
    busiest = min(m for m in at if minutes[m] == most)
    return replace(query(name, text), rate=rate), MinuteSeries(at, tuple(minutes[m] for m in at), burst_at=busiest)


def judged(*found: tuple[QueryClass, MinuteSeries | None], tenants: int = 2) -> CostEstimate:
    rows = 20
    population = population_of({"tenant": [f"t{n % tenants}" for n in range(rows)], "n": list(range(rows))}, PAIR)
    minutes = {c.name: series for c, series in found if series is not None}
    made = bench_of(population, *(c for c, _ in found))
    workload = replace(made.workload, minutes=minutes)
    return estimate(SCHEME, replace(made, workload=workload))


def peak(found: CostEstimate) -> float:
    assert found.hot is not None
    return found.hot.entities_per_s


DAY_READS = logged("day", ONE, {0: 60_000, 1: 60_000, 5: 6_000})
NIGHT_READS = logged("night", ONE, {0: 6_000, 5: 48_000})


def test_peaks_of_different_minutes_are_not_added_up() -> None:
    found = judged(DAY_READS, NIGHT_READS)
    # Minute 0 has 60,000 and 6,000 requests, minute 5 has 6,000 and 48,000; one of two tenants takes half of each.
    assert peak(found) == pytest.approx((60_000 + 6_000) / 60 / 2)
    assert found.requests_per_s_peak == pytest.approx(66_000 / 60)
    assert found.hot is not None
    assert found.hot.basis is Basis.COUNTED
    assert found.hot.mean_per_s == pytest.approx((126_000 + 54_000) / 3600 / 2)


def test_peaks_without_times_are_taken_to_coincide() -> None:
    found = judged((DAY_READS[0], None), (NIGHT_READS[0], None))
    assert peak(found) == pytest.approx((60_000 + 48_000) / 60 / 2)
    assert found.hot is not None
    assert found.hot.basis is Basis.ASSUMED
    # One of two: it is at its peak in every minute of the other.
    assert peak(judged(DAY_READS, (NIGHT_READS[0], None))) == pytest.approx((60_000 + 48_000) / 60 / 2)


def hours(name: str, peak_at: tuple[int, int] | None, *, rate: float = 100.0) -> QueryClass:
    return replace(query(name, ONE), rate=Rate(rate / 10, rate, peak_at=peak_at))


@pytest.mark.parametrize(
    ("first", "second", "requests"),
    [
        ((600, 660), (660, 720), 110),  # one after the other: a peak and a mean
        ((600, 661), (660, 720), 200),  # a minute of both
        ((1380, 60), (0, 30), 200),  # over midnight
        ((1380, 60), (60, 90), 110),
        ((600, 660), None, 200),
    ],
)
def test_declared_hours_of_peaks_are_not_added_up(
    first: tuple[int, int], second: tuple[int, int] | None, requests: float
) -> None:
    found = judged((hours("a", first), None), (hours("b", second), None))
    assert found.requests_per_s_peak == pytest.approx(requests)
    assert peak(found) == pytest.approx(requests / 2)
    assert found.hot is not None
    assert found.hot.basis is (Basis.ASSUMED if second is None else Basis.DECLARED)


def test_declared_hours_meet_the_minutes_of_a_log_by_the_day() -> None:
    reads = logged("day", ONE, {3 * 1440 + 600: 6_000, 4 * 1440 + 700: 3_000})
    inside, outside = (judged(reads, (hours("a", (m, m + 1)), None)) for m in (600, 900))
    assert inside.requests_per_s_peak == pytest.approx(100 + 100)
    assert outside.requests_per_s_peak == pytest.approx(100 + 10)


def test_another_partition_is_the_hottest_when_a_list_peaks_alone() -> None:
    lists = logged("list", LIST, {9: 60}, burst=1)
    assert peak(judged(lists, DAY_READS)) == pytest.approx(60_000 / 60 / 2)  # a list reads 10 rows of a tenant


@given(
    st.lists(
        st.dictionaries(st.integers(0, 30), st.integers(1, 50_000), min_size=1, max_size=12), min_size=1, max_size=4
    )
)
def test_the_joint_peak_is_the_worst_minute_and_between_the_bounds(counts: list[dict[int, int]]) -> None:
    classes = [logged(f"c{i}", ONE, minutes) for i, minutes in enumerate(counts)]
    found = judged(*classes)
    by_minute = [sum(c.get(m, 0) for c in counts) / 60 for m in range(31)]
    # The sustained rate is never below the mean of the hour.
    sustained = [c.rate.sustained_per_s for c, _ in classes]
    assert found.requests_per_s_peak <= sum(sustained) * (1 + 1e-9)
    assert found.requests_per_s_peak >= max(sustained) * (1 - 1e-9)
    assert found.requests_per_s_peak == pytest.approx(max(by_minute))
    assert peak(found) == pytest.approx(max(by_minute) / 2)


def test_too_many_worst_minutes_are_taken_together_and_never_below_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = [{m: 1 + (m * 7 + 3 * i) % 97 for m in range(97)} for i in range(3)]
    classes = [logged(f"c{i}", ONE, c) for i, c in enumerate(counts)]
    exact = judged(*classes).requests_per_s_peak
    assert exact == pytest.approx(max(sum(c[m] for c in counts) for m in range(97)) / 60)
    monkeypatch.setattr(schedule, "ROWS_MAX", 4)
    coarse = judged(*classes).requests_per_s_peak
    assert exact * (1 - 1e-9) <= coarse <= sum(max(c.values()) for c in counts) / 60


def test_many_partitions_are_held_against_every_minute() -> None:
    """The partition with the highest sum of peaks is not the one with the highest peak."""
    population = population_of({"tenant": [f"t{n:04}" for n in range(500)]}, {"tenant": EdmType.STRING})
    classes = [replace(query(name, LIST), rate=Rate(1, 60, 60)) for name in ("a", "b")]
    minutes = {"a": MinuteSeries((0,), (3600,)), "b": MinuteSeries((1,), (3600,))}
    loads = LoadMap(population, schedule.make_schedule(classes, minutes))
    parts = parse_template("{tenant}")
    both, alone = np.arange(200), np.array([400])
    for name in ("a", "b"):
        loads.of(name).at_instances(parts, both, np.full(200, 60.0))  # 120 as a sum of peaks, 60 at any minute
    loads.of("b").at_instances(parts, alone, np.array([100.0]))
    found = loads.hottest()
    assert found is not None
    assert (found[1].row, found[1].entities_per_s) == (400, pytest.approx(100))
    assert found[1].share == pytest.approx(100 / (200 * 60 + 100))


# -- what is hot -------------------------------------------------------------------------------------------------------


def codes(found: CostEstimate) -> list[str]:
    return [v.code for v in found.violations]


def skew(exponent: float, *of: str) -> Draw:
    return Draw(DrawBy.ZIPF, of, exponent, stated=True)


def test_one_entity_alone_is_hot_under_every_key() -> None:
    popular = query("one", ONE, rate=4000, draw=skew(3.0, "tenant", "n"))
    population = population_of({"tenant": [f"t{n % 2}" for n in range(20)], "n": list(range(20))}, PAIR)
    for partition, row in (("{tenant}", "{pad(n,3)}"), ("{pad(n,3)}", "{tenant}"), ("{hash(n,8)}", "{pad(n,3)}")):
        found = estimate(KeyScheme(parse_key(partition, row)), bench_of(population, popular))
        (violation,) = (v for v in found.violations if v.code == "hot-entity")
        assert violation.measured == pytest.approx(4000 / sum(r**-3.0 for r in range(1, 21)))
        assert "no key helps" in violation.message
        assert found.hot is not None
        assert found.hot.verdict == "hot-entity"
    # Alone in its partition it is the whole reason: the partition is not named again.
    alone = estimate(KeyScheme(parse_key("{pad(n,3)}", "{tenant}")), bench_of(population, popular))
    assert codes(alone) == ["hot-entity"]


def test_one_partition_is_hot_where_no_entity_is() -> None:
    found = judged((query("one", ONE, rate=5000), None))
    assert codes(found) == ["hot-partition"]
    assert "cannot split one PartitionKey" in found.violations[0].message
    assert found.hot is not None
    assert (found.hot.verdict, found.hot.entities_per_s) == ("hot-partition", pytest.approx(2500))


def test_a_counter_that_everybody_updates_is_a_hot_entity() -> None:
    population = population_of({"tenant": ["all"], "n": [1]}, PAIR)
    update = query("count", "n eq {n}", rate=780, operation=Operation.UPDATE, sets=("total",))
    counter = replace(update, read_modify_write=True)
    found = estimate(KeyScheme(parse_key("", "{n}")), bench_of(population, counter))
    assert codes(found) == ["hot-entity", "hot-entity-contention"]
    # Read, then written, and both again for whoever lost the race: e times at the most.
    assert found.violations[0].measured == pytest.approx(2 * 780 * math.e)
    blind = estimate(KeyScheme(parse_key("", "{n}")), bench_of(population, update))
    assert blind.hot is not None
    assert blind.hot.entities_per_s == pytest.approx(780)  # its key is known: nothing is looked up


def test_nothing_is_called_hot_at_low_rates() -> None:
    found = judged((query("one", ONE, rate=20), None), (query("list", LIST, rate=1), None))
    assert not found.violations
    assert found.hot is not None
    assert (found.hot.verdict, found.hot.helps) == ("", "")
    assert not {r.code for r in found.remarks} & {"burst", "head-room"}


def test_the_hottest_partition_of_the_main_rows_is_told_beside_a_hotter_one_of_index_rows() -> None:
    types = {"tenant": EdmType.STRING, "n": EdmType.INT64, "mail": EdmType.STRING}
    columns = {"tenant": ["a", "a", "b", "b"], "n": [1, 2, 3, 4], "mail": ["x", "y", "z", "w"]}
    by_mail = IndexRow(parse_key("m", "{mail}"), copy="pointer")
    scheme = KeyScheme(parse_key("{tenant}", "{pad(n,3)}"), (by_mail,))
    of_tenant, of_mail = query("list", LIST, rate=40), query("mail", "mail eq '{mail}'", rate=900)
    found = estimate(scheme, bench_of(population_of(columns, types), of_tenant, of_mail))
    assert found.hot is not None and found.hot.partition_key == "m"
    (remark,) = (r for r in found.remarks if r.code == "main-rows")
    assert "without index rows, partition 'a' takes" in remark.message and "'a'" not in remark.hidden
    told = float(remark.message.split("takes ")[1].split()[0].replace(",", ""))
    assert 0 < told < found.hot.entities_per_s
    calm = estimate(scheme, bench_of(population_of(columns, types), query("list", LIST, rate=400)))
    assert "main-rows" not in {r.code for r in calm.remarks}, "the hottest partition of all is theirs"


def test_between_head_room_and_target_it_is_said_and_nothing_breaks() -> None:
    population = population_of({"tenant": ["a", "a", "b", "b"], "n": [1, 2, 3, 4]}, PAIR)
    made = bench_of(population, query("one", ONE, rate=3400))
    steady = replace(made, workload=replace(made.workload, growth=Growth(1.0)))
    found = estimate(SCHEME, steady)
    assert not found.violations
    (remark,) = (r for r in found.remarks if r.code == "head-room")
    assert "85 %" in remark.message
    assert "'a'" not in remark.hidden
    assert found.hot is not None
    assert found.hot.verdict == "hot-partition"


def test_a_busy_second_is_a_burst_and_breaks_nothing() -> None:
    found = judged(logged("one", ONE, {0: 6_000, 1: 600}, burst=9_000))
    assert not found.violations  # 100/s in the busiest minute
    (remark,) = (r for r in found.remarks if r.code == "throttled-burst")
    # One of two tenants takes 4,500 of the 9,000: 2,500 over the target of that second, and 2,000 are let through.
    assert "4,500 entities" in remark.message
    assert "under 2,500 entities" in remark.message
    assert "it is throttled" in remark.message
    assert found.hot is not None
    assert found.hot.second_per_s == pytest.approx(4_500)
    calm = judged(logged("one", ONE, {0: 6_000, 1: 600}, burst=3_000))
    assert "burst" not in {r.code for r in calm.remarks}


def test_in_a_busy_second_other_classes_are_as_in_that_minute() -> None:
    spike, other = logged("spike", ONE, {0: 600}, burst=200), logged("other", ONE, {0: 1_200, 1: 60_000})
    found = judged(spike, other)
    assert found.hot is not None
    assert found.hot.entities_per_s == pytest.approx(60_000 / 60 / 2)
    assert found.hot.second_per_s == pytest.approx(60_000 / 60 / 2)  # not 200 + 1,000
    together = judged(spike, logged("other", ONE, {0: 60_000}))
    assert together.hot is not None
    assert together.hot.second_per_s == pytest.approx((200 + 1_000) / 2)


def test_a_log_names_each_key_as_often_as_it_comes_however_few_rows_are_at_hand() -> None:
    rows = population_of({"tenant": [f"t{n}" for n in range(10)]}, {"tenant": EdmType.STRING}, total=1000)
    parts = parse_template("{tenant}")
    drawn = LoadMap(rows)
    drawn.at_instances(parts, np.arange(10), np.full(10, 1.0))
    found = drawn.hottest()
    assert found is not None
    assert found[1].entities_per_s == pytest.approx(0.01)
    ghosts = rows.frame.head(1)
    seen = population_of(
        {"tenant": [f"t{n}" for n in range(10)]}, {"tenant": EdmType.STRING}, total=1000, ghosts=ghosts
    )
    from_log = LoadMap(seen)
    from_log.at_instances(parts, np.array([10]), np.array([1.0]))
    told = from_log.hottest()
    assert told is not None
    assert told[1].entities_per_s == pytest.approx(1.0)


# -- inserts under a period ------------------------------------------------------------------------------------------


def test_inserts_fall_on_the_period_that_runs() -> None:
    """Rows of four months: what is inserted is of this month, or of each tenant's last one at hand."""
    types = {"tenant": EdmType.STRING, "at": EdmType.DATETIME, "n": EdmType.INT64}
    months = [datetime(2026, 1 + n % 4, 1 + n % 3, n % 24, n % 60, tzinfo=UTC) for n in range(40)]
    columns = {"tenant": [f"t{n % 2}" for n in range(40)], "at": months, "n": list(range(40))}
    population = population_of(columns, types, arrival="at")
    inserts = query("add", None, rate=80.0, operation=Operation.INSERT)
    bench = bench_of(population, inserts)

    def hottest(partition: str) -> float:
        return peak(estimate(KeyScheme(parse_key(partition, "{n}")), bench))

    assert hottest("{time(at,'yyyyMM')}") == pytest.approx(80.0)
    assert hottest("{tenant}_{time(at,'yyyyMM')}") == pytest.approx(40.0)
    assert hottest("{tenant}") == pytest.approx(40.0)
    shown = LoadMap(population)
    parts = parse_template("{tenant}_{time(at,'yyyyMM')}")
    shown.at_inserts(parts, np.arange(40), np.ones(40))
    found = shown.hottest()
    assert found is not None and found[1].row is not None
    last = max(
        m for m, tenant in zip(months, columns["tenant"], strict=True) if tenant == columns["tenant"][found[1].row]
    )
    assert months[found[1].row].month == last.month, "of the months at hand the last one"


def test_a_constant_that_a_rule_turns_into_the_key_loads_its_own_partitions_alone() -> None:
    """``place eq 'a-town'`` fixes the city by a rule of the data, and loads no other city."""
    cities = ["a-town"] * 6 + ["b-town"] * 10 + ["c-town"] * 4 + ["d-town"] * 4
    columns = {"city": cities, "place": cities, "n": list(range(24))}
    types = {"city": EdmType.STRING, "place": EdmType.STRING, "n": EdmType.INT64}
    scheme = KeyScheme(parse_key("{reverse(city)}_{hash(n,16)}", "{pad(n,3)}"))
    found = estimate(scheme, bench_of(population_of(columns, types), query("place", "place eq 'a-town'", rate=10)))
    assert found.hot is not None
    fullest = max(Counter(bucket(str(n), 16) for n in range(6)).values())
    assert found.hot.share == pytest.approx(fullest / 6)


@pytest.mark.parametrize(("keys", "hottest"), [("{city};{team}", "none;b"), ("{city}", "none"), ("{team}", "b")])
def test_requests_for_a_constant_that_no_row_has_load_the_partition_that_they_name(keys: str, hottest: str) -> None:
    types = {"city": EdmType.STRING, "team": EdmType.STRING, "n": EdmType.INT64}
    columns = {"city": ["x", "y", "y", "z"], "team": ["a", "b", "b", "c"], "n": [1, 2, 3, 4]}
    asked = query("q", "city eq 'none' and team eq '{team}'", rate=100.0)
    found = estimate(KeyScheme(parse_key(keys, "{n}")), bench_of(population_of(columns, types), asked)).hot
    assert found is not None
    names = 1 if keys == "{city}" else 0.5  # of the requests, those that name the partition
    read = 2 if keys == "{team}" else 1
    assert (found.partition_key, found.entities_per_s) == (hottest, pytest.approx(100 * names * read))


def test_a_bucket_of_a_constant_that_no_row_has_is_the_partition_of_other_rows() -> None:
    columns = {"city": [f"c{n}" for n in range(40)], "n": list(range(40))}
    population = population_of(columns, {"city": EdmType.STRING, "n": EdmType.INT64})
    scheme = KeyScheme(parse_key("{hash(city,2)}", "{city}{n}"))
    other = next(text for text in "uvwxyz" if bucket(text, 2) != bucket("c0", 2))
    found = estimate(scheme, bench_of(population, query("q", f"city eq '{other}'", rate=100.0))).hot
    assert found is not None
    assert (found.partition_key, found.entities_per_s) == (str(bucket(other, 2)), pytest.approx(100))
