"""The field of 256 elements: bytes that add by exclusive or and multiply modulo x⁸+x⁴+x³+x²+1; matrices over it.

Linear codes stand on two questions: is a row a combination of other rows (then that fragment can be rebuilt), and with
which coefficients. Both are answered by one elimination, :func:`combination`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

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
