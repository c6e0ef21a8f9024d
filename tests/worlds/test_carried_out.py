"""The law *carried out* on a world by hand: of two ranges the key serves one, and the engine compares the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.worlds.law import carried_out
from tests.worlds.model import Asked, Compare, Kind, Parameter, World
from tests.worlds.planted import BY_HAND
from tests.worlds.running import forget_results
from tests.worlds.values import INT32, STRING


def world() -> World:
    """Sixty entities of five cities, whose age and price are asked for from those of one of them on."""
    rows = tuple({"id": f"e{n:03}", "city": f"c{n % 5}", "age": n * 7 % 31, "price": n * 11 % 43} for n in range(60))
    where = (
        Compare("city", "eq", Parameter("city")),
        Compare("age", "ge", Parameter("age")),
        Compare("price", "ge", Parameter("price")),
    )
    kind = Kind("", {"id": STRING, "city": STRING, "age": INT32, "price": INT32}, rows)
    return World(0, "Things", (kind,), (Asked("from", "", "query", where, 5.0),))


def test_requests_with_a_range_beside_the_key_bring_the_right_entities(tmp_path: Path) -> None:
    assert list(carried_out.broken(world(), tmp_path)) == []


@pytest.mark.long("worlds")
def test_an_engine_that_leaves_out_the_bound_is_found(tmp_path: Path) -> None:
    mistake = next(m for m in BY_HAND if m.name == "the_engine_drops_lower_bounds")
    forget_results()
    with mistake.planted():
        found = [str(b) for b in carried_out.broken(world(), tmp_path)]
    forget_results()
    assert len(found) == 1 and "entities brought" in found[0]
