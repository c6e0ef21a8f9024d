"""Money per month: requests and stored bytes at the prices of the limits file, which is dated."""

from __future__ import annotations

from pkadvisor.design.estimates import Bench, CostEstimate

MONTH_S = 365.25 / 12 * 86_400.0
"""A mean Gregorian month, as in a declaration."""
GB = 1e9
REQUESTS_PRICED = 10_000.0
"""The price of transactions is stated for so many."""


def currency(bench: Bench) -> str:
    """What the prices are in: the first word of their unit."""
    return bench.limits.of("price_per_gb_month").unit.partition("/")[0]


def storage_gb(found: CostEstimate, bench: Bench) -> float:
    """Stored GB (1e9 bytes) of the whole table, index rows included."""
    return bench.population.total * found.bytes_per_entity / GB


def billed_requests_per_s(found: CostEstimate) -> float:
    """Requests that are paid for, mean: of all classes, analytic ones too, and those that delete expired entities.

    A group transaction is one.
    """
    kept = found.retention.requests_per_s if found.retention is not None else 0.0
    return sum(c.rate_per_s * c.requests for c in found.classes) + kept


def requests_price(found: CostEstimate, bench: Bench) -> float:
    """The price of a month's requests."""
    return billed_requests_per_s(found) * MONTH_S / REQUESTS_PRICED * bench.limits.price_per_10k_transactions


def storage_price(found: CostEstimate, bench: Bench) -> float:
    """The price of a month's storage."""
    return storage_gb(found, bench) * bench.limits.price_per_gb_month
