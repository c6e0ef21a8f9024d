"""The processes that are killed: they write to a store on real files as fast as they can, and note what was answered.

    python -m tests.engine.machine.killed

For each line of its input (turn, directory, file of notes, durability, replicas and seconds between rounds of writes,
with tabs between) a process is forked that opens the store, and its number is printed; ``ended`` when it is dead. The
process adds lines to the file of notes, each at once and in one piece: ``open`` when the store serves, then the number
of each write whose acknowledgement came. What a write of a number is follows from turn and number alone.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from random import Random

from pkadvisor.engine.embedded_store import EmbeddedStore
from pkadvisor.engine.open_store import open_directory
from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.partition.balancer import Action, MergeRanges, SplitRange
from pkadvisor.engine.worlds.world import EngineError
from pkadvisor.table.edm import EdmType
from pkadvisor.table.store import (
    CreateTable,
    Delete,
    Entity,
    EntityKey,
    Group,
    Insert,
    InsertOrReplace,
    Operation,
    Property,
)

TABLE = "killed"
HOT_ROWS = 4
RANGES_MAX = 12
SMALL = EngineOptions(  # so that checkpoints, new extents and new journal segments come several times a second
    extent_bytes_target=256 << 10,
    block_bytes_max=512 << 10,
    memory_table_bytes=64 << 10,
    log_bytes=192 << 10,
    page_bytes=4 << 10,
    journal_segment_bytes=128 << 10,
)


@dataclass(frozen=True)
class Step:
    """One write: its number, what it is, and which row or how many rows it is about."""

    number: int
    kind: str
    about: int


def value_of(turn: int, number: int) -> int:
    """Later writes have greater values, over all turns."""
    return turn * 1_000_000 + number


def entity(partition: str, row: str, value: int) -> Entity:
    """A row whose text follows from its value."""
    return Entity(
        EntityKey(partition, row), {"v": Property(EdmType.INT64, value), "t": Property(EdmType.STRING, text_of(value))}
    )


def text_of(value: int) -> str:
    """Up to some thousand characters."""
    return f"{value}," * (value * 2654435761 % 400)


def rounds(turn: int) -> Iterator[list[Step]]:
    """Writes without end, in rounds; those of a round are under way at once."""
    chance = Random(f"rounds {turn}")
    number, inserted = 0, [0]
    while True:
        steps = []
        for _ in range(chance.choice((1, 1, 1, 8, 40, 200))):
            number += 1
            kind = chance.choice(("insert", "insert", "insert", "hot", "group", "delete"))
            about = chance.randrange(HOT_ROWS) if kind == "hot" else chance.choice((2, 5, 30))
            if kind == "delete":
                if len(inserted) < 2:
                    continue
                about = inserted.pop(chance.randrange(1, len(inserted)))
            steps.append(Step(number, kind, about))
        inserted += [step.number for step in steps if step.kind == "insert"]  # acknowledged before the next round
        yield steps


def operation(turn: int, step: Step) -> Operation:
    """What a step sends."""
    value = value_of(turn, step.number)
    match step.kind:
        case "insert":
            return Insert(TABLE, entity(f"p{turn}", f"{step.number:06}", value))
        case "hot":
            return InsertOrReplace(TABLE, entity("hot", f"{step.about}", value))
        case "group":
            writes = (Insert(TABLE, entity(f"g{turn}-{step.number:06}", f"{i:02}", value)) for i in range(step.about))
            return Group(tuple(writes))
        case _:
            return Delete(TABLE, EntityKey(f"p{turn}", f"{step.about:06}"))


async def rearrange(store: EmbeddedStore, chance: Random) -> None:
    """A split of some range, or a merge of two; one that is refused goes by."""
    stamp = store.stamp
    assert stamp is not None
    leader, found = stamp.leader(), stamp.map()
    if leader is None or found is None or not found.entries:
        return
    place = chance.randrange(len(found.entries))
    action: Action = SplitRange(found.entries[place].number, "size")
    if place and (chance.getrandbits(1) or len(found.entries) > RANGES_MAX):
        action = MergeRanges(found.entries[place - 1].number, found.entries[place].number)
    with suppress(EngineError):
        await leader.order(action)


def work(store: EmbeddedStore, turn: int, say: Callable[[str], None], pause_s: float) -> None:
    """Writes until the end comes, while ranges are split and merged."""
    chance = Random(f"ranges {turn}")

    async def one(step: Step) -> None:
        outcome = await store.perform(operation(turn, step))
        say(str(step.number) if outcome.ok else f"refused {step} {outcome}")

    for steps in rounds(turn):
        if len(steps) == 1:
            outcome = store.execute(operation(turn, steps[0]))
            say(str(steps[0].number) if outcome.ok else f"refused {steps[0]} {outcome}")
        else:
            store.run_all([rearrange(store, chance), *(one(step) for step in steps)])
        time.sleep(pause_s)


def live(turn: int, directory: str, notes: str, durability: str, replicas: int, pause_s: float) -> None:
    """The life of one process."""
    descriptor = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def say(text: str) -> None:
        os.write(descriptor, f"{text}\n".encode())

    try:
        store = open_directory(directory, durability=durability, replicas=replicas, options=SMALL)
        if not turn:
            store.execute(CreateTable(TABLE))
        say("open")
        work(store, turn, say, pause_s)
    except BaseException:
        say("refused: " + traceback.format_exc().replace("\n", " | "))


def main() -> None:
    """See the top of this file."""
    for line in sys.stdin:
        turn, directory, notes, durability, replicas, pause_s = line.split("\t")
        process = os.fork()
        if not process:
            live(int(turn), directory, notes, durability, int(replicas), float(pause_s))
            os._exit(1)
        os.write(1, f"{process}\n".encode())
        os.waitpid(process, 0)
        os.write(1, b"ended\n")


if __name__ == "__main__":
    main()
