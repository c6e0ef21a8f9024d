"""A failing input made smaller for as long as it fails in the same way."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

TRIES_MOST = 400


def smallest(content: bytes, fails: Callable[[bytes], bool], *, tries: int = TRIES_MOST) -> bytes:
    """The input without the members, lines and bytes that do not matter, within so many tries."""
    left = [tries]

    def still(candidate: bytes) -> bool:
        left[0] -= 1
        return left[0] >= 0 and fails(candidate)

    content = _members(content, still)
    for separator in (b"\n", b""):
        content = _pieces(content, separator, still)
    return content


def _pieces(content: bytes, separator: bytes, still: Callable[[bytes], bool]) -> bytes:
    """Halves, quarters … of the lines or bytes left out while the input still fails."""

    def split(data: bytes) -> list[bytes]:
        return data.split(separator) if separator else [data[i : i + 1] for i in range(len(data))]

    pieces = split(content)
    size = len(pieces) // 2
    while size:
        at = 0
        while at < len(pieces):
            rest = pieces[:at] + pieces[at + size :]
            if still(separator.join(rest)):
                pieces = rest
            else:
                at += size
        size //= 2
    return separator.join(pieces)


def _members(content: bytes, still: Callable[[bytes], bool]) -> bytes:
    """A JSON document without the members that do not matter."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return content

    def bytes_of() -> bytes:
        return json.dumps(document).encode("utf-8", "surrogatepass")

    if not still(bytes_of()):
        return content

    def walk(value: Any) -> None:
        if not isinstance(value, dict | list):
            return
        for key in reversed(range(len(value)) if isinstance(value, list) else list(value)):
            before = value[key]
            del value[key]
            if still(bytes_of()):
                continue
            if isinstance(value, list):
                value.insert(key, before)
            else:
                value[key] = before
            walk(before)

    walk(document)
    return bytes_of()
