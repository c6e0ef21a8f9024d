"""A picture of at most 16 colours as PNG, byte for byte the same on every machine.

The image data are stored, not compressed: implementations of deflate choose differently, and a cell takes four bits
anyway. Format: PNG 1.2 (RFC 2083), colour type 3, bit depth 4; zlib container RFC 1950, stored blocks RFC 1951 §3.2.4.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence

SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLOURS_MAX = 16
BLOCK_BYTES_MAX = 65_535


def encode(cells: Sequence[Sequence[int]], palette: Sequence[str]) -> bytes:
    """The PNG of rows of palette numbers; colours are ``#rrggbb``. ValueError where rows differ in length, there are
    none, or a cell is no number of the palette."""
    if not cells or not cells[0] or any(len(row) != len(cells[0]) for row in cells):
        raise ValueError("a picture has rows of one length, at least one cell each")
    if not 1 <= len(palette) <= COLOURS_MAX:
        raise ValueError(f"a palette has 1 to {COLOURS_MAX} colours, not {len(palette)}")
    if any(not 0 <= cell < len(palette) for row in cells for cell in row):
        raise ValueError("a cell is not a number of the palette")
    width, height = len(cells[0]), len(cells)
    header = struct.pack(">IIBBBBB", width, height, 4, 3, 0, 0, 0)
    colours = b"".join(bytes.fromhex(colour.removeprefix("#")) for colour in palette)
    lines = b"".join(b"\0" + _packed(row) for row in cells)
    return SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"PLTE", colours) + _chunk(b"IDAT", _stored(lines)) + END


def _packed(row: Sequence[int]) -> bytes:
    """Two cells to a byte, the left one in the high bits."""
    even = [*row, 0] if len(row) % 2 else row
    return bytes(left << 4 | right for left, right in zip(even[::2], even[1::2], strict=True))


def _stored(data: bytes) -> bytes:
    """A zlib stream of stored blocks."""
    blocks = [data[at : at + BLOCK_BYTES_MAX] for at in range(0, len(data), BLOCK_BYTES_MAX)]
    out = b"\x78\x01"
    for number, block in enumerate(blocks):
        last = number == len(blocks) - 1
        out += struct.pack("<BHH", last, len(block), len(block) ^ 0xFFFF) + block
    return out + struct.pack(">I", zlib.adler32(data))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


END = _chunk(b"IEND", b"")


def data_uri(picture: bytes) -> str:
    """The picture as an address that needs no request."""
    return "data:image/png;base64," + base64.b64encode(picture).decode("ascii")
