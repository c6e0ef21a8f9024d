"""One Bloom filter per checkpoint (SOSP 2011, 5.3.1), on a hash that is the same in every process.

The filter takes xxh3-64 of a key, so that a key is hashed once however many checkpoints there are. The library places
the bits; should another version of it place them elsewhere, a stored filter would deny rows that are there. Therefore
the scheme is stored beside the filter, and a filter of another scheme is not believed [H].
"""

from __future__ import annotations

import math
from operator import index

import google_crc32c
import xxhash
from rbloom import Bloom

digest = xxhash.xxh3_64_intdigest


class Filter:
    """Says of a key's digest "not here" or "maybe here"; never "not here" of a key that was added (P7)."""

    __slots__ = ("_bits", "maybe")

    def __init__(self, bits: Bloom) -> None:
        self._bits = bits
        self.maybe = bits.__contains__

    @staticmethod
    def empty(keys: int, bits_per_key: int) -> Filter:
        """A filter for so many keys; 10 bits a key give about 0.8 % false positives."""
        rate = math.exp(-bits_per_key * math.log(2) ** 2)
        return Filter(Bloom(max(keys, 1), min(max(rate, 1e-9), 0.5), index))

    def add(self, keys: list[bytes]) -> None:
        """Adds keys."""
        self._bits.update(map(digest, keys))

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory."""
        return int(self._bits.size_in_bits) // 8

    def to_bytes(self) -> bytes:
        """The filter as it is stored."""
        return bytes(self._bits.save_bytes())

    @staticmethod
    def from_bytes(stored: bytes) -> Filter:
        """A stored filter."""
        return Filter(Bloom.load_bytes(stored, index))


class NoFilter(Filter):
    """Stands for a filter that is not believed: everything may be here."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(Bloom(1, 0.5, index))
        self.maybe = lambda _digest: True


def _scheme() -> int:
    sample = Filter.empty(32, 10)
    sample.add([bytes([byte]) for byte in range(32)])
    return int(google_crc32c.value(sample.to_bytes()))


SCHEME = _scheme()
"""Where the library of this process places bits, as one number."""
