"""Rows of other kinds where a request looks for rows of one: a bound on a key leaves out what begins otherwise.

Numbers and times begin with digits, and the label of an index row mostly with a letter: the first rows of a partition,
or of the table, are then the first rows of its entities.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pkadvisor.design.keys.key_terms import BELOW_MISSING, KeyTerm, KeyText, Known
from pkadvisor.design.keys.scheme import Key, leading_text, variable
from pkadvisor.design.keys.transforms import MISSING, Context, Part
from pkadvisor.design.keys.transforms.languages import Language
from pkadvisor.design.plan.access_plan import Access


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
    terms: list[KeyTerm], name: str, part: Part, labels: Iterable[str], context: Context, known: Known
) -> tuple[list[KeyTerm], frozenset[str]]:
    """The comparisons of a request for rows whose key of that name begins with a part, bounded so as to leave out rows
    that begin with one of the labels; and the labels of those that are left out."""
    language = part.texts(context)
    if not all(map(known.always_there, part.properties)) or not all(any(r.least for r in runs) for runs in language):
        return terms, frozenset()
    letters = first_letters(language)
    above = sorted(label for label in labels if label and label[0] > max(letters))
    below = sorted(label for label in labels if label and label[0] < min(letters))
    numbers_end = KeyTerm(name, "lt", KeyText((BELOW_MISSING,)))
    if above and above[0] < BELOW_MISSING:
        terms = [term for term in terms if term != numbers_end]
    operators = {term.operator for term in terms if term.name == name}
    if below and not operators & {"ge", "gt"}:
        terms = [*terms, KeyTerm(name, "ge", KeyText((below[-1],)).successor())]
    if above and not operators & {"lt", "le"}:
        terms = [*terms, KeyTerm(name, "lt", KeyText((above[0],)))]
    return terms, frozenset((*above, *below))


def leaves_out(access: Access, left_out: Collection[str], key: Key, other: Key) -> bool:
    """Whether the bounds of a request for rows under one key, which leave out these beginnings, leave out the rows
    under another key."""
    if access is Access.TABLE_SCAN:
        return leading_text(other.partition) in left_out
    return other.partition == key.partition and leading_text(other.row) in left_out


def takes_in(access: Access, key: Key, other: Key, context: Context, known: Known) -> bool:
    """Whether reads of whole partitions under one key read rows of another kind as well: these lie in the same
    partitions, several in each, and no beginning of the RowKeys sets them apart."""
    if access is not Access.PARTITION_SCAN or key.partition != other.partition or not variable(other.row):
        return False
    label, theirs = leading_text(key.row), leading_text(other.row)
    if label or not key.row:
        return theirs.startswith(label)
    return theirs not in leaving_out([], "RowKey", key.row[0], [theirs], context, known)[1]
