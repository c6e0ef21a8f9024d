"""A page of text for a terminal: folding, colour, ASCII forms, and how numbers are written.

Keys are never cut: where a line is too narrow it folds. No control characters get through but line ends and the
page's own colour codes.
"""

from __future__ import annotations

import textwrap

_STYLES = {"good": "\x1b[1;32m", "bad": "\x1b[1;31m", "warn": "\x1b[33m", "head": "\x1b[1m", "dim": "\x1b[2m"}
_RESET = "\x1b[0m"
_ASCII = str.maketrans({"─": "-", "×": "x", "→": "->", "…": "...", "≤": "<=", "≥": ">=", "·": "|", "–": "-", "’": "'"})


class Page:
    """Lines of a page of a given width."""

    def __init__(self, width: int, color: bool, ascii_only: bool) -> None:
        self.width = width
        self.color = color
        self.ascii_only = ascii_only
        self.lines: list[str] = []

    def style(self, text: str, style: str) -> str:
        return f"{_STYLES[style]}{text}{_RESET}" if self.color and style and text else text

    def words(self, text: str) -> str:
        """Prose: ornaments have ASCII forms."""
        return self.exact(text.translate(_ASCII) if self.ascii_only else text)

    def exact(self, text: str) -> str:
        """Keys, templates and filters: nothing is written as something else."""
        text = clean(text)
        return text.encode("ascii", "backslashreplace").decode() if self.ascii_only else text

    def line(self, text: str = "", style: str = "") -> None:
        """A line, folded below its own indentation where it is too long."""
        text = self.words(text).rstrip()
        plain = text.lstrip()
        indent = " " * (len(text) - len(plain))
        for number, piece in enumerate(
            fold(plain, self.width - len(indent) - 2) if len(text) > self.width else [plain]
        ):
            self.lines.append(self.style(f"{indent}{'  ' if number else ''}{piece}".rstrip(), style))

    def wrapped(self, text: str, indent: str = "  ", hanging: str = "", style: str = "") -> None:
        """Prose: folded at blanks, long words folded and not cut."""
        for part in textwrap.wrap(
            self.words(text),
            max(20, self.width),
            initial_indent=indent,
            subsequent_indent=hanging or indent,
            break_long_words=True,
            break_on_hyphens=False,
        ) or [""]:
            self.lines.append(self.style(part, style))

    def record(self, label: str, text: str, pad: int = 14, indent: str = "  ") -> None:
        """``label   text``; the text folds under itself, character by character where it has no blanks."""
        head = f"{indent}{self.exact(label):<{pad}} "
        if len(head) + 20 > self.width and label:
            self.line(f"{indent}{label}")
            head = indent + "  "
        room = max(12, self.width - len(head))
        pieces = fold(self.exact(text), room) or [""]
        self.lines.append((head + pieces[0]).rstrip())
        self.lines += [" " * len(head) + piece for piece in pieces[1:]]


def clean(text: str) -> str:
    """Control and bidirectional characters as escapes: key values are hostile text."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escaped(ord(c)) for c in text)


def _escaped(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def fold(text: str, room: int, *, conditions: bool = True) -> list[str]:
    """Lines of at most ``room`` characters, broken at blanks where there are some; nothing is lost. A filter is broken
    between its ``conditions`` first."""
    out: list[str] = []
    while len(text) > room:
        cut = text.rfind(" and ", 1, room - 3) if conditions else -1
        if cut <= 0:
            cut = text.rfind(" ", 1, room + 1)
        if cut <= 0 or not text[:cut].strip():
            out.append(text[:room])
            text = text[room:]
        else:
            out.append(text[:cut].rstrip())
            text = text[cut + 1 :]
    return [*out, text] if text or not out else out


def amount(value: float | None) -> str:
    """A number at three or so digits with thousands separated, never with an exponent."""
    if value is None:
        return "no limit"
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 0.01:
        return f"{value:.3g}"
    return f"{value:.2g}" if abs(value) >= 0.0001 else "<0.0001"


TIMED_OUT_MS = 60_000
"""Beyond a minute a request has timed out long ago."""


def milliseconds(value: float) -> str:
    """A latency; beyond a minute a request has timed out, and the number says nothing more."""
    return "over a minute" if value > TIMED_OUT_MS else f"{amount(value)} ms"


def lasting(seconds: float) -> str:
    """A length of time in one unit or two: ``90 ms``, ``12 s``, ``5 min 10 s``, ``2 h``."""
    if seconds < 1:
        return f"{amount(seconds * 1000)} ms"
    if seconds < 60:
        return f"{amount(seconds)} s"
    whole = round(seconds)
    large, small, first, second = (3600, 60, "h", "min") if whole >= 3600 else (60, 1, "min", "s")
    count, rest = divmod(whole, large)
    return f"{count} {first}" + (f" {rest // small} {second}" if rest // small else "")


def ratio(value: float) -> str:
    """How many times a target."""
    if 0 < value < 0.01:
        return "<0.01x"
    return f"{value:.2f}x" if 0 < value < 1 else f"{amount(value)}x"


def breaks(value: float | None) -> str:
    """At how many times the peak a limit is reached."""
    return "never" if value is None else ratio(value)


def rate(value: float | None) -> str:
    """A rate in the unit that makes it readable."""
    if value is None:
        return "unknown"
    for unit, seconds in (("s", 1), ("min", 60), ("h", 3600)):
        if value * seconds >= 1 or value == 0:
            return f"{amount(value * seconds)}/{unit}"
    return f"{amount(value * 86_400)}/day"


def percent(share: float) -> str:
    """A share in percent."""
    if abs(share) >= 10:
        return f"{100 * share:,.0f} %"
    return f"{100 * share:.3g} %" if share == 0 or share >= 0.0001 else "<0.01 %"


def plural(count: int, noun: str) -> str:
    """``1 index row``, ``2 index rows``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
