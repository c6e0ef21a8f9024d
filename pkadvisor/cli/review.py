"""``advisor review``: the gate before a deployment."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated, Any

import typer

from pkadvisor.cli.analyze import listen
from pkadvisor.cli.completions import rule_words
from pkadvisor.cli.configuration import settings_for
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
    select: Annotated[
        list[str] | None,
        option(
            "--select", metavar="RULE", help="Only these: ids, names, or beginnings of ids.", autocompletion=rule_words
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None, option("--ignore", metavar="RULE", help="Not these.", autocompletion=rule_words)
    ] = None,
    fail_on: Annotated[
        FailOn | None,
        option("--fail-on", help="The mildest severity that fails.", env="FAIL_ON", show_default="error"),
    ] = None,
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

    settings = settings_for(shared, designs[0] if designs else None)
    folders = tuple(rules or settings.rules)
    if settings.select or settings.ignore or settings.severity or settings.suppress:
        from pkadvisor.review.rule import load_rules

        settings.check_rules(load_rules(folders))
    threshold = fail_on or FailOn(settings.fail_on or FailOn.error)
    request = ReviewRequest(
        designs=tuple(designs or settings.design_files()),
        profiles=tuple(profile or (() if data else settings.profile)),
        data=tuple(data or ()),
        limits=(*settings.limits, *(limits or ())),
        rules=folders,
        select=tuple(select or settings.select),
        ignore=tuple(ignore or settings.ignore),
        severity=tuple((rule, Severity(wanted)) for rule, wanted in settings.severity),
        fail_on=None if threshold is FailOn.never else Severity(threshold),
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
