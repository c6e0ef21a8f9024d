"""Kinds that share a partition under the keys in use: whether they stay, and what one transaction of them saves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from pkadvisor.design.choice.goals import good_enough
from pkadvisor.design.choice.several_kinds.kinds import Arrangement, Bond, KindPool, bound
from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.template import format_template
from pkadvisor.design.load.estimates import CostEstimate
from pkadvisor.limits import Limits


def stays(now: Arrangement, best: Arrangement, pools: Mapping[str, KindPool]) -> bool:
    """Whether kinds that share a partition keep the keys in use: these hold the same transactions, break nothing at the
    declared load and are good enough, kind by kind."""
    shared = [kind for _, kinds in now.shared for kind in kinds]
    if not shared or len(now.kept) < len(best.kept) or any(not v.assumed for _, v in now.violations):
        return False
    in_use = [(now.scheme_of(kind), pools[kind].current) for kind in shared]
    return all(mine is theirs for mine, theirs in in_use) and all(
        good_enough(now.scheme_of(kind), best.scheme_of(kind)) for kind in shared
    )


def offer_in_use(
    kinds: tuple[str, ...], bonds: tuple[Bond, ...], pools: Mapping[str, KindPool]
) -> list[tuple[str, dict[str, CostEstimate]]]:
    """The keys in use with their PartitionKey, where that is one template and keeps the transactions; else nothing."""
    offer = {kind: pools[kind].current for kind in kinds}
    texts = {format_template(e.scheme.main.partition) for e in offer.values() if e is not None}
    if len(texts) != 1:
        return []
    out = {}
    for kind, now in offer.items():
        if now is None:
            return []
        bench = pools[kind].bench
        joined = replace(bench, workload=bound(bench.workload, [b for b in bonds if kind in b.kinds], kind))
        if any(v.code == "transaction-broken" for v in estimate(now.scheme, joined).violations):
            return []
        out[kind] = now
    return [(texts.pop(), out)]


def saved_per_s(bond: Bond, estimates: Mapping[str, CostEstimate], limits: Limits, *, peak: bool = False) -> float:
    """Requests per second that a kept transaction saves, against its writes under the keys of each kind alone.

    At most one for each entity; fewer where a kind writes several entities in one request already.
    """
    needed = max(1, math.ceil(bond.entities / limits.group_transaction_entities))
    rate = bond.peak_per_s if peak else bond.rate_per_s
    costs = [c for m in bond.members for c in estimates[m.kind].classes if c.name == m.name]
    alone = math.fsum((c.peak_per_s if peak else c.rate_per_s) * c.requests_write for c in costs)
    return max(0.0, min(rate * bond.entities, alone) - rate * needed)
