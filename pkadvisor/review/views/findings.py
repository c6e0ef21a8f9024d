"""What a review says: findings with their place, their number and their fix."""

from __future__ import annotations

import hashlib
import re
from enum import StrEnum
from typing import TYPE_CHECKING

from pkadvisor.observe.workload import Basis
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    from pkadvisor.design.rows.population import Population


class Severity(StrEnum):
    """How bad a finding is, worst first."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 is worst."""
        return list(Severity).index(self)


class Status(StrEnum):
    """What became of a finding since the design (or the baseline) it is compared with."""

    NEW = "new"
    WORSE = "worse"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class FilePlace:
    """Where in a design file: lines and columns from 1, ``end_column`` behind the last character."""

    line: int
    column: int
    end_line: int
    end_column: int
    excerpt: str
    """The first line of the place, as the file has it."""


@dataclass(frozen=True, slots=True)
class ShownFact:
    """A fact that a finding rests on, with its unit and basis."""

    name: str
    value: bool | float | str | tuple[str, ...]
    unit: str
    basis: Basis
    from_data: bool = False
    """Whether the value is one of the data, to be hidden where keys are."""


@dataclass(frozen=True, slots=True)
class Suppression:
    """Why a finding is let pass: ``reason``, the last day of it (ISO, or empty), and where it is written."""

    rule: str
    reason: str
    until: str
    where: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. ``path`` is logical (``tables.Telemetry.queries.by-device``): names, no indexes.

    ``measured`` and ``limit`` are in ``unit``; both are None for findings without a number. ``keys`` are key values of
    the data that the message quotes, for whoever must hide them.
    """

    rule: str
    name: str
    severity: Severity
    message: str
    design: str
    table: str
    kind: str | None
    scope: str
    subject: str
    path: str
    place: FilePlace
    measured: float | None = None
    limit: float | None = None
    unit: str = ""
    facts: tuple[ShownFact, ...] = ()
    fix: str = ""
    proposal: str = ""
    """Keys that the adviser would take instead."""
    status: Status | None = None
    before: float | None = None
    """The measured number of the finding it is compared with."""
    suppressed: Suppression | None = None
    baselined: bool = False
    document_path: tuple[str | int, ...] = ()
    """The value of the file that it is about, by keys and indexes."""
    pointed: str = ""
    """The same in names, as ``path`` is: ``tables.Orders.erase_by`` of a finding about the table."""

    @property
    def fingerprint(self) -> str:
        """What stays the same when lines move: rule, design, logical path, normalised subject."""
        text = "\0".join((self.rule, self.design, self.path, normalised(self.subject)))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def normalised(subject: str) -> str:
    """A subject without what changes while it stays the same: blanks and case."""
    return re.sub(r"\s+", " ", subject).strip().casefold()


# -- Numbers in sentences: how often something happens, and units that agree with their number.


_PERIODS = (("second", 1), ("minute", 60), ("hour", 3600), ("day", 86_400), ("year", 31_536_000))
_SECONDS = dict(_PERIODS)
_ONE = {
    "attempts": "attempt",
    "buckets": "bucket",
    "comparisons": "comparison",
    "days": "day",
    "digits": "digit",
    "entities": "entity",
    "hours": "hour",
    "months": "month",
    "pages": "page",
    "partitions": "partition",
    "parts": "part",
    "periods": "period",
    "properties": "property",
    "requests": "request",
    "rows": "row",
    "scans": "scan",
    "units": "unit",
    "updates": "update",
}
_WORDS = "|".join(_ONE)
_COUNTED = re.compile(rf"(?<![\w.,])1 (?:(index|code|UTF-16 code) )?({_WORDS})\b")
_TIMES = re.compile(rf"(?<![\w.,])(0\.\d+|1) times an? ({'|'.join(_SECONDS)})\b")


def often_text(rate_per_s: float) -> str:
    """A rate in the unit that people count it in: ``19 times an hour``, ``once a minute``."""
    for unit, seconds in _PERIODS:
        if (count := rate_per_s * seconds) >= 1 - 1e-9 or unit == "year":
            number = f"{count:.3g}" if count < 1000 else f"{count:,.0f}"
            article = "an" if unit == "hour" else "a"
            return f"once {article} {unit}" if number == "1" else f"{number} times {article} {unit}"
    raise AssertionError


def agreed(text: str) -> str:
    """A sentence whose ones have units in the singular, and whose rates below one are those of a longer period."""
    text = _TIMES.sub(lambda m: often_text(float(m[1]) / _SECONDS[m[2]]), text)
    return _COUNTED.sub(lambda m: f"1 {m[1] + ' ' if m[1] else ''}{_ONE[m[2]]}", text)


def rows_looked_at(population: Population | None) -> str | None:
    """The part of the rows that estimates rest on; None where there are none, or all are looked at."""
    if population is None or population.rows >= population.drawn_from:
        return None
    return f"{population.rows:,} of {population.drawn_from:,} rows"
