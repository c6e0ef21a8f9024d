"""What a change of a design does: findings new, worse and fixed, numbers before and after, keys to rewrite.

The ``diff`` of a design in the result of a review; None where there is nothing to compare with:

    {
      "against": "origin/main",            # the label: a file or a ref
      "same_load": true,                   # metrics and queries: both designs under the load of the change
      "new_design": false,                 # the file did not exist before: everything is new, the lists are empty
      "profile_changed": false,            # the profile at the ref is another one
      "load_changed": false,               # it, or the rates that the design declares
      "notes": [],                         # what could not be compared, in sentences
      "tables_added": [], "tables_removed": [],
      "metrics": [
        {"table": "Telemetry", "kind": null, "name": "peak partition load", "unit": "x target", "before": 0.74,
         "after": 1.7, "change": 0.96, "direction": "worse", "limit": 1.0}
      ],
      "load_metrics": [],                  # the same, where the load changed: the old keys under the old and new load
      "queries": [
        {"table": "Telemetry", "kind": null, "name": "latest", "access_before": "point", "access_after": "table scan",
         "direction": "worse"}
      ],
      "keys": [
        {"table": "Telemetry", "kind": null, "class": "rewrite", "entities": 41200000.0,
         "partition_key": ["{tenantId}", "{day}"], "row_key": ["{eventId}", "{eventId}"],
         "index_rows_added": [], "index_rows_removed": []}
      ],
      "fixed": [],                         # findings that are gone, each as in "findings"
      "counts": {"new": 1, "worse": 0, "unchanged": 2, "fixed": 0}
    }

``direction`` is better, worse, same (within 1 %) or unknown; ``class`` is none, additive, rewrite or unknown. Numbers
are null where they cannot be known; ``change`` is after - before. All metrics of a design without data are counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pkadvisor.design.plan import Access
from pkadvisor.observe.workload import Operation
from pkadvisor.review.facts.changes import RANKS, access_before, index_rows, key_change
from pkadvisor.review.facts.tables import entities_of
from pkadvisor.review.findings import Finding, Status

if TYPE_CHECKING:
    from pkadvisor.design.estimates import Bench, CostEstimate
    from pkadvisor.design.scheme import KeyScheme
    from pkadvisor.review.evaluate import Evaluation
    from pkadvisor.review.views import DesignView, TableView

RATCHET = 1.05
"""A metric that grew beyond this counts as worse."""
SAME = 0.01
"""Changes within this share of the number before are none."""
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Metric:
    """A number before and after; None where it cannot be known. ``more_is_worse`` is None where neither is."""

    table: str
    kind: str | None
    name: str
    unit: str
    before: float | None
    after: float | None
    limit: float | None = None
    more_is_worse: bool | None = True

    @property
    def change(self) -> float | None:
        """After - before."""
        return None if self.before is None or self.after is None else self.after - self.before

    @property
    def direction(self) -> str:
        """better, worse, same or unknown."""
        change = self.change
        if change is None or self.before is None:
            return UNKNOWN
        if abs(change) <= SAME * abs(self.before):
            return "same"
        if self.more_is_worse is None:
            return UNKNOWN
        return "worse" if (change > 0) is self.more_is_worse else "better"


@dataclass(frozen=True, slots=True)
class QueryChange:
    """How a query finds its entities, before and after; None where it was or is not, or cannot be known."""

    table: str
    kind: str | None
    name: str
    access_before: str | None
    access_after: str | None

    @property
    def direction(self) -> str:
        """better, worse, same or unknown."""
        if self.access_before is None or self.access_after is None:
            return UNKNOWN
        lost = RANKS.index(self.access_after) - RANKS.index(self.access_before)
        return "worse" if lost > 0 else "better" if lost < 0 else "same"


@dataclass(frozen=True, slots=True)
class KeyChange:
    """The keys of a table before and after; ``change`` is none, additive, rewrite or unknown; ``entities`` those that
    get other keys or further rows, None where nobody knows how many there are."""

    table: str
    kind: str | None
    change: str
    entities: float | None
    partition_key: tuple[str | None, str | None]
    row_key: tuple[str | None, str | None]
    index_rows_added: tuple[str, ...]
    index_rows_removed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A design beside what it was; both under the load of the change."""

    against: str
    new_design: bool = False
    profile_changed: bool = False
    load_changed: bool = False
    notes: tuple[str, ...] = ()
    tables_added: tuple[str, ...] = ()
    tables_removed: tuple[str, ...] = ()
    metrics: tuple[Metric, ...] = ()
    load_metrics: tuple[Metric, ...] = ()
    queries: tuple[QueryChange, ...] = ()
    keys: tuple[KeyChange, ...] = ()
    fixed: tuple[Finding, ...] = ()


def compared(
    design: DesignView,
    old: DesignView | None,
    against: str,
    *,
    profile_changed: bool = False,
    notes: Sequence[str] = (),
) -> Comparison:
    """What changed in a design; ``old`` is None where there was none. ``design.compare_with(old)`` was called."""
    if old is None:
        return Comparison(against, new_design=not notes, notes=tuple(notes))
    names, were = _names(design), _names(old)
    both = [t for t in design.tables if t.before is not None]
    load_changed = profile_changed or any(_declared_load(t) != _declared_load(t.before) for t in both)
    return Comparison(
        against,
        profile_changed=profile_changed,
        load_changed=load_changed,
        notes=tuple(notes),
        tables_added=tuple(name for key, name in names.items() if key not in were),
        tables_removed=tuple(name for key, name in were.items() if key not in names),
        metrics=tuple(m for t in both for m in metrics(t)),
        load_metrics=tuple(m for t in both for m in _load_metrics(t)) if load_changed else (),
        queries=tuple(q for t in both for q in _queries(t)),
        keys=tuple(_keys(t) for t in both),
    )


def _names(design: DesignView) -> dict[str, str]:
    return {t.section.table.lower(): t.section.table for t in design.tables}


def _declared_load(view: TableView | None) -> object:
    """What a design file says of the load: classes with their rates, entities, growth."""
    declared = view.section.declared if view is not None else None
    if declared is None:
        return None
    classes = tuple((c.name, c.kind, c.rate, c.entities_per_request) for c in declared.workload.classes)
    return classes, declared.entities_total, declared.workload.growth


# -- numbers -----------------------------------------------------------------------------------------------------------


def metrics(view: TableView) -> tuple[Metric, ...]:
    """Numbers of the keys before and after, both under the load of today; without data, counts."""
    before, after = view.estimate_before, view.estimate
    if before is not None or after is not None:
        return _paired(view, _measures(before, view.bench), _measures(after, view.bench))
    old = view.before.scheme if view.before is not None else None
    return _paired(view, _counts(view, old), _counts(view, view.scheme))


def _load_metrics(view: TableView) -> tuple[Metric, ...]:
    """The old keys under the load of before, and under that of today."""
    if view.before is None or view.before.estimate is None or view.estimate_before is None:
        return ()
    old = _measures(view.before.estimate, view.before.bench)
    return _paired(view, old, _measures(view.estimate_before, view.bench))


@dataclass(frozen=True, slots=True)
class _Measure:
    name: str
    unit: str
    value: float
    limit: float | None = None
    more_is_worse: bool | None = True


def _paired(view: TableView, before: Iterable[_Measure], after: Iterable[_Measure]) -> tuple[Metric, ...]:
    was, now = {m.name: m for m in before}, {m.name: m for m in after}
    found = []
    for name in dict.fromkeys((*was, *now)):
        one = now.get(name) or was[name]
        old, new = (m.value if m is not None else None for m in (was.get(name), now.get(name)))
        section = view.section
        found.append(Metric(section.table, section.kind, name, one.unit, old, new, one.limit, one.more_is_worse))
    return tuple(found)


def _measures(found: CostEstimate | None, bench: Bench | None) -> list[_Measure]:
    """What is compared of two designs with data."""
    if found is None or bench is None:
        return []
    live = [c for c in found.classes if not c.analytic]
    made = []
    if found.hot is not None:
        load = found.hot.entities_per_s / bench.limits.partition_entities_per_s
        made.append(_Measure("peak partition load", "x target", load, 1.0))
        made.append(_Measure("hottest partition", "share of the load", found.hot.share))
    made.append(_Measure("requests", "requests/s", found.requests_per_s))
    made.append(_Measure("entities counted", "entities/s", found.entities_per_s))
    slowest = max(live, key=lambda c: c.latency_ms_p99, default=None)
    if slowest is not None:
        goals = [c.latency_goal_ms_p99 for c in live if c.latency_goal_ms_p99 > 0]
        made.append(_Measure("worst p99", "ms", slowest.latency_ms_p99, slowest.latency_goal_ms_p99 or None))
        if goals:
            made.append(_Measure("p99 against its goal", "x goal", found.latency_excess, 1.0))
    price = next((t for t in found.terms if t.name == "price"), None)
    if price is not None:
        made.append(_Measure("cost", price.unit, price.value))
    scans = sum(c.rate_per_s for c in live if c.plan is not None and c.plan.access is Access.TABLE_SCAN)
    made.append(_Measure("full scans", "scans/day", 86_400.0 * scans))
    made.append(_Measure("partitions", "partitions", float(found.partitions), None, None))
    made.append(_Measure("stored", "bytes/entity", found.bytes_per_entity))
    return made


def _counts(view: TableView, scheme: KeyScheme | None) -> list[_Measure]:
    """What can be said of keys without data."""
    if scheme is None:
        return []
    asked = [c for c in view.workload.classes if c.operation is Operation.QUERY and not c.analytic]
    best = [found[0] for c in asked if (found := view.plans_under(c, scheme))]
    scans = sum(p.access is Access.TABLE_SCAN for p in best)
    parts = sum(p.access in (Access.PARTITION_SCAN, Access.PARTITION_RANGE_SCAN) for p in best)
    return [
        _Measure("table scans", "queries", float(scans)),
        _Measure("partition scans", "queries", float(parts)),
        _Measure("largest fan-out", "requests/query", float(max((p.buckets for p in best), default=1))),
        _Measure("index rows", "rows/entity", float(len(scheme.index_rows))),
    ]


# -- queries and keys --------------------------------------------------------------------------------------------------


def _queries(view: TableView) -> Iterable[QueryChange]:
    section = view.section
    now = [c for c in view.workload.classes if c.operation is Operation.QUERY]
    for query in now:
        plan = view.plan_of(query)
        after = None if plan is None else str(plan.access)
        yield QueryChange(section.table, section.kind, query.name, access_before(view, query), after)
    names = {c.name for c in now}
    for old in view.before.workload.classes if view.before is not None else ():
        if old.operation is Operation.QUERY and old.name not in names and view.before is not None:
            was = view.before.plan_of(old)
            yield QueryChange(section.table, section.kind, old.name, None if was is None else str(was.access), None)


def _keys(view: TableView) -> KeyChange:
    change = key_change(view) or UNKNOWN
    was, now = index_rows(view.before), index_rows(view)
    return KeyChange(
        table=view.section.table,
        kind=view.section.kind,
        change=change,
        entities=entities_of(view) if change in ("additive", "rewrite") else None,
        partition_key=(_text(view.before, True), _text(view, True)),
        row_key=(_text(view.before, False), _text(view, False)),
        index_rows_added=tuple(row for row in now if row not in was),
        index_rows_removed=tuple(row for row in was if row not in now),
    )


def _text(view: TableView | None, is_partition: bool) -> str | None:
    return None if view is None or view.scheme is None else view.raw_text(0, is_partition)


# -- findings ----------------------------------------------------------------------------------------------------------


def grew(measured: float | None, before: float | None) -> bool:
    """Whether a metric is worse by more than the ratchet lets pass; more is worse."""
    return measured is not None and before is not None and measured > before and measured > RATCHET * before


def with_statuses(
    evaluations: Sequence[Evaluation], old: Sequence[Evaluation] | None
) -> tuple[tuple[Evaluation, ...], tuple[Finding, ...]]:
    """(the evaluations with a status for each finding, findings that are gone).

    ``old`` are the evaluations of the design before, None where there was none. What was suppressed then was not
    said. A rule that was not asked now fixes nothing.
    """
    said: dict[str, Finding] = {}
    for finding in (f for e in old or () for f in e.findings if f.suppressed is None):
        known = said.get(finding.fingerprint)
        said[finding.fingerprint] = finding if known is None else _worse_of(known, finding)
    done, seen = [], set[str]()
    for evaluation in evaluations:
        findings = []
        for finding in evaluation.findings:
            seen.add(finding.fingerprint)
            findings.append(_with_status(finding, said.get(finding.fingerprint), evaluation.rule.ratchet))
        done.append(replace(evaluation, findings=tuple(findings)))
    asked = {e.rule.id for e in evaluations if e.answered}
    fixed = tuple(f for key, f in said.items() if key not in seen and f.rule in asked)
    return tuple(done), fixed


def _with_status(finding: Finding, old: Finding | None, ratchet: bool) -> Finding:
    if old is None:
        return replace(finding, status=Status.NEW)
    worse = finding.severity.rank < old.severity.rank or (ratchet and grew(finding.measured, old.measured))
    return replace(finding, status=Status.WORSE if worse else Status.UNCHANGED, before=old.measured)


def _worse_of(one: Finding, other: Finding) -> Finding:
    if one.severity.rank != other.severity.rank:
        return min(one, other, key=lambda f: f.severity.rank)
    return max(one, other, key=lambda f: f.measured if f.measured is not None else 0.0)


def counts(findings: Iterable[Finding], fixed: Sequence[Finding]) -> dict[str, int]:
    """How many findings that are not suppressed have which status."""
    found = [f.status for f in findings if f.suppressed is None]
    return {str(s): sum(f is s for f in found) for s in (Status.NEW, Status.WORSE, Status.UNCHANGED)} | {
        "fixed": len(fixed)
    }
