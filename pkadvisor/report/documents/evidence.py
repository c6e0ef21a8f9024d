"""What a result shows beside its verdict: where the load falls, when it grows too large, what that rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pkadvisor.design.choice.certainty.what_if import break_even, what_if
from pkadvisor.design.cost.cost import put_down
from pkadvisor.design.cost.forecast import basis_of, forecast_of, unit_of
from pkadvisor.design.load.money import SPLIT, class_prices, currency, split
from pkadvisor.design.load.skew import Skew, skew_of
from pkadvisor.documents.part import number
from pkadvisor.report.documents.heat import heat_json

if TYPE_CHECKING:
    from pkadvisor.design.choice.sections import Judged
    from pkadvisor.design.load.estimates import Bench, CostEstimate
    from pkadvisor.observe.workload import Growth
    from pkadvisor.report.documents.values import Shown

CURRENT, RECOMMENDED = "current", "recommended"
NO_RATE = "no rate of any class is known"
MONTHS_TOLD = 3
"""Months that a log must cover before it could show growth."""
PRICES = ("price_per_gb_month", "price_per_10k_transactions")


def evidence_of(judged: Judged, shown: Shown, covered_s: float) -> dict[str, Any]:
    """The members of a table's result that are drawn; null where keys cannot be judged, with the reason.

    ``covered_s``: seconds that the logs cover, 0 without one.
    """
    if judged.advice is None or judged.bench is None:
        return {
            "heat": None,
            "why_no_heat": judged.why_not,
            **dict.fromkeys(("skew", "forecast", "cost", "sensitivity")),
        }
    bench, designs = judged.bench, designs_of(judged)
    loaded = [(name, estimate, put_down(estimate.scheme, bench)[0]) for name, estimate in designs]
    heat = heat_json(loaded, bench, shown)
    skews = [(name, skew_of(estimate, bench, loads)) for name, estimate, loads in loaded]
    return {
        "heat": heat,
        "why_no_heat": None if heat is not None else NO_RATE,
        "skew": None
        if any(skew is None for _, skew in skews)
        else {"designs": [_skew(name, skew, shown) for name, skew in skews if skew is not None]},
        "forecast": _forecast(designs, bench, covered_s),
        "cost": _cost(designs, bench),
        "sensitivity": _sensitivity(designs, bench),
    }


def designs_of(judged: Judged) -> list[tuple[str, CostEstimate]]:
    """The current keys and the recommended ones, by name; where they are the same, only as recommended."""
    advice = judged.advice
    assert advice is not None
    best, current = advice.recommended, advice.current
    same = current is None or current.scheme.text == best.scheme.text
    return [*([] if same or current is None else [(CURRENT, current)]), (RECOMMENDED, best)]


def _skew(name: str, skew: Skew, shown: Shown) -> dict[str, Any]:
    sizes = skew.sizes
    return {
        "design": name,
        "lorenz": [[number(x), number(y)] for x, y in skew.lorenz],
        "gini": number(round(skew.gini, 4)),
        "partitions": skew.partitions,
        "partitions_at_hand": skew.at_hand,
        "top": [
            {
                "key": shown.key(each.key),
                "share": number(each.share),
                "entities_per_s_peak": number(each.per_s),
                "grows_with_rows_per_s": number(each.growing_per_s),
                "rows": number(round(each.rows)),
            }
            for each in skew.top
        ],
        "rows_per_partition": {
            "p50": number(sizes.p50),
            "p99": number(sizes.p99),
            "largest": number(sizes.largest),
            "basis": str(sizes.basis),
        },
    }


def _forecast(designs: list[tuple[str, CostEstimate]], bench: Bench, covered_s: float) -> dict[str, Any]:
    growth = bench.workload.growth
    return {
        "unit": unit_of(growth),
        "basis": str(basis_of(growth)),
        "growth_of": str(bench.growth_of),
        "factor_per_month": None if growth is None else number(growth.factor_per_month),
        "horizon_months": None if growth is None else number(growth.horizon_months),
        "horizon_factor": number(bench.horizon_factor),
        "headroom_share": number(bench.limits.headroom_share),
        "note": _growth_note(growth, bench, covered_s),
        "designs": [_course(name, estimate, bench) for name, estimate in designs],
    }


def _course(name: str, estimate: CostEstimate, bench: Bench) -> dict[str, Any]:
    course = forecast_of(estimate, bench)
    return {
        "design": name,
        "points": [
            {
                "at": number(p.at),
                "partition": number(p.partition),
                "low": None if p.low is None else number(p.low),
                "high": None if p.high is None else number(p.high),
                "worst": number(p.worst),
                "cause": p.cause or None,
                "entities": None if p.entities is None else number(p.entities),
                "bytes": None if p.bytes is None else number(p.bytes),
            }
            for p in course.points
        ],
        "crosses_at": None if course.crosses_at is None else number(course.crosses_at),
        "break_factor": number(course.factor),
        "cause": course.cause,
    }


def _growth_note(growth: Growth | None, bench: Bench, covered_s: float) -> str:
    """Where the growth comes from, and how little of it was seen."""
    if growth is None:
        said = f"No growth is declared: the outlook assumes up to {bench.horizon_factor:g} times today's peak."
    else:
        percent = 100 * (growth.factor_per_month - 1)
        said = f"Growth is as declared: {percent:.3g} % a month of {growth.of.replace('_', ' ')}."
    if covered_s <= 0:
        return f"{said} It was not measured: there is no log."
    days = covered_s / 86_400
    if days < 30.4 * MONTHS_TOLD:
        seen = f"{days:.3g} days" if days >= 1 else f"{covered_s / 3600:.2g} hours"
        return f"{said} It was not measured: the log covers {seen}, fewer than {MONTHS_TOLD} months."
    return f"{said} The log was not read for growth."


def _cost(designs: list[tuple[str, CostEstimate]], bench: Bench) -> dict[str, Any]:
    prices = [bench.limits.of(name) for name in PRICES]
    return {
        "currency": currency(bench),
        "per": "month",
        "prices": [
            {
                "name": entry.name,
                "value": number(entry.value),
                "unit": entry.unit,
                "basis": str(entry.basis),
                "date": entry.date,
                "source": entry.source,
            }
            for entry in prices
        ],
        "designs": [_bill(name, estimate, bench) for name, estimate in designs],
    }


def _bill(name: str, estimate: CostEstimate, bench: Bench) -> dict[str, Any]:
    parts = split(estimate, bench)
    return {
        "design": name,
        **{part: number(parts[part]) for part in SPLIT},
        "total": number(sum(parts.values())),
        "classes": [
            {"name": c.name, "kind": c.kind, "requests_per_s": number(c.requests_per_s), "price": number(c.price)}
            for c in class_prices(estimate, bench)
        ],
    }


def _sensitivity(designs: list[tuple[str, CostEstimate]], bench: Bench) -> dict[str, Any]:
    tried = [(name, each, what_if(each, bench)) for name, each in designs]
    return {
        "growth_of": str(bench.growth_of),
        "loads": [number(load) for load in tried[0][2].loads],
        "growths": [number(growth) for growth in tried[0][2].growths],
        "designs": [
            {
                "design": name,
                "grid": [
                    [{"word": c.word, "times_limit": number(c.times_limit), "cause": c.cause or None} for c in row]
                    for row in each.grid
                ],
                "break_factor": number(each.factor),
                "bars": [
                    {
                        "name": bar.name,
                        "unit": bar.unit,
                        "basis": str(bar.basis),
                        "value": number(bar.value),
                        "half": number(bar.low),
                        "twice": number(bar.high),
                    }
                    for bar in each.bars
                ],
                "unmoved": list(each.unmoved),
                "break_even": [{"of": of, "factor": number(factor)} for of, factor in break_even(estimate, bench)],
            }
            for name, estimate, each in tried
        ],
    }
