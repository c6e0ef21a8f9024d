"""The simulation itself: a seed means the same everywhere, a violation is reported, a run always ends."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from random import Random

import pytest

from pkadvisor.engine.tables.table_service import TableService
from pkadvisor.table.store import Entity, EntityKey, Get, InsertOrReplace, Operation, Outcome
from tests.engine.worlds import simulated
from tests.simulate import __main__ as command
from tests.simulate import run as run_module
from tests.simulate.judge import judge
from tests.simulate.run import simulate
from tests.simulate.workload import Call, Clients, Mix

SAME = (1, 23)


def test_a_seed_means_the_same_twice() -> None:
    first, second = simulate(SAME[0]), simulate(SAME[0])
    assert first.event_hash == second.event_hash
    assert first == second


def test_a_seed_means_the_same_in_another_process() -> None:
    code = f"from tests.simulate.run import simulate\nfor s in {SAME}: print(simulate(s).event_hash)"
    env = {**os.environ, "PYTHONHASHSEED": "4242", "PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)}
    printed = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout
    assert printed.split() == [simulate(seed).event_hash for seed in SAME]


def test_seeds_differ() -> None:
    assert len({simulate(seed).event_hash for seed in (4, 5, 12)}) == 3


def test_a_run_that_must_fail_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The canary: a store that acknowledges what it does not do."""
    right = TableService.execute

    async def execute(self: TableService, operation: Operation) -> Outcome:
        if isinstance(operation, InsertOrReplace):
            return Outcome(204, etags=('W/"never"',))
        return await right(self, operation)

    monkeypatch.setattr(TableService, "execute", execute)
    assert simulate(4).violation.startswith("AssertionError: T")


def test_an_error_of_the_engine_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    def judge(calls: Sequence[Call], mix: Mix) -> int:
        raise KeyError("a mistake")

    monkeypatch.setattr(run_module, "judge", judge)
    assert simulate(5).violation.startswith("KeyError: 'a mistake'")


def test_a_run_that_goes_round_in_circles_ends_as_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "STEPS_MAX", 3_000)
    first, second = simulate(8), simulate(8)
    assert first.violation.startswith("AssertionError: hang: more than 3000 steps")
    assert first == second


def test_the_command_sums_up_on_its_last_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        sys, "argv", ["simulate", "--seeds", "2", "--first", "4", "--operations", "40", "--processes", "1"]
    )
    assert command.main() == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("2 seeds, ")
    assert last.endswith(": 0 violations")


def test_the_command_fails_on_a_violation(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(run_module, "STEPS_MAX", 1_000)  # the pool's process is a copy of this one
    monkeypatch.setattr(sys, "argv", ["simulate", *["--seeds", "1", "--processes", "1"]])
    assert command.main() == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("seed 0: AssertionError: hang")
    assert printed[-1].endswith(": 1 violations")


def test_the_command_looks_for_planted_mistakes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["simulate", "--planted", "--only", "no_latches", "--processes", "1"])
    assert command.main() == 0
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("  T4 no_latches: seed 0: AssertionError: T1")
    assert last.startswith("1 of 1 planted mistakes found in 1 seeds")


def test_what_happens_at_one_instant_is_judged_in_its_order() -> None:
    """T1: a write that had its answer before a read began is there, though no time passed between the two."""
    with simulated(1) as world:
        store: list[Entity] = []
        mix = Mix(2, 0, 1, 1, 0, ())

        async def execute(operation: Operation) -> Outcome:
            if isinstance(operation, InsertOrReplace):
                store[:] = [operation.entity]
                return Outcome(204, etags=(f"{operation.entity.properties['v'].value}",))
            return Outcome(200, entities=tuple(store)) if store else Outcome(404)

        clients = Clients(world, execute, mix, Random(1))
        key = EntityKey("p0", "r00")

        async def work() -> None:
            for number in range(150):
                await clients.call(number % 3, InsertOrReplace("sim", clients.entity(key)))

        world.run(work(), "clients")
        assert judge(clients.calls, mix) == 150
        store.clear()
        world.run(clients.call(1, Get("sim", key)), "clients")
        assert world.now_ns() == 0
        with pytest.raises(AssertionError, match="T1: no order"):
            judge(clients.calls, mix)
