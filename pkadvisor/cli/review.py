"""``advisor review``: the gate before a deployment."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from pkadvisor.cli.analyze import listen
from pkadvisor.cli.review_output import deliver, settle_outputs
from pkadvisor.cli.shared import Redact, ReviewFormat, ReviewShared, examples, option, unfold

EPILOG = examples(
    "advisor samples write footrace race",
    "advisor review race/design.yaml --fail-on never",
    "advisor review race/design.yaml --fail-on never --format concise --out sarif=race/review.sarif --out md=race.md",
)


class FailOn(StrEnum):
    error = "error"
    warning = "warning"
    info = "info"
    never = "never"


@unfold
def review(
    designs: Annotated[
        list[str] | None,
        typer.Argument(metavar="DESIGN...", help="Design files or globs.", show_default=False),
    ] = None,
    *,
    profile: Annotated[
        list[str] | None,
        option("--profile", metavar="FILE", help="Profile of the tables, made by 'advisor profile'. Repeatable."),
    ] = None,
    data: Annotated[
        list[str] | None, option("--data", metavar="DATA", help="Data files in place of a profile. Repeatable.")
    ] = None,
    limits: Annotated[
        list[str] | None, option("--limits", metavar="FILE", help="Limits over the bundled ones.", env="LIMITS")
    ] = None,
    rules: Annotated[
        list[str] | None, option("--rules", metavar="DIR", help="A folder of rules of your own. Repeatable.")
    ] = None,
    select: Annotated[
        list[str] | None, option("--select", metavar="RULE", help="Only these: ids, names, or beginnings of ids.")
    ] = None,
    ignore: Annotated[list[str] | None, option("--ignore", metavar="RULE", help="Not these.")] = None,
    fail_on: Annotated[
        FailOn, option("--fail-on", help="The mildest severity that fails.", env="FAIL_ON", show_default=True)
    ] = FailOn.error,
    new_only: Annotated[bool, option("--new-only", help="Only new and worse findings count.")] = False,
    redact: Annotated[
        Redact, option("--redact", help="Hide key values in every output.", env="REDACT", show_default=True)
    ] = Redact.none,
    out: Annotated[
        list[str] | None,
        option("--out", metavar="FMT=PATH", help=f"Write a file as well ({', '.join(ReviewFormat)}). Repeatable."),
    ] = None,
    annotate: Annotated[
        bool, option("--annotate", help="GitHub annotations on standard error, beside any format.", env="ANNOTATE")
    ] = False,
    show_suppressed: Annotated[
        bool, option("--show-suppressed", help="List suppressed findings with their reasons, in text.")
    ] = False,
    if_changed: Annotated[
        str | None,
        option(
            "--if-changed",
            metavar="SHARE",
            help="Markdown says only that nothing changed where no number moved so far.",
        ),
    ] = None,
    shared: ReviewShared,
) -> None:
    """Review the keys of designs before they are deployed; exit code 1: the gate failed."""
    from pkadvisor.review.findings import Severity
    from pkadvisor.reviewer import ReviewRequest
    from pkadvisor.reviewer import review as run

    inputs = [*(designs or ()), *(profile or ()), *(data or ()), *(limits or ())]
    outputs = settle_outputs(
        out,
        shared,
        inputs=inputs,
        annotate=annotate,
        show_suppressed=show_suppressed,
        if_changed=if_changed,
    )
    request = ReviewRequest(
        designs=tuple(designs or ()),
        profiles=tuple(profile or ()),
        data=tuple(data or ()),
        limits=tuple(limits or ()),
        rules=tuple(rules or ()),
        select=tuple(select or ()),
        ignore=tuple(ignore or ()),
        fail_on=None if fail_on is FailOn.never else Severity(fail_on),
        new_only=new_only,
        redact=redact is Redact.keys,
    )
    with listen(shared) as progress:
        document = run(request, progress)
    deliver(document, outputs)
    if document["exit_code"]:
        raise typer.Exit(document["exit_code"])
