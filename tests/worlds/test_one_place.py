"""The law *counted* on a world where several index rows of an entity lie in one other partition."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.worlds.law import counted
from tests.worlds.model import Asked, Compare, IndexRow, Kind, Parameter, Scheme, Transaction, World
from tests.worlds.planted import BY_HAND
from tests.worlds.running import forget_results
from tests.worlds.values import INT32, STRING

TYPES = {"stock": STRING, "order": STRING, "price": INT32, "shares": INT32, "trader": STRING}
ROWS = tuple(
    {
        "stock": f"s{n % 5}",
        "order": f"o{n:03}",
        "price": n * 37 % 90,
        "shares": n % 7,
        "trader": f"t{n % 9}" if n % 4 else None,
    }
    for n in range(120)
)
BOOK = "BOOK:{stock}"
RISING, FALLING = (
    IndexRow(BOOK, "A:{pad(price,2)}_{order}"),
    IndexRow(BOOK, "B:{reverse_pad(price,2)}_{order}", "pointer"),
)
OF_TRADER = (IndexRow("TRADER:{trader}", "A:{order}"), IndexRow("TRADER:{trader}", "B:{pad(price,2)}_{order}"))


def equal(*names: str) -> tuple[Compare, ...]:
    return tuple(Compare(name, "eq", Parameter(name)) for name in names)


ASKED = (
    Asked("best", "", "query", equal("stock"), 20.0, order_by=(("price", False),), top=5),
    Asked("add", "", "insert", None, 5.0),
    Asked("put", "", "upsert", None, 1.0),
    Asked("trade", "", "update", equal("order"), 2.0, sets=("shares",)),
    Asked("quote", "", "update", equal("order"), 2.0, sets=("price",)),
    Asked("relist", "", "update", equal("order"), 0.5, sets=("stock",)),
    Asked("drop", "", "delete", equal("order"), 4.0),
)


def world(*transactions: Transaction) -> World:
    schemes = (
        Scheme("{order}", "", (RISING, FALLING)),
        Scheme("{order}", "", (RISING, *OF_TRADER, FALLING)),
        Scheme("{trader}", "{order}", (RISING, FALLING, OF_TRADER[0])),
    )
    kind = Kind("", dict(TYPES), ROWS, schemes=schemes)
    return World(0, "Orders", (kind,), ASKED, current=schemes[0], transactions=transactions)


TOGETHER = Transaction("of-trader", ("add",), ("trader",))


@pytest.mark.parametrize("transactions", [(), (TOGETHER,)], ids=["each", "sets"])
def test_rows_of_one_partition_are_one_request(transactions: tuple[Transaction, ...], tmp_path: Path) -> None:
    assert [str(b) for b in counted.broken(world(*transactions), tmp_path)] == []


@pytest.mark.long("worlds")
def test_a_request_for_each_index_row_is_found(tmp_path: Path) -> None:
    mistake = next(m for m in BY_HAND if m.name == "each_index_row_by_itself")
    forget_results()
    with mistake.planted():
        found = {b.what for b in counted.broken(world(), tmp_path)}
    forget_results()
    assert found >= {"add: requests", "quote: requests", "drop: requests"}
