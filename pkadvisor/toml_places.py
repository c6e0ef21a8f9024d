"""Where the keys and values of a TOML text stand; ``tomllib`` keeps no positions.

Only for texts that ``tomllib`` has read: what is no TOML is not noticed here.
"""

from __future__ import annotations

import re

from pkadvisor.values import dataclass

TomlPath = tuple[str | int, ...]
"""Keys and, for what stands in a list, indexes from 0: ``("level", 1, "when")``."""


@dataclass(frozen=True, slots=True)
class TomlPlace:
    """Offsets into the text: of a key (of the item itself in a list), and of its value."""

    key: int
    value: int
    end: int


_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SCALAR = re.compile(r"[^,\]}#\r\n]*")
_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2}|[ \t]*\r?\n\s*|.)", re.DOTALL)


def places(text: str) -> dict[TomlPath, TomlPlace]:
    """Every key, table and item of a list with its place, in file order."""
    return _Scan(text).document()


def inside(text: str, start: int, offset: int) -> int:
    """Where the ``offset``-th character of the string that begins at ``start`` stands in the text."""
    quote = text[start]
    opening = quote * 3 if text.startswith(quote * 3, start) else quote
    at = start + len(opening)
    if len(opening) == 3:
        at += 2 if text.startswith("\r\n", at) else 1 if text.startswith("\n", at) else 0
    for remaining in range(offset, -1, -1):
        match = _ESCAPE.match(text, at) if quote == '"' else None
        while match and "\n" in match[0]:  # a line that goes on in the next
            at = match.end()
            match = _ESCAPE.match(text, at)
        if not remaining or text.startswith(opening, at):
            break
        at = match.end() if match else at + (2 if text.startswith("\r\n", at) else 1)
    return min(at, len(text))


class _Scan:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: dict[TomlPath, TomlPlace] = {}
        self.counts: dict[TomlPath, int] = {}

    def document(self) -> dict[TomlPath, TomlPlace]:
        prefix: TomlPath = ()
        while self._skip():
            start = self.at
            if self.text[self.at] == "[":
                array = self.text.startswith("[[", self.at)
                self.at += 2 if array else 1
                self._blanks()
                keys, at = self._keys()
                prefix = (*self._resolved(keys[:-1]), keys[-1])
                for end in range(1, len(prefix)):
                    self.found.setdefault(prefix[:end], TomlPlace(at, start, self.at))
                if array:
                    number = self.counts.get(prefix, 0)
                    self.counts[prefix] = number + 1
                    self.found.setdefault(prefix, TomlPlace(at, start, self.at))
                    prefix += (number,)
                self.found.setdefault(prefix, TomlPlace(at, start, self.at))
                self.at = max(self.text.find("]", self.at), self.at) + (2 if array else 1)
            else:
                self._pair(prefix)
        return self.found

    def _resolved(self, keys: TomlPath) -> TomlPath:
        """A header's keys, with the index of the latest item wherever one names a list of tables."""
        path: TomlPath = ()
        for key in keys:
            path += (key,)
            if path in self.counts:
                path += (self.counts[path] - 1,)
        return path

    def _skip(self) -> bool:
        match = _BLANK.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.at < len(self.text)

    def _blanks(self) -> None:
        while self.text.startswith((" ", "\t"), self.at):
            self.at += 1

    def _keys(self) -> tuple[TomlPath, int]:
        """A dotted key, and where its last piece begins."""
        keys: list[str | int] = []
        while True:
            self._blanks()
            start = self.at
            if self.text[start] in "\"'":
                self._string()
                keys.append(_unquoted(self.text[start : self.at]))
            else:
                match = _BARE.match(self.text, self.at)
                assert match is not None
                self.at = match.end()
                keys.append(match[0])
            self._blanks()
            if not self.text.startswith(".", self.at):
                return tuple(keys), start
            self.at += 1

    def _pair(self, prefix: TomlPath) -> None:
        begin = self.at
        keys, at = self._keys()
        for end in range(1, len(keys)):
            self.found.setdefault(prefix + keys[:end], TomlPlace(begin, begin, self.at))
        self.at += 1  # the sign =
        self._blanks()
        self._value(prefix + keys, at)

    def _value(self, path: TomlPath, key: int) -> None:
        start = self.at
        first = self.text[start]
        if first in "\"'":
            self._string()
        elif first == "[":
            self.at += 1
            number = 0
            while self._skip() and self.text[self.at] != "]":
                self._value((*path, number), self.at)
                number += 1
                self._comma()
            self.at += 1
        elif first == "{":
            self.at += 1
            while self._skip() and self.text[self.at] != "}":
                self._pair(path)
                self._comma()
            self.at += 1
        else:
            match = _SCALAR.match(self.text, self.at)
            assert match is not None
            self.at = start + len(match[0].rstrip())
        self.found[path] = TomlPlace(key, start, self.at)

    def _comma(self) -> None:
        self._skip()
        if self.text.startswith(",", self.at):
            self.at += 1

    def _string(self) -> None:
        quote = self.text[self.at]
        opening = quote * 3 if self.text.startswith(quote * 3, self.at) else quote
        self.at += len(opening)
        while not self.text.startswith(opening, self.at):
            self.at += 2 if quote == '"' and self.text[self.at] == "\\" else 1
        self.at += len(opening)
        while len(opening) == 3 and self.text.startswith(quote, self.at):
            self.at += 1  # up to two quotes of the text itself stand before the closing three


def _unquoted(text: str) -> str:
    import tomllib

    return next(iter(tomllib.loads(f"{text} = 0")))
