"""``advisor analyze`` as a process: 1 M entities and 1 M log lines, the bundled samples, the start of the command.

usage: bench_analyze.py [ROWS] [LINES] [FOLDER]

Prints one JSON object: seconds and peak memory of each command, medians over rounds. The goals: the big run within 60 s
and 1 GiB, a bundled sample within 3 s, ``--version`` within 0.12 s.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DESIGN = """\
schema: 1
tables:
  events:
    partition_key: "{tenant}"
    row_key: "{time(ts,'yyyyMMddHHmmss')}_{device}"
    arrival: ts
    writes:
      - {name: report, operation: insert, rate: 200/s, peak: 900/s}
    growth: {rate: 4 %/month, of: rate}
"""


def make(folder: Path, rows: int, lines: int) -> None:
    """A data set and a log of the same keys: Zipf tenants, an entity each 0.4 s; reads of points and ranges."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(11)
    share = 1.0 / np.arange(1, 20_001) ** 1.05
    edges = np.cumsum(share / share.sum())

    def frame(count: int, start: int) -> pl.DataFrame:
        tenant = np.searchsorted(edges, rng.random(count)).clip(0, 19_999)
        device = (tenant * 37 + rng.integers(0, 40, count)) % 500_000
        return pl.DataFrame({"t": tenant, "d": device, "s": start + np.arange(count) * 2 // 5}).select(
            pl.format("tenant-{}", pl.col("t").cast(pl.String).str.pad_start(5, "0")).alias("tenant"),
            pl.format("dev-{}", pl.col("d").cast(pl.String).str.pad_start(6, "0")).alias("device"),
            pl.from_epoch("s", "s").alias("ts"),
            pl.lit("ok").alias("status"),
            (pl.col("d") % 977).alias("size"),
        )

    data = frame(rows, 1_767_225_600)
    data.with_columns(pl.col("ts").dt.strftime("%Y-%m-%dT%H:%M:%SZ")).write_csv(folder / "events.csv")
    log = data.sample(lines, with_replacement=True, seed=5).with_columns(
        at=pl.from_epoch(pl.lit(1_767_225_600_000_000) + pl.int_range(pl.len()) * 1_000, "us"),
        rk=pl.format("{}_{}", pl.col("ts").dt.strftime("%Y%m%d%H%M%S"), "device"),
        n=pl.int_range(pl.len()),
    )
    host = "https://acct1.table.core.windows.net:443/events"
    point = pl.format(host + "(PartitionKey='{}',RowKey='{}')", "tenant", "rk")
    day = pl.col("rk").str.slice(0, 8)
    ranged = pl.format(
        host + "()?$filter=PartitionKey%20eq%20'{}'%20and%20RowKey%20ge%20'{}'%20and%20RowKey%20lt%20'{}~'",
        "tenant",
        day,
        day,
    )
    is_range = pl.col("n") % 4 == 0
    log.select(
        pl.format(
            '1.0;{}Z;{};Success;200;9;8;authenticated;acct1;acct1;table;"{}";"{}";{}-0000-4000-8000-000000000000;0;'
            '10.0.0.1:50123;2019-02-02;412;0;298;900;0;;;;;;"sdk";;"c{}"',
            pl.col("at").dt.strftime("%Y-%m-%dT%H:%M:%S%.6f") + "0",
            pl.when(is_range).then(pl.lit("QueryEntities")).otherwise(pl.lit("QueryEntity")),
            pl.when(is_range).then(ranged).otherwise(point),
            pl.when(is_range).then(pl.lit("/acct1/events")).otherwise(pl.format("/acct1/events/{}/{}", "tenant", "rk")),
            pl.col("n").cast(pl.String).str.pad_start(8, "0"),
            "n",
        ).alias("line")
    ).write_csv(folder / "events.log", include_header=False, quote_style="never")
    (folder / "design.yaml").write_text(DESIGN, encoding="utf-8")


def run(arguments: list[str]) -> tuple[float, float, int]:
    """(seconds, peak MB, exit code) of the command as a process."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "pkadvisor", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    return seconds, usage.ru_maxrss / 1000, process.returncode


def measured(name: str, arguments: list[str], rounds: int) -> dict[str, object]:
    runs = [run(arguments) for _ in range(rounds)]
    return {
        "name": name,
        "rounds": rounds,
        "seconds_median": round(statistics.median(r[0] for r in runs), 3),
        "seconds_max": round(max(r[0] for r in runs), 3),
        "peak_mb": round(max(r[1] for r in runs), 1),
        "exit": sorted({r[2] for r in runs}),
    }


def main() -> None:
    rows, lines = (int(float(a)) for a in (sys.argv[1:3] + ["1e6", "1e6"][len(sys.argv[1:3]) :]))
    folder = Path(sys.argv[3]) if len(sys.argv) > 3 else Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    if len(sys.argv) > 4:  # in a process of its own: a child's peak memory begins with that of its parent
        make(folder, rows, lines)
        return
    if not (folder / "events.log").exists():
        subprocess.run([sys.executable, __file__, str(rows), str(lines), str(folder), "make"], check=True)
    big = ["analyze", str(folder / "events.csv"), "--log", str(folder / "events.log")]
    big += ["--design", str(folder / "design.yaml")]
    out = [
        measured(f"analyze {rows} rows + {lines} lines", big, 3),
        *(
            measured(f"sample {name}", ["analyze", "--sample", name], 3)
            for name in ("footrace", "microblog", "documents", "bank", "sensors", "orders")
        ),
        measured("--version", ["--version"], 15),
        measured("--help", ["--help"], 9),
    ]
    print(json.dumps({"results": out}, indent=1))


if __name__ == "__main__":
    main()
