"""What a run on a real endpoint tells about the numbers of the cost model, each with its spread, or why it tells none.

| number                       | from                                                                                   |
| ---------------------------- | -------------------------------------------------------------------------------------- |
| ``read_latency_ms_…``        | point reads                                                                            |
| ``write_latency_ms_…``       | single writes                                                                          |
| ``page_latency_ms``, ``scan_ms_per_entity`` | least squares: latency of a page by its entities, where the filter fixes them by keys, so that what is returned is what was examined |
| ``partition_entities_per_s`` | entities accepted in the seconds in which the PartitionKey with most refusals was refused some |
| ``burst_s``                  | the fill of a leaky bucket of that rate, at its most                                   |

Latencies are those of requests in seconds without any refusal. Intervals are 95 %.
"""  # noqa: E501

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from statistics import median

from pkadvisor.engine.capacity.buckets import MILLI
from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.limits import Limits
from pkadvisor.numbers import amount
from pkadvisor.stress.simulate.measures import offered_milli
from pkadvisor.stress.store.real_driver import Attempt, RealRun
from pkadvisor.table.edm import KEYS
from pkadvisor.table.odata import Comparison, conjuncts, parse_filter
from pkadvisor.table.store import Get, Group, Query
from pkadvisor.values import dataclass

NS_PER_MS, NS_PER_S = 1_000_000, 1_000_000_000
QUANTILES_LEAST = 100
"""Requests that a 99th percentile takes."""
PAGES_LEAST = 20
SATURATED_LEAST_S = 3
Z = 1.96


@dataclass(frozen=True, slots=True)
class Measured:
    """One number of the limits as it was measured: ``low`` to ``high`` is its spread, ``count`` what it rests on."""

    name: str
    value: float
    low: float
    high: float
    count: int
    of: str


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was measured, and of what was not the reason, by the names of the limits."""

    found: tuple[Measured, ...]
    left_out: tuple[tuple[str, str], ...]


def calibrated(run: RealRun, limits: Limits) -> Calibration:
    """The numbers that a run tells; ``limits`` say how entities are counted."""
    measurements: list[Measured] = []
    left_out: list[tuple[str, str]] = []
    refused_s = {a.sent_ns // NS_PER_S for a in run.attempts if a.status == 503}
    quiet = [a for a in run.attempts if a.status not in (500, 503) and a.sent_ns // NS_PER_S not in refused_s]
    if not run.kept_up:
        names = [f"{kind}_latency_ms_{q}" for kind in ("read", "write") for q in ("p50", "p99")]
        why = "the client could not keep up with its load, so its latencies are its own"
        left_out += [(name, why) for name in (*names, "page_latency_ms", "scan_ms_per_entity")]
    else:
        reads = [a.latency_ns for a in quiet if isinstance(a.operation, Get)]
        writes = [a.latency_ns for a in quiet if a.step.kind == Kind.WRITE and not isinstance(a.operation, Group)]
        for kind, of, latencies in (("read", "point reads", reads), ("write", "single writes", writes)):
            _quantiles(kind, of, latencies, measurements, left_out)
        _pages(quiet, measurements, left_out)
    _saturation(run.attempts, limits, measurements, left_out)
    return Calibration(tuple(measurements), tuple(left_out))


def _quantiles(
    kind: str, of: str, latencies: Sequence[int], measurements: list[Measured], left_out: list[tuple[str, str]]
) -> None:
    """The median and the 99th percentile with the order statistics that enclose them."""
    count = len(latencies)
    for name, q in (("p50", 0.5), ("p99", 0.99)):
        whole = f"{kind}_latency_ms_{name}"
        if count < QUANTILES_LEAST:
            left_out.append((whole, f"{count} {of}; it takes {QUANTILES_LEAST}"))
            continue
        ordered = sorted(latencies)
        half = Z * math.sqrt(count * q * (1 - q))
        places = (math.ceil(count * q) - 1, math.floor(count * q - half) - 1, math.ceil(count * q + half) - 1)
        value, low, high = (ordered[min(count - 1, max(0, place))] / NS_PER_MS for place in places)
        measurements.append(Measured(whole, value, low, high, count, of))


def _pages(quiet: Sequence[Attempt], measurements: list[Measured], left_out: list[tuple[str, str]]) -> None:
    """Latency = a + b · entities."""
    pages = [a for a in quiet if isinstance(a.operation, Query) and a.status == 200 and by_keys(a.operation.filter)]
    names = ("page_latency_ms", "scan_ms_per_entity")
    sizes = [float(a.step.examined) for a in pages]
    if len(pages) < PAGES_LEAST or len(set(sizes)) < 3:
        why = f"{len(pages)} pages of {len(set(sizes))} sizes by keys alone; it takes {PAGES_LEAST} of 3 sizes"
        left_out += [(name, why) for name in names]
        return
    times = [a.latency_ns / NS_PER_MS for a in pages]
    count, mean_size, mean_time = len(pages), sum(sizes) / len(pages), sum(times) / len(pages)
    spread = math.fsum((s - mean_size) ** 2 for s in sizes)
    slope = math.fsum((s - mean_size) * (t - mean_time) for s, t in zip(sizes, times, strict=True)) / spread
    first = mean_time - slope * mean_size
    left = math.fsum((t - first - slope * s) ** 2 for s, t in zip(sizes, times, strict=True)) / (count - 2)
    half_slope = Z * math.sqrt(left / spread)
    half_first = Z * math.sqrt(left * (1 / count + mean_size**2 / spread))
    for name, value, half in zip(names, (first, slope), (half_first, half_slope), strict=True):
        if value - half <= 0:
            left_out.append((name, f"cannot be told from noise: {amount(value)} ± {amount(half)} ms of {count} pages"))
        else:
            measurements.append(Measured(name, value, value - half, value + half, count, "pages"))


def by_keys(text: str) -> bool:
    """Whether a filter selects one run of keys, so that a page examines what it returns."""
    if not text.strip():
        return True
    parts = conjuncts(parse_filter(text))
    if not all(isinstance(p, Comparison) and p.property in KEYS for p in parts):
        return False
    comparisons = [p for p in parts if isinstance(p, Comparison)]
    if any(p.operator == "ne" for p in comparisons):
        return False
    one = any(p.property == "PartitionKey" and p.operator == "eq" for p in comparisons)
    return one or all(p.property == "PartitionKey" for p in comparisons)


def _saturation(
    attempts: Sequence[Attempt], limits: Limits, measurements: list[Measured], left_out: list[tuple[str, str]]
) -> None:
    """The rate of the PartitionKey that was refused most, in the seconds in which it was, and what came before."""
    names = ("partition_entities_per_s", "burst_s")
    refused = Counter(a.step.partition for a in attempts if a.status == 503 and a.step.partition >= 0)
    if not refused:
        left_out += [(name, "nothing was throttled: the load never reached the target") for name in names]
        return
    hottest = min(refused, key=lambda rank: (-refused[rank], rank))
    mine = sorted((a for a in attempts if a.step.partition == hottest), key=lambda a: a.sent_ns)
    seconds = sorted({a.sent_ns // NS_PER_S for a in mine if a.status == 503})
    accepted: Counter[int] = Counter()
    for a in mine:
        if a.status != 503:
            accepted[a.sent_ns // NS_PER_S] += offered_milli(a.step, limits)
    # The second of the first refusal still has the burst in it, the last one may be cut short.
    inner = [accepted[second] / MILLI for second in seconds[1:-1]]
    if len(inner) < SATURATED_LEAST_S:
        why = f"throttled in {len(seconds)} seconds; it takes {SATURATED_LEAST_S + 2}"
        left_out += [(name, why) for name in names]
        return
    ordered = sorted(inner)
    low, high = ordered[len(ordered) // 10], ordered[-1 - len(ordered) // 10]
    rate = median(inner)
    measurements.append(Measured(names[0], rate, low, high, len(inner), "seconds with refusals"))
    bursts = [_burst_s(mine, limits, each) for each in (rate, high, low) if each > 0]
    if rate <= 0:
        left_out.append((names[1], "nothing was accepted while some was refused"))
        return
    measurements.append(
        Measured(names[1], bursts[0], min(bursts), max(bursts), len(mine), "requests of that PartitionKey")
    )


def _burst_s(mine: Sequence[Attempt], limits: Limits, rate: float) -> float:
    """Seconds of the rate that a leaky bucket held at its fullest before the first refusal."""
    level, most, before = 0.0, 0.0, mine[0].sent_ns
    for a in mine:
        if a.status == 503:
            break
        level = max(0.0, level - rate * (a.sent_ns - before) / NS_PER_S) + offered_milli(a.step, limits) / MILLI
        most, before = max(most, level), a.sent_ns
    return most / rate
