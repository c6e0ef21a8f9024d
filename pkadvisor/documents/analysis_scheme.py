"""Parts of the document of ``advisor analyze``: a key scheme with its figures."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from pkadvisor.documents.analysis_inputs import (
    AnalysisAccess,
    AnalysisAmountOrNone,
    AnalysisBasis,
    AnalysisOperation,
    AnalysisSentences,
    AnalysisShare,
)
from pkadvisor.documents.part import Amount, Count, Number, Part, Positive, Share, Words, said

AnalysisTemplate = Annotated[str, said("A key template such as {event}_{pad(bib,5)}; empty: the empty key.")]


class AnalysisIndexRow(Part, frozen=True, kw_only=True):
    partition_key: AnalysisTemplate
    row_key: AnalysisTemplate
    copy: Literal["full", "pointer"]
    consistency: Annotated[Literal["atomic", "eventual"], said("atomic: in the same group transaction as the entity.")]


class AnalysisTerm(Part, frozen=True, kw_only=True):
    name: str
    value: Annotated[AnalysisAmountOrNone, said("null: without limit.")]
    unit: Words
    basis: AnalysisBasis
    source: Annotated[str, said("What the number was made from; of limits, each with its basis.")]
    low: Annotated[
        AnalysisAmountOrNone | UnsetType, said("With 95 % the truth is not below; absent where it was counted.")
    ] = UNSET
    high: Annotated[
        AnalysisAmountOrNone | UnsetType,
        said("With 95 % the truth is not above; null where the sample does not bound it."),
    ] = UNSET


class AnalysisHotPartition(Part, frozen=True, kw_only=True):
    partition_key: str
    entities_per_s_peak: Annotated[Amount, said("Entities counted per second, scanned ones included.")]
    entities_per_s_mean: Amount
    entities_per_s_peak_second: Annotated[
        Amount, said("In the busiest second that a log shows; as at the peak without one.")
    ]
    share: Annotated[AnalysisShare, said("Share of the whole load of that minute.")]
    basis: Annotated[
        AnalysisBasis,
        said(
            "counted: a log says which classes are busy together; declared: the design file does; "
            "assumed: all peaks at once."
        ),
    ]
    verdict: Annotated[
        Literal["hot-entity", "hot-partition", None],
        said("hot-entity: no key helps. hot-partition: no split helps. null below that share of the target."),
    ]
    helps: str | None


class AnalysisBreak(Part, frozen=True, kw_only=True):
    cause: str
    resource: Literal["entity", "partition", "range", "server", "account", "number"]
    measured: Annotated[Amount, said("At today's peak.")]
    limit: Amount
    unit: str
    factor: Annotated[Amount, said("Growth at which the limit is passed; below 1 it is already.")]
    factor_headroom: Annotated[Amount, said("The same at the share of the target that leaves room for growth.")]
    growth_of: Annotated[
        list[Literal["rate", "new_keys", "rows_per_key"]], said("Empty where time alone brings it, whatever grows.")
    ]
    months: Annotated[
        Amount | None, said("At the declared growth; null beyond its horizon, or where it does not raise this.")
    ]


class AnalysisWriteFront(Part, frozen=True, kw_only=True):
    lasting: Annotated[
        AnalysisAmountOrNone,
        said(
            "1 ÷ the largest share of the inserts that one range takes while the service reacts, in the "
            "state that lasts; null where the order of inserts is unknown."
        ),
    ]
    least: Annotated[AnalysisAmountOrNone, said("The same in the worst state.")]
    least_share: Annotated[Share | None, said("Share of the time in the worst state.")]
    window_s: Annotated[
        AnalysisAmountOrNone, said("Seconds of inserts that were counted together; null where nobody knows.")
    ]
    basis: AnalysisBasis
    note: str


class AnalysisGoal(Part, frozen=True, kw_only=True):
    goal: str
    unit: str
    value: Annotated[Number | None, said("null: without limit.")]


class AnalysisViolation(Part, frozen=True, kw_only=True):
    kind: Annotated[
        str | UnsetType | None, said("In an arrangement: the kind that breaks it, null for all together.")
    ] = UNSET
    code: Annotated[str, Meta(pattern=r"^[a-z][a-z-]*$")]
    message: Words
    measured: Number | None
    limit: Number | None
    unit: str
    assumed_growth: Annotated[
        bool, said("Only the growth that is assumed where none is declared breaks it: no reason to exit with 1.")
    ]


class AnalysisRemark(Part, frozen=True, kw_only=True):
    code: Annotated[str, Meta(pattern=r"^[a-z][a-z-]*$")]
    message: Words


class AnalysisLostGoal(Part, frozen=True, kw_only=True):
    goal: str
    unit: str
    value: Number | None
    winner: Number | None


class AnalysisEntitiesReadInterval(Part, frozen=True, kw_only=True):
    low: AnalysisAmountOrNone
    high: AnalysisAmountOrNone


class AnalysisClassCost(Part, frozen=True, kw_only=True):
    """What a request of one class costs under a scheme, on average over its parameters."""

    name: str
    operation: AnalysisOperation
    rate_per_s: Amount
    access: Annotated[AnalysisAccess, said("null for a write that knows its key.")]
    via: Annotated[str, Meta(pattern=r"^(main|index row [1-9][0-9]*)$")]
    fan_out: Annotated[Amount, said("Queries sent for one request of the application.")]
    entities_read: Amount
    entities_read_max: Amount
    entities_read_interval: Annotated[
        AnalysisEntitiesReadInterval | None, said("Where the mean lies with 95 %; null where it was counted.")
    ]
    entities_returned: Amount
    entities_written: Amount
    requests: Annotated[Amount, said("HTTP requests, continuations included.")]
    requests_locate: Annotated[Amount, said("Of the requests, those that find what is then written.")]
    attempts_per_commit: Annotated[Amount, said("Read-modify-writes sent for one that commits.")]
    latency_ms_p50: Amount
    latency_ms_p99: Annotated[Amount, said("Rests on the assumed latencies of the limits.")]
    latency_goal_ms_p99: Annotated[
        AnalysisAmountOrNone, said("Declared, or that of the limits; null for analytic classes.")
    ]
    analytic: Annotated[bool, said("Reported apart: outside the rates, the score and the latency goals.")]
    useful_share: Annotated[AnalysisShare, said("Entities asked for, of the entities counted; a miss asks for one.")]
    score_points: Annotated[AnalysisAmountOrNone, said("What the class adds to the score; null for analytic classes.")]
    filters: Annotated[
        list[str], said("The $filter of each query to send, with templates in braces; empty text: none.")
    ]
    top: Annotated[Positive | None, said("The $top of each query to send; null: none.")]
    client_work: Annotated[AnalysisSentences, said("What the application does with the answers.")]
    notes: AnalysisSentences


class AnalysisFirstBreakRecord(Part, frozen=True, kw_only=True):
    """The limit that the least growth passes, of whatever kind; null where nothing binds."""

    factor: Amount
    cause: str
    growth_of: Annotated[
        list[Literal["rate", "new_keys", "rows_per_key"]], said("Empty where time alone brings it, whatever grows.")
    ]


AnalysisFirstBreak = AnalysisFirstBreakRecord | None


class AnalysisSaturation(Part, frozen=True, kw_only=True):
    requests_per_s: Amount
    cause: str
    basis: AnalysisBasis


class AnalysisScheme(Part, frozen=True, kw_only=True):
    """A key scheme with its price."""

    rank: Annotated[
        Positive | None,
        said(
            "Its number in the ranking, which advisor explain scheme:N takes; null for the current keys "
            "where they are not recommended."
        ),
    ]
    partition_key: AnalysisTemplate
    row_key: AnalysisTemplate
    index_rows: Annotated[
        list[AnalysisIndexRow], said("Further rows that are written for every entity, so that other queries find it.")
    ]
    pattern: str
    feasible: Annotated[bool, said("Whether every constraint holds.")]
    score: Annotated[
        Annotated[int, Meta(ge=0, le=100)] | Annotated[float, Meta(ge=0, le=100)],
        said("For orientation; the ranking compares the goals one after the other."),
    ]
    terms: list[AnalysisTerm]
    hot_partition: AnalysisHotPartition | None
    write_fronts: Annotated[AnalysisWriteFront, said("Over how many ranges of partitions inserts spread at one time.")]
    goals: Annotated[
        list[AnalysisGoal],
        said(
            "What the goals compare, in their order: the first goal in which one of two schemes is out of"
            " the tolerance decides."
        ),
    ]
    break_cause: Annotated[str, said("What is passed first as the load grows.")]
    first_break: AnalysisFirstBreak | UnsetType = UNSET
    saturation: Annotated[
        AnalysisSaturation | UnsetType | None,
        said("Requests per second, in the mix of today's peak, at which the first resource is full."),
    ] = UNSET
    breaks: Annotated[list[AnalysisBreak], said("Every limit with the growth that passes it, the earliest first.")]
    classes: list[AnalysisClassCost]
    violations: list[AnalysisViolation]
    remarks: list[AnalysisRemark]
    loses: Annotated[
        AnalysisLostGoal | None,
        said("The first goal in which the scheme is worse than the recommended one; null for that one itself."),
    ]
    examples: Any | UnsetType = UNSET
    index_examples: Any | UnsetType = UNSET
    transactions: Any | UnsetType = UNSET


class AnalysisExampleKey(Part, frozen=True, kw_only=True):
    partition_key: str
    row_key: str


AnalysisExampleKeys = list[AnalysisExampleKey]


class AnalysisPair(Part, frozen=True, kw_only=True):
    guaranteed: Share
    basis: Literal["counted", "sketched", "assumed"]
    counted: Count


class AnalysisPairRepair(Part, frozen=True, kw_only=True):
    steps: Annotated[list[str], said("Rows to write, in their order.")]
    find: Annotated[str, said("How the repair finds pairs that are half done.")]
    requests: Annotated[Number, said("Requests that a pair in two partitions takes.")]


class AnalysisTransaction(Part, frozen=True, kw_only=True):
    name: str
    kept: Annotated[bool, said("Whether it can be one entity group transaction.")]
    required: bool
    mean_entities: Amount
    sets_over_limit: Annotated[Count, said("Sets with more entities than a group transaction takes.")]
    sets: Count
    entities_most: Annotated[
        Count,
        said(
            "Entities that one group transaction takes, by count and bytes, index rows of the same partition included."
        ),
    ]
    pairs: Annotated[
        AnalysisPair | UnsetType,
        said(
            "Of a transaction over pairs of values: the share that the PartitionKey keeps in one "
            "partition by rule, and over how many pairs it was counted; 0 where any two values are taken "
            "to meet."
        ),
    ] = UNSET
    repair: Annotated[
        AnalysisPairRepair | UnsetType | None,
        said(
            "How a pair in two partitions is brought to its end after a failure; null where every pair is"
            " one group transaction."
        ),
    ] = UNSET


class AnalysisFullScheme(AnalysisScheme, frozen=True, kw_only=True):
    """A key scheme with its price, its example keys and its transactions."""

    examples: Annotated[AnalysisExampleKeys, said("Keys of entities from the data.")]
    index_examples: Annotated[list[AnalysisExampleKeys], said("One list for each of index_rows.")]
    transactions: list[AnalysisTransaction]
