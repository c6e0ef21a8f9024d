"""Candidate schemes: the published key patterns as generators over one workload.

The steps for choosing keys: take the properties that the queries name, most important query first; make them candidate
keys; if they do not identify an entity, add what does; one property becomes the PartitionKey, of two the second becomes
the RowKey, more are concatenated and split. Whether a partition gets too hot is a matter of load, so the finer variants
(buckets, periods) are proposed for what was measured as too hot (``finer_keys``), and index rows for what is left
scanning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, product

from pkadvisor.design.choice.asked_texts import asked, spellings
from pkadvisor.design.choice.key_building import (
    SINGLE_PARTITION_MAX,
    KeyGround,
    complete,
    part_asked,
    part_for,
    range_parts,
    unfit,
)
from pkadvisor.design.keys.conditions import NearRule
from pkadvisor.design.keys.scheme import Key, KeyScheme
from pkadvisor.design.keys.transforms import Field, Hash, Literal, Lower, Part, Prefix, Time
from pkadvisor.design.load.identifiers import shared_values
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.demand import Demand
from pkadvisor.design.rows.dependencies import Lent, dependencies, half_rules, lend, near_rules, obeys
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.sets.pairs import in_common
from pkadvisor.table.edm import EdmType

PERIODS = ("yyyy", "yyyyMM", "yyyyMMdd", "yyyyMMddHH")
KEYS_OF_A_PATTERN = 100
"""Main keys of one pattern at the most, so that a workload of many classes has an answer in time."""
SUBSETS_MAX = 4
"""Equality properties up to this many are divided in every way; more only at each place of the order of weight."""


# -- patterns: each yields main keys ---------------------------------------------------------------------------------


def equalities(demand: Demand, ground: KeyGround) -> tuple[str, ...]:
    """A class's equality properties, the most shared first; ties keep the order of the filter."""
    wanted = demand.conditions
    names = [n for n in (*wanted.equal, *wanted.folded, *wanted.any_of) if ground.population.may_be_key(n)]
    names = [n for n in names if n not in ground.bench.secret]
    return tuple(sorted(names, key=lambda n: -ground.weight(n)))


def _equality_splits(demand: Demand, ground: KeyGround) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """How the equality properties of a class are divided into those of the PartitionKey and those of the RowKey."""
    names = equalities(demand, ground)
    return _splits(names, frozenset(n for n in names if ground.population.distinct([("p", n)]) == 1))


def _splits(names: tuple[str, ...], constant: frozenset[str]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """(PartitionKey, RowKey) divisions: every subset of few properties, every prefix of many.

    A property with one value at hand says nothing about spread; it leads the PartitionKey, as it will once it varies.
    """
    lead = tuple(n for n in names if n in constant)
    names = tuple(n for n in names if n not in constant)
    for first, second in _divided(names) if names else [((), ())]:
        if lead or first:
            yield (*lead, *first), second


def _divided(names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    if len(names) <= SUBSETS_MAX:
        for size in range(1, len(names) + 1):
            for chosen in combinations(names, size):
                yield chosen, tuple(n for n in names if n not in chosen)
    else:
        for cut in range(1, len(names) + 1):
            yield names[:cut], names[cut:]


def natural_key(ground: KeyGround) -> Iterator[Key]:
    """One property that identifies an entity becomes the PartitionKey; the RowKey stays empty."""
    groups = shared_values(ground.bench)
    for demand in ground.reading():
        for name in (*demand.conditions.equal, *demand.conditions.folded):
            if any(name in group for group in groups):
                continue
            partition = [part_asked(name, demand, ground.population)]
            if ground.population.may_be_key(name) and ground.population.surplus(atoms_of(partition)) == 0:
                yield Key(tuple(partition), ground.join(complete(partition, [], ground)))


def compound_key(ground: KeyGround) -> Iterator[Key]:
    """Equality properties split at every place into PartitionKey and RowKey, then the sort order, then what
    identifies; also without an order that spares no read, since the client can sort and every entity stores the key.

    The first characters that every logged range of a text fixes close the PartitionKey.
    """
    for demand in ground.reading():
        for name, count in demand.conditions.one_beginning.items():
            equal = equalities(demand, ground)
            beginning = [*(part_asked(n, demand, ground.population) for n in equal), Prefix(name, count)]
            for last in ([*range_parts(demand, ground.population, set(equal))], []):
                yield Key(ground.join(beginning), ground.join(complete(beginning, last, ground)))
        tail = range_parts(demand, ground.population, set(equalities(demand, ground)))
        spares = bool(demand.conditions.ranges) or demand.query.top is not None
        for first, second in _equality_splits(demand, ground):
            partition = [part_asked(n, demand, ground.population) for n in first]
            for last in [tail] if spares or not tail else [tail, []]:
                row = complete(partition, [*(part_asked(n, demand, ground.population) for n in second), *last], ground)
                yield Key(ground.join(partition), ground.join(row))


def time_bucket(ground: KeyGround) -> Iterator[Key]:
    """The period of a time that queries range or sort over closes the PartitionKey, behind what they fix; also without
    what updates change, since a change in the RowKey leaves the entity in its partition.

    Where some request asks for a range of that time and nothing else, such as a purge, the period also leads.
    """
    changing = unfit(ground)
    alone = {n for demand in ground.reading() if not equalities(demand, ground) for n in demand.conditions.ranges}
    for demand in ground.reading():
        times = [
            n
            for n in (*demand.conditions.ranges, *(o.property for o in demand.query.order_by))
            if ground.types.get(n) is EdmType.DATETIME and ground.population.may_be_key(n)
        ]
        for name in dict.fromkeys(times):
            equal = equalities(demand, ground)
            names = tuple(n for n in equal if n != name)
            steady = tuple(n for n in names if n not in changing)
            tail = range_parts(demand, ground.population, set(equal)) or [part_for(name, ground.population)]
            for pattern, lead in product(PERIODS, dict.fromkeys((names, steady))):
                fixed, period = [part_asked(n, demand, ground.population) for n in lead], Time(name, pattern)
                row = [*(part_asked(n, demand, ground.population) for n in names if n not in lead), *tail]
                for partition in [[*fixed, period]] + ([[period, *fixed]] if fixed and name in alone else []):
                    yield Key(ground.join(partition), ground.join(complete(partition, row, ground)))


def arrival_bucket(ground: KeyGround) -> Iterator[Key]:
    """The period of the insert time after what the heaviest query fixes: bounded partitions, retention by partition."""
    name = ground.population.arrival
    if name is None or ground.types.get(name) is not EdmType.DATETIME or not ground.population.may_be_key(name):
        return
    for demand in [d for d in ground.reading() if d.query.filter is not None][:2]:
        parts = [part_asked(n, demand, ground.population) for n in equalities(demand, ground) if n != name]
        for pattern in ("yyyyMM", "yyyyMMdd"):
            partition = [*parts, Time(name, pattern)]
            if parts and ground.population.distinct(atoms_of(partition)) == ground.population.distinct(atoms_of(parts)):
                continue
            row = complete(partition, [part_for(name, ground.population)], ground)
            yield Key(ground.join(partition), ground.join(row))


def transaction_key(ground: KeyGround) -> Iterator[Key]:
    """What a transaction's entities have in common is the PartitionKey: they then change in one group transaction."""
    for declared in ground.bench.workload.transactions:
        shared = [declared.group_by]
        if declared.pair is not None:
            shared = [(name,) for name in in_common(declared.pair, ground.population)]
        for names in shared:
            yield from _keys_of_set([n for n in names if ground.population.may_be_key(n)], ground)


def _keys_of_set(names: list[str], ground: KeyGround) -> Iterator[Key]:
    """Keys whose PartitionKey is what the entities of a set have in common."""
    if names:
        partition = [part_for(n, ground.population) for n in names]
        yield Key(ground.join(partition), ground.join(complete(partition, [], ground)))
        for demand in ground.reading():
            used = set(names)
            rest = [
                part_asked(n, demand, ground.population)
                for n in (*demand.conditions.equal, *demand.conditions.folded)
                if ground.population.may_be_key(n) and n not in used
            ]
            tail = range_parts(demand, ground.population, used | set(demand.conditions.equal))
            yield Key(ground.join(partition), ground.join(complete(partition, [*rest, *tail], ground)))


def isolated_key(ground: KeyGround) -> Iterator[Key]:
    """The property that isolates tenants leads every PartitionKey."""
    name = ground.bench.workload.isolation
    if name is None or not ground.population.may_be_key(name):
        return
    lead = part_for(name, ground.population)
    for demand in ground.reading():
        others = [n for n in equalities(demand, ground) if n != name]
        parts = [lead, *(part_asked(n, demand, ground.population) for n in others)]
        tail = range_parts(demand, ground.population, {name, *others})
        for cut in range(1, len(parts) + 1):
            yield Key(ground.join(parts[:cut]), ground.join(complete(parts[:cut], [*parts[cut:], *tail], ground)))


def single_partition(ground: KeyGround) -> Iterator[Key]:
    """Everything under one PartitionKey: any set is atomic, one server bounds it all, and nothing can be split later.

    Proposed for small tables and where entities change together, with buckets also where such a table grows; for every
    class, since any of them may be the one whose order within the partition spares most reads.
    """
    if ground.population.total > SINGLE_PARTITION_MAX and not ground.bench.workload.transactions:
        return
    for demand in ground.reading():
        parts = [part_asked(n, demand, ground.population) for n in equalities(demand, ground)]
        tail = range_parts(demand, ground.population, set(demand.conditions.equal))
        partition: list[Part] = [Literal("all")]
        yield Key(tuple(partition), ground.join(complete(partition, [*parts, *tail], ground)))


def unique_partition(ground: KeyGround) -> Iterator[Key]:
    """Every entity is its own partition, or every value of what a class wants in order: the widest spread, no group
    transactions, and no ranges but those of that order (its first few are the first of the table), and of what the key
    begins with. Also without what a rule makes of a property that is there, and by what identifies alone."""
    for demand in ground.reading():
        names = sorted(equalities(demand, ground), key=lambda n: -ground.bounded(n))
        parts = [part_asked(n, demand, ground.population) for n in names]
        tail = range_parts(demand, ground.population, set(demand.conditions.equal))
        for lead in (parts, [*parts, *tail], tail):
            for whole in (complete([], lead, ground), complete([], _without_ruled(lead, ground), ground)):
                if whole and not any(p.assigned for p in whole):
                    yield Key(ground.join(whole), ())
                    if lead is tail and tail:
                        yield Key(ground.join(whole[: len(tail)]), ground.join(whole[len(tail) :]))
    whole = complete([], [], ground)
    if whole and not any(p.assigned for p in whole):
        yield Key(ground.join(whole), ())


def _without_ruled(parts: list[Part], ground: KeyGround) -> list[Part]:
    """Parts of a key without the properties that a rule of the table makes of another one among them."""
    there = {name for part in parts for name in part.properties}
    ruled = {d.target for d in dependencies(ground.population) if d.source in there}
    return [part for part in parts if not ruled.issuperset(part.properties)]


def folded_key(ground: KeyGround) -> Iterator[Key]:
    """Keys as of ``compound_key`` in which the texts that differ in case share a PartitionKey or a beginning of the
    RowKey; the text as it is closes the key."""
    population = ground.population
    for demand in ground.reading():
        folded = [n for n in asked(demand, population) if (s := spellings(demand, n, population)) and s.folded]
        if not folded:
            continue

        def part(name: str, folded: list[str] = folded, demand: Demand = demand) -> Part:
            return Lower(name) if name in folded else part_asked(name, demand, population)

        for first, second in _equality_splits(demand, ground):
            tail = range_parts(demand, population, {*first, *second})
            partition = [part(n) for n in first]
            row = [*(part(n) for n in second), *tail, *(Field(n) for n in folded)]
            yield Key(ground.join(partition), ground.join(complete(partition, row, ground)))


def ruled_key(ground: KeyGround) -> Iterator[Key]:
    """Keys of the patterns above with a number written as a rule of the table does: ``{code}``, or to its digits."""
    if dependencies(ground.population) or half_rules(ground.population):
        for pattern in (natural_key, compound_key, transaction_key):
            for key in pattern(ground):
                yield from as_ruled(key, ground.population)


def identity(ground: KeyGround) -> Iterator[Key]:
    """Where no query names a property: what identifies an entity, alone or after a bucket of it."""
    if any(d.conditions.properties for d in ground.bench.demands):
        return
    row = complete([], [], ground)
    yield Key(ground.join(row), ())
    names = [n for part in row for n in part.properties]
    for name in names[:1]:
        for count in (4, 16, 64):
            yield Key((Hash(name, count),), ground.join(row))
    yield Key((Literal("all"),), ground.join(row))


PATTERNS: dict[str, Callable[[KeyGround], Iterator[Key]]] = {
    "natural key": natural_key,
    "compound key": compound_key,
    "time bucket": time_bucket,
    "arrival period": arrival_bucket,
    "transaction key": transaction_key,
    "tenant first": isolated_key,
    "single partition": single_partition,
    "unique partition": unique_partition,
    "folded case": folded_key,
    "rule of the table": ruled_key,
    "identity": identity,
}
"""Generators of main keys; ``finer_keys`` adds hash buckets, ``index_candidates`` the dual row and its relatives."""


def main_keys(ground: KeyGround) -> list[KeyScheme]:
    """The main keys of all patterns, without repetition, in the order of the registry; of each pattern the first
    ``KEYS_OF_A_PATTERN``, which are those of the heaviest classes."""
    seen: dict[str, KeyScheme] = {}
    for name, pattern in PATTERNS.items():
        count = 0
        for key in pattern(ground):
            scheme = KeyScheme(ground.told_apart(key), (), name)
            if scheme.text not in seen:
                seen[scheme.text] = scheme
                count += 1
            if count == KEYS_OF_A_PATTERN:
                break
    return list(seen.values())


def at_limit(schemes: Iterable[KeyScheme]) -> list[str]:
    """The patterns of which no more main keys were looked at."""
    counts = Counter(scheme.pattern for scheme in schemes)
    return [name for name in PATTERNS if counts[name] >= KEYS_OF_A_PATTERN]


def constant(parts: Iterable[Part]) -> bool:
    """Whether a PartitionKey is one text for all entities."""
    return not any(part.properties for part in parts)


# -- Rules between properties (``code`` is ``pad(number,6)``) that hold for a table, whichever of its kinds show them.


def with_rules_of_table(population: Population, others: Sequence[tuple[str, Population]]) -> list[str]:
    """Lend a kind the rules of the other kinds of its table, and drop its own that rows of theirs break; returns what
    to say of these."""
    own = dependencies(population)
    broken = {(near.target, str(near.rule)): (kind, near, rows) for kind, rows in others for near in near_rules(rows)}
    dropped = tuple(d for d in own if (d.target, str(d.rule)) in broken)
    known = {(d.target, d.source) for d in own} | {
        (near.target, *near.rule.properties) for near in near_rules(population)
    }
    more, half = [], []
    for _, rows in others:
        for dependency in dependencies(rows):
            if (dependency.target, dependency.source) in known or (dependency.target, str(dependency.rule)) in broken:
                continue
            known.add((dependency.target, dependency.source))
            names = [name for name in (dependency.target, dependency.source) if population.has(name)]
            if not names or any(population.types[name] != rows.types[name] for name in names):
                continue
            if len(names) == 1:
                half.append(dependency)
            elif obeys(population, dependency):
                more.append(dependency)
    lend(population, Lent(tuple(more), dropped, tuple(half)))
    return [_sentence(*broken[d.target, str(d.rule)]) for d in dropped]


def _sentence(kind: str, near: NearRule, rows: Population) -> str:
    which = ", ".join(f"{row:,}" for row in near.rows) + (" …" if near.broken > len(near.rows) else "")
    which_row = f" (row {which})" if rows.rows >= rows.total else ""
    rule = f"the text of {near.rule.plain_property}" if near.rule.plain_property else str(near.rule)[1:-1]
    return (
        f"{near.target} is {rule} in all entities of this kind looked at, but not in {near.broken:,} of {rows.rows:,} "
        f"of {kind}{which_row}: no rule that a key could use"
    )


def as_ruled(key: Key, population: Population) -> Iterator[Key]:
    """A key with its numbers written as a rule of the table writes them: by the text that holds them already, or to as
    many digits. Look-ups by either, and the other kinds, then share it."""
    for dependency in (*dependencies(population), *half_rules(population)):
        if dependency.prefix or not population.has(dependency.source):
            continue
        ways = [dependency.rule, *([Field(dependency.target)] if population.has(dependency.target) else [])]
        for way in ways:
            changed = tuple(_written(parts, dependency.source, way) for parts in (key.partition, key.row))
            if changed != (key.partition, key.row):
                yield Key(*changed)


def _written(parts: tuple[Part, ...], source: str, way: Part) -> tuple[Part, ...]:
    return tuple(way if part.padded_width and part.properties == (source,) else part for part in parts)
