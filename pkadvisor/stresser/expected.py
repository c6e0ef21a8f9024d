"""What the scripts of a design say of its load before anything is run: means per request, and load by partition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.stress.scripts import SEVERAL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pkadvisor.limits import Limits
    from pkadvisor.stress.scripts import Script, Scripts, Step

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Means:
    """One class, per request: HTTP requests, those that go on where a page ended, entities read and written."""

    requests: float
    continued: float
    entities_read: float
    entities_written: float


def counted(step: Step, limits: Limits) -> float:
    """What an attempt counts toward the target of its partition, in entities."""
    if step.kind == Kind.WRITE:
        return float(step.entities)
    return max(1.0, limits.scan_weight * step.examined) if step.kind == Kind.PAGE else 1.0


def means_of(scripts: Sequence[Script], weights: Mapping[int, float]) -> Means:
    """The means of one class over its parameters; ``weights`` by parameters, those absent were not asked for."""
    total = sum(weights.values())
    requests = continued = read = written = 0.0
    for instance, weight in weights.items():
        for step in (step for stage in scripts[instance].stages for step in stage):
            share = weight / total
            requests += share
            continued += share * step.continued
            written += share * step.entities * (step.kind == Kind.WRITE)
            read += share * (step.examined if step.kind == Kind.PAGE else step.kind == Kind.READ)
    return Means(requests, continued, read, written)


def loads_by_rank(
    scripts: Scripts, rates_per_s: Sequence[float], weights: Sequence[Mapping[int, float]], limits: Limits
) -> tuple[Floats, Floats]:
    """Entities per second (of partitions, of everything routed there) by rank, at given rates of the classes.

    The first leaves out pages over several partitions, which count toward their ranges alone.
    """
    import numpy as np

    size = len(scripts.space.keys)
    single, routed = np.zeros(size), np.zeros(size)
    for of_class, rate, mine in zip(scripts.epochs[0], rates_per_s, weights, strict=True):
        total = sum(mine.values())
        for instance, weight in mine.items():
            for step in (step for stage in of_class[instance].stages for step in stage):
                load = rate * weight / total * counted(step, limits)
                if step.partition != SEVERAL:
                    single[step.partition] += load
                    routed[step.low] += load
                else:
                    _spread(routed, scripts, step, load)
    return single, routed


def _spread(routed: Floats, scripts: Scripts, step: Step, load: float) -> None:
    """A page over several partitions loads each by its rows."""
    rows = scripts.space.rows[step.low : step.high]
    total = rows.sum()
    routed[step.low : step.high] += load * rows / total if total else load / len(rows)
