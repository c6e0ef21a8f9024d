"""Rows of other kinds in the partition that a request asks: a bound on the RowKey leaves out what begins otherwise.

Numbers and times begin with digits, and the label of an index row mostly with a letter: the first rows of a partition
are then the first rows of its entities.
"""

from __future__ import annotations

from collections.abc import Iterable

from pkadvisor.design.keys.key_terms import BELOW_MISSING, KeyTerm, KeyText, Known
from pkadvisor.design.keys.transforms import MISSING, Context, Part
from pkadvisor.design.keys.transforms.languages import Language


def first_letters(language: Language) -> frozenset[str]:
    """The characters with which the texts of a language may begin, but for that of a missing value."""
    letters = set[str]()
    for alternative in language:
        if [run.alphabet for run in alternative] == [frozenset(MISSING[0]), frozenset(MISSING[1])]:
            continue
        for run in alternative:
            letters |= run.alphabet or {"\0", "\U0010ffff"}
            if run.least:
                break
    return frozenset(letters)


def leaving_out(
    terms: list[KeyTerm], part: Part, labels: Iterable[str], context: Context, known: Known
) -> tuple[list[KeyTerm], frozenset[str]]:
    """The comparisons of a request for rows whose RowKey begins with a part, bounded so as to leave out rows that begin
    with one of the labels; and the labels of those that are left out."""
    language = part.texts(context)
    if not all(map(known.always_there, part.properties)) or not all(any(r.least for r in runs) for runs in language):
        return terms, frozenset()
    letters = first_letters(language)
    above = sorted(label for label in labels if label and label[0] > max(letters))
    below = sorted(label for label in labels if label and label[0] < min(letters))
    numbers_end = KeyTerm("RowKey", "lt", KeyText((BELOW_MISSING,)))
    if above and above[0] < BELOW_MISSING:
        terms = [term for term in terms if term != numbers_end]
    operators = {term.operator for term in terms if term.name == "RowKey"}
    if below and not operators & {"ge", "gt"}:
        terms = [*terms, KeyTerm("RowKey", "ge", KeyText((below[-1],)).successor())]
    if above and not operators & {"lt", "le"}:
        terms = [*terms, KeyTerm("RowKey", "lt", KeyText((above[0],)))]
    return terms, frozenset((*above, *below))
