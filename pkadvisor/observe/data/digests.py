"""Which files something was made of: their sizes and digests, so that a later run can tell whether it has the same."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pkadvisor.files import ordinary
from pkadvisor.values import dataclass

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class FileDigest:
    """One file: what it was read as, its name without folders, its bytes, and the XXH3-128 of them in hex.

    Not proof against forgery: it tells files apart that somebody mixed up.
    """

    role: str
    name: str
    bytes: int
    xxh3: str


def digest_of(role: str, path: Path | str) -> FileDigest:
    """The digest of a file's bytes as they lie on disk. OSError where it cannot be read."""
    import xxhash

    path, hasher, size = Path(path), xxhash.xxh3_128(), 0
    with ordinary(path).open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            hasher.update(chunk)
            size += len(chunk)
    return FileDigest(role, path.name, size, hasher.hexdigest())


def digests_of(files: Iterable[tuple[str, Path | str]]) -> tuple[FileDigest, ...]:
    """The digests of files, by role and content, so that neither their order nor their folders matter."""
    by_content = {(d.role, d.xxh3, d.name): d for d in (digest_of(role, path) for role, path in files)}
    return tuple(by_content[key] for key in sorted(by_content))
