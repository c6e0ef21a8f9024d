"""One run of a design: from a warmed-up map or from one range, with these clients, under these faults."""

from __future__ import annotations

from dataclasses import replace

from pkadvisor.engine.capacity.capacity import Capacity
from pkadvisor.engine.options import SECOND
from pkadvisor.lazy import Ints
from pkadvisor.limits import Limits
from pkadvisor.numbers import lasting
from pkadvisor.stress.experiment.notes import Note, OwnNote
from pkadvisor.stress.experiment.prepared_design import PreparedDesign
from pkadvisor.stress.experiment.request import StressRequest
from pkadvisor.stress.experiment.run_duration import cold_load
from pkadvisor.stress.load.even_load import EvenLoad
from pkadvisor.stress.load.faults import parse_fault
from pkadvisor.stress.load.load import Load
from pkadvisor.stress.placement.living_map import LivingMap
from pkadvisor.stress.placement.run_result import RunResult
from pkadvisor.stress.placement.stamp_map import FixedMap
from pkadvisor.stress.requests.retry import RetryPolicy
from pkadvisor.stress.requests.scripts import Scripts
from pkadvisor.stress.simulate.clients import Clients, run_clients, sends_of
from pkadvisor.stress.simulate.fluid import run_fluid
from pkadvisor.stress.simulate.loop import run_loop
from pkadvisor.stress.simulate.warm import counted_load, warm_map

WARM, COLD = "warmed up", "cold start"
LIFTED, LIFTED_LITTLE = 1e9, 1e6
"""Targets that nothing reaches, per second; levels of the second one still fit into 64 bits, for loads far below it."""
AMPLE = 10
"""Times the target of a server that no PartitionKey of it can reach; levels still fit into 64 bits."""
FEW_REQUESTS, FEW_OPERATIONS = 30_000, 40_000
"""Up to so many (operations without retries), one attempt after the other is sooner done than arrays: the integers are
the same."""

CLIENT_REQUESTS = 100_000
"""Requests of clients in a closed loop, at most: they are run one by one, so above it the run is shorter."""
ANSWER_S = 0.003
"""About what an answer takes, for a guess at how many requests a closed loop will send."""


def run_of(
    prepared: PreparedDesign,
    request: StressRequest,
    policy: RetryPolicy,
    *,
    state: str,
    faults: tuple[str, ...] = (),
    bears: bool = True,
) -> RunResult:
    """The run of the design's own load, while the manager splits and moves. ``bears``: whether it does warmed up.

    Where nothing is left to warm up, it is the run of a cold start. Where some keys are at hand, all of the load comes
    to them then, so that the target of one PartitionKey is lifted.
    """
    warm = state == WARM and not prepared.starts_alike
    lifted = not warm and not prepared.all_sampled
    ample = AMPLE * prepared.limits.server_entities_per_s
    limits = replace(prepared.limits, partition_entities_per_s=ample) if lifted else prepared.limits
    capacity = Capacity(limits, prepared.options, request.enforcement, request.seed)
    ranges = prepared.warm if warm else ()
    failing = [parse_fault(text) for text in faults]
    stamp_map = LivingMap(prepared.scripts.space, ranges, prepared.servers, prepared.options, failing)
    load = prepared.warm_load if warm else cold_load(prepared.load, prepared.warm_load, bears)
    versions = prepared.versions()
    few = not lifted and prepared.operations_per_s * load.duration_ns <= FEW_OPERATIONS * SECOND
    if versions is not None or few:
        result = run_loop(load, prepared.scripts, capacity, stamp_map, policy, versions=versions)
    else:
        result = run_fluid(load, prepared.scripts, capacity, stamp_map, policy, accelerate=request.accelerate)
    return replace(result, hottest=-1) if lifted else result  # no partition takes so much in truth


def run_on_own_map(
    prepared: PreparedDesign,
    request: StressRequest,
    policy: RetryPolicy,
    load: Load,
    scripts: Scripts,
    limits: Limits | None = None,
    counted: Ints | None = None,
) -> RunResult:
    """The run of another load on the map that this load converges to; nobody splits or moves anything.

    ``limits`` in place of those of the design are those that are enforced; ``counted`` is what ``counted_load`` says.
    """
    if counted is None:
        counted = counted_load(load, scripts, prepared.limits)
    servers = tuple(f"server-{place}" for place in range(request.servers))
    stamp_map = FixedMap(warm_map(counted, prepared.limits, servers, prepared.options))
    capacity = Capacity(limits or prepared.limits, prepared.options, request.enforcement, request.seed)
    if isinstance(load, EvenLoad) and load.per_s * load.duration_ns / SECOND <= FEW_REQUESTS:
        return run_loop(load, scripts, capacity, stamp_map, policy)
    return run_fluid(load, scripts, capacity, stamp_map, policy, accelerate=request.accelerate)


def clients_state(clients: int) -> str:
    """What the state of a closed-loop run is called."""
    return f"{clients} client" + ("" if clients == 1 else "s")


def run_of_clients(prepared: PreparedDesign, request: StressRequest, policy: RetryPolicy) -> RunResult | None:
    """A closed loop, warmed up: each client sends the next request of the load after an answer and its time to think.

    None where no request of the load sends anything.
    """
    assert request.clients is not None, "somebody asked for clients"
    if not any(each.stages for epoch in prepared.scripts.epochs for of_class in epoch for each in of_class):
        return None
    think_ns = round(request.think_s * SECOND)
    seconds = min(request.longest_s, CLIENT_REQUESTS * (request.think_s + ANSWER_S) / request.clients)
    failing = [parse_fault(text) for text in request.faults]
    return run_clients(
        Clients(request.clients, think_ns, vms=request.vms),
        sends_of(prepared.load),
        prepared.scripts,
        Capacity(prepared.limits, prepared.options, request.enforcement, request.seed),
        LivingMap(prepared.scripts.space, prepared.warm, prepared.servers, prepared.options, failing),
        policy,
        duration_ns=max(SECOND, round(seconds * SECOND)),
        entity=prepared.programs.updated if prepared.keeps_versions else None,
        seed=request.seed,
    )


def clients_notes(prepared: PreparedDesign, request: StressRequest, duration_ns: int) -> list[Note]:
    """What is to be said of a closed loop that lasted so long."""
    assert request.clients is not None, "somebody asked for clients"
    state, seconds = clients_state(request.clients), duration_ns / SECOND
    notes: list[Note] = [
        f"{state}: run warmed up; what is sent is the load's own mix of queries and writes, in its order, but as fast "
        "as answers come in place of its rates"
    ]
    if seconds < request.longest_s:
        head = (
            f"{state}: about {CLIENT_REQUESTS:,} requests are sent at the most, so this run is shorter than asked for"
        )
        notes.append(OwnNote(head, f"{lasting(seconds)} in place of {lasting(request.longest_s)}"))
    if not prepared.all_sampled:
        notes.append(
            f"{state}: all of their requests go to the sampled keys, so a partition takes more of them than in the "
            "whole table"
        )
    return notes
