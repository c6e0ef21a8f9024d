"""Numbers that count up as entities come, by themselves or within a group: how far they will get.

A number that is padded to fewer digits than it needs sorts wrongly from the day on which it has more. The rows at hand
show how far it has come; the rate of the inserts tells how far it goes.
"""

from __future__ import annotations

from collections.abc import Iterator

from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.rows.density import density_of
from pkadvisor.design.rows.fronts import US, logged_inserts
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Ints, np, pl
from pkadvisor.observe.workload import Operation, Workload
from pkadvisor.table.edm import EdmType

HORIZON_MONTHS = 12.0
"""Months for which a number must have room where no growth is declared: the horizon of one that is."""
DIGITS_MAX = {EdmType.INT32: 10, EdmType.INT64: 19}
"""Digits of the largest number of a type."""
RISING_SHARE = 0.95
"""Rows of a counter that are no less than all before them in their group, of those that are not the first of it."""
RISES_MIN = 20
"""Rows that must exceed all before them in their group, so that it is not taken for a counter by chance."""
FIELDS = ("month", "quarter", "day", "hour", "minute", "second", "week", "weekday", "ordinal_day")
"""Fields of a date or clock: a number that is one of them starts again and never outgrows its digits."""
FIELD_SHARE = 0.75
"""Rows whose number is the field of their arrival, perhaps counted from zero; the others come of another time zone."""
LASTING_SHARE = 0.5
"""A group lasts where its rows span so much of the order of arrival: one that is over counts no further."""


def inserted_per_s(workload: Workload) -> float:
    """Entities that are inserted or upserted a second, on average."""
    return sum(
        c.rate.mean_per_s * c.entities_per_request
        for c in workload.classes
        if c.filter is None and c.operation in (Operation.INSERT, Operation.UPSERT)
    )


def counter_rises(population: Population, workload: Workload) -> dict[str, float]:
    """By how much each number rises a second that counts up as entities come.

    Inserts move a counter on as they did so far: by its rise at hand for as many entities as there are in the table. A
    log shows their rate for as long as it lasts; over months they come as they came in the data, where its times tell.
    Where the data does not tell the order of arrival, that of the logged inserts counts (``_logged_rises``). Empty
    where nothing is inserted, or nobody knows in which order.
    """
    density, inserted = density_of(population, workload), inserted_per_s(workload)
    if density is not None and not density.declared:
        inserted = density.per_s
    order = None if population.arrival in population.hashed else population.arrival_order()
    if inserted <= 0 or population.rows <= RISES_MIN:
        return {}
    if order is None:
        return _logged_rises(population)
    # A slice shows the rise of its own rows; other samples show that of the whole table.
    behind = population.drawn_from if population.sampling == "slice" else population.total
    out = {}
    for name, edm in population.types.items():
        if edm not in DIGITS_MAX or not population.has(name) or name in population.hashed:
            continue
        if _of_the_calendar(name, population):
            continue
        rise = max((_rise(population, name, group, order) for group in _groups(workload, population, name)), default=0)
        if rise > 0:
            out[name] = rise * inserted / max(1, behind)
    return out


def _of_the_calendar(name: str, population: Population) -> bool:
    """Whether a number is a field of the date or the clock of its entity's arrival."""
    arrival = population.arrival
    if arrival is None or population.types.get(arrival) is not EdmType.DATETIME or not population.has(arrival):
        return False
    numbers = population.numbers(name, np.arange(population.rows, dtype=np.int64))
    if float(np.ptp(numbers)) > 366:
        return False
    times = population.frame.get_column(arrival)[: population.rows].dt
    for field in FIELDS:
        apart = pl.Series(numbers) - getattr(times, field)().cast(pl.Int64)
        if float((apart.is_in([-1, 0])).sum()) >= FIELD_SHARE * population.rows:
            return True
    return False


def _logged_rises(population: Population) -> dict[str, float]:
    """By how much each number rises a second that the inserts of a log count on from the largest at hand."""
    demand = logged_inserts(population)
    if demand is None or demand.came is None:
        return {}
    order = np.argsort(demand.came, kind="stable")
    span_s = float(np.ptp(demand.came)) / US if len(order) > RISES_MIN else 0.0
    out = {}
    for name, edm in population.types.items():
        if edm not in DIGITS_MAX or not population.has(name) or name in population.hashed or not span_s:
            continue
        values = population.numbers(name, demand.instances[order])
        goes_on = values[0] >= population.sizes(name).largest and values[-1] - values[0] >= RISES_MIN
        if goes_on and float((np.diff(values) >= 0).mean()) >= RISING_SHARE:
            out[name] = float(values[-1] - values[0]) / span_s
    return out


def named_together(workload: Workload) -> list[tuple[str, ...]]:
    """The properties that each filter fixes at once, and those that each transaction groups by."""
    named = [tuple(conditions(c.filter).equal) for c in workload.classes if c.filter is not None]
    return named + [t.group_by for t in workload.transactions if t.group_by]


def _groups(workload: Workload, population: Population, name: str) -> Iterator[tuple[str, ...]]:
    """The groups within which a number may count: whatever a request or a transaction names beside it, and all rows."""
    named = named_together(workload)
    named += [tuple(atom[1] for atom in population.sampled_by)]
    groups = {tuple(sorted(n for n in set(names) - {name} if population.has(n))) for names in named}
    yield from sorted(groups | {()})


def _rise(population: Population, name: str, group: tuple[str, ...], order: Ints) -> int:
    """By how much a number rose in the group in which it rose most; 0 where it does not count up in lasting groups."""
    rows = population.rows
    ids = population.groups([("p", n) for n in group])[0][:rows][order]
    by_group = np.argsort(ids, kind="stable")
    ids, places = ids[by_group], by_group  # places in the order of arrival
    values = population.numbers(name, order)[by_group]
    first = np.concatenate([[True], ids[1:] != ids[:-1]])
    codes, size = population.atom(("p", name))
    # Groups lie behind one another, so that the greatest so far is that of the row's own group.
    keyed = np.cumsum(first) * (size + 1) + codes[:rows][order][by_group]
    before = np.concatenate([[-1], np.maximum.accumulate(keyed)[:-1]])
    later = ~first
    if int((keyed > before)[later].sum()) < RISES_MIN or float((keyed >= before)[later].mean()) < RISING_SHARE:
        return 0
    starts = np.flatnonzero(first)
    ends = np.append(starts[1:], rows) - 1
    lasting = places[ends] - places[starts] >= LASTING_SHARE * (rows - 1)
    sizes = ends - starts + 1
    if float(sizes[lasting].sum()) < LASTING_SHARE * rows:
        return 0
    risen = np.maximum.reduceat(values, starts) - np.minimum.reduceat(values, starts)
    return int(risen[lasting].max())
