"""Loads with the measured parameters of production clusters instead of invented ones: rate, mix of operations, skew."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from pkadvisor.errors import UsageError
from pkadvisor.observe.workload import Operation
from pkadvisor.stress.load.arrivals import Steps
from pkadvisor.stress.load.cluster_stats import CITATION, cluster_named
from pkadvisor.stress.load.load import ClassLoad, WorkloadLoad
from pkadvisor.stress.load.load_text import LoadSpec, parse_load

if TYPE_CHECKING:
    from pkadvisor.arrays import Floats, Ints
    from pkadvisor.design.load.estimates import Bench

_WRITES: Final = (Operation.INSERT, Operation.UPDATE, Operation.UPSERT)
_STANDS_FOR: Final[Mapping[str, tuple[tuple[Operation, ...], ...]]] = {
    "get": ((Operation.QUERY,),),
    "gets": ((Operation.QUERY,),),
    "add": ((Operation.INSERT,), (Operation.UPSERT,), (Operation.UPDATE,)),
    "delete": ((Operation.DELETE,), _WRITES),
}
"""Of each operation of the cache the classes that stand for it, the first of which there are any."""
_OTHER_WRITES: Final = (_WRITES, (Operation.DELETE,))
"""A cache sets keys that it has and keys that it has not, so inserts and updates share what it sets."""


def synthetic_load(
    bench: Bench,
    classes: Sequence[str] | None = None,
    *,
    shape: str | LoadSpec,
    duration_ns: int,
    seed: int = 0,
    factor: float = 1.0,
) -> WorkloadLoad:
    """The classes of a workload at a cluster's rate, mix and skew: ``shape`` names it, as in ``cluster12,x0.1``.

    The classes that stand for one operation share its rate as they share their own. Parameters are asked for by rank,
    the most popular in an order that the seed draws, the same in all classes. Raises UsageError where no class can
    stand for any operation.
    """
    import numpy as np

    spec = parse_load(shape) if isinstance(shape, str) else shape
    cluster = cluster_named(spec.cluster)
    assert cluster.per_s is not None
    usable = [
        d
        for d in bench.demands
        if len(d.instances) and ((d.query.name in classes) if classes is not None else not d.query.analytic)
    ]
    total = math.fsum(cluster.operations.values())
    per_s = dict.fromkeys((d.query.name for d in usable), 0.0)
    notes = [f"rate, mix and skew of {cluster.name}: {CITATION}"]
    for operation, share in cluster.operations.items():
        choices = _STANDS_FOR.get(operation, _OTHER_WRITES)
        groups = ([d for d in usable if d.query.operation in choice] for choice in choices)
        taken = next((group for group in groups if group), [])
        if not taken:
            notes.append(f"no class stands for its {operation} ({100 * share / total:.0f} % of the requests), left out")
            continue
        own = [d.query.rate.sustained_per_s for d in taken]
        weights = own if sum(own) > 0 else [1.0] * len(taken)
        for demand, weight in zip(taken, weights, strict=True):
            per_s[demand.query.name] += cluster.per_s * share / total * weight / sum(weights)
    if not any(per_s.values()):
        what = f"no class of {bench.workload.table} can stand for an operation of {cluster.name}"
        raise UsageError(what, where="--load", fix="give the table classes that read or write")
    if cluster.zipf is None:
        notes.append("no skew was fitted to it: each parameter is equally likely")
    form = spec.shape(duration_ns).times(Steps.flat(spec.factor * factor))
    parts = tuple(
        ClassLoad(
            d.query.name,
            Steps.flat(per_s[d.query.name]).times(form),
            zipf_weights(np.where(d.weights > 0, d.instances, -1), cluster.zipf or 0.0, seed),
            spec.process,
        )
        for d in usable
    )
    return WorkloadLoad(parts, duration_ns, seed, tuple(notes))


def zipf_weights(rows: Ints, exponent: float, seed: int) -> Floats:
    """rank^-exponent ÷ their sum for some rows, ranked in an order that (seed, row) draws; 0 for rows below 0."""
    import numpy as np

    from pkadvisor.splitmix import mixed

    weights = np.zeros(len(rows))
    stored = np.flatnonzero(rows >= 0)
    order = stored[np.argsort([mixed(seed, int(row)) for row in rows[stored]], kind="stable")]
    weights[order] = np.arange(1, len(order) + 1, dtype=np.float64) ** -exponent
    return np.asarray(weights / max(float(weights.sum()), 1e-300))
