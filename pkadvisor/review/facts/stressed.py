"""Facts that a stress test measured: known where the review was given its result, and only of the same keys."""

from __future__ import annotations

from collections.abc import Callable

from pkadvisor.observe.workload import Basis
from pkadvisor.review.facts.base import Fact
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.stressed import Stressed
from pkadvisor.review.views.subjects import Subject

Value = float | bool | str | None


def _of(value: Callable[[Stressed], Value]) -> Callable[[Subject], Value]:
    def found(subject: Subject) -> Value:
        run = subject.view.stressed
        return None if run is None else value(run)

    return found


FACTS = (
    Fact("table.stress_throttled_share", FactType.NUMBER, "share", _of(lambda run: run.throttled_share), Basis.MEASURED, about="The share that advisor stress saw throttled (503) under these keys, warmed up (--stress)."),
    Fact("table.stress_cold_throttled_share", FactType.NUMBER, "share", _of(lambda run: run.cold_throttled_share), Basis.MEASURED, about="The same as a new table, which is one range."),
    Fact("table.stress_lost_share", FactType.NUMBER, "share", _of(lambda run: run.lost_share), Basis.MEASURED, about="Requests that their clients gave up in advisor stress, warmed up."),
    Fact("table.stress_latency_ms_p99", FactType.NUMBER, "ms", _of(lambda run: run.latency_ms_p99), Basis.MEASURED, about="The 99th percentile of all requests in advisor stress, warmed up, retries included."),
    Fact("table.stress_hottest_times_target", FactType.NUMBER, "x", _of(lambda run: run.hottest_times_target), Basis.MEASURED, about="What was demand on the hottest partition in advisor stress, in times of its target, retries included."),
    Fact("table.stress_break_proved", FactType.BOOL, "", _of(lambda run: run.break_proved), Basis.MEASURED, about="Whether the break factor held in advisor stress: quiet below it, throttled above."),
    Fact("table.stress_level", FactType.TEXT, "", _of(lambda run: run.level), Basis.MEASURED, about="What advisor stress says of these keys, warmed up: bears, bursts (throttled and retried), untested or fails."),
    Fact("table.stress_new_table_level", FactType.TEXT, "", _of(lambda run: run.new_table_level), Basis.MEASURED, about="The same as a new table, which is one range."),
    Fact("table.stress_load", FactType.TEXT, "", _of(lambda run: run.load), Basis.MEASURED, about="The load that advisor stress ran, with the faults it was run under."),
)  # fmt: skip
