"""Names in a design file: what a name may be, and where each property is mentioned."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pkadvisor.errors import UsageError
from pkadvisor.observe.design_file.declaration import Mention
from pkadvisor.observe.design_file.declaration_yaml import Document, Path_
from pkadvisor.table import odata
from pkadvisor.table.filters import entity_number

_NAME_MAX = 64


class DeclaredNames:
    """The properties that a table names, each with the place of the mention."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.mentions: list[Mention] = []
        self.errors: list[UsageError] = []

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Within it an error is put to the others of the table, so that what stands behind it is checked as well."""
        try:
            yield
        except UsageError as error:
            self.errors.append(error)

    def check_name(self, name: str, at: Path_, what: str, *, at_key: bool = False) -> None:
        if not name or len(name) > _NAME_MAX or not name.isprintable() or name != name.strip():
            problem = f"the name of a {what} has 1 to {_NAME_MAX} printable characters and no blank at its ends"
            raise self.document.error(at, problem, at_key=at_key)

    def mention(self, name: str, role: str, at: Path_, kind: str | None, *, asked: bool = False) -> None:
        place = self.document.error(at, "here")
        self.mentions.append(Mention(name, role, kind, place.where, place.excerpt, asked))

    def mention_all(self, names: Sequence[str], role: str, at: Path_, kind: str | None, *, asked: bool = False) -> None:
        """``at`` holds a list, or a single text."""
        for i, name in enumerate(names):
            self.mention(name, role, (*at, i), kind, asked=asked)

    def mention_in_filter(self, parsed: odata.Filter, text: str, at: Path_, kind: str | None, role: str) -> None:
        words: dict[str, int] = {}
        for match in re.finditer(r"'(?:[^']|'')*+'|\{[^{}]*\}|[^\W\d]\w*(?:\.\w+)*", text):
            words.setdefault(match[0], match.start())
        for name in odata.properties(parsed):
            place = self.document.error_within(at, words.get(name, 0), len(name), "here")
            self.mentions.append(Mention(name, f"the filter of {role}", kind, place.where, place.excerpt, True))
        for name in odata.parameters(parsed):
            named = re.search(r"\{\s*(" + re.escape(name) + r")(?![\w.])", text)
            place = self.document.error_within(at, named.start(1) if named else 0, len(name), "here")
            self.mentions.append(
                Mention(entity_number(name)[0], f"the filter of {role}", kind, place.where, place.excerpt, True)
            )
