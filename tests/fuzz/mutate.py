"""Small damage to valid files: of bytes, of words and lines, of the members of JSON documents."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

Mutate = Callable[[Random, bytes, Sequence[bytes]], bytes]
"""The draw, a valid file, and other valid files of its kind, to what is tried."""

HUGE = "w" * 3000
WORDS = (
    *("", " ", "0", "-1", "1", "-0", "1e308", "1e309", "-1e-320", "nan", "NaN", "inf", "-inf", "null", "~", "true"),
    *("2147483648", "9223372036854775808", "1" + "0" * 400, "0x10", "1_000", "1,000", "٣", "Ⅷ", "1/0", "100%", "5 %"),
    *("'", '"', "''", '""', "{", "}", "{}", "{{", "}}", "[", "]", "[]", "(", ")", "<", ">", "&", "|", "`", "\\", "/"),
    *(":", ";", ",", "#", "!", "%", "%2F", "$", "@", "*", "&a", "*a", "<<", "---", "- ", "? ", ": ", "\t", "\n", "\r"),
    *("\x00", "\x07", "\x1b[2J", "\x7f", "\x85", "\u2028", "\u202e", "\ud83d", "\ufeff", "\uffff", "😀", "é", "İ"),
    *("PartitionKey", "RowKey", "Timestamp", "odata.type", "value", "a.b", "__proto__", "each(tags)", "seq(4)"),
    *("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.9999999Z", "2026-02-30", "2026-13-01T00:00:00Z", "1600-01-01"),
    *("datetime'2026-01-01T00:00:00Z'", "guid'x'", "X'0'", "not", "and", "or", "eq", "0/s", "1/century", "-5 days"),
    HUGE,
)
_TOKEN = re.compile(r"[A-Za-z_][\w.]*|-?\d+(?:\.\d+)?|\"[^\"\n]*\"|'[^'\n]*'|\S")
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 0.5, -0.5, 1e308, 10**30, 2**31, 2**63, "", "x", HUGE, "\x1b[2J", "nan"),
    *([], {}, [None], [[]], {"": None}, "2026-01-01T00:00:00Z", "{a}", "PartitionKey eq 'a'"),
)


def of_bytes(draw: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """A bit, a byte, a range: flipped, left out, doubled, moved, or taken from another file."""
    data = bytearray(content)
    at = draw.randrange(len(data) + 1) if draw.random() < 0.7 else max(0, len(data) - draw.randrange(200))
    end = min(len(data), at + draw.choice((1, 2, 4, 16, 100, 1000)))
    match draw.randrange(8):
        case 0 if at < len(data):
            data[at] ^= 1 << draw.randrange(8)
        case 1 if at < len(data):
            data[at] = draw.randrange(256)
        case 2:
            del data[at:end]
        case 3:
            data[at:at] = data[at:end] * draw.choice((1, 2, 20))
        case 4:
            data[at:at] = draw.randbytes(draw.choice((1, 3, 8, 64)))
        case 5:
            other = draw.choice(others)
            start = draw.randrange(len(other) + 1)
            data[at:end] = other[start : start + draw.choice((4, 64, 1000))]
        case 6:
            del data[at:]
        case _:
            data[at:end] = draw.choice(WORDS).encode("utf-8", "surrogatepass")
    return bytes(data)


def of_words(draw: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """A word for another one of this file, of another, or a hostile one; or a line left out, doubled or moved."""
    text = content.decode("utf-8", "surrogateescape")
    if draw.random() < 0.25:
        lines = text.split("\n")
        at, to = draw.randrange(len(lines)), draw.randrange(len(lines))
        match draw.randrange(4):
            case 0:
                del lines[at]
            case 1:
                lines.insert(to, lines[at])
            case 2:
                lines[at], lines[to] = lines[to], lines[at]
            case _:
                lines[at] = " " * draw.randrange(9) + lines[at].lstrip()
        return "\n".join(lines).encode("utf-8", "surrogatepass")
    # Of a large file a piece: to look at every word for the sake of one would be most of the work.
    start = draw.randrange(max(1, len(text) - 2000))
    spans = [m.span() for m in _TOKEN.finditer(text, start, start + 2000)]
    if not spans:
        return of_bytes(draw, content, others)
    a, b = draw.choice(spans)
    c, d = draw.choice(spans)
    other = draw.choice(others).decode("utf-8", "surrogateescape")
    elsewhere = _TOKEN.search(other, draw.randrange(len(other) + 1))
    word = draw.choice((draw.choice(WORDS), text[c:d], elsewhere[0] if elsewhere else "", text[a:b] * 2))
    if draw.random() < 0.3:
        word = text[a:b] + word
    return (text[:a] + word + text[b:]).encode("utf-8", "surrogatepass")


def of_members(draw: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """A member of a JSON document (or of one line of it) replaced, left out, renamed, doubled, or of another type."""
    lines = content.split(b"\n")
    whole = content.lstrip()[:1] in (b"{", b"[") and (len(lines) < 3 or lines[1][:1] in (b" ", b"\t"))
    at = 0 if whole else draw.randrange(len(lines))
    try:
        document = json.loads(content if whole else lines[at])
    except (ValueError, RecursionError):
        return of_words(draw, content, others)
    places = list(_places(document))
    if not places:
        return of_words(draw, content, others)
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        _damage(draw, *draw.choice(places), places)
    made = json.dumps(document, ensure_ascii=draw.random() < 0.5).encode("utf-8", "surrogatepass")
    return made if whole else b"\n".join((*lines[:at], made, *lines[at + 1 :]))


def _places(value: Any) -> Any:
    """Every (container, key) of a document."""
    pending = [value]
    while pending:
        found = pending.pop()
        keys = range(len(found)) if isinstance(found, list) else list(found) if isinstance(found, dict) else ()
        for key in keys:
            yield found, key
            if isinstance(found[key], dict | list):
                pending.append(found[key])


def _is_there(holder: Any, key: Any) -> bool:
    return key < len(holder) if isinstance(holder, list) else key in holder


def _damage(draw: Random, holder: Any, key: Any, places: list[Any]) -> None:
    if not _is_there(holder, key):
        return
    match draw.randrange(6):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, list):
            holder.insert(key, holder[key])
        case 1:
            holder[str(draw.choice(WORDS))] = holder.pop(key)
        case 2:
            other, name = draw.choice(places)
            if _is_there(other, name):
                holder[key] = json.loads(json.dumps(other[name]))
        case 3 if isinstance(holder[key], list):
            holder[key] = holder[key][: draw.randrange(len(holder[key]) + 1)]
        case 3 if isinstance(holder[key], int | float):
            holder[key] = draw.choice((-holder[key], holder[key] * 1e6, str(holder[key]), holder[key] + 1))
        case _:
            holder[key] = draw.choice(_VALUES)


def either(*ways: Mutate) -> Mutate:
    """One to four changes, each in one of these ways; a way that appears twice is taken twice as often."""

    def mutate(draw: Random, content: bytes, others: Sequence[bytes]) -> bytes:
        for _ in range(draw.choice((1, 1, 1, 2, 2, 4))):
            content = draw.choice(ways)(draw, content, others)
        return content

    return mutate
