"""What the folders of strangers are made with: files by name with their right answer, CSV, and requests of a log."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from tests.worlds.law.log_lines import Line, log_text

TICKS_MAX = 3_155_378_975_999_999_999
ROWS = 1_500


@dataclass(frozen=True)
class Stranger:
    """One folder: files by name, what is data and what is a log, and the right answer."""

    name: str
    files: Mapping[str, str]
    data: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    right: tuple[str, ...] = ()
    """One regular expression for each table or kind, by its place; each is searched in ``PK | RK``."""
    current: tuple[str, ...] = ()
    """The keys in use that ``init`` has to find, as templates ``PK | RK`` with its invented names."""
    question: str = ""

    def write(self, folder: Path) -> None:
        """Write the files below a folder."""
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")


def ticks(at: datetime) -> int:
    """100 ns since year 1."""
    span = at - datetime(1, 1, 1, tzinfo=UTC)
    return (span.days * 86_400 + span.seconds) * 10_000_000 + span.microseconds * 10


def table_csv(rows: Iterable[Mapping[str, object]]) -> str:
    """Rows as CSV; the first one names the columns."""
    rows = list(rows)
    names = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


@dataclass
class Log:
    """Requests collected one after the other."""

    seed: int
    seconds: float = 60.0
    lines: list[Line] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)

    def _add(self, operation: str, **more: object) -> None:
        at = self.random.random() * self.seconds
        self.lines.append(Line(at, operation, 1_000_000 * self.seed + len(self.lines), **more))  # type: ignore[arg-type]

    def point(self, pk: str, rk: str, operation: str = "query") -> None:
        """One entity by its key."""
        self._add(operation, key=(pk, rk))

    def query(self, text: str, top: int | None = None) -> None:
        """A query with a filter, and ``$top``."""
        self._add("query", filter=text, top=top)

    def text(self, table: str, form: str = "storage analytics") -> str:
        """The log as a file."""
        return log_text(self.lines, table, form)


def begins(text: str) -> str:
    """RowKeys that begin with a text."""
    return f"RowKey ge '{text}' and RowKey lt '{text[:-1]}{chr(ord(text[-1]) + 1)}'"


def recommended(result: dict[str, Any]) -> list[str]:
    """The recommended keys of each table or kind, as ``PK | RK``."""
    found = [t["recommended"] for t in result["tables"]]
    return [f"{r['partition_key']} | {r['row_key']}" if r else "" for r in found]
