"""``advisor rules``: the catalogue of rules, their pages, and the facts that they are written over."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pkadvisor.cli.configuration import settings_for
from pkadvisor.cli.console import redact_result, show_page, write_bytes
from pkadvisor.cli.settings import Settings
from pkadvisor.cli.shared import Format, Shared, argument, option, rule_words, say_next, unfold
from pkadvisor.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from pkadvisor.documents.part import Part
    from pkadvisor.review.rules.rule import Rule

RULES = option("A folder of rules of your own as well. Repeatable.", metavar="DIR")
LIMITS = option("Limits over the bundled ones.", metavar="FILE", env=True)


@unfold
def list_rules(
    *,
    select: list[str] | None = option(
        "List only these rules: ids, names or prefixes.", metavar="RULE", autocompletion=rule_words
    ),
    rules: list[str] | None = RULES,
    shared: Shared,
) -> None:
    """List the rules of 'advisor review'; as JSON with their whole pages.

    Examples:
        advisor rules list
        advisor rules list --select PK3 --format json
    """
    from pkadvisor.report.text.rule_page import render_rules, rules_document
    from pkadvisor.review.rules.evaluate import chosen, words_of

    settings = settings_for(shared)
    selected = chosen(_loaded(rules, settings), words_of(select or ()), ())
    _show(rules_document(selected, _limits(settings, None)), render_rules, shared)
    if selected:
        say_next(f"advisor rules explain {selected[0].id}", shared)


@unfold
def explain_rule(
    rule: str = argument("An id such as PK201, or a name.", "RULE", autocompletion=rule_words),
    *,
    rules: list[str] | None = RULES,
    limits: list[str] | None = LIMITS,
    shared: Shared,
) -> None:
    """Explain a rule: when it speaks, why, a bad and a good example, the fix, and how to let a finding pass.

    Examples:
        advisor rules explain PK201
        advisor rules explain query-scans-table --format json
    """
    show_rule(rule, rules, limits, shared)


@unfold
def facts(*, limits: list[str] | None = LIMITS, shared: Shared) -> None:
    """Name the facts and limits that the conditions of rules are written over.

    Examples:
        advisor rules facts
        advisor rules facts --format json
    """
    from pkadvisor.report.text.rule_page import facts_document, render_facts

    _show(facts_document(_limits(settings_for(shared), limits)), render_facts, shared)
    say_next("advisor config schema --of rule describes the file of a rule", shared)


def show_rule(word: str, folders: list[str] | None, limits: list[str] | None, shared: Shared) -> None:
    """The page of one rule; UsageError for none."""
    from pkadvisor.report.text.rule_page import lists, render_rule, rule_document

    settings = settings_for(shared)
    known = _loaded(folders, settings)
    rule = next((r for r in known if r.id == word.upper() or word.lower() in (r.name, *r.aliases)), None)
    rule = rule or next((r for r in known if word.upper() in r.aliases), None)
    if rule is None:
        group = len(word) > 2 and any(r.id.startswith(word.upper()) for r in known)
        if group:
            fix = f"{word.upper()} is a group: advisor rules list --select {word.upper()}"
            raise UsageError(f"'{word}' is not one rule", where="RULE", fix=fix)
        near = did_you_mean(word.upper(), [r.id for r in known]) or did_you_mean(word.lower(), lists(known))
        raise UsageError(f"there is no rule '{word}'", where="RULE", fix=near or "'advisor rules list' names them all")
    _show(rule_document(rule, _limits(settings, limits)), render_rule, shared)


def _loaded(folders: list[str] | None, settings: Settings) -> tuple[Rule, ...]:
    from pkadvisor.review.rules.rule import load_rules

    return load_rules(tuple(folders or settings.rules), cases=False)


def _limits(settings: Settings, given: list[str] | None) -> Any:
    from pkadvisor.limits import load_limits

    return load_limits(*settings.limits, *(given or ()))


def _show(document: Part, render: Callable[..., str], shared: Shared) -> None:
    if shared.format is Format.json:
        from msgspec import to_builtins

        text = json.dumps(to_builtins(document), indent=2, ensure_ascii=False) + "\n"
        write_bytes(redact_result(text).encode("utf-8", "backslashreplace"))
        return
    show_page(document, render, shared.color)
