"""Hashes of key text that every language computes alike: a bucket number, or hex digits.

SHA-256, or MD5 where an application uses it, over the UTF-8 of the canonical text. A missing value is hashed as the
text ``~-``: whoever asks all buckets meets every entity.
"""

from __future__ import annotations

import builtins
import hashlib
from collections.abc import Callable
from typing import ClassVar

from pkadvisor.design.keys.transforms.base import MISSING, Atom, Context, Escaped, HashPart, Value
from pkadvisor.design.keys.transforms.columns import over_distinct
from pkadvisor.design.keys.transforms.languages import HEX, Language, Run, digits
from pkadvisor.design.keys.transforms.texts import OfSource, Source, part_of_source, source_name
from pkadvisor.lazy import U64, np, pl
from pkadvisor.values import dataclass

BUCKETS_MAX = 10_000


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def bucket_number(text: str) -> int:
    """What ``bucket`` takes modulo its count: SHA-256 of the UTF-8, first 8 bytes big-endian."""
    return int.from_bytes(_digest(text)[:8], "big")


def bucket(text: str, count: int) -> int:
    """The portable hash bucket: ``bucket_number`` modulo ``count``."""
    return bucket_number(text) % count


def _utf8(texts: pl.Series) -> list[bytes]:
    """The UTF-8 of texts without nulls."""
    return texts.cast(pl.Binary).to_list()


def bucket_numbers(texts: pl.Series) -> U64:
    """What ``bucket`` takes modulo its count, of texts without nulls."""
    digests = b"".join([hashlib.sha256(text).digest() for text in _utf8(texts)])
    return np.frombuffer(digests, dtype=">u8")[::4]  # 8 of 32 bytes


class Hashed(OfSource, HashPart):
    """What a bucket and a hash prefix share: a source, a number of texts, and the texts in order."""

    __slots__ = ()
    injective: ClassVar[bool] = False
    takes: ClassVar[tuple[str, ...]] = ("source", "integer")

    @builtins.property
    def property(self) -> str:
        """The one property behind the source; the first of several."""
        return self.properties[0] if self.properties else ""

    def disorder(self, context: Context, fits: Callable[[str, int], bool]) -> str:
        return "a hash keeps no order"

    def hashed_column(self, texts: pl.Series) -> pl.Series:
        """``hashed`` over texts without nulls."""
        raise NotImplementedError

    def encode(self, values: dict[str, Value], context: Context) -> str:
        text = part_of_source(self.source).plain(values, context)
        return self.hashed(MISSING if text is None else text)

    def expression(self, context: Context) -> pl.Expr:
        hashed = over_distinct(part_of_source(self.source).plain_expression(context), self.hashed_column)
        return hashed.fill_null(self.hashed(MISSING))

    def decode(self, text: str, context: Context) -> object:
        raise ValueError(f"{self.function} cannot be undone")


@dataclass(frozen=True, slots=True)
class Hash(Hashed):
    """A bucket number from 0 to ``count - 1``, decimal, padded to the digits of ``count - 1``.

    Laws: not injective; no order; every text is one of ``buckets()``.
    """

    source: Source
    count: int
    function: ClassVar[str] = "hash"
    integers: ClassVar[tuple[int, int]] = (2, BUCKETS_MAX)

    @builtins.property
    def bucket_count(self) -> int | None:
        return self.count

    @builtins.property
    def bucketed(self) -> Escaped | None:
        source = part_of_source(self.source)
        return source if source.plain_property or source.tells_folded else None

    @builtins.property
    def atom(self) -> Atom | None:
        return ("h", self.source, str(self.count)) if isinstance(self.source, str) else ("f", str(self))

    @builtins.property
    def digits(self) -> int:
        """The width of a bucket number."""
        return len(str(self.count - 1))

    @builtins.property
    def buckets_total(self) -> int:
        return self.count

    def hashed(self, text: str) -> str:
        return f"{bucket(text, self.count):0{self.digits}d}"

    def hashed_column(self, texts: pl.Series) -> pl.Series:
        numbers = pl.Series(bucket_numbers(texts) % self.count, dtype=pl.UInt32)
        return pl.Series(self.buckets(), dtype=pl.String).gather(numbers)

    def buckets(self) -> list[str]:
        return [f"{i:0{self.digits}d}" for i in range(self.count)]

    def last(self) -> str:
        return str(self.count - 1)

    def texts(self, context: Context) -> Language:
        return digits(self.digits, self.digits)

    def shape(self, context: Context) -> str:
        return f"[0-9]{{{self.digits}}}"

    def __str__(self) -> str:
        return f"{{hash({source_name(self.source)},{self.count})}}"


@dataclass(frozen=True, slots=True)
class HashPrefix(Hashed):
    """The first ``digits`` lower-case hex digits of the hash: keys in no order, however they were made.

    Laws: not injective; no order; every text is one of ``buckets()``, of which there are 16^digits.
    """

    source: Source
    digits: int
    function: ClassVar[str] = "hash_prefix"
    integers: ClassVar[tuple[int, int]] = (1, 64)
    _algorithm: ClassVar[str] = "sha256"

    @builtins.property
    def buckets_total(self) -> int:
        return int(16**self.digits)

    def _hex(self, text: bytes) -> str:
        return hashlib.new(self._algorithm, text, usedforsecurity=False).hexdigest()[: self.digits]

    def hashed(self, text: str) -> str:
        return self._hex(text.encode("utf-8", "surrogatepass"))

    def hashed_column(self, texts: pl.Series) -> pl.Series:
        return pl.Series([self._hex(text) for text in _utf8(texts)], dtype=pl.String)

    def buckets(self) -> list[str]:
        return [f"{i:0{self.digits}x}" for i in range(self.buckets_total)]

    def last(self) -> str:
        return "f" * self.digits

    def texts(self, context: Context) -> Language:
        return ((Run(HEX, self.digits, self.digits),),)

    def shape(self, context: Context) -> str:
        return f"[0-9a-f]{{{self.digits}}}"

    def __str__(self) -> str:
        return f"{{{self.function}({source_name(self.source)},{self.digits})}}"


@dataclass(frozen=True, slots=True)
class Md5Prefix(HashPrefix):
    """The same of MD5, for tables whose keys have it."""

    function: ClassVar[str] = "md5_prefix"
    integers: ClassVar[tuple[int, int]] = (1, 32)
    _algorithm: ClassVar[str] = "md5"
