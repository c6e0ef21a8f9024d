"""Comparisons on PartitionKey and RowKey, as the pieces that an application puts together.

A key text is made of literal text, of *holes* (a part of the key for the values of one request), of a bucket out of a
fan-out, and of a period out of an enumeration. It has a template form, which is printed, and it can be filled, which
is sent. One value serves both, so that what is printed is what runs.

A key is bounded by its fixed beginning and, if the next part has a range, by that. An upper bound that must lie above
every key with a beginning raises the last character of that beginning; numbers and times without an upper bound end
below ``~``, where missing values begin.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from pkadvisor.design.keys.conditions import Conditions, Operand, Range
from pkadvisor.design.keys.template import separators
from pkadvisor.design.keys.transforms import RANGE_END, Context, HashPart, Part, PeriodPart
from pkadvisor.table.edm import TICKS_PER_SECOND, EdmType
from pkadvisor.table.filters import braced
from pkadvisor.table.odata import Comparison, Operator, Parameter, TypedValue, bind, format_filter
from pkadvisor.values import dataclass

BELOW_MISSING = "~"


class Known:
    """What the data says about the values in a key; without data nothing is known about texts, and widths are taken as
    chosen well."""

    def keeps_order(self, name: str, following: str) -> bool:
        """Whether texts sort in a key as they do by themselves, before the character that follows them."""
        return False

    def fits(self, name: str, width: int, *, below_zero: bool = True) -> bool:
        """Whether every number has at most so many digits, and none is below zero where that is not allowed."""
        return True

    def begins(self, parts: tuple[Part, ...], text: str) -> bool:
        """Whether some key of a template begins with a text, as far as the values of its first part tell."""
        return not parts or len(parts[0].properties) != 1  # that a value begins with a label by chance is unlikely

    def meets(self, parts: tuple[Part, ...], others: tuple[Part, ...]) -> bool:
        """Whether some key of one template may be one of another, as far as values tell."""
        return True

    def goes_on(self, parts: tuple[Part, ...], place: int, label: str) -> bool:
        """Whether some key of a template begins as one of its part at ``place`` does that a label follows."""
        return True

    def always_there(self, name: str) -> bool:
        """Whether no entity misses a property."""
        return False

    def may_lack(self, name: str) -> bool:
        """Whether some entity is known to miss a property."""
        return False


class KeysThemselves(Known):
    """Where the keys are the properties, they sort as they stand."""

    def keeps_order(self, name: str, following: str) -> bool:
        return True

    def always_there(self, name: str) -> bool:
        return True


NOTHING_KNOWN = Known()


def direction(part: Part, parts: tuple[Part, ...], types: Mapping[str, EdmType], known: Known) -> int:
    """+1 if key text rises with the value, -1 if it falls, 0 if text order means nothing.

    A text is followed by other text in the key, which may sort elsewhere than the end of the text does; a number may
    have outgrown its padding.
    """
    texts = (EdmType.STRING, EdmType.BINARY)
    context = Context(dict(types))
    if part.several is not None:
        return 0
    if part.plain_property and types.get(part.plain_property, EdmType.STRING) in texts:
        rest = parts[parts.index(part) + 1 :]
        if rest and rest[0].constant is None:
            return 0
        following = (rest[0].constant or "")[:1] if rest else ""
        return 1 if known.keeps_order(part.plain_property, following) else 0
    way, width = part.order(context), part.padded_width
    if width and not (part.keeps_apart(context) and known.fits(part.properties[0], width, below_zero=way > 0)):
        return 0
    return way


def serves_exactly(part: Part, types: Mapping[str, EdmType]) -> bool:
    """Whether a part that is fixed fixes its property: different values have different texts."""
    return part.keeps_apart(Context(dict(types)))


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the values that a filter names for a property; printed as the property, filled apart from the parameters.

    A parameter may have the name of the property, and keeps its own value in the rest of the filter.
    """

    name: str
    type: EdmType | None = None

    @property
    def slot(self) -> str:
        """Where the values of one request hold it."""
        return f"{self.name} chosen"


# -- pieces ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hole:
    """A part of the key for the operands that a request fixes (``operands``: property, operand).

    ``bound`` holes end a range: a number beyond the padding stands for the end of all numbers.
    """

    part: Part
    operands: tuple[tuple[str, Operand | Choice], ...]
    beside: str
    bound: bool = False

    def template(self, types: Mapping[str, EdmType]) -> str:
        """The hole as printed: filled where every operand is a constant, else with the names of what fills it."""
        constants = {n: o for n, o in self.operands if isinstance(o, TypedValue)}
        if len(constants) == len(self.operands):
            return braced(self.fill({}, types))
        # A constant beside parameters is printed as its property: quoted text in a function separates, and its
        # characters are escaped in the values of the others.
        return str(self.part.renamed({n: n if n in constants else operand_text(o) for n, o in self.operands}))

    def fill(self, values: Mapping[str, TypedValue], types: Mapping[str, EdmType]) -> str:
        """The text for the values of one request; raises UsageError where one is missing."""
        given = {name: operand_value(operand, values) for name, operand in self.operands}
        mine = dict(types)
        for name, operand in self.operands:
            mine.setdefault(name, getattr(operand, "type", None) or EdmType.STRING)
        return self.part.encode(given, Context(mine, self.beside))

    def constant_outside(self, types: Mapping[str, EdmType]) -> str:
        """``outside`` where the bound is a constant; else empty."""
        return self.outside({}, types) if all(isinstance(o, TypedValue) for _, o in self.operands) else ""

    def outside(self, given: Mapping[str, TypedValue], types: Mapping[str, EdmType]) -> str:
        """The text below or above every number of a padded part, for a bound that its width cannot hold; else empty."""
        context = Context(dict(types))
        if not self.bound or self.part.limits(context) is None:
            return ""
        values = {name: operand_value(operand, given) for name, operand in self.operands}
        value = values[self.part.properties[0]]
        return self.part.beyond(value, context) if isinstance(value, int) else ""


@dataclass(frozen=True, slots=True)
class Fan:
    """One bucket of all; the number of the request says which."""

    part: HashPart

    def template(self, types: Mapping[str, EdmType]) -> str:
        """First and last bucket."""
        del types
        buckets = self.part.hashed("")
        least, most = "0" * len(buckets), self.part.last()
        return "{" + (f"0…{int(most)}" if most.isdecimal() else f"{least}…{most}") + "}"


@dataclass(frozen=True, slots=True)
class Period:
    """One period of an enumerated range of time."""

    part: PeriodPart

    def template(self, types: Mapping[str, EdmType]) -> str:
        """The part itself."""
        del types
        return str(self.part)


Piece = str | Hole | Fan | Period


@dataclass(frozen=True, slots=True)
class Filling:
    """What fills the pieces of one request: values of parameters, a bucket for each fan-out, a moment of a period."""

    values: Mapping[str, TypedValue]
    buckets: Mapping[HashPart, str]
    moment: int | None = None


@dataclass(frozen=True, slots=True)
class KeyText:
    """The beginning of a key, or a whole one, in pieces."""

    pieces: tuple[Piece, ...] = ()

    def plus(self, piece: Piece) -> KeyText:
        """With a piece behind it; text joins text."""
        if piece == "":
            return self
        if isinstance(piece, str) and self.pieces and isinstance(self.pieces[-1], str):
            return KeyText((*self.pieces[:-1], self.pieces[-1] + piece))
        return KeyText((*self.pieces, piece))

    def template(self, types: Mapping[str, EdmType]) -> str:
        """As printed: literal text with doubled braces, holes in braces."""
        out: list[str] = []
        for piece in self.pieces:
            end = piece.constant_outside(types) if isinstance(piece, Hole) else ""
            if end:
                return "".join([*out, end])
            out.append(braced(piece) if isinstance(piece, str) else piece.template(types))
        return "".join(out)

    def fill(self, filling: Filling, types: Mapping[str, EdmType]) -> str:
        """As sent."""
        out = []
        for piece in self.pieces:
            match piece:
                case str():
                    out.append(piece)
                case Hole():
                    if end := piece.outside(filling.values, types):
                        return "".join([*out, end])  # whatever would follow the number
                    out.append(piece.fill(filling.values, types))
                case Fan():
                    out.append(filling.buckets[piece.part])
                case Period():
                    name = piece.part.property
                    out.append(piece.part.encode({name: filling.moment}, Context({name: EdmType.DATETIME})))
        return "".join(out)

    def successor(self) -> KeyText:
        """The least text above every text that begins with this; U+FFFF ends a hole, which no key part reaches."""
        if not self.pieces:
            return self
        last = self.pieces[-1]
        if not isinstance(last, str):
            return self.plus(RANGE_END)
        return KeyText(self.pieces[:-1]).plus(last[:-1] + above(last[-1]))


def above(character: str) -> str:
    """The least text above every text that begins with a character, in UTF-16 code units."""
    code = ord(character) + 1
    if 0xD800 <= code <= 0xDFFF:  # half of a pair is no text: the least pair
        return "\U00010000"
    return "\ue000" if code > 0x10FFFF else chr(code)


def operand_text(operand: Operand | Choice) -> str:
    """``ts+24h`` for a parameter with an offset, ``ts+24h-1tick`` for the last moment before; its name otherwise."""
    if isinstance(operand, Choice):
        return operand.name
    assert isinstance(operand, Parameter)
    if operand.offset_ticks % TICKS_PER_SECOND == TICKS_PER_SECOND - 1:
        return operand_text(replace(operand, offset_ticks=operand.offset_ticks + 1)) + "-1tick"
    return _parameter_text(operand, isinstance(operand.offset, float))


@lru_cache(maxsize=4096)
def _parameter_text(operand: Parameter, fraction: bool) -> str:
    """``fraction``: whether the offset is a double; 1 and 1.0 are equal, and are written differently."""
    del fraction
    bare = Parameter(operand.name, None, operand.offset, operand.offset_ticks)
    shown = format_filter(Comparison("x", Operator.EQ, bare))
    return shown[shown.index("{") + 1 : shown.rindex("}")]


def operand_value(operand: Operand | Choice, values: Mapping[str, TypedValue]) -> Any:
    """The value of an operand in one request; UsageError where its parameter has none."""
    if isinstance(operand, Choice):
        return values[operand.slot].value
    bound = bind(Comparison("x", Operator.EQ, operand), values)
    return bound.operand.value  # type: ignore[union-attr]


def quote(text: str) -> str:
    """A string literal of the filter language."""
    return "'" + text.replace("'", "''") + "'"


# -- comparisons -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KeyTerm:
    """``PartitionKey eq '…'``: one comparison on a key."""

    name: str
    operator: str
    text: KeyText

    def template(self, types: Mapping[str, EdmType]) -> str:
        """As printed."""
        return f"{self.name} {self.operator} {quote(self.text.template(types))}"

    def fill(self, filling: Filling, types: Mapping[str, EdmType]) -> str:
        """As sent."""
        return self.shown(self.text.fill(filling, types))

    def shown(self, text: str) -> str:
        """The comparison with a text that is filled already."""
        return f"{self.name} {self.operator} {quote(text)}"


def within(name: str, prefix: KeyText) -> list[KeyTerm]:
    """All keys that begin with a text."""
    if not prefix.pieces:
        return []
    return [KeyTerm(name, "ge", prefix), KeyTerm(name, "lt", prefix.successor())]


def bounds(
    name: str,
    parts: tuple[Part, ...],
    prefix: KeyText,
    part: Part | None,
    wanted: Conditions,
    types: Mapping[str, EdmType],
    known: Known,
    *,
    rises: bool = False,
) -> list[KeyTerm]:
    """Comparisons that bound one key from its fixed beginning and, if any, a range on the part that follows it.

    Where the bounded part closes the key its bounds compare as they are; where more text follows, an upper bound that
    includes its value must lie above every continuation, so it ends above the separator that follows. Periods are read
    whole, from that of the lower bound through that of the last moment below the upper one.
    """
    span = wanted.ranges.get(part.properties[0]) if part is not None and part.properties else None
    way = 1 if rises else direction(part, parts, types, known) if part is not None else 0
    if part is None or span is None or way == 0:
        return within(name, prefix)
    if not part.injective:
        span = Range(span.low, True, span.high if span.high_inclusive else _tick_before(span.high), True)
    if way < 0:
        span = Range(span.high, span.high_inclusive, span.low, span.low_inclusive)
    low_in, high_in = span.low_inclusive, span.high_inclusive
    following = parts[parts.index(part) + 1 :]
    beyond = (following[0].constant or "")[:1] if following else ""
    top = above(beyond) if beyond else (RANGE_END if following else "")
    beside = separators(parts)

    def ending(operand: Operand) -> KeyText:
        return prefix.plus(Hole(part, ((part.properties[0], operand),), beside, bound=True))

    out = []
    if span.low is not None:
        text = ending(span.low)
        strict = KeyTerm(name, "ge" if top else "gt", text.plus(top))
        out.append(KeyTerm(name, "ge", text) if low_in else strict)
    elif prefix.pieces:
        out.append(KeyTerm(name, "ge", prefix))
    if span.high is not None:
        text = ending(span.high)
        whole = KeyTerm(name, "lt" if top else "le", text.plus(top))
        out.append(whole if high_in else KeyTerm(name, "lt", text))
    elif _is_text(part, types):
        out += [KeyTerm(name, "lt", prefix.successor())] if prefix.pieces else []
    else:
        out.append(KeyTerm(name, "lt", prefix.plus(BELOW_MISSING)))
    return out


def _tick_before(bound: Operand | None) -> Operand | None:
    """The last moment before a time; what is no time stays as it is."""
    if bound is None or bound.type not in (None, EdmType.DATETIME):
        return bound
    if isinstance(bound, Parameter):
        return bound if bound.offset else replace(bound, offset_ticks=bound.offset_ticks - 1)
    assert isinstance(bound.value, int)
    return replace(bound, value=max(0, bound.value - 1))


def _is_text(part: Part, types: Mapping[str, EdmType]) -> bool:
    return bool(part.plain_property) and types.get(part.plain_property, EdmType.STRING) is EdmType.STRING


def shown_filter(text: str) -> str:
    """A filter text as it is printed: types that a literal shows by itself are not written."""
    return re.sub(r":(?:Int32|Double|Boolean)\}", "}", text)
