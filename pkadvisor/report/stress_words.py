"""The words of a stress test that every output shares: what is counted, and in which states a table is run."""

from __future__ import annotations

import shlex
from typing import Any

REQUESTS = (
    "request: a query or write of the application; operation: what it sends to the store, one or more for each request "
    "(pages, look-ups, index rows; 'advisor analyze' counts these as requests); attempt: an operation, counted each "
    "time it is tried, and what is throttled is a share of attempts"
)
"""What is counted; said once, where the reader of a page first meets it."""
STATES = (
    "warmed up: the table is already split into the ranges that Azure makes under this load; "
    "cold start: a new table, which is one range"
)
_COUNTED = {"requests": "operations", "hottest partition": "demand on the hottest partition"}


def counted(name: str) -> str:
    """What a page calls a measure of a prediction. Documents say requests for what one request sends to the store, and
    call what all requests would ask of the hottest partition, were nothing turned away, by its name alone."""
    return _COUNTED.get(name, name)


def next_step(document: dict[str, Any]) -> str:
    """What to do after a run: finish it, keep the current keys, look for keys or a load that hold, or use the
    recommended keys."""
    if not document["complete"]:
        return "run it again, it was interrupted; --duration makes it shorter"
    for table in document["tables"]:
        verdict, label = table["verdict"], table["designs"][-1]["label"]
        missed = [g for g in table["goals"] for m in g["designs"] if m["label"] == label and not m["met"]]
        if verdict.get("keep_current"):
            return f"keep the current keys of {table['table']}; add --scheme 2 to test the next best ones"
        if verdict["level"] == "untested":
            return f"run: advisor analyze; its prediction of inserts into one range of {label} counts, not this run"
        if not verdict["bears"] or missed:
            where = f" (table {table['table']})" if len(document["tables"]) > 1 else ""
            return f"add --find-limit for the load that {label} serves, or --scheme 2 for the next best keys{where}"
        if verdict["failed_predictions"]:
            return f"read 'Predicted and measured, {label}': the model was wrong there"
    design = document["inputs"]["design"] or "design.yaml"
    return f"write the recommended keys into {design}, then run: advisor review {shlex.quote(design)}"


__all__ = ["REQUESTS", "STATES", "counted", "next_step"]
