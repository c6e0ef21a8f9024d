"""Traffic without chance: every class evenly spaced, its parameters in proportion at all times.

What a prediction of means is compared with. Chance would put more than the mean into some second, and a run would have
to be long to tell a load of 0.9 from one of 1.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pkadvisor.lazy import Floats, Ints, np
from pkadvisor.stress.load.load import Batch, merged
from pkadvisor.values import dataclass

SECOND_NS = 1_000_000_000
GOLDEN = (math.sqrt(5) - 1) / 2
"""Multiples of it, modulo 1, fill the interval evenly however many there are (Kronecker's sequence)."""
CHUNK = 4096


@dataclass(frozen=True, slots=True, eq=False)
class EvenLoad:
    """Requests of each class at ``rates_per_s``; request k has the parameters at k times the golden ratio of their
    cumulated weight. Nothing of it is drawn."""

    classes: tuple[str, ...]
    rates_per_s: tuple[float, ...]
    weights: tuple[Floats, ...]
    duration_ns: int

    @property
    def instances(self) -> tuple[int, ...]:
        """How many different parameters each class has."""
        return tuple(len(of_class) for of_class in self.weights)

    @property
    def per_s(self) -> float:
        """Requests per second."""
        return math.fsum(self.rates_per_s)

    def times(self, factor: float, seconds: float) -> EvenLoad:
        """So many times the load, for so long."""
        rates = tuple(rate * factor for rate in self.rates_per_s)
        return replace(self, rates_per_s=rates, duration_ns=round(seconds * SECOND_NS))

    def diluted(self, parts: Sequence[float]) -> EvenLoad:
        """Of each class a part of its requests."""
        return replace(self, rates_per_s=tuple(r * part for r, part in zip(self.rates_per_s, parts, strict=True)))

    def only(self, instances: Sequence[Ints]) -> EvenLoad:
        """The part of the load whose parameters (by class) are among those kept."""
        rates, weights = [], []
        for rate, of_class, mine in zip(self.rates_per_s, self.weights, instances, strict=True):
            part = np.zeros(len(of_class))
            part[mine] = of_class[mine]
            total = float(of_class.sum())
            rates.append(rate * float(part.sum()) / total if total else 0.0)
            weights.append(part)
        return replace(self, rates_per_s=tuple(rates), weights=tuple(weights))

    def batches(self) -> Iterator[Batch]:
        """All requests, each time the same."""
        return merged([self._arrivals(number) for number in range(len(self.classes))], SECOND_NS)

    def _arrivals(self, number: int) -> Iterator[tuple[Ints, Ints]]:
        rate, heap = self.rates_per_s[number], np.cumsum(self.weights[number])
        if rate <= 0 or not len(heap) or heap[-1] <= 0:
            return
        # Classes begin at different parts of their first interval, so that they do not come all at once.
        offset = (number * GOLDEN) % 1.0
        last = int(np.flatnonzero(self.weights[number])[-1])
        first, most = 0, int(self.duration_ns * rate / SECOND_NS) + 2
        while first < most:
            k = np.arange(first, min(first + CHUNK, most))
            moments = np.floor((k + offset) * (SECOND_NS / rate))
            at = moments[moments < self.duration_ns].astype(np.int64)  # those of a rare class may pass 64 bits
            if not len(at):
                return
            marks = np.modf((k[: len(at)] + 1) * GOLDEN + offset)[0] * heap[-1]
            yield at, np.minimum(np.searchsorted(heap, marks, side="right"), last).astype(np.int64)
            first += CHUNK
