"""How sure the advice is: intervals of every cost of a scheme, and in how many resamples it stays ahead of its rivals.

Both schemes are costed on the same resamples, so that what moves both alike does not count as doubt (paired, Efron and
Tibshirani 1993, 8). Each resample's deviation from the mean of all is added to the cost on the whole sample, scaled to
its size; then the goals decide anew. Uniqueness, legality and transactions are not resampled: they are checked over
every row where that is possible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pkadvisor.design.choice.certainty.cost_intervals import (
    BREAK,
    ENTITIES,
    LATENCY,
    REQUESTS,
    SHARE,
    STORED,
    Resampled,
    resample,
    terms_of,
)
from pkadvisor.design.choice.choice import REQUESTS_TOLERANCE
from pkadvisor.design.choice.goals import better, good_enough, loss
from pkadvisor.design.cost.resample import BenchDraw, draw_of
from pkadvisor.design.load.estimates import Bench, Confidence, CostEstimate, Term, Violation
from pkadvisor.documents.part import HOTTER_KEY
from pkadvisor.lazy import Floats, np, special
from pkadvisor.observe.workload import Basis

if TYPE_CHECKING:
    from pkadvisor.design.choice.search import Advice

RIVALS = 2
"""Schemes behind the winner that it is compared with."""
HOT_ALREADY = 0.1
"""Part of its target that the hottest partition at hand takes, from which on a hotter one may pass it: assumed."""
OF_FILE = "of this file"
"""What resamples are of where nobody says that the file is the whole table, or how it was drawn."""
SURE = 0.95
"""Share of resamples below which the answer is *cannot tell*."""
_CAPACITY = ("entities/s", "requests/s")
_DECIDES = {"requests": "requests_per_s", "entities": "entities_per_s", "storage": "bytes_per_entity"}
"""Goals that compare one number, and the field that holds it."""

# -- intervals ---------------------------------------------------------------------------------------------------------


# -- comparison --------------------------------------------------------------------------------------------------------


def compare(winner: Resampled, rival: Resampled, bench: Bench, draw: BenchDraw, *, keep: bool = False) -> Confidence:
    """In how many resamples ``winner`` stays ahead of ``rival``; where that is open, how many more rows would tell.

    ``keep``: the winner is in place and stays if good enough.
    """
    mine, theirs = winner.estimate, rival.estimate
    goal = loss(theirs, mine).goal if better(mine, theirs) else "the current design is good enough" if keep else ""
    if draw.why_not:
        return Confidence(None, goal, Basis.UNKNOWN, rival=theirs.scheme.text, note=draw.why_not)
    if draw.counted:
        return Confidence(1.0, goal, Basis.COUNTED, rival=theirs.scheme.text, note=_counted(bench))
    pairs = list(zip(_adjusted(winner, bench, draw), _adjusted(rival, bench, draw), strict=True))
    wins = [better(a, b) or (keep and good_enough(a, b)) for a, b in pairs]
    share = float(np.mean(wins))
    needed = None if share >= SURE else _rows_needed(share, goal, pairs, mine, theirs, bench, draw)
    source = "data" if draw.rows_sampled else "log"
    note = OF_FILE if share >= SURE and bench.population.taken_for_whole else ""
    return Confidence(share, goal, Basis.ESTIMATED, needed, source, theirs.scheme.text, note)


def _counted(bench: Bench) -> str:
    """What was counted: the whole table where the design says so, else the rows of the file."""
    population = bench.population
    rows = f"counted on this file ({population.rows:,} rows)"
    return rows if population.taken_for_whole else "every row was counted"


def _adjusted(again: Resampled, bench: Bench, draw: BenchDraw) -> list[CostEstimate]:
    """The scheme's cost on the whole sample, moved by each resample's deviation."""
    estimate = again.estimate
    scale = math.sqrt(draw.kept / (1 - draw.kept) * (1 - draw.fraction))

    def moved(name: str, value: float) -> Floats:
        values = again.values[name]
        if value <= 0 or not math.isfinite(value) or not np.all(np.isfinite(values) & (values > 0)):
            return np.full(len(values), value)
        logs = np.log(values)
        return np.asarray(value * np.exp((logs - logs.mean()) * scale))

    requests = moved(REQUESTS, estimate.requests_per_s)
    entities = moved(ENTITIES, estimate.entities_per_s)
    stored = moved(STORED, estimate.bytes_per_entity)
    factors = moved(BREAK, estimate.break_factor)
    latencies = moved(LATENCY, estimate.latency_excess)
    return [
        replace(
            estimate,
            requests_per_s=float(r),
            entities_per_s=float(e),
            bytes_per_entity=float(b),
            break_factor=float(f),
            latency_excess=float(late),
            violations=_violations(estimate, float(f), bench),
        )
        for r, e, b, f, late in zip(requests, entities, stored, factors, latencies, strict=True)
    ]


def _violations(estimate: CostEstimate, factor: float, bench: Bench) -> tuple[Violation, ...]:
    """What a scheme breaks where growth ends at another factor: capacities move with it, everything else stays."""
    others, horizon = [v for v in estimate.violations if v.unit not in _CAPACITY], bench.horizon_factor
    if factor >= horizon:
        return tuple(others)
    capacity, assumed = [v for v in estimate.violations if v.unit in _CAPACITY], bench.workload.growth is None
    assumed = assumed and factor >= 1
    if not capacity:
        over = horizon / factor if factor > 0 else math.inf
        return (*others, Violation("capacity", "", over, 1.0, "x", over, assumed))
    by = estimate.break_factor / factor if factor > 0 else 1.0
    return (*others, *(replace(v, severity=v.severity * by, assumed=assumed) for v in capacity))


def _rows_needed(
    share: float,
    goal: str,
    pairs: Sequence[tuple[CostEstimate, CostEstimate]],
    winner: CostEstimate,
    rival: CostEstimate,
    bench: Bench,
    draw: BenchDraw,
) -> int | None:
    """Further rows with which the difference would be 1.645 standard errors; None where more rows do not help.

    A standard error falls with the root of the rows.
    """
    distance = float(special.ndtri(share))
    field = _DECIDES.get(goal)
    if field is not None:
        differences = np.log([getattr(b, field) / getattr(a, field) for a, b in pairs])
        tolerance = math.log(1 + REQUESTS_TOLERANCE) if goal == "requests" else 0.0
        error = float(differences.std(ddof=1))
        margin = math.log(getattr(rival, field) / getattr(winner, field)) - tolerance
        distance = margin / error if error > 0 else distance
    if distance <= 0 or not math.isfinite(distance):
        return None
    population = bench.population
    asked = [len(bench.workload.instances[name]) for name in draw.logged]
    rows = population.rows if draw.rows_sampled else max(asked, default=0)
    more = rows * max(0.1, (float(special.ndtri(SURE)) / distance) ** 2 - 1)
    digits = 10 ** max(0, math.floor(math.log10(max(1.0, more))) - 1)
    rounded = math.ceil(more / digits) * digits
    return int(min(rounded, population.total - rows)) if draw.rows_sampled else int(rounded)


# -- the advice --------------------------------------------------------------------------------------------------------


def with_confidence(advice: Advice, bench: Bench, *, log_sampled: bool = False) -> Advice:
    """The advice with intervals on the costs of its best schemes, and how sure its first place is."""
    first = advice.recommended
    rivals = [c for c in advice.ranking if c is not first][:RIVALS]
    draw = draw_of(bench, log_sampled=log_sampled)
    if draw.counted or draw.why_not:
        sure = [compare(Resampled(first, {}), Resampled(r, {}), bench, draw, keep=advice.in_place) for r in rivals[:1]]
        return replace(advice, confidence=sure[0] if sure else None)
    now = [advice.current] if advice.current is not None and advice.current not in (first, *rivals) else []
    measured = resample([first, *rivals, *now], bench, draw)
    sure = [compare(measured[0], r, bench, draw, keep=advice.in_place) for r in measured[1 : 1 + len(rivals)]]
    estimates = {id(m.estimate): replace(m.estimate, terms=_merged(m, bench, draw)) for m in measured}
    confidence = min(sure, key=lambda c: c.share if c.share is not None else 2.0, default=None)
    if confidence is not None and _hotter_may_be_missing(estimates[id(first)], bench):
        confidence = confidence.with_doubt(HOTTER_KEY)
    return replace(
        advice,
        recommended=estimates[id(first)],
        ranking=tuple(estimates.get(id(c), c) for c in advice.ranking),
        current=None if advice.current is None else estimates.get(id(advice.current), advice.current),
        confidence=confidence,
    )


def _hotter_may_be_missing(estimate: CostEstimate, bench: Bench) -> bool:
    """Whether the share of the hottest partition has no bound above, as only some keys were drawn, and it takes a part
    of its target already: the largest key of the table need not be among them."""
    share = next((term for term in estimate.terms if term.name == SHARE), None)
    target = HOT_ALREADY * bench.limits.partition_entities_per_s
    hot = estimate.hot is not None and estimate.hot.entities_per_s >= target
    return hot and bench.population.sampling == "random-keys" and share is not None and share.high is None


def with_intervals(
    schemes: Sequence[CostEstimate], bench: Bench, *, log_sampled: bool = False
) -> tuple[CostEstimate, ...]:
    """Schemes that are given, with the intervals that ``with_confidence`` puts on those of an advice."""
    draw = draw_of(bench, log_sampled=log_sampled)
    if draw.counted or draw.why_not:
        return tuple(schemes)
    measured = resample(schemes, bench, draw)
    return tuple(replace(m.estimate, terms=_merged(m, bench, draw)) for m in measured)


def _merged(again: Resampled, bench: Bench, draw: BenchDraw) -> tuple[Term, ...]:
    """The terms that a scheme has, with intervals where those are known, and the ones that it lacks."""
    known = {t.name: t for t in terms_of(again, bench, draw)}
    mine = tuple(_with_interval(t, known[t.name]) if t.name in known else t for t in again.estimate.terms)
    names = {t.name for t in mine}
    return (*mine, *(t for name, t in known.items() if name not in names))


def _with_interval(term: Term, known: Term) -> Term:
    """A term with the ends of its interval; *unknown* with the reason where nothing can be stated."""
    if known.basis is Basis.UNKNOWN:
        return replace(term, basis=known.basis, source=known.source)
    return replace(term, low=known.low, high=known.high)
