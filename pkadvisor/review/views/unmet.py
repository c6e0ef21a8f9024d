"""Conditions on PartitionKey and RowKey that no key of the design meets: by constant text, case, letters or width.

What the templates allow is asked of ``languages``, which hold every text of a key and may hold more: a condition that
is told here is certain not to hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from string import ascii_uppercase

from pkadvisor.design.keys.key_collisions import KeyedRows, usual_values
from pkadvisor.design.keys.scheme import Key
from pkadvisor.design.keys.transforms import Field, Part
from pkadvisor.design.keys.transforms.languages import ANY, Language, Run, exactly, may_meet
from pkadvisor.observe.workload import QueryClass
from pkadvisor.review.views.as_sent import names_keys
from pkadvisor.review.views.key_loads import kinds_of
from pkadvisor.review.views.reads import once
from pkadvisor.review.views.views import TableView
from pkadvisor.table.edm import KEYS, EdmType
from pkadvisor.table.odata import Comparison, Filter, Operator, Or, Parameter, conjuncts, format_filter
from pkadvisor.values import dataclass

BRANCHES_MAX = 64
"""Ways through the ``or``s of one filter that are looked at; of more only what every way has."""


@dataclass(frozen=True, slots=True)
class Unmet:
    """Conditions that hold for no key, and the templates of the keys that they are compared with.

    ``kinds``: the other kinds of entity of which some keys meet them.
    """

    conditions: str
    templates: tuple[str, ...]
    kinds: tuple[str, ...] = ()


@once
def unmet(view: TableView, query: QueryClass) -> tuple[Unmet, ...]:
    """The conditions of a filter on keys that no row of the table meets; those of each way through its ``or``s.

    A query of one kind may read other kinds beside it; where no way leads to a row of its own, none of them counts.
    """
    kinds = kinds_of(view)
    if query.filter is None or not names_keys(query) or any(kind.scheme is None for kind in kinds):
        return ()
    rows = [(kind, n, key) for kind in kinds for n, (key, _) in enumerate(kind.scheme.each_key())]  # type: ignore[union-attr]
    branches = list(_branches(query.filter))
    found = [_unmet(branch, rows) for branch in branches]
    if query.kind is not None and query.kind == view.section.kind and not all(found):
        own = [_unmet(branch, [row for row in rows if row[0] is view]) for branch in branches]
        if all(own):
            found = [
                replace(each, kinds=_kinds_met(branch, rows))
                for each, branch in zip(own, branches, strict=True)
                if each is not None
            ]
    return tuple(dict.fromkeys(each for each in found if each is not None))


def _kinds_met(branch: Sequence[Comparison], rows: Sequence[_Row]) -> tuple[str, ...]:
    """The kinds of which some row meets all comparisons."""
    met = (row[0].section.kind for row in rows if _unmet(branch, [row]) is None)
    return tuple(dict.fromkeys(kind for kind in met if kind is not None))


_Row = tuple[TableView, int, Key]
"""The kind of a row, its number among the rows of an entity, and its templates."""


def _branches(filter_: Filter) -> Iterator[tuple[Comparison, ...]]:
    """The comparisons on keys that hold together, for each way through the ``or``s."""
    every = conjuncts(filter_)
    whole = [each for each in every if isinstance(each, Or)]
    if math.prod(len(each.operands) for each in whole) > BRANCHES_MAX:
        whole = []
    always = [each for each in every if isinstance(each, Comparison)]
    for ways in product(*(each.operands for each in whole)):
        chosen = [c for way in ways for c in conjuncts(way) if isinstance(c, Comparison)]
        yield tuple(c for c in (*always, *chosen) if c.property in KEYS and c.operator is not Operator.NE)


def _unmet(branch: Sequence[Comparison], rows: Sequence[_Row]) -> Unmet | None:
    halves = [tuple(c for c in branch if c.property == name) for name in KEYS]
    met = [tuple(_meets(half, row, name) for name, half in zip(KEYS, halves, strict=True)) for row in rows]
    if any(all(each) for each in met):
        return None
    alone = next((n for n in range(len(KEYS)) if not any(each[n] for each in met)), None)
    told = branch if alone is None else halves[alone]
    names = KEYS if alone is None else KEYS[alone : alone + 1]
    texts = [[view.raw_text(n, name == KEYS[0]) or "''" for name in names] for view, n, _ in rows]
    templates = tuple(dict.fromkeys(" | ".join(each) for each in texts))
    return Unmet(" and ".join(format_filter(c) for c in told), templates)


def _meets(half: Sequence[Comparison], row: _Row, name: str) -> bool:
    view, _, key = row
    parts = key.partition if name == KEYS[0] else key.row
    keyed = KeyedRows(key, view.types, usual_values(view.types, key.properties))
    languages = keyed.languages(parts)
    if not all(_equals(c, parts, languages, view.types) for c in half if c.operator is Operator.EQ):
        return False
    between = _between([c for c in half if c.operator is not Operator.EQ], languages)
    return between is None or may_meet(languages, (between,))


def _equals(
    comparison: Comparison, parts: tuple[Part, ...], languages: tuple[Language, ...], types: Mapping[str, EdmType]
) -> bool:
    """Whether some key can be the text that an ``eq`` names; a parameter stands for the value of the same entity."""
    operand = comparison.operand
    if not isinstance(operand, Parameter):
        text = operand.value
        return not isinstance(text, str) or (may_meet(languages, (exactly(text),)) and not _in_capitals(text, parts))
    if operand.type not in (None, EdmType.STRING):
        return True
    places = [n for n, part in enumerate(parts) if operand.name in part.properties]
    plain = [n for n in places if parts[n].plain_property == operand.name]
    if len(plain) == 1:
        around = ((languages[: plain[0]], operand.prefix), (languages[plain[0] + 1 :], operand.suffix))
        return all(may_meet(side, (exactly(text),)) for side, text in around)
    if places and all(parts[n].hashing is not None for n in places):
        return False
    value = usual_values(types, [operand.name]).get(operand.name, ANY) if operand.name in types else ANY
    if operand.name in types and types[operand.name] is not EdmType.STRING:
        rows = KeyedRows(Key((Field(operand.name),), ()), types, {operand.name: value} if value != ANY else {})
        (value,) = rows.languages((Field(operand.name),))
    return may_meet(languages, (exactly(operand.prefix), value, exactly(operand.suffix)))


def _in_capitals(text: str, parts: tuple[Part, ...]) -> bool:
    """Whether a text has capital letters that no key has: values stand in lower case in it, and its constant text has
    none such. An escape (``~002F``) is written in capitals."""
    constants = "".join(part.constant or "" for part in parts)
    lowered = all(part.folds_case for part in parts if part.constant is None)
    return lowered and "~" not in text and any(c in ascii_uppercase and c not in constants for c in text)


# --- ranges -----------------------------------------------------------------------------------------------------------

_Bound = tuple[str, bool]
"""A text, and whether it belongs to the range itself; the empty text is no bound."""
CHARACTERS_MAX = 128
"""Characters of a bound that are looked at: what lies between bounds that agree in these is taken to exist."""


def _between(half: Iterable[Comparison], languages: tuple[Language, ...]) -> Language | None:
    """The texts between the constant bounds of some comparisons; None where there is no bound, or no text between.

    Of a parameter the constant text before it tells where the keys begin at the earliest and end at the latest.
    """
    lows, highs = [("", True)], list[_Bound]()
    for comparison in half:
        text, itself = _bound(comparison)
        if text:
            (lows if comparison.operator in (Operator.GE, Operator.GT) else highs).append((text, itself))
    low, high = max(lows, key=lambda each: (each[0], not each[1])), min(highs, default=("", False))
    if not (low[0] or high[0]) or (high[0] and (low[0], not low[1]) >= (high[0], high[1])):
        return None
    own = {c for language in languages for runs in language for run in runs for c in run.alphabet or ()}
    beside = {chr(code) for c in low[0] + high[0] for code in (ord(c) - 1, ord(c), ord(c) + 1) if 0 < code <= 0xFFFF}
    return tuple(_texts_between(low, high, frozenset(own | beside | _USUAL)))


_USUAL = frozenset(chr(code) for code in (*range(0x20, 0x250), 0xFFFF))


def _bound(comparison: Comparison) -> _Bound:
    operand, itself = comparison.operand, comparison.operator in (Operator.GE, Operator.LE)
    lower = comparison.operator in (Operator.GE, Operator.GT)
    text = operand.prefix if isinstance(operand, Parameter) else operand.value if isinstance(operand.value, str) else ""
    if not isinstance(operand, Parameter) and len(text) <= CHARACTERS_MAX:
        return text, itself
    text = text[:CHARACTERS_MAX]
    return (text, True) if lower else (_raised(text), False)


def _raised(text: str) -> str:
    """A text above all that begin with this one; empty where there is none."""
    return text[:-1] + chr(ord(text[-1]) + 1) if text and text[-1] < "\uffff" else ""


_Runs = tuple[Run, ...]


def _texts_between(low: _Bound, high: _Bound, letters: frozenset[str]) -> Iterator[_Runs]:
    """Runs that together are the texts from one bound to the other; an empty ``high`` is no bound."""
    (least, from_itself), (most, to_itself) = low, high
    if not most:
        yield from _from(_exact(""), least, from_itself, letters)
        return
    same = next((n for n, (a, b) in enumerate(zip(least, most, strict=False)) if a != b), min(len(least), len(most)))
    begin, least, most = _exact(least[:same]), least[same:], most[same:]
    if not least:
        if from_itself:
            yield begin
        yield from _until(begin, most, to_itself, letters)
        return
    yield from _then(begin, frozenset(c for c in letters if least[0] < c < most[0]))
    yield from _from((*begin, *_exact(least[0])), least[1:], from_itself, letters)
    if most[1:] or to_itself:
        yield (*begin, *_exact(most[0]))
    yield from _until((*begin, *_exact(most[0])), most[1:], to_itself, letters)


def _from(begin: _Runs, least: str, itself: bool, letters: frozenset[str]) -> Iterator[_Runs]:
    """The texts behind a beginning from one on."""
    for n, letter in enumerate(least):
        yield from _then((*begin, *_exact(least[:n])), frozenset(c for c in letters if c > letter))
    yield (*begin, *_exact(least), Run(None, 0 if itself else 1, None))


def _until(begin: _Runs, most: str, itself: bool, letters: frozenset[str]) -> Iterator[_Runs]:
    """The texts behind a beginning up to one, without the beginning alone."""
    for n, letter in enumerate(most):
        whole = (*begin, *_exact(most[:n]))
        if n:
            yield whole
        yield from _then(whole, frozenset(c for c in letters if c < letter))
    if most and itself:
        yield (*begin, *_exact(most))


def _then(begin: _Runs, letters: frozenset[str]) -> Iterator[_Runs]:
    if letters:
        yield (*begin, Run(letters, 1, 1), Run(None, 0, None))


def _exact(text: str) -> _Runs:
    (runs,) = exactly(text)
    return runs
