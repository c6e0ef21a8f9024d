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
         "requests_before": 1.0, "requests_after": null, "read_before": "point", "read_after": "table scan",
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
from dataclasses import replace
from typing import TYPE_CHECKING

from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.load.estimates import Bench, CostEstimate
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.errors import AdvisorError
from pkadvisor.review.facts.changes import index_rows, key_change
from pkadvisor.review.gate.gate import told
from pkadvisor.review.rules.evaluate import Evaluation
from pkadvisor.review.views.findings import Finding, Status
from pkadvisor.review.views.key_loads import entities_of
from pkadvisor.review.views.reads import QueryRead, direction, queries_of, read_before, read_of, read_under
from pkadvisor.review.views.views import DesignView, TableView
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    from pkadvisor.review.rules.evaluate import Evaluation

RATCHET = 1.05
"""A metric that grew beyond this counts as worse."""
SAME = 0.01
"""Changes within this share of the number before are none."""
MS_MAX = 60_000.0
"""Above a minute one time is as bad as another."""
ACCESS_RULES = frozenset(("PK201", "PK202", "PK204", "PK209", "PK211", "PK215", "PK216"))
"""Rules that say in which way a query reads too much: one cause at a time."""
LOST, WORSE_ACCESS = "PK802", "PK803"
UNKNOWN = "unknown"
WALKS = "walks without bound"


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
        """After - before; None where one of them is unknown, or both are times that nobody waits for."""
        if self.before is None or self.after is None or self.capped:
            return None
        return self.after - self.before

    @property
    def capped(self) -> bool:
        """Whether both sides are above a minute, where a request was given up long ago: the model tells no more."""
        return self.unit == "ms" and min(self.before or 0.0, self.after or 0.0) > MS_MAX

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
        return "worse" if (change > 0) == self.more_is_worse else "better"


@dataclass(frozen=True, slots=True)
class QueryChange:
    """How a query finds its entities, before and after; None where it was or is not, or cannot be known."""

    table: str
    kind: str | None
    name: str
    before: QueryRead | None
    after: QueryRead | None

    @property
    def direction(self) -> str:
        """better, worse, same or unknown."""
        return direction(self.before, self.after)


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
class DesignComparison:
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
) -> DesignComparison:
    """What changed in a design; ``old`` is None where there was none. ``design.compare_with(old)`` was called; tables
    that stood in another file have what they were all the same."""
    both = [t for t in design.tables if t.before is not None]
    if old is None and not both:
        return DesignComparison(against, new_design=not notes, notes=tuple(notes))
    names, were = _names(design), _names(old) if old is not None else {}
    moved = {t.section.table.lower() for t in both}
    profile_changed = profile_changed and any(t.has_data or (t.before and t.before.has_data) for t in design.tables)
    load_changed = profile_changed or any(_declared_load(t) != _declared_load(t.before) for t in both)
    return DesignComparison(
        against,
        profile_changed=profile_changed,
        load_changed=load_changed,
        notes=tuple(notes),
        tables_added=tuple(name for key, name in names.items() if key not in were and key not in moved),
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
    paired = _paired(view, _counts(view, old), _counts(view, view.scheme))
    return tuple(m for m in paired if m.name != WALKS or m.before or m.after)


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
    out = []
    for name in dict.fromkeys((*was, *now)):
        one = now.get(name) or was[name]
        # Numbers of arrays compare as arrays do: ``>`` gives their own bool, which is neither True nor False.
        old, new = (float(m.value) if m is not None else None for m in (was.get(name), now.get(name)))
        section = view.section
        out.append(Metric(section.table, section.kind, name, one.unit, old, new, one.limit, one.more_is_worse))
    return tuple(out)


def _measures(estimate: CostEstimate | None, bench: Bench | None) -> list[_Measure]:
    """What is compared of two designs with data."""
    if estimate is None or bench is None:
        return []
    live = [c for c in estimate.classes if not c.analytic]
    made = []
    if estimate.hot is not None:
        load = estimate.hot.entities_per_s / bench.limits.partition_entities_per_s
        made.append(_Measure("peak partition load", "x target", load, 1.0))
        made.append(_Measure("hottest partition", "share of the load", estimate.hot.share))
    made.append(_Measure("requests", "requests/s", estimate.requests_per_s))
    made.append(_Measure("entities counted", "entities/s", estimate.entities_per_s))
    slowest = max(live, key=lambda c: c.latency_ms_p99, default=None)
    if slowest is not None:
        goals = [c.latency_goal_ms_p99 for c in live if c.latency_goal_ms_p99 > 0]
        made.append(_Measure("worst p99", "ms", slowest.latency_ms_p99, slowest.latency_goal_ms_p99 or None))
        if goals:
            made.append(_Measure("p99 against its goal", "x goal", estimate.latency_excess, 1.0))
    price = next((t for t in estimate.terms if t.name == "price"), None)
    if price is not None:
        made.append(_Measure("cost", price.unit, price.value))
    scans = sum(c.rate_per_s for c in live if c.plan is not None and c.plan.access is Access.TABLE_SCAN)
    made.append(_Measure("full scans", "scans/day", 86_400.0 * scans))
    made.append(_Measure("partitions", "partitions", float(estimate.partitions), None, None))
    made.append(_Measure("stored", "bytes/entity", estimate.bytes_per_entity))
    return made


def _counts(view: TableView, scheme: KeyScheme | None) -> list[_Measure]:
    """What can be said of keys without data."""
    if scheme is None:
        return []
    asked = [c for c in queries_of(view) if not c.analytic]
    best = [r for c in asked if (r := read_under(view, c, scheme)) is not None]
    scans = sum(r.access is Access.TABLE_SCAN for r in best)
    # With the table scans, so that a partition scan that became one is no gain.
    parts = sum(r.access not in (Access.POINT, Access.ROW_RANGE) and not r.in_order for r in best)
    walks = sum(r.periods and r.requests is None for r in best)
    return [
        _Measure("table scans", "queries", float(scans)),
        _Measure("partition and table scans", "queries", float(parts)),
        _Measure(WALKS, "queries", float(walks)),
        _Measure("largest fan-out", "requests/query", max((r.requests for r in best if r.requests), default=1.0)),
        _Measure("index rows", "rows/entity", float(len(scheme.index_rows))),
    ]


# -- queries and keys --------------------------------------------------------------------------------------------------


def _queries(view: TableView) -> Iterable[QueryChange]:
    section = view.section
    now = queries_of(view)
    for query in now:
        yield QueryChange(section.table, section.kind, query.name, read_before(view, query), read_of(view, query))
    names = {c.name for c in now}
    for old in queries_of(view.before) if view.before is not None else ():
        if old.name not in names and view.before is not None:
            yield QueryChange(section.table, section.kind, old.name, read_of(view.before, old), None)


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
    done: list[Evaluation] = []
    seen: set[str] = set()
    for evaluation in evaluations:
        findings = []
        for finding in evaluation.findings:
            seen.add(finding.fingerprint)
            findings.append(_with_status(finding, said.get(finding.fingerprint), evaluation.rule.ratchet))
        done.append(replace(evaluation, findings=tuple(findings)))
    asked = {e.rule.id for e in evaluations if e.answered}
    done = _told_once(done)
    fresh = [f for e in done for f in e.findings if f.status is Status.NEW and f.rule in (*ACCESS_RULES, LOST)]
    fixed = tuple(f for key, f in said.items() if key not in seen and f.rule in asked and not _replaced(f, fresh))
    return tuple(done), fixed


def _told_once(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """One finding for one query that got worse: the lost point read stands for what it reads now, and what it reads
    now for any other change of access."""
    fresh = [f for e in evaluations for f in e.findings if f.status is Status.NEW and f.suppressed is None]
    lost = {f.path for f in fresh if f.rule == LOST}
    effects = [f for f in fresh if f.rule in ACCESS_RULES]

    def doubles(finding: Finding) -> bool:
        if finding.status is not Status.NEW or finding.suppressed is not None:
            return False
        if finding.rule in ACCESS_RULES:
            return finding.path in lost
        return finding.rule == WORSE_ACCESS and any(
            f.path == finding.path and f.severity.rank <= finding.severity.rank for f in effects
        )

    return [replace(e, findings=tuple(f for f in e.findings if not doubles(f))) for e in evaluations]


def _replaced(gone: Finding, fresh: Sequence[Finding]) -> bool:
    """Whether a query that read too much in one way now does in another, which is as bad or worse."""
    return gone.rule in ACCESS_RULES and any(
        f.path == gone.path and f.severity.rank <= gone.severity.rank for f in fresh
    )


def _with_status(finding: Finding, old: Finding | None, ratchet: bool) -> Finding:
    if old is None:
        return replace(finding, status=Status.NEW)
    before = old.measured if old.unit == finding.unit else None
    worse = finding.severity.rank < old.severity.rank or (ratchet and grew(finding.measured, before))
    return replace(finding, status=Status.WORSE if worse else Status.UNCHANGED, before=before)


def _worse_of(one: Finding, other: Finding) -> Finding:
    if one.severity.rank != other.severity.rank:
        return min(one, other, key=lambda f: f.severity.rank)
    return max(one, other, key=lambda f: f.measured if f.measured is not None else 0.0)


def counts(findings: Iterable[Finding], fixed: Sequence[Finding]) -> dict[str, int]:
    """How many findings that are told have which status."""
    statuses = [f.status for f in findings if told(f)]
    return {str(s): sum(f is s for f in statuses) for s in (Status.NEW, Status.WORSE, Status.UNCHANGED)} | {
        "fixed": len(fixed)
    }


# -- What a review makes of one design file.


@dataclass(frozen=True, slots=True)
class DesignReview:
    """One design with what was found, or the error for which it could not be read."""

    name: str
    view: DesignView | None
    evaluations: tuple[Evaluation, ...]
    error: AdvisorError | None = None
    comparison: DesignComparison | None = None
    """What changed since the design that it is compared with."""
