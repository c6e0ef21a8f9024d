"""Rows of the other kinds of a table that a request reads because no bound on a key leaves them out."""

from __future__ import annotations

from collections.abc import Iterable

from pkadvisor.design.keys.scheme import Key, leading_text
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.load.keyfacts import key_texts
from pkadvisor.design.plan.access_plan import Access, AccessPlan
from pkadvisor.design.plan.other_kinds import leaves_out
from pkadvisor.design.rows.demand import Demand, sampled_constant
from pkadvisor.design.rows.other_kinds import RowsOfKind
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Floats, np, pl


def kinds_read(plan: AccessPlan, key: Key, other_kinds: Iterable[RowsOfKind]) -> tuple[RowsOfKind, ...]:
    """The rows of other kinds that a scan of the table, or of whole partitions, reads: under keys that its bounds do
    not leave out, and that lie in the same partitions."""
    other_kinds = [rows for rows in other_kinds if not rows.advised]
    if plan.access is Access.TABLE_SCAN:
        return tuple(o for o in other_kinds if o.between(*_bounds(plan)))
    if plan.access not in (Access.PARTITION_SCAN, Access.PARTITION_RANGE_SCAN):
        return ()
    label = leading_text(key.row)
    return tuple(
        o
        for o in other_kinds
        if o.key is not None
        and o.key.partition == key.partition
        and leading_text(o.key.row).startswith(label)
        and not leaves_out(plan.access, plan.left_out, key, o.key)
    )


def rows_of_other_kinds(
    plan: AccessPlan, demand: Demand, key: Key, bench: Bench, population: Population
) -> Floats | None:
    """Rows of other kinds that the requests of each instance read; None where none are, or where they are not counted
    (``counts_other_kinds``)."""
    met = kinds_read(plan, key, bench.other_kinds)
    if not met or not counts_other_kinds(plan, demand, key, met):
        return None
    if plan.access is Access.TABLE_SCAN:
        return np.full(len(demand.instances), sum(each.between(*_bounds(plan)) for each in met))
    fixed = tuple(part for part in key.partition if part.bucket_count is None)  # every bucket is asked
    constants = {
        name: sampled_constant(demand, name, population)
        for part in fixed
        for name in part.properties
        if name in demand.constants
    }
    asked = population.frame[demand.instances]
    asked = asked.with_columns(pl.lit(v).cast(asked.schema[name]).alias(name) for name, v in constants.items())
    texts = key_texts(fixed, population=population, rows=asked).to_series()
    return np.asarray(sum(each.in_partitions(fixed, texts) for each in met))


def _bounds(plan: AccessPlan) -> tuple[str, str]:
    """The least PartitionKey that a scan of the table reads, and the one before which it ends; empty for no end."""
    texts = {t.operator: "".join(map(str, t.text.pieces)) for t in plan.terms if t.name == "PartitionKey"}
    return texts.get("ge", ""), texts.get("lt", "")


def counts_other_kinds(plan: AccessPlan, demand: Demand, key: Key, met: Iterable[RowsOfKind]) -> bool:
    """Whether the rows of other kinds that requests read are counted: those of the whole table, and those of partitions
    that requests name by one value of each property, where no ``$top`` ends the requests. Tokens of different kinds are
    not compared."""
    if plan.top is not None or plan.access is Access.TABLE_SCAN:
        return plan.top is None
    named = {name for part in key.partition for name in part.properties}
    one_value = not named & {*plan.choices, *demand.mixed} and named & {*demand.constants} in (set(), named)
    one_partition = plan.access is Access.PARTITION_SCAN and plan.periods is None
    return one_partition and one_value and not any(each.hashed for each in met)
