"""Facts that a stress test measured: known where the review was given its result, and only of the same keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pkadvisor.observe.workload import Basis
from pkadvisor.review.facts.base import Fact
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.subjects import Subject

Value = float | bool | str | None


def _of(name: str) -> Callable[[Subject], Value]:
    def measured(subject: Subject) -> Value:
        run = subject.view.stressed
        value: Value = None if run is None else getattr(run, name)
        return value

    return measured


_ABOUT = {
    "throttled_share number share": (
        "The share that advisor stress saw throttled (503) under these keys, warmed up (--stress)."
    ),
    "cold_throttled_share number share": "The same as a new table, which is one range.",
    "lost_share number share": "Requests that their clients gave up in advisor stress, warmed up.",
    "latency_ms_p99 number ms": "The 99th percentile of all requests in advisor stress, warmed up, retries included.",
    "hottest_times_target number x": (
        "What was demand on the hottest partition in advisor stress, in times of its target, retries included."
    ),
    "break_proved bool": "Whether the break factor held in advisor stress: quiet below it, throttled above.",
    "level text": (
        "What advisor stress says of these keys, warmed up: bears, bursts (throttled and retried), untested or fails."
    ),
    "new_table_level text": "The same as a new table, which is one range.",
    "load text": "The load that advisor stress ran, with the faults it was run under.",
}
"""By the name of a measurement, its type and its unit: what it is."""


def _facts() -> Iterator[Fact]:
    for key, about in _ABOUT.items():
        name, type_, *unit = key.split()
        yield Fact(f"table.stress_{name}", FactType(type_), "".join(unit), _of(name), Basis.MEASURED, about)


FACTS = tuple(_facts())
