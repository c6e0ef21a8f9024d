"""Sections on limits: what is broken or noteworthy, and when each limit is met."""

from __future__ import annotations

from typing import Any

from pkadvisor.report.html.place import At, Context, Missing

SEVERITIES = ("broken", "at growth", "note")
"""From the worst; the page sorts by it."""
MOODS = {"broken": "bad", "at growth": "warn", "note": ""}


def findings(document: At, table: At) -> Context:
    """What does not hold, under the recommended and the current keys."""
    return findings_of(designs_of(table), [_conflict(node) for node in table["conflicts"]])


def findings_of(designs: list[tuple[str, At]], conflicts: list[dict[str, Any]]) -> Context:
    """Broken constraints under each of some designs, the worst first."""
    rows: list[dict[str, Any]] = []
    for name, scheme in designs:
        for node in scheme["violations"]:
            severity = "at growth" if node["assumed_growth"].flag else "broken"
            rows.append(
                {
                    "severity": severity,
                    "design": name,
                    "code": node["code"].text,
                    "message": node["message"].text,
                    "measured": node["measured"].figure() if node["measured"].value is not None else None,
                    "limit": node["limit"].figure() if node["limit"].value is not None else None,
                    "unit": node["unit"].text,
                }
            )
        for node in scheme["remarks"]:
            rows.append(
                {
                    "severity": "note",
                    "design": name,
                    "code": node["code"].text,
                    "message": node["message"].text,
                    "measured": None,
                    "limit": None,
                    "unit": "",
                }
            )
    rows.sort(key=lambda row: SEVERITIES.index(row["severity"]))
    for row in rows:
        row["mood"] = MOODS[row["severity"]]
    if not rows and not conflicts:
        return Missing("There is no finding: no constraint is broken, and there is no note.")
    counts = [(name, sum(row["severity"] == name for row in rows)) for name in SEVERITIES]
    counted = [(f"{name}s" if name == "note" and count > 1 else name, count) for name, count in counts if count]
    return {"rows": rows, "counts": counted, "conflicts": conflicts}


def _conflict(node: At) -> dict[str, Any]:
    """Constraints that no key holds together, and what each way out costs."""
    constraints = [each["sentence"].text for each in node["constraints"]]
    return {
        "constraints": constraints,
        "ways": [
            {
                "dropped": way["dropped"]["sentence"].text,
                "partition_key": way["scheme"]["partition_key"].text or "''",
                "row_key": way["scheme"]["row_key"].text or "''",
                "requests": way["requests_per_s"].figure(),
                "entities": way["entities_per_s"].figure(),
            }
            for way in node["relaxed"]
        ]
        if len(constraints) > 1
        else [],
    }


def designs_of(table: At) -> list[tuple[str, At]]:
    """The recommended scheme and, unless it is the same, the current one."""
    designs = [("recommended", table["recommended"])] if table["recommended"] else []
    if table["current"] and table["ranking_says"].text != "keep":
        designs.append(("current", table["current"]))
    return designs


def breaks(document: At, table: At) -> Context:
    """Each limit with the growth that meets it, the first to break first."""
    designs = designs_of(table)
    if not designs:
        return Missing("When it breaks is known of schemes that were priced: give a data set and a log or a design.")
    return breaks_of(designs)


def breaks_of(designs: list[tuple[str, At]]) -> Context:
    """Each limit of each design with the growth that meets it."""
    rows = [
        {
            "design": name,
            "cause": node["cause"].text,
            "measured": node["measured"].figure(),
            "limit": node["limit"].figure(),
            "unit": node["unit"].text,
            "factor": node["factor"].figure("breaks"),
            "headroom": node["factor_headroom"].figure("breaks"),
            "growth": " or ".join(GROWTHS.get(kind.text, kind.text) for kind in node["growth_of"]),
            "months": node["months"].figure() if node["months"].value is not None else None,
            "over": node["factor"].value is not None and node["factor"].number < 1,
        }
        for name, scheme in designs
        for node in scheme["breaks"]
    ]
    if not rows:
        return Missing("No limit is ever met: nothing that these requests use is bounded.")
    best = designs[0][1]
    return {
        "rows": rows,
        "cause": best["break_cause"].text,
        "saturation": best["saturation"]["requests_per_s"].figure() if best["saturation"] else None,
        "dated": any(row["months"] for row in rows),
    }


GROWTHS = {"rate": "load", "new_keys": "keys", "rows_per_key": "rows per key"}
