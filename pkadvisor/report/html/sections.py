"""What a page consists of: the sections of each document, in their order.

To add one: a function from the document to what its template shows (or ``Missing``), a line in ``SECTIONS``, and a
template of that name. The function reads through ``At`` and computes no new figure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pkadvisor.report.html import advice
from pkadvisor.report.html.place import At, Context

RESULT, STRESS, REVIEW = "pkadvisor result", "pkadvisor stress", "pkadvisor review"
COMPARISON, SCORE = "pkadvisor comparison", "pkadvisor score"


@dataclass(frozen=True, slots=True)
class Section:
    """One section of one document.

    ``name`` is its id on the page and what ``--sections`` names. ``each_table``: once for every item of the document's
    ``tables``, and ``context(document, table)``; else once, and ``context(document, document)``. ``template`` lies in
    ``templates/report/``; it gets the context's names. ``after`` the tables, or before them.
    """

    document: str
    name: str
    heading: str
    template: str
    context: Callable[[At, At], Context]
    each_table: bool = True
    after: bool = True


SECTIONS: tuple[Section, ...] = (
    Section(RESULT, "verdict", "Verdict", "advice/verdict.html", advice.verdict),
    Section(RESULT, "candidates", "Candidates", "advice/candidates.html", advice.candidates),
)


def names_of(document: str) -> tuple[str, ...]:
    """The names of a document's sections, in their order."""
    return tuple(dict.fromkeys(section.name for section in SECTIONS if section.document == document))
