"""Data whose keys say more than its columns: pieces of keys become properties, and templates tell kinds apart."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from pkadvisor.design.choice.sections import declared_keys
from pkadvisor.design.keys.keyreader import fits, tellers, with_key_parts
from pkadvisor.design.keys.scheme import Key, fixed_letters, key_expression
from pkadvisor.design.keys.template import languages_of
from pkadvisor.design.keys.transforms.languages import Language, may_meet
from pkadvisor.lazy import pl
from pkadvisor.observe.data.dataset import Column, Dataset, KindFilter, Made
from pkadvisor.observe.data.kinds import KINDS_NOTE
from pkadvisor.observe.design_file.declaration import Declaration, KindDeclaration, TableDeclaration
from pkadvisor.table.edm import KEYS, EdmType
from pkadvisor.values import dataclass

NO_ROW_FITS = "no row has keys that partition_key and row_key of the design write: they are not read"


@dataclass(frozen=True, slots=True)
class _KeyedTable:
    """A table, or a kind of it, with the key that tells what no column does, and the types of what it tells."""

    kind: str | None
    key: Key
    names: tuple[str, ...]
    types: dict[str, EdmType]
    index_rows: tuple[Key, ...] = ()

    def keep(self, columns: Collection[str]) -> pl.Expr:
        """Whether a row is an entity's own: what fits an index row, too, is where it fixes less, or where the columns
        make just this key."""
        keep = fits(self.key, self.types)
        made = pl.lit(value=True)
        for name, parts in zip(KEYS, (self.key.partition, self.key.row), strict=True):
            made = made & (pl.col(name) == key_expression(parts, self.types))
        fits_key = made.fill_null(value=False) if set(self.key.properties) <= set(columns) else pl.lit(value=False)
        for index in self.index_rows:
            if fixed_letters(index) > fixed_letters(self.key) or set(self.key.properties) <= set(columns):
                keep = keep & (~fits(index, self.types) | fits_key)
        return keep


def with_key_data(datasets: tuple[Dataset, ...], declaration: Declaration | None) -> tuple[Dataset, ...]:
    """The data sets with the key parts that a design declares as columns.

    A data set of several kinds, each with keys of its own, becomes one for each kind that has rows, told apart by the
    keys. Rows whose keys no template writes are left out, with a note, and index rows, which repeat an entity. Data
    sets without keys, or without a row that a template writes, stay as they are.
    """
    out: list[Dataset] = []
    for dataset in datasets:
        table = _table_of(dataset, declaration, alone=len(datasets) == 1)
        columns = {c.name: c.edm for c in dataset.columns}
        if table is None or not set(columns).issuperset(KEYS):
            out.append(dataset)
            continue
        of_table = dataset.kind is None or dataset.kind.lower() == table.name.lower()
        wanted = [k for k in table.kinds if of_table or k.name.lower() == (dataset.kind or "").lower()]
        keys = [_keyed(table, kind, columns, declaration) for kind in wanted or (None,)]
        known = [one for one in keys if one is not None]
        telling = any(one.names or one.index_rows for one in known) or _apart(known)
        if not telling or len(known) < len(keys):
            out.append(dataset)
        elif len(known) == 1:
            own = _rows_of(dataset, known[0], [], dataset.kind)
            out.append(own if own.row_count else _as_it_is(dataset))
        else:
            whole = replace(dataset, table=table.name)
            apart = (_rows_of(whole, one, known[:n], one.kind) for n, one in enumerate(known))
            kinds = [kind for kind in apart if kind.row_count] or [_as_it_is(dataset)]
            out += [kinds[0], *(_without_notes_of(dataset, kind) for kind in kinds[1:])]
    return tuple(out)


def _apart(known: Sequence[_KeyedTable]) -> bool:
    """Whether several kinds have keys of which no row fits two."""

    def halves(one: _KeyedTable) -> tuple[tuple[Language, ...], tuple[Language, ...]]:
        return languages_of(one.key.partition, one.types), languages_of(one.key.row, one.types)

    pairs = list(combinations(known, 2))
    return bool(pairs) and all(not all(map(may_meet, halves(a), halves(b))) for a, b in pairs)


def _without_notes_of(whole: Dataset, kind: Dataset) -> Dataset:
    """A kind without the notes on the file that holds it: they are told once."""
    return replace(kind, notes=tuple(note for note in kind.notes if note not in whole.notes))


def _as_it_is(dataset: Dataset) -> Dataset:
    return replace(dataset, notes=(*dataset.notes, NO_ROW_FITS))


def _table_of(dataset: Dataset, declaration: Declaration | None, *, alone: bool) -> TableDeclaration | None:
    tables = declaration.tables if declaration is not None else ()
    name = (dataset.kind or dataset.name.split("/")[-1].split(".")[0]).lower()
    named = [t for t in tables if name == t.name.lower() or name in [k.name.lower() for k in t.kinds]]
    return named[0] if named else tables[0] if len(tables) == 1 and alone else None


def _keyed(
    table: TableDeclaration,
    kind: KindDeclaration | None,
    columns: Mapping[str, EdmType],
    declaration: Declaration | None,
) -> _KeyedTable | None:
    """What the keys of a table or kind tell; None where it has none."""
    own = table.of_kind(kind.name) if kind is not None else table
    types = {**columns, **dict(kind.properties if kind is not None else table.properties)}
    name = kind.name if kind is not None else None
    scheme = declared_keys(own, None, declaration.path if declaration is not None else "", kind=name)
    if scheme is None:
        return None
    parts_by_name = tellers(scheme.main)
    parts = kind.key_parts if kind is not None else table.key_parts
    names = tuple(n for n in parts if n in parts_by_name and n not in columns)
    return _KeyedTable(name, scheme.main, names, types, tuple(row.key for row in scheme.index_rows))


def _rows_of(dataset: Dataset, keyed: _KeyedTable, before: Sequence[_KeyedTable], kind: str | None) -> Dataset:
    """The rows that a template writes, and none of those before it, with its key parts as columns."""
    keep = keyed.keep({c.name for c in dataset.columns})
    for other in before:
        keep = keep & ~fits(other.key, other.types)
    edm = dict.fromkeys(KEYS, EdmType.STRING)
    if dataset.part is not None:
        keep, edm = keep & dataset.part.keep, {**dict(dataset.part.edm), **edm}

    def make(frame: pl.DataFrame) -> pl.DataFrame:
        return with_key_parts(frame, keyed.key, keyed.names, keyed.types)

    added = tuple(Column(name, keyed.types.get(name, EdmType.STRING), 0, 0, ()) for name in keyed.names)
    several = bool(before) or kind != dataset.kind
    filtered = replace(
        dataset,
        name=kind if kind is not None and several else dataset.name,
        kind=kind,
        columns=(*dataset.columns, *added),
        part=KindFilter(keep, tuple(edm.items())),
        made=Made(frozenset(keyed.names), KEYS, make),
    )
    return _counted(filtered, dataset.row_count, several=several, index_rows=bool(keyed.index_rows))


def _counted(dataset: Dataset, rows_before: int, *, several: bool, index_rows: bool) -> Dataset:
    """The data set with its rows and present values counted; columns that none of its rows has are left out."""
    present = dict.fromkeys((c.name for c in dataset.columns), 0)
    rows = 0
    for batch in dataset.batches():
        rows += batch.height
        for name in present:
            present[name] += batch.height - batch.get_column(name).null_count()

    def counted(column: Column) -> Column:
        here = present[column.name]
        types = column.types if column.mixed else ((column.edm, here),)
        return replace(column, present=here, missing=rows - here, types=types)

    notes = tuple(note for note in dataset.notes if not note.startswith(KINDS_NOTE))
    if rows < rows_before and not several:
        left = f"{rows_before - rows:,} of {rows_before:,} rows "
        unwritten = "have keys that partition_key and row_key do not write"
        left += f"are index rows, or {unwritten}" if index_rows else unwritten
        notes = (*notes, f"{left}: left out")
    columns = tuple(counted(c) for c in dataset.columns if present[c.name] or not several)
    return replace(dataset, columns=columns, row_count=rows, notes=notes)
