"""A document as a value of its type, and where it departs from that, in words."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import ValidationError, convert

from pkadvisor.documents.analysis_table import RULES, AnalysisTable
from pkadvisor.documents.part import Part
from pkadvisor.documents.schema import document_type
from pkadvisor.errors import InputError

if TYPE_CHECKING:
    from pkadvisor.documents.stress import StressDesign
    from pkadvisor.documents.stress_run import StressTotals

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


def check(document: dict[str, Any], where: str) -> Any:
    """The document as its type has it; InputError (3) where it departs from its schema, or has lists that do not go
    together."""
    value, wrong = converted(document)
    try:
        wrong = wrong or _beyond_types(value, document)
    except RecursionError:
        wrong = "something in it is nested too deeply"
    if wrong:
        raise InputError(f"is not whole: {wrong}", where=where, fix="made by another version? run it again")
    return value


def departure(document: dict[str, Any]) -> str:
    """``tables.0.verdict is missing``; empty where the document of a published kind keeps to its schema, lists that go
    together are as long as each other, and no number is too large for a float: such a one was never written."""
    value, wrong = converted(document)
    return wrong or _beyond_types(value, document)


def _beyond_types(value: Any, document: dict[str, Any]) -> str:
    """What its type does not say of a document."""
    tables = value.tables if value.document == "pkadvisor result" else ()
    conditions = (wrong for number, table in enumerate(tables) for wrong in _unmet(table, f"tables.{number}"))
    uneven = (
        f"{place} holds {length:,}, not {wanted:,}" for place, length, wanted in _uneven(value) if length != wanted
    )
    return next(conditions, "") or next(_too_large(document, ""), "") or next(uneven, "")


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


def _unmet(table: AnalysisTable, place: str) -> Iterator[str]:
    """What of ``RULES`` a table does not keep to."""
    types: dict[str, type] = {"object": Part, "string": str, "null": type(None)}
    for member, values, then, otherwise in RULES:
        for name, wanted in (then if getattr(table, member) in values else otherwise).items():
            if not isinstance(getattr(table, name), types[wanted]):
                yield f"{place}.{name} is not {_TYPES.get(wanted, wanted)}"


def _too_large(value: Any, place: str) -> Iterator[str]:
    """Whole numbers that no float can hold."""
    if isinstance(value, int) and abs(value) > _LARGEST:
        yield f"{place} is not a number"
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in inside:
        yield from _too_large(item, f"{place}.{step}".lstrip("."))


Unequal = Iterator[tuple[str, int, int]]
"""Place, length, the length that it should have."""


def _uneven(document: Any) -> Unequal:
    """The lists that go together."""
    if document.document == "pkadvisor result":
        for number, table in enumerate(document.tables):
            yield from _of_table(table, f"tables.{number}")
    elif document.document == "pkadvisor stress":
        for number, table in enumerate(document.tables):
            if document.complete and not table.designs:
                yield f"tables.{number}.designs", 0, 1
            yield f"tables.{number}.verdict.designs", len(table.verdict.designs), len(table.designs)
            for place, design in enumerate(table.designs):
                yield from _of_design(design, f"tables.{number}.designs.{place}")


def _of_table(table: AnalysisTable, place: str) -> Unequal:
    """Cells of its heat maps, with the sums of their rows and columns; a design at least in each other part."""
    for number, design in enumerate(table.heat.designs if table.heat else ()):
        cells, at = design.per_mille, f"{place}.heat.designs.{number}"
        if not cells or not cells[0]:
            yield f"{at}.per_mille", 0, 1
            return
        yield from ((f"{at}.{name}", len(getattr(design, name)), len(cells)) for name in ("rows", "row_per_s"))
        yield f"{at}.column_per_s", len(design.column_per_s) or len(cells[0]), len(cells[0])
        yield from ((f"{at}.per_mille.{i}", len(row), len(cells[0])) for i, row in enumerate(cells))
    for name, part in (("forecast", table.forecast), ("cost", table.cost)):
        if part is not None:
            yield f"{place}.{name}.designs", min(1, len(part.designs)), 1
    if (varied := table.sensitivity) is not None:
        for number, tried in enumerate(varied.designs):
            at = f"{place}.sensitivity.designs.{number}.grid"
            yield at, len(tried.grid), len(varied.loads)
            yield from ((f"{at}.{i}", len(row), len(varied.growths)) for i, row in enumerate(tried.grid))


def _of_design(design: StressDesign, place: str) -> Unequal:
    """The cells of each row of its heat maps."""
    runs: list[tuple[str, StressTotals]] = [(f"{place}.runs.{n}", run) for n, run in enumerate(design.runs)]
    runs += [(f"{place}.measured.run", design.measured.run)] if design.measured else []
    for at, run in runs:
        lengths = [len(row.times_target) for row in run.heat.rows]
        yield from ((f"{at}.heat.rows.{i}.times_target", n, lengths[0]) for i, n in enumerate(lengths))
