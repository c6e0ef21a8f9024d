"""What stands below the first screen of a stress test: the settings, the keys, and each design by its queries, where
and when it was throttled, and against its prediction."""

from __future__ import annotations

from pkadvisor.documents.stress import StressDesign, StressDocument, StressTable
from pkadvisor.documents.stress_run import StressClient, StressLoad, StressMeasure, StressRun, StressSetting
from pkadvisor.numbers import amount, lasting, percent, plural, rate, ratio
from pkadvisor.report import stress_words
from pkadvisor.report.summary.figures import brief
from pkadvisor.report.text.page import Page, heat_lines, scale_words, sparkline
from pkadvisor.report.text.scheme_page import write_keys

TIMELINE = 60
HEAT_ROWS = 8
EVENTS = 6
SHARE = "share of "
FAR_OFF = 10
"""From this relative error on percents are no longer read."""
PER_MILLE = 1000
HOT = 0.8
"""From this share of a partition's target on, a heat map is worth its lines."""


def write_settings(page: Page, document: StressDocument, table: StressTable) -> None:
    """What was run, what the words mean, and the keys of each design."""
    settings = document.settings
    name = table.table + (f" · {table.kind}" if table.kind else "")
    page.line(f"What was run on {name}", "head")
    page.wrapped(
        f"{simulated(settings, table)}, retry policy '{settings.retry}', targets {settings.enforcement}, "
        f"{plural(settings.servers, 'server')}, seed {settings.seed}"
    )
    if table is document.tables[0]:
        page.wrapped(stress_words.REQUESTS)
        page.wrapped(stress_words.engine_shares(settings))
    page.wrapped(f"{stress_words.STATES}{_of_clients(settings.clients)}; {stress_words.HOTTEST}")
    for fault in settings.faults:
        page.wrapped(f"fault: {fault}")
    for note in table.notes:
        page.wrapped(note, "  - ", "    ", "warn")
    page.line()
    for design in table.designs:
        page.line(design.label, "head")
        write_keys(page, design.scheme)
    page.line()


def milliseconds_of(value: float | None) -> str:
    """A latency of a table that says ms elsewhere; ``none`` where no request was served."""
    return "none" if value is None else amount(value)


def simulated(settings: StressSetting, table: StressTable) -> str:
    """How long which load was run: ``5 min of the load of the worst minute: 376 requests/s of 3 classes``."""
    classes = table.designs[0].runs[0].classes
    sent = [entry for entry in classes if entry.requests]
    rare = ", ".join(f"'{brief(entry.name)}'" for entry in classes if not entry.requests)
    what = "one class" if len(sent) == 1 else f"{len(sent)} classes"
    grown = f" after {settings.growth_months:g} months of growth" if settings.growth_months else ""
    warm = table.offered_requests_per_s
    share, part = stress_words.sampled_share(table), ""
    if share < 1:
        part = f"; warmed up, only the {asked(warm)} of them that go to the partitions in the data"
    return f"{_length(settings, table)} of {settings.load_words}{grown}: {asked(warm / share)} of {what}{part}" + (
        f"; too rare to occur: {rare}" if rare else ""
    )


def asked(per_s: float) -> str:
    """A rate of requests: ``376 requests/s``, ``2 requests/min``."""
    return rate(per_s).replace("/", " requests/", 1)


def _length(settings: StressSetting, table: StressTable) -> str:
    """How long the runs last: as asked for, or the shortest and the longest of them."""
    if settings.duration_s is not None:
        run = min(run.duration_s for design in table.designs for run in design.runs if not stress_words.closed(run))
        wanted = lasting(settings.duration_s)
        return wanted if table_complete(table) or run >= settings.duration_s else f"{lasting(run)} of {wanted}"
    lengths = [run.duration_s for design in table.designs for run in design.runs]
    least, most = lasting(min(lengths)), lasting(max(lengths))
    return least if least == most else f"{least} to {most}"


def table_complete(table: StressTable) -> bool:
    """Whether no run of a table was interrupted."""
    return all(run.complete for design in table.designs for run in design.runs)


def _of_clients(clients: StressClient | None) -> str:
    """What the state of a closed loop means."""
    if clients is None:
        return ""
    think = f", {lasting(clients.think_s)} after it" if clients.think_s else ""
    vms = f", on {plural(clients.vms, 'virtual machine')}" if clients.vms else ""
    return f"; {plural(clients.number, 'client')}: each sends its next request after the answer{think}{vms}"


def write_throttling(page: Page, columns: list[tuple[str, StressRun]]) -> None:
    """The share of attempts turned away over time, where any were."""
    quiet = [f"{label}, {run.state}" for label, run in columns if not run.throttled]
    for label, run in columns:
        line = run.timeline
        if not run.throttled:
            continue
        shares = [t / o if o else 0.0 for t, o in zip(line.throttled_per_s, line.offered_per_s, strict=True)]
        bars = sparkline(shares, 1.0, _room(page), ascii_only=page.ascii_only)
        page.line(f"  throttled {bars}  {label}, {run.state}")
    if quiet:
        page.wrapped(f"nothing throttled: {'; '.join(quiet)}")
    page.line()


def _room(page: Page) -> int:
    """Characters of a line that runs over the time."""
    return max(10, min(TIMELINE, page.width - 42))


# -- one design -------------------------------------------------------------------------------------------------------


def write_design(page: Page, table: StressTable, design: StressDesign) -> None:
    """One design: each query, the heat maps and events of its runs, and its prediction."""
    page.line(f"{design.label}, query by query ({design.runs[0].state})", "head")
    for entry in design.runs[0].classes:
        if not entry.requests:
            page.wrapped(f"{entry.name}  too rare to occur in this run", "  ", "    ")
            continue
        slow = f"p50 {milliseconds_of(entry.latency_ms_p50)}, p99 {milliseconds_of(entry.latency_ms_p99)}, "
        slow += f"p99.9 {milliseconds_of(entry.latency_ms_p99_9)} ms"
        refused = ""
        if entry.throttled:
            refused = f"; {percent(entry.throttled_share)} throttled, {percent(entry.lost_share)} lost"
        page.wrapped(
            f"{entry.name}  {rate(entry.offered_requests_per_s)}  {slow}{refused}", "  ", "    ",
            "bad" if entry.lost else "",
        )  # fmt: skip
    page.line()
    first = design is table.designs[0] and not any(_is_hot(run) for run in design.runs)
    for run in design.runs:
        if _is_hot(run) or (first and run is design.runs[0]):
            _heat(page, run)
        _events(page, run)
    _prediction(page, design)


def _is_hot(run: StressRun) -> bool:
    """Whether any cell of its heat map is near a target."""
    return any(max(row.times_target, default=0) >= HOT for row in run.heat.rows)


def _heat(page: Page, run: StressRun) -> None:
    keep = sorted(run.heat.rows, key=lambda row: -max(row.times_target, default=0.0))[:HEAT_ROWS]
    if not keep or not any(any(row.times_target) for row in keep):
        return
    page.line(f"Where the load falls ({run.state}), in times of a partition's target", "head")
    for row in keep:
        more = "" if row.partitions == 1 else f" and {row.partitions - 1:,} more"
        per_mille = [round(PER_MILLE * value) for value in row.times_target]
        (line,) = heat_lines([per_mille], _room(page), ascii_only=page.ascii_only)
        page.line(f"  {line.cells} {ratio(max(row.times_target))} {row.from_key}{more}")
    hottest = round(PER_MILLE * max(max(row.times_target) for row in keep))
    page.wrapped(scale_words(hottest, ascii_only=page.ascii_only))
    hidden = len(run.heat.rows) - len(keep)
    if hidden > 0:
        page.line(f"  {plural(hidden, 'colder row')} not shown; --format json has them")
    page.line()


def _events(page: Page, run: StressRun) -> None:
    if not run.events:
        return
    page.line(f"What the service did ({run.state})", "head")
    for event in run.events[:EVENTS]:
        minute, second = divmod(int(event.at_s), 60)
        shares = " + ".join(percent(r.load_share) for r in event.ranges)
        ends = (event.ranges[0].from_key, event.ranges[-1].until_key) if event.ranges else ()
        where = "..".join(filter(None, ends)) or ("all keys" if event.ranges else "")
        load = f"  {percent(event.load_share_before)} → {shares} of the load" if event.kind == "split" else ""
        arrow = "→ " if event.kind in ("split", "move") else ""
        to = f" {arrow}{event.server}" if event.server else ""
        away = f", {lasting(event.away_s)} away" if event.away_s else ""
        page.wrapped(f"{minute:02}:{second:02}  {event.kind:<7} {where}{to}{load}{away}".rstrip(), "  ", "      ")
    more = len(run.events) - EVENTS
    if more > 0:
        page.line(f"  and {more} more")
    page.line()


def _prediction(page: Page, design: StressDesign) -> None:
    prediction = design.prediction
    if not any((prediction.classes, prediction.load, prediction.breaks, prediction.audit)):
        return  # interrupted before anything was compared with it
    page.line(f"Predicted and measured, {design.label}", "head")
    for entry in prediction.classes:
        parts = [_of_request(m) for m in entry.measures if m.predicted or m.measured]
        note = f" ({entry.note})" if entry.note else ""
        page.wrapped(f"{entry.name}: {', '.join(parts)}{note}", "  ", "    ", "" if entry.agrees else "warn")
    for measure in prediction.load:
        page.wrapped(_load_measure(measure), "  ", "    ", "warn" if measure.agrees is False else "")
    for proof in prediction.breaks:
        page.wrapped(proof.sentence, "  ", "    ", "good" if proof.holds else "warn")
    if prediction.audit is not None:
        audit = prediction.audit
        wrong = f"{plural(audit.violations, 'answer')} wrong" if audit.violations else "every answer right"
        text = f"{stress_words.engine_run(audit, design.runs[0])}: {wrong}"
        page.wrapped(text, "  ", "    ", "bad" if audit.violations else "good")
        for line in stress_words.engine_figures(audit):
            page.wrapped(line, "    ", "      ")
    page.line()


def _of_request(measure: StressMeasure) -> str:
    """What one request was said to ask of the store, and what it does where that differs; never twice the same text."""
    predicted, measured = measure.predicted, measure.measured
    text = f"{stress_words.counted(measure.name)} {amount(predicted)}"
    if measure.agrees:
        return text
    if amount(predicted) != amount(measured):
        return f"{text} but {amount(measured)} measured"
    return f"{stress_words.counted(measure.name)} {predicted:,.6g} but {measured:,.6g} measured"


def _load_measure(measure: StressLoad) -> str:
    """What was predicted of a run, and what came."""
    name, unit = stress_words.counted(measure.name), measure.unit
    measured = f"{_value(unit, measure.measured)} measured"
    if measure.predicted is None:
        why = f" ({measure.why})" if measure.why else ""
        return f"{name}: not predicted{why}, {measured}"
    error = "" if measure.error is None else f", {_off(abs(measure.error))}"
    predicted = measure.predicted
    short = percent(predicted) if unit.startswith(SHARE) else amount(predicted)
    unjudged = f" (not judged: {measure.why})" if measure.why else ""
    return f"{name}: {short} predicted, {measured}{error}{unjudged}"


def _value(unit: str, value: float | None) -> str:
    """A value with its unit: shares in percent."""
    if value is None:
        return "nothing"
    if unit.startswith(SHARE):
        return f"{percent(value)} of {unit.removeprefix(SHARE)}"
    return f"{amount(value)} {unit}"


def _off(error: float) -> str:
    """An error: in percent, beyond that in times what was predicted."""
    return f"{percent(error)} off" if error < FAR_OFF else f"{amount(error + 1)} times that"
