"""``advisor compare``: two results, or two designs on the same data, side by side."""

from __future__ import annotations

import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pkadvisor.cli.commands.analyze import build_request, listen
from pkadvisor.cli.commands.score import RENDERERS
from pkadvisor.cli.configuration import settings_for
from pkadvisor.cli.inputs import check_files, settle
from pkadvisor.cli.output import on_stdout, parse_targets
from pkadvisor.cli.paging import Paging, deliver, text_page
from pkadvisor.cli.shared import (
    RESULT_FILES,
    InputOptions,
    ResultFormat,
    ResultShared,
    Shared,
    argument,
    option,
    unfold,
)
from pkadvisor.errors import ConstraintError, UsageError

if TYPE_CHECKING:
    from pkadvisor.documents.comparison import ComparisonDocument


@unfold
def compare(
    old: str = argument("A result, a score card or a design file.", "OLD"),
    new: str = argument("Another one of the same kind.", "NEW"),
    data: list[str] | None = argument("For two designs: the data files of both.", "[DATA]", None),
    *,
    fail_if_worse: list[str] | None = option(
        "Exit 1 if K is worse by more than that, e.g. score=5%. Repeatable.", metavar="K=SHARE"
    ),
    reading: InputOptions,
    out: list[str] | None = RESULT_FILES,
    details: bool = option("Show every measure, query and write that differs too.", False, env=True),
    paging: Paging,
    shared: ResultShared,
) -> None:
    """Compare two results, or the keys of two designs on the same data and workload.

    Results are compared by the keys that they recommend. The workload of two designs is that of the log, else the one
    that NEW declares, else that of OLD.

    Examples:
        advisor analyze --sample footrace --out json=free.json
        advisor analyze --sample footrace --budget index_rows=1 --out json=lean.json
        advisor compare free.json lean.json
        advisor compare free.json free.json --fail-if-worse requests_per_s=5%
    """
    from pkadvisor.design.cost.budgets import parse_pair

    bounds = [parse_pair(text, "--fail-if-worse", "score=5%") for text in fail_if_worse or ()]
    check_files((old, "OLD"), (new, "NEW"))
    targets = parse_targets(out or (), inputs=(Path(old), Path(new)), formats=ResultFormat)
    page = on_stdout(targets, shared.format, ResultFormat.text)
    options = paging.options()
    document = _comparison(old, new, list(data or ()), reading, shared)
    from pkadvisor.usecases.compare import worsened

    worse = worsened(document, bounds)
    from pkadvisor.report.text.comparison_page import render_comparison

    inputs = _next_command(old, new)
    text = partial(text_page, render_comparison, details=details or shared.verbose, inputs=inputs)
    deliver(document, targets, page, RENDERERS | {ResultFormat.text: text}, options, shared)
    if worse:
        raise ConstraintError("; ".join(worse), where="--fail-if-worse")


def _next_command(old: str, new: str) -> str:
    """For two designs the review of the change; for two results the page of the new one."""
    if old.endswith((".yaml", ".yml")):
        return f"advisor review {shlex.quote(new)} --against {shlex.quote(old)}"
    return f"advisor report {shlex.quote(new)} --out {shlex.quote(str(Path(new).with_suffix('.html')))}"


def _comparison(old: str, new: str, data: list[str], reading: InputOptions, shared: Shared) -> ComparisonDocument:
    from pkadvisor.usecases.compare import compare_designs, compare_stored, is_stored

    stored = [is_stored(path) for path in (old, new)]
    given = bool(data or reading.sample or reading.log or reading.profile)
    if all(stored):
        if given or reading.design:
            fix = "leave out the data, or give two design files"
            raise UsageError("two results are compared from themselves alone", where="DATA", fix=fix)
        return compare_stored(old, new)
    if any(stored):
        result, design = (old, new) if stored[0] else (new, old)
        fix = "give two results (or score cards), or two design files and their data"
        raise UsageError(f"{result} is a result and {design} is none", where="NEW", fix=fix)
    if reading.design is not None:
        raise UsageError("OLD and NEW are the designs", where="--design", fix="leave it out")
    if not given:
        fix = f"for example: advisor compare {old} {new} data.csv"
        raise UsageError("two designs are compared on data, and there is none", where="DATA", fix=fix)
    inputs = settle(data, reading, command="compare")
    # Of the budgets of a project none holds here: two designs are compared with each other.
    settings = replace(settings_for(shared, new), budget=())
    request = build_request(replace(inputs, design=None), reading, settings=settings)
    with listen(shared) as progress:
        return compare_designs(request, old, new, progress)
