"""One run of a design: from a warmed-up map or from one range, with these clients, under these faults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pkadvisor.engine.capacity.capacity import Capacity
from pkadvisor.engine.options import SECOND

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pkadvisor.limits import Limits
    from pkadvisor.stress.load import Load
    from pkadvisor.stress.retry import RetryPolicy
    from pkadvisor.stress.run_result import RunResult
    from pkadvisor.stress.scripts import Scripts
    from pkadvisor.stresser.request import StressRequest
    from pkadvisor.stresser.stand import Stand

    Ints = NDArray[np.int64]

WARM, COLD = "warmed up", "cold start"
FEW_REQUESTS = 30_000
"""Up to so many, one attempt after the other is sooner done than arrays: the integers are the same."""


def run_of(
    stand: Stand,
    request: StressRequest,
    policy: RetryPolicy,
    *,
    state: str,
    faults: tuple[str, ...] = (),
) -> RunResult:
    """The run of the stand's own load, while the manager splits and moves."""
    from pkadvisor.stress.faults import parse_fault
    from pkadvisor.stress.fluid import run_fluid
    from pkadvisor.stress.living_map import LivingMap

    capacity = Capacity(stand.limits, stand.options, request.enforcement, request.seed)
    ranges = stand.warm if state == WARM else ()
    failing = [parse_fault(text) for text in faults]
    stamp_map = LivingMap(stand.scripts.space, ranges, stand.servers, stand.options, failing)
    return run_fluid(
        stand.load,
        stand.scripts,
        capacity,
        stamp_map,
        policy,
        seed=request.seed,
        accelerate=request.accelerate,
    )


def run_on_own_map(
    stand: Stand,
    request: StressRequest,
    policy: RetryPolicy,
    load: Load,
    scripts: Scripts,
    limits: Limits | None = None,
    counted: Ints | None = None,
) -> RunResult:
    """The run of another load on the map that this load converges to; nobody splits or moves anything.

    ``limits`` in place of the stand's are those that are enforced; ``counted`` is what ``counted_load`` says.
    """
    from pkadvisor.stress.fluid import run_fluid
    from pkadvisor.stress.loop import run_loop
    from pkadvisor.stress.stamp_map import FixedMap
    from pkadvisor.stress.warm import counted_load, warm_map
    from pkadvisor.stresser.even_load import EvenLoad

    if counted is None:
        counted = counted_load(load, scripts, stand.limits)
    servers = tuple(f"server-{place}" for place in range(request.servers))
    stamp_map = FixedMap(warm_map(counted, stand.limits, servers, stand.options))
    capacity = Capacity(limits or stand.limits, stand.options, request.enforcement, request.seed)
    if isinstance(load, EvenLoad) and load.per_s * load.duration_ns / SECOND <= FEW_REQUESTS:
        return run_loop(load, scripts, capacity, stamp_map, policy, seed=request.seed)
    return run_fluid(load, scripts, capacity, stamp_map, policy, seed=request.seed, accelerate=request.accelerate)
