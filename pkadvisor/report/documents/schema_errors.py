"""Whether a document is as its published schema says: the first place where it is not, in words.

It is asked only where a document could not be drawn, to tell a broken document from a bug.
"""

from __future__ import annotations

import sys
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
