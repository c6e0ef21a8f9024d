"""The scripts of a load under a scheme: each program is run once on a plain table, and what it sent is written down.

    programs ──run on──► plain table ──► steps with keys ──► key space ──► steps with ranks ──► Scripts

Steps are what ``engine/partition/judged.py`` would judge of the same operations on the rows as they are before the
run: rows that a load inserts or removes on its way change no script. Keys that no other request ever has (ticks in the
PartitionKey) are found by running an insert for two requests; their steps stand at the rank where they would fall.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from pkadvisor.design.keys.transforms import PeriodPart
from pkadvisor.design.plan.requests import next_period
from pkadvisor.limits import Limits
from pkadvisor.stress.requests.program_reads import rounds_of
from pkadvisor.stress.requests.programs import Programs
from pkadvisor.stress.requests.script_recorder import Notes, ScriptRecorder, Segment
from pkadvisor.stress.requests.scripts import KeySpace, Script, Scripts, Stage
from pkadvisor.stress.requests.steps import ranked
from pkadvisor.stress.requests.table_scale import scales

if TYPE_CHECKING:
    from pkadvisor.arrays import Ints

EPOCHS_MAX = 64
"""More periods than this within one run are taken for keys that no two requests share."""
Recorded = Sequence[Sequence[Sequence[Notes]]]
"""By epoch, class and instance."""


def script_table(
    programs: Programs,
    limits: Limits,
    used: Sequence[Ints],
    duration_ns: int,
    *,
    examined_scale: bool = True,
) -> Scripts:
    """The scripts of the instances ``used[c]`` of each class; other instances have a script of no stages.

    ``examined_scale``: where the table holds more entities than the rows at hand, pages examine, return and follow one
    another as in the whole table. Assumed, as the cost model assumes it: what a request scans grows by the model's own
    factor (its count for the whole table by its count for the rows at hand, for each instance), what it returns by that
    of the entities returned. Partitions and their number stay as they are, and so do the periods that a query goes back
    and the pointers that it follows.
    """
    clock = clock_of(programs, duration_ns)
    scale = scales(programs) if examined_scale else (None,) * len(programs.classes)
    recorder = ScriptRecorder(programs, limits, scale, clock.short)
    with keeping():
        return _ranked(recorder, _recorded(recorder, used, clock), clock)


def script_tables(
    programs: Programs, limits: Limits, used: Sequence[Ints], duration_ns: int, compared: Sequence[Ints]
) -> tuple[Scripts, Scripts]:
    """(:func:`script_table` of ``used`` for the whole table, that of ``compared`` for the rows at hand as it begins).

    What both need is recorded once; where all rows are at hand and nothing else is compared, both are the same.
    """
    clock = clock_of(programs, duration_ns)
    scale = scales(programs)
    recorder = ScriptRecorder(programs, limits, scale, clock.short)
    with keeping():
        recorded = _recorded(recorder, used, clock)
        whole = _ranked(recorder, recorded, clock)
        within = all(
            set(some.tolist()) <= set(of_class.tolist()) for some, of_class in zip(compared, used, strict=True)
        )
        if within and all(of_class is None for of_class in scale):
            return whole, whole
        at_hand = [[recorder.recorded(n, some, 0, as_it_is=True) for n, some in enumerate(compared)]]
        return whole, _ranked(recorder, at_hand, KeyChanges((), clock.short))


def _recorded(recorder: ScriptRecorder, used: Sequence[Ints], clock: KeyChanges) -> list[list[list[Notes]]]:
    """What is sent in each epoch; that of the first one where a class sends the same in all of them."""
    programs = recorder.programs
    recorded: list[list[list[Notes]]] = []
    for at_ns in (0, *clock.ends_ns):
        of_classes = []
        for number in range(len(programs.classes)):
            if recorded and not set(programs.periods(number)) - set(clock.short):
                of_classes.append(recorded[0][number])
            else:
                of_classes.append(recorder.recorded(number, used[number], at_ns))
        recorded.append(of_classes)
    return recorded


@contextmanager
def keeping() -> Iterator[None]:
    """Without looking for garbage: a stress test makes millions of tuples, and all of them stay until its end."""
    looked = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if looked:
            gc.enable()


class KeyChanges(NamedTuple):
    """When keys change during a run, in ns since it began, and the periods that are too short to be followed."""

    ends_ns: tuple[int, ...]
    short: tuple[PeriodPart, ...]


def clock_of(programs: Programs, duration_ns: int) -> KeyChanges:
    """The ends of the periods that inserts and open queries name; at most ``EPOCHS_MAX`` of each kind of period."""
    parts = {part for number in range(len(programs.classes)) for part in programs.periods(number)}
    ends: set[int] = set()
    short: list[PeriodPart] = []
    for part in sorted(parts, key=str):
        moments: list[int] = []
        moment = next_period(programs.start_ticks, part)
        while moment is not None and (at_ns := (moment - programs.start_ticks) * 100) < duration_ns:
            moments.append(at_ns)
            if len(moments) > EPOCHS_MAX:
                short.append(part)
                moments.clear()
                break
            moment = next_period(moment, part)
        ends.update(moments)
    return KeyChanges(tuple(sorted(ends)), tuple(short))


def _ranked(recorder: ScriptRecorder, recorded: Recorded, clock: KeyChanges) -> Scripts:
    """The key space of all that was touched, and the scripts over it."""
    import numpy as np

    table, programs = recorder.table, recorder.programs
    at_once = programs.bench.limits.fan_out_parallel
    rows = Counter(map(table.partition_of, table.keys))
    touched = {
        table.partition_of(note.asked.key)
        for segment in _segments(recorded)
        for stage in segment
        for note in stage
        if not note.own and not note.asked.several
    }
    prefixes = sorted({*rows, *touched} or {table.partition("")})
    space = KeySpace(
        programs.table,
        tuple(map(table.partition_key, prefixes)),
        np.array([rows[prefix] for prefix in prefixes], dtype=np.int64),
    )
    made: dict[int, Script] = {}
    ranked_segments: dict[int, tuple[Stage, ...]] = {}

    def stages_of(segment: Segment) -> tuple[Stage, ...]:
        stages = ranked_segments.get(id(segment))
        if stages is None:
            rounds = chain.from_iterable(rounds_of(stage, at_once) for stage in segment)
            stages = tuple(tuple(ranked(note.asked, note.own, prefixes) for note in sent) for sent in rounds)
            ranked_segments[id(segment)] = stages
        return stages

    def script_of(notes: Notes) -> Script:
        script = made.get(id(notes))
        if script is None:
            script = made[id(notes)] = Script(tuple(chain.from_iterable(map(stages_of, notes))))
        return script

    epochs = tuple(tuple(tuple(map(script_of, notes)) for notes in of_classes) for of_classes in recorded)
    return Scripts(space, programs.classes, epochs, clock.ends_ns)


def _segments(recorded: Recorded) -> Iterator[Segment]:
    """Every segment once."""
    seen: set[int] = set()
    for notes in (notes for of_classes in recorded for of_class in of_classes for notes in of_class):
        for segment in notes:
            if id(segment) not in seen:
                seen.add(id(segment))
                yield segment
