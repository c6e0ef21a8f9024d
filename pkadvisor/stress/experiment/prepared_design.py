"""A design ready to be run: its rows, what its clients send, the same as numbers, and the map that it converges to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from typing import Any

from pkadvisor.design.cost.entity_rates import entity_rates
from pkadvisor.design.cost.shared_key_findings import shared_key_notes
from pkadvisor.design.load.contention import contention
from pkadvisor.design.load.estimates import Bench, CostEstimate
from pkadvisor.engine.options import SECOND, EngineOptions
from pkadvisor.lazy import Floats, np
from pkadvisor.limits import Limits
from pkadvisor.numbers import amount
from pkadvisor.remembered import remembered
from pkadvisor.stress.experiment.designs import Design, DesignedTable
from pkadvisor.stress.experiment.notes import Note
from pkadvisor.stress.experiment.parameter_sampling import compared_most, overdone, picked
from pkadvisor.stress.experiment.request import StressRequest, check_size, server_names
from pkadvisor.stress.experiment.run_duration import VERSIONS_ATTEMPTS, lengths_of, longest_ns
from pkadvisor.stress.experiment.sample_coverage import diluted, diluted_notes, sampled_parts, without_luck
from pkadvisor.stress.load.arrivals import Steps
from pkadvisor.stress.load.load import ClassLoad, Load, WorkloadLoad
from pkadvisor.stress.load.loads import load_of
from pkadvisor.stress.load.shapes import Grown, grown_by
from pkadvisor.stress.placement.stamp_map import MapRange
from pkadvisor.stress.requests.expected import partition_loads
from pkadvisor.stress.requests.flat_steps import FlatSteps
from pkadvisor.stress.requests.programs import Programs
from pkadvisor.stress.requests.retry import UPDATES_MAX
from pkadvisor.stress.requests.rows import entities_of
from pkadvisor.stress.requests.script_table import script_tables
from pkadvisor.stress.requests.scripts import Scripts
from pkadvisor.stress.simulate.entity_versions import EntityVersions
from pkadvisor.stress.simulate.warm import counted_load, warm_map
from pkadvisor.values import dataclass


@dataclass(frozen=True, slots=True)
class PreparedDesign:
    """One design ready to run. ``load`` is the same for every design of the table; ``warm_load`` is what a warmed-up
    table is run with: its beginning, of a table of which some keys are at hand the part that they take (``parts``, by
    class).

    ``scripts`` are those of the whole table, ``unscaled`` those of the data as it is, for parameters with ``weights``
    by class (all of them where ``compared_all``). ``mix`` are the weights of the parameters of the load,
    ``rates_per_s`` the mean rates of ``warm_load``, ``partition_loads`` its entities per second by rank of the
    PartitionKey. ``warm`` is the map that it converges to.
    """

    table: DesignedTable
    design: Design
    limits: Limits
    options: EngineOptions
    programs: Programs
    load: Load
    warm_load: Load
    parts: tuple[float, ...]
    scripts: Scripts
    unscaled: Scripts
    weights: tuple[Mapping[int, float], ...]
    compared_all: bool
    mix: tuple[Mapping[int, float], ...]
    rates_per_s: tuple[float, ...]
    partition_loads: tuple[float, ...]
    warm: tuple[MapRange, ...]
    servers: tuple[str, ...]
    notes: tuple[Note, ...]
    keeps_versions: bool = False
    """Whether the runs answer 412 to a write whose entity was changed since it was read: they do where that is
    predicted and they are short enough."""
    rows_per_key: float = 1.0
    """How many times its rows of today each key has in ``scripts``, by the declared growth."""
    memo: dict[object, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    @remembered("steps")
    def steps(self) -> FlatSteps:
        """The steps of the scripts as the load begins, as columns; made when they are first asked for."""
        return FlatSteps.of(self.scripts, self.limits)

    @property
    def untested(self) -> str | None:
        """What the runs of the load do not test of the design, though it decides; None where nothing is missing."""
        return self.front_untested or self.conflicts_untested

    @property
    def conflicts_untested(self) -> str | None:
        """Writes of one entity that conflict by the prediction and not in the runs; None where they do."""
        conflicting = conflicting_updates(self.table.bench)
        if not conflicting or self.keeps_versions:
            return None
        return f"{next(iter(conflicting.values()))}; {NO_VERSIONS}"

    def versions(self) -> EntityVersions | None:
        """New versions of the entities that requests read, change and write, where runs keep them."""
        return EntityVersions(cache(self.programs.updated)) if self.keeps_versions else None

    @property
    def front_untested(self) -> str | None:
        """Inserts into one range that the runs do not test; None where they do, or where there are few."""
        inserting = self.programs.inserting
        rates = [rate if inserts else 0.0 for rate, inserts in zip(self.rates_per_s, inserting, strict=True)]
        weights = []
        for of_class, count in zip(self.mix, self.programs.instances, strict=True):
            each = np.zeros(count)
            each[list(of_class)] = list(of_class.values())
            weights.append(each)
        return front_untested(self.design.estimate, self.limits, self.steps, rates, weights)

    @property
    def operations_per_s(self) -> float:
        """Operations of the warmed-up run without retries, by the prediction."""
        return operations_per_s(self.programs, self.rates_per_s)

    @property
    def starts_alike(self) -> bool:
        """Whether the warmed-up table is what a new one is: one range on the first server."""
        return self.all_sampled and len(self.warm) == 1 and self.warm[0].server == min(self.servers)

    @property
    def all_sampled(self) -> bool:
        """Whether the keys at hand take all of the load."""
        return all(part == 1 for part in self.parts)

    def own_part(self, load: Load) -> Load:
        """The part of a load that the keys at hand take in the whole table."""
        return diluted(load, self.parts)

    @property
    def offered_per_s(self) -> float:
        """Requests per second of the warmed-up run in the mean."""
        return sum(self.rates_per_s)

    @property
    def whole_per_s(self) -> float:
        """Requests per second of all of the load in the mean."""
        if self.all_sampled or not isinstance(self.load, WorkloadLoad):
            return self.offered_per_s
        return self.load.expected() * SECOND / self.load.duration_ns


def options_of(limits: Limits) -> EngineOptions:
    """The engine's thresholds, with the times and rates that the limits of a store state."""
    return replace(
        EngineOptions(),
        evaluate_ns=round(limits.t_eval_s * SECOND),
        sustain_ns=round(limits.t_sustain_s * SECOND),
        move_ns=round(limits.t_move_s * SECOND),
        splits_per_pass=int(limits.splits_per_pass),
        range_requests_per_s=max(1, int(limits.range_entities_per_s)),
        server_requests_per_s=max(1, int(limits.server_entities_per_s)),
    )


def prepare(table: DesignedTable, design: Design, request: StressRequest, limits: Limits) -> PreparedDesign:
    """Sets a design up: places the rows, records what each request sends, and looks where the load falls."""
    options = options_of(limits)
    programs = Programs(
        table.bench,
        design.scheme,
        entities_of(table.bench.population),
        table=table.section.table,
        seed=request.seed,
    )
    load, of_load = load_of_design(table, programs, request, round(request.longest_s * SECOND))
    grown = grown_by(table.bench.workload, request.growth_months) if request.growth_months else Grown()
    of_load = (*grown.notes, *of_load)
    if grown.rates != 1 and not isinstance(load, WorkloadLoad):
        of_load = (f"{request.load}: requests come at its own rates, which --growth does not raise", *of_load)
    population = table.bench.population
    load = without_luck(load, programs.demands, design.estimate, population)
    parts = sampled_parts(programs.demands, design.estimate, population)
    most_s = _most_with_versions_s(load, programs) if all(part == 1 for part in parts) else None
    lengths = lengths_of(load, diluted(load, parts), request, limits, most_s)
    shared = shared_key_notes(design.scheme, table.bench, redact=request.reading.redact)
    load, notes = lengths.cold, (*of_load, *table.left_out, *lengths.notes, *diluted_notes(table, load, parts), *shared)
    mix, rates = mix_of(lengths.warm)
    used = [np.array(sorted(of_class), dtype=np.int64) for of_class in mix]
    weights, spread = _compared(programs, table)
    everyone = [np.array(sorted(of_class), dtype=np.int64) for of_class in weights]
    scripts, unscaled = script_tables(programs, limits, used, longest_ns(lengths), everyone, grown.rows_per_key)
    servers = server_names(request.servers)
    warm = warm_map(counted_load(lengths.warm, scripts, limits), limits, servers, options)
    return PreparedDesign(
        table=table,
        design=design,
        limits=limits,
        options=options,
        programs=programs,
        load=load,
        warm_load=lengths.warm,
        parts=parts if isinstance(load, WorkloadLoad) else (1.0,) * len(programs.classes),
        scripts=scripts,
        unscaled=unscaled,
        weights=weights,
        compared_all=not spread,
        mix=mix,
        rates_per_s=rates,
        partition_loads=tuple(partition_loads(scripts, rates, mix, limits).tolist()),
        warm=warm,
        servers=servers,
        notes=notes,
        rows_per_key=grown.rows_per_key,
        keeps_versions=most_s is not None and longest_ns(lengths) <= most_s * SECOND,
    )


def _most_with_versions_s(load: Load, programs: Programs) -> float | None:
    """How long a run may be that keeps versions of entities and makes its attempts one by one, about; None where no
    writes of one entity conflict, or where their requests do not name the entity that they change."""
    conflicting = conflicting_updates(programs.bench)
    names = dict(zip(programs.classes, range(len(programs.classes)), strict=True))
    if not conflicting or any(programs.updated(names[name], 0) is None for name in conflicting if name in names):
        return None
    rates = mix_of(load)[1]
    tried = [rate * UPDATES_MAX * (name in conflicting) for rate, name in zip(rates, programs.classes, strict=True)]
    return VERSIONS_ATTEMPTS / max(1e-9, operations_per_s(programs, rates) + 2 * sum(tried))


def operations_per_s(programs: Programs, rates_per_s: Sequence[float]) -> float:
    """Operations at the store without retries, by the prediction, where the classes have these rates."""
    costs = {cost.name: cost.requests for cost in programs.estimate.classes}
    return sum(rate * max(1.0, costs[name]) for rate, name in zip(rates_per_s, programs.classes, strict=True))


def load_at(prepared: PreparedDesign, factor: float, seconds: float, weigh: Mapping[str, float] | None = None) -> Load:
    """The worst minute of the workload, at a factor, evenly spaced: what a prediction of means is compared with.

    ``weigh``: what each class loads, at its peak, of the resource whose worst minute is wanted.
    """
    load = WorkloadLoad.from_workload(
        prepared.table.bench,
        prepared.programs.classes,
        duration_ns=round(seconds * SECOND),
        seed=prepared.programs.seed,
        factor=factor,
        shape="constant",
        weigh=weigh,
    )
    thin = _thinned(_in_order(load, prepared.programs), prepared.table, prepared.programs)[0]
    return without_luck(thin, prepared.programs.demands, prepared.design.estimate, prepared.table.bench.population)


def load_of_design(
    table: DesignedTable, programs: Programs, request: StressRequest, duration_ns: int
) -> tuple[Load, tuple[str, ...]]:
    """The load that was asked for, and what there is to say of it."""
    load = load_of(
        table.bench,
        request.load,
        programs.classes,
        duration_ns=duration_ns,
        seed=request.seed,
        months=request.growth_months or None,
        traffic=table.section.traffic,
    )
    notes = list(getattr(load, "notes", ()))
    if isinstance(load, WorkloadLoad):
        check_size(load.expected(), request.longest_s)
        thin, more = _thinned(_in_order(load, programs), table, programs)
        return thin, (*notes, *more)
    check_size(sum(len(part.at_ns) * part.stands_for for part in load.parts), request.longest_s)
    assert load.classes == programs.classes, "loads and programs number their classes alike"
    return load, tuple(notes)


def _in_order(load: WorkloadLoad, programs: Programs) -> WorkloadLoad:
    """The load with a part for each class of the programs, in their order: classes that never come have no rate."""
    parts = {part.name: part for part in load.parts}
    missing = {
        name: ClassLoad(name, Steps.flat(0.0), np.zeros(count))
        for name, count in zip(programs.classes, programs.instances, strict=True)
    }
    return replace(load, parts=tuple(parts.get(name, missing[name]) for name in programs.classes))


def _thinned(load: WorkloadLoad, table: DesignedTable, programs: Programs) -> tuple[WorkloadLoad, list[str]]:
    """The load with some parameters of each class in place of all (``picked``), that every hot partition keep its
    share."""
    parts, cut, more = [], [], []
    for part, demand in zip(load.parts, programs.demands, strict=True):
        sample = picked(part.weights, demand, table)
        if sample is not None:
            cut.append(f"{part.name} ({np.count_nonzero(part.weights > 0):,})")
            if overdone(part.weights, sample, demand, table):
                more.append(
                    f"{part.name}: its requests fall on fewer partitions than in the table, and each takes more"
                )
            part = replace(part, weights=sample)
        parts.append(part)
    notes = [f"each query is replayed with a weighted sample of parameter sets: {', '.join(cut)}"] if cut else []
    return replace(load, parts=tuple(parts)), [*notes, *more]


def mix_of(load: Load) -> tuple[tuple[dict[int, float], ...], tuple[float, ...]]:
    """(the weights of the parameters of each class, its mean rate per second) of a load.

    Of a load that is not drawn by weights its own requests are counted.
    """
    seconds = load.duration_ns / SECOND
    if isinstance(load, WorkloadLoad):
        rates = tuple(part.rate.expected(load.duration_ns) / seconds for part in load.parts)
        out = []
        for part, rate in zip(load.parts, rates, strict=True):
            there = np.flatnonzero(part.weights > 0) if rate else ()
            out.append({int(i): float(part.weights[i]) for i in there})
        return tuple(out), rates
    counts = [np.zeros(count, dtype=np.int64) for count in load.instances]
    for batch in load.batches():
        for number, of_class in enumerate(counts):
            of_class += np.bincount(batch.instances[batch.classes == number], minlength=len(of_class))
    rates = tuple(float(of_class.sum()) / seconds for of_class in counts)
    return tuple({int(i): float(c[i]) for i in np.flatnonzero(c)} for c in counts), rates


def _compared(programs: Programs, table: DesignedTable) -> tuple[tuple[dict[int, float], ...], bool]:
    """The parameters that predictions are compared with, with their weights: all of them, or some by their weight.

    They are those that a load by the declared weights sends, so that their scripts are written down once; but they
    weigh what they weigh in the data as it is, which is what is predicted: where keys of the whole table are missing
    from a sample, what is drawn per key weighs otherwise there.
    """
    own = {demand.query.name: demand for demand in table.sample.demands}
    parts, some = [], False
    for demand in programs.demands:
        weights = np.asarray(demand.weights, dtype=np.float64)
        there = weights > 0
        as_it_is = own[demand.query.name].weights
        assert len(as_it_is) == len(weights), "the data are the same whatever they stand for"
        ratio = np.where(there, as_it_is / np.where(there, weights, 1.0), 0.0)
        every = np.count_nonzero(there) <= compared_most(demand, table)
        sample = None if every else picked(weights, demand, table)
        some = some or sample is not None
        weights = (weights if sample is None else sample) * ratio
        parts.append({int(i): float(weights[i]) for i in np.flatnonzero(weights > 0)})
    return tuple(parts), some


CONFLICTING = 1.1
"""Attempts per commit from which on the conflicts of an entity are no matter of chance."""


NO_VERSIONS = "the runs of this test keep no versions of entities, so their writes do not conflict"


def conflicting_updates(bench: Bench) -> dict[str, str]:
    """The classes that read, change and write one entity so often that their writes conflict, each in words."""
    out = {}
    for name, entity_rate in entity_rates(bench).items():
        contended = contention(entity_rate.hottest_per_s, bench.limits, cycle_ms=entity_rate.cycle_ms)
        attempts = contended.attempts_per_commit
        if attempts is None or attempts >= CONFLICTING:
            often = "not all can commit" if attempts is None else f"a commit takes {amount(attempts)} attempts"
            out[name] = (
                f"'{name}' reads, changes and writes one entity {contended.rate_per_s:,.0f} times/s, where {often} by "
                "the prediction"
            )
    return out


AS_CROWDED = 0.9
"""A run tests a front where one place of the key order takes so much of the share of the inserts that is predicted."""


def front_untested(
    estimate: CostEstimate, limits: Limits, steps: FlatSteps, inserts_per_s: Sequence[float], weights: Sequence[Floats]
) -> str | None:
    """What a run does not test: inserts that crowd into one range beyond its target, where they are predicted and those
    of the run do not; None where nothing is missing.

    ``inserts_per_s``: requests/s by class, 0 for those that do not insert; ``weights`` of their parameters.
    """
    ranges = estimate.fronts.lasting(limits.lasting_s)
    if not ranges or estimate.inserts_per_s_peak / ranges <= limits.range_entities_per_s:
        return None
    if largest_share(steps, inserts_per_s, weights) * (1 + len(estimate.scheme.index_rows)) >= AS_CROWDED / ranges:
        return None
    crowd, target = estimate.inserts_per_s_peak / ranges, limits.range_entities_per_s
    return (
        f"{crowd:,.0f} entities/s are predicted to be inserted into one range of keys at the peak, against a target of "
        f"{target:,.0f}; new entities of this run do not continue in the order of arrival, so they do not crowd there"
    )


def largest_share(steps: FlatSteps, inserts_per_s: Sequence[float], weights: Sequence[Floats]) -> float:
    """The largest part of the inserted entities that one place of the key order takes, which no split divides."""
    loads = np.bincount(steps.low, steps.rates(inserts_per_s, weights) * steps.entities)
    total = float(loads.sum())
    return float(loads.max()) / total if total else 0.0
