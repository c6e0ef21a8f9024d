"""The document of ``advisor stress``."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from pkadvisor.documents import stress_run
from pkadvisor.documents.analysis_inputs import AnalysisFile
from pkadvisor.documents.analysis_scheme import AnalysisFullScheme, AnalysisViolation
from pkadvisor.documents.part import Amount, Count, Number, Part, Positive, Share, Tool, said


class StressResidual(Part, frozen=True, kw_only=True):
    """``predicted``: By the model, of the same load as a new table.
    ``residual``: measured − predicted.
    """

    class_: str = field(name="class")
    name: str
    unit: str
    predicted: Number
    measured: Number
    residual: Number | None


class StressKnee(Part, frozen=True, kw_only=True):
    """``name``: Of a limit.
    ``predicted``: The limit that the model took.
    ``basis``: Of it.
    ``low``: Of the interval that holds it in 95 of 100 cases.
    ``of``: What was counted.
    """

    name: str
    unit: str
    predicted: Number | None
    basis: str
    measured: Number | None
    low: Number | None
    high: Number | None
    count: Count
    of: str


class StressLeftOut(Part, frozen=True, kw_only=True):
    name: str
    why: str


class StressCalibration(Part, frozen=True, kw_only=True):
    found: list[StressKnee]
    left_out: list[StressLeftOut]


class StressMeasuredAudit(Part, frozen=True, kw_only=True):
    """``violations``: Answers that were not permissible."""

    operations: Count
    violations: Count
    examples: list[str]


class StressMeasured(Part, frozen=True, kw_only=True):
    """The load on a real endpoint (--target), in a table of its own.

    ``date``: Day of the run, UTC.
    ``table``: Its name there.
    ``rows``: Loaded before.
    ``concurrency``: Requests under way, at most.
    ``stopped``: Why it ended before its end; empty: it did not.
    ``why``: The same in the words of the endpoint.
    ``unanswered``: Operations without an answer.
    ``late_share``: Operations that the client sent more than 50 ms late.
    ``kept_up``: Whether the client sent in time.
    ``calibration``: Numbers of the model, measured there.
    ``removed``: Whether the table is gone again.
    ``transactions``: Sent in all.
    ``cost_usd``: At the price of the limits.
    """

    host: str
    date: str
    table: str
    rows: Count
    concurrency: Positive
    complete: bool
    stopped: str
    why: str
    unanswered: Count
    late_share: Share
    late_ms_max: Amount
    kept_up: bool
    run: stress_run.StressMeasuredRun
    residuals: list[StressResidual]
    calibration: StressCalibration
    removed: bool
    transactions: Count
    cost_usd: Number | None
    audit: StressMeasuredAudit


class StressDesign(Part, frozen=True, kw_only=True):
    """``label``: current, recommended, scheme N, or several of them with = between.
    ``refused``: The constraints for which 'advisor analyze' refuses these keys, alone, with the other kinds of their
    table, and on the account.
    ``untested``: What decides about these keys and is not part of the runs; null where nothing is missing.
    ``runs``: Warmed up, cold start, and the closed loop if it was asked for.
    ``limit``: Of --find-limit.
    ``partition_test``: One partition alone, on a table of one range, without retries, beside the target of a partition.
    ``measured``: null: no --target was given.
    """

    label: str
    scheme: AnalysisFullScheme
    refused: list[AnalysisViolation]
    untested: str | None
    runs: Annotated[list[stress_run.StressRun], Meta(min_length=1)]
    prediction: stress_run.StressPrediction
    limit: stress_run.StressLimit | None
    partition_test: stress_run.StressPartitionTest | None
    measured: StressMeasured | None


class StressTableGoalDesign(Part, frozen=True, kw_only=True):
    """``measured``: Warmed up; null where nothing was served.
    ``decides``: Whether the exit code depends on it.
    """

    label: str
    measured: Amount | None
    met: bool
    decides: bool


class StressTableGoal(Part, frozen=True, kw_only=True):
    """``query``: null: all requests."""

    name: Literal["p50", "p99", "p99.9", "throttled", "lost"]
    query: str | None
    most: Amount
    unit: Literal["ms", "share"]
    designs: list[StressTableGoalDesign]


class StressVerdictDesign(Part, frozen=True, kw_only=True):
    """``level``: Warmed up; fails for whatever the analysis refuses.
    ``measured_level``: What this run says, whether the analysis refuses the keys or not.
    ``new_table_level``: From a cold start.
    """

    label: str
    level: Literal["bears", "bursts", "untested", "fails"]
    measured_level: Literal["bears", "bursts", "untested", "fails"]
    new_table_level: Literal["bears", "bursts", "untested", "fails"]
    sentence: str


class StressVerdict(Part, frozen=True, kw_only=True):
    """``level``: Of the recommended design, warmed up. bears: next to nothing is throttled. bursts: at most 1 % is, all
    of it retried in time. untested: the run leaves out what decides. fails: more, or requests are lost.
    ``bears``: Whether the recommended design, warmed up, sustains the load, with or without bursts; null where the run
    leaves out what decides.
    ``new_table_bears``: The same as a new table.
    ``keep_current``: Whether the recommended design, warmed up, loses more requests than the current one, beyond chance
    and by more than 0.1 % of them: then the keys are not to be changed.
    ``failed_predictions``: Predictions about the recommended design that did not come true.
    ``designs``: In the order of the designs.
    """

    sentences: list[str]
    style: Literal["good", "bad", "warn"]
    level: Literal["bears", "bursts", "untested", "fails", None]
    bears: bool | None
    new_table_bears: bool | None
    keep_current: bool = False
    failed_predictions: Count
    designs: list[StressVerdictDesign]


class StressTable(Part, frozen=True, kw_only=True):
    """One table, or one kind of its entities.

    ``offered_requests_per_s``: Of the open load.
    ``classes``: What is sent.
    ``notes``: What of the workload the load leaves out or takes for granted.
    ``designs``: The current keys first, the recommended ones last; one where they are the same, none before the first
    ran.
    """

    table: str
    kind: str | None
    offered_requests_per_s: Amount
    classes: list[Annotated[str, said("A query or a write.")]]
    notes: list[str]
    designs: list[StressDesign]
    goals: list[Annotated[StressTableGoal, said("A goal of --slo, or a p99 that the design file promises.")]]
    verdict: StressVerdict


class StressValue(Part, frozen=True, kw_only=True):
    """``basis``: Where the figure comes from, for example published or assumed."""

    name: str
    value: Number
    unit: str
    basis: str


class StressLimits(Part, frozen=True, kw_only=True):
    store: str
    values: list[StressValue]


class StressFile(AnalysisFile, frozen=True, kw_only=True):
    """``xxh3``: XXH3-128 of the bytes, in hex."""


class StressInput(Part, frozen=True, kw_only=True):
    """``result``: The result whose schemes were run (--result).
    ``files``: Data, logs and profiles by content, so that a later run can tell whether it has the same. Standard input
    is left out.
    """

    design: str | None
    result: str | None
    files: list[StressFile]


class StressDocument(Part, frozen=True, kw_only=True):
    """What the load that is expected does to the current keys and to the recommended ones: the answer of advisor
    stress. Everything is counted or measured on a model of the service in virtual time, exactly and with the
    same figures for the same seed; what the model takes for granted (targets, times of service, when ranges
    split) is listed in limits, each with its basis. Rates are per second of virtual time. Definitions that are
    not here are those of the schema of result.

    ``outcome``: refused: of one table the analysis refuses the recommended design (the command exits with 1).
    keep-current: of one table the recommended design serves less than the current one (the command exits with 1).
    goal-missed: the recommended design misses a goal that was asked for (the command exits with 1). incomplete: the run
    was interrupted (130).
    ``complete``: false: interrupted; the figures are of the part that was run.
    ``not_run``: What an interrupt left out.
    ``redacted``: Key values are tokens that are equal for equal values.
    ``inputs``: What was read: file names without folders.
    ``settings``: What was asked for.
    ``limits``: What the model of the service rests on.
    """

    document: Literal["pkadvisor stress"]
    schema_version: Literal["1.0"]
    tool: Tool
    outcome: Literal["done", "goal-missed", "keep-current", "refused", "incomplete"]
    complete: bool
    not_run: list[str]
    redacted: bool
    inputs: StressInput = StressInput(design=None, result=None, files=[])
    settings: stress_run.StressSetting
    tables: list[StressTable]
    limits: StressLimits


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
