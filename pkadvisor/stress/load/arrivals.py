"""When requests of one class arrive: point processes as streams of whole ns, functions of (seed, class) alone.

A class has a *rate over time*, constant in pieces (:class:`Steps`), and a *process* of one point per unit of expected
requests, whose points are carried onto the clock by that rate. So every process follows every shape of a day, and twice
the rate is the same process at twice its speed.

Each (seed, purpose, class) has a Philox stream of its own (Salmon et al., SC 2011): a class that is added shifts no
other. What is drawn does not depend on the windows in which it is asked for.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from hashlib import blake2b
from itertools import pairwise
from typing import Final, Protocol

from pkadvisor.lazy import Floats, Ints, np
from pkadvisor.values import dataclass

SECOND_NS: Final = 1_000_000_000
_CELL_POINTS = 512
"""A class is drawn in cells of at least about as many requests as this, so that rare classes cost little."""
_CELL_DOUBLINGS = 12
_BLOCK = 1024
"""Gaps between points are drawn in blocks of this many."""


def stream(seed: int, purpose: str, name: str) -> np.random.Generator:
    """The random numbers of (seed, purpose, class)."""
    digest = blake2b(f"{seed}\0{purpose}\0{name}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest, "little")))


@dataclass(frozen=True, slots=True)
class Steps:
    """Requests per second, constant from each moment (ns, the first 0, ascending) to the next; the last for ever."""

    at_ns: tuple[int, ...]
    per_s: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.at_ns or self.at_ns[0] != 0 or len(self.at_ns) != len(self.per_s):
            raise ValueError(f"{len(self.at_ns)} moments and {len(self.per_s)} rates, the first moment at 0")
        if any(a >= b for a, b in pairwise(self.at_ns)):
            raise ValueError("moments do not ascend")
        if not all(0 <= rate < math.inf for rate in self.per_s):
            raise ValueError("a rate is 0 or more, and finite")

    @staticmethod
    def flat(per_s: float) -> Steps:
        """The same rate all the time."""
        return Steps((0,), (per_s,))

    def rate(self, at_ns: int) -> float:
        """The rate at a moment."""
        return self.per_s[bisect_right(self.at_ns, at_ns) - 1]

    def times(self, other: Steps) -> Steps:
        """The product of two shapes."""
        if len(other.at_ns) == 1:
            return Steps(self.at_ns, tuple(rate * other.per_s[0] for rate in self.per_s))
        at = sorted({*self.at_ns, *other.at_ns})
        return Steps(tuple(at), tuple(self.rate(t) * other.rate(t) for t in at))

    def expected(self, duration_ns: int) -> float:
        """Mean number of requests before a moment."""
        ends = [*self.at_ns[1:], duration_ns]
        return math.fsum(
            max(0, min(end, duration_ns) - start) * rate / SECOND_NS
            for start, end, rate in zip(self.at_ns, ends, self.per_s, strict=True)
        )

    def most(self, duration_ns: int) -> float:
        """The highest rate before a moment."""
        return max(rate for at, rate in zip(self.at_ns, self.per_s, strict=True) if at < duration_ns or at == 0)


class Points(Protocol):
    """Ascending points of which one is expected per unit, asked for from 0 on in pieces without a hole."""

    def between(self, low: float, high: float) -> Floats:
        """The points in [low, high); ``low`` is the ``high`` of the call before."""


class Process(Protocol):
    """How irregular arrivals are."""

    def points(self, random: np.random.Generator) -> Points:
        """A new run of the process."""

    def modulation(self, random: np.random.Generator, duration_ns: int) -> Steps | None:
        """Random factors of the rate over time, 1 on average; None: the rate is what it is."""


@dataclass(frozen=True, slots=True)
class Poisson:
    """Independent clients: the number of a cell is Poisson, the moments in it are uniform."""

    def points(self, random: np.random.Generator) -> Points:
        """Drawn cell by cell."""
        return _PoissonPoints(random)

    def modulation(self, random: np.random.Generator, duration_ns: int) -> Steps | None:
        """None."""
        return None


@dataclass(frozen=True, slots=True)
class Constant:
    """One request after equal times, from a drawn moment on: so classes of equal rates do not come at once."""

    def points(self, random: np.random.Generator) -> Points:
        """A grid."""
        return _EvenPoints(float(random.random()))

    def modulation(self, random: np.random.Generator, duration_ns: int) -> Steps | None:
        """None."""
        return None


@dataclass(frozen=True, slots=True)
class Hyper:
    """Bursts with a stated ``ca2`` above 1: gaps are hyper-exponential of two phases with balanced means.

    ``ca2`` is the variance of the gaps ÷ their squared mean; 1 would be Poisson.
    Phase 1 with probability p = (1 + √((c² − 1) ÷ (c² + 1))) ÷ 2 has the rate 2p, phase 2 the rate 2(1 − p) (Whitt,
    *Approximating a point process by a renewal process*, 1982). The process is in equilibrium from the start: its
    first gap is of either phase with probability ½, since both phases hold half of the mean.
    """

    ca2: float

    def __post_init__(self) -> None:
        if not 1 < self.ca2 < math.inf:
            raise ValueError(f"bursts have a ca2 above 1, not {self.ca2:g}")

    def points(self, random: np.random.Generator) -> Points:
        """Gap by gap."""
        return _HyperPoints(random, (1 + math.sqrt((self.ca2 - 1) / (self.ca2 + 1))) / 2)

    def modulation(self, random: np.random.Generator, duration_ns: int) -> Steps | None:
        """None."""
        return None


@dataclass(frozen=True, slots=True)
class OnOff:
    """Bursts of ``on_ns`` out of every ``cycle_ns`` on average: Poisson while on, nothing while off.

    Lengths of both are exponential; the rate while on is ``cycle_ns ÷ on_ns`` times the mean.
    """

    on_ns: int
    cycle_ns: int

    def __post_init__(self) -> None:
        if not 0 < self.on_ns < self.cycle_ns:
            raise ValueError("a burst lasts less than its cycle")

    def points(self, random: np.random.Generator) -> Points:
        """As Poisson."""
        return _PoissonPoints(random)

    def modulation(self, random: np.random.Generator, duration_ns: int) -> Steps | None:
        """On and off by turns; in equilibrium at the start, since exponential lengths have no memory."""
        share = self.on_ns / self.cycle_ns
        lengths = (self.cycle_ns - self.on_ns, self.on_ns)
        on = int(random.random() < share)
        at, per_s, now = [], [], 0
        while now < duration_ns:
            at.append(now)
            per_s.append(on / share)
            now += max(1, round(float(random.standard_exponential()) * lengths[on]))
            on = 1 - on
        return Steps(tuple(at), tuple(per_s)) if at else None


POISSON: Final = Poisson()


class _PoissonPoints:
    def __init__(self, random: np.random.Generator) -> None:
        self._random = random

    def between(self, low: float, high: float) -> Floats:
        points = self._random.random(int(self._random.poisson(high - low)))
        points *= high - low
        points += low
        np.minimum(points, np.nextafter(high, low), out=points)
        points.sort()
        return points


class _EvenPoints:
    def __init__(self, phase: float) -> None:
        self._phase = phase

    def between(self, low: float, high: float) -> Floats:
        first, end = math.ceil(low - self._phase), math.ceil(high - self._phase)
        return np.arange(first, end, dtype=np.float64) + self._phase


class _HyperPoints:
    def __init__(self, random: np.random.Generator, p: float) -> None:
        self._random, self._p = random, p
        first = float(random.standard_exponential()) / (2 * p if random.random() < 0.5 else 2 * (1 - p))
        self._ahead = np.array([first])

    def between(self, low: float, high: float) -> Floats:
        blocks = [self._ahead]
        while (last := float(blocks[-1][-1])) < high:
            fast = self._random.random(_BLOCK) < self._p
            gaps = self._random.standard_exponential(_BLOCK) / np.where(fast, 2 * self._p, 2 * (1 - self._p))
            blocks.append(last + np.cumsum(gaps))
        known = np.concatenate(blocks)
        cut = int(np.searchsorted(known, high, side="left"))
        self._ahead = known[cut:]
        return known[:cut]


class _Clock:
    """Expected requests as a function of the time, and back."""

    def __init__(self, steps: Steps) -> None:
        self._at = np.array(steps.at_ns, dtype=np.int64)
        self._per_ns = np.array(steps.per_s, dtype=np.float64) / SECOND_NS
        self._sum = np.concatenate([[0.0], np.cumsum(np.diff(self._at) * self._per_ns[:-1])])

    def expected(self, at_ns: int) -> float:
        """Mean number of requests before a moment."""
        piece = int(self._at.searchsorted(at_ns, side="right")) - 1
        return float(self._sum[piece] + (at_ns - self._at[piece]) * self._per_ns[piece])

    def moments(self, points: Floats, low_ns: int, high_ns: int) -> Ints:
        """The moments in [low, high) at which so many requests are expected, rounded down."""
        first = int(self._at.searchsorted(low_ns, side="right")) - 1
        last = int(self._at.searchsorted(high_ns, side="left")) - 1
        if first == last:
            at = (points - self._sum[first]) / self._per_ns[first] + self._at[first]
        else:
            # Of pieces without requests between, the last one that begins at this sum is the one that goes on.
            piece = np.clip(self._sum.searchsorted(points, side="right") - 1, first, last)
            rate = np.maximum(self._per_ns[piece], 1e-300)
            at = (points - self._sum[piece]) / rate + self._at[piece]
            # A sum that was rounded must not carry a point beyond its piece, where the next ones already are.
            at = np.minimum(at, np.append(self._at[1:], high_ns)[piece] - 1)
        times: Ints = np.clip(at, low_ns, high_ns - 1).astype(np.int64)
        return times


def moments(steps: Steps, process: Process, seed: int, name: str, duration_ns: int) -> Iterator[Ints]:
    """The arrivals of a class in ascending pieces, none empty, all before ``duration_ns``."""
    random = stream(seed, "arrivals", name)
    factors = process.modulation(stream(seed, "bursts", name), duration_ns)
    shaped = steps if factors is None else steps.times(factors)
    clock, points = _Clock(shaped), process.points(random)
    length = _cell_ns(shaped.most(duration_ns))
    low_ns, low = 0, 0.0
    while low_ns < duration_ns:
        high_ns = min(duration_ns, low_ns + length)
        high = clock.expected(high_ns)
        if high > low:
            between = points.between(low, high)
            if len(between):
                yield clock.moments(between, low_ns, high_ns)
        low_ns, low = high_ns, high


def _cell_ns(per_s: float) -> int:
    """The length of the cells that a class of some rate is drawn in: a second, longer for rare ones."""
    doublings = 0
    while doublings < _CELL_DOUBLINGS and per_s * (1 << doublings) < _CELL_POINTS:
        doublings += 1
    return SECOND_NS << doublings


class Picker:
    """Draws numbers with given weights in constant time: the alias method (Walker, 1977)."""

    def __init__(self, weights: Floats) -> None:
        if not len(weights) or not np.isfinite(weights).all() or weights.min() < 0 or weights.max() <= 0:
            raise ValueError("weights are finite, none below 0 and one above")
        self.rows: Ints = np.flatnonzero(weights > 0).astype(np.int64)
        """The numbers that can be drawn."""
        drawn = weights[self.rows]
        self._size = len(drawn)
        self._even = bool(drawn.max() == drawn.min())
        if self._even:
            return
        share = drawn / drawn.sum() * self._size
        light, heavy = np.flatnonzero(share < 1), np.flatnonzero(share >= 1)
        heavy = heavy if len(heavy) else np.array([int(share.argmax())])
        # Light numbers are filled up by heavy ones, both in order; a heavy one that gave too much is filled by the next
        # (the sweep of Huebschle-Schneider and Sanders, 2022), which is a matter of two running sums.
        lacking = np.concatenate([[0.0], np.cumsum(1 - share[light])])
        spare = np.cumsum(share[heavy] - 1)
        self._stay, self._other = np.ones(self._size), np.arange(self._size, dtype=np.int64)
        giver = np.minimum(spare.searchsorted(lacking[:-1], side="right"), len(heavy) - 1)
        self._stay[light], self._other[light] = share[light], heavy[giver]
        given = lacking[lacking[:-1].searchsorted(spare, side="left")]
        self._stay[heavy[:-1]] = np.clip(1 + spare - given, 0, 1)[:-1]
        self._other[heavy[:-1]] = heavy[1:]

    def pick(self, random: np.random.Generator, count: int) -> Ints:
        """So many numbers; one draw of ``random`` each."""
        where = random.random(count)
        where *= self._size
        place = np.minimum(where.astype(np.int64), self._size - 1)
        if not self._even:
            where -= place
            place = np.where(where < self._stay[place], place, self._other[place])
        return self.rows[place]
