"""The digits to which a key pads a number: those of the largest number to come, and one to spare.

A number that outgrows its padding sorts wrongly from that day on. The rows at hand show how far a number has come; the
entities of the table, the rate of the inserts and the keys in use tell how far it goes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pkadvisor.design.keys.scheme import Key
from pkadvisor.design.rows.counters import DIGITS_MAX, HORIZON_MONTHS, counter_rises, inserted_per_s
from pkadvisor.design.rows.population import Population
from pkadvisor.numbers import MONTH_S
from pkadvisor.observe.workload import GrowthOf, Workload
from pkadvisor.table.edm import EdmType

SPARE = 1
"""Digits beyond those of the largest number that is foreseen."""
_CALENDAR = {"year": 4, "yyyy": 4, "month": 2, "day": 2, "hour": 2, "minute": 2, "second": 2, "week": 2, "weekday": 1}
"""The digits of numbers of a calendar or a clock, by the last word of their name: they cannot grow."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")


def named_like_identifier(name: str) -> bool:
    """Whether a name ends as those of identifiers do."""
    return name.lower().endswith(("id", "no", "number", "key", "seq"))


_MEASURES = frozenset(
    _WORD.findall(
        "amount price cost total sum cents cash fee tax balance quantity qty units count size bytes length width "
        "height weight duration seconds ms minutes distance speed score rating points temperature humidity pressure "
        "level voltage power value reading percent ratio rate"
    )
)


def named_like_measure(name: str) -> bool:
    """Whether a name holds the word of an amount or a measurement, which tells entities apart by chance alone."""
    return any(word.lower() in _MEASURES for word in _WORD.findall(name))


def calendar_digits(name: str) -> int:
    """The digits of a number so named of a calendar or a clock; 0 for others."""
    words = _WORD.findall(name)
    return _CALENDAR.get(words[-1].lower(), 0) if words else 0


def width_of(name: str, population: Population, reach: int = 0) -> int:
    """The digits of a whole number that is to reach ``reach``, or the largest at hand where that is more."""
    edm, largest = population.types.get(name, EdmType.INT64), population.sizes(name).largest
    fixed = calendar_digits(name)
    if fixed and largest < 10**fixed:
        return fixed
    return min(DIGITS_MAX.get(edm, 19), len(str(max(largest, reach))) + SPARE)


def widths_needed(
    population: Population, workload: Workload, horizon_factor: float, in_use: Iterable[Key] = ()
) -> dict[str, int]:
    """The digits of each whole number: those of keys in use where they hold the largest of data, entities and numbers
    to come, else those of the largest and one more.

    A number that identifies an entity has as many values as there are entities: those of the table, and those that come
    within the retention or up to the horizon. One that counts up goes on as it did. One that numbers the entities of a
    key goes as far beyond those of the keys at hand as the table has more entities: the largest key is seldom drawn.
    ``horizon_factor`` multiplies the rate of the inserts.
    """
    rises = counter_rises(population, workload)
    coming_s = lifetime_s(workload) * horizon_factor
    used = _widths_in_use(in_use)
    out = {}
    for name, edm in population.types.items():
        if edm not in DIGITS_MAX or not population.has(name):
            continue
        reach = population.sizes(name).largest
        if identifies(name, population):
            reach = numbers_to_come(population.total, reach, workload, horizon_factor)
        elif population.keys_drawn and population.surplus((*population.sampled_by, ("p", name))) == 0:
            reach = min(population.total, reach * population.total // population.rows)
        if name in rises:
            reach = max(reach, population.sizes(name).largest + int(rises[name] * coming_s))
        in_keys = used.get(name, 0)  # one number has one width in a table, as long as that holds it
        out[name] = in_keys if reach < 10**in_keys else width_of(name, population, reach)
    return out


def numbers_to_come(total: int, largest: int, workload: Workload, horizon_factor: float) -> int:
    """How far numbers of which each entity of a table has its own go, where there are ``total`` entities and the
    largest number is ``largest``; ``horizon_factor`` multiplies the rate of the inserts."""
    grown = int(total * horizon_factor) if entities_grow(workload) else 0
    return max(grown, max(largest, total) + int(inserted_per_s(workload) * lifetime_s(workload) * horizon_factor))


def identifies(name: str, population: Population) -> bool:
    """Whether each entity at hand has a number of its own, or nearly, under a name of identifiers."""
    if population.surplus([("p", name)]) == 0:
        return True
    return named_like_identifier(name) and 2 * population.distinct([("p", name)]) > population.rows


def grows_in_keys(workload: Workload) -> bool:
    """Whether the number of keys is declared to grow."""
    return workload.growth is not None and workload.growth.of is GrowthOf.NEW_KEYS


def entities_grow(workload: Workload) -> bool:
    """Whether the number of entities is declared to grow: that of the keys, or that of the rows of each."""
    return workload.growth is not None and workload.growth.of is not GrowthOf.RATE


def lifetime_s(workload: Workload) -> float:
    """Seconds over which numbers go on: the horizon, or the retention where that is longer."""
    months = workload.growth.horizon_months if workload.growth is not None else HORIZON_MONTHS
    return max(months * MONTH_S, workload.retention_s or 0.0)


def _widths_in_use(keys: Iterable[Key]) -> Mapping[str, int]:
    out: dict[str, int] = {}
    for key in keys:
        for part in (*key.partition, *key.row):
            if part.padded_width:
                (name,) = part.properties
                out[name] = max(out.get(name, 0), part.padded_width)
    return out
