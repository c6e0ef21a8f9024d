"""How many entities a table has: declared, or counted in complete data, and never those of a sample."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pkadvisor.review.views.key_loads import entities_of


@pytest.mark.parametrize(
    ("total", "of_kind", "sampling", "rows", "entities"),
    [
        (None, None, "complete", 500, 500.0),
        (None, None, "random-rows", 500, None),
        (None, None, "slice", 500, None),
        (9_000, None, "random-rows", 500, 9_000.0),
        (9_000, 70, "random-rows", 500, 70.0),
        (None, None, "complete", None, None),
    ],
)
def test_a_sample_does_not_tell_how_many_entities_a_table_has(
    total: int | None, of_kind: int | None, sampling: str, rows: int | None, entities: float | None
) -> None:
    kinds = () if of_kind is None else (SimpleNamespace(name="Users", entities_total=of_kind),)
    declared = SimpleNamespace(kinds=kinds, entities_total=total, sampling=sampling)
    data = None if rows is None else SimpleNamespace(rows=rows)
    section = SimpleNamespace(declared=declared, kind="Users", declared_kind=next(iter(kinds), None), data=data)
    view: Any = SimpleNamespace(section=section)
    assert entities_of(view) == entities
