"""How often combinations of properties occur in all rows, where only a sample of the rows is looked at closely.

A sample by rows shows each group at a part of its size, and small groups less often than they exist: means over groups
cannot be read off it. Counting the groups of a few property sets over every row costs one pass and no guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pkadvisor.lazy import Ints, pl
from pkadvisor.observe.data.dataset import Dataset
from pkadvisor.values import dataclass

EXACT_ROWS_MAX = 25_000_000
"""Entities up to which the finalists are counted over every row: their hashes take 200 MB each."""
SETS_MAX = 8
"""Property sets that are counted; each costs about one grouping of the data."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupCounts:
    """The groups of rows that agree on ``names``, by a 64-bit hash of their values: ``hash`` and ``rows`` (Int64)."""

    names: tuple[str, ...]
    groups: pl.DataFrame

    @property
    def sizes(self) -> Ints:
        """Rows of each group, the largest first."""
        return self.groups.get_column("rows").sort(descending=True).to_numpy()

    def of_rows(self, frame: pl.DataFrame) -> Ints:
        """For each row of a frame the rows of its group in all data; 0 where there is no such group."""
        asked = frame.select(_hash(self.names))
        data_frame = asked.join(self.groups, on="hash", how="left", maintain_order="left")
        return data_frame.get_column("rows").fill_null(0).to_numpy()

    def check(self) -> None:
        """Groups are distinct and none is empty."""
        assert self.groups.get_column("hash").n_unique() == self.groups.height
        assert self.groups.height == 0 or int(self.groups.get_column("rows").min()) > 0  # type: ignore[arg-type]


def count_groups(dataset: Dataset, sets: Iterable[Sequence[str]]) -> dict[tuple[str, ...], GroupCounts]:
    """The groups of each property set over every row, by the sorted names; one pass over the data."""
    wanted = tuple(dict.fromkeys(tuple(sorted(s)) for s in sets))[:SETS_MAX]
    if not wanted:
        return {}
    parts: dict[tuple[str, ...], list[pl.DataFrame]] = {names: [] for names in wanted}
    for batch in dataset.batches(sorted({n for names in wanted for n in names})):
        for names, frames in parts.items():
            frames.append(batch.select(_hash(names)).group_by("hash").agg(pl.len().cast(pl.Int64).alias("rows")))
            if len(frames) > 1 and frames[-1].height * 2 > frames[0].height:
                parts[names] = [_merged(frames)]
    return {names: GroupCounts(names, _merged(data_frames).sort("hash")) for names, data_frames in parts.items()}


def _merged(frames: list[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(frames).group_by("hash").agg(pl.col("rows").sum())


def _hash(names: tuple[str, ...]) -> pl.Expr:
    """Equal for equal values, missing ones included; 64 bits: two of ten million groups meet once in 400,000 times."""
    return pl.struct(pl.col(name) for name in names).hash(0).alias("hash")
