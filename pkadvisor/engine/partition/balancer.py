"""What to split, merge and move: a pure policy from loads to actions.

One pass, every 15 s (SOSP 2011, 8): choose a small number of ranges to split; offload a child of what was just split,
then other ranges of overloaded servers; merge neighbours that nobody needs apart, so that the number of ranges stays
between its watermarks (SOSP 2011, 5.5: about ten for each server). Nothing is done on a spike: a cause must have
lasted for minutes.

    a range:  calm ──hot──► hot since t ──sustained, splittable──► Split        hot but the load runs away: left alone
    a pair:   apart ──both nearly idle──► idle since t ──for an hour──► Merge
              a change of direction (split then merge, or merge then split) at most once an hour for the same keys

Thresholds are assumptions but the period and the watermark. Loads are integers, so that the order of ranges never
depends on rounding. The policy knows no clock: whoever drives it, an engine or a model of one, says when it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal, Protocol, TypeAlias

from pkadvisor.engine.options import EngineOptions
from pkadvisor.values import dataclass

PPM = 1_000_000


@dataclass(frozen=True, slots=True)
class RangeLoad:
    """The seven load metrics of a range (SOSP 2011, 5.5), and whether its load can be halved.

    ``splittable``: a boundary of PartitionKeys would divide the load, and the load does not run away from it.
    """

    number: int
    server: str
    requests_per_ks: int = 0  # in 1,000 s
    pending_milli: int = 0  # mean number of requests in service, in thousandths
    throttled_ppm: int = 0
    cpu_ppm: int = 0  # of one server
    bytes_per_s: int = 0
    latency_ns: int = 0  # mean
    size_bytes: int = 0
    splittable: bool = False


@dataclass(frozen=True, slots=True)
class SplitRange:
    """Divide a range; the server chooses where, by load or by size."""

    number: int
    reason: Literal["load", "size"]


@dataclass(frozen=True, slots=True)
class MergeRanges:
    """Make one range of two neighbours."""

    left: int
    right: int


@dataclass(frozen=True, slots=True)
class MoveRange:
    """Give a range to another server."""

    number: int
    server: str


Action: TypeAlias = SplitRange | MergeRanges | MoveRange


@dataclass(slots=True)
class _History:
    """What the policy remembers of a range."""

    hot_since_ns: int | None = None
    changed_ns: int | None = None  # last split or merge
    direction: str = ""
    turned_ns: int | None = None  # last change of direction
    moved_ns: int | None = None
    child: bool = False  # just split, and no child was offloaded yet
    size_bytes: int = 0
    refused_ns: int | None = None  # a split by size was refused then, of so many bytes
    refused_bytes: int = 0


class Policy(Protocol):
    """What a manager asks; the paper's is a script that can be exchanged while the stamp runs (SOSP 2011, 8)."""

    def decide(self, now_ns: int, ranges: Sequence[RangeLoad], servers: Sequence[str]) -> list[Action]:
        """The actions of one pass; ``ranges`` in key order, ``servers`` sorted and alive. No range in two actions."""

    def replaced(self, now_ns: int, old: Sequence[int], new: Sequence[int]) -> None:
        """Ranges were split or merged."""

    def moved(self, now_ns: int, number: int) -> None:
        """A range was moved."""

    def refused(self, now_ns: int, split: SplitRange) -> None:
        """A split was refused: no boundary divides the range."""

    def check(self) -> None:
        """Asserts what must hold."""


class Balancer:
    """The policy described above, with its memory."""

    def __init__(self, options: EngineOptions) -> None:
        self._options = options
        per_ks = options.range_requests_per_s * 1000
        self._hot_per_ks = int(options.split_load_share * PPM) * per_ks // PPM
        self._idle_per_ks = int(options.merge_load_share * PPM) * per_ks // PPM
        self._throttled_ppm = int(options.split_throttled_share * PPM)
        self._histories: dict[int, _History] = {}
        self._idle_since_ns: dict[tuple[int, int], int] = {}
        self._heavy_since_ns: dict[tuple[str, str], int] = {}

    def decide(self, now_ns: int, ranges: Sequence[RangeLoad], servers: Sequence[str]) -> list[Action]:
        """The actions of one pass; ``ranges`` in key order, ``servers`` sorted and alive. No range in two actions."""
        self._remember(now_ns, ranges)
        if not servers:
            return []
        actions: list[Action] = list(self._splits(now_ns, ranges, len(servers)))
        taken = {action.number for action in actions if isinstance(action, SplitRange)}
        moves = self._moves(now_ns, [load for load in ranges if load.number not in taken], servers)
        taken |= {move.number for move in moves}
        return [*actions, *moves, *self._merges(now_ns, ranges, len(servers), taken)]

    def replaced(self, now_ns: int, old: Sequence[int], new: Sequence[int]) -> None:
        """Ranges were split or merged: the new ones inherit what is remembered of the old ones."""
        direction = "split" if len(new) > len(old) else "merge"
        before = [self._histories.pop(number, _History()) for number in old]
        turns = [history.turned_ns for history in before if history.turned_ns is not None]
        turned_ns = max(turns, default=None)
        if any(history.direction not in ("", direction) for history in before):
            turned_ns = now_ns
        for number in new:
            self._histories[number] = _History(
                changed_ns=now_ns, direction=direction, turned_ns=turned_ns, child=direction == "split"
            )

    def moved(self, now_ns: int, number: int) -> None:
        """A range was moved."""
        history = self._histories.setdefault(number, _History())
        history.moved_ns, history.child = now_ns, False

    def refused(self, now_ns: int, split: SplitRange) -> None:
        """A split was refused: no boundary divides the range.

        By load it is asked for again when the range has been hot as long as before the first time; by size when it has
        grown by a quarter, or after an hour (the time after which idle ranges merge).
        """
        history = self._histories.setdefault(split.number, _History())
        if split.reason == "load":
            history.hot_since_ns = None
        else:
            history.refused_ns, history.refused_bytes = now_ns, history.size_bytes

    def check(self) -> None:
        """Whatever is remembered began in some order."""
        for history in self._histories.values():
            if history.turned_ns is not None:
                assert history.changed_ns is not None and history.turned_ns <= history.changed_ns, "turned, not changed"

    # ------------------------------------------------------------------------------------------------ inside

    def _remember(self, now_ns: int, ranges: Sequence[RangeLoad]) -> None:
        known = {load.number for load in ranges}
        self._histories = {number: history for number, history in self._histories.items() if number in known}
        for load in ranges:
            history = self._histories.setdefault(load.number, _History())
            history.size_bytes = load.size_bytes
            hot = load.throttled_ppm > self._throttled_ppm or load.requests_per_ks > self._hot_per_ks
            calm = load.throttled_ppm == 0 and load.requests_per_ks * 5 < self._hot_per_ks * 4
            if hot and history.hot_since_ns is None:
                history.hot_since_ns = now_ns
            elif calm:
                history.hot_since_ns = None
        pairs = {}
        for left, right in pairwise(ranges):
            if left.requests_per_ks + right.requests_per_ks < self._idle_per_ks:
                pair = (left.number, right.number)
                pairs[pair] = self._idle_since_ns.get(pair, now_ns)
        self._idle_since_ns = pairs

    def _since(self, now_ns: int, moment_ns: int | None, span_ns: int) -> bool:
        return moment_ns is None or now_ns - moment_ns >= span_ns

    def _may(self, now_ns: int, number: int, direction: str) -> bool:
        """Whether a split or merge would not be one change of direction too many."""
        history = self._histories[number]
        if history.direction in ("", direction):
            return True
        hour_ns = self._options.merge_after_ns
        return self._since(now_ns, history.turned_ns, hour_ns)

    def _splits(self, now_ns: int, ranges: Sequence[RangeLoad], servers: int) -> list[SplitRange]:
        options = self._options
        out: list[SplitRange] = []
        room = max(0, options.ranges_per_server_max * servers - len(ranges))
        for load in sorted(ranges, key=lambda load: (-load.size_bytes, load.number)):
            history = self._histories[load.number]
            due = self._since(now_ns, history.changed_ns, options.sustain_ns)
            if 4 * load.size_bytes < 5 * history.refused_bytes:  # it was refused, and is much the same
                due = due and self._since(now_ns, history.refused_ns, options.merge_after_ns)
            if load.size_bytes > options.split_bytes and due:
                out.append(SplitRange(load.number, "size"))
        taken = {split.number for split in out}
        for load in sorted(ranges, key=lambda load: (-load.throttled_ppm, -load.requests_per_ks, load.number)):
            history = self._histories[load.number]
            hot = history.hot_since_ns is not None and now_ns - history.hot_since_ns >= options.sustain_ns
            if (
                hot
                and load.splittable
                and room
                and load.number not in taken
                and self._may(now_ns, load.number, "split")
            ):
                out.append(SplitRange(load.number, "load"))
                room -= 1
        return out[: options.splits_per_pass]

    def _merges(self, now_ns: int, ranges: Sequence[RangeLoad], servers: int, taken: set[int]) -> list[MergeRanges]:
        options = self._options
        out: list[MergeRanges] = []
        high = options.ranges_per_server_max * servers
        after_ns = options.merge_after_ns // 4 if 10 * len(ranges) >= 9 * high else options.merge_after_ns
        taken = set(taken)
        spare = len(ranges) - servers  # the low watermark: one for each server
        for left, right in pairwise(ranges):
            pair = (left.number, right.number)
            idle_ns = self._idle_since_ns.get(pair)
            if idle_ns is None or now_ns - idle_ns < after_ns or taken & set(pair):
                continue
            if 2 * (left.size_bytes + right.size_bytes) >= options.split_bytes:
                continue
            changed = [self._histories[number].changed_ns for number in pair]
            if not all(self._since(now_ns, moment_ns, after_ns) for moment_ns in changed):
                continue
            if len(out) < min(spare, options.splits_per_pass) and all(self._may(now_ns, n, "merge") for n in pair):
                out.append(MergeRanges(*pair))
                taken |= set(pair)
        return out

    # ------------------------------------------------------------------------------------------------ moves

    def _moves(self, now_ns: int, ranges: Sequence[RangeLoad], servers: Sequence[str]) -> list[MoveRange]:
        if len(servers) < 2:
            return []
        on = {server: [load for load in ranges if load.server == server] for server in servers}
        moves = self._offload_children(on)
        metrics: dict[str, tuple[Callable[[RangeLoad], int], int]] = {
            "requests": ((lambda load: load.requests_per_ks), self._options.server_requests_per_s * 1000),
            "cpu": ((lambda load: load.cpu_ppm), PPM),
            "network": ((lambda load: load.bytes_per_s), self._options.server_bytes_per_s),
        }
        moved = {move.number for move in moves}
        for name, (measure, capacity) in metrics.items():
            loads = {server: sum(measure(load) for load in held) for server, held in on.items()}
            mean = sum(loads.values()) // len(servers)
            for server in servers:
                heavy = 4 * loads[server] > 5 * mean and 10 * loads[server] > capacity
                if not heavy:
                    self._heavy_since_ns.pop((server, name), None)
                    continue
                since_ns = self._heavy_since_ns.setdefault((server, name), now_ns)
                if now_ns - since_ns < self._options.sustain_ns:
                    continue
                light = min(servers, key=lambda other: (loads[other], other))
                for load in sorted(on[server], key=lambda load: (-measure(load), load.number)):
                    weight = measure(load)
                    better = 10 * max(loads[server] - weight, loads[light] + weight) < 9 * loads[server]
                    if better and load.number not in moved and self._rested(now_ns, load.number):
                        moves.append(MoveRange(load.number, light))
                        moved.add(load.number)
                        break
        return moves or self._even_out(now_ns, on, servers)

    def _offload_children(self, on: dict[str, list[RangeLoad]]) -> list[MoveRange]:
        """For each pair of children on one server: one of them goes to the lightest server."""
        total = {server: sum(load.requests_per_ks for load in held) for server, held in on.items()}
        moves: list[MoveRange] = []
        for server in sorted(on):
            children = [load for load in on[server] if self._histories[load.number].child]
            for load in children:
                self._histories[load.number].child = False
            if len(children) < 2:
                continue
            offloaded = min(children, key=lambda load: (load.requests_per_ks, load.number))
            light = min(sorted(on), key=lambda other: (total[other], len(on[other]), other))
            if light != server and total[light] + offloaded.requests_per_ks <= total[server]:
                moves.append(MoveRange(offloaded.number, light))
                total[light] += offloaded.requests_per_ks
                total[server] -= offloaded.requests_per_ks
        return moves

    def _even_out(self, now_ns: int, on: dict[str, list[RangeLoad]], servers: Sequence[str]) -> list[MoveRange]:
        """One range from the server with the most to the one with the fewest, where that overloads nobody."""
        total = {server: sum(load.requests_per_ks for load in held) for server, held in on.items()}
        most = max(servers, key=lambda server: (len(on[server]), server))
        fewest = min(servers, key=lambda server: (len(on[server]), total[server], server))
        if len(on[most]) - len(on[fewest]) < 2:
            return []
        mean = sum(total.values()) // len(servers)
        for load in sorted(on[most], key=lambda load: (load.requests_per_ks, load.number)):
            fits = 10 * (total[fewest] + load.requests_per_ks) <= 11 * mean
            if fits and self._rested(now_ns, load.number):
                return [MoveRange(load.number, fewest)]
        return []

    def _rested(self, now_ns: int, number: int) -> bool:
        history = self._histories[number]
        return self._since(now_ns, history.moved_ns, self._options.sustain_ns)
