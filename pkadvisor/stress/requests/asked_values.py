"""The values that a request asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from pkadvisor.observe.workload import QueryClass
from pkadvisor.table.edm import TypedValue
from pkadvisor.table.filters import entity_number
from pkadvisor.table.odata import parameters


class AskedValue(NamedTuple):
    """A parameter of a filter: ``{x.or3}`` is the property ``plain`` (``x``) of the entity ``number`` (3)."""

    name: str
    plain: str
    number: int


def parameters_asked(query: QueryClass) -> tuple[AskedValue, ...]:
    """The parameters of the filter of a class, each once."""
    return tuple(
        AskedValue(name, *entity_number(name)) for name in (() if query.filter is None else parameters(query.filter))
    )


def values_asked(
    asked: tuple[AskedValue, ...], drawn: Callable[[int], Mapping[str, TypedValue]]
) -> dict[str, TypedValue]:
    """The values of drawn entities that fill the parameters of a query: ``drawn(0)`` is the one whose values it asks
    for, and ``{x.or3}`` of a design is the ``x`` of ``drawn(2)``. A log has a value of its own for ``{x.or3}``."""
    first, out = drawn(0), dict[str, TypedValue]()
    for name, plain, number in asked:
        row, name_in_row = (first, name) if number == 1 or name in first else (drawn(number - 1), plain)
        if name_in_row in row:
            out[name] = row[name_in_row]
    return out
