"""Proposals for the kinds of a table are told apart by labels."""

from __future__ import annotations

import polars as pl
import pytest

from pkadvisor.design.choice.kind_labels import kind_labels
from pkadvisor.design.choice.several_kinds.judge_kinds import apart
from pkadvisor.design.keys.scheme import IndexRow, KeyScheme, parse_key
from pkadvisor.design.load.shared_keys import Entities, shared_among_kinds
from pkadvisor.table.edm import EdmType

TYPES = {"tenant": EdmType.STRING, "id": EdmType.STRING, "mail": EdmType.STRING, "number": EdmType.INT32}


def entities(kind: str, rows: int = 0) -> Entities:
    if not rows:
        return Entities(kind, TYPES)
    columns = {
        "tenant": [f"t{n % 3}" for n in range(rows)],
        "id": [f"u{n:03d}" for n in range(rows)],
        "mail": [f"m{n}@x.example" for n in range(rows)],
        "number": list(range(rows)),
    }
    return Entities(kind, TYPES, pl.DataFrame(columns))


def scheme(*keys: str) -> KeyScheme:
    main, *rows = (parse_key(*key.split(" | ")) for key in keys)
    return KeyScheme(main, tuple(IndexRow(row) for row in rows))


def laid_out(schemes: dict[str, KeyScheme], *, kept: tuple[str, ...] = (), rows: int = 0) -> dict[str, list[str]]:
    known = {kind: entities(kind, rows) for kind in schemes}
    found = apart(schemes, set(kept), known)
    assert [*found] == [*schemes]
    return {kind: [str(key) for key, _ in each.each_key()] for kind, each in found.items()}


@pytest.mark.parametrize("rows", [0, 30])
def test_equal_templates_get_the_label_of_the_later_kind(rows: int) -> None:
    found = laid_out({"Items": scheme("{tenant} | {id}"), "Visits": scheme("{tenant} | {id}")}, rows=rows)
    assert found["Visits"] == ["{tenant} | VISITS:{id}"]
    assert found["Items"] in (["{tenant} | {id}"], ["{tenant} | ITEMS:{id}"])


def test_index_rows_of_all_kinds_are_told_apart() -> None:
    both = scheme("{tenant} | USER:{id}", "{tenant} | MAIL:{mail}", "{mail} | {id}")
    known = {kind: entities(kind, 30) for kind in ("Staff", "Guests")}
    found = apart({"Staff": both, "Guests": both}, set(), known)
    assert shared_among_kinds(known["Staff"], found["Staff"], [(known["Guests"], found["Guests"])]) == ()
    shown = [str(key) for key, _ in found["Guests"].each_key()]
    assert shown == ["{tenant} | GUESTS:USER:{id}", "{tenant} | GUESTS:MAIL:{mail}", "{mail} | GUESTS:{id}"]


def test_kinds_in_one_partition_get_labels_though_their_keys_never_meet() -> None:
    """A range over the RowKeys of the one would read the other."""
    found = laid_out({"Items": scheme("{tenant} | {id}"), "Visits": scheme("{tenant} | {pad(number,5)}")}, rows=30)
    assert found == {"Items": ["{tenant} | ITEMS:{id}"], "Visits": ["{tenant} | VISITS:{pad(number,5)}"]}


def test_keys_that_are_kept_stay_and_the_others_give_way() -> None:
    given = {"Items": scheme("{tenant} | {id}"), "Visits": scheme("{tenant} | {id}")}
    assert laid_out(given, kept=("Visits",), rows=30)["Visits"] == ["{tenant} | {id}"]
    assert laid_out(given, kept=("Visits",), rows=30)["Items"] == ["{tenant} | ITEMS:{id}"]
    assert laid_out(given, kept=("Visits", "Items")) == {kind: ["{tenant} | {id}"] for kind in given}


def test_keys_that_cannot_meet_stay_as_they_are() -> None:
    given = {"Items": scheme("{tenant} | ITEM:{id}"), "Visits": scheme("{pad(number,6)} | ")}
    assert laid_out(given, rows=30) == {"Items": ["{tenant} | ITEM:{id}"], "Visits": ["{pad(number,6)} | ''"]}


def test_names_alike_get_labels_of_which_none_begins_another() -> None:
    kinds = [f"OrderHistoryOfAllCustomers{end}" for end in ("Lines", "Items")] + ["Order", "__"]
    labels = [*kind_labels(kinds).values()]
    assert labels == ["ORDERHISTORYOFALLCUSTOME:", "ORDERHISTORYOFALLCUSTOME2:", "ORDER:", "KIND:"]
    assert not any(a != b and a.startswith(b) for a in labels for b in labels)
