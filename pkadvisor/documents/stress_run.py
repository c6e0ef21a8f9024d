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
    number: Positive
    think_s: Annotated[Amount, said("Between an answer and the next request.")]
    vms: Annotated[Positive | None, said("Virtual machines that they share.")]


class StressSetting(Part, frozen=True, kw_only=True):
    load: Annotated[str, said("As given.")]
    load_words: Annotated[str, said("The same in words.")]
    growth_months: Annotated[Amount, said("Rates are those after so many months of declared growth; 0: of now.")]
    duration_s: Annotated[
        Amount | None, said("Length of a run in virtual time; null: each as long as its figures need.")
    ]
    retry: Annotated[str, said("The retry policy of the clients.")]
    enforcement: Annotated[
        Literal["strict", "elastic"],
        said("strict: targets are walls. elastic: those of partitions and ranges hold only where servers are busy."),
    ]
    servers: Annotated[Positive, said("Partition servers that share the table.")]
    faults: list[str]
    goals: list[StressGoal]
    partition: Annotated[str | None, said("The PartitionKey of the single-partition test, or hottest.")]
    clients: Annotated[StressClient | None, said("Clients of the closed loop.")]
    engine: Annotated[bool, said("Whether the embedded engine carries out all of the warmed-up load.")]
    sample_keys: Annotated[
        Positive | None, said("PartitionKeys that the engine takes, at the most; null: as many as usual.")
    ]
    seed: int


class StressHottest(Part, frozen=True, kw_only=True):
    partition_key: str
    offered_entities_per_s_mean: Amount
    offered_entities_per_s_max: Annotated[Amount, said("In one second.")]
    target_entities_per_s: Amount
    times_target: Annotated[Amount, said("Mean ÷ target.")]


class StressCounts(Part, frozen=True, kw_only=True):
    """What came of requests, of one class or of all."""

    offered_requests_per_s: Annotated[Amount, said("Requests of clients that arrive per second of the run, mean.")]
    served_requests_per_s: Annotated[Amount, said("Those that get all they want in the end.")]
    requests: Annotated[Count, said("Requests of clients. requests = served + lost, where the run is complete.")]
    served: Count
    lost: Annotated[Count, said("Requests that their clients gave up.")]
    lost_share: Annotated[Share, said("Of requests.")]
    attempts: Annotated[
        Count, said("HTTP requests at the store, retries among them. attempts = accepted + timed_out + throttled.")
    ]
    accepted: Annotated[Count, said("Answered 200 or 412.")]
    throttled: Annotated[Count, said("Answered 503.")]
    throttled_share: Annotated[Share, said("Of attempts.")]
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
    conflicts: Annotated[
        Count, said("Answered 412: what an update had read was changed meanwhile. The request reads again.")
    ]
    timed_out: Annotated[Count, said("Answered 500: carried out, but too late.")]
    pages: Annotated[Count, said("Accepted pages of queries.")]
    entities_read: Annotated[Count, said("By accepted attempts; a page reads what it examines.")]
    entities_written: Annotated[Count, said("By accepted attempts, index rows among them.")]
    latency_ms_mean: Annotated[
        Amount | None,
        said(
            "From the arrival of a served request to its last answer, retries and their waits included, "
            "ms; null where nothing was served."
        ),
    ]
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
    step_s: Positive
    offered_per_s: list[Amount]
    accepted_per_s: list[Amount]
    throttled_per_s: list[Amount]
    hottest_entities_per_s: list[Amount]
    latencies: Annotated[
        list[StressLatency],
        said(
            "Latency over time of the classes with the most requests: of served requests, by the step in "
            "which their last attempt was sent; null where none was."
        ),
    ] = []


class StressRow(Part, frozen=True, kw_only=True):
    from_key: Annotated[str, said("The first PartitionKey of the row.")]
    partitions: Annotated[Positive, said("PartitionKeys in it.")]
    times_target: Annotated[
        list[Amount], said("Load of the busiest PartitionKey of the row, in times of the target of one partition.")
    ]


class StressHeat(Part, frozen=True, kw_only=True):
    step_s: Annotated[Amount, said("Seconds in a cell.")]
    rows: list[StressRow]
    pattern: Annotated[AnalysisPattern | None, said("What the map shows; null where there is none.")] = None


class StressRange(Part, frozen=True, kw_only=True):
    from_key: str
    until_key: Annotated[str, said("Exclusive; empty: to the end.")]
    load_share: Share


class StressEvent(Part, frozen=True, kw_only=True):
    at_s: Amount
    kind: Literal["split", "merge", "move", "server lost", "server back"]
    server: str
    away_s: Annotated[Amount, said("How long nobody served the range.")]
    load_share_before: Annotated[Share, said("Of the requests, in the window before.")]
    ranges: list[Annotated[StressRange, said("What came of it.")]]


class StressThrottling(Part, frozen=True, kw_only=True):
    seconds: Annotated[Count, said("Seconds in which anything was throttled.")]
    longest_s: Annotated[Count, said("The most of them one after another.")]


class StressTotals(StressCounts, frozen=True, kw_only=True):
    """What came of all requests of a run."""

    hottest: Annotated[StressHottest | None, said("The PartitionKey with the most load, retries among it.")]
    classes: list[Annotated[StressClass, said("A query or a write.")]]
    throttling: StressThrottling
    timeline: Annotated[
        StressTimeline,
        said(
            "Attempts per second, and the entities per second of the hottest partition; means over steps "
            "of equal length."
        ),
    ]
    heat: Annotated[
        StressHeat,
        said(
            "Offered entities per second by keys and time; pages over several PartitionKeys count at each by its rows."
        ),
    ]
    events: list[Annotated[StressEvent, said("A change of the map of ranges.")]]


RunLength = Annotated[Amount, said("Of virtual time that was run.")]


class StressRun(StressTotals, frozen=True):
    """One run, totals first. What a run is called and how long it was stand before its figures."""

    state: Annotated[
        str,
        said(
            "warmed up: the map of ranges that the service comes to under this load. cold start: a new "
            "table is one range. N clients: a closed loop, warmed up."
        ),
    ]
    complete: bool
    duration_s: RunLength


class StressMeasuredRun(StressTotals, frozen=True):
    """A run as it was measured: as the others, of real time."""

    complete: bool
    duration_s: RunLength


class StressMeasure(Part, frozen=True, kw_only=True):
    name: str
    predicted: Amount
    measured: Amount
    agrees: bool
    tolerance: Annotated[Share, said("Of the larger of both; 0: equal.")]


class StressPredictionClass(Part, frozen=True, kw_only=True):
    name: str
    agrees: bool
    measures: list[StressMeasure]
    note: Annotated[
        str, said("What is left out of the comparison, and what the whole table has instead of the sampled data.")
    ]


class StressLoad(Part, frozen=True, kw_only=True):
    name: str
    unit: str
    predicted: Number | None
    measured: Number | None
    error: Annotated[Number | None, said("(measured − predicted) ÷ predicted.")]
    agrees: Annotated[
        bool | None, said("Whether it is near enough; null: not judged (latencies rest on assumed times of service).")
    ]
    why: Annotated[str, said("Why nothing is predicted.")]


class StressBreak(Part, frozen=True, kw_only=True):
    cause: str
    resource: str
    factor: Annotated[Amount | None, said("Of the load of the worst minute.")]
    by: Annotated[
        Literal["attempts", "entities", None],
        said(
            "attempts: below and above are shares of attempts that were throttled. entities: shares of "
            "the entities asked for that were read, by clients that try until they get through."
        ),
    ]
    below: Annotated[Amount | None, said("At 0.9 of the factor.")]
    above: Annotated[Amount | None, said("At 1.1 of it.")]
    load: Annotated[
        Amount | None,
        said(
            "What the scripts ask for at the factor, over the target: 1 where they and the model agree. "
            "null: of a limit that is neither of a PartitionKey nor of the account."
        ),
    ]
    holds: Annotated[bool | None, said("null: not to be proved by a run.")]
    sentence: str


class StressWay(Part, frozen=True, kw_only=True):
    """What came of the first requests of the load in one way to run them."""

    requests: Count
    lost: Annotated[Count, said("Requests that were given up.")]
    lost_share: Share
    attempts: Count
    throttled_share: Annotated[Share, said("Of attempts.")]
    conflicts: Annotated[Count, said("Attempts answered 412.")]
    entities_read: Annotated[Count, said("Examined, with those of requests that were lost.")]
    latency_ms_p50: Amount | None
    latency_ms_p99: Amount | None
    ranges: Annotated[Count, said("Ranges of the table at the end of the run.")]


class StressAudit(Part, frozen=True, kw_only=True):
    rows: Annotated[Count, said("Loaded before.")]
    table_rows: Annotated[
        Count, said("All rows of the table. Where there are more than `rows`, whole PartitionKeys were left out.")
    ]
    load_share: Annotated[Share, said("Of the requests of the load: those that go to the loaded rows alone.")]
    requests: Count
    operations: Count
    entities_read: Count
    entities_written: Count
    engine: StressWay
    without_rows: Annotated[
        StressWay | None,
        said("The same requests where nothing is stored; null where their parameters were not written down."),
    ]
    violations: Annotated[Count, said("Answers that were not permissible.")]
    examples: Annotated[list[str], said("Violations in words; none where keys are hidden.")]


class StressPrediction(Part, frozen=True, kw_only=True):
    """What the model of costs said beforehand, compared with what was measured."""

    classes: list[Annotated[StressPredictionClass, said("Per request, on the sampled data.")]]
    load: list[StressLoad]
    breaks: list[Annotated[StressBreak, said("The break factor proved: quiet below it, throttled above.")]]
    audit: Annotated[
        StressAudit | None,
        said(
            "The first requests of the load on the embedded engine, with rows, targets, queues, ranges and retries: "
            "what every operation answered, and what came of it."
        ),
    ]


class StressLimit(Part, frozen=True, kw_only=True):
    factor: Annotated[
        Amount, said("The highest load that meets the goals, as a multiple of the load of the worst minute.")
    ]
    requests_per_s: Amount
    binds: Annotated[str, said("What stands in the way above it; empty: nothing was found.")]


class StressPartitionTest(Part, frozen=True, kw_only=True):
    partition_key: str
    offered_entities_per_s: Annotated[Amount, said("Counted as the target counts, mean.")]
    accepted_entities_per_s: Annotated[Amount, said("Entities read and written, mean.")]
    target_entities_per_s: Amount
    times_target: Amount
    throttled_share: Annotated[Share, said("Of attempts, those too late among them.")]
    passes: bool
    verdict: str
