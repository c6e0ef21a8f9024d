"""Text as it is, or changed on the way into a key: lower case, a prefix, reversed, one value of several.

``Lower``, ``Prefix`` and ``Reverse`` take a property or one another; ``Concat`` exists for what is hashed.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, Union

from pkadvisor.design.keys.transforms.base import Atom, Context, Escaped, Transform, Unary, Value, shown_name
from pkadvisor.design.keys.transforms.canonical import (
    canonical_expression,
    canonical_text,
    canonical_texts,
    first_moment,
    read_canonical,
)
from pkadvisor.design.keys.transforms.columns import in_slices
from pkadvisor.design.keys.transforms.languages import Language, cut, exactly, lowered, turned
from pkadvisor.lazy import pl
from pkadvisor.table.edm import EdmType
from pkadvisor.table.filters import lower_case
from pkadvisor.values import dataclass


@dataclass(frozen=True, slots=True)
class Literal(Transform):
    """Fixed text. Its forbidden characters are an error of the template, not escaped."""

    text: str

    @builtins.property
    def constant(self) -> str | None:
        return self.text

    @builtins.property
    def atom(self) -> Atom | None:
        return None

    def encode(self, values: dict[str, Value], context: Context) -> str:
        return self.text

    def expression(self, context: Context) -> pl.Expr:
        return pl.lit(self.text)

    def texts(self, context: Context) -> Language:
        return exactly(self.text)

    def __str__(self) -> str:
        return self.text.replace("{", "{{").replace("}", "}}")


@dataclass(frozen=True, slots=True)
class Field(Unary):
    """The property's canonical text, escaped.

    Laws: injective; ascending for DateTime, Guid, Boolean, Binary and for strings without escapes, in UTF-16 code
    units; not for numbers; decodes.
    """

    property: str

    @builtins.property
    def plain_property(self) -> str:
        return self.property

    def over(self, source: Transform) -> Transform | None:
        return source

    def disorder(self, context: Context, fits: Callable[[str, int], bool]) -> str:
        if context.edm(self.property).numeric:
            return f"{self.property} is a number without padding, and 10 sorts before 2"
        return f"values of {self.property} continue one another, hold escaped characters, or are not known"

    def text_behind(self, plain: str) -> str | None:
        return plain

    def text_of(self, value: Value, context: Context) -> str:
        return canonical_text(value, context.edm(self.property))

    def plain_expression(self, context: Context) -> pl.Expr:
        return canonical_expression(self.property, context.edm(self.property))

    def plain_texts(self, context: Context) -> Language:
        known = context.values.get(self.property) if context.values else None
        return known or canonical_texts(context.edm(self.property))

    def escapes(self, context: Context) -> bool:
        return context.edm(self.property) is EdmType.STRING or bool(context.separators)

    def value_of(self, plain: str, context: Context) -> object:
        return read_canonical(plain, context.edm(self.property))

    def decode_column(self, texts: pl.Series, context: Context, dtype: pl.DataType) -> pl.Series:
        if context.edm(self.property) is EdmType.STRING and not texts.str.contains("~", literal=True).any():
            return texts
        return super().decode_column(texts, context, dtype)

    def first_value(self, text: str, context: Context, *, upper: bool = False) -> object:
        edm = context.edm(self.property)
        if edm is EdmType.DATETIME and not any(
            c.isdigit() for c in context.separators
        ):  # escapes of digits do not rise
            return first_moment(text, lambda moment: self.encode({self.property: moment}, context), upper=upper)
        if edm is not EdmType.STRING or "~" in text:  # escapes do not sort as what they mean
            return None
        end = next((n for n, c in enumerate(text) if c in context.separators), len(text))
        value = text[:end]
        return f"{value}\0" if upper and end < len(text) else value  # the least text above a whole value

    def order(self, context: Context) -> int:
        return 0 if context.edm(self.property).numeric else 1

    def __str__(self) -> str:
        return f"{{{shown_name(self.property)}}}"


class OfSource(Transform):
    """What is made of the text of a property or of another transform: its ``source``."""

    __slots__ = ()
    source: Source
    decodes: ClassVar[bool] = False

    @builtins.property
    def properties(self) -> tuple[str, ...]:
        return part_of_source(self.source).properties

    @builtins.property
    def text_source(self) -> Transform | None:
        return part_of_source(self.source)

    def over(self, source: Transform) -> Transform | None:
        return replace(self, source=source.plain_property or source) if isinstance(self.source, str) else None  # type: ignore[type-var]

    def reads_case(self, name: str) -> bool:
        return part_of_source(self.source).reads_case(name)

    def renamed(self, names: dict[str, str]) -> Transform:
        return replace(self, source=renamed_source(self.source, names))  # type: ignore[type-var]


class TextOf(OfSource, Escaped):
    """What transforms of text to text share."""

    __slots__ = ()
    changes_text: ClassVar[bool] = True
    makes_source: ClassVar[bool] = True
    takes: ClassVar[tuple[str, ...]] = ("source",)

    def plain(self, values: dict[str, Value], context: Context) -> str | None:
        text = part_of_source(self.source).plain(values, context)
        return None if text is None else self.changed(text)

    def changed(self, text: str) -> str:
        """The transform of one text."""
        raise NotImplementedError

    def plain_expression(self, context: Context) -> pl.Expr:
        return self.changed_expression(part_of_source(self.source).plain_expression(context))

    def changed_expression(self, text: pl.Expr) -> pl.Expr:
        """``changed`` over a column."""
        raise NotImplementedError

    def escapes(self, context: Context) -> bool:
        return True


_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Lower(TextOf):
    """Lower case of A to Z alone: beyond ASCII, languages and Unicode versions disagree, and a key must not.

    Laws: not injective (``A`` and ``a`` share a key: that is what it is for); idempotent.
    """

    source: Source
    injective: ClassVar[bool] = False
    folds_case: ClassVar[bool] = True
    function: ClassVar[str] = "lower"

    @builtins.property
    def beginning(self) -> Transform | None:
        return self.text_source

    def changed(self, text: str) -> str:
        return lower_case(text)

    def reads_case(self, name: str) -> bool:
        return False

    def text_behind(self, plain: str) -> str | None:
        return part_of_source(self.source).text_behind(plain)

    def changed_expression(self, text: pl.Expr) -> pl.Expr:
        return text.str.replace_many(list(_UPPER), list(_UPPER.lower()))

    def plain_texts(self, context: Context) -> Language:
        return lowered(part_of_source(self.source).plain_texts(context))

    def __str__(self) -> str:
        return f"{{lower({source_name(self.source)})}}"


@dataclass(frozen=True, slots=True)
class Prefix(TextOf):
    """The first ``count`` characters (code points, so that no surrogate pair is cut).

    Laws: not injective; ascending (not strictly) where the text itself is.
    """

    source: Source
    count: int
    injective: ClassVar[bool] = False
    function: ClassVar[str] = "prefix"
    takes: ClassVar[tuple[str, ...]] = ("source", "integer")
    integers: ClassVar[tuple[int, int]] = (1, 512)

    @builtins.property
    def beginning(self) -> Transform | None:
        return self.text_source

    @builtins.property
    def first_characters(self) -> int | None:
        return self.count

    def changed(self, text: str) -> str:
        return text[: self.count]

    def changed_expression(self, text: pl.Expr) -> pl.Expr:
        return text.str.head(self.count)

    def plain_texts(self, context: Context) -> Language:
        return cut(part_of_source(self.source).plain_texts(context), self.count)

    def __str__(self) -> str:
        return f"{{prefix({source_name(self.source)},{self.count})}}"


@dataclass(frozen=True, slots=True)
class Reverse(TextOf):
    """The characters (code points) of the text, last first: consecutive numbers spread over all last digits.

    Laws: injective where the source is; no order; decodes over a property.
    """

    source: Source
    function: ClassVar[str] = "reverse"

    @builtins.property
    def decodes(self) -> bool:  # type: ignore[override]
        """Over a property; what a function made cannot be undone."""
        return isinstance(self.source, str)

    @builtins.property
    def injective(self) -> bool:  # type: ignore[override]
        """Whether the source is."""
        return isinstance(self.source, str) or self.source.injective

    @builtins.property
    def atom(self) -> Atom | None:
        """Equal texts have equal reverses."""
        return ("p", self.source) if isinstance(self.source, str) else ("f", str(self))

    def changed(self, text: str) -> str:
        return text[::-1]

    def changed_expression(self, text: pl.Expr) -> pl.Expr:
        def reversed_texts(texts: pl.Series) -> pl.Series:
            # polars reverses grapheme clusters; code points are what other languages agree on.
            return pl.Series([one[::-1] for one in texts.to_list()], dtype=pl.String)

        return text.map_batches(
            lambda texts: in_slices(texts, reversed_texts), return_dtype=pl.String, is_elementwise=True
        )

    def text_behind(self, plain: str) -> str | None:
        return part_of_source(self.source).text_behind(plain[::-1])

    def value_of(self, plain: str, context: Context) -> object:
        if not isinstance(self.source, str):
            raise ValueError("reverse over a function cannot be undone")
        return read_canonical(plain[::-1], context.edm(self.source))

    def plain_texts(self, context: Context) -> Language:
        return turned(part_of_source(self.source).plain_texts(context))

    def __str__(self) -> str:
        return f"{{reverse({source_name(self.source)})}}"


@dataclass(frozen=True, slots=True)
class Concat(TextOf):
    """Several texts as one, to be hashed: what the key ``{a}_{b}`` would be, for ``concat(a,'_',b)``.

    Laws: injective where quoted text stands between the properties, since its characters are escaped inside them.
    """

    items: tuple[Source | Literal, ...]
    function: ClassVar[str] = "concat"
    takes: ClassVar[tuple[str, ...]] = ("source…",)

    @builtins.property
    def text_source(self) -> Transform | None:
        return None  # there are several

    @builtins.property
    def beginning(self) -> Transform | None:
        first = next((item for item in self.items if not isinstance(item, Literal)), None)
        return None if first is None else part_of_source(first)

    def over(self, source: Transform) -> Transform | None:
        return None

    @builtins.property
    def injective(self) -> bool:  # type: ignore[override]
        """Whether text stands between all variable items, and each of them is injective."""
        for left, right in zip(self.items, self.items[1:], strict=False):
            if not isinstance(left, Literal) and not isinstance(right, Literal):
                return False
        return all(isinstance(i, str) or i.injective for i in self.items)

    @builtins.property
    def properties(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for item in self.items for name in part_of_item(item).properties))

    def _inside(self, context: Context) -> Context:
        """The context of the items: as in a key, text that follows a property is escaped inside of properties."""
        first = next((n for n, item in enumerate(self.items) if not isinstance(item, Literal)), 0)
        following = "".join(item.text for item in self.items[first:] if isinstance(item, Literal))
        return replace(context, separators=following)

    def plain(self, values: dict[str, Value], context: Context) -> str | None:
        inside = self._inside(context)
        return "".join(part_of_item(item).encode(values, inside) for item in self.items)

    def plain_expression(self, context: Context) -> pl.Expr:
        inside = self._inside(context)
        return pl.concat_str([part_of_item(item).expression(inside) for item in self.items])

    def reads_case(self, name: str) -> bool:
        return any(part_of_item(item).reads_case(name) for item in self.items)

    def renamed(self, names: dict[str, str]) -> Transform:
        return replace(self, items=tuple(i if isinstance(i, Literal) else renamed_source(i, names) for i in self.items))

    def __str__(self) -> str:
        shown = [
            "'" + i.text.replace("'", "''") + "'" if isinstance(i, Literal) else source_name(i) for i in self.items
        ]
        return f"{{concat({','.join(shown)})}}"


Source = Union[str, Escaped]  # noqa: UP007  (a runtime alias)
"""What a transform of text takes: the name of a property, or a transform that makes text of one."""


def part_of_source(source: Source) -> Escaped:
    """A source as a part: a property is its canonical text."""
    return Field(source) if isinstance(source, str) else source


def part_of_item(item: Source | Literal) -> Transform:
    """A source, or the text between two, as a part."""
    return item if isinstance(item, Literal) else part_of_source(item)


def source_name(source: Source) -> str:
    """A source as a template writes it inside a function."""
    return shown_name(source) if isinstance(source, str) else str(source)[1:-1]


def renamed_source(source: Source, names: dict[str, str]) -> Source:
    """The same source of other properties."""
    return names.get(source, source) if isinstance(source, str) else source.renamed(names)  # type: ignore[return-value]
