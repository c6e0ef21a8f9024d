"""Where in its key space a range gets its traffic, and how fast that place moves.

An order-preserving quantile sketch: buckets of about equal traffic with exponential decay, after the adaptive ranges of
Mysore et al. (CGO 2006) that SOSP 2011, 5.5 names. The *reference key* is the bucket boundary nearest to half of the
traffic. Its speed says whether a split helps: where the load runs away from it, as an append-only key does, a split at
it leaves all the load on one child (US patent on partition splitting: split only if the speed is below a threshold).

Everything is counted in integers, so that two runs with one seed decide alike.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from random import Random

SAMPLE_KEYS = 128
UNIT = 1 << 10  # one request, so that decay by halves keeps its fractions
USEFUL_SHARE = 8  # a split helps where each side gets at least one part in eight


class TrafficProfile:
    """Traffic by key, of one range [low, high). Keys are recorded at PartitionKey boundaries.

    ``half_life_ns`` is how soon old traffic counts half; ``horizon_ns`` how old a reference key must be to be trusted.
    """

    def __init__(self, low: bytes, chance: Random, *, buckets: int, half_life_ns: int, horizon_ns: int) -> None:
        self._chance, self._buckets_max = chance, buckets
        self._half_life_ns, self._horizon_ns = half_life_ns, horizon_ns
        self._lows: list[bytes] = [low]  # bucket i is [lows[i], lows[i+1])
        self._counts: list[int] = [0]
        self._sample: list[bytes] = []  # of this window: each key recorded stands the same chance to be in it
        self._recorded = 0
        self._last_sample: list[bytes] = []
        self._references: deque[tuple[int, bytes]] = deque()
        self._rolled_ns: int | None = None

    def record(self, key: bytes) -> None:
        """Counts one request."""
        self._counts[bisect_right(self._lows, key) - 1] += UNIT
        self._recorded += 1
        if len(self._sample) < SAMPLE_KEYS:
            self._sample.append(key)
        elif (place := int(self._chance.random() * self._recorded)) < SAMPLE_KEYS:
            self._sample[place] = key

    def roll(self, now_ns: int) -> None:
        """Ends a window: decays, cuts buckets that got too much, joins those that got too little."""
        past_ns = 0 if self._rolled_ns is None else now_ns - self._rolled_ns
        self._rolled_ns = now_ns
        self._cut()
        self._join()
        self._last_sample, self._sample, self._recorded = sorted(self._sample), [], 0
        reference = self.reference_key()
        if reference is not None:
            self._references.append((now_ns, reference))
        while len(self._references) > 1 and self._references[1][0] <= now_ns - self._horizon_ns:
            self._references.popleft()
        decay = max(0, self._half_life_ns * 2 - past_ns)  # linear for windows well below the half-life
        self._counts = [count * decay // (self._half_life_ns * 2) for count in self._counts]

    def reference_key(self) -> bytes | None:
        """The bucket boundary that halves the traffic best; None while there is only one bucket."""
        total, left = sum(self._counts), 0
        best: tuple[int, bytes] | None = None
        for count, low in zip(self._counts, self._lows[1:], strict=False):
            left += count
            off = abs(2 * left - total)
            if best is None or off < best[0]:
                best = (off, low)
        return None if best is None or not total else best[1]

    def left_share(self, key: bytes) -> tuple[int, int]:
        """Traffic below a key in the window that ended last, as (part, whole)."""
        return bisect_left(self._last_sample, key), len(self._last_sample)

    def running(self) -> bool:
        """Whether the load has run away from where it was halved a horizon ago: such a range is never split.

        Also while no reference key is that old: then it is not known yet.
        """
        if not self._references or self._rolled_ns is None:
            return True
        at_ns, key = self._references[0]
        if at_ns > self._rolled_ns - self._horizon_ns:
            return True
        return not self._divides(key)

    def halving_key(self) -> bytes | None:
        """Where a split would divide the load of now and, as far as the past tells, of later; else None."""
        key = self.reference_key()
        if key is None or self.running() or not self._divides(key):
            return None
        return key

    def check(self) -> None:
        """Bounds are sorted, counts are not negative, memory is bounded."""
        assert all(a < b for a, b in zip(self._lows, self._lows[1:], strict=False)), "bounds out of order"
        assert len(self._lows) == len(self._counts), "a bucket without a count"
        assert min(self._counts) >= 0, "negative traffic"
        assert len(self._lows) <= 2 * self._buckets_max, "more buckets than allowed"
        assert len(self._sample) <= SAMPLE_KEYS, "more keys than allowed"

    # ------------------------------------------------------------------------------------------------ inside

    def _divides(self, key: bytes) -> bool:
        left, whole = self.left_share(key)
        return whole > 0 and USEFUL_SHARE * min(left, whole - left) >= whole

    def _cut(self) -> None:
        """A bucket with more than its share is cut at the middle of the keys that were seen in it."""
        share = sum(self._counts) // self._buckets_max
        seen = sorted(self._sample)
        lows, counts = [], []
        for i, (low, count) in enumerate(zip(self._lows, self._counts, strict=True)):
            end = bisect_left(seen, self._lows[i + 1]) if i + 1 < len(self._lows) else len(seen)
            inside = seen[bisect_left(seen, low) : end]
            middle = self._middle(low, inside) if count > share else None
            if middle is None:
                lows.append(low)
                counts.append(count)
            else:
                right = count * (len(inside) - bisect_left(inside, middle)) // len(inside)
                lows += [low, middle]
                counts += [count - right, right]
        self._lows, self._counts = lows, counts

    @staticmethod
    def _middle(low: bytes, inside: list[bytes]) -> bytes | None:
        """The seen key nearest to the middle that is a bound inside the bucket."""
        middle = len(inside) // 2
        for distance in range(len(inside)):
            for place in (middle + distance, middle - distance):
                if 0 <= place < len(inside) and inside[place] > low:
                    return inside[place]
        return None

    def _join(self) -> None:
        """Neighbours that together get less than a share become one, until there are few enough."""
        share = sum(self._counts) // self._buckets_max
        while True:
            lows, counts = [self._lows[0]], [self._counts[0]]
            for low, count in zip(self._lows[1:], self._counts[1:], strict=True):
                if counts[-1] + count <= share // 2:
                    counts[-1] += count
                else:
                    lows.append(low)
                    counts.append(count)
            self._lows, self._counts = lows, counts
            if len(lows) <= self._buckets_max:
                return
            share = 2 * share + 1
