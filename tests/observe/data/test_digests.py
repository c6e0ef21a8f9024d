"""Files told apart by content."""

from __future__ import annotations

from pathlib import Path

import xxhash

from pkadvisor.observe.data.digests import CHUNK_BYTES, digest_of, digests_of


def test_a_digest_is_that_of_the_whole_file(tmp_path: Path) -> None:
    content = bytes(range(256)) * (CHUNK_BYTES // 256) + b"the end, in a second chunk"
    path = tmp_path / "rows.csv"
    path.write_bytes(content)
    found = digest_of("data", path)
    assert (found.role, found.name, found.bytes) == ("data", "rows.csv", len(content))
    assert found.xxh3 == xxhash.xxh3_128(content).hexdigest()


def test_neither_order_nor_folders_matter_but_content_and_role_do(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "rows.csv").write_text("k,v\n1,2\n")
        (tmp_path / folder / "log.csv").write_text("at\n0\n")
    first = digests_of([("data", tmp_path / "a/rows.csv"), ("log", tmp_path / "a/log.csv")])
    again = digests_of([("log", tmp_path / "b/log.csv"), ("data", tmp_path / "b/rows.csv")])
    assert first == again
    assert len(first) == 2
    (tmp_path / "b/rows.csv").write_text("k,v\n1,3\n")
    assert digests_of([("data", tmp_path / "b/rows.csv")]) != first[:1]
    assert digests_of([("log", tmp_path / "a/rows.csv")]) != first[:1]
    twice = digests_of([("data", tmp_path / "a/rows.csv"), ("data", tmp_path / "a/rows.csv")])
    assert twice == first[:1]
