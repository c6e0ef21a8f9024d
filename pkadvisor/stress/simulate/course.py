"""Requests on their way, one attempt after the other through ``Capacity``, in the order of the store's tickets.

    request ──► stage of steps ──► attempts ──accepted──► next stage … ──► served
                                   │   ▲ └──503, 500──► the policy: again after a delay, or lost
                                   └───┘

This is the rule of ``pkadvisor.stress`` word for word, and slow: what is fast is compared with it.
"""

from __future__ import annotations

import heapq
from typing import Protocol

from pkadvisor.engine.capacity.capacity import Bound, Capacity, Place
from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.stress.placement.run_result import MapEvent
from pkadvisor.stress.placement.stamp_map import StampMap
from pkadvisor.stress.requests.expanded import expanded, range_index, range_lows, row_sums, work
from pkadvisor.stress.requests.retry import UPDATES_MAX, RetryPolicy
from pkadvisor.stress.requests.scripts import SEVERAL, Script, Scripts, Step
from pkadvisor.stress.simulate.measures import ACCOUNT, nominal_ns
from pkadvisor.stress.simulate.recorder import Recorder
from pkadvisor.values import dataclass

Attempt = tuple[int, int, int, int, int]
"""Moment in ns, request, stage, step of the request, try: the order in which attempts are judged."""
Traced = tuple[int, int, int, int, int, int, int]
"""An attempt with its status and latency in ns."""


NOT_READ = -1


@dataclass(slots=True)
class Flight:
    """A request under way.

    ``pending`` steps of its stage have not ended; ``ready_ns`` is when the next stage may be sent, ``answered_ns`` the
    last answer so far, ``seen`` the version of its entity that it read (or ``NOT_READ``, since it wrote),
    ``outdated`` whether that was too old, ``updates`` how often it has read. The steps of its stage are numbered from
    ``first``.
    """

    number: int
    class_number: int
    instance: int
    script: Script
    sent_ns: int
    client: int = -1
    pending: int = 0
    ready_ns: int = 0
    answered_ns: int = 0
    latency_ns: int = 0
    lost: bool = False
    seen: int = NOT_READ
    outdated: bool = False
    updates: int = 1
    first: int = 0


class Versions(Protocol):
    """The versions of entities that several clients change under If-Match."""

    def read(self, flight: Flight, at_ns: int) -> int:
        """The version that a read at a moment sees."""

    def write(self, flight: Flight, answered_ns: int) -> bool:
        """Whether a write commits, the version it saw being the last; 412 otherwise."""

    def again_ns(self, flight: Flight) -> int:
        """How long the client of a request waits after a 412 before it reads again."""


class Course:
    """Requests under way on a store. ``nominal``: stages follow each other in nominal time, else after true answers.

    With ``versions`` they follow in nominal time as well: of many that read one version the quickest would commit, more
    often the more there are, and how much quicker it is than the mean is what nobody knows of a service.
    """

    def __init__(
        self,
        scripts: Scripts,
        capacity: Capacity,
        stamp_map: StampMap,
        policy: RetryPolicy,
        duration_ns: int,
        *,
        nominal: bool = True,
        versions: Versions | None = None,
        trace: list[Traced] | None = None,
    ) -> None:
        self.recorder = Recorder(scripts.classes, scripts.space, capacity.limits, duration_ns)
        self.events: list[MapEvent] = []
        self._scripts, self._capacity, self._map, self._policy = scripts, capacity, stamp_map, policy
        self._duration_ns, self._versions, self._trace = duration_ns, versions, trace
        self._nominal = nominal or versions is not None
        self._due: list[Attempt] = []
        self._flights: dict[int, Flight] = {}
        self._change_ns = stamp_map.next_change_ns()
        self._sums, self._page = row_sums(scripts.space), capacity.limits.page_entities
        self._look_up()

    # ------------------------------------------------------------------------------------------ from outside

    @property
    def due_ns(self) -> int | None:
        """When the next attempt is judged; None where none is under way."""
        return self._due[0][0] if self._due else None

    def arrive(self, number: int, at_ns: int, class_number: int, instance: int) -> Flight | None:
        """A request arrives, and is sent. The map must have come to ``at_ns``.

        None: it has nothing to send (others do it for it), and is served as it comes; nobody waited for it.
        """
        counts = self.recorder.counts[class_number]
        counts.requests += 1
        whole = self._scripts.at(at_ns)[class_number][instance]
        if not whole.stages:
            counts.served += 1
            return None
        script = self._cut.get(id(whole))
        if script is None:
            script = self._cut[id(whole)] = expanded(whole, self._sums, self._lows, self._page)
        flight = Flight(number, class_number, instance, script, at_ns)
        self._flights[number] = flight
        self._send(flight, 0, flight.sent_ns)
        return flight

    def come_to(self, at_ns: int) -> None:
        """Changes of the map up to and at a moment are made; counts go to the map that they are of."""
        while self._change_ns is not None and self._change_ns <= at_ns:
            counts = self.recorder.window.take(self.recorder.ranks)
            self.events += self._map.advance(self._change_ns, counts, self._capacity)
            before_ns, self._change_ns = self._change_ns, self._map.next_change_ns()
            assert self._change_ns is None or self._change_ns > before_ns, "a change comes after the one before"
            self._look_up()

    def attempt(self) -> Flight | None:
        """Judges the next attempt; the request that ended with it, served or lost."""
        at_ns, number, stage, index, tried = heapq.heappop(self._due)
        flight = self._flights[number]
        step = flight.script.stages[stage][index - flight.first]
        status, latency_ns = self._judge(flight, step, at_ns)
        answered_ns = at_ns + latency_ns
        flight.answered_ns = max(flight.answered_ns, answered_ns)
        if self._trace is not None:
            self._trace.append((at_ns, number, stage, index, tried, status, latency_ns))
        if status in (500, 503):
            delay_ns = self._policy.delay_ns(tried, number, index, status)
            if delay_ns is not None:
                heapq.heappush(self._due, (answered_ns + delay_ns, number, stage, index, tried + 1))
                return None
            flight.lost = True
        else:
            onward_ns = at_ns + nominal_ns(self._capacity.times, step) if self._nominal else answered_ns
            flight.ready_ns = max(flight.ready_ns, onward_ns)
            flight.outdated = flight.outdated or status == 412
        flight.pending -= 1
        return None if flight.pending else self._stage_ended(flight, stage, at_ns)

    def check(self) -> None:
        """Whatever came is served, lost, or under way."""
        for class_number, counts in enumerate(self.recorder.counts):
            under_way = sum(flight.class_number == class_number for flight in self._flights.values())
            assert counts.requests == counts.served + counts.lost + under_way, "a request is somewhere"
            throttled = sum(counts.throttled.values())
            assert counts.attempts == counts.accepted + counts.timed_out + throttled, "an attempt has one answer"
        self._map.check()

    # ------------------------------------------------------------------------------------------ inside

    def _look_up(self) -> None:
        self._ranges = tuple(self._map.ranges)
        self._lows = range_lows(self._ranges)
        self._cut: dict[int, Script] = {}  # scripts under this map, by the identity of those that they come from

    def _send(self, flight: Flight, stage: int, at_ns: int) -> None:
        first, steps = flight.first, flight.script.stages[stage]
        assert steps, "a stage has steps"
        flight.sent_ns, flight.pending, flight.ready_ns, flight.answered_ns = at_ns, len(steps), at_ns, at_ns
        for place in range(len(steps)):
            heapq.heappush(self._due, (at_ns, flight.number, stage, first + place, 1))

    def _judge(self, flight: Flight, step: Step, at_ns: int) -> tuple[int, int]:
        """Status and latency of an attempt, counted."""
        capacity, there = self._capacity, self._ranges[range_index(self._lows, step)]
        partition = None if step.partition == SEVERAL else step.partition
        place = Place(ACCOUNT, there.server, there.number, partition)
        ticket = capacity.admit(at_ns, place, work(step))
        if ticket.admitted:
            served = capacity.finish(ticket, examined=step.examined, bytes_moved=step.bytes_moved)
            status, bound, latency_ns = served.status, Bound.NONE, served.latency_ns
            if self._versions is not None and status == 200:
                status = self._raced(self._versions, flight, step, at_ns, latency_ns)
        else:
            status, bound, latency_ns = ticket.status, ticket.bound, ticket.latency_ns
        self.recorder.attempt(flight.class_number, step, at_ns, there.number, (status, bound, latency_ns))
        return status, latency_ns

    @staticmethod
    def _raced(versions: Versions, flight: Flight, step: Step, at_ns: int, latency_ns: int) -> int:
        if step.kind != Kind.WRITE:
            flight.seen = versions.read(flight, at_ns)
        elif flight.seen != NOT_READ:
            if not versions.write(flight, at_ns + latency_ns):
                return 412
            flight.seen = NOT_READ
        return 200

    def _stage_ended(self, flight: Flight, stage: int, at_ns: int) -> Flight | None:
        flight.latency_ns += flight.answered_ns - flight.sent_ns
        flight.first += len(flight.script.stages[stage])
        if flight.outdated and flight.updates == UPDATES_MAX:
            flight.lost = True
        if flight.outdated and not flight.lost:  # what it read was changed meanwhile: read again
            assert self._versions is not None, "only versions conflict"
            flight.outdated = False
            flight.updates += 1
            self._send(flight, 0, flight.ready_ns + self._versions.again_ns(flight))
            return None
        if not flight.lost and stage + 1 < len(flight.script.stages):
            self._send(flight, stage + 1, flight.ready_ns)
            return None
        del self._flights[flight.number]
        if flight.lost:
            self.recorder.counts[flight.class_number].lost += 1
        else:
            self.recorder.served(flight.class_number, flight.number, flight.latency_ns, at_ns)
        return flight
