"""Facts of keys that rows of several owners can have: kinds of one table, an entity and the index rows of another."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from pkadvisor.design.keys.scheme import Key
from pkadvisor.design.keys.transforms import part_properties
from pkadvisor.design.load.shared_keys import Entities, SharedKey, example_words, shared_key
from pkadvisor.observe.workload import Basis
from pkadvisor.review.facts.base import Fact, sure
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.names import counter_of, stands_for_entity, words
from pkadvisor.review.views.subjects import Subject
from pkadvisor.review.views.views import TableView
from pkadvisor.table.edm import EdmType

ITSELF = "the entity itself"


@lru_cache(maxsize=256)
def entities_of(view: TableView) -> Entities:
    """What is known of the entities of a table or kind."""
    data = view.section.data
    if data is None:
        return Entities(view.section.kind or "", view.types)
    return Entities(view.section.kind or "", data.types, data.sample, frozenset(data.hashed))


def _earlier(view: TableView, row: int) -> Iterator[tuple[TableView, Key, str]]:
    """The keys that stand before one in the file: of earlier kinds of the table, and of the same entities."""
    for other in view.design.tables:
        if other.section.table != view.section.table or other.scheme is None:
            continue
        keys = [key for key, _ in other.scheme.each_key()]
        kind = other.section.kind or ""
        for number, key in enumerate(keys[: row if other is view else len(keys)]):
            if other is view:
                yield other, key, f"index row {number}" if number else ITSELF
            else:
                yield other, key, f"{kind} (index row {number})" if number else kind
        if other is view:
            return


@lru_cache(maxsize=1024)
def _shared(view: TableView, row: int) -> SharedKey | None:
    """What a key shares with an earlier one: what is real before what is possible."""
    assert view.scheme is not None
    keys = [key for key, _ in view.scheme.each_key()]
    mine, shared_keies = keys[row], list[SharedKey]()
    for other, key, owner in _earlier(view, row):
        # The key of the entity itself is the one whose values an example tells: an id that begins with a label.
        own = other is view
        one, its = (key, mine) if own else (mine, key)
        shared = shared_key(entities_of(view), one, entities_of(other), its, owner)
        if shared is not None:
            shared_keies.append(shared)
    return min(shared_keies, key=lambda shared: not shared.real, default=None)


def _of(subject: Subject) -> SharedKey | None:
    return None if subject.key.is_partition or subject.view.scheme is None else _shared(subject.view, subject.key.row)


def owner(subject: Subject) -> str:
    """Whose rows can have this key too: another kind, or a row of the same kind; empty for none."""
    shared_key = _of(subject)
    return "" if shared_key is None else shared_key.owner


def own(subject: Subject) -> bool:
    """Whether these are rows of the same kind of entity.

    Whether the rows are those of the same kind.
    """
    shared_key = _of(subject)
    return shared_key is not None and (shared_key.owner == ITSELF or shared_key.owner.startswith("index row "))


def counted(subject: Subject) -> float | None:
    """Sampled entities of which a row has the key of such a row."""
    shared_key = _of(subject)
    return None if shared_key is None or shared_key.counted is None else float(shared_key.counted)


def looked_at(subject: Subject) -> float | None:
    """Sampled entities whose keys were compared."""
    shared_key = _of(subject)
    return None if shared_key is None or shared_key.counted is None else float(shared_key.rows)


def certain(subject: Subject) -> bool:
    """Whether rows share keys: sampled ones, or all by their templates."""
    shared_key = _of(subject)
    return shared_key is not None and shared_key.real


def equal(subject: Subject) -> bool:
    """Whether both are made by the same templates."""
    shared_key = _of(subject)
    return shared_key is not None and shared_key.key == shared_key.other


def unlabelled(subject: Subject) -> bool:
    """Whether no text stands before the values of both RowKeys.

    Whether neither RowKey has a text before its values, which are no GUIDs: nothing but luck keeps them apart.
    """
    shared_key = _of(subject)
    if shared_key is None:
        return False
    rows, types = (shared_key.key.row, shared_key.other.row), subject.view.types
    plain = all(row and row[0].constant is None for row in rows)
    return plain and not any(types.get(n) is EdmType.GUID for row in rows for n in part_properties(row))


def same_things(subject: Subject) -> bool:
    """Whether they are, over what is no id of the entities of either kind.

    Whether two kinds have one template for their keys, over what is no id of their own entities.
    """
    shared_key = _of(subject)
    if shared_key is None or not equal(subject) or not unlabelled(subject):
        return False
    kinds = (subject.view.section.kind or "", shared_key.owner.partition(" ")[0])
    types, named = subject.view.types, part_properties(shared_key.key.row)
    counts = [n for n in named if types.get(n) is not EdmType.STRING or len(words(n)) > 1 or words(n) == ("id",)]
    own_ids = any(counter_of(name, kind) for name in counts for kind in kinds)
    return not own_ids and not any(stands_for_entity(name, kind) for name in named for kind in kinds)


def example(subject: Subject) -> str | None:
    """Such a key."""
    shared_key = _of(subject)
    return None if shared_key is None else example_words(shared_key.collision)


FACTS: tuple[Fact, ...] = (
    Fact("key.shared_with", FactType.TEXT, "", owner, Basis.DERIVED, may_be_unknown=False),
    sure("key.shared_in_kind", FactType.BOOL, "", own, Basis.DERIVED),
    sure("key.shared_really", FactType.BOOL, "", certain, Basis.DERIVED),
    sure("key.shared_equal", FactType.BOOL, "", equal, Basis.DERIVED),
    sure("key.shared_unlabelled", FactType.BOOL, "", unlabelled, Basis.DERIVED),
    sure("key.shared_things", FactType.BOOL, "", same_things, Basis.DERIVED),
    Fact("key.shared_entities", FactType.NUMBER, "entities", counted, Basis.COUNTED),
    Fact("key.shared_looked_at", FactType.NUMBER, "entities", looked_at, Basis.COUNTED),
    Fact("key.shared_example", FactType.TEXT, "", example, Basis.DERIVED, from_data=True),
)
