"""Write fronts: over how many key ranges the inserts of a moment spread.

The service splits a range only between partitions and only after it has watched it for minutes. What counts is
therefore the largest share of the inserts that one range takes between two of its steps: inserts that all land at one
end of the key order follow every split and stay on one server (append or prepend pattern).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pkadvisor.design.population import PERIOD_S, atom_of, atoms_of
from pkadvisor.design.scheme import variable
from pkadvisor.design.transforms import Part, ReverseTicks, Ticks, Time, time_unit
from pkadvisor.design.transforms.periods import descends
from pkadvisor.observe.workload import Basis
from pkadvisor.table.edm import EdmType

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pkadvisor.design.population import Population
    from pkadvisor.limits import Limits

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

RANGES = 64
"""Key ranges that a busy table is assumed to be split into when fronts are counted; also the most that is reported."""
ROWS_MIN = 200
"""Below this many rows nothing is said."""
ROWS_WINDOW = 400
"""Rows that a window holds at least, where there are enough: fewer say little about the largest of 64 shares."""
ROWS_WINDOW_MAX = 800
"""Rows that are looked at in one window; of more a fixed draw by position."""
ROWS_RECENT = 4_000
"""Inserts that are recent where the last two days have fewer, or where nobody knows when they came."""
DAY_S = 86_400.0
RECENT_S = 2 * DAY_S
"""What recurs each day lies once inside and not at the edge."""
COLD_RATE = 4.0
"""A load that came before at so many times the usual rate was a bulk load."""
WINDOWS_MAX = 24
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
_PERIOD_S = {**PERIOD_S, "week": 7 * 86_400, "month": 2_629_746, "year": 31_556_952}
"""Seconds in a period; a month and a year are means of the Gregorian calendar."""


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

    Windows last as long as the service needs to react, by the clock of the arrival column; without one, by
    ``inserts_per_s`` (entities/s). Ranges are learned in the window before (64 of equal mass, cut only between
    partitions) and are learned anew for each window. A maximum over noisy shares is too high, so the largest range
    is chosen on one half of a window and its share is counted on the other.
    """
    if limits is None:
        from pkadvisor.limits import default_limits

        limits = default_limits()
    reaction = reaction_s(limits)
    key = ("fronts", tuple(parts), reaction, inserts_per_s)
    if key not in population.memo:
        population.memo[key] = _write_fronts(variable(tuple(parts)), population, reaction, inserts_per_s)
    found = population.memo[key]
    assert isinstance(found, Fronts)
    return found


def _write_fronts(parts: tuple[Part, ...], population: Population, reaction: float, rate: float | None) -> Fronts:
    if not parts:
        return Fronts(1.0, 1.0, Basis.COUNTED, "one partition takes every insert", 1.0)
    if population.arrival is None or population.rows < ROWS_MIN:
        leading = parts[0]
        timed = isinstance(leading, Time | Ticks | ReverseTicks) or (
            leading.properties and population.types.get(leading.properties[0]) is EdmType.DATETIME
        )
        if timed:
            note = "the key leads with a time, which is assumed to rise with the inserts"
            return Fronts(1.0, 1.0, Basis.ASSUMED, note, 1.0)
        return Fronts(None, None, Basis.UNKNOWN, "insert order is unknown: declare `arrival`")
    hidden = sorted({p for part in parts for p in part.properties if p in population.hashed})
    if hidden:
        return Fronts(None, None, Basis.UNKNOWN, f"the profile hides the order of {', '.join(hidden)}")
    windows = _windows(population, reaction, rate)
    place = _period_place(parts, population, windows, reaction)
    return _counted(parts, population, windows) if place is None else _derived(parts, place, population, reaction, rate)


# -- periods -------------------------------------------------------------------------------------------------------


def _period_place(parts: tuple[Part, ...], population: Population, windows: _Windows, reaction: float) -> int | None:
    """Where a key has a period that rises with the inserts, outlasts the reaction and is divided further."""
    import numpy as np

    for place, part in enumerate(parts[:-1]):
        if not isinstance(part, Time) or population.types.get(part.property) is not EdmType.DATETIME:
            continue
        if not descends(part.format) or _PERIOD_S[time_unit(part.format)] <= reaction:
            continue
        atom = atom_of(part)
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
    part = parts[place]
    assert isinstance(part, Time)
    unit = time_unit(part.format)
    before = parts[:place]
    behind = _write_fronts(before, population, reaction, rate)
    within = _write_fronts(before + parts[place + 1 :], population, reaction, rate)
    if within.median is None or within.least is None or behind.median is None or behind.median > 0.9 * within.least:
        return within
    share = min(1.0, reaction / _PERIOD_S[unit])
    note = f"each {unit} begins with {behind.median:.3g}: {reaction:.0f} s pass before its range is split"
    if within.note:
        note += f"; within the {unit}: {within.note}"
    return replace(
        within, least=behind.median, basis=Basis.DERIVED, note=note, least_share=share, least_lasts_s=reaction
    )


# -- windows -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Window:
    """Recent inserts between two steps of the service: the rows before them, and their two halves, as row numbers."""

    learn: Ints
    halves: tuple[Ints, Ints]
    seconds: float
    weight: float
    cold: bool
    """Whether what was seen here may be over: nobody knows when, more than a day ago, or faster than usual."""


@dataclass(frozen=True, slots=True)
class _Windows:
    """Windows in the order of time; ``widened`` where a reaction time has too few rows. ``recent``: all their rows."""

    each: tuple[_Window, ...]
    recent: Ints
    seconds: float | None
    rows: int
    widened: bool
    stride: int
    """Of so many windows one is looked at."""


def _windows(population: Population, reaction: float, rate: float | None) -> _Windows:
    """Cut the recent inserts into windows; the same for every key."""
    import numpy as np

    memo = ("front windows", reaction, rate)
    if memo in population.memo:
        kept: _Windows = population.memo[memo]
        return kept
    order = population.arrival_order()
    assert order is not None
    rows = len(order)
    moments = _moments(population, order)
    least = min(ROWS_WINDOW, max(ROWS_MIN // 2, rows // 4))
    wanted = least
    if moments is None and rate:
        wanted = max(least, min(rows // 5, round(rate * reaction * rows / population.total)))
    bounds = [rows]
    while bounds[-1] > 0 and not _enough(bounds, moments):
        end = bounds[-1]
        start = end - wanted
        if moments is not None:
            start = min(start, int(np.searchsorted(moments, moments[end - 1] - reaction, side="right")))
        bounds.append(max(0, start))
    if len(bounds) > 2 and bounds[-2] - bounds[-1] < least:  # too few before the oldest window to learn from
        del bounds[-2]
    if len(bounds) == 2:
        bounds = [rows, rows // 2, 0]
    spans = [(c, b, a) for a, b, c in zip(bounds, bounds[1:], bounds[2:], strict=False)][::-1]
    stride = max(1, math.ceil(len(spans) / WINDOWS_MAX))
    spans = spans[::-1][::stride][::-1]
    lasts = [0.0 if moments is None else _lasts(moments[b:a]) for _, b, a in spans]
    usual = float(np.median(lasts))
    pace = float(np.median([(a - b) / max(s, 1e-6) for (_, b, a), s in zip(spans, lasts, strict=True)]))
    each = []
    for (c, b, a), seconds in zip(spans, lasts, strict=True):
        # A pause between two rows is no state of its own: no window weighs more than four usual ones.
        weight = float(a - b) if moments is None else min(seconds, 4 * usual) or 1.0
        cold = (
            moments is None
            or bool(moments[a - 1] < moments[-1] - DAY_S)
            or (a - b) / max(seconds, 1e-6) >= COLD_RATE * pace
        )
        each.append(_Window(order[_drawn(c, b, rows)], _halves(order, b, a), seconds, weight, cold))
    sizes = [a - b for _, b, a in spans]
    widened = moments is not None and usual > 1.5 * reaction
    window_s = None if moments is None else max(usual, reaction)
    found = _Windows(tuple(each), order[spans[0][0] :], window_s, int(np.median(sizes)), widened, stride)
    population.memo[memo] = found
    return found


def _moments(population: Population, order: Ints) -> Floats | None:
    """Seconds of the clock at each insert, rising; None where the order is known without a clock."""
    name = population.arrival
    if name is None or not population.has(name) or population.types.get(name) is not EdmType.DATETIME:
        return None
    if name in population.hashed:
        return None
    moments: Floats = population.numbers(name, order) / 1e6
    return moments


def _enough(bounds: list[int], moments: Floats | None) -> bool:
    """Whether the windows cut so far, newest first, reach back far enough; the oldest of them is only learned from."""
    if len(bounds) < 3 or bounds[0] - bounds[-2] < ROWS_RECENT:
        return False
    return moments is None or float(moments[bounds[-2]]) <= float(moments[-1]) - RECENT_S


def _lasts(moments: Floats) -> float:
    """Seconds that some inserts took, the gap before the first included."""
    gaps = max(1, len(moments) - 1)
    return float(moments[-1] - moments[0]) * (gaps + 1) / gaps


def _mixed(positions: Ints) -> NDArray[np.uint64]:
    """A fixed number for each position without any pattern: rows in a cycle must not fall into one half (splitmix)."""
    import numpy as np

    with np.errstate(over="ignore"):
        z = positions.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = z ^ (z >> np.uint64(31))
    return mixed


def _drawn(start: int, stop: int, end: int) -> Ints:
    """Positions of a window that are looked at, in order; the draw counts from the newest row, at ``end``."""
    import numpy as np

    positions = np.arange(start, stop, dtype=np.int64)
    if len(positions) > ROWS_WINDOW_MAX:
        chosen = np.argsort(_mixed(end - positions), kind="stable")[:ROWS_WINDOW_MAX]
        positions = np.sort(positions[chosen])
    return positions


def _halves(order: Ints, start: int, stop: int) -> tuple[Ints, Ints]:
    import numpy as np

    positions = _drawn(start, stop, len(order))
    coin = np.argsort(_mixed(len(order) - positions + 1_000_003), kind="stable")
    half = len(coin) // 2
    return order[np.sort(positions[coin[:half]])], order[np.sort(positions[coin[half:]])]


# -- counting ------------------------------------------------------------------------------------------------------


def _counted(parts: tuple[Part, ...], population: Population, windows: _Windows) -> Fronts:
    """Fronts by counting where the rows of each window land."""
    import numpy as np

    used = np.unique(np.concatenate([r for w in windows.each for r in (w.learn, *w.halves)]))
    places = _places([codes[used] for codes in population.key_order(parts)])

    def at(rows: Ints) -> Ints:
        return places[np.searchsorted(used, rows)]

    hits = np.stack([_ranked(at(w.learn), at(w.halves[0]), at(w.halves[1])) for w in windows.each])
    rows = np.array([len(w.halves[0]) + len(w.halves[1]) for w in windows.each], dtype=np.float64)
    weights = np.array([w.weight for w in windows.each])
    share = hits[:, 0] / rows
    middle = _weighted_median(share, weights)
    error = np.sqrt(max(middle, 1 / RANGES) * (1 - min(middle, 0.999)) / rows)
    usual = np.abs(share - middle) <= UNLIKE * error
    worse = (share > middle + UNLIKE * error) & (share > max(WORSE * middle, CROWDED))
    begun = int(np.argmax(~worse))
    again = share[begun:][worse[begun:]].max(initial=0.0) >= share[:begun].max(initial=0.0) / WORSE
    if again or not windows.each[0].cold:
        begun = 0
    worse[:begun] = False  # a load before that never came again is over
    more = _interleaved(parts[0], population)
    lasting = _fronts_of(hits[usual], rows[usual], more)
    least, least_share, lasts = lasting, 1.0, None
    if worse.any():
        top = share[worse].max()
        worst = worse & (share >= top - UNLIKE * np.sqrt(top * (1 - min(top, 0.999)) / rows))
        least = min(lasting, _fronts_of(hits[worst], rows[worst], more))
        least_share = float(weights[worst].sum() / weights[begun:].sum())
        if windows.seconds is not None and not windows.widened:
            lasts = ((_longest(worst) - 1) * windows.stride + 1) * windows.seconds
    elif windows.seconds is not None:
        lasts = float(weights.sum())
    note = ""
    if windows.widened:
        assert windows.seconds is not None
        note = (
            f"too few rows come while the service reacts: counted over {_span(windows.seconds)} ({windows.rows:,} rows)"
        )
    return Fronts(lasting, least, Basis.COUNTED, note, least_share, lasts, windows.seconds)


def _places(keys: list[Ints]) -> Ints:
    """For each row the rank of its partition in key order."""
    import numpy as np

    by_rank = np.lexsort(keys[::-1])
    stacked = np.stack([k[by_rank] for k in keys])
    new_partition = np.concatenate([[True], np.any(stacked[:, 1:] != stacked[:, :-1], axis=0)])
    places = np.empty(len(by_rank), dtype=np.int64)
    places[by_rank] = np.cumsum(new_partition) - 1
    return places


def _ranked(learn: Ints, first: Ints, second: Ints) -> Floats:
    """Inserts per range, the ranges in the order that the other half of the window gives them, both halves added."""
    import numpy as np

    seen = np.sort(learn)
    bounds = np.unique(seen[(np.arange(1, RANGES) * len(seen)) // RANGES])
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
    import numpy as np

    total = float(rows.sum())
    shares = hits.sum(axis=0) / total
    means = np.cumsum(shares) / np.arange(1, RANGES + 1)
    error = np.sqrt(shares[0] / total)
    near = (shares[0] - means <= ALIKE * error) & (shares[0] - shares <= UNLIKE * error)
    alike = RANGES if near.all() else int(np.argmin(near))
    largest = max(float(means[alike - 1]), 1 / RANGES)
    return min(max(1.0, 1 / largest) * more, float(RANGES))


def _weighted_median(values: Floats, weights: Floats) -> float:
    import numpy as np

    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, reached[-1] / 2)])


def _longest(flags: NDArray[np.bool_]) -> int:
    """The longest run of true."""
    longest = run = 0
    for flag in flags.tolist():
        run = run + 1 if flag else 0
        longest = max(longest, run)
    return longest


def _span(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.2g} {unit}" if seconds < 100 * size else f"{seconds / size:,.0f} {unit}"
    return f"{seconds:.0f} s"


def _interleaved(leading: Part, population: Population) -> float:
    """How many times more keys interleave in the table than at hand, where the sample is of the leading key's
    values."""
    if population.sampling == "random-keys" and population.whole(atoms_of((leading,))):
        return population.total / max(1, population.drawn_from)
    return 1.0
