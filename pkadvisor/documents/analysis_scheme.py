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


class AnalysisKeyIndexRow(Part, frozen=True, kw_only=True):
    partition_key: AnalysisTemplate
    row_key: AnalysisTemplate
    copy: Literal["full", "pointer"]


class AnalysisIndexRow(AnalysisKeyIndexRow, frozen=True, kw_only=True):
    """``consistency``: atomic: in the same group transaction as the entity."""

    consistency: Literal["atomic", "eventual"]


class AnalysisTerm(Part, frozen=True, kw_only=True):
    """``value``: null: without limit.
    ``source``: What the number was made from; of limits, each with its basis.
    ``low``: With 95 % the truth is not below; absent where it was counted.
    ``high``: With 95 % the truth is not above; null where the sample does not bound it.
    """

    name: str
    value: AnalysisAmountOrNone
    unit: Words
    basis: AnalysisBasis
    source: str
    low: AnalysisAmountOrNone | UnsetType = UNSET
    high: AnalysisAmountOrNone | UnsetType = UNSET


class AnalysisHotPartition(Part, frozen=True, kw_only=True):
    """``entities_per_s_peak``: Entities counted per second, scanned ones included.
    ``entities_per_s_peak_second``: In the busiest second that a log shows; as at the peak without one.
    ``share``: Share of the whole load of that minute.
    ``basis``: counted: a log says which classes are busy together; declared: the design file does; assumed: all peaks
    at once.
    ``verdict``: hot-entity: no key helps. hot-partition: no split helps. null below that share of the target.
    """

    partition_key: str
    entities_per_s_peak: Amount
    entities_per_s_mean: Amount
    entities_per_s_peak_second: Amount
    share: AnalysisShare
    basis: AnalysisBasis
    verdict: Literal["hot-entity", "hot-partition", None]
    helps: str | None


class AnalysisBreak(Part, frozen=True, kw_only=True):
    """``measured``: At today's peak.
    ``factor``: Growth at which the limit is passed; below 1 it is already.
    ``factor_headroom``: The same at the share of the target that leaves room for growth.
    ``growth_of``: Empty where time alone brings it, whatever grows.
    ``months``: At the declared growth; null beyond its horizon, or where it does not raise this.
    """

    cause: str
    resource: Literal["entity", "partition", "range", "server", "account", "number"]
    measured: Amount
    limit: Amount
    unit: str
    factor: Amount
    factor_headroom: Amount
    growth_of: list[Literal["rate", "new_keys", "rows_per_key"]]
    months: Amount | None


class AnalysisWriteFront(Part, frozen=True, kw_only=True):
    """``lasting``: 1 ÷ the largest share of the inserts that one range takes while the service reacts, in the state
    that lasts; null where the order of inserts is unknown.
    ``least``: The same in the worst state.
    ``least_share``: Share of the time in the worst state.
    ``window_s``: Seconds of inserts that were counted together; null where nobody knows.
    """

    lasting: AnalysisAmountOrNone
    least: AnalysisAmountOrNone
    least_share: Share | None
    window_s: AnalysisAmountOrNone
    basis: AnalysisBasis
    note: str


class AnalysisGoal(Part, frozen=True, kw_only=True):
    """``value``: null: without limit."""

    goal: str
    unit: str
    value: Number | None


class AnalysisViolation(Part, frozen=True, kw_only=True):
    """``kind``: In an arrangement: the kind that breaks it, null for all together.
    ``assumed_growth``: Only the growth that is assumed where none is declared breaks it: no reason to exit with 1.
    """

    kind: str | UnsetType | None = UNSET
    code: Annotated[str, Meta(pattern=r"^[a-z][a-z-]*$")]
    message: Words
    measured: Number | None
    limit: Number | None
    unit: str
    assumed_growth: bool


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
    """What a request of one class costs under a scheme, on average over its parameters.

    ``access``: null for a write that knows its key.
    ``fan_out``: Queries sent for one request of the application.
    ``entities_read_interval``: Where the mean lies with 95 %; null where it was counted.
    ``requests``: HTTP requests, continuations included.
    ``requests_locate``: Of the requests, those that find what is then written.
    ``attempts_per_commit``: Read-modify-writes sent for one that commits.
    ``latency_ms_p99``: Rests on the assumed latencies of the limits.
    ``latency_goal_ms_p99``: Declared, or that of the limits; null for analytic classes.
    ``analytic``: Reported apart: outside the rates, the score and the latency goals.
    ``useful_share``: Entities asked for, of the entities counted; a miss asks for one.
    ``score_points``: What the class adds to the score; null for analytic classes.
    ``filters``: The $filter of each query to send, with templates in braces; empty text: none.
    ``top``: The $top of each query to send; null: none.
    ``client_work``: What the application does with the answers.
    """

    name: str
    operation: AnalysisOperation
    rate_per_s: Amount
    access: AnalysisAccess
    via: Annotated[str, Meta(pattern=r"^(main|index row [1-9][0-9]*)$")]
    fan_out: Amount
    entities_read: Amount
    entities_read_max: Amount
    entities_read_interval: AnalysisEntitiesReadInterval | None
    entities_returned: Amount
    entities_written: Amount
    requests: Amount
    requests_locate: Amount
    attempts_per_commit: Amount
    latency_ms_p50: Amount
    latency_ms_p99: Amount
    latency_goal_ms_p99: AnalysisAmountOrNone
    analytic: bool
    useful_share: AnalysisShare
    score_points: AnalysisAmountOrNone
    filters: list[str]
    top: Positive | None
    client_work: AnalysisSentences
    notes: AnalysisSentences


class AnalysisFirstBreakRecord(Part, frozen=True, kw_only=True):
    """The limit that the least growth passes, of whatever kind; null where nothing binds.

    ``growth_of``: Empty where time alone brings it, whatever grows.
    """

    factor: Amount
    cause: str
    growth_of: list[Literal["rate", "new_keys", "rows_per_key"]]


AnalysisFirstBreak = AnalysisFirstBreakRecord | None


class AnalysisSaturation(Part, frozen=True, kw_only=True):
    requests_per_s: Amount
    cause: str
    basis: AnalysisBasis


class AnalysisScheme(Part, frozen=True, kw_only=True):
    """A key scheme with its price.

    ``rank``: Its number in the ranking, which advisor explain scheme:N takes; null for the current keys where they are
    not recommended.
    ``index_rows``: Further rows that are written for every entity, so that other queries find it.
    ``feasible``: Whether every constraint holds.
    ``score``: For orientation; the ranking compares the goals one after the other.
    ``write_fronts``: Over how many ranges of partitions inserts spread at one time.
    ``goals``: What the goals compare, in their order: the first goal in which one of two schemes is out of the
    tolerance decides.
    ``break_cause``: What is passed first as the load grows.
    ``saturation``: Requests per second, in the mix of today's peak, at which the first resource is full.
    ``breaks``: Every limit with the growth that passes it, the earliest first.
    ``loses``: The first goal in which the scheme is worse than the recommended one; null for that one itself.
    """

    rank: Positive | None
    partition_key: AnalysisTemplate
    row_key: AnalysisTemplate
    index_rows: list[AnalysisIndexRow]
    pattern: str
    feasible: bool
    score: Annotated[int, Meta(ge=0, le=100)] | Annotated[float, Meta(ge=0, le=100)]
    terms: list[AnalysisTerm]
    hot_partition: AnalysisHotPartition | None
    write_fronts: AnalysisWriteFront
    goals: list[AnalysisGoal]
    break_cause: str
    first_break: AnalysisFirstBreak | UnsetType = UNSET
    saturation: AnalysisSaturation | UnsetType | None = UNSET
    breaks: list[AnalysisBreak]
    classes: list[AnalysisClassCost]
    violations: list[AnalysisViolation]
    remarks: list[AnalysisRemark]
    loses: AnalysisLostGoal | None
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
    """``steps``: Rows to write, in their order.
    ``find``: How the repair finds pairs that are half done.
    ``requests``: Requests that a pair in two partitions takes.
    """

    steps: list[str]
    find: str
    requests: Number


class AnalysisTransaction(Part, frozen=True, kw_only=True):
    """``kept``: Whether it can be one entity group transaction.
    ``sets_over_limit``: Sets with more entities than a group transaction takes.
    ``entities_most``: Entities that one group transaction takes, by count and bytes, index rows of the same partition
    included.
    ``pairs``: Of a transaction over pairs of values: the share that the PartitionKey keeps in one partition by rule,
    and over how many pairs it was counted; 0 where any two values are taken to meet.
    ``repair``: How a pair in two partitions is brought to its end after a failure; null where every pair is one group
    transaction.
    """

    name: str
    kept: bool
    required: bool
    mean_entities: Amount
    sets_over_limit: Count
    sets: Count
    entities_most: Count
    pairs: AnalysisPair | UnsetType = UNSET
    repair: AnalysisPairRepair | UnsetType | None = UNSET


class AnalysisFullScheme(AnalysisScheme, frozen=True, kw_only=True):
    """A key scheme with its price, its example keys and its transactions.

    ``examples``: Keys of entities from the data.
    ``index_examples``: One list for each of index_rows.
    """

    examples: AnalysisExampleKeys
    index_examples: list[AnalysisExampleKeys]
    transactions: list[AnalysisTransaction]


class AnalysisConstraint(Part, frozen=True, kw_only=True):
    """``subject``: Which of several: the name of a transaction or a budget."""

    code: Annotated[str, Meta(pattern=r"^[a-z][a-z-]*$")]
    subject: str | None
    sentence: Words


class AnalysisKeys(Part, frozen=True, kw_only=True):
    kind: str | UnsetType = UNSET
    partition_key: AnalysisTemplate
    row_key: AnalysisTemplate
    index_rows: list[AnalysisKeyIndexRow]
