"""Numbers of a key that run out: padded ones that outgrow their digits, and those that one counter gives out.

A padded number that counts up is full on a day that its rise tells. A number that the application gives out
(``seq``) is full when a group has more entities than it has numbers, and whoever inserts into a group has to fetch the
next one: by reading and updating one entity under If-Match, one insert after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.keys.transforms import Atom, Context, Part
from pkadvisor.design.load.contention import contention
from pkadvisor.design.load.estimates import Bench, Break, Remark, Violation
from pkadvisor.design.load.widths import grows_in_keys, lifetime_s
from pkadvisor.design.rows.arrivals import arrivals, tells_arrival
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.counters import RISES_MIN, inserted_per_s
from pkadvisor.design.rows.list_values import under
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import np
from pkadvisor.numbers import amount
from pkadvisor.observe.workload import Operation

DAY_S = 86_400.0
TOLD_S = 10 * 365.25 * DAY_S
"""Within so long a number must be full to be told: assumed."""
PAIRS = 10.0
"""Pairs of rows at hand, in numbers that fit into a padding, from which none is alike by no chance."""
RESOURCE = "number"
"""The resource of a ``Break`` that a number makes: no growth raises it, time does."""


def full_numbers(scheme: KeyScheme, bench: Bench) -> tuple[Break, ...]:
    """The padded numbers and the numbers given out that are full within ten years at today's rates.

    ``measured`` is what they reach at the horizon, ``limit`` the greatest that keeps its order, ``factor`` how many
    times the horizon goes by until then.
    """
    breaks = dict(_each(scheme, bench))
    return tuple(sorted(breaks.values(), key=lambda each: each.factor))


def full_violations(full: tuple[Break, ...]) -> list[Violation]:
    """The numbers that are full before the horizon."""
    return [
        Violation("number-full", each.cause, each.measured, each.limit, each.unit, min(10.0, 1 / max(0.1, each.factor)))
        for each in full
        if each.factor < 1
    ]


def _each(scheme: KeyScheme, bench: Bench) -> Iterator[tuple[Part, Break]]:
    population = bench.population
    per_entity = inserted_per_s(bench.workload) / max(1, population.rows)
    for key, _ in scheme.each_key():
        every = (*key.partition, *key.row)
        for place, part in enumerate(every):
            if part.padded_width and any(tells_time(atom, population) for atom in atoms_of(every[:place])):
                continue  # it sorts what comes at one moment
            if part.assigned:
                atoms = [a for a in atoms_of(every) if a != ("s",)]
                if any(tells_arrival(atom, population) for atom in atoms) or not population.rows:
                    continue  # a group is over with its time
                rows = under(every, population)
                now = float(rows.counts(atoms).max(initial=1))
                per_s = per_entity * now
                limit = float(10 ** int(part.usual_length(Context(population.types)) or 1) - 1)
            elif part.padded_width and part.properties[0] in population.rises:
                limits = part.limits(Context(population.types))
                if limits is None:
                    continue
                now = float(population.sizes(part.properties[0]).largest)
                per_s, limit = population.rises[part.properties[0]], float(limits[1])
                if population.arrival is None and limit - now >= population.total:
                    continue  # the pace of a log alone does not tell what comes in months
            elif part.padded_width and identifies(part, population):
                limit = float((part.limits(Context(population.types)) or (0, 0))[1])
                now, per_s = float(population.total), keys_per_s(bench, limit)
            else:
                continue
            if per_s > 0 and (limit - now) / per_s <= TOLD_S:
                yield part, _break(part, now, per_s, limit, bench)


def tells_time(atom: Atom, population: Population) -> bool:
    """Whether an atom is a whole time that moves on as entities come, and not a period of it."""
    return atom[0] == "p" and tells_arrival(atom, population)


def identifies(part: Part, population: Population) -> bool:
    """Whether a padded number of fewer digits than it needs is another for each entity, which is no chance at hand: it
    has as many values as the table has entities."""
    (name,) = part.properties
    limits = part.limits(Context(population.types))
    narrow = part.padded_width < population.widths.get(name, 0)
    if limits is None or not narrow or not population.has(name) or population.surplus([("p", name)]):
        return False
    return population.rows**2 >= PAIRS * limits[1] or _one_after_another(name, population)


def _one_after_another(name: str, population: Population) -> bool:
    """Whether the numbers at hand leave out no more numbers than they are."""
    numbers = population.numbers(name, np.arange(population.rows, dtype=np.int64))
    return population.rows > RISES_MIN and float(np.ptp(numbers)) < 2 * population.rows


def keys_per_s(bench: Bench, limit: float) -> float:
    """New keys a second: those that are inserted, or by which the table grows up to the horizon where it is declared.

    0 where entities are deleted as well, so that their numbers may be given out again, unless more than ``limit`` are
    there within the retention.
    """
    workload = bench.workload
    if any(c.operation is Operation.DELETE for c in workload.classes):
        return 0.0
    inserts = [c for c in workload.classes if c.operation is Operation.INSERT]
    per_s = sum(c.rate.mean_per_s * c.entities_per_request for c in inserts)
    if grows_in_keys(workload):
        per_s = max(per_s, (bench.horizon_factor - 1) * bench.population.total / lifetime_s(workload))
    return per_s if workload.retention_s is None or per_s * workload.retention_s > limit else 0.0


def _break(part: Part, now: float, per_s: float, limit: float, bench: Bench) -> Break:
    left_s, horizon_s = max(0.0, limit - now) / per_s, lifetime_s(bench.workload)
    cause = f"{part} is full {_when(left_s, bench.population)}: it holds up to {limit:,.0f}"
    factor = left_s / horizon_s
    return Break(cause, RESOURCE, now + per_s * horizon_s, limit, "numbers", factor, factor, (), now)


def _when(left_s: float, population: Population) -> str:
    """The date, counted from the newest entity at hand; else how long it takes."""
    arrival_times = arrivals(population)
    if arrival_times is not None:
        return f"on {datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=arrival_times.last / 1e6 + left_s):%Y-%m-%d}"
    if left_s < DAY_S:
        return f"in {left_s / 3600:,.0f} hours" if left_s > 3600 else "now"
    return f"in {left_s / DAY_S:,.0f} days"


# -- numbers that one counter gives out ------------------------------------------------------------------------------


def counter_findings(scheme: KeyScheme, bench: Bench) -> tuple[list[Violation], list[Remark]]:
    """What the counter of an assigned number bears: a violation where its inserts outrun it, else a remark.

    Where a whole time stands in the key, a number is needed only for what comes at once: then a client that finds its
    key taken tries the next number, and no counter is kept.
    """
    population, key = bench.population, scheme.main
    assigned = [part for part in (*key.partition, *key.row) if part.assigned]
    atoms = [atom for atom in atoms_of((*key.partition, *key.row)) if atom != ("s",)]
    if not assigned or any(tells_time(atom, population) for atom in atoms):
        return [], []
    share = float(population.counts(atoms).max(initial=1)) / max(1, population.rows)
    per_s = share * sum(
        d.query.rate.sustained_per_s * d.query.entities_per_request
        for d in bench.demands
        if d.query.filter is None and d.query.operation in (Operation.INSERT, Operation.UPSERT)
    )
    contended = contention(per_s * bench.horizon_factor, bench.limits)
    text = (
        f"every insert fetches {assigned[0]} from the counter of its group, a bottleneck: one entity that is read and "
        f"updated under If-Match, at most {amount(contended.commits_per_s_max)} times/s; the busiest takes "
        f"{amount(per_s)} inserts/s at the peak"
    )
    if contended.load >= 1:
        most = contended.commits_per_s_max
        return [Violation("counter", text, per_s * bench.horizon_factor, most, "commits/s", 1 + contended.load)], []
    return [], [Remark("counter", text)]
