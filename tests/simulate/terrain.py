"""What a seed is like beyond its swarm: thresholds that the swarm leaves alone, ranges from the start.

Drawn from chance of its own, so that the swarm of a seed stays what it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from pkadvisor.engine.options import MS, SECOND, EngineOptions
from pkadvisor.engine.stamp import Layout
from pkadvisor.engine.tables.row_keys import partition_prefix
from tests.simulate.swarm import SwarmOptions
from tests.simulate.workload import TABLES, Mix

ACCOUNT = "devstoreaccount1"


@dataclass(frozen=True, slots=True)
class Terrain:
    """A seed's world, topology and clients."""

    swarm: SwarmOptions
    layout: Layout
    mix: Mix


def terrain_of(seed: int, operations: int) -> Terrain:
    """The same wherever this version runs."""
    swarm = SwarmOptions.draw(seed)
    chance = Random(f"terrain/{seed}")
    mix = Mix.draw(chance, operations)
    mix = replace(mix, empty_row=Random(f"empty row/{seed}").randrange(3) == 0)
    layout = Layout(
        extent_nodes=swarm.extent_nodes,
        servers=swarm.partition_servers,
        managers=chance.choice((1, 1, 2)),
        front_ends=chance.choice((1, 2, 2, 3)),
        boundaries=_boundaries(chance, mix),
    )
    swarm = replace(swarm, engine=_thresholds(chance, swarm.engine, layout))
    return Terrain(swarm, layout, mix)


def _thresholds(chance: Random, options: EngineOptions, layout: Layout) -> EngineOptions:
    drawn = replace(
        options,
        block_bytes_max=chance.choice((4 << 20, 4 << 20, 64 << 10)),
        journal_segment_bytes=chance.choice((4 << 20, 64 << 10, 8 << 10, 2 << 10)),
        read_deadline_ns=chance.choice((100 * MS, 20 * MS)),
        node_lost_ns=chance.choice((600 * SECOND, 20 * SECOND, 4 * SECOND)),
        background_bytes=chance.choice((256 << 20, 256 << 20, 32 << 10)),
        map_snapshot_changes=chance.choice((2, 8, 64)),
        traffic_sample_every=chance.choice((1, 8)),
    )
    # What is drawn here is used no longer: without it the seeds that tests name would be other ones.
    chance.choice((0, 1)), chance.choice((0, 1))
    fitting = sum(nodes <= layout.extent_nodes for nodes in (3, 4, 5, 6))
    if fitting and chance.randrange(4) == 0:
        chance.choice((0, 1)), chance.choice(range(fitting))
    return drawn


def _boundaries(chance: Random, mix: Mix) -> tuple[bytes, ...]:
    """Some seeds begin with several ranges, so that pages end where ranges do."""
    if chance.randrange(3):
        return ()
    places = [(table, partition) for table in TABLES[: mix.tables] for partition in range(1, mix.partitions)]
    chosen = chance.sample(places, min(len(places), chance.choice((1, 2, 4))))
    return tuple(sorted(partition_prefix(ACCOUNT, table, f"p{partition}") for table, partition in chosen))
