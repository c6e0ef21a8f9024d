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
