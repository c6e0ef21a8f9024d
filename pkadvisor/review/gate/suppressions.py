"""Suppressions: findings that somebody lets pass, with a reason, until a date, in the design file or beside it.

    partition_key: "{day}"   # pkadvisor: ignore[PK101, PK502] reason="3 inserts/s" until=2027-03-31

At the end of a line it is about the mapping entry or list item that starts there, with everything below it; alone on a
line, about the entry below. Rules are named, and a reason is given: there is no form that lets everything pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from fnmatch import fnmatchcase

from pkadvisor.errors import UsageError, did_you_mean
from pkadvisor.observe.design_file.declaration_comments import Comment, comments
from pkadvisor.observe.design_file.declaration_yaml import Document, Path_
from pkadvisor.review.rules.builtin import EXPIRED, MALFORMED, NEVER_SUPPRESSED, UNUSED, builtin_finding
from pkadvisor.review.rules.evaluate import Evaluation
from pkadvisor.review.rules.rule import Rule
from pkadvisor.review.views.findings import FilePlace, Finding, Suppression
from pkadvisor.review.views.views import DesignView
from pkadvisor.values import dataclass


@dataclass(frozen=True, slots=True)
class ConfiguredSuppression:
    """A suppression of the configuration (``[[review.suppress]]``), for files that cannot be annotated.

    ``rule`` is an id or a name; ``path`` a glob of design files (empty: all); ``target`` a logical path or glob, which
    covers everything below it too (empty: the whole design): that of the subject of a finding, or of the value that it
    points at; ``until`` the last day (ISO) or empty; ``where`` names
    the place that it is written at, such as ``pkadvisor.toml:12``.
    """

    rule: str
    reason: str
    path: str = ""
    target: str = ""
    until: str = ""
    where: str = "pkadvisor.toml"


@dataclass(frozen=True, slots=True)
class Directive:
    """A comment that suppresses, or that tries to: then ``wrong`` says what is wrong with it, ``fix`` what to do.

    ``line``, ``column`` and ``end_column`` count from 1; ``path`` is the entry that it is about.
    """

    line: int
    column: int
    end_column: int
    path: Path_
    text: str
    rules: tuple[str, ...] = ()
    reason: str = ""
    until: str = ""
    wrong: str = ""
    fix: str = ""


WRONG_MOST = 100
"""Comments that do not read, after which the rest of a file is not looked at."""
MENTION = r"#\s*pk[-_ ]?advis[eo]r\s*(?:[:=\[(-]|(?:ignore|disable|suppress|skip|allow|noqa)\b)"
"""What a comment that means to suppress begins with, misspelt or not."""
FORM = '# pkadvisor: ignore[PK101] reason="why this is fine"'
_MENTION = re.compile(r"(?:(?<=\s)|^)" + MENTION, re.IGNORECASE)
_HEAD = re.compile(r"#\s*pkadvisor\s*:\s*")
_RULES = re.compile(r"ignore\s*\[([^\]]*)\]")
_NAMED = re.compile(r"[A-Za-z]+[0-9][0-9A-Za-z]*|[a-z]+(?:-[a-z]+)+")
"""What looks like an id or a name of a rule."""
_WORD = re.compile(r"\s+([A-Za-z_-]+)\s*=\s*")
_VALUE = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|([^\s\"'#]+)")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_KEYS = ("reason", "until")


class MalformedError(ValueError):
    def __init__(self, what: str, fix: str = f"write {FORM}") -> None:
        super().__init__(what)
        self.fix = fix


def directives(document: Document, rules: Sequence[Rule]) -> tuple[Directive, ...]:
    """All suppressions in the comments of a design file; ``rules`` are those that there are, asked or not."""
    parsed, wrong = list[Directive](), 0
    for comment in comments(document, MENTION):
        made = tuple(_of_comment(comment, rules))
        parsed += made
        wrong += sum(bool(d.wrong) for d in made)
        if wrong >= WRONG_MOST:
            break
    return tuple(parsed)


def _of_comment(comment: Comment, rules: Sequence[Rule]) -> Iterator[Directive]:
    """One or several, each behind a ``#`` of its own."""
    text, at = comment.text.rstrip(), 0
    while (start := _MENTION.search(text, at)) is not None:
        begin, column = start.start(), comment.column + start.start()
        blank = Directive(comment.line, column, comment.column + len(text), comment.path or (), text[begin:])
        try:
            if comment.path is None:
                raise MalformedError("the comment belongs to no entry of the design", "put it at the end of the line")
            made, at = _parsed(text, begin, rules, blank)
        except MalformedError as error:
            yield replace(blank, wrong=str(error), fix=error.fix)
            return
        yield made


def _parsed(text: str, begin: int, rules: Sequence[Rule], blank: Directive) -> tuple[Directive, int]:
    head = _HEAD.match(text, begin)
    if head is None:
        raise MalformedError("a suppression begins with 'pkadvisor:'")
    named = _RULES.match(text, head.end())
    if named is None:
        rest = text[head.end() :]
        if _NAMED.search(rest):
            raise MalformedError(f"the form is {FORM.removeprefix('# pkadvisor: ')}", f"write {_formed(rest, rules)}")
        raise MalformedError("it names no rule: there is no form that lets every rule pass")
    rule_ids = tuple(dict.fromkeys(_rule(word.strip(), rules) for word in named[1].split(",")))
    at, values = named.end(), dict[str, str]()
    while (word := _WORD.match(text, at)) is not None:
        key, value = word[1], _VALUE.match(text, word.end())
        if key not in _KEYS:
            raise MalformedError(f"unknown key '{key}'", did_you_mean(key, _KEYS) or "there are reason and until")
        if key in values:
            raise MalformedError(f"{key} appears twice", "keep one of them")
        if value is None or (key == "reason" and value[3] is not None):
            raise MalformedError(f"{key} has no value in quotes" if key == "reason" else f"{key} has no value")
        values[key] = re.sub(r"\\(.)", r"\1", value[1]) if value[1] is not None else value[2] or value[3] or ""
        at = value.end()
    rest = text[at:].strip()
    if rest and not (rest.startswith("#") and text[at].isspace()):
        raise MalformedError(f"'{rest[:40]}' does not belong there")
    if not values.get("reason", "").strip():
        raise MalformedError("it has no reason", f'add reason="…" behind ignore[{", ".join(rule_ids)}]')
    until = values.get("until", "")
    if "until" in values and not is_day(until):
        raise MalformedError(f"'{until[:40]}' is not a date", "write until=YYYY-MM-DD")
    made = replace(blank, rules=rule_ids, reason=values["reason"].strip(), until=until, text=text[begin:at])
    return replace(made, end_column=blank.column + at - begin), at


def _formed(text: str, rules: Sequence[Rule]) -> str:
    """A suppression as it should be, with the rules that a misspelt one names."""
    known = {w for rule in rules for w in (rule.id, rule.name, *rule.aliases)}
    before = re.split(r"\breason\b|[\"']", text)[0]
    named = [word for word in _NAMED.findall(before) if word in known]
    return FORM.replace("PK101", ", ".join(named) or "PK101")


def is_day(text: str) -> bool:
    """Whether a text is a day of the calendar, as in 2027-03-31."""
    try:
        return bool(_DAY.fullmatch(text)) and date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _rule(word: str, rules: Sequence[Rule]) -> str:
    """The id of a rule that is named by id or name."""
    if not word:
        raise MalformedError("it names no rule: there is no form that lets every rule pass")
    for rule in rules:
        if word in (rule.id, rule.name, *rule.aliases):
            if rule.id in NEVER_SUPPRESSED:
                raise MalformedError(f"{rule.id} cannot be suppressed", "correct or remove what it is about")
            return rule.id
    known = tuple(w for rule in rules for w in (rule.id, rule.name, *rule.aliases))
    near = next((w for w in (_digits(word), word.upper(), word.lower()) if w in known), "")
    meant = f"did you mean '{near}'?" if near else did_you_mean(word, known)
    raise MalformedError(f"there is no rule '{word[:60]}'", meant or "'advisor rules list' names them")


def _digits(word: str) -> str:
    """An id whose digits were written as the letters that look like them."""
    id_ = re.fullmatch(r"([A-Z]{2,8}?)([0-9OIl]{3,4})", word)
    return word if id_ is None else id_[1] + id_[2].translate(str.maketrans("OIl", "011"))


# -- what they do ------------------------------------------------------------------------------------------------------


def suppressed(
    design: DesignView,
    evaluations: Sequence[Evaluation],
    *,
    known: Sequence[Rule],
    chosen: Sequence[Rule],
    configured: Sequence[ConfiguredSuppression],
    today: str,
) -> tuple[Evaluation, ...]:
    """The evaluations with their findings suppressed, and what is wrong with the comments that do so.

    ``known`` are all rules, ``chosen`` those of this run. A suppression of a rule that was not asked is not unused.
    """
    written = directives(design.document, known)
    valid = [d for d in written if not d.wrong and not _ended(d.until, today)]
    by_place: dict[tuple[str, Path_], Directive] = {}
    for directive in valid:
        for name in directive.rules:
            by_place.setdefault((name, directive.path), directive)
    there = [c for c in configured if not _ended(c.until, today) and _matches(c.path, design.name)]
    done = []
    for evaluation in evaluations:
        findings = tuple(
            replace(f, suppressed=_suppression(f, design, by_place, there, known)) for f in evaluation.findings
        )
        done.append(replace(evaluation, findings=findings))
    there_are = {at for e in done for f in e.findings for at in _places(f)}
    judged = decided(evaluations, design)
    for rule in chosen:
        if rule.id == MALFORMED:
            done.append(_evaluation(rule, written, [_malformed(rule, design, d) for d in written if d.wrong]))
        elif rule.id == UNUSED:
            unused = [
                _unused(rule, design, d, name, known, evaluations)
                for d in valid
                for name in d.rules
                if name in judged and (name, d.path) not in there_are
            ]
            done.append(_evaluation(rule, written, unused))
        elif rule.id == EXPIRED:
            ended = [_expired(rule, design, d) for d in written if not d.wrong and _ended(d.until, today)]
            done.append(_evaluation(rule, written, ended))
    return tuple(done)


def decided(evaluations: Sequence[Evaluation], design: DesignView) -> frozenset[str]:
    """The rules that were asked and could be decided everywhere: what they do not find is not there."""
    without = any(not table.has_data for table in design.tables)
    return frozenset(
        e.rule.id
        for e in evaluations
        if not e.skipped and not e.undecided and not (without and "data" in map(str, e.rule.needs))
    )


def configured_findings(
    design: DesignView,
    entry: ConfiguredSuppression,
    findings: Sequence[Finding],
    *,
    chosen: Sequence[Rule],
    known: Sequence[Rule],
    judged: frozenset[str],
    today: str,
) -> tuple[Finding, ...]:
    """What is wrong with a suppression of the configuration, told at one design that it is about: expired, or unused.

    ``findings`` are those of all designs, ``judged`` the rules that could be decided in each that it is about.
    """
    rule = _rule(entry.rule, known)
    ended = _ended(entry.until, today)
    page = next((r for r in chosen if r.id == (EXPIRED if ended else UNUSED)), None)
    used = any(configured_covers(entry, f, known) for f in findings)
    if page is None or (not ended and (used or rule not in judged)):
        return ()
    target = entry.target or "the whole design"
    message = f"the suppression of {rule} in {entry.where} has nothing to suppress at {target}"
    elsewhere = dict.fromkeys(f.path for f in findings if f.rule == rule and _matches(entry.path, f.design))
    if elsewhere:
        more = f" and {len(elsewhere) - 3} more" if len(elsewhere) > 4 else ""
        message += f"; its findings are at: {', '.join(list(elsewhere)[: 3 if more else 4])}{more}"
    if ended:
        message = (
            f"the suppression of {rule} at {target} in {entry.where} ended with {entry.until} and no longer counts"
        )
    return (builtin_finding(page, design, message, subject=f"{rule} {entry.path} {entry.target}"),)


def configured_nowhere(
    design: DesignView, entry: ConfiguredSuppression, chosen: Sequence[Rule], known: Sequence[Rule]
) -> tuple[Finding, ...]:
    """That a suppression of the configuration is for files that there are not, told at a design of the run."""
    page = next((r for r in chosen if r.id == UNUSED), None)
    if page is None:
        return ()
    rule = _rule(entry.rule, known)
    message = f"the suppression of {rule} in {entry.where} is for {entry.path}, and there is no such design"
    fix = "correct its path, or remove it"
    return (builtin_finding(page, design, message, subject=f"{rule} {entry.path} {entry.target}", fix=fix),)


def check_configured(configured: Sequence[ConfiguredSuppression], known: Sequence[Rule]) -> None:
    """UsageError with its place for an entry that names no rule, gives no reason, or has no day as its date."""
    for entry in configured:
        try:
            _rule(entry.rule, known)
        except MalformedError as error:
            raise UsageError(str(error), where=entry.where, fix=error.fix) from None
        if not entry.reason.strip():
            raise UsageError(
                f"the suppression of {entry.rule} gives no reason", where=entry.where, fix='add reason = "…"'
            )
        if entry.until and not is_day(entry.until):
            fix = "write until = 2027-03-31"
            raise UsageError(f"'{entry.until[:40]}' is not a date", where=entry.where, fix=fix)


def configured_covers(entry: ConfiguredSuppression, finding: Finding, known: Sequence[Rule]) -> bool:
    """Whether an entry of the configuration is about a finding."""
    if _rule(entry.rule, known) != finding.rule or not _matches(entry.path, finding.design):
        return False
    return not entry.target or any(_below(path, entry.target) for path in (finding.path, finding.pointed))


def _below(path: str, target: str) -> bool:
    """Whether a logical path is a target, lies below it, or is one of those that a glob means."""
    return path == target or path.startswith(f"{target}.") or fnmatchcase(path, target)


def matches_design(entry: ConfiguredSuppression, design: str) -> bool:
    """Whether an entry of the configuration is about a design file."""
    return _matches(entry.path, design)


def _matches(glob: str, design: str) -> bool:
    """A glob matches the whole path of a design, or its end from a folder on."""
    glob = glob.removeprefix("./")
    return not glob or fnmatchcase(design, glob) or fnmatchcase(design, f"*/{glob}")


def _suppression(
    finding: Finding,
    design: DesignView,
    written: Mapping[tuple[str, Path_], Directive],
    configured: Sequence[ConfiguredSuppression],
    known: Sequence[Rule],
) -> Suppression | None:
    for at in _places(finding):
        if at in written:
            directive = written[at]
            where = f"{design.name}:{directive.line}"
            return Suppression(finding.rule, directive.reason, directive.until, where)
    for entry in configured:
        if configured_covers(entry, finding, known):
            return Suppression(finding.rule, entry.reason, entry.until, entry.where)
    return None


def _places(finding: Finding) -> Iterator[tuple[str, Path_]]:
    """Where a suppression of a finding may stand: at its value, or at anything above it, the nearest first."""
    path = finding.document_path
    for end in range(len(path), 0, -1):
        yield finding.rule, path[:end]


def _ended(until: str, today: str) -> bool:
    """Whether the last day is over; days of one form stand in the order of their texts."""
    return bool(until) and bool(today) and until < today


def _evaluation(rule: Rule, written: Sequence[Directive], findings: list[Finding]) -> Evaluation:
    return Evaluation(rule, len(written), tuple(findings), 0, ())


def _malformed(rule: Rule, design: DesignView, directive: Directive) -> Finding:
    return _told(rule, design, directive, f"this suppression does not count: {directive.wrong}", fix=directive.fix)


def _unused(
    rule: Rule,
    design: DesignView,
    directive: Directive,
    name: str,
    known: Sequence[Rule],
    evaluations: Sequence[Evaluation],
) -> Finding:
    words = next(f"{r.id} {r.name}" for r in known if r.id == name)
    at = design.document.logical(directive.path)
    lines = sorted({f.place.line for e in evaluations for f in e.findings if f.rule == name})
    more = f", but at line {', '.join(map(str, lines[:4]))}{' and others' if len(lines) > 4 else ''}" if lines else ""
    return _told(rule, design, directive, f"{words} is not found at {at}{more}: nothing is suppressed", subject=name)


def _expired(rule: Rule, design: DesignView, directive: Directive) -> Finding:
    names = ", ".join(directive.rules)
    message = f"the suppression of {names} ended with {directive.until} and no longer counts: {directive.reason}"
    return _told(rule, design, directive, message, subject=names)


def _told(
    rule: Rule, design: DesignView, directive: Directive, message: str, *, subject: str = "", fix: str | None = None
) -> Finding:
    line = design.document.line(directive.line)
    place = FilePlace(directive.line, directive.column, directive.line, directive.end_column, line)
    path = directive.path or ("tables",)
    return builtin_finding(
        rule, design, message, path=path, place=place, subject=subject or directive.text[:200], fix=fix
    )
