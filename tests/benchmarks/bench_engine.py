"""The embedded engine on real files, side by side with RocksDB (rocksdict, single operations) on the same keys.

python -m tests.benchmarks.bench_engine [--rows N] [--rounds N] [--only PART …] [--directory DIR] [--memory-rows N]

Values of 1 KB under random keys; what is read is copied and its length checked; compaction is on, nothing syncs unless
it is said. Within a round all variants run one after the other in this process, each in a directory of its own; figures
are medians over rounds, ratios are medians of ratios within a round, by the clock and by the processor time of the
calling thread. Parts: ``store`` (one replica: a range partition;
three replicas: the whole path from the table service down), ``sync`` (group commit of 256 next to write and fdatasync),
``recovery``, ``memory`` (a process of its own), ``growth`` (cost per operation by rows of 250 bytes and by ranges).
Prints a JSON object; progress goes to standard error.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from tests.benchmarks.engine_variants import (
    GROUP,
    TABLE,
    VALUE,
    Figures,
    folder,
    insert,
    insert_groups,
    keys_of,
    look_up,
    one_replica,
    open_range,
    page_through,
    partitions,
    rate,
    rocksdict,
    say,
    three_replicas,
    whole_path,
)

if TYPE_CHECKING:
    from pkadvisor.engine.embedded_store import EmbeddedStore

PARTS = ("store", "sync", "recovery", "memory", "growth")
COMMIT = 256
GOALS = {
    "one replica": {"put": 0.4, "get": 0.5, "scan": 0.5},
    "three replicas, whole path": {"put": 0.12, "put_clients": 0.12, "group": 0.6},
}
"""Times the rate of RocksDB that a variant should reach.

Groups, and single puts of many clients that are under way at once and share appends, are compared with its single puts.
"""
SYNC_GOAL, RECOVERY_GOAL, MEMORY_GOAL, COLD_GOAL = 0.5, 100.0, 600.0, 3.0
"""Times the raw rate; MB of log per second; MB at most; times a get at a hundredth of the rows, at most."""
COLD_BYTES = 170
"""Of a value, with which key and row take 250 bytes."""


# ------------------------------------------------------------------------------------------------ store


def stores(rows: int, rounds: int, parent: Path | None) -> dict[str, Any]:
    """All variants of the store."""
    keys = keys_of(rows)
    variants: dict[str, Callable[[Sequence[tuple[str, str]], Path], Figures]] = {
        "rocksdict": rocksdict,
        "one replica": one_replica,
        "three replicas, whole path": three_replicas,
    }
    found: dict[str, list[Figures]] = {name: [] for name in variants}
    for number in range(rounds):
        for name, variant in variants.items():
            with folder(parent) as path:
                found[name].append(variant(keys, path))
            say("round", number + 1, name, {what: round(figure) for what, figure in found[name][-1].items()})
    out: dict[str, Any] = {}
    for name, figures in found.items():
        out[name] = {what: round(statistics.median(each[what] for each in figures)) for what in figures[0]}
        if name == "rocksdict":
            continue
        ratios, by_cpu = {}, {}
        for what in ("put", "put_clients", "get", "scan", "group"):
            peer = "put" if what in ("put_clients", "group") else what
            if what in figures[0]:
                pairs = zip(figures, found["rocksdict"], strict=True)
                both = [(ours[what], theirs[peer]) for ours, theirs in pairs]
                ratios[what] = round(statistics.median(our / their for our, their in both), 3)
                by_cpu[what] = round(statistics.median(our.cpu / their.cpu for our, their in both), 3)
        goals = {what: {"goal": goal, "met": ratios[what] >= goal} for what, goal in GOALS[name].items()}
        out[name] |= {"ratios": ratios, "ratios_by_cpu": by_cpu, "goals": goals}
    return out


# ------------------------------------------------------------------------------------------------ sync


def raw_sync(path: Path, batches: int, files: int) -> float:
    """Records per second of ``COMMIT`` writes of 1 KB, then one fdatasync, on each of some files."""
    descriptors = [os.open(path / f"raw-{i}", os.O_CREAT | os.O_WRONLY | os.O_APPEND) for i in range(files)]

    def work() -> None:
        for _ in range(batches):
            for descriptor in descriptors:
                for _ in range(COMMIT):
                    os.write(descriptor, VALUE)
                os.fdatasync(descriptor)

    found = rate(batches * COMMIT, work)
    for descriptor in descriptors:
        os.close(descriptor)
    return found


def group_commit(path: Path, batches: int, replicas: int) -> float:
    """Records per second of 512 writers, of which half wait for a sync while the others gather for the next one.

    Each write has one row of 1 KB and returns when it is synced.
    """
    from pkadvisor.engine.options import EngineOptions

    options = replace(EngineOptions(), replicas=replicas, group_commit_records=COMMIT)
    world, partition = open_range(path, options, sync=True, nodes=replicas)

    async def write(number: int) -> None:
        name = b"a\0b\0c\0%020d" % number
        await partition.write((name,), lambda _rows, _sequence: ((name, VALUE),))

    async def client(first: int) -> None:
        for number in range(first, batches * COMMIT, 2 * COMMIT):
            await write(number)

    async def clients() -> None:
        for task in [world.spawn(client(first), "bench") for first in range(2 * COMMIT)]:
            await task

    def work() -> None:
        world.run(clients())

    found = rate(batches * COMMIT, work)
    assert partition.log.applied == batches * COMMIT
    world.close()
    return found


def syncs(rounds: int, parent: Path | None, batches: int = 200) -> dict[str, Any]:
    """Group commit next to raw files, one for each replica."""
    out: dict[str, Any] = {}
    for replicas in (1, 3):
        pairs = []
        for _ in range(rounds):
            with folder(parent) as path:
                pairs.append((raw_sync(path, batches, replicas), group_commit(path / "ours", batches, replicas)))
        ratio = statistics.median(ours / raw for raw, ours in pairs)
        out[f"{replicas} replicas"] = {
            "raw_records_per_s": round(statistics.median(raw for raw, _ in pairs)),
            "records_per_s": round(statistics.median(ours for _, ours in pairs)),
            "ratio": round(ratio, 3),
            "goals": {"ratio": {"goal": SYNC_GOAL, "met": ratio >= SYNC_GOAL}},
        }
        say("sync", replicas, out[f"{replicas} replicas"])
    return out


# ------------------------------------------------------------------------------------------------ recovery


def recovery(rounds: int, rows: int, parent: Path | None) -> dict[str, Any]:
    """How fast a range is loaded whose rows are all in the log: records of single rows, and of groups of 100."""
    from pkadvisor.engine.options import EngineOptions

    options = replace(EngineOptions(), replicas=1, memory_table_bytes=1 << 40, log_bytes=1 << 40)
    out: dict[str, Any] = {}
    for group in (1, GROUP):
        found = []
        for _ in range(rounds):
            with folder(parent) as path:
                world, partition = open_range(path, options)
                for start in range(0, rows, group):
                    changes = [(b"a\0b\0c\0%020d" % (i * 7919 % rows), VALUE) for i in range(start, start + group)]
                    names = [name for name, _ in changes]
                    world.run(partition.write(names, lambda _rows, _sequence, changes=changes: changes))  # type: ignore[misc]
                log_bytes = partition.log.bytes
                world.close()
                del partition
                gc.collect()
                start_s = time.perf_counter()
                world, partition = open_range(path, options, load=True)
                found.append(log_bytes / 1e6 / (time.perf_counter() - start_s))
                assert len(partition.tree._active.rows) == rows
                world.close()
        speed = statistics.median(found)
        out[f"records of {group}"] = {
            "mb_per_s": round(speed),
            "log_mb": round(log_bytes / 1e6),
            "goals": {"mb_per_s": {"goal": RECOVERY_GOAL, "met": speed >= RECOVERY_GOAL}},
        }
        say("recovery", group, out[f"records of {group}"])
    return out


# ------------------------------------------------------------------------------------------------ memory


def memory_field(field: str) -> float:
    """One field of this process's status in MB."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{field}:")[1].split()[0]) * 1024 / 1e6


def memory_child(rows: int, path: Path) -> None:
    """Writes many entities in groups, reads some of them and some pages; prints the peak of this process."""
    from pkadvisor.engine.options import EngineOptions

    with whole_path(path, replace(EngineOptions(), replicas=1)) as (world, stamp, store):
        keys = [
            (f"group-{i * 7919 % (rows // GROUP):06}", f"{j:020}") for i in range(rows // GROUP) for j in range(GROUP)
        ]
        wrote = insert_groups(store, keys)
        look_up(store, keys[:: max(1, rows // 20_000)])
        page_through(store, keys[:: max(1, rows // 200)])
        size = sum(partition.size_bytes() for partition in partitions(stamp))
        events = dict(world.counts)
        print(
            json.dumps(
                {
                    "rows": rows,
                    "data_mb": round(size / 1e6),
                    "entities_per_s": round(wrote),
                    "peak_mb": round(memory_field("VmHWM")),
                    "checkpoints": events.get("checkpoint", 0),
                    "combines": events.get("combine", 0),
                }
            )
        )


def memory(rows: int, parent: Path | None) -> dict[str, Any]:
    """Peak memory of a process that holds many entities of 1 KB on files."""
    with folder(parent) as path:
        command = [
            sys.executable,
            "-m",
            "tests.benchmarks.bench_engine",
            "--child",
            str(rows),
            "--directory",
            str(path),
        ]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    found["goals"] = {"peak_mb": {"goal": MEMORY_GOAL, "met": found["peak_mb"] <= MEMORY_GOAL}}
    say("memory", found)
    return found


# ------------------------------------------------------------------------------------------------ growth


def micros(store: EmbeddedStore, keys: Sequence[tuple[str, str]]) -> dict[str, float]:
    """Microseconds of this thread for a put, a get, and a page of 100 of the partition that is always the same."""
    chance = Random(7)
    some = [keys[chance.randrange(len(keys))] for _ in range(2_000)]
    fresh = [(pk, f"{chance.getrandbits(60):020}") for pk, _ in some]
    look_up(store, some[:500])
    fixed = [("fixed", f"{0:020}")] * 100
    found = {"get": 1e6 / rate(len(some), lambda: look_up(store, some)).cpu}
    page_through(store, fixed[:10])
    found["page"] = 1e6 / rate(len(fixed), lambda: page_through(store, fixed)).cpu
    found["put"] = 1e6 / insert(store, fresh).cpu
    return found


def growth(rows_max: int, ranges_max: int, parent: Path | None) -> dict[str, Any]:
    """Cost per operation while a table grows, and with more range partitions; one replica, whole path."""
    from pkadvisor.engine.options import EngineOptions

    options = replace(EngineOptions(), replicas=1)
    fixed = [("fixed", f"{j:020}") for j in range(GROUP)]
    out: dict[str, Any] = {"us_by_rows": {}, "us_by_ranges": {}}
    with folder(parent) as path, whole_path(path, options) as (world, stamp, store):
        insert_groups(store, fixed)
        keys: list[tuple[str, str]] = []
        target = 1_000
        while target <= rows_max:
            more = [
                (f"group-{i * 7919 % 9973:06}", f"{i:08}{j:012}")
                for i in range(len(keys) // GROUP, target // GROUP)
                for j in range(GROUP)
            ]
            insert_groups(store, more, VALUE[:COLD_BYTES])
            keys += more
            for partition in partitions(stamp):
                world.run(partition.checkpoint())
                world.run(partition.maintain())
            out["us_by_rows"][target] = {what: round(us, 1) for what, us in micros(store, keys).items()}
            say("growth", target, "rows", out["us_by_rows"][target])
            target *= 10
    gets = {rows: us["get"] for rows, us in out["us_by_rows"].items()}
    if 10**4 in gets and 10**6 in gets:
        out["cold_get"] = {"ratio": (ratio := round(gets[10**6] / gets[10**4], 2)), "met": ratio <= COLD_GOAL}
    ranges = 1
    while ranges <= ranges_max:
        names = [f"group-{i * 10_000 // ranges:06}" for i in range(1, ranges)]
        boundaries = tuple(f"devstoreaccount1\0{TABLE}\0{name}\0".encode() for name in names)
        with folder(parent) as path:
            start = time.perf_counter()
            with whole_path(path, options, boundaries) as (_, _, store):
                began_s = time.perf_counter() - start
                insert_groups(store, fixed)
                chance = Random(3)
                keys = [(f"group-{chance.randrange(10_000):06}", f"{i:020}") for i in range(5_000)]
                insert(store, keys)
                found = {what: round(us, 1) for what, us in micros(store, keys).items()}
        out["us_by_ranges"][ranges] = found | {"start_s": round(began_s, 2)}
        say("growth", ranges, "ranges", out["us_by_ranges"][ranges])
        ranges *= 10
    return out


# ------------------------------------------------------------------------------------------------ main


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=float, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--directory", type=Path, help="where the files lie; a temporary directory by default")
    parser.add_argument("--memory-rows", type=float, default=1e6)
    parser.add_argument("--growth-rows", type=float, default=1e6)
    parser.add_argument("--growth-ranges", type=int, default=1_000)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child is not None:
        memory_child(chosen.child, chosen.directory)
        return
    rows, rounds, parent = int(chosen.rows), chosen.rounds, chosen.directory
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "store": lambda: stores(rows, rounds, parent),
        "sync": lambda: syncs(rounds, parent),
        "recovery": lambda: recovery(rounds, rows // 2, parent),
        "memory": lambda: memory(int(chosen.memory_rows), parent),
        "growth": lambda: growth(int(chosen.growth_rows), chosen.growth_ranges, parent),
    }
    results = {part: parts[part]() for part in chosen.only}
    shape = {
        "rows": rows,
        "value_bytes": len(VALUE),
        "rounds": rounds,
        "cpus": os.cpu_count(),
        "load": os.getloadavg()[0],
    }
    print(json.dumps(shape | results, indent=1))


if __name__ == "__main__":
    main()
