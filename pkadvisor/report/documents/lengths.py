"""Lists of a document that must be as long as one another, or hold anything at all: what a JSON Schema cannot say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

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
