"""What sections read of schemes: keys, terms, grounds; and the section of the schemes that were ranked."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from pkadvisor.report.charts.stacked_bar import Bar, StackedBars, draw
from pkadvisor.report.documents.stored import quoted
from pkadvisor.report.html.place import At, Context, Figure, Missing
from pkadvisor.report.summary.goals import lost

PARTS_MOST = 10


def limit_of(document: At, name: str) -> At:
    """The value of a limit of the store."""
    node = document["limits"]["values"].find("name", name)
    if node is None:
        return At(None, "limits.values")["value"]
    return node["value"]


def term_of(scheme: At, name: str) -> At | None:
    """The value of a term of a scheme's cost; None where it has no such term."""
    node = scheme["terms"].find("name", name)
    return None if node is None else node["value"]


def keys_of(scheme: At) -> dict[str, Any]:
    """The templates of a scheme, index rows below."""
    return {
        "partition_key": quoted(scheme["partition_key"].text),
        "row_key": quoted(scheme["row_key"].text),
        "index_rows": [
            {
                "partition_key": quoted(row["partition_key"].text),
                "row_key": quoted(row["row_key"].text),
                "copy": "full copy" if row["copy"].text == "full" else "pointer",
                "when": "same partition, same group transaction"
                if row["consistency"].text == "atomic"
                else "another partition, written after",
            }
            for row in scheme["index_rows"]
        ],
    }


def grounds_of(grounds: At | None) -> list[dict[str, Any]]:
    """Each thing that a verdict or figures rest on: a mark, what it is, what was measured, and what to give next; none
    of a document that tells of none."""
    return [
        {
            "word": "enough" if ground["carries"].flag else "is not enough",
            "mood": "good" if ground["carries"].flag else "bad",
            "name": ground["name"].text,
            "title": ground["title"].text,
            "sentence": ground["sentence"].text,
            "next": ground["next"].text if ground["next"] else "",
        }
        for ground in (grounds or ())
    ]


# -- candidates --------------------------------------------------------------------------------------------------------


def candidates(document: At, table: At) -> Context:
    """The schemes that were ranked, the current one, and the parts of their scores."""
    if not table["recommended"]:
        return Missing("No scheme was ranked: give a data set and a log, or a design with its queries.")
    ranked = [("1", table["recommended"])] + [(str(a["rank"].value), a) for a in table["alternatives"]]
    if table["current"] and table["ranking_says"].text != "keep":
        ranked.append(("current", table["current"]))
    return ranking_of(
        ranked, "The schemes that were ranked, best first. Each is behind the first by the goal that is named."
    )


def ranking_of(ranked: list[tuple[str, At]], intro: str) -> Context:
    """Schemes by label in one table, with the parts of their scores; the first has the queries that all have."""
    first = ranked[0][1]
    names = [entry["name"].text for entry in first["classes"]]
    scored = [(label, scheme) for label, scheme in ranked if scheme["score"].number > 0]
    return {
        "intro": intro,
        "rows": [_candidate(label, scheme) for label, scheme in ranked],
        "classes": names,
        "bars": _bars(first, names, scored),
        "points": [
            {"label": label, "score": scheme["score"].figure("points"), "parts": _points(scheme, names)}
            for label, scheme in ranked
        ],
    }


def _candidate(label: str, scheme: At) -> dict[str, Any]:
    def term(name: str, form: str) -> Figure | None:
        node = term_of(scheme, name)
        return None if node is None else node.figure(form)

    return {
        "label": label,
        **keys_of(scheme),
        "score": scheme["score"].figure("points"),
        "requests": term("requests", "amount"),
        "entities": term("entities counted", "amount"),
        "hottest": term("hottest partition at peak", "amount"),
        "price": term("price", "amount"),
        "breaks": term("break factor", "breaks"),
        "feasible": scheme["feasible"].flag,
        "loses": lost(scheme["loses"].value) if scheme["loses"] else "",
    }


def _points(scheme: At, names: list[str]) -> list[Figure | None]:
    """What each class adds to the score."""
    nodes = {entry["name"].text: entry["score_points"] for entry in scheme["classes"]}
    return [nodes[name].figure("points") if name in nodes else None for name in names]


def _bars(best: At, names: list[str], ranked: list[tuple[str, At]]) -> Markup | None:
    """The same points as bars, where there are few enough to be told apart."""
    parts = {entry["name"].text: entry["score_points"] for entry in best["classes"]}
    shown = [name for name in names if parts[name].value is not None]
    if not ranked or not 1 < len(shown) <= PARTS_MOST:
        return None
    bars = []
    for label, scheme in ranked:
        points = {entry["name"].text: entry["score_points"].value for entry in scheme["classes"]}
        bars.append(Bar(label, tuple(points.get(name) or 0 for name in shown), scheme["score"].number))
    first, last = bars[0], bars[-1]
    alt = f"Scheme {first.label} scores {first.total:.1f} points"
    alt += f", scheme {last.label} {last.total:.1f}" if last is not first else ""
    return draw(StackedBars(alt=alt, parts=tuple(shown), bars=tuple(bars), unit="points"))
