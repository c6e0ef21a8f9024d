"""Rows told apart into kinds, where that makes their keys cheaper to tell."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, permutations, takewhile
from math import log2
from typing import Final

from pkadvisor.design.keys.infer.cut import FIXED_BITS, Cut, Piece, TokenizedKey, cut
from pkadvisor.design.keys.transforms import MISSING
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

_MAX_KINDS: Final = 16
_MAX_DEPTH: Final = 3
_KIND_BITS: Final = 12.0
_Label = Callable[[TokenizedKey, TokenizedKey], str]
_HEAD_CHARACTERS: Final = 40
_NUMBER_IN_HEX: Final = re.compile("[0-9a-f]{8}|[0-9a-f]{16}")
_HEX: Final = re.compile("[0-9a-f]+|[0-9A-F]+")
COLUMNS_OF_A_KIND: Final = 2
"""Columns beside the keys from which on rows of several kinds would differ in some of them: assumed."""
PATTERN_ROWS: Final = 10
"""Keys from which on what they have in common is no chance: assumed."""


def one_identifier(texts: Iterable[TokenizedKey]) -> bool:
    """Whether keys begin with letters and digits of one length: most of them mixed, as ``00004a`` beside ``000041``, or
    all in hex with no more numbers than chance makes; or with what is written for a missing value."""
    heads = [text.head for text in texts if text.text != MISSING]
    if len({len(head) for head in heads}) != 1:
        return False
    mixed = sum(head.isalnum() and not head.isdigit() and not head.isalpha() for head in heads)
    numbers = sum(head.isdigit() for head in heads)
    by_chance = 2 * len(heads) * (10 / 16) ** len(heads[0])
    return 2 * mixed > len(heads) or (mixed > 0 and numbers < by_chance and all(map(_HEX.fullmatch, heads)))


_VALUE: Final = " "
"""Stands for the head of a key that begins with a value of a column."""


def _word(text: TokenizedKey) -> str:
    """The head of a key where it is a word; one mark for all values of columns."""
    head = text.head
    if text.by_value:
        return _VALUE
    return head if head.isalpha() and head.isascii() and len(head) <= _HEAD_CHARACTERS else ""


def _head_class(text: TokenizedKey) -> str:
    head = text.head
    if text.by_value:
        return _VALUE
    if head.isascii() and head.isdigit():
        return "digits"
    return "word" if head.isalpha() else "other"


def _by_separators(partition: TokenizedKey, row: TokenizedKey) -> str:
    return " ".join((*partition.masked[1], "|", *row.masked[1]))


def words_and_separators(partition: TokenizedKey, row: TokenizedKey) -> tuple[str, str, str]:
    """The words that two key texts begin with, and the separators in them: what may tell kinds apart."""
    return _word(partition), _word(row), _by_separators(partition, row)


_BY_HEAD: Final[tuple[tuple[_Label, _Label], ...]] = (
    (lambda partition, row: _word(partition), lambda partition, row: _head_class(partition)),
    (lambda partition, row: _word(row), lambda partition, row: _head_class(row)),
)
"""The ways that look at the beginning of the PartitionKey, and of the RowKey."""
_BY_WORD: Final = tuple(word for word, _ in _BY_HEAD)
_WAYS: Final[tuple[_Label, ...]] = (_BY_HEAD[1][0], _BY_HEAD[0][0], _BY_HEAD[1][1], _BY_HEAD[0][1], _by_separators)
"""What may tell kinds apart: the word at the beginning of a key, what the beginning is made of, and the separators."""


@dataclass(frozen=True, slots=True)
class KindRows:
    """Rows taken for one kind, with their keys cut."""

    rows: tuple[int, ...]
    cuts: tuple[Cut, Cut]


def _bits(groups: Sequence[KindRows]) -> float:
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


def group_of(texts: Mapping[int, tuple[TokenizedKey, TokenizedKey]], rows: Sequence[int]) -> KindRows:
    return KindRows(tuple(rows), (cut([texts[r][0] for r in rows]), cut([texts[r][1] for r in rows])))


def kinds_of(
    texts: Mapping[int, tuple[TokenizedKey, TokenizedKey]],
    whole: KindRows,
    depth: int = 0,
    present: Sequence[Sequence[bool]] = (),
    columns: int = 0,
) -> list[KindRows]:
    """The rows told apart by whatever makes their keys cheapest to tell, again and again, or by words, or digits and
    words, with which go columns of their own.

    ``present``: for each column of the data that some rows lack, whether a row has a value there. ``columns``: all
    columns of the data beside the keys.
    """
    best, least = [whole], _bits([whole])
    sides = [place for place in (0, 1) if one_identifier(texts[row][place] for row in whole.rows)]
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
        groups = [group_of(texts, rows) for rows in parts.values()]
        if way is _by_separators:
            if not all(any(c.certain for c in g.cuts) for g in groups):
                continue  # texts that hold a separator now and then
            if any(_value_of(a, b) for a, b in permutations(groups, 2)):
                continue
        bits = _bits(groups)
        same_columns = columns >= COLUMNS_OF_A_KIND and not own_columns(groups, present)
        told_apart = any(_differ(a, b) for a, b in combinations(groups, 2)) and not _mixed_ids(groups, same_columns)
        by_word = (way in _BY_WORD and "" not in parts) or way is _BY_HEAD[1][1]
        if (bits < least and told_apart) or (by_word and _other_columns(groups, present)):
            best, least = groups, min(bits, least)
    if len(best) == 1:
        return best
    return [kind for group in best for kind in kinds_of(texts, group, depth + 1, present, columns)]


def kinds_by_separators(texts: Mapping[int, tuple[TokenizedKey, TokenizedKey]], rows: Sequence[int]) -> list[KindRows]:
    """A group for each of the most frequent orders of separators."""
    parts: dict[str, list[int]] = {}
    for row in rows:
        parts.setdefault(_by_separators(*texts[row]), []).append(row)
    frequent = sorted(parts.values(), key=lambda p: (-len(p), p))
    return [group_of(texts, part) for part in frequent[:_MAX_KINDS]]


def _value_of(one: KindRows, other: KindRows) -> bool:
    """Whether the keys of a group end in one text where those of another end in one of a few, behind like pieces.

    A frequent value with more separators in it makes no kind: ``00000302_linux-x64.tgz`` beside ``00000302_docs.html``.
    A text with fewer does, as ``00000302_header`` beside ``00000302_line-7``, and one beside identifiers.
    """
    ends = False
    for a, b in zip(one.cuts, other.cuts, strict=True):
        pairs = zip(a.pieces, b.pieces, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: alike(*pair), pairs))
        if same == len(a.pieces) == len(b.pieces):
            continue
        mine, theirs = a.pieces[same:], b.pieces[same:]
        formed = any(p.shape is not None and p.shape.certain for p in a.pieces[:same])
        free = bool(theirs) and theirs[0].shape is not None and not any(p.shape and p.shape.certain for p in theirs)
        few = PATTERN_ROWS * len(set(zip(*(p.texts for p in theirs), strict=True))) <= len(other.rows)
        if not (formed and free and few and len(mine) > len(theirs) and all(p.shape is None for p in mine)):
            return False
        ends = True
    return ends


def own_columns(groups: Sequence[KindRows], present: Sequence[Sequence[bool]]) -> bool:
    """Whether some group has no value in a column in which others have some."""
    return any(len({any(column[row] for row in g.rows) for g in groups}) > 1 for column in present)


def columns_apart(rows: Sequence[int], others: Sequence[int], present: Sequence[Sequence[bool]]) -> bool:
    """Whether a column has a value in all of some rows and in none of the others."""
    pairs = ((rows, others), (others, rows))
    return any(all(column[r] for r in a) and not any(column[r] for r in b) for column in present for a, b in pairs)


def _other_columns(groups: Sequence[KindRows], present: Sequence[Sequence[bool]]) -> bool:
    """Whether each group has a column in all of its rows, or in none, with which another group does otherwise."""
    shares = [[sum(column[row] for row in g.rows) / len(g.rows) for g in groups] for column in present]
    telling = [s for s in shares if set(s) == {0.0, 1.0}]
    return len({tuple(s[n] for s in telling) for n in range(len(groups))}) == len(groups) and all(
        len(g.rows) >= PATTERN_ROWS for g in groups
    )


def _differ(one: KindRows, other: KindRows) -> bool:
    """Whether keys differ in more than their values: in the number of pieces, or in what is certain at a place.

    Values that merely go together, such as a city and its state, make no kinds.
    """
    return any(
        len(a.pieces) != len(b.pieces) or any(x.differs(y) for x, y in zip(a.pieces, b.pieces, strict=True))
        for a, b in zip(one.cuts, other.cuts, strict=True)
    )


def _mixed_ids(groups: Sequence[KindRows], same_columns: bool) -> bool:
    """Whether only the PartitionKeys differ, and only as identifiers of several makers do: ``000123`` beside ``AX-7``.

    Rows are of several kinds where two of these begin with words of their own and go on, or where one is a time or a
    Guid; not where they have the ``same_columns``, as campaigns ``spring-sale-24`` and ``newsletter-3`` of one table.
    Two words alone are values of one property, whatever else is among them. Groups of few rows share text by chance,
    and are not looked at beside larger ones.
    """
    larger = [g for g in groups if len(g.rows) >= PATTERN_ROWS]
    groups = larger if len(larger) > 1 else groups
    rows = [g.cuts[1].pieces for g in groups]
    if any(len(pieces) != len(rows[0]) for pieces in rows) or any(
        not alike(x, y) for a, b in combinations(rows, 2) for x, y in zip(a, b, strict=True)
    ):
        return False
    heads = [g.cuts[0].pieces for g in groups]
    words = {pieces[0].constant for pieces in heads if pieces[0].shape is None and any(p.shape for p in pieces)}
    alone = sum(all(p.shape is None for p in pieces) for pieces in heads)
    if same_columns:
        return True
    return len(words) < 2 and (alone > 1 or not any(_time_or_guid(p) for pieces in heads for p in pieces))


def alike(one: Piece, other: Piece) -> bool:
    """Whether pieces are the same fixed text, or values of one form; numbers in hex are one, whatever their type."""
    if one.shape is None or other.shape is None:
        return one.shape is other.shape and one.constant == other.constant
    return (_in_hex(one) and _in_hex(other)) or not one.differs(other)


def _in_hex(piece: Piece) -> bool:
    """Whether all texts are numbers in hex, of eight digits or sixteen: few of them may look like one of a type."""
    return all(_NUMBER_IN_HEX.fullmatch(text) for text in piece.texts if text not in (None, MISSING))


def _time_or_guid(piece: Piece) -> bool:
    """Whether texts are times or Guids, and not one value such as ``2026-01-01`` again and again."""
    shape = piece.shape
    typed = shape is not None and shape.edm in (EdmType.DATETIME, EdmType.GUID) and "sortable" not in shape.function
    return typed and len(set(piece.texts) - {MISSING}) > 1


# -- Kinds of rows made one again, where only the values of their keys look otherwise.


Texts = Mapping[int, tuple[TokenizedKey, TokenizedKey]]


def merged_kinds(
    kinds: Sequence[KindRows], texts: Texts, present: Sequence[Sequence[bool]], columns: int
) -> list[KindRows]:
    """The kinds, with those of the same columns together where one template keeps what those of both fix.

    ``present`` and ``columns`` as in ``kinds_of``.
    """
    if columns < COLUMNS_OF_A_KIND:
        return list(kinds)
    out: list[KindRows] = []
    left = list(kinds)
    while left:
        kind = left.pop(0)
        candidates = (o for o in out if not own_columns((kind, o), present) and _no_word_between(kind, o))
        other, whole = next(((o, m) for o in candidates if (m := _merged(kind, o, texts)) is not None), (None, None))
        if whole is None:
            out.append(kind)
        else:
            out = [o for o in out if o is not other]
            left.insert(0, whole)
    return out


def _merged(first: KindRows, second: KindRows, texts: Texts) -> KindRows | None:
    """The rows of two kinds as one; None where this loses a time, a number, or another certain piece of their keys."""
    whole = group_of(texts, sorted((*first.rows, *second.rows)))
    for side in (0, 1):
        alone = {_certain_pieces(first.cuts[side]), _certain_pieces(second.cuts[side])}
        if len(alone) > 1 or _certain_pieces(whole.cuts[side]) < max(alone):
            return None
    return whole


def _certain_pieces(cut: Cut) -> int:
    """How many pieces of a key have a form that not every text fits."""
    return sum(piece.shape is not None and bool(piece.shape.certain) for piece in cut.pieces)


def _no_word_between(first: KindRows, second: KindRows) -> bool:
    """Whether no word tells the RowKeys of two kinds apart, nor the PartitionKeys where the RowKeys differ as well."""
    rows = [kind.cuts[1] for kind in (first, second)]
    if not _same_word(*rows):
        return False
    same_rows = len(rows[0].pieces) == len(rows[1].pieces) and all(
        alike(one, other) for one, other in zip(rows[0].pieces, rows[1].pieces, strict=True)
    )
    return same_rows or _same_word(first.cuts[0], second.cuts[0])


def _same_word(first: Cut, second: Cut) -> bool:
    """Whether keys begin with the same fixed word or with none, or one with a word that is a value beside the words
    that recur in the other."""
    words = [_cut_word(first), _cut_word(second)]
    if words[0] == words[1]:
        return True
    return not all(words) and _begins_with_few_words(first if not words[0] else second)


def _begins_with_few_words(cut: Cut) -> bool:
    """Whether keys begin with few words, again and again."""
    heads = cut.pieces[0].present()
    return 2 * len(set(heads)) <= len(heads) and all(head[:1].isalpha() for head in heads)


def words_of_kinds(kinds: Sequence[KindRows]) -> list[tuple[bool, bool]]:
    """For each kind whether its PartitionKeys, and its RowKeys, begin with a word that those of no other begin with."""
    words = [(_cut_word(kind.cuts[0]), _cut_word(kind.cuts[1])) for kind in kinds]
    heads = [[pair[side] for pair in words] for side in (0, 1)]
    several = len(kinds) > 1
    return [
        (several and heads[0].count(a) == 1 and a != "", several and heads[1].count(b) == 1 and b != "")
        for a, b in words
    ]


def _cut_word(cut: Cut) -> str:
    """The fixed word that all keys of a kind begin with; empty without one."""
    head = cut.pieces[0]
    word = head.constant if head.shape is None else ""
    return word if word.isalpha() else ""
