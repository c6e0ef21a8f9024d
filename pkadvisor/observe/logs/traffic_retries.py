"""Which attempts of a log repeat others: a throttled attempt and its retries are one request."""

from __future__ import annotations

from typing import Any, Final

from pkadvisor.lazy import U64, Bools, Ints, NDArray, np, pl
from pkadvisor.observe.logs.traffic_parts import FAN_IN, among, text_hashes
from pkadvisor.splitmix import mixed_words

SKEW_US: Final = 60_000_000
"""The clocks of two writers of a log are at most so far apart for an attempt and its retry to be known as one."""


class Repeats:
    """Attempts told apart as they are read: what was throttled and what went through lately is remembered.

    At most ``hashes_max`` of each are.
    """

    def __init__(self, hashes_max: int) -> None:
        self._throttled = SeenWindow(hashes_max)
        self._answered = SeenWindow(hashes_max)  # attempts that went through, by their minute
        self._nameless: dict[int, int] = {}  # throttled attempts without a client request id that wait for a retry
        self._shortened = False

    @property
    def unsure(self) -> bool:
        """Whether an attempt may have been forgotten before the one was read that repeats it."""
        return self._shortened or self._throttled.shortened

    def of(self, frame: pl.DataFrame, code: Any, throttled: Any, first: Any, hour: int) -> Any:
        """Which of some attempts repeat others; ``first`` are no duplicates, ``code`` are their classes."""
        named, identity = _attempts(frame, code)
        retry = self._retries(frame, code, throttled, first, hour, named, identity)
        return retry | self._behind(frame, throttled, first & named & (code >= 0), hour, identity)

    def _retries(
        self, frame: pl.DataFrame, code: Any, throttled: Any, first: Any, hour: int, known: Any, identity: Any
    ) -> Any:
        """Which attempts repeat a throttled one."""
        retry = np.zeros(len(code), dtype=bool)
        if not throttled.any() and not len(self._throttled) and not self._nameless:
            return retry
        named, nameless = first & known, first & ~known
        if named.any():
            stopped = np.unique(identity[named & throttled])
            before = self._throttled.contains(identity)
            rows = np.flatnonzero(named & (before | among(identity, stopped)))
            if len(rows):
                order = rows[np.argsort(identity[rows], kind="stable")]
                same = np.r_[False, identity[order][1:] == identity[order][:-1]]
                starts = np.flatnonzero(~same)
                earlier = np.cumsum(throttled[order]) - throttled[order]
                length = np.diff(np.r_[starts, len(order)])
                earlier = earlier - np.repeat(earlier[starts], length)
                retry[order] = (earlier > 0) | before[order]
            self._throttled.add(stopped, hour)
        if nameless.any() and ((throttled & nameless).any() or self._nameless):
            self._nameless_retries(frame, code, throttled, nameless, retry)
        return retry

    def _behind(self, frame: pl.DataFrame, throttled: Any, named: Any, hour: int, identity: Any) -> Any:
        """Which throttled attempts are read after the retry that went through: another file, or a clock behind.

        Both name one client request id, operation and key, at most SKEW_US apart, and are one request.
        """
        behind = np.zeros(len(named), dtype=bool)
        asked, went = np.flatnonzero(named & throttled), np.flatnonzero(named & ~throttled)
        span = frame["at_us"].fill_null(0).to_numpy() // SKEW_US
        if len(asked):
            self._shortened |= self._answered.shortened
            here = mixed_words(identity[went] ^ span[went].astype(np.uint64))
            for away in (-1, 0, 1):
                sought = mixed_words(identity[asked] ^ (span[asked] + away).astype(np.uint64))
                earlier = self._answered.contains(sought)
                for place in np.flatnonzero(~earlier & among(sought, here)).tolist():
                    # In one piece of a log its order tells: only what stands above is earlier.
                    earlier[place] = bool((went[here == sought[place]] < asked[place]).any())
                behind[asked] |= earlier
        self._answered.add(np.sort(mixed_words(identity[went] ^ span[went].astype(np.uint64))), hour)
        return behind

    def _nameless_retries(self, frame: pl.DataFrame, code: Any, throttled: Any, nameless: Any, retry: Any) -> None:
        """Without a client request id, each throttled attempt explains one later attempt at the same thing."""
        rows = np.flatnonzero(nameless)
        some = frame.select("pk", "rk", "filter")[rows]
        identity = text_hashes(
            some.select(pl.concat_str(pl.all().fill_null("\x01"), separator="\0").alias("t"))["t"]
        ) ^ mixed_words(code[rows].astype(np.uint64))
        waiting = self._nameless
        concerned = np.isin(identity, np.unique(identity[throttled[rows]]))
        if waiting:
            concerned |= np.isin(identity, np.array(sorted(waiting), dtype=np.uint64))
        for place in np.flatnonzero(concerned).tolist():
            key, row = int(identity[place]), rows[place]
            open_attempts = waiting.pop(key, 0)
            if open_attempts:
                retry[row] = True
                open_attempts -= 1
            if throttled[row]:
                open_attempts += 1
            if open_attempts:
                waiting[key] = open_attempts
        while len(waiting) > 1_000_000:
            waiting.pop(next(iter(waiting)))
            self._shortened = True


def _attempts(frame: pl.DataFrame, code: Any) -> tuple[Any, Any]:
    """Which attempts have a client request id, and what an attempt and its retry have in common: that id, the
    operation, its number in a group, and the keys or the filter that it names."""
    client = frame["client_request_id"]
    known = (client.is_not_null() & (client != "")).fill_null(False).to_numpy()
    number = frame["op_number"].fill_null(0).to_numpy().astype(np.uint64)
    # Only equality within this run matters here, so the machine's own hash will do.
    identity = mixed_words(client.hash(0).to_numpy() ^ (code.astype(np.uint64) << np.uint64(40)) ^ number)
    for name in ("pk", "rk", "filter"):
        identity = mixed_words(identity ^ frame[name].hash(0).to_numpy())
    return known, identity


# -- Identities of requests that were seen lately, so that a request is counted once.


class SeenWindow:
    """Hashes seen lately: sorted runs, each with the last hour it holds; bounded in number.

    U64 have to look random. A table of bits (a Bloom filter with one function) tells most of those that are not
    held apart from the others, which are looked for in the runs.
    """

    def __init__(self, hashes_max: int) -> None:
        self._runs: list[tuple[int, int, U64]] = []  # last hour, how often merged, hashes
        self._hashes_max = hashes_max
        self._address_bits = max(hashes_max, 1 << 10).bit_length() - 1
        self._bits = np.zeros(1 << self._address_bits, dtype=np.uint8)  # eight bits for each hash at most
        self._marked = 0
        self.shortened = False
        self.hour = -(1 << 62)

    def __len__(self) -> int:
        return sum(len(run) for _, _, run in self._runs)

    def _places(self, hashes: U64) -> tuple[Ints, NDArray[np.uint8]]:
        """The byte of each hash, and the bit in it."""
        place = (hashes >> np.uint64(64 - self._address_bits)).astype(np.int64)
        return place, np.left_shift(np.uint8(1), (hashes & np.uint64(7)).astype(np.uint8))

    def _mark(self, hashes: U64) -> None:
        place, bit = self._places(hashes)
        self._marked += len(hashes)
        while len(place):
            # Of several hashes with one byte, an assignment serves the last; the others come in the next round.
            self._bits[place] |= bit
            left = (self._bits[place] & bit) == 0
            place, bit = place[left], bit[left]

    def contains(self, hashes: U64) -> Bools:
        """Which of ``hashes`` are held."""
        member = np.zeros(len(hashes), dtype=bool)
        if not self._runs or not len(hashes):
            return member
        place, bit = self._places(hashes)
        rows = np.flatnonzero(self._bits[place] & bit)
        some = hashes[rows]
        held = np.zeros(len(rows), dtype=bool)
        for _, _, run in self._runs:
            at = np.searchsorted(run, some)
            at[at == len(run)] = 0
            held |= run[at] == some
        member[rows] = held
        return member

    def add(self, hashes: U64, hour: int) -> None:
        """Remember sorted ``hashes`` whose last hour is ``hour``; forget what ended before the hour before."""
        self.hour = max(self.hour, hour)
        if len(hashes):
            self._runs.append((hour, 0, hashes))
            self._mark(hashes)
        self._runs = [run for run in self._runs if run[0] >= self.hour - 1]
        while len({run[:2] for run in self._runs[-FAN_IN:]}) == 1 and len(self._runs) >= FAN_IN:
            merged = np.concatenate([run for _, _, run in self._runs[-FAN_IN:]])
            merged.sort(kind="stable")
            self._runs[-FAN_IN:] = [(self._runs[-1][0], self._runs[-1][1] + 1, merged)]
        while len(self) > self._hashes_max and len(self._runs) > 1:
            self._runs.pop(0)
            self.shortened = True
        if len(self) > self._hashes_max:
            self._runs.clear()
            self.shortened = True
        if self._marked > 2 * len(self) + self._hashes_max // 4:
            self._bits[:] = 0
            self._marked = 0
            for _, _, run in self._runs:
                self._mark(run)
