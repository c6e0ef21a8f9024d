"""Money per month, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.cost.terms import term_named
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.load.money import currency, requests_price, storage_gb, storage_price
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query

TYPES = {"tenant": EdmType.STRING, "id": EdmType.INT32}
SCHEME = KeyScheme(parse_key("{tenant}", "{pad(id,6)}"))


def test_a_month_of_requests_and_of_storage() -> None:
    """100/s over 30.4375 days are 262,980,000 requests; at 0.00036 for 10,000 they cost 9.46728. A thousand million
    entities of 4 + 2 x 8 + 980 = 1,000 bytes are 1,000 GB; at 0.045 they cost 45."""
    rows = {"tenant": [f"t{n % 4}" for n in range(100)], "id": list(range(100))}
    population = population_of(rows, TYPES, total=1_000_000_000, complete=False)
    asked = query("one", "tenant eq '{tenant}' and id eq {id}", rate=90)
    export = replace(query("export", "tenant eq '{tenant}' and id eq {id}", rate=10), analytic=True)
    bench = replace(bench_of(population, asked, export), property_bytes=980.0)
    found = estimate(SCHEME, bench)
    assert storage_gb(found, bench) == pytest.approx(1000)
    assert requests_price(found, bench) == pytest.approx(9.46728)  # an export is paid for, too
    assert storage_price(found, bench) == pytest.approx(45)
    price = term_named(found.terms, "price")
    assert price is not None
    assert (price.value, price.unit) == (pytest.approx(54.46728), "USD/month")
    assert "2026-11-21" in price.source
    assert currency(bench) == "USD"


def test_prices_may_be_nothing() -> None:
    rows = {"tenant": ["a", "b"], "id": [1, 2]}
    bench = bench_of(population_of(rows, TYPES), query("one", "tenant eq '{tenant}' and id eq {id}"))
    free = replace(bench, limits=replace(bench.limits, price_per_gb_month=0.0, price_per_10k_transactions=0.0))
    price = term_named(estimate(SCHEME, free).terms, "price")
    assert price is not None
    assert price.value == 0
