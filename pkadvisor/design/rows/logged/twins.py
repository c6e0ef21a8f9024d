"""Which classes of a log are one, and which declared class a logged one is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from itertools import combinations
from math import prod
from typing import Final

from pkadvisor.design.rows.logged.requests import KeyReader, properties_of, requests_of
from pkadvisor.design.rows.logged.shapes import PartOfClass
from pkadvisor.lazy import pl
from pkadvisor.observe.minutes import MinuteSeries, added
from pkadvisor.observe.profile.data_profile import DataProfile
from pkadvisor.observe.workload import Operation, QueryClass, Rate, Workload
from pkadvisor.table.edm import EdmType
from pkadvisor.table.filters import with_comparisons
from pkadvisor.table.odata import Comparison, Filter, Operator, comparisons, conjuncts, properties

SAME_RATE = 0.01
"""Rates that differ by less are one: a design file holds four digits."""


def same_class(one: QueryClass, other: QueryClass) -> bool:
    """Whether two shapes of a log ask the same of the properties."""
    return one.filter is not None and all(
        getattr(one, name) == getattr(other, name)
        for name in ("operation", "filter", "kind", "top", "order_by", "entities_per_request", "sets")
    )


def rate_of_both(one: Rate, other: Rate, first: MinuteSeries | None, second: MinuteSeries | None) -> Rate:
    """The rate of two parts of a class. Their busiest seconds are taken to be one."""
    at_most = (one.peak_minute_per_s or 0.0) + (other.peak_minute_per_s or 0.0)
    if first is not None and second is not None:
        highest = max(added(first, second, None).requests, default=0)
        at_most *= highest / max(1, max(first.requests, default=0) + max(second.requests, default=0))
    known = one.peak_minute_per_s is not None and other.peak_minute_per_s is not None
    mean = one.mean_per_s + other.mean_per_s
    return replace(
        one,
        mean_per_s=mean,
        peak_per_s=max(mean, one.peak_per_s + other.peak_per_s),
        peak_minute_per_s=at_most if known else None,
    )


def weighed(one: pl.DataFrame, other: pl.DataFrame, share: float) -> pl.DataFrame:
    """The instances of two parts of a class, of which the first has a share of the requests."""
    parts = [f.with_columns(pl.col("_weight") * weight) for f, weight in ((one, share), (other, 1 - share))]
    return pl.concat(parts, how="diagonal_relaxed")


def shape_of(filter_: Filter | None) -> frozenset[tuple[str, str]]:
    """How a filter meets each property: fixed (``eq``), in a range, or otherwise."""
    ways = {"eq": "eq", "gt": "range", "ge": "range", "lt": "range", "le": "range"}
    return frozenset(
        (name, ways.get(part.operator, "other") if isinstance(part, Comparison) else "other")
        for part in (conjuncts(filter_) if filter_ is not None else ())
        for name in properties(part)
    )


def twin_of(
    query: QueryClass,
    declared: Workload | None,
    taken: set[str],
    logged: set[tuple[Operation, frozenset[tuple[str, str]]]],
    in_keys: Set[str],
) -> QueryClass | None:
    """The declared class of the same operation that meets the same properties alike; else one that no class of the log
    meets alike and that differs in properties ``in_keys`` alone, as a key may show a range as an equality or the other
    way round, or that is a write which knows more than the logged keys show."""
    shape = shape_of(query.filter)
    beside: QueryClass | None = None
    for other in declared.classes if declared is not None else ():
        theirs = shape_of(other.filter)
        top = query.top is None or query.top == other.top
        if other.operation is not query.operation or other.name in taken or not top:
            continue
        if theirs == shape:
            return other
        over_the_same = {name for name, _ in theirs} == {name for name, _ in shape}
        hidden = {name for name, _ in theirs ^ shape} <= in_keys
        alike = (over_the_same and hidden) or known_besides(other, query)
        if alike and (other.operation, theirs) not in logged:
            beside = beside or other
    return beside


def known_besides(declared: QueryClass, logged: QueryClass) -> tuple[str, ...]:
    """The properties that a declared update or delete names by equality besides those of a logged one: the application
    knows them, though the keys in use do not hold them."""
    if declared.operation not in (Operation.UPDATE, Operation.DELETE) or declared.filter is None:
        return ()
    mine, theirs = shape_of(declared.filter), shape_of(logged.filter)
    more = mine - theirs
    return tuple(sorted(name for name, _ in more)) if theirs < mine and all(way == "eq" for _, way in more) else ()


def unfolded(logged: Filter | None, declared: Filter | None) -> Filter | None:
    """A logged filter with the texts as they are that the declared one knows, though the keys in use are in lower
    case."""
    if logged is None or declared is None:
        return logged
    known = {c.property for c in comparisons(declared) if not c.folded and c.operator is Operator.EQ}
    return with_comparisons(logged, lambda c: replace(c, folded=c.folded and c.property not in known))


def with_known(instances: pl.DataFrame | None, names: Sequence[str], data: pl.DataFrame | None) -> pl.DataFrame | None:
    """Logged parameters with further properties of the entities that they name; None where the data has none of
    these."""
    if instances is None or data is None or not {*names} <= {*data.columns}:
        return None
    keys = [name for name in instances.columns if name in data.columns]
    typed = [pl.col(name).cast(instances.schema[name], strict=False) for name in keys]
    entities = data.select(*typed, *names).unique(keys, keep="first", maintain_order=True).drop_nulls()
    joined = instances.join(entities, on=keys, how="inner", maintain_order="left") if keys else instances.clear()
    return joined if joined.height else None


# -- Which properties an update of a trace changes, of those that it writes: the others tell which entity it is.


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
