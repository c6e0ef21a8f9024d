"""Which properties an update of a trace changes, of those that it writes: the others tell which entity it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import prod
from typing import Final

from pkadvisor.design.rows.logged.requests import KeyReader, properties_of, requests_of
from pkadvisor.design.rows.logged.shapes import PartOfClass
from pkadvisor.lazy import pl
from pkadvisor.observe.profile.data_profile import DataProfile
from pkadvisor.observe.workload import Operation, Workload
from pkadvisor.table.edm import EdmType
from pkadvisor.table.odata import properties

IDENTIFYING_MOST: Final = 3
"""Properties that may identify an entity together."""
WRITTEN_MOST: Final = 12
"""Of more written properties nothing is deduced."""
CHANGED: Final = 0.01
"""Share of the updates that give a property another value, from which on it is one that changes."""
NEARLY_ALL: Final = 0.98


def changed_by(
    part: PartOfClass,
    reader: KeyReader | None,
    types: Mapping[str, EdmType],
    declared: Workload | None,
    data: DataProfile | None,
) -> tuple[str, ...]:
    """The properties that updates with ``params`` change: those besides the key or filter that the update names, else
    besides the key of a declared update, else those whose values differ from the data's of the same entity."""
    if str(part.traffic.op) not in ("update", "merge") or not part.values:
        return ()
    request = requests_of(part.traffic, part.traffic.sample.head(1).iter_rows(named=True))[0]
    if not request.params:
        return ()
    named = set(properties_of(part.traffic, replace(request, params={}), reader, types) or ())
    if not named:
        named = next((key for key in _declared_keys(declared) if key <= set(part.names)), set())
    if named:
        return tuple(name for name in part.names if name not in named)
    return _unlike_the_data(part, data) if data is not None else ()


def _declared_keys(declared: Workload | None) -> list[set[str]]:
    updates = [c for c in (declared.classes if declared is not None else ()) if c.operation is Operation.UPDATE]
    return [set(properties(c.filter)) for c in updates if c.filter is not None]


def _unlike_the_data(part: PartOfClass, data: DataProfile) -> tuple[str, ...]:
    """The written properties that have other values than the entity in the data, or than an earlier update of it."""
    names = [n for n in part.names if n in data.sample.columns and n not in data.hashed]
    if not 1 < len(names) <= WRITTEN_MOST:
        return ()
    rows = data.sample.select(names)
    written = pl.DataFrame(
        [pl.Series(n, [values[n] for values in part.values], rows.schema[n], strict=False) for n in names]
    )
    key = _identifying(rows, written, data.types)
    others = [n for n in names if n not in key]
    if not key or not others:
        return ()
    met = written.join(rows, on=key, suffix="#data")
    apart = met.select((pl.col(n) != pl.col(f"{n}#data")).fill_null(value=True).sum() for n in others).row(0)
    again = written.group_by(key).agg(pl.col(others).n_unique() - 1).select(others).sum().row(0)
    return tuple(
        n
        for n, differ, more in zip(others, apart, again, strict=True)
        if max(differ, more) > CHANGED * max(1, met.height)
    )


def _identifying(rows: pl.DataFrame, written: pl.DataFrame, types: Mapping[str, EdmType]) -> list[str]:
    """The fewest properties that are unique in the data and have values there in most updates; of times only where
    nothing else is unique, as an update may set the time at which it came."""
    counts = {n: rows.get_column(n).n_unique() for n in rows.columns}
    plain = [n for n in rows.columns if types[n] not in (EdmType.DATETIME, EdmType.DOUBLE, EdmType.BOOLEAN)]
    best: tuple[float, list[str]] = (0.0, [])
    for names in (plain, rows.columns):
        for size in range(1, min(IDENTIFYING_MOST, len(names)) + 1):
            for key in map(list, combinations(names, size)):
                if prod(counts[n] for n in key) < rows.height or not _unique(rows, key):
                    continue
                there = written.join(rows.select(key), on=key, how="semi").height / written.height
                best = max(best, (there, key), key=lambda one: one[0])
            if best[0] >= NEARLY_ALL:
                return best[1]
        if best[1]:
            break
    return best[1]


def _unique(rows: pl.DataFrame, key: Sequence[str]) -> bool:
    some = rows.select(key).drop_nulls()
    return some.height == rows.height and some.n_unique() == some.height
