"""What was asked in the busiest seconds of a log, request by request.

A burst on one key, or on several keys that another PartitionKey brings together, shows only in what was asked within
one second. All seconds are too many to keep, so those are kept in which a class was asked most, and those in which one
PartitionKey was (the filter or the parameters, where a log names none).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pkadvisor.observe.logs.traffic_parts import compact, counted, mixed
from pkadvisor.observe.logs.traffic_samples import sample_frame
from pkadvisor.observe.workload import REQUESTS, SECOND, BusyRequests

if TYPE_CHECKING:
    import polars as pl

    from pkadvisor.observe.logs.frame import Routes

SECONDS_OF_CLASS: Final = 2
"""Busiest seconds that are kept of each class."""
SECONDS_OF_KEYS: Final = 4
"""Seconds that are kept of each table for a PartitionKey that had most in them."""
ROWS_PER_SECOND: Final = 5_000
"""Different requests that are kept of a second, the most frequent first."""
ROWS_PER_TABLE: Final = 20_000
_WHAT: Final = ("pk", "rk", "filter", "params", "route")
PENDING_MAX: Final = 50_000
"""Requests of busy seconds that wait until they are counted."""
_SECOND: Final = ("table", "second")
_BITS: Final = 40
_SECONDS: Final = (1 << _BITS) - 1


class BusySeconds:
    """The accumulator: rows of requests in, the busiest seconds of each class out.

    Exact where the lines come in the order of their times: a second that two pieces share is kept until the next piece.
    Of a log in another order the counts are lower bounds, as some lines of a second may have come before it was busy.
    """

    def __init__(self) -> None:
        import numpy as np

        self._pending: list[pl.DataFrame] = []
        self._held = self._edge = np.empty(0, dtype=np.int64)  # seconds that are held, and ends of the last piece
        self._rows: pl.DataFrame | None = None  # table, second, class, what was asked, n
        self._totals: pl.DataFrame | None = None  # table, second, class, n
        self._least_of_keys = dict[int, int]()  # by table what a key must pass in a second to be among the first

    def add(self, frame: pl.DataFrame, asked: Any, code: Any, table: Any, second: Any) -> None:
        """Take in the rows of a piece of the log that are ``asked``, with class, table and second (since 1970)."""
        import numpy as np
        import polars as pl

        rows = np.flatnonzero(asked)
        if not len(rows):
            return
        code, table, second = code[rows], table[rows], second[rows]
        place = table << _BITS | second
        edge = np.unique(place[(second == second.min()) | (second == second.max())])
        keys = self._busiest_of_keys(frame, rows, place)
        wanted = np.unique(np.concatenate([self._held, edge, keys, _busiest_of_classes(code, place, second)]))
        inside = np.flatnonzero(pl.Series(place).is_in(pl.Series(wanted).implode()).to_numpy())
        where = {"table": table[inside], "second": second[inside], "class": code[inside]}
        some = compact(frame.select(_WHAT)[rows[inside]]).with_columns(pl.Series(n, v) for n, v in where.items())
        self._pending.append(some.with_columns(n=pl.lit(1, pl.Int64)))
        self._held, self._edge = wanted, edge
        if self._rows is None or sum(part.height for part in self._pending) > PENDING_MAX:
            self._merge()

    def _busiest_of_keys(self, frame: pl.DataFrame, rows: Any, place: Any) -> Any:
        """The seconds of one piece in which one key had more than once, and than in the seconds that are held."""
        import numpy as np
        import polars as pl

        # Only equality within this run matters, so the machine's own hash will do.
        own = frame["pk"].hash(0).to_numpy()
        if frame["pk"].null_count():
            other = frame["filter"].hash(0) ^ frame["params"].hash(1)
            own = np.where(frame["pk"].is_null().to_numpy(), other.to_numpy(), own)
        keys = own[rows] ^ mixed(place.astype(np.uint64))
        tables = np.flatnonzero(np.bincount(place >> _BITS)).tolist()
        least = max(1, min(self._least_of_keys.get(table, 0) for table in tables))
        in_order = np.sort(keys)
        often = in_order[least:][in_order[least:] == in_order[:-least]]  # each key as often as it passes ``least``
        if not len(often):
            return np.empty(0, dtype=np.int64)
        key, counts = pl.Series("key", keys), pl.Series("key", often).value_counts(name="n")
        few = np.flatnonzero(key.is_in(counts["key"].implode()).to_numpy())
        data_frame = pl.DataFrame({"place": place[few], "key": key.gather(few)}).join(counts, on="key")
        where = data_frame.select(table=pl.col("place") // (1 << _BITS), second=pl.col("place") % (1 << _BITS), n="n")
        return _places(_first(where, "table", SECONDS_OF_KEYS))

    def _merge(self) -> None:
        """Keep the busiest seconds of those that are held, and those that the next piece may go on with."""
        import numpy as np
        import polars as pl

        by = [*_SECOND, "class"]
        new = pl.concat(self._pending)
        totals, rows = new.select(*by, "n"), new
        self._pending = []
        if self._rows is not None and self._totals is not None:
            totals, rows = pl.concat([self._totals, totals]), pl.concat([self._rows.select(new.columns), rows])
        edges = pl.DataFrame({"table": self._edge >> _BITS, "second": self._edge & _SECONDS})
        totals = totals.group_by(by).agg(pl.col("n").sum())
        rows = rows.group_by(*by, *_WHAT, maintain_order=True).agg(pl.col("n").sum())
        key = pl.coalesce("pk", "filter", "params")
        keys = rows.group_by(*_SECOND, key=key).agg(pl.col("n").sum())
        of_keys = _first(keys, "table", SECONDS_OF_KEYS)
        self._least_of_keys = _least(keys, of_keys)
        frame = pl.concat([edges, _first(totals, "class", SECONDS_OF_CLASS), of_keys])
        self._totals = totals.join(frame.unique(), on=list(_SECOND), how="semi")
        rows = rows.join(frame.unique(), on=list(_SECOND), how="semi", maintain_order="left")
        rows = rows.sort("n", descending=True, maintain_order=True)
        place = pl.int_range(pl.len()).over(_SECOND)
        self._rows = rows.filter(place < ROWS_PER_SECOND)
        self._held = np.unique(_places(self._totals))

    def result(self, routes: Routes) -> dict[int, BusyRequests]:
        """By class what was asked of it in the seconds that are kept of its table."""
        import polars as pl

        if self._pending:
            self._merge()
        if self._rows is None or self._totals is None:
            return {}
        keys = self._rows.group_by(*_SECOND, key=pl.coalesce("pk", "filter", "params")).agg(pl.col("n").sum())
        best = [_first(self._totals, "class", SECONDS_OF_CLASS), _first(keys, "table", SECONDS_OF_KEYS)]
        seconds = pl.concat(best).unique()
        rows = self._rows.join(seconds, on=list(_SECOND), how="semi", maintain_order="left")
        rows = rows.filter(pl.int_range(pl.len()).over("table") < ROWS_PER_TABLE)
        out: dict[int, BusyRequests] = {}
        for (table,), part in self._totals.group_by("table", maintain_order=True):
            at = seconds.filter(pl.col("table") == table)["second"].sort().to_list()
            for code in part["class"].unique().sort().to_list():
                mine = part.filter(pl.col("class") == code)
                counts = dict(zip(mine["second"].to_list(), mine["n"].to_list(), strict=True))
                own = rows.filter(pl.col("class") == code).with_columns(
                    at_us=pl.col("second") * 1_000_000, op_number=pl.lit(0, pl.Int32)
                )
                counts_of = (own["second"].alias(SECOND), own["n"].cast(pl.Float64).alias(REQUESTS))
                shown = sample_frame(own, routes).with_columns(counts_of)
                out[code] = BusyRequests({s: float(counts.get(s, 0)) for s in at}, shown)
        return out


def _places(seconds: pl.DataFrame) -> Any:
    """Table and second in one number."""
    return seconds["table"].to_numpy() << _BITS | seconds["second"].to_numpy()


def _busiest_of_classes(code: Any, place: Any, second: Any) -> Any:
    """The busiest seconds of each class in one piece; a class is of one table."""
    import numpy as np

    first = int(second.min())
    span = int(second.max()) - first + 1
    keys, counts = counted(code * span + (second - first), (int(code.max()) + 1) * span)
    order = np.lexsort((keys, -counts, keys // span))
    classes = (keys // span)[order]
    starts = np.flatnonzero(np.diff(classes, prepend=-1))
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.r_[starts, len(order)]))
    best = keys[order[rank < SECONDS_OF_CLASS]]
    table = np.zeros(int(code.max()) + 1, dtype=np.int64)
    table[code] = place >> _BITS
    return table[best // span] << _BITS | (best % span + first)


def _first(counts: pl.DataFrame, of: str, most: int) -> pl.DataFrame:
    """The seconds with the highest ``n`` of each class or table; of equal ones the earliest."""
    import polars as pl

    highest = counts.group_by(list(dict.fromkeys((*_SECOND, of)))).agg(pl.col("n").max())
    highest = highest.sort([of, "n", "second"], descending=[False, True, False])
    return highest.filter(pl.int_range(pl.len()).over(of) < most).select(_SECOND)


def _least(counts: pl.DataFrame, first: pl.DataFrame) -> dict[int, int]:
    """The lowest count of the first seconds of each table that has as many of them as are kept."""
    import polars as pl

    highest = counts.group_by(_SECOND).agg(pl.col("n").max()).join(first, on=list(_SECOND), how="semi")
    least = highest.group_by("table").agg(pl.col("n").min(), seconds=pl.len())
    return {table: n for table, n, seconds in least.iter_rows() if seconds >= SECONDS_OF_KEYS}
