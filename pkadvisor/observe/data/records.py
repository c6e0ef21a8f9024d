"""What the readers of data files share: chunks of columns, the tally of what was skipped, names and encodings.

A chunk is a polars frame. Its columns are texts whose type is still to be found, or values whose type the file states.
Rows that cannot be read are skipped and counted in a ``Tally``, with the first one described.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Final, Protocol

from pkadvisor.errors import InputError, UsageError
from pkadvisor.lazy import pl
from pkadvisor.observe.data.streams import LongLine, check_utf8
from pkadvisor.table.edm import SYSTEM_PROPERTIES, EdmType
from pkadvisor.table.odata_parse import as_property_name
from pkadvisor.values import dataclass

MAX_RECORD_BYTES: Final = 8 << 20
NAMES_MAX: Final = 1_000
"""Names of properties in one file: an entity has 252 at most, and a few kinds of entities share a table."""


def check_one_table(before: Mapping[str, int], after: Mapping[str, int], first: str, where: str) -> None:
    """UsageError where a file has no property that the files before it have: it is of another table or kind.
    InputError where all have more properties than any table needs.

    ``before`` and ``after``: the values of each column without and with the file.
    """
    check_names(len(after), where)
    earlier = {name for name, values in before.items() if values} - {*SYSTEM_PROPERTIES}
    own = {name for name, values in after.items() if values > before.get(name, 0)} - {*SYSTEM_PROPERTIES}
    if earlier and own and earlier.isdisjoint(own):
        raise UsageError(
            f"{where} has no property that {first} has: these are two tables, or two kinds of entities",
            fix="name each: TABLE=PATH for tables, KIND=PATH for kinds of one table",
        )


def check_names(count: int, where: str) -> None:
    """InputError where a file has more names of properties than any table needs."""
    if count > NAMES_MAX:
        what = f"there are more than {NAMES_MAX:,} names of properties; an entity has at most 252"
        fix = "if values stand where names belong, write them as values; give each kind of entity as KIND=PATH"
        raise InputError(what, where=where, fix=fix)


@dataclass(slots=True)
class Tally:
    """What happened while one file was read: rows, rows skipped, the first of them, remarks in order."""

    rows: int = 0
    skipped: int = 0
    first_skipped: str = ""
    surrogates: int = 0
    remarks: dict[str, None] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    """Columns whose names no property may have, with the names under which they are read."""

    def skip(self, what: str) -> None:
        """Count a row that could not be read."""
        self.skipped += 1
        self.first_skipped = self.first_skipped or what

    def too_long(self, line: LongLine) -> None:
        """Count a line that nothing reads for its length."""
        self.skip(f"line {line.line:,} is {line.length_bytes:,} bytes long")


@dataclass(slots=True)
class Chunk:
    """Columns of some consecutive rows.

    ``stated`` holds counts per type for the columns whose types the file tells; ``temporal`` names text columns in
    which only DateTime and Guid are looked for. All other columns are texts of any type.
    """

    rows: int
    frame: pl.DataFrame
    stated: dict[str, dict[EdmType, int]] = field(default_factory=dict)
    temporal: frozenset[str] = frozenset()


class DataFile(Protocol):
    """One data file."""

    path: Path
    where: str
    format: str

    def chunks(self, tally: Tally, columns: frozenset[str] | None = None) -> Iterator[Chunk]:
        """All rows in file order; ``columns`` limits what is decoded where that saves work."""
        ...


def escape_name(name: str) -> str:
    """A property name with control characters and lone surrogates written as escapes; anything else stays, but for the
    names that polars takes for several columns, ``*`` and ``^…$``: no service has such a property."""
    if name == "*" or (name.startswith("^") and name.endswith("$")):
        name = f"\\x{ord(name[0]):02x}{name[1:]}"
    if name.isprintable():
        return name
    return "".join(
        c.encode("unicode_escape").decode("ascii") if unicodedata.category(c) in _UNSEEN else c for c in name
    )


_UNSEEN: Final = ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp")
_KEYS: Final = {"partitionkey": "PartitionKey", "rowkey": "RowKey"}


def canonical_name(name: str, tally: Tally) -> str:
    """The two key columns in their own spelling, with a remark where a file spells them otherwise, and other names as
    property names."""
    key = _KEYS.get(name.lower())
    if key is None:
        property_name = as_property_name(name) if name else name
        if property_name != name:
            tally.renamed[name] = property_name
        return property_name
    if key != name:
        tally.remarks[f"column {name} is read as {key}"] = None
    return key


def added_by_service(names: Iterable[str]) -> frozenset[str]:
    """The columns that the service or a tool adds to entities: OData annotations, and ``etag`` beside both keys."""
    names = list(names)
    entities = {"partitionkey", "rowkey"} <= {name.lower() for name in names}
    return frozenset(
        name
        for name in names
        if name.startswith("odata.") or "@odata." in name or (entities and name.lower() == "etag")
    )


def clean_utf8(data: bytes, where: str, offset: int, tally: Tally) -> bytes:
    """UTF-8 checked; lone surrogates in their three-byte form become ``\\udxxx`` and are counted."""
    if data.isascii():
        return data
    try:
        data.decode("utf-8")
        return data
    except UnicodeDecodeError:
        try:
            text = data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            check_utf8(data, where, offset=offset)
            raise
    tally.surrogates += sum(1 for c in text if "\ud800" <= c <= "\udfff")
    return text.encode("utf-8", "backslashreplace")
