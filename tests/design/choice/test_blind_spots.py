"""Four tables that a naive score, entities returned over entities scanned, judges wrongly, and an expert would not."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from pkadvisor.design.choice.goals import better, loss, ranked
from pkadvisor.design.choice.search import advise
from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.scheme import IndexRow, KeyScheme, parse_key
from pkadvisor.design.load.estimates import Bench, CostEstimate
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.demand import demands
from pkadvisor.design.rows.population import Population
from pkadvisor.limits import default_limits
from pkadvisor.observe.workload import Draw, DrawBy, Operation, QueryClass, Workload
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, frame_of, population_of, query

TYPES = {"customer": EdmType.STRING, "id": EdmType.INT32}
ROWS = 2_000
BY_ID = KeyScheme(parse_key("{pad(id,4)}", ""))
CONSTANT = KeyScheme(parse_key("all", "{pad(id,4)}"))
BY_CUSTOMER = KeyScheme(parse_key("{customer}", "{pad(id,4)}"))


def orders(**options: object) -> Population:
    """Two thousand orders of two hundred customers."""
    columns = {"customer": [f"c{n % 200:03d}" for n in range(ROWS)], "id": list(range(ROWS))}
    return population_of(columns, TYPES, **options)


def naive(found: CostEstimate) -> float:
    """Entities returned over entities scanned, every class and request alike."""
    reads = [c for c in found.classes if c.operation is Operation.QUERY]
    rate = sum(c.rate_per_s for c in reads)
    return 100 * sum(c.rate_per_s * min(1.0, c.entities_returned / c.entities_read) for c in reads) / rate


def get(rate: float, **more: object) -> QueryClass:
    return query("get", "id eq {id}", rate=rate, **more)  # type: ignore[arg-type]


def put(rate: float) -> QueryClass:
    return query("put", None, rate=rate, operation=Operation.INSERT)


def test_a_constant_key_at_15000_a_second_is_the_worst_key_though_every_read_is_a_point() -> None:
    bench = bench_of(orders(), get(15_000))
    constant, spread = estimate(CONSTANT, bench), estimate(BY_ID, bench)
    assert naive(constant) == naive(spread) == pytest.approx(100)
    assert constant.break_factor == pytest.approx(2_000 / 15_000)
    # 100 x the share of useful work, all of it, x how far of the way to three times the load it gets.
    assert constant.score == pytest.approx(100 * 2_000 / 15_000 / 3)
    assert spread.score > 5 * constant.score
    assert any(v.code == "hot-partition" and v.measured == pytest.approx(15_000) for v in constant.violations)
    assert loss(constant, spread).goal == "constraints"
    advice = advise(bench, CONSTANT)
    assert not advice.keep
    assert atoms_of(advice.recommended.scheme.main.partition) == (("p", "id"),)


def test_nine_misses_in_ten_do_not_make_a_perfect_key_worse() -> None:
    """A request for what is not there costs what one for what is there costs, and no key can help it."""
    asked = [n if n % 10 == 0 else ROWS + n for n in range(ROWS)]
    ghosts = frame_of({"customer": [None] * ROWS, "id": asked}, TYPES)
    population = orders(ghosts=ghosts)
    wanted = replace(get(100), draw=Draw(DrawBy.LOG, stated=True))
    logged = ghosts.with_columns(pl.Series("_weight", [1 / ROWS] * ROWS))
    workload = Workload("T", (wanted,), instances={"get": logged})
    found = demands(workload, population, {"get": (ROWS, 2 * ROWS)})
    bench = Bench(population, workload, found, default_limits(), 100.0)
    perfect, scanning = estimate(BY_ID, bench), estimate(BY_CUSTOMER, bench)
    assert perfect.classes[0].entities_returned == pytest.approx(0.1)
    assert naive(perfect) == pytest.approx(10)
    assert perfect.score == pytest.approx(100)
    assert better(perfect, scanning)
    assert scanning.score < 1
    advice = advise(bench, BY_ID)
    assert advice.keep
    assert advice.recommended.scheme == BY_ID


def test_one_export_a_minute_neither_hides_nor_drowns_what_the_queries_cost() -> None:
    export = replace(query("export", None, rate=1 / 60), analytic=True)
    asked = query("of-customer", "customer eq {customer}", rate=50)
    with_export, without = bench_of(orders(), asked, put(5), export), bench_of(orders(), asked, put(5))
    bad, good = estimate(BY_ID, with_export), estimate(BY_CUSTOMER, with_export)
    for found, alone in ((bad, estimate(BY_ID, without)), (good, estimate(BY_CUSTOMER, without))):
        # It is shown and its load counts; the score and the requests are those of the queries.
        (reads_all,) = (c for c in found.classes if c.name == "export")
        assert reads_all.entities_read == ROWS
        assert found.requests_per_s == alone.requests_per_s
        assert found.entities_per_s == alone.entities_per_s
        useful = [min(1.0, f.break_factor / f.horizon_factor) for f in (found, alone)]
        assert found.score / useful[0] == pytest.approx(alone.score / useful[1])
    assert good.score == pytest.approx(100)
    assert bad.score < 15
    assert better(good, bad)
    assert advise(with_export, BY_ID).recommended.scheme.main.partition == BY_CUSTOMER.main.partition


def test_an_export_and_good_queries_leave_a_good_key_in_place() -> None:
    export = replace(query("export", None, rate=1 / 60), analytic=True)
    bench = bench_of(orders(), get(50), put(5), export)
    found = estimate(BY_ID, bench)
    assert found.score == pytest.approx(100)
    assert advise(bench, BY_ID).keep


ROW_BY_CUSTOMER = IndexRow(parse_key("C:{customer}", "{pad(id,4)}"))


@pytest.mark.parametrize(("reads", "writes", "worth_it"), [(0.1, 300.0, False), (200.0, 20.0, True)])
def test_an_index_row_that_doubles_the_writes_must_earn_it(reads: float, writes: float, worth_it: bool) -> None:
    """The row turns three requests that read 2,000 entities into one that reads ten, and each insert into two."""
    of_customer = query("of-customer", "customer eq {customer}", rate=reads)
    bench = bench_of(orders(), get(50), of_customer, put(writes))
    plain = estimate(BY_ID, bench)
    indexed = estimate(KeyScheme(BY_ID.main, (ROW_BY_CUSTOMER,)), bench)
    assert naive(indexed) > naive(plain)
    costs = {name: {c.name: c for c in found.classes} for name, found in (("plain", plain), ("indexed", indexed))}
    assert costs["plain"]["put"].requests == pytest.approx(1)
    assert costs["indexed"]["put"].requests == pytest.approx(2)
    assert costs["indexed"]["of-customer"].entities_read == pytest.approx(10)
    assert better(indexed, plain) is worth_it
    assert better(plain, indexed) is not worth_it
    assert ranked([plain, indexed])[0] is (indexed if worth_it else plain)
    if not worth_it:
        assert loss(indexed, plain).goal in ("room", "requests")
    advice = advise(bench, None)
    assert len(advice.recommended.scheme.index_rows) == worth_it, advice.recommended.scheme.text
