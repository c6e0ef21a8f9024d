"""How much of the load is drawn by assumption, and whether another draw could heat a partition beyond its target."""

from __future__ import annotations

import math

from pkadvisor.design.cost.scans import SEVERAL_PARTITIONS
from pkadvisor.design.evidence.given import Evidence, Ground
from pkadvisor.design.keys.scheme import variable
from pkadvisor.design.load.estimates import Bench, CostEstimate
from pkadvisor.design.rows.demand import Demand
from pkadvisor.numbers import amount, percent
from pkadvisor.observe.workload import Basis, DrawBy


def assumptions(given: Evidence) -> Ground:
    """How much of the load is drawn by assumption, and whether that could heat a partition beyond its target.

    Where nobody says which entities are asked for, each is taken to be equally likely. The guess carries as long as
    the hottest partition would hold if it were asked for by Zipf's law with exponent 1, after which the first of n has
    1 ÷ (1 + 1/2 + … + 1/n) of the load, and no less than it takes where all are equally likely. No draw changes what
    a scan over several partitions reads of each, nor what one takes that a constant PartitionKey makes of all.
    """
    name, title = "assumptions", "share of the load that is assumed"
    unknown = [c.name for c in given.bench.workload.classes if c.rate.basis is Basis.UNKNOWN and not c.analytic]
    if unknown:
        sentence = f"how often '{unknown[0]}' comes is not known: without its rate it weighs nothing"
        return Ground(name, title, sentence, False, f"the rate of '{unknown[0]}', or a log with times", 1.0)
    rests = assumed_share(given.bench, given.best)
    if not rests:
        return Ground(name, title, "which entities are asked for is declared, logged or does not matter")
    costs = {c.name: c for c in given.best.classes}
    guessed = [costs[d.query.name] for d in given.bench.demands if guess(d, given.bench) and d.query.name in costs]
    chosen = [c for c in guessed if not c.analytic and (c.plan is None or c.plan.access not in SEVERAL_PARTITIONS)]
    load = math.fsum(c.peak_per_s * (c.entities_read + c.entities_written) for c in chosen)
    first = load / _harmonic(max(1, given.best.partitions))
    target = given.bench.limits.partition_entities_per_s
    names = ", ".join(f"'{c.name}'" for c in guessed[:3]) + (" …" if len(guessed) > 3 else "")
    sentence = f"{percent(rests)} of the load is a guess: nothing says which entities {names} ask for most"
    if not any(variable(key.partition) for key, _ in given.best.scheme.each_key()):
        sentence += "; all of them lie in one partition, which takes the same whatever is asked for"
        return Ground(name, title, sentence, True, "", rests)
    if first <= target:
        return Ground(name, title, sentence, True, "", rests, first, target, "entities/s")
    first = max(first, given.best.hot.entities_per_s if given.best.hot is not None else 0.0)
    sentence += (
        f". If some are asked for far more than others (Zipf), the hottest partition takes {amount(first)} entities/s; "
        f"its target is {amount(target)}"
    )
    what = f"`draw` in the design, which says whose values fill the parameters of {names}; or give a log"
    return Ground(name, title, sentence, False, what, rests, first, target, "entities/s")


def guess(demand: Demand, bench: Bench) -> bool:
    """Whether nobody says whose values fill a class's parameters, and it has some."""
    from pkadvisor.table.odata import parameters as named

    query = demand.query
    if query.analytic or query.filter is None or not named(query.filter):
        return False
    lost = query.draw.by is DrawBy.LOG and query.name not in bench.workload.instances
    return demand.draw_basis is Basis.ASSUMED or lost


def assumed_share(bench: Bench, best: CostEstimate) -> float:
    """The share of the load whose parameters are drawn by assumption, under one scheme."""
    given = Evidence(bench, best, None, 0, "complete", log=False)
    return given.rests_on(lambda demand: guess(demand, bench))


def _harmonic(count: int) -> float:
    """1 + 1/2 + … + 1/n, to six digits."""
    if count < 100:
        return math.fsum(1 / n for n in range(1, count + 1))
    return math.log(count) + 0.5772156649 + 1 / (2 * count)
