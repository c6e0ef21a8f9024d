"""Data sets: sample entities from files of several formats as typed columns, streamed.

Opening a data set reads it once, in bounded memory, to count rows and to find the type of every column over *all*
values. ``Dataset.batches`` then streams the rows again, in file order, in the canonical polars types.

| format | recognised by |
| --- | --- |
| parquet | the first bytes ``PAR1`` |
| json | ``[`` or an object with a list ``value`` (REST answers, with or without type annotations) |
| jsonl | a first line that is a JSON object |
| typed-csv | delimited text with a column ``X@type`` for a column ``X`` (Storage Explorer) |
| csv | any other delimited text with a header line; the delimiter is comma, semicolon, tab or bar |

Texts may be compressed (see ``streams``). ``PartitionKey`` and ``RowKey`` are always String; ``odata.*`` is dropped.
"""

from __future__ import annotations

import glob
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Final

from pkadvisor.errors import InputError, UsageError, did_you_mean
from pkadvisor.files import STDIN_NAME
from pkadvisor.lazy import pl
from pkadvisor.observe.data.edm_text import TypeCounts, fits_expr, polars_type, typed_expr
from pkadvisor.observe.data.parquet import ParquetSource
from pkadvisor.observe.data.records import Chunk, DataFile, Tally, check_names, check_one_table
from pkadvisor.observe.data.sniff import FORMATS, source_of
from pkadvisor.observe.data.streams import EmptyFileError, locate, spool_stdin
from pkadvisor.table.edm import KEYS, EdmType
from pkadvisor.values import dataclass

RENAMED_SHOWN: Final = 4
"""Columns of names that no property may have that a note names."""
BATCH_ROWS: Final = 131_072
BATCH_VALUES: Final = 1 << 25
"""Values in a batch, missing ones too; 256 columns may have all rows."""
MAX_BAD_SHARE: Final = 0.01
ZONELESS_NOTE: Final = "times without a zone are read as UTC: "
"""The beginning of a note, before the names of the columns."""
_NUMERIC_WIDENING: Final = (EdmType.INT32, EdmType.INT64, EdmType.DOUBLE)
_KIND_SPEC: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]{0,62})=(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Column:
    """One property: its type, how many entities have it, and every type that its values have.

    ``types`` has more than one entry where values disagree; ``edm`` then is the type that holds them all (the widest
    number, else String). The most frequent type comes first.
    """

    name: str
    edm: EdmType
    present: int
    missing: int
    types: tuple[tuple[EdmType, int], ...]
    zoneless: bool = False
    """Whether some of its times have no zone, and are taken as UTC."""
    from_text: bool = field(default=False, repr=False, compare=False)
    """Whether the file states no type: ``edm`` was read off texts."""

    @property
    def mixed(self) -> bool:
        """Whether the values have more than one type."""
        return len(self.types) > 1


@dataclass(frozen=True, slots=True)
class Dataset:
    """Entities of one kind from one or more files.

    ``notes`` tell, one sentence each, what was assumed, skipped or changed while reading. They may hold user text.
    """

    name: str
    kind: str | None
    paths: tuple[Path, ...]
    format: str
    columns: tuple[Column, ...]
    row_count: int
    notes: tuple[str, ...]
    sources: tuple[DataFile, ...] = field(repr=False, compare=False)
    marked: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    """Columns in which markers such as NA mean "missing"."""
    strict: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    """Columns of declared types, in which texts that do not fit count as missing."""
    part: KindFilter | None = field(default=None, repr=False, compare=False)
    """Set where the data set is one kind out of several in the same files."""
    made: Made | None = field(default=None, repr=False, compare=False)
    """How columns that stand in no file are made of others."""
    table: str = ""
    """The table whose ``kind`` this is, where several tables may have one of that name."""

    def column(self, name: str) -> Column:
        """The column of that name; UsageError (2) with a suggestion if there is none."""
        names = [c.name for c in self.columns]
        if name in names:
            return self.columns[names.index(name)]
        raise UsageError(
            f"there is no property '{name}' in the data set {self.name}",
            fix=did_you_mean(name, names) or "its properties: " + ", ".join(names[:12]),
        )

    def holding(self, declared: Mapping[str, EdmType]) -> Dataset:
        """The data set with columns of the declared types that hold every value: wider numbers, and text.

        The service tells Int32 from Int64 and Double: a file of small numbers does not say which it stores, so a wider
        number is taken. Nor does a text that looks like a number or a time say that it is one.
        """

        def holds(column: Column, wanted: EdmType | None) -> bool:
            if wanted is EdmType.STRING:
                return column.from_text and column.edm is not EdmType.STRING
            numbers, needed = _NUMERIC_WIDENING, column.edm
            return needed in numbers and wanted in numbers and numbers.index(needed) < numbers.index(wanted)

        def held(column: Column) -> Column:
            edm = declared.get(column.name)
            if edm is None or not holds(column, edm):
                return column
            if edm is EdmType.STRING:
                return replace(column, edm=edm, types=((edm, column.present),), zoneless=False)
            return replace(column, edm=edm)

        columns = tuple(map(held, self.columns))
        texts = {c.name for c in columns if c.edm is EdmType.STRING}
        return replace(self, columns=columns, notes=tuple(_without_texts(self.notes, texts)))

    def batches(self, columns: Sequence[str] | None = None, rows: int = BATCH_ROWS) -> Iterator[pl.DataFrame]:
        """All rows in file order, in frames of ``rows`` rows (fewer where there are many columns; the last is shorter).

        Types are canonical. ``columns`` selects and orders; None means all. Raises UsageError for a column that does
        not exist.
        """
        wanted = self.columns if columns is None else tuple(self.column(name) for name in columns)
        if not wanted:
            raise InputError("no entity has a property", where=self.name, fix="export the table with its properties")
        assert rows > 0
        rows = max(1, min(rows, BATCH_VALUES // len(wanted)))
        pending: list[pl.DataFrame] = []
        have = 0
        for frame in self._frames(wanted):
            pending.append(frame)
            have += frame.height
            if have < rows:
                continue
            whole = pl.concat(pending) if len(pending) > 1 else frame
            full = have - have % rows
            for start in range(0, full, rows):
                yield whole.slice(start, rows)
            pending, have = [whole.slice(full)], have - full
        if have:
            yield pl.concat(pending).rechunk()

    def _frames(self, wanted: Sequence[Column]) -> Iterator[pl.DataFrame]:
        edm = {c.name: c.edm for c in wanted}
        makes = self.made if self.made is not None and not edm.keys().isdisjoint(self.made.names) else None
        if makes is not None:
            edm = {name: e for name, e in edm.items() if name not in makes.names}
            edm = {**dict.fromkeys(makes.reads, EdmType.STRING), **edm}
        if self.part is not None:
            edm = {**dict(self.part.edm), **edm}
        names = frozenset(edm)
        for source in self.sources:
            for chunk in source.chunks(Tally(), names):
                if not chunk.rows:
                    continue
                schema = chunk.frame.schema
                frame = (
                    chunk.frame if chunk.frame.width else pl.DataFrame({"": pl.repeat(None, chunk.rows, eager=True)})
                )
                frame = frame.select(
                    self._typed(name, schema[name], edm[name])
                    if name in schema
                    else pl.repeat(None, chunk.rows, dtype=polars_type(edm[name])).alias(name)
                    for name in edm
                )
                if self.part is not None:
                    frame = frame.filter(self.part.keep)
                if makes is not None:
                    frame = makes.make(frame)
                if self.part is not None or makes is not None:
                    frame = frame.select(c.name for c in wanted)
                if frame.height:
                    yield frame

    def _typed(self, name: str, source: pl.DataType, edm: EdmType) -> pl.Expr:
        """A column in its type; texts that do not fit a declared one are null."""
        typed = typed_expr(name, source, edm, markers_missing=name in self.marked)
        if name not in self.strict or source != pl.String():
            return typed
        return pl.when(fits_expr(pl.col(name), edm)).then(typed).alias(name)


@dataclass(frozen=True, slots=True)
class KindFilter:
    """How the rows of one kind are told from the others: a filter and the columns that it needs."""

    keep: pl.Expr
    edm: tuple[tuple[str, EdmType], ...]


@dataclass(frozen=True, slots=True)
class Made:
    """Columns that are made of columns of text, such as pieces of keys: ``make`` adds them to a frame."""

    names: frozenset[str]
    reads: tuple[str, ...]
    make: Callable[[pl.DataFrame], pl.DataFrame]


def _without_texts(notes: Sequence[str], texts: set[str]) -> Iterator[str]:
    """The notes, the columns of texts left out of the one on times without a zone."""
    for note in notes:
        names = note.removeprefix(ZONELESS_NOTE).split(", ")
        if not note.startswith(ZONELESS_NOTE) or not texts.intersection(names):
            yield note
        elif times := [name for name in names if name not in texts]:
            yield ZONELESS_NOTE + ", ".join(times)


def open_datasets(
    specs: Sequence[str],
    *,
    stdin_name: str = STDIN_NAME,
    input_format: str | None = None,
    max_bad_share: float = MAX_BAD_SHARE,
) -> tuple[Dataset, ...]:
    """The data sets behind ``PATH``, ``GLOB``, ``-`` and ``kind=…`` of these; one per kind, in order of appearance.

    Raises UsageError (2) for what is not there, InputError (3) for content that cannot be used or when more than
    ``max_bad_share`` of a file's rows had to be skipped.
    """
    if not specs:
        raise UsageError("no data file is given", fix="name one or more files, globs or kind=PATH")
    if sum(1 for spec in specs if split_kind(spec)[1] == "-") > 1:
        raise UsageError("standard input (-) is named twice", fix="it can be read only once")
    groups: dict[str | None, list[tuple[Path, str]]] = {}
    for spec in specs:
        kind, pattern = split_kind(spec)
        files = groups.setdefault(kind, [])
        matching = [(spool_stdin(), stdin_name)] if pattern == "-" else [(locate(p), str(p)) for p in _expand(pattern)]
        files.extend(file for file in matching if file not in files)
    return tuple(_open(kind, files, input_format, max_bad_share) for kind, files in groups.items())


def files_of(specs: Sequence[str]) -> tuple[Path, ...]:
    """The files that specs name, standard input left out; UsageError as ``open_datasets`` raises it."""
    patterns = (split_kind(spec)[1] for spec in specs)
    return tuple(locate(path) for pattern in patterns if pattern != "-" for path in _expand(pattern))


def _name_of(files: Sequence[str]) -> str:
    """What a data set is called: as its file; of several what their names begin with, without numbers, else as the
    folder of files whose names say that they are parts."""
    stems = [Path(where).name.split(".")[0] or where for where in files]
    if len(stems) == 1:
        return stems[0]
    first, last = min(stems), max(stems)
    same = next((n for n, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), len(first))
    begins = first[:same].rstrip("0123456789-_. ")
    folder = Path(files[0]).absolute().parent.name
    of_parts = begins.lower() in _PARTS or not first.rstrip("0123456789-_. ")
    return folder if folder and of_parts else begins or stems[0]


_PARTS = ("part", "chunk", "page", "export", "split", "shard")


def split_kind(spec: str) -> tuple[str | None, str]:
    """``kind=PATH`` apart, unless the whole is a file (folders named ``year=2024`` are common)."""
    match = _KIND_SPEC.fullmatch(spec)
    if match is None:
        return None, spec
    try:
        if Path(spec).exists() or (glob.has_magic(spec) and glob.glob(spec, recursive=True)):  # noqa: PTH207
            return None, spec
    except (OSError, ValueError):
        pass
    return match[1], match[2]


def _expand(pattern: str) -> list[Path]:
    try:
        there = Path(pattern).exists()
    except (OSError, ValueError):
        there = True  # locate() explains what is wrong
    if there or not glob.has_magic(pattern):
        return [Path(pattern)]
    # Path.glob refuses absolute patterns.
    matches = map(Path, glob.glob(pattern, recursive=True))  # noqa: PTH207
    paths = sorted(p for p in matches if not p.is_dir())
    if not paths:
        raise UsageError("no file matches this pattern", where=pattern, fix="check the path, and quote the pattern")
    return paths


@dataclass(slots=True)
class _Seen:
    """What the counting pass learns about one column."""

    counts: TypeCounts = field(default_factory=TypeCounts)
    present: int = 0


def _open(
    kind: str | None, files: Sequence[tuple[Path, str]], input_format: str | None, max_bad_share: float
) -> Dataset:
    notes: dict[str, None] = {}
    seen: dict[str, _Seen] = {}
    sources, row_count = list[DataFile](), 0
    for path, where in files:
        tally, before = Tally(), {name: column.present for name, column in seen.items()}
        try:
            source = source_of(path, where, input_format, tally)
            if isinstance(source, ParquetSource):
                _state(source.counted(tally), seen)
            else:
                for chunk in source.chunks(tally):
                    check_names(len(seen.keys() | set(chunk.frame.columns)), where)
                    _count(chunk, seen)
            _judge(source, tally, max_bad_share, notes)
            check_one_table(before, {name: column.present for name, column in seen.items()}, files[0][1], where)
        except EmptyFileError as error:
            # Exports in parts often have empty ones; a set of nothing but these is an error.
            if row_count == 0 and (path, where) == files[-1]:
                raise
            notes[f"{where}: {error.what}"] = None
            continue
        row_count += tally.rows
        sources.append(source)
    columns: list[Column] = []
    marked: dict[str, int] = {}
    zoneless: list[str] = []
    for name, column_seen in seen.items():
        column, markers = _resolve(name, column_seen, row_count)
        columns.append(column)
        if markers:
            marked[name] = markers
        if column.edm is EdmType.DATETIME and column_seen.counts.zoneless:
            zoneless.append(name)
            columns[-1] = replace(column, zoneless=True)
    if marked:
        several = ", ".join(f"{name} ({n:,})" for name, n in marked.items())
        notes[f"markers such as NA, null or an empty text are read as missing: {several}"] = None
    if zoneless:
        notes[ZONELESS_NOTE + ", ".join(zoneless)] = None
    return Dataset(
        name=kind or _name_of([where for _, where in files]),
        kind=kind,
        paths=tuple(path for path, _ in files),
        format=", ".join(dict.fromkeys(source.format for source in sources)),
        columns=tuple(columns),
        row_count=row_count,
        notes=tuple(notes),
        sources=tuple(sources),
        marked=frozenset(marked),
    )


def _count(chunk: Chunk, seen: dict[str, _Seen]) -> None:
    """Add one chunk to what is known of each column."""
    for values in chunk.frame.iter_columns():
        name = values.name
        column = seen.setdefault(name, _Seen())
        column.present += len(values) - values.null_count()
        if name in KEYS:
            column.counts.state({EdmType.STRING: len(values) - values.null_count()})
        elif name in chunk.stated:
            column.counts.state(chunk.stated[name])
        else:
            column.counts.infer(values, temporal_only=name in chunk.temporal)


def _state(stated: Mapping[str, Mapping[EdmType, int]], seen: dict[str, _Seen]) -> None:
    """Add one file whose schema states all types."""
    for name, types in stated.items():
        column, present = seen.setdefault(name, _Seen()), sum(types.values())
        column.present += present
        column.counts.state({EdmType.STRING: present} if name in KEYS else types)


def _judge(source: DataFile, tally: Tally, max_bad_share: float, notes: dict[str, None]) -> None:
    """Refuse a file that gave nothing or lost too much; note the rest."""
    if tally.skipped and tally.skipped > max_bad_share * (tally.rows + tally.skipped):
        raise InputError(
            f"{tally.skipped:,} of {tally.rows + tally.skipped:,} rows cannot be read as {source.format};"
            f" the first: {tally.first_skipped}",
            where=source.where,
            fix="correct or remove these rows, or check the delimiter and quotes"
            if tally.skipped < tally.rows
            else f"known formats: {', '.join(FORMATS)}; query logs are given with --log",
        )
    if not tally.rows:
        raise EmptyFileError(
            f"there are no rows (read as {source.format})", where=source.where, fix="give a file with at least one row"
        )
    if tally.skipped:
        notes[
            f"{source.where}: {tally.skipped:,} of {tally.rows + tally.skipped:,} rows skipped; {tally.first_skipped}"
        ] = None
    if tally.surrogates:
        notes[f"{source.where}: {tally.surrogates:,} lone surrogates written as \\udxxx escapes"] = None
    if tally.renamed:
        shown = [f"{name} as {new}" for name, new in list(tally.renamed.items())[:RENAMED_SHOWN]]
        more = f" and {len(tally.renamed) - len(shown):,} more" if len(tally.renamed) > len(shown) else ""
        notes[f"{source.where}: property names hold letters, digits and _: {', '.join(shown)}{more}"] = None
    for remark in tally.remarks:
        notes[f"{source.where}: {remark}"] = None


def _resolve(name: str, seen: _Seen, row_count: int) -> tuple[Column, int]:
    """The column, and how many of its texts are missing markers."""
    counts = seen.counts
    inferred, stated, markers = Counter(counts.inferred), counts.stated, counts.markers
    if name in KEYS:
        total = seen.present
        return Column(name, EdmType.STRING, total, row_count - total, ((EdmType.STRING, total),)), 0
    if set(inferred) <= set(_NUMERIC_WIDENING) and len(inferred) > 1:
        # Digits alone do not state a type: 1 and 1.5 in a text are one column of numbers.
        inferred = Counter({type_of_all(inferred): sum(inferred.values())})
    if markers and (not inferred or stated or len(inferred) > 1 or EdmType.STRING in inferred):
        inferred[EdmType.STRING] += markers
        markers = 0
    types = tuple(sorted((inferred + stated).items(), key=lambda item: (-item[1], item[0])))
    edm = type_of_all({edm for edm, _ in types})
    present = seen.present - markers
    return Column(name, edm, present, row_count - present, types, from_text=not stated), markers


def type_of_all(types: Collection[EdmType]) -> EdmType:
    """The type that holds the values of several: the one there is, else the widest of numbers, else String."""
    if len(types) > 1 and not all(edm.numeric for edm in types):
        return EdmType.STRING
    return max(types, key=lambda edm: edm.numeric and _NUMERIC_WIDENING.index(edm), default=EdmType.STRING)
