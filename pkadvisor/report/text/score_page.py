"""What given keys are worth, and how two designs differ, as text."""

from __future__ import annotations

import json
from typing import Any

from pkadvisor.numbers import amount, milliseconds, percent, plural, rate
from pkadvisor.report.summary.figures import first_break
from pkadvisor.report.text.arrangement import account_text
from pkadvisor.report.text.page import Page
from pkadvisor.report.text.scheme_page import PAD, breaks_first, difference, write_findings, write_grounds, write_keys

RESTS_ON = "What the figures rest on"
OTHERWISE = 6
"""Queries and writes that two designs declare otherwise, of which the page tells."""


def render_score(document: dict[str, Any], *, width: int, color: bool, ascii_only: bool) -> str:
    """The score card; a pure function of the document."""
    page = Page(max(24, width), color, ascii_only)
    for table in document["tables"]:
        for card in table["schemes"]:
            _card(page, table, card)
    account_text(page, document.get("account"))
    return "\n".join(page.lines).rstrip("\n") + "\n"


def render_comparison(document: dict[str, Any], *, width: int, color: bool, ascii_only: bool) -> str:
    """Two designs side by side; a pure function of the document."""
    page = Page(max(24, width), color, ascii_only)
    page.line(f"{document['old']} → {document['new']}", "head")
    if document["workload"] is not None:
        _workload(page, document)
    page.line()
    for table in document["tables"]:
        _changes(page, table)
    page.line(_same(document) if document["same"] else _summary(document))
    return "\n".join(page.lines).rstrip("\n") + "\n"


def _workload(page: Page, document: dict[str, Any]) -> None:
    """What both designs are priced on, and where they declare something else."""
    found = document["workload"]
    of = "the log" if found["of"] == "log" else document[found["of"]]
    page.wrapped(f"Both are priced on the workload of {of}.")
    if not found["differs"]:
        return
    page.wrapped(
        "The two designs declare different workloads (old against new); only the keys are compared:", "  ", "  ", "warn"
    )
    for entry in found["differs"][:OTHERWISE]:
        old, new = ("none" if entry[side] is None else rate(entry[side]) for side in ("old_per_s", "new_per_s"))
        text = f"{old} against {new}" if old != new else f"{new} in both, with other declarations"
        page.wrapped(f"{entry['name']}: {text}", "  - ", "    ")
    if len(found["differs"]) > OTHERWISE:
        page.wrapped(f"and {len(found['differs']) - OTHERWISE} more", "  - ")


def _same(document: dict[str, Any]) -> str:
    found = document["workload"]
    return "the keys do not differ" if found is not None and found["differs"] else "no difference"


def dump(document: dict[str, Any]) -> str:
    """The document as JSON, keys in the order in which they are read."""
    return json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def _title(table: dict[str, Any]) -> str:
    return str(table["table"]) + (f" · {table['kind']}" if table["kind"] else "")


def _card(page: Page, table: dict[str, Any], card: dict[str, Any]) -> None:
    scheme = card["scheme"]
    broken = [v for v in scheme["violations"] if not v["assumed_growth"]]
    page.line(f"score {amount(scheme['score'])}   {_title(table)}, {card['label']}", "bad" if broken else "good")
    write_keys(page, scheme)
    page.line()
    write_grounds(page, table["grounds"], RESTS_ON, asking=True)
    parts = card["score_parts"]
    page.line("The score, part by part", "head")
    for part in parts["classes"]:
        text = f"{percent(part['weight'])} of the requests; {percent(part['useful'])} of the entities read are useful"
        page.record(part["name"], text, PAD)
    served = "all" if parts["reach"] >= 1 else percent(parts["reach"])
    product = f"100 × {parts['useful']:.3g} × {parts['reach']:.3g} = {amount(scheme['score'])}"
    page.wrapped(f"{product}: the share of useful reads times the share of the growth that the keys serve ({served})")
    page.line()
    page.line("Queries and writes", "head")
    for cost in scheme["classes"]:
        read, written = amount(cost["entities_read"]), amount(cost["entities_written"])
        access = cost["access"] or "one entity by its key"
        via = "" if cost["via"] == "main" else f" via {cost['via']}"
        if cost["operation"] == "query":
            counts = f"reads {read}, returns {amount(cost['entities_returned'])}"
        else:
            counts = f"reads {read}, writes {written}" if cost["entities_read"] else f"writes {written}"
        many = amount(cost["requests"])
        text = f"{access}{via}: {counts}, in {many} request{'' if many == '1' else 's'}"
        page.wrapped(f"{cost['name']}  {rate(cost['rate_per_s'])}  {text}", "  ", "    ")
    page.line()
    page.line("Terms", "head")
    for term in scheme["terms"]:
        page.record(term["name"], f"{amount(term['value'])} {term['unit']} ({term['basis']})", 26)
    page.line()
    write_findings(page, scheme)
    holds = "holds every constraint" if not broken else f"breaks {plural(len(broken), 'constraint')}"
    page.wrapped(f"{_title(table)}: {holds}; {breaks_first(first_break(scheme))}", "", "  ")
    page.line()


def _changes(page: Page, table: dict[str, Any]) -> None:
    page.line(_title(table), "head")
    if table["old"] == table["new"]:
        page.record("keys", table["old"], 5)
    else:
        page.record("old", table["old"] or "not in this file", 5)
        page.record("new", table["new"] or "not in this file", 5)
    if table["old"] is None or table["new"] is None:
        page.line()
        return
    page.line()
    write_grounds(page, grounds_of(table), RESTS_ON, asking=True)
    changed = [m for m in table["measures"] if m["old"] != m["new"]]
    if changed:
        page.record("", f"{'old':>12}  {'new':>12}", 28, "")
    for measure in changed:
        old, new = measure["old"], measure["new"]
        values = f"{amount(old):>12}  {amount(new):>12}  {measure['unit']}"
        more = f", {difference(old, new)}" if old and new else ""
        page.record(("- " if measure["worse"] else "  ") + measure["name"], f"{values}{more}", 28, "")
    for entry in table["classes"]:
        page.line(f"  {entry['name']}{'  worse' if entry['worse'] else ''}", "warn" if entry["worse"] else "")
        page.record("old", _served(entry["old"]), 4, "    ")
        page.record("new", _served(entry["new"]), 4, "    ")
    for title, messages in (("no longer broken", "gone"), ("broken now", "added")):
        for message in table["violations"][messages]:
            page.wrapped(f"{title}: {message}", "  - ", "    ", "bad" if messages == "added" else "good")
    if any(measure["worse"] for measure in changed):
        page.wrapped("- got worse")
    if not changed and not table["classes"]:
        page.wrapped("every figure is the same, for every query and write")
    page.line()


def grounds_of(table: dict[str, Any]) -> list[dict[str, Any]]:
    """What the figures of a compared table rest on: of each ground the side that carries them less, else the new."""
    sides = table["grounds"]
    weak = {g["name"] for g in sides["old"] if not g["carries"]} - {g["name"] for g in sides["new"] if not g["carries"]}
    return [*(g for g in sides["new"] if g["name"] not in weak), *(g for g in sides["old"] if g["name"] in weak)]


def _served(served: dict[str, Any] | None) -> str:
    if served is None:
        return "not in its workload"
    via = "" if served["via"] == "main" else f" via {served['via']}"
    late = f", p99 {milliseconds(served['latency_ms_p99'])}" if served["latency_ms_p99"] else ""
    access = served["access"] or "one entity by its key"
    many = amount(served["requests"])
    requests = f"{many} request{'' if many == '1' else 's'}"
    return f"{access}{via}: {amount(served['entities'])} entities in {requests}, {rate(served['rate_per_s'])}{late}"


def _summary(document: dict[str, Any]) -> str:
    worse = [e["name"] for t in document["tables"] for e in t["classes"] if e["worse"]]
    better = [e["name"] for t in document["tables"] for e in t["classes"] if not e["worse"]]
    return f"{len(worse)} queries or writes cost more, {len(better)} differ otherwise"
