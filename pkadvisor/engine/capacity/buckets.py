"""Token buckets, fair shares and first-come queues in whole numbers: what the same trace gives in any implementation.

Units: time in ns; what is counted in thousandths (milli-entities), so that a scan may count a tenth of its rows. A
bucket holds billionths of a thousandth: at a rate of ``r`` milli-entities per second it gains exactly ``r`` each ns,
and nothing is ever rounded. Every figure stays below 2^63 for rates up to 20,000/s and bursts up to 400 s.

    level(t) = min(burst, level(t') + rate · (t − t'))          an operation of cost c passes iff level ≥ min(c, burst)

An operation dearer than the burst passes a full bucket and leaves a debt. In every window of length Δ a bucket admits
at most burst + rate · Δ, and the debt of one such operation.
"""

from __future__ import annotations

from collections.abc import Sequence

MILLI = 1000
"""Thousandths of an entity."""
UNITS = 1_000_000_000
"""What a bucket holds for each milli-entity."""
SECOND_NS = 1_000_000_000


def milli(amount: float) -> int:
    """An amount in thousandths, the nearest whole number."""
    return round(amount * MILLI)


def refilled(level: int, elapsed_ns: int, rate: int, burst: int) -> int:
    """The level of a bucket after a while; a while of less than nothing changes nothing."""
    if elapsed_ns <= 0 or level >= burst:
        return level
    return min(burst, level + rate * elapsed_ns)


def fair_shares(wants: Sequence[int], amount: int) -> list[int]:
    """The max-min fair division of an amount, e.g. of a server's capacity among accounts (water-filling).

    Nobody gets more than it wants; who gets less than it wants gets as much as anybody, to one unit. All is given out
    as far as it is wanted; units that cannot be divided go to the earliest.
    """
    shares = list(wants)
    total = sum(wants)
    if total <= amount:
        return shares
    order = sorted(range(len(wants)), key=lambda i: (wants[i], i))
    for position, i in enumerate(order):
        waiting = len(order) - position
        each = amount // waiting
        if wants[i] > each:
            unsatisfied = sorted(order[position:])
            extra = amount - each * waiting
            for place, j in enumerate(unsatisfied):
                shares[j] = each + (1 if place < extra else 0)
            break
        amount -= wants[i]
    return shares


class TokenBucket:
    """A target: so much per second, so much of it at once; full at first. Time that goes back is taken as no time."""

    __slots__ = ("at_ns", "burst", "level", "rate")

    def __init__(self, rate_milli: int, burst_ns: int) -> None:
        assert rate_milli > 0, "a bucket is refilled"
        self.rate = rate_milli
        self.burst = rate_milli * burst_ns
        self.level = self.burst
        self.at_ns = 0

    def advance(self, at_ns: int) -> None:
        """Brings the level to a moment."""
        if at_ns > self.at_ns:
            self.level = refilled(self.level, at_ns - self.at_ns, self.rate, self.burst)
            self.at_ns = at_ns

    def has(self, cost_milli: int, at_ns: int) -> bool:
        """Whether an operation of this cost passes at a moment."""
        self.advance(at_ns)
        return self.level >= min(cost_milli * UNITS, self.burst)

    def take(self, cost_milli: int) -> None:
        """Charges an operation that passed, or what turned out to be its cost; a debt where that is more than is left.

        The bucket must have been brought to the moment.
        """
        self.level -= cost_milli * UNITS

    def take_to_zero(self, cost_milli: int) -> None:
        """Charges what is there, for an operation that was let through above the target: it leaves no new debt."""
        self.level = min(self.level, max(0, self.level - cost_milli * UNITS))

    def full(self, at_ns: int) -> bool:
        """Whether it is as good as new at a moment."""
        self.advance(at_ns)
        return self.level == self.burst

    def check(self) -> None:
        """What must hold."""
        assert self.level <= self.burst, "a bucket holds at most its burst"


class FairBucket:
    """One server's target shared by accounts: tokens flow to whoever has room, in equal parts (water-filling).

    Each account saves up to a burst of its own. An account that asks for no more than an equal part is never turned
    away, whatever its neighbours ask for; what it leaves flows to them. In every window of length Δ the accounts
    together get at most rate · Δ and the burst of each. With one account it is a plain bucket.
    """

    __slots__ = ("at_ns", "burst", "levels", "odd", "rate")

    def __init__(self, rate_milli: int, burst_ns: int) -> None:
        self.rate = rate_milli
        self.burst = rate_milli * burst_ns
        self.levels: dict[str, int] = {}
        self.odd = 0
        """Tokens of the last division that could not be divided: fewer than there are accounts."""
        self.at_ns = 0

    def advance(self, at_ns: int) -> None:
        """Brings all levels to a moment."""
        elapsed = at_ns - self.at_ns
        if elapsed <= 0:
            return
        self.at_ns = at_ns
        levels = self.levels
        if len(levels) == 1 and not self.odd:
            (name,) = levels
            levels[name] = refilled(levels[name], elapsed, self.rate, self.burst)
            return
        room = [self.burst - level for level in levels.values()]
        amount = self.rate * elapsed + self.odd
        if sum(room) <= amount:
            self.odd = 0
            levels.clear()  # all full: as good as never seen
            return
        wanting = sum(1 for each in room if each)
        whole = amount - amount % wanting
        self.odd = amount - whole
        shares = fair_shares(room, whole)
        for name, share in zip(tuple(levels), shares, strict=True):
            levels[name] += share

    def has(self, account: str, cost_milli: int, at_ns: int) -> bool:
        """Whether an operation of this cost passes at a moment; an account that was never seen comes with its burst."""
        self.advance(at_ns)
        return self.levels.setdefault(account, self.burst) >= min(cost_milli * UNITS, self.burst)

    def take(self, account: str, cost_milli: int) -> None:
        """Charges an account, into debt where it has not so much."""
        self.levels[account] -= cost_milli * UNITS

    def check(self) -> None:
        """What must hold."""
        assert all(level <= self.burst for level in self.levels.values()), "nobody saves more than a burst"
        assert 0 <= self.odd <= len(self.levels), "what could not be divided is less than one for each"


class Queue:
    """One server that serves in the order of arrival: D = max(A, D of the one before) + S (Lindley, 1952).

    The service time is known on arrival, so the departure is, too. ``busy_ns`` is the time that it has worked or will
    have; over a time it gives the utilisation U = X · S.
    """

    __slots__ = ("busy_ns", "free_ns", "served")

    def __init__(self) -> None:
        self.free_ns = 0
        self.busy_ns = 0
        self.served = 0

    def wait_ns(self, at_ns: int) -> int:
        """How long an arrival at a moment waits for its turn."""
        return max(0, self.free_ns - at_ns)

    def serve(self, at_ns: int, service_ns: int) -> int:
        """Takes an arrival; when it departs."""
        self.free_ns = max(at_ns, self.free_ns) + service_ns
        self.busy_ns += service_ns
        self.served += 1
        return self.free_ns
