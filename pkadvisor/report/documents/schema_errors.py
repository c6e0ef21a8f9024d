"""Whether a document is as its published schema says: the first place where it is not, in words.

It is asked only where a document could not be drawn, to tell a broken document from a bug.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from pkadvisor.documents.schema import document_schema

if TYPE_CHECKING:
    from jsonschema import TypeChecker
    from jsonschema.exceptions import ValidationError

SHOWN = 40
"""Characters of a value that are shown."""
LARGEST = sys.float_info.max


def departure(document: dict[str, Any]) -> str:
    """``tables.0.verdict is missing``; empty where the document of a published kind keeps to its schema."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match
    from jsonschema.validators import extend

    schema = document_schema(str(document["document"]).removeprefix("pkadvisor "))
    types = Draft202012Validator.TYPE_CHECKER
    for name in ("number", "integer"):
        types = types.redefine(name, partial(_is, types, name))
    validator = extend(Draft202012Validator, type_checker=types)
    worst = best_match(validator(schema).iter_errors(document))
    return "" if worst is None else _told(worst)


def _is(types: TypeChecker, name: str, _: TypeChecker, value: object) -> bool:
    """Whether a value is such a number: one that no float can hold cannot be drawn, and was never written."""
    return types.is_type(value, name) and abs(value) <= LARGEST  # type: ignore[arg-type]


_TYPES = {
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
}


def _told(error: ValidationError) -> str:
    """In our words: those of the validator repeat all of a value."""
    path = [str(step) for step in error.absolute_path]
    if error.validator == "required":
        missing = next(name for name in error.validator_value if name not in error.instance)
        return f"{'.'.join([*path, missing])} is missing"
    place = ".".join(path) or "the document"
    if error.validator == "type":
        types = [error.validator_value] if isinstance(error.validator_value, str) else error.validator_value
        return f"{place} is not {' or '.join(_TYPES.get(name, name) for name in types)}"
    value = repr(error.instance)
    return f"{place} cannot be {value if len(value) <= SHOWN else value[:SHOWN] + '…'}"


Unequal = Iterator[tuple[str, int, int]]
"""Place, length, the length that it should have."""


def uneven(document: dict[str, Any]) -> str:
    """``tables.0.heat.designs.0.rows holds 5, not 6``; empty where all lists that go together do. The document keeps
    to its schema."""
    return next((f"{place} holds {length:,}, not {wanted:,}" for place, length, wanted in _all(document, "")), "")


def _all(value: Any, place: str) -> Unequal:
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _all(item, f"{place}.{number}")
    elif isinstance(value, dict):
        for key, item in value.items():
            at = f"{place}.{key}".lstrip(".")
            rule = _RULES.get(key)
            if rule is not None and isinstance(item, dict):
                yield from ((f"{at}{rest}", length, wanted) for rest, length, wanted in rule(item) if length != wanted)
            yield from _all(item, at)


def _heat(heat: dict[str, Any]) -> Unequal:
    """Of a result: cells by design, with the sums of their rows and columns; of a stress test: rows of cells."""
    for number, design in enumerate(heat.get("designs", ())):
        cells, at = design["per_mille"], f".designs.{number}"
        if not cells or not cells[0]:
            yield f"{at}.per_mille", 0, 1
            return
        yield from ((f"{at}.{name}", len(design[name]), len(cells)) for name in ("rows", "row_per_s"))
        yield f"{at}.column_per_s", len(design["column_per_s"]) or len(cells[0]), len(cells[0])
        yield from ((f"{at}.per_mille.{i}", len(row), len(cells[0])) for i, row in enumerate(cells))
    if "rows" in heat:
        lengths = [len(row["times_target"]) for row in heat["rows"]]
        yield from ((f".rows.{i}.times_target", length, lengths[0]) for i, length in enumerate(lengths))


def _sensitivity(sensitivity: dict[str, Any]) -> Unequal:
    for number, design in enumerate(sensitivity.get("designs", ())):
        at = f".designs.{number}.grid"
        yield at, len(design["grid"]), len(sensitivity["loads"])
        yield from ((f"{at}.{i}", len(row), len(sensitivity["growths"])) for i, row in enumerate(design["grid"]))


def _designs(part: dict[str, Any]) -> Unequal:
    if "designs" in part:
        yield ".designs", min(1, len(part["designs"])), 1


_RULES: dict[str, Callable[[Any], Unequal]] = {
    "heat": _heat,
    "sensitivity": _sensitivity,
    "forecast": _designs,
    "cost": _designs,
}
"""By the name of the member that the lists stand in."""
