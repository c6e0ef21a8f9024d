"""SplitMix64 (Steele, Lea & Flood, 2014): well-mixed bits of a number, one by one and for arrays alike."""

from __future__ import annotations

from typing import Final

from pkadvisor.lazy import U64, Ints, np

GAMMA: Final = 0x9E3779B97F4A7C15
"""2^64 ÷ the golden ratio, odd: multiples of it spread evenly."""
_FIRST: Final = 0xBF58476D1CE4E5B9
_SECOND: Final = 0x94D049BB133111EB
_MASK: Final = (1 << 64) - 1


def mixed(seed: int, number: int) -> int:
    """64 well-mixed bits of a seed and a number."""
    z = (seed + (number + 1) * GAMMA) & _MASK
    z = ((z ^ (z >> 30)) * _FIRST) & _MASK
    z = ((z ^ (z >> 27)) * _SECOND) & _MASK
    return z ^ (z >> 31)


def mixed_each(seeds: U64 | int, numbers: Ints | U64) -> U64:
    """``mixed`` of each number with its seed, or with one for all."""
    seed = np.uint64(seeds) if isinstance(seeds, int) else seeds
    return finalized(seed + (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(GAMMA))


def finalized(z: U64) -> U64:
    """The last step alone: each number as another one that looks random; no two become one."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(_FIRST)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(_SECOND)
    return z ^ (z >> np.uint64(31))


def mixed_words(values: U64) -> U64:
    """One step of SplitMix64 from each word: a bijection whose results look random."""
    return finalized(values + np.uint64(GAMMA))
