"""What a result shows beside its verdict: where the load falls, when it grows too large, what that rests on."""

from __future__ import annotations

from msgspec.structs import replace

from pkadvisor.design.choice.certainty.what_if import break_even, what_if
from pkadvisor.design.choice.sections import Judged
from pkadvisor.design.cost.cost import put_down
from pkadvisor.design.cost.forecast import basis_of, forecast_of, unit_of
from pkadvisor.design.load.estimates import Bench, CostEstimate
from pkadvisor.design.load.money import SPLIT, class_prices, currency, split
from pkadvisor.design.load.skew import Skew, skew_of
from pkadvisor.documents.analysis_table import (
    AnalysisBar,
    AnalysisBreakEven,
    AnalysisClass,
    AnalysisCost,
    AnalysisCostDesign,
    AnalysisForecast,
    AnalysisForecastDesign,
    AnalysisGrid,
    AnalysisPoint,
    AnalysisPrice,
    AnalysisRowsPerPartition,
    AnalysisSensitivity,
    AnalysisSensitivityDesign,
    AnalysisSkew,
    AnalysisSkewDesign,
    AnalysisSkewDesignTop,
    AnalysisTable,
)
from pkadvisor.documents.part import number, word
from pkadvisor.numbers import amount, lasting
from pkadvisor.observe.workload import Growth
from pkadvisor.report.documents.heat import heat_json
from pkadvisor.report.documents.values import Shown, figures

CURRENT, RECOMMENDED = "current", "recommended"
NO_RATE = "no rate of any class is known"
MONTHS_TOLD = 3
"""Months that a log must cover before it could show growth."""
PRICES = ("price_per_gb_month", "price_per_10k_transactions")


def with_evidence(table: AnalysisTable, judged: Judged, bench: Bench, shown: Shown, covered_s: float) -> AnalysisTable:
    """The result of a table with the members that are drawn. ``covered_s``: seconds that the logs cover, 0: no log."""
    designs = designs_of(judged)
    loaded = [(name, estimate, put_down(estimate.scheme, bench)[0]) for name, estimate in designs]
    heat = heat_json(loaded, bench, shown)
    skews = [(name, skew_of(estimate, bench, loads)) for name, estimate, loads in loaded]
    known = [_skew(name, skew, shown) for name, skew in skews if skew is not None]
    return replace(
        table,
        heat=heat,
        why_no_heat=None if heat is not None else NO_RATE,
        skew=AnalysisSkew(designs=known) if len(known) == len(skews) else None,
        forecast=_forecast(designs, bench, covered_s),
        cost=_cost(designs, bench),
        sensitivity=_sensitivity(designs, bench),
    )


def designs_of(judged: Judged) -> list[tuple[str, CostEstimate]]:
    """The current keys and the recommended ones, by name; where they are the same, only as recommended."""
    advice = judged.advice
    assert advice is not None
    best, current = advice.recommended, advice.current
    same = current is None or current.scheme.text == best.scheme.text
    return [*([] if same or current is None else [(CURRENT, current)]), (RECOMMENDED, best)]


def _skew(name: str, skew: Skew, shown: Shown) -> AnalysisSkewDesign:
    sizes = skew.sizes
    return AnalysisSkewDesign(
        design=word(name),
        lorenz=[[number(x), number(y)] for x, y in skew.lorenz],
        gini=number(round(skew.gini, 4)),
        partitions=skew.partitions,
        partitions_at_hand=skew.sampled,
        top=[
            AnalysisSkewDesignTop(
                key=shown.key(each.key),
                share=number(each.share),
                entities_per_s_peak=number(each.per_s),
                grows_with_rows_per_s=number(each.growing_per_s),
                rows=number(round(each.rows)),
            )
            for each in skew.top
        ],
        rows_per_partition=AnalysisRowsPerPartition(
            p50=number(sizes.p50),
            p99=number(sizes.p99),
            largest=number(sizes.largest),
            basis=word(sizes.basis),
        ),
    )


def _forecast(designs: list[tuple[str, CostEstimate]], bench: Bench, covered_s: float) -> AnalysisForecast:
    growth = bench.workload.growth
    return AnalysisForecast(
        unit=word(unit_of(growth)),
        basis=word(basis_of(growth)),
        growth_of=word(bench.growth_of),
        factor_per_month=number(growth.factor_per_month) if growth else None,
        horizon_months=number(growth.horizon_months) if growth else None,
        horizon_factor=number(bench.horizon_factor),
        headroom_share=number(bench.limits.headroom_share),
        note=_growth_note(growth, bench, covered_s),
        designs=[_course(name, estimate, bench) for name, estimate in designs],
    )


def _course(name: str, estimate: CostEstimate, bench: Bench) -> AnalysisForecastDesign:
    course = forecast_of(estimate, bench)
    return AnalysisForecastDesign(
        design=word(name),
        points=[
            AnalysisPoint(
                at=number(p.at),
                partition=number(p.partition),
                low=number(p.low),
                high=number(p.high),
                worst=number(p.worst),
                cause=p.cause or None,
                entities=number(p.entities),
                bytes=number(p.bytes),
            )
            for p in course.points
        ],
        crosses_at=number(course.crosses_at),
        break_factor=number(course.factor),
        cause=course.cause,
    )


def _growth_note(growth: Growth | None, bench: Bench, covered_s: float) -> str:
    """Where the growth comes from, and how little of it was seen."""
    if growth is None:
        said = f"No growth is declared: the outlook assumes up to {bench.horizon_factor:g} times today's peak."
    else:
        percent = 100 * (growth.factor_per_month - 1)
        said = f"Growth is as declared: {amount(percent)} % a month of {growth.of.replace('_', ' ')}."
    if covered_s <= 0:
        return f"{said} It was not measured: there is no log."
    days = covered_s / 86_400
    if days < 30.4 * MONTHS_TOLD:
        seen = f"{amount(days)} days" if days >= 1 else lasting(covered_s)
        return f"{said} It was not measured: the log covers {seen}, fewer than {MONTHS_TOLD} months."
    return f"{said} The log was not read for growth."


def _cost(designs: list[tuple[str, CostEstimate]], bench: Bench) -> AnalysisCost:
    return AnalysisCost(
        currency=currency(bench),
        per="month",
        prices=figures(map(bench.limits.of, PRICES), AnalysisPrice),
        designs=[_bill(name, estimate, bench) for name, estimate in designs],
    )


def _bill(name: str, estimate: CostEstimate, bench: Bench) -> AnalysisCostDesign:
    parts = split(estimate, bench)
    return AnalysisCostDesign(
        design=word(name),
        **{part: number(parts[part]) for part in SPLIT},
        total=number(sum(parts.values())),
        classes=[
            AnalysisClass(
                name=c.name, kind=word(c.kind), requests_per_s=number(c.requests_per_s), price=number(c.price)
            )
            for c in class_prices(estimate, bench)
        ],
    )


def _sensitivity(designs: list[tuple[str, CostEstimate]], bench: Bench) -> AnalysisSensitivity:
    tried = [(name, each, what_if(each, bench)) for name, each in designs]
    return AnalysisSensitivity(
        growth_of=word(bench.growth_of),
        loads=[number(load) for load in tried[0][2].loads],
        growths=[number(growth) for growth in tried[0][2].growths],
        designs=[
            AnalysisSensitivityDesign(
                design=word(name),
                grid=[
                    [
                        AnalysisGrid(word=word(c.word), times_limit=number(c.times_limit), cause=c.cause or None)
                        for c in row
                    ]
                    for row in each.grid
                ],
                break_factor=number(each.factor),
                bars=[
                    AnalysisBar(
                        name=bar.name,
                        unit=bar.unit,
                        basis=word(bar.basis),
                        value=number(bar.value),
                        half=number(bar.low),
                        twice=number(bar.high),
                    )
                    for bar in each.bars
                ],
                unmoved=list(each.unmoved),
                break_even=[
                    AnalysisBreakEven(of=word(of), factor=number(factor)) for of, factor in break_even(estimate, bench)
                ],
            )
            for name, estimate, each in tried
        ],
    )
