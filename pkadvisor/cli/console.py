"""What may reach a terminal: escaping, secrets, colour, width and encoding, decided in one place."""

from __future__ import annotations

import io
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

from pkadvisor.errors import AdvisorError, UsageError

if TYPE_CHECKING:
    from rich.console import Console


MESSAGE_CHARACTERS = 380  # of a line on standard error: what is wrong is said in fewer, the rest is an echo
_BEGINNING, _END = 240, 100
PIPE_WIDTH = 80  # columns of a page that no terminal measures
_JOINERS = "\u200c\u200d\u00ad"  # format characters that scripts and emoji need and that move nothing
_UNSAFE_CATEGORIES = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
_COLOUR_SEQUENCE = re.compile(r"\x1b\[[0-9;]*m")

# Names of the places where credentials of a storage account travel. A value ends at the separators of
# connection strings, URLs and quoted text, so that redacted JSON stays JSON.
_SECRET = re.compile(
    r"(?i)(?:\b|(?<=%3F)|(?<=%26))(AccountKey|SharedAccessKey|SharedAccessSignature|sig)(=|%3D)((?:(?!%26|%3B)[^\s;&\"'<>\\,|])+)",
)
_SECRET_OF_SIGNATURE_LENGTH = 20


def escape(text: str) -> str:
    """Text from anywhere as one harmless line: control, bidirectional and unpaired characters become ``\\x1b``."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_escape_character, text))


def _escape_character(char: str) -> str:
    if unicodedata.category(char) not in _UNSAFE_CATEGORIES or char in _JOINERS:
        return char
    if char in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[char]
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shortened(line: str) -> str:
    """A message of at most ``MESSAGE_CHARACTERS``: of a longer one the middle is left out, and how much of it told."""
    if len(line) <= MESSAGE_CHARACTERS:
        return line
    left_out = len(line) - _BEGINNING - _END
    return f"{line[:_BEGINNING]} … ({left_out:,} characters) … {line[-_END:]}"


def escape_page(text: str, *, color: bool) -> str:
    """A rendered page: line ends stay, and colour sequences where colour is wanted; all else as in ``escape``."""

    def line(piece: str) -> str:
        if not color:
            return escape(piece)
        plain = _COLOUR_SEQUENCE.split(piece)
        marks = [*_COLOUR_SEQUENCE.findall(piece), ""]
        return "".join(escape(words) + mark for words, mark in zip(plain, marks, strict=True))

    return "\n".join(line(piece) for piece in text.split("\n"))


def redact(text: str, *, shortest: int = 1) -> str:
    """Credentials replaced by ``***``; ``shortest`` spares values too short to be one."""

    def hide(match: re.Match[str]) -> str:
        name, equals, value = match.groups()
        signature = name.lower() == "sig" and len(value) < shortest
        return match[0] if signature else f"{name}{equals}***"

    return _SECRET.sub(hide, text)


def redact_result(text: str) -> str:
    """``redact`` for results, where a key template may well be named ``sig={sig}``: only whole signatures go."""
    return redact(text, shortest=_SECRET_OF_SIGNATURE_LENGTH)


def without_secrets(value: Any) -> Any:
    """A document without credentials, before it takes a form in which they are hard to see."""
    if isinstance(value, str):
        return redact_result(value)
    if isinstance(value, dict):
        return {key: without_secrets(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_secrets(item) for item in value]
    if not hasattr(value, "__struct_fields__"):
        return value
    from msgspec.structs import replace

    return replace(value, **{name: without_secrets(getattr(value, name)) for name in value.__struct_fields__})


def is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def wants_color(choice: str, *, terminal: bool, environment: Mapping[str, str] | None = None) -> bool:
    """Whether a stream gets colour: the option, then the environment, then what the stream is.

    ``--color always`` alone puts escape sequences into a pipe; FORCE_COLOR only overrides TERM=dumb.
    """
    env = os.environ if environment is None else environment
    if choice != "auto":
        return choice == "always"
    if env.get("NO_COLOR") or not terminal:
        return False
    return env.get("FORCE_COLOR", "0") not in ("", "0") or env.get("TERM", "") != "dumb"


def may_move_the_cursor() -> bool:
    """Whether the user of a terminal put up with escape sequences that are no colour."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") != "dumb"


def speaks_unicode(stream: TextIO | None) -> bool:
    encoding = (getattr(stream, "encoding", None) or "ascii").lower().replace("_", "-")
    return encoding.startswith("utf")


def width_of(stream: TextIO | None) -> int:
    """Columns to fill: COLUMNS if set, else the terminal's, else 80."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    if stream is None or not is_terminal(stream):
        return PIPE_WIDTH
    try:
        return os.get_terminal_size(stream.fileno()).columns or PIPE_WIDTH
    except (OSError, ValueError):
        return PIPE_WIDTH


def prepare_streams() -> None:
    """Characters that the locale cannot print are written as escapes instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def make_console(stream: TextIO, *, color: bool, terminal: bool = False) -> Console:
    """The only way to a rich console: no markup, no emoji codes, no highlighting, and no escape without colour.

    ``terminal`` allows the cursor to be moved even where colour is not wanted: a progress bar needs that.
    """
    from rich.console import Console

    return Console(
        file=stream,
        force_terminal=color or terminal,
        color_system="standard" if color else None,
        no_color=not color,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
        legacy_windows=False,
        width=width_of(stream),
    )


def say(text: str, *, label: str = "", style: str = "", color: str = "auto", console: Console | None = None) -> None:
    """A message on standard error, one line, whatever it contains; above the bar of ``console``, if one is given."""
    stream = sys.stderr
    if stream is None:
        return
    line = shortened(escape(redact(text)))
    colored = wants_color(color, terminal=is_terminal(stream))
    if console is None and not colored:
        stream.write(f"{label}{line}\n")
        return
    from rich.text import Text

    (console or make_console(stream, color=colored)).print(Text.assemble((label, style), line))


def say_error(error: AdvisorError, *, color: str = "auto") -> None:
    """An error on standard error in one to four lines, then a line for each other error of its file; the caret stays
    below its character after escaping."""
    first, *rest = error.lines()
    say(first, label="error: ", style="bold red", color=color)
    if "\n" in error.excerpt:
        source, marks = error.excerpt.split("\n")
        column = len(marks) - len(marks.lstrip(" "))
        if len(escape(redact(source))) > MESSAGE_CHARACTERS:  # cut in its middle: nothing stands above the mark
            rest.remove(marks)
        else:
            rest[rest.index(marks)] = " " * len(escape(redact(source[:column]))) + marks.lstrip(" ")
    for line in rest:
        say(line, label="  ", color=color)
    for line in error.others:
        say(line, label="error: ", style="bold red", color=color)


def write_text(text: str) -> None:
    """A whole page on standard output, at once: a reader that left is noticed here."""
    with _standard_output() as stream:
        stream.write(text if text.endswith("\n") else f"{text}\n")


def write_bytes(content: bytes) -> None:
    """A machine format on standard output: the same bytes in every locale."""
    content = content if content.endswith(b"\n") else content + b"\n"
    with _standard_output() as stream:
        binary = getattr(stream, "buffer", None)
        if binary is None:  # a test's or another program's text stream
            stream.write(content.decode())
        else:
            stream.flush()
            binary.write(content)


@contextmanager
def _standard_output() -> Iterator[TextIO]:
    """Standard output, flushed at the end; nothing if it is closed; UsageError if it cannot take what is written."""
    if sys.stdout is None:
        yield io.StringIO()
        return
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        forget(sys.stdout)
        raise UsageError(f"cannot be written: {error.strerror or error}", where="standard output") from error


def forget(*streams: TextIO | None) -> None:
    """Point streams at nothing, so that what they still hold fails no more, not even when the program ends."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        with suppress(OSError, ValueError, AttributeError):
            os.dup2(nothing, stream.fileno())  # type: ignore[union-attr]
    os.close(nothing)


def show_page(document: object, render: Callable[..., str], mode: str) -> None:
    """Draw a document and write it to standard output, as wide and in the colours and characters that it takes."""
    color = wants_color(mode, terminal=is_terminal(sys.stdout))
    page = render(document, width=width_of(sys.stdout), color=color, ascii_only=not speaks_unicode(sys.stdout))
    write_text(escape_page(redact_result(page), color=color))
