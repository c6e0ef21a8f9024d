"""Codes for sealed extents: Reed–Solomon, and local reconstruction.

    extent  ──cut──►  k data fragments  ──encode──►  n fragments on n nodes  ──decode──►  any range of the extent

A fragment is a contiguous k-th of the extent, the last ones filled up with zeros: most blocks lie in one fragment, so
that a read asks one node (SOSP 2011, 4.4; there fragments end at block boundaries, here at equal lengths [H]). Codes
work byte by byte: to rebuild a range of a fragment only that range of the others is needed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, NamedTuple, Protocol

import numpy as np

from pkadvisor.engine.stream.errors import CodeMissing, Undecodable

# ----------------------------------------------------------------------------------------------------------------------
# The field of 256 elements: bytes that add by exclusive or and multiply modulo x⁸+x⁴+x³+x²+1; matrices over it.
#
# Linear codes stand on two questions: is a row a combination of other rows (then that fragment can be rebuilt), and
# with which coefficients. Both are answered by one elimination, :func:`combination`.

POLYNOMIAL = 0x11D  # primitive: 2 generates every element but 0


def _logarithms() -> tuple[list[int], list[int]]:
    powers, logs = [0] * 510, [0] * 256
    value = 1
    for exponent in range(255):
        powers[exponent] = powers[exponent + 255] = value
        logs[value] = exponent
        value <<= 1
        if value > 255:
            value ^= POLYNOMIAL
    return powers, logs


_POWERS, _LOGS = _logarithms()


def multiply(a: int, b: int) -> int:
    """The product of two elements."""
    return _POWERS[_LOGS[a] + _LOGS[b]] if a and b else 0


def inverse(a: int) -> int:
    """The element that makes 1 with a; a is not 0."""
    assert a, "0 has no inverse"
    return _POWERS[255 - _LOGS[a]]


# For each coefficient the products of all bytes: ``bytes.translate`` multiplies a fragment in one call.
PRODUCTS = tuple(bytes(multiply(coefficient, value) for value in range(256)) for coefficient in range(256))


def weighted_sum(parts: Sequence[tuple[int, bytes]]) -> bytes:
    """The sum of coefficient times bytes; all parts are equally long, and there is at least one."""
    coefficient, data = parts[0]
    total = np.frombuffer(data.translate(PRODUCTS[coefficient]), np.uint8).copy()
    for coefficient, data in parts[1:]:
        product = data if coefficient == 1 else data.translate(PRODUCTS[coefficient])
        np.bitwise_xor(total, np.frombuffer(product, np.uint8), out=total)
    return total.tobytes()


def _subtract(row: list[int], other: Sequence[int], factor: int) -> None:
    for column, value in enumerate(other):
        if value:
            row[column] ^= multiply(factor, value)


def combination(
    rows: Mapping[int, Sequence[int]], order: Sequence[int], wanted: Sequence[int]
) -> dict[int, dict[int, int]] | None:
    """For each wanted row its coefficients over the rows in ``order``, or None where one is no combination of them.

    Rows that stand earlier are used before later ones, and only those with a coefficient other than 0 are named.
    """
    width = len(next(iter(rows.values())))
    pivots: list[tuple[int, list[int]]] = []  # (column of the leading 1, row ++ its coefficients over ``order``)

    def reduced(row: list[int]) -> list[int]:
        for column, pivot in pivots:
            if row[column]:
                _subtract(row, pivot, row[column])
        return row

    for place, name in enumerate(order):
        row = reduced([*rows[name], *(int(place == other) for other in range(len(order)))])
        column = next((column for column in range(width) if row[column]), None)
        if column is None:
            continue
        factor = inverse(row[column])
        pivots.append((column, [multiply(factor, value) for value in row]))
    out: dict[int, dict[int, int]] = {}
    for name in wanted:
        row = reduced([*rows[name], *([0] * len(order))])
        if any(row[:width]):
            return None
        out[name] = {other: row[width + place] for place, other in enumerate(order) if row[width + place]}
    return out


GROUP_MAX = 15  # coefficients of the two groups have no common bits: four bits for each


class ErasureCode(Protocol):
    """Numbers the fragments: first the data, then the parities."""

    name: str
    data_count: int
    total_count: int

    def encode(self, data: Sequence[bytes]) -> list[bytes]:
        """The parities of equally long data fragments, in the order of their numbers."""

    def plan(self, wanted: Sequence[int], available: Collection[int]) -> tuple[int, ...] | None:
        """Which of the available fragments to read for the wanted ones, as few as there need be; None: impossible."""

    def decode(self, fragments: Mapping[int, bytes], wanted: Sequence[int]) -> dict[int, bytes]:
        """The wanted fragments from others of the same range. Undecodable: reported, never guessed."""

    def trials(self, salt: int) -> tuple[tuple[int, ...], ...]:
        """Losses to try in memory before the full copies of an extent go; ``salt`` turns the choice."""


class ReedSolomon:
    """n data fragments of n + m, any n of which give the extent back (SOSP 2011, 4.4); by zfec, which is optional.

    CodeMissing: zfec is not installed.
    """

    __slots__ = ("_decoder", "_encoder", "data_count", "name", "total_count")

    def __init__(self, data_count: int, parity_count: int) -> None:
        assert data_count >= 1 <= parity_count and data_count + parity_count <= 256, "zfec has 256 fragments"
        self.name = f"rs-{data_count}-{parity_count}"
        self.data_count = data_count
        self.total_count = data_count + parity_count
        zfec = _zfec()
        self._encoder = zfec.Encoder(data_count, self.total_count)
        self._decoder = zfec.Decoder(data_count, self.total_count)

    def encode(self, data: Sequence[bytes]) -> list[bytes]:
        """The parities."""
        return list(self._encoder.encode(tuple(data), tuple(range(self.data_count, self.total_count))))

    def plan(self, wanted: Sequence[int], available: Collection[int]) -> tuple[int, ...] | None:
        """The wanted ones where they are there, else the n first."""
        if all(number in available for number in wanted):
            return tuple(sorted(wanted))
        chosen = tuple(sorted(available)[: self.data_count])
        return chosen if len(chosen) == self.data_count else None

    def decode(self, fragments: Mapping[int, bytes], wanted: Sequence[int]) -> dict[int, bytes]:
        """The wanted fragments."""
        if all(number in fragments for number in wanted):
            return {number: fragments[number] for number in wanted}
        numbers = tuple(sorted(fragments)[: self.data_count])
        if len(numbers) < self.data_count:
            raise Undecodable(f"{self.name}: {len(numbers)} fragments of {self.data_count} that are needed")
        data = self._decoder.decode(tuple(fragments[number] for number in numbers), numbers)
        parities = [number for number in wanted if number >= self.data_count]
        made = dict(zip(parities, self._encoder.encode(tuple(data), tuple(parities)), strict=True)) if parities else {}
        return {number: made[number] if number in made else data[number] for number in wanted}

    def trials(self, salt: int) -> tuple[tuple[int, ...], ...]:
        """Nothing lost, then as many data fragments as parities can stand in for, until each parity has stood in."""
        parity_count = self.total_count - self.data_count
        lost = min(self.data_count, parity_count)
        combinations: list[tuple[int, ...]] = [()]
        for begin in range(0, parity_count, lost):
            unused = range(self.data_count, self.data_count + min(begin, parity_count - lost))
            data = sorted((salt + begin + step) % self.data_count for step in range(lost))
            combinations.append((*data, *unused))
        return tuple(combinations)


class LocalReconstruction:
    """LRC(k, 2, 2) (ATC 2012, 2): two groups, each with a local parity, and two global parities.

    One lost data fragment is rebuilt from k/2 others. All three losses are decodable, and of four those that any code
    of this shape can decode: global parities weigh fragments by a coefficient and by its square, coefficients of the
    first group live in the low four bits, those of the second in the high ones (ATC 2012, 2.2.1).

        number  0 … k/2-1   k/2 … k-1   k        k+1      k+2             k+3
                group 0     group 1     local 0  local 1  Σ coefficient   Σ coefficient²
    """

    __slots__ = ("_rows", "data_count", "name", "total_count")

    def __init__(self, data_count: int = 12) -> None:
        half = data_count // 2
        assert data_count % 2 == 0 < half <= GROUP_MAX, "two equal groups of at most 15"
        self.name = f"lrc-{data_count}-2-2"
        self.data_count = data_count
        self.total_count = data_count + 4
        weights = [*range(1, half + 1), *(value << 4 for value in range(1, half + 1))]
        rows = [[int(row == column) for column in range(data_count)] for row in range(data_count)]
        rows.append([1] * half + [0] * half)
        rows.append([0] * half + [1] * half)
        rows.append(weights)
        rows.append([multiply(value, value) for value in weights])
        self._rows = {number: tuple(row) for number, row in enumerate(rows)}

    def encode(self, data: Sequence[bytes]) -> list[bytes]:
        """The two local and the two global parities."""
        made = []
        for number in range(self.data_count, self.total_count):
            row = self._rows[number]
            made.append(weighted_sum([(row[column], part) for column, part in enumerate(data) if row[column]]))
        return made

    def plan(self, wanted: Sequence[int], available: Collection[int]) -> tuple[int, ...] | None:
        """The fragments that have a part in the wanted ones; one group where one is lost."""
        recipe = self._recipe(tuple(wanted), tuple(sorted(available)))
        return None if recipe is None else tuple(sorted({number for parts in recipe.values() for number in parts}))

    def decode(self, fragments: Mapping[int, bytes], wanted: Sequence[int]) -> dict[int, bytes]:
        """The wanted fragments."""
        recipe = self._recipe(tuple(wanted), tuple(sorted(fragments)))
        if recipe is None:
            raise Undecodable(f"{self.name}: {sorted(fragments)} do not determine {list(wanted)}")
        return {
            name: weighted_sum([(coefficient, fragments[number]) for number, coefficient in parts.items()])
            for name, parts in recipe.items()
        }

    def decodable(self, lost: Collection[int]) -> bool:
        """The rank test: whether the fragments that are left determine all data."""
        left = tuple(number for number in range(self.total_count) if number not in lost)
        return self._recipe(tuple(range(self.data_count)), left) is not None

    def trials(self, salt: int) -> tuple[tuple[int, ...], ...]:
        """One of each group by its local parity, then two, three and four with the global ones (ATC 2012, 3.2)."""
        half = self.data_count // 2
        a, b, c = ((salt + step) % half for step in range(3))
        losses = [(a,), (half + b,), (a, b), (half + a, half + b), (a, half + b, self.data_count)]
        losses += [(a, b, c), (a, b, half + a, half + b)]
        return tuple(dict.fromkeys(tuple(sorted(set(lost))) for lost in losses if self.decodable(lost)))

    def _recipe(self, wanted: tuple[int, ...], available: tuple[int, ...]) -> dict[int, dict[int, int]] | None:
        return _recipe(self.data_count, wanted, available)

    @property
    def rows(self) -> dict[int, tuple[int, ...]]:
        """For each fragment its coefficients over the data."""
        return self._rows


@lru_cache(maxsize=4096)
def _recipe(data_count: int, wanted: tuple[int, ...], available: tuple[int, ...]) -> dict[int, dict[int, int]] | None:
    return combination(local_reconstruction(data_count).rows, available, wanted)


def _zfec() -> Any:
    try:
        return import_module("zfec")
    except ImportError as error:
        raise CodeMissing("Reed–Solomon needs zfec: pip install 'pkadvisor[erasure]'") from error


@cache
def local_reconstruction(data_count: int) -> LocalReconstruction:
    """LRC(k, 2, 2)."""
    return LocalReconstruction(data_count)


@cache
def code_named(name: str) -> ErasureCode:
    """``rs-6-3`` or ``lrc-12-2-2``. CodeMissing: no such code, or zfec is not installed."""
    kind, *numbers = name.split("-")
    if kind == "rs" and len(numbers) == 2:
        return ReedSolomon(int(numbers[0]), int(numbers[1]))
    if kind == "lrc" and len(numbers) == 3 and numbers[1:] == ["2", "2"]:
        return local_reconstruction(int(numbers[0]))
    raise CodeMissing(f"no erasure code {name!r}")


class FragmentRange(NamedTuple):
    """A range of a data fragment."""

    fragment: int
    start: int
    end: int


def fragment_bytes(extent_bytes: int, data_count: int) -> int:
    """How long each fragment of an extent is."""
    return -(-extent_bytes // data_count)


def pieces_of(offset: int, length: int, fragment_length: int) -> Iterator[FragmentRange]:
    """Where a range of the extent lies in its data fragments."""
    end = offset + length
    while offset < end:
        fragment, start = divmod(offset, fragment_length)
        stop = min(fragment_length, start + end - offset)
        yield FragmentRange(fragment, start, stop)
        offset += stop - start
