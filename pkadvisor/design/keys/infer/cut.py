"""Cutting keys of one shape into pieces.

A cut is made only at separators that stand in every key in the same order and that no value holds: a template would
write the separator inside a value as an escape, and the key would come out differently.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from math import log2
from typing import Final, TypeVar

from pkadvisor.design.keys.infer.shapes import GUID_TEXT, TEXT, Shape, allowed, classify
from pkadvisor.design.keys.transforms import FORBIDDEN, MISSING, Field
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

_T = TypeVar("_T", bound=Hashable)

_SEPARATORS: Final = "|;:_!$&^=+*-"
"""Characters that separate, the surest first. Blank, comma, point and ``@`` belong to texts more often."""
_CLASS: Final = re.escape(_SEPARATORS)
_KEEP: Final = rf"~-|~[0-9A-F]{{4}}|(?:^|(?<=[{_CLASS}]))-(?=[0-9])"
"""What is no separator though it looks like one: escapes, and the sign of a number below zero."""
_RUN: Final = rf"(?P<run>[{_CLASS}]+?(?=-[0-9]|[^{_CLASS}]|$))"
_DATE: Final = (
    r"(?<![0-9])[0-9]{4}(?P<s>[-_.])[0-9]{2}(?:(?P=s)[0-9]{2})?"
    r"(?:[-_ T][0-9]{2}(?:[:_-][0-9]{2}){0,2}(?:\.[0-9]+)?Z?)?(?![0-9])"
    r"|(?<![0-9])[0-9]{4}-W[0-9]{2}(?![0-9])"
)
_GUID: Final = rf"(?<![0-9a-fA-F]){GUID_TEXT}(?![0-9a-fA-F])"
_PLAIN = re.compile(rf"{_KEEP}|{_RUN}")
_MASKED = re.compile(rf"{_GUID}|(?:{_DATE})|{_KEEP}|{_RUN}")
_ESCAPE = re.compile("~-|~[0-9A-F]{4}")
_MAX_LISTED: Final = 32
_MAX_RUNS: Final = 100
_STRAY_BITS: Final = 60.0
FIXED_BITS: Final = 4.0
"""What a character of fixed text costs, once in a template."""

Tokens = tuple[tuple[str, ...], tuple[str, ...]]
"""A text as pieces and the separators between them: one separator fewer."""
Span = tuple[int, int]
"""Where a text stands in a key: its first character, and the one behind the last."""


@dataclass(frozen=True, slots=True)
class TokenizedKey:
    """One key text cut at every run of separators: with Guids and dates whole, and without regard to them.

    Values that columns are known to hold are whole in both; ``by_value``: the key begins with one.
    """

    text: str
    masked: Tokens
    plain: Tokens
    by_value: bool = False

    @property
    def head(self) -> str:
        """The text before the first separator."""
        return self.masked[0][0]


def key_text(text: str, values: Sequence[Span] = ()) -> TokenizedKey:
    """A key text with its separators found: those outside of the ``values`` of columns."""
    plain = _tokens(text, _PLAIN, values)
    by_value = any(begin == 0 for begin, _ in values)
    return TokenizedKey(text, _tokens(text, _MASKED, values) if plain[1] else plain, plain, by_value)


def _tokens(text: str, pattern: re.Pattern[str], values: Sequence[Span]) -> Tokens:
    pieces, runs, begin = [], [], 0
    for match in pattern.finditer(text):
        if (run := match["run"]) and not any(b < match.end() and match.start() < e for b, e in values):
            pieces.append(text[begin : match.start()])
            runs.append(run)
            begin = match.end()
    return (*pieces, text[begin:]), tuple(runs)


@dataclass(frozen=True, slots=True)
class Piece:
    """The texts at one place of the keys, and the fixed text behind them.

    ``texts`` has one entry for each row, None where the row is cut otherwise. Without a shape all texts are one.
    """

    texts: tuple[str | None, ...]
    after: str
    shape: Shape | None

    def present(self) -> list[str]:
        """The texts of the rows that are cut like this."""
        return [t for t in self.texts if t is not None]

    @property
    def constant(self) -> str:
        """The text of a constant piece."""
        return next((t for t in self.texts if t is not None), "")

    def differs(self, other: Piece) -> bool:
        """Whether two pieces are certainly of different shapes; fixed text may be a value of any shape that it fits."""
        mine, theirs = (p.shape or classify(p.present()) for p in (self, other))
        if self.shape is None and other.shape is None:
            return False
        if self.shape is None or other.shape is None:
            return bool((theirs if self.shape is None else mine).certain) and mine.certain != theirs.certain
        return mine.certain != theirs.certain

    def bits(self, *, listed: bool) -> float:
        """What the texts cost to tell, without fixed ones; ``listed`` if few that recur may be numbered from a list."""
        cost = 4.0 + len(self.after) + _STRAY_BITS * self.texts.count(None)
        if self.shape is None:
            return cost
        present = self.present()
        counts = Counter(present)
        plain = sum(count * self.shape.bits(text) for text, count in counts.items())
        if not listed or len(counts) > min(_MAX_LISTED, len(present) / 2):
            return cost + plain
        return cost + min(plain, sum(6 * len(t) + n * log2(len(present) / n) for t, n in counts.items()))


@dataclass(frozen=True, slots=True)
class Cut:
    """Keys of one shape taken apart; ``held`` are the separators given up because values hold them."""

    pieces: tuple[Piece, ...]
    held: str = ""

    @property
    def certain(self) -> bool:
        """Whether a piece has a shape that not every text fits."""
        return any(p.shape is not None and p.shape.certain for p in self.pieces)

    @property
    def constants(self) -> set[str]:
        """The fixed texts between separators."""
        return {p.constant for p in self.pieces if p.shape is None}

    def bits(self) -> float:
        """What all keys cost to tell, with the template itself.

        Only the first piece may be listed: else kinds would be found where values merely go together.
        """
        several = len(self.pieces) > 1
        return sum(p.bits(listed=several and i == 0) for i, p in enumerate(self.pieces))


def cut(texts: Sequence[TokenizedKey]) -> Cut:
    """The cheapest way found to take keys of one shape apart."""
    whole = piece([t.text for t in texts], "")
    if whole.shape is not None and (whole.shape.certain or whole.shape.hint):
        return Cut((whole,))
    best = _cut([t.masked for t in texts])
    if not all(t.masked is t.plain or t.masked == t.plain for t in texts):
        best = min((best, _cut([t.plain for t in texts])), key=lambda way: way.bits())
    return (
        best if len(best.pieces) > 1 else min((best, *cuts_at_one([t.text for t in texts])), key=lambda way: way.bits())
    )


def cuts_at_one(texts: Sequence[str]) -> Iterable[Cut]:
    """Cuts at one character alone, for values that begin with other separators, such as texts in base64."""
    for character in _SEPARATORS:
        times = texts[0].count(character)
        if times and all(text.count(character) == times for text in texts):
            yield _cut([(tuple(text.split(character)), (character,) * times) for text in texts])


def cut_at_heads(texts: Sequence[TokenizedKey]) -> Cut:
    """Keys cut with nothing for fixed at their beginning but what all of them share."""
    return _cut([t.masked for t in texts], strays=0)


def piece(texts: Sequence[str | None], after: str) -> Piece:
    """The piece of some texts, with its shape."""
    present = {t for t in texts if t is not None}
    one = next(iter(present)) if len(present) == 1 else MISSING
    fixed = one != MISSING and not set(one) & FORBIDDEN
    return Piece(tuple(texts), after, None if fixed else classify(present))


def _cut(rows: Sequence[Tokens], strays: int | None = None) -> Cut:
    """Keys cut at all separators that they share, but for those that values hold; ``strays`` keys may begin otherwise
    than the others, and without it as many as may break a pattern."""
    fixed = _fixed_head(rows, allowed(len(rows)) if strays is None else strays)
    usable = _shared_runs([runs[len(fixed) :] for _, runs in rows])
    held = ""
    while True:
        joined = [_joined(row, fixed, usable) for row in rows]
        order = _common([None if row is None else row[1] for row in joined], allowed(len(rows)))
        if order is None:
            usable -= {min(usable, key=_strength)}
            continue
        columns = [[r[0][i] if r and r[1] == order else None for r in joined] for i in range(len(order) + 1)]
        pieces = [piece(c, after) for c, after in zip(columns, (*order, ""), strict=True)]
        bad = _held(pieces)
        if not bad:
            return Cut(tuple(_affixes(_safe_constants(pieces))), held)
        usable = frozenset(run for run in usable if not bad & set(run))
        held += "".join(sorted(bad - set(held)))


def _common(values: Sequence[_T], strays: int) -> _T | None:
    """What all rows but a few share."""
    value, frequent = Counter(values).most_common(1)[0]
    return value if len(values) - frequent <= strays else None


def _fixed_head(rows: Sequence[Tokens], strays: int) -> tuple[tuple[str, str], ...]:
    """The pieces at the beginning, each with the separator behind it, that all keys but a few share."""
    fixed: list[tuple[str, str]] = []
    while True:
        at = len(fixed)
        shared = _common([(p[at], r[at]) if len(r) > at else None for p, r in rows], strays)
        if shared is None or set(shared[0]) & FORBIDDEN or shared[0] == MISSING:
            return tuple(fixed)
        fixed.append(shared)


def _shared_runs(rows: Sequence[Sequence[str]]) -> frozenset[str]:
    """The separators that stand equally often in all keys, or in nearly all where there are none such."""
    counted = [Counter(runs) for runs in rows]
    every = sorted({run for counts in counted for run in counts})
    if len(every) > _MAX_RUNS:  # separators at random are none
        return frozenset()
    shared = {run: _common([counts[run] for counts in counted], allowed(len(rows))) for run in every}
    sure = frozenset(run for run, times in shared.items() if times and all(c[run] == times for c in counted))
    return sure or frozenset(run for run, times in shared.items() if times)


def _strength(run: str) -> tuple[int, int, str]:
    return len(run), -min(_SEPARATORS.index(c) for c in run), run


def _joined(row: Tokens, fixed: tuple[tuple[str, str], ...], usable: frozenset[str]) -> Tokens | None:
    """A key cut only behind its fixed head and at the separators in use; None where the head differs."""
    pieces, runs = row
    head = len(fixed)
    if tuple(zip(pieces[:head], runs[:head], strict=False)) != fixed:
        return None
    out, runs_left = [*pieces[: head + 1]], [*runs[:head]]
    for run, text in zip(runs[head:], pieces[head + 1 :], strict=True):
        if run in usable:
            runs_left.append(run)
            out.append(text)
        else:
            out[-1] += run + text
    return tuple(out), tuple(runs_left)


def _escapes(cut_piece: Piece) -> bool:
    """Whether a template would escape separators in these texts."""
    shape = cut_piece.shape
    return shape is not None and (isinstance(shape.part("p"), Field) or shape.edm is EdmType.STRING)


def _first_variable(pieces: Sequence[Piece]) -> int:
    return next((i for i, p in enumerate(pieces) if p.shape is not None), len(pieces))


def _meets(pieces: Iterable[Piece], characters: set[str]) -> set[str]:
    """Those characters that too many of the texts hold outside escapes."""
    met: set[str] = set()
    for one in pieces:
        if _escapes(one):
            present = one.present()
            plain = [set(_ESCAPE.sub("", t)) & characters for t in present]
            if sum(map(bool, plain)) > allowed(len(present)):
                met |= set().union(*plain)
    return met


def _held(pieces: Sequence[Piece]) -> set[str]:
    """The characters of separators that values hold."""
    first = _first_variable(pieces)
    return _meets(pieces, set("".join(p.after for p in pieces[first:])))


def _safe_constants(pieces: Sequence[Piece]) -> list[Piece]:
    """Constants as fixed text only where no value holds their letters: those would be escaped."""
    first = _first_variable(pieces)
    return [
        Piece(p.texts, p.after, classify(p.present()))
        if i > first and p.shape is None and _meets(pieces, set(p.constant))
        else p
        for i, p in enumerate(pieces)
    ]


def _stem(texts: Sequence[str]) -> str:
    """What all texts begin with, up to a number."""
    low, high = min(texts), max(texts)
    end = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))
    return low[:end].rstrip("0123456789")


def _affixes(pieces: Sequence[Piece]) -> list[Piece]:
    """Pieces such as ``C00213`` as fixed letters and a number."""
    out: list[Piece] = []
    first = _first_variable(pieces)
    for index, one in enumerate(pieces):
        present = one.present()
        stem = _stem(present) if one.shape == TEXT else ""
        rests = [None if t is None else t[len(stem) :] for t in one.texts]
        shape = classify(r for r in rests if r is not None) if stem else TEXT
        others = [*pieces[:index], *pieces[index + 1 :]]
        usual = shape.function or shape.edm is EdmType.INT64
        if not stem or not usual or set(stem) & FORBIDDEN or (index > first and _meets(others, set(stem))):
            out.append(one)
            continue
        out.append(Piece(tuple(None if t is None else stem for t in one.texts), "", None))
        out.append(Piece(tuple(rests), one.after, shape))
    return out
