"""How a file of settings is read: every key and value checked, every error at its place."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pkadvisor.cli.settings import PYPROJECT, SECTION, Settings, shown_path
from pkadvisor.errors import UsageError, did_you_mean
from pkadvisor.toml_file import TomlFile
from pkadvisor.toml_places import TomlPath

if TYPE_CHECKING:
    from pkadvisor.review.gate.suppressions import ConfiguredSuppression

SEVERITIES = ("error", "warning", "info")
FAIL_ON = (*SEVERITIES, "never")
TOP = (
    "schema",
    "designs",
    "data",
    "logs",
    "account",
    "max_bad_lines",
    "log_fraction",
    "profile",
    "fail_on",
    "baseline",
    "rules",
    "limits",
    "budget",
    "review",
)
REVIEW = ("select", "ignore", "severity", "suppress")
SUPPRESS = ("rule", "path", "target", "reason", "until")
_ADVICE = {dict: "a table", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}


def read_settings(path: Path) -> Settings:
    """The settings in a file; UsageError with FILE:LINE:COLUMN for whatever is wrong in it."""
    file = TomlFile(Path(shown_path(path)), what="settings")
    if path.name == PYPROJECT:
        tool = file.content.get("tool")
        if not isinstance(tool, dict) or "pkadvisor" not in tool:
            fix = f"add one, or name a pkadvisor.toml: [{'.'.join(SECTION)}]"
            raise UsageError("has no section for pkadvisor", where=path.as_posix(), fix=fix)
        if not isinstance(tool["pkadvisor"], dict):
            raise file.at(SECTION, "tool.pkadvisor must be a table", f"write [{'.'.join(SECTION)}]")
        file = file.section(SECTION)
    return _SettingsReader(file).settings()


class _SettingsReader:
    def __init__(self, file: TomlFile) -> None:
        self.file = file
        self.folder = os.path.dirname(file.path) or "."  # noqa: PTH120

    def settings(self) -> Settings:
        content = self.file.content
        self._known((), content, TOP)
        if content.get("schema", 1) != 1 or isinstance(content.get("schema", 1), bool):
            raise self.error(("schema",), "this is not a schema that this version reads", "write schema = 1")
        review = self._table(("review",), content.get("review", {}))
        self._known(("review",), review, REVIEW)
        fail_on = content.get("fail_on")
        values: dict[str, Any] = {
            "designs": self._paths("designs"),
            "data": self._inputs("data"),
            "logs": self._inputs("logs"),
            **{
                key: self._text((key,), content[key])
                for key in ("account", "max_bad_lines", "log_fraction")
                if key in content
            },
            "profile": self._paths("profile"),
            "fail_on": None if fail_on is None else self._choice(("fail_on",), fail_on, FAIL_ON),
            "baseline": None if "baseline" not in content else self._path(("baseline",), content["baseline"]),
            "rules": self._paths("rules"),
            "limits": self._limits(content.get("limits")),
            "budget": self._budget(content.get("budget")),
            "select": self._words("select", review),
            "ignore": self._words("ignore", review),
            "severity": self._severity(review.get("severity", {})),
            "suppress": self._suppress(review.get("suppress", [])),
        }
        keys: list[tuple[str, TomlPath]] = [(key, (key,)) for key in TOP if key in content and key != "review"]
        keys += [(f"review.{key}", ("review", key)) for key in REVIEW if key in review]
        lines = tuple((name, self.file.line_of((*self.file.prefix, *path))) for name, path in keys)
        return Settings(file=self.file, lines=lines, **values)

    def _limits(self, given: Any) -> tuple[str | TomlFile, ...]:
        if given is None:
            return ()
        if not isinstance(given, dict):
            return self._paths("limits")
        from pkadvisor.limits import load_limits

        section = self.file.section(("limits",))
        load_limits(section)  # whatever is wrong is told here, with its place
        return (section,)

    def _budget(self, given: Any) -> tuple[tuple[str, str], ...]:
        if given is None:
            return ()
        from pkadvisor.design.cost.budgets import BOUNDS, parse_pair

        out = []
        for key, value in self._table(("budget",), given).items():
            path = ("budget", key)
            if key not in BOUNDS:
                fix = did_you_mean(key, tuple(BOUNDS)) or f"there are {', '.join(BOUNDS)}"
                raise self.error(path, f"there is no '{key}' to bound", fix)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            try:
                if not number and not isinstance(value, str):
                    raise UsageError("no number")
                if number and not -1e300 < value < 1e300:
                    raise UsageError("no number")
                text = value if isinstance(value, str) else repr(float(value))
                parse_pair(f"{key}={text}", "", "")
            except UsageError:
                fix = f'a number from 0 on, or a share such as "80%": {key} = 500'
                raise self.error(path, f"{key} is not a bound", fix, at_value=True) from None
            out.append((key, text))
        return tuple(out)

    def _severity(self, given: Any) -> tuple[tuple[str, str], ...]:
        table = self._table(("review", "severity"), given)
        return tuple((rule, self._choice(("review", "severity", rule), v, SEVERITIES)) for rule, v in table.items())

    def _suppress(self, given: Any) -> tuple[ConfiguredSuppression, ...]:
        from pkadvisor.review.gate.suppressions import ConfiguredSuppression

        path: TomlPath = ("review", "suppress")
        if not isinstance(given, list) or any(not isinstance(item, dict) for item in given):
            raise self.error(path, "suppress must be sections", 'write [[review.suppress]] with rule and reason = "…"')
        out = []
        for number, item in enumerate(given):
            at = (*path, number)
            self._known(at, item, SUPPRESS)
            for key in ("rule", "reason"):
                if not str(item.get(key, "")).strip():
                    fix = 'a suppression says why: reason = "…"' if key == "reason" else 'rule = "PK101"'
                    raise self.error((*at, key), f"the suppression has no {key}", fix)
            texts = {key: self._text((*at, key), item[key]) for key in SUPPRESS[:-1] if key in item}
            where = f"{self.file.path.as_posix()}:{self.file.line_of((*self.file.prefix, *at))}"
            out.append(
                ConfiguredSuppression(
                    rule=texts["rule"],
                    reason=texts["reason"],
                    path=self._path((*at, "path"), texts["path"]) if texts.get("path") else "",
                    target=texts.get("target", ""),
                    until=self._day((*at, "until"), item.get("until", "")),
                    where=where,
                )
            )
        return tuple(out)

    def _day(self, path: TomlPath, value: Any) -> str:
        if value == "":
            return ""
        if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
            return value.isoformat()
        try:
            if isinstance(value, str) and len(value) == 10:
                return datetime.date.fromisoformat(value).isoformat()
        except ValueError:
            pass
        raise self.error(path, "until is not a date", "write until = 2027-03-31", at_value=True)

    def _paths(self, key: str) -> tuple[str, ...]:
        """A text or a list of texts, as paths."""
        return self._each(key, self._path)

    def _inputs(self, key: str) -> tuple[str, ...]:
        """Files and globs to read, each perhaps as ``KIND=PATH``."""
        return self._each(key, self._input)

    def _each(self, key: str, read: Callable[[TomlPath, Any], str]) -> tuple[str, ...]:
        given = self.file.content.get(key, [])
        if isinstance(given, str):
            return (read((key,), given),)
        if not isinstance(given, list):
            raise self._wrong((key,), given, "text or a list of texts")
        return tuple(read((key, i), item) for i, item in enumerate(given))

    def _input(self, path: TomlPath, value: Any) -> str:
        kind, equals, rest = self._text(path, value).partition("=")
        named = bool(equals) and kind.isidentifier()
        return f"{kind}={self._path(path, rest)}" if named else self._path(path, value)

    def _path(self, path: TomlPath, value: Any) -> str:
        text = self._text(path, value)
        if not text or "\0" in text:
            raise self.error(path, "this is not a path", "name a file", at_value=True)
        return Path(shown_path(os.path.join(self.folder, text))).as_posix()  # noqa: PTH118

    def _words(self, key: str, review: dict[str, Any]) -> tuple[str, ...]:
        given = review.get(key, [])
        if not isinstance(given, list):
            raise self._wrong(("review", key), given, "a list of rules")
        return tuple(self._text(("review", key, i), item) for i, item in enumerate(given))

    def _known(self, path: TomlPath, table: dict[str, Any], known: tuple[str, ...]) -> None:
        for key in table:
            if key not in known:
                below = did_you_mean(key, known)
                other = "" if below or path else _elsewhere(key)
                fix = below or other or f"known here: {', '.join(known)}"
                raise self.error((*path, key), f"unknown key '{key[:80]}'", fix)

    def _table(self, path: TomlPath, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._wrong(path, value, "a table")
        return value

    def _text(self, path: TomlPath, value: Any) -> str:
        if not isinstance(value, str):
            raise self._wrong(path, value, "text")
        return value

    def _choice(self, path: TomlPath, value: Any, known: tuple[str, ...]) -> str:
        text = self._text(path, value)
        if text not in known:
            fix = did_you_mean(text, known) or f"one of {', '.join(known)}"
            raise self.error(path, f"'{text[:80]}' is none of them", fix, at_value=True)
        return text

    def _wrong(self, path: TomlPath, value: Any, wanted: str) -> UsageError:
        is_a = next((word for kind, word in _ADVICE.items() if type(value) is kind), "a date")
        name = next((str(p) for p in reversed(path) if isinstance(p, str)), "it")
        return self.error(path, f"{name} must be {wanted}, not {is_a}", at_value=True)

    def error(self, path: TomlPath, what: str, fix: str = "", *, at_value: bool = False) -> UsageError:
        return self.file.at((*self.file.prefix, *path), what, fix, at_value=at_value)


def _elsewhere(key: str) -> str:
    return f"{key} belongs under [review]" if key in REVIEW else ""
