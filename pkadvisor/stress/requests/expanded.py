"""What a script sends under a partition map, and when, as pure functions that every way to run shares.

A page over several PartitionKeys ends where a range ends; the client goes on with the next page there, which counts its
entities anew. So the pages of a scan that crosses range ends are made anew. Pages that are sent beside others are cut
into parts that follow one another, each one stage later: a stage whose steps have up to n parts becomes n stages, of
which the j-th holds the j-th part of every step that has one.

A request keeps the script that held when it arrived (its epoch, and the map at that moment). Each attempt goes to the
range that its ``low`` lies in when it is sent.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice

from pkadvisor.engine.capacity.capacity import Work
from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.stress.requests.scripts import SEVERAL, KeySpace, Script, Stage, Step


def row_sums(space: KeySpace) -> tuple[int, ...]:
    """Rows below each rank: value ``i`` is the sum over ranks ``0 … i − 1``, the last one that over all."""
    return tuple(accumulate(map(int, space.rows), initial=0))


def chain_at(stages: Sequence[Stage], begin: int) -> tuple[Step, ...]:
    """The pages of one scan that begins with a stage: it and those after it that go on where it ends. Empty where the
    stage is no single page over several PartitionKeys."""
    chain: list[Step] = []
    for stage in islice(stages, begin, None):
        (step, *others) = stage
        if others or step.partition != SEVERAL or step.kind != Kind.PAGE:
            break
        if chain and not (step.continued and chain[-1].high - 1 <= step.low <= chain[-1].high):
            break
        chain.append(step)
    return tuple(chain)


def paged(chain: Sequence[Step], sums: Sequence[int], lows: Sequence[int], page_entities: int) -> Iterator[Step]:
    """The pages of one scan under a map whose ranges begin at ``lows`` (ascending, from rank 0).

    What the scan examines and moves lies as evenly as the rows of its ranks; what the first of its pages moves beyond
    the second is moved by the first one. A page ends after ``page_entities``, or after as many as the largest page of
    the scan has where they end for another reason, or where a range ends; the next one begins to count anew. Pages
    after the first are ``continued``.
    """
    first, low, high = chain[0], chain[0].low, chain[-1].high
    begin, end = bisect_right(lows, low), bisect_left(lows, high)
    if begin >= end:
        yield from chain
        return
    examined, moved = sum(step.examined for step in chain), sum(step.bytes_moved for step in chain)
    by_entities = len(chain) == max(1, -(-examined // page_entities))
    most = page_entities if by_entities else max(step.examined for step in chain)
    start, rows = sums[low], sums[high] - sums[low]
    more = moved if not examined else first.bytes_moved - chain[1].bytes_moved if len(chain) > 1 else 0
    at, even, continued = 0, moved - more, first.continued
    for edge in (*lows[begin:end], high):
        # Without rows the first range has it all.
        stop = examined * (sums[edge] - start) // rows if rows else examined
        while True:
            behind = min(stop, at + most)
            ends = edge if behind == stop else bisect_right(sums, start + (behind * rows - 1) // examined, low, edge)
            size = more + (even * behind // examined - even * at // examined if examined else 0)
            yield first._replace(
                low=low, high=max(low + 1, ends), examined=behind - at, bytes_moved=size, continued=continued
            )
            at, more, continued = behind, 0, True
            if at == stop:
                break
            low = max(low, bisect_right(sums, start + at * rows // examined, low, edge) - 1)
        low = edge


def expanded(script: Script, sums: Sequence[int], lows: Sequence[int], page_entities: int) -> Script:
    """A script under a map: every page cut where ranges end (see the top of this file)."""
    stages: list[Stage] = []
    at = 0
    while at < len(script.stages):
        chain = chain_at(script.stages, at)
        if len(chain) > 1:
            stages += ((page,) for page in paged(chain, sums, lows, page_entities))
        else:
            stages += cut_stage(script.stages[at], sums, lows, page_entities)
        at += max(1, len(chain))
    return Script(tuple(stages))


def cut_stage(stage: Stage, sums: Sequence[int], lows: Sequence[int], page_entities: int) -> tuple[Stage, ...]:
    """The stages that a stage becomes under a map."""
    cut = [
        tuple(paged((step,), sums, lows, page_entities))
        if step.partition == SEVERAL and step.kind == Kind.PAGE
        else (step,)
        for step in stage
    ]
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
