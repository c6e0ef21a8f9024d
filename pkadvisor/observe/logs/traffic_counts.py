"""Requests counted as they come, frame by frame, by table and class."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, NamedTuple

from pkadvisor.lazy import Bools, Ints, np, pl
from pkadvisor.observe.logs import traffic_parts
from pkadvisor.observe.logs.busy_spans import MINUTES, SECONDS, BusySpans
from pkadvisor.observe.logs.frame import Op, Route, Routes
from pkadvisor.observe.logs.traffic import Groups, LogWindow
from pkadvisor.observe.logs.traffic_parts import compact
from pkadvisor.observe.logs.traffic_retries import Repeats, SeenWindow
from pkadvisor.splitmix import mixed_words
from pkadvisor.values import dataclass


@dataclass(slots=True)
class _Tally:
    """Counts of one class."""

    attempts: int = 0
    throttled: int = 0
    retries: int = 0
    pages: int = 0
    first_us: int | None = None
    last_us: int | None = None

    @property
    def requests(self) -> int:
        return self.attempts - self.retries - self.pages


def _class_of(route: Route) -> Route:
    """What makes two routes one class: all but being a further page."""
    return replace(route, continued=False, encoded=False, account="", skip="")


class _Routes(NamedTuple):
    """What the counts need of routes, a column each: class, class of the group (or -1), table, and flags."""

    code: Ints
    batch: Ints
    table: Ints
    header: Ints
    page: Ints
    write: Ints
    out: Ints

    def of_rows(self, route: Ints) -> _Routes:
        """The columns of rows of these routes."""
        return _Routes(*(column[route] for column in self))


CHUNK_ROWS: Final = 1 << 17


HOUR_US: Final = 3_600_000_000


WINDOW_HASHES_MAX: Final = 16 << 20


SAMPLE_PER_CLASS: Final = 5_000


SAMPLE_PER_TABLE: Final = 20_000


HEAVY_KEYS_MAX: Final = 100_000


SECONDS_ROWS_MAX: Final = 4_000_000


_GROUPS_APART: Final = 16


_NO_TIME: Final = -(1 << 62)


_TIME_MAX_US: Final = 253_402_300_800_000_000  # the year 10 000


RESOLUTIONS_US: Final = (60_000_000, 1_000_000, 1_000)


class TrafficCounts:
    """Everything that is counted of the requests of logs; ``add`` takes frames in the order of the logs."""

    def __init__(self, routes: Routes, window: LogWindow | None = None) -> None:
        self._routes = routes
        self._window = window or LogWindow()
        self._chunk_rows = CHUNK_ROWS
        self._waiting: list[pl.DataFrame] = []
        self._waiting_rows = 0
        self._ordinal = 0  # rows folded so far: the identity of requests without one
        self._classes: dict[Route, int] = {}
        self._keys: list[Route] = []
        self._tables: dict[str, int] = {}
        self._tallies: list[_Tally] = []
        self._route_rows: list[tuple[int, int, int, bool, bool, bool, bool]] = []
        self._seen = SeenWindow(WINDOW_HASHES_MAX)
        self._repeats = Repeats(WINDOW_HASHES_MAX // 4)
        self._samples = traffic_parts.BottomK(SAMPLE_PER_CLASS, SAMPLE_PER_TABLE)
        self._heavy = traffic_parts.HeavyHitters(HEAVY_KEYS_MAX)
        self._seconds = traffic_parts.Seconds(SECONDS_ROWS_MAX)
        self._busy = (BusySpans(SECONDS), BusySpans(MINUTES))
        self._groups = GroupFold()
        self._resolution = 0
        self._first: int | None = None
        self._last: int | None = None
        self.rows = self.outside = self.duplicates = self.late = self.untimed = self.headers = 0

    def add(self, frame: pl.DataFrame) -> None:
        """Take in a frame of requests (columns of ``logs.frame.columns()``)."""
        self._waiting.append(frame)
        self._waiting_rows += frame.height
        while self._waiting_rows >= self._chunk_rows:
            whole = pl.concat(self._waiting) if len(self._waiting) > 1 else self._waiting[0]
            rest = whole.slice(self._chunk_rows)
            self._waiting, self._waiting_rows = ([rest] if rest.height else []), rest.height
            self._fold(whole.slice(0, self._chunk_rows))

    def _finish(self) -> None:
        if self._waiting_rows:
            whole = pl.concat(self._waiting)
            self._waiting, self._waiting_rows = [], 0
            self._fold(whole)

    def _class(self, key: Route) -> int:
        code = self._classes.get(key)
        if code is None:
            code = self._classes[key] = len(self._keys)
            self._keys.append(key)
            self._tallies.append(_Tally())
            self._tables.setdefault(key.table, len(self._tables))
        return code

    def _route_table(self) -> _Routes:
        wanted = self._window.table.lower() if self._window.table is not None else None
        for route in self._routes.all[len(self._route_rows) :]:
            if route.op is Op.BATCH:
                self._route_rows.append((-1, -1, -1, True, False, False, False))
                continue
            left_out = wanted is not None and route.table.lower() != wanted
            code = self._class(_class_of(route)) if not left_out else -1
            batch = self._class(Route(route.table, Op.BATCH)) if route.grouped and not left_out else -1
            table = self._tables.get(route.table, -1)
            self._route_rows.append((code, batch, table, False, route.continued, route.op.writes, left_out))
        return _Routes(*np.array(self._route_rows, dtype=np.int64).reshape(-1, len(_Routes._fields)).T)

    def _fold(self, frame: pl.DataFrame) -> None:
        frame = frame.with_columns(ordinal=pl.int_range(pl.len(), dtype=pl.Int64) + self._ordinal)
        self._ordinal += frame.height
        self.rows += frame.height
        routes = self._route_table()
        route = frame["route"].to_numpy()
        keep = routes.out[route] == 0
        since, until = self._window.since_us, self._window.until_us
        at = frame["at_us"].fill_null(_NO_TIME).to_numpy()
        if since is not None:
            keep &= at >= since
        if until is not None:
            keep &= (at < until) & (at != _NO_TIME)
        keep &= (at == _NO_TIME) | ((at >= 0) & (at < _TIME_MAX_US))
        if not keep.all():
            self.outside += int((~keep).sum())
            frame = frame.filter(pl.Series(keep))
            if not frame.height:
                return
            route, at = route[keep], at[keep]

        of = routes.of_rows(route)
        requests, records = self._identities(frame)
        timed = at != _NO_TIME
        hour = int(at.max()) // HOUR_US if timed.any() else 0
        first = self._first_records(records, hour, at, timed)
        self.duplicates += int((~first).sum())

        # A duplicate has no class, and from here on only rows with a class count.
        code, batch = np.where(first, of.code, -1), np.where(first, of.batch, -1)
        page = of.page == 1
        throttled = frame["throttled"].fill_null(False).to_numpy().copy()
        throttled &= first
        retry = self._repeats.of(frame, code, throttled, first, hour)
        retry &= ~page
        demand = ~retry & ~page & (code >= 0)
        lead = (batch >= 0) & (frame["op_number"].to_numpy() == 1)  # one row stands for its group transaction
        self.headers += int((first & (of.header == 1)).sum())

        single = (code >= 0) & (batch < 0)
        entity = batch >= 0
        marks = (throttled, retry, page, at, timed)
        for classes, rows in ((code, single), (code, entity), (batch, lead)):
            self._count(classes[rows], [mark[rows] for mark in marks])
        self._count_seconds(code, batch, of.table, demand & timed, throttled, lead, single, at, timed)
        self._count_times(at[timed & first], int((first & ~timed).sum()))
        asked = demand & timed
        for busy in self._busy:
            busy.add(frame, asked, code, of.table, at // 1_000_000)
        self._take_sample(frame, code, of.table, demand, records)
        self._count_keys(frame["pk"], 2 * of.table + of.write, route, demand)
        grouped = entity & demand
        if grouped.any():
            self._groups.add(frame, grouped, requests, of.table, at // HOUR_US, hour)

    def _identities(self, frame: pl.DataFrame) -> tuple[Any, Any]:
        """Hashes of request ids, and of records: request id and operation number."""
        texts = frame["request_id"]
        requests = traffic_parts.text_hashes(texts)
        nameless = (texts.is_null() | (texts == "")).to_numpy()
        if nameless.any():
            requests[nameless] = mixed_words(
                frame["ordinal"].to_numpy()[nameless].astype(np.uint64) ^ np.uint64(1 << 63)
            )
        number = frame["op_number"].fill_null(0).to_numpy().astype(np.uint64)
        return requests, mixed_words(requests ^ (number << np.uint64(32)))

    def _first_records(self, records: Any, hour: int, at: Any, timed: Any) -> Any:
        """Which records come for the first time."""
        known = self._seen.hour
        if known > 0:
            self.late += int((timed & (at < (known - 1) * HOUR_US)).sum())
        first: Bools = pl.Series(records).is_first_distinct().to_numpy() & ~self._seen.contains(records)
        self._seen.add(pl.Series(records[first]).sort().to_numpy(), hour)
        return first

    def _count(self, code: Any, marks: list[Any]) -> None:
        """Add rows to the tallies of their classes."""
        if not len(code):
            return
        throttled, retry, page, at, timed = marks
        n = len(self._tallies)
        attempts, throttled, retries, pages = (
            np.bincount(codes, minlength=n) for codes in (code, code[throttled], code[retry], code[page])
        )
        lowest = np.full(n, _TIME_MAX_US)
        highest = np.full(n, -1)
        np.minimum.at(lowest, code[timed], at[timed])
        np.maximum.at(highest, code[timed], at[timed])
        for c in np.flatnonzero(attempts).tolist():
            tally = self._tallies[c]
            tally.attempts += int(attempts[c])
            tally.throttled += int(throttled[c])
            tally.retries += int(retries[c])
            tally.pages += int(pages[c])
            if highest[c] >= 0:
                tally.first_us = int(lowest[c]) if tally.first_us is None else min(tally.first_us, int(lowest[c]))
                tally.last_us = int(highest[c]) if tally.last_us is None else max(tally.last_us, int(highest[c]))

    def _count_seconds(
        self, code: Any, batch: Any, table: Any, demand: Any, refused: Any, lead: Any, single: Any, at: Any, timed: Any
    ) -> None:
        """Per-second counts: the account by attempts; tables and classes by requests (those in ``demand``)."""
        second = at // 1_000_000
        one = single | lead
        parts = [
            (np.full(len(second), traffic_parts.ACCOUNT_LINE, dtype=np.int64), one & timed),
            (traffic_parts.table_line(table), one & demand),
            (traffic_parts.class_line(code), demand),
            (traffic_parts.class_line(batch), lead & demand),
            (traffic_parts.refused_line(table), one & demand & refused),
        ]
        lines = np.concatenate([line[rows] for line, rows in parts])
        self._seconds.add(lines, np.concatenate([second[rows] for _, rows in parts]))

    def _count_times(self, at: Any, untimed: int) -> None:
        self.untimed += untimed
        if not len(at):
            return
        low, high = int(at.min()), int(at.max())
        self._first = low if self._first is None else min(self._first, low)
        self._last = high if self._last is None else max(self._last, high)
        while self._resolution < len(RESOLUTIONS_US) and np.any(at % RESOLUTIONS_US[self._resolution]):
            self._resolution += 1

    def _take_sample(self, frame: pl.DataFrame, code: Any, table: Any, demand: Any, records: Any) -> None:
        rows = np.flatnonzero(demand)
        rows = rows[self._samples.wanted(code[rows].astype(np.int32), records[rows])]
        if not len(rows):
            return
        some = frame.select("at_us", "op_number", "pk", "rk", "filter", "params", "status", "route")[rows]
        self._samples.add(
            some.with_columns(
                pl.Series("class", code[rows], dtype=pl.UInt32),
                pl.Series("table", table[rows], dtype=pl.UInt32),
                pl.Series("hash", records[rows], dtype=pl.UInt64),
            )
        )

    def _count_keys(self, keys: pl.Series, of: Any, route: Any, demand: Any) -> None:
        """PartitionKeys of reads and writes of each table: twice its number, and one more for writes."""
        pinned = np.array([r.pk_equal for r in self._routes.all], dtype=bool)[route] & demand
        if not pinned.any():
            return
        group = np.where(pinned, of, -1)
        size = 2 * len(self._tables)
        present = np.flatnonzero(np.bincount(group + 1, minlength=size + 1)[1:]).tolist()
        text = keys.alias("text")
        if len(present) <= _GROUPS_APART:
            # Counting one column is many times as fast as grouping by two.
            parts = [
                text.filter(pl.Series(group == number))
                .drop_nulls()
                .value_counts(name="n")
                .select(pl.lit(number, pl.UInt32).alias("group"), "text", pl.col("n").cast(pl.Int64))
                for number in present
            ]
            counts = pl.concat(parts)
        else:
            counts = (
                pl.DataFrame([pl.Series("group", group).cast(pl.UInt32, strict=False), text])
                .drop_nulls()
                .group_by("group", "text")
                .agg(n=pl.len().cast(pl.Int64))
            )
        self._heavy.add(counts)

    def check(self) -> None:
        """Assert what must hold between the counts."""
        folded = self._ordinal - self.outside - self.duplicates - self.headers
        rows = sum(t.attempts for k, t in zip(self._keys, self._tallies, strict=True) if k.op is not Op.BATCH)
        assert rows == folded, f"{rows} attempts counted of {folded} records"
        for key, tally in zip(self._keys, self._tallies, strict=True):
            assert 0 <= tally.requests <= tally.attempts, key
            assert tally.throttled <= tally.attempts, key


# -- Folding the parts of group transactions, which may come apart and out of order, into sizes and a sample.


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
        limits = traffic_parts.limits_of(self._limit, int(tables.max()) + 1)
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
