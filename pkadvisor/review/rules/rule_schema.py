"""The shape of a rule file as a JSON Schema, for editors; what hangs on facts is checked when the file is read."""

from __future__ import annotations

from typing import Any

from pkadvisor.review.rules.rule import CASE_KEYS, ID, NAME, PRECISIONS, Need
from pkadvisor.review.views.findings import Severity
from pkadvisor.review.views.subjects import Scope

_TEXT: dict[str, Any] = {"type": "string"}
_WORDS: dict[str, Any] = {"type": "string", "pattern": r"\S"}
_TEXTS: dict[str, Any] = {"type": "array", "items": _TEXT, "uniqueItems": True}
_SEVERITY: dict[str, Any] = {"enum": [str(s) for s in Severity]}


def _section(about: str, required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "description": about,
        "type": "array",
        "items": {"type": "object", "additionalProperties": False, "required": required, "properties": properties},
    }


def _levels() -> dict[str, Any]:
    return _section(
        "Severities, worst conditions first: the first whose condition holds is the finding.",
        ["severity", "when"],
        severity=_SEVERITY,
        when={**_TEXT, "description": "A condition in CEL over the facts: advisor rules facts."},
        message={**_TEXT, "description": "With {facts}; a piece in [brackets] is left out if one is unknown."},
        fix={**_WORDS, "description": "What to do at this level, where that is not the fix of the rule."},
        measured={**_TEXT, "description": "The number of this level, where that is not the one of the rule."},
        limit={**_TEXT, "description": "What that is compared with."},
        unit=_TEXT,
    )


def rule_schema() -> dict[str, Any]:
    """The schema."""
    case = dict.fromkeys(CASE_KEYS[1:], _TEXT)
    properties: dict[str, Any] = {
        "id": {"type": "string", "pattern": f"^{ID}$", "description": "Capital letters and digits, such as ACME001."},
        "name": {"type": "string", "pattern": f"^{NAME}$", "description": "Lower-case words with hyphens."},
        "title": {**_WORDS, "description": "What is wrong, in one line."},
        "scope": {"enum": [str(s) for s in Scope], "description": "What the rule is asked about."},
        "needs": {"type": "array", "items": {"enum": [str(n) for n in Need]}, "uniqueItems": True},
        "level": _levels(),
        "measured": {**_TEXT, "description": "The number of the finding, as a CEL expression."},
        "limit": {**_TEXT, "description": "The limit that it is compared with, as a CEL expression."},
        "unit": _TEXT,
        "ratchet": {"type": "boolean", "description": "Whether a baseline holds a finding to its number."},
        "place": {**_TEXT, "description": "The key below the subject that a finding points at."},
        "proposes": {"type": "boolean", "description": "Whether the keys that the adviser would take are proposed."},
        "why": _WORDS,
        "bad": {**_TEXT, "description": "An example, as YAML."},
        "good": {**_TEXT, "description": "The same made right, as YAML."},
        "fix": _WORDS,
        "links": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["title"],
                "properties": {"title": _TEXT, "url": {"type": "string", "pattern": r"^https?://\S+$"}},
            },
        },
        "precision": {"enum": list(PRECISIONS)},
        "tags": _TEXTS,
        "aliases": {
            "type": "array",
            "items": {"type": "string", "pattern": f"^(?:{ID}|{NAME})$"},
            "uniqueItems": True,
        },
        "fail": _section("Designs that the rule must find.", ["design"], severity=_SEVERITY, **case),
        "pass": _section("Designs that it must be silent on.", ["design"], severity=_SEVERITY, **case),
        "builtin": {"type": "boolean"},
        "severity": _SEVERITY,
    }
    built_in = {"properties": {"builtin": {"const": True}}, "required": ["builtin"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A rule of advisor review",
        "type": "object",
        "additionalProperties": False,
        "required": ["id", "name", "title", "scope", "why", "fix"],
        "properties": properties,
        "if": built_in,
        "then": {"not": {"required": ["level"]}},
        "else": {"required": ["level"], "properties": {"level": {"minItems": 1}}},
    }
