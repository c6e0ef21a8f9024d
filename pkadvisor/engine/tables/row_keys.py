"""Row keys: account, table, PartitionKey and RowKey as bytes whose order is the service's.

    account 0x00 table 0x00 PartitionKey 0x00 RowKey

Each part is UTF-8, but characters beyond U+FFFF stand as their two surrogates (three bytes each): so bytes compare as
UTF-16 code units do, which is the service's ordinal order (``edm.utf16_key``). No part holds U+0000, so a shorter part
comes before a longer one that begins with it. Table names compare case-insensitively: they stand in lower case.

The table named ``tables``, which nobody can create, holds the schema: one row for each table, with the table's name as
PartitionKey and an empty RowKey. [H]
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from pkadvisor.table.store import EntityKey

SCHEMA_TABLE = "tables"
"""The reserved table name (data model reference), under which the engine keeps one row for each table."""

_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


class RowName(NamedTuple):
    """The parts of a row key; the table in lower case."""

    account: str
    table: str
    partition_key: str
    row_key: str


def encode_part(text: str) -> bytes:
    """One part of a key; its order among others is that of their UTF-16 code units. ValueError on U+0000."""
    if "\0" in text:
        raise ValueError("a key holds no U+0000")
    if text.isascii():
        return text.encode()
    return _ASTRAL.sub(_surrogates, text).encode("utf-8", "surrogatepass")


def decode_part(part: bytes) -> str:
    """The text of a part; a pair of surrogates is the character that it stands for."""
    try:
        return part.decode()
    except UnicodeDecodeError:
        halves = part.decode("utf-8", "surrogatepass")
        return halves.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def row_key(account: str, table: str, partition_key: str, row_key: str) -> bytes:
    """The key of an entity. ValueError where a part holds U+0000."""
    return b"%b\0%b" % (partition_prefix(account, table, partition_key)[:-1], encode_part(row_key))


def table_prefix(account: str, table: str) -> bytes:
    """What the keys of a table begin with, the separator included."""
    return b"%b\0%b\0" % (encode_part(account), encode_part(table.lower()))


def partition_prefix(account: str, table: str, partition_key: str) -> bytes:
    """What the keys of a partition begin with, the separator included."""
    return b"%b%b\0" % (table_prefix(account, table), encode_part(partition_key))


def schema_key(account: str, table: str) -> bytes:
    """The key of the row that says that a table exists."""
    return row_key(account, SCHEMA_TABLE, table.lower(), "")


def decode_key(key: bytes) -> RowName:
    """The parts of a row key; ValueError where it is none."""
    account, table, partition_key, row_key = key.split(b"\0")
    return RowName(decode_part(account), decode_part(table), decode_part(partition_key), decode_part(row_key))


KEPT_KEYS, KEPT_BYTES = 1 << 15, 256
"""Row keys whose texts are kept for scans that come again, and how long one of them may be."""


def entity_key(key: bytes) -> EntityKey:
    """PartitionKey and RowKey of a row."""
    return _kept_key(key) if len(key) <= KEPT_BYTES else _entity_key(key)


def _entity_key(key: bytes) -> EntityKey:
    _, _, partition_key, row_key = key.split(b"\0")
    return EntityKey(decode_part(partition_key), decode_part(row_key))


_kept_key = lru_cache(maxsize=KEPT_KEYS)(_entity_key)


def partition_boundary(key: bytes) -> bytes:
    """The prefix up to and with the separator after the PartitionKey: the first place of the key's partition.

    A range may be divided there and nowhere inside (invariant P5). ValueError where the key has no PartitionKey.
    """
    end = -1
    for _ in range(3):
        end = key.index(0, end + 1)
    return key[: end + 1]


def prefix_end(prefix: bytes) -> bytes | None:
    """The smallest bytes above everything that begins with the prefix; None where nothing is."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes((stripped[-1] + 1,)) if stripped else None


def _surrogates(match: re.Match[str]) -> str:
    code = ord(match[0]) - 0x10000
    return chr(0xD800 + (code >> 10)) + chr(0xDC00 + (code & 0x3FF))
