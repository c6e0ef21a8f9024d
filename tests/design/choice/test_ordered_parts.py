"""The part of a key that a query's order asks for: one whose text runs as the values do, whatever their type."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pkadvisor.design.choice.key_building import part_for
from pkadvisor.design.keys.transforms import Context
from pkadvisor.design.rows.population import Population
from pkadvisor.table.edm import EdmType
from tests.design.support import population_of, python_value

START = datetime(2026, 11, 1, tzinfo=UTC)
COLUMNS: dict[str, tuple[EdmType, list[object]]] = {
    "reading": (EdmType.DOUBLE, [-7.5, 1e-9, 0.5, 12.25, 1e300]),
    "score": (EdmType.INT64, [-(2**40), -3, 0, 7, 2**40]),
    "count": (EdmType.INT32, [0, 3, 20, 100, 999]),
    "at": (EdmType.DATETIME, [START + timedelta(minutes=n) for n in range(5)]),
    "name": (EdmType.STRING, ["alpha", "bravo", "charlie", "delta", "echo"]),
}


@pytest.fixture(scope="module")
def rows() -> Population:
    return population_of(
        {name: values for name, (_, values) in COLUMNS.items()}, {name: edm for name, (edm, _) in COLUMNS.items()}
    )


@pytest.mark.parametrize(
    ("name", "descending"),
    [(name, way) for name in COLUMNS for way in (False, True) if (name, way) != ("name", True)],  # texts have one order
)
def test_keys_run_as_the_values_that_a_query_orders_by(name: str, descending: bool, rows: Population) -> None:
    edm, values = COLUMNS[name]
    part = part_for(name, rows, descending=descending, ordered=True)
    context = Context({name: edm})
    texts = [part.encode({name: python_value(value)}, context) for value in values]
    assert texts == sorted(texts, reverse=descending)
    assert part.order(context) == (-1 if descending else 1)
