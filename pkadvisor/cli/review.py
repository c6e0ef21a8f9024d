"""``advisor review``: the gate before a deployment."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated, Any

import typer

from pkadvisor.cli.analyze import listen
from pkadvisor.cli.console import (
    escape_page,
    is_terminal,
    redact_result,
    speaks_unicode,
    wants_color,
    width_of,
    write_bytes,
    write_text,
)
from pkadvisor.cli.shared import Format, Redact, Shared, examples, option, unfold

EPILOG = examples(
    "advisor samples write footrace race",
    "advisor review race/design.yaml --fail-on never",
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
    budget: Annotated[
        list[str] | None,
        option("--budget", metavar="K=V", help="A bound for every table, e.g. cost_month=500. Repeatable."),
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
    shared: Shared,
) -> None:
    """Review the keys of designs before they are deployed; exit code 1: the gate failed."""
    from pkadvisor.review.findings import Severity
    from pkadvisor.reviewer import ReviewRequest
    from pkadvisor.reviewer import review as run

    request = ReviewRequest(
        designs=tuple(designs or ()),
        profiles=tuple(profile or ()),
        data=tuple(data or ()),
        limits=tuple(limits or ()),
        rules=tuple(rules or ()),
        budgets=tuple(budget or ()),
        select=tuple(select or ()),
        ignore=tuple(ignore or ()),
        fail_on=None if fail_on is FailOn.never else Severity(fail_on),
        new_only=new_only,
        redact=redact is Redact.keys,
    )
    with listen(shared) as progress:
        document = run(request, progress)
    show(document, shared)
    if document["exit_code"]:
        raise typer.Exit(document["exit_code"])


def show(document: dict[str, Any], shared: Shared) -> None:
    """A review on standard output."""
    from pkadvisor.report.review_page import render_review
    from pkadvisor.report.review_result import dump

    if shared.format is Format.json:
        write_bytes(redact_result(dump(document)).encode())
        return
    color = wants_color(shared.color, terminal=is_terminal(sys.stdout))
    page = render_review(
        document,
        width=width_of(sys.stdout),
        color=color,
        ascii_only=not speaks_unicode(sys.stdout),
        verbose=shared.verbose,
    )
    write_text(escape_page(redact_result(page), color=color))
