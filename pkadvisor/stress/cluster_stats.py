"""Loads with the measured parameters of production clusters instead of invented ones: rate, mix of operations, skew.

The 54 rows are of Yang, Yue and Rashmi, *A large scale analysis of hundreds of in-memory cache clusters at Twitter*,
OSDI 2020 (``rules/loads/twitter-clusters.csv``, CC BY 4.0). They are parameters, not a trace: what comes when is drawn.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from pkadvisor.errors import UsageError, did_you_mean
from pkadvisor.observe.workload import Operation
from pkadvisor.resources import resource
from pkadvisor.stress.arrivals import Steps
from pkadvisor.stress.load import ClassLoad, WorkloadLoad
from pkadvisor.stress.load_text import LoadSpec, parse_load

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pkadvisor.design.estimates import Bench

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

CITATION: Final = "Yang, Yue, Rashmi, OSDI 2020 (twitter/cache-trace, CC BY 4.0)"
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


@dataclass(frozen=True, slots=True)
class ClusterStats:
    """One cluster. ``operations`` are shares of its requests; ``zipf`` None: no exponent was fitted.

    Rates in requests/s (None: not told), sizes in bytes, ``mean_frequency`` in requests per key, ``once`` the share of
    keys that were asked for once.
    """

    name: str
    per_s: float | None
    zipf: float | None
    operations: Mapping[str, float]
    key_bytes: float | None
    value_bytes: float | None
    mean_frequency: float | None
    once: float | None


@cache
def clusters() -> Mapping[str, ClusterStats]:
    """All clusters by name, in the order of their numbers."""
    lines = resource("rules", "loads", "twitter-clusters.csv").read_text(encoding="utf-8").splitlines()
    out = {}
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        pairs = [operation.split(":") for operation in row["operations"].split()]
        kqps, once = _number(row["kqps"]), _number(row["once_percent"])
        out[row["cluster"]] = ClusterStats(
            row["cluster"],
            None if kqps is None else kqps * 1000,
            _number(row["zipf"]),
            {name: float(share) for name, share in pairs},
            _number(row["key_bytes"]),
            _number(row["value_bytes"]),
            _number(row["mean_frequency"]),
            None if once is None else once / 100,
        )
    return out


def cluster_named(name: str) -> ClusterStats:
    """The parameters of ``cluster12``. Raises UsageError where there is none of that name, or none of its rate."""
    found = clusters().get(name.strip().lower())
    if found is None:
        known = tuple(clusters())
        hint = did_you_mean(name, known)
        what = f"there is no cluster '{name}'" + (f"; {hint}" if hint else "")
        raise UsageError(what, where="--load", fix=f"{known[0]} to {known[-1]}: {CITATION}")
    if found.per_s is None or not found.operations:
        what = f"nothing is known of the requests of {found.name}"
        raise UsageError(what, where="--load", fix=f"choose another cluster: {CITATION}")
    return found


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


def key_value_load(
    cluster: ClusterStats,
    keys: int,
    *,
    duration_ns: int,
    seed: int = 0,
    factor: float = 1.0,
    spec: LoadSpec | None = None,
) -> WorkloadLoad:
    """A cluster's load without a workload: a class for each of its operations, on so many keys."""
    import numpy as np

    assert cluster.per_s is not None, "a cluster whose rate is known"
    spec = spec or LoadSpec()
    total = math.fsum(cluster.operations.values())
    weights = zipf_weights(np.arange(keys, dtype=np.int64), cluster.zipf or 0.0, seed)
    form = spec.shape(duration_ns).times(Steps.flat(cluster.per_s * spec.factor * factor / total))
    parts = tuple(
        ClassLoad(name, form.times(Steps.flat(share)), weights, spec.process)
        for name, share in cluster.operations.items()
    )
    return WorkloadLoad(parts, duration_ns, seed, (f"rate, mix and skew of {cluster.name}: {CITATION}",))


def zipf_weights(rows: Ints, exponent: float, seed: int) -> Floats:
    """rank^-exponent ÷ their sum for some rows, ranked in an order that (seed, row) draws; 0 for rows below 0."""
    import numpy as np

    from pkadvisor.engine.capacity.service_times import mixed

    weights = np.zeros(len(rows))
    kept = np.flatnonzero(rows >= 0)
    order = kept[np.argsort([mixed(seed, int(row)) for row in rows[kept]], kind="stable")]
    weights[order] = np.arange(1, len(order) + 1, dtype=np.float64) ** -exponent
    return np.asarray(weights / max(float(weights.sum()), 1e-300))


def _number(text: str) -> float | None:
    return float(text) if text else None
