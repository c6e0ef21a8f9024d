"""Rows that a request with ``$top`` reads before it has found enough.

Where the key settles all of the filter, these are the first rows. Where the server filters on its way, they reach as
far as the last row wanted lies, in the order of the key: open orders lie among the newest, delivered ones do not. Where
that order is not known from the query, rows that match are taken to lie evenly among the others.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from pkadvisor.design.keys.scheme import Key
from pkadvisor.design.keys.transforms import Atom, Part, PeriodPart
from pkadvisor.design.plan.access_plan import AccessPlan
from pkadvisor.design.rows.asked.matching_rows import codes_between, mean_reached, ranked, rows_of_constants
from pkadvisor.design.rows.atoms import atom_properties
from pkadvisor.design.rows.demand import Demand, free_atoms, of_any_rank, picks, reached
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.values import period_index, period_of_moments
from pkadvisor.lazy import Bools, Floats, Ints, np
from pkadvisor.remembered import remembered
from pkadvisor.values import dataclass

PIECES_MOST = 400
"""Buckets and periods up to which the rows of each are counted."""
GAPS = 6.0
"""Mean gaps between matches at hand: that none lies so long before the first one is chance in e^-6 of all cases."""


def stop_early(
    scanned: Floats,
    own: Floats,
    returned: Floats,
    plan: AccessPlan,
    key: Key,
    demand: Demand,
    population: Population,
    fan_out: Floats,
) -> Floats:
    """Entities scanned where each request names ``$top``, per instance: its rows come in the wanted order, and the
    client drops none of them. ``scanned``, its ``own`` rows among them and ``returned`` are those without ``$top``.

    Of a request whose filter the key serves, the result is its own rows; those of other kinds come on top.
    """
    assert plan.top is not None
    most = np.full(len(scanned), float(plan.top)) * np.maximum(fan_out, 1)
    if not plan.unserved:
        if plan.several and not plan.back:
            most = np.minimum(most, _first_of_each(plan, demand, population, scanned))
        return np.asarray(np.minimum(own, most))
    density = np.where(scanned > 0, np.minimum(1.0, returned / np.maximum(scanned, 1e-9)), 1.0)
    evenly = most / np.maximum(density, 1e-9)
    (name,) = list(demand.bounds) if len(demand.bounds) == 1 else [""]
    if name in plan.unserved and ranked(name, demand.conditions.ranges[name], [], population):
        group = of_any_rank(demand, population)
        others = np.maximum(group - 1, 0.0) * (population.rows / population.total)  # at hand
        inside = np.clip(returned / np.maximum(group, 1e-9) * (others + 2) - 1, 0.0, others)
        evenly = scanned * mean_reached(most / np.maximum(group, 1.0), inside, others - inside)
    ordered = _told(plan, demand, population)
    most = _by_order(scanned, returned, plan, key, demand, population, most, evenly) if ordered else evenly
    return np.asarray(np.minimum(scanned, most))


def requests_apart(plan: AccessPlan, constants: Iterable[str]) -> list[Atom]:
    """What tells the requests of a plan apart that read rows of their own: buckets, periods, and the pieces of key that
    the constants of a choice make."""
    parts = (*plan.fans, *([plan.periods] if plan.periods is not None else []))
    named = set(constants)
    chosen = [
        atom
        for atom in plan.equal_atoms
        if {*plan.choices} & {*atom_properties(atom)} and named >= {*atom_properties(atom)}
    ]
    return [*(atom for part in parts if (atom := part.atom)), *chosen]


def _first_of_each(plan: AccessPlan, demand: Demand, population: Population, scanned: Floats) -> Floats:
    """Rows read where each of several requests stops at ``$top``: of each those that it has, or ``$top``.

    Beyond ``PIECES_MOST`` buckets and periods in the table they are taken to be full.
    """
    assert plan.top is not None
    pieces = requests_apart(plan, ())
    over = demand.bounded(plan.range_atom)
    memo = ("first of each", demand.asked, frozenset(plan.equal_atoms), tuple(pieces), over, plan.top)
    if memo not in population.memo:
        codes, size, low, high = demand.along(over, population)
        scale = population.total / max(1, population.rows) if not population.whole(plan.equal_atoms, over) else 1.0
        total = np.zeros(len(demand.instances))
        for by_constants, own in picks(demand, population, plan.equal_atoms):
            constants = demand.constants_and(by_constants)
            keep = rows_of_constants(population, plan.equal_atoms, constants)
            there = np.arange(population.rows) if keep is None else np.flatnonzero(keep)
            base, _ = population.groups(free_atoms(plan.equal_atoms, constants))
            piece, count = population.groups(requests_apart(plan, constants))
            if count > PIECES_MOST:
                return scanned
            # Many instances ask the same: what they ask is looked for once in each request.
            first = base[demand.instances] * (size + 1)
            begins, begin_of = np.unique(first + low, return_inverse=True)
            ends, end_of = np.unique(first + np.maximum(high, low), return_inverse=True)
            for number in range(count):
                mine = there[piece[there] == number]
                if len(mine):
                    placed = np.sort(base[mine] * (size + 1) + codes[mine])
                    begin = np.take(np.searchsorted(placed, begins), begin_of)
                    end = np.take(np.searchsorted(placed, ends), end_of)
                    total += own * np.minimum(np.maximum(end - begin, 0) * scale, float(plan.top))
        population.memo[memo] = total
    cached: Floats = population.memo[memo]
    return cached


def _told(plan: AccessPlan, demand: Demand, population: Population) -> bool:
    """Whether the query names the order of the rows, and the rows at hand tell which of them it wants."""
    wanted = demand.conditions
    plain = not (wanted.ranges or wanted.any_of or wanted.residual or wanted.multi)
    names = [*(by.property for by in demand.query.order_by[:1]), *wanted.equal, *wanted.folded]
    known = all(map(population.has, names))
    return bool(demand.query.order_by) and plain and known and not plan.back and plan.periods is None


def _by_order(
    scanned: Floats,
    returned: Floats,
    plan: AccessPlan,
    key: Key,
    demand: Demand,
    population: Population,
    most: Floats,
    evenly: Floats,
) -> Floats:
    """Rows down to the last one wanted. Between rows at hand that match, those that they stand for lie evenly; before
    the first one too, but for what is too long a way to it for chance.

    The end of what is reached stands behind the last row that matches, as the beginning stands before the first.
    """
    placed = _places(plan, key, demand, population)
    own, count = placed.of_match[demand.instances], placed.matches
    here, among = count[own], placed.reached[placed.of_reached[demand.instances]]
    known = (here > 0) & (among > 0) & (returned > 0)
    if population.random_rows:  # each row that matches is at hand by the same chance
        nth, known = most * (population.rows / population.total), known & (most <= returned)
    else:
        nth = most * here / np.where(known, returned, 1.0)  # of those at hand
        known &= nth <= here
    nth = np.minimum(nth, here + 1.0)
    whole = np.where(known, np.floor(nth), 0).astype(np.int64)
    start = placed.start[own]
    behind = np.concatenate([placed.place, [0]])  # nothing lies behind the last one
    first, last = behind[start], behind[start + np.maximum(here, 1) - 1]
    gap = (last - first) / np.maximum(here - 1, 1)
    nowhere = np.where(here > 1, np.maximum(0.0, first - GAPS * gap), 0.0)  # rows before the first that none can lie in
    before = np.where(whole > 0, behind[start + np.maximum(whole, 1) - 1], nowhere)
    after = np.where(whole < here, behind[np.minimum(start + whole, len(behind) - 1)], among + 1)
    place = before + (nth - whole) * (after - before)
    sampled = int(population.random_rows)  # the gap behind the last row at hand has rows as well
    out: Floats = np.where(known, place * (scanned + sampled) / np.maximum(among + sampled, 1), evenly)
    return out


class _Places(NamedTuple):
    """Where the rows lie that match: by row the group of rows that want the same (``of_match``) and that a request
    reaches (``of_reached``), how many of each are at hand, and the places of matches, group by group from ``start``."""

    of_match: Ints
    of_reached: Ints
    matches: Ints
    reached: Ints
    start: Ints
    place: Ints


def _places(plan: AccessPlan, key: Key, demand: Demand, population: Population) -> _Places:
    return _placed(plan.equal_atoms, (*key.partition, *key.row), demand, population)


@remembered(
    "places", of=lambda atoms, parts, demand, _: (demand.asked, frozenset(atoms), demand.query.order_by[0], parts)
)
def _placed(reaching: tuple[Atom, ...], parts: Sequence[Part], demand: Demand, population: Population) -> _Places:
    """The places in the wanted order; rows that are equal in it lie as their keys do, in whatever order they came."""
    by, rows = demand.query.order_by[0], population.rows
    codes = population.coded(by.property).codes[:rows]
    codes = -codes if by.descending else codes
    ties = population.key_order(parts)
    wanting = tuple(demand.conditions.equal_atoms)

    def sorted_groups(atoms: tuple[Atom, ...]) -> tuple[Ints, Ints, Ints, Ints]:
        """(group of each row, rows of each group, where each begins, the rows by group and order)."""
        keep = rows_of_constants(population, atoms, demand.constants)
        ids, size = population.groups(free_atoms(atoms, demand.constants))
        there = np.arange(rows) if keep is None else np.flatnonzero(keep)
        order = there[np.lexsort((*(t[there] for t in reversed(ties)), codes[there], ids[there]))]
        counts = np.bincount(ids[there], minlength=size)
        return ids, counts, counts.cumsum() - counts, order

    of_reached, reached, first, order = sorted_groups(reaching)
    place = np.zeros(rows, dtype=np.int64)
    place[order] = np.arange(len(order)) - first[of_reached[order]] + 1
    of_match, matches, start, order = sorted_groups(wanting)
    return _Places(of_match, of_reached, matches, reached, start, place[order])


# -- Going back period by period for the newest entities: how many periods that takes, counted on the rows at hand.


FAR = 12
"""Periods after which going back is told to be unbounded: assumed."""


@dataclass(frozen=True, slots=True)
class Line:
    """The rows at hand that some instances may ask for, by what each instance names (``groups``), the newest first.

    ``asked`` is the group of each instance; it may want the rows from place ``start`` to before ``end``, those between
    the bounds of its filter.
    """

    rows: Ints
    groups: Ints
    periods: Ints
    asked: Ints
    start: Ints
    end: Ints

    def since(self, period: Ints) -> Ints:
        """For each instance the place behind the rows of its group that lie in a period or a later one."""
        latest, earliest = (int(self.periods.max()), int(self.periods.min())) if len(self.periods) else (0, 0)
        span = latest - earliest + 3
        place = self.groups * span + latest - self.periods
        return np.searchsorted(place, self.asked * span + np.clip(latest - period, -1, span - 2), side="right")


@dataclass(frozen=True, slots=True)
class WalkBack:
    """Per instance: the periods asked and the newest of them, and the rows that are looked at, as (start, end).

    ``places`` in ``line`` are those of all rows that the requests reach. Of these are read the ``first`` ones, of the
    newest period, and the ``further`` ones, numbered among those that are ``brought``. ``count`` is the number read in
    the table, and ``far`` the share of instances that go beyond FAR.
    """

    line: Line
    periods: Floats
    newest: Ints
    places: tuple[Ints, Ints]
    first: tuple[Ints, Ints]
    further: tuple[Ints, Ints]
    brought: Bools
    """Of the rows of ``line``: whether a request for their period reads them, which brings ``$top`` at most."""
    count: Floats
    far: float

    @property
    def oldest(self) -> Ints:
        """The last period that each instance asks."""
        return self.newest - np.rint(self.periods).astype(np.int64) + 1


def walk_back(plan: AccessPlan, demand: Demand, population: Population) -> WalkBack:
    """Periods from the newest of the table back to the one that holds the last row wanted; through all of them where
    a key has too few rows.

    The rows at hand of a sample lie evenly among those of the table, of which the law of group sizes tells the number:
    the last row wanted lies between two of them, and the periods are fractions.
    """
    assert plan.periods is not None
    return _walk_back(plan, plan.periods, demand, population)


def _of_walk(plan: AccessPlan, part: PeriodPart, demand: Demand, _: Population) -> Hashable:
    asked = (demand.asked, frozenset(plan.equal_atoms), part.property, part.unit)
    return *asked, plan.top, bool(plan.unserved), _within_bounds(plan, part)


def _within_bounds(plan: AccessPlan, part: PeriodPart) -> bool:
    """Whether the RowKey takes the bounds on the time: of the first and the last period not all rows are read."""
    return plan.by_rows and plan.range_atom == ("p", part.property)


def _line(atoms: Iterable[Atom], part: PeriodPart, demand: Demand, population: Population) -> Line:
    """The rows that agree on some ``atoms``."""
    atoms = tuple(atoms)
    over: Atom = ("p", part.property)
    codes, size = population.atom(over)
    codes = codes[: population.rows]
    keep = rows_of_constants(population, atoms, demand.constants)
    ids, _ = population.groups(free_atoms(atoms, demand.constants))
    among = np.arange(population.rows) if keep is None else np.flatnonzero(keep)
    rows = among[np.lexsort((-codes[among], ids[among]))]
    asked = ids[demand.instances]
    low, high = np.zeros(len(asked), dtype=np.int64), np.full(len(asked), size)
    if part.property in demand.bounds:
        low, high = codes_between(population, over, demand.bounds[part.property])
    place = ids[rows] * (size + 1) + size - codes[rows]
    start, end = (np.searchsorted(place, asked * (size + 1) + size - code, side="right") for code in (high, low))
    period = periods_of(part, population)
    return Line(rows, ids[rows], period[rows], asked, start, np.maximum(end, start))


@remembered("periods of rows")
def periods_of(part: PeriodPart, population: Population) -> Ints:
    """The number of the period of each row at hand."""
    times = population.frame.get_column(part.property)[: population.rows]
    return period_index(times, part.unit)


@remembered("walk back", of=_of_walk)
def _walk_back(plan: AccessPlan, part: PeriodPart, demand: Demand, population: Population) -> WalkBack:
    wanted = demand.query.top
    assert wanted is not None
    every = periods_of(part, population)
    newest, oldest = _ends(part, every, demand)
    line = _line(plan.equal_atoms, part, demand, population)
    count = line.end - line.start
    in_table = _in_table(plan, part, demand, population, count)
    density = np.minimum(1.0, np.maximum(demand.returned, 1e-9) / in_table)  # what else the filter wants
    share = np.minimum(1.0, count / in_table)
    known = _matching(plan, part, demand, population)
    nth = wanted / density if known is None else np.full(len(count), float(wanted))
    in_all = in_table if known is None else known.end - known.start
    end = newest + np.where(newest == every.max(), _behind_last(every, population), 0.0)
    last = np.where(nth <= in_all, _period_of(nth, in_all, known or line, end, oldest), oldest)
    periods = np.asarray(1.0 + end - last, dtype=np.float64)
    # The rows of the first period and of those before it.
    bounded = _within_bounds(plan, part)
    begin, middle = line.since(newest + 1), line.since(newest)
    begin = np.maximum(begin, line.start) if bounded else begin

    def until(count: Floats) -> Ints:
        stop = line.since(np.maximum(newest - count.astype(np.int64) + 1, oldest))
        return np.maximum(np.minimum(stop, line.end) if bounded else stop, begin)

    stop = until(np.rint(periods))
    middle = np.minimum(np.maximum(middle, begin), stop)
    brought = np.ones(len(line.rows), dtype=bool)
    first = begin, middle
    if plan.top is not None and not plan.unserved:
        first = begin, np.minimum(middle, begin + plan.top)
        brought = _place_in_period(line) < plan.top
    read = np.concatenate([[0], np.cumsum(brought)])
    further = read[middle], read[stop]
    low, high = (read[until(count)] for count in (np.floor(periods), np.ceil(periods)))  # of the last period a part
    within = first[1] - first[0] + low - read[middle] + periods % 1 * (high - low)
    far = demand.mean((periods > FAR).astype(np.float64)) if len(newest) else 0.0
    rows = within / np.where(share > 0, share, 1.0)
    if population.rows < population.total:
        rows = _until_enough(rows, np.minimum(in_table, wanted / density), share, demand)
        if plan.top is not None and not plan.unserved:  # a row of a sample stands for more than a request may bring
            rows = np.where(share < 1, np.minimum(rows, wanted / density), rows)
        # Those of whom no row at hand lies in the periods asked load the partition of their newest one.
        first = begin, np.where((within == 0) & (begin < line.end), begin + 1, first[1])
    return WalkBack(line, periods, newest, (begin, stop), first, further, brought, rows, far)


def _behind_last(periods: Ints, population: Population) -> float:
    """Periods from the newest row of a sample on to the newest of the table: as far as from one row to the next."""
    sampled = population.rows < population.total and population.sampling != "slice"
    return float(periods.max() - periods.min()) / max(1, len(periods) - 1) if sampled else 0.0


def _period_of(nth: Floats, in_all: Floats | Ints, line: Line, end: Floats | Ints, oldest: Ints) -> Floats:
    """The period of the ``nth`` row of each instance of ``in_all`` rows of the table: a part of one where the rows at
    hand are a sample, before, between and behind which the others lie evenly."""
    there = line.end - line.start
    place = np.where(there < in_all, nth * (there + 1) / (in_all + 1), np.ceil(nth))
    before = np.floor(np.minimum(place, there)).astype(np.int64)

    def period(number: Ints) -> Floats:
        found = np.append(line.periods, 0)[np.clip(line.start + number - 1, 0, len(line.rows))]
        return np.where(number < 1, end, np.where(number > there, oldest, found))

    first, second = period(before), period(before + 1)
    return np.asarray(first + (place - before) * (second - first))


def _in_table(plan: AccessPlan, part: PeriodPart, demand: Demand, population: Population, at_hand: Ints) -> Floats:
    """Rows of the table that the requests of each instance may reach, of which so many are ``at_hand``."""
    if population.rows >= population.total:
        return np.maximum(at_hand, 1e-9)
    over: Atom | None = ("p", part.property) if part.property in demand.bounds else None
    rows = reached(population, demand, plan.equal_atoms, over, demand.bounds.get(part.property))
    return np.maximum(rows, np.maximum(at_hand, 1e-9))


def _until_enough(rows: Floats, least: Floats, share: Floats, demand: Demand) -> Floats:
    """Rows read of a table of which a sample is at hand: no fewer than are ``least`` needed.

    A row at hand stands for many, or for none where it lies in a period that is not asked: right on average alone. So
    what goes beyond the least is made smaller for all, until the mean is that of ``rows`` again.
    """
    least = np.where(share < 1, np.maximum(least, 0.0), rows)
    beyond = np.maximum(rows - least, 0.0)
    too_many = max(0.0, demand.mean(least + beyond - rows)) if len(rows) else 0.0
    mean = demand.mean(beyond) if len(rows) else 0.0
    return least + beyond * (max(0.0, 1 - too_many / mean) if mean > 0 else 0.0)


def _matching(plan: AccessPlan, part: PeriodPart, demand: Demand, population: Population) -> Line | None:
    """The rows that satisfy all that a filter asks, where each is told by what an instance names; None where more is
    asked, or not all rows are at hand."""
    wanted = demand.conditions
    more = wanted.residual or wanted.any_of or wanted.multi or demand.masks or set(wanted.ranges) - {part.property}
    if more or population.rows < population.total:
        return None
    return _line((*plan.equal_atoms, *wanted.equal_atoms), part, demand, population)


def _place_in_period(line: Line) -> Ints:
    """How many rows of the same group and period stand before each row."""
    if not len(line.rows):
        return np.zeros(0, dtype=np.int64)
    new = np.append(True, (np.diff(line.groups) != 0) | (np.diff(line.periods) != 0))
    places = np.arange(len(line.rows))
    return places - np.maximum.accumulate(np.where(new, places, 0))


def _ends(part: PeriodPart, period: Ints, demand: Demand) -> tuple[Ints, Ints]:
    """The period that a client asks first, and the one after which it stops, per instance: the newest and the oldest of
    the table, or those of the bounds that the filter sets on the same time."""
    count = len(demand.instances)
    newest = np.full(count, int(period.max()), dtype=np.int64)
    oldest = np.full(count, int(period.min()), dtype=np.int64)
    if part.property not in demand.bounds:
        return newest, oldest
    low, high = demand.bounds[part.property]
    # The end is open, or half a unit above its value.
    newest = np.minimum(newest, period_of_moments(np.ceil(high) - 1, part.unit))
    oldest = np.minimum(np.maximum(oldest, period_of_moments(low, part.unit)), newest)
    return newest, oldest


def note_of(back: WalkBack) -> str:
    """What to say where some keys are looked for too far back; empty where none is."""
    if back.far < 0.01:
        return ""
    return (
        f"{100 * back.far:.0f} % of the requests go back more than {FAR} periods: keep a row for the latest, or bound "
        "the time"
    )
