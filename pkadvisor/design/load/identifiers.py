"""What a key must have to tell the entities of a table apart of which only a sample is at hand.

Rows that are unique in a sample prove little: of 500 rows in 800,000, two of a pair are hardly ever both at hand. What
is declared tells more: a write or read of one entity names what identifies it. A time identifies only until two things
happen at once, and how often that is follows from the rate of the inserts and the resolution of the time.

Entities that are expected to get one key, where nothing but a time tells them apart: the birthday problem.

How many come in one instant follows from the rate of the inserts, the resolution of the time, and the share of pairs of
entities that agree on the rest of the key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pkadvisor.design.keys.scheme import Key, KeyScheme
from pkadvisor.design.keys.transforms import Atom
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.load.widths import named_like_identifier
from pkadvisor.design.rows.arrivals import Instant, arrivals, instant_of, regular, tells_arrival
from pkadvisor.design.rows.atoms import atom_properties, atoms_of, function_of
from pkadvisor.design.rows.counters import HORIZON_MONTHS, inserted_per_s
from pkadvisor.design.rows.population import Population
from pkadvisor.numbers import MONTH_S
from pkadvisor.observe.minutes import DAY
from pkadvisor.observe.workload import Operation
from pkadvisor.remembered import remembered
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

COLLISIONS_MOST = 1.0
"""Entities that may be expected to share a key before an identifier is put beside a time."""
COLLIDING_SHARE = 1e-3
"""The share of entities that may be expected to share a key before it is refused: fewer are now and then a 409."""
CROWDED = 2.0
"""Entities of a group in one instant, on average, from which no regularity keeps them apart; above 1, as the rate that
a sample shows is not exact."""
RUSH_S = 30 * 86_400.0
"""A rate that would have filled the table within so little time is one of a rush: it does not last to the horizon."""


@dataclass(frozen=True, slots=True)
class TimeCollisions:
    """Entities expected to come in an instant in which an earlier one took their key.

    ``entities``: how many entities are looked at, over the lifetime of the table.
    """

    expected: float
    entities: float
    per_s: float
    instant: Instant


def collides(atoms: Sequence[Atom], bench: Bench, *, many: bool = False) -> bool:
    """Whether so many entities are expected to share a key that a time does not tell them apart.

    As the rows at hand may lack a pair by chance, one pair more is assumed than they have. ``many``: several entities
    are known to agree on the rest of the key, although none do at hand.
    """
    population = bench.population
    instant = instant_of(atoms, population)
    rest = [atom for atom in atoms if not tells_arrival(atom, population)]
    if instant is None or (population.surplus(rest) == 0 and not many) or ("s",) in atoms:
        return False
    return expected_collisions(atoms, bench) >= COLLISIONS_MOST and not _regular(atoms, instant, bench)


def expected_collisions(atoms: Sequence[Atom], bench: Bench) -> float:
    """Entities of the table that come at the same time as an earlier one of which the key has all else, on average.

    After the birthday problem: with r inserts/s each entity finds r x resolution others in its instant, of which those
    count that agree on the rest of the key as pairs at hand do; 0 where nothing is inserted.
    """
    population = bench.population
    instant = instant_of(atoms, population)
    per_s, entities = _inserts(bench)
    if instant is None:
        return 0.0
    rest = [atom for atom in atoms if not tells_arrival(atom, population)]
    at_once = min(entities, per_s * instant.seconds) * _alike(rest, population, spare_pairs=1)
    return entities * min(1.0, at_once / 2)


def time_collisions(key: Key, bench: Bench) -> TimeCollisions | None:
    """What is expected of a key that nothing but a time makes unique; None where it is no matter of time.

    By the pairs at hand alone, so that what no row shows is not compared with a key. The answer at the first rates that
    are asked for stays that of the key: whether it is unique is no matter of weighing rates.
    """
    parts = (*key.partition, *key.row)
    return None if any(part.assigned for part in parts) else _time_collisions(atoms_of(parts), bench)


@remembered("time collisions", of=lambda atoms, _: frozenset(atoms))
def _time_collisions(atoms: Sequence[Atom], bench: Bench) -> TimeCollisions | None:
    population = bench.population
    instant = instant_of(atoms, population)
    rest = [atom for atom in atoms if not tells_arrival(atom, population)]
    if instant is None or population.surplus(atoms) or population.surplus(rest) == 0:
        return None
    per_s, entities = _inserts(bench)
    at_once = min(entities, per_s * instant.seconds)
    expected = entities * min(1.0, at_once * _alike(rest, population, spare_pairs=0) / 2)
    if expected < max(COLLISIONS_MOST, COLLIDING_SHARE * entities) or _regular(atoms, instant, bench):
        return None
    return TimeCollisions(expected, entities, per_s, instant)


def _regular(atoms: Sequence[Atom], instant: Instant, bench: Bench) -> bool:
    """Whether regular arrivals keep entities apart: those at hand are, and at the rate there is room for it."""
    rest = [atom for atom in atoms if not tells_arrival(atom, bench.population)]
    crowded = _inserts(bench)[0] * instant.seconds * _alike(rest, bench.population, spare_pairs=0) > CROWDED
    return not crowded and regular(atoms, instant, bench.population)


def _inserts(bench: Bench) -> tuple[float, float]:
    """(entities inserted a second, entities over which collisions are counted).

    Those are what comes within the retention or up to the horizon, or the table as it is where the rate is one of a
    rush. Where no insert is declared, and where a log of less than a day is all that tells of one, entities come as
    those at hand did over the time that they span.
    """
    population, workload = bench.population, bench.workload
    per_s = inserted_per_s(workload)
    total = float(population.total)
    months = workload.growth.horizon_months if workload.growth is not None else HORIZON_MONTHS
    at = [minute for series in workload.minutes.values() for minute in series.at]
    if not per_s:
        return (density_per_s(population) if population.rows < population.total else 0.0), total
    if at and max(at) - min(at) + 1 < DAY:
        per_s = min(per_s, density_per_s(population))
    if workload.retention_s is not None:
        return per_s, max(total, per_s * workload.retention_s)
    rush = population.rows < population.total and total < per_s * RUSH_S
    return per_s, total if rush else max(total, per_s * months * MONTH_S)


def density_per_s(population: Population) -> float:
    """Entities of the table a second of the time that the rows at hand span; 0 where nobody knows when they came."""
    name = population.arrival
    if (
        name is None
        or population.types.get(name) is not EdmType.DATETIME
        or not population.has(name)
        or name in population.hashed
    ):
        return 0.0
    arrival_times = arrivals(population)
    span_s = 0.0 if arrival_times is None else arrival_times.span_s
    stands_for = population.drawn_from if population.sampling == "slice" else population.total
    return stands_for / span_s if span_s > 0 else 0.0


def _alike(atoms: Sequence[Atom], population: Population, *, spare_pairs: int) -> float:
    """The share of pairs of entities that agree on all atoms, with so many pairs more than are at hand."""
    if not atoms or population.rows < 2:
        return 1.0
    counts = population.counts(atoms).astype("float64")
    pairs = population.rows * (population.rows - 1) / 2
    share = min(1.0, (float((counts * (counts - 1)).sum()) / 2 + spare_pairs) / pairs)
    return share * (population.drawn_from / population.total) if population.whole(atoms) else share


@remembered("identities", of=lambda bench: tuple(d.asked for d in bench.demands))
def identities(bench: Bench) -> tuple[tuple[str, ...], ...]:
    """The property sets that name one entity, as far as is declared: those of updates and deletes, else of queries.

    Each is of equalities alone and unique among the rows at hand. What a query wants in an order names many.
    """
    population = bench.population
    unfit = bench.secret.union(name for d in bench.demands for name in d.query.sets)
    groups = shared_values(bench)
    named: dict[bool, list[tuple[str, ...]]] = {True: [], False: []}
    for demand in bench.demands:
        wanted = demand.conditions
        names = (*wanted.equal, *wanted.folded)
        plain = names and not (wanted.ranges or wanted.any_of or wanted.residual or demand.constants)
        if not plain or unfit & set(names) or not all(population.has(n) for n in names):
            continue
        if demand.query.operation is Operation.QUERY and any(set(names) <= group for group in groups):
            continue
        if population.surplus(wanted.equal_atoms) == 0:
            named[demand.query.operation is not Operation.QUERY].append(names)
    return tuple(dict.fromkeys(named[True] or named[False]))


def shared_values(bench: Bench) -> list[frozenset[str]]:
    """The property sets of which several entities have the same values, by what is asked.

    A query that wants the entities with given values in an order says that there are several, however few of them are
    at hand; not where a write by the same values, or by some of them, says that these name one entity.
    """
    asked = [(d.query, frozenset((*d.conditions.equal, *d.conditions.folded))) for d in bench.demands]
    asked = [(query, names) for query, names in asked if names]
    one = [names for query, names in asked if query.operation is not Operation.QUERY]
    ordered = [names for query, names in asked if query.operation is Operation.QUERY and query.order_by]
    return [names for names in ordered if not any(single <= names for single in one)]


@dataclass(frozen=True, slots=True)
class InUse:
    """What the current main key has to tell entities apart, and no update changes: ``identifiers`` (what is unique
    alone, else GUIDs and what has a name of identifiers), and what stands ``beside_time`` where times make it unique.
    ``key``: the key itself, unless entities to come are expected to share it.
    """

    key: Key | None = None
    identifiers: tuple[str, ...] = ()
    beside_time: tuple[str, ...] = ()


def in_use(scheme: KeyScheme | None, bench: Bench) -> InUse:
    """What the current main key of a table has to tell entities apart; nothing where there is none."""
    if scheme is None:
        return InUse()
    population = bench.population
    changing = {name for d in bench.demands for name in d.query.sets}
    steady = [n for n in scheme.main.properties if n not in changing and population.always_there(n)]
    alone, likely = list[str](), list[str]()
    for name in steady:
        edm = population.types.get(name)
        if edm is None or edm in NO_IDENTIFIERS:
            continue
        if population.surplus([("p", name)]) == 0:
            alone.append(name)
        elif edm is EdmType.GUID or (
            named_like_identifier(name) and 2 * population.distinct([("p", name)]) > population.rows
        ):
            likely.append(name)
    untimed = [n for n in steady if n in population.types and population.types[n] is not EdmType.DATETIME]
    by_time = len(untimed) < len(steady) and population.surplus([("p", name) for name in untimed]) > 0
    key = scheme.main if time_collisions(scheme.main, bench) is None else None
    return InUse(key, tuple(dict.fromkeys(alone or likely)), tuple(untimed) if by_time else ())


NO_IDENTIFIERS = (EdmType.DATETIME, EdmType.DOUBLE, EdmType.BINARY, EdmType.BOOLEAN)
"""Types of which no property identifies an entity by itself."""


NOT_IN_USE = InUse()


def decides(atoms: Sequence[Atom], key: Key | None) -> bool:
    """Whether entities with equal values of all atoms have one key: of the key in use a table holds no two."""
    if key is None or any(part.assigned for part in (*key.partition, *key.row)):
        return False
    values = {atom[1] for atom in atoms if atom[0] == "p"}
    return all(part.atom in atoms or values.issuperset(part.properties) for part in (*key.partition, *key.row))


def properties_told(atoms: Sequence[Atom], population: Population) -> set[str]:
    """The properties whose values the atoms of a key tell; the lower case tells those of which no two texts at hand
    differ in case alone."""
    out = {atom[1] for atom in atoms if atom[0] == "p"}
    for atom in atoms:
        if atom[0] == "f" and function_of(atom).tells_folded:
            (name,) = atom_properties(atom)
            out |= {name} if population.distinct([atom]) == population.distinct([("p", name)]) else set()
    return out


def missing_identifiers(
    atoms: Sequence[Atom], bench: Bench, spare: Callable[[], list[str]], in_use: InUse = NOT_IN_USE
) -> list[str]:
    """The properties that a key unique at hand still needs, so that it is and stays unique in the table.

    ``spare`` gives identifiers that may be added, the likeliest first. A key holds one of the identifiers ``in_use``
    unless it holds what a request declares to name one entity. Of that, a property with one value at hand stays in the
    key of complete data too: it is named because other values come. An identifier stands beside values that are asked
    for as those of many entities. What an update changes tells nothing apart: the next value may be another entity's.
    Beside a time that alone makes a key unique stands what the current key has beside its time; then an identifier
    where only a sample is at hand and one makes the rows unique, else where entities are expected to share that time.
    """
    population = bench.population
    used = properties_told(atoms, population)
    declared = identities(bench)
    missing: list[str] = []
    changing = {name for d in bench.demands for name in d.query.sets}
    steady = [atom for atom in atoms if changing.isdisjoint(atom_properties(atom))]
    by_change = len(steady) < len(atoms) and population.surplus(steady) > 0
    if declared:
        fewest = min(declared, key=lambda names: len(set(names) - used))
        unsure = population.rows < population.total or not population.complete or by_change
        missing = [name for name in fewest if name not in used and (unsure or population.distinct([("p", name)]) == 1)]
    here = {*used, *missing}
    if ("s",) not in atoms and any(here <= group for group in shared_values(bench)):
        missing += [name for name in spare() if name not in here][:1]
    lasting = properties_told([atom for atom in atoms if not tells_arrival(atom, population)], population)
    unused = [name for name in in_use.identifiers if name not in used]
    if (
        unused
        and not used & set(in_use.identifiers)
        and not any(set(names) <= lasting | set(missing) for names in declared)
    ):
        missing += [name for name in unused if name not in missing]
    now = [*atoms, *(("p", name) for name in missing)]
    rest = [atom for atom in now if not tells_arrival(atom, population)]
    many = any({p for atom in rest for p in atom_properties(atom)} <= group for group in shared_values(bench))
    if len(rest) == len(now) or (population.surplus(rest) == 0 and not many):
        return missing
    beside = [name for name in in_use.beside_time if name not in used and name not in missing]
    missing, rest = [*missing, *beside], [*rest, *(("p", name) for name in beside)]
    names = [name for name in spare() if name not in used and name not in missing]
    alone = next((name for name in names if population.surplus([*rest, ("p", name)]) == 0), None)
    if alone is not None and population.rows < population.total and not declared:
        return [*missing, alone]
    for name in names if alone is None else [alone]:
        if not collides([*atoms, *(("p", n) for n in missing)], bench, many=many and not missing):
            break
        missing.append(name)
    return missing
