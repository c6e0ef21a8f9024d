"""The workload: query and write classes with rates, as declared or as read from a log.

A class is one shape of request. It says which filter over *logical* properties it carries, how often it comes, how its
parameters are drawn, and what its owner expects of it. Nothing here knows a key scheme.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from typing import Any, Final

from pkadvisor.lazy import pl
from pkadvisor.observe.minutes import MinuteSeries
from pkadvisor.table.odata import Filter
from pkadvisor.values import dataclass

SPAN: Final = "_span"
REQUESTS: Final = "_requests"
MINUTE_S: Final = 60
MINUTE_REQUESTS: Final = 2_000
"""Requests that are kept of a minute; of more some are drawn, and each stands for several."""
_LENGTHS: Final = 64
"""Spans are of fewer seconds."""


def span_of(start_s: Any, length_s: Any) -> Any:
    """The number of a span: its start in seconds since 1970, and its length, 1 to 60 (each one, or a column)."""
    return start_s * _LENGTHS + length_s


def length_of(span: int) -> int:
    """The seconds of a span."""
    return span % _LENGTHS


def is_minute(span: int) -> bool:
    """Whether a span is a minute, or the part of one in which a log begins or ends, and no single second."""
    return length_of(span) > 1


@dataclass(frozen=True, slots=True, eq=False)
class BusyRequests:
    """Requests of one class in the busiest seconds and minutes of its table; of group transactions each part is one.

    ``totals``: requests in each of the spans (``span_of``), 0 where the class was not asked. ``rows``: what was asked,
    with the columns ``SPAN`` (Int64) and ``REQUESTS`` (Float64), how often it was asked so. Where rows are fewer than
    the requests of a second, what rows say of a key is a lower bound.
    """

    totals: Mapping[int, float]
    rows: pl.DataFrame

    def scaled(self, factor: float) -> BusyRequests:
        """As many times the requests."""
        totals = {span: n * factor for span, n in self.totals.items()}
        return BusyRequests(totals, self.rows.with_columns(pl.col(REQUESTS) * factor))

    def of(self, spans: Collection[int]) -> BusyRequests:
        """What was asked in some of the spans."""
        totals = {span: n for span, n in self.totals.items() if span in spans}
        return BusyRequests(totals, self.rows.filter(pl.col(SPAN).is_in(list(totals))))

    def part(self, chosen: Sequence[bool], share: float) -> BusyRequests:
        """Some of the rows; of the requests that have none, that share."""
        rows, totals = self.rows.filter(pl.Series(chosen, dtype=pl.Boolean)), dict[int, float]()
        for span, n in self.totals.items():
            all_rows, mine = (float(f.filter(pl.col(SPAN) == span)[REQUESTS].sum()) for f in (self.rows, rows))
            totals[span] = mine + share * max(0.0, n - all_rows)
        return BusyRequests(totals, rows)

    def beside(self, other: BusyRequests) -> BusyRequests:
        """Both parts of a class."""
        spans = sorted({*self.totals, *other.totals})
        totals = {span: self.totals.get(span, 0.0) + other.totals.get(span, 0.0) for span in spans}
        return BusyRequests(totals, pl.concat([self.rows, other.rows], how="diagonal_relaxed"))


class Operation(StrEnum):
    """What a class does to the table."""

    QUERY = "query"
    INSERT = "insert"
    UPDATE = "update"
    UPSERT = "upsert"
    DELETE = "delete"

    @property
    def writes(self) -> bool:
        """Whether the operation changes entities."""
        return self is not Operation.QUERY


class Basis(StrEnum):
    """Where a number comes from."""

    COUNTED = "counted"
    SKETCHED = "sketched"
    DECLARED = "declared"
    PUBLISHED = "published"
    DERIVED = "derived"
    MEASURED = "measured"
    ESTIMATED = "estimated"
    ASSUMED = "assumed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Rate:
    """Requests per second of one class.

    ``peak_per_s`` is the busiest second, ``peak_minute_per_s`` the mean over the busiest minute. ``peak_at``: the
    minutes of the day (UTC) from which and until which a declared peak lasts, over midnight where the second is not
    above the first; None: at any time.
    """

    mean_per_s: float
    peak_per_s: float
    peak_minute_per_s: float | None = None
    basis: Basis = Basis.DECLARED
    peak_at: tuple[int, int] | None = None

    @property
    def sustained_per_s(self) -> float:
        """The rate that capacities are compared with: the busiest minute where it is known, else the busiest second.

        A rare query has a busiest second of one request; what a partition must bear is what lasts.
        """
        return self.peak_per_s if self.peak_minute_per_s is None else max(self.mean_per_s, self.peak_minute_per_s)

    def __post_init__(self) -> None:
        if not 0 <= self.mean_per_s < float("inf"):
            raise ValueError(f"mean_per_s {self.mean_per_s} is not a rate")
        if self.peak_per_s < self.mean_per_s:
            raise ValueError(f"peak_per_s {self.peak_per_s} is below mean_per_s {self.mean_per_s}")


class DrawBy(StrEnum):
    """How the parameters of a class are drawn."""

    ENTITIES = "entities"
    """Each entity of the data set equally likely."""
    DISTINCT = "distinct"
    """Each distinct tuple of ``of`` equally likely."""
    ZIPF = "zipf"
    """Distinct tuples of ``of``, the most frequent first, with probability ∝ rank^-exponent."""
    WEIGHT = "weight"
    """Entities in proportion to the numeric property ``column``."""
    NEWEST = "newest"
    """A ``share`` of requests goes to entities of the newest ``window_s`` seconds, the rest to all."""
    LOG = "log"
    """The parameters seen in a log."""


@dataclass(frozen=True, slots=True)
class Draw:
    """The parameter distribution of a class; ``stated`` is false where it is the default and nobody said so."""

    by: DrawBy = DrawBy.ENTITIES
    of: tuple[str, ...] = ()
    exponent: float = 0.0
    column: str = ""
    share: float = 1.0
    window_s: float = 0.0
    stated: bool = False


@dataclass(frozen=True, slots=True)
class OrderBy:
    """One sort key of a query."""

    property: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class QueryClass:
    """One shape of request with its rate.

    ``filter`` is over logical properties; its operands are literals or parameters (``{x}``).
    ``None`` means: every entity for a query, the written entity itself for an insert.
    ``sets`` names the properties that an update changes. ``entities_per_request`` is above 1 for group transactions.
    """

    name: str
    operation: Operation
    filter: Filter | None
    rate: Rate
    kind: str | None = None
    order_by: tuple[OrderBy, ...] = ()
    top: int | None = None
    latency_goal_ms_p99: float | None = None
    draw: Draw = Draw()
    sets: tuple[str, ...] = ()
    read_modify_write: bool = False
    entities_per_request: float = 1.0
    analytic: bool = False
    """A scan for export or analysis: reported apart, outside the score."""
    one_of: tuple[str, str] | None = None
    """A property that holds several values, of which the filter names one, and what divides them (empty for a JSON
    array); None where every property is compared as a whole."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two values of one ``property`` whose entities change together, such as the two accounts of a transfer.

    ``seen``: pairs of a log or of rows, with columns ``first``, ``second`` and ``_weight`` (Float64, sums to 1) from
    ``source``; None where nothing tells which values meet.
    """

    property: str
    parameters: tuple[str, str]
    seen: pl.DataFrame | None = field(default=None, compare=False, repr=False)
    source: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Transaction:
    """Writes that must, or would like to, change in one entity group transaction.

    The entities written by the classes ``together`` that agree on all of ``group_by`` belong together; with ``pair``
    (``group_by`` is then empty) those of the two values.
    """

    name: str
    together: tuple[str, ...]
    group_by: tuple[str, ...]
    required: bool = False
    logged_entities: float | None = None
    """Mean entities per group in a log; None where no log tells."""
    pair: Pair | None = None
    lasting_s: tuple[tuple[str, float], ...] = ()
    """Of times that the keys of logged groups tell: the seconds within which the entities of nearly all groups lie."""
    requested_entities: float | None = field(default=None, compare=False)
    """Entities that the requests of a set write, where a design declares several for one; else None."""

    @property
    def entities(self) -> float | None:
        """Mean entities of a set, as a log or the design tells; None where the data set says how large the sets are."""
        return self.requested_entities if self.logged_entities is None else self.logged_entities

    def of_requests(self, classes: Iterable[QueryClass]) -> Transaction:
        """The transaction with the entities that one request of each of its classes writes."""
        written = [c.entities_per_request for c in classes if c.name in self.together]
        told = self.pair is None and any(entities > 1 for entities in written)
        return replace(self, requested_entities=float(sum(written)) if told else None)


class GrowthOf(StrEnum):
    """What grows."""

    NEW_KEYS = "new_keys"
    RATE = "rate"
    ROWS_PER_KEY = "rows_per_key"


@dataclass(frozen=True, slots=True)
class Growth:
    """Compound growth: ``factor_per_month`` 1.08 is 8 % a month, over ``horizon_months``."""

    factor_per_month: float
    of: GrowthOf = GrowthOf.RATE
    horizon_months: float = 12.0

    @property
    def factor(self) -> float:
        """Growth over the horizon."""
        return float(self.factor_per_month**self.horizon_months)


@dataclass(frozen=True, slots=True)
class ForeignRequests:
    """Logged requests whose keys no template of the design writes, of ``logged`` requests of the table; of them the
    commonest operation and one key."""

    requests: int = 0
    logged: int = 0
    operation: str = ""
    partition_key: str | None = None
    row_key: str | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """All classes of one table (or of one entity kind of it).

    ``instances`` maps a class name to a polars frame of parameters seen in a log: one column per filter parameter,
    named as the parameter, and ``_weight`` (Float64, sums to 1). Classes absent from it draw from the data set.
    """

    table: str
    classes: tuple[QueryClass, ...]
    transactions: tuple[Transaction, ...] = ()
    growth: Growth | None = None
    retention_s: float | None = None
    isolation: str | None = None
    erase_by: str | None = None
    instances: dict[str, pl.DataFrame] = field(default_factory=dict, compare=False)
    came: dict[str, Sequence[int]] = field(default_factory=dict, compare=False)
    """When the instances of a class came, in µs since 1970, where the log tells."""
    absent: dict[str, float] = field(default_factory=dict, compare=False)
    """The share of a class's logged requests that were answered by 404: what these name need not be in the data."""
    conflicts: dict[str, float] = field(default_factory=dict, compare=False)
    """The share of a class's logged attempts that got 412, as the entity had changed, where any did."""
    read_whole: dict[str, dict[str, float]] = field(default_factory=dict, compare=False)
    """The shares of a class's logged requests that read a whole ``partition``, as they name no RowKey, and the whole
    ``table``, as they name no key."""
    hidden: bool = False
    """Whether the instances come from a profile and hold tokens already."""
    minutes: dict[str, MinuteSeries] = field(default_factory=dict, compare=False)
    """When the classes of a log are busy; those absent are taken to be at their peak all the time."""
    logged: dict[str, Rate] = field(default_factory=dict, compare=False)
    """What a log shows of the classes whose rates are declared: 0 of those that it does not hold."""
    busy: dict[str, BusyRequests] = field(default_factory=dict, compare=False)
    """What a log shows of the busiest seconds: rows have the parameters that ``instances`` have."""
    foreign: ForeignRequests = field(default_factory=ForeignRequests, compare=False)
    """Requests of a log that are in no class: they name keys that no template of the design writes."""
    bursts_refused: bool = field(default=False, compare=False)
    """Whether the service refused requests in the busiest seconds of the log: no burst allowance can be assumed."""
    unpriced: tuple[QueryClass, ...] = field(default=(), compare=False)
    """Classes left out of the cost: of their properties nothing is known."""

    def __post_init__(self) -> None:
        names = [c.name for c in self.classes]
        if len(set(names)) != len(names):
            raise ValueError(f"two classes of {self.table} share a name: {sorted(names)}")
