"""The shape of ``pkadvisor.toml`` as a JSON Schema, for editors."""

from __future__ import annotations

from typing import Any

from pkadvisor.cli.settings_file import FAIL_ON, REVIEW, SEVERITIES, SUPPRESS, TOP

_TEXT: dict[str, Any] = {"type": "string"}
_PATH: dict[str, Any] = {"type": "string", "minLength": 1}
_PATHS: dict[str, Any] = {"oneOf": [_PATH, {"type": "array", "items": _PATH}]}
_FULL: dict[str, Any] = {"type": "string", "pattern": r"\S"}


def _closed(about: str, properties: dict[str, Any], required: tuple[str, ...] = ()) -> dict[str, Any]:
    made: dict[str, Any] = {"description": about, "type": "object", "additionalProperties": False}
    return {**made, **({"required": list(required)} if required else {}), "properties": properties}


def _limit(*, whole: bool, may_be_zero: bool) -> dict[str, Any]:
    least = {"minimum": 0} if may_be_zero else {"exclusiveMinimum": 0}
    number = {"type": "integer" if whole else "number", **least, "exclusiveMaximum": 1e18}
    section = _closed(
        "A number with its origin.",
        {
            "value": number,
            "unit": _TEXT,
            "source": _TEXT,
            "date": {"description": "When it was last checked."},
            "basis": {"enum": ["published", "derived", "assumed", "measured"]},
        },
    )
    return {"oneOf": [number, section]}


def _kind(whole: bool, may_be_zero: bool) -> str:
    return f"{'count' if whole else 'number'}{'_or_zero' if may_be_zero else ''}"


def _review() -> dict[str, Any]:
    """The section ``review``: what that command alone looks at."""
    day = {"type": "string", "pattern": "^(?:[0-9]{4}-[0-9]{2}-[0-9]{2})?$", "description": "The last day."}
    review: dict[str, Any] = {
        "select": {"type": "array", "items": _TEXT, "description": "Only these rules: ids, names or prefixes of ids."},
        "ignore": {"type": "array", "items": _TEXT, "description": "Not these rules."},
        "severity": {
            "description": "The severity of whatever a rule finds, in place of its own.",
            "type": "object",
            "additionalProperties": {"enum": list(SEVERITIES)},
        },
        "suppress": {
            "description": "Findings that may pass, in designs that cannot be annotated.",
            "type": "array",
            "items": _closed(
                "One suppression.",
                {
                    "rule": _FULL,
                    "path": {**_TEXT, "description": "A glob of design files; empty: all."},
                    "target": {**_TEXT, "description": "A logical path such as tables.Orders.partition_key."},
                    "reason": _FULL,
                    "until": day,
                },
                ("rule", "reason"),
            ),
        },
    }
    assert tuple(review) == REVIEW and tuple(review["suppress"]["items"]["properties"]) == SUPPRESS
    return review


def config_schema() -> dict[str, Any]:
    """The schema."""
    from pkadvisor.design.cost.budgets import BOUNDS
    from pkadvisor.limits import MAY_BE_ZERO, NAMES, WHOLE

    limits = _closed(
        "Limits, prices or measured capacities over the bundled ones.",
        {
            "schema": {"const": 1},
            "store": _PATH,
            **{name: {"$ref": f"#/$defs/{_kind(name in WHOLE, name in MAY_BE_ZERO)}"} for name in NAMES},
        },
    )
    bound = {
        "oneOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": r"^\s*[0-9.]+(?:e-?[0-9]+)?%?\s*$"}]
    }
    budget = _closed(
        "Hard limits besides those of the service.",
        {key: {**bound, "description": f"At most, in {b.unit}."} for key, b in BOUNDS.items()},
    )
    properties: dict[str, Any] = {
        "schema": {"const": 1},
        "designs": {**_PATHS, "description": "Design files or globs that 'advisor review' takes when none is named."},
        "data": {**_PATHS, "description": "Data files that 'advisor analyze' reads when none is named."},
        "logs": {**_PATHS, "description": "Query logs that 'advisor analyze' reads when none is named."},
        "account": {**_TEXT, "description": "The storage account that is meant where these logs are of several."},
        "max_bad_lines": {**_TEXT, "description": "Share of unreadable lines, rows or files above which to give up."},
        "log_fraction": {**_TEXT, "description": "Share of the requests that these logs hold."},
        "profile": {**_PATHS, "description": "Profiles of the tables, made by 'advisor profile'."},
        "fail_on": {"enum": list(FAIL_ON), "description": "The mildest severity that fails; error by default."},
        "baseline": {**_PATH, "description": "The file of findings that may stay."},
        "rules": {**_PATHS, "description": "Folders with rules of your own."},
        "limits": {"oneOf": [_PATH, {"type": "array", "items": _PATH}, limits]},
        "budget": budget,
        "review": _closed("What 'advisor review' alone looks at.", _review()),
    }
    assert tuple(properties) == TOP
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pkadvisor.toml, or [tool.pkadvisor] of pyproject.toml; paths are relative to the file",
        **_closed("Settings of a project.", properties),
        "$defs": {
            _kind(whole, zero): _limit(whole=whole, may_be_zero=zero)
            for whole in (True, False)
            for zero in (True, False)
        },
    }
