"""From the text of ``--load`` to a load, whichever kind it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pkadvisor.errors import UsageError
from pkadvisor.stress.load.cluster_load import synthetic_load
from pkadvisor.stress.load.load import WorkloadLoad
from pkadvisor.stress.load.load_text import LoadSpec, parse_load
from pkadvisor.stress.load.replay import ReplayLoad

if TYPE_CHECKING:
    from pkadvisor.design.load.estimates import Bench
    from pkadvisor.observe.logs.traffic import TableTraffic


def load_of(
    bench: Bench,
    shape: str | LoadSpec,
    classes: Sequence[str] | None = None,
    *,
    duration_ns: int,
    seed: int = 0,
    factor: float = 1.0,
    months: float | None = None,
    weigh: Mapping[str, float] | None = None,
    traffic: TableTraffic | None = None,
    resolution_us: int = 1,
) -> WorkloadLoad | ReplayLoad:
    """The load that ``--load`` describes, as ``WorkloadLoad.from_workload``, ``synthetic_load`` or ``ReplayLoad``.

    Raises UsageError, for a trace without a log too.
    """
    spec = parse_load(shape) if isinstance(shape, str) else shape
    if spec.cluster:
        return synthetic_load(bench, classes, shape=spec, duration_ns=duration_ns, seed=seed, factor=factor)
    if spec.base != "trace":
        return WorkloadLoad.from_workload(
            bench, classes, duration_ns=duration_ns, seed=seed, factor=factor, shape=spec, months=months, weigh=weigh
        )
    if traffic is None:
        raise UsageError("there is no log to replay", where="--load", fix="give one with --log, or use --load peak")
    if spec.flashes or spec.ramp is not None or spec.process != LoadSpec().process:
        what = f"'{spec.text}': a trace comes when it came"
        raise UsageError(what, where="--load", fix="trace goes with a factor alone: trace,x2")
    return ReplayLoad.from_log(
        bench,
        traffic,
        classes,
        duration_ns=duration_ns,
        seed=seed,
        factor=spec.factor * factor,
        resolution_us=resolution_us,
    )
