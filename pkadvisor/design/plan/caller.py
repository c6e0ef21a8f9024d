"""What the caller of an update or delete knows of the entity, and what it must read before it can write.

The caller knows the values that its filter names. To change an entity it needs

    the key of the entity                         for every change
    the keys of the index rows that it writes     for every change
    all properties                                where a row is written anew under another key
    the ETag of the entity                        for a read-modify-write

What it lacks is read. A row of the main key tells all of it; a full copy tells the properties, and not the ETag; a
pointer tells its own key and that of the entity, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from pkadvisor.design.keys.conditions import Conditions
from pkadvisor.design.keys.scheme import Key, KeyScheme
from pkadvisor.design.keys.transforms import part_properties
from pkadvisor.observe.workload import Operation, QueryClass
from pkadvisor.table.edm import SYSTEM_PROPERTIES, EdmType
from pkadvisor.table.odata import Filter
from pkadvisor.values import dataclass

ETAG = "ETag"
ASSIGNED = "the number that the application assigned (seq)"


def touched(query: QueryClass, scheme: KeyScheme) -> tuple[int, ...]:
    """The index rows (from 1) that an update or delete writes too: copies, and pointers where they, or what they point
    at, get another key."""
    moved = set(scheme.main.properties) & set(query.sets)
    return tuple(
        via
        for via, row in enumerate(scheme.index_rows, 1)
        if query.operation is Operation.DELETE
        or row.copy == "full"
        or moved
        or set(row.key.properties) & set(query.sets)
    )


def rows_written(query: QueryClass, scheme: KeyScheme) -> dict[int, int]:
    """The rows that a write of one entity changes, by key (0: the main row): 2 where a key moves, since the old row is
    deleted and the new one inserted."""
    if query.operation in (Operation.INSERT, Operation.UPSERT):
        return dict.fromkeys(range(scheme.rows_per_entity), 1)
    changed, keys = _moving(query), list(scheme.each_key())
    return {via: 2 if changed & set(keys[via][0].properties) else 1 for via in (0, *touched(query, scheme))}


def rows_beside(query: QueryClass, scheme: KeyScheme) -> int:
    """Those of them in the partition that the entity has before the write: of a row that leaves it, the old one."""
    leaves = bool(_moving(query) & set(part_properties(scheme.main.partition)))
    written = rows_written(query, scheme)
    return sum(1 if leaves else written[via] for via in scheme.places()[0] if via in written)


def requests_written(query: QueryClass, scheme: KeyScheme) -> int:
    """The requests that write them: one for each partition, two where the row leaves it."""
    changed, keys, written = _moving(query), list(scheme.each_key()), rows_written(query, scheme)
    places = [place for place in scheme.places() if written.keys() & set(place)]
    return sum(2 if changed & set(part_properties(keys[place[0]][0].partition)) else 1 for place in places)


def _moving(query: QueryClass) -> set[str]:
    return set(query.sets) if query.operation is Operation.UPDATE else set()


class Found(Protocol):
    """A plan, as far as it tells what its answers tell."""

    @property
    def via(self) -> int:
        """The row that is read: 0 for the main key, i for the i-th index row."""

    @property
    def point(self) -> bool:
        """Whether it names the whole key of one row."""

    @property
    def several(self) -> bool:
        """Whether it may take more than one request."""

    @property
    def pointer(self) -> bool:
        """Whether the rows are pointers."""

    @property
    def own_kind(self) -> bool:
        """Whether rows of other kinds are dropped."""

    @property
    def unserved(self) -> tuple[str, ...]:
        """The properties whose conditions the key leaves open."""

    @property
    def client(self) -> tuple[Filter, ...]:
        """The conditions that are left to the client."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends one class of requests to a table under one scheme."""

    query: QueryClass
    conditions: Conditions
    scheme: KeyScheme
    types: Mapping[str, EdmType]

    def unknown(self, plan: Found) -> tuple[str, ...]:
        """What an update or delete needs and its filter does not name: properties, ``ETAG`` or ``ASSIGNED``.

        Empty where it writes without a read, and for queries.
        """
        if not self.query.operation.writes:
            return ()
        lacking = () if self._names_entity(plan) else self._not_named(plan)
        etag = (ETAG,) if self.query.read_modify_write else ()
        return tuple(dict.fromkeys([*lacking, *self._of_index_rows(touched(self.query, self.scheme)), *etag]))

    def follows(self, plan: Found) -> bool:
        """Whether the entity behind each row of an index row is read: a query wants it, a change where the row lacks
        something that it needs."""
        if plan.via == 0 or not self.query.operation.writes:
            return plan.pointer
        if self.query.read_modify_write:
            return True
        others = [via for via in touched(self.query, self.scheme) if via != plan.via]
        return plan.pointer and bool(plan.client or plan.own_kind or self._of_index_rows(others))

    def cannot_name(self, via: int) -> str:
        """What no row of an index row tells of the key of its entity, where a change would have to; else empty."""
        key, row = list(self.scheme.each_key())[via]
        if row is None or row.copy == "pointer" or not self.query.operation.writes:
            return ""
        return ASSIGNED if _assigned(self.scheme.main) and not _assigned(key) else ""

    def _names_entity(self, plan: Found) -> bool:
        """Whether the filter alone makes the key of the entity, and nothing else is to be compared.

        A logged write names a whole key. What that key told of a time, its period, is no condition either.
        """
        one = plan.via == 0 and plan.point and not plan.several
        wanted = self.conditions
        return one and set(plan.unserved) <= {*wanted.equal, *wanted.folded, *wanted.one_period}

    def _not_named(self, plan: Found) -> tuple[str, ...]:
        """What of the key of the entity the filter leaves open; the conditions to compare where it leaves nothing."""
        open_ones = self._lacking_in(self.scheme.main)
        assigned = (ASSIGNED,) if _assigned(self.scheme.main) else ()
        return (*open_ones, *assigned) or self._lacking(plan.unserved) or tuple(plan.unserved)

    def _of_index_rows(self, vias: Iterable[int]) -> tuple[str, ...]:
        """What is needed to write index rows, and the main row where it moves, and the filter does not name."""
        keys = list(self.scheme.each_key())
        out: list[str] = []
        for via in vias:
            out += self._lacking_in(keys[via][0])
        anew = [key for key, row in keys if (row is None or row.copy == "full") and self._moves(key)]
        if anew:
            out += self._lacking(n for n in self.types if n not in self.query.sets and n not in SYSTEM_PROPERTIES)
        return tuple(out)

    def _moves(self, key: Key) -> bool:
        """Whether an update gives a row another key."""
        return self.query.operation is Operation.UPDATE and bool(set(key.properties) & set(self.query.sets))

    def _lacking_in(self, key: Key) -> tuple[str, ...]:
        """The properties that a key is made of and the filter does not name, or not as the key reads them."""
        folded = self.conditions.folded.keys()
        parts = (*key.partition, *key.row)
        lacking = [n for part in parts for n in self._lacking(part.properties) if n not in folded or part.reads_case(n)]
        return tuple(dict.fromkeys(lacking))

    def _lacking(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(name for name in names if name not in self.conditions.equal)


def _assigned(key: Key) -> bool:
    return any(part.assigned for part in (*key.partition, *key.row))
