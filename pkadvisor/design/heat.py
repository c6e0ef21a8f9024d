"""Heat: which partition and which range of partitions takes how much of the load.

A partition is served by one server, so its load is bounded whatever else is done (hot key). A range of partitions can
be split, but only between keys, and only after the service has watched it for minutes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pkadvisor.design.population import atoms_of
from pkadvisor.design.transforms import Part

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pkadvisor.design.population import Population

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PartitionLoad:
    """The hottest partition of one key: entities per second at the peak, its share, and a row that lies in it."""

    entities_per_s: float
    share: float
    row: int | None
    partitions: int


class LoadMap:
    """Load per partition, one vector for each distinct PartitionKey template of a scheme."""

    def __init__(self, population: Population) -> None:
        self._population = population
        self._loads: dict[tuple[Part, ...], Floats] = {}
        self.busiest_run: tuple[float, str] = (0.0, "")
        """Entities/s that one class scans over neighbouring partitions at the peak, and the class that does."""
        self.scanned_per_s = 0.0
        """Entities/s that all scans over several partitions read at the peak."""

    def _vector(self, parts: tuple[Part, ...]) -> tuple[Floats, NDArray[np.int64]]:
        import numpy as np

        ids, size = self._population.groups(atoms_of(parts))
        if parts not in self._loads:
            self._loads[parts] = np.zeros(size)
        return self._loads[parts], ids

    def at_instances(
        self, parts: tuple[Part, ...], instances: NDArray[np.int64], load: Floats, *, recent: bool = False
    ) -> None:
        """Each instance's load falls on the partition of its own row.

        ``recent`` load goes to what is newest: there is one newest period however many older ones are not at hand.
        """
        import numpy as np

        vector, ids = self._vector(parts)
        factor = 1.0 if recent else self._population.share_factor(atoms_of(parts))
        vector += factor * np.bincount(ids[instances], weights=load, minlength=len(vector))

    def at_run(self, entities_per_s: float, total_per_s: float, name: str) -> None:
        """A class that reads a run of partitions; the busiest is kept."""
        self.scanned_per_s += total_per_s
        if entities_per_s > self.busiest_run[0]:
            self.busiest_run = (entities_per_s, name)

    def at_rows(
        self,
        parts: tuple[Part, ...],
        groups: NDArray[np.int64],
        group_load: Floats,
        keep: NDArray[np.bool_] | None = None,
    ) -> None:
        """Each group's load is spread evenly over its data rows (those in ``keep``), wherever their partitions are."""
        import numpy as np

        vector, ids = self._vector(parts)
        rows = self._population.rows
        among = np.ones(rows) if keep is None else keep.astype(np.float64)
        counts = np.bincount(groups[:rows], weights=among, minlength=len(group_load))
        per_row = (group_load / np.maximum(counts, 1))[groups[:rows]] * among
        factor = self._population.share_factor(atoms_of(parts))
        vector += factor * np.bincount(ids[:rows], weights=per_row, minlength=len(vector))

    def hottest(self) -> tuple[tuple[Part, ...], PartitionLoad] | None:
        """The partition that takes most, with its template; ties go to the first template."""
        import numpy as np

        best: tuple[tuple[Part, ...], PartitionLoad] | None = None
        for parts, vector in self._loads.items():
            if not len(vector):
                continue
            top = int(np.argmax(vector))
            load = float(vector[top])
            if best is None or load > best[1].entities_per_s:
                ids, _ = self._population.groups(atoms_of(parts))
                rows = np.flatnonzero(ids == top)
                total = float(vector.sum())
                counts = self._population.distinct(atoms_of(parts))
                first = int(rows[0]) if len(rows) else None
                best = (parts, PartitionLoad(load, load / total if total else 0.0, first, counts))
        return best
