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

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pkadvisor.design.keys.transforms import Part
from pkadvisor.observe.design_file.declaration_yaml import Path_
from pkadvisor.review.views.holes import HOLES
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

if TYPE_CHECKING:
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
    Scope.DESIGN: None,
    Scope.TABLE: Scope.DESIGN,
    Scope.KEY: Scope.TABLE,
    Scope.PART: Scope.KEY,
    Scope.INDEX_ROW: Scope.TABLE,
    Scope.QUERY: Scope.TABLE,
    Scope.WRITE: Scope.TABLE,
    Scope.CLASS: Scope.TABLE,
    Scope.TRANSACTION: Scope.TABLE,
    Scope.PROPERTY: Scope.TABLE,
    Scope.BUDGET: Scope.TABLE,
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


def hole_of(place: KeyPart) -> tuple[int, int] | None:
    """Where a variable part stands in the text of its key: (from which character, how many)."""
    before = sum(part.constant is None for part in place.key.parts[: place.position])
    holes = [m for m in HOLES.finditer(place.key.text) if m[0] not in ("{{", "}}")]
    return (holes[before].start(), len(holes[before][0])) if before < len(holes) else None
