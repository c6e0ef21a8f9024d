"""Numbers as text that sorts as they do: padded, counted down, in a fixed width, or assigned by the application."""

from __future__ import annotations

import builtins
import re
import struct
from collections.abc import Callable
from functools import lru_cache
from typing import ClassVar

from pkadvisor.design.keys.transforms.base import Atom, Context, Transform, Unary, Value, completed, shown_name
from pkadvisor.design.keys.transforms.canonical import moment_of, read_whole, ticks_column
from pkadvisor.design.keys.transforms.columns import in_slices, least_and_greatest, over_span
from pkadvisor.design.keys.transforms.languages import ANY, DIGITS, HEX, Language, Run, digits
from pkadvisor.lazy import U64, np, pl
from pkadvisor.table.edm import RANGES, EdmType
from pkadvisor.values import dataclass

WHOLE = (EdmType.INT32, EdmType.INT64)
WIDTH_MAX = 38
"""10^38 is what a 128-bit column holds."""
_NARROW = 18
"""Up to this many digits a padding and its complement fit into 64 bits."""


def _pad(number: int, width: int) -> str:
    """Zero-padded; below zero a ``-`` and the complement, so that order is kept (``-`` sorts before digits)."""
    return f"{number:0{width}d}" if number >= 0 else f"-{10**width + number:0{width}d}"


def _pad_column(number: pl.Expr, width: int) -> pl.Expr:
    """``_pad`` over a column of whole numbers."""

    def padded(numbers: pl.Series) -> pl.Series:
        low, high = least_and_greatest(numbers)
        if low >= 0 and width <= _NARROW and high < 10**width:
            # A digit in front that is cut off again takes half the time of filling up with zeros.
            return (numbers.cast(pl.Int64) + int(10**width)).cast(pl.String).str.slice(1)
        if low >= 0:
            return numbers.cast(pl.String).str.zfill(width)
        wide = pl.col("n").cast(pl.Int128)
        below = "-" + (wide + 10**width).cast(pl.String).str.zfill(width)
        text = pl.when(wide >= 0).then(wide.cast(pl.String).str.zfill(width)).otherwise(below)
        return numbers.alias("n").to_frame().select(text).to_series()

    return over_span(number, lambda n: n.map_batches(padded, return_dtype=pl.String, is_elementwise=True))


def unpad(text: str, width: int) -> int:
    """The number behind padded text; ValueError where there are fewer digits than the width."""
    if len(text.lstrip("-")) < width and not text.startswith("--"):
        raise ValueError(f"{text[:40]!r} has fewer than {width} digits")
    return read_whole(text[1:]) - int(10**width) if text.startswith("-") else read_whole(text)


class _Padded(Unary):
    """What numbers padded to a width share; one of more digits is written in full, and then sorts wrongly."""

    __slots__ = ()
    property: str
    width: int
    takes: ClassVar[tuple[str, ...]] = ("property", "integer")
    integers: ClassVar[tuple[int, int]] = (1, WIDTH_MAX)
    usual_type: ClassVar[EdmType | None] = EdmType.INT64

    @builtins.property
    def padded_width(self) -> int:
        return self.width

    def keeps_apart(self, context: Context) -> bool:
        return context.edm(self.property).integer  # as text, 7 and 07 share a key

    def disorder(self, context: Context, fits: Callable[[str, int], bool]) -> str:
        edm = context.edm(self.property)
        if not edm.integer:
            return f"{self.property} is {edm}"
        if fits(self.property, self.width):
            return f"{self.property} goes below zero"
        return f"{self.property} has more digits than {self.width}"

    def escapes(self, context: Context) -> bool:
        return context.edm(self.property) is EdmType.STRING

    def usual_length(self, context: Context) -> int | None:
        return self.width

    def plain_texts(self, context: Context) -> Language:
        if context.edm(self.property) is EdmType.STRING:
            return ANY
        return ((Run(frozenset("-"), 0, 2), Run(DIGITS, self.width - 1, None)),)

    def first_value(self, text: str, context: Context, *, upper: bool = False) -> object:
        if context.edm(self.property) is EdmType.STRING:
            return None
        if text in self.ends:
            return self._outermost(text, context)
        sign = "-" if text[0] == "-" else ""  # below zero stands the complement, which rises as well
        digits = completed(text.removeprefix("-"), self.width, "0123456789", upper=upper)
        if digits is None and text[: len(sign) + self.width] == sign + "9" * self.width:
            return self.decode("0" * self.width, context) if sign else self._outermost(self.ends[1], context)
        return None if digits is None else self.decode(sign + digits, context)

    def _outermost(self, end: str, context: Context) -> int:
        """The value that a text below, or above, those of all numbers within the limits stands for in a range."""
        limits, types = self.limits(context), RANGES.get(context.edm(self.property), RANGES[EdmType.INT64])
        assert limits is not None
        if self.order(context) > 0:
            value = limits[0] if end == self.ends[0] else limits[1] + 1
        else:  # a range of falling texts ends with the value itself
            value = limits[1] if end == self.ends[0] else limits[0] - 1
        return min(max(value, types[0]), types[1])

    def shape(self, context: Context) -> str:
        return f"-{{0,2}}[0-9]{{{self.width}}}[0-9]*?"

    def fixed_width(self, context: Context) -> bool:
        return False  # a number may outgrow its width


@dataclass(frozen=True, slots=True)
class Pad(_Padded):
    """A whole number, zero-padded to ``width`` digits; text order is number order.

    Laws: injective over whole numbers; ascending from -10^width to 10^width - 1; decodes. A String property that holds
    digits is padded as text, so that ``7`` and ``07`` share a key. A number of more digits than ``width`` is written
    in full and then sorts wrongly: the width must come from the data, with head-room.
    """

    property: str
    width: int
    function: ClassVar[str] = "pad"
    makes_source: ClassVar[bool] = True
    reads: ClassVar[tuple[EdmType, ...] | None] = (*WHOLE, EdmType.STRING)

    def text_of(self, value: Value, context: Context) -> str:
        if isinstance(value, str):
            return value.rjust(self.width, "0")
        assert value is not None
        return _pad(int(value), self.width)

    def plain_expression(self, context: Context) -> pl.Expr:
        column = pl.col(self.property)
        if context.edm(self.property) is EdmType.STRING:
            return column.str.pad_start(self.width, "0")
        return _pad_column(column, self.width)

    def value_of(self, plain: str, context: Context) -> object:
        if context.edm(self.property) is EdmType.STRING:
            return plain.lstrip("0") or ("0" if plain else "")
        return unpad(plain, self.width)

    def decode_column(self, texts: pl.Series, context: Context, dtype: pl.DataType) -> pl.Series:
        wide = texts.str.len_bytes() >= self.width
        if dtype.is_integer() and (wide & texts.str.contains("^0*[0-9]{1,18}$")).fill_null(True).all():
            return texts.cast(dtype, strict=False)
        return super().decode_column(texts, context, dtype)

    def order(self, context: Context) -> int:
        return 1

    def limits(self, context: Context) -> tuple[int, int] | None:
        return -(10**self.width), 10**self.width - 1

    def __str__(self) -> str:
        return f"{{pad({shown_name(self.property)},{self.width})}}"


_WHOLE = "-?[0-9]{1,19}"


@dataclass(frozen=True, slots=True)
class ReversePad(_Padded):
    """``10^width - 1 - p``, zero-padded: the greatest number first.

    Laws: injective over whole numbers; descending from 0 to 10^width - 1; decodes.
    """

    property: str
    width: int
    function: ClassVar[str] = "reverse_pad"
    reads: ClassVar[tuple[EdmType, ...] | None] = WHOLE

    def text_of(self, value: Value, context: Context) -> str:
        assert value is not None
        if isinstance(value, str) and not re.fullmatch(_WHOLE, value):
            return value  # no number, or a hidden value of a profile
        return _pad(10**self.width - 1 - int(value), self.width)

    def plain_expression(self, context: Context) -> pl.Expr:
        column = pl.col(self.property)
        if context.edm(self.property) is EdmType.STRING:
            whole = column.str.contains(f"^(?:{_WHOLE})$")
            number = pl.when(whole).then(column).cast(pl.Int128)
            text = _pad_column(10**self.width - 1 - number, self.width)
            return pl.when(whole).then(text).otherwise(column)
        narrow = self.width <= _NARROW and context.edm(self.property) is EdmType.INT32
        kind = pl.Int64 if narrow else pl.Int128
        return _pad_column(10**self.width - 1 - column.cast(kind), self.width)

    def value_of(self, plain: str, context: Context) -> object:
        value = 10**self.width - 1 - unpad(plain, self.width)
        return str(value) if context.edm(self.property) is EdmType.STRING else value

    def order(self, context: Context) -> int:
        return -1

    def limits(self, context: Context) -> tuple[int, int] | None:
        return 0, 10**self.width - 1

    def __str__(self) -> str:
        return f"{{reverse_pad({shown_name(self.property)},{self.width})}}"


@lru_cache(maxsize=1)
def _hex_table() -> pl.Series:
    """The four hex digits of 0 to 65 535."""
    return pl.Series([f"{n:04x}" for n in range(1 << 16)])


_DIGITS = {EdmType.INT32: 8, EdmType.INT64: 16, EdmType.DOUBLE: 16}


def _bits(values: pl.Series, edm: EdmType, digits: int) -> U64:
    """Numbers without nulls as whole numbers that rise with them, of so many hex digits."""
    present = values.to_numpy()
    if edm is EdmType.DOUBLE:
        bits = (np.where(np.isnan(present), np.nan, present) + 0.0).view(np.uint64)
        bits = np.where(np.isnan(present), np.uint64(_NAN), bits)
        return bits ^ np.where(bits >> np.uint64(63), np.uint64(_ALL), np.uint64(_SIGN))
    if digits == 8:
        return (present.astype(np.int64) + 2**31).astype(np.uint64)
    return present.view(np.uint64) ^ np.uint64(_SIGN)


def _hex(bits: U64, digits: int) -> pl.Series:
    """Whole numbers in lower-case hex: four digits at a time from a table, as Python would write each by itself."""
    table, shifts = _hex_table(), range(4 * digits - 16, -1, -16)
    pieces = [bits >> np.uint64(shift) & np.uint64(0xFFFF) for shift in shifts]
    frame = pl.DataFrame({str(n): table.gather(piece.astype(np.uint32)) for n, piece in enumerate(pieces)})
    return frame.select(pl.concat_str(pl.all())).to_series()


@dataclass(frozen=True, slots=True)
class Sortable(Unary):
    """A number in lower-case hex of fixed width, whatever its size: 8 digits for Int32, 16 for Int64 and Double.

    A whole number is offset by 2^31 or 2^63. A Double is its IEEE 754 bits with the sign bit set, or all bits inverted
    below zero; -0.0 is written as 0.0, NaN lies above +INF.
    Laws: injective; ascending over all values of the type; decodes. No width to choose and none to outgrow, at the
    price of keys that nobody can read.
    """

    property: str
    function: ClassVar[str] = "sortable"
    takes: ClassVar[tuple[str, ...]] = ("property",)
    reads: ClassVar[tuple[EdmType, ...] | None] = tuple(_DIGITS)
    ends: ClassVar[tuple[str, str]] = ("-", "g")
    _reverse: ClassVar[bool] = False

    def limits(self, context: Context) -> tuple[int, int] | None:
        half = 1 << (4 * self._digits(context) - 1)
        return (-half, half - 1) if context.edm(self.property).integer else None

    def _digits(self, context: Context) -> int:
        return _DIGITS.get(context.edm(self.property), 16)

    def _number(self, value: Value, context: Context) -> int:
        """What is written in hex, before it is counted down."""
        digits = self._digits(context)
        if context.edm(self.property) is EdmType.DOUBLE:
            assert isinstance(value, int | float)
            bits = int.from_bytes(struct.pack(">d", float(value) + 0.0), "big") if value == value else _NAN
            return bits ^ (_ALL if bits >> 63 else _SIGN)
        assert isinstance(value, int)
        return int(value) + (1 << (4 * digits - 1))

    def text_of(self, value: Value, context: Context) -> str:
        digits = self._digits(context)
        number = self._number(value, context)
        return f"{(1 << 4 * digits) - 1 - number if self._reverse else number:0{digits}x}"

    def plain_expression(self, context: Context) -> pl.Expr:
        edm, digits = context.edm(self.property), self._digits(context)

        def texts(values: pl.Series) -> pl.Series:
            bits = _bits(values, edm, digits)
            return _hex(np.uint64((1 << 4 * digits) - 1) - bits if self._reverse else bits, digits)

        number = ticks_column(self.property) if edm is EdmType.DATETIME else pl.col(self.property)
        return number.map_batches(lambda values: in_slices(values, texts), return_dtype=pl.String, is_elementwise=True)

    def value_of(self, plain: str, context: Context) -> object:
        edm, digits = context.edm(self.property), self._digits(context)
        if not re.fullmatch(f"[0-9a-f]{{{digits}}}", plain):
            raise ValueError(f"{plain[:40]!r} is not {digits} hex digits")
        bits = int(plain, 16)
        if self._reverse:
            bits = (1 << 4 * digits) - 1 - bits
        if edm is EdmType.DOUBLE:
            bits ^= _SIGN if bits >> 63 else _ALL
            (value,) = struct.unpack(">d", bits.to_bytes(8, "big"))
            return value
        number = bits - (1 << (4 * digits - 1))
        return moment_of(number) if edm is EdmType.DATETIME else number

    def first_value(self, text: str, context: Context, *, upper: bool = False) -> object:
        limits = self.limits(context)
        if text in self.ends and limits is not None:  # the planner's bound beyond all numbers of the type
            return limits[(text == self.ends[1]) != self._reverse]
        digits = completed(text, self._digits(context), "0123456789abcdef", upper=upper)
        return None if digits is None else self.decode(digits, context)

    def order(self, context: Context) -> int:
        return -1 if self._reverse else 1

    def plain_texts(self, context: Context) -> Language:
        return ((Run(HEX, self._digits(context), self._digits(context)),),)

    def shape(self, context: Context) -> str:
        return f"[0-9a-f]{{{self._digits(context)}}}"

    def __str__(self) -> str:
        return f"{{{self.function}({shown_name(self.property)})}}"


@dataclass(frozen=True, slots=True)
class ReverseSortable(Sortable):
    """What ``Sortable`` writes, counted down: the greatest first. A DateTime counts as its ticks in an Int64.

    Laws: injective; descending over all values of the type; decodes.
    """

    function: ClassVar[str] = "reverse_sortable"
    reads: ClassVar[tuple[EdmType, ...] | None] = (*_DIGITS, EdmType.DATETIME)
    _reverse: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Sequence(Transform):
    """A number that the application assigns to tell apart entities whose key would otherwise be equal.

    Over a data set it is the position among the rows with the same rest of the key, from 0, in the order of the data.
    """

    width: int
    decodes: ClassVar[bool] = False
    assigned: ClassVar[bool] = True
    function: ClassVar[str] = "seq"
    takes: ClassVar[tuple[str, ...]] = ("integer",)
    integers: ClassVar[tuple[int, int]] = (1, WIDTH_MAX)

    @builtins.property
    def atom(self) -> Atom | None:
        return ("s",)

    def encode(self, values: dict[str, Value], context: Context) -> str:
        """The number in ``values['#seq']``, 0 where absent."""
        number = values.get("#seq", 0)
        assert isinstance(number, int)
        return f"{number:0{self.width}d}"

    def expression(self, context: Context) -> pl.Expr:
        return pl.col("#seq").cast(pl.String).str.pad_start(self.width, "0")

    def texts(self, context: Context) -> Language:
        return digits(self.width, None)

    def usual_length(self, context: Context) -> int | None:
        return self.width

    def shape(self, context: Context) -> str:
        return f"[0-9]{{{self.width}}}[0-9]*?"

    def __str__(self) -> str:
        return f"{{seq({self.width})}}"


_SIGN, _ALL, _NAN = 1 << 63, (1 << 64) - 1, 0x7FF8 << 48
