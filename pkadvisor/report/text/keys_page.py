"""What could be a key of data, as text."""

from __future__ import annotations

from pkadvisor.documents.keys import KeysDocument, KeysTable
from pkadvisor.numbers import percent
from pkadvisor.report.text.page import Page

SHOWN_MAX = 8


def render_keys(document: KeysDocument, *, width: int, color: bool, ascii_only: bool) -> str:
    """The whole page; a pure function of the document."""
    page = Page(max(24, width), color, ascii_only)
    for table in document.tables:
        _table(page, table)
    return "\n".join(page.lines).rstrip("\n") + "\n"


def _table(page: Page, table: KeysTable) -> None:
    known = {p.name: p for p in table.properties}
    of = "" if table.looked_at == table.entities else f", {table.looked_at:,} of them looked at"
    properties = "1 property" if len(known) == 1 else f"{len(known):,} properties"
    page.line(f"{table.table}   {table.entities:,} entities{of}, {properties}", "head")
    for keys in table.exported_keys:
        page.record("keys now", f"{keys.partition_key} / {keys.row_key}", 10)
    page.head("Unique: can be a RowKey, or the end of one")
    for names in table.identifies[:SHOWN_MAX]:
        together = "unique" if len(names) == 1 else "unique together"
        page.record(" + ".join(names), together, 24)
    if not table.identifies:
        page.wrapped(
            "No property and no pair of properties is unique: end the RowKey with an id that the application assigns."
        )
    page.head("Shared by several entities: can begin a PartitionKey, if queries name it")
    for name in table.divides[:SHOWN_MAX]:
        partitions = known[name]
        page.record(
            name, f"{partitions.distinct:,} partitions, the largest has {percent(partitions.largest_share)}", 24
        )
    if not table.divides:
        page.wrapped("No property has values that several entities share.")
    page.line()
    if table.example is not None:
        keys = table.example
        page.record("to begin with", f'partition_key: "{keys.partition_key}"', 14)
        page.record("", f'row_key: "{keys.row_key}"', 14)
    page.wrapped("No query is known, so this is not advice: which of these keys is good depends on the queries.")
    page.line()
