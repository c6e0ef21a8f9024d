"""What the service counts: entities of 1 KiB, pages, group transactions. And rates that no account could bear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pkadvisor.design.keys.scheme import IndexRow, Key, KeyScheme
from pkadvisor.design.keys.template import separators
from pkadvisor.design.keys.transforms import MISSING, Context, ListPart, Part, PeriodPart, part_properties
from pkadvisor.design.keys.transforms.languages import exactly, fixed_length
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.load.keyfacts import units, usual_length
from pkadvisor.design.rows.arrivals import follows_arrival
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.demand import Demand
from pkadvisor.design.rows.list_values import list_part, list_rows, under
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.sets.pairs import guarantee, within_s
from pkadvisor.lazy import Floats, np, pl
from pkadvisor.observe.workload import Transaction
from pkadvisor.remembered import remembered
from pkadvisor.table import accounting
from pkadvisor.table.accounting import ANSWER_BYTES, counted_by_bytes, group_most
from pkadvisor.table.edm import SYSTEM_PROPERTIES, EdmType

RATE_ABSURD = 1_000.0
"""Times the account's target above which a rate is told to be a slip of the pen: assumed."""


def capacity_weights(scheme: KeyScheme, bench: Bench) -> tuple[float, ...]:
    """What each row of an entity counts toward a target that is stated for small entities: once for every started
    ``limits.capacity_entity_bytes``, at least once."""
    return tuple(float(counted_by_bytes(size, bench.limits.capacity_entity_bytes)) for size in row_bytes(scheme, bench))


def pages_of(scanned: Floats, returned: Floats, bench: Bench) -> Floats:
    """Pages of one request: one ends at so many entities, at so many bytes, or after so many seconds of scanning."""
    limits = bench.limits
    by_entities = np.ceil(scanned / limits.page_entities)
    by_bytes = np.ceil(returned * (bench.property_bytes + ANSWER_BYTES) / limits.page_bytes)
    pages: Floats = np.maximum(by_entities, by_bytes)
    seconds = limits.scan_ms_per_entity / 1000
    if seconds * limits.page_entities > limits.query_execution_s:  # else a page is full before its time is over
        pages = np.maximum(pages, np.ceil(scanned * seconds / limits.query_execution_s))
    return pages


def set_entities_most(scheme: KeyScheme, bench: Bench) -> int:
    """Entities that one group transaction takes with their index rows of the same partition, by count and by bytes."""
    sizes = row_bytes(scheme, bench)
    inside = scheme.places()[0]
    return group_most(sum(sizes[via] for via in inside), len(inside), bench.limits)


def set_fixes(names: Sequence[str], parts: Sequence[Part], population: Population) -> bool:
    """Whether entities that agree on some properties always share a key: only then can they change in one group
    transaction.

    What the key reads must be among the properties, or depend on them in the sampled rows, with at least one set of two
    rows to tell by where these are a sample. Buckets of a hash that happen to be equal tell nothing: there the hashed
    property must depend on them.
    """
    common = [("p", name) for name in names if population.has(name)]
    seen = population.complete or int(population.counts(common).max(initial=0)) > 1
    for part in parts:
        if part.constant is not None or (part.properties and set(part.properties) <= set(names)):
            continue
        read = [("p", name) for name in part.properties] if part.hashing is not None else list(atoms_of((part,)))
        if not seen or not population.determines(common, read):
            return False
    return True


def keeps_together(declared: Transaction, parts: Sequence[Part], population: Population) -> bool:
    """Whether all entities that a transaction changes together always share a key.

    A logged group is written at one moment: its entities share the period of their arrival, unless its keys tell times
    that lie too far apart for it.
    """
    if declared.pair is not None:
        return guarantee(declared.pair, parts, population).whole
    if declared.logged_entities is not None:
        parts = [p for p in parts if p.period is None or not _of_one_moment(p.period, declared, population)]
    return set_fixes(declared.group_by, parts, population)


def _of_one_moment(period: PeriodPart, declared: Transaction, population: Population) -> bool:
    """Whether the entities of nearly every logged group share a period of a time."""
    lasting_s = dict(declared.lasting_s).get(period.property, 0.0)
    return follows_arrival(period.property, population) and lasting_s <= within_s(period)


def common_to(declared: Transaction, scheme: KeyScheme) -> tuple[str, ...]:
    """What the entities of one kept set have alike: for a pair whatever the PartitionKey reads."""
    if declared.pair is None:
        return declared.group_by
    return part_properties(scheme.main.partition)


def strange_rate(demand: Demand, bench: Bench) -> tuple[str, ...]:
    """What to say of a rate that weighs nothing, or that no account could bear."""
    rate, target = demand.query.rate, bench.limits.account_requests_per_s
    if rate.mean_per_s == 0:
        return ("its rate is zero: it costs nothing and decides nothing",)
    if rate.peak_per_s > RATE_ABSURD * target:
        times = rate.peak_per_s / target
        return (f"{rate.peak_per_s:,.0f}/s is {times:,.0f} times the target of an account: check the number",)
    return ()


# -- Stored bytes of the rows of an entity, by the capacity formula of 2010.


POINTER_BYTES = 80.0
"""Stored bytes of the two properties that a pointer row carries, besides its key: assumed."""


def row_bytes(scheme: KeyScheme, bench: Bench) -> tuple[float, ...]:
    """Mean stored bytes of each row of an entity, the main row first; of an index row over the entities that have
    it."""
    return tuple(_row_bytes(key, row, bench) for key, row in scheme.each_key())


def _row_bytes(key: Key, row: IndexRow | None, bench: Bench) -> float:
    """As ``row_bytes``, of one row; kept for the key itself, which all schemes with it share."""
    memory: dict[tuple[int, str], tuple[Key, float, float]] = bench.population.memo.setdefault("row bytes", {})
    memo = (id(key), "" if row is None else row.copy)
    known = memory.get(memo)
    if known is None or known[0] is not key or known[1] != bench.property_bytes:
        known = memory[memo] = (key, bench.property_bytes, _size_of(key, row, bench))
    return known[2]


@remembered("row size", of=lambda key, row, bench: (key, None if row is None else row.copy, bench.property_bytes))
def _size_of(key: Key, row: IndexRow | None, bench: Bench) -> float:
    """Equal keys that were made apart have one size."""
    needed = needed_by(key, row, bench.population)
    of_key = under((*key.partition, *key.row), bench.population)
    length = sum(
        _mean_length(part, separators(parts), needed, of_key) for parts in (key.partition, key.row) for part in parts
    )
    held = POINTER_BYTES
    if row is None or row.copy == "full":
        held = _held_bytes(needed, bench, list_part((*key.partition, *key.row)))
    return accounting.key_bytes(length) + held


def stored_each(scheme: KeyScheme, bench: Bench) -> tuple[float, ...]:
    """Mean stored bytes that each row adds to an entity: those of the row, times the share of entities that have it."""
    population = bench.population
    shares = [
        present(needed_by(key, row, population), population) * rows_each(key, population)
        for key, row in scheme.each_key()
    ]
    return tuple(size * share for size, share in zip(row_bytes(scheme, bench), shares, strict=True))


def stored_bytes(scheme: KeyScheme, bench: Bench) -> float:
    """Stored bytes of one logical entity, all its rows together."""
    return sum(stored_each(scheme, bench))


def rows_each(key: Key, population: Population) -> float:
    """Mean rows of an entity under a key: above 1 where it has one for each of several values."""
    of_key = under((*key.partition, *key.row), population)
    return 1.0 if of_key is population else of_key.rows / max(1, population.rows)


def rows_of_entity(scheme: KeyScheme, population: Population) -> float:
    """Mean rows of an entity: its own, one of each index row, or one for each of several values."""
    return sum(rows_each(key, population) for key, _ in scheme.each_key())


def needed_by(key: Key, row: IndexRow | None, population: Population) -> tuple[str, ...]:
    """The properties without which an entity has no row under a key: those in an index row's PartitionKey that some
    entity misses."""
    if row is None:
        return ()
    names = part_properties(key.partition)
    several = list_part((*key.partition, *key.row))  # its rows are those of values, and no value is missing
    names = tuple(name for name in names if several is None or name != several.property)
    return tuple(name for name in names if population.has(name) and population.coded(name).has_missing)


@remembered("share with")
def present(needed: tuple[str, ...], population: Population) -> float:
    """The share of the rows at hand that have some properties."""
    if not needed or not population.rows:
        return 1.0
    return _rows_with(needed, population).height / population.rows


def _rows_with(needed: tuple[str, ...], population: Population) -> pl.DataFrame:
    frame = population.data
    return frame.drop_nulls(needed) if needed else frame


def _measured(population: Population) -> bool:
    """Whether lengths are those of the rows at hand: these are all, and no value is hidden."""
    return population.complete and not population.hashed and population.rows > 0


@remembered("mean length")
def _mean_length(part: Part, beside: str, needed: tuple[str, ...], population: Population) -> float:
    """UTF-16 code units that a part adds to a key, the mean over the rows that have some properties."""
    names = part.properties
    if part.constant is not None or not names or not _measured(population):
        return usual_length(part, population)
    context = Context(population.types, beside)
    fixed = fixed_length(tuple(runs for runs in part.texts(context) if (runs,) != exactly(MISSING)))
    if fixed is not None and not any(population.coded(n).has_missing for n in names):
        return float(fixed)
    return float(_rows_with(needed, population).select(units(part.expression(context)).mean()).item() or 0.0)


def _held_bytes(needed: tuple[str, ...], bench: Bench, several: ListPart | None) -> float:
    """Mean stored bytes of the properties of the entities that have some of them, each as often as it has values."""
    population = bench.population
    if (not needed and several is None) or not _measured(population):
        return bench.property_bytes
    return bench.property_bytes + _bytes_beyond_mean(needed, bench, several)


@remembered("properties of rows with")
def _bytes_beyond_mean(needed: tuple[str, ...], bench: Bench, several: ListPart | None) -> float:
    """By how many bytes the mean of such entities is above that of all."""
    population = bench.population
    data = population.data
    if several is not None:
        rows = list_rows(several, population)
        data = data[rows.origin[: rows.population.rows]]
    there = data.drop_nulls(needed) if needed else data
    of_all, of_these = (_mean_properties(rows_, population, bench.declared_sizes) for rows_ in (population.data, there))
    return of_these - of_all


def _mean_properties(rows: pl.DataFrame, population: Population, declared: Mapping[str, int]) -> float:
    total = 0.0
    for name, edm in population.types.items():
        if name in SYSTEM_PROPERTIES or not population.has(name) or not rows.height:
            continue
        column = rows.get_column(name).drop_nulls().rename("value")
        length = float(declared.get(name, 0))
        if name not in declared and edm in accounting.LENGTH_BYTES and len(column):
            size = units(pl.col("value")) if edm is EdmType.STRING else pl.col("value").bin.size()
            length = float(column.to_frame().select(size.mean()).item())
        name_units = accounting.utf16_units(name)
        total += len(column) / rows.height * accounting.property_bytes(name_units, edm, length)
    return total


def property_bytes(population: Population, declared: Mapping[str, int] | None = None) -> float:
    """Mean stored bytes of an entity's properties; declared sizes replace measured lengths."""
    declared = declared or {}
    total = 0.0
    if _measured(population):
        total = _mean_properties(population.data, population, declared)
    else:
        for name, edm in population.types.items():
            if name in SYSTEM_PROPERTIES or not population.has(name):
                continue
            sizes = population.sizes(name)
            length = sizes.characters_mean / 2 if edm is EdmType.BINARY else sizes.characters_mean
            total += sizes.present * accounting.property_bytes(len(name), edm, declared.get(name, length))
    for name, size in sorted(declared.items()):
        if name not in population.types:
            total += accounting.property_bytes(len(name), EdmType.STRING, size)
    return total
