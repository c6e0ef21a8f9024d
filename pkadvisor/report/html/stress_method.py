"""Sections of a stress test for who checks it: what was run, on which numbers it rests, and how to run it again."""

from __future__ import annotations

import shlex
from typing import Any

from pkadvisor.documents.stress import StressDocument
from pkadvisor.report.html.place import At, Context
from pkadvisor.report.html.tables import Table, code, figure, table, words
from pkadvisor.report.stress_words import named_inputs, options_of

ENFORCED = {
    "strict": "targets are hard limits: attempts above them get 503",
    "elastic": "targets of partitions and ranges hold only where servers are busy",
}
STATES = (
    ("warmed up", "the table is already split into the ranges that Azure makes under this load"),
    ("cold start", "a new table: one range on one server, which the service splits as the load goes on"),
    ("N clients", "a closed loop: each client sends its next request after the answer to its last"),
)


def method(document: At, _: At) -> Context:
    """What was run, how to read its states, what is assumed, and every number of the store that it rests on."""
    settings = document["settings"]
    return {
        "complete": document["complete"].flag,
        "load": settings["load_words"].text,
        "growth": settings["growth_months"].figure() if settings["growth_months"].number else None,
        "length": settings["duration_s"].figure("time") if settings["duration_s"].value is not None else None,
        "retry": settings["retry"].text,
        "enforcement": ENFORCED[settings["enforcement"].text],
        "servers": settings["servers"].figure("whole"),
        "seed": settings["seed"].figure("whole"),
        "faults": [fault.text for fault in settings["faults"]],
        "clients": _clients(settings["clients"]) if settings["clients"] else None,
        "states": STATES,
        "notes": [(table_name(t), [note.text for note in t["notes"]]) for t in document["tables"] if t["notes"]],
        "store": document["limits"]["store"].text,
        "limits": limits_table(document["limits"]),
        "assumed": sum(1 for entry in document["limits"]["values"] if entry["basis"].text == "assumed"),
        "redacted": document["redacted"].flag,
    }


def table_name(node: At) -> str:
    """A table, and its kind of entities where it holds several."""
    return f"{node['table'].text} · {node['kind'].text}" if node["kind"] else node["table"].text


def _clients(clients: At) -> dict[str, Any]:
    return {
        "number": clients["number"].figure("whole"),
        "think": clients["think_s"].figure("time") if clients["think_s"].number else None,
        "vms": clients["vms"].figure("whole") if clients["vms"].value is not None else None,
    }


def limits_table(limits: At) -> Table:
    """Every number of the store, with where it comes from."""
    rows = [
        (
            code(entry["name"].text),
            figure(entry["value"].figure()),
            words(entry["unit"].text),
            words(entry["basis"].text),
        )
        for entry in limits["values"]
    ]
    return table("Numbers of the store", ("Name", "Value", "Unit", "Basis"), rows, numeric=(1,), sorts=True)


def reproduce(document: At, _: At) -> Context:
    """The command, the version, the seed, and the files by their content."""
    inputs = document.maybe("inputs")
    tool = document["tool"]
    return {
        "command": command(document.value),
        "version": f"{tool['name'].text} {tool['version'].text}",
        "schema": document["schema_version"].text,
        "seed": document["settings"]["seed"].figure("whole"),
        "files": files_table(inputs["files"]) if inputs is not None and inputs["files"] else None,
        "real": any(d["measured"] for t in document["tables"] for d in t["designs"]),
    }


def files_table(files: At) -> Table:
    """Files by name, size and digest."""
    rows = [
        (
            code(entry["name"].text),
            words(entry["role"].text),
            figure(entry["bytes"].figure("whole")),
            code(entry["xxh3"].text),
        )
        for entry in files
    ]
    return table("Files that were read", ("File", "Role", "Bytes", "XXH3-128"), rows, numeric=(2,))


def command(document: StressDocument) -> str:
    """What runs the test again, beside the files; options that were not given are left out."""
    parts = ("advisor stress", named_inputs(document), shlex.join(options_of(document)))
    return " ".join(filter(None, parts))
