"""What a key must have to tell the entities of a table apart of which only a sample is at hand.

Rows that are unique in a sample prove little: of 500 rows in 800,000, two of a pair are hardly ever both at hand. What
is declared tells more: a write or read of one entity names what identifies it. A time identifies only until two things
happen at once, and how often that is follows from the rate of the inserts and the resolution of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pkadvisor.design.keys.scheme import Key, KeyScheme
from pkadvisor.design.keys.transforms import Atom
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.load.time_collisions import collides, time_collisions
from pkadvisor.design.load.widths import named_like_identifier
from pkadvisor.design.rows.atoms import atom_properties
from pkadvisor.design.rows.instants import tells_arrival
from pkadvisor.observe.workload import Operation
from pkadvisor.remembered import remembered
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass


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
        names = tuple(wanted.equal)
        plain = names and not (wanted.ranges or wanted.any_of or wanted.residual or demand.constants)
        if not plain or unfit & set(names) or not all(population.has(n) for n in names):
            continue
        if demand.query.operation is Operation.QUERY and any(set(names) <= group for group in groups):
            continue
        if population.surplus([("p", n) for n in names]) == 0:
            named[demand.query.operation is not Operation.QUERY].append(names)
    return tuple(dict.fromkeys(named[True] or named[False]))


def shared_values(bench: Bench) -> list[frozenset[str]]:
    """The property sets of which several entities have the same values, by what is asked.

    A query that wants the entities with given values in an order says that there are several, however few of them are
    at hand; not where a write by the same values, or by some of them, says that these name one entity.
    """
    asked = [(d.query, frozenset(d.conditions.equal)) for d in bench.demands if d.conditions.equal]
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
    return set(key.properties) <= {atom[1] for atom in atoms if atom[0] == "p"}


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
    used = {atom[1] for atom in atoms if atom[0] == "p"}
    declared = identities(bench)
    missing: list[str] = []
    changing = {name for d in bench.demands for name in d.query.sets}
    steady = [atom for atom in atoms if changing.isdisjoint(atom_properties(atom))]
    by_change = len(steady) < len(atoms) and population.surplus(steady) > 0
    if declared:
        fewest = min(declared, key=lambda names: len(set(names) - used))
        unsure = population.rows < population.total or by_change
        missing = [name for name in fewest if name not in used and (unsure or population.distinct([("p", name)]) == 1)]
    here = {*used, *missing}
    if ("s",) not in atoms and any(here <= group for group in shared_values(bench)):
        missing += [name for name in spare() if name not in here][:1]
    lasting = {atom[1] for atom in atoms if atom[0] == "p" and not tells_arrival(atom, population)}
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
