"""``advisor review``: the gate before a deployment."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from pkadvisor.cli.commands.analyze import listen
from pkadvisor.cli.commands.review_fix import check_fix, fix_files, show_diff, suppress_all
from pkadvisor.cli.commands.review_output import deliver, settle_outputs
from pkadvisor.cli.completions import rule_words, sample_words
from pkadvisor.cli.configuration import settings_for
from pkadvisor.cli.console import say, say_error
from pkadvisor.cli.inputs import STDIN, check_files, check_folders, design_files, load_sample, nearby, path_text
from pkadvisor.cli.output import size_text, write_whole
from pkadvisor.cli.paging import Paging
from pkadvisor.cli.settings import exists
from pkadvisor.cli.shared import Redact, ReviewFormat, ReviewShared, examples, option, unfold
from pkadvisor.errors import AdvisorError, UsageError

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
        typer.Argument(metavar="DESIGN...", help="Design files, globs or '-'.", show_default=False),
    ] = None,
    *,
    sample: Annotated[
        str | None,
        option(
            "--sample",
            metavar="NAME",
            help="Review the design of a bundled sample on its data.",
            autocompletion=sample_words,
        ),
    ] = None,
    profile: Annotated[
        list[str] | None,
        option("--profile", metavar="FILE", help="Profile of the tables, made by 'advisor profile'. Repeatable."),
    ] = None,
    data: Annotated[
        list[str] | None, option("--data", metavar="DATA", help="Data files in place of a profile. Repeatable.")
    ] = None,
    stress: Annotated[
        list[str] | None,
        option("--stress", metavar="FILE", help="A result of 'advisor stress' of these keys. Repeatable."),
    ] = None,
    limits: Annotated[
        list[str] | None, option("--limits", metavar="FILE", help="Limits over the bundled ones.", env="LIMITS")
    ] = None,
    rules: Annotated[
        list[str] | None, option("--rules", metavar="DIR", help="A folder of rules of your own. Repeatable.")
    ] = None,
    budget: Annotated[
        list[str] | None,
        option("--budget", metavar="K=V", help="Add a limit for every table, e.g. cost_month=500. Repeatable."),
    ] = None,
    select: Annotated[
        list[str] | None,
        option(
            "--select",
            metavar="RULE",
            help="Run only these rules: ids, names or prefixes: PK1,PK303.",
            autocompletion=rule_words,
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None, option("--ignore", metavar="RULE", help="Skip these rules.", autocompletion=rule_words)
    ] = None,
    fail_on: Annotated[
        FailOn | None,
        option("--fail-on", help="The mildest severity that fails.", env="FAIL_ON", show_default="error"),
    ] = None,
    new_only: Annotated[bool, option("--new-only", help="Only new and worse findings count.")] = False,
    against: Annotated[
        str, option("--against", metavar="FILE", help="Compare with this older design file.", show_default=False)
    ] = "",
    against_ref: Annotated[
        str,
        option(
            "--against-ref",
            metavar="REF",
            help="Compare with a commit, branch or tag (git).",
            env="AGAINST_REF",
            show_default=False,
        ),
    ] = "",
    baseline: Annotated[
        str,
        option("--baseline", metavar="FILE", help="Known findings, which pass.", env="BASELINE", show_default=False),
    ] = "",
    write_baseline: Annotated[
        bool, option("--write-baseline", help="Write all current findings to the baseline.")
    ] = False,
    prune_baseline: Annotated[
        bool, option("--prune-baseline", help="Remove findings that are gone from the baseline.")
    ] = False,
    add_ignore: Annotated[
        str | None,
        option(
            "--add-ignore",
            metavar="REASON",
            help="Suppress the findings that fail the gate, by comments in the designs.",
            show_default=False,
        ),
    ] = None,
    show_suppressed: Annotated[
        bool, option("--show-suppressed", help="List suppressed findings with their reasons.")
    ] = False,
    details: Annotated[
        bool, option("--details", help="Show every finding, with its line of the design.", env="DETAILS")
    ] = False,
    today: Annotated[
        str,
        option(
            "--today", metavar="DAY", help="The date for suppressions that expire.", env="TODAY", show_default="today"
        ),
    ] = "",
    redact: Annotated[
        Redact, option("--redact", help="Hide key values in every output.", env="REDACT", show_default=True)
    ] = Redact.none,
    fix: Annotated[bool, option("--fix", help="Make the safe edits; stored keys are never changed.")] = False,
    diff: Annotated[bool, option("--diff", help="Show what --fix would edit, and change nothing.")] = False,
    stdin_name: Annotated[
        str | None, option("--stdin-name", metavar="NAME", help="The path that the design '-' is reviewed as.")
    ] = None,
    out: Annotated[
        list[str] | None,
        option("--out", metavar="FMT=PATH", help=f"Write a file as well ({', '.join(ReviewFormat)}). Repeatable."),
    ] = None,
    annotate: Annotated[
        bool, option("--annotate", help="GitHub annotations on standard error, beside any format.", env="ANNOTATE")
    ] = False,
    if_changed: Annotated[
        str | None,
        option(
            "--if-changed",
            metavar="SHARE",
            help="Shorten the Markdown of a passing run if no number moved by more than this.",
        ),
    ] = None,
    paging: Paging,
    shared: ReviewShared,
) -> None:
    """Review the keys of designs before they are deployed; exit code 1: the gate failed."""
    from pkadvisor.review.rules.selection import words_of
    from pkadvisor.review.views.findings import Severity
    from pkadvisor.usecases.review import ReviewRequest, conduct

    if add_ignore is not None and not add_ignore.strip():
        why = 'say why the findings may pass: --add-ignore "3 inserts/s, see ADR-14"'
        raise UsageError("a reason is needed", where="--add-ignore", fix=why)
    if sample is not None:
        designs, data = of_sample(sample, designs, profile, data)
    check_named(profile, data, limits, rules, against, baseline="" if write_baseline else baseline)
    settings = settings_for(shared, designs[0] if designs else None)
    folders = tuple(rules or settings.rules)
    if settings.select or settings.ignore or settings.severity or settings.suppress:
        from pkadvisor.review.rules.rule import load_rules

        settings.check_rules(load_rules(folders, cases=False))
    known = baseline or settings.baseline or ""
    threshold = fail_on or FailOn(settings.fail_on or FailOn.error)
    named = design_files(designs) if designs else settings.design_files()
    given = tuple(profile or (() if data else settings.profile))
    if given == settings.profile:
        settings.check_profiles()
    inputs = [
        *named,
        *given,
        *(data or ()),
        *(stress or ()),
        *(limits or ()),
        *(path for path in (against, known) if path),
    ]
    outputs = settle_outputs(
        out,
        shared,
        inputs=inputs,
        annotate=annotate,
        show_suppressed=show_suppressed,
        details=details,
        if_changed=if_changed,
        options=paging.options(),
    )
    request = ReviewRequest(
        designs=named,
        siblings=settings.design_files(missing=False) if (given or settings.suppress) and designs else (),
        profiles=given,
        data=tuple(data or ()),
        stress=tuple(stress or ()),
        limits=(*settings.limits, *(limits or ())),
        rules=folders,
        budgets=settings.budgets_with(budget),
        select=words_of(select or settings.select),
        ignore=words_of(ignore or settings.ignore),
        severity=tuple((rule, Severity(wanted)) for rule, wanted in settings.severity),
        fail_on=None if threshold is FailOn.never else Severity(threshold),
        new_only=new_only,
        redact=redact is Redact.keys,
        against=against,
        against_ref=against_ref,
        today=today or clock_day(),
        suppress=settings.suppress,
        baseline=known,
        baseline_may_lack=not baseline and not prune_baseline,
        write_baseline=write_baseline,
        prune_baseline=prune_baseline,
        stdin=read_stdin() if STDIN in named else b"",
        stdin_name=stdin_name or "",
    )
    if known and not baseline and not (write_baseline or prune_baseline or shared.quiet or exists(Path(known))):
        say(f"no baseline yet at {known}: --write-baseline begins one", color=shared.color)
    check_fix(request, fix=fix, diff=diff, machine=shared.format is not ReviewFormat.text)
    with listen(shared) as progress:
        done = conduct(request, progress)
        if add_ignore:
            color, quiet = str(shared.color), shared.quiet
            done = suppress_all(done, add_ignore, lambda: conduct(request, progress), color=color, quiet=quiet)
        document = done.document
        if fix and not diff:
            plain = replace(request, write_baseline=False, prune_baseline=False)
            document = fix_files(
                document,
                request,
                lambda: conduct(plain, progress).document,
                color=str(shared.color),
                quiet=shared.quiet,
            )
    if done.baseline is not None:
        write_file(Path(known), done.baseline.encode(), shared)
    tell_errors(document, color=str(shared.color))
    if diff:
        show_diff(document, request, color=str(shared.color), quiet=shared.quiet)
    else:
        deliver(document, outputs)
    if document["exit_code"]:
        raise typer.Exit(document["exit_code"])


def of_sample(
    name: str, designs: list[str] | None, profiles: list[str] | None, data: list[str] | None
) -> tuple[list[str], list[str]]:
    """The design of a bundled sample, or the given ones, and its data."""
    if profiles or data:
        fix = "leave out either --sample or --data and --profile"
        raise UsageError("a bundled sample brings its own data", where="--sample", fix=fix)
    bundled = load_sample(name)
    if not designs and bundled.design is None:
        fix = f"advisor init mine --from FILE writes one; advisor analyze --sample {name} needs none"
        raise UsageError(f"the sample '{name}' has no design", where="--sample", fix=fix)
    return designs or [str(bundled.design)], list(bundled.data)


def check_named(
    profiles: list[str] | None,
    data: list[str] | None,
    limits: list[str] | None,
    rules: list[str] | None,
    against: str,
    *,
    baseline: str,
) -> None:
    """UsageError for the first file or folder of the command line that is not there."""
    files = [*((path, "--profile") for path in profiles or ()), *((path, "--limits") for path in limits or ())]
    files += [(path_text(text), "--data") for text in data or () if path_text(text) != STDIN]
    files += [(against, "--against")] if against else []
    check_files(*files)
    check_folders(*((path, "--rules") for path in rules or ()))
    if baseline and not exists(Path(baseline)):
        fix = "add --write-baseline to begin one"
        raise UsageError(f"there is no such baseline{nearby(Path(baseline))}", where=f"--baseline {baseline}", fix=fix)


def read_stdin() -> bytes:
    """Standard input as far as a design can be long, and one byte more."""
    from pkadvisor.observe.design_file.declaration_yaml import FILE_BYTES_MAX

    return b"" if sys.stdin is None else sys.stdin.buffer.read(FILE_BYTES_MAX + 1)


def tell_errors(document: dict[str, Any], *, color: str) -> None:
    """On standard error, whatever the format: which designs could not be read, and why."""
    for design in document["designs"]:
        if (found := design["error"]) is not None:
            told = AdvisorError(found["what"], where=found["where"], fix=found["fix"], excerpt=found["excerpt"])
            say_error(told, color=color)


def clock_day() -> str:
    """The one place where a review looks at the clock."""
    return date.today().isoformat()


def write_file(path: Path, content: bytes, shared: ReviewShared) -> None:
    """Write a file and say so; one that says the same already is left alone."""
    if path.is_file() and path.read_bytes() == content:
        return
    write_whole(path, content)
    if not shared.quiet:
        say(f"wrote {path} ({size_text(len(content))})", color=shared.color)
