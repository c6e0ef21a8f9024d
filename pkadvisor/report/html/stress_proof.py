"""Sections of a stress test that say how far to believe it: predictions compared with runs, breaks, a real endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pkadvisor.documents.stress import (
    StressDesign,
    StressDocument,
    StressKnee,
    StressMeasured,
    StressResidual,
    StressTable,
)
from pkadvisor.documents.stress_run import StressAudit, StressBreak, StressLoad
from pkadvisor.numbers import plural
from pkadvisor.report.html.place import Context, Figure, Missing, Places
from pkadvisor.report.html.tables import Cell, Table, code, figure, mark, table, together, words
from pkadvisor.report.stress_words import ENGINE_SHARES, counted
from pkadvisor.report.text.stress_measured import NAMES, STOPPED


def prediction(document: StressDocument, node: StressTable, places: Places) -> Context:
    """What the model said beforehand beside what was measured."""
    parts = [_predicted(design, places) for design in node.designs]
    if not any(part["classes"] or part["load"] or part["audit"] for part in parts):
        return Missing("Nothing was compared with the model: the test was interrupted before.")
    return {"parts": parts}


def _predicted(design: StressDesign, places: Places) -> dict[str, Any]:
    label, node = design.label, design.prediction
    rows = [
        (
            words(entry.name),
            words(counted(measure.name)),
            figure(places.figure(measure, "predicted")),
            figure(places.figure(measure, "measured")),
            figure(places.figure(measure, "tolerance", "percent")),
            _agrees(measure.agrees),
        )
        for entry in node.classes
        for measure in entry.measures
        if measure.predicted or measure.measured
    ]
    load = [
        (
            words(counted(measure.name)),
            words(measure.unit),
            figure(_in(measure, "predicted", places)),
            figure(_in(measure, "measured", places)),
            figure(places.figure(measure, "error", "signed")) if measure.error is not None else words("–"),
            _judged(measure),
        )
        for measure in node.load
    ]
    wrong = [e.name for e in node.classes if not e.agrees]
    heads = ("Query or write", "Of one request", "Predicted", "Measured", "May differ by", "Verdict")
    return {
        "label": label,
        "wrong": wrong,
        "count": len(node.classes),
        "classes": table(f"What one request asks of the store: {label}", heads, rows, numeric=(2, 3, 4), sorts=True),
        "notes": [(e.name, e.note) for e in node.classes if e.note],
        "load": table(
            f"Load and latency: {label}",
            ("Measure", "Unit", "Predicted", "Measured", "Residual", "Verdict"),
            load,
            numeric=(2, 3, 4),
            sorts=True,
        ),
        "audit": node.audit,
        "engine": _audit(node.audit, places) if node.audit else None,
        "engine_shares": ENGINE_SHARES,
    }


def _agrees(flag: bool) -> Cell:
    return mark("agrees" if flag else "differs", "good" if flag else "bad")


def _judged(measure: StressLoad) -> Cell:
    """Whether a figure of the whole run came as predicted, or why nothing is predicted."""
    return words(measure.why or "not judged") if measure.agrees is None else _agrees(measure.agrees)


def _in(measure: StressLoad | StressResidual, member: str, places: Places) -> Figure:
    share = measure.unit.startswith("share") and getattr(measure, member) is not None
    return places.figure(measure, member, "percent" if share else "amount")


def _audit(audit: StressAudit, places: Places) -> Table:
    """What the embedded engine answered, with real rows, and what came of it beside the same requests without rows."""
    ways = [("embedded engine", audit.engine)]
    if audit.without_rows:
        ways.append(("without rows", audit.without_rows))
    kinds = (
        ("throttled_share", "percent"), ("lost_share", "percent"),
        ("latency_ms_p50", "latency"), ("latency_ms_p99", "latency"), ("ranges", "whole"),
    )  # fmt: skip
    rows = [(words(name), *(figure(places.figure(of_way, key, kind)) for key, kind in kinds)) for name, of_way in ways]
    heads = ("Way to run", "Throttled attempts", "Lost requests", "p50", "p99", "Ranges at the end")
    return table("The same requests, with rows and without", heads, rows, numeric=(1, 2, 3, 4, 5))


# -- when it breaks ----------------------------------------------------------------------------------------------------


def breaks(document: StressDocument, node: StressTable, places: Places) -> Context:
    """At how many times the worst minute each limit is reached, whether a run proves it, and the highest load found."""
    parts = [_breaks(design, places) for design in node.designs]
    if not parts:
        return Missing("No design was run to its end.")
    return {
        "parts": parts,
        "asked": any(design.limit for design in node.designs),
        "tested": any(design.partition_test for design in node.designs),
    }


def _breaks(design: StressDesign, places: Places) -> dict[str, Any]:
    label, scheme = design.label, design.scheme
    rows = [
        (
            words(entry.cause),
            figure(places.figure(entry, "measured")),
            figure(places.figure(entry, "limit")),
            words(entry.unit),
            figure(places.figure(entry, "factor", "breaks")),
            figure(places.figure(entry, "months")) if entry.months is not None else words("–"),
        )
        for entry in scheme.breaks
    ]
    heads = ("What is reached", "Now", "Limit", "Unit", "At times the worst minute", "Months of declared growth")
    return {
        "label": label,
        "breaks": table(f"Limits in the order in which they are reached: {label}", heads, rows, numeric=(1, 2, 4, 5)),
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
    return {"parts": [_measured(label, one, places) for label, one in measured]}


def _measured(label: str, one: StressMeasured, places: Places) -> dict[str, Any]:
    return {
        "label": label,
        "one": one,
        "warnings": _warnings(one),
        "residuals": _residuals(label, one.residuals, places),
        "calibration": _calibration(label, one.calibration.found, places),
    }


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


def _residuals(label: str, residuals: Sequence[StressResidual], places: Places) -> Table:
    rows = [
        (
            words(entry.class_),
            words(NAMES.get(entry.name, entry.name)),
            words(entry.unit),
            figure(_in(entry, "predicted", places)),
            figure(_in(entry, "measured", places)),
        )
        for entry in residuals
    ]
    heads = ("Query or write", "Measure", "Unit", "Predicted", "Measured there")
    return table(f"Predicted and measured there: {label}", heads, rows, numeric=(3, 4), sorts=True)


def _calibration(label: str, node: Sequence[StressKnee], places: Places) -> Table:
    rows = [
        (
            code(one.name),
            together(figure(places.figure(one, "predicted")), words(f"({one.basis})")),
            figure(places.figure(one, "measured")),
            together(figure(places.figure(one, "low")), words("to"), figure(places.figure(one, "high"))),
            words(one.unit),
            together(figure(places.figure(one, "count", "whole")), words(one.of)),
        )
        for one in node
    ]
    heads = ("Number of the model", "Taken", "Measured there", "Within, 19 times in 20", "Unit", "Counted")
    return table(f"Numbers of the model, measured there: {label}", heads, rows, numeric=(1, 2, 3))
