"""The readers of JSON: one object per line, REST answers, arrays; decoded an element or a block of lines at a time."""

from __future__ import annotations

import codecs
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO, Final

from pkadvisor.errors import InputError
from pkadvisor.lazy import pl
from pkadvisor.observe.data.edm_text import count_stated, edm_of
from pkadvisor.observe.data.extended_json import plain_value
from pkadvisor.observe.data.records import (
    MAX_RECORD_BYTES,
    Chunk,
    Tally,
    added_by_service,
    canonical_name,
    check_names,
    clean_utf8,
    escape_name,
)
from pkadvisor.observe.data.streams import lines_of, open_text
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

_JSON_BLOCK_BYTES: Final = 2 << 20
_JSON_ROWS: Final = 10_000
_CELLS_MAX: Final = 8_000_000
"""Values, missing ones too, of objects with different keys that are held as lists at a time."""

_ANNOTATION: Final = "@odata.type"


def _no_number(_: str) -> None:
    """NaN and the infinities, which JSON does not have, are missing values."""


_DECODER: Final = json.JSONDecoder(parse_constant=_no_number)


@dataclass(slots=True, eq=False)
class JsonLinesSource:
    """One JSON object per line; a line that is a page (``{"value": [...]}``) gives its entities."""

    path: Path
    where: str
    annotated: bool = False
    format: str = "jsonl"

    def chunks(self, tally: Tally, columns: frozenset[str] | None = None) -> Iterator[Chunk]:
        line, offset = 1, 0
        with open_text(self.path, name=self.where) as stream:
            for raw in lines_of(stream, self.where, block_bytes=_JSON_BLOCK_BYTES, on_long_line=tally.too_long):
                block = clean_utf8(raw, self.where, offset, tally)
                offset += len(raw)
                rows = self._rows(block, line, tally)
                line += raw.count(b"\n")
                tally.rows += len(rows)
                yield from columnar(rows, tally, columns, self.annotated, self.where)

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
        if any(map(is_page, rows)):
            return [entity for row in rows for entity in _entities(row) if isinstance(entity, dict)]
        return rows


_LISTS: Final = ("value", "items")
"""Keys under which a page lists its entities: a REST answer, and what ``az storage entity query`` prints."""
_NEXT: Final = "nextMarker"


def is_page(row: Mapping[str, Any]) -> bool:
    """Whether an object is a page with a list of entities: a REST answer, or one of ``az storage entity query``."""
    for key in _LISTS:
        listed = row.get(key)
        if isinstance(listed, list) and all(name in (key, _NEXT) or "odata." in name for name in row):
            return all(map(_is_entity if key != "value" else _is_object, listed))
    return False


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _is_entity(value: object) -> bool:
    """Whether a value has a key of a table: an entity of its own may have a property ``items``."""
    return isinstance(value, dict) and "PartitionKey" in value


def _entities(row: Mapping[str, Any]) -> list[Any]:
    """The entities of a page; an object that is none is itself one."""
    return next((row[key] for key in _LISTS if key in row), []) if is_page(row) else [row]


@dataclass(slots=True, eq=False)
class JsonSource:
    """Pages (``{"value": [...]}``), a JSON array of objects, or several of these one after the other."""

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
                    yield from columnar(rows, tally, columns, self.annotated, self.where)
                    rows = []
        tally.rows += len(rows)
        if rows:
            yield from columnar(rows, tally, columns, self.annotated, self.where)


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

    def _values(self) -> Iterator[Any]:
        """The values of an array."""
        self._expect("[")
        if self._peek() == "]":
            self._at += 1
            return
        while True:
            yield self._value()
            if self._peek() == "]":
                self._at += 1
                return
            self._expect(",")

    def _elements(self) -> Iterator[dict[str, Any]]:
        """The objects of an array."""
        for value in self._values():
            if isinstance(value, dict):
                self._count += 1
                yield value
            else:
                self._tally.skip(f"array element {self._count + 1:,} is not an object")

    def _page(self) -> Iterator[dict[str, Any]]:
        """A page; an object that lists no entities is itself one."""
        other: dict[str, Any] = {}
        listed = False
        self._expect("{")
        while self._peek() != "}":
            key = self._value()
            self._expect(":")
            if key == "value" and self._peek() == "[":
                listed = True
                yield from self._elements()
            elif key == "items" and self._peek() == "[":
                values = self._values()
                first = next(values, None)
                listed = not other and _is_entity(first)
                if listed:
                    self._count += 1
                    yield first  # type: ignore[misc]
                    for value in values:
                        self._count += 1
                        yield value
                else:
                    other[key] = [] if first is None else [first, *values]
            else:
                other[str(key)] = self._value()
            if self._peek() != "}":
                self._expect(",")
        self._at += 1
        if any("nextLink" in key and other[key] for key in other) or (listed and other.get(_NEXT)):
            self._tally.remarks["a page names a next page: check that all pages are given"] = None
        if not listed and other:
            self._count += 1
            yield other


def _transposed(rows: list[dict[str, Any]], where: str) -> dict[str, list[Any]]:
    """Lists of values by key, in order of first appearance; None where an object lacks the key. InputError where there
    are more keys than names and their annotations can be, _SparseError where most of the lists would be empty."""
    first = rows[0] if rows else {}
    check_names(len(first) // 2, where)
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
                check_names(len(values) // 2, where)
                if len(values) * len(rows) > _CELLS_MAX and len(rows) > 1:
                    raise _SparseError
            column[i] = value
    return values


def _flatten(row: Mapping[str, Any], prefix: str, out: dict[str, Any]) -> None:
    for key, written in row.items():
        value = plain_value(written) if type(written) is dict else written
        if type(value) is dict:
            _flatten(value, f"{prefix}{key}.", out)
        else:
            out[prefix + key] = value


def _as_text(value: Any) -> str | None:
    if value is None or type(value) is str:
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class _SparseError(Exception):
    """Rows that name so many properties, each a few, that columns of all rows would mostly be empty."""


def columnar(
    rows: list[dict[str, Any]], tally: Tally, columns: frozenset[str] | None, annotated: bool, where: str
) -> Iterator[Chunk]:
    """Objects as columns, in one chunk or, where that would be mostly empty, in several."""
    try:
        yield _chunk(rows, tally, columns, annotated, where)
    except _SparseError:
        half = len(rows) // 2
        yield from columnar(rows[:half], tally, columns, annotated, where)
        yield from columnar(rows[half:], tally, columns, annotated, where)


def _chunk(
    rows: list[dict[str, Any]], tally: Tally, columns: frozenset[str] | None, annotated: bool, where: str
) -> Chunk:
    """Objects as columns: nested objects flattened to ``a.b``, typed values of MongoDB as what they stand for,
    lists as JSON text, ``X@odata.type`` obeyed."""
    height = len(rows)
    values = _transposed(rows, where)
    if any(dict in set(map(type, column)) for column in values.values()):
        flat: list[dict[str, Any]] = []
        for row in rows:
            flat.append({})
            _flatten(row, "", flat[-1])
        values = _transposed(flat, where)
    series: dict[str, pl.Series] = {}
    stated: dict[str, dict[EdmType, int]] = {}
    temporal: set[str] = set()
    added = added_by_service(values)
    for key, column in values.items():
        if key in added:
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
                stated[name] = Counter(_json_type(value) for value in column if value is not None)
    return Chunk(height, pl.DataFrame(series), stated, frozenset(temporal))


def _int64(name: str, column: list[Any]) -> pl.Series | None:
    """Whole numbers as a column; None if one of them is beyond 64 bits."""
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


def _annotated(texts: pl.Series, column: list[Any], kinds: list[Any]) -> dict[EdmType, int]:
    """Counts per type where some values carry an annotation and others have their JSON type."""
    groups: dict[EdmType, list[int]] = {}
    for i, (value, kind) in enumerate(zip(column, kinds, strict=True)):
        if value is not None:
            edm = (edm_of(kind) if type(kind) is str else None) or _json_type(value)
            groups.setdefault(edm, []).append(i)
    counts = Counter[EdmType]()
    for edm, rows in groups.items():
        counts.update(count_stated(texts.gather(rows), edm))
    return counts


def _texts(name: str, column: list[str | None], tally: Tally) -> pl.Series:
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
