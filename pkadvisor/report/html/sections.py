"""What a page consists of: the sections of each document, in their order.

To add one: a function that says whether there is something to show (or ``Missing``) and finds what the template must
not, a line in ``SECTIONS``, and a template of that name, which reads the document itself. No new figure is computed.
"""

from __future__ import annotations

from collections.abc import Callable

from pkadvisor.report.documents.stored import COMPARISON, RESULT, REVIEW, SCORE, STRESS
from pkadvisor.report.html import (
    advice,
    comparison_sections,
    findings,
    outlook,
    review_sections,
    score_sections,
    stress_pictures,
    stress_proof,
    stress_sections,
)
from pkadvisor.report.html.place import Context
from pkadvisor.values import dataclass

BEFORE, TABLES, AFTER = "before", "tables", "after"
FOLDERS = {RESULT: "advice", STRESS: "stress", REVIEW: "review", COMPARISON: "comparison", SCORE: "score"}
"""Where the templates of a document lie."""


@dataclass(frozen=True, slots=True)
class PageSection:
    """One section of one document.

    ``name`` is its id on the page and what ``--sections`` names. ``where``: for every item of its ``tables``,
    and ``context(document, table, places)``; or before or after them, and ``context(document, places)``. The template
    lies in ``templates/report/``, under the name of the section or, if it has another, ``drawn_by``; it gets
    ``document``, ``table``, ``figure``, ``known`` and ``item`` of ``Places``, and the names of the context; None leaves
    the section out. ``evidence``: folded, under a heading of that name.
    """

    document: str
    name: str
    heading: str
    context: Callable[..., Context | None]
    where: str = TABLES
    evidence: bool = False
    drawn_by: str = ""

    @property
    def template(self) -> str:
        """The path of its template."""
        return self.drawn_by or f"{FOLDERS[self.document]}/{self.name}.html"


SECTIONS: tuple[PageSection, ...] = (
    PageSection(RESULT, "overview", "Verdicts", advice.overview, BEFORE),
    PageSection(RESULT, "verdict", "Verdict", advice.verdict),
    PageSection(RESULT, "access", "Access patterns", advice.access),
    PageSection(RESULT, "heatmap", "Where the load falls", outlook.heatmap),
    PageSection(RESULT, "scheme", "The keys", advice.scheme, evidence=True),
    PageSection(RESULT, "candidates", "Candidates", advice.candidates, evidence=True),
    PageSection(RESULT, "queries", "Queries and writes", advice.queries, evidence=True),
    PageSection(RESULT, "skew", "How the load is spread", outlook.skew, evidence=True),
    PageSection(RESULT, "forecast", "Growth", outlook.forecast, evidence=True),
    PageSection(RESULT, "breaks", "When it breaks", findings.breaks, evidence=True),
    PageSection(RESULT, "sensitivity", "What changes the answer", outlook.sensitivity, evidence=True),
    PageSection(RESULT, "cost", "Cost", outlook.cost, evidence=True),
    PageSection(RESULT, "findings", "Findings", findings.findings, evidence=True),
    PageSection(RESULT, "method", "Method", advice.method, evidence=True),
    PageSection(RESULT, "together", "Kinds together", advice.together, AFTER, evidence=True),
    PageSection(RESULT, "sum", "All tables together", advice.all_tables, AFTER, evidence=True),
    PageSection(RESULT, "account", "The log", advice.account, AFTER, evidence=True),
    PageSection(RESULT, "limits", "Limits and prices", advice.limits, AFTER, evidence=True),
    PageSection(RESULT, "reproduce", "Reproduce", advice.reproduce, AFTER, evidence=True),
    PageSection(STRESS, "verdict", "Verdict", stress_sections.verdict),
    PageSection(STRESS, "designs", "Designs side by side", stress_sections.designs),
    PageSection(STRESS, "goals", "Goals", stress_sections.goals),
    PageSection(STRESS, "queries", "Queries and writes", stress_sections.queries),
    PageSection(STRESS, "stress", "Over time", stress_pictures.over_time, drawn_by="stress/over_time.html"),
    PageSection(STRESS, "events", "Events", stress_pictures.events),
    PageSection(STRESS, "heatmap", "Where the load falls", stress_pictures.heat, drawn_by="stress/heat.html"),
    PageSection(STRESS, "breaks", "When it breaks", stress_proof.breaks),
    PageSection(STRESS, "prediction", "Predicted and measured", stress_proof.prediction),
    PageSection(STRESS, "endpoint", "On a real endpoint", stress_proof.endpoint),
    PageSection(STRESS, "method", "Method", stress_proof.method, AFTER),
    PageSection(STRESS, "reproduce", "Reproduce", stress_proof.reproduce, AFTER),
    PageSection(REVIEW, "verdict", "Verdict", review_sections.verdict, BEFORE),
    PageSection(REVIEW, "findings", "Findings", review_sections.findings, BEFORE),
    PageSection(REVIEW, "changes", "What changed", review_sections.changes, BEFORE),
    PageSection(REVIEW, "rules", "The rules", review_sections.rules, AFTER),
    PageSection(REVIEW, "method", "Method", review_sections.method, AFTER),
    PageSection(REVIEW, "reproduce", "Reproduce", review_sections.reproduce, AFTER),
    PageSection(COMPARISON, "verdict", "Verdict", comparison_sections.verdict),
    PageSection(COMPARISON, "measures", "Measures", comparison_sections.measures),
    PageSection(COMPARISON, "queries", "Queries and writes", comparison_sections.queries),
    PageSection(COMPARISON, "method", "Method", comparison_sections.method, AFTER),
    PageSection(COMPARISON, "reproduce", "Reproduce", comparison_sections.reproduce, AFTER),
    PageSection(SCORE, "verdict", "Verdict", score_sections.verdict),
    PageSection(SCORE, "scores", "Scores", score_sections.scores, drawn_by="advice/candidates.html"),
    PageSection(SCORE, "queries", "Queries and writes", score_sections.cards, drawn_by="score/cards.html"),
    PageSection(SCORE, "breaks", "When it breaks", score_sections.breaks, drawn_by="advice/breaks.html"),
    PageSection(SCORE, "findings", "Findings", score_sections.findings, drawn_by="advice/findings.html"),
    PageSection(SCORE, "sum", "All tables together", advice.all_tables, AFTER, drawn_by="advice/sum.html"),
    PageSection(SCORE, "reproduce", "Reproduce", score_sections.reproduce, AFTER, drawn_by="advice/reproduce.html"),
)


def names_of(document: str) -> tuple[str, ...]:
    """The names of a document's sections, in their order."""
    return tuple(dict.fromkeys(section.name for section in SECTIONS if section.document == document))
