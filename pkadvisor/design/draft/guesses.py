"""What data alone lets one guess of the requests to come: which property they will name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pkadvisor.table.edm import EdmType

if TYPE_CHECKING:
    from pkadvisor.design.draft.tables import DraftTable
    from pkadvisor.observe.profile.profile import PropertyProfile

_IDS: Final = ("id", "key", "number", "code", "guid", "uuid", "no")


def likely_filter(table: DraftTable) -> str:
    """A filter over what an entity is most likely looked up by; empty where the data shows nothing."""
    if table.kinds:
        kind = table.kinds[0]
        names = kind.key.properties
        types = kind.types
    else:
        names = likely_keys(table)[:1]
        types = dict(table.data.types) if table.data is not None else {}
    return " and ".join(f"{name} eq {placeholder(name, types.get(name, EdmType.STRING))}" for name in names)


def placeholder(name: str, edm: EdmType) -> str:
    """A property's value as a filter of a design writes it."""
    forms = {
        EdmType.STRING: f"'{{{name}}}'",
        EdmType.DATETIME: f"datetime'{{{name}}}'",
        EdmType.GUID: f"guid'{{{name}}}'",
        EdmType.BINARY: f"X'{{{name}}}'",
    }
    return forms.get(edm, f"{{{name}}}")


def likely_keys(table: DraftTable) -> tuple[str, ...]:
    """Properties by how well they would identify an entity: those with most distinct values, ids by name first."""
    from pkadvisor.observe.design_file.declaration import is_filter_name

    data = table.data
    if data is None:
        return ()

    def rank(p: PropertyProfile) -> tuple[float, bool, bool, str]:
        share = p.distinct.estimate() / data.rows if data.rows else 0.0
        words = p.column.name.lower()
        named = any(words == word or words.endswith(("_" + word, word)) for word in _IDS)
        plain = p.column.edm in (EdmType.STRING, EdmType.GUID, EdmType.INT32, EdmType.INT64)
        return (-round(min(share, 1.0), 1), not named, not plain, p.column.name)

    usable = [p for p in data.properties if p.column.present == data.rows and is_filter_name(p.column.name)]
    usable = [p for p in usable if p.column.name not in ("PartitionKey", "RowKey", "Timestamp")]
    return tuple(p.column.name for p in sorted(usable, key=rank))
