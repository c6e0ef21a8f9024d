"""Compressed and plain bytes: every form gives the same content, and every damage an error that names it."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.errors import InputError, UsageError
from pkadvisor.observe.data import streams

FORMS = {
    "plain": lambda data: data,
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}
COMPRESSED = {k: v for k, v in FORMS.items() if k != "plain"}
TEXT = b"".join(b"row %d,%d\n" % (i, i * 7919 % 1000) for i in range(60_000))


@pytest.fixture(params=sorted(COMPRESSED))
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def content(path: Path) -> bytes:
    with streams.open_bytes(path) as stream:
        return stream.read()


def test_all_forms_give_the_same_bytes_whatever_the_name(tmp_path: Path) -> None:
    for name, compress in FORMS.items():
        path = tmp_path / f"{name}.parquet"
        path.write_bytes(compress(TEXT))
        assert content(path) == TEXT
        with streams.open_bytes(path) as stream:
            assert stream.compression == (None if name == "plain" else name)
            assert stream.head == TEXT[: 64 << 10]
            assert stream.read(10) == TEXT[:10]


def test_members_in_a_row_are_one_stream(tmp_path: Path, form: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"".join(COMPRESSED[form](part) for part in (TEXT[:1000], b"", TEXT[1000:])))
    assert content(path) == TEXT


@pytest.mark.parametrize("kind", ["gzip", "xz"])
def test_zero_padding_is_ignored(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(COMPRESSED[kind](TEXT) + b"\0" * 512 + COMPRESSED[kind](b"end") + b"\0" * 512)
    assert content(path) == TEXT + b"end"


def test_highly_repetitive_content_passes(tmp_path: Path, form: str) -> None:
    data = b"a" * 30_000_000 + b"\n"
    path = tmp_path / "x"
    path.write_bytes(COMPRESSED[form](data))
    assert content(path) == data


@pytest.mark.parametrize("share", [0.3, 0.9, 1.0])
def test_a_cut_archive_is_named_with_how_far_it_got(tmp_path: Path, form: str, share: float) -> None:
    whole = COMPRESSED[form](TEXT)
    path = tmp_path / "cut"
    path.write_bytes(whole[: int(len(whole) * share) - 3])
    with pytest.raises(InputError, match=r"cut short: it ends after [\d,]+ decompressed bytes") as caught:
        content(path)
    assert caught.value.where == str(path)


def test_a_damaged_archive_is_an_input_error(tmp_path: Path, form: str) -> None:
    whole = bytearray(COMPRESSED[form](TEXT))
    whole[len(whole) // 2 : len(whole) // 2 + 40] = b"\xff" * 40
    path = tmp_path / "bad"
    path.write_bytes(bytes(whole))
    with pytest.raises(InputError, match=r"damaged|cut short"):
        content(path)


def test_what_follows_an_archive_is_not_swallowed(tmp_path: Path, form: str) -> None:
    path = tmp_path / "bad"
    path.write_bytes(COMPRESSED[form](TEXT) + b"more rows that would be lost\n")
    with pytest.raises(InputError, match="follow"):
        content(path)


def test_missing_directory_and_empty(tmp_path: Path) -> None:
    for path in (tmp_path / "absent", tmp_path):
        with pytest.raises(UsageError):
            streams.open_bytes(path)
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "empty.gz").write_bytes(gzip.compress(b""))
    for name in ("empty", "empty.gz"):
        with pytest.raises(InputError, match="empty"):
            streams.open_bytes(tmp_path / name)


def test_standard_input_is_spooled(tmp_path: Path) -> None:
    path = streams.spool_stdin(io.BytesIO(gzip.compress(TEXT)))
    assert content(path) == TEXT


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks(tmp_path: Path, encoding: str) -> None:
    text = "Käse,Straße\n😀,1\n" * 1000
    path = tmp_path / "t"
    path.write_bytes(text.encode(encoding))
    with streams.open_text(path) as stream:
        assert stream.read(3) + stream.read(70_000) + stream.read() == text.encode()


def test_wrong_encoding_names_the_byte() -> None:
    with pytest.raises(InputError, match=r"0xe4 at offset 101"):
        streams.check_utf8(b"K\xe4se", "f.csv", offset=100)


@given(
    lines=st.lists(st.integers(0, 60).map(lambda n: b"x" * n), max_size=30),
    block=st.integers(1, 50),
    ended=st.booleans(),
)
def test_blocks_are_whole_lines_and_long_ones_are_told(lines: list[bytes], block: int, ended: bool) -> None:
    text = b"\n".join(lines) + (b"\n" if ended and lines else b"")
    expected = text.split(b"\n")
    if expected and not expected[-1]:
        expected.pop()
    told: list[streams.LongLine] = []
    blocks = list(
        streams.lines_of(io.BytesIO(text), "f", block_bytes=block, max_line_bytes=20, on_long_line=told.append)
    )
    assert all(b.endswith(b"\n") for b in blocks)
    assert b"".join(blocks) == b"".join(line + b"\n" for line in expected if len(line) <= 20)
    assert [t.line for t in told] == [i for i, line in enumerate(expected, 1) if len(line) > 20]


def test_a_ten_megabyte_line(tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_bytes(b"a\n" + b"x" * 10_000_000 + b"\nb\n")
    with pytest.raises(InputError, match="line 2 is longer than 8 MiB"):
        list(streams.line_blocks(path))
    told: list[streams.LongLine] = []
    assert b"".join(streams.line_blocks(path, on_long_line=told.append)) == b"a\nb\n"
    assert [(t.line, t.length_bytes) for t in told] == [(2, 10_000_001)]
