"""TERMS: every number that a scheme's cost is told in, each with its unit, basis and source.

A term is one function of a finished estimate and its bench; None where it says nothing. To add one, write the function
and name it in ``COST_TERMS`` (more rows, more skew, more fan-out or higher rates never make it smaller) or in
``OTHER_TERMS``. The result, its schema and the page show it by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

from pkadvisor.design.cost import class_latency
from pkadvisor.design.cost.heat_findings import WORDS
from pkadvisor.design.cost.upkeep import largest_bytes
from pkadvisor.design.load import money
from pkadvisor.design.load.breaks import NOTHING, smallest
from pkadvisor.design.load.counting import row_bytes, stored_each
from pkadvisor.design.load.estimates import LOAD_DECIDES, Bench, ClassCost, CostEstimate, Term, TransactionOutcome
from pkadvisor.design.load.scaling import warm_up_s
from pkadvisor.limits import Limits
from pkadvisor.observe.workload import Basis, Operation

TermOf = Callable[[CostEstimate, Bench], Term | None]
OF_WINDOWS = (
    "entities counted",
    "entities read",
    "entities by bytes",
    "hottest partition at peak",
    "break factor",
    "smallest break factor",
)
"""Terms that follow what windows of time hold."""
CONTRADICTED = "time windows are counted on data whose insert rate differs from the declared one"
DENSITY = "Performance and scalability checklist for Table storage: scanned entities count"


def terms_of(estimate: CostEstimate, bench: Bench) -> tuple[Term, ...]:
    """Every term that applies, in the order of the registry."""
    terms = tuple(term for term in (each(estimate, bench) for each in TERMS) if term is not None)
    if not _windows_decide(estimate, bench):
        return terms
    return tuple(replace(t, basis=Basis.UNKNOWN, source=CONTRADICTED) if t.name in OF_WINDOWS else t for t in terms)


def _windows_decide(estimate: CostEstimate, bench: Bench) -> bool:
    """Whether much of the load lies in windows of time that are counted on data of another density than the inserts."""
    names = {demand.query.name for demand in bench.demands if demand.by_rate is not None}
    if not names:
        return False
    return (
        math.fsum(c.entities_per_s for c in _live(estimate) if c.name in names)
        >= LOAD_DECIDES * estimate.entities_per_s
    )


def _counted(bench: Bench) -> Basis:
    """Whether counts are over all entities, or over those at hand."""
    return Basis.COUNTED if bench.population.complete else Basis.SKETCHED


def _live(estimate: CostEstimate) -> list[ClassCost]:
    return [c for c in estimate.classes if not c.analytic]


def _from(limits: Limits, *names: str) -> str:
    """Where limits come from: name and basis of each."""
    return "limits: " + ", ".join(f"{name} ({limits.of(name).basis})" for name in names)


def _summed(estimate: CostEstimate, value: Callable[[ClassCost], float]) -> float:
    return sum(c.rate_per_s * value(c) for c in _live(estimate))


# -- requests ----------------------------------------------------------------------------------------------------------


def requests(estimate: CostEstimate, bench: Bench) -> Term:
    """All classes but the analytic ones."""
    return Term("requests", estimate.requests_per_s, "requests/s", _counted(bench), "plans of all classes, mean rates")


def requests_peak(estimate: CostEstimate, bench: Bench) -> Term:
    """At the rates that last: the busiest minute where it is known, else the busiest second."""
    source = "plans of all classes, rates of the busiest minute, else second"
    return Term("requests at peak", estimate.requests_per_s_peak, "requests/s", _counted(bench), source)


def continuations(estimate: CostEstimate, bench: Bench) -> Term:
    """Requests that go on where an answer ended."""
    source = _from(bench.limits, "page_entities", "page_bytes", "query_execution_s", "scan_boundary_requests")
    return Term("continuations", _summed(estimate, lambda c: c.continuations), "requests/s", Basis.ESTIMATED, source)


def round_trips(estimate: CostEstimate, bench: Bench) -> Term:
    """The class that waits for most requests one after another."""
    longest = max((c.round_trips for c in _live(estimate)), default=0.0)
    source = "requests that wait for one another, of the class that waits most; " + _from(
        bench.limits, "fan_out_parallel"
    )
    return Term("round trips", longest, "round trips", Basis.ESTIMATED, source)


def locates(estimate: CostEstimate, bench: Bench) -> Term | None:
    """Updates and deletes that must find their entity first."""
    if not any(c.operation in (Operation.UPDATE, Operation.DELETE) for c in _live(estimate)):
        return None
    value = _summed(estimate, lambda c: c.requests_locate)
    return Term(
        "requests to locate", value, "requests/s", _counted(bench), "updates and deletes read before they write"
    )


def attempts(estimate: CostEstimate, bench: Bench) -> Term | None:
    """The read-modify-write that is repeated most."""
    if not any(d.query.read_modify_write for d in bench.demands):
        return None
    worst = max((c.attempts for c in _live(estimate)), default=1.0)
    source = "e^(rate of an entity x read and write) under If-Match, the class that repeats most; " + _from(
        bench.limits, "read_latency_ms_p50", "write_latency_ms_p50"
    )
    return Term("attempts", worst, "attempts/commit", Basis.DERIVED, source)


# -- entities and bytes ------------------------------------------------------------------------------------------------


def entities(estimate: CostEstimate, bench: Bench) -> Term:
    """Read and written."""
    return Term("entities counted", estimate.entities_per_s, "entities/s", _counted(bench), DENSITY)


def entities_read(estimate: CostEstimate, bench: Bench) -> Term:
    """Scanned, whether returned or not."""
    return Term("entities read", _summed(estimate, lambda c: c.entities_read), "entities/s", _counted(bench), DENSITY)


def entities_written(estimate: CostEstimate, bench: Bench) -> Term:
    """Rows, index rows included."""
    value = _summed(estimate, lambda c: c.entities_written)
    return Term("entities written", value, "entities/s", _counted(bench), "rows written, index rows included")


def entities_by_bytes(estimate: CostEstimate, bench: Bench) -> Term:
    """The same, where a large row counts several times."""
    value = _summed(estimate, lambda c: c.entities_by_bytes)
    unit = f"entities of {bench.limits.capacity_entity_bytes:,} bytes/s"
    source = "max(1, bytes / size) for each row read or written; " + _from(bench.limits, "capacity_entity_bytes")
    return Term("entities by bytes", value, unit, Basis.ESTIMATED, source)


def bytes_written(estimate: CostEstimate, bench: Bench) -> Term:
    """Stored bytes of all rows written."""
    value = _summed(estimate, lambda c: c.bytes_written)
    return Term("bytes written", value, "bytes/s", Basis.ESTIMATED, "capacity formula of 2010, index rows included")


def write_amplification(estimate: CostEstimate, bench: Bench) -> Term | None:
    """Rows written for an entity that changes."""
    changed = _summed(estimate, lambda c: c.entities_changed)
    if not changed:
        return None
    value = _summed(estimate, lambda c: c.entities_written) / changed
    return Term("write amplification", value, "rows/entity", _counted(bench), "rows written per entity that changes")


def byte_amplification(estimate: CostEstimate, bench: Bench) -> Term | None:
    """Bytes written for a byte that changes."""
    changed = _summed(estimate, lambda c: c.entities_changed) * row_bytes(estimate.scheme, bench)[0]
    if not changed:
        return None
    value = _summed(estimate, lambda c: c.bytes_written) / changed
    source = "stored bytes of all rows written per stored byte of the entity"
    return Term("byte amplification", value, "bytes/byte", Basis.ESTIMATED, source)


def index_bytes(estimate: CostEstimate, bench: Bench) -> Term:
    """What index rows add to an entity."""
    value = sum(stored_each(estimate.scheme, bench)[1:])
    return Term("index rows", value, "bytes/entity", Basis.ESTIMATED, "capacity formula of 2010")


def stored(estimate: CostEstimate, bench: Bench) -> Term:
    """All rows of an entity."""
    return Term("stored", estimate.bytes_per_entity, "bytes/entity", Basis.ESTIMATED, "capacity formula of 2010")


def entity_size(estimate: CostEstimate, bench: Bench) -> Term:
    """The largest entity."""
    source = "largest sampled, or the declared size; " + _from(bench.limits, "entity_bytes")
    return Term("largest entity", largest_bytes(estimate.scheme, bench), "bytes", Basis.ESTIMATED, source)


# -- load and its limits -----------------------------------------------------------------------------------------------


def hottest_partition(estimate: CostEstimate, bench: Bench) -> Term:
    """Load of the hottest partition at the peak."""
    value = estimate.hot.entities_per_s if estimate.hot else 0.0
    source = _from(bench.limits, "scan_weight", "partition_entities_per_s")
    return Term("hottest partition at peak", value, "entities/s", _counted(bench), source)


def latency_excess(estimate: CostEstimate, bench: Bench) -> Term:
    """The worst p99 against its goal."""
    source = "worst p99 of a class / its goal; " + _from(bench.limits, "read_latency_ms_p99", "write_latency_ms_p99")
    return Term("latency against goal", estimate.latency_excess, "x", Basis.ASSUMED, source)


def consistency_window(estimate: CostEstimate, bench: Bench) -> Term | None:
    """How long an index row elsewhere is behind its entity."""
    if all(estimate.scheme.same_partition(row) for row in estimate.scheme.index_rows):
        return None
    source = (
        "p99 of the second request; if the client fails between the two, the row stays behind until it is repaired; "
        + _from(bench.limits, "write_latency_ms_p99")
    )
    return Term("consistency window", bench.limits.write_latency_ms_p99, "ms", Basis.ASSUMED, source)


def break_factor(estimate: CostEstimate, bench: Bench) -> Term:
    """Growth until a limit is passed."""
    return Term("break factor", estimate.break_factor, "x", Basis.ESTIMATED, estimate.break_cause)


def smallest_break(estimate: CostEstimate, bench: Bench) -> Term:
    """The least growth, of whatever kind, until a limit is passed."""
    first = smallest(estimate.breaks)
    if first is None:
        return Term("smallest break factor", math.inf, "x", Basis.ESTIMATED, NOTHING)
    kinds = " or ".join(WORDS[kind] for kind in first.by)
    return Term("smallest break factor", first.factor, "x", Basis.ESTIMATED, f"{first.cause}, by growth of {kinds}")


def warm_up(estimate: CostEstimate, bench: Bench) -> Term:
    """Ranges that a cold table, which starts as one, must be split into before its peak holds."""
    peak = sum(
        c.peak_per_s * (c.entities_read * bench.limits.scan_weight + c.entities_written) for c in _live(estimate)
    )
    limits = bench.limits
    ranges = max(1, math.ceil(peak / limits.range_entities_per_s))
    minutes = warm_up_s(ranges, limits) / 60
    source = f"peak load / target of a range, which splits reach after about {minutes:,.0f} minutes of load; "
    names = ("range_entities_per_s", "t_sustain_s", "t_eval_s", "t_move_s", "splits_per_pass")
    return Term("warm-up", float(ranges), "ranges", Basis.ASSUMED, source + _from(limits, *names))


def horizon(estimate: CostEstimate, bench: Bench) -> Term:
    """Growth that must be survived."""
    declared = bench.workload.growth is not None
    source = "declared growth, over all of its time" if declared else "no growth is declared"
    return Term("horizon", estimate.horizon_factor, "x", Basis.DECLARED if declared else Basis.ASSUMED, source)


def partitions(estimate: CostEstimate, bench: Bench) -> Term:
    """Of the main key."""
    return Term(
        "partitions", estimate.partitions, "partitions", _counted(bench), "distinct PartitionKeys of the main key"
    )


# -- group transactions ------------------------------------------------------------------------------------------------


def _sets_per_s(outcome: TransactionOutcome) -> float:
    return outcome.entities_per_s / max(1.0, outcome.mean_entities)


def _whole_share(outcome: TransactionOutcome) -> float:
    """Share of the sets that one group transaction takes."""
    fit = 1 - outcome.too_large / outcome.groups if outcome.groups else 1.0
    return outcome.share_kept * fit


def group_transactions(estimate: CostEstimate, bench: Bench) -> Term | None:
    """Sets that change in one group transaction."""
    if not estimate.transactions:
        return None
    value = sum(_sets_per_s(t) * _whole_share(t) for t in estimate.transactions)
    limits = _from(bench.limits, "group_transaction_entities", "group_transaction_bytes")
    source = f"sets whose common values fix the PartitionKey; {limits}"
    return Term("group transactions", value, "sets/s", _counted(bench), source)


def requests_saved(estimate: CostEstimate, bench: Bench) -> Term | None:
    """What the entities of kept sets would need beyond, one by one; inserts alone, as they are counted in requests."""
    if not estimate.transactions:
        return None
    by_name = {c.name: c for c in estimate.classes if c.operation in (Operation.INSERT, Operation.UPSERT)}
    saved = 0.0
    for outcome, declared in zip(estimate.transactions, bench.workload.transactions, strict=True):
        written = sum(by_name[n].rate_per_s * by_name[n].entities_changed for n in declared.together if n in by_name)
        saved += written * (1 - outcome.requests_each)
    return Term(
        "requests saved", saved, "requests/s", _counted(bench), "inserts in group transactions against one by one"
    )


def atomicity_lost(estimate: CostEstimate, bench: Bench) -> Term | None:
    """Entities of sets that take several requests, of which the last may never come."""
    if not estimate.transactions:
        return None
    value = sum(t.entities_per_s * (1 - _whole_share(t)) for t in estimate.transactions)
    source = "entities of sets that spread over partitions, or are too large for one group transaction"
    return Term("atomicity lost", value, "entities/s", _counted(bench), source)


def pairs_together(estimate: CostEstimate, bench: Bench) -> Term | None:
    """Pairs of values whose entities lie in one partition by rule, of the declared pair that is kept least."""
    shares = [t.guaranteed for t in estimate.transactions if t.guaranteed is not None]
    if not shares:
        return None
    least = min(shares, key=lambda each: each.share)
    source = "pairs whose entities have all that the PartitionKey reads alike; equal buckets of a hash do not count"
    return Term("pairs in one partition", 100 * least.share, "% of pairs", least.basis, source)


# -- upkeep ------------------------------------------------------------------------------------------------------------


def retained(estimate: CostEstimate, bench: Bench) -> Term | None:
    """Requests that find and delete expired entities."""
    retention = estimate.retention
    if retention is None:
        return None
    return Term("retention", retention.requests_per_s, "requests/s", Basis.ESTIMATED, retention.how)


def _erasure_term(name: str, field: str, unit: str) -> TermOf:
    """A number of the rows that one value of a property leads to, all of which are to be deleted."""

    def term(estimate: CostEstimate, bench: Bench) -> Term | None:
        erased = estimate.erasure
        if erased is None:
            return None
        how = "found by a scan" if erased.scans else "found by the key"
        source = f"one value of {erased.property}, index rows included; {how}"
        return Term(name, getattr(erased, field), unit, Basis.ESTIMATED, source)

    return term


erasure_rows = _erasure_term("erasure", "rows", "rows")
erasure_rows_max = _erasure_term("erasure at most", "rows_max", "rows")
erasure_requests = _erasure_term("erasure requests", "requests", "requests")
erasure_requests_max = _erasure_term("erasure requests at most", "requests_max", "requests")


# -- money -------------------------------------------------------------------------------------------------------------


def storage(estimate: CostEstimate, bench: Bench) -> Term:
    """The whole table."""
    source = "entities of the table x stored bytes; 1 GB = 1e9 bytes"
    return Term("storage", money.storage_gb(estimate, bench), "GB", Basis.ESTIMATED, source)


def _price(name: str, value: float, bench: Bench, *limits: str) -> Term:
    dates = ", ".join(sorted({bench.limits.of(n).date for n in limits} - {""}))
    source = _from(bench.limits, *limits) + (f", checked {dates}" if dates else "")
    return Term(name, value, f"{money.currency(bench)}/month", Basis.ASSUMED, source)


def requests_price(estimate: CostEstimate, bench: Bench) -> Term:
    """All requests of a month, analytic ones and deletes of expired entities included."""
    return _price("price of requests", money.requests_price(estimate, bench), bench, "price_per_10k_transactions")


def storage_price(estimate: CostEstimate, bench: Bench) -> Term:
    """All stored bytes for a month."""
    return _price("price of storage", money.storage_price(estimate, bench), bench, "price_per_gb_month")


def price(estimate: CostEstimate, bench: Bench) -> Term:
    """Both together."""
    both = money.requests_price(estimate, bench) + money.storage_price(estimate, bench)
    return _price("price", both, bench, "price_per_10k_transactions", "price_per_gb_month")


COST_TERMS: tuple[TermOf, ...] = (
    requests,
    requests_peak,
    continuations,
    round_trips,
    locates,
    attempts,
    entities,
    entities_read,
    entities_written,
    entities_by_bytes,
    bytes_written,
    write_amplification,
    byte_amplification,
    index_bytes,
    stored,
    entity_size,
    hottest_partition,
    class_latency.throttled,
    class_latency.fan_out_latency,
    warm_up,
    latency_excess,
    consistency_window,
    atomicity_lost,
    retained,
    erasure_rows,
    erasure_rows_max,
    erasure_requests,
    erasure_requests_max,
    storage,
    requests_price,
    storage_price,
    price,
)
"""More is worse, and more rows, more skew, more fan-out or higher rates never make one smaller."""

OTHER_TERMS: tuple[TermOf, ...] = (
    group_transactions,
    requests_saved,
    pairs_together,
    break_factor,
    smallest_break,
    class_latency.rate_by_skew,
    class_latency.waiting,
    horizon,
    partitions,
)
"""What is not a cost: more may be better."""

TERMS: tuple[TermOf, ...] = (*COST_TERMS, *OTHER_TERMS)


def term_named(terms: Iterable[Term], name: str) -> Term | None:
    """The term of that name, where there is one."""
    return next((term for term in terms if term.name == name), None)
