"""The picture writer: read back by our own decoder and by the format's rules, the same bytes everywhere."""

from __future__ import annotations

import hashlib
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.report.charts.png import SIGNATURE, data_uri, encode
from tests.report.png import decode

COLOURS = tuple(f"#{n:02x}{255 - n:02x}{n * 16:02x}" for n in range(16))
grids = st.integers(1, 40).flatmap(
    lambda width: st.lists(st.lists(st.integers(0, 15), min_size=width, max_size=width), min_size=1, max_size=40)
)


@given(grids)
def test_cells_and_colours_come_back(cells: list[list[int]]) -> None:
    found, palette = decode(encode(cells, COLOURS))
    assert [list(row) for row in found] == cells and palette == COLOURS


def test_a_picture_follows_the_format() -> None:
    picture = encode([[1, 2, 3], [15, 0, 1]], COLOURS)
    assert picture.startswith(SIGNATURE + struct.pack(">I4sIIBBBBB", 13, b"IHDR", 3, 2, 4, 3, 0, 0, 0))
    at = picture.index(b"IDAT") + 4
    assert zlib.decompress(picture[at : at + 2 + 5 + 6 + 4]) == b"\x00\x12\x30\x00\xf0\x10"
    assert picture.endswith(b"\x00\x00\x00\x00IEND\xaeB`\x82")


def test_a_picture_is_stored_and_so_the_same_with_every_deflate() -> None:
    cells = [[(x * y) % 11 for x in range(1400)] for y in range(130)]
    picture = encode(cells, COLOURS)
    assert len(picture) == 130 * 701 + 2 * 5 + 2 + 4 + 8 + 25 + 12 + 48 + 12 + 12
    assert hashlib.sha256(picture).hexdigest() == "5cdf2d5e9f7202fef9ebabf887fbf7bf246d652f6e9bb11b00614ac43c865572"
    assert decode(picture)[0][129][:4] == (0, 129 % 11, 258 % 11, 387 % 11)


def test_a_flipped_bit_is_found() -> None:
    picture = bytearray(encode([[1, 2]], COLOURS))
    picture[picture.index(b"IDAT") + 12] ^= 1
    with pytest.raises(ValueError, match="IDAT"):
        decode(bytes(picture))
    with pytest.raises(ValueError, match="no PNG"):
        decode(b"GIF89a")


@pytest.mark.parametrize(
    ("cells", "palette", "word"),
    [([], COLOURS, "rows"), ([[1], [1, 2]], COLOURS, "rows"), ([[16]], COLOURS, "palette"), ([[0]], (), "colours")],
)
def test_what_is_no_picture_is_refused(cells: list[list[int]], palette: tuple[str, ...], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        encode(cells, palette)


def test_an_address_needs_no_request() -> None:
    assert data_uri(b"\xff") == "data:image/png;base64,/w=="
