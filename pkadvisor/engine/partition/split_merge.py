"""Split and merge of range partitions, safe against a crash at each step (SOSP 2011, 5.5.2 and 5.5.3).

    1 checkpoint while serving                                      so that the next one is short
    2 pause writes, wait for those under way, checkpoint            now all rows are in checkpoints
    3 root with the intent                                          a crash up to here: the parents load, intent gone
    4 MultiModify                                                   the commit point: children exist, parents do not
    5 root of each child, from the intent that it inherited         a crash before: the child's load does it
    6 the children serve

Before step 4 a later owner of a parent fences the change as a whole. Step 5 is ``range_partition`` loading a child, so
a crash after step 4 is mended by the same code. The paper leaves open what a crash leaves behind, and that the last
extents are sealed inside MultiModify; both are hardening.

Epochs must come from one counter for all ranges: a merge asks with the later epoch of its two parents, and must be
refused where either of them has a new owner.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from msgspec.structs import replace

from pkadvisor.engine.partition.metadata import MergeIntent, SplitIntent
from pkadvisor.engine.partition.range_partition import RangePartition, open_range, stream_names
from pkadvisor.engine.partition.range_rows import SERVING
from pkadvisor.engine.stream.access import LimitReached, MultiModify, NewStream, StreamExists
from pkadvisor.engine.tables.row_keys import partition_boundary
from pkadvisor.engine.worlds.world import EngineError


async def split(
    partition: RangePartition, at: bytes, left_number: int, right_number: int, epoch: int
) -> tuple[RangePartition, RangePartition]:
    """Divides a range at ``at``, the first place of some PartitionKey; both children serve on the same node.

    ``epoch`` is that of the children, handed out for them and nobody else. ValueError: ``at`` lies inside a
    PartitionKey (P5) or outside of the range. EngineError: the parent may or may not be there.
    """
    if not partition.low < at or (partition.high is not None and at >= partition.high):
        raise ValueError("a range is divided inside its bounds")
    if partition_boundary(at) != at:
        raise ValueError("a range is divided between PartitionKeys, never inside one")
    assert len({partition.number, left_number, right_number}) == 3, "children have numbers of their own"
    assert epoch > partition.epoch, "epochs grow"
    numbers = left_number, right_number
    change = MultiModify(
        id=f"split {partition.number} into {left_number} and {right_number}",
        epoch=partition.epoch,
        make=tuple(
            NewStream(new, (old,), epoch)
            for number in numbers
            for old, new in zip(stream_names(partition.number), stream_names(number), strict=True)
        ),
        delete=stream_names(partition.number),
    )
    intent = SplitIntent(at, left_number, right_number)
    left, right = await _change((partition,), intent, change, numbers, epoch, "split")
    return left, right


async def merge(left: RangePartition, right: RangePartition, number: int, epoch: int) -> RangePartition:
    """Joins two neighbours on one node into the range ``number``, which serves there.

    ``epoch`` is that of the child, handed out for it and nobody else. ValueError: they are no neighbours.
    EngineError: the parents may or may not be there.
    """
    if left.high is None or left.high != right.low:
        raise ValueError("only neighbours merge")
    assert len({left.number, right.number, number}) == 3, "the merged range has a number of its own"
    later = max(left.epoch, right.epoch)
    assert epoch > later, "epochs grow"
    parents = stream_names(left.number), stream_names(right.number)
    change = MultiModify(
        id=f"merge {left.number} and {right.number} into {number}",
        epoch=later,
        make=tuple(
            NewStream(new, (one, two), epoch) for one, two, new in zip(*parents, stream_names(number), strict=True)
        ),
        delete=(*parents[0], *parents[1]),
    )
    intent = MergeIntent(left.number, right.number, number)
    (merged,) = await _change((left, right), intent, change, (number,), epoch, "merge")
    return merged


async def _change(
    parents: Sequence[RangePartition],
    intent: SplitIntent | MergeIntent,
    change: MultiModify,
    numbers: Sequence[int],
    epoch: int,
    what: str,
) -> list[RangePartition]:
    for parent in parents:
        await parent.checkpoint()
    paused: list[RangePartition] = []
    try:
        for parent in parents:
            await parent.pause()
            paused.append(parent)
        for parent in parents:
            await parent.empty_memory()
        for parent in parents:
            assert parent.metadata.root.sequence == parent.log.applied, "rows outside of the checkpoints"
            await parent.change_root(lambda root: replace(root, intent=intent))
        try:
            await parents[0].streams.multi_modify(change)
        except (StreamExists, LimitReached):  # certainly not carried out
            raise
        except EngineError as error:
            for parent in parents:
                parent.close(f"a {what} was under way: {error}")
            raise
    except EngineError:
        for parent in parents:
            if parent.state is SERVING and parent.metadata.root.intent is not None:
                with suppress(EngineError):  # a root that cannot be written makes the range read-only
                    await parent.change_root(lambda root: replace(root, intent=None))
        for parent in paused:
            parent.unpause()
        raise
    for parent in parents:
        parent.close(f"a {what} made others of it")
        parent.unpause()
    first = parents[0]
    first.world.event(what, *(parent.number for parent in parents), *numbers)
    return [
        await open_range(first.world, first.node, first.streams, first.options, number, epoch, first.cache)
        for number in numbers
    ]
