"""Sections of a stress test for who checks it: what was run, on which numbers it rests, and how to run it again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from pkadvisor.documents.comparison import ComparisonFile
from pkadvisor.documents.stress import StressDocument, StressFile, StressLimits
from pkadvisor.report.html.place import Context, Places
from pkadvisor.report.html.tables import Table, code, figure, table, words
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
        "limits": limits_table(document.limits, places),
        "assumed": sum(1 for entry in document.limits.values if entry.basis == "assumed"),
    }


def limits_table(limits: StressLimits, places: Places) -> Table:
    """Every number of the store, with where it comes from."""
    rows = [
        (
            code(entry.name),
            figure(places.figure(entry, "value")),
            words(entry.unit),
            words(entry.basis),
        )
        for entry in limits.values
    ]
    return table("Numbers of the store", ("Name", "Value", "Unit", "Basis"), rows, numeric=(1,), sorts=True)


def reproduce(document: StressDocument, places: Places) -> Context:
    """The command, the version, the seed, and the files by their content."""
    inputs = document.inputs
    return {
        "command": command(document),
        "files": files_table(inputs.files, places) if inputs.files else None,
        "real": any(d.measured for t in document.tables for d in t.designs),
    }


def files_table(files: Sequence[StressFile | ComparisonFile], places: Places) -> Table:
    """Files by name, size and digest."""
    rows = [
        (
            code(entry.name),
            words(entry.role),
            figure(places.figure(entry, "bytes", "whole")),
            code(entry.xxh3),
        )
        for entry in files
    ]
    return table("Files that were read", ("File", "Role", "Bytes", "XXH3-128"), rows, numeric=(2,))


def command(document: StressDocument) -> str:
    """What runs the test again, beside the files; options that were not given are left out."""
    parts = ("advisor stress", named_inputs(document), shlex.join(options_of(document)))
    return " ".join(filter(None, parts))
