"""The key language once more, as short as can be: what a template writes for the values of an entity.

Written from the manual (page key-templates) and compared with ``tests/vectors/keys.json``; it shares no line with the
package. A key is a list of parts: text, or a tree of calls over properties.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from tests.worlds.values import (
    DATETIME,
    DOUBLE,
    INT32,
    STRING,
    Value,
    canonical,
    moment,
    shifted,
    ticks,
)

MISSING = "~-"
FORBIDDEN = frozenset("/\\#?~\uffff") | {chr(c) for c in (*range(0x20), *range(0x7F, 0xA0))}
REVERSE_TICKS = 3_155_378_975_999_999_999
SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


@dataclass(frozen=True)
class Property:
    """A property, with what is added to its value: whole units, or microseconds of a time."""

    name: str
    offset: int = 0


@dataclass(frozen=True)
class Call:
    """A function with its arguments: properties, calls, numbers and texts."""

    name: str
    arguments: tuple[Property | Call | int | str, ...]


Part = str | Property | Call
"""Text stands for itself."""


class UnreadableError(ValueError):
    """A template that this reader does not understand."""


_NAME = re.compile(r"`((?:[^`]|``)+)`|([^\W\d](?:[^(){},'\"`+-]*[^(){},'\"`\s+-])?)")
_OFFSET = re.compile(r"([+-])(\d+(?:\.\d+)?)(s|min|h|d|w)?(?![\w.])")
_TICK_BEFORE = "-1tick"
"""Of times with microseconds, the last one before."""


@cache
def parse(template: str) -> tuple[Part, ...]:
    """The parts of a template."""
    parts: list[Part] = []
    text, at = "", 0
    while at < len(template):
        if template[at : at + 2] in ("{{", "}}"):
            text, at = text + template[at], at + 2
        elif template[at] == "{":
            if text:
                parts.append(text)
            text = ""
            found, at = _expression(template, at + 1)
            at = _blank(template, at)
            if template[at : at + 1] != "}":
                raise UnreadableError(f"{template!r} at {at}")
            parts.append(found)
            at += 1
        else:
            text, at = text + template[at], at + 1
    return (*parts, text) if text else tuple(parts)


def _blank(source: str, at: int) -> int:
    while source[at : at + 1] == " ":
        at += 1
    return at


def _expression(source: str, at: int) -> tuple[Property | Call, int]:
    found = _NAME.match(source, _blank(source, at))
    if found is None:
        raise UnreadableError(f"{source!r} at {at}")
    name, at = (found[1] or "").replace("``", "`") or found[2], found.end()
    if source[at : at + 1] != "(":
        moved = 0
        if offset := _OFFSET.match(source, at):
            scale = SECONDS[offset[3]] * 1_000_000 if offset[3] else 1
            moved = round(float(offset[2]) * scale) if "." in offset[2] else int(offset[2]) * scale
            moved, at = -moved if offset[1] == "-" else moved, offset.end()
        if source.startswith(_TICK_BEFORE, at):
            moved, at = moved - 1, at + len(_TICK_BEFORE)
        return Property(name, moved), at
    arguments: list[Property | Call | int | str] = []
    while source[at] != ")":
        at = _blank(source, at + 1)
        if source[at] == "'":
            quoted = re.compile(r"'((?:[^']|'')*)'").match(source, at)
            if quoted is None:
                raise UnreadableError(f"{source!r} at {at}")
            arguments.append(quoted[1].replace("''", "'"))
            at = quoted.end()
        elif source[at].isdigit():
            number = re.compile(r"\d+").match(source, at)
            assert number is not None
            arguments.append(int(number[0]))
            at = number.end()
        else:
            argument, at = _expression(source, at)
            arguments.append(argument)
        at = _blank(source, at)
        if source[at : at + 1] not in (",", ")"):
            raise UnreadableError(f"{source!r} at {at}")
    return Call(name, tuple(arguments)), at + 1


def separators(parts: Sequence[Part]) -> frozenset[str]:
    """The first characters of the texts behind the first variable part of a key: they are escaped in its values."""
    first = next((n for n, part in enumerate(parts) if not isinstance(part, str)), len(parts))
    return frozenset(part[0] for part in parts[first:] if isinstance(part, str))


def escape(text: str, beside: frozenset[str]) -> str:
    """``~`` and four hex digits of each UTF-16 code unit of a character that a key cannot hold."""
    if FORBIDDEN.isdisjoint(text) and beside.isdisjoint(text):
        return text
    out = []
    for c in text:
        if c in FORBIDDEN or c in beside:
            raw = c.encode("utf-16-be", "surrogatepass").hex().upper()
            out += [f"~{raw[i : i + 4]}" for i in range(0, len(raw), 4)]
        else:
            out.append(c)
    return "".join(out)


def properties(part: Part | int) -> tuple[str, ...]:
    """The properties that a part reads."""
    if isinstance(part, Property):
        return (part.name,)
    if isinstance(part, Call):
        return tuple(dict.fromkeys(n for a in part.arguments if isinstance(a, Property | Call) for n in properties(a)))
    return ()


def braced(name: str) -> str:
    """A property as an argument of the key language: in backticks where it is no plain word."""
    return name if name.isidentifier() else f"`{name}`"


def read_by(template: str) -> tuple[str, ...]:
    """The properties that a template reads."""
    return tuple(dict.fromkeys(n for part in parse(template) for n in properties(part)))


def padded(number: int, width: int) -> str:
    """Zero-padded; below zero ``-`` and 10^width plus the number."""
    return f"{number:0{width}d}" if number >= 0 else f"-{10**width + number:0{width}d}"


def period(microseconds: int, pattern: str) -> str:
    """The UTC period of a time: year to second, or the week of ISO 8601."""
    at = moment(microseconds)
    year, week, _ = at.isocalendar()
    pieces = {
        "YYYY": f"{year:04}", "ww": f"{week:02}", "yyyy": f"{at.year:04}", "MM": f"{at.month:02}",
        "dd": f"{at.day:02}", "HH": f"{at.hour:02}", "mm": f"{at.minute:02}", "ss": f"{at.second:02}",
    }  # fmt: skip
    return re.sub("YYYY|ww|yyyy|MM|dd|HH|mm|ss", lambda found: pieces[found[0]], pattern)


def clock(microseconds: int, pattern: str) -> str:
    """The UTC time of day: hours to seconds, and digits of the fraction."""
    fraction = f"{microseconds % 1_000_000:06d}0"
    return re.sub("f+", lambda found: fraction[: len(found[0])], period(microseconds, pattern))


def digest(text: str) -> bytes:
    """SHA-256 of the UTF-8 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def bucket(text: str, count: int) -> str:
    """A bucket of so many: the first 8 bytes of the digest, modulo the count, padded to the digits of count - 1."""
    return f"{int.from_bytes(digest(text)[:8], 'big') % count:0{len(str(count - 1))}d}"


def sortable(value: Value, edm: str, *, falling: bool) -> str:
    """A number (or for falling order a time) in hex of fixed width."""
    width = 8 if edm == INT32 else 16
    if edm == DOUBLE:
        assert isinstance(value, float)
        number = float(value) + 0.0
        bits = 0x7FF8 << 48 if number != number else int.from_bytes(struct.pack(">d", number), "big")
        bits = bits ^ ((1 << 64) - 1) if bits >> 63 else bits | 1 << 63
    else:
        assert isinstance(value, int)
        bits = (ticks(value) if edm == DATETIME else value) + (1 << (4 * width - 1))
    return f"{(1 << 4 * width) - 1 - bits if falling else bits:0{width}x}"


def items(value: Value | None, delimiter: str) -> tuple[str, ...]:
    """The values that a property with several holds: of a JSON array, or of text divided by a delimiter."""
    if not isinstance(value, str):
        return ()
    if delimiter:
        return tuple(dict.fromkeys(item.strip() for item in value.split(delimiter) if item.strip()))
    try:
        found = json.loads(value)
    except ValueError:
        found = None
    if not isinstance(found, list):
        return (value,) if value else ()
    return tuple(dict.fromkeys(t for t in map(_item_text, found) if t))


def _item_text(item: object) -> str:
    if isinstance(item, str):
        return item
    return "" if item is None else json.dumps(item)


_RAW = frozenset(
    {"time", "ticks", "reverse_ticks", "sortable", "reverse_sortable", "hash", "hash_prefix", "md5_prefix"}
)
"""Functions whose texts hold nothing that could be escaped, or are kept as they are."""


@dataclass(frozen=True)
class Writer:
    """What parts write, with the types of the properties."""

    types: Mapping[str, str]
    _separators: dict[int, frozenset[str]] = field(default_factory=dict)
    _kept: list[Sequence[Part]] = field(default_factory=list)

    def plain(self, part: Property | Call, values: Mapping[str, Value | None]) -> str | None:
        """The text of a part before escapes; None where a property that it reads is missing."""
        if isinstance(part, Property):
            value = values.get(part.name)
            edm = self.types.get(part.name, STRING)
            return None if value is None else canonical(shifted(value, part.offset, edm), edm)
        source, *rest = part.arguments
        match part.name:
            case "concat":
                return self.joined(part.arguments, values)
            case "hash" | "hash_prefix" | "md5_prefix":
                assert isinstance(source, Property | Call) and isinstance(rest[0], int)
                text = self.plain(source, values)
                text = MISSING if text is None else text
                if part.name == "md5_prefix":
                    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[: rest[0]]
                return bucket(text, rest[0]) if part.name == "hash" else digest(text).hex()[: rest[0]]
            case "seq":
                assert isinstance(source, int)
                number = values.get("#seq", 0)
                assert isinstance(number, int)
                return f"{number:0{source}d}"
        assert isinstance(source, Property | Call)
        if part.name in ("lower", "prefix", "reverse"):
            text = self.plain(source, values)
            if text is None:
                return None
            if part.name == "lower":
                return "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in text)
            if part.name == "reverse":
                return text[::-1]
            assert isinstance(rest[0], int)
            return text[: rest[0]]
        assert isinstance(source, Property)
        edm, value = self.types.get(source.name, STRING), values.get(source.name)
        if value is None:
            return None
        if part.name == "each":
            return str(value)
        value = shifted(value, source.offset, edm)
        return self._number(part, value, edm)

    def _number(self, part: Call, value: Value, edm: str) -> str:
        """What functions of numbers and times write."""
        width = part.arguments[1] if len(part.arguments) > 1 else 0
        if part.name == "pad" and isinstance(value, str):
            assert isinstance(width, int)
            return value.rjust(width, "0")
        if part.name in ("sortable", "reverse_sortable"):
            return sortable(value, edm, falling=part.name == "reverse_sortable")
        assert isinstance(value, int)
        match part.name:
            case "time":
                assert isinstance(width, str)
                return period(value, width)
            case "ticks":
                return f"{ticks(value):0{width or 19}d}"
            case "time_of_day" if isinstance(width, str):
                return clock(value, width)
            case "time_of_day":
                seconds, micros = divmod(value % 86_400_000_000, 1_000_000)
                fraction = f"{micros:06d}0"[: int(width)]
                return f"{seconds // 3600:02d}{seconds // 60 % 60:02d}{seconds % 60:02d}{fraction}"
            case "reverse_ticks":
                return f"{REVERSE_TICKS - ticks(value):019d}"
        assert isinstance(width, int)
        return padded(value if part.name == "pad" else 10**width - 1 - value, width)

    def joined(self, arguments: Sequence[Property | Call | int | str], values: Mapping[str, Value | None]) -> str:
        """What ``concat`` writes: the key that its arguments would make."""
        parts = [a for a in arguments if not isinstance(a, int)]
        return self.key(tuple(parts), values)

    def part(self, part: Part, values: Mapping[str, Value | None], beside: frozenset[str]) -> str:
        """The text of one part of a key with these separators."""
        if isinstance(part, str):
            return part
        text = self.plain(part, values)
        if text is None:
            return MISSING
        if isinstance(part, Call) and (part.name in _RAW or part.name == "seq"):
            return text
        if isinstance(part, Call) and part.name in ("pad", "reverse_pad") and not self._is_text(part):
            return text
        return escape(text, beside)

    def _is_text(self, part: Call) -> bool:
        source = part.arguments[0]
        return isinstance(source, Property) and self.types.get(source.name, STRING) == STRING

    def key(self, parts: Sequence[Part], values: Mapping[str, Value | None]) -> str:
        """A whole key text."""
        beside = self._separators.get(id(parts))
        if beside is None:
            beside = separators(parts)
            if isinstance(parts, tuple):
                self._kept.append(parts)
                self._separators[id(parts)] = beside
        return "".join(self.part(part, values, beside) for part in parts)
