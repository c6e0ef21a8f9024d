"""Tables: durable, deleted in steps that may break off anywhere, never to be seen again."""

from __future__ import annotations

import pytest

from pkadvisor.engine.tables import row_keys
from pkadvisor.engine.tables.table_messages import (
    Answer,
    CreateTableRequest,
    PageRequest,
    Request,
    RowWrite,
    TableRequest,
    WriteKind,
    WriteRequest,
)
from pkadvisor.engine.tables.table_requests import carry_out
from pkadvisor.engine.tables.table_rules import TableLimits, checked_body
from pkadvisor.engine.tables.table_service import TableService
from pkadvisor.table.store import (
    CreateTable,
    Delete,
    DeleteTable,
    EntityKey,
    Get,
    Group,
    Insert,
    InsertOrReplace,
    ListTables,
    Query,
    Update,
)
from tests.engine.table_service.support import ACCOUNT, NO_WAIT, Ranges, do, entity, keys, made, pages, run


def test_tables_are_there_for_another_front_end_and_after_a_restart_t8() -> None:
    """T8: from any front end; what tables there are stands in the rows."""
    store, ranges = made()
    do(store, CreateTable("Orders"))
    do(store, Insert("Orders", entity()))
    other, _ = made(ranges)
    assert do(other, ListTables()).tables == ("Orders",)
    assert do(other, Get("orders", EntityKey("p", "r"))).ok
    assert do(other, CreateTable("ORDERS")).code == "TableAlreadyExists"


def test_a_front_end_that_is_not_alone_sees_at_once_what_another_one_deletes_t8() -> None:
    one, ranges = made(limits=NO_WAIT, sole=False)
    other, _ = made(ranges, limits=NO_WAIT, sole=False)
    do(one, CreateTable("tab"))
    assert do(one, Insert("tab", entity())).ok
    do(other, DeleteTable("tab"))
    assert do(one, Insert("tab", entity())).code == "TableNotFound"
    do(other, CreateTable("tab"))
    assert do(one, Get("tab", EntityKey("p", "r"))).code == "ResourceNotFound"


def test_the_name_of_a_deleted_table_is_free_after_forty_seconds() -> None:
    """Delete Table: 409 TableBeingDeleted for at least 40 s, whatever is attempted, though its rows are long gone."""
    store, ranges = made()
    do(store, CreateTable("tab"))
    do(store, Insert("tab", entity()))
    assert do(store, DeleteTable("tab")).ok
    assert do(store, ListTables()).tables == ()
    key = EntityKey("p", "r")
    attempts = (Insert("tab", entity()), Get("TAB", key), Query("tab"), Delete("tab", key), DeleteTable("tab"))
    for step in (0, 40 * 10_000_000 - 1):
        ranges.ticks += step
        for attempt in (*attempts, CreateTable("tab")):
            assert (do(store, attempt).status, do(store, attempt).code) == (409, "TableBeingDeleted")
    ranges.ticks += 1
    for attempt in attempts:
        assert do(store, attempt).code == "TableNotFound"
    assert do(store, CreateTable("tab")).ok
    assert keys(pages(store, Query("tab"))) == []


def test_a_deleted_table_leaves_no_rows_in_any_range() -> None:
    store, ranges = made(limits=NO_WAIT)
    for name in ("tab", "tab2"):
        do(store, CreateTable(name))
        for i in range(300):
            do(store, Insert(name, entity(f"p{i % 3}", str(i))))
    for partition_key in ("p0", "p1", "p11", "p2", "q"):
        ranges.split_at("tab", partition_key)
    assert do(store, DeleteTable("tab")).ok
    left = [key for rows in ranges.ranges for key in rows.rows]
    assert not [key for key in left if key.startswith(b"acc\0tab\0")]
    assert len(keys(pages(store, Query("tab2")))) == 300


@pytest.mark.parametrize("steps", range(12))
def test_a_deletion_that_breaks_off_at_any_step_is_ended_later(steps: int) -> None:
    """Either the table is there with all its rows, or it is gone; the name becomes free when its rows are gone."""
    store, ranges = made(limits=NO_WAIT, sole=False)
    do(store, CreateTable("tab"))
    for i in range(600):
        do(store, Insert("tab", entity("p", f"{i:03}")))
    ranges.fail_after = steps
    outcome = do(store, DeleteTable("tab"))
    ranges.fail_after = None
    after, _ = made(ranges, limits=NO_WAIT)
    if not outcome.ok and do(after, Query("tab")).ok:
        assert len(keys(pages(after, Query("tab")))) == 600
        return
    assert do(after, Get("tab", EntityKey("p", "000"))).code in ("TableNotFound", "TableBeingDeleted")
    assert do(after, CreateTable("tab")).ok
    assert keys(pages(after, Query("tab"))) == []
    assert [key for key in ranges.ranges[0].rows if key.startswith(b"acc\0tab\0")] == []


def test_a_deletion_under_way_is_a_conflict() -> None:
    """TableBeingDeleted from the mark until the rows are gone."""
    store, ranges = made(limits=NO_WAIT, sole=False)
    do(store, CreateTable("tab"))
    do(store, Insert("tab", entity()))
    ranges.fail_after = 2  # find, mark
    do(store, DeleteTable("tab"))
    ranges.fail_after = None
    service = TableService(ranges, ACCOUNT, limits=NO_WAIT)
    for operation in (Get("tab", EntityKey("p", "r")), Insert("tab", entity()), Query("tab"), DeleteTable("tab")):
        assert run(service.execute(operation)).code == "TableBeingDeleted"
    assert run(service.execute(ListTables())).tables == ()
    create = CreateTableRequest(row_keys.schema_key(ACCOUNT, "tab"), "tab", 0)
    assert run(carry_out(ranges.ranges[0], create, ranges.ticks)).code == "TableBeingDeleted"


def test_a_write_that_comes_after_its_table_is_never_seen() -> None:
    """A late message of a front end: the row belongs to a generation that nobody asks for, and is written over."""
    store, ranges = made(limits=NO_WAIT)
    do(store, CreateTable("tab"))
    do(store, Insert("tab", entity("p", "a")))
    late = ranges.sent[-1]
    assert isinstance(late, WriteRequest)
    do(store, DeleteTable("tab"))
    assert run(carry_out(ranges.ranges[0], late, ranges.ticks)).ok  # nobody can know
    do(store, CreateTable("tab"))
    assert do(store, Get("tab", EntityKey("p", "a"))).code == "ResourceNotFound"
    assert do(store, Update("tab", entity("p", "a"))).code == "ResourceNotFound"
    assert keys(pages(store, Query("tab"))) == []
    assert do(store, Insert("tab", entity("p", "a", new=1))).ok
    assert run(carry_out(ranges.ranges[0], late, ranges.ticks)).code == "TableNotFound"
    assert do(store, Get("tab", EntityKey("p", "a"))).entities[0].properties["new"].value == 1


def test_clearing_spares_the_rows_of_a_later_table() -> None:
    store, ranges = made(limits=NO_WAIT)
    do(store, CreateTable("tab"))
    do(store, DeleteTable("tab"))
    clear = next(request for request in ranges.sent if type(request).__name__ == "ClearRequest")
    do(store, CreateTable("tab"))
    do(store, Insert("tab", entity()))
    assert run(carry_out(ranges.ranges[0], clear, ranges.ticks)).ok
    assert keys(pages(store, Query("tab"))) == [("p", "r")]


def test_a_creation_of_which_nobody_knows_is_not_remembered() -> None:
    """500: the table may be there. A front end that remembers tables asks again about this one, for ever."""
    store, ranges = made(limits=NO_WAIT)
    ranges.lose_answers = 1
    outcome = do(store, CreateTable("tab"))
    assert (outcome.status, outcome.code, outcome.uncertain) == (500, "OperationTimedOut", True)
    assert do(store, Insert("tab", entity())).ok
    other, _ = made(ranges, limits=NO_WAIT)
    do(other, DeleteTable("tab"))
    assert do(store, Insert("tab", entity("p", "2"))).code == "TableNotFound"


def test_a_server_that_takes_nothing_is_busy() -> None:
    store, ranges = made(limits=TableLimits())
    do(store, CreateTable("tab"))
    ranges.busy = 1
    outcome = do(store, Insert("tab", entity()))
    assert (outcome.status, outcome.code, outcome.uncertain) == (503, "ServerBusy", False)
    assert do(store, Insert("tab", entity())).ok


def test_a_request_for_another_range_is_sent_back() -> None:
    from pkadvisor.engine.ownership_errors import NotServing

    ranges = Ranges()
    ranges.split(b"m")
    write = WriteRequest(1, (RowWrite(WriteKind.INSERT, b"a\0t\0p\0r", checked_body(entity())),))
    with pytest.raises(NotServing):
        run(carry_out(ranges.ranges[1], write, 1))
    with pytest.raises(NotServing):
        run(carry_out(ranges.ranges[0], PageRequest(1, b"m", b"z"), 1))


@pytest.mark.parametrize("again", ["insert", "upsert", "delete", "group"])
def test_a_retry_after_a_lost_answer_ends_as_one_execution_t9(again: str) -> None:
    """T9: 500, then 409, 404 or success; the state is that of one execution."""
    operation = {
        "insert": Insert("tab", entity("p", "new", v=1)),
        "upsert": InsertOrReplace("tab", entity("p", "new", v=1)),
        "delete": Delete("tab", EntityKey("p", "old")),
        "group": Group((Insert("tab", entity("p", "new", v=1)), Delete("tab", EntityKey("p", "old")))),
    }[again]
    states = []
    for lost in (0, 1, 2):
        store, ranges = made()
        do(store, CreateTable("tab"))
        do(store, Insert("tab", entity("p", "old")))
        ranges.lose_answers = lost
        outcomes = [do(store, operation) for _ in range(lost + 1)]
        assert [o.uncertain for o in outcomes] == [True] * lost + [False]
        assert outcomes[-1].ok == (lost == 0 or again == "upsert")
        assert outcomes[-1].status in (202, 204, 404, 409)
        found = pages(store, Query("tab"))[0].entities
        states.append([(e.key, e.properties) for e in found])
    assert states[0] == states[1] == states[2]


def test_an_entity_that_comes_again_within_a_tick_has_another_tag_t4() -> None:
    """T4: who read the entity before it was deleted and inserted anew must not change the new one."""
    store, _ = made()
    do(store, CreateTable("tab"))
    (old,) = do(store, Insert("tab", entity())).etags
    do(store, Delete("tab", EntityKey("p", "r"), old))
    (new,) = do(store, Insert("tab", entity())).etags
    assert new != old
    assert do(store, Update("tab", entity(), old)).code == "UpdateConditionNotSatisfied"
    assert do(store, Delete("tab", EntityKey("p", "r"), new)).ok


class Racing(Ranges):
    """Has an operation carried out while the answer about a table is on its way."""

    service: TableService
    meanwhile: DeleteTable | None = None

    async def send(self, key: bytes, request: Request) -> Answer:
        answer = await super().send(key, request)
        if isinstance(request, TableRequest) and self.meanwhile is not None:
            operation, self.meanwhile = self.meanwhile, None
            assert (await self.service.execute(operation)).ok
        return answer


def test_what_was_true_of_a_table_when_it_was_asked_is_not_remembered_if_it_changed_since_t8() -> None:
    ranges = Racing()
    ranges.service = TableService(ranges, ACCOUNT, limits=NO_WAIT, sole=True)
    run(ranges.service.execute(CreateTable("tab")))
    ranges.meanwhile = DeleteTable("tab")
    run(ranges.service.execute(Get("tab", EntityKey("p", "r"))))
    assert run(ranges.service.execute(Insert("tab", entity()))).code == "TableBeingDeleted"
    run(ranges.service.maintain())
    assert run(ranges.service.execute(Insert("tab", entity()))).code == "TableNotFound"
    ranges.service.check()
