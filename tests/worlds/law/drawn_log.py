"""The log of the law *files*: five kinds of requests of a table, and what logs hold besides.

``QUIRKS``: requests with ``x eq a or x eq b``; a value that all requests of a class name; a request whose clock is
years off; a log of less than a minute; answers 404, for entities that the export lacks; identifiers in hex; deletes in
one burst; requests of another table, and group transactions of another account. ``upsert`` stands in place of updates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from random import Random

from tests.worlds.law.log_lines import BEGIN, PROXIES, Line, log_text
from tests.worlds.law.logs import LENGTH_S
from tests.worlds.model import Kind
from tests.worlds.rows import Layout
from tests.worlds.values import STRING, Row

QUIRKS = ("choice", "constant", "clock", "short", "absent", "hex", "job", "foreign")
SHARE = 0.2
"""Of the worlds, that have each of them."""
REQUESTS = (600, 410, 290, 180, 110)
"""Of the five kinds of requests, in an order that is drawn."""
CHOICES, CONSTANTS = 240, 145
"""Requests for two partitions, and for what in a partition has one value of a property."""
SHORT_S, BURST_S = 50, 3
ABSENT = 20
"""One in so many entities is not in the export."""
YEARS_OFF = (1970, 2038)


def in_hex(kind: Kind) -> Kind:
    """The entities with texts of twelve hex digits as identifiers."""
    if kind.types.get("id") != STRING:
        return kind
    rows = (Row({**row, "id": sha256(str(row["id"]).encode()).hexdigest()[:12]}) for row in kind.rows)
    return replace(kind, rows=tuple(rows))


@dataclass
class DrawnLog:
    """The requests of one world; ``columns`` are the properties that the export has."""

    layout: Layout
    columns: Sequence[str]
    quirks: set[str]
    random: Random
    counts: dict[str, int] = field(init=False)
    length_s: float = field(init=False)

    def __post_init__(self) -> None:
        changed = "upsert" if "upsert" in self.quirks else "update"
        kinds = ("point", "partition", "insert", changed, "delete")
        self.counts = dict(zip(kinds, self.random.sample(REQUESTS, len(kinds)), strict=True))
        self.length_s = SHORT_S if "short" in self.quirks else LENGTH_S
        self.partitions = sorted({r.partition for r in self.exported.rows})
        if "choice" in self.quirks and len(self.partitions) > 1:
            self.counts["choice"] = CHOICES
        self.constant = self._constant() if "constant" in self.quirks else ""
        if self.constant:
            self.counts["constant"] = CONSTANTS

    @property
    def exported(self) -> Layout:
        """The rows of the entities that the export has."""
        rows = tuple(r for r in self.layout.rows if "absent" not in self.quirks or r.entity % ABSENT)
        return replace(self.layout, rows=rows)

    def _constant(self) -> str:
        """A condition on a property that is in no key, not as another text of an identifier either; empty where none
        has a value of several entities that needs no escapes."""
        kind, scheme = self.layout.kind, self.layout.scheme
        for name in self.columns:
            value = next((v for row in kind.rows if (v := row[name])), "")
            plain = kind.types[name] == STRING and re.fullmatch("[a-z]+", name) and name not in kind.several
            own = name not in scheme.text and value not in self.partitions
            shared = sum(row[name] == value for row in kind.rows) > 1
            if plain and own and shared and isinstance(value, str) and re.fullmatch(r"\w+", value, re.ASCII):
                return f"{name} eq '{value}'"
        return ""

    def text(self, table: str, form: str) -> str:
        """The log file."""
        foreign = list(self._foreign(form)) if "foreign" in self.quirks else []
        return log_text(self._lines(), table, form) + log_text(foreign, "Others", form)

    def _lines(self) -> Iterator[Line]:
        """Each kind of requests evenly over the log, but for a job's."""
        rows, exported, number = self.layout.rows, self.exported.rows, 0
        for place, (what, count) in enumerate(self.counts.items()):
            for n in range(count):
                number += 1
                at = (n + (place + 1) / (len(self.counts) + 1)) * self.length_s / count
                if what == "delete" and "job" in self.quirks:
                    at = self.length_s / 2 + n * BURST_S / count
                stored = self.random.choice(rows if what == "point" else exported)
                if what in ("partition", "choice", "constant"):
                    yield Line(at, "query", number, filter=self._filter(what, stored.partition), client=f"c-{number}")
                    continue
                status = 404 if "absent" in self.quirks and not stored.entity % ABSENT else 200
                key, operation = (stored.partition, stored.row), "query" if what == "point" else what
                yield Line(at, operation, number, key=key, status=status, client=f"c-{number}")
        if "clock" in self.quirks:
            off = (BEGIN.replace(year=self.random.choice(YEARS_OFF)) - BEGIN).total_seconds()
            yield Line(off, "query", number + 1, key=(rows[0].partition, rows[0].row), client="c-0")

    def _filter(self, what: str, partition: str) -> str:
        other = self.random.choice([p for p in self.partitions if p != partition] or [partition])
        first, second = (f"PartitionKey eq '{text.replace(chr(39), 2 * chr(39))}'" for text in (partition, other))
        return {"partition": first, "choice": f"{first} or {second}", "constant": f"{first} and {self.constant}"}[what]

    def _foreign(self, form: str) -> Iterator[Line]:
        """Reads of another table, and of another account the parts of group transactions."""
        for n in range(90):
            at, number = n * self.length_s / 90, 90_000 + n
            yield Line(at, "query", number, key=(f"foreign {n % 7}", f"{n:05}"), client=f"f-{n}")
            if form not in ("exchanges", *PROXIES) and not n % 9:
                for part in range(3):
                    key = (f"foreign {n}", f"{part}") if part else None
                    yield Line(at, "insert", number, key=key, group=f"b-{n}", part=part, account="elsewhere")
