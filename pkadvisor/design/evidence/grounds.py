"""What a verdict rests on: six grounds, each measured from the evidence, each with what to give where it does not hold.

A ground carries where what it says of the table agrees with what was read, or where too little of the load rests on it
to matter. A figure that is contradicted is named with both numbers and with what follows from each. A registry: a new
ground is a function in ``GROUNDS``; the verdict (``given.py``) and every output follow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pkadvisor.design.choice.sections import Judged, Section
from pkadvisor.design.evidence.given import TOTAL_APART, Evidence, Ground, parameters
from pkadvisor.design.evidence.guesses import assumed_share, assumptions
from pkadvisor.design.evidence.held_requests import FOUND
from pkadvisor.design.load.estimates import LOAD_DECIDES, Bench, CostEstimate
from pkadvisor.design.load.windows import APART, in_time, width_s
from pkadvisor.design.rows.demand import Demand
from pkadvisor.design.rows.density import Density, density_of, span_of
from pkadvisor.design.rows.logged.twins import SAME_RATE
from pkadvisor.documents.part import RATES_APART
from pkadvisor.lazy import Floats, np, special
from pkadvisor.numbers import amount, percent, ratio
from pkadvisor.numbers import rate as rate_text
from pkadvisor.observe.workload import Basis, DrawBy, Operation, QueryClass, Rate
from pkadvisor.table.edm import EdmType
from pkadvisor.table.odata import properties
from pkadvisor.values import dataclass

COVERED = 0.5
"""Share of the declared rate that the log must hold, and of the logged rate that must be declared."""
SHORT_S = 60.0
"""Seconds from which on a log is long enough for few requests to be rare ones."""
REQUESTS_MIN = 10.0
"""Requests of a shorter log that tell a rate within a factor of two. Assumed."""
DAY = 86_400.0
NO_GROWTH = 10_000.0
"""Times that inserts and data of a stated size lie apart, from which on no growth of the table explains it. Assumed."""


# -- density against rate ----------------------------------------------------------------------------------------------


def density(given: Evidence) -> Ground:
    """Whether entities lie in the data as densely as the inserts say, where windows of time are counted on it."""
    name, title = "density", "rate of inserts in the data and in the workload"
    density = density_of(given.bench.population, given.bench.workload)
    if density is None:
        return Ground(name, title, "not known: the data has no time of arrival, or no rate of inserts is known")
    if given.unsaid or given.keys_of_log:
        why = "nothing says how the data was sampled" if given.unsaid else "the keys are those that the log inserts"
        return Ground(name, title, f"not known: {why}")
    rests = given.rests_on(lambda d: in_time(d, density) and not _beyond_log(d, density, given))
    if density.declared and given.size_stated and density.times >= NO_GROWTH:
        rests = max(rests, given.rests_on(lambda d: d.query.operation in (Operation.INSERT, Operation.UPSERT)))
    data, inserts = rate_text(density.per_s), rate_text(density.inserts_per_s)
    times = density.times
    if 1 / APART <= times <= APART:
        sentence = f"{data} arrive by {density.arrival} in the data, and {inserts} are inserted"
        return Ground(name, title, sentence, True, "", rests, density.per_s, density.inserts_per_s, "entities/s")
    apart = density.apart
    sentence = f"{data} arrive by {density.arrival} in the data, and {inserts} are inserted, {ratio(apart)} apart"
    if rests < LOAD_DECIDES:
        if given.rests_on(lambda d: in_time(d, density)) >= LOAD_DECIDES and given.logged_s is not None:
            sentence += (
                f": the log of {_length(given.logged_s)} is shorter than the windows of time, the data fills them"
            )
        else:
            sentence += f": {_no_load(rests)} is counted in windows of time"
        return Ground(name, title, sentence, True, "", rests, density.per_s, density.inserts_per_s, "entities/s")
    more = "more" if times > 1 else "fewer"
    sentence += (
        f": by the rate, the table or a window of time holds {amount(apart)} times {more} entities than counted; by "
        "the data, the rate is wrong"
    )
    what = f"data of a time with the declared inserts, or the rate of inserts that the data has ({data})"
    return Ground(name, title, sentence, False, what, rests, density.per_s, density.inserts_per_s, "entities/s")


def _beyond_log(demand: Demand, density: Density, given: Evidence) -> bool:
    """Whether a class is counted in windows longer than the log that shows the inserts.

    What came in the time of a log is no rate of a longer time: such windows hold what the data has in them.
    """
    if given.logged_s is None or density.declared:
        return False
    query = demand.query
    width = query.draw.window_s if query.draw.by is DrawBy.NEWEST else width_s(density.arrival, demand)
    return width > given.logged_s


def _no_load(rests: float) -> str:
    return "nothing" if rests <= 0 else f"only {percent(rests)} of the load"


# -- times within the data ---------------------------------------------------------------------------------------------


def times(given: Evidence) -> Ground:
    """Whether windows of time, and times that the log asks for, lie within the times of the data."""
    name, title = "times", "times within the data"
    asked = {d.query.name: w for d in given.bench.demands if (w := _window(d, given)) is not None}
    if not asked:
        return Ground(name, title, "no query is bound to a window of time")

    def beyond(demand: Demand) -> bool:
        return demand.query.name in asked and asked[demand.query.name].beyond

    rests = given.rests_on(beyond)
    if rests < LOAD_DECIDES:
        widest = max(asked.values(), key=lambda w: (w.wanted_s / w.span_s, w.time))
        sentence = f"the times that are asked for lie in the {_length(widest.span_s)} of {widest.time}"
        if widest.wanted_s > 0:
            sentence = f"{_length(widest.wanted_s)} at most, of {_length(widest.span_s)} of {widest.time}"
        if widest.beyond:
            sentence = f"{_no_load(rests)} asks for more than the {_length(widest.span_s)} of {widest.time} in the data"
        share = given.rests_on(lambda d: d.query.name in asked)
        return Ground(name, title, sentence, True, "", share, widest.span_s, widest.wanted_s, "s")
    worst = given.largest(beyond)
    one = asked[worst]
    if one.outside > FOUND:
        sentence = (
            f"{percent(one.outside)} of the times that '{worst}' asks for lie outside of the {_length(one.span_s)} of "
            f"{one.time} in the data: with this log it finds nothing there"
        )
        what = "data and a log of the same time"
        return Ground(name, title, sentence, False, what, rests, 1 - one.outside, 1.0, "share")
    sentence = (
        f"'{worst}' asks for {_length(one.wanted_s)} of {one.time}, and the data holds {_length(one.span_s)}: a table "
        f"that holds all of the window has up to {ratio(one.wanted_s / one.span_s)} the rows that it reads here"
    )
    what = f"data over {_length(one.wanted_s)} or more"
    return Ground(name, title, sentence, False, what, rests, one.span_s, one.wanted_s, "s")


@dataclass(frozen=True, slots=True)
class _Window:
    """The longest stretch of a time property that a class asks for, and that of the data; ``outside``: the share of
    logged requests that ask for other times."""

    time: str
    wanted_s: float
    span_s: float
    outside: float = 0.0

    @property
    def beyond(self) -> bool:
        return self.wanted_s > APART * self.span_s or self.outside > FOUND


def _window(demand: Demand, given: Evidence) -> _Window | None:
    """What a class asks of a time, the worst of several; None without a bound of time, or without times at hand."""
    population, query = given.bench.population, demand.query
    if query.analytic:
        return None
    out = []
    # Of the newest minute all of a shorter slice is drawn: that is hotter than the table, never cooler.
    drawn = query.draw.by is DrawBy.NEWEST and population.sampling != "slice"
    if drawn and population.arrival and (span := span_of(population, population.arrival)):
        out.append(_Window(population.arrival, query.draw.window_s, _seconds(span)))
    for name, bounds in demand.bounds.items():
        span = span_of(population, name)
        if population.types.get(name) is EdmType.DATETIME and span is not None:
            out.append(_asked_of(name, bounds, span, demand, given.log_ends_us))
    return max(out, key=lambda w: (w.outside > FOUND, w.wanted_s / w.span_s, w.time), default=None)


def _asked_of(
    name: str, bounds: tuple[Floats, Floats], span: tuple[float, float], demand: Demand, log_ends_us: float | None
) -> _Window:
    """A period that still runs when the log ends, such as a day, is asked for up to then: no entity is later."""
    low, high = bounds
    first, last = span
    if demand.query.draw.by is not DrawBy.LOG:
        return _Window(name, width_s(name, demand), _seconds(span))
    margin = last - first
    outside = demand.mean(((low > last + margin) | (high < first - margin)).astype(float))
    now = max(last, log_ends_us or math.inf)
    begun = np.where((low < now) & np.isfinite(high), np.minimum(high, now), high)
    until_now = replace(demand, bounds={**demand.bounds, name: (low, begun)})
    return _Window(name, width_s(name, until_now), _seconds(span), outside)


def _seconds(span: tuple[float, float]) -> float:
    return (span[1] - span[0]) / 1e6


def _length(seconds: float) -> str:
    """A length of time in its largest unit."""
    for unit, size in (("days", DAY), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{amount(seconds / size)} {unit}"
    return f"{amount(seconds)} s"


# -- the log against the declared rates --------------------------------------------------------------------------------


def coverage(given: Evidence) -> Ground:
    """How much of the declared rate the log covers, and how much of the logged rate is declared."""
    name, title = "coverage", "share of the declared rate that the log covers"
    workload = given.bench.workload
    known = {n: r for n, r in workload.logged.items() if r.basis is not Basis.UNKNOWN}
    if (short := (_too_few(given) if given.log else None) or _unpriced(given)) is not None:
        return short
    if not given.log:
        return Ground(name, title, "there is no log: rates are as declared")
    if not known:
        return Ground(name, title, "no rate is declared beside the log: rates are the logged ones")
    shapes: dict[object, list[QueryClass]] = {}
    for query in workload.classes:
        if query.name in known and not query.analytic:
            named = frozenset(properties(query.filter)) if query.filter is not None else frozenset[str]()
            shapes.setdefault((query.operation, named), []).append(query)
    both = {tuple(c.name for c in alike): _declared_and_logged(alike, known) for alike in shapes.values()}
    pairs = {names: pair for names, pair in both.items() if min(pair) > 0}
    if not pairs:
        return Ground(name, title, "what is declared beside the log is not in it: its rates are as declared")
    least, most = (math.fsum(pick(pair) for pair in pairs.values()) for pick in (min, max))
    share = least / most if most > 0 else 1.0
    if share >= COVERED:
        sentence = f"declared and logged rates agree for {percent(share)} of the requests"
        return Ground(name, title, sentence, True, "", 0.0, share, 1.0, "share")
    names, (declared, logged) = max(pairs.items(), key=lambda p: (abs(p[1][0] - p[1][1]), p[0]))
    sentence = (
        f"'{names[0]}' is declared with {rate_text(declared)}, and the log shows {rate_text(logged)}: by the log, the "
        f"load is {ratio(logged / declared)} of what is weighed; by the design, the log is of another time or holds "
        "only some of the requests"
    )
    what = "a log of usual load, the share of the requests that it holds (--log-fraction), or the rates that it shows"
    return Ground(name, title, sentence, False, what, 1 - share, logged, declared, "requests/s")


def _unpriced(given: Evidence) -> Ground | None:
    """The ground that does not carry because much of what is asked is of properties that no file holds; else None."""
    unpriced, workload = given.bench.workload.unpriced, given.bench.workload
    every = math.fsum(c.rate.mean_per_s for c in (*workload.classes, *unpriced))
    of_requests = math.fsum(c.rate.mean_per_s for c in unpriced) / every if every > 0 else 0.0
    read = math.fsum(c.rate.mean_per_s * given.rows_scanned(c) for c in unpriced)
    of_rows = read / max(read + given.best.entities_per_s, 1e-300)
    share = max(of_requests, of_rows)
    if share < LOAD_DECIDES:
        return None
    worst = max(unpriced, key=lambda c: (c.rate.mean_per_s * given.rows_scanned(c), c.name))
    rate = rate_text(worst.rate.mean_per_s)
    like = f"{percent(of_requests)} of the requests are like that"
    if of_rows > of_requests:
        like = f"scans of the partitions that it names make {percent(of_rows)} of all rows read"
    sentence = f"'{worst.name}' ({rate}) asks for a property that no file holds: what it finds is not known, and {like}"
    what = "an export of the table: it tells how many entities a partition holds"
    if worst.draw.by is not DrawBy.LOG:
        known = given.bench.population.types
        names = [name for name in properties(worst.filter) if name not in known] if worst.filter is not None else []
        what = f"rows with {', '.join(names) or 'it'}: how many entities has each value?"
    return Ground(
        "coverage", "share of the requests that are priced", sentence, False, what, share, 1 - share, 1.0, "share"
    )


def _too_few(given: Evidence) -> Ground | None:
    """The ground that does not carry because the rates that decide are those of a few requests in a few seconds; else
    None. A few requests in an hour are rare, which is evidence of its own."""
    if given.logged_s is None or given.logged_s >= SHORT_S:
        return None
    counts: dict[str, float] = {}
    for query in given.bench.workload.classes:
        logged = given.bench.workload.logged.get(query.name, query.rate)
        measured = logged.basis in (Basis.COUNTED, Basis.ESTIMATED)
        if measured and math.isclose(logged.mean_per_s, query.rate.mean_per_s, rel_tol=SAME_RATE):
            counts[query.name] = logged.mean_per_s * max(1.0, given.logged_s) * given.fraction

    def few(demand: Demand) -> bool:
        return 0 < counts.get(demand.query.name, REQUESTS_MIN) < REQUESTS_MIN - 0.5

    rests, worst = given.rests_on(few), given.largest(few)
    if rests < LOAD_DECIDES:
        return None
    # 95 % of the rates under which so many requests come.
    n = max(1, round(counts[worst]))
    least, most = (float(special.gammaincinv(m, p)) / counts[worst] for p, m in ((0.025, n), (0.975, n + 1)))
    if given.kept and given.best.break_factor >= most:
        return None
    rate = next(c.rate.mean_per_s for c in given.bench.workload.classes if c.name == worst)
    sentence = (
        f"the log lasts {_length(given.logged_s)} and has {n} requests of '{worst}', on which {percent(rests)} of the "
        f"load rests: the rate may be anything from {rate_text(rate * least)} to {rate_text(rate * most)}"
    )
    what = f"a log of {_length(SHORT_S)} or more"
    return Ground("coverage", "requests in the log", sentence, False, what, rests, float(n), REQUESTS_MIN, "requests")


def _declared_and_logged(alike: Sequence[QueryClass], known: Mapping[str, Rate]) -> tuple[float, float]:
    """(declared, logged) requests per second of the declared classes of one shape, which a log cannot tell apart; a log
    of a busy time shows up to the peak."""
    declared = math.fsum(c.rate.mean_per_s for c in alike)
    logged = math.fsum(known[c.name].mean_per_s for c in alike)
    peak = math.fsum(c.rate.peak_per_s for c in alike)
    return (declared, declared if declared <= logged <= peak else logged)


# -- how the data was taken --------------------------------------------------------------------------------------------


def sampling(given: Evidence) -> Ground:
    """Whether it is known what part of the table the data is."""
    name, title = "sampling", "how the data was sampled"
    total, rows = given.total, given.rows
    if total is None:
        return Ground(name, title, f"no total is declared: the {rows:,} rows are taken for the whole table")

    def held(sentence: str, what: str = "", rests: float = 0.0) -> Ground:
        return Ground(name, title, sentence, not what, what, rests, float(rows), float(total), "entities")

    if rows > TOTAL_APART * total:
        sentence = (
            f"the data has {rows:,} rows, and entities_total is {total:,}: by the rows, it is wrong; by the total, the "
            f"data holds each entity {ratio(rows / total)} or other entities as well"
        )
        what = "the number of entities of the table (entities_total), or the data of this table alone"
        return held(sentence, what, 1.0)
    if not given.unsaid and total <= TOTAL_APART * rows:
        return held(f"{rows:,} of {total:,} entities were read")
    if not given.unsaid:
        words = {"slice": "a slice"}.get(given.sampling, given.sampling.replace("-", " "))
        sentence = f"{rows:,} of {total:,} entities, {words}"
        return held(sentence, "", 1 - rows / total)
    times = ratio(total / rows)
    sentence = (
        f"the data has {rows:,} rows, entities_total is {total:,}, and nobody says how they were taken: if at random, "
        f"a key has {times} the rows counted; if all rows of some keys, there are {times} the keys"
    )
    what = "`sampling` (random-rows, random-keys with sampled_by, or slice)"
    return held(sentence, what, 1 - rows / total)


# -- what is taken out of how sure an advice is ------------------------------------------------------------------------


def with_guesses(judged: Judged) -> Judged:
    """A section with what nobody said of its workload, or what its data contradicts, taken out of how sure its advice
    is."""
    advice, bench = judged.advice, judged.bench
    if advice is None or bench is None or advice.confidence is None:
        return judged
    confidence = advice.confidence.with_assumed(assumed_share(bench, advice.recommended))
    density = density_of(bench.population, bench.workload)
    if density is not None and density.declared and density.apart >= RATES_APART and size_stated(judged.section):
        confidence = confidence.with_doubt(f"inserts and data differ {ratio(density.apart)}")
    if any(c.operation is Operation.QUERY for c in bench.workload.unpriced):
        confidence = confidence.with_doubt("a query is not priced")
    return replace(judged, advice=replace(advice, confidence=confidence))


def size_stated(section: Section) -> bool:
    """Whether the design says how large the table is: its total, or how the rows were sampled."""
    stated = section.declared is not None and section.declared.sampling_stated
    return stated or section.declared_total is not None


# -- all of them -------------------------------------------------------------------------------------------------------

GROUNDS: tuple[Callable[[Evidence], Ground], ...] = (parameters, density, times, coverage, sampling, assumptions)
"""Every ground of a verdict, in the order in which they are told."""


def grounds_of(judged: Judged) -> tuple[Ground, ...]:
    """The grounds of a section's verdict; none where keys were not judged."""
    if judged.bench is None or judged.advice is None:
        return ()
    return grounds_under(judged.advice.recommended, judged.bench, judged.section, kept=judged.advice.keep)


def grounds_under(best: CostEstimate, bench: Bench, section: Section, *, kept: bool = False) -> tuple[Ground, ...]:
    """The grounds of what is said of one scheme; ``kept``: of the one in place, which stays."""
    data, table, population = section.data, section.declared, bench.population
    stated = table is not None and table.sampling_stated
    deduced = population.sampling if population.sampling_basis == "deduced" else "complete"
    given = Evidence(
        bench=bench,
        best=best,
        total=section.declared_total,
        rows=data.rows if data is not None else bench.population.drawn_from,
        sampling=str(table.sampling) if table is not None and stated else deduced,
        log=section.traffic is not None or bool(bench.workload.instances),
        logged_s=section.traffic.lasts_s if section.traffic is not None else None,
        log_ends_us=section.traffic.ends_us if section.traffic is not None else None,
        kept=kept,
        fraction=section.traffic.fraction if section.traffic is not None else 1.0,
        keys_of_log=data is not None and data.keys_of_log,
        size_stated=size_stated(section),
    )
    return tuple(measure(given) for measure in GROUNDS)
