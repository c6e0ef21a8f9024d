"""Sections on how it is known: inputs, assumptions, limits, and how to run it again."""

from __future__ import annotations

from typing import Any

from pkadvisor.report.html.place import At, Context, Missing
from pkadvisor.report.html.queries import requests


def method(document: At, table: At) -> Context:
    """What was read, what is assumed, and every term of the cost with its source."""
    best = table["recommended"]
    return {
        "data": _data(table["data"]) if table["data"] else None,
        "assumed": [text.text for text in (*table["notes"], *table["cannot_be_known"])],
        "examined": table["examined"].figure("whole"),
        "gap": _gap(table["search"]),
        "terms": [_term(term) for term in best["terms"]] if best else [],
        "properties": [_property(node) for node in table["data"]["properties"]] if table["data"] else [],
    }


def _data(data: At) -> dict[str, Any]:
    return {
        "name": data["name"].text,
        "format": data["format"].text,
        "read": data["entities_read"].figure("whole"),
        "total": data["entities_total"].figure("whole"),
        "sampling": data["sampling"].text,
        "notes": [note.text for note in data["notes"]],
    }


def _gap(search: At) -> str:
    if not search:
        return ""
    if search["gap"].value is None:
        return "a limit of the search was hit, and how far the best sets of index rows are is not known"
    return "" if search["gap"].number == 0 else "a limit of the search was hit; the result tells the gap"


def _term(term: At) -> dict[str, Any]:
    low, high = term.maybe("low"), term.maybe("high")
    return {
        "name": term["name"].text,
        "value": term["value"].figure(),
        "unit": term["unit"].text,
        "basis": term["basis"].text,
        "low": low.figure() if low is not None else None,
        "high": high.figure() if high is not None else None,
        "source": term["source"].text,
    }


def _property(node: At) -> dict[str, Any]:
    return {
        "name": node["name"].text,
        "type": node["type"].text,
        "distinct": node["distinct"].figure("whole"),
        "basis": node["distinct_basis"].text,
        "missing": node["missing"].figure("whole"),
        "mixed": ", ".join(kind["type"].text for kind in node["types"]),
    }


def account(document: At, _: At) -> Context | None:
    """What the log says of the whole account."""
    log = document["log"]
    if not log:
        return None
    node = log["account"]
    return {
        "first": log["first"].text if log["first"] else "unknown",
        "last": log["last"].text if log["last"] else "unknown",
        "facts": [
            (label, log[name].figure("whole"))
            for name, label in (
                ("lines", "lines"),
                ("requests_attempted", "requests"),
                ("duplicates", "lines written twice"),
                ("throttled", "throttled requests"),
                ("retries", "retries"),
                ("pages", "further pages"),
                ("missing_hours", "hours missing"),
            )
            if log[name].value
        ],
        "skipped": [(node["reason"].text, node["lines"].figure("whole")) for node in log["skipped"]],
        "peak": node["peak_per_s"].figure() if node["peak_per_s"].value else None,
        "limit": node["limit_per_s"].figure(),
        "share": node["peak_share"].figure("percent"),
        "tables": [
            (table["table"].text, table["share"].figure("percent"), table["designed"].flag) for table in log["tables"]
        ],
    }


def together(document: At, _: At) -> Context | None:
    """The kinds of one table in one arrangement: their group transactions and shared partitions."""
    if not document["arrangements"]:
        return None
    return {"tables": [_arranged(node) for node in document["arrangements"]]}


def all_tables(document: At, _: At) -> Context | None:
    """The account's targets against the sum of all tables and kinds."""
    node = document.maybe("account")
    if not node:
        return None
    return {
        "loads": [
            {
                "cause": load["cause"].text,
                "measured": load["measured"].figure(),
                "limit": load["limit"].figure(),
                "unit": load["unit"].text,
                "factor": load["factor"].figure("breaks"),
                "horizon": load["at_horizon"].figure(),
                "months": load["months"].figure() if load["months"].value is not None else None,
                "over": load["factor"].number < 1,
                "shares": [
                    (share["name"].text, share["per_s"].figure(), share["at_least"].flag) for share in load["shares"]
                ],
            }
            for load in node["loads"]
        ],
        "broken": [(v["message"].text, v["assumed_growth"].flag) for v in node["violations"]],
    }


def _arranged(node: At) -> dict[str, Any]:
    return {
        "table": node["table"].text,
        "bonds": [
            {
                "name": bond["name"].text,
                "writes": ", ".join(write.text for write in bond["writes"]),
                "kept": bond["kept"].flag,
                "why": bond["impossible_because"].text if bond["impossible_because"] else "",
            }
            for bond in node["transactions"]
        ],
        "ways": [
            {
                "label": "chosen" if number == 0 else f"rival {number}",
                "kept": ", ".join(name.text for name in way["kept"]) or "none",
                "schemes": [
                    (s["kind"].text, f"{s['partition_key'].text or chr(39) * 2} | {s['row_key'].text or chr(39) * 2}")
                    for s in way["schemes"]
                ],
                "requests": way["requests_per_s"].figure(),
                "entities": way["entities_per_s"].figure(),
                "hottest": way["hottest_partition_per_s"].figure(),
                "broken": [v["message"].text for v in way["violations"] if not v["assumed_growth"].flag],
            }
            for number, way in enumerate([node["chosen"], *node["rivals"]])
        ],
        "conflicts": [[each["sentence"].text for each in conflict["constraints"]] for conflict in node["conflicts"]],
    }


def limits(document: At, _: At) -> Context:
    """Every limit and price that was used, with its date and source."""
    return {
        "store": document["limits"]["store"].text,
        "rows": [
            {
                "name": entry["name"].text,
                "value": entry["value"].figure("exact"),
                "unit": entry["unit"].text,
                "basis": entry["basis"].text,
                "date": entry["date"].text if entry["date"] else "",
                "source": entry["source"].text if entry["source"] else "",
            }
            for entry in document["limits"]["values"]
        ],
    }


def reproduce(document: At, _: At) -> Context:
    """The exact command, the files it was run on, and what to do next with the result."""
    settings = document.maybe("settings")
    files = document["inputs"].maybe("files")
    return {
        "command": settings["command"].text if settings else "",
        "seed": settings["seed"].figure("exact") if settings else None,
        "version": f"{document['tool']['name'].text} {document['tool']['version'].text}",
        "schema": document["schema_version"].text,
        "redacted": document["redacted"].flag,
        "files": [
            {
                "role": node["role"].text,
                "name": node["name"].text,
                "bytes": node["bytes"].figure("whole"),
                "digest": node["xxh3"].text,
            }
            for node in files or ()
        ],
    }


def scheme(document: At, table: At) -> Context:
    """The templates with example keys, the exact requests, and what the design gives up."""
    from pkadvisor.report.html.advice import keys_of

    best = table["recommended"]
    if not best:
        return Missing("There is no scheme to show: see the verdict for what is missing.")
    examples = best.maybe("examples")
    rows = list(best.maybe("index_examples") or ())
    return {
        "keys": keys_of(best),
        "pattern": best["pattern"].text,
        "examples": [(each["partition_key"].text, each["row_key"].text) for each in examples or ()],
        "index_examples": [(each["partition_key"].text, each["row_key"].text) for row in rows for each in row],
        "requests": requests(best),
        "transactions": [
            {
                "name": group["name"].text,
                "kept": group["kept"].flag,
                "mean": group["mean_entities"].figure(),
                "over": group["sets_over_limit"].figure("whole") if group["sets_over_limit"] else None,
            }
            for group in best.maybe("transactions") or ()
        ],
        "gives_up": [text.text for text in table["gives_up"]],
    }
