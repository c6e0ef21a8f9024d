"""Everything that is run of one design, and its part of the document."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import NamedTuple

from pkadvisor.documents.part import number
from pkadvisor.documents.stress import StressDesign, StressMeasured
from pkadvisor.documents.stress_run import (
    StressAudit,
    StressBreak,
    StressLimit,
    StressLoad,
    StressPartitionTest,
    StressPrediction,
    StressPredictionClass,
    StressRun,
)
from pkadvisor.engine.options import SECOND
from pkadvisor.limits import Limits
from pkadvisor.numbers import lasting
from pkadvisor.report.documents.scheme_document import full_scheme
from pkadvisor.report.documents.values import Shown, violation_json
from pkadvisor.stress.experiment.audit import NOT_RUN, audit_of
from pkadvisor.stress.experiment.designs import DesignedTable
from pkadvisor.stress.experiment.goals import USUAL, all_met, met
from pkadvisor.stress.experiment.load_measures import load_measures
from pkadvisor.stress.experiment.notes import Note
from pkadvisor.stress.experiment.partition_test import partition_test
from pkadvisor.stress.experiment.pass_criteria import bears_load
from pkadvisor.stress.experiment.predictions import class_predictions
from pkadvisor.stress.experiment.prepared_design import PreparedDesign, load_at
from pkadvisor.stress.experiment.proof import proof_of
from pkadvisor.stress.experiment.request import StressRequest
from pkadvisor.stress.experiment.runs import (
    COLD,
    WARM,
    clients_notes,
    clients_state,
    run_of,
    run_of_clients,
    run_on_own_map,
)
from pkadvisor.stress.experiment.stress_result import stress_run
from pkadvisor.stress.experiment.verdict import BOUNDS
from pkadvisor.stress.load.load import Load
from pkadvisor.stress.placement.run_result import RunResult
from pkadvisor.stress.requests.retry import RetryPolicy
from pkadvisor.values import dataclass

# ----------------------------------------------------------------------------------------------------------------------
# The highest load that still meets the goals, and what binds above it.

SECONDS = 60.0
REQUESTS_MAX = 2_000_000
PRECISION = 0.01
FACTOR_MAX = 1e6


def limit_of(
    prepared: PreparedDesign,
    request: StressRequest,
    policy: RetryPolicy,
    load_at: Callable[[PreparedDesign, float, float], Load],
) -> StressLimit:
    """Bisection on the factor of the load, each on the map that it warms up to, to one percent.

    ``binds``: the target that turned most away at the lowest load that missed a goal, or the goal itself where nothing
    was turned away.
    """
    goals = request.goals or USUAL

    def run_at(factor: float) -> StressRun:
        seconds = min(SECONDS, REQUESTS_MAX / max(1e-9, factor * prepared.offered_per_s))
        run = run_on_own_map(
            prepared, request, policy, prepared.own_part(load_at(prepared, factor, seconds)), prepared.scripts
        )
        return stress_run("", run, prepared.scripts.space, prepared.limits, Shown(False))

    good, bad, failed = 0.0, 1.0, run_at(1.0)
    while all_met(goals, failed) and bad < FACTOR_MAX:
        good, bad = bad, bad * 2
        failed = run_at(bad)
    if all_met(goals, failed):
        return StressLimit(factor=number(bad), requests_per_s=number(bad * prepared.whole_per_s), binds="")
    while bad - good > PRECISION * bad:
        middle = (good + bad) / 2
        run = run_at(middle)
        if all_met(goals, run):
            good = middle
        else:
            bad, failed = middle, run
        if bad < 1e-6:
            break
    by = failed.throttled_by
    binds = max(by, key=lambda name: (by[name], name)) if by else ""
    missed = next((goal.name for goal in goals if not met(goal, failed)), "")
    return StressLimit(
        factor=number(good),
        requests_per_s=number(good * prepared.whole_per_s),
        binds=BOUNDS[binds] if binds else f"{missed} of the service itself",
    )


@dataclass(slots=True)
class DesignFindings:
    """What was found of a design so far; Ctrl-C may come at any moment."""

    runs: list[StressRun] = field(default_factory=list)
    classes: list[StressPredictionClass] = field(default_factory=list)
    load: list[StressLoad] = field(default_factory=list)
    breaks: list[StressBreak] = field(default_factory=list)
    audit: StressAudit | None = None
    limit: StressLimit | None = None
    partition_test: StressPartitionTest | None = None
    measured: StressMeasured | None = None
    notes: list[Note] = field(default_factory=list)


def run_design(
    findings: DesignFindings, prepared: PreparedDesign, request: StressRequest, policy: RetryPolicy, limits: Limits
) -> None:
    """Everything that is run of one design. KeyboardInterrupt leaves what was found by then in ``findings``."""
    shown = Shown(request.reading.redact)
    findings.notes += prepared.notes

    def keep(state: str, run: RunResult) -> None:
        findings.runs.append(stress_run(state, run, prepared.scripts.space, limits, shown))
        if not run.complete:
            raise KeyboardInterrupt

    results: list[RunResult] = []
    for state in (WARM, COLD):
        bears = not findings.runs or bears_load(findings.runs[0])
        if results and prepared.starts_alike:
            results.append(results[0])
        else:
            results.append(run_of(prepared, request, policy, state=state, faults=request.faults, bears=bears))
        keep(state, results[-1])
    if not bears and results[1].duration_ns < prepared.load.duration_ns:
        why = f"{prepared.design.label}: warmed up it does not sustain the load, so its cold start is run for no longer"
        why += f" than {lasting(round(results[1].duration_ns / SECOND))}"
        findings.notes.append(why)
    if request.clients is not None and (run := run_of_clients(prepared, request, policy)) is not None:
        keep(clients_state(request.clients), run)
        findings.notes += clients_notes(prepared, request, run.duration_ns)
    findings.classes = class_predictions(prepared)
    warm = findings.runs[0].classes
    findings.load = load_measures(prepared, results[0], warm, policy, faults=bool(request.faults))
    findings.breaks = [proof for proof in [proof_of(prepared, request, load_at)] if proof is not None]
    if request.partition is not None:
        findings.partition_test = partition_test(prepared, request, limits)
        if findings.partition_test is None:
            findings.notes.append(f"{prepared.design.label} has no such partition, so it is not tested there")
    findings.audit = audit_of(prepared, request, policy)
    if findings.audit is not None and request.faults and not request.engine:
        why = "no server fails in the run of the embedded engine but with --engine"
        findings.notes.append(f"{prepared.design.label}: {why}")
    if findings.audit is not None and prepared.rows_per_key != 1:
        why = "the embedded engine holds the rows of today, so its run shows no growth"
        findings.notes.append(f"{prepared.design.label}: {why}")
    if findings.audit is None and request.audited_requests:
        findings.notes.append(f"{prepared.design.label}: the embedded engine was not run, because {NOT_RUN}")
    if request.find_limit:
        findings.limit = limit_of(prepared, request, policy, load_at)


class FinishedDesign(NamedTuple):
    """A design as the document has it, and what is to be said of its runs."""

    design: StressDesign
    notes: list[Note]


def finished(
    table: DesignedTable, prepared: PreparedDesign, request: StressRequest, findings: DesignFindings
) -> FinishedDesign:
    """What was found of a design, be it by an interrupted run."""
    shown, design = Shown(request.reading.redact), prepared.design
    part = StressDesign(
        label=design.label,
        scheme=full_scheme(design.estimate, table.bench.population, shown, None),
        refused=[violation_json(each, shown) for each in design.refused],
        untested=prepared.untested,
        runs=findings.runs,
        prediction=StressPrediction(
            classes=findings.classes, load=findings.load, breaks=findings.breaks, audit=findings.audit
        ),
        limit=findings.limit,
        partition_test=findings.partition_test,
        measured=findings.measured,
    )
    return FinishedDesign(part, findings.notes)
