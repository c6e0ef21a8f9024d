"""The document of ``advisor review``."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType, field

from pkadvisor.documents.analysis import AnalysisFigures
from pkadvisor.documents.analysis_inputs import AnalysisGround
from pkadvisor.documents.part import Amount, Count, Part, Positive, Tool, said


class ReviewGate(Part, frozen=True):
    fail_on: Literal["error", "warning", "info", "never"]
    new_only: bool


class ReviewSummary(Part, frozen=True):
    error: Count
    warning: Count
    info: Count
    suppressed: Count
    baselined: Count
    new: Count
    worse: Count
    unchanged: Count
    gating: Count


class ReviewError(Part, frozen=True):
    exit_code: Literal[2, 3]
    what: str
    where: str
    excerpt: str
    fix: str


class ReviewTable(Part, frozen=True):
    table: str
    kind: str | None
    partition_key: str | None
    row_key: str | None
    has_data: bool
    note: str
    grounds: Annotated[
        list[AnalysisGround], said("What the figures of the declared keys rest on; empty where they are not priced.")
    ]
    figures: Annotated[
        AnalysisFigures | UnsetType | None, said("The figures of the declared keys; null where they are not priced.")
    ] = UNSET
    estimated_from: Annotated[
        str | UnsetType | None,
        said("The part of the rows that figures are estimated from; null where there are none, or all are looked at."),
    ] = UNSET


ReviewSeverity = Literal["error", "warning", "info"]


class ReviewSubject(Part, frozen=True):
    scope: Literal["design", "table", "key", "part", "index_row", "query", "write", "transaction", "property"]
    name: str
    path: Annotated[str, said("Logical: names, no indexes.")]


class ReviewPlace(Part, frozen=True):
    line: Positive
    column: Positive
    end_line: Positive
    end_column: Annotated[Positive, said("Behind the last character.")]
    excerpt: Annotated[str, said("The first line of the place.")]
    path: Annotated[
        str, said("The logical path of the value that stands there; a suppression of the settings may name it.")
    ]


class ReviewFact(Part, frozen=True):
    name: str
    value: bool | float | list[str] | str
    unit: str
    basis: Literal[
        "counted", "sketched", "declared", "published", "derived", "measured", "estimated", "assumed", "unknown"
    ]


class ReviewSuppressed(Part, frozen=True):
    reason: str
    until: Annotated[str | None, said("The last day, ISO.")]
    where: str


class ReviewFinding(Part, frozen=True):
    rule: str
    name: str
    severity: ReviewSeverity
    status: Annotated[
        Literal["new", "worse", "unchanged", None],
        said("What became of it since the design or baseline it is compared with; null without one."),
    ]
    gating: Annotated[bool, said("Whether it fails the gate.")]
    message: str
    table: str
    kind: str | None
    subject: ReviewSubject
    place: Annotated[ReviewPlace, said("In the design file; lines and columns from 1.")]
    measured: Annotated[float | None, said("In unit.")]
    limit: Annotated[float | None, said("In unit.")]
    unit: str
    before: Annotated[float | None, said("The measured number of the finding it is compared with.")]
    facts: list[ReviewFact]
    fix: str
    proposal: Annotated[str, said("Keys that the adviser would take instead; empty where it has none.")]
    fingerprint: Annotated[Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")], said("The same when lines move.")]
    suppressed: ReviewSuppressed | None
    baselined: bool


class ReviewEvaluation(Part, frozen=True):
    rule: str
    name: str
    subjects: Count
    findings: Count
    undecided: Count
    missing: list[str]
    skipped: str


class ReviewMetric(Part, frozen=True):
    table: str
    kind: str | None
    name: str
    unit: str
    before: float | None
    after: float | None
    change: float | None
    direction: Literal["better", "worse", "same", "unknown"]
    limit: float | None


class ReviewQuery(Part, frozen=True):
    table: str
    name: str
    access_before: str | None
    access_after: str | None
    direction: Literal["better", "worse", "same", "unknown"]
    requests_before: Annotated[
        float | UnsetType | None,
        said("Requests for one query, without further pages; null where their number is unknown."),
    ] = UNSET
    requests_after: Annotated[float | UnsetType | None, said("As requests_before.")] = UNSET
    read_before: Annotated[str | UnsetType | None, said("The access and its requests, in words.")] = UNSET
    read_after: Annotated[str | UnsetType | None, said("As read_before.")] = UNSET
    kind: str | UnsetType | None = UNSET


class ReviewKey(Part, frozen=True):
    table: str
    class_: Annotated[
        Literal["none", "additive", "rewrite", "unknown"], said("What a change means for stored entities.")
    ] = field(name="class")
    entities: Annotated[
        Amount | None, said("Those that get other keys or further rows; null where nobody knows how many there are.")
    ]
    partition_key: Annotated[Annotated[list[str | None], Meta(min_length=2, max_length=2)], said("Before and after.")]
    row_key: Annotated[Annotated[list[str | None], Meta(min_length=2, max_length=2)], said("Before and after.")]
    index_rows_added: list[str]
    index_rows_removed: list[str]
    kind: str | UnsetType | None = UNSET


class ReviewCount(Part, frozen=True):
    new: Count
    worse: Count
    unchanged: Count
    fixed: Count


class ReviewDiffRecord(Part, frozen=True):
    against: Annotated[str, said("What the design is compared with.")]
    same_load: bool
    profile_changed: bool
    metrics: Annotated[list[ReviewMetric], said("Both designs under the load of the change.")]
    queries: list[ReviewQuery]
    keys: list[ReviewKey]
    fixed: list[ReviewFinding]
    counts: ReviewCount
    new_design: Annotated[bool | UnsetType, said("The file did not exist before: everything is new.")] = UNSET
    load_changed: Annotated[bool | UnsetType, said("The profile, or the rates that the design declares.")] = UNSET
    notes: list[str] | UnsetType = UNSET
    tables_added: list[str] | UnsetType = UNSET
    tables_removed: list[str] | UnsetType = UNSET
    load_metrics: Annotated[
        list[ReviewMetric] | UnsetType, said("Where the load changed: the old keys under the old and the new load.")
    ] = UNSET


ReviewDiff = ReviewDiffRecord | None


class ReviewDesign(Part, frozen=True):
    design: Annotated[str, said("The path as it was given, with forward slashes.")]
    error: Annotated[ReviewError | None, said("Why it could not be read.")]
    tables: list[ReviewTable]
    findings: Annotated[list[ReviewFinding], said("Worst first, then by place.")]
    evaluated: Annotated[list[ReviewEvaluation], said("What became of each rule; skipped: why it was not asked.")]
    diff: ReviewDiff


class ReviewLink(Part, frozen=True):
    title: str
    url: str


class ReviewRule(Part, frozen=True):
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


class ReviewDesignsRemoved(Part, frozen=True):
    design: str
    tables: list[str]


class ReviewDocument(Part, frozen=True):
    """What a review of designs found: the answer of advisor review, of which every other format is made."""

    document: Literal["pkadvisor review"]
    schema_version: Literal["1.0"]
    tool: Tool
    outcome: Annotated[
        Literal["passed", "failed", "unreadable"], said("unreadable: at least one design could not be read.")
    ]
    exit_code: Literal[0, 1, 2, 3]
    redacted: bool
    gate: ReviewGate
    summary: Annotated[
        ReviewSummary, said("Counts over all designs; suppressed and baselined findings are counted apart.")
    ]
    designs: list[ReviewDesign]
    rules: Annotated[list[ReviewRule], said("The pages of the rules that were chosen.")]
    designs_removed: Annotated[
        list[ReviewDesignsRemoved] | UnsetType,
        said(
            "Design files of the ref that lay beside the reviewed ones and are gone, with the tables that"
            " no reviewed design declares."
        ),
    ] = UNSET
