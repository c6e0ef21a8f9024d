"""Names for the pieces of inferred keys: a column that holds their values, else ``p1`` … and ``r1`` …."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from math import log2
from typing import Final

from pkadvisor.design.keys.infer.columns import FEW, SampledColumn, held_by, written_otherwise
from pkadvisor.design.keys.infer.cut import Cut
from pkadvisor.design.keys.infer.proof import read_part
from pkadvisor.design.keys.infer.shapes import TEXT, Shape, clock_of_texts
from pkadvisor.design.keys.scheme import Key
from pkadvisor.design.keys.transforms import (
    Context,
    Field,
    Hash,
    Literal,
    Lower,
    Pad,
    Part,
    ReversePad,
    ReverseTicks,
    Ticks,
    Value,
    bucket,
    canonical_text,
)
from pkadvisor.table.edm import KEYS, EdmType
from pkadvisor.values import dataclass

_HASH_BITS: Final = 32.0
"""A bucket number is taken for a hash where chance would need this many coin tosses."""
_MAX_BUCKETS: Final = 10_000
_MAX_SOURCES: Final = 64


@dataclass(frozen=True, slots=True)
class Named:
    """A key with the types of its properties, those of them that are columns, and remarks."""

    key: Key
    types: dict[str, EdmType]
    columns: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(slots=True)
class _Place:
    """A piece on its way to a part: ``part`` is set once its property is known."""

    texts: tuple[str | None, ...]
    after: str
    shape: Shape | None
    initial: str
    part: Part | None = None
    values: list[Value] = field(default_factory=list)

    @property
    def open(self) -> bool:
        """Whether it still needs a name."""
        return self.part is None and self.shape is not None


def name_key(
    cuts: tuple[Cut, Cut],
    columns: Sequence[SampledColumn],
    *,
    joined: bool,
    shared: bool,
    labels: tuple[bool, bool] = (False, False),
) -> Named:
    """The key of two cut key texts.

    ``joined`` lets a column stand for several pieces together; ``shared`` lets pieces share a property. ``labels``:
    whether the first piece of a key text is the word of a kind, which stays fixed text though a column repeats it.
    """
    halves: list[list[_Place]] = []
    types: dict[str, EdmType] = {}
    notes: list[str] = []
    usable = [c for c in columns if c.usable]
    names_of_columns = {c.name for c in usable}
    for cut, initial, label in zip(cuts, "pr", labels, strict=True):
        places = [_Place(p.texts, p.after, p.shape, initial) for p in cut.pieces]
        for place in places[1:] if label and places[0].shape is None else places:
            _take(place, usable, types, notes)
        halves.append(_join(places, usable, types, notes) if joined else places)
    every = [place for half in halves for place in half]
    for place in every:
        if place.shape is not None:
            place.values = _values(place, types)
    if shared:
        _clocks([p for p in every if p.open])
    groups = _groups([p for p in every if p.open], shared=shared)
    _invent(groups, columns, types, notes)
    if shared:
        _derived(every, types, names_of_columns)
    _hash(every, usable, types)
    notes += _buckets(halves[0], names_of_columns)
    key = Key(_parts(halves[0]), _parts(halves[1]))
    used = key.properties
    for cut, name in zip(cuts, KEYS, strict=True):
        if cut.held:
            notes.append(f"{name} is not cut at '{cut.held}': values hold it")
    held = tuple(n for n in used if n in names_of_columns)
    return Named(key, {n: types[n] for n in used}, held, tuple(dict.fromkeys(notes)))


def _parts(places: Sequence[_Place]) -> tuple[Part, ...]:
    """The parts of a key text, with fixed texts that touch made one."""
    out: list[Part] = []
    for place in places:
        fixed = next((t for t in place.texts if t is not None), "")
        for part in (place.part or Literal(fixed), Literal(place.after)):
            if isinstance(part, Literal) and out and isinstance(out[-1], Literal):
                out[-1] = Literal(out[-1].text + part.text)
            elif not isinstance(part, Literal) or part.text:
                out.append(part)
    return tuple(out)


# --- columns


def _take(place: _Place, columns: Sequence[SampledColumn], types: dict[str, EdmType], notes: list[str]) -> bool:
    """Name a place after a column that holds its values."""
    holder = held_by(place.texts, place.shape, columns)
    if holder is None:
        return False
    place.part, column, wrong = holder
    place.shape = place.shape or TEXT
    types[column.name] = column.edm
    if wrong:
        notes.append(f"the column {column.name} differs from the key in {wrong} of {len(place.texts)} rows looked at")
    return True


def _join(
    places: list[_Place], columns: Sequence[SampledColumn], types: dict[str, EdmType], notes: list[str]
) -> list[_Place]:
    """Neighbours that a column holds together, such as an age group ``40-44``, made one."""
    for length in range(len(places), 1, -1):
        for start in range(len(places) - length + 1):
            run = places[start : start + length]
            if not any(p.open for p in run):
                continue
            texts = tuple(_glued(run, row) for row in range(len(run[0].texts)))
            whole = _Place(texts, run[-1].after, TEXT, run[0].initial)
            if _take(whole, columns, types, notes):
                rest = places[:start], places[start + length :]
                return [*_join(rest[0], columns, types, notes), whole, *_join(rest[1], columns, types, notes)]
    return places


def _glued(run: Sequence[_Place], row: int) -> str | None:
    pieces = [p.texts[row] for p in run]
    if None in pieces:
        return None
    return "".join(str(t) + (p.after if p is not run[-1] else "") for t, p in zip(pieces, run, strict=True))


# --- invented names


def _values(place: _Place, types: Mapping[str, EdmType]) -> list[Value]:
    """The values behind a place, None where there is none."""
    assert place.shape is not None
    part = place.part or place.shape.part("")
    edms = types if place.part else {"": place.shape.edm}
    if isinstance(part, Hash):
        return [None] * len(place.texts)
    known: dict[str, Value] = {}
    for text in place.texts:
        if text is not None and text not in known:
            try:
                known[text] = read_part(part, text, edms)
            except (ValueError, OverflowError):
                known[text] = None
    return [None if t is None else known[t] for t in place.texts]


def _groups(places: Sequence[_Place], *, shared: bool) -> list[list[_Place]]:
    """Places that tell the same property: equal values, or a period that the other's time falls into."""
    groups: list[list[_Place]] = []
    for place in places:
        home = next((g for g in groups if any(_same(place, other) for other in g)), None) if shared else None
        if home is None:
            groups.append([place])
        else:
            home.append(place)
    return groups


def _clocks(places: Sequence[_Place]) -> None:
    """Give the shape of a time of day to texts that are the clock of a time elsewhere in the keys."""
    times = [p for p in places if p.shape is not None and p.shape.edm is EdmType.DATETIME]
    context = Context({"t": EdmType.DATETIME})
    for place in places:
        part = clock_of_texts("t", [t for t in place.texts if t is not None])
        if place in times or part is None:
            continue
        for time in times:
            pairs = [(v, t) for v, t in zip(time.values, place.texts, strict=True) if v is not None and t is not None]
            if len({t for _, t in pairs}) > FEW and all(part.encode({"t": v}, context) == t for v, t in pairs):
                place.shape = Shape("time_of_day", EdmType.DATETIME, pattern=part.pattern_of_text)
                place.values = [None] * len(place.texts)
                break


def _same(one: _Place, other: _Place) -> bool:
    assert one.shape is not None and other.shape is not None
    if one.shape.edm is not other.shape.edm or max(len(set(one.values)), len(set(other.values))) < FEW:
        return False
    return one.values == other.values or _falls_into(one, other) or _falls_into(other, one)


def _falls_into(coarse: _Place, fine: _Place) -> bool:
    """Whether the first is the period, or the time of day, of the second's times."""
    assert coarse.shape is not None and fine.shape is not None
    if (
        coarse.shape.function not in ("time", "time_of_day")
        or fine.shape.function == "time_of_day"
        or not _finer(fine.shape, coarse.shape)
    ):
        return False
    part, context = coarse.shape.part("t"), Context({"t": EdmType.DATETIME})
    pairs = zip(fine.values, coarse.texts, strict=True)
    return all(part.encode({"t": value}, context) == text for value, text in pairs if text is not None)


def _finer(one: Shape, other: Shape) -> bool:
    return other.function == "time_of_day" or one.function != "time" or one.bits("") > other.bits("")


def _invent(
    groups: Sequence[Sequence[_Place]], columns: Sequence[SampledColumn], types: dict[str, EdmType], notes: list[str]
) -> None:
    """A new name for each group."""
    taken, numbers = {c.name for c in columns}, {"p": 0, "r": 0}
    for group in groups:
        initial, name = group[0].initial, ""
        while not name or name in taken:
            numbers[initial] += 1
            name = f"{initial}{numbers[initial]}"
        for place in group:
            assert place.shape is not None
            place.part = place.shape.part(name)
            types[name] = place.shape.edm
            if place.shape.hint:
                notes.append(f"{name} holds {place.shape.hint}: taken as {place.shape.edm}")
        written = written_otherwise(group[0].texts, columns)
        if written is not None:
            verb, column = written
            characters = " ".join(column.changed)
            notes.append(
                f"{name} {verb} {column.name} with other text in place of {characters}, which no template writes"
            )
        ticks = any(p.shape and "ticks" in p.shape.function for p in group)
        if ticks and any(isinstance(v, int) and v % 10 for v in group[0].values):
            notes.append(f"{name} has times finer than a microsecond")


def _derived(places: Sequence[_Place], types: dict[str, EdmType], columns: set[str]) -> None:
    """Pieces that are made of another piece, such as its first characters or the beginning of its hash."""
    own = [p for p in places if isinstance(p.part, Field | Pad) and p.texts.count(None) == 0]
    names = [p.part.properties[0] for p in own if p.part is not None]
    made: set[int] = set()
    for place, name in zip(own, names, strict=True):
        if name in columns or names.count(name) > 1 or types[name] not in (EdmType.STRING, EdmType.INT64):
            continue
        for source, other in zip(own, names, strict=True):
            if source is place or id(source) in made:
                continue
            column = SampledColumn(other, types[other], source.values)
            holder = held_by(place.texts, place.shape, [column])
            if holder is not None and not holder[2] and not isinstance(holder[0], Field | Pad | Lower):
                place.part = holder[0]
                made.add(id(place))
                break


# --- buckets


def _is_small_number(place: _Place) -> bool:
    shape = place.shape
    if shape is None or not isinstance(place.part, Pad | Field) or shape.edm is not EdmType.INT64:
        return False
    return all(
        v is not None and 0 <= int(v) < _MAX_BUCKETS for v, t in zip(place.values, place.texts, strict=True) if t
    )


def _hash(places: Sequence[_Place], columns: Sequence[SampledColumn], types: dict[str, EdmType]) -> None:
    """Bucket numbers that a hash of a column, or of another piece, explains."""
    names = {c.name for c in columns}
    for place in places:
        if place.part is None or not _is_small_number(place) or place.part.properties[0] in names:
            continue
        widths = {len(t) for t in place.texts if t is not None}
        if len(widths) != 1 or max(widths) > 4:
            continue
        mine = place.part.properties
        others = [
            SampledColumn(p.part.property, types[p.part.property], p.values)
            for p in places
            if isinstance(p.part, Field | Pad | ReversePad | Ticks | ReverseTicks) and p.part.property not in mine
        ]
        for source in [*columns, *others][:_MAX_SOURCES]:
            count = _buckets_of(place, source, max(widths))
            if count:
                place.part = Hash(source.name, count)
                types[source.name] = source.edm
                break


def _buckets_of(place: _Place, source: SampledColumn, width: int) -> int:
    """How many buckets a hash of the source must have to give the numbers; 0 where none does."""
    pairs = {
        (bucket(canonical_text(value, source.edm), 2**64), number)
        for value, number, text in zip(source.values, place.values, place.texts, strict=True)
        if value is not None and text is not None
    }
    if any(v is None for v, t in zip(source.values, place.texts, strict=True) if t is not None):
        return 0
    low = max(10 ** (width - 1) + 1 if width > 1 else 2, 1 + max(int(n or 0) for _, n in pairs)) if pairs else 0
    possible = [n for n in range(low, min(10**width, _MAX_BUCKETS) + 1) if n > 1] if pairs else []
    for digest, number in sorted(pairs, key=str):
        possible = [n for n in possible if digest % n == number]
        if not possible:
            return 0
    if not possible or len(pairs) * log2(possible[0]) < _HASH_BITS:
        return 0
    return possible[0]


_BUCKETS_USUAL: Final = 128
_ROWS_OF_A_BUCKET: Final = 3
"""Numbers of which there are more, or each with fewer rows, count something: they are no buckets."""
_BUCKET_WORDS: Final = ("b", "bucket", "buckets", "h", "hash", "part", "partition", "s", "shard", "slot")


def _buckets(places: Sequence[_Place], columns: Collection[str]) -> list[str]:
    """A remark for a small number at either end of a PartitionKey: one that no column holds, of which all from 0 on are
    there, and behind no word that makes it the number of something else, such as ``tank-012``."""
    variable = [n for n, place in enumerate(places) if place.part is not None]
    notes = []
    for at in dict.fromkeys((*variable[:1], *variable[-1:])):
        one = places[at]
        if not _is_small_number(one) or not isinstance(one.part, Pad) or one.part.property in columns:
            continue
        before = _parts(places[:at])[-1:]
        words = re.findall(r"[^\W\d_]+", before[0].text) if before and isinstance(before[0], Literal) else []
        seen = [int(v) for v in one.values if v is not None]
        numbers = set(seen)
        many_rows_each = len(numbers) <= _BUCKETS_USUAL and len(seen) >= _ROWS_OF_A_BUCKET * len(numbers)
        if (
            many_rows_each
            and len(numbers) > 1
            and numbers == set(range(len(numbers)))
            and (not words or words[-1].lower() in _BUCKET_WORDS)
        ):
            notes.append(
                f"{one.part.property} looks like a bucket of {len(numbers)} values, and no known property hashes to it"
            )
    return notes
