"""What was asked in the busiest seconds that a log shows, by class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

SECOND: Final = "_second"
REQUESTS: Final = "_requests"


@dataclass(frozen=True, slots=True, eq=False)
class BusyRequests:
    """Requests of one class in the busiest seconds of its table; of group transactions each part is one.

    ``totals``: requests in each of the seconds (since 1970), 0 where the class was not asked. ``rows``: what was asked,
    with the columns ``SECOND`` (Int64) and ``REQUESTS`` (Float64), how often it was asked so. Where rows are fewer than
    the requests, what rows say of a key is a lower bound.
    """

    totals: Mapping[int, float]
    rows: pl.DataFrame

    def scaled(self, factor: float) -> BusyRequests:
        """As many times the requests."""
        import polars as pl

        totals = {second: n * factor for second, n in self.totals.items()}
        return BusyRequests(totals, self.rows.with_columns(pl.col(REQUESTS) * factor))

    def part(self, chosen: Sequence[bool], share: float) -> BusyRequests:
        """Some of the rows; of the requests that have none, that share."""
        import polars as pl

        rows, totals = self.rows.filter(pl.Series(chosen, dtype=pl.Boolean)), dict[int, float]()
        for second, n in self.totals.items():
            all_rows, mine = (float(f.filter(pl.col(SECOND) == second)[REQUESTS].sum()) for f in (self.rows, rows))
            totals[second] = mine + share * max(0.0, n - all_rows)
        return BusyRequests(totals, rows)

    def beside(self, other: BusyRequests) -> BusyRequests:
        """Both parts of a class."""
        import polars as pl

        seconds = sorted({*self.totals, *other.totals})
        totals = {second: self.totals.get(second, 0.0) + other.totals.get(second, 0.0) for second in seconds}
        return BusyRequests(totals, pl.concat([self.rows, other.rows], how="diagonal_relaxed"))
