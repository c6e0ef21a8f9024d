"""What is known about a scheme after it was judged: costs per class, what it breaks, what its owner should know."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.keys.transforms import Part
from pkadvisor.design.load.shared_keys import SharedKey
from pkadvisor.design.plan.access_plan import AccessPlan, Way
from pkadvisor.design.plan.requests import PairRepair
from pkadvisor.design.rows.demand import Demand
from pkadvisor.design.rows.fronts import Fronts
from pkadvisor.design.rows.other_kinds import RowsOfKind
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.sets.pairs import Guarantee
from pkadvisor.lazy import Bools, Floats
from pkadvisor.limits import Limits
from pkadvisor.numbers import percent
from pkadvisor.observe.workload import Basis, Growth, GrowthOf, Operation, Workload
from pkadvisor.values import dataclass

LOAD_DECIDES = 0.1
"""Share of the load below which what it rests on decides nothing."""
BREAK_ENOUGH = 10.0
"""Times the load of today from which on it is no merit of a design to bear more."""
BREAK_LEAST = 1.25
"""A break factor from which on a design has room: no target is used beyond 80 %."""
ROOM_UNDECLARED = 2.0
"""The break factor to plan for where no growth is declared: assumed."""
DEFAULT_HORIZON_FACTOR = 3.0
"""Growth that a design must survive where none is declared: assumed."""


@dataclass(frozen=True, slots=True)
class Term:
    """One number of a cost: its unit, its source, and the interval that holds it with 95 % where it was estimated."""

    name: str
    value: float
    unit: str
    basis: Basis
    source: str = ""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Break:
    """Where growth ends: ``factor`` times today's peak passes a limit, ``factor_comfort`` its head-room line.

    ``resource`` is what binds: entity, partition, range, server, account or number (its digits). ``by``: the kinds of
    growth that raise it; ``fixed``: the part of ``measured`` that they leave. A factor below 1: it is passed already.
    """

    cause: str
    resource: str
    measured: float
    limit: float
    unit: str
    factor: float
    factor_comfort: float
    by: tuple[GrowthOf, ...]
    fixed: float = 0.0
    others: float = 0.0
    """The part of ``measured`` that other tables and kinds bring."""

    def load_at(self, factor: float) -> float:
        """The load at that growth."""
        return self.fixed + factor * (self.measured - self.fixed)

    def months(self, growth: Growth | None) -> float | None:
        """Months from now until the limit is passed at the declared growth; None beyond its horizon, where it does not
        raise this load, or where the load is shared with tables that grow otherwise."""
        if growth is None or growth.of not in self.by or self.others:
            return None
        if self.factor <= 1:
            return 0.0
        if growth.factor_per_month <= 1:
            return None
        months = math.log(self.factor) / math.log(growth.factor_per_month)
        return months if months <= growth.horizon_months else None


@dataclass(frozen=True, slots=True)
class ClassCost:
    """One class under one scheme, per operation and at its rates.

    ``entities_read`` is what the service scans, ``entities_returned`` what the application gets, both as means over the
    parameters; ``requests`` includes continuation pages and, for a located write, the look-up.
    """

    name: str
    operation: Operation
    plan: AccessPlan | None
    rate_per_s: float
    peak_per_s: float
    entities_read: float
    entities_read_max: float
    entities_returned: float
    entities_written: float
    requests: float
    fan_out: float
    analytic: bool = False
    notes: tuple[str, ...] = ()
    latency_ms_p50: float = 0.0
    latency_ms_p99: float = 0.0
    latency_goal_ms_p99: float = 0.0
    entities_changed: float = 0.0
    """Logical entities that a write changes; its index rows and moved rows are in ``entities_written``."""
    entities_by_bytes: float = 0.0
    """Read and written, each row counted once for every started ``limits.capacity_entity_bytes``."""
    bytes_written: float = 0.0
    round_trips: float = 1.0
    """Requests that wait for one another; buckets are asked side by side."""
    continuations: float = 0.0
    """Of ``requests``, those that only go on where an answer ended: at a page, or at a server boundary."""
    range_ends: float = 0.0
    """Of ``continuations``, those behind the end of a range."""
    requests_locate: float = 0.0
    """Those of ``requests`` that find what is then written."""
    requests_write: float = 0.0
    """Write requests that are sent at once, and those for index rows elsewhere that follow (``requests_after``)."""
    requests_after: float = 0.0
    group_entities: float = 1.0
    """Rows of one write request."""
    entities_read_p50: float = 0.0
    entities_read_p99: float = 0.0
    """Entities read for the parameters in the middle, and for those that read more than 99 in 100."""
    attempts: float = 1.0
    """Read-modify-writes sent for one that commits."""

    @property
    def entities_per_s(self) -> float:
        """Entities counted toward targets per second, mean."""
        return self.rate_per_s * (self.entities_read + self.entities_written)

    @property
    def useful_share(self) -> float:
        """Entities asked for (a miss asks for one) ÷ entities counted, at most 1."""
        wanted = self.entities_returned if self.operation is Operation.QUERY else self.entities_changed
        return min(1.0, max(1.0, wanted) / max(1.0, self.entities_read + self.entities_written))


@dataclass(frozen=True, slots=True)
class Violation:
    """A hard constraint that the scheme breaks: what was measured, what the limit is, and by which factor.

    ``assumed``: it holds at the declared peak and fails only at a growth that nobody declared. ``keys`` are the key
    values that the message quotes, for whoever must hide them.
    """

    code: str
    message: str
    measured: float
    limit: float
    unit: str
    severity: float
    assumed: bool = False
    keys: tuple[str, ...] = ()
    hidden: str = ""
    """The message without values of the data, where it quotes some."""
    subject: str = ""
    """Which of several constraints of a kind: the name of a transaction or of a budget."""
    sets: float = 0.0
    """Sets of required transactions that are not written whole, of ``sets_of`` that there are."""
    sets_of: float = 0.0


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that the owner of the design should know and that breaks nothing by itself."""

    code: str
    message: str
    hidden: str = ""
    """The message without values of the data, where it quotes some."""


@dataclass(frozen=True, slots=True)
class HotPartition:
    """The partition that takes most of the load at the peak.

    ``verdict``: ``hot-entity`` (one entity alone: no key helps), ``hot-partition`` (one PartitionKey: no split helps),
    or empty below the head-room line; ``helps`` says what does. ``basis`` is counted where a log says which classes
    peak together, declared where a design file does, else assumed: all at once. ``template``: of its key; ``row``
    lies in it, None where no row at hand does.
    """

    partition_key: str
    entities_per_s: float
    share: float
    partitions: int
    verdict: str = ""
    helps: str = ""
    mean_per_s: float = 0.0
    second_per_s: float = 0.0
    basis: Basis = Basis.ASSUMED
    template: tuple[Part, ...] = ()
    row: int | None = None


@dataclass(frozen=True, slots=True)
class TransactionOutcome:
    """What becomes of a set of writes that belong together."""

    name: str
    kept: bool
    required: bool
    mean_entities: float
    too_large: int
    groups: int
    entities_per_s: float = 0.0
    """Entities that the classes of the set write, mean."""
    entities_most: int = 1
    """Entities of one group transaction, index rows of the same partition and their bytes included."""
    requests_each: float = 1.0
    """Group transactions for each entity: sets of more than ``entities_most`` take several."""
    of_several: int = 0
    """Sets of more than one entity: a key that does not keep them lays them apart."""
    guaranteed: Guarantee | None = None
    """Of pairs, the share that lies in one partition by rule."""
    repair: PairRepair | None = None
    """How a pair that does not lie in one partition is brought to its end after a failure."""

    @property
    def sets(self) -> int:
        """Sets that there are; of a log's alone nobody knows how many."""
        return max(1, self.groups)

    @property
    def broken(self) -> float:
        """Sets that are not written whole; of pairs those that the key does not keep by rule."""
        if self.kept:
            return self.too_large
        return max(1, self.of_several) if self.guaranteed is None else self.sets * (1 - self.share_kept)

    @property
    def share_kept(self) -> float:
        """Share of the sets that lie in one partition by rule: all or none but for pairs."""
        return float(self.kept) if self.guaranteed is None or self.kept else self.guaranteed.share


@dataclass(frozen=True, slots=True)
class Retention:
    """How expired entities go: ``how`` in words; ``requests_per_s`` are those that locate and delete them."""

    cut: bool
    """Whether a table per period holds them, which is dropped as a whole."""
    how: str
    expired_per_s: float
    requests_per_s: float


@dataclass(frozen=True, slots=True)
class Erasure:
    """All of one value of ``erase_by``: rows to delete with index rows, and requests to find and delete them."""

    property: str
    rows: float
    rows_max: float
    requests: float
    requests_max: float
    scans: bool
    """Whether finding them reads a run of partitions or the table."""


@dataclass(frozen=True, slots=True)
class Measures:
    """The numbers of one scheme that move with the rows and parameters that were drawn."""

    classes: tuple[ClassCost, ...]
    fronts: Fronts
    inserts_per_s_peak: float
    requests_per_s: float
    requests_per_s_peak: float
    entities_per_s: float
    bytes_per_entity: float
    latency_excess: float
    """The worst p99 of a class that is not analytic, in times of its goal; up to 1 every goal is met."""
    breaks: tuple[Break, ...]
    """Those of the load, and those of single entities that are updated too often."""
    break_factor: float
    break_cause: str


@dataclass(frozen=True, slots=True)
class CostEstimate(Measures):
    """A scheme with everything that was computed about it."""

    scheme: KeyScheme
    hot: HotPartition | None
    horizon_factor: float
    transactions: tuple[TransactionOutcome, ...]
    violations: tuple[Violation, ...]
    remarks: tuple[Remark, ...]
    score: float
    partitions: int
    surplus: int
    inversions: int = 0
    """Pairs of key properties in another order than the filters name them, the heaviest query first."""
    terms: tuple[Term, ...] = ()
    full: tuple[Break, ...] = ()
    """Numbers of the keys that time fills, whatever grows (``key_findings``)."""
    retention: Retention | None = None
    erasure: Erasure | None = None
    room_factor: float = ROOM_UNDECLARED
    """The break factor that is the room for growth to plan for."""
    open_ended: int = 0
    """Keys whose partitions nothing bounds while entities are inserted; one partition for all entities counts twice."""

    @property
    def feasible(self) -> bool:
        """Whether every hard constraint holds."""
        return not self.violations


@dataclass(frozen=True, slots=True)
class Confidence:
    """How sure it is that one scheme is ahead of another: the share of resamples in which it is.

    ``share`` is None where nothing can be said (``note`` says why) and 1 where every row was counted. ``rows_needed``:
    further rows of the ``rows_of`` (data or log) that would tell, None where it is sure or where rows do not help.
    """

    share: float | None
    deciding_goal: str
    basis: Basis
    rows_needed: int | None = None
    rows_of: str = "data"
    rival: str = ""
    note: str = ""
    assumed: float = 0.0
    """Share of the load whose parameters are a guess: where it matters, counting every row makes nothing sure."""
    doubted: bool = False
    """Whether the evidence contradicts itself, or tells nothing of a query: the figures may be wrong."""

    def with_assumed(self, share: float) -> Confidence:
        """How sure it is where a share of the load is a guess: where that decides, nothing is sure or counted."""
        if share < LOAD_DECIDES:
            return self
        return replace(self._with_note(f"{percent(share)} of the draws are assumed"), assumed=share)

    def with_doubt(self, note: str) -> Confidence:
        """How sure it is where the evidence contradicts itself, or tells nothing of a query."""
        return replace(self._with_note(note), doubted=True)

    def _with_note(self, note: str) -> Confidence:
        if self.basis is Basis.COUNTED:
            return replace(self, share=None, basis=Basis.ASSUMED, note=f"{self.note}, but {note}")
        return replace(self, note="; ".join(filter(None, (self.note, note))))


@dataclass(frozen=True, slots=True)
class Budget:
    """A bound that the user puts on a term; ``key`` is one of ``budgets.BOUNDS``."""

    key: str
    limit: float
    unit: str


@dataclass(frozen=True, slots=True)
class Read:
    """What one class reads along one plan; ``counted`` is each instance's load toward the targets, of which
    ``followed`` is that of the entities that pointers lead to, and ``scanned`` that of the ``rows`` between the bounds.
    ``piecewise_scans`` marks the instances whose requests read several partitions to the ends of their bounds for a few
    of the rows: a scan in many small requests. None where no instance does.
    """

    plan: AccessPlan
    per_instance: Floats
    entities: float
    entities_max: float
    returned: float
    requests: float
    fan_out: float
    counted: Floats
    requests_each: Floats
    rows: Floats
    scanned: Floats
    followed: Floats | float = 0.0
    piecewise_scans: Bools | None = None
    by_bytes: float = 1.0
    round_trips: float = 1.0
    continuations: float = 0.0
    range_ends: float = 0.0


@dataclass(frozen=True, slots=True)
class Bench:
    """What every scheme of one table is measured against."""

    population: Population
    workload: Workload
    demands: tuple[Demand, ...]
    limits: Limits
    property_bytes: float
    """Mean stored bytes of an entity without its keys."""
    count_bytes: bool = False
    """The other reading of the targets: a row counts once for every started ``limits.capacity_entity_bytes``."""
    declared_sizes: Mapping[str, int] = field(default_factory=dict)
    """Mean lengths of values that the design states, by property."""
    budgets: tuple[Budget, ...] = ()
    along: Mapping[str, Way] = field(default_factory=dict)
    """The ``AccessPlan.way`` that classes go, where that is not to be chosen here."""
    reads: dict[tuple[KeyScheme, str], Read] | None = None
    """What each class reads under each scheme, kept by whoever prices a few schemes at many rates."""
    shared: tuple[SharedKey, ...] = ()
    """Keys in use that rows of other kinds of the table have too, or could have."""
    beside: Mapping[str, float] = field(default_factory=dict)
    """What other tables and kinds bring to each target of the account at the worst moment of all, by cause."""
    other_kinds: tuple[RowsOfKind, ...] = ()
    """The rows of the other kinds of the table, under their keys in use."""
    refused: tuple[str, ...] = ()
    """Why the service refuses some of the entities, whatever their keys."""
    secret: frozenset[str] = frozenset()
    """Properties whose values no key may show."""

    @property
    def memo(self) -> dict[object, Any]:
        """Results of pure functions of the bench, kept with its rows."""
        return self.population.memo

    @property
    def horizon_factor(self) -> float:
        """Growth that the design must survive, of what ``growth_of`` names."""
        return max(1.0, self.workload.growth.factor) if self.workload.growth else DEFAULT_HORIZON_FACTOR

    @property
    def room_factor(self) -> float:
        """The break factor to plan for: 80 % of a target after the declared growth, else 2 (assumed)."""
        return BREAK_LEAST * self.horizon_factor if self.workload.growth else ROOM_UNDECLARED

    @property
    def growth_of(self) -> GrowthOf:
        """What grows: the rates where nothing is declared."""
        return self.workload.growth.of if self.workload.growth else GrowthOf.RATE
