"""Tables of which only some keys are at hand: which part of a class's load the keys at hand take in the whole table."""

from __future__ import annotations

from collections.abc import Sequence

from pkadvisor.design.cost.plan_reads import kept_share
from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.keys.transforms import Part
from pkadvisor.design.load.estimates import ClassCost, CostEstimate
from pkadvisor.design.plan.caller import touched
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.demand import Demand
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Floats, np
from pkadvisor.numbers import percent
from pkadvisor.observe.workload import Operation
from pkadvisor.stress.experiment.designs import DesignedTable
from pkadvisor.stress.experiment.notes import Note, OwnNote
from pkadvisor.stress.load.arrivals import Steps
from pkadvisor.stress.load.load import Load, WorkloadLoad


def sampled_parts(demands: Sequence[Demand], estimate: CostEstimate, population: Population) -> tuple[float, ...]:
    """By class, of the load the part that the keys at hand would take if all keys of the table were there; 1 of a log.

    Requests load several PartitionKeys, of which different parts may be at hand: what counts is the one that is the
    hottest of the scheme, and for classes that never touch it the one of which most is at hand.
    """
    costs = {cost.name: cost for cost in estimate.classes}
    hot = None if estimate.hot is None else estimate.hot.template
    return tuple(_part(demand, costs[demand.query.name], estimate.scheme, population, hot) for demand in demands)


def _part(
    demand: Demand, cost: ClassCost, scheme: KeyScheme, population: Population, hot: tuple[Part, ...] | None
) -> float:
    stays = _of_random_rows(demand, cost, scheme, population, hot)
    if stays is not None:
        return float((demand.weights * stays).sum() / demand.weights.sum())
    reached = _reached(demand, cost, scheme)
    loaded = [hot] if hot is not None and hot in reached else reached
    shares = [kept_share(demand, population, parts) for parts in loaded]
    if known := [share for share in shares if share is not None]:
        return max(known)
    if _logged(demand, population):
        return 1.0
    atoms = [atoms_of(each) for each in loaded]
    rest = [population.without_arrival(each) if cost.plan is None else each for each in atoms]
    return max((population.share_factor(each) for each in rest), default=1.0)


def _logged(demand: Demand, population: Population) -> bool:
    """Whether the parameters are those of a log, which names every key as often as it comes."""
    return bool(len(demand.instances)) and int(demand.instances[0]) >= population.rows


def _of_random_rows(
    demand: Demand, cost: ClassCost, scheme: KeyScheme, population: Population, hot: tuple[Part, ...] | None
) -> Floats | None:
    """By parameter, the part of its load that stays on the hottest template's partition; None but for random rows.

    Of random rows some partitions have more than their share by luck, each by another factor.
    """
    if not population.random_rows or hot is None or hot not in _reached(demand, cost, scheme):
        return None
    if _logged(demand, population) or kept_share(demand, population, hot) is not None or not demand.weights.sum():
        return None
    atoms = atoms_of(hot)
    factors = population.share_factors(population.without_arrival(atoms) if cost.plan is None else atoms)
    if isinstance(factors, float) or not atoms:
        return None
    stays = factors[population.groups(atoms)[0][demand.instances]]
    return None if np.all(stays == 1) else stays


def without_luck(load: Load, demands: Sequence[Demand], estimate: CostEstimate, population: Population) -> Load:
    """A load drawn from random rows whose partitions share it as those of the table do; any other as it is."""
    from dataclasses import replace

    if not isinstance(load, WorkloadLoad):
        return load
    costs, hot = {cost.name: cost for cost in estimate.classes}, None if estimate.hot is None else estimate.hot.template
    parts = []
    for part, demand in zip(load.parts, demands, strict=True):
        stays = _of_random_rows(demand, costs[demand.query.name], estimate.scheme, population, hot)
        parts.append(part if stays is None else replace(part, weights=part.weights * stays))
    return replace(load, parts=tuple(parts))


def _reached(demand: Demand, cost: ClassCost, scheme: KeyScheme) -> list[tuple[Part, ...]]:
    """The PartitionKeys that requests of a class load."""
    keys = [key.partition for key, _ in scheme.each_key()]
    if cost.plan is None:
        return keys
    vias = {cost.plan.via} | ({0} if cost.plan.follows else set())
    if demand.query.operation is not Operation.QUERY:
        vias |= {0, *touched(demand.query, scheme)}
    return [keys[via] for via in sorted(vias)]


def diluted(load: Load, parts: Sequence[float]) -> Load:
    """Of each class of a load drawn from the data a part of its requests; any other load, and a whole one, as it is."""
    from dataclasses import replace

    if not isinstance(load, WorkloadLoad) or all(part == 1 for part in parts):
        return load
    thin = (replace(each, rate=each.rate.times(Steps.flat(part))) for each, part in zip(load.parts, parts, strict=True))
    return replace(load, parts=tuple(thin))


def diluted_notes(table: DesignedTable, load: Load, parts: Sequence[float]) -> tuple[Note, ...]:
    """What is to be said of runs of a design that send ``parts`` of the classes of a load."""
    part = diluted(load, parts)
    if part is load:
        return ()
    assert isinstance(load, WorkloadLoad) and isinstance(part, WorkloadLoad)
    known = table.bench.population
    have = f"the data hold {known.rows:,} of {known.total:,} entities"
    if known.sampling == "random-keys" and known.sampled_by:
        name = ", ".join(atom[1] for atom in known.sampled_by)
        have = f"the data hold {known.distinct(known.sampled_by):,} of {round(known.groups_total(known.sampled_by)):,} "
        have += f"values of {name}"
    return (
        f"{have}, so a warmed-up run sends the part of the load that these take, and each partition takes what it "
        "takes in the whole table; ranges, servers and the account, which all keys load, are not tested by it (a limit "
        "of the account is proved by itself)",
        OwnNote(
            "a warmed-up run sends, of the load",
            f"{percent(part.expected() / load.expected())} ({_by_class(load, parts)})",
        ),
        "a cold start sends all of the load to the sampled keys, with the target of one partition lifted: what "
        "throttles there are ranges, servers and the account",
    )


def _by_class(load: WorkloadLoad, parts: Sequence[float]) -> str:
    """The parts of the classes that come, the largest first: ``6 % of newest, 0.4 % of save and one-version``."""
    names: dict[str, list[str]] = {}
    sent = [(share, each.name) for share, each in zip(parts, load.parts, strict=True) if any(each.rate.per_s)]
    for share, name in sorted(sent, key=lambda entry: -entry[0]):
        names.setdefault(percent(share), []).append(name)
    if len(names) == 1:
        return "the same of every query and write"
    return ", ".join(f"{share} of {' and '.join(of)}" for share, of in names.items())
