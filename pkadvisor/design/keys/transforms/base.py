"""What every transform stands on: canonical text, escapes, the form of a missing value, and the base classes.

Canonical text: a string as it is, an integer without padding, ``true``/``false``, a Guid in lower case, a time as UTC
``yyyy-MM-ddTHH:mm:ss.fffffffZ``, bytes as lower-case hex, and a double as the fewest digits that read back as it:
``0.1`` and ``1.0`` from 10^-4 to below 10^16, ``1e-05`` and ``1.5e+16`` beyond, ``INF``, ``-INF``, ``NaN``;
-0.0 is 0.0.
Escape: ``~`` and four upper-case hex digits of each UTF-16 code unit, for ``~`` itself, for what the service forbids in
keys (``/ \\ # ?``, U+0000–U+001F, U+007F–U+009F), for U+FFFF and for the characters of the separators in the same key.
A missing value is ``~-``; an empty string is empty, so the two differ.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar, Union

from pkadvisor.design.keys.transforms.escapes import ESCAPED, escape, escape_expression, unescape
from pkadvisor.design.keys.transforms.languages import ANY, Language, escaped, exactly, fixed_length
from pkadvisor.lazy import pl
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    from datetime import datetime

Value = Union[str, int, float, bool, bytes, None]  # noqa: UP007  (a runtime alias that reads as the table in edm.py)

MISSING = "~-"
ANY_TEXT = r"(?:~-|~[0-9A-F]{4}|[^~]|~(?!-|[0-9A-F]{4}))*?"
"""A pattern for any text, cut only between escapes; the least that fits."""


NAME = r"""[^\W\d](?:[^(){},'"`]*[^(){},'"`\s])?"""
"""A property name that a template holds as it is."""


def shown_name(name: str) -> str:
    """A property name as a template writes it: in backticks where it would not read as a name."""
    return name if re.fullmatch(NAME, name) else "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True, slots=True)
class Context:
    """What an encoding needs to know besides the value: property types and the separators of the key it stands in.

    ``values``: languages that hold the values of properties, where more is known of them than their types.
    """

    types: dict[str, EdmType]
    separators: str = ""
    values: Mapping[str, Language] | None = None

    def edm(self, name: str) -> EdmType:
        """The type of a property; String where unknown."""
        return self.types.get(name, EdmType.STRING)


def completed(text: str, width: int, letters: str, *, upper: bool) -> str | None:
    """The least text of ``width`` letters that is a bound, or lies above it.

    A bound may stop early (``20260101`` of a moment), or have a character that is no letter (``20260101~``). Where it
    goes on behind a whole text, an upper one takes that text in. None where no text follows.
    """
    whole = next((n for n, c in enumerate(text[:width]) if c not in letters), len(text[:width]))
    if not whole:
        return None
    shown, behind = text[:whole], text[whole : whole + 1]
    above = next((c for c in letters if c > behind), None) if behind and whole < width else letters[0]
    if above is None or (upper and behind and whole == width):
        shown = _counted_up(shown, letters)
        above = letters[0]
    return (shown + above).ljust(width, letters[0])[:width] if shown else None


def _counted_up(text: str, letters: str) -> str:
    """The next text of the same length; empty behind the last."""
    for place in range(len(text) - 1, -1, -1):
        if text[place] != letters[-1]:
            return text[:place] + letters[letters.index(text[place]) + 1] + letters[0] * (len(text) - place - 1)
    return ""


Atom = tuple[str, ...]
"""A grouping of rows that a part makes: ('p', property) · ('t', property, unit) · ('h', property, n) · ('f', text of
another function of properties) · ('m', number of a constant condition) · ('s',) a sequence."""


class Transform:
    """A piece of key, which answers for itself whatever the planner, the cost model and the review ask of it.

    ``injective``: different values give different texts. ``decodes``: ``decode`` gives back what was encoded.
    ``reads`` are the types of property that it takes; None for all. ``usual_type``: the type of a property of which
    nothing is known. ``tells_time``: it writes a moment of a DateTime, or its period. ``assigned``: the application
    gives it out. ``folds_case``: texts that differ in case become one. ``changes_text``: it writes text made of text.
    """

    __slots__ = ()
    function: ClassVar[str] = ""
    takes: ClassVar[tuple[str, ...]] = ()
    """What its arguments in a template are, in their order: ``property``, ``source``, ``integer``, ``format``, text."""
    integers: ClassVar[tuple[int, int]] = (0, 0)
    """The least and the greatest number that it takes."""
    makes_source: ClassVar[bool] = False
    """Whether it may stand inside another function: it makes text of a property."""
    injective: ClassVar[bool] = True
    decodes: ClassVar[bool] = True
    reads: ClassVar[tuple[EdmType, ...] | None] = None
    usual_type: ClassVar[EdmType | None] = None
    tells_time: ClassVar[bool] = False
    assigned: ClassVar[bool] = False
    folds_case: ClassVar[bool] = False
    changes_text: ClassVar[bool] = False
    rises_within: ClassVar[tuple[str, ...]] = ()
    """The units of time within which its text rises with the value, though not beyond them."""
    ends: ClassVar[tuple[str, str]] = ("-", ":")
    """A character below all and one above all with which the text of a number within its limits begins."""

    @builtins.property
    def properties(self) -> tuple[str, ...]:
        """The properties read, each once."""
        return ()

    @builtins.property
    def constant(self) -> str | None:
        """The text that the part has in every key; None where it depends on the entity."""
        return None

    @builtins.property
    def plain_property(self) -> str:
        """The property whose canonical text the part is; empty for every other part."""
        return ""

    @builtins.property
    def padded_width(self) -> int:
        """The digits to which a whole number is padded; 0 where none is."""
        return 0

    @builtins.property
    def period(self) -> PeriodPart | None:
        """The part as a period of time; None where it is none."""
        return None

    @builtins.property
    def clock_unit(self) -> str:
        """The finest unit of the time of day that it writes, such as ``minute``; empty for every other part."""
        return ""

    @builtins.property
    def coarse_unit(self) -> str:
        """The unit of a time of day that leaves the seconds out; empty for every other part."""
        return self.clock_unit if self.clock_unit in ("hour", "minute") else ""

    @builtins.property
    def hashing(self) -> HashPart | None:
        """The part as a hash; None where it is none."""
        return None

    @builtins.property
    def bucket_count(self) -> int | None:
        """How many numbered buckets it makes; None where it makes none."""
        return None

    @builtins.property
    def bucketed(self) -> Escaped | None:
        """What it divides into numbered buckets: a property, or its text in lower case; None for every other part."""
        return None

    @builtins.property
    def several(self) -> ListPart | None:
        """The part as one value of several, with a row for each; None where there is one row for an entity."""
        return None

    @builtins.property
    def text_source(self) -> Transform | None:
        """What makes the text that the part changes or hashes; None where it makes its text of a value."""
        return None

    @builtins.property
    def beginning(self) -> Transform | None:
        """The part with which its text begins, where it is made of others' texts in their order; else None."""
        return None

    @builtins.property
    def first_characters(self) -> int | None:
        """After how many characters the text of its source is cut; None where it is whole."""
        return None

    @builtins.property
    def atom(self) -> Atom | None:
        """The grouping of rows that it makes; None for constant text."""
        return ("f", str(self))

    def over(self, source: Transform) -> Transform | None:
        """The part made of another's text in place of that of its one property; None where it takes no text."""
        return None

    def reads_case(self, name: str) -> bool:
        """Whether texts of a property that differ in case alone may have different texts."""
        return name in self.properties

    def text_behind(self, plain: str) -> str | None:
        """The text of its property behind a text that is no longer escaped, as far as case is left; None where more of
        it is lost."""
        return None

    @builtins.property
    def tells_folded(self) -> bool:
        """Whether it tells of the text of a property all but the case."""
        folds = len(self.properties) == 1 and not self.reads_case(self.properties[0])
        return folds and self.text_behind("") is not None

    def keeps_apart(self, context: Context) -> bool:
        """Whether different values have different texts, for the types at hand."""
        return self.injective

    def limits(self, context: Context) -> tuple[int, int] | None:
        """The least and the greatest whole number that keep their order; None where there is no such limit."""
        return None

    def beyond(self, value: int, context: Context) -> str:
        """A text below or above every number in its limits, for a bound that lies outside of them; else empty."""
        limits = self.limits(context)
        if limits is None or limits[0] <= value <= limits[1]:
            return ""
        above = (value > limits[1]) != (self.order(context) < 0)
        return self.ends[1] if above else self.ends[0]

    def disorder(self, context: Context, fits: Callable[[str, int], bool]) -> str:
        """Why the order of its texts is not that of the values; ``fits`` tells whether all have so many digits."""
        return f"{self.function} keeps no order"

    def encode(self, values: dict[str, Value], context: Context) -> str:
        """The key text of one entity."""
        raise NotImplementedError

    def expression(self, context: Context) -> pl.Expr:
        """``encode`` over columns."""
        raise NotImplementedError

    def plain_expression(self, context: Context) -> pl.Expr:
        """Its text over columns before it is escaped; null where missing."""
        raise NotImplementedError

    def decode(self, text: str, context: Context) -> object:
        """The value behind key text, None where it is missing; ValueError where it cannot be read."""
        raise NotImplementedError

    def decode_column(self, texts: pl.Series, context: Context, dtype: pl.DataType) -> pl.Series:
        """``decode`` of each text as a column of a type; null where there is no text, or none that can be read."""
        distinct = texts.drop_nulls().unique()
        values: list[object] = []
        for text in distinct:
            try:
                values.append(self.decode(text, context))
            except (ValueError, OverflowError):
                values.append(None)
        read = pl.Series(values, dtype=dtype, strict=False)
        return texts.replace_strict(distinct, read, default=None, return_dtype=dtype)

    def first_value(self, text: str, context: Context, *, upper: bool = False) -> object:
        """The value at which a range of keys begins, or with ``upper`` before which it ends, that is bounded by a text.

        The text may stop within that of the part (``20260101`` of a period to the second), or go on behind it. None
        where the text says nothing of the value.
        """
        return None

    def order(self, context: Context) -> int:
        """+1 if key text rises with the value, -1 if it falls, 0 if text order means nothing."""
        return 0

    def texts(self, context: Context) -> Language:
        """A language that holds every text that ``encode`` can give."""
        return ANY

    def usual_length(self, context: Context) -> int | None:
        """Characters of a text that is not that of a missing value; None where they differ.

        Padded numbers have the digits that they are padded to, although one may outgrow them.
        """
        return fixed_length(self.texts(context))

    def shape(self, context: Context) -> str:
        """A pattern of the texts of fixed width, tried before any text; empty where there is no fixed width."""
        return ""

    def fixed_width(self, context: Context) -> bool:
        """Whether every text but that of a missing value has the same length."""
        return bool(self.shape(context))

    def pattern(self, context: Context) -> str:
        """What the part looks like in a key: its fixed width first, then any text, for keys written otherwise."""
        shape = self.shape(context)
        return f"{shape}|{ANY_TEXT}" if shape else ANY_TEXT

    def renamed(self, names: dict[str, str]) -> Transform:
        """The same transform of other properties."""
        return self


class Escaped(Transform):
    """A transform whose text is escaped in a key; a missing value is ``~-``."""

    __slots__ = ()

    def plain(self, values: dict[str, Value], context: Context) -> str | None:
        """The text before it is escaped; None where the value is missing."""
        raise NotImplementedError

    def plain_texts(self, context: Context) -> Language:
        """A language that holds every text before it is escaped."""
        return ANY

    def usual_length(self, context: Context) -> int | None:
        return fixed_length(self.plain_texts(context))

    def texts(self, context: Context) -> Language:
        plain = self.plain_texts(context)
        shown = escaped(plain, (*ESCAPED, *context.separators)) if self.escapes(context) else plain
        return (*shown, *exactly(MISSING))

    def escapes(self, context: Context) -> bool:
        """Whether the text may hold characters that must be escaped."""
        return False

    def encode(self, values: dict[str, Value], context: Context) -> str:
        plain = self.plain(values, context)
        if plain is None:
            return MISSING
        return escape(plain, context.separators) if self.escapes(context) else plain

    def expression(self, context: Context) -> pl.Expr:
        plain = self.plain_expression(context)
        escaped = escape_expression(plain, context.separators) if self.escapes(context) else plain
        return escaped.fill_null(MISSING)

    def decode(self, text: str, context: Context) -> object:
        if text == MISSING:
            return None
        return self.value_of(unescape(text), context)

    def value_of(self, plain: str, context: Context) -> object:
        """The value behind text that is no longer escaped."""
        raise ValueError(f"{self.function} cannot be undone")


class Unary(Escaped):
    """A transform of one property."""

    __slots__ = ()
    property: str

    @builtins.property
    def properties(self) -> tuple[str, ...]:
        return (self.property,)

    @builtins.property
    def atom(self) -> Atom | None:
        return ("p", self.property)

    def plain(self, values: dict[str, Value], context: Context) -> str | None:
        value = values.get(self.property)
        return None if value is None else self.text_of(value, context)

    def text_of(self, value: Value, context: Context) -> str:
        """The text of a value that is present, before it is escaped."""
        raise NotImplementedError

    def renamed(self, names: dict[str, str]) -> Transform:
        from dataclasses import replace

        return replace(self, property=names.get(self.property, self.property))  # type: ignore[type-var]


class PeriodPart(Unary):
    """A period of time, by a pattern."""

    __slots__ = ()
    format: str

    @builtins.property
    def period(self) -> PeriodPart | None:
        return self

    @builtins.property
    def unit(self) -> str:
        """The finest unit of the period, such as ``day``."""
        raise NotImplementedError

    @builtins.property
    def to_the_second(self) -> bool:
        """Whether the period is so short that it stands for the moment itself."""
        raise NotImplementedError

    def last_moment(self, first: datetime) -> datetime:
        """The last microsecond of the period that begins with a moment."""
        raise NotImplementedError


class ListPart(Unary):
    """One value of several, with a row for each."""

    __slots__ = ()

    @builtins.property
    def several(self) -> ListPart | None:
        return self

    def values_of(self, value: Value) -> tuple[str, ...]:
        """The distinct values in a property, in the order in which they stand; none for a missing property."""
        raise NotImplementedError


class HashPart(Transform):
    """A hash: one of so many texts, in no order."""

    __slots__ = ()

    @builtins.property
    def hashing(self) -> HashPart | None:
        return self

    @builtins.property
    def buckets_total(self) -> int:
        """How many texts there are."""
        raise NotImplementedError

    def buckets(self) -> list[str]:
        """Every bucket's text, in order."""
        raise NotImplementedError

    def last(self) -> str:
        """The last bucket's text."""
        raise NotImplementedError

    def hashed(self, text: str) -> str:
        """The key text for a canonical text."""
        raise NotImplementedError
