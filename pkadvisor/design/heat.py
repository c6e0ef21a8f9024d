"""Heat: which partition and which range of partitions takes how much of the load.

A partition is served by one server, so its load is bounded whatever else is done (hot key). A range of partitions
can be
split, but only between keys, and only after the service has watched it for minutes: inserts that all land at one end of
the key order follow the split and stay on one server (append or prepend pattern).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pkadvisor.design.population import atoms_of
from pkadvisor.design.transforms import Part, ReverseTicks, Ticks, Time
from pkadvisor.observe.workload import Basis
from pkadvisor.table.edm import EdmType

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pkadvisor.design.population import Population

    Floats = NDArray[np.float64]

RANGES = 64
"""Key ranges that a busy table is assumed to be split into when fronts are counted; 64 is also the most that is
reported."""
WINDOWS = 10
ROWS_MIN = 200
ROWS_ENOUGH = 40_000
"""Rows that the fronts are counted on: of more, every second, third … in the order of arrival."""


@dataclass(frozen=True, slots=True)
class Fronts:
    """Effective write fronts: 1 ÷ the largest share of the next inserts that one key range takes.

    ``median`` is what lasts, ``least`` the worst window. None: insert order is unknown.
    """

    median: float | None
    least: float | None
    basis: Basis
    note: str = ""


def write_fronts(parts: Sequence[Part], population: Population) -> Fronts:
    """Fronts of a PartitionKey over the arrival order of the rows at hand.

    Ranges are learned from the rows before a window (64 of equal mass, cut only between partitions); a window is 5
    % of the
    inserts; the second half of the rows gives ten windows.
    """
    key = ("fronts", tuple(parts))
    if key not in population.memo:
        population.memo[key] = _write_fronts(parts, population)
    found = population.memo[key]
    assert isinstance(found, Fronts)
    return found


def _write_fronts(parts: Sequence[Part], population: Population) -> Fronts:
    import numpy as np

    order = population.arrival_order()
    variable = [p for p in parts if atoms_of((p,))]
    if not variable:
        return Fronts(1.0, 1.0, Basis.COUNTED, "one partition takes every insert")
    if order is None or population.rows < ROWS_MIN:
        leading = variable[0]
        timed = isinstance(leading, Time | Ticks | ReverseTicks) or (
            leading.properties and population.types.get(leading.properties[0]) is EdmType.DATETIME
        )
        if timed:
            return Fronts(
                1.0, 1.0, Basis.ASSUMED, "the key leads with a time, which is assumed to rise with the inserts"
            )
        return Fronts(None, None, Basis.UNKNOWN, "insert order is unknown: declare `arrival`")
    hidden = sorted({p for part in variable for p in part.properties if p in population.hashed})
    if hidden:
        return Fronts(None, None, Basis.UNKNOWN, f"the profile hides the order of {', '.join(hidden)}")
    order = order[:: max(1, population.rows // ROWS_ENOUGH)]
    keys = [k[order] for k in population.key_order(variable)]
    rank_order = np.lexsort(keys[::-1])
    stacked = np.stack([k[rank_order] for k in keys])
    new_partition = np.concatenate([[True], np.any(stacked[:, 1:] != stacked[:, :-1], axis=0)])
    arriving = np.empty(len(order), dtype=np.int64)
    arriving[rank_order] = np.cumsum(new_partition) - 1
    shares = []
    rows = len(arriving)
    for window in range(WINDOWS):
        start = rows // 2 + window * rows // (2 * WINDOWS)
        stop = rows // 2 + (window + 1) * rows // (2 * WINDOWS)
        seen = np.sort(arriving[:start])
        bounds = np.unique(seen[(np.arange(1, RANGES) * start) // RANGES])
        landed = np.bincount(np.searchsorted(bounds, arriving[start:stop], side="right"), minlength=len(bounds) + 1)
        shares.append(landed.max() / max(1, stop - start))
    fronts = np.minimum(1 / np.array(shares) * _interleaved(variable[0], population), RANGES)
    return Fronts(float(np.median(fronts)), float(fronts.min()), Basis.COUNTED)


def _interleaved(leading: Part, population: Population) -> float:
    """How many times more keys interleave in the table than at hand, where the sample is of the leading key's
    values."""
    if population.sampling == "random-keys" and population.whole(atoms_of((leading,))):
        return population.total / max(1, population.drawn_from)
    return 1.0


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

    def of(self, parts: tuple[Part, ...]) -> Floats:
        """Entities per second at the peak for each group of a PartitionKey template, as ``Population.groups`` numbers
        them."""
        return self._vector(parts)[0]

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
