"""Keys that rows of several owners can have: kinds of one table, or an entity and the index rows beside it.

What the templates allow is asked of ``keys.key_collisions``, with values like those at hand; where they allow a common
key, the keys of the rows at hand are compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from pkadvisor.design.keys.key_collisions import (
    Collision,
    KeyedRows,
    adds_nothing,
    collision_of,
    letters_like,
    may_collide,
    usual_values,
)
from pkadvisor.design.keys.scheme import Key, KeyScheme, key_expression
from pkadvisor.design.keys.transforms import Value
from pkadvisor.design.keys.transforms.languages import Language, Run
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.values import python_value
from pkadvisor.lazy import pl
from pkadvisor.remembered import remembered
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

EXAMPLES = 20
"""Entities whose keys are tried as an example of a common key."""
_TOKEN = frozenset(chr(code) for code in range(0x20, 0x7F))
_KEPT_IN_TOKENS = frozenset("_;|!-:~.")
"""Characters of a value that the token of a profile repeats."""


PLACES = 40
"""Characters up to which values of one length are looked at place by place: GUIDs, numbers with a letter before."""


def _letters(texts: pl.Series) -> set[str]:
    return set(texts.str.split("").explode().unique().drop_nulls().to_list())


def _in_all(texts: pl.Series, letters: frozenset[str] | None) -> str | None:
    """A mark such as @ that every text holds; None where there is none."""
    marks = sorted(c for c in letters or () if not c.isalnum())
    return next((c for c in marks if texts.str.contains(c, literal=True).all()), None)


@dataclass(frozen=True)
class Entities:
    """Entities of one kind: their types, and where there are data the rows at hand as columns.

    ``hidden`` are properties of which a profile holds tokens alone. ``kind`` is empty where a table has one.
    """

    kind: str
    types: Mapping[str, EdmType]
    frame: pl.DataFrame | None = None
    hidden: frozenset[str] = frozenset()
    memo: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    def under(self, key: Key) -> KeyedRows:
        """The rows that a key makes of them."""
        names = [name for name in key.properties if name in self.types or self.frame is None]
        values = {name: self._language(name) for name in names}
        seen = {name: language for name, language in values.items() if language is not None}
        return KeyedRows(key, self.types, seen, self._examples(key))

    @remembered("language")
    def _language(self, name: str) -> Language | None:
        """A language of texts like the values at hand; None where the type says all there is to say."""
        column, plain = self._column(name), usual_values(self.types, [name]).get(name)
        if column is None or plain is None or column.is_empty() or str(column.dtype) != "String":
            return plain
        if name in self.hidden:
            return ((Run(_TOKEN - (_KEPT_IN_TOKENS - _letters(column)), 1, None),),)
        lengths = column.str.len_chars()
        least, most = int(lengths.min() or 0), int(lengths.max() or 0)  # type: ignore[arg-type]
        if least == most <= PLACES:
            return (tuple(Run(letters_like(_letters(column.str.slice(n, 1))), 1, 1) for n in range(most)),)
        first, rest = letters_like(_letters(column.str.slice(0, 1))), letters_like(_letters(column.str.slice(1)))
        head, tail = Run(first, 1, 1), Run(rest, 0, None)
        needed = _in_all(column, rest)
        if needed is None:
            return ((head, tail), *([()] if least == 0 else []))
        mark = Run(frozenset(needed), 1, 1)
        return ((head, tail, mark, tail), *(((mark, tail),) if first is None or needed in first else ()))

    def _column(self, name: str) -> pl.Series | None:
        """The distinct values at hand; None without data."""
        if self.frame is None or name not in self.frame.columns:
            return None
        return self.frame.get_column(name).drop_nulls().unique()

    def _examples(self, key: Key) -> tuple[dict[str, Value], ...]:
        names = key.properties
        if self.frame is None or self.hidden & {*names} or not {*names} <= {*self.frame.columns}:
            return ()
        return tuple(
            {n: None if v is None else python_value(v, self.types.get(n, EdmType.STRING)) for n, v in row.items()}
            for row in self.frame.select(names).head(EXAMPLES).iter_rows(named=True)
        )

    def texts(self, key: Key) -> pl.DataFrame | None:
        """PartitionKey and RowKey of each row at hand that has all of the key's properties; None where nobody knows."""

        names = key.properties
        parts = (*key.partition, *key.row)
        numbered = any(not part.properties and part.function for part in parts)
        if self.frame is None or self.hidden & {*names} or not {*names} <= {*self.frame.columns} or numbered:
            return None
        if any(part.function == "each" for part in parts):
            return None
        present = self.frame.drop_nulls(names) if names else self.frame
        halves = (("pk", key.partition), ("rk", key.row))
        texts = [key_expression(half, dict(self.types)).alias(name) for name, half in halves]
        return present.with_columns(texts).select("pk", "rk")


@remembered("entities")
def sampled_entities(population: Population) -> Entities:
    """The data rows of a population."""
    frame = population.data
    return Entities("", population.types, frame, frozenset(population.hashed))


@dataclass(frozen=True, slots=True)
class SharedKey:
    """Keys that two owners' rows can share.

    ``key`` is that of the one, ``other`` that of the other, ``owner`` the other in words. ``counted`` of ``rows`` at
    hand of the one have a key that a row at hand of the other has; None where nobody can count. ``example`` is such a
    key, or the one that the templates allow.
    """

    key: Key
    other: Key
    owner: str
    collision: Collision
    counted: int | None
    rows: int

    @property
    def real(self) -> bool:
        """Whether rows do share keys: they were counted, or the RowKeys have nothing to tell them apart."""
        return bool(self.counted) or (self.counted is None and self.collision.certain)


def shared_key(one: Entities, key: Key, other: Entities, theirs: Key, owner: str) -> SharedKey | None:
    """What two keys share; None where they never meet."""
    mine, its = one.under(key), other.under(theirs)
    if not may_collide(mine, its):
        return None
    texts, others = one.texts(key), other.texts(theirs)
    counted, rows = None, 0
    if texts is not None and others is not None:
        both = texts.join(others.unique(), on=["pk", "rk"], how="semi", maintain_order="left")
        counted, rows = both.height, texts.height
        if counted:
            partition, row = both.row(0)
            certain = adds_nothing(key) and key == theirs
            return SharedKey(key, theirs, owner, Collision(certain, partition, row, of_data=True), counted, rows)
    collision = collision_of(mine, its)
    return None if collision is None else SharedKey(key, theirs, owner, collision, counted, rows)


def shared_among_kinds(
    one: Entities, scheme: KeyScheme, others: Sequence[tuple[Entities, KeyScheme]]
) -> tuple[SharedKey, ...]:
    """What the keys of a kind share with those of other kinds, index rows included, each pair of keys once."""
    shared_keies = []
    for key, _ in scheme.each_key():
        for other, theirs in others:
            for number, (each, _) in enumerate(theirs.each_key()):
                owner = other.kind if number == 0 else f"{other.kind} (index row {number})"
                shared = shared_key(one, key, other, each, owner)
                if shared is not None:
                    shared_keies.append(shared)
    return tuple(shared_keies)


def example_words(collision: Collision) -> str:
    """A key with the values that give it, as far as they are not plain to see."""
    shown = f"'{collision.partition}' | '{collision.row}'"
    texts = (collision.partition, collision.row)
    telling = [f"{name} '{text}'" for name, text in dict(collision.one).items() if text in texts and text]
    return shown + (f" ({', '.join(telling)})" if telling and not collision.of_data else "")


@remembered("shared")
def _shared(earlier: Key, key: Key, owner: str, population: Population) -> SharedKey | None:
    entities = sampled_entities(population)
    return shared_key(entities, earlier, entities, key, owner)


def shared_within(scheme: KeyScheme, number: int, population: Population) -> SharedKey | None:
    """What a row of a scheme shares with an earlier one of the same or of another entity: the first that is counted, or
    else the first that the templates allow. ``number`` is that of the index row; ``key`` is that of the earlier row.
    """
    possible = None
    keys = [key for key, _ in scheme.each_key()]
    for place, key in enumerate(keys[:number]):
        shared = _shared(key, keys[number], f"index row {place}" if place else "the entity itself", population)
        if shared is not None and shared.counted:
            return shared
        possible = possible or shared
    return possible
