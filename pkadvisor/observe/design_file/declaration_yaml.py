"""YAML text → plain values whose places in the file are still known.

The text is composed to ruamel.yaml's node tree (YAML 1.2, pure Python) and walked once under bounds, so that a hostile
file costs little: at most 2 MB, 64 levels, 150,000 values and 5,000 in a list, counted while they are read, and the
values again once aliases are expanded. Keys are unique text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pkadvisor.errors import UsageError, caret, did_you_mean
from pkadvisor.files import ordinary
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    from ruamel.yaml.nodes import Node

FILE_BYTES_MAX = 2_000_000
_NODES_MAX = 150_000
"""A table has about 100 values, one with twenty queries 300; ruamel.yaml reads some 20,000 a second."""
_ITEMS_MAX = 5_000
"""No list of a design has as many: a file of data that is taken for one is refused in a quarter of a second."""
_DEPTH_MAX = 64
LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")  # what ruamel counts as the end of a line
_SURROGATE = re.compile("[\ud800-\udfff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_TAG = "tag:yaml.org,2002:"
_KINDS = ("null", "bool", "int", "float", "timestamp", "str", "seq", "map")
_QUOTE_HINT = 'text with { } : # or quotes in it needs quotes around it, e.g. "{event}__{distance}"'

DATA_HINT = "a design is YAML with schema: and tables:; a data file is named without --design"
_TAB_HINT = "indent with blanks, not with tabs"
_OTHER_DOCUMENT = re.compile(r'"document"\s*:\s*"pkadvisor (\w+)"')
_HEAD_CHARACTERS = 400

Path_ = tuple[str | int, ...]
"""The way to a value: keys and indexes from the root."""


@dataclass(frozen=True, slots=True)
class PlacedText:
    """A text with its place in the design file; line and column count from 1."""

    text: str
    line: int
    column: int


class _TooManyError(Exception):
    """More values than a design can have."""


class _TooDeepError(Exception):
    """More levels than a design can have."""


@cache
def _bounded_composer() -> type[Any]:
    """ruamel.yaml's composer, which stops at the bounds; a class of its own because ruamel.yaml is imported late."""
    from ruamel.yaml.composer import Composer

    class BoundedComposer(Composer):
        def __init__(self, loader: Any = None) -> None:
            super().__init__(loader)
            self.warn_double_anchors = False  # allowed in YAML 1.2, and a warning for each is no error message
            self.left, self.level = _NODES_MAX, 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            self.left -= 1
            if self.left < 0 or (isinstance(index, int) and index >= _ITEMS_MAX):
                raise _TooManyError
            if self.level > _DEPTH_MAX:
                raise _TooDeepError
            self.level += 1
            node = super().compose_node(parent, index)
            self.level -= 1
            return node

    return BoundedComposer


class Document:
    """A YAML file as plain values (``content``), able to point at each of them."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self._lines = LINE_BREAK.split(text)
        self._entries: dict[tuple[int, str], tuple[Node, Node]] = {}
        self._budget = _NODES_MAX
        self._root = self._compose(text)
        self.content: Any = self._plain(self._root, 0) if self._root is not None else None

    # --- reading ------------------------------------------------------------------------------------------------

    def _compose(self, text: str) -> Node | None:
        from ruamel.yaml import YAML
        from ruamel.yaml.error import MarkedYAMLError, YAMLError
        from ruamel.yaml.reader import ReaderError

        if _SURROGATE.search(text):
            raise UsageError("is not Unicode text", where=self.path, fix="save the file as UTF-8")
        self._refuse_other_documents(text)
        yaml = YAML(typ="rt", pure=True)
        yaml.Composer = _bounded_composer()
        try:
            root: Node | None = yaml.compose(text)
        except _TooManyError:
            raise self._too_big(f"holds more than {_NODES_MAX:,} values, or {_ITEMS_MAX:,} in one list") from None
        except (RecursionError, _TooDeepError):
            raise self._too_big(f"nests more than {_DEPTH_MAX} levels") from None
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line, column = (mark.line, mark.column) if mark else (0, 0)
            what = f"is not YAML: {error.problem or error.context or 'cannot be read'}".splitlines()[0]
            if "another document" in what:
                raise self._error(
                    line, column, 3, "holds more than one YAML document", "one file, one design"
                ) from None
            if (quote := _open_quote(text, error)) is not None:
                what, fix = "is not YAML: the quote that begins here is not closed on its line", "close it"
                raise self._error(quote.line, quote.column, 1, what, fix) from None
            if "<block end>" in what and (beside := self._indent_above(line)) not in (None, column):
                what = f"this line is indented by {column}, the entry above it by {beside}"
                raise self._error(line, column, 1, what, "indent all entries of a mapping alike") from None
            if "<document start>" in what:  # JSON lines, or a CSV file whose header is in quotes
                raise UsageError("this is not a design", where=self.path, fix=DATA_HINT) from None
            tab = r"character '\t'" in what
            raise self._error(line, column, 1, what, _TAB_HINT if tab else _QUOTE_HINT) from None
        except ReaderError as error:
            before = LINE_BREAK.split(text[: error.position])
            what = f"a character YAML does not allow (U+{ord(text[error.position]):04X})"
            raise self._error(len(before) - 1, len(before[-1]), 1, what, "remove it") from None
        except (YAMLError, ValueError) as error:
            raise UsageError(f"is not YAML: {str(error).splitlines()[0]}", where=self.path, fix=_QUOTE_HINT) from None
        return root

    def _indent_above(self, line: int) -> int | None:
        """Where the entry in the nearest line above begins, behind the dash of a list; None where there is none."""
        above = (text for text in reversed(self._lines[:line]) if text.strip() and not text.lstrip().startswith("#"))
        return next((len(text) - len(text.lstrip(" -")) for text in above), None)

    def _refuse_other_documents(self, text: str) -> None:
        """Name a document of pkadvisor that is no design, before minutes go into reading it as YAML."""
        match = _OTHER_DOCUMENT.search(text[:_HEAD_CHARACTERS]) if text.lstrip().startswith("{") else None
        if match is not None:
            fix = "give it with --profile, and the design first" if match[1] == "profile" else "name the design itself"
            raise UsageError(f"this is a {match[1]} of pkadvisor, not a design", where=self.path, fix=fix)

    def _plain(self, node: Node, depth: int) -> Any:
        from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

        self._budget -= 1
        if self._budget < 0:
            raise self._too_big(f"holds more than {_NODES_MAX:,} values once its aliases are expanded")
        if depth > _DEPTH_MAX:
            raise self._too_big(f"nests more than {_DEPTH_MAX} levels (an alias inside its own anchor does)")
        if str(node.tag).removeprefix(_TAG) not in _KINDS:
            raise self._error_at(node, f"the tag {str(node.tag)[:60]} is not allowed here", "remove the tag")
        if isinstance(node, ScalarNode):
            return self._scalar(node)
        if isinstance(node, SequenceNode):
            return [self._plain(item, depth + 1) for item in node.value]
        assert isinstance(node, MappingNode)
        mapping: dict[str, Any] = {}
        for key, value in node.value:
            if key.tag == _TAG + "merge":
                raise self._error_at(
                    key, "<< is no part of YAML 1.2", "write the keys out, or use an alias for a value"
                )
            if not isinstance(key, ScalarNode) or key.tag != _TAG + "str":
                raise self._error_at(key, "a key must be text", _QUOTE_HINT)
            if key.value in mapping:
                raise self._error_at(key, f"the key '{key.value}' appears twice", "keep one of them")
            mapping[str(self._scalar(key))] = self._plain(value, depth + 1)
            self._entries[id(node), key.value] = (key, value)
        return mapping

    def _scalar(self, node: Node) -> str | int | float | bool | None:
        """YAML 1.2 core: null, true/false, whole numbers, floats; all else, dates too, stays text."""
        text = _text(node)
        if _SURROGATE.search(text):
            raise self._error_at(node, "half a surrogate pair is no character", "remove the \\u escape")
        kind = str(node.tag).removeprefix(_TAG)
        if kind == "null":
            return None
        if kind == "bool" and text.lower() in ("true", "false"):
            return text.lower() == "true"
        digits = text.replace("_", "")
        if kind == "int" and len(digits) <= 40:
            try:
                return int(digits, 0) if re.match(r"[+-]?0[xob]", digits) else int(digits)
            except ValueError:
                return text
        if kind == "float" and len(digits) <= 40:
            try:
                return float(re.sub(r"\.(inf|nan)$", r"\1", digits.lower()))
            except ValueError:
                return text
        return text

    # --- pointing -----------------------------------------------------------------------------------------------

    def _node(self, path: Path_) -> tuple[Node, Node | None]:
        """The value at ``path``, or the nearest one above it, and its key."""
        assert self._root is not None
        node, key = self._root, None
        for part in path:
            if isinstance(part, str) and (id(node), part) in self._entries:
                key, node = self._entries[id(node), part]
            elif isinstance(part, int) and isinstance(node.value, list) and part < len(node.value):
                node, key = node.value[part], None
            else:
                break
        return node, key

    def error(self, path: Path_, what: str, fix: str = "", *, at_key: bool = False) -> UsageError:
        """What is wrong with the value at ``path`` (or with its key), with place and caret."""
        if self._root is None:
            return UsageError(what, where=f"{self.path}:1:1", fix=fix)
        node, key = self._node(path)
        # A value that was left out has no place of its own.
        empty = node.start_mark.index == node.end_mark.index
        return self._error_at(key if (at_key or empty) and key is not None else node, what, fix)

    def place(self, path: Path_) -> tuple[int, int]:
        """Line and column of the value at ``path``, from 1."""
        if self._root is None:
            return 1, 1
        mark = self._node(path)[0].start_mark
        return mark.line + 1, mark.column + 1

    def span(self, path: Path_, *, at_key: bool = False) -> tuple[int, int, int, int]:
        """First line and column, last line and the column behind it, of the value at ``path`` or of its key; from 1.

        A mapping or a sequence is shown by its key: its own lines are many.
        """
        from ruamel.yaml.nodes import ScalarNode

        if self._root is None:
            return 1, 1, 1, 1
        value, key = self._node(path)
        if key is None and (named := self._entries.get((id(value), "name"))) is not None:
            value = named[1]  # an item of a list is shown by its name
        empty = value.start_mark.index == value.end_mark.index
        node = key if key is not None and (at_key or empty or not isinstance(value, ScalarNode)) else value
        start, end = node.start_mark, node.end_mark
        if end.line > start.line:  # a block, or a flow over lines: its first line
            return (
                start.line + 1,
                start.column + 1,
                start.line + 1,
                max(start.column + 1, len(self.line(start.line + 1))) + 1,
            )
        return start.line + 1, start.column + 1, end.line + 1, end.column + 1

    def span_within(self, path: Path_, offset: int, width: int) -> tuple[int, int, int, int]:
        """As ``span``, of ``width`` characters from ``offset`` on in the text at ``path``; the whole text where it is
        folded over lines."""
        inside, end = (self._inside(self._node(path)[0], at) for at in (offset, offset + width))
        if inside is None or end is None or end[0] != inside[0]:
            return self.span(path)
        return inside[0] + 1, inside[1] + 1, end[0] + 1, end[1] + 1

    def logical(self, path: Path_) -> str:
        """A path in names: items of lists by their ``name``, else by their place; also of what the file leaves out
        such as the RowKey of a table whose kinds have their own."""
        words = list[str]()
        content: Any = self.content
        for number, step in enumerate(path, 1):
            below: Any = content[step] if self.has(path[:number]) else None
            named = isinstance(step, int) and isinstance(below, dict) and isinstance(below.get("name"), str)
            words.append(below["name"] if named and isinstance(below, dict) else str(step))
            content = below
        return ".".join(words)

    def has(self, path: Path_) -> bool:
        """Whether the file holds a value at exactly ``path``."""
        content = self.content
        for part in path:
            in_list = isinstance(content, list) and isinstance(part, int) and part < len(content)
            if not in_list and not (isinstance(content, dict) and part in content):
                return False
            content = content[part]
        return True

    def line(self, number: int) -> str:
        """A line of the file, from 1; empty beyond its end."""
        return self._lines[number - 1] if 0 < number <= len(self._lines) else ""

    @property
    def root(self) -> Node | None:
        """The node tree, for whoever looks for what stands between values."""
        return self._root

    @property
    def lines(self) -> tuple[str, ...]:
        """All lines of the file, without their ends."""
        return tuple(self._lines)

    def placed(self, path: Path_, text: str) -> PlacedText:
        """``text``, the value at ``path``, with its place: that of its first character, inside the quotes."""
        line, column = self._inside(self._node(path)[0], 0) or tuple(p - 1 for p in self.place(path))
        return PlacedText(text, line + 1, column + 1)

    def error_within(self, path: Path_, offset: int, width: int, what: str, fix: str = "") -> UsageError:
        """What is wrong ``offset`` characters into the text at ``path``."""
        node, _ = self._node(path)
        inside = self._inside(node, offset)
        if inside is None:  # folded over lines: show the text itself
            line, column = self.place(path)
            shown = caret(_text(node), offset, width)
            return UsageError(what, where=f"{self.path}:{line}:{column}", fix=fix, excerpt=shown)
        return self._error(*inside, width, what, fix)

    def position(self, path: Path_, offset: int) -> tuple[int, int] | None:
        """Line and column, from 0, of a character of the text at ``path``; None where it is folded over lines."""
        return self._inside(self._node(path)[0], offset)

    def _inside(self, node: Node, offset: int) -> tuple[int, int] | None:
        """Line and column (from 0) in the file of a character of a scalar; None where lines were folded."""
        mark, value, style = node.start_mark, node.value, getattr(node, "style", None)
        if not isinstance(value, str):
            return None
        if style == "|":
            number = value.count("\n", 0, offset)
            start = value.rfind("\n", 0, offset) + 1
            own = value[start:].split("\n", 1)[0]
            row = mark.line + 1 + number
            source = self._lines[row] if row < len(self._lines) else ""
            return (row, len(source) - len(own) + offset - start) if own and source.endswith(own) else None
        source = self._lines[mark.line]
        at = mark.column
        if node.end_mark.line != mark.line:
            return None
        if style is None:
            return (mark.line, at + offset) if source.startswith(value, at) else None
        if style not in ("'", '"') or source[at : at + 1] != style:
            return None
        at += 1
        for _ in range(offset):
            if style == "'":
                at += 2 if source[at : at + 1] == "'" else 1
            elif source[at : at + 1] == "\\":
                at += {"x": 4, "u": 6, "U": 10}.get(source[at + 1 : at + 2], 2)
            else:
                at += 1
        return mark.line, at

    def _error_at(self, node: Node, what: str, fix: str = "") -> UsageError:
        start, end = node.start_mark, node.end_mark
        width = end.column - start.column if end.line == start.line else 1
        return self._error(start.line, start.column, width, what, fix)

    def _error(self, line: int, column: int, width: int, what: str, fix: str) -> UsageError:
        source = self._lines[line] if line < len(self._lines) else ""
        excerpt = caret(source, column, max(1, min(width, 60))) if source.strip() else ""
        return UsageError(what, where=f"{self.path}:{line + 1}:{column + 1}", fix=fix, excerpt=excerpt)

    def _too_big(self, what: str) -> UsageError:
        return UsageError(what, where=self.path, fix="a design file is a few pages: write it out plainly")


def _open_quote(text: str, error: Any) -> Any:
    """Where the quote begins that runs over its line up to an error, if that is why there is one."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    within = "quoted scalar" in (error.context or "")
    mark = error.context_mark if within else error.problem_mark
    quote = mark if within else None
    if mark is None:
        return None
    try:
        for token in YAML(typ="rt", pure=True).scan(text[: mark.index]):
            quoted = getattr(token, "style", None) in ("'", '"')
            if quoted and token.start_mark.line < token.end_mark.line == mark.line:
                quote = token.start_mark
    except (YAMLError, ValueError):
        pass
    return quote


def _text(node: Node) -> str:
    """A scalar's text; ruamel marks where a folded one (``>``) was folded with a BEL, which no file can contain, and
    leaves the two escapes as which JSON writes one character beyond U+FFFF."""
    text = _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), str(node.value))
    return text.replace("\x07", "") if getattr(node, "style", None) == ">" else text


def read_text(path: Path) -> str:
    """The text of a design file; UsageError where it is missing, too large or not UTF-8."""
    with _reading(path), ordinary(path).open("rb") as stream:
        raw = stream.read(FILE_BYTES_MAX + 1)
    return decoded(raw, str(path))


def decoded(raw: bytes, where: str) -> str:
    """The bytes of a design file as text; UsageError where they are too many or not UTF-8."""
    if len(raw) > FILE_BYTES_MAX:
        raise UsageError("is larger than 2 MB", where=where, fix="is it the data? a design file is a few pages")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"is not UTF-8 (byte {error.start})", where=where, fix="save it as UTF-8") from None


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise UsageError("there is no such file", where=str(path), fix=_beside(path) or "give a YAML file") from None
    except IsADirectoryError:
        fix = "name its files; a quoted glob such as 'DIR/*.yaml' will do"
        raise UsageError("this is a directory", where=str(path), fix=fix) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a path"
        raise UsageError(f"cannot read the design: {reason}", where=str(path), fix="give a YAML file") from None


def _beside(path: Path) -> str:
    """``did you mean …`` from the names beside a missing file."""
    try:
        names = sorted(entry.name for entry in path.parent.iterdir())[:1000]
    except (OSError, ValueError):
        return ""
    return did_you_mean(path.name, names)
