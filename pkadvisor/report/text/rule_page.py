"""Rules and facts as pages: what a rule looks for and why, how it is fixed, how one of its findings is let pass."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pkadvisor.documents.part import part_of
from pkadvisor.documents.rules import (
    FactPage,
    FactsDocument,
    ListedLevel,
    RuleDocument,
    RuleLink,
    RulePage,
    RulesDocument,
)
from pkadvisor.limits import NAMES, Limits
from pkadvisor.numbers import amount
from pkadvisor.report.text.page import Page
from pkadvisor.review.facts import BY_NAME, FACTS, KNOWN, LIMIT
from pkadvisor.review.rules.evaluate import filled
from pkadvisor.review.rules.rule import OWN_WORDS, Rule, placeholders

_STYLES = {"error": "bad", "warning": "warn", "info": "dim"}
_NEEDS = {
    "design": "a design",
    "workload": "declared queries and writes",
    "data": "a profile or data",
    "diff": "a design to compare with",
    "stress": "a result of advisor stress",
}


def rule_page(rule: Rule, limits: Limits) -> RulePage:
    """The whole page of a rule."""
    return part_of(
        RulePage,
        rule,
        built_in=rule.builtin,
        levels=[
            ListedLevel(
                severity=str(level.severity),
                when=level.when.text.strip(),
                plainly="" if rule.builtin else plainly(level.when.text),
                message=" ".join(level.message.split()),
                fix=" ".join(level.fix.split()),
            )
            for level in rule.levels
        ],
        measured=rule.measured.text if rule.measured else None,
        limit=rule.limit.text if rule.limit else None,
        facts=[fact_page(name, limits) for name in rule.names()],
        why=paragraphs(rule.why),
        fix=" ".join(rule.fix.split()),
        links=[part_of(RuleLink, link) for link in rule.links],
    )


def fact_page(name: str, limits: Limits) -> FactPage:
    """What a fact, or a limit of the store, is."""
    if name.startswith(LIMIT):
        limit = limits.of(name.removeprefix(LIMIT))
        about = f"{limit.source}{f' ({limit.date})' if limit.date else ''}"
        scope, kind, unit, value, unknown = "limit", "number", limit.unit, limit.value, False
    elif name not in BY_NAME and name.endswith(KNOWN):
        about = f"Whether {name.removesuffix(KNOWN)} is known."
        scope, kind, unit, value, unknown = name.split(".")[0], "bool", "", None, False
    else:
        fact = BY_NAME[name]
        about = fact.about
        scope, kind, unit, value, unknown = name.split(".")[0], str(fact.type), fact.unit, None, fact.may_be_unknown
    return FactPage(name=name, scope=scope, type=kind, unit=unit, about=about, value=value, may_be_unknown=unknown)


def rules_document(rules: Sequence[Rule], limits: Limits) -> RulesDocument:
    """All rules with their pages."""
    pages = [rule_page(rule, limits) for rule in rules]
    return RulesDocument(schema_version="1.0", document="pkadvisor rules", rules=pages)


def rule_document(rule: Rule, limits: Limits) -> RuleDocument:
    """A rule with its page."""
    return RuleDocument(schema_version="1.0", document="pkadvisor rule", rule=rule_page(rule, limits))


def facts_document(limits: Limits) -> FactsDocument:
    """All facts that rules may name, and the limits."""
    names = [*(fact.name for fact in FACTS), *(f"{LIMIT}{name}" for name in NAMES)]
    facts = [fact_page(name, limits) for name in names]
    return FactsDocument(schema_version="1.0", document="pkadvisor facts", facts=facts)


def plainly(condition: str) -> str:
    """A condition in words; what stands in quotes stays as it is."""
    pieces = re.split(r"('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")", " ".join(condition.split()))
    return "".join(piece if number % 2 else _words(piece) for number, piece in enumerate(pieces)).strip()


def _words(text: str) -> str:
    for sign, word in (("&&", "and"), ("||", "or"), ("==", "is"), ("!=", "is not"), ("<=", "≤"), (">=", "≥")):
        text = text.replace(sign, word)
    text = re.sub(r"\blimit\.", "", text)
    text = re.sub(r"(?<![\w.])(\d+)\.0\b", r"\1", text)
    text = re.sub(r"!\s*(?=[\w(])", "not ", text)
    return re.sub(r"\bsize\(([\w.]+)\)", r"the number of \1", text)


def paragraphs(text: str) -> str:
    """Text whose single line ends are blanks; empty lines part its paragraphs."""
    return "\n\n".join(" ".join(part.split()) for part in re.split(r"\n\s*\n", text.strip()))


def render_rules(document: RulesDocument, *, width: int, color: bool, ascii_only: bool) -> str:
    """The rules as a table, or as blocks where the page is too narrow for one."""
    page = Page(width, color, ascii_only)
    rules = document.rules
    columns = {key: max((len(_cell(r, key)) for r in rules), default=0) for key in ("id", "name", "severity", "needs")}
    room = width - sum(columns.values()) - 2 * len(columns)
    for rule in rules:
        if room >= 24:
            head = "  ".join(f"{_cell(rule, key):<{size}}" for key, size in columns.items())
            page.record(head, rule.title, pad=len(head) + 1, indent="")
            continue
        page.line(f"{rule.id} {rule.name}  [{rule.severity}]", _STYLES[rule.severity])
        page.wrapped(rule.title)
        page.wrapped(f"needs: {_cell(rule, 'needs')}")
    page.line(f"{len(rules)} rule{'' if len(rules) == 1 else 's'}")
    return "\n".join(page.lines) + "\n"


def _cell(rule: RulePage, key: str) -> str:
    value = getattr(rule, key)
    return ", ".join(value) if isinstance(value, list) else str(value)


def render_rule(document: RuleDocument, *, width: int, color: bool, ascii_only: bool) -> str:
    """The page of one rule: why it matters, a bad and a good key, the fix; then when it fires and on what facts."""
    page, rule = Page(width, color, ascii_only), document.rule
    page.line(f"{rule.id} {rule.name}", "head")
    page.wrapped(rule.title, indent="")
    if rule.aliases:
        page.wrapped(f"earlier: {', '.join(rule.aliases)}", indent="")
    page.head("Why")
    for part in rule.why.split("\n\n"):
        page.wrapped(part)
    for label, keys in (("Bad", rule.bad), ("Good", rule.good)):
        if keys:
            page.head(label)
            for line in keys.splitlines():
                page.lines.append(f"    {page.exact(line)}".rstrip())
    page.head("Fix")
    page.wrapped(_example(rule.fix))
    page.head("When")
    for level in rule.levels:
        page.line(f"  {level.severity}", _STYLES[level.severity])
        if level.plainly:
            page.wrapped(" ".join(level.when.split()), indent="    ", hanging="      ")
            page.wrapped(f"says: {_example(level.message)}", indent="    ", hanging="      ")
            if level.fix != rule.fix:
                page.wrapped(f"fix: {_example(level.fix)}", indent="    ", hanging="      ")
    page.wrapped(
        f"needs: {', '.join(_NEEDS[need] for need in rule.needs)}; asked of every {rule.scope.replace('_', ' ')}"
    )
    if rule.unit:
        page.wrapped(f"measured in {rule.unit}" + ("; a baseline holds it to its number" if rule.ratchet else ""))
    page.head("To suppress a finding")
    for line in suppression(rule.id).splitlines():
        page.lines.append(f"    {page.exact(line)}")
    if rule.facts:
        page.head("Facts")
        for fact in rule.facts:
            _fact(page, fact)
    if rule.links:
        page.head("Links")
        for link in rule.links:
            page.wrapped(link.title)
            if link.url:
                page.lines.append(f"    {page.exact(link.url)}")
    page.line()
    page.lines.append(
        f"  next: advisor review design.yaml --select {page.exact(rule.id)}   # looks for it in your design"
    )
    return "\n".join(page.lines) + "\n"


def suppression(rule_id: str) -> str:
    """What to write in a design to let a finding of a rule pass."""
    return f'# pkadvisor: ignore[{rule_id}] reason="why this may pass" until=2027-03-31'


def _example(message: str) -> str:
    """A message with the names of what will stand in it."""
    words = {name: f"<{name}>" if name in OWN_WORDS else f"<{name.split('.')[-1]}>" for name in placeholders(message)}
    return filled(message, words)


def _fact(page: Page, fact: FactPage) -> None:
    unit = f" {fact.unit}" if fact.unit else ""
    if fact.value is not None:
        page.line(f"  {fact.name} = {amount(fact.value)}{unit}")
    else:
        kind = fact.unit or fact.type
        page.line(f"  {fact.name} ({kind}{', may be unknown' if fact.may_be_unknown else ''})")
    page.wrapped(fact.about, indent="    ")


def render_facts(document: FactsDocument, *, width: int, color: bool, ascii_only: bool) -> str:
    """All facts, by scope."""
    page = Page(width, color, ascii_only)
    scope = ""
    for fact in document.facts:
        if fact.scope != scope:
            if scope:
                page.line()
            scope = fact.scope
            page.line(scope, "head")
        _fact(page, fact)
    page.line()
    page.wrapped("A fact x.y that may be unknown has x.y_known (bool) beside it. Numbers are doubles: 1.0, not 1.", "")
    return "\n".join(page.lines) + "\n"


def lists(rules: Sequence[Rule]) -> tuple[str, ...]:
    """Every word by which a rule can be named."""
    return tuple(word for rule in rules for word in (rule.id, rule.name, *rule.aliases))
