"""Kinds of rows made one again, where only the values of their keys look otherwise.

The name of a place may hold a separator, and the name of a customer may begin with a common word. Rows that have the
same columns, and keys that one template writes without loss, are of one kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pkadvisor.design.keys.infer.cut import Cut, TokenizedKey
from pkadvisor.design.keys.infer.kinds import COLUMNS_OF_A_KIND, KindRows, alike, group_of, own_columns

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
    words = [_word(first), _word(second)]
    if words[0] == words[1]:
        return True
    return not all(words) and _begins_with_few_words(first if not words[0] else second)


def _begins_with_few_words(cut: Cut) -> bool:
    """Whether keys begin with few words, again and again."""
    heads = cut.pieces[0].present()
    return 2 * len(set(heads)) <= len(heads) and all(head[:1].isalpha() for head in heads)


def _word(cut: Cut) -> str:
    """The fixed word that all keys of a kind begin with; empty without one."""
    head = cut.pieces[0]
    word = head.constant if head.shape is None else ""
    return word if word.isalpha() else ""
