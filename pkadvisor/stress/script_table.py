"""The scripts of a load under a scheme: each program is run once on a plain table, and what it sent is written down.

    programs ──run on──► plain table ──► steps with keys ──► key space ──► steps with ranks ──► Scripts

Steps are what ``engine/partition/judged.py`` would judge of the same operations on the rows as they are before the
run: rows that a load inserts or removes on its way change no script. Keys that no other request ever has (ticks in the
PartitionKey) are found by running an insert for two requests; their steps stand at the rank where they would fall.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pkadvisor.design.requests import next_period
from pkadvisor.design.transforms import Time
from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.limits import Limits
from pkadvisor.stress.plain_table import Asked, PlainTable, page_limits
from pkadvisor.stress.programs import Programs
from pkadvisor.stress.scripts import SEVERAL, KeySpace, Script, Scripts, Stage, Step
from pkadvisor.stress.table_scale import Scale, scales
from pkadvisor.table.accounting import ANSWER_BYTES
from pkadvisor.table.store import Query

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pkadvisor.stress.program_reads import Stages

    Ints = NDArray[np.int64]

EPOCHS_MAX = 64
"""More periods than this within one run are taken for keys that no two requests share."""
LITTLE_BYTES = 1 << 16
FIRST, SECOND = 0, 1
"""Numbers of the two requests that an insert is run for."""


class Noted(NamedTuple):
    """One operation: what it weighs, which filter it continues, and whether its partition is its own alone."""

    asked: Asked
    chain: str
    own: bool = False


Notes = tuple[tuple[Noted, ...], ...]
"""What one request sent, stage by stage."""
NOTHING: Notes = ()


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
    of the entities returned; partitions and the rows of other requests stay as they are, and so do the number of
    periods that a query goes back and the pointers that it follows.
    """
    clock = clock_of(programs, duration_ns)
    recorder = _Recorder(programs, limits, scales(programs) if examined_scale else None, clock)
    recorded: list[list[list[Notes]]] = []
    for at_ns in (0, *clock.ends_ns):
        of_classes = []
        for number in range(len(programs.classes)):
            if recorded and not set(programs.periods(number)) - set(clock.short):
                of_classes.append(recorded[0][number])
            else:
                of_classes.append(recorder.recorded(number, used[number], at_ns))
        recorded.append(of_classes)
    return recorder.scripts(recorded)


class Clock(NamedTuple):
    """When keys change during a run, in ns since it began, and the periods that are too short to be followed."""

    ends_ns: tuple[int, ...]
    short: tuple[Time, ...]


def clock_of(programs: Programs, duration_ns: int) -> Clock:
    """The ends of the periods that inserts and open queries name; at most ``EPOCHS_MAX`` of each kind of period."""
    parts = {part for number in range(len(programs.classes)) for part in programs.periods(number)}
    ends: set[int] = set()
    short: list[Time] = []
    for part in sorted(parts, key=str):
        found: list[int] = []
        moment = next_period(programs.start_ticks, part)
        while moment is not None and (at_ns := (moment - programs.start_ticks) * 100) < duration_ns:
            found.append(at_ns)
            if len(found) > EPOCHS_MAX:
                short.append(part)
                found.clear()
                break
            moment = next_period(moment, part)
        ends.update(found)
    return Clock(tuple(sorted(ends)), tuple(short))


class _Recorder:
    """Runs programs on a plain table and keeps what they sent."""

    def __init__(self, programs: Programs, limits: Limits, scale: Sequence[Scale | None] | None, clock: Clock) -> None:
        self.programs, self.clock = programs, clock
        self.limits = page_limits(limits)
        self.table = PlainTable(programs.table, programs.stored(), self.limits)
        self._scale = scale
        self._same: dict[tuple[object, ...], Notes] = {}
        self._following: dict[tuple[object, ...], Notes] = {}

    def recorded(self, number: int, used: Ints, at_ns: int) -> list[Notes]:
        """What the instances of a class send at a moment of the run."""
        out = [NOTHING] * self.programs.instances[number]
        scale = self._scale[number] if self._scale is not None else None
        for instance in used.tolist():
            out[instance] = self._one(number, instance, at_ns, scale)
        return out

    def _one(self, number: int, instance: int, at_ns: int, scale: Scale | None) -> Notes:
        programs = self.programs
        asked = programs.query_requests(number, instance, at_ns)
        factors = (1.0, 1.0) if scale is None else scale.of(instance)
        if asked is not None:
            memo = (number, factors, *asked)
            if memo not in self._same:
                notes = self._run(programs.run_requests(number, instance, asked))
                self._same[memo] = self._scaled(notes, factors)
            return self._same[memo]
        if programs.plan(number) is not None:
            return self._scaled(self._run(programs.start(number, instance, FIRST, at_ns)), factors)
        first = self._run(programs.start(number, instance, FIRST, at_ns))
        second = self._run(programs.start(number, instance, SECOND, at_ns + self._apart_ns(number)))
        return tuple(
            tuple(
                note._replace(own=self.table.partition_of(note.asked.key) != self.table.partition_of(other.asked.key))
                for note, other in zip(stage, others, strict=True)
            )
            for stage, others in zip(first, second, strict=True)
        )

    def _apart_ns(self, number: int) -> int:
        """How long after the first request the second one comes: a period that is too short to be followed, or 0."""
        start = self.programs.start_ticks
        later = [next_period(start, p) for p in self.programs.periods(number) if p in self.clock.short]
        return max(((moment - start) * 100 for moment in later if moment is not None), default=0)

    def _run(self, program: Stages) -> Notes:
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

    def _scaled(self, notes: Notes, factors: tuple[float, float]) -> Notes:
        """What would be sent if each page chain examined and returned so many times as much."""
        if factors == (1.0, 1.0):
            return notes
        out: list[tuple[Noted, ...]] = []
        at = 0
        while at < len(notes):
            if any(note.asked.kind is not Kind.PAGE for note in notes[at]):
                out.append(notes[at])
                at += 1
                continue
            end = at + 1
            while end < len(notes) and all(note.asked.continued for note in notes[end]):
                end += 1
            sent: dict[str, list[Asked]] = {}
            for note in (note for stage in notes[at:end] for note in stage):
                sent.setdefault(note.chain, []).append(note.asked)
            chains = [self._chain(pages, factors) for pages in sent.values()]
            if len(chains) == 1:
                out += chains[0]
            else:
                deepest = max(map(len, chains))
                out += [tuple(c[n][0] for c in chains if n < len(c)) for n in range(deepest)]
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
        little = moved <= LITTLE_BYTES
        each = 0 if little else moved // count
        key = (first.key, last.high, first.several, examined, count, each)
        if key not in self._following:
            self._following[key] = tuple((Noted(page, ""),) for page in self._pages(first, last, examined, count, each))
        made = self._following[key]
        whole = made[0][0].asked._replace(bytes_moved=moved - each * (count - 1))
        return ((Noted(whole, ""),), *made[1:])

    def _pages(self, first: Asked, last: Asked, examined: int, count: int, each: int) -> list[Asked]:
        """Pages of equal size that divide the rows between two keys."""
        keys = self.table.keys
        low, high = bisect_left(keys, first.key), bisect_left(keys, last.high)
        out = []
        for n in range(count):
            begin, end = low + (high - low) * n // count, low + (high - low) * (n + 1) // count
            out.append(
                first._replace(
                    key=first.key if not n or begin >= high else keys[begin],
                    high=last.high if n + 1 == count or end >= high else keys[end],
                    examined=examined * (n + 1) // count - examined * n // count,
                    bytes_moved=each,
                    continued=n > 0,
                )
            )
        return out

    # -- ranks ---------------------------------------------------------------------------------------------------

    def scripts(self, recorded: Sequence[Sequence[Sequence[Notes]]]) -> Scripts:
        """The key space of all that was touched, and the scripts over it."""
        import numpy as np

        table, programs = self.table, self.programs
        rows = Counter(map(table.partition_of, table.keys))
        touched = {
            table.partition_of(note.asked.key)
            for notes in self._each(recorded)
            for stage in notes
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
        stages: dict[int, Stage] = {}

        def stage_of(noted: tuple[Noted, ...]) -> Stage:
            found = stages.get(id(noted))
            if found is None:
                found = stages[id(noted)] = tuple(step_of(note, prefixes) for note in noted)
            return found

        def script_of(notes: Notes) -> Script:
            found = made.get(id(notes))
            if found is None:
                found = made[id(notes)] = Script(tuple(map(stage_of, notes)))
            return found

        return Scripts(
            space,
            programs.classes,
            tuple(tuple(tuple(map(script_of, notes)) for notes in of_classes) for of_classes in recorded),
            self.clock.ends_ns,
        )

    @staticmethod
    def _each(recorded: Sequence[Sequence[Sequence[Notes]]]) -> Iterator[Notes]:
        """Every record once."""
        seen: set[int] = set()
        for notes in (n for of_classes in recorded for of_class in of_classes for n in of_class):
            if id(notes) not in seen:
                seen.add(id(notes))
                yield notes


def step_of(note: Noted, prefixes: Sequence[bytes]) -> Step:
    """A step over a key space whose PartitionKeys begin keys with ``prefixes``."""
    asked = note.asked
    low = max(0, bisect_right(prefixes, asked.key) - 1)
    partition, high = low, low + 1
    if note.own or asked.several:
        partition = SEVERAL
    if asked.several:
        high = max(high, bisect_left(prefixes, asked.high))
    return Step(asked.kind, partition, low, high, asked.entities, asked.examined, asked.bytes_moved, asked.continued)
