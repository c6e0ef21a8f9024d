"""The ``$filter`` texts of a plan, with template holes where the application puts values.

A key string is bounded by its fixed prefix and, if the next part has a range, by that. An upper bound that must lie
above every key with a prefix raises the prefix's last character; numbers and times without an upper bound end below
``~``, where missing values begin.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pkadvisor.design.conditions import Conditions, Range
from pkadvisor.design.template import separators
from pkadvisor.design.transforms import Context, Field, Literal, Part, Time, sort_direction
from pkadvisor.table.edm import EdmType

if TYPE_CHECKING:
    from pkadvisor.design.conditions import Operand
    from pkadvisor.table.odata import Filter

KeepsOrder = Callable[[str, str], bool]
"""(text property, the character that follows it in the key, or empty) → whether key order is value order."""
BELOW_MISSING = "~"


def never(name: str, following: str) -> bool:
    """Without data nothing is known about texts."""
    return False


def direction(part: Part, parts: tuple[Part, ...], types: Mapping[str, EdmType], keeps_order: KeepsOrder) -> int:
    """+1 if key text rises with the value, -1 if it falls, 0 if text order means nothing.

    A text is followed by other text in the key, which may sort elsewhere than the end of the text does.
    """
    if isinstance(part, Field) and types.get(part.property, EdmType.STRING) in (EdmType.STRING, EdmType.BINARY):
        rest = parts[parts.index(part) + 1 :]
        if rest and not isinstance(rest[0], Literal):
            return 0
        following = rest[0].text[:1] if rest and isinstance(rest[0], Literal) else ""
        return 1 if keeps_order(part.property, following) else 0
    return sort_direction(part, dict(types))


@dataclass(frozen=True, slots=True)
class Prefix:
    """The fixed beginning of a key in template form; ``tail`` is its last plain character, empty after a hole."""

    text: str = ""
    tail: str = ""

    def literal(self, text: str) -> Prefix:
        """With literal text behind it."""
        return Prefix(self.text + braces(text), text[-1]) if text else self

    def hole(self, text: str) -> Prefix:
        """With a hole behind it."""
        return Prefix(self.text + text, "")

    def successor(self) -> str:
        """The least text above every text with this prefix; U+FFFF ends a hole, which no key part reaches."""
        if not self.text:
            return ""
        if not self.tail:
            return self.text + "\uffff"
        kept = self.text[: -len(braces(self.tail))]
        return kept + braces(chr(ord(self.tail) + 1))


def braces(text: str) -> str:
    """Literal text in template form."""
    return text.replace("{", "{{").replace("}", "}}")


def hole(part: Part, operand: Operand, parts: tuple[Part, ...], types: Mapping[str, EdmType]) -> str:
    """The template hole of a part for an operand; filled where the operand is a constant."""
    from pkadvisor.table.odata import Literal as Constant

    name = part.properties[0]
    if isinstance(operand, Constant):
        context = Context({name: types.get(name, operand.type)}, separators(parts))
        return braces(part.encode({name: operand.value}, context))
    shown = operand_text(operand)
    if shown == name:
        return str(part)
    return (
        "{" + str(part)[1:-1].replace(name, shown, 1) + "}" if isinstance(part, Field) else _renamed(part, name, shown)
    )


def _renamed(part: Part, name: str, shown: str) -> str:
    """The hole with another text in place of the property: ``{ticks(t)}`` → ``{ticks(t+24h)}``."""
    function, _, arguments = str(part).partition("(")
    return function + "(" + shown + arguments.removeprefix(name)


def operand_text(operand: Operand) -> str:
    """``ts+24h`` for a parameter with an offset, its name otherwise."""
    from pkadvisor.table.odata import Comparison, Operator, Parameter, format_filter
    from pkadvisor.table.odata import Literal as Constant

    assert not isinstance(operand, Constant)
    bare = Parameter(operand.name, None, operand.offset, operand.offset_ticks)
    shown = format_filter(Comparison("x", Operator.EQ, bare))
    return shown[shown.index("{") + 1 : shown.rindex("}")]


def quote(text: str) -> str:
    """A string literal of the filter language."""
    return "'" + text.replace("'", "''") + "'"


def bounds(
    name: str,
    parts: tuple[Part, ...],
    prefix: Prefix,
    part: Part | None,
    wanted: Conditions,
    types: Mapping[str, EdmType],
    keeps_order: KeepsOrder,
) -> list[str]:
    """Comparisons that bound one key string from its fixed prefix and, if any, a range on the part that follows it.

    Where the bounded part closes the key its bounds compare as they are; where more text follows, an upper bound that
    includes its value must lie above every continuation, so it ends above the separator that follows.
    """
    span = wanted.ranges.get(part.properties[0]) if part is not None and part.properties else None
    way = direction(part, parts, types, keeps_order) if part is not None else 0
    if part is None or span is None or way == 0:
        return [f"{name} ge {quote(prefix.text)}", f"{name} lt {quote(prefix.successor())}"] if prefix.text else []
    if way < 0:
        span = Range(span.high, span.high_inclusive, span.low, span.low_inclusive)
    low_in, high_in = span.low_inclusive, span.high_inclusive
    if isinstance(part, Time):  # a period holds values on both sides of the bound: whole periods are read
        low_in = high_in = True
    following = parts[parts.index(part) + 1 :]
    beyond = following[0].text[:1] if following and isinstance(following[0], Literal) else ""
    above = braces(chr(ord(beyond) + 1)) if beyond else ("\uffff" if following else "")
    out = []
    if span.low is not None:
        text = prefix.text + hole(part, span.low, parts, types)
        strict = f"{name} {'ge' if above else 'gt'} {quote(text + above)}"
        out.append(f"{name} ge {quote(text)}" if low_in else strict)
    elif prefix.text:
        out.append(f"{name} ge {quote(prefix.text)}")
    if span.high is not None:
        text = prefix.text + hole(part, span.high, parts, types)
        whole = f"{name} {'lt' if above else 'le'} {quote(text + above)}"
        out.append(whole if high_in else f"{name} lt {quote(text)}")
    elif _is_text(part, types):
        out += [f"{name} lt {quote(prefix.successor())}"] if prefix.text else []
    else:
        out.append(f"{name} lt {quote(prefix.text + BELOW_MISSING)}")
    return out


def _is_text(part: Part, types: Mapping[str, EdmType]) -> bool:
    return isinstance(part, Field) and types.get(part.property, EdmType.STRING) is EdmType.STRING


def unserved_texts(wanted: Conditions, unserved: tuple[str, ...]) -> list[str]:
    """The comparisons that the key does not serve, as the application must send them."""
    texts = [text for name in unserved for text in _of_property(name, wanted)]
    texts += [_in_and(residual) for residual in wanted.residual]
    # Types that a literal shows by itself are not written: {rating}, not {rating:Int32}.
    return list(dict.fromkeys(re.sub(r":(?:Int32|Double|Boolean)\}", "}", t) for t in texts))


def _in_and(condition: Filter) -> str:
    from pkadvisor.table.odata import Or, format_filter

    text = format_filter(condition)
    return f"({text})" if isinstance(condition, Or) else text


def _of_property(name: str, wanted: Conditions) -> list[str]:
    from pkadvisor.table.odata import Comparison, Operator, Or, format_filter

    out = []
    if name in wanted.equal:
        out.append(format_filter(Comparison(name, Operator.EQ, wanted.equal[name])))
    if name in wanted.any_of:
        out.append(_in_and(Or(tuple(Comparison(name, Operator.EQ, o) for o in wanted.any_of[name]))))
    if name in wanted.ranges:
        span = wanted.ranges[name]
        if span.low is not None:
            out.append(format_filter(Comparison(name, Operator.GE if span.low_inclusive else Operator.GT, span.low)))
        if span.high is not None:
            out.append(format_filter(Comparison(name, Operator.LE if span.high_inclusive else Operator.LT, span.high)))
    return out
