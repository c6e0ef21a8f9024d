"""The document of ``advisor score``."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from pkadvisor.documents.analysis import AnalysisAccount
from pkadvisor.documents.analysis_inputs import AnalysisGround, AnalysisShare
from pkadvisor.documents.analysis_scheme import AnalysisFullScheme
from pkadvisor.documents.part import Part, Tool, said


class ScoreClass(Part, frozen=True, kw_only=True):
    name: str
    weight: Annotated[AnalysisShare, said("Its share of the rates.")]
    useful: AnalysisShare


class ScoreParts(Part, frozen=True, kw_only=True):
    useful: Annotated[AnalysisShare, said("Share of the counted entities that was asked for, by rate.")]
    reach: Annotated[AnalysisShare, said("How far the design reaches to its horizon; score = 100 × useful × reach.")]
    classes: list[ScoreClass]


class ScoreScheme(Part, frozen=True, kw_only=True):
    label: Annotated[str, said("Where the keys come from: current (those of the design or of the data), or as given.")]
    scheme: AnalysisFullScheme
    score_parts: ScoreParts


class ScoreTable(Part, frozen=True, kw_only=True):
    table: str
    kind: str | None
    grounds: Annotated[list[AnalysisGround], said("What the figures of the first scheme rest on.")]
    schemes: list[ScoreScheme]


class ScoreDocument(Part, frozen=True, kw_only=True):
    """What given keys are worth: the answer of advisor score."""

    document: Literal["pkadvisor score"]
    schema_version: Literal["1.0"]
    tool: Tool
    outcome: Annotated[
        Literal["done", "constraint-unsatisfied"],
        said("constraint-unsatisfied: a scheme breaks a constraint (the command exits with 1)."),
    ]
    redacted: bool
    design: str | None
    tables: list[ScoreTable]
    account: Annotated[
        AnalysisAccount | UnsetType | None,
        said(
            "The account's targets against the sum of the first scheme of each table; null where one "
            "alone asks for them."
        ),
    ] = UNSET
