"""Budgets: bounds that a user puts on the terms of a cost, as hard as the limits of the store."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from pkadvisor.design.cost.terms import term_named
from pkadvisor.design.load.estimates import Bench, Budget, CostEstimate, Violation
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.errors import UsageError, did_you_mean
from pkadvisor.numbers import amount
from pkadvisor.values import dataclass

SECONDS_PER_DAY = 86_400


def _term(name: str) -> Callable[[CostEstimate, Bench], float]:
    """The value of a term, 0 where the scheme has none."""

    def value(estimate: CostEstimate, _: Bench) -> float:
        term = term_named(estimate.terms, name)
        return 0.0 if term is None else term.value

    return value


def _peak_load(estimate: CostEstimate, bench: Bench) -> float:
    return estimate.hot.entities_per_s / bench.limits.partition_entities_per_s if estimate.hot is not None else 0.0


def _full_scans(estimate: CostEstimate, _: Bench) -> float:
    scans = (Access.TABLE_SCAN, Access.PARTITION_RANGE_SCAN)
    rates = [c.rate_per_s for c in estimate.classes if c.plan is not None and c.plan.access in scans]
    return sum(rates) * SECONDS_PER_DAY


def _p99(estimate: CostEstimate, _: Bench) -> float:
    return max((c.latency_ms_p99 for c in estimate.classes if not c.analytic and c.rate_per_s > 0), default=0.0)


@dataclass(frozen=True, slots=True)
class BudgetKey:
    """What a budget is about: the unit, and the number compared with it, larger being worse."""

    unit: str
    value: Callable[[CostEstimate, Bench], float]


BOUNDS: dict[str, BudgetKey] = {
    "requests_per_s": BudgetKey("requests/s", lambda estimate, _: estimate.requests_per_s),
    "requests_per_s_peak": BudgetKey("requests/s", lambda estimate, _: estimate.requests_per_s_peak),
    "entities_per_s": BudgetKey("entities/s", lambda estimate, _: estimate.entities_per_s),
    "peak_partition_load": BudgetKey("of the target of a partition", _peak_load),
    "p99_ms": BudgetKey("ms", _p99),
    "throttled": BudgetKey("of the attempts on the hottest partition", _term("throttled at peak")),
    "cost_month": BudgetKey("USD/month", _term("price")),
    "storage_gb": BudgetKey("GB", _term("storage")),
    "bytes_per_entity": BudgetKey("bytes/entity", lambda estimate, _: estimate.bytes_per_entity),
    "index_rows": BudgetKey("index rows", lambda estimate, _: float(len(estimate.scheme.index_rows))),
    "full_scans_per_day": BudgetKey("scans over partitions a day", _full_scans),
}
"""The keys of ``--budget``."""
OPTION = "--budget"


def parse_budgets(texts: Sequence[str]) -> tuple[Budget, ...]:
    """Budgets from ``key=value`` texts, ``80%`` being 0.8. UsageError for an unknown key, a value that is no number,
    or a key named twice."""
    out: dict[str, Budget] = {}
    for text in texts:
        key, value = parse_pair(text, OPTION, "cost_month=500")
        if key not in BOUNDS:
            hint = did_you_mean(key, tuple(BOUNDS)) or f"there are {', '.join(BOUNDS)}"
            raise UsageError(f"there is no '{key}' to bound", where=OPTION, fix=hint)
        if key in out:
            raise UsageError(f"{key} is named twice", where=OPTION, fix="keep one of them")
        out[key] = Budget(key, value, BOUNDS[key].unit)
    return tuple(out.values())


def parse_pair(text: str, where: str, example: str) -> tuple[str, float]:
    """(key, number) of ``key=number``; ``5%`` is 0.05."""
    key, equals, given = text.partition("=")
    key = key.strip()
    if not equals:
        raise UsageError(f"'{text}' is not K=V", where=where, fix=f"for example: {where} {example}")
    number = given.strip()
    try:
        value = float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value < math.inf:  # also false for NaN
        raise UsageError(f"{key}: '{given}' is not a bound", where=where, fix=f"a number from 0 on: {where} {example}")
    return key, value


def within_budgets(estimate: CostEstimate, bench: Bench) -> CostEstimate:
    """The estimate with a violation for each budget that it is over."""
    over = []
    for budget in bench.budgets:
        value = BOUNDS[budget.key].value(estimate, bench)
        if value > budget.limit:
            times = value / budget.limit if budget.limit else 10.0 + value
            message = f"{budget.key} is {amount(value)}, over the budget of {amount(budget.limit)} ({budget.unit})"
            over.append(Violation("budget", message, value, budget.limit, budget.unit, times, subject=budget.key))
    return replace(estimate, violations=(*estimate.violations, *over)) if over else estimate
