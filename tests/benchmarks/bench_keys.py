"""Writing keys for a whole data set, side by side with polars concatenating the same columns; planning a query.

usage: bench_keys.py [--rows N] [--unique N] [--rounds N] [--no-memory]

Builds a table of a tenant (1 % distinct), a number, and a time of one year, then times in turn, in one process, each
expression as one ``select``. Figures: medians over the rounds; ratios are medians of ratios within a round, to
``concat_str`` of the three columns with numbers and times cast by polars. Peak memory is taken in a process of its own
for each case, above the table that it has read. Prints a table with each goal, met or missed, and a JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

BASE = "polars concat_str"
COMPOSITE = "{tenant}_{pad(bib,8)}_{time(at,'yyyyMMdd')}"
TEMPLATES: dict[str, float | None] = {
    COMPOSITE: 3.0,
    "{hash(tenant,16)}": 2.0,
    "{hash(tenant,16)}_{bib}_{at}": 2.0,
    "{hash(tenant,16)}_{pad(bib,8)}_{time(at,'yyyyMMdd')}": 3.0,
    "{tenant}": None,
    "{bib}": None,
    "{pad(bib,8)}": None,
    "{reverse_pad(bib,8)}": None,
    "{sortable(bib)}": None,
    "{at}": None,
    "{time(at,'yyyyMMdd')}": None,
    "{time(at,'yyyyMMddHHmmss')}": None,
    "{reverse_ticks(at)}": None,
    "{lower(tenant)}": None,
    "{prefix(tenant,3)}": None,
    "{reverse(tenant)}": None,
    "{reading}": None,
    "{sortable(reading)}": None,
}
"""Each template, and how many times the base it may take; None where it is only reported."""
HASH_GOAL, PLAN_GOAL = 0.7, 200.0
"""Million unique texts per second and core; microseconds."""


def make(rows: int) -> pl.DataFrame:
    """The table: tenants and numbers in no order, times rising over a year, readings that are all different."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(11)
    year = 365 * 86_400 * 1_000_000
    return pl.DataFrame(
        {
            "tenant": rng.integers(0, max(1, rows // 100), rows),
            "bib": rng.integers(0, 10_000_000, rows, dtype=np.int32),
            "at": 1_767_225_600_000_000 + np.sort(rng.integers(0, year, rows)),
            "reading": rng.normal(0, 1000, rows),
        }
    ).select(
        pl.format("tenant-{}", pl.col("tenant").cast(pl.String).str.pad_start(6, "0")).alias("tenant"),
        "bib",
        pl.from_epoch("at", "us").dt.replace_time_zone("UTC").alias("at"),
        "reading",
    )


def expression(template: str) -> pl.Expr:
    """The key of a template, or what polars makes of the same columns by itself."""
    import polars as pl

    from pkadvisor.design.keys.scheme import key_expression
    from pkadvisor.design.keys.template import parse_template
    from pkadvisor.table.edm import EdmType

    if template == BASE:
        return pl.concat_str("tenant", pl.lit("_"), "bib", pl.lit("_"), "at").alias("key")
    types = {
        "tenant": EdmType.STRING,
        "bib": EdmType.INT32,
        "at": EdmType.DATETIME,
        "reading": EdmType.DOUBLE,
        "text": EdmType.STRING,
    }
    return key_expression(parse_template(template), types).alias("key")


@dataclass
class Timed:
    """Seconds by the clock and seconds of all cores, one of each round."""

    wall: list[float]
    cpu: list[float]

    def run(self, work: Callable[[], object]) -> None:
        """Time one round."""
        start, used = time.perf_counter(), time.process_time()
        work()
        self.wall.append(time.perf_counter() - start)
        self.cpu.append(time.process_time() - used)


def planning(rounds: int) -> float:
    """CPU microseconds to plan one class of query on one scheme: the median over rounds of 200."""
    from pkadvisor.design.keys.conditions import conditions
    from pkadvisor.design.keys.scheme import KeyScheme, parse_key
    from pkadvisor.design.plan.plan import plan
    from pkadvisor.observe.workload import Draw, Operation, QueryClass, Rate
    from pkadvisor.table.edm import EdmType
    from pkadvisor.table.odata import parse_filter

    types = {"tenant": EdmType.STRING, "bib": EdmType.INT32, "at": EdmType.DATETIME}
    text = "tenant eq {tenant} and bib eq {bib} and at ge {at} and at lt {at+2d}"
    asked = QueryClass(
        "q", Operation.QUERY, parse_filter(text, parameters=True), Rate(10.0, 10.0), draw=Draw(stated=True)
    )
    scheme = KeyScheme(parse_key("{tenant}_{hash(bib,8)}", "{time(at,'yyyyMMdd')}_{pad(bib,8)}", known=types))
    found = []
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(200):
            plan(asked, conditions(asked.filter), scheme, types)
        found.append((time.process_time() - start) / 200 * 1e6)
    return statistics.median(found)


def peaks(names: list[str], rows: int) -> dict[str, float]:
    """Peak MB of each case above the table itself, each in a process of its own that has read the table."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "table.parquet"
        make(rows).write_parquet(file)
        found = {}
        for name in names:
            argv = [sys.executable, __file__, "--only", name, "--table", str(file)]
            found[name] = float(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)
    return found


def only(template: str, file: Path) -> None:
    """One case in this process; prints how many MB its peak lies above what the table took (Linux alone tells)."""
    import polars as pl

    frame = pl.read_parquet(file)
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew, also that of the parent
    before = memory("VmRSS")
    frame.select(expression(template))
    print(memory("VmHWM") - before)


def memory(field: str) -> float:
    """One field of the process's status in MB."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{field}:")[1].split()[0]) * 1024 / 1e6


def measured(rows: int, unique: int, rounds: int, with_memory: bool) -> list[dict[str, object]]:
    """One record for each case."""
    import polars as pl

    high = peaks([BASE, *(n for n, goal in TEMPLATES.items() if goal)], rows) if with_memory else {}
    frame = make(rows)
    cases = {name: Timed([], []) for name in (BASE, *TEMPLATES)}
    for _ in range(rounds):
        for name, timed in cases.items():
            timed.run(lambda name=name: frame.select(expression(name)))  # type: ignore[misc]
    out: list[dict[str, object]] = []
    for name, timed in cases.items():
        goal = TEMPLATES.get(name)
        ratio = statistics.median(a / b for a, b in zip(timed.wall, cases[BASE].wall, strict=True))
        record: dict[str, object] = {
            "name": name,
            "seconds": round(statistics.median(timed.wall), 3),
            "cpu": round(statistics.median(timed.cpu), 3),
            "ratio": round(ratio, 2),
        }
        if name in high:
            record["peak_mb"] = round(high[name])
        if goal is not None:
            record |= {"goal": f"<= {goal:g} x", "met": ratio <= goal}
        out.append(record)
    texts = pl.select(text=pl.format("device-{}", pl.int_range(unique).cast(pl.String).str.pad_start(9, "0")))
    for template in ("{hash(text,16)}", "{hash_prefix(text,8)}"):
        timed = Timed([], [])
        for _ in range(rounds):
            timed.run(lambda template=template: texts.select(expression(template)))  # type: ignore[misc]
        rate = unique / statistics.median(timed.cpu) / 1e6
        out.append(
            {
                "name": f"{template}, all different",
                "seconds": round(statistics.median(timed.wall), 3),
                "cpu": round(statistics.median(timed.cpu), 3),
                "rate": f"{rate:.2f} M/s per core",
                "goal": f">= {HASH_GOAL} M/s",
                "met": rate >= HASH_GOAL,
            }
        )
    micros = planning(rounds)
    out.append(
        {
            "name": "plan one class on one scheme",
            "seconds": micros / 1e6,
            "rate": f"{micros:.0f} us",
            "goal": f"<= {PLAN_GOAL:.0f} us",
            "met": micros <= PLAN_GOAL,
        }
    )
    return out


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--unique", type=float, default=2e6)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-memory", action="store_true", help="time only")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    parser.add_argument("--table", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    rows = int(chosen.rows)
    if chosen.only is not None:
        only(chosen.only, chosen.table)
        return
    results = measured(rows, int(chosen.unique), chosen.rounds, not chosen.no_memory)
    print(f"{'':58}{'seconds':>9}{'cpu':>8}{'ratio':>7}{'peak MB':>9}  goal")
    for found in results:
        met = "" if "met" not in found else f"{found['goal']}, {'met' if found['met'] else 'missed'}"
        shown = found.get("rate", "")
        print(
            f"{found['name']:58}{found['seconds']:9.3f}{found.get('cpu', ''):>8}{found.get('ratio', ''):>7}"
            f"{found.get('peak_mb', ''):>9}  {shown}{', ' if shown and met else ''}{met}"
        )
    shape = {"rows": rows, "rounds": chosen.rounds, "cpus": os.cpu_count(), "load": os.getloadavg()[0]}
    print(json.dumps(shape | {"results": results}))


if __name__ == "__main__":
    main()
