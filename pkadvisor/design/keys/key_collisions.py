"""Whether rows under two pairs of templates can get one key, with an example of such a key.

Two kinds of entity in one table, or an entity and the index rows beside it, are kept apart by nothing but their keys:
the second insert of a key fails with 409, and an upsert overwrites the row of the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import field, replace
from functools import lru_cache
from itertools import groupby, pairwise, product

from pkadvisor.design.keys.infer.proof import read_part
from pkadvisor.design.keys.keyreader import pieces_of
from pkadvisor.design.keys.scheme import Key, encode
from pkadvisor.design.keys.template import separators
from pkadvisor.design.keys.transforms import MISSING, Context, Literal, Part, Value, part_properties, unescape
from pkadvisor.design.keys.transforms.canonical import canonical_text
from pkadvisor.design.keys.transforms.languages import HEX, Language, Run, exactly, may_meet, text_in_common
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass


@dataclass(frozen=True, slots=True)
class KeyedRows:
    """Rows that a pair of templates writes, and what is known of their entities.

    ``values`` are languages that hold the values of properties, ``examples`` some entities (times in ticks).
    """

    key: Key
    types: Mapping[str, EdmType]
    values: Mapping[str, Language] = field(default_factory=dict)
    examples: Sequence[Mapping[str, Value]] = ()

    def languages(self, parts: tuple[Part, ...]) -> tuple[Language, ...]:
        """The texts of each part; values that are missing are left out."""
        context = self._context(parts)
        return tuple(_present(part.texts(context)) if part.properties else part.texts(context) for part in parts)

    def read(self, partition: str, row: str) -> dict[str, Value] | None:
        """The values that an entity with this key has, as far as they can be read; None where none can have it."""
        half, other = self.read_half(self.key.partition, partition), self.read_half(self.key.row, row)
        if half is None or other is None or any(half[name] != other[name] for name in half.keys() & other.keys()):
            return None
        known = half | other
        for parts, text in ((self.key.partition, partition), (self.key.row, row)):
            names = set(part_properties(parts))
            whole = names <= known.keys() and all(part.properties for part in parts if not isinstance(part, Literal))
            if whole and "".join(part.encode(known, self._context(parts)) for part in parts) != text:
                return None
        return known

    def read_half(self, parts: tuple[Part, ...], text: str) -> dict[str, Value] | None:
        """``read`` for the PartitionKey or the RowKey alone."""
        known: dict[str, Value] = {}
        context = self._context(parts)
        pieces = pieces_of(parts, text, context)
        if pieces is None:
            return None
        for part, piece in pieces:
            values = self._read_piece(part, piece, context)
            if values is None or any(known.setdefault(name, value) != value for name, value in values.items()):
                return None
        return known

    def having(self, known: Mapping[str, Value]) -> KeyedRows:
        """The rows of entities with these values."""
        texts = _shown(known, self)
        return replace(self, values={**self.values, **{name: exactly(text) for name, text in texts}})

    def _read_piece(self, part: Part, piece: str, context: Context) -> dict[str, Value] | None:
        """What a piece of key says of its property: nothing of a hash; None where no value gives this text."""
        if not may_meet((_present(part.texts(context)),), (exactly(piece),)):
            return None
        if len(part.properties) != 1:
            return {}
        (name,) = part.properties
        if part.reads is not None and context.edm(name) not in part.reads:
            return {}
        if part.decodes:
            try:
                value = read_part(part, piece, context.types)
            except (ValueError, OverflowError):
                return None
        elif context.edm(name) is EdmType.STRING:
            value = unescape(piece)  # the beginning of a text, or lower case, may be the whole text itself
        else:
            return {}
        same = part.encode({name: value}, context) == piece
        return {name: value} if same else None if part.decodes else {}

    def _context(self, parts: tuple[Part, ...]) -> Context:
        needed = {name: part.reads[0] for part in parts if part.reads is not None for name in part.properties}
        return Context({**needed, **self.types}, separators(parts), self.values)


@dataclass(frozen=True, slots=True)
class Collision:
    """One key that rows under two pairs of templates can have.

    ``certain``: whoever agrees on the PartitionKey has the same key, since the RowKeys add nothing to tell them apart.
    ``partition`` and ``row`` are the key, ``one`` and ``other`` the values under which either has it, as text, as far
    as they can be read. ``of_data``: the key is that of an entity at hand of the one or the other.
    """

    certain: bool
    partition: str
    row: str
    one: tuple[tuple[str, str], ...] = ()
    other: tuple[tuple[str, str], ...] = ()
    of_data: bool = False


def may_collide(one: KeyedRows, other: KeyedRows) -> bool:
    """Whether the languages of both keys hold a key in common; where they do not, rows never share one."""
    halves = ((one.key.partition, other.key.partition), (one.key.row, other.key.row))
    return all(may_meet(one.languages(mine), other.languages(theirs)) for mine, theirs in halves)


def collision_of(one: KeyedRows, other: KeyedRows) -> Collision | None:
    """How rows of the one can have the key of a row of the other; None where they never do.

    Also None where no key can be shown: the languages of parts hold more texts than there are. A key of the entities at
    hand is shown before any that is made up.
    """
    if not may_collide(one, other):
        return None
    certain = adds_nothing(one.key) and one.key == other.key
    for partition, row in _sampled_keys(one, other):
        collision = _collision(one, other, certain, partition, row, of_data=True)
        if collision is not None:
            return collision
    partition = row = ""
    for letters in _LETTERS:  # values may not hold the letters of their separators
        mine, theirs = (side.languages(side.key.partition) for side in (one, other))
        partition = str(text_in_common(mine, theirs, letters))  # there is one: they may meet
        sides = [side.having(side.read_half(side.key.partition, partition) or {}) for side in (one, other)]
        mine, theirs = (side.languages(side.key.row) for side in sides)
        text = text_in_common(mine, theirs, letters)
        collision = None if text is None else _collision(one, other, certain, partition, text, of_data=False)
        if collision is not None:
            return collision
        row = text or ""
    return Collision(True, partition, row) if certain else None


_LETTERS = ("xa10", "qk72")
"""Letters that examples are made of, and others where those separate the parts of a key."""


def adds_nothing(key: Key) -> bool:
    """Whether nothing in the RowKey tells apart entities that agree on what the PartitionKey is made of."""
    named = set(part_properties(key.partition))
    return all(isinstance(part, Literal) or (part.properties and named >= {*part.properties}) for part in key.row)


def _sampled_keys(one: KeyedRows, other: KeyedRows) -> Iterator[tuple[str, str]]:
    """Keys of the entities at hand, of the other first: one side of the example is then real."""
    for side in (other, one):
        names = {*side.key.properties}
        for entity in side.examples:
            if all(entity.get(name) is not None for name in names):
                yield side.key.encode(dict(entity), dict(side.types))


def _collision(
    one: KeyedRows, other: KeyedRows, certain: bool, partition: str, row: str, *, of_data: bool
) -> Collision | None:
    mine, theirs = one.read(partition, row), other.read(partition, row)
    if mine is None or theirs is None:
        return None
    return Collision(certain, partition, row, _shown(mine, one), _shown(theirs, other), of_data)


def _shown(values: Mapping[str, Value], side: KeyedRows) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, canonical_text(value, side.types.get(name, EdmType.STRING)))
        for name, value in values.items()
        if value is not None
    )


def _present(language: Language) -> Language:
    """A language without the text of a missing value."""
    (missing,) = exactly(MISSING)
    return tuple(runs for runs in language if runs != missing)


_TEXT = ((Run(None, 1, None),),)
_GUID = ((Run(HEX | {"-"}, 36, 36),),)


def usual_values(types: Mapping[str, EdmType], names: Sequence[str]) -> dict[str, Language]:
    """Languages of values of which only the types are known: a text is rarely empty, a GUID has its form."""
    known = {EdmType.STRING: _TEXT, EdmType.GUID: _GUID}
    edms = {name: types.get(name, EdmType.STRING) for name in names}
    return {name: known[edm] for name, edm in edms.items() if edm in known}


_CLASSES = (
    frozenset("abcdefghijklmnopqrstuvwxyz"),
    frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    frozenset("0123456789"),
)


def letters_like(letters: Set[str]) -> frozenset[str] | None:
    """The letters that may come where some were seen: all small ones for one of them, and so for capitals and digits.

    None, which is any character, where one beyond ASCII was seen.
    """
    if any(ord(letter) > 127 for letter in letters):
        return None
    return frozenset(letters).union(*(each for each in _CLASSES if not each.isdisjoint(letters)))


# -- Two entities to which a template gives one key: where parts touch, and where parts keep less than their values.


_SECOND = 10_000_000
_MOMENT = 639_081_975_670_000_000
"""2026-03-04T05:06:07Z, in ticks."""
_SPANS_S = (366 * 86_400, 31 * 86_400, 86_400, 3_600, 60, 1)
_TOUCHING: dict[EdmType, tuple[Value, ...]] = {
    EdmType.STRING: ("ab", "a", "c", "bc", "1", "11"),
    EdmType.INT32: (1, 11),
    EdmType.INT64: (1, 11),
}
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Merged:
    """Two entities with one text: the values in which they differ, as text, and that text."""

    one: tuple[str, ...]
    other: tuple[str, ...]
    text: str


def merged_by_touching(parts: tuple[Part, ...], types: Mapping[str, EdmType]) -> tuple[Part, Part, Merged] | None:
    """Two parts with nothing between them, and values of both that give one text; None where there are none."""
    names = tuple(sorted((name, types[name]) for part in parts for name in part.properties if name in types))
    return _touching(parts, names)


@lru_cache(maxsize=1024)
def _touching(parts: tuple[Part, ...], types: tuple[tuple[str, EdmType], ...]) -> tuple[Part, Part, Merged] | None:
    known = dict(types)
    context = Context(known, separators(parts))
    for is_text, run in groupby(parts, lambda part: isinstance(part, Literal)):
        for left, right in () if is_text else pairwise(run):
            if len(left.properties) != 1 or len(right.properties) != 1 or left.properties == right.properties:
                continue
            (one,), (other,) = left.properties, right.properties
            seen: dict[str, tuple[Value, Value]] = {}
            if not (_readable(left, known) and _readable(right, known)):
                continue
            mine, theirs = (_TOUCHING.get(known.get(name, EdmType.STRING), ()) for name in (one, other))
            for first, second in product(mine, theirs):
                text = left.encode({one: first}, context) + right.encode({other: second}, context)
                before = seen.setdefault(text, (first, second))
                if before != (first, second):
                    return left, right, Merged(_texts(before), _texts((first, second)), text)
    return None


def merged_by_loss(key: Key, types: Mapping[str, EdmType]) -> tuple[str, Merged] | None:
    """A property of which the RowKey keeps too little to tell entities apart, and two of its values with one key.

    None where some part of the RowKey gives different values different texts, or where the application adds a number.
    Texts that differ in case alone do not count: that they share a key is what ``lower`` is for.
    """
    row = [part for part in key.row if not isinstance(part, Literal)]
    if not row or any(part.injective or not part.properties for part in row):
        return None
    names = tuple(sorted((name, types[name]) for name in key.properties if name in types))
    return _lost(key, part_properties(row), names)


@lru_cache(maxsize=1024)
def _lost(key: Key, names: tuple[str, ...], types: tuple[tuple[str, EdmType], ...]) -> tuple[str, Merged] | None:
    known = {n: p.reads[0] for p in (*key.partition, *key.row) if p.reads is not None for n in p.properties}
    known |= dict(types)
    if not all(_readable(part, known) for part in (*key.partition, *key.row)):
        return None
    base = {name: next(iter(_values(known.get(name, EdmType.STRING))), None) for name in key.properties}
    for name in names:
        seen: dict[tuple[str, str], Value] = {}
        for value in _values(known.get(name, EdmType.STRING)):
            shown = key.encode({**base, name: value}, known)
            first = seen.setdefault(shown, value)
            if first != value:
                one, other = (canonical_text(v, known.get(name, EdmType.STRING)) for v in (first, value))
                return name, Merged((one,), (other,), encode(key.row, {**base, name: value}, known))
    return None


def _readable(part: Part, types: Mapping[str, EdmType]) -> bool:
    """Whether a part can read the types of its properties: a design under review may say otherwise."""
    return part.reads is None or all(types.get(name, EdmType.STRING) in part.reads for name in part.properties)


def _texts(values: tuple[Value, ...]) -> tuple[str, ...]:
    return tuple(str(value) for value in values)


@lru_cache(maxsize=16)
def _values(edm: EdmType) -> tuple[Value, ...]:
    """Values of a type of which two read the same where a part keeps less than the value."""
    if edm is EdmType.DATETIME:
        return (_MOMENT, *(_MOMENT + span * _SECOND for span in _SPANS_S), _MOMENT + _SECOND // 2)
    if edm is EdmType.STRING:
        beginnings = [(3 * _ALPHABET)[:count] for count in range(1, 3 * len(_ALPHABET) + 1)]
        return (*(text + end for text in beginnings for end in "12"), *(f"u{number}" for number in range(1, 500)))
    if edm is EdmType.GUID:
        return tuple(f"00000000-0000-4000-8000-{number:012d}" for number in range(1, 500))
    return tuple(range(1, 500)) if edm.integer else ()
