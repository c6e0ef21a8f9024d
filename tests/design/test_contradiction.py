"""Constraints that nothing holds together: no fewer do, and each way out gives one of them up."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.design.contradiction import RULES, broken_by, contradiction
from pkadvisor.design.estimates import CostEstimate, Violation
from pkadvisor.design.search import advise
from pkadvisor.observe.workload import Operation, Transaction
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query
from tests.design.test_search import candidate


def breaking(number: int, codes: frozenset[str], requests: float = 100.0) -> CostEstimate:
    violations = tuple(Violation(code, code, 2, 1, "x", 2.0) for code in sorted(codes))
    return replace(candidate("{a}" * (number + 1), requests=requests), violations=violations)


@given(st.lists(st.frozensets(st.sampled_from(sorted(RULES)), max_size=3), min_size=1, max_size=6))
def test_every_scheme_breaks_one_and_no_fewer_do(broken: list[frozenset[str]]) -> None:
    pool = [breaking(n, codes) for n, codes in enumerate(broken)]
    found = contradiction(pool)
    if frozenset() in broken:
        assert found is None
        return
    assert found is not None
    kept = [broken_by(c) for c in pool]
    assert all(k & set(found.constraints) for k in kept)
    names = set().union(*kept)
    for fewer in combinations(sorted(names), len(found.constraints) - 1):
        assert any(not k & set(fewer) for k in kept)
    for way in found.ways:
        assert way.without in found.constraints
        assert set(way.still) == broken_by(way.found) - {way.without}
        # Nothing breaks less without it, measured by the worst factor: all factors are equal here.
        assert not way.still or all(k - {way.without} for k in kept)


def test_what_only_an_assumed_growth_breaks_is_no_contradiction() -> None:
    found = breaking(0, frozenset({"hot-partition"}))
    assumed = replace(found, violations=tuple(replace(v, assumed=True) for v in found.violations))
    assert contradiction([found]) is not None
    assert contradiction([assumed, found]) is None


def test_isolation_by_tenant_and_a_transaction_across_tenants() -> None:
    """A pair's two rows belong to two tenants: either the pair is atomic or the tenants are apart."""
    rows = range(400)
    population = population_of(
        {"tenant": [f"t{i % 7}" for i in rows], "pair": [f"p{i // 2:03d}" for i in rows], "n": list(rows)},
        {"tenant": EdmType.STRING, "pair": EdmType.STRING, "n": EdmType.INT32},
    )
    bench = bench_of(
        population,
        query("one", "tenant eq {tenant} and n eq {n}"),
        query("book", None, rate=5, operation=Operation.INSERT),
        transactions=[Transaction("both", ("book",), ("pair",), required=True)],
        isolation="tenant",
    )
    advice = advise(bench, None)
    found = contradiction(advice.ranking)
    assert found is not None
    assert found.constraints == ("what is isolated leads every PartitionKey", "transaction 'both' is atomic")
    isolation_given_up, atomic_given_up = found.ways
    assert atomic_given_up.found.scheme.main.partition[0].properties == ("tenant",)
    assert {p for part in isolation_given_up.found.scheme.main.partition for p in part.properties} <= {"pair"}
    assert isolation_given_up.still == atomic_given_up.still == ()
