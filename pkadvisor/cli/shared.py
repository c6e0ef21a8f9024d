"""Options that several commands have in common, declared once and unfolded into each command's signature."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import shlex
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from pkadvisor.cli.console import is_terminal, say
from pkadvisor.cli.examples import examples as examples
from pkadvisor.values import dataclass


class Format(StrEnum):
    """What standard output of any command can carry."""

    text = "text"
    json = "json"


class ResultFormat(StrEnum):
    """How a result can be written; what is no page is a line here and one in a command's RENDERERS."""

    text = "text"
    json = "json"
    html = "html"
    html_dir = "html-dir"


class PageFormat(StrEnum):
    """How a page can be written: one file, or files in a folder."""

    html = "html"
    html_dir = "html-dir"


class ReviewFormat(StrEnum):
    """How a review can be written; each later format is a line here and one in ``review_output.RENDERERS``."""

    text = "text"
    concise = "concise"
    json = "json"
    sarif = "sarif"
    junit = "junit"
    github = "github"
    azure = "azure"
    gitlab = "gitlab"
    html = "html"
    html_dir = "html-dir"
    markdown = "markdown"
    md = "markdown"  # the same, as files are called


class ColorChoice(StrEnum):
    auto = "auto"
    always = "always"
    never = "never"


class Redact(StrEnum):
    keys = "keys"
    none = "none"


PANELS = ("Input", "Workload", "Output", "HTML", "Common")
"""The groups of options on a help page, in order."""
_IN_PANELS = {
    "Workload": (
        *("--limits", "--seed", "--candidates", "--budget", "--scheme", "--load", "--growth", "--duration", "--slo"),
        *("--find-limit", "--clients", "--concurrency", "--think", "--retry", "--servers", "--vms", "--partition"),
        *("--fault", "--enforce", "--calibrate", "--target", "--connection-string-file", "--sas-file"),
        "--max-transactions",
    ),
    "Output": (
        *("--out", "--format", "--redact", "--top", "--details", "--raw", "--of", "--salt-file", "--dry-run"),
        *("--fail-on", "--new-only", "--exit-zero", "--fail-if-worse", "--show-suppressed", "--annotate"),
        *("--if-changed", "--write-baseline", "--prune-baseline", "--add-ignore", "--fix", "--diff"),
        *("--force", "--ci", "--pre-commit", "--install"),
    ),
    "HTML": ("--title", "--theme", "--sections", "--max-size"),
    "Common": (
        *("--quiet", "--verbose", "--color", "--no-progress", "--config", "--isolated", "--debug", "--yes"),
        *("--version", "--help"),
    ),
}
"""Every other option is input."""
_PANEL_OF = {name: panel for panel, names in _IN_PANELS.items() for name in names}


def option(*names: str, help: str, env: str | None = None, **more: Any) -> Any:  # noqa: A002
    """An option that shows its environment variable, if it has one; what no other group names is input."""
    variable = f"PKADVISOR_{env}" if env else None
    panel = _PANEL_OF.get(names[0], PANELS[0])
    return typer.Option(*names, help=help, envvar=variable, show_envvar=True, rich_help_panel=panel, **more)


_FORMAT = option("--format", help="Format of standard output.", env="FORMAT")


@dataclass(frozen=True, slots=True)
class Shared:
    """Conduct: every command has these, after the command's name."""

    format: Annotated[Format, _FORMAT] = Format.text
    quiet: Annotated[bool, option("--quiet", "-q", help="Only results and errors.", env="QUIET")] = False
    verbose: Annotated[bool, option("--verbose", "-v", help="Show what was skipped, and why.", env="VERBOSE")] = False
    color: Annotated[ColorChoice, option("--color", help="Colour in text.", env="COLOR")] = ColorChoice.auto
    no_progress: Annotated[bool, option("--no-progress", help="No progress bar.", env="NO_PROGRESS")] = False
    config: Annotated[
        str | None,
        option("--config", metavar="FILE", help="Read settings from this file, not from pkadvisor.toml.", env="CONFIG"),
    ] = None
    isolated: Annotated[bool, option("--isolated", help="Ignore all settings files.", env="ISOLATED")] = False
    debug: Annotated[bool, option("--debug", help="Show the traceback of an error.", env="DEBUG")] = False


@dataclass(frozen=True, slots=True)
class ResultShared(Shared):
    """Conduct of the commands whose result can be drawn as a page."""

    format: Annotated[ResultFormat, _FORMAT] = ResultFormat.text  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class PageShared(Shared):
    """Conduct of ``advisor report``, which draws pages and nothing else."""

    format: Annotated[PageFormat, option("--format", help="Format of standard output.")] = PageFormat.html  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class ReviewShared(Shared):
    """Conduct of ``advisor review``, which has more formats."""

    format: Annotated[ReviewFormat, _FORMAT] = ReviewFormat.text  # type: ignore[assignment]


DataFiles = Annotated[
    list[str] | None,
    typer.Argument(metavar="DATA", help="Data files: PATH, kind=PATH, glob or '-'.", show_default=False),
]
"""The data that a command reads."""
ResultFiles = Annotated[
    list[str] | None,
    option("--out", metavar="FMT=PATH", help=f"Write a file as well ({', '.join(ResultFormat)}). Repeatable."),
]
"""The files that a command writes its result to."""


@dataclass(frozen=True, slots=True)
class InputOptions:
    """What to read, and how: the commands that look at data and logs."""

    log: Annotated[
        list[str] | None,
        option("--log", metavar="LOG...", help="Query logs: files, folders, globs or '-'."),
    ] = None
    design: Annotated[
        str | None,
        option("--design", metavar="FILE", help="Design file: current keys, declared workload."),
    ] = None
    profile: Annotated[
        list[str] | None,
        option("--profile", metavar="FILE", help="Profile file, in place of data and log. Repeatable."),
    ] = None
    sample: Annotated[
        str | None,
        option(
            "--sample",
            metavar="NAME",
            help="Use a bundled sample; 'advisor samples list' names them.",
            autocompletion=sample_words,
        ),
    ] = None
    sample_rows: Annotated[
        int | None,
        option("--sample-rows", metavar="N", min=1, help="Look at N rows only."),
    ] = None
    entities_total: Annotated[
        int | None,
        option("--entities-total", metavar="N", min=1, help="Entities in the table; the data is a sample of them."),
    ] = None
    log_fraction: Annotated[
        str,
        option("--log-fraction", metavar="SHARE", help="Share of the requests that the logs hold.", show_default=True),
    ] = "100%"
    limits: Annotated[
        list[Path] | None,
        option(
            "--limits",
            metavar="FILE",
            help="Limits, prices or measured capacities over the bundled ones. Repeatable, the last wins.",
            env="LIMITS",
        ),
    ] = None
    since: Annotated[str | None, option("--since", metavar="T", help="Ignore log lines before T.")] = None
    until: Annotated[str | None, option("--until", metavar="T", help="Ignore log lines at or after T.")] = None
    table: Annotated[
        list[str] | None,
        option("--table", metavar="NAME", help="Only this table. Repeatable."),
    ] = None
    account: Annotated[
        str | None,
        option("--account", metavar="NAME", help="Read only this storage account of the logs."),
    ] = None
    max_bad_lines: Annotated[
        str,
        option(
            "--max-bad-lines",
            metavar="SHARE",
            help="Stop above this share of unreadable lines.",
            env="MAX_BAD_LINES",
            show_default=True,
        ),
    ] = "1%"
    redact: Annotated[
        Redact,
        option("--redact", help="Hide key values in every output.", env="REDACT", show_default=True),
    ] = Redact.none
    input_format: Annotated[
        str | None,
        option("--input-format", metavar="NAME", help="The format of the data; by default it is detected."),
    ] = None
    stdin_name: Annotated[
        str | None,
        option("--stdin-name", metavar="NAME", help="The name of standard input in messages."),
    ] = None
    seed: Annotated[
        int, option("--seed", metavar="N", min=0, help="Seed of random draws.", env="SEED", show_default=True)
    ] = 0


@dataclass(frozen=True, slots=True)
class Judging:
    """What else takes part in the choice: the commands that rank schemes."""

    candidates: Annotated[
        str | None,
        option("--candidates", metavar="FILE", help="Rank these schemes of yours with the others."),
    ] = None
    budget: Annotated[
        list[str] | None,
        option("--budget", metavar="K=V", help="Add a hard limit, e.g. index_rows=1. Repeatable."),
    ] = None


def unfold(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters of bundle type (``Shared``, ``InputOptions``, …) became one option per field."""
    plain: list[inspect.Parameter] = []
    bundles: dict[str, type[Any]] = {}
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        kind = parameter.annotation
        if not dataclasses.is_dataclass(kind) or not isinstance(kind, type):
            plain.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        bundles[parameter.name] = kind
        hints = get_type_hints(kind, include_extras=True)
        plain += [
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
            )
            for field in dataclasses.fields(kind)
        ]

    @functools.wraps(command)
    def unfolded(**given: Any) -> None:
        for name, kind in bundles.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in dataclasses.fields(kind)})
        command(**given)

    del unfolded.__wrapped__  # its annotations are not this function's
    unfolded.__signature__ = inspect.Signature(plain)  # type: ignore[attr-defined]
    unfolded.__annotations__ = {parameter.name: parameter.annotation for parameter in plain}
    return unfolded


def typed_again(data: list[str] | None, *bundles: Any) -> str:
    """Data and the options of bundles (``InputOptions``, ``Judging``) as one would type them for another command: those
    that are not as by default."""
    words = list(data or ())
    for bundle in bundles:
        for field in dataclasses.fields(bundle):
            value = getattr(bundle, field.name)
            for each in value if isinstance(value, list) else [value] if value != field.default else []:
                words += [f"--{field.name.replace('_', '-')}", str(each)]
    return shlex.join(words)


def say_next(text: str, shared: Shared, *, written: bool = False) -> None:
    """The next command for a person, on standard error: on a terminal, or beside a file that was ``written``."""
    if shared.quiet or shared.format != "text":
        return
    if written or (is_terminal(sys.stdout) and is_terminal(sys.stderr)):
        say(f"next: {text}", color=shared.color)


# -- What a shell is offered for the values of options and arguments; cheap, and silent where it cannot say.


COMPLETE = "_ADVISOR_COMPLETE"
"""Set by a shell that asks for completions; what it asks is in further variables."""


def rule_words(incomplete: str) -> list[tuple[str, str]]:
    """Ids and names of the bundled rules, from the names of their files."""
    from pkadvisor.resources import resource

    out = []
    for path in sorted(resource("rules").glob("*.toml")):
        if match := re.fullmatch(r"([A-Z]+\d+)-(.+)", path.stem):
            out += [(match[1], match[2]), (match[2], match[1])]
    return [(word, about) for word, about in out if word.lower().startswith(incomplete.lower())]


def sample_words(incomplete: str) -> list[str]:
    """Names of the bundled samples."""
    from pkadvisor.resources import resource

    names = sorted(path.parent.name for path in resource("samples").glob("*/sample.toml"))
    return [name for name in names if name.startswith(incomplete)]


def page_words(incomplete: str) -> list[tuple[str, str]]:
    """Names and titles of the pages of the manual."""
    from pkadvisor.manual import PAGES, title_and_summary

    return [(page, title_and_summary(page)[0]) for page in PAGES if page.startswith(incomplete)]


def target_words(incomplete: str) -> list[tuple[str, str]]:
    """What ``advisor explain`` explains."""
    fixed = [("scheme:", "a scheme of the ranking"), ("query:", "a query"), ("key", "a key"), ("keys", "keys in data")]
    return [pair for pair in fixed if pair[0].startswith(incomplete)] + rule_words(incomplete)
