"""The auditor permits whatever the engine answers, and nothing that a store must not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec import structs

from pkadvisor.engine.open_store import open_virtual
from pkadvisor.engine.tables.table_rules import TableLimits
from pkadvisor.stress.store.audited_rows import AuditedRows, Version, wanted
from pkadvisor.stress.store.auditor import Auditor
from pkadvisor.table.edm import EdmType, TypedValue, utf16_key
from pkadvisor.table.odata import And, Comparison, Filter, Not, Operator, Or, evaluate, format_filter
from pkadvisor.table.store import (
    CreateTable,
    Delete,
    Entity,
    EntityKey,
    Get,
    Group,
    Insert,
    InsertOrMerge,
    InsertOrReplace,
    Merge,
    Operation,
    Outcome,
    Property,
    Query,
    Update,
)

TABLE = "rows"
FILTERS = (
    "",
    "PartitionKey eq 'b'",
    "PartitionKey ge 'b' and PartitionKey lt 'd' and v gt 3",
    "PartitionKey eq 'c' and RowKey ge '2' and RowKey le '4'",
    "v eq 5",
    "not (v lt 4)",
)


def entity(pk: str, rk: str, **values: int) -> Entity:
    return Entity(EntityKey(pk, rk), {name: Property(EdmType.INT32, value) for name, value in values.items()})


def random_operation(dice: Random, etags: list[str]) -> Operation:
    pk, rk = dice.choice("abcde"), dice.choice("12345")
    row = entity(pk, rk, v=dice.randrange(9), **({"w": 1} if dice.random() < 0.3 else {}))
    tag = "*" if dice.random() < 0.5 or not etags else dice.choice(etags[-8:])
    kind = dice.randrange(10)
    if kind < 3:
        return dice.choice((Insert, InsertOrReplace, InsertOrMerge))(TABLE, row)
    if kind < 5:
        return dice.choice((Update, Merge))(TABLE, row, tag)
    if kind == 5:
        return Delete(TABLE, row.key, tag)
    if kind == 6:
        rows = [entity(pk, each, v=dice.randrange(9)) for each in dice.sample("12345", 3)]
        return Group(tuple(dice.choice((Insert, InsertOrReplace))(TABLE, each) for each in rows))
    if kind == 7:
        return Get(TABLE, row.key, ("v",) if dice.random() < 0.3 else ())
    return Query(TABLE, dice.choice(FILTERS), (), dice.choice((None, None, 2, 3)))


def run(seed: int, twist: Callable[[Operation, Outcome], Outcome] | None = None, steps: int = 300) -> Auditor:
    """Random operations on the engine in small pages, each answer twisted on its way to the auditor."""
    dice, auditor, etags = Random(seed), Auditor(), list[str]()
    with open_virtual(seed, table_limits=TableLimits(page_entities=3, page_examined=7, table_delete_ns=0)) as store:
        auditor.audited(CreateTable(TABLE), store.execute(CreateTable(TABLE)))
        for _ in range(steps):
            operation = random_operation(dice, etags)
            while True:
                outcome = store.execute(operation)
                etags += filter(None, outcome.etags)
                told = twist(operation, outcome) if twist is not None else outcome
                auditor.audited(operation, told)
                if not (isinstance(operation, Query) and outcome.continuation) or dice.random() < 0.1:
                    break
                operation = replace(operation, continuation=outcome.continuation)
    auditor.check()
    return auditor


@pytest.mark.parametrize("seed", range(12))
def test_whatever_the_engine_answers_is_permissible(seed: int) -> None:
    found = run(seed)
    assert found.violations == []
    assert found.operations > 300


class Lie:
    """Twists the n-th answer that it fits."""

    def __init__(self, fits: Callable[[Operation, Outcome], bool], lie: Callable[[Outcome], Outcome]) -> None:
        self.fits, self.lie, self.told = fits, lie, 0

    def __call__(self, operation: Operation, outcome: Outcome) -> Outcome:
        if not self.fits(operation, outcome):
            return outcome
        self.told += 1
        return self.lie(outcome) if self.told == 3 else outcome


def changed(row: Entity) -> Entity:
    return replace(row, properties={**row.properties, "v": Property(EdmType.INT32, 77)})


values = st.one_of(
    st.builds(Property, st.just(EdmType.INT32), st.integers(-2, 2)),
    st.builds(Property, st.just(EdmType.STRING), st.sampled_from(["", "a", "ab", "b", "\uffff", "\U0001f600"])),
    st.builds(Property, st.just(EdmType.DOUBLE), st.floats(width=16)),
)
compared = st.builds(
    lambda name, operator, value: Comparison(name, operator, TypedValue(*value)),
    st.sampled_from(["PartitionKey", "RowKey", "a", "b"]), st.sampled_from(Operator), values,
)  # fmt: skip
trees = st.recursive(
    compared,
    lambda inner: st.one_of(
        st.builds(lambda o: And(tuple(o)), st.lists(inner, min_size=2, max_size=4)),
        st.builds(lambda o: Or(tuple(o)), st.lists(inner, min_size=2, max_size=3)),
        st.builds(Not, inner),
    ),
    max_leaves=6,
)
keys = st.builds(EntityKey, *[st.sampled_from(["", "a", "ab", "b", "\ue000", "\U0001f600"])] * 2)


@given(trees, st.lists(st.builds(Entity, keys, st.dictionaries(st.sampled_from("ab"), values)), max_size=8))
def test_a_filter_means_what_it_says_and_its_keys_leave_out_nothing_that_it_wants(
    tree: Filter, entities: list[Entity]
) -> None:
    assume("nan" not in format_filter(tree).lower())
    rows, wants = AuditedRows(), wanted(format_filter(tree))
    stored = {entity.key: entity for entity in entities}
    rows.store(stored.values())
    for entity in stored.values():
        assert wants.holds(entity.key, Version(entity.properties, "")) == evaluate(tree, entity.literals())
    looked_at = [row.key for row in rows.between(wants, None)]
    assert looked_at == sorted(looked_at, key=lambda key: tuple(map(utf16_key, key)))
    assert {key for key, entity in stored.items() if evaluate(tree, entity.literals())} <= set(looked_at)


LIES: dict[str, Lie] = {
    "a row is left out of an answer": Lie(
        lambda o, a: isinstance(o, Query) and o.top is None and len(a.entities) > 1,
        lambda a: structs.replace(a, entities=(a.entities[0], *a.entities[2:])),
    ),
    "a row comes twice": Lie(
        lambda o, a: isinstance(o, Query) and len(a.entities) > 1,
        lambda a: structs.replace(a, entities=(a.entities[0], *a.entities)),
    ),
    "a row of a page has another value": Lie(
        lambda o, a: isinstance(o, Query) and bool(a.entities),
        lambda a: structs.replace(a, entities=(changed(a.entities[0]), *a.entities[1:])),
    ),
    "a read shows another value": Lie(
        lambda o, a: isinstance(o, Get) and a.ok and not o.select,
        lambda a: structs.replace(a, entities=(changed(a.entities[0]),)),
    ),
    "a read finds nothing that is there": Lie(
        lambda o, a: isinstance(o, Get) and a.ok, lambda a: structs.replace(a, status=404, entities=())
    ),
    "an insert over an entity succeeds": Lie(
        lambda o, a: isinstance(o, Insert) and a.status == 409, lambda a: structs.replace(a, status=204, etags=("W/1",))
    ),
    "an insert is refused without a reason": Lie(
        lambda o, a: isinstance(o, Insert) and a.ok, lambda a: structs.replace(a, status=409, etags=())
    ),
    "an update with a stale tag succeeds": Lie(
        lambda o, a: isinstance(o, Update | Merge) and a.status == 412,
        lambda a: structs.replace(a, status=204, etags=("W/1",)),
    ),
    "a delete of nothing succeeds": Lie(
        lambda o, a: isinstance(o, Delete) and a.status == 404, lambda a: structs.replace(a, status=204)
    ),
    "a row that does not satisfy the filter": Lie(
        lambda o, a: isinstance(o, Query) and o.filter == "v eq 5" and not o.continuation and not a.entities,
        lambda a: structs.replace(a, entities=(entity("a", "1", v=4),)),
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_found(name: str) -> None:
    lie = LIES[name]
    for seed in range(40):
        lie.told = 0
        found = run(seed, lie, steps=150)
        if lie.told >= 3:
            assert found.violations_total > 0, "nobody noticed"
            return
    pytest.fail("no occasion to lie")


def test_an_uncertain_write_leaves_both_open_until_a_read_tells() -> None:
    auditor, first, second = Auditor(), entity("a", "1", v=1), entity("a", "1", v=2)
    assert auditor.audited(Insert(TABLE, first), Outcome(204, etags=("W/1",)))
    assert auditor.audited(InsertOrReplace(TABLE, second), Outcome(500, "OperationTimedOut"))
    for either in (first, second):
        assert auditor.audited(Get(TABLE, first.key), Outcome(200, entities=(either,)))
    assert not auditor.audited(Get(TABLE, first.key), Outcome(404, "ResourceNotFound"))
    assert auditor.audited(Delete(TABLE, first.key), Outcome(204))
    assert not auditor.audited(Get(TABLE, first.key), Outcome(200, entities=(first,)))


def test_a_throttled_write_changed_nothing() -> None:
    auditor, row = Auditor(), entity("a", "1", v=1)
    assert auditor.audited(Insert(TABLE, row), Outcome(503, "ServerBusy"))
    assert not auditor.audited(Get(TABLE, row.key), Outcome(200, entities=(row,)))


def test_of_writes_under_way_at_once_any_order_may_be() -> None:
    auditor, key = Auditor(), EntityKey("a", "1")
    one, two = entity("a", "1", v=1), entity("a", "1", v=2)
    first, second = auditor.begin(InsertOrReplace(TABLE, one)), auditor.begin(InsertOrReplace(TABLE, two))
    assert auditor.end(second, Outcome(204, etags=("W/2",)))
    assert auditor.end(first, Outcome(204, etags=("W/1",)))
    assert auditor.audited(Get(TABLE, key), Outcome(200, entities=(one,)))
    assert auditor.audited(Get(TABLE, key), Outcome(200, entities=(two,)))
    assert not auditor.audited(Get(TABLE, key), Outcome(200, entities=(entity("a", "1", v=3),)))


@pytest.mark.parametrize("write", [Update, Merge])
def test_an_answer_that_comes_before_that_of_the_write_it_stands_on_is_permissible(write: type[Update | Merge]) -> None:
    """The second write was sent with the ETag that a read of the first one's entity told."""
    auditor, rows = Auditor(), [entity("a", "1", v=v) for v in range(3)]
    assert auditor.audited(Insert(TABLE, rows[0]), Outcome(204, etags=("W/0",)))
    first = auditor.begin(write(TABLE, rows[1], "W/0"))
    second = auditor.begin(write(TABLE, rows[2], "W/1"))
    assert auditor.end(second, Outcome(204, etags=("W/2",)))
    assert auditor.end(first, Outcome(204, etags=("W/1",)))
    assert auditor.audited(Get(TABLE, rows[0].key), Outcome(200, entities=(rows[2],)))
    assert auditor.audited(write(TABLE, rows[1], "W/2"), Outcome(204, etags=("W/3",)))
    assert not auditor.audited(Get(TABLE, rows[0].key), Outcome(200, entities=(rows[0],)))
