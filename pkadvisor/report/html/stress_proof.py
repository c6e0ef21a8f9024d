"""Sections of a stress test that say how far to believe it: predictions compared with runs, breaks, a real endpoint."""

from __future__ import annotations

import shlex
from typing import Any

from pkadvisor.documents.stress import StressDesign, StressDocument, StressMeasured, StressTable
from pkadvisor.documents.stress_run import StressBreak
from pkadvisor.numbers import plural
from pkadvisor.report.html.place import Context, Missing, Places
from pkadvisor.report.stress_words import counted, engine_requests, engine_shares, named_inputs, options_of
from pkadvisor.report.summary.verdicts import table_title
from pkadvisor.report.text.stress_measured import NAMES, STOPPED


def prediction(document: StressDocument, node: StressTable, places: Places) -> Context:
    """What the model said beforehand beside what was measured."""
    parts = [_predicted(design) for design in node.designs]
    if not any(part["classes"] or part["load"] or part["audit"] for part in parts):
        return Missing("Nothing was compared with the model: the test was interrupted before.")
    return {"parts": parts, "counted": counted, "engine_shares": engine_shares(document.settings)}


def _predicted(design: StressDesign) -> dict[str, Any]:
    node, audit = design.prediction, design.prediction.audit
    return {
        "label": design.label,
        "wrong": [e.name for e in node.classes if not e.agrees],
        "entries": node.classes,
        "classes": [(e, m) for e in node.classes for m in e.measures if m.predicted or m.measured],
        "load": node.load,
        "audit": audit,
        "of_the_load": engine_requests(audit, design.runs[0]) if audit else "",
        "ways": [("embedded engine", audit.engine), ("without rows", audit.without_rows)] if audit else [],
    }


# -- when it breaks ----------------------------------------------------------------------------------------------------


def breaks(document: StressDocument, node: StressTable, places: Places) -> Context:
    """At how many times the worst minute each limit is reached, whether a run proves it, and the highest load found."""
    parts = [_breaks(design) for design in node.designs]
    if not parts:
        return Missing("No design was run to its end.")
    return {
        "parts": parts,
        "asked": any(design.limit for design in node.designs),
        "tested": any(design.partition_test for design in node.designs),
    }


def _breaks(design: StressDesign) -> dict[str, Any]:
    return {
        "label": design.label,
        "breaks": design.scheme.breaks,
        "proofs": [_proof(proof) for proof in design.prediction.breaks],
        "limit": design.limit,
        "partition_test": design.partition_test,
    }


def _proof(proof: StressBreak) -> tuple[str, str, str]:
    """Sentence, word and mood."""
    if proof.holds is None:
        return proof.sentence, "not proved by a run", "warn"
    return proof.sentence, *(("proved", "good") if proof.holds else ("does not hold", "bad"))


# -- a real endpoint ---------------------------------------------------------------------------------------------------


def endpoint(document: StressDocument, node: StressTable, places: Places) -> Context:
    """What a real endpoint measured under the same load, and the numbers of the model as they were there."""
    measured = [(d.label, d.measured) for d in node.designs if d.measured]
    if not measured:
        return Missing("No real endpoint was asked: add --target with a connection string to measure one.")
    parts = [(label, one, _warnings(one)) for label, one in measured]
    return {"parts": parts, "names": NAMES}


def _warnings(one: StressMeasured) -> list[str]:
    out = []
    if one.stopped:
        out.append(STOPPED.get(one.stopped, one.stopped))
    if not one.kept_up:
        out.append("the client could not keep up with the load: the latencies are partly its own")
    if one.unanswered:
        out.append(f"{plural(one.unanswered, 'operation')} got no answer")
    if not one.removed:
        out.append(f"the table {one.table} could not be removed: remove it")
    return out


# -- Sections of a stress test for who checks it: what was run, on which numbers it rests, and how to run it again.


ENFORCED = {
    "strict": "targets are hard limits: attempts above them get 503",
    "elastic": "targets of partitions and ranges hold only where servers are busy",
}
STATES = (
    ("warmed up", "the table is already split into the ranges that Azure makes under this load"),
    ("cold start", "a new table: one range on one server, which the service splits as the load goes on"),
    ("N clients", "a closed loop: each client sends its next request after the answer to its last"),
)


def method(document: StressDocument, places: Places) -> Context:
    """What was run, how to read its states, what is assumed, and every number of the store that it rests on."""
    return {
        "settings": document.settings,
        "enforcement": ENFORCED[document.settings.enforcement],
        "states": STATES,
        "notes": [(table_title(t), t.notes) for t in document.tables if t.notes],
        "assumed": sum(1 for entry in document.limits.values if entry.basis == "assumed"),
    }


def reproduce(document: StressDocument, places: Places) -> Context:
    """The command, the version, the seed, and the files by their content."""
    inputs = document.inputs
    return {
        "command": command(document),
        "files": inputs.files,
        "real": any(d.measured for t in document.tables for d in t.designs),
    }


def command(document: StressDocument) -> str:
    """What runs the test again, beside the files; options that were not given are left out."""
    parts = ("advisor stress", named_inputs(document), shlex.join(options_of(document)))
    return " ".join(filter(None, parts))
