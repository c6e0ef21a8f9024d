"""The commands, assembled; imported once the command line turned out to need them."""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from pkadvisor.cli.commands import (
    analyze,
    compare,
    completion,
    config,
    explain,
    init,
    manual,
    profile,
    report,
    review,
    rules,
    samples,
    score,
    stress,
)
from pkadvisor.cli.console import write_text
from pkadvisor.cli.shared import examples

# Plain help, no rich markup: the same text in a terminal, a pipe and a build log.
SETTINGS = {"help_option_names": ["-h", "--help"]}


class LightGroup(TyperGroup):
    """A group whose help option has a default, for Typer imports pydantic to convert an option without a value."""

    def get_help_option(self, ctx: Any) -> TyperOption | None:
        option = super().get_help_option(ctx)
        if option is not None:
            option.default = False
        return option


class PlainCommand(TyperCommand):
    """A command whose help leaves out that an argument is a ``<list[str]>``."""

    def get_help(self, ctx: Any) -> str:
        return re.sub(r" <(?:list\[)?str\]?>(?=  )", lambda match: " " * len(match[0]), super().get_help(ctx))


def _group(about: str, epilog: str) -> typer.Typer:
    """A command group that shows its help when called alone."""
    group = typer.Typer(
        cls=LightGroup,
        help=about,
        epilog=epilog,
        context_settings=SETTINGS,
        rich_markup_mode=None,
        invoke_without_command=True,
        pretty_exceptions_enable=False,
        pretty_exceptions_show_locals=False,
    )

    @group.callback()
    def alone(ctx: typer.Context) -> None:
        show_help_alone(ctx)

    return group


def show_help_alone(ctx: typer.Context) -> None:
    if ctx.invoked_subcommand is None:
        write_text(ctx.get_help())


def _version(value: bool) -> None:
    if value:
        from pkadvisor.cli.commands.version import version_text

        write_text(version_text(machine=False))
        raise typer.Exit


app = typer.Typer(
    name="advisor",
    cls=LightGroup,
    epilog=examples(
        "advisor analyze --sample footrace",
        "advisor samples list",
        "advisor analyze --help",
    ),
    context_settings=SETTINGS,
    rich_markup_mode=None,
    add_completion=False,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    pretty_exceptions_show_locals=False,
)


@app.callback()
def root(
    ctx: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Name and number; with --format json, all that a result depends on.",
            callback=_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    """Choose PartitionKey and RowKey for a partitioned table store, from sample data and a query log.

    Exit codes: 0 done, 1 a constraint cannot be satisfied or there is not enough to advise, 2 wrong usage,
    3 unusable input, 4 a bug in pkadvisor, 130 interrupted, 141 the reader of the output left.
    """
    show_help_alone(ctx)


app.command("analyze", cls=PlainCommand, epilog=analyze.EPILOG, context_settings=SETTINGS)(analyze.analyze)
app.command("explain", cls=PlainCommand, epilog=explain.EPILOG, context_settings=SETTINGS)(explain.explain)
app.command("score", cls=PlainCommand, epilog=score.EPILOG, context_settings=SETTINGS)(score.score)
app.command("compare", cls=PlainCommand, epilog=compare.EPILOG, context_settings=SETTINGS)(compare.compare)
app.command("review", cls=PlainCommand, epilog=review.EPILOG, context_settings=SETTINGS)(review.review)
app.command("stress", cls=PlainCommand, epilog=stress.EPILOG, context_settings=SETTINGS)(stress.stress)
app.command("report", cls=PlainCommand, epilog=report.EPILOG, context_settings=SETTINGS)(report.report)
app.command("profile", cls=PlainCommand, epilog=profile.EPILOG, context_settings=SETTINGS)(profile.profile)

app.command("init", cls=PlainCommand, epilog=init.EPILOG, context_settings=SETTINGS)(init.init)
app.command("manual", cls=PlainCommand, epilog=manual.EPILOG, context_settings=SETTINGS)(manual.manual)
app.command("completion", cls=PlainCommand, epilog=completion.EPILOG, context_settings=SETTINGS)(completion.completion)

_samples = _group("List bundled data sets or copy one.", samples.LIST_EPILOG)
_samples.command("list", cls=PlainCommand, epilog=samples.LIST_EPILOG, context_settings=SETTINGS)(samples.list_samples)
_samples.command("write", cls=PlainCommand, epilog=samples.WRITE_EPILOG, context_settings=SETTINGS)(
    samples.write_sample
)
app.add_typer(_samples, name="samples")

_rules = _group("List and explain the rules of 'advisor review'.", rules.LIST_EPILOG)
_rules.command("list", cls=PlainCommand, epilog=rules.LIST_EPILOG, context_settings=SETTINGS)(rules.list_rules)
_rules.command("explain", cls=PlainCommand, epilog=rules.EXPLAIN_EPILOG, context_settings=SETTINGS)(rules.explain_rule)
_rules.command("facts", cls=PlainCommand, epilog=rules.FACTS_EPILOG, context_settings=SETTINGS)(rules.facts)
app.add_typer(_rules, name="rules")

_config = _group("Show the settings in use, and the schemas of what is read and written.", config.EPILOG)
_config.command("show", cls=PlainCommand, epilog=config.SHOW_EPILOG, context_settings=SETTINGS)(config.show)
_config.command("schema", cls=PlainCommand, epilog=config.EPILOG, context_settings=SETTINGS)(config.schema)
app.add_typer(_config, name="config")
