"""Columns whose values stand in keys as an application writes them: with other text in place of what a key cannot hold
(``AC%2FDC`` or ``AC_DC`` for ``AC/DC``), or with separators in them as in ``AC-DC-0042``.

Such a text is one value. Without the column, its separators and escapes would look like those of other kinds of rows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import quote

from pkadvisor.design.keys.infer.columns import FEW, SampledColumn
from pkadvisor.design.keys.infer.cut import Span, key_text
from pkadvisor.design.keys.infer.kinds import PATTERN_ROWS, words_and_separators
from pkadvisor.design.keys.transforms import FORBIDDEN, Value
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

HELD: Final = 0.9
"""Share of a column's values that the keys must hold, each in its own row: assumed. The rest may be written in yet
another way."""
_PROBE: Final = 40
_WIDEST: Final = 9
"""Characters that stand for one at most, as ``%E2%82%AC`` does for the sign of the euro."""
_RUN: Final = re.compile("[0-9A-Za-z]+")
_OTHER: Final = re.compile("[^0-9A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Spelling:
    """How keys write the values of a column.

    ``texts``: what stands in keys for runs of characters that are no ASCII letters and digits. For a run that no key
    shows, its characters are percent-encoded if ``encoded``; else those that a key cannot hold are ``forbidden_as``, or
    percent-encoded where this is None.
    """

    texts: Mapping[str, str]
    encoded: bool
    forbidden_as: str | None

    def of(self, other: str) -> str:
        """The text in keys for a run of other characters."""
        text = self.texts.get(other)
        return "".join(self.texts.get(c, self._unseen(c)) for c in other) if text is None else text

    def _unseen(self, character: str) -> str:
        if self.encoded or (self.forbidden_as is None and character in FORBIDDEN):
            return _percent(character)
        return self.forbidden_as or "" if character in FORBIDDEN else character

    def write(self, value: str) -> str:
        """A value as keys hold it."""
        return _OTHER.sub(lambda match: self.of(match[0]), value)

    def changed(self, values: Iterable[Value]) -> str:
        """Printable characters in values for which keys hold other text, those first that a key cannot hold."""
        seen = {c for value in values if isinstance(value, str) for c in value if not c.isalnum() and c.isprintable()}
        return "".join(sorted((c for c in seen - {" "} if self.of(c) != c), key=lambda c: (c not in FORBIDDEN, c)))[:5]

    def span(self, key: str, value: Value) -> Span | None:
        """Where a key holds a value, with no letter and no digit beside it."""
        text = self.write(value) if isinstance(value, str) else ""
        begin = key.find(text) if text else -1
        while begin >= 0:
            end = begin + len(text)
            if not key[:begin][-1:].isalnum() and not key[end : end + 1].isalnum():
                return begin, end
            begin = key.find(text, begin + 1)
        return None


def _percent(text: str) -> str:
    return quote(text, safe="", errors="replace")


def spelling(pairs: Iterable[tuple[str, str]]) -> Spelling:
    """How keys write values, of pairs of both: what stands most often for each run of other characters."""
    counts: dict[str, Counter[str]] = {}
    ends: list[tuple[str, str]] = []
    for value, key in pairs:
        runs, others = _RUN.findall(value), _OTHER.findall(value)
        at = key.find(runs[0]) + len(runs[0]) if runs and others and runs[0] in key else -1
        between = others[1:] if _OTHER.match(value) else others
        for other, run in zip(between, runs[1:], strict=False):
            begin = key.find(run, at) if at >= 0 else -1
            if not 0 <= begin - at <= _WIDEST * len(other):
                at = -1
                break
            counts.setdefault(other, Counter())[key[at:begin]] += 1
            at = begin + len(run)
        if at >= 0 and len(between) == len(runs):
            ends.append((between[-1], key[at:]))
    inside = _usual(counts)
    for other, rest in ends:
        if other not in inside.texts and (text := _end(inside, other, rest)) is not None:
            counts.setdefault(other, Counter())[text] += 1
    return _usual(counts)


def _usual(counts: Mapping[str, Counter[str]]) -> Spelling:
    texts = {other: of_other.most_common(1)[0][0] for other, of_other in counts.items()}
    forbidden = {other for other in texts if not FORBIDDEN.isdisjoint(other)}
    encoded = any(texts[o] != o and texts[o].upper() == _percent(o) for o in texts.keys() - forbidden)
    instead = (texts[o] for o in sorted(forbidden) if len(o) == 1 and texts[o].upper() != _percent(o))
    return Spelling(texts, encoded, next(instead, None))


def _end(inside: Spelling, other: str, rest: str) -> str | None:
    """What a value that ends in other characters ends in, of the ``rest`` of its key: the longest of what may stand for
    them before the end or a separator."""
    candidates = {inside.of(other), _percent(other), _percent(other).lower(), "_" * len(other), "-" * len(other), ""}
    fitting = [t for t in candidates if rest.startswith(t) and not rest[len(t) : len(t) + 1].isalnum()]
    return max(fitting, key=len, default=None)


def spelled_on(
    column: SampledColumn, keys: Sequence[tuple[str, str]], present: Sequence[Sequence[bool]]
) -> list[tuple[int, Spelling]]:
    """The sides (0: PartitionKey) on which nearly all keys hold the column's values, and these look otherwise from row
    to row: some with other text in them, or with more separators than others. ``present`` is as in ``kinds_of``."""
    rows = [row for row, value in enumerate(column.values) if value] if column.edm is EdmType.STRING else []
    out = []
    for side in (0, 1) if len(rows) >= PATTERN_ROWS else ():
        probe = [(str(column.values[row]), keys[row][side]) for row in rows[:: -(-len(rows) // _PROBE)]]
        begin = ((run[0], key) for value, key in probe if (run := _RUN.search(value)))
        if sum(run in key for run, key in begin) >= HELD * len(probe):
            how = _spelled([(str(column.values[row]), keys[row][side]) for row in rows])
            if how is not None and not _tells_kinds(keys, rows, present):
                out.append((side, how))
    return out


def _spelled(pairs: Sequence[tuple[str, str]]) -> Spelling | None:
    """How keys write values, where they hold nearly all of them, and these look otherwise; else None."""
    distinct = {value for value, _ in pairs}
    if len(distinct) <= FEW or all(map(str.isalnum, distinct)) or all(value == key for value, key in pairs):
        return None
    how = spelling(pairs)
    if sum(how.span(key, value) is not None for value, key in pairs) < HELD * len(pairs):
        return None
    escaped = any(how.write(value) != value for value in distinct)
    return how if escaped or len({key_text(value).masked[1] for value in distinct}) > 1 else None


def _tells_kinds(keys: Sequence[tuple[str, str]], rows: Sequence[int], present: Sequence[Sequence[bool]]) -> bool:
    """Whether with the words and separators of keys go columns of their own: then they are of kinds of rows."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for row in rows:
        groups.setdefault(words_and_separators(*map(key_text, keys[row])), []).append(row)
    larger = [group for group in groups.values() if len(group) >= PATTERN_ROWS]
    shares = ({sum(column[row] for row in group) / len(group) for group in larger} for column in present)
    return any(of_groups == {0.0, 1.0} for of_groups in shares)
