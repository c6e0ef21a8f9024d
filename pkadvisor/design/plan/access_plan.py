"""A plan: how the requests of a class reach its entities, and what is left to filter and to sort."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from pkadvisor.design.keys.key_terms import KeyTerm, shown_filter
from pkadvisor.design.keys.transforms import Atom, HashPart, PeriodPart
from pkadvisor.table.edm import EdmType
from pkadvisor.table.odata import Filter, Or, format_filter
from pkadvisor.values import dataclass


class Access(StrEnum):
    """How a request finds its entities, best to worst."""

    POINT = "point"
    ROW_RANGE = "row range"
    PARTITION_SCAN = "partition scan"
    PARTITION_RANGE_SCAN = "partition-range scan"
    TABLE_SCAN = "table scan"

    @property
    def rank(self) -> int:
        """0 is best."""
        return list(Access).index(self)


Way = tuple[int, Access, bool, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class AccessPlan:
    """The requests that answer one class under one scheme.

    ``via`` is 0 for the main key and i for the i-th index row. ``equal_atoms`` are the groupings that the key fixes,
    ``range_atom`` the one it bounds. ``periods`` is the time part of a PartitionKey whose periods are asked one by one.
    ``unserved`` names the conditions that the key leaves open. Each request has the comparisons ``terms`` and ``rest``;
    the client filters by ``client`` and, where ``own_kind``, drops rows whose own properties make another key (rows of
    another kind in the same table). ``order_served``: each request answers in the wanted order; with several requests
    their answers are merged.
    """

    query: str
    access: Access
    via: int
    pointer: bool
    equal_atoms: tuple[Atom, ...]
    range_atom: Atom | None
    periods: PeriodPart | None
    fans: tuple[HashPart, ...]
    choices: tuple[str, ...]
    unserved: tuple[str, ...]
    order_served: bool
    terms: tuple[KeyTerm, ...]
    rest: tuple[Filter, ...]
    client: tuple[Filter, ...]
    own_kind: bool
    periods_open: bool = False
    """Whether the periods go on to the present."""
    back: bool = False
    """Whether the periods are asked one after the other, the newest first, until ``$top`` rows are found."""
    left_out: frozenset[str] = frozenset()
    """What the keys of other kinds begin with that the comparisons leave out: RowKeys of the partition, or of a scan of
    the table PartitionKeys."""
    top: int | None = None
    """``$top`` of each request: only rows that come in the wanted order may be cut off."""
    unknown: tuple[str, ...] = ()
    """What an update or delete needs and its filter does not name; it writes without a read where this is empty."""
    follows: bool = False
    """Whether the entity behind each row that is found is read."""
    types: Mapping[str, EdmType] = field(default_factory=dict, compare=False, repr=False)
    """The types of the properties, by which ``filters`` writes values."""

    @property
    def filters(self) -> tuple[str, ...]:
        """The ``$filter`` texts, one per kind of request, with template holes where the values go."""
        shown = [term.template(self.types) for term in self.terms]
        for condition in self.rest:
            text = format_filter(condition)
            shown.append(shown_filter(f"({text})" if isinstance(condition, Or) else text))
        return (" and ".join(dict.fromkeys(shown)),)

    @property
    def way(self) -> Way:
        """What tells the plans of one class under one scheme from each other."""
        return self.via, self.access, self.back, self.choices

    @property
    def point(self) -> bool:
        """Whether it names the whole key of a row."""
        return self.access is Access.POINT

    @property
    def by_rows(self) -> bool:
        """Whether it reads a range of the rows of a partition."""
        return self.access is Access.ROW_RANGE

    @property
    def buckets(self) -> int:
        """Requests for the buckets of one choice and period."""
        return product(self.fans)

    @property
    def spreads(self) -> bool:
        """Whether one choice of the query is looked for in several partitions: buckets, periods or a range of them."""
        return self.buckets > 1 or self.periods is not None or self.access.rank > Access.PARTITION_SCAN.rank

    @property
    def several(self) -> bool:
        """Whether there may be more than one request, each with its own answer."""
        return self.buckets > 1 or bool(self.choices) or self.periods is not None


def product(parts: tuple[HashPart, ...]) -> int:
    count = 1
    for part in parts:
        count *= part.buckets_total
    return count
