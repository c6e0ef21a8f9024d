"""``advisor score``: what given keys are worth, without a search."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pkadvisor.cli.commands.analyze import build_request, listen
from pkadvisor.cli.configuration import of_the_project, settings_for
from pkadvisor.cli.console import redact_result
from pkadvisor.cli.inputs import settle
from pkadvisor.cli.output import on_stdout, parse_targets
from pkadvisor.cli.paging import Paging, Renderer, deliver, text_page
from pkadvisor.cli.shared import (
    RESULT_FILES,
    InputOptions,
    Judging,
    ResultFormat,
    ResultShared,
    Shared,
    argument,
    option,
    typed_again,
    unfold,
)
from pkadvisor.errors import ConstraintError, UsageError

if TYPE_CHECKING:
    from pkadvisor.documents.score import ScoreDocument


@unfold
def score(
    texts: list[str] | None = argument("The design file, then data files.", "[DESIGN] [DATA]", None),
    *,
    reading: InputOptions,
    scheme: list[str] | None = option("Other keys: 'PARTITIONKEY | ROWKEY'. Repeatable.", metavar="KEYS"),
    judging: Judging,
    out: list[str] | None = RESULT_FILES,
    details: bool = option("Show the parts of the score, queries and terms too.", False, env=True),
    paging: Paging,
    shared: ResultShared,
) -> None:
    """Score the keys of a design, or keys given by hand, on its data and workload.

    The score card tells each query's part, the terms, what is broken and when it breaks. Exit code 1: a constraint is
    broken.

    Examples:
        advisor score --sample documents --scheme '{document} | {reverse_pad(version,4)}'
        advisor samples write documents archive
        advisor score archive/design.yaml archive/documents.csv
    """
    named, reading = of_the_project(texts, reading, shared)
    given = list(named or ())
    if reading.design is None and reading.sample is None:
        if not given:
            raise UsageError(
                "there is nothing to score: name a design file",
                where="DESIGN",
                fix="for example: advisor score design.yaml data.csv, or advisor score --sample footrace",
            )
        reading = replace(reading, design=given.pop(0))
    elif given and reading.sample is not None and reading.design is None:
        reading = replace(reading, design=given.pop(0))
    inputs = settle(given, reading, command="score", candidates=judging.candidates)
    targets = parse_targets(out or (), inputs=inputs.files(), formats=ResultFormat)
    page = on_stdout(targets, shared.format, ResultFormat.text)
    options = paging.options()
    request = build_request(inputs, reading, budgets=judging.budget, settings=settings_for(shared, reading.design))

    from pkadvisor.usecases.score import score as score_card

    with listen(shared) as progress:
        document = score_card(request, tuple(scheme or ()), progress)
    inputs_again = typed_again(given, reading, judging)
    from pkadvisor.report.text.score_page import render_score

    text = partial(text_page, render_score, details=details or shared.verbose, inputs=inputs_again)
    deliver(document, targets, page, RENDERERS | {ResultFormat.text: text}, options, shared)
    if document.outcome == "constraint-unsatisfied":
        raise broken(document)


def broken(document: ScoreDocument) -> ConstraintError:
    """What goes with exit code 1: the first broken constraint."""
    every = [(t, v) for t in document.tables for s in t.schemes for v in s.scheme.violations]
    violations = [(table.table, v) for table, v in every if not v.assumed_growth]
    shared = document.account.violations if document.account else ()
    violations += [("all tables", v) for v in shared if not v.assumed_growth]
    where, first = violations[0]
    more = f"; {len(violations) - 1} more" if violations[1:] else ""
    return ConstraintError(f"{first.message}{more}", where=where)


def json_of_keys(document: Any, shared: Shared, on_terminal: bool) -> bytes:
    """A score card or a comparison as JSON."""
    from pkadvisor.report.text.page import ascii_json

    return redact_result(ascii_json(document)).encode()


RENDERERS: dict[ResultFormat, Renderer] = {ResultFormat.json: json_of_keys}
