"""What would turn a ranking: the printed change does, nothing smaller does, and where none does, none is found."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pkadvisor.design.choice.certainty.flips import Turn, again, dominance, stays, turning, with_rate
from pkadvisor.design.choice.sections import Judged
from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.scheme import IndexRow, KeyScheme, parse_key
from pkadvisor.design.load.estimates import Bench
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query
from tests.report.support import SAMPLES, judged_sections, result
from tests.tiers import LONG, examples, sizes

RIVALS = 4 if LONG == "proofs" else 2


def judged(name: str) -> Judged:
    """A sample's answer, with its bench."""
    return judged_sections(name)[0]


@pytest.mark.parametrize("name", sizes(["footrace", "orders", "microblog"], SAMPLES, "proofs"))
def test_applying_the_change_flips_and_a_smaller_one_does_not(name: str) -> None:
    found = judged(name)
    assert found.bench is not None and found.advice is not None
    first, *others = found.ranking()
    printed, flips = result(name)["tables"][0]["flip"], 0
    rivals = range(RIVALS) if printed["turn"] != "flips" else (*range(RIVALS), printed["rank"] - 2)
    for second in (others[number] for number in dict.fromkeys(rivals) if number < len(others)):
        answer = turning(first, second, found.bench, kept=found.advice.in_place)
        assert (answer.turn is Turn.FLIPS) == (answer.flip is not None)
        if answer.flip is None:
            continue
        flips += 1
        name_, factor = answer.flip.query, answer.flip.factor
        changed = with_rate(found.bench, name_, factor)
        assert not stays(again(first, changed), again(second, changed), kept=found.advice.in_place)
        rate = next(c.rate for c in found.bench.workload.classes if c.name == name_)
        assert answer.flip.rate_per_s == pytest.approx(rate.mean_per_s * factor)
        near = with_rate(found.bench, name_, factor ** (0.9 if abs(math.log(factor)) > 0.5 else 0.5))
        assert stays(again(first, near), again(second, near), kept=found.advice.in_place)
    if name in ("orders", "microblog", "sensors"):
        assert flips


@pytest.mark.parametrize("name", SAMPLES)
def test_the_flip_of_the_result_flips_and_is_no_further_than_that_of_the_keys_without_index_rows(name: str) -> None:
    """A key with an index row said that no rate changes the advice, where 6 % less of one did."""
    (table,) = result(name)["tables"]
    flip, found = table["flip"], judged(name)
    assert found.bench is not None and found.advice is not None
    first, *others = found.ranking()
    second = others[flip["rank"] - 2]
    bare = next((other for other in others if not other.scheme.index_rows), None)
    alone = turning(first, bare, found.bench, kept=found.advice.in_place).flip if bare is not None else None
    if alone is not None and first.scheme.index_rows:
        assert abs(math.log(flip["factor"])) <= abs(math.log(alone.factor))
    if flip["turn"] == "flips":
        changed = with_rate(found.bench, flip["query"], flip["factor"])
        assert not stays(again(first, changed), again(second, changed), kept=found.advice.in_place)
    else:
        assert flip["query"] is None and bool(flip["proof"]) == (flip["turn"] == "dominated")


def test_a_rate_scales_the_mean_and_every_peak_of_one_class_only() -> None:
    found = judged("microblog")
    assert found.bench is not None
    name = found.bench.demands[0].query.name
    changed = with_rate(found.bench, name, 3.0)
    for before, after, demand in zip(
        found.bench.workload.classes, changed.workload.classes, changed.demands, strict=True
    ):
        times = 3.0 if before.name == name else 1.0
        assert after.rate.mean_per_s == pytest.approx(before.rate.mean_per_s * times)
        assert after.rate.sustained_per_s == pytest.approx(before.rate.sustained_per_s * times)
        assert demand.query.rate == after.rate


def small_bench(by_number: float) -> Bench:
    """200 devices with 10 readings each, read 10 times a second by device or key, and by number."""
    columns = {"device": [f"d{i % 200:03}" for i in range(2_000)], "n": list(range(2_000))}
    population = population_of(columns, {"device": EdmType.STRING, "n": EdmType.INT32})
    return bench_of(
        population,
        query("by-device", "device eq '{device}'", rate=5.0),
        query("by-key", "device eq '{device}' and n eq {n}", rate=5.0),
        query("by-number", "n eq {n}", rate=by_number),
    )


def test_the_change_is_where_arithmetic_says() -> None:
    """An index row pays as soon as the scans that it saves cost more than a tenth of the requests."""
    bench = small_bench(0.05)
    main = parse_key("{device}", "{pad(n,5)}")
    row = IndexRow(parse_key("N:{pad(n,5)}", "{device}"))
    plain, indexed = (estimate(KeyScheme(main, rows), bench) for rows in ((), (row,)))
    scan = next(c.requests for c in plain.classes if c.name == "by-number")
    assert scan > 2.9 and stays(plain, indexed, kept=False)
    # 10 + scan · x > 1.1 · (10 + x)
    exact = 0.1 * 10 / (scan - 1.1) / 0.05
    answer = turning(plain, indexed, bench)
    assert answer.turn is Turn.FLIPS and answer.flip is not None
    assert (answer.flip.query, answer.flip.goal) == ("by-number", "requests")
    assert exact < answer.flip.factor <= exact * 1.1
    assert answer.flip.factor == float(f"{answer.flip.factor:.2g}")
    # The other way round: at twice that rate the index row pays, until the scans are rare again.
    busy = small_bench(0.05 * exact * 2)
    plain, indexed = again(plain, busy), again(indexed, busy)
    back = turning(indexed, plain, busy)
    assert back.flip is not None and back.flip.query == "by-number" and back.flip.factor < 1
    changed = with_rate(busy, back.flip.query, back.flip.factor)
    assert stays(again(plain, changed), again(indexed, changed), kept=False)
    assert turning(plain, indexed, busy).turn is Turn.AHEAD


@pytest.mark.parametrize("name", sizes(SAMPLES[::3], SAMPLES, "proofs"))
def test_where_none_is_found_a_search_over_many_factors_finds_none_either(name: str) -> None:
    found = judged(name)
    assert found.bench is not None and found.advice is not None
    first, *others = found.ranking()
    kept = found.advice.keep
    second = next(
        (c for c in others[:RIVALS] if turning(first, c, found.bench, kept=kept).turn in (Turn.NONE, Turn.DOMINATED)),
        None,
    )
    if second is None:
        pytest.skip("every one of the first can be turned")
    for query_ in found.bench.workload.classes:
        for factor in (0.001, 0.03, 0.3, 0.7, 1.5, 4.0, 30.0, 300.0, 1000.0):
            changed = with_rate(found.bench, query_.name, factor)
            assert stays(again(first, changed), again(second, changed), kept=kept), (query_.name, factor)


@settings(max_examples=examples(25), deadline=None)
@given(data=st.data())
def test_no_rates_at_all_turn_what_is_dominated(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([n for n in SAMPLES if dominated(n)]))
    found = judged(name)
    assert found.bench is not None
    first, second = dominated(name)[0]
    changed = found.bench
    for query_ in found.bench.workload.classes:
        changed = with_rate(changed, query_.name, 10 ** data.draw(st.floats(-4, 4)))
    assert stays(again(first, changed), again(second, changed), kept=False)


@cache
def dominated(name: str) -> list[tuple[object, object]]:
    """Pairs of a sample's ranking of which one dominates the other."""
    found = judged(name)
    assert found.bench is not None
    first, *others = found.ranking()
    return [(first, c) for c in others[:8] if dominance(first, c, found.bench)]


def test_some_samples_hold_dominated_schemes_and_a_scheme_does_not_dominate_itself() -> None:
    assert sum(1 for name in SAMPLES if dominated(name)) >= 2
    found = judged("footrace")
    assert found.bench is not None
    first = found.ranking()[0]
    assert dominance(first, first, found.bench) == ()


def test_a_scheme_in_place_stays_while_it_is_good_enough() -> None:
    found = judged("footrace")
    assert found.bench is not None
    first = found.ranking()[0]
    # The same rows, the other way round, are longer alone: as the scheme in place it stays, until it is no longer good
    # enough.
    keys = [("{event}_{distance}", row) for row in ("AGE:{pad(age,3)}_{pad(bib,6)}", "BIB:{pad(bib,6)}")]
    main, row = (parse_key(*key, known=found.bench.population.types) for key in keys)
    second = estimate(KeyScheme(main, (IndexRow(row),)), found.bench)
    assert turning(second, first, found.bench).turn is Turn.AHEAD
    answer = turning(second, first, found.bench, kept=True)
    assert answer.turn is not Turn.AHEAD
    if answer.flip is not None:
        changed = with_rate(found.bench, answer.flip.query, answer.flip.factor)
        assert not stays(again(second, changed), again(first, changed), kept=True)


def test_what_was_found_over_all_rows_stays_known() -> None:
    from pkadvisor.design.load.estimates import Violation

    found = judged("footrace")
    assert found.bench is not None
    first = found.ranking()[0]
    broken = replace(first, violations=(Violation("not-unique", "two share a key", 2.0, 0.0, "entities", 10.0),))
    assert [v.code for v in again(broken, found.bench).violations] == ["not-unique"]
