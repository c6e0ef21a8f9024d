"""How a design fares as the table grows: the load of its worst partition and of whatever binds first, month by month.

Growth is what the design file declares. Where it declares none, the assumed factor is walked through instead of months.
A load is ``fixed + factor x (measured - fixed)``, as in ``breaks``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pkadvisor.design.load.breaks import FILLING, PARTITION, earliest
from pkadvisor.design.load.estimates import Bench, Break, CostEstimate
from pkadvisor.numbers import MONTH_S
from pkadvisor.observe.workload import Basis, Growth, GrowthOf, Operation
from pkadvisor.values import dataclass

POINTS_MAX = 25
"""Points of a series."""
HOTTEST = "hottest partition at peak"
"""The term that holds the interval of the hottest partition's load."""
MONTHS, FACTOR = "months", "factor"


@dataclass(frozen=True, slots=True)
class ForecastPoint:
    """At ``at`` (months from now, or times today's): loads in times of their limits.

    ``partition``: the hottest partition, with an interval where it was estimated from a sample. ``worst``: what is
    nearest its limit, or farthest above, and ``cause`` says what that is. ``entities`` and ``bytes``: of the table;
    None where growth is only assumed.
    """

    at: float
    partition: float
    low: float | None
    high: float | None
    worst: float
    cause: str
    entities: float | None
    bytes: float | None


@dataclass(frozen=True, slots=True)
class Forecast:
    """``crosses_at``: when the first limit is passed, None where it is not within the horizon; ``factor`` of growth at
    which it is, infinite where none ever is."""

    points: tuple[ForecastPoint, ...]
    crosses_at: float | None
    factor: float
    cause: str


def unit_of(growth: Growth | None) -> str:
    """What a forecast is over: months of a declared growth, or factors of an assumed one."""
    return FACTOR if growth is None or growth.factor_per_month <= 1 else MONTHS


def forecast_of(estimate: CostEstimate, bench: Bench) -> Forecast:
    """The series of one design."""
    growth, of = bench.workload.growth, bench.growth_of
    factor, cause = earliest(estimate.breaks, of)
    low, high = _interval(estimate)
    points = []
    for at, grown in _steps(growth, bench.horizon_factor):
        partition = load_at([b for b in estimate.breaks if b.cause in (PARTITION, FILLING)], of, grown)[0]
        worst, binding = load_at(estimate.breaks, of, grown)
        entities = _entities(bench, growth, at, grown)
        size = None if entities is None else entities * estimate.bytes_per_entity
        points.append(
            ForecastPoint(
                at,
                partition,
                None if low is None else partition * low,
                None if high is None else partition * high,
                worst,
                binding,
                entities,
                size,
            )
        )
    return Forecast(tuple(points), _crossing(growth, factor, bench.horizon_factor), factor, cause)


def load_at(breaks: Sequence[Break], of: GrowthOf, factor: float, rates: float = 1.0) -> tuple[float, str]:
    """(the highest load in times of its limit, what it is of) at a growth ``of`` something, at ``rates`` times the
    rates; (0, "") of none."""
    loads = [(rates * b.load_at(factor if of in b.by else 1.0) / b.limit, b.cause) for b in breaks if b.limit > 0]
    return max(loads, key=lambda p: p[0], default=(0.0, ""))


def _steps(growth: Growth | None, horizon_factor: float) -> list[tuple[float, float]]:
    """(months or factor, growth as a factor) of each point."""
    if growth is None or growth.factor_per_month <= 1:
        last = max(horizon_factor, 1.0)
        count = 9 if last > 1 else 1
        return [(f, f) for f in (1 + (last - 1) * i / max(1, count - 1) for i in range(count))]
    count = min(POINTS_MAX - 1, max(1, math.ceil(growth.horizon_months)))
    months = [growth.horizon_months * i / count for i in range(count + 1)]
    return [(m, growth.factor_per_month**m) for m in months]


def _crossing(growth: Growth | None, factor: float, horizon_factor: float) -> float | None:
    if factor > max(horizon_factor, 1.0) or not math.isfinite(factor):
        return None
    if growth is None or growth.factor_per_month <= 1:
        return max(factor, 1.0)
    return math.log(max(factor, 1.0)) / math.log(growth.factor_per_month)


def _interval(estimate: CostEstimate) -> tuple[float | None, float | None]:
    """The interval of the hottest partition's load, as factors of it."""
    term = next((t for t in estimate.terms if t.name == HOTTEST), None)
    if term is None or term.value <= 0 or term.low == term.high:
        return None, None
    return (
        None if term.low is None else term.low / term.value,
        None if term.high is None else term.high / term.value,
    )


def _entities(bench: Bench, growth: Growth | None, months: float, factor: float) -> float | None:
    """Entities of the table: with the keys, or as inserts come and deletes go; None where nobody says how it grows."""
    if growth is None:
        return None
    total = float(bench.population.total)
    if growth.of is not GrowthOf.RATE or bench.workload.retention_s is not None:
        return total * factor
    per_s = 0.0
    for demand in bench.demands:
        query = demand.query
        if query.operation is Operation.INSERT:
            per_s += query.rate.mean_per_s * query.entities_per_request
        elif query.operation is Operation.DELETE:
            per_s -= query.rate.mean_per_s * max(1.0, demand.mean(demand.returned)) if len(demand.returned) else 0.0
    rate = math.log(growth.factor_per_month) if growth.factor_per_month > 1 else 0.0
    busy = months if rate == 0 else (factor - 1) / rate
    return max(0.0, total + per_s * MONTH_S * busy)


def basis_of(growth: Growth | None) -> Basis:
    """Whether growth is declared or assumed."""
    return Basis.ASSUMED if growth is None else Basis.DECLARED
