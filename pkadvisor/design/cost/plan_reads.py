"""What a class reads along one plan of a scheme, and on which partitions that load falls.

A plan meets the rows of its own key and those of other kinds that lie between its bounds; the other index rows of the
scheme change nothing. So what was computed of it is kept for every scheme that has the same rows in its way.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import replace

from pkadvisor.design.cost.empty_requests import unheld
from pkadvisor.design.cost.entity_rates import zipf_share
from pkadvisor.design.cost.other_kind_rows import rows_of_other_kinds
from pkadvisor.design.cost.scan_load import load_going_back, load_led_to, load_of_rows
from pkadvisor.design.cost.scan_runs import Reading
from pkadvisor.design.cost.scans import combinations, lie_among, rows_scanned
from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.keys.transforms import Part, time_unit
from pkadvisor.design.load.counting import capacity_weights, pages_of
from pkadvisor.design.load.estimates import Bench, Read
from pkadvisor.design.load.heat import LoadMap
from pkadvisor.design.load.placed_loads import PutDown
from pkadvisor.design.plan.access_plan import Access, AccessPlan
from pkadvisor.design.plan.stop_early import stop_early, walk_back
from pkadvisor.design.rows.asked.matching_rows import rows_of_constants
from pkadvisor.design.rows.asked_rows import seen_under
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.demand import Demand, choice_count, exact_answer, free_atoms
from pkadvisor.design.rows.fronts import moved_on
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.values import period_of_moments
from pkadvisor.lazy import Bools, Floats, Ints, np
from pkadvisor.observe.workload import DrawBy, Operation
from pkadvisor.remembered import remembered
from pkadvisor.values import dataclass

NUMBERS_KEPT = 10_000_000
"""Numbers that are kept of plans, of 8 bytes each; those of the plan that was asked for longest ago go first."""
ARRAYS_OF_READ = 8
"""Arrays of a ``Read``, of a number for each instance of its class."""
PIECEWISE_ROWS = 2.0
"""Rows read for each row returned from which on requests for several partitions count as a scan: assumed."""


@dataclass(slots=True)
class _Known:
    """What was computed of one plan, and what it was computed from; no population, so that one may be freed."""

    read: Read
    basis: tuple[object, ...]
    shares: tuple[_Share, ...] = ()
    load: PutDown | None = None
    """Where one request of each instance per second falls; None until it is asked for."""

    def holds(self, along: AccessPlan, basis: tuple[object, ...]) -> bool:
        """Whether it is still what would be computed."""
        same = all(mine is theirs for mine, theirs in zip(self.basis, basis, strict=True))
        return same and self.read.plan == along

    @property
    def numbers(self) -> int:
        """Numbers that it holds."""
        reads = (1 + len(self.shares)) * ARRAYS_OF_READ * len(self.read.per_instance)
        return reads + (0 if self.load is None else self.load.numbers)


def _basis(demand: Demand, bench: Bench) -> tuple[object, ...]:
    """What a read along a plan follows from beside the plan and the rows in its way: no rate is among it."""
    mine = (demand.instances, demand.weights, demand.returned, demand.bounds)
    return (*mine, bench.limits, bench.declared_sizes, bench.property_bytes, bench.count_bytes, bench.other_kinds)


class _Kept:
    """What was computed of the plans over one population, as far as it fits."""

    def __init__(self) -> None:
        self._known: OrderedDict[object, _Known] = OrderedDict()
        self._numbers = 0

    def find(self, memo: object) -> _Known | None:
        """What is kept of a plan; it goes last from now on."""
        known = self._known.get(memo)
        if known is not None:
            self._known.move_to_end(memo)
        return known

    def put(self, memo: object, known: _Known) -> None:
        """Keep what was computed of a plan."""
        before = self._known.pop(memo, None)
        self._numbers += known.numbers - (before.numbers if before is not None else 0)
        self._known[memo] = known
        self._fit()

    def grown(self, by: int) -> None:
        """Make room for what was added to a plan that is kept."""
        self._numbers += by
        self._fit()

    def _fit(self) -> None:
        while self._numbers > NUMBERS_KEPT and len(self._known) > 1:
            self._numbers -= self._known.popitem(last=False)[1].numbers


def read(plan: AccessPlan, demand: Demand, scheme: KeyScheme, bench: Bench) -> Read:
    """Entities scanned and requests sent for each instance of a class along one plan."""
    demand, population = _seen(plan, demand, scheme, bench)
    known = _known_of(plan, demand, scheme, bench, population)[0].read
    return known if known.plan.via == plan.via else replace(known, plan=plan)


def put_load(
    plan: AccessPlan, demand: Demand, scheme: KeyScheme, bench: Bench, loads: LoadMap, rate_per_s: Floats
) -> None:
    """Put the entities that a plan scans on the partitions that serve them; a rate for each instance."""
    demand, population = _seen(plan, demand, scheme, bench)
    known, small = _known_of(plan, demand, scheme, bench, population)
    if population is not bench.population or known.shares:
        whole = _Share(known.read, demand, population, np.ones(len(rate_per_s), dtype=bool))
        for each in known.shares or (whole,):
            load = LoadMap(each.population)
            _spread(each.read, each.demand, small, each.population, load, rate_per_s * each.sent)
            loads.add(load.of_entities(bench.population, demand.query.name), 1.0, demand.query.name)
        if known.shares and known.read.piecewise_scans is not None:
            own = demand.weights * rate_per_s * (known.read.counted - known.read.followed)
            loads.at_run(None, own[known.read.piecewise_scans], demand.query.name)
        return
    first = float(rate_per_s[0]) if len(rate_per_s) else 0.0
    if not bool((rate_per_s == first).all()):
        _spread(known.read, demand, small, bench.population, loads, rate_per_s)
        return
    if known.load is None:
        load = LoadMap(bench.population)
        _spread(known.read, demand, small, bench.population, load, np.ones(len(rate_per_s)))
        known.load = load.put_down()
        _kept(bench.population).grown(known.load.numbers)
    loads.add(known.load, first, demand.query.name)


def _seen(plan: AccessPlan, demand: Demand, scheme: KeyScheme, bench: Bench) -> tuple[Demand, Population]:
    """A class over the rows that lie under the key of a plan: those of entities, or one for each value of a list."""
    key = list(scheme.each_key())[plan.via][0]
    return seen_under((*key.partition, *key.row), demand, bench.population)


def _known_of(
    plan: AccessPlan, demand: Demand, scheme: KeyScheme, bench: Bench, population: Population
) -> tuple[_Known, KeyScheme]:
    """What was computed of a plan, and the scheme without the index rows that it neither goes through nor meets."""
    memory = _kept(population)
    small, along = _with_rows_met(plan, demand, scheme, population)
    memo = (demand.asked, small, along.way)
    known = memory.find(memo)
    basis = _basis(demand, bench)
    if known is None or not known.holds(along, basis):
        whole, shares = _read(along, demand, small, bench, population)
        known = _Known(whole, basis, shares)
        memory.put(memo, known)
    return known, small


def _kept(population: Population) -> _Kept:
    memory: _Kept = population.memo.setdefault("plans read", _Kept())
    return memory


def _with_rows_met(
    plan: AccessPlan, demand: Demand, scheme: KeyScheme, population: Population
) -> tuple[KeyScheme, AccessPlan]:
    """A scheme without the index rows that a plan neither goes through nor meets, and the plan by its numbers."""
    if not scheme.index_rows:
        return KeyScheme(scheme.main, (), ""), plan
    keys = [key for key, _ in scheme.each_key()]
    met = [
        via
        for via, key in enumerate(keys)
        if via in (0, plan.via) or lie_among(plan, keys[plan.via], key, demand, population) is not None
    ]
    rows = tuple(scheme.index_rows[via - 1] for via in met if via)
    number = met.index(plan.via)
    return KeyScheme(scheme.main, rows, ""), plan if number == plan.via else replace(plan, via=number)


@dataclass(frozen=True, slots=True)
class _Requests:
    """The requests of each instance along a plan: how many (``fan_out``) with how many pages in all, the rows between
    their bounds, and those that they scan, of all kinds and of the plan's own."""

    fan_out: Floats
    pages: Floats
    between: Floats
    scanned: Floats
    own: Floats

    def among(self, sent: Bools) -> _Requests:
        """Those of the instances that send any."""
        each = (self.fan_out, self.pages, self.between, self.scanned, self.own)
        return _Requests(*(values * sent for values in each))

    def __add__(self, other: _Requests) -> _Requests:
        return _Requests(
            self.fan_out + other.fan_out,
            self.pages + other.pages,
            self.between + other.between,
            self.scanned + other.scanned,
            self.own + other.own,
        )


@dataclass(frozen=True, slots=True)
class _Share:
    """What the instances that are ``sent`` read for one combination of values (``scans``)."""

    read: Read
    demand: Demand
    population: Population
    sent: Bools


def _read(
    plan: AccessPlan, demand: Demand, scheme: KeyScheme, bench: Bench, population: Population
) -> tuple[Read, tuple[_Share, ...]]:
    """What a class reads along a plan, and its shares where the values that it names are counted one by one."""
    shares, total = list[_Share](), None
    for one in combinations(plan, demand, population):
        requests = _requests(one.plan, one.demand, scheme, bench, one.population)
        mine = _read_by(requests, one.plan, one.demand, scheme, bench)
        shares.append(_Share(mine, one.demand, one.population, one.sent))
        total = requests.among(one.sent) if total is None else total + requests.among(one.sent)
    if total is None:
        total = _requests(plan, demand, scheme, bench, population)
    return _read_by(total, plan, demand, scheme, bench), tuple(shares)


def _requests(plan: AccessPlan, demand: Demand, scheme: KeyScheme, bench: Bench, population: Population) -> _Requests:
    instances = demand.instances
    fan_out = np.full(len(instances), float(plan.buckets))
    for name in plan.choices:
        fan_out *= choice_count(demand, population, plan.equal_atoms, name)
    each = rows_scanned(plan, demand, scheme, population)
    scanned, own = sum(each.values(), np.zeros(len(instances))), each[plan.via]
    beside = rows_of_other_kinds(plan, demand, list(scheme.each_key())[plan.via][0], bench, population)
    scanned = scanned if beside is None else scanned + beside
    if plan.access is Access.TABLE_SCAN:
        fan_out[:] = 1
    if plan.back:
        way = walk_back(plan, demand, population)
        fan_out *= way.periods
        # Rows of other kinds in these partitions are read with each period that is asked.
        of_others, in_all = np.maximum(scanned - own, 0.0), own
        own = np.minimum(own, way.count)
        scanned = own + of_others * np.where(in_all > 0, own / np.maximum(in_all, 1e-9), 1.0)
    elif plan.periods is not None:
        fan_out *= _period_count(plan, demand, population)
    if exact_answer(demand, population):  # every entity returned was read, however few of them a sample shows
        scanned, own = np.maximum(scanned, demand.returned), np.maximum(own, demand.returned)
    returned = np.minimum(demand.returned, scanned) if len(instances) else demand.returned
    reading, between = Reading(plan, demand, scheme, population), scanned
    if plan.top is not None:
        key = list(scheme.each_key())[plan.via][0]
        stopped = stop_early(scanned, own, returned, plan, key, demand, population, fan_out)
        own = np.minimum(own, stopped)
        # A scan over several partitions comes by rows of other kinds before the last row that it wants.
        scanned = stopped + reading.on_the_way() if reading.stops and len(each) > 1 else stopped
    if demand.query.top is not None:
        returned = np.minimum(returned, demand.query.top)
    if plan.access is Access.POINT and not plan.unserved:
        scanned = np.maximum(np.minimum(scanned, fan_out), 0.0)
    asked = np.maximum(fan_out, 1)
    pages = np.maximum(pages_of(scanned / asked, returned / asked, bench), 1)
    if plan.several and not plan.back and plan.top is None and scanned.max(initial=0.0) > bench.limits.page_entities:
        further_pages = reading.further_pages(each, bench)
        if further_pages is not None:
            pages = np.maximum(pages_of(np.zeros(len(asked)), returned / asked, bench), 1 + further_pages / asked)
    return _Requests(fan_out, fan_out * pages, between, scanned, own)


def _read_by(requests: _Requests, plan: AccessPlan, demand: Demand, scheme: KeyScheme, bench: Bench) -> Read:
    """What a class reads by some requests along a plan."""
    limits, instances = bench.limits, demand.instances
    fan_out, between, scanned, own = requests.fan_out, requests.between, requests.scanned, requests.own
    asked = np.maximum(fan_out, 1)
    returned = np.minimum(demand.returned, scanned) if len(instances) else demand.returned
    if demand.query.top is not None:
        returned = np.minimum(returned, demand.query.top)
    ends = _range_ends(requests, plan, limits.scan_boundary_requests)
    sent = requests.pages + ends
    fetched, led, read = 0.0, np.zeros(len(instances)), np.maximum(scanned, 1.0)
    widest = float(asked.max(initial=1.0))
    counted = read if limits.scan_weight == 1 and widest == 1 else np.maximum(read * limits.scan_weight, asked)
    size = capacity_weights(scheme, bench)
    weigh = size if bench.count_bytes else (1.0,) * len(size)
    if weigh[plan.via] != 1:
        counted = counted * weigh[plan.via]
    loading = scanned * (limits.scan_weight * weigh[plan.via])
    if plan.follows:
        # Before the client can filter, sort or cut off, it follows every pointer that the requests bring. What a copy
        # tells is filtered first.
        cut = plan.client or demand.query.top is not None
        followed = own if plan.pointer and cut else returned
        fetched = demand.mean(followed)
        sent, read, counted = sent + followed, read + followed, counted + followed * weigh[0]
        led = followed * weigh[0]
    if not len(read):
        return Read(plan, read, 1.0, 1.0, 0.0, 1.0, 1.0, counted, sent, scanned, loading)
    entities, mean_ends = demand.mean(read), demand.mean(ends)
    rounds = np.ceil(asked / limits.fan_out_parallel) if widest > limits.fan_out_parallel else 1.0
    rounds = asked if plan.back else rounds  # each period is asked when the one before has told too little
    further = demand.mean(requests.pages - fan_out) if bool((requests.pages > fan_out).any()) else 0.0
    return Read(
        plan=plan,
        per_instance=read,
        entities=entities,
        entities_max=float(read[demand.weights > 0].max(initial=0.0)),
        returned=demand.mean(returned),
        requests=demand.mean(sent),
        fan_out=demand.mean(fan_out),
        counted=counted,
        requests_each=sent,
        rows=scanned,
        scanned=loading,
        followed=led,
        piecewise_scans=_piecewise_scans(plan, between, scanned, returned),
        by_bytes=(entities - fetched) * size[plan.via] + fetched * size[0],
        round_trips=(demand.mean(rounds * requests.pages / asked) if further or widest > 1 else 1.0)
        + mean_ends
        + math.ceil(fetched / limits.fan_out_parallel),
        continuations=further + mean_ends,
        range_ends=mean_ends,
    )


def _range_ends(requests: _Requests, plan: AccessPlan, on_the_way: float) -> Floats:
    """Requests that go on behind the end of a range, per instance: of those on the way of a scan over several
    PartitionKeys, one that ``$top`` ends meets those of the part that it reads."""
    if plan.access not in (Access.PARTITION_RANGE_SCAN, Access.TABLE_SCAN):
        return np.zeros(len(requests.scanned))
    share = np.ones(len(requests.scanned))
    if plan.top is not None:
        np.divide(requests.scanned, requests.between, out=share, where=requests.between > 0)
    return np.asarray(np.minimum(share, 1.0) * on_the_way)


def _piecewise_scans(plan: AccessPlan, between: Floats, scanned: Floats, returned: Floats) -> Bools | None:
    """The instances that read all rows ``between`` the bounds of their requests and return few of them."""
    if not plan.several or plan.access not in (Access.ROW_RANGE, Access.PARTITION_SCAN):
        return None
    scans = (scanned >= between) & (scanned >= PIECEWISE_ROWS * returned) & (scanned > 1)
    return scans if scans.any() else None


@remembered("periods asked", of=lambda plan, demand, _: (demand.asked, plan.periods))
def _period_count(plan: AccessPlan, demand: Demand, population: Population) -> Floats:
    """Periods between the bounds of a range, per instance: one request each."""
    assert plan.periods is not None
    name = plan.periods.property
    low, high = demand.bounds[name]
    unit = time_unit(plan.periods.format)
    newest = float(population.numbers(name, np.arange(population.size, dtype=np.int64)).max(initial=0))

    def periods(moments: Floats) -> Ints:
        return period_of_moments(moments, unit, open_end=newest)

    high = np.where(np.isposinf(high), newest + 1, high)
    last = np.ceil(high) - 1  # an included bound is half a unit above itself
    between = np.maximum(periods(np.maximum(last, low)) - periods(low) + 1, 1)
    return np.asarray(between, dtype=np.float64)


def _spread(
    best: Read, demand: Demand, scheme: KeyScheme, population: Population, loads: LoadMap, rate_per_s: Floats
) -> None:
    """Put the entities that a read scans on the partitions that serve them; a rate for each instance."""
    weights = demand.weights * rate_per_s
    plan, key = best.plan, list(scheme.each_key())[best.plan.via][0]
    keep = rows_of_constants(population, plan.equal_atoms, demand.constants)
    single = plan.access not in (Access.PARTITION_RANGE_SCAN, Access.TABLE_SCAN)
    # What a scan reads grows with the rows of a key, unless $top stops it.
    stops = plan.top is not None and not plan.unserved
    grows = plan.access is not Access.POINT and not stops
    own = weights * (best.counted - best.followed)
    if plan.follows:  # the entities that they lead to lie in partitions of their own
        led_to = load_led_to(best, demand, scheme, population, weights * best.followed)
        loads.at_each_row(scheme.main.partition, led_to, grows=grows)
    if single and not plan.several and keep is None:
        share = kept_share(demand, population, key.partition)
        moved = moved_on(key.partition, demand, population)
        loads.at_instances(key.partition, demand.instances, own, kept=share, grows=grows, moved=moved)
        if plan.access is Access.POINT:
            share = kept_share(demand, population, (*key.partition, *key.row))
            loads.at_entities(key, demand.instances, own, kept=share)
        return
    if single and not plan.several and (elsewhere := unheld(key.partition, demand, population)) is not None:
        other, nowhere = elsewhere.lacking & (elsewhere.row >= 0), elsewhere.lacking & (elsewhere.row < 0)
        loads.at_instances(key.partition, elsewhere.row[other], own[other], grows=grows)
        loads.at_instances(elsewhere.named, demand.instances[nowhere], own[nowhere], grows=grows)
        own = np.where(elsewhere.lacking, 0.0, own)
    free = list(plan.equal_atoms) if keep is None else free_atoms(plan.equal_atoms, demand.constants)
    ids, size = population.groups(free)
    load = np.bincount(ids[demand.instances], weights=own, minlength=size).astype(np.float64)
    if not single:
        terms = tuple(term.template(population.types) for term in plan.terms if term.name == "PartitionKey")
        # A scan that $top stops reads the first rows of the table, which one server holds.
        run = (key.partition, tuple(free), terms) if plan.access is Access.PARTITION_RANGE_SCAN or stops else None
        loads.at_run(run, load, demand.query.name)
    elif best.piecewise_scans is not None:
        # Many small scans ask as much of the account as one long scan over their rows.
        loads.at_run(None, own[best.piecewise_scans], demand.query.name)
    if plan.back:
        walked = load_going_back(best, demand, key, population, own, weights)
        named = tuple(a for a in atoms_of(key.partition) if plan.periods is None or a != plan.periods.atom)
        loads.at_each_row(key.partition, walked, grows=grows, named=named)
    else:
        for parts, row_load in load_of_rows(best, demand, scheme, population, own, weights):
            loads.at_each_row(parts, row_load, grows=grows)
    one = plan.access is Access.POINT and not plan.several
    if one and not free and keep is not None and keep.any():  # constants alone make the whole key
        loads.at_entity(key, int(np.argmax(keep)), float(load.sum()))


def kept_share(demand: Demand, population: Population, parts: tuple[Part, ...]) -> float | None:
    """What share of a class's load on one key stays there in the whole table, of which a sample of keys is at hand.

    ``parts`` make the key, of a partition or of an entity. None where the class says nothing of it: then the keys that
    are not at hand take their part.

    The newest entities are in one period, whatever else there is. Under Zipf's law the first of all keys takes 1 of
    the sum of the ranks that each key at hand stands for.
    """
    draw = demand.query.draw
    if draw.by is DrawBy.ZIPF:
        return zipf_share(draw, population, {a[1] for a in atoms_of(parts) if a[0] == "p"})
    moving = demand.query.operation is Operation.INSERT or draw.by is DrawBy.NEWEST
    return 1.0 if moving and population.sampling == "slice" else None
