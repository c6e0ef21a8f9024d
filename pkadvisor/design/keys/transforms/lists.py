"""One value of a property that holds several, a row for each."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import ClassVar

from pkadvisor.design.keys.transforms.base import Context, ListPart, Value, shown_name
from pkadvisor.lazy import pl
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass


@dataclass(frozen=True, slots=True)
class Each(ListPart):
    """One value of a multi-valued property, a row for each: an index row that finds entities by any of their values.

    The property holds a JSON array of strings or numbers, or text that ``delimiter`` divides; blanks around a delimited
    value are not part of it. The empty list makes no row. As a value it is text: what is written and asked is the same.
    """

    property: str
    delimiter: str = ""
    function: ClassVar[str] = "each"
    takes: ClassVar[tuple[str, ...]] = ("property", "[text]")
    reads: ClassVar[tuple[EdmType, ...] | None] = (EdmType.STRING,)

    def disorder(self, context: Context, fits: Callable[[str, int], bool]) -> str:
        return "an entity has several values"

    def values_of(self, value: Value) -> tuple[str, ...]:
        if value is None:
            return ()
        text = str(value)
        if self.delimiter:
            pieces = [piece.strip() for piece in text.split(self.delimiter)]
            return tuple(dict.fromkeys(piece for piece in pieces if piece))
        if not text.strip():
            return ()
        try:
            items = json.loads(text)
        except ValueError:
            return (text,)
        if not isinstance(items, list):
            return (text,)
        return tuple(dict.fromkeys(_text_of_item(item) for item in items if item is not None))

    def text_of(self, value: Value, context: Context) -> str:
        return str(value)

    def plain_expression(self, context: Context) -> pl.Expr:
        return pl.col(self.property)

    def escapes(self, context: Context) -> bool:
        return True

    def value_of(self, plain: str, context: Context) -> object:
        return plain

    def order(self, context: Context) -> int:
        return 1

    def __str__(self) -> str:
        tail = ",'" + self.delimiter.replace("'", "''") + "'" if self.delimiter else ""
        return f"{{each({shown_name(self.property)}{tail})}}"


def _text_of_item(item: object) -> str:
    return item if isinstance(item, str) else json.dumps(item, separators=(",", ":"), ensure_ascii=False)
