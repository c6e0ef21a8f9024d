"""The measured parameters of production clusters, by name.

The 54 rows are of Yang, Yue and Rashmi, *A large scale analysis of hundreds of in-memory cache clusters at Twitter*,
OSDI 2020 (``rules/loads/twitter-clusters.csv``, CC BY 4.0). They are parameters, not a trace: what comes when is drawn.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from typing import Final

from pkadvisor.errors import UsageError, did_you_mean
from pkadvisor.resources import resource
from pkadvisor.values import dataclass

CITATION: Final = "Yang, Yue, Rashmi, OSDI 2020 (twitter/cache-trace, CC BY 4.0)"


@dataclass(frozen=True, slots=True)
class ClusterStats:
    """One cluster: requests/s (None: not told), Zipf exponent (None: none was fitted), the share of each operation."""

    name: str
    per_s: float | None
    zipf: float | None
    operations: Mapping[str, float]


@cache
def clusters() -> Mapping[str, ClusterStats]:
    """All clusters by name, in the order of their numbers."""
    lines = resource("rules", "loads", "twitter-clusters.csv").read_text(encoding="utf-8").splitlines()
    out = {}
    _, *rows = csv.reader(line for line in lines if not line.startswith("#"))
    for name, thousands_per_s, zipf, operations, *_ in rows:
        per_s = None if (rate := _number(thousands_per_s)) is None else rate * 1000
        shares = {kind: float(share) for kind, _, share in (each.partition(":") for each in operations.split())}
        out[name] = ClusterStats(name, per_s, _number(zipf), shares)
    return out


def cluster_named(name: str) -> ClusterStats:
    """The parameters of ``cluster12``. Raises UsageError where there is none of that name, or none of its rate."""
    cluster = clusters().get(name.strip().lower())
    if cluster is None:
        known = tuple(clusters())
        hint = did_you_mean(name, known)
        what = f"there is no cluster '{name}'" + (f"; {hint}" if hint else "")
        raise UsageError(what, where="--load", fix=f"{known[0]} to {known[-1]}: {CITATION}")
    if cluster.per_s is None or not cluster.operations:
        what = f"nothing is known of the requests of {cluster.name}"
        raise UsageError(what, where="--load", fix=f"choose another cluster: {CITATION}")
    return cluster


def _number(text: str) -> float | None:
    return float(text) if text else None
