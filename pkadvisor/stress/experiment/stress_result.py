"""What a stress run found, as one versioned document. Numbers are rounded to six digits and carry their unit."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from msgspec import to_builtins

from pkadvisor import __version__
from pkadvisor.design.keys.key_bands import merged_bands
from pkadvisor.design.load.heat_pattern import pattern_of
from pkadvisor.documents.part import Part, number
from pkadvisor.documents.stress import StressValue
from pkadvisor.engine.capacity.buckets import MILLI
from pkadvisor.engine.capacity.capacity import Bound
from pkadvisor.lazy import np
from pkadvisor.limits import Limits
from pkadvisor.report.documents.heat import pattern_json
from pkadvisor.report.documents.stored import STRESS
from pkadvisor.report.documents.values import Shown, figures
from pkadvisor.stress.placement.run_result import ClassCounts, MapEvent, RunResult
from pkadvisor.stress.requests.scripts import KeySpace

SCHEMA_VERSION = "1.0"
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000
QUANTILES = (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999))
POINTS_MAX = 60
"""Points of a timeline: seconds are taken together where there are more."""
LATENCY_CLASSES = 8
"""Classes whose latency is told over time: those with the most requests."""
ROWS_MAX = 32
"""Rows of a heat map: bands of keys are taken together where there are more."""


def dump(document: dict[str, Any] | Part) -> bytes:
    """Canonical bytes: UTF-8, keys in the order of construction, a final newline."""
    text = json.dumps(to_builtins(document), ensure_ascii=False, indent=2, allow_nan=False)
    return (text + "\n").encode("utf-8", "surrogatepass")


def stress_document(
    *,
    inputs: dict[str, Any],
    settings: dict[str, Any],
    tables: list[dict[str, Any]],
    limits: Limits,
    redact: bool,
    complete: bool,
    missed: bool,
    keep_current: bool,
    not_run: Sequence[str] = (),
) -> dict[str, Any]:
    """The whole document; ``missed``: a goal that was asked for is not met by the design that is proposed;
    ``keep_current``: of one table the proposed design serves less than the one in use."""
    done = "keep-current" if keep_current else "goal-missed" if missed else "done"
    return {
        "document": STRESS,
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "pkadvisor", "version": __version__},
        "outcome": done if complete else "incomplete",
        "complete": complete,
        "not_run": list(not_run),
        "redacted": redact,
        "inputs": inputs,
        "settings": settings,
        "tables": tables,
        "limits": {
            "store": limits.store,
            "values": to_builtins(figures(limits.entries, StressValue)),
        },
    }


def run_json(result: RunResult, space: KeySpace, limits: Limits, shown: Shown) -> dict[str, Any]:
    """One run: totals, each class, the hottest partition, timelines, heat, events."""
    total = total_counts(result.classes.values())
    target = limits.partition_entities_per_s
    hottest = [int(v) / MILLI for v in result.hottest_milli[: max(1, result.duration_ns // NS_PER_S)]]
    key = space.keys[result.hottest] if result.hottest >= 0 else None
    return {
        "complete": result.complete,
        "duration_s": number(result.duration_ns / NS_PER_S),
        **counts_json(total, result.duration_ns),
        "hottest": None
        if key is None
        else {
            "partition_key": shown.key(key),
            "offered_entities_per_s_mean": number(sum(hottest) / len(hottest)),
            "offered_entities_per_s_max": number(max(hottest)),
            "target_entities_per_s": number(target),
            "times_target": number(sum(hottest) / len(hottest) / target),
        },
        "classes": [
            {"name": name, **counts_json(counts, result.duration_ns)} for name, counts in result.classes.items()
        ],
        "throttling": throttling_json(result),
        "timeline": timeline_json(result),
        "heat": heat_json(result, space, limits, shown),
        "events": [event_json(event, space, shown) for event in result.events],
    }


def counts_json(counts: ClassCounts, duration_ns: int) -> dict[str, Any]:
    """Requests of clients, attempts at the store, and what became of them. Shares are of attempts, ``lost`` of
    requests."""
    seconds = duration_ns / NS_PER_S
    throttled = sum(counts.throttled.values())
    latencies = sorted(counts.latencies_ns)
    return {
        "offered_requests_per_s": number(counts.requests / seconds),
        "served_requests_per_s": number(counts.served / seconds),
        "requests": counts.requests,
        "served": counts.served,
        "lost": counts.lost,
        "lost_share": number(counts.lost / counts.requests if counts.requests else 0.0),
        "attempts": counts.attempts,
        "accepted": counts.accepted,
        "throttled": throttled,
        "throttled_share": number(throttled / counts.attempts if counts.attempts else 0.0),
        "throttled_by": {str(bound): counts.throttled[bound] for bound in Bound if counts.throttled.get(bound)},
        "timed_out": counts.timed_out,
        "pages": counts.pages,
        "entities_read": counts.entities_read,
        "entities_written": counts.entities_written,
        "latency_ms_mean": number(counts.latency_ns_sum / counts.served / NS_PER_MS) if counts.served else None,
        **{f"latency_ms_{name}": quantile_ms(latencies, q) for name, q in QUANTILES},
    }


def quantile_ms(latencies: Sequence[int], q: float) -> Any:
    """The smallest latency that at least the share ``q`` of the (sorted) sample does not pass, in ms; None of none."""
    if not latencies:
        return None
    return number(latencies[max(0, math.ceil(q * len(latencies)) - 1)] / NS_PER_MS)


def total_counts(parts: Sequence[ClassCounts] | Any) -> ClassCounts:
    """All classes as one; of latencies the sample holds each class in proportion to what it served."""
    total, parts = ClassCounts(), list(parts)
    for part in parts:
        for name in (
            "requests", "served", "lost", "attempts", "accepted", "timed_out", "pages", "entities_read",
            "entities_written", "latency_ns_sum",
        ):  # fmt: skip
            setattr(total, name, getattr(total, name) + getattr(part, name))
        for bound, count in part.throttled.items():
            total.throttled[bound] = total.throttled.get(bound, 0) + count
    # Every class gives the same share of what it served: the smallest that all of them have kept.
    share = min((len(p.latencies_ns) / p.served for p in parts if p.served), default=0.0)
    for part in parts:
        latencies, wanted = sorted(part.latencies_ns), round(part.served * share)
        total.latencies_ns += (
            [latencies[(2 * i + 1) * len(latencies) // (2 * wanted)] for i in range(wanted)] if wanted else []
        )
    return total


def timeline_json(result: RunResult) -> dict[str, Any]:
    """Offered, accepted and throttled attempts per second, in at most ``POINTS_MAX`` points of equal length."""
    seconds = len(result.offered)
    step = max(1, math.ceil(seconds / POINTS_MAX))
    starts = range(0, seconds, step)

    def means(values: Any) -> list[float | int | None]:
        return [number(float(values[at : at + step].sum()) / len(values[at : at + step])) for at in starts]

    return {
        "step_s": step,
        "offered_per_s": means(result.offered),
        "accepted_per_s": means(result.accepted),
        "throttled_per_s": means(result.throttled),
        "hottest_entities_per_s": means(result.hottest_milli / MILLI),
        "latencies": latency_lines(result.classes, seconds, step),
    }


def latency_lines(classes: Mapping[str, ClassCounts], seconds: int, step: int) -> list[dict[str, Any]]:
    """Latencies over time of the classes with the most requests, ms, in the order of the classes.

    A point is of the requests whose last attempt was sent in its step; None where none was.
    """
    most = sorted(classes, key=lambda name: -classes[name].requests)[:LATENCY_CLASSES]
    out = []
    for name in (name for name in classes if name in most and classes[name].latencies_ns):
        counts = classes[name]
        points: list[list[int]] = [[] for _ in range(0, seconds, step)]
        for second, latency in zip(counts.ended_s, counts.latencies_ns, strict=True):
            if second < seconds:  # a run that was interrupted is cut short
                points[second // step].append(latency)
        for point in points:
            point.sort()
        lines = {f"latency_ms_{of}": [quantile_ms(point, q) for point in points] for of, q in QUANTILES[:2]}
        out.append({"name": name, **lines})
    return out


def throttling_json(result: RunResult) -> dict[str, Any]:
    """In how many seconds anything was throttled, and how many of them came one after another."""
    seconds = longest = together = 0
    for turned in result.throttled.tolist():
        together = together + 1 if turned else 0
        seconds, longest = seconds + bool(turned), max(longest, together)
    return {"seconds": seconds, "longest_s": longest}


def heat_json(result: RunResult, space: KeySpace, limits: Limits, shown: Shown) -> dict[str, Any]:
    """Offered entities per second of the busiest PartitionKey by band and time, in times of a target; its pattern.

    Neighbouring cold bands are one row; the hottest keep their own. ``from_key`` is the first key of a row.
    """
    bands, heat = result.bands, result.heat
    if not len(space.keys) or not heat.size:
        return {"step_s": 0, "rows": [], "pattern": None}
    steps = heat.shape[0]
    step_s = max(1.0, math.ceil(result.duration_ns / NS_PER_S) / steps)
    per_s = heat / (MILLI * step_s * limits.partition_entities_per_s)
    edges = merged_bands(heat.sum(axis=0).tolist(), ROWS_MAX)
    columns = max(1, math.ceil(steps / POINTS_MAX))
    rows: list[dict[str, Any]] = []
    for low, high in pairwise(edges):
        line = per_s[:, low:high].max(axis=1)
        cells = [number(float(line[at : at + columns].mean())) for at in range(0, steps, columns)]
        first, end = int(bands[low]), int(bands[high])
        rows.append({"from_key": shown.key(space.keys[first]), "partitions": end - first, "times_target": cells})
    loads = np.array([row["times_target"] for row in rows])
    # A row has the load of its busiest key alone: where others lie in it, no share of the whole load can be told.
    alone = all(row["partitions"] == 1 for row in rows)
    pattern = pattern_of(loads, [1] * len(rows), events=events_of(result.classes.values())) if alone else None
    pattern_document = None if pattern is None else to_builtins(pattern_json(pattern))
    return {"step_s": number(step_s * columns), "rows": rows, "pattern": pattern_document}


def events_of(classes: Iterable[ClassCounts]) -> float:
    """Requests of one size whose entities would vary by chance as much as those of the classes together."""
    loads = [(c.entities_read + c.entities_written, c.attempts) for c in classes]
    total = sum(load for load, _ in loads)
    spread = sum(load * load / attempts for load, attempts in loads if attempts)
    return total * total / spread if spread else 1.0


def event_json(event: MapEvent, space: KeySpace, shown: Shown) -> dict[str, Any]:
    """A change of the map, with the keys between which it happened."""
    return {
        "at_s": number(event.at_ns / NS_PER_S),
        "kind": event.kind,
        "server": event.server,
        "away_s": number(event.away_ns / NS_PER_S),
        "load_share_before": number(event.before_ppm / 1e6),
        "ranges": [
            {
                "from_key": shown.key(space.keys[low]) if low < len(space.keys) else "",
                "until_key": shown.key(space.keys[high]) if high < len(space.keys) else "",
                "load_share": number(share / 1e6),
            }
            for low, high, share in event.ranges
        ],
    }
