"""Schemes that a user names: ``PARTITIONKEY | ROWKEY`` on the command line, or a file of them.

A file ending in .yaml, .yml or .json is a list of such texts or of mappings with partition_key, row_key and index_rows,
as in a design file. Any other file has one scheme a line, written as the page of an analysis writes it::

    # a comment
    {event}_{distance} | BIB:{pad(bib,5)}
      + AGE:{pad(age,3)}_{pad(bib,5)} (full)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pkadvisor.design.keys.scheme import IndexRow, Key, KeyScheme, check_types
from pkadvisor.design.keys.template import parse_template
from pkadvisor.errors import UsageError, caret, did_you_mean
from pkadvisor.observe.design_file.declaration_yaml import Document, Path_, read_text
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

CANDIDATES_MAX = 1_000
_COPY = re.compile(r"\s*\((full|pointer)\)\s*$")
_KEYS = ("partition_key", "row_key", "index_rows")
_ROW_KEYS = ("partition_key", "row_key", "copy")


@dataclass(frozen=True, slots=True)
class KeyTemplates:
    """Two template texts and where they stand; ``excerpt`` shows the place. No ``partition``: the entity's own."""

    partition: str | None
    row: str
    where: str
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A scheme as written: nothing is known yet of the properties it names."""

    main: KeyTemplates
    index_rows: tuple[tuple[KeyTemplates, str], ...] = ()

    def scheme(self, types: Mapping[str, EdmType]) -> KeyScheme:
        """The scheme over a table's properties. UsageError where a template names others or cannot read their type."""
        main = _key(self.main, types, None)
        rows = tuple(IndexRow(_key(text, types, main), copy) for text, copy in self.index_rows)
        if any(p.function == "each" for p in (*main.partition, *main.row)):
            what = "a main key has one row for each entity, and each() makes several"
            raise UsageError(what, where=self.main.where, fix="declare it under index_rows in a design")
        for (text, _), row in zip(self.index_rows, rows, strict=True):
            if any(p.function == "each" for p in (*row.key.partition, *row.key.row)):
                raise UsageError(
                    "rows for each value of a list are not weighed", where=text.where, fix="leave them out"
                )
        return KeyScheme(main, rows)


def _key(text: KeyTemplates, types: Mapping[str, EdmType], main: Key | None) -> Key:
    known = tuple(types) or None
    row = parse_template(text.row, known=known, where=f"{text.where}, RowKey")
    if text.partition is None:
        assert main is not None
        partition = main.partition
    else:
        partition = parse_template(text.partition, known=known, where=f"{text.where}, PartitionKey")
    check_types((*partition, *row), dict(types), text.where)
    for part in (*partition, *row):
        if part.constant in types:
            what = f"'{part.constant}' is fixed text, and a property has this name"
            raise UsageError(
                what, where=text.where, fix=f"write {{{part.constant}}} for its value", excerpt=text.excerpt
            )
    return Key(partition, row)


def parse_candidate(text: str) -> Candidate:
    """One scheme from ``PARTITIONKEY | ROWKEY``, an empty key written as nothing or as two quotes."""
    return Candidate(_split(text, "--scheme", ""))


def _split(text: str, where: str, excerpt: str) -> KeyTemplates:
    partition, bar, row = text.partition("|")
    if not bar or "|" in row:
        fix = "'' stands for an empty key" if not bar else "a bar inside a key: put it into a design file"
        raise UsageError("a scheme is PARTITIONKEY | ROWKEY, with one bar", where=where, fix=fix, excerpt=excerpt)
    if " + " in row:  # as pages write index rows: taken for text, they would be priced as part of the RowKey
        fix = "put a scheme with index rows, or a key with ' + ' in it, into a YAML file of schemes or a design file"
        raise UsageError("a scheme of one line has no index rows", where=where, fix=fix, excerpt=excerpt)
    return KeyTemplates(_bare(partition), _bare(row), where, excerpt)


def _bare(text: str) -> str:
    """A template as the page shows it, where ``''`` stands for no text."""
    text = text.strip()
    return "" if text == "''" else text


def load_candidates(path: Path | str) -> tuple[Candidate, ...]:
    """The schemes of a file. UsageError with line and column for what is no scheme, or where there is none."""
    path = Path(path)
    text = read_text(path)
    candidates = (
        _from_yaml(path, text) if path.suffix.lower() in (".yaml", ".yml", ".json") else _from_lines(path, text)
    )
    if not candidates:
        raise UsageError("names no scheme", where=str(path), fix="write PARTITIONKEY | ROWKEY, one a line")
    if len(candidates) > CANDIDATES_MAX:
        raise UsageError(f"names {len(candidates):,} schemes, more than {CANDIDATES_MAX:,}", where=str(path))
    return tuple(candidates)


def fitting(
    candidates: Sequence[Candidate], tables: Sequence[Mapping[str, EdmType] | None]
) -> list[tuple[KeyScheme, ...]]:
    """For each table, by the types of its properties (None: not known), the schemes that it can have.

    UsageError for a scheme that none can have.
    """
    out: list[list[KeyScheme]] = [[] for _ in tables]
    for candidate in candidates:
        refused: list[UsageError] = []
        for schemes, types in zip(out, tables, strict=True):
            if types is None:
                continue
            try:
                schemes.append(candidate.scheme(types))
            except UsageError as error:
                refused.append(error)
        if refused and len(refused) == sum(types is not None for types in tables):
            raise refused[0]
    return [tuple(schemes) for schemes in out]


def _from_lines(path: Path, text: str) -> list[Candidate]:
    out: list[Candidate] = []
    for number, line in enumerate(text.splitlines(), 1):
        plain = line.strip()
        if not plain or plain.startswith("#"):
            continue
        column = line.index(plain[0]) + 1
        where, excerpt = f"{path}:{number}:{column}", caret(line, column - 1)
        if not plain.startswith("+"):
            out.append(Candidate(_split(plain, where, excerpt)))
            continue
        if not out:
            what = "an index row (+) without a scheme above it"
            raise UsageError(what, where=where, fix="write PARTITIONKEY | ROWKEY first", excerpt=excerpt)
        copy = _COPY.search(plain)
        body = _COPY.sub("", plain[1:]).strip()
        row = _split(body, where, excerpt) if "|" in body else KeyTemplates(None, _bare(body), where, excerpt)
        last = out[-1]
        out[-1] = Candidate(last.main, (*last.index_rows, (row, copy[1] if copy else "full")))
    return out


def _from_yaml(path: Path, text: str) -> list[Candidate]:
    document = Document(str(path), text)
    content = document.content
    start: Path_ = ()
    if isinstance(content, dict) and "candidates" in content:
        unknown = next((key for key in content if key not in ("schema", "candidates")), None)
        if unknown is not None:
            raise document.error((unknown,), f"unknown key '{unknown}'", "keep candidates", at_key=True)
        start, content = ("candidates",), content["candidates"]
    if not isinstance(content, list):
        raise document.error(start, "a file of candidates is a list", "write one '- ' entry for each scheme")
    return [_entry(document, (*start, number), entry) for number, entry in enumerate(content)]


def _entry(document: Document, at: Path_, entry: Any) -> Candidate:
    where = _where(document, at)
    if isinstance(entry, str):
        try:
            return Candidate(_split(entry, where, ""))
        except UsageError as error:
            raise document.error(at, error.what, error.fix) from None
    if not isinstance(entry, dict):
        raise document.error(at, "no scheme", 'write "PARTITIONKEY | ROWKEY", or partition_key and row_key')
    _check(document, at, entry, _KEYS)
    rows = entry.get("index_rows", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise document.error((*at, "index_rows"), "index_rows is a list of mappings", "- row_key: …")
    main = KeyTemplates(_text(document, at, entry, "partition_key"), _text(document, at, entry, "row_key"), where)
    more = []
    for number, row in enumerate(rows):
        place = (*at, "index_rows", number)
        _check(document, place, row, _ROW_KEYS)
        copy = row.get("copy", "full")
        if copy not in ("full", "pointer"):
            raise document.error(
                (*place, "copy"), "copy is full or pointer", did_you_mean(str(copy), ("full", "pointer"))
            )
        partition = _text(document, place, row, "partition_key") if "partition_key" in row else None
        more.append((KeyTemplates(partition, _text(document, place, row, "row_key"), _where(document, place)), copy))
    return Candidate(main, tuple(more))


def _check(document: Document, at: Path_, entry: dict[str, Any], known: tuple[str, ...]) -> None:
    for key in entry:
        if key not in known:
            fix = did_you_mean(key, known) or f"there are {', '.join(known)}"
            raise document.error((*at, key), f"unknown key '{key}'", fix, at_key=True)


def _text(document: Document, at: Path_, entry: dict[str, Any], key: str) -> str:
    if key not in entry:
        raise document.error(at, f"{key} is missing", f"add {key}; it may be ''")
    value = entry[key]
    if not isinstance(value, str):
        raise document.error((*at, key), f"{key} must be text", 'text that starts with { needs quotes: "{event}"')
    return value


def _where(document: Document, at: Path_) -> str:
    line, column = document.place(at)
    return f"{document.path}:{line}:{column}"
