"""What splitting can and cannot buy: skewed keys, keys that only grow, and the time until a cold table is spread.

A range splits at keys; one PartitionKey never splits. Pure functions of shares, rates and limits.
"""

from __future__ import annotations

import math

from pkadvisor.limits import Limits

_EXACT_TERMS = 1000


def harmonic(n: int, exponent: float) -> float:
    """H(n, s) = Σ i^−s over i = 1…n: a thousand terms summed, the rest by Euler and Maclaurin's formula (to 1e-9)."""
    if n < 1:
        raise ValueError(f"a population needs at least one key, not {n}")
    head = min(n, _EXACT_TERMS)
    total = math.fsum(math.pow(i, -exponent) for i in range(1, head + 1))
    if n == head:
        return total
    # ∫ x^−s from head to n; written with expm1, so that s = 1 is no gap.
    span, power = math.log(n / head), 1 - exponent
    area = math.pow(head, power) * (span if power == 0 else math.expm1(power * span) / power)
    ends = (math.pow(n, -exponent) - math.pow(head, -exponent)) / 2
    slope = exponent * (math.pow(head, -exponent - 1) - math.pow(n, -exponent - 1)) / 12
    return total + area + ends + slope


def zipf_top_share(exponent: float, keys: int) -> float:
    """The share of the most popular of n keys under Zipf's law, p1 = 1/H(n, s)."""
    return 1 / harmonic(keys, exponent)


def usable_partitions(top_share: float) -> float:
    """Partitions that a skewed load can use, 1/p1: more keys, splits or servers do not help beyond."""
    return 1 / top_share


def rate_max(top_share: float, limits: Limits) -> float:
    """Single-entity requests/s until the account or the partition of the most popular key is at its target.

    min(account, C/p1), before head-room: the bottleneck law (Denning and Buzen 1978), one entity per request.
    """
    return min(limits.account_requests_per_s, limits.partition_entities_per_s * usable_partitions(top_share))


def warm_up_s(buckets: int, limits: Limits) -> float:
    """Seconds until a cold table that starts as one range has one range per bucket; 0 for a single bucket.

    T_sustain + T_eval · max(⌈log2 B⌉, ⌈(B − 1)/m⌉) + T_move: each range splits in two per pass and at most m splits are
    made in one (derived; SOSP 2011 section 8 for the pass). Until then the limit is one range's target per range.
    """
    if buckets < 1:
        raise ValueError(f"there is at least one bucket, not {buckets}")
    if buckets == 1:
        return 0.0
    doublings = (buckets - 1).bit_length()
    passes = max(doublings, math.ceil((buckets - 1) / limits.splits_per_pass))
    return limits.t_sustain_s + limits.t_eval_s * passes + limits.t_move_s
