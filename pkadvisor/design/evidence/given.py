"""What a ground is, and the evidence that it is measured on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from pkadvisor.design.choice.sections import Judged
from pkadvisor.design.evidence.held_requests import FOUND, Held, held_requests
from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.load.estimates import LOAD_DECIDES, Bench, ClassCost, CostEstimate
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.demand import Demand
from pkadvisor.design.rows.density import density_of
from pkadvisor.design.rows.fronts import logged_inserts
from pkadvisor.design.rows.strange_values import far_values, other_case, shown_value
from pkadvisor.documents.part import RATES_APART
from pkadvisor.lazy import np
from pkadvisor.numbers import percent, ratio
from pkadvisor.observe.workload import DrawBy, Operation, QueryClass
from pkadvisor.values import dataclass

TOTAL_APART = 1.5
"""Times the rows at hand from which on ``entities_total`` makes them a sample of unknown kind."""


@dataclass(frozen=True, slots=True)
class Ground:
    """One thing that a verdict rests on.

    ``sentence`` says what was measured; ``next`` what to give, empty where the ground ``carries``. ``rests`` is the
    share of the load that depends on it. ``measured`` and ``expected`` are the two numbers that are compared with each
    other, in ``unit``; None where there is only one, or none.
    """

    name: str
    title: str
    sentence: str
    carries: bool = True
    next: str = ""
    rests: float = 0.0
    measured: float | None = None
    expected: float | None = None
    unit: str = ""

    def __post_init__(self) -> None:
        if self.carries == bool(self.next):
            raise ValueError(f"{self.name}: what to give next goes with a ground that is not enough")
        if not 0 <= self.rests <= 1:
            raise ValueError(f"{self.name}: {self.rests} is not a share")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the grounds are measured on: a section's bench, the scheme that is first, and what was declared."""

    bench: Bench
    best: CostEstimate
    total: int | None
    """``entities_total``, as the command line or the design file says."""
    rows: int
    """Rows of the data set."""
    sampling: str
    """As declared, else as deduced from the rows; ``complete`` where nobody says."""
    log: bool
    logged_s: float | None = None
    """Seconds from the first logged request to the last; None without a log, or of one without times."""
    log_ends_us: float | None = None
    """The time of the last logged request, in µs since 1970; None without a log, or of one without times."""
    kept: bool = False
    """Whether the best scheme is the one in place, and stays."""
    fraction: float = 1.0
    """Share of the requests that the log holds."""
    keys_of_log: bool = False
    """Whether there is no data, and the rows are the keys that the log names."""
    size_stated: bool = False
    """Whether somebody says how large the table is: its total, or how the rows were sampled."""

    @property
    def unsaid(self) -> bool:
        """Whether the data is a sample of which nobody says how it was taken."""
        return self.sampling == "complete" and self.total is not None and self.total > TOTAL_APART * self.rows

    def rests_on(self, wanted: Callable[[Demand], bool]) -> float:
        """The share of the load that some classes make: of the requests or of the entities counted, the larger one."""
        costs = {c.name: c for c in self.best.classes if not c.analytic}
        names = {d.query.name for d in self.bench.demands if d.query.name in costs and wanted(d)}
        shares = [0.0]
        for load in (_requests, _entities):
            every = math.fsum(load(c) for c in costs.values())
            if every > 0:
                shares.append(math.fsum(load(c) for name, c in costs.items() if name in names) / every)
        return min(1.0, max(shares))

    def rows_scanned(self, query: QueryClass) -> float:
        """Rows that a query over unknown properties reads under the best keys, on average: those of the partition that
        it names, where it names one and no row of it, else one."""
        equal = {*conditions(query.filter).equal} if query.filter is not None else set[str]()
        main, population = self.best.scheme.main, self.bench.population
        partition, row = ({name for part in parts for name in part.properties} for parts in (main.partition, main.row))
        if not partition or not partition <= equal or (row and row <= equal):
            return 1.0
        sizes = population.counts(atoms_of(main.partition))
        return float((sizes**2).sum() / max(1, sizes.sum())) * population.total / max(1, population.rows)

    def largest(self, wanted: Callable[[Demand], bool]) -> str:
        """The name of the class that makes most of the load of some classes."""
        costs = {c.name: c for c in self.best.classes if not c.analytic}
        named = [costs[d.query.name] for d in self.bench.demands if d.query.name in costs and wanted(d)]
        return max(named, key=lambda c: (_entities(c), _requests(c), c.name)).name if named else ""


def _requests(cost: ClassCost) -> float:
    return cost.rate_per_s * max(cost.requests, 1.0)


def _entities(cost: ClassCost) -> float:
    return cost.entities_per_s


# -- The verdict on a section: what its ranking says, if what that rests on carries it.


NOT_ENOUGH, HEAT_ONLY = "not_enough", "heat_only"


def verdict_of(judged: Judged, grounds: Sequence[Ground]) -> str:
    """The verdict in a word.

    keep or change (the keys in place), choose (none are in place), unsatisfied (no scheme holds), not_enough (a ground
    does not carry, or keys could not be judged), heat_only (a log without data, or the profile of one).
    """
    ranked = ranking_says(judged)
    if ranked is None:
        section = judged.section
        log = section.traffic is not None or section.workload is not None
        return HEAT_ONLY if log and section.data is None else NOT_ENOUGH
    return ranked if all(ground.carries for ground in grounds) else NOT_ENOUGH


def ranking_says(judged: Judged) -> str | None:
    """keep, change, choose or unsatisfied, if all that was given is right; None where keys could not be judged."""
    advice = judged.advice
    if advice is None:
        return None
    if any(not v.assumed for v in advice.recommended.violations):
        return "unsatisfied"
    if advice.current is None:
        return "choose"
    return "keep" if advice.keep else "change"


def weakest(grounds: Sequence[Ground]) -> Ground | None:
    """Of the grounds that do not carry, the one that most of the load rests on; the first of several alike."""
    return max((g for g in grounds if not g.carries), key=lambda g: g.rests, default=None)


# -- The ground of logged values: whether what a log asks for is in the data, and what tells that it was misread.


BEGUN = 0.1
"""Share of the log's inserts within which the first into a partition comes that was there before the log: assumed."""
INSERTS_TELLING = 10
"""Inserts of a log from which on they tell when partitions begin. Assumed."""


def parameters(given: Evidence) -> Ground:
    """Whether what requests ask for is in the data."""
    name, title = "parameters", "logged values that are in the data"
    if (unknown := _hidden_ranges(given) or _without_values(given) or _begun_before_log(given)) is not None:
        return unknown
    logged = [d for d in given.bench.demands if _looks_up(d)]
    if not logged:
        why = "the log asks for no value" if given.log else "there is no log; parameters are drawn from the data"
        return Ground(name, title, why)
    if given.bench.workload.hidden and not given.bench.population.hashed:
        why = "the log is of a profile, which hides its values, and the data show theirs: they cannot be compared"
        return Ground(name, title, why)
    bench = given.bench
    weights = {d.query.name: d.query.rate.mean_per_s or 1.0 for d in logged}
    held = {d.query.name: held_requests(d, bench.demands, bench.workload, bench.population) for d in logged}
    share = math.fsum(held[n].share * w for n, w in weights.items()) / math.fsum(weights.values())

    if not given.keys_of_log and (misread := _misread(given)) is not None:
        return misread

    def missed(demand: Demand) -> bool:
        return demand.query.name in held and held[demand.query.name].contradicts

    rests = given.rests_on(missed)
    if rests < LOAD_DECIDES:
        sentence, of_table = f"{percent(share)} of the values that the log asks for are in the data", 1.0
        if not bench.population.complete and not given.keys_of_log:
            of_table = bench.population.drawn_from / bench.population.total
            sentence = f"{percent(share)} of the requests of the log ask for values that are in the data"
            sentence += f", which has {percent(of_table)} of the table" if of_table < 1 else ""
        return Ground(name, title, sentence, True, "", given.rests_on(_looks_up), share, of_table, "share")
    worst = given.largest(missed)
    return _missing(worst, held[worst], given, rests)


def _missing(worst: str, held: Held, given: Evidence, rests: float) -> Ground:
    """The ground that does not carry as the data lacks what a class asks for."""
    name, title = "parameters", "logged values that are in the data"
    if given.keys_of_log:
        sentence = (
            f"there is no data, and only {percent(held.share)} of the values that '{worst}' asks for are in the "
            f"{given.rows:,} whole keys that the log names: the table has entities of which nothing is known"
        )
        return Ground(name, title, sentence, False, "an export of the table", rests, held.share, held.due, "share")
    if held.due_to:
        sentence = (
            f"only {percent(held.share)} of the requests of '{worst}' ask for values that are in the data; "
            f"{held.due_to}"
        )
        what = "data and a log of the same table and the same time"
        return Ground(name, title, sentence, False, what, rests, held.share, held.due, "share")
    sentence = f"only {percent(held.share)} of the values that '{worst}' asks for are in the data; "
    if (letters := _other_letters(worst, given)) is not None:
        sentence += letters
        what = "data and a log whose values have the same letters: keys tell upper from lower case"
    else:
        small = "" if given.size_stated else ", the data is a small sample"
        sentence += (
            f"either the data and the log are of different tables or times{small}, or the keys of the log are read "
            "wrongly"
        )
        what = "data and a log of the same table and the same time (which is current?)"
        what += "" if given.size_stated else ", `sampling` and `entities_total` of a sample"
        what += ", or key templates that fit the log"
    return Ground(name, title, sentence, False, what, rests, held.share, held.due, "share")


def _other_letters(name: str, given: Evidence) -> str | None:
    """That the data has what a class asks for in other letters; None where it has not."""
    population, demand = given.bench.population, next(d for d in given.bench.demands if d.query.name == name)
    for one in sorted(demand.conditions.equal):
        if population.has(one) and one not in population.hashed:
            column = population.frame.get_column(one)
            pair = other_case(column.gather(demand.instances), column[: population.rows])
            if pair is not None:
                return f"it has those of {one} in other letters, '{pair[1]}' for '{pair[0]}'"
    return None


def _hidden_ranges(given: Evidence) -> Ground | None:
    """The ground that does not carry because a profile hides what queries compare by range: tokens have no order, so
    that nobody can count the rows between two of them; else None."""
    hashed = given.bench.population.hashed

    def hidden(demand: Demand) -> bool:
        return bool(hashed & demand.conditions.ranges.keys())

    rests = given.rests_on(hidden)
    if rests < LOAD_DECIDES:
        return None
    worst = given.largest(hidden)
    demand = next(d for d in given.bench.demands if d.query.name == worst)
    (name, *_) = sorted(hashed & demand.conditions.ranges.keys())
    sentence = (
        f"the profile hides the values of {name}, which '{worst}' compares by range: nobody can count the rows of it"
    )
    return Ground("parameters", "logged values that are in the data", sentence, False, _DATA_ITSELF, rests)


def _without_values(given: Evidence) -> Ground | None:
    """The ground that does not carry because queries need a property that no entity of the data has; else None."""
    population = given.bench.population

    def missing(demand: Demand) -> list[str]:
        columns = ((name, population.frame[name]) for name in demand.conditions.properties if population.has(name))
        return [name for name, column in columns if column.null_count() == column.len() > 0]

    rests = given.rests_on(lambda demand: bool(missing(demand)))
    if rests < LOAD_DECIDES:
        return None
    worst = given.largest(lambda demand: bool(missing(demand)))
    name = missing(next(d for d in given.bench.demands if d.query.name == worst))[0]
    sentence = f"no entity of the data has a value of {name}, which '{worst}' asks for: nobody can say what it returns"
    what = f"data with {name}; a hash of each value is enough for equality"
    return Ground("parameters", "logged values that are in the data", sentence, False, what, rests)


def _begun_before_log(given: Evidence) -> Ground | None:
    """The ground that does not carry because what is scanned lies in partitions that the log fills, that were there
    before the log begins, and of which the data has nothing, while those at hand were filled at quite another rate;
    else None.

    A log tells the size of a partition that begins in it, such as that of a new order. Where the first insert into most
    partitions is one of the first of the log, they are older, such as the day on which the log begins.
    """
    inserts = logged_inserts(given.bench.population)
    density = density_of(given.bench.population, given.bench.workload)
    if inserts is None or inserts.came is None or len(inserts.instances) < INSERTS_TELLING:
        return None
    if density is None or density.apart < RATES_APART:
        return None  # such a partition will be as large as those at hand
    order = np.argsort(inserts.came, kind="stable")
    rows, places = inserts.instances[order], np.arange(len(order)) / len(order)
    plans = {c.name: c.plan for c in given.best.classes}

    def unknown(demand: Demand) -> bool:
        plan = plans.get(demand.query.name)
        if plan is None or plan.point or not plan.equal_atoms or not _looks_up(demand):
            return False
        ids, groups = given.bench.population.groups(plan.equal_atoms)
        first = np.full(groups, np.inf)
        np.minimum.at(first, ids[rows], places)
        absent = given.bench.population.matching(plan.equal_atoms, demand.instances) == 0
        begun = first[ids[demand.instances]] <= BEGUN
        return demand.mean((absent & begun).astype(float)) > 1 - FOUND

    rests = given.rests_on(unknown)
    if rests < LOAD_DECIDES:
        return None
    worst = given.largest(unknown)
    pace = f"{ratio(density.apart)} {'as fast as' if density.times > 1 else 'slower than'} those of the data"
    sentence = (
        f"the data has no entity of the partitions that '{worst}' reads. The log fills them {pace}, so how many they "
        "hold, and how many it reads, is not known"
    )
    what = "an export of the time of the log, or data with the entities of such a partition"
    return Ground("parameters", "logged values that are in the data", sentence, False, what, rests)


_DATA_ITSELF = "the data in place of the profile (of numbers: a profile that was made with this --design)"


def _misread(given: Evidence) -> Ground | None:
    """The ground that does not carry because keys of the log say numbers or times that no entity is near; else None.

    A number or time that lies far outside of the data is the sign of keys that other templates wrote. What those
    templates say of all other requests of the log is then no evidence either, however cheap the requests are whose
    keys show it: a bound that is misread brings a whole partition, or nothing.
    """
    far = {d.query.name: f for d in given.bench.demands if (f := _far_value(d, given)) is not None}
    logged = [d for d in given.bench.demands if d.query.draw.by is DrawBy.LOG and not d.query.analytic]
    requests = math.fsum(d.query.rate.mean_per_s for d in logged)
    misread = [d for d in logged if d.query.name in far and far[d.query.name].share > FOUND]
    share = math.fsum(d.query.rate.mean_per_s for d in misread) / requests if requests > 0 else 0.0
    if not misread or share < LOAD_DECIDES:
        return None
    worst = max(misread, key=lambda d: (d.query.rate.mean_per_s, d.query.name)).query.name
    value = far[worst]
    sentence = (
        f"{percent(value.share)} of the values of {value.property} in the keys that '{worst}' names lie far outside of "
        f"the data, such as {value.example}: by the log, other templates wrote its keys; by the data, the log is of "
        "another table or time"
    )
    what = (
        "the keys under which the log was written (partition_key and row_key of the design; `advisor score` judges "
        "others), or data of the same table and time"
    )
    rests = given.rests_on(lambda demand: demand.query.draw.by is DrawBy.LOG)
    return Ground("parameters", "logged values that are in the data", sentence, False, what, rests, 0.0, 1.0, "share")


@dataclass(frozen=True, slots=True)
class _FarValue:
    """A property whose values in a class's requests lie outside of the data by more than its width; the share of the
    requests, and one of the values."""

    property: str
    share: float
    example: str


def _far_value(demand: Demand, given: Evidence) -> _FarValue | None:
    """The number or time that most requests of a class name far outside of the data; None where there is none, and of
    inserts: new entities lie beyond the others."""
    query, population = demand.query, given.bench.population
    frame = given.bench.workload.instances.get(query.name)
    adds = query.operation in (Operation.INSERT, Operation.UPSERT)
    if frame is None or not frame.height or adds or query.draw.by is not DrawBy.LOG:
        return None
    values = []
    for name in sorted(demand.conditions.equal.keys() - demand.constants.keys()):
        if name in frame.columns and name in population.data.columns and name not in population.hashed:
            far = far_values(frame.get_column(name), population.data.get_column(name))
            if far is not None and far.len():
                share = far.len() / frame.height - given.bench.workload.absent.get(query.name, 0.0)
                values.append(_FarValue(name, share, shown_value(far[0])))
    return max(values, key=lambda v: (v.share, v.property), default=None)


def _looks_up(demand: Demand) -> bool:
    """Whether a logged class asks for values; what is inserted or deleted need not be there."""
    query = demand.query
    asks = query.operation in (Operation.QUERY, Operation.UPDATE)
    fixed = demand.conditions.equal.keys() - demand.constants.keys()
    return bool(asks and not query.analytic and query.draw.by is DrawBy.LOG and fixed and len(demand.instances))
