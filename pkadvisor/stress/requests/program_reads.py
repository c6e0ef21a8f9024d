"""What a client sends to answer a query: the requests of its plan, page after page.

    one request for each bucket, choice and period ──► their next pages ──► … ──► the entities behind pointers
                       one stage                           one each                      one stage

A plan that goes *back* asks for one period after the other until it has found enough.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from pkadvisor.design.keys.conditions import Conditions
from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.plan.access_plan import AccessPlan
from pkadvisor.design.plan.requests import TARGET_KEYS, Request, ReturnedRow, admits, keys_of, requests
from pkadvisor.stress.requests.rows import Properties
from pkadvisor.table.edm import EdmType, TypedValue
from pkadvisor.table.store import Entity, EntityKey, Get, Operation, Outcome, Query
from pkadvisor.values import dataclass

PAGE_ENTITIES = 1000
"""``$top`` is at most this (Query timeout and pagination)."""
Stages: TypeAlias = Generator[tuple[Operation, ...], tuple[Outcome, ...], None]
"""A client: it yields what it sends at once, and is sent what came of it."""
Sent = TypeVar("Sent")
Found: TypeAlias = Generator[tuple[Operation, ...], tuple[Outcome, ...], "list[Entity]"]


def rounds_of(stage: Sequence[Sent], at_once: int) -> list[tuple[Sent, ...]]:
    """A stage in the rounds in which a client sends it, at most so many operations at once."""
    return [tuple(stage[begin : begin + at_once]) for begin in range(0, len(stage), at_once)]


def in_rounds(program: Stages, at_once: int) -> Stages:
    """A program whose stages have at most so many operations: longer ones are sent in rounds."""
    outcomes: tuple[Outcome, ...] | None = None
    while True:
        try:
            stage = next(program) if outcomes is None else program.send(outcomes)
        except StopIteration:
            return
        outcomes = ()
        for sent in rounds_of(stage, at_once):
            outcomes += yield sent


@dataclass(frozen=True, slots=True)
class Reader:
    """One class of requests that finds entities by a filter, along its plan. ``top`` is that of the class."""

    table: str
    plan: AccessPlan
    conditions: Conditions
    scheme: KeyScheme
    types: Mapping[str, EdmType]
    top: int | None

    def requests(self, values: Properties, ends: tuple[int, int]) -> Iterable[Request]:
        """The first requests for some parameters; of a plan that goes back those of every period, made when needed."""
        oldest, newest = ends
        planned = requests(self.plan, self.conditions, values, self.types, newest=newest, oldest=oldest)
        return planned if self.plan.back else tuple(planned)

    @property
    def plain(self) -> bool:
        """Whether all requests are known before the first answer, but for further pages."""
        return not self.plan.back and not self.plan.follows

    def run(self, sent: Iterable[Request], values: Properties, *, keep: bool = True) -> Found:
        """The rows that are left when the client has done its part; where the plan follows them, their entities.

        Without ``keep`` the client's part is left out where nothing that is sent hangs on it.
        """
        plan = self.plan
        if not plan.back:
            return (yield from self._asked(tuple(sent), values, keep))
        entities: list[Entity] = []
        for request in sent:
            if self.top is not None and len(entities) >= self.top:
                break
            entities += yield from self._asked((request,), values)
        return entities

    def _asked(self, sent: Sequence[Request], values: Properties, keep: bool = True) -> Found:
        """The answers to requests that are sent at once."""
        rows: list[list[Entity]] = [[] for _ in sent]
        waiting: list[tuple[int, Operation]] = [(n, self._first(request)) for n, request in enumerate(sent)]
        while waiting:
            outcomes = yield tuple(operation for _, operation in waiting)
            following: list[tuple[int, Operation]] = []
            for (number, _), outcome in zip(waiting, outcomes, strict=True):
                got, request = rows[number], sent[number]
                got += outcome.entities
                if outcome.continuation and (request.top is None or len(got) < request.top):
                    following.append((number, self._query(request, len(got), outcome.continuation)))
            waiting = following
        entities = [row for got in rows for row in got]
        pointers = self.plan.pointer and self.plan.follows
        if pointers and entities:
            entities = yield from self._asked_for([key for row in entities if (key := target_of(row)) is not None])
        if keep and (self.plan.client or self.plan.own_kind):
            entities = [e for e in entities if self._admits(e, values)]
        if self.plan.follows and not pointers and entities:
            entities = yield from self._asked_for([self._entity_key(row) for row in entities])
        return entities

    def _first(self, request: Request) -> Operation:
        return Get(self.table, EntityKey(*request.point)) if request.point is not None else self._query(request, 0, "")

    def _query(self, request: Request, got: int, continuation: str) -> Query:
        top = None if request.top is None else min(request.top - got, PAGE_ENTITIES)
        return Query(self.table, request.filter, (), top, continuation)

    def _asked_for(self, keys: Sequence[EntityKey]) -> Found:
        """The entities under some keys, asked for one by one."""
        if not keys:
            return []
        outcomes = yield tuple(Get(self.table, key) for key in dict.fromkeys(keys))
        return [entity for outcome in outcomes for entity in outcome.entities]

    def _entity_key(self, copy: Entity) -> EntityKey:
        """The key of the entity whose copy this is, from its properties."""
        return EntityKey(*keys_of(self.scheme.main, properties_of(copy), self.types)[0])

    def _admits(self, entity: Entity, values: Properties) -> bool:
        literals = properties_of(entity)
        plan = self.plan
        # The target of a pointer stands under the main key; that it was named says of which kind the pointer was.
        if plan.pointer and plan.own_kind:
            from dataclasses import replace

            plan = replace(plan, own_kind=False)
        return admits(plan, self.scheme, ReturnedRow(*entity.key, literals), values, self.types)


def properties_of(entity: Entity) -> dict[str, TypedValue]:
    """The properties of a row as filters see them."""
    return {name: TypedValue(p.type, p.value) for name, p in entity.properties.items()}


def target_of(row: Entity) -> EntityKey | None:
    """The key that a pointer names; None for rows of other kinds, which name none."""
    named = [row.properties.get(name) for name in TARGET_KEYS]
    values = [str(part.value) for part in named if part is not None]
    return EntityKey(*values) if len(values) == len(TARGET_KEYS) else None
