"""The documents of ``advisor explain``: one shape for each thing that it explains."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import field

from pkadvisor.documents.analysis_inputs import AnalysisAccess, AnalysisAmountOrNone, AnalysisBasis, AnalysisOperation
from pkadvisor.documents.analysis_scheme import (
    AnalysisBreak,
    AnalysisExampleKeys,
    AnalysisIndexRow,
    AnalysisLostGoal,
    AnalysisRemark,
    AnalysisTemplate,
    AnalysisTerm,
    AnalysisViolation,
)
from pkadvisor.documents.analysis_table import AnalysisFlip
from pkadvisor.documents.part import Amount, Count, Number, Part, Positive, said


class ExplanationSchemeKeys(Part, frozen=True, kw_only=True):
    """``index_rows``: Further rows that are written for every entity, so that other queries find it."""

    rank: Positive | None
    text: str
    partition_key: AnalysisTemplate
    row_key: AnalysisTemplate
    index_rows: list[AnalysisIndexRow]
    examples: AnalysisExampleKeys


class ExplanationTogether(Part, frozen=True, kw_only=True):
    kinds: list[str]
    kept: list[str]


class ExplanationGoal(Part, frozen=True, kw_only=True):
    goal: str
    unit: str
    value: Number | None
    other: Number | None


class ExplanationClassFigures(Part, frozen=True, kw_only=True):
    access: AnalysisAccess
    via: str
    requests: Amount
    entities: Amount
    returned: Amount
    latency_ms_p99: AnalysisAmountOrNone
    requests_per_s: Amount
    entities_per_s: Amount


class ExplanationDifference(Part, frozen=True, kw_only=True):
    requests_per_s: Number | None
    entities_per_s: Number | None


class ExplanationClass(Part, frozen=True, kw_only=True):
    name: str
    operation: AnalysisOperation
    rate_per_s: Amount
    this: ExplanationClassFigures
    other: ExplanationClassFigures | None
    more: ExplanationDifference


class ExplanationTerm(AnalysisTerm, frozen=True, kw_only=True):
    """``other``: Of the scheme that it is compared with."""

    other: Number | None


class ExplanationConstraint(Part, frozen=True, kw_only=True):
    scheme: str
    holds: bool


class ExplanationShift(Part, frozen=True, kw_only=True):
    """``winner``: What would then be first."""

    name: str
    basis: AnalysisBasis
    unit: str
    value: Amount
    tried: Amount
    winner: str | None
    constraints: list[ExplanationConstraint]


class ExplanationSensitivity(Part, frozen=True, kw_only=True):
    """``unchanged``: Numbers that change nothing."""

    schemes_priced: Count
    unchanged: Count
    shifts: list[ExplanationShift]


class ExplanationScheme(Part, frozen=True, kw_only=True, tag_field="what", tag="scheme"):
    """``other``: What it is compared with: the recommended scheme, for that one the next best.
    ``wins``: Whether it is before the other.
    ``together``: The kinds of its table that the first scheme was chosen with, and the transactions across them that
    this keeps; null where kinds were judged alone.
    ``decided_by``: The goal that decides between the two; value is the loser's.
    ``classes``: What differs most in the goal that decides comes first.
    ``breaks``: Every limit with the growth that passes it, the earliest first.
    ``flip``: null where the result file does not hold it.
    ``sensitivity``: Every assumed number at half and twice its value; null from a result file.
    """

    document: Literal["pkadvisor explanation"]
    schema_version: Literal[1]
    table: str
    kind: str | None
    verdict: str
    label: str
    scheme: ExplanationSchemeKeys
    other: ExplanationSchemeKeys | None
    wins: bool
    together: ExplanationTogether | None
    decided_by: Annotated[
        AnalysisLostGoal | None,
        said("The first goal in which the scheme is worse than the recommended one; null for that one itself."),
    ]
    feasible: bool
    score: Number
    goals: list[ExplanationGoal]
    classes: list[ExplanationClass]
    terms: list[ExplanationTerm]
    break_cause: str
    breaks: list[AnalysisBreak]
    violations: list[AnalysisViolation]
    remarks: list[AnalysisRemark]
    flip: AnalysisFlip | None
    from_: Literal["result", "data"] = field(name="from")
    sensitivity: ExplanationSensitivity | None


class ExplanationAsked(Part, frozen=True, kw_only=True):
    name: str
    operation: AnalysisOperation
    filter: str | None
    order_by: list[str]
    top: Positive | None
    rate_per_s: Amount


class ExplanationUnder(Part, frozen=True, kw_only=True):
    which: str
    main: str
    index_rows: list[str]


class ExplanationCounts(Part, frozen=True, kw_only=True):
    """Of one request, mean."""

    entities_read: Amount
    entities_read_max: Amount
    entities_returned: Amount
    requests: Amount
    fan_out: Amount
    pages_per_request: Amount


class ExplanationKeyPart(Part, frozen=True, kw_only=True):
    key: str
    part: str
    state: str
    words: str


class ExplanationOtherRow(Part, frozen=True, kw_only=True):
    row: str
    would: str


class ExplanationQuery(Part, frozen=True, kw_only=True, tag_field="what", tag="query"):
    document: Literal["pkadvisor explanation"]
    schema_version: Literal[1]
    table: str
    kind: str | None
    query: ExplanationAsked
    scheme: ExplanationUnder
    access: AnalysisAccess
    via: str | None
    via_key: str
    fan_out: int | None
    filters: list[str]
    top: int | None
    counts: ExplanationCounts | None
    parts: list[ExplanationKeyPart]
    client_work: list[str]
    why_no_better: list[str]
    other_rows: list[ExplanationOtherRow]
    examples: list[str]
    examples_total: Count
    basis: str | None
    why_not_counted: str | None
    notes: list[str]
    warnings: list[str]


class ExplanationPiece(Part, frozen=True, kw_only=True):
    part: str
    text: str
    value: str | None
    words: str


class ExplanationShape(Part, frozen=True, kw_only=True):
    """``exact``: Whether the template writes this very text for these values."""

    template: str
    pieces: list[ExplanationPiece]
    exact: bool


class ExplanationFit(Part, frozen=True, kw_only=True):
    """``exact``: Whether the template writes this very text for these values."""

    table: str
    kinds: list[str]
    place: str
    template: str
    pieces: list[ExplanationPiece]
    exact: bool


class ExplanationKey(Part, frozen=True, kw_only=True, tag_field="what", tag="key"):
    document: Literal["pkadvisor explanation"]
    schema_version: Literal[1]
    table: str | None
    kind: str | None
    value: str
    utf16_units: Count
    forbidden: list[str]
    fits: list[ExplanationFit]
    tried: list[str]
    shape: ExplanationShape | None


class ExplanationKeysKind(Part, frozen=True, kw_only=True):
    label: str
    partition_key: AnalysisTemplate
    row_key: AnalysisTemplate
    types: dict[str, str]
    rows: Count
    explained: Count
    example: list[str] | None
    notes: list[str]


class ExplanationKeys(Part, frozen=True, kw_only=True, tag_field="what", tag="keys"):
    document: Literal["pkadvisor explanation"]
    schema_version: Literal[1]
    table: str
    kind: str | None
    rows: Count
    explained: Count
    complete: bool
    kinds: list[ExplanationKeysKind]


Explanation = Annotated[
    ExplanationScheme | ExplanationQuery | ExplanationKey | ExplanationKeys,
    said("The answer of advisor explain, by what is explained."),
]
