"""Asking rules: each about every subject of its scope; the first level that holds makes a finding."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace

from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.keys.template import format_template
from pkadvisor.design.keys.transforms import Part
from pkadvisor.errors import UsageError, caret, did_you_mean
from pkadvisor.numbers import FACTOR_MOST
from pkadvisor.observe.design_file.declaration import IndexRowDeclaration
from pkadvisor.observe.design_file.declaration_yaml import PlacedText
from pkadvisor.review.facts import FactBook
from pkadvisor.review.facts.base import QUERY_NAMES
from pkadvisor.review.rules.rule import Need, Rule, RuleLevel, placeholders
from pkadvisor.review.views.expressions import Expression, ExpressionError, Value
from pkadvisor.review.views.findings import Finding, Severity, ShownFact, agreed
from pkadvisor.review.views.subjects import Scope, Subject, hole_of, subjects_of_design
from pkadvisor.review.views.views import DesignView, TableView
from pkadvisor.values import dataclass

IN_THE_SAMPLE = " (unique among {})"


class Proposals:
    """What is proposed for each table, found once. ``asked`` tells the severities of what rules find in one table."""

    def __init__(self, asked: Callable[[DesignView, TableView], Sequence[Severity]]) -> None:
        self.asked = asked
        self.found: dict[TableView, str] = {}

    def of(self, subject: Subject) -> str:
        """The keys that the adviser recommends instead of those in use; empty where it keeps them, cannot say, or the
        rules find an error in them or no less to warn of."""
        table = subject.table
        if table is None:
            return ""
        if table not in self.found:
            self.found[table] = self._of(table)
        return self.found[table]

    def _of(self, table: TableView) -> str:
        judged = table.judged
        if judged is None or judged.advice is None or judged.advice.keep or not judged.advice.recommended.feasible:
            return ""
        scheme = judged.advice.recommended.scheme
        trial = under(table, scheme)
        then = self.asked(trial.design, trial)
        if Severity.ERROR in then:
            return ""
        now = [s for s in self.asked(table.design, table) if s is not Severity.INFO]
        if len([s for s in then if s is not Severity.INFO]) >= len(now):
            return ""
        if table.population is None or not _rests_on_sample(table, scheme):
            return scheme.text
        shared = _shared_over_all_rows(table, scheme)
        if shared:
            return ""
        return scheme.text + (IN_THE_SAMPLE.format(table.population.looked_at) if shared is None else "")


def under(table: TableView, scheme: KeyScheme) -> TableView:
    """A table as it would be under other keys, in a copy of its design."""
    rows = tuple(
        IndexRowDeclaration(
            None if scheme.same_partition(row) else _placed(row.key.partition), _placed(row.key.row), row.copy
        )
        for row in scheme.index_rows
    )
    keys = {"partition_key": _placed(scheme.main.partition), "row_key": _placed(scheme.main.row), "index_rows": rows}
    made = copy(table.design)
    made.__dict__.pop("subjects", None)
    proposed = TableView(made, replace(table.section, declared=replace(table.declared, **keys)), table.dataset)
    # The data is the same: it is not read again, and no search is made.
    proposed.__dict__ |= {"_keys": (scheme, ""), "_prepared": table._prepared, "judged": None}
    made.tables = tuple(proposed if t is table else t for t in made.tables)
    return proposed


def _placed(parts: tuple[Part, ...]) -> PlacedText:
    return PlacedText(format_template(parts), 1, 1)


def _rests_on_sample(table: TableView, scheme: KeyScheme) -> bool:
    """Whether only the rows at hand say that keys without a property of today's keys tell all entities apart."""
    population, now = table.population, table.scheme
    if population is None or population.complete or now is None:
        return False
    return not set(now.main.properties) <= set(scheme.main.properties)


def _shared_over_all_rows(table: TableView, scheme: KeyScheme) -> int | None:
    """Entities whose proposed key another one has, over every row of the data; None where only a sample can be read."""
    from pkadvisor.design.choice.judge import collisions, readable

    data, dataset = table.section.data, table.dataset
    if data is None or not readable(data, dataset) or dataset is None:
        return None
    return collisions(dataset, scheme.main, data.types)


UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What became of a rule: subjects asked about, findings, subjects where a fact was missing, or why it was not
    asked at all."""

    rule: Rule
    subjects: int
    findings: tuple[Finding, ...]
    undecided: int
    missing: tuple[str, ...]
    """The facts that were not known."""
    skipped: str = ""

    @property
    def answered(self) -> bool:
        """Whether the rule was asked, and could be decided for any subject that there is."""
        return not self.skipped and (self.undecided < self.subjects or not self.subjects)


def evaluate(
    rules: Sequence[Rule], design: DesignView, *, compared: bool = False, proposing: bool = True
) -> tuple[Evaluation, ...]:
    """All rules over a design.

    ``compared`` says that there is a design before it, ``proposing`` whether other keys are searched for: seconds of
    work that the design before it does not need.
    """
    book, own = FactBook(design.limits), tuple(rule for rule in rules if not rule.builtin)
    proposals = Proposals(lambda design, table: _severities(own, design, table)) if proposing else None
    return tuple(_asked(rule, design, book, compared, proposals) for rule in own)


def _severities(rules: Sequence[Rule], design: DesignView, table: TableView) -> list[Severity]:
    """What rules find in one table, without a word of it; rules that compare two designs are not asked."""
    book = FactBook(design.limits)
    about = [s for s in subjects_of_design(design) if s.table is table]
    asked = ((rule, s) for rule in rules if Need.DIFF not in rule.needs for s in about if s.scope is rule.scope)
    levels = (_level(rule, subject, book) for rule, subject in asked)
    return [level.severity for level in levels if isinstance(level, RuleLevel)]


def _asked(rule: Rule, design: DesignView, book: FactBook, compared: bool, proposals: Proposals | None) -> Evaluation:
    if Need.DIFF in rule.needs and not compared:
        return Evaluation(rule, 0, (), 0, (), "needs a design to compare with (--against, --against-ref)")
    subjects = [s for s in subjects_of_design(design) if s.scope is rule.scope]
    if Need.DATA in rule.needs:
        able = [s for s in subjects if s.table is None or s.table.has_data]
        if subjects and not able:
            return Evaluation(rule, 0, (), 0, (), "needs a profile (--profile) or data (--data)")
        subjects = able
    if Need.STRESS in rule.needs:
        measured = [s for s in subjects if s.table is not None and s.table.stressed is not None]
        if subjects and not measured:
            return Evaluation(rule, 0, (), 0, (), "needs a stress result of these keys (--stress)")
        subjects = measured
    findings, missing, undecided = dict[tuple[str, str], Finding](), dict[str, None](), 0
    for subject in subjects:
        outcome = _level(rule, subject, book)
        if isinstance(outcome, RuleLevel):
            made = _finding(rule, outcome, subject, book, proposals)
            findings.setdefault((made.path, made.message), made)
        elif outcome:
            undecided += 1
            missing |= dict.fromkeys(outcome)
    return Evaluation(rule, len(subjects), tuple(findings.values()), undecided, tuple(missing))


def _level(rule: Rule, subject: Subject, book: FactBook) -> RuleLevel | tuple[str, ...]:
    """The level that holds, or the facts for want of which none could be decided."""
    missing: dict[str, None] = {}
    for level in rule.levels:
        values = book.values(level.when.names, subject)
        decided = _value(rule, level.when, values)
        if decided is True:
            return level
        if decided is None:
            missing |= dict.fromkeys(n for n in level.when.names if n not in values)
    return tuple(missing)


def _value(rule: Rule, expression: Expression, values: Mapping[str, Value]) -> bool | float | None:
    """The value of an expression; UsageError (2) with the rule where it takes too many steps."""
    try:
        return expression.value(values)
    except ExpressionError as error:
        shown = caret(" ".join(expression.text.split()), 0)
        fix = "take one macro where several stand in one another, or write two levels"
        raise UsageError(f"this {error}", where=rule.source, excerpt=shown, fix=fix) from None


def _times(measured: float | None, limit: float | None) -> str:
    """How many times a limit, as every command tells it."""
    if measured is None or not limit:
        return UNKNOWN
    return f"over {FACTOR_MOST:,}" if measured / limit > FACTOR_MOST else number_text(measured / limit, "")


def _finding(rule: Rule, level: RuleLevel, subject: Subject, book: FactBook, proposals: Proposals | None) -> Finding:
    values = book.values(rule.names(), subject)
    measured = _number(_value(rule, level.measured, values)) if level.measured else None
    limit = _number(_value(rule, level.limit, values)) if level.limit else None
    own = {
        "measured": number_text(measured, level.unit),
        "limit": number_text(limit, level.unit),
        "times": _times(measured, limit),
        "subject": subject.name,
        "table": subject.table.section.table if subject.table else "",
    }
    facts = tuple(s for n in rule.names() if (s := book.shown(n, subject)) is not None)
    shown_values = own | {s.name: shown_text(s) for s in facts}
    path = (*subject.path, *(rule.place.split(".") if rule.place else ()))
    path = path if subject.design.document.has(path) else subject.path
    section = subject.table.section if subject.table else None
    within = hole_of(subject.item) if subject.scope is Scope.PART and path == subject.path else None
    return Finding(
        rule=rule.id,
        name=rule.name,
        severity=level.severity,
        message=filled(level.message, shown_values),
        design=subject.design.name,
        table=section.table if section else "",
        kind=section.kind if section else None,
        scope=str(subject.scope),
        subject=subject.name,
        path=subject.logical,
        place=subject.design.place(path, within=within),
        measured=measured,
        limit=limit,
        unit=filled(level.unit, shown_values),
        facts=facts,
        fix=filled(level.fix, shown_values),
        proposal=proposals.of(subject) if rule.proposes and proposals is not None else "",
        document_path=path,
        pointed=subject.design.document.logical(path),
    )


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def number_text(value: float | None, unit: str) -> str:
    """A number in a sentence: thousands apart, three digits, shares as they are; ``unknown`` without one."""
    if value is None:
        return UNKNOWN
    if unit == "share":
        percent = 100 * value
        return f"{percent:,.0f} %" if abs(percent) >= 1000 else f"{percent:.3g} %"
    if value == int(value) and abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def shown_text(shown: ShownFact) -> str:
    """The value of a fact in a sentence."""
    if isinstance(shown.value, bool):
        return "yes" if shown.value else "no"
    if isinstance(shown.value, tuple):
        return ", ".join(f"'{name}'" if shown.unit == QUERY_NAMES else name for name in shown.value)
    return shown.value if isinstance(shown.value, str) else number_text(float(shown.value), shown.unit)


def filled(text: str, values: dict[str, str]) -> str:
    """A message with its holes filled. What is not known says so; a piece in ``[brackets]`` is left out instead."""

    def piece(match: re.Match[str]) -> str:
        return match[1] if all(name in values and values[name] != UNKNOWN for name in placeholders(match[1])) else ""

    def hole(match: re.Match[str]) -> str:
        return match[0][0] if match[0] in ("{{", "}}") else values.get(match[1], UNKNOWN)

    complete = re.sub(r"\[([^\[\]]*)\]", piece, " ".join(text.split()))
    return agreed(re.sub(r"\{\{|\}\}|\{([A-Za-z_][\w.]*)\}", hole, complete))


# -- Which rules are asked, and how severe a project takes what they find.


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
