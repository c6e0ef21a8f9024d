"""The document of ``advisor score``."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from pkadvisor.documents.analysis import AnalysisAccount
from pkadvisor.documents.analysis_inputs import AnalysisGround, AnalysisShare
from pkadvisor.documents.analysis_scheme import AnalysisFullScheme
from pkadvisor.documents.part import Part, Tool


class ScoreClass(Part, frozen=True, kw_only=True):
    """``weight``: Its share of the rates."""

    name: str
    weight: AnalysisShare
    useful: AnalysisShare


class ScoreParts(Part, frozen=True, kw_only=True):
    """``useful``: Share of the counted entities that was asked for, by rate.
    ``reach``: How far the design reaches to its horizon; score = 100 × useful × reach.
    """

    useful: AnalysisShare
    reach: AnalysisShare
    classes: list[ScoreClass]


class ScoreScheme(Part, frozen=True, kw_only=True):
    """``label``: Where the keys come from: current (those of the design or of the data), or as given."""

    label: str
    scheme: AnalysisFullScheme
    score_parts: ScoreParts


class ScoreTable(Part, frozen=True, kw_only=True):
    """``grounds``: What the figures of the first scheme rest on."""

    table: str
    kind: str | None
    grounds: list[AnalysisGround]
    schemes: list[ScoreScheme]


class ScoreDocument(Part, frozen=True, kw_only=True):
    """What given keys are worth: the answer of advisor score.

    ``outcome``: constraint-unsatisfied: a scheme breaks a constraint (the command exits with 1).
    ``account``: The account's targets against the sum of the first scheme of each table; null where one alone asks for
    them.
    """

    document: Literal["pkadvisor score"]
    schema_version: Literal["1.0"]
    tool: Tool
    outcome: Literal["done", "constraint-unsatisfied"]
    redacted: bool
    design: str | None
    tables: list[ScoreTable]
    account: AnalysisAccount | UnsetType | None = UNSET
