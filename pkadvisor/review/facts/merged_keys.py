"""Facts of templates that give two entities one key: parts that touch, and parts that keep less than their values."""

from __future__ import annotations

from itertools import groupby

from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.keys.key_collisions import Merged, merged_by_loss, merged_by_touching
from pkadvisor.design.keys.scheme import variable
from pkadvisor.design.keys.template import separators
from pkadvisor.design.keys.transforms import EdmType, Part
from pkadvisor.design.rows.arrivals import SLOT_S
from pkadvisor.observe.workload import Basis, Operation
from pkadvisor.review.facts import key_values
from pkadvisor.review.facts.base import Fact, sure
from pkadvisor.review.facts.keys import is_arrival, is_index_row, is_partition, variable_parts, whole_key
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.names import moment, period, unique, year
from pkadvisor.review.views.subjects import Subject
from pkadvisor.review.views.views import TableView

_OWN_ENDS = (EdmType.DATETIME, EdmType.GUID, EdmType.BOOLEAN)
"""Types whose texts are of one length, or tell by themselves where they end."""


def touching(subject: Subject) -> str | None:
    """Two parts of varying width with no text between them, or empty.

    Empty where there are none.

    One part of varying width between others of fixed width can be told from both ends; two cannot.
    """
    pair = _touching(subject)
    return None if pair is None else " and ".join(map(str, pair))


def touching_numbers(subject: Subject) -> bool:
    """Whether both are whole numbers."""
    names = [part.plain_property for part in _touching(subject) or ()]
    types = subject.view.types
    return bool(names) and all(n and (edm := types.get(n)) is not None and edm.integer for n in names)


def _touching(subject: Subject) -> tuple[Part, ...] | None:
    unknown = False
    for is_text, run in groupby(subject.key.parts, lambda p: p.constant is not None):
        if is_text:
            continue
        widths = [(part, _varies(part, subject.view)) for part in run]
        varying = tuple(part for part, varies in widths if varies)
        if len(varying) > 1:
            return varying[:2]
        unknown |= sum(varies is not False for _, varies in widths) > 1
    return None if unknown else ()


def touching_example(subject: Subject) -> str | None:
    """Values that read the same where they touch."""
    merged = merged_by_touching(subject.key.parts, subject.view.types)
    if merged is None:
        return None
    one, other = ("' and '".join(texts) for texts in (merged[2].one, merged[2].other))
    return f"'{one}' read the same as '{other}'"


def _varies(part: Part, view: TableView) -> bool | None:
    """Whether the texts of a part differ in length; None where nobody can tell."""
    name = part.plain_property
    if not name:
        if part.several is not None:
            return True
        if part.first_characters is not None:
            return None
        if part.changes_text and part.text_source is not None:
            return _varies(part.text_source, view)
        return part.changes_text
    edm = view.types.get(name)
    if edm is None:
        return False if year(name) else None
    if edm in _OWN_ENDS or (edm.integer and year(name)):
        return False
    return key_values.lengths_differ(name, view) is not False


def tilde_between(subject: Subject) -> bool:
    """Whether a ~ stands between values, where it also begins escapes."""
    return "~" in separators(subject.key.parts)


def merging(subject: Subject) -> str:
    """The property of which the main RowKey keeps too little to tell entities apart, or empty.

    An upsert or update of a row for each period, such as a price a day, is meant to find the row of its period, and
    so is whoever names all that the key is made of, unless the time is that at which entities come. A time that is
    named as one of a clock, or as a shorter period, has several in a period all the same.
    """
    merged = None if is_partition(subject) or is_index_row(subject) else _merged(subject)
    if merged is None:
        return ""
    (name, _), own = merged, whole_key(subject)
    units = [p.period.unit for p in variable_parts(own) if p.period and p.properties == (name,)]
    if period(name) and units:
        return name if SLOT_S[period(name)] < min(SLOT_S[unit] for unit in units) else ""
    clocked = moment(name) and not is_arrival(name, subject.view)
    time = subject.view.types.get(name) is EdmType.DATETIME
    return "" if time and not clocked and _addressed(subject, name) else name


def _addressed(subject: Subject, name: str) -> bool:
    """Whether the row of a period of a time is meant to be found: by upserts or updates without inserts, or by a filter
    that names all that the key is made of, unless the time is that at which entities come."""
    view, own = subject.view, {*whole_key(subject).properties}
    operations = {c.operation for c in view.workload.classes}
    if Operation.INSERT not in operations and operations & {Operation.UPSERT, Operation.UPDATE}:
        return True
    named = any(own <= conditions(c.filter).equal.keys() for c in view.workload.classes)
    return named and not is_arrival(name, view)


def merging_example(subject: Subject) -> str | None:
    """Two of its values with one key."""
    merged = None if is_partition(subject) or is_index_row(subject) else _merged(subject)
    return None if merged is None else f"'{merged[1].one[0]}' and '{merged[1].other[0]}' are both '{merged[1].text}'"


def merging_more(subject: Subject) -> str | None:
    """That property where more of it may help: several entities have one time, however fine."""
    name = merging(subject)
    return name if name and subject.view.types.get(name) is not EdmType.DATETIME else None


def folded(subject: Subject) -> str:
    """The property that alone makes the main RowKey, by texts without their case, or empty: none that people type."""
    row = () if is_partition(subject) or is_index_row(subject) else variable(whole_key(subject).row)
    if any(not part.folds_case for part in row):
        return ""
    return next((name for part in row for name in part.properties if not unique(name)), "")


def _merged(subject: Subject) -> tuple[str, Merged] | None:
    return merged_by_loss(whole_key(subject), subject.view.types)


T, B = FactType.TEXT, FactType.BOOL
FACTS: tuple[Fact, ...] = (
    Fact("key.touching", T, "", touching),
    sure("key.touching_numbers", B, "", touching_numbers, Basis.DECLARED),
    Fact("key.touching_example", T, "", touching_example),
    sure("key.tilde_between", B, "", tilde_between),
    sure("key.merging", T, "", merging, Basis.DECLARED),
    Fact("key.merging_more", T, "", merging_more, Basis.DECLARED),
    sure("key.folded", T, "", folded, Basis.DECLARED),
    Fact("key.merging_example", T, "", merging_example),
)
