"""The command ``advisor``: the one place that turns what happened into an exit code.

0 done · 1 a constraint cannot be satisfied, or a gate failed · 2 usage · 3 unusable input · 4 a bug
130 interrupted · 141 closed pipe · 143 ended by SIGTERM (advisor stress: with what was run, if anything was)
"""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from pkadvisor.cli.signals import INTERRUPTED, TERMINATED, Terminated, ending_softly

if TYPE_CHECKING:
    from pkadvisor.errors import AdvisorError, UsageError

BUG = 4
PIPE_CLOSED = 141

SHARED_OPTIONS = (
    *("--format", "--quiet", "-q", "--verbose", "-v", "--color", "--no-progress", "--debug", "--out"),
    *("--config", "--isolated"),
)


def run() -> NoReturn:
    """Console script and ``python -m pkadvisor``."""
    # Nearly all that a command makes lives to its end: to look for cycles 300 times took 4 % of an analysis.
    gc.set_threshold(100_000, 20, 20)
    sys.exit(main(sys.argv[1:]))


def main(arguments: list[str]) -> int:
    """Run one command line; returns the exit code and never raises."""
    try:
        try:
            with ending_softly():
                code = _run(arguments)
        except BrokenPipeError:
            raise
        except BaseException as error:
            code = _explain(error, arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except BrokenPipeError:
        from pkadvisor.cli.console import forget

        forget(sys.stdout, sys.stderr)
        return PIPE_CLOSED


def _run(arguments: list[str]) -> int:
    machine = _asks_version(arguments)
    if machine is not None:
        # Before typer is imported: scripts ask for the version often.
        from pkadvisor.cli.commands.version import version_text
        from pkadvisor.cli.console import write_text

        write_text(version_text(machine=machine))
        return 0

    from pkadvisor.cli.console import prepare_streams

    prepare_streams()
    if "pkadvisor.files" in sys.modules:  # a command before this one, in the same process, may have read pipes
        sys.modules["pkadvisor.files"].forget_copies()

    # pydantic looks through every installed package for plugins; none of ours needs one, and it takes tens of ms.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")

    import typer.main

    from pkadvisor.cli.app import app
    from pkadvisor.cli.shared import COMPLETE

    command = typer.main.get_command(app)
    if instruction := os.environ.get(COMPLETE):
        from pkadvisor.cli.commands.completion import answer

        return answer(command, instruction)
    if any(word.startswith("-") and word not in ("-h", "--help") for word in arguments):
        from pkadvisor.cli.inputs import spread_logs

        arguments = spread_logs(arguments)
    try:
        # Not app(): its handling of closed pipes and interrupts would choose other exit codes.
        with command.make_context("advisor", arguments) as context:
            command.invoke(context)
    except typer.Exit as stop:
        return stop.exit_code
    return 0


def _asks_version(arguments: list[str]) -> bool | None:
    """None if this is no plain question for the version, else whether the answer is to be JSON."""
    if "--version" not in arguments:
        return None
    rest = [argument for argument in arguments if argument != "--version"]
    given = " ".join(rest).replace("--format=", "--format ")
    if given in ("--format json", "--format text"):
        return given.endswith("json")
    return os.environ.get("PKADVISOR_FORMAT") == "json" if not rest else None


def _explain(error: BaseException, arguments: list[str]) -> int:
    """Say on standard error what happened, in one to four lines; returns the exit code."""
    from pkadvisor.cli.console import escape_page, say, say_error, write_text

    color, debug = _choice(arguments, "--color"), _debug_asked(arguments)
    color = color if color in ("always", "never") else "auto"
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 0
    if isinstance(error, KeyboardInterrupt):
        terminated = isinstance(error, Terminated)
        say("ended by SIGTERM" if terminated else "interrupted", color=color)
        return TERMINATED if terminated else INTERRUPTED
    known = _translate(error)
    if known is None:
        return _confess(error, debug=debug, color=color)
    if debug:
        _show_traceback(error)
    say_error(known, color=color)
    if known.skeleton and _choice(arguments, "--format") != "json":
        # On standard output, so that  advisor analyze data.csv > design.yaml  begins a design file.
        write_text(escape_page(known.skeleton, color=False))
    return known.exit_code


def _translate(error: BaseException) -> AdvisorError | None:
    """The error in the terms of its reader; None if it is a bug."""
    from pkadvisor.errors import AdvisorError, InputError, UsageError

    if isinstance(error, AdvisorError):
        return error
    if isinstance(error, OSError) and error.filename is not None and not _is_ours(error.filename):
        # The use cases name their files better; this is the net below them, for a file that vanished meanwhile.
        gone = isinstance(error, (FileNotFoundError, IsADirectoryError, NotADirectoryError))
        kind = UsageError if gone else InputError
        return kind(f"{os.fsdecode(error.filename)}: {error.strerror or error}")
    typer = sys.modules.get("typer")
    if typer is not None and isinstance(error, typer.TyperException):
        return _usage(error)
    return None


def _usage(error: Any) -> UsageError:
    """What the parser of the command line rejected, with the nearest right word."""
    from pkadvisor.errors import UsageError

    name = str(getattr(error, "option_name", ""))
    plain = bool(name) and hasattr(error, "possibilities")
    sentence = " ".join((str(getattr(error, "message", "")) if plain else error.format_message()).split())
    sentence = sentence.replace("Value error, ", "")
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "advisor"
    hint = _option_meant(name, context) if plain and context is not None else ""
    at_root = context is not None and context.parent is None
    if name and at_root and name.split("=")[0] in SHARED_OPTIONS:
        return UsageError(sentence, fix=f"give {name} after the command: advisor analyze {name}")
    if hint:
        sentence = f"{sentence.rstrip('.')}; {hint}"
    return UsageError(sentence, fix=f"{path} --help lists what is possible")


def _option_meant(name: str, context: Any) -> str:
    """The option of the command that a word is a slip or an abbreviation of, or the commands that have this option."""
    from difflib import get_close_matches

    word = name.split("=")[0]
    commands = getattr(context.find_root().command, "commands", {})
    others = [n for n, c in commands.items() if not c.hidden and any(word in p.opts for p in c.params)]
    if others:
        return f"it is an option of {', '.join(others[:4])}"
    own = [o[2:] for p in context.command.params for o in p.opts if o.startswith("--")]
    letters = word.lstrip("-")
    longer = [o for o in own if o.startswith(letters) or letters.startswith(o)]
    near = longer if len(letters) > 2 and len(longer) == 1 else get_close_matches(letters, own, n=1, cutoff=0.75)
    return f"did you mean '--{near[0]}'?" if near else ""


def _confess(error: BaseException, *, debug: bool, color: str) -> int:
    """A bug: one line for the user, everything else in a file that can be sent."""
    from pkadvisor.cli.console import say

    say(f"this is a bug in pkadvisor: {type(error).__name__}: {str(error)[:200]}", label="error: ", color=color)
    if debug:
        _show_traceback(error)
        return BUG
    try:
        import tempfile

        from pkadvisor.cli.commands.version import version_text

        with tempfile.NamedTemporaryFile(
            "w", prefix="pkadvisor-", suffix=".log", delete=False, encoding="utf-8", errors="backslashreplace"
        ) as file:
            file.write(version_text(machine=True) + "\n" + _traceback_text(error))
        say(f"traceback, to be sent with a report: {file.name}", label="  ", color=color)
    except Exception:
        say("--debug shows the traceback", label="  ", color=color)
    return BUG


def _show_traceback(error: BaseException) -> None:
    from pkadvisor.cli.console import say

    for line in _traceback_text(error).splitlines():
        say(line, color="never")


def _traceback_text(error: BaseException) -> str:
    """The traceback without the values of variables: they may be anybody's data."""
    import traceback

    from pkadvisor.cli.console import escape_page, redact

    return escape_page(redact("".join(traceback.format_exception(error))), color=False)


def _is_ours(filename: object) -> bool:
    """Whether a missing file belongs to the installation: that is a bug, and no user's mistake."""
    if not isinstance(filename, (str, bytes, os.PathLike)):
        return True
    from pkadvisor.resources import resource

    path = os.path.realpath(os.fsdecode(filename))
    places = ("manual", "rules", "templates", "samples")
    return any(path.startswith(str(resource(place)) + os.sep) for place in places)


def _choice(arguments: list[str], option: str) -> str:
    """A shared option as given or as its variable says, also when the command line could not be parsed."""
    choice = os.environ.get(f"PKADVISOR_{option.removeprefix('--').upper()}", "")
    for before, argument in zip(["", *arguments], arguments, strict=False):
        if before == option:
            choice = argument
        elif argument.startswith(f"{option}="):
            choice = argument.partition("=")[2]
    return choice


def _debug_asked(arguments: list[str]) -> bool:
    said = os.environ.get("PKADVISOR_DEBUG", "").lower()
    return "--debug" in arguments or said in ("1", "true", "yes", "on", "t", "y")
