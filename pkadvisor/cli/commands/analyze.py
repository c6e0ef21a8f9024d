"""``advisor analyze``: read, advise, render."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from pkadvisor.cli.configuration import of_the_project, settings_for
from pkadvisor.cli.console import is_terminal, make_console, may_move_the_cursor, redact_result, say, wants_color
from pkadvisor.cli.inputs import Inputs, settle
from pkadvisor.cli.output import on_stdout, parse_targets
from pkadvisor.cli.paging import Paging, Renderer, deliver, text_page
from pkadvisor.cli.settings import Settings
from pkadvisor.cli.shared import (
    DATA_FILES,
    RESULT_FILES,
    InputOptions,
    Judging,
    Redact,
    ResultFormat,
    ResultShared,
    Shared,
    option,
    typed_again,
    unfold,
)
from pkadvisor.errors import ConstraintError, UsageError
from pkadvisor.progress import BarProgress, NoteProgress, Progress, SilentProgress

if TYPE_CHECKING:
    from pkadvisor.documents.analysis import AnalysisDocument
    from pkadvisor.inputs import AnalyzeRequest


@unfold
def analyze(
    data: list[str] | None = DATA_FILES,
    *,
    reading: InputOptions,
    out: list[str] | None = RESULT_FILES,
    judging: Judging,
    top: int = option("Schemes to show.", 5, metavar="N", env=True, min=1),
    details: bool = option("Show queries, costs, ranking and evidence too.", False, env=True),
    paging: Paging,
    shared: ResultShared,
) -> None:
    """Advise on PartitionKey and RowKey from sample data and a query log.

    The design file may declare the workload where there is no log yet. Without any file the data, logs and design of
    pkadvisor.toml are taken, as 'advisor init --from' writes them; without a design, the keys are inferred.

    Examples:
        advisor analyze --sample footrace
        advisor analyze --sample footrace --redact keys --format json
        advisor samples write footrace race
        advisor analyze race/registrations.csv --design race/design.yaml --out json=race/result.json
    """
    data, reading = of_the_project(data, reading, shared)
    inputs = settle(data, reading, command="analyze", candidates=judging.candidates)
    targets = parse_targets(out or (), inputs=inputs.files(), formats=ResultFormat)
    page = on_stdout(targets, shared.format, ResultFormat.text)
    options = paging.options()
    settings = settings_for(shared, reading.design)
    request = build_request(inputs, reading, top=top, budgets=judging.budget, settings=settings)

    from pkadvisor.usecases.analyze import analyze as analysis

    with listen(shared) as progress:
        result = analysis(request, progress)
    inputs_again = typed_again(data, reading, judging)
    from pkadvisor.report.text.verdict_page import render_text

    text = partial(text_page, render_text, verbose=shared.verbose, details=details, inputs=inputs_again)
    deliver(result, targets, page, RENDERERS | {ResultFormat.text: text}, options, shared)
    if result.outcome == "constraint-unsatisfied":
        raise unsatisfied(result)
    if result.outcome == "not-enough":
        raise not_enough(result)
    if is_terminal(sys.stderr) and is_terminal(sys.stdout) and not shared.quiet and not targets:
        more = "" if details else "--details shows what each query costs, the ranking and the evidence; "
        say(f"next: {more}--out json=result.json keeps the whole result")


def unsatisfied(result: AnalysisDocument) -> ConstraintError:
    """What goes with exit code 1: the tables that no design serves, the worst violation of the first, and what helps,
    which is not what the message of the violation says helps where other keys were not tried."""
    from pkadvisor.report.summary.sentences import worst_violation
    from pkadvisor.report.summary.verdicts import remedy

    failed = [table for table in result.tables if table.verdict == "unsatisfied"]
    names = [table.table + (f" ({table.kind})" if table.kind else "") for table in failed]
    worst = next((worst_violation(t.recommended) for t in failed[:1] if t.recommended), None)
    reason = f": {worst.message.partition('; ')[0]}" if worst else ""
    others = f"; nor for {', '.join(names[1:])}" if names[1:] else ""
    where = names[0] if names else ""
    arranged = [a for a in result.arrangements if a.conflicts]
    conflicts = [c.constraints for a in arranged for c in a.conflicts]
    conflicts += [c.constraints for t in failed[:1] for c in t.conflicts]
    if not failed and arranged:
        where, reason = arranged[0].table, ""
    together = [v for v in (result.account.violations if result.account else ()) if not v.assumed_growth]
    if not failed and together:
        return ConstraintError(together[0].message, where="all tables", fix=SHARED_FIX)
    sentences = [c.sentence for c in conflicts[0]] if conflicts else []
    fix = f"give up one of: {'; '.join(sentences)}" if len(sentences) > 1 else remedy(failed[0]) if failed else ""
    return ConstraintError(f"no key holds every constraint{reason}{others}", where=where, fix=fix)


SHARED_FIX = "send fewer requests (cache, batch), or spread the tables over several storage accounts"


def not_enough(result: AnalysisDocument) -> ConstraintError:
    """What goes with exit code 1 where the inputs do not carry advice: why, and the one thing to give next."""
    tables = [table for table in result.tables if table.verdict == "not_enough"]
    names = [table.table + (f" ({table.kind})" if table.kind else "") for table in tables]
    others = f"; nor for {', '.join(names[1:])}" if names[1:] else ""
    what = f"not enough to advise: {tables[0].why_not}{others}"
    return ConstraintError(what, where=names[0], fix=f"give {tables[0].next}")


def _json(result: AnalysisDocument, shared: Shared, on_terminal: bool) -> bytes:
    from pkadvisor.report.documents.result import dump_json

    return redact_result(dump_json(result).decode()).encode()


RENDERERS: dict[ResultFormat, Renderer] = {ResultFormat.json: _json}
"""What makes a result into the bytes of a format; that of text knows the options of the command line."""


def parse_fraction(text: str) -> float:
    """The share of the requests that a log holds; UsageError for none."""
    fraction = parse_share(text, where="--log-fraction", example="5% or 0.05")
    if fraction == 0:
        fix = "leave --log out where there is none; for example: 5% or 0.05"
        raise UsageError("a log that holds no request says nothing", where="--log-fraction", fix=fix)
    return fraction


def build_request(
    inputs: Inputs,
    reading: InputOptions,
    *,
    top: int = 5,
    budgets: list[str] | None = None,
    settings: Settings | None = None,
) -> AnalyzeRequest:
    """The command line in the terms of the use cases, with the limits and budgets of the project below its own."""
    settings = settings or Settings()
    share = parse_share(reading.max_bad_lines)
    from pkadvisor.inputs import AnalyzeRequest

    return AnalyzeRequest(
        data=inputs.data,
        sample=reading.sample,
        logs=inputs.logs,
        design=inputs.design,
        profiles=inputs.profiles,
        limits=(*settings.limits, *inputs.limits),
        since=reading.since,
        until=reading.until,
        tables=tuple(reading.table or ()),
        account=reading.account,
        max_bad_lines=share,
        sample_rows=reading.sample_rows,
        input_format=None if reading.input_format == "auto" else reading.input_format,
        stdin_name=reading.stdin_name,
        redact=reading.redact is Redact.keys,
        seed=reading.seed,
        top=top,
        entities_total=reading.entities_total,
        log_fraction=parse_fraction(reading.log_fraction),
        candidates=inputs.candidates,
        budgets=settings.budgets_with(budgets),
    )


def parse_share(text: str, *, where: str = "--max-bad-lines", example: str = "1% or 0.01") -> float:
    """``1%``, ``0.5 %`` or ``0.01`` as a share of one."""
    number = text.strip().removesuffix("%").strip()
    try:
        share = float(number) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:  # also false for NaN
        raise UsageError(f"'{text}' is not a share", where=where, fix=f"for example: {example}")
    return share


@contextmanager
def listen(shared: Shared) -> Iterator[Progress]:
    """Who hears of the progress: nobody, a log, or a terminal."""

    def note(text: str) -> None:
        say(text, label="note: ", style="yellow", color=shared.color, console=console)

    console = None
    if shared.quiet or sys.stderr is None:
        yield SilentProgress()
    elif shared.no_progress or not is_terminal(sys.stderr) or not may_move_the_cursor():
        yield NoteProgress(note)
    else:
        console = make_console(sys.stderr, color=wants_color(shared.color, terminal=True), terminal=True)
        with BarProgress(console, note) as progress:
            yield progress
