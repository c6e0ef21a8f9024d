"""What was asked in the busiest seconds and minutes of a log, request by request.

A burst on one key, or on several keys that another PartitionKey brings together, shows only in what was asked within
one second, and an import or a batch job in what was asked within one minute. All spans are too many to keep, so those
are kept in which a class was asked most, and those in which one PartitionKey was (the filter or the parameters, where a
log names none).

What a class of requests shows of itself: its filter parsed, and some of its requests with their literals.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import unquote_plus

from pkadvisor.errors import UsageError
from pkadvisor.lazy import np, pl
from pkadvisor.observe.logs.frame import OTHER_SHAPES, Routes
from pkadvisor.observe.logs.traffic_parts import compact, counted
from pkadvisor.observe.workload import MINUTE_REQUESTS, MINUTE_S, REQUESTS, SPAN, BusyRequests, span_of
from pkadvisor.splitmix import mixed_words
from pkadvisor.table.filters import Filter
from pkadvisor.table.odata import normalise, parse_filter
from pkadvisor.values import dataclass


def parsed_shape(shape: str) -> Filter | None:
    """The filter of a shape; None where there is none, it is wrong, or too many differ to be kept apart."""
    if not shape or shape == OTHER_SHAPES:
        return None
    try:
        return parse_filter(shape, parameters=True)
    except (UsageError, ValueError):
        return None


def sample_frame(rows: pl.DataFrame | None, routes: Routes) -> pl.DataFrame:
    """Sampled requests as shown: filters decoded, their literals as written in the filter."""
    schema: dict[str, Any] = {
        "at_us": pl.Int64,
        "op_number": pl.Int32,
        "pk": pl.String,
        "rk": pl.String,
        "filter": pl.String,
        "literals": pl.List(pl.String),
        "params": pl.String,
        "status": pl.Int16,
    }
    if rows is None:
        return pl.DataFrame(schema=schema)
    filters = [
        None if text is None else unquote_plus(text) if routes.all[route].encoded else text
        for text, route in zip(rows["filter"], rows["route"], strict=True)
    ]
    literals = [None if text is None else list(normalise(text)[1]) for text in filters]
    return rows.select(
        "at_us",
        "op_number",
        "pk",
        "rk",
        pl.Series("filter", filters, dtype=pl.String),
        pl.Series("literals", literals, dtype=pl.List(pl.String)),
        "params",
        "status",
    )


@dataclass(frozen=True, slots=True)
class Spans:
    """Which spans of ``length_s`` are kept, and how much of each.

    ``of_class``: the busiest of each class; ``of_keys``: of each table for a PartitionKey that had most in them.
    ``rows``: different requests that are kept of a span. With ``sampled`` they stand for all requests of the span, else
    they are the most frequent ones, each counted.
    """

    length_s: int
    of_class: int
    of_keys: int
    rows: int
    sampled: bool = False


SECONDS: Final = Spans(1, of_class=2, of_keys=4, rows=5_000)
MINUTES: Final = Spans(MINUTE_S, of_class=1, of_keys=2, rows=MINUTE_REQUESTS, sampled=True)
PART_LEAST_S: Final = 10
"""A minute in which a log begins or ends counts as so many seconds at the least: a few seconds are no minute's load."""
ROWS_PER_TABLE: Final = 20_000
_WHAT: Final = ("pk", "rk", "filter", "params", "route")
PENDING_MAX: Final = 50_000
"""Requests of busy seconds that wait until they are counted."""
_PLACE: Final = ("table", "start")
_BITS: Final = 40
_STARTS: Final = (1 << _BITS) - 1


class BusySpans:
    """The accumulator: rows of requests in, the busiest spans of each class out.

    Exact where the lines come in the order of their times: a span that two pieces share is kept until the next piece.
    Of a log in another order the counts are lower bounds, as some lines of a span may have come before it was busy.
    """

    def __init__(self, spans: Spans) -> None:
        self._spans = spans
        self._first_s, self._last_s = _STARTS, 0
        self._pending: list[pl.DataFrame] = []
        self._held = self._edge = np.empty(0, dtype=np.int64)  # spans that are held, and ends of the last piece
        self._rows: pl.DataFrame | None = None  # table, start, class, what was asked, n
        self._totals: pl.DataFrame | None = None  # table, start, class, n
        self._least_of_keys = dict[int, int]()  # by table what a key must pass in a span to be among the first

    def add(self, frame: pl.DataFrame, asked: Any, code: Any, table: Any, second: Any) -> None:
        """Take in the rows of a piece of the log that are ``asked``, with class, table and second (since 1970)."""
        rows = np.flatnonzero(asked)
        if not len(rows):
            return
        self._first_s = min(self._first_s, int(second[rows].min()))
        self._last_s = max(self._last_s, int(second[rows].max()))
        code, table, start = code[rows], table[rows], second[rows] // self._spans.length_s * self._spans.length_s
        place = table << _BITS | start
        edge = np.unique(place[(start == start.min()) | (start == start.max())])
        keys = self._busiest_of_keys(frame, rows, place)
        of_classes = _busiest_of_classes(code, place, start, self._spans.of_class)
        wanted = np.unique(np.concatenate([self._held, edge, keys, of_classes]))
        inside = np.flatnonzero(pl.Series(place).is_in(pl.Series(wanted).implode()).to_numpy())
        inside, weights = self._sampled(inside, place)
        where = {"table": table[inside], "start": start[inside], "class": code[inside], "n": weights}
        some = compact(frame.select(_WHAT)[rows[inside]]).with_columns(pl.Series(n, v) for n, v in where.items())
        self._pending.append(some)
        self._held, self._edge = wanted, edge
        if self._rows is None or sum(part.height for part in self._pending) > PENDING_MAX:
            self._merge()

    def _sampled(self, inside: Any, place: Any) -> tuple[Any, Any]:
        """Of each span as many rows as are kept of one, evenly drawn, and how many requests each stands for."""
        if not self._spans.sampled:
            return inside, np.ones(len(inside))
        order = np.argsort(place[inside], kind="stable")
        spans, first, counts = np.unique(place[inside][order], return_index=True, return_counts=True)
        stride = np.repeat(-(-counts // self._spans.rows), counts)
        rank = np.arange(len(order)) - np.repeat(first, counts)
        chosen = np.flatnonzero(rank % stride == 0)
        of_span = np.repeat(np.arange(len(spans)), counts)
        weights = counts / np.bincount(of_span[chosen], minlength=len(spans))
        order = order[chosen]
        return inside[order], weights[of_span[chosen]]

    def _busiest_of_keys(self, frame: pl.DataFrame, rows: Any, place: Any) -> Any:
        """The spans of one piece in which one key had more than once, and than in the spans that are held."""
        # Only equality within this run matters, so the machine's own hash will do.
        pk, filters, params = frame.select("pk", "filter", "params").get_columns()
        own = pk.hash(0).to_numpy()
        if pk.null_count():
            other = filters.hash(0) ^ params.hash(1)
            own = np.where(pk.is_null().to_numpy(), other.to_numpy(), own)
        keys = own[rows] ^ mixed_words(place.astype(np.uint64))
        tables = np.flatnonzero(np.bincount(place >> _BITS)).tolist()
        least = max(1, min(self._least_of_keys.get(table, 0) for table in tables))
        in_order = np.sort(keys)
        often = in_order[least:][in_order[least:] == in_order[:-least]]  # each key as often as it passes ``least``
        if not len(often):
            return np.empty(0, dtype=np.int64)
        key, counts = pl.Series("key", keys), pl.Series("key", often).value_counts(name="n")
        few = np.flatnonzero(key.is_in(counts["key"].implode()).to_numpy())
        data_frame = pl.DataFrame({"place": place[few], "key": key.gather(few)}).join(counts, on="key")
        where = data_frame.select(table=pl.col("place") // (1 << _BITS), start=pl.col("place") % (1 << _BITS), n="n")
        return _places(_first(where, "table", self._spans.of_keys))

    def _merge(self) -> None:
        """Keep the busiest spans of those that are held, and those that the next piece may go on with."""
        by = [*_PLACE, "class"]
        new = pl.concat(self._pending)
        totals, rows = new.select(*by, "n"), new
        self._pending = []
        if self._rows is not None and self._totals is not None:
            totals, rows = pl.concat([self._totals, totals]), pl.concat([self._rows.select(new.columns), rows])
        edges = pl.DataFrame({"table": self._edge >> _BITS, "start": self._edge & _STARTS})
        totals = totals.group_by(by).agg(pl.col("n").sum())
        rows = rows.group_by(*by, *_WHAT, maintain_order=True).agg(pl.col("n").sum())
        key = pl.coalesce("pk", "filter", "params")
        keys = rows.group_by(*_PLACE, key=key).agg(pl.col("n").sum())
        of_keys = _first(keys, "table", self._spans.of_keys)
        self._least_of_keys = _least(keys, of_keys, self._spans.of_keys)
        frame = pl.concat([edges, _first(totals, "class", self._spans.of_class), of_keys])
        self._totals = totals.join(frame.unique(), on=list(_PLACE), how="semi")
        rows = rows.join(frame.unique(), on=list(_PLACE), how="semi", maintain_order="left")
        self._rows = self._cut(rows)
        self._held = np.unique(_places(self._totals))

    def _cut(self, rows: pl.DataFrame) -> pl.DataFrame:
        """As many rows of each span as are kept: the most frequent, or some that stand for all."""
        place, most = pl.int_range(pl.len()).over(_PLACE), self._spans.rows
        if not self._spans.sampled:
            return rows.sort("n", descending=True, maintain_order=True).filter(place < most)
        stride = (pl.len().over(_PLACE) + most - 1) // most
        some = rows.with_columns(_all=pl.col("n").sum().over(_PLACE)).filter(place % stride == 0)
        return some.with_columns(n=pl.col("n") * pl.col("_all") / pl.col("n").sum().over(_PLACE)).drop("_all")

    def result(self, routes: Routes) -> dict[int, BusyRequests]:
        """By class what was asked of it in the spans that are kept of its table."""
        if self._pending:
            self._merge()
        if self._rows is None or self._totals is None:
            return {}
        keys = self._rows.group_by(*_PLACE, key=pl.coalesce("pk", "filter", "params")).agg(pl.col("n").sum())
        best = [_first(self._totals, "class", self._spans.of_class), _first(keys, "table", self._spans.of_keys)]
        spans = pl.concat(best).unique()
        rows = self._rows.join(spans, on=list(_PLACE), how="semi", maintain_order="left")
        rows = rows.filter(pl.int_range(pl.len()).over("table") < ROWS_PER_TABLE)
        out: dict[int, BusyRequests] = {}
        for (table,), part in self._totals.group_by("table", maintain_order=True):
            at = spans.filter(pl.col("table") == table)["start"].sort().to_list()
            for code in part["class"].unique().sort().to_list():
                mine = part.filter(pl.col("class") == code)
                counts = dict(mine.select("start", "n").iter_rows())
                own = rows.filter(pl.col("class") == code).with_columns(
                    at_us=pl.col("start") * 1_000_000, op_number=pl.lit(0, pl.Int32), status=pl.lit(0, pl.Int16)
                )
                lengths = {second: self._covered_s(second) for second in at}
                start, n = own.select("start", "n").get_columns()
                span = span_of(start, start.replace_strict(lengths, return_dtype=pl.Int64))
                counts_of = (span.alias(SPAN), n.cast(pl.Float64).alias(REQUESTS))
                shown = sample_frame(own, routes).with_columns(counts_of)
                out[code] = BusyRequests({span_of(s, lengths[s]): float(counts.get(s, 0)) for s in at}, shown)
        return out

    def _covered_s(self, start: int) -> int:
        """The seconds of a span that lie within the log."""
        inside = min(start + self._spans.length_s, self._last_s + 1) - max(start, self._first_s)
        return max(inside, min(PART_LEAST_S, self._spans.length_s))


def _places(spans: pl.DataFrame) -> Any:
    """Table and start in one number."""
    table, start = (column.to_numpy() for column in spans.select(_PLACE))
    return table << _BITS | start


def _busiest_of_classes(code: Any, place: Any, start: Any, most: int) -> Any:
    """The busiest spans of each class in one piece; a class is of one table."""
    first = int(start.min())
    span = int(start.max()) - first + 1
    keys, counts = counted(code * span + (start - first), (int(code.max()) + 1) * span)
    order = np.lexsort((keys, -counts, keys // span))
    classes = (keys // span)[order]
    starts = np.flatnonzero(np.diff(classes, prepend=-1))
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.r_[starts, len(order)]))
    best = keys[order[rank < most]]
    table = np.zeros(int(code.max()) + 1, dtype=np.int64)
    table[code] = place >> _BITS
    return table[best // span] << _BITS | (best % span + first)


def _first(counts: pl.DataFrame, of: str, most: int) -> pl.DataFrame:
    """The spans with the highest ``n`` of each class or table; of equal ones the earliest."""
    highest = counts.group_by(list(dict.fromkeys((*_PLACE, of)))).agg(pl.col("n").max())
    highest = highest.sort([of, "n", "start"], descending=[False, True, False])
    return highest.filter(pl.int_range(pl.len()).over(of) < most).select(_PLACE)


def _least(counts: pl.DataFrame, first: pl.DataFrame, most: int) -> dict[int, int]:
    """The lowest count of the first spans of each table that has ``most`` of them."""
    highest = counts.group_by(_PLACE).agg(pl.col("n").max()).join(first, on=list(_PLACE), how="semi")
    least = highest.group_by("table").agg(pl.col("n").min(), spans=pl.len())
    return {table: int(n) for table, n, spans in least.iter_rows() if spans >= most}
