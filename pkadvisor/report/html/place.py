"""Where the numbers of a page stand in its document.

Sections read a document as a value of its type: every number on the page carries the place it stands at, which
``Places`` knows, so that a test can hold both equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import reduce
from itertools import takewhile
from operator import getitem
from typing import Any

from markupsafe import Markup
from msgspec.structs import astuple

from pkadvisor.documents.part import Part
from pkadvisor.numbers import amount, breaks, lasting, milliseconds, percent, rate, ratio
from pkadvisor.values import dataclass


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _points(value: float) -> str:
    """Points of the score, which a reader adds up."""
    return f"{value:.1f}"


def _signed(share: float) -> str:
    """A difference as a share, with its direction."""
    if share >= MANYFOLD:
        return f"{amount(1 + share)} times"
    size = percent(abs(share))
    return size if size.startswith("<") or not share else f"{'+' if share > 0 else '-'}{size}"


MANYFOLD = 9
"""From so many times more on a difference is told as a multiple."""

# How a number is written. What comes in is the number of the document, null included.
FORMS: dict[str, Callable[[Any], str]] = {
    "amount": lambda value: "none" if value is None else amount(value),
    "whole": lambda value: "unknown" if value is None else _whole(value),
    "exact": lambda value: "none" if value is None else f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,}",
    "points": lambda value: "–" if value is None else _points(value),
    "percent": lambda value: "unknown" if value is None else percent(value),
    "thousandths": lambda value: "unknown" if value is None else ratio(value / 1000),
    "ratio": lambda value: "unknown" if value is None else ratio(value),
    "breaks": breaks,
    "ms": lambda value: "unknown" if value is None else milliseconds(value),
    "latency": lambda value: "none" if value is None else milliseconds(value),
    "signed": lambda value: "unknown" if value is None else _signed(value),
    "rate": rate,
    "time": lambda value: "unknown" if value is None else lasting(value),
}

USUAL = "amount"
"""The form of a number that names none."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number as the page shows it: its text, the place in the document, and the form it is written in.

    In the page ``data-v`` is the place and ``data-f`` the form, if it is not the usual one.
    """

    text: str
    path: str
    form: str

    def __html__(self) -> str:
        form = "" if self.form == USUAL else Markup(' data-f="{}"').format(self.form)
        return Markup('<span data-v="{}"{}>{}</span>').format(self.path, form, self.text)

    def __str__(self) -> str:
        return self.text


class Places:
    """Where each part of a document stands, so that a page can tell it of every number."""

    def __init__(self, document: Part) -> None:
        self._paths: dict[int, str] = {}
        self._add(document, "")

    def _add(self, value: Any, path: str) -> None:
        if isinstance(value, Part):
            self._paths[id(value)] = path
            for name, member in zip(value.__struct_encode_fields__, astuple(value), strict=True):
                self._add(member, f"{path}.{name}".lstrip("."))
        elif isinstance(value, list):
            for number, item in enumerate(value):
                if not isinstance(item, Part | list):
                    break
                self._add(item, f"{path}.{number}")

    def figure(self, part: Part, member: str, form: str = USUAL) -> Figure:
        """A number of a part of the document (or null) as a marked figure in one of ``FORMS``."""
        return Figure(FORMS[form](getattr(part, member)), self.path(part, member), form)

    def known(self, part: Part, member: str, form: str = USUAL) -> Figure | None:
        """A number of a part of the document as a marked figure; None where it is null."""
        return None if getattr(part, member) is None else self.figure(part, member, form)

    def item(self, part: Part, member: str, *steps: int | str, form: str = USUAL) -> Figure:
        """A number out of a list or mapping of a part of the document as a marked figure."""
        value = reduce(getitem, steps, getattr(part, member))
        return Figure(FORMS[form](value), ".".join((self.path(part, member), *map(str, steps))), form)

    def path(self, part: Part, member: str) -> str:
        """Where a member of a part of the document stands."""
        name = part.__struct_encode_fields__[part.__struct_fields__.index(member)]
        return f"{self._paths[id(part)]}.{name.replace('.', '%2E')}".lstrip(".")


def relative(body: str) -> Markup:
    """The body of a section with the places of numbers told from what all of a table have in common: a table carries it
    as ``data-at``, and a place that begins with a dot stands below it."""
    return Markup(_TABLE.sub(_relative_table, _ALONE.sub(r"<td\1\2>\3</td>", body)))


_ALONE = re.compile(r"<td([^>]*)><span( data-v=[^>]*)>([^<]*)</span></td>")
"""A number that is all of its cell: the cell itself is marked."""
_TABLE = re.compile(r"<table.*?</table>", re.DOTALL)
_PLACE = re.compile(r'(?<= data-v=")[^"]*(?=")')


def _relative_table(table: re.Match[str]) -> str:
    places = [place.split(".") for place in _PLACE.findall(table[0])]
    if len(places) < 2:
        return table[0]
    same = list(takewhile(lambda steps: len(set(steps)) == 1, zip(*(place[:-1] for place in places), strict=False)))
    if not same:
        return table[0]
    start = ".".join(steps[0] for steps in same)
    below = _PLACE.sub(lambda place: place[0].removeprefix(start), table[0])
    return below.replace("<table", f'<table data-at="{start}"', 1)


@dataclass(frozen=True, slots=True)
class Missing:
    """Why a section has nothing to show, and what to supply: one line."""

    reason: str


Context = Mapping[str, Any] | Missing
"""What a template shows, or why there is nothing; in a document that a section does not fit, a function gives None."""
