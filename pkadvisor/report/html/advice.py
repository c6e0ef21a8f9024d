"""What sections read of schemes: keys, terms, grounds; and the section of the schemes that were ranked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from pkadvisor.documents.analysis import AnalysisDocument
from pkadvisor.documents.analysis_inputs import AnalysisGround
from pkadvisor.documents.analysis_scheme import AnalysisScheme, AnalysisTerm
from pkadvisor.documents.analysis_table import AnalysisTable
from pkadvisor.report.charts.stacked_bar import Bar, StackedBars, draw
from pkadvisor.report.documents.stored import quoted
from pkadvisor.report.html.place import Context, Missing, Places
from pkadvisor.report.summary.figures import lost

PARTS_MOST = 10


def term_of(scheme: AnalysisScheme, name: str) -> AnalysisTerm | None:
    """A term of a scheme's cost; None where it has no such term."""
    return next((term for term in scheme.terms if term.name == name), None)


def keys_of(scheme: AnalysisScheme) -> dict[str, Any]:
    """The templates of a scheme, index rows below."""
    return {
        "partition_key": quoted(scheme.partition_key),
        "row_key": quoted(scheme.row_key),
        "index_rows": [
            {
                "partition_key": quoted(row.partition_key),
                "row_key": quoted(row.row_key),
                "copy": "full copy" if row.copy == "full" else "pointer",
                "when": "same partition, same group transaction"
                if row.consistency == "atomic"
                else "another partition, written after",
            }
            for row in scheme.index_rows
        ],
    }


def grounds_of(grounds: Sequence[AnalysisGround]) -> list[dict[str, Any]]:
    """Each thing that a verdict or figures rest on: a mark, what it is, what was measured, and what to give next; none
    of a document that tells of none."""
    return [
        {
            "word": "enough" if ground.carries else "is not enough",
            "mood": "good" if ground.carries else "bad",
            "name": ground.name,
            "title": ground.title,
            "sentence": ground.sentence,
            "next": ground.next or "",
        }
        for ground in grounds
    ]


# -- candidates --------------------------------------------------------------------------------------------------------


def candidates(document: AnalysisDocument, table: AnalysisTable, places: Places) -> Context:
    """The schemes that were ranked, the current one, and the parts of their scores."""
    if not table.recommended:
        return Missing("No scheme was ranked: give a data set and a log, or a design with its queries.")
    ranked: list[tuple[str, AnalysisScheme]] = [("1", table.recommended)]
    ranked += [(str(a.rank), a) for a in table.alternatives]
    if table.current and table.ranking_says != "keep":
        ranked.append(("current", table.current))
    return ranking_of(
        ranked, "The schemes that were ranked, best first. Each is behind the first by the goal that is named."
    )


def ranking_of(ranked: Sequence[tuple[str, AnalysisScheme]], intro: str) -> Context:
    """Schemes by label in one table, with the parts of their scores; the first has the queries that all have."""
    first = ranked[0][1]
    names = [entry.name for entry in first.classes]
    scored = [(label, scheme) for label, scheme in ranked if scheme.score > 0]
    return {
        "intro": intro,
        "ranked": [
            (label, scheme, keys_of(scheme), {entry.name: entry for entry in scheme.classes})
            for label, scheme in ranked
        ],
        "classes": names,
        "bars": _bars(first, names, scored),
        "term_of": term_of,
        "lost": lost,
    }


def _bars(best: AnalysisScheme, names: list[str], ranked: Sequence[tuple[str, AnalysisScheme]]) -> Markup | None:
    """The same points as bars, where there are few enough to be told apart."""
    parts = {entry.name: entry.score_points for entry in best.classes}
    shown = [name for name in names if parts[name] is not None]
    if not ranked or not 1 < len(shown) <= PARTS_MOST:
        return None
    bars = []
    for label, scheme in ranked:
        points = {entry.name: entry.score_points for entry in scheme.classes}
        bars.append(Bar(label, tuple(points.get(name) or 0 for name in shown), scheme.score))
    first, last = bars[0], bars[-1]
    alt = f"Scheme {first.label} scores {first.total:.1f} points"
    alt += f", scheme {last.label} {last.total:.1f}" if last is not first else ""
    return draw(StackedBars(alt=alt, parts=tuple(shown), bars=tuple(bars), unit="points"))
