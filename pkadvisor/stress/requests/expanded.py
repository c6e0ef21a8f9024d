"""What a script sends under a partition map, and when, as pure functions that every way to run shares.

A page over several PartitionKeys ends where a range ends; the client goes on with the next page there. So a step that
crosses range ends is cut into parts that follow one another, each one stage later: a stage whose steps have up to n
parts becomes n stages, of which the j-th holds the j-th part of every step that has one.

A request keeps the script that held when it arrived (its epoch, and the map at that moment). Each attempt goes to the
range that its ``low`` lies in when it is sent.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from pkadvisor.engine.capacity.capacity import Work
from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.stress.requests.scripts import SEVERAL, KeySpace, Script, Stage, Step


def row_sums(space: KeySpace) -> tuple[int, ...]:
    """Rows below each rank: value ``i`` is the sum over ranks ``0 … i − 1``, the last one that over all."""
    return tuple(accumulate(map(int, space.rows), initial=0))


def parts(step: Step, sums: Sequence[int], lows: Sequence[int]) -> tuple[Step, ...]:
    """The steps that a step becomes under a map whose ranges begin at ``lows`` (ascending, from rank 0).

    What a page examines and moves is divided in proportion to the rows of the ranks; sums of floors, so that nothing
    is lost. Where there are no rows, the first part has it all. Parts after the first are ``continued``.
    """
    if step.partition != SEVERAL or step.kind != Kind.PAGE:
        return (step,)
    first, last = bisect_right(lows, step.low), bisect_left(lows, step.high)
    if first >= last:
        return (step,)
    edges = (step.low, *lows[first:last], step.high)
    start, rows = sums[step.low], sums[step.high] - sums[step.low]
    below = [sums[edge] - start for edge in edges] if rows else [0, *(1 for _ in edges[1:])]
    rows = rows or 1
    examined = [step.examined * each // rows for each in below]
    moved = [step.bytes_moved * each // rows for each in below]
    return tuple(
        step._replace(
            low=edges[i],
            high=edges[i + 1],
            examined=examined[i + 1] - examined[i],
            bytes_moved=moved[i + 1] - moved[i],
            continued=step.continued or i > 0,
        )
        for i in range(len(edges) - 1)
    )


def expanded(script: Script, sums: Sequence[int], lows: Sequence[int]) -> Script:
    """A script under a map: every page cut where ranges end (see the top of this file)."""
    stages = tuple(cut for stage in script.stages for cut in cut_stage(stage, sums, lows))
    return Script(stages) if len(stages) != len(script.stages) else script


def cut_stage(stage: Stage, sums: Sequence[int], lows: Sequence[int]) -> tuple[Stage, ...]:
    """The stages that a stage becomes under a map."""
    cut = [parts(step, sums, lows) for step in stage]
    deepest = max(map(len, cut), default=0)
    if deepest <= 1:
        return (stage,)
    return tuple(tuple(each[depth] for each in cut if depth < len(each)) for depth in range(deepest))


def range_lows(ranges: Iterable[tuple[int, int, int, str]]) -> tuple[int, ...]:
    """Where the ranges of a map begin."""
    return tuple(each[1] for each in ranges)


def range_index(lows: Sequence[int], step: Step) -> int:
    """Which of the ranges of a map, in its order, a step is sent to."""
    return bisect_right(lows, step.low) - 1


def work(step: Step) -> Work:
    """What ``Capacity.admit`` is told of a step. Its partition is ``step.partition``, or None for ``SEVERAL``."""
    return Work(step.kind, step.entities, step.continued)
