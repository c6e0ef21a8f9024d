"""The choice as a mixed-integer programme, goal after goal, each fixed within its tolerance before the next.

Binary y_j: structure j is there; x_ip: statement i is answered by plan p. Each statement takes exactly one plan, every
plan needs its structures (x ≤ y), an index row needs its main scheme, each kind has exactly one. After Mior et al.,
"NoSE: Schema Design for NoSQL Applications", ICDE 2016; solved by HiGHS through scipy. Limits are node counts, never
seconds, so the answer does not depend on the machine; where one is hit the gap says how far from the best the answer
may be. After every solve the worth of the set is computed anew from its definition, and a difference is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf
from typing import Any

from pkadvisor.design.choice import (
    BREAK_ENOUGH,
    BREAK_TOLERANCE,
    BYTES_TOLERANCE,
    ENTITIES_TOLERANCE,
    EXACT,
    REQUESTS_TOLERANCE,
    SEVERITY_TOLERANCE,
    Chosen,
    Cost,
    Instance,
    MismatchError,
    Structure,
    Worth,
    reduced,
    worth,
)

NODES_MAX = 2_000
"""Branch-and-bound nodes of one solve."""
BLOCK = 16
"""Structures whose text order is decided in one solve: their weights are powers of two."""
AGREES = 1e-6
"""Relative difference between what a solve says and what the set is worth that is taken for rounding."""

Row = dict[int, float]


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
    dominated: int


@dataclass(frozen=True, slots=True)
class Conflict:
    """Hard constraints that cannot hold together, none of which can be spared; ``smallest``: no fewer conflict."""

    constraints: tuple[str, ...]
    smallest: bool


@dataclass(slots=True)
class _Found:
    """What one solve came to; ``values`` None: nothing was found, ``proved``: because there is nothing.

    ``objective`` is then a lower bound.
    """

    values: list[float] | None
    objective: float
    gap: float
    nodes: int
    proved: bool


class _Model:
    """The variables and rows of one instance; rows are only ever added."""

    def __init__(self, instance: Instance, nodes_max: int) -> None:
        self.instance, self.nodes_max = instance, nodes_max
        self.y = {s.name: n for n, s in enumerate(instance.structures)}
        self.x: list[list[int]] = []
        width = len(self.y)
        for statement in instance.statements:
            self.x.append(list(range(width, width + len(statement.plans))))
            width += len(statement.plans)
        self.free = width
        """One continuous variable, for a least worst factor."""
        self.width = width + 1
        self.upper = [1.0] * width + [inf]
        self.lower = [0.0] * (width + 1)
        self.rows: list[tuple[Row, float, float]] = []
        self.nodes = 0
        self.rows += _links(self)

    # -- linear forms --------------------------------------------------------------------------------------------------

    def total(self, field: str) -> Row:
        """Requests/s or entities/s of plans and upkeep."""
        out: Row = {}
        for column, cost in self.costs():
            value = float(getattr(cost, field))
            if value:
                out[column] = out.get(column, 0.0) + value
        return out

    def costs(self) -> Iterable[tuple[int, Cost]]:
        """Each cost with the variable that brings it."""
        for structure in self.instance.structures:
            for cost in _upkeep(structure):
                yield self.y[structure.name], cost
        for columns, statement in zip(self.x, self.instance.statements, strict=True):
            for column, plan in zip(columns, statement.plans, strict=True):
                yield column, plan.cost

    def loads(self) -> dict[str, Row]:
        """Load on each limited resource."""
        out: dict[str, Row] = {name: {} for name, _ in self.instance.capacities}
        for column, cost in self.costs():
            for name, load in cost.loads:
                if load:
                    out[name][column] = out[name].get(column, 0.0) + load
        return out

    def measure(self, name: str) -> Row:
        """What a budget bounds."""
        structures = self.instance.structures
        if name == "storage_bytes":
            return {self.y[s.name]: s.storage_bytes for s in structures if s.storage_bytes}
        if name == "index_rows":
            return {self.y[s.name]: 1.0 for s in structures if s.main}
        if name == "eventual_rows":
            return {self.y[s.name]: 1.0 for s in structures if s.main and s.eventual}
        return self.total(name)

    # -- rows ----------------------------------------------------------------------------------------------------------

    def most(self, row: Row, bound: float) -> None:
        """The form is at most the bound; rows are scaled so that the solver's tolerance is relative."""
        scale = max(abs(bound), max((abs(v) for v in row.values()), default=0.0), 1e-12)
        self.rows.append(({k: v / scale for k, v in row.items()}, -inf, bound / scale))

    def none_of(self, columns: Iterable[int]) -> None:
        """These variables are 0."""
        for column in columns:
            self.upper[column] = 0.0

    def late(self, most: float) -> list[int]:
        """Variables that bring a latency above a bound."""
        return sorted(
            {column for column, cost in self.costs() if cost.latency_excess > most * (1 + SEVERITY_TOLERANCE)}
        )

    def other_than(self, names: Sequence[str]) -> None:
        """Another set of structures."""
        inside = set(names)
        row = {column: (1.0 if name in inside else -1.0) for name, column in self.y.items()}
        self.rows.append((row, -inf, len(inside) - 1.0))

    # -- solving -------------------------------------------------------------------------------------------------------

    def solve(
        self, objective: Row, *, extra: Sequence[tuple[Row, float, float]] = (), off: Iterable[int] = ()
    ) -> _Found:
        """The least of a form, ``extra`` rows and variables that are ``off`` for this solve alone."""
        import numpy as np
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        rows = [*self.rows, *extra]
        data = [v for row, _, _ in rows for v in row.values()]
        columns = [c for row, _, _ in rows for c in row]
        starts = np.cumsum([0, *(len(row) for row, _, _ in rows)])
        matrix = csr_array((data, columns, starts), shape=(len(rows), self.width))
        upper = np.array(self.upper)
        upper[list(off)] = 0.0
        goal = np.zeros(self.width)
        scale = self.floor(objective)
        for column, value in objective.items():
            goal[column] = value / scale
        integral = np.ones(self.width)
        integral[self.free] = 0
        limits = Bounds(np.array(self.lower), upper)
        constraint = LinearConstraint(matrix, [low for _, low, _ in rows], [high for _, _, high in rows])
        found: Any = milp(
            goal,
            integrality=integral,
            bounds=limits,
            constraints=constraint,
            options={"node_limit": self.nodes_max, "mip_rel_gap": 0.0},
        )
        nodes = int(found.mip_node_count or 0)
        self.nodes += nodes
        if found.x is None and found.status == 2:
            return _Found(None, inf, inf, nodes, True)
        if found.x is None:  # a limit was hit before any set was found: the bound is that of the relaxed programme
            relaxed: Any = milp(goal, bounds=limits, constraints=constraint)
            low = float(relaxed.fun) * scale if relaxed.x is not None else -inf
            return _Found(None, low, inf, nodes, False)
        value, bound = float(found.fun), found.mip_dual_bound
        gap = 0.0
        if found.status != 0:
            gap = max(0.0, value - float(bound)) / max(abs(value), 1e-9) if bound is not None else inf
        return _Found([float(v) for v in found.x], value * scale, gap, nodes, True)

    def floor(self, objective: Row) -> float:
        """What a form comes to at the least, one plan a statement and one main scheme a kind: its unit for the solver,
        whose gap is absolute."""
        least = sum(min((objective.get(c, 0.0) for c in columns), default=0.0) for columns in self.x)
        for kind in self.instance.kinds:
            mains = (s for s in self.instance.structures if s.kind == kind and not s.main)
            least += min((objective.get(self.y[s.name], 0.0) for s in mains), default=0.0)
        return least if least > 0 else max((abs(v) for v in objective.values()), default=0.0) or 1.0

    def chosen(self, values: Sequence[float]) -> Chosen:
        """The set that a solve found."""
        names = tuple(sorted(name for name, column in self.y.items() if values[column] > 0.5))
        plans = []
        for columns in self.x:
            taken = [n for n, column in enumerate(columns) if values[column] > 0.5]
            if len(taken) > 1 or (columns and not taken):
                raise MismatchError("a statement has not exactly one plan")
            plans.append(taken[0] if taken else -1)
        return Chosen(names, tuple(plans))


def _upkeep(structure: Structure) -> Iterable[Cost]:
    """What every write costs for a structure."""
    return [cost for _, cost in structure.updates]


def _links(model: _Model) -> list[tuple[Row, float, float]]:
    """What makes a set one: a main scheme of each kind, rows beside theirs, one plan a statement over what is there."""
    instance, y = model.instance, model.y
    rows: list[tuple[Row, float, float]] = []
    main_of = {s.name: s.main for s in instance.structures}
    for kind in instance.kinds:
        rows.append(({y[s.name]: 1.0 for s in instance.structures if s.kind == kind and not s.main}, 1.0, 1.0))
    if instance.rows_most is not None:
        rows.append(({y[s.name]: 1.0 for s in instance.structures if s.main}, -inf, float(instance.rows_most)))
    rows += [({y[s.name]: 1.0, y[s.main]: -1.0}, -inf, 0.0) for s in instance.structures if s.main]
    for columns, statement in zip(model.x, instance.statements, strict=True):
        if not columns:
            continue
        rows.append((dict.fromkeys(columns, 1.0), 1.0, 1.0))
        users: dict[str, list[int]] = {}
        for number, (column, plan) in enumerate(zip(columns, statement.plans, strict=True)):
            # A row needs its main scheme anyway: naming both only loosens the bound.
            needed = [n for n in plan.structures if not any(main_of[o] == n for o in plan.structures)]
            for name in needed:
                users.setdefault(name, []).append(column)
            if statement.ordered:
                later = dict.fromkeys(columns[number + 1 :], 1.0)
                rows.append((later | {y[n]: 1.0 for n in needed}, -inf, float(len(needed))))
        rows += [(dict.fromkeys(found, 1.0) | {y[name]: -1.0}, -inf, 0.0) for name, found in users.items()]
    return rows


def _hold(model: _Model, severity: float) -> None:
    """Every hard constraint holds, or is missed by at most a factor."""
    instance, allowed = model.instance, severity * (1 + SEVERITY_TOLERANCE)
    on = set(instance.constraints())
    model.none_of(model.y[s.name] for s in instance.structures for name, f in s.breaks if name in on and f > allowed)
    for transaction in instance.transactions:
        if transaction.name in on and transaction.severity > allowed:
            for row in _apart(model, transaction.apart):
                model.rows.append((row, -inf, 1.0))
    for budget in instance.budgets:
        if budget.name in on:
            limit = budget.limit * severity if budget.limit else severity - 1.0
            model.most(model.measure(budget.measure), limit * (1 + SEVERITY_TOLERANCE if severity > 1 else 1))
    loads = model.loads()
    for name, capacity in instance.capacities:
        if name in on:
            slack = 1 + SEVERITY_TOLERANCE if severity > 1 else 1
            model.most(loads[name], capacity / instance.horizon_factor * severity * slack)


def _apart(model: _Model, pairs: Sequence[tuple[str, str]]) -> list[Row]:
    """Pairs that exclude each other, those of one structure with one kind's main schemes as one row."""
    by_name = {s.name: s for s in model.instance.structures}
    groups: dict[tuple[str, str], Row] = {}
    for one, other in pairs:
        if one == other:
            groups[one, other] = {model.y[one]: 2.0}
            continue
        structure = by_name[other]
        group = (one, other if structure.main else "main of " + structure.kind)
        groups.setdefault(group, {model.y[one]: 1.0})[model.y[other]] = 1.0
    return list(groups.values())


def _least_severity(model: _Model) -> _Found:
    """The least worst factor by which the hard constraints are missed."""
    instance, free = model.instance, model.free
    on = set(instance.constraints())
    extra: list[tuple[Row, float, float]] = [({free: 1.0}, 1.0, inf)]

    def at_least(row: Row, scale: float, offset: float = 0.0) -> None:
        extra.append(({k: v / scale for k, v in row.items()} | {free: -1.0}, -inf, -offset))

    for structure in instance.structures:
        for name, factor in structure.breaks:
            if name in on:
                at_least({model.y[structure.name]: factor}, 1.0)
    for transaction in instance.transactions:
        if transaction.name in on:
            for row in _apart(model, transaction.apart):
                at_least({k: v * transaction.severity for k, v in row.items()}, 1.0, -transaction.severity)
    for budget in instance.budgets:
        if budget.name in on:
            at_least(model.measure(budget.measure), budget.limit or 1.0, 0.0 if budget.limit else 1.0)
    loads = model.loads()
    for name, capacity in instance.capacities:
        if name in on:
            at_least(loads[name], capacity / instance.horizon_factor)
    return model.solve({free: 1.0}, extra=extra)


def solve(instance: Instance, *, nodes_max: int = NODES_MAX, forbidden: Sequence[tuple[str, ...]] = ()) -> Solution:
    """The best set by the goals; ``forbidden`` sets are left out. Raises ValueError where there is no set at all.

    Raises MismatchError where a solve and the worth of its set differ: the programme would then not say what it means.
    """
    smaller = reduced(instance) if not forbidden else instance
    return _Search(instance, smaller, nodes_max, forbidden).run()


class _Search:
    """One run through the goals."""

    def __init__(
        self, instance: Instance, smaller: Instance, nodes_max: int, forbidden: Sequence[tuple[str, ...]]
    ) -> None:
        self.instance, self.smaller, self.nodes_max, self.forbidden = instance, smaller, nodes_max, forbidden
        self.stages: list[Stage] = []
        self.best: Chosen | None = None
        self.spent = 0
        self.model = self.fresh()

    def fresh(self) -> _Model:
        """A model with the rows that always hold."""
        model = _Model(self.smaller, self.nodes_max)
        for names in self.forbidden:
            model.other_than(names)
        return model

    def run(self) -> Solution:
        """All goals in order."""
        requests = self.constraints_and_latency()
        self.within("requests", requests, self.model.total("requests_per_s"), "requests_per_s", REQUESTS_TOLERANCE)
        self.break_factor()
        rows = len(self.smaller.structures) + 1.0
        fewest = self.model.measure("index_rows")
        for column in self.model.measure("eventual_rows"):
            fewest[column] += rows
        self.exactly("structures", fewest, lambda w: w.eventual * rows + w.index_rows)
        entities = self.model.total("entities_per_s")
        self.within("entities", self.model.solve(entities), entities, "entities_per_s", ENTITIES_TOLERANCE)
        stored = self.model.measure("storage_bytes")
        self.within("storage", self.model.solve(stored), stored, "storage_bytes", BYTES_TOLERANCE)
        lengths = {column: float(len(name)) for name, column in self.model.y.items()}
        self.exactly("length", lengths, lambda w: float(w.length))
        self.text_order()
        assert self.best is not None
        found = self.expanded(self.best)
        return Solution(
            found,
            worth(self.instance, found),
            tuple(self.stages),
            max(s.gap for s in self.stages),
            self.spent + self.model.nodes,
            len(self.instance.structures),
            len(self.instance.structures) - len(self.smaller.structures),
        )

    # -- goals 1 and 2 -------------------------------------------------------------------------------------------------

    def constraints_and_latency(self) -> _Found:
        """Everything at once where all can hold; else the least worst factor, then the least worst latency.

        Returns the solve for the fewest requests that came with it.
        """
        _hold(self.model, 1.0)
        requests = self.model.total("requests_per_s")
        found = self.model.solve(requests, off=self.model.late(1.0))
        severity, excess, gap = 0.0, 1.0, 0.0
        at_once = found.values is not None
        if not at_once:
            found = self.model.solve({})
            if found.values is None:
                self.spent += self.model.nodes
                self.model = self.fresh()
                least = _least_severity(self.model)
                if least.values is None:
                    raise ValueError("no set of structures answers every statement")
                severity = worth(self.smaller, self.model.chosen(least.values)).severity
                self.agree("constraints", least.objective, max(1.0, severity))
                gap, found = least.gap, least
                _hold(self.model, max(1.0, severity))
            excess = self.least_excess(self.model.chosen(found.values or []))
        nodes = self.spent + self.model.nodes - (found.nodes if at_once else 0)
        self.stages.append(Stage("constraints", severity, gap, nodes))
        self.model.none_of(self.model.late(excess))
        self.stages.append(Stage("latency", excess, 0.0, 0))
        return found if at_once else self.model.solve(requests)

    def least_excess(self, found: Chosen) -> float:
        """The least bound on the latency under which there is a set, by bisection over the values there are."""
        most = max(1.0, worth(self.smaller, found).latency_excess)
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

    def within(self, goal: str, found: _Found, row: Row, field: str, tolerance: float) -> None:
        """Fix a sum within its tolerance of the best."""
        value = self.accept(goal, found, lambda w: float(getattr(w, field)))
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
        found = self.model.solve({}, extra=enough)
        if found.values is not None:
            self.accept("break factor", found, None)
            self.model.rows += enough
            return
        unknown = not found.proved
        free = self.model.free
        extra = [(row | {free: -1.0}, -inf, 0.0) for row, _, _ in at_most(0.0)]
        extra.append(({free: 1.0}, 1 / BREAK_ENOUGH, inf))
        found = self.model.solve({free: 1.0}, extra=extra)
        share = self.accept("break factor", found, lambda w: max(1 / BREAK_ENOUGH, 1 / w.break_factor), unknown)
        self.model.rows += at_most(share / (1 - BREAK_TOLERANCE))

    def text_order(self) -> None:
        """Of sets that are equal in all else the first in text order, then the plans that come first."""
        assert self.best is not None
        other = self.model
        kept = list(other.rows)
        other.other_than(self.best.structures)
        tie = other.solve({}).values is not None
        other.rows = kept
        names = sorted(self.model.y)
        if tie:
            for start in range(0, len(names), BLOCK):
                block = [self.model.y[n] for n in names[start : start + BLOCK]]
                found = self.model.solve({c: -float(2 ** (len(block) - 1 - k)) for k, c in enumerate(block)})
                self.accept("text order", found, None)
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

    def accept(self, goal: str, found: _Found, value_of: Any, unknown: bool = False) -> float:
        """Take a solve over, recomputed; where a limit left it empty, what is best so far stays."""
        if found.values is not None:
            self.best = self.model.chosen(found.values)
        elif found.proved or self.best is None:
            raise MismatchError(f"{goal}: nothing is left of what the goals before it found")
        again = worth(self.smaller, self.best)
        value = value_of(again) if value_of is not None else None
        gap = inf if unknown else found.gap
        if value is not None and found.values is not None:
            self.agree(goal, found.objective, value)
        elif value is not None:
            gap = max(0.0, value - found.objective) / max(abs(value), 1e-9)
        self.stages.append(Stage(goal, float(value or 0.0), gap, found.nodes))
        return float(value or 0.0)

    def agree(self, goal: str, solved: float, computed: float) -> None:
        """Raises MismatchError where the solver's value is not what the set is worth."""
        if abs(solved - computed) > AGREES * max(1.0, abs(computed)):
            raise MismatchError(f"{goal}: the solve says {solved:.9g}, the set is worth {computed:.9g}")

    def expanded(self, found: Chosen) -> Chosen:
        """Plan numbers of the whole instance, for those of the reduced one."""
        plans = []
        for whole, small, number in zip(self.instance.statements, self.smaller.statements, found.plans, strict=True):
            plans.append(-1 if number < 0 else whole.plans.index(small.plans[number]))
        return Chosen(found.structures, tuple(plans))


def best_of_programme(instance: Instance, count: int, *, nodes_max: int = NODES_MAX) -> list[Solution]:
    """The best sets, each the best of what the earlier ones leave."""
    out: list[Solution] = []
    while len(out) < count:
        try:
            out.append(solve(instance, nodes_max=nodes_max, forbidden=[s.chosen.structures for s in out]))
        except ValueError:
            break
    return out


def conflict(instance: Instance, *, nodes_max: int = NODES_MAX, tries: int = 200) -> Conflict | None:
    """Hard constraints that cannot hold together; None where all can. At most ``tries`` solves look for fewer.

    A deletion filter (Chinneck, Feasibility and Infeasibility in Optimization, 2008, ch. 6): each constraint is left
    out for good if what stays still cannot hold. Then smaller sets are tried by size.
    """

    def holds(names: Iterable[str]) -> bool:
        kept = set(names)
        model = _Model(instance.waiving(*(n for n in instance.constraints() if n not in kept)), nodes_max)
        _hold(model, 1.0)
        found = model.solve({})
        return found.values is not None or not found.proved

    names = list(instance.constraints())
    if holds(names):
        return None
    left = list(names)
    for name in names:
        fewer = [n for n in left if n != name]
        if not holds(fewer):
            left = fewer
    spent = 0
    for size in range(1, len(left)):
        for some in combinations(names, size):
            if spent >= tries:
                return Conflict(tuple(left), False)
            spent += 1
            if not holds(some):
                return Conflict(some, True)
    return Conflict(tuple(left), True)
