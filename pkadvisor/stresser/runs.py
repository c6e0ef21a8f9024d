"""One run of a design: from a warmed-up map or from one range, with these clients, under these faults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pkadvisor.engine.capacity.capacity import Capacity
from pkadvisor.engine.options import SECOND

if TYPE_CHECKING:
    from pkadvisor.stress.load import Load
    from pkadvisor.stress.retry import RetryPolicy
    from pkadvisor.stress.run_result import RunResult
    from pkadvisor.stresser.request import StressRequest
    from pkadvisor.stresser.stand import Stand

WARM, COLD = "warmed up", "cold start"
CLIENT_REQUESTS = 100_000
"""Requests of clients in a closed loop, at most: they are run one by one, so above it the run is shorter."""
ANSWER_S = 0.003
"""About what an answer takes, for a guess at how many requests a closed loop will send."""


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


def clients_state(clients: int) -> str:
    """What the state of a closed-loop run is called."""
    return f"{clients} client" + ("" if clients == 1 else "s")


def run_of_clients(stand: Stand, request: StressRequest, policy: RetryPolicy) -> RunResult | None:
    """A closed loop, warmed up: each client sends the next request of the load after an answer and its time to think.

    None where no request of the load sends anything.
    """
    from pkadvisor.stress.clients import Clients, run_clients, sends_of
    from pkadvisor.stress.faults import parse_fault
    from pkadvisor.stress.living_map import LivingMap

    assert request.clients is not None, "somebody asked for clients"
    if not any(each.stages for epoch in stand.scripts.epochs for of_class in epoch for each in of_class):
        return None
    think_ns = round(request.think_s * SECOND)
    seconds = min(request.duration_s, CLIENT_REQUESTS * (request.think_s + ANSWER_S) / request.clients)
    failing = [parse_fault(text) for text in request.faults]
    return run_clients(
        Clients(request.clients, think_ns, vms=request.vms),
        sends_of(stand.load),
        stand.scripts,
        Capacity(stand.limits, stand.options, request.enforcement, request.seed),
        LivingMap(stand.scripts.space, stand.warm, stand.servers, stand.options, failing),
        policy,
        duration_ns=max(SECOND, round(seconds * SECOND)),
        seed=request.seed,
    )
