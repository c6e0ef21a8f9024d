"""The section of an analysis that shows where the load falls: current and recommended keys on one scale."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from pkadvisor.numbers import lasting, ratio
from pkadvisor.report.charts import heat_map
from pkadvisor.report.html.place import At, Context, Missing

HEADS = {"current": "The current keys", "recommended": "The recommended keys"}
PER_MILLE = 1000


def heatmap(document: At, table: At) -> Context:
    """A map of each design, what it shows in words, and its rows."""
    node = table.maybe("heat")
    if not node:
        why = table.maybe("why_no_heat")
        reason = f": {why.text}" if why else ""
        return Missing(f"There is no heat map{reason}. Give data, and a log or rates in a design file.")
    maps = [_design(node, design) for design in node["designs"]]
    return {
        "key": heat_map.key(node["target_per_s"].number, node["unit"].text),
        "span": _span(node),
        "both": len(maps) > 1,
        "maps": maps,
        "note": node["note"].text,
        "basis": node["basis"].text,
    }


def _span(node: At) -> str:
    """What the map shows from left to right."""
    if not node["step_s"].number:
        return "the rows in their order, as no time is known"
    if not node["start"]:
        return "a day in UTC"
    return f"{_long(node)} from {node['start'].text}"


def _long(node: At) -> str:
    seconds = node["step_s"].number * node["columns"].number
    return lasting(seconds) if seconds < 172_800 else f"{seconds / 86_400:.3g} days"


def _design(node: At, design: At) -> dict[str, Any]:
    head = HEADS.get(design["design"].text, design["design"].text)
    pattern, inserts = design["pattern"], design["inserts_pattern"]
    apart = inserts and inserts["name"].text != pattern["name"].text
    hottest = design["hottest"]
    finding = _sentence(pattern["sentence"].text)
    return {
        "head": head,
        "finding": finding,
        "inserts": f"{inserts['sentence'].text}." if apart else "",
        "hottest": {
            "key": hottest["key"].text,
            "times": hottest["per_mille"].figure("thousandths"),
            "share": hottest["share"].figure("percent"),
            "over": hottest["per_mille"].number > PER_MILLE,
        }
        if hottest
        else None,
        "chart": _chart(node, design, f"{head}: {pattern['sentence'].text}"),
        "template": _one_template(design),
        "rows": _rows(design),
    }


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _chart(node: At, design: At, alt: str) -> Markup:
    rows = list(design["rows"])
    templates = [row["template"].text for row in rows]
    if design["hottest"]:
        alt += (
            f"; the hottest partition reaches {ratio(design['hottest']['per_mille'].number / PER_MILLE)} of its target"
        )
    return heat_map.draw(
        heat_map.HeatMap(
            alt=alt,
            per_mille=tuple(tuple(map(int, line.numbers)) for line in design["per_mille"]),
            row_labels=tuple(row["label"].text for row in rows),
            target=node["target_per_s"].number,
            unit=node["unit"].text,
            step_s=node["step_s"].number,
            start=node["start"].text if node["start"] else None,
            row_totals=design["row_per_s"].numbers,
            column_totals=design["column_per_s"].numbers,
            partitions=tuple(int(row["partitions"].number) for row in rows),
            source=design["per_mille"].path,
            labels_source=design["rows"].path,
            time_label="" if node["start"] or not node["step_s"].number else "time of day (UTC)",
            borders=tuple(n for n in range(1, len(rows)) if templates[n] != templates[n - 1]),
        )
    )


def _one_template(design: At) -> str:
    """The PartitionKey of every row; empty where rows have different ones."""
    templates = {row["template"].text for row in design["rows"]}
    return templates.pop() if len(templates) == 1 else ""


def _rows(design: At) -> list[dict[str, Any]]:
    """Each row of the map: its keys in full, how many partitions, what they take."""
    return [
        {
            "number": number,
            "template": row["template"].text,
            "first": row["from_key"].text,
            "last": row["to_key"].text if row["to_key"].text != row["from_key"].text else "",
            "partitions": row["partitions"].figure("whole"),
            "mean": total.figure("amount"),
            "most": line[_place_of_most(line.numbers)].figure("thousandths"),
        }
        for number, (row, total, line) in enumerate(
            zip(design["rows"], design["row_per_s"], design["per_mille"], strict=True), 1
        )
    ]


def _place_of_most(values: tuple[float, ...]) -> int:
    """Where the first of the largest values stands."""
    return values.index(max(values))
