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
from functools import partial
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from pkadvisor.cli.console import is_terminal, say
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


# -- Options as typer reads them, and the bundles of them that commands share.


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


def option(help: str, default: Any = None, *, names: str = "", env: bool = False, **more: Any) -> Any:  # noqa: A002
    """An option as the default of a parameter, or of a field of a bundle, that ``unfold`` makes one of Typer's.

    It is called as its parameter is, unless ``names`` says otherwise; ``env``: a variable of that name sets it, too.
    What no group names is input.
    """

    def made(name: str) -> Any:
        flags = names.split() or [f"--{name.replace('_', '-')}"]
        variable = f"PKADVISOR_{name.upper()}" if env else None
        panel = _PANEL_OF.get(flags[0], PANELS[0])
        return typer.Option(*flags, help=help, envvar=variable, show_envvar=True, rich_help_panel=panel, **more)

    return dataclasses.field(default=default, metadata={TYPER: made})


def argument(help: str, metavar: str, default: Any = dataclasses.MISSING, **more: Any) -> Any:  # noqa: A002
    """An argument in the same way; needed where it has no ``default``."""
    made = partial(typer.Argument, metavar=metavar, help=help, show_default=False, **more)
    return dataclasses.field(default=default, metadata={TYPER: lambda name: made()})


TYPER = "typer"
"""Under this name the default of a parameter holds a function from the name of the parameter to Typer's own."""


@dataclass(frozen=True, slots=True)
class Shared:
    """Conduct: every command has these, after the command's name."""

    format: Format = option("Format of standard output.", Format.text, env=True)
    quiet: bool = option("Only results and errors.", False, names="--quiet -q", env=True)
    verbose: bool = option("Show what was skipped, and why.", False, names="--verbose -v", env=True)
    color: ColorChoice = option("Colour in text.", ColorChoice.auto, env=True)
    no_progress: bool = option("No progress bar.", False, env=True)
    config: str | None = option("Read settings from this file, not from pkadvisor.toml.", metavar="FILE", env=True)
    isolated: bool = option("Ignore all settings files.", False, env=True)
    debug: bool = option("Show the traceback of an error.", False, env=True)


@dataclass(frozen=True, slots=True)
class ResultShared(Shared):
    """Conduct of the commands whose result can be drawn as a page."""

    format: ResultFormat = option("Format of standard output.", ResultFormat.text, env=True)  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class PageShared(Shared):
    """Conduct of ``advisor report``, which draws pages and nothing else."""

    format: PageFormat = option("Format of standard output.", PageFormat.html)  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class ReviewShared(Shared):
    """Conduct of ``advisor review``, which has more formats."""

    format: ReviewFormat = option("Format of standard output.", ReviewFormat.text, env=True)  # type: ignore[assignment]


DATA_FILES = argument("Data files: PATH, kind=PATH, glob or '-'.", "DATA", None)
"""The data that a command reads."""
RESULT_FILES = option(f"Write a file as well ({', '.join(ResultFormat)}). Repeatable.", metavar="FMT=PATH")
"""The files that a command writes its result to."""


@dataclass(frozen=True, slots=True)
class InputOptions:
    """What to read, and how: the commands that look at data and logs."""

    log: list[str] | None = option("Query logs: files, folders, globs or '-'.", metavar="LOG...")
    design: str | None = option("Design file: current keys, declared workload.", metavar="FILE")
    profile: list[str] | None = option("Profile file, in place of data and log. Repeatable.", metavar="FILE")
    sample: str | None = option(
        "Use a bundled sample; 'advisor samples list' names them.", metavar="NAME", autocompletion=sample_words
    )
    sample_rows: int | None = option("Look at N rows only.", metavar="N", min=1)
    entities_total: int | None = option("Entities in the table; the data is a sample of them.", metavar="N", min=1)
    log_fraction: str = option("Share of the requests that the logs hold.", "100%", metavar="SHARE")
    limits: list[Path] | None = option(
        "Limits, prices or measured capacities over the bundled ones. Repeatable, the last wins.",
        metavar="FILE",
        env=True,
    )
    since: str | None = option("Ignore log lines before T.", metavar="T")
    until: str | None = option("Ignore log lines at or after T.", metavar="T")
    table: list[str] | None = option("Only this table. Repeatable.", metavar="NAME")
    account: str | None = option("Read only this storage account of the logs.", metavar="NAME")
    max_bad_lines: str = option("Stop above this share of unreadable lines.", "1%", metavar="SHARE", env=True)
    redact: Redact = option("Hide key values in every output.", Redact.none, env=True)
    input_format: str | None = option("The format of the data; by default it is detected.", metavar="NAME")
    stdin_name: str | None = option("The name of standard input in messages.", metavar="NAME")
    seed: int = option("Seed of random draws.", 0, metavar="N", env=True, min=0)


@dataclass(frozen=True, slots=True)
class Judging:
    """What else takes part in the choice: the commands that rank schemes."""

    candidates: str | None = option("Rank these schemes of yours with the others.", metavar="FILE")
    budget: list[str] | None = option("Add a hard limit, e.g. index_rows=1. Repeatable.", metavar="K=V")


def unfold(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters of bundle type (``Shared``, ``InputOptions``, …) became one option per field."""
    plain: list[inspect.Parameter] = []
    bundles: dict[str, type[Any]] = {}
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        kind = parameter.annotation
        if dataclasses.is_dataclass(kind) and isinstance(kind, type):
            bundles[parameter.name] = kind
            hints = get_type_hints(kind)
            plain += [_parameter(field.name, hints[field.name], field) for field in dataclasses.fields(kind)]
        else:
            plain.append(_parameter(parameter.name, kind, parameter.default))

    @functools.wraps(command)
    def unfolded(**given: Any) -> None:
        for name, kind in bundles.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in dataclasses.fields(kind)})
        command(**given)

    del unfolded.__wrapped__  # its annotations are not this function's
    unfolded.__signature__ = inspect.Signature(plain)  # type: ignore[attr-defined]
    unfolded.__annotations__ = {parameter.name: parameter.annotation for parameter in plain}
    return unfolded


def _parameter(name: str, kind: Any, given: dataclasses.Field[Any]) -> inspect.Parameter:
    """A parameter as Typer reads it."""
    default = inspect.Parameter.empty if given.default is dataclasses.MISSING else given.default
    annotation = Annotated[kind, given.metadata[TYPER](name)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


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
