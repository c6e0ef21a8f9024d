"""Options of ``advisor review``: what is reviewed, what fails, and how it is told."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pkadvisor.cli.shared import Redact, ReviewFormat, option, rule_words, sample_words
from pkadvisor.values import dataclass


class FailOn(StrEnum):
    error = "error"
    warning = "warning"
    info = "info"
    never = "never"


@dataclass(frozen=True, slots=True)
class ReviewEvidence:
    """What is known of the designs: data or profiles, stress results, limits, rules and budgets."""

    sample: Annotated[
        str | None,
        option(
            "--sample",
            metavar="NAME",
            help="Review the design of a bundled sample on its data.",
            autocompletion=sample_words,
        ),
    ] = None
    profile: Annotated[
        list[str] | None,
        option("--profile", metavar="FILE", help="Profile of the tables, made by 'advisor profile'. Repeatable."),
    ] = None
    data: Annotated[
        list[str] | None, option("--data", metavar="DATA", help="Data files in place of a profile. Repeatable.")
    ] = None
    stress: Annotated[
        list[str] | None,
        option("--stress", metavar="FILE", help="A result of 'advisor stress' of these keys. Repeatable."),
    ] = None
    limits: Annotated[
        list[str] | None, option("--limits", metavar="FILE", help="Limits over the bundled ones.", env="LIMITS")
    ] = None
    rules: Annotated[
        list[str] | None, option("--rules", metavar="DIR", help="A folder of rules of your own. Repeatable.")
    ] = None
    budget: Annotated[
        list[str] | None,
        option("--budget", metavar="K=V", help="Add a limit for every table, e.g. cost_month=500. Repeatable."),
    ] = None


@dataclass(frozen=True, slots=True)
class GateOptions:
    """Which findings there are, and which of them fail the review."""

    select: Annotated[
        list[str] | None,
        option(
            "--select",
            metavar="RULE",
            help="Run only these rules: ids, names or prefixes: PK1,PK303.",
            autocompletion=rule_words,
        ),
    ] = None
    ignore: Annotated[
        list[str] | None, option("--ignore", metavar="RULE", help="Skip these rules.", autocompletion=rule_words)
    ] = None
    fail_on: Annotated[
        FailOn | None,
        option("--fail-on", help="The mildest severity that fails.", env="FAIL_ON", show_default="error"),
    ] = None
    new_only: Annotated[bool, option("--new-only", help="Only new and worse findings count.")] = False
    against: Annotated[
        str, option("--against", metavar="FILE", help="Compare with this older design file.", show_default=False)
    ] = ""
    against_ref: Annotated[
        str,
        option(
            "--against-ref",
            metavar="REF",
            help="Compare with a commit, branch or tag (git).",
            env="AGAINST_REF",
            show_default=False,
        ),
    ] = ""
    baseline: Annotated[
        str,
        option("--baseline", metavar="FILE", help="Known findings, which pass.", env="BASELINE", show_default=False),
    ] = ""
    write_baseline: Annotated[bool, option("--write-baseline", help="Write all current findings to the baseline.")] = (
        False
    )
    prune_baseline: Annotated[
        bool, option("--prune-baseline", help="Remove findings that are gone from the baseline.")
    ] = False
    add_ignore: Annotated[
        str | None,
        option(
            "--add-ignore",
            metavar="REASON",
            help="Suppress the findings that fail the gate, by comments in the designs.",
            show_default=False,
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class Reporting:
    """How findings are shown, and which files are written."""

    show_suppressed: Annotated[
        bool, option("--show-suppressed", help="List suppressed findings with their reasons.")
    ] = False
    details: Annotated[
        bool, option("--details", help="Show every finding, with its line of the design.", env="DETAILS")
    ] = False
    today: Annotated[
        str,
        option(
            "--today", metavar="DAY", help="The date for suppressions that expire.", env="TODAY", show_default="today"
        ),
    ] = ""
    redact: Annotated[
        Redact, option("--redact", help="Hide key values in every output.", env="REDACT", show_default=True)
    ] = Redact.none
    fix: Annotated[bool, option("--fix", help="Make the safe edits; stored keys are never changed.")] = False
    diff: Annotated[bool, option("--diff", help="Show what --fix would edit, and change nothing.")] = False
    stdin_name: Annotated[
        str | None, option("--stdin-name", metavar="NAME", help="The path that the design '-' is reviewed as.")
    ] = None
    out: Annotated[
        list[str] | None,
        option("--out", metavar="FMT=PATH", help=f"Write a file as well ({', '.join(ReviewFormat)}). Repeatable."),
    ] = None
    annotate: Annotated[
        bool, option("--annotate", help="GitHub annotations on standard error, beside any format.", env="ANNOTATE")
    ] = False
    if_changed: Annotated[
        str | None,
        option(
            "--if-changed",
            metavar="SHARE",
            help="Shorten the Markdown of a passing run if no number moved by more than this.",
        ),
    ] = None
