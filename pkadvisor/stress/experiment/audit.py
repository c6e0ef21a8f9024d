"""The load on the embedded engine, with rows, targets, queues, ranges and retries; every answer is audited.

The same requests are run without rows as well (``Course``, the reference of the long runs), from the same map, so that
both stand side by side. They share requests, plans, targets and service times; the engine finds by itself which rows an
operation examines, where a page ends, which range and server an operation reaches, and when a range is split or moved.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import replace

from pkadvisor.documents.part import number
from pkadvisor.documents.stress_run import StressAudit, StressWay
from pkadvisor.engine.capacity.capacity import Capacity
from pkadvisor.engine.embedded_store import EmbeddedStore
from pkadvisor.engine.open_store import ACCOUNT, open_virtual
from pkadvisor.engine.options import MS, SECOND
from pkadvisor.engine.stamp import Layout, Stamp
from pkadvisor.engine.tables.row_keys import partition_prefix
from pkadvisor.errors import InputError, UsageError
from pkadvisor.numbers import lasting
from pkadvisor.stress.experiment.prepared_design import PreparedDesign
from pkadvisor.stress.experiment.request import StressRequest
from pkadvisor.stress.experiment.stress_result import counts_of, total_counts
from pkadvisor.stress.load.faults import ServerDown, parse_fault
from pkadvisor.stress.placement.living_map import LivingMap
from pkadvisor.stress.placement.run_result import MapEvent, RunResult
from pkadvisor.stress.requests.plain_table import page_limits
from pkadvisor.stress.requests.retry import RetryPolicy
from pkadvisor.stress.simulate.loop import run_loop
from pkadvisor.stress.store.auditor import Auditor
from pkadvisor.stress.store.driver import effort_of, run_store
from pkadvisor.stress.store.engine_rows import ROWS_MAX, EngineRows, FirstRequests, engine_rows
from pkadvisor.stress.store.own_table import groups_of
from pkadvisor.table.store import CreateTable, Entity, Group

NOT_RUN = f"no request goes only to PartitionKeys that have {ROWS_MAX:,} rows together, or fewer"
EFFORT_MAX = 10_000
"""Operations of the engine for each design, of which about as many requests are sent as take them; entities that are
read count as operations (``driver``). About 2.5 CPU seconds, so 5 for a table with two designs."""
TRIAL_REQUESTS = 250
"""Requests of the first run without rows, from which the number that takes ``EFFORT_MAX`` follows; as many are sent
whatever they take."""
TRIALS = 4
EFFORT_CLOSE = 1.25
"""How many times above or below ``EFFORT_MAX`` the requests may be that are sent."""
EFFORT_PER_S, ROWS_PER_S = 3_000, 5_000
"""Operations carried out and rows loaded in a second, about: measured."""
WAITING_S = 0.003
"""CPU seconds that an operation takes for each second in which no server serves its range, about: measured."""
LONGEST_S = 3600
"""A run on the engine takes so long at the most."""
LOADED_PER_S = 500
"""Entities per second that are loaded before the run: no target is in the way of so few."""
LOAD_TRIES = 6
SETTLED_NS = 10 * SECOND
"""Between loading and the run."""
FIGURES = (
    "requests", "lost", "lost_share", "attempts", "throttled_share", "conflicts", "entities_read",
    "latency_ms_p50", "latency_ms_p99",
)  # fmt: skip


def audit_of(prepared: PreparedDesign, request: StressRequest, policy: RetryPolicy) -> StressAudit | None:
    """Loads the rows, sends the first requests of the load, and holds every answer against a plain table.

    Of a table that is too large the rows of whole PartitionKeys, and the requests that go to them alone; None where
    there are none. KeyboardInterrupt where the run is interrupted.
    """
    if not request.audited_requests:
        return None
    part = _part(prepared, request)
    rows, load = part.rows, FirstRequests(prepared.warm_load, _requests_max(request), part.sent)
    if not part.load_share:
        return None
    auditor = Auditor()
    with _opened(prepared, request) as store:
        begin_ns = _loaded(store, prepared, rows)
        assert store.capacity is not None and store.stamp is not None
        load, without_rows, events = _fitting(prepared, request, policy, load, store.capacity.tally.arrived)
        auditor.stored(prepared.table.section.table, rows)
        result, operations = run_store(
            load,
            prepared.programs,
            store,
            prepared.unscaled.space,
            prepared.limits,
            policy,
            capacity=store.capacity,
            begin_ns=begin_ns,
            auditor=auditor,
            effort_max=EFFORT_MAX if without_rows is None and not request.engine else None,
            faults=_named(request, prepared, store.stamp, events),
        )
        if not result.complete:
            raise KeyboardInterrupt
        store.check()
        ranges = store.stamp.map()
    counts = result.classes.values()
    requests = sum(c.requests for c in counts)
    return StressAudit(
        rows=len(rows),
        table_rows=part.table_rows,
        load_share=number(part.load_share),
        requests=requests,
        operations=operations,
        entities_read=sum(c.entities_read for c in counts),
        entities_written=sum(c.entities_written for c in counts),
        engine=_way(result, len(ranges.entries) if ranges is not None else 0),
        without_rows=without_rows,
        violations=auditor.violations_total,
        examples=[] if request.reading.redact else list(auditor.violations),
    )


def _part(prepared: PreparedDesign, request: StressRequest) -> EngineRows:
    """The rows that the engine takes of a table: all of them where all of the load is to be run there."""
    stored = prepared.programs.stored
    return engine_rows(
        stored,
        prepared.scripts,
        prepared.mix,
        prepared.rates_per_s,
        prepared.partition_loads,
        request.seed,
        rows_max=len(stored) if request.engine else None,
        keys_max=request.sample_keys,
    )


def _requests_max(request: StressRequest) -> int:
    return sys.maxsize if request.engine else request.audited_requests


def check_engine_time(prepared: PreparedDesign, request: StressRequest, policy: RetryPolicy) -> float:
    """How long the whole load takes on the engine, in seconds, about. UsageError where nobody waits so long.

    Told from the first requests of a run without rows.
    """
    part, seconds = _part(prepared, request), prepared.warm_load.duration_ns / SECOND
    if not part.load_share:
        return 0.0
    result, _ = _run_without_rows(
        prepared, request, policy, FirstRequests(prepared.warm_load, TRIAL_REQUESTS, part.sent), 0
    )
    counts = result.classes.values()
    sent = max(1, sum(c.requests for c in counts))
    each = effort_of(sum(c.attempts for c in counts), counts) / sent
    requests = prepared.offered_per_s * seconds * part.load_share
    takes_s = requests * max(1.0, each) / EFFORT_PER_S + len(part.rows) / ROWS_PER_S
    takes_s += WAITING_S * part.load_share * _waiting(prepared, request)
    if takes_s > LONGEST_S:
        raise UsageError(
            f"{prepared.design.label} would take the embedded engine about {lasting(round(takes_s))} "
            f"({requests:,.0f} requests on {len(part.rows):,} rows)",
            where="--engine",
            fix=f"a shorter run (--duration {max(1, math.floor(seconds * LONGEST_S / takes_s / 2))}s), or the requests "
            "to fewer PartitionKeys (--sample-keys 10)",
        )
    return takes_s


def _waiting(prepared: PreparedDesign, request: StressRequest) -> float:
    """Seconds that requests wait in all while a server is down, at the most: those of a range that has the whole load,
    until the lease of its server is over."""
    options = prepared.options
    lease_s = (options.lease_ns + options.clock_drift_ns_max + options.heartbeat_ns) / SECOND
    faults = [parse_fault(text) for text in request.faults]
    away_s = [lease_s if f.back_ns is None else min(lease_s, (f.back_ns - f.at_ns) / SECOND) for f in faults]
    return sum(prepared.offered_per_s * each**2 / 2 for each in away_s)


def _opened(prepared: PreparedDesign, request: StressRequest) -> EmbeddedStore:
    """The engine with the targets of the run, and the ranges that a table that is warmed up has."""
    table, keys = prepared.table.section.table, prepared.scripts.space.keys
    starts = tuple(partition_prefix(ACCOUNT, table, keys[each.low]) for each in prepared.warm if each.low)
    # One copy of each block: copies cost the engine half of its time and change no answer and no latency.
    store = open_virtual(
        request.seed,
        limits=prepared.limits,
        enforcement=request.enforcement,
        options=replace(prepared.options, replicas=1),
        layout=Layout(extent_nodes=1, servers=len(prepared.servers), boundaries=starts),
        table_limits=page_limits(prepared.limits),
    )
    store.execute(CreateTable(table))
    return store


def _loaded(store: EmbeddedStore, prepared: PreparedDesign, rows: Sequence[Entity]) -> int:
    """Puts the rows in, those of a partition in groups; when the run begins in the time of the store, in ns.

    What is throttled on the way waits a second; the buckets are full again before the run begins.
    """
    table, at_ns = prepared.table.section.table, SECOND
    for group in groups_of(table, rows, prepared.limits):
        operation = Group(group) if len(group) > 1 else group[0]
        for tried in range(LOAD_TRIES):
            outcome = store.execute(operation, at_ns / MS)
            if outcome.status not in (500, 503):
                break
            at_ns += SECOND << tried
        if not outcome.ok:
            data = prepared.table.section.data
            why = data.refused[0] if data is not None and data.refused else outcome.code
            what = f"an entity of the data cannot be stored: {why}"
            raise InputError(what, where=table, fix="run again without these entities")
        at_ns += len(group) * SECOND // LOADED_PER_S
    return max(at_ns, round(store.now_ms() * MS)) + SETTLED_NS


def _named(
    request: StressRequest, prepared: PreparedDesign, stamp: Stamp, events: Sequence[MapEvent]
) -> list[ServerDown]:
    """The faults of a run of all of the load on the engine, each with the name of its server.

    That of the busiest one is the server that serves what the run without rows lost with its own.
    """
    if not request.engine:
        return []
    lost = {event.at_ns: event.ranges for event in events if event.kind == "server lost"}
    table, keys = prepared.table.section.table, prepared.unscaled.space.keys
    out = []
    for fault in (parse_fault(text) for text in request.faults):
        ranges, server = lost.get(fault.at_ns, ()), fault.server
        if not server and ranges and (present := stamp.map()) is not None:
            low = max(ranges, key=lambda each: each[2])[0]
            key = partition_prefix(ACCOUNT, table, keys[low])
            server = next((e.server for e in reversed(present.entries) if e.low <= key), "")
        out.append(replace(fault, server=server or prepared.servers[0]))
    return out


def _fitting(
    prepared: PreparedDesign, request: StressRequest, policy: RetryPolicy, load: FirstRequests, before: int
) -> tuple[FirstRequests, StressWay | None, tuple[MapEvent, ...]]:
    """The first requests of a load that take the engine about ``EFFORT_MAX``, and what comes of them without rows.

    All requests and None where some were not written down: the engine then stops by itself. ``before``: operations that
    the engine judged before the run. Service times are drawn by the number of an operation, so that both ways draw the
    same.
    """
    if any(set(sent) - set(recorded) for sent, recorded in zip(prepared.mix, prepared.weights, strict=True)):
        return load, None, ()
    most = load.most if request.engine else min(load.most, TRIAL_REQUESTS)
    for _ in range(TRIALS):
        fitting = replace(load, most=most)
        result, ranges = _run_without_rows(prepared, request, policy, fitting, before)
        counts = result.classes.values()
        sent, effort = sum(c.requests for c in counts), effort_of(sum(c.attempts for c in counts), counts)
        most_there_are, fewest = sent < most or most == load.most, most <= TRIAL_REQUESTS
        if request.engine:
            break
        if effort > EFFORT_MAX * EFFORT_CLOSE and not fewest:
            most = max(TRIAL_REQUESTS, sent * EFFORT_MAX // effort)
        elif effort * EFFORT_CLOSE < EFFORT_MAX and not most_there_are:
            most = min(load.most, sent * EFFORT_MAX // max(1, effort))
        else:
            break
    return fitting, _way(result, ranges), result.events


def _run_without_rows(
    prepared: PreparedDesign, request: StressRequest, policy: RetryPolicy, load: FirstRequests, before: int
) -> tuple[RunResult, int]:
    """(what comes of requests where nothing is stored, the ranges at the end)."""
    capacity = Capacity(prepared.limits, prepared.options, request.enforcement, request.seed)
    capacity.tally.arrived = capacity.tally.served = before
    faults = [parse_fault(text) for text in request.faults] if request.engine else []
    stamp_map = LivingMap(prepared.unscaled.space, prepared.warm, prepared.servers, prepared.options, faults)
    result = run_loop(load, prepared.unscaled, capacity, stamp_map, policy, versions=prepared.versions())
    return result, len(stamp_map.ranges)


def _way(result: RunResult, ranges: int) -> StressWay:
    """What both ways to run a load say; ``ranges`` at its end."""
    counts = counts_of(total_counts(result.classes.values()), result.duration_ns)
    return StressWay(**{name: counts[name] for name in FIGURES}, ranges=ranges)
