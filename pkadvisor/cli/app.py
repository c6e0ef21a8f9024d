"""The commands by name, each with a line about it; the module of a command is imported once a command line needs it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, MutableMapping
from importlib import import_module
from inspect import cleandoc
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup, TyperOption

from pkadvisor.values import dataclass

# Plain help, no rich markup: the same text in a terminal, a pipe and a build log.
SETTINGS = {"help_option_names": ["-h", "--help"]}
PLAIN: dict[str, Any] = {
    "context_settings": SETTINGS,
    "rich_markup_mode": None,
    "add_completion": False,
    "invoke_without_command": True,
    "pretty_exceptions_enable": False,
    "pretty_exceptions_show_locals": False,
}
PACKAGE = "pkadvisor.cli.commands"


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """A command: its module and its function there; or a group, its commands, and the function whose examples it
    shows."""

    name: str
    summary: str
    module: str
    function: str
    commands: tuple[CommandEntry, ...] = ()


COMMANDS: tuple[CommandEntry, ...] = (
    CommandEntry("analyze", "Choose PartitionKey and RowKey for data and its query log", "analyze", "analyze"),
    CommandEntry("keys", "Show which properties can form a key, without queries", "keys", "keys"),
    CommandEntry("explain", "Explain a rule, a query's plan, a scheme's rank or a key", "explain", "explain"),
    CommandEntry("score", "Score the keys of a design, or keys that you give", "score", "score"),
    CommandEntry("compare", "Compare the keys of two designs, or two results", "compare", "compare"),
    CommandEntry("review", "Review design files, as a gate before a deployment", "review", "review"),
    CommandEntry("stress", "Test current and recommended keys under load", "stress", "stress"),
    CommandEntry("report", "Draw any JSON result as one HTML page", "report", "report"),
    CommandEntry("profile", "Summarise data and logs in a file to commit", "profile", "profile"),
    CommandEntry("init", "Write settings, a design, pipelines and hooks", "init", "init"),
    CommandEntry("manual", "List the pages of the manual, or print one", "manual", "manual"),
    CommandEntry("completion", "Print the completion script of a shell", "completion", "completion"),
    CommandEntry(
        "samples",
        "List the bundled data sets, or copy one",
        "samples",
        "list_samples",
        commands=(
            CommandEntry("list", "List the bundled data sets", "samples", "list_samples"),
            CommandEntry("write", "Copy a data set, with its log and design", "samples", "write_sample"),
        ),
    ),
    CommandEntry(
        "rules",
        "List and explain the rules of 'advisor review'",
        "rules",
        "list_rules",
        commands=(
            CommandEntry("list", "List the rules", "rules", "list_rules"),
            CommandEntry("explain", "Explain a rule, with a bad and a good design", "rules", "explain_rule"),
            CommandEntry("facts", "List the facts that a rule of yours can name", "rules", "facts"),
        ),
    ),
    CommandEntry(
        "config",
        "Show the current settings, and the schemas of all files",
        "config",
        "schema",
        commands=(
            CommandEntry("show", "Show the current settings and where each comes from", "config", "show"),
            CommandEntry("schema", "Print the JSON schema of a file", "config", "schema"),
        ),
    ),
)


class Commands(MutableMapping[str, Any]):
    """The commands of a group by name, each made when it is looked up."""

    def __init__(self, entries: tuple[CommandEntry, ...]) -> None:
        self.entries = {entry.name: entry for entry in entries}
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = _command(self.entries[name])
        return self._made[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, name: object) -> bool:
        return name in self.entries


class LightGroup(TyperGroup):
    """A group that imports no command to list them all."""

    entries: tuple[CommandEntry, ...] = ()

    def __init__(self, **given: Any) -> None:
        super().__init__(**{**given, "commands": None})
        self.commands = Commands(self.entries)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(entry.name, entry.summary) for entry in self.entries])

    def get_help_option(self, ctx: Any) -> TyperOption | None:
        """The help option with a default, for Typer imports pydantic to convert an option without a value."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.default = False
        return option


class PlainCommand(TyperCommand):
    """A command whose help lists options in groups, and leaves out that an argument is a ``<list[str]>``."""

    def get_help(self, ctx: Any) -> str:
        return re.sub(r" <(?:list\[)?str\]?>(?=  )", lambda match: " " * len(match[0]), super().get_help(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        from pkadvisor.cli.shared import PANELS

        listed: dict[str, list[tuple[str, str]]] = {"Arguments": [], **{panel: [] for panel in PANELS}}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                argument = parameter.param_type_name == "argument"
                panel = getattr(parameter, "rich_help_panel", None) or PANELS[-1]
                listed["Arguments" if argument else panel].append(record)
        for panel, records in listed.items():
            if records:
                with formatter.section(panel):
                    formatter.write_dl(records)


def examples(commands: Iterable[str]) -> str:
    """The end of a help page; every line is run by a test, in order, in one empty folder."""
    return "\b\nExamples:\n" + "\n".join(f"  {command.strip()}" for command in commands)


def _command(entry: CommandEntry) -> Any:
    """A command or a group as Typer makes it, from its module."""
    function = getattr(import_module(f"{PACKAGE}.{entry.module}"), entry.function)
    about, _, commands = cleandoc(function.__doc__).partition("\n\nExamples:\n")
    epilog = examples(commands.splitlines())
    if entry.commands:
        return _group(entry.name, entry.summary, epilog, entry.commands)
    one = typer.Typer(**{**PLAIN, "invoke_without_command": False})
    one.command(
        entry.name, cls=PlainCommand, help=about, epilog=epilog, short_help=entry.summary, context_settings=SETTINGS
    )(function)
    return typer.main.get_command(one)


def _group(name: str, about: str, epilog: str, entries: tuple[CommandEntry, ...]) -> Any:
    """A command group that shows its help when called alone."""
    made = typer.Typer(
        name=name, cls=type("Group", (LightGroup,), {"entries": entries}), help=f"{about}.", epilog=epilog, **PLAIN
    )

    @made.callback()
    def alone(ctx: typer.Context) -> None:
        show_help_alone(ctx)

    return typer.main.get_command(made)


def show_help_alone(ctx: typer.Context) -> None:
    if ctx.invoked_subcommand is None:
        from pkadvisor.cli.console import write_text

        write_text(ctx.get_help())


def _version(value: bool) -> None:
    if value:
        from pkadvisor.cli.commands.version import version_text
        from pkadvisor.cli.console import write_text

        write_text(version_text(machine=False))
        raise typer.Exit


class RootGroup(LightGroup):
    entries = COMMANDS


app = typer.Typer(
    name="advisor",
    cls=RootGroup,
    epilog=examples(("advisor analyze --sample footrace", "advisor samples list", "advisor analyze --help")),
    **PLAIN,
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
