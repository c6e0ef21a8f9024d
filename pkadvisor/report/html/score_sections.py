"""Sections of a score card: what given keys are worth, without a search."""

from __future__ import annotations

from typing import Any

from pkadvisor.documents.analysis_scheme import AnalysisFullScheme
from pkadvisor.documents.score import ScoreDocument, ScoreScheme, ScoreTable
from pkadvisor.report.html.advice import grounds_of, keys_of, ranking_of, rows_of
from pkadvisor.report.html.findings import breaks_of, findings_of
from pkadvisor.report.html.place import Context, Missing, Places
from pkadvisor.report.summary.figures import BREAKS, ROWS, figures_of
from pkadvisor.report.summary.summary import partition_target, score_sentences, score_verdict

NONE = Missing("No keys were scored for this table.")


def _schemes(table: ScoreTable) -> list[tuple[str, AnalysisFullScheme]]:
    return [(card.label, card.scheme) for card in table.schemes]


def verdict(document: ScoreDocument, table: ScoreTable, places: Places) -> Context:
    """Each scheme as the terminal has it first: the verdict, the keys, the figures and the sentences."""
    if not len(table.schemes):
        return NONE
    return {"cards": [_first(table, card) for card in table.schemes], "rows": ROWS, "breaks": BREAKS}


def _first(table: ScoreTable, card: ScoreScheme) -> dict[str, Any]:
    scheme = card.scheme
    word, mood = score_verdict(scheme)
    target = partition_target(scheme)
    return {
        "word": word,
        "mood": mood,
        "label": card.label,
        "keys": keys_of(scheme),
        "figures": None if target is None else figures_of(scheme, target),
        "sentences": score_sentences(table, card),
    }


def scores(document: ScoreDocument, table: ScoreTable, places: Places) -> Context:
    """Every scheme that was scored, in one table."""
    schemes = _schemes(table)
    return ranking_of(schemes, "The keys that were scored, on the same data and workload.") if schemes else NONE


def cards(document: ScoreDocument, table: ScoreTable, places: Places) -> Context:
    """Each scheme with its keys, what its queries cost, and the exact requests."""
    schemes = _schemes(table)
    if not schemes:
        return NONE
    drawn = [
        {"label": label, "scheme": scheme, "keys": keys_of(scheme), "rows": rows_of(scheme)}
        for label, scheme in schemes
    ]
    grounds = grounds_of(table.grounds)
    return {"cards": drawn, "asked": (), "compared": False, "worse": 0, "grounds": grounds}


def breaks(document: ScoreDocument, table: ScoreTable, places: Places) -> Context:
    """Each limit with the growth that meets it."""
    schemes = _schemes(table)
    return breaks_of(schemes) if schemes else NONE


def findings(document: ScoreDocument, table: ScoreTable, places: Places) -> Context:
    """What is broken or noteworthy."""
    return findings_of(_schemes(table))


def reproduce(document: ScoreDocument, places: Places) -> Context:
    """What was scored, and by which version."""
    return {"settings": None, "files": (), "target": ""}
