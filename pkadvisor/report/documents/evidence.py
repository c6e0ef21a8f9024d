"""What a result shows beside its verdict: where the load falls, when it grows too large, what that rests on.

The heat maps of a result: the load of the current keys and of the recommended ones over keys and time.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from pkadvisor.design.choice.certainty.what_if import break_even, what_if
from pkadvisor.design.choice.sections import Judged
from pkadvisor.design.cost.cost import put_down
from pkadvisor.design.cost.forecast import basis_of, forecast_of, unit_of
from pkadvisor.design.cost.heat_grid import Band, HeatGrid, grid_of, moves
from pkadvisor.design.keys.template import format_template
from pkadvisor.design.load.estimates import Bench, CostEstimate
from pkadvisor.design.load.heat import LoadMap, Skew, skew_of
from pkadvisor.design.load.heat_clock import HeatClock, clock_of
from pkadvisor.design.load.heat_pattern import IDLE, Pattern, pattern_of
from pkadvisor.design.load.keyfacts import band_label, encode_row, label_text
from pkadvisor.design.load.money import SPLIT, class_prices, currency, split
from pkadvisor.design.rows.demand import Demand
from pkadvisor.design.rows.list_values import under
from pkadvisor.design.rows.schedule import schedule_of
from pkadvisor.documents.analysis_table import (
    AnalysisBar,
    AnalysisBreakEven,
    AnalysisClass,
    AnalysisCost,
    AnalysisCostDesign,
    AnalysisDesign,
    AnalysisForecast,
    AnalysisForecastDesign,
    AnalysisGrid,
    AnalysisHeatMap,
    AnalysisHottest,
    AnalysisPattern,
    AnalysisPoint,
    AnalysisPrice,
    AnalysisRow,
    AnalysisRowsPerPartition,
    AnalysisSensitivity,
    AnalysisSensitivityDesign,
    AnalysisSkew,
    AnalysisSkewDesign,
    AnalysisSkewDesignTop,
    AnalysisTable,
)
from pkadvisor.documents.part import number, part_of, word
from pkadvisor.numbers import amount, lasting
from pkadvisor.observe.workload import DrawBy, Growth
from pkadvisor.report.documents.values import Shown, figures, time_text

PER_MILLE_MAX = 10**9
"""The highest cell that is told: a million times the target."""


def heat_json(designs: list[tuple[str, CostEstimate, LoadMap]], bench: Bench, shown: Shown) -> AnalysisHeatMap | None:
    """Key space × time of each design (name, price, where its load falls), all on one time axis and one absolute scale;
    None where no rate is known."""
    clock = clock_of(bench.workload, bench.population, schedule_of(bench.workload, bench.population))
    maps = [(name, estimate, grid_of(estimate, bench, loads, clock)) for name, estimate, loads in designs]
    if not any(len(grid.bands) for _, _, grid in maps):
        return None
    return AnalysisHeatMap(
        basis=word(clock.basis),
        note=_note(bench, clock),
        unit="entities/s",
        target_per_s=number(bench.limits.partition_entities_per_s),
        step_s=number(clock.step_s),
        start=time_text(clock.start_us),
        columns=clock.columns,
        designs=[_design(name, estimate, grid, bench, shown) for name, estimate, grid in maps],
    )


def _design(name: str, estimate: CostEstimate, grid: HeatGrid, bench: Bench, shown: Shown) -> AnalysisDesign:
    partitions = [band.partitions for band in grid.bands]
    pattern, of_inserts = pattern_of(grid.means, partitions), pattern_of(grid.inserts, partitions, "inserts")
    target, hot = bench.limits.partition_entities_per_s, estimate.hot
    return AnalysisDesign(
        design=word(name),
        rows=[_row(band, bench, shown) for band in grid.bands],
        per_mille=[[_per_mille(float(value)) for value in line] for line in grid.peaks],
        row_per_s=[number(float(line.sum()) / grid.means.shape[1]) for line in grid.means],
        column_per_s=[number(float(value)) for value in grid.totals],
        hottest=None
        if hot is None
        else AnalysisHottest(
            key=shown.key(hot.partition_key),
            share=number(hot.share),
            per_mille=_per_mille(hot.entities_per_s / target),
        ),
        pattern=pattern_json(pattern),
        inserts_pattern=None if of_inserts.name == IDLE else pattern_json(of_inserts),
    )


def pattern_json(pattern: Pattern) -> AnalysisPattern:
    """A pattern's word, its sentence, the share of the load that is in it, and how many fronts or hot spots it has."""
    return part_of(AnalysisPattern, pattern)


def _row(band: Band, bench: Bench, shown: Shown) -> AnalysisRow:
    """A band of keys; ``label`` is what its keys have in common, as the template writes it."""
    population = bench.population
    population = under(band.template, population)
    first, last = (encode_row(band.template, population, row) for row in (band.first_row, band.last_row))
    label = band_label(band.template, population, band.first_row, band.last_row)
    return AnalysisRow(
        from_key=shown.key(first),
        to_key=shown.key(last),
        partitions=band.partitions,
        label=label_text([(shown.key(a), shown.key(b)) for a, b in label]),
        template=format_template(band.template),
    )


def _per_mille(share: float) -> int:
    return min(PER_MILLE_MAX, round(1000 * float(f"{share:.6g}")))


def _note(bench: Bench, clock: HeatClock) -> str:
    """What the map counts and what it assumes, in sentences."""
    said = [
        "A cell is the busiest partition of its keys at the worst moment of its time, in thousandths of a partition's "
        "target. Partitions that inserts begin in a cell count together: they are one range until it is split.",
        clock.note[:1].upper() + clock.note[1:] + ".",
    ]
    population = bench.population
    live = [d for d in bench.demands if not d.query.analytic and d.query.rate.sustained_per_s > 0]
    inserts = [d for d in live if d.query.operation.writes and d.query.filter is None]
    moving = [d for d in inserts if moves(d, bench)]
    logged = [d for d in moving if d.query.name in bench.workload.instances]
    if clock.columns > 1 and (sampled := [d for d in moving if d not in logged]):
        when = "at their own time" if clock.arrival_columns is not None else "replayed over the time shown"
        said.append(f"Inserts ({_names(sampled)}) follow the sampled rows in their order of arrival, {when}.")
    if clock.columns > 1 and logged:
        said.append(f"Inserts ({_names(logged)}) follow the rows that the log names, in their order.")
    if still := [d for d in inserts if d not in moving or clock.columns == 1]:
        said.append(f"Inserts ({_names(still)}) fall where the sampled rows are: their order is not known.")
    newest = [d for d in live if d.query.draw.by is DrawBy.NEWEST]
    if newest:
        said.append(f"What is newest at the end of the data is so for the whole map ({_names(newest)}).")
    if any(d.query.draw.by is DrawBy.LOG and d not in inserts for d in live):
        said.append("Which keys a log asks for is taken to be the same in every minute; how much is counted.")
    if population.rows < population.total:
        sample = f"{population.rows:,} of {population.total:,} entities were read"
        said.append(f"{sample}; a row of the map also stands for the keys between them.")
    analytic = [d for d in bench.demands if d.query.analytic]
    if analytic:
        said.append(f"Classes for analysis are left out ({_names(analytic)}).")
    return " ".join(said)


def _names(demands: Sequence[Demand]) -> str:
    return ", ".join(d.query.name for d in demands)


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
        rows_per_partition=part_of(AnalysisRowsPerPartition, skew.sizes),
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
            part_of(AnalysisPoint, p, cause=p.cause or None, entities=number(p.entities), bytes=number(p.bytes))
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
        classes=[part_of(AnalysisClass, each) for each in class_prices(estimate, bench)],
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
                grid=[[part_of(AnalysisGrid, cell, cause=cell.cause or None) for cell in row] for row in each.grid],
                break_factor=number(each.factor),
                bars=[
                    part_of(
                        AnalysisBar,
                        bar,
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
