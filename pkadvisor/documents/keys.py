"""The document of ``advisor keys``."""

from __future__ import annotations

from typing import Literal

from pkadvisor.documents.part import Amount, Count, Part, Share


class KeysProperty(Part, frozen=True, kw_only=True):
    """``characters``: of a value, mean. ``largest_share``: of the entities, those with the most frequent value."""

    name: str
    type: str
    distinct: Count
    characters: Amount
    missing: Count
    largest_share: Share


class KeysTemplates(Part, frozen=True, kw_only=True):
    partition_key: str
    row_key: str


class KeysTable(Part, frozen=True, kw_only=True):
    """``identifies``: properties that no two entities share, alone or together. ``divides``: those that can begin a
    PartitionKey, the best first."""

    table: str
    entities: Count
    looked_at: Count
    exported_keys: list[KeysTemplates]
    properties: list[KeysProperty]
    identifies: list[list[str]]
    divides: list[str]
    example: KeysTemplates | None


class KeysDocument(Part, frozen=True, kw_only=True):
    document: Literal["pkadvisor keys"]
    schema_version: Literal[1]
    tables: list[KeysTable]
