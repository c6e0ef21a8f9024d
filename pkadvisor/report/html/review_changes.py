"""The section of a review on what changed: keys, numbers and queries of each design against the older one."""

from __future__ import annotations

from typing import Any

from pkadvisor.documents.review import ReviewDiff, ReviewDocument, ReviewMetric
from pkadvisor.report import review_words
from pkadvisor.report.html.place import Context, Missing, Places
from pkadvisor.report.html.review_sections import form_of

MOODS = {"worse": "bad", "better": "good"}
ORDER = {"worse": 0, "unknown": 1, "better": 2, "same": 3}


def changes(document: ReviewDocument, places: Places) -> Context:
    """Every design that was compared with another, the ones with regressions first."""
    compared = [(design.design, design.diff) for design in document.designs if design.diff]
    if not compared:
        return Missing("Nothing to compare with: add --against OLD.yaml or --against-ref main.")
    parts = [_changed(name, diff) for name, diff in compared]
    return {
        "parts": sorted(parts, key=lambda part: not part["worse"]),
        "worse": sum(part["worse"] for part in parts),
        "sentence": review_words.compared(document),
        "said": review_words,
        "form_of": form_of,
        "moods": MOODS,
    }


def _changed(name: str, diff: ReviewDiff) -> dict[str, Any]:
    moved = review_words.moved_queries(diff)
    metrics, load = _by_direction(diff.metrics), _by_direction(diff.load_metrics)
    directions = [each.direction for each in (*metrics, *load)] + [query.direction for query in moved]
    return {
        "name": name,
        "diff": diff,
        "notes": review_words.diff_notes(diff),
        "worse": directions.count("worse"),
        "metrics": metrics,
        "load": load,
        "queries": sorted(moved, key=lambda query: ORDER[query.direction]),
        "quiet": not (metrics or load or moved or any(key.class_ != "none" for key in diff.keys)),
    }


def _by_direction(metrics: list[ReviewMetric]) -> list[ReviewMetric]:
    """What got worse first; what stayed the same is left out."""
    nodes = [metric for metric in metrics if metric.direction != "same"]
    return sorted(nodes, key=lambda metric: ORDER[metric.direction])
