"""Parts of the document of ``advisor analyze``: what was read of data, log and design file."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from pkadvisor.documents.part import Amount, Count, Number, Part, Positive, Share, Words, said


class AnalysisInputLog(Part, frozen=True, kw_only=True):
    name: str
    format: str


class AnalysisFile(Part, frozen=True, kw_only=True):
    role: Literal["data", "log", "profile"]
    name: str
    bytes: Count
    xxh3: Annotated[str, said("XXH3-128 of the bytes, in hex.")]


class AnalysisInput(Part, frozen=True, kw_only=True):
    design: str | None
    profiles: list[str]
    logs: list[AnalysisInputLog]
    files: Annotated[
        list[AnalysisFile] | UnsetType,
        said(
            "Data, logs and profiles by content, so that a later run can tell whether it has the same. "
            "Standard input is left out."
        ),
    ] = UNSET


AnalysisTime = Annotated[str | None, said("UTC, ISO 8601; null where the log has no times.")]


AnalysisBasis = Annotated[
    Literal["counted", "sketched", "declared", "published", "derived", "measured", "estimated", "assumed", "unknown"],
    said(
        "How a number is known: counted over everything, from a sample or sketch, as the design file "
        "says, as the store's owner publishes, by a formula, or taken for granted."
    ),
]


class AnalysisSkipped(Part, frozen=True, kw_only=True):
    reason: str
    lines: Count


AnalysisAmountOrNone = Amount | None


class AnalysisLogAccount(Part, frozen=True, kw_only=True):
    mean_per_s: AnalysisAmountOrNone
    peak_per_s: Annotated[AnalysisAmountOrNone, said("Requests in the busiest second.")]
    peak_minute_per_s: Annotated[AnalysisAmountOrNone, said("Requests per second over the busiest minute.")]
    limit_per_s: Amount
    peak_share: Annotated[AnalysisAmountOrNone, said("Busiest second divided by the limit; above 1 is over it.")]


AnalysisShare = Annotated[Share, said("A share of one.")]


class AnalysisLogTable(Part, frozen=True, kw_only=True):
    table: str
    share: AnalysisShare
    designed: Annotated[bool, said("Whether the design file names the table.")]


class AnalysisLog(Part, frozen=True, kw_only=True):
    lines: Annotated[Count, said("Lines read, of every kind.")]
    requests_attempted: Annotated[Count, said("Requests to tables, repeated and throttled ones included.")]
    first: AnalysisTime
    last: AnalysisTime
    covered_s: Annotated[Amount, said("Seconds that rates are averaged over.")]
    clock_resolution_us: Annotated[Count | None, said("Microseconds between the ticks of the log's clock.")]
    missing_hours: Annotated[Count, said("Hours between the first and the last line without any.")]
    empty_minutes: Count
    duplicates: Annotated[Count, said("Records that the service wrote twice; counted once.")]
    throttled: Count
    retries: Annotated[Count, said("Attempts that repeat a throttled one; no demand of their own.")]
    pages: Annotated[Count, said("Further parts of long answers; no demand of their own.")]
    basis: AnalysisBasis
    skipped: list[AnalysisSkipped]
    account: Annotated[AnalysisLogAccount, said("All tables together, against the account's target.")]
    tables: list[AnalysisLogTable]


class AnalysisGround(Part, frozen=True, kw_only=True):
    name: Literal["parameters", "density", "times", "coverage", "sampling", "assumptions"]
    title: str
    sentence: Annotated[str, said("What was measured; of a contradiction both numbers, and what follows from each.")]
    carries: bool
    next: Annotated[str | None, said("What to give, where it does not carry.")]
    load_share: Annotated[AnalysisShare, said("Of the load, what rests on it.")]
    measured: AnalysisAmountOrNone
    expected: Annotated[AnalysisAmountOrNone, said("The number that the measured one is compared with.")]
    unit: str | None


AnalysisSentences = list[Words]


AnalysisEdm = Annotated[
    Literal["String", "Int32", "Int64", "Double", "Boolean", "DateTime", "Guid", "Binary"],
    said("Type of a property in the store."),
]


class AnalysisType(Part, frozen=True, kw_only=True):
    type: AnalysisEdm
    values: Count


class AnalysisProperty(Part, frozen=True, kw_only=True):
    name: str
    type: AnalysisEdm
    types: Annotated[
        list[AnalysisType], said("Where values are of more than one type: each with its number of values.")
    ]
    present: Annotated[Count, said("Entities that have the property.")]
    missing: Count
    distinct: Annotated[Count, said("Distinct values.")]
    distinct_basis: Literal["counted", "sketched"]
    distinct_relative_error: Annotated[Amount, said("Relative standard error of distinct; 0 where counted.")]


class AnalysisFullCount(Part, frozen=True, kw_only=True):
    partition_key: str
    row_key: str
    rows: Count
    partitions: Count
    largest_partition: Annotated[Count, said("Entities in it.")]
    top_share: Annotated[Number, said("Share of all entities in the largest partition.")]
    shared_keys: Annotated[int | None, said("Entities whose key another one has; null: not counted.")]
    basis: Literal["counted"]


class AnalysisData(Part, frozen=True, kw_only=True):
    name: str
    format: str
    entities_read: Count
    entities_total: Annotated[Count, said("Entities of the whole table: declared, or those read.")]
    sampling: Literal["complete", "random-rows", "random-keys", "slice"]
    rows_at_hand: Annotated[Count, said("Rows that schemes were tried on.")]
    unique_key_checked_over: Annotated[
        Count, said("Entities over which the key was proved unique; 0: only over the sampled rows.")
    ]
    counted_over_all: Annotated[
        list[AnalysisFullCount] | UnsetType,
        said(
            "What the recommended key, the current one and the next best make of every row; there where "
            "schemes were tried on a sample."
        ),
    ] = UNSET
    arrival: Annotated[str | None, said("What tells the order of inserts: a property, file_order, or nothing.")]
    mean_property_bytes: Annotated[AnalysisAmountOrNone, said("Mean bytes of an entity's properties without its keys.")]
    notes: AnalysisSentences
    properties: list[AnalysisProperty]


AnalysisOperation = Literal["query", "insert", "update", "upsert", "delete"]


class AnalysisWindowByRate(Part, frozen=True, kw_only=True):
    entities_returned: Annotated[AnalysisAmountOrNone, said("Of one request; null: the rate does not tell.")]


AnalysisAccess = Literal["point", "row range", "partition scan", "partition-range scan", "table scan", None]


class AnalysisQueryClass(Part, frozen=True, kw_only=True):
    """Requests of one shape."""

    name: str
    operation: AnalysisOperation
    filter: Annotated[
        str | None,
        said("An OData filter over properties with parameters in braces; null: every entity, or the entity written."),
    ]
    order_by: Annotated[list[str], said("A property each, with ' desc' where descending.")]
    top: Positive | None
    rate_per_s: Annotated[Amount, said("Mean requests per second.")]
    peak_per_s: Annotated[Amount, said("Requests in the busiest second.")]
    rate_basis: AnalysisBasis
    parameters: Annotated[
        Literal["entities", "distinct", "zipf", "weight", "newest", "log"],
        said(
            "How parameters were drawn: entities, distinct, zipf, weight or newest as in the design file, or as logged."
        ),
    ]
    parameters_basis: AnalysisBasis
    latency_goal_ms_p99: AnalysisAmountOrNone
    analytic: Annotated[bool, said("A scan for analysis, outside the score.")]
    window_by_rate: Annotated[
        AnalysisWindowByRate | None,
        said(
            "What the window of time of the query holds at the declared rate of inserts, where the data "
            "is of another density or shorter; null where it is counted."
        ),
    ]
    access_now: Annotated[
        AnalysisAccess,
        said("How requests find entities under the current keys; null where none are known, and for inserts."),
    ]


class AnalysisTop(Part, frozen=True, kw_only=True):
    partition_key: str
    requests: Count
    share: AnalysisShare
    requests_per_s: Annotated[AnalysisAmountOrNone, said("Mean requests per second; null where the log has no times.")]


class AnalysisHeat(Part, frozen=True, kw_only=True):
    """The current partition keys that are asked for most."""

    requests: Count
    basis: AnalysisBasis
    error_requests: Annotated[Count, said("Each number of requests in top is at most this much too high.")]
    top: list[AnalysisTop]


class AnalysisHeatInLog(Part, frozen=True, kw_only=True):
    reads: AnalysisHeat
    writes: AnalysisHeat
