"""The document of ``advisor analyze``."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from pkadvisor.documents.analysis_inputs import AnalysisAmountOrNone, AnalysisInput, AnalysisLog
from pkadvisor.documents.analysis_scheme import (
    AnalysisConstraint,
    AnalysisFirstBreak,
    AnalysisKeys,
    AnalysisTemplate,
    AnalysisViolation,
)
from pkadvisor.documents.analysis_table import CONDITIONS, AnalysisTable
from pkadvisor.documents.part import Amount, Count, Number, Part, Tool, said


class AnalysisArrangedTransaction(Part, frozen=True, kw_only=True):
    """``impossible_because``: What no key can make up for."""

    name: str
    required: bool
    kinds: list[str]
    writes: list[str]
    kept: bool
    impossible_because: str | None


class AnalysisShared(Part, frozen=True, kw_only=True):
    partition_key: AnalysisTemplate
    kinds: Annotated[list[str], Meta(min_length=2)]


class AnalysisArrangement(Part, frozen=True, kw_only=True):
    """``kept``: Transactions that are one group transaction each.
    ``hottest_partition_per_s``: Entities counted per second at the peak, kinds that share it added up.
    """

    kept: list[str]
    shared: list[AnalysisShared]
    schemes: list[AnalysisKeys]
    requests_per_s: Amount
    requests_per_s_peak: Amount
    entities_per_s: Amount
    hottest_partition_per_s: Amount
    violations: list[AnalysisViolation]


class AnalysisArrangedConflictRelaxed(Part, frozen=True, kw_only=True):
    dropped: AnalysisConstraint
    arrangement: AnalysisArrangement


class AnalysisArrangedConflict(Part, frozen=True, kw_only=True):
    constraints: Annotated[list[AnalysisConstraint], Meta(min_length=1)]
    relaxed: list[AnalysisArrangedConflictRelaxed]


class AnalysisArranged(Part, frozen=True, kw_only=True):
    table: str
    transactions: list[AnalysisArrangedTransaction]
    chosen: AnalysisArrangement
    rivals: list[AnalysisArrangement]
    conflicts: list[AnalysisArrangedConflict]


class AnalysisValue(Part, frozen=True, kw_only=True):
    """``basis``: Where the figure comes from, for example published or assumed.
    ``date``: The day on which the figure was last looked up.
    """

    name: str
    value: Number
    unit: str
    basis: str
    date: str
    source: str


class AnalysisLimit(Part, frozen=True, kw_only=True):
    store: str
    values: list[AnalysisValue]


class AnalysisSetting(Part, frozen=True, kw_only=True):
    """``command``: The command line, files without their folders."""

    command: str
    seed: Count


class AnalysisLoadShare(Part, frozen=True, kw_only=True):
    """``at_least``: A lower bound: there is no data of it."""

    name: str
    per_s: Amount
    at_least: bool
    growth_declared: bool


class AnalysisLoad(Part, frozen=True, kw_only=True):
    """``measured``: At the worst moment of all together.
    ``factor``: The limit by what is measured.
    ``at_horizon``: After the growth of each, declared or assumed.
    ``months``: Until the limit is passed at the declared growth of each; null beyond the horizon.
    ``saved_per_s``: What group transactions over several kinds save.
    """

    cause: str
    measured: Amount
    limit: Amount
    unit: Literal["requests/s", "entities/s"]
    factor: AnalysisAmountOrNone
    at_horizon: Amount
    months: AnalysisAmountOrNone
    saved_per_s: Amount
    shares: list[AnalysisLoadShare]


class AnalysisAccount(Part, frozen=True, kw_only=True):
    """``break_factor``: By how much all rates may grow until the first target is passed.
    ``loads``: Each target that several tables or kinds ask for, the one with the most load first.
    """

    break_factor: AnalysisAmountOrNone
    break_cause: str
    loads: list[AnalysisLoad]
    violations: list[AnalysisViolation]


Outcome = Literal["done", "constraint-unsatisfied", "not-enough"]


class AnalysisDocument(Part, frozen=True, kw_only=True):
    """The answer of advisor analyze. Numbers are rounded to six significant digits and carry their unit in their
    name, or beside them. A minor version adds members; a major version changes or removes some.

    ``outcome``: constraint-unsatisfied: for at least one table no key scheme holds every constraint; not-enough: what
    was given does not carry the advice for at least one table. The command exits with 1 for both.
    ``redacted``: Whether key values are replaced by tokens such as [key 1a2b3c4d], equal for equal values.
    ``inputs``: What was read: file names without folders.
    ``settings``: What was asked for.
    ``log``: What the logs say about the whole account; null without a log.
    ``arrangements``: Per table whose transactions write several kinds: which kinds share a PartitionKey, and why.
    ``account``: The account's targets against the sum of all tables and kinds; null where one alone asks for them.
    ``limits``: The store's limits that the advice rests on.
    """

    document: Literal["pkadvisor result"]
    schema_version: Literal["1.0"]
    tool: Tool
    outcome: Outcome
    redacted: bool
    inputs: AnalysisInput
    settings: AnalysisSetting | UnsetType | None = UNSET
    log: AnalysisLog | None
    tables: Annotated[
        list[Annotated[AnalysisTable, Meta(extra_json_schema=CONDITIONS)]],
        said("One entry per table, or per entity kind of a table."),
    ]
    arrangements: list[AnalysisArranged]
    account: AnalysisAccount | UnsetType | None = UNSET
    limits: AnalysisLimit


class AnalysisFigureHotPartition(Part, frozen=True, kw_only=True):
    partition_key: str
    entities_per_s_peak: Amount
    share: Amount


class AnalysisFigureTerm(Part, frozen=True, kw_only=True):
    name: str
    value: AnalysisAmountOrNone
    unit: str


class AnalysisFigureClass(Part, frozen=True, kw_only=True):
    name: str
    latency_ms_p99: Amount


class AnalysisFigures(Part, frozen=True, kw_only=True):
    """The figures of a scheme that every command tells, as the result of analyze has them."""

    hot_partition: AnalysisFigureHotPartition | None
    terms: list[AnalysisFigureTerm]
    break_cause: str
    first_break: AnalysisFirstBreak
    classes: list[AnalysisFigureClass]
    violations: list[AnalysisViolation]
