"""Bytes in: compressed or plain files as one stream of bytes, and as blocks of whole lines.

Compression is told by magic bytes, never by the name, and undone here as a stream. No reader above this module may be
handed a compressed path: some of them read bzip2 and xz files wrongly without an error.

| format | first bytes | several members in a row |
| --- | --- | --- |
| gzip | 1f 8b | yes, zero padding allowed |
| zstd | 28 b5 2f fd, or a skippable frame | yes |
| bzip2 | "BZh" | yes |
| xz | fd "7zXZ" 00 | yes, zero padding allowed |
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Final

from pkadvisor.errors import InputError, UsageError
from pkadvisor.files import ordinary, spooled
from pkadvisor.values import dataclass

BLOCK_BYTES: Final = 16 << 20
MAX_LINE_BYTES: Final = 8 << 20
_FEED_BYTES: Final = 64 << 10
_FEED_BYTES_ZSTD: Final = 8 << 10  # its decompressor has no output limit, so the input is kept small
_PIECE_BYTES: Final = 1 << 20


class EmptyFileError(InputError):
    """A file without a byte of content: whoever reads several files may pass over it."""


class _Member:
    """One member of a compressed file; ``push(b"")`` goes on with what is ``pending``."""

    def __init__(self, kind: str) -> None:
        import bz2
        import lzma
        import zlib

        import zstandard

        makers: dict[str, Callable[[], Any]] = {
            "gzip": lambda: zlib.decompressobj(wbits=31),
            "zstd": lambda: zstandard.ZstdDecompressor().decompressobj(),
            "bzip2": bz2.BZ2Decompressor,
            "xz": lambda: lzma.LZMADecompressor(format=lzma.FORMAT_XZ),
        }
        self.inner = makers[kind]()
        self.kind = kind
        self.pending = False

    def push(self, data: bytes) -> bytes:
        inner = self.inner
        if self.kind == "zstd":
            return bytes(inner.decompress(data))
        if self.kind == "gzip":
            out = inner.decompress(inner.unconsumed_tail + data, _PIECE_BYTES)
            # A full piece may leave output inside zlib even when all input is consumed.
            more = bool(inner.unconsumed_tail) or len(out) == _PIECE_BYTES
        else:
            out = inner.decompress(data, _PIECE_BYTES)
            more = not inner.needs_input
        self.pending = more and not inner.eof
        return bytes(out)


def compression_of(head: bytes) -> str | None:
    """The compression that the first bytes of a file announce: gzip, zstd, bzip2, xz or None."""
    if head[:2] == b"\x1f\x8b":
        return "gzip"
    skippable = head[1:4] == b"\x2a\x4d\x18" and head[:1] != b"" and 0x50 <= head[0] <= 0x5F
    if head[:4] == b"\x28\xb5\x2f\xfd" or skippable:
        return "zstd"
    if head[:3] == b"BZh" and head[3:4].isdigit() and head[4:10] in (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90"):
        return "bzip2"
    if head[:6] == b"\xfd7zXZ\x00":
        return "xz"
    return None


def _pieces(raw: BinaryIO, kind: str, where: str) -> Iterator[bytes]:
    """Decompressed pieces of at most about a megabyte; raises InputError where the archive is cut or damaged."""
    import lzma
    import zlib

    import zstandard

    feed = _FEED_BYTES_ZSTD if kind == "zstd" else _FEED_BYTES
    done = 0
    data = raw.read(feed)
    while data:
        member = _Member(kind)
        while not member.inner.eof:
            try:
                out = member.push(data)
            except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, zstandard.ZstdError) as error:
                raise InputError(
                    f"the {kind} data is damaged after {done:,} decompressed bytes ({error})",
                    where=where,
                    fix="copy the file again, or repair it, and check it with the compressor's own test option",
                ) from None
            if out:
                done += len(out)
                yield out
            data = b""
            if member.inner.eof or member.pending:
                continue
            data = raw.read(feed)
            if not data:
                raise InputError(
                    f"the {kind} data is cut short: it ends after {done:,} decompressed bytes",
                    where=where,
                    fix="copy or download the file again",
                )
        data = member.inner.unused_data or raw.read(feed)
        while kind in ("gzip", "xz") and data and not data.strip(b"\0"):
            data = raw.read(feed)
        if kind in ("gzip", "xz"):
            data = data.lstrip(b"\0")
        while 0 < len(data) < 10 and (more := raw.read(feed)):
            data += more
        if data and compression_of(data) != kind:
            raise InputError(
                f"bytes that are no {kind} follow the {kind} data after {done:,} decompressed bytes",
                where=where,
                fix="remove what follows the archive, or copy the file again",
            )


class ByteStream(io.BufferedIOBase):
    """A readable stream of decompressed bytes.

    ``compression`` names what was undone.
    ``read(n)`` returns n bytes unless the end is reached.
    """

    def __init__(self, raw: BinaryIO, where: str, source: Iterator[bytes] | None = None) -> None:
        """``source`` gives the bytes in place of ``raw``, which is closed with the stream."""
        super().__init__()
        self._raw, self.where = raw, where
        self.compression: str | None = None
        if source is None:
            self.compression = compression_of(raw.read(16))
            raw.seek(0)
            source = _pieces(raw, self.compression, where) if self.compression else None
        self._source = source
        self._buffer = b""
        self._position = 0

    @cached_property
    def head(self) -> bytes:
        """The beginning (up to 64 KiB) of what is left when it is first asked for; the position stays."""
        return self._fill(64 << 10)

    def _fill(self, size: int) -> bytes:
        """At least ``size`` bytes into the buffer if there are as many; returns the first ``size`` of them."""
        parts, have = [self._buffer], len(self._buffer)
        while have < size:
            piece = next(self._source, b"") if self._source else self._raw.read(size - have)
            if not piece:
                break
            parts.append(piece)
            have += len(piece)
        self._buffer = b"".join(parts) if len(parts) > 1 else parts[0]
        return self._buffer[:size]

    def readable(self) -> bool:
        """Always."""
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        """The next ``size`` bytes, fewer only at the end; everything when ``size`` is negative."""
        if size is None or size < 0:
            parts = []
            while part := self.read(BLOCK_BYTES):
                parts.append(part)
            return b"".join(parts)
        out = self._fill(size)
        self._buffer = self._buffer[len(out) :]
        self._position += len(out)
        return out

    def read1(self, size: int = -1, /) -> bytes:
        """As ``read``; with a negative size a megabyte."""
        return self.read(_PIECE_BYTES if size < 0 else size)

    def tell(self) -> int:
        """Decompressed bytes handed out so far."""
        return self._position

    def close(self) -> None:
        """Close the file."""
        self._raw.close()
        super().close()


def _as_utf8(stream: ByteStream, encoding: str) -> Iterator[bytes]:
    """UTF-16 in, UTF-8 out."""
    # A lone surrogate of UTF-16 survives as its three-byte form, and whoever decodes decides about it.
    decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
    ended = False
    while not ended:
        raw = stream.read(_PIECE_BYTES)
        ended = not raw
        try:
            text = decoder.decode(raw, final=ended)
        except UnicodeDecodeError as error:
            raise InputError(
                f"the text stops being UTF-16 about byte {stream.tell():,} ({error.reason})",
                where=stream.where,
                fix="save the file as UTF-8",
            ) from None
        if text:
            yield text.encode("utf-8", "surrogatepass")


def locate(path: str | Path) -> Path:
    """A path that is there and is no directory; a pipe such as ``/dev/fd/63`` is first spooled to a temporary file.

    Raises UsageError (exit 2) for a missing path, a directory, or a file that may not be read.
    """
    file_path = Path(path)
    try:
        if file_path.is_dir():
            raise UsageError("this is a directory, not a file", where=str(path), fix="name its files, e.g. 'DIR/*.csv'")
        if not file_path.exists():
            raise UsageError("no such file", where=str(path), fix="check the path; a glob must match a file")
        return ordinary(file_path)
    except (OSError, ValueError) as error:
        raise _unreadable(error, str(path)) from None


def _unreadable(error: OSError | ValueError, where: str) -> UsageError:
    """The error of a file that is there and gives nothing."""
    reason = getattr(error, "strerror", None) or str(error)
    fix = "check its permissions" if isinstance(error, PermissionError) else "name a file that can be read"
    return UsageError(f"the file cannot be read: {reason}", where=where, fix=fix)


def files_below(folder: Path) -> list[str]:
    """The files in a folder and the folders below it, by name; those that begin with a point are left out."""
    return [str(path) for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith(".")]


def spool_stdin(stream: BinaryIO | None = None) -> Path:
    """Standard input copied to a temporary file, so that it can be read more than once; removed at exit."""
    import sys

    return spooled(stream if stream is not None else sys.stdin.buffer)


def open_bytes(path: str | Path, *, name: str = "") -> ByteStream:
    """The decompressed bytes of a file as a stream; close it, or use it in ``with``.

    ``name`` is what errors call the file (default: the path). UsageError (2): missing, a directory, not readable.
    InputError (3): empty, also after decompression; while reading: an archive that is cut short or damaged.
    """
    file_path = locate(path)
    where = name or str(path)
    try:
        raw = file_path.open("rb")
    except OSError as error:
        raise _unreadable(error, where) from None
    try:
        stream = ByteStream(raw, where)
        if not stream.head:
            raise EmptyFileError("the file is empty", where=where, fix="export it again, or leave it out")
    except BaseException:
        raw.close()
        raise
    return stream


def open_text(path: str | Path, *, name: str = "") -> BinaryIO:
    """As ``open_bytes``, with a UTF-8 byte order mark dropped and UTF-16 with one turned into UTF-8.

    The bytes are otherwise not checked: see ``check_utf8``. UTF-32 is refused with InputError.
    """
    stream = open_bytes(path, name=name)
    head = stream.head
    if head.startswith(codecs.BOM_UTF8):
        stream.read(3)
    elif head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        stream.close()
        raise InputError("the text is UTF-32", where=stream.where, fix="save the file as UTF-8")
    elif head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        stream.read(2)
        little = head.startswith(codecs.BOM_UTF16_LE)
        pieces = _as_utf8(stream, "utf-16-le" if little else "utf-16-be")
        stream = ByteStream(stream, stream.where, pieces)  # type: ignore[arg-type]
    return stream  # type: ignore[return-value]


def check_utf8(data: bytes, where: str, *, offset: int = 0) -> None:
    """Raise InputError naming the byte at which ``data`` (starting at byte ``offset`` of the text) is not UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        bad = data[error.start]
        raise InputError(
            f"the text is not UTF-8: byte 0x{bad:02x} at offset {offset + error.start:,}",
            where=where,
            fix="save it as UTF-8, e.g. 'iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW'",
        ) from None


@dataclass(frozen=True, slots=True)
class LongLine:
    """A line that was skipped for its length; ``line`` counts from 1, ``head`` are its first bytes."""

    line: int
    length_bytes: int
    head: bytes


def line_blocks(
    path: str | Path,
    block_bytes: int = BLOCK_BYTES,
    *,
    max_line_bytes: int = MAX_LINE_BYTES,
    on_long_line: Callable[[LongLine], None] | None = None,
    name: str = "",
) -> Iterator[bytes]:
    """The text of a file in blocks of about ``block_bytes`` that consist of whole lines, each ending with a newline.

    A newline is added to a last line without one. A line of more than ``max_line_bytes`` raises InputError, or is left
    out and told to ``on_long_line``. Opening errors as in ``open_text``; memory is bounded by block and line length.
    """
    where = name or str(path)
    with open_text(path, name=name) as stream:
        yield from lines_of(
            stream, where, block_bytes=block_bytes, max_line_bytes=max_line_bytes, on_long_line=on_long_line
        )


def lines_of(
    stream: BinaryIO,
    where: str,
    *,
    block_bytes: int = BLOCK_BYTES,
    max_line_bytes: int = MAX_LINE_BYTES,
    on_long_line: Callable[[LongLine], None] | None = None,
) -> Iterator[bytes]:
    """``line_blocks`` over a stream that is open already."""
    carry = b""
    line = 1  # number of the first line in carry
    skipping: LongLine | None = None

    def report(long_line: LongLine) -> None:
        if on_long_line is None:
            what = f"line {long_line.line:,} is longer than {max_line_bytes >> 20} MiB"
            fix = "check that the file is text with one record per line; split or remove the line"
            raise InputError(what, where=where, fix=fix)
        on_long_line(long_line)

    while chunk := stream.read(block_bytes):
        if skipping is not None:
            end = chunk.find(b"\n") + 1
            skipping = LongLine(skipping.line, skipping.length_bytes + (end or len(chunk)), skipping.head)
            if not end:
                continue
            report(skipping)
            skipping, line = None, line + 1
            chunk = chunk[end:]
        data = carry + chunk if carry else chunk
        parts: list[bytes] = []
        start = position = 0
        while len(data) - position > max_line_bytes:
            newline = data.rfind(b"\n", position, position + max_line_bytes + 1)
            if newline >= 0:
                position = newline + 1
                continue
            end = data.find(b"\n", position) + 1
            before = data[start:position]
            parts.append(before)
            line += before.count(b"\n")
            long = LongLine(line, (end or len(data)) - position, data[position : position + 200])
            if on_long_line is None or end:
                report(long)
                line += 1
                start = position = end
            else:
                skipping = long
                start = position = len(data)
        cut = max(data.rfind(b"\n", start) + 1, start)
        block, carry = data[start:cut], data[cut:]
        line += block.count(b"\n")
        if parts:
            block = b"".join((*parts, block))
        if block:
            yield block
    if skipping is not None:
        report(skipping)
    if carry:
        yield carry + b"\n"
