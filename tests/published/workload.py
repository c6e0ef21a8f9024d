"""A published workload as a value, its files as ``advisor`` reads them, and the figures of two sets of keys on them.

A module of this folder holds one workload: schema and transactions after the publication that its docstring names, a
seeded generator of rows in order of arrival, the rates, and the keys that an expert would choose. The expert's keys
were written before the tool was run on the workload.
"""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from ruamel.yaml import YAML

from pkadvisor.inputs import AnalyzeRequest
from pkadvisor.progress import SilentProgress
from tests.plain import analyze, score

Row = Mapping[str, object]
SEED = 20_261_123
START = datetime(2026, 11, 2, tzinfo=UTC)


# -- what a published workload is --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class IndexRow:
    """A further row that the expert writes for each entity; in the entity's own partition where none is named."""

    row_key: str
    partition_key: str | None = None
    copy: str = "full"


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of a table that an expert would choose, and the reason in a sentence."""

    partition_key: str
    row_key: str
    why: str
    index_rows: tuple[IndexRow, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a workload: its entry in the design file without keys, its rows, and the expert's keys."""

    name: str
    declared: str
    """YAML: properties, queries, writes and what else an entry of the design file has."""
    rows: Callable[[Random, int], Sequence[Row]]
    """So many rows, about, in order of arrival."""
    count: int
    expert: Keys
    identity: tuple[str, ...] = ()
    """The primary key that the publication names; none where it says that there is none."""
    largest: Mapping[str, int] = field(default_factory=dict)
    """Numbers that count up as entities come, and the greatest that the publication provides for."""

    @property
    def complete(self) -> bool:
        """Whether the rows are the whole table."""
        return "sampling" not in _declared(self)


@dataclass(frozen=True, slots=True)
class Difference:
    """A figure in which the recommendation is worse than the expert's keys, by how much at most, and why."""

    table: str
    figures: tuple[str, ...]
    """Names of ``Figures.FACTORS``, or ``constraints``."""
    factor: float
    """Recommended ÷ expert, at most."""
    reason: str


@dataclass(frozen=True, slots=True)
class Workload:
    """A published workload: its tables, and where the publication is found."""

    name: str
    source: str
    tables: tuple[Table, ...]
    differences: tuple[Difference, ...] = ()
    """Where the recommendation is known to need more than the expert's keys."""


# -- rows --------------------------------------------------------------------------------------------------------------


def zipf(random: Random, values: int, exponent: float, draws: int) -> list[int]:
    """So many draws of 0 to ``values`` - 1, the r-th of weight 1 ÷ r^exponent."""
    return random.choices(range(values), [1 / (rank + 1) ** exponent for rank in range(values)], k=draws)


def text(random: Random, length: int) -> str:
    """Letters and digits; no two texts of 8 or more are likely to be equal."""
    return "".join(random.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=length))


def moment(seconds: float) -> str:
    """So many seconds after the start of all data, as ISO 8601."""
    return f"{START + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S.%f}Z"


def arrivals(random: Random, count: int, per_s: float) -> list[str]:
    """Times of a Poisson process, rising."""
    at, out = 0.0, []
    for _ in range(count):
        at += random.expovariate(per_s)
        out.append(moment(at))
    return out


# -- files -------------------------------------------------------------------------------------------------------------


def csv_text(rows: Sequence[Row]) -> str:
    """Rows as CSV with a header; None is a missing value."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def design_text(tables: Sequence[Table], *, expert: bool) -> str:
    """The design file, with the expert's keys as the keys in use or with none."""
    entries = {table.name: {**(_keys(table.expert) if expert else {}), **_declared(table)} for table in tables}
    out = io.StringIO()
    YAML(typ="safe").dump({"schema": 1, "tables": entries}, out)
    return out.getvalue()


def _declared(table: Table) -> dict[str, Any]:
    entry: dict[str, Any] = YAML(typ="safe").load(textwrap.dedent(table.declared))
    return entry


def _keys(keys: Keys) -> dict[str, Any]:
    rows = [{name: value for name, value in _fields(row).items() if value is not None} for row in keys.index_rows]
    return {
        "partition_key": keys.partition_key,
        "row_key": keys.row_key,
        **({"index_rows": rows} if rows else {}),
    }


def _fields(row: IndexRow) -> dict[str, str | None]:
    return {"partition_key": row.partition_key, "row_key": row.row_key, "copy": row.copy}


def write_files(workload: Workload, folder: Path, *, share: float = 1.0) -> AnalyzeRequest:
    """The workload as files: a CSV for each table, ``design.yaml`` without keys, ``expert.yaml`` with the expert's.

    ``share`` multiplies the rows of every table. The request names the design without keys.
    """
    data = []
    for table in workload.tables:
        path = folder / f"{table.name}.csv"
        rows = table.rows(Random(f"{SEED} {workload.name} {table.name}"), round(table.count * share))
        path.write_text(csv_text(rows), encoding="utf-8")
        data.append(f"{table.name}={path}")
    for name, expert in (("design.yaml", False), ("expert.yaml", True)):
        (folder / name).write_text(design_text(workload.tables, expert=expert), encoding="utf-8")
    return AnalyzeRequest(data=tuple(data), design=str(folder / "design.yaml"))


# -- figures -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Figures:
    """What a set of keys costs on a table, as the tool prints it."""

    keys: str
    requests_per_s: float
    entities_per_s: float
    """Read and written, index rows included."""
    entities_read_per_s: float
    hottest_per_s: float
    """Entities per second of the hottest partition at the peak."""
    break_factor: float
    violations: tuple[str, ...] = field(default=())

    FACTORS = ("requests_per_s", "entities_per_s")


@dataclass(frozen=True, slots=True)
class Compared:
    """A table's figures under the expert's keys and under the recommended ones, and the document of the analysis."""

    table: str
    expert: Figures
    recommended: Figures
    document: Mapping[str, Any]

    def worse(self, tolerance: float) -> dict[str, float]:
        """Recommended ÷ expert of each figure that is worse by more than the tolerance.

        ``constraints`` stands with the break factors' ratio where the expert's keys hold the declared load and the
        recommended ones do not.
        """
        out = {}
        for name in Figures.FACTORS:
            mine, theirs = getattr(self.recommended, name), getattr(self.expert, name)
            if mine > theirs * (1 + tolerance):
                out[name] = mine / theirs
        if self.recommended.violations and not self.expert.violations:
            out["constraints"] = self.expert.break_factor / self.recommended.break_factor
        return out


def figures(scheme: Mapping[str, Any]) -> Figures:
    """The figures of a scheme in a result or a score card."""
    terms = {term["name"]: term["value"] for term in scheme["terms"]}
    hottest = scheme["hot_partition"]
    rows = [f" + {row['partition_key']} | {row['row_key']} ({row['copy']})" for row in scheme["index_rows"]]
    return Figures(
        keys=f"{scheme['partition_key']} | {scheme['row_key']}" + "".join(rows),
        requests_per_s=terms["requests"],
        entities_per_s=terms["entities counted"],
        entities_read_per_s=terms["entities read"],
        hottest_per_s=hottest["entities_per_s_peak"] if hottest else 0.0,
        break_factor=terms["break factor"],
        violations=tuple(sorted(v["code"] for v in scheme["violations"])),
    )


def compared(workload: Workload, *, share: float = 1.0) -> tuple[Compared, ...]:
    """Every table of a workload, analysed without keys and scored under the expert's."""
    with TemporaryDirectory() as name:
        request = write_files(workload, Path(name), share=share)
        result = analyze(request, SilentProgress())
        scored = score(replace(request, design=str(Path(name) / "expert.yaml")), [], SilentProgress())
    cards = {entry["table"]: entry["schemes"][0]["scheme"] for entry in scored["tables"]}
    return tuple(
        Compared(entry["table"], figures(cards[entry["table"]]), figures(entry["recommended"]), entry)
        for entry in result["tables"]
    )
