"""Sections of a stress test for who checks it: what was run, on which numbers it rests, and how to run it again."""

from __future__ import annotations

import shlex

from pkadvisor.documents.stress import StressDocument
from pkadvisor.report.html.place import Context, Places
from pkadvisor.report.stress_words import named_inputs, options_of
from pkadvisor.report.summary.verdicts import table_title

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
