"""The terms of a cost: lawful over their registry, and each as computed by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pkadvisor.design.cost import class_cost
from pkadvisor.design.cost.cost import estimate, score_points
from pkadvisor.design.cost.terms import TERMS, term_named
from pkadvisor.design.keys.scheme import IndexRow, Key, KeyScheme, encode, parse_key
from pkadvisor.design.load.counting import set_fixes
from pkadvisor.design.load.estimates import Bench, CostEstimate, Term
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.design.rows.population import Population
from pkadvisor.documents import part
from pkadvisor.observe.workload import Basis, Draw, DrawBy, Operation, Pair, QueryClass, Rate, Transaction
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query

TYPES = {"tenant": EdmType.STRING, "day": EdmType.INT32, "id": EdmType.INT32, "state": EdmType.STRING}
MAIN = parse_key("{tenant}", "{pad(id,6)}")
AWAY = IndexRow(parse_key("S:{state}", "{pad(id,6)}"))
MOVES = Transaction("move", ("change",), (), pair=Pair("tenant", ("from", "to")))
INSIDE = IndexRow(parse_key("{tenant}", "S:{state}_{pad(id,6)}"))


def table(tenants: int = 4, each: int = 25) -> dict[str, list[object]]:
    """``each`` entities of every tenant; a fifth of them in each state."""
    rows = [(t, n) for t in range(tenants) for n in range(each)]
    return {
        "tenant": [f"t{t}" for t, _ in rows],
        "day": [n % 7 for _, n in rows],
        "id": [t * 1000 + n for t, n in rows],
        "state": [f"s{n % 5}" for _, n in rows],
    }


def classes(scale: float = 1.0, draw: Draw | None = None, *, again: bool = True) -> tuple[QueryClass, ...]:
    insert = query("place", None, rate=20 * scale, operation=Operation.INSERT)
    change = query(
        "change", "tenant eq '{tenant}' and id eq {id}", rate=5 * scale, operation=Operation.UPDATE, sets=["state"]
    )
    return (
        query("one", "tenant eq '{tenant}' and id eq {id}", rate=100 * scale, draw=draw),
        query("of-state", "state eq '{state}'", rate=10 * scale),
        insert,
        replace(change, read_modify_write=again),
    )


def bench(scale: float = 1.0, *, each: int = 25, draw: Draw | None = None, simple: bool = False) -> Bench:
    """``simple``: without group transactions, and without updates that are tried again."""
    found = bench_of(
        population_of(table(each=each), TYPES),
        *classes(scale, draw, again=not simple),
        transactions=() if simple else (Transaction("day's", ("place",), ("tenant", "day")),),
    )
    return replace(found, workload=replace(found.workload, retention_s=86_400.0 * 30, erase_by="tenant"))


def terms(found: CostEstimate) -> dict[str, Term]:
    return {t.name: t for t in found.terms}


def value(found: CostEstimate, name: str) -> float:
    term = term_named(found.terms, name)
    assert term is not None, name
    return term.value


SCHEMES = [
    KeyScheme(MAIN),
    KeyScheme(MAIN, (AWAY,)),
    KeyScheme(MAIN, (INSIDE,)),
    KeyScheme(parse_key("{hash(id,8)}", "{tenant}_{pad(id,6)}"), (replace(AWAY, copy="pointer"),)),
    KeyScheme(parse_key("all", "{tenant}_{pad(id,6)}")),
]


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda s: s.text)
def test_every_term_has_a_name_of_its_own_a_unit_and_a_source(scheme: KeyScheme) -> None:
    found = estimate(scheme, bench())
    assert len({t.name for t in found.terms}) == len(found.terms)
    assert [t.name for t in found.terms if not (t.unit and t.source and isinstance(t.basis, Basis))] == []
    assert [t.name for t in found.terms if not t.value >= 0] == []


def test_every_term_of_the_registry_says_something_about_some_scheme() -> None:
    over_pairs = replace(bench(), workload=replace(bench().workload, transactions=(MOVES,)))
    found = [(estimate(s, b), b) for b in (bench(), over_pairs) for s in SCHEMES]
    assert [each.__name__ for each in TERMS if not any(each(f, b) for f, b in found)] == []


# -- by hand -----------------------------------------------------------------------------------------------------------


def test_requests_entities_and_amplification_by_hand() -> None:
    """100 entities; of-state reads 20 of them through the index row elsewhere, which every write writes too."""
    found = estimate(KeyScheme(MAIN, (AWAY,)), replace(bench(), workload=replace(bench().workload, transactions=())))
    # one: 1 request. of-state: 1. place: the entity and its index row, 2. change: read, write, and the row in state
    # moves to another partition: delete and insert. Its key is made of state and id, so the state is read before.
    change = next(c for c in found.classes if c.name == "change")
    cycle = 0.012009  # s; means of the log-normals through 3.5 and 11.3, 7.1 and 22.6 ms
    attempts = 2.718281828 ** (5 / 100 * cycle)
    assert change.attempts == pytest.approx(attempts, rel=1e-6)
    assert change.requests_locate == pytest.approx(attempts)
    assert change.requests == pytest.approx(2 * attempts + 2)
    assert value(found, "requests to locate") == pytest.approx(5 * attempts)
    assert value(found, "requests") == pytest.approx(100 + 10 + 2 * 20 + 5 * (2 * attempts + 2))
    assert value(found, "entities read") == pytest.approx(100 * 1 + 10 * 20 + 5 * attempts)
    assert value(found, "entities written") == pytest.approx(2 * 20 + 3 * 5)
    assert value(found, "write amplification") == pytest.approx((2 * 20 + 3 * 5) / (20 + 5))
    assert value(found, "consistency window") == 22.6
    # 4 bytes, 2 for each character of the keys, 100 for the properties; 't1' and 6 digits, 'S:s1' and 6 digits.
    main, row = 4 + 2 * 8 + 100, 4 + 2 * 10 + 100
    assert value(found, "index rows") == row
    assert value(found, "stored") == main + row
    assert value(found, "bytes written") == pytest.approx(20 * (main + row) + 5 * (main + 2 * row))
    assert value(found, "byte amplification") == pytest.approx((20 * (main + row) + 5 * (main + 2 * row)) / (25 * main))


def test_a_row_counts_once_for_every_kibibyte_started() -> None:
    """3,000 bytes of properties and 20 of keys and row: 3 entities of 1 KiB."""
    found = bench_of(population_of(table(), TYPES), query("all", "tenant eq '{tenant}'", rate=2))
    large = estimate(KeyScheme(MAIN), replace(found, property_bytes=3000.0))
    assert value(large, "entities counted") == pytest.approx(2 * 25)
    assert value(large, "entities by bytes") == pytest.approx(2 * 25 * 3)
    assert value(estimate(KeyScheme(MAIN), found), "entities by bytes") == pytest.approx(2 * 25)
    edge = estimate(KeyScheme(MAIN), replace(found, property_bytes=1024.0 - 20))
    assert value(edge, "entities by bytes") == pytest.approx(2 * 25)
    over = estimate(KeyScheme(MAIN), replace(found, property_bytes=1025.0 - 20))
    assert value(over, "entities by bytes") == pytest.approx(2 * 25 * 2)


def test_pages_end_at_entities_at_bytes_and_at_time() -> None:
    """2,500 entities of one partition."""
    found = bench_of(population_of(table(1, 2500), TYPES), query("all", "tenant eq '{tenant}'", rate=1))

    def pages(bench: Bench) -> float:
        return estimate(KeyScheme(MAIN), bench).classes[0].requests

    assert pages(found) == pytest.approx(3)  # 1,000 each
    # 2,500 answers of 10,000 + 64 bytes are 25,160,000; a page of 4 MiB holds 4,194,304: 6 pages.
    assert pages(replace(found, property_bytes=10_000.0)) == pytest.approx(6)
    # At 10 ms an entity 2,500 take 25 s: 5 pages of 5 s.
    assert pages(replace(found, limits=replace(found.limits, scan_ms_per_entity=10.0))) == pytest.approx(5)
    assert value(estimate(KeyScheme(MAIN), found), "continuations") == pytest.approx(2)
    assert value(estimate(KeyScheme(MAIN), found), "round trips") == pytest.approx(3)


def test_the_boundary_of_a_server_is_a_limit_not_a_constant() -> None:
    found = bench_of(population_of(table(), TYPES), query("of-state", "state eq '{state}'", rate=1))
    for boundary in (0.0, 1.0, 3.0):
        limits = replace(found.limits, scan_boundary_requests=boundary)
        assert estimate(KeyScheme(MAIN), replace(found, limits=limits)).classes[0].requests == pytest.approx(
            1 + boundary
        )


def test_buckets_beyond_what_a_client_asks_at_once_take_rounds() -> None:
    found = bench_of(population_of(table(), TYPES), query("all", "tenant eq '{tenant}'", rate=1))
    scheme = KeyScheme(parse_key("{tenant}_{hash(id,100)}", "{pad(id,6)}"))
    assert found.limits.fan_out_parallel == 64
    assert value(estimate(scheme, found), "round trips") == pytest.approx(2)
    limits = replace(found.limits, fan_out_parallel=10)
    assert value(estimate(scheme, replace(found, limits=limits)), "round trips") == pytest.approx(10)


def test_scanned_entities_weigh_toward_the_targets_and_are_counted_whole() -> None:
    """A partition scan of 25 at 40/s: 1,000/s in all, 250 on each of 4 tenants; at 0.1 each, 2.5 a scan."""
    found = bench_of(population_of(table(), TYPES), query("all", "tenant eq '{tenant}'", rate=40))
    low = replace(found, limits=replace(found.limits, scan_weight=0.1))
    for each, load in ((found, 250.0), (low, 25.0)):
        cost = estimate(KeyScheme(MAIN), each)
        assert cost.hot is not None
        assert cost.hot.entities_per_s == pytest.approx(load)
        assert value(cost, "entities counted") == pytest.approx(1000)
    point = bench_of(population_of(table(), TYPES), query("one", "tenant eq '{tenant}' and id eq {id}", rate=40))
    lean = replace(point, limits=replace(point.limits, scan_weight=0.1))
    assert estimate(KeyScheme(MAIN), lean).hot == estimate(KeyScheme(MAIN), point).hot  # a request is at least one


def test_an_update_by_its_key_loads_its_partition_once() -> None:
    change = query("set", "tenant eq '{tenant}' and id eq {id}", rate=40, operation=Operation.UPDATE, sets=["day"])
    found = estimate(KeyScheme(MAIN), bench_of(population_of(table(), TYPES), change))
    assert found.hot is not None
    assert found.hot.entities_per_s == pytest.approx(10)  # 40/s over 4 tenants, nothing is read before


@pytest.mark.parametrize(
    ("partition", "row", "says"),
    [("{tenant}", "{id}", ""), ("{tenant}", "{day}_{id}", class_cost.CHANGES_KEY), ("{day}", "{id}", part.MOVES)],
)
def test_an_update_of_the_key_says_whether_a_transaction_holds_it(partition: str, row: str, says: str) -> None:
    change = query("set", "tenant eq '{tenant}' and id eq {id}", operation=Operation.UPDATE, sets=["day"])
    (cost,) = estimate(KeyScheme(parse_key(partition, row)), bench_of(population_of(table(), TYPES), change)).classes
    notes = [note for note in cost.notes if "a delete and an insert" in note]
    assert [note[: len(says)] for note in notes] == ([says] if says else [])


def test_the_account_s_target_is_of_requests_unless_read_as_of_entities() -> None:
    """1,000/s partition scans of 25: 1,000 requests/s, 25,000 entities/s, over 20,000."""
    found = bench_of(population_of(table(100), TYPES), query("all", "tenant eq '{tenant}'", rate=1000))
    entities = replace(found, limits=replace(found.limits, account_counts_entities=1))
    assert "account" not in {v.code for v in estimate(KeyScheme(MAIN), found).violations}
    (broken,) = [v for v in estimate(KeyScheme(MAIN), entities).violations if v.code == "account"]
    assert (broken.measured, broken.unit) == (pytest.approx(25_000), "entities/s")


def test_group_transactions_requests_saved_and_atomicity_lost() -> None:
    """25 entities of a tenant over 7 days: sets of 4 (days 0-3) and 3 (days 4-6), 100 entities in 28 sets."""
    kept = estimate(KeyScheme(MAIN), bench())
    mean = 100 / 28
    assert value(kept, "group transactions") == pytest.approx(20 / mean)
    assert value(kept, "requests saved") == pytest.approx(20 * (1 - 1 / mean))
    assert value(kept, "atomicity lost") == 0
    broken = estimate(KeyScheme(parse_key("{hash(id,8)}", "{tenant}_{pad(id,6)}")), bench())
    assert value(broken, "group transactions") == value(broken, "requests saved") == 0
    assert value(broken, "atomicity lost") == pytest.approx(20)


def test_entities_that_share_a_bucket_by_chance_are_not_atomic() -> None:
    """Two entities of one order: in two buckets they are together under some names of the orders, never for sure."""
    types = {"order": EdmType.STRING, "line": EdmType.INT32, "shop": EdmType.STRING}
    parts = parse_key("{hash(line,2)}", "{order}").partition
    line = next(n for n in range(2, 99) if encode(parts, {"line": n}, types) == encode(parts, {"line": 1}, types))
    rows = {"order": ["a", "a", "b", "b"], "line": [1, line, 1, line], "shop": ["x", "x", "y", "y"]}
    both = population_of(rows, types)

    def fixed(template: str, population: Population) -> bool:
        return set_fixes(("order",), parse_key(template, "{line}").partition, population)

    assert both.determines([("p", "order")], [("h", "line", "2")])
    assert not fixed("{hash(line,2)}", both)
    assert [fixed(t, both) for t in ("{hash(order,8)}", "{order}", "all", "{shop}", "{hash(shop,4)}")] == [True] * 5
    assert not fixed("{line}", both)
    # A sample with one row of each order cannot tell whether an order has one shop; nor does it need to for the order.
    alone = population_of({k: v[::2] for k, v in rows.items()}, types, total=4, complete=False)
    assert not fixed("{shop}", alone)
    assert fixed("{hash(order,8)}", alone)


def test_a_group_transaction_holds_so_many_bytes_with_index_rows() -> None:
    """Sets of 25 entities; 4 MiB hold 20 of 200,000 bytes, 10 with a full index row in the same partition."""
    day = Transaction("tenant's", ("place",), ("tenant",))
    found = bench_of(population_of(table(), TYPES), *classes(), transactions=(day,))
    large = replace(found, property_bytes=200_000.0)
    assert [estimate(s, found).transactions[0].too_large for s in SCHEMES[:3]] == [0, 0, 0]
    plain, away, inside = (estimate(s, large).transactions[0] for s in SCHEMES[:3])
    assert (plain.entities_most, away.entities_most, inside.entities_most) == (20, 20, 10)
    assert plain.too_large == 4
    assert value(estimate(KeyScheme(MAIN), large), "atomicity lost") == pytest.approx(20)
    small = estimate(KeyScheme(MAIN, (INSIDE,)), found).transactions[0]
    assert small.entities_most == 50  # 100 rows, two for each entity


# -- the score ---------------------------------------------------------------------------------------------------------


def test_points_add_up_to_the_score_and_analytic_classes_have_none() -> None:
    """one: 100/s, 1 of 1. state: 25/s, 5 of the 25 read. export: apart."""
    asked = (
        query("one", "tenant eq '{tenant}' and id eq {id}", rate=100),
        query("state", "tenant eq '{tenant}' and state eq '{state}'", rate=25),
        replace(query("export", None, rate=1), analytic=True),
    )
    found = estimate(KeyScheme(MAIN), bench_of(population_of(table(), TYPES), *asked))
    assert [c.useful_share for c in found.classes[:2]] == [1, pytest.approx(0.2)]
    points = score_points(found.classes, found.break_factor, found.horizon_factor)
    assert found.break_factor > 3
    assert points == (pytest.approx(80), pytest.approx(4), None)
    assert found.score == pytest.approx(84)
    half = score_points(found.classes, 1.5, 3.0)
    assert half == (pytest.approx(40), pytest.approx(2), None)


def test_a_miss_asks_for_one_and_an_index_row_doubles_a_write() -> None:
    missing = bench_of(
        population_of(table(), TYPES, ghosts=None), query("one", "tenant eq '{tenant}' and id eq {id}", rate=10)
    )
    cost = estimate(KeyScheme(MAIN), missing).classes[0]
    assert replace(cost, entities_returned=0.1).useful_share == pytest.approx(1)  # 90 % misses by point reads
    insert = query("place", None, rate=10, operation=Operation.INSERT)
    alone, doubled = (
        estimate(s, bench_of(population_of(table(), TYPES), insert)) for s in (KeyScheme(MAIN), SCHEMES[1])
    )
    assert (alone.classes[0].useful_share, doubled.classes[0].useful_share) == (1, pytest.approx(0.5))


def test_a_group_of_inserts_is_as_useful_as_one() -> None:
    insert = replace(query("place", None, rate=10, operation=Operation.INSERT), entities_per_request=40.0)
    found = estimate(KeyScheme(MAIN), bench_of(population_of(table(), TYPES), insert))
    assert found.classes[0].useful_share == 1


def test_index_rows_of_a_group_of_inserts_are_one_request_where_the_group_fixes_their_partition() -> None:
    """21 entities of one tenant and day at a time; their states are five, their days one."""
    insert = replace(query("place", None, rate=10, operation=Operation.INSERT), entities_per_request=21.0)
    days = IndexRow(parse_key("D:{pad(day,2)}", "{pad(id,6)}"))
    one = IndexRow(parse_key("all", "{pad(id,6)}"))
    in_common = Transaction("day's", ("place",), ("tenant", "day"))

    def sent(main: Key, *rows: IndexRow, transactions: tuple[Transaction, ...] = (in_common,)) -> tuple[float, ...]:
        bench = bench_of(population_of(table(), TYPES), insert, transactions=transactions)
        found = estimate(KeyScheme(main, rows), bench).classes[0]
        assert found.entities_written == 21 * (1 + len(rows))
        return tuple(round(n, 9) for n in (found.requests, found.requests_write, found.requests_after))

    assert sent(MAIN) == (1, 1, 0)
    assert sent(MAIN, days) == (2, 1, 1)
    assert sent(MAIN, AWAY) == (22, 1, 21)
    assert sent(MAIN, AWAY, days, one) == (24, 1, 23)
    # By state the group lies apart; its rows by day still come together.
    by_state = parse_key("{state}", "{pad(id,6)}")
    assert sent(by_state, days) == (22, 21, 1)
    # Nobody says what the group has in common: only a partition that is the same for all takes it at once.
    everything = parse_key("all", "{pad(id,6)}")
    assert sent(everything, days, AWAY, transactions=()) == (43, 1, 42)
    assert sent(MAIN, days, one, transactions=()) == (21 + 21 + 1, 21, 22)


# -- latency -----------------------------------------------------------------------------------------------------------


def test_latency_is_held_against_the_declared_or_the_default_goal() -> None:
    declared = replace(query("one", "tenant eq '{tenant}' and id eq {id}", rate=1), latency_goal_ms_p99=10.0)
    export = replace(query("export", None, rate=1), analytic=True)
    found = estimate(
        KeyScheme(MAIN), bench_of(population_of(table(), TYPES), declared, query("of", "state eq '{state}'"), export)
    )
    assert [c.latency_goal_ms_p99 for c in found.classes] == [10, 10_000, 0]
    one = found.classes[0]
    assert one.latency_ms_p50 == pytest.approx(3.5, rel=0.02)
    assert one.latency_ms_p99 == pytest.approx(11.3, rel=0.02)
    assert found.latency_excess == pytest.approx(one.latency_ms_p99 / 10)
    assert value(found, "latency against goal") == found.latency_excess


def test_a_class_waits_at_the_partitions_that_it_visits_alone() -> None:
    """Index rows by state and by id: one state takes 1,990 of 2,000 entities/s, each id 1."""
    rows = [IndexRow(parse_key("S:{state}", "{pad(id,6)}")), IndexRow(parse_key("N:{pad(id,6)}", "{tenant}"))]
    asked = (
        query("of-state", "state eq 's0'", rate=99.5),
        query("of-id", "id eq {id}", rate=100),
        query("of-day", "day eq {day}", rate=1e-6),
    )
    found = estimate(KeyScheme(MAIN, tuple(rows)), bench_of(population_of(table(), TYPES), *asked))
    assert found.hot is not None
    assert (found.hot.partition_key, found.hot.entities_per_s) == ("S:s0", pytest.approx(1990))
    state, number, day = found.classes
    assert [state.entities_read, number.entities_read] == pytest.approx([20, 1])
    assert state.latency_ms_p99 > 100
    assert number.latency_ms_p99 == pytest.approx(11.3, rel=0.02)
    assert day.plan is not None
    assert day.plan.access is Access.TABLE_SCAN
    assert day.latency_ms_p99 > 100, "a scan of the table comes by the hot partition too"


def test_one_request_in_a_hundred_at_a_hot_partition_makes_the_p99() -> None:
    """A tenant takes 1,990 entities/s; an update goes there with 1 in 4 of its requests, or with 1 in 101."""
    asked = (
        query("hot", "tenant eq 't0'", rate=398),
        query("any", "tenant eq '{tenant}' and id eq {id}", rate=1, operation=Operation.UPDATE, sets=["day"]),
    )
    for tenants, waits in ((4, True), (101, False)):
        found = estimate(KeyScheme(MAIN), bench_of(population_of(table(tenants, 5), TYPES), *asked))
        assert (found.classes[1].latency_ms_p99 > 100) is waits


def test_the_p99_is_that_of_parameters_that_scan_much() -> None:
    """One tenant of 2,000 entities beside 100 of 1; each entity is asked for as often, so most requests scan 2,000."""
    rows = table(1, 2000)
    for t in range(1, 101):
        for name, v in {"tenant": f"t{t}", "day": 0, "id": 10_000 + t, "state": "s0"}.items():
            rows[name].append(v)
    asked = query("all", "tenant eq '{tenant}'", rate=1, draw=Draw(DrawBy.DISTINCT, ("tenant",), stated=True))
    even = estimate(KeyScheme(MAIN), bench_of(population_of(rows, TYPES), asked)).classes[0]
    # 1 of 101 tenants is large, under one in a hundred: neither the middle nor the 99th sees it.
    assert even.entities_read_p50 == even.entities_read_p99 == 1
    heavy = query("all", "tenant eq '{tenant}'", rate=1)
    found = estimate(KeyScheme(MAIN), bench_of(population_of(rows, TYPES), heavy)).classes[0]
    assert found.entities_read_p50 == pytest.approx(2000, rel=0.05)
    assert found.latency_ms_p50 > 2000 * 0.065


# -- rates -------------------------------------------------------------------------------------------------------------


def test_a_rate_of_nothing_and_a_rate_beyond_everything_are_said() -> None:
    zero = query("never", "tenant eq '{tenant}'", rate=0)
    absurd = query("always", "tenant eq '{tenant}'", rate=1, peak=21_000_000)
    found = estimate(KeyScheme(MAIN), bench_of(population_of(table(), TYPES), zero, absurd))
    assert "zero" in found.classes[0].notes[-1]
    assert "1,050 times" in found.classes[1].notes[-1]
    assert found.classes[0].latency_goal_ms_p99 > 0
    usual = query("often", "tenant eq '{tenant}'", rate=1, peak=19_000_000)
    assert estimate(KeyScheme(MAIN), bench_of(population_of(table(), TYPES), usual)).classes[0].notes == ()


def test_a_cold_table_must_be_split_into_so_many_ranges() -> None:
    """9,000 point reads a second over ranges of 2,000: 5, in 300 + 3 x 15 + 10 s."""
    found = estimate(
        KeyScheme(parse_key("{pad(id,6)}", "")),
        bench_of(population_of(table(), TYPES), query("one", "id eq {id}", rate=9000)),
    )
    term = terms(found)["warm-up"]
    assert (term.value, term.unit) == (5, "ranges")
    assert "about 6 minutes" in term.source


def test_rates_may_be_a_rate_of_the_busiest_minute() -> None:
    insert = replace(query("place", None, operation=Operation.INSERT), rate=Rate(1.0, 50.0, 6.0))
    found = estimate(KeyScheme(MAIN), bench_of(population_of(table(), TYPES), insert))
    assert (value(found, "requests"), value(found, "requests at peak")) == (1, 6)


def test_a_set_is_as_large_as_the_requests_that_write_it() -> None:
    """A tenant has 25 entities, of which 20 fit; a request that places two of them writes no more."""
    day = Transaction("tenant's", ("place",), ("tenant",), required=True)
    found = bench_of(population_of(table(), TYPES), *classes(), transactions=(day,))
    found = replace(found, property_bytes=200_000.0)
    assert [v.code for v in estimate(KeyScheme(MAIN), found).violations] == ["transaction-too-large"]
    two = [replace(c, entities_per_request=2) if c.name == "place" else c for c in found.workload.classes]
    workload = replace(found.workload, classes=tuple(two), transactions=(day.of_requests(two),))
    placed = estimate(KeyScheme(MAIN), replace(found, workload=workload))
    assert not placed.violations
    (outcome,) = placed.transactions
    assert (outcome.mean_entities, outcome.too_large) == (2, 0)
