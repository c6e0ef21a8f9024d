"""The document of ``advisor compare``."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from pkadvisor.documents.analysis_inputs import AnalysisAccess, AnalysisAmountOrNone, AnalysisGround, AnalysisSentences
from pkadvisor.documents.part import Amount, Count, Number, Part, Tool, said


class ComparisonDifference(Part, frozen=True, kw_only=True):
    name: str
    old_per_s: Number | None
    new_per_s: Number | None


class ComparisonWorkload(Part, frozen=True, kw_only=True):
    """``of``: Whose workload it is: that of the log (or of a profile with one), or the one that a design declares.
    ``differs``: Queries and writes that the two designs declare otherwise. A rate is null where a design has none of
    the name.
    """

    of: Literal["log", "new", "old"]
    differs: list[ComparisonDifference]


class ComparisonGround(Part, frozen=True, kw_only=True):
    old: list[AnalysisGround]
    new: list[AnalysisGround]


ComparisonInterval = Annotated[
    Annotated[list[Number | None], Meta(min_length=2, max_length=2)] | None,
    said("The ends of its interval; null where it was counted, or where nothing bounds it."),
]


class ComparisonMeasure(Part, frozen=True, kw_only=True):
    """``change``: (new - old) / old; null where one side has none, or the old one is 0."""

    name: str
    unit: str
    old: Number | None
    new: Number | None
    old_interval: ComparisonInterval = None
    new_interval: ComparisonInterval = None
    change: Number | None = None
    worse: bool


class ComparisonClassFigures(Part, frozen=True, kw_only=True):
    """``entities``: Read and written."""

    access: AnalysisAccess
    via: str
    rate_per_s: Amount
    requests: Amount
    entities: Amount
    returned: Amount
    latency_ms_p99: AnalysisAmountOrNone


class ComparisonClass(Part, frozen=True, kw_only=True):
    name: str
    old: ComparisonClassFigures | None
    new: ComparisonClassFigures | None
    worse: bool


class ComparisonViolation(Part, frozen=True, kw_only=True):
    gone: AnalysisSentences
    added: AnalysisSentences


class ComparisonBreakCause(Part, frozen=True, kw_only=True):
    old: str | None
    new: str | None


class ComparisonTable(Part, frozen=True, kw_only=True):
    """``old``: The keys in one line; null: not in this file.
    ``grounds``: What the figures of either side rest on; empty where a side has not the table.
    ``first_break_cause``: The limit that the keys reach first, whatever grows; null: not in this file.
    ``classes``: Queries and writes that are served otherwise; those that cost more first.
    """

    table: str
    kind: str | None
    old: str | None
    new: str | None
    grounds: ComparisonGround
    measures: list[ComparisonMeasure]
    first_break_cause: ComparisonBreakCause = ComparisonBreakCause(old=None, new=None)
    classes: list[ComparisonClass]
    violations: ComparisonViolation


class ComparisonFile(Part, frozen=True, kw_only=True):
    """``xxh3``: XXH3-128 of the bytes, in hex."""

    role: Literal["old", "new", "data", "log", "profile"]
    name: str
    bytes: Count
    xxh3: str


class ComparisonDocument(Part, frozen=True, kw_only=True):
    """Two designs side by side: the answer of advisor compare.

    ``files``: What was compared and the data behind it, by content; standard input is left out.
    ``workload``: What two designs are both priced on; null for results, which were priced on their own.
    ``same``: Whether nothing differs.
    """

    document: Literal["pkadvisor comparison"]
    schema_version: Literal["1.0"]
    tool: Tool
    old: str
    new: str
    files: list[ComparisonFile] = []
    workload: ComparisonWorkload | None
    same: bool
    tables: list[ComparisonTable]
