"""Sections of a stress test that say how far to believe it: predictions compared with runs, breaks, a real endpoint."""

from __future__ import annotations

from typing import Any

from pkadvisor.numbers import plural
from pkadvisor.report.html.place import At, Context, Figure, Missing
from pkadvisor.report.html.tables import Cell, Table, code, figure, mark, table, together, words
from pkadvisor.report.stress_words import ENGINE_SHARES, counted
from pkadvisor.report.text.stress_measured import NAMES, STOPPED


def prediction(document: At, node: At) -> Context:
    """What the model said beforehand beside what was measured."""
    parts = [_predicted(design) for design in node["designs"]]
    if not any(part["classes"] or part["load"] or part["audit"] for part in parts):
        return Missing("Nothing was compared with the model: the test was interrupted before.")
    return {"parts": parts}


def _predicted(design: At) -> dict[str, Any]:
    label, node = design["label"].text, design["prediction"]
    rows = [
        (
            words(entry["name"].text),
            words(counted(measure["name"].text)),
            figure(measure["predicted"].figure()),
            figure(measure["measured"].figure()),
            figure(measure["tolerance"].figure("percent")),
            _agrees(measure["agrees"].flag),
        )
        for entry in node["classes"]
        for measure in entry["measures"]
        if measure["predicted"].number or measure["measured"].number
    ]
    load = [
        (
            words(counted(measure["name"].text)),
            words(measure["unit"].text),
            figure(_in(measure["predicted"], measure["unit"].text)),
            figure(_in(measure["measured"], measure["unit"].text)),
            figure(measure["error"].figure("signed")) if measure["error"].value is not None else words("–"),
            _judged(measure),
        )
        for measure in node["load"]
    ]
    wrong = [e["name"].text for e in node["classes"] if not e["agrees"].flag]
    heads = ("Query or write", "Of one request", "Predicted", "Measured", "May differ by", "Verdict")
    return {
        "label": label,
        "wrong": wrong,
        "count": len(node["classes"]),
        "classes": table(f"What one request asks of the store: {label}", heads, rows, numeric=(2, 3, 4), sorts=True),
        "notes": [(e["name"].text, note.text) for e in node["classes"] if (note := e.maybe("note"))],
        "load": table(
            f"Load and latency: {label}",
            ("Measure", "Unit", "Predicted", "Measured", "Residual", "Verdict"),
            load,
            numeric=(2, 3, 4),
            sorts=True,
        ),
        "audit": _audit(node["audit"]) if node["audit"] else None,
    }


def _agrees(flag: bool) -> Cell:
    return mark("agrees" if flag else "differs", "good" if flag else "bad")


def _judged(measure: At) -> Cell:
    """Whether a figure of the whole run came as predicted, or why nothing is predicted."""
    agrees, why = measure.maybe("agrees"), measure.maybe("why")
    if agrees is not None and agrees.value is not None:
        return _agrees(agrees.flag)
    return words(why.text if why is not None and why else "not judged")


def _in(value: At, unit: str) -> Figure:
    return value.figure("percent" if unit.startswith("share") and value.value is not None else "amount")


def _audit(audit: At) -> dict[str, Any]:
    """What the embedded engine answered, with real rows, and what came of it beside the same requests without rows."""
    ways = [("embedded engine", audit["engine"])]
    if audit["without_rows"]:
        ways.append(("without rows", audit["without_rows"]))
    kinds = (
        ("throttled_share", "percent"), ("lost_share", "percent"),
        ("latency_ms_p50", "latency"), ("latency_ms_p99", "latency"), ("ranges", "whole"),
    )  # fmt: skip
    rows = [(words(name), *(figure(of_way[key].figure(kind)) for key, kind in kinds)) for name, of_way in ways]
    heads = ("Way to run", "Throttled attempts", "Lost requests", "p50", "p99", "Ranges at the end")
    return {
        "shares": ENGINE_SHARES,
        "figures": table("The same requests, with rows and without", heads, rows, numeric=(1, 2, 3, 4, 5)),
        "rows": audit["rows"].figure("whole"),
        "part": None
        if audit["rows"].number == audit["table_rows"].number
        else {"of": audit["table_rows"].figure("whole"), "share": audit["load_share"].figure("percent")},
        "requests": audit["requests"].figure("whole"),
        "operations": audit["operations"].figure("whole"),
        "violations": audit["violations"].figure("whole") if audit["violations"].number else None,
        "examples": [example.text for example in audit["examples"]],
    }


# -- when it breaks ----------------------------------------------------------------------------------------------------


def breaks(document: At, node: At) -> Context:
    """At how many times the worst minute each limit is reached, whether a run proves it, and the highest load found."""
    parts = [_breaks(design) for design in node["designs"]]
    if not parts:
        return Missing("No design was run to its end.")
    return {
        "parts": parts,
        "asked": any(part["limit"] for part in parts),
        "tested": any(part["partition_test"] for part in parts),
    }


def _breaks(design: At) -> dict[str, Any]:
    label, scheme = design["label"].text, design["scheme"]
    rows = [
        (
            words(entry["cause"].text),
            figure(entry["measured"].figure()),
            figure(entry["limit"].figure()),
            words(entry["unit"].text),
            figure(entry["factor"].figure("breaks")),
            figure(entry["months"].figure()) if entry["months"].value is not None else words("–"),
        )
        for entry in scheme["breaks"]
    ]
    heads = ("What is reached", "Now", "Limit", "Unit", "At times the worst minute", "Months of declared growth")
    return {
        "label": label,
        "breaks": table(f"Limits in the order in which they are reached: {label}", heads, rows, numeric=(1, 2, 4, 5)),
        "proofs": [_proof(proof) for proof in design["prediction"]["breaks"]],
        "limit": _limit(design["limit"]) if design["limit"] else None,
        "partition_test": _partition_test(design["partition_test"]) if design["partition_test"] else None,
    }


def _proof(proof: At) -> tuple[str, str, str]:
    """Sentence, word and mood."""
    holds = proof["holds"]
    if holds.value is None:
        return proof["sentence"].text, "not proved by a run", "warn"
    return proof["sentence"].text, *(("proved", "good") if holds.flag else ("does not hold", "bad"))


def _limit(limit: At) -> dict[str, Any]:
    return {
        "factor": limit["factor"].figure("ratio"),
        "rate": limit["requests_per_s"].figure("rate"),
        "binds": limit["binds"].text,
    }


def _partition_test(test: At) -> dict[str, Any]:
    return {
        "key": test["partition_key"].text,
        "offered": test["offered_entities_per_s"].figure(),
        "accepted": test["accepted_entities_per_s"].figure(),
        "target": test["target_entities_per_s"].figure(),
        "share": test["throttled_share"].figure("percent"),
        "verdict": test["verdict"].text,
        "passes": test["passes"].flag,
    }


# -- a real endpoint ---------------------------------------------------------------------------------------------------


def endpoint(document: At, node: At) -> Context:
    """What a real endpoint measured under the same load, and the numbers of the model as they were there."""
    measured = [(d["label"].text, d["measured"]) for d in node["designs"] if d["measured"]]
    if not measured:
        return Missing("No real endpoint was asked: add --target with a connection string to measure one.")
    return {"parts": [_measured(label, one) for label, one in measured]}


def _measured(label: str, one: At) -> dict[str, Any]:
    run, audit = one["run"], one["audit"]
    return {
        "label": label,
        "host": one["host"].text,
        "date": one["date"].text,
        "rows": one["rows"].figure("whole"),
        "requests": run["requests"].figure("whole"),
        "transactions": one["transactions"].figure("whole"),
        "cost": one["cost_usd"].figure() if one["cost_usd"].value is not None else None,
        "throttled": run["throttled_share"].figure("percent"),
        "p50": run["latency_ms_p50"].figure("latency"),
        "p99": run["latency_ms_p99"].figure("latency"),
        "warnings": _warnings(one),
        "audited": audit["operations"].figure("whole"),
        "violations": audit["violations"].figure("whole") if audit["violations"].number else None,
        "examples": [example.text for example in audit["examples"]],
        "residuals": _residuals(label, one["residuals"]),
        "calibration": _calibration(label, one["calibration"]["found"]),
        "left_out": [(each["name"].text, each["why"].text) for each in one["calibration"]["left_out"]],
    }


def _warnings(one: At) -> list[str]:
    out = []
    if one["stopped"]:
        out.append(STOPPED.get(one["stopped"].text, one["stopped"].text))
    if not one["kept_up"].flag:
        out.append("the client could not keep up with the load: the latencies are partly its own")
    if one["unanswered"].number:
        out.append(f"{plural(int(one['unanswered'].number), 'operation')} got no answer")
    if not one["removed"].flag:
        out.append(f"the table {one['table'].text} could not be removed: remove it")
    return out


def _residuals(label: str, residuals: At) -> Table:
    rows = [
        (
            words(entry["class"].text),
            words(NAMES.get(entry["name"].text, entry["name"].text)),
            words(entry["unit"].text),
            figure(_in(entry["predicted"], entry["unit"].text)),
            figure(_in(entry["measured"], entry["unit"].text)),
        )
        for entry in residuals
    ]
    heads = ("Query or write", "Measure", "Unit", "Predicted", "Measured there")
    return table(f"Predicted and measured there: {label}", heads, rows, numeric=(3, 4), sorts=True)


def _calibration(label: str, node: At) -> Table:
    rows = [
        (
            code(one["name"].text),
            together(figure(one["predicted"].figure()), words(f"({one['basis'].text})")),
            figure(one["measured"].figure()),
            together(figure(one["low"].figure()), words("to"), figure(one["high"].figure())),
            words(one["unit"].text),
            together(figure(one["count"].figure("whole")), words(one["of"].text)),
        )
        for one in node
    ]
    heads = ("Number of the model", "Taken", "Measured there", "Within, 19 times in 20", "Unit", "Counted")
    return table(f"Numbers of the model, measured there: {label}", heads, rows, numeric=(1, 2, 3))
