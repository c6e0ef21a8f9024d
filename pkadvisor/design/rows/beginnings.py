"""Whether the keys of one template begin as those of another, as far as the values at hand tell."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from pkadvisor.design.keys.template import languages_of, separators
from pkadvisor.design.keys.transforms import Context, Part
from pkadvisor.design.keys.transforms.languages import ANY, exactly, may_meet

if TYPE_CHECKING:
    import polars as pl

    from pkadvisor.table.edm import EdmType


class Coded(Protocol):
    """A property whose values at hand are known."""

    @property
    def values(self) -> pl.Series:
        """Each value once."""
        ...


class Values(Protocol):
    """The rows at hand, as far as these questions need them."""

    memo: dict[object, Any]
    """Results of pure functions of these rows, kept by whoever computed them."""

    @property
    def types(self) -> Mapping[str, EdmType]:
        """Property types."""
        ...

    @property
    def hashed(self) -> Container[str]:
        """Properties of which only tokens are at hand."""
        ...

    def has(self, name: str) -> bool:
        """Whether the property exists."""
        ...

    def coded(self, name: str) -> Coded:
        """The values of a property."""
        ...


def begins(values: Values, parts: tuple[Part, ...], text: str) -> bool:
    """Whether some key of a template begins with a text."""
    asked = (exactly(text), ANY)
    if not may_meet(languages_of(parts, values.types), asked):
        return False
    if not parts or len(parts[0].properties) != 1:
        return True
    texts = _texts(values, parts, 0)
    if texts is None:  # that a value begins with a label by chance is unlikely
        return False
    if texts.str.starts_with(text).any():
        return True
    shorter = texts.filter(texts.is_in([text[:n] for n in range(len(text))]))
    rest = languages_of(parts, values.types)[1:]
    return any(may_meet(rest, (exactly(text[len(beginning) :]), ANY)) for beginning in shorter.to_list())


def goes_on(values: Values, parts: tuple[Part, ...], place: int, label: str) -> bool:
    """Whether some key of a template begins as one of its part at ``place`` does that a label follows.

    What stands before that part is the same text in all keys. The label may stand in a value, begin at the end of one,
    or come of what follows a value, be it the same one or one that begins another.
    """
    import polars as pl

    rest = languages_of(parts, values.types)[place + 1 :]
    if may_meet(rest, (exactly(label), ANY)):
        return True
    texts = _texts(values, parts, place)
    if texts is None:
        return False
    if texts.str.contains(label, literal=True).any():
        return True
    for cut in range(1, len(label)):
        if may_meet(rest, (exactly(label[cut:]), ANY)) and texts.str.ends_with(label[:cut]).any():
            return True
    # Sorted, everything that continues a text comes right behind it.
    pairs = pl.DataFrame({"one": texts.sort()}).with_columns(pl.col("one").shift(-1).alias("next"))
    longer = pairs.filter(pl.col("next").str.starts_with(pl.col("one")) & (pl.col("one") != ""))
    following = longer.select(pl.col("next").str.slice(pl.col("one").str.len_chars(), 1)).to_series().unique()
    return any(may_meet(rest, (exactly(one), ANY)) for one in following.to_list())


def _texts(values: Values, parts: tuple[Part, ...], place: int) -> pl.Series | None:
    """The texts of a part of one property; None where its values are not at hand."""
    import polars as pl

    part = parts[place]
    name = part.properties[0]
    if not values.has(name) or name in values.hashed:
        return None
    beside = separators(parts)
    memo = ("texts of", part, beside)
    if memo not in values.memo:
        at_hand = pl.DataFrame({name: values.coded(name).values})
        shown = part.expression(Context(dict(values.types), beside)).unique()
        values.memo[memo] = at_hand.select(shown.alias("text")).get_column("text")
    return values.memo[memo]  # type: ignore[no-any-return]
