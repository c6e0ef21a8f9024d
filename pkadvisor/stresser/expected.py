"""What the scripts of a design say of its load before anything is run: means per request, and load by partition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.stress.scripts import SEVERAL
from pkadvisor.stress.shared_stages import shared_stages

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
    for step, weight in _steps(scripts, weights):
        share = weight / total
        requests += share
        continued += share * step.continued
        written += share * step.entities * (step.kind == Kind.WRITE)
        read += share * (step.examined if step.kind == Kind.PAGE else step.kind == Kind.READ)
    return Means(requests, continued, read, written)


def partition_loads(
    scripts: Scripts, rates_per_s: Sequence[float], weights: Sequence[Mapping[int, float]], limits: Limits
) -> Floats:
    """Entities per second of each partition, by rank, at given rates of the classes.

    Pages over several partitions are left out: they count toward their ranges alone.
    """
    import numpy as np

    found = np.zeros(len(scripts.space.keys))
    for of_class, rate, mine in zip(scripts.epochs[0], rates_per_s, weights, strict=True):
        total = sum(mine.values())
        for step, weight in _steps(of_class, mine):
            if step.partition != SEVERAL:
                found[step.partition] += rate * weight / total * counted(step, limits)
    return found


def _steps(scripts: Sequence[Script], weights: Mapping[int, float]) -> Iterator[tuple[Step, float]]:
    """The steps of parameters with their weights; stages that many scripts have in common come once, with all of it."""
    import numpy as np

    stages, which, lengths = shared_stages([scripts[instance] for instance in weights])
    each = np.repeat(np.fromiter(weights.values(), np.float64, len(weights)), lengths)
    for stage, weight in zip(stages, np.bincount(which, each, len(stages)).tolist(), strict=True):
        for step in stage:
            yield step, weight
