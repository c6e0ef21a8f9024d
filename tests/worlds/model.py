"""A world: a full table of one or more kinds, what is asked of it, the keys in use, and further schemes to be counted.

Everything is a frozen value; ``tests/worlds/draw`` draws them, ``files`` writes them as files of ``advisor``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.worlds.values import Row, Value


@dataclass(frozen=True)
class Parameter:
    """The value of a property in the entity drawn, moved by an offset (microseconds for times)."""

    name: str
    offset: int = 0


@dataclass(frozen=True)
class Constant:
    """A value that the filter names."""

    value: Value


@dataclass(frozen=True)
class Compare:
    """``property operator operand``; ``lower`` holds for every spelling of a text of which the lower case is known."""

    name: str
    operator: str
    operand: Parameter | Constant


@dataclass(frozen=True)
class AnyOf:
    """Comparisons joined by ``or``."""

    items: tuple[Compare, ...]


@dataclass(frozen=True)
class Negated:
    """``not`` of a comparison."""

    item: Compare


Condition = Compare | AnyOf | Negated


@dataclass(frozen=True)
class Draw:
    """Whose values fill the parameters: ``entities``, ``distinct``, ``zipf``, ``weight`` or ``newest``."""

    by: str = "entities"
    of: tuple[str, ...] = ()
    exponent: float = 0.0
    column: str = ""
    share: float = 0.0
    window_s: int = 0


@dataclass(frozen=True)
class Asked:
    """A query or a write of one kind; ``operation`` is ``query`` for queries. ``where`` None: written by its key."""

    name: str
    kind: str
    operation: str
    where: tuple[Condition, ...] | None
    rate: float
    """Requests per second."""
    peak: float | None = None
    peak_at: tuple[int, int] | None = None
    """Hours of the day (UTC), from and until."""
    draw: Draw | None = None
    order_by: tuple[tuple[str, bool], ...] = ()
    """(property, whether falling)."""
    top: int | None = None
    analytic: bool = False
    p99_ms: int | None = None
    sets: tuple[str, ...] = ()
    read_modify_write: bool = False
    entities_per_request: int = 1
    by_key: tuple[str, ...] = ()
    """``where`` written as ``key: [...]``."""

    def conditions(self) -> tuple[Condition, ...]:
        """The conjuncts; none where nothing is asked."""
        return self.where or ()

    def comparisons(self) -> tuple[Compare, ...]:
        """Every comparison, from left to right."""
        out: list[Compare] = []
        for each in self.conditions():
            out += each.items if isinstance(each, AnyOf) else (each.item if isinstance(each, Negated) else each,)
        return tuple(out)

    def parameters(self) -> tuple[str, ...]:
        """The properties whose values fill parameters."""
        return tuple(dict.fromkeys(c.operand.name for c in self.comparisons() if isinstance(c.operand, Parameter)))

    def equal(self) -> dict[str, Parameter | Constant]:
        """Properties that the filter fixes."""
        found = {c.name: c.operand for c in self.conditions() if isinstance(c, Compare) and c.operator == "eq"}
        return {n: o for n, o in found.items() if not isinstance(o, Parameter) or not o.offset}

    def choices(self) -> dict[str, tuple[Parameter | Constant, ...]]:
        """Properties of which the filter names several values."""
        out = {}
        for each in self.conditions():
            alike = isinstance(each, AnyOf) and len({c.name for c in each.items}) == 1
            if isinstance(each, AnyOf) and alike and all(c.operator == "eq" for c in each.items):
                out[each.items[0].name] = tuple(c.operand for c in each.items)
        return out


@dataclass(frozen=True)
class IndexRow:
    """A further row of each entity; ``partition`` None: the entity's own."""

    partition: str | None
    row: str
    copy: str = "full"


@dataclass(frozen=True)
class Scheme:
    """Templates of the keys."""

    partition: str
    row: str
    index_rows: tuple[IndexRow, ...] = ()

    def each_key(self) -> tuple[tuple[str, str, str], ...]:
        """(PartitionKey, RowKey, main, full or pointer) of each row that an entity has."""
        others = ((self.partition if r.partition is None else r.partition, r.row, r.copy) for r in self.index_rows)
        return ((self.partition, self.row, "main"), *others)

    @property
    def text(self) -> str:
        """As it is reported."""
        rows = "".join(f" + {r.partition or self.partition} | {r.row} ({r.copy})" for r in self.index_rows)
        return f"{self.partition} | {self.row}{rows}"


@dataclass(frozen=True)
class Kind:
    """Entities of one kind, in order of arrival."""

    name: str
    types: Mapping[str, str]
    rows: tuple[Row, ...]
    arrival: str | None = None
    """A time property, ``file_order``, or None."""
    schemes: tuple[Scheme, ...] = ()
    """To be counted beside the keys in use and the recommended ones."""
    current: Scheme | None = None
    """The keys in use of one of several kinds."""
    total: int | None = None
    """Entities that the design declares."""
    several: Mapping[str, str] = field(default_factory=dict)
    """Properties that hold several values, each with what divides them; nothing: a JSON array."""
    told: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Of properties, what the design says beside the type: ``size``, ``sensitive``."""
    sampling: Mapping[str, object] = field(default_factory=dict)
    """What the design says of how the data of one of several kinds was taken."""


@dataclass(frozen=True)
class Transaction:
    """Writes that belong together."""

    name: str
    together: tuple[str, ...]
    group_by: tuple[str, ...]
    required: bool = False
    pair: tuple[str, str, str] | None = None
    """In place of ``group_by``: the property of whose values two belong together, and the names of the two. Where the
    entities have both names as properties, each of them names a pair; else any two values may meet."""
    entities: int | None = None
    """Entities of a set, where one of the writes declares several in each request; None where the data tells it."""


@dataclass(frozen=True)
class Growth:
    """Compound growth in per cent."""

    percent: int
    per: str
    of: str
    horizon_months: int


@dataclass(frozen=True)
class World:
    """All of it. ``form`` is how the data is written: ``jsonl``, ``csv``, ``typed-csv`` or ``rest``."""

    seed: int
    table: str
    kinds: tuple[Kind, ...]
    asked: tuple[Asked, ...]
    current: Scheme | None = None
    transactions: tuple[Transaction, ...] = ()
    growth: Growth | None = None
    retention_days: int | None = None
    form: str = "jsonl"
    inferred: bool = False
    """The design declares no properties: their types are those of the data."""
    extra: Mapping[str, object] = field(default_factory=dict)
    """Further keys of the table in the design file, such as ``isolation`` or ``retry``."""

    def kind(self, name: str) -> Kind:
        """The kind of a name."""
        return next(k for k in self.kinds if k.name == name)

    def of(self, kind: str) -> tuple[Asked, ...]:
        """What is asked of a kind."""
        return tuple(a for a in self.asked if a.kind == kind)

    def keys_in_use(self, kind: str) -> Scheme | None:
        """Those of a kind."""
        return self.kind(kind).current or self.current

    @property
    def entities(self) -> int:
        """Rows of the whole table."""
        return sum(len(kind.rows) for kind in self.kinds)
