"""What can go wrong, and which exit code it earns.

AdvisorError                     what, where, how to fix; one to four lines; never a traceback
├── ConstraintError   exit 1     the work finished: no design holds, too little was given to advise, or a gate failed
├── UsageError        exit 2     command line, configuration, design file, template, filter
└── InputError        exit 3     a file was found but its content cannot be used

Anything else that reaches the top is a bug in pkadvisor and exits with 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


class AdvisorError(Exception):
    """An error that its reader can act on.

    ``what`` is one sentence; ``where`` names a file, line or option; ``fix`` says what to do.
    ``excerpt`` holds at most two lines (a source line and the caret line under it).
    All four may carry text from user data: whoever prints them escapes it.
    ``skeleton`` is a whole file to start from, where that helps more than a sentence; it is a page of its own.
    ``others`` are further errors of the same file, one line each (``of_several``).
    """

    exit_code: ClassVar[int] = 4

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        fix: str = "",
        excerpt: str = "",
        skeleton: str = "",
        others: Sequence[str] = (),
    ) -> None:
        assert what, "an error without a sentence helps nobody"
        assert excerpt.count("\n") <= 1, "an excerpt is a line and its caret"
        super().__init__(what)
        self.what = what
        self.where = where
        self.fix = fix
        self.excerpt = excerpt
        self.skeleton = skeleton
        self.others = tuple(others)

    def lines(self) -> list[str]:
        """The message as printed: one to four lines."""
        first = f"{self.where}: {self.what}" if self.where else self.what
        rest = self.excerpt.split("\n") if self.excerpt else []
        return [first, *rest, *([self.fix] if self.fix else [])]

    def __str__(self) -> str:
        return "\n".join(self.lines())


class ConstraintError(AdvisorError):
    """A constraint cannot be satisfied by any design, or what was given does not carry advice."""

    exit_code = 1


class UsageError(AdvisorError):
    """The command line, a configuration, a design, a template or a filter is wrong."""

    exit_code = 2


class InputError(AdvisorError):
    """A file exists and its content cannot be used."""

    exit_code = 3


OTHERS_MOST = 4
"""Errors that are told beside the first one; a file with more is mended and read again."""


def of_several(errors: Sequence[UsageError]) -> UsageError:
    """The first of several errors of one file, which tells the next ones in a line each and counts those after them."""
    first, *rest = errors
    lines = [f"{e.where}: {e.what}; {e.fix}" if e.fix else f"{e.where}: {e.what}" for e in rest[:OTHERS_MOST]]
    if len(rest) > OTHERS_MOST:
        lines.append(f"{len(rest) - OTHERS_MOST} more after these")
    return UsageError(
        first.what, where=first.where, fix=first.fix, excerpt=first.excerpt, skeleton=first.skeleton, others=lines
    )


def caret(text: str, column: int, width: int = 1) -> str:
    """A source line with a caret line below it; ``column`` counts from 0.

    Long lines are cut around the caret so that the excerpt stays readable.
    """
    assert column >= 0
    span = 76
    start = max(0, column - span // 2) if len(text) > span else 0
    piece = text[start : start + span].replace("\n", " ").replace("\r", " ").replace("\t", " ")
    return f"  {piece}\n  {' ' * (column - start)}{'^' * max(1, min(width, span))}"


def did_you_mean(word: str, known: list[str] | tuple[str, ...]) -> str:
    """``did you mean 'x'?`` or an empty string."""
    from difflib import get_close_matches

    match = get_close_matches(word, list(known), n=1, cutoff=0.6)
    if not match:
        folded = {k.lower(): k for k in known}
        match = [folded[word.lower()]] if word.lower() in folded else []
    return f"did you mean '{match[0]}'?" if match else ""
