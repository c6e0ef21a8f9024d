"""Whether a document is as its published schema says: the first place where it is not, in words.

It knows the keywords that the schemas of documents use, and skips what says nothing of the shape (``pattern``, members
that no schema names). It is asked only where a document could not be drawn, to tell a broken document from a bug.
"""

from __future__ import annotations

import json
import math
from functools import cache
from typing import Any, NamedTuple

from pkadvisor.resources import resource

_TYPES: dict[str, Any] = {
    "string": str,
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
    "integer": (int, float),
    "number": (int, float),
}


class _Wrong(NamedTuple):
    """How deep the place lies, and what is wrong there."""

    depth: int
    what: str


class _At(NamedTuple):
    """A part of a schema with the file that it is from, and how deep the value lies."""

    file: str
    schema: Any
    depth: int


def departure(document: dict[str, Any]) -> str:
    """``tables.0.verdict is missing``; empty where the document of a published kind keeps to its schema."""
    name = str(document["document"]).removeprefix("pkadvisor ")
    found = _wrong(document, _At(name, _schema(name), 0), "")
    return found.what if found is not None else ""


@cache
def _schema(name: str) -> Any:
    return json.loads(resource("schemas", f"{name}.schema.json").read_bytes())


def _wrong(value: Any, at: _At, path: str) -> _Wrong | None:
    schema, depth = at.schema, at.depth
    if not isinstance(schema, dict):
        return None
    place = path or "the document"
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(_is(value, name) for name in types):
        return _Wrong(depth, f"{place} is no {' or '.join(types)}")
    if ("const" in schema and value != schema["const"]) or ("enum" in schema and value not in schema["enum"]):
        return _Wrong(depth, f"{place} cannot be {str(value)[:40]!r}")
    if _number(value) and not schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf):
        return _Wrong(depth, f"{place} is out of its range")
    return _inside(value, at, path) or _also(value, at, path)


def _is(value: Any, name: str) -> bool:
    if name in ("integer", "number"):  # one that no float can hold cannot be drawn, and was never written
        return _number(value) and abs(value) < 1e300 and (name == "number" or value == int(value))
    return isinstance(value, _TYPES[name])


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _inside(value: Any, at: _At, path: str) -> _Wrong | None:
    """What is wrong with a member or an item."""
    schema, deeper = at.schema, at.depth + 1
    steps: list[tuple[str, Any, Any]] = []
    if isinstance(value, dict):
        missing = next((key for key in schema.get("required", ()) if key not in value), None)
        if missing is not None:
            return _Wrong(deeper, f"{f'{path}.{missing}' if path else missing} is missing")
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        steps = [(key, item, known.get(key, others)) for key, item in value.items()]
    elif isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            return _Wrong(at.depth, f"{path} has too few items")
        steps = [(str(number), item, schema.get("items")) for number, item in enumerate(value)]
    found = (_wrong(item, _At(at.file, part, deeper), f"{path}.{key}" if path else key) for key, item, part in steps)
    return next((wrong for wrong in found if wrong is not None), None)


def _also(value: Any, at: _At, path: str) -> _Wrong | None:
    """What is wrong by the schemas that this one names."""
    file, schema, depth = at
    if "$ref" in schema:
        found = _wrong(value, _referred(at), path)
        if found is not None:
            return found
    for part in schema.get("allOf", ()):
        found = _wrong(value, _At(file, part, depth), path)
        if found is not None:
            return found
    if "if" in schema:
        holds = _wrong(value, _At(file, schema["if"], depth), path) is None
        found = _wrong(value, _At(file, schema.get("then" if holds else "else"), depth), path)
        if found is not None:
            return found
    tried = [_wrong(value, _At(file, part, depth), path) for part in schema.get("oneOf", ())]
    # None of them fits: the one that fits furthest is what was meant.
    return max((one for one in tried if one is not None), key=lambda one: one.depth) if tried and all(tried) else None


def _referred(at: _At) -> _At:
    """What ``#/$defs/scheme`` or ``urn:pkadvisor:schema:result:1.0#/…`` stands for."""
    document, _, pointer = at.schema["$ref"].partition("#")
    file = document.split(":")[3] if document else at.file
    schema = _schema(file)
    for step in pointer.strip("/").split("/"):
        schema = schema[step] if step else schema
    return _At(file, schema, at.depth)
