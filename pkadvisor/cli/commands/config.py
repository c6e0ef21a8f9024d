"""``advisor config``: the settings in use, and the published shapes of what is read and written."""

from __future__ import annotations

import json
import os
from dataclasses import MISSING
from enum import StrEnum
from typing import Any

from pkadvisor.cli.configuration import settings_for
from pkadvisor.cli.console import escape, redact_result, write_text
from pkadvisor.cli.settings import Settings
from pkadvisor.cli.settings_schema import config_schema
from pkadvisor.cli.shared import Format, Shared, argument, option, say_next, unfold
from pkadvisor.documents.schema import document_schema
from pkadvisor.observe.design_file.declaration import design_schema
from pkadvisor.review.rules.rule_schema import rule_schema

ENVIRONMENT = {
    "format": ("PKADVISOR_FORMAT", "text"),
    "color": ("PKADVISOR_COLOR", "auto"),
    "config": ("PKADVISOR_CONFIG", None),
    "isolated": ("PKADVISOR_ISOLATED", False),
    "quiet": ("PKADVISOR_QUIET", False),
    "verbose": ("PKADVISOR_VERBOSE", False),
    "no_progress": ("PKADVISOR_NO_PROGRESS", False),
    "debug": ("PKADVISOR_DEBUG", False),
    "redact": ("PKADVISOR_REDACT", "none"),
    "seed": ("PKADVISOR_SEED", 0),
    "top": ("PKADVISOR_TOP", 5),
    "max_bad_lines": ("PKADVISOR_MAX_BAD_LINES", "1%"),
}
"""Settings that no file holds: their variable and default."""


class SchemaName(StrEnum):
    design = "design"
    config = "config"
    rule = "rule"
    result = "result"
    profile = "profile"
    score = "score"
    comparison = "comparison"
    explanation = "explanation"
    review = "review"
    stress = "stress"


def published_schema(of: str) -> dict[str, Any]:
    """The JSON Schema of what is read or written under a name, from the code that reads or writes it."""
    read = {"design": design_schema, "config": config_schema, "rule": rule_schema}
    return read[of]() if of in read else document_schema(of)


@unfold
def schema(
    *,
    of: SchemaName = option("Which document.", MISSING),
    shared: Shared,
) -> None:
    """Print the JSON Schema of a document, whatever --format says.

    Examples:
        advisor config schema --of design
        advisor config schema --of config
    """
    write_text(json.dumps(published_schema(of), indent=2, ensure_ascii=False))


@unfold
def show(
    design: str | None = argument("Show the settings for this design file.", "[DESIGN]", None),
    *,
    shared: Shared,
) -> None:
    """Print every setting with the place it comes from: a variable, a line of a file, or the default.

    Settings are in pkadvisor.toml or in [tool.pkadvisor] of pyproject.toml, beside the design or the working folder
    or above it, up to the root of the repository. An option on the command line wins over all of them.

    Examples:
        advisor config show
        advisor config show --isolated --format json
    """
    settings = settings_for(shared, design)
    rows = [*_of_file(settings), *_of_environment()]
    file = settings.file.path.as_posix() if settings.file else None
    if shared.format is Format.json:
        entries = [{"key": key, "value": value, "origin": origin} for key, value, origin in rows]
        text = json.dumps({"schema_version": 1, "file": file, "settings": entries}, indent=2)
        write_text(redact_result(text))
        return
    write_text(escape(f"settings: {file or 'no file'}"))
    width = max(len(key) for key, _, _ in rows)
    for key, value, origin in rows:
        for number, line in enumerate(_lines(value)):
            write_text(escape(redact_result(f"{key if not number else '':<{width}}  {line}  ({origin})")))
    say_next("advisor config schema --of config describes every setting", shared)


def _of_file(settings: Settings) -> list[tuple[str, Any, str]]:
    """(key, value, origin) of what a file can hold."""
    limits: Any = []
    for item in settings.limits:
        limits = [*limits, item] if isinstance(item, str) else item.content
    values: dict[str, Any] = {
        "designs": list(settings.designs),
        "profile": list(settings.profile),
        "fail_on": settings.fail_on or "error",
        "baseline": settings.baseline,
        "rules": list(settings.rules),
        "limits": limits,
        "budget": dict(settings.budget),
        "review.select": list(settings.select),
        "review.ignore": list(settings.ignore),
        "review.severity": dict(settings.severity),
        "review.suppress": [
            {"rule": s.rule, "path": s.path, "target": s.target, "reason": s.reason, "until": s.until or None}
            for s in settings.suppress
        ],
    }
    rows = []
    for key, value in values.items():
        variable = f"PKADVISOR_{key.upper()}"
        if key in ("fail_on", "limits") and os.environ.get(variable):
            rows.append((key, os.environ[variable], variable))
        else:
            rows.append((key, value, settings.where(key) or "default"))
    return rows


def _of_environment() -> list[tuple[str, Any, str]]:
    return [
        (key, os.environ[variable], variable) if os.environ.get(variable) else (key, default, "default")
        for key, (variable, default) in ENVIRONMENT.items()
    ]


def _lines(value: Any) -> list[str]:
    """A value as lines of text."""
    if isinstance(value, dict):
        return [f"{key} = {_plain(item)}" for key, item in value.items()] or ["-"]
    if isinstance(value, list):
        return [_plain(item) for item in value] or ["-"]
    return [_plain(value)]


def _plain(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_plain(item)}" for key, item in value.items() if item not in (None, ""))
    return str(value)
