"""The part of a key that a query's order asks for: one whose text runs as the values do, whatever their type."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pkadvisor.design.choice.bench_of_section import bench_for
from pkadvisor.design.choice.key_building import part_for, separator_for
from pkadvisor.design.choice.sections import observed
from pkadvisor.design.keys.transforms import Context
from pkadvisor.design.rows.population import Population
from pkadvisor.inputs import AnalyzeRequest, read_sections
from pkadvisor.limits import default_limits
from pkadvisor.progress import SilentProgress
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, python_value, query

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


DESIGN = """schema: 1
tables:
  Readings:
    properties: {site: string, weight: double, price: double, cost: double}
    queries:
      - {name: equal, filter: "site eq '{site}' and weight eq {weight} and price eq {price}", rate: 1/s}
      - {name: below, filter: "site eq '{site}' and weight lt {weight}", rate: 1/s}
      - {name: first, filter: "site eq '{site}'", order_by: [cost], top: 3, rate: 1/s}
"""


def test_one_query_that_ranges_over_a_double_orders_it_in_every_key(tmp_path: Path) -> None:
    """An index row for the equality would write 10.5 before 9.5 and serve the range not at all."""
    (tmp_path / "readings.csv").write_text("site,weight,price,cost\na,9.5,1.5,2.5\nb,10.5,1.5,3.5\n", encoding="utf-8")
    (tmp_path / "d.yaml").write_text(DESIGN, encoding="utf-8")
    request = AnalyzeRequest(data=(str(tmp_path / "readings.csv"),), design=str(tmp_path / "d.yaml"))
    ((section, _),) = read_sections(request, SilentProgress())
    bench, _ = bench_for(section, observed(section)[0], default_limits())
    parts = {name: str(part_for(name, bench.population)) for name in ("weight", "price", "cost")}
    assert parts == {"weight": "{sortable(weight)}", "price": "{price}", "cost": "{sortable(cost)}"}


def test_the_separator_keeps_the_order_of_texts_that_a_query_bounds() -> None:
    """``dev-1`` comes before ``dev-10``: in a key it does behind ``!``, and not behind ``_``."""
    types = {"device": EdmType.STRING, "id": EdmType.INT32}
    devices = population_of({"device": [f"dev-{n % 12}" for n in range(60)], "id": list(range(60))}, types)
    alike = query("of-one", "device eq '{device}'", rate=9.0)
    assert separator_for(bench_of(devices, alike)) == "_"
    assert separator_for(bench_of(devices, alike, query("from", "device ge '{device}'", rate=1.0))) == "!"
    held = population_of({"device": [f"d_{n % 12}!" for n in range(60)], "id": list(range(60))}, types)
    assert separator_for(bench_of(held, query("from", "device ge '{device}'"))) == ";"
