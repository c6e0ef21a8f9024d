"""Identities of requests that were seen lately, so that a request is counted once."""

from __future__ import annotations

from pkadvisor.lazy import U64, Bools, Ints, NDArray, np
from pkadvisor.observe.logs.traffic_parts import FAN_IN


class SeenWindow:
    """Hashes seen lately: sorted runs, each with the last hour it holds; bounded in number.

    U64 have to look random. A table of bits (a Bloom filter with one function) tells most of those that are not
    held apart from the others, which are looked for in the runs.
    """

    def __init__(self, hashes_max: int) -> None:
        self._runs: list[tuple[int, int, U64]] = []  # last hour, how often merged, hashes
        self._hashes_max = hashes_max
        self._address_bits = max(hashes_max, 1 << 10).bit_length() - 1
        self._bits = np.zeros(1 << self._address_bits, dtype=np.uint8)  # eight bits for each hash at most
        self._marked = 0
        self.shortened = False
        self.hour = -(1 << 62)

    def __len__(self) -> int:
        return sum(len(run) for _, _, run in self._runs)

    def _places(self, hashes: U64) -> tuple[Ints, NDArray[np.uint8]]:
        """The byte of each hash, and the bit in it."""
        place = (hashes >> np.uint64(64 - self._address_bits)).astype(np.int64)
        return place, np.left_shift(np.uint8(1), (hashes & np.uint64(7)).astype(np.uint8))

    def _mark(self, hashes: U64) -> None:
        place, bit = self._places(hashes)
        self._marked += len(hashes)
        while len(place):
            # Of several hashes with one byte, an assignment serves the last; the others come in the next round.
            self._bits[place] |= bit
            left = (self._bits[place] & bit) == 0
            place, bit = place[left], bit[left]

    def contains(self, hashes: U64) -> Bools:
        """Which of ``hashes`` are held."""
        member = np.zeros(len(hashes), dtype=bool)
        if not self._runs or not len(hashes):
            return member
        place, bit = self._places(hashes)
        rows = np.flatnonzero(self._bits[place] & bit)
        some = hashes[rows]
        held = np.zeros(len(rows), dtype=bool)
        for _, _, run in self._runs:
            at = np.searchsorted(run, some)
            at[at == len(run)] = 0
            held |= run[at] == some
        member[rows] = held
        return member

    def add(self, hashes: U64, hour: int) -> None:
        """Remember sorted ``hashes`` whose last hour is ``hour``; forget what ended before the hour before."""
        self.hour = max(self.hour, hour)
        if len(hashes):
            self._runs.append((hour, 0, hashes))
            self._mark(hashes)
        self._runs = [run for run in self._runs if run[0] >= self.hour - 1]
        while len({run[:2] for run in self._runs[-FAN_IN:]}) == 1 and len(self._runs) >= FAN_IN:
            merged = np.concatenate([run for _, _, run in self._runs[-FAN_IN:]])
            merged.sort(kind="stable")
            self._runs[-FAN_IN:] = [(self._runs[-1][0], self._runs[-1][1] + 1, merged)]
        while len(self) > self._hashes_max and len(self._runs) > 1:
            self._runs.pop(0)
            self.shortened = True
        if len(self) > self._hashes_max:
            self._runs.clear()
            self.shortened = True
        if self._marked > 2 * len(self) + self._hashes_max // 4:
            self._bits[:] = 0
            self._marked = 0
            for _, _, run in self._runs:
                self._mark(run)
