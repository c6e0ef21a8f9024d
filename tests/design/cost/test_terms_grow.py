"""No cost becomes smaller where rates, rows, skew or fan-out grow."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.cost.terms import COST_TERMS
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.load.estimates import Bench, CostEstimate
from pkadvisor.observe.workload import Draw, DrawBy
from tests.design.cost.test_terms import SCHEMES, TYPES, bench, table
from tests.design.support import bench_of, population_of, query
from tests.tiers import examples

SPREAD = ("hottest", "latency")
"""Where a hash spreads keys by chance, the largest bucket may lose while the whole gains."""


def grows(before: CostEstimate, after: CostEstimate, small: Bench, large: Bench) -> list[str]:
    """The cost terms that got smaller."""
    out = []
    for each in COST_TERMS:
        old, new = each(before, small), each(after, large)
        if old is not None and (new is None or new.value < old.value * (1 - 1e-9) - 1e-12):
            out.append(f"{old.name}: {old.value} > {new.value if new else None}")
    return out


@settings(max_examples=examples(10))
@given(st.sampled_from(SCHEMES), st.floats(1.0, 60.0))
def test_higher_rates_make_no_cost_smaller(scheme: KeyScheme, factor: float) -> None:
    small, large = bench(), bench(factor)
    assert grows(estimate(scheme, small), estimate(scheme, large), small, large) == []


@settings(max_examples=examples(10))
@given(st.sampled_from(SCHEMES), st.integers(1, 12))
def test_more_rows_make_no_cost_smaller(scheme: KeyScheme, times: int) -> None:
    """Rows of the same keys, at the same rates. Larger sets share requests, and more entities meet less in updates:
    neither takes part."""
    small, large = (bench(each=25 * n, simple=True) for n in (1, times))
    found = grows(estimate(scheme, small), estimate(scheme, large), small, large)
    assert [t for t in found if not (t.startswith(SPREAD) and "hash" in scheme.text)] == []


@settings(max_examples=examples(10))
@given(st.sampled_from(SCHEMES), st.floats(0.0, 2.0), st.floats(0.0, 2.0))
def test_more_skew_makes_no_cost_smaller(scheme: KeyScheme, one: float, other: float) -> None:
    even, skewed = (
        bench(draw=Draw(DrawBy.ZIPF, ("tenant", "id"), exponent=e, stated=True)) for e in sorted((one, other))
    )
    found = grows(estimate(scheme, even), estimate(scheme, skewed), even, skewed)
    assert [t for t in found if not (t.startswith(SPREAD) and "hash" in scheme.text)] == []


@settings(max_examples=examples(10))
@given(st.integers(2, 16), st.integers(0, 16))
def test_more_fan_out_makes_no_cost_of_reading_smaller(buckets: int, more: int) -> None:
    """Reading all of a tenant over n buckets, which spread the load."""
    found = bench_of(population_of(table(), TYPES), query("all", "tenant eq '{tenant}'", rate=50))
    narrow, wide = (
        estimate(KeyScheme(parse_key(f"{{tenant}}_{{hash(id,{n})}}", "{pad(id,6)}")), found)
        for n in (buckets, buckets + more)
    )
    assert [t for t in grows(narrow, wide, found, found) if not t.startswith(SPREAD)] == []
    # Each bucket scans less, a quarter of a tenant's 25 at the most: 25 x 0.065 ms.
    assert wide.classes[0].latency_ms_p99 >= narrow.classes[0].latency_ms_p99 - 25 * 0.065
