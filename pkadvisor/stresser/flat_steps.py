"""The steps of all scripts of a load as columns: what each loads, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pkadvisor.engine.capacity.buckets import MILLI
from pkadvisor.stress.measures import offered_milli
from pkadvisor.stress.scripts import SEVERAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pkadvisor.limits import Limits
    from pkadvisor.stress.scripts import KeySpace, Script

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class FlatSteps:
    """One entry for each step of each script of one epoch. ``entities`` are those that count toward targets.

    ``class_`` and ``instance`` say whose it is, ``partition`` is a rank or ``SEVERAL``, ``low`` and ``high`` (exclusive)
    are ranks.
    """

    space: KeySpace
    class_: Ints
    instance: Ints
    partition: Ints
    low: Ints
    high: Ints
    entities: Floats

    @staticmethod
    def of(space: KeySpace, scripts: Sequence[Sequence[Script]], limits: Limits) -> FlatSteps:
        """Of the scripts of one epoch, by class and parameters."""
        import numpy as np

        rows = [
            (number, instance, step.partition, step.low, step.high, offered_milli(step, limits))
            for number, of_class in enumerate(scripts)
            for instance, script in enumerate(of_class)
            for stage in script.stages
            for step in stage
        ]
        table = np.array(rows, dtype=np.int64).reshape(-1, 6)
        return FlatSteps(space, *(table[:, i] for i in range(5)), table[:, 5] / MILLI)

    def rates(self, rates_per_s: Sequence[float], weights: Sequence[Floats]) -> Floats:
        """How often each step is sent per second, where classes come at rates, their parameters by weight."""
        import numpy as np

        found: Floats = np.zeros(len(self.class_))
        for number, (rate, of_class) in enumerate(zip(rates_per_s, weights, strict=True)):
            mine, total = self.class_ == number, float(of_class.sum())
            if rate and total:
                found[mine] = rate / total * of_class[self.instance[mine]]
        return found

    def partition_loads(self, rates: Floats) -> Floats:
        """Entities/s by rank: what counts toward partitions, so no pages over several of them."""
        import numpy as np

        single = self.partition != SEVERAL
        return np.bincount(
            self.partition[single], (rates * self.entities)[single], minlength=len(self.space.keys)
        ).astype(np.float64)

    def touching(self, rank: int, classes: int) -> list[Ints]:
        """By class the parameters whose requests load a PartitionKey."""
        import numpy as np

        wide = (self.partition == SEVERAL) & (self.low <= rank) & (rank < self.high)
        there = (self.partition == rank) | wide
        return [np.unique(self.instance[there & (self.class_ == number)]) for number in range(classes)]
