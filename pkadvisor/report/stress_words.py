"""The words of a stress test that every output shares: what is counted, and in which states a table is run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import permutations
from typing import Any

from pkadvisor.documents.stress import StressDesign, StressDocument, StressTable, StressTableGoal
from pkadvisor.documents.stress_run import StressAudit, StressRun, StressSetting, StressWay
from pkadvisor.numbers import amount, milliseconds, percent, plural

KEEP_CURRENT = "do not change the keys"
REQUESTS = (
    "request: a query or write of the application; operation: what it sends to the store, one or more for each request "
    "(pages, look-ups, index rows; 'advisor analyze' counts these as requests); attempt: an operation, counted each "
    "time it is tried, and what is throttled is a share of attempts"
)
"""What is counted; said once, where the reader of a page first meets it."""
STATES = "warmed up: the table is already split into ranges as under this load; cold start: a new table of one range"
SIMULATED, SERVED = "hottest, simulated", "hottest if all served"
HOTTEST = f"{SIMULATED}: with retries, without the pages of requests given up; all served: without throttling"
"""The two loads of the hottest partition."""
SAMPLED_FROM = 1.5
"""From so many times the load of the warmed-up runs on, the run as a new table is of more than they are."""
OPTIONS: dict[str, tuple[str, Any]] = {
    "load": ("--load", "x1"),
    "retry": ("--retry", "current"),
    "enforcement": ("--enforce", "strict"),
    "servers": ("--servers", 8),
}
"""Options of ``advisor stress`` and what it takes where nothing is said: such a one is left out of a command."""
_COUNTED = {"requests": "operations", "hottest partition": "demand of the run on its hottest partition"}


def counted(name: str) -> str:
    """What a page calls a measure of a prediction. Documents say requests for what one request sends to the store, and
    call what all requests would ask of the hottest partition, were nothing turned away, by its name alone."""
    return _COUNTED.get(name, name)


def missed_goals(table: StressTable) -> list[StressTableGoal]:
    """The goals that the design which is proposed misses."""
    last = table.designs[-1].label
    return [g for g in table.goals if any(m.label == last and not m.met for m in g.designs)]


def sampled_share(table: StressTable) -> float:
    """The share of the load that the warmed-up runs are of: below 1 where the data holds few of the partitions."""
    whole = max((r.offered_requests_per_s for r in table.designs[0].runs if not closed(r)), default=0.0)
    warm = table.offered_requests_per_s
    return warm / whole if whole > warm * SAMPLED_FROM else 1.0


def closed(run: StressRun) -> bool:
    """Whether it is a closed loop, which is as long as its clients need."""
    return "client" in run.state


def table_stays(table: StressTable) -> bool:
    """Whether the recommended keys of the entities are the current ones, so that the table stays."""
    now, after = table.designs[0].scheme, table.designs[-1].scheme
    return len(table.designs) > 1 and (now.partition_key, now.row_key) == (after.partition_key, after.row_key)


def keys_stay(table: StressTable) -> bool:
    """Whether the keys in use are those that are proposed: no new table comes, and the one that is there has been
    split long ago."""
    return len(table.designs) == 1 and table.designs[0].label.startswith("current")


def deployment(table: StressTable) -> str:
    """The steps to the recommended keys; empty where they are the current ones or do not bear the load."""
    verdict, last = table.verdict, table.designs[-1] if table.designs else None
    if last is None or last.label.startswith("current") or verdict.keep_current:
        return ""
    if not verdict.bears or missed_goals(table):
        return ""
    steps, fills = "create a table with these keys", True
    if table_stays(table):
        gone, new = (_rows(a) - _rows(b) for a, b in permutations((table.designs[0], last)))
        steps, fills = "move the queries off the index rows that go, then stop writing them", bool(new)
        if new:
            steps = "write the index rows with each new entity, add those of the stored entities, then move the queries"
            steps += ", and stop writing the rows that go" if gone else ""
    elif len(table.designs) > 1:
        steps = "write each new entity to a new table too, copy the stored ones, then move the queries"
    slowly = " in steps, each longer than the 5 to 10 minutes (published) before a range is split"
    return steps if verdict.new_table_bears or not fills else steps + slowly


def _rows(design: StressDesign) -> set[tuple[str, str, str]]:
    """The templates of its index rows."""
    return {(row.partition_key, row.row_key, row.copy) for row in design.scheme.index_rows}


def next_step(document: StressDocument, inputs: str = "") -> str:
    """The next command, to be pasted, with what it is for behind ``#``.

    ``inputs``: the files and options of reading, as they were typed; empty: the names in the document, without folders.
    """
    options = options_of(document, reading=not inputs)
    again = " ".join(filter(None, ("advisor stress", inputs or named_inputs(document), shlex.join(options))))
    if not document.complete:
        return f"{again} --duration 1m   # a shorter run: this one was interrupted"
    for table in document.tables:
        verdict, label = table.verdict, table.designs[-1].label
        if verdict.keep_current:
            return f"{again} --scheme {_next_rank(label)}   # tests the next best keys; keep the current ones"
        if verdict.level == "untested":
            command = f"advisor analyze {inputs or named_inputs(document)} --details"
            return f"{command}   # its prediction counts here, not this run"
        if not verdict.bears or missed_goals(table):
            if "--find-limit" in options:
                return f"{again} --scheme {_next_rank(label)}   # tests the next best keys"
            return f"{again} --find-limit   # finds the load that {label} serves"
        if verdict.failed_predictions:
            return f"{again} --details   # shows where the run differs from the prediction"
    design = document.inputs.design
    if "--sample " in f"{inputs} " or not design:
        target = scheme_target(1, [(table.table, table.kind) for table in document.tables])
        return f"advisor explain {target} {inputs or named_inputs(document)}   # why these keys are recommended"
    typed = shlex.split(inputs)
    path = typed[typed.index("--design") + 1] if "--design" in typed[:-1] else design
    keeps_current = all(table.designs[-1].label.startswith("current") for table in document.tables)
    why = "checks the current keys by rules" if keeps_current else "after you write the recommended keys into it"
    return f"advisor review {shlex.quote(path)}   # {why}"


def scheme_target(rank: int, rankings: Sequence[tuple[str, str | None]]) -> str:
    """What ``advisor explain`` takes for a scheme of the first of several rankings, each given as (table, kind)."""
    table, kind = rankings[0] if rankings else ("", None)
    several_kinds = len({other for of, other in rankings if of == table}) > 1
    number = f"scheme:{kind}:{rank}" if kind and several_kinds else f"scheme:{rank}"
    several_tables = len({of for of, _ in rankings}) > 1
    return shlex.quote(number) + (f" --table {shlex.quote(table)}" if several_tables else "")


def _next_rank(label: str) -> int:
    """The rank after that of a design: ``recommended`` is the first, others are called ``scheme 3``."""
    rank = label.removeprefix("scheme ")
    return int(rank) + 1 if rank.isdecimal() else 2


def named_inputs(document: StressDocument) -> str:
    """The files of a document as options, by their names without folders."""
    inputs = document.inputs
    of_role: dict[str, list[str]] = {"data": [], "log": [], "profile": []}
    for entry in inputs.files:
        of_role.setdefault(entry.role, []).append(entry.name)
    parts = list(of_role["data"])
    for role in ("log", "profile"):
        parts += [piece for name in of_role[role] for piece in (f"--{role}", name)]
    parts += ["--design", inputs.design] if inputs.design else []
    parts += ["--result", inputs.result] if inputs.result else []
    return shlex.join(parts)


def options_of(document: StressDocument, *, reading: bool = True) -> list[str]:
    """The options of a test that are not as by default, but for those of its files. ``reading``: those that say how
    files are read, too."""
    settings, parts = document.settings, list[str]()
    for name, (option, usual) in OPTIONS.items():
        parts += [option, str(value)] if (value := getattr(settings, name)) != usual else []
    parts += ["--growth", f"{settings.growth_months:g}m"] if settings.growth_months else []
    parts += ["--duration", f"{settings.duration_s:g}s"] if settings.duration_s is not None else []
    parts += [piece for fault in settings.faults for piece in ("--fault", fault)]
    for goal in settings.goals:
        most = f"{goal.most:g}ms" if goal.unit == "ms" else f"{100 * goal.most:g}%"
        parts += ["--slo", f"{goal.name}={most}"]
    parts += ["--partition", settings.partition] if settings.partition is not None else []
    clients = settings.clients
    if clients:
        parts += ["--clients", f"{clients.number:g}"]
        parts += ["--think", f"{clients.think_s:g}s"] if clients.think_s else []
        parts += ["--vms", f"{clients.vms:g}"] if clients.vms is not None else []
    parts += ["--engine"] if settings.engine else []
    parts += ["--sample-keys", f"{settings.sample_keys}"] if settings.sample_keys is not None else []
    if any(design.limit for table in document.tables for design in table.designs):
        parts.append("--find-limit")
    if reading:
        parts += ["--redact", "keys"] if document.redacted else []
        parts += ["--seed", f"{settings.seed:g}"] if settings.seed else []
    return parts


ENGINE_SHARES = (
    "Both ways share requests, plans, targets and service times. By itself the engine finds the entities that an "
    "operation examines (those written in the run too), where a page ends, which range and server it reaches, and when "
    "a range is split."
)


ENGINE_FAULTS = (
    "While no server serves a range, the engine's front ends ask again until one does or 30 s are over; without rows "
    "such requests wait in the queue of the range and are throttled when it is too long. So without rows more of "
    "them is lost, and on the engine more of them is late."
)


def engine_shares(settings: StressSetting) -> str:
    """What both ways to run share, and what differs between them."""
    return f"{ENGINE_SHARES} {ENGINE_FAULTS}" if settings.engine and settings.faults else ENGINE_SHARES


def engine_run(audit: StressAudit, warm: StressRun) -> str:
    """What the embedded engine carried out of the ``warm`` run, in words."""
    return (
        f"the embedded engine, with targets, ranges and retries: {engine_requests(audit, warm)} in "
        f"{plural(audit.operations, 'operation')} on {audit.rows:,} rows{left_out(audit)}"
    )


def engine_requests(audit: StressAudit, warm: StressRun) -> str:
    """Which requests of the ``warm`` run the engine carried out: ``the first 250 of 102,496 requests``."""
    if audit.requests == warm.requests:
        return f"all {plural(audit.requests, 'request')}"
    return f"the first {audit.requests:,} of {plural(warm.requests, 'request')}"


def left_out(audit: StressAudit) -> str:
    """Which part of a table the engine took, in words; empty where it took all of it."""
    if audit.rows == audit.table_rows:
        return ""
    return (
        f" of {audit.table_rows:,} (whole PartitionKeys, the hottest first if it fits; "
        f"{percent(audit.load_share)} of the requests go to these alone, the others are left out)"
    )


def engine_figures(audit: StressAudit) -> list[str]:
    """The figures of a run of the engine, and of the same requests where nothing is stored."""
    ways = (("engine", audit.engine), ("without rows", audit.without_rows))
    lines = [f"{name}: {_figures(of_way)}" for name, of_way in ways if of_way is not None]
    plain = audit.without_rows
    if (
        plain is not None
        and audit.entities_written
        and audit.engine.entities_read > EXAMINED_MORE * plain.entities_read
    ):
        lines.append(
            f"the engine reads {amount(audit.engine.entities_read / max(1, plain.entities_read))} times as many "
            f"entities, because its queries also read those that this run wrote: {audit.entities_written:,} were "
            f"written into {audit.rows:,} rows"
        )
    return lines


EXAMINED_MORE = 1.05
"""How many times as many entities the engine must read, for the page to say why."""


def _figures(of_way: StressWay) -> str:
    times = (("p50", of_way.latency_ms_p50), ("p99", of_way.latency_ms_p99))
    latencies = [f"{name} {milliseconds(value)}" for name, value in times if value is not None]
    shares = [f"{percent(of_way.throttled_share)} throttled", f"{percent(of_way.lost_share)} lost"]
    if of_way.conflicts:
        shares.append(f"{plural(of_way.conflicts, 'conflict')} (412)")
    shares.append(f"{of_way.entities_read:,} entities read")
    return ", ".join([*shares, *latencies, plural(of_way.ranges, "range")])
