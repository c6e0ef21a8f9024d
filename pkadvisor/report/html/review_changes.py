"""The section of a review on what changed: keys, numbers and queries of each design against the older one."""

from __future__ import annotations

from typing import Any

from pkadvisor.report import review_words
from pkadvisor.report.html.place import At, Context, Missing
from pkadvisor.report.html.review_sections import form_of, told
from pkadvisor.report.html.tables import Cell, Table, code, figure, mark, table, together, words

MOODS = {"worse": "bad", "better": "good"}
ORDER = {"worse": 0, "unknown": 1, "better": 2, "same": 3}


def changes(document: At, _: At) -> Context:
    """Every design that was compared with another, the ones with regressions first."""
    compared = [design for design in document["designs"] if design["diff"]]
    if not compared:
        return Missing("Nothing to compare with: add --against OLD.yaml or --against-ref main.")
    parts = [_changed(design) for design in compared]
    return {
        "parts": sorted(parts, key=lambda part: not part["worse"]),
        "worse": sum(len(part["worse"]) for part in parts),
        "sentence": told(review_words.compared, document),
    }


def _changed(design: At) -> dict[str, Any]:
    diff = design["diff"]
    moved = [query for query in diff["queries"] if query in _moved(diff)]
    metrics, load = _by_direction(diff["metrics"]), _by_direction(diff.maybe("load_metrics"))
    name = design["design"].text
    return {
        "name": name,
        "against": diff["against"].text,
        "same_load": diff["same_load"].flag,
        "notes": told(review_words.diff_notes, diff),
        "worse": [each for each in (*metrics, *load, *moved) if each["direction"].text == "worse"],
        "keys": [_key(key) for key in diff["keys"] if key["class"].text != "none"],
        "metrics": _metrics(f"Numbers before and after: {name}", metrics),
        "load": _metrics(f"The old keys under the old and the new load: {name}", load),
        "queries": _queries(name, moved),
        "quiet": not (metrics or load or moved or any(key["class"].text != "none" for key in diff["keys"])),
    }


def _moved(diff: At) -> list[At]:
    """Queries that find their entities in another way than before."""
    moved = told(review_words.moved_queries, diff)
    return [query for query in diff["queries"] if any(query.value is other for other in moved)]


def _by_direction(metrics: At | None) -> list[At]:
    """What got worse first; what stayed the same is left out."""
    nodes = [metric for metric in metrics or () if metric["direction"].text != "same"]
    return sorted(nodes, key=lambda metric: ORDER.get(metric["direction"].text, 1))


def _metrics(caption: str, metrics: list[At]) -> Table:
    rows = [
        (
            words(str(metric["name"].text).replace("_", " ")),
            words(told(review_words.owner, metric)),
            *(figure(metric[side].figure(form_of(metric["unit"].text)[0])) for side in ("before", "after")),
            words(metric["unit"].text),
            words(told(review_words.metric_change, metric)),
            _direction(metric),
        )
        for metric in metrics
    ]
    heads = ("Number", "Table", "Before", "After", "Unit", "Change", "Verdict")
    return table(caption, heads, rows, numeric=(2, 3, 5), sorts=True)


def _direction(metric: At) -> Cell:
    return mark(told(review_words.metric_verdict, metric), MOODS.get(metric["direction"].text, "warn"))


def _queries(name: str, moved: list[At]) -> Table:
    rows = [
        (
            words(query["name"].text),
            words(told(review_words.owner, query)),
            words(told(lambda value: review_words.read(value, "before"), query)),
            words(told(lambda value: review_words.read(value, "after"), query)),
            mark(query["direction"].text, MOODS.get(query["direction"].text, "warn")),
        )
        for query in sorted(moved, key=lambda query: ORDER.get(query["direction"].text, 1))
    ]
    return table(f"Queries that are served differently: {name}", ("Query", "Table", "Before", "After", "Verdict"), rows)


def _key(key: At) -> dict[str, Any]:
    """What a change of keys asks of entities that are stored."""
    pairs = told(review_words.key_pairs, key)
    rows = [(words(which), code(old or "''"), code(new or "''")) for which, old, new in pairs]
    rows += [(words(which), together(code(row)), words("")) for which, row in told(review_words.index_rows, key)]
    return {
        "of": told(review_words.owner, key),
        "lines": told(review_words.key_change, key),
        "keys": table(f"Keys of {told(review_words.owner, key)}", ("Key", "Before", "After"), rows),
    }
