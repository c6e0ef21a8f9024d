"""The scripts of a load under a scheme: each program is run once on a plain table, and what it sent is written down.

    programs ──run on──► plain table ──► steps with keys ──► key space ──► steps with ranks ──► Scripts

Steps are what ``engine/partition/hosted_range.py`` would judge of the same operations on the rows as they are before
the run: rows that a load inserts or removes on its way change no script. Keys that no other request ever has (ticks in
the PartitionKey) are found by running an insert for two requests; their steps stand at the rank where they would fall.
"""

from __future__ import annotations

import gc
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import NamedTuple

from pkadvisor.design.keys.transforms import PeriodPart
from pkadvisor.design.plan.requests import Request, next_period
from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.lazy import Ints, np
from pkadvisor.limits import Limits
from pkadvisor.stress.requests.plain_table import Asked, PlainTable, page_limits
from pkadvisor.stress.requests.program_reads import Stages, rounds_of
from pkadvisor.stress.requests.programs import Programs
from pkadvisor.stress.requests.scripts import KeySpace, Script, Scripts, Stage
from pkadvisor.stress.requests.steps import ranked
from pkadvisor.stress.requests.table_scale import AS_IT_IS, ClassScale, scales
from pkadvisor.table.accounting import ANSWER_BYTES
from pkadvisor.table.store import EntityKey, Get, Query

# ----------------------------------------------------------------------------------------------------------------------
# Runs programs on a plain table and writes down what they sent, for the rows at hand or for the whole table.
#
# A record is made of *segments*, each a run of stages. Requests that scan the same rows share segments, so that a
# scan of 421 pages is written down once and not for every request that makes it.

LITTLE_BYTES = 1 << 16
"""What a query of many pages moves in all, up to which it is told of the first page."""
FIRST, SECOND = 0, 1
"""Numbers of the two requests that an insert is run for: a PartitionKey that differs is its own alone."""


class Noted(NamedTuple):
    """One operation: what it weighs, which filter it asks, and whether its partition is its own alone."""

    asked: Asked
    chain: str = ""
    own: bool = False


Segment = tuple[tuple[Noted, ...], ...]
Notes = tuple[Segment, ...]
"""What one request sent: stages, in segments."""
NOTHING: Notes = ()


class ScriptRecorder:
    """Programs on a plain table. ``short`` are the periods of keys that nobody follows: each request has its own."""

    def __init__(
        self, programs: Programs, limits: Limits, scale: Sequence[ClassScale | None], short: tuple[PeriodPart, ...] = ()
    ) -> None:
        self.programs, self._short, self._scale = programs, short, scale
        self.limits = page_limits(limits)
        self.table = PlainTable(programs.table, programs.stored, self.limits)
        self._same: dict[tuple[object, ...], Notes] = {}
        self._following: dict[tuple[object, ...], Segment] = {}
        self._inserts: dict[tuple[int, int, int], Notes] = {}
        self._changes: dict[tuple[int, int, int], Segment] = {}

    def recorded(self, number: int, used: Ints, at_ns: int, *, as_it_is: bool = False) -> list[Notes]:
        """What the instances of a class send at a moment of the run; ``as_it_is``: if the rows at hand were all."""
        programs = self.programs
        out = [NOTHING] * programs.instances[number]
        scale = None if as_it_is else self._scale[number]
        inserts = programs.plan(number) is None
        for instance in used.tolist():
            factors = AS_IT_IS if scale is None else scale.of(instance)
            if inserts:
                out[instance] = self._insert(number, instance, at_ns)
                continue
            asked = programs.asked(number, instance)
            memo = (number, at_ns, factors, asked)
            notes = None if asked is None else self._same.get(memo)
            if notes is None:
                notes = self._recorded(number, instance, at_ns, factors)
            if asked is not None:
                self._same[memo] = notes
            out[instance] = notes
        return out

    def _recorded(self, number: int, instance: int, at_ns: int, factors: tuple[float, float]) -> Notes:
        """A query or a change; what a query sends is mostly known before any answer."""
        requests = self.programs.query_requests(number, instance, at_ns)
        if requests is None:
            return self._scaled(self._change(number, instance, at_ns), factors)
        chains = [self._answered(request, factors) for request in requests]
        return chains[0] if len(chains) == 1 else (_side_by_side(chains),) if chains else NOTHING

    def _answered(self, request: Request, factors: tuple[float, float]) -> Notes:
        """The pages of one request, or its point read."""
        if request.point is not None:
            _, asked = self.table.answer(Get(self.programs.table, EntityKey(*request.point)))
            return (((Noted(asked),),),)
        if factors != AS_IT_IS and request.top is None:
            return self._chain([self.table.scan(request.filter, request.conditions)], factors)
        pages = self.table.chain(request.filter, request.conditions, request.top)
        return self._chain(pages, factors) if factors != AS_IT_IS else self._kept(pages)

    def _kept(self, pages: Sequence[Asked]) -> Notes:
        """Pages as they are; equal ones behind the first are kept once."""
        key = tuple(pages[1:])
        if key and key not in self._following:
            self._following[key] = tuple((Noted(page),) for page in key)
        first: Segment = ((Noted(pages[0]),),)
        return (first, self._following[key]) if key else (first,)

    def _change(self, number: int, instance: int, at_ns: int) -> Segment:
        """An update or a delete, as it is on the rows at hand."""
        key = (number, instance, at_ns)
        segment = self._changes.get(key)
        if segment is None:
            segment = self._changes[key] = self._run(self.programs.program(number, instance, FIRST, at_ns))
        return segment

    def _insert(self, number: int, instance: int, at_ns: int) -> Notes:
        """An insert; where keys may differ it is run for two requests: those that do are those of one request alone."""
        key = (number, instance, at_ns)
        notes = self._inserts.get(key)
        if notes is None:
            if self.programs.inserts_may_part(number, self._short):
                notes = self._two_inserts(number, instance, at_ns)
            else:
                made = self._run(self.programs.program(number, instance, FIRST, at_ns))
                notes = (made,) if made else NOTHING
            self._inserts[key] = notes
        return notes

    def _two_inserts(self, number: int, instance: int, at_ns: int) -> Notes:
        programs, partition = self.programs, self.table.partition_of
        first = self._run(programs.program(number, instance, FIRST, at_ns))
        second = self._run(programs.program(number, instance, SECOND, at_ns + self._apart_ns(number)))
        noted = tuple(
            tuple(
                note._replace(own=partition(note.asked.key) != partition(other.asked.key))
                for note, other in zip(stage, others, strict=True)
            )
            for stage, others in zip(first, second, strict=True)
        )
        return (noted,) if noted else NOTHING

    def _apart_ns(self, number: int) -> int:
        """How long after the first request the second one comes: a period that nobody follows, or 0."""
        start = self.programs.start_ticks
        later = [next_period(start, p) for p in self.programs.periods(number) if p in self._short]
        return max(((moment - start) * 100 for moment in later if moment is not None), default=0)

    def _run(self, program: Stages) -> Segment:
        """Sends what a program yields to the table, until it ends."""
        stages: list[tuple[Noted, ...]] = []
        answer = self.table.answer
        try:
            sent = next(program)
            while True:
                outcomes, noted = [], []
                for operation in sent:
                    outcome, asked = answer(operation)
                    outcomes.append(outcome)
                    noted.append(Noted(asked, operation.filter if isinstance(operation, Query) else ""))
                stages.append(tuple(noted))
                sent = program.send(tuple(outcomes))
        except StopIteration:
            return tuple(stages)

    # -- the whole table -----------------------------------------------------------------------------------------

    def _scaled(self, stages: Segment, factors: tuple[float, float]) -> Notes:
        """What would be sent if each query examined and returned so many times as much."""
        if factors == AS_IT_IS:
            return (stages,) if stages else NOTHING
        out: list[Segment] = []
        at = 0
        while at < len(stages):
            end = at + 1
            if any(note.asked.kind is not Kind.PAGE for note in stages[at]):
                out.append(stages[at:end])
                at = end
                continue
            while end < len(stages) and all(note.asked.continued for note in stages[end]):
                end += 1
            sent: dict[str, list[Asked]] = {}
            for note in (note for stage in stages[at:end] for note in stage):
                sent.setdefault(note.chain, []).append(note.asked)
            out.append(_side_by_side([self._chain(pages, factors) for pages in sent.values()]))
            at = end
        return tuple(out)

    def _chain(self, pages: Sequence[Asked], factors: tuple[float, float]) -> Notes:
        """The pages of one request, each a stage: as many as the page rules ask for."""
        limits, first, last = self.limits, pages[0], pages[-1]
        examined = round(sum(page.examined for page in pages) * factors[0])
        answered = round(sum(page.answered for page in pages) * factors[1])
        moved = round(sum(page.bytes_moved for page in pages) * factors[1])
        weight = moved + ANSWER_BYTES * answered
        most = limits.page_examined or examined or 1
        count = max(1, -(-examined // most), -(-answered // limits.page_entities), -(-weight // limits.page_bytes))
        # What moves little is told of the first page: then the others are the same for many requests.
        each = 0 if moved <= LITTLE_BYTES else moved // count
        key = (first.key, last.high, first.several, examined, count, each)
        if key not in self._following:
            self._following[key] = tuple((Noted(page),) for page in self._pages(first, last, examined, count, each))
        made = self._following[key]
        whole = made[0][0].asked._replace(bytes_moved=moved - each * (count - 1))
        begin: Segment = ((Noted(whole),),)
        if count == 1:
            return (begin,)
        rest = (key, "rest")
        if rest not in self._following:
            self._following[rest] = made[1:]
        return (begin, self._following[rest])

    def _pages(self, first: Asked, last: Asked, examined: int, count: int, each: int) -> list[Asked]:
        """Pages of equal size that divide the rows between two keys."""
        keys = self.table.keys
        low, high = bisect_left(keys, first.key), bisect_left(keys, last.high)
        out = []
        for n in range(count):
            begin, end = low + (high - low) * n // count, low + (high - low) * (n + 1) // count
            out.append(
                Asked(
                    first.kind,
                    first.key if not n or begin >= high else keys[begin],
                    last.high if n + 1 == count or end >= high else keys[end],
                    first.several,
                    first.entities,
                    examined * (n + 1) // count - examined * n // count,
                    each,
                    n > 0,
                    first.answered,
                )
            )
        return out


def _side_by_side(chains: Sequence[Notes]) -> Segment:
    """Requests that are sent at once, and their further pages: stage n holds the n-th page of each that has one."""
    flat = [[stage[0] for segment in chain for stage in segment] for chain in chains]
    deepest = max(map(len, flat), default=0)
    return tuple(tuple(chain[n] for chain in flat if n < len(chain)) for n in range(deepest))


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
        recorded = _recorded(recorder, used, clock)
        return _ranked(recorder, recorded, clock, _touched(recorder, recorded))


def script_tables(
    programs: Programs,
    limits: Limits,
    used: Sequence[Ints],
    duration_ns: int,
    compared: Sequence[Ints],
    rows_per_key: float = 1.0,
) -> tuple[Scripts, Scripts]:
    """(:func:`script_table` of ``used`` for the whole table, that of ``compared`` for the rows at hand as it begins).

    ``rows_per_key``: how many times its rows of today each key has in the whole table.

    What both need is recorded once; where all rows are at hand and nothing else is compared, both are the same. Both
    have one key space, so that a map of ranges made for one holds for the other.
    """
    clock = clock_of(programs, duration_ns)
    scale = scales(programs, rows_per_key)
    recorder = ScriptRecorder(programs, limits, scale, clock.short)
    with keeping():
        recorded = _recorded(recorder, used, clock)
        within = all(
            set(some.tolist()) <= set(of_class.tolist()) for some, of_class in zip(compared, used, strict=True)
        )
        if within and all(of_class is None for of_class in scale):
            whole = _ranked(recorder, recorded, clock, _touched(recorder, recorded))
            return whole, whole
        sampled = [[recorder.recorded(n, some, 0, as_it_is=True) for n, some in enumerate(compared)]]
        space = _touched(recorder, recorded, sampled)
        whole = _ranked(recorder, recorded, clock, space)
        return whole, _ranked(recorder, sampled, KeyChanges((), clock.short), space)


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


def _touched(recorder: ScriptRecorder, *recordings: Recorded) -> KeySpace:
    """The key space of all rows and of all that was touched in any of the recordings."""
    table = recorder.table
    rows = Counter(map(table.partition_of, table.keys))
    touched = {
        table.partition_of(note.asked.key)
        for recorded in recordings
        for segment in _segments(recorded)
        for stage in segment
        for note in stage
        if not note.own and not note.asked.several
    }
    prefixes = sorted({*rows, *touched} or {table.partition("")})
    counts = np.array([rows[prefix] for prefix in prefixes], dtype=np.int64)
    return KeySpace(recorder.programs.table, tuple(map(table.partition_key, prefixes)), counts)


def _ranked(recorder: ScriptRecorder, recorded: Recorded, clock: KeyChanges, space: KeySpace) -> Scripts:
    """The scripts of a recording over a key space that holds all that it touched."""
    table, programs = recorder.table, recorder.programs
    at_once = programs.bench.limits.fan_out_parallel
    prefixes = list(map(table.partition, space.keys))
    made: dict[int, Script] = {}
    of_classes: dict[int, tuple[Script, ...]] = {}
    ranked_segments: dict[int, tuple[Stage, ...]] = {}

    def stages_of(segment: Segment) -> tuple[Stage, ...]:
        stages = ranked_segments.get(id(segment))
        if stages is None:
            rounds = chain.from_iterable(rounds_of(stage, at_once) for stage in segment)
            stages = tuple(tuple(ranked(note.asked, note.own, prefixes) for note in sent) for sent in rounds)
            ranked_segments[id(segment)] = stages
        return stages

    def scripts_of(of_class: Sequence[Notes]) -> tuple[Script, ...]:
        if id(of_class) not in of_classes:  # most classes send the same in every epoch
            ids = list(map(id, of_class))
            for number, notes in dict(zip(ids, of_class, strict=True)).items():
                if number not in made:
                    made[number] = Script(tuple(chain.from_iterable(map(stages_of, notes))))
            of_classes[id(of_class)] = tuple(map(made.__getitem__, ids))
        return of_classes[id(of_class)]

    epochs = tuple(tuple(map(scripts_of, epoch)) for epoch in recorded)
    return Scripts(space, programs.classes, epochs, clock.ends_ns)


def _segments(recorded: Recorded) -> Iterator[Segment]:
    """Every segment once."""
    seen: set[int] = set()
    for notes in (notes for of_classes in recorded for of_class in of_classes for notes in of_class):
        for segment in notes:
            if id(segment) not in seen:
                seen.add(id(segment))
                yield segment
