"""Blocks as they lie in an extent: a header of 8 bytes, then the bytes of the block.

    length and "last of its append" (4) | crc32c of extent, offset, length and bytes (4) | bytes

The checksum covers where the block should lie, so that a misdirected write is found as surely as a flipped bit. The
mark of the last block of an append makes appends of several blocks atomic: what lacks its last block was never there.
All replicas of an extent hold the same bytes at the same offsets (SOSP 2011, 4.1 and 4.3).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from struct import Struct

from google_crc32c import extend, implementation, value
from numpy import frombuffer, uint8

from pkadvisor.engine.worlds.world import DataCorrupt

HEADER_BYTES = 8
_HEADER = Struct("<II")
_PLACE = Struct("<QQI")
_LAST = 0x8000_0000

PIECE_BYTES = 1 << 20
APPEND_BYTES_MAX = 64 << 20
"""A longer append that does not match is taken as bad [H]."""
COPY_BYTES_MAX = 16 << 10
"""From here on a copy costs more than a view [A: measured with CPython 3.11]."""


def _part(data: bytes, start: int, end: int) -> bytes:
    """Bytes of which only the checksum is asked: long ones are looked at where they lie instead of copied."""
    if end - start < COPY_BYTES_MAX or implementation != "c":
        return data[start:end]
    return frombuffer(data, uint8, end - start, start)  # type: ignore[return-value]


def encode(extent: int, offset: int, blocks: Sequence[bytes]) -> tuple[bytes, list[int]]:
    """The bytes of one append at an offset of an extent, and the length of each block with its header."""
    if len(blocks) == 1:
        block = blocks[0]
        marked = len(block) | _LAST
        checksum = extend(value(_PLACE.pack(extent, offset, marked)), block)
        return _HEADER.pack(marked, checksum) + block, [HEADER_BYTES + len(block)]
    last = len(blocks) - 1
    parts: list[bytes] = []
    lengths: list[int] = []
    for number, block in enumerate(blocks):
        marked = len(block) | _LAST if number == last else len(block)
        parts.append(_HEADER.pack(marked, extend(value(_PLACE.pack(extent, offset, marked)), block)))
        parts.append(block)
        length = HEADER_BYTES + len(block)
        lengths.append(length)
        offset += length
    return b"".join(parts), lengths


def decode(extent: int, offset: int, data: bytes) -> bytes:
    """The block whose bytes with header are given. DataCorrupt where they are not the block of that place."""
    if len(data) >= HEADER_BYTES:
        marked, checksum = _HEADER.unpack_from(data)
        block = data[HEADER_BYTES:]
        if (marked & ~_LAST) == len(block) and (extend(value(_PLACE.pack(extent, offset, marked)), block) == checksum):
            return block
    raise DataCorrupt(f"extent {extent}, offset {offset}: {len(data)} bytes do not match their checksum")


def scan(extent: int, offset: int, data: bytes) -> tuple[list[tuple[int, int]], int]:
    """Blocks (offset, length with header) of whole appends from the start of ``data``, which lies at ``offset``.

    Stops at the first block that is cut off or does not match; the second value is the bytes of whole appends.
    """
    out: list[tuple[int, int]] = []
    open_append: list[tuple[int, int]] = []
    position = whole = 0
    while position + HEADER_BYTES <= len(data):
        marked, checksum = _HEADER.unpack_from(data, position)
        end = position + HEADER_BYTES + (marked & ~_LAST)
        if end > len(data):
            break
        block = _part(data, position + HEADER_BYTES, end)
        if extend(value(_PLACE.pack(extent, offset + position, marked)), block) != checksum:
            break
        open_append.append((offset + position, end - position))
        position = end
        if marked & _LAST:
            out += open_append
            open_append.clear()
            whole = position
    return out, whole


async def whole_appends(extent: int, position: int, end: int, read: Callable[[int, int], Awaitable[bytes]]) -> bytes:
    """Whole appends from a position on, about a piece of them; empty where the one there is not whole before the end.

    ``read`` gives the bytes at an offset, so many of them.
    """
    piece = PIECE_BYTES
    while True:
        data = await read(position, min(piece, end - position))
        _, whole = scan(extent, position, data)
        if whole or position + piece >= end or piece >= APPEND_BYTES_MAX:
            return data[:whole]
        piece *= 4  # an append that is longer than a piece, or not whole


def check_whole(extent: int, offset: int, data: bytes) -> None:
    """DataCorrupt where ``data`` is anything but whole appends of the extent at the offset."""
    if len(data) >= HEADER_BYTES:
        marked, checksum = _HEADER.unpack_from(data)
        if (
            marked == (len(data) - HEADER_BYTES) | _LAST
            and extend(value(_PLACE.pack(extent, offset, marked)), _part(data, HEADER_BYTES, len(data))) == checksum
        ):
            return  # one append of one block, as most are
    _, whole = scan(extent, offset, data)
    if whole != len(data):
        raise DataCorrupt(f"extent {extent}, offset {offset + whole}: not whole appends")
