"""Rows that a request scans, those of each kind of row apart: an entity's own and the index rows that lie between them.

Published: a query is charged for every row between its bounds on PartitionKey and RowKey. Within one PartitionKey the
RowKey narrows these bounds; over a range of PartitionKeys it does not, and whole partitions are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import product

from pkadvisor.design.keys.conditions import Range
from pkadvisor.design.keys.scheme import IndexRow, Key, KeyScheme, leading_text, variable
from pkadvisor.design.keys.transforms import MISSING, Atom, Context, Part
from pkadvisor.design.load.keyfacts import key_texts
from pkadvisor.design.plan.access_plan import Access, AccessPlan
from pkadvisor.design.plan.other_kinds import first_letters, leaves_out
from pkadvisor.design.rows.asked.matching_rows import sampled_literal
from pkadvisor.design.rows.asked_rows import with_copies
from pkadvisor.design.rows.atoms import atom_properties
from pkadvisor.design.rows.demand import Demand, choosing, reached
from pkadvisor.design.rows.list_values import list_part, list_rows
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Bools, Floats, Ints, np
from pkadvisor.remembered import remembered
from pkadvisor.table.edm import TICKS_UNIX_EPOCH, EdmType
from pkadvisor.table.odata import Operand, Parameter, TypedValue
from pkadvisor.values import dataclass

SEVERAL_PARTITIONS = (Access.PARTITION_RANGE_SCAN, Access.TABLE_SCAN)


def rows_scanned(plan: AccessPlan, demand: Demand, scheme: KeyScheme, population: Population) -> dict[int, Floats]:
    """Rows between the bounds of a plan, per instance: by the number of the row (0 for the entity's own, then the index
    rows). Values that a filter names for one property, and buckets, are all counted; ``$top`` is not."""
    keys = list(scheme.each_key())
    key, index_row = keys[plan.via]
    if plan.access is Access.TABLE_SCAN:
        label = leading_text(key.partition)
        return {
            via: np.full(len(demand.instances), population.total * _share_begun(other, row, label, population))
            for via, (other, row) in enumerate(keys)
            if via == plan.via or not leaves_out(plan.access, plan.left_out, key, other)
        }
    own = _own_rows(plan, demand, population, key, index_row)
    own = own + missing_in_range(plan, key, index_row, demand, population)
    out = {plan.via: own}
    for via, (other, row) in enumerate(keys):
        inside = None if via == plan.via else lie_among(plan, key, other, demand, population)
        if inside is None:
            continue
        beside = bounds_of_others(plan, key, other)
        if beside is not None:
            rows = _own_rows(beside, demand, population, other, row)
            rows = rows + missing_in_range(beside, other, row, demand, population)
        else:
            rows = np.full(len(inside), population.total * _share_begun(other, row, "", population))
        out[via] = rows * inside
    return out


def range_of_others(plan: AccessPlan) -> AccessPlan:
    """The plan as it bounds rows under other keys of the same partitions: of those that lie between the bounds of a
    range of RowKeys each partition holds all, whatever their own values are."""
    if plan.access is not Access.ROW_RANGE:
        return plan
    return replace(plan, range_atom=plan.periods.atom if plan.periods is not None else None)


@dataclass(frozen=True, slots=True)
class _Shared:
    """Where another PartitionKey leaves that of a range of partitions.

    ``rest`` of the range's own key and the constant text ``label`` of the other one follow what both begin with;
    ``same`` where the other one goes on with the part that the range bounds.
    """

    rest: tuple[Part, ...]
    label: str
    same: bool


def _shared_beginning(plan: AccessPlan, key: Key, other: Key) -> _Shared | None:
    """What two PartitionKeys begin with, where requests fix all of it and some of it is a variable part, or where both
    go on with the part at which a range of partitions stops; else None."""
    if plan.access is not Access.PARTITION_RANGE_SCAN:
        return None
    shared = 0  # variable parts
    for place, (mine, theirs) in enumerate(zip(key.partition, other.partition, strict=False)):
        stops = mine.constant is None and shared == plan.fixed
        if mine == theirs and not stops:
            shared += mine.constant is None
            continue
        rest = key.partition[place:]
        if mine == theirs:
            return _Shared(rest, "", True)
        if not shared or not (stops or mine.constant):
            return None
        if stops:
            return _Shared(rest, theirs.constant or "", False)
        text = theirs.constant
        if shared < plan.fixed or text is None or not text.startswith(mine.constant or ""):
            return None
        return _Shared(rest[1:], text[len(mine.constant or "") :], False)
    return None


def bounds_of_others(plan: AccessPlan, key: Key, other: Key) -> AccessPlan | None:
    """The plan as it bounds rows under another key; None where nothing of an entity tells which of them it reads."""
    if other.partition == key.partition:
        return range_of_others(plan)
    shared = _shared_beginning(plan, key, other)
    if shared is None:
        return None
    return plan if shared.same else replace(plan, range_atom=None)


@remembered("has row", of=lambda key, row, _: None if row is None else (key.partition, list_part(key.row)))
def row_mask(key: Key, row: IndexRow | None, population: Population) -> Bools | None:
    """Which entities have a row under a key; None where all have: an index row is written where all that it is looked
    up by is present, since an equality never matches a missing value and no query would ever read it otherwise."""
    if row is None:
        return None
    there = np.ones(population.size, dtype=bool)
    for part in key.partition:
        for name in part.properties:
            coded = population.coded(name)
            if coded.has_missing:
                there &= coded.codes > 0
    counts = row_counts(key, population)
    if counts is not None:
        there &= counts > 0
    return None if bool(there.all()) else there


def row_counts(key: Key, population: Population) -> Ints | None:
    """How many rows of each entity lie under a key that has one for each of several values; None where one does."""
    part = list_part((*key.partition, *key.row))
    return None if part is None or part == population.lists else list_rows(part, population).counts


def _own_rows(plan: AccessPlan, demand: Demand, population: Population, key: Key, row: IndexRow | None) -> Floats:
    """Entities between a plan's bounds that have a row under a key, per instance: many schemes share the same bounds,
    so the counts are kept."""
    there = row_mask(key, row, population)
    among = key.partition if there is not None else None
    memo = ("reached", demand.asked, frozenset(plan.equal_atoms), plan.range_atom, plan.choices, among)
    if memo not in population.memo:
        over = demand.bounded(plan.range_atom)
        bounds = demand.bounds[over[1]] if over else None
        plain = there is not None and not demand.constants and not demand.mixed
        whole = _whole_groups(there, plan.equal_atoms, population) if plain and there is not None else None
        counts = reached(population, demand, plan.equal_atoms, over, bounds, there if whole is None else None)
        if whole is not None:
            ids, _ = population.groups(list(plan.equal_atoms))
            counts = np.where(whole[ids[demand.instances]], counts, 0.0)
        for name in plan.choices:
            if name not in demand.constants and name not in demand.mixed:
                counts = counts * len(demand.conditions.any_of[name])
        population.memo[memo] = counts
    cached: Floats = population.memo[memo]
    return cached


def _whole_groups(there: Bools, atoms: Iterable[Atom], population: Population) -> Bools | None:
    """For each group of rows that agree on some atoms whether its rows are meant; None where of some group only a part
    is. Such groups count as they do under any key. Rows without an index row for want of the property that a request
    names are none of those that it asks for."""
    ids, count = population.groups(list(atoms))
    sampled = ids[: population.rows]
    meant = np.bincount(sampled[there[: population.rows]], minlength=count)
    rows = np.bincount(sampled, minlength=count)
    return np.asarray((meant > 0) | (rows == 0)) if bool(np.all((meant == 0) | (meant == rows))) else None


def _share_begun(key: Key, row: IndexRow | None, label: str, population: Population) -> float:
    """The share of the entities that have a row under a key whose PartitionKey begins with a text."""
    begun, counts = begun_rows(key, row, label, population), row_counts(key, population)
    return float(begun.mean() if counts is None else (begun * counts[: population.rows]).mean())


@remembered("rows begun", of=lambda key, row, label, _: (key.partition, label, row is None))
def begun_rows(key: Key, row: IndexRow | None, label: str, population: Population) -> Bools:
    """Which rows at hand have a row under a key whose PartitionKey begins with a text."""
    there = row_mask(key, row, population)
    begun = np.ones(population.rows, dtype=bool) if there is None else there[: population.rows]
    mine = leading_text(key.partition)
    if mine.startswith(label):
        return begun
    if not (label.startswith(mine) and population.begins(key.partition, label)):
        return np.zeros(population.rows, dtype=bool)
    texts = key_texts(key.partition, population=population).to_series()
    return np.asarray(begun & texts.str.starts_with(label).to_numpy())


def lie_among(plan: AccessPlan, key: Key, other: Key, demand: Demand, population: Population) -> Bools | None:
    """For each instance whether rows under another key lie between the bounds of a request; None where never."""
    everywhere = np.ones(len(demand.instances), dtype=bool)
    if leaves_out(plan.access, plan.left_out, key, other):
        return None
    if other.partition != key.partition:
        if plan.access is Access.TABLE_SCAN:
            return everywhere
        if plan.access is not Access.PARTITION_RANGE_SCAN:
            return None
        if (shared := _shared_beginning(plan, key, other)) is not None:
            if shared.same:
                return everywhere
            if _range_part(plan, shared.rest, demand) is None:
                return None if plan.begun else everywhere  # a label is no beginning of a value
            return _label_between(plan, shared.rest, shared.label, demand, population)
        return _label_between(plan, key.partition, leading_text(other.partition), demand, population)
    if plan.access in SEVERAL_PARTITIONS:
        return everywhere  # the RowKey narrows nothing there
    mine, theirs = leading_text(key.row), leading_text(other.row)
    if plan.access is Access.PARTITION_SCAN:
        return everywhere if theirs.startswith(mine) else None
    return _label_between(plan, key.row, theirs, demand, population)


def _range_part(plan: AccessPlan, parts: tuple[Part, ...], demand: Demand) -> tuple[Part, Range] | None:
    """The part at the very beginning of a key that a range of the filter bounds, with its range; None where text of an
    entity, or constant text, stands before it."""
    if plan.range_atom is None or not parts or parts[0].constant is not None:
        return None
    part = parts[0]
    span = demand.conditions.ranges.get(part.properties[0]) if part.properties else None
    return (part, span) if span is not None and part.atom == plan.range_atom else None


def _label_between(
    plan: AccessPlan, parts: tuple[Part, ...], label: str, demand: Demand, population: Population
) -> Bools | None:
    """For each instance whether keys that begin with a label lie between its bounds; None where none does."""
    start = leading_text(parts)
    bounded = _range_part(plan, parts[1:] if start else parts, demand)
    if bounded is None or not label.startswith(start) or label == start:
        return None
    label = label.removeprefix(start)
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
    if name in population.hashed:
        return None
    values, span = population.coded(name).values, demand.conditions.ranges[name]
    rank = float((values < text).sum())
    rank -= 0.0 if bool((values == text).any()) else 0.5
    inside = np.ones(len(demand.instances), dtype=bool)
    # Where no value at hand lies between them, only texts tell a constant from another text.
    for operand, inclusive, bound, lower in (
        (span.low, span.low_inclusive, demand.bounds[name][0], True),
        (span.high, span.high_inclusive, demand.bounds[name][1], False),
    ):
        if isinstance(operand, TypedValue) and isinstance(operand.value, str):
            beyond = text > operand.value if lower else text < operand.value
            inside &= beyond or (inclusive and text == operand.value)
        else:
            inside &= bound <= rank if lower else rank < bound
    return inside if bool(inside.any()) else None


def missing_in_range(
    plan: AccessPlan, key: Key, row: IndexRow | None, demand: Demand, population: Population
) -> Floats:
    """Entities without the property that a range of texts bounds: their text lies above ASCII and may be read too."""
    read = missing_between(plan, key, row, demand, population)
    if read is None:
        return np.zeros(len(demand.instances))
    inside, missing = read
    among = key.partition if row_mask(key, row, population) is not None else None
    memo = ("reached without", demand.asked, frozenset(plan.equal_atoms), plan.range_atom, among)
    if memo not in population.memo:
        population.memo[memo] = reached(population, demand, plan.equal_atoms, None, None, missing)
    return np.asarray(population.memo[memo] * inside)


def missing_between(
    plan: AccessPlan, key: Key, row: IndexRow | None, demand: Demand, population: Population
) -> tuple[Bools, Bools] | None:
    """Which instances have bounds that let rows without the property pass, and which rows under the key these are; None
    where no range of texts does."""
    if plan.range_atom is None or plan.range_atom[0] != "p":
        return None
    name = plan.range_atom[1]
    if population.types.get(name, EdmType.STRING) is not EdmType.STRING or not population.coded(name).has_missing:
        return None
    if not any(part.plain_property == name for part in variable((*key.partition, *key.row))):
        return None
    inside = _between_texts(name, MISSING, demand, population)
    if inside is None:
        return None
    there = row_mask(key, row, population)
    missing: Bools = population.coded(name).codes == 0
    return inside, missing if there is None else missing & there


# -- Queries that name several values of a property that a part of the key joins with another.


ASKED_ROWS_MOST = 2_000_000
"""Instances times combinations up to which each is counted by itself; beyond, combinations are taken as alike."""


@dataclass(frozen=True, slots=True)
class Combination:
    """A query for one combination of values; ``sent`` are the instances that send a request of their own for it."""

    plan: AccessPlan
    demand: Demand
    population: Population
    sent: Bools


def combinations(plan: AccessPlan, demand: Demand, population: Population) -> tuple[Combination, ...]:
    """The combinations of the values of properties that a part of the key joins; none where no part joins them."""
    names = _joined(plan)
    any_of = demand.conditions.any_of
    chosen = [dict(zip(names, each, strict=True)) for each in product(*(any_of[name] for name in names))]
    if not names or len(chosen) * len(demand.instances) > ASKED_ROWS_MOST:
        return ()
    memo = ("joined choices", demand.asked, names)
    if memo not in population.memo:
        values = [{n: v for n, o in c.items() if (v := sampled_literal(n, o, population)) is not None} for c in chosen]
        population.memo[memo] = with_copies(population, [(demand.instances, each) for each in values])
    asked: Population = population.memo[memo]
    instances = population.size + np.arange(len(chosen) * len(demand.instances), dtype=np.int64)
    touched = [atom for atom in plan.equal_atoms if {*names} & {*atom_properties(atom)}]
    pieces, _ = asked.groups(touched)
    along = replace(plan, choices=tuple(name for name in plan.choices if name not in names))
    out: list[Combination] = []
    before: list[tuple[object, Ints]] = []
    for number, (each, rows) in enumerate(zip(chosen, np.split(instances, len(chosen)), strict=True)):
        further = tuple(_further_parameter(demand, name, operand) for name, operand in each.items())
        sent = np.ones(len(rows), dtype=bool)
        for others, of_others in before:
            sent &= (pieces[rows] != of_others) if others == further else True
        before.append((further, pieces[rows]))
        one = replace(demand, query=replace(demand.query, name=f"{demand.query.name} {number}"), instances=rows)
        out.append(Combination(along, choosing(one, each, asked), asked, sent))
    return tuple(out)


def _joined(plan: AccessPlan) -> tuple[str, ...]:
    """The properties of which a query names several values, and of which a part of the key joins one with others."""
    joined = [names for atom in plan.equal_atoms if len(names := atom_properties(atom)) > 1]
    return tuple(name for name in plan.choices if any(name in names for names in joined))


def _further_parameter(demand: Demand, name: str, operand: Operand) -> Operand | None:
    """A parameter that a filter names beside another one for the same property: it is taken for a further value of
    which as many rows are at hand as of the instance's own."""
    first = next((o for o in demand.conditions.any_of[name] if isinstance(o, Parameter)), None)
    return operand if isinstance(operand, Parameter) and operand != first else None
