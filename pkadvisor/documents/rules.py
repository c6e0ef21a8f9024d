"""The documents of ``advisor rules``: rules and facts."""

from __future__ import annotations

from typing import Literal

from pkadvisor.documents.part import Part


class FactPage(Part, frozen=True, kw_only=True):
    """What a fact, or a limit of the store, is; ``value`` of a limit."""

    name: str
    scope: str
    type: str
    unit: str
    about: str
    value: float | int | None
    may_be_unknown: bool


class ListedLevel(Part, frozen=True, kw_only=True):
    """When a rule fires at a severity, and what it says."""

    severity: str
    when: str
    plainly: str
    message: str
    fix: str


class RuleLink(Part, frozen=True, kw_only=True):
    title: str
    url: str


class RulePage(Part, frozen=True, kw_only=True):
    """All that there is to say of a rule."""

    id: str
    name: str
    aliases: list[str]
    title: str
    severity: str
    precision: str
    scope: str
    needs: list[str]
    tags: list[str]
    built_in: bool
    levels: list[ListedLevel]
    measured: str | None
    limit: str | None
    unit: str
    ratchet: bool
    facts: list[FactPage]
    why: str
    bad: str
    good: str
    fix: str
    links: list[RuleLink]


class RuleDocument(Part, frozen=True, kw_only=True):
    schema_version: Literal["1.0"]
    document: Literal["pkadvisor rule"]
    rule: RulePage


class RulesDocument(Part, frozen=True, kw_only=True):
    schema_version: Literal["1.0"]
    document: Literal["pkadvisor rules"]
    rules: list[RulePage]


class FactsDocument(Part, frozen=True, kw_only=True):
    schema_version: Literal["1.0"]
    document: Literal["pkadvisor facts"]
    facts: list[FactPage]
