"""Several entity kinds of one table: the transactions that cross them, and what an arrangement of the kinds is.

A group transaction reaches one PartitionKey of one table. Writes of several kinds are atomic only where the kinds lie
under the same PartitionKey, made of what the transaction's entities have in common; their rows are then told apart by a
prefix of the RowKey. ``arrange`` weighs which transactions are worth that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from pkadvisor.design.choice.conflicts import Constraint, constraint_of
from pkadvisor.design.choice.kind_labels import kind_labels, with_label
from pkadvisor.design.keys.scheme import IndexRow, Key, KeyScheme
from pkadvisor.design.load.estimates import Bench, CostEstimate, Violation
from pkadvisor.observe.workload import QueryClass, Transaction, Workload
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass


@dataclass(frozen=True, slots=True)
class Member:
    """A class of writes in a transaction: its kind, and how many of its entities one transaction writes."""

    name: str
    kind: str
    entities: float


@dataclass(frozen=True, slots=True)
class Bond:
    """A transaction whose writes are of several kinds.

    ``rate_per_s`` is transactions per second (mean and peak), ``missing`` says what keeps it from ever being one group
    transaction: a kind that lacks what the set has in common, or holds it as another type.
    """

    name: str
    required: bool
    group_by: tuple[str, ...]
    members: tuple[Member, ...]
    rate_per_s: float
    peak_per_s: float
    missing: tuple[str, ...]
    alike: tuple[tuple[str, str, str], ...] = ()
    """(kind, property of ``group_by``, the property that it has instead, which a rule makes of that)."""

    def common(self, kind: str) -> tuple[str, ...]:
        """What a kind has of the properties that the set has in common."""
        instead = {name: other for of, name, other in self.alike if of == kind}
        return tuple(instead.get(name, name) for name in self.group_by)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds written, in order."""
        return tuple(dict.fromkeys(m.kind for m in self.members))

    @property
    def entities(self) -> float:
        """Entities that one transaction writes, index rows not counted."""
        return sum(m.entities for m in self.members)


@dataclass(frozen=True, slots=True)
class Arrangement:
    """One way to lay out the kinds of a table: which transactions stay atomic, and a scheme for each kind.

    ``shared`` maps nothing away: (PartitionKey template, its kinds) for each group of kinds that share one.
    ``violations`` are those of the kinds, of the shared partitions, and of the required transactions that are lost.
    """

    kept: tuple[str, ...]
    shared: tuple[tuple[str, tuple[str, ...]], ...]
    schemes: tuple[tuple[str, CostEstimate], ...]
    violations: tuple[tuple[str, Violation], ...]
    requests_per_s: float
    requests_per_s_peak: float
    entities_per_s: float
    hottest_per_s: float

    @property
    def severity(self) -> float:
        """The worst factor by which a hard constraint is missed; 0 where all hold."""
        return max((v.severity for _, v in self.violations), default=0.0)

    @property
    def latency_excess(self) -> float:
        """The worst p99 of any class, in times of its goal."""
        return max((estimate.latency_excess for _, estimate in self.schemes), default=0.0)

    @property
    def structures(self) -> tuple[int, int]:
        """(eventually consistent index rows, all index rows) of the kinds."""
        rows = [
            estimate.scheme.same_partition(row) for _, estimate in self.schemes for row in estimate.scheme.index_rows
        ]
        return rows.count(False), len(rows)

    def broken(self) -> frozenset[Constraint]:
        """The constraints missed at the declared load."""
        return frozenset(constraint_of(v) for _, v in self.violations if not v.assumed)

    def scheme_of(self, kind: str) -> CostEstimate:
        """The estimate of one kind."""
        return dict(self.schemes)[kind]


@dataclass(frozen=True, slots=True)
class Relaxation:
    """The best arrangement where one of the constraints in conflict does not count."""

    dropped: Constraint
    arrangement: Arrangement


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Constraints that no arrangement holds together, and the best arrangement without each."""

    constraints: tuple[Constraint, ...]
    relaxed: tuple[Relaxation, ...]


@dataclass(frozen=True, slots=True)
class Arranged:
    """The answer for the kinds of one table. ``rivals`` are the best arrangements that keep other transactions."""

    table: str
    bonds: tuple[Bond, ...]
    chosen: Arrangement
    rivals: tuple[Arrangement, ...]
    conflicts: tuple[Contradiction, ...]


@dataclass(frozen=True, slots=True)
class KindPool:
    """What one kind offers: the bench it is measured on, and its schemes where no transaction crosses kinds, best
    first."""

    kind: str
    bench: Bench
    apart: tuple[CostEstimate, ...]
    priced: tuple[CostEstimate, ...] = ()
    """Every scheme that was priced for it alone."""
    current: CostEstimate | None = None
    """The scheme in use."""
    shared: dict[str, CostEstimate] = field(default_factory=dict, compare=False)
    """Schemes priced beside other kinds, by their text: layouts share most of them."""
    hottest: dict[str, dict[str, float]] = field(default_factory=dict, compare=False)
    """Loads of the hottest partitions, by the text of the scheme."""


def bonds_of(
    workload: Workload,
    properties: Mapping[str, Mapping[str, EdmType]],
    alike: Mapping[str, Mapping[str, str]] | None = None,
) -> tuple[Bond, ...]:
    """The transactions of a table that write more than one kind.

    ``properties`` are those of each kind, by type; ``alike`` names the property that a kind has in place of one that it
    lacks, of which a rule of the table makes it.
    """
    by_name = {c.name: c for c in workload.classes}
    candidates = (_bond(t, by_name, properties, alike or {}) for t in workload.transactions)
    return tuple(bond for bond in candidates if bond is not None)


def _bond(
    declared: Transaction,
    by_name: Mapping[str, QueryClass],
    properties: Mapping[str, Mapping[str, EdmType]],
    alike: Mapping[str, Mapping[str, str]],
) -> Bond | None:
    classes = [by_name[name] for name in declared.together if name in by_name]
    kinds = {c.kind for c in classes}
    if len(kinds) < 2 or None in kinds:
        return None
    # One transaction has one request of its rarest class: an order of many lines has one header.
    mean = min(c.rate.mean_per_s * c.entities_per_request for c in classes)
    peak = min(c.rate.sustained_per_s * c.entities_per_request for c in classes)
    members = tuple(
        Member(c.name, c.kind or "", c.rate.mean_per_s * c.entities_per_request / mean if mean else 1.0)
        for c in classes
    )
    every = tuple(dict.fromkeys(m.kind for m in members))
    instead = tuple(
        (kind, name, alike[kind][name])
        for name in declared.group_by
        for kind in every
        if name not in properties.get(kind, {}) and name in alike.get(kind, {})
    )
    missing = tuple(
        why
        for name in declared.group_by
        for why in _unlike(name, {k: properties.get(k, {}) for k in every if (k, name) not in {i[:2] for i in instead}})
    )
    return Bond(declared.name, declared.required, declared.group_by, members, mean, peak, missing, instead)


def _unlike(name: str, properties: Mapping[str, Mapping[str, EdmType]]) -> list[str]:
    """Why kinds cannot write one property alike in their keys: some lack it, or hold it as another type."""
    lacking = [f"{kind} has no {name}" for kind, types in properties.items() if name not in types]
    kinds: dict[EdmType, list[str]] = {}
    for kind, types in properties.items():
        if name in types:  # whole numbers of either size are written alike
            edm = EdmType.INT64 if types[name].integer else types[name]
            kinds.setdefault(edm, []).append(kind)
    if len(kinds) > 1:
        said = ", ".join(f"{edm} in {' and '.join(names)}" for edm, names in kinds.items())
        lacking.append(f"{name} is {said}: their keys would not be the same text")
    return lacking


def bound(workload: Workload, bonds: Sequence[Bond], kind: str) -> Workload:
    """The workload of one kind with each bond as a required transaction among its own writes."""
    added = tuple(
        Transaction(
            b.name,
            tuple(m.name for m in b.members if m.kind == kind),
            b.common(kind),
            True,
            max(1.0, sum(m.entities for m in b.members if m.kind == kind)),
        )
        for b in bonds
        if kind in b.kinds
    )
    return replace(workload, transactions=(*workload.transactions, *added))


def labelled(scheme: KeyScheme, kind: str, among: Sequence[str] = ()) -> KeyScheme:
    """The scheme with the kind before the RowKey of every row in the shared partition, so that kinds interleave.

    ``among`` are all kinds of the table.
    """
    label = kind_labels(among or (kind,))[kind]

    rows = tuple(
        IndexRow(Key(r.key.partition, with_label(r.key.row, label)), r.copy) if scheme.same_partition(r) else r
        for r in scheme.index_rows
    )
    return KeyScheme(
        Key(scheme.main.partition, with_label(scheme.main.row, label)), rows, f"{scheme.pattern} + kinds interleaved"
    )
