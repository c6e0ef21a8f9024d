"""Index rows among the rows of an export: an entity that is stored again under another key, whole or as a pointer.

Rows of one kind are index rows of another where nearly every one of them belongs to exactly one entity of it, their key
is made of nothing but what this entity holds, they hold nothing of their own, and no entity that has what the key is
made of lacks its row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final

from pkadvisor.design.keys.infer import KeyShape, infer_keys
from pkadvisor.design.keys.keyreader import fits, tellers, with_key_parts
from pkadvisor.design.keys.scheme import IndexRow, Key
from pkadvisor.design.keys.template import format_template, parse_template
from pkadvisor.design.keys.transforms import Literal, Part
from pkadvisor.lazy import pl
from pkadvisor.table.edm import KEYS, SYSTEM_PROPERTIES, EdmType
from pkadvisor.values import dataclass

OWNED: Final = 0.95
"""Share of the rows of an index that belong to an entity, and of the entities that have a row: an application that
stops between two writes, or an old copy, is allowed for."""
OWNED_OF_SAMPLE: Final = 0.8
"""The same share of what chance leaves of them in a sample."""
EQUAL: Final = 0.95
"""Share of the copies that hold what the entity holds."""
LOOK: Final = 64
"""Values that are looked for before whole columns are compared."""
ROWS_MIN: Final = 20
"""Rows of an index with their entities, below which chance may make them agree."""
LABELS_MAX: Final = 16
"""Distinct words that rows may begin with to be told apart by them."""
_NOT_HELD: Final = (*SYSTEM_PROPERTIES, "timestamp", "ETag", "odata.etag")
_PLAIN: Final = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one kind: its key, the types in it, and a frame with every property as text, key parts too."""

    key: Key
    types: Mapping[str, EdmType]
    frame: pl.DataFrame

    @property
    def parts(self) -> tuple[str, ...]:
        """The properties in the key."""
        return tuple(n for n in self.key.properties if n in self.frame.columns)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the data that a row has a value in, without those of keys and of the service."""
        parts = tellers(self.key)
        names = [n for n in self.frame.columns if n not in _NOT_HELD and n not in parts]
        return tuple(n for n in names if self.frame.get_column(n).null_count() < self.frame.height)


def rows_of(frame: pl.DataFrame, key: Key, types: Mapping[str, EdmType], parts: Sequence[str]) -> Rows:
    """The rows of an export that a key writes, with the ``parts`` that stand in no column."""
    own = with_key_parts(frame.filter(fits(key, types)), key, parts, types)
    simple = [n for n, t in own.schema.items() if not t.is_nested() and t != pl.Binary]
    return Rows(key, types, own.select(pl.col(simple).cast(pl.String)))


def index_row_of(entities: Rows, rows: Rows, share: float) -> IndexRow | None:
    """The index row that ``rows`` are of ``entities``; None where they are something else.

    ``share`` of all rows were drawn by chance: of the partners of a row as many are at hand.
    """
    if min(entities.frame.height, rows.frame.height) * share < ROWS_MIN:
        return None
    others = entities.frame.join(rows.frame, on=KEYS, how="anti").height
    if others < _least(share) / share * rows.frame.height / 2:
        return None  # rows that fit both keys are no index of themselves
    names = _same_values(entities, rows, share)
    if names is None or not all(_PLAIN.fullmatch(name) for name in (*names, *names.values())):
        return None
    key = Key(renamed(rows.key.partition, names), renamed(rows.key.row, names))
    if _leads(key) == _leads(entities.key):
        return None  # by the same property: rows beside an entity, not a way to find it
    whole = set(entities.columns) <= {*rows.columns, *tellers(rows.key)}
    return IndexRow(key, "full" if whole and entities.columns else "pointer")


def _leads(key: Key) -> tuple[tuple[str, ...], ...]:
    """What the PartitionKey is made of, and the first property of the RowKey."""
    row = [p.properties for p in key.row if p.constant is None]
    return (*(p.properties for p in key.partition if p.constant is None), ("|",), *row[:1])


def renamed(parts: tuple[Part, ...], names: Mapping[str, str]) -> tuple[Part, ...]:
    """The parts of a key over other properties."""
    text = re.sub(
        r"(?<=[{(,])([^{}(),]+)(?=[}),])", lambda match: names.get(match[1], match[1]), format_template(parts)
    )
    return parse_template(text)


def _same_values(entities: Rows, rows: Rows, share: float) -> dict[str, str] | None:
    """For each property in the key of ``rows`` that of the entities which it repeats; None where they are no index."""
    wanted = {name: _holders(entities, rows, name, share) for name in rows.key.properties}
    if not wanted or not all(wanted.values()):
        return None
    pointers = {name: _pointed(entities, rows, name, share) for name in rows.columns}
    links = [(theirs, own) for own, theirs_of in wanted.items() for theirs in theirs_of]
    links += [(theirs, own) for own, theirs_of in pointers.items() for theirs in theirs_of]
    for pairs in _identifying(entities, links):
        joined = _joined(entities, rows, pairs)
        if joined.height < _least(share) * rows.frame.height or joined.height > rows.frame.height:
            continue
        names = {own: _equal(joined, own, theirs_of) for own, theirs_of in wanted.items()}
        if all(names.values()) and _nothing_of_its_own(joined, entities, rows, pointers):
            made = {own: str(theirs) for own, theirs in names.items()}
            if _complete(entities, rows, joined, made, share):
                return made
    return None


def _holders(entities: Rows, rows: Rows, name: str, share: float) -> list[str]:
    """The properties of entities that hold the values which a property in the key of rows has."""
    if name not in rows.frame.columns:
        return []
    candidates = [n for n in entities.frame.columns if n not in _NOT_HELD]
    return [n for n in sorted(candidates, key=lambda n: n != name) if _within(rows, name, entities, n, share)]


def _pointed(entities: Rows, rows: Rows, name: str, share: float) -> list[str]:
    """What a column of rows repeats of entities: the column of the same name, else their keys and what these tell."""
    if name in entities.columns:
        return [name]
    key_names = [n for n in (*KEYS, *tellers(entities.key)) if n in entities.frame.columns]
    return [n for n in key_names if _within(rows, name, entities, n, share)]


def _within(rows: Rows, own: str, entities: Rows, theirs: str, share: float) -> bool:
    """Whether nearly all values of a column are among those of another."""
    values, known = rows.frame.get_column(own).drop_nulls(), entities.frame.get_column(theirs)
    first = values.head(LOOK)
    if not len(first) or (share == 1 and _part_among(first, known) < 0.5):
        return False
    return _part_among(values, known) >= _least(share)


def _part_among(values: pl.Series, known: pl.Series) -> float:
    return float(values.is_in(known.unique().implode()).sum()) / len(values)


def _least(share: float) -> float:
    """The share of partners that must be at hand where ``share`` of all rows are."""
    return share * (OWNED if share == 1 else OWNED_OF_SAMPLE)


def _identifying(entities: Rows, links: Sequence[tuple[str, str]]) -> Iterator[tuple[tuple[str, str], ...]]:
    """Pairs of (property of entities, property of rows) that name one entity, alone or two of them together."""
    alone = {theirs: _unique(entities, (theirs,)) for theirs, _ in links}
    yield from ((link,) for link in links if alone[link[0]])
    for first, second in combinations([link for link in links if not alone[link[0]]][:8], 2):
        if first[0] != second[0] and first[1] != second[1] and _unique(entities, (first[0], second[0])):
            yield first, second


def _unique(entities: Rows, names: tuple[str, ...]) -> bool:
    present = entities.frame.select(names).drop_nulls()
    return 0 < present.height == present.n_unique()


def _joined(entities: Rows, rows: Rows, pairs: tuple[tuple[str, str], ...]) -> pl.DataFrame:
    """Rows, each beside its entity, whose properties begin with ``=``."""
    theirs = entities.frame.rename(lambda name: f"={name}")
    return rows.frame.join(
        theirs, left_on=[own for _, own in pairs], right_on=[f"={name}" for name, _ in pairs], coalesce=False
    )


def _equal(joined: pl.DataFrame, own: str, candidates: Sequence[str]) -> str | None:
    """The first property of the entities that a property of their rows repeats."""
    for name in candidates:
        same = joined.get_column(own).eq_missing(joined.get_column(f"={name}"))
        if same.sum() >= EQUAL * joined.height:
            return name
    return None


def _nothing_of_its_own(
    joined: pl.DataFrame, entities: Rows, rows: Rows, pointers: Mapping[str, Sequence[str]]
) -> bool:
    """Whether what rows hold besides their keys is what their entities hold, or one value for all."""
    return all(
        _equal(joined, name, pointers[name]) is not None
        if name in entities.columns or pointers[name]
        else rows.frame.get_column(name).n_unique() == 1
        for name in rows.columns
    )


def _complete(entities: Rows, rows: Rows, joined: pl.DataFrame, names: Mapping[str, str], share: float) -> bool:
    """Whether nearly every entity that has what the key of its row is made of has the row."""
    due = entities.frame.select(sorted(set(names.values()))).drop_nulls().height
    return joined.height >= _least(share) * due and rows.frame.height >= _least(share) / share * due


def by_label(key: Key, frame: pl.DataFrame, types: Mapping[str, EdmType]) -> list[Key]:
    """The keys of a kind whose RowKeys begin with one of a few words, one for each word; empty where they do not."""
    if len(key.row) < 3 or not key.row[0].plain_property or not key.row[1].constant:
        return []
    rest, name = key.row[1:], key.row[0].plain_property
    if types.get(name) is not EdmType.STRING or sum(name in part.properties for part in rest):
        return []
    words = with_key_parts(frame.select(KEYS), key, [name], types).get_column(name).drop_nulls()
    if words.dtype != pl.String or not 2 <= words.n_unique() <= LABELS_MAX:
        return []
    texts = [f"{word}{rest[0].constant}" for word in sorted(words.unique())]
    return [Key(key.partition, (Literal(text), *rest[1:])) for text in texts]


@dataclass(frozen=True, slots=True)
class FoundIndex:
    """An index row with the number of its rows, the keys of one, and whether they could as well be the entities."""

    row: IndexRow
    rows: int
    example: tuple[str, str]
    alike: bool


def with_index_rows(
    shapes: Sequence[KeyShape], frame: pl.DataFrame, types: Mapping[str, EdmType], share: float
) -> list[tuple[KeyShape, tuple[FoundIndex, ...]]]:
    """The kinds of rows that are entities, each with the index rows that the others are.

    A kind whose RowKeys begin with a few words is taken apart by them where one of these is an index of another.
    """
    whole: list[_Candidate] = []
    apart: list[list[_Candidate]] = []
    for shape in shapes:
        pieces = [_candidate(shape, key, frame, types) for key in by_label(shape.key, frame, dict(shape.types))]
        whole.append(_candidate(shape, shape.key, frame, types))
        apart.append([piece for piece in pieces if piece.rows.frame.height])
    every = [c for one, pieces in zip(whole, apart, strict=True) for c in (pieces or [one])]
    if len(every) < 2:
        return [(shape, ()) for shape in shapes]
    indexes = _indexes(every, frame, types, share)
    taken = {id(c) for _, c, _ in indexes}
    out: list[tuple[KeyShape, tuple[FoundIndex, ...]]] = []
    for one, pieces in zip(whole, apart, strict=True):
        if pieces and not any(id(c) in taken or any(e is c for e, _, _ in indexes) for c in pieces):
            out.append((one.shape, ()))
            continue
        for c in pieces or [one]:
            if id(c) not in taken:
                rows = tuple(index for entities, _, index in indexes if entities is c)
                out.append((_inferred(c, frame, types) if pieces else c.shape, rows))
    return out


@dataclass(frozen=True, slots=True, eq=False)
class _Candidate:
    """Rows that are entities or an index: the kind that they were read as, and what they hold under their own key."""

    shape: KeyShape
    rows: Rows


def _candidate(shape: KeyShape, key: Key, frame: pl.DataFrame, types: Mapping[str, EdmType]) -> _Candidate:
    parts_by_name = tellers(key)
    parts = [name for name in key.properties if name in parts_by_name and name not in shape.columns]
    return _Candidate(shape, rows_of(frame, key, {**types, **dict(shape.types)}, parts))


def _inferred(candidate: _Candidate, frame: pl.DataFrame, types: Mapping[str, EdmType]) -> KeyShape:
    """The shape of the rows behind one word, in names of the columns that hold what their keys say."""
    rows = candidate.rows
    return infer_keys(frame.filter(fits(rows.key, rows.types)), types).kinds[0]


def _by_id(rows: Rows) -> bool:
    """Whether a key is made of a column that is called an id."""
    frame = rows.frame
    called = [n for n in frame.columns if n not in _NOT_HELD and re.search(r"(^i|[_a-z0-9]I|_i|^gui|^uui)[dD]$", n)]
    return any(frame.get_column(n).eq_missing(frame.get_column(part)).all() for n in called for part in rows.parts)


def _indexes(
    every: Sequence[_Candidate], frame: pl.DataFrame, types: Mapping[str, EdmType], share: float
) -> list[tuple[_Candidate, _Candidate, FoundIndex]]:
    """(entities, their rows, the index) of the candidates; entities are the more, those with more columns first."""
    ranked = sorted(
        every, key=lambda c: (-c.rows.frame.height, -len(c.rows.columns), not _by_id(c.rows), str(c.rows.key))
    )
    out: list[tuple[_Candidate, _Candidate, FoundIndex]] = []
    for place, entities in enumerate(ranked):
        if any(c is entities for _, c, _ in out):
            continue
        named: _Candidate | None = None
        for other in ranked[place + 1 :]:
            if any(c is other for _, c, _ in out):
                continue
            if index_row_of(entities.rows, other.rows, share) is None:
                continue
            if named is None:  # with the final names of the entities' properties
                shape = _inferred(entities, frame, types) if entities.rows.key != entities.shape.key else entities.shape
                named = _candidate(shape, shape.key, frame, types)
            row = index_row_of(named.rows, other.rows, share)
            if row is not None:
                keys = tuple(str(text) for text in other.rows.frame.select(KEYS).row(0))
                size = other.rows.frame.height, len(other.rows.columns)
                alike = size == (entities.rows.frame.height, len(entities.rows.columns))
                out.append((entities, other, FoundIndex(row, size[0], (keys[0], keys[1]), alike)))
    return out
