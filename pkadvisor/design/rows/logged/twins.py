"""Which classes of a log are one, and which declared class a logged one is."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from math import isclose

from pkadvisor.lazy import pl
from pkadvisor.observe.minutes import MinuteSeries, added
from pkadvisor.observe.workload import DrawBy, Operation, QueryClass, Rate, Workload
from pkadvisor.table.odata import Comparison, Filter, conjuncts, properties

SAME_RATE = 0.01
"""Rates that differ by less are one: a design file holds four digits."""


def same_class(one: QueryClass, other: QueryClass) -> bool:
    """Whether two shapes of a log ask the same of the properties."""
    return one.filter is not None and all(
        getattr(one, name) == getattr(other, name)
        for name in ("operation", "filter", "kind", "top", "order_by", "entities_per_request", "sets")
    )


def rate_is_logged(query: QueryClass, workload: Workload) -> bool:
    """Whether the rate of a class is that of its attempts in the log."""
    logged = workload.logged.get(query.name, query.rate)
    return query.draw.by is DrawBy.LOG and isclose(logged.mean_per_s, query.rate.mean_per_s, rel_tol=SAME_RATE)


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
