"""How far a number that was estimated from a sample may be off: 95 % intervals by the unit that was drawn.

The *unit* is what chance chose: a row, all rows of a key (``random-keys``), or rows that are equal and so were drawn by
hash together. Rows of one unit are alike, so that only units count as independent. A slice was chosen by nobody's
chance and gets no interval; data that was read whole needs none.

Sources: Clopper and Pearson 1934 for a share; Korn and Graubard 1998 for a share under clusters; Fay and Feuer 1997 for
sums of few and unequal contributions; half-samples as replicates after McCarthy 1969 and Shao and Wu 1989.
"""

from __future__ import annotations

import math

from pkadvisor.design.keys.transforms import Atom
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Floats, Ints, np, special
from pkadvisor.remembered import remembered
from pkadvisor.values import dataclass

LEVEL = 0.95
"""Probability with which an interval holds the truth."""
UNITS_MIN = 100
"""Effective units below which nothing is stated: a variance of fewer is itself unknown. Assumed."""
UNEQUAL = 4.0
"""Unequal units that tell as much about a variance as one of equal ones: assumed, and checked by coverage."""
ROUNDING = 1e-9
"""Relative spread below which replicates agree but for the last bits of their sums."""
STEADY = 0.25
"""Relative variance up to which an estimate is far enough from zero to be taken by its logarithm."""
SPAN_MIN = 10
"""Effective units that the hottest group must span for an upper bound: else one unit not drawn may hold a larger."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Where the truth lies with 95 %; a side is None where the sample cannot bound it, and ``note`` says why."""

    low: float | None
    high: float | None
    note: str = ""

    @property
    def exact(self) -> bool:
        """Whether both sides agree: the number was counted."""
        return self.low is not None and self.low == self.high


NO_INTERVAL = "the data is a slice: what lies outside may differ, and nothing says by how much"
FEW_UNITS = "too few keys were drawn, or a few hold most rows: no interval can be trusted"


@dataclass(frozen=True, slots=True)
class Units:
    """The sampled unit of every data row: ``ids`` from 0 to ``count`` - 1; ``fraction`` of the table that was drawn."""

    ids: Ints
    count: int
    fraction: float

    @property
    def rows(self) -> int:
        """Data rows at hand."""
        return len(self.ids)

    @property
    def single(self) -> bool:
        """Whether every unit is one row."""
        return self.count == len(self.ids)

    @property
    def weak(self) -> bool:
        """Whether too few independent units are at hand for an interval that holds."""
        return not self.single and self.effective < UNITS_MIN

    @property
    def freedom(self) -> float:
        """Degrees of freedom of a variance over the units; unequal units tell less about it than they are many."""
        return self.count - 1.0 if self.single else max(1.0, self.effective / UNEQUAL)

    @property
    def effective(self) -> float:
        """Units of equal size that tell as much: (Σ rows)² ÷ Σ rows² (Kish 1965)."""
        if self.single:
            return float(self.count)
        sizes = np.bincount(self.ids, minlength=self.count).astype(np.float64)
        return float(sizes.sum() ** 2 / (sizes**2).sum())


@remembered("units")
def units_of(population: Population) -> Units | None:
    """What chance drew of the table; None for a slice. Of data that was read whole the fraction is 1."""
    rows = population.rows
    if population.sampling == "slice":  # also where nobody knows of how many rows, as of the keys that a log names
        return None
    if rows >= population.total:
        return Units(np.arange(rows, dtype=np.int64), rows, 1.0)
    if population.sampling == "random-keys" and population.sampled_by:
        ids, _ = population.groups(population.sampled_by)
        present, dense = np.unique(ids[:rows], return_inverse=True)
        return Units(dense.astype(np.int64), len(present), population.drawn_from / population.total)
    if population.drawn_from > rows:
        # Drawn by the hash of the row: equal rows were drawn together.
        hashes = population.frame.head(rows).hash_rows().to_numpy()
        _, first, dense = np.unique(hashes, return_index=True, return_inverse=True)
        place = np.argsort(np.argsort(first, kind="stable"), kind="stable")
        return Units(place[dense].astype(np.int64), len(first), rows / population.total)
    return Units(np.arange(rows, dtype=np.int64), rows, rows / population.total)


# -- shares ------------------------------------------------------------------------------------------------------------


def share_low(hits: Floats | float, trials: Floats | float, tail: float) -> Floats:
    """The share below which ``hits`` or more of ``trials`` come with less than ``tail`` (Clopper-Pearson)."""
    hits, trials = np.asarray(hits, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    bound = special.betaincinv(np.maximum(hits, 1e-300), np.maximum(trials - hits, 0) + 1, tail)
    return np.where(hits > 0, bound, 0.0)


def share_high(hits: Floats | float, trials: Floats | float, tail: float) -> Floats:
    """The share above which ``hits`` or fewer of ``trials`` come with less than ``tail`` (Clopper-Pearson)."""
    hits, trials = np.asarray(hits, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    bound = special.betaincinv(hits + 1, np.maximum(trials - hits, 1e-300), 1 - tail)
    return np.where(hits < trials, bound, 1.0)


def _trials(share: Floats, variance: Floats, rows: float, freedom: float, fraction: float) -> Floats:
    """Independent draws that tell as much about a share as the units do (Korn and Graubard 1998, finite table)."""
    spread = np.where(variance > 0, share * (1 - share) / np.maximum(variance, 1e-300), rows)
    at = 1 - (1 - LEVEL) / 2
    student = special.stdtrit(max(1.0, rows - 1), at) / special.stdtrit(max(1.0, freedom), at)
    return np.asarray(np.minimum(spread, rows) * student**2 / max(1e-9, 1 - fraction))


@dataclass(frozen=True, slots=True)
class _Shares:
    """Each group's share of the rows of some units, its variance and the units that it spans."""

    share: Floats
    variance: Floats
    span: Floats
    rows: float
    freedom: float


def _shares(groups: Ints, units: Ints, size: int) -> _Shares:
    """Shares as ratios over units, with the variance of a ratio by linearisation (Cochran 1977, 6.4)."""
    present, dense = np.unique(units, return_inverse=True)
    m = len(present)
    rows = np.bincount(dense, minlength=m).astype(np.float64)
    total = rows.sum()
    pair, counts = np.unique(dense.astype(np.int64) * size + groups, return_counts=True)
    of_group, of_unit = pair % size, pair // size
    there = counts.astype(np.float64)
    sums = np.bincount(of_group, weights=there, minlength=size)
    squares = np.bincount(of_group, weights=there**2, minlength=size)
    crossed = np.bincount(of_group, weights=there * rows[of_unit], minlength=size)
    share = sums / total
    around = squares - 2 * share * crossed + share**2 * (rows**2).sum()
    variance = m / max(1, m - 1) * np.maximum(around, 0.0) / total**2
    span = sums**2 / np.maximum(squares, 1e-300)
    return _Shares(share, variance, span, float(total), float(total**2 / (rows**2).sum()) / UNEQUAL)


def top_share(groups: Ints, size: int, units: Units | None, *, seed: int = 0, level: float = LEVEL) -> Interval:
    """Where the share of the largest group of the table lies: ``groups`` numbers each data row from 0 to ``size`` - 1.

    *Low*: the group is chosen on one half of the units and its share bounded on the other, so that the choice does not
    flatter it; what bounds one group from below bounds the largest. *High*: the greatest upper bound over all groups;
    the count of the largest at hand is never below that of the truly largest, so it holds for whichever that is.
    """
    if units is None:
        return Interval(None, None, NO_INTERVAL)
    if not len(groups):
        return Interval(None, None, "there is no sampled row")
    counts = np.bincount(groups, minlength=size)
    largest = float(counts.max()) / len(groups)
    if units.fraction >= 1 or size == 1:
        return Interval(largest, largest)
    if units.weak:
        return Interval(None, None, FEW_UNITS)
    tail = (1 - level) / 2
    first = np.random.default_rng(seed).permutation(units.count) < units.count // 2
    chosen_on = first[units.ids]
    choice = int(np.argmax(np.bincount(groups[chosen_on], minlength=size)))
    held = (groups[~chosen_on] == choice).astype(np.int64)
    if units.single:
        trials, half = len(groups) / (1 - units.fraction), len(held) / (1 - units.fraction / 2)
        low = float(share_low(float(held.mean()) * half, half, tail))
        return Interval(min(largest, low), max(largest, float(share_high(largest * trials, trials, tail))))
    other = _shares(held, units.ids[~chosen_on], 2)
    held_out = _trials(other.share, other.variance, other.rows, other.freedom, units.fraction / 2)
    low = min(largest, float(share_low(other.share * held_out, held_out, tail)[1]))
    every = _shares(groups, units.ids, size)
    if every.span[int(np.argmax(counts))] < SPAN_MIN:
        note = "its rows lie in few of the keys drawn: a key that was not drawn may hold a larger partition"
        return Interval(low, None, note)
    as_many = _trials(every.share, every.variance, every.rows, every.freedom, units.fraction)
    return Interval(low, max(largest, float(share_high(every.share * as_many, as_many, tail).max())))


def largest_partition(population: Population, atoms: tuple[Atom, ...], *, seed: int = 0) -> Interval:
    """Where the share of rows in the largest partition of a PartitionKey over these atoms lies."""
    units = units_of(population)
    ids, size = population.groups(atoms)
    if units is not None and units.fraction < 1 and atoms and population.whole(atoms):
        counts = np.bincount(ids[: population.rows], minlength=size)
        seen = max(1, int(np.count_nonzero(counts)))
        note = f"with {LEVEL:.0%} at most {min(1.0, 3 / seen):.1%} of the keys not drawn are larger"
        return Interval(float(counts.max()) / population.total * _kept(population), None, note)
    return top_share(ids[: population.rows], size, units, seed=seed)


def _kept(population: Population) -> float:
    """Rows of the keys drawn for each one at hand."""
    return population.drawn_from / max(1, population.rows)


# -- spreads over half-samples -----------------------------------------------------------------------------------------


def spread(
    value: float,
    replicates: Floats,
    *,
    kept: float,
    fraction: float,
    freedom: float,
    step: float = 0.0,
    base: float = 0.0,
    level: float = LEVEL,
) -> Interval:
    """The interval of a mean or sum from its values on samples that kept the share ``kept`` of the units.

    ``base`` is what is certain (an entity that is asked for is there), ``step`` what one more row found would add: so
    the interval reaches as far as bad luck explains where nothing was found. Gamma limits after Fay and Feuer 1997,
    exact for few equal contributions and normal for many; the bias that a smaller sample shows is taken off.
    """
    if fraction >= 1:
        return Interval(value, value)
    tail = (1 - level) / 2
    shrink = kept / (1 - kept)
    excess = max(0.0, value - base)
    deviations = np.asarray(replicates, dtype=np.float64) - value
    bias = float(deviations.mean()) * shrink
    # The spread is told by few units, and by few samples of them.
    told_by = 1 / (1 / max(1.0, freedom) + 1 / max(1, len(deviations) - 1))
    student = float(special.stdtrit(max(1.0, told_by), 1 - tail) / special.ndtri(1 - tail))
    variance = float(deviations.var(ddof=1)) * shrink * (1 - fraction) * student**2
    if variance <= (ROUNDING * value) ** 2:
        variance = bias = 0.0
    centre = max(0.0, excess - bias)
    # The shape of a gamma distribution is 0 too where the mean is so small that its square is.
    shape = centre**2 / variance if variance else 0.0
    low = float(special.gammaincinv(shape, tail) * variance / centre) if shape else centre
    more, wider = centre + step, variance + step**2
    shape = more**2 / wider if wider else 0.0
    high = float(special.gammaincinv(shape, 1 - tail) * wider / more) if shape else centre
    if centre and variance < STEADY * centre**2:
        # A sample with a low estimate has a low variance as well; the logarithm, which is steadier, reaches further up.
        high = max(high, centre * math.exp(float(special.ndtri(1 - tail)) * math.sqrt(variance) / centre))
    return Interval(base + min(low, excess), base + max(high, excess))
