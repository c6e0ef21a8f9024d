"""``advisor stress``: run the expected load on the current keys and on the recommended ones."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pkadvisor.cli.commands.analyze import build_request, listen
from pkadvisor.cli.commands.stress_options import Experiment, Targeting, ended_early, real_target
from pkadvisor.cli.configuration import of_the_project, settings_for
from pkadvisor.cli.console import escape_page, redact_result, say, speaks_unicode, width_of, write_bytes, write_text
from pkadvisor.cli.inputs import check_files, settle
from pkadvisor.cli.output import on_stdout, parse_targets, size_text, write_whole
from pkadvisor.cli.paging import Paging, Renderer, deliver, text_page
from pkadvisor.cli.shared import (
    DATA_FILES,
    RESULT_FILES,
    InputOptions,
    Judging,
    ResultFormat,
    ResultShared,
    Shared,
    option,
    typed_again,
    unfold,
)
from pkadvisor.cli.signals import INTERRUPTED, TERMINATED, ending_softly
from pkadvisor.errors import ConstraintError, UsageError

if TYPE_CHECKING:
    from pkadvisor.documents.stress import StressDocument
    from pkadvisor.inputs import AnalyzeRequest
    from pkadvisor.stress.experiment.request import RealTarget, StressRequest


@unfold
def stress(
    data: list[str] | None = DATA_FILES,
    *,
    reading: InputOptions,
    judging: Judging,
    experiment: Experiment,
    out: list[str] | None = RESULT_FILES,
    details: bool = option("Show each query, heat maps and predictions too.", False, env=True),
    targeting: Targeting,
    paging: Paging,
    shared: ResultShared,
) -> None:
    """Run the expected load on the current keys and on the recommended ones, side by side.

    In simulated time, on a model of the service that the embedded engine proves request by request. Exit code 1: the
    recommended keys miss a goal of --slo, serve less than the current ones, or break a limit by 'advisor analyze'.

    Examples:
        advisor stress --sample footrace
        advisor samples write footrace race
        advisor analyze race/registrations.csv --design race/design.yaml --out json=race/result.json -q
        advisor stress race/registrations.csv --design race/design.yaml --result race/result.json --duration 2m
    """
    real = real_target(targeting)  # first: what is wrong with a secret is said before anything is read
    if experiment.result is not None:
        check_files((experiment.result, "--result"))
    data, reading = of_the_project(data, reading, shared)
    inputs = settle(data, reading, command="stress", candidates=judging.candidates)
    targets = parse_targets(out or (), inputs=inputs.files(), formats=ResultFormat)
    page = on_stdout(targets, shared.format, ResultFormat.text)
    options = paging.options()
    settings = settings_for(shared, reading.design)
    analysed = build_request(inputs, reading, budgets=judging.budget, settings=settings)
    request = _request(analysed, experiment, real)
    if targeting.dry_run:
        _dry_run(request, page, shared)
        return

    from pkadvisor.usecases.stress import stress as run

    with ending_softly() as ended, listen(shared) as progress:
        document = run(request, progress)
    _calibrated(document, targeting, shared)
    inputs_again = typed_again(data, reading, judging)
    if experiment.result:
        inputs_again += f" --result {shlex.quote(experiment.result)}"
    from pkadvisor.report.text.stress_page import render_stress

    text = partial(text_page, render_stress, details=details or shared.verbose, inputs=inputs_again)
    deliver(document, targets, page, RENDERERS | {ResultFormat.text: text}, options, shared)
    stopped = ended_early(document)
    if stopped is not None:
        raise stopped
    if not document.complete:
        raise typer.Exit(TERMINATED if ended else INTERRUPTED)
    if document.outcome in ("goal-missed", "keep-current", "refused") and not experiment.exit_zero:
        raise missed(document)


def _request(analysed: AnalyzeRequest, given: Experiment, real: RealTarget | None) -> StressRequest:
    """The command line in the terms of the use case."""
    from pkadvisor.engine.capacity.capacity import Enforcement
    from pkadvisor.stress.experiment.request import (
        CLIENTS_MOST,
        DURATION_MOST_S,
        StressRequest,
        parse_goals,
        parse_months,
        parse_seconds,
        parse_think,
    )

    if given.enforce not in tuple(Enforcement):
        what = f"targets are not enforced '{given.enforce}'"
        raise UsageError(what, where="--enforce", fix="strict or elastic")
    if given.clients is None and (given.vms is not None or given.think != "0"):
        option_ = "--vms" if given.vms is not None else "--think"
        raise UsageError("--think needs clients that wait for answers", where=option_, fix="add --clients N")
    if given.clients is not None and given.clients > CLIENTS_MOST:
        raise UsageError(f"{given.clients} clients are too many", where="--clients", fix=f"at most {CLIENTS_MOST:,}")
    return StressRequest(
        analysed,
        result=given.result,
        scheme=given.scheme,
        load=given.load,
        growth_months=parse_months(given.growth),
        duration_s=None if given.duration is None else parse_seconds(given.duration, "--duration", DURATION_MOST_S),
        retry=given.retry,
        enforcement=Enforcement(given.enforce),
        servers=given.servers,
        faults=tuple(given.fault or ()),
        goals=parse_goals(tuple(given.slo or ())),
        partition=given.partition,
        clients=given.clients,
        think_s=parse_think(given.think),
        vms=given.vms,
        find_limit=given.find_limit,
        engine=given.engine,
        sample_keys=given.sample_keys,
        seed=analysed.seed,
        real=real,
    )


def _dry_run(request: StressRequest, page: ResultFormat, shared: Shared) -> None:
    """Tells what would be sent."""
    from pkadvisor.report.text.stress_measured import render_plan
    from pkadvisor.stress.experiment.real import planned
    from pkadvisor.stress.experiment.stress_result import dump

    with listen(shared) as progress:
        document = planned(request, progress)
    if page is ResultFormat.json:
        write_bytes(dump(document))
    else:
        text = render_plan(document, width=width_of(sys.stdout), ascii_only=not speaks_unicode(sys.stdout))
        write_text(escape_page(text, color=False))


def _calibrated(document: StressDocument, targeting: Targeting, shared: Shared) -> None:
    """Writes the calibration file, if one is wanted and something was measured."""
    from pkadvisor.report.text.stress_measured import calibration_file

    text = calibration_file(document) if targeting.calibrate is not None else None
    if text is None or targeting.calibrate is None:
        return
    content = text.encode()
    write_whole(Path(targeting.calibrate), content)
    if not shared.quiet:
        say(f"wrote {targeting.calibrate} ({size_text(len(content))})", color=shared.color)


def missed(document: StressDocument) -> ConstraintError:
    """What goes with exit code 1: recommended keys that the analysis refuses, that serve less than those in use, or the
    first goal they miss."""
    from pkadvisor.report.stress_words import KEEP_CURRENT

    for table in document.tables:
        if table.designs and (refused := table.designs[-1].refused):
            return ConstraintError(f"{table.designs[-1].label}: {refused[0].message}", where=table.table)
        if table.verdict.keep_current:
            why = next(text for text in table.verdict.sentences if text.startswith(KEEP_CURRENT))
            return ConstraintError(why, where=table.table)
    misses = [
        (table, goal, mark)
        for table in document.tables
        for goal in table.goals
        for mark in goal.designs
        if mark.decides and not mark.met
    ]
    table, goal, mark = misses[0]
    unit = " ms" if goal.unit == "ms" else ""
    more = f"; {len(misses) - 1} more" if misses[1:] else ""
    return ConstraintError(
        f"{mark.label} misses {goal.name}: {mark.measured:g}{unit}, at most {goal.most:g}{unit}{more}",
        where=table.table,
    )


def _json(document: StressDocument, shared: Shared, on_terminal: bool) -> bytes:
    from pkadvisor.stress.experiment.stress_result import dump

    return redact_result(dump(document).decode()).encode()


RENDERERS: dict[ResultFormat, Renderer] = {ResultFormat.json: _json}
