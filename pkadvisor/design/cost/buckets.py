"""How many hash buckets a key needs: from the load of the fullest one, not from a rule of thumb.

Buckets divide what names a value (writes, reads of a known key) and the rows of a range read, and multiply the requests
of every read that must ask all of them. A top-n read takes n entities of each bucket, so that its load does not divide
while a bucket holds as many.
"""

from __future__ import annotations

import hashlib
import math

from pkadvisor.design.cost.class_cost import has_row
from pkadvisor.design.cost.plan_reads import read
from pkadvisor.design.keys.scheme import IndexRow, KeyScheme
from pkadvisor.design.keys.transforms import MISSING, Context, Escaped, Part, part_properties
from pkadvisor.design.load.estimates import BREAK_ENOUGH, Bench, ClassCost
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.design.rows.arrivals import newest_rows
from pkadvisor.design.rows.asked.matching_rows import rows_of_constants
from pkadvisor.design.rows.asked_rows import with_constants
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.demand import Demand, free_atoms, reached
from pkadvisor.design.rows.fronts import moved_on, write_fronts
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.values import python_value
from pkadvisor.lazy import U64, Floats, Ints, np
from pkadvisor.observe.workload import DrawBy, Operation
from pkadvisor.remembered import remembered
from pkadvisor.values import dataclass

BUCKETS_MAX = 256
"""A partition that needs more buckets is read or written too much: they would only spread the waste."""


@dataclass(frozen=True, slots=True)
class BucketReads:
    """Reads that must ask every bucket: how many a second, how many entities each takes of a bucket at the most (the
    first n in an order; of a range all), and how many it may take from all buckets together."""

    rate_per_s: float
    most: float
    held: float

    def found(self, count: int) -> float:
        """Entities that a read takes of one of so many buckets."""
        return max(1.0, min(self.most, self.held / count))


@dataclass(frozen=True, slots=True)
class BucketDemand:
    """The load that buckets are to divide, in entities/s at the peak after the growth.

    ``direct_per_s`` names the value that is hashed. ``digests`` and ``weights`` are the values at hand, by the first 8
    bytes of their hash, and their shares of it (sum 1).
    """

    direct_per_s: float
    reads: tuple[BucketReads, ...]
    digests: U64
    weights: Floats

    def largest_share(self, count: int) -> float:
        """The measured share of the fullest of ``count`` buckets in what names a value."""
        if not len(self.digests):
            return 1.0
        places = (self.digests % np.uint64(count)).astype(np.int64)
        return float(np.bincount(places, weights=self.weights, minlength=count).max())

    def reads_per_s(self, count: int) -> float:
        """Entities/s that the reads of all buckets take of each one."""
        return sum(read.rate_per_s * read.found(count) for read in self.reads)

    def load_per_s(self, count: int) -> float:
        """Entities/s of the fullest bucket: λw · s_max + Σ λr · max(1, R ÷ B), of top-n reads n at the most."""
        return self.direct_per_s * self.largest_share(count) + self.reads_per_s(count)


@dataclass(frozen=True, slots=True)
class BucketCount:
    """A bucket count and why.

    ``limit`` is the least count that fits the target, ``comfort`` the least that fits it with head-room; None where
    none up to ``BUCKETS_MAX`` does. ``load_per_s`` is the load of the fullest bucket for the counts around them.
    """

    limit: int | None
    comfort: int | None
    load_per_s: tuple[tuple[int, float], ...]
    target_per_s: float
    usable_share: float
    reason: str
    ample: int | None = None
    """The least count that bears ``BREAK_ENOUGH`` times the load of today, where that asks for more room yet."""
    planned: int | None = None
    """The least count with head-room at the room for growth to plan for, where that is less than the horizon."""
    nearest: int | None = None
    """Where no count fits: the power of two that comes nearest, its load compared with the target and the requests of
    the reads that ask every bucket against the account's; None where it does not halve the load."""

    @property
    def chosen(self) -> int | None:
        """What to build: with head-room where there is such a count, since another count later is a migration."""
        return self.limit if self.comfort is None else self.comfort


def bucket_count(
    demand: BucketDemand,
    target_per_s: float,
    usable_share: float,
    around: int | None = None,
    account_per_s: float = math.inf,
    horizon_factor: float = BREAK_ENOUGH,
    room_factor: float = BREAK_ENOUGH,
) -> BucketCount:
    """The least counts whose fullest bucket stays within ``target_per_s`` and within ``usable_share`` of it.

    The demand is ``horizon_factor`` times that of today; ``room_factor`` times is to be planned for. ``around`` is a
    count whose load, and that of one bucket less and more, is told as well. ``account_per_s``: requests that may be
    sent in all, of interest where no count fits.
    """
    limit = _least(demand, target_per_s)
    comfort = _least(demand, target_per_s * usable_share)
    counts = {1}
    for count in (limit, comfort, around):
        if count is not None:
            counts |= {c for c in (count - 1, count, count + 1) if c >= 1}
    table = tuple((count, demand.load_per_s(count)) for count in sorted(counts))
    if comfort == 1:
        reason = "one bucket is enough: do not bucket"
    elif limit == 1:
        reason = "one bucket is within the target, with little room for growth: do not bucket for it alone"
    elif limit is None and demand.reads_per_s(BUCKETS_MAX) > target_per_s:
        reason = "no count helps: reads that ask every bucket take more than the target of each"
    elif limit is None:
        reason = f"no count up to {BUCKETS_MAX} helps: one value, or all of them together, take too much"
    elif comfort is None:
        reason = f"{limit} buckets are within the target, and no count leaves room for growth"
    else:
        reason = f"{limit} buckets are within the target, {comfort} leave room for growth"
    nearest = _nearest(demand, target_per_s, account_per_s) if limit is None else None
    # With head-room, too: the rows at hand fill buckets less evenly than those of the table.
    enough_share = min(1.0, horizon_factor / BREAK_ENOUGH) * usable_share
    ample = _least(demand, target_per_s * enough_share) if enough_share < usable_share else None
    planned_share = horizon_factor / room_factor * usable_share
    planned = _least(demand, target_per_s * planned_share) if planned_share > usable_share else None
    return BucketCount(limit, comfort, table, target_per_s, usable_share, reason, ample, planned, nearest)


def _nearest(demand: BucketDemand, target_per_s: float, account_per_s: float) -> int | None:
    """The power of two with the least worst share of the two targets."""

    def worst(count: int) -> float:
        asked = sum(r.rate_per_s for r in demand.reads) * count
        return max(demand.load_per_s(count) / target_per_s, asked / account_per_s)

    best = min((2**power for power in range(1, BUCKETS_MAX.bit_length())), key=worst)
    return best if worst(best) <= worst(1) / 2 else None


def _least(demand: BucketDemand, allowed_per_s: float) -> int | None:
    """The least count whose fullest bucket has no more than is allowed."""
    counts = np.arange(1, BUCKETS_MAX + 1)
    least: Floats = np.zeros(BUCKETS_MAX)
    for reads in demand.reads:
        least += reads.rate_per_s * np.maximum(1.0, np.minimum(reads.most, reads.held / counts))
    # No bucket has less than an even share: most counts need no look at the values.
    fitting = counts[demand.direct_per_s / counts + least <= allowed_per_s * (1 + 1e-9)]
    return next((count for count in fitting.tolist() if demand.load_per_s(count) <= allowed_per_s), None)


# -- the demand of a key ---------------------------------------------------------------------------------------------


def partition_buckets(
    text: Escaped,
    scheme: KeyScheme,
    bench: Bench,
    costs: tuple[ClassCost, ...],
    around: int | None = None,
    via: int = 0,
) -> BucketCount:
    """Buckets of ``text`` for the hottest partition of a scheme's main key, at the horizon.

    ``costs`` are those of the scheme; a hash of ``text`` in its PartitionKey counts as not being there. ``via`` is an
    index row (from 1) in another partition whose key is looked at instead.
    """
    limits = bench.limits
    demand = _partition_demand(text, scheme, bench, costs, via)
    account = float(limits.account_requests_per_s)
    share, horizon = limits.headroom_warn_share, bench.horizon_factor
    target = limits.partition_entities_per_s
    return bucket_count(demand, target, share, around, account, horizon, bench.room_factor)


def append_buckets(
    text: Escaped,
    scheme: KeyScheme,
    bench: Bench,
    costs: tuple[ClassCost, ...],
    inserts_per_s: float,
    around: int | None = None,
    via: int = 0,
) -> BucketCount | None:
    """Buckets of ``text`` before a PartitionKey that appends, at the horizon; None where its fronts are unknown.

    ``via`` is an index row (from 1) in another partition whose key is looked at instead of the main one.

    Each bucket keeps as many fronts as the key has; reads of the newest entities land on the same ranges. A hash of a
    property of the key itself does not multiply its fronts, so it must divide all inserts.
    """
    limits, horizon = bench.limits, bench.horizon_factor
    key, row = list(scheme.each_key())[via]
    parts = without_hash(key.partition, text)
    fronts = write_fronts(parts, bench.population, limits, inserts_per_s or None).lasting(limits.lasting_s)
    if fronts is None:
        return None
    divided = 1.0 if set(text.properties) & set(part_properties(parts)) else fronts
    direct: list[tuple[Ints, Floats]] = []
    reads = []
    for demand, cost in zip(bench.demands, costs, strict=True):
        query = demand.query
        if query.analytic:
            continue
        if _inserts(demand):
            there = has_row(key, row, bench.population)[demand.instances]
            direct.append((demand.instances, demand.weights * cost.peak_per_s * query.entities_per_request * there))
        elif query.operation is Operation.QUERY and query.draw.by is DrawBy.NEWEST and cost.plan is not None:
            if via and cost.plan.via != via:
                continue
            rate = cost.peak_per_s * query.draw.share * horizon / divided
            entities = cost.entities_read
            if _names(demand, text):
                direct.append((demand.instances, demand.weights * cost.peak_per_s * query.draw.share * entities))
            else:
                reads.append(_asked(rate, entities, cost, math.inf))
    return bucket_count(
        _demand(text, bench.population, direct, reads, horizon / divided),
        limits.range_entities_per_s,
        limits.headroom_warn_share,
        around,
        float(limits.account_requests_per_s),
        horizon,
        bench.room_factor,
    )


def without_hash(parts: tuple[Part, ...], text: Escaped) -> tuple[Part, ...]:
    """A key without the buckets of one text."""
    return tuple(p for p in parts if p.bucketed != text)


def _inserts(demand: Demand) -> bool:
    return demand.query.operation in (Operation.INSERT, Operation.UPSERT) and demand.query.filter is None


def writes_row(demand: Demand, row: IndexRow | None) -> bool:
    """Whether a write writes the main row (None), or an index row beside it."""
    query = demand.query
    if row is None or row.copy == "full" or query.operation is Operation.DELETE or _inserts(demand):
        return True
    return not {*row.key.properties}.isdisjoint(query.sets)


def _names(demand: Demand, text: Escaped) -> bool:
    """Whether a class says the text, so that its bucket is known."""
    return demand.conditions.fixed_in(text).issuperset(text.properties)


def _asked(rate_per_s: float, entities: float, cost: ClassCost, held: float) -> BucketReads:
    """A read of every bucket, which reads so many entities now of those ``held``; where a plan asks several buckets
    already, its first n are those of all of them."""
    plan = cost.plan
    assert plan is not None
    if plan.top is None:
        return BucketReads(rate_per_s, entities, entities)
    if entities < held * (1 - 1e-9):
        return BucketReads(rate_per_s, entities / max(1, plan.buckets), held)
    return BucketReads(rate_per_s, held if plan.unserved else float(plan.top), held)  # no request is ended early


def _partition_demand(
    text: Escaped, scheme: KeyScheme, bench: Bench, costs: tuple[ClassCost, ...], via: int
) -> BucketDemand:
    """What the partition that takes most has to bear: the same loads as the cost model finds, class by class."""
    population, horizon = bench.population, bench.horizon_factor
    key, _ = list(scheme.each_key())[via]
    beside = {n: of for n, of in enumerate(scheme.each_key()) if of[0].partition == key.partition}
    atoms = atoms_of(without_hash(key.partition, text))
    ids, size = population.groups(atoms)
    rest = population.without_arrival(atoms)
    writes: list[tuple[Ints, Ints, Floats]] = []  # rows: of the values that are written, and of the partition
    reads: list[_Lookup] = []
    per_group = np.zeros(size)
    for demand, cost in zip(bench.demands, costs, strict=True):
        query = demand.query
        if query.analytic:
            continue
        weights = demand.weights * cost.peak_per_s
        if _inserts(demand):
            there = sum(has_row(*of, population)[demand.instances].astype(np.float64) for of in beside.values())
            own = demand.instances
            newest = moved_on(without_hash(key.partition, text), demand, population)
            if newest is None and rest != atoms:
                newest = newest_rows(population, rest)
            places = own if newest is None else newest[own]
            writes.append((own, places, weights * query.entities_per_request * there))
            continue
        rows_written = sum(writes_row(demand, row) for _, row in beside.values())
        if query.operation is not Operation.QUERY and rows_written:
            entities = rows_written * query.entities_per_request * np.maximum(demand.returned, 1.0)
            writes.append((demand.instances, demand.instances, weights * entities))
        if cost.plan is not None and cost.plan.via in beside and cost.entities_read:
            reads.append(_lookup(demand, cost, scheme, bench))
            per_group += np.bincount(ids[reads[-1].places], weights=reads[-1].load, minlength=size)
    for _, places, load in writes:
        per_group += np.bincount(ids[places], weights=load, minlength=size)
    hot = int(np.argmax(per_group)) if size else 0
    factor = population.share_factor(atoms) * horizon
    direct = [(own[ids[at] == hot], load[ids[at] == hot]) for own, at, load in writes]
    asked = []
    for one in reads:
        here = ids[one.places] == hot
        total = float(one.load[here].sum())
        if _names(one.demand, text):
            direct.append((one.places[here], one.load[here]))
        elif total:
            rate, held = _asked_of(one, ids, hot, population)
            asked.append(_asked(rate * factor, total / rate, one.cost, held))
    return _demand(text, population, direct, asked, factor)


@dataclass(frozen=True, slots=True)
class _Lookup:
    """Where the reads of one class fall: entities/s at row numbers; ``groups`` where they spread over what agrees."""

    demand: Demand
    cost: ClassCost
    places: Ints
    load: Floats
    groups: Ints | None


def _lookup(demand: Demand, cost: ClassCost, scheme: KeyScheme, bench: Bench) -> _Lookup:
    """The entities that a class reads, on the rows of its parameters or evenly on all rows between its bounds."""
    plan = cost.plan
    assert plan is not None
    load = demand.weights * cost.peak_per_s * read(plan, demand, scheme, bench).per_instance
    key = list(scheme.each_key())[plan.via][0]
    demand, population = with_constants((*key.partition, *key.row), demand, bench.population)
    keep = rows_of_constants(population, plan.equal_atoms, demand.constants)
    single = plan.access not in (Access.PARTITION_RANGE_SCAN, Access.TABLE_SCAN)
    if single and not plan.choices and keep is None:
        return _Lookup(demand, cost, demand.instances, load, None)
    free = list(plan.equal_atoms) if keep is None else free_atoms(plan.equal_atoms, demand.constants)
    groups, size = population.groups(free)
    rows = np.arange(population.rows, dtype=np.int64)
    among = np.ones(population.rows) if keep is None else keep.astype(np.float64)
    held = np.bincount(groups[rows], weights=among, minlength=size)
    by_group = np.bincount(groups[demand.instances], weights=load, minlength=size)
    return _Lookup(demand, cost, rows, (by_group / np.maximum(held, 1))[groups[rows]] * among, groups)


def _asked_of(one: _Lookup, ids: Ints, hot: int, population: Population) -> tuple[float, float]:
    """Requests/s of a class that reach one partition, and the mean of the rows that these may take."""
    demand, plan = one.demand, one.cost.plan
    assert plan is not None
    if one.groups is None:
        there = ids[demand.instances] == hot
    else:
        there = np.isin(one.groups[demand.instances], np.unique(one.groups[one.places[ids[one.places] == hot]]))
    weights = demand.weights[there]
    total = float(weights.sum())
    held = math.inf
    if plan.top is not None and total:
        over = plan.range_atom
        rows = reached(population, demand, plan.equal_atoms, over, demand.bounds.get(over[1]) if over else None)
        held = float(weights @ rows[there]) / total
    return max(total * one.cost.peak_per_s, 1e-12), held


def _demand(
    text: Escaped, population: Population, direct: list[tuple[Ints, Floats]], reads: list[BucketReads], factor: float
) -> BucketDemand:
    """Loads by row → loads by value of the property that is hashed."""
    coded = population.coded(text.properties[0])
    by_value = np.zeros(coded.size)
    for instances, load in direct:
        by_value += np.bincount(coded.codes[instances], weights=load, minlength=coded.size)
    total = float(by_value.sum())
    used = np.flatnonzero(by_value)
    return BucketDemand(
        total * factor,
        tuple(reads),
        _digests(text, population)[used],
        by_value[used] / total if total else by_value[:0],
    )


@remembered("digests")
def _digests(text: Escaped, population: Population) -> U64:
    """The first 8 bytes of the hash of the text of each value of a property, by code: modulo B they are its bucket of
    B."""
    (name,) = text.properties
    coded, edm = population.coded(name), population.shown_type(name)
    context = Context({name: edm})
    values = [*([None] if coded.has_missing else []), *(python_value(v, edm) for v in coded.values.to_list())]
    texts = [MISSING if (plain := text.plain({name: v}, context)) is None else plain for v in values]
    whole = b"".join(hashlib.sha256(t.encode("utf-8", "surrogatepass")).digest()[:8] for t in texts)
    return np.frombuffer(whole, dtype=">u8").astype(np.uint64)
