"""What keys are built of: the ground that a section gives, parts for properties, and what makes a RowKey unique."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import permutations

from pkadvisor.design.choice.kind_labels import kind_labels, with_label
from pkadvisor.design.keys.scheme import Key, leading_text
from pkadvisor.design.keys.transforms import (
    Atom,
    Field,
    Literal,
    Lower,
    Pad,
    Part,
    ReversePad,
    ReverseSortable,
    ReverseTicks,
    Sequence,
    Sortable,
    Ticks,
)
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.load.identifiers import NOT_IN_USE, InUse, collides, decides, missing_identifiers, properties_told
from pkadvisor.design.load.widths import SPARE, lifetime_s, named_like_identifier, named_like_measure, width_of
from pkadvisor.design.rows.arrivals import tells_arrival
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.counters import HORIZON_MONTHS, inserted_per_s
from pkadvisor.design.rows.demand import Demand
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import pl
from pkadvisor.numbers import MONTH_S
from pkadvisor.observe.workload import Operation, QueryClass
from pkadvisor.table.edm import KEYS, SERVER_TIME, EdmType
from pkadvisor.table.odata import Parameter
from pkadvisor.values import dataclass

SEPARATORS = ("_", ";", "|", "!")
"""Tried in this order: the first that occurs in no value needs no escapes."""
COLLISIONS_TELLING = 20
SINGLE_PARTITION_MAX = 10_000
SEQUENCE_LEAST = 2
"""Digits of a number that the application gives out, at the least."""


@dataclass(frozen=True, slots=True)
class KeyGround:
    """What the generators stand on: the bench and the order of importance of the properties."""

    bench: Bench
    separator: str = "_"
    in_use: InUse = NOT_IN_USE

    def join(self, parts: Iterable[Part], prefix: str = "") -> tuple[Part, ...]:
        """Parts with this table's separator between them."""
        return join(parts, self.separator, prefix)

    def part(self, name: str) -> Part:
        """The piece of key for a property."""
        return part_for(name, self.population)

    def told_apart(self, key: Key) -> Key:
        """A key with the label of its kind before RowKeys that lie in the partitions of another kind, whose keys in use
        do not begin with labels of their own: reads of a partition else read the rows of both."""
        others = [rows for rows in self.bench.other_kinds if not rows.advised]
        own = next((c.kind for c in self.bench.workload.classes if c.kind), "")
        label = kind_labels([*dict.fromkeys([own, *(other.kind for other in others)])])[own]
        meets = any(o.key is not None and _in_one_partition(key, o.key, label) for o in others)
        return Key(key.partition, with_label(key.row, label)) if meets else key

    @property
    def population(self) -> Population:
        """The rows at hand."""
        return self.bench.population

    @property
    def types(self) -> dict[str, EdmType]:
        """Property types."""
        return self.bench.population.types

    def reading(self) -> list[Demand]:
        """Classes that a key can help, the heaviest first, analytic ones last: those with a filter, and those that want
        the first few of an order.

        Of classes that ask alike there is one, with the rate of all: a query in two halves is the same query.
        """
        rates: dict[str, float] = {}
        alike = self.alike()
        for d in self.bench.demands:
            rates[alike[d.query.name]] = rates.get(alike[d.query.name], 0.0) + d.query.rate.mean_per_s
        classes = [d for d in self.bench.demands if _finds(d.query) and alike[d.query.name] == d.query.name]
        return sorted(classes, key=lambda d: (d.query.analytic, -rates[d.query.name], d.query.name))

    def alike(self) -> dict[str, str]:
        """For each class the first one by name that asks the same of keys: the filter, the order, and how many."""
        first: dict[object, str] = {}
        asked = {
            d.query.name: (q.operation, q.filter, q.order_by, q.top, q.sets, q.analytic)
            for d in self.bench.demands
            for q in (d.query,)
        }
        for name in sorted(asked):
            first.setdefault(asked[name], name)
        return {name: first[what] for name, what in asked.items()}

    @property
    def stays_small(self) -> bool:
        """Whether the whole table may lie in one partition: it is small and stays so with what is inserted until the
        horizon, or while an entity is kept. More than a page is not small for a log too short to show inserts."""
        workload = self.bench.workload
        inserted_per_s = sum(
            d.query.rate.mean_per_s * d.query.entities_per_request
            for d in self.bench.demands
            if d.query.operation is Operation.INSERT
        )
        if not inserted_per_s and self.population.total > self.bench.limits.page_entities:
            inserted_per_s = self._unseen_inserts_per_s
        months = workload.growth.horizon_months if workload.growth is not None else HORIZON_MONTHS
        entities = self.population.total + inserted_per_s * months * MONTH_S
        if workload.retention_s is not None:
            entities = max(self.population.total, inserted_per_s * workload.retention_s)
        return entities <= SINGLE_PARTITION_MAX

    @property
    def _unseen_inserts_per_s(self) -> float:
        """Inserts that a log without any may have missed: at most 3 in its length, with 95 % confidence (rule of
        three); none without a log, and where upserts bring the entities."""
        at = [minute for series in self.bench.workload.minutes.values() if not series.of_day for minute in series.at]
        upserts = any(d.query.operation is Operation.UPSERT for d in self.bench.demands)
        return 3.0 / (60.0 * (max(at) - min(at) + 1)) if at and not upserts else 0.0

    def weight(self, name: str) -> float:
        """Requests per second whose filter fixes a property."""
        return sum(
            d.query.rate.mean_per_s
            for d in self.bench.demands
            if name in {*d.conditions.equal, *d.conditions.folded, *d.conditions.any_of}
        )

    def bounded(self, name: str) -> float:
        """Requests per second whose filter bounds a property: a key that begins with it narrows their scans."""
        return sum(d.query.rate.mean_per_s for d in self.bench.demands if name in d.conditions.ranges)


def _in_one_partition(key: Key, other: Key, label: str) -> bool:
    """Whether rows of two kinds lie in one partition and no labels tell their RowKeys apart; ``label`` would."""
    return key.partition == other.partition and not leading_text(key.row).startswith(label)


def _finds(query: QueryClass) -> bool:
    first_few = query.operation is Operation.QUERY and bool(query.order_by) and query.top is not None
    return query.filter is not None or first_few


def digits(population: Population, name: str) -> int:
    """Digits to which keys pad a property: what a number needs in all of the table, else the longest text."""
    if name in population.digits:
        return population.digits[name]
    if not population.types.get(name, EdmType.STRING).integer:
        return max(1, population.sizes(name).characters_max)
    return population.widths.get(name) or width_of(name, population)


def part_for(name: str, population: Population, *, descending: bool = False, ordered: bool = False) -> Part:
    """The piece of key for a property: padded numbers, ticks for times, text as it is; ``ordered`` where the query at
    hand wants its values in their order, as any other one may."""
    edm = population.types.get(name, EdmType.STRING)
    if edm.integer:
        width = digits(population, name)
        if not descending:
            return Pad(name, width)
        # Counting down from 10^n - 1 has one digit too many below zero.
        return ReversePad(name, width) if population.fits(name, width, below_zero=False) else ReverseSortable(name)
    if edm is EdmType.DATETIME:
        return ReverseTicks(name) if descending else Ticks(name)
    if edm is EdmType.DOUBLE and (ordered or name in population.ordered):
        return ReverseSortable(name) if descending else Sortable(name)
    return Field(name)


def part_asked(name: str, demand: Demand, population: Population) -> Part:
    """The piece of key for a property that a class fixes: its text in lower case where the class knows no more."""
    return Lower(name) if name in demand.conditions.folded else part_for(name, population)


def join(parts: Iterable[Part], separator: str, prefix: str = "") -> tuple[Part, ...]:
    """Parts with a separator between them, after a literal prefix."""
    out: list[Part] = [Literal(prefix)] if prefix else []
    for index, part in enumerate(parts):
        if index:
            out.append(Literal(separator))
        out.append(part)
    return tuple(out)


def separator_for(*benches: Bench) -> str:
    """Of the separators that no short text value of any kind contains the one behind which most requests find texts in
    their order: the first of equals. Kinds that share a PartitionKey need one for all."""
    free = [s for s in SEPARATORS if not any(_held(bench, s) for bench in benches)]

    def in_order_per_s(separator: str) -> float:
        return sum(
            demand.query.rate.mean_per_s
            for bench in benches
            for demand in bench.demands
            for name in _in_order(demand)
            if bench.population.types.get(name) is EdmType.STRING and bench.population.keeps_order(name, separator)
        )

    return max(free, key=in_order_per_s, default=SEPARATORS[0])


def _held(bench: Bench, separator: str) -> bool:
    """Whether a short text value contains a separator. Today's keys count only where requests name them as they are:
    new keys are made of their parts elsewhere."""
    population, asked = bench.population, {n for d in bench.demands for n in d.conditions.properties}
    texts = [n for n, e in population.types.items() if e is EdmType.STRING and population.has(n)]
    texts = [n for n in texts if n not in KEYS or n in asked]
    short = [n for n in texts if _identifies(n, population, missing=True)]
    held = pl.any_horizontal(pl.lit(False), *(pl.col(n).str.contains(separator, literal=True).any() for n in short))
    return bool(population.frame.select(held).item())


def _in_order(demand: Demand) -> set[str]:
    """The properties whose order a class needs in a key: those that it bounds and sorts by."""
    return set() if demand.query.analytic else {*demand.conditions.ranges, *(o.property for o in demand.query.order_by)}


def range_parts(demand: Demand, population: Population, used: set[str]) -> list[Part]:
    """The ordered parts that a class wants after its equalities: its sort order, else its range."""
    order = [(o.property, o.descending) for o in demand.query.order_by if o.property not in demand.conditions.equal]
    if not order:
        # One range can be served, a time before anything else; a constant bound (`x gt 300`) is a measurement, not
        # a key, but for a beginning of texts; nor is one of a property that the equalities fix by a rule of the table.
        wanted = demand.conditions
        ruled = {*(d.target for d in wanted.derived), *(d.source for d in wanted.inverse)}
        texts = {n for n in wanted.ranges if population.types.get(n) is EdmType.STRING}
        moving = [n for n, r in wanted.ranges.items() if n not in ruled and (n in texts or _moves(r.low, r.high))]
        moving.sort(key=lambda n: population.types.get(n) is not EdmType.DATETIME)
        order = [(name, False) for name in moving[:1]]
    return [
        part_for(n, population, descending=d, ordered=True)
        for n, d in order
        if population.may_be_key(n) and n not in used
    ]


def _moves(*bounds: object) -> bool:
    return any(isinstance(bound, Parameter) for bound in bounds)


def unfit(ground: KeyGround) -> frozenset[str]:
    """Properties that no key should hold: secrets, and those that some update changes, which in a key turn every such
    update into a delete and an insert."""
    return ground.bench.secret.union(name for d in ground.bench.demands for name in d.query.sets)


def complete(partition: list[Part], row: list[Part], ground: KeyGround) -> list[Part]:
    """The RowKey with what tells all entities apart: a property that does it at hand, else a sequence.

    Also what a request for one entity names, where the rows are a sample, and an identifier beside a time at which
    several entities are expected; a sequence where the data has none.
    """
    transforms = _unique_in_sample(partition, row, ground)
    atoms = atoms_of([*partition, *transforms])
    if any(part.assigned for part in transforms) or decides(atoms, ground.in_use.key):
        return transforms

    def spare() -> list[str]:
        fixed, population = unfit(ground), ground.population
        able = sorted((_tail_rank(n, population), n) for n in population.types if _identifies(n, population))
        return [n for rank, n in able if n not in fixed and (not rank[0] or _unique_alone(n, population))]

    missing = missing_identifiers(atoms, ground.bench, spare, ground.in_use)
    whole = [*transforms, *(part_for(name, ground.population) for name in missing)]
    return [*whole, Sequence(SEQUENCE_LEAST)] if collides(atoms_of([*partition, *whole]), ground.bench) else whole


def _unique_alone(name: str, population: Population) -> bool:
    """Whether no two entities at hand share a value that is no time: of whatever name, it identifies them."""
    return population.types.get(name) is not EdmType.DATETIME and population.surplus([("p", name)]) == 0


def _unique_in_sample(partition: list[Part], row: list[Part], ground: KeyGround) -> list[Part]:
    """The RowKey with a property, or two, by which no two entities at hand share a key, else with a sequence."""
    population = ground.population
    atoms = atoms_of([*partition, *row])
    if population.surplus(atoms) == 0:
        return row
    parts = (*partition, *row)
    used = {n for part in parts for n in part.properties if part.reads_case(n)} | properties_told(atoms, population)
    changing = unfit(ground)
    spare = [n for n in population.types if n not in used and n not in changing and _identifies(n, population)]
    fixed = [n for d in ground.reading() for n in d.conditions.equal]
    spare.sort(key=lambda n: _tail_rank(n, population))
    # No two entities share all of the properties of the current key.
    current = ground.in_use.key.properties if ground.in_use.key is not None else ()
    ordered = list(dict.fromkeys(n for n in (*ground.in_use.identifiers, *fixed, *current, *spare) if n in spare))
    few = population.surplus(atoms) < max(COLLISIONS_TELLING, population.rows // 1000)
    if few:  # a handful of collisions is told apart by almost anything, which proves nothing: only identifiers count
        ordered = [n for n in ordered if 2 * population.distinct([("p", n)]) > population.rows]
    for name in ordered:
        if population.surplus([*atoms, ("p", name)]) == 0:
            return [*row, part_for(name, population)]
    for first, second in permutations(ordered[:6], 2) if not few else ():
        if population.surplus([*atoms, ("p", first), ("p", second)]) == 0:
            return [*row, part_for(first, population), part_for(second, population)]
    return [*row, Sequence(_sequence_width(atoms, ground))]


def _sequence_width(atoms: tuple[Atom, ...], ground: KeyGround) -> int:
    """The digits of a number given out within groups: of the largest group to come, and one to spare.

    A group with a time of arrival is over with it; others grow as the table does.
    """
    population, workload = ground.population, ground.bench.workload
    largest = float(population.counts(atoms).max(initial=1))
    if not any(tells_arrival(atom, population) for atom in atoms):
        coming = inserted_per_s(workload) * lifetime_s(workload) * ground.bench.horizon_factor
        largest *= (population.total + coming) / max(1, population.rows)
    return max(SEQUENCE_LEAST, len(str(int(largest))) + SPARE)


def _identifies(name: str, population: Population, *, missing: bool = False) -> bool:
    """Whether a property may end a key: short, always present, not a measurement; today's keys may, where they are
    taken as they are."""
    if name in KEYS:
        return True
    edm = population.types.get(name, EdmType.STRING)
    if edm in (EdmType.DOUBLE, EdmType.BINARY, EdmType.BOOLEAN) or name == SERVER_TIME:
        return False
    column = population.frame.get_column(name)[: population.rows]
    if column.null_count() and not missing:
        return False
    if edm is EdmType.STRING:
        length = column.str.len_chars().mean()
        return bool(length is not None and float(length) <= 40)  # type: ignore[arg-type]
    return True


def _tail_rank(name: str, population: Population) -> tuple[int, int, str]:
    """Identifiers before other values before amounts before times; more distinct first."""
    edm = population.types.get(name, EdmType.STRING)
    # A time last: it identifies only until two things happen at once.
    if named_like_identifier(name) or edm is EdmType.GUID:
        kind = 0
    elif edm is EdmType.DATETIME:
        kind = 3
    else:
        kind = 2 if named_like_measure(name) else 1
    return kind, -population.distinct([("p", name)]), name
