"""Options of ``advisor review``: what is reviewed, what fails, and how it is told."""

from __future__ import annotations

from enum import StrEnum

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

    sample: str | None = option(
        "Review the design of a bundled sample on its data.", metavar="NAME", autocompletion=sample_words
    )
    profile: list[str] | None = option("Profile of the tables, made by 'advisor profile'. Repeatable.", metavar="FILE")
    data: list[str] | None = option("Data files in place of a profile. Repeatable.", metavar="DATA")
    stress: list[str] | None = option("A result of 'advisor stress' of these keys. Repeatable.", metavar="FILE")
    limits: list[str] | None = option("Limits over the bundled ones.", metavar="FILE", env=True)
    rules: list[str] | None = option("A folder of rules of your own. Repeatable.", metavar="DIR")
    budget: list[str] | None = option("Add a limit for every table, e.g. cost_month=500. Repeatable.", metavar="K=V")


@dataclass(frozen=True, slots=True)
class GateOptions:
    """Which findings there are, and which of them fail the review."""

    select: list[str] | None = option(
        "Run only these rules: ids, names or prefixes: PK1,PK303.", metavar="RULE", autocompletion=rule_words
    )
    ignore: list[str] | None = option("Skip these rules.", metavar="RULE", autocompletion=rule_words)
    fail_on: FailOn | None = option("The mildest severity that fails.", env=True, show_default="error")
    new_only: bool = option("Only new and worse findings count.", False)
    against: str = option("Compare with this older design file.", "", metavar="FILE", show_default=False)
    against_ref: str = option(
        "Compare with a commit, branch or tag (git).", "", metavar="REF", env=True, show_default=False
    )
    baseline: str = option("Known findings, which pass.", "", metavar="FILE", env=True, show_default=False)
    write_baseline: bool = option("Write all current findings to the baseline.", False)
    prune_baseline: bool = option("Remove findings that are gone from the baseline.", False)
    add_ignore: str | None = option(
        "Suppress the findings that fail the gate, by comments in the designs.", metavar="REASON"
    )


@dataclass(frozen=True, slots=True)
class Reporting:
    """How findings are shown, and which files are written."""

    show_suppressed: bool = option("List suppressed findings with their reasons.", False)
    details: bool = option("Show every finding, with its line of the design.", False, env=True)
    today: str = option("The date for suppressions that expire.", "", metavar="DAY", env=True, show_default="today")
    redact: Redact = option("Hide key values in every output.", Redact.none, env=True)
    fix: bool = option("Make the safe edits; stored keys are never changed.", False)
    diff: bool = option("Show what --fix would edit, and change nothing.", False)
    stdin_name: str | None = option("The path that the design '-' is reviewed as.", metavar="NAME")
    out: list[str] | None = option(f"Write a file as well ({', '.join(ReviewFormat)}). Repeatable.", metavar="FMT=PATH")
    annotate: bool = option("GitHub annotations on standard error, beside any format.", False, env=True)
    if_changed: str | None = option(
        "Shorten the Markdown of a passing run if no number moved by more than this.", metavar="SHARE"
    )
