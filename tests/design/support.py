"""Values, templates and small tables that the tests of design share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import polars as pl
from hypothesis import strategies as st

from pkadvisor.design.keys.transforms import FORBIDDEN, Value
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.rows.demand import demands
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.values import polars_type
from pkadvisor.limits import default_limits
from pkadvisor.observe.workload import Draw, Operation, OrderBy, QueryClass, Rate, Transaction, Workload
from pkadvisor.table.edm import INT64_MAX, INT64_MIN, TICKS_UNIX_EPOCH, EdmType
from pkadvisor.table.odata import parse_filter

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HOSTILE = "".join(sorted(FORBIDDEN)) + "~_;|!-%'\"{}éß \ue000\uffff😀𝄞0Aaz"

hostile_texts = st.one_of(
    st.text(alphabet=st.sampled_from(HOSTILE), max_size=8),
    st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=8),
    st.sampled_from(["", "~", "~-", "~002F", "_", "__", "~005F", "0", "007", "~~--", "/", "2F"]),
)
int64s = st.one_of(
    st.integers(INT64_MIN, INT64_MAX), st.integers(-20, 120), st.sampled_from([INT64_MIN, INT64_MAX, -1, 0, 1])
)
moments = st.one_of(
    st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31, 23, 59, 59, 999999)),
    st.sampled_from([datetime(1, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(1970, 1, 1)]),
).map(lambda moment: moment.replace(tzinfo=UTC))
guids = st.uuids().map(str)
doubles = st.floats(allow_nan=False)

VALUES: dict[EdmType, st.SearchStrategy[object]] = {
    EdmType.STRING: hostile_texts,
    EdmType.INT32: st.integers(-(2**31), 2**31 - 1),
    EdmType.INT64: int64s,
    EdmType.DOUBLE: doubles,
    EdmType.BOOLEAN: st.booleans(),
    EdmType.DATETIME: moments,
    EdmType.GUID: guids,
    EdmType.BINARY: st.binary(max_size=6),
}


def ticks(moment: datetime) -> int:
    """100 ns since year 1, by integer arithmetic alone."""
    delta = moment - EPOCH
    return (delta // timedelta(microseconds=1)) * 10 + TICKS_UNIX_EPOCH


def python_value(value: object) -> Value:
    """What ``encode`` takes for what a column holds."""
    if isinstance(value, datetime):
        return ticks(value)
    assert value is None or isinstance(value, str | int | float | bool | bytes)
    return value


def frame_of(columns: Mapping[str, Sequence[object]], types: Mapping[str, EdmType]) -> pl.DataFrame:
    """A frame in the canonical dtypes."""
    return pl.DataFrame({name: pl.Series(name, list(v), dtype=polars_type(types[name])) for name, v in columns.items()})


def population_of(
    columns: Mapping[str, Sequence[object]], types: Mapping[str, EdmType], **options: object
) -> Population:
    """A population over literal columns."""
    return Population(frame_of(columns, types), dict(types), **options)  # type: ignore[arg-type]


def query(
    name: str,
    text: str | None,
    *,
    rate: float = 10.0,
    peak: float | None = None,
    operation: Operation = Operation.QUERY,
    order: Sequence[str] = (),
    top: int | None = None,
    draw: Draw | None = None,
    sets: Sequence[str] = (),
) -> QueryClass:
    """A class with a filter over properties; ``order`` names properties, ``-x`` for descending."""
    return QueryClass(
        name,
        operation,
        None if text is None else parse_filter(text, parameters=True),
        Rate(rate, rate if peak is None else peak),
        order_by=tuple(OrderBy(o.removeprefix("-"), o.startswith("-")) for o in order),
        top=top,
        draw=draw or Draw(stated=True),
        sets=tuple(sets),
    )


def bench_of(
    population: Population,
    *classes: QueryClass,
    transactions: Sequence[Transaction] = (),
    isolation: str | None = None,
) -> Bench:
    """A bench with the published limits; an entity's properties take 100 bytes."""
    workload = Workload("Table", tuple(classes), tuple(transactions), isolation=isolation)
    return Bench(population, workload, demands(workload, population, {}), default_limits(), 100.0)
