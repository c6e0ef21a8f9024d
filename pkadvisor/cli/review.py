"""``advisor review``: the gate before a deployment."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

import typer

from pkadvisor.cli.analyze import listen
from pkadvisor.cli.console import (
    escape_page,
    is_terminal,
    redact_result,
    say_error,
    speaks_unicode,
    wants_color,
    width_of,
    write_bytes,
    write_text,
)
from pkadvisor.cli.inputs import STDIN, design_files
from pkadvisor.cli.review_fix import check_fix, fix_files, show_diff
from pkadvisor.cli.shared import Format, Redact, Shared, examples, option, unfold
from pkadvisor.errors import AdvisorError

EPILOG = examples(
    "advisor samples write footrace race",
    "advisor review race/design.yaml --fail-on never",
)


FEW = 16
"""So many designs leave less behind than it is worth to look for."""


@contextmanager
def without_collection(wanted: bool) -> Iterator[None]:
    """A short run without searches for cycles: nearly all that it makes lives to its end anyway."""
    collects = gc.isenabled()
    if wanted:
        gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


class FailOn(StrEnum):
    error = "error"
    warning = "warning"
    info = "info"
    never = "never"


@unfold
def review(
    designs: Annotated[
        list[str] | None,
        typer.Argument(metavar="DESIGN...", help="Design files, globs or '-'.", show_default=False),
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
    fix: Annotated[
        bool, option("--fix", help="Make edits that are safe as text; stored keys are never changed.")
    ] = False,
    diff: Annotated[bool, option("--diff", help="Show what --fix would edit, and change nothing.")] = False,
    stdin_name: Annotated[
        str | None, option("--stdin-name", metavar="NAME", help="The path that the design '-' is reviewed as.")
    ] = None,
    shared: Shared,
) -> None:
    """Review the keys of designs before they are deployed; exit code 1: the gate failed."""
    from pkadvisor.review.findings import Severity
    from pkadvisor.reviewer import ReviewRequest
    from pkadvisor.reviewer import review as run

    files = design_files(designs or ())
    request = ReviewRequest(
        designs=files,
        profiles=tuple(profile or ()),
        data=tuple(data or ()),
        limits=tuple(limits or ()),
        rules=tuple(rules or ()),
        select=tuple(select or ()),
        ignore=tuple(ignore or ()),
        fail_on=None if fail_on is FailOn.never else Severity(fail_on),
        new_only=new_only,
        redact=redact is Redact.keys,
        stdin=read_stdin() if STDIN in files else b"",
        stdin_name=stdin_name or "",
    )
    check_fix(request, fix=fix, diff=diff, machine=shared.format is not Format.text)
    few = len(files) <= FEW and not (request.data or request.profiles)
    with without_collection(few), listen(shared) as progress:
        document = run(request, progress)
        if fix and not diff:
            again = partial(run, request, progress)
            document = fix_files(document, request, again, color=str(shared.color), quiet=shared.quiet)
    if diff:
        show_diff(document, request)
    else:
        show(document, shared)
    tell_errors(document, color=str(shared.color))
    if document["exit_code"]:
        raise typer.Exit(document["exit_code"])


def read_stdin() -> bytes:
    """Standard input as far as a design can be long, and one byte more."""
    from pkadvisor.observe.declaration_yaml import FILE_BYTES_MAX

    return b"" if sys.stdin is None else sys.stdin.buffer.read(FILE_BYTES_MAX + 1)


def tell_errors(document: dict[str, Any], *, color: str) -> None:
    """On standard error, whatever the format: which designs could not be read, and why."""
    for design in document["designs"]:
        if (found := design["error"]) is not None:
            told = AdvisorError(found["what"], where=found["where"], fix=found["fix"], excerpt=found["excerpt"])
            say_error(told, color=color)


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
