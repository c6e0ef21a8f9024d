"""``advisor stress`` from what was given to the document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pkadvisor.limits import load_limits
from pkadvisor.report.result import Shown, number, scheme_result
from pkadvisor.report.stress_result import run_json, stress_document
from pkadvisor.stresser.audit import audit_of
from pkadvisor.stresser.designs import Design, Table, tables_of
from pkadvisor.stresser.goals import goals_json
from pkadvisor.stresser.limit import limit_of
from pkadvisor.stresser.load_measures import load_measures
from pkadvisor.stresser.predictions import class_predictions
from pkadvisor.stresser.proof import proof_of
from pkadvisor.stresser.runs import COLD, WARM, run_of
from pkadvisor.stresser.stand import Stand, load_at, mix_of, stand_of
from pkadvisor.stresser.verdict import verdict_of

if TYPE_CHECKING:
    from pkadvisor.limits import Limits
    from pkadvisor.progress import Progress
    from pkadvisor.stress.retry import RetryPolicy
    from pkadvisor.stresser.request import StressRequest


@dataclass
class _Interrupted(Exception):  # noqa: N818
    """Ctrl-C, with what was finished by then."""

    designs: list[dict[str, Any]]


def stress(request: StressRequest, progress: Progress) -> dict[str, Any]:
    """The document of a stress test. After Ctrl-C it holds what was run by then, and says that it is not complete.

    UsageError (2) and InputError (3) as ``tables_of`` raises them, and for texts of loads, policies and faults.
    """
    from pkadvisor.stress.faults import parse_fault
    from pkadvisor.stress.load_text import parse_load
    from pkadvisor.stress.retry import policy_of

    limits = load_limits(*request.reading.limits)
    shape, policy = parse_load(request.load), policy_of(request.retry)
    for text in request.faults:
        parse_fault(text)
    tables, complete = [], True
    for table in tables_of(request, limits, progress):
        try:
            tables.append(_table(table, request, limits, policy, progress))
        except _Interrupted as stopped:
            complete = False
            if stopped.designs:
                tables.append(_closed(table, request, stopped.designs))
            break
    goals = [mark for t in tables for goal in t["goals"] for mark in goal["designs"] if mark["decides"]]
    return stress_document(
        settings=_settings(request, str(shape)),
        tables=tables,
        limits=limits,
        redact=request.reading.redact,
        complete=complete,
        missed=any(not mark["met"] for mark in goals),
    )


def _settings(request: StressRequest, words: str) -> dict[str, Any]:
    return {
        "load": request.load,
        "load_words": words,
        "growth_months": number(request.growth_months),
        "duration_s": number(request.duration_s),
        "retry": request.retry,
        "enforcement": str(request.enforcement),
        "servers": request.servers,
        "faults": list(request.faults),
        "goals": [{"name": g.name, "most": number(g.most), "unit": g.unit} for g in request.goals],
        "seed": request.seed,
    }


def _table(
    table: Table, request: StressRequest, limits: Limits, policy: RetryPolicy, progress: Progress
) -> dict[str, Any]:
    done: list[dict[str, Any]] = []
    try:
        for design in table.designs:
            progress.phase(f"run {table.section.table}, {design.label}")
            done.append(_design(table, design, request, limits, policy))
    except KeyboardInterrupt:
        raise _Interrupted(done) from None
    return _closed(table, request, done)


def _closed(table: Table, request: StressRequest, designs: list[dict[str, Any]]) -> dict[str, Any]:
    """A table with its goals and its verdict."""
    declared = {
        c.name: c.latency_goal_ms_p99
        for c in table.bench.workload.classes
        if c.latency_goal_ms_p99 is not None and not c.analytic
    }
    goals = goals_json(request.goals, declared, designs)
    first = designs[0]["runs"][0]
    return {
        "table": table.section.table,
        "kind": table.section.kind,
        "offered_requests_per_s": first["offered_requests_per_s"],
        "classes": [entry["name"] for entry in first["classes"]],
        "notes": sorted({note for design in designs for note in design.pop("notes")}),
        "designs": designs,
        "goals": goals,
        "verdict": verdict_of(designs, goals),
    }


def _design(
    table: Table, design: Design, request: StressRequest, limits: Limits, policy: RetryPolicy
) -> dict[str, Any]:
    shown = Shown(request.reading.redact)
    stand = stand_of(table, design, request, limits)
    runs, results = [], []
    for state in (WARM, COLD):
        found = run_of(stand, request, policy, state=state, faults=request.faults)
        results.append(found)
        runs.append({"state": state, **run_json(found, stand.scripts.space, limits, shown)})
        if not found.complete:
            raise KeyboardInterrupt
    return {
        "label": design.label,
        "scheme": scheme_result(design.estimate, table.bench.population, shown, None, full=True),
        "runs": runs,
        "prediction": {
            "classes": class_predictions(stand),
            "load": load_measures(stand, results[0], runs[0], policy, _times(stand)),
            "breaks": [proof for proof in [proof_of(stand, request, load_at)] if proof is not None],
            "audit": audit_of(stand, request),
        },
        "limit": limit_of(stand, request, policy, load_at) if request.find_limit else None,
        "partition_test": None,
        "notes": list(stand.notes),
    }


def _times(stand: Stand) -> float:
    """The load over the worst minute that the estimate is about."""
    whole = mix_of(load_at(stand, 1.0, 60.0), stand.programs)[1]
    return stand.offered_per_s / sum(whole)
