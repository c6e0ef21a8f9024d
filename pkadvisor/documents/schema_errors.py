"""A document as a value of its type, and where it departs from that, in words."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import ValidationError, convert

from pkadvisor.documents.analysis_table import CONDITIONS
from pkadvisor.documents.schema import document_type
from pkadvisor.errors import InputError

SHOWN = 40
"""Characters of a value that are shown."""
_LARGEST = int(sys.float_info.max)
_TYPES = {
    "object": "an object",
    "array": "a list",
    "str": "a string",
    "string": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
}
_TYPE = re.compile(r"Expected `([a-z |]+)`, got ")
_MISSING = re.compile(r"Object missing required field `(.+)`")


def typed(document: dict[str, Any]) -> Any:
    """The document as its type has it; InputError (3) where it departs from that."""
    value, wrong = converted(document)
    if wrong:
        raise InputError(f"is not whole: {wrong}", fix="made by another version? run it again")
    return value


def check(document: dict[str, Any], where: str) -> None:
    """InputError (3) where a document departs from its schema, or has lists that do not go together."""
    try:
        wrong = departure(document) or uneven(document)
    except RecursionError:
        wrong = "something in it is nested too deeply"
    if wrong:
        raise InputError(f"is not whole: {wrong}", where=where, fix="made by another version? run it again")


def departure(document: dict[str, Any]) -> str:
    """``tables.0.verdict is missing``; empty where the document of a published kind keeps to its schema, and no number
    of it is too large for a float: such a one cannot be drawn, and was never written."""
    _, wrong = converted(document)
    if wrong:
        return wrong
    tables = document["tables"] if document["document"] == "pkadvisor result" else ()
    conditions = (wrong for number, table in enumerate(tables) for wrong in _unmet(table, f"tables.{number}"))
    return next(conditions, "") or next(_too_large(document, ""), "")


def converted(document: dict[str, Any]) -> tuple[Any, str]:
    """The document as its type has it, or what is wrong."""
    try:
        return convert(document, document_type(str(document["document"]).removeprefix("pkadvisor "))), ""
    except UnicodeEncodeError:  # of names: half a surrogate pair in a value is text that a table can hold
        return None, "a name in it holds half a surrogate pair"
    except ValidationError as error:
        return None, _in_our_words(str(error), document)


def _in_our_words(error: str, document: dict[str, Any]) -> str:
    """What ``msgspec`` says, in our words and with the value itself where its type is not what is wrong."""
    what, _, way = error.rpartition(" - at `$") if " - at `$" in error else (error, "", "")
    steps, value = _followed(way.rstrip("`"), document)
    missing, wanted = _MISSING.match(what), _TYPE.match(what)
    if missing:
        return f"{'.'.join([*steps, missing[1]])} is missing"
    place = ".".join(steps) or "the document"
    if wanted:
        types = [name for name in wanted[1].split(" | ") if not (name == "int" and "float" in wanted[1])]
        return f"{place} is not {' or '.join(_TYPES.get(name, name) for name in types)}"
    text = repr(value)
    return f"{place} cannot be {text if len(text) <= SHOWN else text[:SHOWN] + '…'}"


def _followed(way: str, value: Any) -> tuple[list[str], Any]:
    """The steps of ``.runs[0].latency_ms_p99.9``, whose names may hold dots, and the value behind them."""
    steps: list[str] = []
    while way:
        if way.startswith("[") and isinstance(value, list):
            step = way[1 : way.index("]")]
            value, way = value[int(step)], way[len(step) + 2 :]
        elif way.startswith("[...]"):  # some value of an object whose names are data
            step, value, way = "...", "what it is", way[5:]
        else:
            names = [name for name in value if way[1:].startswith(name)] if isinstance(value, dict) else []
            step = max(names, key=len, default=way[1:])
            value, way = value[step] if names else "what it is", way[len(step) + 1 :]
        steps.append(step)
    return steps, value


def _unmet(table: dict[str, Any], place: str) -> Iterator[str]:
    """What of ``CONDITIONS`` a table does not keep to."""
    types: dict[str, type] = {"object": dict, "string": str, "null": type(None)}
    for condition in CONDITIONS["allOf"]:
        ((member, values),) = condition["if"]["properties"].items()
        holds = table[member] in values.get("enum", [values.get("const")])
        for name, wanted in condition.get("then" if holds else "else", {"properties": {}})["properties"].items():
            if not isinstance(table[name], types[wanted["type"]]):
                yield f"{place}.{name} is not {_TYPES.get(wanted['type'], wanted['type'])}"


def _too_large(value: Any, place: str) -> Iterator[str]:
    """Whole numbers that no float can hold."""
    if isinstance(value, int) and abs(value) > _LARGEST:
        yield f"{place} is not a number"
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in inside:
        yield from _too_large(item, f"{place}.{step}".lstrip("."))


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
