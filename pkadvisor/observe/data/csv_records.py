"""The reader of delimited text: CSV in its dialects, and the typed CSV of Storage Explorer.

Blocks of whole records go to polars, which splits them into columns of texts. Rows with another number of fields than
the header are found by counting separators, and only blocks that have some are looked at line by line.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Final

from pkadvisor.errors import InputError
from pkadvisor.lazy import pl
from pkadvisor.observe.data.edm_text import count_stated, edm_of
from pkadvisor.observe.data.records import MAX_RECORD_BYTES, Chunk, Tally, clean_utf8, escape_name
from pkadvisor.observe.data.streams import lines_of, open_text
from pkadvisor.table.edm import KEYS, EdmType
from pkadvisor.values import dataclass

_CSV_BLOCK_BYTES: Final = 8 << 20
_QUOTES_AS_TEXT: Final = "misplaced quotes are read as text"


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
            # With a quote in the wrong place polars cuts other rows where it reads only some columns.
            every = list(range(width)) if self.quoted and b'"' in block else read
            frame = self._parse(block, schema, every)
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
            rows = frame.select(pl.col(f"column_{i}").alias(self.names[i]) for i in wanted)
            # Every entity has both keys, and the empty text is one.
            rows = rows.with_columns(pl.col(key).fill_null("") for key in KEYS if key in rows.columns)
            yield Chunk(frame.height, rows, stated)
        self._counted = True

    def _parse(self, block: bytes, schema: Mapping[str, pl.DataType], read: list[int]) -> pl.DataFrame | None:
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
        width = len(self.names)
        rows: list[list[str | None]] = []
        for record in split_records(block, self.quoted):
            try:
                text = io.StringIO(record.decode(), newline="")
                records = list(csv.reader(text, delimiter=self.separator)) if self.quoted else []
            except csv.Error as error:
                tally.skip(f"a row cannot be split into fields ({error})")
                continue
            for cells in records or [record.decode().rstrip("\r\n").split(self.separator)]:
                if len(cells) == width or (len(cells) < width and self.type_columns):
                    rows.append([*(cell or None for cell in cells), *[None] * (width - len(cells))])
                elif cells:
                    tally.skip(f"a row beginning {escape_name(cells[0][:40])!r} has {len(cells)} fields, not {width}")
        tally.remarks[_QUOTES_AS_TEXT] = None
        return pl.DataFrame({f"column_{i}": pl.Series([row[i] for row in rows], dtype=pl.String) for i in read})

    def _blocks(self, tally: Tally) -> Iterator[tuple[int, bytes]]:
        """Blocks of whole records with the number of their first line; the header is left out."""
        line, carry, offset, header = 1, b"", 0, True
        with open_text(self.path, name=self.where) as stream:
            for lines in lines_of(stream, self.where, block_bytes=_CSV_BLOCK_BYTES, on_long_line=tally.too_long):
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
        out: list[bytes] = []
        for record in split_records(block, self.quoted):
            fields = field_count(record, separator, self.quoted)
            if not record.strip():
                pass
            elif fields == width or (fields < width and self.type_columns):
                out.append(record)
            elif self.quoted and record.count(b"\n") > 1:
                self._even_lines(record, line, out, tally)
            else:
                tally.skip(f"line {line:,} has {fields} fields where the header has {width}")
            line += record.count(b"\n")
        return b"".join(out)

    def _even_lines(self, record: bytes, line: int, lines: list[bytes], tally: Tally) -> None:
        """Lines that two stray quotes joined into one record: those that fit by themselves are rows after all."""
        separator, width = self.separator.encode(), len(self.names)
        for number, text in enumerate(record.splitlines(), line):
            cells = text.split(separator)
            if len(cells) == width:
                tally.remarks[_QUOTES_AS_TEXT] = None
                quoted = (b'"' + cell.replace(b'"', b'""') + b'"' if b'"' in cell else cell for cell in cells)
                lines.append(separator.join(quoted) + b"\n")
            else:
                tally.skip(f"line {number:,} has {len(cells)} fields where the header has {width}")

    def _stated(self, frame: pl.DataFrame, value: int, kind: int, carried: dict[int, str]) -> dict[EdmType, int] | None:
        """Counts per stated type; the last type seen goes on for rows that state none. None if none is known yet."""
        kinds = frame[f"column_{kind}"]
        pair = pl.DataFrame({"v": frame[f"column_{value}"], "t": kinds.replace("", None)})
        last = carried.get(value)
        pair = pair.with_columns(
            pl.col("t").forward_fill().fill_null(pl.lit(last, dtype=pl.String)).backward_fill().fill_null("")
        )
        if pair.height:
            carried[value] = pair["t"][-1]
        present = pair.drop_nulls("v")
        spellings = sorted(present["t"].unique().to_list())
        if "" in spellings and not carried.get(value):
            return None
        counts = Counter[EdmType]()
        for spelling in spellings:
            values = present.filter(pl.col("t") == spelling)["v"]
            counts.update(count_stated(values, edm_of(spelling) or EdmType.STRING))
        return counts


def skip_header(block: bytes, quoted: bool) -> int:
    """Where the rows begin: after blank lines and the first record."""
    position = 0
    for record in split_records(block, quoted):
        position += len(record)
        if record.strip():
            break
    return position


def parse_header(record: bytes, separator: str, quoted: bool) -> list[str]:
    """The cells of a header record."""
    text = record.decode("utf-8", "backslashreplace").rstrip("\r\n")
    if not quoted:
        return text.split(separator)
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), [])
    except csv.Error:  # a cell beyond the csv module's limit
        return text.split(separator)
