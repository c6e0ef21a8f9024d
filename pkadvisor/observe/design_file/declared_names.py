"""Names and keys in a design file: what a name may be, where each property is mentioned, and each template with its
place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pkadvisor.errors import UsageError
from pkadvisor.observe.design_file import declaration_model as model
from pkadvisor.observe.design_file.declaration import DeclaredKeys, IndexRowDeclaration, Mention
from pkadvisor.observe.design_file.declaration_yaml import Document, Path_, PlacedText
from pkadvisor.table import odata
from pkadvisor.table.filters import entity_number

_NAME_MAX = 64
_TEMPLATE_MAX = 4_096
"""A key holds 512 characters; a template may have long names of properties in it."""


class DeclaredNames:
    """The properties that a table names, each with the place of the mention, and its keys."""

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

    def keys_of(
        self, part: model.TableModel | model.KindModel, at: Path_, of_table: DeclaredKeys | None
    ) -> DeclaredKeys:
        """The keys of a table (``of_table`` is None) or of a kind at ``at``.

        A kind has what it does not declare of PartitionKey and RowKey from its table, and the index rows of the table
        where it declares no keys and no index rows. A table with kinds may declare one of the two for all of them.
        UsageError where a key is then missing beside the other, or for index rows.
        """
        inherited = of_table or DeclaredKeys()
        keys = {
            "partition_key": self._placed((*at, "partition_key"), part.partition_key) or inherited.partition,
            "row_key": self._placed((*at, "row_key"), part.row_key) or inherited.row,
        }
        given, lacking = [n for n, key in keys.items() if key], [n for n, key in keys.items() if not key]
        if given and lacking and not (of_table is None and getattr(part, "kinds", None)):
            what = f"{given[0]} without {lacking[0]}"
            if of_table is not None:
                what = f"kind '{at[-1]}' has {what}"
            here = at if getattr(part, given[0]) is None else (*at, given[0])
            fix = f"add {lacking[0]} (it may be ''), or remove both"
            raise self.document.error(here, what, fix, at_key=True)
        if part.index_rows and lacking:
            what = "index_rows without the keys of the " + ("table" if of_table is None else "table or the kind")
            raise self.document.error((*at, "index_rows"), what, "add partition_key and row_key", at_key=True)
        rows = tuple(
            IndexRowDeclaration(
                partition_key=self._placed((*at, "index_rows", i, "partition_key"), row.partition_key),
                row_key=self._template((*at, "index_rows", i, "row_key"), row.row_key),
                copy=row.copy_,
            )
            for i, row in enumerate(part.index_rows)
        )
        of_its_table = part.partition_key is None and part.row_key is None and "index_rows" not in part.model_fields_set
        return DeclaredKeys(keys["partition_key"], keys["row_key"], inherited.index_rows if of_its_table else rows)

    def _placed(self, path: Path_, text: str | None) -> PlacedText | None:
        return None if text is None else self._template(path, text)

    def _template(self, path: Path_, text: str) -> PlacedText:
        if len(text) > _TEMPLATE_MAX:
            what = f"a key of {len(text):,} characters; at most {_TEMPLATE_MAX:,} are read"
            raise self.document.error(path, what, "a key of the store holds 1 KiB")
        return self.document.placed(path, text)
