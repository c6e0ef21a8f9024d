"""A page of text for a terminal: folding, colour, ASCII forms.

Keys are never cut: where a line is too narrow it folds. No control characters get through but line ends and the
page's own colour codes.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from typing import Any

from msgspec import to_builtins

from pkadvisor.report.escapes import clean, fold

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

    def head(self, title: str) -> None:
        """A heading below an empty line."""
        self.line()
        self.line(title, "head")

    def listed(self, title: str, sentences: Sequence[str], style: str = "") -> None:
        """Sentences under a heading, with an empty line below; nothing where there are none."""
        if sentences:
            self.line(title, "head")
            for sentence in sentences:
                self.wrapped(sentence, "  - ", "    ", style)
            self.line()

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


def ascii_json(document: Any) -> str:
    """A document as JSON of ASCII alone, keys in the order in which they are read."""
    return json.dumps(to_builtins(document), indent=2, ensure_ascii=True, allow_nan=False) + "\n"
