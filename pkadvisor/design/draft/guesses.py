"""What data alone lets one guess of the requests to come: which property they will name."""

from __future__ import annotations

from typing import Final

from pkadvisor.design.draft.tables import DraftTable
from pkadvisor.observe.data.dataset import Column
from pkadvisor.observe.design_file.declaration import is_filter_name
from pkadvisor.observe.profile.data_profile import DataProfile, PropertyProfile
from pkadvisor.table.edm import QUOTES, SYSTEM_PROPERTIES, EdmType

_IDS: Final = ("id", "key", "number", "code", "guid", "uuid", "no")


def shown(p: PropertyProfile, data: DataProfile) -> str:
    """What the data show of a property: distinct and missing values, the most frequent one, what a key cannot hold."""
    column, facts = p.column, list[str]()
    values = data.sample.get_column(column.name).drop_nulls() if column.name not in data.hashed else None
    distinct, exact = min(p.distinct.estimate(), float(column.present)), not p.distinct.relative_error
    if not exact and data.complete and values is not None:
        distinct, exact = float(values.n_unique()), True
    if column.present and distinct >= column.present:
        facts.append("a value of its own for each entity" if exact else "about as many distinct as entities")
    else:
        facts.append(f"{'' if exact else 'about '}{distinct:,.0f} distinct")
    if column.present < data.rows:
        facts.append(f"missing in {data.rows - column.present:,} of {data.rows:,}: a key over it writes ~- there")
    if column.mixed:
        facts.append(_of_several_types(column))
    if values is not None and values.len() and 1 < distinct < column.present:
        share = int(values.unique_counts().to_numpy().max()) / values.len()
        if share >= _FREQUENT:
            facts.append(f"one value in {share:.0%}")
    if values is not None and column.edm is EdmType.STRING:
        held = int(values.str.contains(_FORBIDDEN).sum())
        if held:
            facts.append(f"{held:,} of {values.len():,} hold / \\ # ? or control characters, which keys escape")
    return "; ".join(facts)


def _of_several_types(column: Column) -> str:
    """What to declare where nearly all values have one type, and the column is read as text for the others."""
    edm, count = column.types[0]
    if column.edm is not EdmType.STRING or edm is EdmType.STRING or count < _NEARLY_ALL * column.present:
        return "values of several types"
    others = column.present - count
    return f"{others:,} of {column.present:,} values are no {edm}: declared {str(edm).lower()}, they count as missing"


_NEARLY_ALL: Final = 0.9
"""Share of one type from which the other values look like mistakes."""
_FREQUENT: Final = 0.2
_FORBIDDEN: Final = r"[/\\#?\x00-\x1f\x7f-\x9f]"


def likely_filter(table: DraftTable) -> str:
    """A filter over what an entity is most likely looked up by; empty where the data shows nothing."""
    if table.kinds:
        kind = table.kinds[0]
        names = kind.key.properties
        types = kind.types
    else:
        names = likely_keys(table)[:1]
        types = dict(table.data.types) if table.data is not None else {}
    quotes = ((name, QUOTES.get(types.get(name, EdmType.STRING), "")) for name in names)
    return " and ".join(f"{name} eq {begin}{{{name}}}{begin[-1:]}" for name, begin in quotes)


def named_as_id(name: str) -> bool:
    """Whether a property's name ends as that of an identifier does."""
    return name.lower().endswith(_IDS)


def likely_keys(table: DraftTable) -> tuple[str, ...]:
    """Properties by how well they would identify an entity: those with most distinct values, ids by name first."""
    data = table.data
    if data is None:
        return ()

    def rank(p: PropertyProfile) -> tuple[float, bool, bool, str]:
        share = p.distinct.estimate() / data.rows if data.rows else 0.0
        plain = p.column.edm in (EdmType.STRING, EdmType.GUID, EdmType.INT32, EdmType.INT64)
        return (-round(min(share, 1.0), 1), not named_as_id(p.column.name), not plain, p.column.name)

    usable = [p for p in data.properties if p.column.present == data.rows and is_filter_name(p.column.name)]
    usable = [p for p in usable if p.column.name not in SYSTEM_PROPERTIES]
    return tuple(p.column.name for p in sorted(usable, key=rank))
