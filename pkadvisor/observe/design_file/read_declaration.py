"""A design file read: YAML, checked against its schema, then what its values say together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from pkadvisor.errors import UsageError, did_you_mean, of_several
from pkadvisor.files import head_of
from pkadvisor.observe.design_file.declaration import NAMES_ALLOWED, Declaration, TableDeclaration, is_table_name
from pkadvisor.observe.design_file.declaration_build import TableBuilder
from pkadvisor.observe.design_file.declaration_model import DesignModel
from pkadvisor.observe.design_file.declaration_yaml import DATA_HINT, Document, Path_, read_text

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


_COMPARED = re.compile(r"([^\W\d]\w*(?:\.\w+)*)\s+(?:eq|ne|gt|ge|lt|le)\b")
_TEXTS = re.compile(r"'(?:[^']|'')*+'")
_NAME_MAX = 48
"""Characters of a name made here, before the number that tells it from others of the same shape."""


def name_what_has_no_name(content: object) -> None:
    """Add a ``name`` to each query, write and transaction without one; whatever else is wrong stays as it is."""
    for table in _mappings(content, "tables"):
        shape = partial(_of_class, several_kinds=bool(table.get("kinds")))
        _complete([*_items(table, "queries"), *_items(table, "writes")], shape)
        _complete(_items(table, "transactions"), lambda part: "-".join(_texts(part.get("together"))) or "together")


def _complete(parts: list[dict[str, Any]], shape: Callable[[dict[str, Any]], str]) -> None:
    taken = {part["name"] for part in parts if isinstance(part.get("name"), str)}
    for part in parts:
        if "name" not in part:
            base = "".join(c if c.isprintable() else "?" for c in shape(part))[:_NAME_MAX].strip() or "unnamed"
            numbered = (base if n == 1 else f"{base}-{n}" for n in range(1, len(parts) + len(taken) + 2))
            part["name"] = next(name for name in numbered if name not in taken)
            taken.add(part["name"])


def _of_class(part: dict[str, Any], several_kinds: bool) -> str:
    """``by-event-bib``, ``all``, ``insert``, ``update-age-by-bib``; with the kind before it where there are several."""
    given = part.get("filter")
    compared = _COMPARED.findall(_TEXTS.sub("''", given)) if isinstance(given, str) else _texts(part.get("key"))
    by = ["by", *dict.fromkeys(compared)] if compared else []
    operation = part.get("operation")
    words = [operation, *_texts(part.get("sets")), *by] if isinstance(operation, str) else by or ["all"]
    kind = part.get("kind")
    return "-".join([kind, *words] if several_kinds and isinstance(kind, str) else words)


def _texts(value: object) -> list[str]:
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, str)]


def _mappings(content: object, key: str) -> Iterator[dict[str, Any]]:
    below = content.get(key) if isinstance(content, dict) else None
    yield from (value for value in below.values() if isinstance(value, dict)) if isinstance(below, dict) else ()


def _items(table: dict[str, Any], key: str) -> list[dict[str, Any]]:
    below = table.get(key)
    return [item for item in below if isinstance(item, dict)] if isinstance(below, list) else []


_DESIGN_HEAD: Final = re.compile(rb'^[\s{]*"?schema"?\s*:\s*\d[\s,]*"?tables"?\s*:\s*(\{|\n)')
_COMMENTS: Final = re.compile(rb"#[^\n]*")


def is_design(path: Path) -> bool:
    """Whether a file begins as a design does: with its schema and its tables."""
    return _DESIGN_HEAD.search(_COMMENTS.sub(b"", head_of(path))) is not None


def load_declaration(path: Path | str, text: str | None = None) -> Declaration:
    """Read and check a design file; ``text`` takes the place of the file's content.

    Raises UsageError with ``FILE:LINE:COLUMN`` for the first thing that is wrong, in file order; the next ones are told
    in a line each.
    """
    return read_declaration(path, text)[0]


def read_declaration(
    path: Path | str, text: str | None = None, *, any_names: bool = False
) -> tuple[Declaration, Document]:
    """As ``load_declaration``, and the document, which knows the place of every value; with ``any_names`` also where
    the service refuses the name of a table for its hyphens, its underscores or its length."""
    from pydantic import ValidationError

    document = Document(str(path), read_text(Path(path)) if text is None else text)
    if document.content is None:
        raise UsageError("the design file is empty", where=str(path), fix="start with schema: 1 and tables:")
    name_what_has_no_name(document.content)
    try:
        design = DesignModel.model_validate(document.content)
    except ValidationError as error:
        raise of_several(refusals(document, error)) from None
    folded: dict[str, str] = {}
    for name in design.tables:
        at: Path_ = ("tables", name)
        if not is_table_name(name, meant=any_names):
            what = f"'{name}' is not a table name"
            raise document.error(at, what, NAMES_ALLOWED, at_key=True)
        if name.lower() in folded:
            what = f"'{name}' and '{folded[name.lower()]}' are one table: names ignore case"
            raise document.error(at, what, "merge them", at_key=True)
        folded[name.lower()] = name
    tables, errors = list[TableDeclaration](), list[UsageError]()
    for name, table in design.tables.items():
        builder = TableBuilder(document, name, table)
        with builder.collected():
            tables.append(builder.declaration())
        errors += builder.errors
    if errors:
        raise of_several(errors)
    return Declaration(str(path), tuple(tables)), document
