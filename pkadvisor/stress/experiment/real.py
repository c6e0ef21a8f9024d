"""The load of a design on a real endpoint: what would be sent, the run, what it measured beside what was predicted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pkadvisor.documents.part import number
from pkadvisor.documents.stress import (
    StressCalibration,
    StressKnee,
    StressLeftOut,
    StressMeasured,
    StressMeasuredAudit,
    StressPlan,
    StressPlanDesign,
    StressResidual,
)
from pkadvisor.documents.stress_run import StressClass
from pkadvisor.engine.capacity.capacity import Capacity
from pkadvisor.engine.options import SECOND
from pkadvisor.errors import UsageError
from pkadvisor.limits import Limits, load_limits
from pkadvisor.progress import Progress
from pkadvisor.report.documents.values import Shown
from pkadvisor.rest.endpoint import Endpoint, open_endpoint
from pkadvisor.stress.experiment.designs import Design, DesignedTable, tables_of
from pkadvisor.stress.experiment.prepared_design import PreparedDesign, load_of_design
from pkadvisor.stress.experiment.request import RealTarget, StressRequest
from pkadvisor.stress.experiment.stress_result import measured_run
from pkadvisor.stress.load.load import Load, used_instances
from pkadvisor.stress.placement.living_map import LivingMap
from pkadvisor.stress.placement.run_result import RunResult
from pkadvisor.stress.requests.programs import Programs
from pkadvisor.stress.requests.retry import RetryPolicy
from pkadvisor.stress.requests.rows import entities_of
from pkadvisor.stress.requests.script_table import script_table
from pkadvisor.stress.requests.scripts import Scripts
from pkadvisor.stress.simulate.fluid import run_fluid
from pkadvisor.stress.store.auditor import Auditor
from pkadvisor.stress.store.calibration import calibrated
from pkadvisor.stress.store.own_table import AROUND, OwnTable, groups_of, left_behind, table_name
from pkadvisor.stress.store.real_driver import RealRun, run_real
from pkadvisor.table.accounting import entity_bytes
from pkadvisor.table.store import Entity, InsertOrReplace
from pkadvisor.values import dataclass

TEN_THOUSAND = 10_000


@dataclass
class Session:
    """An endpoint for all designs of a run. ``left`` is how many transactions may still be sent."""

    real: RealTarget
    endpoint: Endpoint
    left: int

    @property
    def date(self) -> str:
        """The day of the endpoint's last answer, ISO; that of the start where it told none."""
        from email.utils import parsedate_to_datetime

        try:
            return parsedate_to_datetime(self.endpoint.date).date().isoformat()
        except (TypeError, ValueError):
            return self.real.start[:10]


@contextmanager
def session_of(request: StressRequest) -> Iterator[Session | None]:
    """An endpoint that lets us in, or None where none is asked for. UsageError and InputError where it does not."""
    real = request.real
    if real is None:
        yield None
        return
    endpoint = open_endpoint(real.target, real.concurrency)
    try:
        OwnTable(endpoint, table_name(request.seed, real.start)).look()
        yield Session(real, endpoint, real.transactions_max - 1)
    finally:
        endpoint.close()


@dataclass(frozen=True, slots=True)
class Errand:
    """What one design has to do on an endpoint: ``groups`` of rows to load, then ``load`` by ``programs``.

    ``scripts`` are the same requests as numbers, of the data as it is.
    """

    design: Design
    limits: Limits
    table: str
    programs: Programs
    load: Load
    scripts: Scripts
    rows: tuple[Entity, ...]
    groups: list[tuple[InsertOrReplace, ...]]

    def plan(self, of: str) -> StressPlanDesign:
        """What would be sent: transactions of the run as when nothing is turned away."""
        steps, moved, requests = 0, 0, 0
        for batch in self.load.batches():
            requests += len(batch)
            columns = (batch.at_ns.tolist(), batch.classes.tolist(), batch.instances.tolist())
            for at_ns, class_number, instance in zip(*columns, strict=True):
                script = self.scripts.at(at_ns)[class_number][instance]
                steps += script.steps
                moved += sum(step.bytes_moved for stage in script.stages for step in stage)
        transactions = len(self.groups) + steps + AROUND
        return StressPlanDesign(
            of=of,
            label=self.design.label,
            table=self.table,
            rows=len(self.rows),
            rows_bytes=sum(map(entity_bytes, self.rows)),
            load_transactions=len(self.groups),
            requests=requests,
            run_transactions=steps,
            run_bytes=moved,
            transactions=transactions,
            cost_usd=cost_usd(transactions, self.limits),
        )


def cost_usd(transactions: int, limits: Limits) -> Any:
    """What so many transactions cost by the limits' price."""
    return number(transactions / TEN_THOUSAND * limits.price_per_10k_transactions)


def errand_of(
    table: DesignedTable, design: Design, request: StressRequest, limits: Limits, load: Load | None = None
) -> Errand:
    """Prepares a design: a table name of its own, the rows of the data as it is, and a load, or the one given."""
    assert request.real is not None
    name = table_name(request.seed, f"{request.real.start}/{table.section.table}/{table.section.kind}/{design.label}")
    programs = Programs(table.bench, design.scheme, entities_of(table.bench.population), table=name, seed=request.seed)
    if load is None:
        load, _ = load_of_design(table, programs, request, round(request.longest_s * SECOND))
    scripts = script_table(programs, limits, used_instances(load), load.duration_ns, examined_scale=False)
    rows = programs.stored
    return Errand(design, limits, name, programs, load, scripts, rows, groups_of(name, rows, limits))


def planned(request: StressRequest, progress: Progress) -> StressPlan:
    """What a run on the endpoint would send, design by design; nobody is dialled. Errors as of ``tables_of``."""
    assert request.real is not None
    limits = load_limits(*request.reading.limits)
    out = []
    for table in tables_of(request, limits, progress):
        name = table.section.table + (f" {table.section.kind}" if table.section.kind else "")
        for design in table.designs:
            progress.phase(f"plan {name}, {design.label}")
            out.append(errand_of(table, design, request, limits).plan(name))
    return StressPlan(
        document="pkadvisor stress plan",
        schema_version="1.0",
        host=request.real.target.host,
        concurrency=request.real.concurrency,
        transactions_max=request.real.transactions_max,
        designs=out,
        transactions=1 + sum(entry.transactions for entry in out),
        cost_usd=number(sum(entry.cost_usd for entry in out)),
    )


def measured_of(
    prepared: PreparedDesign, request: StressRequest, policy: RetryPolicy, session: Session, progress: Progress
) -> StressMeasured:
    """Runs a design on the endpoint, removes its table, and holds what was measured against the model.

    UsageError where the rows alone take more transactions than may be sent: nothing is sent then. InputError where the
    table is left there and no document could say so.
    """
    errand = errand_of(prepared.table, prepared.design, request, prepared.limits, prepared.own_part(prepared.load))
    for_run = session.left - len(errand.groups) - AROUND
    if for_run < 1:
        what = (
            f"{len(errand.rows):,} rows alone take {len(errand.groups):,} transactions, and {session.left:,} are left"
        )
        raise UsageError(what, where="--max-transactions", fix="raise it, or take fewer rows with --sample-rows")
    table = OwnTable(session.endpoint, errand.table)
    auditor = Auditor()
    label = f"{prepared.table.section.table}, {prepared.design.label}"
    host = session.real.target.host
    with table.removed_after(host, progress.note):
        table.create()
        progress.phase(f"load {label} at {host}")
        table.load(errand.groups, session.real.concurrency)
        auditor.stored(errand.table, errand.rows)
        progress.phase(f"run {label} at {host}")
        run = run_real(
            errand.load,
            errand.programs,
            session.endpoint,
            errand.scripts.space,
            prepared.limits,
            policy,
            concurrency=session.real.concurrency,
            operations_max=for_run,
            auditor=auditor,
        )
        progress.phase(f"remove {errand.table} at {host}")
    sent = table.operations + run.operations
    session.left -= sent
    try:
        predicted = _predicted(errand, prepared, request, policy)
        made = _measured(errand, request, session, run, predicted, prepared.limits, table, sent, auditor)
    except KeyboardInterrupt as why:
        if table.there:  # no document will say so
            raise left_behind(table.name, host, why) from why
        raise
    return made


def _predicted(errand: Errand, prepared: PreparedDesign, request: StressRequest, policy: RetryPolicy) -> RunResult:
    """The same load on the same rows in simulated time: a new table, in one range at first."""
    capacity = Capacity(prepared.limits, prepared.options, request.enforcement, request.seed)
    stamp_map = LivingMap(errand.scripts.space, (), prepared.servers, prepared.options)
    return run_fluid(errand.load, errand.scripts, capacity, stamp_map, policy)


def _measured(
    errand: Errand,
    request: StressRequest,
    session: Session,
    run: RealRun,
    predicted: RunResult,
    measured: Limits,
    table: OwnTable,
    sent: int,
    auditor: Auditor,
) -> StressMeasured:
    """What the document says of a run on an endpoint, beside the ``predicted`` one."""
    calibration = calibrated(run, measured)
    limits, space, redact = errand.limits, errand.scripts.space, request.reading.redact
    outcome = measured_run(run.result, space, limits, Shown(redact))
    model = measured_run(predicted, space, limits, Shown(redact))
    return StressMeasured(
        host=session.real.target.host,
        date=session.date,
        table=errand.table,
        rows=len(errand.rows),
        concurrency=session.real.concurrency,
        complete=run.result.complete,
        stopped=run.stopped,
        why=run.why,
        unanswered=run.unanswered,
        late_share=number(run.late_share),
        late_ms_max=number(run.late_ns_max / 1e6),
        kept_up=run.kept_up,
        run=outcome,
        residuals=_residuals(model.classes, outcome.classes) if run.result.complete else [],
        calibration=StressCalibration(
            found=[
                StressKnee(
                    name=one.name,
                    unit=limits.of(one.name).unit,
                    predicted=number(limits.of(one.name).value),
                    basis=str(limits.of(one.name).basis),
                    measured=number(one.value),
                    low=number(one.low),
                    high=number(one.high),
                    count=one.count,
                    of=one.of,
                )
                for one in calibration.found
            ],
            left_out=[StressLeftOut(name=name, why=why) for name, why in calibration.left_out],
        ),
        removed=not table.there,
        transactions=sent,
        cost_usd=cost_usd(sent, measured),
        audit=StressMeasuredAudit(
            operations=auditor.operations,
            violations=auditor.violations_total,
            examples=[] if redact else list(auditor.violations),
        ),
    )


_COMPARED = (
    ("attempts", ""),
    ("pages", ""),
    ("entities_written", ""),
    ("throttled_share", "share"),
    ("latency_ms_p50", "ms"),
    ("latency_ms_p99", "ms"),
)


def _residuals(model: Sequence[StressClass], outcome: Sequence[StressClass]) -> list[StressResidual]:
    """Each class: what the model predicted of this load, what was measured, and measured − predicted."""
    return [
        StressResidual(
            class_=one.name,
            name=name,
            unit=unit,
            predicted=predicted,
            measured=measured,
            residual=number(measured - predicted),
        )
        for one, other in zip(model, outcome, strict=True)
        for name, unit in _COMPARED
        if (predicted := getattr(one, name)) is not None and (measured := getattr(other, name)) is not None
    ]
