"""What a page consists of: the sections of each document, in their order.

To add one: a function from the document to what its template shows (or ``Missing``), a line in ``SECTIONS``, and a
template of that name. The function reads through ``At`` and computes no new figure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pkadvisor.report.html import advice, findings, heat_sections, method, queries
from pkadvisor.report.html.place import At, Context

RESULT, STRESS, REVIEW = "pkadvisor result", "pkadvisor stress", "pkadvisor review"
COMPARISON, SCORE = "pkadvisor comparison", "pkadvisor score"
DOCUMENTS = (RESULT, STRESS, REVIEW, COMPARISON, SCORE)
"""What there can be a page of."""


@dataclass(frozen=True, slots=True)
class Section:
    """One section of one document.

    ``name`` is its id on the page and what ``--sections`` names. ``each_table``: once for every item of the document's
    ``tables``, and ``context(document, table)``; else once, and ``context(document, document)``. ``template`` lies in
    ``templates/report/``; it gets the context's names; None leaves the section out. ``after`` the tables,
    or before them.
    """

    document: str
    name: str
    heading: str
    template: str
    context: Callable[[At, At], Context | None]
    each_table: bool = True
    after: bool = True


SECTIONS: tuple[Section, ...] = (
    Section(RESULT, "verdict", "Verdict", "advice/verdict.html", advice.verdict),
    Section(RESULT, "scheme", "The keys", "advice/scheme.html", method.scheme),
    Section(RESULT, "candidates", "Candidates", "advice/candidates.html", advice.candidates),
    Section(RESULT, "queries", "Queries and writes", "advice/queries.html", queries.queries),
    Section(RESULT, "heatmap", "Where the load falls", "advice/heatmap.html", heat_sections.heatmap),
    Section(RESULT, "breaks", "When it breaks", "advice/breaks.html", findings.breaks),
    Section(RESULT, "findings", "Findings", "advice/findings.html", findings.findings),
    Section(RESULT, "method", "Method", "advice/method.html", method.method),
    Section(RESULT, "together", "Kinds together", "advice/together.html", method.together, each_table=False),
    Section(RESULT, "account", "The log", "advice/account.html", method.account, each_table=False),
    Section(RESULT, "limits", "Limits and prices", "advice/limits.html", method.limits, each_table=False),
    Section(RESULT, "reproduce", "Reproduce", "advice/reproduce.html", method.reproduce, each_table=False),
)


def names_of(document: str) -> tuple[str, ...]:
    """The names of a document's sections, in their order."""
    return tuple(dict.fromkeys(section.name for section in SECTIONS if section.document == document))
