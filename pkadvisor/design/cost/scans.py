"""Rows that a request scans, those of each kind of row apart: an entity's own and the index rows that lie between them.

Published: a query is charged for every row between its bounds on PartitionKey and RowKey. Within one PartitionKey the
RowKey narrows these bounds; over a range of PartitionKeys it does not, and whole partitions are read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pkadvisor.design.keys.scheme import IndexRow, Key, KeyScheme, leading_text, variable
from pkadvisor.design.keys.transforms import MISSING, Context, Part
from pkadvisor.design.keys.transforms.languages import Language
from pkadvisor.design.load.estimates import Read
from pkadvisor.design.plan.plan import Access, AccessPlan
from pkadvisor.design.plan.stop_early import PIECES_MOST
from pkadvisor.design.rows.atoms import atom_properties, atoms_of
from pkadvisor.design.rows.demand import Demand, codes_between, free_atoms, picks, reached, rows_of_constants
from pkadvisor.design.rows.population import Population
from pkadvisor.table.edm import TICKS_UNIX_EPOCH, EdmType

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pkadvisor.design.keys.conditions import Range

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

_SEVERAL_PARTITIONS = (Access.PARTITION_RANGE_SCAN, Access.TABLE_SCAN)


def rows_scanned(found: AccessPlan, demand: Demand, scheme: KeyScheme, population: Population) -> dict[int, Floats]:
    """Rows between the bounds of a plan, per instance: by the number of the row (0 for the entity's own, then the index
    rows). Values that a filter names for one property, and buckets, are all counted; ``$top`` is not."""
    import numpy as np

    keys = list(scheme.each_key())
    key, index_row = keys[found.via]
    if found.access is Access.TABLE_SCAN:
        label = leading_text(key.partition)
        return {
            via: np.full(len(demand.instances), population.total * _share_begun(other, row, label, population))
            for via, (other, row) in enumerate(keys)
        }
    own = _own_rows(found, demand, population, key, index_row)
    own = own + _missing_in_range(found, key, index_row, demand, population)
    out = {found.via: own}
    for via, (other, row) in enumerate(keys):
        if via == found.via:
            continue
        if other.partition == key.partition:
            if _lies_among(found, key, other, demand, population):
                out[via] = _own_rows(found, demand, population, other, row)
        elif found.access is Access.PARTITION_RANGE_SCAN:
            inside = _label_between(found, key.partition, leading_text(other.partition), demand, population)
            if inside is not None:
                out[via] = inside.astype(np.float64) * (population.total * _share_begun(other, row, "", population))
    return out


def row_mask(key: Key, row: IndexRow | None, population: Population) -> Bools | None:
    """Which entities have a row under a key; None where all have: an index row is written where all that it is looked
    up by is present, since an equality never matches a missing value and no query would ever read it otherwise."""
    import numpy as np

    memo = ("has row", key.partition if row is not None else None)
    if memo not in population.memo:
        there = np.ones(population.size, dtype=bool)
        for part in key.partition if row is not None else ():
            for name in part.properties:
                coded = population.coded(name)
                if coded.has_missing:
                    there &= coded.codes > 0
        population.memo[memo] = None if bool(there.all()) else there
    kept: Bools | None = population.memo[memo]
    return kept


def _own_rows(found: AccessPlan, demand: Demand, population: Population, key: Key, row: IndexRow | None) -> Floats:
    """Entities between a plan's bounds that have a row under a key, per instance: many schemes share the same bounds,
    so the counts are kept."""
    there = row_mask(key, row, population)
    among = key.partition if there is not None else None
    memo = ("reached", demand.query.name, frozenset(found.equal_atoms), found.range_atom, found.choices, among)
    if memo not in population.memo:
        over = found.range_atom if found.range_atom and found.range_atom[1] in demand.bounds else None
        bounds = demand.bounds[over[1]] if over else None
        counts = reached(population, demand, found.equal_atoms, over, bounds, there)
        for name in found.choices:
            if name not in demand.constants and name not in demand.mixed:
                counts = counts * len(demand.conditions.any_of[name])
        population.memo[memo] = counts
    kept: Floats = population.memo[memo]
    return kept


def _share_begun(key: Key, row: IndexRow | None, label: str, population: Population) -> float:
    """The share of the entities that have a row under a key whose PartitionKey begins with a text."""
    there = row_mask(key, row, population)
    share = 1.0 if there is None else float(there[: population.rows].mean())
    mine = leading_text(key.partition)
    if mine.startswith(label):
        return share
    if not label.startswith(mine) or not population.begins(key.partition, label):
        return 0.0
    memo = ("share begun", key.partition, label, row is None)
    if memo not in population.memo:
        from pkadvisor.design.keys.scheme import key_expression

        frame = population.frame.head(population.rows).with_row_index("#seq")
        begun = (
            frame.select(key_expression(key.partition, population.types).str.starts_with(label)).to_series().to_numpy()
        )
        population.memo[memo] = float((begun if there is None else begun & there[: population.rows]).mean())
    return float(population.memo[memo])


def _lies_among(found: AccessPlan, key: Key, other: Key, demand: Demand, population: Population) -> bool:
    """Whether rows under another key of the same partitions lie between the bounds of a request."""
    if found.access in _SEVERAL_PARTITIONS:
        return True  # the RowKey narrows nothing there
    mine, theirs = leading_text(key.row), leading_text(other.row)
    if found.access is Access.PARTITION_SCAN:
        return theirs.startswith(mine)
    inside = _label_between(found, key.row, theirs, demand, population)
    return inside is not None and bool(inside.all())


def _range_part(found: AccessPlan, parts: tuple[Part, ...], demand: Demand) -> tuple[Part, Range] | None:
    """The part at the very beginning of a key that a range of the filter bounds, with its range; None where text of an
    entity, or constant text, stands before it."""
    if found.range_atom is None or not parts or parts[0].constant is not None:
        return None
    part = parts[0]
    span = demand.conditions.ranges.get(part.properties[0]) if part.properties else None
    return (part, span) if span is not None and part.atom == found.range_atom else None


def _label_between(
    found: AccessPlan, parts: tuple[Part, ...], label: str, demand: Demand, population: Population
) -> Bools | None:
    """For each instance whether keys that begin with a label lie between its bounds; None where none does."""
    import numpy as np

    bounded = _range_part(found, parts, demand)
    if bounded is None or not label:
        return None
    part, span = bounded
    context = Context(population.types)
    falls = part.order(context) < 0
    first, last = (span.high, span.low) if falls else (span.low, span.high)  # as the texts run
    everywhere = np.ones(len(demand.instances), dtype=bool)
    if part.plain_property and population.types.get(part.plain_property, EdmType.STRING) is EdmType.STRING:
        return _between_texts(part.plain_property, label, demand, population)
    letters = first_letters(part.texts(context))
    if all(letter < label[0] for letter in letters):
        return everywhere if last is None and label < MISSING[0] else None
    if all(letter > label[0] for letter in letters):
        return everywhere if first is None else None
    low, high = demand.bounds[part.properties[0]]
    texts = [_texts_of_numbers(part, numbers, population) for numbers in ((high, low) if falls else (low, high))]
    above = everywhere if first is None else np.array([label >= text for text in texts[0]])
    below = everywhere if last is None else np.array([label < text for text in texts[1]])
    return np.asarray(above & below)


def first_letters(language: Language) -> frozenset[str]:
    """The characters with which the texts of a language may begin, but for that of a missing value."""
    letters = set[str]()
    for alternative in language:
        if [run.alphabet for run in alternative] == [frozenset(MISSING[0]), frozenset(MISSING[1])]:
            continue
        for run in alternative:
            letters |= run.alphabet or {"\0", "\U0010ffff"}
            if run.least:
                break
    return frozenset(letters)


def _texts_of_numbers(part: Part, numbers: Floats, population: Population) -> list[str]:
    """The text of a part for each bound of a range, as the requests send it."""
    name = part.properties[0]
    edm = population.types.get(name, EdmType.STRING)
    context = Context(population.types)
    known: dict[float, str] = {}

    def text(number: float) -> str:
        if number not in known:
            value: float | int = number if edm is EdmType.DOUBLE else int(number)
            if edm is EdmType.DATETIME:
                value = int(number) * 10 + TICKS_UNIX_EPOCH
            known[number] = part.encode({name: value}, context)
        return known[number]

    return [text(float(number)) if abs(float(number)) < float("inf") else "" for number in numbers]


def _between_texts(name: str, text: str, demand: Demand, population: Population) -> Bools | None:
    """For each instance whether a text lies in the range that it asks of a String property; None where never."""
    import numpy as np

    values = population.coded(name).values
    if name in population.hashed:
        return None
    rank = float((values < text).sum())
    rank -= 0.0 if bool((values == text).any()) else 0.5
    low, high = demand.bounds[name]
    inside = np.asarray((low <= rank) & (rank < high))
    return inside if bool(inside.any()) else None


def _missing_in_range(
    found: AccessPlan, key: Key, row: IndexRow | None, demand: Demand, population: Population
) -> Floats:
    """Entities without the property that a range of texts bounds: their text lies above ASCII and may be read too."""
    import numpy as np

    nothing = np.zeros(len(demand.instances))
    if found.range_atom is None or found.range_atom[0] != "p":
        return nothing
    name = found.range_atom[1]
    if population.types.get(name, EdmType.STRING) is not EdmType.STRING or not population.coded(name).has_missing:
        return nothing
    if not any(part.plain_property == name for part in variable((*key.partition, *key.row))):
        return nothing
    inside = _between_texts(name, MISSING, demand, population)
    if inside is None:
        return nothing
    there = row_mask(key, row, population)
    among = key.partition if there is not None else None
    memo = ("reached without", demand.query.name, frozenset(found.equal_atoms), name, among)
    if memo not in population.memo:
        missing = population.coded(name).codes == 0
        missing = missing if there is None else missing & there
        population.memo[memo] = reached(population, demand, found.equal_atoms, None, None, missing)
    return np.asarray(population.memo[memo] * inside)


# -- where the load of a scan falls ------------------------------------------------------------------------------------


def load_of_rows(
    read: Read, demand: Demand, scheme: KeyScheme, population: Population, load: Floats, rate_per_s: Floats
) -> Iterator[tuple[tuple[Part, ...], Floats]]:
    """(a PartitionKey template, entities per second for each row at hand) for each kind of row that a request scans.

    ``load`` is that of each instance. It falls on the rows between its bounds, alike on each of them; where ``$top``
    stops a request, on the first of them in the order of the key. A request for a bucket in which nothing lies counts
    as one entity (``rate_per_s`` requests of each instance).
    """
    import numpy as np

    found = read.plan
    counts = rows_scanned(found, demand, scheme, population)
    scanned = sum(counts.values(), np.zeros(len(load)))
    total = np.maximum(scanned, 1e-300)
    if found.fans:
        key = list(scheme.each_key())[found.via][0]
        load = np.minimum(load, rate_per_s * read.per_instance)  # without what requests for empty buckets count
        yield key.partition, _empty_buckets(read, key, demand, population, rate_per_s)
    for via, (key, row) in enumerate(scheme.each_key()):
        if via not in counts:
            continue
        share = np.where(scanned > 0, load * counts[via] / total, load if via == found.via else 0.0)
        if not share.any():
            continue
        there = row_mask(key, row, population)
        among = np.ones(population.rows, dtype=bool) if there is None else there[: population.rows]
        mine = list(scheme.each_key())[found.via][0]
        if found.access is Access.TABLE_SCAN or key.partition != mine.partition:
            yield key.partition, among.astype(np.float64) * (float(share.sum()) / max(1, int(among.sum())))
            continue
        without = _missing_in_range(found, key, row, demand, population) if via == found.via else np.zeros(len(load))
        if without.any():
            part = load * without / total
            yield key.partition, _at_lacking(found, demand, population, part, among)
            share = share - part
        yield key.partition, _between_bounds(read, mine, demand, population, share, among)


def led_to(read: Read, demand: Demand, scheme: KeyScheme, population: Population, load: Floats) -> Iterator[Floats]:
    """The load of each entity at hand that pointers lead to."""
    import numpy as np

    key, row = list(scheme.each_key())[read.plan.via]
    there = row_mask(key, row, population)
    among = np.ones(population.rows, dtype=bool) if there is None else there[: population.rows]
    yield _between_bounds(read, key, demand, population, load, among)


def _empty_buckets(read: Read, key: Key, demand: Demand, population: Population, rate_per_s: Floats) -> Floats:
    """The load of requests for buckets that hold nothing of what they ask for, put on one row of each partition.

    Every instance asks all partitions that differ from its own by the bucket alone; those that hold a row of what it
    fixes are not empty for it.
    """
    import numpy as np

    found, rows = read.plan, population.rows
    fans = {fan.atom for fan in found.fans}
    of_partition = [atom for atom in atoms_of(key.partition) if atom not in fans]
    fixed, _ = population.groups(of_partition)
    partition, count = population.groups(atoms_of(key.partition))
    first = np.unique(partition[:rows], return_index=True)[1]
    out = np.zeros(rows)
    if found.range_atom is not None and found.range_atom[1] in demand.bounds:
        empty = rate_per_s * (1 - 1 / found.buckets) ** read.per_instance  # its rows taken to lie in buckets by chance
        out[first] = np.bincount(fixed[demand.instances], weights=empty, minlength=int(fixed.max()) + 1)[fixed[first]]
        return out
    in_rows = [fan for fan in found.fans if fan.atom not in atoms_of(key.partition)]
    for by_constants, own in picks(demand, population, found.equal_atoms):
        constants = {**demand.constants, **{name: demand.mixed[name] for name in by_constants}}
        values = [name for name in found.choices if name in constants]
        rate = rate_per_s * own
        asked, _ = population.groups(free_atoms(found.equal_atoms, constants))
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
        keep = rows_of_constants(population, found.equal_atoms, constants)
        there = np.arange(rows) if keep is None else np.flatnonzero(keep)
        apart_in_rows = [fan.atom for fan in in_rows if fan.atom is not None]
        chosen, _ = population.groups([*(("p", name) for name in values), *apart_in_rows])
        pairs = np.unique(np.stack([partition[there], asked[there], chosen[there]]), axis=1)
        answered = np.bincount(pairs[0], weights=rate_of_asked[pairs[1]], minlength=count).astype(np.float64)
        out[first] += np.maximum(reached_by - answered[partition[first]], 0.0)
    return out


def _constants_of(demand: Demand, name: str) -> set[object]:
    from pkadvisor.table.odata import Literal

    return {operand for operand in demand.conditions.any_of[name] if isinstance(operand, Literal)}


def _at_lacking(found: AccessPlan, demand: Demand, population: Population, load: Floats, among: Bools) -> Floats:
    """The load of the entities without the property that a range of texts bounds, alike on those of each instance."""
    import numpy as np

    assert found.range_atom is not None
    lacking = among & (population.coded(found.range_atom[1]).codes[: population.rows] == 0)
    keep = rows_of_constants(population, found.equal_atoms, demand.constants)
    lacking = lacking if keep is None else lacking & keep
    ids, count = population.groups(free_atoms(found.equal_atoms, demand.constants))
    mine = ids[: population.rows]
    of_group = np.bincount(ids[demand.instances], weights=load, minlength=count)
    rows_of_group = np.bincount(mine[lacking], minlength=count)
    return np.asarray(np.where(lacking, (of_group / np.maximum(rows_of_group, 1))[mine], 0.0))


def _between_bounds(read: Read, key: Key, demand: Demand, population: Population, load: Floats, among: Bools) -> Floats:
    """The load of each row at hand, where each instance loads the rows that its requests read alike."""
    import numpy as np

    runs = list(_runs(read, key, demand, population, among))
    found = np.asarray(sum((run.end - run.start for run in runs), np.zeros(len(load))))
    each = load / np.maximum(found, 1)
    out = np.zeros(population.rows)
    if read.plan.access not in _SEVERAL_PARTITIONS and not read.plan.fans:
        out += _found_nothing(read.plan, key, demand, population, np.where(found > 0, 0.0, load))
    for run in runs:
        steps = np.bincount(run.start, weights=each, minlength=len(run.rows) + 1)
        steps = steps - np.bincount(run.end, weights=each, minlength=len(run.rows) + 1)
        out[run.rows] += np.maximum(np.cumsum(steps[: len(run.rows)]), 0.0)
    return out


def _found_nothing(found: AccessPlan, key: Key, demand: Demand, population: Population, load: Floats) -> Floats:
    """The load of requests that find nothing: it falls on the partition that they name, put on one row of it."""
    import numpy as np

    out = np.zeros(population.rows)
    if not load.any():
        return out
    atoms = [atom for atom in atoms_of(key.partition) if atom in found.equal_atoms]
    keep = rows_of_constants(population, atoms, demand.constants)
    there = np.arange(population.rows) if keep is None else np.flatnonzero(keep)
    ids, count = population.groups(free_atoms(atoms, demand.constants))
    groups, first = np.unique(ids[there], return_index=True)
    of_group = np.bincount(ids[demand.instances], weights=load, minlength=count)
    out[there[first]] = of_group[groups]
    return out


@dataclass(frozen=True, slots=True)
class _Run:
    """Rows at hand in the order of a key; each instance reads those from its ``start`` to before its ``end``."""

    rows: Ints
    start: Ints
    end: Ints


def _runs(read: Read, key: Key, demand: Demand, population: Population, among: Bools) -> Iterator[_Run]:
    """The rows that each instance reads, apart for each value that a filter names and, under ``$top``, each request."""
    import numpy as np

    found, context = read.plan, Context(population.types)
    over = found.range_atom if found.range_atom and found.range_atom[1] in demand.bounds else None
    codes, size = population.atom(over) if over else (np.zeros(population.size, dtype=np.int64), 1)
    low, high = codes_between(population, over, demand.bounds[over[1]]) if over else (np.int64(0), np.int64(size))
    parts = (*key.partition, *key.row)
    if any(part.atom == over and part.order(context) < 0 for part in parts):  # as the texts run
        codes, low, high = size - 1 - codes, size - high, size - low
    capped = found.top is not None and not found.unserved
    most = np.full(len(demand.instances), np.iinfo(np.int64).max // 2)
    if found.top is not None:
        rows_read = np.ceil(read.per_instance * population.rows / max(1, population.total)).astype(np.int64)
        most = np.full(len(most), found.top) if capped and found.several else rows_read
    for by_constants, own in picks(demand, population, found.equal_atoms):
        constants = {**demand.constants, **{name: demand.mixed[name] for name in by_constants}}
        keep = rows_of_constants(population, found.equal_atoms, constants)
        there = np.flatnonzero(among if keep is None else among & keep)
        ids, _ = population.groups(free_atoms(found.equal_atoms, constants))
        pieces = [part.atom for part in found.fans if part.atom] if capped else []
        pieces += [("p", name) for name in (*found.choices,) if capped and name in constants]
        piece, count = population.groups(pieces)
        for number in range(count) if count <= PIECES_MOST else ():
            mine = there[piece[there] == number] if count > 1 else there
            placed = ids[mine] * (size + 1) + codes[mine]
            keys = [order[mine] for order in population.key_order(parts)] if found.top is not None else []
            order = np.lexsort((*reversed(keys), placed))
            placed = placed[order]
            base = ids[demand.instances] * (size + 1)
            start = np.searchsorted(placed, base + low, side="left")
            end = np.maximum(np.searchsorted(placed, base + np.maximum(high, low), side="left"), start)
            end = np.where(own, np.minimum(end, start + most), start)
            yield _Run(mine[order], start, end)


__all__ = ["first_letters", "load_of_rows", "row_mask", "rows_scanned"]
