"""Ranking 300 keys over a large table, and counting five of them exactly, side by side with one polars ``group_by``.

usage: bench_scoring.py [--rows N] [--rounds N] [--candidates N] [--accuracy N] [--analyze]

Makes a Parquet file of 10 columns (Zipf tenants, users, regions and categories; devices of tenants; an event each
0.4 s; seed 7) in a temporary folder. A key is a set of one to four of ten groupings: columns, the day or hour, a hash
bucket of the device. Every case runs in a process of its own and in turn; ratios are medians of ratios within a round,
to one ``group_by`` of the same file on (tenant, device); peaks are those of the process. Growth is measured on a
quarter of the rows and a tenth of the keys in the same rounds. Prints a table with each goal and a JSON object.

The cases: ``screen`` opens the file, profiles it in one pass with a sample of 1 M rows by hash, and counts the
partitions of all keys there. ``finalists`` does that and counts five keys over every row: those of the smallest
largest partition among keys of at most two groupings. ``one key`` and ``five keys`` count over every row alone; their
difference by four is one more key.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pkadvisor.design.keys.transforms.base import Atom
    from pkadvisor.design.rows.samples.screen import PartitionFacts
    from pkadvisor.observe.data.dataset import Dataset
    from pkadvisor.table.edm import EdmType

CHUNK = 1_000_000
SAMPLE = 1_000_000
GROUPINGS: dict[str, Atom] = {
    "tenant": ("p", "tenant"),
    "device": ("p", "device"),
    "user": ("p", "user"),
    "region": ("p", "region"),
    "category": ("p", "category"),
    "status": ("p", "status"),
    "day": ("t", "ts", "day"),
    "hour": ("t", "ts", "hour"),
    "b16": ("h", "device", "16"),
    "b256": ("h", "device", "256"),
}
GOALS = {
    "screen": ("<= 6 x", 6.0, 1000.0),
    "finalists": ("<= 10 x", 10.0, 2500.0),
    "one more key": ("<= 0.4 x", 0.4, math.inf),
    "analyze": ("<= 15 x", 15.0, math.inf),
}
"""Each case's goal: as text, times one group_by, peak MB."""


def make(rows: int, file: Path) -> None:
    """The table, a million rows at a time."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(7)

    def zipf(count: int, values: int, exponent: float) -> Any:
        edges = np.cumsum(1.0 / np.arange(1, values + 1) ** exponent)
        return np.searchsorted(edges / edges[-1], rng.random(count)).astype(np.uint32)

    parts = []
    for start in range(0, rows, CHUNK):
        count = min(CHUNK, rows - start)
        tenant = zipf(count, 20_000, 1.1)
        device = (tenant.astype(np.uint64) * 37 + rng.integers(0, 40, count, dtype=np.uint64)) % 500_000
        frame = pl.DataFrame(
            {
                "tenant": tenant,
                "device": device.astype(np.uint32),
                "user": zipf(count, 1_000_000, 0.9),
                "ts": 1_767_225_600_000_000 + np.arange(start, start + count, dtype=np.int64) * 400_000,
                "region": zipf(count, 12, 0.8),
                "category": zipf(count, 60, 1.1),
                "status": rng.integers(0, 5, count, dtype=np.uint8),
                "order_id": rng.integers(0, 2**62, count, dtype=np.int64),
                "amount": rng.gamma(2, 30, count),
                "size": rng.integers(100, 5000, count, dtype=np.int32),
            }
        ).with_columns(
            pl.format("tenant-{}", pl.col("tenant").cast(pl.String).str.zfill(5)).alias("tenant"),
            pl.format("dev-{}", pl.col("device").cast(pl.String).str.zfill(6)).alias("device"),
            pl.from_epoch("ts", "us").dt.replace_time_zone("UTC").alias("ts"),
            pl.format("region-{}", "region").alias("region"),
            pl.format("cat-{}", "category").alias("category"),
        )
        parts.append(file.with_name(f"{file.stem}-{start}.part"))
        frame.write_parquet(parts[-1], compression="zstd", compression_level=1)
    pl.scan_parquet(parts).sink_parquet(file, compression="zstd", compression_level=1, row_group_size=CHUNK)
    for part in parts:
        part.unlink()


def candidates(count: int) -> list[tuple[str, ...]]:
    """Sets of one to four groupings that are not of the same thing twice, in a fixed random order."""
    import numpy as np

    twice = ({"day", "hour"}, {"b16", "b256"})
    found = [
        names
        for size in (1, 2, 3, 4)
        for names in itertools.combinations(GROUPINGS, size)
        if not any(pair <= set(names) for pair in twice)
    ]
    order = np.random.default_rng(3).permutation(len(found))
    return [found[i] for i in order[:count]]


def atoms(names: tuple[str, ...]) -> tuple[Atom, ...]:
    return tuple(GROUPINGS[name] for name in names)


def counted(
    dataset: Dataset, keys: Sequence[tuple[str, ...]], types: dict[str, EdmType]
) -> list[PartitionFacts | None]:
    """The facts of each grouping over every row."""
    from pkadvisor.design.rows.census import _counted
    from pkadvisor.design.rows.samples.screen import needed

    sets = [needed(atoms(key)) for key in keys]
    facts = _counted(dataset, list(dict.fromkeys(sets)), frozenset(sets), types)
    return [facts.get(key) for key in sets]


# -- the cases, each in a process of its own ---------------------------------------------------------------------------


def case_one(file: Path, _: int) -> dict[str, Any]:
    """One group_by."""
    import polars as pl

    found = pl.scan_parquet(file).group_by("tenant", "device").len().select("len").collect(engine="streaming")
    return {"groups": found.height}


def _screened(file: Path, count: int) -> tuple[Any, Any, list[tuple[str, ...]], Any, dict[str, Any]]:
    from pkadvisor.design.rows.samples.screen import Screen
    from pkadvisor.observe.data.dataset import open_datasets
    from pkadvisor.observe.profile.profile import profile_dataset

    (dataset,) = open_datasets([str(file)])
    profile = profile_dataset(dataset, wide_rows_max=SAMPLE)
    frame = profile.sample if profile.wide is None else profile.wide
    keys = candidates(count)
    start = time.perf_counter()
    facts = Screen(frame, profile.types).facts([atoms(key) for key in keys])
    inner = {"count_s": time.perf_counter() - start, "sample": frame.height}
    return dataset, profile, keys, facts, inner


def case_screen(file: Path, count: int) -> dict[str, Any]:
    """From the file to the largest partition of every key."""
    return _screened(file, count)[4]


def case_finalists(file: Path, count: int) -> dict[str, Any]:
    """And five of them over every row."""
    dataset, profile, keys, facts, inner = _screened(file, count)
    few = sorted((f.top_share, key) for key, f in zip(keys, facts, strict=True) if len(key) <= 2)[:5]
    types = profile.types
    del profile, facts
    counted(dataset, [key for _, key in few], types)
    return inner


FIVE: tuple[tuple[str, ...], ...] = (("tenant",), ("tenant", "device"), ("device", "day"), ("user",), ("user", "hour"))
"""From 20 thousand partitions to one for nearly each row."""


def _exact(file: Path, keys: tuple[tuple[str, ...], ...]) -> dict[str, Any]:
    from pkadvisor.observe.data.dataset import open_datasets

    (dataset,) = open_datasets([str(file)])
    types = {c.name: c.edm for c in dataset.columns}
    start = time.perf_counter()
    found = counted(dataset, keys, types)
    return {"count_s": time.perf_counter() - start, "partitions": [f.partitions for f in found if f is not None]}


def case_one_key(file: Path, _: int) -> dict[str, Any]:
    return _exact(file, FIVE[1:2])


def case_five_keys(file: Path, _: int) -> dict[str, Any]:
    return _exact(file, FIVE)


def case_accuracy(file: Path, count: int) -> dict[str, Any]:
    """How far sampled shares and sketched counts are from what is there."""
    import polars as pl

    dataset, profile, keys, facts, _ = _screened(file, count)
    exact = counted(dataset, keys, profile.types)
    errors = [abs(f.top_share - e.top_share) for f, e in zip(facts, exact, strict=True) if e is not None]
    distinct = {}
    for prop in profile.properties:
        column = pl.scan_parquet(file).select(pl.col(prop.column.name).n_unique()).collect(engine="streaming").item()
        distinct[prop.column.name] = round(prop.distinct.estimate() / column - 1, 5)
    return {
        "keys": len(errors),
        "top_share_error_max": max(errors),
        "distinct_errors": distinct,
        "distinct_error_max": max(map(abs, distinct.values())),
    }


DESIGN = """\
schema: 1
tables:
  events:
    partition_key: "{tenant}"
    row_key: "{order_id}"
    arrival: ts
    queries:
      - {name: of-device, filter: "tenant eq '{tenant}' and device eq '{device}'", rate: 5/s, peak: 20/s}
      - {name: one, filter: "order_id eq {order_id} and tenant eq '{tenant}'", rate: 100/s, peak: 300/s}
    writes:
      - {name: report, operation: insert, rate: 200/s, peak: 900/s}
"""


def case_analyze(file: Path, _: int) -> dict[str, Any]:
    """The whole advice."""
    from pkadvisor.inputs import AnalyzeRequest
    from pkadvisor.progress import SilentProgress
    from tests.plain import analyze

    design = file.with_name("design.yaml")
    design.write_text(DESIGN, encoding="utf-8")
    analyze(AnalyzeRequest(data=(str(file),), design=str(design)), SilentProgress())
    return {}


CASES = {
    "one": case_one,
    "screen": case_screen,
    "finalists": case_finalists,
    "one-key": case_one_key,
    "five-keys": case_five_keys,
    "accuracy": case_accuracy,
    "analyze": case_analyze,
}


def alone(case: str, file: Path, count: int) -> None:
    """One case in this process; prints its seconds, its cores' seconds and its peak."""
    import numpy
    import polars

    del numpy, polars  # what it takes to load them is nobody's doing
    start, used = time.perf_counter(), time.process_time()
    found = CASES[case](file, count)
    found |= {"seconds": time.perf_counter() - start, "cpu": time.process_time() - used}
    # In KiB on Linux and in bytes on a Mac.
    unit = 1 if sys.platform == "darwin" else 1024
    found["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
    print(json.dumps(found))


def run(case: str, file: Path, count: int) -> dict[str, Any]:
    argv = [sys.executable, __file__, "--only", case, "--table", str(file), "--candidates", str(count)]
    done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


# -- the comparison ----------------------------------------------------------------------------------------------------


def measured(rows: int, rounds: int, count: int, accuracy: int, folder: Path, with_analyze: bool) -> dict[str, Any]:
    """Medians, ratios and exponents."""
    whole, quarter = folder / "events.parquet", folder / "quarter.parquet"
    for size, file in ((rows, whole), (rows // 4, quarter)):
        # In a process of its own: a child's peak begins with that of its parent.
        subprocess.run([sys.executable, __file__, "--make", str(size), "--table", str(file)], check=True)
    cases = {
        "one": ("one", whole, count),
        "screen": ("screen", whole, count),
        "finalists": ("finalists", whole, count),
        "one key": ("one-key", whole, count),
        "five keys": ("five-keys", whole, count),
        "one, quarter of the rows": ("one", quarter, count),
        "screen, quarter of the rows": ("screen", quarter, count),
        "five keys, quarter of the rows": ("five-keys", quarter, count),
        "screen, tenth of the keys": ("screen", whole, max(1, count // 10)),
    }
    if with_analyze:
        cases["analyze"] = ("analyze", whole, count)
    seen: dict[str, list[dict[str, Any]]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, (case, file, keys) in cases.items():
            seen[name].append(run(case, file, keys))

    def ratios(name: str, field: str, by: str, of: str = "seconds") -> float:
        return statistics.median(a[field] / b[of] for a, b in zip(seen[name], seen[by], strict=True))

    results: list[dict[str, Any]] = []
    for name, found in seen.items():
        record: dict[str, Any] = {
            "name": name,
            "seconds": round(statistics.median(f["seconds"] for f in found), 3),
            "cpu": round(statistics.median(f["cpu"] for f in found), 3),
            "ratio": round(ratios(name, "seconds", "one"), 2),
            "cpu_ratio": round(ratios(name, "cpu", "one", "cpu"), 2),
            "peak_mb": round(max(f["peak_mb"] for f in found)),
        }
        if "count_s" in found[0]:
            record["count_s"] = round(statistics.median(f["count_s"] for f in found), 3)
        results.append(_judged(record))
    more = [(b["count_s"] - a["count_s"]) / 4 for a, b in zip(seen["one key"], seen["five keys"], strict=True)]
    marginal = {
        "name": "one more key",
        "seconds": round(statistics.median(more), 3),
        "ratio": round(statistics.median(m / one["seconds"] for m, one in zip(more, seen["one"], strict=True)), 2),
    }
    results.append(_judged(marginal))
    growth = {
        "rows, one": math.log(ratios("one", "seconds", "one, quarter of the rows"), 4),
        "rows, screen": math.log(ratios("screen", "seconds", "screen, quarter of the rows"), 4),
        "rows, five keys": math.log(ratios("five keys", "count_s", "five keys, quarter of the rows", "count_s"), 4),
        "candidates, counting": math.log(ratios("screen", "count_s", "screen, tenth of the keys", "count_s"), 10),
    }
    for name, exponent in growth.items():
        goal = 1.05 if name.startswith("rows") else 1.0
        record = {"name": f"growth over {name}", "exponent": round(exponent, 2)}
        if name != "rows, one":
            record |= {"goal": f"<= {goal}", "met": exponent <= goal}
        results.append(record)
    if accuracy:
        close = run("accuracy", whole, accuracy)
        share, distinct = close["top_share_error_max"], close["distinct_error_max"]
        results.append({"name": "top share", "error": share, "goal": "<= 0.001", "met": share <= 0.001, **close})
        results.append({"name": "distinct", "error": distinct, "goal": "<= 0.02", "met": distinct <= 0.02})
    return {"results": results}


def _judged(record: dict[str, Any]) -> dict[str, Any]:
    goal = GOALS.get(record["name"])
    if goal is None:
        return record
    text, most, memory = goal
    met = record["ratio"] <= most and record.get("peak_mb", 0.0) <= memory
    within = "" if memory == math.inf else f", {memory:g} MB"
    return record | {"goal": text + within, "met": met}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=float, default=2e7)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--candidates", type=int, default=300)
    parser.add_argument("--accuracy", type=int, default=30, help="keys whose sampled share is compared; 0: none")
    parser.add_argument("--analyze", action="store_true", help="the whole command too")
    parser.add_argument("--only", choices=CASES, help=argparse.SUPPRESS)
    parser.add_argument("--make", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--table", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.make is not None:
        make(chosen.make, chosen.table)
        return
    if chosen.only is not None:
        alone(chosen.only, chosen.table, chosen.candidates)
        return
    rows = int(chosen.rows)
    with tempfile.TemporaryDirectory() as scratch:
        found = measured(rows, chosen.rounds, chosen.candidates, chosen.accuracy, Path(scratch), chosen.analyze)
    print(f"{'':34}{'seconds':>9}{'cpu':>8}{'ratio':>7}{'cpu ratio':>11}{'peak MB':>9}  goal")
    for one in found["results"]:
        figures = [one.get(k, "") for k in ("seconds", "cpu", "ratio", "cpu_ratio", "peak_mb")]
        shown = "".join(f"{v:>{w}}" for v, w in zip(figures, (9, 8, 7, 11, 9), strict=True))
        extra = "".join(f"{k} {one[k]:.6g}  " for k in ("exponent", "error") if k in one)
        met = "" if "met" not in one else f"{one['goal']}, {'met' if one['met'] else 'missed'}"
        print(f"{one['name']:34}{shown}  {extra}{met}")
    shape = {"rows": rows, "rounds": chosen.rounds, "cpus": os.cpu_count(), "load": os.getloadavg()[0]}
    print(json.dumps(shape | found))


if __name__ == "__main__":
    main()
