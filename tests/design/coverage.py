"""Populations whose truth is known, samples of them, and how often an interval holds the truth.

python -m tests.design.coverage [TRIALS]     coverage of the largest group's share, by population
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pkadvisor.design.rows.samples.intervals import Interval, Units, top_share

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Truth:
    """A population: each row's group, and the unit that it is drawn with (None: alone)."""

    name: str
    groups: Ints
    units: Ints | None
    fractions: tuple[float, ...]

    @property
    def top_share(self) -> float:
        """The true share of the largest group."""
        return float(np.bincount(self.groups).max() / len(self.groups))


@dataclass
class Tally:
    """How many intervals were stated, and how many held the truth."""

    stated: int = 0
    held: int = 0

    def take(self, interval: Interval, truth: float) -> None:
        """One interval."""
        if interval.low is None or interval.high is None:
            return
        self.stated += 1
        self.held += bool(interval.low * (1 - 1e-9) <= truth <= interval.high * (1 + 1e-9))

    @property
    def coverage(self) -> float:
        """The share that held."""
        return self.held / max(1, self.stated)


def zipf(size: int, exponent: float) -> NDArray[np.float64]:
    """Probabilities ∝ rank^-exponent."""
    found = np.arange(1, size + 1) ** -float(exponent)
    return np.asarray(found / found.sum())


def populations(seed: int = 5) -> Iterator[Truth]:
    """Flat, Zipf 0.5 to 1.5, mixtures; clustered in time and by tenant, drawn by rows and by whole tenants or hours."""
    rng = np.random.default_rng(seed)
    rows = 40_000
    made: dict[str, Ints] = {"flat 40": rng.integers(0, 40, rows), "flat 2000": rng.integers(0, 2000, rows)}
    for exponent in (0.5, 0.75, 1.0, 1.25, 1.5):
        made[f"zipf {exponent}"] = rng.choice(2000, rows, p=zipf(2000, exponent))
    heavy = rng.random(rows)
    made["one at 30 %"] = np.where(heavy < 0.3, 0, 1 + rng.integers(0, 1500, rows))
    made["five at 10 %"] = np.where(heavy < 0.5, rng.integers(0, 5, rows), 5 + rng.integers(0, 1500, rows))
    for name, groups in made.items():
        yield Truth(name, groups, None, (0.01, 0.03, 0.1))
    # Bursts: a few groups are busy in each hour, others in the next.
    hours, many = 6_000, 120_000
    hour = np.sort(rng.integers(0, hours, many))
    busy = rng.choice(60, (hours, 2), p=zipf(60, 0.8))
    groups = np.where(rng.random(many) < 0.7, busy[hour, rng.integers(0, 2, many)], rng.integers(0, 60, many))
    yield Truth("bursts in time, by rows", groups, None, (0.01, 0.1))
    yield Truth("bursts in time, by hours", groups, hour, (0.03, 0.1))
    # Tenants of unlike size, each with a favourite group.
    tenants, many = 20_000, 200_000
    for exponent in (0.0, 0.5):
        tenant = rng.choice(tenants, many, p=zipf(tenants, exponent))
        home = rng.choice(24, tenants, p=zipf(24, 0.7))
        groups = np.where(rng.random(many) < 0.8, home[tenant], rng.integers(0, 24, many))
        yield Truth(f"tenants {exponent}, by rows", groups, None, (0.01, 0.1))
        yield Truth(f"tenants {exponent}, by tenants", groups, tenant, (0.01, 0.03, 0.1))


def samples(truth: Truth, fraction: float, trials: int, seed: int) -> Iterator[tuple[Ints, Units]]:
    """(rows drawn, their units), ``trials`` times, without replacement."""
    rng = np.random.default_rng([seed, len(truth.groups), round(1000 * fraction)])
    if truth.units is None:
        size = round(fraction * len(truth.groups))
        alone = Units(np.arange(size, dtype=np.int64), size, fraction)
        for _ in range(trials):
            yield rng.choice(len(truth.groups), size, replace=False, shuffle=False), alone
        return
    order = np.argsort(truth.units, kind="stable")
    start = np.searchsorted(truth.units[order], np.arange(int(truth.units.max()) + 2))
    lengths = np.diff(start)
    for _ in range(trials):
        drawn = np.sort(rng.choice(len(lengths), round(fraction * len(lengths)), replace=False))
        drawn = drawn[lengths[drawn] > 0]
        ids = np.repeat(np.arange(len(drawn)), lengths[drawn])
        offset = np.arange(len(ids)) - np.repeat(np.cumsum(lengths[drawn]) - lengths[drawn], lengths[drawn])
        yield order[start[drawn][ids] + offset], Units(ids, len(drawn), fraction)


def tallies(trials: int, *, report: Callable[[str, Tally], None] = lambda name, tally: None) -> Tally:
    """Coverage over every population and fraction, ``trials`` samples of each."""
    whole = Tally()
    for truth in populations():
        size = int(truth.groups.max()) + 1
        for fraction in truth.fractions:
            tally = Tally()
            for at, (rows, units) in enumerate(samples(truth, fraction, trials, 11)):
                interval = top_share(truth.groups[rows], size, units, seed=at)
                whole.take(interval, truth.top_share)
                tally.take(interval, truth.top_share)
            report(f"{truth.name}, {fraction:.0%}", tally)
    return whole


def main() -> None:
    """Print the coverage of every population."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 100

    def line(name: str, tally: Tally) -> None:
        sys.stdout.write(f"{name:34} {tally.coverage:.3f} of {tally.stated}\n")
        sys.stdout.flush()

    line("all", tallies(trials, report=line))


if __name__ == "__main__":
    main()
