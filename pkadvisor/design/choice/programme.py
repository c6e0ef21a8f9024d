"""The choice solved exactly: goal after goal, each fixed within its tolerance before the next.

Limits are node counts, never seconds, so the answer does not depend on the machine; where one is hit the gap says how
far from the best the answer may be. After every solve the worth of the set is computed anew from its definition, and a
difference is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from pkadvisor.design.choice.choice import (
    BREAK_TOLERANCE,
    BYTES_TOLERANCE,
    ENTITIES_TOLERANCE,
    EXACT,
    REQUESTS_TOLERANCE,
    Chosen,
    Instance,
    MismatchError,
    Worth,
    slowest_allowed,
    worth,
)
from pkadvisor.design.choice.milp import Model, Row, Solved, hold, least_severity
from pkadvisor.design.load.estimates import BREAK_ENOUGH
from pkadvisor.values import dataclass

NODES_MAX = 2_000
"""Branch-and-bound nodes of one solve."""
BLOCK = 16
"""Structures whose text order is decided in one solve: their weights are powers of two."""
AGREES = 1e-6
"""Relative difference between what a solve says and what the set is worth that is taken for rounding."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One goal after its solve: the value reached, and how far below it the best may lie (relative)."""

    goal: str
    value: float
    gap: float
    nodes: int


@dataclass(frozen=True, slots=True)
class Solution:
    """The set that the goals choose. ``gap``: the largest of the stages; 0 where the choice is proved."""

    chosen: Chosen
    worth: Worth
    stages: tuple[Stage, ...]
    gap: float
    nodes: int
    structures: int


def solve(instance: Instance, *, nodes_max: int = NODES_MAX, forbidden: Sequence[tuple[str, ...]] = ()) -> Solution:
    """The best set by the goals; ``forbidden`` sets are left out. Raises ValueError where there is no set at all.

    Raises MismatchError where a solve and the worth of its set differ: the programme would then not say what it means.
    """
    return _Search(instance, nodes_max, forbidden).run()


class _Search:
    """One run through the goals."""

    def __init__(self, instance: Instance, nodes_max: int, forbidden: Sequence[tuple[str, ...]]) -> None:
        self.instance, self.nodes_max, self.forbidden = instance, nodes_max, forbidden
        self.stages: list[Stage] = []
        self.best: Chosen | None = None
        self.spent = 0
        self.model = self.fresh()

    def fresh(self) -> Model:
        """A model with the rows that always hold."""
        model = Model(self.instance, self.nodes_max)
        for names in self.forbidden:
            model.other_than(names)
        return model

    def run(self) -> Solution:
        """All goals in order."""
        requests = self.constraints_and_latency()
        self.within("requests", requests, self.model.total("requests_per_s"), "requests_per_s", REQUESTS_TOLERANCE)
        self.break_factor()
        structures, y = self.instance.structures, self.model.y
        rows = len(structures) + 1.0
        fewest = {y[s.name]: 1.0 + rows * s.eventual for s in structures if s.main}
        self.exactly("structures", fewest, lambda w: w.eventual * rows + w.index_rows)
        entities = self.model.total("entities_per_s")
        self.within("entities", self.model.solve(entities), entities, "entities_per_s", ENTITIES_TOLERANCE)
        stored = {y[s.name]: s.storage_bytes for s in structures if s.storage_bytes}
        self.within("storage", self.model.solve(stored), stored, "storage_bytes", BYTES_TOLERANCE)
        lengths = {column: float(len(name)) for name, column in self.model.y.items()}
        self.exactly("length", lengths, lambda w: float(w.length))
        self.text_order()
        assert self.best is not None
        return Solution(
            self.best,
            worth(self.instance, self.best),
            tuple(self.stages),
            max(s.gap for s in self.stages),
            self.spent + self.model.nodes,
            len(self.instance.structures),
        )

    # -- goals 1 and 2 -------------------------------------------------------------------------------------------------

    def constraints_and_latency(self) -> Solved:
        """Everything at once where all can hold; else the least worst factor, then the least worst latency.

        Returns the solve for the fewest requests that came with it.
        """
        hold(self.model, 1.0)
        requests = self.model.total("requests_per_s")
        solved = self.model.solve(requests, off=self.model.late(1.0))
        severity, excess, gap = 0.0, 1.0, 0.0
        at_once = solved.values is not None
        if not at_once:
            solved = self.model.solve({})
            if solved.values is None:
                self.spent += self.model.nodes
                self.model = self.fresh()
                least = least_severity(self.model)
                if least.values is None:
                    raise ValueError("no set of structures answers every statement")
                severity = worth(self.instance, self.model.chosen(least.values)).severity
                self.agree("constraints", least.objective, max(1.0, severity))
                gap, solved = least.gap, least
                hold(self.model, max(1.0, severity))
                self.model.admit(least.values)
            excess = self.least_excess(self.model.chosen(solved.values or []))
        nodes = self.spent + self.model.nodes - (solved.nodes if at_once else 0)
        self.stages.append(Stage("constraints", severity, gap, nodes))
        self.model.none_of(self.model.late(slowest_allowed(excess)))
        self.stages.append(Stage("latency", excess, 0.0, 0))
        return solved if at_once else self.model.solve(requests)

    def least_excess(self, choice: Chosen) -> float:
        """The least bound on the latency under which there is a set, by bisection over the values there are."""
        most = max(1.0, worth(self.instance, choice).latency_excess)
        bounds = sorted({1.0, most} | {c.latency_excess for _, c in self.model.costs() if 1 < c.latency_excess < most})
        low, high = 0, len(bounds) - 1
        while low < high:
            middle = (low + high) // 2
            if self.model.solve({}, off=self.model.late(bounds[middle])).values is None:
                low = middle + 1
            else:
                high = middle
        return bounds[low]

    # -- the other goals -----------------------------------------------------------------------------------------------

    def within(self, goal: str, solved: Solved, row: Row, field: str, tolerance: float) -> None:
        """Fix a sum within its tolerance of the best."""
        value = self.accept(goal, solved, lambda w: float(getattr(w, field)))
        bound = value * (1 + tolerance)
        self.model.most(row, bound + EXACT * abs(bound))

    def exactly(self, goal: str, row: Row, value_of: Any) -> None:
        """Fix a whole number at its least."""
        value = self.accept(goal, self.model.solve(row), value_of)
        self.model.most(row, value + 0.5)

    def break_factor(self) -> None:
        """A factor of 10 where that can be; else the highest."""
        loads, capacities = self.model.loads(), dict(self.instance.capacities)

        def at_most(share: float) -> list[tuple[Row, float, float]]:
            return [({k: v / capacities[n] for k, v in row.items()}, -inf, share) for n, row in loads.items() if row]

        enough = at_most((1 + EXACT) / BREAK_ENOUGH)
        solved = self.model.solve({}, extra=enough)
        if solved.values is not None:
            self.accept("break factor", solved, None)
            self.model.rows += enough
            return
        unknown = not solved.proved
        free = self.model.free
        extra = [(row | {free: -1.0}, -inf, 0.0) for row, _, _ in at_most(0.0)]
        extra.append(({free: 1.0}, 1 / BREAK_ENOUGH, inf))
        solved = self.model.solve({free: 1.0}, extra=extra)
        share = self.accept("break factor", solved, lambda w: max(1 / BREAK_ENOUGH, 1 / w.break_factor), unknown)
        self.model.rows += at_most(share / (1 - BREAK_TOLERANCE))

    def text_order(self) -> None:
        """Of sets that are equal in all else the first in text order, then the plans that come first."""
        assert self.best is not None
        other = self.model
        rows = list(other.rows)
        other.other_than(self.best.structures)
        tie = other.solve({}).values is not None
        other.rows = rows
        names = sorted(self.model.y)
        if tie:
            for start in range(0, len(names), BLOCK):
                block = [self.model.y[n] for n in names[start : start + BLOCK]]
                solved = self.model.solve({c: -float(2 ** (len(block) - 1 - k)) for k, c in enumerate(block)})
                self.accept("text order", solved, None)
                for column in block:
                    self.fix(column, names)
        for name in names:
            self.fix(self.model.y[name], names)
        plans = {column: float(n) for columns in self.model.x for n, column in enumerate(columns) if n}
        self.accept("plans", self.model.solve(plans), lambda w: None)

    def fix(self, column: int, names: Sequence[str]) -> None:
        """A structure stays as the best set has it."""
        assert self.best is not None
        there = float(next(n for n in names if self.model.y[n] == column) in self.best.structures)
        self.model.lower[column] = self.model.upper[column] = there

    def accept(self, goal: str, solved: Solved, value_of: Any, unknown: bool = False) -> float:
        """Take a solve over, recomputed; where a limit left it empty, what is best so far stays."""
        if solved.values is not None:
            self.best = self.model.chosen(solved.values)
            self.model.admit(solved.values)
        elif solved.proved or self.best is None:
            raise MismatchError(f"{goal}: nothing is left of what the goals before it found")
        again = worth(self.instance, self.best)
        value = value_of(again) if value_of is not None else None
        gap = inf if unknown else solved.gap
        if value is not None and solved.values is not None:
            self.agree(goal, solved.objective, value)
        elif value is not None:
            gap = max(0.0, value - solved.objective) / max(abs(value), 1e-9)
        self.stages.append(Stage(goal, float(value or 0.0), gap, solved.nodes))
        return float(value or 0.0)

    def agree(self, goal: str, solved: float, computed: float) -> None:
        """Raises MismatchError where the solver's value is not what the set is worth."""
        if abs(solved - computed) > AGREES * max(1.0, abs(computed)):
            raise MismatchError(f"{goal}: the solve says {solved:.9g}, the set is worth {computed:.9g}")


def best_of_programme(instance: Instance, count: int, *, nodes_max: int = NODES_MAX) -> list[Solution]:
    """The best sets, each the best of what the earlier ones leave."""
    out: list[Solution] = []
    while len(out) < count:
        try:
            out.append(solve(instance, nodes_max=nodes_max, forbidden=[s.chosen.structures for s in out]))
        except ValueError:
            break
    return out
