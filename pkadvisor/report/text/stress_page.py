"""What a stress run found, as text: the verdict, the designs side by side, where, when and to whom it happened; at the
end what to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pkadvisor.numbers import amount, lasting, percent, plural, rate, ratio
from pkadvisor.report.stress_words import REQUESTS, STATES, counted, next_step
from pkadvisor.report.text.page import Page
from pkadvisor.report.text.scheme_page import write_keys
from pkadvisor.report.text.stress_measured import write_measured
from pkadvisor.report.text.text_charts import heat_lines, scale_words, sparkline

TIMELINE = 60
HEAT_ROWS = 8
EVENTS = 6
COLUMN = 13
SHARE = "share of "
FAR_OFF = 10
"""From this relative error on percents are no longer read."""
PER_MILLE = 1000
HOT = 0.8
"""From this share of a partition's target on, a heat map is worth its lines."""


def render_stress(document: dict[str, Any], *, width: int, color: bool, ascii_only: bool) -> str:
    """The page; a pure function of the document."""
    page = Page(max(24, width), color, ascii_only)
    _answer(page, document)
    for table in document["tables"]:
        _table(page, document, table)
    page.wrapped(next_step(document), "next: ", "      ")
    return "\n".join(page.lines).rstrip("\n") + "\n"


def _table(page: Page, document: dict[str, Any], table: dict[str, Any]) -> None:
    settings = document["settings"]
    name = table["table"] + (f" · {table['kind']}" if table["kind"] else "")
    _verdict(page, table["verdict"])
    _goals(page, table)
    page.line()
    page.line(f"STRESS   {name}", "head")
    sent = [entry for entry in table["designs"][0]["runs"][0]["classes"] if entry["requests"]]
    what = "1 query or write" if len(sent) == 1 else f"{len(sent)} queries and writes"
    grown = f" after {settings['growth_months']:g} months of growth" if settings["growth_months"] else ""
    page.wrapped(
        f"{_length(settings, table)} of {settings['load_words']}{grown}: "
        f"{_asked(table['offered_requests_per_s'])} of {what}, retry policy '{settings['retry']}', "
        f"targets {settings['enforcement']}, {plural(settings['servers'], 'server')}, seed {settings['seed']}"
    )
    if table is document["tables"][0]:
        page.wrapped(REQUESTS)
    page.wrapped(STATES + _of_clients(settings["clients"]))
    for fault in settings["faults"]:
        page.wrapped(f"fault: {fault}")
    for note in table["notes"]:
        page.wrapped(note, "  - ", "    ", "warn")
    page.line()
    for design in table["designs"]:
        page.line(design["label"], "head")
        write_keys(page, design["scheme"])
    page.line()
    _side_by_side(page, table)
    for design in table["designs"]:
        _design(page, table, design)
        if design.get("measured"):
            write_measured(page, design["label"], design["measured"])


def _asked(per_s: float) -> str:
    """A rate of requests: ``376 requests/s``, ``2 requests/min``."""
    return rate(per_s).replace("/", " requests/", 1)


STYLES = {"bears": "good", "bursts": "warn", "untested": "warn", "fails": "bad"}


def _verdict(page: Page, verdict: dict[str, Any]) -> None:
    """A sentence for each design in the colour of its own level, then what there is to say of the recommended one."""
    for number, sentence in enumerate(verdict["sentences"]):
        style = verdict["style"]
        if number < len(verdict["designs"]):
            style = STYLES[verdict["designs"][number]["level"]]
        page.wrapped(sentence, "", "  ", style)


def _length(settings: dict[str, Any], table: dict[str, Any]) -> str:
    """How long the runs last: as asked for, or the shortest and the longest of them."""
    if settings["duration_s"] is not None:
        run = min(run["duration_s"] for design in table["designs"] for run in design["runs"] if not _closed(run))
        asked = lasting(settings["duration_s"])
        return asked if table_complete(table) or run >= settings["duration_s"] else f"{lasting(run)} of {asked}"
    lengths = [run["duration_s"] for design in table["designs"] for run in design["runs"]]
    least, most = lasting(min(lengths)), lasting(max(lengths))
    return least if least == most else f"{least} to {most}"


def table_complete(table: dict[str, Any]) -> bool:
    """Whether no run of a table was interrupted."""
    return all(run["complete"] for design in table["designs"] for run in design["runs"])


def _closed(run: dict[str, Any]) -> bool:
    """Whether it is a closed loop, which is as long as its clients need."""
    return "client" in run["state"]


def _of_clients(clients: dict[str, Any] | None) -> str:
    """What the state of a closed loop means."""
    if clients is None:
        return ""
    think = f", {lasting(clients['think_s'])} after it" if clients["think_s"] else ""
    vms = f", on {plural(clients['vms'], 'virtual machine')}" if clients["vms"] else ""
    return f"; {plural(clients['number'], 'client')}: each sends its next request after the answer{think}{vms}"


def _answer(page: Page, document: dict[str, Any]) -> None:
    """The first lines: what it comes to for each table, and whether it was run to its end."""
    found = []
    for table in document["tables"]:
        label, verdict = table["designs"][-1]["label"], table["verdict"]
        missed = [g["name"] for g in table["goals"] for m in g["designs"] if m["label"] == label and not m["met"]]
        bears = "sustains the load" if verdict["bears"] else "does not sustain the load"
        if verdict["level"] == "untested":
            bears = "no verdict, this run leaves out inserts that crowd into one range of keys"
        if document["settings"]["faults"]:
            bears += " under these faults"
        if verdict["level"] == "bursts":
            bears += ", with bursts throttled and retried"
        joined, kept = ("but", "meets") if verdict["bears"] else ("and", "though it meets")
        goals = f", {joined} misses {missed[0]}" if missed else f", {kept} every goal" if table["goals"] else ""
        if missed[1:]:
            goals += f" and {plural(len(missed) - 1, 'more goal')}"
        if verdict["failed_predictions"]:
            goals += f"; but {plural(verdict['failed_predictions'], 'prediction')} did not come true"
        if verdict["bears"] and not verdict["new_table_bears"]:
            bears += " once Azure has split the table"
            goals += "; a new table does not sustain it"
        keep = "do not change the keys: " if verdict.get("keep_current") else ""
        found.append((f"{table['table']}, {keep}{label}: {bears}{goals}", verdict["style"]))
    if not document["complete"]:
        text = "interrupted: the figures cover only the part that was run"
        if not document["tables"]:
            text = "interrupted before anything was run"
        if document["not_run"]:
            text += f"; not run: {'; '.join(document['not_run'])}"
        page.wrapped(text, "", "  ", "warn")
    for text, style in found:
        page.wrapped(text, "", "  ", style)
    page.line()


# -- side by side -----------------------------------------------------------------------------------------------------


def _ms(value: float | None) -> str:
    return "none" if value is None else amount(value)


ROWS: tuple[tuple[str, Callable[[dict[str, Any]], str]], ...] = (
    ("offered requests/s", lambda run: amount(run["offered_requests_per_s"])),
    ("served requests/s", lambda run: amount(run["served_requests_per_s"])),
    ("throttled (503)", lambda run: percent(run["throttled_share"])),
    ("lost requests", lambda run: percent(run["lost_share"])),
    ("p50 ms", lambda run: _ms(run["latency_ms_p50"])),
    ("p99 ms", lambda run: _ms(run["latency_ms_p99"])),
    ("p99.9 ms", lambda run: _ms(run["latency_ms_p99.9"])),
    ("hottest partition", lambda run: ratio(run["hottest"]["times_target"]) if run["hottest"] else "not tested"),
    ("splits / moves", lambda run: f"{_count(run, 'split')} / {_count(run, 'move')}"),
)


def _count(run: dict[str, Any], kind: str) -> int:
    return sum(1 for event in run["events"] if event["kind"] == kind)


def _side_by_side(page: Page, table: dict[str, Any]) -> None:
    """A column for each design and state; where they do not fit, a table for each design, or a block for each."""
    columns = [(design["label"], run) for design in table["designs"] for run in design["runs"]]
    if _fits(page, columns):
        _columns(page, columns)
    else:
        for design in table["designs"]:
            mine = [(design["label"], run) for run in design["runs"]]
            if _fits(page, mine):
                _columns(page, mine)
                continue
            for label, run in mine:
                page.line(f"  {label}, {run['state']}", "head")
                for name, show in ROWS:
                    page.record(name, show(run), 20, "    ")
    page.line()
    _throttling(page, columns)


def _fits(page: Page, columns: list[tuple[str, dict[str, Any]]]) -> bool:
    return 22 + COLUMN * len(columns) <= page.width


def _columns(page: Page, columns: list[tuple[str, dict[str, Any]]]) -> None:
    """Labels stand over all columns of their design."""
    heads, rest = "", columns
    while rest:
        label = rest[0][0]
        count = sum(1 for other, _ in rest if other == label)
        heads += f"{label[: COLUMN * count - 2]:>{COLUMN}}".ljust(COLUMN * count)
        rest = rest[count:]
    page.line(f"  {'':<20}{heads}".rstrip(), "head")
    page.line(f"  {'':<20}" + "".join(f"{run['state'][: COLUMN - 1]:>{COLUMN}}" for _, run in columns))
    for name, show in ROWS:
        page.line(f"  {name:<20}" + "".join(f"{show(run):>{COLUMN}}" for _, run in columns))


def _throttling(page: Page, columns: list[tuple[str, dict[str, Any]]]) -> None:
    """The share of attempts turned away over time, where any were."""
    quiet = [f"{label}, {run['state']}" for label, run in columns if not run["throttled"]]
    for label, run in columns:
        line = run["timeline"]
        if not run["throttled"]:
            continue
        shares = [t / o if o else 0.0 for t, o in zip(line["throttled_per_s"], line["offered_per_s"], strict=True)]
        page.line(f"  throttled {_spark(page, shares, 1.0)}  {label}, {run['state']}")
    if quiet:
        page.wrapped(f"nothing throttled: {'; '.join(quiet)}")
    page.line()


def _spark(page: Page, values: Sequence[float], most: float) -> str:
    return sparkline(values, most, _room(page), ascii_only=page.ascii_only)


def _room(page: Page) -> int:
    """Characters of a line that runs over the time."""
    return max(10, min(TIMELINE, page.width - 42))


# -- one design -------------------------------------------------------------------------------------------------------


def _design(page: Page, table: dict[str, Any], design: dict[str, Any]) -> None:
    page.line(f"{design['label']}, query by query ({design['runs'][0]['state']})", "head")
    for entry in design["runs"][0]["classes"]:
        if not entry["requests"]:
            page.wrapped(f"{entry['name']}  too rare to occur in this run", "  ", "    ")
            continue
        slow = f"p50 {_ms(entry['latency_ms_p50'])}, p99 {_ms(entry['latency_ms_p99'])}, "
        slow += f"p99.9 {_ms(entry['latency_ms_p99.9'])} ms"
        refused = ""
        if entry["throttled"]:
            refused = f"; {percent(entry['throttled_share'])} throttled, {percent(entry['lost_share'])} lost"
        page.wrapped(
            f"{entry['name']}  {rate(entry['offered_requests_per_s'])}  {slow}{refused}", "  ", "    ",
            "bad" if entry["lost"] else "",
        )  # fmt: skip
    page.line()
    first = design is table["designs"][0] and not any(_is_hot(run) for run in design["runs"])
    for run in design["runs"]:
        if _is_hot(run) or (first and run is design["runs"][0]):
            _heat(page, run)
        _events(page, run)
    _prediction(page, design)


def _is_hot(run: dict[str, Any]) -> bool:
    """Whether any cell of its heat map is near a target."""
    return any(max(row["times_target"], default=0) >= HOT for row in run["heat"]["rows"])


def _heat(page: Page, run: dict[str, Any]) -> None:
    keep = sorted(run["heat"]["rows"], key=lambda row: -max(row["times_target"], default=0.0))[:HEAT_ROWS]
    if not keep or not any(any(row["times_target"]) for row in keep):
        return
    page.line(f"Where the load falls ({run['state']}), in times of a partition's target", "head")
    for row in keep:
        more = "" if row["partitions"] == 1 else f" and {row['partitions'] - 1:,} more"
        per_mille = [round(PER_MILLE * value) for value in row["times_target"]]
        (line,) = heat_lines([per_mille], _room(page), ascii_only=page.ascii_only)
        page.line(f"  {line.cells} {ratio(max(row['times_target']))} {row['from_key']}{more}")
    hottest = round(PER_MILLE * max(max(row["times_target"]) for row in keep))
    page.wrapped(scale_words(hottest, ascii_only=page.ascii_only))
    hidden = len(run["heat"]["rows"]) - len(keep)
    if hidden > 0:
        page.line(f"  {plural(hidden, 'colder row')} not shown; --format json has them")
    page.line()


def _events(page: Page, run: dict[str, Any]) -> None:
    if not run["events"]:
        return
    page.line(f"What the service did ({run['state']})", "head")
    for event in run["events"][:EVENTS]:
        minute, second = divmod(int(event["at_s"]), 60)
        shares = " + ".join(percent(r["load_share"]) for r in event["ranges"])
        ends = (event["ranges"][0]["from_key"], event["ranges"][-1]["until_key"]) if event["ranges"] else ()
        where = "..".join(filter(None, ends)) or ("all keys" if event["ranges"] else "")
        load = f"  {percent(event['load_share_before'])} → {shares} of the load" if event["kind"] == "split" else ""
        arrow = "→ " if event["kind"] in ("split", "move") else ""
        to = f" {arrow}{event['server']}" if event["server"] else ""
        away = f", {lasting(event['away_s'])} away" if event["away_s"] else ""
        page.wrapped(f"{minute:02}:{second:02}  {event['kind']:<7} {where}{to}{load}{away}".rstrip(), "  ", "      ")
    more = len(run["events"]) - EVENTS
    if more > 0:
        page.line(f"  and {more} more")
    page.line()


def _prediction(page: Page, design: dict[str, Any]) -> None:
    found = design["prediction"]
    told = (found["classes"], found["load"], found["breaks"], found["audit"], design["limit"], design["partition_test"])
    if not any(told):
        return  # interrupted before anything was compared with it
    page.line(f"Predicted and measured, {design['label']}", "head")
    for entry in found["classes"]:
        parts = [_of_request(m) for m in entry["measures"] if m["predicted"] or m["measured"]]
        note = f" ({entry['note']})" if entry["note"] else ""
        page.wrapped(f"{entry['name']}: {', '.join(parts)}{note}", "  ", "    ", "" if entry["agrees"] else "warn")
    for measure in found["load"]:
        page.wrapped(_load_measure(measure), "  ", "    ", "warn" if measure["agrees"] is False else "")
    for proof in found["breaks"]:
        page.wrapped(proof["sentence"], "  ", "    ", "good" if proof["holds"] else "warn")
    if found["audit"] is not None:
        audit = found["audit"]
        wrong = f"{plural(audit['violations'], 'answer')} wrong" if audit["violations"] else "every answer right"
        page.wrapped(
            f"{plural(audit['requests'], 'request')} in {plural(audit['operations'], 'operation')} run by the "
            f"embedded engine on {audit['rows']:,} rows: {wrong}",
            "  ",
            "    ",
            "bad" if audit["violations"] else "good",
        )
    if design["limit"] is not None:
        limit = design["limit"]
        binds = f"; above it, {limit['binds']} is the limit" if limit["binds"] else ""
        page.wrapped(
            f"highest load that meets the goals: {ratio(limit['factor'])} ({_asked(limit['requests_per_s'])}){binds}",
            "  ", "    ",
        )  # fmt: skip
    if design["partition_test"] is not None:
        _partition_test(page, design["partition_test"])
    page.line()


def _of_request(measure: dict[str, Any]) -> str:
    """What one request was said to ask of the store, and what it does where that differs; never twice the same text."""
    predicted, measured = measure["predicted"], measure["measured"]
    text = f"{counted(measure['name'])} {amount(predicted)}"
    if measure["agrees"]:
        return text
    if amount(predicted) != amount(measured):
        return f"{text} but {amount(measured)} measured"
    return f"{counted(measure['name'])} {predicted:,.6g} but {measured:,.6g} measured"


def _load_measure(measure: dict[str, Any]) -> str:
    """What was predicted of a run, and what came."""
    name, unit = counted(measure["name"]), measure["unit"]
    measured = f"{_value(unit, measure['measured'])} measured"
    if measure["predicted"] is None:
        why = f" ({measure['why']})" if measure["why"] else ""
        return f"{name}: not predicted{why}, {measured}"
    error = "" if measure["error"] is None else f", {_off(abs(measure['error']))}"
    predicted = measure["predicted"]
    short = percent(predicted) if unit.startswith(SHARE) else amount(predicted)
    return f"{name}: {short} predicted, {measured}{error}"


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


def _partition_test(page: Page, test: dict[str, Any]) -> None:
    page.wrapped(
        f"single partition {test['partition_key']}: {amount(test['offered_entities_per_s'])} entities/s offered, "
        f"{amount(test['accepted_entities_per_s'])} accepted, target {amount(test['target_entities_per_s'])}; "
        f"it {test['verdict']}",
        "  ",
        "    ",
        "good" if test["passes"] else "bad",
    )


def _goals(page: Page, table: dict[str, Any]) -> None:
    for goal in table["goals"]:
        marks = ", ".join(f"{m['label']} {'met' if m['met'] else 'MISSED'}" for m in goal["designs"])
        most = f"{amount(goal['most'])} ms" if goal["unit"] == "ms" else percent(goal["most"])
        of = f" of {goal['query']}" if goal["query"] else ""
        page.wrapped(f"goal {goal['name']}{of} ≤ {most}, warmed up: {marks}", "", "  ")


__all__ = ["render_stress"]
