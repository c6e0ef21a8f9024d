"""Where logged requests fall that name one property, under keys made of another that a rule makes of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.rows.demand import demands
from pkadvisor.limits import default_limits
from pkadvisor.observe.workload import Draw, DrawBy, Workload
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, frame_of, population_of, query

ROWS = 60
OF = range(ROWS)
TEXTS = [f"k{n % 6}-of-{n % 6 % 4}" for n in OF]
NUMBERS = [n % 6 for n in OF]
DAYS = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=n % 6) for n in OF]
RULES = {
    "the same text": (EdmType.STRING, TEXTS, TEXTS),
    "padded": (EdmType.INT32, NUMBERS, [f"{n:05}" for n in NUMBERS]),
    "in lower case": (EdmType.STRING, [t.upper() for t in TEXTS], TEXTS),
    "a prefix": (EdmType.STRING, TEXTS, [t[:2] for t in TEXTS]),
    "in reverse": (EdmType.STRING, TEXTS, [t[::-1] for t in TEXTS]),
    "a period": (EdmType.DATETIME, DAYS, [f"{d:%Y%m%d}" for d in DAYS]),
}
BOTH_WAYS = ("the same text", "padded", "in reverse")


@pytest.mark.parametrize(
    ("rule", "named", "key"),
    [*((rule, "source", "target") for rule in RULES), *((rule, "target", "source") for rule in BOTH_WAYS)],
)
def test_a_log_loads_the_partitions_that_its_declaration_loads(rule: str, named: str, key: str) -> None:
    """Everybody reads by the one property; the keys are made of the other one."""
    edm, sources, targets = RULES[rule]
    types = {"source": edm, "target": EdmType.STRING, "id": EdmType.INT32}
    columns = {"source": sources, "target": targets, "id": list(OF)}
    hole = {EdmType.INT32: "{%s}", EdmType.DATETIME: "datetime'{%s}'"}.get(types[named], "'{%s}'") % named
    asked = query("read", f"{named} eq {hole}", rate=6.0)
    scheme = KeyScheme(
        parse_key("{pad(source,5)}" if (rule, key) == ("padded", "source") else f"{{{key}}}", "{pad(id,5)}")
    )
    declared = estimate(scheme, bench_of(population_of(columns, types), asked))

    logged = frame_of({named: columns[named]}, types)
    population = population_of(columns, types, ghosts=logged)
    weights = pl.lit(1 / ROWS).alias("_weight")
    from_log = query("read", f"{named} eq {hole}", rate=6.0, draw=Draw(DrawBy.LOG, stated=True))
    workload = Workload("t", (from_log,), instances={"read": logged.with_columns(weights)})
    found = demands(workload, population, {"read": (ROWS, 2 * ROWS)})
    of_log = estimate(scheme, Bench(population, workload, found, default_limits(), 100.0))

    assert declared.classes[0].entities_read == pytest.approx(10)
    assert of_log.classes[0].entities_read == pytest.approx(10)
    assert declared.hot is not None
    assert of_log.hot is not None
    assert of_log.hot.entities_per_s == pytest.approx(declared.hot.entities_per_s)
    assert of_log.hot.partition_key == declared.hot.partition_key


@pytest.mark.parametrize(
    "text", ["(source eq '{source}' or source eq 'k1-of-1')", "(source eq 'k2-of-2' or source eq 'x')"]
)
@pytest.mark.parametrize("named", ["source", "target"])
def test_one_of_several_values_is_served_by_what_a_rule_makes_of_them(text: str, named: str) -> None:
    """Keys of the other property, which is the same text in reverse, cost and are loaded as those of the named one."""
    types = {"source": EdmType.STRING, "target": EdmType.STRING, "id": EdmType.INT32}
    columns = {"source": TEXTS, "target": [t[::-1] for t in TEXTS], "id": list(OF)}
    if named == "target":
        columns["source"], columns["target"] = columns["target"], columns["source"]
    text = text.replace("source", named)
    found = []
    for key in ("source", "target"):
        bench = bench_of(population_of(columns, types), query("read", text, rate=6.0))
        found.append(estimate(KeyScheme(parse_key(f"{{{key}}}", "{pad(id,5)}")), bench))
    one, other = found
    assert [(c.entities_read, c.requests) for c in one.classes] == [
        (c.entities_read, c.requests) for c in other.classes
    ]
    assert one.hot is not None
    assert other.hot is not None
    assert one.hot.entities_per_s == pytest.approx(other.hot.entities_per_s)
    assert one.classes[0].entities_read < ROWS / 2
