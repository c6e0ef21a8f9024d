"""Reading query logs, side by side with its peers; prints one JSON object.

usage: bench_logs.py [--rounds N] [--generator FILE] [--lines N] [--small N] [--monitor-lines N] [--folder DIR]

Generates the logs with ``gen_data.py`` (Storage Analytics and Azure Monitor lines), then runs in turn, each in a
process of its own: the whole of ``read_traffic``, a polars scan that parses the same file and touches one column,
goaccess on an access log (if installed), and DuckDB extracting the same fields from the JSON lines (if installed).
Figures: medians over the rounds; ratios are medians of ratios within a round; peaks are the largest seen.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

READ = """
import json, sys, time
import polars
from pkadvisor.observe.logs.traffic import read_traffic
start = time.perf_counter()
found = read_traffic(sys.argv[1:])
print(json.dumps({"lines": found.lines, "seconds": time.perf_counter() - start}))
"""

SCAN = """
import json, sys, time
import polars as pl
start = time.perf_counter()
columns = {f"c{i}": pl.String for i in range(30)}
scan = pl.scan_csv(sys.argv[1], separator=";", quote_char='"', has_header=False, schema=columns)
found = scan.select(pl.len().alias("n"), pl.col("c11").str.len_bytes().sum()).collect(engine="streaming")
print(json.dumps({"lines": found["n"][0], "seconds": time.perf_counter() - start}))
"""

# What the log reader takes out of a record, grouped as coarsely as it counts.
DUCK = """
import json, sys, time
import duckdb
start = time.perf_counter()
found = duckdb.sql(f'''
  select sum(n), count(*) from (
    select operationName, statusCode, url_decode(regexp_extract(uri, $$PartitionKey(?:%20eq%20|=)'([^']*)'$$, 1)) pk,
      regexp_extract(uri, 'filter=([^&]*)', 1) <> '' filtered, count(*) n, sum(properties.serverLatencyMs) latency,
      sum(properties.responseBodySize) bytes, max(date_trunc('second', time::timestamp)) last,
      max(properties.objectKey) k, max(correlationId) i, max(properties.clientRequestId) c,
      max(properties.operationCount) o
    from read_json('{sys.argv[1]}', format='newline_delimited', columns={{time: 'VARCHAR', operationName: 'VARCHAR',
      statusCode: 'INT', correlationId: 'VARCHAR', uri: 'VARCHAR', properties: 'STRUCT(clientRequestId VARCHAR,
      serverLatencyMs DOUBLE, serviceType VARCHAR, operationCount INT, responseBodySize BIGINT, objectKey VARCHAR)'}})
    group by all)''').fetchall()[0]
print(json.dumps({"lines": int(found[0]), "seconds": time.perf_counter() - start}))
"""


def once(argv: list[str]) -> dict[str, float]:
    """Run one command: wall time, peak memory, and what it printed."""
    with tempfile.TemporaryFile() as out:
        start = time.perf_counter()
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{argv[:3]} failed with {process.returncode}")
        out.seek(0)
        text = out.read().decode("utf-8", "replace").strip().splitlines()
    found = {"wall_s": wall, "cpu_s": usage.ru_utime + usage.ru_stime, "peak_mb": usage.ru_maxrss * 1024 / 1e6}
    if text and text[-1].startswith("{"):
        found |= json.loads(text[-1])
    return found


def summary(runs: list[dict[str, float]]) -> dict[str, float]:
    """Medians; the largest peak."""
    found = {key: round(statistics.median(run[key] for run in runs), 3) for key in runs[0]}
    return found | {"peak_mb": round(max(run["peak_mb"] for run in runs), 1)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--generator", type=Path, required=True, help="the generator script gen_data.py")
    parser.add_argument("--lines", type=float, default=5e6)
    parser.add_argument("--small", type=float, default=1.25e6)
    parser.add_argument("--monitor-lines", type=float, default=2e6)
    parser.add_argument("--folder", type=Path, help="where to put the logs; kept (default: a temporary folder)")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        print(json.dumps(measured(chosen, chosen.folder or Path(scratch)), indent=1))


def measured(chosen: argparse.Namespace, folder: Path) -> dict[str, object]:
    """All figures."""

    def made(kind: str, lines: float) -> str:
        path = folder / f"{kind}-{int(lines)}.log"
        if not path.exists():
            subprocess.run(
                [sys.executable, str(chosen.generator), kind, str(int(lines)), str(path)],
                check=True,
                stdout=subprocess.DEVNULL,
            )
        return str(path)

    def python(code: str, *argv: str) -> list[str]:
        return [sys.executable, "-c", code, *argv]

    large, small = made("salog", chosen.lines), made("salog", chosen.small)
    commands = {
        "traffic": python(READ, large),
        "polars_scan": python(SCAN, large),
        "traffic_small": python(READ, small),
    }
    if chosen.monitor_lines:
        monitor = made("monitor", chosen.monitor_lines)
        commands["monitor"] = python(READ, monitor)
        try:
            import duckdb  # noqa: F401

            commands["duckdb"] = python(DUCK, monitor)
        except ImportError:
            pass
    access_lines = 1_000_000
    if shutil.which("goaccess"):
        report = str(folder / "report.html")
        commands["goaccess"] = [
            "goaccess", made("apache", access_lines), "--log-format=COMBINED", "--no-progress", "-o", report,
        ]  # fmt: skip
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
    for _ in range(chosen.rounds):
        for name, argv in commands.items():
            runs[name].append(once(argv))
    for run in runs.get("goaccess", []):
        run["lines"] = access_lines

    def rate_ratio(name: str, to: str, field: str) -> float | None:
        if name not in runs or to not in runs:
            return None
        pairs = zip(runs[name], runs[to], strict=True)
        return round(statistics.median((a["lines"] / a[field]) / (b["lines"] / b[field]) for a, b in pairs), 3)

    results = {name: summary(found) for name, found in runs.items()}
    growth = math.log(results["traffic"]["lines"] / results["traffic_small"]["lines"])
    return {
        "cpus": os.cpu_count(),
        "load": os.getloadavg()[0],
        "rounds": chosen.rounds,
        "results": results,
        "traffic_to_polars_scan": rate_ratio("traffic", "polars_scan", "seconds"),
        "traffic_to_polars_scan_wall": rate_ratio("traffic", "polars_scan", "wall_s"),
        "traffic_to_goaccess": rate_ratio("traffic", "goaccess", "wall_s"),
        "monitor_to_duckdb": rate_ratio("monitor", "duckdb", "seconds"),
        "monitor_to_duckdb_wall": rate_ratio("monitor", "duckdb", "wall_s"),
        "time_exponent": round(
            math.log(results["traffic"]["seconds"] / results["traffic_small"]["seconds"]) / growth, 3
        ),
        "peak_exponent": round(
            math.log(results["traffic"]["peak_mb"] / results["traffic_small"]["peak_mb"]) / growth, 3
        ),
    }


if __name__ == "__main__":
    main()
