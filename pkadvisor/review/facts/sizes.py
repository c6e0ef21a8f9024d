"""How large an entity is, as declared or as measured; nothing where nobody says."""

from __future__ import annotations

from pkadvisor.observe.workload import Basis
from pkadvisor.review.facts.base import Known
from pkadvisor.review.subjects import TableView
from pkadvisor.table.edm import STORED_BYTES, EdmType

SYSTEM = ("PartitionKey", "RowKey", "Timestamp")
JSON_BYTES = 6
"""Quotes, colon, comma and the shortest value of a property in a request."""


def declared_sizes(view: TableView) -> dict[str, int]:
    """Declared mean sizes by property: characters of texts, bytes of binaries."""
    declared = view.section.declared
    if declared is None:
        return {}
    kind = next((k for k in declared.kinds if k.name == view.section.kind), None)
    return dict(kind.sizes if kind is not None else declared.sizes)


def lengths(view: TableView) -> dict[str, tuple[float, Basis]]:
    """Mean characters or bytes of a value by property, over all rows: declared, else measured; others are left out."""
    found: dict[str, tuple[float, Basis]] = {}
    data = view.section.data
    for each in data.properties if data is not None else ():
        edm = each.column.edm
        if data is not None and edm in (EdmType.STRING, EdmType.BINARY):
            per_row = each.characters / max(1, data.rows)
            found[each.column.name] = (per_row / (2 if edm is EdmType.BINARY else 1), Basis.COUNTED)
    return {**found, **{name: (float(size), Basis.DECLARED) for name, size in declared_sizes(view).items()}}


def names(view: TableView) -> tuple[str, ...]:
    """Properties of an entity beside the service's own."""
    return tuple(n for n in dict.fromkeys((*view.types, *declared_sizes(view))) if n not in SYSTEM)


def request_bytes(view: TableView) -> Known | None:
    """The least bytes of one entity in a request: a character takes one byte at least, a binary four for three.

    Unknown where neither the design nor the data gives a size.
    """
    found = lengths(view)
    if not found:
        return None
    total = 0.0
    for name in names(view):
        size = found.get(name, (0.0, Basis.UNKNOWN))[0]
        total += len(name) + JSON_BYTES + size * (4 / 3 if view.types.get(name) is EdmType.BINARY else 1)
    return Known(total, _basis(found))


def entity_bytes(view: TableView) -> Known | None:
    """Stored bytes of one entity without its keys (capacity formula of 2010): the largest of the data, or the mean of
    declared sizes where that is more. Unknown where nobody gives a size."""
    found = lengths(view)
    if not found:
        return None
    total = 0.0
    for name in names(view):
        edm = view.types.get(name, EdmType.STRING)
        size = found.get(name, (0.0, Basis.UNKNOWN))[0]
        total += 8 + 2 * len(name) + STORED_BYTES[edm] + size * (2 if edm is EdmType.STRING else 1)
    if view.has_data and view.bench is not None and view.scheme is not None:
        from pkadvisor.design.upkeep import largest_bytes

        largest = largest_bytes(view.scheme, view.bench)
        if largest > total:
            return Known(largest, Basis.COUNTED)
    return Known(total, _basis(found))


def _basis(found: dict[str, tuple[float, Basis]]) -> Basis:
    return Basis.DECLARED if any(basis is Basis.DECLARED for _, basis in found.values()) else Basis.COUNTED
