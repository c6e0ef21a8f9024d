"""How sure the advice is: paired resamples, intervals of costs, and what is said where nothing can be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from pkadvisor.design.choice.certainty.confidence import compare, with_confidence
from pkadvisor.design.choice.certainty.cost_intervals import (
    BREAK,
    ENTITIES,
    HOTTEST,
    REQUESTS,
    SHARE,
    STORED,
    Resampled,
    measures,
    reads_of,
    resample,
    terms_of,
)
from pkadvisor.design.choice.search import advise
from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.cost.resample import BenchDraw, draw_of, replicates_of
from pkadvisor.design.keys.scheme import Key, KeyScheme
from pkadvisor.design.keys.template import parse_template
from pkadvisor.design.load.estimates import Bench, Confidence, CostEstimate, Term
from pkadvisor.design.rows.demand import demands
from pkadvisor.design.rows.population import Population
from pkadvisor.limits import default_limits
from pkadvisor.observe.workload import Basis, DrawBy, Growth, Operation, QueryClass, Workload
from pkadvisor.observe.workload import Draw as Drawn
from pkadvisor.table.edm import EdmType
from tests.design.coverage import zipf
from tests.design.support import bench_of, frame_of, query

TYPES = {"tenant": EdmType.STRING, "device": EdmType.INT32, "n": EdmType.INT32}
CLASSES = (
    query("of-tenant", "tenant eq '{tenant}'", rate=50),
    query("one", "tenant eq '{tenant}' and n eq {n}", rate=80),
    query("write", None, rate=30, operation=Operation.INSERT),
)


def table(rows: int, seed: int = 1, tenants: int = 40) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    owner = rng.choice(tenants, rows, p=zipf(tenants, 1.0))
    columns = {
        "tenant": [f"t{o:03}" for o in owner],
        "device": (owner * 5 + rng.integers(0, 5, rows)).tolist(),
        "n": list(range(rows)),
    }
    return frame_of(columns, TYPES)


def bench(
    frame: pl.DataFrame, total: int | None = None, classes: tuple[QueryClass, ...] = CLASSES, **more: object
) -> Bench:
    return bench_of(Population(frame, TYPES, total=total, **more), *classes)  # type: ignore[arg-type]


def scheme(partition: str, row: str) -> KeyScheme:
    return KeyScheme(Key(parse_template(partition), parse_template(row)))


BY_TENANT, BY_DEVICE = scheme("{tenant}", "{pad(n,6)}"), scheme("{device}", "{tenant}_{pad(n,6)}")


def confidence(on: Bench, winner: CostEstimate, rival: CostEstimate, *, log_sampled: bool = False) -> Confidence:
    draw = draw_of(on, log_sampled=log_sampled)
    if draw.counted or draw.why_not:
        return compare(Resampled(winner, {}), Resampled(rival, {}), on, draw)
    return compare(*resample([winner, rival], on, draw), on, draw)


def told(found: CostEstimate, on: Bench, draw: BenchDraw, *, replicates: int = 60) -> dict[str, Term]:
    (again,) = resample([found], on, draw, replicates=replicates)
    return {t.name: t for t in terms_of(again, on, draw)}


def test_data_that_was_read_whole_is_counted() -> None:
    on = bench(table(500))
    first, second = estimate(BY_TENANT, on), estimate(BY_DEVICE, on)
    found = confidence(on, first, second)
    assert (found.share, found.basis, found.rows_needed) == (1.0, Basis.COUNTED, None)
    assert "counted" in found.note
    assert found.rival == BY_DEVICE.text


@pytest.mark.parametrize("total", [5000, 500])
def test_of_a_slice_nothing_is_said(total: int) -> None:
    """Also where nobody knows of how many entities: the keys that a log names are no whole table."""
    on = bench(table(500), total, sampling="slice", arrival="file_order")
    found = confidence(on, estimate(BY_TENANT, on), estimate(BY_DEVICE, on))
    assert (found.share, found.basis) == (None, Basis.UNKNOWN)
    assert "slice" in found.note
    terms = with_confidence(advise(on, None), on).recommended.terms
    assert terms
    assert all(term.low is None and term.high is None for term in terms)


def test_a_clear_winner_is_ahead_in_every_resample() -> None:
    on = bench(table(2000), 20_000)
    found = confidence(on, estimate(BY_TENANT, on), estimate(BY_DEVICE, on))
    assert found.share == 1.0
    assert found.basis is Basis.ESTIMATED
    assert found.rows_needed is None


def noisy(found: CostEstimate, requests: float, errors: Mapping[str, float], seed: int, size: int = 1500) -> Resampled:
    """A scheme at so many requests per second whose resamples scatter by relative errors."""
    rng = np.random.default_rng(seed)
    cost = replace(found, requests_per_s=requests)
    values = {
        name: value * np.exp(rng.normal(0, errors.get(name, 0.0), size)) for name, (value, _) in measures(cost).items()
    }
    return Resampled(cost, values)


def sound(which: KeyScheme, on: Bench) -> CostEstimate:
    """A scheme that breaks nothing, so that requests decide; where those tie, the scheme by device wins."""
    read = 1.0 if which is BY_DEVICE else 2.0
    cost = estimate(which, on)
    classes = tuple(replace(c, entities_read=c.entities_returned) for c in cost.classes)
    classes = tuple(replace(c, plan=None) for c in classes)  # whose reads meet several partitions decides nothing here
    return replace(cost, classes=classes, break_factor=50.0, violations=(), entities_per_s=read, latency_excess=0.5)


def test_a_close_race_is_left_open_and_says_how_many_rows_would_tell() -> None:
    on = bench(table(2000), 2_000_000)
    draw = draw_of(on)
    assert draw.kept == 0.5
    mine = noisy(sound(BY_TENANT, on), 100.0, {}, 1)
    theirs = noisy(sound(BY_DEVICE, on), 115.0, {REQUESTS: 0.06}, 2)
    found = compare(mine, theirs, on, draw)
    # 115 loses while it is above 110: ln(115 ÷ 110) = 0.0445 is 0.74 standard errors.
    distance = np.log(115 / 110) / 0.06
    assert found.deciding_goal == "requests"
    assert found.share == pytest.approx(0.77, abs=0.03)
    assert found.rows_needed == pytest.approx(2000 * ((1.645 / distance) ** 2 - 1), rel=0.12)
    surer = compare(mine, noisy(sound(BY_DEVICE, on), 115.0, {REQUESTS: 0.02}, 2), on, draw)
    assert surer.share is not None
    assert surer.share > 0.97
    assert surer.rows_needed is None


def test_growth_that_may_break_a_limit_counts_as_doubt() -> None:
    """The winner holds at the horizon by a hair: where a resample has it break, the other one wins."""
    on = bench(table(2000), 20_000)
    on = replace(on, workload=replace(on.workload, growth=Growth(3.0, horizon_months=1.0)))
    draw = draw_of(on)
    found = replace(estimate(BY_TENANT, on), break_factor=on.horizon_factor * 1.02, violations=())
    other = replace(found, scheme=BY_DEVICE, break_factor=50.0, requests_per_s=found.requests_per_s * 1.6)
    shaky = compare(
        noisy(found, found.requests_per_s, {BREAK: 0.1}, 3), noisy(other, other.requests_per_s, {}, 4), on, draw
    )
    assert shaky.share is not None
    assert 0.4 < shaky.share < 0.75
    firm = compare(noisy(found, found.requests_per_s, {}, 3), noisy(other, other.requests_per_s, {}, 4), on, draw)
    assert firm.share == 1.0


def test_what_moves_both_schemes_alike_is_no_doubt() -> None:
    """Unpaired, two costs that scatter by 20 % would be as good as a coin."""
    on = bench(table(2000), 20_000)
    draw = draw_of(on)
    mine = noisy(sound(BY_TENANT, on), 100.0, {REQUESTS: 0.2}, 1)
    twin = noisy(sound(BY_DEVICE, on), 115.0, {REQUESTS: 0.2}, 1)
    other = noisy(sound(BY_DEVICE, on), 115.0, {REQUESTS: 0.2}, 2)
    assert compare(mine, twin, on, draw).share == 1.0
    unpaired = compare(mine, other, on, draw).share
    assert unpaired is not None
    assert unpaired < 0.7


@pytest.mark.parametrize("sampling", ["random-rows", "random-keys"])
def test_a_resample_costs_what_a_fresh_bench_over_its_rows_costs(sampling: str) -> None:
    frame = table(1200)
    more = {"sampling": sampling, "sampled_by": ("device",), "arrival": "file_order"}
    on = bench(frame, 12_000, **more)
    for found in (BY_TENANT, BY_DEVICE):
        estimate(found, on)  # fills the caches that resamples take their groups from
    for again in replicates_of(on, draw_of(on), replicates=3, seed=2):
        again.population.check()
        kept = again.population.frame["n"].to_list()
        assert kept == sorted(set(kept))
        rows = frame.filter(pl.col("n").is_in(kept))
        fresh = Population(
            rows,
            TYPES,
            total=12_000,
            drawn_from=again.population.drawn_from,
            complete=False,
            **more,  # type: ignore[arg-type]
        )
        other = replace(on, population=fresh, demands=demands(on.workload, fresh, {}))
        for which in (BY_TENANT, BY_DEVICE):
            mine, theirs = measures(estimate(which, again)), measures(estimate(which, other))
            assert {k: v for k, (v, _) in mine.items() if k not in (BREAK, STORED)} == pytest.approx(
                {k: v for k, (v, _) in theirs.items() if k not in (BREAK, STORED)}
            )


def test_a_whole_key_stays_whole_in_a_resample() -> None:
    on = bench(table(1000), 10_000, sampling="random-keys", sampled_by=("device",))
    for again in replicates_of(on, draw_of(on), replicates=4):
        kept = set(again.population.frame["device"].to_list())
        assert again.population.frame.height == on.population.frame.filter(pl.col("device").is_in(kept)).height
        assert again.population.drawn_from == pytest.approx(again.population.rows)


@pytest.mark.long("proofs")
def test_intervals_of_costs_hold_the_cost_on_all_rows() -> None:
    """The whole way, from rows drawn at random to the terms of a scheme."""
    whole = table(6000, tenants=25)
    truth = measures(estimate(BY_TENANT, bench(whole)))
    names = (ENTITIES, HOTTEST, SHARE, reads_of("of-tenant"))
    held = dict.fromkeys(names, 0)
    trials = 25
    for trial in range(trials):
        rows = whole.sample(300, seed=trial).sort("n")
        on = bench(rows, 6000)
        terms = told(estimate(BY_TENANT, on), on, draw_of(on), replicates=24)
        for name in names:
            term = terms[name]
            assert term.low is not None and term.high is not None
            assert term.low <= term.value <= term.high
            assert term.basis is Basis.ESTIMATED
            held[name] += term.low <= truth[name][0] <= term.high
        assert terms[reads_of("one")].low == terms[reads_of("one")].high  # a look-up by the whole key
    assert min(held.values()) >= 0.9 * trials, held


def test_more_rows_narrow_the_intervals() -> None:
    whole = table(6000)
    widths = []
    for size in (300, 1200, 4800):
        on = bench(whole.sample(size, seed=1).sort("n"), 6000)
        term = told(estimate(BY_TENANT, on), on, draw_of(on))[reads_of("of-tenant")]
        assert term.low is not None and term.high is not None
        widths.append(term.high - term.low)
    assert widths[0] > 1.5 * widths[1] > 2 * widths[2]


def test_the_break_factor_is_as_open_as_the_hottest_partition() -> None:
    on = bench(table(400), 4000)
    found = estimate(BY_TENANT, on)
    terms = told(found, on, draw_of(on))
    if found.break_cause == "the hottest partition":
        hot, factor = terms[HOTTEST], terms[BREAK]
        assert hot.low is not None and hot.high is not None
        assert factor.low == pytest.approx(hot.value * factor.value / hot.high)
        assert factor.high == pytest.approx(hot.value * factor.value / hot.low)
    else:
        assert terms[BREAK].low != terms[BREAK].high


def logged(requests: int) -> Bench:
    """All rows at hand, and a log whose class kept so many requests."""
    frame = table(400)
    asked = QueryClass(
        "of-device",
        Operation.QUERY,
        query("x", "device eq {device}").filter,
        CLASSES[0].rate,
        draw=Drawn(DrawBy.LOG, stated=True),
    )
    rng = np.random.default_rng(6)
    parameters = frame["device"].gather(rng.integers(0, 400, requests))
    instances = pl.DataFrame({"device": parameters, "_weight": pl.Series([1 / requests] * requests)})
    workload = Workload("Table", (asked, CLASSES[2]), instances={"of-device": instances})
    ghosts = instances.drop("_weight")
    population = Population(frame, TYPES, ghosts=ghosts)
    found = demands(workload, population, {"of-device": (400, 400 + requests)})
    return Bench(population, workload, found, default_limits(), 100.0)


def test_a_log_of_which_some_requests_were_kept_is_a_sample_too() -> None:
    on = logged(200)
    assert draw_of(on).counted
    draw = draw_of(on, log_sampled=True)
    assert draw.logged == ("of-device",)
    assert not draw.rows_sampled
    term = told(estimate(BY_DEVICE, on), on, draw)[reads_of("of-device")]
    assert term.low is not None and term.high is not None
    assert term.low < term.value < term.high
    again = next(replicates_of(on, draw, replicates=1))
    assert again.population.rows == 400
    assert len(again.demands[0].instances) == 100
    assert float(again.demands[0].weights.sum()) == pytest.approx(1.0)
    found = confidence(on, estimate(BY_DEVICE, on), estimate(BY_TENANT, on), log_sampled=True)
    assert found.basis is Basis.ESTIMATED
    assert found.rows_of == "log"


@pytest.mark.long("proofs")
def test_the_same_inputs_give_the_same_intervals() -> None:
    on = bench(table(600), 6000)
    first, second = (with_confidence(advise(on, None), on) for _ in range(2))
    assert first.recommended.terms == second.recommended.terms
    assert first.confidence == second.confidence
    assert first.ranking[0] is first.recommended
    assert first.recommended.terms
