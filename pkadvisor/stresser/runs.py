"""One run of a design: from a warmed-up map or from one range, with these clients, under these faults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pkadvisor.engine.capacity.capacity import Capacity

if TYPE_CHECKING:
    from pkadvisor.stress.load import Load
    from pkadvisor.stress.retry import RetryPolicy
    from pkadvisor.stress.run_result import RunResult
    from pkadvisor.stresser.request import StressRequest
    from pkadvisor.stresser.stand import Stand

WARM, COLD = "warmed up", "cold start"


def run_of(
    stand: Stand,
    request: StressRequest,
    policy: RetryPolicy,
    *,
    state: str,
    load: Load | None = None,
    faults: tuple[str, ...] = (),
    living: bool = True,
) -> RunResult:
    """The run; ``load`` in place of the stand's own. Not ``living``: nobody splits or moves anything."""
    from pkadvisor.stress.faults import parse_fault
    from pkadvisor.stress.fluid import run_fluid
    from pkadvisor.stress.living_map import LivingMap
    from pkadvisor.stress.stamp_map import FixedMap, StampMap

    capacity = Capacity(stand.limits, stand.options, request.enforcement, request.seed)
    ranges = stand.warm if state == WARM else ()
    stamp_map: StampMap
    if living:
        failing = [parse_fault(text) for text in faults]
        stamp_map = LivingMap(stand.scripts.space, ranges, stand.servers, stand.options, failing)
    else:
        stamp_map = FixedMap(ranges)
    return run_fluid(
        load or stand.load,
        stand.scripts,
        capacity,
        stamp_map,
        policy,
        seed=request.seed,
        accelerate=request.accelerate,
    )
