"""The document of ``advisor review``."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from pkadvisor.documents.analysis import AnalysisFigures
from pkadvisor.documents.analysis_inputs import AnalysisGround
from pkadvisor.documents.part import Amount, Count, Number, Part, Positive, Tool, said


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
    exit_code: Literal[2, 3]
    what: str
    where: str
    excerpt: str
    fix: str
    others: Annotated[tuple[str, ...], said("Further errors of the file, a line each.")] = ()


class ReviewTable(Part, frozen=True, kw_only=True):
    table: str
    kind: str | None
    partition_key: str | None
    row_key: str | None
    has_data: bool
    note: str
    estimated_from: Annotated[
        str | None,
        said("The part of the rows that figures are estimated from; null where there are none, or all are looked at."),
    ] = None
    grounds: Annotated[
        list[AnalysisGround], said("What the figures of the declared keys rest on; empty where they are not priced.")
    ]
    figures: Annotated[
        AnalysisFigures | None, said("The figures of the declared keys; null where they are not priced.")
    ] = None


ReviewSeverity = Literal["error", "warning", "info"]


class ReviewSubject(Part, frozen=True, kw_only=True):
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
    path: Annotated[str, said("Logical: names, no indexes.")]


class ReviewPlace(Part, frozen=True, kw_only=True):
    line: Positive
    column: Positive
    end_line: Positive
    end_column: Annotated[Positive, said("Behind the last character.")]
    excerpt: Annotated[str, said("The first line of the place.")]
    path: Annotated[
        str, said("The logical path of the value that stands there; a suppression of the settings may name it.")
    ]


class ReviewFact(Part, frozen=True, kw_only=True):
    name: str
    value: bool | Number | list[str] | str
    unit: str
    basis: Literal[
        "counted", "sketched", "declared", "published", "derived", "measured", "estimated", "assumed", "unknown"
    ]


class ReviewSuppressed(Part, frozen=True, kw_only=True):
    reason: str
    until: Annotated[str | None, said("The last day, ISO.")]
    where: str


class ReviewFinding(Part, frozen=True, kw_only=True):
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
    measured: Annotated[Number | None, said("In unit.")]
    limit: Annotated[Number | None, said("In unit.")]
    unit: str
    before: Annotated[Number | None, said("The measured number of the finding it is compared with.")]
    facts: list[ReviewFact]
    fix: str
    proposal: Annotated[str, said("Keys that the adviser would take instead; empty where it has none.")]
    fingerprint: Annotated[Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")], said("The same when lines move.")]
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
    table: str
    kind: str | None = None
    name: str
    access_before: str | None
    access_after: str | None
    requests_before: Annotated[
        Number | None,
        said("Requests for one query, without further pages; null where their number is unknown."),
    ] = None
    requests_after: Annotated[Number | None, said("As requests_before.")] = None
    read_before: Annotated[str | None, said("The access and its requests, in words.")] = None
    read_after: Annotated[str | None, said("As read_before.")] = None
    direction: Literal["better", "worse", "same", "unknown"]


class ReviewKey(Part, frozen=True, kw_only=True):
    table: str
    kind: str | None = None
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


class ReviewCount(Part, frozen=True, kw_only=True):
    new: Count
    worse: Count
    unchanged: Count
    fixed: Count


class ReviewDiff(Part, frozen=True, kw_only=True):
    against: Annotated[str, said("What the design is compared with.")]
    same_load: bool
    new_design: Annotated[bool, said("The file did not exist before: everything is new.")] = False
    profile_changed: bool
    load_changed: Annotated[bool, said("The profile, or the rates that the design declares.")] = False
    notes: list[str] = []
    tables_added: list[str] = []
    tables_removed: list[str] = []
    metrics: Annotated[list[ReviewMetric], said("Both designs under the load of the change.")]
    load_metrics: Annotated[
        list[ReviewMetric], said("Where the load changed: the old keys under the old and the new load.")
    ] = []
    queries: list[ReviewQuery]
    keys: list[ReviewKey]
    fixed: list[ReviewFinding]
    counts: ReviewCount


class ReviewDesign(Part, frozen=True, kw_only=True):
    design: Annotated[str, said("The path as it was given, with forward slashes.")]
    error: Annotated[ReviewError | None, said("Why it could not be read.")]
    tables: list[ReviewTable]
    findings: Annotated[list[ReviewFinding], said("Worst first, then by place.")]
    evaluated: Annotated[list[ReviewEvaluation], said("What became of each rule; skipped: why it was not asked.")]
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
    designs_removed: Annotated[
        list[ReviewDesignsRemoved],
        said(
            "Design files of the ref that lay beside the reviewed ones and are gone, with the tables that"
            " no reviewed design declares."
        ),
    ] = []
    rules: Annotated[list[ReviewRule], said("The pages of the rules that were chosen.")]
