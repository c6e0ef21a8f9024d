"""Edits of a design file that are safe as text: digits of a number, a separator, a suppression that does nothing.

Everything else of the file stays as it is, byte for byte. Keys of rows that are stored already are never edited: that
is a migration. A finding for which there is no safe edit is refused with the reason.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import pairwise
from typing import Any

from pkadvisor.design.keys.scheme import variable
from pkadvisor.design.keys.template import hole_spans
from pkadvisor.errors import UsageError
from pkadvisor.observe.design_file.declaration_comments import lines_without_comment
from pkadvisor.observe.design_file.declaration_yaml import LINE_BREAK, Document, Path_
from pkadvisor.review.views.subjects import KeyPart, KeyString, Scope, subjects_of_design
from pkadvisor.review.views.views import DesignView, TableView
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

PADDING, SEPARATOR, SUPPRESSION = "PK303", "PK304", "PK902"
FIXABLE = (PADDING, SEPARATOR, SUPPRESSION)
DIGITS = {EdmType.INT32: 10, EdmType.INT64: 19}
"""Digits of the greatest number of a type: no number outgrows them."""
_IGNORE = re.compile(r"ignore\s*\[([^\]]*)\]")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A finding that an edit may answer: rule, logical path, subject, and its place (line and columns from 1)."""

    rule: str
    path: str
    subject: str
    line: int
    column: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Edit:
    """``text`` takes the place of the characters from ``start`` up to ``end`` of the file."""

    start: int
    end: int
    text: str
    rule: str
    line: int
    what: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """A finding that is left alone, and why."""

    rule: str
    line: int
    why: str


@dataclass(frozen=True, slots=True)
class Fixed:
    """A design text after its edits; without edits it is the text before."""

    text: str
    edits: tuple[Edit, ...]
    refused: tuple[Refusal, ...]


class _RefusedError(Exception):
    pass


def fixed(
    view: DesignView,
    text: str,
    findings: Sequence[Wanted],
    words: Mapping[str, Sequence[str]],
    *,
    in_use: Mapping[str, str] | None = None,
) -> Fixed:
    """The text of a reviewed design with all safe edits made; ``words`` are the names of each rule beside its id.

    ``in_use``: tables whose keys must be taken for keys that rows are stored under, each with the reason.
    """
    source = _Source(view, text)
    edits, refused = dict[Edit, None](), dict[Refusal, None]()
    templates = dict[Path_, dict[tuple[int, int], str]]()
    for wanted in findings:
        try:
            if wanted.rule in (PADDING, SEPARATOR):
                for path, at, width, put, what in _key_edits(view, wanted, in_use or {}):
                    edits[source.in_template(path, at, width, put, wanted.rule, what)] = None
                    templates.setdefault(path, {})[at, width] = put
        except _RefusedError as error:
            refused[Refusal(wanted.rule, wanted.line, str(error))] = None
    comments = [w for w in findings if w.rule == SUPPRESSION]
    edits |= dict.fromkeys(source.suppressions(comments, words))
    made = tuple(sorted(edits, key=lambda e: (e.start, e.end)))
    result = text
    for edit in reversed(made):
        result = result[: edit.start] + edit.text + result[edit.end :]
    if made and not _means(view, result, templates):
        refusals = (*refused, *(Refusal(e.rule, e.line, "the edit would change more than this key") for e in made))
        return Fixed(text, (), refusals)
    return Fixed(result, made, tuple(refused))


# -- keys --------------------------------------------------------------------------------------------------------------


def _key_edits(
    view: DesignView, wanted: Wanted, in_use: Mapping[str, str]
) -> Iterator[tuple[Path_, int, int, str, str]]:
    """(path of the template, offset in it, characters replaced, text instead, what is done)."""
    about = [s for s in subjects_of_design(view) if s.logical == wanted.path and s.scope in (Scope.KEY, Scope.PART)]
    editable = False
    for subject in about:
        _refuse_stored(subject.view, in_use)
        key = subject.above(Scope.KEY)
        item: KeyString = key.item
        spans = hole_spans(item.text)
        holes = variable(item.parts)
        if len(spans) != len(holes):
            raise _RefusedError("the template cannot be edited as text")
        only: KeyPart | None = subject.item if subject.scope is Scope.PART else None
        if wanted.rule == PADDING:
            for (start, end), part in zip(spans, holes, strict=True):
                name = next(iter(part.properties), "")
                if part.function or (only is not None and only.part != part):
                    continue
                digits = DIGITS.get(subject.view.types.get(name, EdmType.STRING))
                if digits is not None:
                    editable = True
                    inner = item.text[start + 1 : end - 1].strip()
                    put = f"{{pad({inner},{digits})}}"
                    yield key.path, start, end - start, put, f"{name} is padded to {digits} digits"
        else:
            between = _separator(item.text, spans)
            for (_, end), (start, _) in pairwise(spans):
                if end == start:
                    editable = True
                    yield key.path, end, 0, between, f"'{between}' now separates parts that touched"
    if not about:
        raise _RefusedError("the key cannot be found in the file")
    if not editable and wanted.rule == PADDING:
        if only is not None and only.part.function:
            raise _RefusedError(f"{only.part} is not a bare number: only you know what it should be")
        raise _RefusedError(
            "no declared int32 or int64 tells how many digits there are: declare the type of the property"
        )
    if not editable:
        raise _RefusedError("its parts do not touch: only you know which text none of them can contain")


def _refuse_stored(table: TableView, in_use: Mapping[str, str]) -> None:
    """Refuse to edit keys that rows may be stored under, or that a filter spells out."""
    name, declared = table.section.table, table.declared
    if table.has_data or declared.entities_total or any(kind.entities_total for kind in declared.kinds):
        raise _RefusedError(f"{name} holds rows: other keys are a migration, never a fix")
    if name in in_use:
        raise _RefusedError(f"{in_use[name]}: other keys are a migration, never a fix")
    if table.before is not None and table.before.scheme is not None:
        raise _RefusedError(f"{name} already has data under its keys: a change of them is a migration, not a fix")
    content = table.design.document.content["tables"][name]
    for group in ("queries", "writes"):
        for item in content.get(group) or ():
            if re.search(r"\b(?:PartitionKey|RowKey)\b", str(item.get("filter", ""))):
                raise _RefusedError(f"the filter of '{item.get('name')}' spells the key out: change both together")


def _separator(template: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text that already stands between other parts of the key most often, else ``_``."""
    gaps = [template[end:start] for (_, end), (start, _) in pairwise(spans)]
    plain = Counter(gap for gap in gaps if re.fullmatch(r"[-_.;:|,~!@]{1,2}", gap))
    return plain.most_common(1)[0][0] if plain else "_"


# -- the text ----------------------------------------------------------------------------------------------------------


class _Source:
    """A text whose lines and templates are known by their characters."""

    def __init__(self, view: DesignView, text: str) -> None:
        self.view, self.text = view, text
        breaks = list(LINE_BREAK.finditer(text))
        self.starts = [0, *(b.end() for b in breaks)]
        self.ends = [*(b.start() for b in breaks), len(text)]

    def in_template(self, path: Path_, at: int, width: int, put: str, rule: str, what: str) -> Edit:
        document = self.view.document
        first, last = document.position(path, at), document.position(path, at + width)
        if first is None or last is None or first[0] != last[0]:
            raise _RefusedError("the key is folded over lines or has an anchor: write it plainly in one line")
        start, end = (self.starts[line] + column for line, column in (first, last))
        if self.text[start:end] != _template(document, path)[at : at + width]:
            raise _RefusedError("the key is written with escapes: write it plainly")
        return Edit(start, end, put, rule, first[0] + 1, what)

    def suppressions(self, wanted: Sequence[Wanted], words: Mapping[str, Sequence[str]]) -> Iterator[Edit]:
        """Comments of which no rule is found go away, else the rules that are not."""
        places: dict[tuple[int, int, int], list[str]] = {}
        for one in wanted:
            places.setdefault((one.line, one.column, one.end_column), []).append(one.subject)
        for (line, column, end_column), rules in places.items():
            if not 0 < line <= len(self.starts):
                continue
            begin = self.starts[line - 1]
            start, end = begin + column - 1, begin + end_column - 1
            named = _IGNORE.search(self.text, start, end)
            if named is None or end > self.ends[line - 1]:
                continue
            unused = {word for rule in rules for word in (rule, *words.get(rule, ()))}
            listed = [word.strip() for word in named[1].split(",")]
            remaining = [word for word in listed if word not in unused]
            if remaining:
                gone = ", ".join(w for w in listed if w in unused)
                if gone:
                    yield Edit(
                        named.start(1), named.end(1), ", ".join(remaining), SUPPRESSION, line, f"{gone} leaves the list"
                    )
                continue
            start, end = self._whole(line, start, end)
            yield Edit(start, end, "", SUPPRESSION, line, "an unused suppression goes")

    def _whole(self, line: int, start: int, end: int) -> tuple[int, int]:
        """A comment with the blanks that belong to it; the line too where nothing else is in it."""
        begin, stop = self.starts[line - 1], self.ends[line - 1]
        before, after = self.text[begin:start], self.text[end:stop]
        if not before.strip() and not after.strip():
            return begin, self.starts[line] if line < len(self.starts) else stop
        if after.strip():
            return start, end + len(after) - len(after.lstrip())
        return begin + len(before.rstrip()), stop


def _template(document: Document, path: Path_) -> str:
    content = document.content
    for step in path:
        content = content[step]
    return str(content)


def _means(view: DesignView, text: str, templates: Mapping[Path_, Mapping[tuple[int, int], str]]) -> bool:
    """Whether the new text differs from the design in the edited templates and in nothing else."""
    expected: Any = deepcopy(view.document.content)
    for path, edits in templates.items():
        value = _template(view.document, path)
        for at, width in sorted(edits, reverse=True):
            value = value[:at] + edits[at, width] + value[at + width :]
        below = expected
        for step in path[:-1]:
            below = below[step]
        below[path[-1]] = value
    try:
        return bool(Document(view.document.path, text).content == expected)
    except UsageError:
        return False


# -- Suppressions written into the text of a design; everything else keeps its bytes.


_BREAKS = re.compile("(\r\n|[\n\r\x85\u2028\u2029])")


def annotated(path: str, text: str, wanted: Mapping[int, Iterable[str]], reason: str) -> str:
    """The text with a comment for the rules of each line (from 1), at its end; above it where a value goes on below.

    A comment at the end of the line that gives the same reason names the rules too.

    UsageError for JSON, which has no comments, and for a reason that cannot stand in one line.
    """
    reason = " ".join(reason.split())
    if not reason or not reason.isprintable():
        raise UsageError(
            "a suppression needs a reason", where="--add-ignore", fix='--add-ignore "3 inserts/s, see ADR 14"'
        )
    if path.lower().endswith(".json"):
        fix = "write it into pkadvisor.toml: [[review.suppress]] with rule, path, target and reason"
        raise UsageError("JSON has no comments, so nothing can be suppressed in it", where=path, fix=fix)
    document = Document(path, text.removeprefix("\ufeff"))
    going_on = lines_without_comment(document)
    pieces = _BREAKS.split(text)  # text, break, text, break, …
    quoted = reason.replace("\\", "\\\\").replace('"', '\\"')
    for line in sorted(wanted, reverse=True):
        at = 2 * (line - 1)
        ending = f'] reason="{quoted}"'
        same_reason = re.search(rf"(# pkadvisor: ignore\[)([^\]]*){re.escape(ending)}$", pieces[at])
        if same_reason is not None:
            rules = {*wanted[line], *(word.strip() for word in same_reason[2].split(","))}
            pieces[at] = f"{pieces[at][: same_reason.end(1)]}{', '.join(sorted(rules))}{ending}"
            continue
        comment = f"# pkadvisor: ignore[{', '.join(sorted(set(wanted[line])))}{ending}"
        if line not in going_on:
            blanks = "" if pieces[at][-2:].isspace() else "  "
            pieces[at] += blanks + comment
        else:
            indent = pieces[at][: len(pieces[at]) - len(pieces[at].lstrip(" "))]
            end = pieces[at + 1] if at + 1 < len(pieces) else "\n"
            pieces[at] = f"{indent}{comment}{end}{pieces[at]}"
    made = "".join(pieces)
    if Document(path, made.removeprefix("\ufeff")).content != document.content:
        what = "a comment cannot be added without changing what the design says"
        raise UsageError(what, where=path, fix="write the suppressions by hand, on lines of their own")
    return made
