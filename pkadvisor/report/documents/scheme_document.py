"""One scheme as a part of the documents: what its requests cost, when its keys reach a limit, its terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pkadvisor.design.choice.certainty.cost_intervals import reads_of
from pkadvisor.design.choice.goals import GOALS, Loss, goal_value
from pkadvisor.design.cost.cost import score_points
from pkadvisor.design.keys.scheme import IndexRow, Key, KeyScheme
from pkadvisor.design.keys.template import format_template
from pkadvisor.design.load.breaks import saturation, smallest
from pkadvisor.design.plan.requests import client_work
from pkadvisor.design.rows.fronts import Fronts
from pkadvisor.design.rows.population import Population
from pkadvisor.documents.part import number
from pkadvisor.report.documents.values import Shown, violation_json

if TYPE_CHECKING:
    from pkadvisor.design.load.estimates import Break, ClassCost, CostEstimate, HotPartition, Term, TransactionOutcome
    from pkadvisor.observe.workload import Growth

EXAMPLES = 3


def scheme_result(
    estimate: CostEstimate,
    population: Population,
    shown: Shown,
    lost: Loss | None,
    *,
    full: bool,
    rank: int | None = None,
    growth: Growth | None = None,
) -> dict[str, Any]:
    """A scheme with its price; ``full`` with keys of entities and with its transactions."""
    scheme = estimate.scheme
    points = score_points(estimate.classes, estimate.break_factor, estimate.horizon_factor)
    out: dict[str, Any] = {
        "rank": rank,
        "partition_key": format_template(scheme.main.partition),
        "row_key": format_template(scheme.main.row),
        "index_rows": [_index_row(row, scheme) for row in scheme.index_rows],
        "pattern": scheme.pattern,
        "feasible": estimate.feasible,
        "score": number(round(estimate.score, 1)),
        "terms": _terms(estimate),
        "hot_partition": None if estimate.hot is None else _hot_partition(estimate.hot, shown),
        "write_fronts": _write_fronts(estimate.fronts),
        "goals": [{"goal": g.name, "unit": g.unit, "value": number(goal_value(g, estimate))} for g in GOALS],
        "break_cause": estimate.break_cause,
        **_when(estimate, growth),
        "classes": [_class(c, estimate, p) for c, p in zip(estimate.classes, points, strict=True)],
        "violations": [violation_json(v, shown) for v in estimate.violations],
        "remarks": [{"code": r.code, "message": shown.told(r)} for r in estimate.remarks],
        "loses": None
        if lost is None
        else {"goal": lost.goal, "unit": lost.unit, "value": number(lost.mine), "winner": number(lost.winner)},
    }
    if full:
        out["examples"] = _examples(scheme.main, population, shown)
        out["index_examples"] = [_examples(row.key, population, shown)[:1] for row in scheme.index_rows]
        out["transactions"] = [_transaction(t) for t in estimate.transactions]
    return out


def _index_row(row: IndexRow, scheme: KeyScheme) -> dict[str, Any]:
    return {
        "partition_key": format_template(row.key.partition),
        "row_key": format_template(row.key.row),
        "copy": row.copy,
        "consistency": "atomic" if scheme.same_partition(row) else "eventual",
    }


def _write_fronts(fronts: Fronts) -> dict[str, Any]:
    return {
        "lasting": None if fronts.median is None else number(fronts.median),
        "least": None if fronts.least is None else number(fronts.least),
        "least_share": None if fronts.least_share is None else number(fronts.least_share),
        "window_s": None if fronts.window_s is None else number(fronts.window_s),
        "basis": str(fronts.basis),
        "note": fronts.note,
    }


def _transaction(outcome: TransactionOutcome) -> dict[str, Any]:
    return {
        "name": outcome.name,
        "kept": outcome.kept,
        "required": outcome.required,
        "mean_entities": number(outcome.mean_entities),
        "sets_over_limit": outcome.too_large,
        "sets": outcome.groups,
        "entities_most": outcome.entities_most,
        **_pairs(outcome),
    }


def _pairs(outcome: TransactionOutcome) -> dict[str, Any]:
    """What is known of a transaction over pairs, with the protocol for those in two partitions."""
    pairs, repair = outcome.guaranteed, outcome.repair
    if pairs is None:
        return {}
    steps = None if repair is None else {"steps": list(repair.steps), "find": repair.find, "requests": repair.requests}
    return {
        "pairs": {"guaranteed": number(pairs.share), "basis": str(pairs.basis), "counted": pairs.pairs},
        "repair": steps,
    }


def _hot_partition(hot: HotPartition, shown: Shown) -> dict[str, Any]:
    return {
        "partition_key": shown.key(hot.partition_key),
        "entities_per_s_peak": number(hot.entities_per_s),
        "entities_per_s_mean": number(hot.mean_per_s),
        "entities_per_s_peak_second": number(hot.second_per_s),
        "share": number(hot.share),
        "basis": str(hot.basis),
        "verdict": hot.verdict or None,
        "helps": hot.helps or None,
    }


def _when(estimate: CostEstimate, growth: Growth | None) -> dict[str, Any]:
    """When a design breaks: what binds first, and every limit with the growth that passes it."""
    binds = saturation(estimate.breaks, estimate.requests_per_s_peak)
    first = smallest(estimate.breaks)
    return {
        "first_break": None
        if first is None
        else {
            "factor": number(first.factor),
            "cause": first.cause,
            "growth_of": [str(kind) for kind in first.by],
        },
        "saturation": None
        if binds is None
        else {"requests_per_s": number(binds.value), "cause": binds.source, "basis": str(binds.basis)},
        "breaks": _breaks((*estimate.breaks, *estimate.full), growth),
    }


def _breaks(breaks: Sequence[Break], growth: Growth | None) -> list[dict[str, Any]]:
    """Each limit: growth as a factor of today's peak, at the target and at the head-room line."""
    out = []
    for limit_break in breaks:
        months = limit_break.months(growth)
        out.append(
            {
                "cause": limit_break.cause,
                "resource": limit_break.resource,
                "measured": number(limit_break.measured),
                "limit": number(limit_break.limit),
                "unit": limit_break.unit,
                "factor": number(limit_break.factor),
                "factor_headroom": number(limit_break.factor_comfort),
                "growth_of": [str(kind) for kind in limit_break.by],
                "months": None if months is None else number(months),
            }
        )
    return out


def _terms(estimate: CostEstimate) -> list[dict[str, Any]]:
    """The terms of a cost, each with unit, basis and source; an interval where it was estimated from a sample."""
    return [
        {
            "name": term.name,
            "value": number(term.value),
            "unit": term.unit,
            "basis": str(term.basis),
            "source": term.source,
            **bounds(term),
        }
        for term in estimate.terms
    ]


def bounds(term: Term | None) -> dict[str, float | int | None]:
    """The two ends of a term's interval; none where it was counted, or where nothing bounds it."""
    if term is None or (term.low is not None and term.low == term.high):
        return {}
    low, high = (None if end is None else number(end) for end in (term.low, term.high))
    return {} if low is None and high is None else {"low": low, "high": high}


def _class(cost: ClassCost, estimate: CostEstimate, points: float | None) -> dict[str, Any]:
    """What one class costs; ``points`` is what it adds to the score."""
    plan = cost.plan
    out: dict[str, Any] = {
        "name": cost.name,
        "operation": str(cost.operation),
        "rate_per_s": number(cost.rate_per_s),
        "access": None if plan is None else str(plan.access),
        "via": "main" if plan is None or plan.via == 0 else f"index row {plan.via}",
        "fan_out": number(cost.fan_out),
        "entities_read": number(cost.entities_read),
        "entities_read_max": number(cost.entities_read_max),
        "entities_read_interval": bounds(next((t for t in estimate.terms if t.name == reads_of(cost.name)), None))
        or None,
        "entities_returned": number(cost.entities_returned),
        "entities_written": number(cost.entities_written),
        "requests": number(cost.requests),
        "requests_locate": number(cost.requests_locate),
        "attempts_per_commit": number(cost.attempts),
        "latency_ms_p50": number(cost.latency_ms_p50),
        "latency_ms_p99": number(cost.latency_ms_p99),
        "latency_goal_ms_p99": number(cost.latency_goal_ms_p99) if cost.latency_goal_ms_p99 else None,
        "analytic": cost.analytic,
        "useful_share": number(cost.useful_share),
        "score_points": None if points is None else number(points),
        "filters": [] if plan is None else list(plan.filters),
        "top": None if plan is None else plan.top,
        "client_work": [] if plan is None else client_work(plan, cost.fan_out),
        "notes": list(cost.notes),
    }
    return out


def _examples(key: Key, population: Population, shown: Shown) -> list[dict[str, str]]:
    """Keys of entities from the data: first, middle and last in the order at hand."""
    from pkadvisor.design.load.keyfacts import encode_row
    from pkadvisor.design.rows.list_values import under

    parts = (*key.partition, *key.row)
    population = under(parts, population)
    rows = sorted({0, population.rows // 2, population.rows - 1} & set(range(population.rows)))[:EXAMPLES]
    out = []
    for row in rows:
        partition, row_key = (encode_row(each, population, row) for each in (key.partition, key.row))
        out.append({"partition_key": shown.key(partition), "row_key": shown.key(row_key)})
    return out
