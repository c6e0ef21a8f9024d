"""Folding request frames into ``Traffic``.

Frames are cut anew into pieces of a fixed number of rows before anything is counted, so that neither block size nor
threads show in the result, sketches included.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from pkadvisor.lazy import np, pl
from pkadvisor.observe.logs.busy_spans import parsed_shape, sample_frame
from pkadvisor.observe.logs.frame import UNLISTED, Op, Skips
from pkadvisor.observe.logs.traffic import ClassTraffic, Clock, Groups, HeavyKeys, TableTraffic, Traffic
from pkadvisor.observe.logs.traffic_counts import RESOLUTIONS_US, TrafficCounts
from pkadvisor.observe.logs.traffic_parts import ACCOUNT_LINE, class_line, table_line
from pkadvisor.observe.minutes import MinuteSeries, bounded
from pkadvisor.observe.workload import Basis, BusyRequests

HEAVY_KEYS_SHOWN: Final = 1_000


class TrafficFold(TrafficCounts):
    """The accumulator: ``add`` frames in the order of the logs, then ``result``."""

    def result(self, skips: Skips, files: tuple[tuple[str, str], ...] = ()) -> Traffic:
        """Everything that was counted; the accumulator is used up."""
        self._finish()
        self.check()
        peak, minutes = self._seconds.result()
        clock = self._clock(minutes.get(ACCOUNT_LINE))
        attempts = sum(t.attempts for k, t in zip(self._keys, self._tallies, strict=True) if not k.grouped)
        tables = self._table_traffic(peak, minutes, clock, attempts)
        unlisted = self._unlisted()
        skips.add(UNLISTED, unlisted, files[0][0] if files else "", "EntityGroupTransaction")
        single_requests = [t for k, t in zip(self._keys, self._tallies, strict=True) if not k.grouped]
        certain = not (self.late or self._seen.shortened or self._repeats.unsure or self._groups.shortened)
        return Traffic(
            tables=tuple(tables),
            clock=clock,
            attempts=attempts,
            mean_per_s=_per_s(attempts, clock),
            peak_per_s=peak.get(ACCOUNT_LINE, 0),
            peak_per_minute=_most(minutes.get(ACCOUNT_LINE)),
            duplicates=self.duplicates,
            throttled=sum(t.throttled for t in single_requests),
            retries=sum(t.retries for t in single_requests),
            pages=sum(t.pages for t in single_requests),
            groups_unlisted=unlisted,
            outside=self.outside,
            late=self.late,
            basis=Basis.COUNTED if certain else Basis.ESTIMATED,
            lines=skips.lines,
            skipped=tuple(
                (reason, count, skips.examples[reason])
                for reason, count in sorted(skips.counts.items(), key=lambda item: (-item[1], item[0]))
            ),
            files=files,
        )

    def _busy_requests(self) -> dict[int, BusyRequests]:
        """What was asked of each class in the busiest seconds and minutes."""
        seconds, minutes = (busy.result(self._routes) for busy in self._busy)
        both = {code: seconds[code].beside(minutes[code]) for code in seconds.keys() & minutes.keys()}
        return seconds | minutes | both

    def _table_traffic(
        self, peak: dict[int, int], minutes: dict[int, Any], clock: Clock, attempts: int
    ) -> list[TableTraffic]:
        """Every table that was asked, the busiest first; ``attempts`` are those of all tables."""
        samples, busy = self._sample_frames(), self._busy_requests()
        heavy = self._heavy_keys()
        groups = self._groups.result(self._routes)
        tables = []
        for name, table in self._tables.items():
            codes = [c for c, key in enumerate(self._keys) if key.table == name and self._tallies[c].attempts]
            if not codes:
                continue
            series = self._series(codes, minutes)
            classes = [self._class_traffic(c, peak, minutes, clock, samples, series.get(c)) for c in codes]
            classes = [replace(c, busy=busy.get(code)) for c, code in zip(classes, codes, strict=True)]
            classes.sort(key=_class_order)
            single = [c for c in classes if not c.grouped]
            tables.append(
                TableTraffic(
                    name=name,
                    classes=tuple(classes),
                    requests=sum(c.requests for c in single),
                    attempts=sum(c.attempts for c in single),
                    share=sum(c.attempts for c in single) / attempts if attempts else 0.0,
                    mean_per_s=_per_s(sum(c.requests for c in single), clock),
                    peak_per_s=peak.get(table_line(table), 0),
                    peak_per_minute=_most(minutes.get(table_line(table))),
                    reads=heavy.get(2 * table, _NO_KEYS),
                    writes=heavy.get(2 * table + 1, _NO_KEYS),
                    groups=groups.get(table, Groups(0, 0, (), ())),
                    refused_beside_per_s=self._seconds.beside_refused(table),
                )
            )
        tables.sort(key=lambda t: (-t.attempts, t.name))
        return tables

    def _unlisted(self) -> int:
        """Group transactions of which no part is logged; of one chosen table, those of others are only unwanted."""
        leads = sum(t.attempts for k, t in zip(self._keys, self._tallies, strict=True) if k.op is Op.BATCH)
        return max(0, self.headers - leads) if self._window.table is None else 0

    def _clock(self, minutes: tuple[Any, Any] | None) -> Clock:
        if minutes is None or self._first is None or self._last is None:
            return Clock(None, None, 0.0, 0, 0, 0, (), self.untimed)
        resolution = (*RESOLUTIONS_US, 1)[self._resolution]
        present = minutes[0]
        hours = np.unique(present // 60)
        missing = int(hours[-1] - hours[0] + 1 - len(hours))
        steps = np.diff(present)
        order = np.argsort(-steps, kind="stable")[:10]
        gaps = tuple((int(present[i] + 1) * 60_000_000, int(steps[i] - 1)) for i in order if steps[i] > 1)
        covered = (self._last - self._first + resolution) / 1e6 - 3600 * missing
        return Clock(
            self._first,
            self._last,
            max(covered, 1.0),
            resolution,
            missing,
            int((steps - 1).sum()),
            gaps,
            self.untimed,
        )

    def _class_traffic(
        self,
        code: int,
        peak: dict[int, int],
        minutes: dict[int, Any],
        clock: Clock,
        samples: dict[int, pl.DataFrame],
        series: MinuteSeries | None,
    ) -> ClassTraffic:
        key, tally = self._keys[code], self._tallies[code]
        return ClassTraffic(
            **{name: getattr(key, name) for name in _OF_ROUTES},
            **{name: getattr(tally, name) for name in _OF_TALLIES},
            filter=parsed_shape(key.shape),
            mean_per_s=_per_s(tally.requests, clock) if tally.first_us is not None else None,
            peak_per_s=peak.get(class_line(code), 0),
            peak_per_minute=_most(minutes.get(class_line(code))),
            sample=samples[code] if code in samples else sample_frame(None, self._routes),
            minutes=series,
        )

    def _series(self, codes: list[int], minutes: dict[int, Any]) -> dict[int, MinuteSeries]:
        """The minutes of the classes of one table."""
        busiest = self._seconds.busiest()
        minute_series = {}
        for code in codes:
            line = class_line(code)
            if line in minutes:
                at, counts = minutes[line]
                minute_series[str(code)] = MinuteSeries(
                    tuple(at.tolist()), tuple(counts.tolist()), burst_at=busiest[line] // 60
                )
        return {int(code): series for code, series in bounded(minute_series).items()}

    def _sample_frames(self) -> dict[int, pl.DataFrame]:
        rows = self._samples.rows()
        if rows is None:
            return {}
        return {
            int(code): sample_frame(part, self._routes) for (code,), part in rows.group_by("class", maintain_order=True)
        }

    def _heavy_keys(self) -> dict[int, HeavyKeys]:
        held = self._heavy.held()
        totals = self._heavy.totals
        out = {}
        for (group,), part in held.group_by("group", maintain_order=True):
            top = part.head(HEAVY_KEYS_SHOWN)
            number = int(group)
            out[number] = HeavyKeys(
                tuple(zip(top["text"].to_list(), top["n"].to_list(), strict=True)),
                totals.get(number, 0),
                self._heavy.error.get(number, 0),
            )
        return out


_NO_KEYS: Final = HeavyKeys((), 0, 0)
_OF_ROUTES: Final = ("table", "op", "address", "grouped", "shape", "pk_equal", "select", "top", "order_by", "kind")
_OF_TALLIES: Final = ("requests", "attempts", "throttled", "retries", "pages", "first_us", "last_us")


def _class_order(of: ClassTraffic) -> tuple[Any, ...]:
    """The busiest class of a table first."""
    return -of.requests, of.op, of.shape, repr((of.address, of.grouped, of.select, of.top, of.order_by, of.kind))


def _per_s(requests: int, clock: Clock) -> float | None:
    return requests / clock.covered_s if clock.first_us is not None else None


def _most(minutes: tuple[Any, Any] | None) -> int:
    return int(minutes[1].max()) if minutes is not None else 0
