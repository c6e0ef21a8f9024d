"""What is known about a scheme after it was judged: costs per class, what it breaks, what its owner should know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pkadvisor.design.demand import Demand
from pkadvisor.design.heat import Fronts
from pkadvisor.design.plan import AccessPlan
from pkadvisor.design.population import Population
from pkadvisor.design.scheme import KeyScheme
from pkadvisor.observe.workload import Basis, GrowthOf, Operation, Workload

if TYPE_CHECKING:
    from pkadvisor.limits import Limits


DEFAULT_HORIZON_FACTOR = 3.0
"""Growth that a design must survive where none is declared: assumed."""


@dataclass(frozen=True, slots=True)
class Term:
    """One number of a cost: its unit, where it comes from, and the interval that holds it with 95 % where it was
    estimated."""

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

    ``resource`` is what binds: entity, partition, range, server or account. ``by``: the kinds of growth that raise it.
    """

    cause: str
    resource: str
    measured: float
    limit: float
    unit: str
    factor: float
    factor_comfort: float
    by: tuple[GrowthOf, ...]


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

    @property
    def entities_per_s(self) -> float:
        """Entities counted toward targets per second, mean."""
        return self.rate_per_s * (self.entities_read + self.entities_written)


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


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that the owner of the design should know and that breaks nothing by itself."""

    code: str
    message: str
    hidden: str = ""
    """The message without values of the data, where it quotes some."""


@dataclass(frozen=True, slots=True)
class HotPartition:
    """The partition that takes most of the load at the peak."""

    partition_key: str
    entities_per_s: float
    share: float
    partitions: int


@dataclass(frozen=True, slots=True)
class TransactionOutcome:
    """What becomes of a set of writes that belong together."""

    name: str
    kept: bool
    required: bool
    mean_entities: float
    too_large: int
    groups: int


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """A scheme with everything that was computed about it."""

    scheme: KeyScheme
    classes: tuple[ClassCost, ...]
    hot: HotPartition | None
    fronts: Fronts
    inserts_per_s_peak: float
    requests_per_s: float
    requests_per_s_peak: float
    entities_per_s: float
    bytes_per_entity: float
    break_factor: float
    break_cause: str
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
    breaks: tuple[Break, ...] = ()
    latency_excess: float = 0.0
    """The worst p99 of a class that is not analytic, in times of its goal; up to 1 every goal is met."""

    @property
    def feasible(self) -> bool:
        """Whether every hard constraint holds."""
        return not self.violations


@dataclass(frozen=True, slots=True)
class Budget:
    """A bound that the user puts on a term; ``key`` is one of ``budgets.BOUNDS``."""

    key: str
    limit: float
    unit: str


@dataclass(frozen=True, slots=True)
class Bench:
    """What every scheme of one table is measured against."""

    population: Population
    workload: Workload
    demands: tuple[Demand, ...]
    limits: Limits
    property_bytes: float
    """Mean stored bytes of an entity without its keys."""
    budgets: tuple[Budget, ...] = ()

    @property
    def horizon_factor(self) -> float:
        """Rate growth that the design must survive."""
        growth = self.workload.growth
        if growth is None or growth.of is GrowthOf.ROWS_PER_KEY:
            return DEFAULT_HORIZON_FACTOR if growth is None else growth.factor
        return max(1.0, growth.factor)
