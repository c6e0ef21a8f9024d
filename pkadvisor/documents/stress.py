"""The document of ``advisor stress``."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from pkadvisor.documents import stress_run
from pkadvisor.documents.analysis_scheme import AnalysisFullScheme, AnalysisViolation
from pkadvisor.documents.part import Amount, Count, Number, Part, Positive, Share, Tool, said


class StressResidual(Part, frozen=True, kw_only=True):
    class_: str = field(name="class")
    name: str
    unit: str
    predicted: Annotated[Number, said("By the model, of the same load as a new table.")]
    measured: Number
    residual: Annotated[Number | None, said("measured − predicted.")]


class StressKnee(Part, frozen=True, kw_only=True):
    name: Annotated[str, said("Of a limit.")]
    unit: str
    predicted: Annotated[Number | None, said("The limit that the model took.")]
    basis: Annotated[str, said("Of it.")]
    measured: Number | None
    low: Annotated[Number | None, said("Of the interval that holds it in 95 of 100 cases.")]
    high: Number | None
    count: Count
    of: Annotated[str, said("What was counted.")]


class StressLeftOut(Part, frozen=True, kw_only=True):
    name: str
    why: str


class StressCalibration(Part, frozen=True, kw_only=True):
    found: list[StressKnee]
    left_out: list[StressLeftOut]


class StressMeasuredAudit(Part, frozen=True, kw_only=True):
    operations: Count
    violations: Annotated[Count, said("Answers that were not permissible.")]
    examples: list[str]


class StressMeasured(Part, frozen=True, kw_only=True):
    """The load on a real endpoint (--target), in a table of its own."""

    host: str
    date: Annotated[str, said("Day of the run, UTC.")]
    table: Annotated[str, said("Its name there.")]
    rows: Annotated[Count, said("Loaded before.")]
    concurrency: Annotated[Positive, said("Requests under way, at most.")]
    complete: bool
    stopped: Annotated[str, said("Why it ended before its end; empty: it did not.")]
    why: Annotated[str, said("The same in the words of the endpoint.")]
    unanswered: Annotated[Count, said("Operations without an answer.")]
    late_share: Annotated[Share, said("Operations that the client sent more than 50 ms late.")]
    late_ms_max: Amount
    kept_up: Annotated[bool, said("Whether the client sent in time.")]
    run: stress_run.StressMeasuredRun
    residuals: list[StressResidual]
    calibration: Annotated[StressCalibration, said("Numbers of the model, measured there.")]
    removed: Annotated[bool, said("Whether the table is gone again.")]
    transactions: Annotated[Count, said("Sent in all.")]
    cost_usd: Annotated[Number | None, said("At the price of the limits.")]
    audit: StressMeasuredAudit


class StressDesign(Part, frozen=True, kw_only=True):
    label: Annotated[str, said("current, recommended, scheme N, or several of them with = between.")]
    scheme: AnalysisFullScheme
    refused: Annotated[
        list[AnalysisViolation],
        said(
            "The constraints for which 'advisor analyze' refuses these keys, alone, with the other kinds "
            "of their table, and on the account."
        ),
    ]
    untested: Annotated[
        str | None, said("What decides about these keys and is not part of the runs; null where nothing is missing.")
    ]
    runs: Annotated[
        list[stress_run.StressRun],
        Meta(min_length=1),
        said("Warmed up, cold start, and the closed loop if it was asked for."),
    ]
    prediction: stress_run.StressPrediction
    limit: Annotated[stress_run.StressLimit | None, said("Of --find-limit.")]
    partition_test: Annotated[
        stress_run.StressPartitionTest | None,
        said("One partition alone, on a table of one range, without retries, beside the target of a partition."),
    ]
    measured: Annotated[StressMeasured | None, said("null: no --target was given.")]


class StressTableGoalDesign(Part, frozen=True, kw_only=True):
    label: str
    measured: Annotated[Amount | None, said("Warmed up; null where nothing was served.")]
    met: bool
    decides: Annotated[bool, said("Whether the exit code depends on it.")]


class StressTableGoal(Part, frozen=True, kw_only=True):
    name: Literal["p50", "p99", "p99.9", "throttled", "lost"]
    query: Annotated[str | None, said("null: all requests.")]
    most: Amount
    unit: Literal["ms", "share"]
    designs: list[StressTableGoalDesign]


class StressVerdictDesign(Part, frozen=True, kw_only=True):
    label: str
    level: Annotated[
        Literal["bears", "bursts", "untested", "fails"], said("Warmed up; fails for whatever the analysis refuses.")
    ]
    measured_level: Annotated[
        Literal["bears", "bursts", "untested", "fails"],
        said("What this run says, whether the analysis refuses the keys or not."),
    ]
    new_table_level: Annotated[Literal["bears", "bursts", "untested", "fails"], said("From a cold start.")]
    sentence: str


class StressVerdict(Part, frozen=True, kw_only=True):
    sentences: list[str]
    style: Literal["good", "bad", "warn"]
    level: Annotated[
        Literal["bears", "bursts", "untested", "fails", None],
        said(
            "Of the recommended design, warmed up. bears: next to nothing is throttled. bursts: at most 1 % "
            "is, all of it retried in time. untested: the run leaves out what decides. fails: more, or "
            "requests are lost."
        ),
    ]
    bears: Annotated[
        bool | None,
        said(
            "Whether the recommended design, warmed up, sustains the load, with or without bursts; null where the"
            " run leaves out what decides."
        ),
    ]
    new_table_bears: Annotated[bool | None, said("The same as a new table.")]
    keep_current: Annotated[
        bool,
        said(
            "Whether the recommended design, warmed up, loses more requests than the current one, beyond "
            "chance and by more than 0.1 % of them: then the keys are not to be changed."
        ),
    ] = False
    failed_predictions: Annotated[Count, said("Predictions about the recommended design that did not come true.")]
    designs: Annotated[list[StressVerdictDesign], said("In the order of the designs.")]


class StressTable(Part, frozen=True, kw_only=True):
    """One table, or one kind of its entities."""

    table: str
    kind: str | None
    offered_requests_per_s: Annotated[Amount, said("Of the open load.")]
    classes: Annotated[list[Annotated[str, said("A query or a write.")]], said("What is sent.")]
    notes: Annotated[list[str], said("What of the workload the load leaves out or takes for granted.")]
    designs: Annotated[
        list[StressDesign],
        said(
            "The current keys first, the recommended ones last; one where they are the same, none before the first ran."
        ),
    ]
    goals: list[Annotated[StressTableGoal, said("A goal of --slo, or a p99 that the design file promises.")]]
    verdict: StressVerdict


class StressValue(Part, frozen=True, kw_only=True):
    name: str
    value: Number
    unit: str
    basis: Annotated[str, said("Where the figure comes from, for example published or assumed.")]


class StressLimits(Part, frozen=True, kw_only=True):
    store: str
    values: list[StressValue]


class StressFile(Part, frozen=True, kw_only=True):
    role: Literal["data", "log", "profile"]
    name: str
    bytes: Count
    xxh3: Annotated[str, said("XXH3-128 of the bytes, in hex.")]


class StressInput(Part, frozen=True, kw_only=True):
    design: str | None
    result: Annotated[str | None, said("The result whose schemes were run (--result).")]
    files: Annotated[
        list[StressFile],
        said(
            "Data, logs and profiles by content, so that a later run can tell whether it has the same. "
            "Standard input is left out."
        ),
    ]


class StressDocument(Part, frozen=True, kw_only=True):
    """What the load that is expected does to the current keys and to the recommended ones: the answer of advisor
    stress. Everything is counted or measured on a model of the service in virtual time, exactly and with the
    same figures for the same seed; what the model takes for granted (targets, times of service, when ranges
    split) is listed in limits, each with its basis. Rates are per second of virtual time. Definitions that are
    not here are those of the schema of result.
    """

    document: Literal["pkadvisor stress"]
    schema_version: Literal["1.0"]
    tool: Tool
    outcome: Annotated[
        Literal["done", "goal-missed", "keep-current", "refused", "incomplete"],
        said(
            "refused: of one table the analysis refuses the recommended design (the command exits with 1). "
            "keep-current: of one table the recommended design serves less than the current one (the command"
            " exits with 1). goal-missed: the recommended design misses a goal that was asked for (the "
            "command exits with 1). incomplete: the run was interrupted (130)."
        ),
    ]
    complete: Annotated[bool, said("false: interrupted; the figures are of the part that was run.")]
    not_run: Annotated[list[str], said("What an interrupt left out.")]
    redacted: Annotated[bool, said("Key values are tokens that are equal for equal values.")]
    inputs: Annotated[StressInput, said("What was read: file names without folders.")] = StressInput(
        design=None, result=None, files=[]
    )
    settings: Annotated[stress_run.StressSetting, said("What was asked for.")]
    tables: list[StressTable]
    limits: Annotated[StressLimits, said("What the model of the service rests on.")]


class StressPlanDesign(Part, frozen=True, kw_only=True):
    """What a run of one design on a real endpoint would send."""

    of: str
    label: str
    table: str
    rows: Count
    rows_bytes: Count
    load_transactions: Count
    requests: Count
    run_transactions: Count
    run_bytes: Count
    transactions: Count
    cost_usd: Amount


class StressPlan(Part, frozen=True, kw_only=True):
    """The answer of a dry run: what would be sent, and what it costs."""

    document: Literal["pkadvisor stress plan"]
    schema_version: Literal["1.0"]
    host: str
    concurrency: Count
    transactions_max: Count
    designs: list[StressPlanDesign]
    transactions: Count
    cost_usd: Amount
