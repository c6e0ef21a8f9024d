"""Which checkpoints to combine, and the combining: several become one, in which overwritten rows are gone.

"Checkpoints are combined into larger ones periodically" (SOSP 2011, 5.3.1); when and which is not published. Here [A]:
checkpoints stand in tiers by size, each ``combine_fan_in`` times the one before; as many of a tier as the fan-in, with
none of a larger tier between them, become one. A row is rewritten once per tier, and a read meets fewer than the fan-in
of each tier.
"""

from __future__ import annotations

from collections.abc import Sequence

from pkadvisor.engine.lsm.checkpoint import Checkpoint, CheckpointReader
from pkadvisor.engine.lsm.checkpoint_writer import CheckpointWriter
from pkadvisor.engine.lsm.walk import CheckpointSource, RowWalk, columns
from pkadvisor.values import dataclass

FOREIGN_PERCENT = 25
"""A checkpoint that holds so many percent of foreign bytes (the other half of a split) is written anew [A]."""


@dataclass(frozen=True, slots=True)
class CombineTask:
    """Checkpoints that lie next to each other in age, newest first. ``bottom``: none is older, so tombstones go."""

    checkpoints: tuple[Checkpoint, ...]
    bottom: bool


def choose(checkpoints: Sequence[Checkpoint], fan_in: int, unit_bytes: int) -> CombineTask | None:
    """What to combine next, or None. Checkpoints newest first; ``unit_bytes`` is the size of the smallest tier."""
    tiers = [tier(checkpoint.row_bytes, fan_in, unit_bytes) for checkpoint in checkpoints]
    for level in sorted(dict.fromkeys(tiers)):
        start = 0
        while start < len(tiers):
            end = start
            while end < len(tiers) and tiers[end] <= level:
                end += 1
            if tiers[start:end].count(level) >= fan_in:
                return CombineTask(tuple(checkpoints[start:end]), end == len(tiers))
            start = end + 1
    for i, checkpoint in enumerate(checkpoints):
        foreign = checkpoint.row_bytes - checkpoint.own_bytes
        if foreign * 100 > checkpoint.row_bytes * FOREIGN_PERCENT:
            return CombineTask((checkpoint,), i == len(checkpoints) - 1)
    return None


def tier(row_bytes: int, fan_in: int, unit_bytes: int) -> int:
    """0 up to ``unit_bytes``, 1 up to ``fan_in`` times that, and so on."""
    level, limit = 0, unit_bytes
    while row_bytes > limit:
        level, limit = level + 1, limit * max(fan_in, 2)
    return level


async def combine(readers: Sequence[CheckpointReader], writer: CheckpointWriter, *, bottom: bool) -> None:
    """Adds the newest version of each row of the checkpoints (newest first) to a new one; foreign rows and, at the
    bottom, tombstones stay behind."""
    walk = RowWalk([CheckpointSource(reader, reader.low, reader.high, keep=False) for reader in readers])
    while parts := await walk.next():
        keys, sequences, values = columns(parts)
        if bottom and any(rows.tombstones for rows, _, _ in parts):
            present = [i for i, value in enumerate(values) if value is not None]
            keys, sequences, values = (
                [keys[i] for i in present],
                [sequences[i] for i in present],
                [values[i] for i in present],
            )
        await writer.add(keys, sequences, values)
