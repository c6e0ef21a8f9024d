"""Query logs: one module for each format; which one reads a file is decided by its first lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Final

from pkadvisor.errors import InputError
from pkadvisor.lazy import pl
from pkadvisor.observe.data.dataset import Dataset
from pkadvisor.observe.data.streams import open_text
from pkadvisor.observe.logs import access_log, azure_monitor, recorded, storage_analytics, trace
from pkadvisor.observe.logs.example import trace_line
from pkadvisor.observe.logs.frame import NOT_PARSEABLE, ReadOptions, Routes, Skips
from pkadvisor.table.edm import TICKS_UNIX_EPOCH, parse_datetime_ticks
from pkadvisor.values import dataclass

FORMATS: Final[tuple[ModuleType, ...]] = (storage_analytics, azure_monitor, trace, recorded, access_log)
"""Each has ``NAME``, ``claims(head)`` and ``frames(path, routes, skips, options, name)``; ``FIRST_TIME``, where there
is one, finds the time of the first line."""

_HEAD_BYTES: Final = 64 << 10


@dataclass(frozen=True, slots=True)
class Log:
    """A log file and the format that claims it; ``first_us``: the first time seen in its beginning."""

    path: str | Path
    name: str
    format: ModuleType
    first_us: int | None

    @property
    def format_name(self) -> str:
        """The name of the format for humans."""
        return str(self.format.NAME)

    def frames(self, routes: Routes, skips: Skips, options: ReadOptions) -> Iterator[pl.DataFrame]:
        """Request frames of the file."""
        frames: Iterator[pl.DataFrame] = self.format.frames(self.path, routes, skips, options, self.name)
        return frames


def sniff(head: bytes) -> ModuleType | None:
    """The format that claims a file beginning with ``head``."""
    return next((candidate for candidate in FORMATS if candidate.claims(head)), None)


def open_log(path: str | Path) -> Log:
    """Find the format of a file; raises InputError where none claims it."""
    head, whole = _beginning(path)
    where = str(path)
    claiming = sniff(whole)
    if claiming is None:
        raise _unknown(head, where)
    return Log(path, where, claiming, _first_time(claiming, whole))


def log_format_of(path: str | Path) -> str:
    """The name of the log format that claims a file; empty where none does."""
    claiming = sniff(_beginning(path)[1])
    return "" if claiming is None else str(claiming.NAME)


def _beginning(path: str | Path) -> tuple[bytes, bytes]:
    """The first bytes of a file, and of them the whole lines."""
    with open_text(path) as stream:
        head = stream.read(_HEAD_BYTES)
    cut = head.rfind(b"\n") + 1
    return head, head[:cut] if cut and len(head) == _HEAD_BYTES else head


class UnknownLogError(InputError):
    """A file that is in no known format."""


def _unknown(head: bytes, where: str) -> UnknownLogError:
    """The error for a file in no known format, with one line of ``trace`` made of the user's own."""
    tried = ", ".join(f.NAME for f in FORMATS)
    text = _text(head)
    strange = sum(not (c.isprintable() or c in "\t\r\n") or c == "\ufffd" for c in text[:4096])
    if strange > _BINARY_SHARE * len(text[:4096]):
        fix = f"formats tried: {tried}"
        return UnknownLogError("this is not text, so it is not a query log", where=where, fix=fix)
    line = next((part for part in text.split("\n", 50) if part.strip()), "")
    if _HEADER.search(line):
        fix = "give an export of the table as data (--from of 'init'), not as a log"
        return UnknownLogError("this reads like an export of a table", where=f"{where}:1", fix=fix)
    shown = trace_line(line[:4000])
    what = f"this is not a query log that can be read (formats tried: {tried}); the first line is shown below"
    made = f"write it as a trace, a line for each request: {shown}"
    return UnknownLogError(what, where=f"{where}:1", excerpt="  " + _first_line(line), fix=made)


_BINARY_SHARE: Final = 0.05
_HEADER: Final = re.compile(r'(?:^|[,;|\t])"?PartitionKey"?[,;|\t]"?RowKey"?(?:[,;|\t\r]|$)')


def _text(head: bytes) -> str:
    """The beginning of a file as UTF-8, but for a character that is cut at its end; else as Windows writes text."""
    try:
        return head[: len(head) - 3].decode("utf-8") if len(head) == _HEAD_BYTES else head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start >= len(head) - 6:
            return head[: error.start].decode("utf-8")
        return head.decode("cp1252", "replace")


def _first_line(line: str) -> str:
    line = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in line.strip()[:400])
    return line if len(line) <= 76 else line[:75] + "…"


def _first_time(log_format: ModuleType, head: bytes) -> int | None:
    """A time in the beginning of a log: of the first line where a format shows it there, else the earliest."""
    import tempfile

    shown = log_format.FIRST_TIME.search(head) if hasattr(log_format, "FIRST_TIME") else None
    if shown is not None:
        try:
            return (parse_datetime_ticks(shown[1].decode("ascii", "replace")) - TICKS_UNIX_EPOCH) // 10
        except ValueError:  # the format tells what is wrong with it
            pass
    with tempfile.NamedTemporaryFile(prefix="pkadvisor-", suffix=".log") as copy:
        copy.write(head)
        copy.flush()
        try:
            for frame in log_format.frames(copy.name, Routes(), Skips(), ReadOptions(threads=1), "head"):
                first = frame["at_us"].min()
                if first is not None:
                    return int(first)
        except InputError:
            return None
    return None


def in_time_order(logs: Sequence[Log]) -> list[Log]:
    """Logs by their first time, those without one last; then by name."""
    return sorted(logs, key=lambda log: (log.first_us is None, log.first_us or 0, log.name))


def too_many_bad(skips: Skips, max_bad_lines: float) -> InputError:
    """The error for a log most of which makes sense only partly."""
    reason, example = next(iter(sorted(skips.examples.items(), key=lambda item: item[0] != NOT_PARSEABLE)))
    return InputError(
        f"{skips.bad:,} of {skips.lines:,} log lines cannot be read, more than {max_bad_lines:.1%}",
        where=example.split(": ", 1)[0],
        excerpt="  " + example.split(": ", 1)[1][:76],
        fix=f"first reason: {reason}; repair the log, or raise --max-bad-lines",
    )


def no_requests(logs: Sequence[Log], skips: Skips) -> InputError:
    """The error for logs without a single request of a table."""
    if not skips.examples:
        return InputError("the log holds no request", where=", ".join(log.name for log in logs[:3]))
    reason = max(sorted(skips.counts), key=lambda r: skips.counts[r])
    where, _, text = skips.examples[reason].partition(": ")
    return InputError(
        f"none of {skips.lines:,} lines is a request to a table; {skips.counts[reason]:,} are left out: {reason}",
        where=where,
        excerpt="  " + text[:76],
        fix=f"read as {', '.join(sorted({log.format_name for log in logs}))}; is this the log of the table service?",
    )


_LOOKED_AT: Final = 100
"""Data files that are looked at for a log among them."""


def log_in_place_of_data(dataset: Dataset) -> tuple[str, ...]:
    """A note where data may be a query log that was given in the place of data."""
    if dataset.format not in ("csv", "jsonl"):
        return ()
    several = len(dataset.paths) > 1
    logs = ((path, name) for path in dataset.paths[:_LOOKED_AT] if (name := log_format_of(path)))
    return tuple(
        f"{path.name if several else 'this'} reads like a query log ({name}): if it is one, give it with --log"
        for path, name in islice(logs, 1)
    )
