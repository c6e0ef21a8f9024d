"""A partition map that lives: the engine's manager and its policy, fed with exact counts instead of real servers.

    every evaluate_ns      loads of the window ──► Balancer ──► split, merge, move
    a fault                a server stops ──lease over, next heartbeat──► its ranges go to others
                                          ──back before that────────────► they stay, and are loaded again

Policy, thresholds, metrics and what ``Capacity`` is told are those of ``engine.partition``: at a split or merge the
new ranges take the place of the old ones; after a move, and before a merge of ranges on two servers, nobody serves the
range for ``move_ns``; the queue of a server that stopped is gone. What differs: passes fall on multiples of
``evaluate_ns`` and see the window that ends there, where the engine's manager sees one that ended up to ``evaluate_ns``
before; and requests to a server that stopped wait in the queues of its ranges, where the engine's front ends ask again
until somebody serves.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from functools import partial

from pkadvisor.engine.capacity.capacity import Capacity
from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.partition.balancer import PPM, Balancer, MergeRanges, MoveRange, Policy, SplitRange
from pkadvisor.errors import UsageError
from pkadvisor.lazy import Ints, np
from pkadvisor.stress.load.faults import ServerDown
from pkadvisor.stress.placement.rank_traffic import HostedRanks, halving_rank
from pkadvisor.stress.placement.run_result import MapEvent
from pkadvisor.stress.placement.stamp_map import FixedMap, MapRange, WindowCounts
from pkadvisor.stress.requests.scripts import KeySpace

Change = Callable[[int, Capacity], list[MapEvent]]

FOR_EVER_NS = 1 << 61
"""Until when a range is away that no server will be there for."""


class LivingMap:
    """The map of a run, as a manager keeps it. ``servers`` are names; ``row_bytes`` what a row weighs.

    Without ``ranges`` the table is new: one range on the first server. Of a move, ``MapEvent.before_ppm`` is the share
    of the server that gave the range up; of everything else, that of what was there before. UsageError: a fault names
    no server of these.
    """

    def __init__(
        self,
        space: KeySpace,
        ranges: Sequence[MapRange],
        servers: Sequence[str],
        options: EngineOptions | None = None,
        faults: Sequence[ServerDown] = (),
        *,
        row_bytes: int = 0,
        policy: Callable[[EngineOptions], Policy] = Balancer,
    ) -> None:
        self._options = options = options or EngineOptions()
        self._size = size = len(space.keys)
        self._servers = sorted(servers)
        assert size and servers and len(set(servers)) == len(servers), "keys, and servers that differ"
        for fault in faults:
            if fault.server and fault.server not in servers:
                known = f"{self._servers[0]} … {self._servers[-1]}" if len(servers) > 1 else self._servers[0]
                raise UsageError(f"there is no server {fault.server!r}", where="--fault", fix=f"there are: {known}")
        self._policy = policy(options)
        self._sizes: Ints = space.rows * row_bytes
        self._window = [np.zeros(size, dtype=np.int64) for _ in range(4)]
        self._down: dict[str, int | None] = {}
        """Servers that are down, and when each comes back."""
        self._orphans: dict[int, tuple[int, int]] = {}
        """Ranges that nobody serves: since when, and from when on others may."""
        first = ranges or (MapRange(1, 0, size, self._servers[0]),)
        self._hosted = [HostedRanks(each, options, 0) for each in first]
        self._next_number = 1 + max(each.number for each in first)
        self._agenda: list[tuple[int, int, Change]] = []
        self._planned = 0
        self._plan(options.evaluate_ns, self._pass)
        for fault in faults:
            self._plan(fault.at_ns, partial(self._server_down, fault))
        self.check()

    # ------------------------------------------------------------------------------------------ the StampMap

    @property
    def ranges(self) -> Sequence[MapRange]:
        """All ranges in key order, without hole or overlap."""
        return [hosted.place for hosted in self._hosted]

    def next_change_ns(self) -> int:
        """The next pass, or whatever else comes before."""
        return self._agenda[0][0]

    def advance(self, now_ns: int, counts: WindowCounts, capacity: Capacity) -> list[MapEvent]:
        """Comes to the moment of the next change; tells ``capacity`` who takes whose place and who is away."""
        assert now_ns == self._agenda[0][0], "one change after the other"
        for mine, more in zip(
            self._window, (counts.requests, counts.throttled, counts.examined, counts.bytes_moved), strict=True
        ):
            mine += more
        for hosted in self._hosted:
            hosted.latency_ns += counts.latency_ns.get(hosted.number, 0)
        events: list[MapEvent] = []
        while self._agenda[0][0] <= now_ns:
            events += heapq.heappop(self._agenda)[2](now_ns, capacity)
        return events

    def check(self) -> None:
        """The ranges tile the key space, each on a server that is there, and nobody counts for another."""
        FixedMap(self.ranges).check()
        assert self._hosted[-1].high == self._size, "the last range ends where the keys do"
        for hosted in self._hosted:
            assert (hosted.traffic.low, hosted.traffic.high) == (hosted.low, hosted.high), "its own traffic"
            hosted.traffic.check()
            assert hosted.server in self._servers, "a server that is there"
            assert (hosted.server in self._down) <= (hosted.number in self._orphans), "who is down serves nothing"
        self._policy.check()

    # ------------------------------------------------------------------------------------------ loads

    def _plan(self, at_ns: int, what: Callable[[int, Capacity], list[MapEvent]]) -> None:
        heapq.heappush(self._agenda, (at_ns, self._planned, what))
        self._planned += 1

    def _share_ppm(self, *requests: int) -> int:
        return sum(requests) * PPM // max(1, sum(hosted.requests for hosted in self._hosted))

    def _alive(self) -> list[str]:
        return [server for server in self._servers if server not in self._down]

    def _found(self, number: int) -> int:
        return next(place for place, hosted in enumerate(self._hosted) if hosted.number == number)

    # ------------------------------------------------------------------------------------------ balancing

    def _pass(self, now_ns: int, capacity: Capacity) -> list[MapEvent]:
        """Rolls all windows, and does what the policy decides where everybody reports."""
        self._plan(now_ns + self._options.evaluate_ns, self._pass)
        loads = [hosted.roll(now_ns, self._window, int(self._sizes[hosted.span].sum())) for hosted in self._hosted]
        if self._orphans:
            return []
        events: list[MapEvent] = []
        for action in self._policy.decide(now_ns, loads, self._alive()):
            match action:
                case SplitRange():
                    events += self._split(now_ns, capacity, action)
                case MergeRanges():
                    events += self._merge(now_ns, capacity, action)
                case MoveRange():
                    events.append(self._move(now_ns, capacity, action))
        return events

    def _split(self, now_ns: int, capacity: Capacity, action: SplitRange) -> list[MapEvent]:
        place = self._found(action.number)
        hosted = self._hosted[place]
        if action.reason == "load":
            at = hosted.traffic.split_rank()
        else:
            middle = halving_rank(self._sizes[hosted.low : hosted.high])
            at = None if middle is None else hosted.low + middle
        if at is None:
            return []
        window, share = hosted.traffic.last, self._share_ppm
        left, right = int(window[: at - hosted.low].sum()), int(window[at - hosted.low :].sum())
        children = ((hosted.low, at, share(left)), (at, hosted.high, share(right)))
        event = MapEvent(now_ns, "split", children, hosted.server, before_ppm=share(hosted.requests))
        self._replace(now_ns, capacity, (hosted,), ((hosted.low, at, left), (at, hosted.high, right)))
        return [event]

    def _merge(self, now_ns: int, capacity: Capacity, action: MergeRanges) -> list[MapEvent]:
        place = self._found(action.left)
        left, right = self._hosted[place : place + 2]
        assert right.number == action.right, "neighbours merge"
        events = []
        if left.server != right.server:
            events.append(self._move(now_ns, capacity, MoveRange(right.number, left.server)))
            right = self._hosted[place + 1]
        requests, away_ns = left.requests + right.requests, self._options.move_ns if events else 0
        share_ppm = self._share_ppm(requests)
        merged = ((left.low, right.high, share_ppm),)
        events.append(MapEvent(now_ns, "merge", merged, left.server, away_ns, share_ppm))
        self._replace(now_ns, capacity, (left, right), ((left.low, right.high, requests),))
        return events

    def _replace(
        self, now_ns: int, capacity: Capacity, old: Sequence[HostedRanks], new: Sequence[tuple[int, int, int]]
    ) -> None:
        """Puts new ranges (low, high, requests) in the place of neighbours, on the server of the first."""
        place, server = self._found(old[0].number), old[0].server
        after = [
            HostedRanks(MapRange(self._next_number + i, low, high, server), self._options, now_ns, requests)
            for i, (low, high, requests) in enumerate(new)
        ]
        self._next_number += len(after)
        self._hosted[place : place + len(old)] = after
        for hosted in after:
            hosted.empty(now_ns, self._window)
        numbers = [each.number for each in old], [each.number for each in after]
        capacity.succeed(*numbers)
        self._policy.replaced(now_ns, *numbers)

    def _move(self, now_ns: int, capacity: Capacity, action: MoveRange) -> MapEvent:
        hosted = self._hosted[self._found(action.number)]
        giver_ppm = self._share_ppm(*(each.requests for each in self._hosted if each.server == hosted.server))
        self._load(now_ns, hosted, action.server)
        self._policy.moved(now_ns, action.number)
        capacity.unavailable(action.number, now_ns + self._options.move_ns)
        moved = ((hosted.low, hosted.high, self._share_ppm(hosted.requests)),)
        return MapEvent(now_ns, "move", moved, action.server, self._options.move_ns, giver_ppm)

    def _load(self, now_ns: int, hosted: HostedRanks, server: str) -> None:
        """A range is loaded on a server, which knows nothing of its traffic yet."""
        place = MapRange(hosted.number, hosted.low, hosted.high, server)
        loaded = HostedRanks(place, self._options, now_ns, hosted.requests)
        loaded.empty(now_ns, self._window)
        self._hosted[self._found(hosted.number)] = loaded

    # ------------------------------------------------------------------------------------------ faults

    def _heartbeat_ns(self, at_ns: int) -> int:
        """The first heartbeat at or after a moment; servers renew their leases with it, the manager mends with it."""
        return -(-at_ns // self._options.heartbeat_ns) * self._options.heartbeat_ns

    def _busiest(self) -> str:
        """The server that is asked most, in this window and the last; the first of equals."""
        asked = dict.fromkeys(self._alive(), 0)
        for hosted in self._hosted:
            if hosted.server in asked:
                asked[hosted.server] += hosted.requests + int(self._window[0][hosted.span].sum())
        return min(asked, key=lambda server: (-asked[server], server), default="")

    def _server_down(self, fault: ServerDown, now_ns: int, capacity: Capacity) -> list[MapEvent]:
        """A server stops; nobody serves its ranges until its lease is over, or it is back before."""
        server, options = fault.server or self._busiest(), self._options
        if not server or server in self._down:
            return []
        self._down[server] = fault.back_ns
        capacity.server_lost(server)
        renewed_ns = now_ns // options.heartbeat_ns * options.heartbeat_ns
        mended_ns = self._heartbeat_ns(renewed_ns + options.lease_ns + options.clock_drift_ns_max)
        if fault.back_ns is not None:
            self._plan(fault.back_ns, partial(self._server_back, server))
            mended_ns = min(mended_ns, self._heartbeat_ns(fault.back_ns))
        lost = [hosted for hosted in self._hosted if hosted.server == server]
        for hosted in lost:
            self._orphans[hosted.number] = (self._orphans.get(hosted.number, (now_ns, 0))[0], mended_ns)
            capacity.unavailable(hosted.number, mended_ns)
        self._plan(mended_ns, self._mend)
        shares = tuple((each.low, each.high, self._share_ppm(each.requests)) for each in lost)
        before_ppm = sum(share for _, _, share in shares)
        return [MapEvent(now_ns, "server lost", shares, server, mended_ns - now_ns if lost else 0, before_ppm)]

    def _server_back(self, server: str, now_ns: int, _: Capacity) -> list[MapEvent]:
        del self._down[server]
        return [MapEvent(now_ns, "server back", (), server)]

    def _mend(self, now_ns: int, capacity: Capacity) -> list[MapEvent]:
        """Gives ranges that nobody serves to their own server, if it is back, else to that with the fewest ranges."""
        ready = [hosted for hosted in self._hosted if self._orphans.get(hosted.number, (0, FOR_EVER_NS))[1] <= now_ns]
        counts = dict.fromkeys(self._alive(), 0)
        if ready and not counts:
            backs = [back_ns for back_ns in self._down.values() if back_ns is not None]
            again_ns = self._heartbeat_ns(min(backs)) if backs else FOR_EVER_NS
            for hosted in ready:
                capacity.unavailable(hosted.number, again_ns)
            if backs:
                self._plan(again_ns, self._mend)
            return []
        for hosted in self._hosted:
            if hosted.server in counts:
                counts[hosted.server] += 1
        events = []
        for hosted in ready:
            since_ns, _ = self._orphans.pop(hosted.number)
            own = hosted.server in counts
            server = hosted.server if own else min(counts, key=lambda name: (counts[name], name))
            self._load(now_ns, hosted, server)
            if not own:
                counts[server] += 1
                share_ppm = self._share_ppm(hosted.requests)
                moved = ((hosted.low, hosted.high, share_ppm),)
                events.append(MapEvent(now_ns, "move", moved, server, now_ns - since_ns, share_ppm))
        return events
