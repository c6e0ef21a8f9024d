"""The fault model: which faults there are, how often, and what may never be damaged.

Rates are whole numbers per million, times are ns: no float decides anything, so that a seed means the same on every
platform. All is zero by default: a plain ``Simulator`` is a quiet world.
"""

from __future__ import annotations

from random import Random
from typing import Protocol

from pkadvisor.values import dataclass

MILLION = 1_000_000
CALM_NS = 1_000_000  # the longest mean time of a message or a disk when all is healed
TEARS = ("lost", "header", "body", "checksum", "kept")
"""What a crash leaves of the write that it hits, and of everything that was not yet synced before it:

lost      nothing of what was not synced
header    the write is cut within its first 8 bytes; what came before it is there
body      the write is cut in its middle
checksum  the write lacks its last byte only
kept      everything is there, though nobody was told so
random    what chance leaves: nothing, all, a part, or holes of a sector (not enumerated)
"""


def happens(chance: Random, per_million: int) -> bool:
    """Whether something of this rate happens now; draws nothing where it never does."""
    return per_million > 0 and chance.getrandbits(40) % MILLION < per_million


def draw_ns(chance: Random, shortest: int, mean: int) -> int:
    """A time of a mean, skewed to short ones, rarely sixteen times as long; integer arithmetic only."""
    spread = max(0, mean - shortest)
    if spread == 0:
        return shortest
    unit = chance.getrandbits(20)
    drawn = (unit * unit * spread * 3) >> 41  # mean of the square is a third, and half of it is left for the long ones
    return shortest + (drawn * 33 if chance.getrandbits(5) == 0 else drawn)


@dataclass(frozen=True, slots=True)
class NetworkFaults:
    """What happens to messages; a call is two of them. Reordering comes from the spread of delays."""

    delay_ns_min: int = 0
    delay_ns_mean: int = 0
    drop_per_million: int = 0
    duplicate_per_million: int = 0
    refuse_quickly: bool = True
    """A call to a node that is down, or goes down, fails at once; else its caller learns it by the time-out."""

    @property
    def quiet(self) -> bool:
        """Whether every message arrives at once."""
        return not (self.delay_ns_mean or self.delay_ns_min or self.drop_per_million or self.duplicate_per_million)

    def calm(self) -> NetworkFaults:
        """Every message comes once, and none comes very late."""
        mean = min(self.delay_ns_mean, CALM_NS)
        return NetworkFaults(min(self.delay_ns_min, mean), mean, refuse_quickly=self.refuse_quickly)


@dataclass(frozen=True, slots=True)
class DiskFaults:
    """What devices do. Damage (bit flips, misdirected writes, read errors) is done only where the atlas allows it."""

    latency_ns_min: int = 0
    latency_ns_mean: int = 0
    ns_per_kib: int = 0
    capacity_bytes: int = 1 << 40
    full_per_million: int = 0
    write_error_per_million: int = 0
    sync_error_per_million: int = 0
    """What was not durable may be lost, and the file takes no more writes until its node starts again."""
    read_error_per_million: int = 0
    sticky_read_errors: bool = True
    """A read error stays: those bytes are never read again."""
    flip_per_million: int = 0
    """Per read: a bit of the bytes on the device has turned before, for good."""
    misdirect_per_million: int = 0
    """Per append: the bytes land elsewhere on the device, and zeros where they should be."""

    @property
    def timed(self) -> bool:
        """Whether operations take time."""
        return bool(self.latency_ns_min or self.latency_ns_mean or self.ns_per_kib)

    def calm(self) -> DiskFaults:
        """Nothing goes wrong, and nothing takes long."""
        latency, per_kib = min(self.latency_ns_mean, CALM_NS), min(self.ns_per_kib, CALM_NS // 100)
        return DiskFaults(min(self.latency_ns_min, latency), latency, per_kib)


@dataclass(frozen=True, slots=True)
class ClockFaults:
    """How far the nodes' clocks are from the truth.

    Each clock keeps within ``skew_ns_max`` of it for ever, and runs fast or slow by up to ``drift_ppm_max``.
    """

    skew_ns_max: int = 0
    drift_ppm_max: int = 0


class Atlas(Protocol):
    """Says what may be damaged so that a good replica of every acknowledged byte is left (after TigerBeetle's).

    The stream layer's tests give one that knows where replicas lie. Losses by crash need no leave: synced bytes stay.
    """

    def may_damage(self, node: str, device: str, name: str, start: int, end: int) -> bool:
        """Whether these bytes of a file may turn bad now; the answer True means that they will."""


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """The durable write at which a crash comes; writes of all devices of a world are numbered from 1.

    A write is an append, a sync, a truncation, a creation, a deletion or a replacement. The node of the device goes
    down, or all nodes with ``power_cut``.
    """

    number: int
    tear: str = "random"
    power_cut: bool = False
