"""Sections of a stress test that are seen: what happened over time, where the load fell, what the service did."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup
from msgspec.structs import replace

from pkadvisor.documents.stress import StressDocument, StressTable
from pkadvisor.documents.stress_run import StressHeat, StressLatency, StressRow, StressRun
from pkadvisor.numbers import percent, plural, ratio
from pkadvisor.report.charts import heat_map, timeline
from pkadvisor.report.charts.lines import LimitLine, Mark, Series
from pkadvisor.report.charts.scales import Axis, AxisKind
from pkadvisor.report.html.place import Context, Missing, Places
from pkadvisor.report.html.stress_sections import columns, limit_of

PER_MILLE = 1000
LATENCY_SERIES = 6
"""Classes whose latency is drawn; the table of queries has all of them."""
EVENTS_MARKED = 40
"""Events that are marked on a time axis; the table has all of them."""


# -- over time ---------------------------------------------------------------------------------------------------------


def over_time(document: StressDocument, node: StressTable, places: Places) -> Context:
    """A timeline of each run: attempts, latencies, the hottest partition against its target, and events on one axis."""
    drawn = distinct(node)
    if not drawn:
        return Missing("No design was run to its end.")
    target = limit_of(document, "partition_entities_per_s").value
    return {
        "runs": [
            {"head": head, "same": same, "first": number == 0, "chart": _timeline(head, run, target)}
            for number, (head, run, same) in enumerate(drawn)
        ],
        "step": places.figure(drawn[0][1].timeline, "step_s", "time"),
    }


def distinct(node: StressTable) -> list[tuple[str, StressRun, list[str]]]:
    """(head, run, heads of the runs of the same design that are the same to the last number)."""
    out: list[tuple[str, StressRun, list[str]]] = []
    different: list[tuple[str, StressRun]] = []
    for head, design, run in columns(node):
        label = design.label
        content = replace(run, state="")
        same = next((n for n, (of, other) in enumerate(different) if of == label and other == content), None)
        if same is None:
            different.append((label, content))
            out.append((head, run, []))
        else:
            out[same][2].append(run.state)
    return out


def _timeline(head: str, run: StressRun, target: float) -> Markup:
    line = run.timeline
    step = line.step_s
    panels = [
        timeline.Panel(
            "Attempts at the store",
            Axis("attempts", unit="per second", low=0),
            (
                _series("offered", line.offered_per_s, step, 3),
                _series("accepted", line.accepted_per_s, step, 0),
                _series("throttled", line.throttled_per_s, step, 1),
            ),
        )
    ]
    latencies = line.latencies
    if latencies:
        shown = _slowest(latencies)
        panels.append(
            timeline.Panel(
                "p99 latency by query, retries included",
                Axis("p99", AxisKind.LOG, unit="ms"),
                tuple(_series(e.name, e.latency_ms_p99, step, look) for look, e in enumerate(shown)),
            )
        )
    panels.append(
        timeline.Panel(
            "Hottest partition",
            Axis("load", unit="entities/s", low=0),
            (_series("offered to it", line.hottest_entities_per_s, step, 0),),
            (LimitLine(target, "target"),),
        )
    )
    return timeline.draw(
        timeline.Timeline(
            alt=f"{head}: {_over_time_finding(run)}",
            x=Axis("time in the run", AxisKind.ELAPSED),
            panels=tuple(panels),
            marks=marks_of(run),
            caption=_over_time_finding(run),
        )
    )


def _series(name: str, values: Sequence[float | None], step: float, look: int) -> Series:
    return Series(name, tuple((place * step, value) for place, value in enumerate(values)), look=look)


def _slowest(latencies: Sequence[StressLatency]) -> list[StressLatency]:
    """The classes with the highest p99 of any step; in the order of the document where they are few."""
    most = {
        number: max(values)
        for number, entry in enumerate(latencies)
        if (values := [value for value in entry.latency_ms_p99 if value is not None])
    }
    shown = sorted(most, key=lambda number: -most[number])[:LATENCY_SERIES]
    return [latencies[number] for number in sorted(shown)]


def _over_time_finding(run: StressRun) -> str:
    """One sentence on a run."""
    turned, events = run.throttled_share, len(run.events)
    text = f"{percent(turned)} of the attempts throttled" if turned else "nothing throttled"
    if run.hottest:
        text += f", the hottest partition at {ratio(run.hottest.times_target)} of its target on average"
    return f"{text}; {plural(events, 'event')}" if events else text


def marks_of(run: StressRun) -> tuple[Mark, ...]:
    """What the service did, on the time axis."""
    return tuple(
        Mark(event.at_s, event.kind, "bad" if event.kind == "server lost" else "event")
        for event in run.events[:EVENTS_MARKED]
    )


# -- where the load falls ----------------------------------------------------------------------------------------------


def heat(document: StressDocument, node: StressTable, places: Places) -> Context:
    """A map of each run on one absolute scale: the target of a partition."""
    target = limit_of(document, "partition_entities_per_s").value
    drawn = [(head, run, same) for head, run, same in distinct(node) if _columns(run.heat)]
    if not drawn:
        return Missing("No run has a load to draw.")
    return {
        "key": heat_map.key(target, "entities/s"),
        "maps": [
            {
                "head": head,
                "same": same,
                "chart": _heat_map(head, run, target, places),
                "rows": run.heat.rows,
            }
            for head, run, same in drawn
        ],
    }


def _columns(heat: StressHeat) -> int:
    return len(heat.rows[0].times_target) if heat.rows else 0


def _heat_map(head: str, run: StressRun, target: float, places: Places) -> Markup:
    heat = run.heat
    rows, rows_at = heat.rows, places.path(heat, "rows")
    return heat_map.draw(
        heat_map.HeatMap(
            alt=f"{head}: {heat_finding(run)}",
            per_mille=tuple(tuple(per_mille(value) for value in row.times_target) for row in rows),
            row_labels=tuple(label_of(row) for row in rows),
            target=target,
            unit="entities/s",
            step_s=heat.step_s,
            partitions=tuple(row.partitions for row in rows),
            source=rows_at,
            labels_source=rows_at,
            source_factor=PER_MILLE,
            caption=heat_finding(run),
        )
    )


def per_mille(times_target: float) -> int:
    """A cell of a map: any load is at least one thousandth, and no map tells a million times a target from more."""
    return max(1, round(min(times_target, 1e6) * PER_MILLE)) if times_target > 0 else 0


def label_of(row: StressRow) -> str:
    """The keys of a row."""
    more = row.partitions - 1
    key = row.from_key or "(empty key)"
    return f"{key} and {more:,} more" if more else key


def heat_finding(run: StressRun) -> str:
    """What the map of a run shows, in one sentence."""
    rows = run.heat.rows
    peaks = [max(row.times_target, default=0.0) for row in rows]
    over = sum(1 for peak in peaks if peak >= 1)
    top = max(range(len(rows)), key=lambda n: peaks[n])
    if not peaks[top]:
        return "no load"
    reach = f"the hottest row is {label_of(rows[top])}, at most {ratio(peaks[top])} of a partition's target"
    if over:
        reach = f"{over} of {plural(len(rows), 'row')} over the target of a partition; {reach}"
    node = run.heat.pattern
    return f"{node.sentence}; {reach}" if node else reach


# -- what the service did ----------------------------------------------------------------------------------------------


def events(document: StressDocument, node: StressTable, places: Places) -> Context:
    """Splits, moves, faults: a table for each run that has some."""
    runs = [(head, run, same) for head, run, same in distinct(node) if run.events]
    quiet = [head for head, run, _ in distinct(node) if not run.events]
    if not runs:
        faults = document.settings.faults
        more = "" if faults else "; add --fault server-down@2m+1m to see one"
        return Missing(f"The service split and moved nothing in these runs, and no server was lost{more}.")
    return {
        "quiet": quiet,
        "tables": [(head, run.events) for head, run, _ in runs],
        "counts": [(head, _kinds(run), same) for head, run, same in runs],
    }


def _kinds(run: StressRun) -> str:
    kinds: dict[str, int] = {}
    for event in run.events:
        kinds[event.kind] = kinds.get(event.kind, 0) + 1
    return ", ".join(f"{kind}: {count}" for kind, count in kinds.items())
