"""The heat maps of a result: the load of the current keys and of the recommended ones over keys and time."""

from __future__ import annotations

from collections.abc import Sequence

from pkadvisor.design.cost.heat_grid import Band, HeatGrid, grid_of, moves
from pkadvisor.design.keys.template import format_template
from pkadvisor.design.load.estimates import Bench, CostEstimate
from pkadvisor.design.load.heat import LoadMap
from pkadvisor.design.load.heat_clock import HeatClock, clock_of
from pkadvisor.design.load.heat_pattern import IDLE, Pattern, pattern_of
from pkadvisor.design.load.key_labels import band_label, label_text
from pkadvisor.design.load.keyfacts import encode_row
from pkadvisor.design.rows.demand import Demand
from pkadvisor.design.rows.list_values import under
from pkadvisor.design.rows.schedule import schedule_of
from pkadvisor.documents.analysis_table import (
    AnalysisDesign,
    AnalysisHeatMap,
    AnalysisHottest,
    AnalysisPattern,
    AnalysisRow,
)
from pkadvisor.documents.part import number, word
from pkadvisor.observe.workload import DrawBy
from pkadvisor.report.documents.values import Shown, time_text

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
    return AnalysisPattern(
        name=word(pattern.name), sentence=pattern.sentence, share=number(pattern.share), count=pattern.count
    )


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
