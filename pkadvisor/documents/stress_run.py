"""Parts of the document of ``advisor stress``: runs, and what they are compared with."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from pkadvisor.documents.analysis_table import AnalysisPattern
from pkadvisor.documents.part import Amount, Count, Number, Part, Positive, Share, said


class StressGoal(Part, frozen=True, kw_only=True):
    name: Literal["p50", "p99", "p99.9", "throttled", "lost"]
    most: Amount
    unit: Literal["ms", "share"]


class StressClient(Part, frozen=True, kw_only=True):
    """``think_s``: Between an answer and the next request.
    ``vms``: Virtual machines that they share.
    """

    number: Positive
    think_s: Amount
    vms: Positive | None


class StressSetting(Part, frozen=True, kw_only=True):
    """``load``: As given.
    ``load_words``: The same in words.
    ``growth_months``: Rates are those after so many months of declared growth; 0: of now.
    ``duration_s``: Length of a run in virtual time; null: each as long as its figures need.
    ``retry``: The retry policy of the clients.
    ``enforcement``: strict: targets are walls. elastic: those of partitions and ranges hold only where servers are
    busy.
    ``servers``: Partition servers that share the table.
    ``partition``: The PartitionKey of the single-partition test, or hottest.
    ``clients``: Clients of the closed loop.
    ``engine``: Whether the embedded engine carries out all of the warmed-up load.
    ``sample_keys``: PartitionKeys that the engine takes, at the most; null: as many as usual.
    """

    load: str
    load_words: str
    growth_months: Amount
    duration_s: Amount | None
    retry: str
    enforcement: Literal["strict", "elastic"]
    servers: Positive
    faults: list[str]
    goals: list[StressGoal]
    partition: str | None
    clients: StressClient | None
    engine: bool
    sample_keys: Positive | None
    seed: int


class StressHottest(Part, frozen=True, kw_only=True):
    """``offered_entities_per_s_max``: In one second.
    ``times_target``: Mean ÷ target.
    """

    partition_key: str
    offered_entities_per_s_mean: Amount
    offered_entities_per_s_max: Amount
    target_entities_per_s: Amount
    times_target: Amount


class StressCounts(Part, frozen=True, kw_only=True):
    """What came of requests, of one class or of all.

    ``offered_requests_per_s``: Requests of clients that arrive per second of the run, mean.
    ``served_requests_per_s``: Those that get all they want in the end.
    ``requests``: Requests of clients. requests = served + lost, where the run is complete.
    ``lost``: Requests that their clients gave up.
    ``lost_share``: Of requests.
    ``attempts``: HTTP requests at the store, retries among them. attempts = accepted + timed_out + throttled.
    ``accepted``: Answered 200 or 412.
    ``throttled``: Answered 503.
    ``throttled_share``: Of attempts.
    ``conflicts``: Answered 412: what an update had read was changed meanwhile. The request reads again.
    ``timed_out``: Answered 500: carried out, but too late.
    ``pages``: Accepted pages of queries.
    ``entities_read``: By accepted attempts; a page reads what it examines.
    ``entities_written``: By accepted attempts, index rows among them.
    ``latency_ms_mean``: From the arrival of a served request to its last answer, retries and their waits included, ms;
    null where nothing was served.
    """

    offered_requests_per_s: Amount
    served_requests_per_s: Amount
    requests: Count
    served: Count
    lost: Count
    lost_share: Share
    attempts: Count
    accepted: Count
    throttled: Count
    throttled_share: Share
    throttled_by: Annotated[
        Annotated[
            dict[str, Positive],
            Meta(
                extra_json_schema={
                    "propertyNames": {"enum": ["partition", "range", "bandwidth", "server", "account", "queue"]}
                }
            ),
        ],
        said("Attempts answered 503, by the target that turned them away; those of none are left out."),
    ]
    conflicts: Count
    timed_out: Count
    pages: Count
    entities_read: Count
    entities_written: Count
    latency_ms_mean: Amount | None
    latency_ms_p50: Amount | None
    latency_ms_p99: Amount | None
    latency_ms_p99_9: Amount | None = field(name="latency_ms_p99.9")


class StressClass(StressCounts, frozen=True):
    name: str


class StressLatency(Part, frozen=True, kw_only=True):
    name: str
    latency_ms_p50: list[Amount | None]
    latency_ms_p99: list[Amount | None]


class StressTimeline(Part, frozen=True, kw_only=True):
    """``latencies``: Latency over time of the classes with the most requests: of served requests, by the step in which
    their last attempt was sent; null where none was.
    """

    step_s: Positive
    offered_per_s: list[Amount]
    accepted_per_s: list[Amount]
    throttled_per_s: list[Amount]
    hottest_entities_per_s: list[Amount]
    latencies: list[StressLatency] = []


class StressRow(Part, frozen=True, kw_only=True):
    """``from_key``: The first PartitionKey of the row.
    ``partitions``: PartitionKeys in it.
    ``times_target``: Load of the busiest PartitionKey of the row, in times of the target of one partition.
    """

    from_key: str
    partitions: Positive
    times_target: list[Amount]


class StressHeat(Part, frozen=True, kw_only=True):
    """``step_s``: Seconds in a cell.
    ``pattern``: What the map shows; null where there is none.
    """

    step_s: Amount
    rows: list[StressRow]
    pattern: AnalysisPattern | None = None


class StressRange(Part, frozen=True, kw_only=True):
    """``until_key``: Exclusive; empty: to the end."""

    from_key: str
    until_key: str
    load_share: Share


class StressEvent(Part, frozen=True, kw_only=True):
    """``away_s``: How long nobody served the range.
    ``load_share_before``: Of the requests, in the window before.
    """

    at_s: Amount
    kind: Literal["split", "merge", "move", "server lost", "server back"]
    server: str
    away_s: Amount
    load_share_before: Share
    ranges: list[Annotated[StressRange, said("What came of it.")]]


class StressThrottling(Part, frozen=True, kw_only=True):
    """``seconds``: Seconds in which anything was throttled.
    ``longest_s``: The most of them one after another.
    """

    seconds: Count
    longest_s: Count


class StressTotals(StressCounts, frozen=True, kw_only=True):
    """What came of all requests of a run.

    ``hottest``: The PartitionKey with the most load, retries among it.
    ``timeline``: Attempts per second, and the entities per second of the hottest partition; means over steps of equal
    length.
    ``heat``: Offered entities per second by keys and time; pages over several PartitionKeys count at each by its rows.
    """

    hottest: StressHottest | None
    classes: list[Annotated[StressClass, said("A query or a write.")]]
    throttling: StressThrottling
    timeline: StressTimeline
    heat: StressHeat
    events: list[Annotated[StressEvent, said("A change of the map of ranges.")]]


RunLength = Annotated[Amount, said("Of virtual time that was run.")]


class StressRun(StressTotals, frozen=True):
    """One run, totals first. What a run is called and how long it was stand before its figures.

    ``state``: warmed up: the map of ranges that the service comes to under this load. cold start: a new table is one
    range. N clients: a closed loop, warmed up.
    """

    state: str
    complete: bool
    duration_s: RunLength


class StressMeasuredRun(StressTotals, frozen=True):
    """A run as it was measured: as the others, of real time."""

    complete: bool
    duration_s: RunLength


class StressMeasure(Part, frozen=True, kw_only=True):
    """``tolerance``: Of the larger of both; 0: equal."""

    name: str
    predicted: Amount
    measured: Amount
    agrees: bool
    tolerance: Share


class StressPredictionClass(Part, frozen=True, kw_only=True):
    """``note``: What is left out of the comparison, and what the whole table has instead of the sampled data."""

    name: str
    agrees: bool
    measures: list[StressMeasure]
    note: str


class StressLoad(Part, frozen=True, kw_only=True):
    """``error``: (measured − predicted) ÷ predicted.
    ``agrees``: Whether it is near enough; null: not judged (latencies rest on assumed times of service).
    ``why``: Why nothing is predicted.
    """

    name: str
    unit: str
    predicted: Number | None
    measured: Number | None
    error: Number | None
    agrees: bool | None
    why: str


class StressBreak(Part, frozen=True, kw_only=True):
    """``factor``: Of the load of the worst minute.
    ``by``: attempts: below and above are shares of attempts that were throttled. entities: shares of the entities asked
    for that were read, by clients that try until they get through.
    ``below``: At 0.9 of the factor.
    ``above``: At 1.1 of it.
    ``load``: What the scripts ask for at the factor, over the target: 1 where they and the model agree. null: of a
    limit that is neither of a PartitionKey nor of the account.
    ``holds``: null: not to be proved by a run.
    """

    cause: str
    resource: str
    factor: Amount | None
    by: Literal["attempts", "entities", None]
    below: Amount | None
    above: Amount | None
    load: Amount | None
    holds: bool | None
    sentence: str


class StressWay(Part, frozen=True, kw_only=True):
    """What came of the first requests of the load in one way to run them.

    ``lost``: Requests that were given up.
    ``throttled_share``: Of attempts.
    ``conflicts``: Attempts answered 412.
    ``entities_read``: Examined, with those of requests that were lost.
    ``ranges``: Ranges of the table at the end of the run.
    """

    requests: Count
    lost: Count
    lost_share: Share
    attempts: Count
    throttled_share: Share
    conflicts: Count
    entities_read: Count
    latency_ms_p50: Amount | None
    latency_ms_p99: Amount | None
    ranges: Count


class StressAudit(Part, frozen=True, kw_only=True):
    """``rows``: Loaded before.
    ``table_rows``: All rows of the table. Where there are more than `rows`, whole PartitionKeys were left out.
    ``load_share``: Of the requests of the load: those that go to the loaded rows alone.
    ``without_rows``: The same requests where nothing is stored; null where their parameters were not written down.
    ``violations``: Answers that were not permissible.
    ``examples``: Violations in words; none where keys are hidden.
    """

    rows: Count
    table_rows: Count
    load_share: Share
    requests: Count
    operations: Count
    entities_read: Count
    entities_written: Count
    engine: StressWay
    without_rows: StressWay | None
    violations: Count
    examples: list[str]


class StressPrediction(Part, frozen=True, kw_only=True):
    """What the model of costs said beforehand, compared with what was measured.

    ``audit``: The first requests of the load on the embedded engine, with rows, targets, queues, ranges and retries:
    what every operation answered, and what came of it.
    """

    classes: list[Annotated[StressPredictionClass, said("Per request, on the sampled data.")]]
    load: list[StressLoad]
    breaks: list[Annotated[StressBreak, said("The break factor proved: quiet below it, throttled above.")]]
    audit: StressAudit | None


class StressLimit(Part, frozen=True, kw_only=True):
    """``factor``: The highest load that meets the goals, as a multiple of the load of the worst minute.
    ``binds``: What stands in the way above it; empty: nothing was found.
    """

    factor: Amount
    requests_per_s: Amount
    binds: str


class StressPartitionTest(Part, frozen=True, kw_only=True):
    """``offered_entities_per_s``: Counted as the target counts, mean.
    ``accepted_entities_per_s``: Entities read and written, mean.
    ``throttled_share``: Of attempts, those too late among them.
    """

    partition_key: str
    offered_entities_per_s: Amount
    accepted_entities_per_s: Amount
    target_entities_per_s: Amount
    times_target: Amount
    throttled_share: Share
    passes: bool
    verdict: str
