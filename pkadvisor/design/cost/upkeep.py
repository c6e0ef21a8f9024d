"""What a design costs beside its requests: expired entities, the erasure of one person's, rows that grow too large."""

from __future__ import annotations

from collections.abc import Iterator

from pkadvisor.design.cost.class_cost import plans_of, preference
from pkadvisor.design.cost.plan_reads import read
from pkadvisor.design.keys.scheme import Key, KeyScheme
from pkadvisor.design.keys.template import format_template
from pkadvisor.design.keys.transforms import Atom
from pkadvisor.design.load.counting import row_bytes, rows_each, rows_of_entity
from pkadvisor.design.load.estimates import Bench, Erasure, Remark, Retention, Violation
from pkadvisor.design.load.open_ended import takes_all_the_time
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.demand import Demand, demands
from pkadvisor.design.rows.list_values import list_part, list_rows, under
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Floats, Ints, np, pl
from pkadvisor.observe.workload import Draw, DrawBy, Operation, QueryClass, Rate, Workload
from pkadvisor.remembered import remembered
from pkadvisor.table.accounting import UNIT_BYTES, group_most, property_bytes
from pkadvisor.table.edm import SYSTEM_PROPERTIES, EdmType
from pkadvisor.table.odata import And, Comparison, Operator, Parameter

SWEEPS_PER_DAY = 1.0
"""How often expired entities are looked for where no table can be dropped: assumed."""
DAY_S = 86_400.0


# -- retention ---------------------------------------------------------------------------------------------------------


def retention(scheme: KeyScheme, bench: Bench) -> Retention | None:
    """How entities older than the declared retention go; None where none is declared.

    Where the PartitionKey holds the time of arrival, or every query names it, each period can have a table of its own,
    and old ones are dropped whole. Else they are looked for once a day and deleted, with their index rows, in group
    transactions.
    """
    workload, population = bench.workload, bench.population
    if workload.retention_s is None:
        return None
    expired = _inserted_per_s(bench) or population.total / workload.retention_s
    name = arrival_time(population)
    held = name is not None and any(part.tells_time and part.properties == (name,) for part in scheme.main.partition)
    if held:
        how = f"a table per period: the PartitionKey {format_template(scheme.main.partition)} holds {name}"
        return Retention(True, how, expired, 0.0)
    blind = [d.query.name for d in bench.demands if not _names_time(d, name)]
    if name is not None and not blind:
        return Retention(True, f"a table per period: every query names {name}", expired, 0.0)
    pages = population.total * rows_of_entity(scheme, population) / bench.limits.page_entities
    deletes = transactions_per_sweep(scheme, bench, expired * DAY_S / SWEEPS_PER_DAY)
    why = f"{blind[0]} does not name {name}" if name is not None else "no property tells when an entity arrived"
    how = f"located by a scan a day and deleted in a group transaction for each partition: {why}, so no table can be"
    return Retention(False, f"{how} dropped", expired, (pages + deletes) * SWEEPS_PER_DAY / DAY_S)


def _inserted_per_s(bench: Bench) -> float:
    """Entities inserted per second, mean."""
    return sum(
        d.query.rate.mean_per_s * d.query.entities_per_request
        for d in bench.demands
        if d.query.operation in (Operation.INSERT, Operation.UPSERT) and not d.query.analytic
    )


def arrival_time(population: Population) -> str | None:
    """The property that holds the time of arrival, where there is one."""
    name = population.arrival
    if name and population.has(name) and population.types.get(name) is EdmType.DATETIME:
        return name
    return None


def _names_time(demand: Demand, name: str | None) -> bool:
    """Whether a class tells which period it is about: by its filter, by asking for the newest, or by inserting."""
    query, wanted = demand.query, demand.conditions
    if query.filter is None and query.operation.writes:
        return True
    if query.analytic or name is None:
        return query.analytic
    newest = query.top is not None and bool(query.order_by) and query.order_by[0].property == name
    return name in wanted.equal or name in wanted.any_of or name in wanted.ranges or newest


# -- erasure -----------------------------------------------------------------------------------------------------------


def erasure(scheme: KeyScheme, bench: Bench) -> Erasure | None:
    """What it takes to delete everything of one value of ``erase_by``, over the values at hand; None without one.
    Where something keeps entities apart, such as the tenant, it is known too.

    Rows are entities and their index rows. Requests find the entities (the cheapest plan of an equality), then delete
    them, with their index rows, in group transactions of each partition that they lie in.
    """

    name, population = bench.workload.erase_by, bench.population
    if name is None or not population.has(name) or not population.rows:
        return None
    isolation = bench.workload.isolation
    names = tuple(dict.fromkeys((isolation, name))) if isolation and population.has(isolation) else (name,)
    demand = _erasing(names, population)
    plans = plans_of(demand, scheme, population)
    reading = min((read(p, demand, scheme, bench) for p in plans), key=preference)
    entities = demand.returned
    known = tuple(("p", n) for n in names)
    deletes = transactions_of_value(scheme, bench, known, demand.instances, entities)
    rows, requests = entities * rows_of_entity(scheme, population), reading.requests_each + deletes
    asked = demand.weights > 0
    return Erasure(
        property=name,
        rows=demand.mean(rows),
        rows_max=float(rows[asked].max(initial=0.0)),
        requests=demand.mean(requests),
        requests_max=float(requests[asked].max(initial=0.0)),
        scans=reading.plan.access in (Access.TABLE_SCAN, Access.PARTITION_RANGE_SCAN),
    )


@remembered("erasing")
def _erasing(names: tuple[str, ...], population: Population) -> Demand:
    """A class that deletes by one value of each property, each set of values equally often."""
    fixed = tuple(Comparison(name, Operator.EQ, Parameter(name)) for name in names)
    asked = QueryClass(
        f"erase by {names[-1]}",
        Operation.DELETE,
        fixed[0] if len(fixed) == 1 else And(fixed),
        Rate(0.0, 0.0),
        draw=Draw(DrawBy.DISTINCT, names, stated=True),
    )
    (demand,) = demands(Workload("", (asked,)), population, {})
    return demand


# -- the size of an entity ---------------------------------------------------------------------------------------------


def largest_bytes(scheme: KeyScheme, bench: Bench) -> float:
    """Stored bytes of the largest entity at hand with its key, or the mean where that is more (declared sizes)."""
    population, mean = bench.population, row_bytes(scheme, bench)[0]
    return max(mean, mean - bench.property_bytes + _largest_properties(population))


@remembered("largest")
def _largest_properties(population: Population) -> float:
    """The most bytes that the properties of one row at hand take (capacity formula of 2010); 0 where values are
    hidden."""
    if population.hashed or not population.rows:
        return 0.0
    sizes = []
    for name, edm in population.types.items():
        if name in SYSTEM_PROPERTIES or not population.has(name):
            continue
        column = pl.col(name)
        length = pl.lit(0)
        if edm is EdmType.STRING:
            length = UNIT_BYTES * column.str.len_chars().cast(pl.Int64)
        elif edm is EdmType.BINARY:
            length = column.bin.size().cast(pl.Int64)
        fixed = property_bytes(len(name), edm)
        sizes.append(pl.when(column.is_not_null()).then(length + fixed).otherwise(0))
    frame = population.data
    largest = frame.select(pl.sum_horizontal(sizes).max()).item() if sizes else 0
    return float(largest or 0)


def oversize(scheme: KeyScheme, bench: Bench) -> tuple[Violation, ...]:
    """An entity that the service would refuse."""
    limit, largest = float(bench.limits.entity_bytes), largest_bytes(scheme, bench)
    if largest <= limit:
        return ()
    message = f"an entity takes {largest:,.0f} bytes; the service stores at most {limit:,.0f}: keep the rest in a blob"
    return (Violation("entity-too-large", message, largest, limit, "bytes", 10.0),)


def nearly_oversize(scheme: KeyScheme, bench: Bench) -> tuple[Remark, ...]:
    """An entity that comes near to what the service stores."""
    limit, largest = float(bench.limits.entity_bytes), largest_bytes(scheme, bench)
    if not bench.limits.headroom_warn_share * limit < largest <= limit:
        return ()
    message = f"an entity takes {largest:,.0f} of the {limit:,.0f} bytes that the service stores"
    return (Remark("entity-large", message),)


def places(scheme: KeyScheme, bench: Bench) -> Iterator[tuple[Key, int]]:
    """Each partition that an entity's rows lie in, and how many entities one group transaction deletes there."""
    keys, sizes = [key for key, _ in scheme.each_key()], row_bytes(scheme, bench)
    for place in scheme.places():
        yield keys[place[0]], group_most(sum(sizes[via] for via in place), len(place), bench.limits)


def transactions_per_sweep(scheme: KeyScheme, bench: Bench, expired: float) -> float:
    """Group transactions that delete so many expired entities, with their index rows."""
    return sum(_sweep(key, most, bench.population, expired) for key, most in places(scheme, bench))


def _sweep(key: Key, most: int, population: Population, expired: float) -> float:
    """Of partitions that take entities all the time a sweep deletes their share of what expired; a partition that
    filled once, such as an order's lines, expires as a whole."""
    if not population.rows:
        return expired
    expired *= rows_each(key, population)
    population = under((*key.partition, *key.row), population)
    if not population.rows:
        return 0.0
    atoms = atoms_of(key.partition)
    counts = population.counts(atoms).astype(float)
    unseen = max(1.0, population.groups_total(atoms) / population.distinct(atoms))
    each = expired * counts / population.rows / unseen
    lasting = np.where(each < 1, each, np.ceil(each / most)) * unseen
    closed = expired / population.rows * np.ceil(counts / most)
    return float(np.where(takes_all_the_time(population, atoms), lasting, closed).sum())


def transactions_of_value(
    scheme: KeyScheme, bench: Bench, known: tuple[Atom, ...], instances: Ints, entities: Floats
) -> Floats:
    """Group transactions that delete all entities of a value, with their index rows.

    ``known`` are the properties whose values are given, ``instances`` the rows that hold each value, ``entities`` how
    many there are of it. Where a value lies in several partitions, the rows at hand tell how many of its entities share
    one; of a sample these are fewer than in the table.
    """
    total = np.zeros(len(entities))
    values, size = bench.population.groups(known)
    counts = bench.population.counts(known)
    for key, most in places(scheme, bench):
        atoms, several = atoms_of(key.partition), list_part((*key.partition, *key.row))
        population = under((*key.partition, *key.row), bench.population)
        if several is None and population.determines(known, atoms):
            total += np.ceil(entities / most)
            continue
        of_rows = values if several is None else values[list_rows(several, bench.population).origin]
        together, together_size = population.groups((*known, *atoms))
        rows = population.rows
        first = np.zeros(together_size, dtype=np.int64)
        first[together[:rows][::-1]] = np.arange(rows - 1, -1, -1)
        sampled = population.counts((*known, *atoms)).astype(float)
        needed = np.bincount(of_rows[first], np.ceil(sampled / most), size)
        share = needed / np.maximum(counts, 1)
        total += entities * share[values[instances]]
    return total
