"""The one seam: an operation arrives at a moment, and a table store says what it answered and how long it took.

The embedded engine, a client of a real endpoint, a server in front of either and the auditor's model all meet here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol, TypeAlias

import msgspec
from msgspec.structs import astuple

from pkadvisor.table.edm import EdmType, TypedValue, Value
from pkadvisor.values import dataclass


class EntityKey(NamedTuple):
    """PartitionKey and RowKey. The order of keys is ``edm.utf16_key`` of both, not that of Python texts."""

    partition_key: str
    row_key: str


class Property(NamedTuple):
    """A property's type and value, as ``edm`` holds values; not checked here, the service checks what it is given."""

    type: EdmType
    value: Value


@dataclass(frozen=True, slots=True)
class Entity:
    """A row: its key, its properties without the system ones, and the service's ``timestamp_ticks`` and ``etag``."""

    key: EntityKey
    properties: Mapping[str, Property]
    timestamp_ticks: int = 0
    etag: str = ""

    def literals(self) -> dict[str, TypedValue]:
        """All properties as a filter sees them, PartitionKey, RowKey and Timestamp too."""
        literals = {name: TypedValue(p.type, p.value) for name, p in self.properties.items()}
        literals["PartitionKey"] = TypedValue(EdmType.STRING, self.key.partition_key)
        literals["RowKey"] = TypedValue(EdmType.STRING, self.key.row_key)
        literals["Timestamp"] = TypedValue(EdmType.DATETIME, self.timestamp_ticks)
        return literals


# ------------------------------------------------------------------------------------------------ operations


@dataclass(frozen=True, slots=True)
class CreateTable:
    """Makes a table. Its name is 3 to 63 letters and digits, a letter first; upper and lower case are the same."""

    table: str


@dataclass(frozen=True, slots=True)
class DeleteTable:
    """Removes a table with all that it holds. For at least 40 s its name answers 409 TableBeingDeleted."""

    table: str


@dataclass(frozen=True, slots=True)
class ListTables:
    """The names of the tables, sorted; in pages."""

    continuation: str = ""
    top: int | None = None


@dataclass(frozen=True, slots=True)
class Insert:
    """A new entity; 409 EntityAlreadyExists where its key is taken."""

    table: str
    entity: Entity


@dataclass(frozen=True, slots=True)
class Update:
    """Puts the properties given in place of all older ones (Update Entity). ``if_match`` is an ETag or ``*``."""

    table: str
    entity: Entity
    if_match: str = "*"


@dataclass(frozen=True, slots=True)
class Merge:
    """Puts the properties given over the older ones (Merge Entity)."""

    table: str
    entity: Entity
    if_match: str = "*"


@dataclass(frozen=True, slots=True)
class InsertOrReplace:
    """Update, or insert where there is no such entity."""

    table: str
    entity: Entity


@dataclass(frozen=True, slots=True)
class InsertOrMerge:
    """Merge, or insert where there is no such entity."""

    table: str
    entity: Entity


@dataclass(frozen=True, slots=True)
class Delete:
    """Removes an entity."""

    table: str
    key: EntityKey
    if_match: str = "*"


Write: TypeAlias = Insert | Update | Merge | InsertOrReplace | InsertOrMerge | Delete


@dataclass(frozen=True, slots=True)
class Group:
    """An entity group transaction: all of them or none."""

    writes: tuple[Write, ...]


@dataclass(frozen=True, slots=True)
class Get:
    """One entity by its key. ``select`` names the properties wanted; empty: all."""

    table: str
    key: EntityKey
    select: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """One page of the entities that a ``$filter`` wants, in key order; ``continuation`` as an earlier page gave it.

    A filter compares values of one type: an Int64 with ``10L``, an Int32 with ``10``. What is of another type is never
    found, and that is no error.
    """

    table: str
    filter: str = ""
    select: tuple[str, ...] = ()
    top: int | None = None
    continuation: str = ""


Operation: TypeAlias = CreateTable | DeleteTable | ListTables | Write | Group | Get | Query


# ------------------------------------------------------------------------------------------------ outcomes


class Outcome(msgspec.Struct, frozen=True, eq=False):
    """What the store answered. ``status`` is the HTTP status, ``code`` the service's error code or empty.

    ``etags`` hold one for each entity written, in the order of the operation; ``failed_index`` is which write of a
    group was refused. ``examined`` counts entities read, ``returned_bytes`` what they weigh by
    ``accounting.entity_bytes``.
    ``latency_ns`` is virtual or real time from arrival to answer; two outcomes are equal whatever it is.
    """

    status: int
    code: str = ""
    message: str = ""
    entities: tuple[Entity, ...] = ()
    tables: tuple[str, ...] = ()
    continuation: str = ""
    etags: tuple[str, ...] = ()
    failed_index: int | None = None
    examined: int = 0
    returned_bytes: int = 0
    latency_ns: int = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Outcome) and astuple(self)[:-1] == astuple(other)[:-1]

    def __hash__(self) -> int:
        return hash(astuple(self)[:-1])

    @property
    def ok(self) -> bool:
        """Whether it was carried out."""
        return self.status < 400

    @property
    def uncertain(self) -> bool:
        """Whether the operation may have been carried out although no success was answered (500 OperationTimedOut)."""
        return self.status == 500


class TableStore(Protocol):
    """A table store, whoever plays it."""

    def execute(self, operation: Operation, at_ms: float) -> Outcome:
        """The operation arrives at ``at_ms`` (ms, never before an earlier one); what came of it."""
