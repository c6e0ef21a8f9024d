"""The document of ``advisor review``."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from pkadvisor.documents.analysis import AnalysisFigures
from pkadvisor.documents.analysis_inputs import AnalysisGround
from pkadvisor.documents.part import Amount, Count, Number, Part, Positive, Tool


class ReviewGate(Part, frozen=True, kw_only=True):
    fail_on: Literal["error", "warning", "info", "never"]
    new_only: bool


class ReviewSummary(Part, frozen=True, kw_only=True):
    error: Count
    warning: Count
    info: Count
    suppressed: Count
    baselined: Count
    new: Count
    worse: Count
    unchanged: Count
    gating: Count


class ReviewError(Part, frozen=True, kw_only=True):
    """``others``: Further errors of the file, a line each."""

    exit_code: Literal[2, 3]
    what: str
    where: str
    excerpt: str
    fix: str
    others: tuple[str, ...] = ()


class ReviewTable(Part, frozen=True, kw_only=True):
    """``estimated_from``: The part of the rows that figures are estimated from; null where there are none, or all are
    looked at.
    ``grounds``: What the figures of the declared keys rest on; empty where they are not priced.
    ``figures``: The figures of the declared keys; null where they are not priced.
    """

    table: str
    kind: str | None
    partition_key: str | None
    row_key: str | None
    has_data: bool
    note: str
    estimated_from: str | None = None
    grounds: list[AnalysisGround]
    figures: AnalysisFigures | None = None


ReviewSeverity = Literal["error", "warning", "info"]


class ReviewSubject(Part, frozen=True, kw_only=True):
    """``path``: Logical: names, no indexes."""

    scope: Literal[
        "design",
        "table",
        "key",
        "part",
        "index_row",
        "query",
        "write",
        "class",
        "transaction",
        "property",
        "budget",
    ]
    name: str
    path: str


class ReviewPlace(Part, frozen=True, kw_only=True):
    """``end_column``: Behind the last character.
    ``excerpt``: The first line of the place.
    ``path``: The logical path of the value that stands there; a suppression of the settings may name it.
    """

    line: Positive
    column: Positive
    end_line: Positive
    end_column: Positive
    excerpt: str
    path: str


class ReviewFact(Part, frozen=True, kw_only=True):
    name: str
    value: bool | Number | list[str] | str
    unit: str
    basis: Literal[
        "counted", "sketched", "declared", "published", "derived", "measured", "estimated", "assumed", "unknown"
    ]


class ReviewSuppressed(Part, frozen=True, kw_only=True):
    """``until``: The last day, ISO."""

    reason: str
    until: str | None
    where: str


class ReviewFinding(Part, frozen=True, kw_only=True):
    """``status``: What became of it since the design or baseline it is compared with; null without one.
    ``gating``: Whether it fails the gate.
    ``place``: In the design file; lines and columns from 1.
    ``measured``: In unit.
    ``limit``: In unit.
    ``before``: The measured number of the finding it is compared with.
    ``proposal``: Keys that the adviser would take instead; empty where it has none.
    ``fingerprint``: The same when lines move.
    """

    rule: str
    name: str
    severity: ReviewSeverity
    status: Literal["new", "worse", "unchanged", None]
    gating: bool
    message: str
    table: str
    kind: str | None
    subject: ReviewSubject
    place: ReviewPlace
    measured: Number | None
    limit: Number | None
    unit: str
    before: Number | None
    facts: list[ReviewFact]
    fix: str
    proposal: str
    fingerprint: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
    suppressed: ReviewSuppressed | None
    baselined: bool


class ReviewEvaluation(Part, frozen=True, kw_only=True):
    rule: str
    name: str
    subjects: Count
    findings: Count
    undecided: Count
    missing: list[str]
    skipped: str


class ReviewMetric(Part, frozen=True, kw_only=True):
    table: str
    kind: str | None
    name: str
    unit: str
    before: Number | None
    after: Number | None
    change: Number | None
    direction: Literal["better", "worse", "same", "unknown"]
    limit: Number | None


class ReviewQuery(Part, frozen=True, kw_only=True):
    """``requests_before``: Requests for one query, without further pages; null where their number is unknown.
    ``requests_after``: As requests_before.
    ``read_before``: The access and its requests, in words.
    ``read_after``: As read_before.
    """

    table: str
    kind: str | None = None
    name: str
    access_before: str | None
    access_after: str | None
    requests_before: Number | None = None
    requests_after: Number | None = None
    read_before: str | None = None
    read_after: str | None = None
    direction: Literal["better", "worse", "same", "unknown"]


class ReviewKey(Part, frozen=True, kw_only=True):
    """``class``: What a change means for stored entities.
    ``entities``: Those that get other keys or further rows; null where nobody knows how many there are.
    ``partition_key``: Before and after.
    ``row_key``: Before and after.
    """

    table: str
    kind: str | None = None
    class_: Literal["none", "additive", "rewrite", "unknown"] = field(name="class")
    entities: Amount | None
    partition_key: Annotated[list[str | None], Meta(min_length=2, max_length=2)]
    row_key: Annotated[list[str | None], Meta(min_length=2, max_length=2)]
    index_rows_added: list[str]
    index_rows_removed: list[str]


class ReviewCount(Part, frozen=True, kw_only=True):
    new: Count
    worse: Count
    unchanged: Count
    fixed: Count


class ReviewDiff(Part, frozen=True, kw_only=True):
    """``against``: What the design is compared with.
    ``new_design``: The file did not exist before: everything is new.
    ``load_changed``: The profile, or the rates that the design declares.
    ``metrics``: Both designs under the load of the change.
    ``load_metrics``: Where the load changed: the old keys under the old and the new load.
    """

    against: str
    same_load: bool
    new_design: bool = False
    profile_changed: bool
    load_changed: bool = False
    notes: list[str] = []
    tables_added: list[str] = []
    tables_removed: list[str] = []
    metrics: list[ReviewMetric]
    load_metrics: list[ReviewMetric] = []
    queries: list[ReviewQuery]
    keys: list[ReviewKey]
    fixed: list[ReviewFinding]
    counts: ReviewCount


class ReviewDesign(Part, frozen=True, kw_only=True):
    """``design``: The path as it was given, with forward slashes.
    ``error``: Why it could not be read.
    ``findings``: Worst first, then by place.
    ``evaluated``: What became of each rule; skipped: why it was not asked.
    """

    design: str
    error: ReviewError | None
    tables: list[ReviewTable]
    findings: list[ReviewFinding]
    evaluated: list[ReviewEvaluation]
    diff: ReviewDiff | None


class ReviewLink(Part, frozen=True, kw_only=True):
    title: str
    url: str


class ReviewRule(Part, frozen=True, kw_only=True):
    id: str
    name: str
    title: str
    severity: ReviewSeverity
    levels: list[ReviewSeverity]
    scope: str
    needs: list[Literal["design", "workload", "data", "diff", "stress"]]
    precision: Literal["very-high", "high", "medium", "low"]
    tags: list[str]
    aliases: list[str]
    why: str
    bad: str
    good: str
    fix: str
    links: list[ReviewLink]
    unit: str
    ratchet: bool
    builtin: bool


class ReviewDesignsRemoved(Part, frozen=True, kw_only=True):
    design: str
    tables: list[str]


class ReviewDocument(Part, frozen=True, kw_only=True):
    """What a review of designs found: the answer of advisor review, of which every other format is made.

    ``outcome``: unreadable: at least one design could not be read.
    ``summary``: Counts over all designs; suppressed and baselined findings are counted apart.
    ``designs_removed``: Design files of the ref that lay beside the reviewed ones and are gone, with the tables that no
    reviewed design declares.
    ``rules``: The pages of the rules that were chosen.
    """

    document: Literal["pkadvisor review"]
    schema_version: Literal["1.0"]
    tool: Tool
    outcome: Literal["passed", "failed", "unreadable"]
    exit_code: Literal[0, 1, 2, 3]
    redacted: bool
    gate: ReviewGate
    summary: ReviewSummary
    designs: list[ReviewDesign]
    designs_removed: list[ReviewDesignsRemoved] = []
    rules: list[ReviewRule]
