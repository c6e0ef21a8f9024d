"""Populations whose truth is known, samples of them, and how often an interval holds the truth.

python -m tests.design.coverage [TRIALS]     coverage per kind and population
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pkadvisor.design.rows.samples.intervals import Interval, Units, partition_size, selectivity, top_share

Ints = NDArray[np.int64]
KINDS = ("top share", "partition size", "selectivity")


@dataclass(frozen=True)
class Truth:
    """A population: each row's group, whether a condition holds, and the unit that it is drawn with (None: alone)."""

    name: str
    groups: Ints
    hit: NDArray[np.bool_]
    units: Ints | None
    fractions: tuple[float, ...]

    @property
    def values(self) -> tuple[float, float, float]:
        """The true top share, mean partition size of an entity, and share that satisfies the condition."""
        counts = np.bincount(self.groups).astype(float)
        rows = len(self.groups)
        return float(counts.max() / rows), float((counts**2).sum() / rows), float(self.hit.mean())


@dataclass
class Tally:
    """How many intervals were stated, and how many held the truth."""

    stated: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    held: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))

    def take(self, kind: str, found: Interval, truth: float) -> None:
        """One interval."""
        if found.low is None or found.high is None:
            return
        self.stated[kind] += 1
        self.held[kind] += bool(found.low * (1 - 1e-9) <= truth <= found.high * (1 + 1e-9))

    def coverage(self, kind: str) -> float:
        """The share that held."""
        return self.held[kind] / max(1, self.stated[kind])


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
        yield Truth(name, groups, (groups * 7 + rng.integers(0, 3, rows)) % 11 == 0, None, (0.01, 0.03, 0.1))
    # Bursts: a few groups are busy in each hour, others in the next.
    hours, many = 6_000, 120_000
    hour = np.sort(rng.integers(0, hours, many))
    busy = rng.choice(60, (hours, 2), p=zipf(60, 0.8))
    groups = np.where(rng.random(many) < 0.7, busy[hour, rng.integers(0, 2, many)], rng.integers(0, 60, many))
    hit = groups % 9 == 2
    yield Truth("bursts in time, by rows", groups, hit, None, (0.01, 0.1))
    yield Truth("bursts in time, by hours", groups, hit, hour, (0.03, 0.1))
    # Tenants of unlike size, each with a favourite group.
    tenants, many = 20_000, 200_000
    for exponent in (0.0, 0.5):
        tenant = rng.choice(tenants, many, p=zipf(tenants, exponent))
        home = rng.choice(24, tenants, p=zipf(24, 0.7))
        groups = np.where(rng.random(many) < 0.8, home[tenant], rng.integers(0, 24, many))
        hit = home[tenant] % 5 == 1
        yield Truth(f"tenants {exponent}, by rows", groups, hit, None, (0.01, 0.1))
        yield Truth(f"tenants {exponent}, by tenants", groups, hit, tenant, (0.01, 0.03, 0.1))


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


def tallies(
    trials: int, *, replicates: int = 400, told: Callable[[str, Tally], None] = lambda name, tally: None
) -> Tally:
    """Coverage over every population and fraction, ``trials`` samples of each."""
    whole = Tally()
    for truth in populations():
        top, mean, share = truth.values
        size = int(truth.groups.max()) + 1
        for fraction in truth.fractions:
            tally = Tally()
            for at, (rows, units) in enumerate(samples(truth, fraction, trials, 11)):
                groups = truth.groups[rows]
                found = (
                    top_share(groups, size, units, seed=at),
                    partition_size(groups, size, units, len(truth.groups), seed=0, replicates=replicates)[1],
                    selectivity(truth.hit[rows], units)[1],
                )
                for kind, interval, value in zip(KINDS, found, (top, mean, share), strict=True):
                    whole.take(kind, interval, value)
                    tally.take(kind, interval, value)
            told(f"{truth.name}, {fraction:.0%}", tally)
    return whole


def main() -> None:
    """Print the coverage of every kind and population."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 100

    def tell(name: str, tally: Tally) -> None:
        cells = "  ".join(f"{k} {tally.coverage(k):.3f} of {tally.stated[k]}" for k in KINDS)
        sys.stdout.write(f"{name:34} {cells}\n")
        sys.stdout.flush()

    tell("all", tallies(trials, told=tell))


if __name__ == "__main__":
    main()
