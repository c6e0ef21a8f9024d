"""Requests on their way through capacity: what is turned away is not carried out, what is carried out takes its time.

arrives ──admit──► carried out on the rows ──finish──► the answer, with its latency
           │              │ its server or range stops         │ later than a client waits
           ▼              ▼                                   ▼
          503           abandoned                            500, although it was carried out
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from pkadvisor.engine.capacity.capacity import Capacity, Place, Work
from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.engine.partition.hosted_range import HostedRange
from pkadvisor.engine.tables.row_keys import decode_part, partition_boundary, prefix_end
from pkadvisor.engine.tables.table_messages import Answer, PageRequest, ReadRequest, Request, WriteRequest
from pkadvisor.engine.tables.table_requests import carry_out
from pkadvisor.engine.worlds.world import World

_READ = Work(Kind.READ)


class Judge:
    """Between a server and its ranges. One ``Capacity`` stands for a whole stamp, so its time is the world's."""

    def __init__(self, world: World, node: str, capacity: Capacity) -> None:
        self._world, self._node, self._capacity = world, node, capacity

    async def carry_out(
        self, hosted: HostedRange, request: Request, elapsed_ns: Callable[[], int] | None = None
    ) -> Answer:
        """Carries out a request that may pass, and says how long it took.

        503 ServerBusy: nothing was carried out. 500 OperationTimedOut: it was, but the answer would come too late.
        """
        world, node, capacity, rows = self._world, self._node, self._capacity, hosted.partition
        what = judged(node, hosted.number, request)
        if what is None:
            return await carry_out(rows, request, world.ticks(node), elapsed_ns)
        ticket = capacity.admit(world.now_ns(), *what)
        if not ticket.admitted:
            hosted.throttled()
            world.event("throttled", ticket.bound.value)
            return Answer(ticket.status, ticket.code, latency_ns=ticket.latency_ns, low=rows.low, high=rows.high)
        try:
            answer = await carry_out(rows, request, world.ticks(node), elapsed_ns)
        except BaseException:  # refused, or the node ends here: nobody else will ever give the ticket back
            capacity.abandon(ticket)
            raise
        served = capacity.finish(ticket, examined=answer.examined, bytes_moved=answer.size_bytes)
        if served.status >= 400:
            world.event("answered too late", served.code)
            return Answer(served.status, served.code, latency_ns=served.latency_ns, low=rows.low, high=rows.high)
        return replace(answer, latency_ns=answer.latency_ns + served.latency_ns)

    def lost(self) -> None:
        """The server stopped, or must not serve: who waited in its queue waits no more."""
        self._capacity.server_lost(self._node)


def judged(server: str, range_number: int, request: Request) -> tuple[Place, Work] | None:
    """Place and work of what a client asked for; None for what front ends ask on their own account.

    That is everything about the existence of tables: a service looks it up in a cache, and removes the rows of a
    deleted table when it pleases. No target counts either. [A]
    """
    key = request.key
    match request:
        case WriteRequest():
            work = Work(Kind.WRITE, len(request.writes))
        case ReadRequest():
            work = _READ
        case PageRequest():
            work = Work(Kind.PAGE, continued=request.continued)
        case _:
            return None
    partition = _partition(key)
    if isinstance(request, PageRequest) and partition is not None:
        end = prefix_end(partition)
        if end is None or request.high > end:
            partition = None
    account = decode_part(key[: key.index(0)])
    return Place(account, server, range_number, partition), work


def _partition(key: bytes) -> bytes | None:
    """What the keys of the partition begin with; None where the key names none."""
    try:
        return partition_boundary(key)
    except ValueError:
        return None
