"""The section of a review on what changed: keys, numbers and queries of each design against the older one."""

from __future__ import annotations

from typing import Any

from pkadvisor.documents.review import ReviewDiff, ReviewDocument, ReviewKey, ReviewMetric, ReviewQuery
from pkadvisor.report import review_words
from pkadvisor.report.html.place import Context, Missing, Places
from pkadvisor.report.html.review_sections import form_of
from pkadvisor.report.html.tables import Cell, Table, code, figure, mark, table, together, words

MOODS = {"worse": "bad", "better": "good"}
ORDER = {"worse": 0, "unknown": 1, "better": 2, "same": 3}


def changes(document: ReviewDocument, places: Places) -> Context:
    """Every design that was compared with another, the ones with regressions first."""
    compared = [(design.design, design.diff) for design in document.designs if design.diff]
    if not compared:
        return Missing("Nothing to compare with: add --against OLD.yaml or --against-ref main.")
    parts = [_changed(name, diff, places) for name, diff in compared]
    return {
        "parts": sorted(parts, key=lambda part: not part["worse"]),
        "worse": sum(part["worse"] for part in parts),
        "sentence": review_words.compared(document),
    }


def _changed(name: str, diff: ReviewDiff, places: Places) -> dict[str, Any]:
    moved = review_words.moved_queries(diff)
    metrics, load = _by_direction(diff.metrics), _by_direction(diff.load_metrics)
    directions = [each.direction for each in (*metrics, *load)] + [query.direction for query in moved]
    return {
        "name": name,
        "against": diff.against,
        "same_load": diff.same_load,
        "notes": review_words.diff_notes(diff),
        "worse": directions.count("worse"),
        "keys": [_key(key) for key in diff.keys if key.class_ != "none"],
        "metrics": _metrics(f"Numbers before and after: {name}", metrics, places),
        "load": _metrics(f"The old keys under the old and the new load: {name}", load, places),
        "queries": _queries(name, moved),
        "quiet": not (metrics or load or moved or any(key.class_ != "none" for key in diff.keys)),
    }


def _by_direction(metrics: list[ReviewMetric]) -> list[ReviewMetric]:
    """What got worse first; what stayed the same is left out."""
    nodes = [metric for metric in metrics if metric.direction != "same"]
    return sorted(nodes, key=lambda metric: ORDER[metric.direction])


def _metrics(caption: str, metrics: list[ReviewMetric], places: Places) -> Table:
    rows = [
        (
            words(metric.name.replace("_", " ")),
            words(review_words.owner(metric)),
            *(figure(places.figure(metric, side, form_of(metric.unit)[0])) for side in ("before", "after")),
            words(metric.unit),
            words(review_words.metric_change(metric)),
            _direction(metric),
        )
        for metric in metrics
    ]
    heads = ("Number", "Table", "Before", "After", "Unit", "Change", "Verdict")
    return table(caption, heads, rows, numeric=(2, 3, 5), sorts=True)


def _direction(metric: ReviewMetric) -> Cell:
    return mark(review_words.metric_verdict(metric), MOODS.get(metric.direction, "warn"))


def _queries(name: str, moved: list[ReviewQuery]) -> Table:
    rows = [
        (
            words(query.name),
            words(review_words.owner(query)),
            words(review_words.read(query, "before")),
            words(review_words.read(query, "after")),
            mark(query.direction, MOODS.get(query.direction, "warn")),
        )
        for query in sorted(moved, key=lambda query: ORDER[query.direction])
    ]
    return table(f"Queries that are served differently: {name}", ("Query", "Table", "Before", "After", "Verdict"), rows)


def _key(key: ReviewKey) -> dict[str, Any]:
    """What a change of keys asks of entities that are stored."""
    pairs = review_words.key_pairs(key)
    rows = [(words(which), code(old or "''"), code(new or "''")) for which, old, new in pairs]
    rows += [(words(which), together(code(row)), words("")) for which, row in review_words.index_rows(key)]
    return {
        "of": review_words.owner(key),
        "lines": review_words.key_change(key),
        "keys": table(f"Keys of {review_words.owner(key)}", ("Key", "Before", "After"), rows),
    }
