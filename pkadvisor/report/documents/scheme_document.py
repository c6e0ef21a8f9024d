"""One scheme as a part of the documents: what its requests cost, when its keys reach a limit, its terms."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET
from msgspec.structs import asdict

from pkadvisor.design.choice.certainty.cost_intervals import reads_of
from pkadvisor.design.choice.goals import GOALS, Loss, goal_value
from pkadvisor.design.cost.cost import score_points
from pkadvisor.design.keys.scheme import IndexRow, Key, KeyScheme
from pkadvisor.design.keys.template import format_template
from pkadvisor.design.load.breaks import saturation, smallest
from pkadvisor.design.load.estimates import Break, ClassCost, CostEstimate, HotPartition, Term, TransactionOutcome
from pkadvisor.design.load.keyfacts import encode_row
from pkadvisor.design.plan.requests import client_work
from pkadvisor.design.rows.fronts import Fronts
from pkadvisor.design.rows.list_values import under
from pkadvisor.design.rows.population import Population
from pkadvisor.documents.analysis_scheme import (
    AnalysisBreak,
    AnalysisClassCost,
    AnalysisEntitiesReadInterval,
    AnalysisExampleKey,
    AnalysisFirstBreakRecord,
    AnalysisFullScheme,
    AnalysisGoal,
    AnalysisHotPartition,
    AnalysisIndexRow,
    AnalysisLostGoal,
    AnalysisPair,
    AnalysisPairRepair,
    AnalysisRemark,
    AnalysisSaturation,
    AnalysisScheme,
    AnalysisTerm,
    AnalysisTransaction,
    AnalysisWriteFront,
)
from pkadvisor.documents.part import number, part_of, word
from pkadvisor.observe.workload import Growth
from pkadvisor.report.documents.values import Shown, violation_json

EXAMPLES = 3


def scheme_document(
    estimate: CostEstimate, shown: Shown, lost: Loss | None, *, rank: int | None = None, growth: Growth | None = None
) -> AnalysisScheme:
    """A scheme with its price."""
    scheme = estimate.scheme
    points = score_points(estimate.classes, estimate.break_factor, estimate.horizon_factor)
    binds = saturation(estimate.breaks, estimate.requests_per_s_peak)
    first = smallest(estimate.breaks)
    return AnalysisScheme(
        rank=rank,
        partition_key=format_template(scheme.main.partition),
        row_key=format_template(scheme.main.row),
        index_rows=[_index_row(row, scheme) for row in scheme.index_rows],
        pattern=scheme.pattern,
        feasible=estimate.feasible,
        score=number(round(estimate.score, 1)),
        terms=_terms(estimate),
        hot_partition=None if estimate.hot is None else _hot_partition(estimate.hot, shown),
        write_fronts=_write_fronts(estimate.fronts),
        goals=[AnalysisGoal(goal=g.name, unit=g.unit, value=number(goal_value(g, estimate))) for g in GOALS],
        break_cause=estimate.break_cause,
        first_break=None
        if first is None
        else AnalysisFirstBreakRecord(
            factor=number(first.factor), cause=first.cause, growth_of=[word(kind) for kind in first.by]
        ),
        saturation=None
        if binds is None
        else AnalysisSaturation(requests_per_s=number(binds.value), cause=binds.source, basis=word(binds.basis)),
        breaks=_breaks((*estimate.breaks, *estimate.full), growth),
        classes=[_class(c, estimate, p) for c, p in zip(estimate.classes, points, strict=True)],
        violations=[violation_json(v, shown) for v in estimate.violations],
        remarks=[AnalysisRemark(code=r.code, message=shown.told(r)) for r in estimate.remarks],
        loses=None
        if lost is None
        else AnalysisLostGoal(goal=lost.goal, unit=lost.unit, value=number(lost.mine), winner=number(lost.winner)),
    )


def full_scheme(
    estimate: CostEstimate,
    population: Population,
    shown: Shown,
    lost: Loss | None,
    *,
    rank: int | None = None,
    growth: Growth | None = None,
) -> AnalysisFullScheme:
    """A scheme with its price, with keys of entities and with its transactions."""
    scheme = estimate.scheme
    more = {
        "examples": _examples(scheme.main, population, shown),
        "index_examples": [_examples(row.key, population, shown)[:1] for row in scheme.index_rows],
        "transactions": [_transaction(t) for t in estimate.transactions],
    }
    return AnalysisFullScheme(**asdict(scheme_document(estimate, shown, lost, rank=rank, growth=growth)) | more)


def _index_row(row: IndexRow, scheme: KeyScheme) -> AnalysisIndexRow:
    return AnalysisIndexRow(
        partition_key=format_template(row.key.partition),
        row_key=format_template(row.key.row),
        copy=word(row.copy),
        consistency="atomic" if scheme.same_partition(row) else "eventual",
    )


def _write_fronts(fronts: Fronts) -> AnalysisWriteFront:
    return part_of(AnalysisWriteFront, fronts, lasting=number(fronts.median))


def _transaction(outcome: TransactionOutcome) -> AnalysisTransaction:
    pairs, repair = outcome.guaranteed, outcome.repair
    return part_of(
        AnalysisTransaction,
        outcome,
        sets_over_limit=outcome.too_large,
        sets=outcome.groups,
        pairs=UNSET
        if pairs is None
        else AnalysisPair(guaranteed=number(pairs.share), basis=word(pairs.basis), counted=pairs.pairs),
        repair=UNSET
        if pairs is None
        else None
        if repair is None
        else part_of(AnalysisPairRepair, repair, requests=repair.requests),
    )


def _hot_partition(hot: HotPartition, shown: Shown) -> AnalysisHotPartition:
    return part_of(
        AnalysisHotPartition,
        hot,
        partition_key=shown.key(hot.partition_key),
        entities_per_s_peak=number(hot.entities_per_s),
        entities_per_s_mean=number(hot.mean_per_s),
        entities_per_s_peak_second=number(hot.second_per_s),
        verdict=word(hot.verdict or None),
        helps=hot.helps or None,
    )


def _breaks(breaks: Sequence[Break], growth: Growth | None) -> list[AnalysisBreak]:
    """Each limit: growth as a factor of today's peak, at the target and at the head-room line."""
    return [
        part_of(
            AnalysisBreak,
            each,
            measured=number(each.measured),
            limit=number(each.limit),
            factor_headroom=number(each.factor_comfort),
            growth_of=[word(kind) for kind in each.by],
            months=number(each.months(growth)),
        )
        for each in breaks
    ]


def _terms(estimate: CostEstimate) -> list[AnalysisTerm]:
    """The terms of a cost, each with unit, basis and source; an interval where it was estimated from a sample."""
    return [
        part_of(AnalysisTerm, term, value=number(term.value), **{"low": UNSET, "high": UNSET} | bounds(term))
        for term in estimate.terms
    ]


def bounds(term: Term | None) -> dict[str, float | int | None]:
    """The two ends of a term's interval; none where it was counted, or where nothing bounds it."""
    if term is None or (term.low is not None and term.low == term.high):
        return {}
    low, high = number(term.low), number(term.high)
    return {} if low is None and high is None else {"low": low, "high": high}


def _class(cost: ClassCost, estimate: CostEstimate, points: float | None) -> AnalysisClassCost:
    """What one class costs; ``points`` is what it adds to the score."""
    plan = cost.plan
    ends = bounds(next((t for t in estimate.terms if t.name == reads_of(cost.name)), None))
    return part_of(
        AnalysisClassCost,
        cost,
        access=None if plan is None else word(plan.access),
        via="main" if plan is None or plan.via == 0 else f"index row {plan.via}",
        entities_read_interval=AnalysisEntitiesReadInterval(**ends) if ends else None,
        attempts_per_commit=number(cost.attempts),
        latency_goal_ms_p99=number(cost.latency_goal_ms_p99) if cost.latency_goal_ms_p99 else None,
        score_points=number(points),
        filters=[] if plan is None else list(plan.filters),
        top=None if plan is None else plan.top,
        client_work=[] if plan is None else client_work(plan, cost.fan_out),
    )


def _examples(key: Key, population: Population, shown: Shown) -> list[AnalysisExampleKey]:
    """Keys of entities from the data: first, middle and last in the order at hand."""
    parts = (*key.partition, *key.row)
    population = under(parts, population)
    rows = sorted({0, population.rows // 2, population.rows - 1} & set(range(population.rows)))[:EXAMPLES]
    out = []
    for row in rows:
        partition, row_key = (encode_row(each, population, row) for each in (key.partition, key.row))
        out.append(AnalysisExampleKey(partition_key=shown.key(partition), row_key=shown.key(row_key)))
    return out
