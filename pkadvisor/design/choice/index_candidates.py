"""Index rows beside a main key: for each class that the key serves poorly, the rows that would serve it.

A class that fixes properties gets a row under them. One that fixes none but wants an order or a range (the newest of
everything, a purge, the export of a day) gets the rows of one PartitionKey, or of a period each, in the order wanted.

A row in another partition has the key of one query, often of few values, and so its partitions take what the main key
spreads: where it is the hottest, finer ones with buckets or periods compete with all other schemes.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pkadvisor.design.choice.candidates import PERIODS, equalities
from pkadvisor.design.choice.finer_keys import bucketed_texts, buckets_by
from pkadvisor.design.choice.key_building import KeyGround, digits, part_asked, part_for, range_parts
from pkadvisor.design.choice.kind_labels import label_word
from pkadvisor.design.cost.buckets import append_buckets, partition_buckets
from pkadvisor.design.cost.class_cost import class_cost
from pkadvisor.design.keys.scheme import IndexRow, Key, KeyScheme, isolating_lead, leading_text, variable
from pkadvisor.design.keys.transforms import Hash, Literal, Part, Time
from pkadvisor.design.load.estimates import Bench, CostEstimate
from pkadvisor.design.load.heat import LoadMap
from pkadvisor.design.load.identifiers import identities, properties_told
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.demand import Demand, reached
from pkadvisor.design.rows.fronts import write_fronts
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.schedule import schedule_of
from pkadvisor.table.edm import EdmType

HOT, APPENDS = "hot-partition", "append-only"
ACROSS = 8
"""Buckets of index rows in which each bucket is asked for what a class fixes. Assumed."""
PERIODS_TRIED = 2
"""Periods that are tried for the PartitionKey of one index row: the finest that holds what a request wants, and the
next longer one."""


def _label(parts: Iterable[Part], besides: frozenset[str] = frozenset()) -> str:
    """The prefix that tells kinds of rows apart: a property's name in capitals, one that the main key lacks if
    there is."""
    ordered = list(parts)
    for part in [p for p in ordered if not besides & set(p.properties)] + ordered:
        for name in part.properties:
            return f"{label_word(name)}:"
    return "ROW:"


def fits_inside(main: Key, demand: Demand, ground: KeyGround) -> bool:
    """Whether a class fixes the PartitionKey but for its buckets, each of which takes a request, so that an index row
    for it can lie in the same partition."""
    names = {*equalities(demand, ground)}
    named = [part for part in variable(main.partition) if part.bucket_count is None]
    return all(names & demand.conditions.fixed_in(part) >= {*part.properties} for part in named)


def index_rows(main: Key, demand: Demand, ground: KeyGround) -> Iterator[IndexRow]:
    """Index rows that would serve one class beside a main key: in the same partition, and elsewhere (full or
    pointer)."""
    equal = equalities(demand, ground)
    isolation = ground.bench.workload.isolation
    if isolation is not None and isolation not in equal:
        return
    # What other classes bound begins the second order, also what it fixes by a rule: a range of theirs is then one of
    # these rows.
    made = [d.target for d in demand.conditions.derived if ground.bounded(d.target) and d.source in equal]
    bounded = sorted((*made, *equal), key=lambda n: -ground.bounded(n))
    for names in dict.fromkeys((equal, tuple(bounded))):
        yield from _rows_under(sorted(names, key=lambda n: n != isolation), main, demand, ground)


def _rows_under(names: Sequence[str], main: Key, demand: Demand, ground: KeyGround) -> Iterator[IndexRow]:
    """Index rows that would serve one class, with what it fixes in one order."""
    population, isolation = ground.population, ground.bench.workload.isolation
    fixed = [part_asked(n, demand, population) for n in names]
    tail = range_parts(demand, population, set(names))
    one_range = bool(fixed and tail) and _asks_one_range(demand, tail[0].properties[0])
    if not one_range or _narrows(demand, fixed, tail[0].properties[0], ground):
        yield from _rows_of(main, demand, ground, fixed, tail)
    if one_range:
        yield from _rows_of(main, demand, ground, fixed, [])
    if fixed and tail and isolation is None and any(part.bucket_count for part in main.partition):
        # Few values that are asked for too often need buckets, each of which is asked; a narrow range may be one scan.
        parts = _partition(tail[:1], _label(tail, frozenset(main.properties)), main, ground)
        yield IndexRow(Key(parts, ground.join(_telling(tail[:1], main, ground))), "full")


def _asks_one_range(demand: Demand, name: str) -> bool:
    """Whether all requests have the same bounds for a property, as a log shows a constant."""
    if name not in demand.bounds or demand.query.order_by:
        return False
    return all(bool((side == side[0]).all()) for side in demand.bounds[name] if len(side))


def _narrows(demand: Demand, fixed: Sequence[Part], name: str, ground: KeyGround) -> bool:
    """Whether a range leaves out some of the entities that a class fixes by its equalities, in a key where the
    separator follows it."""
    text = ground.types.get(name, EdmType.STRING) in (EdmType.STRING, EdmType.BINARY)
    if text and not ground.population.keeps_order(name, ground.separator[:1]):
        return False
    atoms = atoms_of(fixed)
    within = reached(ground.population, demand, atoms, ("p", name), demand.bounds[name])
    return demand.mean(within) < demand.mean(reached(ground.population, demand, atoms, None, None))


def _rows_of(
    main: Key, demand: Demand, ground: KeyGround, fixed: Sequence[Part], tail: Sequence[Part]
) -> Iterator[IndexRow]:
    """Index rows under what a class fixes, in the order of a tail."""
    isolation = ground.bench.workload.isolation
    # What the PartitionKey holds whole tells nothing more in the RowKey; a bucket of it does not hold it.
    held = {name for part in main.partition if part.injective for name in part.properties}
    rest = _telling([*fixed, *tail], main, ground)
    sequence = [p for p in main.row if p.assigned]
    if fits_inside(main, demand, ground) and demand.of_values is None:
        inner = [p for p in fixed if p.properties[0] not in held and p not in main.partition]
        row = [*inner, *tail, *(p for p in rest if p.properties[0] not in held), *sequence]
        if row:
            yield IndexRow(Key(main.partition, ground.join(row, _label([*inner, *tail]))), "full")
    lead = fixed or tail
    if not lead and demand.of_values is None:
        return
    row = [*tail, *rest, *sequence]
    if demand.of_values is not None:
        values: list[Part] = [*demand.of_values.conditions.multi.values()]
        fixed, lead = [*fixed, *values], values
    named = [part for part in lead if part.properties != (isolation,)] or lead
    for partition in [fixed] if fixed else _without_equality(tail[0], demand, ground):
        parts = _partition(partition, _label(named, frozenset(main.properties)), main, ground)
        yield IndexRow(Key(parts, ground.join(row)), "full")
        yield IndexRow(Key(parts, ground.join(row)), "pointer")
    if fixed and isolation is None and demand.of_values is None:
        for part in _across(fixed, tail, rest, demand, ground):
            parts = ground.join([part], _label([part], frozenset(main.properties)))
            yield IndexRow(Key(parts, ground.join([*fixed, *row])), "full")


def _across(
    fixed: Sequence[Part], tail: Sequence[Part], rest: Sequence[Part], demand: Demand, ground: KeyGround
) -> Iterator[Part]:
    """What divides index rows in place of what a class fixes, which begins the RowKey: periods of a time that it wants
    in order or within bounds, and buckets of what identifies."""
    for part in tail[:1]:
        name = part.properties[0]
        if ground.types.get(name) is EdmType.DATETIME:
            yield from (Time(name, pattern) for pattern in periods_for(name, demand, ground))
    for part in rest[-1:]:
        if len(part.properties) == 1 and demand.conditions.any_of:
            yield Hash(part.properties[0], ACROSS)


def _partition(parts: Sequence[Part], label: str, main: Key, ground: KeyGround) -> tuple[Part, ...]:
    """A PartitionKey of index rows that begins with a label; where tenants are isolated it begins as the main key does,
    so that the rows lie in their tenant's range of keys, and the label follows."""
    name = ground.bench.workload.isolation
    if name is None:
        return ground.join(parts, label)
    lead = isolating_lead(main.partition, name) or (part_for(name, ground.population),)
    others = [part for part in parts if part.properties != (name,)]
    return (*lead, Literal(f"{ground.separator}{label}"), *ground.join(others))


def _without_equality(first: Part, demand: Demand, ground: KeyGround) -> Iterator[list[Part]]:
    """PartitionKeys for a class that fixes no property: one for all rows, or a period each where the first part that it
    wants in order is a time. All rows of a table that grows lie in one partition only where no period divides them."""
    name = first.properties[0]
    timed = ground.types.get(name) is EdmType.DATETIME
    periods = periods_for(name, demand, ground) if timed else []
    if ground.stays_small or not periods:
        yield []
    for pattern in periods:
        yield [Time(name, pattern)]


def periods_for(name: str, demand: Demand, ground: KeyGround) -> list[str]:
    """The finest period of a time that holds what a request wants on average, and the next longer one; the longest that
    divides the rows where none holds so much."""
    population = ground.population
    wanted = min(demand.mean(demand.returned) if len(demand.returned) else 1.0, float(demand.query.top or "inf"))
    counts = {pattern: population.distinct([atom]) for pattern in PERIODS if (atom := Time(name, pattern).atom)}
    dividing = [pattern for pattern, count in counts.items() if count > 1]
    holding = [pattern for pattern in dividing if population.total / counts[pattern] >= wanted]
    return list(reversed(holding))[:PERIODS_TRIED] or dividing[:1]


def _telling(known: Sequence[Part], main: Key, ground: KeyGround) -> list[Part]:
    """The parts of the main key that an index row needs behind what it is looked up by, so that no two rows share a
    key: all that it lacks of them, or fewer where these are known to identify an entity.

    That is known of what a write or query of one entity names, and of a property without equals among all rows at hand
    if these are the whole table, or all its values were counted. A time is no proof: two things may happen at once.
    """
    population = ground.population
    there = {n for part in known for n in part.properties if part.reads_case(n)} | properties_told(
        atoms_of(known), population
    )
    every = [*variable(main.partition), *variable(main.row)]
    by_name: dict[tuple[str, ...], Part] = {}
    for part in every:
        if part.properties and part.properties[0] not in there and part.injective:
            by_name.setdefault(part.properties, _with_room(part, population))
    whole = there.union(*by_name)
    for part in every:
        if not part.injective and not whole.issuperset(part.properties):  # such as a time of the keys, to the second
            by_name.setdefault(part.properties, part)
    lacking = list(by_name.values())
    if any(part.assigned for part in every):
        return lacking
    offered = there.union(*(part.properties for part in lacking))
    sets = [set(names) for names in identities(ground.bench) if offered.issuperset(names)]
    everything = population.rows >= population.total
    sets += [
        {name}
        for part in lacking
        for name in part.properties[:1]
        if (everything or name in population.unique)
        if ground.types.get(name) is not EdmType.DATETIME and population.surplus([("p", name)]) == 0
    ]
    options = [[part for part in lacking if not some.isdisjoint(part.properties)] for some in sets]
    return min(options, key=len, default=lacking)


def _with_room(part: Part, population: Population) -> Part:
    """A part of the main key as a new row has it: a number that outgrows the padding of keys in use is padded anew."""
    name, width = part.properties[0], part.padded_width
    return part_for(name, population) if width and width < digits(population, name) else part


def _labelled_apart(main: Key, rows: tuple[IndexRow, ...], *, shared: bool = False) -> tuple[IndexRow, ...]:
    """The rows with labels that differ: a number is added to one that an earlier row in the same place has, but for
    rows with one PartitionKey of their own where these are ``shared``."""
    numbers: dict[tuple[Part, ...], tuple[Part, ...]] = {}
    taken = {"PartitionKey": set[str](), "RowKey": set[str]()}
    out = []
    for row in rows:
        inside = row.key.partition == main.partition
        parts = row.key.row if inside else row.key.partition
        if shared and parts in numbers:
            out.append(replace(row, key=Key(numbers[parts], row.key.row)))
            continue
        at = next((n for n, part in enumerate(parts) if part.constant and (n == 0 or part.constant[-1] == ":")), None)
        if at is None:
            out.append(row)
            continue
        label, labels = parts[at].constant or "", taken["RowKey" if inside else "PartitionKey"]
        text = next(t for n in itertools.count(1) if (t := _numbered(label, n)) not in labels)
        labels.add(text)
        labelled = (*parts[:at], Literal(text), *parts[at + 1 :])
        key = Key(row.key.partition, labelled) if inside else Key(labelled, row.key.row)
        if not inside:
            numbers[parts] = labelled
        out.append(replace(row, key=key))
    return tuple(out)


def _numbered(label: str, number: int) -> str:
    """``ACCOUNT:``, ``ACCOUNT2:``, ``ACCOUNT3:``."""
    return label if number == 1 else f"{label.removesuffix(':')}{number}:"


def in_one_partition(main: Key, rows: Sequence[IndexRow]) -> tuple[IndexRow, ...]:
    """The rows, of which those in other partitions that are looked up by the same share one: one group transaction
    writes them, and labels tell them apart in the RowKey. Empty where no two are alike."""
    away = Counter(row.key.partition for row in rows if row.key.partition != main.partition)
    alike = {partition for partition, count in away.items() if count > 1}
    labels: dict[tuple[Part, ...], set[str]] = {partition: set() for partition in alike}
    out = []
    for row in rows:
        key = row.key
        if key.partition in alike:
            label = _label(variable(key.row))
            text = next(t for n in itertools.count(1) if (t := _numbered(label, n)) not in labels[key.partition])
            labels[key.partition].add(text)
            key = Key(key.partition, (Literal(text), *key.row))
        out.append(replace(row, key=key))
    return tuple(out) if alike else ()


def with_index_rows(
    scheme: KeyScheme, rows: tuple[IndexRow, ...], *, shared: bool = False, in_use: bool = False
) -> KeyScheme:
    """The scheme with index rows, each with a label of its own; the main rows get one where they share a partition with
    another kind of row, but for keys ``in_use``, which stay as they are. ``shared``: the rows have their labels
    (``in_one_partition``)."""
    main = scheme.main
    rows = _labelled_apart(main, rows, shared=shared)
    inside = any(row.key.partition == main.partition for row in rows)
    if inside and not leading_text(main.row) and not in_use:
        labelled = Key(main.partition, (Literal(_label(variable(main.row))), *main.row))
        if leading_text(labelled.row) in {leading_text(row.key.row) for row in rows}:
            labelled = Key(main.partition, (Literal("ENTITY:"), *main.row))
        main = labelled
    pattern = "intra-partition index rows" if inside else "inter-partition index rows"
    return KeyScheme(main, rows, f"{scheme.pattern} + {pattern}")


# -- finer rows for what is too hot ----------------------------------------------------------------------------------


def refine_rows(estimate: CostEstimate, ground: KeyGround) -> Iterator[KeyScheme]:
    """Finer variants of a scheme, where the PartitionKey that breaks worst is an index row's.

    Buckets or periods end a PartitionKey that is hot; buckets lead one that appends, which no period spreads. Nothing
    where another constraint is missed by more, or where the key at fault is the main one, which ``finer_keys.refine``
    gives buckets.
    """
    bench, scheme = ground.bench, estimate.scheme
    worst = max((v.severity for v in estimate.violations), default=0.0)
    broken = {v.code for v in estimate.violations if v.severity == worst}
    via = _via(scheme, _hottest(estimate, bench)) if HOT in broken else 0
    if via:
        labelled = leading_text(scheme.index_rows[via - 1].key.partition[-1:]).endswith(":")
        separated = () if labelled else (Literal(ground.separator),)
        texts = bucketed_texts(scheme.index_rows[via - 1].key, ground)
        needed = buckets_by(texts, lambda n: partition_buckets(n, scheme, bench, estimate.classes, via=via), ground)
        for bucket in needed:
            yield _finer(scheme, via, (), (*separated, bucket), "hash bucket")
        for period in _periods(estimate, via, ground):
            yield _finer(scheme, via, (), (*separated, period), "time bucket")
    front = _via(scheme, _appending(estimate, bench)) if APPENDS in broken else 0
    if front:
        texts, inserts = bucketed_texts(scheme.index_rows[front - 1].key, ground), estimate.inserts_per_s_peak
        needed = buckets_by(
            texts, lambda n: append_buckets(n, scheme, bench, estimate.classes, inserts, via=front), ground
        )
        for bucket in needed:
            yield _finer(scheme, front, (bucket, Literal(ground.separator)), (), "hash bucket")


def _periods(estimate: CostEstimate, via: int, ground: KeyGround) -> list[Time]:
    """Periods of the first time in the RowKey of an index row, for the heaviest class that reads the row; none where
    its PartitionKey holds that time already."""
    key = estimate.scheme.index_rows[via - 1].key
    times = [n for part in key.row for n in part.properties if ground.types.get(n) is EdmType.DATETIME]
    reading = [c for c in estimate.classes if c.plan is not None and c.plan.via == via]
    if not times or not reading or any(times[0] in part.properties for part in key.partition):
        return []
    heaviest = max(reading, key=lambda c: (c.rate_per_s, c.name)).name
    demand = next(d for d in ground.bench.demands if d.query.name == heaviest)
    return [Time(times[0], pattern) for pattern in periods_for(times[0], demand, ground)]


def _hottest(estimate: CostEstimate, bench: Bench) -> tuple[Part, ...]:
    """The PartitionKey template of the partition that takes most."""
    loads = LoadMap(bench.population, schedule_of(bench.workload, bench.population))
    for demand in bench.demands:
        class_cost(demand, estimate.scheme, bench, estimate.transactions, loads.of(demand.query.name))
    hottest = loads.hottest()
    return () if hottest is None else hottest[0]


def _appending(estimate: CostEstimate, bench: Bench) -> tuple[Part, ...]:
    """The PartitionKey template with the fewest ranges that take the inserts; of equals the main one."""
    limits, inserts = bench.limits, estimate.inserts_per_s_peak or None
    fewest: tuple[float, tuple[Part, ...]] = (float("inf"), ())
    for key, _ in estimate.scheme.each_key():
        lasting = write_fronts(key.partition, bench.population, limits, inserts).lasting(limits.lasting_s)
        if lasting is not None and lasting < fewest[0]:
            fewest = (lasting, key.partition)
    return fewest[1]


def _via(scheme: KeyScheme, partition: tuple[Part, ...]) -> int:
    """The one index row (from 1) without buckets that has a PartitionKey; 0 for the main key's, and where rows share
    it."""
    rows = [via for via, row in enumerate(scheme.index_rows, 1) if row.key.partition == partition]
    plain = not any(part.bucket_count or part.several for part in partition)
    return rows[0] if len(rows) == 1 and plain and partition != scheme.main.partition else 0


def _finer(scheme: KeyScheme, via: int, lead: tuple[Part, ...], tail: tuple[Part, ...], pattern: str) -> KeyScheme:
    """The scheme with parts put before and after the PartitionKey of one index row."""
    row = scheme.index_rows[via - 1]
    finer = replace(row, key=Key((*lead, *row.key.partition, *tail), row.key.row))
    rows = (*scheme.index_rows[: via - 1], finer, *scheme.index_rows[via:])
    return KeyScheme(scheme.main, rows, f"{scheme.pattern}, {pattern}")
