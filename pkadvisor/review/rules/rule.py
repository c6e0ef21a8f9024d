"""Rules: what they look for, in which words they say it, and how they are read from their files.

A rule is a TOML file (``rules/PKnnn-name.toml``, or a team's own with ``--rules DIR``); its schema is
``rule_schema.py``. Conditions are checked against the facts when the file is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any

from pkadvisor.errors import UsageError, did_you_mean
from pkadvisor.resources import resource
from pkadvisor.review.facts import BY_NAME, KNOWN, language, types_for
from pkadvisor.review.views.expressions import Expression, ExpressionError, FactType
from pkadvisor.review.views.findings import Severity
from pkadvisor.review.views.subjects import Scope
from pkadvisor.toml_file import TomlFile
from pkadvisor.toml_places import TomlPath
from pkadvisor.values import dataclass


class Need(StrEnum):
    """What must be given for a rule to be asked."""

    DESIGN = "design"
    WORKLOAD = "workload"
    DATA = "data"
    DIFF = "diff"
    STRESS = "stress"


PRECISIONS = ("very-high", "high", "medium", "low")


@dataclass(frozen=True, slots=True)
class RuleLevel:
    """One severity of a rule: it applies where ``when`` holds and no level before it did."""

    severity: Severity
    when: Expression
    message: str
    fix: str
    """What to do in this case; the fix of the rule where the level has none of its own."""
    measured: Expression | None = None
    """The number of a finding: the level's own, else that of the rule where condition or message speak of it."""
    limit: Expression | None = None
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """Where the reason is written down."""

    title: str
    url: str


@dataclass(frozen=True, slots=True)
class Case:
    """A design that a rule must find (``severity`` set) or must be silent on; ``data`` is a CSV text, ``before`` the
    design that it is compared with, ``subject`` whose finding it is."""

    severity: Severity | None
    design: str
    data: str = ""
    before: str = ""
    subject: str = ""
    says: str = ""
    """Text that the message contains."""
    budget: str = ""
    """A bound of ``--budget``, such as ``cost_month=500``."""
    stress: str = ""
    """What a stress test of these keys measured, such as ``throttled_share=0.3, lost_share=0``."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule with its page. ``place`` is where below its subject a finding points; ``builtin`` rules are decided by
    the gate and have no levels. ``unit`` may be a hole for the fact that names it.
    """

    id: str
    name: str
    title: str
    scope: Scope
    needs: tuple[Need, ...]
    levels: tuple[RuleLevel, ...]
    measured: Expression | None
    limit: Expression | None
    unit: str
    ratchet: bool
    place: str
    proposes: bool
    why: str
    bad: str
    good: str
    fix: str
    links: tuple[Link, ...]
    precision: str
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    cases: tuple[Case, ...]
    builtin: bool
    source: str

    @property
    def severity(self) -> Severity:
        """The worst that it can say."""
        return min((level.severity for level in self.levels), key=lambda s: s.rank)

    def names(self) -> tuple[str, ...]:
        """The facts that its conditions, numbers and words mention."""
        numbers = [self.measured, self.limit, *(e for level in self.levels for e in (level.measured, level.limit))]
        texts = (self.fix, *(level.fix for level in self.levels), self.unit, *(level.unit for level in self.levels))
        named = [n for level in self.levels for n in (*level.when.names, *placeholders(level.message))]
        named += [n for expression in numbers if expression is not None for n in expression.names]
        named += [n for text in texts for n in placeholders(text)]
        return tuple(n for n in dict.fromkeys(named) if n not in OWN_WORDS)


OWN_WORDS = ("measured", "limit", "subject", "table", "times")
"""Placeholders of messages that are no facts: the numbers of the finding, its subject, its table, measured ÷ limit."""
ID = "[A-Z]{2,8}[0-9]{3,4}"
NAME = "[a-z][a-z0-9]*(?:-[a-z0-9]+)*"
_ID, _NAME = re.compile(ID), re.compile(NAME)
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][\w.]*)\}")
_KEYS = {
    "id": str,
    "name": str,
    "title": str,
    "scope": str,
    "needs": list,
    "level": list,
    "measured": str,
    "limit": str,
    "unit": str,
    "ratchet": bool,
    "place": str,
    "proposes": bool,
    "why": str,
    "bad": str,
    "good": str,
    "fix": str,
    "links": list,
    "precision": str,
    "tags": list,
    "aliases": list,
    "fail": list,
    "pass": list,
    "builtin": bool,
    "severity": str,
}
_LEVEL_KEYS = ("severity", "when", "message", "fix", "measured", "limit", "unit")
CASE_KEYS = ("severity", "design", "data", "before", "subject", "says", "budget", "stress")
_CASE = re.compile(r"^\[\[(?:fail|pass)\]\]", re.MULTILINE)
_HEADER = re.compile(r"^\s*\[", re.MULTILINE)
_WORDS = {str: "text", list: "a list", bool: "true or false"}


def placeholders(text: str) -> tuple[str, ...]:
    """The names in the ``{holes}`` of a message; ``{{`` is a brace."""
    return tuple(dict.fromkeys(_PLACEHOLDER.findall(text.replace("{{", "").replace("}}", ""))))


def load_rules(folders: Sequence[Path | str] = (), *, cases: bool = True) -> tuple[Rule, ...]:
    """The bundled rules and those of a team's folders, by id; without ``cases`` the bundled ones lack theirs, which
    are most of their text.

    UsageError with the place for whatever is wrong in a file, an id or a name that two rules have, and a folder that
    holds no rule.
    """
    out: dict[str, Rule] = {}
    words: dict[str, str] = {}
    own = [pair for folder in folders for pair in _folder(Path(folder))]
    for rule, where in (*((rule, rule.source) for rule in _bundled(cases)), *own):
        for word in (rule.id, rule.name, *rule.aliases):
            if word in words:
                what = f"'{word}' is taken by {words[word]}"
                raise UsageError(what, where=where, fix="choose another id or name")
            words[word] = where
        out[rule.id] = rule
    return tuple(out[key] for key in sorted(out))


@lru_cache(maxsize=2)
def _bundled(cases: bool) -> tuple[Rule, ...]:
    read = str if cases else without_cases
    paths = sorted(resource("rules").glob("*.toml"))
    # Those without cases are ours as they are: tests read them whole.
    return tuple(_RuleReader(TomlFile(path, what="rule", read=read), trusted=not cases).rule() for path in paths)


def without_cases(text: str) -> str:
    """The text of a rule file up to its first case, if only cases follow."""
    start = _CASE.search(text)
    rest = text[start.start() :] if start else ""
    return text if start is None or len(_HEADER.findall(rest)) > len(_CASE.findall(rest)) else text[: start.start()]


def _folder(folder: Path) -> list[tuple[Rule, str]]:
    """The rules of a folder, each with its file."""
    if not folder.is_dir():
        raise UsageError("there is no such folder of rules", where=f"--rules {folder}", fix="name a folder")
    paths = sorted(folder.glob("*.toml"))
    if not paths:
        raise UsageError("no rule in this folder", where=f"--rules {folder}", fix="a rule is a .toml file")
    return [(load_rule(path), path.as_posix()) for path in paths]


def load_rule(path: Path) -> Rule:
    """One rule from its file, checked; UsageError with the place."""
    return _RuleReader(TomlFile(path, what="rule"), own=True).rule()


class _RuleReader:
    """Reads one file and points at what is wrong in it."""

    def __init__(self, file: TomlFile, *, trusted: bool = False, own: bool = False) -> None:
        self.file = file
        self.own = own and not file.path.is_relative_to(resource("rules"))
        self.trusted = trusted
        self.content = file.content

    def rule(self) -> Rule:
        self._check_keys()
        scope = self._choice("scope", self._text("scope"), tuple(Scope))
        builtin = bool(self.content.get("builtin", False))
        rule_id, name = self._text("id"), self._text("name")
        if not _ID.fullmatch(rule_id):
            raise self.at("id", f"'{rule_id}' is not a rule id", "capital letters, then digits: ACME001")
        if self.own and re.match(r"PK[0-9]", rule_id):
            fix = "take capital letters of your own: ACME001"
            raise self.at("id", f"'{rule_id}': ids that begin with PK are those of the bundled rules", fix)
        if not _NAME.fullmatch(name):
            raise self.at("name", f"'{name}' is not a rule name", "lower-case words with hyphens: key-too-long")
        levels = self._builtin_level(Scope(scope)) if builtin else tuple(self._levels(Scope(scope)))
        if not levels:
            raise self.at("id", "the rule has no level", "add [[level]] with severity, when and message")
        if builtin and "level" in self.content:
            raise self.at("level", "a rule that is built in has no levels", "leave out builtin, or the levels")
        self._check_needs(levels)
        fix = self._text("fix")
        self._check_holes(("fix",), fix, Scope(scope))
        self._check_holes(("unit",), self.content.get("unit", ""), Scope(scope))
        return Rule(
            id=rule_id,
            name=name,
            title=self._text("title"),
            scope=Scope(scope),
            needs=tuple(Need(self._choice("needs", n, tuple(Need))) for n in self.content.get("needs", ["design"])),
            levels=levels,
            measured=self._number("measured", Scope(scope)),
            limit=self._number("limit", Scope(scope)),
            unit=self.content.get("unit", ""),
            ratchet=self.content.get(
                "ratchet", any("measured" in own for own in (self.content, *self.content.get("level", ())))
            ),
            place=self.content.get("place", ""),
            proposes=self.content.get("proposes", False),
            why=self._text("why").strip(),
            bad=self.content.get("bad", "").strip("\n"),
            good=self.content.get("good", "").strip("\n"),
            fix=fix.strip(),
            links=tuple(self._link(i, link) for i, link in enumerate(self.content.get("links", ()))),
            precision=self._choice("precision", self.content.get("precision", "high"), PRECISIONS),
            tags=tuple(self.content.get("tags", ())),
            aliases=tuple(self.content.get("aliases", ())),
            cases=tuple(self._cases()),
            builtin=builtin,
            source=self.file.path.name,
        )

    def _check_keys(self) -> None:
        for key, value in self.content.items():
            if key not in _KEYS:
                raise self.at(
                    key, f"unknown key '{key}'", did_you_mean(key, tuple(_KEYS)) or "see 'advisor rules list'"
                )
            if not isinstance(value, _KEYS[key]):
                raise self.at(key, f"{key} must be {_WORDS[_KEYS[key]]}")
        for key in ("needs", "tags", "aliases"):
            items = self.content.get(key, ())
            for i, item in enumerate(items):
                if not isinstance(item, str):
                    raise self.file.at((key, i), f"{key} is a list of texts")
                if item in items[:i]:
                    raise self.file.at((key, i), f"'{item}' appears twice in {key}", "keep one of them")
        for i, alias in enumerate(self.content.get("aliases", ())):
            if not _ID.fullmatch(alias) and not _NAME.fullmatch(alias):
                raise self.file.at(("aliases", i), f"'{alias}' is no id and no name", "an old id or name of the rule")
        for key in ("id", "name", "title", "scope", "why", "fix"):
            if key in self.content and not self.content[key].strip():
                raise self.at(key, f"{key} is empty")

    def _levels(self, scope: Scope) -> Iterable[RuleLevel]:
        for i, level in enumerate(self.content.get("level", ())):
            self._check_table("level", i, level, _LEVEL_KEYS)
            for key in ("severity", "when"):
                if key not in level:
                    raise self.file.at(("level", i, key), f"the level has no {key}")
            severity = self._severity_in("level", i, level["severity"])
            try:
                when = self._expression(level["when"], FactType.BOOL, scope)
            except ExpressionError as error:
                fix = self._near(str(error), scope)
                raise self.file.at(("level", i, "when"), str(error), fix, offset=error.column) from None
            message = level.get("message", self._first_message())
            if not message:
                raise self.file.at(("level", i, "when"), "the level has no message", 'add message = "…"')
            if "message" in level:
                self._check_holes(("level", i, "message"), message, scope)
            fix = level.get("fix", self._text("fix"))
            if "fix" in level:
                if not fix.strip():
                    raise self.file.at(("level", i, "fix"), "fix is empty")
                self._check_holes(("level", i, "fix"), fix, scope)
            yield RuleLevel(
                Severity(severity), when, message, fix.strip(), *self._numbers(i, level, when, message, scope)
            )

    def _numbers(
        self, i: int, own: dict[str, str], when: Expression, message: str, scope: Scope
    ) -> tuple[Expression | None, Expression | None, str]:
        """What a level measures, its limit and their unit: its own, else the rule's, whose number is that of the level
        where its condition or its message speak of it."""
        limit = self._number("limit", scope, ("level", i)) or self._number("limit", scope)
        unit = own.get("unit", self.content.get("unit", ""))
        self._check_holes(("level", i, "unit") if "unit" in own else ("unit",), unit, scope)
        if "measured" in own:
            return self._number("measured", scope, ("level", i)), limit, unit
        measured, told = self._number("measured", scope), {*placeholders(message), *when.names}
        names = {"measured", "times", *(n for n in (measured.names if measured else ()) if not n.startswith("limit."))}
        return (measured if names & told else None), limit, unit

    def _builtin_level(self, scope: Scope) -> tuple[RuleLevel, ...]:
        severity = self._choice("severity", self.content.get("severity", "error"), tuple(Severity))
        return (
            RuleLevel(
                Severity(severity), language(scope).trusted("false"), self._text("title"), self._text("fix").strip()
            ),
        )

    def _check_needs(self, levels: Sequence[RuleLevel]) -> None:
        """A condition over what only a comparison knows is never decided without one."""
        if str(Need.DIFF) in self.content.get("needs", ()):
            return
        for i, level in enumerate(levels):
            for name in level.when.names:
                fact = BY_NAME.get(name)
                if fact is not None and fact.needs_diff and f"{name}{KNOWN}" not in level.when.names:
                    what = f"'{name}' is known in a comparison only, and the rule does not need one"
                    offset = level.when.text.find(name)
                    raise self.file.at(("level", i, "when"), what, 'add "diff" to needs', offset=offset)

    def _expression(self, text: str, result: FactType, scope: Scope) -> Expression:
        return language(scope).trusted(text) if self.trusted else language(scope).compile(text, result)

    def _first_message(self) -> str:
        return next((str(lv["message"]) for lv in self.content.get("level", ()) if "message" in lv), "")

    def _number(self, key: str, scope: Scope, level: tuple[()] | tuple[str, int] = ()) -> Expression | None:
        content = self.content[level[0]][level[1]] if level else self.content
        if key not in content:
            return None
        try:
            return self._expression(content[key], FactType.NUMBER, scope)
        except ExpressionError as error:
            fix = self._near(str(error), scope)
            raise self.file.at((*level, key), f"{key}: {error}", fix, offset=error.column) from None

    def _near(self, message: str, scope: Scope) -> str:
        """The fact that was probably meant."""
        match = re.search(r"there is no fact '([^']+)'", message)
        if "(double, int)" in message or "(int, double)" in message:
            return "numbers are written with a point: 2.0"
        if re.match("unexpected|missing", message):
            return "conditions are CEL, as in: table.index_rows > 2.0 && !(table.entities < 10.0)"
        if match is None:
            return "the facts and their types: advisor rules facts"
        return did_you_mean(match[1], tuple(types_for(scope))) or "the facts: advisor rules facts"

    def _check_holes(self, path: TomlPath, text: str, scope: Scope) -> None:
        known = types_for(scope)
        for name in placeholders(text):
            if name not in known and name not in OWN_WORDS:
                fix = did_you_mean(name, (*known, *OWN_WORDS)) or "the facts: advisor rules facts; write {{ for a brace"
                what = f"{path[-1]} names '{name}', which is no fact of a rule of scope {scope}"
                raise self.file.at(path, what, fix, offset=text.find(f"{{{name}}}") + 1)

    def _cases(self) -> Iterable[Case]:
        for array in ("fail", "pass"):
            for i, case in enumerate(self.content.get(array, ())):
                self._check_table(array, i, case, CASE_KEYS)
                if "design" not in case:
                    raise self.file.at((array, i, "design"), "the case has no design")
                severity = None
                if array == "fail":
                    fallback = self.content.get("severity", "error")
                    severity = Severity(self._severity_in("fail", i, case.get("severity", fallback)))
                rest = {key: str(case[key]) for key in CASE_KEYS[2:] if key in case}
                yield Case(severity, case["design"], **rest)

    def _check_table(self, array: str, i: int, table: Any, known: tuple[str, ...]) -> None:
        if not isinstance(table, dict):
            raise self.at(array, f"{array} must be [[{array}]] sections")
        for key, value in table.items():
            if key not in known:
                raise self.file.at((array, i, key), f"unknown key '{key}'", did_you_mean(key, known))
            if not isinstance(value, str):
                raise self.file.at((array, i, key), f"{key} must be text")

    def _link(self, i: int, link: Any) -> Link:
        shaped = isinstance(link, dict) and not set(link) - {"title", "url"} and "title" in link
        if not shaped or any(not isinstance(value, str) for value in link.values()):
            raise self.file.at(("links", i), 'a link is {title = "…", url = "…"}')
        if "url" in link and not re.match(r"https?://\S+$", link["url"]):
            raise self.file.at(("links", i, "url"), "this is not a web address", "begin it with https://")
        return Link(str(link["title"]), str(link.get("url", "")))

    def _text(self, key: str) -> str:
        if key not in self.content:
            raise self.at("id", f"the rule has no {key}", f'add {key} = "…"')
        return str(self.content[key])

    def _choice(self, key: str, value: str, known: tuple[str, ...]) -> str:
        if value not in known:
            fix = did_you_mean(value, tuple(map(str, known))) or f"one of {', '.join(known)}"
            items = self.content.get(key)
            path: TomlPath = (key, items.index(value)) if isinstance(items, list) else (key,)
            raise self.file.at(path, f"{key}: '{value[:80]}' is none of them", fix, at_value=True)
        return value

    def _severity_in(self, array: str, i: int, value: str) -> str:
        if value not in tuple(Severity):
            fix = did_you_mean(value, tuple(map(str, Severity))) or f"one of {', '.join(Severity)}"
            raise self.file.at((array, i, "severity"), f"severity: '{value[:80]}' is none of them", fix, at_value=True)
        return value

    def at(self, key: str, what: str, fix: str = "") -> UsageError:
        return self.file.at((key,), what, fix)
