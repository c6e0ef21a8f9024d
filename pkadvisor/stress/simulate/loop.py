"""Open-loop traffic, one attempt after the other: the reference of a run without rows."""

from __future__ import annotations

from collections.abc import Iterator

from pkadvisor.engine.capacity.capacity import Capacity
from pkadvisor.stress.load.load import Load, arrivals_of
from pkadvisor.stress.placement.run_result import RunResult
from pkadvisor.stress.placement.stamp_map import StampMap
from pkadvisor.stress.requests.retry import RetryPolicy
from pkadvisor.stress.requests.scripts import Scripts
from pkadvisor.stress.simulate.course import Course, Traced, Versions
from pkadvisor.stress.simulate.measures import cut_short


def run_loop(
    load: Load,
    scripts: Scripts,
    capacity: Capacity,
    stamp_map: StampMap,
    policy: RetryPolicy,
    *,
    versions: Versions | None = None,
    trace: list[Traced] | None = None,
) -> RunResult:
    """Runs a load against ``capacity``; ``trace`` gets every attempt in its order.

    With ``versions`` a write under If-Match is answered 412 where its entity was changed since it was read.

    Nothing here is left to chance: draws of service times follow from the seed of ``capacity``, those of retries from
    that of ``policy``. After Ctrl-C the result holds what was run by then and is not ``complete``.
    """
    course = Course(scripts, capacity, stamp_map, policy, load.duration_ns, versions=versions, trace=trace)
    try:
        _let_run(course, arrivals_of(load))
    except KeyboardInterrupt:
        return cut_short(course.recorder.result(course.events), min(course.due_ns or 0, load.duration_ns))
    course.come_to(load.duration_ns - 1)
    course.check()
    return course.recorder.result(course.events)


def _let_run(course: Course, arrivals: Iterator[tuple[int, int, int, int]]) -> None:
    """Until nothing arrives any more and everything is answered."""
    arrival = next(arrivals, None)
    while arrival is not None or course.due_ns is not None:
        due_ns = course.due_ns
        if arrival is not None and (due_ns is None or arrival[1] <= due_ns):
            course.come_to(arrival[1])
            course.arrive(*arrival)
            arrival = next(arrivals, None)
            continue
        assert due_ns is not None
        course.come_to(due_ns)
        course.attempt()
