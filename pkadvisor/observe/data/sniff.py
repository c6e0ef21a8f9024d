"""Which format a data file has, judged by its content, and the reader for it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from pkadvisor.errors import InputError, UsageError, did_you_mean
from pkadvisor.lazy import pl
from pkadvisor.observe.data.csv_records import CsvSource, field_count, parse_header, split_records
from pkadvisor.observe.data.edm_text import TypeCounts
from pkadvisor.observe.data.json_records import JsonLinesSource, JsonSource, is_page
from pkadvisor.observe.data.parquet import ParquetSource
from pkadvisor.observe.data.records import DataFile, Tally, added_by_service, canonical_name, check_names, escape_name
from pkadvisor.observe.data.streams import check_utf8, open_bytes, open_text
from pkadvisor.table.edm import EdmType

FORMATS: Final = ("csv", "typed-csv", "jsonl", "json", "parquet")
_HEAD_BYTES: Final = 256 << 10
_SEPARATORS: Final = (",", "\t", ";", "|")
_NO_DATA: Final = (
    (b"PK\x03\x04", "a zip archive or an office document"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"ARROW1", "an Arrow file"),
    (b"Obj\x01", "an Avro file"),
    (b"%PDF", "a PDF document"),
    (b"\xd0\xcf\x11\xe0", "an old office document"),
    (b"ORC", "an ORC file"),
    (b"7z\xbc\xaf", "a 7z archive"),
)
_CONTROLS: Final = bytes(b for b in range(32) if b not in b"\t\n\r\x1b") + b"\x7f"


def source_of(path: Path, where: str, input_format: str | None, tally: Tally) -> DataFile:
    """The reader for one file; UsageError for an unknown format name, InputError for content of no known format."""
    if input_format is not None and input_format not in FORMATS:
        raise UsageError(
            f"there is no input format '{input_format}'",
            fix=did_you_mean(input_format, FORMATS) or "known formats: " + ", ".join(FORMATS),
        )
    with open_bytes(path, name=where) as stream:
        if stream.head.startswith(b"PAR1"):
            if stream.compression is not None:
                raise InputError(
                    f"a Parquet file inside {stream.compression}", where=where, fix="decompress it and give it as it is"
                )
            return ParquetSource(path, where, tally)
        if stream.head[257:262] == b"ustar":
            raise InputError("this is a tar archive, not a data file", where=where, fix="unpack it and name its files")
        for magic, what in _NO_DATA:
            if stream.head.startswith(magic):
                raise InputError(f"this is {what}, not a data file", where=where, fix=_known())
    if input_format == "parquet":
        raise InputError("this is not a Parquet file", where=where, fix=_known())
    with open_text(path, name=where) as text:
        head = text.read(_HEAD_BYTES)
    if not head.strip():
        raise InputError("the file holds nothing but blanks", where=where, fix="export it again, or leave it out")
    _refuse_binary(head, where)
    start = head.lstrip()[:1]
    if input_format == "jsonl" or (input_format is None and start == b"{" and _is_lines(head)):
        return JsonLinesSource(path, where, b"@odata.type" in head)
    if input_format == "json" or (input_format is None and start in (b"[", b"{")):
        return JsonSource(path, where, b"@odata.type" in head)
    return _csv(path, where, head, input_format, tally)


def _known() -> str:
    return "data files are CSV, JSON lines, JSON or Parquet; texts may be gzip, zstd, bzip2 or xz"


def _refuse_binary(head: bytes, where: str) -> None:
    controls = len(head) - len(head.translate(None, _CONTROLS))
    valid = True
    try:
        head[:-4].decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        valid = error.start >= len(head) - 8
    if controls > len(head) / 5 or (not valid and controls > len(head) / 100):
        hint = "; UTF-16 needs a byte order mark" if head.count(b"\0") > len(head) / 3 else ""
        raise InputError("this is a binary file of no known format", where=where, fix=_known() + hint)


def _is_lines(head: bytes) -> bool:
    """Whether the first line is a JSON object by itself and no REST answer that fills the whole file."""
    lines = [line for line in head.split(b"\n") if line.strip()]
    try:
        first = json.loads(lines[0])
    except (ValueError, RecursionError):
        # A first line that is longer than the head, or that does not end: an object over several lines, or a page.
        closed = lines[0].rstrip().endswith(b"}")
        return len(lines) > 1 and closed
    if len(lines) == 1:
        return isinstance(first, dict) and not is_page(first)
    return isinstance(first, dict)


def _csv(path: Path, where: str, head: bytes, input_format: str | None, tally: Tally) -> CsvSource:
    whole = len(head) < _HEAD_BYTES
    text = head if whole else head[: head.rfind(b"\n") + 1] or head
    if not whole and b"\n" not in head:
        raise InputError(
            f"the first line is longer than {_HEAD_BYTES >> 10} KiB", where=where, fix="check that the file is text"
        )
    check_utf8_head(text, where)
    separator, quoted = _dialect(text)
    records = [r for r in split_records(text, quoted) if r.strip()]
    _refuse_markdown(records, where)
    cells = parse_header(records[0], separator, quoted)
    _refuse_headerless(cells, separator, where)
    names, types = _names(cells, tally)
    check_names(len(names) - len(types), where)
    if input_format == "csv":
        types = {}
    elif input_format == "typed-csv" and not types:
        raise InputError("no column is named like 'Property@type'", where=where, fix="read it as csv")
    return CsvSource(path, where, separator, quoted, names, types, "typed-csv" if types else "csv")


def _refuse_markdown(records: list[bytes], where: str) -> None:
    """Refuse a Markdown table: its line of dashes would be an entity, and its bars unnamed columns."""
    if b"|" in records[0] and len(records) > 1 and re.fullmatch(rb"[\s|:]*-{3}[\s|:-]*", records[1]):
        fix = "write it as CSV, without the line of dashes and the bars at both ends of a line"
        raise InputError("this is a Markdown table, not a data file", where=where, fix=fix)


def check_utf8_head(text: bytes, where: str) -> None:
    """Refuse a head in another encoding before its header is read; lone surrogates pass."""
    try:
        text.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        check_utf8(text, where)


def _dialect(text: bytes) -> tuple[str, bool]:
    """The separator that splits most records evenly, and whether quotes quote (they open some field)."""
    best = (0.0, 0, 0)
    choice = (",", True)
    for rank, separator in enumerate(_SEPARATORS):
        mark = re.escape(separator.encode())
        quoted = b'"' not in text or re.search(b"(?:^|" + mark + b')"', text, re.MULTILINE) is not None
        counts = []
        for record in split_records(text, quoted):
            if record.strip():
                counts.append(field_count(record, separator.encode(), quoted))
            if len(counts) == 200:
                break
        if not counts or counts[0] == 1:
            continue
        even = sum(1 for n in counts if n == counts[0]) / len(counts)
        score = (round(even, 1), counts[0], -rank)
        if score > best:
            best, choice = score, (separator, quoted)
    if best[1] == 0:
        quoted = b'"' not in text or re.search(rb'^"', text, re.MULTILINE) is not None
        return ",", quoted
    return choice


def _refuse_headerless(cells: list[str], separator: str, where: str) -> None:
    """A first line of numbers, dates or guids is no header; a single long cell is no table."""
    filled = [cell for cell in cells if cell]
    counts = TypeCounts()
    counts.infer(pl.Series([cell.encode("utf-8", "replace").decode() for cell in filled], dtype=pl.String))
    names = counts.inferred.get(EdmType.STRING, 0)
    first = escape_name(separator.join(cells))
    shown = first if len(first) <= 60 else first[:57] + "..."
    if len(cells) == 1 and (len(first) > 64 or " " in first.strip()):
        raise InputError(
            f"the first line is neither a CSV header nor JSON: {shown}",
            where=where,
            fix=_known() + "; query logs are given with --log",
        )
    if 2 * names < len(filled) or not filled:
        raise InputError(
            f"the first line looks like data, not like a header: {shown}",
            where=where,
            fix="put a line with the property names first; query logs are given with --log",
        )


def _names(cells: list[str], tally: Tally) -> tuple[tuple[str, ...], dict[int, int]]:
    """Final column names (empty: dropped) and, for a typed CSV, where the type of a column stands."""
    types: dict[int, int] = {}
    by_name: dict[str, int] = {}
    for i, cell in enumerate(cells):
        plain = cell.strip()
        if plain.endswith("@type") and plain.removesuffix("@type") in by_name:
            types[by_name[plain.removesuffix("@type")]] = i
        by_name.setdefault(plain, i)
    dropped = set(types.values())
    entities, added = {"partitionkey", "rowkey"} <= {name.lower() for name in by_name}, added_by_service(by_name)
    names: list[str] = []
    taken = {cell.strip() for cell in cells}
    used: set[str] = set()
    for i, cell in enumerate(cells):
        name = escape_name(cell.strip())
        if i in dropped or cell.strip() in added:
            names.append("")
            continue
        if entities and name.lower() == "timestamp" and "Timestamp" not in taken:
            tally.remarks[f"column {name} is read as Timestamp"] = None
            name = "Timestamp"
        name = canonical_name(name, tally)
        if not name:
            name = f"column_{i + 1}"
            tally.remarks[f"column {i + 1} has no name and is called {name}"] = None
        if name in used:
            again = next(f"{name}_{n}" for n in range(2, len(cells) + 2) if f"{name}_{n}" not in taken | used)
            tally.remarks[f"two columns are named {name}; the later one is called {again}"] = None
            name = again
        used.add(name)
        names.append(name)
    return tuple(names), types
