"""``advisor stress`` from what was given to the document."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

from pkadvisor.documents.part import number, part_of
from pkadvisor.documents.stress import StressDocument, StressFile, StressInput, StressTable
from pkadvisor.documents.stress_run import StressClient, StressGoal, StressSetting
from pkadvisor.engine.options import SECOND
from pkadvisor.inputs import files_read
from pkadvisor.limits import Limits, load_limits
from pkadvisor.progress import Progress
from pkadvisor.report.documents.values import Shown
from pkadvisor.stress.experiment.audit import check_engine_time
from pkadvisor.stress.experiment.design_run import DesignFindings, FinishedDesign, finished, run_design
from pkadvisor.stress.experiment.designs import DesignedTable, tables_of
from pkadvisor.stress.experiment.goals import goals_of
from pkadvisor.stress.experiment.notes import notes_of
from pkadvisor.stress.experiment.partition_test import HOTTEST, check_known
from pkadvisor.stress.experiment.prepared_design import PreparedDesign, prepare
from pkadvisor.stress.experiment.real import Session, measured_of, session_of
from pkadvisor.stress.experiment.request import StressRequest, check_faults, check_flashes, check_replay, check_replayed
from pkadvisor.stress.experiment.runs import COLD, WARM
from pkadvisor.stress.experiment.stress_result import stress_document
from pkadvisor.stress.experiment.verdict import verdict_of
from pkadvisor.stress.load.faults import parse_fault
from pkadvisor.stress.load.load_text import parse_load
from pkadvisor.stress.requests.retry import RetryPolicy
from pkadvisor.stress.requests.script_table import keeping
from pkadvisor.values import dataclass


@dataclass
class _Interrupted(Exception):  # noqa: N818
    """Ctrl-C, with what was finished by then."""

    designs: list[FinishedDesign]


def stress(request: StressRequest, progress: Progress) -> StressDocument:
    """The document of a stress test. After Ctrl-C it holds what was run by then, and says that it is not complete.

    UsageError (2) and InputError (3) as ``tables_of`` raises them, and for texts of loads, policies and faults.
    """
    limits = load_limits(*request.reading.limits)
    shape, policy = parse_load(request.load), request.retry_policy
    check_flashes([flash.at_ns / SECOND for flash in shape.flashes], request.longest_s)
    check_faults([parse_fault(text) for text in request.faults], request.servers, request.longest_s)
    replayed = shape.base == "trace" and not shape.cluster
    if replayed:
        check_replay(request.reading)
    judged = tables_of(request, limits, progress)
    for table in judged if replayed else ():
        check_replayed(table.section.traffic is not None, table.section.table)
    tables, complete = list[StressTable](), True
    try:
        with session_of(request) as session, keeping() if session is None else nullcontext():
            prepared_designs = _prepared_designs(judged, request, limits)
            for number_, table in enumerate(judged):
                prepared = prepared_designs[number_] if prepared_designs else ()
                tables.append(_table(table, prepared, request, limits, policy, session, progress))
    except KeyboardInterrupt:
        complete = False
    except _Interrupted as stopped:
        complete = False
        if stopped.designs:
            tables.append(_closed(judged[len(tables)], stopped.designs, request))
    return stress_document(
        inputs=_inputs(request),
        settings=_settings(request, shape.words),
        tables=tables,
        limits=limits,
        redact=request.reading.redact,
        complete=complete,
        not_run=[] if complete else _not_run(judged, tables),
    )


def _not_run(judged: list[DesignedTable], tables: list[StressTable]) -> list[str]:
    """What an interrupt left out: designs that were not begun, and those of which a part is missing."""
    out = []
    for place, table in enumerate(judged):
        designs = {d.label: d for d in tables[place].designs} if place < len(tables) else {}
        for design in table.designs:
            name = f"{table.section.table}, {design.label}"
            done = designs.get(design.label)
            if done is None:
                out.append(name)
            elif not all(run.complete for run in done.runs) or len(done.runs) < len((WARM, COLD)):
                out.append(f"the rest of {name}, from its run '{done.runs[-1].state}' on")
            elif done.prediction.audit is None:
                out.append(f"measurements of {name}")
    return out


def _inputs(request: StressRequest) -> StressInput:
    """What the run was made of, as a result says it."""
    reading = request.reading
    return StressInput(
        design=Path(reading.design).name if reading.design else None,
        result=Path(request.result).name if request.result else None,
        files=[part_of(StressFile, file) for file in files_read(reading)],
    )


def _settings(request: StressRequest, words: str) -> StressSetting:
    shown, key = Shown(request.reading.redact), request.partition
    clients = None
    if request.clients is not None:
        clients = StressClient(number=request.clients, think_s=number(request.think_s), vms=request.vms)
    return part_of(
        StressSetting,
        request,
        load_words=words,
        goals=[part_of(StressGoal, goal) for goal in request.goals],
        partition=key if key in (None, HOTTEST) else shown.key(key),
        clients=clients,
    )


def _prepared_designs(
    tables: list[DesignedTable], request: StressRequest, limits: Limits
) -> list[tuple[PreparedDesign, ...]]:
    """All designs set up, where a PartitionKey is asked for that one of them must have; else nothing."""
    named = request.partition not in (None, HOTTEST)
    if not named and not request.engine:
        return []
    prepared_designs = [tuple(prepare(table, design, request, limits) for design in table.designs) for table in tables]
    if request.engine:
        for prepared in (each for of_table in prepared_designs for each in of_table):
            check_engine_time(prepared, request, request.retry_policy)
    if request.partition is not None and named:
        check_known(
            request.partition,
            [prepared for of_table in prepared_designs for prepared in of_table],
            request.reading.redact,
        )
    return prepared_designs


def _table(
    table: DesignedTable,
    prepared_designs: tuple[PreparedDesign, ...],
    request: StressRequest,
    limits: Limits,
    policy: RetryPolicy,
    session: Session | None,
    progress: Progress,
) -> StressTable:
    done: list[FinishedDesign] = []
    try:
        for place, design in enumerate(table.designs):
            progress.phase(f"run {table.section.table}, {design.label}")
            prepared = prepared_designs[place] if prepared_designs else prepare(table, design, request, limits)
            findings = DesignFindings()
            try:
                run_design(findings, prepared, request, policy, limits)
                if session is not None:
                    findings.measured = measured_of(prepared, request, policy, session, progress)
                    if not findings.measured.complete:
                        raise KeyboardInterrupt
            finally:
                if findings.runs:
                    done.append(finished(table, prepared, request, findings))
    except KeyboardInterrupt:
        raise _Interrupted(done) from None
    return _closed(table, done, request)


def _closed(table: DesignedTable, done: list[FinishedDesign], request: StressRequest) -> StressTable:
    """A table with its goals and its verdict."""
    declared = {
        c.name: c.latency_goal_ms_p99
        for c in table.bench.workload.classes
        if c.latency_goal_ms_p99 is not None and not c.analytic
    }
    designs = [each.design for each in done]
    goals, first = goals_of(request.goals, declared, designs), designs[0].runs[0]
    return StressTable(
        table=table.section.table,
        kind=table.section.kind,
        offered_requests_per_s=first.offered_requests_per_s,
        classes=[entry.name for entry in first.classes],
        notes=notes_of({each.design.label: each.notes for each in done}),
        designs=designs,
        goals=goals,
        verdict=verdict_of(designs, goals),
    )
