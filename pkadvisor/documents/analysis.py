"""The document of ``advisor analyze``."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from pkadvisor.documents.analysis_inputs import AnalysisAmountOrNone, AnalysisInput, AnalysisLog
from pkadvisor.documents.analysis_scheme import AnalysisFirstBreak, AnalysisTemplate, AnalysisViolation
from pkadvisor.documents.analysis_table import CONDITIONS, AnalysisConstraint, AnalysisKeys, AnalysisTable
from pkadvisor.documents.part import Amount, Count, Number, Part, Tool, said


class AnalysisArrangedTransaction(Part, frozen=True, kw_only=True):
    name: str
    required: bool
    kinds: list[str]
    writes: list[str]
    kept: bool
    impossible_because: Annotated[str | None, said("What no key can make up for.")]


class AnalysisShared(Part, frozen=True, kw_only=True):
    partition_key: AnalysisTemplate
    kinds: Annotated[list[str], Meta(min_length=2)]


class AnalysisArrangement(Part, frozen=True, kw_only=True):
    kept: Annotated[list[str], said("Transactions that are one group transaction each.")]
    shared: list[AnalysisShared]
    schemes: list[AnalysisKeys]
    requests_per_s: Amount
    requests_per_s_peak: Amount
    entities_per_s: Amount
    hottest_partition_per_s: Annotated[
        Amount, said("Entities counted per second at the peak, kinds that share it added up.")
    ]
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
    name: str
    value: Number
    unit: str
    basis: Annotated[str, said("Where the figure comes from, for example published or assumed.")]
    date: Annotated[str, said("The day on which the figure was last looked up.")]
    source: str


class AnalysisLimit(Part, frozen=True, kw_only=True):
    store: str
    values: list[AnalysisValue]


class AnalysisSetting(Part, frozen=True, kw_only=True):
    command: Annotated[str, said("The command line, files without their folders.")]
    seed: Count


class AnalysisLoadShare(Part, frozen=True, kw_only=True):
    name: str
    per_s: Amount
    at_least: Annotated[bool, said("A lower bound: there is no data of it.")]
    growth_declared: bool


class AnalysisLoad(Part, frozen=True, kw_only=True):
    cause: str
    measured: Annotated[Amount, said("At the worst moment of all together.")]
    limit: Amount
    unit: Literal["requests/s", "entities/s"]
    factor: Annotated[AnalysisAmountOrNone, said("The limit by what is measured.")]
    at_horizon: Annotated[Amount, said("After the growth of each, declared or assumed.")]
    months: Annotated[
        AnalysisAmountOrNone, said("Until the limit is passed at the declared growth of each; null beyond the horizon.")
    ]
    saved_per_s: Annotated[Amount, said("What group transactions over several kinds save.")]
    shares: list[AnalysisLoadShare]


class AnalysisAccount(Part, frozen=True, kw_only=True):
    break_factor: Annotated[
        AnalysisAmountOrNone, said("By how much all rates may grow until the first target is passed.")
    ]
    break_cause: str
    loads: Annotated[
        list[AnalysisLoad], said("Each target that several tables or kinds ask for, the one with the most load first.")
    ]
    violations: list[AnalysisViolation]


Outcome = Literal["done", "constraint-unsatisfied", "not-enough"]


class AnalysisDocument(Part, frozen=True, kw_only=True):
    """The answer of advisor analyze. Numbers are rounded to six significant digits and carry their unit in their
    name, or beside them. A minor version adds members; a major version changes or removes some.
    """

    document: Literal["pkadvisor result"]
    schema_version: Literal["1.0"]
    tool: Tool
    outcome: Annotated[
        Outcome,
        said(
            "constraint-unsatisfied: for at least one table no key scheme holds every constraint; not-"
            "enough: what was given does not carry the advice for at least one table. The command exits "
            "with 1 for both."
        ),
    ]
    redacted: Annotated[
        bool, said("Whether key values are replaced by tokens such as [key 1a2b3c4d], equal for equal values.")
    ]
    inputs: Annotated[AnalysisInput, said("What was read: file names without folders.")]
    settings: Annotated[AnalysisSetting | UnsetType | None, said("What was asked for.")] = UNSET
    log: Annotated[AnalysisLog | None, said("What the logs say about the whole account; null without a log.")]
    tables: Annotated[
        list[Annotated[AnalysisTable, Meta(extra_json_schema=CONDITIONS)]],
        said("One entry per table, or per entity kind of a table."),
    ]
    arrangements: Annotated[
        list[AnalysisArranged],
        said("Per table whose transactions write several kinds: which kinds share a PartitionKey, and why."),
    ]
    account: Annotated[
        AnalysisAccount | UnsetType | None,
        said("The account's targets against the sum of all tables and kinds; null where one alone asks for them."),
    ] = UNSET
    limits: Annotated[AnalysisLimit, said("The store's limits that the advice rests on.")]


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
