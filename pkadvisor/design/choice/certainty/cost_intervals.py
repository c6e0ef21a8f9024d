"""Intervals of the costs of a scheme: what resamples tell of each number, and where none would hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from pkadvisor.design.cost.cost import DrawnMeasures, measure
from pkadvisor.design.cost.resample import BenchDraw, affordable, replicates_of, under_laws
from pkadvisor.design.load.breaks import smallest
from pkadvisor.design.load.estimates import Bench, ClassCost, CostEstimate, Term
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.demand import Demand
from pkadvisor.design.rows.samples.intervals import Interval, largest_partition, spread
from pkadvisor.lazy import Floats, np
from pkadvisor.observe.workload import Basis, DrawBy
from pkadvisor.values import dataclass

_HOTTEST = "the hottest partition"
REQUESTS, PEAK, ENTITIES, READ, HOTTEST, SHARE, BREAK, FIRST_BREAK, STORED, LATENCY = (
    "requests",
    "requests at peak",
    "entities counted",
    "entities read",
    "hottest partition at peak",
    "share of the hottest partition",
    "break factor",
    "smallest break factor",
    "stored",
    "latency against goal",
)
BREAKS = (BREAK, FIRST_BREAK)


def measures(priced: CostEstimate | DrawnMeasures) -> dict[str, tuple[float, str]]:
    """The numbers of a cost that a sample leaves open, by the names of the result's terms, each with its unit."""
    out = {
        REQUESTS: (priced.requests_per_s, "requests/s"),
        PEAK: (priced.requests_per_s_peak, "requests/s"),
        ENTITIES: (priced.entities_per_s, "entities/s"),
        READ: (sum(c.rate_per_s * c.entities_read for c in priced.classes if not c.analytic), "entities/s"),
        HOTTEST: (priced.hot.entities_per_s if priced.hot else 0.0, "entities/s"),
        SHARE: (priced.hot.share if priced.hot else 0.0, "share"),
        BREAK: (priced.break_factor, "x"),
        FIRST_BREAK: (first.factor if (first := smallest(priced.breaks)) is not None else math.inf, "x"),
        LATENCY: (priced.latency_excess, "x"),
        STORED: (priced.bytes_per_entity, "bytes/entity"),
    }
    for cost in priced.classes:
        out[reads_of(cost.name)] = (cost.entities_read, "entities")
        out[requests_of(cost.name)] = (cost.requests, "requests")
    return out


def reads_of(name: str) -> str:
    """The name of the term for the entities that a class reads."""
    return f"entities read, {name}"


def requests_of(name: str) -> str:
    """The name of the term for the requests of a class."""
    return f"requests, {name}"


@dataclass(frozen=True, slots=True)
class Resampled:
    """A scheme and its numbers on every resample, and under each other law of group sizes that the rows allow."""

    estimate: CostEstimate
    values: Mapping[str, Floats]
    allowed: Mapping[str, Floats] = field(default_factory=dict)


def resample(
    schemes: Sequence[CostEstimate], bench: Bench, draw: BenchDraw, *, replicates: int | None = None, seed: int = 0
) -> list[Resampled]:
    """Every scheme's numbers on the same resamples."""
    again = replicates_of(bench, draw, replicates=replicates or affordable(bench, draw), seed=seed)
    values = [_numbers(schemes, each) for each in again]
    allowed = [_numbers(schemes, each) for each in under_laws(bench, draw)]

    def of(number: int, rows: list[list[dict[str, float]]]) -> dict[str, Floats]:
        return {name: np.array([row[number][name] for row in rows]) for name in measures(schemes[number])}

    return [Resampled(estimate, of(n, values), of(n, allowed)) for n, estimate in enumerate(schemes)]


def _numbers(schemes: Sequence[CostEstimate], bench: Bench) -> list[dict[str, float]]:
    """The numbers of each scheme on one bench."""
    return [{k: v for k, (v, _) in measures(measure(estimate.scheme, bench)).items()} for estimate in schemes]


def terms_of(again: Resampled, bench: Bench, draw: BenchDraw) -> tuple[Term, ...]:
    """The numbers of a scheme with their intervals; *unknown*, with the reason, where no interval would hold."""
    estimate = again.estimate
    steps, least = _steps(estimate, bench), _least(estimate)
    open_ = _open_classes(estimate, bench)
    unknown = _unknown(again, open_, bench)
    keys = bench.population.sampling == "random-keys" and draw.rows_sampled
    less = _fewer(estimate) if keys else {}
    most, certain = (_most(estimate), _certain_names(estimate, bench)) if keys else ({}, frozenset())
    out: dict[str, Term] = {}
    for name, (value, unit) in measures(estimate).items():
        if name in unknown:
            out[name] = Term(name, value, unit, Basis.UNKNOWN, unknown[name])
            continue
        held = Interval(value, value)
        if math.isfinite(value) and value > 0:
            held = spread(
                value,
                again.values[name],
                kept=draw.kept,
                fraction=draw.fraction,
                freedom=draw.freedom,
                step=steps.get(name, 0.0),
                base=min(least.get(name, 0.0), value),
            )
            held = _reaching(held, again.allowed.get(name))
        if name == LATENCY and not held.exact:
            held = Interval(None, None, "it moves by less than a twentieth between halves of the sampled rows")
        if name in (ENTITIES, READ):
            held = _with_unknown(held, open_)
        if keys and name not in certain:
            held = replace(held, low=None if held.low is None else max(0.0, held.low - less.get(name, 0.0)))
            held = _open_above(held, most.get(name)) if name not in BREAKS else Interval(0.0, held.high, LARGER_KEY)
        out[name] = _term(name, value, unit, held)
    return tuple(_with_hottest(out, estimate, bench, draw).values())


def _term(name: str, value: float, unit: str, held: Interval) -> Term:
    exact = held.exact or not math.isfinite(value)
    if exact:
        return Term(name, value, unit, Basis.COUNTED, "", held.low, held.high)
    source = "half-samples of the sampled rows" + (f"; {held.note}" if held.note else "")
    return Term(name, value, unit, Basis.ESTIMATED, source, held.low, held.high)


ROWS_LEAST, RANKED_LEAST = 30.0, 20.0
"""Rows of equal weight that tell as much as those whose values a class asks for: of fewer nothing is stated. Where they
are the most frequent, the laws of group sizes tell of them as well. Assumed."""
MATCHES_LEAST = 5.0
"""Rows at hand that match, below which nobody can tell how far the first rows wanted lie. Assumed."""
STEADY = 0.05
"""What a figure without an interval may move by over all resamples and laws of group sizes."""
FEW_ROWS = "fewer than 30 sampled rows (of equal weight) decide what is asked for, and others may differ"
UNSTEADY = "it differs between halves of the sampled rows, and a high percentile has no interval"
LARGER_KEY = "a key that was not drawn may be larger than all that were"


def _open_classes(estimate: CostEstimate, bench: Bench) -> list[ClassCost]:
    """The classes of which nothing can be stated."""
    reads = [c for c in estimate.classes if c.plan is not None and not _certain(c)]
    return [c for c in reads if _rests_on_few(c.name, bench) or _scattered(c, bench)]


def _with_unknown(held: Interval, open_: Sequence[ClassCost]) -> Interval:
    """An interval of a sum that reaches as far as the classes may of which nothing can be stated."""
    live = [c for c in open_ if not c.analytic]
    if held.low is None or held.high is None or not live:
        return held
    less = sum(c.rate_per_s * max(0.0, c.entities_read - 1) for c in live)
    more = sum(c.rate_per_s * max(0.0, c.entities_read_max - c.entities_read) for c in live)
    return replace(held, low=max(0.0, held.low - less), high=held.high + more)


def _unknown(again: Resampled, few: Sequence[ClassCost], bench: Bench) -> dict[str, str]:
    """The numbers of a scheme of which nothing can be stated, each with the reason."""
    estimate = again.estimate
    paged = [c for c in few if c.entities_read_max * 4 > bench.limits.page_entities]
    out = {reads_of(c.name): FEW_ROWS for c in few} | {requests_of(c.name): FEW_ROWS for c in paged}
    heavy = sum(c.rate_per_s * c.entities_read_max for c in few if not c.analytic)
    if heavy > STEADY * estimate.entities_per_s:
        out |= dict.fromkeys((ENTITIES, READ, HOTTEST, SHARE, *BREAKS, LATENCY), FEW_ROWS)
    if any(not c.analytic for c in paged):
        out |= dict.fromkeys((REQUESTS, PEAK), FEW_ROWS)
    moved = np.concatenate([again.values[LATENCY], again.allowed.get(LATENCY, np.empty(0))])
    if np.any(np.abs(moved - estimate.latency_excess) > STEADY * estimate.latency_excess):
        out.setdefault(LATENCY, UNSTEADY)
    return out


def _rests_on_few(name: str, bench: Bench) -> bool:
    """Whether few rows fill the parameters of a class, by the rows of equal weight that tell as much (Kish 1965)."""
    demand = next(d for d in bench.demands if d.query.name == name)
    population = bench.population
    if population.rows >= population.total or not len(demand.weights) or int(demand.instances[0]) >= population.rows:
        return False
    ranked = demand.query.draw.by is DrawBy.ZIPF
    if ranked and population.across([("p", name) for name in demand.query.draw.of if population.has(name)]):
        return True  # which groups are largest is luck: those that large keys have rows of
    least = RANKED_LEAST if ranked else ROWS_LEAST
    return float(demand.weights.sum() ** 2 / (demand.weights**2).sum()) < min(least, population.rows / 2)


def _scattered(cost: ClassCost, bench: Bench) -> bool:
    """Whether the server filters on its way to the first rows wanted, of which too few instances have some at hand.

    How many rows match, of those that are passed, is another for each instance.
    """
    population = bench.population
    if cost.plan is None or cost.plan.top is None or not cost.plan.unserved or population.rows >= population.total:
        return False
    demand = next(d for d in bench.demands if d.query.name == cost.name)
    sampled = demand.returned * (population.rows / population.total)
    return float(demand.weights[np.asarray(sampled < MATCHES_LEAST)].sum()) > 0.1


def _least(estimate: CostEstimate) -> dict[str, float]:
    """What no number can fall below: a request and the entity that is asked for, of each class."""
    live = [c for c in estimate.classes if not c.analytic]
    out = {reads_of(c.name): 1.0 if c.entities_read >= 1 else 0.0 for c in estimate.classes}
    out |= {requests_of(c.name): 1.0 if c.requests >= 1 else 0.0 for c in estimate.classes}
    out[READ] = sum(c.rate_per_s * out[reads_of(c.name)] for c in live)
    out[REQUESTS] = sum(c.rate_per_s * out[requests_of(c.name)] for c in live)
    out[PEAK] = sum(c.peak_per_s * out[requests_of(c.name)] for c in live)
    return out


def _most(estimate: CostEstimate) -> dict[str, float]:
    """What no number can exceed: ``$top`` entities of each request, where the key settles all of the filter."""
    if estimate.scheme.index_rows:
        return {}
    return {
        reads_of(c.name): c.plan.top * max(1.0, c.fan_out)
        for c in estimate.classes
        if c.plan is not None and c.plan.top is not None and not c.plan.unserved and not c.plan.back
    }


def _fewer(estimate: CostEstimate) -> dict[str, float]:
    """How many requests fewer there may be where a filter names several values: a large key may have one of them."""
    out: dict[str, float] = {}
    for cost in estimate.classes:
        if cost.plan is not None and cost.plan.choices:
            fewer = max(0.0, cost.requests - 1)
            out[requests_of(cost.name)] = fewer
            for name, rate in ((REQUESTS, cost.rate_per_s), (PEAK, cost.peak_per_s)):
                out[name] = out.get(name, 0.0) + rate * fewer * (not cost.analytic)
    return out


def _certain_names(estimate: CostEstimate, bench: Bench) -> frozenset[str]:
    """The numbers that no key which was not drawn can change."""
    plain = [c.name for c in estimate.classes if c.plan is None or _certain(c)]
    return frozenset({STORED, *map(reads_of, plain), *map(requests_of, plain)})


def _open_above(held: Interval, most: float | None) -> Interval:
    """An interval of a sample of whole keys: nothing but what is possible bounds what an unseen key may add."""
    return Interval(held.low, most, "" if most is not None else LARGER_KEY)


def _reaching(held: Interval, allowed: Floats | None) -> Interval:
    """An interval that reaches as far as every law of group sizes that the rows allow."""
    if held.low is None or held.high is None or allowed is None or not len(allowed):
        return held
    return replace(held, low=min(held.low, float(allowed.min())), high=max(held.high, float(allowed.max())))


def _steps(estimate: CostEstimate, bench: Bench) -> dict[str, float]:
    """What one more row found would add to the entities that a class reads."""
    population = bench.population
    if population.rows >= population.total:
        return {}
    each = population.total / max(1, population.rows)
    demands: dict[str, Demand] = {d.query.name: d for d in bench.demands}
    out = {}
    for cost in estimate.classes:
        demand = demands.get(cost.name)
        if demand is None or not len(demand.weights) or _certain(cost):
            continue
        fixed = {*demand.conditions.equal, *demand.conditions.folded} <= demand.constants.keys() and not demand.bounds
        out[reads_of(cost.name)] = each * (1.0 if fixed else min(1.0, 2 * float(np.max(demand.weights))))
    live = [c for c in estimate.classes if not c.analytic]
    out[ENTITIES] = sum(c.rate_per_s * out.get(reads_of(c.name), 0.0) for c in live)
    return out


def _certain(cost: ClassCost) -> bool:
    """Whether the entities that a class reads follow from its plan: a look-up by the whole key, or a full scan."""
    if cost.plan is None or cost.plan.access is Access.TABLE_SCAN:
        return True
    return cost.plan.access is Access.POINT and cost.entities_read <= max(1.0, cost.fan_out)


def _with_hottest(out: dict[str, Term], estimate: CostEstimate, bench: Bench, draw: BenchDraw) -> dict[str, Term]:
    """The hottest partition's numbers reach as far as the share of the largest partition does: a greatest of many
    groups is one by luck, and resamples of rows share that luck."""
    if not draw.rows_sampled or estimate.hot is None:
        return out
    population = bench.population
    atoms = atoms_of(estimate.scheme.main.partition)
    counts = population.counts(atoms)
    seen = float(counts.max(initial=0)) / max(1, population.rows)
    held = largest_partition(population, atoms)
    for name in (HOTTEST, SHARE):
        term = out[name]
        if not seen or term.low is None or held.low is None or not atoms or term.basis is Basis.UNKNOWN:
            continue
        low = min(term.low, term.value * min(1.0, held.low / seen))
        high = None
        if held.high is not None and term.high is not None:
            high = max(term.high, term.value * max(1.0, held.high / seen))
            high = min(high, 1.0) if name == SHARE else high
        source = f"{term.source}; {held.note}" if held.note else term.source
        exact = low == high
        out[name] = replace(term, low=low, high=high, source=source, basis=Basis.COUNTED if exact else Basis.ESTIMATED)
    hot, first = out[HOTTEST], smallest(estimate.breaks)
    causes = {BREAK: estimate.break_cause, FIRST_BREAK: first.cause if first is not None else ""}
    for name, cause in causes.items():
        factor = out[name]
        if cause == _HOTTEST and hot.low and hot.value and factor.basis is not Basis.UNKNOWN:
            most = factor.value * hot.value
            low, high = 0.0 if hot.high is None else most / hot.high, most / hot.low
            out[name] = replace(factor, basis=hot.basis, source=hot.source, low=low, high=high)
    return out
