"""A TOML file that can point at its keys; ``tomllib`` keeps no positions, so they are searched for."""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any

from pkadvisor.errors import UsageError, caret
from pkadvisor.files import ordinary
from pkadvisor.toml_places import TomlPath, TomlPlace, inside, places

FILE_BYTES_MAX = 1 << 20


class TomlFile:
    """A parsed TOML file; ``what`` says in messages what it holds, ``read`` takes from its text what is wanted."""

    def __init__(self, path: Path, *, what: str, read: Callable[[str], str] = str) -> None:
        import tomllib

        self.path = path
        self.prefix: TomlPath = ()
        try:
            with ordinary(path).open("rb") as stream:
                raw = stream.read(FILE_BYTES_MAX + 1)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "not a path"
            raise UsageError(f"cannot read the {what}: {reason}", where=str(path), fix="give a TOML file") from None
        if len(raw) > FILE_BYTES_MAX:
            raise UsageError(f"too large for a file of {what}", where=str(path), fix="keep it below 1 MiB")
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise UsageError("is not UTF-8 text", where=str(path), fix="save the file as UTF-8") from None
        self.text = text = read(text)
        self.lines = text.split("\n")
        try:
            self.content: dict[str, Any] = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            place = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
            what = f"is not TOML: {re.sub(r' *[(]at .*[)]$', '', str(error))}"
            line, column = (int(place[1]), int(place[2])) if place else (len(self.lines), 1)
            fix = 'a line is key = "text", key = 1.0, [section] or [[section]]'
            raise self.error(what, line, column, fix) from None

    @cached_property
    def _places(self) -> dict[TomlPath, TomlPlace]:
        return places(self.text)

    def line_of(self, path: TomlPath) -> int:
        """The line (from 1) of a key."""
        place = self._places.get(path)
        return self.text.count("\n", 0, place.key) + 1 if place else 1

    def at(
        self, path: TomlPath, what: str, fix: str = "", *, at_value: bool = False, offset: int | None = None
    ) -> UsageError:
        """An error at a key, or the nearest above it that the file has; with ``at_value`` at its value, with
        ``offset`` so many characters into the text that is its value."""
        exact = path in self._places
        while path not in self._places and path:
            path = path[:-1]
        place = self._places.get(path, TomlPlace(0, 0, 0))
        at = place.value if at_value and exact else place.key
        if offset is not None and exact and self.text[place.value] in "\"'":
            at = inside(self.text, place.value, offset)
        line = self.text.count("\n", 0, at) + 1
        return self.error(what, line, at - (self.text.rfind("\n", 0, at) + 1) + 1, fix)

    def error(self, what: str, line: int, column: int, fix: str = "") -> UsageError:
        shown = self.lines[line - 1].rstrip("\r") if line <= len(self.lines) else ""
        return UsageError(
            what, where=f"{self.path}:{line}:{column}", fix=fix, excerpt=caret(shown, column - 1) if shown else ""
        )

    def section(self, path: TomlPath) -> TomlFile:
        """A table of the file as if it were a file of its own; its errors keep their places."""
        part = copy(self)
        for key in path:
            part.content = part.content[key]  # type: ignore[index]
        part.prefix = (*self.prefix, *path)
        return part

    def error_at(self, name: str, key: str | None, what: str, fix: str = "") -> UsageError:
        """An error at ``key`` of section ``name``, or at the section, or at ``name = …``."""
        return self.at((*self.prefix, name) if key is None else (*self.prefix, name, key), what, fix)
