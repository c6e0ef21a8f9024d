"""What the scripts of a design say of its load before anything is run: means per request, and load by partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.lazy import Floats, Ints, np
from pkadvisor.limits import Limits
from pkadvisor.stress.requests.flat_scripts import (
    CONTINUED,
    ENTITIES,
    EXAMINED,
    KIND,
    OF_PARTITION,
    FlatScripts,
    in_order,
)
from pkadvisor.stress.requests.scripts import SEVERAL, Scripts
from pkadvisor.values import dataclass


@dataclass(frozen=True, slots=True)
class Means:
    """One class, per request: HTTP requests, those that go on where a page ended, entities read and written."""

    requests: float
    continued: float
    entities_read: float
    entities_written: float


def counted(raw: Ints, limits: Limits) -> Floats:
    """What an attempt of each step counts toward the target of its partition, in entities."""
    page = np.where(raw[:, KIND] == Kind.PAGE, np.maximum(1.0, limits.scan_weight * raw[:, EXAMINED]), 1.0)
    entities: Floats = np.where(raw[:, KIND] == Kind.WRITE, raw[:, ENTITIES], page)
    return entities


def means_of(scripts: Scripts, class_number: int, weights: Mapping[int, float]) -> Means:
    """The means of one class over its parameters, as the scripts begin; ``weights`` by parameters, those absent were
    not asked for."""
    raw, weight = _steps(scripts, class_number, weights)
    share, kind = weight / sum(weights.values()), raw[:, KIND]
    examined = np.where(kind == Kind.PAGE, raw[:, EXAMINED], kind == Kind.READ)
    each = (
        share,
        share * raw[:, CONTINUED],
        share * examined,
        share * np.where(kind == Kind.WRITE, raw[:, ENTITIES], 0),
    )
    return Means(*(float(values.cumsum()[-1]) if len(values) else 0.0 for values in each))


def partition_loads(
    scripts: Scripts, rates_per_s: Sequence[float], weights: Sequence[Mapping[int, float]], limits: Limits
) -> Floats:
    """Entities per second of each partition, by rank, at given rates of the classes.

    Pages over several partitions are left out: they count toward their ranges alone.
    """
    per_partition = np.zeros(len(scripts.space.keys))
    for number, (rate, mine) in enumerate(zip(rates_per_s, weights, strict=True)):
        if not mine:
            continue
        raw, weight = _steps(scripts, number, mine)
        alone = raw[:, OF_PARTITION] != SEVERAL
        loads = rate * weight[alone] / sum(mine.values()) * counted(raw[alone], limits)
        np.add.at(per_partition, raw[alone, OF_PARTITION], loads)
    return per_partition


def _steps(scripts: Scripts, class_number: int, weights: Mapping[int, float]) -> tuple[Ints, Floats]:
    """The steps of parameters with their weights; stages that many scripts have in common come once, with all of it."""
    flat = FlatScripts.of(scripts)
    asked = flat.numbers[0][class_number][np.fromiter(weights, np.int64, len(weights))]
    mine, place = in_order(asked, len(flat.lengths))
    heavy = np.bincount(place[asked], np.fromiter(weights.values(), np.float64, len(weights)), len(mine))
    which = flat.stages_of(mine)
    stages, place = in_order(which, len(flat.stages))
    each = np.bincount(place[which], np.repeat(heavy, flat.lengths[mine]), len(stages))
    return flat.raw[flat.rows_of(stages)], np.repeat(each, flat.sizes[stages])
