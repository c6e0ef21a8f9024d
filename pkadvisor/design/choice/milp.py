"""One mixed-integer programme over an instance: its variables, its rows, one solve.

Binary y_j: structure j is there; x_ip: statement i is answered by plan p. Each statement takes exactly one plan, every
plan needs its structures (x ≤ y), an index row needs its main scheme, each kind has exactly one. After Mior et al.,
"NoSE: Schema Design for NoSQL Applications", ICDE 2016; solved by HiGHS through scipy, limited by nodes.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Any

from pkadvisor.design.choice.choice import EXACT, SEVERITY_TOLERANCE, Chosen, Cost, Instance, MismatchError, Structure
from pkadvisor.files import redirected
from pkadvisor.lazy import np
from pkadvisor.values import dataclass

ROUNDED_MOST = 2e-6
"""By how much a solve may miss a row: twice HiGHS's feasibility tolerance of 1e-6."""
INFEASIBLE = 2
"""What scipy calls a programme that has no solution."""
_LIBC = ctypes.CDLL("msvcrt" if sys.platform == "win32" else None)
Row = dict[int, float]
"""A linear form: coefficients by variable."""


@contextmanager
def unprinted() -> Iterator[None]:
    """Without what HiGHS prints to standard output of some programmes, whatever its options: documents go there."""
    with Path(os.devnull).open("wb") as nothing, redirected(1, nothing.fileno()):
        try:
            yield
        finally:
            _LIBC.fflush(None)  # what C has not written yet


def _solved(goal: Any, **programme: Any) -> Any:
    from scipy.optimize import milp

    with unprinted():
        return milp(goal, **programme)


@dataclass(slots=True)
class Solved:
    """What one solve came to; ``values`` None: nothing was found, ``proved``: because there is nothing.

    ``objective`` is then a lower bound.
    """

    values: list[float] | None
    objective: float
    gap: float
    nodes: int
    proved: bool


def _value(row: Row, values: Sequence[float]) -> float:
    return sum(coefficient * values[column] for column, coefficient in row.items())


class Model:
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
        self.accepted: list[float] | None = None
        """The set of the last solve that was accepted, in whole numbers."""
        self.rows += links(self)

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
            for cost in upkeep(structure):
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
        return sorted({column for column, cost in self.costs() if cost.latency_excess > most * (1 + EXACT)})

    def other_than(self, names: Sequence[str]) -> None:
        """Another set of structures."""
        inside = set(names)
        row = {column: (1.0 if name in inside else -1.0) for name, column in self.y.items()}
        self.rows.append((row, -inf, len(inside) - 1.0))

    def admit(self, values: Sequence[float]) -> None:
        """Widen the rows that a set misses by the solver's rounding: what one solve has accepted, presolve of the next
        one would else call infeasible."""
        self.accepted = whole = [float(round(value)) for value in values]
        for number, (row, low, high) in enumerate(self.rows):
            total = _value(row, whole)
            if high < total <= high + ROUNDED_MOST:
                self.rows[number] = (row, low, total + EXACT)

    # -- solving -------------------------------------------------------------------------------------------------------

    def solve(
        self, objective: Row, *, extra: Sequence[tuple[Row, float, float]] = (), off: Iterable[int] = ()
    ) -> Solved:
        """The least of a form, ``extra`` rows and variables that are ``off`` for this solve alone."""
        from scipy.optimize import Bounds, LinearConstraint
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
        options = {"node_limit": self.nodes_max, "mip_rel_gap": 0.0}
        result = _solved(goal, integrality=integral, bounds=limits, constraints=constraint, options=options)
        nodes = int(result.mip_node_count or 0)
        if result.x is None and result.status == INFEASIBLE and self._accepted_holds(rows, upper.tolist()):
            # Presolve rounds otherwise than the solve that found the accepted set.
            options["presolve"] = False
            result = _solved(goal, integrality=integral, bounds=limits, constraints=constraint, options=options)
            nodes += int(result.mip_node_count or 0)
            if result.x is None:
                self.nodes += nodes
                return Solved(None, -inf, inf, nodes, False)
        self.nodes += nodes
        if result.x is None and result.status == INFEASIBLE:
            return Solved(None, inf, inf, nodes, True)
        if result.x is None:  # a limit was hit before any set was found: the bound is that of the relaxed programme
            relaxed = _solved(goal, bounds=limits, constraints=constraint)
            low = float(relaxed.fun) * scale if relaxed.x is not None else -inf
            return Solved(None, low, inf, nodes, False)
        value, bound = float(result.fun), result.mip_dual_bound
        gap = 0.0
        if result.status != 0:
            gap = max(0.0, value - float(bound)) / max(abs(value), 1e-9) if bound is not None else inf
        return Solved([float(v) for v in result.x], value * scale, gap, nodes, True)

    def _accepted_holds(self, rows: Iterable[tuple[Row, float, float]], upper: Sequence[float]) -> bool:
        """Whether the accepted set keeps some rows and bounds, but for rounding; False where there is none. The least
        worst factor is free, and can be as large as the set needs."""
        if self.accepted is None:
            return False
        whole = self.accepted
        held = [(whole[column], self.lower[column], upper[column]) for column in range(self.free)]
        held += [(_value(row, whole), low, high) for row, low, high in rows if self.free not in row]
        return all(low - ROUNDED_MOST <= value <= high + ROUNDED_MOST for value, low, high in held)

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


def upkeep(structure: Structure) -> Iterable[Cost]:
    """What every write costs for a structure."""
    return [cost for _, cost in structure.updates]


def links(model: Model) -> list[tuple[Row, float, float]]:
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
        rows += [(dict.fromkeys(structures, 1.0) | {y[name]: -1.0}, -inf, 0.0) for name, structures in users.items()]
    return rows


def hold(model: Model, severity: float) -> None:
    """Every hard constraint holds, or is missed by at most a factor above 1 and its tolerance."""
    instance = model.instance
    slack = 1 + SEVERITY_TOLERANCE if severity > 1 else 1.0
    loads = model.loads()
    for name, capacity in instance.capacities:
        model.most(loads[name], capacity / instance.horizon_factor * severity * slack)


def least_severity(model: Model) -> Solved:
    """The least worst factor by which the hard constraints are missed."""
    instance, free = model.instance, model.free
    extra: list[tuple[Row, float, float]] = [({free: 1.0}, 1.0, inf)]
    loads = model.loads()
    for name, capacity in instance.capacities:
        scale = capacity / instance.horizon_factor
        extra.append(({k: v / scale for k, v in loads[name].items()} | {free: -1.0}, -inf, 0.0))
    return model.solve({free: 1.0}, extra=extra)
