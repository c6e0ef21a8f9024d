"""Every plan of every sample under every candidate, run on the embedded engine: the same rows as by brute force.

Real rows under the keys of the scheme, in virtual time. Pages are small and each table lies in several ranges, so that
answers come in many pages, some of them empty, and queries go on across the ends of pages and ranges.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import pytest

from pkadvisor.engine.embedded_store import EmbeddedStore
from pkadvisor.engine.open_store import ACCOUNT, open_virtual
from pkadvisor.engine.stamp import Layout as Nodes
from pkadvisor.engine.tables import row_keys
from pkadvisor.engine.tables.table_rules import TableLimits
from pkadvisor.table.edm import utf16_key
from pkadvisor.table.store import CreateTable, Entity, EntityKey, Get, Group, Insert, Property, Query
from tests.proof.support import SAMPLES, Layout, Stored, pairs_of, placed, prove
from tests.tiers import LONG

ROWS = 80
CLOSE_ROWS = 40
INSTANCES = 3
EVERY, PAIRS_LEAST = (1, 1000) if LONG == "proofs" else (2, 120)
"""Every other candidate in the short form, where a plain table still answers for all of them."""
CONTINUED_LEAST, EMPTY_LEAST = 50, 5
PAGES = TableLimits(page_entities=10, page_examined=25, table_delete_ns=0)
RANGES = 3
"""Of each table."""
OWN = ("PartitionKey", "RowKey", "Timestamp")


@dataclass
class EngineTable:
    """One table of the engine, asked with ``$filter`` texts; what it met on the way is counted."""

    store: EmbeddedStore
    name: str
    seen: Counter[str] = field(default_factory=Counter)

    def load(self, rows: tuple[Stored, ...]) -> None:
        """Inserts all rows, those of a partition in groups."""
        assert self.store.execute(CreateTable(self.name)).ok
        partitions: dict[str, list[Insert]] = defaultdict(list)
        for pk, rk, properties in rows:
            kept = {n: Property(v.type, v.value) for n, v in properties.items() if n not in OWN}
            partitions[pk].append(Insert(self.name, Entity(EntityKey(pk, rk), kept)))
        for inserts in partitions.values():
            for begin in range(0, len(inserts), 100):
                some = tuple(inserts[begin : begin + 100])
                outcome = self.store.execute(Group(some) if len(some) > 1 else some[0])
                assert outcome.ok, (outcome, some[0])

    def query(self, filter_text: str, top: int | None = None) -> list[tuple[str, str]]:
        """Keys of the rows that satisfy a filter, in the order in which the pages bring them."""
        found: list[tuple[str, str]] = []
        token = ""
        while True:
            wanted = None if top is None else min(top - len(found), PAGES.page_entities)
            page = self.store.execute(Query(self.name, filter_text, ("v",), wanted, token))
            assert page.ok, (page, filter_text)
            found += [(entity.key.partition_key, entity.key.row_key) for entity in page.entities]
            self.seen["requests"] += 1
            self.seen["continued"] += bool(token)
            self.seen["empty pages that go on"] += bool(page.continuation) and not page.entities
            token = page.continuation
            if not token or (top is not None and len(found) >= top):
                return found

    def get(self, partition_key: str, row_key: str) -> bool:
        """Whether there is a row with a key."""
        outcome = self.store.execute(Get(self.name, EntityKey(partition_key, row_key)))
        assert outcome.status in (200, 404), outcome
        return outcome.ok


def boundaries(table: str, place: Layout) -> list[bytes]:
    """Where a table is divided: between partitions, in about equal parts."""
    keys = sorted({row[0] for row in place.rows}, key=utf16_key)
    parts = [keys[i * len(keys) // RANGES] for i in range(1, RANGES)]
    return [row_keys.partition_prefix(ACCOUNT, table, key) for key in dict.fromkeys(parts) if key != keys[0]]


@pytest.mark.parametrize("name", SAMPLES)
def test_the_engine_answers_as_planned(name: str) -> None:
    wanted, pairs, seen = set(), set(), Counter[str]()
    places = {f"proof{n}": place for n, place in enumerate(placed(name, ROWS, CLOSE_ROWS, INSTANCES, EVERY))}
    cuts = sorted(cut for table, (_, place, _) in places.items() for cut in boundaries(table, place))
    with open_virtual(1, layout=Nodes(boundaries=tuple(cuts)), table_limits=PAGES) as store:
        for number, (table, (case, place, instances)) in enumerate(places.items()):
            wanted |= pairs_of(case, place.scheme)
            rows = EngineTable(store, table, seen)
            rows.load(place.rows)
            for proved in prove(case, place.scheme, rows, place, instances=instances):
                assert not proved.wrong, proved
                pairs.add((proved.query, proved.scheme))
                seen["found"] += proved.entities > 0
            if not number:
                store.check()
    print(f"{name}: {len(pairs)} pairs, {len(cuts) + 1} ranges, {dict(seen)}")
    assert pairs == wanted
    assert 10 * seen["found"] >= 9 * len(pairs)  # empty answers prove little
    assert len(cuts) + 1 > len(places), "a table lies in several ranges"
    assert seen["continued"] >= CONTINUED_LEAST and seen["empty pages that go on"] >= EMPTY_LEAST


def test_enough_pairs_are_proved() -> None:
    """The test above proves each of these."""
    places = [place for name in SAMPLES for place in placed(name, ROWS, CLOSE_ROWS, INSTANCES, EVERY)]
    assert sum(len(pairs_of(case, place.scheme)) for case, place, _ in places) >= PAIRS_LEAST
