"""The complaints of pydantic, in the words of a design file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from pkadvisor.errors import UsageError, did_you_mean
from pkadvisor.observe.design_file.declaration_yaml import DATA_HINT, Document, Path_

_MISSING = {
    "schema": "write schema: 1 at the top",
    "tables": "add tables:, then the name of a table and its keys or workload",
    "rate": "add e.g. rate: 600/s",
    "filter": "add a filter, or filter: '' if the query reads every entity",
    "operation": "add operation: insert | update | upsert | delete",
    "group_by": "add group_by: [property, …]",
    "together": "add together: [name of a write, …]",
    "row_key": "add row_key",
    "type": "add type: string, int32, …",
}
_EXPECTED = {
    "string_type": ("text", 'put quotes around it: "…"'),
    "list_type": ("a list", "write [a, b] or one '- ' line each"),
    "dict_type": ("a mapping", "write key: value lines below it"),
    "model_type": ("a mapping", "write key: value lines below it"),
    "model_attributes_type": ("a mapping", "write key: value lines below it"),
    "int_type": ("a whole number", "write it without quotes or unit"),
    "float_type": ("a number", "write it without quotes or unit"),
    "bool_type": ("true or false", "write true or false"),
}


def refusals(document: Document, error: ValidationError) -> list[UsageError]:
    """The complaints as errors with their places, in file order."""
    errors = sorted(error.errors(include_url=False), key=lambda e: (document.place(_loc(e["loc"])), str(e["loc"])))
    return [_explained(document, each) for each in errors]


def _loc(loc: tuple[int | str, ...]) -> Path_:
    return tuple(part for part in loc if part != "[key]")


def _explained(document: Document, error: Mapping[str, Any]) -> UsageError:
    loc, kind = _loc(error["loc"]), error["type"]
    name = next((str(part) for part in reversed(loc) if isinstance(part, str)), "the design file")
    value = _shown(error.get("input"))
    context = error.get("ctx") or {}
    cause = context.get("error")
    if cause is not None:
        if key := getattr(cause, "key", None):
            return document.error((*loc, key), str(cause), getattr(cause, "fix", ""), at_key=True)
        return document.error(loc, f"{name}: {cause}", getattr(cause, "fix", ""))
    if kind == "missing":
        return document.error(loc[:-1], f"{name} is missing", _MISSING.get(name, f"add {name}"))
    if kind == "too_short":
        return document.error(loc, f"{name} is empty", _MISSING.get(name, "name at least one"))
    if kind in _EXPECTED:
        expected, fix = _EXPECTED[kind] if loc else (_EXPECTED[kind][0], DATA_HINT)
        if kind == "string_type" and isinstance(error.get("input"), dict):
            fix = 'text that starts with { needs quotes: "{event}"'
        return document.error(loc, f"{name} must be {expected}, not {value}", fix)
    if kind == "literal_error":
        words = re.findall(r"'([^']*)'", str(context.get("expected", ""))) or [str(context.get("expected", ""))]
        fix = did_you_mean(str(error.get("input")), tuple(words)) or f"one of: {', '.join(words)}"
        return document.error(loc, f"{name} cannot be {value}", fix)
    message = str(error.get("msg", "cannot be")).removeprefix("Input ")
    return document.error(loc, f"{name}: {value} {message}")


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "nothing"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
