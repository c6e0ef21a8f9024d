"""What to try where no key holds the load of one value, such as a tenant with half of the orders: each way priced.

What keeps the value together puts its load on one partition, or on one server until the service splits a range. Buckets
under it divide its writes and point reads, and multiply the requests of its lists; a table or key rule of its own keeps
that cost from all others. What even buckets cannot divide is the first rows of a list: each bucket reads them all.
"""

from __future__ import annotations

from collections.abc import Callable

from pkadvisor.design.choice.key_building import KeyGround, complete, part_for
from pkadvisor.design.cost.cost import estimate, put_down
from pkadvisor.design.keys.scheme import Key, KeyScheme, variable
from pkadvisor.design.keys.template import format_template
from pkadvisor.design.keys.transforms import Hash, Part
from pkadvisor.design.load.estimates import Bench, ClassCost, CostEstimate
from pkadvisor.lazy import np
from pkadvisor.numbers import amount, percent
from pkadvisor.observe.workload import Operation
from pkadvisor.values import dataclass

LOADS = ("hot-partition", "hot-range")
"""Constraints on what one server bears."""
SHARED = ("account", "scan-load")
"""Constraints on what all partitions take together, which more requests break."""
HEAVY_SHARE = 0.25
"""Share of the load from which one value is told apart: assumed."""
COUNTS = (2, 4, 8, 16, 32, 64, 128, 256)
"""Buckets that are priced."""


@dataclass(frozen=True, slots=True)
class _Heavy:
    """A property of which one value takes much of the load, and the keys that keep its values together, priced."""

    name: str
    part: Part
    alone: CostEstimate


def try_next(best: CostEstimate, bench: Bench, show: Callable[[str], str] = str) -> tuple[str, ...]:
    """What to try where the best keys are over one server's capacity because of one value; empty where they are not.

    ``show`` gives a value of the data as it may be printed. Every figure is that of a scheme priced on the bench.
    """
    if not _breaks(best, LOADS):
        return ()
    heavy = _heavy(best, bench)
    if heavy is None or heavy.alone.hot is None:
        return ()
    value, target = show(heavy.alone.hot.partition_key), bench.limits.partition_entities_per_s
    out = [
        f"{heavy.name} '{value}' takes {percent(heavy.alone.hot.share)} of the load: keys that keep it in one "
        f"partition put {heavy.alone.hot.entities_per_s:,.0f} entities/s on it; target {target:,.0f}"
    ]
    priced = _buckets(heavy, bench)
    if not priced:
        return tuple(out)
    holding = [(n, e) for n, e in priced if not _breaks(e, (*LOADS, *SHARED))]
    count, estimate = holding[0] if holding else max(priced, key=lambda each: each[1].break_factor)
    out.append(_under(count, estimate, best))
    out.append(_own_table(heavy, value, count, estimate, bench))
    if not holding:
        out.append(_undivided(estimate))
    return tuple(out)


def _breaks(estimate: CostEstimate, codes: tuple[str, ...]) -> bool:
    return any(v.code in codes and not v.assumed for v in estimate.violations)


def _heavy(best: CostEstimate, bench: Bench) -> _Heavy | None:
    """The property of the PartitionKey, or that which isolates, of whose values one takes most of the load."""
    ground = KeyGround(bench)
    names = [bench.workload.isolation or ""]
    names += [name for part in variable(best.scheme.main.partition) for name in part.properties]
    out = []
    for name in dict.fromkeys(n for n in names if ground.population.may_be_key(n)):
        part = part_for(name, ground.population)
        if ground.population.surplus([("p", name)]) == 0:  # each value is one entity
            continue
        priced = estimate(KeyScheme(Key((part,), ground.join(complete([part], [], ground)))), bench)
        if priced.hot is not None and priced.hot.share >= HEAVY_SHARE:
            out.append((-priced.hot.share, name, _Heavy(name, part, priced)))
    return min(out)[2] if out else None


def _buckets(heavy: _Heavy, bench: Bench) -> list[tuple[int, CostEstimate]]:
    """The keys with buckets of what tells entities apart, for each count."""
    ground = KeyGround(bench)
    row = heavy.alone.scheme.main.row
    apart = [name for part in variable(row) for name in part.properties if name != heavy.name and not part.assigned]
    if not apart:
        return []
    keys = [(n, Key(ground.join([heavy.part, Hash(apart[-1], n)]), row)) for n in COUNTS]
    return [(n, estimate(KeyScheme(key), bench)) for n, key in keys]


def _under(count: int, estimate: CostEstimate, best: CostEstimate) -> str:
    """What buckets under the value bring, and what they cost."""
    load = 0.0 if estimate.hot is None else estimate.hot.entities_per_s
    state = "every load is within its target"
    if _breaks(estimate, (*LOADS, *SHARED)):
        state = f"held up to {amount(estimate.break_factor)}x of the load, then too much for {estimate.break_cause}"
    lists = [f"{c.name} becomes {c.plan.buckets} requests" for c in estimate.classes if c.plan and c.plan.buckets > 1]
    more = f"; {', '.join(lists)}" if lists else ""
    return (
        f"{count} buckets under it, {estimate.scheme.main}: {load:,.0f} entities/s in the hottest partition, {state}; "
        f"{estimate.requests_per_s:,.0f} requests/s in place of {best.requests_per_s:,.0f}{more}; another count later "
        "moves every entity"
    )


def _own_table(heavy: _Heavy, value: str, count: int, estimate: CostEstimate, bench: Bench) -> str:
    """What it brings to give the value a table or a rule of its own, and the others keys without buckets."""
    loads, _, _ = put_down(heavy.alone.scheme, bench)
    each = np.sort(loads.at_peaks((heavy.part,)))
    rest = float(each[-2]) if len(each) > 1 else 0.0
    shares = _shares(heavy, bench)
    requests = sum(
        one.rate_per_s * (one.requests * (1 - shares[one.name]) + other.requests * shares[one.name])
        for one, other in zip(heavy.alone.classes, estimate.classes, strict=True)
        if not one.analytic
    )
    all_of = [c.name for c in bench.workload.classes if c.filter is not None and not _fixes(heavy.name, c.name, bench)]
    both = f"; {', '.join(all_of)} must ask both tables" if all_of else ""
    bucket = format_template((Hash(_bucketed(estimate), count),))
    return (
        f"'{value}' in a table of its own with {bucket} before its keys, the others under "
        f"{heavy.alone.scheme.main}: {rest:,.0f} entities/s in the hottest partition of the others, "
        f"{requests:,.0f} requests/s in all; the application must know the value, and no group transaction reaches "
        f"both tables{both}"
    )


def _bucketed(estimate: CostEstimate) -> str:
    return next(part for part in estimate.scheme.main.partition if part.hashing is not None).properties[0]


def _fixes(name: str, query: str, bench: Bench) -> bool:
    return any(name in d.conditions.equal for d in bench.demands if d.query.name == query)


def _shares(heavy: _Heavy, bench: Bench) -> dict[str, float]:
    """Of each class the share of the requests that are drawn for the heaviest value."""
    assert heavy.alone.hot is not None
    ids, _ = bench.population.groups([("p", heavy.name)])
    row = heavy.alone.hot.row
    if row is None:
        return {d.query.name: heavy.alone.hot.share for d in bench.demands}
    return {d.query.name: d.mean((ids[d.instances] == ids[row]).astype(float)) for d in bench.demands}


def _undivided(estimate: CostEstimate) -> str:
    """What no number of buckets divides: the class whose requests and reads they multiply."""

    def load(cost: ClassCost) -> float:
        return cost.peak_per_s * (cost.entities_read + cost.requests)

    reading = [c for c in estimate.classes if c.operation is Operation.QUERY and not c.analytic]
    most = max(reading, key=load, default=None)
    if most is None:
        return f"no count up to {COUNTS[-1]} holds every load: only less load does"
    return (
        f"no count up to {COUNTS[-1]} holds every load: '{most.name}' reads {amount(most.entities_read)} entities in "
        f"{amount(most.requests)} requests each time; keep its answers in a cache, or ask for fewer entities"
    )
