"""Tables: durable, deleted in steps that may break off anywhere, never to be seen again."""

from __future__ import annotations

import pytest

from pkadvisor.engine.table_messages import RowWrite, WriteKind, WriteRequest
from pkadvisor.engine.table_requests import carry_out
from pkadvisor.engine.table_rules import TableLimits, checked_body
from pkadvisor.engine.table_service import TableService
from pkadvisor.table.store import CreateTable, DeleteTable, Get, Insert, Key, ListTables, Query, Update
from tests.engine.table_service.support import ACCOUNT, NO_WAIT, Ranges, do, entity, keys, made, pages, run


def test_tables_are_there_for_another_front_end_and_after_a_restart_t8() -> None:
    """T8: from any front end; what tables there are stands in the rows."""
    store, ranges = made()
    do(store, CreateTable("Orders"))
    do(store, Insert("Orders", entity()))
    other, _ = made(ranges)
    assert do(other, ListTables()).tables == ("Orders",)
    assert do(other, Get("orders", Key("p", "r"))).ok
    assert do(other, CreateTable("ORDERS")).code == "TableAlreadyExists"


def test_a_front_end_that_is_not_alone_sees_at_once_what_another_one_deletes_t8() -> None:
    one, ranges = made(limits=NO_WAIT, sole=False)
    other, _ = made(ranges, limits=NO_WAIT, sole=False)
    do(one, CreateTable("tab"))
    assert do(one, Insert("tab", entity())).ok
    do(other, DeleteTable("tab"))
    assert do(one, Insert("tab", entity())).code == "TableNotFound"
    do(other, CreateTable("tab"))
    assert do(one, Get("tab", Key("p", "r"))).code == "ResourceNotFound"


def test_the_name_of_a_deleted_table_is_free_after_forty_seconds() -> None:
    """Delete Table: 409 TableBeingDeleted for at least 40 s; who writes to it hears that there is no such table."""
    store, ranges = made()
    do(store, CreateTable("tab"))
    do(store, Insert("tab", entity()))
    assert do(store, DeleteTable("tab")).ok
    assert do(store, DeleteTable("tab")).code == "TableNotFound"
    assert do(store, ListTables()).tables == ()
    assert do(store, Insert("tab", entity())).code == "TableNotFound"
    ranges.ticks += 40 * 10_000_000 - 1
    assert do(store, CreateTable("tab")).code == "TableBeingDeleted"
    ranges.ticks += 1
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
    assert do(after, Get("tab", Key("p", "000"))).code in ("TableNotFound", "TableBeingDeleted")
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
    for operation in (Get("tab", Key("p", "r")), Insert("tab", entity()), Query("tab"), DeleteTable("tab")):
        assert run(service.execute(operation)).code == "TableBeingDeleted"
    assert run(service.execute(ListTables())).tables == ()


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
    assert do(store, Get("tab", Key("p", "a"))).code == "ResourceNotFound"
    assert do(store, Update("tab", entity("p", "a"))).code == "ResourceNotFound"
    assert keys(pages(store, Query("tab"))) == []
    assert do(store, Insert("tab", entity("p", "a", new=1))).ok
    assert run(carry_out(ranges.ranges[0], late, ranges.ticks)).code == "TableNotFound"
    assert do(store, Get("tab", Key("p", "a"))).entities[0].properties["new"].value == 1


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
    from pkadvisor.engine.errors_partition import NotServing

    ranges = Ranges()
    ranges.split(b"m")
    write = WriteRequest(1, (RowWrite(WriteKind.INSERT, b"a\0t\0p\0r", checked_body(entity())),))
    with pytest.raises(NotServing):
        run(carry_out(ranges.ranges[1], write, 1))
