"""Other readings of the published targets: what would be said if scanned rows counted less, or if bytes counted.

The targets are stated for entities of 1 KiB, and a scanned row is taken to count as one that is returned. Where a
verdict hangs on one of the two, the owner must know.
"""

from __future__ import annotations

from dataclasses import replace

from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.load.estimates import Bench, CostEstimate, Remark


def readings(priced: CostEstimate, bench: Bench) -> tuple[Remark, ...]:
    """A remark for each other reading under which the scheme would break other limits; none where nothing changes."""
    out = []
    limits = bench.limits
    low = limits.scan_weight_low
    scans = any(c.entities_read > 1 for c in priced.classes if not c.analytic)
    # Less load breaks less: a scheme that holds every limit holds them all the same.
    if priced.violations and scans and low < limits.scan_weight:
        other = estimate(priced.scheme, replace(bench, limits=replace(limits, scan_weight=low)))
        remark = _told(priced, other)
        if remark:
            weight = "in full" if limits.scan_weight == 1 else f"as {limits.scan_weight:g}"
            out.append(
                Remark("counts-scans", f"scanned entities count {weight} toward the targets; at {low:g} {remark}")
            )
    large = any(c.entities_by_bytes > 1.001 * (c.entities_read + c.entities_written) for c in priced.classes)
    if large and not bench.count_bytes:
        remark = _told(priced, estimate(priced.scheme, replace(bench, count_bytes=True)))
        if remark:
            size = limits.capacity_entity_bytes
            what = f"entities count whatever their size; counted once for every {size:,} bytes started, {remark}"
            out.append(Remark("counts-bytes", what))
    return tuple(out)


def with_readings(estimate: CostEstimate, bench: Bench) -> CostEstimate:
    """The estimate with what hangs on a reading of the targets."""
    more = readings(estimate, bench)
    return replace(estimate, remarks=(*estimate.remarks, *more)) if more else estimate


def _told(estimate: CostEstimate, other: CostEstimate) -> str:
    """What another reading changes, in words; empty where it breaks the same limits."""
    mine, theirs = (tuple(dict.fromkeys(v.code for v in c.violations)) for c in (estimate, other))
    gone = [code for code in mine if code not in theirs]
    new = [code for code in theirs if code not in mine]
    parts = [f"{', '.join(gone)} would hold"] if gone else []
    parts += [f"{', '.join(new)} would be broken"] if new else []
    if estimate.feasible != other.feasible:
        parts.append("every limit would hold" if other.feasible else "not every limit would hold")
    return "; ".join(parts)
