"""A PNG read back: cells and palette of a picture of the package."""

from __future__ import annotations

import struct
import zlib

from pkadvisor.report.charts.png import SIGNATURE


def decode(picture: bytes) -> tuple[tuple[tuple[int, ...], ...], tuple[str, ...]]:
    """Cells and palette of a picture that ``encode`` made. ValueError on anything else."""
    if not picture.startswith(SIGNATURE):
        raise ValueError("no PNG")
    chunks: dict[bytes, bytes] = {}
    at = len(SIGNATURE)
    while at < len(picture):
        (length,) = struct.unpack_from(">I", picture, at)
        kind, data = picture[at + 4 : at + 8], picture[at + 8 : at + 8 + length]
        if struct.unpack_from(">I", picture, at + 8 + length) != (zlib.crc32(kind + data),):
            raise ValueError(f"checksum of {kind.decode('latin-1')}")
        chunks[kind] = chunks.get(kind, b"") + data
        at += 12 + length
    width, height, depth, colour_type = struct.unpack_from(">IIBB", chunks[b"IHDR"])
    if (depth, colour_type) != (4, 3):
        raise ValueError("not four bits of a palette")
    lines, stride = zlib.decompress(chunks[b"IDAT"]), 1 + (width + 1) // 2
    rows = []
    for number in range(height):
        line = lines[number * stride : (number + 1) * stride]
        if line[0]:
            raise ValueError("a filtered line")
        cells = [half for byte in line[1:] for half in (byte >> 4, byte & 15)]
        rows.append(tuple(cells[:width]))
    colours = chunks[b"PLTE"]
    return tuple(rows), tuple(f"#{colours[n : n + 3].hex()}" for n in range(0, len(colours), 3))
