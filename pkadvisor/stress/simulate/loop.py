"""Open-loop traffic, one attempt after the other: the reference of a run without rows."""

from __future__ import annotations

from pkadvisor.engine.capacity.capacity import Capacity
from pkadvisor.stress.load.load import Load, arrivals_of
from pkadvisor.stress.placement.run_result import RunResult
from pkadvisor.stress.placement.stamp_map import StampMap
from pkadvisor.stress.requests.retry import RetryPolicy
from pkadvisor.stress.requests.scripts import Scripts
from pkadvisor.stress.simulate.course import Course, Traced


def run_loop(
    load: Load,
    scripts: Scripts,
    capacity: Capacity,
    stamp_map: StampMap,
    policy: RetryPolicy,
    *,
    trace: list[Traced] | None = None,
) -> RunResult:
    """Runs a load against ``capacity``; ``trace`` gets every attempt in its order.

    Nothing here is left to chance: draws of service times follow from the seed of ``capacity``, those of retries from
    that of ``policy``.
    """
    course = Course(scripts, capacity, stamp_map, policy, load.duration_ns, trace=trace)
    arrivals = arrivals_of(load)
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
    course.come_to(load.duration_ns - 1)
    course.check()
    return course.recorder.result(course.events)
