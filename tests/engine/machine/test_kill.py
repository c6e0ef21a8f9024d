"""kill −9 of a process that writes to real files, at random moments: every acknowledged write is there (P6).

Through the whole path: table service, range partition, log with group commit, one or three replicas, under each
durability, while ranges are split and merged. Ten kills; in ``.ci/full simulation`` five hundred, each ten on a new
directory.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from pkadvisor.engine.embedded_store import EmbeddedStore
from pkadvisor.engine.open_store import backup_directory, open_directory, open_read_only
from pkadvisor.table.store import CreateTable, Entity, Insert, Query
from tests.engine.machine.killed import HOT_ROWS, SMALL, TABLE, Step, entity, rounds, text_of, value_of
from tests.tiers import sizes

KILLS_OF_A_DIRECTORY = 10
DIRECTORIES, BLOCK = 50, 5
ROUNDS_MAX = 3_000
BACKUP_TURN = 5
NOTES_MAX = 250
"""Notes after which a process is killed at once, however fast the disk is: what the test costs does not follow it."""
BACKUP_PAUSE_S = 0.1
"""Between rounds of writes while a backup is made: what it copies does not follow how fast writes are."""
READ_TURNS = sizes([BACKUP_TURN], range(KILLS_OF_A_DIRECTORY), "simulation")
DURABILITIES = ("synced", "every 20 ms", "written")


@dataclass
class Told:
    """What the processes of a directory were told; by turn the numbers that were acknowledged."""

    acked: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    begun: Mapping[int, int] = field(default_factory=dict)
    """By turn the last write that may have been begun, where that is not the one after the last acknowledged."""

    def wrong(self, rows: Mapping[tuple[str, str], Entity]) -> Iterator[str]:
        """What is missing, half there, or not as it was written."""
        for key, found in rows.items():
            value = found.properties["v"].value
            if not isinstance(value, int) or found.properties["t"].value != text_of(value):
                yield f"{key} is not as it was written"
        hot = dict.fromkeys(range(HOT_ROWS), 0)
        for turn, acked in self.acked.items():
            steps = self._steps(turn, max(self.begun.get(turn, 0), *acked, 0))
            # A deletion may have been carried out without an acknowledgement.
            deleted = {step.about for step in steps if step.kind == "delete"}
            for step in steps:
                if step.number not in deleted:
                    yield from self._wrong(turn, step, step.number in acked, rows)
                if step.kind == "hot" and step.number in acked:
                    hot[step.about] = max(hot[step.about], value_of(turn, step.number))
        for row, least in hot.items():
            found = rows.get(("hot", str(row)))
            if least and (found is None or int(found.properties["v"].value) < least):  # type: ignore[arg-type]
                yield f"hot row {row} is older than {least}"

    def _steps(self, turn: int, last: int) -> list[Step]:
        """All that may have been begun: up to the round after the one with the last acknowledgement."""
        found: list[Step] = []
        for steps in islice(rounds(turn), ROUNDS_MAX):
            found += steps
            if steps and steps[0].number > last:
                return found
        raise AssertionError("more rounds than anybody can write")

    def _wrong(self, turn: int, step: Step, acked: bool, rows: Mapping[tuple[str, str], Entity]) -> Iterator[str]:
        value = value_of(turn, step.number)
        if step.kind == "insert":
            found = rows.get((f"p{turn}", f"{step.number:06}"))
            if acked and (found is None or found.properties["v"].value != value):
                yield f"turn {turn}: insert {step.number} was acknowledged and is gone"
        if step.kind == "delete" and acked and (f"p{turn}", f"{step.about:06}") in rows:
            yield f"turn {turn}: {step.about} was deleted by {step.number} and is there"
        if step.kind == "group":
            there = [i for i in range(step.about) if (f"g{turn}-{step.number:06}", f"{i:02}") in rows]
            if len(there) not in ((step.about,) if acked else (0, step.about)):
                yield f"turn {turn}: of the group {step.number} {len(there)} of {step.about} rows are there"


@pytest.mark.parametrize("first", sizes([0], range(0, DIRECTORIES, BLOCK), "simulation"))
def test_every_acknowledged_write_survives_kill_9(first: int, tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    seeds = sizes([first], range(first, first + BLOCK), "simulation")
    with _forker() as forker:
        for seed in seeds:
            _kill_again_and_again(forker, tmp_path / str(seed), seed, counts)
    sys.stdout.write(f"kill −9: {', '.join(f'{count:,} {name}' for name, count in counts.items())}\n")
    assert counts["kills"] == len(seeds) * KILLS_OF_A_DIRECTORY
    assert counts["acknowledged"] > 3 * counts["kills"]
    assert counts["kills while it was opened"] and counts["kills while it wrote"]


def _kill_again_and_again(forker: subprocess.Popen[str], directory: Path, seed: int, counts: Counter[str]) -> None:
    told, chance, replicas = Told(), Random(f"kill {seed}"), 1 if seed % 2 else 3
    for turn in range(KILLS_OF_A_DIRECTORY):
        notes = directory.with_suffix(f".{turn}")
        least = chance.choice((0, 1, 1, 5, 60)) if turn else 60  # notes; at the first turn it makes the table
        after_s = chance.uniform(0, 0.25)
        if turn == 1:  # one for certain while it is opened
            least, after_s = 0, 0.0
        pause_s = 0.0
        if turn == BACKUP_TURN:
            least, pause_s = 20, BACKUP_PAUSE_S
        line = f"{turn}\t{directory}\t{notes}\t{DURABILITIES[turn % 3]}\t{replicas}\t{pause_s}"
        with _killed(forker, line, notes, least, after_s) as lines:
            # The process writes during the backup and not during its check, which takes the longer the more it writes.
            backed_up = _back_up(directory, turn, notes, told) if turn == BACKUP_TURN else None
        if backed_up is not None:
            _check_backup(directory, backed_up)
        counts["kills while it wrote" if "open" in lines else "kills while it was opened"] += 1
        assert not [line for line in lines if line.startswith("refused")], lines[-1]
        told.acked[turn] |= {int(line) for line in lines if line.isdigit()}
        counts["kills"] += 1
        counts["acknowledged"] += len(told.acked[turn])
        if turn in READ_TURNS:
            with open_read_only(directory, options=SMALL) as store:
                wrong = list(told.wrong(_rows(store)))
                assert not wrong, wrong[:5]
        with open_directory(directory, durability="written", options=SMALL) as store:
            wrong = list(told.wrong(_rows(store)))
            assert not wrong, (turn, wrong[:5])
            goes_on = store.execute(Insert(TABLE, entity("goes on", str(turn), turn)))
            assert goes_on.ok, goes_on
            if turn == KILLS_OF_A_DIRECTORY - 1:
                store.check()


@contextmanager
def _forker() -> Iterator[subprocess.Popen[str]]:
    """What starts the processes that are killed: it has loaded everything, so that each of them is there at once."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.engine.machine.killed"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment, bufsize=1) as forker:
        yield forker
        assert forker.stdin is not None
        forker.stdin.close()


def _back_up(directory: Path, turn: int, notes: Path, told: Told) -> Told:
    """A backup while the process writes; what was acknowledged before it began, and what was begun when it ended."""
    before = {int(line) for line in _lines(notes) if line.isdigit()}
    backup_directory(directory, directory.with_suffix(".backup"))
    begun = max(int(line) for line in _lines(notes) if line.isdigit())
    return Told(defaultdict(set, {**told.acked, turn: before}), {turn: begun})


def _check_backup(directory: Path, told: Told) -> None:
    """The backup holds what was acknowledged before it began, and is a store."""
    with open_directory(directory.with_suffix(".backup"), durability="written", options=SMALL) as store:
        wrong = list(told.wrong(_rows(store)))
        assert not wrong, wrong[:5]
        store.check()


@contextmanager
def _killed(forker: subprocess.Popen[str], line: str, notes: Path, least: int, after_s: float) -> Iterator[list[str]]:
    """Starts a process, kills it so long after it noted so much (0: after it began to open), and what the body does;
    all that it noted is there when the body has ended."""
    lines: list[str] = []
    assert forker.stdin is not None and forker.stdout is not None
    forker.stdin.write(f"{line}\n")
    process = int(forker.stdout.readline())
    try:
        patience_s = time.monotonic() + 60
        while len(_lines(notes)) < least:
            assert time.monotonic() < patience_s, "it does not open"
            time.sleep(0.01)
        end_s = time.monotonic() + after_s
        while time.monotonic() < end_s and len(_lines(notes)) < least + NOTES_MAX:
            time.sleep(0.01)
        yield lines
    finally:
        with suppress(ProcessLookupError):  # it has ended by itself, and noted why
            os.kill(process, signal.SIGKILL)
        assert forker.stdout.readline() == "ended\n"
        lines += _lines(notes)


def _lines(notes: Path) -> list[str]:
    return notes.read_text().splitlines() if notes.exists() else []


def _rows(store: EmbeddedStore) -> dict[tuple[str, str], Entity]:
    assert store.execute(CreateTable(TABLE)).status in (403, 409), "the table is gone"
    found: dict[tuple[str, str], Entity] = {}
    token = ""
    while True:
        page = store.execute(Query(TABLE, continuation=token))
        assert page.ok, page
        for each in page.entities:
            assert tuple(each.key) not in found
            found[each.key.partition_key, each.key.row_key] = each
        token = page.continuation
        if not token:
            return found
