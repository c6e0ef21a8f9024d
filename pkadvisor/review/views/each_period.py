"""Queries that ask each period of a PartitionKey apart although more follows the period in the key.

With the device fixed, a window of days is one exact PartitionKey for each day under ``{day}_{device}``.
"""

from __future__ import annotations

import math

from pkadvisor.design.keys.conditions import Range, conditions
from pkadvisor.design.keys.scheme import KeyScheme, variable
from pkadvisor.design.keys.transforms import PeriodPart
from pkadvisor.design.plan.plan import AccessPlan
from pkadvisor.design.plan.walk import walk
from pkadvisor.observe.workload import QueryClass
from pkadvisor.table.edm import EdmType


def asked_apart(
    query: QueryClass, plan: AccessPlan | None, scheme: KeyScheme | None, types: dict[str, EdmType]
) -> tuple[PeriodPart, Range, int] | None:
    """(the period, its bounds, requests for each period) of a plan that asks each period between two bounds apart.

    None for any other plan, and where the period ends the key.
    """
    if plan is None or plan.periods is None or plan.back or scheme is None:
        return None
    wanted, parts = conditions(query.filter), list(scheme.each_key())[plan.via][0].partition
    if variable(parts)[-1] == plan.periods or plan.periods.property not in wanted.ranges:
        return None
    key_walk = walk(parts, wanted, types, through=plan.periods)
    each = math.prod(p.buckets_total for p in key_walk.buckets)
    for name in key_walk.choices:
        each *= len(wanted.any_of[name])
    return plan.periods, wanted.ranges[plan.periods.property], each
