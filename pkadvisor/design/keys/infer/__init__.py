"""Inference of key shapes: the templates behind PartitionKeys and RowKeys that somebody else designed.

Rows are told apart into kinds where that makes the keys cheaper to tell (a prefix such as ``BIB:``, another number of
pieces), each kind's keys are cut into pieces, the pieces are classified and named, and the template is proved: a row
counts as explained where both its keys decode through the template and encode to the very same text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, takewhile
from math import log2
from typing import TYPE_CHECKING, Final
from zlib import crc32

from pkadvisor.design.keys.infer.cut import FIXED_BITS, Cut, KeyText, Piece, cut, key_text
from pkadvisor.design.keys.infer.names import Column, Named, name_key
from pkadvisor.design.keys.infer.proof import Proof, checks_only
from pkadvisor.design.keys.infer.shapes import TEXT, Shape, allowed
from pkadvisor.design.keys.scheme import Key
from pkadvisor.design.keys.transforms import MISSING, Field, Literal
from pkadvisor.errors import UsageError
from pkadvisor.table.edm import KEYS, SYSTEM_PROPERTIES, TICKS_UNIX_EPOCH, EdmType

if TYPE_CHECKING:
    import polars as pl

SAMPLE_ROWS: Final = 5_000
"""Distinct keys that a guess looks at; the proof takes all."""
_MAX_KINDS: Final = 16
_MAX_DEPTH: Final = 3
_ROUNDS: Final = 2
_KIND_BITS: Final = 12.0


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
class _Table:
    """Distinct keys, how often each stands there, and the row where it stands first; whole columns by name."""

    keys: list[tuple[str, str]]
    counts: list[int]
    first: list[int]
    frame: pl.DataFrame | None
    types: Mapping[str, EdmType]

    def columns(self, rows: Sequence[int], names: Iterable[str] | None = None) -> list[Column]:
        """The columns over some distinct keys."""
        if self.frame is None:
            return []
        wanted = [n for n in self.frame.columns if n not in SYSTEM_PROPERTIES and (names is None or n in names)]
        if not wanted:
            return []
        part = self.frame.select(wanted)[[self.first[r] for r in rows]]
        candidates = (_column(part[name], self.types) for name in wanted)
        return [c for c in candidates if c is not None]


def infer_keys(keys: Iterable[tuple[str, str]] | pl.DataFrame, types: Mapping[str, EdmType] | None = None) -> Inference:
    """The templates that produce the keys, and the rows that each explains.

    A frame has the columns PartitionKey and RowKey; its other columns lend their names where they hold the values, with
    ``types`` for what the frame alone does not tell (a Guid, an Int32). Raises UsageError where a frame has no keys.
    """
    table, total = _read(keys, types or {})
    left = list(range(len(table.keys)))
    kinds: list[tuple[Named, list[int]]] = []
    # What the templates leave is guessed at again, at last with each order of separators taken for a kind.
    for apart in (*[False] * _ROUNDS, True):
        if not left:
            break
        guesses: list[tuple[Named, list[int]]] = [(named, []) for named in _guess(table, left, apart=apart)]
        for named, rows in guesses:
            proved = _proof(table, named, left).explained([table.keys[r] for r in left])
            rows += [r for r, yes in zip(left, proved, strict=True) if yes]
            left = [r for r, yes in zip(left, proved, strict=True) if not yes]
        kinds += guesses
    _absorb(table, kinds)
    labels: set[str] = set()
    shapes = [_shape(table, named, rows, labels) for named, rows in kinds if rows]
    if left:
        whole = Named(Key((Field("p1"),), (Field("r1"),)), dict.fromkeys(("p1", "r1"), EdmType.STRING), (), ())
        shapes.append(_shape(table, whole, left, labels, proved=False))
    shapes.sort(key=lambda s: (-s.rows, str(s.key)))
    return Inference(tuple(shapes), total, sum(s.explained for s in shapes))


def _absorb(table: _Table, kinds: list[tuple[Named, list[int]]]) -> None:
    """Give a kind of one key to a larger kind whose template also explains that key: one key shows no pattern."""
    larger = sorted((k for k in kinds if len(k[1]) > 1), key=lambda k: (-_says(k[0]), str(k[0].key)))
    for _, rows in kinds:
        if len(rows) == 1:
            key = table.keys[rows[0]]
            home = next((k for k in larger if _proof(table, k[0], rows).explained([key])[0]), None)
            if home is not None:
                home[1].append(rows.pop())


def _read(keys: Iterable[tuple[str, str]] | pl.DataFrame, types: Mapping[str, EdmType]) -> tuple[_Table, int]:
    """The distinct keys in a fixed order, and the number of rows."""
    import polars as pl

    frame = keys if isinstance(keys, pl.DataFrame) else None
    pairs: Iterable[tuple[str | None, str | None]]
    if isinstance(keys, pl.DataFrame):
        missing = [n for n in KEYS if n not in keys.columns]
        if missing:
            raise UsageError(f"the table has no column {missing[0]}", fix="give both PartitionKey and RowKey")
        pairs = zip(*(keys[n].cast(pl.String).to_list() for n in KEYS), strict=True)
    else:
        pairs = keys
    seen: dict[tuple[str, str], list[int]] = {}
    total = 0
    for row, (partition, key) in enumerate(pairs):
        total += 1
        if partition is not None and key is not None:
            known = seen.setdefault((partition, key), [row, 0])
            known[1] += 1
    ordered = sorted(seen)
    rows = [seen[k] for k in ordered]
    return _Table(ordered, [n for _, n in rows], [r for r, _ in rows], frame, types), total


def _column(series: pl.Series, types: Mapping[str, EdmType]) -> Column | None:
    """A column as ``encode`` takes its values; None for types that the service does not have."""
    import polars as pl

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
        return Column(name, EdmType.DATETIME, (moments.dt.epoch("us") * 10 + TICKS_UNIX_EPOCH).to_list())
    else:
        return None
    return Column(name, edm, series.to_list())


# --- kinds

_Label = Callable[[KeyText, KeyText], str]
_HEAD_CHARACTERS: Final = 40
_PATTERN_ROWS: Final = 10
"""Keys from which on what they have in common is no chance: assumed."""


def _one_identifier(texts: Iterable[KeyText]) -> bool:
    """Whether keys begin with letters and digits of one length, most of them mixed: ``00004a`` beside ``000041``; or
    with what is written for a missing value."""
    heads = [text.head for text in texts if text.text != MISSING]
    mixed = sum(head.isalnum() and not head.isdigit() and not head.isalpha() for head in heads)
    return len({len(head) for head in heads}) == 1 and 2 * mixed > len(heads)


def _word(text: KeyText) -> str:
    """The head of a key where it is a word."""
    head = text.head
    return head if head.isalpha() and head.isascii() and len(head) <= _HEAD_CHARACTERS else ""


def _head_class(text: KeyText) -> str:
    head = text.head
    if head.isascii() and head.isdigit():
        return "digits"
    return "word" if head.isalpha() else "other"


def _by_separators(partition: KeyText, row: KeyText) -> str:
    return " ".join((*partition.masked[1], "|", *row.masked[1]))


_BY_HEAD: Final[tuple[tuple[_Label, _Label], ...]] = (
    (lambda partition, row: _word(partition), lambda partition, row: _head_class(partition)),
    (lambda partition, row: _word(row), lambda partition, row: _head_class(row)),
)
"""The ways that look at the beginning of the PartitionKey, and of the RowKey."""
_WAYS: Final[tuple[_Label, ...]] = (_BY_HEAD[1][0], _BY_HEAD[0][0], _BY_HEAD[1][1], _BY_HEAD[0][1], _by_separators)
"""What may tell kinds apart: the word at the beginning of a key, what the beginning is made of, and the separators."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Rows taken for one kind, with their keys cut."""

    rows: tuple[int, ...]
    cuts: tuple[Cut, Cut]


def _bits(groups: Sequence[_Group]) -> float:
    """What the keys of all groups cost to tell: which group, fixed text once for all, and the values."""
    count = sum(len(g.rows) for g in groups)
    fixed = {t for g in groups for c in g.cuts for t in c.constants}
    which = sum(len(g.rows) * log2(count / len(g.rows)) for g in groups)
    return (
        which
        + _KIND_BITS * len(groups)
        + FIXED_BITS * sum(map(len, fixed))
        + sum(c.bits() for g in groups for c in g.cuts)
    )


def _group(texts: Mapping[int, tuple[KeyText, KeyText]], rows: Sequence[int]) -> _Group:
    return _Group(tuple(rows), (cut([texts[r][0] for r in rows]), cut([texts[r][1] for r in rows])))


def _kinds(texts: Mapping[int, tuple[KeyText, KeyText]], whole: _Group, depth: int = 0) -> list[_Group]:
    """The rows told apart by whatever makes their keys cheapest to tell, again and again."""
    best, least = [whole], _bits([whole])
    sides = [place for place in (0, 1) if _one_identifier(texts[row][place] for row in whole.rows)]
    for way in _WAYS if depth < _MAX_DEPTH else ():
        if any(way in _BY_HEAD[place] for place in sides):
            continue
        parts: dict[str, list[int]] = {}
        for row in whole.rows:
            parts.setdefault(way(*texts[row]), []).append(row)
        if not 1 < len(parts) <= _MAX_KINDS:
            continue
        if 2 * sum(len(rows) == 1 for rows in parts.values()) > len(parts):
            continue  # one row shows no pattern
        groups = [_group(texts, rows) for rows in parts.values()]
        if way is _by_separators:
            if not all(any(c.certain for c in g.cuts) for g in groups):
                continue  # texts that hold a separator now and then
            if any(_value_of(a, b) for a, b in permutations(groups, 2)):
                continue
        bits = _bits(groups)
        told_apart = any(_differ(a, b) for a, b in combinations(groups, 2)) and not _mixed_ids(groups)
        if bits < least and told_apart:
            best, least = groups, bits
    if len(best) == 1:
        return best
    return [kind for group in best for kind in _kinds(texts, group, depth + 1)]


def _apart(texts: Mapping[int, tuple[KeyText, KeyText]], rows: Sequence[int]) -> list[_Group]:
    """A group for each of the most frequent orders of separators."""
    parts: dict[str, list[int]] = {}
    for row in rows:
        parts.setdefault(_by_separators(*texts[row]), []).append(row)
    frequent = sorted(parts.values(), key=lambda p: (-len(p), p))
    return [_group(texts, part) for part in frequent[:_MAX_KINDS]]


def _value_of(one: _Group, other: _Group) -> bool:
    """Whether the keys of a group end in one text where those of another end in one of a few, behind like pieces.

    A frequent value with more separators in it makes no kind: ``00000302_linux-x64.tgz`` beside ``00000302_docs.html``.
    A text with fewer does, as ``00000302_header`` beside ``00000302_line-7``, and one beside identifiers.
    """
    ends = False
    for a, b in zip(one.cuts, other.cuts, strict=True):
        pairs = zip(a.pieces, b.pieces, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: _alike(*pair), pairs))
        if same == len(a.pieces) == len(b.pieces):
            continue
        mine, theirs = a.pieces[same:], b.pieces[same:]
        formed = any(p.shape is not None and p.shape.certain for p in a.pieces[:same])
        free = bool(theirs) and theirs[0].shape is not None and not any(p.shape and p.shape.certain for p in theirs)
        few = _PATTERN_ROWS * len(set(zip(*(p.texts for p in theirs), strict=True))) <= len(other.rows)
        if not (formed and free and few and len(mine) > len(theirs) and all(p.shape is None for p in mine)):
            return False
        ends = True
    return ends


def _differ(one: _Group, other: _Group) -> bool:
    """Whether keys differ in more than their values: in the number of pieces, or in what is certain at a place.

    Values that merely go together, such as a city and its state, make no kinds.
    """
    return any(
        len(a.pieces) != len(b.pieces) or any(x.differs(y) for x, y in zip(a.pieces, b.pieces, strict=True))
        for a, b in zip(one.cuts, other.cuts, strict=True)
    )


def _mixed_ids(groups: Sequence[_Group]) -> bool:
    """Whether only the PartitionKeys differ, and only as identifiers of several makers do: ``000123`` beside ``AX-7``.

    Rows are of several kinds where two of these begin with words of their own and go on, or where one is a time or a
    Guid. Two words alone are values of one property, whatever else is among them. Groups of few rows share text by
    chance, and are not looked at beside larger ones.
    """
    larger = [g for g in groups if len(g.rows) >= _PATTERN_ROWS]
    groups = larger if len(larger) > 1 else groups
    rows = [g.cuts[1].pieces for g in groups]
    if any(len(pieces) != len(rows[0]) for pieces in rows) or any(
        not _alike(x, y) for a, b in combinations(rows, 2) for x, y in zip(a, b, strict=True)
    ):
        return False
    heads = [g.cuts[0].pieces for g in groups]
    words = {pieces[0].constant for pieces in heads if pieces[0].shape is None and any(p.shape for p in pieces)}
    alone = sum(all(p.shape is None for p in pieces) for pieces in heads)
    return len(words) < 2 and (
        alone > 1 or not any(_time_or_guid(p.shape) for pieces in heads for p in pieces if p.shape is not None)
    )


def _alike(one: Piece, other: Piece) -> bool:
    """Whether pieces are the same fixed text, or values of one form; numbers in hex are one, whatever their type."""
    if one.shape is None or other.shape is None:
        return one.shape is other.shape and one.constant == other.constant
    in_hex = "sortable" in one.shape.function and "sortable" in other.shape.function
    return in_hex or not one.differs(other)


def _time_or_guid(shape: Shape) -> bool:
    return shape.edm in (EdmType.DATETIME, EdmType.GUID) and "sortable" not in shape.function


# --- from kinds to templates


def _guess(table: _Table, left: Sequence[int], *, apart: bool) -> list[Named]:
    """The templates of some keys, those first that say most about a key.

    ``apart`` takes keys with other separators for other kinds without weighing it.
    """
    rows = left
    if len(left) > SAMPLE_ROWS:
        # By checksum: every n-th of the sorted keys would be the first key of every partition, and such.
        rows = sorted(sorted(left, key=lambda r: (_checksum(table.keys[r]), r))[:SAMPLE_ROWS])
    texts = {r: (key_text(table.keys[r][0]), key_text(table.keys[r][1])) for r in rows}
    out: dict[str, tuple[float, Named]] = {}
    for group in _apart(texts, rows) if apart else _kinds(texts, _group(texts, rows)):
        named = _template(table, group)
        out.setdefault(str(named.key), (_says(named), named))
    return [named for _, named in sorted(out.values(), key=lambda f: (-f[0], str(f[1].key)))]


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


def _template(table: _Table, group: _Group) -> Named:
    """The template of a kind: the first of several that explains its rows."""
    columns = table.columns(group.rows)
    keys = [table.keys[r] for r in group.rows]
    places = range(len(keys))
    best, most = None, -1
    for cuts in _coarser(group.cuts, keys):
        for joined, shared in ((True, True), (False, True), (False, False)):
            named = name_key(cuts, columns, joined=joined, shared=shared)
            values = {c.name: c.values for c in columns if c.name in named.columns}
            explained = sum(Proof(named.key, named.types, values).explained(keys, places))
            if explained > most:
                best, most = named, explained
            if explained == len(keys):
                break
        if most >= len(keys) - allowed(len(keys)):
            break
    assert best is not None
    return best


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
