"""The proof of an inferred key: it is explained where it decodes through the template and encodes to the same text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from pkadvisor.design.keys.infer.shapes import ticks_of
from pkadvisor.design.keys.keyreader import fixed_texts, in_order
from pkadvisor.design.keys.scheme import Key
from pkadvisor.design.keys.template import decoder, separators
from pkadvisor.design.keys.transforms import (
    ESCAPED,
    MISSING,
    Context,
    Field,
    Pad,
    Part,
    ReverseTicks,
    Ticks,
    Time,
    Value,
)
from pkadvisor.design.keys.transforms.periods import tokens
from pkadvisor.table.edm import TICKS_MAX, EdmType
from pkadvisor.values import dataclass

_UNREAD: Final = object()
_WHOLE: Final = 9
"""How much a part tells of its property that tells all of it."""


def read_part(part: Part, text: str, types: Mapping[str, EdmType]) -> Value:
    """The value behind a piece of key text as ``encode`` takes it: times in ticks, to the last digit.

    Raises ValueError where it cannot be read.
    """
    if text == MISSING:
        return None
    if isinstance(part, Field | Pad):  # the short ways for what is most frequent
        edm = types.get(part.property, EdmType.STRING)
        if edm is EdmType.STRING and isinstance(part, Field) and "~" not in text:
            return text
        digits = edm.integer and len(text) <= 40 and text.isascii() and text.isdigit()
        if digits and (isinstance(part, Field) or len(text) >= part.width):
            return int(text)
    if isinstance(part, Ticks | ReverseTicks):
        if not (text.isascii() and text.isdigit() and int(text) <= TICKS_MAX):
            raise ValueError(f"{text[:40]!r} is no time in ticks")
        return int(text) if isinstance(part, Ticks) else TICKS_MAX - int(text)
    return value_of(part.decode(text, Context(dict(types))))


def value_of(value: object) -> Value:
    """A decoded value as ``encode`` takes it."""
    if isinstance(value, datetime):
        return ticks_of(value)
    assert value is None or isinstance(value, str | int | float | bytes)
    return value


def _exactness(part: Part) -> int:
    """How much of its property a part tells: nothing (0), a period (1 to 7), all (9)."""
    if isinstance(part, Time):
        return 2 if part.unit == "week" else len(tokens(part.format))  # a week tells more than a year
    return _WHOLE if part.decodes else 0


def checks_only(part: Part) -> bool:
    """Whether a part tells nothing of its property, and can only be compared with what a value makes."""
    return part.constant is None and not _exactness(part)


@dataclass(frozen=True, slots=True)
class Proof:
    """Reads keys through a template; ``columns`` hold the values of properties that no part of the key tells."""

    key: Key
    types: Mapping[str, EdmType]
    columns: Mapping[str, Sequence[Value]]

    def explained(self, keys: Sequence[tuple[str, str]], rows: Sequence[int] | None = None) -> list[bool]:
        """For each key whether it decodes and encodes to itself; ``rows`` are their places in the columns."""
        types = dict(self.types)
        halves = [_Half(parts, types) for parts in (self.key.partition, self.key.row)]
        best = {
            p.properties[0]: max(
                _exactness(q) for half in halves for q in half.variable if q.properties == p.properties
            )
            for half in halves
            for p in half.variable
        }
        compared = {p.properties[0] for half in halves for p in half.variable if checks_only(p)} & self.columns.keys()
        for half in halves:
            half.divide({n: _WHOLE if n in compared else exact for n, exact in best.items()})
        partition, row = halves
        out = []
        checked = bool(self.columns or partition.checks or row.checks)
        for index, (left, right) in enumerate(keys):
            from_partition = partition.read(left)
            also = row.read_once(right) if from_partition is not None else None
            if from_partition is None or also is None:
                out.append(False)
                continue
            agree = all(also[0].get(name, value) == value for name, value in from_partition[0].items())
            if agree and checked:
                values = from_partition[0] | also[0]
                place = index if rows is None else rows[index]
                for name, column in self.columns.items():
                    values.setdefault(name, column[place])
                agree = partition.agrees(values, from_partition[1]) and row.agrees(values, also[1])
            out.append(agree)
        return out


Told = tuple[dict[str, Value], list[tuple[Part, str]]]
"""Values told by their most exact part, and the other parts with their texts."""


class _Half:
    """One of the two key texts: reads each distinct piece once."""

    def __init__(self, parts: tuple[Part, ...], types: dict[str, EdmType]) -> None:
        self.context = Context(types, separators(parts))
        self.types = types
        self.pattern = decoder(parts)
        self.special = ESCAPED | set(self.context.separators)
        self.fixed = fixed_texts(parts)
        self.variable = [p for p in parts if p.constant is None]
        self.sources: list[tuple[int, Part, dict[str, object]]] = []
        self.checks: list[tuple[int, Part]] = []
        self.known: dict[str, Told | None] = {}

    def divide(self, best: Mapping[str, int]) -> None:
        """Which parts tell a value, and which only have to agree with it."""
        for index, part in enumerate(self.variable):
            exact = _exactness(part)
            if exact and exact == best[part.properties[0]]:
                self.sources.append((index + 1, part, {}))
            else:
                self.checks.append((index + 1, part))

    def read(self, text: str) -> Told | None:
        """``read_once`` for texts that recur."""
        if text not in self.known:
            self.known[text] = self.read_once(text)
        return self.known[text]

    def read_once(self, text: str) -> Told | None:
        """What a key text tells; None where it does not come back from what it tells."""
        match = self.pattern.fullmatch(text) if in_order(self.fixed, text) else None
        if match is None:
            return None
        values: dict[str, Value] = {}
        for index, part, memory in self.sources:
            shown = match[index]
            value = memory.get(shown, self)
            if value is self:
                value = memory[shown] = self._value(part, shown)
            if value is _UNREAD or values.get(part.properties[0], value) != value:
                return None
            values[part.properties[0]] = value  # type: ignore[assignment]
        return values, [(part, match[index]) for index, part in self.checks]

    def _value(self, part: Part, shown: str) -> object:
        if isinstance(part, Field) and self.special.isdisjoint(shown):
            edm = self.context.edm(part.property)
            if edm is EdmType.STRING or (edm is EdmType.GUID and shown == shown.lower()):
                return shown  # text without escapes stands for itself
        try:
            value = read_part(part, shown, self.types)
        except (ValueError, OverflowError):
            return _UNREAD
        return value if part.encode({part.properties[0]: value}, self.context) == shown else _UNREAD

    def agrees(self, values: dict[str, Value], checks: Sequence[tuple[Part, str]]) -> bool:
        """Whether the parts that tell no value are what the values encode to."""
        return all(part.encode(values, self.context) == shown for part, shown in checks)
