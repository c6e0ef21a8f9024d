"""The table of a run's own is removed however the run ends, or somebody is told which it is."""

from __future__ import annotations

import pytest

from pkadvisor.errors import InputError
from pkadvisor.stress.store.own_table import OwnTable
from pkadvisor.table.store import CreateTable, DeleteTable, ListTables, Operation, Outcome
from tests.stress.store.test_real_driver import TABLE, Locked

NAME = "pkadvisorabc"


def signalled(times: int) -> Locked:
    """A store at which so many signals come while it is asked to remove a table."""
    left = [KeyboardInterrupt()] * times

    def spoil(number: int, operation: Operation) -> Outcome | None:
        if isinstance(operation, DeleteTable) and left:
            raise left.pop()
        return None

    return Locked(spoil)


def tables(store: Locked) -> tuple[str, ...]:
    return tuple(store.store.execute(ListTables(), 1e6).tables)


@pytest.mark.parametrize("ends", [None, KeyboardInterrupt()])
def test_a_signal_while_the_table_is_removed_does_not_leave_it(ends: KeyboardInterrupt | None) -> None:
    store, told = signalled(1), list[str]()
    table = OwnTable(store, NAME)
    try:
        with table.removed_after("a.host", told.append):
            table.create()
            if ends is not None:
                raise ends
    except KeyboardInterrupt as error:
        assert error is ends, "what ended the run still ends it"
    assert not table.there and tables(store) == (TABLE,)
    assert told == [f"the table {NAME} is being removed: one more signal leaves it there"]


@pytest.mark.parametrize("ends", [None, KeyboardInterrupt()])
def test_who_insists_is_told_which_table_is_left_and_how_to_remove_it(ends: KeyboardInterrupt | None) -> None:
    store = signalled(2)
    table = OwnTable(store, NAME)
    with pytest.raises(InputError) as raised, table.removed_after("a.host", lambda text: None):
        table.create()
        if ends is not None:
            raise ends
    assert NAME in tables(store)
    assert raised.value.lines() == [
        f"a.host: the table {NAME} was not removed",
        f"remove it yourself, it costs what it stores: az storage table delete --name {NAME}",
    ]


def refusing() -> Locked:
    return Locked(lambda number, operation: Outcome(403, "Forbidden") if isinstance(operation, DeleteTable) else None)


def test_a_run_that_fails_and_leaves_its_table_says_both() -> None:
    table, says = OwnTable(refusing(), NAME), f"rows cannot be loaded; the table {NAME} was not removed"
    with pytest.raises(InputError, match=says), table.removed_after("a.host", lambda text: None):
        table.create()
        raise InputError("rows cannot be loaded", where="--target")


def test_a_bug_stays_a_bug_and_the_table_is_told() -> None:
    table, told = OwnTable(refusing(), NAME), list[str]()
    with pytest.raises(ZeroDivisionError), table.removed_after("a.host", told.append):
        table.create()
        raise ZeroDivisionError
    assert len(told) == 1 and f"the table {NAME} was not removed" in told[0]


def test_a_run_that_ends_well_leaves_it_to_the_document() -> None:
    table, told = OwnTable(refusing(), NAME), list[str]()
    with table.removed_after("a.host", told.append):
        table.create()
    assert table.there and not told


def test_nothing_is_told_of_a_table_that_was_never_made() -> None:
    store = Locked(lambda number, operation: Outcome(403) if isinstance(operation, CreateTable) else None)
    table = OwnTable(store, NAME)
    with pytest.raises(KeyboardInterrupt), table.removed_after("a.host", lambda text: None):
        raise KeyboardInterrupt
    assert not store.sent
