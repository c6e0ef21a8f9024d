"""Prints every sentence of the source that a user can meet, in the order of files and lines, for a proofreader.

``python -m tests.sentences`` prints all of them; ``python -m tests.sentences report cli rules`` those of places whose
path contains one of the words. A placeholder of an f-string is shown as ``{name}``.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SPOKEN = re.compile(r"[A-Za-z]{2,}[,:;.)'\"*]*\s+[(\"'*{<]*[A-Za-z{]")
"""Two words beside each other, or a word beside a placeholder."""
PATTERN = re.compile(r"\(\?|\\[bdswSWD]|\[\^|^\^|\[[A-Za-z0-9]-")
CODE = re.compile(r"^(SELECT|INSERT|CREATE|DELETE|UPDATE|PRAGMA) |^[.#@&]?[\w-]+ ?\{.*[:;]|[;{]\s*$")
UNREAD_CALLS = frozenset({"compile", "getattr", "setattr", "hasattr", "strftime", "strptime", "TypeVar", "NewType"})


@dataclass(frozen=True)
class Sentence:
    """A text as it stands in the source: path from the root, line from 1, text on one line."""

    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


def python_sentences(path: str, source: str) -> Iterator[Sentence]:
    """String literals with at least two words; without docstrings, types, patterns and assertions."""
    yield from _in_node(path, ast.parse(source))


def _in_node(path: str, node: ast.AST) -> Iterator[Sentence]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.Assert):
        return
    if isinstance(node, ast.Call) and _called(node) in UNREAD_CALLS:
        return
    text = _text(node)
    if text is not None:
        line = " ".join(text.split())
        if SPOKEN.search(line) and not PATTERN.search(line) and not CODE.search(line):
            yield Sentence(path, node.lineno, line)  # type: ignore[attr-defined]
        for inner in _placeholders(node):
            yield from _in_node(path, inner)
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_params"):  # the help of an option stands in a call
            value = (
                [call for call in ast.walk(value) if isinstance(call, ast.Call)] if isinstance(value, ast.AST) else []
            )
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, ast.AST):
                yield from _in_node(path, inner)


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _text(node: ast.AST) -> str | None:
    """The text of a literal, an f-string, or a sum that begins or ends with one; None of anything else."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_text(part) or "" for part in parts)
        case ast.FormattedValue(value=value):
            return "{" + ast.unparse(value).replace("{", "").replace("}", "") + "}"
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            one, other = _text(left), _text(right)
            if one is None and other is None:
                return None
            return "".join(
                "{" + ast.unparse(side) + "}" if text is None else text for side, text in ((left, one), (right, other))
            )
    return None


def _placeholders(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.JoinedStr(values=parts):
            yield from (part.value for part in parts if isinstance(part, ast.FormattedValue))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            for side in (left, right):
                yield from [side] if _text(side) is None else _placeholders(side)


def rule_sentences(path: str, source: str) -> Iterator[Sentence]:
    """The texts of a rule or of a file of limits: titles, reasons, fixes and the messages of its levels."""
    lines = source.splitlines()
    for text in _toml_texts(tomllib.loads(source)):
        first = text.strip().splitlines()[0] if text.strip() else ""
        line = next((at for at, whole in enumerate(lines, 1) if first and first in whole.replace('\\"', '"')), 1)
        yield Sentence(path, line, " ".join(text.split()))


def _toml_texts(table: dict[str, object]) -> Iterator[str]:
    for key, value in table.items():
        if key in ("fail", "pass", "links", "design", "when", "measured", "bad", "good", "url", "against"):
            continue
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict):
                yield from _toml_texts(inner)
            elif isinstance(inner, str) and SPOKEN.search(inner):
                yield inner


def prose_sentences(path: str, source: str) -> Iterator[Sentence]:
    """Paragraphs, items and rows of a page of Markdown; without code blocks and comments."""
    start, words, in_code = 0, [], False
    for at, line in enumerate([*source.splitlines(), ""], 1):
        fence = line.lstrip().startswith("```")
        begins = not line.strip() or fence or re.match(r"\s*([-*|#>]|\d+\.)\s?|<!--", line) is not None
        if (begins or in_code) and words:
            yield from _spoken(path, start, words)
            words = []
        if fence:
            in_code = not in_code
        elif not in_code and line.strip() and not line.startswith("<!--"):
            start = at if not words else start
            words.append(line.strip())


def template_sentences(path: str, source: str) -> Iterator[Sentence]:
    """Text between the tags of a template of the HTML page, line by line."""
    without = re.sub(r"\{#.*?#\}|<(style|script)\b.*?</\1>", lambda hit: "\n" * hit[0].count("\n"), source, flags=re.S)
    for at, line in enumerate(without.splitlines(), 1):
        for text in re.split(r"<[^>]*>|\{%.*?%\}", line):
            yield from _spoken(path, at, [text.strip()])


def _spoken(path: str, line: int, words: list[str]) -> Iterator[Sentence]:
    text = " ".join(words)
    if SPOKEN.search(text):
        yield Sentence(path, line, text)


KINDS = {
    "pkadvisor/**/*.py": python_sentences,
    "rules/**/*.toml": rule_sentences,
    "templates/**/*.html": template_sentences,
    "README.md": prose_sentences,
    "samples/**/*.md": prose_sentences,
    "samples/**/sample.toml": rule_sentences,
    "pkadvisor/manual/*.md": prose_sentences,
}
"""Where sentences are: a pattern of paths, and what reads one file of it."""


BANNED = {
    r"keys? (in use|in place|beside them)": "current keys",
    r"designs? in (use|place)": "current design",
    r"proposed (keys|ones|design)": "recommended keys",
    r"at hand": "sampled, read or given",
    r"head-room": "room for growth, or the share of the target",
    r"bears? (the|this|its) load": "sustains the load",
    r"turned away": "throttled",
    r"(at|of|to|within) the horizon": "after the growth",
    r"flips?( it| if)": "would be better if",
    r"beaten by": "loses to",
    r"h[eo]ld against": "compared with",
    r"(no|what) (key|keys) (that was )?looked at": "no scheme",
    r"whatever else": "(leave it out)",
    r"(is|was|are) told(?! apart)": "is said, is given",
    r"an? surplus": "the number, and of what",
    r"comes to [{<0-9]": "is, reaches",
    r"lies? together under": "is in one partition",
    r"(bib|number|it) sorts as it counts": "sorts as text",
    r"is no (day|list|number|name|text|share|bound|goal|size|folder|baseline)": "is not a ...",
    r"stands? (in no column|twice)": "is not a column, appears twice",
    r"for want of": "missing",
    r"be it ": "whether",
    r"of which (one|some|all)": "two sentences",
    r"hangs on": "depends on",
    r"in question": "(leave it out)",
}
"""Private or unclear words that no sentence may have, as patterns, each with the words to use."""
_ANY = re.compile(rf"\b(?:{'|'.join(BANNED)})")
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_UNREAD = re.compile(r'"""[\s\S]*?"""|^\s*#.*$', re.MULTILINE)
_JOINT = re.compile(r"[\"']\s*\n\s*f?[\"']")
_VALUES = frozenset({"over head-room"})
"""Values of published documents, which stay as they are."""


def unclear(sentence: Sentence) -> str | None:
    """The words to use in place of the first banned one; None of a sentence that has none."""
    text = "" if sentence.text in _VALUES else _PLACEHOLDER.sub("{}", sentence.text).lower()
    return next((use for words, use in BANNED.items() if re.search(rf"\b(?:{words})", text)), None)


def unclear_sentences() -> list[tuple[Sentence, str]]:
    """Sentences with a banned word, and the words to use; reads only files that have such a word anywhere."""
    seen = []
    for pattern, read in KINDS.items():
        for file in sorted(ROOT.glob(pattern)):
            source = file.read_text(encoding="utf-8")
            likely = _UNREAD.sub("", source) if file.suffix == ".py" else source
            if _ANY.search(" ".join(_JOINT.sub("", likely).lower().split())):
                path = file.relative_to(ROOT).as_posix()
                seen += [(one, use) for one in read(path, source) if (use := unclear(one)) is not None]
    return seen


def sentences(words: Iterable[str] = ()) -> list[Sentence]:
    """All sentences, or those whose path contains one of the words."""
    wanted = tuple(words)
    seen: list[Sentence] = []
    for pattern, read in KINDS.items():
        for file in sorted(ROOT.glob(pattern)):
            path = file.relative_to(ROOT).as_posix()
            if not wanted or any(word in path for word in wanted):
                seen.extend(read(path, file.read_text(encoding="utf-8")))
    return seen


if __name__ == "__main__":
    for sentence in sentences(sys.argv[1:]):
        sys.stdout.write(f"{sentence}\n")
