"""Folding the parts of group transactions, which may come apart and out of order, into sizes and a sample."""

from __future__ import annotations

from typing import Any, Final

from pkadvisor.lazy import np, pl
from pkadvisor.observe.logs.frame import Op, Routes
from pkadvisor.observe.logs.traffic import Groups
from pkadvisor.observe.logs.traffic_parts import compact

GROUPS_SAMPLED: Final = 200
GROUPS_OPEN_MAX: Final = 2_000_000


class GroupFold:
    """Group transactions: sizes once all parts have surely come, and a sample of whole transactions."""

    def __init__(self) -> None:
        self._open: pl.DataFrame | None = None
        self._sizes: dict[int, dict[int, int]] = {}
        self._sample: pl.DataFrame | None = None
        self._limit: dict[int, int] = {}
        self.shortened = False

    def add(self, frame: pl.DataFrame, rows: Any, requests: Any, table: Any, hours: Any, hour: int) -> None:
        """Add the parts at ``rows``; ``hour`` is the latest one."""
        place = np.flatnonzero(rows)
        tables = table[place]
        parts = pl.DataFrame(
            {
                "request": pl.Series(requests[place], dtype=pl.UInt64),
                "table": pl.Series(tables, dtype=pl.UInt32),
                "hour": pl.Series(hours[place], dtype=pl.Int64),
            }
        )
        counts = parts.group_by("request").agg(pl.col("table").min(), pl.col("hour").max(), n=pl.len().cast(pl.Int64))
        held = counts if self._open is None else pl.concat([self._open, counts])
        held = held.group_by("request").agg(pl.col("table").min(), pl.col("hour").max(), pl.col("n").sum())
        self._close(held.filter((pl.col("hour") < hour - 1) & (pl.col("hour") >= 0)))
        held = held.filter((pl.col("hour") >= hour - 1) | (pl.col("hour") < 0))
        if held.height > GROUPS_OPEN_MAX:
            self.shortened = True
            self._close(held)
            held = held.clear()
        self._open = held
        # The texts of transactions that are too late for the sample are never touched.
        limits = np.full(int(tables.max()) + 1, (1 << 64) - 1, dtype=np.uint64)
        for number, limit in self._limit.items():
            if number < len(limits):
                limits[number] = limit
        wanted = np.flatnonzero(requests[place] <= limits[tables])
        if len(wanted):
            texts = frame.select("op_number", "route", "pk", "rk", "params")[place[wanted]]
            self._take(parts[wanted].drop("hour").hstack(texts))

    def _close(self, done: pl.DataFrame) -> None:
        for table, n, count in done.group_by("table", "n").agg(count=pl.len()).sort("table", "n").iter_rows():
            sizes = self._sizes.setdefault(table, {})
            sizes[n] = sizes.get(n, 0) + count

    def _take(self, parts: pl.DataFrame) -> None:
        """Keep the parts of the transactions with the smallest hashes."""
        # Whole transactions with large hashes go first, so that only texts that may stay are copied.
        held = compact(parts.filter(pl.col("request").rank("dense").over("table") <= GROUPS_SAMPLED))
        if self._sample is not None:
            held = pl.concat([self._sample, held])
        rank = pl.col("request").rank("dense").over("table")
        held = held.filter(rank <= GROUPS_SAMPLED).sort("table", "request", "op_number", maintain_order=True)
        for (table,), part in held.group_by("table", maintain_order=True):
            if part["request"].n_unique() >= GROUPS_SAMPLED:
                self._limit[int(table)] = int(part["request"].sort()[-1])
        self._sample = held.rechunk()

    def result(self, routes: Routes) -> dict[int, Groups]:
        """Groups of each table code."""
        if self._open is None or self._sample is None:
            return {}
        self._close(self._open)
        out = {}
        for table, sizes in sorted(self._sizes.items()):
            mine = self._sample.filter(self._sample["table"] == table)
            transactions: dict[int, list[tuple[Op, str | None, str | None]]] = {}
            params: dict[int, list[str | None]] = {}
            for request, route, pk, rk, text in mine.select("request", "route", "pk", "rk", "params").iter_rows():
                transactions.setdefault(request, []).append((routes.all[route].op, pk, rk))
                params.setdefault(request, []).append(text)
            out[table] = Groups(
                sum(sizes.values()),
                sum(n * count for n, count in sizes.items()),
                tuple(sorted(sizes.items())),
                tuple(tuple(parts) for parts in transactions.values()),
                tuple(tuple(texts) for texts in params.values()),
            )
        return out
