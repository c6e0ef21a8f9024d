"""What a store holds and does, in numbers."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from pkadvisor.engine.lsm.tree import Tree


class Statistics(msgspec.Struct, frozen=True, kw_only=True):
    """Of an open store; those of ranges and servers add up. Bytes of files and journals are of the whole directory."""

    ranges: int = 0
    rows_estimated: int = 0
    """Entities and tables: exact while no row was written again or deleted since the last combine."""
    row_bytes: int = 0
    """Bytes of keys and values in the ranges, versions that are not combined yet among them."""
    checkpoints: int = 0
    checkpoint_bytes: int = 0
    """Bytes of the checkpoints as they are stored, on one replica."""
    memory_table_bytes: int = 0
    log_bytes: int = 0
    """Bytes of the write-ahead log that an opening would read, on one replica."""
    cache_bytes: int = 0
    cache_hits: int = 0
    cache_misses: int = 0
    files: int = 0
    file_bytes: int = 0
    journal_bytes: int = 0
    """Of ``file_bytes`` those in journals, which are written out to extents and then deleted."""


def total(parts: Iterable[Statistics]) -> Statistics:
    """The sum of each number."""
    rows = [msgspec.structs.astuple(part) for part in parts]
    return Statistics(**dict(zip(Statistics.__struct_fields__, map(sum, zip(*rows, strict=True)), strict=False)))


def of_tree(tree: Tree, log_bytes: int) -> Statistics:
    """Of one range."""
    rows = 0.0
    for checkpoint in tree.checkpoints:
        own_share = checkpoint.own_bytes / checkpoint.row_bytes if checkpoint.row_bytes else 1.0
        rows += (checkpoint.rows - 2 * checkpoint.tombstones) * min(1.0, own_share)
    for table in tree.memory_tables:
        deleted = sum(value is None for _, value in table.rows.values())
        rows += len(table.rows) - 2 * deleted
    return Statistics(
        ranges=1,
        rows_estimated=max(0, round(rows)),
        row_bytes=tree.bytes_in(tree.low, tree.high),
        checkpoints=len(tree.checkpoints),
        checkpoint_bytes=sum(checkpoint.stored_bytes for checkpoint in tree.checkpoints),
        memory_table_bytes=tree.memory_bytes,
        log_bytes=log_bytes,
    )
