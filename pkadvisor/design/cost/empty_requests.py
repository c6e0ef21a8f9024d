"""Requests that find nothing: for buckets, periods and values that hold no row of what an instance asks for.

Each counts as one entity on the partition that it names. However few rows the constants of a filter have, all requests
of the class go to the partition that they make (``unheld``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from pkadvisor.design.cost.scan_runs import LOOK_UPS_MOST, Reading
from pkadvisor.design.cost.scans import missing_between
from pkadvisor.design.keys.scheme import Key
from pkadvisor.design.keys.template import separators
from pkadvisor.design.keys.transforms import Atom, Context, Literal, Part, Value
from pkadvisor.design.plan.access_plan import fixing
from pkadvisor.design.plan.stop_early import PIECES_MOST
from pkadvisor.design.rows.asked.matching_rows import codes_between, rows_of_constants
from pkadvisor.design.rows.atoms import atom_properties, atoms_of
from pkadvisor.design.rows.demand import Demand, free_atoms, picks
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Bools, Floats, Ints, np, pl
from pkadvisor.table.odata import Parameter, TypedValue
from pkadvisor.values import dataclass


def empty_requests(reading: Reading, key: Key, rate_per_s: Floats) -> Floats:
    """The load of requests that find nothing, put on one row at hand of each partition; the rate is that of each
    instance. A partition of which no row is at hand is left out."""
    plan, demand = reading.plan, reading.demand
    if demand.bounded(plan.range_atom) is not None:
        return _in_range(reading, key, rate_per_s)
    return _of_values(reading, key, rate_per_s)


def _of_values(reading: Reading, key: Key, rate_per_s: Floats) -> Floats:
    """Every instance asks all partitions that differ from its own by the bucket alone; those that hold a row of what it
    fixes are not empty for it."""
    plan, demand, population, rows = reading.plan, reading.demand, reading.population, reading.population.rows
    fans = {fan.atom for fan in plan.fans}
    of_partition = [atom for atom in _as_asked(key.partition, demand) if atom not in fans]
    partition, count = population.groups(atoms_of(key.partition))
    first = np.unique(partition[:rows], return_index=True)[1]
    out = np.zeros(rows)
    in_rows = [fan for fan in plan.fans if fan.atom not in atoms_of(key.partition)]
    for by_constants, own in picks(demand, population, plan.equal_atoms):
        constants = demand.constants_and(by_constants)
        values = [name for name in plan.choices if name in constants]
        rate = rate_per_s * own
        asked, _ = population.groups(free_atoms(plan.equal_atoms, constants))
        free, _ = population.groups(free_atoms(of_partition, constants))
        rate_of_asked = np.bincount(asked[demand.instances], weights=rate, minlength=int(asked.max()) + 1)
        rate_of_free = np.bincount(free[demand.instances], weights=rate, minlength=int(free.max()) + 1)
        reached_by: Floats = rate_of_free.astype(np.float64)[free[first]]
        in_partition = rows_of_constants(population, of_partition, constants)
        if in_partition is not None:
            reached_by = np.where(in_partition[first], reached_by, 0.0)
        reached_by = reached_by * float(math.prod(fan.buckets_total for fan in in_rows))
        for name in values:  # a request for each constant that the PartitionKey does not tell apart
            apart = any(name in atom_properties(atom) for atom in of_partition)
            reached_by = reached_by * (1.0 if apart else float(len(_constants_of(demand, name))))
        keep = rows_of_constants(population, plan.equal_atoms, constants)
        there = np.arange(rows) if keep is None else np.flatnonzero(keep)
        chosen = [*(("p", name) for name in values), *(fan.atom for fan in in_rows if fan.atom is not None)]
        of_request = (*atoms_of(key.partition), *free_atoms(plan.equal_atoms, constants), *chosen)
        answers = _one_row_each(*population.groups(of_request), there)
        answered = np.bincount(partition[answers], weights=rate_of_asked[asked[answers]], minlength=count).astype(float)
        out[first] += np.maximum(reached_by - answered[partition[first]], 0.0)
    return out


def _as_asked(parts: tuple[Part, ...], demand: Demand) -> tuple[Atom, ...]:
    """The atoms of a PartitionKey as requests write it: a part that a rule makes of what they name, by that."""
    shown = [part if (how := fixing(part, demand.conditions)) is None else how[0] for part in parts]
    return atoms_of(tuple(shown))


def _one_row_each(ids: Ints, size: int, rows: Ints) -> Ints:
    """One of some rows for each group that they are in."""
    row_of = np.full(size, -1, dtype=np.int64)
    row_of[ids[rows]] = rows
    return row_of[row_of >= 0]


def _constants_of(demand: Demand, name: str) -> set[object]:
    return {operand for operand in demand.conditions.any_of[name] if isinstance(operand, TypedValue)}


def _in_range(reading: Reading, key: Key, rate_per_s: Floats) -> Floats:
    """Each bucket and period is asked for rows between the bounds of a range.

    Where the requests are too many to be looked at one by one, rows are taken to lie in buckets by chance.
    """
    plan, demand, population, rows = reading.plan, reading.demand, reading.population, reading.population.rows
    assert plan.range_atom is not None
    over = plan.range_atom
    codes, _ = population.atom(over)
    low, high = codes_between(population, over, demand.bounds[over[1]])
    row = list(reading.scheme.each_key())[plan.via][1]
    without = missing_between(plan, key, row, demand, population)
    inside, missing = without or (np.zeros(len(demand.instances), dtype=bool), np.zeros(rows, dtype=bool))
    period = plan.periods.atom if plan.periods is not None else None
    of_partition = _as_asked(key.partition, demand)
    several = {*(fan.atom for fan in plan.fans), period}
    first = np.unique(population.groups(atoms_of(key.partition))[0][:rows], return_index=True)[1]
    out = np.zeros(rows)
    for by_constants, own in picks(demand, population, plan.equal_atoms):
        constants = demand.constants_and(by_constants)
        named = [a for a in of_partition if a in several or _of_constants(a, plan.choices, constants)]
        asked, count = population.groups(named)
        if count > PIECES_MOST or count * len(demand.instances) > LOOK_UPS_MOST:
            return _by_chance(reading, key, rate_per_s)
        within_ends = np.ones(len(own), dtype=bool)
        if period is not None:
            begin, end = codes_between(population, period, demand.bounds[period[1]])
            period_of = np.zeros(count, dtype=np.int64)
            period_of[asked] = population.atom(period)[0]
        keep = rows_of_constants(population, plan.equal_atoms, constants)
        there = np.arange(rows) if keep is None else np.flatnonzero(keep)
        ids, groups_asked = population.groups(free_atoms(plan.equal_atoms, constants))
        beside = [a for a in plan.equal_atoms if _of_constants(a, plan.choices, constants) and a not in named]
        beside += [fan.atom for fan in plan.fans if fan.atom and fan.atom not in named]
        within, parts = population.groups(beside)
        each = _requests_within(reading, constants, named)
        fixed, groups = population.groups(free_atoms([a for a in of_partition if a not in named], constants))
        in_partition = rows_of_constants(population, [a for a in of_partition if a in plan.equal_atoms], constants)
        lie = first if in_partition is None else first[in_partition[first]]
        # One sort for all requests: piece of PartitionKey, part of it, group, place along the property with the range.
        places = len(codes) + 1
        place = (asked[there] * parts + within[there]) * groups_asked + ids[there]
        ordered = np.sort(place * places + codes[there])
        lacking = np.unique(place[missing[there]])
        in_order = np.lexsort((low, ids[demand.instances]))  # look-ups that rise are several times as fast
        for number in range(count):
            if period is not None:
                within_ends = (begin <= period_of[number]) & (period_of[number] < end)
            sent = in_order[(own & within_ends)[in_order]]
            of_group = ids[demand.instances[sent]]
            answered = np.zeros(len(sent))
            for part in range(parts):
                looked_at = (number * parts + part) * groups_asked + of_group
                begins = np.searchsorted(ordered, looked_at * places + low[sent])
                ends = np.searchsorted(ordered, looked_at * places + high[sent])
                answered += (ends > begins) | (inside[sent] & np.isin(looked_at, lacking))
            empty = rate_per_s[sent] * np.maximum(each - answered, 0.0)
            at = lie[asked[lie] == number]
            out[at] += np.bincount(fixed[demand.instances[sent]], weights=empty, minlength=groups)[fixed[at]]
    return out


def _of_constants(atom: Atom, choices: tuple[str, ...], constants: Mapping[str, Bools]) -> bool:
    """Whether the constants of a choice make an atom."""
    names = {*atom_properties(atom)}
    return bool(names & {*choices}) and names <= constants.keys()


def _requests_within(reading: Reading, constants: Mapping[str, Bools], named: list[Atom]) -> float:
    """Requests for one of the pieces of PartitionKey: for the values and the buckets that these do not tell apart."""
    plan, apart = reading.plan, {name for atom in named for name in atom_properties(atom)}
    values = [name for name in plan.choices if name in constants and name not in apart]
    in_rows = [fan for fan in plan.fans if fan.atom not in named]
    return math.prod(float(len(_constants_of(reading.demand, name))) for name in values) * math.prod(
        fan.buckets_total for fan in in_rows
    )


def _by_chance(reading: Reading, key: Key, rate_per_s: Floats) -> Floats:
    plan, demand, population, rows = reading.plan, reading.demand, reading.population, reading.population.rows
    out = np.zeros(rows)
    if not plan.fans:
        return out
    fans = {fan.atom for fan in plan.fans}
    fixed, size = population.groups([atom for atom in atoms_of(key.partition) if atom not in fans])
    first = np.unique(population.groups(atoms_of(key.partition))[0][:rows], return_index=True)[1]
    assert reading.most is not None
    empty = rate_per_s * (1 - 1 / plan.buckets) ** reading.most
    out[first] = np.bincount(fixed[demand.instances], weights=empty, minlength=size)[fixed[first]]
    return out


# -- constants that no row has ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Unheld:
    """The instances that ask where no row at hand has the constants of the filter.

    ``named`` is the PartitionKey with these written out; ``row`` is for each instance a row at hand in the partition
    that it names, which has the constants' bucket or period alone, and -1 where there is none.
    """

    named: tuple[Part, ...]
    lacking: Bools
    row: Ints


def unheld(parts: tuple[Part, ...], demand: Demand, population: Population) -> Unheld | None:
    """Whose requests go to partitions of rows without the constants; None where nobody's do, or where the constants do
    not make whole parts of the key."""
    rows, atoms = population.rows, atoms_of(parts)
    keep = rows_of_constants(population, atoms, demand.constants)
    if keep is None:
        return None
    groups, size = population.groups(free_atoms(atoms, demand.constants))

    def row_of_each(there: Bools) -> Ints:
        row_of = np.full(size, -1, dtype=np.int64)
        at = np.flatnonzero(there)
        row_of[groups[:rows][at]] = at
        return np.asarray(row_of[groups[demand.instances]])

    lacking = row_of_each(keep) < 0
    named = _written_out(parts, demand, population) if lacking.any() else None
    return None if named is None else Unheld(named, lacking, row_of_each(_rows_with(parts, named, population)))


def _written_out(parts: tuple[Part, ...], demand: Demand, population: Population) -> tuple[Part, ...] | None:
    """A key with the constants of a filter in place of its parts; None where some part is not made of constants alone
    and not of parameters alone, or where values are hidden."""
    equal, fixed, out = demand.conditions.equal, demand.constants.keys(), list[Part]()
    context = Context(population.types, separators(parts))
    for part in parts:
        constant = [name in fixed for name in part.properties]
        if not any(constant):
            out.append(part)
            continue
        values: dict[str, Value] = {
            n: o.value for n in part.properties if n in equal and not isinstance(o := equal[n], Parameter)
        }
        if part.several is not None or len(values) < len(constant) or population.hashed & values.keys():
            return None
        out.append(Literal(part.encode(values, context)))
    return tuple(out)


def _rows_with(parts: tuple[Part, ...], named: tuple[Part, ...], population: Population) -> Bools:
    """Rows at hand whose key has the texts that were written out."""
    context = Context(population.types, separators(parts))
    same = [
        part.expression(context) == text.constant
        for part, text in zip(parts, named, strict=True)
        if part is not text and text.constant is not None
    ]
    matching = population.data.select(pl.all_horizontal(*same).fill_null(False)).to_series()
    return np.asarray(matching.to_numpy(), dtype=bool)
