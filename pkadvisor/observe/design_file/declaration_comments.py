"""Comments of a design file, each with the entry that it is about. Text with ``#`` inside a value is no comment.

At the end of a line a comment is about the outermost mapping entry or list item that starts on it; alone on its line,
about the next entry below. The ``name`` of an item stands for the item.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pkadvisor.observe.design_file.declaration_yaml import Document, Path_
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    from ruamel.yaml.nodes import Node, ScalarNode


_DASHES = re.compile(r"\s*(?:-\s*)+")


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment from its ``#`` to the end of its line; line and column from 1.

    ``path`` is that of the entry it is about; None where there is none, such as below the last one.
    """

    text: str
    line: int
    column: int
    alone: bool
    path: Path_ | None


@dataclass(frozen=True, slots=True)
class YamlEntry:
    """A mapping entry or a list item; lines and columns from 0."""

    path: Path_
    start: tuple[int, int]
    end: tuple[int, int]


def comments(document: Document, mention: str) -> tuple[Comment, ...]:
    """The comments that match the regular expression ``mention``, in file order."""
    wanted = re.compile(mention, re.IGNORECASE)
    if document.root is None or not any(wanted.search(line) for line in document.lines):
        return ()
    masks = _values(document)
    spans = (
        YamlEntry(path, _at((key or value).start_mark), _at(key.end_mark if key and known else value.end_mark))
        for path, key, value, known in _nodes(document)
        if key or not known
    )
    entries = tuple(sorted(spans, key=lambda e: (e.start, len(e.path))))
    out = []
    for number, line in enumerate(document.lines):
        at = _comment_start(line, masks.get(number, ()))
        if at is None or not wanted.search(line, at):
            continue
        before = line[:at]
        alone = not before.strip() or bool(_DASHES.fullmatch(before))
        path = _below(entries, number) if alone else _on(entries, number, len(before.rstrip()))
        out.append(Comment(line[at:], number + 1, at + 1, alone, _item(path)))
    return tuple(out)


def lines_without_comment(document: Document) -> frozenset[int]:
    """Lines (from 1) at whose end no comment can stand: a value goes on below, or they are text of a block."""
    out: set[int] = set()
    for node in _scalars(document):
        start, end = node.start_mark, node.end_mark
        if node.style in ("|", ">"):
            out.update(range(start.line + 2, end.line + (2 if end.column else 1)))
        else:
            out.update(range(start.line + 1, end.line + 1))
    return frozenset(out)


def _values(document: Document) -> dict[int, list[tuple[int, int]]]:
    """The columns that quoted and block values take on each line, ends exclusive."""
    masks: dict[int, list[tuple[int, int]]] = {}
    beyond = 1 << 30
    for node in _scalars(document):
        start, end = node.start_mark, node.end_mark
        if node.style in ("'", '"'):
            for line in range(start.line, end.line + 1):
                first = start.column if line == start.line else 0
                masks.setdefault(line, []).append((first, end.column if line == end.line else beyond))
        elif node.style in ("|", ">"):  # its head may have a comment; its end is behind its last line
            for line in range(start.line + 1, end.line + (1 if end.column else 0)):
                masks.setdefault(line, []).append((0, beyond))
    return {line: sorted(spans) for line, spans in masks.items()}


def _scalars(document: Document) -> Iterable[ScalarNode]:
    """The values that are no mappings and lists, and the keys, each once."""
    from ruamel.yaml.nodes import ScalarNode

    pairs = [(None, document.root), *((key, value) for _, key, value, _ in _nodes(document))]
    nodes = {id(node): node for pair in pairs for node in pair}
    return [node for node in nodes.values() if isinstance(node, ScalarNode)]


def _nodes(document: Document) -> Iterator[tuple[Path_, Node | None, Node, bool]]:
    """(path, key, value, whether the value was told before) of every mapping entry and list item, whose key is None;
    what an alias stands for is told where its anchor is."""
    from ruamel.yaml.nodes import MappingNode, ScalarNode

    seen: set[int] = set()
    waiting: list[tuple[Node, Path_]] = [(document.root, ())] if document.root is not None else []
    while waiting:
        node, path = waiting.pop()
        seen.add(id(node))
        if isinstance(node, ScalarNode):
            continue
        pairs = node.value if isinstance(node, MappingNode) else [(None, item) for item in node.value]
        for i, (key, value) in enumerate(pairs):
            here, known = (*path, i if key is None else str(key.value)), id(value) in seen
            yield here, key, value, known
            if not known:
                waiting.append((value, here))


def _at(mark: object) -> tuple[int, int]:
    return mark.line, mark.column  # type: ignore[attr-defined]


def _comment_start(line: str, masks: tuple[tuple[int, int], ...] | list[tuple[int, int]]) -> int | None:
    """The column of the ``#`` that begins a comment: at the start of a line or after a blank, outside of values."""
    for match in re.finditer(r"(?:^|(?<=[ \t]))#", line):
        i = bisect_right(masks, match.start(), key=lambda m: m[0]) - 1  # values of a line do not overlap
        if i < 0 or match.start() >= masks[i][1]:
            return match.start()
    return None


def _item(path: Path_ | None) -> Path_ | None:
    """The item of a list for its ``name``, by which it is shown wherever something is said about it."""
    named = path is not None and len(path) > 1 and path[-1] == "name" and isinstance(path[-2], int)
    return path[:-1] if named and path is not None else path


def _on(entries: tuple[YamlEntry, ...], line: int, column: int) -> Path_ | None:
    """The outermost entry that starts on a line; else, where a value of several lines ends, the one it belongs to."""
    i = bisect_left(entries, (line, 0), key=lambda e: e.start)
    if i < len(entries) and entries[i].start[0] == line:
        return entries[i].path
    around = (entry for entry in reversed(entries[:i]) if entry.end >= (line, column))
    return next((entry.path for entry in around), None)


def _below(entries: tuple[YamlEntry, ...], line: int) -> Path_ | None:
    """The outermost entry that starts below a line."""
    i = bisect_left(entries, (line + 1, 0), key=lambda e: e.start)
    return entries[i].path if i < len(entries) else None
