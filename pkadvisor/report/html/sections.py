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


@dataclass(frozen=True, slots=True)
class PageSection:
    """One section of one document.

    ``name`` is its id on the page and what ``--sections`` names. ``each_table``: once for every item of the document's
    ``tables``, and ``context(document, table, places)``; else once, and ``context(document, places)``. ``template``
    lies in ``templates/report/``; it gets ``document``, ``table``, ``figure``, ``known`` and
    ``item`` of ``Places``, and the names of the context; None leaves the section out. ``after`` the tables,
    or before them. ``evidence``: folded, under a heading of that name.
    """

    document: str
    name: str
    heading: str
    template: str
    context: Callable[..., Context | None]
    each_table: bool = True
    after: bool = True
    evidence: bool = False


SECTIONS: tuple[PageSection, ...] = (
    PageSection(RESULT, "overview", "Verdicts", "advice/overview.html", advice.overview, each_table=False, after=False),
    PageSection(RESULT, "verdict", "Verdict", "advice/verdict.html", advice.verdict),
    PageSection(RESULT, "access", "Access patterns", "advice/access.html", advice.access),
    PageSection(RESULT, "heatmap", "Where the load falls", "advice/heatmap.html", outlook.heatmap),
    *(
        PageSection(RESULT, name, heading, f"advice/{name}.html", context, each_table, evidence=True)
        for name, heading, context, each_table in (
            ("scheme", "The keys", advice.scheme, True),
            ("candidates", "Candidates", advice.candidates, True),
            ("queries", "Queries and writes", advice.queries, True),
            ("skew", "How the load is spread", outlook.skew, True),
            ("forecast", "Growth", outlook.forecast, True),
            ("breaks", "When it breaks", findings.breaks, True),
            ("sensitivity", "What changes the answer", outlook.sensitivity, True),
            ("cost", "Cost", outlook.cost, True),
            ("findings", "Findings", findings.findings, True),
            ("method", "Method", advice.method, True),
            ("together", "Kinds together", advice.together, False),
            ("sum", "All tables together", advice.all_tables, False),
            ("account", "The log", advice.account, False),
            ("limits", "Limits and prices", advice.limits, False),
            ("reproduce", "Reproduce", advice.reproduce, False),
        )
    ),
    PageSection(STRESS, "verdict", "Verdict", "stress/verdict.html", stress_sections.verdict),
    PageSection(STRESS, "designs", "Designs side by side", "stress/designs.html", stress_sections.designs),
    PageSection(STRESS, "goals", "Goals", "stress/goals.html", stress_sections.goals),
    PageSection(STRESS, "queries", "Queries and writes", "stress/queries.html", stress_sections.queries),
    PageSection(STRESS, "stress", "Over time", "stress/over_time.html", stress_pictures.over_time),
    PageSection(STRESS, "events", "Events", "stress/events.html", stress_pictures.events),
    PageSection(STRESS, "heatmap", "Where the load falls", "stress/heat.html", stress_pictures.heat),
    PageSection(STRESS, "breaks", "When it breaks", "stress/breaks.html", stress_proof.breaks),
    PageSection(STRESS, "prediction", "Predicted and measured", "stress/prediction.html", stress_proof.prediction),
    PageSection(STRESS, "endpoint", "On a real endpoint", "stress/endpoint.html", stress_proof.endpoint),
    PageSection(STRESS, "method", "Method", "stress/method.html", stress_proof.method, each_table=False),
    PageSection(STRESS, "reproduce", "Reproduce", "stress/reproduce.html", stress_proof.reproduce, each_table=False),
    PageSection(
        REVIEW, "verdict", "Verdict", "review/verdict.html", review_sections.verdict, each_table=False, after=False
    ),
    PageSection(
        REVIEW, "findings", "Findings", "review/findings.html", review_sections.findings, each_table=False, after=False
    ),
    PageSection(
        REVIEW, "changes", "What changed", "review/changes.html", review_sections.changes, each_table=False, after=False
    ),
    PageSection(REVIEW, "rules", "The rules", "review/rules.html", review_sections.rules, each_table=False),
    PageSection(REVIEW, "method", "Method", "review/method.html", review_sections.method, each_table=False),
    PageSection(REVIEW, "reproduce", "Reproduce", "review/reproduce.html", review_sections.reproduce, each_table=False),
    PageSection(COMPARISON, "verdict", "Verdict", "comparison/verdict.html", comparison_sections.verdict),
    PageSection(COMPARISON, "measures", "Measures", "comparison/measures.html", comparison_sections.measures),
    PageSection(COMPARISON, "queries", "Queries and writes", "comparison/queries.html", comparison_sections.queries),
    PageSection(COMPARISON, "method", "Method", "comparison/method.html", comparison_sections.method, each_table=False),
    PageSection(
        COMPARISON,
        "reproduce",
        "Reproduce",
        "comparison/reproduce.html",
        comparison_sections.reproduce,
        each_table=False,
    ),
    PageSection(SCORE, "verdict", "Verdict", "score/verdict.html", score_sections.verdict),
    PageSection(SCORE, "scores", "Scores", "advice/candidates.html", score_sections.scores),
    PageSection(SCORE, "queries", "Queries and writes", "score/cards.html", score_sections.cards),
    PageSection(SCORE, "breaks", "When it breaks", "advice/breaks.html", score_sections.breaks),
    PageSection(SCORE, "findings", "Findings", "advice/findings.html", score_sections.findings),
    PageSection(SCORE, "sum", "All tables together", "advice/sum.html", advice.all_tables, each_table=False),
    PageSection(SCORE, "reproduce", "Reproduce", "advice/reproduce.html", score_sections.reproduce, each_table=False),
)


def names_of(document: str) -> tuple[str, ...]:
    """The names of a document's sections, in their order."""
    return tuple(dict.fromkeys(section.name for section in SECTIONS if section.document == document))
