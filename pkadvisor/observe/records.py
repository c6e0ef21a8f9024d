"""Readers of data files: each turns one file into chunks of columns, in file order and in bounded memory.

A chunk is a polars frame. Its columns are texts whose type is still to be found, or values whose type the file states.
Rows that cannot be read are skipped and counted in a ``Tally``, with the first one described.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Protocol

from pkadvisor.errors import InputError
from pkadvisor.observe.edm_text import count_stated, edm_of
from pkadvisor.observe.streams import LongLine, check_utf8, lines_of, open_text
from pkadvisor.table.edm import EdmType

if TYPE_CHECKING:
    import polars as pl

MAX_RECORD_BYTES: Final = 8 << 20
_CSV_BLOCK_BYTES: Final = 8 << 20
_JSON_BLOCK_BYTES: Final = 2 << 20
_JSON_ROWS: Final = 10_000


@dataclass(slots=True)
class Tally:
    """What happened while one file was read: rows, rows skipped, the first of them, remarks in order."""

    rows: int = 0
    skipped: int = 0
    first_skipped: str = ""
    surrogates: int = 0
    remarks: dict[str, None] = field(default_factory=dict)

    def skip(self, what: str) -> None:
        """Count a row that could not be read."""
        self.skipped += 1
        self.first_skipped = self.first_skipped or what


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


class Source(Protocol):
    """One data file."""

    path: Path
    where: str
    format: str

    def chunks(self, tally: Tally, columns: frozenset[str] | None = None) -> Iterator[Chunk]:
        """All rows in file order; ``columns`` limits what is decoded where that saves work."""
        ...


def escape_name(name: str) -> str:
    """A property name with control characters and lone surrogates written as escapes; anything else stays."""
    if name.isprintable():
        return name
    return "".join(
        c.encode("unicode_escape").decode("ascii") if unicodedata.category(c) in _UNSEEN else c for c in name
    )


_UNSEEN: Final = ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp")
_KEYS: Final = {"partitionkey": "PartitionKey", "rowkey": "RowKey"}


def canonical_name(name: str, tally: Tally) -> str:
    """The two key columns in their own spelling, with a remark where a file spells them otherwise."""
    key = _KEYS.get(name.lower(), name)
    if key != name:
        tally.remarks[f"column {name} is read as {key}"] = None
    return key


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


# --------------------------------------------------------------------------------------------------------------- CSV


def field_count(record: bytes, separator: bytes, quoted: bool) -> int:
    """Fields of one CSV record: separators outside quotes, plus one."""
    if quoted and b'"' in record:
        return sum(part.count(separator) for part in record.split(b'"')[::2]) + 1
    return record.count(separator) + 1


def split_records(block: bytes, quoted: bool) -> Iterator[bytes]:
    """The records of a block, each with its line end; newlines inside quotes do not end one."""
    pending: list[bytes] = []
    odd = False
    for line in block.splitlines(keepends=True) if b"\r" not in block else io.BytesIO(block):
        pending.append(line)
        if quoted and line.count(b'"') % 2:
            odd = not odd
        if not odd:
            yield pending[0] if len(pending) == 1 else b"".join(pending)
            pending = []
    if pending:
        yield b"".join(pending)


@dataclass(slots=True, eq=False)
class CsvSource:
    """A delimited text with a header line; ``type_columns`` maps a value column to its ``@type`` column (by index).

    Empty fields are missing, quoted empty ones are empty strings. Rows with another number of fields than the header
    are skipped and counted; in a typed CSV short rows are filled up, as its writers leave trailing fields out.
    """

    path: Path
    where: str
    separator: str
    quoted: bool
    names: tuple[str, ...]
    """Final names by position; empty for columns that are dropped."""
    type_columns: Mapping[int, int] = field(default_factory=dict)
    format: str = "csv"
    _uneven: set[int] = field(default_factory=set)
    """Blocks in which the counting pass found rows to skip: later passes look only there."""
    _counted: bool = False

    def chunks(self, tally: Tally, columns: frozenset[str] | None = None) -> Iterator[Chunk]:
        import polars as pl

        width = len(self.names)
        wanted = [i for i, name in enumerate(self.names) if name and (columns is None or name in columns)]
        typed = [] if self._counted else [self.type_columns[i] for i in wanted if i in self.type_columns]
        read = sorted({*wanted, *typed}) if self._counted else list(range(width))
        read = read or [0]
        schema = {f"column_{i}": pl.String() for i in range(width)}
        carried: dict[int, str] = {}
        for number, (line, raw) in enumerate(self._blocks(tally)):
            block = raw
            if self._counted and number in self._uneven:
                block = self._even(raw, line, tally)
            frame = self._parse(block, schema, read)
            if not self._counted and (frame is None or self._ragged(block, frame)):
                self._uneven.add(number)
                block = self._even(raw, line, tally)
                frame = self._parse(block, schema, read)
            if frame is None:
                frame = self._parse_leniently(block, read, tally)
            tally.rows += frame.height
            stated: dict[str, dict[EdmType, int]] = {}
            for i in wanted:
                if i in self.type_columns and not self._counted:
                    counts = self._stated(frame, i, self.type_columns[i], carried)
                    if counts is not None:
                        stated[self.names[i]] = counts
            yield Chunk(frame.height, frame.select(pl.col(f"column_{i}").alias(self.names[i]) for i in wanted), stated)
        self._counted = True

    def _parse(self, block: bytes, schema: Mapping[str, pl.DataType], read: list[int]) -> pl.DataFrame | None:
        import polars as pl

        if not block:
            return pl.DataFrame(schema={f"column_{i}": pl.String() for i in read})
        if block.startswith((b"x", codecs.BOM_UTF8)):
            # polars takes text that begins with "x^" (and others) for zlib data, and drops one byte order mark.
            block = codecs.BOM_UTF8 + block
        try:
            return pl.read_csv(
                block,
                has_header=False,
                schema=dict(schema),
                columns=None if len(read) == len(schema) else read,
                separator=self.separator,
                quote_char='"' if self.quoted else None,
            )
        except pl.exceptions.PolarsError:
            return None

    def _parse_leniently(self, block: bytes, read: list[int], tally: Tally) -> pl.DataFrame:
        """For the rare block with a quote in the wrong place: such a quote is text."""
        import polars as pl

        width = len(self.names)
        rows: list[list[str | None]] = []
        for record in split_records(block, self.quoted):
            try:
                text = io.StringIO(record.decode(), newline="")
                found = list(csv.reader(text, delimiter=self.separator)) if self.quoted else []
            except csv.Error as error:
                tally.skip(f"a row cannot be split into fields ({error})")
                continue
            for cells in found or [record.decode().rstrip("\r\n").split(self.separator)]:
                if len(cells) == width or (len(cells) < width and self.type_columns):
                    rows.append([*(cell or None for cell in cells), *[None] * (width - len(cells))])
                elif cells:
                    tally.skip(f"a row beginning {escape_name(cells[0][:40])!r} has {len(cells)} fields, not {width}")
        tally.remarks["quotes in the wrong place are taken as text"] = None
        return pl.DataFrame({f"column_{i}": pl.Series([row[i] for row in rows], dtype=pl.String) for i in read})

    def _blocks(self, tally: Tally) -> Iterator[tuple[int, bytes]]:
        """Blocks of whole records with the number of their first line; the header is left out."""

        def too_long(found: LongLine) -> None:
            tally.skip(f"line {found.line:,} is {found.length_bytes:,} bytes long")

        line, carry, offset, header = 1, b"", 0, True
        with open_text(self.path, name=self.where) as stream:
            for lines in lines_of(stream, self.where, block_bytes=_CSV_BLOCK_BYTES, on_long_line=too_long):
                raw = clean_utf8(lines, self.where, offset, tally)
                offset += len(lines)
                data = carry + raw if carry else raw
                cut = len(data)
                if self.quoted:
                    odd = data.count(b'"') % 2
                    while odd and cut:
                        before = data.rfind(b"\n", 0, cut - 1) + 1
                        odd = (odd + data.count(b'"', before, cut)) % 2
                        cut = before
                block, carry = data[:cut], data[cut:]
                if len(carry) > MAX_RECORD_BYTES:
                    break
                first = line
                line += block.count(b"\n")
                if header:
                    body = skip_header(block, self.quoted)
                    first += block.count(b"\n", 0, body)
                    block, header = block[body:], header and not body
                if block:
                    yield first, block
        if carry:
            raise InputError(
                f"a quote opened in line {line:,} is never closed",
                where=self.where,
                fix="double or remove the stray quote character",
            )

    def _ragged(self, block: bytes, frame: pl.DataFrame) -> bool:
        """Whether some row is shorter than the header (longer ones make polars refuse), or blank."""
        import polars as pl

        if len(self.names) == 1:
            return block[:1] in (b"\n", b"\r") or b"\n\n" in block or b"\n\r" in block
        separator = self.separator.encode()
        outside = block.count(separator)
        if self.quoted and b'"' in block:
            inside = frame.select(pl.all().str.count_matches(self.separator, literal=True).sum()).row(0)
            outside -= sum(n or 0 for n in inside)
        return outside != frame.height * (len(self.names) - 1)

    def _even(self, block: bytes, line: int, tally: Tally) -> bytes:
        """The block without the rows that do not have as many fields as the header."""
        separator, width = self.separator.encode(), len(self.names)
        kept: list[bytes] = []
        for record in split_records(block, self.quoted):
            fields = field_count(record, separator, self.quoted)
            if not record.strip():
                pass
            elif fields == width or (fields < width and self.type_columns):
                kept.append(record)
            elif self.quoted and record.count(b"\n") > 1:
                self._even_lines(record, line, kept, tally)
            else:
                tally.skip(f"line {line:,} has {fields} fields where the header has {width}")
            line += record.count(b"\n")
        return b"".join(kept)

    def _even_lines(self, record: bytes, line: int, kept: list[bytes], tally: Tally) -> None:
        """Lines that two stray quotes joined into one record: those that fit by themselves are rows after all."""
        separator, width = self.separator.encode(), len(self.names)
        for number, text in enumerate(record.splitlines(), line):
            cells = text.split(separator)
            if len(cells) == width:
                tally.remarks["quotes in the wrong place are taken as text"] = None
                quoted = (b'"' + cell.replace(b'"', b'""') + b'"' if b'"' in cell else cell for cell in cells)
                kept.append(separator.join(quoted) + b"\n")
            else:
                tally.skip(f"line {number:,} has {len(cells)} fields where the header has {width}")

    def _stated(self, frame: pl.DataFrame, value: int, kind: int, carried: dict[int, str]) -> dict[EdmType, int] | None:
        """Counts per stated type; the last type seen goes on for rows that state none. None if none is known yet."""
        import polars as pl

        kinds = frame[f"column_{kind}"]
        pair = pl.DataFrame({"v": frame[f"column_{value}"], "t": kinds.replace("", None)})
        last = carried.get(value)
        pair = pair.with_columns(pl.col("t").forward_fill().fill_null(pl.lit(last, dtype=pl.String)).backward_fill().fill_null(""))
        if pair.height:
            carried[value] = pair["t"][-1]
        present = pair.drop_nulls("v")
        spellings = sorted(present["t"].unique().to_list())
        if "" in spellings and not carried.get(value):
            return None
        counts: dict[EdmType, int] = {}
        for spelling in spellings:
            values = present.filter(pl.col("t") == spelling)["v"]
            for edm, n in count_stated(values, edm_of(spelling) or EdmType.STRING).items():
                counts[edm] = counts.get(edm, 0) + n
        return counts


def skip_header(block: bytes, quoted: bool) -> int:
    """Where the rows begin: after blank lines and the first record."""
    position = 0
    for record in split_records(block, quoted):
        position += len(record)
        if record.strip():
            break
    return position


# -------------------------------------------------------------------------------------------------------------- JSON

_ANNOTATION: Final = "@odata.type"


def _no_number(_: str) -> None:
    """NaN and the infinities, which JSON does not have, are missing values."""


_DECODER: Final = json.JSONDecoder(parse_constant=_no_number)


@dataclass(slots=True, eq=False)
class JsonLinesSource:
    """One JSON object per line; a line that is a REST page (``{"value": [...]}``) gives its entities."""

    path: Path
    where: str
    annotated: bool = False
    format: str = "jsonl"

    def chunks(self, tally: Tally, columns: frozenset[str] | None = None) -> Iterator[Chunk]:
        def too_long(found: LongLine) -> None:
            tally.skip(f"line {found.line:,} is {found.length_bytes:,} bytes long")

        line, offset = 1, 0
        with open_text(self.path, name=self.where) as stream:
            for raw in lines_of(stream, self.where, block_bytes=_JSON_BLOCK_BYTES, on_long_line=too_long):
                block = clean_utf8(raw, self.where, offset, tally)
                offset += len(raw)
                rows = self._rows(block, line, tally)
                line += raw.count(b"\n")
                tally.rows += len(rows)
                yield columnar(rows, tally, columns, self.annotated)

    def _rows(self, block: bytes, line: int, tally: Tally) -> list[dict[str, Any]]:
        texts = block.decode().split("\n")
        filled = [text for text in texts if text and not text.isspace()]
        try:  # one call for the whole block is far cheaper than one per line
            values: list[Any] = _DECODER.decode("[" + ",".join(filled) + "]")
            whole = len(values) == len(filled)
        except (ValueError, RecursionError):
            whole = False
        if whole and all(type(value) is dict for value in values):
            rows = values
        else:
            rows = []
            for number, text in enumerate(texts, line):
                if not text or text.isspace():
                    continue
                try:
                    value = _DECODER.decode(text)
                except (ValueError, RecursionError) as error:
                    tally.skip(f"line {number:,} is not valid JSON ({error})")
                    continue
                if isinstance(value, dict):
                    rows.append(value)
                else:
                    tally.skip(f"line {number:,} is not a JSON object")
        if any(type(row.get("value")) is list and is_page(row) for row in rows):
            return [
                entity
                for row in rows
                for entity in (row["value"] if is_page(row) else [row])
                if isinstance(entity, dict)
            ]
        return rows


def is_page(row: Mapping[str, Any]) -> bool:
    """Whether an object is a REST answer with a list of entities."""
    listed = row.get("value")
    if not isinstance(listed, list) or not all(key == "value" or "odata." in key for key in row):
        return False
    return all(isinstance(entity, dict) for entity in listed)


@dataclass(slots=True, eq=False)
class JsonSource:
    """REST JSON (``{"value": [...]}``), a JSON array of objects, or several of these one after the other."""

    path: Path
    where: str
    annotated: bool = False
    format: str = "json"

    def chunks(self, tally: Tally, columns: frozenset[str] | None = None) -> Iterator[Chunk]:
        rows: list[dict[str, Any]] = []
        with open_text(self.path, name=self.where) as stream:
            for row in _JsonCursor(stream, self.where, tally).entities():
                rows.append(row)
                if len(rows) == _JSON_ROWS:
                    tally.rows += len(rows)
                    yield columnar(rows, tally, columns, self.annotated)
                    rows = []
        tally.rows += len(rows)
        if rows:
            yield columnar(rows, tally, columns, self.annotated)


class _JsonCursor:
    """A position in a JSON text that is read piece by piece; values are decoded one array element at a time."""

    def __init__(self, stream: BinaryIO, where: str, tally: Tally) -> None:
        self._stream, self._where, self._tally = stream, where, tally
        self._decode = codecs.getincrementaldecoder("utf-8")("surrogatepass")
        self._text, self._at, self._bytes, self._ended = "", 0, 0, False
        self._count = 0

    def _more(self) -> bool:
        if self._ended:
            return False
        data = self._stream.read(max(1 << 20, len(self._text) - self._at))
        self._ended = not data
        try:
            text = self._decode.decode(data, final=self._ended)
        except UnicodeDecodeError as error:
            raise InputError(
                f"the text is not UTF-8 near byte {self._bytes + error.start:,}",
                where=self._where,
                fix="save it as UTF-8",
            ) from None
        self._bytes += len(data)
        self._text, self._at = self._text[self._at :] + text, 0
        return not self._ended

    def _peek(self) -> str:
        while True:
            while self._at < len(self._text):
                if not self._text[self._at].isspace():
                    return self._text[self._at]
                self._at += 1
            if not self._more():
                return ""

    def _expect(self, char: str) -> None:
        if self._peek() != char:
            self._fail(f"'{char}' is missing")
        self._at += 1

    def _fail(self, what: str, *, early: bool = False) -> None:
        at = f"after {self._count:,} entities, near byte {self._bytes - len(self._text) + self._at:,}"
        kind = "the JSON ends early" if early or not self._peek() else f"the JSON is not valid: {what}"
        raise InputError(f"{kind}, {at}", where=self._where, fix="correct this place, or export the file again")

    def _value(self) -> Any:
        self._peek()
        while True:
            left = len(self._text)  # end of what is decoded: reading on moves the text
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except RecursionError:
                self._fail("it is nested too deeply")
            except ValueError as error:
                # What looks wrong may only be cut off, so it is judged with all of it at hand.
                if len(self._text) - self._at <= MAX_RECORD_BYTES and self._more():
                    continue
                assert isinstance(error, json.JSONDecodeError)
                cut = error.msg.startswith("Unterminated") or error.pos >= left - 1
                self._fail(error.msg, early=self._ended and cut)
            else:
                if end - self._at > MAX_RECORD_BYTES:
                    self._fail(f"a value is longer than {MAX_RECORD_BYTES >> 20} MiB")
                if end < len(self._text) or not self._more():
                    self._at = end
                    return value

    def entities(self) -> Iterator[dict[str, Any]]:
        """Every entity of every top-level value."""
        while char := self._peek():
            if char == "[":
                yield from self._elements()
            elif char == "{":
                yield from self._page()
            else:
                self._fail("neither an object nor an array")

    def _elements(self) -> Iterator[dict[str, Any]]:
        self._expect("[")
        if self._peek() == "]":
            self._at += 1
            return
        while True:
            value = self._value()
            if isinstance(value, dict):
                self._count += 1
                yield value
            else:
                self._tally.skip(f"array element {self._count + 1:,} is not an object")
            if self._peek() == "]":
                self._at += 1
                return
            self._expect(",")

    def _page(self) -> Iterator[dict[str, Any]]:
        """A REST answer; an object without a list ``value`` is itself an entity."""
        other: dict[str, Any] = {}
        listed = False
        self._expect("{")
        while self._peek() != "}":
            key = self._value()
            self._expect(":")
            if key == "value" and self._peek() == "[":
                listed = True
                yield from self._elements()
            else:
                other[str(key)] = self._value()
            if self._peek() != "}":
                self._expect(",")
        self._at += 1
        if any("nextLink" in key for key in other):
            self._tally.remarks["a page names a next page (odata.nextLink): check that all pages are given"] = None
        if not listed and other:
            self._count += 1
            yield other


def _transposed(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Lists of values by key, in order of first appearance; None where an object lacks the key."""
    first = rows[0] if rows else {}
    if all(map(len(first).__eq__, map(len, rows))):
        try:  # objects with the same keys, which most files have, need no look at each value
            return {key: list(map(itemgetter(key), rows)) for key in first}
        except KeyError:
            pass
    values: dict[str, list[Any]] = {}
    for i, row in enumerate(rows):
        for key, value in row.items():
            column = values.get(key)
            if column is None:
                column = values[key] = [None] * len(rows)
            column[i] = value
    return values


def _flatten(row: Mapping[str, Any], prefix: str, out: dict[str, Any]) -> None:
    for key, value in row.items():
        if type(value) is dict:
            _flatten(value, f"{prefix}{key}.", out)
        else:
            out[prefix + key] = value


def _as_text(value: Any) -> str | None:
    if value is None or type(value) is str:
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def columnar(rows: list[dict[str, Any]], tally: Tally, columns: frozenset[str] | None, annotated: bool) -> Chunk:
    """Objects as columns: nested objects flattened to ``a.b``, lists as JSON text, ``X@odata.type`` obeyed."""
    import polars as pl

    height = len(rows)
    values = _transposed(rows)
    if any(dict in set(map(type, column)) for column in values.values()):
        flat: list[dict[str, Any]] = []
        for row in rows:
            flat.append({})
            _flatten(row, "", flat[-1])
        values = _transposed(flat)
    series: dict[str, pl.Series] = {}
    stated: dict[str, dict[EdmType, int]] = {}
    temporal: set[str] = set()
    for key, column in values.items():
        if "@odata." in key or key.startswith("odata."):
            continue
        name = canonical_name(escape_name(key), tally)
        if columns is not None and name not in columns:
            continue
        while name in series:
            name += "_2"
        kinds = values.get(key + _ANNOTATION)
        if kinds is not None:
            series[name] = _texts(name, [_as_text(value) for value in column], tally)
            stated[name] = _annotated(series[name], column, kinds)
            continue
        types = set(map(type, column)) - {type(None)}
        numbers = _int64(name, column) if types == {int} else None
        if numbers is not None:
            small = int(numbers.is_between(-(2**31), 2**31 - 1).sum() or 0)
            stated[name] = {EdmType.INT32: small, EdmType.INT64: height - numbers.null_count() - small}
            series[name] = numbers
        elif types == {float} or types == {bool}:
            floats = float in types
            series[name] = pl.Series(name, column, dtype=pl.Float64 if floats else pl.Boolean)
            edm = EdmType.DOUBLE if floats else EdmType.BOOLEAN
            stated[name] = {edm: height - series[name].null_count()}
        else:
            texts = column if types <= {str} else [_as_text(value) for value in column]
            series[name] = _texts(name, texts, tally)
            if types <= {str} and not annotated:
                temporal.add(name)
            else:
                stated[name] = _json_types(column)
    return Chunk(height, pl.DataFrame(series), stated, frozenset(temporal))


def _int64(name: str, column: list[Any]) -> pl.Series | None:
    """Whole numbers as a column; None if one of them is beyond 64 bits."""
    import polars as pl

    try:
        return pl.Series(name, column, dtype=pl.Int64, strict=True)
    except (OverflowError, TypeError, pl.exceptions.PolarsError):
        return None


def _json_type(value: Any) -> EdmType:
    if type(value) is bool:
        return EdmType.BOOLEAN
    if type(value) is float:
        return EdmType.DOUBLE
    if type(value) is int and -(2**63) <= value < 2**63:
        return EdmType.INT32 if -(2**31) <= value < 2**31 else EdmType.INT64
    return EdmType.STRING


def _json_types(column: list[Any]) -> dict[EdmType, int]:
    counts: dict[EdmType, int] = {}
    for value in column:
        if value is not None:
            edm = _json_type(value)
            counts[edm] = counts.get(edm, 0) + 1
    return counts


def _annotated(texts: pl.Series, column: list[Any], kinds: list[Any]) -> dict[EdmType, int]:
    """Counts per type where some values carry an annotation and others have their JSON type."""
    groups: dict[EdmType, list[int]] = {}
    for i, (value, kind) in enumerate(zip(column, kinds, strict=True)):
        if value is not None:
            edm = (edm_of(kind) if type(kind) is str else None) or _json_type(value)
            groups.setdefault(edm, []).append(i)
    counts: dict[EdmType, int] = {}
    for edm, rows in groups.items():
        for found, n in count_stated(texts.gather(rows), edm).items():
            counts[found] = counts.get(found, 0) + n
    return counts


def _texts(name: str, column: list[str | None], tally: Tally) -> pl.Series:
    import polars as pl

    try:
        return pl.Series(name, column, dtype=pl.String)
    except (UnicodeEncodeError, pl.exceptions.PolarsError):
        pass
    clean: list[str | None] = []
    for value in column:
        lone = 0 if value is None else sum(1 for c in value if "\ud800" <= c <= "\udfff")
        tally.surrogates += lone
        clean.append(value.encode("utf-8", "backslashreplace").decode() if value is not None and lone else value)
    return pl.Series(name, clean, dtype=pl.String)


# ------------------------------------------------------------------------------------------------------------ header


def parse_header(record: bytes, separator: str, quoted: bool) -> list[str]:
    """The cells of a header record."""
    text = record.decode("utf-8", "backslashreplace").rstrip("\r\n")
    if not quoted:
        return text.split(separator)
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), [])
    except csv.Error:  # a cell beyond the csv module's limit
        return text.split(separator)
