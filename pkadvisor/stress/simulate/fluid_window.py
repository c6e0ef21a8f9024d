"""A window of attempts, and the buckets of one kind that they meet."""

from __future__ import annotations

import numpy as np

from pkadvisor.engine.capacity.buckets import UNITS
from pkadvisor.lazy import Bools, Ints
from pkadvisor.stress.simulate.fluid_state import State
from pkadvisor.stress.simulate.fluid_table import FluidTable
from pkadvisor.values import dataclass

SAFE = 1 << 61


@dataclass(slots=True)
class Window:
    """Attempts in their order: moments, requests (numbered from 0 to ``owners``), stages of these, PartitionKeys,
    ranges, places in ``Table.weights``; the first ticket.

    ``seed`` is that of ``ServiceTimes``.
    """

    at: Ints
    owner: Ints
    owners: int
    stage: Ints
    partition: Ints
    of_range: Ints
    weight: Ints
    ticket: int
    seed: int

    @staticmethod
    def of(
        at: Ints, row: Ints, owner: Ints, owners: int, ticket: int, seed: int, table: FluidTable, state: State
    ) -> Window:
        """Of attempts at the steps of some rows of the table."""
        step = table.step[row]
        of_range = state.range_of[table.low[step]]
        return Window(
            at, owner, owners, table.stage[row], table.partition[step], of_range, table.weight[step], ticket, seed
        )


class Family:
    """Buckets of one kind with the attempts of a window that meet them, sorted by bucket and then by order."""

    def __init__(self, window: Window, key: Ints | None, levels: Ints, figures: list[int], need: Ints, charge: Ints):
        self.rate, self.burst, full = figures
        self.levels, at = levels, window.at
        count = len(at)
        self._count, self._needs = count, need
        if key is None or (len(levels) == 1 and key.min() >= 0):
            self.order: Ints | None = None
            self.key, self.at, self.charge, self.need = np.zeros(count, np.int64), at, charge, need
            self.begins = np.zeros(1, np.int64)
        else:
            packed = np.sort((key << 32) | np.arange(count, dtype=np.int64))
            if packed[0] < 0:
                packed = packed[np.searchsorted(packed, 0) :]
            self.order = order = packed & 0xFFFFFFFF
            self.key = packed >> 32
            self.at, self.charge, self.need = at[order], charge[order], need[order]
            self.begins = np.flatnonzero(np.r_[True, self.key[1:] != self.key[:-1]])[: len(order)]
        self.empty = not len(self.at)
        if self.empty:
            return
        self.ends = np.r_[self.begins[1:], len(self.at)]
        self.buckets = self.key[self.begins]
        level, moment = levels[self.buckets, 0], levels[self.buckets, 1]
        gone = np.clip(self.at[self.begins] - moment, 0, full)
        self.level = np.minimum(self.burst, level + self.rate * gone)
        self.total = np.add.reduceat(self.charge, self.begins)

    def needs(self, number: Ints) -> Ints:
        """What some attempts need of their bucket."""
        return self._needs[number]

    def fits(self) -> bool:
        """Whether running sums over one bucket stay within 64 bits."""
        return self.empty or int(self.total.max()) < SAFE // UNITS

    def lacking(self, no_debt: bool) -> Bools:
        """Which of ``buckets`` would lack at some moment if everything were let through (or would be in debt)."""
        needs = np.maximum.reduceat(self.need, self.begins)
        short: Bools = self.level - self.total * UNITS < needs
        for i in np.flatnonzero(short).tolist():
            part = slice(self.begins[i], self.ends[i])
            charge = self.charge[part] * UNITS
            net = charge.cumsum() - charge - self.rate * (self.at[part] - self.at[part.start])
            deficit = net + np.maximum(self.burst - self.level[i], np.maximum.accumulate(-net))
            over = deficit > self.burst - self.need[part]
            short[i] = over.any() or (no_debt and (deficit + charge > self.burst).any())
        return short

    def among(self, chosen: Bools) -> Ints:
        """For each attempt the bucket that it meets if that is one of the chosen, else −1."""
        place = np.where(chosen, self.buckets, -1)
        spread = np.repeat(place, self.ends - self.begins)
        if self.order is None:
            return spread
        places = np.full(self._count, -1, np.int64)
        places[self.order] = spread
        return places

    def settle(self, passed: Bools | None) -> None:
        """The levels after the window, of which ``passed`` says what was let through (None: everything)."""
        if self.empty:
            return
        charge = self.charge
        if passed is not None:
            charge = np.where(passed if self.order is None else passed[self.order], charge, 0)
        charge = charge * UNITS
        running = charge.cumsum()
        start = self.begins
        base = (running - charge)[start]
        last = self.ends - 1
        lengths = self.ends - start
        since = self.rate * (self.at - np.repeat(self.at[start], lengths))
        net = running - charge - np.repeat(base, lengths) - since
        most = np.maximum(self.burst - self.level, np.maximum.reduceat(-net, start))
        self.levels[self.buckets, 0] = self.burst - (net[last] + most + charge[last])
        self.levels[self.buckets, 1] = self.at[last]
