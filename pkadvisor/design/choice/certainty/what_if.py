"""What the verdict on a design hangs on: more load, other growth, and the numbers that are only assumed.

The grid asks the loads that are known already, which are linear in the rates and in what grows. The tornado prices the
design again for each number that is taken half and twice as large, and tells how far it may then grow.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from pkadvisor.design.choice.certainty.flips import again, with_rate
from pkadvisor.design.cost.forecast import load_at
from pkadvisor.design.load.breaks import earliest
from pkadvisor.design.load.estimates import Bench, Break, CostEstimate
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.observe.workload import Basis, GrowthOf
from pkadvisor.values import dataclass

LOADS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Today's rates, times."""
SHARES = (0.0, 0.5, 1.0, 1.5)
"""Of the growth over the horizon, as powers: 0 is today, 1 the end of the horizon."""
FACTORS = (0.5, 2.0)
RANGE, LASTING, BOUNDARIES = "range_entities_per_s", "lasting_s", "scan_boundary_requests"
LIMITS = (RANGE, LASTING, BOUNDARIES)
"""Limits that loads and breaks are computed from and that nobody publishes; others move latencies and prices alone."""
UNSURE = ("assumed", "derived")
CLASSES = 4
"""Classes whose rates are varied: those with most entities/s."""
BARS = 8
KEEPS, OVER_HEADROOM, OVER = "keeps", "over head-room", "over target"


@dataclass(frozen=True, slots=True)
class WhatIfCell:
    """The worst load in times of its limit, the word for it, and what it is of."""

    word: str
    times_limit: float
    cause: str


@dataclass(frozen=True, slots=True)
class Variation:
    """One number taken half (``low``) and twice (``high``) as large: the break factor that follows; infinite where
    nothing binds. ``value`` is the number itself."""

    name: str
    unit: str
    basis: Basis
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class WhatIf:
    """``grid`` has a row for each of ``loads`` and a column for each of ``growths`` (factors). ``bars``: the widest
    first; ``factor`` is the break factor as it is told, under the growth that is declared or assumed."""

    loads: tuple[float, ...]
    growths: tuple[float, ...]
    grid: tuple[tuple[WhatIfCell, ...], ...]
    factor: float
    bars: tuple[Variation, ...]
    unmoved: tuple[str, ...]


def verdict_grid(estimate: CostEstimate, bench: Bench) -> tuple[tuple[float, ...], tuple[tuple[WhatIfCell, ...], ...]]:
    """(growths, a row of cells for each of ``LOADS``) of one design."""
    horizon = max(1.0, bench.horizon_factor)
    growths = tuple(dict.fromkeys(horizon**share for share in SHARES))
    return growths, tuple(tuple(cell_at(estimate, bench, load, growth) for growth in growths) for load in LOADS)


def cell_at(estimate: CostEstimate, bench: Bench, load: float, growth: float) -> WhatIfCell:
    """How a design fares at times the rates, after a growth of what grows."""
    times, cause = load_at(estimate.breaks, bench.growth_of, growth, load)
    word = OVER if times > 1 else OVER_HEADROOM if times > bench.limits.headroom_share else KEEPS
    return WhatIfCell(word, times, cause)


def what_if(estimate: CostEstimate, bench: Bench) -> WhatIf:
    """The grid and the tornado of one design."""
    growths, grid = verdict_grid(estimate, bench)
    factor, _ = earliest(estimate.breaks, bench.growth_of)
    tried: dict[str, dict[float, float]] = {}
    assumed: dict[str, tuple[str, Basis, float]] = {}
    for name, unit, basis, value, times, changed in _variants(estimate, bench):
        breaks = estimate.breaks if changed is None else again(estimate, changed).breaks
        breaks = _with_ranges(breaks, times) if name == RANGE else breaks
        tried.setdefault(name, {})[times] = earliest(breaks, bench.growth_of)[0]
        assumed[name] = (unit, basis, value)
    bars = [Variation(name, *assumed[name], by[FACTORS[0]], by[FACTORS[1]]) for name, by in tried.items()]
    moved = [b for b in bars if not (_same(b.low, factor) and _same(b.high, factor))]
    moved.sort(key=lambda b: (-_width(b, factor), b.name))
    unmoved = tuple(b.name for b in bars if b not in moved)
    return WhatIf(LOADS, growths, grid, factor, tuple(moved[:BARS]), unmoved)


def _same(one: float, other: float) -> bool:
    return one == other or math.isclose(one, other, rel_tol=1e-6)


def _width(bar: Variation, factor: float) -> float:
    """How far apart a number's two ends lie, as a ratio."""
    ends = [e for e in (bar.low, bar.high, factor) if math.isfinite(e) and e > 0]
    return math.log(max(ends) / min(ends)) if len(ends) > 1 else math.inf


def _with_ranges(breaks: tuple[Break, ...], times: float) -> tuple[Break, ...]:
    """The breaks where a range takes so many times as much; loads are what they are."""
    out = []
    for each in breaks:
        limit = each.limit * times if each.resource == "range" else each.limit
        factor = max(0.0, (limit - each.fixed) / (each.measured - each.fixed))
        out.append(replace(each, limit=limit, factor=factor))
    return tuple(out)


def _priced_again(name: str, estimate: CostEstimate) -> bool:
    """Whether a limit can move a load of this design at all."""
    if name == LASTING:
        return estimate.fronts.least is not None and estimate.fronts.least != estimate.fronts.median
    wide = (Access.PARTITION_RANGE_SCAN, Access.TABLE_SCAN)
    return name == BOUNDARIES and any(c.plan is not None and c.plan.access in wide for c in estimate.classes)


def _variants(estimate: CostEstimate, bench: Bench) -> Iterator[tuple[str, str, Basis, float, float, Bench | None]]:
    """(name, unit, basis, value, how many times it is tried, the bench with it; None where loads stay as they are)."""
    for name in LIMITS:
        entry = bench.limits.of(name)
        for times in FACTORS if entry.basis in UNSURE else ():
            changed = bench.limits.with_value(name, entry.value * times)
            again_on = replace(bench, limits=changed) if _priced_again(name, estimate) else None
            yield name, entry.unit, Basis(entry.basis), entry.value, times, again_on
    live = sorted(
        (c for c in estimate.classes if not c.analytic and c.peak_per_s > 0),
        key=lambda c: (-c.peak_per_s * (c.entities_read + c.entities_written), c.name),
    )
    rates = {d.query.name: d.query.rate for d in bench.demands}
    for cost in live[:CLASSES]:
        for times in FACTORS:
            changed_bench = with_rate(bench, cost.name, times)
            yield f"rate of {cost.name}", "requests/s", rates[cost.name].basis, cost.peak_per_s, times, changed_bench


def break_even(estimate: CostEstimate, bench: Bench) -> tuple[tuple[str, float], ...]:
    """(what may grow, by which factor until a limit is passed) for each kind of growth that ever passes one."""
    out = []
    for of in (GrowthOf.RATE, GrowthOf.NEW_KEYS, GrowthOf.ROWS_PER_KEY):
        factor, _ = earliest(estimate.breaks, of)
        if math.isfinite(factor):
            out.append((str(of), factor))
    return tuple(out)
