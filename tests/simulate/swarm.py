"""Swarm testing: each seed draws its own faults, rates, sizes and times, so that rare mixtures come up.

A run in which every fault may happen hides what only few of them together bring about (Groce et al., *Swarm Testing*,
2012): so most seeds have most features switched off. Whole numbers only: a seed means the same on every platform.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from hashlib import blake2b
from random import Random

from pkadvisor.engine.options import MS, SECOND, EngineOptions
from pkadvisor.engine.worlds.faults import ClockFaults, DiskFaults, NetworkFaults

US = 1_000
MINUTE = 60 * SECOND


@dataclass(frozen=True, slots=True)
class Plagues:
    """How often, on average, each evil befalls some node, and for how long; ns, 0 for never. ``nemesis.py`` does it."""

    crash_every_ns: int = 0
    pause_every_ns: int = 0
    isolate_every_ns: int = 0
    one_way_every_ns: int = 0
    clog_every_ns: int = 0
    swizzle_every_ns: int = 0
    slow_disk_every_ns: int = 0
    full_disk_every_ns: int = 0
    lose_device_every_ns: int = 0
    wipe_every_ns: int = 0
    damage_every_ns: int = 0
    power_cut_every_ns: int = 0
    action_every_ns: int = 0
    lasts_ns: int = SECOND

    def names(self) -> tuple[str, ...]:
        """Those that happen at all."""
        every = [field.name for field in fields(self) if field.name.endswith("_every_ns")]
        return tuple(name.removesuffix("_every_ns") for name in every if getattr(self, name))


@dataclass(frozen=True, slots=True)
class SwarmOptions:
    """What one seed is like: the arguments of ``Simulator``, the plagues, the engine's thresholds, the topology."""

    seed: int
    network: NetworkFaults
    disks: DiskFaults
    clocks: ClockFaults
    plagues: Plagues
    engine: EngineOptions
    random_order: bool
    call_timeout_ns: int
    extent_nodes: int
    partition_servers: int

    @staticmethod
    def draw(seed: int) -> SwarmOptions:
        """The world of a seed; the same wherever this version runs."""
        chance = Random(int.from_bytes(blake2b(f"swarm/{seed}".encode(), digest_size=8).digest(), "big"))
        timeout_ns = _between(chance, 100 * MS, 2 * SECOND)
        network, disks = _network(chance), _disks(chance)
        skew_ns, drift_ppm = _some(chance, 0, 100 * MS), _some(chance, 0, 10_000)
        plagues, engine = _plagues(chance), shrunk(chance)
        drawn = SwarmOptions(
            seed,
            network,
            disks,
            # Within what leases allow for: beyond it nothing is promised.
            ClockFaults(min(skew_ns, engine.clock_drift_ns_max // 4), drift_ppm),
            plagues,
            engine,
            random_order=_coin(chance),
            call_timeout_ns=timeout_ns,
            extent_nodes=chance.choice((3, 3, 4, 5, 6, 8)),
            partition_servers=chance.choice((1, 2, 2, 3, 5)),
        )
        # drawn last: what came before is drawn as ever
        return replace(drawn, disks=replace(drawn.disks, sync_error_per_million=_some(chance, 100, 10_000, odds=15)))

    def without(self, *plagues: str) -> SwarmOptions:
        """The same without some plagues ("wipe", "damage", …), for a test whose world cannot bear them."""
        return replace(self, plagues=replace(self.plagues, **{f"{name}_every_ns": 0 for name in plagues}))

    def timeouts(self) -> dict[str, int]:
        """How long callers wait, for ``Simulator``."""
        return {"": self.call_timeout_ns, "partitions": 10 * self.call_timeout_ns}


def _coin(chance: Random) -> bool:
    return chance.getrandbits(1) == 1


def _between(chance: Random, low: int, high: int) -> int:
    """A whole number between the two, its size as likely small as large."""
    assert 0 < low <= high
    octaves = (high // low).bit_length() - 1
    scaled = low << chance.randrange(octaves + 1)
    return min(high, scaled + chance.randrange(scaled))


def _some(chance: Random, low: int, high: int, odds: int = 50) -> int:
    """Nothing at all, or with odds in percent a number up to ``high``."""
    drawn = _between(chance, max(1, low), high)
    return drawn if chance.randrange(100) < odds else 0


def _network(chance: Random) -> NetworkFaults:
    mean = _some(chance, 10 * US, 50 * MS, odds=80)
    return NetworkFaults(
        delay_ns_min=mean // 4,
        delay_ns_mean=mean,
        drop_per_million=_some(chance, 100, 100_000),
        duplicate_per_million=_some(chance, 100, 200_000),
        refuse_quickly=_coin(chance),
    )


def _disks(chance: Random) -> DiskFaults:
    mean = _some(chance, 10 * US, 20 * MS, odds=70)
    return DiskFaults(
        latency_ns_min=mean // 2,
        latency_ns_mean=mean,
        ns_per_kib=_some(chance, 100, 100 * US),
        full_per_million=_some(chance, 100, 20_000, odds=20),
        write_error_per_million=_some(chance, 100, 20_000, odds=20),
        read_error_per_million=_some(chance, 100, 50_000, odds=25),
        sticky_read_errors=_coin(chance),
        flip_per_million=_some(chance, 100, 50_000, odds=25),
        misdirect_per_million=_some(chance, 100, 20_000, odds=15),
    )


def _plagues(chance: Random) -> Plagues:
    def every(odds: int, low: int = 500 * MS, high: int = 20 * SECOND) -> int:
        return _some(chance, low, high, odds)

    return Plagues(
        crash_every_ns=every(60),
        pause_every_ns=every(40),
        isolate_every_ns=every(40),
        one_way_every_ns=every(30),
        clog_every_ns=every(30),
        swizzle_every_ns=every(15),
        slow_disk_every_ns=every(25),
        full_disk_every_ns=every(15),
        lose_device_every_ns=every(15, 2 * SECOND),
        wipe_every_ns=every(15, 2 * SECOND),
        damage_every_ns=every(30),
        power_cut_every_ns=every(20, 2 * SECOND),
        action_every_ns=every(70, 100 * MS),
        lasts_ns=_between(chance, 50 * MS, 5 * SECOND),
    )


def shrunk(chance: Random) -> EngineOptions:
    """Thresholds so small that seals, checkpoints, splits and collections happen all the time.

    Times keep their order: heartbeat < lease, drift well within the lease, passes before decisions.
    """
    lease = _between(chance, 200 * MS, 2 * SECOND)
    evaluate = _between(chance, 100 * MS, 2 * SECOND)
    table = _between(chance, 2 << 10, 128 << 10)
    extent = _between(chance, 4 << 10, 512 << 10)
    _between(chance, 200 * MS, 2 * SECOND)  # nobody's any more; drawn so that seeds go on meaning what they meant
    return replace(
        EngineOptions(),
        extent_bytes_target=extent,
        garbage_grace_ns=_between(chance, 100 * MS, 5 * SECOND),
        poll_period_ns=_between(chance, 100 * MS, 2 * SECOND),
        scrub_period_ns=_between(chance, 1 * SECOND, 30 * SECOND),
        memory_table_bytes=table,
        log_bytes=table * chance.choice((2, 4, 8)),
        page_bytes=_between(chance, 256, 8 << 10),
        index_fan_out=chance.choice((2, 4, 16, 256)),
        page_cache_bytes=_between(chance, 4 << 10, 1 << 20),
        combine_fan_in=chance.choice((2, 3, 4, 8)),
        group_commit_records=chance.choice((1, 2, 16, 256)),
        lease_ns=lease,
        heartbeat_ns=lease // 4,
        clock_drift_ns_max=lease // 8,
        evaluate_ns=evaluate,
        sustain_ns=evaluate * chance.choice((1, 2, 5)),
        move_ns=_between(chance, 100 * MS, SECOND),
        split_bytes=_between(chance, 16 << 10, 256 << 10),
        merge_after_ns=_between(chance, SECOND, 30 * SECOND),
    )
