"""Closed-loop traffic: clients that send their next request after the answer, and a time to think.

    thinking ──► waiting for a thread of its VM ──► under way: stages, back-off, 412 and again ──► answered ──► thinking

A client is slowed down by what it waits for, so a closed loop never asks for more than clients / (answer + thinking).
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Hashable, Iterator

from pkadvisor.engine.capacity.capacity import Capacity
from pkadvisor.splitmix import mixed
from pkadvisor.stress.load.load import Load
from pkadvisor.stress.placement.run_result import RunResult
from pkadvisor.stress.placement.stamp_map import StampMap
from pkadvisor.stress.requests.retry import RetryPolicy
from pkadvisor.stress.requests.scripts import Scripts
from pkadvisor.stress.simulate.course import Course, Traced
from pkadvisor.stress.simulate.entity_versions import EntityVersions, exponential
from pkadvisor.stress.simulate.measures import cut_short
from pkadvisor.values import dataclass

THREADS_PER_VM = 15
"""What the clients of *How to get most out of Windows Azure Tables* (2010) ran on each virtual machine."""
_THINKING = 0x7468696E6B


@dataclass(frozen=True, slots=True)
class Clients:
    """So many clients. Their thinking takes ``think_ns``, or so much in the mean where it is ``random`` (exponential).

    Who is answered 412 waits ``again_ns`` in the mean (exponential) before it reads again.
    With ``vms`` the clients share virtual machines in turn, each of which has requests of at most ``threads_per_vm``
    clients under way; the others wait, first come, first served.
    """

    number: int
    think_ns: int = 0
    random: bool = False
    again_ns: int = 0
    vms: int | None = None
    threads_per_vm: int = THREADS_PER_VM

    def __post_init__(self) -> None:
        assert self.number >= 1 and self.think_ns >= 0, "somebody sends, and time goes on"
        assert self.vms is None or (self.vms >= 1 and self.threads_per_vm >= 1), "a VM has a thread"

    def thinking_ns(self, seed: int, client: int, count: int) -> int:
        """How long a client thinks before its request of a count; fractions of a ns are dropped."""
        if not self.random:
            return self.think_ns
        return exponential(self.think_ns, mixed(mixed(seed ^ _THINKING, client), count))


def sends_of(load: Load) -> Iterator[tuple[int, int]]:
    """Class and parameters of the requests of a load in their order, over and over; when they arrive does not matter.

    A load without requests gives none.
    """
    while True:
        any_came = False
        for batch in load.batches():
            any_came = True
            yield from zip(batch.classes.tolist(), batch.instances.tolist(), strict=True)
        if not any_came:
            return


class _Crowd:
    """Where each client is when it is not under way: thinking, or waiting for a thread of its VM."""

    def __init__(self, clients: Clients, seed: int, duration_ns: int) -> None:
        self._clients, self._seed, self._duration_ns = clients, seed, duration_ns
        self._agenda: list[tuple[int, int, int]] = []  # moment, client, since when it waits: -1 where it was answered
        self._thoughts = [0] * clients.number
        vms = clients.vms or 0
        self._busy = [0] * vms
        self._waiting: list[deque[tuple[int, int]]] = [deque() for _ in range(vms)]
        for client in range(clients.number):
            self._think(client, 0)

    @property
    def due_ns(self) -> int | None:
        """When something happens next."""
        return self._agenda[0][0] if self._agenda else None

    def answered(self, client: int, at_ns: int) -> None:
        """A client will have its answer at a moment."""
        heapq.heappush(self._agenda, (at_ns, client, -1))

    def next(self) -> tuple[int, int, int] | None:
        """What happens next: a client sends at a moment what it wanted to send since another; None: nothing is sent."""
        at_ns, client, since_ns = heapq.heappop(self._agenda)
        vm = client % len(self._busy) if self._busy else None
        if since_ns < 0:
            self._think(client, at_ns)
            if vm is None:
                return None
            if not self._waiting[vm]:
                self._busy[vm] -= 1
                return None
            return (at_ns, *self._waiting[vm].popleft())
        if vm is not None:
            if self._busy[vm] == self._clients.threads_per_vm:
                self._waiting[vm].append((client, since_ns))
                return None
            self._busy[vm] += 1
        return at_ns, client, since_ns

    def _think(self, client: int, at_ns: int) -> None:
        ready_ns = at_ns + self._clients.thinking_ns(self._seed, client, self._thoughts[client])
        self._thoughts[client] += 1
        if ready_ns < self._duration_ns:
            heapq.heappush(self._agenda, (ready_ns, client, ready_ns))


def run_clients(
    clients: Clients,
    sends: Iterator[tuple[int, int]],
    scripts: Scripts,
    capacity: Capacity,
    stamp_map: StampMap,
    policy: RetryPolicy,
    *,
    duration_ns: int,
    entity: Callable[[int, int], Hashable | None] | None = None,
    seed: int = 0,
    trace: list[Traced] | None = None,
) -> RunResult:
    """Runs clients for a time. What is wanted by its end is sent and answered; nothing is wanted later.

    ``sends`` gives the class and parameters of one request after the other, whoever sends it; the run is over when it
    ends. ``entity`` names what a class with parameters reads, changes and writes under If-Match (``EntityVersions``);
    after an answer of 412 the client begins the request anew. Requests are numbered in the order in which they
    are sent. A latency is what the client waits, for a thread included.
    """
    versions = None
    if entity is not None:
        versions = EntityVersions(entity, again_ns=clients.again_ns, seed=seed)
    assert any(each.stages for epoch in scripts.epochs for of in epoch for each in of), "somebody sends something"
    course = Course(scripts, capacity, stamp_map, policy, duration_ns, nominal=False, versions=versions, trace=trace)
    crowd = _Crowd(clients, seed, duration_ns)
    try:
        _let_run(course, crowd, sends)
    except KeyboardInterrupt:
        reached_ns = min(at for at in (course.due_ns, crowd.due_ns, duration_ns) if at is not None)
        return cut_short(course.recorder.result(course.events), reached_ns)
    course.come_to(duration_ns - 1)
    course.check()
    return course.recorder.result(course.events)


def _let_run(course: Course, crowd: _Crowd, sends: Iterator[tuple[int, int]]) -> None:
    """Until nobody has anything to send and everything is answered."""
    sent = 0
    while True:
        due_ns, wanted_ns = course.due_ns, crowd.due_ns
        if wanted_ns is not None and (due_ns is None or wanted_ns <= due_ns):
            sending = crowd.next()
            picked = next(sends, None) if sending is not None else None
            if sending is None or picked is None:
                continue
            at_ns, client, since_ns = sending
            course.come_to(at_ns)
            flight = course.arrive(sent, at_ns, *picked)
            sent += 1
            if flight is None:
                crowd.answered(client, at_ns)
            else:
                flight.client, flight.latency_ns = client, at_ns - since_ns
        elif due_ns is not None:
            course.come_to(due_ns)
            ended = course.attempt()
            if ended is not None:
                crowd.answered(ended.client, ended.answered_ns)
        else:
            break
