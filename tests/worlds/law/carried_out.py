"""The law *carried out*: the requests of the recommended keys, sent to the embedded engine, bring the right rows.

The whole table lies in the engine under the recommended scheme. For some sets of parameters each query's printed
requests
are sent, page by page. They must bring the entities that the filter selects (after the client's part), in as many pages
as the truth counts; the truth, in turn, is what the law *counted* holds the printed figures against. A scan over
several partitions may stop at ends of ranges: its pages are at least those counted without that continuation. A page
of the engine ends after as many entities looked at as a page of the truth.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from pkadvisor.engine.embedded_store import EmbeddedStore
from pkadvisor.engine.open_store import open_virtual
from pkadvisor.engine.tables.table_rules import TableLimits
from pkadvisor.table.edm import EdmType
from pkadvisor.table.store import CreateTable, Entity, EntityKey, Group, Insert, Property, Query
from tests.worlds.answers import Answers, Instance
from tests.worlds.key_text import UnreadableError
from tests.worlds.law.sent_text import request_text
from tests.worlds.model import World
from tests.worlds.requests import Requests, plan_of
from tests.worlds.rows import Layout, lay_out
from tests.worlds.running import analyzed, scheme_of
from tests.worlds.truth import PAGE, Broken, Counting
from tests.worlds.values import BOOLEAN, DATETIME, DOUBLE, GUID, INT32, INT64, STRING, Value, ticks

NAME = "carried-out"
INSTANCES = 3
REQUESTS_MOST = 40
"""A query of more requests for one set of parameters is not carried out: periods over years."""
EDM = {
    STRING: EdmType.STRING, INT32: EdmType.INT32, INT64: EdmType.INT64, DOUBLE: EdmType.DOUBLE,
    BOOLEAN: EdmType.BOOLEAN, DATETIME: EdmType.DATETIME, GUID: EdmType.GUID,
}  # fmt: skip


def broken(world: World, folder: Path) -> Iterator[Broken]:
    """Every query of the recommended keys whose answer from the engine is not the right one."""
    document = analyzed(world, folder)
    for table in document["tables"]:
        kind = world.kind(table["kind"]) if table["kind"] else world.kinds[0]
        if table["recommended"] is None:
            continue
        scheme = scheme_of(table["recommended"])
        layout = lay_out(kind, scheme)
        if not layout.unique:
            continue
        with open_virtual(1, table_limits=TableLimits(table_delete_ns=0, page_examined=PAGE)) as store:
            _load(store, layout)
            engine = Engine(layout, store)
            for printed in table["recommended"]["classes"]:
                asked = next(a for a in world.asked if a.name == printed["name"])
                # The engine stamps rows itself: no filter finds them by a Timestamp of the data.
                if printed["filters"] and not any("Timestamp" in filter_ for filter_ in printed["filters"]):
                    yield from _class(engine, Counting(Requests(plan_of(asked, printed), layout), Answers(asked, kind)))


def _class(engine: Engine, counting: Counting) -> Iterator[Broken]:
    """At most one broken law for a class."""
    every, plan = counting.answers.instances, counting.requests.plan
    for instance in every[:: max(1, len(every) // INSTANCES)][:INSTANCES]:
        found = engine.compared(counting, instance)
        if found is not None:
            what = f"{plan.asked.name} for {dict(instance.values)}: {found[0]}"
            problem = Broken(NAME, what, engine.layout.scheme.text, found[1], found[2], plan)
            problem.keys = engine.layout.scheme
            yield problem
            return


def stored(value: Value, edm: str) -> Property:
    """A value as the engine holds it."""
    if edm == DATETIME:
        assert isinstance(value, int)
        return Property(EdmType.DATETIME, ticks(value))
    return Property(EDM.get(edm, EdmType.BINARY), value)


class Engine:
    """One table of the embedded engine in virtual time, with the rows of a layout."""

    def __init__(self, layout: Layout, store: EmbeddedStore) -> None:
        self.layout, self.kind, self.store = layout, layout.kind, store
        self._entity = {(r.partition, r.row): r for r in layout.rows}

    def compared(self, counting: Counting, instance: Instance) -> tuple[str, object, object] | None:
        """(what differs, what the engine did, what is right); None where they agree."""
        sent = []
        for one in counting.requests.of(instance.values):
            sent.append(one)
            if len(sent) > REQUESTS_MOST:
                return None
        plan, asked = counting.requests.plan, counting.requests.plan.asked
        matching, types = counting.answers.matching(instance), self.kind.types
        brought: list[int] = []
        pages = 0
        for one in sent:
            if plan.back and asked.top is not None and len(brought) >= asked.top:
                break
            text, token, hits = request_text(one.terms, plan.conditions, instance.values, types), "", 0
            while True:
                wanted = None if plan.top is None else plan.top - hits
                page = self.store.execute(Query("Worlds", text, (), wanted, token))
                if not page.ok:
                    return f"the engine refuses {text!r}", page.status, 200
                pages += 1
                for entity in page.entities:
                    row = self._entity[entity.key.partition_key, entity.key.row_key]
                    hits += 1
                    if row.via == plan.via or not plan.own_kind:
                        brought.append(row.entity)
                token = page.continuation
                if not token or (plan.top is not None and hits >= plan.top):
                    break
        mine = [n for n in brought if n in matching]
        left = len(brought) - len(mine)
        if left and not any(s.startswith("keep the rows that satisfy") for s in plan.client):
            return "entities that do not match", left, 0
        size = len(matching) if asked.top is None else min(asked.top, len(matching))
        if len(set(mine)) < size or len(set(mine)) != len(mine):
            return "entities brought", len(set(mine)), size
        true = counting.count(instance)
        scans = any(one.partition is None for one in sent)
        fetched = true.fetched
        expected = round(true.requests - fetched - true.ends)
        if pages < expected or (not scans and pages > expected + len(sent)):
            return "pages", pages, expected
        return None


def _load(store: EmbeddedStore, layout: Layout) -> None:
    """Insert every row, those of a partition in groups."""
    execute = store.execute
    assert execute(CreateTable("Worlds")).ok
    partitions: dict[str, list[Insert]] = defaultdict(list)
    for row in layout.rows:
        pointer = layout.scheme.each_key()[row.via][2] == "pointer"
        entity = {} if pointer else layout.kind.rows[row.entity]
        kept = {n: stored(v, layout.kind.types[n]) for n, v in entity.items() if v is not None and n.isidentifier()}
        partitions[row.partition].append(Insert("Worlds", Entity(EntityKey(row.partition, row.row), kept)))
    for inserts in partitions.values():
        for begin in range(0, len(inserts), 100):
            some = tuple(inserts[begin : begin + 100])
            outcome = execute(Group(some) if len(some) > 1 else some[0])
            if not outcome.ok:
                raise UnreadableError(f"the engine refuses a row: {outcome}")
