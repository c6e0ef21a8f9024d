"""64-bit hashes of values and of rows, whole columns at a time, the same on every machine and in every version.

A value is hashed by what it is, not by what holds it: 1 and 1.0 are equal, so that one part of a data set may have
found whole numbers only. A row is the sum of what its present values give under their names, so that a row does not
change beside further properties. Numbers and words of text go through ``mixed`` (two multiplications and three shifts
of the high half, after P. Evensen's *rrmxmx* and T. Mueller's *hash32* finalisers: every bit of the input reaches every
bit of the output). Texts of more than ``WORDS_MAX`` words are hashed by xxHash (XXH3, 64 bits) one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pkadvisor.lazy import U64, Bools, Floats, Ints, np, pl
from pkadvisor.splitmix import GAMMA

MULTIPLIER: Final = 0xD6E8FEB86659FD93
WORDS_MAX: Final = 16
"""Words of eight bytes up to which texts are hashed side by side."""
SLICE: Final = 1 << 15
"""Rows that are hashed side by side: their arrays stay in a core's cache, which takes a fifth of the time."""


def mixed(numbers: U64) -> U64:
    """Each number as another one that looks random; no two numbers become one."""
    high, factor = np.uint64(32), np.uint64(MULTIPLIER)
    out = numbers ^ (numbers >> high)
    out *= factor
    out ^= out >> high
    out *= factor
    out ^= out >> high
    return out


def _keys(seed: int) -> tuple[int, int]:
    """Two secrets from one seed: the first goes in before mixing and the second between two mixings."""
    import xxhash

    return tuple(int(xxhash.xxh3_64_intdigest(word, seed)) for word in (b"first", b"second"))  # type: ignore[return-value]


def value_hashes(column: pl.Series, seed: int = 0) -> U64:
    """A hash of each value of a property in its canonical type; a missing value has that of nothing, whatever.

    ``column`` is text where its values disagree in type.
    """
    if column.dtype == pl.Binary:
        column = column.bin.encode("hex")
    first, second = (np.uint64(k) for k in _keys(seed))
    numbers = _texts(column, first) if column.dtype == pl.String else _numbers(column)
    out: U64 = np.empty(len(column), dtype=np.uint64)
    for start in range(0, len(column), SLICE):
        part = numbers[start : start + SLICE]
        out[start : start + SLICE] = mixed(mixed(part if column.dtype == pl.String else part + first) ^ second)
    return out


def _numbers(column: pl.Series) -> U64:
    """Values as numbers: the same for the same values."""
    if column.dtype.is_float():
        return _floats(column.fill_null(0.0).to_numpy())
    whole = column.dt.epoch("us") if isinstance(column.dtype, pl.Datetime) else column.cast(pl.Int64)
    return (whole.fill_null(0) if whole.null_count() else whole).to_numpy().view(np.uint64)


def _floats(values: Floats) -> U64:
    """Whole numbers as whole numbers, others as their bits; every NaN is one, and so are both zeros."""
    with np.errstate(invalid="ignore"):
        whole = (np.floor(values) == values) & (np.abs(values) < 2**63)
        bits = np.where(np.isnan(values), np.nan, values).view(np.uint64)
        return np.where(whole, np.where(whole, values, 0.0).astype(np.int64).view(np.uint64), bits)


def _texts(column: pl.Series, first: np.uint64) -> U64:
    """Texts by their UTF-8, as numbers that are spread already."""
    texts = column.fill_null("") if column.null_count() else column
    sizes = texts.str.len_bytes().to_numpy().astype(np.int64)
    starts = np.cumsum(sizes) - sizes
    joined = texts.str.join("").item().encode("utf-8") + bytes(8)
    out: U64 = np.empty(len(sizes), dtype=np.uint64)
    for start in range(0, len(sizes), SLICE):
        part = slice(start, start + SLICE)
        out[part] = _words(joined, starts[part], sizes[part], first)
    return out


def _words(joined: bytes, starts: Ints, sizes: Ints, first: np.uint64) -> U64:
    """Neighbouring texts inside ``joined``, eight bytes at a time: words of all of them side by side, and their sizes.

    Eight more bytes follow the last text, so that a word may begin at any byte of it.
    """
    longest, shortest = int(sizes.max()), int(sizes.min())
    words = np.ndarray(shape=(len(joined) - 7,), dtype="<u8", buffer=joined, strides=(1,))
    masks = np.array([(1 << 8 * length) - 1 for length in range(9)], dtype=np.uint64)
    out: U64 = mixed(sizes.view(np.uint64) + first)
    for at in range(0, min(longest, 8 * WORDS_MAX), 8):
        if shortest == longest:  # no need to look where each begins: padded numbers and ids are like this
            begin = int(starts[0]) + at
            read = np.ndarray(shape=(len(sizes),), dtype="<u8", buffer=joined, offset=begin, strides=(longest,))
            out = mixed(out + (read & masks[min(8, longest - at)]))
        elif shortest > at:
            out = mixed(out + (words[starts + at] & masks[np.minimum(sizes - at, 8)]))
        else:
            rows = np.flatnonzero(sizes > at)
            out[rows] = mixed(out[rows] + (words[starts[rows] + at] & masks[np.minimum(sizes[rows] - at, 8)]))
    if longest > 8 * WORDS_MAX:
        import xxhash

        for row in np.flatnonzero(sizes > 8 * WORDS_MAX).tolist():
            text = joined[starts[row] : starts[row] + sizes[row]]
            out[row] = xxhash.xxh3_64_intdigest(text, int(first))
    return out


def combined(parts: Mapping[str, tuple[U64, Bools | None]], rows: int) -> U64:
    """One hash for each row from hashes of named values and where they are present (None: everywhere).

    What a value gives depends on its name alone, and a missing one gives nothing: the order of names and further names
    change nothing.
    """
    import xxhash

    total: U64 = np.zeros(rows, dtype=np.uint64)
    salts = {name: np.uint64(xxhash.xxh3_64_intdigest(name.encode("utf-8", "surrogatepass"))) for name in parts}
    for start in range(0, rows, SLICE):
        part = slice(start, start + SLICE)
        for name, (hashes, present) in parts.items():
            given = mixed(hashes[part] + salts[name])
            total[part] += given if present is None else np.where(present[part], given, np.uint64(0))
        total[part] = mixed(total[part] + np.uint64(GAMMA))
    return total


def presence(column: pl.Series) -> Bools | None:
    """Where a column has a value; None where it has one everywhere."""
    return column.is_not_null().to_numpy() if column.null_count() else None
