"""The JSON Schema (2020-12) of each document, written from its types."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

import msgspec

from pkadvisor.documents.part import Part

ROOTS: Final = {
    "result": ("analysis", "AnalysisDocument"),
    "profile": ("profile", "StoredProfile"),
    "score": ("score", "ScoreDocument"),
    "comparison": ("comparison", "ComparisonDocument"),
    "explanation": ("explanation", "Explanation"),
    "review": ("review", "ReviewDocument"),
    "stress": ("stress", "StressDocument"),
}
"""Module and type of each document, by the name that its ``document`` member ends with."""


def document_type(name: str) -> Any:
    """What ``msgspec`` reads a document as; KeyError for a name that is none."""
    module, root = ROOTS[name]
    return getattr(import_module(f"pkadvisor.documents.{module}"), root)


def document_schema(name: str) -> dict[str, Any]:
    """The schema of a document; KeyError for a name that is none. It stands by itself, and is new for every caller."""
    root = ROOTS[name][1]
    written = msgspec.json.schema(document_type(name))
    kinds = {kind.__name__: kind for kind in _extending(Part)}
    parts: dict[str, Any] = {part: _part(schema, kinds.get(part)) for part, schema in written.pop("$defs").items()}
    body = parts.pop(root) if root in parts else _plain(written)
    version = next(part for part in (body, *parts.values()) if "schema_version" in part.get("properties", {}))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:pkadvisor:schema:{name}:{version['properties']['schema_version']['const']}",
        "title": f"pkadvisor {name}",
        **body,
        "$defs": parts,
    }


_MEMBER = re.compile(r"(?:^|\n)\s*``([\w.]+)``: ")
"""How a docstring begins to tell of a member; what stands before tells of the whole object."""


def _extending(kind: type[Part]) -> Iterator[type[Part]]:
    """A type and all that extend it."""
    yield kind
    for each in kind.__subclasses__():
        yield from _extending(each)


def _part(schema: dict[str, Any], kind: type[Part] | None) -> dict[str, Any]:
    """What a type says of itself and of its members; an object has no members but those of its fields."""
    plain = _plain(schema)
    members = plain.get("properties")
    if members is None:
        return plain
    for each in reversed(kind.__mro__ if kind else ()):
        _, *texts = _MEMBER.split(each.__doc__ or "")
        for name, text in zip(texts[::2], texts[1::2], strict=True):
            description = {"description": " ".join(text.split())}
            members[name] = {**description, **members[name], **description}
    about = " ".join(_MEMBER.split(plain.pop("description", ""))[0].split())
    return {**({"description": about} if about else {}), **plain, "additionalProperties": False}


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema in the fewest words: ``const`` for an ``enum`` of one, a list of types for what may be null."""
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("title", "discriminator", "default"):
            continue
        if key == "enum" and len(value) == 1:
            out["const"] = value[0]
        elif key == "anyOf":
            out |= _choice([_plain(choice) for choice in value])
        elif key == "properties":
            out[key] = {name: _plain(member) for name, member in value.items()}
        elif isinstance(value, dict):
            out[key] = _plain(value)
        elif key in ("prefixItems", "allOf"):
            out[key] = [_plain(item) for item in value]
        else:
            out[key] = value
    return out


def _choice(choices: list[dict[str, Any]]) -> dict[str, Any]:
    """One of several, a whole number being a number; where one of them at most says more than its type, a list of types
    says the same."""
    choices = [c for c in choices if c.get("type") != "integer" or {**c, "type": "number"} not in choices]
    if len(choices) == 1:
        return choices[0]
    detailed = [choice for choice in choices if len(choice) > 1]
    if len(detailed) > 1 or not all(isinstance(choice.get("type"), str) for choice in choices):
        return {"oneOf": choices}
    return {**(detailed[0] if detailed else {}), "type": [choice["type"] for choice in choices]}
