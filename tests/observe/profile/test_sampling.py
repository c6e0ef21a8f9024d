"""What data are a sample of where nobody says how they were taken."""

from __future__ import annotations

from random import Random

import pytest

from pkadvisor.observe.profile.data_profile import deduced
from pkadvisor.table.edm import EdmType
from tests.design.support import frame_of

TYPES = {"order": EdmType.INT32, "line": EdmType.INT32, "item": EdmType.STRING, "seat": EdmType.STRING}
ORDERS = 2_000
NAMED = [("order",), ("order", "line"), ("item",)]


def table() -> list[tuple[int, int, str, str]]:
    """2,000 orders of 1 to 11 lines, each with its number."""
    random = Random(3)
    return [
        (order, line, f"i{random.randrange(900)}", f"s{line}")
        for order in range(ORDERS)
        for line in range(1, random.randrange(2, 13))
    ]


def taken(rows: list[tuple[int, int, str, str]], *, by_keys: bool) -> list[tuple[int, int, str, str]]:
    random = Random(4)
    if not by_keys:
        return random.sample(rows, len(rows) // 10)
    drawn = set(random.sample(range(ORDERS), ORDERS // 10))
    return [row for row in rows if row[0] in drawn]


@pytest.mark.parametrize(("by_keys", "word"), [(True, "random-keys"), (False, "random-rows")])
def test_rows_without_holes_are_those_of_whole_keys(by_keys: bool, word: str) -> None:
    rows = table()
    frame = frame_of(dict(zip(TYPES, zip(*taken(rows, by_keys=by_keys), strict=True), strict=True)), TYPES)
    found = deduced(frame, TYPES, len(rows), NAMED, {})
    assert (found.word, found.basis) == (word, "deduced" if by_keys else "unknown")
    assert found.by == (("order",) if by_keys else ())
    times = f"{len(rows) / frame.height:,.3g} times"
    assert times in found.sentence(frame.height, len(rows))
    assert ("nobody says" in found.sentence(frame.height, len(rows))) is not by_keys


@pytest.mark.parametrize(("by_keys", "word"), [(True, "random-keys"), (False, "random-rows")])
def test_a_kind_whose_key_it_is_tells_of_the_keys_at_hand(by_keys: bool, word: str) -> None:
    """Of long groups a sample of rows names nearly every key, one of keys names as few as were drawn."""
    rows = [(order, line, "", "") for order in range(100) for line in range(300)]
    random = Random(4)
    drawn = set(random.sample(range(100), 10))
    some = [row for row in rows if row[0] in drawn] if by_keys else random.sample(rows, 3_000)
    frame = frame_of(dict(zip(TYPES, zip(*some, strict=True), strict=True)), TYPES).drop("line")
    found = deduced(frame, TYPES, len(rows), NAMED, {"order": 100})
    assert (found.word, found.basis) == (word, "deduced")
