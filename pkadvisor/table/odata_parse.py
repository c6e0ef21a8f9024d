r"""From ``$filter`` text to the tree, with an error that points at the place and says what to write instead.

What a property may be called: as a C# identifier (ECMA-334, 6.4.3), which the Table service asks of names.

Such a name goes on with characters that Python's ``\w`` does not know: combining marks, which many scripts cannot be
written without, joiners, and connecting punctuation.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, NoReturn, cast

from pkadvisor.errors import caret, did_you_mean
from pkadvisor.table.edm import KEYS, EdmType, TypedValue, parse_literal
from pkadvisor.table.filters import (
    TICKS_PER_UNIT,
    And,
    Comparison,
    Filter,
    FilterLimitError,
    FilterSyntaxError,
    Not,
    Operand,
    Operator,
    Or,
    Parameter,
    comparison_count,
)

if TYPE_CHECKING:
    from lark import Lark, Token, Tree
    from lark.exceptions import UnexpectedInput

    Node = Tree[Token] | Token

_BEGINS = frozenset(("Lu", "Ll", "Lt", "Lm", "Lo", "Nl"))
_MARKS = frozenset(("Mn", "Mc", "Cf", "Pc"))
_GOES_ON = _BEGINS | _MARKS | {"Nd"}
_PLANES = (range(0x80, 0x20000), range(0xE0000, 0xE1000))
"""Where Unicode has such marks: the planes between hold ideographs only."""

_ODD = re.compile(r"[^\w\x00-\x7f]")


def is_property_name(name: str) -> bool:
    """Whether a name follows the rules. How long it may be is not asked here."""
    if not name or not (name[0] == "_" or unicodedata.category(name[0]) in _BEGINS):
        return False
    return all(unicodedata.category(character) in _GOES_ON for character in name)


def as_property_name(name: str) -> str:
    """A name that follows the rules, with ``_`` for what no property name holds: ``Cost_Total`` for ``Cost Total $``.

    Dots stay, as in ``PM2.5`` and between the names of nested properties.
    """
    if is_property_name(name):
        return name
    spaced = "".join(c if c == "." or unicodedata.category(c) in _GOES_ON else " " for c in name)
    out = "_".join(spaced.split()) or "_"
    return out if is_property_name(out[0]) else f"_{out}"


def may_have_marks(text: str) -> bool:
    """Whether a text holds anything that is neither ASCII nor a letter or digit: else no mark is in it."""
    return not text.isascii() and _ODD.search(text) is not None


def with_marks(pattern: str) -> str:
    r"""A regular expression in whose character classes each ``\w`` stands for the marks, too.

    It is for texts that may have marks: to find them all takes some hundredths of a second, once.
    """
    return pattern.replace(r"\w", r"\w" + _marks())


@cache
def _marks() -> str:
    """The marks as ranges of a character class."""
    ranges: list[list[int]] = []
    for plane in _PLANES:
        for point in plane:
            if unicodedata.category(chr(point)) in _MARKS:
                if ranges and ranges[-1][1] == point - 1:
                    ranges[-1][1] = point
                else:
                    ranges.append([point, point])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


MAX_CHARACTERS = 65_536
"""Longest text that is parsed; a request line of the service holds about half of it."""
MAX_NESTING = 100
"""Deepest nesting of parentheses and ``not``: far beyond what 15 comparisons need, far below Python's own stack."""

KEYWORDS = ("eq", "ne", "gt", "ge", "lt", "le", "and", "or", "not", "true", "false")


@cache
def _parser(marks: bool) -> Lark:
    from pathlib import Path

    from lark import Lark

    grammar = Path(__file__).with_name("odata.lark").read_text(encoding="utf-8")
    if marks:
        grammar = with_marks(grammar)
    return Lark(grammar, parser="lalr", lexer="basic")


def parse(text: str, *, parameters: bool, limit: int | None) -> Filter:
    """The filter that a text says; see ``odata.parse_filter``."""
    from lark.exceptions import UnexpectedInput

    if len(text) > MAX_CHARACTERS:
        raise FilterSyntaxError(
            f"the filter is {len(text):,} characters long; at most {MAX_CHARACTERS:,} are read",
            fix="split it into several requests",
        )
    if not text.strip():
        raise FilterSyntaxError(
            "the filter is empty", fix="leave it out to mean every entity, or write e.g. PartitionKey eq 'a'"
        )
    try:
        tree = _parser(may_have_marks(text)).parse(text)
    except UnexpectedInput as unexpected:
        _explain(text, unexpected)
    result = FilterBuilder(text, parameters).filter(tree, 0)
    if limit is not None and (count := comparison_count(result)) > limit:
        raise FilterLimitError(
            f"the filter has {count} comparisons; the service accepts at most {limit}",
            fix="split it into several requests, for instance one per value or range",
        )
    return result


# -------------------------------------------------------------------------------------------- tree to filter


class FilterBuilder:
    """Turns the parse tree into a filter; holds the text for error messages."""

    def __init__(self, text: str, parameters: bool) -> None:
        self.text = text
        self.parameters = parameters

    def fail(self, what: str, token: Token, fix: str = "") -> NoReturn:
        _fail(self.text, what, token.start_pos or 0, len(token), fix)

    def filter(self, node: Node, depth: int) -> Filter:
        tree = cast("Tree[Token]", node)
        children = tree.children
        if depth > MAX_NESTING:
            token = next((c for c in children if isinstance(c, str)), None)
            at = token.start_pos if token is not None and token.start_pos is not None else 0
            _fail(
                self.text, f"more than {MAX_NESTING} levels of parentheses and not", at, 1, "drop what groups nothing"
            )
        match tree.data:
            case "or_":
                return Or(tuple(self.filter(c, depth) for c in children))
            case "and_":
                return And(tuple(self.filter(c, depth) for c in children))
            case "negation":
                return Not(self.filter(children[1], depth + 1))
            case "group":
                return self.filter(children[1], depth + 1)
            case "bare":
                return self.bare(cast("Token", children[0]))
            case _:
                left, operator, right = cast("list[Token]", children)
                return self.comparison(left, Operator(str(operator)), right)

    def bare(self, token: Token) -> Filter:
        if token.type != "NAME":
            self.fail("a constant alone is no condition", token, "compare a property with it: Name eq constant")
        return Comparison(str(token), Operator.EQ, TypedValue(EdmType.BOOLEAN, True))

    def comparison(self, left: Token, operator: Operator, right: Token) -> Filter:
        for token in (left, right):
            if token.type == "NULL":
                self.fail(
                    "null cannot be compared: the service stores no nulls",
                    token,
                    "leave it out: an absent property matches no comparison",
                )
        if left.type == right.type == "NAME":
            self.fail("two properties cannot be compared", right, self.quote_hint(right))
        if left.type != "NAME" and right.type != "NAME":
            self.fail("a comparison needs a property on one side", left, "write Name eq constant")
        if left.type != "NAME":
            left, operator, right = right, operator.flipped, left
        if self.parameters and (folded := _FOLDED.fullmatch(right)):
            if operator is not Operator.EQ or str(left) in KEYS:
                what = "lower() stands behind eq alone, and not beside a key"
                self.fail(what, right, f"write '{{{folded[1]}}}'")
            operand = self.placeholder(right, f"{{{folded[1]}}}", EdmType.STRING)
            return Comparison(str(left), operator, operand, folded=True)
        return Comparison(str(left), operator, self.operand(right))

    def quote_hint(self, token: Token) -> str:
        if token.lower() in ("true", "false"):
            return f"keywords are lower case: write {token.lower()}"
        if token.lower() == "null":
            return "null is not allowed"
        return f"one side is a constant; if {_clip(token)} is text, quote it: '{_clip(token)}'"

    def operand(self, token: Token) -> Operand:
        if token.type == "PLACEHOLDER":
            if not self.parameters:
                self.fail("a filter that is sent has no placeholders", token, "put the value in its place")
            return self.placeholder(token, token.rstrip("Ll"), EdmType.INT64 if token[-1] in "Ll" else None)
        if self.parameters and token.type == "STRING":
            return self.string(token)
        if self.parameters and token.type == "TYPED" and "{" in token:
            kind, _, body = token.partition("'")
            types = {"datetime": EdmType.DATETIME, "guid": EdmType.GUID}
            if re.fullmatch(r"\{[^{}]*\}", body[:-1]):
                return self.placeholder(token, body[:-1], types.get(kind, EdmType.BINARY))
            if kind != "guid":
                self.fail(f"a placeholder is all of its constant: {kind}'{{x}}'", token)
        try:
            return parse_literal(str(token))
        except ValueError as problem:
            self.fail(str(problem), token, _LITERAL_FIX.get(token.partition("'")[0], ""))

    def string(self, token: Token) -> Operand:
        """A string in a design file: text, and at most one placeholder."""
        before = after = ""
        name: str | None = None
        for piece in re.findall(r"\{\{|\}\}|\{[^{}]*\}|[{}]|[^{}]+", token[1:-1].replace("''", "'")):
            if piece in ("{", "}"):
                self.fail("a brace without its partner", token, "write {{ or }} for a brace that is text")
            if piece[0] == "{" and piece != "{{":
                if name is not None:
                    self.fail(
                        "one string holds one placeholder",
                        token,
                        "filter on the properties themselves; keys are composed from them later",
                    )
                name = piece
                continue
            text = piece[0] if piece in ("{{", "}}") else piece
            before, after = (before + text, after) if name is None else (before, after + text)
        if name is None:
            return TypedValue(EdmType.STRING, before)
        return self.placeholder(token, name, EdmType.STRING, before, after)

    def placeholder(
        self, token: Token, text: str, edm: EdmType | None, prefix: str = "", suffix: str = ""
    ) -> Parameter:
        match = _placeholder(may_have_marks(text)).fullmatch(text)
        if match is None:
            self.fail(
                f"{_clip(text)} is not a placeholder",
                token,
                "write {name}, {name+10}, {name-24h} (s, min, h, d, w) or {name:Int64}",
            )
        name, sign, size, unit, typed = match.groups()
        if typed is not None:
            if edm is not None:
                self.fail("the type of this placeholder is given twice", token)
            edm = _TYPES.get(typed.lower())
            if edm is None:
                fix = did_you_mean(typed, names := tuple(_TYPES.values())) or f"types are {', '.join(names)}"
                self.fail(f"{_clip(typed)} is not a type", token, fix)
        offset: int | float = 0
        offset_ticks = 0
        if size is not None:
            factor = -1 if sign == "-" else 1
            if unit is not None:
                ticks = Decimal(size) * TICKS_PER_UNIT[unit]
                if ticks != ticks.to_integral_value() or ticks > 10**19:
                    self.fail("a time offset is a whole number of 100 ns, below 10^19 of them", token)
                offset_ticks = factor * int(ticks)
            else:
                offset = factor * (int(size) if size.isdigit() else float(size))
        try:
            return Parameter(name, edm, offset, offset_ticks, prefix, suffix)
        except ValueError as problem:
            self.fail(str(problem), token)


_FOLDED = re.compile(r"'\{\s*lower\(\s*([^(){}']*?)\s*\)\s*\}'")
_TYPES = {t.value.lower(): t for t in EdmType}  # design files write them in lower case
_PLACEHOLDER_TEXT = (
    r"\{\s*([^\W\d][\w]*(?:\.[\w]+)*)\s*"
    r"(?:([+-])\s*([0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,3})?)\s*(s|min|h|d|w)?\s*)?"
    r"(?::\s*([\w]+)\s*)?\}"
)


@cache
def _placeholder(marks: bool) -> re.Pattern[str]:
    return re.compile(with_marks(_PLACEHOLDER_TEXT) if marks else _PLACEHOLDER_TEXT)


_LITERAL_FIX = {
    "datetime": "write datetime'2008-07-10T00:00:00Z'",
    "guid": "write guid'a455c695-df98-5678-aaaa-81d3367e5a34'",
}


# --------------------------------------------------------------------------------------------------- errors


def _clip(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"


def _fail(text: str, what: str, column: int, width: int = 1, fix: str = "") -> NoReturn:
    raise FilterSyntaxError(what, fix=fix, excerpt=caret(text, column, max(1, width)), column=column) from None


_SYMBOLS = {
    "==": "eq",
    "=": "eq",
    "!=": "ne",
    "<>": "ne",
    "<=": "le",
    ">=": "ge",
    "<": "lt",
    ">": "gt",
    "&&": "and",
    "&": "and",
    "||": "or",
    "|": "or",
    "!": "not",
}
_STRING = re.compile(r"'(?:[^']|'')*+'")
_SYMBOL = re.compile(r"==+|!=+|<>|<=|>=|&&|\|\||[=<>&|!]")
_PREFIX_FIX = "a prefix is a range: Name ge 'A' and Name lt 'B'"
_FUNCTIONS = {"startswith": _PREFIX_FIX, "like": _PREFIX_FIX}
_FOREIGN = {
    "is": "write eq",
    "equals": "write eq",
    "like": f"there are no wildcards; {_PREFIX_FIX}",
    "startswith": _PREFIX_FIX,
    "between": "write Name ge … and Name le …",
    "in": "write one eq per value: Name eq 'a' or Name eq 'b'",
    "has": "there are no functions or flags; compare a property with a constant",
    "contains": "there is no search inside a value; filter on the client",
}
_ARITHMETIC = ("add", "sub", "mul", "div", "mod")


def _explain(text: str, unexpected: UnexpectedInput) -> NoReturn:
    """Raise the most helpful error for the place where parsing stopped."""
    from lark.exceptions import UnexpectedToken

    column = unexpected.pos_in_stream or 0
    if isinstance(unexpected, UnexpectedToken) and unexpected.token.type == "$END":
        _explain_end(text)
    rest = text[column:]
    if symbol := _SYMBOL.match(rest):
        right = _SYMBOLS.get(symbol[0][:2], "eq")
        _fail(text, f"{symbol[0][:5]} is not an operator here", column, len(symbol[0]), f"write {right}")
    match rest[0]:
        case '"':
            _fail(text, "strings take single quotes", column, 1, _quoted(rest))
        case "'":
            _explain_quote(text, column)
        case ")":
            before = _STRING.sub("''", text[:column])
            if before.count("(") > before.count(")"):
                _fail(text, "a comparison is missing before this )", column, 1, "write Name eq constant")
            _fail(text, "this ) closes nothing", column, 1, "remove it, or open it before")
        case "(":
            _explain_call(text, column)
        case "%" | "+":
            _fail(text, "the filter still carries URL encoding", column, 1, "decode it first: %20 and + are blanks")
        case "{" | "}":
            _fail(text, "a brace is not expected here", column, 1, "placeholders look like '{name}' or {name}")
    word = re.match(r"-?[\w.]+", rest)
    if word is None:
        _fail(text, f"{rest[0]!r} is not expected here", column)
    _explain_word(text, column, word[0])


def _tail(text: str, column: int) -> str:
    """The text just before a column: bounded, so that looking backwards stays cheap in a hostile text."""
    return text[max(0, column - 300) : column]


def _explain_quote(text: str, column: int) -> NoReturn:
    if not _STRING.match(text, column):
        fix = "close it with ' and write a quote inside it twice: 'o''clock'"
        _fail(text, "this string is never closed", column, 1, fix)
    if kind := re.search(r"[^\W\d]\w*$", _tail(text, column)):
        hint = did_you_mean(kind[0], ("datetime", "guid", "binary")) or "the kinds are datetime, guid, binary and X"
        _fail(text, f"{_clip(kind[0])}'…' is not a kind of constant", column - len(kind[0]), len(kind[0]), hint)
    _fail(text, "a string is not expected here", column, 1, "join comparisons with and, or")


def _explain_call(text: str, column: int) -> NoReturn:
    name = re.search(r"([^\W\d][\w.]*)\s*$", _tail(text, column))
    if name is None or name[1] in KEYWORDS:
        _fail(text, "a ( is not expected here", column, 1, "compare a property with one constant; join with and, or")
    start, low = column - len(name[0]), name[1].lower()
    if low in KEYWORDS:
        _fail(text, f"keywords are lower case: {name[1]}", start, len(name[1]), f"write {low}")
    fix = _FUNCTIONS.get(low, "compare a property with a constant; filter further on the client")
    _fail(text, f"the service has no functions such as {_clip(name[1])}", start, len(name[1]), fix)


def _explain_word(text: str, column: int, word: str) -> NoReturn:
    low, shown, before = word.lower(), _clip(word), _tail(text, column).rstrip()
    if low in KEYWORDS and low != word:
        _fail(text, f"keywords are lower case: {shown}", column, len(word), f"write {low}")
    if before.endswith("'") and not text[column - 1].isspace():
        fix = "write a quote inside a string twice: 'o''clock'"
        _fail(text, "the string ends before this", column, len(word), fix)
    if low in _FOREIGN:
        _fail(text, f"{shown} is not an operator of the service", column, len(word), _FOREIGN[low])
    if low in _ARITHMETIC:
        _fail(text, "the service does not calculate", column, len(word), "compare a property with a constant")
    if word[0] in "-0123456789":
        if re.search(r"\b(?:eq|ne|gt|ge|lt|le)$", before):
            _fail(text, f"{shown} is not a number", column, len(word), "write 5, 5L, 5.0, or quote it if it is text")
        _fail(text, f"{shown} is not expected here", column, len(word), "join comparisons with and, or")
    if word in KEYWORDS:
        _fail(text, f"{word} is not expected here", column, len(word), "a comparison is: Name operator constant")
    after_property = re.search(r"[\w.]$", before) and not re.search(r"\b(?:eq|ne|gt|ge|lt|le)\s+\S+$", before)
    known = KEYWORDS[:6] if after_property else ("and", "or")
    what = f"{shown} is not an operator" if after_property else f"{shown} is not expected here"
    _fail(text, what, column, len(word), did_you_mean(word, known) or f"expected {' '.join(known)}")


def _explain_end(text: str) -> NoReturn:
    end = len(text.rstrip())
    bare = _STRING.sub("''", text)
    if re.search(r"(?<![\w.])(?:eq|ne|gt|ge|lt|le)\s*$", bare):
        _fail(text, "the filter ends where a constant is expected", end, 1, "write a constant after the operator")
    if re.search(r"(?<![\w.])(?:and|or|not)\s*$|\(\s*$", bare):
        _fail(text, "the filter ends where a comparison is expected", end, 1, "write Name eq constant")
    _fail(text, "the filter ends before a ( is closed", end, 1, "add )")


def _quoted(rest: str) -> str:
    match = re.match(r'"([^"]*)"', rest)
    if match is None or len(match[1]) > 40:
        return "write 'text'"
    return "write '" + match[1].replace("'", "''") + "'"
