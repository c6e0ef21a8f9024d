"""Files as they are named on a command line: ordinary ones, pipes, and what would never end.

A pipe (``<(command)``, a FIFO) is copied to a temporary file when it is first opened, so that it can be looked into and
read more than once. A device is refused: nobody knows where it ends. Beside that, where a library prints to.
"""

from __future__ import annotations

import atexit
import errno
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

STDIN_NAME: Final = "standard input"
WRITER_WAIT_S: Final = 10.0
"""How long a pipe may have no writer: a program on its other end opens it within milliseconds."""
_WAIT_STEP_S: Final = 0.02
_PIECE_BYTES: Final = 1 << 20

_copies: dict[tuple[int, int], Path | OSError] = {}
"""What pipes gave, or why they gave nothing: nobody waits for the same writer twice."""


def exists(path: Path) -> bool:
    """Whether there is something of a name; False for a name that no file can have, or that may not be looked at."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def ordinary(path: str | Path) -> Path:
    """The file itself, or the copy of what a pipe gives; a directory as it is, for whoever opens it refuses it.

    OSError where there is none, for a device, and for a pipe that nobody opens for writing within ``WRITER_WAIT_S``;
    ValueError for a name that no file can have.
    """
    file_path = Path(path)
    status = file_path.stat()
    if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
        return file_path
    place = (status.st_dev, status.st_ino)
    if place not in _copies:
        if not stat.S_ISFIFO(status.st_mode) and not _is_empty(file_path, status.st_mode):
            raise OSError(errno.ENXIO, "this is a device, not a file", str(path))
        if stat.S_ISFIFO(status.st_mode):
            try:
                _copies[place] = _copied_pipe(file_path)
            except OSError as error:
                _copies[place] = error
        else:
            with file_path.open("rb") as stream:
                _copies[place] = spooled(stream)
    copy = _copies[place]
    if isinstance(copy, OSError):
        raise OSError(copy.errno, copy.strerror, str(path))
    return copy


def head_of(path: str | Path, most: int = 4096) -> bytes:
    """The first bytes of a file, by which it is recognised; none where it cannot be opened."""
    try:
        with ordinary(path).open("rb") as stream:
            return stream.read(most)
    except (OSError, ValueError):
        return b""


def read_bytes(path: str | Path, most: int) -> bytes:
    """What a file holds; OSError as ``ordinary``, and where it is more than ``most`` bytes."""
    with ordinary(path).open("rb") as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most >> 20:,} MiB", str(path))
    return content


def spooled(stream: IO[bytes], begun: bytes = b"") -> Path:
    """A temporary file with ``begun`` and all that a stream gives; removed when the program ends."""
    with tempfile.NamedTemporaryFile(prefix="pkadvisor-", delete=False) as copy:
        path = Path(copy.name)
        atexit.register(path.unlink, missing_ok=True)
        copy.write(begun)
        shutil.copyfileobj(stream, copy, _PIECE_BYTES)
    return path


def forget_copies() -> None:
    """Read pipes anew: another command begins."""
    _copies.clear()


def _is_empty(path: Path, mode: int) -> bool:
    """Whether a device gives nothing at once, as the null device does."""
    if not stat.S_ISCHR(mode):
        return False
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return not os.isatty(descriptor) and not os.read(descriptor, 1)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)


def _copied_pipe(path: Path) -> Path:
    """A copy of what a pipe gives, once it has a writer. To open it as a file would be to wait for one for ever."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as stream:
        end = time.monotonic() + WRITER_WAIT_S
        while not (begun := stream.read(1)):
            # A raw stream gives None where a writer holds the other end and is silent, no bytes where there is none.
            if begun is None or _closed(stream):
                break
            if time.monotonic() > end:
                raise OSError(errno.ENXIO, f"nobody wrote into this pipe for {WRITER_WAIT_S:g} s", str(path))
            time.sleep(_WAIT_STEP_S)
        os.set_blocking(stream.fileno(), True)
        return spooled(stream, begun or b"")


def _closed(stream: IO[bytes]) -> bool:
    """Whether a pipe that gives nothing had a writer, and has it no more."""
    import select

    return bool(select.select([stream], [], [], 0)[0])


@contextmanager
def redirected(descriptor: int, to: int) -> Iterator[int | None]:
    """Within it, what a library writes to standard output (1) or standard error (2) goes ``to`` an open file.

    Gives the terminal or file of before, None where it is closed: then nobody sees anything anyway.
    """
    stream = sys.stdout if descriptor == 1 else sys.stderr
    if stream is not None:
        stream.flush()
    try:
        before = os.dup(descriptor)
    except OSError:
        yield None
        return
    os.dup2(to, descriptor)
    try:
        yield before
    finally:
        os.dup2(before, descriptor)
        os.close(before)
