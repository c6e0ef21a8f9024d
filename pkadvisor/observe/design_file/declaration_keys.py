"""The keys that a table or a kind of it declares, each template with its place in the file."""

from __future__ import annotations

from pkadvisor.observe.design_file import declaration_model as model
from pkadvisor.observe.design_file.declaration import DeclaredKeys, IndexRowDeclaration
from pkadvisor.observe.design_file.declaration_yaml import Document, Path_, PlacedText

_TEMPLATE_MAX = 4_096
"""A key holds 512 characters; a template may have long names of properties in it."""


class KeysReader:
    """Reads keys out of one document."""

    def __init__(self, document: Document) -> None:
        self.document = document

    def read(self, part: model.TableModel | model.KindModel, at: Path_, of_table: DeclaredKeys | None) -> DeclaredKeys:
        """The keys of a table (``of_table`` is None) or of a kind at ``at``.

        A kind without PartitionKey and RowKey has those of its table, and its index rows where it declares none. A
        kind with keys of its own has the index rows that it declares itself: those of the table belong to other keys.
        UsageError where one key is given without the other, or index rows without keys.
        """
        given, lacking = ("partition_key", "row_key") if part.row_key is None else ("row_key", "partition_key")
        if (part.partition_key is None) != (part.row_key is None):
            what = f"{given} without {lacking}"
            if of_table is not None:
                what = f"kind '{at[-1]}' has {what}"
            raise self.document.error((*at, given), what, f"add {lacking} (it may be ''), or remove both", at_key=True)
        inherited = of_table or DeclaredKeys()
        if part.index_rows and part.partition_key is None and inherited.partition is None:
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
        if part.partition_key is None:
            declares_rows = "index_rows" in part.model_fields_set  # an empty list is said on purpose
            return DeclaredKeys(inherited.partition, inherited.row, rows if declares_rows else inherited.index_rows)
        return DeclaredKeys(
            self._placed((*at, "partition_key"), part.partition_key), self._placed((*at, "row_key"), part.row_key), rows
        )

    def _placed(self, path: Path_, text: str | None) -> PlacedText | None:
        return None if text is None else self._template(path, text)

    def _template(self, path: Path_, text: str) -> PlacedText:
        if len(text) > _TEMPLATE_MAX:
            what = f"a key of {len(text):,} characters; at most {_TEMPLATE_MAX:,} are read"
            raise self.document.error(path, what, "a key of the store holds 1 KiB")
        return self.document.placed(path, text)
