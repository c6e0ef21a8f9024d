"""When a design breaks: by how much each kind of growth may raise the load before a limit is passed.

Loads are linear in what grows (operational laws; Denning and Buzen 1978): ``fixed + factor × (measured - fixed)``.
What a kind of growth raises:

- *rate*: everything.
- *new keys*: requests, scans over several partitions and inserts; a partition only where new keys fall into those that
  exist (a constant, a bucket, a period, a property of few values).
- *rows per key*: what scans read, and so what they load. Point reads and writes stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pkadvisor.design.keys.transforms import Part
from pkadvisor.design.load.estimates import Break, ClassCost, Term
from pkadvisor.design.load.heat import LoadMap, PartitionLoad
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.schedule import Schedule
from pkadvisor.lazy import np
from pkadvisor.limits import Limits
from pkadvisor.observe.workload import Basis, GrowthOf
from pkadvisor.remembered import remembered
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

ENTITY = "the hottest entity"
PARTITION = "the hottest partition"
FILLING = "scans of one partition"
INSERTS = "the range that takes the inserts"
RUN = "the run of partitions that one query reads"
SCANS = "scans over several partitions"
ACCOUNT = "the account's requests"
CAUSES = (PARTITION, ENTITY, FILLING, INSERTS, RUN, SCANS, ACCOUNT)
"""What can break, in the order in which equal factors are told."""
NOTHING = "nothing measured binds"

RATE, NEW, ROWS = GrowthOf.RATE, GrowthOf.NEW_KEYS, GrowthOf.ROWS_PER_KEY
EVERY = (RATE, NEW, ROWS)
VALUES_FEW = 50
"""Distinct values below which a property is taken for a closed set, so that new keys have values that others have."""
GROWS = 1.1
"""Partitions over those of the first half of the inserts, from which on they are said to grow with the inserts."""


@dataclass(frozen=True, slots=True)
class Pressure:
    """What a scheme asks of each resource at its worst minute: the arguments of ``breaks_of``.

    ``requests``: of the account, per second, ``requests_grown`` the part that grows with the rows of a key.
    ``inserts``: entities per second that one range takes. ``new_keys``: whether new keys fall into partitions that
    exist.
    """

    partition: PartitionLoad | None
    filling: PartitionLoad | None
    entity: PartitionLoad | None
    inserts: float
    run: float
    scans: float
    requests: float
    requests_grown: float
    new_keys: bool


def breaks_of(pressure: Pressure, limits: Limits, beside: Mapping[str, float] | None = None) -> tuple[Break, ...]:
    """Every limit with the growth that passes it, the earliest first; ``beside``: what others bring, by cause."""
    limit_breaks: list[Break] = []
    comfort = limits.headroom_share

    def put(
        cause: str,
        resource: str,
        measured: float,
        limit: float,
        by: tuple[GrowthOf, ...],
        fixed: float = 0.0,
        unit: str = "entities/s",
    ) -> None:
        grown = measured - fixed
        if grown <= 0:
            return
        at_target, at_comfort = (max(0.0, (line - fixed) / grown) for line in (limit, limit * comfort))
        limit_breaks.append(Break(cause, resource, measured, limit, unit, at_target, at_comfort, by, fixed))

    target = limits.partition_entities_per_s
    if pressure.entity is not None:
        put(ENTITY, "entity", pressure.entity.entities_per_s, target, (RATE,))
    if pressure.partition is not None:
        by = (RATE, NEW) if pressure.new_keys else (RATE,)
        put(PARTITION, "partition", pressure.partition.entities_per_s, target, by)
    if pressure.filling is not None:
        load = pressure.filling
        put(FILLING, "partition", load.entities_per_s, target, (ROWS,), load.entities_per_s - load.scanned_per_s)
    put(INSERTS, "range", pressure.inserts, limits.range_entities_per_s, (RATE, NEW))
    put(RUN, "range", pressure.run, limits.range_entities_per_s, EVERY)
    put(SCANS, "account", pressure.scans, limits.account_requests_per_s, EVERY)
    unit = account_unit(limits)
    put(ACCOUNT, "account", pressure.requests, limits.account_requests_per_s, (RATE, NEW), unit=unit)
    fixed = pressure.requests - pressure.requests_grown
    put(ACCOUNT, "account", pressure.requests, limits.account_requests_per_s, (ROWS,), fixed, unit)
    return in_order(shared_break(each, (beside or {}).get(each.cause, 0.0), comfort) for each in limit_breaks)


def in_order(limit_breaks: Iterable[Break]) -> tuple[Break, ...]:
    """The earliest first; equal ones in the order in which causes are told."""
    return tuple(
        sorted(limit_breaks, key=lambda b: (b.factor, CAUSES.index(b.cause) if b.cause in CAUSES else -1, b.by))
    )


def shared_break(own: Break, others: float, comfort: float) -> Break:
    """A target that is shared with others, whose load grows alike; ``comfort``: the share at which head-room ends."""
    if others <= 0:
        return own
    grown = own.measured - own.fixed + others
    at_target, at_comfort = (max(0.0, (line - own.fixed) / grown) for line in (own.limit, own.limit * comfort))
    return replace(own, measured=own.measured + others, factor=at_target, factor_comfort=at_comfort, others=others)


def account_unit(limits: Limits) -> str:
    """What the account's target is read as: transactions as published, or entities where that is asked for."""
    return "entities/s" if limits.account_counts_entities else "requests/s"


def account_load(costs: Sequence[ClassCost], schedule: Schedule, limits: Limits) -> tuple[float, float]:
    """(load of the account at its worst minute, the part of it that grows with the rows of a key).

    Requests, or entities where ``account_counts_entities`` is 1. Further pages are not taken to grow.
    """
    live = [c for c in costs if not c.analytic]
    if not limits.account_counts_entities:
        return schedule.peak({c.name: c.peak_per_s * c.requests for c in live}), 0.0
    entities = {c.name: c.peak_per_s * (c.entities_read + c.entities_written) for c in live}
    grown = {c.name: c.peak_per_s * c.entities_read for c in live if scans(c)}
    # Both at their own worst minute: the part cannot be more than the whole.
    return schedule.peak(entities), schedule.peak(grown)


def scans(cost: ClassCost) -> bool:
    """Whether a class reads more as a key has more rows."""
    stops = cost.plan is not None and cost.plan.top is not None and cost.plan.order_served and not cost.plan.unserved
    return cost.plan is not None and cost.plan.access is not Access.POINT and not stops


def pressure_of(
    loads: LoadMap, population: Population, limits: Limits, inserts: float, account: tuple[float, float]
) -> Pressure:
    """What the loads of a scheme come to; ``inserts`` is what one range takes of them."""
    hot, entity = loads.hottest(), loads.hottest_entity()
    filling = loads.first_to_fill(limits.partition_entities_per_s)
    return Pressure(
        partition=hot[1] if hot is not None else None,
        filling=filling[1] if filling is not None else None,
        entity=entity[1] if entity is not None else None,
        inserts=inserts,
        run=loads.busiest_run[0],
        scans=loads.scanned_per_s,
        requests=account[0],
        requests_grown=account[1],
        new_keys=hot is not None and takes_new_keys(hot[0], population),
    )


def earliest(breaks: Sequence[Break], of: GrowthOf) -> tuple[float, str]:
    """(break factor, cause) under one kind of growth; what is broken already counts whatever grows."""
    able = [(b.factor, b.cause) for b in breaks if of in b.by]
    able += [(b.limit / b.measured, b.cause) for b in breaks if of not in b.by and b.measured > b.limit]
    return min(able, key=lambda p: p[0], default=(float("inf"), NOTHING))


def smallest(breaks: Sequence[Break]) -> Break | None:
    """The limit that the least growth passes, of whatever kind: the headline; None where nothing binds.

    Several kinds of growth may pass a limit alike, of which ``by`` names all. ``earliest`` is about one kind.
    """
    return min((b for b in breaks if b.factor < float("inf")), key=lambda b: b.factor, default=None)


def saturation(breaks: Sequence[Break], requests_per_s: float) -> Term | None:
    """λ*: the requests per second, in today's mix, at which the first resource saturates; None where none does.

    λ* = min over resources of capacity ÷ share (the asymptotic bound of operational analysis).
    """
    factor, cause = earliest(breaks, RATE)
    if factor == float("inf") or requests_per_s <= 0:
        return None
    return Term("saturation", requests_per_s * factor, "requests/s", Basis.DERIVED, cause)


@remembered("takes new keys")
def takes_new_keys(parts: tuple[Part, ...], population: Population) -> bool:
    """Whether new keys fall into partitions that exist already.

    Not where some part names a key: a property (no time, no bucket) whose values become more along the inserts, or that
    has many.
    """
    return not any(_names_keys(part, population) for part in parts)


def _names_keys(part: Part, population: Population) -> bool:
    atoms = atoms_of((part,))
    if not atoms or part.tells_time or part.bucket_count is not None:
        return False
    edm = [population.types.get(name) for name in part.properties]
    if not edm or all(e in (EdmType.DATETIME, EdmType.BOOLEAN) for e in edm):
        return part.assigned
    count = population.distinct(atoms)
    if count >= VALUES_FEW:
        return True
    order = population.arrival_order()
    if order is None or len(order) < 2:
        return False
    ids, _ = population.groups(atoms)
    first = len(np.unique(ids[order[: len(order) // 2]]))
    return count >= GROWS * first
