"""Write fronts: over how many key ranges the inserts of a moment spread.

The service splits a range only between partitions and only after it has watched it for minutes. What counts is
therefore the largest share of the inserts that one range takes between two of its steps: inserts that all land at one
end of the key order follow every split and stay on one server (append or prepend pattern).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pkadvisor.design.keys.scheme import variable
from pkadvisor.design.keys.transforms import Atom, Part
from pkadvisor.design.keys.transforms.periods import PERIOD_S, descends
from pkadvisor.design.rows.atoms import atom_properties, atoms_of
from pkadvisor.design.rows.demand import Demand
from pkadvisor.design.rows.front_windows import ROWS_MIN, Windows, weighted_median, windows_of
from pkadvisor.design.rows.list_values import list_part, under
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Bools, Floats, Ints, np
from pkadvisor.limits import Limits, default_limits
from pkadvisor.numbers import amount
from pkadvisor.observe.workload import Basis, Operation
from pkadvisor.remembered import remembered
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

RANGES = 64
"""Key ranges that a busy table is assumed to be split into when fronts are counted; also the most that is reported."""
RISING_SHARE = 0.95
"""A time is taken to rise with the inserts where so many of them are in the latest period seen."""
UNLIKE = 3.5
"""Standard errors by which a window differs from the others: 1 in 2,000 by chance."""
WORSE = 1.5
"""… and the ratio by which its largest share must exceed the lasting one."""
CROWDED = 4 / RANGES
"""… and the share of one range below which no window is worse: ranges learned from few rows differ as much."""
ALIKE = 1.5
"""Standard errors within which ranges cannot be told from the largest; their shares are averaged."""


@dataclass(frozen=True, slots=True)
class Fronts:
    """Effective write fronts: 1 ÷ the largest share of the inserts that one key range takes while the service reacts.

    ``median`` is the state that lasts, ``least`` the worst one, ``least_share`` the share of the time spent in it and
    ``least_lasts_s`` how long it lasts each time, where that is known. ``window_s`` is the time over which inserts were
    counted. None: unknown.
    """

    median: float | None
    least: float | None
    basis: Basis
    note: str = ""
    least_share: float | None = None
    least_lasts_s: float | None = None
    window_s: float | None = None

    def lasting(self, lasting_s: float) -> float | None:
        """The fewest fronts that last so long; a state of unknown length is not counted among them."""
        if self.least is not None and self.least_lasts_s is not None and self.least_lasts_s >= lasting_s:
            return self.least
        return self.median


def reaction_s(limits: Limits) -> float:
    """Seconds from a load to a range on another server: watched, evaluated, moved.

    T_sustain + T_eval + T_move: 5 to 10 minutes, 15 s and 10 to 20 s as published for the service.
    """
    return limits.t_sustain_s + limits.t_eval_s + limits.t_move_s


def write_fronts(
    parts: Sequence[Part], population: Population, limits: Limits | None = None, inserts_per_s: float | None = None
) -> Fronts:
    """Fronts of a PartitionKey over the recent inserts at hand.

    Windows last as long as the service needs to react, by the clock of the arrival column or, where more come, by
    ``inserts_per_s`` (entities/s). Ranges are learned in the window before (64 of equal mass, cut only between
    partitions) and are learned anew for each window. A maximum over noisy shares is too high, so the largest range
    is chosen on one half of a window and its share is counted on the other.
    """
    if limits is None:
        limits = default_limits()
    reaction = reaction_s(limits)
    population = under(parts, population)
    return _write_fronts(variable(tuple(parts)), population, reaction, inserts_per_s)


@remembered("fronts")
def _write_fronts(parts: tuple[Part, ...], population: Population, reaction: float, rate: float | None) -> Fronts:
    if not parts:
        return Fronts(1.0, 1.0, Basis.COUNTED, "one partition takes every insert", 1.0)
    if population.arrival is None or population.rows < ROWS_MIN:
        leading = parts[0]
        timed = leading.tells_time or (
            leading.properties and population.types.get(leading.properties[0]) is EdmType.DATETIME
        )
        if timed:
            note = "the key leads with a time, which is assumed to rise with the inserts"
            return Fronts(1.0, 1.0, Basis.ASSUMED, note, 1.0)
        if one_front(leading, population):
            return Fronts(1.0, 1.0, Basis.COUNTED, f"in the log the inserts move on through {leading}", 1.0)
        return Fronts(None, None, Basis.UNKNOWN, "insert order is unknown: declare `arrival`")
    hidden = sorted({p for part in parts for p in part.properties if p in population.hashed})
    if hidden:
        return Fronts(None, None, Basis.UNKNOWN, f"the profile hides the order of {', '.join(hidden)}")
    windows = windows_of(population, reaction, rate)
    place = _period_place(parts, population, windows, reaction)
    return _counted(parts, population, windows) if place is None else _derived(parts, place, population, reaction, rate)


# -- periods -------------------------------------------------------------------------------------------------------


def _period_place(parts: tuple[Part, ...], population: Population, windows: Windows, reaction: float) -> int | None:
    """Where a key has a period that rises with the inserts, outlasts the reaction and is divided further."""
    for place, part in enumerate(parts[:-1]):
        period = part.period
        if period is None or population.types.get(period.property) is not EdmType.DATETIME:
            continue
        if not descends(period.format) or PERIOD_S[period.unit] <= reaction:
            continue
        atom = part.atom
        assert atom is not None
        codes = population.atom(atom)[0][windows.recent]
        if float((codes == np.maximum.accumulate(codes)).mean()) >= RISING_SHARE:
            return place
    return None


def _derived(
    parts: tuple[Part, ...], place: int, population: Population, reaction: float, rate: float | None
) -> Fronts:
    """Fronts of a key with a rising period: just behind a boundary no range of the new period was cut yet.

    Until the service has reacted, each value of what stands before the period is one front; afterwards the ranges of
    the present period are cut as if the key had no period. Follows from the order of the keys, whatever the sample.
    """
    period = parts[place].period
    assert period is not None
    unit = period.unit
    before = parts[:place]
    behind = _write_fronts(before, population, reaction, rate)
    within = _write_fronts(before + parts[place + 1 :], population, reaction, rate)
    if within.median is None or within.least is None or behind.median is None or behind.median > 0.9 * within.least:
        return within
    share = min(1.0, reaction / PERIOD_S[unit])
    note = f"each {unit} begins with {amount(behind.median)}: {reaction:.0f} s pass before its range is split"
    if within.note:
        note += f"; within the {unit}: {within.note}"
    return replace(
        within, least=behind.median, basis=Basis.DERIVED, note=note, least_share=share, least_lasts_s=reaction
    )


# -- counting ------------------------------------------------------------------------------------------------------


def _counted(parts: tuple[Part, ...], population: Population, windows: Windows) -> Fronts:
    """Fronts by counting where the rows of each window land."""
    used = windows.used
    places = _places([codes[used] for codes in population.key_order(parts)])

    def at(rows: Ints) -> Ints:
        return places[np.searchsorted(used, rows)]

    hits = np.stack([_ranked(at(w.learn), at(w.halves[0]), at(w.halves[1])) for w in windows.each])
    rows = np.array([len(w.halves[0]) + len(w.halves[1]) for w in windows.each], dtype=np.float64)
    weights = np.array([w.weight for w in windows.each])
    share = hits[:, 0] / rows
    middle = weighted_median(share, weights)
    error = np.sqrt(max(middle, 1 / RANGES) * (1 - min(middle, 0.999)) / rows)
    usual = np.abs(share - middle) <= UNLIKE * error
    worse = (share > middle + UNLIKE * error) & (share > max(WORSE * middle, CROWDED))
    begun = int(np.argmax(~worse))
    again = share[begun:][worse[begun:]].max(initial=0.0) >= share[:begun].max(initial=0.0) / WORSE
    if again or not windows.each[0].cold:
        begun = 0
    worse[:begun] = False  # a load before that never came again is over
    more = _interleaved(parts, population)
    lasting = _fronts_of(hits[usual], rows[usual], more)
    least, least_share, lasts = lasting, 1.0, None
    if worse.any():
        top = share[worse].max()
        worst = worse & (share >= top - UNLIKE * np.sqrt(top * (1 - min(top, 0.999)) / rows))
        least = min(lasting, _fronts_of(hits[worst], rows[worst], more))
        least_share = float(weights[worst].sum() / weights[begun:].sum())
        if windows.seconds is not None and windows.by_clock:
            lasts = ((_longest(worst) - 1) * windows.stride + 1) * windows.seconds
    elif windows.seconds is not None:
        lasts = float(weights.sum())
    return Fronts(lasting, least, Basis.COUNTED, windows.note, least_share, lasts, windows.seconds)


def _places(keys: list[Ints]) -> Ints:
    """For each row the rank of its partition in key order."""
    by_rank = np.lexsort(keys[::-1])
    stacked = np.stack([k[by_rank] for k in keys])
    new_partition = np.concatenate([[True], np.any(stacked[:, 1:] != stacked[:, :-1], axis=0)])
    places = np.empty(len(by_rank), dtype=np.int64)
    places[by_rank] = np.cumsum(new_partition) - 1
    return places


def _ranked(learn: Ints, first: Ints, second: Ints) -> Floats:
    """Inserts per range, the ranges in the order that the other half of the window gives them, both halves added."""
    seen = np.sort(learn)
    bounds = seen[(np.arange(1, RANGES) * len(seen)) // RANGES]
    bounds = bounds[np.append(True, bounds[1:] != bounds[:-1])]
    counts = [
        np.bincount(np.searchsorted(bounds, half, side="right"), minlength=RANGES).astype(np.float64)
        for half in (first, second)
    ]
    ranked: Floats = np.zeros(RANGES)
    for chosen, counted in (counts, counts[::-1]):
        ranked += counted[np.argsort(-chosen, kind="stable")]
    return ranked


def _fronts_of(hits: Floats, rows: Floats, more: float) -> float:
    """1 ÷ the largest share over some windows; ranges that cannot be told from the largest lend it their rows."""
    total = float(rows.sum())
    shares = hits.sum(axis=0) / total
    means = np.cumsum(shares) / np.arange(1, RANGES + 1)
    error = np.sqrt(shares[0] / total)
    near = (shares[0] - means <= ALIKE * error) & (shares[0] - shares <= UNLIKE * error)
    alike = RANGES if near.all() else int(np.argmin(near))
    largest = max(float(means[alike - 1]), 1 / RANGES)
    return min(max(1.0, 1 / largest) * more, float(RANGES))


def _longest(flags: Bools) -> int:
    """The longest run of true."""
    longest = run = 0
    for flag in flags.tolist():
        run = run + 1 if flag else 0
        longest = max(longest, run)
    return longest


def _interleaved(parts: tuple[Part, ...], population: Population) -> float:
    """How many times more keys interleave in the table than at hand, where the key leads with what was drawn.

    These are the first parts that are made of the drawn properties alone; buckets of a hash before or among them divide
    each of the keys. A part of other properties may rise with the inserts, so that what follows it says nothing.
    """
    drawn = {name for atom in population.sampled_by for name in atom_properties(atom)}
    leading = tuple(itertools.takewhile(lambda p: p.hashing is not None or drawn.issuperset(p.properties), parts))
    atoms = atoms_of([p for p in leading if drawn.issuperset(p.properties)])
    if population.keys_drawn and atoms:
        return max(1.0, population.groups_total(atoms) / max(1, population.distinct(atoms)))
    return 1.0


# -- Parts of a key that requests leave behind: values that come one after another in a log.


CHANGES_LEAST: Final = 30.0
"""Changes of a value that chance would make from one request to the next, from which their lack says something."""
CHANGES_SHARE: Final = 0.1
"""A value passes where it changes at most so often as it would by chance …"""
LASTS_LEAST_S: Final = 30.0
"""… and lasts so long on average: what a target is compared with lasts a minute."""
RISING: Final = 0.95
"""Correlation of the place in the key order with the time from which the inserts move on through the keys."""
US: Final = 1_000_000
"""Microseconds in a second."""
_MEMO: Final = "logged inserts"


def keep_logged_inserts(population: Population, demands: tuple[Demand, ...]) -> None:
    """Keep with a population the class of a log that inserts most, for those who ask no class."""
    adds = (Operation.INSERT, Operation.UPSERT)
    timed = [d for d in demands if d.came is not None and d.query.operation in adds]
    if timed:
        population.memo[_MEMO] = max(timed, key=lambda d: d.query.rate.sustained_per_s)


def logged_inserts(population: Population) -> Demand | None:
    """The class of a log that inserts most, with its times; None where none was kept."""
    demand: Demand | None = population.memo.get(_MEMO)
    return demand


@remembered("moved on", of=lambda parts, demand, _: (demand.asked, parts))
def moved_on(parts: tuple[Part, ...], demand: Demand, population: Population) -> Ints | None:
    """For each row the row whose partition takes now what is asked or inserted like it; None where each takes its own.

    That is the last request of the class in the log that agrees with it on all that does not pass.
    """
    if demand.came is None or list_part(parts) is not None:
        return None
    atoms = atoms_of(parts)
    rest = tuple(atom for atom in atoms if not _passes(atom, demand, population))
    if rest == atoms:
        return None
    in_order = demand.instances[np.argsort(demand.came, kind="stable")]
    ids, size = population.groups(rest)
    last = np.zeros(size, dtype=np.int64)
    last[ids[in_order]] = in_order
    moved = np.arange(population.size, dtype=np.int64)
    moved[demand.instances] = last[ids[demand.instances]]
    return moved


def one_front(leading: Part, population: Population) -> bool:
    """Whether a log shows that inserts move on through the keys of a part, so that one range takes all of a moment."""
    demand = logged_inserts(population)
    if demand is None or demand.came is None or leading.atom is None or list_part((leading,)) is not None:
        return False
    if not _passes(leading.atom, demand, population):
        return False
    places = population.key_order((leading,))[0][demand.instances].astype(np.float64)
    return bool(abs(np.corrcoef(places, demand.came.astype(np.float64))[0, 1]) >= RISING)


@remembered("passes", of=lambda atom, demand, _: (demand.asked, atom))
def _passes(atom: Atom, demand: Demand, population: Population) -> bool:
    """Whether the values of an atom come one after another in the requests of a class, and each lasts."""
    assert demand.came is not None
    order = np.argsort(demand.came, kind="stable")
    ids, size = population.groups((atom,))
    values = ids[demand.instances[order]]
    shares = np.bincount(values, minlength=size) / max(1, len(values))
    by_chance = len(values) * (1.0 - float((shares * shares).sum()))
    changes = int(np.count_nonzero(values[1:] != values[:-1]))
    span_s = float(np.ptp(demand.came)) / US if len(values) else 0.0
    few = by_chance >= CHANGES_LEAST and changes <= CHANGES_SHARE * by_chance
    return few and span_s >= LASTS_LEAST_S * (changes + 1)
