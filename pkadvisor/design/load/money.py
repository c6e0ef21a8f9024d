"""Money per month: requests and stored bytes at the prices of the limits file, which is dated."""

from __future__ import annotations

from pkadvisor.design.load.estimates import Bench, ClassCost, CostEstimate
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.numbers import MONTH_S
from pkadvisor.values import dataclass

"""A mean Gregorian month, as in a declaration."""
GB = 1e9
REQUESTS_PRICED = 10_000.0
"""The price of transactions is stated for so many."""


def currency(bench: Bench) -> str:
    """What the prices are in: the first word of their unit."""
    return bench.limits.of("price_per_gb_month").unit.partition("/")[0]


def storage_gb(estimate: CostEstimate, bench: Bench) -> float:
    """Stored GB (1e9 bytes) of the whole table, index rows included."""
    return bench.population.total * estimate.bytes_per_entity / GB


def billed_requests_per_s(estimate: CostEstimate) -> float:
    """Requests that are paid for, mean: of all classes, analytic ones too, and those that delete expired entities.

    A group transaction is one.
    """
    expiry = estimate.retention.requests_per_s if estimate.retention is not None else 0.0
    return sum(c.rate_per_s * c.requests for c in estimate.classes) + expiry


def requests_price(estimate: CostEstimate, bench: Bench) -> float:
    """The price of a month's requests."""
    return billed_requests_per_s(estimate) * MONTH_S / REQUESTS_PRICED * bench.limits.price_per_10k_transactions


def storage_price(estimate: CostEstimate, bench: Bench) -> float:
    """The price of a month's storage."""
    return storage_gb(estimate, bench) * bench.limits.price_per_gb_month


STORAGE, WRITES, READS, SCANS, EXPIRY = "storage", "writes", "reads", "scans", "expiry"
SPLIT = (STORAGE, WRITES, READS, SCANS, EXPIRY)
"""What a month is paid for: expiry finds and deletes what is too old."""


@dataclass(frozen=True, slots=True)
class ClassPrice:
    """What a month of one class costs; ``kind`` is one of ``SPLIT``, ``requests_per_s`` is on average."""

    name: str
    kind: str
    requests_per_s: float
    price: float


def class_prices(estimate: CostEstimate, bench: Bench) -> tuple[ClassPrice, ...]:
    """The price of each class; they add up, with expiry, to the price of requests."""
    each = MONTH_S / REQUESTS_PRICED * bench.limits.price_per_10k_transactions
    return tuple(
        ClassPrice(c.name, _kind(c), c.rate_per_s * c.requests, c.rate_per_s * c.requests * each)
        for c in estimate.classes
    )


def split(estimate: CostEstimate, bench: Bench) -> dict[str, float]:
    """A month by what it is paid for, in the order of ``SPLIT``."""
    parts = dict.fromkeys(SPLIT, 0.0)
    parts[STORAGE] = storage_price(estimate, bench)
    for each in class_prices(estimate, bench):
        parts[each.kind] += each.price
    expiry = estimate.retention.requests_per_s if estimate.retention is not None else 0.0
    parts[EXPIRY] = expiry * MONTH_S / REQUESTS_PRICED * bench.limits.price_per_10k_transactions
    return parts


def _kind(cost: ClassCost) -> str:
    """Writes with what they read first; of reads, those that go through whole partitions or more are scans."""
    if cost.operation.writes:
        return WRITES
    wide = (Access.PARTITION_SCAN, Access.PARTITION_RANGE_SCAN, Access.TABLE_SCAN)
    return SCANS if cost.plan is not None and cost.plan.access in wide else READS
