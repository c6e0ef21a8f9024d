"""Inference of key shapes: the templates behind PartitionKeys and RowKeys that somebody else designed.

Rows are told apart into kinds where that makes the keys cheaper to tell (a prefix such as ``BIB:``, another number of
pieces), each kind's keys are cut into pieces, the pieces are classified and named, and the template is proved: a row
counts as explained where both its keys decode through the template and encode to the very same text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final
from zlib import crc32

from pkadvisor.design.keys.infer.columns import SampledColumn
from pkadvisor.design.keys.infer.cut import Cut, Piece, TokenizedKey, cut_at_heads, cuts_at_one, key_text
from pkadvisor.design.keys.infer.kinds import (
    KindRows,
    columns_apart,
    group_of,
    kinds_by_separators,
    kinds_of,
    merged_kinds,
    words_of_kinds,
)
from pkadvisor.design.keys.infer.names import Named, name_key
from pkadvisor.design.keys.infer.proof import Proof, checks_only
from pkadvisor.design.keys.infer.shapes import TEXT, allowed
from pkadvisor.design.keys.infer.spelled import Spelling, spelled_on
from pkadvisor.design.keys.scheme import Key
from pkadvisor.design.keys.template import format_template
from pkadvisor.design.keys.transforms import Field, Literal, Part, Value
from pkadvisor.errors import UsageError
from pkadvisor.lazy import pl
from pkadvisor.table.edm import KEYS, SYSTEM_PROPERTIES, TICKS_UNIX_EPOCH, EdmType
from pkadvisor.values import dataclass

SAMPLE_ROWS: Final = 5_000
"""Distinct keys that a guess looks at; the proof takes all."""
_ROUNDS: Final = 2


@dataclass(frozen=True, slots=True)
class KeyShape:
    """The key of one kind of rows.

    ``types`` are those of the properties in ``key``; ``columns`` are the properties that the table has, the others are
    invented. ``rows`` counts the rows of the kind, ``explained`` those whose keys come back through the template.
    """

    label: str
    key: Key
    types: tuple[tuple[str, EdmType], ...]
    columns: tuple[str, ...]
    rows: int
    explained: int
    example: tuple[str, str]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Inference:
    """The kinds found, the largest first; ``rows`` includes rows without a key, which nothing explains."""

    kinds: tuple[KeyShape, ...]
    rows: int
    explained: int

    @property
    def share(self) -> float:
        """The share of the rows that are explained; 0 where there are none."""
        return self.explained / self.rows if self.rows else 0.0


@dataclass(frozen=True, slots=True)
class _Spelled:
    """A column whose values stand in one side of keys: how they are written, and the values of each distinct key."""

    column: str
    side: int
    how: Spelling
    values: Sequence[Value]


@dataclass(frozen=True, slots=True)
class _Table:
    """Distinct keys, how often each stands there, and the row where it stands first; whole columns by name.

    ``spelled``: the columns whose values keys hold with other text or separators in them.
    """

    keys: list[tuple[str, str]]
    counts: list[int]
    first: list[int]
    frame: pl.DataFrame
    types: Mapping[str, EdmType]
    spelled: tuple[_Spelled, ...] = ()

    def columns(self, rows: Sequence[int], names: Iterable[str] | None = None) -> list[SampledColumn]:
        """The columns over some distinct keys."""
        wanted = [n for n in self.frame.columns if n not in SYSTEM_PROPERTIES and (names is None or n in names)]
        if not wanted:
            return []
        part = self.frame.select(wanted)[[self.first[r] for r in rows]]
        candidates = (_column(part[name], self.types) for name in wanted)
        return [self._as_written(c) for c in candidates if c is not None]

    def _as_written(self, column: SampledColumn) -> SampledColumn:
        """A column with its values as keys write them, where these hold other text."""
        how = next((one.how for one in self.spelled if one.column == column.name), None)
        if how is None or not (changed := how.changed(column.values)):
            return column
        written = [how.write(value) if isinstance(value, str) else None for value in column.values]
        return replace(column, as_keys_write=written, changed=changed)

    def text(self, row: int, side: int) -> TokenizedKey:
        """One of the two texts of a distinct key, with the values of columns in it whole."""
        text = self.keys[row][side]
        spans = (one.how.span(text, one.values[row]) for one in self.spelled if one.side == side)
        return key_text(text, [span for span in spans if span is not None])

    @property
    def payload(self) -> int:
        """How many columns there are beside those of the service; 0 where only keys are known."""
        return len(set(self.frame.columns) - set(SYSTEM_PROPERTIES))

    def present(self) -> list[list[bool]]:
        """For each column that some keys lack, whether each distinct key has a value there."""
        rows = self.frame[self.first].drop(KEYS)
        return [s.is_not_null().to_list() for s in rows if 0 < s.null_count() < s.len()]


def infer_keys(frame: pl.DataFrame, types: Mapping[str, EdmType] | None = None) -> Inference:
    """The templates that produce the keys, and the rows that each explains.

    A frame has the columns PartitionKey and RowKey; its other columns lend their names where they hold the values, with
    ``types`` for what the frame alone does not tell (a Guid, an Int32). Raises UsageError where a frame has no keys.
    """
    table = _with_spelled(_read(frame, types or {}))
    left = list(range(len(table.keys)))
    kinds: list[tuple[Named, list[int]]] = []
    # What the templates leave is guessed at again, at last with each order of separators taken for a kind.
    for apart in (*[False] * _ROUNDS, True):
        if not left:
            break
        guesses: list[tuple[Named, list[int]]] = [(named, []) for named in _guess(table, left, apart=apart)]
        for named, rows in guesses:
            proved = _proof(table, named, left).explained([table.keys[r] for r in left])
            own = [r for r, yes in zip(left, proved, strict=True) if yes]
            if not kinds or len(own) > allowed(len(table.keys)) or not _fixes_one_value(table, named, own):
                rows += own
                left = [r for r, yes in zip(left, proved, strict=True) if not yes]
        kinds += guesses
    _absorb(table, kinds)
    kinds = _of_one_template(table, [kind for kind in kinds if kind[1]])
    labels: set[str] = set()
    shapes = [_shape(table, named, rows, labels) for named, rows in kinds if rows]
    if left:
        whole = Named(Key((Field("p1"),), (Field("r1"),)), dict.fromkeys(("p1", "r1"), EdmType.STRING), (), ())
        shapes.append(_shape(table, whole, left, labels, proved=False))
    shapes.sort(key=lambda s: (-s.rows, str(s.key)))
    return Inference(tuple(shapes), frame.height, sum(s.explained for s in shapes))


def _fixes_one_value(table: _Table, named: Named, rows: Sequence[int]) -> bool:
    """Whether rows have one value of a column, which keys write with other text or separators, as fixed text: they are
    exceptions to the template of the other rows."""
    sides = (named.key.partition, named.key.row)
    for one in table.spelled:
        values = {one.values[row] for row in rows}
        text = one.how.write(str(values.pop())) if len(values) == 1 else ""
        if text and text in "".join(part.constant or "" for part in sides[one.side]):
            return True
    return False


def _absorb(table: _Table, kinds: list[tuple[Named, list[int]]]) -> None:
    """Give a kind of one key to a larger kind whose template also explains that key: one key shows no pattern."""
    larger = sorted((k for k in kinds if len(k[1]) > 1), key=lambda k: (-_says(k[0]), str(k[0].key)))
    for _, rows in kinds:
        if len(rows) == 1:
            key = table.keys[rows[0]]
            home = next((k for k in larger if _proof(table, k[0], rows).explained([key])[0]), None)
            if home is not None:
                home[1].append(rows.pop())


def _of_one_template(table: _Table, kinds: Sequence[tuple[Named, list[int]]]) -> list[tuple[Named, list[int]]]:
    """The kinds, with those together of which one fixes what is a value in the other: nearly all rows have one value of
    a column, and its text in their keys looks like fixed text."""
    present, out, left = table.present(), list[tuple[Named, list[int]]](), list(kinds)
    while left:
        kind = left.pop(0)
        whole = next(((o, named) for o in out if (named := _one_template(table, kind, o, present)) is not None), None)
        if whole is None:
            out.append(kind)
        else:
            out = [o for o in out if o is not whole[0]]
            left.insert(0, (whole[1], sorted((*kind[1], *whole[0][1]))))
    return out


def _one_template(
    table: _Table, one: tuple[Named, list[int]], other: tuple[Named, list[int]], present: Sequence[Sequence[bool]]
) -> Named | None:
    """The template that writes the keys of two kinds, and is that of each but for fixed text where it has a column, or
    a number where no column is known; None without one."""
    first, second = (table.text(rows[0], 1).masked[1] for _, rows in (one, other))
    if first != second or columns_apart(one[1], other[1], present):
        return None
    rows = sorted(row for _, own in (one, other) for row in _sample(table, own, SAMPLE_ROWS // 2))
    cuts = [cut_at_heads([table.text(row, side) for row in rows]) for side in (0, 1)]
    named = name_key((cuts[0], cuts[1]), table.columns(rows), joined=True, shared=True)
    if not all(_fixes_values(kind[0], named, numbers=not table.payload) for kind in (one, other)):
        return None
    every = sorted((*one[1], *other[1]))
    return named if all(_proof(table, named, every).explained([table.keys[row] for row in every])) else None


def _fixes_values(kind: Named, whole: Named, *, numbers: bool) -> bool:
    """Whether a template is ``whole`` with fixed text in place of some columns, or of ``numbers``."""
    pattern = ""
    for parts in (whole.key.partition, whole.key.row):
        for part in parts:
            shown = re.escape(_without_invented((part,), whole))
            if isinstance(part, Literal):
                pattern += re.escape(part.text)
            elif any(name in whole.columns and name not in kind.columns for name in part.properties):
                pattern += f"(?:{shown}|[^{{}}|]+)"
            elif numbers and whole.types[part.properties[0]].integer:
                pattern += f"(?:{shown}|[0-9]+)"
            else:
                pattern += shown
        pattern += re.escape("\n")
    shown = "".join(_without_invented(parts, kind) + "\n" for parts in (kind.key.partition, kind.key.row))
    return re.fullmatch(pattern, shown) is not None


def _without_invented(parts: tuple[Part, ...], named: Named) -> str:
    """A template with one name for all properties that no column has."""
    text = "".join(part.text if isinstance(part, Literal) else format_template((part,)) for part in parts)
    names = "|".join(re.escape(name) for name in named.types if name not in named.columns)
    return re.sub(rf"(?<=[{{(])(?:{names})(?=[}}),])", "?", text) if names else text


def _read(frame: pl.DataFrame, types: Mapping[str, EdmType]) -> _Table:
    """The distinct keys in a fixed order."""
    missing = [n for n in KEYS if n not in frame.columns]
    if missing:
        raise UsageError(f"the table has no column {missing[0]}", fix="give both PartitionKey and RowKey")
    seen: dict[tuple[str, str], list[int]] = {}
    for row, key in enumerate(frame.select(pl.col(KEYS).cast(pl.String)).iter_rows()):
        if None not in key:
            seen.setdefault(key, [row, 0])[1] += 1
    ordered = sorted(seen)
    rows = [seen[k] for k in ordered]
    return _Table(ordered, [n for _, n in rows], [r for r, _ in rows], frame, types)


def _with_spelled(table: _Table) -> _Table:
    """The table with the columns whose values keys hold with other text or with separators in them."""
    rows = _sample(table, range(len(table.keys)), SAMPLE_ROWS)
    keys, present = [table.keys[row] for row in rows], [[column[r] for r in rows] for column in table.present()]
    spelled = [
        _Spelled(column.name, side, how, table.frame.get_column(column.name)[table.first].to_list())
        for column in table.columns(rows)
        for side, how in spelled_on(column, keys, present)
    ]
    return replace(table, spelled=tuple(spelled))


def _column(series: pl.Series, types: Mapping[str, EdmType]) -> SampledColumn | None:
    """A column as ``encode`` takes its values; None for types that the service does not have."""
    name, dtype = series.name, series.dtype
    said = types.get(name)
    if dtype == pl.String:
        edm = EdmType.GUID if said is EdmType.GUID else EdmType.STRING
    elif dtype.is_integer():
        edm = said if said is not None and said.integer else EdmType.INT64
    elif dtype.is_float():
        edm = EdmType.DOUBLE
    elif dtype == pl.Boolean:
        edm = EdmType.BOOLEAN
    elif dtype == pl.Binary:
        edm = EdmType.BINARY
    elif dtype in (pl.Datetime, pl.Date):
        moments = series.cast(pl.Datetime("us")) if dtype == pl.Date else series.dt.cast_time_unit("us")
        return SampledColumn(name, EdmType.DATETIME, (moments.dt.epoch("us") * 10 + TICKS_UNIX_EPOCH).to_list())
    else:
        return None
    return SampledColumn(name, edm, series.to_list())


def _guess(table: _Table, left: Sequence[int], *, apart: bool) -> list[Named]:
    """The templates of some keys, those first that say most about a key.

    ``apart`` takes keys with other separators for other kinds without weighing it.
    """
    rows = _sample(table, left, SAMPLE_ROWS)
    texts = {r: (table.text(r, 0), table.text(r, 1)) for r in rows}
    out: dict[str, tuple[float, Named]] = {}
    present = () if apart else table.present()
    whole = group_of(texts, rows)
    if apart:
        groups = kinds_by_separators(texts, rows)
    else:
        groups = kinds_of(texts, whole, present=present, columns=table.payload)
        groups = merged_kinds(groups, texts, present, table.payload)
    for group, labels in zip(groups, words_of_kinds(groups), strict=True):
        named = _template(table, group, labels)
        out.setdefault(str(named.key), (_says(named), named))
    return [named for _, named in sorted(out.values(), key=lambda f: (-f[0], str(f[1].key)))]


def _sample(table: _Table, rows: Sequence[int], most: int) -> Sequence[int]:
    """Some rows, by checksum: every n-th of the sorted keys would be the first key of every partition, and such."""
    if len(rows) <= most:
        return rows
    return sorted(sorted(rows, key=lambda r: (_checksum(table.keys[r]), r))[:most])


def _checksum(key: tuple[str, str]) -> int:
    return crc32("\n".join(key).encode("utf-8", "surrogatepass"))


def _says(named: Named) -> float:
    """How much a template fixes of a key: letters of fixed text, and parts that not every text fits."""
    score = 0.0
    for part in (*named.key.partition, *named.key.row):
        if isinstance(part, Literal):
            score += len(part.text)
        elif isinstance(part, Field):
            score += 2.0 * (named.types[part.property] is not EdmType.STRING)
        else:
            score += 4.0
    return score


def _template(table: _Table, group: KindRows, labels: tuple[bool, bool]) -> Named:
    """The template of a kind: the first of several that explains its rows; ``labels`` as in ``name_key``."""
    columns = table.columns(group.rows)
    keys = [table.keys[r] for r in group.rows]
    best, most = None, -1

    def explained_by(named: Named) -> int:
        values = {c.name: c.values for c in columns if c.name in named.columns}
        return sum(Proof(named.key, named.types, values).explained(keys, range(len(keys))))

    for cuts in _coarser(group.cuts, keys):
        for joined, shared in ((True, True), (False, True), (False, False)):
            named = name_key(cuts, columns, joined=joined, shared=shared, labels=labels)
            explained = explained_by(named)
            if explained > most:
                best, most = named, explained
            if explained == len(keys):
                break
        if most >= len(keys) - allowed(len(keys)):
            break
    assert best is not None
    # A column that holds a whole key, or a piece of it, as it is says more than one of which a function makes it.
    for cuts in (*_coarser(group.cuts, keys), *_finer(group.cuts)) if columns else ():
        named = name_key(cuts, columns, joined=True, shared=True, labels=labels)
        if _of_columns(named) > _of_columns(best) and explained_by(named) >= most:
            best = named
    return best


def _of_columns(named: Named) -> int:
    """How many parts of a key are the values of a column as they are."""
    return sum(part.plain_property in named.columns for part in (*named.key.partition, *named.key.row))


def _finer(cuts: tuple[Cut, Cut]) -> Iterable[tuple[Cut, Cut]]:
    """The cuts with a text that is whole cut at one character: what it costs to tell does not show that a column holds
    a piece of it."""
    for side, whole in enumerate(cuts):
        if len(whole.pieces) == 1 and whole.pieces[0].shape == TEXT and None not in whole.pieces[0].texts:
            for finer in cuts_at_one(whole.pieces[0].present()):
                yield (finer, cuts[1]) if side == 0 else (cuts[0], finer)


def _coarser(cuts: tuple[Cut, Cut], keys: Sequence[tuple[str, str]]) -> Iterable[tuple[Cut, Cut]]:
    """The cuts, then with the RowKey whole, with the PartitionKey whole, and with both."""
    yield cuts
    whole = [Cut((Piece(tuple(k[i] for k in keys), "", TEXT),)) for i in range(2)]
    yield cuts[0], whole[1]
    yield whole[0], cuts[1]
    yield whole[0], whole[1]


def _proof(table: _Table, named: Named, rows: Sequence[int]) -> Proof:
    """The proof of a template, with the columns that its hashes and the like read."""
    read = {p.properties[0] for p in (*named.key.partition, *named.key.row) if checks_only(p)}
    columns = table.columns(rows, read & set(named.columns)) if read else []
    return Proof(named.key, named.types, {c.name: c.values for c in columns})


def _shape(table: _Table, named: Named, rows: Sequence[int], taken: set[str], *, proved: bool = True) -> KeyShape:
    count = sum(table.counts[r] for r in rows)
    notes = list(named.notes)
    if not proved:
        notes.append("no template writes these keys")
    elif len(rows) == 1:
        notes.append("one key only: what is fixed and what varies cannot be told")
    label = _label(named.key) if proved else "unexplained"
    name, number = label, 2
    while name in taken:
        name, number = f"{label} {number}", number + 1
    taken.add(name)
    types = tuple(named.types.items())
    return KeyShape(
        name, named.key, types, named.columns, count, count if proved else 0, table.keys[rows[0]], tuple(notes)
    )


def _label(key: Key) -> str:
    """The word that a kind's keys begin with and those behind it, ``O_L`` for ``O:00012:L:001``, or ``rows``."""
    for parts in (key.row, key.partition):
        words = [part.text.strip("|;:_!$&^=+*-") for part in parts if isinstance(part, Literal)]
        if parts and isinstance(parts[0], Literal) and words[0][:1].isalpha():
            return "_".join(word for word in words if word[:1].isalpha())
    return "rows"
