"""Queries that could ask each period of a PartitionKey apart, where the planner reads the periods between as a run.

A period in the middle of a PartitionKey, as in ``{day}_{device}``: with the device fixed, a window of days is one exact
PartitionKey for each day. The planner enumerates periods only at the end of a key, so what it counts is far too much.
"""

from __future__ import annotations

import math

from pkadvisor.design.keys.conditions import Range, conditions
from pkadvisor.design.keys.scheme import KeyScheme, variable
from pkadvisor.design.keys.transforms import PeriodPart
from pkadvisor.design.plan.plan import walk
from pkadvisor.observe.workload import Operation, QueryClass
from pkadvisor.review.views.as_sent import names_keys
from pkadvisor.table.edm import EdmType


def asked_apart(
    query: QueryClass, scheme: KeyScheme, types: dict[str, EdmType]
) -> tuple[PeriodPart, Range, int] | None:
    """(the period, its bounds, requests for each period); None where no key has all but one bounded period fixed.

    The period is not the last part of the key: there the planner enumerates.
    """
    if query.operation is not Operation.QUERY or query.filter is None or names_keys(query):
        return None
    wanted = conditions(query.filter)
    for key, _ in scheme.each_key():
        for i, part in enumerate(key.partition):
            period = part.period
            if period is None or period.property not in wanted.ranges:
                continue
            behind = key.partition[i + 1 :]
            if wanted.ranges[period.property].low is None or not variable(behind):
                break
            first, rest = walk(key.partition[:i], wanted, types), walk(behind, wanted, types)
            if not first.complete or not rest.complete:
                break
            each = math.prod(p.buckets_total for p in (*first.buckets, *rest.buckets))
            for name in {*first.choices, *rest.choices}:
                each *= len(wanted.any_of[name])
            return period, wanted.ranges[period.property], each
    return None
