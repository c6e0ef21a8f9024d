"""What a review says: findings with their place, their number and their fix."""

from __future__ import annotations

import hashlib
import re
from enum import StrEnum

from pkadvisor.observe.workload import Basis
from pkadvisor.values import dataclass


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
