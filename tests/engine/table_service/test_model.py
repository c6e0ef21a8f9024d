"""The service on ranges that split and merge, against a plain model in dictionaries (T1, T2, T4 to T8)."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pkadvisor.engine.tables import row_keys
from pkadvisor.engine.tables.table_service import TableService
from pkadvisor.table.edm import EdmType
from pkadvisor.table.odata import evaluate, parse_filter
from pkadvisor.table.store import (
    CreateTable,
    Delete,
    DeleteTable,
    Entity,
    EntityKey,
    Get,
    Group,
    Insert,
    InsertOrMerge,
    InsertOrReplace,
    ListTables,
    Merge,
    Outcome,
    Property,
    Query,
    Update,
    Write,
)
from tests.engine.table_service.support import ACCOUNT, NO_WAIT, Ranges, run
from tests.tiers import examples

TABLES = st.sampled_from(["tab", "Tab", "other"])
PARTS = st.sampled_from(["", "1", "111", "2", "a", "\ue000", "\U0001f600"])
KEYS = st.builds(EntityKey, PARTS, PARTS)
PROPERTIES = st.dictionaries(
    st.sampled_from(["a", "b", "c"]),
    st.one_of(
        st.builds(Property, st.just(EdmType.INT32), st.integers(0, 3)),
        st.builds(Property, st.just(EdmType.STRING), st.sampled_from(["x", "y\ud800", "\uffff"])),
        st.builds(Property, st.just(EdmType.BINARY), st.just(b"\0")),
    ),
    max_size=3,
)
ENTITIES = st.builds(Entity, KEYS, PROPERTIES)
MATCH = st.sampled_from(["*", "current", "older", "other"])
FILTERS = st.sampled_from(
    [
        "",
        "a eq 1",
        "not (a eq 1)",
        "b gt 'x'",
        "PartitionKey eq '1'",
        "PartitionKey eq '1' and RowKey ge '111'",
        "PartitionKey ge '111' and PartitionKey le 'a'",
        "PartitionKey gt '\ue000' or a ge 2",
        "PartitionKey eq '' and RowKey eq ''",
        "RowKey lt '2' and a le 2",
    ]
)
Rows = dict[EntityKey, tuple[dict[str, Property], str]]


class AgainstModel(RuleBasedStateMachine):
    """Each operation on both; two front ends, neither of which is alone."""

    def __init__(self) -> None:
        super().__init__()
        self.ranges = Ranges()
        self.services = [TableService(self.ranges, ACCOUNT, limits=NO_WAIT) for _ in range(2)]
        self.turn = 0
        self.tables: dict[str, Rows] = {}
        self.names: dict[str, str] = {}
        self.older: dict[tuple[str, EntityKey], list[str]] = {}
        self.tags: set[tuple[str, EntityKey, str]] = set()

    def do(self, operation: object) -> Outcome:
        self.turn += 1
        service = self.services[self.turn % 2]
        outcome = run(service.execute(operation))  # type: ignore[arg-type]
        if service.tables.clearing:
            run(service.maintain())
        return outcome

    @initialize()
    def first(self) -> None:
        self.create("tab")

    # ------------------------------------------------------------------------------------------ tables

    @rule(table=TABLES)
    def create(self, table: str) -> None:
        there = table.lower() in self.tables
        outcome = self.do(CreateTable(table))
        assert (outcome.code == "TableAlreadyExists") == there and outcome.ok != there
        if not there:
            self.tables[table.lower()], self.names[table.lower()] = {}, table

    @rule(table=TABLES)
    def delete_table(self, table: str) -> None:
        there = self.tables.pop(table.lower(), None) is not None
        outcome = self.do(DeleteTable(table))
        assert outcome.ok == there and (there or outcome.code == "TableNotFound")
        self.names.pop(table.lower(), None)

    # ------------------------------------------------------------------------------------------ writes

    def etag(self, table: str, key: EntityKey, match: str) -> str:
        row = self.tables.get(table.lower(), {}).get(key)
        if match == "current" and row:
            return row[1]
        older = self.older.get((table.lower(), key), [])
        if match == "older" and older:
            return older[0]
        return "*" if match == "*" else 'W/"nobody"'

    def expected(self, rows: Rows, write: Write) -> tuple[int, str]:
        """Status and code of one write, by the documentation."""
        key = write.key if isinstance(write, Delete) else write.entity.key
        row = rows.get(key)
        if isinstance(write, Insert):
            return (409, "EntityAlreadyExists") if row else (204, "")
        if isinstance(write, InsertOrReplace | InsertOrMerge):
            return 204, ""
        if row is None:
            return 404, "ResourceNotFound"
        return (204, "") if write.if_match in ("*", row[1]) else (412, "UpdateConditionNotSatisfied")

    def apply(self, table: str, write: Write, etag: str) -> None:
        rows, key = self.tables[table.lower()], write.key if isinstance(write, Delete) else write.entity.key
        old = rows.pop(key, None)
        if old:
            self.older.setdefault((table.lower(), key), []).append(old[1])
        if isinstance(write, Delete):
            assert etag == ""
            return
        tag = (table.lower(), key, etag)
        assert tag not in self.tags, "T4: every change gives a new tag"
        self.tags.add(tag)
        merges = isinstance(write, Merge | InsertOrMerge)
        before = old[0] if old and merges else {}
        rows[key] = ({**before, **write.entity.properties}, etag)

    def made_write(self, kind: type, table: str, entity: Entity, match: str) -> Write:
        if kind is Delete:
            return Delete(table, entity.key, self.etag(table, entity.key, match))
        if kind in (Update, Merge):
            return kind(table, entity, self.etag(table, entity.key, match))  # type: ignore[no-any-return]
        return kind(table, entity)  # type: ignore[no-any-return]

    KINDS = st.sampled_from([Insert, Update, Merge, InsertOrReplace, InsertOrMerge, Delete])

    @rule(kind=KINDS, table=TABLES, entity=ENTITIES, match=MATCH)
    def write(self, kind: type, table: str, entity: Entity, match: str) -> None:
        write = self.made_write(kind, table, entity, match)
        outcome = self.do(write)
        rows = self.tables.get(table.lower())
        expected = (404, "TableNotFound") if rows is None else self.expected(rows, write)
        assert (outcome.status, outcome.code) == expected
        if outcome.ok:
            self.apply(table, write, outcome.etags[0])

    @rule(
        table=TABLES,
        partition_key=PARTS,
        parts=st.lists(st.tuples(KINDS, PARTS, PROPERTIES, MATCH), min_size=1, max_size=4, unique_by=lambda p: p[1]),
    )
    def group(self, table: str, partition_key: str, parts: list[tuple[type, str, dict[str, Property], str]]) -> None:
        writes = tuple(
            self.made_write(kind, table, Entity(EntityKey(partition_key, row_key), properties), match)
            for kind, row_key, properties, match in parts
        )
        outcome = self.do(Group(writes))
        rows = self.tables.get(table.lower())
        if rows is None:
            assert outcome.code == "TableNotFound"
            return
        refused = [(i, *self.expected(rows, w)) for i, w in enumerate(writes) if self.expected(rows, w)[0] >= 400]
        if refused:
            assert (outcome.failed_index, outcome.status, outcome.code) == refused[0]
            return
        assert outcome.status == 202 and len(outcome.etags) == len(writes)
        for write, etag in zip(writes, outcome.etags, strict=True):
            self.apply(table, write, etag)

    # ------------------------------------------------------------------------------------------ reads

    @rule(table=TABLES, key=KEYS, select=st.sampled_from([(), ("a", "none")]))
    def get(self, table: str, key: EntityKey, select: tuple[str, ...]) -> None:
        outcome = self.do(Get(table, key, select))
        rows = self.tables.get(table.lower())
        if rows is None or key not in rows:
            assert outcome.code == ("TableNotFound" if rows is None else "ResourceNotFound")
            return
        (found,) = outcome.entities
        properties, etag = rows[key]
        wanted = {n: p for n, p in properties.items() if not select or n in select}
        assert (found.key, found.properties, found.etag) == (key, wanted, etag)

    @rule(table=TABLES, text=FILTERS, top=st.sampled_from([None, 1, 2, 3]))
    def query(self, table: str, text: str, top: int | None) -> None:
        rows = self.tables.get(table.lower())
        found: list[Entity] = []
        token, number = "", 0
        while number == 0 or token:
            outcome = self.do(Query(table, text, (), top, token))
            if rows is None:
                assert outcome.code == "TableNotFound"
                return
            assert outcome.ok and len(outcome.entities) <= (top or 1000)
            found += outcome.entities
            token, number = outcome.continuation, number + 1
            assert number <= 100, "T5: the pages end"
        tree = parse_filter(text) if text else None
        wanted = sorted(rows, key=lambda key: row_keys.row_key("a", "t", *key))
        wanted = [k for k in wanted if tree is None or evaluate(tree, Entity(k, rows[k][0]).literals())]
        assert [e.key for e in found] == wanted
        assert [(e.properties, e.etag) for e in found] == [rows[k] for k in wanted]

    @rule()
    def list_tables(self) -> None:
        assert (
            self.do(ListTables()).tables == tuple(self.names[name] for name in sorted(self.names))
            or len(self.ranges.ranges) > 1
        )

    # ------------------------------------------------------------------------------------------ what goes on below

    @rule(table=TABLES, partition_key=PARTS)
    def split(self, table: str, partition_key: str) -> None:
        self.ranges.split_at(table, partition_key)

    @precondition(lambda self: len(self.ranges.ranges) > 1)
    @rule(index=st.integers(0, 5))
    def merge_ranges(self, index: int) -> None:
        self.ranges.merge(index)

    @rule(step=st.integers(-50, 50))
    def clock(self, step: int) -> None:
        self.ranges.ticks += step

    @invariant()
    def checks(self) -> None:
        for service in self.services:
            service.check()


TestAgainstModel = AgainstModel.TestCase
TestAgainstModel.settings = settings(max_examples=examples(30), stateful_step_count=40, deadline=None)
