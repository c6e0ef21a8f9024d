"""Programs one by one: new entities, periods in keys, pointers, lost races, moves."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.scheme import IndexRow, KeyScheme, parse_key
from pkadvisor.design.load.estimates import Bench
from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.engine.tables.table_rules import checked_body
from pkadvisor.errors import UsageError
from pkadvisor.observe.workload import Operation as Does
from pkadvisor.observe.workload import QueryClass
from pkadvisor.stress.requests.plain_table import PlainTable, page_limits
from pkadvisor.stress.requests.programs import Programs
from pkadvisor.stress.requests.retry import UPDATES_MAX, GivenUp
from pkadvisor.stress.requests.rows import entities_of, layout, stored_entities
from pkadvisor.stress.requests.script_table import EPOCHS_MAX, clock_of, script_table
from pkadvisor.stress.requests.scripts import SEVERAL, Scripts
from pkadvisor.table.edm import EdmType
from pkadvisor.table.store import Delete, Entity, Get, Group, Insert, Operation, Outcome, Query, Update
from tests.design.support import bench_of, population_of, query

MINUTE_NS = 60_000_000_000
BEGAN = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
TYPES = {"device": EdmType.STRING, "reading": EdmType.INT32, "at": EdmType.DATETIME, "state": EdmType.STRING}
INSERT = query("report", None, operation=Does.INSERT)


def columns(rows: int, devices: int) -> dict[str, list[object]]:
    return {
        "device": [f"d{n % devices}" for n in range(rows)],
        "reading": list(range(rows)),
        "at": [BEGAN + timedelta(seconds=61 * n) for n in range(rows)],
        "state": ["open" if n % 3 else "shut" for n in range(rows)],
    }


def bench(*classes: QueryClass, rows: int = 60, devices: int = 5) -> Bench:
    return bench_of(population_of(columns(rows, devices), TYPES, arrival="at"), *classes)


def programs(scheme: KeyScheme, *classes: QueryClass, rows: int = 60, devices: int = 5) -> Programs:
    found = bench(*classes, rows=rows, devices=devices)
    return Programs(found, scheme, entities_of(found.population), table="readings")


def scheme(partition: str, row: str, *index_rows: tuple[str, str, str]) -> KeyScheme:
    rows = tuple(IndexRow(parse_key(pk, rk), copy) for pk, rk, copy in index_rows)
    return KeyScheme(parse_key(partition, row), rows)


def first_sent(made: Programs, instance: int, request: int, at_ns: int = 0) -> tuple[Operation, ...]:
    return next(made.start(0, instance, request, at_ns))


def only(operations: Sequence[Operation]) -> Operation:
    (operation,) = operations
    return operation


def scripts_of(made: Programs, duration_ns: int) -> Scripts:
    used = [np.arange(count) for count in made.instances]
    found = script_table(made, made.bench.limits, used, duration_ns)
    found.check()
    return found


@pytest.mark.parametrize(
    ("partition", "row", "parts"),
    [
        ("{device}", "{reading}", False),
        ("{device}-{time(at,'yyyyMMddHHmm')}", "{reading}", False),  # followed from minute to minute
        ("{hash(reading,16)}", "{pad(reading,4)}", False),
        ("{device}-{time(at,'yyyyMMddHHmmss')}", "{reading}", True),  # nobody follows so many periods
        ("{reverse_ticks(at)}", "{device}", True),
    ],
)
def test_an_insert_is_run_twice_only_where_its_key_may_be_its_own_alone(
    partition: str, row: str, parts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = scheme(partition, row, ("{state}", "{device}-{reading}", "full"))
    made = programs(keys, INSERT)
    short = clock_of(made, 5 * MINUTE_NS).short
    assert made.inserts_may_part(0, short) is parts
    once = scripts_of(made, 5 * MINUTE_NS)
    monkeypatch.setattr(Programs, "inserts_may_part", lambda *_: True)
    assert scripts_of(programs(keys, INSERT), 5 * MINUTE_NS).epochs == once.epochs
    alone = any(
        step.partition == SEVERAL for of_class in once.at(0) for each in of_class for step in sum(each.stages, ())
    )
    assert alone is parts


@pytest.mark.parametrize(
    ("partition", "row"),
    [
        ("{device}", "{reading}"),
        ("{device}", "{reverse_ticks(at)}"),
        ("{hash(reading,16)}", "{pad(reading,4)}"),
        ("{hash(at,8)}", "{reverse_ticks(at)}"),
        ("{device}", "{time(at,'yyyyMMddHHmmss')}"),
    ],
)
def test_new_entities_have_keys_of_their_own_where_the_rows_of_the_data_lie(partition: str, row: str) -> None:
    made = programs(scheme(partition, row), INSERT)
    stored = {key for _, key in ((r, r.key) for r in made.stored)}
    partitions = [row.key.partition_key for row in made.stored]
    keys = set()
    for request in range(600):
        insert = only(first_sent(made, request % 60, request, at_ns=request // 4 * 1_000))
        assert isinstance(insert, Insert)
        assert insert.entity.key.partition_key == partitions[request % 60]
        assert set(insert.entity.properties) == set(TYPES)
        keys.add(insert.entity.key)
    assert len(keys) == 600 and not keys & stored


def test_a_new_entity_arrives_at_the_moment_of_its_request() -> None:
    made = programs(scheme("{device}", "{reverse_ticks(at)}"), INSERT)
    newest = max(row.properties["at"].value for row in made.stored)  # type: ignore[type-var]
    insert = only(first_sent(made, 7, 0, at_ns=90_000 * 1_000_000))
    assert isinstance(insert, Insert)
    after = int(insert.entity.properties["at"].value) - int(newest)  # type: ignore[call-overload]
    assert 90 * 10_000_000 <= after < 92 * 10_000_000


def test_keys_that_no_two_requests_share_stand_where_they_would_fall() -> None:
    found = scripts_of(programs(scheme("{ticks(at)}", "{device}"), INSERT), MINUTE_NS)
    for script in found.epochs[0][0]:
        ((step,),) = script.stages
        assert step.kind is Kind.WRITE and step.partition == SEVERAL
        assert (step.low, step.high) == (59, 60)  # behind all that is stored
    assert found.ends_ns == () and len(found.space.keys) == 60


def test_a_period_in_the_key_changes_during_the_run() -> None:
    made = programs(scheme("{time(at,'yyyyMMddHH')}", "{device}_{reading}"), INSERT)
    found = scripts_of(made, 90 * MINUTE_NS)
    assert len(found.epochs) == len(found.ends_ns) + 1 == 3 or len(found.ends_ns) == 1
    partitions = [{step.partition for s in epoch[0] for stage in s.stages for step in stage} for epoch in found.epochs]
    assert all(len(ranks) == 1 and SEVERAL not in ranks for ranks in partitions)
    ranks = [rank for each in partitions for rank in each]
    assert ranks == sorted(set(ranks)), "each period has its own PartitionKey"
    for end_ns, before, after in zip(found.ends_ns, found.epochs, found.epochs[1:], strict=False):
        for at_ns, epoch in ((end_ns - 1_000_000, before), (end_ns, after)):
            insert = only(first_sent(made, 3, 0, at_ns))
            assert isinstance(insert, Insert)
            step = epoch[0][3].stages[0][0]
            assert found.space.keys[step.partition] == insert.entity.key.partition_key
            assert found.at(at_ns) is epoch


def test_periods_too_short_to_follow_are_keys_of_one_request() -> None:
    made = programs(scheme("{time(at,'yyyyMMddHHmmss')}", "{device}_{reading}"), INSERT)
    clock = clock_of(made, (EPOCHS_MAX + 10) * 1_000_000_000)
    assert clock.ends_ns == () and [str(p) for p in clock.short] == ["{time(at,'yyyyMMddHHmmss')}"]
    found = scripts_of(made, (EPOCHS_MAX + 10) * 1_000_000_000)
    assert {step.partition for s in found.epochs[0][0] for stage in s.stages for step in stage} == {SEVERAL}


def test_pointers_are_followed_one_by_one() -> None:
    keys = scheme("{reading}", "", ("D:{device}", "{pad(reading,4)}", "pointer"))
    made = programs(keys, query("of-device", "device eq '{device}'"), rows=900, devices=300)
    plan = made.plan(0)
    assert plan is not None and plan.pointer
    rows = list(made.stored)
    table = PlainTable("readings", rows, page_limits(made.bench.limits))
    program = made.start(0, 0, 0, 0)
    (asked,) = next(program)
    outcome, _ = table.answer(asked)
    gets = program.send((outcome,))
    assert all(isinstance(get, Get) for get in gets)
    own = {row.key for row in rows if "device" in row.properties and row.properties["device"].value == "d0"}
    assert {get.key for get in gets if isinstance(get, Get)} == own and len(own) == 3
    script = scripts_of(made, MINUTE_NS).epochs[0][0][0]
    assert [len(stage) for stage in script.stages] == [1, 3]
    assert script.steps == made.estimate.classes[0].requests


def test_a_query_goes_back_period_by_period_until_it_has_enough() -> None:
    keys = scheme("{device}_{time(at,'yyyyMMddHHmm')}", "{reverse_ticks(at)}")
    newest = query("newest", "device eq '{device}'", order=("-at",), top=3)
    made = programs(keys, newest, rows=900, devices=1)
    plan = made.plan(0)
    assert plan is not None and plan.back
    table = PlainTable("readings", list(made.stored), page_limits(made.bench.limits))
    program = made.start(0, 0, 0, 0)
    got, asked = 0, 0
    sent = next(program, None)
    while sent is not None:
        assert len(sent) == 1, "one period at a time"
        assert got < 3, "it had enough"
        outcome, _ = table.answer(sent[0])
        got, asked = got + len(outcome.entities), asked + 1
        try:
            sent = program.send((outcome,))
        except StopIteration:
            break
    assert got == 3 and asked == made.estimate.classes[0].requests
    assert scripts_of(made, MINUTE_NS).epochs[0][0][0].steps == asked


@pytest.mark.parametrize("partition", ["{time(at,'yyyyMMddHH')}_{device}", "{device}_{time(at,'yyyyMMddHH')}"])
def test_a_range_of_time_is_asked_period_by_period_wherever_the_period_stands(partition: str) -> None:
    text = "device eq '{device}' and at ge datetime'{at}' and at lt datetime'{at+1h}'"
    made = programs(scheme(partition, "{ticks(at)}"), query("window", text), rows=900, devices=1)
    counted = made.estimate.classes[0]
    assert counted.plan is not None and counted.plan.periods is not None
    sent = [first_sent(made, instance, 0) for instance in range(900)]
    assert sum(map(len, sent)) / 900 == pytest.approx(counted.requests, rel=1e-9)
    table = PlainTable("readings", list(made.stored), page_limits(made.bench.limits))
    found = [sum(len(table.answer(operation)[0].entities) for operation in each) for each in sent]
    assert max(found) == 60 and min(found) == 1  # a reading every 61 seconds; at the end there is one left


def rmw() -> QueryClass:
    changing = query("advance", "device eq '{device}' and reading eq {reading}", operation=Does.UPDATE, sets=("state",))
    return replace(changing, read_modify_write=True)


def test_a_lost_race_is_read_again_and_not_for_ever() -> None:
    made = programs(scheme("{device}", "{pad(reading,4)}"), rmw())
    table = PlainTable("readings", list(made.stored), page_limits(made.bench.limits))
    program = made.start(0, 5, 0, 0)
    attempts = 0
    sent = next(program)
    with pytest.raises(GivenUp):
        while True:
            (get,) = sent
            assert isinstance(get, Get)
            outcome, _ = table.answer(get)
            (update,) = program.send((outcome,))
            assert isinstance(update, Update) and update.if_match == outcome.entities[0].etag
            assert update.entity.properties["state"] != outcome.entities[0].properties["state"]
            attempts += 1
            sent = program.send((Outcome(412, "UpdateConditionNotSatisfied"),))
    assert attempts == UPDATES_MAX


def test_a_changed_key_is_a_delete_and_an_insert() -> None:
    changing = query("move", "reading eq {reading}", operation=Does.UPDATE, sets=("state",))
    inside = programs(scheme("{device}", "{state}_{pad(reading,4)}"), changing)
    across = programs(scheme("{state}", "{pad(reading,4)}", ("R:{reading}", "", "pointer")), changing)
    for made, sizes in ((inside, [2]), (across, [1, 1])):
        rows = list(made.stored)
        table = PlainTable("readings", rows, page_limits(made.bench.limits))
        program = made.start(0, 0, 0, 0)
        sent = next(program)
        while all(isinstance(operation, Query | Get) for operation in sent):
            sent = program.send(tuple(table.answer(operation)[0] for operation in sent))
        writes = [list(op.writes) if isinstance(op, Group) else [op] for op in sent]
        assert [len(group) for group in writes] == sizes
        delete, insert = (write for group in writes for write in group)
        assert isinstance(delete, Delete) and isinstance(insert, Insert)
        assert delete.key in {row.key for row in rows} and insert.entity.key != delete.key
    (pointer,) = program.send(tuple(Outcome(204) for _ in sent))
    assert pointer.entity.properties["TargetPartitionKey"].value == insert.entity.key.partition_key  # type: ignore[union-attr]
    assert across.estimate.classes[0].entities_written == 3
    assert [made.estimate.classes[0].group_entities for made in (inside, across)] == [2, 1]


def test_an_update_of_which_no_request_is_known_has_a_cost() -> None:
    changing = bench(query("move", "device eq '{device}'", operation=Does.UPDATE, sets=("state",)))
    (demand,) = changing.demands
    nothing = np.zeros(0)
    unknown = replace(demand, instances=np.zeros(0, dtype=np.int64), weights=nothing, returned=nothing)
    (cost,) = estimate(scheme("{device}", "{pad(reading,4)}"), replace(changing, demands=(unknown,))).classes
    assert (cost.requests_write, cost.group_entities) == (0, 1)


def test_a_client_sends_a_bounded_number_of_requests_at_once() -> None:
    """70 buckets, 64 at once: two rounds in the program as in its script, and two round trips in the estimate."""
    keys = scheme("{device}_{hash(reading,70)}", "{pad(reading,4)}")
    made = programs(keys, query("of-device", "device eq '{device}'"))
    assert made.bench.limits.fan_out_parallel == 64
    table = PlainTable("readings", list(made.stored), page_limits(made.bench.limits))
    program, sent = made.start(0, 0, 0, 0), list[int]()
    with suppress(StopIteration):
        stage = next(program)
        while True:
            sent.append(len(stage))
            stage = program.send(tuple(table.answer(operation)[0] for operation in stage))
    assert sent == [64, 6] == [len(each) for each in scripts_of(made, MINUTE_NS).epochs[0][0][0].stages]
    assert made.estimate.classes[0].round_trips == 2


def test_two_rows_of_one_key_are_refused() -> None:
    with pytest.raises(UsageError, match="two rows share the key"):
        layout(scheme("{device}", "{state}"), entities_of(bench(INSERT).population), TYPES)
    made = programs(scheme("{device}", "{state}"), INSERT)
    with pytest.raises(UsageError, match="two rows share the key"):
        made.stored  # noqa: B018  # reading it places the rows


def test_groups_are_sent_by_the_first_of_them() -> None:
    from pkadvisor.observe.workload import Transaction

    together = Transaction("set", ("report",), ("device",), required=True)
    found = bench_of(population_of(columns(60, 5), TYPES, arrival="at"), INSERT, transactions=[together])
    made = Programs(found, scheme("{device}", "{reverse_ticks(at)}"), entities_of(found.population), table="readings")
    sent = [list(made.start(0, n, n, 0)) if n >= 5 else [next(made.start(0, n, n, 0))] for n in range(60)]
    groups = [stage for stages in sent for (stage,) in stages]
    assert len(groups) == 5 and all(isinstance(group, Group) and len(group.writes) == 12 for group in groups)
    script = scripts_of(made, MINUTE_NS).epochs[0][0]
    assert [s.steps for s in script] == [1] * 5 + [0] * 55
    assert sum(s.steps for s in script) / 60 == pytest.approx(made.estimate.classes[0].requests)


def test_the_plain_table_keeps_the_limit_of_bytes() -> None:
    population = population_of(
        {"k": [str(n) for n in range(9)], "v": ["x" * 30_000] * 9}, {"k": EdmType.STRING, "v": EdmType.STRING}
    )
    made = bench_of(population, query("all", "v ne ''"))
    keys = scheme("{k}", "")
    rows: list[Entity] = list(Programs(made, keys, entities_of(population), table="wide").stored)
    limits = replace(page_limits(made.limits), page_bytes=150_000)
    table = PlainTable("wide", rows, limits)
    pages, token = [], ""
    while True:
        outcome, asked = table.answer(Query("wide", "v ne ''", (), None, token))
        pages.append((len(outcome.entities), asked.examined))
        token = outcome.continuation
        if not token:
            break
    assert pages == [(2, 2), (2, 2), (2, 2), (2, 2), (1, 1)]
    assert [(page.answered, page.examined) for page in table.chain("v ne ''", (), None)] == pages


def test_a_time_that_the_service_does_not_have_is_not_stored() -> None:
    """The year 1 stands for no time in many exports; one such row must not end a run."""
    early = {**columns(2, 1), "at": [datetime(1, 1, 1, tzinfo=UTC), BEGAN]}
    entities = entities_of(population_of(early, TYPES))
    rows = [row for _, _, row in stored_entities(scheme("{device}", "{reading}"), entities, TYPES)]
    assert ["at" in row.properties for row in rows] == [False, True]
    assert all(checked_body(row).size_bytes > 0 for row in rows)
