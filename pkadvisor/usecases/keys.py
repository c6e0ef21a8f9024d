"""``advisor keys``: what could be a key of data of which no query is known."""

from __future__ import annotations

from itertools import chain, combinations
from typing import Final

from pkadvisor.design.draft.guesses import likely_keys, named_as_id
from pkadvisor.design.draft.tables import DraftTable
from pkadvisor.design.keys.template import format_template
from pkadvisor.documents.keys import KeysDocument, KeysProperty, KeysTable, KeysTemplates
from pkadvisor.errors import InputError
from pkadvisor.inputs import AnalyzeRequest, draft_of
from pkadvisor.lazy import pl
from pkadvisor.observe.profile.data_profile import DataProfile, PropertyProfile
from pkadvisor.progress import Progress
from pkadvisor.table.edm import KEYS, EdmType

TRIED_MAX: Final = 10
"""Properties of which pairs are tried: those that tell most entities apart."""
PAIRS_MAX: Final = 5
COARSE: Final = 8
"""Fewer values than this are few partitions for any load that grows."""
SHARE_MOST: Final = 0.2
"""A partition with more of the entities than this is no division of them."""
NEARLY_UNIQUE: Final = 0.9
"""Distinct values for each entity from which partitions hold one entity each, so that nothing is read together."""
CHARACTERS_MOST: Final = 64
"""Longer values are texts to be read, which no request names."""
_DIGITS: Final = {EdmType.INT32: 10, EdmType.INT64: 19}


def possible_keys(request: AnalyzeRequest, progress: Progress) -> KeysDocument:
    """The document of ``advisor keys``: of each table its properties, what tells entities apart, what divides them.

    InputError (3) where no file has entities.
    """
    drafted, _, _ = draft_of(request, progress)
    tables = [_table(table) for table in drafted.tables if table.data is not None and not table.from_log]
    if not tables:
        raise InputError("there are no entities to look at", fix="name data files: CSV, JSON lines or Parquet")
    return KeysDocument(document="pkadvisor keys", schema_version=1, tables=tables)


def _table(table: DraftTable) -> KeysTable:
    data = table.data
    assert data is not None
    frame = data.sample
    usable = [name for name in likely_keys(table) if name not in data.hashed]
    properties = [_property(p, data) for p in data.properties if p.column.name not in (*KEYS, "Timestamp")]
    known = {p.name: p for p in properties}
    alone = [name for name in usable if known[name].distinct == frame.height and _fits(known[name])]
    paired = sorted((n for n in usable if n not in alone and _fits(known[n])), key=lambda n: _measure(known[n]))
    pairs = _unique_pairs(frame, paired) if not alone else []
    dividing = [known[name] for name in usable if name not in alone and 1 < known[name].distinct < frame.height]
    dividing = [p for p in dividing if _fits(p) and p.type != "datetime"]
    dividing.sort(key=lambda p: (p.largest_share > SHARE_MOST, -p.distinct, p.name))
    return KeysTable(
        table=table.name,
        entities=data.rows,
        looked_at=frame.height,
        exported_keys=[
            KeysTemplates(partition_key=format_template(kind.key.partition), row_key=format_template(kind.key.row))
            for kind in table.kinds
        ],
        properties=properties,
        identifies=[[name] for name in alone] + [list(pair) for pair in pairs],
        divides=[p.name for p in dividing],
        example=None if table.kinds else _example(frame, dividing, alone, pairs, known),
    )


def _property(p: PropertyProfile, data: DataProfile) -> KeysProperty:
    column = p.column
    values = data.sample.get_column(column.name).drop_nulls()
    counts = values.unique_counts().to_numpy()
    return KeysProperty(
        name=column.name,
        type=str(column.edm.value).removeprefix("Edm.").lower(),
        distinct=len(counts),
        characters=p.characters / column.present if column.present else 0.0,
        missing=data.rows - column.present,
        largest_share=int(counts.max(initial=0)) / data.sample.height if data.sample.height else 0.0,
    )


def _fits(column: KeysProperty) -> bool:
    """Whether values are ones that requests name: no measure, no truth, no bytes, and none is missing."""
    return column.type in ("string", "guid", "int32", "int64", "datetime") and not (
        column.missing or column.characters > CHARACTERS_MOST
    )


def _unique_pairs(frame: pl.DataFrame, names: list[str]) -> list[tuple[str, str]]:
    """Pairs of properties that no two entities share, those that tell most apart first."""
    pairs = (pair for pair in combinations(names[:TRIED_MAX], 2) if frame.select(pair).n_unique() == frame.height)
    return [pair for pair, _ in zip(pairs, range(PAIRS_MAX), strict=False)]


def _example(
    frame: pl.DataFrame,
    dividing: list[KeysProperty],
    alone: list[str],
    pairs: list[tuple[str, str]],
    known: dict[str, KeysProperty],
) -> KeysTemplates | None:
    """Keys to begin with: what divides the entities best, and behind it what tells those of one partition apart."""
    leads = [p for p in dividing if p.largest_share <= SHARE_MOST and p.distinct >= COARSE]
    if not leads and alone:
        return KeysTemplates(partition_key=f"{{{alone[0]}}}", row_key="")
    for name in (p.name for p in sorted(leads, key=lambda p: _unlikely_lead(p, frame.height))):
        paired = [other for pair in pairs if name in pair for other in pair if other != name]
        others = [p for p in known if p not in (name, *paired, *alone) and _fits(known[p])]
        others.sort(key=lambda p: _measure(known[p]))
        within = (other for other in others if frame.select(name, other).n_unique() == frame.height)
        row = next(chain(paired, within, alone), None)
        if row is not None:
            return KeysTemplates(partition_key=f"{{{name}}}", row_key=_row_part(row, known[row].type))
    return None


def _unlikely_lead(column: KeysProperty, entities: int) -> tuple[bool, bool, int, str]:
    """What speaks against a property that begins a PartitionKey: each value has one entity, or it is a measure."""
    return column.distinct > NEARLY_UNIQUE * entities, _measure(column) > 0, -column.distinct, column.name


def _measure(column: KeysProperty) -> int:
    """How many values a number has that may be an amount, 0 for others: only its name tells an identifier from one."""
    return column.distinct if column.type in ("int32", "int64") and not named_as_id(column.name) else 0


def _row_part(name: str, type_: str) -> str:
    """A property in its order within a RowKey: times newest first, numbers in as many digits as their type has."""
    if type_ == "datetime":
        return f"{{reverse_ticks({name})}}"
    digits = {str(edm.value).removeprefix("Edm.").lower(): count for edm, count in _DIGITS.items()}
    return f"{{pad({name},{digits[type_]})}}" if type_ in digits else f"{{{name}}}"
