"""Which rules are asked, and how severe a project takes what they find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pkadvisor.errors import UsageError, did_you_mean
from pkadvisor.review.rules.rule import Rule
from pkadvisor.review.views.findings import Severity


def words_of(given: Sequence[str]) -> tuple[str, ...]:
    """Rules as they are named on a command line: one by one, or with commas between them."""
    return tuple(word.strip() for text in given for word in text.split(",") if word.strip())


def chosen(rules: Sequence[Rule], select: Sequence[str], ignore: Sequence[str]) -> tuple[Rule, ...]:
    """The rules that a selection keeps: ids, names or beginnings of ids. UsageError for one that no rule has."""
    for option, words in (("--select", select), ("--ignore", ignore)):
        for word in words:
            if not any(_named(rule, word) for rule in rules):
                known = [w for rule in rules for w in (rule.id, rule.name)]
                fix = did_you_mean(word, known) or "'advisor rules list' names them"
                raise UsageError(f"there is no rule '{word}'", where=option, fix=fix)
    selected = [rule for rule in rules if not select or any(_named(rule, word) for word in select)]
    return tuple(rule for rule in selected if not any(_named(rule, word) for word in ignore))


def regraded(rules: Sequence[Rule], severity: Sequence[tuple[str, Severity]]) -> tuple[Rule, ...]:
    """The rules with the severities that a project gives them: every level of such a rule has that one."""
    given = {rule.id: wanted for word, wanted in severity for rule in rules if _is(rule, word)}
    return tuple(
        replace(rule, levels=tuple(replace(level, severity=given[rule.id]) for level in rule.levels))
        if rule.id in given
        else rule
        for rule in rules
    )


def _is(rule: Rule, word: str) -> bool:
    return word in (rule.name, *rule.aliases) or rule.id == word.upper()


def _named(rule: Rule, word: str) -> bool:
    return word in (rule.name, *rule.aliases) or rule.id.startswith(word.upper())
