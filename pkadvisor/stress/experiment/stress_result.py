"""What a stress run found, as one versioned document. Numbers are rounded to six digits and carry their unit."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from msgspec import to_builtins

from pkadvisor import __version__
from pkadvisor.design.keys.key_bands import merged_bands
from pkadvisor.design.load.heat_pattern import pattern_of
from pkadvisor.documents.part import Part, Tool, number, word
from pkadvisor.documents.stress import StressDocument, StressInput, StressLimits, StressTable, StressValue
from pkadvisor.documents.stress_run import (
    StressClass,
    StressEvent,
    StressHeat,
    StressHottest,
    StressLatency,
    StressMeasuredRun,
    StressRange,
    StressRow,
    StressRun,
    StressSetting,
    StressThrottling,
    StressTimeline,
)
from pkadvisor.engine.capacity.buckets import MILLI
from pkadvisor.engine.capacity.capacity import Bound
from pkadvisor.lazy import np
from pkadvisor.limits import Limits
from pkadvisor.report.documents.evidence import pattern_json
from pkadvisor.report.documents.values import Shown, figures
from pkadvisor.stress.placement.run_result import ClassCounts, MapEvent, RunResult
from pkadvisor.stress.requests.scripts import KeySpace

SCHEMA_VERSION: Final = "1.0"
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
    inputs: StressInput,
    settings: StressSetting,
    tables: list[StressTable],
    limits: Limits,
    redact: bool,
    complete: bool,
    not_run: list[str],
) -> StressDocument:
    """The whole document. Its outcome is the worst of all tables: keys that the analysis refuses, keys that serve
    less than those in use, then a goal that decides and is not met."""
    marks = [mark for table in tables for goal in table.goals for mark in goal.designs]
    missed = any(mark.decides and not mark.met for mark in marks)
    keep_current = any(table.verdict.keep_current for table in tables)
    refused = any(table.designs and table.designs[-1].refused for table in tables)
    done = "refused" if refused else "keep-current" if keep_current else "goal-missed" if missed else "done"
    return StressDocument(
        document="pkadvisor stress",
        schema_version=SCHEMA_VERSION,
        tool=Tool(name="pkadvisor", version=__version__),
        outcome=word(done if complete else "incomplete"),
        complete=complete,
        not_run=not_run,
        redacted=redact,
        inputs=inputs,
        settings=settings,
        tables=tables,
        limits=StressLimits(store=limits.store, values=figures(limits.entries, StressValue)),
    )


def stress_run(state: str, result: RunResult, space: KeySpace, limits: Limits, shown: Shown) -> StressRun:
    """One run as the document has it, under what it is called."""
    return StressRun(state=state, **_figures(result, space, limits, shown))


def measured_run(result: RunResult, space: KeySpace, limits: Limits, shown: Shown) -> StressMeasuredRun:
    """A run on an endpoint as the document has it."""
    return StressMeasuredRun(**_figures(result, space, limits, shown))


def _figures(result: RunResult, space: KeySpace, limits: Limits, shown: Shown) -> dict[str, Any]:
    """The members that every run has: totals, each class, the hottest partition, timelines, heat, events."""
    return {
        "complete": result.complete,
        "duration_s": number(result.duration_ns / NS_PER_S),
        **counts_of(total_counts(result.classes.values()), result.duration_ns),
        "hottest": hottest_of(result, space, limits, shown),
        "classes": [
            StressClass(name=name, **counts_of(counts, result.duration_ns)) for name, counts in result.classes.items()
        ],
        "throttling": throttling_of(result),
        "timeline": timeline_of(result),
        "heat": heat_of(result, space, limits, shown),
        "events": [event_of(event, space, shown) for event in result.events],
    }


def hottest_of(result: RunResult, space: KeySpace, limits: Limits, shown: Shown) -> StressHottest | None:
    """The PartitionKey with the most load; None where none has any."""
    if result.hottest < 0:
        return None
    target = limits.partition_entities_per_s
    hottest = [int(v) / MILLI for v in result.hottest_milli[: max(1, result.duration_ns // NS_PER_S)]]
    return StressHottest(
        partition_key=shown.key(space.keys[result.hottest]),
        offered_entities_per_s_mean=number(sum(hottest) / len(hottest)),
        offered_entities_per_s_max=number(max(hottest)),
        target_entities_per_s=number(target),
        times_target=number(sum(hottest) / len(hottest) / target),
    )


def counts_of(counts: ClassCounts, duration_ns: int) -> dict[str, Any]:
    """The members of ``StressCounts``: requests of clients, attempts at the store, and what became of them."""
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
        "conflicts": counts.conflicts,
        "timed_out": counts.timed_out,
        "pages": counts.pages,
        "entities_read": counts.entities_read,
        "entities_written": counts.entities_written,
        "latency_ms_mean": number(counts.latency_ns_sum / counts.served / NS_PER_MS) if counts.served else None,
        **{f"latency_ms_{name.replace('.', '_')}": quantile_ms(latencies, q) for name, q in QUANTILES},
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
            "requests", "served", "lost", "attempts", "accepted", "conflicts", "timed_out", "pages",
            "entities_read", "entities_written", "latency_ns_sum",
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


def timeline_of(result: RunResult) -> StressTimeline:
    """Offered, accepted and throttled attempts per second, in at most ``POINTS_MAX`` points of equal length."""
    seconds = len(result.offered)
    step = max(1, math.ceil(seconds / POINTS_MAX))
    starts = range(0, seconds, step)

    def means(values: Any) -> list[Any]:
        return [number(float(values[at : at + step].sum()) / len(values[at : at + step])) for at in starts]

    return StressTimeline(
        step_s=step,
        offered_per_s=means(result.offered),
        accepted_per_s=means(result.accepted),
        throttled_per_s=means(result.throttled),
        hottest_entities_per_s=means(result.hottest_milli / MILLI),
        latencies=latency_lines(result.classes, seconds, step),
    )


def latency_lines(classes: Mapping[str, ClassCounts], seconds: int, step: int) -> list[StressLatency]:
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
        out.append(StressLatency(name=name, **lines))
    return out


def throttling_of(result: RunResult) -> StressThrottling:
    """In how many seconds anything was throttled, and how many of them came one after another."""
    seconds = longest = together = 0
    for turned in result.throttled.tolist():
        together = together + 1 if turned else 0
        seconds, longest = seconds + bool(turned), max(longest, together)
    return StressThrottling(seconds=seconds, longest_s=longest)


def heat_of(result: RunResult, space: KeySpace, limits: Limits, shown: Shown) -> StressHeat:
    """Offered entities per second of the busiest PartitionKey by band and time, in times of a target; its pattern.

    Neighbouring cold bands are one row; the hottest keep their own. ``from_key`` is the first key of a row.
    """
    bands, heat = result.bands, result.heat
    if not len(space.keys) or not heat.size:
        return StressHeat(step_s=0, rows=[])
    steps = heat.shape[0]
    step_s = max(1.0, math.ceil(result.duration_ns / NS_PER_S) / steps)
    per_s = heat / (MILLI * step_s * limits.partition_entities_per_s)
    edges = merged_bands(heat.sum(axis=0).tolist(), ROWS_MAX)
    columns = max(1, math.ceil(steps / POINTS_MAX))
    rows: list[StressRow] = []
    for low, high in pairwise(edges):
        line = per_s[:, low:high].max(axis=1)
        cells = [number(float(line[at : at + columns].mean())) for at in range(0, steps, columns)]
        first, end = int(bands[low]), int(bands[high])
        rows.append(StressRow(from_key=shown.key(space.keys[first]), partitions=end - first, times_target=cells))
    loads = np.array([row.times_target for row in rows])
    # A row has the load of its busiest key alone: where others lie in it, no share of the whole load can be told.
    alone = all(row.partitions == 1 for row in rows)
    pattern = pattern_of(loads, [1] * len(rows), events=events_of(result.classes.values())) if alone else None
    return StressHeat(
        step_s=number(step_s * columns), rows=rows, pattern=None if pattern is None else pattern_json(pattern)
    )


def events_of(classes: Iterable[ClassCounts]) -> float:
    """Requests of one size whose entities would vary by chance as much as those of the classes together."""
    loads = [(c.entities_read + c.entities_written, c.attempts) for c in classes]
    total = sum(load for load, _ in loads)
    spread = sum(load * load / attempts for load, attempts in loads if attempts)
    return total * total / spread if spread else 1.0


def event_of(event: MapEvent, space: KeySpace, shown: Shown) -> StressEvent:
    """A change of the map, with the keys between which it happened."""

    def key(rank: int) -> str:
        return shown.key(space.keys[rank]) if rank < len(space.keys) else ""

    return StressEvent(
        at_s=number(event.at_ns / NS_PER_S),
        kind=word(event.kind),
        server=event.server,
        away_s=number(event.away_ns / NS_PER_S),
        load_share_before=number(event.before_ppm / 1e6),
        ranges=[
            StressRange(from_key=key(low), until_key=key(high), load_share=number(share / 1e6))
            for low, high, share in event.ranges
        ],
    )
