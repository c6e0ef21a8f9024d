"""What rules are asked about: a design file, its tables, and what stands in them.

    design ─ table ─┬─ key ─ part         a PartitionKey or RowKey, of the entity or of an index row; its variable parts
                    ├─ index_row
                    ├─ query
                    ├─ write
                    ├─ class              a query or a write
                    ├─ transaction
                    ├─ property
                    └─ budget             a bound that the user puts on the cost of the table

A rule names one of these scopes; it sees the facts of its subject and of everything above it.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from pkadvisor.design.keys.scheme import IndexRow
from pkadvisor.design.keys.transforms import Part
from pkadvisor.observe.design_file.declaration_yaml import Path_
from pkadvisor.observe.workload import Operation, QueryClass, Transaction
from pkadvisor.review.views.holes import HOLES
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    from pkadvisor.design.load.estimates import Budget
    from pkadvisor.review.views.views import DesignView, TableView


class Scope(StrEnum):
    """What a rule is about."""

    DESIGN = "design"
    TABLE = "table"
    KEY = "key"
    PART = "part"
    INDEX_ROW = "index_row"
    QUERY = "query"
    WRITE = "write"
    CLASS = "class"
    TRANSACTION = "transaction"
    PROPERTY = "property"
    BUDGET = "budget"


PARENT: dict[Scope, Scope | None] = {
    **dict.fromkeys(Scope, Scope.TABLE),
    Scope.DESIGN: None,
    Scope.TABLE: Scope.DESIGN,
    Scope.PART: Scope.KEY,
}


def visible(scope: Scope) -> tuple[Scope, ...]:
    """A scope and those above it."""
    above = PARENT[scope]
    return (scope, *visible(above)) if above is not None else (scope,)


@dataclass(frozen=True, slots=True)
class KeyString:
    """One key string of a design: of the entity itself (``row`` 0) or of its index row 1, 2, …"""

    parts: tuple[Part, ...]
    text: str
    is_partition: bool
    row: int


@dataclass(frozen=True, slots=True)
class KeyPart:
    """A variable part of a key string and its place in it."""

    part: Part
    position: int
    key: KeyString


@dataclass(frozen=True, slots=True)
class DesignProperty:
    """A property that a design declares or the data has."""

    name: str
    type: EdmType
    size: int | None


@dataclass(frozen=True, eq=False)
class Subject:
    """One thing that a rule is asked about; ``item`` is None for designs and tables."""

    scope: Scope
    name: str
    path: Path_
    logical: str
    parent: Subject | None
    design: DesignView
    table: TableView | None = None
    item: Any = None

    def above(self, scope: Scope) -> Subject:
        """This subject, or the one above it, of a scope."""
        at: Subject | None = self
        while at is not None and at.scope is not scope:
            at = at.parent
        assert at is not None, f"{self.scope} has no {scope} above it"
        return at

    @property
    def view(self) -> TableView:
        """The table of the subject."""
        assert self.table is not None
        return self.table

    @property
    def query(self) -> QueryClass:
        """Of a query or a write: its class."""
        return cast("QueryClass", self.item)

    @property
    def transaction(self) -> Transaction:
        """Of a transaction: the writes that belong together."""
        return cast("Transaction", self.item)

    @property
    def key(self) -> KeyString:
        """Of a key: the key string."""
        return cast("KeyString", self.item)

    @property
    def place(self) -> KeyPart:
        """Of a part: where it stands."""
        return cast("KeyPart", self.item)

    @property
    def index_row(self) -> IndexRow:
        """Of an index row: how it is written."""
        return cast("IndexRow", self.item)

    @property
    def property_(self) -> DesignProperty:
        """Of a property: what is declared of it, or found."""
        return cast("DesignProperty", self.item)

    @property
    def budget(self) -> Budget:
        """Of a budget: the bound."""
        return cast("Budget", self.item)


def hole_of(place: KeyPart) -> tuple[int, int] | None:
    """Where a variable part stands in the text of its key: (from which character, how many)."""
    before = sum(part.constant is None for part in place.key.parts[: place.position])
    holes = [m for m in HOLES.finditer(place.key.text) if m[0] not in ("{{", "}}")]
    return (holes[before].start(), len(holes[before][0])) if before < len(holes) else None


# -- Everything in a table that rules can be asked about, in file order.


@lru_cache(maxsize=64)
def subjects_of_design(design: DesignView) -> tuple[Subject, ...]:
    """Everything that rules can be asked about, in file order, each thing once."""
    top = Subject(Scope.DESIGN, design.name, ("tables",), "tables", None, design)
    return (top, *(s for view in design.tables for s in subjects_of(view, top)))


def subjects_of(view: TableView, top: Subject) -> Iterator[Subject]:
    """The table and everything in it."""
    name, kind = view.section.table, view.section.kind
    path: Path_ = ("tables", name)
    logical = f"tables.{name}" + (f".kinds.{kind}" if kind else "")
    table = Subject(Scope.TABLE, name, path, logical, top, view.design, view)
    yield table
    yield from _keys_of(view, table, logical)
    for i, row in enumerate(view.scheme.index_rows if view.scheme else ()):
        at = f"{logical}.index_rows.{_row_name(row)}"
        here = (*keys_path(view, "index_rows"), "index_rows", i)
        yield Subject(Scope.INDEX_ROW, str(row.key), here, at, table, view.design, view, row)
    declared = _class_paths(view)
    for query in view.workload.classes:
        scope = Scope.QUERY if query.operation is Operation.QUERY else Scope.WRITE
        group = "queries" if scope is Scope.QUERY else "writes"
        here = declared.get(query.name, path)
        at = f"{logical}.{group}.{query.name}"
        yield Subject(scope, query.name, here, at, table, view.design, view, query)
        yield Subject(Scope.CLASS, query.name, here, at, table, view.design, view, query)
    for transaction in (*view.workload.transactions, *_over_kinds(view)):
        yield _transaction(view, transaction, table, path, logical)
    yield from _properties(view, table, path, logical)
    for budget in view.design.budgets:
        at = f"{logical}.budgets.{budget.key}"
        yield Subject(Scope.BUDGET, budget.key, path, at, table, view.design, view, budget)


def keys_path(view: TableView, word: str) -> Path_:
    """Where the file declares the ``word`` (partition_key, row_key or index_rows) that holds for a table or kind: under
    the kind where that has its own."""
    path: Path_ = ("tables", view.section.table)
    own: Path_ = (*path, "kinds", view.section.kind) if view.section.kind else path
    return own if view.design.document.has((*own, word)) else path


def _keys_of(view: TableView, table: Subject, logical: str) -> Iterator[Subject]:
    if view.scheme is None:
        return
    for row, (key, index_row) in enumerate(view.scheme.each_key()):
        rows, main = keys_path(view, "index_rows"), keys_path(view, "partition_key")
        below: Path_ = (*rows, "index_rows", row - 1) if row else main
        prefix = f"{logical}.index_rows.{_row_name(index_row)}" if index_row else logical
        for word, parts, is_partition in (("partition_key", key.partition, True), ("row_key", key.row, False)):
            here: Path_ = (*below, word)
            if row and is_partition and view.declared.index_rows[row - 1].partition_key is None:
                continue  # the entity's own PartitionKey
            text = view.raw_text(row, is_partition)
            item = KeyString(parts, text, is_partition, row)
            subject = Subject(Scope.KEY, text or "''", here, f"{prefix}.{word}", table, view.design, view, item)
            yield subject
            for position, part in enumerate(parts):
                if part.constant is None:
                    place = KeyPart(part, position, item)
                    at = f"{prefix}.{word}.{part}"
                    yield Subject(Scope.PART, str(part), here, at, subject, view.design, view, place)


def _over_kinds(view: TableView) -> tuple[Transaction, ...]:
    """Transactions over several kinds of entity, which belong to no single one: told at the first."""
    declared, kind = view.section.declared, view.section.kind
    if declared is None or kind is None or kind != declared.kinds[0].name:
        return ()
    kinds = {c.name: c.kind for c in declared.workload.classes}
    return tuple(t for t in declared.workload.transactions if len({kinds.get(n) for n in t.together}) > 1)


def _transaction(view: TableView, transaction: Transaction, table: Subject, path: Path_, logical: str) -> Subject:
    names = [t.name for t in view.declared.workload.transactions] if view.section.declared else []
    here = (*path, "transactions", names.index(transaction.name)) if transaction.name in names else path
    at = f"{logical}.transactions.{transaction.name}"
    return Subject(Scope.TRANSACTION, transaction.name, here, at, table, view.design, view, transaction)


def _properties(view: TableView, table: Subject, path: Path_, logical: str) -> Iterator[Subject]:
    own, kind = view.section.own_declaration, view.section.kind
    sizes = dict(own.sizes) if own else {}
    below: Path_ = (*path, "kinds", kind) if kind else path
    for name, edm in view.types.items():
        places: list[Path_] = [(*below, group, name) for group in ("properties", "key_parts")]
        here = next((place for place in places if view.design.document.has(place)), path)
        item = DesignProperty(name, edm, sizes.get(name))
        yield Subject(Scope.PROPERTY, name, here, f"{logical}.properties.{name}", table, view.design, view, item)


def _class_paths(view: TableView) -> dict[str, Path_]:
    """The places of declared classes, by name."""
    content = view.design.document.content
    table = content["tables"].get(view.section.table) if isinstance(content, dict) else None
    out: dict[str, Path_] = {}
    for group in ("queries", "writes"):
        for i, part in enumerate((table or {}).get(group) or ()):
            out[str(part["name"])] = ("tables", view.section.table, group, i)
    return out


def _row_name(row: IndexRow | None) -> str:
    """An index row by its templates: rows have no names."""
    assert row is not None
    return str(row.key)
