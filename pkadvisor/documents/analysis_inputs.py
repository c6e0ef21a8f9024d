"""Parts of the document of ``advisor analyze``: what was read of data, log and design file."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from pkadvisor.documents.part import Amount, Count, Number, Part, Positive, Share, Words, said


class AnalysisInputLog(Part, frozen=True, kw_only=True):
    name: str
    format: str


class AnalysisFile(Part, frozen=True, kw_only=True):
    """``xxh3``: XXH3-128 of the bytes, in hex."""

    role: Literal["data", "log", "profile"]
    name: str
    bytes: Count
    xxh3: str


class AnalysisInput(Part, frozen=True, kw_only=True):
    """``files``: Data, logs and profiles by content, so that a later run can tell whether it has the same. Standard
    input is left out.
    """

    design: str | None
    profiles: list[str]
    logs: list[AnalysisInputLog]
    files: list[AnalysisFile] | UnsetType = UNSET


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
    """``peak_per_s``: Requests in the busiest second.
    ``peak_minute_per_s``: Requests per second over the busiest minute.
    ``peak_share``: Busiest second divided by the limit; above 1 is over it.
    """

    mean_per_s: AnalysisAmountOrNone
    peak_per_s: AnalysisAmountOrNone
    peak_minute_per_s: AnalysisAmountOrNone
    limit_per_s: Amount
    peak_share: AnalysisAmountOrNone


AnalysisShare = Annotated[Share, said("A share of one.")]


class AnalysisLogTable(Part, frozen=True, kw_only=True):
    """``designed``: Whether the design file names the table."""

    table: str
    share: AnalysisShare
    designed: bool


class AnalysisLog(Part, frozen=True, kw_only=True):
    """``lines``: Lines read, of every kind.
    ``requests_attempted``: Requests to tables, repeated and throttled ones included.
    ``covered_s``: Seconds that rates are averaged over.
    ``clock_resolution_us``: Microseconds between the ticks of the log's clock.
    ``missing_hours``: Hours between the first and the last line without any.
    ``duplicates``: Records that the service wrote twice; counted once.
    ``retries``: Attempts that repeat a throttled one; no demand of their own.
    ``pages``: Further parts of long answers; no demand of their own.
    ``account``: All tables together, against the account's target.
    """

    lines: Count
    requests_attempted: Count
    first: AnalysisTime
    last: AnalysisTime
    covered_s: Amount
    clock_resolution_us: Count | None
    missing_hours: Count
    empty_minutes: Count
    duplicates: Count
    throttled: Count
    retries: Count
    pages: Count
    basis: AnalysisBasis
    skipped: list[AnalysisSkipped]
    account: AnalysisLogAccount
    tables: list[AnalysisLogTable]


class AnalysisGround(Part, frozen=True, kw_only=True):
    """``sentence``: What was measured; of a contradiction both numbers, and what follows from each.
    ``next``: What to give, where it does not carry.
    ``load_share``: Of the load, what rests on it.
    ``expected``: The number that the measured one is compared with.
    """

    name: Literal["parameters", "density", "times", "coverage", "sampling", "assumptions"]
    title: str
    sentence: str
    carries: bool
    next: str | None
    load_share: AnalysisShare
    measured: AnalysisAmountOrNone
    expected: AnalysisAmountOrNone
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
    """``types``: Where values are of more than one type: each with its number of values.
    ``present``: Entities that have the property.
    ``distinct``: Distinct values.
    ``distinct_relative_error``: Relative standard error of distinct; 0 where counted.
    """

    name: str
    type: AnalysisEdm
    types: list[AnalysisType]
    present: Count
    missing: Count
    distinct: Count
    distinct_basis: Literal["counted", "sketched"]
    distinct_relative_error: Amount


class AnalysisFullCount(Part, frozen=True, kw_only=True):
    """``largest_partition``: Entities in it.
    ``top_share``: Share of all entities in the largest partition.
    ``shared_keys``: Entities whose key another one has; null: not counted.
    """

    partition_key: str
    row_key: str
    rows: Count
    partitions: Count
    largest_partition: Count
    top_share: Number
    shared_keys: int | None
    basis: Literal["counted"]


class AnalysisData(Part, frozen=True, kw_only=True):
    """``entities_total``: Entities of the whole table: declared, or those read.
    ``rows_at_hand``: Rows that schemes were tried on.
    ``unique_key_checked_over``: Entities over which the key was proved unique; 0: only over the sampled rows.
    ``counted_over_all``: What the recommended key, the current one and the next best make of every row; there where
    schemes were tried on a sample.
    ``arrival``: What tells the order of inserts: a property, file_order, or nothing.
    ``mean_property_bytes``: Mean bytes of an entity's properties without its keys.
    """

    name: str
    format: str
    entities_read: Count
    entities_total: Count
    sampling: Literal["complete", "random-rows", "random-keys", "slice"]
    rows_at_hand: Count
    unique_key_checked_over: Count
    counted_over_all: list[AnalysisFullCount] | UnsetType = UNSET
    arrival: str | None
    mean_property_bytes: AnalysisAmountOrNone
    notes: AnalysisSentences
    properties: list[AnalysisProperty]


AnalysisOperation = Literal["query", "insert", "update", "upsert", "delete"]


class AnalysisWindowByRate(Part, frozen=True, kw_only=True):
    """``entities_returned``: Of one request; null: the rate does not tell."""

    entities_returned: AnalysisAmountOrNone


AnalysisAccess = Literal["point", "row range", "partition scan", "partition-range scan", "table scan", None]


class AnalysisQueryClass(Part, frozen=True, kw_only=True):
    """Requests of one shape.

    ``filter``: An OData filter over properties with parameters in braces; null: every entity, or the entity written.
    ``order_by``: A property each, with ' desc' where descending.
    ``rate_per_s``: Mean requests per second.
    ``peak_per_s``: Requests in the busiest second.
    ``parameters``: How parameters were drawn: entities, distinct, zipf, weight or newest as in the design file, or as
    logged.
    ``analytic``: A scan for analysis, outside the score.
    ``window_by_rate``: What the window of time of the query holds at the declared rate of inserts, where the data is of
    another density or shorter; null where it is counted.
    ``access_now``: How requests find entities under the current keys; null where none are known, and for inserts.
    """

    name: str
    operation: AnalysisOperation
    filter: str | None
    order_by: list[str]
    top: Positive | None
    rate_per_s: Amount
    peak_per_s: Amount
    rate_basis: AnalysisBasis
    parameters: Literal["entities", "distinct", "zipf", "weight", "newest", "log"]
    parameters_basis: AnalysisBasis
    latency_goal_ms_p99: AnalysisAmountOrNone
    analytic: bool
    window_by_rate: AnalysisWindowByRate | None
    access_now: AnalysisAccess


class AnalysisTop(Part, frozen=True, kw_only=True):
    """``requests_per_s``: Mean requests per second; null where the log has no times."""

    partition_key: str
    requests: Count
    share: AnalysisShare
    requests_per_s: AnalysisAmountOrNone


class AnalysisHeat(Part, frozen=True, kw_only=True):
    """The current partition keys that are asked for most.

    ``error_requests``: Each number of requests in top is at most this much too high.
    """

    requests: Count
    basis: AnalysisBasis
    error_requests: Count
    top: list[AnalysisTop]


class AnalysisHeatInLog(Part, frozen=True, kw_only=True):
    reads: AnalysisHeat
    writes: AnalysisHeat
