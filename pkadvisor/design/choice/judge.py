"""Judging a section: build the bench, search, and check the winner over every row.

What is counted over every row for the schemes that are told, since a sample of rows cannot tell it: partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from pkadvisor.design.choice.asked_texts import text_notes, weighable, with_values_asked
from pkadvisor.design.choice.bench_of_section import bench_for, check_classes, names_of_others, of_known_properties
from pkadvisor.design.choice.beside_kinds import with_loads_of_other_kinds
from pkadvisor.design.choice.candidates import KEYS_OF_A_PATTERN
from pkadvisor.design.choice.certainty.confidence import with_confidence
from pkadvisor.design.choice.conflicts import conflicts_among
from pkadvisor.design.choice.key_building import KeyGround, separator_for
from pkadvisor.design.choice.prepared import asks_for_keys, scans_of_other_kinds, unexplained_keys, with_shared_keys
from pkadvisor.design.choice.row_sets import BESIDE_MAX
from pkadvisor.design.choice.search import Advice, advise
from pkadvisor.design.choice.sections import Judged, Section, inferred, observed
from pkadvisor.design.cost.as_sent import warnings_as_sent
from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.scheme import Key, KeyScheme, key_expression
from pkadvisor.design.keys.transforms import Atom, Context, Field
from pkadvisor.design.load.estimates import BREAK_ENOUGH, Bench, Budget, CostEstimate, Remark, Term
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.census import census
from pkadvisor.design.rows.population import EXACT_ROWS_MAX, Population
from pkadvisor.design.rows.samples.screen import PartitionFacts
from pkadvisor.lazy import pl
from pkadvisor.limits import Limits
from pkadvisor.observe.data.dataset import Dataset
from pkadvisor.observe.data.sketches import DistinctSketch, sketched
from pkadvisor.observe.design_file.declaration import check_properties
from pkadvisor.observe.profile.data_profile import DataProfile
from pkadvisor.observe.workload import Basis, DrawBy, Workload
from pkadvisor.table.edm import KEYS, EdmType
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    from pkadvisor.design.choice.search import Advice


PARTITIONS = "partitions"
FINALISTS = 3


def with_partitions(
    advice: Advice, bench: Bench, dataset: Dataset | None, facts: Mapping[Key, PartitionFacts] | None = None
) -> Advice:
    """The advice with the partitions of its first schemes: as counted over every row (``facts``), else sketched over
    all rows of the data where it can be read."""
    estimates = list(advice.ranking[:FINALISTS])
    if advice.current is not None and all(c is not advice.current for c in estimates):
        estimates.append(advice.current)
    after = partitions_counted(estimates, bench, dataset, facts)
    counted = {id(before): estimate for before, estimate in zip(estimates, after, strict=True)}
    return replace(
        advice,
        recommended=counted.get(id(advice.recommended), advice.recommended),
        ranking=tuple(counted.get(id(c), c) for c in advice.ranking),
        current=None if advice.current is None else counted[id(advice.current)],
    )


def partitions_counted(
    costs: Sequence[CostEstimate],
    bench: Bench,
    dataset: Dataset | None,
    facts: Mapping[Key, PartitionFacts] | None = None,
) -> tuple[CostEstimate, ...]:
    """Schemes with their partitions as ``with_partitions`` counts them."""
    population, facts = bench.population, facts or {}
    if population.complete:
        return tuple(costs)
    sketches = _sketches([c.scheme.main for c in costs if c.scheme.main not in facts], population, dataset)
    return tuple(
        _counted(c, population, sketches.get(atoms_of(c.scheme.main.partition)), facts.get(c.scheme.main))
        for c in costs
    )


def _sketches(
    keys: list[Key], population: Population, dataset: Dataset | None
) -> dict[tuple[Atom, ...], DistinctSketch]:
    """The PartitionKeys of the data by what they group by; none where all rows that were read are at hand.

    Values are hashed instead of key texts: different values give different keys, and a number is hashed sooner.
    """
    if dataset is None or population.drawn_from == population.rows or population.hashed:
        return {}
    context = Context(population.types)
    columns: dict[str, pl.Expr] = {}
    read: list[str] = []
    sets: dict[tuple[Atom, ...], tuple[str, ...]] = {}
    for key in keys:
        atoms = atoms_of(key.partition)
        if not atoms or ("s",) in atoms:
            continue
        for part in key.partition:
            atom = part.atom
            if atom is not None:
                made = pl.col(atom[1]) if atom[0] == "p" else part.expression(context)
                columns.setdefault(_name(atom), made)
                read += part.properties
        sets[atoms] = tuple(_name(atom) for atom in atoms)
    if not sets:
        return {}
    counted = sketched(dataset.batches(list(dict.fromkeys(read))), columns, sets.values())
    return dict(zip(sets, counted, strict=True))


def _name(atom: Atom) -> str:
    """A column for an atom that is no property's name."""
    return "\x1f".join(("", *atom))


def _counted(
    estimate: CostEstimate, population: Population, sketch: DistinctSketch | None, facts: PartitionFacts | None = None
) -> CostEstimate:
    """The partitions of a scheme, with where their number lies."""
    atoms = atoms_of(estimate.scheme.main.partition)
    if not atoms:
        return estimate
    seen = float(population.distinct(atoms))
    low, high, source, basis = seen, seen, "sampled rows", Basis.COUNTED
    value = seen
    if facts is not None:
        value = low = high = float(facts.partitions)
        source = "every row of the data"
    elif sketch is not None:
        value, (low, high) = sketch.estimate(), sketch.interval()
        source = "bottom-k of the hashes of all keys"
        basis = Basis.SKETCHED if sketch.relative_error else Basis.COUNTED
    top: float | None = high
    if population.whole(atoms) and population.drawn_from < population.total:
        value *= population.total / population.drawn_from
        low, top, basis = seen, None, Basis.ESTIMATED
    elif population.drawn_from < population.total or (
        sketch is None and facts is None and population.drawn_from > population.rows
    ):
        top, basis = None, Basis.ESTIMATED
        source += ": there may be more, and no sample of rows tells how many"
    term = Term(PARTITIONS, value, PARTITIONS, basis, source, low, top)
    return replace(
        estimate, partitions=round(value), terms=(*(t for t in estimate.terms if t.name != PARTITIONS), term)
    )


def readings(priced: CostEstimate, bench: Bench) -> tuple[Remark, ...]:
    """A remark for each other reading under which the scheme would break other limits; none where nothing changes."""
    out = []
    limits = bench.limits
    low = limits.scan_weight_low
    scans = any(c.entities_read > 1 for c in priced.classes if not c.analytic)
    # Less load breaks less: a scheme that holds every limit holds them all the same.
    if priced.violations and scans and low < limits.scan_weight:
        other = estimate(priced.scheme, replace(bench, limits=replace(limits, scan_weight=low)))
        remark = _told(priced, other)
        if remark:
            weight = "in full" if limits.scan_weight == 1 else f"as {limits.scan_weight:g}"
            out.append(
                Remark("counts-scans", f"scanned entities count {weight} toward the targets; at {low:g} {remark}")
            )
    large = any(c.entities_by_bytes > 1.001 * (c.entities_read + c.entities_written) for c in priced.classes)
    if large and not bench.count_bytes:
        remark = _told(priced, estimate(priced.scheme, replace(bench, count_bytes=True)))
        if remark:
            size = limits.capacity_entity_bytes
            what = f"entities count whatever their size; counted once for every {size:,} bytes started, {remark}"
            out.append(Remark("counts-bytes", what))
    return tuple(out)


def with_readings(estimate: CostEstimate, bench: Bench) -> CostEstimate:
    """The estimate with what hangs on a reading of the targets."""
    more = readings(estimate, bench)
    return replace(estimate, remarks=(*estimate.remarks, *more)) if more else estimate


def _told(estimate: CostEstimate, other: CostEstimate) -> str:
    """What another reading changes, in words; empty where it breaks the same limits."""
    mine, theirs = (tuple(dict.fromkeys(v.code for v in c.violations)) for c in (estimate, other))
    gone = [code for code in mine if code not in theirs]
    new = [code for code in theirs if code not in mine]
    parts = [f"{', '.join(gone)} would hold"] if gone else []
    parts += [f"{', '.join(new)} would be broken"] if new else []
    if estimate.feasible != other.feasible:
        parts.append("every limit would hold" if other.feasible else "not every limit would hold")
    return "; ".join(parts)


LOOKED_AT = 5_000
"""Keys of unknown making that are looked at for their shape."""


def judge(
    section: Section,
    limits: Limits,
    dataset: Dataset | None = None,
    *,
    named: Sequence[KeyScheme] = (),
    budgets: tuple[Budget, ...] = (),
    detailed: bool = True,
    settled: Mapping[str, KeyScheme] = MappingProxyType({}),
    benches: dict[str, Bench | None] | None = None,
) -> Judged:
    """The answer for one section; ``dataset`` is what its data can be read from again.

    ``named`` schemes take part in the ranking; ``budgets`` are bounds as hard as the store's. ``detailed`` adds how
    sure the ranking is, over how many partitions it was counted, and under which reading of the targets it holds.
    ``settled``: the schemes that other kinds of the table get, which have been judged before; ``benches`` keeps theirs.
    """
    workload, scheme, notes = observed(section)
    workload, scheme, left_out = weighable(workload, scheme, values=not section.siblings)
    workload, unknown = of_known_properties(workload, section)
    notes = (*notes, *left_out, *unknown)
    if (obstacle := _obstacle(section, workload, scheme)) is not None:
        return Judged(section, workload, None, None, scheme, notes, obstacle[0], 0, give=obstacle[1])
    check_classes(workload, section)
    bench, more = bench_for(section, workload, limits, dataset)
    bench = bench if section.siblings else with_values_asked(bench)
    bench = with_loads_of_other_kinds(bench, section, limits, settled, benches) if section.siblings else bench
    workload = bench.workload
    bench = replace(bench, budgets=budgets)
    current = scheme if scheme is not None else keys_as_given(section)
    if scheme is None and current is not None:
        more += _looks(section)
    elif scheme is None and _read_by_a_design(section):
        more.append("the profile does not say which keys are in use: give the design that it was made with (--design)")
    bench = with_shared_keys(bench, section, (scheme, *named))
    advice = advise(bench, current, named)
    checked = verified(advice, section, bench, dataset, lambda: advise(bench, current, named))
    more += _easy(checked.advice)
    more += _at_limit(checked.advice)
    more += scans_of_other_kinds(bench, (checked.advice.current, checked.advice.recommended))
    more += text_notes(checked.advice.recommended, KeyGround(bench, separator_for(bench)))
    advice = checked.advice
    if detailed:
        advice = with_partitions(_with_readings(advice, bench), bench, dataset, dict(checked.counted))
        advice = with_confidence(advice, bench, log_sampled=section.traffic is not None and section.traffic.sampled)
    return Judged(
        section=section,
        workload=workload,
        bench=bench,
        advice=advice,
        scheme=current,
        notes=(*notes, *more, *checked.notes),
        why_not="",
        verified_rows=checked.rows,
        conflicts=conflicts_among(advice.every_priced()),
        warnings=warnings_as_sent(advice.current, bench),
        named=tuple(named),
        counted=checked.counted,
    )


EASY_SHARE = 0.5
"""Share of the schemes looked at that must hold with ten times the head-room before most keys are called fine."""


def _easy(advice: Advice) -> list[str]:
    """What to say where the load is so low that most keys bear it: then the choice is one of cost and convenience."""
    fine = [c for c in advice.ranking if c.feasible and c.latency_excess <= 1 and c.break_factor >= BREAK_ENOUGH]
    if len(advice.ranking) < 4 or len(fine) < EASY_SHARE * len(advice.ranking):
        return []
    return [
        f"at this load the choice matters little: {len(fine)} of the {len(advice.ranking)} schemes hold every "
        f"constraint at {BREAK_ENOUGH:g} times the peak; they differ in cost alone"
    ]


def _at_limit(advice: Advice) -> list[str]:
    """That the search has a bound, where it was hit."""
    of_rows = (
        f"the limit of {BESIDE_MAX} index rows beside a main key was hit: those of the queries that a main key serves "
        "least badly were not looked at"
    )
    return [of_rows] * advice.search.rows_cut + [
        f"the limit of {KEYS_OF_A_PATTERN} main keys of the pattern '{name}' was hit: those of the rarest queries and "
        "writes were not looked at"
        for name in advice.search.at_limit
    ]


def _with_readings(advice: Advice, bench: Bench) -> Advice:
    """The advice with what hangs on a reading of the targets, told for the keys in place and the recommended ones."""
    estimates = {id(c): with_readings(c, bench) for c in (advice.recommended, advice.current) if c is not None}
    current = advice.current
    return replace(
        advice,
        recommended=estimates[id(advice.recommended)],
        ranking=tuple(estimates.get(id(c), c) for c in advice.ranking),
        current=None if current is None else estimates[id(current)],
    )


def keys_as_given(section: Section) -> KeyScheme | None:
    """The keys that the data carries, where no design says what they are made of; none where the logged requests were
    read by a design that is not at hand."""
    assert section.data is not None
    if not set(KEYS) <= set(section.data.types) or _read_by_a_design(section):
        return None
    return KeyScheme(Key((Field("PartitionKey"),), (Field("RowKey"),)), (), "current")


def _read_by_a_design(section: Section) -> bool:
    """Whether the requests of a profile name properties and no key: a design told what the keys are made of."""
    workload = section.workload
    return workload is not None and any(c.filter for c in workload.classes) and not asks_for_keys(workload)


def _looks(section: Section) -> list[str]:
    """What keys of unknown making look like: a design that says so lets their parts be judged."""
    assert section.data is not None
    if section.data.hashed.intersection(KEYS):
        return []
    inference = inferred(section, LOOKED_AT)
    return [
        f"keys such as '{kind.example[0]}' | '{kind.example[1]}' look like {kind.key} ({kind.rows:,} of "
        f"{inference.rows:,} looked at): a design file that says so lets their parts be judged"
        for kind in inference.kinds[:3]
        if kind.explained and any(len(parts) > 1 for parts in (kind.key.partition, kind.key.row))
    ]


def _obstacle(section: Section, workload: Workload, scheme: KeyScheme | None) -> tuple[str, str] | None:
    """(why nothing can be judged, what to give); None where it can be. Raises MismatchError where the design and the
    data name different properties."""
    if section.data is None:
        why = "there is no data: distinct values, selectivities and hot keys under another key cannot be known"
        return why, "a data set of the table"
    if section.declared is not None:
        check_properties(section.declared, section.data.types, kind=section.kind, others=names_of_others(section))
    if not workload.classes and workload.unpriced:
        why = f"'{workload.unpriced[0].name}' and all else that is asked for is over properties that the data lacks"
        if workload.unpriced[0].draw.by is not DrawBy.LOG:
            return why, "rows that have these properties"
        return why, "data and a log of the same table and the same time: one of these is of another"
    if not workload.classes:
        why = "there is no workload: neither a log nor a declared query or write"
        return why, "its queries and writes with their rates, or a log"
    if unexplained_keys(section, scheme):
        give = "the log of this table, or a design file that declares what the keys are made of"
        return "the log names keys that the data does not have", give
    return None


# -- The best keys checked over every row, where only a sample was looked at closely.


KEYS_CHECKED = 5
"""Main keys counted over every row: the recommended, the one in place, and the next best."""
VERIFY_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Verified:
    """The advice after the check; the rows over which its first key is unique (0: not known); what was counted."""

    advice: Advice
    rows: int
    notes: tuple[str, ...]
    counted: tuple[tuple[Key, PartitionFacts], ...] = ()


def verified(
    advice: Advice,
    section: Section,
    bench: Bench,
    dataset: Dataset | None,
    again: Callable[[], Advice] | None = None,
) -> Verified:
    """Count the finalists over every row; where the recommended key is not unique, search ``again`` knowing that."""
    assert section.data is not None
    if not readable(section.data, dataset):
        return Verified(advice, section.data.rows if section.data.complete else 0, ())
    notes = list[str]()
    counted: dict[Key, PartitionFacts] = {}
    for _ in range(VERIFY_ROUNDS):
        learn(finalists(advice), bench, dataset, counted)
        main = advice.recommended.scheme.main
        surplus = bench.population.surplus_of_all(atoms_of((*main.partition, *main.row)))
        if not surplus or again is None:
            return Verified(advice, 0 if surplus else section.data.rows, tuple(notes), tuple(counted.items()))
        if any(v.code == "not-unique" for v in advice.recommended.violations):
            break  # it was known, and nothing else is better
        notes.append(
            f"{main} looked unique in the sample and is not: {surplus:,} of {section.data.rows:,} entities share a key "
            "with another"
        )
        advice = again()
    return Verified(advice, 0, tuple(notes), tuple(counted.items()))


def readable(data: DataProfile, dataset: Dataset | None) -> bool:
    """Whether there is more to read than what is at hand, and not too much of it."""
    return not data.complete and dataset is not None and data.rows <= EXACT_ROWS_MAX


def learn(keys: Sequence[Key], bench: Bench, dataset: Dataset | None, counted: dict[Key, PartitionFacts]) -> None:
    """Count main keys over every row, and let the population know those that are not unique."""
    assert dataset is not None
    population = bench.population
    new = [key for key in dict.fromkeys(keys) if key not in counted]
    for key, facts in zip(new, census(dataset, new, population.types), strict=True):
        surplus = facts.surplus if facts is not None else None
        if facts is not None:
            counted[key] = facts
        if surplus is None:
            surplus = collisions(dataset, key, population.types)
        if surplus:
            population.not_unique[frozenset(atoms_of((*key.partition, *key.row)))] = surplus


def finalists(advice: Advice) -> list[Key]:
    """The main keys of the recommended scheme, of the one in place, and of the next best, ``KEYS_CHECKED`` in all."""
    first: list[CostEstimate] = [advice.recommended, *([advice.current] if advice.current else []), *advice.ranking]
    return list(dict.fromkeys(cost.scheme.main for cost in first))[:KEYS_CHECKED]


def collisions(dataset: Dataset, key: Key, types: Mapping[str, EdmType]) -> int:
    """Entities whose main key another entity has, over all rows of a data set; 0 where the application assigns a
    number.

    By the key texts themselves, which takes longer than ``census`` and takes any part. Keys are compared by 64-bit
    hashes: a false alarm takes some billions of rows.
    """
    if any(part.assigned for part in (*key.partition, *key.row)):
        return 0
    names = list(key.properties)
    if not names:
        return max(0, dataset.row_count - 1)
    seen = []
    for batch in dataset.batches(names):
        keys = batch.select(
            pl.struct(
                key_expression(key.partition, dict(types)).alias("pk"),
                key_expression(key.row, dict(types)).alias("rk"),
            ).hash(0)
        )
        seen.append(keys.to_series())
    hashes = pl.concat(seen)
    return int(len(hashes) - hashes.n_unique())
