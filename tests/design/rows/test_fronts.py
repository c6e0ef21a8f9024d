"""Write fronts of arrival patterns whose truth is known."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.keys.template import parse_template
from pkadvisor.design.rows.front_windows import ROWS_MIN
from pkadvisor.design.rows.fronts import RANGES, Fronts, reaction_s, write_fronts
from pkadvisor.design.rows.population import Population
from pkadvisor.limits import default_limits
from pkadvisor.observe.workload import Basis, Draw, DrawBy, Operation
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query
from tests.tiers import sizes

START = datetime(2024, 1, 1, tzinfo=UTC)
TYPES = {
    "tenant": EdmType.STRING,
    "at": EdmType.DATETIME,
    "id": EdmType.GUID,
    "n": EdmType.INT64,
    "k": EdmType.STRING,
}
THIN_S, THICK_S = 60.0, 0.5
"""Seconds between inserts: 5 of them while the service reacts, or 650."""


def table(tenants: Sequence[int], gaps_s: Sequence[float], **options: object) -> Population:
    """One row per tenant number, so many seconds after the one before; numbers rise, ids are random."""
    dice = random.Random(7)
    moments = [START + timedelta(seconds=float(s)) for s in np.cumsum(gaps_s)]
    options.setdefault("arrival", "at")
    return population_of(
        {
            "tenant": [f"t{n:03d}" for n in tenants],
            "at": moments,
            "id": [f"{dice.getrandbits(128):032x}" for _ in tenants][::-1],  # the newest are the same in any table
            "n": list(range(1, len(tenants) + 1)),
            "k": ["one"] * len(tenants),
        },
        TYPES,
        **options,
    )


def drawn(
    weights: Sequence[float], rows: int = 6000, gap_s: float = THIN_S, seed: int = 1, **options: object
) -> Population:
    """Tenants by chance with these weights."""
    dice = np.random.default_rng(seed)
    shares = np.array(weights) / sum(weights)
    return table(dice.choice(len(shares), rows, p=shares).tolist(), [gap_s] * rows, **options)


def found(template: str, population: Population, rate_per_s: float | None = None) -> Fronts:
    fronts = write_fronts(parse_template(template), population, None, rate_per_s)
    assert fronts.median is not None
    assert fronts.least is not None
    assert 1 <= fronts.least <= fronts.median <= RANGES
    assert fronts.least_share is not None
    assert 0 < fronts.least_share <= 1
    return fronts


def lasting(template: str, population: Population) -> float:
    fronts = found(template, population)
    assert fronts.median is not None
    return fronts.median


@pytest.mark.parametrize("gap_s", [THIN_S, THICK_S])
@pytest.mark.parametrize("arrival", ["at", "file_order"])
def test_equal_tenants_with_time_are_as_many_fronts(gap_s: float, arrival: str) -> None:
    for tenants in range(1, 17):
        population = drawn([1] * tenants, gap_s=gap_s, seed=tenants, arrival=arrival)
        for template in ("{tenant}_{ticks(at)}", "{tenant}_{reverse_ticks(at)}"):
            fronts = found(template, population)
            assert fronts.median == pytest.approx(tenants, rel=0.1), (template, tenants)
            assert fronts.least == fronts.median
            assert fronts.least_share == 1.0


def test_the_largest_of_noisy_shares_is_not_taken_at_its_word() -> None:
    """Chosen and counted on the same rows, 16 equal tenants look like 13 in some samples."""
    seen = [lasting("{tenant}_{ticks(at)}", drawn([1] * 16, rows=3000, seed=seed)) for seed in range(16)]
    assert np.mean(seen) == pytest.approx(16, rel=0.02)
    assert min(seen) > 14


@pytest.mark.parametrize("tenants", [2, 3, 8, 16])
def test_tenants_that_take_turns_are_as_many_fronts(tenants: int) -> None:
    """A cycle in the order of arrival must not fall into one half of a window, nor into what is thinned out."""
    rows = 40_000 if tenants == 8 else 4_000
    population = table([n % tenants for n in range(rows)], [0.05 if tenants == 8 else THIN_S] * rows)
    assert lasting("{tenant}_{time(at,'yyyyMMddHH')}", population) == pytest.approx(tenants, rel=0.05)


@pytest.mark.parametrize("gap_s", [THIN_S, THICK_S])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_largest_share_decides_where_tenants_are_uneven(gap_s: float, seed: int) -> None:
    half = drawn([50] + [1] * 50, gap_s=gap_s, seed=seed)
    assert lasting("{tenant}_{ticks(at)}", half) == pytest.approx(2, rel=0.1)
    zipf = [n**-1.2 for n in range(1, 33)]
    truth = sum(zipf) / zipf[0]
    assert truth == pytest.approx(3.1, rel=0.01)
    assert lasting("{tenant}_{ticks(at)}", drawn(zipf, gap_s=gap_s, seed=seed)) == pytest.approx(truth, rel=0.1)


def test_ranges_that_differ_are_not_averaged() -> None:
    """One tenant with 20 % among many with 5 %: 5 fronts, not the 16 that an average would give."""
    assert lasting("{tenant}_{ticks(at)}", drawn([4] + [1] * 16)) == pytest.approx(5, rel=0.15)


@pytest.mark.parametrize("gap_s", [THIN_S, THICK_S])
@pytest.mark.parametrize(
    "template",
    [
        "{n}",
        "{pad(n,8)}",
        "{reverse_pad(n,6)}",
        "{ticks(at)}",
        "{reverse_ticks(at)}",
        "{k}",
        "all",
        "{time(at,'yyyyMMdd')}",
    ],
)
def test_one_front(template: str, gap_s: float) -> None:
    fronts = found(template, drawn([1] * 4, gap_s=gap_s))
    assert (fronts.median, fronts.least, fronts.least_share) == (1.0, 1.0, 1.0)
    assert fronts.basis is Basis.COUNTED


@pytest.mark.parametrize("gap_s", [THIN_S, THICK_S])
def test_hashes_and_random_ids(gap_s: float) -> None:
    population = drawn([1] * 4, gap_s=gap_s)
    assert lasting("{hash(n,16)}_{ticks(at)}", population) == pytest.approx(16, rel=0.1)
    assert 30 <= lasting("{id}", population) <= RANGES


@pytest.mark.parametrize("gap_s", [THIN_S, THICK_S])
@pytest.mark.parametrize(("pattern", "period_s"), [("yyyyMMddHH", 3600), ("yyyyMMdd", 86_400)])
def test_a_period_is_one_front_after_each_boundary_and_many_later(pattern: str, period_s: int, gap_s: float) -> None:
    reaction = reaction_s(default_limits())
    assert reaction == 325
    population = drawn([1] * 4, gap_s=gap_s)
    fronts = found(f"{{time(at,'{pattern}')}}_{{id}}", population)
    assert fronts.median is not None
    assert fronts.median >= 30
    assert fronts.least == 1.0
    assert fronts.least_share == pytest.approx(reaction / period_s)
    assert fronts.least_lasts_s == reaction
    assert fronts.basis is Basis.DERIVED
    divided = found(f"{{tenant}}_{{time(at,'{pattern}')}}_{{id}}", population)
    assert divided.least == pytest.approx(4)  # each tenant has a boundary of its own
    assert divided.least_share == pytest.approx(reaction / period_s)


def test_what_is_derived_behind_a_boundary_is_what_counting_there_gives() -> None:
    """The service played by hand: ranges learned over a reaction time, then the inserts of the next one."""
    dice, reaction = random.Random(3), 325
    keys = []
    for second in range(7200):
        moment = START + timedelta(seconds=second)
        keys += [(second, f"{moment:%Y%m%d%H}_{dice.getrandbits(64):016x}") for _ in range(4)]

    def largest(at_s: int) -> float:
        seen = sorted(k for s, k in keys if at_s - reaction <= s < at_s)
        bounds = [seen[i * len(seen) // RANGES] for i in range(1, RANGES)]
        landed = np.bincount(np.searchsorted(bounds, [k for s, k in keys if at_s <= s < at_s + reaction], side="right"))
        return float(landed.max() / landed.sum())

    assert largest(3600) == 1.0  # the boundary: all in the last range
    assert 1 / largest(3600 + reaction) > 25  # learned behind it: as many as the ids give


def test_a_period_that_ends_before_the_service_reacts_appends() -> None:
    population = drawn([1] * 4)
    assert lasting("{time(at,'yyyyMMddHHmm')}_{id}", population) == pytest.approx(1, rel=0.01)
    # A time that has nothing to do with the inserts is counted as any other property.
    dice = np.random.default_rng(5)
    born = [START + timedelta(days=int(d)) for d in dice.integers(0, 20_000, 4000)]
    people = population_of(
        {"born": born, "n": list(range(4000))},
        {"born": EdmType.DATETIME, "n": EdmType.INT64},
        arrival="file_order",
    )
    spread = found("{time(born,'yyyyMMdd')}_{pad(n,6)}", people)
    assert spread.basis is Basis.COUNTED
    assert spread.median is not None
    assert spread.median >= 30


@pytest.mark.parametrize("rate_per_s", sizes([50.0], [None, 0.1, 50.0], "proofs"))
@pytest.mark.parametrize("arrival", ["at", "file_order"])
@pytest.mark.parametrize(
    "template", ["{tenant}_{ticks(at)}", "{pad(n,8)}", "{n}", "{id}", "{time(at,'yyyyMMdd')}_{tenant}"]
)
def test_a_cold_bulk_load_before_does_not_change_the_answer(
    template: str, arrival: str, rate_per_s: float | None
) -> None:
    live = np.random.default_rng(2).integers(0, 6, 5000).tolist()
    bulk = [n // 500 for n in range(20_000)]  # one tenant after the other, 100 a second
    gaps_s = [0.01] * len(bulk) + [86_400.0] + [THIN_S] * (len(live) - 1)
    alone = found(template, table(live, [THIN_S] * len(live), arrival=arrival), rate_per_s)
    after = found(template, table([*bulk, *live], gaps_s, arrival=arrival), rate_per_s)
    noise = 0.25 if template == "{id}" else 0.1  # many ranges, each with a few of the rows
    assert after.median == pytest.approx(alone.median, rel=noise)
    assert after.least == pytest.approx(alone.least, rel=noise)
    assert after.least_share == pytest.approx(alone.least_share, rel=0.1)


def test_a_quarter_of_the_day_with_one_tenant_is_the_least() -> None:
    dice = np.random.default_rng(4)
    rows = 2 * 86_400 // 20  # two days, a row each 20 s: the window is widened
    tenants = [int(dice.integers(8)) if (n * 20 // 3600) % 24 >= 6 else 0 for n in range(rows)]
    thin = found("{tenant}_{ticks(at)}", table(tenants, [20.0] * rows))
    assert thin.median == pytest.approx(8, rel=0.1)
    assert thin.least == pytest.approx(1, rel=0.1)
    assert thin.least_lasts_s is None  # a widened window cannot tell
    assert "too few rows" in thin.note
    assert thin.least_share == pytest.approx(0.25, abs=0.1)
    rows = 100_000  # 21 hours, a row each 0.75 s
    tenants = [int(dice.integers(8)) if n * 0.75 // 3600 >= 6 else 0 for n in range(rows)]
    thick = found("{tenant}_{ticks(at)}", table(tenants, [0.75] * rows))
    assert thick.window_s == pytest.approx(325, rel=0.05)
    assert thick.note == ""
    assert thick.median == pytest.approx(8, rel=0.1)
    assert thick.least == pytest.approx(1, rel=0.05)
    assert thick.least_share == pytest.approx(6 / 20.8, abs=0.06)
    assert thick.least_lasts_s is not None
    assert 4 * 3600 < thick.least_lasts_s <= 6 * 3600  # what was looked at says that it lasts so long at least
    assert thick.lasting(600) == thick.least
    assert replace(thick, least_lasts_s=325.0).lasting(600) == thick.median


def test_the_window_is_the_reaction_time_or_says_that_it_is_wider() -> None:
    thin, thick = found("{tenant}", drawn([1] * 4)), found("{tenant}", drawn([1] * 4, gap_s=THICK_S))
    assert thick.window_s == pytest.approx(325, rel=0.01)
    assert thick.note == ""
    assert thin.window_s == pytest.approx(400 * THIN_S, rel=0.05)
    assert "too few rows come while the service reacts" in thin.note
    assert found("{tenant}", drawn([1] * 4, arrival="file_order")).window_s is None
    # Dates without a time of day: a window holds whole days, however many rows share a moment.
    days = table([n % 4 for n in range(4000)], [86_400.0 if n % 100 == 0 else 0.0 for n in range(4000)])
    dated = found("{tenant}_{ticks(at)}", days)
    assert dated.window_s is not None
    assert dated.window_s > 86_400
    assert dated.median == pytest.approx(4, rel=0.05)


def test_without_a_clock_the_rate_says_how_long_a_window_is() -> None:
    """100 rows of one tenant, then 100 of the next: at 10 inserts a second all eight come within a reaction time."""
    rows = 16_000
    population = table([n // 100 % 8 for n in range(rows)], [1.0] * rows, arrival="file_order")
    parts = parse_template("{tenant}_{ticks(at)}")
    narrow, wide = write_fronts(parts, population), write_fronts(parts, population, None, 10.0)
    assert narrow.median is not None
    assert wide.median == pytest.approx(8, rel=0.1)
    assert narrow.median < 6


def test_a_longer_reaction_widens_what_a_boundary_costs() -> None:
    slow = replace(default_limits(), t_sustain_s=600.0)
    fronts = write_fronts(parse_template("{time(at,'yyyyMMddHH')}_{id}"), drawn([1]), slow)
    assert fronts.least_share == pytest.approx(625 / 3600)


def test_an_unknown_order_says_nothing_unless_the_key_leads_with_time() -> None:
    unknown = drawn([1, 1], rows=1000, arrival=None)
    assert write_fronts(parse_template("{tenant}"), unknown).median is None
    assert write_fronts(parse_template("{tenant}"), unknown).basis is Basis.UNKNOWN
    timed = write_fronts(parse_template("{time(at,'yyyyMM')}_{tenant}"), unknown)
    assert (timed.median, timed.basis) == (1.0, Basis.ASSUMED)
    few = drawn([1, 1], rows=ROWS_MIN - 1)
    assert write_fronts(parse_template("{tenant}"), few).median is None
    assert write_fronts(parse_template("{ticks(at)}"), few).median == 1.0


def test_the_fewest_rows_that_are_counted() -> None:
    assert lasting("{tenant}_{ticks(at)}", drawn([1, 1], rows=ROWS_MIN)) == pytest.approx(2, rel=0.3)


def test_hidden_values_have_no_order() -> None:
    hidden = drawn([1, 1], hashed=frozenset({"tenant"}))
    assert write_fronts(parse_template("{tenant}"), hidden).basis is Basis.UNKNOWN


# -- what is said of them --------------------------------------------------------------------------------------------


def judged(template: str, population: Population, inserts_per_s: float) -> tuple[dict[str, str], dict[str, str]]:
    """(violations, remarks) about inserts under a PartitionKey, by code, at three times the rate."""
    bench = bench_of(population, query("write", None, rate=inserts_per_s, operation=Operation.INSERT))
    estimated = estimate(KeyScheme(parse_key(template, "{pad(n,8)}")), bench)
    return {v.code: v.message for v in estimated.violations}, {r.code: r.message for r in estimated.remarks}


@pytest.mark.parametrize("gap_s", [THIN_S, THICK_S])
def test_a_burst_after_each_boundary_is_a_remark_and_what_lasts_a_violation(gap_s: float) -> None:
    population = drawn([1] * 4, gap_s=gap_s)
    violations, remarks = judged("{time(at,'yyyyMMddHH')}_{id}", population, 1000)
    assert "append-only" not in violations
    assert "append-only" not in remarks
    burst = remarks["append-burst"]
    assert "1 key range for 9.03 % of the time" in burst
    assert "over target for 325 s after each boundary" in burst
    assert "3,000 entities/s in one of 2,000" in burst
    assert "throttled if the burst allowance is under 162 s" in burst  # (3,000 - 2,000) x 325 s / 2,000
    assert "append-burst" not in judged("{time(at,'yyyyMMddHH')}_{id}", population, 600)[1]  # 1,800 fit one range
    violations, remarks = judged("{ticks(at)}", population, 1000)
    assert "append-only" in violations
    assert "append-burst" not in remarks


def test_one_crowded_partition_is_no_key_that_follows_the_inserts() -> None:
    """Identifiers at random: nine of ten inserts go to one tenant, at any place of its partition."""
    assert "one partition holds 89.8 %" in judged("{tenant}", drawn([18, 1, 1]), 100)[1]["append-only"]
    first_day = drawn([18, 1, 1], rows=2000)  # holds 72 % of them
    for rising in ("{ticks(at)}", "{time(at,'yyyyMMdd')}"):
        assert "they follow the key order" in judged(rising, first_day, 100)[1]["append-only"]


def test_a_worse_state_that_lasts_is_judged_and_one_of_unknown_length_is_told() -> None:
    """A quarter of the day one tenant writes alone: 3,000/s at the horizon fit eight ranges and not one."""
    dice = np.random.default_rng(4)
    thick_s, thin_s = 0.75, 20.0
    for gap_s, rows in ((thick_s, 100_000), (thin_s, 2 * 4320)):
        night = [int(dice.integers(8)) if n * gap_s // 3600 % 24 >= 6 else 0 for n in range(rows)]
        sample = table(night, [gap_s] * rows, total=round(1000 * gap_s * rows))  # what 1,000/s leave in that time
        violations, remarks = judged("{tenant}_{ticks(at)}", sample, 1000)
        assert ("append-only" in violations) is (gap_s == thick_s)
        assert ("append-burst" in remarks) is (gap_s == thin_s)
        if gap_s == thin_s:
            assert "how long at a time is not known" in remarks["append-burst"]
        else:
            assert "all inserts go to 1 key range at a time" in violations["append-only"]


@pytest.mark.parametrize(
    ("tenants", "window_s", "expected"), [(1, 60.0, 3000.0), (1, 650.0, 1500.0), (2, 60.0, 1500.0), (1, 3250.0, 300.0)]
)
def test_reads_of_the_newest_follow_the_inserts(tenants: int, window_s: float, expected: float) -> None:
    """1,000 reads/s, three times that at the horizon; half of what is read in 650 s came since the last split."""
    newest = Draw(DrawBy.NEWEST, share=1.0, window_s=window_s, stated=True)
    get = query("get", "tenant eq {tenant} and at eq {at} and n eq {n}", rate=1000, draw=newest)
    scheme = KeyScheme(parse_key("{tenant}_{ticks(at)}", "{pad(n,8)}"))
    said = [
        r.message for r in estimate(scheme, bench_of(drawn([1] * tenants), get)).remarks if r.code == "recent-reads"
    ]
    assert bool(said) is (expected > 2000)
    for target in (expected * 0.99, expected * 1.01):  # the load itself, whatever the target
        bench = bench_of(drawn([1] * tenants), get)
        limited = replace(bench, limits=replace(bench.limits, range_entities_per_s=target))
        codes = {r.code for r in estimate(scheme, limited).remarks}
        assert ("recent-reads" in codes) is (target < expected)
