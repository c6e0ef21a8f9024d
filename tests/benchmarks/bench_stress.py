"""Runs without rows next to simpy on one model: token buckets, queues, refusals, retries.

usage: bench_stress.py [--rounds N] [--only PART …] [--requests N] [--hour-seconds N]

The model: requests in a Poisson stream to PartitionKeys of Zipf popularity, spread over ranges on servers; buckets of
partition, range, server and account, first-come queues of server and range, the time until the answer, retries after
0.8, 1.6 and 3.2 s ± 20 %. The hottest PartitionKey is asked for more than its target. simpy has a process for each
request and counts refusals; ours have bandwidth buckets, latency draws and all figures of a run besides.

Figures are medians over rounds, ratios are medians of ratios within a round, by the processor time of the process.
Parts: ``peer`` (requests per second), ``growth`` (cost per request with 10^3 to 10^5 PartitionKeys, as an exponent),
``compile`` (numba without its cache and with it, after the import), ``audit`` (the engine with every answer audited
next to the engine alone, on inserts, point reads and queries of 100 rows), ``hour`` (an hour at 20,000 requests/s with
retries and splits; each way in a process of its own; minutes long).
Prints a JSON object; progress goes to standard error.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pkadvisor.engine.capacity.capacity import Capacity
from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.engine.open_store import open_virtual
from pkadvisor.limits import default_limits
from pkadvisor.stress.load.load import Batch
from pkadvisor.stress.placement.run_result import RunResult
from pkadvisor.stress.placement.stamp_map import FixedMap, MapRange, StampMap
from pkadvisor.stress.requests.flat_scripts import FlatScripts
from pkadvisor.stress.requests.retry import current
from pkadvisor.stress.requests.scripts import KeySpace, Script, Scripts, Step
from pkadvisor.stress.simulate.fluid import run_fluid
from pkadvisor.stress.store.auditor import Auditor
from pkadvisor.table.edm import EdmType
from pkadvisor.table.store import (
    CreateTable,
    Entity,
    EntityKey,
    Get,
    Group,
    Insert,
    InsertOrReplace,
    Operation,
    Property,
    Query,
)

PARTS = ("peer", "growth", "compile", "audit", "hour")
SECOND = 1_000_000_000
RATE, ZIPF, RANGES, SERVERS = 18_000, 0.99, 20, 4
GOALS = {"numpy": 10.0, "numba": 80.0}
"""Times simpy's requests per second."""
EXPONENT_GOAL = 0.1
COLD_GOAL, CACHED_GOAL = 1.5, 0.3
AUDIT_GOAL, AUDIT_ROWS, AUDIT_OPERATIONS = 0.6, 10_000, 6_000
"""Operations per second with every answer audited, of those without."""
HOUR_GOALS = {"numpy": 300.0, "numba": 60.0}
HOUR_MB_GOAL = 2_000.0


def say(*words: object) -> None:
    """Progress."""
    print(*words, file=sys.stderr, flush=True)


def chance(purpose: int, number: int = 0) -> np.random.Generator:
    """A stream of its own."""
    return np.random.Generator(np.random.Philox(key=[purpose, number]))


# ------------------------------------------------------------------------------------------------ the model


@dataclass
class Zipf:
    """A load: a Poisson stream to ``keys`` PartitionKeys; a batch a second, made when it is asked for."""

    keys: int
    rate: int
    duration_ns: int
    made: list[Batch] | None = None
    classes: tuple[str, ...] = ("reads",)

    def __post_init__(self) -> None:
        weights = 1 / np.arange(1, self.keys + 1) ** ZIPF
        self.cumulative = np.cumsum(weights / weights.sum())
        self.place = chance(1, self.keys).permutation(self.keys)

    @property
    def instances(self) -> tuple[int, ...]:
        return (self.keys,)

    @property
    def expected(self) -> float:
        return self.rate * self.duration_ns / SECOND

    def batches(self) -> Iterator[Batch]:
        if self.made is not None:
            yield from self.made
            return
        first = 0
        for second in range(-(-self.duration_ns // SECOND)):
            draw = chance(2, second)
            count = int(draw.poisson(self.rate))
            at = np.sort(draw.integers(0, SECOND, count)) + second * SECOND
            at = at[at < self.duration_ns]
            ranks = self.place[np.minimum(np.searchsorted(self.cumulative, draw.random(len(at))), self.keys - 1)]
            yield Batch(first, at, np.zeros(len(at), np.int64), ranks)
            first += len(at)

    def prepared(self) -> Zipf:
        """The same, with its batches in memory."""
        self.made = list(self.batches())
        return self


def scripts(keys: int) -> Scripts:
    """A point read of one PartitionKey each."""
    space = KeySpace("t", tuple(f"{i:08}" for i in range(keys)), np.ones(keys, np.int64))
    steps = tuple(Script(((Step(Kind.READ, i, i, i + 1, examined=1, bytes_moved=1024),),)) for i in range(keys))
    return Scripts(space, ("reads",), ((steps,),))


def fixed(keys: int, ranges: int = RANGES) -> FixedMap:
    """Ranges of equal width on servers in turn."""
    edges = [i * keys // ranges for i in range(ranges + 1)]
    return FixedMap([MapRange(i + 1, edges[i], edges[i + 1], f"server-{i % SERVERS}") for i in range(ranges)])


def fluid(load: Zipf, accelerate: bool, keys: int, stamp_map: StampMap | None = None) -> tuple[float, RunResult]:
    """Seconds of processor time, and what came of it; the tables of scripts, which all runs share, are made before."""
    recorded = scripts(keys)
    FlatScripts.of(recorded)
    stamp_map = stamp_map or fixed(keys)
    capacity = Capacity(default_limits())
    start = time.process_time()
    found = run_fluid(load, recorded, capacity, stamp_map, current(1), accelerate=accelerate)
    return time.process_time() - start, found


def with_simpy(load: Zipf, keys: int) -> tuple[float, int]:
    """The model as simpy processes: seconds of processor time, and refusals."""
    import simpy

    limits = default_limits()
    env = simpy.Environment()

    def buckets(count: int, rate: float) -> list[list[float]]:
        return [[rate * limits.burst_s, 0.0, rate, rate * limits.burst_s] for _ in range(count)]

    of_key, of_range = buckets(keys, limits.partition_entities_per_s), buckets(RANGES, limits.range_entities_per_s)
    of_server = buckets(SERVERS, limits.server_entities_per_s)
    (of_account,) = buckets(1, limits.account_requests_per_s)
    range_queues = [simpy.Resource(env, 1) for _ in range(RANGES)]
    server_queues = [simpy.Resource(env, 1) for _ in range(SERVERS)]
    on_range, on_server = 1 / (2 * limits.range_entities_per_s), 1 / limits.server_entities_per_s
    answer = limits.read_latency_ms_p50 / 1000
    refused = 0
    latencies = []
    factors = chance(3).uniform(0.8, 1.2, 1 << 16).tolist()
    moments = [at / SECOND for batch in load.batches() for at in batch.at_ns.tolist()]
    ranks = [rank for batch in load.batches() for rank in batch.instances.tolist()]

    def request(number: int, rank: int) -> Iterator[Any]:
        nonlocal refused
        place = rank * RANGES // keys
        met = (of_key[rank], of_range[place], of_server[place % SERVERS], of_account)
        for tried in range(4):
            now = env.now
            passes = True
            for bucket in met:
                level = bucket[0] + bucket[2] * (now - bucket[1])
                bucket[0] = level if level < bucket[3] else bucket[3]
                bucket[1] = now
                if level < 1:
                    passes = False
                    break
            if passes:
                for bucket in met:
                    bucket[0] -= 1
                with server_queues[place % SERVERS].request() as turn:
                    yield turn
                    yield env.timeout(on_server)
                with range_queues[place].request() as turn:
                    yield turn
                    yield env.timeout(on_range)
                yield env.timeout(answer)
                latencies.append(env.now - now)
                return
            refused += 1
            if tried < 3:
                yield env.timeout(0.002 + 0.8 * 2**tried * factors[(number * 4 + tried) & 0xFFFF])

    def source() -> Iterator[Any]:
        for number, (at, rank) in enumerate(zip(moments, ranks, strict=True)):
            yield env.timeout(at - env.now)
            env.process(request(number, rank))

    start = time.process_time()
    env.process(source())
    env.run()
    return time.process_time() - start, refused


# ------------------------------------------------------------------------------------------------ peer


def peer(rounds: int, requests: int) -> dict[str, Any]:
    """Requests per second of each; simpy gets a quarter of the time."""
    keys = 1_000
    whole = Zipf(keys, RATE, requests * SECOND // RATE).prepared()
    part = Zipf(keys, RATE, requests * SECOND // RATE // 4).prepared()
    fluid(part, True, keys)  # compiles
    found: dict[str, list[float]] = {"simpy": [], "numpy": [], "numba": []}
    for _ in range(rounds):
        seconds, refused = with_simpy(part, keys)
        found["simpy"].append(sum(map(len, part.batches())) / seconds)
        _, ours = fluid(part, False, keys)
        assert abs(int(ours.throttled.sum()) / refused - 1) < 0.1, "one model"
        for name in ("numpy", "numba"):
            seconds, result = fluid(whole, name == "numba", keys)
            counts = result.classes["reads"]
            assert counts.requests == counts.served + counts.lost
            found[name].append(counts.requests / seconds)
        say("peer", {name: round(each[-1]) for name, each in found.items()})
    out: dict[str, Any] = {name: {"requests_per_s": round(statistics.median(each))} for name, each in found.items()}
    for name, goal in GOALS.items():
        ratio = statistics.median(ours / theirs for ours, theirs in zip(found[name], found["simpy"], strict=True))
        out[name]["ratio"] = round(ratio, 1)
        out[name]["goals"] = {"ratio": {"goal": goal, "met": ratio >= goal}}
    return out


# ------------------------------------------------------------------------------------------------ growth


def growth(rounds: int, requests: int) -> dict[str, Any]:
    """How the cost of a request grows with the number of PartitionKeys."""
    out: dict[str, Any] = {}
    sizes = (1_000, 10_000, 100_000)
    for name in GOALS:
        costs: dict[int, float] = {}
        for keys in sizes:
            load = Zipf(keys, RATE, requests * SECOND // RATE).prepared()
            fluid(Zipf(keys, RATE, SECOND).prepared(), name == "numba", keys)
            each = [fluid(load, name == "numba", keys)[0] / load.expected for _ in range(rounds)]
            costs[keys] = statistics.median(each) * 1e9
        exponent = math.log(costs[sizes[-1]] / costs[sizes[0]]) / math.log(sizes[-1] / sizes[0])
        out[name] = {
            "ns_per_request": {keys: round(cost) for keys, cost in costs.items()},
            "exponent": round(exponent, 3),
            "goals": {"exponent": {"goal": EXPONENT_GOAL, "met": exponent <= EXPONENT_GOAL}},
        }
        say("growth", name, out[name])
    return out


# ------------------------------------------------------------------------------------------------ compile


def compile_child() -> None:
    """Prints how long the first run took beyond the second, after the imports: of numba, and of scipy's BLAS, which
    numba looks for when it first compiles or loads something."""
    import numba  # noqa: F401
    import scipy.linalg  # noqa: F401

    load = Zipf(100, 100, SECOND).prepared()
    fluid(load, False, 100)
    first = fluid(load, True, 100)[0]
    second = fluid(load, True, 100)[0]
    print(json.dumps(first - second))


def compiling(rounds: int) -> dict[str, Any]:
    """Seconds of processor time until the compiled function is there: without a cache, and with it."""
    cold, cached = [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            environment = os.environ | {"NUMBA_CACHE_DIR": folder}
            command = [sys.executable, __file__, "--child", "compile"]
            for seconds in (cold, cached):
                done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
                seconds.append(json.loads(done.stdout))
    figures = {"cold_s": (statistics.median(cold), COLD_GOAL), "cached_s": (statistics.median(cached), CACHED_GOAL)}
    out: dict[str, Any] = {name: round(seconds, 2) for name, (seconds, _) in figures.items()}
    out["goals"] = {name: {"goal": goal, "met": seconds <= goal} for name, (seconds, goal) in figures.items()}
    say("compile", out)
    return out


# ------------------------------------------------------------------------------------------------ hour


def hour_child(name: str, seconds: int) -> None:
    """One hour (or less) with splits: from one range on, until the manager has spread it."""
    from pkadvisor.engine.options import EngineOptions
    from pkadvisor.stress.placement.living_map import LivingMap

    keys = 10_000
    stamp_map = LivingMap(scripts(keys).space, (), [f"server-{i}" for i in range(SERVERS)], EngineOptions())
    load = Zipf(keys, 20_000, seconds * SECOND)
    start = time.perf_counter()
    used, found = fluid(load, name == "numba", keys, stamp_map)
    status = Path("/proc/self/status").read_text()
    counts = found.classes["reads"]
    assert counts.requests == counts.served + counts.lost
    figures = {
        "requests": counts.requests,
        "attempts": counts.attempts,
        "splits": sum(event.kind == "split" for event in found.events),
        "cpu_s": round(used, 1),
        "clock_s": round(time.perf_counter() - start, 1),
        "peak_mb": round(int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6),
    }
    print(json.dumps(figures))


def hour(seconds: int) -> dict[str, Any]:
    """The hour by each way; goals in proportion where it is shorter."""
    out: dict[str, Any] = {}
    for name, goal in HOUR_GOALS.items():
        command = [sys.executable, __file__, "--child", name, "--hour-seconds", str(seconds)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found = out[name] = json.loads(done.stdout)
        whole = found["cpu_s"] * 3600 / seconds
        found["goals"] = {
            "cpu_s": {"goal": goal, "met": whole <= goal},
            "peak_mb": {"goal": HOUR_MB_GOAL, "met": found["peak_mb"] <= HOUR_MB_GOAL},
        }
        say("hour", name, found)
    return out


# ------------------------------------------------------------------------------------------------ audit


def audit_row(number: int) -> Entity:
    """A row of 100 to a partition."""
    properties = {
        "name": Property(EdmType.STRING, f"runner {number % 977}"),
        "time_s": Property(EdmType.INT32, number * 7919 % 20_000),
        "seen": Property(EdmType.DATETIME, 636_000_000_000_000_000 + number),
    }
    return Entity(EntityKey(f"p{number // 100:05}", f"{number % 100:02}"), properties)


def audit_operations() -> list[Operation]:
    """Two inserts and two point reads for each query of the 100 rows of a partition."""
    rows = iter(range(AUDIT_ROWS, AUDIT_ROWS + AUDIT_OPERATIONS))
    pick = chance(9).integers(0, AUDIT_ROWS, AUDIT_OPERATIONS).tolist()
    out: list[Operation] = []
    for n, number in enumerate(pick):
        if n % 5 in (0, 1):
            out.append(Insert("rows", audit_row(next(rows))))
        elif n % 5 in (2, 3):
            out.append(Get("rows", audit_row(number).key))
        else:
            out.append(Query("rows", f"PartitionKey eq 'p{number // 100:05}' and time_s ge 0"))
    return out


def audit_once(audited: bool) -> float:
    """Operations per second of processor time."""
    rows = [audit_row(number) for number in range(AUDIT_ROWS)]
    with open_virtual(0) as store:
        store.execute(CreateTable("rows"))
        for at in range(0, AUDIT_ROWS, 100):
            store.execute(Group(tuple(InsertOrReplace("rows", row) for row in rows[at : at + 100])))
        auditor = Auditor()
        auditor.stored("rows", rows)
        operations = audit_operations()
        begun = time.process_time()
        for operation in operations:
            if audited:
                ticket = auditor.begin(operation)
                auditor.end(ticket, store.execute(operation))
            else:
                store.execute(operation)
        used = time.process_time() - begun
    assert auditor.violations_total == 0, auditor.violations
    assert auditor.operations == (len(operations) if audited else 0)
    return len(operations) / used


def audit(rounds: int) -> dict[str, Any]:
    """What an audit leaves of the engine's speed."""
    pairs = [(audit_once(False), audit_once(True)) for _ in range(rounds)]
    ratio = statistics.median(audited / alone for alone, audited in pairs)
    out = {
        "alone_per_s": round(statistics.median(alone for alone, _ in pairs)),
        "audited_per_s": round(statistics.median(audited for _, audited in pairs)),
        "times": round(ratio, 2),
        "goal": AUDIT_GOAL,
        "met": ratio >= AUDIT_GOAL,
    }
    say("audit", out)
    return out


# ------------------------------------------------------------------------------------------------ main


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--requests", type=float, default=1e6)
    parser.add_argument("--hour-seconds", type=int, default=3600)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.child == "compile":
        compile_child()
        return
    if chosen.child:
        hour_child(chosen.child, chosen.hour_seconds)
        return
    requests = int(chosen.requests)
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "peer": lambda: peer(chosen.rounds, requests),
        "growth": lambda: growth(chosen.rounds, requests),
        "compile": lambda: compiling(chosen.rounds),
        "audit": lambda: audit(chosen.rounds),
        "hour": lambda: hour(chosen.hour_seconds),
    }
    results = {part: parts[part]() for part in chosen.only}
    shape = {"requests": requests, "rounds": chosen.rounds, "cpus": os.cpu_count(), "load": os.getloadavg()[0]}
    print(json.dumps(shape | results, indent=1))


if __name__ == "__main__":
    main()
